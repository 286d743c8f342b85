#ifndef RECORDS_AGENTS_AGENTS_H
#define RECORDS_AGENTS_AGENTS_H

#include "records/records.h"

struct buf;
struct clean_text;

/* ---- blob ---- */

/*
 * The state that a provider handed over for a session: bytes of any kind, which nobody here
 * reads. The record blob:<agent_uuid> (tag blob) holds them in base64 with their number and
 * SHA-256, and so does the session's record (records/agents/agents.h): both are always of one
 * commit.
 */
#define SESSION_BLOB_MAX ((size_t)1 << 20)

struct session_blob {
	int64_t size;			/* bytes; -1: there is none */
	char sha256[65];
};

/*
 * Stores the bytes, in a commit that changes the session too; `it` then tells what the session's
 * record has to say. More than SESSION_BLOB_MAX: name "too-large", GT_USAGE.
 */
int session_blob_put(
    struct txn *t, const char *agent, const struct buf *blob, struct session_blob *it, struct err *e);

/* Appends the bytes. They are missing or are not those that `it` tells of: name "blob". */
int session_blob_read(
    struct store *s, const char *agent, const struct session_blob *it, struct buf *out, struct err *e);

/* ---- session ---- */

/*
 * The session of an agent, as an orchestrator or an agent's hook tells of it: the record
 * session:<agent_uuid>, its tag the state. It is committed right after the provider made the
 * session and before the first message is sent, so that whatever dies later, somebody knows that
 * there is an agent, and how to go on with it.
 *
 * 	ACTIVE -> SUSPENDED             asked for, with a state blob or without; or at startup, as its
 * 	process is no more
 * 	SUSPENDED -> ACTIVE             restored, by one alone: the commit expects the version that
 * 	was read
 * 	either -> ENDED			(records/agents/agents.h)
 *
 * A root gets its place in the tree in the same commit; a child names its parent in `parent` and
 * gets it by agent_spawn (records/agents/agents.h). Field names are those of the seeds S0 and S1.
 * What the record says of a process is never believed: it lives when this boot has a process of
 * that pid that began in that clock tick.
 *
 * A session is its host's (base/host.h), which made it ACTIVE last. Of an ACTIVE one of another
 * host nobody here can tell whether it lives, so nothing here takes it, ends it or suspends it by
 * itself. Who restores a SUSPENDED one takes it over to his host.
 */
enum session_state { SESSION_ACTIVE, SESSION_SUSPENDED, SESSION_ENDED, SESSION_STATES };

struct session {
	int64_t version;			/* of the record; 0: there is none */
	enum session_state state;

	/* heap, NULL when unknown; set with record_set */
	char *agent_uuid;			/* required: record_check_id */
	char *provider_name;			/* required by session_record */
	/* the provider's own id of the conversation, whoever the provider is */
	char *cursor_session_id;
	char *model;
	char *workspace_path;
	char *parent;				/* an agent's; NULL: a root */
	/* the tmux session that it runs in, and the server's socket */
	char *session, *socket;
	char *start_command;			/* clean: no secret stands in it */
	char *why;				/* it is suspended or ended, a sentence */

	struct session_blob blob;			/* its state, kept in a record of its own */
	char host[HOST_MAX + 1];		/* "": this one's, or the store knows no hosts */
	char came_from[HOST_MAX + 1];		/* the host that it was taken over from; "": none */
	char boot_id[40];			/* of the process; "": no process is known */
	int64_t pid, pid_start;			/* clock ticks since that boot */
	uint64_t pid_ns;			/* namespace of the pid (base/timestamp.h); 0: not known */
	int64_t seen_boot_ms;			/* its last sign of life, ms since that boot */
	int64_t recorded_at, changed_at;	/* ms since 1970 */
};

struct session_list {
	struct session *v;
	size_t n, cap;
};

#define SESSION_TEXT_MAX 4096			/* bytes of each text */

const char *session_state_name(enum session_state state);	/* "ACTIVE", … */

void session_init(struct session *x);		/* empty */
void session_release(struct session *x);
void session_list_release(struct session_list *list);

/* The texts that a caller may tell by name, "provider_name", …; NULL when there is no such name. */
char **session_field(struct session *x, const char *name);

/*
 * Notes the process of the session, by what /proc tells of it now. -1: it is not running (nothing
 * is noted).
 */
