#include <stdlib.h>
#include <string.h>

#include "epic/epic_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "scrub/scrub.h"
#include "store/store.h"

#define KEYS_MOST 100000			/* of each kind; more are not read */

/* The JSON at a key; NULL with err. */
static json_t *
parse(const char *key, const struct buf *text, struct err *e)
{
	json_t *o = json_parse(text->data, text->len, key, NULL);
	struct buf shown = BUF_INIT;

	if (json_is_object(o))
		return o;
	json_decref(o);
	utf8_escape(&shown, key, strlen(key), 120);
	err_set(e, GT_FAIL, "unreadable", "the key %s is not a JSON object", shown.data);
	err_hint(e, "redis-cli GET %s shows it", shown.data);
	buf_release(&shown);
	return NULL;
}

static void
note_key(const char *key, void *arg)
{
	json_t *keys = arg;

	if (json_object_size(keys) < KEYS_MOST)
		json_object_set_new(keys, key, json_true());
}

/* One that cannot be read leaves its reason in `bad` and hinders no other. -1 with err: the server fails. */
static int
read_kind(struct epic_survey *survey, enum epic_record_kind at, struct err *bad, struct err *e)
{
	struct store *s = survey->store;
	char *suffix = epic_record_key(at, "");
	json_t *keys = json_object(), *v, *o;
	const char *key, *prefix = epic_record_prefix(at);
	int ret = store_foreign_keys(s, prefix, suffix + strlen(prefix), note_key, keys, e);

	json_object_foreach(keys, key, v) {
		struct buf text = BUF_INIT;
		char *id = epic_record_is(at, key) ? epic_record_id(at, key) : NULL;
		int found = id != NULL && ret == 0 ? store_foreign_get(s, key, &text, bad) : 0;

		if (found > 0 && (o = parse(key, &text, bad)) != NULL)
			epic_survey_put(survey, at, id, o);
		buf_release(&text);
		free(id);
	}
	json_decref(keys);
	free(suffix);
	return ret;
}

/* A sprint that names no epic, or one that has no record, is shown as an epic of its own. */
static void
imply_epics(struct epic_survey *survey)
{
	const char *key;
	json_t *entry;

	json_object_foreach(survey->shelf.of[EPIC_RECORD_SPRINT], key, entry) {
		json_t *o = json_object_get(entry, "value"), *epic;
		char *id = json_text(o, "epicId", NULL) != NULL ? xstrdup(json_text(o, "epicId", ""))
								 : xasprintf("sprint-%s", key);

		if (strcmp(json_text(entry, "source", ""), survey->source->name) == 0 &&
		    epic_shelf_get(&survey->shelf, EPIC_RECORD_EPIC, id) == NULL) {
			json_put(o, "epicId", id);
			epic = json_object();
			json_put(epic, "epicId", id);
			epic_shelf_put(&survey->shelf, EPIC_RECORD_EPIC, id, epic, survey->source);
		}
		free(id);
	}
}

int
epic_foreign_read(struct epic_survey *survey, struct err *e)
{
	static const enum epic_record_kind order[] = { EPIC_RECORD_EPIC, EPIC_RECORD_SPRINT,
		EPIC_RECORD_FILES, EPIC_RECORD_READY, EPIC_RECORD_CHECKPOINT, EPIC_RECORD_AGENT };
	struct err bad = ERR_INIT;

	if (survey->store == NULL)
		return 0;
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
		if (read_kind(survey, order[i], &bad, e) != 0)
			return -1;
	imply_epics(survey);
	if (bad.code == 0)
		return 0;
	*e = bad;
	return -1;
}

/* ---- taking it over ---- */

struct adoption {
	struct scrub *scrub;
	enum checkpoint_kind shape;
	const char *id;
	const json_t *o;
	size_t n;
};

/* The record under either spelling, ours or, taken over, another program's. *o: new reference, NULL: none. */
static int
adopt_one(
    struct txn *t, struct adoption *a, enum epic_record_kind at, const char *id, json_t **o, struct err *e)
{
	struct record r;
	char *keys[2] = { epic_record_key(at, id), NULL }, *other = epic_record_twin(at, id);
	int found = epic_record_find(t->s, at, id, &r, o, e);

	if (other != NULL)
		keys[1] = epic_record_key(at, other);
	for (size_t i = 0; i < 2 && found == 0 && keys[i] != NULL; i++) {
		struct buf text = BUF_INIT;
		json_t *raw = NULL;

		found = store_foreign_get(t->s, keys[i], &text, e);
		if (found > 0 && (raw = parse(keys[i], &text, e)) == NULL)
			found = -1;
		if (raw != NULL)
			*o = epic_adapt(a->scrub, at, i == 0 ? id : other, raw, store_now(t->s));
		if (*o != NULL) {
			char *value = epic_record_value(json_incref(*o), e);

			if (value == NULL)
				found = -1;
			else
				txn_write(t, xstrdup(keys[i]), STORE_ADOPT, epic_record_tag(at, *o), value);
			a->n += value != NULL;
		}
		buf_release(&text);
	}
	store_record_release(&r);
	free(keys[0]);
	free(keys[1]);
	free(other);
	return found < 0 ? -1 : 0;
}

static int
adopt_once(struct txn *t, void *arg, struct err *e)
{
	static const enum epic_record_kind places[CHECKPOINT_KINDS] = { EPIC_RECORD_EPIC, EPIC_RECORD_SPRINT,
		EPIC_RECORD_AGENT, EPIC_RECORD_FILES, EPIC_RECORD_READY };
	struct adoption *a = arg;
	json_t *o = NULL, *more = NULL;
	const char *epic;
	int ret;

	a->n = 0;
	ret = adopt_one(t, a, places[a->shape], a->id, &o, e);
	if (ret == 0 && a->shape == CHECKPOINT_AGENT)
		ret = adopt_one(t, a, EPIC_RECORD_CHECKPOINT, a->id, &more, e);
	epic = json_text(a->o, "epicId", json_text(o, "epicId", NULL));
	json_decref(more);
	more = NULL;
	if (ret == 0 && a->shape == CHECKPOINT_SPRINT && epic != NULL)
		ret = adopt_one(t, a, EPIC_RECORD_EPIC, epic, &more, e);
	if (a->n > 0)
		txn_event(t, "epic.adopted", a->id, NULL, NULL);
	json_decref(more);
	json_decref(o);
	return ret;
}

int
epic_adopt(struct store *s, struct scrub *scrub, enum checkpoint_kind shape, const char *id, const json_t *o,
    size_t *adopted, struct err *e)
{
	struct adoption a = { .scrub = scrub, .shape = shape, .id = id, .o = o };
	int ret = txn_run(s, adopt_once, &a, e);

	*adopted = ret == 0 ? a.n : 0;
	return ret;
}
