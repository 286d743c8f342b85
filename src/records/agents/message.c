#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "records/records_private.h"
#include "scrub/scrub.h"

static const char *const state_names[MESSAGE_STATES] = { "pending", "waiting", "delivered", "answered" };
static const struct record_field fields[] = {
	F_TEXT(message, "id", id, 0),
	F_TEXT(message, "from", from, 0),
	F_TEXT(message, "to", to, 0),
	F_TEXT(message, "body", body, 0),
	F_TEXT(message, "reply_to", reply_to, 0),
	F_TEXT(message, "answer", answer, 0),
	F_FLAG(message, "sync", sync),
	F_INT(message, "sent_at", sent_at, 0, 0),
	F_INT(message, "delivered_at", delivered_at, 0, 0),
	F_INT(message, "flagged_at", flagged_at, 0, 0),
	F_INT(message, "asked_at", asked_at, 0, 0),
	F_INT(message, "replays", replays, 0, 0),
};
const struct record_type message_type = { .prefix = "message:", .schema = 1, RECORD_SELF(message),
	RECORD_ID(message, id), RECORD_STATE(message, state, state_names),
	.refusal = "is not a message in a known state", .fields = FIELDS(fields) };

const char *
message_state_name(enum message_state state)
{
	return state_names[state];
}

void
message_release(struct message *m)
{
	record_free(&message_type, m);
}

void
message_list_release(struct message_list *list)
{
	record_list_free(&message_type, list);
}

/* A new empty one at the end. */
static struct message *
message_list_add(struct message_list *list)
{
	list->v = vec_room(list->v, list->n, &list->cap, sizeof *list->v);
	memset(&list->v[list->n], 0, sizeof list->v[0]);
	return &list->v[list->n++];
}

int
message_load(struct store *s, const char *id, struct message *out, struct err *e)
{
	return record_load(s, &message_type, id, out, e);
}

static int
message_need(struct store *s, const char *id, struct message *out, struct err *e)
{
	int found = message_load(s, id, out, e);

	if (found != 0)
		return found > 0 ? 0 : -1;
	err_set(e, GT_NOTHING, "not-found", "no message \"%.200s\"", id);
	return err_hint(e, "gt-recover records message list shows them");
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

	if (record_decode(&message_type, r, &m, e) != 0)
		return -1;
	if (!job->bodies)
		record_set(&m.body, NULL);
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

static char *
message_new_id(void)
{
	char random[17];

	io_random_hex(random, 8);
	return xasprintf("msg-%s", random);
}

static void
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

static int
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

static int
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
	return err_hint(e, "Use a unique id, or none: then one is generated");
}

/* The receiver must be there and must not have ended. */
static int
expect_receiver(struct txn *t, const char *to, struct err *e)
{
	if (record_check_id("the receiver", to, e) != 0)
		return -1;
	if (tree_expect_open(t, to, e) == 0)
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

static int
send_once(struct txn *t, void *arg, struct err *e)
{
	const struct sending *job = arg;
	struct message m;
	int ret;

	message_write(&m, job->id, job->l, job->l->from, job->to, store_now(t->s));
	ret = message_was_sent(t->s, &m, job->out, e);
	if (ret == 0 && (ret = expect_receiver(t, job->to, e)) == 0) {
		txn_put(t, &message_type, &m);
		txn_event(t, "message.sent", job->id, NULL, job->to);
	}
	message_release(&m);
	return ret < 0 ? -1 : 0;
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
		ret = txn_run(s, send_once, &job, e);
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

	if (record_decode(&message_type, r, m, e) != 0)
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
	return err_hint(e, "Use a unique id, or none: then one is generated");
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
		err_set(e, GT_NOTHING, "nobody", "no agent other than the sender");
		return err_hint(e, "gt-recover records agent tree shows the agents");
	}
	err_set(e, GT_USAGE, "too-large", "%zu messages of this size are more than %zu MiB", kept,
	    MESSAGE_BROADCAST_MAX >> 20);
	return err_hint(e, "Send the path of a file instead");
}

