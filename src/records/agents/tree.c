#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "records/agents/agents_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "records/records.h"
#include "store/store.h"

#define SCHEMA 1

/* --- the record --- */

static char *
tree_key(const char *agent)
{
	return xasprintf("tree:%s", agent);
}

void
tree_node_release(struct tree_node *x)
{
	free(x->agent);
	free(x->parent);
	free(x->adopted_from);
	memset(x, 0, sizeof *x);
}

void
tree_change(const struct tree_node *x, char **key, char **value, struct change *c)
{
	json_t *o = json_object();

	json_put_int(o, "schema_version", SCHEMA);
	json_put(o, "agent_uuid", x->agent);
	json_put(o, "parent", x->parent);
	json_put(o, "adopted_from", x->adopted_from);
	json_put_int(o, "at", x->at);
	*key = tree_key(x->agent);
	*value = record_value(o);
	*c = (struct change){ CHANGE_PUT, *key, x->version, x->ended ? "ended" : "open", *value };
}

void
tree_link_change(
    const char *agent, const char *parent, int64_t now, char **key, char **value, struct change *c)
{
	struct tree_node x = {
		.agent = (char *)(uintptr_t)agent, .parent = (char *)(uintptr_t)parent, .at = now
	};

	tree_change(&x, key, value, c);
}

static int
from_record(const struct record *r, struct tree_node *out, struct err *e)
{
	struct json_slice o;

	memset(out, 0, sizeof *out);
	if (record_slice(r, SCHEMA, &o, e) != 0)
		return -1;
	out->version = r->version;
	out->ended = strcmp(r->tag, "open") != 0;
	out->agent = xstrdup(strchr(r->key, ':') + 1);
	out->parent = json_slice_copy(json_slice_get(o, "parent"), NULL);
	out->adopted_from = json_slice_copy(json_slice_get(o, "adopted_from"), NULL);
	out->at = json_slice_number(json_slice_get(o, "at"), 0);
	return 0;
}

int
tree_load(struct store *s, const char *agent, struct tree_node *out, struct err *e)
{
	char *key = tree_key(agent);
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(out, 0, sizeof *out);
	if (found > 0 && from_record(&r, out, e) != 0)
		found = -1;
	store_record_release(&r);
	free(key);
	return found;
}

static int
add_node(const struct record *r, void *arg, struct err *e)
{
	struct tree *out = arg;

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	if (from_record(r, &out->v[out->n], e) != 0)
		return -1;
	out->n++;
	return 0;
}

int
tree_read(struct store *s, struct tree *out, struct err *e)
{
	return store_each(s, "tree:", "open", add_node, out, e);
}

void
tree_release(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		tree_node_release(&t->v[i]);
	free(t->v);
	memset(t, 0, sizeof *t);
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
tree_not_ended_check(struct store *s, const char *agent, char **key, struct change *c, struct err *e)
{
	struct tree_node x;
	int found = tree_load(s, agent, &x, e), ret = found > 0 ? 0 : -1;

	if (found == 0) {
		err_set(e, GT_FAIL, "no-agent", "there is no agent \"%s\"", agent);
		err_hint(e, "Record its session first: gt-recover session record");
	} else if (found > 0 && x.ended) {
		ret = err_set(e, GT_REFUSED, "parent-ended", "the agent %s has ended", agent);
		err_hint(e, "gt-recover agent tree shows who has not");
	}
	*key = ret == 0 ? tree_key(agent) : NULL;
	*c = (struct change){ .kind = CHANGE_CHECK, .key = *key, .expect = x.version };
	tree_node_release(&x);
	return ret;
}

int
tree_ancestry_check(
    struct store *s, const char *agent, char *key[2], struct change *c, size_t *n, struct err *e)
{
	struct tree_node x;
	int found = tree_load(s, agent, &x, e), ret = found < 0 ? -1 : 0;

	key[0] = key[1] = NULL;
	if (found == 0) {
		err_set(e, GT_REFUSED, "unlinked",
		    "the agent %s has no place in the tree: its spawn was cut off", agent);
		ret = err_hint(e, "gt-recover agent spawn PARENT %s links it, and so does startup", agent);
	}
	if (ret == 0 && (ret = tree_not_ended_check(s, agent, &key[0], &c[*n], e)) == 0)
		++*n;
	if (ret == 0 && x.parent != NULL &&
	    (ret = tree_not_ended_check(s, x.parent, &key[1], &c[*n], e)) == 0)
		++*n;
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
		return err_hint(e, "Record the new agent under an id of its own");
	}
	if (link->version > 0 && link->parent != NULL && strcmp(link->parent, job->parent) == 0)
		return 1;
	if (link->version > 0) {
		err_set(
		    e, GT_REFUSED, "linked", "the agent %s has its place in the tree already", link->agent);
		return err_hint(e, "gt-recover agent tree shows it");
	}
	if (x->version > 0 && x->parent != NULL && strcmp(x->parent, job->parent) != 0) {
		err_set(e, GT_REFUSED, "other-parent", "the agent %s was recorded under the parent %s",
		    x->agent_uuid, x->parent);
		return err_hint(e, "gt-recover agent spawn %s %s", x->parent, x->agent_uuid);
	}
	return 0;
}

