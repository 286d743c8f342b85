#include <string.h>

#include "epic/shape_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "ledger/key.h"

#define YEAR_1973 100000000000LL		/* in ms; a smaller number is one of seconds */
#define YEAR_9999 253402300799999LL

static const char *const expected[] = {
	[TEXT] = "a string", [ID] = "an id", [TIME] = "a time: RFC 3339, or ms since 1970",
	[PAST] = "a time: RFC 3339, or ms since 1970",
	[STATUS] = "completed, in_progress, starting or waiting", [PERCENT] = "a number from 0 to 100",
	[COUNT] = "a whole number, not negative", [SHARE] = "a number from 0 to 1", [FLAG] = "true or false", [TEXTS] = "a list of strings",
	[OBJECT] = "an object", [OBJECTS] = "a list of objects", [LINKS] = "an object of lists of ids",
};

static const struct field sprint_entry[] = {
	{ "id", ID, NULL, true }, { "status", STATUS, NULL, true }, { "progress", PERCENT, NULL, false }, { NULL, TEXT, NULL, false },
};
static const struct field agent_entry[] = {
	{ "id", ID, NULL, true }, { "status", TEXT, NULL, false }, { "task", TEXT, NULL, false }, { NULL, TEXT, NULL, false },
};
static const struct field file[] = {
	{ "path", TEXT, NULL, true }, { "completed", FLAG, NULL, false }, { "lastCompletedSection", TEXT, NULL, false },
	{ "nextSection", TEXT, NULL, false }, { "currentLine", COUNT, NULL, false }, { "confidence", SHARE, NULL, false },
	{ "lastCheckpoint", PAST, NULL, false }, { NULL, TEXT, NULL, false },
};
static const struct field confidence[] = {
	{ "loop3", SHARE, NULL, false }, { "loop2", SHARE, NULL, false }, { NULL, TEXT, NULL, false },
};
static const struct field tests[] = {
	{ "run", COUNT, NULL, false }, { "total", COUNT, NULL, false }, { "last", TEXT, NULL, false }, { "lock", ID, NULL, false },
	{ NULL, TEXT, NULL, false },
};
static const struct field validator[] = {
	{ "id", ID, NULL, true }, { "status", TEXT, NULL, false }, { "score", SHARE, NULL, false }, { "progress", PERCENT, NULL, false },
	{ "lastValidated", TEXT, NULL, false }, { "next", TEXT, NULL, false }, { NULL, TEXT, NULL, false },
};
static const struct field progress[] = {
	{ "started", TIME, NULL, false }, { "estimatedCompletion", TIME, NULL, false }, { "subtasksCompleted", TEXTS, NULL, false },
	{ "subtasksRemaining", TEXTS, NULL, false }, { NULL, TEXT, NULL, false },
};
static const struct field context[] = {
	{ "dependencies", TEXTS, NULL, false }, { "relatedFiles", TEXTS, NULL, false }, { "testFile", TEXT, NULL, false },
	{ NULL, TEXT, NULL, false },
};
static const struct field epic[] = {
	{ "epicId", ID, NULL, false }, { "name", TEXT, NULL, false }, { "status", STATUS, NULL, false },
	{ "startTime", TIME, NULL, false },
	{ "lastCheckpoint", PAST, NULL, false }, { "totalSprints", COUNT, NULL, false }, { "completedSprints", COUNT, NULL, false },
	{ "inProgressSprints", COUNT, NULL, false }, { "waitingSprints", COUNT, NULL, false },
	{ "sprints", OBJECTS, sprint_entry, false }, { "dependencies", LINKS, NULL, false }, { NULL, TEXT, NULL, false },
};
static const struct field sprint[] = {
	{ "sprintId", ID, NULL, false }, { "epicId", ID, NULL, false }, { "status", STATUS, NULL, false }, { "phase", TEXT, NULL, false },
	{ "progress", PERCENT, NULL, false }, { "startTime", TIME, NULL, false }, { "lastCheckpoint", PAST, NULL, false },
	{ "agents", OBJECTS, agent_entry, false }, { "filesWritten", OBJECTS, file, false }, { "filesInProgress", OBJECTS, file, false },
	{ "confidence", OBJECT, confidence, false }, { "tests", OBJECT, tests, false }, { "validators", OBJECTS, validator, false },
	{ "waitStarted", PAST, NULL, false }, { "productiveWork", TEXTS, NULL, false }, { NULL, TEXT, NULL, false },
};
static const struct field agent[] = {
	{ "agentId", ID, NULL, false }, { "sessionId", ID, NULL, false }, { "sprintId", ID, NULL, false }, { "epicId", ID, NULL, false },
	{ "currentTask", TEXT, NULL, false },
	{ "fileBeingEdited", TEXT, NULL, false }, { "lineNumber", COUNT, NULL, false }, { "taskProgress", OBJECT, progress, false },
	{ "context", OBJECT, context, false }, { "confidenceScore", SHARE, NULL, false }, { "lastHeartbeat", PAST, NULL, false },
	{ NULL, TEXT, NULL, false },
};
static const struct field signal_fields[] = { { NULL, TEXT, NULL, false } };

