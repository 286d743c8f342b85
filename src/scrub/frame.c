#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"
#include "scrub/frame.h"

#define LEAST_EDGE 40	/* a row shorter than this was not cut by a screen's edge */
#define USUAL_ROW 48	/* bytes */
#define EDGE_SLACK 4	/* Claude Code keeps up to this many columns free at the right */

/* ---- one row ---- */

static const char *const bars[] = { "│", "┃", "║", "▌", "▎", "▏", "▐" };
static const char *const marks[] = { "⎿", "⏺", "●", "•", "❯", "└", "├", "✻", "☐", "☒", "▸" };

static size_t
starts_with(const char *p, size_t n, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(words[i]);

		if (n >= len && memcmp(p, words[i], len) == 0)
			return len;
	}
	return 0;
}

#define STARTS(p, n, words) starts_with(p, n, words, sizeof (words) / sizeof (words)[0])

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* utf8_width, quick for what is nearly always ASCII. */
static int
width_of(const char *p, size_t n)
{
	size_t i = utf8_ascii(p, n);

	return (int)(i < n ? i + utf8_width(p + i, n - i) : i);
}

/* Where the frame stands while it is peeled off. */
struct peel {
	const char *text;
	struct frame *row;
	int col;
};

static void
take(struct peel *p, size_t n)
{
	p->col += width_of(p->text + p->row->body, n);
	p->row->body += n;
}

static void
take_blanks(struct peel *p)
{
	size_t i = p->row->body;

	for (; i < p->row->end && blank(p->text[i]); i++)
		p->col += p->text[i] == '\t' ? 8 - p->col % 8 : 1;
	p->row->body = i;
}

static size_t
left(const struct peel *p)
{
	return p->row->end - p->row->body;
}

static void
trim_right(struct peel *p)
{
	while (p->row->end > p->row->body && blank(p->text[p->row->end - 1]))
		p->row->end--;
}

static void
peel_box(struct peel *p)
{
	struct frame *r = p->row;
	size_t len;

	if (left(p) == 0 || (unsigned char)p->text[r->body] != 0xe2 || (len = STARTS(p->text + r->body, left(p), bars)) == 0)
		return;
	take(p, len);
	r->box = 1;
	if (left(p) >= 3 && STARTS(p->text + r->end - 3, 3, bars) == 3) {
		r->bar_col = p->col + width_of(p->text + r->body, r->end - 3 - r->body);
		r->end -= 3;
		trim_right(p);
	}
	if (left(p) > 0 && p->text[r->body] == ' ')
		take(p, 1);
	r->frame_col = p->col;
	take_blanks(p);
}

/* "   86→", "   86<tab>", "  38 +  ", "  649  " */
static void
peel_number(struct peel *p)
{
	const char *at = p->text + p->row->body;
	size_t n = left(p), digits = 0, i;

	while (digits < n && digits < 7 && at[digits] >= '0' && at[digits] <= '9')
		digits++;
	if (digits == 0 || digits == 7 || digits == n)
		return;
	for (i = digits; i < n && at[i] == ' '; i++)
		;
	if (n - digits >= 3 && memcmp(at + digits, "→", 3) == 0) {
		take(p, digits);
		take(p, 3);
	} else if (at[digits] == '\t') {
		take(p, digits);
		p->row->body++;
		p->col += 8 - p->col % 8;
	} else if (i > digits && (at[i] == '+' || at[i] == '-') && at[i + 1] != at[i]) {
		p->row->sign = at[i];
		p->row->sign_at = p->row->body + i;
		take(p, i + 1);
	} else if (i - digits >= 2) {
		take(p, i);
	} else {
		return;
	}
	p->row->mark = 1;
	p->row->frame_col = p->col;
	take_blanks(p);
}

static void
peel_sign(struct peel *p)
{
	const char *at = p->text + p->row->body;
	size_t n = left(p);

	if (p->row->sign != 0 || n < 2 || (*at != '+' && *at != '-') || at[1] == *at)
		return;
	if (p->col != 0 && at[1] != ' ')
		return;
	p->row->sign = *at;
	p->row->sign_at = p->row->body;
	take(p, 1);
	p->row->frame_col = p->col;
	take_blanks(p);
}

/* "NAME=", "name: ", "name = ". */
static bool
new_key(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (isalnum((unsigned char)p[i]) || p[i] == '_'))
		i++;
	if (i > 0 && i + 3 < n && memcmp(p + i, " = ", 3) == 0)
		return true;
	/* the "=" at the end of base64 has at most a quote, a tag or an end of something behind it */
	if (i + 1 < n && p[i] == '=' && strchr("=<,;)]}", p[i + 1]) != NULL)
		return false;
	if (i + 2 < n && p[i] == '=' && (p[i + 1] == '"' || p[i + 1] == '\'') && strchr(",;)]}", p[i + 2]) != NULL)
		return false;
	return i > 0 && ((i + 2 < n && p[i] == '=') || (i + 1 < n && p[i] == ':' && p[i + 1] == ' '));
}