static int
put_one(struct txn *t, const struct casting *job, const char *to, int64_t now, struct err *e)
{
	char *id = xasprintf("%s/%s", job->id, to);
	struct message m, there;
	int ret;

	message_write(&m, id, job->l, job->l->from, to, now);
	txn_put(t, &message_type, &m);
	ret = message_was_sent(t->s, &m, &there, e) < 0 ? -1 : expect_receiver(t, to, e);
	message_release(&there);
	message_release(&m);
	free(id);
	return ret;
}

static int
cast_once(struct txn *t, void *arg, struct err *e)
{
	struct casting *job = arg;
	struct tree all = { .n = 0 };
	const char **list = NULL;
	int64_t now = store_now(t->s);
	char *words;
	size_t n = 0;
	int ret;

	message_list_release(job->out);
	ret = was_cast(t->s, job, e);
	if (ret == 0 && (ret = receivers(t->s, job, &all, &list, &n, e)) == 0) {
		for (size_t i = 0; i < n && ret == 0; i++)
			ret = put_one(t, job, list[i], now, e);
		words = xasprintf("%zu agent%s", n, n == 1 ? "" : "s");
		txn_event(t, "message.broadcast", job->id, NULL, words);
		free(words);
	}
	free(list);
	tree_release(&all);
	return ret < 0 ? -1 : 0;
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
		ret = txn_run(s, cast_once, &job, e);
	if (ret == 0 && out->n == 0)
		ret = was_cast(s, &job, e) > 0 ? 0 : -1;
	free(id);
	return ret;
}

/* --- deliver --- */

struct delivering {
	const char *id;
	struct message *out;
};

static int
deliver_once(struct txn *t, void *arg, struct err *e)
{
	struct delivering *job = arg;
	struct message *m = job->out;

	message_release(m);
	if (message_need(t->s, job->id, m, e) != 0)
		return -1;
	if (m->state != MESSAGE_PENDING)
		return 0;
	m->state = m->sync ? MESSAGE_WAITING : MESSAGE_DELIVERED;
	m->delivered_at = store_now(t->s);
	txn_put(t, &message_type, m);
	txn_event(t, "message.delivered", job->id, NULL, m->to);
	return 0;
}

int
message_mark_delivered(struct store *s, const char *id, struct message *out, struct err *e)
{
	struct delivering job = { id, out };

	memset(out, 0, sizeof *out);
	if (txn_run(s, deliver_once, &job, e) == 0)
		return 0;
	message_release(out);
	return -1;
}

/* --- reply --- */

struct replying {
	const char *id, *to;		/* the answer's id; the message that it answers */
	const struct message_draft *l;
	struct message *out;
};

static int
reply_once(struct txn *t, void *arg, struct err *e)
{
	const struct replying *job = arg;
	struct message asked, m;
	int was;

	if (message_need(t->s, job->to, &asked, e) != 0)
		return -1;
	message_write(&m, job->id, job->l, asked.to, asked.from, store_now(t->s));
	m.reply_to = xstrdup(asked.id);
	was = message_was_sent(t->s, &m, job->out, e);
	if (was == 0) {
		if (asked.delivered_at == 0)
			asked.delivered_at = m.sent_at;
		if (asked.answer == NULL)
			asked.answer = xstrdup(m.id);
		asked.state = MESSAGE_ANSWERED;
		txn_put(t, &message_type, &asked);
		txn_put(t, &message_type, &m);
		txn_event(t, "message.replied", job->to, NULL, job->id);
	}
	message_release(&asked);
	message_release(&m);
	return was < 0 ? -1 : 0;
}

int
message_reply(
    struct store *s, const char *id, const struct message_draft *l, struct message *out, struct err *e)
{
	char *own = l->id != NULL ? xstrdup(l->id) : message_new_id();
	struct replying job = { own, id, l, out };
	int ret;

	memset(out, 0, sizeof *out);
	ret = message_check_draft(l, true, e);
	if (ret == 0)
		ret = txn_run(s, reply_once, &job, e);
	if (ret == 0 && out->id == NULL)
		ret = message_need(s, own, out, e);
	free(own);
	return ret;
}

/* --- startup --- */

static const char *const policies[] = { "flag", "ask", "replay" };

int
message_policy_parse(const char *word)
{
	for (int i = 0; i < (int)(sizeof policies / sizeof policies[0]); i++)
		if (strcmp(policies[i], word) == 0)
			return i;
	return -1;
}

