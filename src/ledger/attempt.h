#ifndef LEDGER_ATTEMPT_H
#define LEDGER_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct change;
struct err;
struct store;

/*
 * One attempt to bring one agent back: a record whose phase is committed around each side effect, so that the next run knows what may
 * have happened after a recoverer died, looks first, and never delivers twice.
 *
 *	detected -> captured -> respawned -> delivered -> acknowledged		(steps may be left out from `captured` on)
 *	any of the first four -> failed						(with why; acknowledged and failed are final)
 *
 * From `detected` the only ways are `captured` and `failed`: nothing is respawned before the context is on disk.
 *
 * Records, all of one commit: attempt:<id> (tag: the phase's name), pane:<server>:<pane>:<socket> (tag open or closed: the newest
 * attempt of that pane; an open one is the lock), with `respawned` crashes:<socket>:<session> (ledger/crashes.h), and an event
 * (ledger/event.h).
 */
enum phase { PHASE_DETECTED, PHASE_CAPTURED, PHASE_RESPAWNED, PHASE_DELIVERED, PHASE_ACKNOWLEDGED, PHASE_FAILED, PHASES };

struct attempt {
	char id[21];			/* "gtr-" and 16 hex digits; also the recovery id in the prompt */
	int64_t version;		/* of the record that this struct shows; 0: not begun */
	enum phase phase;
	int64_t times[PHASES];		/* ms since 1970, 0: never entered; times[PHASE_DETECTED] is when it was created */

	/* heap, NULL when unknown; set with attempt_set */
	char *session;			/* required by attempt_begin, as are socket and pane_id */
	char *socket;			/* path of the tmux socket */
	char *pane_id;			/* "%3" */
	char *agent;			/* profile name */
	char *class;			/* dead, zombie, … (DESIGN 3) */
	char *reason;			/* killed, exited, … */
	char *cwd;
	char *via;			/* inject, resume; restart: told only that the system was restarted (revive/restart.h) */
	char *delivery;			/* stdin, file, argument, paste (agent/profile.h) */
	char *proof;			/* "transcript", "screen", "" */
	char *why;			/* of a failed attempt: a sentence */
	char *source;			/* path of the transcript that the context was gathered from */
	char *transcript;		/* path of the one in which the prompt was found */
	char *previous;			/* id of the attempt whose context this one unfolds */
	char *remain_on_exit;		/* the pane's own, "" for none, before we set "on"; NULL: nothing is to be taken back */

	int64_t server_pid;
	int64_t server_start;		/* as the caller counts it; with the pid it names one server process */
	int64_t made_pid, made_start;	/* the server on which a missing session was made again, in the same way; 0: none, or not known */
	int64_t pane_pid;		/* of the process that died */
	int64_t new_pid;		/* of the process that was started; 0: none yet */
	int64_t pane_dead_time;		/* seconds since 1970 as tmux says, 0: unknown */
	int64_t crashed_at;		/* ms since 1970, 0: unknown */
	int64_t lines;			/* rows of context captured */
	int64_t tokens;			/* estimate of the prompt */
	bool pasted;			/* a paste was begun: the prompt may have reached the agent */
	bool stood_dead;		/* what it had started was seen dead in its pane, which was kept */
};

struct attempts {
	struct attempt *v;
	size_t n, cap;
};

const char *phase_name(enum phase p);			/* "detected", … */
bool phase_final(enum phase p);				/* acknowledged, failed */

void attempt_init(struct attempt *a);			/* empty, with a new id; nothing is stored */
void attempt_release(struct attempt *a);
void attempts_release(struct attempts *list);
/* Replaces a text field by a copy; NULL clears it. */
void attempt_set(char **field, const char *value);

/*
 * Commits the attempt as `detected` and fills version and times. Another open attempt for the same pane, also one that begins at this
 * moment: name "locked", code GT_AGAIN; attempt_latest gives it.
 */
int attempt_begin(struct store *s, struct attempt *a, struct err *e);

/*
 * Commits the attempt with its fields as they are now and the new phase; the same phase again saves the fields (before a side effect
 * within a phase: pasted). A step that the table above does not allow: name "phase". The record changed since it was read: name
 * "conflict", GT_AGAIN. On -1 the struct keeps its old phase; after name "unknown" load it again.
 */
int attempt_advance(struct store *s, struct attempt *a, enum phase phase, struct err *e);

/* Advances to `respawned` by a commit that holds one change more; NULL: none. Also its conflict is "conflict". */
int attempt_respawn(struct store *s, struct attempt *a, const struct change *also, struct err *e);

/* Advances to `failed`. why is a sentence of ours (foreign parts clean). */
int attempt_fail(struct store *s, struct attempt *a, const char *why, struct err *e);

/* 1 found, 0 absent, -1 err. *out is overwritten; release it when 1. */
int attempt_load(struct store *s, const char *id, struct attempt *out, struct err *e);
/* The newest attempt for a pane of a server process; answers as attempt_load. */
int attempt_latest(struct store *s, const char *socket, int64_t server_pid, int64_t server_start, const char *pane_id,
    struct attempt *out, struct err *e);

/* All attempts that are neither acknowledged nor failed, appended, in the order of phase, then id. */
int attempts_open(struct store *s, struct attempts *out, struct err *e);

/* All attempts, appended, in the order of their ids (which are random). */
int attempts_all(struct store *s, struct attempts *out, struct err *e);

#endif
