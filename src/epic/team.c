#include <stdlib.h>
#include <string.h>

#include "epic/epic_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "process/proc.h"
#include "transcript/locate/locate.h"
#include "transcript/transcript.h"

/*
 * Agent teams and shared task lists of Claude Code (measured with 2.1.332), below its configuration:
 *
 *	teams/<team>/config.json	{leadSessionId, leadProcess {pid, procStart}, members [{agentId,
 *					name, cwd, tmuxPaneId, isActive, joinedAt}]}
 *	tasks/<list>/<n>.json		{id, subject, status, owner, blockedBy []}
 *
 * A list is called as its team, as its session, or as CLAUDE_CODE_TASK_LIST_ID says, which several
 * sessions may share; nothing in it names them. Tasks are steps of the one sprint; in a team without
 * tasks each member's turn is a step.
 */

#define LEAD "team-lead"
#define TASKS_MOST 500

struct group {
	struct epic_survey *survey;
	const char *dir;			/* the configuration */
	const char *name;			/* of the team or list */
	json_t *config;				/* of the team; NULL: none */
	json_t *tasks;				/* array of the files, by number */
	json_t *steps, *agents;			/* of the sprint */
	int64_t started, kept, heard;
	bool ended;				/* a person ended its lead */
	struct err *e;
};

/* ---- tasks ---- */

static int
by_number(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;

	return atoi(json_text(x, "id", "0")) - atoi(json_text(y, "id", "0"));
}

static bool
take_task(const char *dir, const char *name, void *arg)
{
	struct group *g = arg;
	size_t digits = strspn(name, "0123456789");
	char *path;
	json_t *o;

	if (digits == 0 || strcmp(name + digits, ".json") != 0 || json_array_size(g->tasks) >= TASKS_MOST)
		return true;
	path = io_join(dir, name);
	/* one that is being written is read by the next pass */
	if ((o = epic_claude_json(path, NULL)) != NULL) {
		int64_t at = epic_claude_mtime(path);

		json_array_append_new(g->tasks, o);
		g->kept = at > g->kept ? at : g->kept;
		g->started = g->started == 0 || at < g->started ? at : g->started;
	}
	free(path);
	return true;
}

static bool
read_tasks(struct group *g)
{
	char *dir = xasprintf("%s/tasks/%s", g->dir, g->name);
	size_t n;
	json_t **v;
	bool good;

	g->tasks = json_array();
	good = epic_claude_each(dir, take_task, g, g->e);
	n = json_array_size(g->tasks);
	v = xcalloc(n + 1, sizeof *v);
	for (size_t i = 0; i < n; i++)
		v[i] = json_incref(json_array_get(g->tasks, i));
	if (n > 1)
		qsort(v, n, sizeof *v, by_number);
	json_array_clear(g->tasks);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(g->tasks, v[i]);
	free(v);
	free(dir);
	return good;
}

/* The owner as a member's id; heap, NULL: nobody. */
static char *
owner_id(const struct group *g, const json_t *task)
{
	const char *owner = json_text(task, "owner", "");

	if (*owner == '\0')
		return NULL;
	return strchr(owner, '@') != NULL || g->config == NULL ? xstrdup(owner)
								: xasprintf("%s@%s", owner, g->name);
}

static void
steps_of_tasks(struct group *g)
{
	for (size_t i = 0; i < json_array_size(g->tasks); i++) {
		const json_t *task = json_array_get(g->tasks, i);
		const char *status = json_text(task, "status", "");
		char *owner = owner_id(g, task);
		json_t *o = json_object();

		json_put(o, "id", json_text(task, "id", "?"));
		json_put(o, "title", json_text(task, "subject", ""));
		json_put(o, "status", strcmp(status, "pending") == 0 ? "waiting" : status);
		if (owner != NULL)
			json_put(o, "agent", owner);
		if (json_array_size(json_object_get(task, "blockedBy")) > 0)
			json_object_set(o, "blockedBy", json_object_get(task, "blockedBy"));
		json_array_append_new(g->steps, o);
		free(owner);
	}
}

/* ---- members ---- */

static json_t *
lead_process(struct group *g, const char *session)
{
	const json_t *p = json_object_get(g->config, "leadProcess");
	json_t *known = json_object_get(epic_claude(g->survey)->processes, session);
	int64_t start = strtoll(json_text(p, "procStart", "0"), NULL, 10), pid = json_number(p, "pid", 0);

	if (known != NULL)
		return json_incref(known);
	return pid > 0 && start > 0 ? epic_claude_process(&g->survey->now, pid, start,
					  (int64_t)g->survey->now.pid_ns, false)
				    : NULL;
}

