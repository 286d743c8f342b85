#ifndef TOWN_NUDGE_H
#define TOWN_NUDGE_H

#include <signal.h>

struct err;
struct town;

/*
 * The lock that Gas Town holds while it types into a session, so that nobody else does: <town>/.runtime/nudge_queue/<session>/.lock, flock(2)
 * (gastown, internal/tmux: nudgeFlockPath, acquireFlockLock). The file is Gas Town's: made as it would make it, never removed.
 */
#define NUDGE_NONE (-2)		/* no town: there is nobody to lock out */
#define NUDGE_WAIT_MS 30000	/* as long as Gas Town itself waits */

/*
 * A descriptor for nudge_unlock, or NUDGE_NONE. -1: name "nudge-busy" (GT_AGAIN, still held after wait_ms, which is asked for every 100 ms),
 * "interrupted" (GT_AGAIN, *stop was set), "nudge-lock" (the file cannot be made).
 */
int nudge_lock(const struct town *t, const char *session, int wait_ms, const volatile sig_atomic_t *stop, struct err *e);
/* Also for NUDGE_NONE and -1. */
void nudge_unlock(int fd);

#endif
