#ifndef REVIVE_RESCRUB_H
#define REVIVE_RESCRUB_H

#include <stddef.h>

struct gathered;

/*
 * What was gathered once more through its scrubber, if that has found values since it sought only `sought` of them: what the transcript calls
 * by its name stands on the screen, or earlier in the transcript, without one.
 */
void rescrub(struct gathered *g, size_t sought);

#endif
