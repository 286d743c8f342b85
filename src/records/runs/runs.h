#ifndef RECORDS_RUNS_RUNS_H
#define RECORDS_RUNS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/timestamp.h"
#include "store/store.h"

struct err;
struct store;
struct timestamp;

/* ---- run ---- */

/*
 * A run: work that waits for a runner (records/runs/runs.h), seed S4's row of the table of
 * runs. The record is run:<run id>, its tag the state.
 *
 * 	pending -> claimed -> running -> completed | failed
 * 	claimed, running -> stopping -> stopped | completed | failed
 * 	pending -> stopped			nobody had it
 * 	claimed -> failed			it could not be begun
 * 	claimed -> pending | failed, running -> failed, stopping -> stopped             recovery
 * 	(records/runs/runs.h)
 *
 * completed, failed and stopped are final. Every step is one commit: the run, its session where
 * that changes (records/runs/runs.h), and the event run.<state>, or run.created. A claim
 * expects the version of the run that was pending, so that of any number of claimers one has it.
 * It is counted in `fence`: who shows an old number, or another runner's name, is refused, also
 * when a run was given out anew in between.
 *
 * A step that was made already answers 0 and changes nothing, so that whoever lost our answer may
 * ask again. A claim needs a word of the claimer's own for that (claim_id): without it nobody
 * could tell him from another one of his name.
 */
enum run_state {
	RUN_PENDING, RUN_CLAIMED, RUN_RUNNING, RUN_STOPPING, RUN_COMPLETED, RUN_FAILED, RUN_STOPPED,
	RUN_STATES
};

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
	/* completed_at: when it became final, whichever way */
	int64_t created_at, claimed_at, started_at, completed_at;
	int64_t recovered_at;
	int64_t recoveries;		/* how many times it was recovered */
	int64_t fence;			/* how many times it was claimed */
	char host[HOST_MAX + 1];	/* on which it was claimed; "": this one, or nobody has it */
	/* of the runner when it claimed (records/runs/runs.h); 0: it was not registered */
	int64_t runner_generation;
	struct timestamp entered; /* when it came into its state; boot_id "": an older or foreign record tells
				     its *_at alone */
};

const char *run_state_name(enum run_state state);		/* "pending", … */
/* -1 when there is no such state. */
int run_state_parse(const char *name);
bool run_state_final(enum run_state state);
/* What the table above allows; recovery: also its own line. */
bool run_state_allows(enum run_state from, enum run_state to, bool recovery);

void run_release(struct run *r);

/*
 * All verbs: *out is the run as it is now; release it when the answer is not -1. Answers 1 when
 * it was changed, 0 when it was so already. Names: "not-found" (GT_NOTHING), "transition"
 * (GT_REFUSED: its state does not allow it), "not-yours" (GT_REFUSED: another runner, or a later
 * claim, has it), "id" (GT_USAGE), "conflict" (GT_AGAIN).
 */

/*
 * Commits the new run as pending, and its session: a new one is running, one that had ended runs
 * again. Taken: session_id and prompt (required), id (NULL: a new one, such that ids sort by the
 * time they were made), type. Another run has the id: name "exists", GT_REFUSED; the same one: 0.
 */
int run_create(struct store *s, const struct run *r, const char *execution_mode, const struct timestamp *now,
    struct run *out, struct err *e);

/* Who says that the run is his, or wants it. */
struct run_holder {
	const char *run_id, *runner_id;
	int64_t fence;			/* 0: not told, the runner's name suffices; not of a claim */
	const char *claim_id;		/* of a claim; NULL: none */
};

/*
 * Gives the runner the run with this id, or with NULL the first pending one in the order of ids.
 * 0: nothing is pending, *out is empty. 2: *out was claimed by a claim of this runner with this
 * claim_id before, and not begun. The runner need not be registered; its claim is then judged by
 * its age alone.
 */
int run_claim(
    struct store *s, const struct run_holder *h, const struct timestamp *now, struct run *out, struct err *e);

int run_start(
    struct store *s, const struct run_holder *h, const struct timestamp *now, struct run *out, struct err *e);
/* Asks its runner to stop it; a pending one is stopped at once. */
int run_stop(struct store *s, const char *id, const struct timestamp *now, struct run *out, struct err *e);
/*
 * state: completed, failed or stopped. error: a sentence, kept for a failed one; it may hold
 * anything and goes into no event.
 */
int run_finish(struct store *s, const struct run_holder *h, enum run_state state, const char *error,
    const struct timestamp *now, struct run *out, struct err *e);

/* 1 found, 0 absent (*out is empty), -1. Release when 1. */
int run_load(struct store *s, const char *id, struct run *out, struct err *e);
/* From a record run:*, as store_each hands it over; release it when 0. */
int run_from_record(const struct record *rec, struct run *out, struct err *e);
/* The value of the record. Heap. */
char *run_json(const struct run *r);

/* ---- run_recover ---- */

/*
 * What becomes of the runs that a restart left claimed, running or stopping (seed S4). Startup
 * calls it before anything may claim.
 *
 * 	            claimed              running             stopping
 * 	none        stays                stays               stays
 * 	stale       old: pending         old: failed         stopped
 * 	all         pending              failed              stopped
 *
 * Old is one that came into its state more than the threshold ago, on another boot, at a time
 * that is not known, or that is yet to come. In `stale` a run stays its runner's while that lives
 * (records/runs/runs.h) in the life in which it claimed; `all` does not ask the registry. A run
 * that fails has the seed's sentence as its error; its session is finished, one of a stopped run
 * stopped (records/runs/runs.h). What was claimed on another host, or in another container
 * that may still run, was not restarted: it is judged as by `stale` in any mode but `none`, when
 * stopping also by its age, and ages are those of the store's clock (store_timestamp). With
 * claimed_fails a claimed run fails as well, for work that must not be begun twice.
 */
