#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "screen/screen.h"
#include "base/buf.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "conversation/conversation.h"

/* ---- calls in a box ---- */

#define SIDE "\xE2\x94\x82"
#define OUTSIDE SIZE_MAX

/*
 * What stands between the bars of row i, without the blanks at its end; OUTSIDE when the row is
 * not one of a box.
 */
static size_t
between_bars(const struct screen *s, size_t i, const char **p)
{
	size_t at = screen_row_indent(&s->r, i), n = s->r.v[i].n;

	*p = screen_row_text(&s->r, i) + at;
	if (n < at + 3 || memcmp(*p, SIDE, 3) != 0)
		return OUTSIDE;
	n -= at + 3;
	*p += 3;
	if (n > 0 && **p == ' ') {
		++*p;
		n--;
	}
	if (n >= 3 && memcmp(*p + n - 3, SIDE, 3) == 0)
		n -= 3;
	while (n > 0 && (*p)[n - 1] == ' ')
		n--;
	return n;
}

static size_t
count_blanks(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && p[i] == ' ')
		i++;
	return i;
}

/* What a call printed: the rows from .. to of its box, as far to the left as they go. */
static char *
result_of(const struct screen *s, size_t from, size_t to)
{
	size_t indent = SIZE_MAX, n, empty = 0;
	struct buf b = BUF_INIT;
	const char *p;

	for (size_t i = from; i < to; i++) {
		n = between_bars(s, i, &p);
		if (n > 0 && count_blanks(p, n) < indent)
			indent = count_blanks(p, n);
	}
	for (size_t i = from; i < to; i++) {
		n = between_bars(s, i, &p);
		if (n == 0) {
			empty += b.len > 0;
			continue;
		}
		if (b.len > 0)
			buf_chr(&b, '\n');
		for (; empty > 0; empty--)
			buf_chr(&b, '\n');
		buf_add(&b, p + indent, n - indent);
	}
	return conversation_text(&b);
}

static char *
copy_group(const char *p, const struct match *m, int g)
{
	struct buf b = BUF_INIT;

	if (m->start[g] == (size_t)-1)
		return NULL;
	buf_add(&b, p + m->start[g], m->end[g] - m->start[g]);
	return conversation_text(&b);
}

/* What the call is for stands below what it was called with, as in the session files. */
static char *
boxed_input(const char *p, const struct match *m)
{
	char *input = copy_group(p, m, 2), *purpose = copy_group(p, m, 3), *both;

	if (input == NULL || purpose == NULL) {
		free(purpose);
		return input;
	}
	both = xasprintf("%s\ndescription: %s", input, purpose);
	free(input);
	free(purpose);
	return both;
}

/* The call whose head is row i of a box and whose result goes on to row `to`. */
static void
add_boxed(struct screen *s, size_t i, size_t to)
{
	struct match m;
	const char *p;
	size_t n = between_bars(s, i, &p);
	enum status status = STATUS_COMPLETE;
	struct exchange *x;

	for (int k = 0; k < PATTERN_GROUPS; k++)
		m.start[k] = m.end[k] = (size_t)-1;
	grammar_row(s->r.d, p, n, &m);
	if (grammar_has_cue(s->r.d, CUE_WAITING, p, n))
		status = STATUS_WAITING;
	else if (grammar_has_cue(s->r.d, CUE_RUNNING, p, n))
		status = STATUS_RUNNING;
	else if (grammar_has_cue(s->r.d, CUE_FAILED, p, n))
		status = STATUS_FAILED;
	x = screen_add(
	    s, ROLE_ASSISTANT, status, copy_group(p, &m, 1), boxed_input(p, &m), result_of(s, i + 1, to));
	if (status == STATUS_WAITING && *x->content != '\0') {
		free(s->c->question);
		s->c->question = xstrdup(x->content);
	}
}

