#ifndef RECORDS_RECORDS_H
#define RECORDS_RECORDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/timestamp.h"
#include "store/store.h"

struct err;
struct record;
struct store;

/* ---- event ---- */

/*
 * What happened, in order. An event is a record event:<seq> (16 decimal digits, from 1, no gaps)
 * of the same commit as the change that it tells of, so that neither is ever there without the
 * other. The record counter:event holds the last number. An event's tag is its kind up to the
 * first dot. Text is ours or clean; never scrollback, environment values or start commands. Each
 * field is cut at 1 KiB. Of a store that several hosts share, it tells its host.
 */
struct event {
	const char *kind;		/* "attempt.captured" */
	const char *subject;		/* id of what it is about */
	const char *session;		/* NULL: none */
	const char *text;		/* a few words, NULL: none */
};

/*
 * Commits the changes together with the event. Its number is read under store_lock; where that
 * holds nobody off, another writer that took the number first is no conflict: then it is tried
 * again with the one after that. Answers as store_commit does.
 */
enum commit event_commit(struct store *s, const struct change *changes, size_t n, const struct event *ev,
    struct err *e);

/* The number of the last event; 0: none yet. -1 with err. */
int event_last(struct store *s, int64_t *seq, struct err *e);

/* When the event with that number happened, ms since 1970. -1 with err, "not-found". */
int event_time(struct store *s, int64_t seq, int64_t *at, struct err *e);

#define EVENT_LOG "events.jsonl"	/* in the state directory */

/*
 * Appends to the file at path (made if missing, 0600) the events that it does not hold yet, one
 * JSON object a line with seq, at (ms since 1970), kind, subject, session, text. Append, then
 * fsync. A torn tail left by a crash is cut off first, back to the last whole line that continues
 * the numbering; what is cut is still in the store and written again. *written (may be NULL):
 * lines appended. Names: "event-log" (the file holds something else, or is ahead of the store),
 * "not-private", "unwritable", "locked", "write". Fault points: "event-append", "event-sync".
 */
int event_export(struct store *s, const char *path, size_t *written, struct err *e);

/*
 * Compares that file with the store, from its first line to its last: line N must be event N, to
 * the byte. Nothing is changed. *lines (may be NULL): how many were compared; fewer than the
 * store has events is no error here, event_export adds them. Names: "event-log" (a line differs,
 * is missing in the store, or the last one is torn; the message says which), "not-found",
 * "not-private".
 */
int event_check(struct store *s, const char *path, size_t *lines, struct err *e);

/*
 * Into a store that was restored from a backup (store_restore): the events that the file at path
 * tells and the store has no more, up to the first line that is torn. A number that neither has
 * gets an event of the kind event.lost. *added: how many; what else was committed with them is
 * lost. A missing file has none. Name "event-log": it is not the log
 * of this store.
 */
int event_restore(struct store *s, const char *path, size_t *added, struct err *e);

/* An event as it was read. Strings live as long as the call that it was handed to. */
struct event_row {
	int64_t seq, at;		/* at: ms since 1970 */
	const char *kind, *subject, *session, *text;	/* the last three may be NULL */
	const char *host;		/* on which it happened; NULL: the store is one machine's alone */
};

/*
 * Calls row for each event with this tag (NULL: any) in order. row answers 0 to go on, anything
 * else ends the walk and is the answer. -1 with err when the store cannot be read.
 */
int event_each(struct store *s, const char *tag, int (*row)(const struct event_row *ev, void *arg), void *arg,
    struct err *e);

/* ---- fleet ---- */

/*
 * The hosts that share a store (base/host.h): the record host:<id>, its tag host, written by that
 * host alone. It tells what its last pass saw of its agents: nobody else can look at its panes.
 * It is no sign that the host lives, but for its age.
 */
struct fleet_host {
	char *id, *name;		/* name: what people call it */
	char boot_id[40];
	/* when its agents were looked at, ms since 1970 by the store's clock; 0: never yet */
	int64_t seen_at;
	json_t *agents;			/* array, as `list --json` has them */
	int64_t left_out;		/* agents that found no room in the record */
};

struct fleet {
	struct fleet_host *v;		/* by id */
	size_t n, cap;
};

/* Makes the record of this host where there is none. A store that is one machine's alone needs none. */
int record_fleet_join(struct store *s, struct err *e);
/* What this host's agents are now; array, lent. No event: it is told at every pass. */
int record_fleet_publish(struct store *s, const json_t *agents, struct err *e);
/* All of them, appended. */
int record_fleet_read(struct store *s, struct fleet *out, struct err *e);
void record_fleet_release(struct fleet *f);

