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

int
sqlite_error(struct sqlite_store *s, int rc, struct err *e)
{
	bool damaged = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
	struct err own = ERR_INIT;

	if (e == NULL)
		e = &own;
	db_fail(s->db, rc, e);
	if (damaged)
		sqlite_distrust(s);
	if (damaged || (rc & 0xff) == SQLITE_IOERR)
		s->broken = true;
	return sqlite_damage_hint(s->path, e);
}

int
sqlite_damaged(struct sqlite_store *s, const char *what, struct err *e)
{
	struct err own = ERR_INIT;

	if (e == NULL)
		e = &own;
	sqlite_distrust(s);
	err_set(e, GT_FAIL, "corrupt", "the store %s is damaged: %s", s->path, what);
	sqlite_damage_hint(s->path, e);
	return -1;
}

static int
is_usable(const struct sqlite_store *s, struct err *e)
{
	if (!s->broken)
		return 0;
	err_set(e, GT_FAIL, "io", "the store %s is no longer used after a disk error", s->path);
	return err_hint(e, "Check the disk (dmesg, df), then run the command again");
}

static const char *const sql[SQL_COUNT] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_LOOK] = "BEGIN",
	[SQL_BEFORE] = "SELECT key, version, tag, value, sum FROM record INDEXED BY sqlite_autoindex_record_1"
		       " WHERE key < ?1 ORDER BY key DESC LIMIT 1",
	[SQL_SCAN] = "SELECT key, version, tag, value, sum FROM record WHERE key >= ?1 AND key < ?2 ORDER BY "
		     "key LIMIT ?3",
	[SQL_SCAN_TAG] = "SELECT key, version, tag, value, sum FROM record WHERE tag = ?4 AND key >= ?1 AND "
			 "key < ?2 ORDER BY key LIMIT ?3",
	[SQL_TWIN] = "SELECT sum FROM record INDEXED BY record_tag WHERE tag = ?3 AND key >= ?1 AND key < ?2",
	[SQL_PUT] = "INSERT INTO record(key, version, tag, value, sum) VALUES(?1, ?2, ?3, ?4, ?5)"
		    " ON CONFLICT(key) DO UPDATE SET version = ?2, tag = ?3, value = ?4, sum = ?5",
	[SQL_DELETE] = "DELETE FROM record WHERE key = ?1",
	[SQL_NEXT] = "SELECT coalesce(max(seq), 0) + 1 FROM done",
	[SQL_DONE] = "INSERT INTO done(seq, id, at) VALUES(?1, ?2, ?3)",
	[SQL_FORGET] = "DELETE FROM done WHERE seq <= ?1",
	[SQL_TALLY] = "SELECT kind, tag, n, sum, mark FROM tally",
	[SQL_TALLY_PUT] = "REPLACE INTO tally VALUES(?1, ?2, ?3, ?4, ?5)",
};

/* Of a file without checksums (sqlite_schema). */
static const char *const plain_sql[SQL_COUNT] = {
	[SQL_SCAN] = "SELECT key, version, tag, value FROM record WHERE key >= ?1 AND key < ?2 ORDER BY key "
		     "LIMIT ?3",
	[SQL_SCAN_TAG] = "SELECT key, version, tag, value FROM record WHERE tag = ?4 AND key >= ?1 AND key < "
			 "?2 ORDER BY key LIMIT ?3",
	[SQL_PUT] = "INSERT INTO record(key, version, tag, value) VALUES(?1, ?2, ?3, ?4)"
		    " ON CONFLICT(key) DO UPDATE SET version = ?2, tag = ?3, value = ?4",
};

/* Whoever steps it resets it, or it keeps the file locked. */
sqlite3_stmt *
sqlite_prepare(struct sqlite_store *s, enum sqlite_sql which, struct err *e)
{
	sqlite3_stmt **st = &s->prepared[which];

	const char *text = s->plain && plain_sql[which] != NULL ? plain_sql[which] : sql[which];

	if (*st == NULL && (*st = db_prepare(s->db, text, NULL)) == NULL) {
		int rc = sqlite3_extended_errcode(s->db);

		/* it fits the tables as they were made */
		if ((rc & 0xff) == SQLITE_ERROR)
			sqlite_damaged(s, "its tables were changed", e);
		else
			sqlite_error(s, rc, e);
	}
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
int
sqlite_run(struct sqlite_store *s, sqlite3_stmt *st, struct err *e)
{
	int rc = sqlite3_step(st);

	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : sqlite_error(s, rc, e);
}

static int
run_sql(struct sqlite_store *s, enum sqlite_sql which, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, which, e);

	return st != NULL ? sqlite_run(s, st, e) : -1;
}

