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
 * What happened, in order. An event is a record event:<seq> (16 decimal digits, from 1, no gaps) in
 * the commit of the change that it reports, so neither exists without the other. counter:event holds
 * the last number, and the first that has not left (records/history/history.h). An event's tag is its
 * kind up to the first dot. Text is ours or clean; never scrollback, environment values or start
 * commands. Each field is cut at 1 KiB. In a store that several hosts share it names its host.
 */
struct event {
	const char *kind;		/* "attempt.captured" */
	const char *subject;		/* id of what it is about */
	const char *session;		/* NULL: none */
	const char *text;		/* a few words, NULL: none */
	const char *socket;		/* path of the tmux socket of the session, NULL: none or not told */
};

/*
 * Commits the changes together with the event; answers as store_commit. Another writer that took the
 * event's number first is no conflict: the commit is repeated with the next number.
 */
enum commit event_commit(struct store *s, const struct change *changes, size_t n, const struct event *ev,
    struct err *e);

/* The number of the last event; 0: none yet. -1 with err. */
int event_last(struct store *s, int64_t *seq, struct err *e);

struct event_numbers {
	int64_t first, last;		/* first: last + 1 when all have left */
	int64_t log;			/* the log file may begin with an event up to this one */
	int64_t version;		/* of the record */
};
int event_numbers_read(struct store *s, struct event_numbers *n, struct err *e);

/* When the event with that number happened, ms since 1970. -1 with err, "not-found". */
int event_time(struct store *s, int64_t seq, int64_t *at, struct err *e);

#define EVENT_LOG "events.jsonl"	/* in the state directory */

/*
 * Appends to the file at path (made if missing, 0600) the events that it does not hold yet, one JSON
 * object a line with seq, at (ms since 1970), kind, subject, session, text, and syncs it. A tail torn
 * by a crash is first cut back to the last whole line that continues the numbering; the store still
 * has what is cut. *written (may be NULL): lines appended. Names: "event-log" (the file holds
 * something else, or is ahead of the store), "not-private", "unwritable", "locked", "write". Fault
 * points: "event-append", "event-sync".
 */
int event_export(struct store *s, const char *path, size_t *written, struct err *e);

/*
 * Compares that file with the store: each line is the next event, to the byte. Of lines before the
 * store's first event only the numbers are compared. A file that is behind the store is no error,
 * event_export adds the rest. Names: "event-log" (a line differs, is not in the store, or is torn;
 * the message says which; or lines are missing at its beginning), "not-found", "not-private".
 */
struct event_log_state {
	size_t lines;			/* all of them */
	size_t left;			/* of those: whose events have left the store */
	int64_t last;			/* number of the last one; 0: it is empty */
};
int event_check(struct store *s, const char *path, struct event_log_state *out, struct err *e);

/*
 * Adds to a store that was restored from a backup (store_restore) the events of the file at path that
 * the store has no more, up to the first torn line. A number that neither has gets an event of the
 * kind event.lost. *added: how many; what else was committed with them is lost. A missing file has
 * none. "event-log": it is not the log of this store.
 */
int event_restore(struct store *s, const char *path, size_t *added, struct err *e);

/* An event as it was read. Strings live during the call. */
struct event_row {
	int64_t seq, at;		/* at: ms since 1970 */
	const char *kind, *subject, *session, *text;	/* the last three may be NULL */
	const char *host;		/* on which it happened; NULL: the store is one machine's alone */
	const char *socket;		/* path of the tmux socket of its session; NULL: not told */
};

/*
 * Calls row for each event with this tag (NULL: any) in order. An answer other than 0 ends the walk
 * and is returned. -1 with err: the store cannot be read.
 */
int event_each(struct store *s, const char *tag, int (*row)(const struct event_row *ev, void *arg), void *arg,
    struct err *e);

/* ---- fleet ---- */

