#ifndef REVIVE_STARTUP_H
#define REVIVE_STARTUP_H

#include <stdbool.h>
#include <stddef.h>

#include "ledger/message.h"
#include "ledger/run_recover.h"
#include "ledger/session.h"
#include "ledger/tree.h"

struct candidates;
struct err;
struct world;

/*
 * Setting the house in order after the machine or a tmux server went down. What the last pass saw stands in the record servers:last: the
 * boot id, and of each tmux server with an agent its socket, its process (pid and start in clock ticks, as /proc tells) and tmux's own
 * start time. A process that is there no more, or another boot id, is the sign; tmux is asked only for the sessions that open recoveries made.
 */

/* Whether something went down since the last pass; false where nothing is known yet. Reads only. */
bool startup_due(struct world *w);

struct startup {
	bool rebooted;
	size_t servers_ended;
	size_t closed;			/* recoveries that were open, and ended as failed */
	size_t acknowledged;		/* the same, but the agent's transcript shows that it had answered */
	struct run_report runs;
	size_t adopted;			/* sessions whose agent lives, which was not known (revive/adopt.h) */
	struct sessions_settled sessions;
	struct tree_settled tree;
	size_t locks;			/* stale ones that are free now (ledger/lock.h) */
	struct messages_settled messages;
	struct sessions back;		/* SUSPENDED, to be brought back: roots or all agents, by resume_scope */
};
/*
 * Makes the records true again, in this order: runs (ledger/run_recover.h), sessions without a living process (whose agent
 * does live in its tmux session gets that process first), the tree, stale locks, messages by
 * reply_policy, open recoveries. Each part is commits that leave the rest to the next startup, so that one that dies anywhere is simply run
 * again, to the same end; where all is true already nothing is written. Without a store there is nothing to be done.
 *
 * Of the open recoveries it looks at those of servers that are gone: one whose prompt was answered is acknowledged, any other has failed,
 * with the reason. One that made its session again, on the server that runs now, goes on.
 * One that another run is at work on is left to it. Then tidy (revive/tidy.h). A server's end is one event (server.ended), a reboot too
 * (host.rebooted). What went down leaves servers:last at the very end, so that it is done once. startup_release in any case.
 */
int startup(struct world *w, const struct run_recovery *how, struct startup *out, struct err *e);
void startup_release(struct startup *s);
/* Did it change anything? */
bool startup_changed(const struct startup *s);

/* Whether servers:last tells just the servers of these candidates. True where there is no store: nothing can be open then. */
bool startup_knows(struct world *w, const struct candidates *all);
/* Makes it so. Writes nothing when it was so. */
int startup_remember(struct world *w, const struct candidates *all, struct err *e);

#endif