/* The number in the first row, 0 when there is none. */
static int
query_number(struct sqlite_store *s, sqlite3_stmt *st, int64_t *out, struct err *e)
{
	int rc = sqlite3_step(st);

	*out = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	sqlite3_reset(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : sqlite_error(s, rc, e);
}

void
sqlite_bind_word(sqlite3_stmt *st, int i, const char *s)
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
damaged_record(struct sqlite_store *s, const char *key, const char *why, struct err *e)
{
	char *what = xasprintf("the record %.200s %s", key, why);

	sqlite_damaged(s, what, e);
	free(what);
	return -1;
}

/*
 * The row that st stands on, its columns version, tag, value, sum from `first` on, as the record
 * key, lent by SQLite. NULL in key, or a sum that does not match: -1 with err.
 */
static int
read_record(struct sqlite_store *s, sqlite3_stmt *st, int first, const char *key, struct record *out,
    struct err *e)
{
	*out = (struct record){
		.key = (char *)(uintptr_t)key,
		.version = sqlite3_column_int64(st, first),
		.tag = (char *)(uintptr_t)sqlite3_column_text(st, first + 1),
		.value = (char *)(uintptr_t)sqlite3_column_text(st, first + 2),
	};
	if (key == NULL || out->tag == NULL || out->value == NULL ||
	    (!s->plain &&
		store_checksum(key, out->version, out->tag, out->value) !=
		    (uint64_t)sqlite3_column_int64(st, first + 3)))
		return damaged_record(s, key != NULL ? key : "?", "does not match its checksum", e);
	return 0;
}

/* The first key of a scan, and the one behind its last. */
static void
bind_range(sqlite3_stmt *st, const char *prefix, const char *after, const char *last)
{
	char *end;

	if (after != NULL && strcmp(after, prefix) >= 0)
		/* with its NUL it is the next key */
		sqlite3_bind_text(st, 1, after, (int)strlen(after) + 1, SQLITE_STATIC);
	else
		sqlite_bind_word(st, 1, prefix);
	if (last != NULL)
		sqlite3_bind_text(st, 2, last, (int)strlen(last) + 1, SQLITE_STATIC);
	else if ((end = store_prefix_end(prefix)) != NULL)
		sqlite3_bind_text(st, 2, end, -1, free);
	else
		sqlite3_bind_zeroblob(st, 2, 0);	/* every text comes before a blob */
}

/* The tag of the i-th tally; NULL: no record has it, or an earlier one names it. */
static const char *
tag_to_look_at(const struct sqlite_tally_lines *t, size_t i, const char *prefix)
{
	bool any = strchr(prefix, ':') == NULL;

	if (t->v[i].t.n == 0 || !(any || sqlite_tally_covers(&t->v[i], prefix)))
		return NULL;
	for (size_t k = 0; k < i && any; k++)
		if (t->v[k].t.n > 0 && strcmp(t->v[k].tag, t->v[i].tag) == 0)
			return NULL;
	return t->v[i].tag;
}

/*
 * What the index of tags has of a range of keys, as bind_range; counting ends behind `most`: a
 * damaged tree may lead back into itself.
 */
static int
read_twin(struct sqlite_store *s, const char *prefix, const char *after, const char *last, uint64_t most,
    struct store_tally *out, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, SQL_TWIN, e);
	const struct sqlite_tally_lines *t = &s->tallies;
	int rc = SQLITE_DONE;

	*out = (struct store_tally){ 0 };
	if (st == NULL || sqlite_read_tallies(s, e) != 0)
		return -1;
	for (size_t i = 0; i < t->n && rc == SQLITE_DONE; i++) {
		const char *tag = tag_to_look_at(t, i, prefix);

		if (tag == NULL)
			continue;
		bind_range(st, prefix, after, last);
		sqlite_bind_word(st, 3, tag);
		while (out->n <= most && (rc = sqlite3_step(st)) == SQLITE_ROW) {
			out->n++;
			out->sum += (uint64_t)sqlite3_column_int64(st, 0);
		}
		sqlite3_reset(st);
	}
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : sqlite_error(s, rc, e);
}

/* Do the index of tags and the rows that were read have the same records? */
static int
compare_twin(struct sqlite_store *s, const char *prefix, const char *after, const char *last,
    const struct store_tally *rows, struct err *e)
{
	struct store_tally twin;

	if (read_twin(s, prefix, after, last, rows->n, &twin, e) != 0)
		return -1;
	return twin.n == rows->n && twin.sum == rows->sum
	    ? 0
	    : damaged_record(s, prefix, "is missing, or stale, in one of two indexes", e);
}

