#include <stdlib.h>
#include <string.h>

#include "context/marked.h"
#include "base/buf.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "context/exchange.h"
#include "context/repaint.h"
#include "context/screen_private.h"
#include "context/style.h"

#define BOX_BELOW 4	/* rows between a line and the box that it belongs to */
#define FOOT_ROWS 6	/* rows of the program's own below the box */

static bool
is_text(const struct screen *s, size_t i)
{
	enum row_kind k = row_kind(&s->r, i);

	return k == ROW_BODY || k == ROW_STRAY || k == ROW_BLANK || k == ROW_HEAD || k == ROW_HEAD_MAYBE || k == ROW_FOOT;
}

/* Text between two items. */
static bool
is_item(const struct screen *s, size_t i)
{
	return !is_text(s, i) && row_kind(&s->r, i) != ROW_BANNER && row_kind(&s->r, i) != ROW_BANNER_END;
}

size_t
marked_skip(const struct screen *s, size_t i, int group)
{
	struct match m;

	if (dialect_layout(s->r.d) == LAYOUT_BLOCKS && group == 1)	/* no mark */
		return row_indent(&s->r, i);
	for (int k = 0; k < PATTERN_GROUPS; k++)
		m.start[k] = m.end[k] = (size_t)-1;
	dialect_row(s->r.d, row_text(&s->r, i), s->r.v[i].n, &m);
	return m.start[group] != (size_t)-1 ? m.start[group] : s->r.v[i].n;
}

/* A row at the left edge is the rest of one that filled the pane, when that was drawn wider than it is. */
static bool
goes_on(const struct screen *s, size_t i, size_t indent)
{
	enum row_kind k = row_kind(&s->r, i);

	if (k != ROW_BODY && k != ROW_STRAY)
		return false;
	return row_indent(&s->r, i) >= indent || (s->r.v[i - 1].n > 0 && row_width(&s->r, i - 1) + 1 >= s->r.width);
}

size_t
marked_end(const struct screen *s, size_t i, size_t indent)
{
	size_t end = i + 1;

	for (i++; i < s->r.n && (row_kind(&s->r, i) == ROW_BLANK || goes_on(s, i, indent)); i++)
		if (s->r.v[i].n > 0)
			end = i + 1;
	return end;
}

/* The number in front of row i, which stands right-aligned at column *end; 0: there is none, or it ends elsewhere than at *end > 0. */
static unsigned
line_number(const struct screen *s, size_t i, size_t *end)
{
	const char *p = row_text(&s->r, i);
	size_t n = s->r.v[i].n, at = row_indent(&s->r, i), digits = at;
	unsigned number = 0;

	while (digits < n && digits < at + 6 && p[digits] >= '0' && p[digits] <= '9')
		number = number * 10 + (unsigned)(p[digits++] - '0');
	if (digits == at || (digits < n && p[digits] != ' ') || (*end > 0 && digits != *end))
		return 0;
	*end = digits;
	return number;
}

