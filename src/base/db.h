#ifndef BASE_DB_H
#define BASE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct err;

/*
 * SQLite databases, ours and others': no extensions, no writable or trusted schema, no
 * double-quoted strings, no ATTACH, values of at most 16 MiB, no memory mapping, extended result
 * codes. Functions return 0, or -1 with err by db_fail.
 */

/*
 * Opens our database for reading and writing. A missing file is made empty, 0600, by open(O_EXCL |
 * O_NOFOLLOW); while it is empty its directory and the one above are synced, and *fresh is set. It
 * must be a regular file of this user with one name; rights of others are removed.
 * journal_mode=TRUNCATE and synchronous=FULL, read back: a commit survives kill -9 and power loss,
 * no -wal and -shm files exist, SQLite's WAL-reset bug (3.7.0 to 3.51.2) cannot strike. Only the
 * header is read (see db_check). A file that is no database, or has another application id, is
 * refused before SQLite writes a byte.
 *
 * busy, with arg: SQLite's busy handler; NULL: waits 5 s. Names: "unwritable", "not-ours",
 * "corrupt", "network-fs" (no trustworthy locks and fsync), "locked".
 */
int db_open_own(const char *path, uint32_t app_id, int (*busy)(void *arg, int count), void *arg,
    sqlite3 **out, bool *fresh, struct err *e);
/*
 * The same of a file whose schema is known. SQLite parses the whole schema at the first statement of
 * each connection, views too. A view that begins with a comment of DB_UNPARSED bytes is left out
 * here, and does not exist for this connection: other programs use it. Only where the header has
 * that user_version; else all is parsed.
 */
#define DB_UNPARSED 256
struct db_layout {
	uint32_t version;		/* user_version */
	const char *tables[4];		/* that must be there, up to NULL */
};
int db_open_known(const char *path, uint32_t app_id, const struct db_layout *known,
    int (*busy)(void *arg, int count), void *arg, sqlite3 **out, bool *fresh, struct err *e);

/* -1, name "network-fs": path, which must exist, is on a network file system. */
int db_local(const char *path, struct err *e);

/*
 * Opens a database of ours that may be damaged, to read what is left. No journal is rolled back
 * and nothing is checked or changed. NULL: it cannot be opened.
 */
sqlite3 *db_open_damaged(const char *path);

/*
 * Opens another program's database for reading, and changes nothing of theirs: no -wal, -shm or
 * -journal appears, disappears or is touched, no byte and no mtime differs.
 *
 * A rollback-journal database at rest is read in place (mode ro, SQLite's shared lock, one read
 * transaction). WAL databases, hot journals and locked ones would make a reader write: the
 * database, -journal and -wal are copied to a private directory (0700, below TMPDIR or /tmp) until
 * copy and originals agree, rolled back or checkpointed there, and unlinked before this returns:
 * the last committed state. A kill while copying leaves a copy, readable for its owner, until the
 * next process that copies removes it. "immutable" is not used: it ignores a WAL and a hot journal.
 * At most 1 GiB. Triggers, views and virtual tables are off; quick_check has passed; queries stop
 * after 30 s in all. One connection at a time per file: closing any descriptor of it drops a
 * process's POSIX locks.
 *
 * Names: "not-found", "unreadable", "not-a-file", "not-a-database", "corrupt", "locked" (GT_AGAIN:
 * never at rest), "too-large", "timeout", "disk-full" (no room for the copy).
 */
int db_open_foreign(const char *path, sqlite3 **out, struct err *e);

/* quick_check, which reads every page; or name "corrupt". */
int db_check(sqlite3 *db, struct err *e);
/* The same by integrity_check, which also compares the indexes with their tables. */
int db_check_indexes(sqlite3 *db, struct err *e);

/* NULL is fine. */
void db_close(sqlite3 *db);

/*
 * -1, e from an SQLite result: "locked" (GT_AGAIN), "corrupt", "not-a-database", "disk-full",
 * "unwritable", "too-large", "timeout", "io", else "sqlite". Names the file, never its content.
 */
int db_fail(sqlite3 *db, int rc, struct err *e);

int db_exec(sqlite3 *db, const char *sql, struct err *e);
/* NULL with err. Finalize with sqlite3_finalize. */
sqlite3_stmt *db_prepare(sqlite3 *db, const char *sql, struct err *e);
/* First column of the first row; 0: no row. */
int db_number(sqlite3 *db, const char *sql, int64_t *out, struct err *e);
bool db_has_column(sqlite3 *db, const char *table, const char *column);

#endif
