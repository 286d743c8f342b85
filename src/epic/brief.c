#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "epic/brief.h"
#include "epic/epic.h"
#include "epic/shape.h"
#include "epic/state.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/moment.h"
#include "store/store.h"

/* ---- whose it is ---- */

struct search {
	const char *agent;			/* or its session */
	char *found;				/* heap: the id of its epic, or of the agent */
};

/* 1: this sprint lists the agent. */
static int
lists_agent(const struct record *r, void *arg, struct err *e)
{
	struct search *found = arg;
	json_t *o = state_is(STATE_SPRINT, r->key) ? state_object(r, e) : NULL;
	const json_t *agents = json_object_get(o, "agents");
	const char *epic = json_text(o, "epicId", NULL);
	bool here = false;

	if (o == NULL)
		return state_is(STATE_SPRINT, r->key) ? -1 : 0;
	for (size_t i = 0; i < json_array_size(agents) && !here && epic != NULL; i++)
		here = strcmp(json_text(json_array_get(agents, i), "id", ""), found->agent) == 0;
	if (here)
		found->found = xstrdup(epic);
	json_decref(o);
	return here;
}

/* The epic of an agent by its own record, by its sprint's, or by a sprint that lists it. Heap; NULL: none. -1 with err. */
static int
find_epic(struct store *s, const char *agent, const json_t *state, char **epic, struct err *e)
{
	const char *sprint = json_text(state, "sprintId", NULL), *told = json_text(state, "epicId", NULL);
	struct search search = { .agent = agent };
	json_t *o = NULL;
	struct record r;
	int ret = 0;

	if (told == NULL && sprint != NULL) {
		ret = state_find(s, STATE_SPRINT, sprint, &r, &o, e);
		if (ret > 0)
			record_release(&r);
		told = json_text(o, "epicId", NULL);
	}
	if (told != NULL)
		search.found = xstrdup(told);
	else if (ret >= 0 && sprint == NULL)
		ret = store_each(s, state_prefix(STATE_SPRINT), NULL, lists_agent, &search, e);
	json_decref(o);
	*epic = search.found;
	return ret < 0 ? -1 : 0;
}

static const struct epic_sprint *
sprint_of(const struct epic *x, const char *agent, const json_t *state)
{
	const char *told = json_text(state, "sprintId", NULL);

	for (size_t i = 0; i < x->n; i++) {
		const json_t *agents = json_object_get(x->sprints[i].record, "agents");

		if (told != NULL && state_same(STATE_SPRINT, told, x->sprints[i].id))
			return &x->sprints[i];
		for (size_t k = 0; told == NULL && k < json_array_size(agents); k++)
			if (strcmp(json_text(json_array_get(agents, k), "id", ""), agent) == 0)
				return &x->sprints[i];
	}
	return NULL;
}

/* 1: this agent's session is the one that is looked for. */
static int
is_session(const struct record *r, void *arg, struct err *e)
{
	struct search *found = arg;
	json_t *o = state_is(STATE_CHECKPOINT, r->key) ? state_object(r, e) : NULL;
	bool here = strcmp(json_text(o, "sessionId", ""), found->agent) == 0;

	if (o == NULL)
		return state_is(STATE_CHECKPOINT, r->key) ? -1 : 0;
	if (here)
		found->found = state_id(STATE_CHECKPOINT, r->key);
	json_decref(o);
	return here;
}

/* The agent's last checkpoint, NULL: none, and its id, heap. -1 with err. */
static int
find_agent(struct store *s, const char *agent, char **id, json_t **state, struct err *e)
{
	struct search search = { .agent = agent };
	struct record r;
	int found = state_find(s, STATE_CHECKPOINT, agent, &r, state, e);

	*id = xstrdup(agent);
	if (found == 0 && (found = store_each(s, state_prefix(STATE_CHECKPOINT), NULL, is_session, &search, e)) > 0) {
		free(*id);
		*id = search.found;
		found = state_find(s, STATE_CHECKPOINT, *id, &r, state, e);
	}
	if (found > 0)
		record_release(&r);
	return found < 0 ? -1 : 0;
}

/* ---- what it is told ---- */

static void
put(struct buf *out, const char *what, const char *text)
{
	if (text != NULL && *text != '\0')
		buf_fmt(out, "%s: %s\n", what, text);
}

static void
put_list(struct buf *out, const char *what, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		buf_fmt(out, "%s%s%s", i == 0 ? what : "", i == 0 ? ": " : "; ", json_string_value(json_array_get(list, i)));
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
		buf_fmt(out, "  On disk it was saved %s the checkpoint: take its content as it stands there, and look how far it is;\n"
		    "  the checkpoint says what comes next.\n", (int64_t)st.st_mtim.tv_sec * 1000 > f->at ? "after" : "before");
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
		put(out, "  Last completed section", f->last);
		put(out, "  Go on with section", f->next);
		put_disk(out, cwd, f);
	}
	if (x->n_files > 0)
		buf_fmt(out, "Files completed: %zu of %zu\n", x->completed, x->n_files);
}

