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
	json_t *v = NULL;

	if (io_read_file(path, MAX_NOTE, &b, NULL) == 0)
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

static bool
is_dead(const struct session_file *s)
{
	struct proc p;

	return proc_read(s->pid, &p) != 0 || p.state == 'Z' || (s->start != 0 && p.start != s->start);
}

/* The tmux field is "session:@window.%pane"; neither the server nor its start stands there. */
static enum belongs
belongs(const struct session_file *s, time_t written, const struct session_place *where)
{
	const char *dot = strrchr(s->tmux, '.'), *colon = dot != NULL ? memrchr(s->tmux, ':', (size_t)(dot - s->tmux)) : NULL;
	bool same_cwd = *where->cwd != '\0' && strcmp(s->cwd, where->cwd) == 0;
	bool same_session = colon != NULL && strlen(where->session) == (size_t)(colon - s->tmux) &&
	    memcmp(s->tmux, where->session, strlen(where->session)) == 0;

	if (written < where->server_start)
		return NOTE_ELSEWHERE;
	if (dot == NULL)
		return same_cwd ? NOTE_SAME_PLACE : NOTE_ELSEWHERE;
	/* a session may have another name by now, and an agent may have changed its directory, but hardly both */
	return strcmp(dot + 1, where->pane_id) == 0 && (same_session || same_cwd) ? NOTE_SAME_PANE : NOTE_ELSEWHERE;
}

enum belongs
session_file_of_dead(const char *config_dir, const struct session_place *where, struct session_file *out)
{
	char *folder = io_join(config_dir, "sessions");
	DIR *dir = opendir(folder);
	struct dirent *d;
	time_t newest = 0;
	enum belongs best = NOTE_ELSEWHERE, how;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		struct session_file s;
		struct stat st;
		char *path;
		int pid;

		if (!str_ends(d->d_name, ".json") || (pid = atoi(d->d_name)) <= 0)
			continue;
		path = io_join(folder, d->d_name);
		if (stat(path, &st) == 0 && read_note(path, (pid_t)pid, &s)) {
			how = is_dead(&s) ? belongs(&s, st.st_mtime, where) : NOTE_ELSEWHERE;
			if (how > best || (how == best && how != NOTE_ELSEWHERE && st.st_mtime >= newest)) {
				if (best != NOTE_ELSEWHERE)
					session_file_release(out);
				*out = s;
				newest = st.st_mtime;
				best = how;
			} else {
				session_file_release(&s);
			}
		}
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
	return best;
}
