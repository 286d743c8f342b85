#ifndef RECORDS_AGENTS_AGENTS_H
#define RECORDS_AGENTS_AGENTS_H

#include "records/records.h"

struct buf;
struct clean_text;

/* ---- blob ---- */

/*
 * State that a provider keeps for a session: bytes that nothing here reads. The record
 * blob:<agent_uuid> (tag blob) holds them in base64 with their number and SHA-256; the session's
 * record holds number and SHA-256, too. Both change in one commit.
 */
#define SESSION_BLOB_MAX ((size_t)1 << 20)

struct session_blob {
	int64_t size;			/* bytes; -1: there is none */
	char sha256[65];
};

/*
 * Stores the bytes, in a commit that changes the session too; `it` then has what the session's
 * record says of them. More than SESSION_BLOB_MAX: "too-large", GT_USAGE.
 */
int session_blob_put(
    struct txn *t, const char *agent, const struct buf *blob, struct session_blob *it, struct err *e);

/* Appends the bytes. They are missing or differ from `it`: "blob". */
int session_blob_read(
    struct store *s, const char *agent, const struct session_blob *it, struct buf *out, struct err *e);

/* ---- session ---- */

/*
 * The session of an agent, as an orchestrator or the agent's hook reports it: the record
 * session:<agent_uuid>, its tag the state. It is committed after the provider made the session and
 * before the first message is sent, so that an agent is known, and how to resume it, whatever dies
 * later.
 *
 * 	ACTIVE -> SUSPENDED	on request, with or without a state blob; or at startup, when its process
 * 				is gone
 * 	SUSPENDED -> ACTIVE	restored, by one caller: the commit expects the version that was read
 * 	either -> ENDED		tree_end, tree_repair
 *
 * A root gets its place in the tree in the same commit; a child names its parent in `parent` and
 * gets its place by tree_spawn. The process in the record is a claim: the session lives when this
 * boot has a process with that pid that began in that clock tick.
 *
 * A session belongs to the host (base/host.h) that made it ACTIVE last. Another host cannot tell
 * whether an ACTIVE one lives, and so does not claim, end or suspend it on its own. Restoring a
 * SUSPENDED one moves it to the restoring host.
 */
enum session_state { SESSION_ACTIVE, SESSION_SUSPENDED, SESSION_ENDED, SESSION_STATES };

struct session {
	int64_t version;			/* of the record; 0: there is none */
	enum session_state state;

	/* heap, NULL when unknown; set with record_set */
	char *agent_uuid;			/* required: record_check_id */
	char *provider_name;			/* required by session_record */
	char *cursor_session_id;		/* any provider's own id of the conversation */
	char *model;
	char *workspace_path;
	char *parent;				/* an agent's; NULL: a root */
	char *session, *socket;			/* of tmux: its session, and the server's socket */
	char *start_command;			/* clean: no secret is in it */
	char *why;				/* it is suspended or ended, a sentence */

