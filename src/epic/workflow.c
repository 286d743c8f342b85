#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epic/epic_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "transcript/locate/locate.h"

/*
 * Workflows of Claude Code (measured with 2.1.332), below <config>/projects/<folder>/<session>:
 *
 *	workflows/scripts/<name>-<run>.js	the script, written at the launch; meta.phases
 *	subagents/workflows/<run>/journal.jsonl	{type: launched | started | result, key, agentId, label,
 *						phase}, appended; a relaunch starts the same key again
 *	subagents/workflows/<run>/agent-<id>.jsonl	transcripts
 *	workflows/<run>.json			written when the run is over
 *
 * A run is an epic, its phases are the sprints, its agents the steps; the agent that resumes it is
 * the session.
 */

#define JOURNAL_MAX ((size_t)16 << 20)
#define SCRIPT_MAX ((size_t)1 << 20)

struct workflow {
	struct epic_survey *survey;
	const char *run, *dir, *session;	/* dir: of the session */
	char *script;				/* its path; NULL: gone */
	json_t *phases;				/* array of titles */
	json_t *steps;				/* key -> {agent, title, phase, status} */
	int64_t started, kept, heard;		/* the script's, the journal's and the newest file's time */
};

/* ---- the script ---- */

/* The text in quotes behind `name:` from p on; heap, NULL: there is none before `end`. */
static char *
quoted(const char **p, const char *end, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = *p; (at = memmem(at, (size_t)(end - at), name, n)) != NULL; at++) {
		const char *from = at + n, *to;

		from += strspn(from, " \t\n");
		if (*from != ':')
			continue;
		from += 1 + strspn(from + 1, " \t\n");
		if (*from != '\'' && *from != '"' && *from != '`')
			continue;
		for (to = from + 1; to < end && *to != *from; to++)
			to += *to == '\\';
		if (to >= end)
			return NULL;
		*p = to + 1;
		return xstrndup(from + 1, (size_t)(to - from - 1));
	}
	return NULL;
}

/* meta is a pure literal: its name, and the titles of phases[]. Heap; NULL: no name. */
static char *
read_meta(struct workflow *w, const char *text, size_t size)
{
	const char *meta = memmem(text, size, "meta", 4), *end = text + size, *p, *close, *list;
	char *name, *title;

	if (meta == NULL)
		return NULL;
	p = meta;
	name = quoted(&p, end, "name");
	list = memmem(meta, (size_t)(end - meta), "phases", 6);
	list = list != NULL ? memchr(list, '[', (size_t)(end - list)) : NULL;
	close = list != NULL ? memchr(list, ']', (size_t)(end - list)) : NULL;
	for (p = list; close != NULL && (title = quoted(&p, close, "title")) != NULL;) {
		json_array_append_new(w->phases, json_bytes(title, strlen(title)));
		free(title);
	}
	return name;
}

static bool
is_script(const char *dir, const char *name, void *arg)
{
	struct workflow *w = arg;
	char *suffix = xasprintf("-%s.js", w->run);

	if (w->script == NULL && str_ends(name, suffix))
		w->script = io_join(dir, name);
	free(suffix);
	return true;
}

static char *
read_script(struct workflow *w)
{
	char *folder = io_join(w->dir, "workflows/scripts"), *name = NULL;
	struct buf text = BUF_INIT;

	epic_claude_each(folder, is_script, w, NULL);
	if (w->script != NULL && io_read_file(w->script, SCRIPT_MAX, &text, NULL) == 0)
		name = read_meta(w, text.data, text.len);
	if (w->script != NULL)
		w->started = epic_claude_mtime(w->script);
	buf_release(&text);
	free(folder);
	return name;
}

/* ---- the journal ---- */

static void
add_phase(json_t *phases, const char *title)
{
	for (size_t i = 0; i < json_array_size(phases); i++)
		if (strcmp(json_string_value(json_array_get(phases, i)), title) == 0)
			return;
	json_array_append_new(phases, json_bytes(title, strlen(title)));
}

static void
take_entry(struct workflow *w, const json_t *o)
{
	const char *type = json_text(o, "type", ""), *key = json_text(o, "key", NULL);
	json_t *step = key != NULL ? json_object_get(w->steps, key) : NULL;

	if (key != NULL && strcmp(type, "started") == 0) {
		step = json_object();
		json_put(step, "agent", json_text(o, "agentId", ""));
		json_put(step, "title", json_text(o, "label", json_text(o, "agentId", "")));
		json_put(step, "phase", json_text(o, "phase", "main"));
		json_put(step, "status", "in_progress");
		json_object_set_new(w->steps, key, step);
		add_phase(w->phases, json_text(o, "phase", "main"));
	} else if (step != NULL && strcmp(type, "result") == 0) {
		json_put(step, "status", "completed");
	}
}

