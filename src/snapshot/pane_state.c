#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot/snapshot.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/encode.h"
#include "tmux/tmux.h"

#define MAX_FILE ((size_t)16 << 20)
#define PREFIX "state-"
/* the length of such a name */
#define SOCKET_STATE (sizeof PREFIX - 1 + SNAPSHOT_KEY - 1 + sizeof ".json" - 1)

static void
hash(char out[SNAPSHOT_KEY], const char *text)
{
	char hex[65];

	sha256_hex(text, strlen(text), hex);
	memcpy(out, hex, SNAPSHOT_KEY - 1);
	out[SNAPSHOT_KEY - 1] = '\0';
}

static void
pane_state_release(struct pane_state *x)
{
	free(x->id);
	free(x->file);
	free(x->base_snapshot);
	memset(x, 0, sizeof *x);
}

void
snapshot_panes_release(struct pane_states *s)
{
	for (size_t i = 0; i < s->n; i++)
		pane_state_release(&s->v[i]);
	free(s->v);
	free(s->path);
	memset(s, 0, sizeof *s);
}

/* ---- the file ---- */

static char *
state_text(const json_t *v, const char *key)
{
	const char *s = json_text(v, key, NULL);

	return s != NULL ? xstrdup(s) : NULL;
}

static void
read_one(struct pane_states *s, const char *id, const json_t *v)
{
	struct pane_state x = {
		.pid = (pid_t)json_number(v, "pid", 0),
		.looked = json_number(v, "looked", 0),
		.activity = json_number(v, "activity", 0),
		.history_size = json_number(v, "history_size", -1),
		.history_bytes = json_number(v, "history_bytes", -1),
		.cursor_x = (int)json_number(v, "cursor_x", -1),
		.cursor_y = (int)json_number(v, "cursor_y", -1),
		.width = (int)json_number(v, "width", 0),
		.height = (int)json_number(v, "height", 0),
		.alternate = json_flag(v, "alternate", false),
		.dead = json_flag(v, "dead", false),
		.dead_time = json_number(v, "dead_time", 0),
		.agent = json_flag(v, "agent", false),
		.bytes = (size_t)json_number(v, "bytes", 0),
	};

	snprintf(x.session, sizeof x.session, "%s", json_text(v, "session", ""));
	snprintf(x.title, sizeof x.title, "%s", json_text(v, "title", ""));
	x.id = xstrdup(id);
	x.file = state_text(v, "file");
	x.base_snapshot = state_text(v, "richer");
	s->v = vec_room(s->v, s->n, &s->cap, sizeof *s->v);
	s->v[s->n++] = x;
}

json_t *
snapshot_state_read(const char *path)
{
	struct buf b = BUF_INIT;
	json_t *v = NULL;

	if (io_read_private(path, MAX_FILE, &b, NULL) == 0)
		v = json_parse(b.data, b.len, path, NULL);
	buf_release(&b);
	if (json_number(v, "schema_version", 0) != 1) {
		json_decref(v);
		return NULL;
	}
	return v;
}

static char *
state_path(const char *dir, const char *socket_path)
{
	char socket[SNAPSHOT_KEY], *name, *path;

	hash(socket, socket_path);
	name = xasprintf(PREFIX "%s.json", socket);
	path = io_join(dir, name);
	free(name);
	return path;
}

/* Where the state of a life goes when the next one begins. */
static char *
past_path(const char *path, pid_t server_pid, int64_t server_start)
{
	return xasprintf("%.*s-%lld-%lld.json", (int)(strlen(path) - strlen(".json")), path,
	    (long long)server_pid, (long long)server_start);
}

/* False when the file tells of another life of the server, or nothing. */
static bool
read_life(struct pane_states *s)
{
	json_t *v = snapshot_state_read(s->path), *panes;
	int64_t pid = json_number(v, "server_pid", 0), start = json_number(v, "server_start", 0);
	bool same = pid == s->server_pid && start == s->server_start;

	s->other_pid = v != NULL && !same ? (pid_t)pid : 0;
	s->other_start = start;
	panes = same ? json_object_get(v, "panes") : NULL;
	for (void *at = json_object_iter(panes); at != NULL; at = json_object_iter_next(panes, at))
		read_one(s, json_object_iter_key(at), json_object_iter_value(at));
	json_decref(v);
	return same;
}

void
snapshot_panes_read(struct pane_states *s, const char *dir, const struct pane *p)
{
	memset(s, 0, sizeof *s);
	s->path = state_path(dir, p->socket_path);
	s->server_pid = p->server_pid;
	s->server_start = p->server_start;
	read_life(s);
}

bool
snapshot_panes_of_server(
    struct pane_states *s, const char *dir, const char *socket_path, pid_t server_pid, int64_t server_start)
{
	char *past;
	struct stat st;
	bool known;

	memset(s, 0, sizeof *s);
	s->server_pid = server_pid;
	s->server_start = server_start;
	s->path = state_path(dir, socket_path);
	known = read_life(s);
	if (!known) {
		past = past_path(s->path, server_pid, server_start);
		free(s->path);
		s->path = past;
		known = read_life(s);
	}
	if (known && stat(s->path, &st) == 0)
		s->written = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	return known;
}

