#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/db.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"

#define HEADER 100				/* bytes of an SQLite file header */
#define COPY_MAX ((off_t)1 << 30)
#define COPY_TRIES 40				/* with 25 ms between them: a second */
#define CHUNK 65536
#define FOREIGN_MS 30000

enum { PARTS = 3 };
static const char *const suffix[PARTS] = { "", "-journal", "-wal" };

struct pragma {
	const char *name;
	const char *value;
	const char *answer;
};

static const char *
db_path(sqlite3 *db)
{
	const char *path = sqlite3_db_filename(db, "main");

	return path != NULL && path[0] != '\0' ? path : "the database";
}

static bool
disk_full(int number)
{
	return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

/* SQLite forgets the errno of the call that failed when it rolls back; the file still knows it, be it the database or its journal. */
static int
system_errno(sqlite3 *db)
{
	int number = sqlite3_system_errno(db);
	sqlite3_file *journal = NULL;

	if (number == 0)
		sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
	if (number == 0 && sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal) == SQLITE_OK && journal != NULL &&
	    journal->pMethods != NULL)
		journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &number);
	return number;
}

int
db_fail(sqlite3 *db, int rc, struct err *e)
{
	int number = (rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN ? system_errno(db) : 0;
	const char *path = db_path(db);

	if ((rc & 0xff) == SQLITE_FULL || ((rc & 0xff) == SQLITE_IOERR && disk_full(number))) {
		err_set(e, GT_FAIL, "disk-full", "there is no room to write %s (disk full, quota or file size limit)", path);
		return err_hint(e, "Nothing was changed. Make room on its file system and run the command again");
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
			return err_sys(e, GT_FAIL, "unwritable", "the database %s cannot be opened for writing", path);
		return err_set(e, GT_FAIL, "unwritable", "the database %s cannot be opened for writing", path);
	case SQLITE_TOOBIG:
		return err_set(e, GT_FAIL, "too-large", "a value for or in %s is larger than 16 MiB", path);
	case SQLITE_INTERRUPT:
		return err_set(e, GT_AGAIN, "timeout", "reading %s took too long", path);
	case SQLITE_IOERR:
		if (number != 0)
			return err_sys(e, GT_FAIL, "io", "the disk failed on %s (SQLite %d)", path, rc);
		return err_set(e, GT_FAIL, "io", "the disk failed on %s (SQLite %d)", path, rc);
	default:
		return err_set(e, GT_FAIL, "sqlite", "SQLite answered %d (%s) on %s", rc, sqlite3_errstr(rc), path);
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
	sqlite3_stmt *st = db_prepare(db, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2 COLLATE NOCASE", NULL);
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
set_pragma(sqlite3 *db, const struct pragma *p, struct err *e)
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
			ret = err_set(e, GT_FAIL, "sqlite", "%s does not take the setting %s=%s (its answer: %s)", db_path(db),
			    p->name, p->value, answer != NULL ? answer : "none");
	}
	sqlite3_finalize(st);
	free(set);
	free(ask);
	return ret;
}

static int
set_pragmas(sqlite3 *db, const struct pragma *p, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (set_pragma(db, &p[i], e) != 0)
			return -1;
	return 0;
}

/* What holds for every database, before the first byte of it is read. */
static int
defend(sqlite3 *db, bool foreign, struct err *e)
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
			return err_set(e, GT_FAIL, "sqlite", "this SQLite library lacks a safety option (%d)", options[i].option);
	}
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 16 << 20);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	return 0;
}

static int
quick_check(sqlite3 *db, struct err *e)
{
	sqlite3_stmt *st = db_prepare(db, "PRAGMA quick_check(1)", e);
	int rc, ret = 0;

	if (st == NULL)
		return -1;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		ret = db_fail(db, rc, e);
	else if (strcmp((const char *)sqlite3_column_text(st, 0), "ok") != 0)
		ret = db_fail(db, SQLITE_CORRUPT, e);
	sqlite3_finalize(st);
	return ret;
}

/*
 * The file header through SQLite's own descriptor: a descriptor of ours, once closed, would drop SQLite's locks. Opening a connection
 * reads no more than this header yet. Returns the size of the file, or -1 with *rc.
 */