/* Of a living process what runs tells; else what a pass noted, or our record. */
static json_t *
member_process(struct group *g, const char *id)
{
	json_t *noted = json_object_get(epic_claude(g->survey)->processes, id), *living;
	int64_t pid = json_number(noted, "pid", 0), start = json_number(noted, "start", 0);

	if (pid > 0 && proc_life((pid_t)pid, (uint64_t)start) != LIFE_GONE)
		return json_incref(noted);
	living = epic_claude_find_member(g->survey, id);
	return living != NULL ? living : json_incref(noted);
}

/* The conversation of a member: by our record while its process is the same, else by its transcript. */
static char *
member_session(struct group *g, const json_t *member, const char *id, const json_t *process)
{
	const json_t *own = epic_shelf_get(&g->survey->shelf, EPIC_RECORD_AGENT, id);

	if (json_text(own, "sessionId", NULL) != NULL && process != NULL &&
	    json_number(json_object_get(own, "process"), "start", 0) == json_number(process, "start", -1))
		return xstrdup(json_text(own, "sessionId", ""));
	return locate_teammate(
	    g->dir, json_text(member, "cwd", ""), g->name, json_text(member, "name", ""));
}

static void
hear(struct group *g, const char *cwd, const char *session, json_t *agent)
{
	char *path = session != NULL && transcript_is_id(session) ? transcript_path(g->dir, cwd, session)
								  : NULL;
	int64_t at = path != NULL ? epic_claude_mtime(path) : 0;

	if (at > 0)
		checkpoint_set_time(agent, "lastHeartbeat", at);
	if (path != NULL)
		json_put(agent, "transcript", path);
	g->heard = at > g->heard ? at : g->heard;
	free(path);
}

static void
put_member(struct group *g, const json_t *member)
{
	const char *id = json_text(member, "agentId", ""), *name = json_text(member, "name", "");
	bool lead = strcmp(name, LEAD) == 0, active = json_flag(member, "isActive", lead);
	json_t *agent = json_object(), *entry = json_object(), *process;
	char *session = NULL, *sprint = xasprintf("%s.1", g->name);

	if (lead)
		session = xstrdup(json_text(g->config, "leadSessionId", ""));
	process = lead ? lead_process(g, session) : member_process(g, id);
	if (!lead)
		session = member_session(g, member, id, process);
	g->ended = g->ended || (lead && json_flag(process, "ended", false));
	json_put(agent, "agentId", id);
	json_put(agent, "epicId", g->name);
	json_put(agent, "sprintId", sprint);
	if (session != NULL && *session != '\0')
		json_put(agent, "sessionId", session);
	if (process != NULL)
		json_object_set(agent, "process", process);
	json_put(agent, "pane", lead ? NULL : json_text(member, "tmuxPaneId", NULL));
	hear(g, json_text(member, "cwd", ""), session, agent);
	json_put(entry, "id", id);
	json_put(entry, "status", active ? "active" : "idle");
	if (lead)
		json_put_flag(entry, "lead", true);
	json_array_append_new(g->agents, entry);
	if (json_array_size(g->tasks) == 0 && !lead) {
		json_t *step = json_object();

		json_put(step, "id", name);
		json_put(step, "title", json_text(member, "prompt", name));
		json_put(step, "status", active ? "in_progress" : "completed");
		json_put(step, "agent", id);
		json_array_append_new(g->steps, step);
	}
	epic_survey_put(g->survey, EPIC_RECORD_AGENT, id, agent);
	json_decref(process);
	free(sprint);
	free(session);
}

/* ---- sessions that share a list ---- */

/* Which tasks a session took last, by the end of its transcript: it is their agent. */
static void
claim_tasks(struct group *g, const char *transcript, const char *session)
{
	json_t *taken = json_object(), *step;
	size_t i;

	epic_claude_tasks(transcript, taken);
	json_array_foreach(g->steps, i, step)
		if (json_text(step, "agent", NULL) == NULL &&
		    json_object_get(taken, json_text(step, "id", "")) != NULL)
			json_put(step, "agent", session);
	json_decref(taken);
}

