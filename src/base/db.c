#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/db_private.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/err.h"
#include "base/io.h"
#include "base/sys.h"

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
		    "no space to write %s (disk full, quota or file size limit)", path);
		return err_hint(
		    e, "Nothing was changed. Free space on its file system and run the command again");
	}
	errno = number;
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		err_no_memory();
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
		    e, "Check its permissions, those of its directory, and the limit of open files "
		        "(ulimit -n)");
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
		    "Check the disk (dmesg, df) and the limit of file sizes (ulimit -f), then run the "
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

/*
 * SQLite goes on without some of the memory that it asks for, and a text that it cannot copy is NULL
 * then, as in a damaged record.
 */
static sqlite3_mem_methods memory;

static void *
must_allocate(int n)
{
	void *p = memory.xMalloc(n);

	if (p == NULL)
		err_no_memory();
	return p;
}

static void *
must_reallocate(void *was, int n)
{
	void *p = memory.xRealloc(was, n);

	if (p == NULL)
		err_no_memory();
	return p;
}

void
db_begin(void)
{
	static bool begun;
	sqlite3_mem_methods ours;

	if (begun)
		return;
	begun = true;
	/* no mutexes for threads that we do not have, and no counting of memory that nobody asks for */
	(void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory) != SQLITE_OK || memory.xMalloc == NULL)
		return;
	ours = memory;
	ours.xMalloc = must_allocate;
	ours.xRealloc = must_reallocate;
	/* too late, when somebody has opened one before: then it is as it was */
	(void)sqlite3_config(SQLITE_CONFIG_MALLOC, &ours);
}

void
db_close(sqlite3 *db)
{
	sqlite3_close_v2(db);
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
	/* behind a virtual table's name their bytes would reach a module's code, FTS5's say */
	if (foreign)
		sqlite3_drop_modules(db, NULL);
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

int
db_local(const char *path, struct err *e)
{
	int disk = sys_disk(path);

	if (disk < 0)
		return err_sys(e, GT_FAIL, "unwritable", "the file system of %s cannot be examined", path);
	if (disk == SYS_DISK_NETWORK) {
		err_set(e, GT_FAIL, "network-fs",
		    "%s is on a network file system, where locks and fsync cannot be trusted", path);
		return err_hint(e, "Keep the state on a local disk: state = \"sqlite:/PATH\" in gt.toml");
	}
	return 0;
}

static int
make_file(const char *path, struct err *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errno == EEXIST)
		return 0;
	err_sys(e, GT_FAIL, "unwritable", "the database %s cannot be made", path);
	return e != NULL && e->hint[0] != '\0'
	    ? -1
	    : err_hint(e, "Its directory must exist and belong to this user");
}

/*
 * The file's name and its directory's: who made them may have been killed before he synced them.
 * What is above the directory may be somebody else's: then the directory's name is none that we
 * made.
 */
static int
sync_names(const char *path, struct err *e)
{
	char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	int ret = io_sync_parent(path);

	if (ret == 0 && dir[0] != '\0' && io_sync_parent(dir) != 0 && errno != EACCES && errno != EROFS &&
	    errno != EINVAL)
		ret = -1;
	if (ret != 0)
		err_sys(e, GT_FAIL, "unwritable", "the directory of %s cannot be synced", path);
	free(dir);
	return ret;
}

static void
unwritable_file(const char *path, struct err *e)
{
	struct statvfs fs;

	if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0) {
		err_set(e, GT_FAIL, "unwritable",
		    "the database %s cannot be written: its file system is mounted read-only", path);
		err_hint(e, "Check the disk (dmesg), mount it for writing and run the command again");
	} else {
		err_set(e, GT_FAIL, "unwritable", "the database %s cannot be written", path);
		err_hint(e, "Check its permissions: it must belong to this user, with mode 0600");
	}
}

