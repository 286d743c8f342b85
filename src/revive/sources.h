#ifndef REVIVE_SOURCES_H
#define REVIVE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "context/transcript_find.h"

struct candidate;
struct conversation;
struct err;
struct scrub;
struct world;

/*
 * Which transcript is this candidate's: collects what is known of its process (its own record, its start command, notes of Gas Town, what
 * its screen shows) for transcript_find. Reads only. Do it before a respawn: the next start of an agent removes the records of dead ones.
 * `seen` may be NULL, and everything in it; `snapshot_id` is the session that a snapshot of this process names, NULL: none. FOUND_NONE for agents whose transcripts we cannot read. -1: a folder cannot be read.
 */
struct sources_seen {
	const struct conversation *screen;
	const char *text;		/* the same as it is, for agents whose screen is not read; NULL: none */
	struct scrub *scrub;
};
int sources_transcript(struct world *w, const struct candidate *c, const struct sources_seen *seen, const char *snapshot_id,
    struct transcript_found *out, struct err *e);

/* True while a background server of the agent (codex) goes on with a conversation that can be this candidate's: not dead, then. */
bool sources_works_on(const struct candidate *c);

/*
 * What the agent is to be told when the transcript is not certain, or nobody can read what it keeps, heap; NULL: nothing. "2 transcripts could
 * be this session's, …".
 */
char *sources_warning(const struct candidate *c, const struct transcript_found *f);

#endif
