#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "scrub/rows/rows_private.h"

#define LONE_VALUE 8	/* bytes */
#define SHELL_ROWS 12	/* rows of one command */

static size_t
first_word(const char *text, const struct scrub_row *r)
{
	size_t n = 0;

	while (r->body + n < r->end && strchr(" \t\r", text[r->body + n]) == NULL)
		n++;
	return n;
}

/* The row is broken at a blank: the first word of the next one would not have fitted. */
static bool
joins_soft(const char *text, const struct scrub_rows *r, size_t head, size_t i)
{
	const struct scrub_row *a = &r->v[i];
	int slack, edge;

	if (!a->has_keyword || a->end_col < SCRUB_EDGE_MIN || i + 1 >= r->n ||
	    !scrub_rows_continue(r, head, i))
		return false;
	edge = scrub_rows_edge(r, i, &slack);
	return a->end_col + 1 + (int)first_word(text, a + 1) > edge - slack;
}

/* The row begins with the value to the name in the row above. */
static bool
is_value(const char *text, const struct scrub_row *r)
{
	static const char *const heads[] = { "value:", "\"value\"", "\"Value\"", "'value'",
		"Value:", "<value>", "<string>", "value =", "= \"", "= '", ":= \"", ":= '" };

	if (r->body == r->end || strchr("vV\"'<=:", text[r->body]) == NULL)
		return false;
	for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++) {
		size_t n = strlen(heads[k]);

		if (r->end - r->body > n && memcmp(text + r->body, heads[k], n) == 0)
			return true;
	}
	return false;
}

/* "name: |", "name: >-": what follows deeper in YAML is a string. */
static bool
opens_block(const char *text, const struct scrub_row *r)
{
	size_t i = r->end;

	for (size_t k = 0; k < 2 && i > r->body && strchr("-+123456789", text[i - 1]) != NULL; k++)
		i--;
	return i > r->body + 3 && (text[i - 1] == '|' || text[i - 1] == '>') && text[i - 2] == ' ' &&
	    text[i - 3] == ':';
}

/* "name =", "name:", "<name>": the value stands in the row below. */
static bool
opens_value(const char *text, const struct scrub_row *r)
{
	const char *tag;

	if (r->end - r->body < 3)
		return false;
	/* base64 ends so, too */
	if (text[r->end - 1] == '=' || text[r->end - 1] == ':')
		return text[r->end - 2] != '=' && memchr(text + r->body, '+', r->end - r->body) == NULL &&
		    (text[r->end - 1] == ':' || memchr(text + r->body, '/', r->end - r->body) == NULL);
	if (text[r->end - 1] != '>')
		return false;
	tag = memrchr(text + r->body, '<', r->end - r->body);
	return text[r->end - 2] == '=' || (tag != NULL && tag[1] != '/');
}

/* One word that is long enough to have been moved down, and no tag. */
static bool
is_lone_value(const char *text, const struct scrub_row *r)
{
	return r->end - r->body >= LONE_VALUE && text[r->body] != '<' && text[r->body] != '-' &&
	    memchr(text + r->body, ' ', r->end - r->body) == NULL;
}

/* The line of a shell goes on in the next row. */
static bool
goes_on(const char *text, const struct scrub_row *r)
{
	return r->end - r->body > 2 && text[r->end - 1] == '\\' && text[r->end - 2] == ' ';
}

/* variable "NAME" { of Terraform, and default = "..." in the row below. */
static bool
is_default_of(const char *text, const struct scrub_row *a, const struct scrub_row *b)
{
	static const char open[] = "variable \"", value[] = "default";
	size_t i = b->body + strlen(value);

	if (a->end - a->body < sizeof open || text[a->end - 1] != '{' || b->end <= i ||
	    memcmp(text + a->body, open, strlen(open)) != 0 ||
	    memcmp(text + b->body, value, strlen(value)) != 0)
		return false;
	while (i < b->end && text[i] == ' ')
		i++;
	return i < b->end && text[i] == '=';
}

