#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "base/encode.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "process/proc.h"
#include "records/records.h"
#include "store/store.h"

#define BLOB_SCHEMA 1

int
session_blob_change(const char *agent, const void *p, size_t n, struct session_blob *it, char **key,
    char **value, struct change *c, struct err *e)
{
	struct buf text = BUF_INIT;
	json_t *o;

	if (n > SESSION_BLOB_MAX) {
		err_set(e, GT_USAGE, "too-large", "a state blob has at most %zu bytes", SESSION_BLOB_MAX);
		return err_hint(e, "Keep the state in a file of your own and hand over its path");
	}
	it->size = (int64_t)n;
	sha256_hex(p, n, it->sha256);
	base64_put(&text, p, n);
	o = json_object();
	json_put_int(o, "schema_version", BLOB_SCHEMA);
	json_put_int(o, "size", it->size);
	json_put(o, "sha256", it->sha256);
	json_put(o, "base64", text.data);
	buf_release(&text);
	*key = xasprintf("blob:%s", agent);
	*value = record_value(o);
	*c = (struct change){ CHANGE_PUT, *key, STORE_ANY, "blob", *value };
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

#define SESSION_SCHEMA 1
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
session_text_field(const struct session *x, size_t i)
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
		free(*session_text_field(x, i));
	session_init(x);
}

void
session_list_release(struct session_list *list)
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
			return session_text_field(x, i);
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

	buf_fmt(&out, "{\"schema_version\":%d", SESSION_SCHEMA);
	for (size_t i = 0; i < N(texts); i++)
		json_print_member(&out, texts[i].key, *session_text_field(x, i));
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
		buf_fmt(&out, ",\"pid_ns\":%llu", (unsigned long long)x->pid_ns);
		buf_fmt(&out, ",\"seen_boot_ms\":%lld", (long long)x->seen_boot_ms);
		buf_chr(&out, '}');
	}
	buf_fmt(&out, ",\"recorded_at\":%lld,\"changed_at\":%lld}", (long long)x->recorded_at,
	    (long long)x->changed_at);
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
		x->pid_ns = (uint64_t)json_slice_number(json_slice_get(v, "pid_ns"), 0);
		x->seen_boot_ms = json_slice_number(json_slice_get(v, "seen_boot_ms"), 0);
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

	if (record_slice(r, SESSION_SCHEMA, &whole, e) != 0)
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
		free(*session_text_field(x, next % N(texts)));
		*session_text_field(x, next % N(texts)) = json_slice_copy(v, NULL);
		next++;
	}
	return w.p == whole.p + whole.n - 1 ? 0 : record_reject(r, false, e);
}

int
session_from_record(const struct record *r, struct session *out, struct err *e)
{
	int state = 0;

	session_init(out);
	while (state < SESSION_STATES && strcmp(state_names[state], r->tag) != 0)
		state++;
	if (state == SESSION_STATES)
		return err_set(
		    e, GT_FAIL, "corrupt", "the record %.200s is no session in a known state", r->key);
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
	store_record_release(&r);
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
add_session(const struct record *r, void *arg, struct err *e)
{
	struct session_list *out = arg;

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	if (session_from_record(r, &out->v[out->n], e) != 0)
		return -1;
	out->n++;
	return 0;
}

int
session_list_read(struct store *s, enum session_state state, struct session_list *out, struct err *e)
{
	return store_each(
	    s, "session:", state != SESSION_STATES ? state_names[state] : NULL, add_session, out, e);
}

void
session_move_here(struct session *x)
{
	if (host_is_other(x->host))
		memcpy(x->came_from, x->host, sizeof x->came_from);
	snprintf(x->host, sizeof x->host, "%s", host_id());
}

void
session_change(
    struct session *x, enum session_state state, int64_t now, char **key, char **value, struct change *c)
{
	x->changed_at = now;
	if (x->recorded_at == 0)
		x->recorded_at = now;
	if (state != SESSION_ACTIVE)
		forget_process(x);
	else
		session_set(&x->why, NULL);
	if (x->host[0] == '\0')
		session_move_here(x);
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
	if (record_check_id("agent_uuid", x->agent_uuid, e) != 0 ||
	    (x->parent != NULL && record_check_id("parent", x->parent, e) != 0))
		return -1;
	for (size_t i = 0; i < N(texts); i++)
		if (*session_text_field(x, i) != NULL &&
		    strlen(*session_text_field(x, i)) > SESSION_TEXT_MAX) {
			err_set(e, GT_USAGE, "session", "%s of a session has more than %d bytes",
			    texts[i].key, SESSION_TEXT_MAX);
			return err_hint(e, "What is longer belongs into the state blob");
		}
	return 0;
}

/* Each text that x lacks, from another. */
static void
fill(struct session *x, const struct session *from)
{
	for (size_t i = 0; i < N(texts); i++)
		if (*session_text_field(x, i) == NULL)
			session_set(session_text_field(x, i), *session_text_field(from, i));
}

void
session_copy(struct session *out, const struct session *x)
{
	*out = *x;
	for (size_t i = 0; i < N(texts); i++)
		*session_text_field(out, i) = NULL;
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
