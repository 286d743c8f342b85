#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epic/epic_private.h"
#include "agent/agent.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"

/* What the sources of Claude Code share: where it keeps things, which process has a conversation. */

#define TAIL ((size_t)256 << 10)		/* bytes of a transcript in which files are looked for */
#define FILES_MOST 50				/* of an agent */

static void
add_dir(json_t *dirs, const char *dir)
{
	char *real = dir != NULL ? realpath(dir, NULL) : NULL;

	if (real != NULL)
		json_object_set_new(dirs, real, json_true());
	free(real);
}

json_t *
epic_claude_process(const struct timestamp *now, int64_t pid, int64_t start, int64_t ns, bool ended)
{
	json_t *o = json_object();

	json_put_int(o, "pid", pid);
	json_put_int(o, "start", start);
	json_put_int(o, "ns", ns);
	json_put(o, "boot", now->boot_id);
	if (ended)
		json_put_flag(o, "ended", true);
	return o;
}

/* What passes noted of agents: where they kept their files, and by which process. */
static void
take_seen(struct epic_survey *survey)
{
	struct seen_agent_list all = { .n = 0 };

	if (survey->store != NULL)
		seen_agent_list(survey->store, &all, NULL);
	for (size_t i = 0; i < all.n; i++) {
		const struct seen_agent *a = &all.v[i];
		json_t *p = epic_claude_process(
		    &survey->now, a->pid, a->pid_start, a->pid_ns, a->state == SEEN_EXITED);
		const char *member = a->command != NULL ? strstr(a->command, "--agent-id ") : NULL;

		add_dir(survey->claude.dirs, a->config_dir);
		/* of another boot, or seen dead only: not the process that runs */
		if (a->pid > 0 && a->conversation != NULL)
			json_object_set(survey->claude.processes, a->conversation, p);
		if (a->pid > 0 && member != NULL) {
			char *id = xstrndup(member + strlen("--agent-id "),
			    strcspn(member + strlen("--agent-id "), " '\""));

			json_object_set(survey->claude.processes, id, p);
			free(id);
		}
		json_decref(p);
	}
	seen_agent_list_release(&all);
}

/* Of a conversation that several processes had, the one that lives. */
static void
take_pid_files(struct epic_survey *survey, const char *dir)
{
	struct agent_pid_files files = { .n = 0 };

	agent_pid_files_read(dir, &files);
	for (size_t i = 0; i < files.n; i++) {
		const struct agent_pid_file *f = &files.v[i];
		bool alive = agent_pid_file_is_alive(f);
		json_t *p;

		if (f->session_id == NULL || f->start == 0 ||
		    (!alive && json_object_get(survey->claude.processes, f->session_id) != NULL))
			continue;
		p = epic_claude_process(
		    &survey->now, f->pid, (int64_t)f->start, (int64_t)survey->now.pid_ns, false);
		json_put(p, "cwd", f->cwd);
		json_object_set_new(survey->claude.processes, f->session_id, p);
	}
	agent_pid_files_release(&files);
}

const struct epic_claude *
epic_claude(struct epic_survey *survey)
{
	char *own;
	const char *dir;
	json_t *v;

	if (survey->claude.dirs != NULL)
		return &survey->claude;
	survey->claude.dirs = json_object();
	survey->claude.processes = json_object();
	own = agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	add_dir(survey->claude.dirs, own);
	free(own);
	take_seen(survey);
	json_object_foreach(survey->claude.dirs, dir, v) {
		take_pid_files(survey, dir);
	}
	return &survey->claude;
}

void
epic_claude_release(struct epic_claude *c)
{
	json_decref(c->dirs);
	json_decref(c->processes);
	proc_list_release(&c->procs);
}

/* The process that was started with this word, a member of a team; NULL: none runs. New reference. */
json_t *
epic_claude_find_member(struct epic_survey *survey, const char *id)
{
	struct epic_claude *c = &survey->claude;

	if (!c->listed && proc_list(&c->procs, NULL) != 0)
		proc_list_release(&c->procs);
	c->listed = true;
	for (size_t i = 0; i < c->procs.n; i++)
		if (!proc_has_ended(&c->procs.v[i]) && proc_has_argument(&c->procs.v[i], id, NULL))
			return epic_claude_process(&survey->now, c->procs.v[i].pid,
			    (int64_t)c->procs.v[i].start, (int64_t)survey->now.pid_ns, false);
	return NULL;
}

