#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/session.h"
#include "ledger/key.h"
#include "ledger/record.h"
#include "agent/liveness.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_slice.h"
#include "store/store.h"

#define SCHEMA 1
#define N(table) (sizeof table / sizeof table[0])

static const char *const state_names[SESSION_STATES] = { "ACTIVE", "SUSPENDED", "ENDED" };

/* told: a caller may say it. */
static const struct { const char *key; size_t at; bool told; } texts[] = {
	{ "agent_uuid", offsetof(struct session, agent_uuid), true },
	{ "provider_name", offsetof(struct session, provider_name), true },
	{ "cursor_session_id", offsetof(struct session, cursor_session_id), true },
	{ "model", offsetof(struct session, model), true },
	{ "workspace_path", offsetof(struct session, workspace_path), true },
	{ "parent", offsetof(struct session, parent), true },
	{ "session", offsetof(struct session, session), true },
	{ "socket", offsetof(struct session, socket), true },
	{ "start_command", offsetof(struct session, start_command), true },
	{ "why", offsetof(struct session, why), false },
};

static char **
text_of(const struct session *x, size_t i)
{
	return (char **)((uintptr_t)x + texts[i].at);
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
	for (size_t i = 0; i < N(texts); i++)
		free(*text_of(x, i));
	session_init(x);
}

void
sessions_release(struct sessions *list)
{
	for (size_t i = 0; i < list->n; i++)
		session_release(&list->v[i]);
	free(list->v);
	memset(list, 0, sizeof *list);
}

void
session_set(char **field, const char *value)
{
	char *copy = value != NULL ? xstrdup(value) : NULL;

	free(*field);
	*field = copy;
}

char **
session_field(struct session *x, const char *name)
{
	for (size_t i = 0; i < N(texts); i++)
		if (texts[i].told && strcmp(texts[i].key, name) == 0)
			return text_of(x, i);
	return NULL;
}

/* --- its process --- */

static void
forget_process(struct session *x)
{
	x->boot_id[0] = '\0';
	x->pid = x->pid_start = 0;
}

int
session_note_process(struct session *x, int64_t pid)
{
	uint64_t start = pid > 0 && pid == (pid_t)pid ? proc_ticks((pid_t)pid) : 0;
	struct moment now;

	forget_process(x);
	moment_now(&now);
	if (start == 0 || now.boot_id[0] == '\0')
		return -1;
	memcpy(x->boot_id, now.boot_id, sizeof x->boot_id);
	x->pid = pid;
	x->pid_start = (int64_t)start;
	return 0;
}

bool
session_lives(const struct session *x, const struct moment *now)
{
	return !host_is_other(x->host) && x->boot_id[0] != '\0' && strcmp(x->boot_id, now->boot_id) == 0 && x->pid > 0 && x->pid == (pid_t)x->pid &&
	    x->pid_start > 0 && proc_ticks((pid_t)x->pid) == (uint64_t)x->pid_start;
}

bool
session_is_elsewhere(const struct session *x)
{
	return x->state == SESSION_ACTIVE && host_is_other(x->host);
}

bool
session_is_gone(const struct session *x, const struct moment *now)
{
	return x->state != SESSION_ACTIVE || (!host_is_other(x->host) && x->boot_id[0] != '\0' && strcmp(x->boot_id, now->boot_id) == 0 &&
	    !session_lives(x, now));
}

bool
session_lost(const struct session *x, const struct moment *now)
{
	return x->state == SESSION_ACTIVE && !host_is_other(x->host) && x->boot_id[0] != '\0' && !session_lives(x, now);
}

bool
session_alive_now(const struct session *x, void *arg)
{
	return session_is_elsewhere(x) || session_lives(x, arg);
}

/* --- the record --- */

static char *
session_key(const char *agent)
{
	return xasprintf("session:%s", agent);
}

