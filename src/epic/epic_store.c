#include <stdlib.h>
#include <string.h>

#include "epic/epic_private.h"
#include "epic/epic.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "records/records.h"
#include "store/store.h"

static const struct { const char *prefix, *suffix, *front, *tag;
} places[EPIC_RECORD_KINDS] = {
	[EPIC_RECORD_EPIC] = { "epic:", ":state", "epic-", NULL },
	[EPIC_RECORD_SPRINT] = { "sprint:", ":state", "sprint-", NULL },
	[EPIC_RECORD_AGENT] = { "agent:", ":state", NULL, "agent" },
	[EPIC_RECORD_FILES] = { "sprint:", ":files", "sprint-", "files" },
	[EPIC_RECORD_READY] = { "interface:", ":ready", "sprint-", "ready" },
	[EPIC_RECORD_CHECKPOINT] = { "agent:", ":checkpoint", NULL, "agent" },
};

char *
epic_record_key(enum epic_record_kind at, const char *id)
{
	return xasprintf("%s%s%s", places[at].prefix, id, places[at].suffix);
}

int
epic_record_is(enum epic_record_kind at, const char *key)
{
	return str_starts(key, places[at].prefix) && str_ends(key, places[at].suffix) &&
	    strlen(key) > strlen(places[at].prefix) + strlen(places[at].suffix);
}

char *
epic_record_id(enum epic_record_kind at, const char *key)
{
	size_t front = strlen(places[at].prefix);

	return xstrndup(key + front, strlen(key) - front - strlen(places[at].suffix));
}

const char *
epic_record_prefix(enum epic_record_kind at)
{
	return places[at].prefix;
}

/* Without the word that may stand in front. */
static const char *
bare_id(enum epic_record_kind at, const char *id)
{
	const char *front = places[at].front;

	return front != NULL && str_starts(id, front) && id[strlen(front)] != '\0' ? id + strlen(front) : id;
}

int
epic_record_same_id(enum epic_record_kind at, const char *a, const char *b)
{
	return strcmp(bare_id(at, a), bare_id(at, b)) == 0;
}

char *
epic_record_twin(enum epic_record_kind at, const char *id)
{
	if (places[at].front == NULL)
		return NULL;
	return bare_id(at, id) != id ? xstrdup(bare_id(at, id)) : xasprintf("%s%s", places[at].front, id);
}

json_t *
epic_record_object(const struct record *r, struct err *e)
{
	json_t *o = record_object(r, NULL, EPIC_RECORD_SCHEMA, e);
	int at = 0;

	while (at < EPIC_RECORD_KINDS && !epic_record_is((enum epic_record_kind)at, r->key))
		at++;
	if (o != NULL && at < EPIC_RECORD_KINDS &&
	    record_check_tag(r, epic_record_tag((enum epic_record_kind)at, o), e) != 0) {
		json_decref(o);
		return NULL;
	}
	if (o != NULL)
		json_object_del(o, "schema_version");
	return o;
}

char *
epic_record_value(json_t *o, struct err *e)
{
	json_t *whole = json_object();
	char *value;

	json_put_int(whole, "schema_version", EPIC_RECORD_SCHEMA);
	json_object_update_missing(whole, o);
	json_decref(o);
	value = record_value(whole);
	if (strlen(value) <= CHECKPOINT_MAX)
		return value;
	free(value);
	err_set(e, GT_USAGE, "too-large", "a checkpoint has at most %zu KiB", CHECKPOINT_MAX >> 10);
	err_hint(e, "Omit the contents of files");
	return NULL;
}

const char *
epic_record_tag(enum epic_record_kind at, const json_t *o)
{
	static const char *const states[] = { "completed", "starting", "waiting" };

	for (size_t i = 0; i < sizeof states / sizeof states[0] && places[at].tag == NULL; i++)
		if (strcmp(json_text(o, "status", ""), states[i]) == 0)
			return states[i];
	return places[at].tag != NULL ? places[at].tag : "in_progress";
}

int
epic_record_find(
    struct store *s, enum epic_record_kind at, const char *id, struct record *r, json_t **o, struct err *e)
{
	char *key = epic_record_key(at, id), *other = epic_record_twin(at, id);
	int found = store_get(s, key, r, e);

