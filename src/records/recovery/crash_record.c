#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/recovery/recovery.h"
#include "base/buf.h"
#include "base/err.h"
#include "records/records_private.h"

static char *
crash_key(const void *record)
{
	const struct crash_record *x = record;
	char *id = xasprintf("%s@%lld", x->pane_id, (long long)x->pane_pid);
	char *key = record_key_on_server("sighting", x->server_pid, x->server_start, id, x->socket);

	free(id);
	return key;
}

static const char *const tags[] = { "seen", "owed", "mailed", "given-up", "back" };
static const struct record_field fields[] = {
	F_TEXT(crash_record, "session", session, FIELD_REQUIRED),
	F_TEXT(crash_record, "socket", socket, FIELD_REQUIRED),
	F_TEXT(crash_record, "pane_id", pane_id, FIELD_REQUIRED),
	F_TEXT(crash_record, "class", class, 0),
	F_TEXT(crash_record, "reason", reason, 0),
	F_TEXT(crash_record, "error", error, 0),
	F_TEXT(crash_record, "message", message, 0),
	F_TEXT(crash_record, "hint", hint, 0),
	F_TEXT(crash_record, "recovery_id", recovery_id, 0),
	F_INT(crash_record, "server_pid", server_pid, 0, 0),
	F_INT(crash_record, "server_start", server_start, 0, 0),
	F_INT(crash_record, "pane_pid", pane_pid, 0, 0),
	F_INT(crash_record, "crashed_at", crashed_at, 0, 0),
	F_INT(crash_record, "failed_at", failed_at, 0, 0),
	F_INT(crash_record, "tries", tries, 0, 0),
	F_FLAG(crash_record, "unsure", unsure),
};
const struct record_type crash_type = { .prefix = "sighting:", RECORD_SELF(crash_record), .key = crash_key,
	RECORD_STATE(crash_record, state, tags), .refusal = "lacks its session, socket or pane",
	.fields = FIELDS(fields) };

/* All in one commit; they then have the versions that the next one has to expect. */
static int
put_crashes(struct store *s, struct crash_record *v, size_t n, const struct event *ev, struct err *e)
{
	struct txn t = { .s = s };
	int ret;

	for (size_t i = 0; i < n; i++)
		txn_put(&t, &crash_type, &v[i]);
	if (ev != NULL) {
		txn_event(&t, ev->kind, ev->subject, ev->session, ev->text);
		txn_event_on(&t, ev->socket);
	}
	ret = txn_commit(&t, e) == COMMIT_DONE ? 0 : -1;
	for (size_t i = 0; i < n && ret == 0; i++)
		ret = record_read_version(s, &crash_type, &v[i], e) < 0 ? -1 : 0;
	return ret;
}

int
crash_record_put(struct store *s, struct crash_record *x, const struct event *ev, struct err *e)
{
	return put_crashes(s, x, 1, ev, e);
}

/* One round: 1 when it is done, 0 when another process wrote the record between the read and the commit. */
static int
note_once(struct store *s, const char *key, struct crash_record *x, const struct event *ev, bool *fresh,
    struct err *e)
{
	struct crash_record old;
	struct record r;
	int found = store_get(s, key, &r, e), ret = found < 0 ? -1 : 1;

	if (found > 0 && record_decode(&crash_type, &r, &old, NULL) == 0) {
		crash_record_release(x);
		*x = old;
	} else if (ret > 0) {
		x->version = r.version;
		x->state = CRASH_SEEN;
		*fresh = crash_record_put(s, x, ev, e) == 0;
		ret = *fresh ? 1 : crash_record_conflict(e) ? 0 : -1;
	}
	store_record_release(&r);
	return ret;
}

int
crash_record_note(struct store *s, struct crash_record *x, bool *fresh, struct err *e)
{
	char *key = crash_key(x), *words = xasprintf("%s, %s", x->class, x->reason);
	struct event ev = {
		.kind = "crash.seen", .subject = x->pane_id, .session = x->session, .text = words,
		.socket = x->socket
	};
	struct err own = ERR_INIT;
	int ret = 0;

	if (e == NULL)
		e = &own;
	*fresh = false;
	for (int i = 0; i < CRASH_ROUNDS && ret == 0; i++)
		ret = note_once(s, key, x, &ev, fresh, e);
	if (ret > 0)
		err_clear(e);
	free(key);
	free(words);
	return ret > 0 ? 0 : -1;
}

bool
crash_record_conflict(const struct err *e)
{
	return e != NULL && e->code == GT_AGAIN && strcmp(e->name, "conflict") == 0;
}

int
crash_record_list_put(struct store *s, struct crash_record_list *list, const struct event *ev, struct err *e)
{
	return put_crashes(s, list->v, list->n, ev, e);
}

int
crash_record_list_owed(struct store *s, struct crash_record_list *out, struct err *e)
{
	return record_list_read(s, &crash_type, tags[CRASH_OWED], out, e);
}

void
crash_record_release(struct crash_record *x)
{
	record_free(&crash_type, x);
}

void
crash_record_list_release(struct crash_record_list *list)
{
	record_list_free(&crash_type, list);
}

#define KEPT 1000
#define CRASHES_PREFIX "crashes:"

/* The record and its list; *list is NULL without one. 1 found, 0 absent, -1. */
static int
read_times(struct store *s, const char *key, struct record *r, json_t **list, struct err *e)
{
	int found = store_get(s, key, r, e);
	json_t *v;

	*list = NULL;
	if (found <= 0)
		return found;
	v = json_parse(r->value, strlen(r->value), key, e);
	if (v == NULL) {
		store_record_release(r);
		return -1;
	}
	*list = json_incref(json_object_get(v, "times"));
	json_decref(v);
	return 1;
}

