#ifndef BASE_DB_PRIVATE_H
#define BASE_DB_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <sqlite3.h>

struct err;

/*
 * What the files behind db.h share: db.c (errors, queries, defences), db_own.c (our databases),
 * db_foreign.c (those of others), db_copy.c (the private copy of one that cannot be read in
 * place). Nobody else includes this. Functions that answer int: 0, or -1 with err.
 */
enum { DB_HEADER = 100 };			/* bytes of an SQLite file header */

/* The files of a database: itself, its journal, its log. */
enum { DB_FILE, DB_JOURNAL, DB_WAL, DB_PARTS };
extern const char *const db_suffix[DB_PARTS];
off_t db_part_size(const char *path, int part);	/* -1 when there is no such file */

/* ENOSPC and its like. */
bool db_disk_full(int number);

struct db_pragma {
	const char *name;
	const char *value;
	const char *answer;			/* to the question what it is now */
};
int db_set_pragmas(sqlite3 *db, const struct db_pragma *p, size_t n, struct err *e);

/* What holds for every database, before the first byte of it is read. */
int db_defend(sqlite3 *db, bool foreign, struct err *e);

/*
 * The file header through SQLite's own descriptor: a descriptor of ours, once closed, would drop
 * SQLite's locks. Opening a connection reads no more than this header yet. Returns the size of
 * the file, or -1 with *rc. *file belongs to SQLite.
 */
sqlite3_int64 db_header(sqlite3 *db, unsigned char h[DB_HEADER], sqlite3_file **file, int *rc);
bool db_is_sqlite(const unsigned char h[DB_HEADER]);

/*
 * One moment of a database that others may be writing, in a private directory; its journal or log
 * is still to be rolled back or checkpointed there.
 */
struct db_copy {
	char *dir;
	char *file;
};

#endif