/* A line that is not complete yet is no entry. */
static int
read_journal(struct workflow *w, const char *path, struct err *e)
{
	struct buf text = BUF_INIT;
	int ret = io_read_file(path, JOURNAL_MAX, &text, e);

	for (const char *p = text.data, *end = p + text.len; p < end && ret == 0;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		json_t *o = eol != NULL ? json_parse(p, (size_t)(eol - p), path, NULL) : NULL;

		if (o != NULL)
			take_entry(w, o);
		json_decref(o);
		p = eol != NULL ? eol + 1 : end;
	}
	w->kept = epic_claude_mtime(path);
	buf_release(&text);
	return ret;
}

/* ---- as an epic ---- */

static json_t *
sprint_agents(const struct workflow *w, bool open)
{
	json_t *list = json_array(), *o = json_object();

	json_put(o, "id", w->session);
	json_put(o, "status", open ? "active" : "idle");
	json_array_append_new(list, o);
	return list;
}

/* The phase at that place: its steps, and the files that their agents wrote. Its status. */
static const char *
put_phase(struct workflow *w, size_t at, json_t *sprint)
{
	const char *title = json_string_value(json_array_get(w->phases, at)), *key, *status;
	json_t *steps = json_array(), *written = json_array(), *open = json_array(), *step;
	size_t done = 0, n;

	json_object_foreach(w->steps, key, step) {
		bool completed = strcmp(json_text(step, "status", ""), "completed") == 0;
		const char *agent = json_text(step, "agent", "");
		char *path;
		json_t *o;

		if (strcmp(json_text(step, "phase", ""), title) != 0)
			continue;
		path = xasprintf("%s/subagents/workflows/%s/agent-%s.jsonl", w->dir, w->run, agent);
		o = json_object();
		json_put(o, "id", agent);
		json_put(o, "title", json_text(step, "title", ""));
		json_put(o, "status", completed ? "completed" : "in_progress");
		json_put(o, "agent", w->session);
		json_array_append_new(steps, o);
		epic_claude_files(path, completed, completed ? written : open);
		if (!completed && epic_claude_mtime(path) > w->heard)
			w->heard = epic_claude_mtime(path);
		done += completed;
		free(path);
	}
	n = json_array_size(steps);
	status = n == 0 ? "waiting" : done == n ? "completed" : "in_progress";
	json_put(sprint, "name", title);
	json_put(sprint, "phase", title);
	json_put(sprint, "status", status);
	json_object_set_new(sprint, "progress", json_integer(n > 0 ? (json_int_t)(100 * done / n) : 0));
	json_object_set_new(sprint, "steps", steps);
	json_object_set_new(sprint, "filesWritten", written);
	json_object_set_new(sprint, "filesInProgress", open);
	json_object_set_new(sprint, "agents", sprint_agents(w, done < n));
	return status;
}

static json_t *
workflow_epic(const struct workflow *w, const char *name)
{
	json_t *epic = json_object(), *o = json_object();

	json_put(o, "run", w->run);
	json_put(o, "script", w->script);
	json_put(o, "session", w->session);
	json_put(epic, "epicId", w->run);
	json_put(epic, "name", name);
	json_put(epic, "status", "in_progress");
	if (w->started > 0)
		checkpoint_set_time(epic, "startTime", w->started);
	checkpoint_set_time(epic, "lastCheckpoint", w->kept);
	json_object_set_new(epic, "workflow", o);
	json_object_set_new(epic, "sprints", json_array());
	json_object_set_new(epic, "dependencies", json_object());
	return epic;
}

static void
put_owner(struct workflow *w, json_t *process)
{
	json_t *agent = json_object();

	json_put(agent, "agentId", w->session);
	json_put(agent, "sessionId", w->session);
	json_put(agent, "epicId", w->run);
	checkpoint_set_time(agent, "lastHeartbeat", w->heard > w->kept ? w->heard : w->kept);
	if (process != NULL)
		json_object_set(agent, "process", process);
	epic_survey_put(w->survey, EPIC_RECORD_AGENT, w->session, agent);
}

