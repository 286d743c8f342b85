#ifndef REVIVE_SHOT_H
#define REVIVE_SHOT_H

#include <stddef.h>
#include <stdint.h>

struct candidate;
struct capture;
struct err;
struct scrub;
struct seen_pane;
struct world;

/* One snapshot of a pass (revive/snap.h): from a capture and what is known of its agent to a file. */

struct place;

/* What the shots of a pass share: the directory, and what git said of a working directory. */
struct shooter {
	struct world *w;
	char *dir;			/* of the snapshots */
	struct place *places;
	size_t n_places, cap_places;
	int64_t git_ms;			/* that git took so far: beyond 3 s in a pass its state is left out */
};
void shooter_release(struct shooter *s);

enum shot_end {
	SHOT_WRITTEN,
	SHOT_SAME,			/* it tells what the newest one tells */
	SHOT_KEPT,			/* the pane is empty: the older one stays */
	SHOT_FAILED			/* with err: it could not be written */
};

/* `x` is the pane's state: file, richer and bytes follow what was written. The scrubber has learned the candidate's values. */
enum shot_end shoot(struct shooter *s, const struct candidate *c, struct scrub *scrub, struct capture *capture, struct seen_pane *x,
    struct err *e);

#endif
