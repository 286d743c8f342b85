#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/app.h"
#include "base/buf.h"
#include "base/encode.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "gastown/gastown.h"
#include "scrub/scrub.h"
#include "snapshot/snapshot.h"
#include "tmux/tmux.h"
#include "workspace/workspace.h"

#define PREFIX "workspace-"

/* Of the socket's files the name up to the server's pid. */
static void
file_prefix(char *out, size_t size, const char *socket_path)
{
	char hex[65];

	sha256_hex(socket_path, strlen(socket_path), hex);
	snprintf(out, size, PREFIX "%.12s-", hex);
}

static char *
file_path(const char *dir, const char *socket_path, pid_t pid, int64_t start)
{
	char prefix[40], *name, *path;

	file_prefix(prefix, sizeof prefix, socket_path);
	name = xasprintf("%s%lld-%lld.json", prefix, (long long)pid, (long long)start);
	path = io_join(dir, name);
	free(name);
	return path;
}

/* ---- write ---- */

/* Of all but the time, and the titles of agents, which change with every step of their work. */
static void
digest(const json_t *shape, char hex[65])
{
	json_t *copy = json_deep_copy(shape);
	struct buf b = BUF_INIT;

	json_object_del(copy, "at");
	for (struct workspace_walk k = { .shape = copy }; workspace_walk_next(&k); )
		if (json_flag(k.pane, "agent", false))
			json_object_del(k.pane, "title");
	json_print(&b, copy, false);
	sha256_hex(b.data, b.len, hex);
	buf_release(&b);
	json_decref(copy);
}

static void
clean_member(json_t *v, const char *key, struct scrub *scrub)
{
	const char *text = json_text(v, key, "");
	struct clean_text *clean = scrub_text(scrub, text, strlen(text), 0);

	json_put(v, key, clean_bytes(clean));
	clean_free(clean);
}

/* What programs and people write into a server's fields; session names and directories stay as they are. */
static void
clean_names(json_t *shape, struct scrub *scrub)
{
	for (struct workspace_walk k = { .shape = shape }; workspace_walk_next(&k); ) {
		clean_member(k.pane, "title", scrub);
		clean_member(k.window, "name", scrub);
	}
}

static bool
is_fuller(const json_t *a, const json_t *b)
{
	int64_t more = json_number(a, "agents", 0) - json_number(b, "agents", 0);

	return more > 0 || (more == 0 && json_number(a, "panes", 0) > json_number(b, "panes", 0));
}

/* The pane of that id; NULL: none. */
static json_t *
find_pane(const json_t *shape, const char *id)
{
	for (struct workspace_walk k = { .shape = shape }; workspace_walk_next(&k); )
		if (strcmp(json_text(k.pane, "id", ""), id) == 0)
			return k.pane;
	return NULL;
}

static bool
has_lost_agent(const json_t *was, const json_t *shape)
{
	for (struct workspace_walk k = { .shape = was }; workspace_walk_next(&k); )
		if (json_flag(k.pane, "agent", false) &&
		    find_pane(shape, json_text(k.pane, "id", "")) == NULL)
			return true;
	return false;
}

struct life {
	char *name;
	int64_t written; /* ns */
};

static int
compare_lives(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	return x->written > y->written ? -1 : x->written < y->written;
}

/* The socket's files, the newest first. */
static struct life *
list_lives(const char *dir, const char *socket_path, size_t *n)
{
	DIR *d = opendir(dir);
	struct life *v = NULL;
	struct dirent *f;
	char prefix[40];
	size_t cap = 0;

	*n = 0;
	file_prefix(prefix, sizeof prefix, socket_path);
	while (d != NULL && (f = readdir(d)) != NULL) {
		struct stat st;

		if (!str_starts(f->d_name, prefix) || !str_ends(f->d_name, ".json") ||
		    fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		v = vec_room(v, *n, &cap, sizeof *v);
		v[(*n)++] = (struct life){ xstrdup(f->d_name),
			(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec };
	}
	if (d != NULL)
		closedir(d);
	if (*n > 0)
		qsort(v, *n, sizeof *v, compare_lives);
	return v;
}

static void
release_lives(struct life *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i].name);
	free(v);
}

static void
remove_old(const char *dir, const char *socket_path)
{
	size_t n;
	struct life *v = list_lives(dir, socket_path, &n);

	for (size_t i = WORKSPACE_LIVES; i < n; i++) {
		char *path = io_join(dir, v[i].name);

		unlink(path);
		free(path);
	}
	release_lives(v, n);
}

static int
write_file(const char *path, const json_t *v, struct err *e)
{
	struct buf b = BUF_INIT;
	int ret;

	json_print(&b, v, false);
	buf_chr(&b, '\n');
	ret = io_write_durable(path, b.data, b.len, "workspace", e);
	buf_release(&b);
	return ret;
}

int
workspace_keep(
    struct app *w, const char *dir, const struct pane *p, json_t *shape, struct scrub **s, struct err *e)
{
	char *path = file_path(dir, p->socket_path, p->server_pid, p->server_start), hex[65];
	json_t *was = snapshot_state_read(path), *v = json_object(), *fullest, *before;
	struct timestamp now;
	int ret = 0;