static const struct { const char *name, *id, *time; const struct field *fields; } shapes[SHAPES] = {
	[SHAPE_EPIC] = { "epic", "epicId", "lastCheckpoint", epic }, [SHAPE_SPRINT] = { "sprint", "sprintId", "lastCheckpoint", sprint },
	[SHAPE_AGENT] = { "agent", "agentId", "lastHeartbeat", agent }, [SHAPE_FILE] = { "file", NULL, "lastCheckpoint", file },
	[SHAPE_SIGNAL] = { "signal", NULL, NULL, signal_fields },
};

const char *
shape_name(enum shape shape)
{
	return shapes[shape].name;
}

const struct field *
shape_fields(enum shape shape)
{
	return shapes[shape].fields;
}

int64_t
shape_time(const json_t *o, const char *member)
{
	const char *text = json_text(o, member, NULL);
	int64_t at = text != NULL ? clock_parse_iso(text) : -1;

	return at > 0 ? at : 0;
}

void
shape_put_time(json_t *o, const char *member, int64_t ms)
{
	struct buf text = BUF_INIT;

	clock_iso(&text, ms);
	/* as the seed writes them, where nothing is lost by it */
	if (ms % 1000 == 0 && text.len > 5) {
		buf_cut(&text, text.len - 5);
		buf_chr(&text, 'Z');
	}
	json_put(o, member, text.data);
	buf_release(&text);
}

/* ---- one member ---- */

static int
bad(struct err *e, const char *where, const char *what)
{
	struct buf shown = BUF_INIT;

	utf8_escape(&shown, where, strlen(where), 80);
	err_set(e, GT_USAGE, "checkpoint", "\"%s\" must be %s", shown.data, what);
	buf_release(&shown);
	return err_hint(e, "gt-recover help checkpoint");
}

static bool
is_status(const json_t *v)
{
	static const char *const words[] = { "completed", "in_progress", "starting", "waiting" };

	for (size_t i = 0; i < sizeof words / sizeof words[0] && json_is_string(v); i++)
		if (strcmp(json_string_value(v), words[i]) == 0)
			return true;
	return false;
}

static bool
within(const json_t *v, double most)
{
	double n = json_number_value(v);

	return json_is_number(v) && n >= 0 && n <= most;
}

static bool
is_texts(const json_t *v)
{
	for (size_t i = 0; i < json_array_size(v); i++)
		if (!json_is_string(json_array_get(v, i)))
			return false;
	return json_is_array(v);
}

static bool
is_id(const json_t *v)
{
	return json_is_string(v) && key_check_id("an id", json_string_value(v), NULL) == 0;
}

static bool
is_links(json_t *v)
{
	const char *key;
	json_t *list;
	size_t i;
	json_t *id;

	json_object_foreach(v, key, list) {
		if (key_check_id("an id", key, NULL) != 0 || !json_is_array(list))
			return false;
		json_array_foreach(list, i, id)
			if (!is_id(id))
				return false;
	}
	return json_is_object(v);
}

