#ifndef LEDGER_RUN_RECOVER_H
#define LEDGER_RUN_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct moment;
struct store;

/*
 * What becomes of the runs that a restart left claimed, running or stopping (seed S4). Startup calls it before anything may claim.
 *
 *	            claimed              running             stopping
 *	none        stays                stays               stays
 *	stale       old: pending         old: failed         stopped
 *	all         pending              failed              stopped
 *
 * Old is one that came into its state more than the threshold ago, on another boot, at a time that is not known, or that is yet to
 * come. In `stale` a run stays its runner's while that lives (ledger/runner.h) in the life in which it claimed; `all` does not ask the
 * registry. A run that fails has the seed's sentence as its error; its session is finished, one of a stopped run stopped
 * (ledger/run_session.h). What was claimed on another host was not restarted with this one: it is judged as by `stale` in any mode but
 * `none`, when stopping also by its age, and ages are those of the store's clock (store_moment). With claimed_fails a claimed run fails as well, for work that must not be begun twice.
 */
enum run_mode { RUN_MODE_NONE, RUN_MODE_STALE, RUN_MODE_ALL };

#define RUN_ERROR_STALE "Coordinator restarted during execution"
#define RUN_ERROR_UNKNOWN "Coordinator restarted - execution state unknown"	/* of mode all, and of claimed ones that fail */

struct run_recovery {
	enum run_mode mode;
	int64_t threshold_ms;
	bool claimed_fails;
	bool between;			/* in `stale`: nothing was restarted, so that a stop may still be under way; it has to be old, too */
	bool dry_run;			/* count, change nothing */
};

struct run_report {
	size_t reset_to_pending, marked_failed, marked_stopped;		/* by what became of them */
	size_t claimed, running, stopping;				/* the same runs by what they were */
	size_t kept_by_runner;		/* old, but their runner lives; not in `all` */
	size_t kept_young;
};

/* "none", "stale", "all"; -1 when it is none of them. */
int run_mode_of(const char *word);
const char *run_mode_name(enum run_mode mode);

/*
 * All of it is one commit, with one event, run.recovered (more than one only where the runs hold more than 32 MiB). Nothing to do: nothing
 * is written. What others change at the same time is looked at again; they win all the time: name "conflict", GT_AGAIN.
 */
int run_recover(struct store *s, const struct run_recovery *how, const struct moment *now, struct run_report *out, struct err *e);

#endif