	if (o != NULL)
		*o = NULL;
	free(key);
	if (found == 0 && other != NULL) {
		key = epic_record_key(at, other);
		found = store_get(s, key, r, e);
		free(key);
	}
	free(other);
	if (found > 0 && o != NULL && (*o = epic_record_object(r, e)) == NULL) {
		store_record_release(r);
		return -1;
	}
	return found;
}

/* ---- writing ---- */

struct writing {
	enum checkpoint_kind shape;
	const char *id;
	const json_t *o;
	char *key;				/* of the record that was written */
	bool told;				/* a new record, or another state */
	const char *epic;			/* of a sprint that starts over */
};

static const enum epic_record_kind place_of[CHECKPOINT_KINDS] = { EPIC_RECORD_EPIC, EPIC_RECORD_SPRINT,
	EPIC_RECORD_AGENT, EPIC_RECORD_FILES, EPIC_RECORD_READY };

/* The record with that key gets the object, which is released. key is taken over. */
static int
put_object(struct txn *t, const struct writing *w, enum epic_record_kind at, char *key, int64_t expect,
    json_t *o, struct err *e)
{
	const char *tag = epic_record_tag(at, o);
	char *value = epic_record_value(o, e);

	if (value != NULL) {
		txn_write(t, key, expect, tag, value);
		return 0;
	}
	free(key);
	if (at == EPIC_RECORD_FILES) {
		err_set(e, GT_USAGE, "too-large",
		    "the files of the sprint %.200s together have more than %zu KiB", w->id,
		    CHECKPOINT_MAX >> 10);
		err_hint(e, "Record only path and line of each, or split the sprint");
	}
	return -1;
}

/* A record is made under one spelling of its id: there must be none of the other. */
static void
expect_no_twin(struct txn *t, enum epic_record_kind at, const char *id)
{
	char *other = epic_record_twin(at, id);

	if (other != NULL)
		txn_check(t, epic_record_key(at, other), STORE_ABSENT);
	free(other);
}

/* One that tells no more than that it is there. */
static bool
is_heartbeat(const json_t *o)
{
	static const char *const more[] = { "currentTask", "fileBeingEdited", "lineNumber", "taskProgress",
		"context" };

	for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
		if (json_object_get(o, more[i]) != NULL)
			return false;
	return true;
}

/* o is released. */
static int
put_agent_checkpoint(struct txn *t, const struct writing *w, json_t *o, struct err *e)
{
	struct record r;
	int found = epic_record_find(t->s, EPIC_RECORD_CHECKPOINT, w->id, &r, NULL, e), ret = -1;

	if (found >= 0)
		ret = put_object(t, w, EPIC_RECORD_CHECKPOINT,
		    epic_record_key(EPIC_RECORD_CHECKPOINT, w->id), r.version, o, e);
	else
		json_decref(o);
	store_record_release(&r);
	return ret;
}

/* The entry of the epic's sprints[], and what follows from it. */
static int
put_in_epic(struct txn *t, const struct writing *w, const json_t *old, struct err *e)
{
	const char *id = json_text(w->o, "epicId", json_text(old, "epicId", NULL)),
		   *status = json_text(w->o, "status", "");
	json_t *epic, *entry, *progress = json_object_get(w->o, "progress");
	struct record r;
	size_t i;
	int found = id != NULL ? epic_record_find(t->s, EPIC_RECORD_EPIC, id, &r, &epic, e) : 0, ret = 0;

	if (found <= 0)
		return found;
	json_array_foreach(json_object_get(epic, "sprints"), i, entry) {
		if (!epic_record_same_id(EPIC_RECORD_SPRINT, json_text(entry, "id", ""), w->id) ||
		    (strcmp(json_text(entry, "status", ""), status) == 0 &&
			json_equal(json_object_get(entry, "progress"), progress)))
			continue;
		json_put(entry, "status", status);
		json_object_set(entry, "progress", progress);
		checkpoint_count_sprints(epic);
		ret = put_object(
		    t, w, EPIC_RECORD_EPIC, xstrdup(r.key), r.version, json_incref(epic), e);
		break;
	}
	json_decref(epic);
	store_record_release(&r);
	return ret;
}

