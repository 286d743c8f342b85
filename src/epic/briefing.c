#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "epic/epic.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "store/store.h"

struct role_search {
	const char *agent;			/* or its session */
	char *found;				/* heap: the id of its epic, or of the agent */
};

/* Does a sprint list the agent, among those that work or those that validate? */
static bool
is_listed(const json_t *sprint, const char *agent)
{
	static const char *const lists[] = { "agents", "validators" };

	for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
		const json_t *list = json_object_get(sprint, lists[k]);

		for (size_t i = 0; i < json_array_size(list); i++)
			if (strcmp(json_text(json_array_get(list, i), "id", ""), agent) == 0)
				return true;
	}
	return false;
}

/* 1: this sprint lists the agent. */
static int
lists_agent(const struct record *r, void *arg, struct err *e)
{
	struct role_search *found = arg;
	json_t *o = epic_record_is(EPIC_RECORD_SPRINT, r->key) ? epic_record_object(r, e) : NULL;
	const char *epic = json_text(o, "epicId", NULL);
	bool here = epic != NULL && is_listed(o, found->agent);

	if (o == NULL)
		return epic_record_is(EPIC_RECORD_SPRINT, r->key) ? -1 : 0;
	if (here)
		found->found = xstrdup(epic);
	json_decref(o);
	return here;
}

/*
 * The epic of an agent by its own record, by its sprint's, or by a sprint that lists it. Heap;
 * NULL: none. -1 with err.
 */
static int
find_epic(struct store *s, const char *agent, const json_t *state, char **epic, struct err *e)
{
	const char *sprint = json_text(state, "sprintId", NULL), *told = json_text(state, "epicId", NULL);
	struct role_search search = { .agent = agent };
	json_t *o = NULL;
	struct record r;
	int ret = 0;

	if (told == NULL && sprint != NULL) {
		ret = epic_record_find(s, EPIC_RECORD_SPRINT, sprint, &r, &o, e);
		if (ret > 0)
			store_record_release(&r);
		told = json_text(o, "epicId", NULL);
	}
	if (told != NULL)
		search.found = xstrdup(told);
	else if (ret >= 0 && sprint == NULL)
		ret = store_each(s, epic_record_prefix(EPIC_RECORD_SPRINT), NULL, lists_agent, &search, e);
	json_decref(o);
	*epic = search.found;
	return ret < 0 ? -1 : 0;
}

static const struct epic_sprint *
sprint_of(const struct epic *x, const char *agent, const json_t *state)
{
	const char *told = json_text(state, "sprintId", NULL);
	const struct epic_sprint *found = NULL;

	for (size_t i = 0; i < x->n; i++) {
		if (told != NULL && epic_record_same_id(EPIC_RECORD_SPRINT, told, x->sprints[i].id))
			return &x->sprints[i];
		/* of several that list it the first that is not completed */
		if (told == NULL && is_listed(x->sprints[i].record, agent) &&
		    (found == NULL || found->state == SPRINT_COMPLETED))
			found = &x->sprints[i];
	}
	return found;
}

/* 1: this agent's session is the one that is looked for. */
static int
is_session(const struct record *r, void *arg, struct err *e)
{
	struct role_search *found = arg;
	json_t *o = epic_record_is(EPIC_RECORD_CHECKPOINT, r->key) ? epic_record_object(r, e) : NULL;
	bool here = strcmp(json_text(o, "sessionId", ""), found->agent) == 0;

	if (o == NULL)
		return epic_record_is(EPIC_RECORD_CHECKPOINT, r->key) ? -1 : 0;
	if (here)
		found->found = epic_record_id(EPIC_RECORD_CHECKPOINT, r->key);
	json_decref(o);
	return here;
}