/* The child's session: new, told more of, or only checked. */
static int
session_part(const struct spawning *job, const struct session *old, int64_t now, char *key[2], char *value[2],
    struct change *c, size_t *n, struct err *e)
{
	struct session x;
	int ret = 0;

	if (old->version > 0 && job->told->provider_name == NULL) {
		key[0] = xasprintf("session:%s", old->agent_uuid);
		c[(*n)++] = (struct change){ .kind = CHANGE_CHECK, .key = key[0], .expect = old->version };
		return 0;
	}
	session_copy(&x, job->told);
	if (old->version > 0)
		session_inherit(&x, old);
	session_set(&x.parent, job->parent);
	ret = session_check(&x, e);
	if (ret == 0 && job->blob != NULL)
		ret = session_blob_change(x.agent_uuid, job->blob->data, job->blob->len, &x.blob, &key[1],
		    &value[1], &c[(*n)++], e);
	if (ret == 0)
		session_change(
		    &x, old->version > 0 ? old->state : SESSION_ACTIVE, now, &key[0], &value[0], &c[(*n)++]);
	session_release(&x);
	return ret;
}

static enum commit
spawn_once(struct store *s, void *arg, struct err *e)
{
	const struct spawning *job = arg;
	const char *agent = job->told->agent_uuid;
	struct event ev = {
		.kind = "agent.spawned", .subject = agent, .session = job->told->session, .text = job->parent
	};
	char *key[4] = { NULL }, *value[4] = { NULL };
	enum commit answer = COMMIT_ERROR;
	struct tree_node link;
	struct session old;
	struct change c[4];
	size_t n = 0;
	int ret, found = session_load(s, agent, &old, e);

	ret = found < 0 || tree_load(s, agent, &link, e) < 0 ? -1 : 0;
	if (ret == 0)
		ret = child_is_linked(job, &old, &link, e);
	if (ret > 0)
		answer = COMMIT_DONE;
	if (ret == 0 && (ret = tree_not_ended_check(s, job->parent, &key[2], &c[n++], e)) == 0)
		ret = session_part(job, &old, store_now(s), key, value, c, &n, e);
	if (ret == 0) {
		tree_link_change(agent, job->parent, store_now(s), &key[3], &value[3], &c[n++]);
		answer = event_commit(s, c, n, &ev, e);
	}
	for (size_t i = 0; i < 4; i++) {
		free(key[i]);
		free(value[i]);
	}
	if (found >= 0)
		tree_node_release(&link);
	session_release(&old);
	return answer;
}