static bool
is_head(const struct screen *s, size_t i, bool first)
{
	const char *p;
	size_t n = between_bars(s, i, &p);
	enum row_kind k = n != OUTSIDE && n > 0 ? grammar_row(s->r.d, p, n, NULL) : ROW_BLANK;

	return k == ROW_HEAD || (first && k == ROW_HEAD_MAYBE);
}

static size_t
screen_read_call_box(struct screen *s, size_t i)
{
	size_t head = i + 1, end = i + 1;
	const char *p;

	s->busy = s->spun = false;
	while (end < s->r.n && between_bars(s, end, &p) != OUTSIDE)
		end++;
	if (head == end || !is_head(s, head, true)) {	/* of the program's own */
		if (end > head)
			screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, result_of(s, head, end));
	} else
		for (size_t k = head + 1; k <= end; k++)
			if (k == end || is_head(s, k, false)) {
				add_boxed(s, head, k);
				head = k;
			}
	return screen_row_kind(&s->r, end) == ROW_BANNER_END ? end + 1 : end;
}

/* ---- calls behind a mark ---- */

/* The row behind a call's head: a long one is broken, that of several lines goes on behind bars. */
static size_t
head_end(const struct screen *s, size_t i)
{
	const char *p;

	for (i++; i < s->r.n && screen_row_kind(&s->r, i) == ROW_BODY && s->r.v[i].n > 0; i++)
		if (grammar_screen_format(s->r.d) == SCREEN_BULLETED && screen_row_indent(&s->r, i) != 2 &&
		    between_bars(s, i, &p) == OUTSIDE)
			break;
	return i;
}

/* The call in row i is one: its name is known, or a result stands below, or the name is bold. */
static bool
screen_is_bulleted_call(const struct screen *s, size_t i)
{
	if (screen_row_kind(&s->r, i) == ROW_TOOL)
		return true;
	return screen_row_kind(&s->r, head_end(s, i)) == ROW_RESULT ||
	    (s->r.styled && (s->r.v[i].marks & SGR_NAME_BOLD));
}

static size_t screen_bulleted_skip(const struct screen *s, size_t i, int group);

/* Without the bars in front of further lines. */
static char *
input_of(const struct screen *s, size_t i, size_t end)
{
	struct buf b = BUF_INIT;
	size_t bars = i + 1;
	const char *p;

	while (bars < end && between_bars(s, bars, &p) == OUTSIDE)
		bars++;
	screen_rows_join(&s->r, i, bars, screen_bulleted_skip(s, i, 2), grammar_layout(s->r.d)->words_indent,
	    screen_limit(s, 1), &b);
	for (; bars < end; bars++) {
		size_t n = between_bars(s, bars, &p);

		buf_chr(&b, '\n');
		if (n != OUTSIDE)
			buf_add(&b, p, n);
	}
	return conversation_text(&b);
}

static bool
is_nested(const struct screen *s, size_t i)
{
	size_t at = screen_row_indent(&s->r, i);

	return s->r.v[i].n >= at + 4 && memcmp(screen_row_text(&s->r, i) + at, "\xE2\x8E\xBF ", 4) == 0;
}

/* Results within a result have their mark again. */
static void
add_result(const struct screen *s, size_t i, size_t end, struct buf *out)
{
	size_t from = i;

	for (size_t k = i + 1; k <= end; k++) {
		bool nested = k < end && s->r.v[k].n > 0 && is_nested(s, k);
		size_t skip = from == i ? screen_bulleted_skip(s, i, 1) : screen_row_indent(&s->r, from) + 4;

		if (k < end && !nested)
			continue;
		if (out->len > 0)
			buf_chr(out, '\n');
		screen_rows_join(
		    &s->r, from, k, skip, from == i ? 4 : screen_row_indent(&s->r, from) + 2, 0, out);
		from = k;
	}
}

