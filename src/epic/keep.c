#include <stdlib.h>
#include <string.h>

#include "epic/epic_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

struct keeping {
	const struct epic *const *v;
	size_t n;
	bool pass;				/* of the clock: nothing is adopted */
	struct txn *t;
	size_t written, adopted;
};

/* The version that a commit of that record must expect, and its key (heap); -1 with err. */
static int
find_place(struct store *s, enum epic_record_kind at, const char *id, struct record *r, json_t **old,
    struct err *e)
{
	char *other = epic_record_twin(at, id);
	struct buf text = BUF_INIT;
	int found = epic_record_find(s, at, id, r, old, e);

	if (found == 0) {
		r->key = epic_record_key(at, id);
		r->version = STORE_ABSENT;
		if ((found = store_foreign_get(s, r->key, &text, e)) == 0 && other != NULL) {
			char *key = epic_record_key(at, other);

			if ((found = store_foreign_get(s, key, &text, e)) > 0) {
				free(r->key);
				r->key = xstrdup(key);
			}
			free(key);
		}
		if (found > 0)
			r->version = STORE_ADOPT;
	}
	buf_release(&text);
	free(other);
	return found < 0 ? -1 : 0;
}

static int
keep_record(
    struct txn *t, struct keeping *k, enum epic_record_kind at, const char *id, json_t *o, struct err *e)
{
	struct record r = { .key = NULL };
	json_t *old = NULL;
	char *value;
	int ret;

	if ((ret = find_place(t->s, at, id, &r, &old, e)) == 0 && !json_equal(old, o) &&
	    !(k->pass && r.version == STORE_ADOPT)) {
		value = epic_record_value(json_incref(o), e);
		ret = value != NULL ? 0 : -1;
		if (value != NULL)
			txn_write(t, xstrdup(r.key), r.version, epic_record_tag(at, o), value);
		k->written += value != NULL;
		k->adopted += value != NULL && r.version == STORE_ADOPT;
	}
	json_decref(old);
	store_record_release(&r);
	return ret;
}

static int
each_agent(const struct epic *x, epic_record_row *row, void *arg, struct err *e)
{
	json_t *seen = json_object();
	int ret = 0;

	for (size_t i = 0; i < x->n; i++)
		for (size_t a = 0; a < json_array_size(x->sprints[i].agents) && ret == 0; a++) {
			json_t *agent = json_array_get(x->sprints[i].agents, a);
			const char *id = json_text(agent, "agentId", "");

			/* of one nothing but its id may be known */
			if (json_object_size(agent) <= 1 || json_object_get(seen, id) != NULL)
				continue;
			json_object_set_new(seen, id, json_true());
			ret = row(EPIC_RECORD_AGENT, id, agent, arg, e);
		}
	json_decref(seen);
	return ret;
}

int
epic_each_record(const struct epic *x, epic_record_row *row, void *arg, struct err *e)
{
	int ret = row(EPIC_RECORD_EPIC, x->id, x->record, arg, e);

	for (size_t i = 0; i < x->n && ret == 0; i++) {
		const struct epic_sprint *one = &x->sprints[i];

		if (one->record != NULL)
			ret = row(EPIC_RECORD_SPRINT, one->id, one->record, arg, e);
		if (ret == 0 && one->files_record != NULL)
			ret = row(EPIC_RECORD_FILES, one->id, one->files_record, arg, e);
		if (ret == 0 && one->ready != NULL)
			ret = row(EPIC_RECORD_READY, one->id, one->ready, arg, e);
	}
	return ret == 0 ? each_agent(x, row, arg, e) : ret;
}

static int
keep_row(enum epic_record_kind at, const char *id, json_t *o, void *arg, struct err *e)
{
	struct keeping *k = arg;

	if (keep_record(k->t, k, at, id, o, e) != 0)
		return -1;
	return at == EPIC_RECORD_AGENT && !k->pass ? keep_record(k->t, k, EPIC_RECORD_CHECKPOINT, id, o, e)
						    : 0;
}

