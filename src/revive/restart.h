#ifndef REVIVE_RESTART_H
#define REVIVE_RESTART_H

#include <stdbool.h>

struct err;
struct session;
struct world;

/*
 * Brings one suspended agent of the ledger back: in a new tmux session of the recorded name, by its start command, told by templates/restart.md.
 * Where the provider can go on with the recorded conversation (cursor_session_id), and nobody else does, it does.
 *
 * The session is claimed first (session_restore), so that one restart alone starts it; then the agent is started; then its process is noted. The
 * tmux session's name is the second claim: one that is there is never touched. Who dies in between leaves it ACTIVE without a process: the
 * next startup suspends it, finds the pane by the id in its start command (one and the same for an agent on one boot), and notes its process.
 */
enum restarted { RESTARTED, RESTART_FOUND };

/*
 * Answers enum restarted, or -1. Names: the guards' (revive/plan.h), "no-place-known" (its record names no start command, session or workspace: whoever
 * made it brings it back), "no-agent-known", "there" (a session of that name is), those of session_restore and remake.h. Nothing was started then,
 * and the session stays SUSPENDED; but "server-silent": that is for the next startup to find out.
 */
int restart_agent(struct world *w, const struct session *x, struct err *e);

#endif