/* The rows of a block behind the head's, without those that tell how long it took. */
static size_t
trim_duration_rows(const struct screen *s, size_t from, size_t end, enum status *status)
{
	while (end > from && (s->r.v[end - 1].n == 0 || screen_row_has_cue(&s->r, end - 1, CUE_NOISE))) {
		if (screen_row_has_cue(&s->r, end - 1, CUE_RUNNING))
			*status = STATUS_RUNNING;
		end--;
	}
	if (end > from && screen_row_has_cue(&s->r, end - 1, CUE_FAILED))
		*status = STATUS_FAILED;
	return end;
}

static size_t screen_bulleted_end(const struct screen *s, size_t i, size_t indent);

/*
 * The parts of it that read calls (marked_call.c). Row i is the top of a box with calls, or the
 * head of one outside of a box. The row behind it all.
 */
static size_t
screen_read_bulleted_call(struct screen *s, size_t i)
{
	size_t head = head_end(s, i), end = head;
	char *name = screen_group(s, i, 1), *input = input_of(s, i, head);
	struct buf b = BUF_INIT;
	enum status status = STATUS_RUNNING;
	bool running = false;
	const char *tool = name != NULL ? grammar_folded_tool(s->r.d, name, strlen(name), &running) : NULL;

	if (grammar_screen_format(s->r.d) == SCREEN_SHADED) {
		end = screen_bulleted_end(s, i, grammar_layout(s->r.d)->words_indent);
		status = STATUS_COMPLETE;
		screen_rows_join(&s->r, head, trim_duration_rows(s, head, end, &status), 1, 1, 0, &b);
		if (end == head)
			status = STATUS_RUNNING;
	} else if (screen_row_kind(&s->r, head) == ROW_RESULT) {
		end = screen_bulleted_end(s, head, 4);
		add_result(s, head, end, &b);
		status = screen_result_has_cue(s, head, CUE_FAILED) || s->r.v[i].bullet == BULLET_FAILED
		    ? STATUS_FAILED
		    : STATUS_COMPLETE;
	}
	if (running)
		status = STATUS_RUNNING;
	screen_add(s, ROLE_ASSISTANT, status,
	    xstrdup(tool != NULL   ? tool
		    : name != NULL ? name
				   : "?"),
	    input, conversation_text(&b));
	free(name);
	s->busy = s->spun = false;
	return end;
}

#define BOX_BELOW 4	/* rows between a line and the box that it belongs to */
#define FOOT_ROWS 6	/* rows of the program's own below the box */

static bool
is_bulleted_text(const struct screen *s, size_t i)
{
	enum row_kind k = screen_row_kind(&s->r, i);

	return k == ROW_BODY || k == ROW_STRAY || k == ROW_BLANK || k == ROW_HEAD || k == ROW_HEAD_MAYBE ||
	    k == ROW_FOOT;
}

/* Text between two items. */
static bool
is_item(const struct screen *s, size_t i)
{
	return !is_bulleted_text(s, i) && screen_row_kind(&s->r, i) != ROW_BANNER &&
	    screen_row_kind(&s->r, i) != ROW_BANNER_END;
}

/* First byte of what the group of row i's rule holds: 1 is what stands behind a mark. */
static size_t
screen_bulleted_skip(const struct screen *s, size_t i, int group)
{
	struct match m;

	if (grammar_screen_format(s->r.d) == SCREEN_SHADED && group == 1)	/* no mark */
		return screen_row_indent(&s->r, i);
	for (int k = 0; k < PATTERN_GROUPS; k++)
		m.start[k] = m.end[k] = (size_t)-1;
	grammar_row(s->r.d, screen_row_text(&s->r, i), s->r.v[i].n, &m);
	return m.start[group] != (size_t)-1 ? m.start[group] : s->r.v[i].n;
}

/* A row at the left edge is the rest of one that filled the pane, when that was drawn wider than it is. */
static bool
continues_item(const struct screen *s, size_t i, size_t indent)
{
	enum row_kind k = screen_row_kind(&s->r, i);

	if (k != ROW_BODY && k != ROW_STRAY)
		return false;
	return screen_row_indent(&s->r, i) >= indent ||
	    (s->r.v[i - 1].n > 0 && screen_row_width(&s->r, i - 1) + 1 >= s->r.width);
}

