#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "conversation/conversation.h"

#define FOLDED_ROWS 4	/* rows that a folded line may take in a narrow pane */
#define FLAT_HEAD_ROWS 4	/* rows in which the bracket of a call without indentation closes */
#define RUNNING_ROWS 4	/* rows that are shown of what a running command has printed */
#define SIDE "\xE2\x94\x82"
#define OUTSIDE SIZE_MAX

/* ---- results ---- */

/* What a call's result rows say. */
struct result {
	struct buf text;
	bool any, running, waiting, failed, interrupted;
	bool waits_within;	/* the last row says so: of a sub-agent, its own call */
};

/* Where the rows from .. to end without those that only name a key; in a narrow pane such a row is broken. */
static size_t
trim_key_rows(const struct screen *s, size_t from, size_t to, bool *running)
{
	for (;;) {
		size_t k = to, rows;
		bool noise = false;

		while (to > from && screen_row_kind(&s->r, to - 1) == ROW_BLANK)
			to--;
		for (rows = 0, k = to; k > from && rows < FOLDED_ROWS && s->r.v[k - 1].n > 0 && !noise;
		    rows++) {
			char *text;

			k--;
			text = screen_joined(s, k, to, screen_row_indent(&s->r, k), SIZE_MAX, 0);
			for (char *nl = text; (nl = strchr(nl, '\n')) != NULL;)
				*nl = ' ';
			noise = grammar_has_cue(s->r.d, CUE_NOISE, text, strlen(text));
			*running =
			    *running || (noise && grammar_has_cue(s->r.d, CUE_RUNNING, text, strlen(text)));
			free(text);
		}
		if (!noise)
			return to;
		to = k;
	}
}

static bool
is_nested(const struct screen *s, size_t i)
{
	size_t at = screen_row_indent(&s->r, i);

	return s->page->goes_on == GOES_ON_INDENTED && s->r.v[i].n >= at + 4 &&
	    memcmp(screen_row_text(&s->r, i) + at, "\xE2\x8E\xBF ", 4) == 0;
}

/* Results within a result have their mark again. */
static void
join_result(const struct screen *s, size_t i, size_t end, size_t column, struct buf *out)
{
	size_t from = i, skip = screen_start(s, i, 1), before = out->len;

	for (size_t k = i + 1; k <= end; k++) {
		if (k < end && !is_nested(s, k))
			continue;
		if (out->len > before)
			buf_chr(out, '\n');
		screen_rows_join(&s->r, from, k, skip, column, 0, out);
		if (k == end)
			break;
		from = k;
		skip = screen_row_indent(&s->r, k) + 4;
		column = skip - 2;
	}
}

/* Rows that belong to the result in row i, whose words begin at `column`. */
static size_t
result_end(const struct screen *s, size_t i, size_t column)
{
	size_t end = i + 1;

	if (s->page->goes_on != GOES_ON_BODY)
		return screen_item_end(s, i, column);
	for (; screen_row_kind(&s->r, end) == ROW_BODY ||
	    (end < s->r.n && screen_row_kind(&s->r, end) == ROW_BLANK);
	    end++)
		if (screen_row_kind(&s->r, end) == ROW_BODY && screen_row_kind(&s->r, end - 1) == ROW_BLANK &&
		    screen_row_indent(&s->r, end) < column)
			break;
	return end;
}

/* One result and its rows; the rows that only name a key are left out. */
static size_t
read_result(struct screen *s, size_t i, struct result *res)
{
	size_t column = utf8_width(screen_row_text(&s->r, i), screen_start(s, i, 1)),
	       end = result_end(s, i, column);
	bool keys = false;
	size_t to = trim_key_rows(s, i + 1, end, &keys);

	if (res->any)
		buf_chr(&res->text, '\n');
	res->any = true;
	res->waiting = screen_start_has_cue(s, i, CUE_WAITING);
	res->failed = screen_start_has_cue(s, i, CUE_FAILED);
	res->interrupted = screen_start_has_cue(s, i, CUE_INTERRUPTED);
	res->running = keys || screen_start_has_cue(s, i, CUE_RUNNING) ||
	    (to > i + 1 && screen_row_has_cue(&s->r, to - 1, CUE_RUNNING));
	res->waits_within = to > i + 1 && screen_row_has_cue(&s->r, to - 1, CUE_WAITING);
	join_result(s, i, to, column, &res->text);
	return end;
}

