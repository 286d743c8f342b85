#ifndef LEDGER_SPOOL_H
#define LEDGER_SPOOL_H

#include <stddef.h>

struct beat;
struct err;
struct store;

/*
 * Where hooks put what they cannot tell the store in time, since it is locked, damaged or far away: a file in the state directory, 0600, a
 * JSON line each (ledger/beat.h), replayed by whoever opens the store next. Its own lock (flock) keeps writers and the replayer apart.
 */
#define SPOOL "spool"
#define SPOOL_MAX ((size_t)16 << 20)	/* bytes; beyond it nothing more is taken ("full"): some 30,000 lines */

/*
 * Appends a line; durable when it answers 0. A torn line of a writer that was killed is ended first, and passed over by the replay. Waits
 * at most wait_ms for another. Names: those of io_lock, "not-private", "full", "write". Fault points: "spool-append", "spool-sync".
 */
int spool_append(const char *path, const struct beat *b, int wait_ms, struct err *e);

/*
 * Notes all lines, each conversation's in one commit (activity_note), and empties the file then: whoever dies between begins again, to the
 * same end. A lock that another holds is left to him: 0. *n (may be NULL): how many beats were noted. -1 with err when the store or the
 * file fails; nothing of the file is lost then. Fault point: "spool-empty".
 */
int spool_replay(struct store *s, const char *path, size_t *n, struct err *e);

#endif
