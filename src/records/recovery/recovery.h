#ifndef RECORDS_RECOVERY_RECOVERY_H
#define RECORDS_RECOVERY_RECOVERY_H

#include "records/records.h"

struct pane;

/* ---- attempt ---- */

/*
 * One attempt to recover one agent: a record whose phase is committed around each side effect. After
 * a recoverer died, the next run knows what may have happened, looks first, and never delivers twice.
 *
 * 	detected -> captured -> respawned -> delivered -> acknowledged	(phases may be skipped after
 * 									`captured`)
 * 	any of the first four -> failed		(with why; acknowledged and failed are final)
 *
 * `detected` leads only to `captured` and `failed`: nothing is respawned before the context is on
 * disk.
 *
 * Records, all in one commit: attempt:<id> (tag: the phase's name), pane:<server>:<pane>:<socket>
 * (tag open or closed: the newest attempt of that pane; an open one is the lock), with `respawned`
 * crashes:<socket>:<session>, and an event.
 */
enum attempt_phase {
	PHASE_DETECTED, PHASE_CAPTURED, PHASE_RESPAWNED, PHASE_DELIVERED, PHASE_ACKNOWLEDGED,
	PHASE_FAILED,
	PHASES
};

struct attempt {
	char id[21];			/* "gtr-" and 16 hex digits; also the recovery id in the prompt */
	int64_t version;		/* of the record that this struct shows; 0: not begun */
	enum attempt_phase phase;
	/* ms since 1970, 0: never entered; times[PHASE_DETECTED] is when it was created */
	int64_t times[PHASES];

	/* heap, NULL when unknown; set with record_set */
	char *session;			/* required by attempt_begin, as are socket and pane_id */
	char *socket;			/* path of the tmux socket */
	char *pane_id;			/* "%3" */
	char *agent;			/* profile name */
	char *class;			/* dead, zombie, … */
	char *reason;			/* killed, exited, … */
	char *cwd;
	char *via;			/* inject, resume, restart (recover/upkeep/upkeep.h), viewer */
	char *delivery;			/* stdin, file, argument, paste (agent/agent.h) */
	char *proof;			/* "transcript", "screen", "" */
	char *why;			/* of a failed attempt: a sentence */
	char *source;			/* path of the transcript that the context was gathered from */
	char *transcript;		/* path of the one in which the prompt was found */
	char *previous;			/* id of the attempt whose context this one unfolds */
	/* the pane's own before we set "on", "" for none; NULL: nothing is to be restored */
	char *remain_on_exit;

	int64_t server_pid, server_start;	/* these name one server process; start: any unit */
	int64_t made_pid, made_start;	/* the server on which a missing session was made again; 0: none */
	int64_t pane_pid;		/* of the process that died */
	int64_t new_pid;		/* of the process that was started; 0: none yet */
	int64_t pid_ns;			/* namespace of all these pids (base/timestamp.h); 0: not known */
	int64_t pane_dead_time;		/* seconds since 1970 as tmux says, 0: unknown */
	int64_t crashed_at;		/* ms since 1970, 0: unknown */
	int64_t lines;			/* rows of context captured */
	int64_t tokens;			/* estimate of the prompt */
	bool pasted;			/* a paste was begun: the prompt may have reached the agent */
	bool was_dead;		/* what it had started was seen dead in its pane, which was kept */
	/* started inside the pane's shell, which outlives it: of a first crash pane_pid is that shell's */
	bool in_shell;
};

struct attempt_list {
	struct attempt *v;
	size_t n, cap;
};

const char *attempt_phase_name(enum attempt_phase p);			/* "detected", … */
bool attempt_phase_is_final(enum attempt_phase p);				/* acknowledged, failed */

void attempt_init(struct attempt *a);			/* empty, with a new id; nothing is stored */
void attempt_release(struct attempt *a);
void attempt_list_release(struct attempt_list *list);

/*
 * Commits the attempt as `detected` and fills version and times. Another open attempt of the same
 * pane, also one that begins at this moment: "locked", GT_AGAIN; attempt_latest gives it.
 */
int attempt_begin(struct store *s, struct attempt *a, struct err *e);

