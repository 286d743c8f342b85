#include <stdlib.h>
#include <string.h>

#include "records/agents/agents.h"
#include "records/records.h"
#include "records/agents/agents_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "scrub/scrub.h"
#include "store/store.h"

/* --- deliver --- */

struct delivering {
	const char *id;
	struct message *out;
};

static enum commit
put_one(struct store *s, const struct message *m, const struct event *ev, struct err *e)
{
	char *key, *value;
	struct change c;
	enum commit answer;

	message_change(m, &key, &value, &c);
	answer = event_commit(s, &c, 1, ev, e);
	free(key);
	free(value);
	return answer;
}

static enum commit
deliver_once(struct store *s, void *arg, struct err *e)
{
	struct delivering *job = arg;
	struct message *m = job->out;
	struct event ev = { .kind = "message.delivered", .subject = job->id };

	message_release(m);
	if (message_need(s, job->id, m, e) != 0)
		return COMMIT_ERROR;
	if (m->state != MESSAGE_PENDING)
		return COMMIT_DONE;
	ev.text = m->to;
	m->state = m->sync ? MESSAGE_WAITING : MESSAGE_DELIVERED;
	m->delivered_at = store_now(s);
	return put_one(s, m, &ev, e);
}

int
message_mark_delivered(struct store *s, const char *id, struct message *out, struct err *e)
{
	struct delivering job = { id, out };

	memset(out, 0, sizeof *out);
	if (record_retry_on_conflict(deliver_once, s, &job, e) == 0)
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

static enum commit
reply_once(struct store *s, void *arg, struct err *e)
{
	const struct replying *job = arg;
	struct event ev = { .kind = "message.replied", .subject = job->to, .text = job->id };
	char *key[2] = { NULL }, *value[2] = { NULL };
	enum commit answer = COMMIT_ERROR;
	struct message asked, m;
	struct change c[2];
	int was = -1;

	if (message_need(s, job->to, &asked, e) != 0)
		return COMMIT_ERROR;
	message_write(&m, job->id, job->l, asked.to, asked.from, store_now(s));
	m.reply_to = xstrdup(asked.id);
	was = message_was_sent(s, &m, job->out, e);
	if (was == 0) {
		if (asked.delivered_at == 0)
			asked.delivered_at = m.sent_at;
		if (asked.answer == NULL)
			asked.answer = xstrdup(m.id);
		asked.state = MESSAGE_ANSWERED;
		message_change(&asked, &key[0], &value[0], &c[0]);
		message_change(&m, &key[1], &value[1], &c[1]);
		answer = event_commit(s, c, 2, &ev, e);
	}
	for (size_t i = 0; i < 2; i++) {
		free(key[i]);
		free(value[i]);
	}
	message_release(&asked);
	message_release(&m);
	return was > 0 ? COMMIT_DONE : answer;
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
		ret = record_retry_on_conflict(reply_once, s, &job, e);
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

static enum commit
ask(struct store *s, struct message *asked, int64_t now, struct err *e)
{
	struct event ev = { .kind = "message.asked", .subject = asked->id, .text = asked->to };
	char *key[2], *value[2];
	enum commit answer;
	struct change c[2];
	struct message m;

	asked->asked_at = now;
	write_request(&m, asked, now);
	message_change(asked, &key[0], &value[0], &c[0]);
	message_change(&m, &key[1], &value[1], &c[1]);
	answer = event_commit(s, c, 2, &ev, e);
	for (size_t i = 0; i < 2; i++) {
		free(key[i]);
		free(value[i]);
	}
	message_release(&m);
	return answer;
}

static enum commit
flag(struct store *s, struct message *m, int64_t now, struct err *e)
{
	struct event ev = { .kind = "message.flagged", .subject = m->id, .text = m->to };

	m->flagged_at = now;
	return put_one(s, m, &ev, e);
}

static enum commit
replay(struct store *s, struct message *m, struct err *e)
{
	struct event ev = { .kind = "message.replayed", .subject = m->id, .text = m->to };

	m->state = MESSAGE_PENDING;
	m->replays++;
	return put_one(s, m, &ev, e);
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

static enum commit
resolve_once(struct store *s, void *arg, struct err *e)
{
	struct message_resolution *job = arg;
	int64_t now = store_now(s);
	enum commit answer = COMMIT_DONE;
	struct message m;
	struct session x;
	bool due;
	int found, taken = 0;

	job->done = false;
	if (message_need(s, job->id, &m, e) != 0)
		return COMMIT_ERROR;
	found = session_load(s, m.to, &x, e);
	due = found >= 0 && m.state == MESSAGE_WAITING &&
	    (found == 0 || (x.state != SESSION_ACTIVE && !host_is_other(x.host)));
	if (due && job->policy == REPLY_ASK && m.asked_at == 0)
		taken = request_is_taken(s, &m, e);
	if (found == 0 || x.state == SESSION_ENDED || taken > 0)
		job->policy = REPLY_FLAG;
	session_release(&x);
	if (due && taken >= 0) {
		job->done = job->policy == REPLY_REPLAY ||
		    (job->policy == REPLY_ASK ? m.asked_at : m.flagged_at) == 0;
		if (job->done)
			answer = job->policy == REPLY_REPLAY ? replay(s, &m, e)
			    : job->policy == REPLY_ASK       ? ask(s, &m, now, e)
							     : flag(s, &m, now, e);
	}
	message_release(&m);
	return found >= 0 && taken >= 0 ? answer : COMMIT_ERROR;
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

		ret = record_retry_on_conflict(resolve_once, s, &job, e);
		*did[job.policy] += ret == 0 && job.done;
	}
	message_list_release(&pending);
	message_list_release(&waiting);
	return ret;
}
