#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/recovery/recovery.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "records/records.h"
#include "store/store.h"

#define SIGHTING_PREFIX "sighting:"

static const char *const tags[] = { "seen", "owed", "mailed", "given-up", "back" };

static const struct { const char *key; size_t at;
} texts[] = {
	{ "session", offsetof(struct crash_record, session) },
	{ "socket", offsetof(struct crash_record, socket) },
	{ "pane_id", offsetof(struct crash_record, pane_id) },
	{ "class", offsetof(struct crash_record, class) },
	{ "reason", offsetof(struct crash_record, reason) },
	{ "error", offsetof(struct crash_record, error) },
	{ "message", offsetof(struct crash_record, message) },
	{ "hint", offsetof(struct crash_record, hint) },
	{ "recovery_id", offsetof(struct crash_record, recovery_id) },
}, numbers[] = {
	{ "server_pid", offsetof(struct crash_record, server_pid) },
	{ "server_start", offsetof(struct crash_record, server_start) },
	{ "pane_pid", offsetof(struct crash_record, pane_pid) },
	{ "crashed_at", offsetof(struct crash_record, crashed_at) },
	{ "failed_at", offsetof(struct crash_record, failed_at) },
	{ "tries", offsetof(struct crash_record, tries) },
};

#define N(a) (sizeof (a) / sizeof (a)[0])

static char **
crash_text_field(const struct crash_record *x, size_t i)
{
	return (char **)((char *)(uintptr_t)x + texts[i].at);
}

static int64_t *
crash_number_field(const struct crash_record *x, size_t i)
{
	return (int64_t *)((char *)(uintptr_t)x + numbers[i].at);
}

static char *
crash_record_key(const struct crash_record *x)
{
	char *id = xasprintf("%s@%lld", x->pane_id, (long long)x->pane_pid);
	char *key = record_key_on_server("sighting", x->server_pid, x->server_start, id, x->socket);

	free(id);
	return key;
}

static char *
crash_value(const struct crash_record *x)
{
	json_t *o = json_object();
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < N(texts); i++)
		json_put(o, texts[i].key, *crash_text_field(x, i));
	for (size_t i = 0; i < N(numbers); i++)
		json_put_int(o, numbers[i].key, *crash_number_field(x, i));
	json_put_flag(o, "unsure", x->unsure);
	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

static int
crash_from_record(const struct record *r, struct crash_record *x, struct err *e)
{
	json_t *v = json_parse(r->value, strlen(r->value), r->key, e);

	if (v == NULL)
		return -1;
	memset(x, 0, sizeof *x);
	x->version = r->version;
	for (size_t i = 0; i < N(tags); i++)
		if (strcmp(tags[i], r->tag) == 0)
			x->state = (enum crash_record_state)i;
	for (size_t i = 0; i < N(texts); i++) {
		const char *text = json_text(v, texts[i].key, NULL);

		*crash_text_field(x, i) = text != NULL ? xstrdup(text) : NULL;
	}
	for (size_t i = 0; i < N(numbers); i++)
		*crash_number_field(x, i) = json_number(v, numbers[i].key, 0);
	x->unsure = json_flag(v, "unsure", false);
	json_decref(v);
	if (x->session != NULL && x->socket != NULL && x->pane_id != NULL)
		return 0;
	crash_record_release(x);
	return err_set(e, GT_FAIL, "corrupt", "the record %.200s lacks its session, socket or pane", r->key);
}

static int
commit_crash_records(struct store *s, const struct change *c, size_t n, const struct event *ev, struct err *e)
{
	enum commit answer = ev != NULL ? event_commit(s, c, n, ev, e) : store_commit(s, c, n, e);

	if (answer == COMMIT_CONFLICT && e != NULL)
		e->code = GT_AGAIN;
	return answer == COMMIT_DONE ? 0 : -1;
}

/* After a commit: the versions that the next one has to expect. */
static int
read_version(struct store *s, const char *key, struct crash_record *x, struct err *e)
{
	struct record r;
	int found = store_get(s, key, &r, e);

	if (found > 0)
		x->version = r.version;
	store_record_release(&r);
	return found < 0 ? -1 : 0;
}

int
crash_record_put(struct store *s, struct crash_record *x, const struct event *ev, struct err *e)
{
	char *key = crash_record_key(x), *value = crash_value(x);
	struct change c = { CHANGE_PUT, key, x->version, tags[x->state], value };
	int ret = commit_crash_records(s, &c, 1, ev, e);

	if (ret == 0)
		ret = read_version(s, key, x, e);
	free(key);
	free(value);
	return ret;
}

