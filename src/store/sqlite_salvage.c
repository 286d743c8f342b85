/*
 * What is sound in a damaged file. Records are read in the order of the table, from both ends, and
 * once more by each key of the index of tags: a page that cannot be read hides no other. A record
 * counts when its checksum matches. What the file knows of a key without having its record is a
 * loss with a name, unless the backup has the key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/err.h"

struct salvage {
	sqlite3 *from, *to;
	sqlite3_stmt *take, *seen, *name, *index;
	struct err *e;
};

/*
 * In `to`; seen: sound records of the damaged file; named: keys that stand in it; indexed: what its
 * index has of them; kept: its tallies.
 */
static const char work_tables[] =
	"PRAGMA temp_store = MEMORY;"
	"CREATE TEMP TABLE seen(key TEXT PRIMARY KEY, tag TEXT, version INTEGER, sum INTEGER) WITHOUT ROWID;"
	"CREATE TEMP TABLE named(key TEXT PRIMARY KEY) WITHOUT ROWID;"
	"CREATE TEMP TABLE indexed(key TEXT PRIMARY KEY, sum INTEGER) WITHOUT ROWID;"
	"CREATE TEMP TABLE kept(kind TEXT, tag TEXT, n INTEGER, sum INTEGER);";

static int
write_row(struct salvage *v, sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : db_fail(v->to, rc, v->e);
}

static int
add_name(struct salvage *v, const char *key)
{
	sqlite3_bind_text(v->name, 1, key, -1, SQLITE_TRANSIENT);
	return write_row(v, v->name);
}