/*
 * The row behind the last that goes on with the item in row i, from column `indent` on; blank
 * rows at its end are not its own.
 */
static size_t
screen_bulleted_end(const struct screen *s, size_t i, size_t indent)
{
	size_t end = i + 1;

	for (i++; i < s->r.n && (screen_row_kind(&s->r, i) == ROW_BLANK || continues_item(s, i, indent)); i++)
		if (s->r.v[i].n > 0)
			end = i + 1;
	return end;
}

/*
 * The number in front of row i, which stands right-aligned at column *end; 0: there is none, or
 * it ends elsewhere than at *end > 0.
 */
static unsigned
line_number(const struct screen *s, size_t i, size_t *end)
{
	const char *p = screen_row_text(&s->r, i);
	size_t n = s->r.v[i].n, at = screen_row_indent(&s->r, i), digits = at;
	unsigned number = 0;

	while (digits < n && digits < at + 6 && p[digits] >= '0' && p[digits] <= '9')
		number = number * 10 + (unsigned)(p[digits++] - '0');
	if (digits == at || (digits < n && p[digits] != ' ') || (*end > 0 && digits != *end))
		return 0;
	*end = digits;
	return number;
}

/*
 * The rows of code from i on, of which the first is line 1, without their numbers. The row behind
 * them; i when there is none.
 */
static size_t
add_code(const struct screen *s, size_t i, size_t end, struct buf *out)
{
	size_t column = 0, indent = grammar_layout(s->r.d)->words_indent;
	unsigned line = 0;

	if (screen_row_indent(&s->r, i) <= indent || s->r.v[i - 1].n > 0)
		return i;
	for (; i < end; i++) {
		const char *p = screen_row_text(&s->r, i);
		size_t n = s->r.v[i].n;
		bool numbered = line_number(s, i, &column) == line + 1;

		if (!numbered && (line == 0 || screen_row_indent(&s->r, i) <= column || n == 0))
			break;	/* else the row above goes on */
		if (line > 0)
			buf_chr(out, numbered ? '\n' : ' ');
		line += numbered;
		if (n > column + 1)
			buf_add(out, p + column + 1, n - column - 1);
	}
	return i;
}

/* Bytes in front of what row k of an item says; no more than its blanks. */
static size_t
margin_of(const struct screen *s, size_t k)
{
	size_t indent = grammar_layout(s->r.d)->words_indent;

	return screen_row_indent(&s->r, k) < indent ? screen_row_indent(&s->r, k) : indent;
}

/* Words whose code has numbers in front of its lines. */
static char *
words_of(const struct screen *s, size_t i, size_t end, size_t limit)
{
	const struct grammar_layout *page = grammar_layout(s->r.d);
	size_t from = i, skip = screen_bulleted_skip(s, i, 1);
	struct buf b = BUF_INIT;

	for (size_t k = i + 1; page->numbered && k < end;) {
		struct buf code = BUF_INIT;
		size_t next = add_code(s, k, end, &code);

		if (next == k) {
			k++;
			continue;
		}
		screen_rows_join(
		    &s->r, from, k, from == i ? skip : margin_of(s, from), page->words_indent, limit, &b);
		buf_add(&b, "\n\n", 2);
		buf_add(&b, code.data, code.len);
		buf_release(&code);
		for (k = next; k < end && s->r.v[k].n == 0; k++)
			;
		if (k < end)
			buf_add(&b, "\n\n", 2);
		from = k;
	}
	if (from < end)
		screen_rows_join(
		    &s->r, from, end, from == i ? skip : margin_of(s, from), page->words_indent, limit, &b);
	return conversation_text(&b);
}

