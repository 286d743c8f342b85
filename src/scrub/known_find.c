#include <ctype.h>
#include <string.h>

#include "scrub/known_private.h"
#include "scrub/word.h"

#define MAX_GAP 4096			/* bytes between two characters of a value: a row break and its indent are less */
#define EFFORT 64			/* bytes compared for each byte of text */
#define LEAST_EFFORT ((size_t)4 << 20)
#define AT_ONCE ((size_t)128 << 10)	/* bytes of new rows in a view */

struct search {
	const struct known *k;
	const struct view *view;
	struct findings *f;
	size_t effort;		/* bytes that may still be compared */
	size_t withheld;	/* row + 1 */
};

/* Where the form that ends at `last` begins, or KNOWN_NONE. Between two of its characters only a row break may lie, or its own blanks. */
static size_t
begins(struct search *s, const struct form *form, size_t last)
{
	const char *text = s->view->text.data;
	size_t at = last + 1;

	for (size_t left = form->n; left > 0; left--) {
		size_t gap = at;

		while (gap > 0 && isspace((unsigned char)text[gap - 1]) && at - gap <= MAX_GAP)
			gap--;
		s->effort -= s->effort > at - gap + 1 ? at - gap + 1 : s->effort;
		if (gap == 0 || text[gap - 1] != form->text[left - 1])
			return KNOWN_NONE;
		if (gap != at && left != form->n && !form->blanks && memchr(text + gap, '\n', at - gap) == NULL)
			return KNOWN_NONE;
		at = gap - 1;
	}
	return at;
}

static bool
bordered(const struct search *s, const struct form *form, size_t from, size_t to)
{
	const char *text = s->view->text.data;
	size_t n = s->view->text.len;

	bool strict = form->border == BORDER_STRICT;

	if (form->border == BORDER_NONE)
		return true;
	return (!word_has((unsigned char)text[from]) || word_begins(text, 0, from, strict)) &&
	    (!word_has((unsigned char)text[to - 1]) || word_ends(text, n, to, strict));
}

/* The work became too much: what cannot be told is withheld. */
static void
withhold(struct search *s, size_t at)
{
	size_t row;

	view_source(s->view, at, &row);
	if (s->withheld == row + 1)
		return;
	s->withheld = row + 1;
	findings_add(s->f, (struct finding){ .from = s->view->rows->v[row].from, .to = s->view->rows->v[row].to,
	    .rank = RANK_WITHHELD });
}

static void
try_forms(struct search *s, uint32_t first, uint64_t tail, size_t last)
{
	const struct known *k = s->k;

	for (uint32_t i = first; i != 0; i = k->forms[i - 1].next) {
		const struct form *form = &k->forms[i - 1];
		const struct secret *secret = &k->secrets[form->secret];
		size_t from;

		if (s->effort == 0) {
			withhold(s, last);
			return;
		}
		s->effort--;
		if (form->tail != tail)
			continue;
		from = begins(s, form, last);
		if (from != KNOWN_NONE && bordered(s, form, from, last + 1))
			findings_add_view(s->f, s->view, from, last + 1,
			    (struct finding){ .kind = secret->kind, .rank = secret->raw != NULL ? RANK_KNOWN : RANK_SEEN,
			    .secret = form->secret + 1, .span = form->n });
	}
}

/* The last 8 bytes up to text[i], blanks left out; fewer where the text begins, or where there are more blanks than stand in a value. */
static uint64_t
tail_at(const char *text, size_t i)
{
	uint64_t tail = 0;
	size_t blanks = 0;

	for (int bits = 0; bits < 64;) {
		unsigned char c = (unsigned char)text[i];

		if (c > ' ' || !isspace(c)) {
			tail |= (uint64_t)c << bits;
			bits += 8;
			blanks = 0;
		} else if (++blanks > MAX_GAP) {
			break;
		}
		if (i-- == 0)
			break;
	}
	return tail;
}

static inline unsigned
in_map(const unsigned char *map, const unsigned char *two)
{
	size_t pair = known_pair(two);

	return map[pair / 8] >> pair % 8 & 1u;
}

/* The next byte from i on, 1 or above, that ends a form as far as it and the one before tell; or n. Hardly any does: eight at a time. */
static size_t
next_end(const unsigned char *map, const unsigned char *text, size_t i, size_t n)
{
	for (; i + 8 <= n; i += 8) {
		unsigned any = 0;

		for (size_t k = 0; k < 8; k++)
			any |= in_map(map, text + i + k - 1);
		if (any != 0)
			break;
	}
	while (i < n && in_map(map, text + i - 1) == 0)
		i++;
	return i;
}

/* In what the view shows from the byte `from` on; the byte before it ends a row. `map` is one of `pairs`. */
static void
search(struct search *s, const unsigned char *map, size_t from)
{
	const struct known *k = s->k;
	const char *text = s->view->text.data;
	size_t n = s->view->text.len;

	/* no form has one byte: the first one ends none */
	for (size_t i = from > 0 ? from : 1; (i = next_end(map, (const unsigned char *)text, i, n)) < n; i++) {
		uint64_t tail = tail_at(text, i);
		uint32_t first = k->by_tail[known_slot(k, tail)];

		if (first != 0)
			try_forms(s, first, tail, i);
	}
}

/*
 * The row from which on everything stands that a form may begin with which ends in row `row` or below, and one more for what borders on it.
 * Escape sequences and the like do not count. *n: the bytes of these rows.
 */
static size_t
reach(const struct known *k, const char *text, const struct frames *rows, size_t row, size_t *n)
{
	size_t shown = 0, blanks = 0;

	for (*n = 0; row > 0 && shown < k->longest && blanks <= MAX_GAP; row--) {
		const struct frame *r = &rows->v[row - 1];

		if (r->quiet)
			continue;
		blanks = r->body < r->end ? 0 : blanks + 1;
		*n += r->end - r->body + 1;
		for (size_t i = r->body; i < r->end && !r->hides; i++)
			shown += !isspace((unsigned char)text[i]);
	}
	while (row > 0 && rows->v[row - 1].quiet)
		row--;
	return row > 0 ? row - 1 : 0;
}

void
known_find(const struct known *k, const char *text, const struct frames *rows, struct view *view, struct findings *f)
{
	struct search s = { .k = k, .view = view, .f = f, .effort = LEAST_EFFORT };
	size_t again, n;
	bool hides;

	if (k->n_forms == 0)
		return;
	for (size_t i = 0; i < rows->n; i++)
		s.effort += rows->v[i].quiet ? 0 : EFFORT * (rows->v[i].end - rows->v[i].body + 1);
	for (size_t from = 0, to; from < rows->n; from = to) {
		size_t above = reach(k, text, rows, from, &again);

		/* what is shown again is at most as much as what is new */
		for (to = from, n = 0, hides = k->blanks; to < rows->n && (n < AT_ONCE || n < again); to++) {
			n += rows->v[to].quiet ? 0 : rows->v[to].end - rows->v[to].body + 1;
			hides = hides || rows->v[to].hides;
		}
		view_empty(view, rows);
		if (n > 0)
			view_add(view, text, above, from);
		n = view->text.len;
		view_add(view, text, from, to);
		search(&s, k->pairs + (hides ? KNOWN_PAIRS : 0), n);
	}
}