int
crash_record_note(struct store *s, struct crash_record *x, bool *fresh, struct err *e)
{
	char *key = crash_record_key(x), *words = xasprintf("%s, %s", x->class, x->reason);
	struct event ev = {
		.kind = "crash.seen", .subject = x->pane_id, .session = x->session, .text = words
	};
	struct crash_record old;
	struct record r;
	int found = store_get(s, key, &r, e), ret = found < 0 ? -1 : 0;

	*fresh = false;
	if (found > 0 && crash_from_record(&r, &old, NULL) == 0) {
		crash_record_release(x);
		*x = old;
	} else if (ret == 0) {
		x->version = r.version;
		x->state = CRASH_SEEN;
		ret = crash_record_put(s, x, &ev, e);
		*fresh = ret == 0;
	}
	store_record_release(&r);
	free(key);
	free(words);
	return ret;
}

int
crash_record_list_put(struct store *s, struct crash_record_list *list, const struct event *ev, struct err *e)
{
	struct change *c = xcalloc(list->n, sizeof *c);
	char **keys = xcalloc(list->n, sizeof *keys), **values = xcalloc(list->n, sizeof *values);
	int ret;

	for (size_t i = 0; i < list->n; i++) {
		keys[i] = crash_record_key(&list->v[i]);
		values[i] = crash_value(&list->v[i]);
		c[i] = (struct change){ CHANGE_PUT, keys[i], list->v[i].version, tags[list->v[i].state],
			values[i] };
	}
	ret = commit_crash_records(s, c, list->n, ev, e);
	for (size_t i = 0; i < list->n; i++) {
		if (ret == 0)
			ret = read_version(s, keys[i], &list->v[i], e);
		free(keys[i]);
		free(values[i]);
	}
	free(keys);
	free(values);
	free(c);
	return ret;
}

static int
add_crash_record(const struct record *r, void *arg, struct err *e)
{
	struct crash_record_list *out = arg;

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	if (crash_from_record(r, &out->v[out->n], e) != 0)
		return -1;
	out->n++;
	return 0;
}

int
crash_record_list_owed(struct store *s, struct crash_record_list *out, struct err *e)
{
	return store_each(s, SIGHTING_PREFIX, tags[CRASH_OWED], add_crash_record, out, e);
}

void
crash_record_release(struct crash_record *x)
{
	for (size_t i = 0; i < N(texts); i++)
		free(*crash_text_field(x, i));
	memset(x, 0, sizeof *x);
}

void
crash_record_list_release(struct crash_record_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		crash_record_release(&list->v[i]);
	free(list->v);
	*list = (struct crash_record_list){ .n = 0 };
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
crash_count(struct store *s, const char *socket, const char *session, int64_t since, size_t *n, struct err *e)
{
	char *key = record_key(CRASHES_PREFIX, socket, session);
	struct record r;
	json_t *times;
	int found = read_times(s, key, &r, &times, e);

	*n = 0;
	for (size_t i = 0; i < json_array_size(times); i++)
		*n += json_integer_value(json_array_get(times, i)) >= since;
	json_decref(times);
	store_record_release(&r);
	free(key);
	return found < 0 ? -1 : 0;
}

int
crash_add(struct store *s, const char *socket, const char *session, int64_t now, struct crash_added *a,
    struct change *c, struct err *e)
{
	json_t *before, *times, *o;
	struct buf out = BUF_INIT;
	struct record r;
	size_t n;

	*a = (struct crash_added){ .key = record_key(CRASHES_PREFIX, socket, session) };
	if (read_times(s, a->key, &r, &before, e) < 0)
		return -1;
	times = json_array();
	o = json_object();
	n = json_array_size(before);
	for (size_t i = n >= KEPT ? n - (KEPT - 1) : 0; i < n; i++)
		json_array_append(times, json_array_get(before, i));
	json_array_append_new(times, json_integer(now));
	json_object_set_new(o, "times", times);
	json_print(&out, o, false);
	a->value = buf_detach(&out);
	*c = (struct change){ CHANGE_PUT, a->key, STORE_ANY, "crashes", a->value };
	json_decref(o);
	json_decref(before);
	store_record_release(&r);
	return 0;
}

void
crash_added_release(struct crash_added *a)
{
	free(a->key);
	free(a->value);
	*a = (struct crash_added){ NULL, NULL };
}

int
crash_forget(struct store *s, const char *socket, const char *session, size_t *n, struct err *e)
{
	char *key = record_key(CRASHES_PREFIX, socket, session), words[64];
	struct event ev = {
		.kind = "session.released", .subject = session, .session = session, .text = words
	};
	struct record r;
	json_t *times;
	int found = read_times(s, key, &r, &times, e), ret = found < 0 ? -1 : 0;

	*n = json_array_size(times);
	if (*n > 0) {
		struct change c = { CHANGE_DELETE, key, r.version, NULL, NULL };

		snprintf(words, sizeof words, "%zu attempt%s forgotten", *n, *n == 1 ? "" : "s");
		ret = event_commit(s, &c, 1, &ev, e) == COMMIT_DONE ? 0 : -1;
		if (ret != 0 && e != NULL && strcmp(e->name, "conflict") == 0)
			e->code = GT_AGAIN;
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
