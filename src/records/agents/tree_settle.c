#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "records/records.h"
#include "records/agents/agents_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "store/store.h"

/* each but the last repaired something, or another process was faster */
#define PASSES 50

/* One pass over what is open. Nothing is repaired twice in it: `again` asks for another. */
struct tree_repair_pass {
	struct store *s;
	session_alive *alive;
	void *arg;
	struct tree tree;
	struct session_list sessions;		/* ACTIVE and SUSPENDED, by id */
	bool again;
	struct tree_repaired *out;
};

static int
by_id(const void *a, const void *b)
{
	return strcmp(((const struct session *)a)->agent_uuid, ((const struct session *)b)->agent_uuid);
}

static struct session *
find_session(const struct tree_repair_pass *p, const char *agent)
{
	struct session key = { .agent_uuid = (char *)(uintptr_t)agent };

	return p->sessions.n > 0 ? bsearch(&key, p->sessions.v, p->sessions.n, sizeof *p->sessions.v, by_id)
				 : NULL;
}

static bool
lives(const struct tree_repair_pass *p, const struct session *x)
{
	return x != NULL && x->state == SESSION_ACTIVE && p->alive(x, p->arg);
}

/*
 * One repair of an agent: its session, its link or both, each NULL when it stays. 1 made, 0
 * another process was faster, -1.
 */
static int
repair(struct tree_repair_pass *p, const char *agent, struct session *x, const char *why,
    const struct tree_node *link, const char *words, struct err *e)
{
	struct event ev = { .kind = "agent.repaired", .subject = agent, .text = words };
	char *key[2] = { NULL }, *value[2] = { NULL };
	struct err own = ERR_INIT;
	enum commit answer;
	struct change c[2];
	size_t n = 0;

	ev.session = x != NULL ? x->session : NULL;
	if (x != NULL && why != NULL) {
		session_set(&x->why, why);
		session_change(x, SESSION_ENDED, store_now(p->s), &key[n], &value[n], &c[n]);
		n++;
	} else if (x != NULL) {
		key[n] = xasprintf("session:%s", x->agent_uuid);
		c[n] = (struct change){ .kind = CHANGE_CHECK, .key = key[n], .expect = x->version };
		n++;
	}
	if (link != NULL) {
		tree_change(link, &key[n], &value[n], &c[n]);
		n++;
	}
	answer = event_commit(p->s, c, n, &ev, &own);
	for (size_t i = 0; i < 2; i++) {
		free(key[i]);
		free(value[i]);
	}
	p->again = true;
	if (answer != COMMIT_DONE && answer != COMMIT_CONFLICT && e != NULL)
		*e = own;
	return answer == COMMIT_DONE ? 1 : answer == COMMIT_CONFLICT ? 0 : -1;
}

static int
counted(int made, size_t *count)
{
	*count += made > 0 ? 1 : 0;
	return made < 0 ? -1 : 0;
}

/* --- sessions without a link --- */

/* What became of an agent that is not among the open ones: 1 ended, 0 never heard of, -1. */
static int
has_ended(struct tree_repair_pass *p, const char *agent, struct err *e)
{
	struct tree_node link;
	int found = tree_load(p->s, agent, &link, e);
	bool ended = found > 0 && link.ended;

	tree_node_release(&link);
	return found < 0 ? -1 : ended;
}

