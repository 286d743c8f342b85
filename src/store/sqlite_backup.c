/*
 * The backup of the store, and the way back to it. PATH.backup is the newest, PATH.backup.old the one before
 * (docs/decisions/0007-a-damaged-store-goes-on-from-its-backup.md).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"

#define EVERY ((int64_t)256)			/* commits */
#define BYTES_A_COMMIT ((int64_t)64 << 10)	/* of a large store, on the average */
#define AGE_MS ((int64_t)10 * 60 * 1000)
/* a restored store may have been that many versions further */
#define LEAP "1000000"
#define CHUNK 65536
#define BRIEF_MAX ((off_t)1 << 20)		/* of a store that is copied by who has little time */

static char *
path_beside(const char *path, const char *suffix)
{
	return xasprintf("%s%s", path, suffix);
}

bool
sqlite_has_backup(const char *path)
{
	static const char *const suffixes[] = { ".backup", ".backup.old" };
	bool there = false;

	for (int i = 0; i < 2; i++) {
		char *name = path_beside(path, suffixes[i]);

		there = there || access(name, F_OK) == 0;
		free(name);
	}
	return there;
}

/* n bytes of a file's header from `at` on. */
static bool
header_has(const char *path, off_t at, const char *bytes, size_t n)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char found[8];
	bool has = fd >= 0 && pread(fd, found, n, at) == (ssize_t)n && memcmp(found, bytes, n) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

bool
sqlite_is_own_file(const char *path)
{
	char *backup = path_beside(path, ".backup"), *old = path_beside(path, ".backup.old");
	bool own = header_has(backup, 68, "GTRC", 4) || header_has(old, 68, "GTRC", 4);
	struct stat st;
	sqlite3 *db;

	/* another user's is refused for its owner, and may be sound */
	own = own && lstat(path, &st) == 0 && st.st_uid == geteuid();
	/* no file of another program gets a -shm from us: 1, 1 is a rollback journal */
	if (own && header_has(path, 18, "\1\1", 2) && (db = db_open_damaged(path)) != NULL) {
		own = sqlite_says_schema(db);
		db_close(db);
	} else {
		own = false;
	}
	free(backup);
	free(old);
	return own;
}

/* ---- making one ---- */

/*
 * One that was broken off by the death of its process is made again at once: it had been due, and
 * its file must not stay.
 */
static bool
is_backup_due(struct sqlite_store *s, int64_t seq)
{
	char *name = path_beside(s->path, ".backup"), *made = path_beside(s->path, ".backup.new");
	struct stat st, store;
	bool there = stat(name, &st) == 0, none = !there && errno == ENOENT,
	     broken_off = access(made, F_OK) == 0;
	int64_t every = EVERY;

	free(name);
	free(made);
	if (s->brief && (lstat(s->path, &store) != 0 || store.st_size > BRIEF_MAX))
		return false;
	if (broken_off)
		return true;
	if (!there)
		return none;
	if (st.st_size / BYTES_A_COMMIT > every)
		every = st.st_size / BYTES_A_COMMIT;
	return seq % every == 0 || llabs(clock_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000) > AGE_MS;
}

/*
 * A new file at path, for one copy: it counts only when it was renamed, so that it needs no
 * journal of its own.
 */
static int
new_file(const char *path, sqlite3 **out, struct err *e)
{
	sqlite3 *db = NULL;
	int fd, rc;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, GT_FAIL, "unwritable", "%s cannot be made", path);
	close(fd);
	rc = sqlite3_open_v2(
	    path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, NULL);
	if (rc != SQLITE_OK)
		db_fail(db, rc, e);
	else if (db_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", e) == 0) {
		*out = db;
		return 0;
	}
	db_close(db);
	unlink(path);
	return -1;
}

static int
copy_pages(sqlite3 *from, sqlite3 *to, struct err *e)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	int rc;

	if (b == NULL)
		return db_fail(to, sqlite3_errcode(to), e);
	rc = sqlite3_backup_step(b, -1);
	sqlite3_backup_finish(b);
	return rc == SQLITE_DONE ? 0 : db_fail(from, rc, e);
}

static int
sync_file(const char *path, struct err *e)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC), ret = 0;

	if (fd < 0 || fsync(fd) != 0)
		ret = err_sys(e, GT_FAIL, "io", "%s cannot be synced", path);
	if (fd >= 0)
		close(fd);
	return ret;
}

/*
 * A copy that is checked like the store itself, and that stays once its name is synced. `then` (may
 * be NULL) changes it first.
 */
static int
copy_to(sqlite3 *from, const char *path, int (*then)(sqlite3 *to, void *arg, struct err *e), void *arg,
    struct err *e)
{
	sqlite3 *to = NULL;
	int ret;

	if (new_file(path, &to, e) != 0)
		return -1;
	ret = copy_pages(from, to, e);
	if (ret == 0 && then != NULL)
		ret = then(to, arg, e);
	if (ret == 0)
		ret = sqlite_verify(to, e);
	db_close(to);
	if (ret == 0)
		ret = sync_file(path, e);
	if (ret != 0)
		unlink(path);
	return ret;
}

