#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/repaint.h"
#include "base/buf.h"
#include "context/exchange.h"
#include "context/likeness.h"

/* The next of what was said or called; `to` when there is none. */
static size_t
next_said(const struct conversation *c, size_t i, size_t to)
{
	while (i < to && c->v[i].role == ROLE_SYSTEM)
		i++;
	return i;
}

static bool
same_letters(const char *a, const char *b, bool begins)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	bool same;

	likeness_letters(&x, a != NULL ? a : "");
	likeness_letters(&y, b != NULL ? b : "");
	same = (begins ? x.len <= y.len : x.len == y.len) && (x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
	buf_release(&x);
	buf_release(&y);
	return same;
}

static bool
same_exchange(const struct exchange *a, const struct exchange *b, bool last)
{
	if (a->role != b->role || (a->tool == NULL) != (b->tool == NULL) || a->folded != b->folded)
		return false;
	if (a->tool != NULL && !a->folded)	/* what it printed may have grown since */
		return strcmp(a->tool, b->tool) == 0 && same_letters(a->input, b->input, false);
	return same_letters(a->content, b->content, last);
}

/* All of from .. banner - 1 stands again behind the banner, before row `to`. */
static bool
is_again(const struct conversation *c, size_t from, size_t banner, size_t to)
{
	size_t i = next_said(c, from, banner), k = next_said(c, banner, to);

	while (i < banner && k < to) {
		size_t next = next_said(c, i + 1, banner);

		if (!same_exchange(&c->v[i], &c->v[k], next == banner))
			return false;
		i = next;
		k = next_said(c, k + 1, to);
	}
	return i == banner;
}

static size_t
next_banner(const struct conversation *c, size_t i)
{
	while (i < c->n && !likeness_banner(&c->v[i]))
		i++;
	return i;
}

void
repaint_drop(struct conversation *c)
{
	size_t kept = 0, from = next_banner(c, 0);
	bool *gone = xcalloc(c->n + 1, sizeof *gone);

	while (from < c->n) {
		size_t banner = next_banner(c, from + 1), to = banner < c->n ? next_banner(c, banner + 1) : c->n;

		if (banner < c->n && is_again(c, from, banner, to))
			for (size_t i = from; i < banner; i++)
				gone[i] = true;
		from = banner;
	}
	for (size_t i = 0; i < c->n; i++) {
		if (gone[i])
			exchange_release(&c->v[i]);
		else
			c->v[kept++] = c->v[i];
	}
	c->n = kept;
	free(gone);
}