static int
keep_once(struct txn *t, void *arg, struct err *e)
{
	struct keeping *k = arg;

	k->t = t;
	k->written = k->adopted = 0;
	for (size_t i = 0; i < k->n; i++)
		if (epic_each_record(k->v[i], keep_row, k, e) != 0)
			return -1;
	if (k->adopted > 0)
		txn_event(t, "epic.adopted", k->v[0]->id, NULL, NULL);
	return 0;
}

int
epic_keep(struct store *s, const struct epic *x, size_t *n, size_t *adopted, struct err *e)
{
	struct keeping k = { .v = &x, .n = 1 };
	int ret = txn_run(s, keep_once, &k, e);

	if (n != NULL)
		*n = k.written;
	if (adopted != NULL)
		*adopted = k.adopted;
	return ret;
}

int
epic_keep_all(struct store *s, const struct epic *const *v, size_t n_epics, size_t *n, struct err *e)
{
	struct keeping k = { .v = v, .n = n_epics, .pass = true };
	int ret = txn_run(s, keep_once, &k, e);

	*n = k.written;
	return ret;
}

/* ---- a checkpoint ---- */

/* A sign of life of each of its agents that runs. True: it has some. */
static bool
beat(struct epic_sprint *one, int64_t now)
{
	for (size_t i = 0; i < json_array_size(one->agents); i++) {
		json_t *agent = json_array_get(one->agents, i);

		if (json_object_get(one->living_agents, json_text(agent, "agentId", "")) != NULL)
			checkpoint_set_time(agent, "lastHeartbeat", now);
	}
	return json_object_size(one->living_agents) > 0;
}

/* Files that nobody told, but the passes before this one. */
static bool
is_untold(const struct epic_sprint *one)
{
	const json_t *open = json_object_get(one->record, "filesInProgress");
	size_t own = 0;

	for (size_t i = 0; i < json_array_size(open); i++)
		own += strcmp(json_text(json_array_get(open, i), "source", ""), "transcript") == 0;
	return one->n_files <= own;
}

static void
put_transcript_files(struct epic_sprint *one, const struct epic_pass_tools *tools)
{
	json_t *o = json_object(), *list = json_array(), *clean;

	for (size_t i = 0; i < json_array_size(one->agents); i++) {
		const json_t *agent = json_array_get(one->agents, i);
		char *path = json_object_get(one->living_agents, json_text(agent, "agentId", "")) != NULL
		    ? tools->transcript(agent, tools->arg)
		    : NULL;

		if (path != NULL)
			epic_claude_files(path, false, list);
		free(path);
	}
	for (size_t i = 0; i < json_array_size(list); i++)
		json_put(json_array_get(list, i), "source", "transcript");
	json_object_set_new(o, "filesInProgress", list);
	clean = json_array_size(list) > 0 ? checkpoint_scrub(CHECKPOINT_SPRINT, o, tools->scrub, NULL) : NULL;
	if (clean != NULL)
		json_object_update(one->record, clean);
	json_decref(clean);
	json_decref(o);
}

bool
epic_checkpoint(struct epic *x, const struct epic_pass_tools *tools, int64_t now)
{
	if (!x->alive || x->interrupted || strcmp(json_text(x->record, "status", ""), "completed") == 0)
		return false;
	for (size_t i = 0; i < x->n; i++) {
		struct epic_sprint *one = &x->sprints[i];

		if (one->state == SPRINT_COMPLETED || one->state == SPRINT_WAITING || !beat(one, now) ||
		    one->record == NULL)
			continue;
		if (is_untold(one))
			put_transcript_files(one, tools);
		checkpoint_set_time(one->record, "lastCheckpoint", now);
	}
	checkpoint_set_time(x->record, "lastCheckpoint", now);
	return true;
}
