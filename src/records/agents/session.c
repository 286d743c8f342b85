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
		return err_hint(e, "Keep the state in a file of your own and hand over its path");
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
		ret = (o = record_object(&r, BLOB_SCHEMA, e)) != NULL ? 0 : -1;
	if (ret == 0) {
		text = json_text(o, "base64", "=");
		ret = base64_take(out, text, strlen(text));
		sha256_hex(out->data + before, out->len - before, sum);
		if (ret != 0 || (int64_t)(out->len - before) != it->size || strcmp(sum, it->sha256) != 0) {
			buf_cut(out, before);
			ret = err_set(e, GT_FAIL, "blob", "the state blob of %s is %s", agent,
			    found == 0 ? "missing" : "not the one that was stored: its SHA-256 differs");
			err_hint(e,
			    "A damaged store is told by gt-recover doctor; the session itself can go on "
			    "without its blob");
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
	RECORD_ID(session, agent_uuid), RECORD_STATE(session, state, state_names), .strict = true,
	.refusal = "is no session in a known state", .fields = FIELDS(session_fields) };

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

char **
session_field(struct session *x, const char *name)
{
	for (size_t i = 0; i < TEXTS - 1; i++)
		if (strcmp(session_fields[i].name, name) == 0)
			return text_at(x, i);
	return NULL;
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

void
session_take_process(struct session *x, const struct session *from)
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
	return life == LIFE_ELSEWHERE ? proc_is_recent(now->boot_ms - x->seen_boot_ms) : life != LIFE_GONE;
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

json_t *
session_json(const struct session *x)
{
	return record_json(&session_type, x);
}

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
	return err_hint(e, "gt-recover session list shows those that are");
}

int
session_list_read(struct store *s, enum session_state state, struct session_list *out, struct err *e)
{
	return record_list_read(
	    s, &session_type, state != SESSION_STATES ? state_names[state] : NULL, out, e);
}

void
session_move_here(struct session *x)
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
		session_move_here(x);
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
		err_set(e, GT_USAGE, "session", "a session needs agent_uuid and provider_name");
		return err_hint(e, "gt-recover help session");
	}
	if (record_check_id("agent_uuid", x->agent_uuid, e) != 0 ||
	    (x->parent != NULL && record_check_id("parent", x->parent, e) != 0))
		return -1;
	for (size_t i = 0; i < TEXTS; i++)
		if (*text_at(x, i) != NULL && strlen(*text_at(x, i)) > SESSION_TEXT_MAX) {
			err_set(e, GT_USAGE, "session", "%s of a session has more than %d bytes",
			    session_fields[i].name, SESSION_TEXT_MAX);
			return err_hint(e, "What is longer belongs into the state blob");
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
		session_take_process(x, old);
	fill(x, old);
	x->blob = old->blob;
	x->version = old->version;
	x->recorded_at = old->recorded_at;
}
