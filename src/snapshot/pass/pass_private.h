#ifndef SNAPSHOT_PASS_PASS_PRIVATE_H
#define SNAPSHOT_PASS_PASS_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

struct app;
struct candidate;
struct capture;
struct err;
struct pane_state;
struct place;
struct scrub;

/* One snapshot of a pass: from a capture and what is known of its agent to a file. */

/* What the shots of a pass share: the directory, and what git said of a working directory. */
struct snapshot_writer {
	struct app *w;
	char *dir;			/* of the snapshots */
	struct place *places;
	size_t n_places, cap_places;
	int64_t git_ms;			/* that git took so far: beyond 3 s in a pass its state is left out */
};
void snapshot_writer_release(struct snapshot_writer *s);

enum snapshot_outcome {
	OUTCOME_WRITTEN,
	OUTCOME_SAME,			/* it tells what the newest one tells */
	OUTCOME_KEPT,			/* the pane is empty: the older one stays */
	OUTCOME_FAILED			/* with err: it could not be written */
};

/*
 * `x` is the pane's state: file, richer and bytes follow what was written. The scrubber has
 * learned the candidate's values.
 */
enum snapshot_outcome snapshot_write_pane(struct snapshot_writer *s, const struct candidate *c,
    struct scrub *scrub, struct capture *capture, struct pane_state *x, struct err *e);

#endif
