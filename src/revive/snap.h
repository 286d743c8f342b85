#ifndef REVIVE_SNAP_H
#define REVIVE_SNAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct world;

/*
 * One pass of snapshots (context/snapshot.h) over all agents' panes, for cron: live ones, and dead ones for as long as they stand. A server
 * costs one tmux process for the list; where something changed one for the environments of the changed panes, and one batch of captures.
 * Panes that are as the last pass saw them (revive/seen.h) are not captured again and cost no write; of a capture that tells the same as
 * the newest snapshot none is written either.
 *
 * A good one is never lost to a poorer one: an empty screen makes no snapshot when there is one, and one of less than half the text refers
 * to the richer one of the same process, which is kept and read with it. One pane that fails does not stop the others. One pass at a time.
 */
enum snap_how {
	SNAP_TAKEN,		/* written */
	SNAP_SAME,		/* nothing had changed */
	SNAP_KEPT,		/* the pane is empty now: the older one stays */
	SNAP_WANTED,		/* --dry-run: would be looked at */
	SNAP_FAILED
};

struct snap_result {
	enum snap_how how;
	char *session, *socket, *pane;	/* foreign: escape them */
	char *file;			/* the pane's newest snapshot; NULL: none */
	size_t rows;			/* of what was taken */
	struct err error;		/* SNAP_FAILED */
};

struct snap_run {
	struct snap_result *v;
	size_t n, cap;
	size_t removed;			/* old ones */
	size_t servers;			/* that answered */
	struct err trouble;		/* the first server that is there and did not; code 0: none */
};

struct snap_ask {
	const char *const *names;	/* sessions or panes; n 0: all */
	size_t n;
	bool dry_run;			/* nothing is captured and nothing written */
};

/*
 * 0 also when single panes failed or there was nothing to do. A name that no agent's pane has is a failed result "unknown-session"
 * (GT_NOTHING). -1: "locked" (another pass is at work), "unwritable", no scrub rules, no processes to look at.
 */
int snap(struct world *w, const struct snap_ask *ask, struct snap_run *out, struct err *e);
void snap_run_release(struct snap_run *r);
const char *snap_how_name(enum snap_how how);	/* "taken", "unchanged", "kept", "wanted", "failed" */

#endif
