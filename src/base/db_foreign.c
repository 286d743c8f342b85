#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/db_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/db.h"

#define COPY_MAX ((off_t)1 << 30)
#define COPY_TRIES 40				/* with 25 ms between them: a second */
#define CHUNK 65536

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
			    "%s does not take the setting %s=%s (it answered: %s)",
			    sqlite3_db_filename(db, "main"), p->name, p->value,
			    answer != NULL ? answer : "none");
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

static int
open_part(const char *path, int part, struct err *e)
{
	char *name = xasprintf("%s%s", path, db_suffix[part]);
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && (part == DB_FILE || errno != ENOENT))
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
	char *name = xasprintf("%s%s", copy, db_suffix[part]), *chunk = NULL;
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
		err_sys(e, GT_FAIL,
		    to >= 0 && r < 0          ? "unreadable"
			: db_disk_full(errno) ? "disk-full"
					      : "unwritable",
		    "%s%s cannot be copied to %s", path, db_suffix[part], name);
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

/*
 * Does the original still equal the copy? Of a -wal the beginning counts: whoever only appends
 * does not disturb.
 */
static bool
part_same(const char *path, const char *copy, int part)
{
	struct err none = ERR_INIT;
	int a = open_part(path, part, &none), b = open_part(copy, part, &none);
	char *one = xmalloc(CHUNK), *two = xmalloc(CHUNK);
	bool same = (a < 0) == (b < 0);

	if (part == DB_WAL && b < 0 && a >= 0)
		same = db_part_size(path, part) == 0;
	while (same && a >= 0 && b >= 0) {
		ssize_t n = read_chunk(a, one), m = read_chunk(b, two);

		same = n >= 0 && m >= 0 && (part == DB_WAL ? n >= m : n == m) &&
		    memcmp(one, two, (size_t)m) == 0;
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
 * Reads database, journal, log; then compares in the same order. Where all agree, the database
 * did not change between its two readings, and the log or journal was read between them: together
 * they are one moment, as good as after a kill -9 of the writer, which SQLite can roll back.
 * Times of change are not asked: two changes within one tick of the clock have the same.
 */
static int
copy_parts(const char *path, const char *copy, struct err *e)
{
	for (int try = 0; try < COPY_TRIES; try++) {
		bool same = true;

		if (try > 0)
			clock_sleep_ms(25);
		for (int i = 0; i < DB_PARTS; i++)
			if (copy_part(path, copy, i, e) != 0)
				return -1;
		for (int i = 0; i < DB_PARTS && same; i++)
			same = part_same(path, copy, i);
		if (same)
			return 0;
	}
	return err_set(e, GT_AGAIN, "locked", "%s changes too often to be read", path);
}

/*
 * A journal that ends in this mark names a super-journal, a file that a roll-back may delete: one
 * of theirs, or any file that somebody who planted the journal chose.
 */
static int
super_journal_refuse(const char *path, const char *copy, struct err *e)
{
	static const unsigned char mark[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	unsigned char end[8];
	off_t size = db_part_size(copy, DB_JOURNAL);
	bool marked;
	int fd;

	if (size < 16)
		return 0;
	fd = open_part(copy, DB_JOURNAL, e);
	if (fd < 0)
		return -1;
	marked = pread(fd, end, 8, size - 8) != 8 || memcmp(end, mark, 8) == 0;
	close(fd);
	if (marked)
		return err_set(e, GT_AGAIN, "locked",
		    "%s is in the middle of a change that spans several databases", path);
	return 0;
}

/* --- the directory of a copy: its maker holds a kernel lock on it --- */

#define COPY_DIR "gt-recover."

static bool
is_named_as_copy(const char *name)
{
	return str_starts(name, COPY_DIR) && strlen(name) == strlen(COPY_DIR "XXXXXX");
}

/* A directory of ours that is locked here; -1: another one has it, or it is not ours or gone. */
static int
lock_copy_dir(const char *dir, int wait)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | wait) == 0 &&
	    fstat(fd, &st) == 0 && st.st_nlink > 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void
remove_copy_files(int fd)
{
	static const char *const names[] = { "db", "db-journal", "db-wal", "db-shm" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		unlinkat(fd, names[i], 0);
}

/* Copies whose makers were killed: nobody holds their lock any more. Once a process. */
static void
sweep_copies(const char *tmp)
{
	static pid_t swept;
	DIR *dir = swept == getpid() ? NULL : opendir(tmp);
	struct dirent *d;

	swept = getpid();
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		char *path = is_named_as_copy(d->d_name) ? io_join(tmp, d->d_name) : NULL;
		int fd = path != NULL ? lock_copy_dir(path, LOCK_NB) : -1;

		if (fd >= 0) {
			remove_copy_files(fd);
			rmdir(path);
			close(fd);
		}
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
}

/* 0, or -1 with errno. A sweeper may take one that is not locked yet: then another one is made. */
static int
make_copy_dir(struct db_copy *c, const char *tmp)
{
	for (int try = 0; try < 10; try++) {
		c->dir = xasprintf("%s/" COPY_DIR "XXXXXX", tmp);
		if (mkdtemp(c->dir) == NULL)
			return -1;
		c->lock = lock_copy_dir(c->dir, 0);
		if (c->lock >= 0)
			return 0;
		rmdir(c->dir);
		free(c->dir);
	}
	c->dir = xasprintf("%s/" COPY_DIR "XXXXXX", tmp);
	errno = EAGAIN;
	return -1;
}

static void db_copy_remove(struct db_copy *c);

/*
 * "locked", "too-large", "unreadable", "not-a-file", "disk-full", "unwritable". Of a failed
 * attempt nothing stays.
 */
static int
db_copy_make(struct db_copy *c, const char *path, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	tmp = tmp != NULL && tmp[0] == '/' ? tmp : "/tmp";
	sweep_copies(tmp);
	if (make_copy_dir(c, tmp) != 0) {
		err_sys(e, GT_FAIL, "unwritable", "cannot create a private directory for a copy of %s (%s)",
		    path, c->dir);
		free(c->dir);
		return err_hint(e, "Set TMPDIR to a directory that this user can write");
	}
	c->file = io_join(c->dir, "db");
	if (copy_parts(path, c->file, e) == 0 && super_journal_refuse(path, c->file, e) == 0)
		return 0;
	db_copy_remove(c);
	return -1;
}

/* Unlinks it; who has it open may go on reading. */
static void
db_copy_remove(struct db_copy *c)
{
	remove_copy_files(c->lock);
	rmdir(c->dir);
	close(c->lock);
	free(c->file);
	free(c->dir);
}

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

	db_begin();
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
 * May SQLite read it in place without writing anything? The shared lock is SQLite's own and is
 * kept: while it is held nobody can switch the file to WAL mode or begin to change it, so that
 * what is seen here still holds when SQLite reads.
 */
static bool
is_at_rest(sqlite3 *db, const char *path)
{
	unsigned char h[DB_HEADER];
	sqlite3_file *file;
	int rc;

	if (db_header(db, h, &file, &rc) < DB_HEADER ||
	    file->pMethods->xLock(file, SQLITE_LOCK_SHARED) != SQLITE_OK)
		return false;
	return db_header(db, h, &file, &rc) >= DB_HEADER && db_is_sqlite(h) && !is_wal(h) &&
	    db_part_size(path, DB_JOURNAL) <= 0 && db_part_size(path, DB_WAL) < 0;
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
	if (!is_at_rest(db, path))
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

/*
 * Rolls back or checkpoints the copy; afterwards it is one file without a log, held in exclusive
 * mode, that no longer needs its name.
 */
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
		return err_set(e, GT_FAIL, "unreadable",
		    "a private copy of the database cannot be opened (SQLite %d)", rc);
	if (db_defend(db, true, e) == 0 &&
	    db_set_pragmas(db, wanted, sizeof wanted / sizeof wanted[0], e) == 0 && db_check(db, e) == 0 &&
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
	struct db_copy copy = { .file = NULL };
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
	if ((n == DB_HEADER && db_is_sqlite(h)) || db_part_size(path, DB_JOURNAL) > 0 ||
	    db_part_size(path, DB_WAL) > 0)
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
		return err_sys(
		    e, GT_FAIL, errno == ENOENT || errno == ENOTDIR ? "not-found" : "unreadable", "%s", path);
	ret = foreign_file(real, e);
	if (ret == 0)
		ret = open_in_place(real, out, e);
	if (ret == 0)
		ret = open_copy(real, out, e);
	free(real);
	return ret > 0 ? 0 : ret;
}
