#ifndef REVIVE_UNSEEN_H
#define REVIVE_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "context/parting.h"

struct snapshot;
struct world;

/*
 * What no snapshot tells of an agent whose session is gone: a recovery of ours started it, and it ended before a pass saw it, or before its
 * process could be asked for its conversation. The ledger knows of the start, and the transcript in which the recovery's id stands how it ended.
 */
struct unseen {
	char *id;		/* of the newest attempt that started an agent there; NULL: none is known, and nothing else is set */
	bool later;		/* that was after the snapshot */
	bool answered;		/* the attempt was for what the snapshot shows, and it was acknowledged */
	bool lives;		/* a process is known that goes on with it */
	char *session_id;	/* the conversation in which it was told, or that it began untold; NULL: none is known */
	enum parting parting;	/* of that */
	int64_t began;		/* when the attempt started it, ms since 1970 */
	int64_t alive_at;	/* when it certainly lived, ms since 1970 */
	int64_t server_pid, server_start;	/* where; 0: on the server that ran then */
};

/* Never fails: what the ledger cannot tell is not known. unseen_release. */
void unseen_find(struct world *w, const struct snapshot *h, struct unseen *out);
void unseen_release(struct unseen *u);

#endif
