#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/db_private.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/err.h"

const char *const db_suffix[DB_PARTS] = { "", "-journal", "-wal" };

static const char *
db_path(sqlite3 *db)
{
	const char *path = sqlite3_db_filename(db, "main");

	return path != NULL && path[0] != '\0' ? path : "the database";
}

bool
db_disk_full(int number)
{
	return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

/*
 * SQLite forgets the errno of the call that failed when it rolls back; the file still knows it,
 * be it the database or its journal.
 */
static int
system_errno(sqlite3 *db)
{
	int number = sqlite3_system_errno(db);
	sqlite3_file *journal = NULL;

	if (number == 0)
		sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
	if (number == 0 &&
	    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal) == SQLITE_OK &&
	    journal != NULL && journal->pMethods != NULL)
		journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &number);
	return number;
}

/* Where no errno told what to do. */
static int
hint_at_cause(struct err *e, const char *what)
{
	return e != NULL && e->hint[0] == '\0' ? err_hint(e, "%s", what) : -1;
}

int
db_fail(sqlite3 *db, int rc, struct err *e)
{
	int number = (rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN ? system_errno(db) : 0;
	const char *path = db_path(db);

	if ((rc & 0xff) == SQLITE_FULL || ((rc & 0xff) == SQLITE_IOERR && db_disk_full(number))) {
		err_set(e, GT_FAIL, "disk-full",
		    "there is no room to write %s (disk full, quota or file size limit)", path);
		return err_hint(
		    e, "Nothing was changed. Make room on its file system and run the command again");
	}
	errno = number;
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		die("out of memory");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(e, GT_AGAIN, "locked", "another process keeps %s locked", path);
	case SQLITE_CORRUPT:
		return err_set(e, GT_FAIL, "corrupt", "the database %s is damaged", path);
	case SQLITE_NOTADB:
		return err_set(e, GT_FAIL, "not-a-database", "%s is not an SQLite database", path);
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		if (number != 0)
			err_sys(
			    e, GT_FAIL, "unwritable", "the database %s cannot be opened for writing", path);
		else
			err_set(
			    e, GT_FAIL, "unwritable", "the database %s cannot be opened for writing", path);
		return hint_at_cause(
		    e, "Look at its rights and its directory's, and at the limit of open files (ulimit -n)");
	case SQLITE_TOOBIG:
		return err_set(e, GT_FAIL, "too-large", "a value for or in %s is larger than 16 MiB", path);
	case SQLITE_INTERRUPT:
		return err_set(e, GT_AGAIN, "timeout", "reading %s took too long", path);
	case SQLITE_IOERR:
		if (number != 0)
			err_sys(e, GT_FAIL, "io", "the disk failed on %s (SQLite %d)", path, rc);
		else
			err_set(e, GT_FAIL, "io", "the disk failed on %s (SQLite %d)", path, rc);
		return hint_at_cause(e,
		    "Look at the disk (dmesg, df) and the limit of file sizes (ulimit -f), then run the "
		    "command again");
	default:
		return err_set(
		    e, GT_FAIL, "sqlite", "SQLite answered %d (%s) on %s", rc, sqlite3_errstr(rc), path);
	}
}

int
db_exec(sqlite3 *db, const char *sql, struct err *e)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_fail(db, rc, e);
}

sqlite3_stmt *
db_prepare(sqlite3 *db, const char *sql, struct err *e)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		db_fail(db, rc, e);
	return st;
}

int
db_number(sqlite3 *db, const char *sql, int64_t *out, struct err *e)
{
	sqlite3_stmt *st = db_prepare(db, sql, e);
	int rc;

	if (st == NULL)
		return -1;
	rc = sqlite3_step(st);
	*out = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : db_fail(db, rc, e);
}

bool
db_has_column(sqlite3 *db, const char *table, const char *column)
{
	sqlite3_stmt *st =
	    db_prepare(db, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2 COLLATE NOCASE", NULL);
	bool found;

	if (st == NULL)
		return false;
	sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, column, -1, SQLITE_STATIC);
	found = sqlite3_step(st) == SQLITE_ROW;
	sqlite3_finalize(st);
	return found;
}