/* A page that is not where it belongs leads to another record than the one before a key. */
static int
check_before(struct sqlite_store *s, const char *key, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, SQL_BEFORE, e);
	int rc, ret = 0;

	if (st == NULL)
		return -1;
	sqlite_bind_word(st, 1, key);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		const char *before = (const char *)sqlite3_column_text(st, 0);
		struct record r;

		if (before != NULL && strcmp(before, key) >= 0)
			ret = damaged_record(s, key, "is not in the order of its index", e);
		else
			ret = read_record(s, st, 1, before, &r, e);
	}
	sqlite3_reset(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? ret : sqlite_error(s, rc, e);
}

/* The index of keys has none: neither has the index of tags, and the place is where it would stand. */
static int
check_absence(struct sqlite_store *s, const char *key, struct err *e)
{
	struct store_tally twin;

	if (read_twin(s, key, NULL, key, 0, &twin, e) != 0)
		return -1;
	if (twin.n > 0)
		return damaged_record(s, key, "is in one index and not in the other", e);
	return check_before(s, key, e);
}

/* The index of tags has the same sum. */
static int
check_found(struct sqlite_store *s, const char *key, const char *tag, uint64_t sum, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, SQL_TWIN, e);
	bool same;
	int rc;

	if (st == NULL)
		return -1;
	bind_range(st, key, NULL, key);
	sqlite_bind_word(st, 3, tag);
	rc = sqlite3_step(st);
	same = rc == SQLITE_ROW && (uint64_t)sqlite3_column_int64(st, 0) == sum;
	sqlite3_reset(st);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return sqlite_error(s, rc, e);
	return same ? 0 : damaged_record(s, key, "differs from its index", e);
}

/*
 * The record of that key, lent by the statement *at, which is to be reset. 1; 0 absent; -1. *sum: its
 * checksum. Within a transaction: what proves the answer belongs to the same moment.
 */
static int
find_record(struct sqlite_store *s, const char *key, sqlite3_stmt **at, struct record *out, uint64_t *sum,
    struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, SQL_SCAN, e);
	const char *found;
	int rc, order = 1;

	memset(out, 0, sizeof *out);
	*sum = 0;
	*at = st;
	if (st == NULL)
		return -1;
	/* the record, or the one behind its place */
	sqlite_bind_word(st, 1, key);
	sqlite3_bind_zeroblob(st, 2, 0);
	sqlite3_bind_int64(st, 3, 1);
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return sqlite_error(s, rc, e);
	if (rc == SQLITE_ROW) {
		found = (const char *)sqlite3_column_text(st, 0);
		order = found != NULL ? strcmp(found, key) : 0;
		if (order < 0)
			return damaged_record(s, key, "is not in the order of its index", e);
		if (read_record(s, st, 1, found, out, e) != 0)
			return -1;
	}
	if (order == 0) {
		*sum = s->plain ? 0 : (uint64_t)sqlite3_column_int64(st, 4);
		return s->plain || check_found(s, key, out->tag, *sum, e) == 0 ? 1 : -1;
	}
	memset(out, 0, sizeof *out);
	return s->plain || check_absence(s, key, e) == 0 ? 0 : -1;
}

/* Rows and what proves them belong to one moment. *begun is for look_end. */
static int
look_begin(struct sqlite_store *s, bool *begun, struct err *e)
{
	*begun = sqlite3_get_autocommit(s->db) != 0;
	return *begun ? run_sql(s, SQL_LOOK, e) : 0;
}

static int
look_end(struct sqlite_store *s, bool begun, int ret, struct err *e)
{
	if (begun && run_sql(s, SQL_COMMIT, ret >= 0 ? e : NULL) != 0)
		ret = -1;
	if (begun)
		sqlite_keep_tallies(s);
	sqlite_leave(s, true);
	return ret;
}

static int
sqlite_get(struct store *base, const char *key, struct record *out, struct err *e)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	struct record found;
	sqlite3_stmt *st;
	uint64_t sum;
	bool begun;
	int ret;

	if (is_usable(s, e) != 0 || look_begin(s, &begun, e) != 0)
		return -1;
	ret = find_record(s, key, &st, &found, &sum, e);
	if (ret == 1)
		*out = (struct record){
			.key = xstrdup(key),
			.version = found.version,
			.tag = xstrdup(found.tag),
			.value = xstrdup(found.value),
		};
	sqlite3_reset(st);
	return look_end(s, begun, ret, e);
}

