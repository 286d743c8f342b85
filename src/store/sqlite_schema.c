/*
 * What the file holds. Schema 1 had the table record, the table done and the views attempt and
 * event; schema 2 has views of more kinds of record, schema 3 of those that hooks and locks make,
 * too; schema 4 has checksums and the table tally (sqlite_sum.c); schema 5 has the views without
 * ->>, which SQLite 3.37 does not know; schema 6 has views that an open leaves out (db_open_known):
 * parsing them was a third of a command. The views are for people and programs that only read:
 * sqlite3 recover.db 'select * from run'.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fault.h"

#define SCHEMA STORE_SCHEMA

#define TABLE_RECORD \
	"CREATE TABLE record(" \
	" key TEXT PRIMARY KEY NOT NULL," \
	" version INTEGER NOT NULL CHECK (version >= 1)," \
	" tag TEXT NOT NULL," \
	" value TEXT NOT NULL," \
	" sum INTEGER NOT NULL" \
	") STRICT;"
#define INDEX_AND_TALLY \
	"CREATE INDEX record_tag ON record(tag, key, sum);" \
	"CREATE TABLE tally(" \
	" kind TEXT NOT NULL," \
	" tag TEXT NOT NULL," \
	" n INTEGER NOT NULL," \
	" sum INTEGER NOT NULL," \
	" mark INTEGER NOT NULL," \
	" PRIMARY KEY (kind, tag)" \
	") STRICT, WITHOUT ROWID;"

static const char tables[] =
	TABLE_RECORD INDEX_AND_TALLY
	"CREATE TABLE done("
	" seq INTEGER PRIMARY KEY NOT NULL,"
	" id TEXT NOT NULL,"
	" at INTEGER NOT NULL"
	") STRICT;";

/* From a schema before 4, without its views: checksums. */
static const char convert_records[] =
	"DROP INDEX record_tag;"
	"ALTER TABLE record RENAME TO record_before;"
	TABLE_RECORD
	"INSERT INTO record SELECT key, version, tag, value, record_sum(key, version, tag, value)"
	" FROM record_before NOT INDEXED;"
	"DROP TABLE record_before;"
	INDEX_AND_TALLY;

/*
 * The columns of a view: blank-separated names of JSON fields; NAME@FIELD is a time in ms since
 * 1970 as UTC, NAME=FIELD gives a field another name. `suffix` ends the keys that belong to it.
 */
static const struct schema_view {
	const char *name, *prefix, *suffix, *id, *tag, *columns;
} views[] = {
	{ "attempt", "attempt:", "", "id", "phase",
	    "session class reason agent via delivery proof why pane_id socket cwd lines tokens previous "
	    "detected@times.detected acknowledged@times.acknowledged" },
	{ "session", "session:", "", "agent_uuid", "state",
	    "provider_name cursor_session_id model workspace_path parent session socket why "
	    "pid=process.pid provider_state_blob blob_size=provider_state_blob.size recorded@recorded_at "
	    "changed@changed_at" },
	{ "agent", "tree:", "", "agent_uuid", "state", "parent adopted_from at@at" },
	{ "message", "message:", "", "id", "state",
	    "sender=from receiver=to sync reply_to answer replays sent@sent_at delivered@delivered_at "
	    "flagged@flagged_at" },
	{ "run", "run:", "", "run_id", "status",
	    "session_id type prompt runner_id error created_at@created_at claimed_at@claimed_at "
	    "started_at@started_at completed_at@completed_at fence recovered_from recoveries "
	    "recovered_at@recovered_at" },
	{ "run_session", "run_session:", "", "session_id", "status",
	    "created_at@created_at execution_mode run_id" },
	{ "runner", "runner:", "", "runner_id", "state", "life pid registered@registered_at beat@beat_at" },
	{ "epic", "epic:", ":state", "id", "state", "value=" },
	{ "sprint", "sprint:", ":state", "id", "state", "value=" },
	{ "activity", "activity:", "", "conversation", "state",
	    "agent_uuid event tool cwd socket pane beat@beat_at started@started_at "
	    "turned@turned_at ended@ended_at files agents" },
	{ "lock", "lock:", "", "name", "state",
	    "holder host pid fence lease_ms acquired@acquired_at renewed@renewed_at" },
};

/* At least DB_UNPARSED bytes: SQLite counts a comment as one token of a statement. */
#define UNPARSED \
	"/* gt-recover opens this file without its views: SQLite parses no statement that is longer than " \
	"the limit that is set then (SQLITE_LIMIT_SQL_LENGTH), and the length of this comment is above it. " \
	"They are for sqlite3 and other programs. Do not shorten the comment.   */"
_Static_assert(sizeof UNPARSED > DB_UNPARSED, "an open would parse the views");