/* The agent's last checkpoint, NULL: none, and its id, heap. -1 with err. */
static int
find_agent(struct store *s, const char *agent, char **id, json_t **state, struct err *e)
{
	struct role_search search = { .agent = agent };
	struct record r;
	int found = epic_record_find(s, EPIC_RECORD_CHECKPOINT, agent, &r, state, e);

	*id = xstrdup(agent);
	if (found == 0 &&
	    (found = store_each(
		 s, epic_record_prefix(EPIC_RECORD_CHECKPOINT), NULL, is_session, &search, e)) > 0) {
		free(*id);
		*id = search.found;
		found = epic_record_find(s, EPIC_RECORD_CHECKPOINT, *id, &r, state, e);
	}
	if (found > 0)
		store_record_release(&r);
	return found < 0 ? -1 : 0;
}

int
epic_role_find(struct store *s, const char *agent, int64_t interval, const struct timestamp *now,
    struct epic_role *out, struct err *e)
{
	char *epic = NULL;
	int ret;

	memset(out, 0, sizeof *out);
	ret = find_agent(s, agent, &out->agent, &out->state, e);
	if (ret == 0)
		ret = find_epic(s, out->agent, out->state, &epic, e);
	if (ret == 0 && epic != NULL && epic_list_read(s, epic, interval, now, &out->list, e) != 0) {
		/* an agent may name an epic that was abandoned */
		ret = e != NULL && strcmp(e->name, "not-found") == 0 ? 0 : -1;
		if (ret == 0)
			err_clear(e);
	} else if (ret == 0 && out->list.n > 0) {
		out->epic = &out->list.v[0];
		out->sprint = sprint_of(out->epic, out->agent, out->state);
		ret = out->sprint != NULL &&
		    strcmp(json_text(out->epic->record, "status", ""), "completed") != 0;
	}
	free(epic);
	return ret;
}

size_t
epic_role_place(const struct epic_role *x)
{
	size_t place = (size_t)(x->sprint - x->epic->sprints),
	       listed = json_array_size(json_object_get(x->epic->record, "sprints"));

	return place < listed ? place + 1 : 0;
}

void
epic_role_release(struct epic_role *x)
{
	epic_list_release(&x->list);
	json_decref(x->state);
	free(x->agent);
	memset(x, 0, sizeof *x);
}

static void
put_line(struct buf *out, const char *what, const char *text)
{
	if (text != NULL && *text != '\0')
		buf_fmt(out, "%s: %s\n", what, text);
}

static void
put_list(struct buf *out, const char *what, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		buf_fmt(out, "%s%s%s", i == 0 ? what : "", i == 0 ? ": " : "; ",
		    json_string_value(json_array_get(list, i)));
	if (json_array_size(list) > 0)
		buf_chr(out, '\n');
}

/* The disk is right about what was written, the checkpoint about what is next. */
static void
put_disk(struct buf *out, const char *cwd, const struct epic_file *f)
{
	char *path = *f->path == '/' || cwd == NULL ? xstrdup(f->path) : io_join(cwd, f->path);
	struct stat st;

	if (*path != '/') {
		free(path);
		return;
	}
	if (stat(path, &st) != 0)
		buf_str(out, "  It is not on disk.\n");
	else
		buf_fmt(out,
		    "  On disk it was saved %s the checkpoint: take its content as it stands there, and look "
		    "how far it is;\n"
		    "  the checkpoint says what comes next.\n",
		    (int64_t)st.st_mtim.tv_sec * 1000 > f->at ? "after" : "before");
	free(path);
}

static void
put_files(struct buf *out, const char *cwd, const struct epic_sprint *x)
{
	for (size_t i = x->completed; i < x->n_files; i++) {
		const struct epic_file *f = &x->files[i];

		buf_fmt(out, "File in progress: %s", f->path);
		if (f->line > 0)
			buf_fmt(out, ", line %lld", (long long)f->line);
		buf_chr(out, '\n');
		put_line(out, "  Last completed section", f->last);
		put_line(out, "  Go on with section", f->next);
		put_disk(out, cwd, f);
	}
	if (x->n_files > 0)
		buf_fmt(out, "Files completed: %zu of %zu\n", x->completed, x->n_files);
}

