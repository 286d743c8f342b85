#include <stdlib.h>
#include <string.h>

#include "ledger/message.h"
#include "ledger/message_record.h"
#include "ledger/record.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#define SCHEMA 1
#define N(table) (sizeof table / sizeof table[0])

static const char *const state_names[MESSAGE_STATES] = { "pending", "waiting", "delivered", "answered" };

static const struct { const char *key; size_t at; } texts[] = {
	{ "id", offsetof(struct message, id) }, { "from", offsetof(struct message, from) }, { "to", offsetof(struct message, to) },
	{ "body", offsetof(struct message, body) }, { "reply_to", offsetof(struct message, reply_to) },
	{ "answer", offsetof(struct message, answer) },
}, numbers[] = {
	{ "sent_at", offsetof(struct message, sent_at) }, { "delivered_at", offsetof(struct message, delivered_at) },
	{ "flagged_at", offsetof(struct message, flagged_at) }, { "asked_at", offsetof(struct message, asked_at) },
	{ "replays", offsetof(struct message, replays) },
};

static char **
text_of(const struct message *m, size_t i)
{
	return (char **)((uintptr_t)m + texts[i].at);
}

static int64_t *
number_of(const struct message *m, size_t i)
{
	return (int64_t *)((uintptr_t)m + numbers[i].at);
}

const char *
message_state_name(enum message_state state)
{
	return state_names[state];
}

void
message_release(struct message *m)
{
	for (size_t i = 0; i < N(texts); i++)
		free(*text_of(m, i));
	memset(m, 0, sizeof *m);
}

void
messages_release(struct messages *list)
{
	for (size_t i = 0; i < list->n; i++)
		message_release(&list->v[i]);
	free(list->v);
	memset(list, 0, sizeof *list);
}

struct message *
messages_add(struct messages *list)
{
	list->v = vec_room(list->v, list->n, &list->cap, sizeof *list->v);
	memset(&list->v[list->n], 0, sizeof list->v[0]);
	return &list->v[list->n++];
}

json_t *
message_json(const struct message *m)
{
	json_t *o = json_object();

	json_put_int(o, "schema_version", SCHEMA);
	for (size_t i = 0; i < N(texts); i++)
		json_put(o, texts[i].key, *text_of(m, i));
	json_put_flag(o, "sync", m->sync);
	for (size_t i = 0; i < N(numbers); i++)
		json_put_int(o, numbers[i].key, *number_of(m, i));
	return o;
}

char *
message_key(const char *id)
{
	return xasprintf("message:%s", id);
}

void
message_change(const struct message *m, char **key, char **value, struct change *c)
{
	*key = message_key(m->id);
	*value = record_value(message_json(m));
	*c = (struct change){ CHANGE_PUT, *key, m->version, state_names[m->state], *value };
}

int
message_from_record(const struct record *r, bool body, struct message *out, struct err *e)
{
	json_t *o = record_object(r, SCHEMA, e);
	int state = 0;

	memset(out, 0, sizeof *out);
	if (o == NULL)
		return -1;
	while (state < MESSAGE_STATES && strcmp(state_names[state], r->tag) != 0)
		state++;
	if (state == MESSAGE_STATES) {
		json_decref(o);
		return err_set(e, GT_FAIL, "corrupt", "the record %.200s is no message in a known state", r->key);
	}
	if (!body)
		json_object_del(o, "body");
	for (size_t i = 0; i < N(texts); i++)
		session_set(text_of(out, i), json_text(o, texts[i].key, NULL));
	session_set(&out->id, strchr(r->key, ':') + 1);
	for (size_t i = 0; i < N(numbers); i++)
		*number_of(out, i) = json_number(o, numbers[i].key, 0);
	out->sync = json_flag(o, "sync", false);
	out->version = r->version;
	out->state = (enum message_state)state;
	json_decref(o);
	return 0;
}

int
message_load(struct store *s, const char *id, struct message *out, struct err *e)
{
	char *key = message_key(id);
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(out, 0, sizeof *out);
	if (found > 0 && message_from_record(&r, true, out, e) != 0)
		found = -1;
	record_release(&r);
	free(key);
	return found;
}

int
message_need(struct store *s, const char *id, struct message *out, struct err *e)
{
	int found = message_load(s, id, out, e);

	if (found != 0)
		return found > 0 ? 0 : -1;
	err_set(e, GT_NOTHING, "not-found", "there is no message \"%.200s\"", id);
	return err_hint(e, "gt-recover message list shows them");
}

struct reading {
	const char *to;
	bool bodies;
	struct messages *out;
};

static int
add_record(const struct record *r, void *arg, struct err *e)
{
	const struct reading *job = arg;
	struct message m;

	if (message_from_record(r, job->bodies, &m, e) != 0)
		return -1;
	if (job->to != NULL && (m.to == NULL || strcmp(m.to, job->to) != 0))
		message_release(&m);
	else
		*messages_add(job->out) = m;
	return 0;
}

static int
by_time(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	return x->sent_at != y->sent_at ? (x->sent_at > y->sent_at) - (x->sent_at < y->sent_at) : strcmp(x->id, y->id);
}

int
messages_read(struct store *s, enum message_state state, const char *to, bool bodies, struct messages *out, struct err *e)
{
	struct reading job = { to, bodies, out };
	size_t before = out->n;

	if (store_each(s, "message:", state != MESSAGE_STATES ? state_names[state] : NULL, add_record, &job, e) != 0)
		return -1;
	if (out->n > before)
		qsort(out->v + before, out->n - before, sizeof *out->v, by_time);
	return 0;
}
