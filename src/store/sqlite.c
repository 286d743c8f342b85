/*
 * The store in one SQLite file. Table `record` holds the records, table `done` the ids of the
 * last commits: when COMMIT answers with an error of the disk, the file itself tells afterwards
 * whether the change is in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"

#define DONE_KEPT 256

static int
sqlite_fail(struct sqlite_store *s, int rc, struct err *e)
{
	bool damaged = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;

	db_fail(s->db, rc, e);
	if (damaged)
		sqlite_distrust(s);
	if (damaged || (rc & 0xff) == SQLITE_IOERR)
		s->broken = true;
	return sqlite_damage_hint(s->path, e);
}

static int
is_usable(const struct sqlite_store *s, struct err *e)
{
	if (!s->broken)
		return 0;
	err_set(e, GT_FAIL, "io", "the store %s is not used any more after an error of its disk", s->path);
	return err_hint(e, "Look at the disk (dmesg, df), then run the command again");
}

static const char *const sql[SQL_COUNT] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_GET] = "SELECT version, tag, value FROM record WHERE key = ?1",
	[SQL_SCAN] = "SELECT key, version, tag, value FROM record WHERE key >= ?1 AND key < ?2 ORDER BY key "
		     "LIMIT ?3",
	[SQL_SCAN_TAG] = "SELECT key, version, tag, value FROM record WHERE tag = ?4 AND key >= ?1 AND key < "
			 "?2 ORDER BY key LIMIT ?3",
	[SQL_VERSION] = "SELECT version FROM record WHERE key = ?1",
	[SQL_PUT] = "INSERT INTO record(key, version, tag, value) VALUES(?1, ?2, ?3, ?4)"
		    " ON CONFLICT(key) DO UPDATE SET version = ?2, tag = ?3, value = ?4",
	[SQL_DELETE] = "DELETE FROM record WHERE key = ?1",
	[SQL_NEXT] = "SELECT coalesce(max(seq), 0) + 1 FROM done",
	[SQL_DONE] = "INSERT INTO done(seq, id, at) VALUES(?1, ?2, ?3)",
	[SQL_FORGET] = "DELETE FROM done WHERE seq <= ?1",
};

/* Whoever steps it resets it, or it keeps the file locked. */
static sqlite3_stmt *
prepare_sql(struct sqlite_store *s, enum sqlite_sql which, struct err *e)
{
	sqlite3_stmt **st = &s->prepared[which];

	if (*st == NULL && (*st = db_prepare(s->db, sql[which], NULL)) == NULL)
		sqlite_fail(s, sqlite3_extended_errcode(s->db), e);
	return *st;
}

static void
finalize_all(struct sqlite_store *s)
{
	for (int i = 0; i < SQL_COUNT; i++) {
		sqlite3_finalize(s->prepared[i]);
		s->prepared[i] = NULL;
	}
	db_close(s->db);
	s->db = NULL;
}

/* Runs a statement that answers no rows. */
static int
run_statement(struct sqlite_store *s, sqlite3_stmt *st, struct err *e)
{
	int rc = sqlite3_step(st);

	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : sqlite_fail(s, rc, e);
}

/* The number in the first row, 0 when there is none. */
static int
query_number(struct sqlite_store *s, sqlite3_stmt *st, int64_t *out, struct err *e)
{
	int rc = sqlite3_step(st);

	*out = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	sqlite3_reset(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : sqlite_fail(s, rc, e);
}

static void
bind_text(sqlite3_stmt *st, int i, const char *s)
{
	sqlite3_bind_text(st, i, s, -1, SQLITE_STATIC);
}

static int64_t
sqlite_now(struct store *s)
{
	(void)s;
	return clock_wall_ms();
}

static int
sqlite_get(struct store *base, const char *key, struct record *out, struct err *e)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	sqlite3_stmt *st;
	int rc;

	if (is_usable(s, e) != 0 || (st = prepare_sql(s, SQL_GET, e)) == NULL)
		return -1;
	bind_text(st, 1, key);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = (struct record){
			.key = xstrdup(key),
			.version = sqlite3_column_int64(st, 0),
			.tag = xstrdup((const char *)sqlite3_column_text(st, 1)),
			.value = xstrdup((const char *)sqlite3_column_text(st, 2)),
		};
	sqlite3_reset(st);
	sqlite_leave(s, true);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : sqlite_fail(s, rc, e);
}