static sqlite3_int64
header(sqlite3 *db, unsigned char h[HEADER], sqlite3_file **file, int *rc)
{
	sqlite3_int64 size = 0;

	memset(h, 0, HEADER);
	*rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, file);
	if (*rc == SQLITE_OK && (*file)->pMethods == NULL)
		*rc = SQLITE_CANTOPEN;
	if (*rc == SQLITE_OK)
		*rc = (*file)->pMethods->xFileSize(*file, &size);
	if (*rc == SQLITE_OK && size > 0) {
		*rc = (*file)->pMethods->xRead(*file, h, HEADER, 0);
		if (*rc == SQLITE_IOERR_SHORT_READ)
			*rc = SQLITE_OK;
	}
	return *rc == SQLITE_OK ? size : -1;
}

static bool
is_sqlite(const unsigned char h[HEADER])
{
	return memcmp(h, "SQLite format 3", 16) == 0;
}

static bool
is_wal(const unsigned char h[HEADER])
{
	return h[18] != 1 || h[19] != 1;
}

/* -1 when there is no such file. */
static off_t
part_size(const char *path, int part)
{
	char *name = xasprintf("%s%s", path, suffix[part]);
	struct stat st;
	off_t size = lstat(name, &st) == 0 ? st.st_size : -1;

	free(name);
	return size;
}

/* --- ours --- */

static int
network_refuse(const char *path, struct err *e)
{
	/* NFS, SMB, CIFS, SMB2, AFS, CODA, NCP, Ceph, Lustre */
	static const unsigned long remote[] = {
		0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x73757245, 0x564c, 0x00c36400, 0x0bd00bd0
	};
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		return err_sys(e, GT_FAIL, "unwritable", "the file system of %s cannot be examined", path);
	for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++) {
		if (((unsigned long)fs.f_type & 0xffffffff) != remote[i])
			continue;
		err_set(e, GT_FAIL, "network-fs", "%s is on a network file system, where locks and fsync cannot be trusted", path);
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
		if (io_sync_parent(path) != 0)
			return err_sys(e, GT_FAIL, "unwritable", "the directory of %s cannot be synced", path);
		return 0;
	}
	if (errno == EEXIST)
		return 0;
	err_sys(e, GT_FAIL, "unwritable", "the database %s cannot be made", path);
	return err_hint(e, "Its directory must exist and belong to this user");
}

static int
own_file(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return err_sys(e, GT_FAIL, "unwritable", "%s cannot be examined", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return err_set(e, GT_FAIL, "not-ours", "%s is not a regular file of this user with a single name", path);
	if ((st.st_mode & 077) != 0 && chmod(path, 0600) != 0)
		return err_sys(e, GT_FAIL, "unwritable", "%s is open to others and cannot be closed", path);
	return 0;
}

/*
 * Refused before SQLite does more than open it: a WAL database of somebody else would get a -shm at the first read. While a journal
 * waits to be rolled back the header proves nothing; then the caller's own look at application_id decides.
 */
static int
own_header(sqlite3 *db, const char *path, uint32_t app_id, bool *fresh, struct err *e)
{
	unsigned char h[HEADER];
	sqlite3_file *file;
	int rc;
	sqlite3_int64 size = header(db, h, &file, &rc);
	uint32_t id = (uint32_t)h[68] << 24 | (uint32_t)h[69] << 16 | (uint32_t)h[70] << 8 | h[71];

	if (size < 0)
		return db_fail(db, rc, e);
	*fresh = size == 0;
	if (size == 0 || part_size(path, 1) > 0)
		return 0;
	if (!is_sqlite(h))
		return db_fail(db, SQLITE_NOTADB, e);
	if (id == app_id)
		return 0;
	err_set(e, GT_FAIL, "not-ours", "%s is a database of another program", path);
	return err_hint(e, "Nothing in it was changed. Name another file: state = \"sqlite:/PATH\" in gt.toml");
}

static int
own_settings(sqlite3 *db, struct err *e)
{
	static const struct pragma wanted[] = {
		{ "cell_size_check", "ON", "1" },
		{ "mmap_size", "0", "0" },
		{ "temp_store", "MEMORY", "2" },
		{ "foreign_keys", "ON", "1" },
		{ "recursive_triggers", "ON", "1" },
		{ "secure_delete", "ON", "1" },
		{ "locking_mode", "NORMAL", "normal" },
		{ "journal_mode", "TRUNCATE", "truncate" },
		{ "synchronous", "FULL", "2" },
	};

	return set_pragmas(db, wanted, sizeof wanted / sizeof wanted[0], e);
}

int
db_open_own(const char *path, uint32_t app_id, sqlite3 **out, bool *fresh, struct err *e)
{
	sqlite3 *db = NULL;
	int rc;

	*out = NULL;
	*fresh = false;
	if (path[0] != '/')
		die("a database path must be absolute: %s", path);
	if (make_file(path, e) != 0 || own_file(path, e) != 0 || network_refuse(path, e) != 0)
		return -1;
	rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, NULL);
	if (rc != SQLITE_OK) {
		db_fail(db, rc, e);
		goto out;
	}
	/* SQLite falls back to reading what it may not write, without a word */
	if (sqlite3_db_readonly(db, "main") != 0) {
		err_set(e, GT_FAIL, "unwritable", "the database %s cannot be written", path);
		err_hint(e, "Check its rights and whether its file system is mounted read-only");
		goto out;
	}
	sqlite3_busy_timeout(db, 5000);
	if (defend(db, false, e) != 0 || own_header(db, path, app_id, fresh, e) != 0 || own_settings(db, e) != 0 ||
	    (!*fresh && quick_check(db, e) != 0))
		goto out;
	*out = db;
	return 0;
out:
	db_close(db);
	return -1;
}