static int
put_tests(struct store *s, struct buf *out, const char *agent, const struct epic_sprint *x, struct err *e)
{
	const json_t *tests = json_object_get(x->record, "tests");
	int64_t run = json_number(tests, "run", -1), total = json_number(tests, "total", -1);
	struct timestamp now;

	if (!json_is_object(tests))
		return 0;
	timestamp_now(&now);
	now.wall_ms = store_now(s);
	if (run >= 0 && total >= 0)
		buf_fmt(
		    out, "Tests: %lld of %lld had run before the crash. ", (long long)run, (long long)total);
	buf_str(out, "Run the whole test suite again: what ran when it died proves nothing.\n");
	put_line(out, "  Last test", json_text(tests, "last", NULL));
	return sprint_test_lock_describe(s, x, agent, &now, out, e);
}

static void
put_validators(struct buf *out, const struct epic_sprint *x)
{
	const json_t *list = json_object_get(x->record, "validators");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		bool done = strcmp(json_text(one, "status", ""), "completed") == 0;

		buf_fmt(out, "Validator %s: ", json_text(one, "id", ""));
		if (done)
			buf_str(out, "complete, its result stands");
		else
			buf_fmt(out, "at %d%%", (int)json_number_value(json_object_get(one, "progress")));
		if (json_is_number(json_object_get(one, "score")))
			buf_fmt(out, " (score %.2f)", json_number_value(json_object_get(one, "score")));
		buf_chr(out, '\n');
		if (!done) {
			put_line(out, "  Last validated", json_text(one, "lastValidated", NULL));
			put_line(out, "  Go on with", json_text(one, "next", NULL));
		}
	}
}

/* What it waits for, and the contract of what is there. */
static int
put_needs(struct store *s, struct buf *out, const struct epic_sprint *x, struct err *e)
{
	for (size_t i = 0; i < x->n_needs; i++) {
		const struct epic_need *need = &x->needs[i];
		struct record r;
		json_t *ready;
		int found = epic_record_find(s, EPIC_RECORD_READY, need->id, &r, &ready, e);

		if (found < 0)
			return -1;
		buf_fmt(out, "Depends on sprint %s: %s\n", need->id,
		    need->resolved ? "resolved, go on" : "not ready, wait for its signal");
		if (found > 0) {
			buf_fmt(out, "  Signal %s with the contract ", r.key);
			json_print(out, json_object_get(ready, "contract"), false);
			buf_chr(out, '\n');
		}
		json_decref(ready);
		store_record_release(&r);
	}
	put_list(out, "Done while waiting", json_object_get(x->record, "productiveWork"));
	return 0;
}

static void
put_agent(struct buf *out, const char *agent, const json_t *state, const struct epic_sprint *x)
{
	const json_t *task = json_object_get(state, "taskProgress"),
		     *context = json_object_get(state, "context");
	const json_t *listed = json_object_get(x->record, "agents");

	buf_fmt(out, "You are its agent %s.\n", agent);
	put_line(out, "Your task", json_text(state, "currentTask", NULL));
	for (size_t i = 0; i < json_array_size(listed) && json_text(state, "currentTask", NULL) == NULL; i++)
		if (strcmp(json_text(json_array_get(listed, i), "id", ""), agent) == 0)
			put_line(out, "Your task", json_text(json_array_get(listed, i), "task", NULL));
	put_list(out, "Subtasks completed", json_object_get(task, "subtasksCompleted"));
	put_list(out, "Subtasks remaining", json_object_get(task, "subtasksRemaining"));
	put_line(out, "You edited", json_text(state, "fileBeingEdited", NULL));
	if (json_number(state, "lineNumber", 0) > 0)
		buf_fmt(out, "  at line %lld\n", (long long)json_number(state, "lineNumber", 0));
	put_list(out, "Related files", json_object_get(context, "relatedFiles"));
	put_line(out, "Test file", json_text(context, "testFile", NULL));
}

