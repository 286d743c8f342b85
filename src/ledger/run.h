#ifndef LEDGER_RUN_H
#define LEDGER_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"
#include "store/store.h"

struct err;

/*
 * A run: work that waits for a runner (ledger/runner.h), seed S4's row of the table of runs. The record is run:<run id>, its tag the state.
 *
 *	pending -> claimed -> running -> completed | failed
 *	claimed, running -> stopping -> stopped | completed | failed
 *	pending -> stopped			nobody had it
 *	claimed -> failed			it could not be begun
 *	claimed -> pending | failed, running -> failed, stopping -> stopped		recovery (ledger/run_recover.h)
 *
 * completed, failed and stopped are final. Every step is one commit: the run, its session where that changes (ledger/run_session.h), and
 * the event run.<state>, or run.created. A claim expects the version of the run that was pending, so that of any number of claimers one has
 * it. It is counted in `fence`: who shows an old number, or another runner's name, is refused, also when a run was given out anew in
 * between.
 *
 * A step that was made already answers 0 and changes nothing, so that whoever lost our answer may ask again. A claim needs a word of the
 * claimer's own for that (claim_id): without it nobody could tell him from another one of his name.
 */
enum run_state { RUN_PENDING, RUN_CLAIMED, RUN_RUNNING, RUN_STOPPING, RUN_COMPLETED, RUN_FAILED, RUN_STOPPED, RUN_STATES };

struct run {
	int64_t version;		/* of the record; 0: there is none */
	enum run_state state;
	/* heap, NULL when unknown */
	char *id;
	char *session_id;
	char *type;			/* "START_SESSION" when the creator gave none */
	char *prompt;
	char *runner_id;		/* who claimed it last; NULL while pending */
	char *error;			/* of a failed one */
	char *recovered_from;		/* the state in which recovery last found it */
	char *claim_id;			/* the claimer's own word for its claim (struct run_holder) */
	/* ms since 1970, 0: never */
	int64_t created_at, claimed_at, started_at, completed_at;	/* completed_at: when it became final, whichever way */
	int64_t recovered_at;
	int64_t recoveries;		/* how many times it was recovered */
	int64_t fence;			/* how many times it was claimed */
	char host[HOST_MAX + 1];	/* on which it was claimed; "": this one, or nobody has it */
	int64_t runner_life;		/* of the runner when it claimed (ledger/runner.h); 0: it was not registered */
	struct moment entered;		/* when it came into its state; boot_id "": an older or foreign record tells its *_at alone */
};

const char *run_state_name(enum run_state state);		/* "pending", … */
/* -1 when there is no such state. */
int run_state_of(const char *name);
bool run_state_final(enum run_state state);
/* What the table above allows; recovery: also its own line. */
bool run_state_may(enum run_state from, enum run_state to, bool recovery);

void run_release(struct run *r);
/* Replaces a text field by a copy; NULL clears it. */
void run_set(char **field, const char *value);

/*
 * All verbs: *out is the run as it is now; release it when the answer is not -1. Answers 1 when it was changed, 0 when it was so already.
 * Names: "not-found" (GT_NOTHING), "transition" (GT_REFUSED: its state does not allow it), "not-yours" (GT_REFUSED: another runner, or a
 * later claim, has it), "id" (GT_USAGE), "conflict" (GT_AGAIN).
 */

/*
 * Commits the new run as pending, and its session: a new one is running, one that had ended runs again. Taken: session_id and prompt
 * (required), id (NULL: a new one, such that ids sort by the time they were made), type. Another run has the id: name "exists",
 * GT_REFUSED; the same one: 0.
 */
int run_create(struct store *s, const struct run *r, const char *execution_mode, const struct moment *now, struct run *out, struct err *e);

/* Who says that the run is his, or wants it. */
struct run_holder {
	const char *run_id, *runner_id;
	int64_t fence;			/* 0: not told, the runner's name suffices; not of a claim */
	const char *claim_id;		/* of a claim; NULL: none */
};

/*
 * Gives the runner the run with this id, or with NULL the first pending one in the order of ids. 0: nothing is pending, *out is empty. 2:
 * *out was claimed by a claim of this runner with this claim_id before, and not begun. The runner need not be registered; its claim is then
 * judged by its age alone.
 */
int run_claim(struct store *s, const struct run_holder *h, const struct moment *now, struct run *out, struct err *e);

int run_start(struct store *s, const struct run_holder *h, const struct moment *now, struct run *out, struct err *e);
/* Asks its runner to stop it; a pending one is stopped at once. */
int run_stop(struct store *s, const char *id, const struct moment *now, struct run *out, struct err *e);
/* state: completed, failed or stopped. error: a sentence, kept for a failed one; it may hold anything and goes into no event. */
int run_finish(struct store *s, const struct run_holder *h, enum run_state state, const char *error, const struct moment *now,
    struct run *out, struct err *e);

/* 1 found, 0 absent (*out is empty), -1. Release when 1. */
int run_load(struct store *s, const char *id, struct run *out, struct err *e);
/* From a record run:*, as store_each hands it over; release it when 0. */
int run_from_record(const struct record *rec, struct run *out, struct err *e);
/* The value of the record. Heap. */
char *run_json(const struct run *r);

#endif