static const char event_view[] =
	"CREATE VIEW event " UNPARSED " AS SELECT"
	" CAST(substr(key, 7) AS INTEGER) AS seq,"
	" strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(value, '$.at') / 1000.0, 'unixepoch') AS at,"
	" json_extract(value, '$.kind') AS kind, json_extract(value, '$.subject') AS subject,"
	" json_extract(value, '$.session') AS session, json_extract(value, '$.text') AS text"
	" FROM record WHERE key >= 'event:' AND key < 'event;';";

/* One column of a view, from the word that tells it. */
static void
put_column(struct buf *sql, const char *word, size_t n)
{
	size_t name = strcspn(word, "@= ");
	const char *field = word + name + 1;
	int width;

	if (name >= n) {
		buf_fmt(sql, ", json_extract(value, '$.%.*s') AS \"%.*s\"", (int)n, word, (int)n, word);
		return;
	}
	width = (int)(n - name - 1);
	if (width == 0)
		buf_fmt(sql, ", value AS \"%.*s\"", (int)name, word);
	else if (word[name] == '=')
		buf_fmt(sql, ", json_extract(value, '$.%.*s') AS \"%.*s\"", width, field, (int)name, word);
	else	/* 0 is "not yet" */
		buf_fmt(sql,
		    ", strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', "
		    "nullif(json_extract(value, '$.%.*s'), 0) / 1000, 'unixepoch') AS \"%.*s\"",
		    width, field, (int)name, word);
}

static void
put_view(struct buf *sql, const struct schema_view *v)
{
	int prefix = (int)strlen(v->prefix), suffix = (int)strlen(v->suffix);

	buf_fmt(sql,
	    "CREATE VIEW %s " UNPARSED " AS SELECT substr(key, %d, length(key) - %d) AS %s, tag AS %s",
	    v->name, prefix + 1, prefix + suffix, v->id, v->tag);
	for (const char *w = v->columns; *w != '\0'; w += strspn(w, " ")) {
		size_t n = strcspn(w, " ");

		put_column(sql, w, n);
		w += n;
	}
	/* ';' follows ':' */
	buf_fmt(sql, ", version FROM record WHERE key >= '%s' AND key < '%.*s;'", v->prefix, prefix - 1,
	    v->prefix);
	if (suffix > 0)
		buf_fmt(sql, " AND substr(key, -%d) = '%s'", suffix, v->suffix);
	buf_chr(sql, ';');
}

static void
drop_views(struct buf *sql)
{
	buf_str(sql, "DROP VIEW IF EXISTS event;");
	for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
		buf_fmt(sql, "DROP VIEW IF EXISTS %s;", views[i].name);
}

static void
make_views(struct buf *sql)
{
	for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
		put_view(sql, &views[i]);
	buf_str(sql, event_view);
}

/* The index record_tag was made before the table tally. */
const struct db_layout sqlite_layout = { STORE_SCHEMA, { "record", "tally", "done", NULL } };

char *
sqlite_migration(int64_t from)
{
	struct buf sql = BUF_INIT;

	drop_views(&sql);
	if (from < SQLITE_CHECKSUMS) {
		buf_str(&sql, convert_records);
		buf_str(&sql, sqlite_retally);
	} else
		buf_str(&sql, "UPDATE tally SET n = " STORE_SCHEMA_TEXT
		    " WHERE kind = '" SQLITE_OWN_KIND "' AND tag = 'schema';");
	make_views(&sql);
	buf_fmt(&sql, "PRAGMA user_version = %d;", SCHEMA);
	return buf_detach(&sql);
}

bool
sqlite_is_damage(const struct err *e)
{
	return strcmp(e->name, "corrupt") == 0 || strcmp(e->name, "not-a-database") == 0;
}

int
sqlite_damage_hint(const char *path, struct err *e)
{
	const char *what;
	struct err why;

	if (e == NULL || !sqlite_is_damage(e))
		return -1;
	why = *e;
	what = strstr(why.msg, " is damaged: ");
	err_set(e, GT_FAIL, "corrupt", "the store %s%s", path, what != NULL ? what : " is damaged");
	if (sqlite_has_backup(path))
		err_hint(e,
		    "Nothing was changed. The next command that writes moves it away and restores its "
		    "backup");
	else
		err_hint(e,
		    "Nothing was changed. To salvage data: sqlite3 FILE .recover; then move FILE and "
		    "FILE-journal away: the next command creates a new store");
	store_note_damage(e);
	return -1;
}

int
sqlite_injected(struct sqlite_store *s, struct err *e)
{
	if (errno == ENOSPC)
		return db_fail(s->db, SQLITE_FULL, e);
	return err_sys(e, GT_FAIL, "io", "the disk failed on %s", s->path);
}

