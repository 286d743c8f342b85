#include <stdlib.h>
#include <string.h>

#include "epic/epic_private.h"
#include "epic/epic.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "records/records.h"
#include "store/store.h"

/* ---- all records of an epic ---- */

struct epic_dump {
	struct record *v;
	size_t n, cap;
	json_t *seen;				/* keys */
};

static void
all_release(struct epic_dump *all)
{
	for (size_t i = 0; i < all->n; i++)
		store_record_release(&all->v[i]);
	free(all->v);
	json_decref(all->seen);
}

/* Takes the record over, when there is one that was not taken yet. */
static void
take(struct epic_dump *all, struct record *r, int found)
{
	if (found <= 0 || json_object_get(all->seen, r->key) != NULL) {
		if (found > 0)
			store_record_release(r);
		return;
	}
	json_object_set_new(all->seen, r->key, json_true());
	all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
	all->v[all->n++] = *r;
}

static int
take_state(struct store *s, struct epic_dump *all, enum epic_record_kind at, const char *id, struct err *e)
{
	struct record r;
	int found = epic_record_find(s, at, id, &r, NULL, e);

	take(all, &r, found);
	return found < 0 ? -1 : 0;
}

/* Unless somebody else has it. */
static int
take_lock(
    struct store *s, struct epic_dump *all, const struct epic_sprint *x, const char *name, struct err *e)
{
	char *key = xasprintf("lock:%s", name);
	struct record r;
	struct timestamp now;
	struct lock l;
	int found = lock_load(s, name, &l, e);
	bool own;

	timestamp_now(&now);
	now.wall_ms = store_now(s);
	own = found > 0 && sprint_test_lock_is_own(x, &l, &now);
	if (own && (found = store_get(s, key, &r, e)) > 0) {
		r.version = l.version;		/* one that was acquired since is a conflict */
		take(all, &r, found);
	}
	lock_release(&l);
	free(key);
	return found < 0 ? -1 : 0;
}

static int
add_sprint(struct store *s, struct epic_dump *all, const struct epic_sprint *x, bool locks, struct err *e)
{
	static const enum epic_record_kind places[] = { EPIC_RECORD_SPRINT, EPIC_RECORD_FILES,
		EPIC_RECORD_READY };
	const char *lock = json_text(json_object_get(x->record, "tests"), "lock", NULL);

	for (size_t i = 0; i < sizeof places / sizeof places[0] && !x->foreign; i++)
		if (take_state(s, all, places[i], x->id, e) != 0)
			return -1;
	for (size_t i = 0; i < json_array_size(x->agents); i++) {
		const char *id = json_text(json_array_get(x->agents, i), "agentId", "");

		if (take_state(s, all, EPIC_RECORD_AGENT, id, e) != 0 ||
		    take_state(s, all, EPIC_RECORD_CHECKPOINT, id, e) != 0)
			return -1;
	}
	if (locks && lock != NULL) {
		return take_lock(s, all, x, lock, e);
	}
	return 0;
}

struct strays {
	struct store *s;
	struct epic_dump *all;
	const struct epic *x;
};

/* An agent that names the epic, but none of its sprints. */
static int
take_stray(const struct record *r, void *arg, struct err *e)
{
	const struct strays *in = arg;
	json_t *o = epic_record_is(EPIC_RECORD_AGENT, r->key) ? epic_record_object(r, e) : NULL;
	const char *epic = json_text(o, "epicId", NULL);
	char *id;
	int ret = 0;

	if (o == NULL)
		return epic_record_is(EPIC_RECORD_AGENT, r->key) ? -1 : 0;
	if (epic != NULL && epic_record_same_id(EPIC_RECORD_EPIC, epic, in->x->id)) {
		id = epic_record_id(EPIC_RECORD_AGENT, r->key);
		if (take_state(in->s, in->all, EPIC_RECORD_AGENT, id, e) != 0 ||
		    take_state(in->s, in->all, EPIC_RECORD_CHECKPOINT, id, e) != 0)
			ret = -1;
		free(id);
	}
	json_decref(o);
	return ret;
}

static int
take_all(struct store *s, struct epic_dump *all, const struct epic *x, bool locks, struct err *e)
{
	struct strays strays = { s, all, x };

	*all = (struct epic_dump){ .seen = json_object() };
	if (take_state(s, all, EPIC_RECORD_EPIC, x->id, e) != 0)
		return -1;
	for (size_t i = 0; i < x->n; i++)
		if (add_sprint(s, all, &x->sprints[i], locks, e) != 0)
			return -1;
	return store_each(s, epic_record_prefix(EPIC_RECORD_AGENT), NULL, take_stray, &strays, e) != 0 ? -1
												       : 0;
}

/* ---- out ---- */