/* The row key, version, tag, value, sum that st stands on. */
static int
take_row(struct salvage *v, sqlite3_stmt *st)
{
	const char *text[4];
	int64_t version = sqlite3_column_int64(st, 1), sum = sqlite3_column_int64(st, 4);

	for (int i = 0; i < 4; i++)
		text[i] = (const char *)sqlite3_column_text(st, i);
	if (text[0] == NULL || text[2] == NULL || text[3] == NULL || version < 1 ||
	    store_checksum(text[0], version, text[2], text[3]) != (uint64_t)sum)
		return 0;
	for (int i = 0; i < 4; i++)
		sqlite3_bind_text(v->take, i + 1, text[i], -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(v->take, 2, version);
	sqlite3_bind_int64(v->take, 5, sum);
	sqlite3_bind_text(v->seen, 1, text[0], -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(v->seen, 2, text[2], -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(v->seen, 3, version);
	sqlite3_bind_int64(v->seen, 4, sum);
	return write_row(v, v->take) == 0 ? write_row(v, v->seen) : -1;
}

/*
 * The last column of a statement grows, or falls, from row to row: where it does not, the tree leads
 * back into itself, and reading would not end.
 */
static bool
goes_on(sqlite3_stmt *st, char **text, int64_t *number, bool first, int way)
{
	int last = sqlite3_column_count(st) - 1, order;

	if (sqlite3_column_type(st, last) == SQLITE_INTEGER) {
		int64_t n = sqlite3_column_int64(st, last);

		order = (n > *number) - (n < *number);
		*number = n;
	} else {
		const char *now = (const char *)sqlite3_column_text(st, last);

		if (now == NULL)
			return true;
		order = *text != NULL ? strcmp(now, *text) : way;
		free(*text);
		*text = xstrdup(now);
	}
	return first || order * way > 0;
}

/* Every row that the statement gives before it ends, or fails. way: its order, 1 up, -1 down. */
static int
read_rows(struct salvage *v, const char *sql, int way, int (*take)(struct salvage *v, sqlite3_stmt *st),
    bool *all)
{
	sqlite3_stmt *st = db_prepare(v->from, sql, NULL);
	int rc = SQLITE_ERROR, ret = 0;
	bool first = true;
	char *text = NULL;
	int64_t number = 0;

	while (st != NULL && ret == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW &&
	    goes_on(st, &text, &number, first, way)) {
		ret = take(v, st);
		first = false;
	}
	sqlite3_finalize(st);
	free(text);
	*all = rc == SQLITE_DONE;
	return ret;
}

static int
take_name(struct salvage *v, sqlite3_stmt *st)
{
	const char *key = (const char *)sqlite3_column_text(st, 0);

	return key != NULL ? add_name(v, key) : 0;
}

/* A key of the index, whose record is asked for alone. */
static int
take_indexed(struct salvage *v, sqlite3_stmt *st)
{
	sqlite3_stmt *row = db_prepare(v->from,
	    "SELECT key, version, tag, value, sum FROM record INDEXED BY record_tag"
	    " WHERE tag = ?1 AND key = ?2",
	    NULL);
	int ret = take_name(v, st);

	if (ret == 0 && sqlite3_column_type(st, 0) == SQLITE_TEXT) {
		sqlite3_bind_value(v->index, 1, sqlite3_column_value(st, 0));
		sqlite3_bind_value(v->index, 2, sqlite3_column_value(st, 2));
		ret = write_row(v, v->index);
	}
	if (row != NULL && ret == 0) {
		sqlite3_bind_value(row, 1, sqlite3_column_value(st, 1));
		sqlite3_bind_value(row, 2, sqlite3_column_value(st, 0));
		if (sqlite3_step(row) == SQLITE_ROW)
			ret = take_row(v, row);
	}
	sqlite3_finalize(row);
	return ret;
}

static int
take_tally(struct salvage *v, sqlite3_stmt *st)
{
	const char *kind = (const char *)sqlite3_column_text(st, 0),
		   *tag = (const char *)sqlite3_column_text(st, 1);
	struct store_tally t = { (uint64_t)sqlite3_column_int64(st, 2),
		(uint64_t)sqlite3_column_int64(st, 3) };
	sqlite3_stmt *put;
	int ret;

	if (kind == NULL || tag == NULL ||
	    sqlite_tally_mark(kind, tag, &t) != (uint64_t)sqlite3_column_int64(st, 4))
		return 0;
	if ((put = db_prepare(v->to, "INSERT INTO kept VALUES(?1, ?2, ?3, ?4)", v->e)) == NULL)
		return -1;
	for (int i = 0; i < 4; i++)
		sqlite3_bind_value(put, i + 1, sqlite3_column_value(st, i));
	ret = write_row(v, put);
	sqlite3_finalize(put);
	return ret;
}

/* The number of the damaged file's last commit, in which fences are counted. */
static int
take_number(struct salvage *v, const char *sql)
{
	int64_t seq = 0, own = 0;
	sqlite3_stmt *st;
	int ret;

	if (db_number(v->from, sql, &seq, NULL) != 0 ||
	    db_number(v->to, "SELECT coalesce(max(seq), 0) FROM done", &own, v->e) != 0)
		return 0;
	/* a number that no store reaches is damaged itself */
	if (seq <= own || seq > own + ((int64_t)1 << 40))
		return 0;
	st = db_prepare(v->to, "INSERT INTO done(seq, id, at) VALUES(?1, 'salvaged', 0)", v->e);
	if (st == NULL)
		return -1;
	sqlite3_bind_int64(st, 1, seq);
	ret = write_row(v, st);
	sqlite3_finalize(st);
	return ret;
}

#define ROWS "SELECT key, version, tag, value, sum, rowid FROM record NOT INDEXED ORDER BY rowid"
#define INDEXED "SELECT key, tag, sum, tag || char(1) || key FROM record INDEXED BY record_tag ORDER BY "

static int
read_damaged(struct salvage *v)
{
	static const struct {
		const char *sql;
		int way;
		int (*take)(struct salvage *v, sqlite3_stmt *st);
		bool again;		/* only where the one before did not come to its end */
	} ways[] = {
		{ ROWS, 1, take_row, false },
		{ ROWS " DESC", -1, take_row, true },
		{ "SELECT key, rowid FROM record NOT INDEXED ORDER BY rowid", 1, take_name, false },
		{ "SELECT key, key FROM record INDEXED BY sqlite_autoindex_record_1 ORDER BY key", 1,
		    take_name, false },
		{ INDEXED "tag, key", 1, take_indexed, false },
		{ INDEXED "tag DESC, key DESC", -1, take_indexed, true },
		{ "SELECT kind, tag, n, sum, mark, kind || char(1) || tag FROM tally WHERE kind <> ':'"
		  " ORDER BY kind, tag", 1, take_tally, false },
	};
	bool all = true;
	int ret = 0;

	for (size_t i = 0; i < sizeof ways / sizeof ways[0] && ret == 0; i++)
		if (!ways[i].again || !all)
			ret = read_rows(v, ways[i].sql, ways[i].way, ways[i].take, &all);
	/* the last one: a part of the tallies proves nothing */
	if (ret == 0 && !all)
		ret = db_exec(v->to, "DELETE FROM kept", v->e);
	if (ret == 0)
		ret = take_number(v, "SELECT max(seq) FROM done");
	if (ret == 0)
		ret = take_number(v, "SELECT n FROM tally WHERE kind = ':' AND tag = 'seq'");
	return ret;
}

/*
 * A kind is complete when its sound records are those that its tallies count: then what is not
 * among them was deleted. A name that is damaged itself is none: it is no key of a record of this
 * kind in the other index or in the backup, and the kinds tell how many are missing.
 */
static const char settle[] =
	"CREATE TEMP TABLE complete AS SELECT DISTINCT kind FROM kept WHERE kind NOT IN ("
	" SELECT kind FROM (SELECT kind, tag, n, sum FROM kept WHERE n <> 0 EXCEPT"
	"  SELECT key_kind(key), tag, count(*), wrap_sum(sum) FROM seen GROUP BY 1, 2)"
	" UNION SELECT kind FROM ("
	"  SELECT key_kind(key) AS kind, tag, count(*), wrap_sum(sum) FROM seen GROUP BY 1, 2"
	"  EXCEPT SELECT kind, tag, n, sum FROM kept));"
	"DELETE FROM record WHERE key NOT IN (SELECT key FROM seen)"
	" AND key_kind(key) IN (SELECT kind FROM complete);"
	"DELETE FROM named WHERE key_kind(key) IN (SELECT kind FROM complete) OR key IN"
	" (SELECT key FROM record r WHERE NOT EXISTS"
	"  (SELECT 1 FROM indexed i WHERE i.key = r.key AND i.sum <> r.sum));";

/* How many of each, and the names of what is lost. */
static int
tell_losses(struct salvage *v, struct store_restored *out)
{
	static const char *const questions[] = {
		"SELECT count(*) FROM seen",
		"SELECT count(*) FROM record WHERE key NOT IN (SELECT key FROM seen)",
		"SELECT max((SELECT count(*) FROM named), coalesce((SELECT sum(missing) FROM ("
		" SELECT max(0, sum(n) - (SELECT count(*) FROM record r WHERE key_kind(r.key) = kind))"
		" AS missing FROM kept WHERE kind NOT IN (SELECT kind FROM complete) GROUP BY kind)), 0))",
	};
	int64_t n[3];
	sqlite3_stmt *st;
	size_t used = 0;

	for (int i = 0; i < 3; i++)
		if (db_number(v->to, questions[i], &n[i], v->e) != 0)
			return -1;
	out->kept = (size_t)n[0];
	out->restored = (size_t)n[1];
	out->lost = (size_t)n[2];
	st = db_prepare(v->to,
	    "SELECT iif(key IN (SELECT key FROM record), key || ' (an older version is back)', key)"
	    " FROM named ORDER BY key",
	    v->e);
	if (st == NULL)
		return -1;
	out->names[0] = '\0';
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *key = (const char *)sqlite3_column_text(st, 0);

		if (used + strlen(key) + 3 > sizeof out->names)
			break;
		used += (size_t)snprintf(
		    out->names + used, sizeof out->names - used, "%s%s", used > 0 ? ", " : "", key);
	}
	sqlite3_finalize(st);
	return 0;
}

int
sqlite_salvage(const char *path, sqlite3 *to, struct store_restored *out, struct err *e)
{
	struct salvage v = { .from = db_open_damaged(path), .to = to, .e = e };
	int ret = db_exec(to, work_tables, e);

	if (ret == 0)
		v.take = db_prepare(to,
		    "INSERT INTO record(key, version, tag, value, sum) VALUES(?1, ?2, ?3, ?4, ?5)"
		    " ON CONFLICT(key) DO UPDATE SET version = ?2, tag = ?3, value = ?4, sum = ?5"
		    " WHERE ?2 > version",
		    e);
	if (v.take != NULL)
		v.seen = db_prepare(to,
		    "INSERT INTO seen VALUES(?1, ?2, ?3, ?4)"
		    " ON CONFLICT(key) DO UPDATE SET tag = ?2, version = ?3, sum = ?4 WHERE ?3 > version",
		    e);
	if (v.seen != NULL)
		v.name = db_prepare(to, "INSERT OR IGNORE INTO named VALUES(?1)", e);
	if (v.name != NULL)
		v.index = db_prepare(to, "INSERT OR IGNORE INTO indexed VALUES(?1, ?2)", e);
	if (v.index == NULL)
		ret = -1;
	if (ret == 0 && v.from != NULL && sqlite_says_schema(v.from))
		ret = read_damaged(&v);
	sqlite3_finalize(v.take);
	sqlite3_finalize(v.seen);
	sqlite3_finalize(v.name);
	sqlite3_finalize(v.index);
	db_close(v.from);
	if (ret == 0)
		ret = db_exec(to, settle, e);
	return ret == 0 ? tell_losses(&v, out) : ret;
}
