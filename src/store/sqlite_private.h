#ifndef STORE_SQLITE_PRIVATE_H
#define STORE_SQLITE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/backend.h"
#include "base/db.h"

/* What the files of the SQLite backend share: sqlite.c (the six calls), and its lock, schema and backup. Nobody else includes this. */

#define SQLITE_APP_ID 0x47545243		/* "GTRC" */
#define SQLITE_LOCK_WAIT_MS 10000

enum sqlite_sql {
	SQL_BEGIN, SQL_COMMIT, SQL_GET, SQL_SCAN, SQL_SCAN_TAG, SQL_VERSION, SQL_PUT, SQL_DELETE, SQL_NEXT, SQL_DONE, SQL_FORGET, SQL_COUNT
};

struct sqlite_store {
	struct store base;
	sqlite3 *db;
	sqlite3_stmt *prepared[SQL_COUNT];	/* NULL until the first use */
	char *path;
	char *lock;
	int lock_fd;			/* -1: the lock file is not ours now */
	bool committing;		/* that is written into it */
	bool held;			/* by store_hold: a commit does not give it back */
	int64_t patience;		/* until when the busy handler waits for others; 0: it has not begun */
	int64_t seq;			/* of the last commit of ours */
	bool look;			/* for reading alone */
	bool broken;			/* the disk failed: what this process has cached proves nothing any more */
};

/*
 * Makes the tables and views of a new file, brings those of an older schema up to ours in one transaction, and refuses what is not ours
 * ("not-ours"), of a later schema ("newer") or without one ("corrupt"). Fault points: "store-create", "store-migrate".
 */
int sqlite_schema(struct sqlite_store *s, struct err *e);

/* The lock file that writers queue at, heap. */
char *sqlite_lock_path(const char *path);
/*
 * Takes it, unless it is ours already; what a killed writer left visible and not synced is synced first. sqlite_lock: to commit, which it notes
 * in the file. -1 with err ("locked", or of the disk). settled: the change is synced, or was not made.
 */
int sqlite_enter(struct sqlite_store *s, struct err *e);
int sqlite_lock(struct sqlite_store *s, struct err *e);
void sqlite_leave(struct sqlite_store *s, bool settled);
/* SQLite's busy handler; store: a struct sqlite_store. It may take the lock file: whatever reads ends with sqlite_leave. */
int sqlite_busy(void *store, int count);
/* The same for who is about to read, unless a living writer sees to it. */
int sqlite_sync_left(struct sqlite_store *s, struct err *e);
/* The note alone, for who took the lock file otherwise. -1 with errno. */
int sqlite_mark(int lock, bool committing);

/*
 * After the commit with that number, under the writers' lock: makes the backup when it is due. One that cannot be made leaves the old
 * one, and is tried again when it is due the next time. Fault point: "store-backup".
 */
void sqlite_backup(struct sqlite_store *s, int64_t seq);
bool sqlite_has_backup(const char *path);

/* Says of a damaged file what to do; other errors stay as they are. -1. */
int sqlite_say_damage(const char *path, struct err *e);
/* A fault point speaks in errno; the store answers as SQLite would have done. -1. */
int sqlite_injected(struct sqlite_store *s, struct err *e);

#endif
