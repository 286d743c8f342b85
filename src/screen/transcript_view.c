#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"

/*
 * The view of Ctrl+O draws the conversation again, with every result in full and a stamp above
 * each answer. What of it does not fit on the screen scrolls away, so that it stands in the
 * middle of the history when the view is closed again (2.1.197, 2.1.330): behind the rows that
 * had scrolled away before, and in front of those that go on from them.
 */
#define NONE UINT32_MAX
#define FULL_INDENT 5	/* the column of a result's rows */
#define FOLD_ROWS 400	/* rows that the view may show for one that is folded */
#define AGAIN 8		/* rows that may stand on both sides of what it left */

struct view_copies {
	struct screen_rows *r;
	uint32_t *prev;		/* the last row above with the same bytes; NONE */
	size_t budget;		/* rows that may still be looked at: keeps hostile text linear */
};

static bool
same_row(const struct screen_rows *r, size_t i, size_t k)
{
	return r->v[i].n == r->v[k].n && memcmp(screen_row_text(r, i), screen_row_text(r, k), r->v[i].n) == 0;
}

static uint32_t
hash_of(const struct screen_rows *r, size_t i)
{
	const char *p = screen_row_text(r, i);
	uint32_t h = 2166136261u;

	for (size_t k = 0; k < r->v[i].n; k++)
		h = (h ^ (unsigned char)p[k]) * 16777619u;
	return h;
}

/*
 * One that has the same hash and other bytes hides what is above it: then less is found, never
 * something wrong.
 */
static void
find_copies(struct view_copies *w)
{
	size_t mask = 1023;
	uint32_t *last;

	while (mask < w->r->n)
		mask = mask * 2 + 1;
	last = xcalloc(mask + 1, sizeof *last);
	for (size_t i = 0; i < w->r->n; i++) {
		size_t slot = hash_of(w->r, i) & mask;

		w->prev[i] = w->r->v[i].n > 0 && last[slot] > 0 && same_row(w->r, last[slot] - 1, i)
		    ? last[slot] - 1
		    : NONE;
		if (w->r->v[i].n > 0)
			last[slot] = (uint32_t)i + 1;
	}
	free(last);
}

static size_t
below_blanks(struct view_copies *w, size_t i)
{
	while (i < w->r->n && w->r->v[i].n == 0 && w->budget > 0) {
		w->budget--;
		i++;
	}
	return i;
}

static bool
of_result(const struct screen_rows *r, size_t i)
{
	return screen_row_kind(r, i) == ROW_BODY && screen_row_indent(r, i) >= FULL_INDENT;
}

/* Row x is folded; row y begins what the view shows for it. The row behind that; y when it is not found. */
static size_t
unfolded_end(struct view_copies *w, size_t x, size_t y)
{
	size_t next = below_blanks(w, x + 1), k = y;

	if (screen_row_has_cue(w->r, x, CUE_MORE)) {
		while (of_result(w->r, k) && w->budget > 0) {
			w->budget--;
			k++;
		}
		return k;
	}
	for (; screen_row_has_cue(w->r, x, CUE_EXPAND) && k < w->r->n && k < y + FOLD_ROWS && w->budget > 0;
	    k++, w->budget--)
		if (same_row(w->r, next, k))
			return k;
	return y;
}

/*
 * Goes down from row x and its copy y while the copy is one, as far as row `stamp` above; *x and
 * *y become the first rows that differ.
 */
static void
extend_down(struct view_copies *w, size_t stamp, size_t *x, size_t *y)
{
	const struct screen_rows *r = w->r;

	while (w->budget > 0) {
		size_t behind;

		w->budget--;
		*x = below_blanks(w, *x);
		*y = below_blanks(w, *y);
		if (*x >= stamp || *y >= r->n)
			return;
		if (same_row(r, *x, *y) ||
		    (screen_row_kind(r, *x) == ROW_TURN_END && screen_row_kind(r, *y) == ROW_TURN_END)) {
			++*x;	/* the end of a turn gets another verb each time it is drawn */
			++*y;
			continue;
		}
		behind = unfolded_end(w, *x, *y);
		if (behind == *y)
			return;
		++*x;
		*y = behind;
	}
}

/*
 * Where the view's rows begin above its stamp: the rest of a result in full, and items that stand
 * above already. Not above row `top`.
 */
static size_t
extend_up(struct view_copies *w, size_t stamp, size_t top)
{
	const struct screen_rows *r = w->r;
	size_t first = stamp;

	for (size_t i = stamp; i > top && w->budget > 0; i--, w->budget--) {
		if (r->v[i - 1].n == 0)
			continue;
		if (!of_result(r, i - 1) && w->prev[i - 1] == NONE &&
		    screen_row_kind(r, i - 1) != ROW_TURN_END)
			break;
		first = i - 1;
	}
	return first;
}

/*
 * Closing it draws a few of the rows above once more. How many of those from row i on stand right
 * above row `end`.
 */
static size_t
drawn_again(const struct screen_rows *r, size_t end, size_t i)
{
	for (size_t n = AGAIN; n > 0; n--) {
		size_t k = 0;

		while (n <= end && i + n <= r->n && k < n && same_row(r, end - n + k, i + k))
			k++;
		if (k == n)
			return n;
	}
	return 0;
}

/* What the view with this stamp left, from *from to *to; nothing of it stands above row `top`. */
static bool
left_of_view(struct view_copies *w, size_t stamp, size_t top, size_t *from, size_t *to)
{
	size_t item = below_blanks(w, stamp), x, y = item;

	if (item >= w->r->n || w->prev[item] == NONE || w->prev[item] >= stamp)
		return false;
	x = w->prev[item];
	extend_down(w, stamp, &x, &y);
	*from = extend_up(w, stamp, x > top ? x : top);
	*to = y + drawn_again(w->r, *from, y);
	return *to < w->r->n && screen_row_kind(w->r, y) != ROW_RULE && w->budget > 0;
}

static bool
has_stamp(const struct screen_rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].stamp)
			return true;
	return false;
}

void
screen_rows_drop_view(struct screen_rows *r)
{
	struct view_copies w = { .r = r, .budget = 16 * r->n + 4096 };
	size_t kept = 0, top = 0, from, to;
	bool *gone;

	if (!has_stamp(r))
		return;
	w.prev = xcalloc(r->n, sizeof *w.prev);
	gone = xcalloc(r->n, sizeof *gone);
	find_copies(&w);
	for (size_t i = 0; i < r->n; i++) {
		if (i < top || !r->v[i].stamp || !left_of_view(&w, i, top, &from, &to))
			continue;
		memset(gone + from, 1, to - from);
		top = to;
	}
	for (size_t i = 0; i < r->n; i++)
		if (!gone[i])
			r->v[kept++] = r->v[i];
	r->n = kept;
	free(gone);
	free(w.prev);
}