/* The file in the place of what was known of it. */
static json_t *
with_file(const json_t *old, const json_t *file, const char *sprint)
{
	json_t *o = json_object(), *files = json_array(), *one;
	const char *path = json_text(file, "path", "");
	size_t i;

	json_array_foreach(json_object_get(old, "files"), i, one)
		if (strcmp(json_text(one, "path", ""), path) != 0)
			json_array_append(files, one);
	json_array_append(files, (json_t *)(uintptr_t)file);
	json_put(o, "sprintId", json_text(old, "sprintId", sprint));
	json_object_set_new(o, "files", files);
	return o;
}

/* What an object belongs to need not be said every time. */
static void
carry_over(json_t *o, const json_t *old)
{
	static const char *const links[] = { "epicId", "sprintId", "sessionId" };

	for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
		if (json_text(o, links[i], NULL) == NULL && json_text(old, links[i], NULL) != NULL)
			json_put(o, links[i], json_text(old, links[i], NULL));
}

static json_t *
value_of(const struct writing *w, const json_t *old, int64_t now)
{
	json_t *o;

	if (w->shape == CHECKPOINT_FILE)
		return with_file(old, w->o, w->id);
	if (w->shape == CHECKPOINT_SIGNAL) {
		o = json_object();
		json_put(o, "sprintId", w->id);
		checkpoint_set_time(o, "readyAt", now);
		json_object_set(o, "contract", (json_t *)(uintptr_t)w->o);
		return o;
	}
	o = json_deep_copy(w->o);
	if (w->shape == CHECKPOINT_AGENT && is_heartbeat(o))
		json_object_update_missing(o, (json_t *)(uintptr_t)old);
	if (w->shape == CHECKPOINT_SPRINT || w->shape == CHECKPOINT_AGENT)
		carry_over(o, old);
	return o;
}

/* Under which id a new record is made: as the checkpoint itself spells it. */
static const char *
new_id(const struct writing *w)
{
	if (w->shape == CHECKPOINT_EPIC)
		return json_text(w->o, "epicId", w->id);
	return w->shape == CHECKPOINT_SPRINT ? json_text(w->o, "sprintId", w->id) : w->id;
}

/*
 * Two epics may call their sprints alike: the record is of the one that had it first, for as long
 * as there is that epic.
 */
static int
check_epic(struct store *s, const struct writing *w, const json_t *old, struct err *e)
{
	const char *told = json_text(w->o, "epicId", NULL), *had = json_text(old, "epicId", NULL);
	struct record r;
	int found;

	if (w->shape != CHECKPOINT_SPRINT || told == NULL || had == NULL ||
	    epic_record_same_id(EPIC_RECORD_EPIC, told, had))
		return 0;
	if ((found = epic_record_find(s, EPIC_RECORD_EPIC, had, &r, NULL, e)) <= 0)
		return found;
	store_record_release(&r);
	err_set(e, GT_REFUSED, "other-epic", "the sprint \"%.200s\" is one of the epic %.200s, not of %.200s",
	    w->id, had, told);
	return err_hint(
	    e, "Use a unique id; or, if that epic is finished: gt-recover epic abandon %.200s", had);
}

static int
collect(struct txn *t, struct writing *w, struct err *e)
{
	enum epic_record_kind at = place_of[w->shape];
	struct record r;
	json_t *old, *o, *kept;
	int found = epic_record_find(t->s, at, w->id, &r, &old, e), ret;

	if (found < 0 || check_epic(t->s, w, old, e) != 0) {
		if (found >= 0) {
			json_decref(old);
			store_record_release(&r);
		}
		return -1;
	}
	free(w->key);
	w->key = found > 0 ? xstrdup(r.key) : epic_record_key(at, new_id(w));
	o = value_of(w, old, store_now(t->s));
	w->told = w->shape != CHECKPOINT_FILE && (found == 0 || strcmp(r.tag, epic_record_tag(at, o)) != 0);
	kept = w->shape == CHECKPOINT_AGENT &&
		(!is_heartbeat(w->o) || json_text(w->o, "sessionId", NULL) != NULL)
	    ? json_deep_copy(o)
	    : NULL;
	ret = put_object(t, w, at, xstrdup(w->key), r.version, o, e);
	if (found == 0)
		expect_no_twin(t, at, new_id(w));
	if (ret == 0 && kept != NULL)
		ret = put_agent_checkpoint(t, w, json_incref(kept), e);
	if (ret == 0 && w->shape == CHECKPOINT_SPRINT)
		ret = put_in_epic(t, w, old, e);
	json_decref(kept);
	json_decref(old);
	store_record_release(&r);
	return ret;
}