enum run_mode { RUN_MODE_NONE, RUN_MODE_STALE, RUN_MODE_ALL };

#define RUN_ERROR_STALE "Coordinator restarted during execution"
/* of mode all, and of claimed ones that fail */
#define RUN_ERROR_UNKNOWN "Coordinator restarted - execution state unknown"

struct run_recovery {
	enum run_mode mode;
	int64_t threshold_ms;
	bool claimed_fails;
	/* in `stale`: nothing was restarted, so that a stop may still be under way; it has to be old, too */
	bool between;
	bool dry_run;			/* count, change nothing */
};

struct run_report {
	size_t reset_to_pending, marked_failed, marked_stopped;		/* by what became of them */
	size_t claimed, running, stopping;				/* the same runs by what they were */
	size_t kept_by_runner;		/* old, but their runner lives; not in `all` */
	size_t kept_young;
};

/* "none", "stale", "all"; -1 when it is none of them. */
int run_mode_parse(const char *word);
const char *run_mode_name(enum run_mode mode);

/*
 * All of it is one commit, with one event, run.recovered (more than one only where the runs hold
 * more than 32 MiB). Nothing to do: nothing is written. What others change at the same time is
 * looked at again; they win all the time: name "conflict", GT_AGAIN.
 */
int run_recover(struct store *s, const struct run_recovery *how, const struct timestamp *now,
    struct run_report *out, struct err *e);

/* ---- run_session ---- */

/*
 * The session that a run belongs to (seed S4's table of sessions, not a session of an agent): the
 * record run_session:<session id>, its tag the status. It changes in the commit of the run that
 * changes it. One of its runs at a time is the one that it follows (run_id: the newest that
 * began, or the first that was created); what becomes of the others does not end it.
 */
#define RUN_SESSION_PREFIX "run_session:"

enum run_session_status {
	RUN_SESSION_RUNNING, RUN_SESSION_STOPPING, RUN_SESSION_STOPPED, RUN_SESSION_FINISHED,
	RUN_SESSION_STATUSES
};

struct run_session {
	int64_t version;		/* 0: there is no such record */
	enum run_session_status status;
	char *id;
	char *run_id;			/* "": follows any */
	char *execution_mode;		/* the creator's word, "sync" when it gave none */
	int64_t created_at;		/* ms since 1970 */
};

const char *run_session_status_name(enum run_session_status status);

/* 1 found, 0 absent (*x is then empty but for its id), -1. Release in any case. */
int run_session_load(struct store *s, const char *id, struct run_session *x, struct err *e);
void run_session_release(struct run_session *x);

/*
 * What the step of a run from `from` to its present state makes of it: running when the run
 * begins; stopping with it; stopped when it is stopped; finished when it ends otherwise, but not
 * from stopping unless the run itself was to stop. True when x changed.
 */
bool run_session_apply(struct run_session *x, const struct run *r, enum run_state from);

/* ---- runner ---- */

/*
 * The registry of runners, the programs that claim runs and execute them: the record runner:<id>
 * (tag registered). What a living runner has claimed stays its own when stale runs are recovered
 * (records/runs/runs.h).
 *
 * A registration begins a new life: what the same id claimed in an earlier life belongs to a
 * program that has ended. On the machine and boot where it registered, a runner that told its
 * process lives as long as that process does, whatever became of its beats; any other lives while
 * its last beat is not older than the threshold. Another boot ends it. From another host it is
 * judged by its beats alone, in the store's clock (store_timestamp), so it should beat.
 */
struct runner {
	int64_t version;		/* of the record; 0: there is none */
	char *id;
	int64_t generation;			/* how many times it registered, from 1 */
	int64_t registered_at;		/* ms since 1970 */
	struct timestamp heartbeat;		/* the last one, or the registration */
	/* pid_start: clock ticks, as in process/proc.h; 0: it told no process */
	int64_t pid, pid_start;
};

struct runner_list {
	struct runner *v;		/* in the order of their ids */
	size_t n, cap;
};

/*
 * Commits it as registered, with the event runner.registered; *out is the new record, release it
 * when 0. pid 0: none told. A pid that is no living process: name "gone".
 */
int runner_register(struct store *s, const char *id, int64_t pid, const struct timestamp *now,
    struct runner *out, struct err *e);

/*
 * Commits the time of a beat. There is no event: beats come by the minute, and change nothing
 * that is not in the record. One that is not registered, or was so before this boot or on another
 * host: name "unregistered", GT_REFUSED; what it claimed may be another's already.
 */
int runner_heartbeat(struct store *s, const char *id, const struct timestamp *now, struct err *e);

/* 1 found, 0 absent (*out is empty), -1. Release when 1. */
int runner_load(struct store *s, const char *id, struct runner *out, struct err *e);
/* All of them, appended. */
int runner_list_read(struct store *s, struct runner_list *out, struct err *e);
/* NULL when it is not among them. */
const struct runner *runner_list_find(const struct runner_list *list, const char *id);

bool runner_is_alive(const struct runner *r, const struct timestamp *now, int64_t threshold_ms);

void runner_release(struct runner *r);
void runner_list_release(struct runner_list *list);

#endif
