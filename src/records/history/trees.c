/* Ended sessions of agents leave with their trees: a tree when all of its members have ended. */
#include <stdlib.h>
#include <string.h>

#include "records/history/history_private.h"
#include "base/err.h"
#include "records/agents/agents.h"

struct member {
	char *agent, *parent;		/* heap; parent NULL: a root */
	size_t root;			/* index of the tree's first member */
	size_t depth;
	int64_t ended;			/* of a root: when the last member of its tree ended */
	bool open, session;		/* open: of a root, any of its tree; session: it has a record */
};

struct forest {
	struct member *v;		/* by agent */
	size_t n, cap;
};

static int
by_agent_name(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->agent, ((const struct member *)b)->agent);
}

static struct member *
find_member(const struct forest *f, const char *agent)
{
	const struct member wanted = { .agent = (char *)(uintptr_t)agent };

	return f->n > 0 ? bsearch(&wanted, f->v, f->n, sizeof *f->v, by_agent_name) : NULL;
}

static int
add_session(const struct record *r, void *arg, struct err *e)
{
	struct forest *f = arg;
	struct json_slice o;

	if (!json_slice_whole(r->value, strlen(r->value), &o))
		return err_set(e, GT_FAIL, "json", "the record %.200s is no JSON", r->key);
	f->v = vec_room(f->v, f->n, &f->cap, sizeof *f->v);
	f->v[f->n++] = (struct member){ .agent = xstrdup(r->key + strlen("session:")),
		.parent = json_slice_copy(json_slice_get(o, "parent"), NULL),
		.ended = json_slice_number(json_slice_get(o, "changed_at"), 0),
		.open = strcmp(r->tag, "ENDED") != 0,
		.session = true };
	return 0;
}

/* Records of both come in the order of their ids, but are of two kinds: nodes are met by look-up. */
static int
add_node(const struct record *r, void *arg, struct err *e)
{
	struct forest *f = arg;
	struct member *m = find_member(f, r->key + strlen("tree:"));
	struct json_slice o, up;
	char *parent;

	if (!json_slice_whole(r->value, strlen(r->value), &o))
		return err_set(e, GT_FAIL, "json", "the record %.200s is no JSON", r->key);
	if (m == NULL)
		return 0;
	m->open = m->open || strcmp(r->tag, "ended") != 0;
	/* a made root belongs to the tree that it was taken from */
	up = json_slice_get(o, "parent");
	parent = json_slice_copy(up, NULL);
	if (parent == NULL)
		parent = json_slice_copy(json_slice_get(o, "adopted_from"), NULL);
	if (parent != NULL) {
		free(m->parent);
		m->parent = parent;
	}
	return 0;
}

/* The root of each, and the root's time and openness. A ring ends where it was entered. */
static void
join_trees(struct forest *f)
{
	for (size_t i = 0; i < f->n; i++) {
		size_t at = i, depth = 0;

		while (f->v[at].parent != NULL && depth < f->n) {
			const struct member *up = find_member(f, f->v[at].parent);

			if (up == NULL)
				break;
			at = (size_t)(up - f->v);
			depth++;
		}
		f->v[i].root = at;
		f->v[i].depth = depth;
	}
	for (size_t i = 0; i < f->n; i++) {
		struct member *root = &f->v[f->v[i].root];

		root->open = root->open || f->v[i].open;
		if (f->v[i].ended > root->ended)
			root->ended = f->v[i].ended;
	}
}

static const struct forest *sorting;

/* Trees by their end, the oldest first; in a tree those that are deepest first. */
static int
by_end(const void *a, const void *b)
{
	const struct member *x = &sorting->v[*(const size_t *)a], *y = &sorting->v[*(const size_t *)b];
	const struct member *u = &sorting->v[x->root], *v = &sorting->v[y->root];

	if (u->ended != v->ended)
		return u->ended < v->ended ? -1 : 1;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return x->depth != y->depth ? (x->depth < y->depth) - (x->depth > y->depth) : 0;
}

/* Its records, each read once more: what is deleted is what was judged. */
static int
take_member(struct history *h, const struct member *m, struct err *e)
{
	char *session = xasprintf("session:%s", m->agent), *node = xasprintf("tree:%s", m->agent),
	     *blob = xasprintf("blob:%s", m->agent);
	struct record r, n;
	int found = store_get(h->s, session, &r, e), linked = found > 0 ? store_get(h->s, node, &n, e) : 0;
	int ret = found < 0 || linked < 0 ? -1 : 0;

	/* resumed, or made anew, since it was looked at */
	if (found > 0 && (strcmp(r.tag, "ENDED") != 0 || (linked > 0 && strcmp(n.tag, "ended") != 0))) {
		h->conflict = true;
	} else if (found > 0 && ret == 0) {
		history_take(h, &r);
		if (linked > 0)
			history_take(h, &n);
		ret = history_take_key(h, blob, e) < 0 ? -1 : 0;
	}
	if (found > 0)
		store_record_release(&n);
	store_record_release(&r);
	free(session);
	free(node);
	free(blob);
	return ret;
}

static int
take_trees(struct history *h, const struct forest *f, const size_t *order, size_t *ended, int64_t *oldest,
    struct err *e)
{
	int64_t count = h->limits->count;
	size_t tree = f->n;		/* the one that leaves */
	int ret = 0;

	for (size_t i = 0; i < f->n && ret == 0; i++) {
		const struct member *m = &f->v[order[i]], *root = &f->v[m->root];

		if (root->open)
			continue;
		if (m->root != tree) {
			if (!((root->ended > 0 && root->ended < h->before) ||
				(count > 0 && (int64_t)*ended > count))) {
				*oldest = root->ended < *oldest && root->ended > 0 ? root->ended : *oldest;
				continue;
			}
			if (history_is_late(h))
				ret = 1;
			tree = m->root;
		}
		if (ret == 0)
			ret = take_member(h, m, e);
		*ended -= *ended > 0;
		if (ret == 0 && h->t.n >= HISTORY_BATCH)
			ret = history_flush(h, e);
	}
	return ret >= 0 && history_flush(h, e) != 0 ? -1 : ret;
}

int
history_sweep_trees(struct history *h, json_t *state, struct err *e)
{
	struct forest f = { .n = 0 };
	size_t n, *order;
	int64_t oldest = INT64_MAX;
	int ret = 0;

	if (store_count(h->s, "session:", "ENDED", &n, e) != 0)
		return -1;
	if (!json_flag(state, "again", false) && !history_is_due(h, state, n, true))
		return 0;
	if (history_is_late(h))
		return 1;
	if (store_each(h->s, "session:", NULL, add_session, &f, e) != 0 ||
	    store_each(h->s, "tree:", NULL, add_node, &f, e) != 0)
		ret = -1;
	order = xcalloc(f.n + 1, sizeof *order);
	if (ret == 0) {
		join_trees(&f);
		for (size_t i = 0; i < f.n; i++)
			order[i] = i;
		sorting = &f;
		if (f.n > 0)
			qsort(order, f.n, sizeof *order, by_end);
		ret = take_trees(h, &f, order, &n, &oldest, e);
	}
	json_put_flag(state, "again", ret > 0);
	/* more than the limit may be in trees that are open */
	json_put_flag(state, "held", (int64_t)n > h->limits->count);
	if (ret == 0)
		history_set_next(h, state, oldest);
	for (size_t i = 0; i < f.n; i++) {
		free(f.v[i].agent);
		free(f.v[i].parent);
	}
	free(f.v);
	free(order);
	return ret;
}
