#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "scrub/finding.h"
#include "scrub/scrub_private.h"

#define REST "[…]"

void
scrub_findings_release(struct scrub_findings *f)
{
	free(f->v);
	*f = (struct scrub_findings){ 0 };
}

void
scrub_findings_add(struct scrub_findings *f, struct scrub_finding one)
{
	if (one.from >= one.to)
		return;
	f->v = vec_room(f->v, f->n, &f->cap, sizeof *f->v);
	f->v[f->n++] = one;
}

void
scrub_findings_add_text(
    struct scrub_findings *f, const struct joined_text *w, size_t from, size_t to, struct scrub_finding like)
{
	const char *text = w->text.data;

	like.cont = false;
	while (from < to) {
		size_t row, other;

		if (text[from] == '\n') {
			from++;
			continue;
		}
		like.from = joined_source(w, from, &row);
		while (from < to && text[from] != '\n') {
			size_t src = joined_source(w, from, &other), end = joined_piece_end(w, from);
			const char *nl;

			if (other != row)
				break;
			end = end < to ? end : to;
			nl = memchr(text + from, '\n', end - from);
			end = nl != NULL ? (size_t)(nl - text) : end;
			like.to = src + (end - from);
			from = end;
		}
		scrub_findings_add(f, like);
		like.cont = true;
	}
}

static int
by_place(const void *a, const void *b)
{
	const struct scrub_finding *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to > y->to ? -1 : x->to < y->to;
}

static void
widen_to_runes(struct scrub_finding *f, const char *text, size_t n)
{
	while (f->from > 0 && ((unsigned char)text[f->from] & 0xc0) == 0x80)
		f->from--;
	while (f->to < n && ((unsigned char)text[f->to] & 0xc0) == 0x80)
		f->to++;
}

/* "]" or "#2]" at p: its length, or 0. */
static size_t
ordinal_read(const char *p, size_t n, unsigned *ordinal)
{
	size_t i = 1;

	*ordinal = 1;
	if (n > 0 && p[0] == ']')
		return 1;
	if (n < 3 || p[0] != '#' || p[1] < '1' || p[1] > '9')
		return 0;
	for (*ordinal = 0; i < n && p[i] >= '0' && p[i] <= '9' && *ordinal <= SCRUB_ORDINAL_MAX; i++)
		*ordinal = *ordinal * 10 + (unsigned)(p[i] - '0');
	return i < n && p[i] == ']' && *ordinal <= SCRUB_ORDINAL_MAX ? i + 1 : 0;
}

size_t
scrub_placeholder_read(
    const char *p, size_t n, const char *const *kinds, size_t n_kinds, size_t *kind, unsigned *ordinal)
{
	size_t head = strlen(SCRUB_PLACEHOLDER);

	if (n <= head || memcmp(p, SCRUB_PLACEHOLDER, head) != 0 ||
	    (!islower((unsigned char)p[head]) && !isdigit((unsigned char)p[head])))
		return 0;
	for (*kind = 0; *kind < n_kinds; ++*kind) {
		size_t len, rest = 0;

		if (kinds[*kind][0] != p[head])
			continue;
		len = strlen(kinds[*kind]);
		if (n > head + len && memcmp(p + head, kinds[*kind], len) == 0)
			rest = ordinal_read(p + head + len, n - head - len, ordinal);
		if (rest != 0)
			return head + len + rest;
	}
	return 0;
}

/* The length of what stands for a secret at p, or 0. */
static size_t
placeholder_len(const char *p, size_t n, const char *const *kinds, size_t n_kinds)
{
	size_t kind;
	unsigned ordinal;

	if (n >= strlen(REST) && memcmp(p, REST, strlen(REST)) == 0)
		return strlen(REST);
	if (n >= strlen(SCRUB_ROW_WITHHELD) && memcmp(p, SCRUB_ROW_WITHHELD, strlen(SCRUB_ROW_WITHHELD)) == 0)
		return strlen(SCRUB_ROW_WITHHELD);
	return scrub_placeholder_read(p, n, kinds, n_kinds, &kind, &ordinal);
}

/*
 * Marks what touches a placeholder as empty, unless the whole row goes. Both run from left to
 * right, so each is seen once.
 */
