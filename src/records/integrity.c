#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/records_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "records/agents/agents.h"
#include "records/recovery/recovery.h"
#include "records/runs/runs.h"

static void
add_fault(struct record_check *out, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	if (out->n_faults++ >= RECORD_FAULTS_SHOWN)
		return;
	va_start(ap, fmt);
	buf_vfmt(&b, fmt, ap);
	va_end(ap);
	out->faults = vec_room(out->faults, out->n_faults - 1, &out->cap, sizeof *out->faults);
	out->faults[out->n_faults - 1] = buf_detach(&b);
}

/* A record that cannot be understood is a fault (0), a store that cannot be read an error (-1). */
static int
add_damaged(struct record_check *out, const struct err *own, struct err *e)
{
	if (strcmp(own->name, "corrupt") == 0 || strcmp(own->name, "json") == 0 ||
	    strcmp(own->name, "newer") == 0 || strcmp(own->name, "blob") == 0) {
		add_fault(out, "%s", own->msg);
		return 0;
	}
	if (e != NULL)
		*e = *own;
	return -1;
}

struct agents_check {
	struct store *s;
	struct record_check *out;
	const struct tree *tree;
};

static int
check_blob(struct agents_check *k, const struct session *x, struct err *e)
{
	struct buf bytes = BUF_INIT;
	struct err own = ERR_INIT;
	int ret = x->blob.size >= 0 ? session_blob_read(k->s, x->agent_uuid, &x->blob, &bytes, &own) : 0;

	buf_wipe(&bytes);
	return ret == 0 ? 0 : add_damaged(k->out, &own, e);
}

static int
check_session(const struct record *r, void *arg, struct err *e)
{
	struct agents_check *k = arg;
	struct err own = ERR_INIT;
	struct session x;
	int ret;

	if (record_decode(&session_type, r, &x, &own) != 0)
		return add_damaged(k->out, &own, e);
	ret = check_blob(k, &x, e);
	if (x.state == SESSION_ENDED && tree_find(k->tree, x.agent_uuid) != NULL)
		add_fault(
		    k->out, "the agent %s has ended, but its entry in the tree is active", x.agent_uuid);
	session_release(&x);
	return ret;
}

/* Its session, if it is there, has been checked with the others. */
static int
check_link(struct agents_check *k, const struct tree_node *x, struct err *e)
{
	char *key = xasprintf("session:%s", x->agent);
	struct record r;
	int found = store_get(k->s, key, &r, e);

	if (found == 0)
		add_fault(k->out, "the agent %s is in the tree, but has no session", x->agent);
	if (found >= 0 && x->parent != NULL && tree_find(k->tree, x->parent) == NULL)
		add_fault(
		    k->out, "the agent %s is below %s, which does "
		        "not exist or has ended", x->agent, x->parent);
	store_record_release(&r);
	free(key);
	return found < 0 ? -1 : 0;
}

/* Each is walked over once: whoever comes back to where this walk has been is in a ring. */
static void
check_rings(struct agents_check *k)
{
	const struct tree *t = k->tree;
	size_t *walk = xcalloc(t->n + 1, sizeof *walk);

	for (size_t i = 0; i < t->n; i++) {
		const struct tree_node *x = &t->v[i];

		while (x != NULL && walk[x - t->v] == 0) {
			walk[x - t->v] = i + 1;
			x = x->parent != NULL ? tree_find(t, x->parent) : NULL;
		}
		if (x != NULL && walk[x - t->v] == i + 1)
			add_fault(k->out, "the agent %s is below itself", x->agent);
	}
	free(walk);
}

static int
check_agents(struct store *s, struct record_check *out, struct err *e)
{
	struct message_list messages = { .n = 0 };
	struct tree tree = { .n = 0 };
	struct agents_check k = { s, out, &tree };
	struct err own = ERR_INIT;
	int ret = 0;

	if (tree_read(s, &tree, &own) != 0)
		ret = add_damaged(out, &own, e);
	if (ret == 0)
		ret = store_each(s, "session:", NULL, check_session, &k, e);
	for (size_t i = 0; i < tree.n && ret == 0; i++)
		ret = check_link(&k, &tree.v[i], e);
	check_rings(&k);
	err_clear(&own);
	if (ret == 0 && message_list_read(s, MESSAGE_STATES, NULL, false, &messages, &own) != 0)
		ret = add_damaged(out, &own, e);
	message_list_release(&messages);
	tree_release(&tree);
	return ret;
}

struct event_walk {
	struct record_check *out;
	int64_t next;			/* the event that must come */
};

static int
check_event(const struct event_row *ev, void *arg)
{
	struct event_walk *w = arg;

	if (ev->seq != w->next)
		add_fault(w->out, "event %lld is in the place of event %lld", (long long)ev->seq,
		    (long long)w->next);
	w->next = ev->seq + 1;
	w->out->events++;
	return 0;
}

