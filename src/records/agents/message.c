#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "records/agents/agents_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "records/records.h"
#include "scrub/scrub.h"
#include "store/store.h"

#define SCHEMA 1
#define N(table) (sizeof table / sizeof table[0])

static const char *const state_names[MESSAGE_STATES] = { "pending", "waiting", "delivered", "answered" };

static const struct { const char *key; size_t at;
} texts[] = {
	{ "id", offsetof(struct message, id) }, { "from", offsetof(struct message, from) },
	{ "to", offsetof(struct message, to) },
	{ "body", offsetof(struct message, body) }, { "reply_to", offsetof(struct message, reply_to) },
	{ "answer", offsetof(struct message, answer) },
}, numbers[] = {
	{ "sent_at", offsetof(struct message, sent_at) },
	{ "delivered_at", offsetof(struct message, delivered_at) },
	{ "flagged_at", offsetof(struct message, flagged_at) },
	{ "asked_at", offsetof(struct message, asked_at) },
	{ "replays", offsetof(struct message, replays) },
};

static char **
message_text_field(const struct message *m, size_t i)
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
		free(*message_text_field(m, i));
	memset(m, 0, sizeof *m);
}

void
message_list_release(struct message_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		message_release(&list->v[i]);
	free(list->v);
	memset(list, 0, sizeof *list);
}

/* A new empty one at the end. */
static struct message *
message_list_add(struct message_list *list)
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
		json_put(o, texts[i].key, *message_text_field(m, i));
	json_put_flag(o, "sync", m->sync);
	for (size_t i = 0; i < N(numbers); i++)
		json_put_int(o, numbers[i].key, *number_of(m, i));
	return o;
}

/* Heap. */
static char *
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

/* From a record message:*; release it when 0. */
static int
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
		return err_set(
		    e, GT_FAIL, "corrupt", "the record %.200s is no message in a known state", r->key);
	}
	if (!body)
		json_object_del(o, "body");
	for (size_t i = 0; i < N(texts); i++)
		session_set(message_text_field(out, i), json_text(o, texts[i].key, NULL));
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
	store_record_release(&r);
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

struct message_filter {
	const char *to;
	bool bodies;
	struct message_list *out;
};

static int
add_message(const struct record *r, void *arg, struct err *e)
{
	const struct message_filter *job = arg;
	struct message m;

	if (message_from_record(r, job->bodies, &m, e) != 0)
		return -1;
	if (job->to != NULL && (m.to == NULL || strcmp(m.to, job->to) != 0))
		message_release(&m);
	else
		*message_list_add(job->out) = m;
	return 0;
}

static int
by_time(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	return x->sent_at != y->sent_at ? (x->sent_at > y->sent_at) - (x->sent_at < y->sent_at)
					: strcmp(x->id, y->id);
}

int
message_list_read(struct store *s, enum message_state state, const char *to, bool bodies,
    struct message_list *out, struct err *e)
{
	struct message_filter job = { to, bodies, out };
	size_t before = out->n;

	if (store_each(s, "message:", state != MESSAGE_STATES ? state_names[state] : NULL, add_message, &job,
		e) != 0)
		return -1;
	if (out->n > before)
		qsort(out->v + before, out->n - before, sizeof *out->v, by_time);
	return 0;
}

/* --- what is sent --- */

char *
message_new_id(void)
{
	char random[17];

	io_random_hex(random, 8);
	return xasprintf("msg-%s", random);
}

void
message_write(struct message *m, const char *id, const struct message_draft *l, const char *from,
    const char *to, int64_t now)
{
	memset(m, 0, sizeof *m);
	m->id = xstrdup(id);
	m->from = xstrdup(from);
	m->to = xstrdup(to);
	m->body = xstrdup(clean_bytes(l->body));
	m->sync = l->sync;
	m->sent_at = now;
}

int
message_check_draft(const struct message_draft *l, bool answer, struct err *e)
{
	if (!answer && (l->from == NULL || record_check_id("from", l->from, e) != 0)) {
		if (l->from == NULL) {
			err_set(e, GT_USAGE, "message", "a message needs from, to and body");
			err_hint(e, "gt-recover help message");
		}
		return -1;
	}
	if (l->id != NULL && record_check_id("the id of a message", l->id, e) != 0)
		return -1;
	if (clean_len(l->body) <= MESSAGE_BODY_MAX)
		return 0;
	err_set(
	    e, GT_USAGE, "too-large", "the body of a message has at most %zu KiB", MESSAGE_BODY_MAX >> 10);
	return err_hint(e, "Send the path of a file instead");
}

