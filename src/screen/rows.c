#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"
#include "base/utf8.h"

bool
screen_row_has_cue(const struct screen_rows *r, size_t i, enum cue what)
{
	return i < r->n && grammar_has_cue(r->d, what, screen_row_text(r, i), r->v[i].n);
}

size_t
screen_row_indent(const struct screen_rows *r, size_t i)
{
	const char *p = screen_row_text(r, i);
	size_t k = 0;

	while (k < r->v[i].n && p[k] == ' ')
		k++;
	return k;
}

size_t
screen_row_width(const struct screen_rows *r, size_t i)
{
	return utf8_width(screen_row_text(r, i), r->v[i].n);
}

static size_t
widest_row(const struct screen_rows *r)
{
	size_t rule = 0, any = 0;

	for (size_t i = 0; i < r->n; i++) {
		size_t w;

		if (r->v[i].n <= (r->v[i].kind == ROW_RULE ? rule : any))
			continue;
		w = screen_row_width(r, i);
		if (r->v[i].kind == ROW_RULE && w > rule)
			rule = w;
		if (w > any)
			any = w;
	}
	return rule > 0 ? rule : any;
}

void
screen_rows_init(struct screen_rows *r, const char *text, size_t n, size_t width, const struct grammar *d)
{
	size_t cap = 0;

	*r = (struct screen_rows){ .d = d, .text = text };
	if (n > UINT32_MAX) {
		r->text += n - UINT32_MAX;
		n = UINT32_MAX;
	}
	for (size_t at = 0; at < n;) {
		const char *p = r->text + at, *nl = memchr(p, '\n', n - at);
		size_t len = nl != NULL ? (size_t)(nl - p) : n - at, full = len;
		enum row_kind kind;

		while (len > 0 && (p[len - 1] == ' ' || p[len - 1] == '\t' || p[len - 1] == '\r'))
			len--;
		r->v = vec_room(r->v, r->n, &cap, sizeof *r->v);
		kind = grammar_row(d, p, len, NULL);
		r->v[r->n++] = (struct screen_row){ .at = (uint32_t)at,
			.n = kind == ROW_BLANK ? 0 : (uint32_t)len,
			.kind = (uint8_t)kind,
			.stamp = kind == ROW_BLANK && len > 0 };
		at += full + 1;
	}
	r->width = width > 0 ? width : widest_row(r);
}

void
screen_rows_set_sgr(struct screen_rows *r, const struct sgr_rows *style)
{
	r->styled = style != NULL;
	for (size_t i = 0; style != NULL && i < r->n; i++) {
		struct sgr_row y = sgr_row(style, i);

		r->v[i].marks = y.marks;
		r->v[i].bullet = y.bullet;
	}
}

void
screen_rows_release(struct screen_rows *r)
{
	free(r->v);
	*r = (struct screen_rows){ .text = NULL };
}

#define FULL_ROWS 3	/* rows that reach the edge, to believe that it was the edge */

/* A word's bytes; in scripts that are broken at any character, one character. */
static size_t
first_word(const char *p, size_t n, size_t *width)
{
	size_t i = 0;

	*width = 0;
	while (i < n && p[i] != ' ') {
		int32_t rune;
		size_t used = utf8_next(p + i, n - i, &rune);
		int w = rune < 0 ? 1 : utf8_width_rune(rune);

		if (w == 2 && i > 0)
			break;
		*width += (size_t)w;
		i += used;
		if (w == 2)
			break;
	}
	return i;
}

bool
screen_row_was_wrapped(const struct screen_rows *r, size_t i, size_t limit)
{
	size_t indent = screen_row_indent(r, i), word;

	first_word(screen_row_text(r, i) + indent, r->v[i].n - indent, &word);
	return screen_row_width(r, i - 1) + 1 + word > limit;
}

static bool
wide_at_end(const char *p, size_t n)
{
	size_t i = n;
	int32_t rune;

	while (i > 0 && n - i < 4 && ((unsigned char)p[i - 1] & 0xC0) == 0x80)
		i--;
	if (i == 0)
		return false;
	utf8_next(p + i - 1, n - i + 1, &rune);
	return rune >= 0 && utf8_width_rune(rune) == 2;
}

