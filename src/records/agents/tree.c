#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "base/buf.h"
#include "base/err.h"
#include "records/records_private.h"

/* --- the record --- */

static const char *const tags[] = { "open", "ended" };
static const struct record_field fields[] = {
	F_TEXT(tree_node, "agent_uuid", agent, 0),
	F_TEXT(tree_node, "parent", parent, 0),
	F_TEXT(tree_node, "adopted_from", adopted_from, 0),
	F_INT(tree_node, "at", at, 0, 0),
};
const struct record_type tree_type = { .prefix = "tree:", .schema = 1, RECORD_SELF(tree_node),
	RECORD_ID(tree_node, agent), RECORD_STATE(tree_node, ended, tags), .fields = FIELDS(fields) };

void
tree_node_release(struct tree_node *x)
{
	record_free(&tree_type, x);
}

void
tree_link_put(struct txn *t, const char *agent, const char *parent, int64_t now)
{
	struct tree_node x = {
		.agent = (char *)(uintptr_t)agent, .parent = (char *)(uintptr_t)parent, .at = now
	};

	txn_put(t, &tree_type, &x);
}

int
tree_load(struct store *s, const char *agent, struct tree_node *out, struct err *e)
{
	return record_load(s, &tree_type, agent, out, e);
}

int
tree_read(struct store *s, struct tree *out, struct err *e)
{
	return record_list_read(s, &tree_type, tags[false], out, e);
}

void
tree_release(struct tree *t)
{
	record_list_free(&tree_type, t);
}

static int
by_agent(const void *agent, const void *node)
{
	return strcmp(agent, ((const struct tree_node *)node)->agent);
}

const struct tree_node *
tree_find(const struct tree *t, const char *agent)
{
	return t->n > 0 ? bsearch(agent, t->v, t->n, sizeof *t->v, by_agent) : NULL;
}

/* --- checks --- */

int
tree_expect_open(struct txn *t, const char *agent, struct err *e)
{
	struct tree_node x;
	int found = tree_load(t->s, agent, &x, e), ret = found > 0 ? 0 : -1;

	if (found == 0) {
		err_set(e, GT_FAIL, "no-agent", "no agent \"%s\"", agent);
		err_hint(e, "Record its session first: gt-recover records session record");
	} else if (found > 0 && x.ended) {
		ret = err_set(e, GT_REFUSED, "parent-ended", "the agent %s has ended", agent);
		err_hint(e, "gt-recover records agent tree shows the active agents");
	}
	if (ret == 0)
		txn_check(t, record_key_of(&tree_type, &x), x.version);
	tree_node_release(&x);
	return ret;
}

int
tree_expect_ancestry(struct txn *t, const char *agent, struct err *e)
{
	struct tree_node x;
	int found = tree_load(t->s, agent, &x, e), ret = found < 0 ? -1 : 0;

	if (found == 0) {
		err_set(e, GT_REFUSED, "unlinked",
		    "the agent %s is not in the tree: its spawn was interrupted", agent);
		ret = err_hint(e, "gt-recover records agent spawn PARENT %s links it, and so does "
		    "reconcile", agent);
	}
	if (ret == 0)
		ret = tree_expect_open(t, agent, e);
	if (ret == 0 && x.parent != NULL)
		ret = tree_expect_open(t, x.parent, e);
	tree_node_release(&x);
	return ret;
}

/* --- spawn --- */

struct spawning {
	const char *parent;
	const struct session *told;
	const struct buf *blob;
};

/* What is known of the child already. 1: it is linked as asked. */
static int
child_is_linked(
    const struct spawning *job, const struct session *x, const struct tree_node *link, struct err *e)
{
	if (x->version > 0 && (x->state == SESSION_ENDED || link->ended)) {
		err_set(e, GT_REFUSED, "ended", "the agent %s has ended", x->agent_uuid);
		return err_hint(e, "Record the new agent under a new id");
	}
	if (link->version > 0 && link->parent != NULL && strcmp(link->parent, job->parent) == 0)
		return 1;
	if (link->version > 0) {
		err_set(
		    e, GT_REFUSED, "linked", "the agent %s is already in the tree", link->agent);
		return err_hint(e, "gt-recover records agent tree shows it");
	}
	if (x->version > 0 && x->parent != NULL && strcmp(x->parent, job->parent) != 0) {
		err_set(e, GT_REFUSED, "other-parent", "the agent %s was recorded under the parent %s",
		    x->agent_uuid, x->parent);
		return err_hint(e, "gt-recover records agent spawn %s %s", x->parent, x->agent_uuid);
	}
	return 0;
}