static size_t
mark_at(const struct peel *p)
{
	const char *at = p->text + p->row->body;

	return left(p) > 0 && (unsigned char)*at >= 0xe2 ? STARTS(at, left(p), marks) : 0;
}

static void
peel_row(const char *text, struct frame *r)
{
	struct peel p = { text, r, 0 };
	size_t len;

	r->body = r->from;
	r->end = r->to;
	r->bar_col = -1;
	trim_right(&p);
	take_blanks(&p);
	peel_box(&p);
	while ((len = mark_at(&p)) != 0 || (left(&p) > 1 && text[r->body] == '>' && text[r->body + 1] == ' ')) {
		take(&p, len != 0 ? len : 1);
		r->mark = 1;
		take_blanks(&p);
		r->frame_col = p.col;
	}
	peel_number(&p);
	peel_sign(&p);
	r->body_col = p.col;
	r->key = new_key(text + r->body, left(&p));
	len = utf8_ascii(text + r->body, left(&p));
	r->wide = len < left(&p);
	r->end_col = p.col + (int)len + (r->wide ? (int)utf8_width(text + r->body + len, left(&p) - len) : 0);
}

static void join_rows(struct frames *r);

void
frames_init(struct frames *r, const char *text, size_t n, int width)
{
	size_t from = 0;

	*r = (struct frames){ .width = width };
	r->v = vec_reserve(n / USUAL_ROW + 1, &r->cap, sizeof *r->v);
	for (;;) {
		const char *nl = memchr(text + from, '\n', n - from);
		size_t to = nl != NULL ? (size_t)(nl - text) : n;

		r->v = vec_room(r->v, r->n, &r->cap, sizeof *r->v);
		r->v[r->n] = (struct frame){ .from = from, .to = to };
		peel_row(text, &r->v[r->n++]);
		if (nl == NULL)
			break;
		from = to + 1;
	}
	if (width != 0)
		join_rows(r);
}

void
frames_release(struct frames *r)
{
	free(r->v);
	*r = (struct frames){ 0 };
}

/* ---- which rows belong together ---- */

/* The last column that rows around i reach: what stands in for the width when nobody told it. */
static int
local_edge(const struct frames *r, size_t i)
{
	size_t from = i > 2 ? i - 2 : 0, to = i + 3 < r->n ? i + 3 : r->n;
	int edge = LEAST_EDGE;

	for (size_t k = from; k < to; k++)
		if (r->v[k].end_col > edge && r->v[k].bar_col < 0)
			edge = r->v[k].end_col;
	return edge;
}

/* Row i + 1 stands where the rest of row i would stand; `head` is the row with which the line began. */
static bool
continues(const struct frames *r, size_t head, size_t i)
{
	const struct frame *h = &r->v[head], *a = &r->v[i], *b = &r->v[i + 1];

	if (b->body == b->end || a->body == a->end || b->mark || a->box != b->box || a->bar_col != b->bar_col)
		return false;
	/* a "-" in the first column may be the next character of the row above */
	if (b->sign != 0 && b->sign != h->sign)
		return h->sign == 0 && b->sign_at == b->from;
	return b->body_col == h->frame_col || b->body_col == h->body_col || b->body_col == a->body_col || b->body_col == 0;
}

static size_t
first_word(const char *text, const struct frame *r)
{
	size_t n = 0;

	while (r->body + n < r->end && !blank(text[r->body + n]))
		n++;
	return n;
}

/* The column at which row i is full; *slack: columns before it that may stay free. */
static int
edge_of(const struct frames *r, size_t i, int *slack)
{
	*slack = 0;
	if (r->v[i].bar_col >= 0)
		return r->v[i].bar_col - 1;
	if (r->width < 0)
		return local_edge(r, i);
	*slack = EDGE_SLACK;
	return r->width;
}

static void
join_rows(struct frames *r)
{
	size_t head = 0;

	for (size_t i = 0; i + 1 < r->n; i++) {
		struct frame *a = &r->v[i];
		int slack, least = a->bar_col >= 0 ? 0 : r->width < 0 ? LEAST_EDGE : r->width - EDGE_SLACK;

		a->joins = a->end_col >= least && continues(r, head, i) && a->end_col >= edge_of(r, i, &slack) - slack;
		if (!a->joins)
			head = i + 1;
	}
}

/* The row is broken at a blank: the first word of the next one would not have fitted. */
static bool
joins_soft(const char *text, const struct frames *r, size_t head, size_t i)
{
	const struct frame *a = &r->v[i];
	int slack, edge;

	if (!a->hot || a->end_col < LEAST_EDGE || i + 1 >= r->n || !continues(r, head, i))
		return false;
	edge = edge_of(r, i, &slack);
	return a->end_col + 1 + (int)first_word(text, a + 1) > edge - slack;
}

