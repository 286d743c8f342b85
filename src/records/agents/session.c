#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "base/encode.h"
#include "base/buf.h"
#include "base/err.h"
#include "process/proc.h"
#include "records/records_private.h"

#define BLOB_SCHEMA 1

int
session_blob_put(
    struct txn *t, const char *agent, const struct buf *blob, struct session_blob *it, struct err *e)
{
	struct buf text = BUF_INIT;
	json_t *o;

	if (blob->len > SESSION_BLOB_MAX) {
		err_set(e, GT_USAGE, "too-large", "a state blob has at most %zu bytes", SESSION_BLOB_MAX);
		return err_hint(e, "Store the state in a file and pass its path");
	}
	it->size = (int64_t)blob->len;
	sha256_hex(blob->data, blob->len, it->sha256);
	base64_put(&text, blob->data, blob->len);
	o = json_object();
	json_put_int(o, "schema_version", BLOB_SCHEMA);
	json_put_int(o, "size", it->size);
	json_put(o, "sha256", it->sha256);
	json_put(o, "base64", text.data);
	buf_release(&text);
	txn_write(t, xasprintf("blob:%s", agent), STORE_ANY, "blob", record_value(o));
	return 0;
}

int
session_blob_read(
    struct store *s, const char *agent, const struct session_blob *it, struct buf *out, struct err *e)
{
	char *key = xasprintf("blob:%s", agent), sum[65];
	size_t before = out->len;
	struct record r;
	json_t *o = NULL;
	const char *text;
	int found = store_get(s, key, &r, e), ret = found < 0 ? -1 : 0;

	if (found > 0)
		ret = (o = record_object(&r, "blob", BLOB_SCHEMA, e)) != NULL ? 0 : -1;
	if (ret == 0) {
		text = json_text(o, "base64", "=");
		ret = base64_take(out, text, strlen(text));
		sha256_hex(out->data + before, out->len - before, sum);
		if (ret != 0 || (int64_t)(out->len - before) != it->size || strcmp(sum, it->sha256) != 0) {
			buf_cut(out, before);
			ret = err_set(e, GT_FAIL, "blob", "the state blob of %s is %s", agent,
			    found == 0 ? "missing" : "not the one that was stored: its SHA-256 differs");
			err_hint(e,
			    "To check the store: gt-recover doctor. The session can continue without its "
			    "blob");
		}
	}
	json_decref(o);
	store_record_release(&r);
	free(key);
	return ret;
}

/* ---- the record ---- */

static const char *const state_names[SESSION_STATES] = { "ACTIVE", "SUSPENDED", "ENDED" };

static bool
has_blob(const void *x)
{
	return ((const struct session *)x)->blob.size >= 0;
}

static bool
has_process(const void *x)
{
	return ((const struct session *)x)->boot_id[0] != '\0';
}

static const struct record_field blob_fields[] = {
	F_INT(session, "size", blob.size, 0, -1),
	F_WORD(session, "sha256", blob.sha256, 0),
};
static const struct record_field process_fields[] = {
	F_INT(session, "pid", pid, 0, 0),
	F_INT(session, "start", pid_start, 0, 0),
	F_WORD(session, "boot_id", boot_id, 0),
	F_INT(session, "pid_ns", pid_ns, 0, 0),
	F_INT(session, "seen_boot_ms", seen_boot_ms, 0, 0),
};
static const struct record_field session_fields[] = {
	F_TEXT(session, "agent_uuid", agent_uuid, 0),
	F_TEXT(session, "provider_name", provider_name, 0),
	F_TEXT(session, "cursor_session_id", cursor_session_id, 0),
	F_TEXT(session, "model", model, 0),
	F_TEXT(session, "workspace_path", workspace_path, 0),
	F_TEXT(session, "parent", parent, 0),
	F_TEXT(session, "session", session, 0),
	F_TEXT(session, "socket", socket, 0),
	F_TEXT(session, "start_command", start_command, 0),
	F_TEXT(session, "why", why, 0),
	F_WORD(session, "host", host, FIELD_OPTIONAL),
	F_WORD(session, "came_from", came_from, FIELD_OPTIONAL),
	F_OBJECT("provider_state_blob", blob_fields, has_blob),
	F_OBJECT("process", process_fields, has_process),
	F_INT(session, "recorded_at", recorded_at, 0, 0),
	F_INT(session, "changed_at", changed_at, 0, 0),
};
const struct record_type session_type = { .prefix = "session:", .schema = 1, RECORD_SELF(session),
	RECORD_ID(session, agent_uuid), RECORD_STATE(session, state, state_names),
	.refusal = "is not a session in a known state", .fields = FIELDS(session_fields) };

/* The texts of a session are the first fields, without `why` those that a caller may tell. */
#define TEXTS 10