/* The last of them tells how the call stands. */
static size_t
read_results(struct screen *s, size_t i, struct result *res)
{
	*res = (struct result){ .text = BUF_INIT };
	while (screen_row_kind(&s->r, i) == ROW_RESULT)
		i = read_result(s, i, res);
	return i;
}

/* What a call printed where results have no mark: all from row i on that goes on with the call. */
static size_t
read_printed(struct screen *s, size_t i, struct result *res)
{
	size_t indent = s->page->words_indent, end = screen_item_end(s, i - 1, indent), to = end;

	*res = (struct result){ .text = BUF_INIT, .any = end > i };
	if (end == i)
		return end;
	if (!s->page->unmarked)
		res->running = screen_row_has_cue(&s->r, i, CUE_RUNNING) ||
		    screen_row_has_cue(&s->r, end - 1, CUE_RUNNING);
	while (to > i && (s->r.v[to - 1].n == 0 || screen_row_has_cue(&s->r, to - 1, CUE_NOISE))) {
		to--;
		res->running = res->running || screen_row_has_cue(&s->r, to, CUE_RUNNING);
	}
	res->waiting = screen_row_has_cue(&s->r, i, CUE_WAITING);
	res->interrupted = screen_row_has_cue(&s->r, i, CUE_INTERRUPTED);
	/* without marks the last row tells how a command ended */
	res->failed = to > i && screen_row_has_cue(&s->r, s->page->unmarked ? to - 1 : i, CUE_FAILED);
	screen_rows_join(&s->r, i, to, indent, indent, 0, &res->text);
	return end;
}