static char *
value_of(const struct session *x)
{
	struct buf out = BUF_INIT;

	buf_fmt(&out, "{\"schema_version\":%d", SCHEMA);
	for (size_t i = 0; i < N(texts); i++)
		json_print_member(&out, texts[i].key, *text_of(x, i));
	if (x->host[0] != '\0')
		json_print_member(&out, "host", x->host);
	if (x->came_from[0] != '\0')
		json_print_member(&out, "came_from", x->came_from);
	buf_fmt(&out, ",\"provider_state_blob\":%s", x->blob.size >= 0 ? "{" : "null");
	if (x->blob.size >= 0) {
		buf_fmt(&out, "\"size\":%lld", (long long)x->blob.size);
		json_print_member(&out, "sha256", x->blob.sha256);
		buf_chr(&out, '}');
	}
	buf_fmt(&out, ",\"process\":%s", x->boot_id[0] != '\0' ? "{" : "null");
	if (x->boot_id[0] != '\0') {
		buf_fmt(&out, "\"pid\":%lld,\"start\":%lld", (long long)x->pid, (long long)x->pid_start);
		json_print_member(&out, "boot_id", x->boot_id);
		buf_chr(&out, '}');
	}
	buf_fmt(&out, ",\"recorded_at\":%lld,\"changed_at\":%lld}", (long long)x->recorded_at, (long long)x->changed_at);
	return buf_detach(&out);
}

json_t *
session_json(const struct session *x)
{
	char *value = value_of(x);
	json_t *o = json_parse(value, strlen(value), "a session", NULL);

	free(value);
	return o;
}

static void
take_short(char *out, size_t size, struct json_slice v)
{
	char *text = json_slice_copy(v, "");

	snprintf(out, size, "%s", text);
	free(text);
}

static void
take_part(struct session *x, struct json_slice key, struct json_slice v)
{
	if (json_key_is(key, "provider_state_blob")) {
		x->blob.size = json_slice_number(json_slice_get(v, "size"), -1);
		take_short(x->blob.sha256, sizeof x->blob.sha256, json_slice_get(v, "sha256"));
	} else if (json_key_is(key, "process")) {
		take_short(x->boot_id, sizeof x->boot_id, json_slice_get(v, "boot_id"));
		x->pid = json_slice_number(json_slice_get(v, "pid"), 0);
		x->pid_start = json_slice_number(json_slice_get(v, "start"), 0);
	} else if (json_key_is(key, "host")) {
		take_short(x->host, sizeof x->host, v);
	} else if (json_key_is(key, "came_from")) {
		take_short(x->came_from, sizeof x->came_from, v);
	} else if (json_key_is(key, "recorded_at")) {
		x->recorded_at = json_slice_number(v, 0);
	} else if (json_key_is(key, "changed_at")) {
		x->changed_at = json_slice_number(v, 0);
	}
}

/* Members stand mostly in the order of the table, which is that of value_of. */
static int
take_parts(struct session *x, const struct record *r, struct err *e)
{
	struct json_slice whole, key, v;
	struct json_walk w;
	size_t next = 0;

	if (record_slice(r, SCHEMA, &whole, e) != 0)
		return -1;
	w = json_slice_walk(whole);
	while (json_walk_next(&w, &key, &v)) {
		size_t i = 0;

		while (i < N(texts) && !json_key_is(key, texts[(next + i) % N(texts)].key))
			i++;
		if (i == N(texts)) {
			take_part(x, key, v);
			continue;
		}
		next += i;
		free(*text_of(x, next % N(texts)));
		*text_of(x, next % N(texts)) = json_slice_copy(v, NULL);
		next++;
	}
	return w.p == whole.p + whole.n - 1 ? 0 : record_refuse(r, false, e);
}