static json_t *
json_one(const struct pane_state *x)
{
	json_t *v = json_object();

	json_put(v, "session", x->session);
	json_put_int(v, "pid", x->pid);
	json_put_int(v, "looked", x->looked);
	json_put_int(v, "activity", x->activity);
	json_put_int(v, "history_size", x->history_size);
	json_put_int(v, "history_bytes", x->history_bytes);
	json_put_int(v, "cursor_x", x->cursor_x);
	json_put_int(v, "cursor_y", x->cursor_y);
	json_put_int(v, "width", x->width);
	json_put_int(v, "height", x->height);
	json_put_flag(v, "alternate", x->alternate);
	json_put_flag(v, "dead", x->dead);
	json_put_int(v, "dead_time", x->dead_time);
	json_put(v, "title", x->title);
	json_put_flag(v, "agent", x->agent);
	json_put(v, "file", x->file);
	json_put(v, "richer", x->base_snapshot);
	json_put_int(v, "bytes", (int64_t)x->bytes);
	return v;
}

/* What is about to be overwritten tells which sessions a server had when it died. */
static void
keep_past(struct pane_states *s)
{
	char *past = s->other_pid != 0 ? past_path(s->path, s->other_pid, s->other_start) : NULL;

	if (past != NULL)
		rename(s->path, past);
	s->other_pid = 0;
	free(past);
}

/* Other containers judge this server's agents by the time of the file. */
static bool
is_due(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && clock_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000 >= PROC_RENEW_MS;
}

int
snapshot_panes_write(struct pane_states *s, struct err *e)
{
	json_t *v, *panes;
	struct buf b = BUF_INIT;
	int ret;

	for (size_t i = 0; i < s->n; i++)
		s->changed = s->changed || !s->v[i].here;
	if (!s->changed && !is_due(s->path))
		return 0;
	v = json_object();
	panes = json_object();
	json_put_int(v, "schema_version", 1);
	json_put_int(v, "server_pid", s->server_pid);
	json_put_int(v, "server_start", s->server_start);
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].here)
			json_object_set_new(panes, s->v[i].id, json_one(&s->v[i]));
	json_object_set_new(v, "panes", panes);
	json_print(&b, v, false);
	buf_chr(&b, '\n');
	json_decref(v);
	keep_past(s);
	ret = io_write_durable(s->path, b.data, b.len, "snapshot-state", e);
	buf_release(&b);
	return ret;
}

static void
hold_of(struct snapshot_index *a, const char *name)
{
	char *path = io_join(a->dir, name);
	json_t *v = snapshot_state_read(path), *panes = json_object_get(v, "panes");

	for (void *at = json_object_iter(panes); at != NULL; at = json_object_iter_next(panes, at)) {
		static const char *const keys[] = { "file", "richer" };

		for (size_t i = 0; i < 2; i++) {
			struct snapshot_file *x =
			    snapshot_index_find(a, json_text(json_object_iter_value(at), keys[i], ""));

			if (x != NULL)
				x->held = true;
		}
	}
	json_decref(v);
	free(path);
}

/* That of a life that is over, last written before that. */
static bool
forgotten(const struct snapshot_index *a, const char *name, int64_t before)
{
	char *path = strlen(name) > SOCKET_STATE ? io_join(a->dir, name) : NULL;
	struct stat st;
	bool gone =
	    path != NULL && stat(path, &st) == 0 && (int64_t)st.st_mtime * 1000 < before && unlink(path) == 0;

	free(path);
	return gone;
}

void
snapshot_panes_hold(struct snapshot_index *a, int64_t before)
{
	DIR *d = opendir(a->dir);
	struct dirent *f;

	while (d != NULL && (f = readdir(d)) != NULL)
		if (str_starts(f->d_name, PREFIX) && !forgotten(a, f->d_name, before))
			hold_of(a, f->d_name);
	if (d != NULL)
		closedir(d);
}

/* ---- panes ---- */

struct pane_state *
snapshot_pane_find(struct pane_states *s, const struct pane *p)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].id, p->id) == 0)
			return &s->v[i];
	return NULL;
}

bool
snapshot_pane_same(const struct pane_state *was, const struct pane *p)
{
	char session[SNAPSHOT_KEY], title[SNAPSHOT_KEY];

	snapshot_session_key(session, p->socket_path, p->session);
	hash(title, p->title);
	return was->pid == p->pid && was->activity == p->activity && was->looked > was->activity &&
	    was->history_size == p->history_size && was->history_bytes == p->history_bytes &&
	    was->cursor_x == p->cursor_x && was->cursor_y == p->cursor_y && was->width == p->width &&
	    was->height == p->height && was->alternate == p->alternate && was->dead == p->dead &&
	    was->dead_time == p->dead_time && strcmp(was->session, session) == 0 &&
	    strcmp(was->title, title) == 0;
}

void
snapshot_pane_reset(struct pane_state *x)
{
	free(x->file);
	free(x->base_snapshot);
	x->file = x->base_snapshot = NULL;
	x->bytes = 0;
}

struct pane_state *
snapshot_pane_put(struct pane_states *s, const struct pane *p, int64_t looked)
{
	struct pane_state *x = snapshot_pane_find(s, p);
	char session[SNAPSHOT_KEY];

	snapshot_session_key(session, p->socket_path, p->session);
	if (x == NULL) {
		s->v = vec_room(s->v, s->n, &s->cap, sizeof *s->v);
		x = &s->v[s->n++];
		memset(x, 0, sizeof *x);
		x->id = xstrdup(p->id);
	} else if (x->pid != p->pid || strcmp(x->session, session) != 0) {
		snapshot_pane_reset(x);
	}
	memcpy(x->session, session, sizeof session);
	hash(x->title, p->title);
	x->pid = p->pid;
	x->looked = looked;
	x->activity = p->activity;
	x->history_size = p->history_size;
	x->history_bytes = p->history_bytes;
	x->cursor_x = p->cursor_x;
	x->cursor_y = p->cursor_y;
	x->width = p->width;
	x->height = p->height;
	x->alternate = p->alternate;
	x->dead = p->dead;
	x->dead_time = p->dead_time;
	x->here = true;
	s->changed = true;
	return x;
}
