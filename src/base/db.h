#ifndef BASE_DB_H
#define BASE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct err;

/*
 * SQLite databases: ours, and those of others. Both kinds are opened with the defences that
 * SQLite offers: no extensions, no writable schema, no trusted schema, no double-quoted strings,
 * no ATTACH, values of at most 16 MiB, no memory mapping, extended result codes. All functions
 * answer 0, or -1 with err; results of SQLite are mapped by db_fail.
 */

/*
 * Opens our own database at path for reading and writing. A missing file is made first, empty,
 * 0600, by open(O_EXCL | O_NOFOLLOW); as long as it is empty its directory and the one above are
 * synced; *fresh is set when the file has no content yet. An existing file must be a regular file
 * of this user with one name; rights of others are taken away. journal_mode=TRUNCATE and
 * synchronous=FULL, with the pragmas' answers read back: a commit survives kill -9 and power
 * loss, no -wal and -shm files exist, and SQLite's WAL-reset bug (3.7.0 to 3.51.2) cannot strike.
 * Only the header is read: the caller decides when to run db_check. A file that is no database,
 * or carries another application id than app_id, is refused before SQLite writes a byte.
 *
 * busy, with arg, is SQLite's busy handler from the start; NULL: it waits for 5 s.
 *
 * Names: "unwritable", "not-ours", "corrupt", "network-fs" (locks and fsync cannot be trusted
 * there), "locked".
 */
int db_open_own(const char *path, uint32_t app_id, int (*busy)(void *arg, int count), void *arg,
    sqlite3 **out, bool *fresh, struct err *e);

/*
 * 0 when path, which must exist, is on no network file system (name "network-fs"): db_open_own
 * refuses those.
 */
int db_local(const char *path, struct err *e);

/*
 * Opens a database of ours that may be damaged, to read what is left. No journal is rolled back
 * and nothing is checked or changed. NULL: it cannot be opened.
 */
sqlite3 *db_open_damaged(const char *path);

/*
 * Opens a database that belongs to another program, for reading, so that nothing of theirs
 * changes: no -wal, -shm or -journal appears, disappears or is touched, no byte and no time of
 * change differs afterwards.
 *
 * A rollback-journal database that rests is read in place (mode ro, under SQLite's own shared
 * lock, inside one read transaction). Everything else would make a reader write: WAL databases
 * (-wal, -shm and the read marks inside it), hot journals, and those that a writer holds locked.
 * Of these the database, -journal and -wal are copied to a private directory (0700, below TMPDIR
 * or /tmp), compared with the originals once more until both agree, rolled back or checkpointed
 * there, and unlinked before this function returns: the answer is the last committed state, and
 * no copy outlives it (only a kill in the moment of copying leaves one, readable for its owner).
 * "immutable" is never used: it ignores a WAL and a hot journal. At most 1 GiB. The copy is read
 * with triggers and views of theirs switched off; quick_check has passed; every query stops after
 * 30 s in all. One connection at a time per file: POSIX locks of a process are lost when any
 * descriptor of the file is closed.
 *
 * Names: "not-found", "unreadable", "not-a-file", "not-a-database", "corrupt", "locked"
 * (GT_AGAIN: it never came to rest), "too-large", "timeout", "disk-full" (no room for the copy).
 */
int db_open_foreign(const char *path, sqlite3 **out, struct err *e);

/* The whole file passes SQLite's quick_check, which reads every page of it; or name "corrupt". */
int db_check(sqlite3 *db, struct err *e);
/* The same by integrity_check, which also compares the indexes with their tables. */
int db_check_indexes(sqlite3 *db, struct err *e);

/* Closes; NULL is fine. */
void db_close(sqlite3 *db);

/*
 * Fills e from an SQLite result: "locked" (GT_AGAIN), "corrupt", "not-a-database", "disk-full",
 * "unwritable", "too-large", "timeout", "io", otherwise "sqlite". The message names the file,
 * never its content. -1.
 */
int db_fail(sqlite3 *db, int rc, struct err *e);

int db_exec(sqlite3 *db, const char *sql, struct err *e);
/* NULL with err. Finalize with sqlite3_finalize. */
sqlite3_stmt *db_prepare(sqlite3 *db, const char *sql, struct err *e);
/* The first column of the first row as a number; 0 when there is none. */
int db_number(sqlite3 *db, const char *sql, int64_t *out, struct err *e);
/* True when the table has the column. */
bool db_has_column(sqlite3 *db, const char *table, const char *column);

#endif
