#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "scrub/finding.h"
#include "scrub/rows/rows_private.h"

#define USUAL_ROW 48	/* bytes */
#define NO_EDGE (INT_MAX / 2)
#define EDGE_SLACK 4	/* Claude Code keeps up to this many columns free at the right */

/* ---- one row ---- */

static const char *const bars[] = { "│", "┃", "║", "▌", "▎", "▏", "▐" };
static const char *const marks[] = { "⎿", "⏺", "●", "•", "❯", "└", "├", "✻", "☐", "☒", "▸" };

static size_t
starts_with(const char *p, size_t n, const char *const *words, size_t count)
{
	/* all of them are runes of three bytes that begin with the same one */
	if (n < 3 || p[0] != words[0][0])
		return 0;
	for (size_t i = 0; i < count; i++)
		if (p[1] == words[i][1] && p[2] == words[i][2])
			return 3;
	return 0;
}

#define STARTS(p, n, words) starts_with(p, n, words, sizeof (words) / sizeof (words)[0])

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Indents and the room in boxes are long: eight of them at a time. */
#define EIGHT_BLANKS ((uint64_t)0x2020202020202020)

static uint64_t
eight_at(const char *p)
{
	uint64_t eight;

	memcpy(&eight, p, sizeof eight);
	return eight;
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
	struct scrub_row *row;
	int col;
};

static void
peel_bytes(struct peel *p, size_t n)
{
	p->col += width_of(p->text + p->row->body, n);
	p->row->body += n;
}

static void
take_blanks(struct peel *p)
{
	size_t i = p->row->body, end = p->row->end;

	for (; i + sizeof EIGHT_BLANKS <= end && eight_at(p->text + i) == EIGHT_BLANKS;
	    i += sizeof EIGHT_BLANKS)
		p->col += (int)sizeof EIGHT_BLANKS;
	for (; i < end && is_blank(p->text[i]); i++)
		p->col += p->text[i] == '\t' ? 8 - p->col % 8 : 1;
	p->row->body = i;
}

static size_t
bytes_left(const struct peel *p)
{
	return p->row->end - p->row->body;
}

static void
trim_right(struct peel *p)
{
	size_t body = p->row->body, end = p->row->end;

	while (end >= body + sizeof EIGHT_BLANKS &&
	    eight_at(p->text + end - sizeof EIGHT_BLANKS) == EIGHT_BLANKS)
		end -= sizeof EIGHT_BLANKS;
	while (end > body && is_blank(p->text[end - 1]))
		end--;
	p->row->end = end;
}

static void
peel_box(struct peel *p)
{
	struct scrub_row *r = p->row;
	size_t len;

	if ((len = STARTS(p->text + r->body, bytes_left(p), bars)) == 0)
		return;
	peel_bytes(p, len);
	r->box = 1;
	if (bytes_left(p) >= 3 && STARTS(p->text + r->end - 3, 3, bars) == 3) {
		r->bar_col = p->col + width_of(p->text + r->body, r->end - 3 - r->body);
		r->end -= 3;
		trim_right(p);
	}
	if (bytes_left(p) > 0 && p->text[r->body] == ' ')
		peel_bytes(p, 1);
	r->frame_col = p->col;
	take_blanks(p);
}