/*
 * The hosts that share a store (base/host.h): the record host:<id>, its tag host, written by that
 * host alone, holds what its last pass saw of its agents. Its age is the only sign of life.
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
 * The rules between records, in any backend:
 *
 * 	events are numbered without a gap, from the first to the last number of counter:event
 * 	an attempt is in a known phase; an open one has its pane's record, which is open and names it
 * 	an open pane's record names an open attempt of that pane
 * 	a run is in a known state; its session has a record; a claimed, running or stopping one names
 * 	its runner, a pending one none
 * 	a session is in a known state, and its state blob is the one that it tells of (length, SHA-256)
 * 	an open place in the tree has a session that has not ended, and an open parent; no agent is
 * 	below itself
 *
 * Each commit writes all records that belong together: a broken rule means that something else
 * wrote, or lost, a part.
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
 * Keys with foreign names. These are written as JSON gives them back (bytes that are no UTF-8
 * replaced, each name cut at 512 bytes), so a name read from a record finds the same records. Heap.
 */
char *record_key(const char *prefix, const char *a, const char *b);	/* PREFIX a:b */
/* KIND:<pid>.<start>:<id>:<socket>: something of one server process. */
char *record_key_on_server(
    const char *kind, int64_t server_pid, int64_t server_start, const char *id, const char *socket);

#define RECORD_ID_MAX 200

/*
 * Ids that callers choose: 1 to RECORD_ID_MAX bytes of UTF-8 without blanks, control and invisible
 * characters. `what` names it in the sentence: "the id of a run". -1: "id", GT_USAGE.
 */
int record_check_id(const char *what, const char *id, struct err *e);

/* ---- lock ---- */

/*
 * A lock that agents use among themselves, such as a slot for tests: the record lock:<name>, its tag
 * held or free. (Our own processes use kernel locks, base/io.h.) Its holder is a word of the caller's
 * and, if the caller gave one, a process of this boot:
 *
 * 	with a process	held on this boot while that process lives, regardless of the lease; on other
 * 			boots, hosts and in unseen containers as without one
 * 	without		held for `lease_ms` after the last renewal, by the store's clock, on one boot by
 * 			the boot's own
 *
 * A stale lock goes to the next caller (event lock.taken-over). Acquiring expects the version that
 * was read, so of any number of callers one gets it. `fence` counts this, also over releases: an
 * older number is refused. A released lock stays as a free record, for its number.
 *
 * Events: lock.acquired, lock.taken-over, lock.released, lock.expired. Renewing has none.
 */
struct lock {
	int64_t version;		/* of the record; 0: there is none */
	bool held;
	char *name, *holder;		/* heap; holder: who has or had it */
	char *host;			/* the machine's name, for people; heap */
	char *taken_from;		/* by lock_acquire: who had it, and why that ended; heap or NULL */
	int64_t fence;			/* how many times it was acquired */
	int64_t lease_ms;
	int64_t pid, pid_start;		/* clock ticks, as in process/proc.h; 0: no process is known */
	int64_t acquired_at;		/* ms since 1970 */
	struct timestamp renewed;
};

struct lock_list {
	struct lock *v;
	size_t n, cap;
};

#define LOCK_LEASE_MS ((int64_t)300000)		/* when none is given */
#define LOCK_LEASE_MAX_MS ((int64_t)86400000)

/* Who wants it, or has it. */
struct lock_holder {
	const char *name, *holder;	/* of the lock; the caller's word (record_check_id both) */
	int64_t pid;			/* of the holder's process; 0: none */
	int64_t lease_ms;		/* 0: LOCK_LEASE_MS, of a renewal as before */
	int64_t fence;			/* 0: not given, the word suffices */
};

/* In all of them `now` has the store's clock in wall_ms (store_now). Release *out unless -1. */

/*
 * 1 acquired; 0 the caller had it before (the same word, and the same process if there was one), and
 * it is renewed. -1: "held" (GT_AGAIN: the sentence says by whom), "gone" (GT_FAIL: there is no such
 * process), "id", "lease" (GT_USAGE).
 */
int lock_acquire(struct store *s, const struct lock_holder *who, const struct timestamp *now,
    struct lock *out, struct err *e);
/*
 * The lease begins anew. A given process replaces the one before; on another boot that one is
 * dropped, and the lock has no process. Also after the lease ended, while nobody took the lock; not
 * when its process is gone and no other is given. 0; -1: "not-yours" (GT_REFUSED: another has it, or
 * it was acquired again since the fence), "not-held", "gone" (GT_REFUSED), "not-found" (GT_NOTHING).
 */
int lock_renew(struct store *s, const struct lock_holder *who, const struct timestamp *now, struct lock *out,
    struct err *e);