static void
put_session(struct group *g, const char *session, json_t *process, const json_t *own)
{
	json_t *agent = json_object(), *entry = json_object();
	char *sprint = xasprintf("%s.1", g->name);

	json_put(agent, "agentId", session);
	json_put(agent, "sessionId", session);
	json_put(agent, "epicId", g->name);
	json_put(agent, "sprintId", sprint);
	if (process != NULL)
		json_object_set(agent, "process", process);
	if (json_text(own, "transcript", NULL) != NULL)
		json_put(agent, "transcript", json_text(own, "transcript", NULL));
	else
		hear(g, json_text(process, "cwd", ""), session, agent);
	if (json_text(agent, "transcript", NULL) != NULL)
		claim_tasks(g, json_text(agent, "transcript", ""), session);
	json_put(entry, "id", session);
	json_array_append_new(g->agents, entry);
	epic_survey_put(g->survey, EPIC_RECORD_AGENT, session, agent);
	free(sprint);
}

/* Who shares a list, by the environment of those that live, and by our record of those that did. */
static void
put_sessions(struct group *g)
{
	char *sprint = xasprintf("%s.1", g->name);
	const json_t *known = json_object_get(
	    epic_shelf_get(&g->survey->shelf, EPIC_RECORD_SPRINT, sprint), "agents");
	json_t *seen = json_object(), *process;
	const char *session;

	json_object_foreach(epic_claude(g->survey)->processes, session, process) {
		size_t n = 0;
		char *block = transcript_is_id(session)
		    ? proc_environ((pid_t)json_number(process, "pid", 0), &n)
		    : NULL;
		const char *list =
		    block != NULL ? proc_environ_get(block, n, "CLAUDE_CODE_TASK_LIST_ID") : NULL;

		if (list != NULL && strcmp(list, g->name) == 0) {
			json_object_set_new(seen, session, json_true());
			put_session(g, session, process, NULL);
		}
		if (block != NULL)
			explicit_bzero(block, n);
		free(block);
	}
	for (size_t i = 0; i < json_array_size(known); i++) {
		const char *id = json_text(json_array_get(known, i), "id", "");
		const json_t *own = epic_shelf_get(&g->survey->shelf, EPIC_RECORD_AGENT, id);

		if (json_object_get(seen, id) == NULL && transcript_is_id(id))
			put_session(g, id, json_object_get(epic_claude(g->survey)->processes, id), own);
	}
	json_decref(seen);
	free(sprint);
}

/* ---- as an epic ---- */

/* Files that the members under way have written, by the end of their transcripts. */
static void
put_open_files(struct group *g, json_t *sprint)
{
	json_t *open = json_array();

	for (size_t i = 0; i < json_array_size(g->steps); i++) {
		const json_t *step = json_array_get(g->steps, i);
		const json_t *agent = epic_shelf_get(
		    &g->survey->shelf, EPIC_RECORD_AGENT, json_text(step, "agent", ""));

		if (strcmp(json_text(step, "status", ""), "in_progress") == 0 &&
		    json_text(agent, "transcript", NULL) != NULL)
			epic_claude_files(json_text(agent, "transcript", ""), false, open);
	}
	json_object_set_new(sprint, "filesInProgress", open);
}

static void
put_group(struct group *g, const char *title)
{
	size_t n = json_array_size(g->steps), done = 0;
	json_t *sprint = json_object(), *epic = json_object(), *entry = json_object();
	char *id = xasprintf("%s.1", g->name), *name = xasprintf("%s %s", title, g->name);
	const char *status;

	for (size_t i = 0; i < n; i++)
		done += strcmp(json_text(json_array_get(g->steps, i), "status", ""), "completed") == 0;
	status = n > 0 && done == n ? "completed" : "in_progress";
	json_put(sprint, "sprintId", id);
	json_put(sprint, "epicId", g->name);
	json_put(sprint, "name", "tasks");
	json_put(sprint, "status", status);
	json_put_int(sprint, "progress", n > 0 ? (int64_t)(100 * done / n) : 0);
	json_object_set(sprint, "steps", g->steps);
	/* of a list that nobody alive shares, our record knows who did */
	if (json_array_size(g->agents) > 0)
		json_object_set(sprint, "agents", g->agents);
	put_open_files(g, sprint);
	json_put(entry, "id", id);
	json_put(entry, "status", status);
	json_object_set(entry, "progress", json_object_get(sprint, "progress"));
	json_put(epic, "epicId", g->name);
	json_put(epic, "name", name);
	json_put(epic, "status", status);
	json_object_set_new(epic, "sprints", json_pack("[o]", entry));
	if (g->started > 0)
		checkpoint_set_time(epic, "startTime", g->started);
	if (g->kept > 0) {
		checkpoint_set_time(epic, "lastCheckpoint", g->kept);
		checkpoint_set_time(sprint, "lastCheckpoint", g->kept);
	}
	epic_survey_put(g->survey, EPIC_RECORD_SPRINT, id, sprint);
	epic_survey_put(g->survey, EPIC_RECORD_EPIC, g->name, epic);
	free(name);
	free(id);
}

