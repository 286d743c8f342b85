/* The backup of the store, and the way back to it when the file is damaged. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <utime.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/io.h"
#include "records/records.h"
#include "store/store.h"
#include "temp.h"

struct home {
	char *dir, *db, *backup, *old, *log;
	struct store *s;
	struct err e;
};

static enum commit
put(struct store *s, const char *key, int64_t expect, const char *value, struct err *e)
{
	struct change c = { CHANGE_PUT, key, expect, "t", value };

	return store_commit(s, &c, 1, e);
}

static int64_t
version(struct store *s, const char *key)
{
	struct record r;
	int64_t v;

	assert_int_not_equal(store_get(s, key, &r, NULL), -1);
	v = r.version;
	store_record_release(&r);
	return v;
}

/* A store with "early" in its backup, and "late" not. */
static int
setup(void **state)
{
	struct home *h = xcalloc(1, sizeof *h);

	h->dir = temp_dir();
	h->db = io_join(h->dir, "recover.db");
	h->backup = io_join(h->dir, "recover.db.backup");
	h->old = io_join(h->dir, "recover.db.backup.old");
	h->log = io_join(h->dir, EVENT_LOG);
	h->s = store_open("sqlite", h->dir, &h->e);
	if (h->s == NULL)
		fail_msg("%s", h->e.msg);
	assert_int_equal(put(h->s, "early", STORE_ABSENT, "{\"n\":1}", &h->e), COMMIT_DONE);
	assert_int_equal(put(h->s, "late", STORE_ABSENT, "{\"n\":2}", &h->e), COMMIT_DONE);
	*state = h;
	return 0;
}

static int
teardown(void **state)
{
	struct home *h = *state;

	store_close(h->s);
	temp_remove(h->dir);
	free(h->db);
	free(h->backup);
	free(h->old);
	free(h->log);
	free(h);
	return 0;
}

/* As a hand does it. The time is set because a clock of 4 ms may not have moved since the last commit. */
static void
damage(const char *path)
{
	struct utimbuf long_ago = { 1700000000, 1700000000 };
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (int page = 1; page < 4; page++)
		assert_int_equal(pwrite(fd, "\x99\x99\x99\x99\x99\x99\x99\x99", 8, page * 4096), 8);
	close(fd);
	assert_int_equal(utime(path, &long_ago), 0);
}

static void
same_bytes(const char *a, const char *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;

	assert_int_equal(io_read_file(a, (size_t)64 << 20, &x, NULL), 0);
	assert_int_equal(io_read_file(b, (size_t)64 << 20, &y, NULL), 0);
	assert_int_equal(x.len, y.len);
	assert_memory_equal(x.data, y.data, x.len);
	buf_release(&x);
	buf_release(&y);
}

static void
not_there_any_more(struct home *h)
{
	store_close(h->s);
	h->s = store_open("sqlite", h->dir, &h->e);
	assert_null(h->s);
	assert_string_equal(h->e.name, "corrupt");
}

static void
mend(struct home *h, struct store_restored *m)
{
	if (store_restore("sqlite", h->dir, m, &h->e) != 1)
		fail_msg("%s", h->e.msg);
	h->s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(h->s);
}

static void
test_made_in_time(void **state)
{
	struct home *h = *state;
	struct utimbuf long_ago = { 1700000000, 1700000000 };
	struct stat first, st;
	char key[32];

	assert_int_equal(stat(h->backup, &first), 0);
	assert_int_equal(first.st_mode & 0777, 0600);
	assert_int_equal(access(h->old, F_OK), -1);
	for (int i = 0; i < 260; i++) {
		snprintf(key, sizeof key, "k:%d", i);
		assert_int_equal(put(h->s, key, STORE_ABSENT, "{}", &h->e), COMMIT_DONE);
	}
	assert_int_equal(stat(h->old, &st), 0);
	assert_int_equal(st.st_ino, first.st_ino);
	/* by age, too */
	assert_int_equal(stat(h->backup, &first), 0);
	assert_int_equal(utime(h->backup, &long_ago), 0);
	assert_int_equal(put(h->s, "k", STORE_ABSENT, "{}", &h->e), COMMIT_DONE);
	assert_int_equal(stat(h->old, &st), 0);
	assert_int_equal(st.st_ino, first.st_ino);
}

