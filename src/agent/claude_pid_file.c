#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "process/proc.h"
#include "base/io.h"
#include "base/json.h"

#define MAX_NOTE ((size_t)64 << 10)

char *
agent_config_dir(const char *claude_config_dir, const char *home)
{
	if (claude_config_dir != NULL && *claude_config_dir != '\0')
		return xstrdup(claude_config_dir);
	return home != NULL ? io_join(home, ".claude") : NULL;
}

char *
agent_config_dir_of_pid(pid_t pid)
{
	size_t n = 0;
	char *block = proc_environ(pid, &n), *dir;

	if (block == NULL)
		return agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	dir = agent_config_dir(
	    proc_environ_get(block, n, "CLAUDE_CONFIG_DIR"), proc_environ_get(block, n, "HOME"));
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
read_note(const char *path, pid_t pid, struct agent_pid_file *out)
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
	out->background = strcmp(json_text(v, "kind", ""), "bg") == 0;
	out->written = st.st_mtime;
	json_decref(v);
	return true;
}

bool
agent_pid_file_read(const char *config_dir, pid_t pid, struct agent_pid_file *out)
{
	char *path = xasprintf("%s/sessions/%d.json", config_dir, (int)pid);
	bool found = read_note(path, pid, out);

	free(path);
	return found;
}

void
agent_pid_file_release(struct agent_pid_file *s)
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
agent_pid_file_below(
    const char *config_dir, const struct procs *procs, pid_t pane_pid, struct agent_pid_file *out)
{
	for (size_t i = 0; i < procs->n; i++) {
		const struct proc *p = &procs->v[i];

		if (!proc_list_below(procs, p->pid, pane_pid) ||
		    !agent_pid_file_read(config_dir, p->pid, out))
			continue;
		/* where starts cannot be compared, a living process may be the one */
		if (out->start == 0 || out->start == p->start ||
		    proc_life(p->pid, out->start) == LIFE_UNKNOWN)
			return true;
		agent_pid_file_release(out);
	}
	return false;
}

bool
agent_pid_file_is_idle(const struct agent_pid_file *s)
{
	return strcmp(s->status, "idle") == 0 || strcmp(s->status, "shell") == 0;
}

bool
agent_pid_file_is_alive(const struct agent_pid_file *s)
{
	return proc_life(s->pid, s->start) != LIFE_GONE;
}

void
agent_pid_files_read(const char *config_dir, struct agent_pid_files *out)
{
	char *folder = io_join(config_dir, "sessions");
	DIR *dir = opendir(folder);
	struct dirent *d;

	memset(out, 0, sizeof *out);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		int pid = str_ends(d->d_name, ".json") ? atoi(d->d_name) : 0;
		struct agent_pid_file s;

		if (pid <= 0 || !agent_pid_file_read(config_dir, (pid_t)pid, &s))
			continue;
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = s;
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
}

void
agent_pid_files_release(struct agent_pid_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		agent_pid_file_release(&f->v[i]);
	free(f->v);
	memset(f, 0, sizeof *f);
}

/* The tmux field is "session:@window.%pane"; neither the server nor its start stands there. */
enum pid_file_match
agent_pid_file_match(const struct agent_pid_file *s, const struct pid_file_place *where)
{
	const char *dot = strrchr(s->tmux, '.'),
		   *colon = dot != NULL ? memrchr(s->tmux, ':', (size_t)(dot - s->tmux)) : NULL;
	bool same_cwd = *where->cwd != '\0' && strcmp(s->cwd, where->cwd) == 0;
	bool same_session = colon != NULL && strlen(where->session) == (size_t)(colon - s->tmux) &&
	    memcmp(s->tmux, where->session, strlen(where->session)) == 0;

	if (s->written < where->server_start || s->background)
		return PID_FILE_ELSEWHERE;
	if (dot == NULL)
		return same_cwd ? PID_FILE_SAME_PLACE : PID_FILE_ELSEWHERE;
	/*
	 * a session may have another name by now, and an agent may have changed its directory,
	 * but hardly both
	 */
	return strcmp(dot + 1, where->pane_id) == 0 && (same_session || same_cwd) ? PID_FILE_SAME_PANE
										  : PID_FILE_ELSEWHERE;
}

enum pid_file_match
agent_pid_file_of_dead(const char *config_dir, const struct pid_file_place *where, struct agent_pid_file *out)
{
	struct agent_pid_files all;
	enum pid_file_match best = PID_FILE_ELSEWHERE, how;
	size_t found = 0;

	agent_pid_files_read(config_dir, &all);
	for (size_t i = 0; i < all.n; i++) {
		how = agent_pid_file_is_alive(&all.v[i]) ? PID_FILE_ELSEWHERE
							 : agent_pid_file_match(&all.v[i], where);
		if (how > best ||
		    (how == best && how != PID_FILE_ELSEWHERE && all.v[i].written >= all.v[found].written)) {
			found = i;
			best = how;
		}
	}
	if (best != PID_FILE_ELSEWHERE) {
		*out = all.v[found];
		memset(&all.v[found], 0, sizeof all.v[found]);
	}
	agent_pid_files_release(&all);
	return best;
}