int
session_from_record(const struct record *r, struct session *out, struct err *e)
{
	int state = 0;

	session_init(out);
	while (state < SESSION_STATES && strcmp(state_names[state], r->tag) != 0)
		state++;
	if (state == SESSION_STATES)
		return err_set(e, GT_FAIL, "corrupt", "the record %.200s is no session in a known state", r->key);
	if (take_parts(out, r, e) != 0) {
		session_release(out);
		return -1;
	}
	session_set(&out->agent_uuid, strchr(r->key, ':') + 1);
	out->version = r->version;
	out->state = (enum session_state)state;
	return 0;
}

int
session_load(struct store *s, const char *agent, struct session *out, struct err *e)
{
	char *key = session_key(agent);
	struct record r;
	int found = store_get(s, key, &r, e);

	session_init(out);
	if (found > 0 && session_from_record(&r, out, e) != 0)
		found = -1;
	record_release(&r);
	free(key);
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

static int
add_record(const struct record *r, void *arg, struct err *e)
{
	struct sessions *out = arg;

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	if (session_from_record(r, &out->v[out->n], e) != 0)
		return -1;
	out->n++;
	return 0;
}

int
sessions_read(struct store *s, enum session_state state, struct sessions *out, struct err *e)
{
	return store_each(s, "session:", state != SESSION_STATES ? state_names[state] : NULL, add_record, out, e);
}

void
session_take_home(struct session *x)
{
	if (host_is_other(x->host))
		memcpy(x->came_from, x->host, sizeof x->came_from);
	snprintf(x->host, sizeof x->host, "%s", host_id());
}

void
session_change(struct session *x, enum session_state state, int64_t now, char **key, char **value, struct change *c)
{
	x->changed_at = now;
	if (x->recorded_at == 0)
		x->recorded_at = now;
	if (state != SESSION_ACTIVE)
		forget_process(x);
	else
		session_set(&x->why, NULL);
	if (x->host[0] == '\0')
		session_take_home(x);
	*key = session_key(x->agent_uuid);
	*value = value_of(x);
	*c = (struct change){ CHANGE_PUT, *key, x->version, state_names[state], *value };
}

int
session_check(const struct session *x, struct err *e)
{
	if (x->agent_uuid == NULL || x->provider_name == NULL || *x->provider_name == '\0') {
		err_set(e, GT_USAGE, "session", "a session needs agent_uuid and provider_name");
		return err_hint(e, "gt-recover help session");
	}
	if (key_check_id("agent_uuid", x->agent_uuid, e) != 0 || (x->parent != NULL && key_check_id("parent", x->parent, e) != 0))
		return -1;
	for (size_t i = 0; i < N(texts); i++)
		if (*text_of(x, i) != NULL && strlen(*text_of(x, i)) > SESSION_TEXT_MAX) {
			err_set(e, GT_USAGE, "session", "%s of a session has more than %d bytes", texts[i].key, SESSION_TEXT_MAX);
			return err_hint(e, "What is longer belongs into the state blob");
		}
	return 0;
}

/* Each text that x lacks, from another. */
static void
fill(struct session *x, const struct session *from)
{
	for (size_t i = 0; i < N(texts); i++)
		if (*text_of(x, i) == NULL)
			session_set(text_of(x, i), *text_of(from, i));
}

void
session_copy(struct session *out, const struct session *x)
{
	*out = *x;
	for (size_t i = 0; i < N(texts); i++)
		*text_of(out, i) = NULL;
	fill(out, x);
}

void
session_take_over(struct session *x, const struct session *old)
{
	if (x->host[0] == '\0') {
		memcpy(x->host, old->host, sizeof x->host);
		memcpy(x->came_from, old->came_from, sizeof x->came_from);
	}
	if (x->boot_id[0] == '\0') {
		memcpy(x->boot_id, old->boot_id, sizeof x->boot_id);
		x->pid = old->pid;
		x->pid_start = old->pid_start;
	}
	fill(x, old);
	x->blob = old->blob;
	x->version = old->version;
	x->recorded_at = old->recorded_at;
}