static size_t
read_bulleted_words(struct screen *s, size_t i)
{
	const struct grammar_layout *page = grammar_layout(s->r.d);
	size_t end = screen_bulleted_end(s, i, page->words_indent);
	char *text = words_of(s, i, end, screen_limit(s, page->words_margin) + page->overhang);

	s->busy = s->spun = false;
	if (*text == '\0')	/* the first word is not there yet */
		free(text);
	else
		screen_add(s, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL, text);
	return end;
}

static size_t
read_bulleted_prompt(struct screen *s, size_t i)
{
	const struct grammar_layout *page = grammar_layout(s->r.d);
	size_t end = screen_bulleted_end(s, i, page->prompt_indent);
	char *text = screen_joined(s, i, end, screen_bulleted_skip(s, i, 1), page->prompt_indent,
		screen_limit(s, page->prompt_margin) + page->overhang);

	screen_close_calls(s);
	free(s->c->draft);	/* of a box that was left above */
	s->c->draft = NULL;
	s->busy = s->c->limit = false;
	if (screen_row_kind(&s->r, i) == ROW_SHELL) {
		char *command = text;

		text = xasprintf("! %s", command);
		free(command);
	}
	if (*text == '\0')	/* nobody sends nothing: an old box */
		free(text);
	else
		screen_add(s, ROLE_USER, STATUS_COMPLETE, NULL, NULL, text);
	return end;
}

/* The turn was stopped by the person. */
static void
interrupt_turn(struct screen *s)
{
	struct exchange *x = s->c->n > 0 ? &s->c->v[s->c->n - 1] : NULL;

	if (x != NULL && x->role == ROLE_ASSISTANT && x->tool == NULL && s->c->n > s->open)
		x->status = STATUS_INTERRUPTED;
	screen_close_calls(s);
	s->spun = true;
}

static size_t
read_bulleted_notice(struct screen *s, size_t i)
{
	const struct grammar_layout *page = grammar_layout(s->r.d);
	bool block = grammar_screen_format(s->r.d) == SCREEN_SHADED;
	size_t indent = block ? page->words_indent : screen_row_indent(&s->r, i) + 2,
	       skip = screen_bulleted_skip(s, i, 1);
	size_t end = screen_bulleted_end(s, i, indent);
	const char *p = screen_row_text(&s->r, i) + skip;
	bool error = screen_row_kind(&s->r, i) == ROW_ERROR;

	if (grammar_has_cue(s->r.d, CUE_INTERRUPTED, p, s->r.v[i].n - skip))
		interrupt_turn(s);
	s->c->limit = s->c->limit || grammar_has_cue(s->r.d, CUE_LIMIT, p, s->r.v[i].n - skip);
	screen_add(s, ROLE_SYSTEM, error ? STATUS_FAILED : STATUS_COMPLETE, NULL, NULL,
		screen_joined(s, i, end, skip, indent, screen_limit(s, 0)));
	return end;
}

/* Calls that the program does not show one by one, with the list of them below. */
static size_t
read_bulleted_folded(struct screen *s, size_t i)
{
	size_t end = screen_bulleted_end(s, i, 2), skip = screen_bulleted_skip(s, i, 1);
	struct buf b = BUF_INIT;
	bool running = false;
	const char *tool;
	char *text;

	if (screen_row_kind(&s->r, end) == ROW_RESULT)
		end = screen_bulleted_end(s, end, 4);
	screen_rows_join(&s->r, i, end, skip, 2, 0, &b);
	text = conversation_text(&b);
	tool = grammar_folded_tool(s->r.d, text, strcspn(text, "\n"), &running);
	screen_add(s, ROLE_ASSISTANT, running ? STATUS_RUNNING : STATUS_COMPLETE,
	    xstrdup(tool != NULL ? tool : "Calls"), NULL, text)
	    ->folded = true;
	s->busy = s->spun = false;
	return end;
}