static int
make_backup(struct sqlite_store *s, struct err *e)
{
	char *name = path_beside(s->path, ".backup"), *old = path_beside(s->path, ".backup.old"),
	     *made = path_beside(s->path, ".backup.new");
	int ret = copy_to(s->db, made, NULL, NULL, e);

	if (ret == 0 && fault_point("store-backup") != 0)
		ret = sqlite_injected(s, e);
	if (ret == 0 &&
	    ((rename(name, old) != 0 && errno != ENOENT) || rename(made, name) != 0 ||
		io_sync_parent(name) != 0))
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be put in its place", name);
	if (ret != 0)
		unlink(made);
	free(name);
	free(old);
	free(made);
	return ret;
}

/* Under the writers' lock; the copy of one who was killed on the way is replaced. */
int
sqlite_keep_schema(struct sqlite_store *s, int64_t schema, struct err *e)
{
	char *name = xasprintf("%s.schema-%lld", s->path, (long long)schema),
	     *made = path_beside(name, ".new");
	int ret = copy_to(s->db, made, NULL, NULL, e);

	if (ret == 0 && (rename(made, name) != 0 || io_sync_parent(name) != 0))
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be put in its place", name);
	free(name);
	free(made);
	return ret;
}

/*
 * What is due at every commit is at most AGE_MS behind the last one; a minute more for one that
 * takes long.
 */
int
sqlite_backup_info(const char *path, struct store_backup *out, struct err *e)
{
	char *name = path_beside(path, ".backup");
	struct stat store, st;
	sqlite3 *db;
	int ret = -1;

	memset(out, 0, sizeof *out);
	if (stat(path, &store) != 0) {
		err_sys(e, GT_FAIL, "unreadable", "%s cannot be examined", path);
	} else if (stat(name, &st) != 0) {
		ret = errno == ENOENT ? 0 : err_sys(e, GT_FAIL, "unreadable", "%s cannot be examined", name);
	} else if (db_open_foreign(name, &db, e) == 0) {
		ret = sqlite_verify(db, e) == 0 ? 1 : -1;
		db_close(db);
		out->at = (int64_t)st.st_mtim.tv_sec * 1000;
		out->late = (int64_t)store.st_mtim.tv_sec * 1000 - out->at > AGE_MS + 60000;
	}
	free(name);
	return ret;
}

void
sqlite_backup(struct sqlite_store *s, int64_t seq)
{
	struct err e = ERR_INIT;

	if (is_backup_due(s, seq) && make_backup(s, &e) != 0 && sqlite_is_damage(&e))
		sqlite_distrust(s);
}

/* After a conversion: a backup of before would be converted anew at each restoring. */
void
sqlite_backup_now(struct sqlite_store *s)
{
	make_backup(s, NULL);
}

/* ---- the way back ---- */

/*
 * 1 it is damaged, or has nothing in it; 0 it is not; -1 with err, it cannot be told. Opened as
 * sqlite_open does: where SQLite 3.40 knows views, integrity_check may leave out the freelist, and
 * an open would go on refusing what is not restored.
 */
static int
is_damaged_file(const char *path, struct err *e)
{
	struct err own = ERR_INIT;
	sqlite3 *db;
	bool fresh;

	if (db_open_known(path, SQLITE_APP_ID, &sqlite_layout, NULL, NULL, &db, &fresh, &own) == 0) {
		bool whole = !fresh && sqlite_verify(db, &own) == 0;

		db_close(db);
		if (whole || fresh)
			return fresh;
	}
	if (sqlite_is_damage(&own) || (strcmp(own.name, "not-ours") == 0 && sqlite_is_own_file(path)))
		return 1;
	if (e != NULL)
		*e = own;
	return -1;
}

/* All bytes of a file into a new one. A missing file is none: 0. */
static int
copy_bytes(const char *from, const char *to, struct err *e)
{
	int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), out, ret = 0;
	char *chunk;
	ssize_t n;

	if (in < 0)
		return errno == ENOENT ? 0 : err_sys(e, GT_FAIL, "unreadable", "%s cannot be read", from);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	chunk = xmalloc(CHUNK);
	while (out >= 0 && (n = read(in, chunk, CHUNK)) != 0)
		if ((n < 0 && errno != EINTR) || (n > 0 && io_write_all(out, chunk, (size_t)n) != 0)) {
			ret = -1;
			break;
		}
	if (out < 0 || ret != 0 || fsync(out) != 0)
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be copied to %s", from, to);
	if (out >= 0)
		close(out);
	close(in);
	free(chunk);
	return ret;
}

