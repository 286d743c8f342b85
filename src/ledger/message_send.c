#include <stdlib.h>
#include <string.h>

#include "ledger/message.h"
#include "ledger/event.h"
#include "ledger/key.h"
#include "ledger/message_record.h"
#include "ledger/record.h"
#include "ledger/tree.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "scrub/scrub.h"
#include "store/store.h"

/* --- what is sent --- */

char *
message_new_id(void)
{
	char random[17];

	io_random_hex(random, 8);
	return xasprintf("msg-%s", random);
}

void
message_write(struct message *m, const char *id, const struct letter *l, const char *from, const char *to, int64_t now)
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
message_check_letter(const struct letter *l, bool answer, struct err *e)
{
	if (!answer && (l->from == NULL || key_check_id("from", l->from, e) != 0)) {
		if (l->from == NULL) {
			err_set(e, GT_USAGE, "message", "a message needs from, to and body");
			err_hint(e, "gt-recover help message");
		}
		return -1;
	}
	if (l->id != NULL && key_check_id("the id of a message", l->id, e) != 0)
		return -1;
	if (clean_len(l->body) <= MESSAGE_BODY_MAX)
		return 0;
	err_set(e, GT_USAGE, "too-large", "the body of a message has at most %zu KiB", MESSAGE_BODY_MAX >> 10);
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
	if (same(out->from, m->from) && same(out->to, m->to) && same(out->body, m->body) && same(out->reply_to, m->reply_to) &&
	    out->sync == m->sync)
		return 1;
	message_release(out);
	err_set(e, GT_REFUSED, "taken", "another message has the id %s", m->id);
	return err_hint(e, "Each message has an id of its own; without one a new one is made");
}

int
message_receiver_check(struct store *s, const char *to, char **key, struct change *c, struct err *e)
{
	if (key_check_id("the receiver", to, e) != 0)
		return -1;
	if (tree_living_check(s, to, key, c, e) == 0)
		return 0;
	if (e != NULL && strcmp(e->name, "parent-ended") == 0)
		err_set(e, GT_REFUSED, "ended", "the agent %s has ended and takes no messages", to);
	return -1;
}

/* --- send --- */

struct sending {
	const struct letter *l;
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
read_back(struct store *s, const char *id, struct message *out, struct err *e)
{
	return out->id != NULL ? 0 : message_need(s, id, out, e);
}

int
message_send(struct store *s, const struct letter *l, const char *to, struct message *out, struct err *e)
{
	char *id = l->id != NULL ? xstrdup(l->id) : message_new_id();
	struct sending job = { l, id, to, out };
	int ret;

	memset(out, 0, sizeof *out);
	ret = message_check_letter(l, false, e);
	if (ret == 0)
		ret = record_settle(send_once, s, &job, e);
	if (ret == 0)
		ret = read_back(s, id, out, e);
	free(id);
	return ret;
}