static bool
is_asked(const struct group *g)
{
	return g->survey->id != NULL && strcmp(epic_bare_id(g->survey->id, "epic-"), g->name) == 0;
}

/* Nothing has touched it for long, or a person ended it. */
static bool
is_over(const struct group *g)
{
	int64_t at = g->heard > g->kept ? g->heard : g->kept;

	return !is_asked(g) && (g->ended || g->survey->now.wall_ms - at >= EPIC_OLD_MS);
}

static void
group_release(struct group *g)
{
	json_decref(g->config);
	json_decref(g->tasks);
	json_decref(g->steps);
	json_decref(g->agents);
}

static bool
take_team(const char *dir, const char *name, void *arg)
{
	struct group *all = arg, g = { .survey = all->survey, .dir = all->dir, .name = name, .e = all->e };
	char *path = xasprintf("%s/%s/config.json", dir, name);
	struct err own = ERR_INIT;
	const json_t *members;
	bool good = true;

	g.config = epic_claude_json(path, &own);
	g.steps = json_array();
	g.agents = json_array();
	if (g.config == NULL && epic_claude_mtime(path) > 0) {
		*all->e = own;
		good = false;
	} else if (g.config != NULL) {
		members = json_object_get(g.config, "members");
		g.started = json_number(g.config, "createdAt", 0);
		g.kept = epic_claude_mtime(path);
		good = read_tasks(&g);
		if (json_number(g.config, "createdAt", 0) > 0)
			g.started = json_number(g.config, "createdAt", 0);
		/* a lead without teammates and tasks is no work of several */
		if (json_array_size(members) > 1 || json_array_size(g.tasks) > 0) {
			steps_of_tasks(&g);
			for (size_t i = 0; i < json_array_size(members); i++)
				put_member(&g, json_array_get(members, i));
			if (!is_over(&g))
				put_group(&g, "Agent team");
		}
	}
	group_release(&g);
	free(path);
	return good;
}

/* Does no agent alone, and no team, have a list of that name? */
static bool
is_shared(const char *config_dir, const char *name)
{
	char *team = xasprintf("%s/teams/%s/config.json", config_dir, name);
	bool shared = !transcript_is_id(name) && epic_claude_mtime(team) == 0;

	/* the list of a team that is gone: our record of it has more */
	if (str_starts(name, "session-") && strlen(name) == strlen("session-") + 8)
		shared = false;
	free(team);
	return shared;
}

static bool
take_list(const char *dir, const char *name, void *arg)
{
	struct group *all = arg, g = { .survey = all->survey, .dir = all->dir, .name = name, .e = all->e };
	bool good = true;

	(void)dir;
	if (!is_shared(all->dir, name))
		return true;
	g.steps = json_array();
	g.agents = json_array();
	good = read_tasks(&g);
	steps_of_tasks(&g);
	if (json_array_size(g.steps) > 0) {
		put_sessions(&g);
		if (!is_over(&g))
			put_group(&g, "Task list");
	}
	group_release(&g);
	return good;
}

static int
read_all(struct epic_survey *survey, const char *folder, bool (*row)(const char *, const char *, void *),
    struct err *e)
{
	const char *dir;
	bool good = true;
	json_t *v;

	json_object_foreach(epic_claude(survey)->dirs, dir, v) {
		struct group g = { .survey = survey, .dir = dir, .e = e };
		char *path = io_join(dir, folder);

		good = epic_claude_each(path, row, &g, e) && good;
		free(path);
	}
	return good ? 0 : -1;
}

int
epic_team_read(struct epic_survey *survey, struct err *e)
{
	return read_all(survey, "teams", take_team, e);
}

int
epic_tasks_read(struct epic_survey *survey, struct err *e)
{
	return read_all(survey, "tasks", take_list, e);
}