size_t
screen_read_remark(struct screen *s, size_t i)
{
	bool plan = screen_start_has_cue(s, i, CUE_REJECTED_PLAN);
	/*
	 * the answer to a prompt, not to a command: " ⎿ Invalid API key · Fix external API key"
	 * (2.0.76 to 2.1.330)
	 */
	bool limit =
	    s->c->n > 0 && s->c->v[s->c->n - 1].role == ROLE_USER && screen_start_has_cue(s, i, CUE_LIMIT);
	struct result res;
	size_t end = read_results(s, i, &res);

	if (plan)
		screen_add(s, ROLE_ASSISTANT, res.interrupted ? STATUS_FAILED : STATUS_COMPLETE,
		    xstrdup("ExitPlanMode"), NULL, conversation_text(&res.text));
	else if (str_starts(res.text.data, "[Image #") && strchr(res.text.data, '\n') == NULL)
		buf_release(&res.text);		/* the picture in the prompt above */
	else
		screen_add(s, ROLE_SYSTEM,
		    res.failed || limit   ? STATUS_FAILED
			: res.interrupted ? STATUS_INTERRUPTED
					  : STATUS_COMPLETE,
		    NULL, NULL, conversation_text(&res.text));
	s->c->limit = s->c->limit || limit;
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

/* A dialog was answered, which stands for a call of its own. */
static void
add_answers(struct screen *s, char *text)
{
	bool failed = str_starts(text, "User rejected") || str_starts(text, "User declined") ||
	    str_starts(text, "Declined");

	screen_add(s, ROLE_ASSISTANT, failed ? STATUS_FAILED : STATUS_COMPLETE,
	    xstrdup(strstr(text, " plan") != NULL ? "ExitPlanMode" : "AskUserQuestion"), NULL, text);
	s->spun = false;
}

/* The program's own words, with the remarks below them. */
size_t
screen_read_notice(struct screen *s, size_t i)
{
	/* "  ⎿ API Error": before 2.1.100 an error stands below the prompt */
	size_t indent = screen_row_indent(&s->r, i) > 0 ? s->page->result_indent : 2;
	size_t end = screen_item_end(s, i, indent);
	enum row_kind k = screen_row_kind(&s->r, i);
	bool failed = k == ROW_ERROR || k == ROW_RETRY;
	char *text = end == i + 1 ? screen_group(s, i, 1) : NULL;	/* old ones go on behind it */
	struct buf b = BUF_INIT;
	struct result res;

	if (text != NULL)
		buf_str(&b, text);
	else
		screen_rows_join(&s->r, i, end, screen_start(s, i, 1), indent, s->r.width, &b);
	free(text);
	end = read_results(s, screen_below(s, end), &res);
	if (res.any && k != ROW_RETRY) {	/* below a retry stands a tip */
		buf_chr(&b, '\n');
		buf_add(&b, res.text.data, res.text.len);
	}
	buf_release(&res.text);
	text = conversation_text(&b);
	if (k == ROW_ANSWERS) {
		add_answers(s, text);
		return end;
	}
	if (grammar_has_cue(s->r.d, CUE_INTERRUPTED, text, strlen(text)))
		interrupt_turn(s);
	else if (s->page->busy_foot)
		s->spun = false;
	s->c->limit = s->c->limit || grammar_has_cue(s->r.d, CUE_LIMIT, text, strlen(text));
	screen_add(s, ROLE_SYSTEM, failed ? STATUS_FAILED : STATUS_COMPLETE, NULL, NULL, text);
	return end;
}

/* ---- calls ---- */

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

/* Without indentation a head goes on until its bracket closes, when that is soon. */
static size_t
flat_head_end(const struct screen *s, size_t i)
{
	for (size_t k = i; k < s->r.n && k < i + FLAT_HEAD_ROWS; k++) {
		enum row_kind kind = screen_row_kind(&s->r, k);

		if (k > i && kind != ROW_BODY && kind != ROW_STRAY)
			break;
		if (screen_row_text(&s->r, k)[s->r.v[k].n - 1] == ')')
			return k + 1;
	}
	return i + 1;
}

/* The row behind a call's head: a long one is broken, that of several lines goes on behind bars. */
static size_t
head_end(const struct screen *s, size_t i)
{
	size_t end = i + 1, closed;
	const char *p;

	switch (s->page->goes_on) {
	case GOES_ON_BODY:
		closed = screen_call_head_end(&s->r, i);
		return closed > i ? closed : end;	/* rows below may have been settled since */
	case GOES_ON_FLAT:
		return flat_head_end(s, i);
	case GOES_ON_INDENTED:
		for (; screen_row_kind(&s->r, end) == ROW_BODY; end++)
			if (!s->page->unmarked && screen_row_indent(&s->r, end) != s->page->input_indent &&
			    between_bars(s, end, &p) == OUTSIDE)
				break;
	}
	return end;
}

bool
screen_is_call(const struct screen *s, size_t i)
{
	return screen_row_kind(&s->r, head_end(s, i)) == ROW_RESULT ||
	    (s->r.styled && (s->r.v[i].marks & SGR_NAME_BOLD));
}

/* What it was called with: without the last bracket, and without the bars in front of further lines. */
static char *
input_of(const struct screen *s, size_t i, size_t end)
{
	size_t start = screen_start(s, i, 2), bars = i + 1;
	struct buf b = BUF_INIT;
	const char *p = screen_row_text(&s->r, i);
	bool bracket = start > 0 && p[start - 1] == '(';

	while (bars < end && (s->page->goes_on != GOES_ON_INDENTED || between_bars(s, bars, &p) == OUTSIDE))
		bars++;
	screen_rows_join(
	    &s->r, i, bars, start, s->page->input_indent, screen_limit(s, s->page->input_margin), &b);
	for (; bars < end; bars++) {
		size_t n = between_bars(s, bars, &p);

		buf_chr(&b, '\n');
		if (n != OUTSIDE)
			buf_add(&b, p, n);
	}
	if (bracket && b.len > 0 && b.data[b.len - 1] == ')')
		buf_cut(&b, b.len - 1);
	return conversation_text(&b);
}

static enum status
status_of(const struct result *res, const char *name)
{
	bool agent = strcmp(name, "Task") == 0 || strcmp(name, "Agent") == 0;

	if (!res->any)
		return STATUS_RUNNING;
	if (res->waiting)
		return STATUS_WAITING;
	if (res->failed || res->interrupted)
		return STATUS_FAILED;
	if (res->running || (res->waits_within && agent))
		return STATUS_RUNNING;
	return STATUS_COMPLETE;
}

/* All of it is the program's word on how far the call is: "Running… (7s)". */
static bool
is_hint(const struct screen *s, const struct buf *text)
{
	return text->len > 0 && memchr(text->data, '\n', text->len) == NULL &&
	    (grammar_has_cue(s->r.d, CUE_WAITING, text->data, text->len) ||
		grammar_has_cue(s->r.d, CUE_RUNNING, text->data, text->len));
}

size_t
screen_read_call(struct screen *s, size_t i)
{
	size_t head = head_end(s, i), end;
	char *name = screen_group(s, i, 1), *group = screen_group(s, i, 2);
	char *input = group != NULL || head > i + 1 ? input_of(s, i, head) : NULL;
	bool running = false, printed = s->page->goes_on == GOES_ON_FLAT || s->page->unmarked;
	const char *tool;
	struct result res;

	free(group);
	if (name == NULL)
		name = xstrdup("?");
	tool = grammar_folded_tool(s->r.d, name, strlen(name), &running);
	end = printed ? read_printed(s, head, &res) : read_results(s, head, &res);
	res.failed = res.failed || (!printed && s->r.v[i].bullet == BULLET_FAILED) ||
	    str_starts(screen_row_text(&s->r, i), "tool error");
	res.running = res.running || running ||
	    (s->page->goes_on == GOES_ON_BODY && s->r.v[i].bullet == BULLET_PENDING);
	if (screen_row_kind(&s->r, end) == ROW_BODY && screen_row_has_cue(&s->r, end, CUE_NOISE))
		end++;
	if (is_hint(s, &res.text))
		buf_reset(&res.text);
	screen_add(s, ROLE_ASSISTANT, status_of(&res, name),
	    xstrdup(tool != NULL ? tool : name), input, conversation_text(&res.text));
	free(name);
	screen_went_on(s);
	return end;
}

/* ---- calls without their results ---- */

/* Calls that the program does not show one by one, with the list of them or what runs below. */
size_t
screen_read_folded(struct screen *s, size_t i)
{
	bool running = false, agents = screen_row_kind(&s->r, i) == ROW_AGENTS, keys = false;
	bool marked = s->page->goes_on == GOES_ON_INDENTED;
	size_t end = s->page->goes_on == GOES_ON_FLAT ? i + 1 : screen_item_end(s, i, 2), to, n;
	const char *tool, *key = " (ctrl+o to expand)";
	char *text, *input = NULL, *command;
	struct result res = { .text = BUF_INIT };

	if (marked && screen_row_kind(&s->r, end) == ROW_RESULT)
		end = screen_item_end(s, end, s->page->result_indent);
	to = trim_key_rows(s, i + 1, end, &keys);
	text = screen_joined(s, i, to, screen_start(s, i, 1), 2, marked ? 0 : s->r.width);
	n = strcspn(text, "\n");
	tool = agents ? "Agents" : grammar_folded_tool(s->r.d, text, n, &running);
	if (n >= strlen(key) && memcmp(text + n - strlen(key), key, strlen(key)) == 0)
		memmove(text + n - strlen(key), text + n, strlen(text + n) + 1);
	if (agents)
		running = str_starts(text, "Running");
	else if (!marked)
		end = read_results(s, screen_below(s, end), &res);
	buf_release(&res.text);
	command = strstr(text, "\n\xE2\x8E\xBF  $ ");	/* while it runs, the command stands below */
	if (command != NULL) {
		input = xstrdup(command + 8);
		*command = '\0';
		running = running || tool == NULL;
	}
	if (tool == NULL)
		tool = input != NULL ? "Bash" : "Calls";
	screen_add(s, ROLE_ASSISTANT, running ? STATUS_RUNNING : STATUS_COMPLETE, xstrdup(tool), input, text)
	    ->folded = true;
	screen_went_on(s);
	return end;
}

size_t
screen_flat_result(const struct screen *s, size_t i, size_t end)
{
	size_t from = i + 1, last = end, begin, rows;
	bool counted;

	while (last > from && screen_row_kind(&s->r, last - 1) == ROW_BLANK)
		last--;
	if (s->page->goes_on != GOES_ON_FLAT || last == from ||
	    !screen_row_has_cue(&s->r, last - 1, CUE_RUNNING))
		return end;
	last -= screen_row_has_cue(&s->r, last - 1, CUE_NOISE);
	counted = last > from && screen_row_has_cue(&s->r, last - 1, CUE_RUNNING);
	last -= counted;
	begin = last;
	for (rows = 0; last > from && rows < RUNNING_ROWS && screen_row_kind(&s->r, last - 1) != ROW_BLANK;
	    rows++, last--)
		if (counted || !screen_row_was_wrapped(&s->r, last - 1, s->r.width))
			begin = last - 1;
	return begin;
}

void
screen_add_headless(struct screen *s, size_t from, size_t end)
{
	if (from == end)
		return;
	while (end > from &&
	    (screen_row_kind(&s->r, end - 1) == ROW_BLANK || screen_row_has_cue(&s->r, end - 1, CUE_NOISE)))
		end--;
	screen_add(
	    s, ROLE_ASSISTANT, STATUS_RUNNING, xstrdup("Bash"), NULL, screen_joined(s, from, end, 0, 0, 0));
}

/* ---- calls in a box ---- */

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
boxed_result(const struct screen *s, size_t from, size_t to)
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

/* The call whose head is row i of a box and whose result goes on to row `to`. */
static void
add_boxed(struct screen *s, size_t i, size_t to)
{
	struct match m;
	const char *p;
	size_t n = between_bars(s, i, &p);
	enum status status = STATUS_COMPLETE;
	char *input, *purpose;
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
	input = copy_group(p, &m, 2);
	purpose = copy_group(p, &m, 3);
	/* what the call is for stands below what it was called with, as in the session files */
	if (input != NULL && purpose != NULL)
		screen_set(&input, xasprintf("%s\ndescription: %s", input, purpose));
	free(purpose);
	x = screen_add(s, ROLE_ASSISTANT, status, copy_group(p, &m, 1), input, boxed_result(s, i + 1, to));
	if (status == STATUS_WAITING && *x->content != '\0')
		screen_set(&s->c->question, xstrdup(x->content));
}

static bool
is_boxed_head(const struct screen *s, size_t i, bool first)
{
	const char *p;
	size_t n = between_bars(s, i, &p);
	enum row_kind k = n != OUTSIDE && n > 0 ? grammar_row(s->r.d, p, n, NULL) : ROW_BLANK;

	return k == ROW_HEAD || (first && k == ROW_HEAD_MAYBE);
}

size_t
screen_read_call_box(struct screen *s, size_t i)
{
	size_t head = i + 1, end = i + 1;
	const char *p;

	screen_went_on(s);
	while (end < s->r.n && between_bars(s, end, &p) != OUTSIDE)
		end++;
	if (head == end || !is_boxed_head(s, head, true)) {	/* of the program's own */
		if (end > head)
			screen_add(
			    s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, boxed_result(s, head, end));
	} else
		for (size_t k = head + 1; k <= end; k++)
			if (k == end || is_boxed_head(s, k, false)) {
				add_boxed(s, head, k);
				head = k;
			}
	return screen_row_kind(&s->r, end) == ROW_BANNER_END ? end + 1 : end;
}