static int
check_events(struct store *s, struct record_check *out, struct err *e)
{
	struct event_numbers at, now;
	struct event_walk w = { .out = out };

	if (event_numbers_read(s, &at, e) != 0)
		return -1;
	w.next = at.first;
	if (event_each(s, NULL, check_event, &w, e) != 0 || event_numbers_read(s, &now, e) != 0)
		return -1;
	if (now.last != w.next - 1)
		add_fault(out, "the last event is %lld, but the counter is %lld",
		    (long long)w.next - 1, (long long)now.last);
	return 0;
}

/* The record of its pane must be open and name it: it keeps others from beginning. */
static int
check_open_attempt(struct store *s, const struct attempt *a, struct record_check *out, struct err *e)
{
	struct record r;
	char *key;
	json_t *v;
	int found;

	if (a->socket == NULL || a->pane_id == NULL) {
		add_fault(out, "the open attempt %s names no pane", a->id);
		return 0;
	}
	key = record_key_on_server("pane", a->server_pid, a->server_start, a->pane_id, a->socket);
	found = store_get(s, key, &r, e);
	v = found > 0 ? json_parse(r.value, strlen(r.value), key, NULL) : NULL;
	if (found >= 0 &&
	    (v == NULL || strcmp(r.tag, "open") != 0 || strcmp(json_text(v, "attempt", ""), a->id) != 0))
		add_fault(out, "the open attempt %s does not hold its pane", a->id);
	json_decref(v);
	if (found > 0)
		store_record_release(&r);
	free(key);
	return found < 0 ? -1 : 0;
}

static int
check_attempts(struct store *s, struct record_check *out, struct err *e)
{
	struct attempt_list all = { .n = 0 };
	struct err own = ERR_INIT;
	int ret = attempt_list_all(s, &all, &own);

	if (ret != 0)
		ret = add_damaged(out, &own, e);
	out->attempts = all.n;
	for (size_t i = 0; i < all.n && ret == 0; i++)
		if (!attempt_phase_is_final(all.v[i].phase))
			ret = check_open_attempt(s, &all.v[i], out, e);
	attempt_list_release(&all);
	return ret;
}

struct attempt_check {
	struct store *s;
	struct record_check *out;
};

/* What an open pane's record holds must be held for a reason: no new attempt is made for that pane. */
static int
check_pane(const struct record *r, void *arg, struct err *e)
{
	struct attempt_check *k = arg;
	json_t *v = json_parse(r->value, strlen(r->value), r->key, NULL);
	const char *id = json_text(v, "attempt", "");
	struct attempt a;
	int found = attempt_load(k->s, id, &a, e);

	if (found == 0)
		add_fault(
		    k->out, "a pane is held by the attempt \"%.40s\", which does not exist", id);
	else if (found > 0 && attempt_phase_is_final(a.phase))
		add_fault(k->out, "a pane is held by the attempt %s, which has ended", a.id);
	if (found > 0)
		attempt_release(&a);
	json_decref(v);
	return found < 0 ? -1 : 0;
}

static int
check_run(const struct record *rec, void *arg, struct err *e)
{
	struct attempt_check *k = arg;
	struct run_session x = { .version = 0 };
	struct err own = ERR_INIT;
	struct run r;
	int found = 1, ret = 0;

	if (run_from_record(rec, &r, &own) != 0) {
		add_fault(k->out, "%s", own.msg);
		return 0;
	}
	if ((r.state == RUN_PENDING) != (r.runner_id == NULL) && !run_state_final(r.state))
		add_fault(k->out, "the run %.200s is %s and names %s runner", r.id,
		    run_state_name(r.state), r.runner_id == NULL ? "no" : "a");
	/* what has ended needs no session any more, and there may be very many */
	if (!run_state_final(r.state) && r.session_id != NULL)
		found = run_session_load(k->s, r.session_id, &x, &own);
	if (found == 0 || r.session_id == NULL)
		add_fault(k->out, "the run %.200s belongs to a session that has no record", r.id);
	else if (found < 0)
		ret = add_damaged(k->out, &own, e);
	run_session_release(&x);
	run_release(&r);
	return ret;
}

int
record_check(struct store *s, struct record_check *out, struct err *e)
{
	struct attempt_check k = { s, out };

	memset(out, 0, sizeof *out);
	if (check_events(s, out, e) != 0 || check_attempts(s, out, e) != 0)
		return -1;
	if (store_each(s, "pane:", "open", check_pane, &k, e) != 0)
		return -1;
	if (store_each(s, "run:", NULL, check_run, &k, e) != 0)
		return -1;
	return check_agents(s, out, e);
}

void
record_check_release(struct record_check *i)
{
	for (size_t k = 0; k < i->n_faults && k < RECORD_FAULTS_SHOWN; k++)
		free(i->faults[k]);
	free(i->faults);
	memset(i, 0, sizeof *i);
}