static int
sqlite_scan(struct store *base, const char *prefix, const char *tag, const char *after, size_t limit,
    struct records *out, struct err *e)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	sqlite3_stmt *st;
	char *end;
	int rc;

	if (is_usable(s, e) != 0 || (st = prepare_sql(s, tag != NULL ? SQL_SCAN_TAG : SQL_SCAN, e)) == NULL)
		return -1;
	if (after != NULL && strcmp(after, prefix) >= 0)
		/* with its NUL it is the next key */
		sqlite3_bind_text(st, 1, after, (int)strlen(after) + 1, SQLITE_STATIC);
	else
		bind_text(st, 1, prefix);
	if ((end = store_prefix_end(prefix)) != NULL)
		sqlite3_bind_text(st, 2, end, -1, free);
	else
		sqlite3_bind_zeroblob(st, 2, 0);	/* every text comes before a blob */
	sqlite3_bind_int64(st, 3, (sqlite3_int64)limit);
	if (tag != NULL)
		bind_text(st, 4, tag);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		store_records_add(out, (const char *)sqlite3_column_text(st, 0), sqlite3_column_int64(st, 1),
		    (const char *)sqlite3_column_text(st, 2), (const char *)sqlite3_column_text(st, 3));
	sqlite3_reset(st);
	sqlite_leave(s, true);
	return rc == SQLITE_DONE ? 0 : sqlite_fail(s, rc, e);
}

static enum commit
apply_change(struct sqlite_store *s, const struct change *c, int64_t seq, struct err *e)
{
	sqlite3_stmt *st = prepare_sql(s, SQL_VERSION, e);
	int64_t version;

	if (st == NULL)
		return COMMIT_ERROR;
	bind_text(st, 1, c->key);
	if (query_number(s, st, &version, e) != 0)
		return COMMIT_ERROR;
	if (c->expect != STORE_ANY && c->expect != version)
		return store_conflict(c->key, e);
	if (c->kind == CHANGE_CHECK || (c->kind == CHANGE_DELETE && version == 0))
		return COMMIT_DONE;
	if ((st = prepare_sql(s, c->kind == CHANGE_DELETE ? SQL_DELETE : SQL_PUT, e)) == NULL)
		return COMMIT_ERROR;
	bind_text(st, 1, c->key);
	if (c->kind == CHANGE_PUT) {
		/*
		 * seq has outgrown every version so far: a key that was deleted and made anew
		 * never repeats one
		 */
		sqlite3_bind_int64(st, 2, version == 0 ? seq : version + 1);
		bind_text(st, 3, c->tag);
		bind_text(st, 4, c->value);
	}
	return run_statement(s, st, e) == 0 ? COMMIT_DONE : COMMIT_ERROR;
}

static int
note_done(struct sqlite_store *s, int64_t seq, const char *id, struct err *e)
{
	sqlite3_stmt *st = prepare_sql(s, SQL_DONE, e);

	if (st == NULL)
		return -1;
	sqlite3_bind_int64(st, 1, seq);
	bind_text(st, 2, id);
	sqlite3_bind_int64(st, 3, clock_wall_ms());
	if (run_statement(s, st, e) != 0 || (st = prepare_sql(s, SQL_FORGET, e)) == NULL)
		return -1;
	sqlite3_bind_int64(st, 1, seq - DONE_KEPT);
	return run_statement(s, st, e);
}

/*
 * After an error at COMMIT: a fresh connection says whether the change is in the file. 1, 0, or
 * -1 when it cannot be told.
 */
static int
find_commit(struct sqlite_store *s, const char *id)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	bool fresh;
	int rc, found = -1;

	if (db_open_own(s->path, SQLITE_APP_ID, NULL, NULL, &db, &fresh, NULL) != 0)
		return -1;
	st = db_prepare(db, "SELECT 1 FROM done WHERE id = ?1", NULL);
	if (st != NULL) {
		bind_text(st, 1, id);
		rc = sqlite3_step(st);
		found = rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : -1;
		sqlite3_finalize(st);
	}
	db_close(db);
	return found;
}

/*
 * COMMIT failed (e says how). Not in the file: it failed, for certain. In the file: it may be in
 * the kernel's cache only, and after a failed fsync no later one proves anything, so that the
 * answer is "unknown"; the next process reads the truth from the disk.
 */
static enum commit
resolve_commit_of(struct sqlite_store *s, const char *id, struct err *e)
{
	struct err why = ERR_INIT;
	int found;

	if (e != NULL)
		why = *e;
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	if (strcmp(why.name, "locked") == 0)
		return COMMIT_ERROR;
	finalize_all(s);
	s->broken = true;
	found = find_commit(s, id);
	if (found == 0)
		return COMMIT_ERROR;
	err_set(e, GT_FAIL, "unknown", "%s: the change was written to %s, but the disk did not confirm it",
	    why.msg, s->path);
	err_hint(e, "Look at the disk (dmesg, df), then run the command again: it takes up what it finds");
	return COMMIT_UNKNOWN;
}