/*
 * Commits the fields as they are now and the new phase; the same phase again saves the fields (before
 * a side effect within a phase: pasted). A step that the table above does not allow: "phase". The
 * record changed since it was read: "conflict", GT_AGAIN. On -1 the struct keeps its old phase; after
 * "unknown" load it again.
 */
int attempt_advance(struct store *s, struct attempt *a, enum attempt_phase phase, struct err *e);

/* Advances to `respawned` in the commit of what t holds already. Also its conflict is "conflict". */
int attempt_respawn(struct txn *t, struct attempt *a, struct err *e);

/* Advances to `failed`. why is a sentence of ours (foreign parts clean). */
int attempt_fail(struct store *s, struct attempt *a, const char *why, struct err *e);

/* It was made in another container of this machine, which may still run, and its last step is recent. */
bool attempt_is_contained(const struct attempt *a);

/* 1 found, 0 absent, -1 err. *out is overwritten; release it when 1. */
int attempt_load(struct store *s, const char *id, struct attempt *out, struct err *e);
/* The newest attempt for a pane of a server process; answers as attempt_load. */
int attempt_latest(struct store *s, const char *socket, int64_t server_pid, int64_t server_start,
    const char *pane_id, struct attempt *out, struct err *e);

/* All attempts that are neither acknowledged nor failed, appended, in the order of phase, then id. */
int attempt_list_open(struct store *s, struct attempt_list *out, struct err *e);

/* All attempts, appended, in the order of their ids (which are random). */
int attempt_list_all(struct store *s, struct attempt_list *out, struct err *e);

/* That attempt, or a respawn of the pane after it, started its process: the id is in the start command. */
bool attempt_started(const struct pane *p, const char *recovery_id);
/* The id of the attempt that did; false: none. */
bool attempt_id_of_pane(const struct pane *p, char id[21]);

/* ---- crash_record ---- */

/*
 * What `patrol` knows of a crash, so that a pass every few minutes reports it once: the record
 * sighting:<server>:<pane>@<pid that died>:<socket>, its tag the state.
 *
 * 	seen -> owed -> mailed | given-up		owed -> back
 *
 * Owed: its recovery failed, and a mail is due. A crash is the process that died in the pane
 * (pane_pid; of a zombie its shell): an agent that dies at once after its recovery is a new crash, a
 * recovery that waits for an answer is the old one.
 */
enum crash_record_state { CRASH_SEEN, CRASH_OWED, CRASH_MAILED, CRASH_GIVEN_UP, CRASH_RECOVERED };

struct crash_record {
	int64_t version;		/* of the record; 0: there is none */
	enum crash_record_state state;

	/* heap; the first three are required, the others may be NULL */
	char *session, *socket, *pane_id;
	char *class, *reason;
	char *error;			/* name of the error, or of the guard: "died", "quarantined" */
	char *message, *hint;		/* sentences, as they are shown to people */
	char *recovery_id;

	int64_t server_pid, server_start, pane_pid;
	int64_t crashed_at;		/* ms since 1970; 0: unknown */
	int64_t failed_at;
	int64_t tries;			/* to send the mail */
	bool unsure;			/* the mail of the last try may have gone out */
};

struct crash_record_list {
	struct crash_record *v;
	size_t n, cap;
};

/*
 * Notes a crash, with the event crash.seen when it is new (*fresh). Fills version and, when it was
 * known, all that the record holds. Passes that share a store meet here: one of them notes it first,
 * the others read what it noted.
 */
enum { CRASH_ROUNDS = 5 };
int crash_record_note(struct store *s, struct crash_record *x, bool *fresh, struct err *e);
/* Commits it as it is, with the event when ev is not NULL. Name "conflict", GT_AGAIN. */
int crash_record_put(struct store *s, struct crash_record *x, const struct event *ev, struct err *e);
/* Whether that is why a commit failed: to be read again, at most CRASH_ROUNDS times. */
bool crash_record_conflict(const struct err *e);
/* All of them in one commit, and one event. */
int crash_record_list_put(struct store *s, struct crash_record_list *list, const struct event *ev,
    struct err *e);
