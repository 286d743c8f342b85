#include <stdlib.h>
#include <string.h>

#include "records/recovery/recovery.h"
#include "records/records_private.h"
#include "base/buf.h"
#include "base/err.h"
static char *
armed_key(const void *record)
{
	const struct armed *a = record;

	return record_key_on_server("arm", a->server_pid, a->server_start, a->session_id, a->socket);
}

static const char *const tags[] = { "armed" };
static const struct record_field pane_fields[] = {
	F_TEXT(armed_pane, "id", id, FIELD_FILLED),
	F_TEXT(armed_pane, "remain_on_exit", remain_on_exit, FIELD_FILLED),
};
static const struct record_field window_fields[] = {
	F_TEXT(armed_window, "id", id, FIELD_FILLED),
	F_TEXT(armed_window, "script", script, FIELD_FILLED),
	F_INT(armed_window, "index", index, 0, 0),
};
static const struct record_field fields[] = {
	F_TEXT(armed, "socket", socket, FIELD_FILLED),
	F_INT(armed, "server_pid", server_pid, 0, 0),
	F_INT(armed, "server_start", server_start, 0, 0),
	F_TEXT(armed, "session_id", session_id, FIELD_FILLED),
	F_TEXT(armed, "session", session, FIELD_FILLED),
	F_TEXT(armed, "history_before", history_before, 0),
	F_TEXT(armed, "history_set", history_set, 0),
	F_INT(armed, "at", at, 0, 0),
	F_LIST(armed, "panes", panes, n_panes, cap_panes, pane_fields),
	F_LIST(armed, "windows", windows, n_windows, cap_windows, window_fields),
};
const struct record_type armed_type = { .prefix = "arm:", RECORD_SELF(armed), .key = armed_key, .tags = tags,
	.n_tags = 1, .fields = FIELDS(fields) };

void
armed_add_pane(struct armed *a, const char *id, const char *remain_on_exit)
{
	a->panes = vec_room(a->panes, a->n_panes, &a->cap_panes, sizeof *a->panes);
	a->panes[a->n_panes++] = (struct armed_pane){ xstrdup(id), xstrdup(remain_on_exit) };
}

void
armed_add_window(struct armed *a, const char *id, const char *script, int64_t index)
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

int
armed_list_read(struct store *s, struct armed_list *out, struct err *e)
{
	return record_list_read(s, &armed_type, NULL, out, e);
}

int
armed_load(struct store *s, const char *socket, int64_t server_pid, int64_t server_start,
    const char *session_id, struct armed *out, struct err *e)
{
	char *key = record_key_on_server("arm", server_pid, server_start, session_id, socket);
	int found = record_load_key(s, &armed_type, key, out, e);

	if (found == 0)
		*out = (struct armed){ .socket = xstrdup(socket),
			.server_pid = server_pid,
			.server_start = server_start,
			.session_id = xstrdup(session_id) };
	free(key);
	return found;
}

/* The commit, with its event. */
static int
commit_armed(struct txn *t, const struct armed *a, const char *kind, const char *words, struct err *e)
{
	txn_event(t, kind, a->session_id, a->session, words);
	txn_event_on(t, a->socket);
	return txn_commit(t, e) == COMMIT_DONE ? 0 : -1;
}

int
armed_put(struct store *s, struct armed *a, struct err *e)
{
	struct txn t = { .s = s };

	txn_put(&t, &armed_type, a);
	if (commit_armed(&t, a, "session.armed", NULL, e) != 0)
		return -1;
	return record_read_version(s, &armed_type, a, e) == 1 ? 0 : -1;
}

int
armed_delete(struct store *s, const struct armed *a, const char *why, struct err *e)
{
	struct txn t = { .s = s };

	txn_delete(&t, armed_key(a), a->version);
	return commit_armed(&t, a, "session.disarmed", why, e);
}

void
armed_release(struct armed *a)
{
	record_free(&armed_type, a);
}

void
armed_list_release(struct armed_list *l)
{
	record_list_free(&armed_type, l);
}