static bool
same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

int
message_was_sent(struct store *s, const struct message *m, struct message *out, struct err *e)
{
	int found = message_load(s, m->id, out, e);

	if (found <= 0)
		return found;
	if (same(out->from, m->from) && same(out->to, m->to) && same(out->body, m->body) &&
	    same(out->reply_to, m->reply_to) && out->sync == m->sync)
		return 1;
	message_release(out);
	err_set(e, GT_REFUSED, "taken", "another message has the id %s", m->id);
	return err_hint(e, "Each message has an id of its own; without one a new one is made");
}

/* The check that the receiver is there and has not ended; key is heap, the caller's. */
static int
message_receiver_check(struct store *s, const char *to, char **key, struct change *c, struct err *e)
{
	if (record_check_id("the receiver", to, e) != 0)
		return -1;
	if (tree_not_ended_check(s, to, key, c, e) == 0)
		return 0;
	if (e != NULL && strcmp(e->name, "parent-ended") == 0)
		err_set(e, GT_REFUSED, "ended", "the agent %s has ended and takes no messages", to);
	return -1;
}

/* --- send --- */

struct sending {
	const struct message_draft *l;
	const char *id, *to;
	struct message *out;
};

static enum commit
send_once(struct store *s, void *arg, struct err *e)
{
	const struct sending *job = arg;
	struct event ev = { .kind = "message.sent", .subject = job->id, .text = job->to };
	char *key[2] = { NULL }, *value = NULL;
	enum commit answer = COMMIT_ERROR;
	struct change c[2];
	struct message m;
	int ret;

	message_write(&m, job->id, job->l, job->l->from, job->to, store_now(s));
	ret = message_was_sent(s, &m, job->out, e);
	if (ret == 0 && (ret = message_receiver_check(s, job->to, &key[0], &c[0], e)) == 0) {
		message_change(&m, &key[1], &value, &c[1]);
		answer = event_commit(s, c, 2, &ev, e);
	}
	free(key[0]);
	free(key[1]);
	free(value);
	message_release(&m);
	return ret > 0 ? COMMIT_DONE : answer;
}

/* *out as it is in the store, unless it is there. */
static int
reload_message(struct store *s, const char *id, struct message *out, struct err *e)
{
	return out->id != NULL ? 0 : message_need(s, id, out, e);
}

int
message_send(
    struct store *s, const struct message_draft *l, const char *to, struct message *out, struct err *e)
{
	char *id = l->id != NULL ? xstrdup(l->id) : message_new_id();
	struct sending job = { l, id, to, out };
	int ret;

	memset(out, 0, sizeof *out);
	ret = message_check_draft(l, false, e);
	if (ret == 0)
		ret = record_retry_on_conflict(send_once, s, &job, e);
	if (ret == 0)
		ret = reload_message(s, id, out, e);
	free(id);
	return ret;
}

struct casting {
	const struct message_draft *l;
	const char *id;
	const char *const *to;
	size_t n;
	struct message_list *out;
};

static int
add_sent(const struct record *r, void *arg, struct err *e)
{
	const struct casting *job = arg;
	struct message *m = message_list_add(job->out);
	size_t n = strlen(job->id);

	if (message_from_record(r, true, m, e) != 0)
		return -1;
	/* what startup asks about one of them has an id behind its id */
	if (strcmp(m->id + n + 1, m->to) != 0) {
		message_release(m);
		job->out->n--;
		return 0;
	}
	if (strcmp(m->from, job->l->from) == 0 && strcmp(m->body, clean_bytes(job->l->body)) == 0)
		return 0;
	err_set(e, GT_REFUSED, "taken", "another message has the id %s", job->id);
	return err_hint(e, "Each message has an id of its own; without one a new one is made");
}

/* What went out under this id before: 1 the same, 0 nothing, -1. */
static int
was_cast(struct store *s, struct casting *job, struct err *e)
{
	char *prefix = xasprintf("message:%s/", job->id);
	int ret = store_each(s, prefix, NULL, add_sent, job, e);

	free(prefix);
	return ret != 0 ? -1 : job->out->n > 0;
}