static char **
text_at(const struct session *x, size_t i)
{
	return (char **)((uintptr_t)x + session_fields[i].offset);
}

const char *
session_state_name(enum session_state state)
{
	return state_names[state];
}

void
session_init(struct session *x)
{
	memset(x, 0, sizeof *x);
	x->blob.size = -1;
}

void
session_release(struct session *x)
{
	record_free(&session_type, x);
	session_init(x);
}

void
session_list_release(struct session_list *list)
{
	record_list_free(&session_type, list);
}

/* --- its process --- */

static void
forget_process(struct session *x)
{
	x->boot_id[0] = '\0';
	x->pid = x->pid_start = x->seen_boot_ms = 0;
	x->pid_ns = 0;
}

int
session_set_process(struct session *x, int64_t pid)
{
	uint64_t start = pid > 0 && pid == (pid_t)pid ? proc_ticks((pid_t)pid) : 0;
	struct timestamp now;

	forget_process(x);
	timestamp_now(&now);
	if (start == 0 || now.boot_id[0] == '\0')
		return -1;
	memcpy(x->boot_id, now.boot_id, sizeof x->boot_id);
	x->pid_ns = now.pid_ns;
	x->seen_boot_ms = now.boot_ms;
	x->pid = pid;
	x->pid_start = (int64_t)start;
	return 0;
}

/* x has the process of the other, as far as that is known. */
static void
take_process(struct session *x, const struct session *from)
{
	memcpy(x->boot_id, from->boot_id, sizeof x->boot_id);
	x->pid_ns = from->pid_ns;
	x->seen_boot_ms = from->seen_boot_ms;
	x->pid = from->pid;
	x->pid_start = from->pid_start;
}

bool
session_same_process(const struct session *x, const struct session *y)
{
	bool other = x->pid_ns != 0 && y->pid_ns != 0 && x->pid_ns != y->pid_ns;

	return !other && strcmp(x->boot_id, y->boot_id) == 0 && x->pid == y->pid &&
	    x->pid_start == y->pid_start;
}

static bool
is_of_boot(const struct session *x, const struct timestamp *now)
{
	return !host_is_other(x->host) && x->boot_id[0] != '\0' && strcmp(x->boot_id, now->boot_id) == 0;
}

bool
session_is_contained(const struct session *x, const struct timestamp *now)
{
	return !host_is_other(x->host) && timestamp_contained(x->boot_id, x->pid_ns, now);
}

bool
session_is_alive(const struct session *x, const struct timestamp *now)
{
	enum proc_life life = LIFE_GONE;

	if (is_of_boot(x, now))
		life = proc_life_in(x->pid_ns, x->pid, x->pid_start, now);
	return life == LIFE_ELSEWHERE ? now->boot_ms - x->seen_boot_ms <= PROC_SEEN_MS : life != LIFE_GONE;
}

bool
session_is_elsewhere(const struct session *x)
{
	return x->state == SESSION_ACTIVE && host_is_other(x->host);
}

bool
session_is_gone(const struct session *x, const struct timestamp *now)
{
	return x->state != SESSION_ACTIVE || (is_of_boot(x, now) && !session_is_alive(x, now));
}

bool
session_is_lost(const struct session *x, const struct timestamp *now)
{
	return x->state == SESSION_ACTIVE && !host_is_other(x->host) && x->boot_id[0] != '\0' &&
	    !session_is_alive(x, now);
}

bool
session_alive_now(const struct session *x, void *arg)
{
	return session_is_elsewhere(x) || session_is_alive(x, arg);
}

/* ---- reading and writing ---- */

int
session_load(struct store *s, const char *agent, struct session *out, struct err *e)
{
	int found = record_load(s, &session_type, agent, out, e);

	if (found <= 0)
		session_init(out);
	return found;
}

int
session_need(struct store *s, const char *agent, struct session *out, struct err *e)
{
	int found = session_load(s, agent, out, e);

	if (found != 0)
		return found > 0 ? 0 : -1;
	err_set(e, GT_NOTHING, "not-found", "no session of an agent \"%s\" is recorded", agent);
	return err_hint(e, "gt-recover records session list shows the sessions");
}

int
session_list_read(struct store *s, enum session_state state, struct session_list *out, struct err *e)
{
	return record_list_read(
	    s, &session_type, state != SESSION_STATES ? state_names[state] : NULL, out, e);
}

/* It is this host's from now on. */
static void
move_here(struct session *x)
{
	if (host_is_other(x->host))
		memcpy(x->came_from, x->host, sizeof x->came_from);
	snprintf(x->host, sizeof x->host, "%s", host_id());
}

