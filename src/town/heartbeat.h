#ifndef TOWN_HEARTBEAT_H
#define TOWN_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct town;

/*
 * What Gas Town notes of a session while it lives (gastown, internal/polecat/heartbeat.go): every gt command that is run in it writes
 * <town>/.runtime/heartbeats/<session>.json. An agent that builds for an hour runs none: an old beat proves nothing, and a process that
 * lives on this host outweighs any that is missing. The state is worth reading: an agent that said it was exiting was ended on purpose.
 */
struct heartbeat {
	int64_t at;		/* ms since 1970; -1: not known */
	char state[16];		/* "working" (also when none was said), "idle", "exiting" (in gt done), "stuck", or what a later gt says */
	char bead[64];		/* "" when none was said; foreign */
};

/* True when there is one that can be read. */
bool heartbeat_read(const struct town *t, const char *session, struct heartbeat *out);
/* Three beats (of three minutes, gt's own measure) were missed: for agents of other hosts only. */
bool heartbeat_stale(const struct heartbeat *h, int64_t now);

/*
 * The process that gt noted for the session, <town>/.runtime/pids/<session>.pid: "PID" or "PID|START". start ("" when it has none) is
 * what gt's own system said of its start and is comparable only with itself. False when there is none.
 */
struct noted_pid {
	pid_t pid;
	char start[64];
};
bool heartbeat_pid(const struct town *t, const char *session, struct noted_pid *out);

#endif