static void
drop_touching(struct scrub_findings *f, const char *text, size_t n, const char *const *kinds, size_t n_kinds)
{
	size_t at = 0, first = 0;
	const char *p;

	while (at < n && first < f->n && (p = memchr(text + at, '[', n - at)) != NULL) {
		size_t from = (size_t)(p - text), len = placeholder_len(p, n - from, kinds, n_kinds);

		at = from + (len != 0 ? len : 1);
		if (len == 0)
			continue;
		while (first < f->n && f->v[first].to <= from)
			first++;
		for (size_t i = first; i < f->n && f->v[i].from < from + len; i++)
			if (f->v[i].to > from && f->v[i].rank != SCRUB_RANK_WITHHELD)
				f->v[i].to = f->v[i].from;
	}
}

void
scrub_findings_merge(
    struct scrub_findings *f, const char *text, size_t n, const char *const *kinds, size_t n_kinds)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++)
		widen_to_runes(&f->v[i], text, n);
	if (f->n > 1)
		qsort(f->v, f->n, sizeof *f->v, by_place);
	drop_touching(f, text, n, kinds, n_kinds);
	for (size_t i = 0; i < f->n; i++) {
		struct scrub_finding one = f->v[i], *last = kept > 0 ? &f->v[kept - 1] : NULL;

		if (one.from == one.to)
			continue;
		if (last == NULL || one.from >= last->to) {
			f->v[kept++] = one;
			continue;
		}
		if (one.to > last->to)
			last->to = one.to;
		if (one.from == last->from)
			last->cont = last->cont || one.cont;
		if (one.rank < last->rank || (one.rank == last->rank && one.span > last->span)) {
			last->rank = one.rank;
			last->kind = one.kind;
			last->secret = one.secret;
			last->span = one.span;
		}
	}
	f->n = kept;
}

static void
write_placeholder(const char *kind, unsigned ordinal, struct buf *out)
{
	buf_str(out, SCRUB_PLACEHOLDER);
	buf_str(out, kind);
	if (ordinal > 1)
		buf_fmt(out, "#%u", ordinal);
	buf_chr(out, ']');
}

static void
write_one(const struct scrub_finding *f, const char *const *kinds, struct buf *out)
{
	if (f->rank == SCRUB_RANK_WITHHELD)
		buf_str(out, SCRUB_ROW_WITHHELD);
	else if (f->cont)
		buf_str(out, REST);
	else
		write_placeholder(kinds[f->kind], f->ordinal, out);
}

static void
copy_text(const char *text, size_t from, size_t to, struct removed *gone, struct buf *out)
{
	if (gone != NULL)
		scrub_removed_copied(gone, from, to, out->len);
	buf_add(out, text + from, to - from);
}

/* What follows the body: in a box the blanks before the bar give or take what the body lost or won. */
static void
write_tail(const struct scrub_row *r, const char *text, size_t at, size_t mark, struct removed *gone,
    struct buf *out)
{
	size_t gap = 0, was, is, want;

	if (r->bar_col < 0 || at > r->end) {
		copy_text(text, at, r->to, gone, out);
		return;
	}
	copy_text(text, at, r->end, gone, out);
	while (text[r->end + gap] == ' ')
		gap++;
	was = utf8_width(text + r->from, r->end - r->from) + gap;
	is = utf8_width(out->data + mark, out->len - mark);
	want = was > is ? was - is : 1;
	for (size_t i = 0; i < want; i++)
		buf_chr(out, ' ');
	copy_text(text, r->end + gap, r->to, gone, out);
}

void
scrub_findings_write(const struct scrub_findings *f, const char *text, const struct scrub_rows *rows,
    const char *const *kinds, struct removed *gone, struct buf *out)
{
	size_t k = 0, written = 0;

	for (size_t i = 0; i < rows->n && k < f->n; i++) {
		const struct scrub_row *r = &rows->v[i];
		size_t at = r->from, mark;

		if (f->v[k].from >= r->to)
			continue;
		copy_text(text, written, r->from, gone, out);
		mark = out->len;
		for (; k < f->n && f->v[k].from < r->to; k++) {
			copy_text(text, at, f->v[k].from, gone, out);
			write_one(&f->v[k], kinds, out);
			at = f->v[k].to;
		}
		write_tail(r, text, at, mark, gone, out);
		written = r->to;
	}
	copy_text(text, written, rows->v[rows->n - 1].to, gone, out);
	if (gone != NULL)
		scrub_removed_end_pass(gone);
}