static void
put_workflow(struct workflow *w, const char *name, json_t *process)
{
	json_t *epic = workflow_epic(w, name), *list = json_object_get(epic, "sprints"),
	       *needs = json_object_get(epic, "dependencies");

	for (size_t i = 0; i < json_array_size(w->phases); i++) {
		char *id = xasprintf("%s.%zu", w->run, i + 1), *before = xasprintf("%s.%zu", w->run, i);
		json_t *sprint = json_object(), *entry = json_object();

		json_put(entry, "id", id);
		json_put(entry, "status", put_phase(w, i, sprint));
		json_object_set(entry, "progress", json_object_get(sprint, "progress"));
		json_array_append_new(list, entry);
		if (i > 0)
			json_object_set_new(needs, id, json_pack("[s]", before));
		json_put(sprint, "sprintId", id);
		json_put(sprint, "epicId", w->run);
		checkpoint_set_time(sprint, "lastCheckpoint", w->kept);
		epic_survey_put(w->survey, EPIC_RECORD_SPRINT, id, sprint);
		free(before);
		free(id);
	}
	put_owner(w, process);
	epic_survey_put(w->survey, EPIC_RECORD_EPIC, w->run, epic);
}

/* A run that is over is told only to a record of ours that has it as open. */
static void
put_completed(struct workflow *w)
{
	const json_t *own = epic_shelf_get(&w->survey->shelf, EPIC_RECORD_EPIC, w->run);
	json_t *epic;

	if (own == NULL || strcmp(json_text(own, "status", ""), "completed") == 0)
		return;
	epic = json_object();
	json_put(epic, "status", "completed");
	epic_survey_put(w->survey, EPIC_RECORD_EPIC, w->run, epic);
}

static bool
read_run(struct workflow *w, struct err *e)
{
	char *journal = xasprintf("%s/subagents/workflows/%s/journal.jsonl", w->dir, w->run),
	     *over = xasprintf("%s/workflows/%s.json", w->dir, w->run), *name = NULL;
	json_t *process = json_object_get(epic_claude(w->survey)->processes, w->session);
	bool asked = w->survey->id != NULL && strcmp(epic_bare_id(w->survey->id, "epic-"), w->run) == 0;
	int64_t at = epic_claude_mtime(journal);
	int ret = 0;

	if (access(over, F_OK) == 0 && epic_claude_mtime(over) >= at) {
		put_completed(w);
	} else if (at > 0 && (asked || (w->survey->now.wall_ms - at < EPIC_OLD_MS &&
					  !json_flag(process, "ended", false)))) {
		w->phases = json_array();
		w->steps = json_object();
		name = read_script(w);
		if ((ret = read_journal(w, journal, e)) == 0)
			put_workflow(w, name != NULL ? name : w->run, process);
		json_decref(w->phases);
		json_decref(w->steps);
		free(w->script);
	}
	free(name);
	free(journal);
	free(over);
	return ret == 0;
}

/* ---- where they are ---- */

struct run_search {
	struct epic_survey *survey;
	struct err *e;
	const char *session;
};

static bool
take_run(const char *dir, const char *name, void *arg)
{
	struct run_search *r = arg;
	char *session_dir;
	struct workflow w = { .survey = r->survey, .run = name, .session = r->session };
	bool good;

	if (!str_starts(name, "wf_"))
		return true;
	session_dir = xstrndup(dir, strlen(dir) - strlen("/subagents/workflows"));
	w.dir = session_dir;
	good = read_run(&w, r->e);
	free(session_dir);
	return good;
}

static bool
take_session(const char *dir, const char *name, void *arg)
{
	struct run_search *r = arg;
	char *runs;
	bool good;

	if (!transcript_is_id(name))
		return true;
	r->session = name;
	runs = xasprintf("%s/%s/subagents/workflows", dir, name);
	good = epic_claude_each(runs, take_run, r, r->e);
	free(runs);
	return good;
}

static bool
take_project(const char *dir, const char *name, void *arg)
{
	struct run_search *r = arg;
	char *project = io_join(dir, name);
	bool good = epic_claude_each(project, take_session, r, r->e);

	free(project);
	return good;
}

int
epic_workflow_read(struct epic_survey *survey, struct err *e)
{
	struct run_search r = { .survey = survey, .e = e };
	const char *dir;
	bool good = true;
	json_t *v;

	json_object_foreach(epic_claude(survey)->dirs, dir, v) {
		char *projects = io_join(dir, "projects");

		good = epic_claude_each(projects, take_project, &r, e) && good;
		free(projects);
	}
	return good ? 0 : -1;
}
