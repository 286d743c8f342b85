#ifndef RECORDS_RUNS_RUNS_H
#define RECORDS_RUNS_RUNS_H

#include "records/records.h"

/* ---- run ---- */

/*
 * A run: work that waits for a runner. The record is run:<run id>, its tag the state.
 *
 * 	pending -> claimed -> running -> completed | failed
 * 	claimed, running -> stopping -> stopped | completed | failed
 * 	pending -> stopped		nobody had it
 * 	claimed -> failed		it could not be begun
 * 	claimed -> pending | failed, running -> failed, stopping -> stopped	run_recover alone
 *
 * completed, failed and stopped are final. Each step is one commit: the run, its session where that
 * changes, and the event run.<state>, or run.created. A claim expects the version of the pending
 * run, so of any number of claimers one gets it. `fence` counts the claims: a holder with an old
 * number or another runner's name is refused, even if the run was given out again in between.
 *
 * A step that was made before answers 0 and changes nothing, so a caller that lost the answer may
 * repeat it. For a claim this needs a word of the claimer's own (claim_id).
 */
enum run_state {
	RUN_PENDING, RUN_CLAIMED, RUN_RUNNING, RUN_STOPPING, RUN_COMPLETED, RUN_FAILED, RUN_STOPPED,
	RUN_STATES
};

struct run {
	int64_t version;		/* of the record; 0: there is none */
	enum run_state state;
	/* heap, NULL when unknown; set with record_set */
	char *id;
	char *session_id;
	char *type;			/* "START_SESSION" when the creator gave none */
	char *prompt;
	char *runner_id;		/* who claimed it last; NULL while pending */
	char *error;			/* of a failed one */
	char *recovered_from;		/* the state in which recovery last found it */
	char *claim_id;			/* the claimer's own word for its claim */
	/* ms since 1970, 0: never; completed_at: when it became final, in any way */
	int64_t created_at, claimed_at, started_at, completed_at;
	int64_t recovered_at;
	int64_t recoveries;		/* how many times it was recovered */
	int64_t fence;			/* how many times it was claimed */
	char host[HOST_MAX + 1];	/* on which it was claimed; "": this one, or nobody has it */
	int64_t runner_generation;	/* the runner's when it claimed; 0: it was not registered */
	/* when it entered its state; boot_id "": an older or foreign record has only the *_at */
	struct timestamp entered;
};

const char *run_state_name(enum run_state state);		/* "pending", … */
int run_state_parse(const char *name);				/* -1: no such state */
bool run_state_final(enum run_state state);
/* What the table above allows; recovery: also its last line. */
bool run_state_allows(enum run_state from, enum run_state to, bool recovery);

void run_release(struct run *r);

/*
 * All verbs: 1 it was changed, 0 it was so already; *out is the run as it is now, to be released
 * unless the answer is -1. Names: "not-found" (GT_NOTHING), "transition" (GT_REFUSED: its state does
 * not allow it), "not-yours" (GT_REFUSED: another runner or a later claim has it), "id" (GT_USAGE),
 * "conflict" (GT_AGAIN).
 */

/*
 * Commits a new pending run and its session: a new one is running, one that had ended runs again.
 * Taken: session_id and prompt (required), id (NULL: a new one; these sort by time), type. Another
 * run has the id: "exists", GT_REFUSED; the same one: 0.
 */
int run_create(struct store *s, const struct run *r, const char *execution_mode, const struct timestamp *now,
    struct run *out, struct err *e);

/* Who has the run, or wants it. */
struct run_holder {
	const char *run_id, *runner_id;
	int64_t fence;			/* 0: not given, the runner's name suffices; not of a claim */
	const char *claim_id;		/* of a claim; NULL: none */
};

/*
 * Gives the runner the run with this id, or with NULL the first pending one by id. 0: nothing is
 * pending, *out is empty. 2: this runner claimed *out before with this claim_id, and has not begun
 * it. The runner need not be registered; its claim is then judged by its age alone.
 */
int run_claim(
    struct store *s, const struct run_holder *h, const struct timestamp *now, struct run *out, struct err *e);

int run_start(
    struct store *s, const struct run_holder *h, const struct timestamp *now, struct run *out, struct err *e);
/* Asks its runner to stop it; a pending one is stopped at once. */
int run_stop(struct store *s, const char *id, const struct timestamp *now, struct run *out, struct err *e);
/* state: completed, failed or stopped. error: a sentence, kept for a failed one; it enters no event. */
int run_finish(struct store *s, const struct run_holder *h, enum run_state state, const char *error,
    const struct timestamp *now, struct run *out, struct err *e);

/* 1 found, 0 absent (*out is empty), -1. Release when 1. */
int run_load(struct store *s, const char *id, struct run *out, struct err *e);
/* From a record run:*, as store_each hands it over; release it when 0. */
int run_from_record(const struct record *rec, struct run *out, struct err *e);
char *run_json(const struct run *r);				/* the record's value; heap */

