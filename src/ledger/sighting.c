#include <stdlib.h>
#include <string.h>

#include "ledger/sighting.h"
#include "ledger/event.h"
#include "ledger/key.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#define PREFIX "sighting:"

static const char *const tags[] = { "seen", "owed", "mailed", "given-up", "back" };

static const struct { const char *key; size_t at; } texts[] = {
	{ "session", offsetof(struct sighting, session) }, { "socket", offsetof(struct sighting, socket) },
	{ "pane_id", offsetof(struct sighting, pane_id) }, { "class", offsetof(struct sighting, class) },
	{ "reason", offsetof(struct sighting, reason) }, { "error", offsetof(struct sighting, error) },
	{ "message", offsetof(struct sighting, message) }, { "hint", offsetof(struct sighting, hint) },
	{ "recovery_id", offsetof(struct sighting, recovery_id) },
}, numbers[] = {
	{ "server_pid", offsetof(struct sighting, server_pid) }, { "server_start", offsetof(struct sighting, server_start) },
	{ "pane_pid", offsetof(struct sighting, pane_pid) }, { "crashed_at", offsetof(struct sighting, crashed_at) },
	{ "failed_at", offsetof(struct sighting, failed_at) }, { "tries", offsetof(struct sighting, tries) },
};

#define N(a) (sizeof (a) / sizeof (a)[0])

static char **
text_of(const struct sighting *x, size_t i)
{
	return (char **)((char *)(uintptr_t)x + texts[i].at);
}

static int64_t *
number_of(const struct sighting *x, size_t i)
{
	return (int64_t *)((char *)(uintptr_t)x + numbers[i].at);
}

static char *
key_of(const struct sighting *x)
{
	char *id = xasprintf("%s@%lld", x->pane_id, (long long)x->pane_pid);
	char *key = key_on_server("sighting", x->server_pid, x->server_start, id, x->socket);

	free(id);
	return key;
}

static char *
to_json(const struct sighting *x)
{
	json_t *o = json_object();
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < N(texts); i++)
		json_put(o, texts[i].key, *text_of(x, i));
	for (size_t i = 0; i < N(numbers); i++)
		json_put_int(o, numbers[i].key, *number_of(x, i));
	json_put_flag(o, "unsure", x->unsure);
	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

static int
from_record(const struct record *r, struct sighting *x, struct err *e)
{
	json_t *v = json_parse(r->value, strlen(r->value), r->key, e);

	if (v == NULL)
		return -1;
	memset(x, 0, sizeof *x);
	x->version = r->version;
	for (size_t i = 0; i < N(tags); i++)
		if (strcmp(tags[i], r->tag) == 0)
			x->state = (enum sighting_state)i;
	for (size_t i = 0; i < N(texts); i++) {
		const char *text = json_text(v, texts[i].key, NULL);

		*text_of(x, i) = text != NULL ? xstrdup(text) : NULL;
	}
	for (size_t i = 0; i < N(numbers); i++)
		*number_of(x, i) = json_number(v, numbers[i].key, 0);
	x->unsure = json_flag(v, "unsure", false);
	json_decref(v);
	if (x->session != NULL && x->socket != NULL && x->pane_id != NULL)
		return 0;
	sighting_release(x);
	return err_set(e, GT_FAIL, "corrupt", "the record %.200s lacks its session, socket or pane", r->key);
}

static int
commit(struct store *s, const struct change *c, size_t n, const struct event *ev, struct err *e)
{
	enum commit answer = ev != NULL ? event_commit(s, c, n, ev, e) : store_commit(s, c, n, e);

	if (answer == COMMIT_CONFLICT && e != NULL)
		e->code = GT_AGAIN;
	return answer == COMMIT_DONE ? 0 : -1;
}

/* After a commit: the versions that the next one has to expect. */
static int
read_version(struct store *s, const char *key, struct sighting *x, struct err *e)
{
	struct record r;
	int found = store_get(s, key, &r, e);

	if (found > 0)
		x->version = r.version;
	record_release(&r);
	return found < 0 ? -1 : 0;
}

int
sighting_put(struct store *s, struct sighting *x, const struct event *ev, struct err *e)
{
	char *key = key_of(x), *value = to_json(x);
	struct change c = { CHANGE_PUT, key, x->version, tags[x->state], value };
	int ret = commit(s, &c, 1, ev, e);

	if (ret == 0)
		ret = read_version(s, key, x, e);
	free(key);
	free(value);
	return ret;
}

int
sighting_see(struct store *s, struct sighting *x, bool *fresh, struct err *e)
{
	char *key = key_of(x), *words = xasprintf("%s, %s", x->class, x->reason);
	struct event ev = { .kind = "crash.seen", .subject = x->pane_id, .session = x->session, .text = words };
	struct sighting old;
	struct record r;
	int found = store_get(s, key, &r, e), ret = found < 0 ? -1 : 0;

	*fresh = false;
	if (found > 0 && from_record(&r, &old, NULL) == 0) {
		sighting_release(x);
		*x = old;
	} else if (ret == 0) {
		x->version = r.version;
		x->state = SIGHTING_SEEN;
		ret = sighting_put(s, x, &ev, e);
		*fresh = ret == 0;
	}
	record_release(&r);
	free(key);
	free(words);
	return ret;
}

int
sightings_put(struct store *s, struct sightings *list, const struct event *ev, struct err *e)
{
	struct change *c = xcalloc(list->n, sizeof *c);
	char **keys = xcalloc(list->n, sizeof *keys), **values = xcalloc(list->n, sizeof *values);
	int ret;

	for (size_t i = 0; i < list->n; i++) {
		keys[i] = key_of(&list->v[i]);
		values[i] = to_json(&list->v[i]);
		c[i] = (struct change){ CHANGE_PUT, keys[i], list->v[i].version, tags[list->v[i].state], values[i] };
	}
	ret = commit(s, c, list->n, ev, e);
	for (size_t i = 0; i < list->n; i++) {
		if (ret == 0)
			ret = read_version(s, keys[i], &list->v[i], e);
		free(keys[i]);
		free(values[i]);
	}
	free(keys);
	free(values);
	free(c);
	return ret;
}

static int
add_record(const struct record *r, void *arg, struct err *e)
{
	struct sightings *out = arg;

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	if (from_record(r, &out->v[out->n], e) != 0)
		return -1;
	out->n++;
	return 0;
}

int
sightings_owed(struct store *s, struct sightings *out, struct err *e)
{
	return store_each(s, PREFIX, tags[SIGHTING_OWED], add_record, out, e);
}

void
sighting_release(struct sighting *x)
{
	for (size_t i = 0; i < N(texts); i++)
		free(*text_of(x, i));
	memset(x, 0, sizeof *x);
}

void
sightings_release(struct sightings *list)
{
	for (size_t i = 0; i < list->n; i++)
		sighting_release(&list->v[i]);
	free(list->v);
	*list = (struct sightings){ .n = 0 };
}