/* The rows of code from i on, of which the first is line 1, without their numbers. The row behind them; i when there is none. */
static size_t
add_code(const struct screen *s, size_t i, size_t end, struct buf *out)
{
	size_t column = 0, indent = dialect_page(s->r.d)->words_indent;
	unsigned line = 0;

	if (row_indent(&s->r, i) <= indent || s->r.v[i - 1].n > 0)
		return i;
	for (; i < end; i++) {
		const char *p = row_text(&s->r, i);
		size_t n = s->r.v[i].n;
		bool numbered = line_number(s, i, &column) == line + 1;

		if (!numbered && (line == 0 || row_indent(&s->r, i) <= column || n == 0))
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
	size_t indent = dialect_page(s->r.d)->words_indent;

	return row_indent(&s->r, k) < indent ? row_indent(&s->r, k) : indent;
}

/* Words whose code has numbers in front of its lines. */
static char *
words_of(const struct screen *s, size_t i, size_t end, size_t limit)
{
	const struct page *page = dialect_page(s->r.d);
	size_t from = i, skip = marked_skip(s, i, 1);
	struct buf b = BUF_INIT;

	for (size_t k = i + 1; page->numbered && k < end;) {
		struct buf code = BUF_INIT;
		size_t next = add_code(s, k, end, &code);

		if (next == k) {
			k++;
			continue;
		}
		rows_join(&s->r, from, k, from == i ? skip : margin_of(s, from), page->words_indent, limit, &b);
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
		rows_join(&s->r, from, end, from == i ? skip : margin_of(s, from), page->words_indent, limit, &b);
	return conversation_text(&b);
}

static size_t
read_words(struct screen *s, size_t i)
{
	const struct page *page = dialect_page(s->r.d);
	size_t end = marked_end(s, i, page->words_indent);
	char *text = words_of(s, i, end, screen_limit(s, page->words_margin) + page->overhang);

	s->busy = s->spun = false;
	if (*text == '\0')	/* the first word is not there yet */
		free(text);
	else
		screen_add(s, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL, text);
	return end;
}

static size_t
read_prompt(struct screen *s, size_t i)
{
	const struct page *page = dialect_page(s->r.d);
	size_t end = marked_end(s, i, page->prompt_indent);
	char *text = screen_joined(s, i, end, marked_skip(s, i, 1), page->prompt_indent,
		screen_limit(s, page->prompt_margin) + page->overhang);

	screen_settle_calls(s);
	free(s->c->draft);	/* of a box that was left above */
	s->c->draft = NULL;
	s->busy = s->c->limit = false;
	if (row_kind(&s->r, i) == ROW_SHELL) {
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
interrupt(struct screen *s)
{
	struct exchange *x = s->c->n > 0 ? &s->c->v[s->c->n - 1] : NULL;

	if (x != NULL && x->role == ROLE_ASSISTANT && x->tool == NULL && s->c->n > s->open)
		x->status = STATUS_INTERRUPTED;
	screen_settle_calls(s);
	s->spun = true;
}

static size_t
read_notice(struct screen *s, size_t i)
{
	const struct page *page = dialect_page(s->r.d);
	bool block = dialect_layout(s->r.d) == LAYOUT_BLOCKS;
	size_t indent = block ? page->words_indent : row_indent(&s->r, i) + 2, skip = marked_skip(s, i, 1);
	size_t end = marked_end(s, i, indent);
	const char *p = row_text(&s->r, i) + skip;
	bool error = row_kind(&s->r, i) == ROW_ERROR;

	if (dialect_says(s->r.d, PHRASE_INTERRUPTED, p, s->r.v[i].n - skip))
		interrupt(s);
	s->c->limit = s->c->limit || dialect_says(s->r.d, PHRASE_LIMIT, p, s->r.v[i].n - skip);
	screen_add(s, ROLE_SYSTEM, error ? STATUS_FAILED : STATUS_COMPLETE, NULL, NULL,
		screen_joined(s, i, end, skip, indent, screen_limit(s, 0)));
	return end;
}

/* Calls that the program does not show one by one, with the list of them below. */
static size_t
read_folded(struct screen *s, size_t i)
{
	size_t end = marked_end(s, i, 2), skip = marked_skip(s, i, 1);
	struct buf b = BUF_INIT;
	bool running = false;
	const char *tool;
	char *text;

	if (row_kind(&s->r, end) == ROW_RESULT)
		end = marked_end(s, end, 4);
	rows_join(&s->r, i, end, skip, 2, 0, &b);
	text = conversation_text(&b);
	tool = dialect_folded_tool(s->r.d, text, strcspn(text, "\n"), &running);
	screen_add(s, ROLE_ASSISTANT, running ? STATUS_RUNNING : STATUS_COMPLETE, xstrdup(tool != NULL ? tool : "Calls"), NULL,
		text)->folded = true;
	s->busy = s->spun = false;
	return end;
}

static size_t
read_tasks(struct screen *s, size_t i)
{
	size_t end = marked_end(s, i, 2);

	if (row_kind(&s->r, end) != ROW_RESULT)
		return end;
	i = end;
	end = marked_end(s, i, 4);
	free(s->c->tasks);
	s->c->tasks = screen_joined(s, i, end, marked_skip(s, i, 1), 4, 0);
	return end;
}

static size_t
read_spinner(struct screen *s, size_t i)
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
read_draft(struct screen *s, size_t from, size_t end, size_t skip)
{
	size_t indent = utf8_width(row_text(&s->r, from), skip);
	char *text;

	if (end == 0)
		end = marked_end(s, from, indent > 0 ? indent : 1);
	text = screen_joined(s, from, end, skip, indent, screen_limit(s, 0));
	free(s->c->draft);
	s->c->draft = NULL;
	/* the program's own words in the box are grey */
	if (*text == '\0' || (s->r.v[from].marks & STYLE_TAIL_DIM) || dialect_says(s->r.d, PHRASE_PLACEHOLDER, text, strlen(text)))
		free(text);
	else
		s->c->draft = text;
	return end;
}

/* The program's own rows below the box. */
static size_t
behind_foot(const struct screen *s, size_t i)
{
	for (size_t rows = 0; i < s->r.n && rows < FOOT_ROWS && (is_text(s, i) || row_kind(&s->r, i) == ROW_RULE); i++)
		rows += s->r.v[i].n > 0;
	return i;
}

static size_t
read_line(struct screen *s, size_t i)
{
	bool bare = dialect_layout(s->r.d) == LAYOUT_BLOCKS;	/* nothing stands in front of the draft */
	char *work = screen_group(s, i, 1);
	size_t k = i + 1;

	s->busy = s->busy || work != NULL;
	free(work);
	if (bare) {
		while (k < s->r.n && is_text(s, k))
			k++;
		if (row_kind(&s->r, k) != ROW_RULE)
			return i + 1;
		if (k > i + 1)
			read_draft(s, i + 1, k, 0);
		return behind_foot(s, k);
	}
	while (k < s->r.n && k <= i + BOX_BELOW && is_text(s, k))
		k++;
	if (row_kind(&s->r, k) != ROW_BOX && row_kind(&s->r, k) != ROW_PROMPT)
		return i + 1;
	return behind_foot(s, read_draft(s, k, 0, marked_skip(s, k, 1)));
}

/*
 * A box without lines is told by what stands below it, of the last one by less. The row behind the box in row i; 0: it is none. What was
 * drawn before the program was ready may leave another.
 */
static size_t
box_end(const struct screen *s, size_t i, bool last)
{
	for (i++; i < s->r.n && is_text(s, i); i++)
		if (s->r.v[i - 1].n == 0 && (row_says(&s->r, i, PHRASE_FOOT) || (last && row_says(&s->r, i, PHRASE_KEYS))))
			return i;
	return 0;
}

static size_t
read_prompt_or_box(struct screen *s, size_t i)
{
	size_t end = box_end(s, i, i == s->last_prompt);

	if (end == 0)
		return read_prompt(s, i);
	read_draft(s, i, end, marked_skip(s, i, 1));
	return behind_foot(s, end);
}

/* ---- the walk ---- */

static size_t
read_banner(struct screen *s, size_t i)
{
	char *version = NULL;

	while (i < s->r.n && !is_item(s, i)) {
		char *here = row_kind(&s->r, i) == ROW_BANNER ? screen_group(s, i, 1) : NULL;

		if (here != NULL) {
			free(version);
			version = here;
		}
		i++;
	}
	screen_settle_calls(s);
	free(s->c->draft);
	free(s->c->tasks);
	s->c->draft = s->c->tasks = NULL;
	s->busy = s->c->limit = false;
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL,
		xasprintf("%s%s%s", dialect_program(s->r.d), version != NULL ? " v" : "", version != NULL ? version : ""));
	if (version != NULL) {
		free(s->c->banner);
		s->c->banner = version;
	}
	return i;
}

static size_t
read_raw(struct screen *s, size_t i)
{
	size_t from = i, end = i + 1;

	for (s->c->unknown_lines++, i++; i < s->r.n && is_text(s, i); i++)
		if (s->r.v[i].n > 0) {
			s->c->unknown_lines++;
			end = i + 1;
		}
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, screen_joined(s, from, end, 0, 0, 0));
	return i;
}

static size_t
read_next(struct screen *s, size_t i)
{
	switch (row_kind(&s->r, i)) {
	case ROW_BLANK:
	case ROW_DEAD:
		return i + 1;
	case ROW_BANNER:
		return read_banner(s, i);
	case ROW_PROMPT:
		return read_prompt_or_box(s, i);
	case ROW_SHELL:
		return read_prompt(s, i);
	case ROW_WORDS:
		return read_words(s, i);
	case ROW_TOOL:
	case ROW_TOOL_MAYBE:
		return marked_is_call(s, i) ? marked_read_call(s, i) : read_words(s, i);
	case ROW_CALLS:
		return marked_read_box(s, i);
	case ROW_COLLAPSED:
		return read_folded(s, i);
	case ROW_TASKS:
		return read_tasks(s, i);
	case ROW_NOTICE:
	case ROW_ERROR:
	case ROW_COMPACTED:
		return read_notice(s, i);
	case ROW_SPINNER:
		return read_spinner(s, i);
	case ROW_TURN_END:
		s->turns++;
		s->spun = true;
		return i + 1;
	case ROW_RULE:
		return read_line(s, i);
	default:
		return read_raw(s, i);
	}
}

/* The last words run while the program is at work on them. */
static void
settle_words(struct screen *s)
{
	struct exchange *x = s->c->n > 0 ? &s->c->v[s->c->n - 1] : NULL;
	unsigned since = dialect_page(s->r.d)->ends_turns;
	bool ends = s->turns > 0 || (s->c->banner != NULL && dialect_version(s->c->banner, strlen(s->c->banner)) >= since);
	bool running = since > 0 && ends ? !s->spun && !s->busy : s->busy;

	if (x != NULL && running && x->role == ROLE_ASSISTANT && x->tool == NULL && x->status == STATUS_COMPLETE)
		x->status = STATUS_RUNNING;
}

void
marked_read(struct screen *s)
{
	size_t first = 0, i = 0;

	while (first < s->r.n && !is_item(s, first) && row_kind(&s->r, first) != ROW_BANNER)
		first++;
	if (row_kind(&s->r, first) != ROW_BANNER)
		s->c->truncated_at = 0;
	for (size_t k = 0; k < s->r.n; k++)
		if (row_kind(&s->r, k) == ROW_PROMPT)
			s->last_prompt = k;
	while (i < s->r.n)
		i = read_next(s, i);
	settle_words(s);
	repaint_drop(s->c);
}
