#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "scrub/scrub_private.h"

void
scrub_removed_release(struct removed *r)
{
	free(r->v);
	buf_wipe(&r->bytes);
	*r = (struct removed){ .bytes = BUF_INIT };
}

void
scrub_removed_add(struct removed *r, size_t at, size_t instead, const char *p, size_t n)
{
	struct removed_piece *last = r->n > 0 ? &r->v[r->n - 1] : NULL;
	bool escape = *p == 0x1b;

	/* a text of controls would have a piece for each of them */
	if (last != NULL && !escape && !last->escape && (instead != 0) == (last->instead != 0) &&
	    last->at + last->instead == at) {
		last->instead += (uint32_t)instead;
		last->n += (uint32_t)n;
	} else {
		r->v = vec_room(r->v, r->n, &r->cap, sizeof *r->v);
		r->v[r->n++] = (struct removed_piece){ .at = (uint32_t)at, .from = (uint32_t)r->bytes.len,
			.n = (uint32_t)n, .instead = (uint32_t)instead, .escape = escape };
	}
	buf_add(&r->bytes, p, n);
}

void
scrub_removed_copied(struct removed *r, size_t from, size_t to, size_t out)
{
	for (; r->read < r->n && r->v[r->read].at <= to; r->read++) {
		struct removed_piece one = r->v[r->read];

		if (one.at < from)
			continue;
		if (one.at + one.instead > to)
			break;
		one.at = (uint32_t)(one.at - from + out);
		r->v[r->kept++] = one;
	}
}

void
scrub_removed_end_pass(struct removed *r)
{
	r->n = r->kept;
	r->read = r->kept = 0;
}

/* What follows would become part of the sequence: a placeholder behind a lone ESC. */
static bool
swallows_next(const struct removed_piece *one, const char *raw, const char *next, size_t n)
{
	struct buf both = BUF_INIT;
	bool longer;

	if (!one->escape)
		return false;
	buf_add(&both, raw, one->n);
	buf_add(&both, next, n < 4 ? n : 4);
	longer = utf8_escape_len(both.data, both.len) > one->n;
	buf_wipe(&both);
	return longer;
}

void
scrub_removed_restore(const struct removed *r, struct buf *text)
{
	struct buf out = BUF_INIT;
	size_t at = 0;

	buf_grow(&out, text->len + r->bytes.len);
	for (size_t i = 0; i < r->n; i++) {
		const struct removed_piece *one = &r->v[i];
		const char *raw = r->bytes.data + one->from;

		buf_add(&out, text->data + at, one->at - at);
		at = one->at + one->instead;
		bool next_is_removed = i + 1 < r->n && r->v[i + 1].at == at;

		if (next_is_removed || !swallows_next(one, raw, text->data + at, text->len - at))
			buf_add(&out, raw, one->n);
	}
	buf_add(&out, text->data + at, text->len - at);
	buf_wipe(text);
	*text = out;
}

static bool
has_words(const struct removed_piece *one)
{
	return one->escape && one->n > 1;
}

/* What a secret may be made of: a string (OSC, DCS), a short sequence, the last letter of a CSI. */
static void
add_words(const struct removed *r, const struct removed_piece *one, struct buf *out)
{
	const char *raw = r->bytes.data + one->from;

	for (size_t k = raw[1] == '[' ? one->n - 1 : 1; k < one->n; k++)
		if ((unsigned char)raw[k] > 0x20)
			buf_chr(out, raw[k]);
}

/* Where the row of offset `at` begins and ends. */
static void
row_around(const struct buf *text, size_t at, size_t *from, size_t *to)
{
	const char *p = text->data, *before = at > 0 ? memrchr(p, '\n', at) : NULL,
		   *after = memchr(p + at, '\n', text->len - at);

	*from = before != NULL ? (size_t)(before - p) + 1 : 0;
	*to = after != NULL ? (size_t)(after - p) : text->len;
}

size_t
scrub_removed_words(const struct removed *r, const struct buf *text, size_t *i, struct buf *out, size_t *end)
{
	size_t first, from = 0, to = 0, at;

	while (*i < r->n && !has_words(&r->v[*i]))
		++*i;
	if (*i == r->n)
		return 0;
	row_around(text, r->v[*i].at, &from, &to);
	*end = to;
	while (*i > 0 && r->v[*i - 1].at >= from)
		--*i;
	first = *i;
	for (at = from; *i < r->n && r->v[*i].at <= to; ++*i) {
		const struct removed_piece *one = &r->v[*i];

		buf_add(out, text->data + at, one->at - at);
		at = one->at;
		if (has_words(one))
			add_words(r, one, out);
	}
	buf_add(out, text->data + at, to - at);
	return *i - first;
}

void
scrub_removed_forget_words(struct removed *r, size_t from, size_t to)
{
	size_t kept = from;

	for (size_t i = from; i < r->n; i++)
		if (i >= to || !has_words(&r->v[i]))
			r->v[kept++] = r->v[i];
	r->n = kept;
}
