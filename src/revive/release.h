#ifndef REVIVE_RELEASE_H
#define REVIVE_RELEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "ledger/attempt.h"

struct err;
struct world;

/*
 * A person's word that a session may be recovered anew: its crashes are forgotten, which ends its quarantine, and recoveries of it that are
 * still open are ended as failed, with the option of a zombie's pane taken back. That is the way out where nobody can tell whether a prompt
 * arrived. Nothing is done to the agent.
 */
struct released {
	size_t forgotten;		/* attempts that counted towards the quarantine */
	struct attempts ended;		/* as they were before */
};

/*
 * The session of this name on the servers that were named with -L, else on any. With dry_run only looks. Names: "locked" (GT_AGAIN: a
 * recovery of it is at work), "conflict" (GT_AGAIN). released_release in any case.
 */
int release_session(struct world *w, const char *session, bool dry_run, struct released *out, struct err *e);
void released_release(struct released *r);

#endif