int64_t
epic_claude_mtime(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000 : 0;
}

bool
epic_claude_each(const char *dir, bool (*row)(const char *dir, const char *name, void *arg), void *arg,
    struct err *e)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	bool good = true;

	if (d == NULL && errno != ENOENT && errno != ENOTDIR)
		return err_sys(e, GT_FAIL, "unreadable", "cannot read the directory %s", dir) == 0;
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (entry->d_name[0] != '.')
			good = row(dir, entry->d_name, arg) && good;
	if (d != NULL)
		closedir(d);
	return good;
}

json_t *
epic_claude_json(const char *path, struct err *e)
{
	struct buf text = BUF_INIT;
	json_t *v = NULL;

	if (io_read_file(path, (size_t)4 << 20, &text, e) == 0)
		v = json_parse(text.data, text.len, path, e);
	buf_release(&text);
	return v;
}

/* ---- what a transcript tells ---- */

static bool
writes(const char *tool)
{
	static const char *const tools[] = { "Write", "Edit", "MultiEdit", "NotebookEdit" };

	for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
		if (strcmp(tool, tools[i]) == 0)
			return true;
	return false;
}

/* path -> the file that a call of a tool writes. */
static void
take_write(json_t *files, const json_t *call, int64_t at)
{
	const char *path = json_text(json_object_get(call, "input"), "file_path", NULL);
	json_t *file;

	if (path == NULL || !writes(json_text(call, "name", "")))
		return;
	file = json_object();
	json_put(file, "path", path);
	if (at > 0)
		checkpoint_set_time(file, "lastCheckpoint", at);
	json_object_set_new(files, path, file);
}

/* id -> true of a task that a call takes; one that it lets go is removed. */
static void
take_update(json_t *tasks, const json_t *call, int64_t at)
{
	const json_t *input = json_object_get(call, "input");
	const char *id = json_text(input, "taskId", NULL), *status = json_text(input, "status", NULL);

	(void)at;
	if (id == NULL || status == NULL || strcmp(json_text(call, "name", ""), "TaskUpdate") != 0)
		return;
	if (strcmp(status, "in_progress") == 0)
		json_object_set_new(tasks, id, json_true());
	else
		json_object_del(tasks, id);
}

static void
take_line(const char *p, size_t n, void (*row)(json_t *out, const json_t *call, int64_t at), json_t *out)
{
	json_t *o = json_parse(p, n, "transcript", NULL);
	const json_t *parts = json_object_get(json_object_get(o, "message"), "content");

	for (size_t i = 0; i < json_array_size(parts); i++)
		if (strcmp(json_text(json_array_get(parts, i), "type", ""), "tool_use") == 0)
			row(out, json_array_get(parts, i), checkpoint_time(o, "timestamp"));
	json_decref(o);
}

/* The calls of tools in the end of a transcript, oldest first, of lines that hold the word. */
static void
each_call(const char *path, const char *word, void (*row)(json_t *out, const json_t *call, int64_t at),
    json_t *out)
{
	struct buf text = BUF_INIT;
	struct stat st;
	FILE *f = fopen(path, "re");

	if (f != NULL && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode)) {
		size_t size = (size_t)st.st_size, from = size > TAIL ? size - TAIL : 0;

		if (fseeko(f, (off_t)from, SEEK_SET) == 0) {
			char *room = xmalloc(TAIL);

			buf_add(&text, room, fread(room, 1, TAIL, f));
			free(room);
		}
		for (const char *p = text.data, *end = text.data + text.len; p < end;) {
			const char *eol = memchr(p, '\n', (size_t)(end - p));

			if (eol == NULL)
				break;
			if (memmem(p, (size_t)(eol - p), word, strlen(word)) != NULL)
				take_line(p, (size_t)(eol - p), row, out);
			p = eol + 1;
		}
	}
	if (f != NULL)
		fclose(f);
	buf_release(&text);
}

void
epic_claude_tasks(const char *path, json_t *tasks)
{
	each_call(path, "\"TaskUpdate\"", take_update, tasks);
}

void
epic_claude_files(const char *path, bool completed, json_t *list)
{
	json_t *files = json_object(), *file;
	const char *key;

	each_call(path, "\"file_path\"", take_write, files);
	json_object_foreach(files, key, file) {
		if (json_array_size(list) < FILES_MOST) {
			json_put_flag(file, "completed", completed);
			json_array_append(list, file);
		}
	}
	json_decref(files);
}