static json_t *
sprint_json(const struct epic_sprint *x)
{
	static const char *const words[] = { "completed", "in_progress", "starting", "waiting" };
	json_t *o = json_object(), *done = json_array(), *open = json_array(), *last = json_object();

	for (size_t i = 0; i < x->n_files; i++)
		json_array_append_new(x->files[i].completed ? done : open,
		    json_bytes(x->files[i].path, strlen(x->files[i].path)));
	if (x->n_files > 0) {
		const struct epic_file *f = &x->files[x->n_files - 1];

		json_put(last, "file", f->path);
		json_put(last, "function", f->last);
		json_object_set_new(
		    last, "line", f->line > 0 ? json_integer((json_int_t)f->line) : json_null());
		json_object_set_new(
		    last, "confidence", f->confidence >= 0 ? json_real(f->confidence) : json_null());
	}
	json_put(o, "id", x->id);
	json_put(o, "status", words[x->state]);
	json_object_set_new(o, "progress",
	    x->progress == (double)(int)x->progress ? json_integer((int)x->progress)
						    : json_real(x->progress));
	json_object_set_new(o, "filesCompleted", done);
	json_object_set_new(o, "filesInProgress", open);
	json_object_set_new(o, "lastCheckpoint", x->n_files > 0 ? json_incref(last) : json_null());
	json_decref(last);
	return o;
}

static json_t *
epic_json(const struct epic *x, int64_t now)
{
	json_t *o = json_object();

	json_put(o, "id", x->id);
	json_put(o, "name", json_text(x->record, "name", NULL));
	json_put(o, "status", x->interrupted ? "interrupted" : json_text(x->record, "status", NULL));
	json_put(o, "crashTime", NULL);
	json_put(o, "lastCheckpoint", NULL);
	json_put(o, "crashDuration", NULL);
	if (x->interrupted)
		checkpoint_set_time(o, "crashTime", x->last_seen_at);
	if (x->checkpoint > 0)
		checkpoint_set_time(o, "lastCheckpoint", x->checkpoint);
	if (x->interrupted)
		json_put_int(o, "crashDuration", (now - x->last_seen_at) / 1000);
	return o;
}

/* What is not in the store yet, as it is known. */
static int
add_unkept(enum epic_record_kind at, const char *id, json_t *o, void *arg, struct err *e)
{
	char *key = epic_record_key(at, id);

	(void)e;
	if (json_object_get(arg, key) == NULL)
		json_object_set(arg, key, o);
	free(key);
	return 0;
}

json_t *
epic_export_json(struct store *s, const struct epic *x, int64_t now, struct err *e)
{
	json_t *o = NULL, *sprints = json_array(), *records = json_object();
	struct epic_dump all = { .n = 0 };
	int ret = s != NULL ? take_all(s, &all, x, false, e) : 0;

	for (size_t i = 0; i < all.n && ret == 0; i++) {
		json_t *v = epic_record_object(&all.v[i], e);

		if (v == NULL)
			ret = -1;
		else
			json_object_set_new(records, all.v[i].key, v);
	}
	for (size_t i = 0; i < x->n; i++)
		json_array_append_new(sprints, sprint_json(&x->sprints[i]));
	if (ret == 0 && x->source != NULL)
		ret = epic_each_record(x, add_unkept, records, e);
	if (ret == 0) {
		o = json_object();
		json_put_int(o, "schema_version", EPIC_RECORD_SCHEMA);
		json_object_set_new(o, "epic", epic_json(x, now));
		json_object_set(o, "sprints", sprints);
		json_object_set(o, "records", records);
	}
	json_decref(sprints);
	json_decref(records);
	all_release(&all);
	return o;
}

/* Its source still has it: that it was abandoned stands in its place, so that it is not shown again. */
static void
put_tombstone(struct txn *t, const struct epic *x, const struct record *r)
{
	json_t *o = json_object();

	json_put(o, "epicId", x->id);
	json_put(o, "status", "completed");
	json_put_flag(o, "abandoned", true);
	checkpoint_set_time(o, "lastCheckpoint", store_now(t->s));
	txn_write(t, xstrdup(r->key), r->version, epic_record_tag(EPIC_RECORD_EPIC, o),
	    epic_record_value(o, NULL));
}

int
epic_delete(struct store *s, const struct epic *x, size_t *n, struct err *e)
{
	struct txn t = { .s = s };
	struct epic_dump all = { .n = 0 };
	int ret = take_all(s, &all, x, true, e);

	*n = all.n;
	for (size_t i = 0; i < all.n; i++)
		if (x->source != NULL && x->source->live && epic_record_is(EPIC_RECORD_EPIC, all.v[i].key))
			put_tombstone(&t, x, &all.v[i]);
		else
			txn_delete(&t, xstrdup(all.v[i].key), all.v[i].version);
	txn_event(&t, "epic.abandoned", x->id, NULL, NULL);
	if (ret == 0)
		ret = txn_commit(&t, e) == COMMIT_DONE ? 0 : -1;
	txn_release(&t);
	all_release(&all);
	return ret;
}

struct import_job {
	struct txn t;
	struct scrub *scrub;
	char *epic;
};

static int
import_invalid(struct err *e, const char *what)
{
	err_set(e, GT_USAGE, "dump", "not an export of an epic: %s", what);
	return err_hint(e, "to create one: gt-recover epic export");
}