/* Those for which a mail is owed, appended. */
int crash_record_list_owed(struct store *s, struct crash_record_list *out, struct err *e);

void crash_record_release(struct crash_record *x);
void crash_record_list_release(struct crash_record_list *list);

/* ---- crashes ---- */

/*
 * Restarts of a session's agents: the record crashes:<socket>:<session> holds their times (ms since
 * 1970, the last 1000). An attempt that ended before the restart, as for want of disk space, does not
 * count. A session is quarantined while max_attempts of them are within attempt_window before its
 * crash, those left out whose agent came through (recover/recover_private.h); `gt-recover records release`
 * ends that, and who names the session is not kept from it.
 */

/* Those at or after `since`: ms since 1970, each the attempt's times[PHASE_RESPAWNED]. v: heap. */
struct crash_times {
	int64_t *v;
	size_t n, cap;
};
int crash_times(struct store *s, const char *socket, const char *session, int64_t since,
    struct crash_times *out, struct err *e);

/* How many were at or after `since`. Nothing known: 0. */
int crash_count(
    struct store *s, const char *socket, const char *session, int64_t since, size_t *n, struct err *e);

/*
 * Adds one at `now`, in the commit of the attempt. It expects no version: of two panes of a session
 * that start at once one may not count, which is better than an attempt that fails.
 */
int crash_add(struct txn *t, const char *socket, const char *session, int64_t now, struct err *e);

/*
 * Deletes them, with the event session.released. *n: how many there were; 0: nothing is written.
 * Another commit came in between: "conflict", GT_AGAIN.
 */
int crash_forget(struct store *s, const char *socket, const char *session, size_t *n, struct err *e);

/* The sockets on which a session of this name has such a record. */
struct crash_sockets {
	char **sockets;
	size_t n, cap;
};
int crash_sockets(struct store *s, const char *session, struct crash_sockets *out, struct err *e);
void crash_sockets_release(struct crash_sockets *p);

/*
 * The sessions with at least `least` restarts at or after `since`, by key. With max_attempts and
 * attempt_window: those that are quarantined when they crash now.
 */
struct crash_session {
	char *session, *socket;
	size_t n;
};
struct crash_frequent {
	struct crash_session *v;
	size_t n, cap;
};
int crash_frequent(struct store *s, int64_t since, size_t least, struct crash_frequent *out, struct err *e);
void crash_frequent_release(struct crash_frequent *o);

/* ---- pane_options ---- */

/*
 * The options of a session before it was armed: the record arm:<server>:<session id>:<socket>,
 * committed before tmux is changed, so that disarming restores exactly these, also after a kill in
 * between. "" means that nothing was set, it was inherited.
 */
struct armed_pane {
	char *id;			/* "%5" */
	char *remain_on_exit;		/* the pane's own: "", "on", "off", "failed" */
};

struct armed_window {
	char *id;			/* "@4" */
	char *script;			/* what the hook that we added runs in a shell */
	int64_t index;			/* in the array of pane-died */
};

struct armed {
	int64_t version;		/* of the record; 0: there is none */
	char *socket;			/* path, as the server itself calls it */
	int64_t server_pid, server_start;
	char *session_id;		/* "$3": lasts when the session is renamed */
	char *session;			/* its name when it was armed */
	char *history_before;		/* its own history-limit: "" or a number; NULL: not touched */
	char *history_set;		/* what we set */
	int64_t at;			/* ms since 1970 */
	struct armed_pane *panes;
	size_t n_panes, cap_panes;
	struct armed_window *windows;
	size_t n_windows, cap_windows;
};

struct armed_list {
	struct armed *v;
	size_t n, cap;
};

/* All armed sessions, appended. */
int armed_list_read(struct store *s, struct armed_list *out, struct err *e);
/* One; 1 found, 0 absent (*out is then empty but for what was asked), -1. Release in any case. */
int armed_load(struct store *s, const char *socket, int64_t server_pid, int64_t server_start,
    const char *session_id, struct armed *out, struct err *e);
