#include <string.h>

#include "epic/epic_private.h"
#include "app/app.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "scrub/scrub.h"
#include "store/store.h"

/* The first one that knows an id gives its source. */
static const struct epic_source sources[] = {
	{ "store", "plain JSON in Redis", false, epic_foreign_read },
	{ "workflows", "Claude Code workflows", true, epic_workflow_read },
	{ "teams", "Claude Code agent teams", true, epic_team_read },
	{ "tasks", "shared task lists of Claude Code", true, epic_tasks_read },
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

_Static_assert(COUNT(sources) <= EPIC_SOURCES, "struct epic_list has room for all sources");

const struct epic_source *
epic_source_by_name(const char *name)
{
	for (size_t i = 0; i < COUNT(sources); i++)
		if (strcmp(sources[i].name, name) == 0)
			return &sources[i];
	return NULL;
}

static const enum checkpoint_kind shapes[EPIC_RECORD_KINDS] = { CHECKPOINT_EPIC, CHECKPOINT_SPRINT,
	CHECKPOINT_AGENT, CHECKPOINT_FILE, CHECKPOINT_SIGNAL, CHECKPOINT_AGENT };

/* The list of files is no checkpoint itself. */
static void
adapt_files(const char *id, json_t *o, int64_t now)
{
	json_t *files = json_object_get(o, "files");

	for (size_t i = json_array_size(files); i-- > 0;) {
		json_t *file = json_array_get(files, i);

		if (json_is_object(file) && json_text(file, "path", NULL) != NULL)
			checkpoint_adapt(CHECKPOINT_FILE, id, file, now);
		else
			json_array_remove(files, i);
	}
	if (json_text(o, "sprintId", NULL) == NULL)
		json_put(o, "sprintId", id);
}

json_t *
epic_adapt(struct scrub *scrub, enum epic_record_kind at, const char *id, json_t *o, int64_t now)
{
	json_t *clean;

	if (at == EPIC_RECORD_FILES)
		adapt_files(id, o, now);
	else
		checkpoint_adapt(shapes[at], id, o, now);
	clean = checkpoint_scrub(shapes[at], o, scrub, NULL);
	json_decref(o);
	return clean;
}

bool
epic_survey_put(struct epic_survey *survey, enum epic_record_kind at, const char *id, json_t *o)
{
	json_t *clean = NULL, *found;
	char *key;

	if (json_is_object(o) && record_check_id("an id", id, NULL) == 0 &&
	    (survey->scrub != NULL || (survey->scrub = app_scrub(survey->w, NULL)) != NULL))
		clean = epic_adapt(survey->scrub, at, id, json_incref(o), survey->now.wall_ms);
	json_decref(o);
	if (clean == NULL)
		return false;
	if (at == EPIC_RECORD_EPIC || at == EPIC_RECORD_SPRINT) {
		key = epic_record_key(at, id);
		found = json_object();
		json_put(found, "source", survey->source->name);
		json_put(found, "key", key);
		json_put(found, "status", json_text(clean, "status", NULL));
		json_array_append_new(survey->out->found, found);
		free(key);
	}
	if (at == EPIC_RECORD_EPIC)
		survey->out->sources[survey->out->n_sources - 1].epics++;
	epic_shelf_put(&survey->shelf, at, id, clean, survey->source);
	return true;
}

static void
read_source(struct epic_survey *survey, const struct epic_source *source)
{
	struct epic_source_report *report = &survey->out->sources[survey->out->n_sources++];

	*report = (struct epic_source_report){ .source = source };
	survey->source = source;
	if (source->read(survey, &report->error) != 0 && report->error.code == 0)
		err_set(&report->error, GT_FAIL, "unreadable", "it cannot be read");
}

/* The id may be in what could not be read. */
static int
not_found(const struct epic_list *out, const char *id, struct err *e)
{
	for (size_t i = 0; i < out->n_sources; i++) {
		const struct epic_source_report *r = &out->sources[i];

		if (r->error.code == 0)
			continue;
		err_set(e, GT_FAIL, "unread", "no epic \"%.200s\" in what could be read; %s: %s", id,
		    r->source->title, r->error.msg);
		return err_hint(e, "%s", r->error.hint);
	}
	return -1;
}

int
epic_survey(struct app *w, struct store *s, const char *id, int64_t interval, const struct timestamp *now,
    struct epic_list *out, struct err *e)
{
	struct epic_survey survey = { .w = w, .store = s, .id = id, .now = *now, .out = out };
	int ret;

	memset(out, 0, sizeof *out);
	out->found = json_array();
	epic_shelf_init(&survey.shelf);
	ret = s != NULL ? epic_shelf_read(s, &survey.shelf, e) : 0;
	for (size_t i = 0; i < COUNT(sources) && ret == 0; i++)
		read_source(&survey, &sources[i]);
	if (ret == 0) {
		ret = epic_list_make(s, &survey.shelf, id, interval, now, out, e);
		if (ret != 0 && e != NULL && strcmp(e->name, "not-found") == 0)
			ret = not_found(out, id, e);
	}
	epic_shelf_release(&survey.shelf);
	epic_claude_release(&survey.claude);
	scrub_free(survey.scrub);
	return ret;
}