	workspace_count(shape);
	digest(shape, hex);
	if (strcmp(json_text(was, "digest", ""), hex) == 0)
		goto out;
	if (*s == NULL && (*s = app_scrub(w, e)) == NULL) {
		ret = -1;
		goto out;
	}
	clean_names(shape, *s);
	timestamp_now(&now);
	json_put_int(v, "schema_version", 1);
	json_put(v, "socket", p->socket_path);
	json_put_int(v, "server_pid", p->server_pid);
	json_put_int(v, "server_start", p->server_start);
	json_put(v, "boot_id", now.boot_id);
	json_put(v, "digest", hex);
	json_object_set(v, "now", shape);
	fullest = json_object_get(was, "fullest");
	if (!json_is_object(fullest))
		fullest = json_object_get(was, "now");
	if (json_is_object(fullest) && is_fuller(fullest, shape))
		json_object_set(v, "fullest", fullest);
	before = json_object_get(was, has_lost_agent(json_object_get(was, "now"), shape) ? "now" : "before");
	if (json_is_object(before))
		json_object_set(v, "before", before);
	ret = write_file(path, v, e);
	if (ret == 0 && was == NULL)
		remove_old(dir, p->socket_path);
out:
	json_decref(v);
	json_decref(was);
	json_decref(shape);
	free(path);
	return ret;
}

/* ---- read ---- */

void
workspace_release(struct workspace *x)
{
	json_decref(x->file);
	free(x->path);
	free(x->socket);
	memset(x, 0, sizeof *x);
}

static bool
take_file(struct workspace *out, char *path)
{
	out->file = snapshot_state_read(path);
	out->path = path;
	if (out->file == NULL || !json_is_object(json_object_get(out->file, "now"))) {
		workspace_release(out);
		return false;
	}
	out->socket = xstrdup(json_text(out->file, "socket", ""));
	out->server_pid = (pid_t)json_number(out->file, "server_pid", 0);
	out->server_start = json_number(out->file, "server_start", 0);
	return true;
}

/* More than the one shell with which every server begins. */
static bool
is_worth_it(const struct workspace *x)
{
	const json_t *fullest = json_object_get(x->file, "fullest"), *now = json_object_get(x->file, "now");

	return json_is_object(fullest) || json_number(now, "panes", 0) > 1 ||
	       json_number(now, "agents", 0) > 0;
}

static bool
read_newest(const char *dir, const char *socket_path, const struct pane *but, struct workspace *out)
{
	struct workspace first = { .file = NULL };
	size_t n;
	struct life *v = list_lives(dir, socket_path, &n);
	bool found = false;

	for (size_t i = 0; i < n && !found; i++) {
		if (!take_file(out, io_join(dir, v[i].name)))
			continue;
		if (but != NULL && out->server_pid == but->server_pid &&
		    out->server_start == but->server_start) {
			workspace_release(out);
		} else if (is_worth_it(out)) {
			found = true;
		} else if (first.file == NULL) {
			first = *out;
			memset(out, 0, sizeof *out);
		} else {
			workspace_release(out);
		}
	}
	release_lives(v, n);
	if (!found && first.file != NULL) {
		*out = first;
		return true;
	}
	workspace_release(&first);
	return found;
}

bool
workspace_read(struct app *w, const char *socket_path, pid_t server_pid, int64_t server_start,
    const struct pane *but, struct workspace *out)
{
	char *dir = town_snapshot_dir(w->town, w->config, NULL);
	bool found = false;

	memset(out, 0, sizeof *out);
	if (dir != NULL && server_pid != 0)
		found = take_file(out, file_path(dir, socket_path, server_pid, server_start));
	else if (dir != NULL)
		found = read_newest(dir, socket_path, but, out);
	free(dir);
	return found;
}

const json_t *
workspace_now(const struct workspace *x)
{
	return json_object_get(x->file, "now");
}

const json_t *
workspace_shape_with(const struct workspace *x, const char *places)
{
	static const char *const names[] = { "now", "before", "fullest" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const json_t *shape = json_object_get(x->file, names[i]);

		for (struct workspace_walk k = { .shape = shape }; workspace_walk_next(&k); ) {
			char *own = workspace_places(x, k.pane);
			bool has = pane_place_is_same(own, places);

			free(own);
			if (has)
				return shape;
		}
	}
	return NULL;
}

/* ---- origin ---- */

static bool
has_place(const json_t *window, const json_t *pane, const struct pane *p)
{
	return json_number(window, "index", -1) == p->window_index &&
	       json_number(pane, "index", -1) == p->index &&
	       strcmp(json_text(pane, "cwd", ""), *p->path != '\0' ? p->path : p->start_path) == 0;
}

char *
workspace_origin(struct app *w, const struct pane *p)
{
	struct workspace x;
	char *places = NULL;

	if (p->place != NULL && *p->place != '\0')
		return xstrdup(p->place);
	if (!workspace_read(w, p->socket_path, 0, 0, p, &x))
		return NULL;
	for (struct workspace_walk k = { .shape = workspace_now(&x) };
	     places == NULL && workspace_walk_next(&k); )
		if (strcmp(json_text(k.session, "name", ""), p->session) == 0 &&
		    has_place(k.window, k.pane, p))
			places = workspace_places(&x, k.pane);
	workspace_release(&x);
	return places;
}

char *
workspace_places(const struct workspace *x, const json_t *pane)
{
	char *own = pane_place(x->server_pid, x->server_start, json_text(pane, "id", "")),
	     *all = pane_place_add(own, json_text(pane, "place", NULL));

	free(own);
	return all;
}