static int
settle_session(struct tree_repair_pass *p, struct session *x, struct err *e)
{
	struct tree_node link;
	int found, over = 0;
	char *parent = NULL;

	if (host_is_other(x->host) || tree_find(&p->tree, x->agent_uuid) != NULL)
		return 0;
	if ((found = tree_load(p->s, x->agent_uuid, &link, e)) < 0)
		return -1;
	if (found > 0 && !link.ended) {
		/* linked since this pass read the tree */
		tree_node_release(&link);
		p->again = true;
		return 0;
	}
	if (found == 0 && x->parent != NULL) {
		if (find_session(p, x->parent) != NULL)
			parent = x->parent;
		else
			over = has_ended(p, x->parent, e);
	}
	if (over >= 0 && (found > 0 || over > 0) && !lives(p, x))
		over = counted(repair(p, x->agent_uuid, x,
				   found > 0 ? "its link had ended"
					     : "its parent had ended before its spawn was acknowledged",
				   NULL, "ended: its spawn was cut off", e),
		    &p->out->ended);
	else if (over >= 0) {
		struct tree_node fresh = { .version = link.version,
			.agent = x->agent_uuid,
			.parent = parent,
			.at = store_now(p->s),
			.adopted_from = parent == NULL ? x->parent : NULL };

		over = counted(repair(p, x->agent_uuid, x, NULL, &fresh,
				   parent != NULL ? "linked: its spawn was cut off" : "made a root", e),
		    &p->out->linked);
	}
	tree_node_release(&link);
	return over;
}

/* --- links --- */

/* How far a link is below its root; a ring is cut at the one that comes first. */
static size_t *
depths(const struct tree *t, bool *cut)
{
	size_t *depth = xcalloc(t->n + 1, sizeof *depth), *way = xcalloc(t->n + 1, sizeof *way);

	for (size_t i = 0; i < t->n; i++) {
		const struct tree_node *x = &t->v[i];
		size_t n = 0, base = 0;

		while (x != NULL && depth[x - t->v] == 0) {
			depth[x - t->v] = SIZE_MAX;
			way[n++] = (size_t)(x - t->v);
			x = x->parent != NULL ? tree_find(t, x->parent) : NULL;
		}
		if (x != NULL && depth[x - t->v] == SIZE_MAX) {
			size_t from = n - 1, first;

			while (way[from] != (size_t)(x - t->v))
				from--;
			first = way[from];
			for (size_t k = from; k < n; k++)
				if (way[k] < first)
					first = way[k];
			cut[first] = true;
		} else if (x != NULL) {
			base = depth[x - t->v];
		}
		while (n > 0)
			depth[way[--n]] = ++base;
	}
	free(way);
	return depth;
}

struct at_depth {
	size_t depth, i;
};

static int
by_depth(const void *a, const void *b)
{
	const struct at_depth *x = a, *y = b;

	return x->depth != y->depth ? (x->depth > y->depth) - (x->depth < y->depth)
				    : (x->i > y->i) - (x->i < y->i);
}

static int
end_node(
    struct tree_repair_pass *p, struct tree_node *x, struct session *session, const char *why, struct err *e)
{
	int made;

	x->ended = true;
	made = repair(p, x->agent, session, session != NULL ? why : NULL, x, why, e);
	/* what is below it is judged by the store, and the store has it open */
	x->ended = made > 0;
	return counted(made, &p->out->ended);
}

static int
make_root(struct tree_repair_pass *p, struct tree_node *x, const char *why, struct err *e)
{
	free(x->adopted_from);
	x->adopted_from = x->parent;
	x->parent = NULL;
	return counted(repair(p, x->agent, NULL, NULL, x, why, e), &p->out->made_roots);
}

/* No session among the open ones: an agent ends when its own record says so, or is not there. */
static int
end_without_session(struct tree_repair_pass *p, struct tree_node *x, struct err *e)
{
	struct session own;
	int found = session_load(p->s, x->agent, &own, e);
	bool open = found > 0 && own.state != SESSION_ENDED;

	session_release(&own);
	if (found < 0)
		return -1;
	/* it was made or resumed since this pass read the open ones */
	if (open)
		p->again = true;
	return open ? 0 : end_node(p, x, NULL, "ended: it has no session", e);
}

