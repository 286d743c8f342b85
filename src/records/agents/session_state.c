#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "records/records_private.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"

/* --- record --- */

static int
refuse(struct err *e, const char *name, const char *agent, const char *what, const char *hint)
{
	err_set(e, GT_REFUSED, name, "the session of %s %s", agent, what);
	return err_hint(e, "%s", hint);
}

/* What is recorded already: may it become what the caller tells? */
static int
meet(struct session *x, const struct session *old, struct err *e)
{
	struct timestamp now;

	if (old->state == SESSION_ENDED)
		return refuse(
		    e, "ended", x->agent_uuid, "has ended", "Record the new agent under an id of its own");
	if (old->state == SESSION_SUSPENDED)
		return refuse(e, "suspended", x->agent_uuid, "is suspended",
		    "gt-recover session restore takes it up again");
	if (x->parent != NULL && (old->parent == NULL || strcmp(x->parent, old->parent) != 0))
		return refuse(e, "other-parent", x->agent_uuid, "was recorded under another parent",
		    "gt-recover agent tree shows whose it is");
	timestamp_now(&now);
	if (x->boot_id[0] != '\0' && !session_same_process(old, x) && session_is_alive(old, &now))
		return refuse(e, "live", x->agent_uuid, "has another process, which is running",
		    "Look at that process first, or suspend the session");
	if (session_is_elsewhere(old))
		return refuse(e, "elsewhere", x->agent_uuid, "is active on another host",
		    "If that host is gone for good: gt-recover session suspend, then session restore");
	session_inherit(x, old);
	session_move_here(x);
	return 0;
}

struct recording {
	const struct session *told;
	const struct buf *blob;
};

static int
record_once(struct txn *t, void *arg, struct err *e)
{
	const struct recording *job = arg;
	const struct session *told = job->told;
	struct session x, old;
	int found = session_load(t->s, told->agent_uuid, &old, e), ret = found < 0 ? -1 : 0;

	session_copy(&x, told);
	if (found > 0)
		ret = meet(&x, &old, e);
	if (ret == 0 && job->blob != NULL)
		ret = session_blob_put(t, x.agent_uuid, job->blob, &x.blob, e);
	/* a root has its place at once; a child's parent must be there, its place comes with the spawn */
	if (ret == 0 && found == 0 && x.parent == NULL)
		tree_link_put(t, x.agent_uuid, NULL, store_now(t->s));
	else if (ret == 0 && found == 0)
		ret = tree_expect_open(t, x.parent, e);
	if (ret == 0)
		session_put(t, &x, SESSION_ACTIVE, store_now(t->s));
	txn_event(t, "session.recorded", told->agent_uuid, told->session, told->provider_name);
	session_release(&old);
	session_release(&x);
	return ret;
}

/* *out as it is in the store. */
static int
reload_session(struct store *s, const char *agent, struct session *out, struct err *e)
{
	char *id = xstrdup(agent);
	int ret;

	session_release(out);
	ret = session_need(s, id, out, e);
	free(id);
	return ret;
}

int
session_record(struct store *s, struct session *x, const struct buf *blob, struct err *e)
{
	struct recording job = { x, blob };

	if (session_check(x, e) != 0 || txn_run(s, record_once, &job, e) != 0)
		return -1;
	return reload_session(s, x->agent_uuid, x, e);
}

/* --- suspend and restore --- */

struct turning {
	const char *agent, *why;
	const struct buf *blob;		/* suspend: NULL or the new one */
	struct buf *out;		/* restore */
	struct session *x;
};

/* *x is the record afterwards, or empty. */
static int
turn(struct store *s, int (*verb)(struct txn *, void *, struct err *), struct turning *job, struct err *e)
{
	session_init(job->x);
	if (txn_run(s, verb, job, e) == 0)
		return reload_session(s, job->agent, job->x, e);
	session_release(job->x);
	return -1;
}