/* Row i + 1 begins with the value to the name in row i. */
static bool
joins_pair(const char *text, const struct frames *r, size_t head, size_t i)
{
	static const char *const heads[] = { "value:", "\"value\"", "\"Value\"", "'value'", "Value:", "<value>", "<string>", "value =" };
	const struct frame *a = &r->v[i], *b;

	if (i != head || !a->hot || i + 1 >= r->n)
		return false;
	b = &r->v[i + 1];
	/* the "-" of a list in YAML looks like that of a diff */
	if (a->box != b->box || (a->sign != b->sign && (a->sign != '-' || b->sign != 0)))
		return false;
	for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++) {
		size_t n = strlen(heads[k]);

		if (b->end - b->body > n && memcmp(text + b->body, heads[k], n) == 0)
			return true;
	}
	return false;
}

static bool
joins(const char *text, const struct frames *r, size_t head, size_t i, enum view_mode mode)
{
	switch (mode) {
	case VIEW_HARD:
		return r->v[i].joins;
	case VIEW_SOFT:
		return joins_soft(text, r, head, i);
	case VIEW_PAIRS:
		return joins_pair(text, r, head, i);
	case VIEW_ALL:
	case VIEW_ROWS:
		break;
	}
	return false;
}

size_t
frames_next(const struct frames *r, size_t head, size_t i)
{
	const struct frame *b = &r->v[i + 1];

	return b->sign != 0 && b->sign != r->v[head].sign ? b->sign_at : b->body;
}

/* ---- views ---- */

static void
add_stretch(struct view *w, size_t src, size_t row)
{
	w->v = vec_room(w->v, w->n, &w->cap, sizeof *w->v);
	w->v[w->n++] = (struct stretch){ w->text.len, src, row };
}

/* Bytes at p that take no room on the screen: colours, zero-width runes, soft hyphen. */
static size_t
unseen(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;

	if (u[0] == 0x1b)
		return escape_sgr(p, n);
	if (n >= 2 && u[0] == 0xc2 && u[1] == 0xad)
		return 2;
	if (n >= 3 && u[0] == 0xe2 && u[1] == 0x80 && ((u[2] >= 0x8b && u[2] <= 0x8f) || (u[2] >= 0xaa && u[2] <= 0xae)))
		return 3;
	if (n >= 3 && u[0] == 0xe2 && u[1] == 0x81 && u[2] >= 0xa0 && u[2] <= 0xaf)
		return 3;
	if (n >= 3 && u[0] == 0xef && u[1] == 0xbb && u[2] == 0xbf)
		return 3;
	return 0;
}

bool
frame_hides(const char *text, const struct frame *r)
{
	if (!r->wide)
		return memchr(text + r->body, 0x1b, r->end - r->body) != NULL;
	for (size_t i = r->body; i < r->end; i++)
		if (text[i] == 0x1b || ((unsigned char)text[i] >= 0x80 && unseen(text + i, r->end - i) != 0))
			return true;
	return false;
}

static void
add_body(struct view *w, const char *text, size_t row, size_t from)
{
	const struct frame *r = &w->rows->v[row];
	size_t i = from;

	add_stretch(w, from, row);
	if (!frame_hides(text, r))
		i = r->end;
	while (i < r->end) {
		unsigned char c = (unsigned char)text[i];
		size_t skip = c == 0x1b || c == 0xc2 || c == 0xe2 || c == 0xef ? unseen(text + i, r->end - i) : 0;

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
view_init(struct view *w, const char *text, const struct frames *rows, enum view_mode mode)
{
	*w = (struct view){ .text = BUF_INIT, .rows = rows };
	if (mode == VIEW_ALL) {
		buf_grow(&w->text, rows->v[rows->n - 1].to);
		w->v = vec_reserve(2 * rows->n, &w->cap, sizeof *w->v);
	}
	for (size_t i = 0, head; i < rows->n; i++) {
		bool quiet = rows->v[i].quiet, dull = rows->v[i].dull && mode != VIEW_ALL;

		head = i;
		while (joins(text, rows, head, i, mode)) {
			quiet = rows->v[++i].quiet && quiet;
			dull = rows->v[i].dull && dull;
		}
		if (quiet || dull || (mode >= VIEW_HARD && i == head))
			continue;
		for (size_t k = head; k <= i; k++) {
			if (k != head && mode >= VIEW_SOFT) {
				add_stretch(w, rows->v[k].body, k);
				buf_chr(&w->text, ' ');
			}
			add_body(w, text, k, k == head ? rows->v[k].body : frames_next(rows, head, k - 1));
		}
		add_stretch(w, rows->v[i].to, i);
		buf_chr(&w->text, '\n');
	}
}

void
view_release(struct view *w)
{
	buf_wipe(&w->text);
	free(w->v);
	w->v = NULL;
	w->n = w->cap = 0;
}

static size_t
stretch_of(const struct view *w, size_t at)
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
view_source(const struct view *w, size_t at, size_t *row)
{
	const struct stretch *s = &w->v[stretch_of(w, at)];

	*row = s->row;
	return s->src + (at - s->at);
}

size_t
view_piece(const struct view *w, size_t at)
{
	size_t i = stretch_of(w, at) + 1;

	return i < w->n ? w->v[i].at : w->text.len;
}