/* Row b, below a, begins with the value to the name in a. */
static bool
is_value_of(const char *text, const struct scrub_row *a, const struct scrub_row *b)
{
	if (is_default_of(text, a, b))
		return true;
	if (is_value(text, b) || goes_on(text, a) || (opens_value(text, a) && is_lone_value(text, b)))
		return true;
	return b->body_col > a->body_col && opens_block(text, a) &&
	    memchr(text + b->body, ' ', b->end - b->body) == NULL;
}

static bool
joins_pair(const char *text, const struct scrub_rows *r, size_t head, size_t i)
{
	const struct scrub_row *a = &r->v[i], *b;

	if (i + 1 >= r->n)
		return false;
	if (i != head)
		return i - head < SHELL_ROWS && goes_on(text, a) && goes_on(text, a - 1);
	if (!a->has_keyword)
		return false;
	b = &r->v[i + 1];
	/* the "-" of a list in YAML looks like that of a diff */
	if (a->box != b->box || (a->sign != b->sign && (a->sign != '-' || b->sign != 0)))
		return false;
	return is_value_of(text, a, b);
}

bool
joined_continues(const char *text, const struct scrub_rows *r, size_t i)
{
	const struct scrub_row *a = &r->v[i];

	return a->joins || (r->width != 0 && a->end_col >= SCRUB_EDGE_MIN) ||
	    (i + 1 < r->n && is_value_of(text, a, a + 1));
}

static bool
joins_next(const char *text, const struct scrub_rows *r, size_t head, size_t i, enum joined_mode mode)
{
	switch (mode) {
	case JOINED_HARD:
		return r->v[i].joins;
	case JOINED_SOFT:
		return joins_soft(text, r, head, i);
	case JOINED_PAIRS:
		return joins_pair(text, r, head, i);
	case JOINED_ROWS:
		break;
	}
	return false;
}

static void
add_stretch(struct joined_text *w, size_t src, size_t row)
{
	w->v = vec_room(w->v, w->n, &w->cap, sizeof *w->v);
	w->v[w->n++] = (struct joined_piece){ w->text.len, src, row };
}

/* Bytes at p that take no room on the screen: colours, zero-width runes, soft hyphen. */
static size_t
hidden_len(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;

	if (u[0] == 0x1b)
		return utf8_escape_sgr(p, n);
	if (n >= 2 && u[0] == 0xc2 && u[1] == 0xad)
		return 2;
	if (n >= 3 && u[0] == 0xe2 && u[1] == 0x80 &&
	    ((u[2] >= 0x8b && u[2] <= 0x8f) || (u[2] >= 0xaa && u[2] <= 0xae)))
		return 3;
	if (n >= 3 && u[0] == 0xe2 && u[1] == 0x81 && u[2] >= 0xa0 && u[2] <= 0xaf)
		return 3;
	if (n >= 3 && u[0] == 0xef && u[1] == 0xbb && u[2] == 0xbf)
		return 3;
	return 0;
}

static bool
has_hidden(const char *text, const struct scrub_row *r)
{
	for (size_t i = r->body; i < r->end; i++)
		if (text[i] == 0x1b ||
		    ((unsigned char)text[i] >= 0x80 && hidden_len(text + i, r->end - i) != 0))
			return true;
	return false;
}

void
joined_mark_hidden(const char *text, struct scrub_rows *r, size_t from, size_t to)
{
	size_t begin = r->v[from].from;
	bool escapes = memchr(text + begin, 0x1b, r->v[to - 1].to - begin) != NULL;

	for (size_t i = from; i < to; i++)
		r->v[i].hides = (escapes || r->v[i].wide) && has_hidden(text, &r->v[i]);
}

static void
add_body(struct joined_text *w, const char *text, size_t row, size_t from)
{
	const struct scrub_row *r = &w->rows->v[row];
	size_t i = from;

	add_stretch(w, from, row);
	if (!r->hides)
		i = r->end;
	while (i < r->end) {
		unsigned char c = (unsigned char)text[i];
		size_t skip =
		    c == 0x1b || c == 0xc2 || c == 0xe2 || c == 0xef ? hidden_len(text + i, r->end - i) : 0;

		if (skip == 0) {
			i++;
			continue;
		}
		buf_add(&w->text, text + from, i - from);
		i += skip;
		from = i;
		add_stretch(w, from, row);
	}
	buf_add(&w->text, text + from, i - from);
}