int session_set_process(struct session *x, int64_t pid);
/*
 * Does the process that was noted run? False when none was noted. True also when /proc cannot tell, and for
 * one in another container of this machine until the container has ended or the last sign of life is older
 * than PROC_SEEN_MS.
 */
bool session_is_alive(const struct session *x, const struct timestamp *now);
/* The same boot, pid namespace, pid and start time. */
bool session_same_process(const struct session *x, const struct session *y);
/* Its process is in another container of this machine: /proc and tmux do not show it here. */
bool session_is_contained(const struct session *x, const struct timestamp *now);
/* It is ACTIVE on another host: it may live there. */
bool session_is_elsewhere(const struct session *x);
/*
 * For certain no process of it runs: it is not ACTIVE, or its process was one of this host and
 * boot and is gone.
 */
bool session_is_gone(const struct session *x, const struct timestamp *now);
/*
 * ACTIVE on this host, and the process that was noted is no more. Of one of which none was noted
 * nobody can tell.
 */
bool session_is_lost(const struct session *x, const struct timestamp *now);

/* Answers session_is_alive, or whatever else a test has it say. */
typedef bool session_alive(const struct session *x, void *arg);
/* arg is the struct timestamp now. One that is elsewhere counts as living. */
bool session_alive_now(const struct session *x, void *arg);

/*
 * Commits a session as ACTIVE, with its state blob when blob is not NULL, and the event
 * session.recorded. One that is ACTIVE already, say since the answer was lost, gets the fields
 * that are not NULL here, and the process. *x is the record afterwards. Names, all GT_REFUSED:
 * "suspended" (restore it), "ended", "live" (another process of it runs), "elsewhere",
 * "other-parent"; "no-agent" (GT_FAIL: no such parent), "parent-ended" (GT_REFUSED), "session"
 * (GT_USAGE: a field is missing or too long).
 */
int session_record(struct store *s, struct session *x, const struct buf *blob, struct err *e);

/*
 * Commits a session as SUSPENDED and its blob, when there is one, in its place; otherwise the old
 * one stays. One that is SUSPENDED already stays so. Its process is forgotten. why: a sentence of
 * ours. *out is the record afterwards, or empty. Also "ended"; "not-found" (GT_NOTHING).
 */
int session_suspend(struct store *s, const char *agent, const struct buf *blob, const char *why,
    struct session *out, struct err *e);

/*
 * Claims a SUSPENDED session: ACTIVE, without a process, when it answers 0, and *blob has its
 * state, byte for byte. Its parent must not have ended. Names: "active" (GT_REFUSED: somebody has
 * it), "ended", "parent-ended", "blob", "not-found". Nothing is changed then.
 */
int session_restore(struct store *s, const char *agent, struct buf *blob, struct session *out, struct err *e);

/*
 * Commits that the agent runs again, as process pid: ACTIVE, whatever it was, with the event
 * session.started. conversation: the provider's id of what it goes on with; NULL: as it was. 1
 * noted, 0 left as it is: it has ended, is elsewhere, another process of it lives, or pid is
 * gone; -1.
 */
int session_started(struct store *s, const char *agent, int64_t pid, const char *conversation, struct err *e);
/*
 * Records a sign of life of each ACTIVE session whose process runs in this namespace, for other containers.
 * One that was recorded within PROC_RENEW_MS is left alone. Some hundred are one commit, without an event; a
 * conflict is left to the next pass. session_renew does it for one session, however recent the last one.
 */
int session_renew(struct store *s, struct session *x, const struct timestamp *at, struct err *e);
int session_list_renew(struct store *s, const struct timestamp *now, struct err *e);
/* 1 found, 0 absent, -1 err. *out is empty unless 1; release it. */
int session_load(struct store *s, const char *agent, struct session *out, struct err *e);
/* The same, absent being an error: "not-found", GT_NOTHING. */
int session_need(struct store *s, const char *agent, struct session *out, struct err *e);
/* All of a state (SESSION_STATES: all), appended, by id. */
int session_list_read(struct store *s, enum session_state state, struct session_list *out, struct err *e);

/*
 * Startup: each ACTIVE session of this host that `alive` does not answer for becomes SUSPENDED.
 * Idempotent, also when it is killed in between: some hundred are one commit and one event
 * (session.suspended). *left: ACTIVE ones whose process lives, or that are elsewhere.
 */
