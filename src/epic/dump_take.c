#include <stdlib.h>
#include <string.h>

#include "epic/dump.h"
#include "epic/shape.h"
#include "epic/state.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "ledger/event.h"
#include "ledger/key.h"
#include "store/store.h"

struct taking {
	struct store *s;
	struct scrub *scrub;
	struct change *c;
	size_t n;
	char *epic;
};

static int
bad(struct err *e, const char *what)
{
	err_set(e, GT_USAGE, "dump", "this is no export of an epic: %s", what);
	return err_hint(e, "gt-recover epic export writes one");
}

/* The kind of record that a key names, and its id (heap). -1: none of an epic's. */
static int
place_of(const char *key, char **id, struct err *e)
{
	for (int at = 0; at < STATES; at++)
		if (state_is((enum state_at)at, key)) {
			*id = state_id((enum state_at)at, key);
			if (key_check_id("an id", *id, e) == 0)
				return at;
			free(*id);
			return -1;
		}
	return bad(e, "it has a record of another kind");
}

static int
check_files(const char *id, json_t *o, int64_t now, struct err *e)
{
	json_t *files = json_object_get(o, "files");

	if (!json_is_array(files) || json_text(o, "sprintId", NULL) == NULL)
		return bad(e, "its files are no list");
	for (size_t i = 0; i < json_array_size(files); i++)
		if (shape_take(SHAPE_FILE, id, json_array_get(files, i), now, e) != 0)
			return -1;
	return 0;
}

static int
check_ready(json_t *o, struct err *e)
{
	if (shape_time(o, "readyAt") == 0 || json_text(o, "sprintId", NULL) == NULL || !json_is_object(json_object_get(o, "contract")))
		return bad(e, "a signal has no contract");
	return 0;
}

/* As a checkpoint of its kind is taken, and cleaned: new reference, or NULL with err. */
static json_t *
checked(const struct taking *t, enum state_at at, const char *id, const json_t *v, struct err *e)
{
	static const enum shape shapes[STATES] = { SHAPE_EPIC, SHAPE_SPRINT, SHAPE_AGENT, SHAPE_SPRINT, SHAPE_SPRINT, SHAPE_AGENT };
	json_t *o = json_deep_copy(v), *clean = NULL;
	int64_t now = store_now(t->s);
	int ret;

	if (!json_is_object(o))
		ret = bad(e, "a record is no object");
	else if (at == STATE_FILES)
		ret = check_files(id, o, now, e);
	else if (at == STATE_READY)
		ret = check_ready(o, e);
	else
		ret = shape_take(shapes[at], id, o, now, e);
	if (ret == 0)
		clean = shape_clean(shapes[at], o, t->scrub, e);
	json_decref(o);
	return clean;
}

/* 1 it is to be written, 0 it stands there, -1. */
static int
compare(const struct taking *t, enum state_at at, const char *id, const char *key, const json_t *o, struct err *e)
{
	struct record r;
	json_t *there;
	int found = state_find(t->s, at, id, &r, &there, e);
	bool same;

	if (found <= 0)
		return found < 0 ? -1 : 1;
	same = strcmp(r.key, key) == 0 && json_equal(there, o);
	json_decref(there);
	record_release(&r);
	if (same)
		return 0;
	err_set(e, GT_REFUSED, "exists", "the record %.200s is there already, and differs", key);
	return err_hint(e, "gt-recover epic abandon removes an epic; nothing was changed");
}

static int
take_record(struct taking *t, const char *key, const json_t *v, struct err *e)
{
	char *id = NULL, *value;
	int at = place_of(key, &id, e), ret = -1;
	json_t *o;

	if (at < 0)
		return -1;
	if (at == STATE_EPIC && t->epic != NULL)
		bad(e, "it has several epics");
	else if ((o = checked(t, (enum state_at)at, id, v, e)) != NULL) {
		const char *tag = state_tag((enum state_at)at, o);

		ret = compare(t, (enum state_at)at, id, key, o, e);
		value = state_value(o, e);
		if (value == NULL)
			ret = -1;
		else if (ret > 0)
			t->c[t->n++] = (struct change){ CHANGE_PUT, key, STORE_ABSENT, tag, value };
		else
			free(value);
		if (at == STATE_EPIC)
			t->epic = xstrdup(id);
	}
	free(id);
	return ret;
}

int
dump_take(struct store *s, const json_t *dump, struct scrub *scrub, char **id, struct err *e)
{
	json_t *records = json_object_get(dump, "records"), *v;
	struct taking t = { .s = s, .scrub = scrub };
	const char *key;
	int ret = 0;

	if (json_number(dump, "schema_version", 0) != STATE_SCHEMA)
		return bad(e, "its schema_version is not one that this gt-recover knows");
	t.c = xcalloc(json_object_size(records) + 1, sizeof *t.c);
	json_object_foreach(records, key, v)
		if (ret >= 0)
			ret = take_record(&t, key, v, e);
	if (ret >= 0 && t.epic == NULL)
		ret = bad(e, "it has no epic");
	if (ret >= 0 && t.n > 0) {
		struct event ev = { .kind = "epic.imported", .subject = t.epic };

		ret = event_commit(s, t.c, t.n, &ev, e) == COMMIT_DONE ? 0 : -1;
	}
	if (ret >= 0) {
		*id = t.epic;
		ret = t.n > 0;
	} else {
		free(t.epic);
	}
	for (size_t i = 0; i < t.n; i++)
		free((char *)(uintptr_t)t.c[i].value);
	free(t.c);
	return ret;
}
