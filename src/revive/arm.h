#ifndef REVIVE_ARM_H
#define REVIVE_ARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/armed.h"

struct candidate;
struct err;
struct panes;
struct tmux;
struct world;

/*
 * Arming a session, so that something is left when its agent dies (tmux as it comes, and Gas Town, keep no dead pane):
 *
 *	remain-on-exit on	of the agent's pane alone: what anybody set for the window stays and comes back into force with disarm
 *	history-limit		of the session, raised to max_context_lines, never lowered. tmux gives it to new panes only
 *	pane-died[50 or up]	of the pane's window, beside what stands there (T29): runs `script`. Not where the window has no hooks
 *				of its own and the server has some for all windows: an own array would switch those off
 *
 * What was set before is committed (ledger/armed.h) before anything is changed. Somebody who sets pane-died without an index, as Gas Town
 * does at a start, takes our hook away; arming again puts it back.
 */
struct arming {
	struct armed record;		/* before and after; panes and windows of the session */
	bool changed;			/* something was, or with dry_run would be, set */
	bool hook_left_out;		/* by the exception above */
	int64_t history_now;		/* history-limit that new panes get before we change it */
	int64_t history_want;		/* what we set, or the same when it is enough */
};

/*
 * Candidates of one session (at least one). script: what pane-died is to run in sh, with tmux's formats in it; NULL: no hook. With dry_run
 * only looks. Names: "gone", "conflict" (GT_AGAIN), those of the store and of tmux/client.h. arming_release in any case.
 */
int arm_session(struct world *w, const struct candidate *const *panes, size_t n, const char *script, bool dry_run, struct arming *out,
    struct err *e);
void arming_release(struct arming *a);

/*
 * Puts back what the record tells and deletes it. What somebody else has changed since is left as it is. `now`: the panes of its server;
 * what is gone needs nothing. *restored: how many settings were, or with dry_run would be, put back.
 */
int disarm_session(struct world *w, struct tmux *t, const struct armed *a, const struct panes *now, bool dry_run, size_t *restored,
    struct err *e);

/* True when this pane is armed, and the setting still holds. */
bool arm_holds(const struct armed_list *all, const struct candidate *c);

#endif