/*
 * Runs sql and gives the file its id and our version, unless another process did so while we
 * waited: a crash leaves all of it or nothing.
 */
static int
change_schema(struct sqlite_store *s, const char *sql, int64_t from, struct err *e)
{
	int locked = sqlite_lock(s, e), ret = -1;
	char *all =
	    xasprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d;", sql, SQLITE_APP_ID, SCHEMA);
	int64_t version;

	/* a copy cannot be made while we write; under the lock nobody else does */
	if (locked == 0 && from > 0 && db_number(s->db, "PRAGMA user_version", &version, e) != 0)
		locked = -1;
	if (locked == 0 && from > 0 && version == from && sqlite_keep_schema(s, from, e) != 0)
		locked = -1;
	/* with the first page is settled whether pages can be given back (sqlite_shrink.c) */
	if (locked == 0 && sqlite_add_functions(s->db, e) == 0 &&
	    db_exec(s->db, from == 0 ? "BEGIN" : "BEGIN IMMEDIATE", e) == 0) {
		ret = db_number(s->db, "PRAGMA user_version", &version, e);
		/* an empty file beside a backup was a store once */
		if (ret == 0 && version == 0 && sqlite_has_backup(s->path))
			ret = err_set(e, GT_FAIL, "corrupt", "the store %s is gone", s->path);
		if (ret == 0 && version == 0 && from == 0)
			ret = db_exec(s->db, "PRAGMA auto_vacuum = INCREMENTAL", e);
		if (ret == 0 && version == from)
			ret = db_exec(s->db, all, e);
		if (ret == 0 && fault_point(from == 0 ? "store-create" : "store-migrate") != 0)
			ret = sqlite_injected(s, e);
		if (ret == 0)
			ret = db_exec(s->db, "COMMIT", e);
		if (ret != 0)
			sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	}
	if (ret == 0 && from > 0)
		sqlite_backup_now(s);
	sqlite_leave(s, ret == 0);
	free(all);
	return ret;
}

static int
make_schema(struct sqlite_store *s, struct err *e)
{
	struct buf sql = BUF_INIT;
	int ret;

	buf_str(&sql, tables);
	buf_str(&sql, sqlite_retally);
	make_views(&sql);
	ret = change_schema(s, sql.data, 0, e);
	buf_release(&sql);
	return ret;
}

/* Keys, versions, tags and values stay as they are: each kind tells its own schema_version. */
static int
migrate_schema(struct sqlite_store *s, int64_t from, struct err *e)
{
	char *sql;
	int ret;

	if (s->brief) {
		err_set(e, GT_AGAIN, "older", "the store %s is from an older gt-recover", s->path);
		return err_hint(e, "The next command that writes converts it");
	}
	sql = sqlite_migration(from);
	ret = change_schema(s, sql, from, e);
	free(sql);
	return ret;
}

/*
 * In a test build an empty GT_CHECKSUMS leaves a file of schema 3 as it is, so that a bench can tell what
 * checksums and tallies cost.
 */
static int
check_version(struct sqlite_store *s, struct err *e)
{
	int64_t version;

	if (db_number(s->db, "PRAGMA user_version", &version, e) != 0)
		return -1;
	if (version != SCHEMA && sqlite_says_schema(s->db))
		return err_set(e, GT_FAIL, "corrupt", "the header of the store %s is damaged", s->path);
	if (version > SCHEMA) {
		err_set(e, GT_FAIL, "newer",
		    "the store %s was written by a later gt-recover (schema %lld, this one knows %d)",
		    s->path, (long long)version, SCHEMA);
		return err_hint(e, "Nothing was changed. Use the gt-recover version that wrote it");
	}
	if (version < 1)
		return err_set(e, GT_FAIL, "corrupt", "the store %s has no schema version", s->path);
	s->plain = version < SQLITE_CHECKSUMS && (s->readonly || *fault_path("GT_CHECKSUMS", "on") == '\0');
	return version < SCHEMA && !s->readonly && !s->plain ? migrate_schema(s, version, e) : 0;
}

int
sqlite_schema(struct sqlite_store *s, struct err *e)
{
	int64_t id, objects;

	if (db_number(s->db, "PRAGMA application_id", &id, e) != 0 ||
	    db_number(s->db, "SELECT count(*) FROM sqlite_master", &objects, e) != 0)
		return -1;
	if (id == 0 && objects == 0 && !s->readonly && make_schema(s, e) != 0)
		return -1;
	if (db_number(s->db, "PRAGMA application_id", &id, e) != 0)
		return -1;
	if (id != SQLITE_APP_ID) {
		err_set(e, GT_FAIL, "not-ours", "%s is a database of another program", s->path);
		return err_hint(e, "Use another file: state = \"sqlite:/PATH\" in gt.toml");
	}
	return check_version(s, e);
}