void
session_put(struct txn *t, struct session *x, enum session_state state, int64_t now)
{
	enum session_state before = x->state;

	x->changed_at = now;
	if (x->recorded_at == 0)
		x->recorded_at = now;
	if (state != SESSION_ACTIVE)
		forget_process(x);
	else
		record_set(&x->why, NULL);
	if (x->host[0] == '\0')
		move_here(x);
	x->state = state;
	txn_put(t, &session_type, x);
	x->state = before;
}

void
session_expect(struct txn *t, const struct session *x)
{
	txn_check(t, record_key_of(&session_type, x), x->version);
}

int
session_check(const struct session *x, struct err *e)
{
	if (x->agent_uuid == NULL || x->provider_name == NULL || *x->provider_name == '\0') {
		err_set(e, GT_USAGE, "session", "a session needs provider_name");
		return err_hint(e, "gt-recover help session");
	}
	if (record_check_id("agent_uuid", x->agent_uuid, e) != 0 ||
	    (x->parent != NULL && record_check_id("parent", x->parent, e) != 0))
		return -1;
	for (size_t i = 0; i < TEXTS; i++)
		if (*text_at(x, i) != NULL && strlen(*text_at(x, i)) > SESSION_TEXT_MAX) {
			err_set(e, GT_USAGE, "session", "%s of a session has more than %d bytes",
			    session_fields[i].name, SESSION_TEXT_MAX);
			return err_hint(e, "Put longer data into the state blob");
		}
	return 0;
}

/* Each text that x lacks, from another. */
static void
fill(struct session *x, const struct session *from)
{
	for (size_t i = 0; i < TEXTS; i++)
		if (*text_at(x, i) == NULL)
			record_set(text_at(x, i), *text_at(from, i));
}

void
session_copy(struct session *out, const struct session *x)
{
	*out = *x;
	for (size_t i = 0; i < TEXTS; i++)
		*text_at(out, i) = NULL;
	fill(out, x);
}

void
session_inherit(struct session *x, const struct session *old)
{
	if (x->host[0] == '\0') {
		memcpy(x->host, old->host, sizeof x->host);
		memcpy(x->came_from, old->came_from, sizeof x->came_from);
	}
	if (x->boot_id[0] == '\0')
		take_process(x, old);
	fill(x, old);
	x->blob = old->blob;
	x->version = old->version;
	x->recorded_at = old->recorded_at;
}

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
		    e, "ended", x->agent_uuid, "has ended", "Record the new agent under a new id");
	if (old->state == SESSION_SUSPENDED)
		return refuse(e, "suspended", x->agent_uuid, "is suspended",
		    "to resume it: gt-recover records session restore");
	if (x->parent != NULL && (old->parent == NULL || strcmp(x->parent, old->parent) != 0))
		return refuse(e, "other-parent", x->agent_uuid, "was recorded under another parent",
		    "gt-recover records agent tree shows its parent");
	timestamp_now(&now);
	if (x->boot_id[0] != '\0' && !session_same_process(old, x) && session_is_alive(old, &now))
		return refuse(e, "live", x->agent_uuid, "has another process, which is running",
		    "Check that process first, or suspend the session");
	if (session_is_elsewhere(old))
		return refuse(e, "elsewhere", x->agent_uuid, "is active on another host",
		    "If that host no longer exists: gt-recover records session suspend, then restore");
	session_inherit(x, old);
	move_here(x);
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
	txn_event_on(t, told->socket);
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
		    e, "ended", job->agent, "has ended", "An ended agent cannot be resumed");
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
	txn_event_on(t, x->socket);
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
		return refuse(e, "active", job->agent, "is active: already resumed",
		    "If its process is gone: gt-recover records session suspend, or reconcile");
	if ((x->blob.size >= 0 && session_blob_read(t->s, job->agent, &x->blob, job->out, e) != 0) ||
	    tree_expect_ancestry(t, job->agent, e) != 0)
		return -1;
	move_here(x);
	session_put(t, x, SESSION_ACTIVE, store_now(t->s));
	txn_event(t, "session.restored", job->agent, x->session, NULL);
	txn_event_on(t, x->socket);
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
		move_here(&x);
		take_process(&x, &seen);
		if (job->conversation != NULL)
			record_set(&x.cursor_session_id, job->conversation);
		session_put(t, &x, SESSION_ACTIVE, store_now(t->s));
		txn_event(t, "session.started", job->agent, x.session, NULL);
		txn_event_on(t, x.socket);
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

#define GONE "its process is not running"

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
		words = xasprintf("%zu sessions: no running process", job->suspended);
	if (words != NULL) {
		txn_event(t, "session.suspended", NULL, NULL, words);
	} else if (last != NULL) {
		txn_event(t, "session.suspended", last->agent_uuid, last->session, GONE);
		txn_event_on(t, last->socket);
	}
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