static size_t
last_word_width(const char *p, size_t n)
{
	size_t i = n;

	while (i > 0 && p[i - 1] != ' ')
		i--;
	return utf8_width(p + i, n - i);
}

/*
 * The column where the text of a list item begins, behind its "- " or "1. ": newer versions
 * continue it there. `at` is the byte and `column` the column of the row's first character;
 * `otherwise` when the row is no list item.
 */
static size_t
hang_of(const char *p, size_t n, size_t at, size_t column, size_t otherwise)
{
	size_t i = at;

	if (i + 1 < n && (p[i] == '-' || p[i] == '*' || p[i] == '+') && p[i + 1] == ' ')
		return column + 2;
	while (i < n && i < at + 3 && p[i] >= '0' && p[i] <= '9')
		i++;
	if (i > at && i + 1 < n && (p[i] == '.' || p[i] == ')') && p[i + 1] == ' ')
		return column + (i - at) + 2;
	return otherwise;
}

struct joint {
	size_t indent, limit, hang;
	/* 1 when the row above was full: the blank between the words went to this row's front, unseen */
	size_t lead;
	size_t above;		/* columns of the rows above that tmux broke off this one */
};

/* Table rows and quotes carry a mark on every row: a join would put it into the middle. */
static bool
has_drawn_mark(const char *p, size_t n)
{
	return n >= 3 && (unsigned char)p[0] == 0xE2 &&
	    ((unsigned char)p[1] == 0x94 || (unsigned char)p[1] == 0x95 ||
		((unsigned char)p[1] == 0x96 && (unsigned char)p[2] == 0x8E));
}

/*
 * tmux broke the row when the pane became narrower: what stands at column 0 or 1 is its rest. The
 * blank at the break may be lost.
 */
static int
joint_of_rest(const struct screen_rows *r, size_t i, size_t width)
{
	const char *b = screen_row_text(r, i + 1);
	int32_t rune;

	if (screen_row_indent(r, i + 1) > 0)
		return 1;
	utf8_next(b, r->v[i + 1].n, &rune);
	return width + 1 == r->width && utf8_width_rune(rune) < 2;
}

/*
 * What stands between row i and the next: -1 a line end, 0 nothing (a word or CJK text was cut),
 * 1 a blank. A break is certain to be the renderer's when the next word had no room.
 */
static int
joint_at(const struct screen_rows *r, size_t i, const struct joint *j, bool *rest)
{
	const char *a = screen_row_text(r, i), *b = screen_row_text(r, i + 1);
	size_t an = r->v[i].n, bn = r->v[i + 1].n, indent = screen_row_indent(r, i + 1), width, word, inner,
	       limit;

	*rest = false;
	if (j->limit == 0 || an == 0 || bn == 0)
		return -1;
	width = screen_row_width(r, i);
	/* a flat layout fills the rows itself */
	if (indent < 2 && (j->indent > indent || (width + 1 >= r->width && j->limit < r->width))) {
		*rest = width + 1 >= r->width;
		return *rest ? joint_of_rest(r, i, width) : -1;
	}
	width += j->lead + j->above;
	limit = r->v[i].drawn > 0 ? j->limit + r->v[i].drawn - r->width : j->limit;
	if (indent == j->indent + 1 && width == limit && grammar_layout(r->d)->blank_stays)
		return 1;
	if (indent != j->indent && indent != j->hang)
		return -1;
	if (has_drawn_mark(b + indent, bn - indent) ||
	    has_drawn_mark(a + screen_row_indent(r, i), an - screen_row_indent(r, i)))
		return -1;
	if (screen_row_has_cue(r, i + 1, CUE_LIST))
		return -1;
	first_word(b + indent, bn - indent, &word);
	if (word == 2 && wide_at_end(b + indent, first_word(b + indent, bn - indent, &word)))
		return width + 4 > limit ? !wide_at_end(a, an) : -1;
	inner = limit > j->indent ? limit - j->indent : 1;
	if (width + 1 + word <= limit || (width < limit / 2 && word < inner))
		return -1;
	/* a word longer than a row is cut, and then the row is full */
	return width + 1 >= limit && last_word_width(a, an) + word > inner ? 0 : 1;
}

