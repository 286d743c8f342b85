#include <stdlib.h>
#include <string.h>

#include "epic/dump.h"
#include "epic/epic.h"
#include "epic/shape.h"
#include "epic/state.h"
#include "epic/test_lock.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "ledger/event.h"
#include "ledger/record.h"
#include "store/store.h"

/* ---- all records of an epic ---- */

struct all {
	struct record *v;
	size_t n, cap;
	json_t *seen;				/* keys */
};

static void
all_release(struct all *all)
{
	for (size_t i = 0; i < all->n; i++)
		record_release(&all->v[i]);
	free(all->v);
	json_decref(all->seen);
}

/* Takes the record over, when there is one that was not taken yet. */
static void
take(struct all *all, struct record *r, int found)
{
	if (found <= 0 || json_object_get(all->seen, r->key) != NULL) {
		if (found > 0)
			record_release(r);
		return;
	}
	json_object_set_new(all->seen, r->key, json_true());
	all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
	all->v[all->n++] = *r;
}

static int
take_state(struct store *s, struct all *all, enum state_at at, const char *id, struct err *e)
{
	struct record r;
	int found = state_find(s, at, id, &r, NULL, e);

	take(all, &r, found);
	return found < 0 ? -1 : 0;
}

/* Unless somebody else has it. */
static int
take_lock(struct store *s, struct all *all, const struct epic_sprint *x, const char *name, struct err *e)
{
	char *key = xasprintf("lock:%s", name);
	struct record r;
	struct moment now;
	struct lock l;
	int found = lock_load(s, name, &l, e);
	bool own;

	moment_now(&now);
	now.wall_ms = store_now(s);
	own = found > 0 && test_lock_is_own(x, &l, &now);
	if (own && (found = store_get(s, key, &r, e)) > 0) {
		r.version = l.version;		/* one that was acquired since is a conflict */
		take(all, &r, found);
	}
	lock_release(&l);
	free(key);
	return found < 0 ? -1 : 0;
}

static int
take_sprint(struct store *s, struct all *all, const struct epic_sprint *x, bool locks, struct err *e)
{
	static const enum state_at places[] = { STATE_SPRINT, STATE_FILES, STATE_READY };
	const char *lock = json_text(json_object_get(x->record, "tests"), "lock", NULL);

	for (size_t i = 0; i < sizeof places / sizeof places[0] && !x->foreign; i++)
		if (take_state(s, all, places[i], x->id, e) != 0)
			return -1;
	for (size_t i = 0; i < json_array_size(x->agents); i++) {
		const char *id = json_text(json_array_get(x->agents, i), "agentId", "");

		if (take_state(s, all, STATE_AGENT, id, e) != 0 || take_state(s, all, STATE_CHECKPOINT, id, e) != 0)
			return -1;
	}
	if (locks && lock != NULL) {
		return take_lock(s, all, x, lock, e);
	}
	return 0;
}

struct strays {
	struct store *s;
	struct all *all;
	const struct epic *x;
};

/* An agent that names the epic, but none of its sprints. */
static int
take_stray(const struct record *r, void *arg, struct err *e)
{
	const struct strays *in = arg;
	json_t *o = state_is(STATE_AGENT, r->key) ? state_object(r, e) : NULL;
	const char *epic = json_text(o, "epicId", NULL);
	char *id;
	int ret = 0;

	if (o == NULL)
		return state_is(STATE_AGENT, r->key) ? -1 : 0;
	if (epic != NULL && state_same(STATE_EPIC, epic, in->x->id)) {
		id = state_id(STATE_AGENT, r->key);
		if (take_state(in->s, in->all, STATE_AGENT, id, e) != 0 || take_state(in->s, in->all, STATE_CHECKPOINT, id, e) != 0)
			ret = -1;
		free(id);
	}
	json_decref(o);
	return ret;
}

static int
take_all(struct store *s, struct all *all, const struct epic *x, bool locks, struct err *e)
{
	struct strays strays = { s, all, x };

	*all = (struct all){ .seen = json_object() };
	if (take_state(s, all, STATE_EPIC, x->id, e) != 0)
		return -1;
	for (size_t i = 0; i < x->n; i++)
		if (take_sprint(s, all, &x->sprints[i], locks, e) != 0)
			return -1;
	return store_each(s, state_prefix(STATE_AGENT), NULL, take_stray, &strays, e) != 0 ? -1 : 0;
}

/* ---- out ---- */

static json_t *
sprint_json(const struct epic_sprint *x)
{
	static const char *const words[] = { "completed", "in_progress", "starting", "waiting" };
	json_t *o = json_object(), *done = json_array(), *open = json_array(), *last = json_object();

	for (size_t i = 0; i < x->n_files; i++)
		json_array_append_new(x->files[i].completed ? done : open, json_bytes(x->files[i].path, strlen(x->files[i].path)));
	if (x->n_files > 0) {
		const struct epic_file *f = &x->files[x->n_files - 1];

		json_put(last, "file", f->path);
		json_put(last, "function", f->last);
		json_object_set_new(last, "line", f->line > 0 ? json_integer((json_int_t)f->line) : json_null());
		json_object_set_new(last, "confidence", f->confidence >= 0 ? json_real(f->confidence) : json_null());
	}
	json_put(o, "id", x->id);
	json_put(o, "status", words[x->state]);
	json_object_set_new(o, "progress",
	    x->progress == (double)(int)x->progress ? json_integer((int)x->progress) : json_real(x->progress));
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
		shape_put_time(o, "crashTime", x->heard);
	if (x->checkpoint > 0)
		shape_put_time(o, "lastCheckpoint", x->checkpoint);
	if (x->interrupted)
		json_put_int(o, "crashDuration", (now - x->heard) / 1000);
	return o;
}

json_t *
dump_make(struct store *s, const struct epic *x, int64_t now, struct err *e)
{
	json_t *o = NULL, *sprints = json_array(), *records = json_object();
	struct all all;
	int ret = take_all(s, &all, x, false, e);

	for (size_t i = 0; i < all.n && ret == 0; i++) {
		json_t *v = state_object(&all.v[i], e);

		if (v == NULL)
			ret = -1;
		else
			json_object_set_new(records, all.v[i].key, v);
	}
	for (size_t i = 0; i < x->n; i++)
		json_array_append_new(sprints, sprint_json(&x->sprints[i]));
	if (ret == 0) {
		o = json_object();
		json_put_int(o, "schema_version", STATE_SCHEMA);
		json_object_set_new(o, "epic", epic_json(x, now));
		json_object_set(o, "sprints", sprints);
		json_object_set(o, "records", records);
	}
	json_decref(sprints);
	json_decref(records);
	all_release(&all);
	return o;
}

int
dump_abandon(struct store *s, const struct epic *x, size_t *n, struct err *e)
{
	struct event ev = { .kind = "epic.abandoned", .subject = x->id };
	struct change *c = NULL;
	struct all all;
	int ret = take_all(s, &all, x, true, e);

	*n = all.n;
	if (ret == 0) {
		c = xcalloc(all.n + 1, sizeof *c);
		for (size_t i = 0; i < all.n; i++)
			c[i] = (struct change){ CHANGE_DELETE, all.v[i].key, all.v[i].version, NULL, NULL };
		ret = event_commit(s, c, all.n, &ev, e) == COMMIT_DONE ? 0 : -1;
	}
	free(c);
	all_release(&all);
	return ret;
}
