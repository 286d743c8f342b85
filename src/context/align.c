#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/align.h"
#include "context/likeness.h"
#include "base/buf.h"

#define WINDOW 64
/* What a stretch must weigh that stands between contradictions: prompts alone more than any one; with the agent's words or calls less. */
#define EVIDENCE 24
#define ANSWERED 14

enum step { STOP, SKIP_A, SKIP_B, PAIR };

struct aligner {
	const struct likeness *a, *b;
	size_t na, nb;
	size_t *pair;
	int score[WINDOW + 1][WINDOW + 1];
	unsigned char step[WINDOW + 1][WINDOW + 1];
};

/*
 * A window over both sources: entry 0 is the one farthest from the edge it hangs on, `n`th the edge itself. In a window that hangs
 * on an anchor to its left everything is mirrored.
 */
struct window {
	size_t a, b;		/* first of each */
	size_t na, nb;
	bool mirrored;
	bool bounded;		/* an anchor at the other side as well: what is skipped costs nothing */
	bool loose;		/* no anchor at all: nothing need hang on the edge */
};

static size_t
at(size_t from, size_t n, size_t i, bool mirrored)
{
	return mirrored ? from + n - 1 - i : from + i;
}

static void
fill_cell(struct aligner *g, const struct window *w, size_t i, size_t k)
{
	const struct likeness *a = &g->a[at(w->a, w->na, i, w->mirrored)], *b = &g->b[at(w->b, w->nb, k, w->mirrored)];
	bool costs = !w->bounded && !w->loose;
	int skip_a = g->score[i + 1][k] - (costs ? (int)a->cost : 0), skip_b = g->score[i][k + 1] - (costs ? (int)b->cost : 0);
	int best = skip_a >= skip_b ? skip_a : skip_b;
	unsigned weight = likeness_weight(a, b);

	g->step[i][k] = skip_a >= skip_b ? SKIP_A : SKIP_B;
	/* of two that are as good the one nearer to the edge */
	if (weight > 0 && g->score[i + 1][k + 1] + (int)weight > best) {
		best = g->score[i + 1][k + 1] + (int)weight;
		g->step[i][k] = PAIR;
	}
	g->score[i][k] = best;
}

static void
fill_edges(struct aligner *g, const struct window *w)
{
	bool costs = !w->bounded && !w->loose;

	g->score[w->na][w->nb] = 0;
	g->step[w->na][w->nb] = STOP;
	for (size_t i = w->na; i-- > 0;) {
		g->score[i][w->nb] = g->score[i + 1][w->nb] - (costs ? (int)g->a[at(w->a, w->na, i, w->mirrored)].cost : 0);
		g->step[i][w->nb] = STOP;
	}
	for (size_t k = w->nb; k-- > 0;) {
		g->score[w->na][k] = g->score[w->na][k + 1] - (costs ? (int)g->b[at(w->b, w->nb, k, w->mirrored)].cost : 0);
		g->step[w->na][k] = STOP;
	}
}

/* Pairs what the window holds; *a and *b become the farthest pair. False: nothing in it is alike. */
static bool
pair_window(struct aligner *g, const struct window *w, size_t *a, size_t *b)
{
	size_t i = w->na, k = w->nb;
	int best = 0;

	fill_edges(g, w);
	for (size_t r = w->na; r-- > 0;)
		for (size_t c = w->nb; c-- > 0;) {
			fill_cell(g, w, r, c);
			if (g->step[r][c] == PAIR && g->score[r][c] > best) {
				best = g->score[r][c];
				i = r;
				k = c;
			}
		}
	if (best <= 0)
		return false;
	*a = at(w->a, w->na, i, w->mirrored);
	*b = at(w->b, w->nb, k, w->mirrored);
	while (g->step[i][k] != STOP) {
		if (g->step[i][k] == PAIR)
			g->pair[at(w->b, w->nb, k++, w->mirrored)] = at(w->a, w->na, i++, w->mirrored);
		else if (g->step[i][k] == SKIP_A)
			i++;
		else
			k++;
	}
	return true;
}

static size_t
window_of(size_t from, size_t to)
{
	return to - from < WINDOW ? to - from : WINDOW;
}

/* Between a0 .. a1 and b0 .. b1, from the right edge to the left as far as pairs are found, then from the left. */
static void
fill_gap(struct aligner *g, size_t a0, size_t a1, size_t b0, size_t b1, bool left, bool right)
{
	struct window w = { .bounded = left && right, .loose = !left && !right };
	size_t a, b;

	while ((right || w.loose) && a0 < a1 && b0 < b1) {
		w.na = window_of(a0, a1);
		w.nb = window_of(b0, b1);
		w.a = a1 - w.na;
		w.b = b1 - w.nb;
		if (!pair_window(g, &w, &a, &b))
			break;
		w.loose = false;
		right = true;
		a1 = a;
		b1 = b;
	}
	w.mirrored = true;
	while (left && a0 < a1 && b0 < b1) {
		w.na = window_of(a0, a1);
		w.nb = window_of(b0, b1);
		w.a = a0;
		w.b = b0;
		if (!pair_window(g, &w, &a, &b))
			break;
		a0 = a + 1;
		b0 = b + 1;
	}
}

/* Words by their key: how often they stand in each source, and where. */
struct slot {
	uint64_t key;
	uint32_t in_a, in_b;
	size_t a;
};