/* The kind of record that a key names, and its id (heap). -1: none of an epic's. */
static int
record_kind_of_key(const char *key, char **id, struct err *e)
{
	for (int at = 0; at < EPIC_RECORD_KINDS; at++)
		if (epic_record_is((enum epic_record_kind)at, key)) {
			*id = epic_record_id((enum epic_record_kind)at, key);
			if (record_check_id("an id", *id, e) == 0)
				return at;
			free(*id);
			return -1;
		}
	return import_invalid(e, "it has a record of another kind");
}

static int
check_files(const char *id, json_t *o, int64_t now, struct err *e)
{
	json_t *files = json_object_get(o, "files");

	if (!json_is_array(files) || json_text(o, "sprintId", NULL) == NULL)
		return import_invalid(e, "its files are not a list");
	for (size_t i = 0; i < json_array_size(files); i++)
		if (checkpoint_normalize(CHECKPOINT_FILE, id, json_array_get(files, i), now, e) != 0)
			return -1;
	return 0;
}

static int
check_ready(json_t *o, struct err *e)
{
	if (checkpoint_time(o, "readyAt") == 0 || json_text(o, "sprintId", NULL) == NULL ||
	    !json_is_object(json_object_get(o, "contract")))
		return import_invalid(e, "a signal has no contract");
	return 0;
}

/* As a checkpoint of its kind is taken, and cleaned: new reference, or NULL with err. */
static json_t *
checked(const struct import_job *t, enum epic_record_kind at, const char *id, const json_t *v, struct err *e)
{
	static const enum checkpoint_kind shapes[EPIC_RECORD_KINDS] = { CHECKPOINT_EPIC, CHECKPOINT_SPRINT,
		CHECKPOINT_AGENT, CHECKPOINT_SPRINT, CHECKPOINT_SPRINT, CHECKPOINT_AGENT };
	json_t *o = json_deep_copy(v), *clean = NULL;
	int64_t now = store_now(t->t.s);
	int ret;

	if (!json_is_object(o))
		ret = import_invalid(e, "a record is not an object");
	else if (at == EPIC_RECORD_FILES)
		ret = check_files(id, o, now, e);
	else if (at == EPIC_RECORD_READY)
		ret = check_ready(o, e);
	else
		ret = checkpoint_normalize(shapes[at], id, o, now, e);
	if (ret == 0)
		clean = checkpoint_scrub(shapes[at], o, t->scrub, e);
	json_decref(o);
	return clean;
}

/* 1 it is to be written, 0 it stands there, -1. */
static int
compare(const struct import_job *t, enum epic_record_kind at, const char *id, const char *key,
    const json_t *o, struct err *e)
{
	struct record r;
	json_t *there;
	int found = epic_record_find(t->t.s, at, id, &r, &there, e);
	bool same;

	if (found <= 0)
		return found < 0 ? -1 : 1;
	same = strcmp(r.key, key) == 0 && json_equal(there, o);
	json_decref(there);
	store_record_release(&r);
	if (same)
		return 0;
	err_set(e, GT_REFUSED, "exists", "the record %.200s exists and differs", key);
	return err_hint(e, "gt-recover epic abandon removes an epic; nothing was changed");
}

static int
take_record(struct import_job *t, const char *key, const json_t *v, struct err *e)
{
	char *id = NULL, *value;
	int at = record_kind_of_key(key, &id, e), ret = -1;
	json_t *o;

	if (at < 0)
		return -1;
	if (at == EPIC_RECORD_EPIC && t->epic != NULL)
		import_invalid(e, "it has several epics");
	else if ((o = checked(t, (enum epic_record_kind)at, id, v, e)) != NULL) {
		const char *tag = epic_record_tag((enum epic_record_kind)at, o);

		ret = compare(t, (enum epic_record_kind)at, id, key, o, e);
		value = epic_record_value(o, e);
		if (value == NULL)
			ret = -1;
		else if (ret > 0)
			txn_write(&t->t, xstrdup(key), STORE_ABSENT, tag, value);
		else
			free(value);
		if (at == EPIC_RECORD_EPIC)
			t->epic = xstrdup(id);
	}
	free(id);
	return ret;
}

int
epic_import_json(struct store *s, const json_t *dump, struct scrub *scrub, char **id, struct err *e)
{
	json_t *records = json_object_get(dump, "records"), *v;
	struct import_job t = { .t = { .s = s }, .scrub = scrub };
	const char *key;
	int ret = 0;

	if (json_number(dump, "schema_version", 0) != EPIC_RECORD_SCHEMA)
		return import_invalid(e, "its schema_version is unknown to this gt-recover");
	json_object_foreach(records, key, v)
		if (ret >= 0)
			ret = take_record(&t, key, v, e);
	if (ret >= 0 && t.epic == NULL)
		ret = import_invalid(e, "it has no epic");
	ret = ret < 0 ? -1 : t.t.n > 0;
	if (ret > 0) {
		txn_event(&t.t, "epic.imported", t.epic, NULL, NULL);
		ret = txn_commit(&t.t, e) == COMMIT_DONE ? 1 : -1;
	}
	txn_release(&t.t);
	if (ret >= 0)
		*id = t.epic;
	else
		free(t.epic);
	return ret;
}
