#ifndef BASE_DB_PRIVATE_H
#define BASE_DB_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <sqlite3.h>

struct err;

/* db.c: errors, queries, defences; db_own.c; db_foreign.c. 0, or -1 with err. */
enum { DB_HEADER = 100 };			/* bytes of an SQLite file header */

/* A database, its journal, its log. */
enum { DB_FILE, DB_JOURNAL, DB_WAL, DB_PARTS };
extern const char *const db_suffix[DB_PARTS];
off_t db_part_size(const char *path, int part);	/* -1: no such file */

/* ENOSPC and its like. */
bool db_disk_full(int number);

struct db_pragma {
	const char *name;
	const char *value;
	const char *answer;			/* when read back */
};
int db_set_pragmas(sqlite3 *db, const struct db_pragma *p, size_t n, struct err *e);

/* Before the first one is opened: who gets no memory ends here. */
void db_begin(void);

/* For every database, before its first byte is read. */
int db_defend(sqlite3 *db, bool foreign, struct err *e);

/*
 * The header through SQLite's descriptor: closing one of ours would drop SQLite's locks. Nothing
 * else has been read yet. Returns the file's size, or -1 with *rc. *file: SQLite's.
 */
sqlite3_int64 db_header(sqlite3 *db, unsigned char h[DB_HEADER], sqlite3_file **file, int *rc);
bool db_is_sqlite(const unsigned char h[DB_HEADER]);

/* A copy in a private directory, its journal or log still to be rolled back or checkpointed. */
struct db_copy {
	char *dir;
	char *file;
	int lock;			/* the directory, locked by flock while it is used */
};

#endif