static int
compare_ids(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each receiver once. `all` keeps the strings of those that were not named. */
static int
receivers(struct store *s, const struct casting *job, struct tree *all, const char ***list, size_t *n,
    struct err *e)
{
	size_t kept = 0;

	if (job->n == 0 && tree_read(s, all, e) != 0)
		return -1;
	*n = job->n > 0 ? job->n : all->n;
	*list = xcalloc(*n + 1, sizeof **list);
	for (size_t i = 0; i < *n; i++)
		(*list)[i] = job->n > 0 ? job->to[i] : all->v[i].agent;
	qsort(*list, *n, sizeof **list, compare_ids);
	for (size_t i = 0; i < *n; i++)
		if ((kept == 0 || strcmp((*list)[kept - 1], (*list)[i]) != 0) &&
		    (job->n > 0 || strcmp((*list)[i], job->l->from) != 0))
			(*list)[kept++] = (*list)[i];
	*n = kept;
	if (kept > 0 && clean_len(job->l->body) <= MESSAGE_BROADCAST_MAX / kept)
		return 0;
	if (kept == 0) {
		err_set(e, GT_NOTHING, "nobody", "there is no agent but the sender");
		return err_hint(e, "gt-recover agent tree shows those that there are");
	}
	err_set(e, GT_USAGE, "too-large", "%zu messages of this size are more than %zu MiB", kept,
	    MESSAGE_BROADCAST_MAX >> 20);
	return err_hint(e, "Send the path of a file instead");
}

static enum commit
put_all(struct store *s, const struct casting *job, const char *const *to, size_t n, struct err *e)
{
	char **keys = xcalloc(2 * n, sizeof *keys), **values = xcalloc(n, sizeof *values);
	char *words = xasprintf("%zu agent%s", n, n == 1 ? "" : "s");
	struct event ev = { .kind = "message.broadcast", .subject = job->id, .text = words };
	struct change *c = xcalloc(2 * n, sizeof *c);
	enum commit answer = COMMIT_ERROR;
	int64_t now = store_now(s);
	int ret = 0;

	for (size_t i = 0; i < n && ret == 0; i++) {
		char *id = xasprintf("%s/%s", job->id, to[i]);
		struct message m, there;

		message_write(&m, id, job->l, job->l->from, to[i], now);
		message_change(&m, &keys[2 * i], &values[i], &c[2 * i]);
		ret = message_was_sent(s, &m, &there, e) < 0 ? -1 :
		    message_receiver_check(s, to[i], &keys[2 * i + 1], &c[2 * i + 1], e);
		message_release(&there);
		message_release(&m);
		free(id);
	}
	if (ret == 0)
		answer = event_commit(s, c, 2 * n, &ev, e);
	for (size_t i = 0; i < n; i++) {
		free(keys[2 * i]);
		free(keys[2 * i + 1]);
		free(values[i]);
	}
	free(keys);
	free(values);
	free(words);
	free(c);
	return answer;
}

static enum commit
cast_once(struct store *s, void *arg, struct err *e)
{
	struct casting *job = arg;
	struct tree all = { .n = 0 };
	const char **list = NULL;
	enum commit answer = COMMIT_ERROR;
	size_t n = 0;
	int was;

	message_list_release(job->out);
	was = was_cast(s, job, e);
	if (was > 0)
		answer = COMMIT_DONE;
	else if (was == 0 && receivers(s, job, &all, &list, &n, e) == 0)
		answer = put_all(s, job, list, n, e);
	free(list);
	tree_release(&all);
	return answer;
}

int
message_broadcast(struct store *s, const struct message_draft *l, const char *const *to, size_t n,
    struct message_list *out, struct err *e)
{
	char *id = l->id != NULL ? xstrdup(l->id) : message_new_id();
	struct casting job = { l, id, to, n, out };
	int ret;

	memset(out, 0, sizeof *out);
	ret = message_check_draft(l, false, e);
	if (ret == 0)
		ret = record_retry_on_conflict(cast_once, s, &job, e);
	if (ret == 0 && out->n == 0)
		ret = was_cast(s, &job, e) > 0 ? 0 : -1;
	free(id);
	return ret;
}
