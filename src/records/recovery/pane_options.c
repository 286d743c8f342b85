#include <stdlib.h>
#include <string.h>

#include "records/recovery/recovery.h"
#include "records/records.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"


static char *
armed_key(const struct armed *a)
{
	return record_key_on_server("arm", a->server_pid, a->server_start, a->session_id, a->socket);
}

static char *
copy(const char *s)
{
	return s != NULL ? xstrdup(s) : NULL;
}

void
armed_add_pane(struct armed *a, const char *id, const char *remain_on_exit)
{
	a->panes = vec_room(a->panes, a->n_panes, &a->cap_panes, sizeof *a->panes);
	a->panes[a->n_panes++] = (struct armed_pane){ xstrdup(id), xstrdup(remain_on_exit) };
}

void
armed_add_window(struct armed *a, const char *id, const char *script, int index)
{
	a->windows = vec_room(a->windows, a->n_windows, &a->cap_windows, sizeof *a->windows);
	a->windows[a->n_windows++] = (struct armed_window){ xstrdup(id), xstrdup(script), index };
}

struct armed_pane *
armed_pane(const struct armed *a, const char *id)
{
	for (size_t i = 0; i < a->n_panes; i++)
		if (strcmp(a->panes[i].id, id) == 0)
			return &a->panes[i];
	return NULL;
}

struct armed_window *
armed_window(const struct armed *a, const char *id)
{
	for (size_t i = 0; i < a->n_windows; i++)
		if (strcmp(a->windows[i].id, id) == 0)
			return &a->windows[i];
	return NULL;
}

static char *
armed_value(const struct armed *a)
{
	json_t *o = json_object(), *panes = json_array(), *windows = json_array();
	struct buf out = BUF_INIT;

	json_put(o, "socket", a->socket);
	json_put_int(o, "server_pid", a->server_pid);
	json_put_int(o, "server_start", a->server_start);
	json_put(o, "session_id", a->session_id);
	json_put(o, "session", a->session);
	json_put(o, "history_before", a->history_before);
	json_put(o, "history_set", a->history_set);
	json_put_int(o, "at", a->at);
	for (size_t i = 0; i < a->n_panes; i++) {
		json_t *p = json_object();

		json_put(p, "id", a->panes[i].id);
		json_put(p, "remain_on_exit", a->panes[i].remain_on_exit);
		json_array_append_new(panes, p);
	}
	for (size_t i = 0; i < a->n_windows; i++) {
		json_t *w = json_object();

		json_put(w, "id", a->windows[i].id);
		json_put(w, "script", a->windows[i].script);
		json_put_int(w, "index", a->windows[i].index);
		json_array_append_new(windows, w);
	}
	json_object_set_new(o, "panes", panes);
	json_object_set_new(o, "windows", windows);
	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

static int
armed_from_record(const struct record *r, struct armed *a, struct err *e)
{
	json_t *o = json_parse(r->value, strlen(r->value), r->key, e), *list;

	memset(a, 0, sizeof *a);
	if (o == NULL)
		return -1;
	a->version = r->version;
	a->socket = xstrdup(json_text(o, "socket", ""));
	a->server_pid = json_number(o, "server_pid", 0);
	a->server_start = json_number(o, "server_start", 0);
	a->session_id = xstrdup(json_text(o, "session_id", ""));
	a->session = xstrdup(json_text(o, "session", ""));
	a->history_before = copy(json_text(o, "history_before", NULL));
	a->history_set = copy(json_text(o, "history_set", NULL));
	a->at = json_number(o, "at", 0);
	list = json_object_get(o, "panes");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *x = json_array_get(list, i);

		armed_add_pane(a, json_text(x, "id", ""), json_text(x, "remain_on_exit", ""));
	}
	list = json_object_get(o, "windows");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *x = json_array_get(list, i);

		armed_add_window(
		    a, json_text(x, "id", ""), json_text(x, "script", ""), (int)json_number(x, "index", 0));
	}
	json_decref(o);
	return 0;
}

static int
add_armed(const struct record *r, void *arg, struct err *e)
{
	struct armed_list *out = arg;

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	if (armed_from_record(r, &out->v[out->n], e) != 0)
		return -1;
	out->n++;
	return 0;
}

int
armed_list_read(struct store *s, struct armed_list *out, struct err *e)
{
	return store_each(s, "arm:", NULL, add_armed, out, e);
}

int
armed_load(struct store *s, const char *socket, int64_t server_pid, int64_t server_start,
    const char *session_id, struct armed *out, struct err *e)
{
	struct armed asked = { .socket = xstrdup(socket),
		.server_pid = server_pid,
		.server_start = server_start,
		.session_id = xstrdup(session_id) };
	char *key = armed_key(&asked);
	struct record r;
	int found = store_get(s, key, &r, e);

	if (found > 0) {
		armed_release(&asked);
		if (armed_from_record(&r, &asked, e) != 0)
			found = -1;
	}
	*out = asked;
	store_record_release(&r);
	free(key);
	return found;
}

static int
commit_armed(struct store *s, const struct change *c, const struct armed *a, const char *kind,
    const char *words, struct err *e)
{
	struct event ev = { .kind = kind, .subject = a->session_id, .session = a->session, .text = words };

	if (event_commit(s, c, 1, &ev, e) == COMMIT_DONE)
		return 0;
	if (e != NULL && strcmp(e->name, "conflict") == 0)
		e->code = GT_AGAIN;
	return -1;
}

int
armed_put(struct store *s, struct armed *a, struct err *e)
{
	char *key = armed_key(a), *value = armed_value(a);
	struct change c = { CHANGE_PUT, key, a->version, "armed", value };
	struct record r;
	int ret = commit_armed(s, &c, a, "session.armed", NULL, e);

	if (ret == 0 && (ret = store_get(s, key, &r, e) == 1 ? 0 : -1) == 0) {
		a->version = r.version;
		store_record_release(&r);
	}
	free(key);
	free(value);
	return ret;
}

int
armed_delete(struct store *s, const struct armed *a, const char *why, struct err *e)
{
	char *key = armed_key(a);
	struct change c = { CHANGE_DELETE, key, a->version, NULL, NULL };
	int ret = commit_armed(s, &c, a, "session.disarmed", why, e);

	free(key);
	return ret;
}

void
armed_release(struct armed *a)
{
	for (size_t i = 0; i < a->n_panes; i++) {
		free(a->panes[i].id);
		free(a->panes[i].remain_on_exit);
	}
	for (size_t i = 0; i < a->n_windows; i++) {
		free(a->windows[i].id);
		free(a->windows[i].script);
	}
	free(a->panes);
	free(a->windows);
	free(a->socket);
	free(a->session_id);
	free(a->session);
	free(a->history_before);
	free(a->history_set);
	memset(a, 0, sizeof *a);
}

void
armed_list_release(struct armed_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		armed_release(&l->v[i]);
	free(l->v);
	memset(l, 0, sizeof *l);
}