/* The child's session: new, told more of, or only checked. */
static int
put_child(struct txn *t, const struct spawning *job, const struct session *old, struct err *e)
{
	struct session x;
	int ret;

	if (old->version > 0 && job->told->provider_name == NULL) {
		session_expect(t, old);
		return 0;
	}
	session_copy(&x, job->told);
	if (old->version > 0)
		session_inherit(&x, old);
	record_set(&x.parent, job->parent);
	ret = session_check(&x, e);
	if (ret == 0 && job->blob != NULL)
		ret = session_blob_put(t, x.agent_uuid, job->blob, &x.blob, e);
	if (ret == 0)
		session_put(t, &x, old->version > 0 ? old->state : SESSION_ACTIVE, store_now(t->s));
	session_release(&x);
	return ret;
}

static int
spawn_once(struct txn *t, void *arg, struct err *e)
{
	const struct spawning *job = arg;
	const char *agent = job->told->agent_uuid;
	struct tree_node link = { .version = 0 };
	struct session old;
	int ret = session_load(t->s, agent, &old, e) < 0 || tree_load(t->s, agent, &link, e) < 0 ? -1 : 0;

	if (ret == 0)
		ret = child_is_linked(job, &old, &link, e);
	if (ret == 0 && (ret = tree_expect_open(t, job->parent, e)) == 0 &&
	    (ret = put_child(t, job, &old, e)) == 0) {
		tree_link_put(t, agent, job->parent, store_now(t->s));
		txn_event(t, "agent.spawned", agent, job->told->session, job->parent);
	}
	tree_node_release(&link);
	session_release(&old);
	return ret < 0 ? -1 : 0;
}

int
tree_spawn(struct store *s, const char *parent, struct session *child, const struct buf *blob, struct err *e)
{
	struct spawning job = { parent, child, blob };
	char *agent;
	int ret;

	if (record_check_id("the id of a parent", parent, e) != 0 || child->agent_uuid == NULL ||
	    record_check_id("agent_uuid", child->agent_uuid, e) != 0 ||
	    txn_run(s, spawn_once, &job, e) != 0)
		return -1;
	agent = xstrdup(child->agent_uuid);
	session_release(child);
	ret = session_need(s, agent, child, e);
	free(agent);
	return ret;
}

struct tree_ending {
	const char *agent;
	bool below;
	char **gone;			/* ids that this run has ended, sorted; then the next commit's */
	size_t n_gone, n_next, cap_gone;
	size_t ended;			/* by the last commit */
};