static void
test_restored(void **state)
{
	struct home *h = *state;
	char *before = io_join(h->dir, "before"), *journal = xasprintf("%s-journal", h->db);
	struct store *other = store_open("sqlite", h->dir, &h->e);
	int64_t late = version(h->s, "late"), early = version(h->s, "early");
	struct buf b = BUF_INIT;
	struct store_restored m;
	struct stat st;

	assert_non_null(other);
	damage(h->db);
	assert_int_equal(io_read_file(h->db, (size_t)64 << 20, &b, NULL), 0);
	assert_int_equal(io_write_durable(before, b.data, b.len, "test", NULL), 0);
	buf_release(&b);
	not_there_any_more(h);
	temp_write(journal, "something that must not be rolled back into the restored file");
	mend(h, &m);
	same_bytes(m.aside, before);
	assert_int_equal(stat(m.aside, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(stat(journal, &st) != 0 || st.st_size == 0);
	assert_true(m.backup_at > INT64_C(1700000000000));
	assert_true(version(h->s, "early") > late + 100000);
	assert_int_equal(version(h->s, "late"), 0);

	/* whoever holds a version of before, or the file of before, loses */
	assert_int_equal(put(h->s, "early", early, "{}", &h->e), COMMIT_CONFLICT);
	assert_int_equal(put(h->s, "late", STORE_ABSENT, "{}", &h->e), COMMIT_DONE);
	assert_true(version(h->s, "late") > late + 100000);
	assert_int_equal(put(other, "lost", STORE_ABSENT, "{}", &h->e), COMMIT_ERROR);
	assert_string_equal(h->e.name, "replaced");
	assert_int_equal(version(h->s, "lost"), 0);
	store_close(other);
	/* nothing is mended twice */
	assert_int_equal(store_restore("sqlite", h->dir, &m, &h->e), 0);
	free(before);
	free(journal);
}

/* A column of another name: no statement of ours fits. The file is sound for SQLite. */
static void
test_tables_have_changed(void **state)
{
	struct home *h = *state;
	struct store_restored m;
	sqlite3 *db;

	store_close(h->s);
	h->s = NULL;
	assert_int_equal(sqlite3_open(h->db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
			     "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, ' n INTEGER',"
			     " ' m INTEGER') WHERE name = 'tally'",
			     NULL, NULL, NULL),
	    SQLITE_OK);
	sqlite3_close(db);
	not_there_any_more(h);
	assert_non_null(strstr(h->e.msg, "tables"));
	mend(h, &m);
}

static void
test_gone_or_empty(void **state)
{
	struct home *h = *state;
	struct store_restored m;

	unlink(h->db);
	not_there_any_more(h);
	not_there_any_more(h);
	mend(h, &m);
	assert_true(version(h->s, "early") > 0);
}

static void
test_from_the_one_before(void **state)
{
	struct home *h = *state;
	struct store_restored m;
	char *keep = io_join(h->dir, "keep");

	assert_int_equal(rename(h->backup, keep), 0);
	assert_int_equal(put(h->s, "later", STORE_ABSENT, "{}", &h->e), COMMIT_DONE);
	assert_int_equal(rename(keep, h->old), 0);
	damage(h->backup);
	damage(h->db);
	not_there_any_more(h);
	mend(h, &m);
	assert_true(version(h->s, "early") > 0);
	assert_int_equal(version(h->s, "later"), 0);
	free(keep);
}

static void
test_no_backup_no_new_store(void **state)
{
	struct home *h = *state;
	char *before = io_join(h->dir, "before");
	struct buf b = BUF_INIT;
	struct store_restored m;

	damage(h->db);
	damage(h->backup);
	assert_int_equal(io_read_file(h->db, (size_t)64 << 20, &b, NULL), 0);
	assert_int_equal(io_write_durable(before, b.data, b.len, "test", NULL), 0);
	buf_release(&b);
	not_there_any_more(h);
	assert_int_equal(store_restore("sqlite", h->dir, &m, &h->e), -1);
	assert_string_equal(h->e.name, "corrupt");
	same_bytes(h->db, before);
	assert_int_equal(unlink(h->backup), 0);
	assert_int_equal(store_restore("sqlite", h->dir, &m, &h->e), -1);
	assert_string_equal(h->e.name, "corrupt");
	same_bytes(h->db, before);
	free(before);
}

static void
test_backup_is_whole_whatever_the_file(void **state)
{
	struct home *h = *state;
	struct utimbuf long_ago = { 1700000000, 1700000000 };
	struct store_restored m;

	assert_int_equal(utime(h->backup, &long_ago), 0);
	damage(h->db);
	/* done or not: what this process has cached is still good */
	put(h->s, "more", STORE_ABSENT, "{}", NULL);
	damage(h->db);
	not_there_any_more(h);
	mend(h, &m);
	assert_true(version(h->s, "early") > 0);
}

static void
test_events_of_the_log(void **state)
{
	static const struct event ev = { .kind = "test.done", .subject = "x", .text = "words" };
	struct home *h = *state;
	struct store_restored m;
	struct event_log_state log;
	size_t added;
	int64_t last;
	FILE *f;

	for (int i = 0; i < 230; i++)
		assert_int_equal(event_commit(h->s, NULL, 0, &ev, &h->e), COMMIT_DONE);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), 0);
	damage(h->db);
	not_there_any_more(h);
	mend(h, &m);
	assert_int_equal(event_last(h->s, &last, &h->e), 0);
	assert_int_equal(last, 0);
	f = fopen(h->log, "ae");
	assert_non_null(f);
	assert_true(fputs("{\"seq\":231,\"kind\":\"torn", f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(event_restore(h->s, h->log, &added, &h->e), 0);
	assert_int_equal(added, 230);
	assert_int_equal(event_restore(h->s, h->log, &added, &h->e), 0);
	assert_int_equal(added, 0);
	assert_int_equal(event_commit(h->s, NULL, 0, &ev, &h->e), COMMIT_DONE);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), 0);
	assert_int_equal(event_check(h->s, h->log, &log, &h->e), 0);
	assert_int_equal(log.lines, 231);
	/* the log of another store is none of this one */
	temp_write(h->log, "");
	f = fopen(h->log, "we");
	for (int i = 1; i < 240; i++)
		fprintf(f, "{\"seq\":%d,\"at\":1,\"kind\":\"other.kind\"}\n", i);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(event_restore(h->s, h->log, &added, &h->e), -1);
	assert_string_equal(h->e.name, "event-log");
	assert_int_equal(event_last(h->s, &last, &h->e), 0);
	assert_int_equal(last, 231);
}