static int
own_file(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return err_sys(e, GT_FAIL, "unwritable", "%s cannot be examined", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return err_set(
		    e, GT_FAIL, "not-ours", "%s is not a regular file of this user with a single name", path);
	if ((st.st_mode & 077) != 0 && chmod(path, 0600) != 0)
		return err_sys(e, GT_FAIL, "unwritable", "%s is open to others, and its mode cannot be "
		    "changed", path);
	return st.st_size > 0 ? 0 : sync_names(path, e);
}

static uint32_t
read_word(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/*
 * Refused before SQLite does more than open it: a WAL database of somebody else would get a -shm
 * at the first read. While a journal waits to be rolled back the header proves nothing; then the
 * caller's own look at application_id decides. *version: user_version, 0 where it is not proved.
 */
static int
own_header(sqlite3 *db, const char *path, uint32_t app_id, bool *fresh, uint32_t *version, struct err *e)
{
	unsigned char h[DB_HEADER];
	sqlite3_file *file;
	int rc;
	sqlite3_int64 size = db_header(db, h, &file, &rc);
	uint32_t id = read_word(h + 68);

	*version = 0;
	if (size < 0)
		return db_fail(db, rc, e);
	*fresh = size == 0;
	if (size == 0 || db_part_size(path, DB_JOURNAL) > 0)
		return 0;
	if (!db_is_sqlite(h))
		return db_fail(db, SQLITE_NOTADB, e);
	*version = read_word(h + 60);
	if (id == app_id)
		return 0;
	err_set(e, GT_FAIL, "not-ours", "%s is a database of another program", path);
	return err_hint(
	    e, "It was not changed. Use another file: state = \"sqlite:/PATH\" in gt.toml");
}

static int
own_settings(sqlite3 *db, struct err *e)
{
	static const struct db_pragma wanted[] = {
		{ "cell_size_check", "ON", "1" },
		{ "mmap_size", "0", "0" },
		{ "temp_store", "MEMORY", "2" },
		{ "secure_delete", "ON", "1" },
		{ "locking_mode", "NORMAL", "normal" },
		{ "journal_mode", "TRUNCATE", "truncate" },
		{ "synchronous", "FULL", "2" },
	};

	return db_set_pragmas(db, wanted, sizeof wanted / sizeof wanted[0], e);
}

/*
 * Reads the schema without its views: a statement that is longer than the limit is not parsed. That
 * would be an error, unless the schema may be written: then SQLite goes on without what it cannot
 * parse. Nothing can write it all the same (SQLITE_DBCONFIG_DEFENSIVE). 1: a table is missing.
 */
static int
read_tables(sqlite3 *db, const struct db_layout *known, struct err *e)
{
	int longest = sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, DB_UNPARSED - 1), rc = SQLITE_OK;

	sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
	for (size_t i = 0; rc == SQLITE_OK && known->tables[i] != NULL; i++)
		rc = sqlite3_table_column_metadata(
		    db, "main", known->tables[i], NULL, NULL, NULL, NULL, NULL, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, longest);
	return rc == SQLITE_ERROR ? 1 : rc == SQLITE_OK ? 0 : db_fail(db, rc, e);
}

/* 1: a table is missing that `known` names. Then a look at the whole schema tells why. */
static int
open_own(const char *path, uint32_t app_id, const struct db_layout *known,
    int (*busy)(void *arg, int count), void *arg, sqlite3 **out, bool *fresh, struct err *e)
{
	sqlite3 *db = NULL;
	uint32_t version;
	int rc, ret = -1;

	rc = sqlite3_open_v2(
	    path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, NULL);
	if (rc != SQLITE_OK) {
		db_fail(db, rc, e);
		goto out;
	}
	/* SQLite falls back to reading what it may not write, without a word */
	if (sqlite3_db_readonly(db, "main") != 0) {
		unwritable_file(path, e);
		goto out;
	}
	if (busy != NULL)
		sqlite3_busy_handler(db, busy, arg);
	else
		sqlite3_busy_timeout(db, 5000);
	if (db_defend(db, false, e) != 0 || own_header(db, path, app_id, fresh, &version, e) != 0)
		goto out;
	ret = known != NULL && version == known->version ? read_tables(db, known, e) : 0;
	if (ret == 0)
		ret = own_settings(db, e);
	if (ret == 0)
		*out = db;
out:
	if (ret != 0)
		db_close(db);
	return ret;
}

int
db_open_known(const char *path, uint32_t app_id, const struct db_layout *known,
    int (*busy)(void *arg, int count), void *arg, sqlite3 **out, bool *fresh, struct err *e)
{
	int ret;

	*out = NULL;
	*fresh = false;
	if (path[0] != '/')
		die("a database path must be absolute: %s", path);
	if (make_file(path, e) != 0 || own_file(path, e) != 0 || db_local(path, e) != 0)
		return -1;
	db_begin();
	ret = open_own(path, app_id, known, busy, arg, out, fresh, e);
	return ret > 0 ? open_own(path, app_id, NULL, busy, arg, out, fresh, e) : ret;
}

int
db_open_own(const char *path, uint32_t app_id, int (*busy)(void *arg, int count), void *arg, sqlite3 **out,
    bool *fresh, struct err *e)
{
	return db_open_known(path, app_id, NULL, busy, arg, out, fresh, e);
}

sqlite3 *
db_open_damaged(const char *path)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE,
		NULL) == SQLITE_OK &&
	    db_defend(db, true, NULL) == 0)
		return db;
	db_close(db);
	return NULL;
}