struct session_reconciled {
	size_t suspended, left;
};
int session_reconcile(
    struct store *s, session_alive *alive, void *arg, struct session_reconciled *out, struct err *e);

/* The record as JSON, new reference: its value, and what --json shows beside the state. */
json_t *session_json(const struct session *x);

/* For those who record one: has it what a session needs, within its limits? */
int session_check(const struct session *x, struct err *e);
/* What the record has and x does not tell; x then expects its version. */
void session_inherit(struct session *x, const struct session *old);
void session_copy(struct session *out, const struct session *x);

/* For commits of others: x as it is, in `state`; and that it is in the store as it was read. */
void session_put(struct txn *t, struct session *x, enum session_state state, int64_t now);
void session_expect(struct txn *t, const struct session *x);

/* ---- message ---- */

/*
 * A message between agents: the record message:<id>, committed before whoever carries it takes it
 * into a queue, and marked when it was delivered. A crash in between has it delivered again: at
 * least once, under the same id, in no promised order. The tag is its state.
 *
 * 	pending -> delivered			it asked for no answer
 * 	pending -> waiting -> answered          it asked for one (sync); answered straight from
 * 	pending when delivery was never marked
 * 	waiting -> pending			replayed, see message_reconcile
 *
 * An answer is a message of its own, of one commit with what it answers: the answer that is
 * logged is never lost, even if its receiver does not get it before a crash. It is listed as
 * undelivered then.
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
	int64_t flagged_at, asked_at;	/* by message_reconcile; 0: never */
	int64_t replays;		/* how many times it was put back */
};

struct message_list {
	struct message *v;
	size_t n, cap;
};

const char *message_state_name(enum message_state state);
void message_release(struct message *m);
void message_list_release(struct message_list *list);

/* What is to be sent. id NULL: a new one. Strings are the caller's. */
struct message_draft {
	const char *id, *from;
	const struct clean_text *body;
	bool sync;
};

/*
 * Commits a message as pending, with the event message.sent; *out is the record. The same letter
 * to the same agent under an id that was given before: 0, nothing is written, so that a sender
 * who lost our answer sends again. Names: "taken" (GT_REFUSED: another message has the id),
 * "no-agent", "ended" (GT_REFUSED: the receiver), "too-large", "id" (GT_USAGE).
 */
int message_send(
    struct store *s, const struct message_draft *l, const char *to, struct message *out, struct err *e);

/*
 * The same to each of n agents, or to all that have not ended but the sender (n 0), in one commit
 * with the event message.broadcast. The ids are <id>/<agent>. A second time under the same id:
 * what was sent the first time.
 */
int message_broadcast(struct store *s, const struct message_draft *l, const char *const *to, size_t n,
    struct message_list *out, struct err *e);

/* Marks it as delivered. One that is so already stays. Also "not-found" (GT_NOTHING). */
int message_mark_delivered(struct store *s, const char *id, struct message *out, struct err *e);

/*
 * Commits the answer to a message, from its receiver to its sender, and the message as answered
 * (one that had an answer stays with that). l->from is not looked at. *out is the answer. As
 * message_send for an id that was given before.
 */
int message_reply(
    struct store *s, const char *id, const struct message_draft *l, struct message *out, struct err *e);

/* 1 found, 0 absent, -1. *out is empty unless 1; release it. */
int message_load(struct store *s, const char *id, struct message *out, struct err *e);

/*
 * All of a state (MESSAGE_STATES: all), appended, in the order of sending. to: NULL or the
 * receiver. Without `bodies` they have none.
 */
int message_list_read(struct store *s, enum message_state state, const char *to, bool bodies,
    struct message_list *out, struct err *e);

/* As --json shows it. New reference. */
json_t *message_json(const struct message *m);

/*
 * Startup. What is pending stays so: it is counted. For a message that was delivered and asked
 * for an answer that is not logged, nobody knows whether its receiver answered in its own
 * conversation. While the receiver's session is ACTIVE (settle sessions first) it may still come,
 * and a receiver of another host is that host's to settle. Otherwise, by the policy, each once
 * (where the receiver has ended, or another message has the id <id>/ask, it can only be flagged):
 *
 * 	flag	it is marked, with the event message.flagged: a person looks
 * 	ask     the receiver is sent a message that asks it to repeat its answer, from the sender,
 * 	under the id <id>/ask
 * 	replay	it is pending again, and so delivered once more under its own id
 */