static void
change_behind(struct home *h, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(h->db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* One record is damaged: it alone is not as it was, and its event comes back from the log. */
static void
test_one_record(void **state)
{
	static const struct event ev = { .kind = "test.done", .subject = "x", .text = "words" };
	struct home *h = *state;
	struct store_restored m;
	struct event_log_state log;
	size_t added;
	struct record r;
	int64_t last;

	for (int i = 0; i < 30; i++)
		assert_int_equal(event_commit(h->s, NULL, 0, &ev, &h->e), COMMIT_DONE);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), 0);
	change_behind(h,
	    "UPDATE record SET value = '{\"n\":7}' WHERE key = 'late' OR key LIKE 'event:%20' OR key LIKE 'counter:%'");
	not_there_any_more(h);
	mend(h, &m);
	assert_int_equal(m.kept, 30);
	assert_int_equal(m.restored, 0);
	assert_int_equal(m.lost, 3);
	assert_string_equal(m.names, "counter:event, event:0000000000000020, late");
	assert_true(version(h->s, "early") > 0);
	assert_int_equal(version(h->s, "late"), 0);
	assert_int_equal(event_restore(h->s, h->log, &added, &h->e), 0);
	assert_int_equal(added, 1);
	assert_int_equal(event_last(h->s, &last, &h->e), 0);
	assert_int_equal(last, 30);
	assert_int_equal(event_check(h->s, h->log, &log, &h->e), 0);
	assert_int_equal(log.lines, 30);
	/* what the log does not tell either has a place all the same */
	change_behind(h, "UPDATE record SET value = '{}' WHERE key LIKE 'event:%07'");
	assert_int_equal(unlink(h->log), 0);
	/* its name has the second in it */
	assert_int_equal(unlink(m.aside), 0);
	not_there_any_more(h);
	mend(h, &m);
	assert_int_equal(event_restore(h->s, h->log, &added, &h->e), 0);
	assert_int_equal(store_get(h->s, "event:0000000000000007", &r, &h->e), 1);
	assert_non_null(strstr(r.value, "\"event.lost\""));
	store_record_release(&r);
	assert_int_equal(event_commit(h->s, NULL, 0, &ev, &h->e), COMMIT_DONE);
	assert_int_equal(event_last(h->s, &last, &h->e), 0);
	assert_int_equal(last, 31);
}

/* A record that was deleted since the backup stays so where the rest of its kind is whole. */
static void
test_deleted_stays_deleted(void **state)
{
	struct home *h = *state;
	struct change gone = { .kind = CHANGE_DELETE, .key = "early", .expect = STORE_ANY };
	struct store_restored m;

	assert_int_equal(put(h->s, "kind:1", STORE_ABSENT, "{}", &h->e), COMMIT_DONE);
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_DONE);
	change_behind(h, "UPDATE record SET value = '{\"n\":7}' WHERE key = 'kind:1'");
	not_there_any_more(h);
	mend(h, &m);
	assert_int_equal(version(h->s, "early"), 0);
	assert_true(version(h->s, "late") > 0);
	assert_string_equal(m.names, "kind:1");
}

