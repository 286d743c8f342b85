#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/db_private.h"
#include "base/clock.h"
#include "base/db.h"
#include "base/err.h"

#define FOREIGN_MS 30000

/* The deadline travels in the pointer itself: nothing to free, nothing to keep. */
static int
past_deadline(void *at)
{
	return clock_mono_ms() > (int64_t)(intptr_t)at;
}

static int
foreign_settings(sqlite3 *db, struct err *e)
{
	static const struct db_pragma wanted[] = {
		{ "query_only", "ON", "1" },
		{ "cell_size_check", "ON", "1" },
		{ "temp_store", "MEMORY", "2" },
	};

	return db_set_pragmas(db, wanted, sizeof wanted / sizeof wanted[0], e);
}

static sqlite3 *
foreign_open(const char *path, int flags, int *rc)
{
	sqlite3 *db = NULL;

	*rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, NULL);
	if (*rc != SQLITE_OK) {
		db_close(db);
		return NULL;
	}
	sqlite3_progress_handler(db, 10000, past_deadline, (void *)(intptr_t)(clock_mono_ms() + FOREIGN_MS));
	return db;
}

static bool
is_wal(const unsigned char h[DB_HEADER])
{
	return h[18] != 1 || h[19] != 1;
}

/*
 * May SQLite read it in place without writing anything? The shared lock is SQLite's own and is kept: while it is held nobody can switch
 * the file to WAL mode or begin to change it, so that what is seen here still holds when SQLite reads.
 */
static bool
rests(sqlite3 *db, const char *path)
{
	unsigned char h[DB_HEADER];
	sqlite3_file *file;
	int rc;

	if (db_header(db, h, &file, &rc) < DB_HEADER || file->pMethods->xLock(file, SQLITE_LOCK_SHARED) != SQLITE_OK)
		return false;
	return db_header(db, h, &file, &rc) >= DB_HEADER && db_is_sqlite(h) && !is_wal(h) && db_part_size(path, DB_JOURNAL) <= 0 &&
	    db_part_size(path, DB_WAL) < 0;
}

/* 1 with *out, 0: it must be copied, -1 with err. */
static int
open_in_place(const char *path, sqlite3 **out, struct err *e)
{
	int rc;
	sqlite3 *db = foreign_open(path, SQLITE_OPEN_READONLY, &rc);
	int64_t tables;

	if (db == NULL)
		return 0;
	if (!rests(db, path))
		goto copy;
	/* the transaction stays open: every query of the caller sees the same moment, under the same lock */
	if (db_defend(db, true, e) != 0 || foreign_settings(db, e) != 0 || db_exec(db, "BEGIN", e) != 0 ||
	    db_number(db, "SELECT count(*) FROM sqlite_master", &tables, e) != 0 || db_check(db, e) != 0) {
		rc = sqlite3_errcode(db) & 0xff;
		if (rc == SQLITE_BUSY || rc == SQLITE_READONLY || rc == SQLITE_CANTOPEN)
			goto copy;
		db_close(db);
		return -1;
	}
	*out = db;
	return 1;
copy:
	db_close(db);
	err_clear(e);
	return 0;
}

/* Rolls back or checkpoints the copy; afterwards it is one file without a log, held in exclusive mode, that no longer needs its name. */
static int
open_copied(const char *copy, sqlite3 **out, struct err *e)
{
	static const struct db_pragma wanted[] = {
		{ "locking_mode", "EXCLUSIVE", "exclusive" },
		{ "synchronous", "OFF", "0" },
		{ "cell_size_check", "ON", "1" },
		{ "mmap_size", "0", "0" },
		{ "journal_mode", "DELETE", "delete" },
	};
	int rc;
	sqlite3 *db = foreign_open(copy, SQLITE_OPEN_READWRITE, &rc);

	if (db == NULL)
		return err_set(e, GT_FAIL, "unreadable", "a private copy of the database cannot be opened (SQLite %d)", rc);
	if (db_defend(db, true, e) == 0 && db_set_pragmas(db, wanted, sizeof wanted / sizeof wanted[0], e) == 0 &&
	    db_check(db, e) == 0 && foreign_settings(db, e) == 0) {
		*out = db;
		return 0;
	}
	db_close(db);
	return -1;
}

static int
open_copy(const char *path, sqlite3 **out, struct err *e)
{
	struct db_copy copy;
	int ret;

	if (db_copy_make(&copy, path, e) != 0)
		return -1;
	ret = open_copied(copy.file, out, e);
	if (ret != 0)
		err_add(e, "%s (its private copy)", path);
	db_copy_remove(&copy);
	return ret;
}

/* Not even a look by SQLite for what cannot be a database. */
static int
foreign_file(const char *path, struct err *e)
{
	unsigned char h[DB_HEADER];
	struct stat st;
	ssize_t n;
	int fd;

	if (stat(path, &st) != 0)
		return err_sys(e, GT_FAIL, "unreadable", "%s cannot be examined", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, GT_FAIL, "not-a-file", "%s is not a regular file", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, GT_FAIL, "unreadable", "%s cannot be read", path);
	n = pread(fd, h, DB_HEADER, 0);
	close(fd);
	/* a journal may restore the first page */
	if ((n == DB_HEADER && db_is_sqlite(h)) || db_part_size(path, DB_JOURNAL) > 0 || db_part_size(path, DB_WAL) > 0)
		return 0;
	return err_set(e, GT_FAIL, "not-a-database", "%s is not an SQLite database", path);
}

int
db_open_foreign(const char *path, sqlite3 **out, struct err *e)
{
	char *real = realpath(path, NULL);
	int ret;

	*out = NULL;
	if (real == NULL)
		return err_sys(e, GT_FAIL, errno == ENOENT || errno == ENOTDIR ? "not-found" : "unreadable", "%s", path);
	ret = foreign_file(real, e);
	if (ret == 0)
		ret = open_in_place(real, out, e);
	if (ret == 0)
		ret = open_copy(real, out, e);
	free(real);
	return ret > 0 ? 0 : ret;
}