/* What was damaged stays for whoever wants to look: a copy under a name of its own. */
static int
set_aside(const char *path, char *aside, size_t size, struct err *e)
{
	char *journal = path_beside(path, "-journal"), *journal_aside;
	time_t now = (time_t)(clock_wall_ms() / 1000);
	struct tm tm;
	char stamp[32];
	int ret;

	gmtime_r(&now, &tm);
	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
	snprintf(aside, size, "%s.corrupt-%s-%d", path, stamp, (int)getpid());
	journal_aside = path_beside(aside, "-journal");
	ret = copy_bytes(path, aside, e);
	if (ret == 0)
		ret = copy_bytes(journal, journal_aside, e);
	if (ret == 0 && io_sync_parent(path) != 0)
		ret = err_sys(e, GT_FAIL, "unwritable", "the directory of %s cannot be synced", path);
	/* the journal of the damaged file would be rolled back into the restored one */
	if (ret == 0 && access(journal, F_OK) == 0 &&
	    (truncate(journal, 0) != 0 || sync_file(journal, e) != 0))
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be emptied", journal);
	free(journal);
	free(journal_aside);
	return ret;
}

struct restoring {
	const char *damaged;
	struct store_restored *out;
};

/*
 * Every version becomes far higher than any that the damaged store can have given: whoever still
 * holds one of those must lose.
 */
static int
merge_damaged(sqlite3 *to, void *arg, struct err *e)
{
	struct restoring *r = arg;
	int64_t schema;
	char *sql = NULL;
	int ret = sqlite_add_functions(to, e);

	if (ret == 0)
		ret = db_number(to, "PRAGMA user_version", &schema, e);
	if (ret == 0 && schema < STORE_SCHEMA)
		ret = db_exec(to, sql = sqlite_migration(schema), e);
	free(sql);
	if (ret == 0)
		ret = sqlite_salvage(r->damaged, to, r->out, e);
	if (ret == 0)
		ret = db_exec(to,
		    "UPDATE record SET version = version + " LEAP
		    ", sum = record_sum(key, version + " LEAP ", tag, value);"
		    "INSERT INTO done(seq, id, at)"
		    " SELECT max(seq) + " LEAP ", 'restored', max(at) FROM done GROUP BY 'restored'",
		    e);
	return ret == 0 ? db_exec(to, sqlite_retally, e) : ret;
}

/* A copy of a backup that is sound, with what is sound in the damaged file. */
static int
copy_backup(const char *backup, const char *path, const char *to, struct store_restored *out, struct err *e)
{
	struct restoring with = { path, out };
	struct stat st;
	sqlite3 *db;
	int64_t id = 0, schema = 0;
	int ret;

	if (stat(backup, &st) != 0)
		return err_sys(e, GT_FAIL, "not-found", "%s", backup);
	out->backup_at = (int64_t)st.st_mtim.tv_sec * 1000;
	if (db_open_foreign(backup, &db, e) != 0)
		return -1;
	ret = db_number(db, "PRAGMA application_id", &id, e);
	if (ret == 0)
		ret = db_number(db, "PRAGMA user_version", &schema, e);
	if (ret == 0 && (id != SQLITE_APP_ID || schema < 1 || schema > STORE_SCHEMA))
		ret = err_set(e, GT_FAIL, "not-ours", "%s is not a backup of a store", backup);
	/* what the versions' leap gives new checksums must have had the right ones */
	if (ret == 0)
		ret = sqlite_verify(db, e);
	if (ret == 0)
		ret = copy_to(db, to, merge_damaged, &with, e);
	db_close(db);
	return ret;
}

static int
restore_backup(const char *path, struct store_restored *out, struct err *e)
{
	static const char *const suffixes[] = { ".backup", ".backup.old" };
	char *made = path_beside(path, ".mending");
	int ret = -1;

	for (int i = 0; i < 2 && ret != 0; i++) {
		char *backup = path_beside(path, suffixes[i]);

		ret = copy_backup(backup, path, made, out, NULL);
		free(backup);
	}
	if (ret != 0) {
		err_set(e, GT_FAIL, "corrupt", "the store %s is damaged and has no intact backup",
		    path);
		err_hint(e,
		    "Nothing was changed. To salvage data: sqlite3 FILE .recover; then move FILE, "
		    "FILE-journal and FILE.backup* away: the next command creates a new store");
	}
	if (ret == 0)
		ret = set_aside(path, out->aside, sizeof out->aside, e);
	if (ret == 0 && fault_point("store-mend") != 0)
		ret = err_sys(e, GT_FAIL, "io", "the disk failed on %s", path);
	if (ret == 0 && (rename(made, path) != 0 || io_sync_parent(path) != 0))
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be put in the place of %s", made, path);
	if (ret != 0)
		unlink(made);
	free(made);
	return ret;
}

int
sqlite_restore(const char *path, struct store_restored *out, struct err *e)
{
	char *lock_path = sqlite_lock_path(path);
	int lock = io_lock(lock_path, SQLITE_LOCK_WAIT_MS, e), ret = -1;

	memset(out, 0, sizeof *out);
	if (lock >= 0 && sqlite_mark(lock, true) != 0)
		err_sys(e, GT_FAIL, "unwritable", "the lock file %s cannot be written", lock_path);
	else if (lock >= 0 && (ret = is_damaged_file(path, e)) > 0)
		ret = restore_backup(path, out, e) == 0 ? 1 : -1;
	/* where nothing was replaced the note of one who was killed stays */
	if (ret > 0)
		sqlite_mark(lock, false);
	if (lock >= 0)
		close(lock);
	free(lock_path);
	return ret;
}
