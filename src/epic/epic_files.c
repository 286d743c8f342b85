#include <stdlib.h>
#include <string.h>

#include "epic/epic_private.h"
#include "epic/epic.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"

static double
share(const json_t *o, const char *member)
{
	const json_t *v = json_object_get(o, member);

	return json_is_number(v) ? json_number_value(v) : -1;
}

static char *
copy(const json_t *o, const char *member)
{
	const char *text = json_text(o, member, NULL);

	return text != NULL && *text != '\0' ? xstrdup(text) : NULL;
}

/* done: what the list that it stands in says of it. seen: path -> place in files. */
static void
take_file(struct epic_sprint *x, json_t *seen, const json_t *o, bool done, int64_t at)
{
	const char *path = json_text(o, "path", NULL);
	size_t told = x->n_files;
	const json_t *known = path != NULL ? json_object_get(seen, path) : NULL;
	int64_t own = checkpoint_time(o, "lastCheckpoint");
	struct epic_file *f;

	if (path == NULL)
		return;
	if (own == 0)
		own = at;
	if (known == NULL) {
		x->files = vec_room(x->files, x->n_files, &x->files_cap, sizeof *x->files);
		f = &x->files[x->n_files];
		json_object_set_new(seen, path, json_integer((json_int_t)x->n_files++));
	} else {
		told = (size_t)json_integer_value(known);
		f = &x->files[told];
		if (f->at > own)
			return;
		free(f->path);
		free(f->last);
		free(f->next);
	}
	*f = (struct epic_file){ .path = xstrdup(path),
		.last = copy(o, "lastCompletedSection"),
		.next = copy(o, "nextSection"),
		.line = json_number(o, "currentLine", 0),
		.confidence = share(o, "confidence"),
		.completed = json_flag(o, "completed", done),
		.at = own,
		.told = told };
}

static void
read_file_list(
    struct epic_sprint *x, json_t *seen, const json_t *o, const char *member, bool done, int64_t at)
{
	const json_t *list = json_object_get(o, member);

	for (size_t i = 0; i < json_array_size(list); i++)
		take_file(x, seen, json_array_get(list, i), done, at);
}

static int
by_age(const void *a, const void *b)
{
	const struct epic_file *x = a, *y = b;

	if (x->completed != y->completed)
		return x->completed ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->told < y->told ? -1 : 1;
}

/* Its own; else the mean of its files'. */
static double
confidence_of(const struct epic_sprint *x)
{
	const json_t *own = json_object_get(x->record, "confidence");
	double sum = 0, loop2 = share(own, "loop2"), loop3 = share(own, "loop3");
	size_t n = 0;

	if (loop2 >= 0 || loop3 >= 0)
		return loop2 >= 0 ? loop2 : loop3;
	for (size_t i = 0; i < x->n_files; i++)
		if (x->files[i].confidence >= 0) {
			sum += x->files[i].confidence;
			n++;
		}
	return n > 0 ? sum / (double)n : -1;
}

/*
 * The files of a sprint: those of its own record and those of sprint:<id>:files (NULL: none), of
 * each path the newest. Sets files, n_files, completed and confidence.
 */
void
epic_files_read(struct epic_sprint *x, const json_t *files)
{
	int64_t at = checkpoint_time(x->record, "lastCheckpoint");
	json_t *seen = json_object();

	read_file_list(x, seen, x->record, "filesWritten", true, at);
	read_file_list(x, seen, x->record, "filesInProgress", false, at);
	read_file_list(x, seen, files, "files", false, at);
	json_decref(seen);
	if (x->n_files > 0)
		qsort(x->files, x->n_files, sizeof *x->files, by_age);
	for (size_t i = 0; i < x->n_files; i++)
		x->completed += x->files[i].completed;
	x->confidence = confidence_of(x);
}