	struct session_blob blob;		/* its state, kept in a record of its own */
	char host[HOST_MAX + 1];		/* "": this one's, or the store knows no hosts */
	char came_from[HOST_MAX + 1];		/* the host that it moved from; "": none */
	char boot_id[40];			/* of the process; "": no process is known */
	int64_t pid, pid_start;			/* clock ticks since that boot */
	uint64_t pid_ns;			/* namespace of the pid (base/timestamp.h); 0: unknown */
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

/* Notes the process, as /proc shows it now. -1: it is not running, nothing is noted. */
int session_set_process(struct session *x, int64_t pid);
/*
 * Does the noted process run? False when none was noted. True when /proc cannot tell, and for one in
 * another container of this machine until the container has ended or the last sign of life is older
 * than PROC_SEEN_MS.
 */
bool session_is_alive(const struct session *x, const struct timestamp *now);
/* The same boot, pid namespace, pid and start time. */
bool session_same_process(const struct session *x, const struct session *y);
/* Its process is in another container of this machine: /proc and tmux do not show it here. */
bool session_is_contained(const struct session *x, const struct timestamp *now);
/* It is ACTIVE on another host: it may live there. */
bool session_is_elsewhere(const struct session *x);
/* Certainly no process of it runs: it is not ACTIVE, or its process of this host and boot is gone. */
bool session_is_gone(const struct session *x, const struct timestamp *now);
/* ACTIVE on this host, and the noted process is gone. False when none was noted. */
bool session_is_lost(const struct session *x, const struct timestamp *now);

/* Answers session_is_alive, or what a test wants. */
typedef bool session_alive(const struct session *x, void *arg);
/* arg is the struct timestamp now. One on another host counts as alive. */
bool session_alive_now(const struct session *x, void *arg);

/*
 * Commits a session as ACTIVE, with its state blob when blob is not NULL, and the event
 * session.recorded. One that is ACTIVE already, for instance since the answer was lost, gets the
 * fields that are not NULL here, and the process. *x is the record afterwards. Names, all
 * GT_REFUSED: "suspended" (restore it), "ended", "live" (another process of it runs), "elsewhere",
 * "other-parent", "parent-ended"; "no-agent" (GT_FAIL: no such parent), "session" (GT_USAGE: a field
 * is missing or too long).
 */
int session_record(struct store *s, struct session *x, const struct buf *blob, struct err *e);

/*
 * Commits a session as SUSPENDED, and its blob in place of the old one when blob is not NULL. Its
 * process is forgotten. SUSPENDED already: it stays so. why: a sentence of ours. *out is the record
 * afterwards, or empty. Also "ended"; "not-found" (GT_NOTHING).
 */
int session_suspend(struct store *s, const char *agent, const struct buf *blob, const char *why,
    struct session *out, struct err *e);

/*
 * Claims a SUSPENDED session. 0: it is ACTIVE, without a process, and *blob has its state, byte for
 * byte. Its parent must not have ended. Names: "active" (GT_REFUSED: another has it), "ended",
 * "parent-ended", "blob", "not-found"; nothing is changed then.
 */
int session_restore(struct store *s, const char *agent, struct buf *blob, struct session *out, struct err *e);

/*
 * Commits that the agent runs again, as process pid: ACTIVE in any case, with the event
 * session.started. conversation: the provider's id of what it resumes; NULL: as it was. 1 noted, 0
 * left alone (it has ended, is elsewhere, another process of it lives, or pid is gone), -1.
 */
int session_started(struct store *s, const char *agent, int64_t pid, const char *conversation, struct err *e);
/*
 * Records a sign of life of each ACTIVE session whose process runs in this namespace, for other
 * containers, unless one was recorded within PROC_RENEW_MS. Some hundred are one commit, without an
 * event; a conflict is left to the next pass. session_renew does it for one session at any time.
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
 * Startup: each ACTIVE session of this host for which `alive` answers false becomes SUSPENDED.
 * Idempotent, also after a kill: some hundred are one commit and one event (session.suspended).
 */
struct session_reconciled {
	size_t suspended, left;		/* left: ACTIVE ones that live, or are elsewhere */
};
int session_reconcile(
    struct store *s, session_alive *alive, void *arg, struct session_reconciled *out, struct err *e);

/* Has it what a session needs, within the limits? */
int session_check(const struct session *x, struct err *e);
/* Fills what x lacks from the record; x then expects its version. */
void session_inherit(struct session *x, const struct session *old);
void session_copy(struct session *out, const struct session *x);

/* For commits of others: stores x in `state`; expects the record to be as x was read. */
void session_put(struct txn *t, struct session *x, enum session_state state, int64_t now);
void session_expect(struct txn *t, const struct session *x);

/* ---- message ---- */

/*
 * A message between agents: the record message:<id>, committed before its carrier queues it, and
 * marked when it was delivered. A crash in between has it delivered again: at least once, under the
 * same id, in no promised order. The tag is its state.
 *
 * 	pending -> delivered			it asked for no answer
 * 	pending -> waiting -> answered		it asked for one (sync); straight from pending when its
 * 						delivery was never marked
 * 	waiting -> pending			replayed, see message_reconcile
 *
 * An answer is a message, committed together with what it answers: a logged answer is never lost,
 * even if its receiver does not get it before a crash. It is listed as undelivered then.
 *
 * A body is clean text, kept as it is; no event and no error shows it.
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

/* A message to send. id NULL: a new one. Strings are the caller's. */
struct message_draft {
	const char *id, *from;
	const struct clean_text *body;
	bool sync;
};

/*
 * Commits a message as pending, with the event message.sent; *out is the record. The same draft to
 * the same agent under an id that was used before: 0, nothing is written, so a sender that lost the
 * answer may repeat it. Names: "taken" (GT_REFUSED: another message has the id), "no-agent", "ended"
 * (GT_REFUSED: the receiver), "too-large", "id" (GT_USAGE).
 */
int message_send(
    struct store *s, const struct message_draft *l, const char *to, struct message *out, struct err *e);

/*
 * The same to each of n agents, or with n 0 to all open ones but the sender, in one commit with the
 * event message.broadcast. The ids are <id>/<agent>. Repeated under the same id: what was sent then.
 */
int message_broadcast(struct store *s, const struct message_draft *l, const char *const *to, size_t n,
    struct message_list *out, struct err *e);

/* Marks it as delivered, unless it is. Also "not-found" (GT_NOTHING). */
int message_mark_delivered(struct store *s, const char *id, struct message *out, struct err *e);

/*
 * Commits the answer to a message, from its receiver to its sender, and the message as answered (it
 * keeps an earlier answer). l->from is not used. *out is the answer. Repeated: as message_send.
 */
int message_reply(
    struct store *s, const char *id, const struct message_draft *l, struct message *out, struct err *e);

/* 1 found, 0 absent, -1. *out is empty unless 1; release it. */
int message_load(struct store *s, const char *id, struct message *out, struct err *e);

/*
 * All of a state (MESSAGE_STATES: all), appended, in the order of sending. to: NULL or the receiver.
 * Without `bodies` they have none.
 */
int message_list_read(struct store *s, enum message_state state, const char *to, bool bodies,
    struct message_list *out, struct err *e);

/*
 * Startup. Pending messages are counted. A delivered message that asked for an answer and has none
 * may have been answered in its receiver's conversation. While the receiver's session is ACTIVE
 * (reconcile sessions first) the answer may still come; a receiver of another host is that host's to
 * handle. Otherwise, once each, by the policy (where the receiver has ended, or another message has
 * the id <id>/ask, it can only be flagged):
 *
 * 	flag	it is marked, with the event message.flagged: a person looks
 * 	ask	the receiver gets a message under the id <id>/ask, from the sender, that asks it to repeat
 * 		its answer
 * 	replay	it is pending again, and so delivered once more under its own id
 */
enum reply_policy { REPLY_FLAG, REPLY_ASK, REPLY_REPLAY };

struct message_reconciled {
	size_t pending, answers_pending;	/* not delivered; those among them that are answers */
	size_t waiting;				/* delivered and not answered, handled or not */
	size_t flagged, asked, replayed;	/* by this call */
};
int message_reconcile(struct store *s, enum reply_policy policy, struct message_reconciled *out,
    struct err *e);

int message_policy_parse(const char *word);	/* "flag", "ask", "replay"; -1: none of them */

/* ---- tree ---- */

/*
 * Who spawned whom: the record tree:<agent_uuid> holds an agent's link to its parent; its tag is
 * open or ended. A spawn is acknowledged when the child's session and its link are on disk. Its
 * commit expects the parent's link as it was read, so an agent that has ended gets no child. An
 * agent that ends takes all below it along.
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
const struct tree_node *tree_find(const struct tree *t, const char *agent);	/* or NULL */

/*
 * Links a child to its parent, with the event agent.spawned. child: a new session is recorded in the
 * same commit, with its blob when blob is not NULL; one that was recorded before is linked (only
 * agent_uuid is used then). Linked to this parent already: 0. *child is the record afterwards.
 * Names: "no-agent" (GT_FAIL: the parent was never recorded), and GT_REFUSED "parent-ended",
 * "ended", "linked" (it is a root, or another's child), "other-parent".
 */
int tree_spawn(struct store *s, const char *parent, struct session *child, const struct buf *blob,
    struct err *e);

/*
 * Ends an agent and all below it: their sessions and links, in one commit with the event
 * agent.ended. Agents that are spawned below it at that moment are ended right after. No process is
 * touched. below false: "has-children" (GT_REFUSED) when there are any. Ended already: 0. *ended:
 * how many. Also "not-found".
 */
int tree_end(struct store *s, const char *agent, bool below, size_t *ended, struct err *e);

/*
 * Startup: repairs the tree, each repair one commit with the event agent.repaired. Idempotent.
 *
 * 	a session without a link (its spawn was cut off): it is linked as recorded; ended when its
 * 		parent has ended and it does not live
 * 	a parent that is not in the store, or a ring of parents: its child becomes a root
 * 	a parent that has ended: the child is ended, or becomes a root when it lives
 * 	a link whose session has ended, or was never recorded: the link is ended
 *
 * Agents of other hosts are left to those.
 */
struct tree_repaired {
	size_t linked, ended, made_roots;
};
/* SUSPENDED sessions of this host to resume, in the repaired tree, by id: of roots, or of all. */
struct tree_resumable {
	bool all;
	struct session_list list;		/* appended to; session_list_release */
};
/* back may be NULL. */
int tree_repair(struct store *s, session_alive *alive, void *arg, struct tree_repaired *out,
    struct tree_resumable *back, struct err *e);

/* For commits of others. The link of an agent, expected to be new; parent NULL: a root. */
void tree_link_put(struct txn *t, const char *agent, const char *parent, int64_t now);
/* Expects that an agent has not ended. Names: "no-agent", "parent-ended". */
int tree_expect_open(struct txn *t, const char *agent, struct err *e);
/* The same for an agent and for its parent. Also "unlinked" (GT_REFUSED). */
int tree_expect_ancestry(struct txn *t, const char *agent, struct err *e);

#endif