static int
scan_rows(struct sqlite_store *s, const char *prefix, const char *tag, const char *after, size_t limit,
    struct records *out, struct store_tally *rows, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, tag != NULL ? SQL_SCAN_TAG : SQL_SCAN, e);
	int rc = SQLITE_DONE, ret = 0;
	size_t had = out->n;

	if (st == NULL)
		return -1;
	bind_range(st, prefix, after, NULL);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)limit);
	if (tag != NULL)
		sqlite_bind_word(st, 4, tag);
	while (ret == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct record r;

		ret = read_record(s, st, 1, (const char *)sqlite3_column_text(st, 0), &r, e);
		if (ret == 0 && out->n > had && strcmp(r.key, out->v[out->n - 1].key) <= 0)
			ret = damaged_record(s, r.key, "is not in the order of its index", e);
		if (ret == 0) {
			store_records_add(out, r.key, r.version, r.tag, r.value);
			rows->n++;
			rows->sum += s->plain ? 0 : (uint64_t)sqlite3_column_int64(st, 4);
		}
	}
	sqlite3_reset(st);
	return ret != 0 || rc == SQLITE_DONE ? ret : sqlite_error(s, rc, e);
}

static int
sqlite_scan(struct store *base, const char *prefix, const char *tag, const char *after, size_t limit,
    struct records *out, struct scan_proof *proof, struct err *e)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	struct store_tally page = { 0 }, kept = { 0 };
	bool begun;
	int ret;

	if (is_usable(s, e) != 0 || look_begin(s, &begun, e) != 0)
		return -1;
	ret = scan_rows(s, prefix, tag, after, limit, out, &page, e);
	if (ret == 0 && proof->whole && !s->plain)
		ret = sqlite_read_tally(s, prefix, tag, &kept, e);
	if (ret == 0 && proof->twin && tag == NULL && !s->plain && (!proof->whole || page.n == limit))
		ret = compare_twin(
		    s, prefix, after, page.n == limit ? out->v[out->n - 1].key : NULL, &page, e);
	proof->rows.n += page.n;
	proof->rows.sum += page.sum;
	store_proof_keep(proof, s->plain ? &proof->rows : &kept);
	return look_end(s, begun, ret, e);
}

static int
sqlite_refuse(struct store *base, const char *what, struct err *e)
{
	return sqlite_damaged((struct sqlite_store *)base, what, e);
}

/* ---- commits ---- */

static int
put_record(struct sqlite_store *s, const struct change *c, int64_t version, uint64_t sum, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, SQL_PUT, e);

	if (st == NULL)
		return -1;
	sqlite_bind_word(st, 1, c->key);
	sqlite3_bind_int64(st, 2, version);
	sqlite_bind_word(st, 3, c->tag);
	sqlite_bind_word(st, 4, c->value);
	if (!s->plain)
		sqlite3_bind_int64(st, 5, (sqlite3_int64)sum);
	return sqlite_run(s, st, e);
}

static int
delete_record(struct sqlite_store *s, const char *key, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, SQL_DELETE, e);

	if (st == NULL)
		return -1;
	sqlite_bind_word(st, 1, key);
	return sqlite_run(s, st, e);
}

static enum commit
apply_change(struct sqlite_store *s, const struct change *c, int64_t seq, struct sqlite_tally_changes *t,
    struct err *e)
{
	struct record was;
	sqlite3_stmt *st;
	int64_t version;
	uint64_t sum = 0;
	int found = find_record(s, c->key, &st, &was, &sum, e);

	if (found > 0 && c->kind != CHANGE_CHECK)
		sqlite_count_change(t, c->key, was.tag, -1, sum);
	version = was.version;
	sqlite3_reset(st);
	if (found < 0)
		return COMMIT_ERROR;
	if (c->expect != STORE_ANY && c->expect != version)
		return store_conflict(c->key, e);
	if (c->kind == CHANGE_CHECK || (c->kind == CHANGE_DELETE && version == 0))
		return COMMIT_DONE;
	if (c->kind == CHANGE_DELETE)
		return delete_record(s, c->key, e) == 0 ? COMMIT_DONE : COMMIT_ERROR;
	/*
	 * seq has outgrown every version so far: a key that was deleted and made anew never repeats
	 * one
	 */
	version = version == 0 ? seq : version + 1;
	sum = s->plain ? 0 : store_checksum(c->key, version, c->tag, c->value);
	sqlite_count_change(t, c->key, c->tag, 1, sum);
	return put_record(s, c, version, sum, e) == 0 ? COMMIT_DONE : COMMIT_ERROR;
}

