#include <stdlib.h>
#include <string.h>

#include "ledger/attempt.h"
#include "ledger/event.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"

#define CRASHES_KEPT 64
#define PAGE 500
#define NAME_MAX_BYTES 512		/* of a name inside a key: keys have a limit */
#define N(table) (sizeof table / sizeof table[0])

static const char *const phase_names[PHASES] = { "detected", "captured", "respawned", "delivered", "acknowledged", "failed" };

static const struct {
	const char *key;
	size_t at;
} texts[] = {
	{ "session", offsetof(struct attempt, session) },
	{ "socket", offsetof(struct attempt, socket) },
	{ "pane_id", offsetof(struct attempt, pane_id) },
	{ "agent", offsetof(struct attempt, agent) },
	{ "class", offsetof(struct attempt, class) },
	{ "reason", offsetof(struct attempt, reason) },
	{ "cwd", offsetof(struct attempt, cwd) },
	{ "via", offsetof(struct attempt, via) },
	{ "delivery", offsetof(struct attempt, delivery) },
	{ "proof", offsetof(struct attempt, proof) },
	{ "why", offsetof(struct attempt, why) },
	{ "source", offsetof(struct attempt, source) },
	{ "transcript", offsetof(struct attempt, transcript) },
	{ "previous", offsetof(struct attempt, previous) },
}, numbers[] = {
	{ "server_pid", offsetof(struct attempt, server_pid) },
	{ "server_start", offsetof(struct attempt, server_start) },
	{ "pane_pid", offsetof(struct attempt, pane_pid) },
	{ "new_pid", offsetof(struct attempt, new_pid) },
	{ "pane_dead_time", offsetof(struct attempt, pane_dead_time) },
	{ "lines", offsetof(struct attempt, lines) },
	{ "tokens", offsetof(struct attempt, tokens) },
};

static char **
text_of(const struct attempt *a, size_t i)
{
	return (char **)((uintptr_t)a + texts[i].at);
}

static int64_t *
number_of(const struct attempt *a, size_t i)
{
	return (int64_t *)((uintptr_t)a + numbers[i].at);
}

const char *
phase_name(enum phase p)
{
	return phase_names[p];
}

bool
phase_final(enum phase p)
{
	return p == PHASE_ACKNOWLEDGED || p == PHASE_FAILED;
}

void
attempt_init(struct attempt *a)
{
	memset(a, 0, sizeof *a);
	memcpy(a->id, "gtr-", 4);
	io_random_hex(a->id + 4, 8);
}

void
attempt_release(struct attempt *a)
{
	for (size_t i = 0; i < N(texts); i++)
		free(*text_of(a, i));
	memset(a, 0, sizeof *a);
}

void
attempts_release(struct attempts *list)
{
	for (size_t i = 0; i < list->n; i++)
		attempt_release(&list->v[i]);
	free(list->v);
	memset(list, 0, sizeof *list);
}

void
attempt_set(char **field, const char *value)
{
	char *copy = value != NULL ? xstrdup(value) : NULL;

	free(*field);
	*field = copy;
}

/* --- the record --- */