/* The name of a host; its id when nothing more is known, NULL for "" and NULL. */
const char *record_fleet_name(const struct fleet *f, const char *id);

/* ---- integrity ---- */

/*
 * The rules that the records keep among each other, whatever backend holds them:
 *
 * 	events are numbered from 1 without a gap, up to counter:event
 * 	an attempt is in a known phase; an open one has its pane's record, which is open and names it
 * 	an open pane's record names an open attempt of that pane
 * 	a run is in a known state; its session has a record; a claimed, running or stopping one names
 * 	its runner, a pending one none
 * 	a session is in a known state, and its state blob is the one that it tells of (length, SHA-256)
 * 	an open place in the tree has a session that has not ended, and a parent that is open, too;
 * 	nobody is below himself
 *
 * Each commit writes all records that belong together, so that a broken rule means that somebody
 * else wrote, or lost, a part.
 */
struct record_check {
	size_t attempts;
	int64_t events;
	char **faults;			/* sentences, heap; the first RECORD_FAULTS_SHOWN of them */
	size_t n_faults, cap;		/* n_faults counts all */
};
#define RECORD_FAULTS_SHOWN 20

/* -1 with err: the store cannot be read. Release in any case. */
int record_check(struct store *s, struct record_check *out, struct err *e);
void record_check_release(struct record_check *i);

/* ---- key ---- */

/*
 * Keys of records that hold foreign names. They are written as JSON would give them back (bytes
 * that are no UTF-8 replaced, each name cut at 512 bytes), so that a name read from a record
 * finds the same records as the one that made it. Heap.
 */
char *record_key(const char *prefix, const char *a, const char *b);	/* PREFIX a:b */
/* KIND:<pid>.<start>:<id>:<socket>: something of one server process. */
char *record_key_on_server(
    const char *kind, int64_t server_pid, int64_t server_start, const char *id, const char *socket);

#define RECORD_ID_MAX 200

/*
 * Ids that callers choose stand in keys, in lines for people and in scripts: 1 to RECORD_ID_MAX
 * bytes of UTF-8 without blanks, control characters and what cannot be seen. `what` names it in
 * the sentence: "the id of a run". -1: code GT_USAGE, name "id".
 */
int record_check_id(const char *what, const char *id, struct err *e);

/* ---- lock ---- */

/*
 * A lock of the agents' own, such as a slot for tests: the record lock:<name>, its tag held or
 * free. (What keeps our own processes apart are locks of the kernel, base/io.h.) Its owner is a
 * word of the caller's own and, when one was told, a process of this boot:
 *
 * 	with a process          held on this boot for as long as that process lives, whatever the
 * 	lease says; for other boots, containers that
 * 				cannot be seen and other machines, as without one
 * 	without                 held for `lease_ms` after it was last renewed, by the store's clock;
 * 	on one boot by the boot's own
 *
 * A stale one is nobody's: the next who wants it takes it over, and that is told (event
 * lock.taken-over). Acquiring is a commit that expects the version that was read, so that of any
 * number of callers one has it. It is counted in `fence`, also over releases: who shows an older
 * number is refused. A released lock stays as a free record, for its number.
 *
 * Events: lock.acquired, lock.taken-over, lock.released, lock.expired. Renewing is none.
 */
struct lock {
	int64_t version;		/* of the record; 0: there is none */
	bool held;
	char *name, *holder;		/* heap; holder: who has or had it */
	char *host;			/* the machine's name, for people; heap */
	/* set by lock_acquire: whose it was and why that had ended; heap, NULL: nobody's */
	char *taken_from;
	int64_t fence;			/* how many times it was acquired */
	int64_t lease_ms;
	/* pid_start: clock ticks, as in process/proc.h; 0: it told no process */
	int64_t pid, pid_start;
	int64_t acquired_at;		/* ms since 1970 */
	struct timestamp renewed;
};

struct lock_list {
	struct lock *v;
	size_t n, cap;
};

#define LOCK_LEASE_MS ((int64_t)300000)		/* for who tells none */
#define LOCK_LEASE_MAX_MS ((int64_t)86400000)

