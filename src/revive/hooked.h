#ifndef REVIVE_HOOKED_H
#define REVIVE_HOOKED_H

struct candidates;
struct memory;

/*
 * Polecats of the town that have work on their hook, a directory, and no session: class `missing` where no snapshot tells of them (fact gas-town
 * 0.1: gt keeps no dead pane, so that this is what a crash looks like in a stock town). The conversation is the last one that the town's log
 * names (town/starts.h). Only `gt session start`, or a command of gt.toml, can bring such a one back.
 *
 * Appended to out, which must hold everything else. Nothing is concluded when a tmux server of the world was not told of to memory_saw.
 * The beads are asked, at most once for a polecat without a session; what cannot be read is no hooked work.
 */
void hooked_missing(struct memory *m, struct candidates *out);

#endif
