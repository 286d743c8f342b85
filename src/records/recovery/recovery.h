#ifndef RECORDS_RECOVERY_RECOVERY_H
#define RECORDS_RECOVERY_RECOVERY_H

#include "records/records.h"

struct pane;

/* ---- attempt ---- */

/*
 * One attempt to bring one agent back: a record whose phase is committed around each side effect,
 * so that the next run knows what may have happened after a recoverer died, looks first, and
 * never delivers twice.
 *
 * 	detected -> captured -> respawned -> delivered -> acknowledged          (steps may be left out
 * 	from `captured` on)
 * 	any of the first four -> failed                                         (with why;
 * 	acknowledged and failed are final)
 *
 * From `detected` the only ways are `captured` and `failed`: nothing is respawned before the
 * context is on disk.
 *
 * Records, all of one commit: attempt:<id> (tag: the phase's name), pane:<server>:<pane>:<socket>
 * (tag open or closed: the newest attempt of that pane; an open one is the lock), with
 * `respawned` crashes:<socket>:<session> (records/recovery/recovery.h), and an event
 * (records/records.h).
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
	char *class;			/* dead, zombie, … (DESIGN 3) */
	char *reason;			/* killed, exited, … */
	char *cwd;
	/* inject, resume; restart: told only that the system was restarted (recover/upkeep/upkeep.h) */
	char *via;
	char *delivery;			/* stdin, file, argument, paste (agent/agent.h) */
	char *proof;			/* "transcript", "screen", "" */
	char *why;			/* of a failed attempt: a sentence */
	char *source;			/* path of the transcript that the context was gathered from */
	char *transcript;		/* path of the one in which the prompt was found */
	char *previous;			/* id of the attempt whose context this one unfolds */
	char *remain_on_exit; /* the pane's own, "" for none, before we set "on"; NULL: nothing is to be taken
				 back */

	int64_t server_pid;
	/* as the caller counts it; with the pid it names one server process */
	int64_t server_start;
	/* the server on which a missing session was made again, in the same way; 0: none, or not known */
	int64_t made_pid, made_start;
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
 * Commits the attempt as `detected` and fills version and times. Another open attempt for the
 * same pane, also one that begins at this moment: name "locked", code GT_AGAIN; attempt_latest
 * gives it.
 */
int attempt_begin(struct store *s, struct attempt *a, struct err *e);

/*
 * Commits the attempt with its fields as they are now and the new phase; the same phase again
 * saves the fields (before a side effect within a phase: pasted). A step that the table above
 * does not allow: name "phase". The record changed since it was read: name "conflict", GT_AGAIN.
 * On -1 the struct keeps its old phase; after name "unknown" load it again.
 */
int attempt_advance(struct store *s, struct attempt *a, enum attempt_phase phase, struct err *e);

/* Advances to `respawned` in the commit of what t holds already. Also its conflict is "conflict". */
int attempt_respawn(struct txn *t, struct attempt *a, struct err *e);

/* Advances to `failed`. why is a sentence of ours (foreign parts clean). */
int attempt_fail(struct store *s, struct attempt *a, const char *why, struct err *e);

/* It was made in another container of this machine that may still run, and its last step is recent. */
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

/*
 * True when the process in the pane was started by that attempt, or by somebody who respawned the
 * pane after it: its id stands in the start command, in the prompt's path.
 */
bool attempt_started(const struct pane *p, const char *recovery_id);

/*
 * The id of the attempt that started the process in the pane (see attempt_started) in id[21];
 * false: none did.
 */
bool attempt_id_of_pane(const struct pane *p, char id[21]);

/* ---- crash_record ---- */

/*
 * What `patrol` knows of a crash, so that a pass every few minutes tells of it once: the record
 * sighting:<server>:<pane>@<pid that died>:<socket>, tagged by its state.
 *
 * 	seen -> owed -> mailed | given-up		owed -> back
 *
 * Owed: its recovery failed, and somebody is to be told. A crash is the process that died in the
 * pane (pane_pid; of a zombie its shell). A recovery that started an agent which died at once has
 * therefore made a new crash; one that waits for an answer still is the old one.
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
	bool unsure;			/* of the last try nobody knows whether the mail went out */
};

struct crash_record_list {
	struct crash_record *v;
	size_t n, cap;
};

/*
 * Notes a crash, with the event crash.seen when it is new (*fresh). Fills version and, when it
 * was known, all that the record holds. Another run that notes it in the same moment: known.
 */
int crash_record_note(struct store *s, struct crash_record *x, bool *fresh, struct err *e);
/* Commits it as it is, with the event when ev is not NULL. Name "conflict", GT_AGAIN. */
int crash_record_put(struct store *s, struct crash_record *x, const struct event *ev, struct err *e);
/* All of them in one commit, and one event. */
int crash_record_list_put(struct store *s, struct crash_record_list *list, const struct event *ev,
    struct err *e);
/* Those for which a mail is owed, appended. */
int crash_record_list_owed(struct store *s, struct crash_record_list *out, struct err *e);

void crash_record_release(struct crash_record *x);
void crash_record_list_release(struct crash_record_list *list);

/* ---- crashes ---- */

/*
 * How often the agent of one session was started again: the record crashes:<socket>:<session>
 * holds when (ms since 1970, the last 1000). An attempt that ended before that, say for want of
 * disk space, is none. A session is quarantined while max_attempts of them lie after a time that
 * is attempt_window before its crash: a person ends that with `gt-recover release`.
 */

/* How many were at or after `since`. Nothing known: 0. */
int crash_count(
    struct store *s, const char *socket, const char *session, int64_t since, size_t *n, struct err *e);

/*
 * Adds one at `now`, in the commit of the attempt itself. It expects no version: of two panes of
 * one session that are started in the same moment one may go uncounted, which harms less than an
 * attempt that fails.
 */
int crash_add(struct txn *t, const char *socket, const char *session, int64_t now, struct err *e);

/*
 * Forgets them, with the event session.released. *n: how many there were; without any nothing is
 * written. Another commit came in between: name "conflict", GT_AGAIN.
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
 * The sessions that were started again at least `least` times at or after `since`, in the order
 * of their keys. With max_attempts and attempt_window: those that are quarantined when they crash
 * now.
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
 * What an armed session had set before it was armed: the record arm:<server>:<session
 * id>:<socket>, committed before anything is changed in tmux, so that whoever disarms can put
 * back exactly that, also when the one who armed was killed in between. "" stands for "nothing
 * was set there, it was inherited".
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
	char *history_before; /* the session's own history-limit: "" or a number; NULL: it was not touched */
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
 * Commits it, with the event session.armed, expecting the version that it was read with; then
 * version is the new one. Name "conflict", GT_AGAIN: somebody else was faster.
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
 * That a guard refused to bring an agent back. A pass every few minutes refuses the same dead
 * pane each time: it is one refusal until the guard's name or the pane's process is another.
 * Records, of one commit: refused:<server>:<pane>:<socket> (tag: the guard's name) and an event
 * refusal.<name>.
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
	char *command;			/* its own arguments as a command for sh; secrets redacted */
	char *redacted;			/* names of the values redacted in it, parted by blanks */
	char *cwd, *config_dir;
	char *conversation, *transcript;
	char *role;			/* address in Gas Town: "rig/polecats/nux" */
	int64_t server_pid, server_start;
	int64_t pane_pid;		/* the pane's process: the shell, or the agent itself */
	int64_t pid, pid_start;		/* the agent; start in clock ticks; 0: seen dead only */
	int64_t pid_ns;			/* namespace of both (base/timestamp.h) */
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