#ifdef GT_FAULTS
static void
killed_at(struct home *h, const char *fault, bool mending)
{
	struct store_restored m;
	struct store *s;
	int status;
	pid_t pid;

	setenv("GT_FAULT", fault, 1);
	pid = fork();
	if (pid == 0) {
		if (mending)
			_exit(store_restore("sqlite", h->dir, &m, NULL) != 1);
		s = store_open("sqlite", h->dir, NULL);
		_exit(s == NULL || put(s, "more", STORE_ANY, "{}", NULL) != COMMIT_DONE);
	}
	unsetenv("GT_FAULT");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void
test_killed(void **state)
{
	struct home *h = *state;
	struct store_restored m;

	assert_int_equal(unlink(h->backup), 0);
	killed_at(h, "store-backup=kill", false);
	assert_int_equal(access(h->backup, F_OK), -1);
	assert_true(version(h->s, "more") > 0);
	assert_int_equal(put(h->s, "even more", STORE_ABSENT, "{}", &h->e), COMMIT_DONE);
	assert_int_equal(access(h->backup, F_OK), 0);

	damage(h->db);
	not_there_any_more(h);
	killed_at(h, "store-mend=kill", true);
	not_there_any_more(h);
	mend(h, &m);
	assert_true(version(h->s, "more") > 0);
}

/* A backup that has no room takes nothing away from the commit. */
static void
test_no_room(void **state)
{
	struct home *h = *state;
	struct stat before, after;
	struct utimbuf long_ago = { 1700000000, 1700000000 };

	assert_int_equal(utime(h->backup, &long_ago), 0);
	assert_int_equal(stat(h->backup, &before), 0);
	setenv("GT_FAULT", "store-backup=enospc", 1);
	assert_int_equal(put(h->s, "more", STORE_ABSENT, "{}", &h->e), COMMIT_DONE);
	unsetenv("GT_FAULT");
	assert_int_equal(stat(h->backup, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}
#else
static void
test_killed(void **state)
{
	(void)state;
	print_message("skipped: fault points are built in by make FAULTS=1 only\n");
	skip();
}
#define test_no_room test_killed
#endif

/* What is told of it: its age, that it lags behind, that there is none or that it is damaged. */
static void
test_told(void **state)
{
	struct home *h = *state;
	struct store_backup found;
	struct utimbuf earlier = { 0 };
	struct stat st;

	assert_int_equal(stat(h->db, &st), 0);
	assert_int_equal(store_backup_info("sqlite", h->dir, &found, &h->e), 1);
	assert_false(found.late);
	assert_int_equal(stat(h->backup, &st), 0);
	assert_int_equal(found.at, (int64_t)st.st_mtim.tv_sec * 1000);
	for (int minutes = 10; minutes <= 12; minutes += 2) {
		assert_int_equal(stat(h->db, &st), 0);
		earlier.actime = earlier.modtime = st.st_mtim.tv_sec - 60 * minutes;
		assert_int_equal(utime(h->backup, &earlier), 0);
		assert_int_equal(store_backup_info("sqlite", h->dir, &found, &h->e), 1);
		assert_int_equal(found.late, minutes == 12);
	}
	assert_int_equal(truncate(h->backup, 5000), 0);
	assert_int_equal(store_backup_info("sqlite", h->dir, &found, &h->e), -1);
	assert_string_equal(h->e.name, "corrupt");
	assert_int_equal(unlink(h->backup), 0);
	assert_int_equal(store_backup_info("sqlite", h->dir, &found, &h->e), 0);
}

/* One that was broken off is made again by the next commit, and its file does not stay. */
static void
test_broken_off(void **state)
{
	struct home *h = *state;
	char *left = io_join(h->dir, "recover.db.backup.new");
	struct stat before, after;

	temp_write(left, "half a backup");
	assert_int_equal(stat(h->backup, &before), 0);
	assert_int_equal(put(h->s, "more", STORE_ABSENT, "{}", &h->e), COMMIT_DONE);
	assert_int_equal(stat(h->backup, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(access(left, F_OK), -1);
	free(left);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_made_in_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restored, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tables_have_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone_or_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_the_one_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_backup_no_new_store, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backup_is_whole_whatever_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events_of_the_log, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_record, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deleted_stays_deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken_off, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
	};

	return cmocka_run_group_tests_name("store backup", tests, NULL, NULL);
}