/* 0, and *x is the session, which has not ended. */
static int
load_living(struct txn *t, const struct turning *job, struct err *e)
{
	session_release(job->x);
	if (session_need(t->s, job->agent, job->x, e) != 0)
		return -1;
	if (job->x->state == SESSION_ENDED)
		return refuse(
		    e, "ended", job->agent, "has ended", "An agent that has ended is not taken up again");
	return 0;
}

static int
suspend_once(struct txn *t, void *arg, struct err *e)
{
	struct turning *job = arg;
	struct session *x = job->x;

	if (load_living(t, job, e) != 0)
		return -1;
	if (x->state == SESSION_SUSPENDED && job->blob == NULL)
		return 0;
	if (job->blob != NULL && session_blob_put(t, job->agent, job->blob, &x->blob, e) != 0)
		return -1;
	record_set(&x->why, job->why);
	session_put(t, x, SESSION_SUSPENDED, store_now(t->s));
	txn_event(t, "session.suspended", job->agent, x->session, job->why);
	return 0;
}

int
session_suspend(struct store *s, const char *agent, const struct buf *blob, const char *why,
    struct session *out, struct err *e)
{
	struct turning job = { .agent = agent, .why = why, .blob = blob, .x = out };

	return turn(s, suspend_once, &job, e);
}

static int
restore_once(struct txn *t, void *arg, struct err *e)
{
	struct turning *job = arg;
	struct session *x = job->x;

	buf_reset(job->out);
	if (load_living(t, job, e) != 0)
		return -1;
	if (x->state == SESSION_ACTIVE)
		return refuse(e, "active", job->agent, "is active: somebody has taken it up",
		    "If its process is gone: gt-recover session suspend, or startup");
	if ((x->blob.size >= 0 && session_blob_read(t->s, job->agent, &x->blob, job->out, e) != 0) ||
	    tree_expect_ancestry(t, job->agent, e) != 0)
		return -1;
	session_move_here(x);
	session_put(t, x, SESSION_ACTIVE, store_now(t->s));
	txn_event(t, "session.restored", job->agent, x->session, NULL);
	return 0;
}

int
session_restore(struct store *s, const char *agent, struct buf *blob, struct session *out, struct err *e)
{
	struct turning job = { .agent = agent, .out = blob, .x = out };

	return turn(s, restore_once, &job, e);
}

/* --- started again --- */

struct starting {
	const char *agent, *conversation;
	int64_t pid;
	bool noted;
};

static bool
may_start(const struct session *x, const struct session *seen)
{
	struct timestamp now;

	timestamp_now(&now);
	return x->state != SESSION_ENDED && !session_is_elsewhere(x) &&
	    (!session_is_alive(x, &now) || session_same_process(x, seen));
}

static int
start_once(struct txn *t, void *arg, struct err *e)
{
	struct starting *job = arg;
	struct session x, seen;

	session_init(&seen);
	job->noted = false;
	if (session_need(t->s, job->agent, &x, e) != 0)
		return -1;
	job->noted = session_set_process(&seen, job->pid) == 0 && may_start(&x, &seen);
	if (job->noted) {
		session_move_here(&x);
		session_take_process(&x, &seen);
		if (job->conversation != NULL)
			record_set(&x.cursor_session_id, job->conversation);
		session_put(t, &x, SESSION_ACTIVE, store_now(t->s));
		txn_event(t, "session.started", job->agent, x.session, NULL);
	}
	session_release(&x);
	return 0;
}

int
session_started(struct store *s, const char *agent, int64_t pid, const char *conversation, struct err *e)
{
	struct starting job = { .agent = agent, .conversation = conversation, .pid = pid };

	return txn_run(s, start_once, &job, e) != 0 ? -1 : job.noted;
}

/* --- seen alive --- */

#define BATCH ((size_t)200)

static bool
is_due(const struct session *x, const struct timestamp *now)
{
	int64_t age = now->boot_ms - x->seen_boot_ms;

	if (x->boot_id[0] == '\0' || strcmp(x->boot_id, now->boot_id) != 0)
		return false;
	if (host_is_other(x->host) || session_is_contained(x, now))
		return false;
	if (x->pid_ns == now->pid_ns && age >= 0 && age < PROC_RENEW_MS)
		return false;
	return proc_life_in(x->pid_ns, x->pid, x->pid_start, now) == LIFE_ALIVE;
}