/*
 * Commits it, with the event session.armed, expecting the version that it was read with; version is
 * then the new one. Another commit came in between: "conflict", GT_AGAIN.
 */
int armed_put(struct store *s, struct armed *a, struct err *e);
/* Deletes it, with the event session.disarmed; why goes into the event. Conflict as above. */
int armed_delete(struct store *s, const struct armed *a, const char *why, struct err *e);

/* NULL when it is not among them. */
struct armed_pane *armed_pane(const struct armed *a, const char *id);
struct armed_window *armed_window(const struct armed *a, const char *id);
/* Takes copies. */
void armed_add_pane(struct armed *a, const char *id, const char *remain_on_exit);
void armed_add_window(struct armed *a, const char *id, const char *script, int64_t index);

void armed_release(struct armed *a);
void armed_list_release(struct armed_list *l);

/* ---- refusal ---- */

/*
 * A guard refused to recover an agent. A pass every few minutes refuses the same dead pane each time:
 * it is one refusal until the guard's name or the pane's process changes. Records, in one commit:
 * refused:<server>:<pane>:<socket> (tag: the guard's name) and an event refusal.<name>.
 */
struct refusal_record {
	const char *name;		/* of the guard */
	const char *sentence;
	const char *session, *socket, *pane_id;
	int64_t server_pid, server_start;
	int64_t pane_pid;
};

int attempt_note_refusal(struct store *s, const struct refusal_record *r, struct err *e);

/* ---- seen_agent ---- */

/*
 * What is known of the agent in a pane, kept from its first sight on: the record
 * seen:<server>:<pane>:<socket>, its tag the state. The proof of which conversation a pane holds
 * vanishes otherwise: a starting Claude Code deletes the pid files of dead ones, `clear` wipes the
 * screen, and the shell's start command is not the agent's. One agent a pane: the newest.
 *
 * 	alive -> died		its process is gone; died_at is when that was seen first
 * 	alive -> exited		a person ended it (/exit, Ctrl-D, Ctrl-C twice)
 */
enum seen_state { SEEN_ALIVE, SEEN_DIED, SEEN_EXITED };

struct seen_agent {
	int64_t version;		/* of the record; 0: there is none */
	enum seen_state state;
	/* heap, NULL when unknown; socket, pane_id and agent are required */
	char *session, *socket, *pane_id;
	char *agent;			/* profile name */
	char *program;			/* the executable, as /proc names it */
	/* its own arguments, or its wrapper's, as a command for sh; secrets redacted */
	char *command;
	int64_t wrapper;		/* as in struct launch (agent/agent.h) */
	char *redacted;			/* names of the values redacted in it, parted by blanks */
	/* names of variables that agents need and this one had, parted by blanks; never values */
	char *variables;
	char *cwd, *config_dir;
	char *conversation, *transcript;
	/* behind which it ran, as in struct candidate; pid is that program's */
	char *remote, *remote_hint;
	char *role;			/* address in Gas Town: "rig/polecats/nux" */
	int64_t server_pid, server_start;
	int64_t pane_pid;		/* the pane's process: the shell, or the agent itself */
	int64_t pid, pid_start;		/* the agent; start in clock ticks; 0: seen dead only */
	int64_t pid_ns;			/* namespace of both (base/timestamp.h) */
	int64_t memory;			/* bytes, the most that it was seen to use; 0: unknown */
	int64_t seen_at, died_at;	/* ms since 1970; 0: never */
};

/* 1 found, 0 absent, -1 err. Release when 1. */
int seen_agent_load(struct store *s, const char *socket, int64_t server_pid, int64_t server_start,
    const char *pane_id, struct seen_agent *out, struct err *e);
struct seen_agent_list {
	struct seen_agent *v;
	size_t n, cap;
};
/* All of them, appended. */
int seen_agent_list(struct store *s, struct seen_agent_list *out, struct err *e);
void seen_agent_list_release(struct seen_agent_list *list);
/* All in one commit, each expecting its version. Name "conflict", GT_AGAIN: another pass was faster. */
int seen_agent_put(struct store *s, const struct seen_agent *v, size_t n, struct err *e);
void seen_agent_release(struct seen_agent *x);

#endif
