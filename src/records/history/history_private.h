#ifndef RECORDS_HISTORY_HISTORY_PRIVATE_H
#define RECORDS_HISTORY_HISTORY_PRIVATE_H

#include "base/buf.h"
#include "base/json.h"
#include "records/history/history.h"
#include "records/records_private.h"

#define HISTORY_BATCH 500			/* records a commit */

/* ---- archive ---- */

/* A new file history-TIME-RANDOM.jsonl.gz in the directory, made when the first batch is written. */
struct archive {
	const char *dir;
	char *path;			/* heap; NULL: not made yet */
	int fd;
};

/* Appends lines as one gzip member, and syncs. -1 with err "archive". */
int history_archive_write(struct archive *a, const struct buf *lines, struct err *e);
void history_archive_close(struct archive *a);

/* ---- a sweep ---- */

struct history {
	struct store *s;
	const struct history_limits *limits;
	struct history_report *out;
	struct timestamp now;		/* the store's */
	int64_t before;			/* what ended before it is too old; INT64_MIN: no limit */
	int64_t until;			/* clock_mono_ms, as the next */
	int64_t asked_at;		/* when history_is_late was asked last, or the sweep began */
	int64_t longest;		/* ms between two of them: what the next step may take */
	struct txn t;			/* what leaves with the next commit */
	struct buf lines;		/* the same, for the archive */
	struct archive archive;
	bool conflict;			/* a batch stayed, since another process changed a part of it */
	json_t *open_runs;		/* session ids of runs that are open; NULL: not read yet */
	json_t *counts;			/* kind -> how many left */
};

/* Between two steps: would another one as long as the longest so far end too late? */
bool history_is_late(struct history *h);
/* The record leaves with the next commit. */
void history_take(struct history *h, const struct record *r);
/* The record of that key, if it is there: 1, 0, -1. */
int history_take_key(struct history *h, const char *key, struct err *e);
/* Archives and commits. -1 with err; a conflict is none. */
int history_flush(struct history *h, struct err *e);

/* Each goes on with `state`, an object of its own. 1: time is up; 0 done; -1. */
struct history_kind;
int history_walk(struct history *h, const struct history_kind *k, json_t *state, struct err *e);
int history_sweep_events(struct history *h, json_t *state, struct err *e);

/* Is a look due at n records that may leave? `over` decides beside the time in `state`. */
bool history_is_due(const struct history *h, const json_t *state, size_t n, bool counted);
/* After a look: the oldest that stayed ended at `oldest` (INT64_MAX: none). */
void history_set_next(const struct history *h, json_t *state, int64_t oldest);

/* ---- trees ---- */

/* Agents that stay with their tree, by the hash of their names. */
struct history_hold {
	unsigned char *bits;		/* heap, 1 MiB */
	uint64_t seed;
	bool grown;			/* since somebody set it to false */
};
void history_hold_begin(struct history_hold *d);
void history_hold_release(struct history_hold *d);
bool history_hold_load(struct history_hold *d, const json_t *state);
void history_hold_save(const struct history_hold *d, json_t *state);
void history_hold(struct history_hold *d, const char *agent);
bool history_is_held(const struct history_hold *d, const char *agent);
/* A record of session: or tree:. Its agent is held if it stays; it and the one above hold each other. */
void history_hold_row(struct history_hold *d, const struct record *r, bool stays);
/* `along` of agents. */
int history_take_agent(struct history *h, const struct record *r, struct json_slice o, struct err *e);

/* ---- kinds ---- */

struct history_kind {
	const char *name;
	const char *prefix;
	const char *tags[4];		/* of those that may leave; NULL ends, a first NULL: any */
	const char *times[5];		/* members with the time of its end; the latest in them counts */
	bool counted;			/* `count` limits it, too */
	bool on_server;			/* it stays while its tmux server may run */
	bool by_tree;			/* agents: `along` takes the record, too */
	/* What leaves with it. */
	int (*along)(struct history *h, const struct record *r, struct json_slice o, struct err *e);
};
extern const struct history_kind history_kinds[];	/* ends with a name of NULL */

/* When it ended, ms since 1970; 0: not known; -1: it stays. */
int64_t history_ended_at(const struct history *h, const struct history_kind *k, const struct record *r,
    struct json_slice *o);

#endif
