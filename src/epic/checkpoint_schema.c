#include <string.h>

#include "epic/epic_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "records/records.h"
#include "scrub/scrub.h"

#define YEAR_1973 100000000000LL		/* in ms; a smaller number is one of seconds */
#define YEAR_9999 253402300799999LL

static const char *const expected[] = {
	[MEMBER_TEXT] = "a string",
	[MEMBER_ID] = "an id",
	[MEMBER_TIME] = "a time: RFC 3339, or ms since 1970",
	[MEMBER_PAST] = "a time: RFC 3339, or ms since 1970",
	[MEMBER_STATUS] = "completed, in_progress, starting or waiting",
	[MEMBER_PERCENT] = "a number from 0 to 100",
	[MEMBER_COUNT] = "a non-negative integer",
	[MEMBER_SHARE] = "a number from 0 to 1", [MEMBER_FLAG] = "true or false",
	[MEMBER_TEXTS] = "a list of strings", [MEMBER_OBJECT] = "an object",
	[MEMBER_OBJECTS] = "a list of objects", [MEMBER_LINKS] = "an object of lists of ids",
};

static const struct checkpoint_member sprint_entry[] = {
	{ "id", MEMBER_ID, NULL, true }, { "status", MEMBER_STATUS, NULL, true },
	{ "progress", MEMBER_PERCENT, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member agent_entry[] = {
	{ "id", MEMBER_ID, NULL, true }, { "status", MEMBER_TEXT, NULL, false },
	{ "task", MEMBER_TEXT, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member file[] = {
	{ "path", MEMBER_TEXT, NULL, true }, { "completed", MEMBER_FLAG, NULL, false },
	{ "lastCompletedSection", MEMBER_TEXT, NULL, false },
	{ "nextSection", MEMBER_TEXT, NULL, false }, { "currentLine", MEMBER_COUNT, NULL, false },
	{ "confidence", MEMBER_SHARE, NULL, false }, { "lastCheckpoint", MEMBER_PAST, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member confidence[] = {
	{ "loop3", MEMBER_SHARE, NULL, false },
	{ "loop2", MEMBER_SHARE, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member tests[] = {
	{ "run", MEMBER_COUNT, NULL, false }, { "total", MEMBER_COUNT, NULL, false },
	{ "last", MEMBER_TEXT, NULL, false }, { "lock", MEMBER_ID, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member validator[] = {
	{ "id", MEMBER_ID, NULL, true }, { "status", MEMBER_TEXT, NULL, false },
	{ "score", MEMBER_SHARE, NULL, false }, { "progress", MEMBER_PERCENT, NULL, false },
	{ "lastValidated", MEMBER_TEXT, NULL, false }, { "next", MEMBER_TEXT, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member step[] = {
	{ "id", MEMBER_ID, NULL, true }, { "title", MEMBER_TEXT, NULL, false },
	{ "status", MEMBER_STATUS, NULL, false }, { "agent", MEMBER_ID, NULL, false },
	{ "blockedBy", MEMBER_TEXTS, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member progress[] = {
	{ "started", MEMBER_TIME, NULL, false }, { "estimatedCompletion", MEMBER_TIME, NULL, false },
	{ "subtasksCompleted", MEMBER_TEXTS, NULL, false },
	{ "subtasksRemaining", MEMBER_TEXTS, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member context[] = {
	{ "dependencies", MEMBER_TEXTS, NULL, false }, { "relatedFiles", MEMBER_TEXTS, NULL, false },
	{ "testFile", MEMBER_TEXT, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member epic[] = {
	{ "epicId", MEMBER_ID, NULL, false }, { "name", MEMBER_TEXT, NULL, false },
	{ "status", MEMBER_STATUS, NULL, false },
	{ "startTime", MEMBER_TIME, NULL, false },
	{ "lastCheckpoint", MEMBER_PAST, NULL, false }, { "totalSprints", MEMBER_COUNT, NULL, false },
	{ "completedSprints", MEMBER_COUNT, NULL, false },
	{ "inProgressSprints", MEMBER_COUNT, NULL, false },
	{ "waitingSprints", MEMBER_COUNT, NULL, false },
	{ "sprints", MEMBER_OBJECTS, sprint_entry, false },
	{ "dependencies", MEMBER_LINKS, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member sprint[] = {
	{ "sprintId", MEMBER_ID, NULL, false }, { "epicId", MEMBER_ID, NULL, false },
	{ "status", MEMBER_STATUS, NULL, false }, { "phase", MEMBER_TEXT, NULL, false },
	{ "progress", MEMBER_PERCENT, NULL, false },
	{ "startTime", MEMBER_TIME, NULL, false },
	{ "lastCheckpoint", MEMBER_PAST, NULL, false },
	{ "agents", MEMBER_OBJECTS, agent_entry, false },
	{ "filesWritten", MEMBER_OBJECTS, file, false },
	{ "filesInProgress", MEMBER_OBJECTS, file, false },
	{ "confidence", MEMBER_OBJECT, confidence, false }, { "tests", MEMBER_OBJECT, tests, false },
	{ "validators", MEMBER_OBJECTS, validator, false }, { "waitStarted", MEMBER_PAST, NULL, false },
	{ "productiveWork", MEMBER_TEXTS, NULL, false }, { "steps", MEMBER_OBJECTS, step, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member agent[] = {
	{ "agentId", MEMBER_ID, NULL, false }, { "sessionId", MEMBER_ID, NULL, false },
	{ "sprintId", MEMBER_ID, NULL, false }, { "epicId", MEMBER_ID, NULL, false },
	{ "currentTask", MEMBER_TEXT, NULL, false },
	{ "fileBeingEdited", MEMBER_TEXT, NULL, false }, { "lineNumber", MEMBER_COUNT, NULL, false },
	{ "taskProgress", MEMBER_OBJECT, progress, false },
	{ "context", MEMBER_OBJECT, context, false }, { "confidenceScore", MEMBER_SHARE, NULL, false },
	{ "lastHeartbeat", MEMBER_PAST, NULL, false },
	{ NULL, MEMBER_TEXT, NULL, false },
};
static const struct checkpoint_member signal_fields[] = { { NULL, MEMBER_TEXT, NULL, false } };

static const struct {
	const char *name, *id, *time;
	const struct checkpoint_member *fields;
} shapes[CHECKPOINT_KINDS] = {
	[CHECKPOINT_EPIC] = { "epic", "epicId", "lastCheckpoint", epic },
	[CHECKPOINT_SPRINT] = { "sprint", "sprintId", "lastCheckpoint", sprint },
	[CHECKPOINT_AGENT] = { "agent", "agentId", "lastHeartbeat", agent },
	[CHECKPOINT_FILE] = { "file", NULL, "lastCheckpoint", file },
	[CHECKPOINT_SIGNAL] = { "signal", NULL, NULL, signal_fields },
};

const char *
checkpoint_kind_name(enum checkpoint_kind shape)
{
	return shapes[shape].name;
}

static const struct checkpoint_member *
checkpoint_fields(enum checkpoint_kind shape)
{
	return shapes[shape].fields;
}

int64_t
checkpoint_time(const json_t *o, const char *member)
{
	const char *text = json_text(o, member, NULL);
	int64_t at = text != NULL ? clock_parse_iso(text) : -1;

	return at > 0 ? at : 0;
}

void
checkpoint_set_time(json_t *o, const char *member, int64_t ms)
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
member_invalid(struct err *e, const char *where, const char *what)
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
	return json_is_string(v) && record_check_id("an id", json_string_value(v), NULL) == 0;
}

static bool
is_links(json_t *v)
{
	const char *key;
	json_t *list;
	size_t i;
	json_t *id;

	json_object_foreach(v, key, list) {
		if (record_check_id("an id", key, NULL) != 0 || !json_is_array(list))
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
	int64_t at = json_is_integer(v) ? json_integer_value(v)
	    : json_is_string(v)         ? clock_parse_iso(json_string_value(v))
					: -1;

	if (at < YEAR_1973 || at > YEAR_9999)
		return false;
	checkpoint_set_time(o, name, at);
	return true;
}

static int take_fields(const struct checkpoint_member *fields, json_t *o, const char *where, struct err *e);

static bool
take_simple(const struct checkpoint_member *f, json_t *o, json_t *v)
{
	switch (f->type) {
	case MEMBER_ID: return is_id(v);
	case MEMBER_TIME: case MEMBER_PAST: return take_time(o, f->name, v);
	case MEMBER_STATUS: return is_status(v);
	case MEMBER_PERCENT: return within(v, 100);
	case MEMBER_SHARE: return within(v, 1);
	case MEMBER_COUNT: return json_is_integer(v) && json_integer_value(v) >= 0;
	case MEMBER_FLAG: return json_is_boolean(v);
	case MEMBER_TEXTS: return is_texts(v);
	case MEMBER_LINKS: return is_links(v);
	case MEMBER_OBJECT: return json_is_object(v);
	case MEMBER_OBJECTS: return json_is_array(v);
	default: return json_is_string(v);
	}
}

static int
check_list(const struct checkpoint_member *f, json_t *v, const char *where, struct err *e)
{
	int ret = 0;

	for (size_t i = 0; i < json_array_size(v) && ret == 0; i++) {
		char *at = xasprintf("%s[%zu]", where, i);

		if (!json_is_object(json_array_get(v, i)))
			ret = member_invalid(e, at, "an object");
		else
			ret = take_fields(f->inner, json_array_get(v, i), at, e);
		free(at);
	}
	return ret;
}

static int
take_field(const struct checkpoint_member *f, json_t *o, const char *where, struct err *e)
{
	json_t *v = json_object_get(o, f->name);
	int ret = 0;
	char *at;

	if ((v == NULL || json_is_null(v)) && !f->required)
		return 0;
	at = xasprintf("%s%s%s", where, *where != '\0' ? "." : "", f->name);
	if (!take_simple(f, o, v))
		ret = member_invalid(e, at, expected[f->type]);
	else if (f->type == MEMBER_OBJECT)
		ret = take_fields(f->inner, v, at, e);
	else if (f->type == MEMBER_OBJECTS)
		ret = check_list(f, v, at, e);
	free(at);
	return ret;
}

static int
take_fields(const struct checkpoint_member *fields, json_t *o, const char *where, struct err *e)
{
	for (const struct checkpoint_member *f = fields; f->name != NULL; f++)
		if (take_field(f, o, where, e) != 0)
			return -1;
	return 0;
}

/* A sign of life from the future would be one for ever: who has a wrong clock was heard when he told it. */
static void
end_now(const struct checkpoint_member *fields, json_t *o, int64_t now)
{
	for (const struct checkpoint_member *f = fields; f != NULL && f->name != NULL && json_is_object(o);
	    f++) {
		json_t *v = json_object_get(o, f->name);

		if (f->type == MEMBER_PAST && checkpoint_time(o, f->name) > now)
			checkpoint_set_time(o, f->name, now);
		if (f->type == MEMBER_OBJECT)
			end_now(f->inner, v, now);
		for (size_t i = 0; f->type == MEMBER_OBJECTS && i < json_array_size(v); i++)
			end_now(f->inner, json_array_get(v, i), now);
	}
}

/* ---- what belongs together ---- */

static const char *const counters[] = { "completedSprints", "inProgressSprints", "waitingSprints",
	"totalSprints" };

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
checkpoint_count_sprints(json_t *o)
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

	if (json_array_size(sprints) > CHECKPOINT_SPRINTS) {
		err_set(e, GT_USAGE, "checkpoint", "an epic can have at most %d sprints", CHECKPOINT_SPRINTS);
		return err_hint(e, "Make several epics of it");
	}
	seen = json_object();
	json_array_foreach(sprints, i, v) {
		const char *id = json_text(v, "id", "");

		if (json_object_get(seen, id) != NULL)
			ret = member_invalid(e, "sprints", "a list of unique ids");
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
			err_set(e, GT_USAGE, "counters", "%s is %lld, but sprints[] says %lld", counters[i],
			    (long long)told[i], (long long)n[i]);
			return err_hint(e,
			    "starting counts as in progress; omitted counters are computed");
		}
	}
	if (!json_is_array(sprints) && all && told[0] + told[1] + told[2] != told[3]) {
		err_set(e, GT_USAGE, "counters",
		    "completedSprints, inProgressSprints and waitingSprints do not add up to totalSprints");
		return err_hint(
		    e, "starting counts as in progress; omitted counters are computed");
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
check_epic_totals(json_t *o, struct err *e)
{
	json_t *sprints = json_object_get(o, "sprints");

	if (json_text(o, "status", NULL) == NULL)
		json_put(o, "status", "in_progress");
	for (size_t i = 0; i < json_array_size(sprints); i++)
		fill_progress(json_array_get(sprints, i));
	if (check_counters(o, e) != 0)
		return -1;
	checkpoint_count_sprints(o);
	return 0;
}

/* The own id may be told once more, with or without its kind in front. */
static int
take_own_id(enum checkpoint_kind shape, const char *id, json_t *o, struct err *e)
{
	const char *member = shapes[shape].id, *told = json_text(o, member, NULL);
	char *front = xasprintf("%s-", shapes[shape].name);
	size_t n = strlen(front);
	bool same = told == NULL || strcmp(told, id) == 0 ||
	    (str_starts(told, front) && strcmp(told + n, id) == 0) ||
	    (str_starts(id, front) && strcmp(id + n, told) == 0);

	free(front);
	if (!same)
		return member_invalid(e, member, "the id that the command names");
	if (told == NULL)
		json_put(o, member, id);
	return 0;
}

int
checkpoint_normalize(enum checkpoint_kind shape, const char *id, json_t *o, int64_t now, struct err *e)
{
	if (record_check_id("the id of a checkpoint", id, e) != 0)
		return -1;
	if (!json_is_object(o))
		return member_invalid(e, "a checkpoint", "a JSON object");
	if (take_fields(shapes[shape].fields, o, "", e) != 0 ||
	    (shapes[shape].id != NULL && take_own_id(shape, id, o, e) != 0))
		return -1;
	end_now(shapes[shape].fields, o, now);
	if (shapes[shape].time != NULL && checkpoint_time(o, shapes[shape].time) == 0)
		checkpoint_set_time(o, shapes[shape].time, now);
	if (shape == CHECKPOINT_EPIC)
		return check_epic_totals(o, e);
	if (shape == CHECKPOINT_SPRINT) {
		if (json_text(o, "status", NULL) == NULL)
			json_put(
			    o, "status", json_number(o, "progress", 0) >= 100 ? "completed" : "in_progress");
		fill_progress(o);
	}
	return 0;
}

/* ---- what another program wrote ---- */

/* Words that other programs use for the four states. */
static const char *
adapt_status(const char *word)
{
	static const struct { const char *word, *as;
	} words[] = { { "complete", "completed" }, { "done", "completed" }, { "finished", "completed" },
		{ "success", "completed" }, { "closed", "completed" }, { "cancelled", "completed" },
		{ "pending", "waiting" }, { "blocked", "waiting" }, { "queued", "waiting" },
		{ "not_started", "waiting" }, { "initializing", "starting" } };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasecmp(word, words[i].word) == 0)
			return words[i].as;
	return "in_progress";
}

static void adapt_fields(const struct checkpoint_member *fields, json_t *o);

/* A list of objects in which a text is the first member of one. */
static json_t *
adapt_list(const struct checkpoint_member *f, const json_t *list)
{
	json_t *out = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *v = json_array_get(list, i), *o = json_incref(v);
		bool complete;

		if (json_is_string(v)) {
			json_decref(o);
			o = json_object();
			json_object_set(o, f->inner->name, v);
		}
		if (json_is_object(o))
			adapt_fields(f->inner, o);
		complete = json_is_object(o);
		for (const struct checkpoint_member *m = f->inner; m->name != NULL && complete; m++)
			complete = !m->required || json_object_get(o, m->name) != NULL;
		if (complete)
			json_array_append(out, o);
		json_decref(o);
	}
	return out;
}

static void
adapt_fields(const struct checkpoint_member *fields, json_t *o)
{
	json_t *section = json_object_get(o, "lastSection");

	if (section != NULL && json_object_get(o, "lastCompletedSection") == NULL)
		json_object_set(o, "lastCompletedSection", section);
	for (const struct checkpoint_member *f = fields; f->name != NULL; f++) {
		json_t *v = json_object_get(o, f->name);

		if (v == NULL)
			continue;
		if (f->type == MEMBER_STATUS && json_is_string(v) && !is_status(v))
			json_put(o, f->name, adapt_status(json_string_value(v)));
		if (f->type == MEMBER_COUNT && json_is_real(v))
			json_put_int(o, f->name, (int64_t)json_real_value(v));
		if (f->type == MEMBER_OBJECTS && json_is_array(v))
			json_object_set_new(o, f->name, adapt_list(f, v));
		if (f->type == MEMBER_OBJECT && json_is_object(v))
			adapt_fields(f->inner, v);
		v = json_object_get(o, f->name);
		if (json_is_null(v) || !take_simple(f, o, v))
			json_object_del(o, f->name);
	}
}

void
checkpoint_adapt(enum checkpoint_kind shape, const char *id, json_t *o, int64_t now)
{
	const json_t *sprints;

	adapt_fields(shapes[shape].fields, o);
	end_now(shapes[shape].fields, o, now);
	json_object_del(o, "schema_version");
	if (shapes[shape].id != NULL)
		json_put(o, shapes[shape].id, id);
	sprints = json_object_get(o, "sprints");
	for (size_t i = 0; shape == CHECKPOINT_EPIC && i < json_array_size(sprints); i++)
		fill_progress(json_array_get(sprints, i));
	if (shape == CHECKPOINT_EPIC)
		checkpoint_count_sprints(o);
	if (shape == CHECKPOINT_SPRINT)
		fill_progress(o);
}

/*
 * The scrubber costs per call, and a checkpoint's strings are many and short: they are scrubbed
 * together, each followed by a row of its own, and handed out by their line counts, which the
 * scrubber keeps.
 */
#define BETWEEN "#\n"

struct scrub_walk {
	struct buf raw;				/* collecting */
	const char *p, *end;			/* handing out; NULL while collecting */
	bool too_deep;
};

/* The member as the shape has it; NULL: the shape does not know it. */
static const struct checkpoint_member *
field_of(const struct checkpoint_member *fields, const char *member)
{
	for (; fields != NULL && fields->name != NULL; fields++)
		if (strcmp(fields->name, member) == 0)
			return fields;
	return NULL;
}

/*
 * What the next run finds things again by, and one of four words: checkpoint_normalize has seen
 * that it is nothing else.
 */
static bool
keeps_member(const struct checkpoint_member *f, const json_t *v)
{
	if (f == NULL)
		return false;
	return ((f->type == MEMBER_ID || f->type == MEMBER_STATUS) && json_is_string(v)) ||
	    (f->type == MEMBER_LINKS && json_is_object(v));
}

static size_t
lines_of(const char *p, size_t n)
{
	size_t lines = 1;

	for (const char *at = p; (at = memchr(at, '\n', n - (size_t)(at - p))) != NULL; at++)
		lines++;
	return lines;
}

/* The next text: collected, or what the scrubber made of it, new reference. */
static json_t *
text(struct scrub_walk *w, const char *s, size_t n)
{
	const char *start = w->p, *at = w->p;

	if (w->p == NULL) {
		buf_add(&w->raw, s, n);
		buf_str(&w->raw, "\n" BETWEEN);
		return NULL;
	}
	for (size_t lines = lines_of(s, n); lines > 0 && at < w->end; lines--) {
		const char *eol = memchr(at, '\n', (size_t)(w->end - at));

		at = eol != NULL ? eol + 1 : w->end;
	}
	w->p = at;
	/* the row between */
	at = memchr(w->p, '\n', (size_t)(w->end - w->p));
	n = (size_t)(w->p - start);
	w->p = at != NULL ? at + 1 : w->end;
	return json_bytes(start, n > 0 ? n - 1 : 0);
}

static json_t *value(struct scrub_walk *w, json_t *v, size_t depth, const struct checkpoint_member *fields);

/* fields: those of the object, or of the objects of a list; NULL: no shape knows it. */
static json_t *
object(struct scrub_walk *w, json_t *o, size_t depth, const struct checkpoint_member *fields)
{
	json_t *made = w->p != NULL ? json_object() : NULL;
	const char *key;
	json_t *v;

	json_object_foreach(o, key, v) {
		const struct checkpoint_member *f = field_of(fields, key);
		bool kept = keeps_member(f, v);
		json_t *name = text(w, key, strlen(key));
		json_t *copy = kept ? json_incref(v) : value(w, v, depth + 1, f != NULL ? f->inner : NULL);

		if (made != NULL)
			json_object_set(made, f != NULL ? key : json_string_value(name), copy);
		json_decref(name);
		json_decref(copy);
	}
	return made;
}

static json_t *
value(struct scrub_walk *w, json_t *v, size_t depth, const struct checkpoint_member *fields)
{
	json_t *made = NULL;
	size_t i;
	json_t *one;

	if (depth > CHECKPOINT_DEPTH) {
		w->too_deep = true;
		return NULL;
	}
	if (json_is_object(v))
		return object(w, v, depth, fields);
	if (json_is_string(v))
		return text(w, json_string_value(v), json_string_length(v));
	if (!json_is_array(v))
		return json_incref(v);
	if (w->p != NULL)
		made = json_array();
	json_array_foreach(v, i, one) {
		json_t *copy = value(w, one, depth + 1, fields);

		if (made != NULL)
			json_array_append(made, copy);
		json_decref(copy);
	}
	return made;
}

json_t *
checkpoint_scrub(enum checkpoint_kind shape, const json_t *o, struct scrub *s, struct err *e)
{
	json_t *from = (json_t *)(uintptr_t)o, *made = NULL;
	struct scrub_walk w = { .raw = BUF_INIT };
	struct clean_text *t, *learned;
	struct buf whole = BUF_INIT;

	json_decref(value(&w, from, 1, checkpoint_fields(shape)));
	if (!w.too_deep) {
		/*
		 * "password": "…" is only told by its name: what is found here is known to the
		 * scrubber below
		 */
		json_print(&whole, from, true);
		learned = scrub_text(s, whole.data, whole.len, 0);
		t = scrub_text(s, w.raw.data, w.raw.len, 0);
		w.p = clean_bytes(t);
		w.end = w.p + clean_len(t);
		made = value(&w, from, 1, checkpoint_fields(shape));
		clean_free(learned);
		clean_free(t);
	} else {
		err_set(e, GT_USAGE, "checkpoint", "a checkpoint has at most %d values within values",
		    CHECKPOINT_DEPTH);
		err_hint(e, "gt-recover help checkpoint");
	}
	buf_wipe(&whole);
	buf_wipe(&w.raw);
	return made;
}