static int
write_once(struct txn *t, void *arg, struct err *e)
{
	struct writing *w = arg;
	char kind[64];

	w->told = false;
	if (collect(t, w, e) != 0)
		return -1;
	snprintf(kind, sizeof kind, "%s.%s",
	    w->shape == CHECKPOINT_SIGNAL ? "interface" : checkpoint_kind_name(w->shape),
	    w->shape == CHECKPOINT_AGENT ? "known" : t->v[0].tag);
	if (w->told)
		txn_event(t, kind, w->id, NULL, NULL);
	return 0;
}

/* ---- starting over ---- */

static json_t *
without_progress(const struct writing *w, const json_t *old)
{
	static const char *const gone[] = { "phase", "filesWritten", "filesInProgress", "confidence",
		"validators", "tests" };
	json_t *o = old != NULL ? json_deep_copy(old) : json_object();
	const json_t *lock = json_object_get(json_object_get(old, "tests"), "lock");

	for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
		json_object_del(o, gone[i]);
	if (lock != NULL)
		json_object_set_new(o, "tests", json_pack("{sO}", "lock", lock));
	if (json_text(o, "sprintId", NULL) == NULL)
		json_put(o, "sprintId", w->id);
	if (json_text(o, "epicId", NULL) == NULL)
		json_put(o, "epicId", w->epic);
	json_put(o, "status", "starting");
	json_put_int(o, "progress", 0);
	return o;
}

static int
drop_files(struct txn *t, const struct writing *w, struct err *e)
{
	struct record r;
	int found = epic_record_find(t->s, EPIC_RECORD_FILES, w->id, &r, NULL, e);

	if (found > 0)
		txn_delete(t, xstrdup(r.key), r.version);
	store_record_release(&r);
	return found < 0 ? -1 : 0;
}

static int
over_once(struct txn *t, void *arg, struct err *e)
{
	struct writing *w = arg;
	json_t *old, *o;
	struct record r;
	int found = epic_record_find(t->s, EPIC_RECORD_SPRINT, w->id, &r, &old, e), ret;

	if (found < 0)
		return -1;
	w->o = o = without_progress(w, old);
	ret = put_object(t, w, EPIC_RECORD_SPRINT,
	    found > 0 ? xstrdup(r.key) : epic_record_key(EPIC_RECORD_SPRINT, w->id), r.version,
	    json_incref(o), e);
	if (found == 0)
		expect_no_twin(t, EPIC_RECORD_SPRINT, w->id);
	if (ret == 0 && (ret = put_in_epic(t, w, old, e)) == 0)
		ret = drop_files(t, w, e);
	txn_event(t, "sprint.starting", w->id, NULL, "it starts over");
	json_decref(o);
	json_decref(old);
	store_record_release(&r);
	return ret;
}

int
sprint_reset(struct store *s, const char *epic, const char *sprint, struct err *e)
{
	struct writing w = { .shape = CHECKPOINT_SPRINT, .id = sprint, .epic = epic };

	return txn_run(s, over_once, &w, e);
}

int
checkpoint_commit(
    struct store *s, enum checkpoint_kind shape, const char *id, const json_t *o, char **key, struct err *e)
{
	struct writing w = { .shape = shape, .id = id, .o = o };
	int ret = txn_run(s, write_once, &w, e);

	if (ret == 0 && key != NULL)
		*key = w.key;
	else
		free(w.key);
	return ret;
}
