#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"
#include "conversation/conversation.h"

/* The next of what was said or called; `to` when there is none. */
static size_t
next_exchange(const struct conversation *c, size_t i, size_t to)
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

	exchange_letters(&x, a != NULL ? a : "");
	exchange_letters(&y, b != NULL ? b : "");
	same =
	    (begins ? x.len <= y.len : x.len == y.len) && (x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
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

/* All of from .. until - 1 stands again behind the banner, before row `to`. */
static bool
is_again(const struct conversation *c, size_t from, size_t until, size_t banner, size_t to)
{
	size_t i = next_exchange(c, from, until), k = next_exchange(c, banner, to);

	while (i < until && k < to) {
		size_t next = next_exchange(c, i + 1, until);

		if (!same_exchange(&c->v[i], &c->v[k], next == until))
			return false;
		i = next;
		k = next_exchange(c, k + 1, to);
	}
	return i == until;
}

/* From the end: what stays is held against what stands before it. */
void
screen_drop_repaint(struct conversation *c)
{
	size_t kept = 0, banner = c->n, to = c->n, until = c->n;
	bool *gone = xcalloc(c->n + 1, sizeof *gone);

	for (size_t i = c->n; i-- > 0;) {
		if (!exchange_is_banner(&c->v[i]))
			continue;
		if (banner < c->n && is_again(c, i, until, banner, to)) {
			for (size_t k = i; k < until; k++)
				gone[k] = true;
		} else {
			banner = i;
			to = until;
		}
		until = i;
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

/*
 * A repaint leaves two copies of a stretch of rows one behind the other, perhaps broken at other
 * columns. So the bytes are compared without blanks and line breaks, from places that are row
 * starts in both copies: rows behind a blank row and rows with a marker.
 */
#define KEY_BYTES 24	/* of such a row's beginning: fits into a row of any sensible pane */
#define SKIPS 3		/* rows that may be missing or cut in one copy */
#define STALE 12	/* rows of an old input box that may stand between the copies */

struct copy_slot {
	uint32_t key, row;	/* row + 1; 0: free */
};

struct copy_search {
	struct screen_rows *r;
	/*
	 * 0: stays; else the other end of the stretch that goes, + 1, at both its ends (inside:
	 * anything but 0)
	 */
	uint32_t *gone;
	struct copy_slot *last;	/* newest row with a key; open addressing */
	size_t mask;
	/*
	 * rows of the second copy that were compared last and not believed, and how far above the
	 * first one is
	 */
	size_t in_vain, below;
	size_t distance;
	size_t budget;		/* bytes that may still be compared: keeps hostile text linear */
};

struct cursor {
	size_t row, at;
};

/* One repaint: the first copy is rows from .. seam - 1, the second begins at row seam. */
struct copy {
	size_t from, seam;
	bool inside;		/* the second begins where the first is in the middle of a row */
	size_t cut1, cut2;	/* rows cut1 .. cut2 - 1 can go */
	/* rows of the second copy above this one, from the anchor on, are the first copy's byte by byte */
	size_t same;
	bool midway;		/* the first ends in a paragraph that goes on in the second */
};

static bool
is_anchor(const struct screen_rows *r, size_t i)
{
	return r->v[i].n > 0 && (i == 0 || r->v[i - 1].kind == ROW_BLANK || r->v[i].kind != ROW_BODY);
}

static uint32_t
key_of(const struct screen_rows *r, size_t i)
{
	const char *p = screen_row_text(r, i);
	uint32_t h = 2166136261u;

	for (size_t k = 0, used = 0; k < r->v[i].n && used < KEY_BYTES; k++) {
		if (p[k] == ' ')
			continue;
		h = (h ^ (unsigned char)p[k]) * 16777619u;
		used++;
	}
	return h;
}

/* At the end of a row, or among the blanks in front of it, a cursor is at the start of a row as well. */
static void
to_row_start(const struct copy_search *s, struct cursor *c)
{
	if (c->row < s->r->n && c->at > 0 && c->at == s->r->v[c->row].n)
		*c = (struct cursor){ c->row + 1, 0 };
	else if (c->row < s->r->n && c->at > 0 && screen_row_indent(s->r, c->row) >= c->at)
		c->at = 0;
}

static bool
same_bytes(struct copy_search *s, size_t i, size_t k)
{
	const struct screen_row *a = &s->r->v[i], *b = &s->r->v[k];

	s->budget -= s->budget > a->n / 16 ? a->n / 16 + 1 : s->budget;
	return a->n == b->n && memcmp(screen_row_text(s->r, i), screen_row_text(s->r, k), a->n) == 0;
}

/*
 * Rows that are the same byte by byte need not be compared blank by blank. `end` is where the
 * first copy ends.
 */
static void
skip_same_rows(struct copy_search *s, struct cursor *one, struct cursor *two, size_t end)
{
	size_t i, k;

	to_row_start(s, one);
	to_row_start(s, two);
	while (one->at == 0 && two->at == 0 && s->budget > 0) {
		for (i = one->row; i < end && !s->gone[i] && s->r->v[i].n == 0; i++)
			;
		for (k = two->row; k < s->r->n && !s->gone[k] && s->r->v[k].n == 0; k++)
			;
		if (i >= end || k >= s->r->n || s->gone[i] || s->gone[k] || !same_bytes(s, i, k))
			return;
		one->row = i + 1;
		two->row = k + 1;
	}
}

/* The same upwards, while the second copy's row is below `begin`. */
static void
skip_same_above(struct copy_search *s, struct cursor *one, struct cursor *two, size_t begin)
{
	size_t i, k;

	to_row_start(s, one);
	to_row_start(s, two);
	while (one->at == 0 && two->at == 0 && s->budget > 0) {
		for (i = one->row; i > 0 && !s->gone[i - 1] && s->r->v[i - 1].n == 0; i--)
			;
		for (k = two->row; k > begin && !s->gone[k - 1] && s->r->v[k - 1].n == 0; k--)
			;
		if (i == 0 || k <= begin + 1 || s->gone[i - 1] || s->gone[k - 1] ||
		    !same_bytes(s, i - 1, k - 1))
			return;
		one->row = i - 1;
		two->row = k - 1;
	}
}

/* Takes the next byte that is no blank; -1 at row `end`. Leaves the cursor behind it. */
static int
next_byte(const struct copy_search *s, struct cursor *c, size_t end)
{
	for (; c->row < end; c->row++, c->at = 0) {
		const char *p = screen_row_text(s->r, c->row);

		if (s->gone[c->row]) {
			c->row = s->gone[c->row] - 1;
			continue;
		}
		while (c->at < s->r->v[c->row].n && p[c->at] == ' ')
			c->at++;
		if (c->at < s->r->v[c->row].n)
			return (unsigned char)p[c->at++];
	}
	return -1;
}

/* The same backwards: the byte in front of the cursor. */
static int
byte_before(const struct copy_search *s, struct cursor *c, size_t begin)
{
	for (;;) {
		const char *p = screen_row_text(s->r, c->row);

		while (c->at > 0 && p[c->at - 1] == ' ')
			c->at--;
		if (c->at > 0)
			return (unsigned char)p[--c->at];
		if (c->row <= begin)
			return -1;
		c->row--;
		if (s->gone[c->row]) {
			if (s->gone[c->row] - 1 <= begin)
				return -1;
			c->row = s->gone[c->row] - 2;
		}
		c->at = s->r->v[c->row].n;
	}
}

/*
 * How far up the two copies agree: sets from and seam. False: the text repeats itself with a
 * short period, that is no repaint.
 */
static bool
extend_copy_up(struct copy_search *s, size_t a1, size_t a2, struct copy *y)
{
	struct cursor one = { a1, 0 }, two = { a2, 0 };

	y->from = a1;
	y->seam = a2;
	y->inside = false;
	while (s->budget > 0) {
		int x, z;

		skip_same_above(s, &one, &two, a1);
		if (two.at == 0 || screen_row_indent(s->r, two.row) >= two.at) {
			y->seam = two.row;
			y->from = one.row;
			y->inside = one.at > 0 && screen_row_indent(s->r, one.row) < one.at;
		}
		x = byte_before(s, &one, 0);
		z = byte_before(s, &two, a1);
		s->budget -= s->budget > 0;
		if (z < 0)
			return false;
		if (x != z)
			return true;
	}
	return false;
}

/* From a mismatch to the next pair of rows that agree again. */
static bool
resync_rows(const struct copy_search *s, struct cursor *one, struct cursor *two, size_t end1, size_t *skip1,
    size_t *skip2)
{
	size_t first[SKIPS + 1], second[SKIPS + 1], n1 = 0, n2 = 0;
	uint32_t key1[SKIPS + 1] = { 0 }, key2[SKIPS + 1] = { 0 };

	for (size_t i = one->row + (one->at > 0); i < end1 && n1 <= SKIPS && i < one->row + 8; i++)
		if (!s->gone[i] && s->r->v[i].n > 0)
			first[n1++] = i;
	for (size_t i = two->row + (two->at > 0); i < s->r->n && n2 <= SKIPS && i < two->row + 8; i++)
		if (!s->gone[i] && s->r->v[i].n > 0)
			second[n2++] = i;
	for (size_t i = 0; i < n1; i++)
		key1[i] = key_of(s->r, first[i]);
	for (size_t i = 0; i < n2; i++)
		key2[i] = key_of(s->r, second[i]);
	for (size_t sum = 0; sum <= 2 * SKIPS; sum++)
		for (size_t x = 0; x < n1 && x <= sum; x++) {
			size_t y = sum - x;

			if (y >= n2 || key1[x] != key2[y])
				continue;
			*skip1 = x + (one->at > 0);
			*skip2 = y + (two->at > 0);
			*one = (struct cursor){ first[x], 0 };
			*two = (struct cursor){ second[y], 0 };
			return true;
		}
	return false;
}

/* What is left of the first copy is only the old input box. */
static bool
only_box(const struct copy_search *s, size_t row, size_t end)
{
	bool box = false;

	if (end - row > STALE)
		return false;
	for (size_t i = row; i < end; i++) {
		enum row_kind k = (enum row_kind)s->r->v[i].kind;

		if (k == ROW_RULE || k == ROW_BOX || k == ROW_SPINNER)
			box = true;
		else if (k != ROW_BLANK && !(box && k == ROW_BODY) && !s->gone[i])
			return false;
	}
	return box;
}

/*
 * What is left of the first copy is a result that the second shows folded: that of a "!" command
 * when it has ended.
 */
static bool
folded_since(struct copy_search *s, size_t row, size_t end, size_t second)
{
	size_t i = row;

	if (!screen_row_has_cue(s->r, second, CUE_MORE) || screen_row_has_cue(s->r, row, CUE_MORE))
		return false;
	while (i > 0 && screen_row_kind(s->r, i) == ROW_BODY && s->budget > 0) {
		s->budget--;
		i--;
	}
	if (screen_row_kind(s->r, i) != ROW_RESULT)
		return false;
	for (i = row; i < end &&
	    (screen_row_kind(s->r, i) == ROW_BODY || screen_row_kind(s->r, i) == ROW_BLANK) && s->budget > 0;
	    i++)
		s->budget--;
	return i == end || only_box(s, i, end);
}

/* The cursor stands within a paragraph. */
static bool
in_paragraph(const struct copy_search *s, struct cursor c)
{
	to_row_start(s, &c);
	if (c.at > 0)
		return true;
	return c.row > 0 && screen_row_kind(s->r, c.row) == ROW_BODY && s->r->v[c.row - 1].n > 0 &&
	    !screen_row_has_cue(s->r, c.row, CUE_LIST);
}

/*
 * Compares down from the two anchors until the first copy is used up; places the cut where
 * nothing is lost.
 */
static bool
extend_copy_down(struct copy_search *s, size_t a1, size_t a2, struct copy *y)
{
	struct cursor one = { a1, 0 }, two = { a2, 0 };
	size_t skips = 0, skip1, skip2;
	bool second_has_more = false;

	y->cut1 = a1;
	y->cut2 = a2;
	y->midway = false;
	skip_same_rows(s, &one, &two, y->seam);
	y->same = two.at == 0 ? two.row : a2;
	while (s->budget > 0) {
		int x, z;

		skip_same_rows(s, &one, &two, y->seam);
		x = next_byte(s, &one, y->seam);
		s->budget -= s->budget > 0;
		if (x < 0) {
			y->midway = in_paragraph(s, two);
			return true;
		}
		z = next_byte(s, &two, s->r->n);
		if (x == z)
			continue;
		if (only_box(s, one.row, y->seam) || folded_since(s, one.row, y->seam, two.row))
			return true;
		if (z < 0)
			return false;
		one.at = one.at == 1 || screen_row_indent(s->r, one.row) + 1 >= one.at ? 0 : one.at;
		two.at = two.at == 1 || screen_row_indent(s->r, two.row) + 1 >= two.at ? 0 : two.at;
		if (++skips > SKIPS || !resync_rows(s, &one, &two, y->seam, &skip1, &skip2))
			return false;
		if (skip1 > 1 && skip2 > 0)
			return false;
		if (skip1 > 0 && skip2 == 0) {
			if (second_has_more)
				return false;
			y->cut1 = one.row;
			y->cut2 = two.row;
		} else
			second_has_more = true;
	}
	return false;
}

static size_t
count_rows_of(struct copy_search *s, size_t from, size_t to, bool blank)
{
	size_t n = 0, cost = to - from;

	s->budget -= cost < s->budget ? cost : s->budget;

	for (size_t i = from; i < to; i++)
		n += !s->gone[i] && (s->r->v[i].n == 0) == blank;
	return n;
}

static bool
has_banner(const struct copy_search *s, size_t from, size_t to)
{
	for (size_t i = from; i <= to && i < s->r->n; i++)
		if (s->r->v[i].kind == ROW_BANNER || s->r->v[i].kind == ROW_BANNER_TOP)
			return true;
	return false;
}

/*
 * Two items have one blank row between them. A repaint from the top of the pane may leave more of
 * them above its first.
 */
static bool
wide_gap(const struct copy_search *s, const struct copy *y)
{
	enum row_kind k = (enum row_kind)s->r->v[y->seam].kind;
	const struct screen_row *v = s->r->v;

	return (k == ROW_WORDS || k == ROW_PROMPT || k == ROW_TURN_END) && y->seam > 1 &&
	    v[y->seam - 1].n == 0 && v[y->seam - 2].n == 0 && y->from > 1 &&
	    (v[y->from - 1].n > 0 || v[y->from - 2].n > 0);
}

/* A call has a result, or is the last thing there. One whose head alone stands above the seam was cut off. */
static bool
cut_call(const struct copy_search *s, const struct copy *y)
{
	size_t i = y->seam;

	while (i > y->from + 1 && s->r->v[i - 1].n == 0)
		i--;
	return i > y->from && (s->r->v[i - 1].kind == ROW_TOOL || s->r->v[i - 1].kind == ROW_TOOL_MAYBE) &&
	    screen_call_head_end(s->r, i - 1) > 0;
}

/*
 * People and models repeat themselves too. A repaint is believed when the seam itself is torn (no
 * blank row where every item has one, or several), when the first copy breaks off in a sentence
 * or behind a call's head, when a banner is repeated, or when so much is the same that chance is
 * out of the question: less when the second copy begins in the middle of a paragraph.
 */
static bool
is_believed(struct copy_search *s, size_t a1, size_t a2, const struct copy *y)
{
	size_t rows = count_rows_of(s, y->from, y->seam, false), above = y->seam;
	enum row_kind k = (enum row_kind)s->r->v[y->seam].kind;
	bool other =
	    y->inside || (y->from > 0 && (s->r->v[y->from - 1].n == 0) != (s->r->v[y->seam - 1].n == 0));
	bool torn = s->r->v[y->seam - 1].n > 0 && k != ROW_BODY && k != ROW_RULE && k != ROW_RESULT &&
	    k != ROW_BANNER;

	torn = torn || count_rows_of(s, y->from, a1, true) != count_rows_of(s, y->seam, a2, true);
	if (torn || has_banner(s, y->seam, a2) || cut_call(s, y))
		return rows >= 2;
	if (wide_gap(s, y))
		return rows >= 4;
	if (y->midway && k != ROW_BODY)
		return rows >= 6;
	if (k == ROW_BODY)
		return rows >= (other ? 4 : 6);
	while (above > 0 && s->r->v[above - 1].n == 0)
		above--;
	return rows >= 10 && !(k == ROW_PROMPT && above > 0 && s->r->v[above - 1].kind == ROW_TURN_END);
}

/* Stretches that touch become one, so that a cursor steps over any of them at once. */
static void
remove_copies(struct copy_search *s, size_t from, size_t to)
{
	for (size_t k = from; k < to; k++)
		s->gone[k] = 1;
	if (from > 0 && s->gone[from - 1])
		from = s->gone[from - 1] - 1;
	if (to < s->r->n && s->gone[to])
		to = s->gone[to];
	s->gone[from] = (uint32_t)to;
	s->gone[to - 1] = (uint32_t)from + 1;
}

static void
try_anchor(struct copy_search *s, size_t i)
{
	uint32_t key = key_of(s->r, i), a1;
	size_t slot = key & s->mask;
	struct copy y;

	while (s->last[slot].row != 0 && s->last[slot].key != key)
		slot = (slot + 1) & s->mask;
	a1 = s->last[slot].row;
	s->last[slot] = (struct copy_slot){ key, (uint32_t)i + 1 };
	if (a1 == 0 || s->gone[a1 - 1])
		return;
	a1--;
	if (i >= s->in_vain && i < s->below && i - a1 == s->distance)
		return;
	y.same = i;
	if (extend_copy_up(s, a1, i, &y) && y.seam > a1 && extend_copy_down(s, a1, i, &y) &&
	    is_believed(s, a1, i, &y)) {
		remove_copies(s, y.cut1, y.cut2);
		return;
	}
	s->in_vain = i;
	s->below = y.same;
	s->distance = i - a1;
}

void
screen_rows_drop_copies(struct screen_rows *r)
{
	struct copy_search s = { .r = r, .mask = 1023 };
	size_t kept = 0, bytes = 0, anchors = 0;

	if (r->n < 4)
		return;
	for (size_t i = 0; i < r->n; i++) {
		bytes += r->v[i].n;
		anchors += is_anchor(r, i);
	}
	while (s.mask < anchors * 2)
		s.mask = s.mask * 2 + 1;
	s.budget = 16 * bytes + 4096;
	s.gone = xcalloc(r->n, sizeof *s.gone);
	s.last = xcalloc(s.mask + 1, sizeof *s.last);
	for (size_t i = 0; i < r->n; i++)
		if (is_anchor(r, i))
			try_anchor(&s, i);
	for (size_t i = 0; i < r->n; i++) {
		if (s.gone[i])
			continue;
		r->v[kept] = r->v[i];
		r->v[kept++].seam = i > 0 && s.gone[i - 1];
	}
	r->n = kept;
	free(s.gone);
	free(s.last);
}