int
crash_times(struct store *s, const char *socket, const char *session, int64_t since, struct crash_times *out,
    struct err *e)
{
	char *key = record_key(CRASHES_PREFIX, socket, session);
	struct record r;
	json_t *times;
	int found = read_times(s, key, &r, &times, e);

	*out = (struct crash_times){ .n = 0 };
	for (size_t i = 0; i < json_array_size(times); i++) {
		int64_t at = json_integer_value(json_array_get(times, i));

		if (at < since)
			continue;
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = at;
	}
	json_decref(times);
	store_record_release(&r);
	free(key);
	return found < 0 ? -1 : 0;
}

int
crash_count(struct store *s, const char *socket, const char *session, int64_t since, size_t *n, struct err *e)
{
	struct crash_times times;
	int ret = crash_times(s, socket, session, since, &times, e);

	*n = times.n;
	free(times.v);
	return ret;
}

int
crash_add(struct txn *t, const char *socket, const char *session, int64_t now, struct err *e)
{
	char *key = record_key(CRASHES_PREFIX, socket, session);
	json_t *before, *times;
	struct record r;
	size_t n;

	if (read_times(t->s, key, &r, &before, e) < 0) {
		free(key);
		return -1;
	}
	times = json_array();
	n = json_array_size(before);
	for (size_t i = n >= KEPT ? n - (KEPT - 1) : 0; i < n; i++)
		json_array_append(times, json_array_get(before, i));
	json_array_append_new(times, json_integer(now));
	txn_write(t, key, STORE_ANY, "crashes", record_value(json_pack("{so}", "times", times)));
	json_decref(before);
	store_record_release(&r);
	return 0;
}

int
crash_forget(struct store *s, const char *socket, const char *session, size_t *n, struct err *e)
{
	char *key = record_key(CRASHES_PREFIX, socket, session), words[64];
	struct txn t = { .s = s };
	struct record r;
	json_t *times;
	int found = read_times(s, key, &r, &times, e), ret = found < 0 ? -1 : 0;

	*n = json_array_size(times);
	if (*n > 0) {
		snprintf(words, sizeof words, "%zu attempt%s deleted", *n, *n == 1 ? "" : "s");
		txn_delete(&t, xstrdup(key), r.version);
		txn_event(&t, "session.released", session, session, words);
		txn_event_on(&t, socket);
		ret = txn_commit(&t, e) == COMMIT_DONE ? 0 : -1;
	}
	json_decref(times);
	store_record_release(&r);
	free(key);
	return ret;
}

struct places_of {
	const char *session;
	struct crash_sockets *out;
};

/* crashes:<socket>:<session>; only the socket may hold a colon, tmux takes it out of names (T1). */
static int
add_place(const struct record *r, void *arg, struct err *e)
{
	const struct places_of *of = arg;
	const char *colon = strrchr(r->key, ':');
	size_t n = (size_t)(colon - r->key) < strlen(CRASHES_PREFIX)
	    ? 0
	    : (size_t)(colon - r->key) - strlen(CRASHES_PREFIX);
	char *socket = xstrndup(r->key + strlen(CRASHES_PREFIX), n),
	     *asked = record_key(CRASHES_PREFIX, socket, of->session);

	(void)e;
	if (strcmp(asked, r->key) == 0) {
		of->out->sockets =
		    vec_room(of->out->sockets, of->out->n, &of->out->cap, sizeof *of->out->sockets);
		of->out->sockets[of->out->n++] = socket;
	} else {
		free(socket);
	}
	free(asked);
	return 0;
}

int
crash_sockets(struct store *s, const char *session, struct crash_sockets *out, struct err *e)
{
	struct places_of of = { session, out };

	return store_each(s, CRASHES_PREFIX, NULL, add_place, &of, e);
}

void
crash_sockets_release(struct crash_sockets *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->sockets[i]);
	free(p->sockets);
	*p = (struct crash_sockets){ .n = 0 };
}

struct often_of {
	struct store *s;
	int64_t since;
	size_t least;
	struct crash_frequent *out;
};

static int
add_often(const struct record *r, void *arg, struct err *e)
{
	const struct often_of *of = arg;
	const char *from = r->key + strlen(CRASHES_PREFIX), *colon = strrchr(from, ':');
	struct crash_session x = { .n = 0 };
	int ret;

	if (colon == NULL)
		return 0;
	x.socket = xstrndup(from, (size_t)(colon - from));
	x.session = xstrdup(colon + 1);
	ret = crash_count(of->s, x.socket, x.session, of->since, &x.n, e);
	if (ret == 0 && x.n >= of->least) {
		of->out->v = vec_room(of->out->v, of->out->n, &of->out->cap, sizeof *of->out->v);
		of->out->v[of->out->n++] = x;
	} else {
		free(x.socket);
		free(x.session);
	}
	return ret;
}

int
crash_frequent(struct store *s, int64_t since, size_t least, struct crash_frequent *out, struct err *e)
{
	struct often_of of = { s, since, least, out };

	return store_each(s, CRASHES_PREFIX, NULL, add_often, &of, e);
}

void
crash_frequent_release(struct crash_frequent *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].session);
		free(o->v[i].socket);
	}
	free(o->v);
	*o = (struct crash_frequent){ .n = 0 };
}