static void
put_tests(struct buf *out, const struct epic_sprint *x)
{
	const json_t *tests = json_object_get(x->record, "tests");
	int64_t run = json_number(tests, "run", -1), total = json_number(tests, "total", -1);

	if (!json_is_object(tests))
		return;
	if (run >= 0 && total >= 0)
		buf_fmt(out, "Tests: %lld of %lld had run before the crash. ", (long long)run, (long long)total);
	buf_str(out, "Run the whole test suite again: what ran when it died proves nothing.\n");
	put(out, "  Last test", json_text(tests, "last", NULL));
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
			put(out, "  Last validated", json_text(one, "lastValidated", NULL));
			put(out, "  Go on with", json_text(one, "next", NULL));
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
		int found = state_find(s, STATE_READY, need->id, &r, &ready, e);

		if (found < 0)
			return -1;
		buf_fmt(out, "Depends on sprint %s: %s\n", need->id, need->resolved ? "resolved, go on" : "not ready, wait for its signal");
		if (found > 0) {
			buf_fmt(out, "  Signal %s with the contract ", r.key);
			json_print(out, json_object_get(ready, "contract"), false);
			buf_chr(out, '\n');
		}
		json_decref(ready);
		record_release(&r);
	}
	put_list(out, "Done while waiting", json_object_get(x->record, "productiveWork"));
	return 0;
}

static void
put_agent(struct buf *out, const char *agent, const json_t *state, const struct epic_sprint *x)
{
	const json_t *task = json_object_get(state, "taskProgress"), *context = json_object_get(state, "context");
	const json_t *listed = json_object_get(x->record, "agents");

	buf_fmt(out, "You are its agent %s.\n", agent);
	put(out, "Your task", json_text(state, "currentTask", NULL));
	for (size_t i = 0; i < json_array_size(listed) && json_text(state, "currentTask", NULL) == NULL; i++)
		if (strcmp(json_text(json_array_get(listed, i), "id", ""), agent) == 0)
			put(out, "Your task", json_text(json_array_get(listed, i), "task", NULL));
	put_list(out, "Subtasks completed", json_object_get(task, "subtasksCompleted"));
	put_list(out, "Subtasks remaining", json_object_get(task, "subtasksRemaining"));
	put(out, "You edited", json_text(state, "fileBeingEdited", NULL));
	if (json_number(state, "lineNumber", 0) > 0)
		buf_fmt(out, "  at line %lld\n", (long long)json_number(state, "lineNumber", 0));
	put_list(out, "Related files", json_object_get(context, "relatedFiles"));
	put(out, "Test file", json_text(context, "testFile", NULL));
}

static int
write_all(struct store *s, const char *agent, const json_t *state, const char *cwd, double threshold, const struct epic *x,
    const struct epic_sprint *sprint, struct buf *out, struct err *e)
{
	const char *phase = json_text(sprint->record, "phase", "");

	buf_fmt(out, "Epic %s (%s), sprint %s, at %d%%%s%s.\n", json_text(x->record, "name", x->id), x->id, sprint->id,
	    (int)sprint->progress, *phase != '\0' ? ", phase " : "", phase);
	put_agent(out, agent, state, sprint);
	if (sprint_early(sprint, threshold))
		buf_str(out, "There was too little of the sprint to go on from: start it from the beginning,\n"
		    "and look first at what is on disk.\n");
	put_files(out, cwd, sprint);
	put_tests(out, sprint);
	put_validators(out, sprint);
	return put_needs(s, out, sprint, e);
}

int
brief_write(struct store *s, const char *agent, const char *cwd, double threshold, struct buf *out, struct err *e)
{
	const struct epic_sprint *sprint;
	struct epics list = { .n = 0 };
	struct moment now;
	json_t *state = NULL;
	char *epic = NULL, *id;
	int ret = find_agent(s, agent, &id, &state, e);

	moment_now(&now);
	if (ret == 0)
		ret = find_epic(s, id, state, &epic, e);
	if (ret == 0 && epic != NULL && epics_read(s, epic, 0, &now, &list, e) != 0) {
		/* an agent may name an epic that was abandoned */
		ret = e != NULL && strcmp(e->name, "not-found") == 0 ? 0 : -1;
		if (ret == 0)
			err_clear(e);
	} else if (ret == 0 && list.n > 0 && (sprint = sprint_of(&list.v[0], id, state)) != NULL) {
		ret = write_all(s, id, state, cwd, threshold, &list.v[0], sprint, out, e) == 0 ? 1 : -1;
	}
	epics_release(&list);
	json_decref(state);
	free(epic);
	free(id);
	return ret;
}