/* 1 it is free now, 0 it was free already, also when its process is gone; -1: "not-yours", "not-found". */
int lock_unlock(struct store *s, const struct lock_holder *who, const struct timestamp *now, struct lock *out,
    struct err *e);

/* Why a held lock is stale, a clause; NULL: it is not. */
const char *lock_stale_reason(const struct lock *l, const struct timestamp *now);

/* Startup: stale ones become free, each in a commit; one that was renewed meanwhile stays. *n: how many. */
int lock_unlock_stale(struct store *s, const struct timestamp *now, size_t *n, struct err *e);

/* 1 found, 0 absent, -1. */
int lock_load(struct store *s, const char *name, struct lock *out, struct err *e);
/* Those that are held, or all; appended, by name. */
int lock_list_read(struct store *s, bool all, struct lock_list *out, struct err *e);
void lock_release(struct lock *l);		/* the memory; not the lock */
void lock_list_release(struct lock_list *list);

/* ---- record ---- */

/*
 * The JSON object of a record whose "schema_version" this program knows (absent: 1), and whose tag
 * this is (NULL: any). New reference, or NULL with err: "newer" (a later gt-recover wrote it), "corrupt".
 */
json_t *record_object(const struct record *r, const char *tag, int64_t newest, struct err *e);
/*
 * Compares the tag that a record is indexed under with the one that its value gives. A checksum holds
 * for both together, so it cannot tell that they do not fit. -1 with err, "corrupt".
 */
int record_check_tag(const struct record *r, const char *tag, struct err *e);
/* The value of a record: o, which is released. Heap. */
char *record_value(json_t *o);

/* Replaces a heap text by a copy; NULL clears it. */
void record_set(char **field, const char *value);

/* ---- txn ---- */

/*
 * A commit while it is put together: the changes, the event, and all their strings. A new one is
 * { .s = store }. Keys and values that are handed over are heap and its own from then on.
 */
struct record_type;
struct txn {
	struct store *s;
	struct change *v;
	size_t n, cap;
	struct event event;		/* kind NULL: none */
	char **own;
	size_t n_own, cap_own;
};

/* The record as the struct has it, expecting the version that the struct was read with. */
void txn_put(struct txn *t, const struct record_type *type, const void *x);
void txn_write(struct txn *t, char *key, int64_t expect, const char *tag, char *value);
void txn_check(struct txn *t, char *key, int64_t expect);
void txn_delete(struct txn *t, char *key, int64_t expect);
/* Its one event; all but kind may be NULL. Copied. */
void txn_event(struct txn *t, const char *kind, const char *subject, const char *session, const char *text);
void txn_event_on(struct txn *t, const char *socket);	/* of that tmux server; NULL: not known */

/* Commits (nothing to commit: done), answers as store_commit, and empties it. */
enum commit txn_commit(struct txn *t, struct err *e);
void txn_release(struct txn *t);

/*
 * Runs a verb that reads, decides and fills a transaction (0; -1 with err: nothing is committed),
 * and commits it: again while another process was faster, so that a conflict reaches nobody but
 * after many lost rounds (name "conflict", GT_AGAIN). 0, or -1 with err.
 */
int txn_run(struct store *s, int (*verb)(struct txn *t, void *arg, struct err *e), void *arg, struct err *e);

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
	struct tally_list phases, classes, reasons, deliveries, failures, refusals;	/* failures: why */
	size_t recovered_runs;		/* those that were last recovered at or after `since` */
	struct tally_list runs;		/* the same by what they were */
	size_t timed;			/* acknowledged ones whose crash has a time */
	/* from the crash to the acknowledgement, of those; nearest rank, -1 without any */
	int64_t p50_ms, p95_ms;
};

/* Paths of tmux sockets; none, or NULL: any. */
struct record_sockets {
	char **v;
	size_t n;
};

/*
 * All of it; of recoveries and refusals only those on the tmux servers with these sockets, and where
 * any is meant, also the runs. -1 with err; record_stats_release in any case.
 */
int record_stats_read(struct store *s, int64_t since, const struct record_sockets *sockets,
    struct record_stats *out, struct err *e);
bool record_socket_is_asked(const struct record_sockets *sockets, const char *socket);
void record_stats_release(struct record_stats *st);

#endif
