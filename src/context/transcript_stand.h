#ifndef CONTEXT_TRANSCRIPT_STAND_H
#define CONTEXT_TRANSCRIPT_STAND_H

#include <stddef.h>

struct err;

/*
 * How a transcript stands on disk: would Claude Code, told to go on with it, read all of it? It follows parentUuid from the last record up to
 * one without a parent, or to the last compaction (seen on 1.0.128 to 2.1.330), and leaves out without a word what it cannot follow. It writes
 * behind the last byte, so that a line that the agent's death tore apart would take the next record with it.
 */
enum stand {
	STAND_WHOLE,
	STAND_EMPTY,		/* no answer of the model in it: nothing to go on with */
	STAND_TORN,		/* a line that is no JSON, or the last one has no newline */
	STAND_BROKEN,		/* a record names a parent that is nowhere, or a compaction has no summary */
	STAND_FOREIGN,		/* its last records are of another session than its name says, or it is no file of this user's */
	STAND_LARGE		/* it certainly holds more than was asked for; not read to its beginning */
};

struct standing {
	enum stand stand;
	/* What the model is sent again since the last compaction: bytes of the messages as the file writes them, a picture as 6,400 of them. */
	size_t bytes;
	size_t charged;		/* tokens that its last answer was counted with, input and output; 0: not told */
};

/*
 * Reads from the end, in flat memory but for a hundred bytes a record; no further when there are many more than `enough` bytes. -1: the file cannot
 * be read.
 */
int transcript_stand(const char *path, const char *session_id, size_t enough, struct standing *out, struct err *e);

#endif