enum reply_policy { REPLY_FLAG, REPLY_ASK, REPLY_REPLAY };

struct message_reconciled {
	size_t pending, answers_pending;	/* not delivered; those among them that are answers */
	size_t waiting;				/* delivered, not answered, whatever was done about them */
	size_t flagged, asked, replayed;	/* by this call */
};
int message_reconcile(struct store *s, enum reply_policy policy, struct message_reconciled *out,
    struct err *e);

/* "flag", "ask", "replay"; -1 for anything else. */
int message_policy_parse(const char *word);

/* ---- tree ---- */

/*
 * Who spawned whom: the record tree:<agent_uuid> holds one agent's link to its parent; its tag is
 * open or ended. A spawn is acknowledged when the child's session and its link are on disk, and
 * expects the parent's link as it was read, by a change that only checks: no agent gets a child
 * once it has ended. An agent that ends takes all below it along.
 */
struct tree_node {
	int64_t version;
	bool ended;
	char *agent;
	char *parent;			/* NULL: a root */
	char *adopted_from;		/* the parent that it was repaired away from; NULL: none */
	int64_t at;			/* when it was linked, ms since 1970 */
};

/* The agents that have not ended, by id. */
struct tree {
	struct tree_node *v;
	size_t n, cap;
};

/* 1 found, 0 absent, -1. *out is empty unless 1; release it. */
int tree_load(struct store *s, const char *agent, struct tree_node *out, struct err *e);
void tree_node_release(struct tree_node *x);
int tree_read(struct store *s, struct tree *out, struct err *e);
void tree_release(struct tree *t);
/* NULL when it is not among them. */
const struct tree_node *tree_find(const struct tree *t, const char *agent);

/*
 * Links a child to its parent, with the event agent.spawned. child: a session that is new is
 * recorded in the same commit, with its blob when blob is not NULL; one that was recorded before
 * (only agent_uuid is looked at then) is linked. Linked to this parent already: 0. *child is the
 * record afterwards. Names: "no-agent" (GT_FAIL: the parent was never recorded), and GT_REFUSED
 * "parent-ended", "ended", "linked" (it is a root, or another's child), "other-parent".
 */
int tree_spawn(struct store *s, const char *parent, struct session *child, const struct buf *blob,
    struct err *e);

/*
 * Ends an agent and all below it: their sessions and their links, in one commit with the event
 * agent.ended. Whoever is spawned below it in that very moment is ended right after. Nothing is
 * done to a process. below false: "has-children" (GT_REFUSED) when there are any. One that has
 * ended already: 0. *ended: how many. Also "not-found".
 */
int tree_end(struct store *s, const char *agent, bool below, size_t *ended, struct err *e);

/*
 * Startup: makes the tree whole, each repair one commit with the event agent.repaired. Idempotent.
 *
 * 	a session without a link: its spawn was cut off. It is linked as recorded; ended when its
 * 	parent has ended and it does not live
 * 	a parent that is not in the store, or a ring of parents: its child becomes a root
 * 	a parent that has ended: the child is ended, or becomes a root when it lives
 * 	a link whose session has ended, or was never recorded: the link is ended
 *
 * Agents of other hosts are left to those.
 */
struct tree_repaired {
	size_t linked, ended, made_roots;
};
/*
 * SUSPENDED sessions of this host to bring back, as the tree stands then, by id: of roots, or of
 * all agents.
 */
struct tree_resumable {
	bool all;
	struct session_list list;		/* appended to; session_list_release */
};
/* back: NULL when nobody asks. */
int tree_repair(struct store *s, session_alive *alive, void *arg, struct tree_repaired *out,
    struct tree_resumable *back, struct err *e);

/* For commits of others. The link of an agent, expected to be new; parent NULL: a root. */
void tree_link_put(struct txn *t, const char *agent, const char *parent, int64_t now);
/* That an agent has not ended. Names: "no-agent", "parent-ended". */
int tree_expect_open(struct txn *t, const char *agent, struct err *e);
/* The same for an agent and for its parent. Also "unlinked" (GT_REFUSED). */
int tree_expect_ancestry(struct txn *t, const char *agent, struct err *e);

#endif
