/* Checksums and tallies of the SQLite store (docs/decisions/0014-records-that-a-disk-cannot-change.md). */
#include <stdlib.h>
#include <string.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/err.h"

/* ---- SQL functions ---- */

static const char *
text_of(sqlite3_value *v)
{
	const char *text = (const char *)sqlite3_value_text(v);

	return text != NULL ? text : "";
}

/* record_sum(key, version, tag, value) */
static void
sql_record_sum(sqlite3_context *to, int n, sqlite3_value **v)
{
	(void)n;
	sqlite3_result_int64(to,
	    (sqlite3_int64)store_checksum(
		text_of(v[0]), sqlite3_value_int64(v[1]), text_of(v[2]), text_of(v[3])));
}

/* key_kind(key) */
static void
sql_key_kind(sqlite3_context *to, int n, sqlite3_value **v)
{
	const char *key = text_of(v[0]);

	(void)n;
	sqlite3_result_text(to, key, (int)store_kind_length(key), SQLITE_TRANSIENT);
}

/* tally_mark(kind, tag, n, sum) */
static void
sql_tally_mark(sqlite3_context *to, int n, sqlite3_value **v)
{
	const struct store_tally t = { (uint64_t)sqlite3_value_int64(v[2]),
		(uint64_t)sqlite3_value_int64(v[3]) };

	(void)n;
	sqlite3_result_int64(to, (sqlite3_int64)sqlite_tally_mark(text_of(v[0]), text_of(v[1]), &t));
}

/* wrap_sum(number): SQLite's own sum ends with an error where 64 bits are not enough */
static void
wrap_sum_step(sqlite3_context *to, int n, sqlite3_value **v)
{
	uint64_t *sum = sqlite3_aggregate_context(to, sizeof *sum);

	(void)n;
	if (sum != NULL)
		*sum += (uint64_t)sqlite3_value_int64(v[0]);
}

static void
wrap_sum_end(sqlite3_context *to)
{
	const uint64_t *sum = sqlite3_aggregate_context(to, 0);

	sqlite3_result_int64(to, sum != NULL ? (sqlite3_int64)*sum : 0);
}

int
sqlite_add_functions(sqlite3 *db, struct err *e)
{
	static const struct {
		const char *name;
		int n;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
		void (*step)(sqlite3_context *, int, sqlite3_value **);
		void (*end)(sqlite3_context *);
	} functions[] = {
		{ "record_sum", 4, sql_record_sum, NULL, NULL },
		{ "key_kind", 1, sql_key_kind, NULL, NULL },
		{ "tally_mark", 4, sql_tally_mark, NULL, NULL },
		{ "wrap_sum", 1, NULL, wrap_sum_step, wrap_sum_end },
	};
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;

	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		int rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].n, flags, NULL,
		    functions[i].call, functions[i].step, functions[i].end, NULL);

		if (rc != SQLITE_OK)
			return db_fail(db, rc, e);
	}
	return 0;
}

uint64_t
sqlite_tally_mark(const char *kind, const char *tag, const struct store_tally *t)
{
	char sum[17] = "";

	for (int i = 0; i < 16; i++)
		sum[i] = "0123456789abcdef"[t->sum >> (60 - 4 * i) & 0xf];
	return store_checksum(kind, (int64_t)t->n, tag, sum);
}

/* ---- tables ---- */

#define OWN_ROWS(SEQ) \
	"INSERT INTO tally SELECT '" SQLITE_OWN_KIND "', 'seq', " SEQ ", wrap_sum(mark), 0 FROM tally;" \
	"INSERT INTO tally VALUES('" SQLITE_OWN_KIND "', 'schema', " STORE_SCHEMA_TEXT ", 0, 0);"

const char sqlite_retally[] =
	"DELETE FROM tally;"
	"INSERT INTO tally SELECT kind, tag, n, s, tally_mark(kind, tag, n, s) FROM ("
	" SELECT key_kind(key) AS kind, tag, count(*) AS n, wrap_sum(sum) AS s FROM record NOT INDEXED"
	" GROUP BY 1, 2);"
	OWN_ROWS("(SELECT coalesce(max(seq), 0) FROM done)");