static int
settle_link(struct tree_repair_pass *p, struct tree_node *x, bool cut, struct err *e)
{
	struct session *session = find_session(p, x->agent);
	const struct tree_node *parent = x->parent != NULL ? tree_find(&p->tree, x->parent) : NULL;
	int over;

	if (session == NULL)
		return end_without_session(p, x, e);
	if (host_is_other(session->host))
		return 0;
	if (cut)
		return make_root(p, x, "made a root: it was above and below itself", e);
	if (x->parent == NULL || (parent != NULL && !parent->ended))
		return 0;
	over = parent != NULL ? 1 : has_ended(p, x->parent, e);
	if (over < 0)
		return -1;
	if (over == 0)
		return make_root(p, x, "made a root: its parent is not known", e);
	return lives(p, session) ? make_root(p, x, "made a root: its parent has ended, and it runs", e) :
	    end_node(p, x, session, "ended with its parent", e);
}

/* From the roots downward, so that who is ended takes along what is below it in the same pass. */
static int
settle_links(struct tree_repair_pass *p, struct err *e)
{
	bool *cut = xcalloc(p->tree.n + 1, sizeof *cut);
	size_t *depth = depths(&p->tree, cut);
	struct at_depth *order = xcalloc(p->tree.n + 1, sizeof *order);
	int ret = 0;

	for (size_t i = 0; i < p->tree.n; i++)
		order[i] = (struct at_depth){ depth[i], i };
	if (p->tree.n > 0)
		qsort(order, p->tree.n, sizeof *order, by_depth);
	for (size_t i = 0; i < p->tree.n && ret == 0; i++)
		ret = settle_link(p, &p->tree.v[order[i].i], cut[order[i].i], e);
	free(order);
	free(depth);
	free(cut);
	return ret;
}

/* --- a pass --- */

static int
read_open(struct tree_repair_pass *p, struct err *e)
{
	if (tree_read(p->s, &p->tree, e) != 0 ||
	    session_list_read(p->s, SESSION_ACTIVE, &p->sessions, e) != 0 ||
	    session_list_read(p->s, SESSION_SUSPENDED, &p->sessions, e) != 0)
		return -1;
	if (p->sessions.n > 0)
		qsort(p->sessions.v, p->sessions.n, sizeof *p->sessions.v, by_id);
	return 0;
}

static void
forget(struct tree_repair_pass *p)
{
	tree_release(&p->tree);
	session_list_release(&p->sessions);
}

static int
pass(struct tree_repair_pass *p, struct err *e)
{
	int ret;

	forget(p);
	p->again = false;
	ret = read_open(p, e);
	for (size_t i = 0; i < p->sessions.n && ret == 0; i++)
		ret = settle_session(p, &p->sessions.v[i], e);
	/* links that were made just now belong to the tree that is looked at */
	if (ret == 0 && !p->again)
		ret = settle_links(p, e);
	return ret;
}

/* The last pass repaired nothing: what it read is how they stand. */
static void
hand_over(struct tree_repair_pass *p, struct tree_resumable *back)
{
	for (size_t i = 0; i < p->sessions.n; i++) {
		struct session *x = &p->sessions.v[i];
		const struct tree_node *link =
		    x->state == SESSION_SUSPENDED ? tree_find(&p->tree, x->agent_uuid) : NULL;

		if (link == NULL || host_is_other(x->host) || (!back->all && link->parent != NULL))
			continue;
		back->list.v = vec_room(back->list.v, back->list.n, &back->list.cap, sizeof *back->list.v);
		back->list.v[back->list.n++] = *x;
		session_init(x);
	}
}

int
tree_repair(struct store *s, session_alive *alive, void *arg, struct tree_repaired *out,
    struct tree_resumable *back, struct err *e)
{
	struct tree_repair_pass p = { .s = s, .alive = alive, .arg = arg, .out = out };
	int ret = 0;

	memset(out, 0, sizeof *out);
	p.again = true;
	for (int i = 0; i < PASSES && ret == 0 && p.again; i++)
		ret = pass(&p, e);
	if (ret == 0 && p.again)
		ret = err_set(
		    e, GT_AGAIN, "conflict", "the tree of agents changed all the while it was looked at");
	if (ret == 0 && back != NULL)
		hand_over(&p, back);
	forget(&p);
	return ret;
}