int
tree_spawn(struct store *s, const char *parent, struct session *child, const struct buf *blob, struct err *e)
{
	struct spawning job = { parent, child, blob };
	char *agent;
	int ret;

	if (record_check_id("the id of a parent", parent, e) != 0 || child->agent_uuid == NULL ||
	    record_check_id("agent_uuid", child->agent_uuid, e) != 0 ||
	    record_retry_on_conflict(spawn_once, s, &job, e) != 0)
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
	char **gone;			/* ids that this run has ended, sorted */
	size_t n_gone, cap_gone;
	size_t ended;			/* in the last commit */
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

struct changes {
	struct change *v;
	size_t n, cap;
	char **texts;
	size_t n_texts, cap_texts;
};

static struct change *
one_more(struct changes *c)
{
	c->v = vec_room(c->v, c->n, &c->cap, sizeof *c->v);
	return &c->v[c->n++];
}

static void
keep_text(struct changes *c, char *text)
{
	c->texts = vec_room(c->texts, c->n_texts, &c->cap_texts, sizeof *c->texts);
	c->texts[c->n_texts++] = text;
}

static void
changes_release(struct changes *c)
{
	for (size_t i = 0; i < c->n_texts; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->v);
}

static int
end_session(struct store *s, const char *agent, const char *why, struct changes *c, struct err *e)
{
	char *key, *value;
	struct session x;
	int found = session_load(s, agent, &x, e);

	if (found > 0 && x.state != SESSION_ENDED) {
		session_set(&x.why, why);
		session_change(&x, SESSION_ENDED, store_now(s), &key, &value, one_more(c));
		keep_text(c, key);
		keep_text(c, value);
	}
	session_release(&x);
	return found < 0 ? -1 : 0;
}

static int
end_link(
    struct store *s, const struct tree_ending *job, struct tree_node *x, struct changes *c, struct err *e)
{
	bool self = strcmp(x->agent, job->agent) == 0;
	char *key, *value;

	x->ended = true;
	tree_change(x, &key, &value, one_more(c));
	keep_text(c, key);
	keep_text(c, value);
	return end_session(s, x->agent, self ? "it was ended" : "an agent above it was ended", c, e);
}

static int
has_children(const char *agent, size_t n, struct err *e)
{
	err_set(e, GT_REFUSED, "has-children", "the agent %s has %zu below it", agent, n);
	return err_hint(e, "gt-recover agent end %s ends them all", agent);
}

static enum commit
end_once(struct store *s, void *arg, struct err *e)
{
	struct tree_ending *job = arg;
	struct event ev = { .kind = "agent.ended", .subject = job->agent };
	struct changes c = { .n = 0 };
	struct tree t = { .n = 0 };
	enum commit answer = COMMIT_DONE;
	enum tree_mark *marks = NULL;
	char *words = NULL;
	size_t ended = 0;
	int ret = tree_read(s, &t, e);

	marks = mark_nodes(job, &t);
	for (size_t i = 0; i < t.n && ret == 0; i++)
		if (marks[i] == MARK_IN) {
			ended++;
			ret = end_link(s, job, &t.v[i], &c, e);
		}
	if (ret == 0 && !job->below && ended > 1 && job->n_gone == 0)
		ret = has_children(job->agent, ended - 1, e);
	/* one that was recorded and never linked */
	if (ret == 0 && ended == 0 && job->n_gone == 0 &&
	    (ret = end_session(s, job->agent, "it was ended", &c, e)) == 0)
		ended = c.n;
	if (ret == 0 && c.n > 0) {
		words = ended > 1 ? xasprintf("%zu agents", ended) : NULL;
		ev.text = words;
		answer = event_commit(s, c.v, c.n, &ev, e);
	}
	job->ended = ret == 0 && answer == COMMIT_DONE ? ended : 0;
	for (size_t i = 0; i < t.n && job->ended > 0; i++)
		if (marks[i] == MARK_IN) {
			job->gone = vec_room(job->gone, job->n_gone, &job->cap_gone, sizeof *job->gone);
			job->gone[job->n_gone++] = xstrdup(t.v[i].agent);
		}
	if (job->n_gone > 0)
		qsort(job->gone, job->n_gone, sizeof *job->gone, compare_agents);
	changes_release(&c);
	tree_release(&t);
	free(marks);
	free(words);
	return ret == 0 ? answer : COMMIT_ERROR;
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
			ret = record_retry_on_conflict(end_once, s, &job, e);
		*ended += job.ended;
	} while (ret == 0 && job.n_gone > 0 && job.ended > 0);
	for (size_t i = 0; i < job.n_gone; i++)
		free(job.gone[i]);
	free(job.gone);
	return ret;
}
