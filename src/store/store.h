#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct store;
struct timestamp;

/*
 * The seam for state: eight calls and their helpers, two backends (SQLite, Redis). A record is key
 * -> (version, tag, JSON text). The tag is one indexed word, the record's state, so that a scan
 * touches only what is open. store_commit applies all changes or none, and returns done only when
 * they are durable. The version is the fence: a claim is a commit that expects the version it
 * read. A PUT raises the version of a record by one; a new record gets one that the key never had
 * before, also after a deletion (read it back with store_get).
 */

struct record {
	char *key;
	int64_t version;		/* >= 1; 0: there is no such record */
	char *tag;
	char *value;			/* JSON text, <= STORE_MAX_VALUE */
};

struct records {
	struct record *v;
	size_t n, cap;
};

#define STORE_MAX_VALUE ((size_t)4 << 20)
#define STORE_ANY ((int64_t)-1)		/* as an expected version: whatever is there */
#define STORE_ABSENT ((int64_t)0)	/* as an expected version: there must be no record */
/* as an expected version: another program's text, which store_foreign_get found; a copy of it is kept */
#define STORE_ADOPT ((int64_t)-2)

enum change_kind { CHANGE_PUT, CHANGE_DELETE, CHANGE_CHECK };

struct change {
	enum change_kind kind;
	const char *key;
	int64_t expect;
	const char *tag;		/* PUT */
	const char *value;		/* PUT */
};

enum commit { COMMIT_DONE, COMMIT_CONFLICT, COMMIT_UNKNOWN, COMMIT_ERROR };

/*
 * url: "sqlite" or "sqlite:PATH" or a path, or one of Redis (below); `dir` is the state directory
 * (0700, absolute) that a bare "sqlite" lives in, as recover.db, and that a relative PATH starts
 * from. Writers lock recover.lock beside the file. The whole file is checked (integrity_check,
 * checksums, tallies) when it is not as the last clean commit left it, after a reboot, and once a
 * day (store/sqlite_seal.c). A store of an older schema is converted, after a copy of it. NULL
 * with err: "state" (url), "corrupt" (with the path and what to do), "newer" (schema of a later
 * version), "unwritable", "not-ours", "locked".
 *
 * Redis: "redis://[USER@]HOST[:PORT][/DB]" or "redis+unix:///PATH/TO/SOCKET[?db=DB]", both with
 * ?password_file=FILE (ours alone; relative: to dir) or else the password in the environment
 * variable GT_RECOVER_REDIS_PASSWORD (store_take_password). Refused are a server that could lose
 * what it confirmed ("not-durable": it must say appendonly yes, appendfsync always,
 * no-appendfsync-on-rewrite no, maxmemory-policy noeviction; no replica, no cluster), one that is
 * not there ("store-down", GT_AGAIN), one that lets us not in ("auth"), and one that another
 * machine uses as the same host ("other-machine": processes are known by pid and boot, so that
 * here each agent of there would look dead). Refused until somebody accepts it is one that took over
 * from another server, or lacks this host's last commit ("failed-over", store/redis_failover.c), or has
 * nothing of this host's store ("emptied"); then no version of before holds. Who opens it for reading
 * alone is let in, but where there is nothing. A commit never writes over another program's key
 * ("not-ours").
 *
 * Several hosts may share a Redis store. Who opens one speaks for host_id(), or, where that is
 * "", for this machine from then on (host_set). Records about panes and tmux servers are that
 * host's own (store/store_private.h), all others are everybody's and tell of their host themselves.
 */
struct store *store_open(const char *url, const char *dir, struct err *e);
/*
 * The same for a caller with a time limit, such as a hook: no work that grows with the store. It never
 * checks the whole file, its commits leave the backup of a store over 1 MiB to other commands, and
 * an older schema is left to them, too ("older", GT_AGAIN).
 */
struct store *store_open_brief(const char *url, const char *dir, struct err *e);
/*
 * The same for reading alone, so that nothing changes on disk and no file is made: its state at this
 * moment, the whole file checked. Damage that it finds is noted in recover.lock: the next
 * store_open checks, too. A commit answers COMMIT_ERROR (name "read-only"). A writer waits meanwhile:
 * close it soon. Also "not-found".
 */
struct store *store_open_readonly(const char *url, const char *dir, struct err *e);
void store_close(struct store *s);

/*
 * Takes the password out of the environment, for store_open; to be called before there is a child
 * that would get it.
 */
void store_take_password(void);
/* Is it a URL of Redis, whatever else is wrong with it? */
bool store_is_redis(const char *url);

/*
 * For a store that store_open refused as "corrupt" (damaged, or gone while its backup is there).
 * The damaged file is copied aside. A new file takes its place, at once or not at all: a copy of
 * the newest backup that is sound, and over it each sound record of the damaged file that is
 * newer. A record of the backup that was deleted since comes back only where the damaged file
 * cannot prove the deletion. Every version leaps, so that no fence of before holds, and a process
 * that still has the damaged file open can commit nothing ("replaced"). Events that are lost may
 * be in the event log (records/records.h, event_restore). For a Redis store, which keeps its files
 * itself: "elsewhere", as from store_backup_info. 1 done; 0 it is not damaged (any more); -1 with
 * err, "corrupt" when there is no backup. Fault point: "store-mend".
 */
struct store_restored {
	char aside[4200];		/* where the damaged file is */
	int64_t backup_at;		/* when the backup was made, ms since 1970 */
	size_t kept;			/* records that were sound in the damaged file */
	size_t restored;		/* those that came from the backup alone */
	size_t lost;			/* those that neither has */
	char names[512];		/* keys of lost ones, ", " between them; as many as fit */
};
int store_restore(const char *url, const char *dir, struct store_restored *out, struct err *e);

