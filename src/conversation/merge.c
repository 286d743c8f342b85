#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conversation/conversation_private.h"
#include "base/buf.h"

#define WINDOW 64
/*
 * What a stretch must weigh that stands between contradictions: prompts alone more than any one;
 * with the agent's words or calls less.
 */
#define EVIDENCE 24
#define ANSWERED 14

enum align_step { STOP, SKIP_A, SKIP_B, PAIR };

struct aligner {
	const struct exchange_digest *a, *b;
	size_t na, nb;
	size_t *pair;
	int score[WINDOW + 1][WINDOW + 1];
	unsigned char step[WINDOW + 1][WINDOW + 1];
};

/*
 * A window over both sources: entry 0 is the one farthest from the edge it hangs on, `n`th the
 * edge itself. In a window that hangs on an anchor to its left everything is mirrored.
 */
struct window {
	size_t a, b;		/* first of each */
	size_t na, nb;
	bool mirrored;
	bool bounded;		/* an anchor at the other side as well: what is skipped costs nothing */
	bool loose;		/* no anchor at all: nothing need hang on the edge */
};

static size_t
index_at(size_t from, size_t n, size_t i, bool mirrored)
{
	return mirrored ? from + n - 1 - i : from + i;
}

static void
fill_cell(struct aligner *g, const struct window *w, size_t i, size_t k)
{
	const struct exchange_digest *a = &g->a[index_at(w->a, w->na, i, w->mirrored)],
				     *b = &g->b[index_at(w->b, w->nb, k, w->mirrored)];
	bool costs = !w->bounded && !w->loose;
	int skip_a = g->score[i + 1][k] - (costs ? (int)a->cost : 0),
	    skip_b = g->score[i][k + 1] - (costs ? (int)b->cost : 0);
	int best = skip_a >= skip_b ? skip_a : skip_b;
	unsigned weight = exchange_similarity(a, b);

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
		g->score[i][w->nb] = g->score[i + 1][w->nb] -
		    (costs ? (int)g->a[index_at(w->a, w->na, i, w->mirrored)].cost : 0);
		g->step[i][w->nb] = STOP;
	}
	for (size_t k = w->nb; k-- > 0;) {
		g->score[w->na][k] = g->score[w->na][k + 1] -
		    (costs ? (int)g->b[index_at(w->b, w->nb, k, w->mirrored)].cost : 0);
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
	*a = index_at(w->a, w->na, i, w->mirrored);
	*b = index_at(w->b, w->nb, k, w->mirrored);
	while (g->step[i][k] != STOP) {
		if (g->step[i][k] == PAIR)
			g->pair[index_at(w->b, w->nb, k++, w->mirrored)] =
			    index_at(w->a, w->na, i++, w->mirrored);
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

/*
 * Between a0 .. a1 and b0 .. b1, from the right edge to the left as far as pairs are found, then
 * from the left.
 */
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
struct anchor_slot {
	uint64_t key;
	uint32_t in_a, in_b;
	size_t a;
};

static struct anchor_slot *
slot_of(struct anchor_slot *v, size_t mask, uint64_t key)
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

/*
 * Greatest weight of a chain that ends before `a`, as an index into v, 1-based: a tree of maxima
 * (Fenwick).
 */
static size_t
heaviest_chain_end(const struct anchor *v, const size_t *tree, size_t a)
{
	size_t best = 0;

	for (size_t i = a; i > 0; i &= i - 1)
		if (tree[i] != 0 && (best == 0 || v[tree[i] - 1].weight > v[best - 1].weight))
			best = tree[i];
	return best;
}

/* Leaves in g->pair the chain of anchors that keeps both orders and weighs most. */
static void
choose_chain(struct aligner *g, struct anchor *v, size_t n)
{
	size_t *tree = xcalloc(g->na + 1, sizeof *tree), last = 0;

	for (size_t i = 0; i < n; i++) {
		v[i].before = heaviest_chain_end(v, tree, v[i].a);
		v[i].weight = exchange_similarity(&g->a[v[i].a], &g->b[v[i].b]) +
		    (v[i].before != 0 ? v[v[i].before - 1].weight : 0);
		for (size_t k = v[i].a + 1; k <= g->na; k += k & -k)
			if (tree[k] == 0 || v[i].weight >= v[tree[k] - 1].weight)
				tree[k] = i + 1;
	}
	last = heaviest_chain_end(v, tree, g->na);
	for (; last != 0; last = v[last - 1].before)
		g->pair[v[last - 1].b] = v[last - 1].a;
	free(tree);
}

static void
find_anchors(struct aligner *g)
{
	size_t mask = 63, n = 0;
	struct anchor *v;
	struct anchor_slot *slots;

	while (mask < (g->na + g->nb) * 2)
		mask = mask * 2 + 1;
	slots = xcalloc(mask + 1, sizeof *slots);
	v = xreallocarray(NULL, g->nb + 1, sizeof *v);
	for (size_t i = 0; i < g->na; i++)
		if (g->a[i].key != 0) {
			struct anchor_slot *s = slot_of(slots, mask, g->a[i].key);

			s->in_a++;
			s->a = i;
		}
	for (size_t i = 0; i < g->nb; i++)
		if (g->b[i].key != 0)
			slot_of(slots, mask, g->b[i].key)->in_b++;
	for (size_t i = 0; i < g->nb; i++) {
		struct anchor_slot *s = g->b[i].key != 0 ? slot_of(slots, mask, g->b[i].key) : NULL;

		if (s != NULL && s->in_a == 1 && s->in_b == 1 &&
		    exchange_similarity(&g->a[s->a], &g->b[i]) > 0)
			v[n++] = (struct anchor){ .a = s->a, .b = i };
	}
	choose_chain(g, v, n);
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

		if (here == CONVERSATION_NONE)
			continue;
		fill_gap(g, a, here, b, i, left, !end);
		a = here + 1;
		b = i + 1;
		left = true;
	}
}

/* True when a source has words or calls of its own in there, which the other should have had. */
static bool
has_own_words(const struct exchange_digest *v, size_t from, size_t to)
{
	for (; from < to; from++)
		if (v[from].cost > 0 && !v[from].open)
			return true;
	return false;
}

/* Takes the light stretches apart. */
static void
drop_light_stretches(struct aligner *g)
{
	size_t a = 0, b = 0, first = 0;
	unsigned weight = 0;
	bool clash = false, answered = false;

	for (size_t i = 0; i <= g->nb; i++) {
		bool end = i == g->nb, now;
		size_t here = end ? g->na : g->pair[i];

		if (here == CONVERSATION_NONE)
			continue;
		now = has_own_words(g->a, a, here) && has_own_words(g->b, b, i);
		if (now || end) {
			unsigned enough = answered ? ANSWERED : EVIDENCE;

			for (size_t k = first; (clash || now) && weight < enough && k < i; k++)
				g->pair[k] = CONVERSATION_NONE;
			first = i;
			weight = 0;
			answered = false;
			clash = now;
		}
		if (end)
			break;
		weight += exchange_similarity(&g->a[here], &g->b[i]);
		answered = answered || g->b[i].kind == DIGEST_WORDS || g->b[i].kind == DIGEST_CALL;
		a = here + 1;
		b = i + 1;
	}
}

/*
 * Which exchange of one source is which of another; neither crosses another pair. Pure, linear (n
 * log n in the count): words that stand once in each source are anchors, of which the heaviest
 * chain that keeps both orders holds; between two anchors, before the first and behind the last,
 * windows of 64 are aligned from the anchors outwards (dynamic programming over
 * exchange_similarity). Without an anchor the two are aligned from their ends, so that of words
 * repeated many times the newest are taken for the newest.
 *
 * What is only a little like is not believed: a stretch of pairs that is light, while both
 * sources have words of their own before or behind it, is taken apart again, so that two
 * conversations that share a "yes", or their first prompt, are not glued together.
 *
 * pair[i] (nb of them) is the index in `a` of b's exchange i, or CONVERSATION_NONE.
 */
static void
conversation_align(
    const struct exchange_digest *a, size_t na, const struct exchange_digest *b, size_t nb, size_t *pair)
{
	struct aligner *g;

	for (size_t i = 0; i < nb; i++)
		pair[i] = CONVERSATION_NONE;
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
	drop_light_stretches(g);
	free(g);
}

#define NEAR 8			/* exchanges in which a fragment is looked for */
#define FRAGMENT 12		/* letters; a shorter one could stand anywhere */
#define PIECE 4			/* letters, of what the transcript should have had */
#define TURN 256		/* exchanges of a turn in which the calls of a folded line are looked for */

/* Two sources, the fuller (a transcript, or an older screen) and the newer, on their way into one. */
struct merge_pair {
	struct conversation *a, *b, *out;
	struct exchange_digest *la, *lb;
	size_t *pair;		/* of b */
	unsigned char *taken;	/* of a: 1 when b has it too */
	bool screens;		/* a is a screen as well */
	size_t budget;		/* letters that may still be compared for fragments */
};

static struct exchange_digest *
make_digests(const struct conversation *c)
{
	struct exchange_digest *l = xcalloc(c->n + 1, sizeof *l);

	for (size_t i = 0; i < c->n; i++)
		exchange_digest_init(&l[i], &c->v[i]);
	/* the last words may have been cut by the end of what was seen */
	for (size_t i = c->n; i-- > 0 && l[i].kind != DIGEST_USER;)
		if (l[i].kind == DIGEST_WORDS) {
			l[i].open = true;
			break;
		}
	return l;
}

static void
swap_text(char **a, char **b)
{
	char *t = *a;

	*a = *b;
	*b = t;
}

/* a's exchange, with what only b can know of it; b's is spent. */
static void
join_exchange(const struct merge_pair *w, struct exchange *a, struct exchange *b)
{
	/* a screen may show a queued prompt like one that was sent: the record of the queue holds */
	bool queued = a->status == STATUS_WAITING && a->role == ROLE_USER && a->source == SOURCE_TRANSCRIPT,
	     open = !queued && (a->status == STATUS_RUNNING || a->status == STATUS_WAITING);

	if (open) {
		a->status = b->status;
		if (a->tool != NULL &&
		    (w->screens || a->content[0] == '\0' || b->status == STATUS_COMPLETE ||
			b->status == STATUS_FAILED))
			swap_text(&a->content, &b->content);
	} else if (a->tool == NULL && a->status == STATUS_COMPLETE && b->status == STATUS_INTERRUPTED)
		a->status = STATUS_INTERRUPTED;
	if (a->tool != NULL && a->input == NULL)
		swap_text(&a->input, &b->input);
	exchange_release(b);
}

/* Of two screens the newer holds, unless it shows less of the same. */
static void
join_screens(struct exchange *a, struct exchange *b)
{
	bool ended = b->status != STATUS_RUNNING && b->status != STATUS_WAITING;

	if (b->tool == NULL && strlen(a->content) > strlen(b->content) && a->status == b->status && ended)
		swap_text(&a->content, &b->content);
	if (b->tool != NULL && b->input == NULL)
		swap_text(&a->input, &b->input);
	exchange_release(a);
}

/* "Searched for 1 pattern, read 3 files": 4 calls. */
static size_t
folded_calls(const struct exchange *x)
{
	size_t sum = 0;

	for (const char *p = x->content; *p != '\0' && *p != '\n' && sum < 1000; p++)
		if (isdigit((unsigned char)*p)) {
			char *end;

			sum += strtoul(p, &end, 10) % 1000;
			p = end - 1;
		}
	return sum > 0 ? sum : 1;
}

/* True when the turn of a's exchange i holds a call that b does not show. */
static bool
turn_has_call(const struct merge_pair *w, size_t i)
{
	for (size_t k = i, n = 0; k-- > 0 && n < TURN && w->la[k].kind != DIGEST_USER; n++)
		if (w->la[k].kind == DIGEST_CALL && !w->taken[k])
			return true;
	for (size_t k = i, n = 0; k < w->a->n && n < TURN && w->la[k].kind != DIGEST_USER; n++, k++)
		if (w->la[k].kind == DIGEST_CALL && !w->taken[k])
			return true;
	return false;
}

static bool
is_contained_in(struct merge_pair *w, const struct buf *letters, const struct exchange *x)
{
	struct buf b = BUF_INIT;
	bool found;

	if (x->content == NULL || strlen(x->content) > w->budget)
		return false;
	w->budget -= strlen(x->content);
	exchange_letters(&b, x->content);
	found = memmem(b.data, b.len, letters->data, letters->len) != NULL;
	buf_release(&b);
	return found;
}

/*
 * A row or paragraph of b that nobody could take apart, and that stands in one of the last
 * exchanges. Where the transcript goes on behind it with `next`, it knows of all that was said:
 * words of its own on the screen are a piece of a prompt that looked like a marker, or of what
 * was painted twice.
 */
static bool
is_fragment(struct merge_pair *w, const struct exchange *x, const struct exchange *next)
{
	struct buf letters = BUF_INIT;
	bool found = false;

	if ((x->role != ROLE_SYSTEM && next == NULL) || x->tool != NULL || exchange_is_banner(x))
		return false;
	exchange_letters(&letters, x->content);
	if (next != NULL && letters.len >= PIECE)
		found = is_contained_in(w, &letters, next);
	for (size_t i = 0;
	    letters.len >= (next != NULL ? PIECE : FRAGMENT) && !found && i < NEAR && i < w->out->n; i++)
		found = w->out->v[w->out->n - 1 - i].source != x->source &&
		    is_contained_in(w, &letters, &w->out->v[w->out->n - 1 - i]);
	buf_release(&letters);
	return found;
}

struct gap {
	size_t a0, a1, b0, b1;
	size_t calls;		/* of a's in there, those that no folded line was held against */
};

/* The last open call of a's that shows nothing yet learns what the folded line says of it. */
static void
annotate_open_call(struct merge_pair *w, struct exchange *folded)
{
	for (size_t i = w->out->n, n = 0; i-- > 0 && n < NEAR; n++) {
		struct exchange *x = &w->out->v[i];

		if (x->tool == NULL || x->status != STATUS_RUNNING || x->content[0] != '\0')
			continue;
		if (strchr(folded->content, '\n') != NULL)
			swap_text(&x->content, &folded->content);
		return;
	}
}

/* True when all that b's exchange says is said already. */
static bool
is_in_other(struct merge_pair *w, struct gap *gap, size_t i)
{
	struct exchange *x = &w->b->v[i];
	bool tail = gap->a1 == w->a->n, running = x->status == STATUS_RUNNING;
	size_t calls;

	if (w->screens || !x->folded)
		return is_fragment(w, x, !w->screens && !tail && gap->a1 > 0 ? &w->a->v[gap->a1] : NULL);
	calls = folded_calls(x);
	if (gap->calls >= calls || (gap->calls > 0 && running)) {
		gap->calls -= calls < gap->calls ? calls : gap->calls;
		if (running)
			annotate_open_call(w, x);
		return true;
	}
	return gap->calls > 0 ? !tail : !tail && turn_has_call(w, gap->a1);
}

/* A session does not begin twice with nothing said: its banner was painted again. */
static bool
is_repaint(const struct conversation *out, const struct exchange *x)
{
	const struct exchange *last = out->n > 0 ? &out->v[out->n - 1] : NULL;

	return last != NULL && exchange_is_banner(x) && exchange_is_banner(last) &&
	    strcmp(last->content, x->content) == 0;
}

static void
put_newer(struct merge_pair *w, struct gap *gap, size_t i)
{
	if (is_in_other(w, gap, i) || is_repaint(w->out, &w->b->v[i]))
		exchange_release(&w->b->v[i]);
	else
		conversation_take(w->out, &w->b->v[i]);
}

/* What stands between two exchanges of both. */
static void
put_gap(struct merge_pair *w, struct gap *gap)
{
	bool behind = w->out->n > 0 && gap->a0 > 0;	/* there is something to remark on */
	bool folded = false;
	size_t i = gap->b0;

	for (; behind && i < gap->b1 && w->lb[i].kind == DIGEST_SYSTEM && !exchange_is_banner(&w->b->v[i]);
	    i++)
		put_newer(w, gap, i);
	for (size_t k = gap->b0; w->screens && k < gap->b1; k++)
		folded = folded || w->lb[k].kind == DIGEST_FOLDED;
	for (size_t k = gap->a0; k < gap->a1; k++) {
		if (folded && w->la[k].kind == DIGEST_FOLDED) {	/* the same line, grown since */
			exchange_release(&w->a->v[k]);
			continue;
		}
		gap->calls += w->la[k].kind == DIGEST_CALL;
		conversation_take(w->out, &w->a->v[k]);
	}
	for (; i < gap->b1; i++)
		put_newer(w, gap, i);
}

static void
put_all(struct merge_pair *w)
{
	struct gap gap = { .a0 = 0 };

	for (size_t i = 0; i <= w->b->n; i++) {
		bool end = i == w->b->n;
		size_t here = end ? w->a->n : w->pair[i];

		if (here == CONVERSATION_NONE)
			continue;
		gap.a1 = here;
		gap.b1 = i;
		gap.calls = 0;
		put_gap(w, &gap);
		if (end)
			break;
		if (w->screens) {
			join_screens(&w->a->v[here], &w->b->v[i]);
			conversation_take(w->out, &w->b->v[i]);
		} else {
			join_exchange(w, &w->a->v[here], &w->b->v[i]);
			conversation_take(w->out, &w->a->v[here]);
		}
		gap.a0 = here + 1;
		gap.b0 = i + 1;
	}
}

static void
put_whole(struct conversation *from, struct conversation *out)
{
	for (size_t i = 0; i < from->n; i++)
		conversation_take(out, &from->v[i]);
}

/* True when the screen shows where a session began, or nothing of any. */
static bool
is_another(const struct conversation *c, const struct exchange_digest *l)
{
	bool words = c->unknown_lines > 0;

	for (size_t i = 0; i < c->n; i++) {
		if (exchange_is_banner(&c->v[i]))
			return true;
		words = words || l[i].cost > 0 || l[i].kind == DIGEST_FOLDED;
	}
	return !words;
}

/* True when the oldest exchange is b's. */
static bool
merge_two(struct conversation *a, struct conversation *b, bool screens, struct conversation *out)
{
	struct merge_pair w = { .a = a,
		.b = b,
		.out = out,
		.screens = screens,
		.la = make_digests(a),
		.lb = make_digests(b),
		.budget = 1 << 16 };
	size_t first = 0;
	bool newer;

	w.pair = xreallocarray(NULL, b->n + 1, sizeof *w.pair);
	w.taken = xcalloc(a->n + 1, 1);
	conversation_align(w.la, a->n, w.lb, b->n, w.pair);
	for (size_t i = 0; i < b->n; i++)
		if (w.pair[i] != CONVERSATION_NONE)
			w.taken[w.pair[i]] = 1;
	for (size_t i = 0; i < a->n; i++)
		w.budget += 8 * w.la[i].n;
	while (first < b->n && w.pair[first] == CONVERSATION_NONE)
		first++;
	newer = a->n == 0 || (first < b->n && first > 0 && w.pair[first] == 0);
	if (first == b->n && !screens && is_another(b, w.lb)) {
		put_whole(b, out);
		put_whole(a, out);
		newer = b->n > 0;
	} else
		put_all(&w);
	free(w.la);
	free(w.lb);
	free(w.pair);
	free(w.taken);
	return newer;
}

/* The words of `from` go to `to` where it has none. */
static void
move_if_missing(char **to, char **from)
{
	if (*to == NULL)
		swap_text(to, from);
}

/* What the newest screen says of the moment. */
static void
take_state(struct conversation *out, struct conversation *screen)
{
	swap_text(&out->draft, &screen->draft);
	swap_text(&out->question, &screen->question);
	swap_text(&out->resume_id, &screen->resume_id);
	move_if_missing(&out->tasks, &screen->tasks);
	move_if_missing(&out->banner, &screen->banner);
	move_if_missing(&out->session_id, &screen->session_id);
	out->lines = screen->lines;
	out->unknown_lines = screen->unknown_lines;
	out->limit = screen->limit;
	out->farewell = screen->farewell;
}

/* The prompt that was put back into the box. */
static void
interrupt_draft(struct conversation *out)
{
	struct exchange draft = { .role = ROLE_USER, .content = out->draft }, *x = NULL;
	struct exchange_digest l, m;

	for (size_t i = out->n; i-- > 0 && out->v[i].role != ROLE_ASSISTANT;)
		if (out->v[i].role == ROLE_USER) {
			x = &out->v[i];
			break;
		}
	if (x == NULL || out->draft == NULL || x->source != SOURCE_TRANSCRIPT || x->status != STATUS_COMPLETE)
		return;
	exchange_digest_init(&l, &draft);
	exchange_digest_init(&m, x);
	if (l.n == m.n && l.whole == m.whole)
		x->status = STATUS_INTERRUPTED;
}

static bool
is_there(const struct conversation *c)
{
	return c != NULL && (c->n > 0 || c->lines > 0);
}

void
conversation_merge(struct conversation *transcript, struct conversation *snapshot,
    struct conversation *screen, struct conversation *out)
{
	struct conversation none[3] = { CONVERSATION_INIT, CONVERSATION_INIT, CONVERSATION_INIT },
			    seen = CONVERSATION_INIT;
	struct conversation *t = transcript != NULL ? transcript : &none[0],
			    *old = snapshot != NULL ? snapshot : &none[1];
	struct conversation *new = screen != NULL ? screen : &none[2], *last = is_there(screen) ? new : old;
	ssize_t cut;

	*out = (struct conversation){ .truncated_at = -1, .older = t->older };
	for (size_t i = 0; i < old->n; i++)
		old->v[i].source = old->v[i].source == SOURCE_SCREEN ? SOURCE_SNAPSHOT : old->v[i].source;
	cut = merge_two(old, new, true, &seen) ? new->truncated_at : old->truncated_at;
	seen.unknown_lines = last->unknown_lines;	/* rows that may be words: they go on behind */
	out->truncated_at = merge_two(t, &seen, false, out) ? cut : t->truncated_at;
	move_if_missing(&out->tasks, &t->tasks);	/* of a long list a screen shows a part */
	take_state(out, is_there(last) ? last : t);
	out->turn_over = t->turn_over;
	move_if_missing(&out->banner, &t->banner);
	move_if_missing(&out->banner, &old->banner);
	free(out->session_id);
	out->session_id = NULL;
	move_if_missing(&out->session_id, &t->session_id);
	move_if_missing(&out->session_id, &new->session_id);
	move_if_missing(&out->session_id, &old->session_id);
	interrupt_draft(out);
	conversation_release(&seen);
	conversation_release(t);
	conversation_release(old);
	conversation_release(new);
}
