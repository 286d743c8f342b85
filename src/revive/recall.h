#ifndef REVIVE_RECALL_H
#define REVIVE_RECALL_H

#include <stdbool.h>

#include "context/snapshot.h"

struct candidate;
struct candidates;
struct clean_text;
struct conversation;
struct err;
struct scrub;
struct world;

/*
 * What the snapshots remember of a candidate. Its own is the one by which it was found (candidate.snapshot), else the newest of the same pane of the same life of the server, while the same process
 * was the pane's. Where there is none, the newest of a session of this name on this socket, of an older life of the server and not newer
 * than the death.
 */
struct recall {
	bool found;
	bool own;			/* of this very process: what it says of it holds */
	struct snapshot shot, richer;	/* richer: session NULL when there is none */
};

/* out need not be initialised. 0 also when there is none; -1: the directory or the newest one cannot be read, out is empty. */
int recall(struct world *w, const struct candidate *c, struct scrub *s, struct recall *out, struct err *e);
void recall_release(struct recall *r);

/*
 * Does it have what the others lack? Pure. Of its own: its text does not stand in the pane any more (cut, cleared, wiped, or drawn on the
 * alternate screen), and the transcript was not read, or is cut, or has nothing newer. Of an older life: nothing else is there at all.
 */
bool recall_adds(const struct recall *r, const struct clean_text *pane, const struct conversation *screen,
    const struct conversation *record);
/* Its rows as a conversation, the richer one's before it. */
void recall_read(const struct recall *r, const char *dialect, struct conversation *out);

/* Sets snapshot_lines of the crashed ones. What cannot be read counts as none. */
void recall_lines(struct world *w, struct candidates *list);

#endif