/* --- theirs --- */

/* The deadline travels in the pointer itself: nothing to free, nothing to keep. */
static int
past_deadline(void *at)
{
	return clock_mono_ms() > (int64_t)(intptr_t)at;
}

static int
foreign_settings(sqlite3 *db, struct err *e)
{
	static const struct pragma wanted[] = {
		{ "query_only", "ON", "1" },
		{ "cell_size_check", "ON", "1" },
		{ "temp_store", "MEMORY", "2" },
	};

	return set_pragmas(db, wanted, sizeof wanted / sizeof wanted[0], e);
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

/*
 * May SQLite read it in place without writing anything? The shared lock is SQLite's own and is kept: while it is held nobody can switch
 * the file to WAL mode or begin to change it, so that what is seen here still holds when SQLite reads.
 */
static bool
rests(sqlite3 *db, const char *path)
{
	unsigned char h[HEADER];
	sqlite3_file *file;
	int rc;

	if (header(db, h, &file, &rc) < HEADER || file->pMethods->xLock(file, SQLITE_LOCK_SHARED) != SQLITE_OK)
		return false;
	return header(db, h, &file, &rc) >= HEADER && is_sqlite(h) && !is_wal(h) && part_size(path, 1) <= 0 && part_size(path, 2) < 0;
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
	if (defend(db, true, e) != 0 || foreign_settings(db, e) != 0 || db_exec(db, "BEGIN", e) != 0 ||
	    db_number(db, "SELECT count(*) FROM sqlite_master", &tables, e) != 0 || quick_check(db, e) != 0) {
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

static int
open_part(const char *path, int part, struct err *e)
{
	char *name = xasprintf("%s%s", path, suffix[part]);
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && (part == 0 || errno != ENOENT))
		err_sys(e, GT_FAIL, "unreadable", "%s cannot be read", name);
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
		err_set(e, GT_FAIL, "not-a-file", "%s is not a regular file", name);
	} else if (fd >= 0 && st.st_size > COPY_MAX) {
		close(fd);
		fd = -1;
		err_set(e, GT_FAIL, "too-large", "%s is larger than 1 GiB", name);
	}
	free(name);
	return fd;
}

/* Fills the buffer unless the file ends; -1 with errno. */
static ssize_t
read_chunk(int fd, char *p)
{
	size_t n = 0;

	while (n < CHUNK) {
		ssize_t r = read(fd, p + n, CHUNK - n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}

/* 0 copied, or there was none and there is none now; -1 with err. */
static int
copy_part(const char *path, const char *copy, int part, struct err *e)
{
	char *name = xasprintf("%s%s", copy, suffix[part]), *chunk = NULL;
	struct err none = ERR_INIT;
	int in = open_part(path, part, &none), to = -1, ret = -1;
	ssize_t r = 0;

	unlink(name);
	if (in < 0) {
		ret = none.code == 0 ? 0 : -1;
		if (ret != 0 && e != NULL)
			*e = none;
		goto out;
	}
	to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	chunk = xmalloc(CHUNK);
	while (to >= 0 && (r = read_chunk(in, chunk)) > 0)
		if (io_write_all(to, chunk, (size_t)r) != 0)
			break;
	if (to < 0 || r != 0)
		err_sys(e, GT_FAIL, to >= 0 && r < 0 ? "unreadable" : disk_full(errno) ? "disk-full" : "unwritable",
		    "%s%s cannot be copied to %s", path, suffix[part], name);
	else
		ret = 0;
out:
	if (in >= 0)
		close(in);
	if (to >= 0)
		close(to);
	free(chunk);
	free(name);
	return ret;
}

/* Does the original still equal the copy? Of a -wal the beginning counts: whoever only appends does not disturb. */
static bool
part_same(const char *path, const char *copy, int part)
{
	struct err none = ERR_INIT;
	int a = open_part(path, part, &none), b = open_part(copy, part, &none);
	char *one = xmalloc(CHUNK), *two = xmalloc(CHUNK);
	bool same = (a < 0) == (b < 0);

	if (part == 2 && b < 0 && a >= 0)
		same = part_size(path, part) == 0;
	while (same && a >= 0 && b >= 0) {
		ssize_t n = read_chunk(a, one), m = read_chunk(b, two);

		same = n >= 0 && m >= 0 && (part == 2 ? n >= m : n == m) && memcmp(one, two, (size_t)m) == 0;
		if (!same || m < CHUNK)
			break;
	}
	free(one);
	free(two);
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return same;
}

/*
 * Reads database, journal, log; then compares in the same order. Where all agree, the database did not change between its two readings,
 * and the log or journal was read between them: together they are one moment, as good as after a kill -9 of the writer, which SQLite can
 * roll back. Times of change are not asked: two changes within one tick of the clock have the same.
 */
static int
copy_parts(const char *path, const char *copy, struct err *e)
{
	for (int try = 0; try < COPY_TRIES; try++) {
		bool same = true;

		if (try > 0)
			clock_sleep_ms(25);
		for (int i = 0; i < PARTS; i++)
			if (copy_part(path, copy, i, e) != 0)
				return -1;
		for (int i = 0; i < PARTS && same; i++)
			same = part_same(path, copy, i);
		if (same)
			return 0;
	}
	return err_set(e, GT_AGAIN, "locked", "%s changes faster than it can be read", path);
}

/*
 * A journal that ends in this mark names a super-journal, a file that a roll-back may delete: one of theirs, or any file that somebody who
 * planted the journal chose.
 */
static int
super_journal_refuse(const char *path, const char *copy, struct err *e)
{
	static const unsigned char mark[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	unsigned char end[8];
	off_t size = part_size(copy, 1);
	bool marked;
	int fd;

	if (size < 16)
		return 0;
	fd = open_part(copy, 1, e);
	if (fd < 0)
		return -1;
	marked = pread(fd, end, 8, size - 8) != 8 || memcmp(end, mark, 8) == 0;
	close(fd);
	if (marked)
		return err_set(e, GT_AGAIN, "locked", "%s is in the middle of a change that spans several databases", path);
	return 0;
}

static void
copy_remove(char *dir, char *copy)
{
	char *shm = xasprintf("%s-shm", copy);

	for (int i = 0; i < PARTS; i++) {
		char *name = xasprintf("%s%s", copy, suffix[i]);

		unlink(name);
		free(name);
	}
	unlink(shm);
	rmdir(dir);
	free(shm);
	free(copy);
	free(dir);
}

/* Rolls back or checkpoints the copy; afterwards it is one file without a log, held in exclusive mode, that no longer needs its name. */
static int
open_copied(const char *copy, sqlite3 **out, struct err *e)
{
	static const struct pragma wanted[] = {
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
	if (defend(db, true, e) == 0 && set_pragmas(db, wanted, sizeof wanted / sizeof wanted[0], e) == 0 && quick_check(db, e) == 0 &&
	    foreign_settings(db, e) == 0) {
		*out = db;
		return 0;
	}
	db_close(db);
	return -1;
}

static int
open_copy(const char *path, sqlite3 **out, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = xasprintf("%s/gt-recover.XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp"), *copy;
	int ret;

	if (mkdtemp(dir) == NULL) {
		err_sys(e, GT_FAIL, "unwritable", "a private directory for a copy of %s cannot be made (%s)", path, dir);
		free(dir);
		return err_hint(e, "Set TMPDIR to a directory that this user can write");
	}
	copy = io_join(dir, "db");
	ret = copy_parts(path, copy, e);
	if (ret == 0)
		ret = super_journal_refuse(path, copy, e);
	if (ret == 0 && (ret = open_copied(copy, out, e)) != 0)
		err_add(e, "%s (its private copy)", path);
	copy_remove(dir, copy);
	return ret;
}

/* Not even a look by SQLite for what cannot be a database. */
static int
foreign_file(const char *path, struct err *e)
{
	unsigned char h[HEADER];
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
	n = pread(fd, h, HEADER, 0);
	close(fd);
	/* a journal may restore the first page */
	if ((n == HEADER && is_sqlite(h)) || part_size(path, 1) > 0 || part_size(path, 2) > 0)
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