static struct slot *
slot_of(struct slot *v, size_t mask, uint64_t key)
{
	size_t i = (size_t)key & mask;

	while (v[i].key != 0 && v[i].key != key)
		i = (i + 1) & mask;
	v[i].key = key;
	return &v[i];
}

struct anchor {
	size_t a, b;
	size_t before;		/* the anchor before it in the heaviest chain, 1-based; 0: none */
	uint64_t weight;	/* of the chain up to here */
};

/* Greatest weight of a chain that ends before `a`, as an index into v, 1-based: a tree of maxima (Fenwick). */
static size_t
heaviest(const struct anchor *v, const size_t *tree, size_t a)
{
	size_t best = 0;

	for (size_t i = a; i > 0; i &= i - 1)
		if (tree[i] != 0 && (best == 0 || v[tree[i] - 1].weight > v[best - 1].weight))
			best = tree[i];
	return best;
}

/* Leaves in g->pair the chain of anchors that keeps both orders and weighs most. */
static void
chain(struct aligner *g, struct anchor *v, size_t n)
{
	size_t *tree = xcalloc(g->na + 1, sizeof *tree), last = 0;

	for (size_t i = 0; i < n; i++) {
		v[i].before = heaviest(v, tree, v[i].a);
		v[i].weight = likeness_weight(&g->a[v[i].a], &g->b[v[i].b]) + (v[i].before != 0 ? v[v[i].before - 1].weight : 0);
		for (size_t k = v[i].a + 1; k <= g->na; k += k & -k)
			if (tree[k] == 0 || v[i].weight >= v[tree[k] - 1].weight)
				tree[k] = i + 1;
	}
	last = heaviest(v, tree, g->na);
	for (; last != 0; last = v[last - 1].before)
		g->pair[v[last - 1].b] = v[last - 1].a;
	free(tree);
}

static void
find_anchors(struct aligner *g)
{
	size_t mask = 63, n = 0;
	struct anchor *v;
	struct slot *slots;

	while (mask < (g->na + g->nb) * 2)
		mask = mask * 2 + 1;
	slots = xcalloc(mask + 1, sizeof *slots);
	v = xreallocarray(NULL, g->nb + 1, sizeof *v);
	for (size_t i = 0; i < g->na; i++)
		if (g->a[i].key != 0) {
			struct slot *s = slot_of(slots, mask, g->a[i].key);

			s->in_a++;
			s->a = i;
		}
	for (size_t i = 0; i < g->nb; i++)
		if (g->b[i].key != 0)
			slot_of(slots, mask, g->b[i].key)->in_b++;
	for (size_t i = 0; i < g->nb; i++) {
		struct slot *s = g->b[i].key != 0 ? slot_of(slots, mask, g->b[i].key) : NULL;

		if (s != NULL && s->in_a == 1 && s->in_b == 1 && likeness_weight(&g->a[s->a], &g->b[i]) > 0)
			v[n++] = (struct anchor){ .a = s->a, .b = i };
	}
	chain(g, v, n);
	free(v);
	free(slots);
}

static void
fill_gaps(struct aligner *g)
{
	size_t a = 0, b = 0;
	bool left = false;

	for (size_t i = 0; i <= g->nb; i++) {
		bool end = i == g->nb;
		size_t here = end ? g->na : g->pair[i];

		if (here == ALIGN_NONE)
			continue;
		fill_gap(g, a, here, b, i, left, !end);
		a = here + 1;
		b = i + 1;
		left = true;
	}
}

/* True when a source has words or calls of its own in there, which the other should have had. */
static bool
own(const struct likeness *v, size_t from, size_t to)
{
	for (; from < to; from++)
		if (v[from].cost > 0 && !v[from].open)
			return true;
	return false;
}

/* Takes the light stretches apart. */
static void
doubt(struct aligner *g)
{
	size_t a = 0, b = 0, first = 0;
	unsigned weight = 0;
	bool clash = false, answered = false;

	for (size_t i = 0; i <= g->nb; i++) {
		bool end = i == g->nb, now;
		size_t here = end ? g->na : g->pair[i];

		if (here == ALIGN_NONE)
			continue;
		now = own(g->a, a, here) && own(g->b, b, i);
		if (now || end) {
			unsigned enough = answered ? ANSWERED : EVIDENCE;

			for (size_t k = first; (clash || now) && weight < enough && k < i; k++)
				g->pair[k] = ALIGN_NONE;
			first = i;
			weight = 0;
			answered = false;
			clash = now;
		}
		if (end)
			break;
		weight += likeness_weight(&g->a[here], &g->b[i]);
		answered = answered || g->b[i].kind == LIKENESS_WORDS || g->b[i].kind == LIKENESS_CALL;
		a = here + 1;
		b = i + 1;
	}
}

void
align(const struct likeness *a, size_t na, const struct likeness *b, size_t nb, size_t *pair)
{
	struct aligner *g;

	for (size_t i = 0; i < nb; i++)
		pair[i] = ALIGN_NONE;
	if (na == 0 || nb == 0)
		return;
	g = xmalloc(sizeof *g);
	g->a = a;
	g->b = b;
	g->na = na;
	g->nb = nb;
	g->pair = pair;
	find_anchors(g);
	fill_gaps(g);
	doubt(g);
	free(g);
}
