#ifndef LEDGER_SESSION_H
#define LEDGER_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"
#include "ledger/blob.h"

struct buf;
struct change;
struct err;
struct record;
struct store;

/*
 * The session of an agent, as an orchestrator or an agent's hook tells of it: the record session:<agent_uuid>, its tag the state. It is
 * committed right after the provider made the session and before the first message is sent, so that whatever dies later, somebody knows
 * that there is an agent, and how to go on with it.
 *
 *	ACTIVE -> SUSPENDED		asked for, with a state blob or without; or at startup, as its process is no more
 *	SUSPENDED -> ACTIVE		restored, by one alone: the commit expects the version that was read
 *	either -> ENDED			(ledger/tree.h)
 *
 * A root gets its place in the tree in the same commit; a child names its parent in `parent` and gets it by agent_spawn (ledger/tree.h).
 * Field names are those of the seeds S0 and S1. What the record says of a process is never believed: it lives when this boot has a
 * process of that pid that began in that clock tick.
 *
 * A session is its host's (base/host.h), which made it ACTIVE last. Of an ACTIVE one of another host nobody here can tell whether it
 * lives, so nothing here takes it, ends it or suspends it by itself. Who restores a SUSPENDED one takes it over to his host.
 */
enum session_state { SESSION_ACTIVE, SESSION_SUSPENDED, SESSION_ENDED, SESSION_STATES };

struct session {
	int64_t version;			/* of the record; 0: there is none */
	enum session_state state;

	/* heap, NULL when unknown; set with session_set */
	char *agent_uuid;			/* required: key_check_id */
	char *provider_name;			/* required by session_record */
	char *cursor_session_id;		/* the provider's own id of the conversation, whoever the provider is */
	char *model;
	char *workspace_path;
	char *parent;				/* an agent's; NULL: a root */
	char *session, *socket;			/* the tmux session that it runs in, and the server's socket */
	char *start_command;			/* clean: no secret stands in it */
	char *why;				/* it is suspended or ended, a sentence */

	struct blob blob;			/* its state, kept in a record of its own */
	char host[HOST_MAX + 1];		/* "": this one's, or the store knows no hosts */
	char came_from[HOST_MAX + 1];		/* the host that it was taken over from; "": none */
	char boot_id[40];			/* of the process; "": no process is known */
	int64_t pid, pid_start;			/* clock ticks since that boot */
	int64_t recorded_at, changed_at;	/* ms since 1970 */
};

struct sessions {
	struct session *v;
	size_t n, cap;
};

#define SESSION_TEXT_MAX 4096			/* bytes of each text */

const char *session_state_name(enum session_state state);	/* "ACTIVE", … */

void session_init(struct session *x);		/* empty */
void session_release(struct session *x);
void sessions_release(struct sessions *list);
void session_set(char **field, const char *value);

/* The texts that a caller may tell by name, "provider_name", …; NULL when there is no such name. */
char **session_field(struct session *x, const char *name);

/* Notes the process of the session, by what /proc tells of it now. -1: it is not running (nothing is noted). */
int session_note_process(struct session *x, int64_t pid);
/* Is the process that was noted the one that runs under its pid now, here? False when none was noted. */
bool session_lives(const struct session *x, const struct moment *now);
/* It is ACTIVE on another host: it may live there. */
bool session_is_elsewhere(const struct session *x);
/* For certain no process of it runs: it is not ACTIVE, or its process was one of this host and boot and is gone. */
bool session_is_gone(const struct session *x, const struct moment *now);
/* ACTIVE on this host, and the process that was noted is no more. Of one of which none was noted nobody can tell. */
bool session_lost(const struct session *x, const struct moment *now);

/* Answers session_lives, or whatever else a test has it say. */
typedef bool session_alive(const struct session *x, void *arg);
/* arg is the struct moment now. One that is elsewhere counts as living. */
bool session_alive_now(const struct session *x, void *arg);

/*
 * Commits a session as ACTIVE, with its state blob when blob is not NULL, and the event session.recorded. One that is ACTIVE already, say
 * since the answer was lost, gets the fields that are not NULL here, and the process. *x is the record afterwards. Names, all
 * GT_REFUSED: "suspended" (restore it), "ended", "live" (another process of it runs), "elsewhere", "other-parent"; "no-agent" (GT_FAIL: no
 * such parent),
 * "parent-ended" (GT_REFUSED), "session" (GT_USAGE: a field is missing or too long).
 */
int session_record(struct store *s, struct session *x, const struct buf *blob, struct err *e);

/*
 * Commits a session as SUSPENDED and its blob, when there is one, in its place; otherwise the old one stays. One that is SUSPENDED already
 * stays so. Its process is forgotten. why: a sentence of ours. *out is the record afterwards, or empty. Also "ended";
 * "not-found" (GT_NOTHING).
 */
int session_suspend(struct store *s, const char *agent, const struct buf *blob, const char *why, struct session *out, struct err *e);

/*
 * Claims a SUSPENDED session: ACTIVE, without a process, when it answers 0, and *blob has its state, byte for byte. Its parent must
 * not have ended. Names: "active" (GT_REFUSED: somebody has it), "ended", "parent-ended", "blob", "not-found". Nothing is changed then.
 */
int session_restore(struct store *s, const char *agent, struct buf *blob, struct session *out, struct err *e);

/*
 * Commits that the agent runs again, as process pid: ACTIVE, whatever it was, with the event session.started. conversation: the provider's id
 * of what it goes on with; NULL: as it was. 1 noted, 0 left as it is: it has ended, is elsewhere, another process of it lives, or pid is
 * gone; -1.
 */
int session_started(struct store *s, const char *agent, int64_t pid, const char *conversation, struct err *e);
/* 1 found, 0 absent, -1 err. *out is empty unless 1; release it. */
int session_load(struct store *s, const char *agent, struct session *out, struct err *e);
/* The same, absent being an error: "not-found", GT_NOTHING. */
int session_need(struct store *s, const char *agent, struct session *out, struct err *e);
int session_from_record(const struct record *r, struct session *out, struct err *e);
/* All of a state (SESSION_STATES: all), appended, by id. */
int sessions_read(struct store *s, enum session_state state, struct sessions *out, struct err *e);

/*
 * Startup: each ACTIVE session of this host that `alive` does not answer for becomes SUSPENDED. Idempotent, also when it is killed in between: some
 * hundred are one commit and one event (session.suspended). *left: ACTIVE ones whose process lives, or that are elsewhere.
 */
struct sessions_settled {
	size_t suspended, left;
};
int sessions_settle(struct store *s, session_alive *alive, void *arg, struct sessions_settled *out, struct err *e);

/* The record as JSON, new reference: its value, and what --json shows beside the state. */
json_t *session_json(const struct session *x);

/* For those who record one: has it what a session needs, within its limits? */
int session_check(const struct session *x, struct err *e);
/* What the record has and x does not tell; x then expects its version. */
void session_take_over(struct session *x, const struct session *old);
void session_copy(struct session *out, const struct session *x);
/* It is this host's from now on. */
void session_take_home(struct session *x);

/* For commits of others: the change that stores x in `state`. key and value are heap, the caller's. */
void session_change(struct session *x, enum session_state state, int64_t now, char **key, char **value, struct change *c);

#endif
