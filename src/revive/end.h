#ifndef REVIVE_END_H
#define REVIVE_END_H

#include "revive/detect.h"

struct world;

/*
 * Why the process of a dead pane ended, by what tmux kept of it: killed, oom, exited, stopped or unknown. `oom` only when the kernel's log
 * names this process or the agent that the pane's shell ran (agent/oom.h), and the end was by signal 9, or by a shell that tells of one.
 */
enum reason end_reason(struct world *w, const struct candidate *c);

#endif
