#ifndef REVIVE_WIP_PASS_H
#define REVIVE_WIP_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "work/wip.h"

struct buf;
struct epic;
struct scrub;
struct world;

/*
 * A pass over the work trees of all agents in scope, alive or dead in their panes: what is in progress there is committed to refs of their
 * own (work/wip.h). An agent that the ledger knows by its tmux session, and an epic by its session, has its sprint's branch; any other one
 * the ref of its session. Every wip_interval, or at once for sessions that are named; 0: never. One pass at a time.
 */
enum wip_how {
	WIP_COMMITTED,
	WIP_SAME,		/* nothing has changed since the last one */
	WIP_WANTED,		/* --dry-run: would be looked at */
	WIP_FAILED
};

struct wip_one {
	enum wip_how how;
	char *session;		/* foreign: escape it */
	struct wip wip;
	struct err error;	/* WIP_FAILED */
};

struct wip_pass {
	struct wip_one *v;
	size_t n, cap;
	bool due;		/* false: it is not time yet, another pass is at work, or it is switched off */
};

/* 0, also when single ones failed; -1 with err. wip_pass_release in any case. names: n 0 means all. */
int wip_pass(struct world *w, const char *const *names, size_t n, bool dry_run, struct wip_pass *out, struct err *e);
void wip_pass_release(struct wip_pass *p);
const char *wip_how_name(enum wip_how how);	/* "committed", "unchanged", "wanted", "failed" */

/*
 * The ref on which the work of the epic's sprint at that place, from 0, is committed, as git's commands take it, and when that was, ms since 1970;
 * cwd: somewhere in its work tree. Heap; NULL: there is none, or git does not tell.
 */
char *wip_of_sprint(const struct epic *x, size_t i, const char *cwd, int64_t *at);

/*
 * For the prompt of an agent that comes back, a few lines: on which ref its work was committed, when, and how it is taken back. Nothing
 * when there is no such commit. agent: its id in the ledger, or NULL. Best effort: what cannot be read is not told.
 */
void wip_tell(struct world *w, const char *agent, const char *session, const char *cwd, struct buf *out);

#endif
