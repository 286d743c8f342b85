/*
 * What the file of the store says of itself: older ones are brought up to date, every kind of
 * record has a view.
 */
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/io.h"
#include "store/store.h"
#include "temp.h"

struct home {
	char *dir, *db;
	struct err e;
};

/* As the first version made it. */
static const char schema_1[] = "CREATE TABLE record(key TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL "
			       "CHECK (version >= 1), tag TEXT NOT NULL,"
			       " value TEXT NOT NULL) STRICT;"
			       "CREATE INDEX record_tag ON record(tag, key);"
			       "CREATE TABLE done(seq INTEGER PRIMARY KEY NOT NULL, id TEXT NOT NULL, at "
			       "INTEGER NOT NULL) STRICT;"
			       "CREATE VIEW attempt AS SELECT substr(key, 9) AS id, tag AS phase FROM record "
			       "WHERE key >= 'attempt:' AND key < 'attempt;';"
			       "CREATE VIEW event AS SELECT CAST(substr(key, 7) AS INTEGER) AS seq FROM "
			       "record WHERE key >= 'event:' AND key < 'event;';"
			       "INSERT INTO record VALUES('run:r1', 7, 'pending', "
			       "'{\"session_id\":\"s1\",\"created_at\":1700000000000,\"claimed_at\":null}');"
			       "INSERT INTO done VALUES(9, 'an id', 1700000000000);"
			       "PRAGMA application_id = 1196708419; PRAGMA user_version = 1;";

static void
sql(const char *path, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The first column of the first row, as a text; "" without one. */
static char *
ask(const char *path, const char *text)
{
	sqlite3_stmt *st;
	sqlite3 *db;
	char *answer;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, text, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	answer = xstrdup(sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0) != NULL
		? (const char *)sqlite3_column_text(st, 0)
		: "");
	sqlite3_finalize(st);
	sqlite3_close(db);
	return answer;
}

static void
answers(const char *path, const char *text, const char *expected)
{
	char *answer = ask(path, text);

	assert_string_equal(answer, expected);
	free(answer);
}

static int
setup(void **state)
{
	struct home *h = xcalloc(1, sizeof *h);

	h->dir = temp_dir();
	h->db = io_join(h->dir, "recover.db");
	sql(h->db, schema_1);
	*state = h;
	return 0;
}

static int
teardown(void **state)
{
	struct home *h = *state;

	temp_remove(h->dir);
	free(h->db);
	free(h);
	return 0;
}

static void
check_migrated(struct home *h)
{
	struct store *s = store_open("sqlite", h->dir, &h->e);
	struct change c = { CHANGE_PUT, "run:r1", 7, "claimed", "{}" };
	struct record r;

	if (s == NULL)
		fail_msg("%s", h->e.msg);
	assert_int_equal(store_get(s, "run:r1", &r, &h->e), 1);
	assert_int_equal(r.version, 7);
	assert_string_equal(r.tag, "pending");
	store_record_release(&r);
	answers(h->db, "PRAGMA user_version", "6");
	answers(h->db,
	    "SELECT run_id || ' ' || status || ' ' || session_id || ' ' || created_at || ' ' || (claimed_at "
	    "IS NULL) FROM run",
	    "r1 pending s1 2023-11-14T22:13:20Z 1");
	answers(h->db, "SELECT count(*) FROM done", "1");
	assert_int_equal(store_commit(s, &c, 1, &h->e), COMMIT_DONE);
	store_close(s);
}

static void
test_older_schema_is_migrated(void **state)
{
	struct home *h = *state;

	check_migrated(h);
	answers(h->db, "SELECT max(seq) FROM done", "10");
}

static void
test_looking_changes_nothing(void **state)
{
	struct home *h = *state;
	struct store *s = store_open_readonly("sqlite", h->dir, &h->e);
	struct record r;

	assert_non_null(s);
	assert_int_equal(store_get(s, "run:r1", &r, &h->e), 1);
	store_record_release(&r);
	store_close(s);
	answers(h->db, "PRAGMA user_version", "1");
}

