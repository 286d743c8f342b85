#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "epic/brief.h"
#include "epic/epic.h"
#include "epic/part.h"
#include "epic/shape.h"
#include "epic/state.h"
#include "epic/test_lock.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/moment.h"
#include "store/store.h"

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

static int
put_tests(struct store *s, struct buf *out, const char *agent, const struct epic_sprint *x, struct err *e)
{
	const json_t *tests = json_object_get(x->record, "tests");
	int64_t run = json_number(tests, "run", -1), total = json_number(tests, "total", -1);
	struct moment now;

	if (!json_is_object(tests))
		return 0;
	moment_now(&now);
	now.wall_ms = store_now(s);
	if (run >= 0 && total >= 0)
		buf_fmt(out, "Tests: %lld of %lld had run before the crash. ", (long long)run, (long long)total);
	buf_str(out, "Run the whole test suite again: what ran when it died proves nothing.\n");
	put(out, "  Last test", json_text(tests, "last", NULL));
	return test_lock_tell(s, x, agent, &now, out, e);
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
	if (put_tests(s, out, agent, sprint, e) != 0)
		return -1;
	put_validators(out, sprint);
	return put_needs(s, out, sprint, e);
}

int
brief_write(struct store *s, const char *agent, const char *cwd, double threshold, struct buf *out, struct err *e)
{
	struct moment now;
	struct part x;
	int ret;

	store_moment(s, &now);
	ret = part_find(s, agent, 0, &now, &x, e);
	if (ret > 0)
		ret = write_all(s, x.agent, x.state, cwd, threshold, x.epic, x.sprint, out, e) == 0 ? 1 : -1;
	part_release(&x);
	return ret;
}