/* The record as it will be in `phase`, entered `now` unless it has been entered before. */
static char *
to_json(const struct attempt *a, enum phase phase, int64_t now)
{
	json_t *o = json_object(), *times = json_object();
	struct buf out = BUF_INIT;

	json_put(o, "id", a->id);
	for (size_t i = 0; i < N(texts); i++)
		json_put(o, texts[i].key, *text_of(a, i));
	for (size_t i = 0; i < N(numbers); i++)
		json_put_int(o, numbers[i].key, *number_of(a, i));
	json_put_flag(o, "pasted", a->pasted);
	for (int p = 0; p < PHASES; p++)
		if (a->times[p] != 0 || (enum phase)p == phase)
			json_put_int(times, phase_names[p], a->times[p] != 0 ? a->times[p] : now);
	json_object_set_new(o, "times", times);
	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

static int
from_record(const struct record *r, struct attempt *a, struct err *e)
{
	const char *id = strchr(r->key, ':') + 1;
	json_t *o = json_parse(r->value, strlen(r->value), r->key, e), *times;
	int phase = 0;

	memset(a, 0, sizeof *a);
	if (o == NULL)
		return -1;
	while (phase < PHASES && strcmp(phase_names[phase], r->tag) != 0)
		phase++;
	if (phase == PHASES || strlen(id) != sizeof a->id - 1) {
		json_decref(o);
		return err_set(e, GT_FAIL, "corrupt", "the record %.40s is no attempt in a known phase", r->key);
	}
	memcpy(a->id, id, sizeof a->id);
	a->version = r->version;
	a->phase = (enum phase)phase;
	for (size_t i = 0; i < N(texts); i++)
		attempt_set(text_of(a, i), json_text(o, texts[i].key, NULL));
	for (size_t i = 0; i < N(numbers); i++)
		*number_of(a, i) = json_number(o, numbers[i].key, 0);
	a->pasted = json_flag(o, "pasted", false);
	times = json_object_get(o, "times");
	for (int p = 0; p < PHASES; p++)
		a->times[p] = json_number(times, phase_names[p], 0);
	json_decref(o);
	return 0;
}

/*
 * Keys hold names as JSON would give them back (bytes that are no UTF-8 replaced), so that an attempt read from the store finds the same
 * records as the one that was begun.
 */
static char *
key_of(const char *prefix, const char *a, const char *b)
{
	json_t *x = json_bytes(a, strnlen(a, NAME_MAX_BYTES)), *y = json_bytes(b, strnlen(b, NAME_MAX_BYTES));
	char *key = xasprintf("%s%s:%s", prefix, json_string_value(x), json_string_value(y));

	json_decref(x);
	json_decref(y);
	return key;
}

static char *
pane_key(const char *socket, int64_t server_pid, int64_t server_start, const char *pane_id)
{
	char *prefix = xasprintf("pane:%lld.%lld:", (long long)server_pid, (long long)server_start);
	char *key = key_of(prefix, pane_id, socket);

	free(prefix);
	return key;
}

static char *
attempt_key(const char *id)
{
	return xasprintf("attempt:%s", id);
}

static char *
pane_value(const struct attempt *a)
{
	return xasprintf("{\"attempt\":\"%s\"}", a->id);
}

static int
commit(struct store *s, const struct change *c, size_t n, const struct attempt *a, const char *kind, const char *words, struct err *e)
{
	struct event ev = { .kind = kind, .subject = a->id, .session = a->session, .text = words };

	return event_commit(s, c, n, &ev, e) == COMMIT_DONE ? 0 : -1;
}

/* --- begin --- */

/* 1 with err "locked" when the pane's newest attempt is still open, 0 when it is not, -1. */
static int
pane_taken(struct store *s, const struct record *pane, struct err *e)
{
	struct attempt other;
	json_t *v;
	int found;

	if (strcmp(pane->tag, "open") != 0)
		return 0;
	v = json_parse(pane->value, strlen(pane->value), pane->key, e);
	if (v == NULL)
		return -1;
	found = attempt_load(s, json_text(v, "attempt", ""), &other, e);
	json_decref(v);
	if (found <= 0)
		return found;
	if (!phase_final(other.phase)) {
		err_set(e, GT_AGAIN, "locked", "the recovery %s of this pane is not finished (%s)", other.id, phase_name(other.phase));
		err_hint(e, "Another gt-recover may be at work on it: run the command again in a moment");
	} else {
		found = 0;
	}
	attempt_release(&other);
	return found;
}

/* The session's list of crashes with one more: the last ones only. New string. */
static char *
add_crash(const struct record *old, int64_t now)
{
	json_t *v = old->value != NULL ? json_parse(old->value, strlen(old->value), old->key, NULL) : NULL;
	json_t *times = json_array(), *before = json_object_get(v, "times"), *o = json_object();
	size_t n = json_array_size(before);
	struct buf out = BUF_INIT;

	for (size_t i = n >= CRASHES_KEPT ? n - (CRASHES_KEPT - 1) : 0; i < n; i++)
		json_array_append(times, json_array_get(before, i));
	json_array_append_new(times, json_integer(now));
	json_object_set_new(o, "times", times);
	json_print(&out, o, false);
	json_decref(o);
	json_decref(v);
	return buf_detach(&out);
}

static int
begin_commit(struct store *s, struct attempt *a, const char *pane_name, int64_t pane_version, const char *crashes_name,
    const struct record *crashes, struct err *e)
{
	int64_t now = store_now(s);
	char *key = attempt_key(a->id), *value = to_json(a, PHASE_DETECTED, now);
	char *pane_json = pane_value(a), *list = add_crash(crashes, now);
	struct change c[] = {
		{ CHANGE_PUT, key, STORE_ABSENT, phase_names[PHASE_DETECTED], value },
		{ CHANGE_PUT, pane_name, pane_version, "open", pane_json },
		{ CHANGE_PUT, crashes_name, crashes->version, "crashes", list },
	};
	struct record stored = { 0 };
	int ret = commit(s, c, N(c), a, "attempt.detected", a->reason, e);

	if (ret == 0) {
		a->times[PHASE_DETECTED] = now;
		ret = store_get(s, key, &stored, e) == 1 ? 0 : -1;
		a->version = stored.version;
		record_release(&stored);
	} else if (strcmp(e->name, "conflict") == 0) {
		err_set(e, GT_AGAIN, "locked", "another gt-recover began to recover this pane at the same moment");
	}
	free(key);
	free(value);
	free(pane_json);
	free(list);
	return ret;
}

int
attempt_begin(struct store *s, struct attempt *a, struct err *e)
{
	struct record pane = { 0 }, crashes = { 0 };
	struct err own = ERR_INIT;
	char *pane_name, *crashes_name;
	int ret = -1, found;

	if (e == NULL)
		e = &own;
	if (a->session == NULL || a->socket == NULL || a->pane_id == NULL || a->version != 0)
		die("an attempt was begun twice, or without session, socket and pane");
	pane_name = pane_key(a->socket, a->server_pid, a->server_start, a->pane_id);
	crashes_name = key_of("crashes:", a->socket, a->session);
	a->phase = PHASE_DETECTED;
	found = store_get(s, pane_name, &pane, e);
	if (found < 0 || (found > 0 && pane_taken(s, &pane, e) != 0))
		goto out;
	if (store_get(s, crashes_name, &crashes, e) < 0)
		goto out;
	ret = begin_commit(s, a, pane_name, pane.version, crashes_name, &crashes, e);
out:
	record_release(&pane);
	record_release(&crashes);
	free(pane_name);
	free(crashes_name);
	return ret;
}

/* --- advance --- */

static bool
legal(enum phase from, enum phase to)
{
	if (phase_final(from))
		return false;
	if (from == to || to == PHASE_FAILED)
		return true;
	return from == PHASE_DETECTED ? to == PHASE_CAPTURED : to > from;
}

int
attempt_advance(struct store *s, struct attempt *a, enum phase phase, struct err *e)
{
	int64_t now = store_now(s);
	char *key, *value, *pane_name, *pane_json, *kind;
	struct change c[2];
	int ret;

	if (a->version == 0 || !legal(a->phase, phase))
		return err_set(e, GT_FAIL, "phase", "the recovery %s cannot go from %s to %s", a->id, phase_names[a->phase],
		    phase_names[phase]);
	key = attempt_key(a->id);
	value = to_json(a, phase, now);
	pane_name = pane_key(a->socket, a->server_pid, a->server_start, a->pane_id);
	pane_json = pane_value(a);
	kind = xasprintf("attempt.%s", phase == a->phase ? "noted" : phase_names[phase]);
	c[0] = (struct change){ CHANGE_PUT, key, a->version, phase_names[phase], value };
	c[1] = (struct change){ CHANGE_PUT, pane_name, STORE_ANY, "closed", pane_json };
	ret = commit(s, c, phase_final(phase) ? 2 : 1, a, kind, phase == PHASE_FAILED ? a->why : NULL, e);
	if (ret == 0) {
		a->version++;
		a->phase = phase;
		if (a->times[phase] == 0)
			a->times[phase] = now;
	}
	free(key);
	free(value);
	free(pane_name);
	free(pane_json);
	free(kind);
	return ret;
}

int
attempt_fail(struct store *s, struct attempt *a, const char *why, struct err *e)
{
	attempt_set(&a->why, why);
	return attempt_advance(s, a, PHASE_FAILED, e);
}

/* --- reading --- */

int
attempt_load(struct store *s, const char *id, struct attempt *out, struct err *e)
{
	char *key = attempt_key(id);
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(out, 0, sizeof *out);
	if (found > 0 && from_record(&r, out, e) != 0)
		found = -1;
	record_release(&r);
	free(key);
	return found;
}

int
attempt_latest(struct store *s, const char *socket, int64_t server_pid, int64_t server_start, const char *pane_id,
    struct attempt *out, struct err *e)
{
	char *key = pane_key(socket, server_pid, server_start, pane_id);
	struct record r;
	json_t *v;
	int found = store_get(s, key, &r, e);

	memset(out, 0, sizeof *out);
	if (found > 0) {
		v = json_parse(r.value, strlen(r.value), key, e);
		found = v != NULL ? attempt_load(s, json_text(v, "attempt", ""), out, e) : -1;
		json_decref(v);
	}
	record_release(&r);
	free(key);
	return found;
}

static int
open_in_phase(struct store *s, const char *tag, struct attempts *out, struct err *e)
{
	char *after = NULL;
	size_t n;
	int ret;

	do {
		struct records r = { 0 };

		ret = store_scan(s, "attempt:", tag, after, PAGE, &r, e);
		n = r.n;
		for (size_t i = 0; i < n && ret == 0; i++) {
			out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
			ret = from_record(&r.v[i], &out->v[out->n], e);
			out->n += ret == 0;
		}
		attempt_set(&after, n > 0 ? r.v[n - 1].key : NULL);
		records_release(&r);
	} while (ret == 0 && n == PAGE);
	free(after);
	return ret;
}

int
attempts_open(struct store *s, struct attempts *out, struct err *e)
{
	for (int p = 0; p < PHASES; p++)
		if (!phase_final((enum phase)p) && open_in_phase(s, phase_names[p], out, e) != 0)
			return -1;
	return 0;
}

int
attempt_count(struct store *s, const char *socket, const char *session, int64_t since, size_t *n, struct err *e)
{
	char *key = key_of("crashes:", socket, session);
	json_t *v = NULL, *times;
	struct record r;
	int ret = store_get(s, key, &r, e);

	*n = 0;
	if (ret > 0) {
		v = json_parse(r.value, strlen(r.value), key, e);
		ret = v != NULL ? 0 : -1;
	}
	times = json_object_get(v, "times");
	for (size_t i = 0; i < json_array_size(times); i++)
		*n += json_integer_value(json_array_get(times, i)) >= since;
	json_decref(v);
	record_release(&r);
	free(key);
	return ret;
}
