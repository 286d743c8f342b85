#ifndef TESTS_CRASH_SIM_H
#define TESTS_CRASH_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/timestamp.h"

struct err;
struct store;

/*
 * A simulation of the ledger (seed S1, "Fuzzer"): the real verbs of sessions, the tree, messages,
 * runs, runners and startup, called in a random order by processes that die at a random step, on
 * a disk that loses power (disk.h), beside an oracle that knows what each verb must leave. Clock,
 * boot and processes are made up; nothing sleeps, and everything follows from the seed.
 *
 * 	sim.c		the row of crashes: one process each, its death, what outlives it
 * 	sim_play.c	what a process does: look, start up, act; sim_flow.c: in whose name
 * 	sim_act.c	the verbs, as a caller calls them
 * 	sim_model.c     the oracle: agents and messages; sim_model_run.c: runs, runners; sim_settle.c:
 * 	startup; sim_sweep.c: retention
 * 	sim_read.c	the store as the oracle would have it
 * 	sim_judge.c	both compared, the invariants, the event log
 *
 * Things are numbered from 1; 0 is none. Every struct of the oracle holds ints alone, so that two
 * of them are compared as bytes.
 */
#define SIM_AGENTS 14
#define SIM_RUNS 24
#define SIM_PLACES 6			/* sessions of runs */
#define SIM_RUNNERS 3
#define SIM_NAMES 320			/* ids of messages */
#define SIM_PIDS 400

struct sim_agent {
	int state;			/* 1 + enum session_state; 0: not recorded */
	/* blob: number of its bytes; pid and boot: of the process that was noted */
	int parent, blob, pid, boot;
	int link;			/* 1 open, 2 ended */
	int above, adopted;		/* in the tree */
};

struct sim_message {
	int state;			/* 1 + enum message_state */
	/* body: number of its words; SIM_REQUEST: startup's request for another answer */
	int from, to, body, sync;
	int reply_to, answer;		/* names */
	int delivered, flagged, asked, replays;
};
#define SIM_REQUEST (-1)

struct sim_run {
	int state;			/* 1 + enum run_state */
	int place, prompt, runner, fence, claim, life;
	int error;			/* enum sim_error */
	int recovered_from, recoveries;	/* recovered_from: 1 + enum run_state */
	int entered, boot;		/* ms of that boot */
};
enum sim_error { SIM_NO_ERROR, SIM_TOLD, SIM_STALE, SIM_UNKNOWN };

struct sim_place {
	int status;			/* 1 + enum run_session_status */
	int run;			/* that it follows */
	int mode;
};

struct sim_runner {
	int life, beat, boot, pid;
};

struct sim_model {
	struct sim_agent agent[SIM_AGENTS + 1];
	struct sim_message message[SIM_NAMES + 1];
	struct sim_run run[SIM_RUNS + 1];
	struct sim_place place[SIM_PLACES + 1];
	struct sim_runner runner[SIM_RUNNERS + 1];
	int events;
	unsigned hash;			/* of the kinds and subjects of all events */
};

enum sim_verb {
	SIM_RECORD, SIM_SPAWN, SIM_LINK, SIM_SUSPEND, SIM_RESTORE, SIM_END, SIM_SEND, SIM_BROADCAST,
	SIM_DELIVER, SIM_REPLY, SIM_CREATE, SIM_CLAIM, SIM_START, SIM_STOP, SIM_FINISH, SIM_REGISTER,
	SIM_BEAT, SIM_STARTUP, SIM_SWEEP,
	SIM_VERBS
};

struct sim_act {
	enum sim_verb verb;
	/* sessions and the tree; pid also: of a runner */
	int agent, parent, blob, pid, below;
	/* messages; answers: the name that is answered */
	int name, from, to, body, sync, answers;
	int many[SIM_AGENTS], n_many;				/* of a broadcast; n_many 0: to all */
	/* runs; run 0: any; state: enum run_state */
	int run, place, prompt, mode, runner, fence, claim, state;
	/* startup: enum reply_policy, resume_scope, enum run_mode, claimed_to */
	int policy, all, how, fails, threshold_ms;
};

/*
 * What startup is to do, stage by stage; stage[0] is before it. Runs and sessions are one commit
 * each; agents and messages one each.
 */
enum { SIM_RUNS_SETTLED = 1, SIM_SESSIONS_SETTLED, SIM_TREE_SETTLED, SIM_MESSAGES_SETTLED, SIM_STAGES };
struct sim_counts {
	int pending, failed, stopped, kept_by_runner, kept_young;
	int suspended, left;
	int linked, ended, made_roots;
	int undelivered, answers, waiting, flagged, asked, replayed;
	int back;			/* to be brought back */
};
#define SIM_COUNTS (sizeof(struct sim_counts) / sizeof(int))

enum sim_verdict {
	SIM_FINE, SIM_UNOPENABLE, SIM_LOST, SIM_HALF, SIM_INVARIANT, SIM_ANSWER, SIM_FAILED, SIM_LOG,
	SIM_EFFECT, SIM_RESTLESS,
	SIM_VERDICTS
};