/* "   86→", "   86<tab>", "  38 +  ", "  649  " */
static void
peel_number(struct peel *p)
{
	const char *at = p->text + p->row->body;
	size_t n = bytes_left(p), digits = 0, i;

	while (digits < n && digits < 7 && at[digits] >= '0' && at[digits] <= '9')
		digits++;
	if (digits == 0 || digits == 7 || digits == n)
		return;
	for (i = digits; i < n && at[i] == ' '; i++)
		;
	if (n - digits >= 3 && memcmp(at + digits, "→", 3) == 0) {
		peel_bytes(p, digits);
		peel_bytes(p, 3);
	} else if (at[digits] == '\t') {
		peel_bytes(p, digits);
		p->row->body++;
		p->col += 8 - p->col % 8;
	} else if (i > digits && (at[i] == '+' || at[i] == '-') && at[i + 1] != at[i]) {
		p->row->sign = at[i];
		p->row->sign_at = p->row->body + i;
		peel_bytes(p, i + 1);
	} else if (i - digits >= 2) {
		peel_bytes(p, i);
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
	size_t n = bytes_left(p);

	if (p->row->sign != 0 || n < 2 || (*at != '+' && *at != '-') || at[1] == *at)
		return;
	if (p->col != 0 && at[1] != ' ')
		return;
	p->row->sign = *at;
	p->row->sign_at = p->row->body;
	peel_bytes(p, 1);
	p->row->frame_col = p->col;
	take_blanks(p);
}

/* Letters and digits take turns as in "p8398u3hu78fv6uzv": the "=" behind it is a part of a token. */
static bool
is_jumbled(const char *p, size_t n)
{
	size_t turns = 0, lower = 0;

	for (size_t i = 0; i < n; i++) {
		lower += islower((unsigned char)p[i]) != 0;
		turns += i > 0 && isalnum((unsigned char)p[i]) && isalnum((unsigned char)p[i - 1]) &&
		    (isdigit((unsigned char)p[i]) != 0) != (isdigit((unsigned char)p[i - 1]) != 0);
	}
	return lower > 0 && turns >= 4;
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
	if (i + 2 < n && p[i] == '=' && (p[i + 1] == '"' || p[i + 1] == '\'') &&
	    strchr(",;)]}", p[i + 2]) != NULL)
		return false;
	if (i + 2 < n && p[i] == '=')
		return i > 0 && !is_jumbled(p, i);
	return i > 0 && i + 1 < n && p[i] == ':' && p[i + 1] == ' ';
}

static size_t
mark_at(const struct peel *p)
{
	const char *at = p->text + p->row->body;

	return STARTS(at, bytes_left(p), marks);
}

static void
peel_row(const char *text, struct scrub_row *r)
{
	struct peel p = { text, r, 0 };
	size_t len;

	r->body = r->from;
	r->end = r->to;
	r->bar_col = -1;
	r->withheld = r->to - r->from == strlen(SCRUB_ROW_WITHHELD) &&
	    memcmp(text + r->from, SCRUB_ROW_WITHHELD, strlen(SCRUB_ROW_WITHHELD)) == 0;
	trim_right(&p);
	take_blanks(&p);
	peel_box(&p);
	while ((len = mark_at(&p)) != 0 ||
	    (bytes_left(&p) > 1 && text[r->body] == '>' && text[r->body + 1] == ' ')) {
		peel_bytes(&p, len != 0 ? len : 1);
		r->mark = 1;
		take_blanks(&p);
		r->frame_col = p.col;
	}
	peel_number(&p);
	peel_sign(&p);
	r->body_col = p.col;
	r->key = new_key(text + r->body, bytes_left(&p));
	len = utf8_ascii(text + r->body, bytes_left(&p));
	r->wide = len < bytes_left(&p);
	r->end_col =
	    p.col + (int)len + (r->wide ? (int)utf8_width(text + r->body + len, bytes_left(&p) - len) : 0);
}

static void join_rows(struct scrub_rows *r);

void
scrub_rows_init(struct scrub_rows *r, const char *text, size_t n, int width)
{
	size_t from = 0;

	*r = (struct scrub_rows){ .width = width };
	r->v = vec_reserve(n / USUAL_ROW + 1, &r->cap, sizeof *r->v);
	for (;;) {
		const char *nl = memchr(text + from, '\n', n - from);
		size_t to = nl != NULL ? (size_t)(nl - text) : n;

		r->v = vec_room(r->v, r->n, &r->cap, sizeof *r->v);
		r->v[r->n] = (struct scrub_row){ .from = from, .to = to, .dirty = 1 };
		peel_row(text, &r->v[r->n++]);
		if (nl == NULL)
			break;
		from = to + 1;
	}
	if (width != 0)
		join_rows(r);
}

void
scrub_rows_reread(struct scrub_rows *r, const char *text, size_t n)
{
	size_t moved = 0;	/* modulo its range, as rows become shorter, too */

	for (size_t i = 0; i < r->n; i++) {
		struct scrub_row *one = &r->v[i];

		one->dirty = one->changed;
		one->has_keyword = one->has_keyword && one->unchanged;
		one->from += moved;
		one->to += moved;
		one->body += moved;
		one->end += moved;
		one->sign_at += moved;
		if (one->changed) {
			const char *nl = memchr(text + one->from, '\n', n - one->from);
			size_t to = nl != NULL ? (size_t)(nl - text) : n;

			moved += to - one->to;
			*one = (struct scrub_row){
				.from = one->from, .to = to, .dirty = 1, .unchanged = one->unchanged
			};
			peel_row(text, one);
		}
	}
	if (r->width != 0)
		join_rows(r);
}

void
scrub_rows_release(struct scrub_rows *r)
{
	free(r->v);
	free(r->live);
	*r = (struct scrub_rows){ 0 };
}

/* ---- which rows belong together ---- */

/*
 * The last column that rows around i reach: what stands in for the width when nobody told it.
 * Replaced rows are shorter or longer than they were, which can make others full; that such a
 * chain ends where rows are withheld, they let none be full.
 */
static int
local_edge(const struct scrub_rows *r, size_t i)
{
	size_t from = i > 2 ? i - 2 : 0, to = i + 3 < r->n ? i + 3 : r->n;
	int edge = SCRUB_EDGE_MIN;

	for (size_t k = from; k < to; k++) {
		if (r->v[k].withheld)
			return NO_EDGE;
		if (r->v[k].end_col > edge && r->v[k].bar_col < 0)
			edge = r->v[k].end_col;
	}
	return edge;
}

bool
scrub_rows_continue(const struct scrub_rows *r, size_t head, size_t i)
{
	const struct scrub_row *h = &r->v[head], *a = &r->v[i], *b = &r->v[i + 1];

	if (b->body == b->end || a->body == a->end || b->mark || a->box != b->box || a->bar_col != b->bar_col)
		return false;
	/* a "-" in the first column may be the next character of the row above */
	if (b->sign != 0 && b->sign != h->sign)
		return h->sign == 0 && b->sign_at == b->from;
	return b->body_col == h->frame_col || b->body_col == h->body_col || b->body_col == a->body_col ||
	    b->body_col == 0;
}

int
scrub_rows_edge(const struct scrub_rows *r, size_t i, int *slack)
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
join_rows(struct scrub_rows *r)
{
	size_t head = 0;

	for (size_t i = 0; i + 1 < r->n; i++) {
		struct scrub_row *a = &r->v[i];
		int slack,
		    least = a->bar_col >= 0 ? 0
		    : r->width < 0          ? SCRUB_EDGE_MIN
					    : r->width - EDGE_SLACK;
		char was = a->joins;

		a->joins = a->end_col >= least && scrub_rows_continue(r, head, i) &&
		    a->end_col >= scrub_rows_edge(r, i, &slack) - slack;
		if (a->joins != was) {
			a->dirty = 1;
			a->unchanged = a[1].unchanged = a->has_keyword = a[1].has_keyword = 0;
		}
		if (!a->joins)
			head = i + 1;
	}
}

size_t
scrub_rows_next(const struct scrub_rows *r, size_t head, size_t i)
{
	const struct scrub_row *b = &r->v[i + 1];

	return b->sign != 0 && b->sign != r->v[head].sign ? b->sign_at : b->body;
}