void
joined_clear(struct joined_text *w, const struct scrub_rows *rows)
{
	buf_reset(&w->text);
	w->n = 0;
	w->rows = rows;
}

static void
end_line(struct joined_text *w, size_t row)
{
	add_stretch(w, w->rows->v[row].to, row);
	buf_chr(&w->text, '\n');
}

void
joined_add(struct joined_text *w, const char *text, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		const struct scrub_row *r = &w->rows->v[i];

		if (r->unchanged)
			continue;
		if (r->hides || w->n + 2 > w->cap) {
			add_body(w, text, i, r->body);
			end_line(w, i);
			continue;
		}
		/* the same, for what is nearly every row */
		buf_add(&w->text, text + r->body, r->end - r->body + 1);
		w->text.data[w->text.len - 1] = '\n';
		w->v[w->n++] = (struct joined_piece){ w->text.len - 1 - (r->end - r->body), r->body, i };
		w->v[w->n++] = (struct joined_piece){ w->text.len - 1, r->to, i };
	}
}

/*
 * Row i and the next one are in one line, or not. What a line is that grew or was parted has not
 * been seen yet.
 */
static bool
set_seam(struct scrub_rows *rows, size_t i, enum joined_mode mode, bool is)
{
	struct scrub_row *a = &rows->v[i];

	if (is == ((a->seams >> mode & 1) != 0))
		return is;
	a->seams ^= (unsigned char)(1u << mode);
	a->unchanged = 0;
	if (i + 1 < rows->n)
		a[1].unchanged = 0;
	return is;
}

/* The line that begins with row `head`, if it is one that this view shows. Returns the row behind it. */
static size_t
show_line(
    struct joined_text *w, const char *text, struct scrub_rows *rows, size_t head, enum joined_mode mode)
{
	bool quiet = true, dull = true, more;
	size_t i = head, to;

	do {
		more = set_seam(rows, i, mode, joins_next(text, rows, head, i, mode));
		quiet = rows->v[i].unchanged && quiet;
		dull = rows->v[i].skip && dull;
	} while (more && ++i < rows->n);
	to = i + 1;
	if (quiet || dull || (mode != JOINED_ROWS && i == head))
		return to;
	for (size_t k = head; k < to; k++) {
		if (k != head && mode >= JOINED_SOFT) {
			add_stretch(w, rows->v[k].body, k);
			buf_chr(&w->text, ' ');
		}
		add_body(w, text, k, k == head ? rows->v[k].body : scrub_rows_next(rows, head, k - 1));
	}
	end_line(w, to - 1);
	return to;
}

/* False: a line that has row i + 1 cannot have row i as well, whichever row it begins with. */
static bool
may_join(const char *text, const struct scrub_row *a, enum joined_mode mode)
{
	if (mode == JOINED_HARD)
		return a->joins;
	return mode != JOINED_ROWS && (a->has_keyword || (mode == JOINED_PAIRS && goes_on(text, a)));
}

void
joined_show(struct joined_text *w, const char *text, struct scrub_rows *rows, enum joined_mode mode)
{
	size_t next = 0;

	joined_clear(w, rows);
	for (size_t k = 0; k < rows->n_live; k++) {
		size_t i = rows->live[k];

		while (i > next && may_join(text, &rows->v[i - 1], mode))
			i--;
		if (i > next)
			(void)set_seam(rows, i - 1, mode, false);
		for (i = i > next ? i : next; i <= rows->live[k]; i = next)
			next = show_line(w, text, rows, i, mode);
	}
}

void
joined_release(struct joined_text *w)
{
	buf_wipe(&w->text);
	free(w->v);
	w->v = NULL;
	w->n = w->cap = 0;
}

static size_t
stretch_of(const struct joined_text *w, size_t at)
{
	size_t lo = 0, hi = w->n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->v[mid].at <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

size_t
joined_source(const struct joined_text *w, size_t at, size_t *row)
{
	const struct joined_piece *s = &w->v[stretch_of(w, at)];

	*row = s->row;
	return s->src + (at - s->at);
}

size_t
joined_piece_end(const struct joined_text *w, size_t at)
{
	size_t i = stretch_of(w, at) + 1;

	return i < w->n ? w->v[i].at : w->text.len;
}