void
screen_rows_join(const struct screen_rows *r, size_t from, size_t to, size_t skip, size_t indent,
    size_t limit, struct buf *out)
{
	struct joint j = { .indent = indent, .limit = limit };
	size_t blank = 0;
	bool any = false, open = false, rest = false;

	for (size_t i = from; i < to; i++) {
		const char *p = screen_row_text(r, i);
		size_t n = r->v[i].n, cut = screen_row_indent(r, i);
		int how;

		if (i == from)
			cut = skip;
		else if (cut > indent && !open)
			cut = indent;
		if (cut >= n) {
			blank++;
			open = false;
			j.lead = j.above = 0;
			continue;
		}
		for (; any && blank > 0; blank--)
			buf_chr(out, '\n');
		blank = 0;
		if (!open)
			j.hang = hang_of(p, n, i == from ? skip : screen_row_indent(r, i),
			    i == from ? indent : screen_row_indent(r, i), indent);
		buf_add(out, p + cut, n - cut);
		any = true;
		how = i + 1 < to ? joint_at(r, i, &j, &rest) : -1;
		open = how >= 0;
		j.lead = how == 1 && !rest && screen_row_width(r, i) == limit &&
		    !grammar_layout(r->d)->blank_stays;
		j.above = open && rest ? j.above + screen_row_width(r, i) + (size_t)how : 0;
		if (how == 1)
			buf_chr(out, ' ');
		else if (how < 0)
			buf_chr(out, '\n');
	}
	while (any && out->len > 0 && out->data[out->len - 1] == '\n')
		buf_cut(out, out->len - 1);
}

/* Rows of words that the renderer broke; of results it only cuts the rows. */
static bool
is_wrapped_text(const struct screen_rows *r, size_t i)
{
	enum row_kind k = screen_row_kind(r, i);

	return k == ROW_WORDS || k == ROW_PROMPT || k == ROW_BODY;
}

/* Columns of the row with the rests that tmux broke off it; *next is the row behind them. */
static size_t
whole_width(const struct screen_rows *r, size_t i, size_t *next)
{
	size_t w = screen_row_width(r, i);

	for (*next = i + 1; screen_row_kind(r, *next) == ROW_BODY && screen_row_indent(r, *next) < 2; ++*next)
		w += screen_row_width(r, *next);
	return w;
}

/*
 * The widest row tells the width of its time, when some rows end where the next word would have
 * gone beyond it.
 */
static size_t
width_of_time(const struct screen_rows *r, size_t from, size_t to)
{
	size_t most = 0, full = 0, next;

	for (size_t i = from; i < to; i = next) {
		size_t w = is_wrapped_text(r, i) ? whole_width(r, i, &next) : 0;

		next = w > 0 ? next : i + 1;
		if (w > most)
			most = w;
	}
	if (most > r->width || to == r->n)
		return most > r->width ? most : r->width;
	for (size_t i = from; i < to && full < FULL_ROWS; i = next) {
		size_t w = is_wrapped_text(r, i) ? whole_width(r, i, &next) : 0, word;

		next = w > 0 ? next : i + 1;
		if (w == 0 || w < most / 2 || screen_row_kind(r, next) != ROW_BODY)
			continue;
		first_word(screen_row_text(r, next) + screen_row_indent(r, next),
		    r->v[next].n - screen_row_indent(r, next), &word);
		full += w + 1 + word > most;
	}
	return full < FULL_ROWS ? r->width : most;
}

void
screen_rows_measure(struct screen_rows *r)
{
	if (!grammar_layout(r->d)->breaks)
		return;
	for (size_t from = 0, to; from < r->n; from = to) {
		size_t w;

		for (to = from + 1; to < r->n && !r->v[to].seam &&
		    (screen_row_kind(r, to) != ROW_BANNER || screen_row_kind(r, to - 1) == ROW_BANNER);
		    to++)
			;
		w = width_of_time(r, from, to);
		for (size_t i = from; w != r->width && w <= UINT16_MAX && i < to; i++)
			r->v[i].drawn = (uint16_t)w;
	}
}
