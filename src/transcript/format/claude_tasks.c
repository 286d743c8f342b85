#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "transcript/format/format_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"

/*
 * The agent's task list: the todos of TodoWrite (1.0.128, 2.0.76), or a file for each task of the
 * Task tools, <config>/tasks/<session>/<number>.json (2.1.37 to 2.1.330). A deleted task has no file.
 */
#define TASKS_MAX 200
#define TASK_FILE_MAX ((size_t)256 << 10)

/* The marks with which the agent draws them. */
static const char *
task_mark(const char *status)
{
	return strcmp(status, "completed") == 0 ? "✔ " : strcmp(status, "in_progress") == 0 ? "◼ " : "◻ ";
}

void
claude_todos(struct buf *out, struct json_slice todos)
{
	struct json_walk w = json_slice_walk(todos);
	struct json_slice todo;

	while (!w.object && json_walk_next(&w, NULL, &todo)) {
		struct json_slice status = json_slice_get(todo, "status");

		if (out->len > 0)
			buf_chr(out, '\n');
		buf_str(out,
		    task_mark(json_slice_is(status, "completed")     ? "completed"
				: json_slice_is(status, "in_progress") ? "in_progress"
								       : ""));
		format_decode_text(out, json_slice_get(todo, "content"), CALL_MOST);
	}
}

/* <config>/tasks/<session> for <config>/projects/<folder>/<session>.jsonl, heap; NULL: another path. */
static char *
tasks_folder(const char *transcript)
{
	const char *name = strrchr(transcript, '/'), *folder, *projects;

	folder = name != NULL ? memrchr(transcript, '/', (size_t)(name - transcript)) : NULL;
	projects = folder != NULL ? memrchr(transcript, '/', (size_t)(folder - transcript)) : NULL;
	if (projects == NULL || strncmp(projects, "/projects/", strlen("/projects/")) != 0 ||
	    !str_ends(name, ".jsonl"))
		return NULL;
	return xasprintf("%.*s/tasks/%.*s", (int)(projects - transcript), transcript,
	    (int)(strlen(name + 1) - strlen(".jsonl")), name + 1);
}

static int
by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The numbers of the files, in order. */
static size_t
list_tasks(const char *folder, int v[TASKS_MAX])
{
	DIR *dir = opendir(folder);
	struct dirent *d;
	size_t n = 0;

	while (dir != NULL && n < TASKS_MAX && (d = readdir(dir)) != NULL) {
		size_t digits = strspn(d->d_name, "0123456789");

		if (digits > 0 && digits < 10 && strcmp(d->d_name + digits, ".json") == 0)
			v[n++] = atoi(d->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	qsort(v, n, sizeof *v, by_number);
	return n;
}

static json_t *
read_task(const char *folder, int number)
{
	char *path = xasprintf("%s/%d.json", folder, number);
	struct buf text = BUF_INIT;
	json_t *v = NULL;

	if (io_read_file(path, TASK_FILE_MAX, &text, NULL) == 0)
		v = json_loads(text.data, 0, NULL);
	buf_wipe(&text);
	free(path);
	return v;
}

static bool
is_completed(json_t *const *tasks, const int *numbers, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == atoi(id))
			return strcmp(json_text(tasks[i], "status", ""), "completed") == 0;
	return true;		/* it was deleted */
}

void
claude_tasks(struct transcript_reading *r)
{
	char *folder = tasks_folder(r->path);
	int numbers[TASKS_MAX];
	size_t n = folder != NULL ? list_tasks(folder, numbers) : 0, k;
	json_t *tasks[TASKS_MAX], *blocker;
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		tasks[i] = read_task(folder, numbers[i]);
	for (size_t i = 0; i < n; i++) {
		const char *subject = json_text(tasks[i], "subject", NULL), *before = " › blocked by #";

		if (subject == NULL)
			continue;
		buf_fmt(&out, "%s%s#%d %s", out.len > 0 ? "\n" : "",
		    task_mark(json_text(tasks[i], "status", "")), numbers[i], subject);
		json_array_foreach(json_object_get(tasks[i], "blockedBy"), k, blocker) {
			const char *id = json_is_string(blocker) ? json_string_value(blocker) : "";

			if (*id == '\0' || is_completed(tasks, numbers, n, id))
				continue;
			buf_fmt(&out, "%s%d", before, atoi(id));
			before = ", #";
		}
	}
	for (size_t i = 0; i < n; i++)
		json_decref(tasks[i]);
	builder_tasks(&r->t, &out);
	transcript_scrub_flush(&r->t.wash);
	free(folder);
}