/* Removes the oldest copies of damaged stores (store_restore) but `keep`. How many. */
size_t store_prune_damaged(const char *url, const char *dir, size_t keep);

/*
 * Before a pass that ends or suspends somebody: checks the whole store unless that was done since
 * its last unclean end, and waits for writers. -1 with err, "corrupt" above all.
 */
int store_check(struct store *s, struct err *e);

/*
 * Did a store of this process meet damage that was not mended since? Then *e is the first error
 * of the kind. A command that could answer all the same has answered with less than there was.
 */
bool store_met_damage(struct err *e);

/*
 * The newest backup. `late`: it is so much older than the last commit that one of the commits
 * since should have made another; commits do not fail of that. 1; 0 there is none; -1 with err,
 * "corrupt": it is damaged. For reading alone.
 */
struct store_backup {
	int64_t at;			/* when it was made, ms since 1970 */
	bool late;
};
int store_backup_info(const char *url, const char *dir, struct store_backup *out, struct err *e);

/* The host whose own records are seen; "": the store is one machine's alone. */
const char *store_host(const struct store *s);

/*
 * A store over another one, which it takes over, and leaves as it is: what is committed is seen
 * by this one alone, in memory, and gone with it. For what would be done. That no other process
 * changes what lies under it meanwhile is not promised.
 */
struct store *store_overlay(struct store *under);

/* The store's clock, ms since 1970: Redis's own, so that leases are the same for all who share it. */
int64_t store_now(struct store *s);
/* This moment, its wall clock being the store's. s may be NULL. */
void store_timestamp(struct store *s, struct timestamp *m);

/* 1 found, 0 absent, -1 err: "corrupt" when its checksum or its index does not hold. */
int store_get(struct store *s, const char *key, struct record *out, struct err *e);

/*
 * Records whose key starts with prefix, in key order, after the key `after` (NULL: from the
 * start), with this tag (NULL: any), at most limit (0: 1000). A scan that read a whole kind (its
 * prefix is KIND:) compares their number and checksums with the tally; "corrupt" when a record is
 * missing.
 */
int store_scan(struct store *s, const char *prefix, const char *tag, const char *after, size_t limit,
    struct records *out, struct err *e);

/*
 * All of them, in key order, a page at a time, so that any number of them costs bounded memory.
 * `row` may read the store, but not change what is scanned, and keeps nothing of the record. A
 * value other than 0 ends it and is returned; -1 with err when the store fails.
 */
int store_each(struct store *s, const char *prefix, const char *tag,
    int (*row)(const struct record *r, void *arg, struct err *e), void *arg, struct err *e);

/* How many records there are with that kind (prefix KIND:) and tag (NULL: any), by the tally alone. */
int store_count(struct store *s, const char *prefix, const char *tag, size_t *n, struct err *e);

/* Bytes of its file, and of those free for new records. 0 of a Redis store, which keeps its files itself. */
struct store_size {
	int64_t bytes, free;
};
int store_size_read(struct store *s, struct store_size *out, struct err *e);
/*
 * Gives free pages of the file back to the file system once they are more than a twentieth, some at
 * a time until `until` (clock_mono_ms). A file that an older gt-recover made is written anew, once.
 */
int store_shrink(struct store *s, int64_t until, struct err *e);

/*
 * err is filled for CONFLICT (name "conflict", which key), UNKNOWN and ERROR. A key may stand in
 * a commit once. UNKNOWN: the change was written but its durability could not be confirmed;
 * ERROR: it was not made, for certain. After either one by a failing disk the store answers every
 * further call with an error (name "io"): what the process has cached proves nothing any more.
 * Fault points: "store-create", "store-migrate", "store-commit", "store-committed",
 * "store-backup". "replaced" (GT_AGAIN): see store_restore; Redis's data was flushed, or is
 * another's. Of Redis, UNKNOWN means that the connection broke and for 10 s no other one could
 * tell by the id of the commit whether it was made; the next call connects again. Where another
 * one can tell, the answer is certain, and a commit that got lost is sent again.
 */
enum commit store_commit(struct store *s, const struct change *changes, size_t n, struct err *e);

/*
 * For a verb that reads and commits at once what follows from it: no other process commits until
 * store_unlock, where the backend can promise that (Redis cannot), and so the commit is no
 * conflict. A help, no fence: the change still names the version that was read. Short, never
 * twice at a time, and without a fork: the child would hold it on. -1 with err: "locked".
 */
int store_lock(struct store *s, struct err *e);
void store_unlock(struct store *s);

/*
 * Calls `found` for each key "PREFIX…SUFFIX" (plain words) at which another program keeps a text,
 * where a record of ours would stand: no other call sees it. A key may be told twice while
 * somebody writes. Looks through all keys of Redis's database, a thousand at a time; in SQLite
 * there are none.
 */
int store_foreign_keys(struct store *s, const char *prefix, const char *suffix,
    void (*found)(const char *key, void *arg), void *arg, struct err *e);
/*
 * Appends the text that another program keeps at the key. A commit that expects STORE_ADOPT there
 * first copies it to the hash gt-recover:adopted. 1 found, 0 there is none, -1 err ("too-large":
 * more than STORE_MAX_VALUE).
 */
int store_foreign_get(struct store *s, const char *key, struct buf *out, struct err *e);

void store_record_release(struct record *r);
void store_records_release(struct records *r);

#endif