/* ---- the whole file ---- */

struct tally_row {
	char *kind, *tag;
	struct store_tally t;
};

struct tally_rows {
	struct tally_row *v;
	size_t n, cap, last;
};

static void
release_rows(struct tally_rows *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].kind);
		free(r->v[i].tag);
	}
	free(r->v);
}

static bool
is_row(const struct tally_row *r, const char *key, size_t kind, const char *tag)
{
	return strncmp(r->kind, key, kind) == 0 && r->kind[kind] == '\0' && strcmp(r->tag, tag) == 0;
}

/* The row of that kind, the first bytes of key, and tag; made if there is none. */
static struct store_tally *
row_of(struct tally_rows *r, const char *key, size_t kind, const char *tag)
{
	if (r->last < r->n && is_row(&r->v[r->last], key, kind, tag))
		return &r->v[r->last].t;
	for (size_t i = 0; i < r->n; i++)
		if (is_row(&r->v[i], key, kind, tag)) {
			r->last = i;
			return &r->v[i].t;
		}
	r->v = vec_room(r->v, r->n, &r->cap, sizeof *r->v);
	r->v[r->n] = (struct tally_row){ .kind = xstrndup(key, kind), .tag = xstrdup(tag) };
	r->last = r->n;
	return &r->v[r->n++].t;
}

static int
refuse_file(sqlite3 *db, const char *what, const char *name, struct err *e)
{
	const char *path = sqlite3_db_filename(db, "main");

	return err_set(e, GT_FAIL, "corrupt", "the database %s is damaged: %s %.200s", path, what, name);
}

/* 0 all rows were read, -1 with err. */
static int
sum_records(sqlite3 *db, struct tally_rows *rows, struct err *e)
{
	sqlite3_stmt *st = db_prepare(db, "SELECT key, version, tag, value, sum FROM record NOT INDEXED", e);
	int rc, ret = 0;

	if (st == NULL)
		return -1;
	while (ret == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *key = (const char *)sqlite3_column_text(st, 0),
			   *tag = (const char *)sqlite3_column_text(st, 2),
			   *value = (const char *)sqlite3_column_text(st, 3);
		uint64_t sum = (uint64_t)sqlite3_column_int64(st, 4);
		struct store_tally *t;

		if (key == NULL || tag == NULL || value == NULL ||
		    store_checksum(key, sqlite3_column_int64(st, 1), tag, value) != sum) {
			ret = refuse_file(
			    db, "the checksum does not match of the record", key != NULL ? key : "?", e);
			break;
		}
		t = row_of(rows, key, store_kind_length(key), tag);
		t->n++;
		t->sum += sum;
	}
	if (ret == 0 && rc != SQLITE_DONE)
		ret = db_fail(db, rc, e);
	sqlite3_finalize(st);
	return ret;
}

/* Takes each tally from what was counted, so that 0 is left of all. */
static int
subtract_tallies(sqlite3 *db, struct tally_rows *rows, struct err *e)
{
	sqlite3_stmt *st = db_prepare(
	    db, "SELECT kind, tag, n, sum, mark FROM tally WHERE kind <> '" SQLITE_OWN_KIND "'", e);
	int rc, ret = 0;

	if (st == NULL)
		return -1;
	while (ret == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *kind = (const char *)sqlite3_column_text(st, 0),
			   *tag = (const char *)sqlite3_column_text(st, 1);
		const struct store_tally kept = { (uint64_t)sqlite3_column_int64(st, 2),
			(uint64_t)sqlite3_column_int64(st, 3) };
		struct store_tally *t;

		if (kind == NULL || tag == NULL ||
		    sqlite_tally_mark(kind, tag, &kept) != (uint64_t)sqlite3_column_int64(st, 4)) {
			ret = refuse_file(
			    db, "the checksum does not match of the tally", kind != NULL ? kind : "?", e);
			break;
		}
		t = row_of(rows, kind, strlen(kind), tag);
		t->n -= kept.n;
		t->sum -= kept.sum;
	}
	if (ret == 0 && rc != SQLITE_DONE)
		ret = db_fail(db, rc, e);
	sqlite3_finalize(st);
	return ret;
}