#define REQUEST                                                                                              \
	"Please repeat your answer to the message %s: after a restart it cannot be told whether it arrived."

/* The request is a literal of ours around an id that was checked, and clean for that. */
static void
write_request(struct message *m, const struct message *asked, int64_t now)
{
	memset(m, 0, sizeof *m);
	m->id = xasprintf("%s/ask", asked->id);
	m->from = xstrdup(asked->from);
	m->to = xstrdup(asked->to);
	m->body = xasprintf(REQUEST, asked->id);
	m->sent_at = now;
}

/* What the policy does about a message whose answer is not known. */
static void
settle(struct txn *t, struct message *m, enum reply_policy policy)
{
	static const char *const kinds[] = { "message.flagged", "message.asked", "message.replayed" };
	int64_t now = store_now(t->s);
	struct message request = { .version = 0 };

	if (policy == REPLY_FLAG) {
		m->flagged_at = now;
	} else if (policy == REPLY_ASK) {
		m->asked_at = now;
		write_request(&request, m, now);
	} else {
		m->state = MESSAGE_PENDING;
		m->replays++;
	}
	txn_put(t, &message_type, m);
	if (policy == REPLY_ASK)
		txn_put(t, &message_type, &request);
	txn_event(t, kinds[policy], m->id, NULL, m->to);
	message_release(&request);
}

/* Another message may have the id that the request would be sent under. 1, 0, -1. */
static int
request_is_taken(struct store *s, const struct message *asked, struct err *e)
{
	char *id = xasprintf("%s/ask", asked->id);
	struct message m;
	int found = message_load(s, id, &m, e);

	message_release(&m);
	free(id);
	return found;
}

struct message_resolution {
	const char *id;
	enum reply_policy policy;	/* what is done: not of every one can somebody be asked */
	bool done;			/* something was done about it */
};

static int
resolve_once(struct txn *t, void *arg, struct err *e)
{
	struct message_resolution *job = arg;
	struct message m;
	struct session x;
	bool due;
	int found, taken = 0;

	job->done = false;
	if (message_need(t->s, job->id, &m, e) != 0)
		return -1;
	found = session_load(t->s, m.to, &x, e);
	due = found >= 0 && m.state == MESSAGE_WAITING &&
	    (found == 0 || (x.state != SESSION_ACTIVE && !host_is_other(x.host)));
	if (due && job->policy == REPLY_ASK && m.asked_at == 0)
		taken = request_is_taken(t->s, &m, e);
	if (found == 0 || x.state == SESSION_ENDED || taken > 0)
		job->policy = REPLY_FLAG;
	session_release(&x);
	if (due && taken >= 0) {
		job->done = job->policy == REPLY_REPLAY ||
		    (job->policy == REPLY_ASK ? m.asked_at : m.flagged_at) == 0;
		if (job->done)
			settle(t, &m, job->policy);
	}
	message_release(&m);
	return found >= 0 && taken >= 0 ? 0 : -1;
}

int
message_reconcile(struct store *s, enum reply_policy policy, struct message_reconciled *out, struct err *e)
{
	struct message_list pending = { .n = 0 }, waiting = { .n = 0 };
	size_t *did[] = {
		[REPLY_FLAG] = &out->flagged, [REPLY_ASK] = &out->asked, [REPLY_REPLAY] = &out->replayed
	};
	int ret = message_list_read(s, MESSAGE_PENDING, NULL, false, &pending, e);

	memset(out, 0, sizeof *out);
	if (ret == 0)
		ret = message_list_read(s, MESSAGE_WAITING, NULL, false, &waiting, e);
	out->pending = pending.n;
	for (size_t i = 0; i < pending.n; i++)
		out->answers_pending += pending.v[i].reply_to != NULL;
	out->waiting = waiting.n;
	for (size_t i = 0; i < waiting.n && ret == 0; i++) {
		struct message_resolution job = { .id = waiting.v[i].id, .policy = policy };

		ret = txn_run(s, resolve_once, &job, e);
		*did[job.policy] += ret == 0 && job.done;
	}
	message_list_release(&pending);
	message_list_release(&waiting);
	return ret;
}