/* Who wants it, or says that he has it. */
struct lock_holder {
	const char *name, *holder;	/* of the lock; his own word (record_check_id both) */
	int64_t pid;			/* of his process; 0: none */
	int64_t lease_ms;		/* 0: LOCK_LEASE_MS, of one that is renewed as it was */
	int64_t fence;			/* 0: not told, the word suffices */
};

/*
 * In all of them `now` has the store's clock in wall_ms (store_now). Release *out when the answer
 * is not -1.
 */

/*
 * 1 it is his now; 0 it was his before (the same word, and the same process if one was told
 * then), and is renewed. -1: "held" (GT_AGAIN: the sentence says by whom), "gone" (GT_FAIL: there
 * is no such process), "id", "lease" (GT_USAGE).
 */
int lock_acquire(struct store *s, const struct lock_holder *who, const struct timestamp *now,
    struct lock *out, struct err *e);
/*
 * His lease begins anew; a process that is told takes the place of the one before, and on another
 * boot that one is forgotten: from then on it is a lock without a process. Also when the lease
 * had ended, as long as nobody took it; not when the process that had it is gone and no other is
 * told. 0; -1: "not-yours" (GT_REFUSED: another has it, or it was acquired again since his
 * fence), "not-held", "gone" (GT_REFUSED), "not-found" (GT_NOTHING).
 */
int lock_renew(struct store *s, const struct lock_holder *who, const struct timestamp *now, struct lock *out,
    struct err *e);
/* 1 it is free now, 0 it was free already, also when its process is gone; -1: "not-yours", "not-found". */
int lock_unlock(struct store *s, const struct lock_holder *who, const struct timestamp *now, struct lock *out,
    struct err *e);

/* Why a held lock is nobody's any more, a clause; NULL: it is not stale. */
const char *lock_stale_reason(const struct lock *l, const struct timestamp *now);

/*
 * Startup: those that are stale become free. Each is a commit; one that was renewed meanwhile
 * stays. *n: how many.
 */
int lock_unlock_stale(struct store *s, const struct timestamp *now, size_t *n, struct err *e);

/* 1 found, 0 absent, -1. */
int lock_load(struct store *s, const char *name, struct lock *out, struct err *e);
/* Those that are held, or all; appended, by name. */
int lock_list_read(struct store *s, bool all, struct lock_list *out, struct err *e);
void lock_release(struct lock *l);		/* the memory; not the lock */
void lock_list_release(struct lock_list *list);

/* ---- record ---- */

/* What sessions, the tree and messages do alike with their records. */

/*
 * The JSON object of a record whose "schema_version" this program knows (absent: 1). New
 * reference, or NULL with err: "newer" (a later gt-recover wrote it), "corrupt".
 */
json_t *record_object(const struct record *r, int64_t newest, struct err *e);
/* The same as a slice of its value, without a JSON tree: for those of which there are many. 0, or -1. */
int record_slice(const struct record *r, int64_t newest, struct json_slice *out, struct err *e);
/* Refuses a record by the same names; a reader of its own, without a JSON tree. -1. */
int record_reject(const struct record *r, bool newer, struct err *e);
/* The value of a record: o, which is released. Heap. */
char *record_value(json_t *o);

/*
 * Runs a verb that reads, decides and commits: again while another process was faster, so that a
 * conflict reaches nobody but after many lost rounds (name "conflict", GT_AGAIN). 0, or -1 with
 * err.
 */
int record_retry_on_conflict(enum commit (*verb)(struct store *s, void *arg, struct err *e), struct store *s,
    void *arg, struct err *e);

/* ---- stats ---- */

/* What the ledger tells about recoveries: counts by word, and how long they took. */
struct tally {
	char *word;
	size_t n;
};

struct tally_list {
	struct tally *v;		/* the most frequent first, then by word */
	size_t n, cap;
};

struct record_stats {
	/* ms since 1970: attempts that began, refusals that happened at or after it */
	int64_t since;
	size_t attempts, refused;
	/* failures: the sentence (why) */
	struct tally_list phases, classes, reasons, deliveries, failures, refusals;
	size_t recovered_runs;		/* those that were last recovered at or after `since` */
	struct tally_list runs;		/* the same by what they were */
	size_t timed;			/* acknowledged ones whose crash has a time */
	/* from the crash to the acknowledgement, of those; nearest rank, -1 without any */
	int64_t p50_ms, p95_ms;
};

/* All of it. -1 with err; record_stats_release in any case. */
int record_stats_read(struct store *s, int64_t since, struct record_stats *out, struct err *e);
void record_stats_release(struct record_stats *st);

#endif
