#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/crashes.h"
#include "ledger/event.h"
#include "ledger/key.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#define KEPT 1000
#define PREFIX "crashes:"

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
		record_release(r);
		return -1;
	}
	*list = json_incref(json_object_get(v, "times"));
	json_decref(v);
	return 1;
}

int
crashes_count(struct store *s, const char *socket, const char *session, int64_t since, size_t *n, struct err *e)
{
	char *key = key_make(PREFIX, socket, session);
	struct record r;
	json_t *times;
	int found = read_times(s, key, &r, &times, e);

	*n = 0;
	for (size_t i = 0; i < json_array_size(times); i++)
		*n += json_integer_value(json_array_get(times, i)) >= since;
	json_decref(times);
	record_release(&r);
	free(key);
	return found < 0 ? -1 : 0;
}

int
crashes_add(struct store *s, const char *socket, const char *session, int64_t now, struct crashes_added *a, struct change *c,
    struct err *e)
{
	json_t *before, *times, *o;
	struct buf out = BUF_INIT;
	struct record r;
	size_t n;

	*a = (struct crashes_added){ .key = key_make(PREFIX, socket, session) };
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
	record_release(&r);
	return 0;
}

void
crashes_added_release(struct crashes_added *a)
{
	free(a->key);
	free(a->value);
	*a = (struct crashes_added){ NULL, NULL };
}

int
crashes_forget(struct store *s, const char *socket, const char *session, size_t *n, struct err *e)
{
	char *key = key_make(PREFIX, socket, session), words[64];
	struct event ev = { .kind = "session.released", .subject = session, .session = session, .text = words };
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
	record_release(&r);
	free(key);
	return ret;
}

struct places_of {
	const char *session;
	struct crashes_places *out;
};

/* crashes:<socket>:<session>; only the socket may hold a colon, tmux takes it out of names (T1). */
static int
add_place(const struct record *r, void *arg, struct err *e)
{
	const struct places_of *of = arg;
	const char *colon = strrchr(r->key, ':');
	size_t n = (size_t)(colon - r->key) < strlen(PREFIX) ? 0 : (size_t)(colon - r->key) - strlen(PREFIX);
	char *socket = xstrndup(r->key + strlen(PREFIX), n), *asked = key_make(PREFIX, socket, of->session);

	(void)e;
	if (strcmp(asked, r->key) == 0) {
		of->out->sockets = vec_room(of->out->sockets, of->out->n, &of->out->cap, sizeof *of->out->sockets);
		of->out->sockets[of->out->n++] = socket;
	} else {
		free(socket);
	}
	free(asked);
	return 0;
}

int
crashes_places(struct store *s, const char *session, struct crashes_places *out, struct err *e)
{
	struct places_of of = { session, out };

	return store_each(s, PREFIX, NULL, add_place, &of, e);
}

void
crashes_places_release(struct crashes_places *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->sockets[i]);
	free(p->sockets);
	*p = (struct crashes_places){ .n = 0 };
}

struct often_of {
	struct store *s;
	int64_t since;
	size_t least;
	struct crashes_often *out;
};

static int
add_often(const struct record *r, void *arg, struct err *e)
{
	const struct often_of *of = arg;
	const char *from = r->key + strlen(PREFIX), *colon = strrchr(from, ':');
	struct crashes_session x = { .n = 0 };
	int ret;

	if (colon == NULL)
		return 0;
	x.socket = xstrndup(from, (size_t)(colon - from));
	x.session = xstrdup(colon + 1);
	ret = crashes_count(of->s, x.socket, x.session, of->since, &x.n, e);
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
crashes_often(struct store *s, int64_t since, size_t least, struct crashes_often *out, struct err *e)
{
	struct often_of of = { s, since, least, out };

	return store_each(s, PREFIX, NULL, add_often, &of, e);
}

void
crashes_often_release(struct crashes_often *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].session);
		free(o->v[i].socket);
	}
	free(o->v);
	*o = (struct crashes_often){ .n = 0 };
}