static size_t
read_bulleted_tasks(struct screen *s, size_t i)
{
	size_t end = screen_bulleted_end(s, i, 2);

	if (screen_row_kind(&s->r, end) != ROW_RESULT)
		return end;
	i = end;
	end = screen_bulleted_end(s, i, 4);
	free(s->c->tasks);
	s->c->tasks = screen_joined(s, i, end, screen_bulleted_skip(s, i, 1), 4, 0);
	return end;
}

static size_t
read_bulleted_spinner(struct screen *s, size_t i)
{
	char *calls = screen_group(s, i, 1);

	s->busy = true;
	if (calls != NULL) {
		screen_add(s, ROLE_ASSISTANT, STATUS_RUNNING, xstrdup("Calls"), NULL, calls)->folded = true;
		s->spun = true;
	}
	return i + 1;
}

/* ---- the end ---- */

static size_t
read_bulleted_draft(struct screen *s, size_t from, size_t end, size_t skip)
{
	size_t indent = utf8_width(screen_row_text(&s->r, from), skip);
	char *text;

	if (end == 0)
		end = screen_bulleted_end(s, from, indent > 0 ? indent : 1);
	text = screen_joined(s, from, end, skip, indent, screen_limit(s, 0));
	free(s->c->draft);
	s->c->draft = NULL;
	/* the program's own words in the box are grey */
	if (*text == '\0' || (s->r.v[from].marks & SGR_TAIL_DIM) ||
	    grammar_has_cue(s->r.d, CUE_PLACEHOLDER, text, strlen(text)))
		free(text);
	else
		s->c->draft = text;
	return end;
}

/* The program's own rows below the box. */
static size_t
foot_end(const struct screen *s, size_t i)
{
	for (size_t rows = 0; i < s->r.n && rows < FOOT_ROWS &&
	    (is_bulleted_text(s, i) || screen_row_kind(&s->r, i) == ROW_RULE);
	    i++)
		rows += s->r.v[i].n > 0;
	return i;
}

static size_t
read_line(struct screen *s, size_t i)
{
	/* nothing stands in front of the draft */
	bool bare = grammar_screen_format(s->r.d) == SCREEN_SHADED;
	char *work = screen_group(s, i, 1);
	size_t k = i + 1;

	s->busy = s->busy || work != NULL;
	free(work);
	if (bare) {
		while (k < s->r.n && is_bulleted_text(s, k))
			k++;
		if (screen_row_kind(&s->r, k) != ROW_RULE)
			return i + 1;
		if (k > i + 1)
			read_bulleted_draft(s, i + 1, k, 0);
		return foot_end(s, k);
	}
	while (k < s->r.n && k <= i + BOX_BELOW && is_bulleted_text(s, k))
		k++;
	if (screen_row_kind(&s->r, k) != ROW_BOX && screen_row_kind(&s->r, k) != ROW_PROMPT)
		return i + 1;
	return foot_end(s, read_bulleted_draft(s, k, 0, screen_bulleted_skip(s, k, 1)));
}

/*
 * A box without lines is told by what stands below it, of the last one by less. The row behind
 * the box in row i; 0: it is none. What was drawn before the program was ready may leave another.
 */
static size_t
box_end(const struct screen *s, size_t i, bool last)
{
	for (i++; i < s->r.n && is_bulleted_text(s, i); i++)
		if (s->r.v[i - 1].n == 0 &&
		    (screen_row_has_cue(&s->r, i, CUE_FOOT) ||
			(last && screen_row_has_cue(&s->r, i, CUE_KEYS))))
			return i;
	return 0;
}

static size_t
read_prompt_or_box(struct screen *s, size_t i)
{
	size_t end = box_end(s, i, i == s->last_prompt);

	if (end == 0)
		return read_bulleted_prompt(s, i);
	read_bulleted_draft(s, i, end, screen_bulleted_skip(s, i, 1));
	return foot_end(s, end);
}

/* ---- the walk ---- */

