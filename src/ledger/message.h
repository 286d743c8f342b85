#ifndef LEDGER_MESSAGE_H
#define LEDGER_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/session.h"

struct clean_text;
struct err;
struct record;
struct store;

/*
 * A message between agents: the record message:<id>, committed before whoever carries it takes it into a queue, and marked when it was
 * delivered. A crash in between has it delivered again: at least once, under the same id, in no promised order. The tag is its state.
 *
 *	pending -> delivered			it asked for no answer
 *	pending -> waiting -> answered		it asked for one (sync); answered straight from pending when delivery was never marked
 *	waiting -> pending			replayed, see messages_settle
 *
 * An answer is a message of its own, of one commit with what it answers: the answer that is logged is never lost, even if its receiver
 * does not get it before a crash. It is listed as undelivered then.
 *
 * A body is clean text, kept as it is; no event and no error tells it.
 */
enum message_state { MESSAGE_PENDING, MESSAGE_WAITING, MESSAGE_DELIVERED, MESSAGE_ANSWERED, MESSAGE_STATES };

#define MESSAGE_BODY_MAX ((size_t)256 << 10)	/* bytes */
#define MESSAGE_BROADCAST_MAX ((size_t)64 << 20)	/* bytes of all its bodies */

struct message {
	int64_t version;		/* of the record; 0: there is none */
	enum message_state state;
	char *id;
	char *from, *to;
	char *body;
	char *reply_to;			/* the message that it answers; NULL: none */
	char *answer;			/* the first message that answered it */
	bool sync;			/* its sender waits for an answer */
	int64_t sent_at, delivered_at;	/* ms since 1970; 0: not yet. delivered_at: the last time */
	int64_t flagged_at, asked_at;	/* by messages_settle; 0: never */
	int64_t replays;		/* how many times it was put back */
};

struct messages {
	struct message *v;
	size_t n, cap;
};

const char *message_state_name(enum message_state state);
void message_release(struct message *m);
void messages_release(struct messages *list);

/* What is to be sent. id NULL: a new one. Strings are the caller's. */
struct letter {
	const char *id, *from;
	const struct clean_text *body;
	bool sync;
};

/*
 * Commits a message as pending, with the event message.sent; *out is the record. The same letter to the same agent under an id that was
 * given before: 0, nothing is written, so that a sender who lost our answer sends again. Names: "taken" (GT_REFUSED: another message has
 * the id), "no-agent", "ended" (GT_REFUSED: the receiver), "too-large", "id" (GT_USAGE).
 */
int message_send(struct store *s, const struct letter *l, const char *to, struct message *out, struct err *e);

/*
 * The same to each of n agents, or to all that have not ended but the sender (n 0), in one commit with the event message.broadcast. The ids
 * are <id>/<agent>. A second time under the same id: what was sent the first time.
 */
int message_broadcast(struct store *s, const struct letter *l, const char *const *to, size_t n, struct messages *out, struct err *e);

/* Marks it as delivered. One that is so already stays. Also "not-found" (GT_NOTHING). */
int message_deliver(struct store *s, const char *id, struct message *out, struct err *e);

/*
 * Commits the answer to a message, from its receiver to its sender, and the message as answered (one that had an answer stays with that).
 * l->from is not looked at. *out is the answer. As message_send for an id that was given before.
 */
int message_reply(struct store *s, const char *id, const struct letter *l, struct message *out, struct err *e);

/* 1 found, 0 absent, -1. *out is empty unless 1; release it. */
int message_load(struct store *s, const char *id, struct message *out, struct err *e);

/*
 * All of a state (MESSAGE_STATES: all), appended, in the order of sending. to: NULL or the receiver. Without `bodies` they have none.
 */
int messages_read(struct store *s, enum message_state state, const char *to, bool bodies, struct messages *out, struct err *e);

/* As --json shows it. New reference. */
json_t *message_json(const struct message *m);

/*
 * Startup. What is pending stays so: it is counted. For a message that was delivered and asked for an answer that is not logged, nobody
 * knows whether its receiver answered in its own conversation. While the receiver's session is ACTIVE (settle sessions first) it may still
 * come, and a receiver of another host is that host's to settle. Otherwise, by the policy, each once (where the receiver has ended, or another message has the id <id>/ask, it can only be flagged):
 *
 *	flag	it is marked, with the event message.flagged: a person looks
 *	ask	the receiver is sent a message that asks it to repeat its answer, from the sender, under the id <id>/ask
 *	replay	it is pending again, and so delivered once more under its own id
 */
enum reply_policy { REPLY_FLAG, REPLY_ASK, REPLY_REPLAY };

struct messages_settled {
	size_t pending, answers_pending;	/* not delivered; those among them that are answers */
	size_t waiting;				/* delivered, not answered, whatever was done about them */
	size_t flagged, asked, replayed;	/* by this call */
};
int messages_settle(struct store *s, enum reply_policy policy, struct messages_settled *out, struct err *e);

/* "flag", "ask", "replay"; -1 for anything else. */
int reply_policy_of(const char *word);

#endif