static enum commit
commit_locked(struct sqlite_store *s, const struct change *changes, size_t n, struct err *e)
{
	sqlite3_stmt *begin = prepare_sql(s, SQL_BEGIN, e), *next = prepare_sql(s, SQL_NEXT, e),
		     *end = prepare_sql(s, SQL_COMMIT, e);
	enum commit answer = COMMIT_ERROR;
	int64_t seq;
	char id[33];

	if (begin == NULL || next == NULL || end == NULL || run_statement(s, begin, e) != 0)
		return COMMIT_ERROR;
	io_random_hex(id, 16);
	if (query_number(s, next, &seq, e) != 0)
		goto out;
	answer = COMMIT_DONE;
	for (size_t i = 0; i < n && answer == COMMIT_DONE; i++)
		answer = apply_change(s, &changes[i], seq, e);
	if (answer != COMMIT_DONE)
		goto out;
	answer = COMMIT_ERROR;
	s->seq = seq;
	if (note_done(s, seq, id, e) != 0)
		goto out;
	if (fault_point("store-commit") != 0) {
		sqlite_injected(s, e);
		goto out;
	}
	if (run_statement(s, end, e) != 0)
		return resolve_commit_of(s, id, e);
	if (fault_point("store-committed") != 0) {
		sqlite_injected(s, e);
		return resolve_commit_of(s, id, e);
	}
	return COMMIT_DONE;
out:
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return answer;
}

/* A damaged store is replaced under the lock: what is committed to the old file then would be lost. */
static bool
in_place(struct sqlite_store *s, struct err *e)
{
	int moved = 0;

	if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved == 0)
		return true;
	s->broken = true;
	err_set(e, GT_AGAIN, "replaced", "the store %s was replaced while this command ran", s->path);
	err_hint(e, "Run the command again: it will see the new state");
	return false;
}

static enum commit
sqlite_commit(struct store *base, const struct change *changes, size_t n, struct err *e)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	struct err own = ERR_INIT;
	enum commit answer;

	if (e == NULL)
		e = &own;
	if (is_usable(s, e) != 0)
		return COMMIT_ERROR;
	if (s->readonly) {
		err_set(e, GT_FAIL, "read-only", "the store %s was opened for reading", s->path);
		return COMMIT_ERROR;
	}
	if (sqlite_lock(s, e) != 0)
		return COMMIT_ERROR;
	answer = in_place(s, e) ? commit_locked(s, changes, n, e) : COMMIT_ERROR;
	if (answer == COMMIT_DONE)
		sqlite_backup(s, s->seq);
	sqlite_leave(s, !s->broken);
	return answer;
}

static int
sqlite_hold_lock(struct store *base, struct err *e)
{
	struct sqlite_store *s = (struct sqlite_store *)base;

	if (s->readonly || s->broken)
		return 0;
	if (sqlite_enter(s, e) != 0)
		return -1;
	s->held = true;
	return 0;
}

static void
sqlite_release_lock(struct store *base)
{
	struct sqlite_store *s = (struct sqlite_store *)base;

	s->held = false;
	sqlite_leave(s, !s->broken);
}

static void
sqlite_close(struct store *base)
{
	struct sqlite_store *s = (struct sqlite_store *)base;

	finalize_all(s);
	sqlite_release_lock(base);
	free(s->path);
	free(s->lock);
	free(s);
}

static const struct backend sqlite_calls = {
	.close = sqlite_close,
	.now = sqlite_now,
	.get = sqlite_get,
	.scan = sqlite_scan,
	.commit = sqlite_commit,
	.lock = sqlite_hold_lock,
	.unlock = sqlite_release_lock,
};

struct store *
sqlite_open(const char *path, enum store_use use, struct err *e)
{
	struct sqlite_store *s = xcalloc(1, sizeof *s);
	struct err own = ERR_INIT;
	bool look = use == STORE_LOOK, fresh = true;
	int ret;

	if (e == NULL)
		e = &own;
	s->base.calls = &sqlite_calls;
	s->path = xstrdup(path);
	s->lock = sqlite_lock_path(path);
	s->lock_fd = -1;
	s->readonly = look;
	s->brief = use == STORE_BRIEF;
	ret = look ? db_open_foreign(path, &s->db, e)
		   : db_open_own(path, SQLITE_APP_ID, sqlite_busy, s, &s->db, &fresh, e);
	if (ret == 0 && !look)
		ret = sqlite_sync_left(s, e);
	if (ret == 0 && !fresh && !s->brief)
		ret = sqlite_check(s, e);
	if (ret == 0 && sqlite_schema(s, e) == 0) {
		sqlite_leave(s, true);
		return &s->base;
	}
	if (sqlite_is_damage(e))
		sqlite_distrust(s);
	sqlite_damage_hint(path, e);
	sqlite_close(&s->base);
	return NULL;
}