static void
test_newer_schema_is_refused(void **state)
{
	struct home *h = *state;

	sql(h->db, "PRAGMA user_version = 7");
	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "newer");
	assert_null(store_open_readonly("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "newer");
	answers(h->db, "SELECT version FROM record", "7");
}

static void
test_killed_in_the_middle(void **state)
{
#ifdef GT_FAULTS
	struct home *h = *state;
	int status;
	pid_t pid;

	setenv("GT_FAULT", "store-migrate=kill", 1);
	pid = fork();
	if (pid == 0)
		_exit(store_open("sqlite", h->dir, NULL) != NULL);
	unsetenv("GT_FAULT");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	check_migrated(h);
#else
	(void)state;
	print_message("skipped: fault points are built in by make FAULTS=1 only\n");
	skip();
#endif
}

/* Two that open it at once: one migrates, the other one waits and finds it done. */
static void
test_migrated_once(void **state)
{
	struct home *h = *state;
	int status;

	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			_exit(store_open("sqlite", h->dir, NULL) == NULL);
	for (int i = 0; i < 4; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	check_migrated(h);
}

/* As 0.1.0 made it, by its own statements; 900 records beside those that are written out. */
static const char schema_3[] =
    "CREATE TABLE record("
    " key TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL CHECK (version >= 1),"
    " tag TEXT NOT NULL, value TEXT NOT NULL) STRICT;"
    "CREATE INDEX record_tag ON record(tag, key);"
    "CREATE TABLE done(seq INTEGER PRIMARY KEY NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL) STRICT;"
    "CREATE VIEW run AS SELECT substr(key, 5, length(key) - 4) AS run_id, tag AS status, version FROM record"
    " WHERE key >= 'run:' AND key < 'run;';"
    "CREATE VIEW session AS SELECT substr(key, 9) AS agent_uuid FROM record WHERE key >= 'session:';"
    "CREATE VIEW event AS SELECT CAST(substr(key, 7) AS INTEGER) AS seq FROM record WHERE key >= 'event:'"
    " AND key < 'event;';"
    "INSERT INTO record VALUES"
    "('run:r1', 7, 'pending', '{\"session_id\":\"s1\"}'), ('session:a', 3, 'ACTIVE', '{\"n\":\"\u00e9\"}'),"
    "('epic:e:1:state', 40, 'in_progress', '{}'), ('no colon', 2, '', '1'), ('counter:event', 9, 'counter',"
    " '{\"last\":900}');"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)"
    " INSERT INTO record SELECT printf('event:%016d', i), i, 'kind' || i % 7,"
    " json_object('seq', i, 'text', hex(i * 7919)) FROM n;"
    "INSERT INTO done VALUES(902, 'an id', 1700000000000);"
    "PRAGMA application_id = 1196708419; PRAGMA user_version = 3;";
#define ALL "SELECT group_concat(key || char(1) || version || char(1) || tag || char(1) || value, char(2))" \
	    " FROM (SELECT * FROM record ORDER BY key)"

static void
make_schema_3(struct home *h)
{
	assert_int_equal(unlink(h->db), 0);
	sql(h->db, schema_3);
}

static struct store *
open_converted(struct home *h)
{
	struct store *s = store_open("sqlite", h->dir, &h->e);

	if (s == NULL)
		fail_msg("%s", h->e.msg);
	return s;
}

static int
count_record(const struct record *r, void *arg, struct err *e)
{
	(void)r;
	(void)e;
	++*(size_t *)arg;
	return 0;
}

static void
test_every_record_is_kept(void **state)
{
	struct home *h = *state;
	char *before, *kept = xasprintf("%s.schema-3", h->db), *backup = xasprintf("%s.backup", h->db);
	struct stat first, again;
	struct store *s;
	size_t n = 0;

	make_schema_3(h);
	before = ask(h->db, ALL);
	s = open_converted(h);
	answers(h->db, ALL, before);
	answers(h->db, "PRAGMA user_version", "6");
	answers(h->db, "SELECT sum(n) FROM tally WHERE kind <> ':'", "905");
	answers(h->db, "SELECT status FROM run", "pending");
	assert_int_equal(store_each(s, "", NULL, count_record, &n, &h->e), 0);
	assert_int_equal(n, 905);
	store_close(s);
	/* as it was, for an older program and for a person */
	answers(kept, ALL, before);
	answers(kept, "PRAGMA user_version", "3");
	assert_int_equal(stat(kept, &first), 0);
	assert_int_equal(first.st_mode & 0777, 0600);
	answers(backup, "PRAGMA user_version", "6");
	/* once */
	store_close(open_converted(h));
	assert_int_equal(stat(kept, &again), 0);
	assert_int_equal(first.st_ino, again.st_ino);
	assert_int_equal(first.st_mtim.tv_nsec, again.st_mtim.tv_nsec);
	free(before);
	free(kept);
	free(backup);
}

/* A hook has no time for it, doctor changes nothing: it reads what is there. */
static void
test_hooks_and_looks_convert_nothing(void **state)
{
	struct home *h = *state;
	struct store *s;
	size_t n = 0;

	make_schema_3(h);
	assert_null(store_open_brief("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "older");
	assert_int_equal(h->e.code, GT_AGAIN);
	s = store_open_readonly("sqlite", h->dir, &h->e);
	assert_non_null(s);
	assert_int_equal(store_each(s, "event:", NULL, count_record, &n, &h->e), 0);
	assert_int_equal(n, 900);
	store_close(s);
	answers(h->db, "PRAGMA user_version", "3");
}

/* A damaged file is not converted, and its backup of before is. */
static void
test_backup_of_before(void **state)
{
	struct home *h = *state;
	char *backup = xasprintf("%s.backup", h->db);
	struct store_restored m;
	struct store *s;
	size_t n = 0;

	make_schema_3(h);
	sql(backup, schema_3);
	assert_int_equal(chmod(backup, 0600), 0);
	temp_write(h->db, "this was a store once; now it is something else, and longer than a header of a hundred "
			  "bytes has to be");
	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "corrupt");
	assert_int_equal(store_restore("sqlite", h->dir, &m, &h->e), 1);
	s = open_converted(h);
	assert_int_equal(store_each(s, "", NULL, count_record, &n, &h->e), 0);
	assert_int_equal(n, 905);
	assert_int_equal(m.restored, 905);
	store_close(s);
	free(backup);
}

/* What a store of schema 4 has instead; whether this SQLite knows ->> does not matter here. */
static const char back_to_4[] =
    "DROP VIEW run; CREATE VIEW run AS SELECT 'old' AS status /* value ->> '$.status' */;"
    "UPDATE tally SET n = 4 WHERE kind = ':' AND tag = 'schema'; PRAGMA user_version = 4;";
#define ARROWS "SELECT count(*) FROM sqlite_master WHERE sql LIKE '%->>%'"

static void
test_views_get_new_words(void **state)
{
	struct home *h = *state;
	char *before, *kept = xasprintf("%s.schema-4", h->db);

	store_close(open_converted(h));
	sql(h->db, back_to_4);
	before = ask(h->db, "SELECT group_concat(kind || tag || n || sum || mark) FROM tally WHERE kind <> ':'");
	assert_null(store_open_brief("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "older");
	answers(h->db, ARROWS, "1");
	store_close(open_converted(h));
	answers(h->db, "PRAGMA user_version", "6");
	answers(h->db, ARROWS, "0");
	answers(h->db, "SELECT status FROM run", "pending");
	answers(h->db, "SELECT group_concat(kind || tag || n || sum || mark) FROM tally WHERE kind <> ':'",
	    before);
	answers(kept, "PRAGMA user_version", "4");
	free(before);
	free(kept);
}

/* Views are no part of our schema at an open: what is wrong in one ends nothing, and no other program misses one. */
static void
test_views_are_not_parsed(void **state)
{
	struct home *h = *state;
	struct change c = { CHANGE_PUT, "run:r2", STORE_ANY, "pending", "{\"session_id\":\"s2\"}" };
	struct store *s;

	store_close(open_converted(h));
	answers(h->db, "SELECT count(*) FROM sqlite_master WHERE type = 'view' AND instr(sql, 'AS SELECT') < 256",
	    "0");
	sql(h->db, "DROP VIEW runner; PRAGMA writable_schema = ON; "
	    "UPDATE sqlite_master SET sql = replace(sql, 'AS SELECT', 'AS SELEC') WHERE name = 'run'");
	s = open_converted(h);
	assert_int_equal(store_commit(s, &c, 1, &h->e), COMMIT_DONE);
	store_close(s);
	sql(h->db, "PRAGMA writable_schema = ON; "
	    "UPDATE sqlite_master SET sql = replace(sql, 'AS SELEC ', 'AS SELECT ') WHERE name = 'run'");
	answers(h->db, "SELECT session_id FROM run WHERE run_id = 'r2'", "s2");
	answers(h->db, "PRAGMA integrity_check", "ok");
}

/* A table that cannot be parsed is still damage, and no backup is a reason to go on without it. */
static void
test_tables_are_parsed(void **state)
{
	struct home *h = *state;
	struct store_restored m;

	store_close(open_converted(h));
	sql(h->db, "PRAGMA writable_schema = ON; "
	    "UPDATE sqlite_master SET sql = replace(sql, 'STRICT', 'STRIKT') WHERE name = 'tally'");
	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "corrupt");
	assert_int_equal(store_restore("sqlite", h->dir, &m, &h->e), 1);
	store_close(open_converted(h));
}

/* Counts that were right before stay what they are: a lost record is found, not counted away. */
static void
test_loss_is_not_converted(void **state)
{
	struct home *h = *state;

	store_close(open_converted(h));
	sql(h->db, back_to_4);
	sql(h->db, "DELETE FROM record WHERE key = 'run:r1'");
	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "corrupt");
	answers(h->db, "PRAGMA user_version", "4");
}

static void
test_views(void **state)
{
	static const struct { const char *key, *tag, *value, *question, *answer;
	} rows[] = {
		{ "session:a1", "ACTIVE",
		    "{\"provider_name\":\"claude\",\"process\":{\"pid\":12},\"recorded_at\":1700000000000}",
		    "SELECT agent_uuid || state || provider_name || pid || recorded FROM session",
		    "a1ACTIVEclaude122023-11-14T22:13:20Z" },
		{ "tree:a1", "open", "{\"parent\":\"a0\",\"at\":1700000000000}",
		    "SELECT agent_uuid || state || parent FROM agent", "a1opena0" },
		{ "message:m1", "pending", "{\"from\":\"a\",\"to\":\"b\",\"sync\":true,\"delivered_at\":0}",
		    "SELECT id || sender || receiver || sync || (delivered IS NULL) FROM message", "m1ab11" },
		{ "run:r2", "failed",
		    "{\"session_id\":\"s1\",\"type\":\"START_SESSION\",\"prompt\":\"p\",\"runner_id\":\"w\","
		    "\"error\":\"no\","
		    "\"created_at\":1700000000000,\"claimed_at\":1700000001000,\"started_at\":1700000002000,"
		    "\"completed_at\":null}",
		    "SELECT run_id || session_id || type || prompt || status || runner_id || error || "
		    "substr(created_at, 18) || substr(claimed_at, 18) || "
		    "substr(started_at, 18) || (completed_at IS NULL) FROM run WHERE run_id = 'r2'",
		    "r2s1START_SESSIONpfailedwno20Z21Z22Z1" },
		{ "run_session:s1", "running", "{\"execution_mode\":\"sync\",\"created_at\":1700000000000}",
		    "SELECT session_id || status || created_at || execution_mode FROM run_session",
		    "s1running2023-11-14T22:13:20Zsync" },
		{ "runner:w1", "registered", "{\"life\":3}", "SELECT runner_id || life FROM runner", "w13" },
		{ "epic:e:1:state", "active", "{\"k\":1}", "SELECT id || state || value FROM epic",
		    "e:1active{\"k\":1}" },
		{ "epic:e:1:files", "x", "{}", "SELECT count(*) FROM epic", "1" },
		{ "activity:t1", "working",
		    "{\"agent_uuid\":\"a1\",\"event\":\"PreToolUse\",\"beat_at\":1700000000000,\"files\":[{"
		    "\"path\":\"/a\"}]}",
		    "SELECT conversation || state || agent_uuid || event || beat || "
		    "json_extract(files, '$[0].path') FROM activity",
		    "t1workinga1PreToolUse2023-11-14T22:13:20Z/a" },
		{ "lock:tests", "held", "{\"holder\":\"a\",\"fence\":2,\"acquired_at\":1700000000000}",
		    "SELECT name || state || holder || fence || acquired FROM lock",
		    "testshelda22023-11-14T22:13:20Z" },
		{ "sprint:2:state", "done", "{}", "SELECT id || state FROM sprint", "2done" },
		{ "attempt:t1", "failed", "{\"why\":\"no\"}", "SELECT id || phase || why FROM attempt",
		    "t1failedno" },
		{ "event:0000000000000003", "x", "{\"kind\":\"x.y\",\"at\":1700000000123}",
		    "SELECT seq || kind || at FROM event", "3x.y2023-11-14T22:13:20.123Z" },
	};
	struct home *h = *state;
	struct store *s = store_open("sqlite", h->dir, &h->e);

	assert_non_null(s);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct change c = { CHANGE_PUT, rows[i].key, STORE_ABSENT, rows[i].tag, rows[i].value };

		assert_int_equal(store_commit(s, &c, 1, &h->e), COMMIT_DONE);
	}
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		answers(h->db, rows[i].question, rows[i].answer);
	store_close(s);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_older_schema_is_migrated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_looking_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer_schema_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed_in_the_middle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_migrated_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_record_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hooks_and_looks_convert_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backup_of_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_views_get_new_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_views_are_not_parsed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tables_are_parsed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loss_is_not_converted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_views, setup, teardown),
	};

	return cmocka_run_group_tests_name("store schema", tests, NULL, NULL);
}
