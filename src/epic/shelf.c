#include <stdlib.h>
#include <string.h>

#include "epic/epic_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

const char *
epic_bare_id(const char *id, const char *front)
{
	return str_starts(id, front) && id[strlen(front)] != '\0' ? id + strlen(front) : id;
}

static const struct {
	const char *front, *time;
} kinds[EPIC_RECORD_KINDS] = {
	[EPIC_RECORD_EPIC] = { "epic-", "lastCheckpoint" },
	[EPIC_RECORD_SPRINT] = { "sprint-", "lastCheckpoint" },
	[EPIC_RECORD_AGENT] = { "", "lastHeartbeat" },
	[EPIC_RECORD_FILES] = { "sprint-", NULL },
	[EPIC_RECORD_READY] = { "sprint-", "readyAt" },
	[EPIC_RECORD_CHECKPOINT] = { "", "lastHeartbeat" },
};

void
epic_shelf_init(struct epic_shelf *shelf)
{
	for (size_t i = 0; i < EPIC_RECORD_KINDS; i++)
		shelf->of[i] = json_object();
	shelf->of_sprint = json_object();
	shelf->of_epic = json_object();
}

void
epic_shelf_release(struct epic_shelf *shelf)
{
	for (size_t i = 0; i < EPIC_RECORD_KINDS; i++)
		json_decref(shelf->of[i]);
	json_decref(shelf->of_sprint);
	json_decref(shelf->of_epic);
}

json_t *
epic_shelf_get(const struct epic_shelf *shelf, enum epic_record_kind at, const char *id)
{
	return json_object_get(
	    json_object_get(shelf->of[at], *kinds[at].front != '\0' ? epic_bare_id(id, kinds[at].front) : id),
	    "value");
}

/* What both know is told by the newer one; what only the older one knows is kept. */
static json_t *
merge_records(enum epic_record_kind at, json_t *known, json_t *o, bool live)
{
	int64_t had = kinds[at].time != NULL ? checkpoint_time(known, kinds[at].time) : 0,
		has = kinds[at].time != NULL ? checkpoint_time(o, kinds[at].time) : 0;
	/* one that was abandoned stays so until its source has moved on */
	bool newer = json_flag(known, "abandoned", false) ? has > had : live || has >= had;
	json_t *merged;

	if (newer && json_flag(known, "abandoned", false))
		return json_incref(o);
	merged = json_copy(newer ? o : known);
	json_object_update_missing(merged, newer ? known : o);
	if (newer && had > has && kinds[at].time != NULL)
		checkpoint_set_time(merged, kinds[at].time, had);
	return merged;
}

void
epic_shelf_put(struct epic_shelf *shelf, enum epic_record_kind at, const char *id, json_t *o,
    const struct epic_source *source)
{
	const char *key = *kinds[at].front != '\0' ? epic_bare_id(id, kinds[at].front) : id;
	json_t *entry = json_object_get(shelf->of[at], key), *known = json_object_get(entry, "value");

	if (known != NULL) {
		json_object_set_new(
		    entry, "value", merge_records(at, known, o, source != NULL && source->live));
	} else {
		entry = json_object();
		json_object_set_new(entry, "id", json_bytes(id, strlen(id)));
		json_object_set(entry, "value", o);
		json_object_set_new(shelf->of[at], key, entry);
	}
	json_decref(o);
	if (source != NULL)
		json_put(entry, "source", source->name);
}

static void
append(json_t *map, const char *key, json_t *v)
{
	json_t *list = json_object_get(map, key);

	if (list == NULL)
		json_object_set_new(map, key, list = json_array());
	json_array_append(list, v);
}

void
epic_shelf_index(struct epic_shelf *shelf)
{
	const char *key;
	json_t *entry;

	json_object_foreach(shelf->of[EPIC_RECORD_SPRINT], key, entry) {
		const char *epic = json_text(json_object_get(entry, "value"), "epicId", NULL);

		if (epic != NULL)
			append(shelf->of_epic, epic_bare_id(epic, "epic-"), json_object_get(entry, "id"));
	}
	json_object_foreach(shelf->of[EPIC_RECORD_AGENT], key, entry) {
		json_t *o = json_object_get(entry, "value");
		const char *sprint = json_text(o, "sprintId", NULL);

		json_put(o, "agentId", json_text(entry, "id", ""));
		if (sprint != NULL)
			append(shelf->of_sprint, epic_bare_id(sprint, "sprint-"), o);
	}
}

/* ---- our own records ---- */

static int
put_record(const struct record *r, void *arg, struct err *e)
{
	enum epic_record_kind at = 0;
	json_t *o;
	char *id;

	while (at < EPIC_RECORD_KINDS && !epic_record_is(at, r->key))
		at++;
	if (at == EPIC_RECORD_KINDS || at == EPIC_RECORD_CHECKPOINT)
		return 0;
	if ((o = epic_record_object(r, e)) == NULL)
		return -1;
	id = epic_record_id(at, r->key);
	epic_shelf_put(arg, at, id, o, NULL);
	free(id);
	return 0;
}

int
epic_shelf_read(struct store *s, struct epic_shelf *shelf, struct err *e)
{
	static const char *const prefixes[] = { "epic:", "sprint:", "interface:", "agent:" };

	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		if (store_each(s, prefixes[i], NULL, put_record, shelf, e) != 0)
			return -1;
	return 0;
}
