#ifndef CONTEXT_TASK_H
#define CONTEXT_TASK_H

#include <stddef.h>

struct conversation;

/*
 * Where in a conversation the current piece of work began (scope "task"). Pure, linear.
 *
 * A conversation falls into stretches. A new one begins
 * - behind a "/clear" ("/reset" and "/new" are the same command in every version measured): what stands before it was given up by
 *   the person and is never taken back;
 * - at a banner (the agent was started anew) behind which anybody says anything, at Gas Town's first words to a session
 *   ("[GAS TOWN] polecat toast …"), and at words
 *   that hand out another work item ("assigned", "hooked", "slung", "handoff" with an id of the same prefix). What an earlier recovery
 *   brought (SOURCE_EARLIER) was cut to its work then: banners in it are none, and it goes on over that of the agent it was brought to.
 *   So does one transcript over a banner in its midst: it was resumed.
 * The work began where the words of the person or a summary name its id for the first time in the last stretch that names it: a
 * reminder in the middle of the work does not begin it anew, an assignment after other work does. An id counts as a whole word,
 * in any case: "gt-ab" is not in "gt-abc", "gt-ab-2" or "gt-ab.1" (a child). When no stretch names it, or `bead` is NULL, the last
 * stretch is the work.
 * A summary of a compaction that stands behind the beginning stays where it is, like all else.
 */
size_t task_begin(const struct conversation *c, const char *bead);	/* index; 0 when nothing tells, c->n when nothing follows */
void task_cut(struct conversation *c, const char *bead);		/* drops what stands before task_begin */

#endif
