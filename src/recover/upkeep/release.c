#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recover/upkeep/upkeep.h"
#include "recover/recover.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/io.h"
#include "tmux/tmux.h"

/* The server with this socket, as the server itself calls it; NULL when it is none of ours. */
static struct tmux *
server_by_socket(struct app *w, const char *socket)
{
	struct tmux *found = NULL;
	struct stat a, b;

	for (size_t i = 0; i < w->n_servers && found == NULL; i++) {
		char *path = tmux_socket_path(&w->servers[i]);

		if (strcmp(path, socket) == 0 ||
		    (stat(path, &a) == 0 && stat(socket, &b) == 0 && a.st_dev == b.st_dev &&
			a.st_ino == b.st_ino))
			found = &w->servers[i];
		free(path);
	}
	return found;
}

static bool
in_scope(struct app *w, const char *socket)
{
	return !w->sockets_named || server_by_socket(w, socket) != NULL;
}

static int
forget(struct app *w, struct store *s, const char *session, bool dry_run, struct release_report *out,
    struct err *e)
{
	struct crash_sockets places = { .n = 0 };
	int ret = crash_sockets(s, session, &places, e);

	for (size_t i = 0; i < places.n && ret == 0; i++) {
		size_t n = 0;

		if (!in_scope(w, places.sockets[i]))
			continue;
		ret = dry_run ? crash_count(s, places.sockets[i], session, INT64_MIN, &n, e) :
		    crash_forget(s, places.sockets[i], session, &n, e);
		out->forgotten += n;
	}
	crash_sockets_release(&places);
	return ret;
}

/* The pane may be gone, and its server: then there is nothing to take back. */
static void
take_back(struct app *w, struct attempt *a)
{
	struct tmux *t = server_by_socket(w, a->socket);
	struct pane was = {
		.id = a->pane_id, .server_pid = (pid_t)a->server_pid, .server_start = a->server_start
	};

	if (t != NULL && a->remain_on_exit != NULL &&
	    respawn_restore_option(t, &was, a->remain_on_exit, NULL) == 0)
		record_set(&a->remain_on_exit, NULL);
}

static int
close_attempt(struct app *w, struct attempt *a, struct err *e)
{
	char *path = app_pane_lock(w, a->server_pid, a->server_start, a->pane_id, e);
	int fd = path != NULL ? io_lock(path, 0, e) : -1, ret = -1;

	if (fd >= 0) {
		take_back(w, a);
		ret = recovery_finish_failed(w, a, "released by the user", e);
	} else if (path != NULL && strcmp(e->name, "locked") == 0) {
		err_set(e, GT_AGAIN, "locked", "another gt-recover is recovering this session");
		err_hint(e, "wait for it; the timeouts in gt.toml limit its time");
	}
	io_unlock(path, fd);
	free(path);
	return ret;
}

int
upkeep_release_session(
    struct app *w, const char *session, bool dry_run, struct release_report *out, struct err *e)
{
	struct store *s = app_store(w, false, e);
	struct attempt_list open = { .n = 0 };
	int ret;

	memset(out, 0, sizeof *out);
	if (s == NULL)
		return e->code != 0 ? -1 : 0;
	ret = attempt_list_open(s, &open, e);
	for (size_t i = 0; i < open.n && ret == 0; i++) {
		struct attempt *a = &open.v[i];
		enum attempt_phase was = a->phase;

		if (strcmp(a->session, session) != 0 || !in_scope(w, a->socket))
			continue;
		if (!dry_run && (ret = close_attempt(w, a, e)) != 0)
			break;
		a->phase = was;
		out->ended.v = vec_room(out->ended.v, out->ended.n, &out->ended.cap, sizeof *out->ended.v);
		out->ended.v[out->ended.n++] = *a;
		memset(a, 0, sizeof *a);
	}
	if (ret == 0)
		ret = forget(w, s, session, dry_run, out, e);
	for (size_t i = 0; i < open.n; i++)
		attempt_release(&open.v[i]);
	free(open.v);
	return ret;
}
