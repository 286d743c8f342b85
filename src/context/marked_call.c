#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/marked.h"
#include "base/buf.h"
#include "base/pattern.h"
#include "context/exchange.h"
#include "context/screen_private.h"
#include "context/style.h"

/* ---- calls in a box ---- */

#define SIDE "\xE2\x94\x82"
#define OUTSIDE SIZE_MAX

/* What stands between the bars of row i, without the blanks at its end; OUTSIDE when the row is not one of a box. */
static size_t
between_bars(const struct screen *s, size_t i, const char **p)
{
	size_t at = row_indent(&s->r, i), n = s->r.v[i].n;

	*p = row_text(&s->r, i) + at;
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
blanks(const char *p, size_t n)
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
		if (n > 0 && blanks(p, n) < indent)
			indent = blanks(p, n);
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
part(const char *p, const struct match *m, int g)
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
	char *input = part(p, m, 2), *purpose = part(p, m, 3), *both;

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
	dialect_row(s->r.d, p, n, &m);
	if (dialect_says(s->r.d, PHRASE_WAITING, p, n))
		status = STATUS_WAITING;
	else if (dialect_says(s->r.d, PHRASE_RUNNING, p, n))
		status = STATUS_RUNNING;
	else if (dialect_says(s->r.d, PHRASE_FAILED, p, n))
		status = STATUS_FAILED;
	x = screen_add(s, ROLE_ASSISTANT, status, part(p, &m, 1), boxed_input(p, &m), result_of(s, i + 1, to));
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
	enum row_kind k = n != OUTSIDE && n > 0 ? dialect_row(s->r.d, p, n, NULL) : ROW_BLANK;

	return k == ROW_HEAD || (first && k == ROW_HEAD_MAYBE);
}

size_t
marked_read_box(struct screen *s, size_t i)
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
	return row_kind(&s->r, end) == ROW_BANNER_END ? end + 1 : end;
}

/* ---- calls behind a mark ---- */

/* The row behind a call's head: a long one is broken, that of several lines goes on behind bars. */
static size_t
head_end(const struct screen *s, size_t i)
{
	const char *p;

	for (i++; i < s->r.n && row_kind(&s->r, i) == ROW_BODY && s->r.v[i].n > 0; i++)
		if (dialect_layout(s->r.d) == LAYOUT_MARKED && row_indent(&s->r, i) != 2 && between_bars(s, i, &p) == OUTSIDE)
			break;
	return i;
}

bool
marked_is_call(const struct screen *s, size_t i)
{
	if (row_kind(&s->r, i) == ROW_TOOL)
		return true;
	return row_kind(&s->r, head_end(s, i)) == ROW_RESULT || (s->r.styled && (s->r.v[i].marks & STYLE_NAME_BOLD));
}

/* Without the bars in front of further lines. */
static char *
input_of(const struct screen *s, size_t i, size_t end)
{
	struct buf b = BUF_INIT;
	size_t bars = i + 1;
	const char *p;

	while (bars < end && between_bars(s, bars, &p) == OUTSIDE)
		bars++;
	rows_join(&s->r, i, bars, marked_skip(s, i, 2), dialect_page(s->r.d)->words_indent, screen_limit(s, 1), &b);
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
	size_t at = row_indent(&s->r, i);

	return s->r.v[i].n >= at + 4 && memcmp(row_text(&s->r, i) + at, "\xE2\x8E\xBF ", 4) == 0;
}

/* Results within a result have their mark again. */
static void
add_result(const struct screen *s, size_t i, size_t end, struct buf *out)
{
	size_t from = i;

	for (size_t k = i + 1; k <= end; k++) {
		bool nested = k < end && s->r.v[k].n > 0 && is_nested(s, k);
		size_t skip = from == i ? marked_skip(s, i, 1) : row_indent(&s->r, from) + 4;

		if (k < end && !nested)
			continue;
		if (out->len > 0)
			buf_chr(out, '\n');
		rows_join(&s->r, from, k, skip, from == i ? 4 : row_indent(&s->r, from) + 2, 0, out);
		from = k;
	}
}

/* The rows of a block behind the head's, without those that tell how long it took. */
static size_t
without_noise(const struct screen *s, size_t from, size_t end, enum status *status)
{
	while (end > from && (s->r.v[end - 1].n == 0 || row_says(&s->r, end - 1, PHRASE_NOISE))) {
		if (row_says(&s->r, end - 1, PHRASE_RUNNING))
			*status = STATUS_RUNNING;
		end--;
	}
	if (end > from && row_says(&s->r, end - 1, PHRASE_FAILED))
		*status = STATUS_FAILED;
	return end;
}

size_t
marked_read_call(struct screen *s, size_t i)
{
	size_t head = head_end(s, i), end = head;
	char *name = screen_group(s, i, 1), *input = input_of(s, i, head);
	struct buf b = BUF_INIT;
	enum status status = STATUS_RUNNING;
	bool running = false;
	const char *tool = name != NULL ? dialect_folded_tool(s->r.d, name, strlen(name), &running) : NULL;

	if (dialect_layout(s->r.d) == LAYOUT_BLOCKS) {
		end = marked_end(s, i, dialect_page(s->r.d)->words_indent);
		status = STATUS_COMPLETE;
		rows_join(&s->r, head, without_noise(s, head, end, &status), 1, 1, 0, &b);
		if (end == head)
			status = STATUS_RUNNING;
	} else if (row_kind(&s->r, head) == ROW_RESULT) {
		end = marked_end(s, head, 4);
		add_result(s, head, end, &b);
		status = screen_result_says(s, head, PHRASE_FAILED) || s->r.v[i].bullet == BULLET_FAILED ? STATUS_FAILED : STATUS_COMPLETE;
	}
	if (running)
		status = STATUS_RUNNING;
	screen_add(s, ROLE_ASSISTANT, status, xstrdup(tool != NULL ? tool : name != NULL ? name : "?"), input, conversation_text(&b));
	free(name);
	s->busy = s->spun = false;
	return end;
}