void
db_close(sqlite3 *db)
{
	sqlite3_close_v2(db);
}

/* Sets a pragma and reads it back: SQLite keeps silent about settings that it did not take. */
static int
set_pragma(sqlite3 *db, const struct db_pragma *p, struct err *e)
{
	char *set = xasprintf("PRAGMA %s=%s", p->name, p->value), *ask = xasprintf("PRAGMA %s", p->name);
	sqlite3_stmt *st = NULL;
	const char *answer;
	int ret = db_exec(db, set, e), rc;

	if (ret == 0 && (st = db_prepare(db, ask, e)) == NULL)
		ret = -1;
	if (ret == 0) {
		rc = sqlite3_step(st);
		answer = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
		if (rc != SQLITE_ROW && rc != SQLITE_DONE)
			ret = db_fail(db, rc, e);
		else if (answer == NULL || strcmp(answer, p->answer) != 0)
			ret = err_set(e, GT_FAIL, "sqlite",
			    "%s does not take the setting %s=%s (its answer: %s)", db_path(db), p->name,
			    p->value, answer != NULL ? answer : "none");
	}
	sqlite3_finalize(st);
	free(set);
	free(ask);
	return ret;
}

int
db_set_pragmas(sqlite3 *db, const struct db_pragma *p, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (set_pragma(db, &p[i], e) != 0)
			return -1;
	return 0;
}

int
db_defend(sqlite3 *db, bool foreign, struct err *e)
{
	static const struct { int option, value; bool foreign_only; } options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1, false },
		{ SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0, false },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, false },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, false },
		{ SQLITE_DBCONFIG_DQS_DDL, 0, false },
		{ SQLITE_DBCONFIG_DQS_DML, 0, false },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, true },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0, true },
	};

	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		int answer = -1;

		if (options[i].foreign_only && !foreign)
			continue;
		sqlite3_db_config(db, options[i].option, options[i].value, &answer);
		if (answer != options[i].value)
			return err_set(e, GT_FAIL, "sqlite", "this SQLite library lacks a safety option (%d)",
			    options[i].option);
	}
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 16 << 20);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	return 0;
}

static int
check_by(sqlite3 *db, const char *pragma, struct err *e)
{
	sqlite3_stmt *st = db_prepare(db, pragma, e);
	int rc, ret = 0;

	if (st == NULL)
		return -1;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		ret = db_fail(db, rc, e);
	else if (sqlite3_column_text(st, 0) == NULL ||
	    strcmp((const char *)sqlite3_column_text(st, 0), "ok") != 0)
		ret = db_fail(db, SQLITE_CORRUPT, e);
	sqlite3_finalize(st);
	return ret;
}

int
db_check(sqlite3 *db, struct err *e)
{
	return check_by(db, "PRAGMA quick_check(1)", e);
}

int
db_check_indexes(sqlite3 *db, struct err *e)
{
	return check_by(db, "PRAGMA integrity_check(1)", e);
}

sqlite3_int64
db_header(sqlite3 *db, unsigned char h[DB_HEADER], sqlite3_file **file, int *rc)
{
	sqlite3_int64 size = 0;

	memset(h, 0, DB_HEADER);
	*rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, file);
	if (*rc == SQLITE_OK && (*file)->pMethods == NULL)
		*rc = SQLITE_CANTOPEN;
	if (*rc == SQLITE_OK)
		*rc = (*file)->pMethods->xFileSize(*file, &size);
	if (*rc == SQLITE_OK && size > 0) {
		*rc = (*file)->pMethods->xRead(*file, h, DB_HEADER, 0);
		if (*rc == SQLITE_IOERR_SHORT_READ)
			*rc = SQLITE_OK;
	}
	return *rc == SQLITE_OK ? size : -1;
}

bool
db_is_sqlite(const unsigned char h[DB_HEADER])
{
	return memcmp(h, "SQLite format 3", 16) == 0;
}

off_t
db_part_size(const char *path, int part)
{
	char *name = xasprintf("%s%s", path, db_suffix[part]);
	struct stat st;
	off_t size = lstat(name, &st) == 0 ? st.st_size : -1;

	free(name);
	return size;
}
