#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "records/records.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/store.h"

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

static enum commit
record_once(struct store *s, void *arg, struct err *e)
{
	const struct recording *job = arg;
	const struct session *told = job->told;
	struct event ev = { .kind = "session.recorded", .subject = told->agent_uuid, .session = told->session,
	    .text = told->provider_name };
	struct session x, old;
	char *key[3] = { NULL }, *value[3] = { NULL };
	struct change c[3];
	enum commit answer = COMMIT_ERROR;
	size_t n = 0;
	int found = session_load(s, told->agent_uuid, &old, e), ret = found < 0 ? -1 : 0;

	session_copy(&x, told);
	if (found > 0)
		ret = meet(&x, &old, e);
	if (ret == 0 && job->blob != NULL) {
		ret = session_blob_change(
		    x.agent_uuid, job->blob->data, job->blob->len, &x.blob, &key[n], &value[n], &c[n], e);
		n++;
	}
	/* a root has its place at once; a child's parent must be there, its place comes with the spawn */
	if (ret == 0 && found == 0) {
		if (x.parent == NULL)
			tree_link_change(x.agent_uuid, NULL, store_now(s), &key[n], &value[n], &c[n]);
		else
			ret = tree_not_ended_check(s, x.parent, &key[n], &c[n], e);
		n++;
	}
	if (ret == 0) {
		session_change(&x, SESSION_ACTIVE, store_now(s), &key[n], &value[n], &c[n]);
		n++;
		answer = event_commit(s, c, n, &ev, e);
	}
	for (size_t i = 0; i < n; i++) {
		free(key[i]);
		free(value[i]);
	}
	session_release(&old);
	session_release(&x);
	return answer;
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

	if (session_check(x, e) != 0 || record_retry_on_conflict(record_once, s, &job, e) != 0)
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
turn(struct store *s, enum commit (*verb)(struct store *s, void *arg, struct err *e), struct turning *job,
    struct err *e)
{
	session_init(job->x);
	if (record_retry_on_conflict(verb, s, job, e) == 0)
		return reload_session(s, job->agent, job->x, e);
	session_release(job->x);
	return -1;
}

static enum commit
suspend_once(struct store *s, void *arg, struct err *e)
{
	struct turning *job = arg;
	struct session *x = job->x;
	struct event ev = { .kind = "session.suspended", .subject = job->agent, .text = job->why };
	char *key[2] = { NULL }, *value[2] = { NULL };
	struct change c[2];
	enum commit answer = COMMIT_ERROR;
	size_t n = 0;

	session_release(x);
	if (session_need(s, job->agent, x, e) != 0)
		return COMMIT_ERROR;
	if (x->state == SESSION_ENDED)
		return refuse(e, "ended", job->agent, "has ended",
			   "An agent that has ended is not taken up again"),
		       COMMIT_ERROR;
	if (x->state == SESSION_SUSPENDED && job->blob == NULL)
		return COMMIT_DONE;
	if (job->blob == NULL ||
	    session_blob_change(
		job->agent, job->blob->data, job->blob->len, &x->blob, &key[0], &value[0], &c[n++], e) == 0) {
		session_set(&x->why, job->why);
		session_change(x, SESSION_SUSPENDED, store_now(s), &key[1], &value[1], &c[n++]);
		ev.session = x->session;
		answer = event_commit(s, c, n, &ev, e);
	}
	for (size_t i = 0; i < 2; i++) {
		free(key[i]);
		free(value[i]);
	}
	return answer;
}

int
session_suspend(struct store *s, const char *agent, const struct buf *blob, const char *why,
    struct session *out, struct err *e)
{
	struct turning job = { .agent = agent, .why = why, .blob = blob, .x = out };

	return turn(s, suspend_once, &job, e);
}

static enum commit
restore_once(struct store *s, void *arg, struct err *e)
{
	struct turning *job = arg;
	struct session *x = job->x;
	struct event ev = { .kind = "session.restored", .subject = job->agent };
	char *key = NULL, *value = NULL, *place[2] = { NULL };
	struct change c[3];
	enum commit answer = COMMIT_ERROR;
	size_t n = 0;
	int ret;

	session_release(x);
	buf_reset(job->out);
	if (session_need(s, job->agent, x, e) != 0)
		return COMMIT_ERROR;
	if (x->state == SESSION_ENDED)
		return refuse(e, "ended", job->agent, "has ended",
			   "An agent that has ended is not taken up again"),
		       COMMIT_ERROR;
	if (x->state == SESSION_ACTIVE)
		return refuse(e, "active", job->agent, "is active: somebody has taken it up",
		    "If its process is gone: gt-recover session suspend, or startup"), COMMIT_ERROR;
	ret = x->blob.size >= 0 ? session_blob_read(s, job->agent, &x->blob, job->out, e) : 0;
	if (ret == 0)
		ret = tree_ancestry_check(s, job->agent, place, c, &n, e);
	if (ret == 0) {
		session_move_here(x);
		session_change(x, SESSION_ACTIVE, store_now(s), &key, &value, &c[n++]);
		ev.session = x->session;
		answer = event_commit(s, c, n, &ev, e);
	}
	free(key);
	free(value);
	free(place[0]);
	free(place[1]);
	return answer;
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

static enum commit
start_once(struct store *s, void *arg, struct err *e)
{
	struct starting *job = arg;
	struct event ev = { .kind = "session.started", .subject = job->agent };
	struct session x, seen;
	char *key = NULL, *value = NULL;
	struct change c;
	enum commit answer = COMMIT_ERROR;

	session_init(&seen);
	job->noted = false;
	if (session_need(s, job->agent, &x, e) == 0) {
		job->noted = session_set_process(&seen, job->pid) == 0 && may_start(&x, &seen);
		answer = COMMIT_DONE;
	}
	if (job->noted) {
		session_move_here(&x);
		session_take_process(&x, &seen);
		if (job->conversation != NULL)
			session_set(&x.cursor_session_id, job->conversation);
		ev.session = x.session;
		session_change(&x, SESSION_ACTIVE, store_now(s), &key, &value, &c);
		answer = event_commit(s, &c, 1, &ev, e);
	}
	free(key);
	free(value);
	session_release(&x);
	return answer;
}

int
session_started(struct store *s, const char *agent, int64_t pid, const char *conversation, struct err *e)
{
	struct starting job = { .agent = agent, .conversation = conversation, .pid = pid };

	return record_retry_on_conflict(start_once, s, &job, e) != 0 ? -1 : job.noted;
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
	char *key[BATCH], *value[BATCH];
	struct change c[BATCH] = { { .key = NULL } };
	enum commit answer;

	for (size_t i = 0; i < n; i++) {
		int64_t changed = v[i].changed_at;

		v[i].pid_ns = now->pid_ns;
		v[i].seen_boot_ms = now->boot_ms;
		session_change(&v[i], SESSION_ACTIVE, changed, &key[i], &value[i], &c[i]);
	}
	answer = store_commit(s, c, n, e);
	for (size_t i = 0; i < n; i++) {
		free(key[i]);
		free(value[i]);
	}
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

static enum commit
reconcile_once(struct store *s, void *arg, struct err *e)
{
	struct session_batch *job = arg;
	struct event ev = { .kind = "session.suspended" };
	char *key[BATCH], *value[BATCH], *words = NULL;
	struct change c[BATCH];
	enum commit answer = COMMIT_ERROR;
	size_t n = 0;

	if (read_again(s, job, e) != 0)
		return COMMIT_ERROR;
	for (size_t i = 0; i < job->n; i++) {
		struct session *x = &job->v[i];

		if (x->state != SESSION_ACTIVE || job->alive(x, job->arg))
			continue;
		session_set(&x->why, GONE);
		session_change(x, SESSION_SUSPENDED, store_now(s), &key[n], &value[n], &c[n]);
		ev.subject = x->agent_uuid;
		ev.session = x->session;
		n++;
	}
	if (n > 1) {
		words = xasprintf("%zu sessions: no process of theirs is running", n);
		ev.subject = ev.session = NULL;
	}
	ev.text = n > 1 ? words : GONE;
	answer = n > 0 ? event_commit(s, c, n, &ev, e) : COMMIT_DONE;
	job->suspended = answer == COMMIT_DONE ? n : 0;
	for (size_t i = 0; i < n; i++) {
		free(key[i]);
		free(value[i]);
	}
	free(words);
	return answer;
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

		ret = record_retry_on_conflict(reconcile_once, s, &job, e);
		out->suspended += job.suspended;
	}
	out->left = all - out->suspended;
	session_list_release(&dead);
	return ret;
}