/* ---- run_recover ---- */

/*
 * What becomes of runs that a restart left claimed, running or stopping. Startup calls it before
 * anything may claim.
 *
 * 	            claimed              running             stopping
 * 	none        stays                stays               stays
 * 	stale       old: pending         old: failed         stopped
 * 	all         pending              failed              stopped
 *
 * A run is old if it entered its state more than the threshold ago, on another boot, at an unknown
 * time or in the future. In `stale` a run stays its runner's while that lives in the life in which
 * it claimed; `all` does not ask the registry. The session of a failed run is finished, that of a
 * stopped one stopped. What was claimed on another host, or in another container that may still
 * run, was not restarted: it is judged as by `stale` in all modes but `none`, when stopping also by
 * its age. Ages are those of the store's clock (store_timestamp).
 */
enum run_mode { RUN_MODE_NONE, RUN_MODE_STALE, RUN_MODE_ALL };

#define RUN_ERROR_STALE "Coordinator restarted during execution"
/* of mode all, and of claimed ones that fail */
#define RUN_ERROR_UNKNOWN "Coordinator restarted - execution state unknown"

struct run_recovery {
	enum run_mode mode;
	int64_t threshold_ms;
	bool claimed_fails;		/* a claimed run fails, too: for work that must not begin twice */
	bool between;			/* in `stale`: nothing was restarted, a stop may be under way */
	bool dry_run;			/* count, change nothing */
};

struct run_report {
	size_t reset_to_pending, marked_failed, marked_stopped;		/* by what became of them */
	size_t claimed, running, stopping;				/* the same runs by what they were */
	size_t kept_by_runner;		/* old, but their runner lives; not in `all` */
	size_t kept_young;
};

int run_mode_parse(const char *word);				/* "none", "stale", "all"; -1: none of them */
const char *run_mode_name(enum run_mode mode);

/*
 * One commit with one event, run.recovered (more than one only above 32 MiB of runs); nothing to do:
 * nothing is written. What others change meanwhile is read again; after many rounds: "conflict",
 * GT_AGAIN.
 */
int run_recover(struct store *s, const struct run_recovery *how, const struct timestamp *now,
    struct run_report *out, struct err *e);

/* ---- run_session ---- */

/*
 * The session that a run belongs to, which is not a session of an agent: the record
 * run_session:<session id>, its tag the status. It changes in the commit of the run that changes it.
 * It follows one of its runs at a time (run_id: the newest that began, or the first that was
 * created); the others do not end it.
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
 * What the step of a run from `from` to its present state makes of it: running when the run begins;
 * stopping with it; stopped when it is stopped; finished when it ends otherwise, from stopping only
 * if the run itself was to stop. True when x changed.
 */
bool run_session_apply(struct run_session *x, const struct run *r, enum run_state from);

/* ---- runner ---- */

/*
 * A program that claims runs and executes them: the record runner:<id> (tag registered). What a
 * living runner has claimed stays its own when stale runs are recovered.
 *
 * Each registration begins a new life: what the same id claimed before belongs to a program that has
 * ended. On the host and boot where it registered, a runner with a process lives as long as that
 * process; any other lives while its last heartbeat is within the threshold. Another boot ends it.
 * A runner of another host is judged by its heartbeats alone, in the store's clock (store_timestamp).
 */
struct runner {
	int64_t version;		/* of the record; 0: there is none */
	char *id;
	int64_t generation;		/* how many times it registered, from 1 */
	int64_t registered_at;		/* ms since 1970 */
	struct timestamp heartbeat;	/* the last one, or the registration */
	int64_t pid, pid_start;		/* clock ticks, as in process/proc.h; 0: no process is known */
};

struct runner_list {
	struct runner *v;		/* by id */
	size_t n, cap;
};

/*
 * Commits it as registered, with the event runner.registered; *out is the record, release it when 0.
 * pid 0: none. A pid that is no living process: "gone".
 */
int runner_register(struct store *s, const char *id, int64_t pid, const struct timestamp *now,
    struct runner *out, struct err *e);

/*
 * Commits the time of a heartbeat, without an event. Not registered, or before this boot, or on
 * another host: "unregistered", GT_REFUSED; what it claimed may be another's already.
 */
int runner_heartbeat(struct store *s, const char *id, const struct timestamp *now, struct err *e);

/* 1 found, 0 absent (*out is empty), -1. Release when 1. */
int runner_load(struct store *s, const char *id, struct runner *out, struct err *e);
int runner_list_read(struct store *s, struct runner_list *out, struct err *e);	/* all, appended */
const struct runner *runner_list_find(const struct runner_list *list, const char *id);	/* or NULL */

bool runner_is_alive(const struct runner *r, const struct timestamp *now, int64_t threshold_ms);

void runner_release(struct runner *r);
void runner_list_release(struct runner_list *list);

#endif
