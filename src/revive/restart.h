#ifndef REVIVE_RESTART_H
#define REVIVE_RESTART_H

#include <stdbool.h>

struct candidate;
struct candidates;
struct err;
struct recovery;
struct session;
struct world;

/*
 * Brings one suspended agent of the ledger back. Where a pane or a snapshot tells of its crash it is recovered from that, with its context, as
 * any other agent. Only where nobody knows more than its record it is started from that: in a new tmux session of the recorded name, by its
 * start command, told by templates/restart.md; with the recorded conversation (cursor_session_id) where the provider can, and nobody else does.
 *
 * Either way it is a recovery (revive/recover.h): guards, quarantine, an attempt in the ledger, proof. The agent's session is claimed first
 * (session_restore), so that one restart alone starts it, and has its process when it runs (revive/adopt.h). The tmux session's name is the
 * second claim: one that is there is never touched. Who dies in between leaves it ACTIVE without a process: the next startup suspends it and
 * takes the attempt up.
 */
enum restarted { RESTARTED, RESTART_FOUND };

/*
 * all: what detect found. Answers enum restarted, or -1: the names of recover.h, "no-place-known" (its record names no start command, session or
 * workspace: whoever made it brings it back), "other-host", "no-agent-known", "there" (somebody's agent lives in a session of that name), those of
 * session_restore. An agent that runs then is in its session all the same (GT_UNACKED); otherwise the session is SUSPENDED; but
 * "server-silent": that is for the next startup to find out. id: of the attempt, "" when there was none. In a dry world (world.h) it answers
 * what the guards leave, and starts nothing.
 */
int restart_agent(struct world *w, const struct session *x, const struct candidates *all, char id[21], struct err *e);

/*
 * The same for a candidate of revive/recorded.h, in the place of recover(): `one` is told on the way and released by the caller, and may be
 * named. One that is ACTIVE and whose process is no more is suspended first.
 */
int restart_recorded(struct recovery *one, struct err *e);

/* What its record alone makes of it: class missing. -1: "no-place-known", "no-agent-known". candidate_release in any case. */
int restart_candidate(struct world *w, const struct session *x, struct candidate *c, struct err *e);

/* What detect found of it; NULL: nothing. */
const struct candidate *restart_known(struct world *w, const struct session *x, const struct candidates *all);

#endif