static size_t
read_bulleted_banner(struct screen *s, size_t i)
{
	char *version = NULL;

	while (i < s->r.n && !is_item(s, i)) {
		char *here = screen_row_kind(&s->r, i) == ROW_BANNER ? screen_group(s, i, 1) : NULL;

		if (here != NULL) {
			free(version);
			version = here;
		}
		i++;
	}
	screen_close_calls(s);
	free(s->c->draft);
	free(s->c->tasks);
	s->c->draft = s->c->tasks = NULL;
	s->busy = s->c->limit = false;
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL,
	    xasprintf("%s%s%s", grammar_program(s->r.d), version != NULL ? " v" : "",
		version != NULL ? version : ""));
	if (version != NULL) {
		free(s->c->banner);
		s->c->banner = version;
	}
	return i;
}

static size_t
read_bulleted_raw(struct screen *s, size_t i)
{
	size_t from = i, end = i + 1;

	for (s->c->unknown_lines++, i++; i < s->r.n && is_bulleted_text(s, i); i++)
		if (s->r.v[i].n > 0) {
			s->c->unknown_lines++;
			end = i + 1;
		}
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, screen_joined(s, from, end, 0, 0, 0));
	return i;
}

static size_t
read_bulleted_next(struct screen *s, size_t i)
{
	switch (screen_row_kind(&s->r, i)) {
	case ROW_BLANK:
	case ROW_DEAD:
		return i + 1;
	case ROW_BANNER:
		return read_bulleted_banner(s, i);
	case ROW_PROMPT:
		return read_prompt_or_box(s, i);
	case ROW_SHELL:
		return read_bulleted_prompt(s, i);
	case ROW_WORDS:
		return read_bulleted_words(s, i);
	case ROW_TOOL:
	case ROW_TOOL_MAYBE:
		return screen_is_bulleted_call(s, i) ? screen_read_bulleted_call(s, i)
						     : read_bulleted_words(s, i);
	case ROW_CALLS:
		return screen_read_call_box(s, i);
	case ROW_COLLAPSED:
		return read_bulleted_folded(s, i);
	case ROW_TASKS:
		return read_bulleted_tasks(s, i);
	case ROW_NOTICE:
	case ROW_ERROR:
	case ROW_COMPACTED:
		return read_bulleted_notice(s, i);
	case ROW_SPINNER:
		return read_bulleted_spinner(s, i);
	case ROW_TURN_END:
		s->turns++;
		s->spun = true;
		return i + 1;
	case ROW_RULE:
		return read_line(s, i);
	default:
		return read_bulleted_raw(s, i);
	}
}

/* The last words run while the program is at work on them. */
static void
mark_words_running(struct screen *s)
{
	struct exchange *x = s->c->n > 0 ? &s->c->v[s->c->n - 1] : NULL;
	unsigned since = grammar_layout(s->r.d)->ends_turns;
	bool ends = s->turns > 0 ||
	    (s->c->banner != NULL && grammar_version(s->c->banner, strlen(s->c->banner)) >= since);
	bool running = since > 0 && ends ? !s->spun && !s->busy : s->busy;

	if (x != NULL && running && x->role == ROLE_ASSISTANT && x->tool == NULL &&
	    x->status == STATUS_COMPLETE)
		x->status = STATUS_RUNNING;
}

void
screen_read_bulleted(struct screen *s)
{
	size_t first = 0, i = 0;

	while (first < s->r.n && !is_item(s, first) && screen_row_kind(&s->r, first) != ROW_BANNER)
		first++;
	if (screen_row_kind(&s->r, first) != ROW_BANNER)
		s->c->truncated_at = 0;
	for (size_t k = 0; k < s->r.n; k++)
		if (screen_row_kind(&s->r, k) == ROW_PROMPT)
			s->last_prompt = k;
	while (i < s->r.n)
		i = read_bulleted_next(s, i);
	mark_words_running(s);
	screen_drop_repaint(s->c);
}