static bool
take_time(json_t *o, const char *name, const json_t *v)
{
	int64_t at = json_is_integer(v) ? json_integer_value(v) : json_is_string(v) ? clock_parse_iso(json_string_value(v)) : -1;

	if (at < YEAR_1973 || at > YEAR_9999)
		return false;
	shape_put_time(o, name, at);
	return true;
}

static int take_fields(const struct field *fields, json_t *o, const char *where, struct err *e);

static bool
take_simple(const struct field *f, json_t *o, json_t *v)
{
	switch (f->type) {
	case ID: return is_id(v);
	case TIME: case PAST: return take_time(o, f->name, v);
	case STATUS: return is_status(v);
	case PERCENT: return within(v, 100);
	case SHARE: return within(v, 1);
	case COUNT: return json_is_integer(v) && json_integer_value(v) >= 0;
	case FLAG: return json_is_boolean(v);
	case TEXTS: return is_texts(v);
	case LINKS: return is_links(v);
	case OBJECT: return json_is_object(v);
	case OBJECTS: return json_is_array(v);
	default: return json_is_string(v);
	}
}

static int
take_list(const struct field *f, json_t *v, const char *where, struct err *e)
{
	int ret = 0;

	for (size_t i = 0; i < json_array_size(v) && ret == 0; i++) {
		char *at = xasprintf("%s[%zu]", where, i);

		if (!json_is_object(json_array_get(v, i)))
			ret = bad(e, at, "an object");
		else
			ret = take_fields(f->inner, json_array_get(v, i), at, e);
		free(at);
	}
	return ret;
}

static int
take_field(const struct field *f, json_t *o, const char *where, struct err *e)
{
	json_t *v = json_object_get(o, f->name);
	int ret = 0;
	char *at;

	if ((v == NULL || json_is_null(v)) && !f->required)
		return 0;
	at = xasprintf("%s%s%s", where, *where != '\0' ? "." : "", f->name);
	if (!take_simple(f, o, v))
		ret = bad(e, at, expected[f->type]);
	else if (f->type == OBJECT)
		ret = take_fields(f->inner, v, at, e);
	else if (f->type == OBJECTS)
		ret = take_list(f, v, at, e);
	free(at);
	return ret;
}

static int
take_fields(const struct field *fields, json_t *o, const char *where, struct err *e)
{
	for (const struct field *f = fields; f->name != NULL; f++)
		if (take_field(f, o, where, e) != 0)
			return -1;
	return 0;
}

/* A sign of life from the future would be one for ever: who has a wrong clock was heard when he told it. */
static void
end_now(const struct field *fields, json_t *o, int64_t now)
{
	for (const struct field *f = fields; f != NULL && f->name != NULL && json_is_object(o); f++) {
		json_t *v = json_object_get(o, f->name);

		if (f->type == PAST && shape_time(o, f->name) > now)
			shape_put_time(o, f->name, now);
		if (f->type == OBJECT)
			end_now(f->inner, v, now);
		for (size_t i = 0; f->type == OBJECTS && i < json_array_size(v); i++)
			end_now(f->inner, json_array_get(v, i), now);
	}
}

/* ---- what belongs together ---- */

static const char *const counters[] = { "completedSprints", "inProgressSprints", "waitingSprints", "totalSprints" };

static size_t
counter_of(const char *status)
{
	return strcmp(status, "completed") == 0 ? 0 : strcmp(status, "waiting") == 0 ? 2 : 1;
}

static void
count(const json_t *sprints, int64_t n[4])
{
	memset(n, 0, 4 * sizeof n[0]);
	n[3] = (int64_t)json_array_size(sprints);
	for (size_t i = 0; i < json_array_size(sprints); i++)
		n[counter_of(json_text(json_array_get(sprints, i), "status", ""))]++;
}

void
shape_count(json_t *o)
{
	const json_t *sprints = json_object_get(o, "sprints");
	int64_t n[4];

	count(sprints, n);
	for (size_t i = 0; i < 4 && json_is_array(sprints); i++)
		json_put_int(o, counters[i], n[i]);
}

