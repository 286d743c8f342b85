#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/session_file.h"
#include "agent/liveness.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"

#define MAX_NOTE ((size_t)64 << 10)

char *
session_config_dir(const char *claude_config_dir, const char *home)
{
	if (claude_config_dir != NULL && *claude_config_dir != '\0')
		return xstrdup(claude_config_dir);
	return home != NULL ? io_join(home, ".claude") : NULL;
}

char *
session_config_dir_of(pid_t pid)
{
	size_t n = 0;
	char *block = proc_environ(pid, &n), *dir;

	if (block == NULL)
		return session_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	dir = session_config_dir(environ_get(block, n, "CLAUDE_CONFIG_DIR"), environ_get(block, n, "HOME"));
	explicit_bzero(block, n);
	free(block);
	return dir;
}

/* procStart is a string of digits in the versions seen; a number would mean the same. */
static uint64_t
start_ticks(const json_t *v)
{
	const char *text = json_text(v, "procStart", NULL);

	return text != NULL ? strtoull(text, NULL, 10) : (uint64_t)json_number(v, "procStart", 0);
}

static bool
read_note(const char *path, pid_t pid, struct session_file *out)
{
	struct buf b = BUF_INIT;
	struct stat st;
	json_t *v = NULL;

	if (stat(path, &st) == 0 && io_read_file(path, MAX_NOTE, &b, NULL) == 0)
		v = json_parse(b.data, b.len, path, NULL);
	buf_release(&b);
	if (!json_is_object(v) || json_text(v, "sessionId", NULL) == NULL) {
		json_decref(v);
		return false;
	}
	out->pid = pid;
	out->start = start_ticks(v);
	out->session_id = xstrdup(json_text(v, "sessionId", ""));
	out->cwd = xstrdup(json_text(v, "cwd", ""));
	out->version = xstrdup(json_text(v, "version", ""));
	out->status = xstrdup(json_text(v, "status", ""));
	out->waiting_for = xstrdup(json_text(v, "waitingFor", ""));
	out->tmux = xstrdup(json_text(v, "tmux", ""));
	out->started = json_number(v, "startedAt", 0);
	out->written = st.st_mtime;
	json_decref(v);
	return true;
}

bool
session_file_read(const char *config_dir, pid_t pid, struct session_file *out)
{
	char *path = xasprintf("%s/sessions/%d.json", config_dir, (int)pid);
	bool found = read_note(path, pid, out);

	free(path);
	return found;
}

void
session_file_release(struct session_file *s)
{
	free(s->session_id);
	free(s->cwd);
	free(s->version);
	free(s->status);
	free(s->waiting_for);
	free(s->tmux);
	memset(s, 0, sizeof *s);
}

bool
session_file_below(const char *config_dir, const struct procs *procs, pid_t pane_pid, struct session_file *out)
{
	for (size_t i = 0; i < procs->n; i++) {
		const struct proc *p = &procs->v[i];

		if (!procs_below(procs, p->pid, pane_pid) || !session_file_read(config_dir, p->pid, out))
			continue;
		if (out->start == 0 || out->start == p->start)
			return true;
		session_file_release(out);
	}
	return false;
}

bool
session_file_idle(const struct session_file *s)
{
	return strcmp(s->status, "idle") == 0 || strcmp(s->status, "shell") == 0;
}

bool
session_file_lives(const struct session_file *s)
{
	struct proc p;

	return proc_read(s->pid, &p) == 0 && p.state != 'Z' && (s->start == 0 || p.start == s->start);
}

void
session_files_read(const char *config_dir, struct session_files *out)
{
	char *folder = io_join(config_dir, "sessions");
	DIR *dir = opendir(folder);
	struct dirent *d;

	memset(out, 0, sizeof *out);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		int pid = str_ends(d->d_name, ".json") ? atoi(d->d_name) : 0;
		struct session_file s;

		if (pid <= 0 || !session_file_read(config_dir, (pid_t)pid, &s))
			continue;
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = s;
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
}

void
session_files_release(struct session_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		session_file_release(&f->v[i]);
	free(f->v);
	memset(f, 0, sizeof *f);
}

/* The tmux field is "session:@window.%pane"; neither the server nor its start stands there. */
enum belongs
session_file_belongs(const struct session_file *s, const struct session_place *where)
{
	const char *dot = strrchr(s->tmux, '.'), *colon = dot != NULL ? memrchr(s->tmux, ':', (size_t)(dot - s->tmux)) : NULL;
	bool same_cwd = *where->cwd != '\0' && strcmp(s->cwd, where->cwd) == 0;
	bool same_session = colon != NULL && strlen(where->session) == (size_t)(colon - s->tmux) &&
	    memcmp(s->tmux, where->session, strlen(where->session)) == 0;

	if (s->written < where->server_start)
		return NOTE_ELSEWHERE;
	if (dot == NULL)
		return same_cwd ? NOTE_SAME_PLACE : NOTE_ELSEWHERE;
	/* a session may have another name by now, and an agent may have changed its directory, but hardly both */
	return strcmp(dot + 1, where->pane_id) == 0 && (same_session || same_cwd) ? NOTE_SAME_PANE : NOTE_ELSEWHERE;
}

enum belongs
session_file_of_dead(const char *config_dir, const struct session_place *where, struct session_file *out)
{
	struct session_files all;
	enum belongs best = NOTE_ELSEWHERE, how;
	size_t found = 0;

	session_files_read(config_dir, &all);
	for (size_t i = 0; i < all.n; i++) {
		how = session_file_lives(&all.v[i]) ? NOTE_ELSEWHERE : session_file_belongs(&all.v[i], where);
		if (how > best || (how == best && how != NOTE_ELSEWHERE && all.v[i].written >= all.v[found].written)) {
			found = i;
			best = how;
		}
	}
	if (best != NOTE_ELSEWHERE) {
		*out = all.v[found];
		memset(&all.v[found], 0, sizeof all.v[found]);
	}
	session_files_release(&all);
	return best;
}