/* The steps of its sprint that are not completed: its own with what they wait for, and how many others. */
static void
put_steps(struct buf *out, const char *agent, const json_t *state, const struct epic_sprint *x)
{
	const json_t *steps = json_object_get(x->record, "steps");
	size_t done = 0, others = 0;

	for (size_t i = 0; i < json_array_size(steps); i++) {
		const json_t *step = json_array_get(steps, i), *needs = json_object_get(step, "blockedBy");
		const char *status = json_text(step, "status", ""), *owner = json_text(step, "agent", "");

		if (strcmp(status, "completed") == 0) {
			done++;
		} else if (strcmp(owner, agent) != 0 &&
		    strcmp(owner, json_text(state, "agentId", agent)) != 0) {
			others++;
		} else {
			buf_fmt(out, "Your open task: #%s %s (%s)", json_text(step, "id", ""),
			    json_text(step, "title", ""),
			    strcmp(status, "in_progress") == 0 ? "in progress when you died" : status);
			for (size_t k = 0; k < json_array_size(needs); k++)
				buf_fmt(out, "%s#%s", k == 0 ? ", waits for " : ", ",
				    json_string_value(json_array_get(needs, k)));
			buf_chr(out, '\n');
		}
	}
	if (json_array_size(steps) > 0)
		buf_fmt(out, "Tasks completed: %zu of %zu; %zu open ones of others\n", done,
		    json_array_size(steps), others);
}

/* A workflow goes on from its journal: agents that have finished are not started again. */
static void
put_relaunch(struct buf *out, const struct epic *x)
{
	const json_t *w = json_object_get(x->record, "workflow");

	if (json_text(w, "script", NULL) == NULL || json_text(w, "run", NULL) == NULL)
		return;
	buf_fmt(out,
	    "This workflow did not finish, and nothing runs of it. Relaunch it now, with the Workflow tool\n"
	    "and exactly this input: {\"scriptPath\": \"%s\", \"resumeFromRunId\": \"%s\"}\n"
	    "Agents that had finished are answered from its journal. Do not do their work yourself.\n",
	    json_text(w, "script", ""), json_text(w, "run", ""));
}

static int
write_all(struct store *s, const char *agent, const json_t *state, const char *cwd, double threshold,
    const struct epic *x, const struct epic_sprint *sprint, struct buf *out, struct err *e)
{
	const char *phase = json_text(sprint->record, "phase", "");

	buf_fmt(out, "Epic %s (%s), sprint %s, at %d%%%s%s.\n", json_text(x->record, "name", x->id), x->id,
	    sprint->id, (int)sprint->progress, *phase != '\0' ? ", phase " : "", phase);
	put_agent(out, agent, state, sprint);
	if (sprint_starts_over(sprint, threshold))
		buf_str(out,
		    "There was too little of the sprint to go on from: start it from the beginning,\n"
		    "and look first at what is on disk.\n");
	put_files(out, cwd, sprint);
	put_steps(out, agent, state, sprint);
	put_relaunch(out, x);
	if (put_tests(s, out, agent, sprint, e) != 0)
		return -1;
	put_validators(out, sprint);
	return put_needs(s, out, sprint, e);
}

int
epic_write_briefing(
    struct store *s, const char *agent, const char *cwd, double threshold, struct buf *out, struct err *e)
{
	struct timestamp now;
	struct epic_role x;
	int ret;

	store_timestamp(s, &now);
	ret = epic_role_find(s, agent, 0, &now, &x, e);
	if (ret > 0)
		ret = write_all(s, x.agent, x.state, cwd, threshold, x.epic, x.sprint, out, e) == 0 ? 1 : -1;
	epic_role_release(&x);
	return ret;
}