/* A conflict is left to the next pass. */
static int
renew_some(struct store *s, struct session *v, size_t n, const struct timestamp *now, struct err *e)
{
	struct txn t = { .s = s };
	enum commit answer;

	for (size_t i = 0; i < n; i++) {
		v[i].pid_ns = now->pid_ns;
		v[i].seen_boot_ms = now->boot_ms;
		session_put(&t, &v[i], SESSION_ACTIVE, v[i].changed_at);
	}
	answer = txn_commit(&t, e);
	return answer == COMMIT_DONE || answer == COMMIT_CONFLICT ? 0 : -1;
}

int
session_renew(struct store *s, struct session *x, const struct timestamp *at, struct err *e)
{
	return renew_some(s, x, 1, at, e);
}

int
session_list_renew(struct store *s, const struct timestamp *now, struct err *e)
{
	struct session_list open = { .n = 0 };
	int ret = session_list_read(s, SESSION_ACTIVE, &open, e);
	size_t all = open.n, n = 0;

	for (size_t i = 0; i < all; i++)
		if (ret == 0 && is_due(&open.v[i], now))
			open.v[n++] = open.v[i];
		else
			session_release(&open.v[i]);
	open.n = n;
	for (size_t i = 0; i < n && ret == 0; i += BATCH)
		ret = renew_some(s, open.v + i, n - i < BATCH ? n - i : BATCH, now, e);
	session_list_release(&open);
	return ret;
}

/* --- startup --- */

#define GONE "no process of it is running"

struct session_batch {
	struct session *v;		/* as many as fit a commit */
	size_t n;
	bool again;			/* another process was faster: read them anew */
	session_alive *alive;
	void *arg;
	size_t suspended;
};

static int
read_again(struct store *s, struct session_batch *job, struct err *e)
{
	if (!job->again)
		job->again = true;
	else
		for (size_t i = 0; i < job->n; i++)
			if (reload_session(s, job->v[i].agent_uuid, &job->v[i], e) != 0)
				return -1;
	return 0;
}

static int
reconcile_once(struct txn *t, void *arg, struct err *e)
{
	struct session_batch *job = arg;
	const struct session *last = NULL;
	char *words = NULL;

	job->suspended = 0;
	if (read_again(t->s, job, e) != 0)
		return -1;
	for (size_t i = 0; i < job->n; i++) {
		struct session *x = &job->v[i];

		if (x->state != SESSION_ACTIVE || job->alive(x, job->arg))
			continue;
		record_set(&x->why, GONE);
		session_put(t, x, SESSION_SUSPENDED, store_now(t->s));
		last = x;
		job->suspended++;
	}
	if (job->suspended > 1)
		words = xasprintf("%zu sessions: no process of theirs is running", job->suspended);
	if (words != NULL)
		txn_event(t, "session.suspended", NULL, NULL, words);
	else if (last != NULL)
		txn_event(t, "session.suspended", last->agent_uuid, last->session, GONE);
	free(words);
	return 0;
}

int
session_reconcile(
    struct store *s, session_alive *alive, void *arg, struct session_reconciled *out, struct err *e)
{
	struct session_list dead = { .n = 0 };
	int ret = session_list_read(s, SESSION_ACTIVE, &dead, e);
	size_t all = dead.n, n = 0;

	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < all; i++)
		if (ret == 0 && !alive(&dead.v[i], arg))
			dead.v[n++] = dead.v[i];
		else
			session_release(&dead.v[i]);
	dead.n = n;
	for (size_t i = 0; i < n && ret == 0; i += BATCH) {
		struct session_batch job = {
			.v = dead.v + i, .n = n - i < BATCH ? n - i : BATCH, .alive = alive, .arg = arg
		};

		ret = txn_run(s, reconcile_once, &job, e);
		out->suspended += ret == 0 ? job.suspended : 0;
	}
	out->left = all - out->suspended;
	session_list_release(&dead);
	return ret;
}