/* Not too many, and each once. */
static int
check_sprints(const json_t *sprints, struct err *e)
{
	json_t *seen;
	const json_t *v;
	int ret = 0;
	size_t i;

	if (json_array_size(sprints) > SHAPE_SPRINTS) {
		err_set(e, GT_USAGE, "checkpoint", "an epic has at most %d sprints", SHAPE_SPRINTS);
		return err_hint(e, "Make several epics of it");
	}
	seen = json_object();
	json_array_foreach(sprints, i, v) {
		const char *id = json_text(v, "id", "");

		if (json_object_get(seen, id) != NULL)
			ret = bad(e, "sprints", "a list in which each id stands once");
		json_object_set_new(seen, id, json_true());
	}
	json_decref(seen);
	return ret;
}

static int
check_counters(json_t *o, struct err *e)
{
	const json_t *sprints = json_object_get(o, "sprints");
	int64_t n[4], told[4];
	bool all = true;

	count(sprints, n);
	for (size_t i = 0; i < 4; i++) {
		told[i] = json_number(o, counters[i], -1);
		all = all && told[i] >= 0;
		if (json_is_array(sprints) && told[i] >= 0 && told[i] != n[i]) {
			err_set(e, GT_USAGE, "counters", "%s is %lld, but sprints[] says %lld", counters[i], (long long)told[i],
			    (long long)n[i]);
			return err_hint(e, "starting counts as in progress; counters that are left out are counted for you");
		}
	}
	if (!json_is_array(sprints) && all && told[0] + told[1] + told[2] != told[3]) {
		err_set(e, GT_USAGE, "counters", "completedSprints, inProgressSprints and waitingSprints do not add up to totalSprints");
		return err_hint(e, "starting counts as in progress; counters that are left out are counted for you");
	}
	return check_sprints(sprints, e);
}

/* What an epic and a sprint always tell. */
static void
fill_progress(json_t *o)
{
	bool done = strcmp(json_text(o, "status", ""), "completed") == 0;

	if (!json_is_number(json_object_get(o, "progress")))
		json_put_int(o, "progress", done ? 100 : 0);
}

static int
take_epic(json_t *o, struct err *e)
{
	json_t *sprints = json_object_get(o, "sprints");

	if (json_text(o, "status", NULL) == NULL)
		json_put(o, "status", "in_progress");
	for (size_t i = 0; i < json_array_size(sprints); i++)
		fill_progress(json_array_get(sprints, i));
	if (check_counters(o, e) != 0)
		return -1;
	shape_count(o);
	return 0;
}

/* The own id may be told once more, with or without its kind in front. */
static int
take_own_id(enum shape shape, const char *id, json_t *o, struct err *e)
{
	const char *member = shapes[shape].id, *told = json_text(o, member, NULL);
	char *front = xasprintf("%s-", shapes[shape].name);
	size_t n = strlen(front);
	bool same = told == NULL || strcmp(told, id) == 0 || (str_starts(told, front) && strcmp(told + n, id) == 0) ||
	    (str_starts(id, front) && strcmp(id + n, told) == 0);

	free(front);
	if (!same)
		return bad(e, member, "the id that the command names");
	if (told == NULL)
		json_put(o, member, id);
	return 0;
}

int
shape_take(enum shape shape, const char *id, json_t *o, int64_t now, struct err *e)
{
	if (key_check_id("the id of a checkpoint", id, e) != 0)
		return -1;
	if (!json_is_object(o))
		return bad(e, "a checkpoint", "a JSON object");
	if (take_fields(shapes[shape].fields, o, "", e) != 0 || (shapes[shape].id != NULL && take_own_id(shape, id, o, e) != 0))
		return -1;
	end_now(shapes[shape].fields, o, now);
	if (shapes[shape].time != NULL && shape_time(o, shapes[shape].time) == 0)
		shape_put_time(o, shapes[shape].time, now);
	if (shape == SHAPE_EPIC)
		return take_epic(o, e);
	if (shape == SHAPE_SPRINT) {
		if (json_text(o, "status", NULL) == NULL)
			json_put(o, "status", json_number(o, "progress", 0) >= 100 ? "completed" : "in_progress");
		fill_progress(o);
	}
	return 0;
}
