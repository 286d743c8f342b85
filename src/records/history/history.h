#ifndef RECORDS_HISTORY_HISTORY_H
#define RECORDS_HISTORY_HISTORY_H

#include "records/records.h"

/* ---- history ---- */

/*
 * What is over leaves the store: finished runs and their sessions, ended sessions of agents with their
 * trees (when no member is open), delivered messages, finished attempts, crash records and agents seen
 * on tmux servers that are gone, and events. What is open never does.
 *
 * A record leaves when it ended longer ago than `age_ms`, or when `count` of its kind ended after it.
 * Events leave in the order of their numbers, from the first on; counter:event says which is the first.
 *
 * A sweep deletes 500 records a commit until `budget_ms` have passed. Where it stopped is kept in
 * the file `state`, and the next one goes on from there; without the file it begins anew, to the same
 * end. A kind of which nothing can be due costs one look at its tally. What another process changed
 * meanwhile stays.
 */
struct history_limits {
	int64_t age_ms, count;		/* 0: no limit */
	int64_t crashes_ms;		/* restarts of a session count for so long at least */
	int64_t budget_ms;
	const char *state;		/* path of the file */
	const char *log;		/* path of the event log: no event leaves before it is in there */
	const char *archive;		/* directory; NULL: what leaves is gone */
};

struct history_report {
	size_t left;			/* records, events included */
	size_t events;
	bool backlog;			/* time is up, and more is to leave */
};

/*
 * -1 with err: the store, the archive ("archive") or the event log failed; *out tells what left all the
 * same. One event, history.left, when something but events did. Fault points: "history-archive",
 * "history-archived".
 */
int history_sweep(
    struct store *s, const struct history_limits *limits, struct history_report *out, struct err *e);

/* The oldest note of the store's size, made once a day in `state`. False: there is none. */
struct history_growth {
	int64_t at, bytes;
};
bool history_growth_read(const char *state, struct history_growth *out);

/*
 * Rewrites an event log of more than `most` bytes with its newer half, whole lines. 1 done, 0 it is
 * smaller, -1.
 */
int history_trim_log(struct store *s, const char *path, int64_t most, struct err *e);

#endif
