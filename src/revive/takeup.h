#ifndef REVIVE_TAKEUP_H
#define REVIVE_TAKEUP_H

#include <stdbool.h>

struct candidates;
struct err;
struct recovery;
struct world;

/*
 * What an earlier recoverer left of this crash, the second step of a recovery, under its locks: look first, never deliver twice. Three
 * answers are 0: nothing is open; r->attempt is the attempt that goes on under its id, since nobody was started or told yet; r->taken_up,
 * its agent is on its way (in r->born when a missing session was made again), and only the proof is waited for. An attempt whose agent is
 * dead again, or was started by somebody else, is closed. -1 with err: GT_AGAIN "taken" (somebody else was done with it just now), or
 * what the store says.
 */
int takeup(struct recovery *r, struct err *e);

/*
 * Sets pending[i] for each candidate whose agent an earlier recoverer started while its attempt is still open: a run over
 * all looks after it, although the agent is alive. A store that cannot be read makes none pending; the recoveries tell.
 */
void takeup_pending(struct world *w, const struct candidates *all, bool *pending);

#endif