static int
check_own_rows(sqlite3 *db, struct err *e)
{
	int64_t wrong;

	if (db_number(db,
		"SELECT (SELECT n FROM tally WHERE kind = '" SQLITE_OWN_KIND "' AND tag = 'schema') IS NOT"
		" (SELECT user_version FROM pragma_user_version) OR"
		" (SELECT n FROM tally WHERE kind = '" SQLITE_OWN_KIND "' AND tag = 'seq') IS NOT"
		" (SELECT coalesce(max(seq), 0) FROM done) OR"
		" (SELECT sum FROM tally WHERE kind = '" SQLITE_OWN_KIND "' AND tag = 'seq') IS NOT"
		" (SELECT wrap_sum(mark) FROM tally)",
		&wrong, e) != 0)
		return -1;
	return wrong != 0 ? refuse_file(db, "its numbers do not agree", "(schema, commits)", e) : 0;
}

bool
sqlite_says_schema(sqlite3 *db)
{
	static const char ask[] = "SELECT n FROM tally WHERE kind = '" SQLITE_OWN_KIND "' AND tag = 'schema'";
	int64_t found = 0;

	return db_number(db, ask, &found, NULL) == 0 && found == STORE_SCHEMA;
}

static int
verify_all(sqlite3 *db, struct err *e)
{
	struct tally_rows rows = { 0 };
	int64_t schema = 0, vacuum = 0, tables = 0;
	int ret = db_check_indexes(db, e);

	if (ret == 0)
		ret = db_number(db, "PRAGMA user_version", &schema, e);
	if (ret == 0)
		ret = db_number(db, "PRAGMA auto_vacuum", &vacuum, e);
	if (ret == 0)
		ret = db_number(db, "SELECT count(*) FROM sqlite_master WHERE name = 'tally'", &tables, e);
	/* a file has 0 (an older one) or 2; one bit makes 1 of either, or a map of pages that does not fit */
	if (ret == 0 && vacuum == 1)
		ret = refuse_file(db, "its header has another", "auto_vacuum", e);
	if (ret == 0 && schema < SQLITE_CHECKSUMS && tables > 0)
		ret = refuse_file(db, "its header has another", "schema", e);
	/* whose header says so alone: of a later one nothing is known here */
	if (ret == 0 && schema > STORE_SCHEMA && tables > 0 && sqlite_says_schema(db))
		ret = refuse_file(db, "its header has another", "schema", e);
	if (ret != 0 || tables == 0 || schema > STORE_SCHEMA)
		return ret;
	ret = sum_records(db, &rows, e);
	if (ret == 0)
		ret = subtract_tallies(db, &rows, e);
	for (size_t i = 0; i < rows.n && ret == 0; i++)
		if (rows.v[i].t.n != 0 || rows.v[i].t.sum != 0)
			ret = refuse_file(db, "a record is missing, or too many, of the kind",
			    rows.v[i].kind, e);
	if (ret == 0)
		ret = sqlite_add_functions(db, e);
	if (ret == 0)
		ret = check_own_rows(db, e);
	release_rows(&rows);
	return ret;
}

/* At one moment: others may commit while it reads. */
int
sqlite_verify(sqlite3 *db, struct err *e)
{
	bool begin = sqlite3_get_autocommit(db) != 0;
	int ret;

	if (begin && db_exec(db, "BEGIN", e) != 0)
		return -1;
	ret = verify_all(db, e);
	/* of ours every statement fits the tables as they were made */
	if (ret != 0 && e != NULL && strcmp(e->name, "sqlite") == 0)
		ret = refuse_file(db, "its tables were", "changed", e);
	if (begin)
		sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	return ret;
}