/* The number of the next commit, which two tables have. */
static int
next_seq(struct sqlite_store *s, int64_t *seq, struct err *e)
{
	sqlite3_stmt *next = sqlite_prepare(s, SQL_NEXT, e);
	int64_t last;

	if (next == NULL || query_number(s, next, seq, e) != 0)
		return -1;
	if (s->plain)
		return 0;
	if (sqlite_last_commit(s, &last, e) != 0)
		return -1;
	return *seq == last + 1 ? 0 : sqlite_damaged(s, "its last commit has two numbers", e);
}

static int
note_done(struct sqlite_store *s, int64_t seq, const char *id, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, SQL_DONE, e);

	if (st == NULL)
		return -1;
	sqlite3_bind_int64(st, 1, seq);
	sqlite_bind_word(st, 2, id);
	sqlite3_bind_int64(st, 3, clock_wall_ms());
	if (sqlite_run(s, st, e) != 0 || (st = sqlite_prepare(s, SQL_FORGET, e)) == NULL)
		return -1;
	sqlite3_bind_int64(st, 1, seq - DONE_KEPT);
	return sqlite_run(s, st, e);
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

	if (db_open_known(s->path, SQLITE_APP_ID, &sqlite_layout, NULL, NULL, &db, &fresh, NULL) != 0)
		return -1;
	st = db_prepare(db, "SELECT 1 FROM done WHERE id = ?1", NULL);
	if (st != NULL) {
		sqlite_bind_word(st, 1, id);
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
	err_hint(e, "Check the disk (dmesg, df), then run the command again");
	return COMMIT_UNKNOWN;
}

static enum commit
commit_locked(struct sqlite_store *s, const struct change *changes, size_t n, struct err *e)
{
	sqlite3_stmt *begin = sqlite_prepare(s, SQL_BEGIN, e), *end = sqlite_prepare(s, SQL_COMMIT, e);
	struct sqlite_tally_changes tallies = { 0 };
	enum commit answer = COMMIT_ERROR;
	int64_t seq;
	char id[33];

	if (begin == NULL || end == NULL || sqlite_run(s, begin, e) != 0)
		return COMMIT_ERROR;
	io_random_hex(id, 16);
	if (next_seq(s, &seq, e) != 0)
		goto out;
	answer = COMMIT_DONE;
	for (size_t i = 0; i < n && answer == COMMIT_DONE; i++)
		answer = apply_change(s, &changes[i], seq, &tallies, e);
	if (answer != COMMIT_DONE)
		goto out;
	answer = COMMIT_ERROR;
	s->seq = seq;
	if ((!s->plain && sqlite_apply_tallies(s, &tallies, seq, e) != 0) || note_done(s, seq, id, e) != 0)
		goto out;
	if (fault_point("store-commit") != 0) {
		sqlite_injected(s, e);
		goto out;
	}
	sqlite_tally_changes_release(&tallies);
	if (sqlite_run(s, end, e) != 0)
		return resolve_commit_of(s, id, e);
	if (fault_point("store-committed") != 0) {
		sqlite_injected(s, e);
		return resolve_commit_of(s, id, e);
	}
	return COMMIT_DONE;
out:
	sqlite_tally_changes_release(&tallies);
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
	err_hint(e, "Run the command again");
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
	sqlite_forget_tallies(s);
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
	sqlite_forget_tallies(s);
	free(s->tallies.v);
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
	.check = sqlite_check_now,
	.size = sqlite_read_size,
	.shrink = sqlite_shrink,
	.damaged = sqlite_refuse,
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
		   : db_open_known(
			 path, SQLITE_APP_ID, &sqlite_layout, sqlite_busy, s, &s->db, &fresh, e);
	if (ret == 0 && !look)
		ret = sqlite_sync_left(s, e);
	if (ret == 0 && look)
		ret = sqlite_verify(s->db, e);
	else if (ret == 0 && !fresh && !s->brief)
		ret = sqlite_check(s, e);
	if (ret == 0 && sqlite_schema(s, e) == 0) {
		sqlite_leave(s, true);
		return &s->base;
	}
	if (strcmp(e->name, "not-ours") == 0 && sqlite_is_own_file(path))
		err_set(e, GT_FAIL, "corrupt", "the header of the store %s is damaged", path);
	if (sqlite_is_damage(e))
		sqlite_distrust(s);
	sqlite_damage_hint(path, e);
	sqlite_close(&s->base);
	return NULL;
}