static int
compare_agents(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
is_gone(const struct tree_ending *job, const char *agent)
{
	return job->n_gone > 0 &&
	    bsearch(&agent, job->gone, job->n_gone, sizeof *job->gone, compare_agents) != NULL;
}

enum tree_mark { MARK_UNSEEN, MARK_ON_THE_WAY, MARK_OUT, MARK_IN };

/*
 * Which open agents are to end: the agent, all below it, and who was spawned below one that this
 * run has ended.
 */
static enum tree_mark *
mark_nodes(const struct tree_ending *job, const struct tree *t)
{
	enum tree_mark *marks = xcalloc(t->n + 1, sizeof *marks);
	size_t *way = xcalloc(t->n + 1, sizeof *way);

	for (size_t i = 0; i < t->n; i++) {
		const struct tree_node *x = &t->v[i];
		enum tree_mark found = MARK_OUT;
		size_t n = 0;

		while (x != NULL && marks[x - t->v] == MARK_UNSEEN) {
			way[n++] = (size_t)(x - t->v);
			marks[x - t->v] = MARK_ON_THE_WAY;
			if (strcmp(x->agent, job->agent) == 0 ||
			    (x->parent != NULL && is_gone(job, x->parent))) {
				found = MARK_IN;
				break;
			}
			x = x->parent != NULL ? tree_find(t, x->parent) : NULL;
		}
		/* one that is on the way itself closes a ring, which is below nobody */
		if (found == MARK_OUT && x != NULL && marks[x - t->v] == MARK_IN)
			found = MARK_IN;
		for (size_t k = 0; k < n; k++)
			marks[way[k]] = found;
	}
	free(way);
	return marks;
}

static int
end_session(struct txn *t, const char *agent, const char *why, struct err *e)
{
	struct session x;
	int found = session_load(t->s, agent, &x, e);

	if (found > 0 && x.state != SESSION_ENDED) {
		record_set(&x.why, why);
		session_put(t, &x, SESSION_ENDED, store_now(t->s));
	}
	session_release(&x);
	return found < 0 ? -1 : 0;
}

static int
end_link(struct txn *t, struct tree_ending *job, struct tree_node *x, struct err *e)
{
	bool self = strcmp(x->agent, job->agent) == 0;

	x->ended = true;
	txn_put(t, &tree_type, x);
	job->gone = vec_room(job->gone, job->n_gone + job->n_next, &job->cap_gone, sizeof *job->gone);
	job->gone[job->n_gone + job->n_next++] = xstrdup(x->agent);
	return end_session(t, x->agent, self ? "it was ended" : "an agent above it was ended", e);
}

static void
drop_next(struct tree_ending *job)
{
	while (job->n_next > 0)
		free(job->gone[job->n_gone + --job->n_next]);
}

static int
has_children(const char *agent, size_t n, struct err *e)
{
	err_set(e, GT_REFUSED, "has-children", "the agent %s has %zu below it", agent, n);
	return err_hint(e, "gt-recover records agent end %s ends them all", agent);
}

static int
end_once(struct txn *t, void *arg, struct err *e)
{
	struct tree_ending *job = arg;
	struct tree all = { .n = 0 };
	enum tree_mark *marks;
	char *words = NULL;
	int ret = tree_read(t->s, &all, e);

	drop_next(job);
	marks = mark_nodes(job, &all);
	for (size_t i = 0; i < all.n && ret == 0; i++)
		if (marks[i] == MARK_IN)
			ret = end_link(t, job, &all.v[i], e);
	job->ended = job->n_next;
	if (ret == 0 && !job->below && job->ended > 1 && job->n_gone == 0)
		ret = has_children(job->agent, job->ended - 1, e);
	/* one that was recorded and never linked */
	if (ret == 0 && job->ended == 0 && job->n_gone == 0 &&
	    (ret = end_session(t, job->agent, "it was ended", e)) == 0)
		job->ended = t->n;
	if (t->n > 0) {
		words = job->ended > 1 ? xasprintf("%zu agents", job->ended) : NULL;
		txn_event(t, "agent.ended", job->agent, NULL, words);
	}
	tree_release(&all);
	free(marks);
	free(words);
	return ret;
}

int
tree_end(struct store *s, const char *agent, bool below, size_t *ended, struct err *e)
{
	struct tree_ending job = { .agent = agent, .below = below };
	struct session x;
	int ret = session_need(s, agent, &x, e);

	*ended = 0;
	session_release(&x);
	do {
		if (ret == 0)
			ret = txn_run(s, end_once, &job, e);
		if (ret != 0)
			break;
		*ended += job.ended;
		job.n_gone += job.n_next;
		job.n_next = 0;
		if (job.n_gone > 0)
			qsort(job.gone, job.n_gone, sizeof *job.gone, compare_agents);
	} while (job.n_gone > 0 && job.ended > 0);
	drop_next(&job);
	for (size_t i = 0; i < job.n_gone; i++)
		free(job.gone[i]);
	free(job.gone);
	return ret;
}

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
	struct txn t = { .s = p->s };
	struct err own = ERR_INIT;
	enum commit answer;

	if (x != NULL && why != NULL) {
		record_set(&x->why, why);
		session_put(&t, x, SESSION_ENDED, store_now(p->s));
	} else if (x != NULL) {
		session_expect(&t, x);
	}
	if (link != NULL)
		txn_put(&t, &tree_type, link);
	txn_event(&t, "agent.repaired", agent, x != NULL ? x->session : NULL, words);
	answer = txn_commit(&t, &own);
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
				   NULL, "ended: its spawn was interrupted", e),
		    &p->out->ended);
	else if (over >= 0) {
		struct tree_node fresh = { .version = link.version,
			.agent = x->agent_uuid,
			.parent = parent,
			.at = store_now(p->s),
			.adopted_from = parent == NULL ? x->parent : NULL };

		over = counted(repair(p, x->agent_uuid, x, NULL, &fresh,
				   parent != NULL ? "linked: its spawn was interrupted" : "made a root", e),
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
		return make_root(p, x, "made a root: its parent is unknown", e);
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
		    e, GT_AGAIN, "conflict", "the tree of agents changed while it was read");
	if (ret == 0 && back != NULL)
		hand_over(&p, back);
	forget(&p);
	return ret;
}