enum sim_control {
	SIM_NONE, SIM_SEND_FIRST, SIM_ACK_FIRST, SIM_DROP_MESSAGE, SIM_ENQUEUE_FIRST, SIM_MARK_FIRST,
	SIM_TWO_COMMITS, SIM_DEAF, SIM_NO_TREE, SIM_ERROR_IGNORED, SIM_LYING_FSYNC,
	SIM_SWEEP_OPEN,
	SIM_CONTROLS
};

/* In memory that all processes share: it outlives them. */
struct sim {
	struct sim_model now;		/* what was acknowledged */
	struct sim_model next;		/* with the verb that is under way */
	struct sim_model stage[SIM_STAGES];
	struct sim_act act;		/* the last one */
	bool under_way;
	bool is_startup;		/* what is under way */

	/* the world: it is not lost in a crash of ours */
	int boot, boot_ms;
	int64_t wall_ms;
	struct { int agent; bool lives; } process[SIM_PIDS + 1];	/* agent 0: of a runner */
	int n_processes;
	bool told[SIM_AGENTS + 1];	/* the provider was sent something for this agent */
	int got[SIM_NAMES + 1];		/* how many times an agent was handed this message */
	char name[SIM_NAMES + 1][48];
	int n_names, numbers;		/* numbers: of blobs and texts that were given so far */

	/* the event log, as far as an export was acknowledged */
	size_t log_bytes;
	unsigned log_hash;
	bool log_whole;			/* nothing but kills happened since */

	/* told at the end; settled: struct sim_counts of all startups */
	long step, settled[SIM_COUNTS], actions, accepted[SIM_VERBS], refused[SIM_VERBS], crashes[5];
	long points, unsettled, came, repeated, disk_errors, swept, swept_in_part;
	enum sim_verdict verdict;
	char said[900];
	uint64_t trace;
};
extern struct sim *sim;
extern enum sim_control sim_control;
extern bool sim_tell;			/* every verb is told */

/* ---- sim.c ---- */

uint64_t sim_random(void);
/* 0 … n - 1 */
int sim_pick(int n);
bool sim_chance(int one_in);
/* A place between two verbs where the process may die. */
void sim_point(void);
/* Ends the process: power loss or kill. */
void sim_die(void) __attribute__((noreturn));
void sim_judge(enum sim_verdict v, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
/* An error of the disk was injected in this process: a verb may fail. */
bool sim_disk_fails(void);

/* ---- sim_play.c ---- */

void sim_play(const char *dir) __attribute__((noreturn));
extern char *sim_event_log;		/* path */
/* Calls a verb and looks at its answer. True: it was accepted. */
bool sim_call(const struct sim_act *a);

/* ---- sim_flow.c ---- */

/* Some verbs, as somebody would call them one after the other. */
void sim_flow(void);
/* Takes up a suspended agent. */
void sim_restore(int agent);

/* ---- sim_act.c ---- */

extern const char *const sim_verb_names[SIM_VERBS];
/*
 * NULL: done. Otherwise the name of the error. *back (startup's alone): the agents to be brought
 * back, 0 at the end.
 */
const char *sim_act(struct store *s, const struct sim_act *a, int back[SIM_AGENTS + 1], struct err *e);
/* What the last startup told. */
extern struct sim_counts sim_told;

/* Ids and texts. The strings live until the eighth call from now. */
const char *sim_id(const char *kind, int number);	/* "a07" */
const char *sim_body(int number);
/* Heap, *n bytes. */
unsigned char *sim_blob(int number, size_t *n);
/* The number of a message's id, a new one where it is not known. */
int sim_name(const char *id);
void sim_now(struct timestamp *m);

/* ---- the oracle ---- */

/*
 * NULL: the verb is to be accepted, and *m is as it leaves things. Otherwise the name of the
 * error, and nothing changes.
 */
const char *sim_apply(struct sim_model *m, const struct sim_act *a);
const char *sim_apply_run(struct sim_model *m, const struct sim_act *a);
/* Fills sim->stage from sim->now. */
void sim_settle(const struct sim_act *a, struct sim_counts *out);
void sim_settle_runs(struct sim_model *m, const struct sim_act *a, struct sim_counts *out);
void sim_event(struct sim_model *m, const char *kind, const char *subject);
/* Does the noted process of an agent run? */
bool sim_lives(const struct sim_agent *x);

/* ---- sim_sweep.c ---- */

/* Is it `was`, less what a sweep may delete? *gone: how many things are not there. */
bool sim_is_swept(const struct sim_model *there, const struct sim_model *was, int *gone);
/* sim->now is that from now on, and the world forgets what left. */
void sim_take_swept(const struct sim_model *there);

/* ---- the store ---- */

/* Events that left the store are those of the event log. */
void sim_read(struct store *s, struct sim_model *out);
/*
 * At the beginning of a process: is what is there what was acknowledged, or that and what was
 * under way? sim->now is it afterwards.
 */
void sim_verify(struct store *s);
/* Must be just sim->now. */
void sim_compare(struct store *s, const char *when);
/* Those of seed S1, after startup; and it must have left just what it should: sim->now is that afterwards. */
void sim_invariants(struct store *s);
/* The file against what was exported before, then exported anew and compared line by line. */
void sim_verify_log(struct store *s, const char *path);
void sim_note_log(const char *path);

#endif
