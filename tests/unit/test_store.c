#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/io.h"
#include "store/store.h"
#include "store/store_private.h"
#include "temp.h"

struct home {
	char *dir;
	char *db;
	struct store *s;
	struct err e;
};

static int
setup(void **state)
{
	struct home *h = xcalloc(1, sizeof *h);

	h->dir = temp_dir();
	h->db = io_join(h->dir, "recover.db");
	h->s = store_open("sqlite", h->dir, &h->e);
	if (h->s == NULL)
		fail_msg("%s", h->e.msg);
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
	free(h);
	return 0;
}

static void
reopen(struct home *h)
{
	store_close(h->s);
	h->s = store_open("sqlite", h->dir, &h->e);
}

static enum commit
put(struct store *s, const char *key, int64_t expect, const char *tag, const char *value, struct err *e)
{
	struct change c = { CHANGE_PUT, key, expect, tag, value };

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

static void
sql(const char *path, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void
bytes_of(const char *path, struct buf *out)
{
	assert_int_equal(io_read_file(path, (size_t)64 << 20, out, NULL), 0);
}

static void
test_put_get(void **state)
{
	struct home *h = *state;
	struct record r;

	assert_int_equal(store_get(h->s, "run:1", &r, &h->e), 0);
	assert_int_equal(r.version, 0);
	assert_int_equal(put(h->s, "run:1", STORE_ABSENT, "open", "{\"a\":1}", &h->e), COMMIT_DONE);
	assert_int_equal(store_get(h->s, "run:1", &r, &h->e), 1);
	assert_string_equal(r.key, "run:1");
	assert_string_equal(r.tag, "open");
	assert_string_equal(r.value, "{\"a\":1}");
	assert_true(r.version >= 1);
	assert_int_equal(put(h->s, "run:1", r.version, "done", "{}", &h->e), COMMIT_DONE);
	assert_int_equal(version(h->s, "run:1"), r.version + 1);
	store_record_release(&r);

	reopen(h);
	assert_int_equal(store_get(h->s, "run:1", &r, &h->e), 1);
	assert_string_equal(r.tag, "done");
	store_record_release(&r);
	assert_true(store_now(h->s) > INT64_C(1600000000000));
}

static void
test_fence(void **state)
{
	struct home *h = *state;
	int64_t first, second;
	struct change gone = { .kind = CHANGE_DELETE, .key = "lock:a", .expect = STORE_ANY };

	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "{}", &h->e), COMMIT_DONE);
	first = version(h->s, "lock:a");
	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "{}", &h->e), COMMIT_CONFLICT);
	assert_string_equal(h->e.name, "conflict");
	assert_int_equal(h->e.code, GT_AGAIN);
	assert_non_null(strstr(h->e.msg, "lock:a"));
	assert_int_equal(put(h->s, "lock:a", first + 1, "held", "{}", &h->e), COMMIT_CONFLICT);
	assert_int_equal(put(h->s, "lock:a", STORE_ANY, "held", "{}", &h->e), COMMIT_DONE);
	second = version(h->s, "lock:a");

	/* deleted and made anew: whoever still holds an old version must lose */
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_DONE);
	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "{}", &h->e), COMMIT_DONE);
	assert_true(version(h->s, "lock:a") > second);
	assert_int_equal(put(h->s, "lock:a", first, "held", "{}", &h->e), COMMIT_CONFLICT);
	assert_int_equal(put(h->s, "lock:a", second, "held", "{}", &h->e), COMMIT_CONFLICT);
}

static void
test_all_or_none(void **state)
{
	struct home *h = *state;
	struct change c[] = {
		{ CHANGE_PUT, "agent:child", STORE_ABSENT, "active", "{}" },
		{ CHANGE_CHECK, "agent:parent", 0, NULL, NULL },
	};

	/* a child only under a living parent: check-only changes count, and nothing of the commit stays */
	assert_int_equal(put(h->s, "agent:parent", STORE_ABSENT, "active", "{}", &h->e), COMMIT_DONE);
	assert_int_equal(store_commit(h->s, c, 2, &h->e), COMMIT_CONFLICT);
	assert_int_equal(version(h->s, "agent:child"), 0);
	c[1].expect = version(h->s, "agent:parent");
	assert_int_equal(store_commit(h->s, c, 2, &h->e), COMMIT_DONE);
	assert_true(version(h->s, "agent:child") > 0);
	assert_int_equal(version(h->s, "agent:parent"), c[1].expect);
}

static void
test_refuses_bad_changes(void **state)
{
	struct home *h = *state;
	char *big = xmalloc(STORE_MAX_VALUE + 3);
	struct change twice[] = { { CHANGE_PUT, "a", STORE_ANY, "t", "1" },
		{ CHANGE_PUT, "a", STORE_ANY, "t", "2" } };

	memset(big, 'x', STORE_MAX_VALUE + 2);
	big[0] = big[STORE_MAX_VALUE - 1] = '"';
	big[STORE_MAX_VALUE] = '\0';
	assert_int_equal(put(h->s, "big", STORE_ANY, "t", big, &h->e), COMMIT_DONE);
	big[STORE_MAX_VALUE - 1] = 'x';
	big[STORE_MAX_VALUE] = '"';
	big[STORE_MAX_VALUE + 1] = '\0';
	assert_int_equal(put(h->s, "bigger", STORE_ANY, "t", big, &h->e), COMMIT_ERROR);
	assert_string_equal(h->e.name, "too-large");
	free(big);
	assert_int_equal(put(h->s, "a", STORE_ANY, "t", "{no json", &h->e), COMMIT_ERROR);
	assert_int_equal(put(h->s, "", STORE_ANY, "t", "{}", &h->e), COMMIT_ERROR);
	assert_int_equal(put(h->s, "a\xff", STORE_ANY, "t", "{}", &h->e), COMMIT_ERROR);
	assert_int_equal(store_commit(h->s, twice, 2, &h->e), COMMIT_ERROR);
	assert_int_equal(version(h->s, "a"), 0);
	assert_int_equal(put(h->s, "a", STORE_ANY, "t", "{}", &h->e), COMMIT_DONE);
}

static void
test_scan(void **state)
{
	struct home *h = *state;
	struct records r = { 0 };
	char key[32];

	for (int i = 0; i < 25; i++) {
		snprintf(key, sizeof key, "run:%02d", i);
		assert_int_equal(
		    put(h->s, key, STORE_ABSENT, i % 5 == 0 ? "open" : "done", "{}", &h->e), COMMIT_DONE);
	}
	put(h->s, "run;", STORE_ABSENT, "open", "{}", &h->e);
	put(h->s, "rum:1", STORE_ABSENT, "open", "{}", &h->e);
	assert_int_equal(store_scan(h->s, "run:", NULL, NULL, 0, &r, &h->e), 0);
	assert_int_equal(r.n, 25);
	assert_string_equal(r.v[0].key, "run:00");
	store_records_release(&r);
	assert_int_equal(store_scan(h->s, "run:", "open", "run:05", 2, &r, &h->e), 0);
	assert_int_equal(r.n, 2);
	assert_string_equal(r.v[0].key, "run:10");
	assert_string_equal(r.v[1].key, "run:15");
	store_records_release(&r);
	assert_int_equal(store_scan(h->s, "", NULL, NULL, 1000, &r, &h->e), 0);
	assert_int_equal(r.n, 27);
	store_records_release(&r);
	assert_int_equal(store_scan(h->s, "nobody", NULL, NULL, 0, &r, &h->e), 0);
	assert_int_equal(r.n, 0);
	store_records_release(&r);
}

/* What a tag costs must not grow with what is finished: the plan has to use the index. */
static void
test_scan_by_tag_uses_the_index(void **state)
{
	struct home *h = *state;
	sqlite3_stmt *st;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(h->db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
			     "EXPLAIN QUERY PLAN SELECT key, version, tag, value FROM record WHERE key >= "
			     "'a' AND key < 'b'"
			     " AND key > 'aa' AND tag = 'open' ORDER BY key LIMIT 9",
			     -1, &st, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_non_null(
	    strstr((const char *)sqlite3_column_text(st, 3), "record_tag (tag=? AND key>? AND key<?)"));
	assert_int_equal(sqlite3_step(st), SQLITE_DONE);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

static void
test_file_is_private_and_marked(void **state)
{
	struct home *h = *state;
	struct stat st;
	struct buf b = BUF_INIT;
	char *wal = xasprintf("%s-wal", h->db), *journal = xasprintf("%s-journal", h->db);
	mode_t before = umask(0);

	assert_int_equal(put(h->s, "a", STORE_ANY, "t", "{}", &h->e), COMMIT_DONE);
	umask(before);
	assert_int_equal(stat(h->db, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(journal, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(access(wal, F_OK), -1);
	bytes_of(h->db, &b);
	assert_memory_equal(b.data + 68, "GTRC", 4);
	assert_memory_equal(b.data + 60, "\0\0\0\6", 4);
	buf_release(&b);

	/* opened to others by somebody: closed again at the next open */
	chmod(h->db, 0644);
	reopen(h);
	assert_non_null(h->s);
	assert_int_equal(stat(h->db, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	free(wal);
	free(journal);
}

/* Opens, expects this error, and that the file is byte for byte as it was. */
static void
refused(struct home *h, const char *name)
{
	struct buf before = BUF_INIT, after = BUF_INIT;

	bytes_of(h->db, &before);
	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, name);
	assert_non_null(strstr(h->e.msg, h->db));
	assert_true(h->e.hint[0] != '\0');
	bytes_of(h->db, &after);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, after.len);
	buf_release(&before);
	buf_release(&after);
}

static void
test_refuses_newer_and_foreign(void **state)
{
	struct home *h = *state;
	char *shm = xasprintf("%s-shm", h->db);

	store_close(h->s);
	h->s = NULL;
	/* one bit of the header alone is no later version */
	sql(h->db, "PRAGMA user_version = 7");
	refused(h, "corrupt");
	sql(h->db, "UPDATE tally SET n = 7 WHERE kind = ':' AND tag = 'schema'");
	refused(h, "newer");
	sql(h->db, "PRAGMA application_id = 77");
	refused(h, "not-ours");
	sql(h->db, "PRAGMA application_id = 0");
	refused(h, "not-ours");
	sql(h->db, "PRAGMA journal_mode = WAL");
	refused(h, "not-ours");
	assert_int_equal(access(shm, F_OK), -1);
	free(shm);
}

static void
test_refuses_corrupt(void **state)
{
	struct home *h = *state;
	char key[32], big[3000];
	int fd;

	memset(big, '1', sizeof big - 1);
	big[0] = big[sizeof big - 2] = '"';
	big[sizeof big - 1] = '\0';
	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof key, "k:%d", i);
		assert_int_equal(put(h->s, key, STORE_ABSENT, "t", big, &h->e), COMMIT_DONE);
	}
	store_close(h->s);
	h->s = NULL;
	fd = open(h->db, O_WRONLY | O_CLOEXEC);
	for (int page = 1; page < 20; page++)
		assert_int_equal(pwrite(fd, "\x99\x99\x99\x99\x99\x99\x99\x99", 8, page * 4096), 8);
	/* a clock of 4 ms may not have moved since the last commit */
	assert_int_equal(futimens(fd, (struct timespec[2]){ { 0 }, { 0 } }), 0);
	close(fd);
	refused(h, "corrupt");
	temp_write(h->db,
	    "this is a shopping list, and by no means a database; it is longer than a header, which has a "
	    "hundred bytes");
	refused(h, "corrupt");
	temp_write(h->db, "short");
	refused(h, "corrupt");
}

static void
test_refuses_what_is_not_a_plain_file_of_ours(void **state)
{
	struct home *h = *state;
	char *other = io_join(h->dir, "other.db"), *twin = io_join(h->dir, "twin.db");

	store_close(h->s);
	h->s = NULL;
	assert_int_equal(link(h->db, twin), 0);
	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "not-ours");
	unlink(twin);
	assert_int_equal(rename(h->db, other), 0);
	assert_int_equal(symlink(other, h->db), 0);
	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "not-ours");
	unlink(h->db);
	assert_int_equal(mkfifo(h->db, 0600), 0);
	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "not-ours");
	free(other);
	free(twin);
}

static void
test_urls(void **state)
{
	struct home *h = *state;
	char *full = io_join(h->dir, "named.db"), *url = xasprintf("sqlite:%s", full),
	     *nowhere = io_join(h->dir, "no/such");
	static const char *const bad[] = { "", "redis://", "mysql", "sqlite:", "file:x?mode=rwc" };
	struct store *s = store_open(url, h->dir, &h->e);

	assert_non_null(s);
	store_close(s);
	assert_int_equal(access(full, F_OK), 0);
	assert_non_null(s = store_open("sqlite:near.db", h->dir, &h->e));
	store_close(s);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_null(store_open(bad[i], h->dir, &h->e));
		assert_string_equal(h->e.name, "state");
		assert_int_equal(h->e.code, GT_USAGE);
	}
	assert_null(store_open("sqlite", nowhere, &h->e));
	assert_string_equal(h->e.name, "unwritable");
	free(full);
	free(url);
	free(nowhere);
}

static void
test_views_for_people(void **state)
{
	struct home *h = *state;
	sqlite3_stmt *st;
	sqlite3 *db;

	assert_int_equal(put(h->s, "attempt:gtr-0123456789abcdef", STORE_ABSENT, "captured",
			     "{\"session\":\"gt-toast\",\"reason\":\"killed\",\"times\":{\"detected\":"
			     "1700000000000}}",
			     &h->e),
	    COMMIT_DONE);
	assert_int_equal(put(h->s, "attempts", STORE_ABSENT, "x", "{}", &h->e), COMMIT_DONE);
	assert_int_equal(put(h->s, "event:0000000000000007", STORE_ABSENT, "attempt",
			     "{\"kind\":\"attempt.captured\",\"at\":1700000000123}", &h->e),
	    COMMIT_DONE);
	assert_int_equal(sqlite3_open_v2(h->db, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(
	    sqlite3_prepare_v2(db,
		"SELECT id || ' ' || phase || ' ' || session || ' ' || detected FROM attempt", -1, &st, NULL),
	    0);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(st, 0),
	    "gtr-0123456789abcdef captured gt-toast 2023-11-14T22:13:20Z");
	assert_int_equal(sqlite3_step(st), SQLITE_DONE);
	sqlite3_finalize(st);
	assert_int_equal(
	    sqlite3_prepare_v2(db, "SELECT seq || ' ' || kind || ' ' || at FROM event", -1, &st, NULL), 0);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_string_equal(
	    (const char *)sqlite3_column_text(st, 0), "7 attempt.captured 2023-11-14T22:13:20.123Z");
	sqlite3_finalize(st);
	sqlite3_close(db);
}

/* A person's sqlite3 that reads for a moment delays a writer and does not make it fail. */
static void
test_busy_reader_ends_in_locked(void **state)
{
	struct home *h = *state;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(h->db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM record", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(put(h->s, "a", STORE_ABSENT, "t", "{}", &h->e), COMMIT_ERROR);
	assert_string_equal(h->e.name, "locked");
	assert_int_equal(h->e.code, GT_AGAIN);
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(version(h->s, "a"), 0);
	assert_int_equal(put(h->s, "a", STORE_ABSENT, "t", "{}", &h->e), COMMIT_DONE);
}

#define CLAIMERS 8
#define CLAIMS 25

static void
claimer(const char *dir, int me)
{
	struct store *s = store_open("sqlite", dir, NULL);
	char key[32];
	int won = 0;

	for (int i = 0; s != NULL && i < CLAIMS; i++) {
		enum commit answer;

		snprintf(key, sizeof key, "claim:%d", i);
		answer = put(s, key, STORE_ABSENT, "held", "{}", NULL);
		if (answer != COMMIT_DONE && answer != COMMIT_CONFLICT)
			_exit(255);
		won += answer == COMMIT_DONE;
	}
	store_close(s);
	_exit(s == NULL ? 254 : won + me * 0);
}

/* The store is made by whoever comes first, and every claim is won once. */
static void
test_claims_from_many_processes(void **state)
{
	struct home *h = *state;
	char *dir = io_join(h->dir, "many");
	int total = 0;

	assert_int_equal(mkdir(dir, 0700), 0);
	for (int i = 0; i < CLAIMERS; i++)
		if (fork() == 0)
			claimer(dir, i);
	for (int i = 0; i < CLAIMERS; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		assert_true(WEXITSTATUS(status) <= CLAIMS);
		total += WEXITSTATUS(status);
	}
	assert_int_equal(total, CLAIMS);
	free(dir);
}

/* Runs body in a child; its exit status. */
static int
in_child(void (*body)(struct home *), struct home *h)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		body(h);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void
fill(struct home *h)
{
	struct store *s = store_open("sqlite", h->dir, &h->e);
	char key[32], *value = xmalloc(20001);
	enum commit answer = COMMIT_DONE;
	int acked = 0;

	memset(value, '7', 20000);
	value[0] = value[19999] = '"';
	value[20000] = '\0';
	while (s != NULL && answer == COMMIT_DONE && acked < 1000) {
		snprintf(key, sizeof key, "k:%d", acked);
		answer = put(s, key, STORE_ABSENT, "t", value, &h->e);
		acked += answer == COMMIT_DONE;
	}
	if (s == NULL || answer != COMMIT_ERROR || strcmp(h->e.name, "disk-full") != 0 ||
	    h->e.code != GT_FAIL)
		_exit(98);
	store_close(s);
	_exit(acked);
}

/* What was acknowledged before the disk was full is there, and nothing else; then it works again. */
static void
after_full(struct home *h, int acked)
{
	struct records r = { 0 };

	assert_true(acked > 0 && acked < 90);
	reopen(h);
	assert_non_null(h->s);
	assert_int_equal(store_scan(h->s, "k:", NULL, NULL, 0, &r, &h->e), 0);
	assert_int_equal(r.n, acked);
	store_records_release(&r);
}

static void
fill_limited(struct home *h)
{
	struct rlimit limit = { 300000, 300000 };

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	fill(h);
}

static void
test_file_size_limit(void **state)
{
	struct home *h = *state;

	store_close(h->s);
	h->s = NULL;
	after_full(h, in_child(fill_limited, h));
	assert_int_equal(put(h->s, "more", STORE_ABSENT, "t", "{}", &h->e), COMMIT_DONE);
}

static void
fill_tmpfs(struct home *h)
{
	struct records r = { 0 };
	struct home inner = *h;
	int acked;

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", h->dir, "tmpfs", 0, "size=512k,mode=0700") != 0)
		_exit(97);
	acked = in_child(fill, &inner);
	if (acked <= 0 || acked >= 90)
		_exit(96);
	inner.s = store_open("sqlite", h->dir, &inner.e);
	if (inner.s == NULL || store_scan(inner.s, "k:", NULL, NULL, 0, &r, &inner.e) != 0 ||
	    r.n != (size_t)acked)
		_exit(95);
	_exit(0);
}

static void
test_full_disk(void **state)
{
	struct home *h = *state;
	int status;

	store_close(h->s);
	h->s = NULL;
	status = in_child(fill_tmpfs, h);
	if (status == 97) {
		print_message("skipped: mounting a small tmpfs is not allowed here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void
open_read_only(struct home *h)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount(h->dir, h->dir, NULL, MS_BIND, NULL) != 0 ||
	    mount(NULL, h->dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
		_exit(97);
	if (store_open("sqlite", h->dir, &h->e) != NULL)
		_exit(1);
	_exit(strcmp(h->e.name, "unwritable") == 0 ? 0 : 2);
}

static void
test_read_only_file_system(void **state)
{
	struct home *h = *state;
	int status;

	store_close(h->s);
	h->s = NULL;
	status = in_child(open_read_only, h);
	if (status == 97) {
		print_message("skipped: mounting is not allowed here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void
open_as_nobody(struct home *h)
{
	if (setgid(65534) != 0 || setuid(65534) != 0)
		_exit(97);
	if (store_open("sqlite", h->dir, &h->e) != NULL)
		_exit(1);
	_exit(strcmp(h->e.name, "unwritable") == 0 || strcmp(h->e.name, "not-ours") == 0 ? 0 : 2);
}

static void
test_other_user(void **state)
{
	struct home *h = *state;
	int status;

	store_close(h->s);
	h->s = NULL;
	chmod(h->dir, 0755);
	status = in_child(open_as_nobody, h);
	if (status == 97) {
		print_message("skipped: only root can become another user\n");
		skip();
	}
	assert_int_equal(status, 0);
	unlink(h->db);
	assert_int_equal(in_child(open_as_nobody, h), 0);
	assert_int_equal(access(h->db, F_OK), -1);
}

/* Another user's file in a directory of ours. */
static void
test_file_of_another_user(void **state)
{
	struct home *h = *state;

	store_close(h->s);
	h->s = NULL;
	if (chown(h->db, 65534, 65534) != 0) {
		print_message("skipped: only root can give a file away\n");
		skip();
	}
	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "not-ours");
}

#ifdef GT_FAULTS
static void
commit_once(struct home *h)
{
	struct store *s = store_open("sqlite", h->dir, &h->e);
	enum commit answer, again;

	if (s == NULL)
		_exit(50 + (strcmp(h->e.name, "disk-full") == 0));
	answer = put(s, "new", STORE_ABSENT, "t", "{}", &h->e);
	again = put(s, "second", STORE_ABSENT, "t", "{}", NULL);
	store_close(s);
	_exit((int)answer * 10 + (int)again);
}

static void
test_faults(void **state)
{
	static const struct { const char *fault; int status; int64_t stored; } cases[] = {
		{ "store-commit=kill", 128 + SIGKILL, 0 },
		{ "store-committed=kill", 128 + SIGKILL, 1 },
		{ "store-commit=enospc", COMMIT_ERROR * 10 + COMMIT_DONE, 0 },
		{ "store-commit=eio", COMMIT_ERROR * 10 + COMMIT_DONE, 0 },
		{ "store-committed=eio", COMMIT_UNKNOWN * 10 + COMMIT_ERROR, 1 },
	};
	struct home *h = *state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct change gone[] = {
			{ .kind = CHANGE_DELETE, .key = "new", .expect = STORE_ANY },
			{ .kind = CHANGE_DELETE, .key = "second", .expect = STORE_ANY },
		};

		setenv("GT_FAULT", cases[i].fault, 1);
		assert_int_equal(in_child(commit_once, h), cases[i].status);
		unsetenv("GT_FAULT");
		assert_int_equal(version(h->s, "new") > 0, cases[i].stored);
		assert_int_equal(store_commit(h->s, gone, 2, &h->e), COMMIT_DONE);
	}
}

static void
test_killed_while_made(void **state)
{
	struct home *h = *state;

	store_close(h->s);
	h->s = NULL;
	unlink(h->db);
	setenv("GT_FAULT", "store-create=kill", 1);
	assert_int_equal(in_child(commit_once, h), 128 + SIGKILL);
	setenv("GT_FAULT", "store-create=enospc", 1);
	assert_int_equal(in_child(commit_once, h), 51);
	unsetenv("GT_FAULT");
	reopen(h);
	assert_non_null(h->s);
	assert_int_equal(put(h->s, "a", STORE_ABSENT, "t", "{}", &h->e), COMMIT_DONE);
}
#else
static void
test_faults(void **state)
{
	(void)state;
	print_message("skipped: fault points are built in by make FAULTS=1 only\n");
	skip();
}
#define test_killed_while_made test_faults
#endif

/*
 * kill -9 at any moment: what was acknowledged (a byte in the pipe) is there, at most one more,
 * and the store opens.
 */
static void
test_killed_writers(void **state)
{
	struct home *h = *state;
	size_t total = 0;

	for (int round = 0; round < 15; round++) {
		struct records r = { 0 };
		size_t acked = 0;
		char byte, prefix[32];
		int p[2], status;
		pid_t pid;

		snprintf(prefix, sizeof prefix, "r%d:", round);
		assert_int_equal(pipe2(p, O_CLOEXEC), 0);
		pid = fork();
		if (pid == 0) {
			struct store *s = store_open("sqlite", h->dir, NULL);
			char key[64];

			for (int i = 0; s != NULL && i < 100000; i++) {
				snprintf(key, sizeof key, "%s%06d", prefix, i);
				if (put(s, key, STORE_ABSENT, "t", "{}", NULL) != COMMIT_DONE ||
				    write(p[1], "x", 1) != 1)
					_exit(1);
			}
			_exit(1);
		}
		close(p[1]);
		for (int i = 0; i < 3 + round; i++) {
			assert_int_equal(read(p[0], &byte, 1), 1);
			acked++;
		}
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		while (read(p[0], &byte, 1) == 1)
			acked++;
		close(p[0]);
		reopen(h);
		assert_non_null(h->s);
		assert_int_equal(store_scan(h->s, prefix, NULL, NULL, 100000, &r, &h->e), 0);
		assert_true(r.n == acked || r.n == acked + 1);
		total += r.n;
		store_records_release(&r);
	}
	assert_true(total >= 15 * 3);
}

/* Reading alone makes and changes nothing, sees what is committed, and writes nothing. */
static void
test_look(void **state)
{
	struct home *h = *state;
	char *empty = io_join(h->dir, "empty"), *lock = io_join(h->dir, "recover.lock");
	struct change c = { CHANGE_PUT, "a", STORE_ANY, "t", "{}" };
	struct stat before, after;
	struct record r;
	struct store *s;

	assert_int_equal(put(h->s, "a", STORE_ABSENT, "t", "{\"n\":1}", &h->e), COMMIT_DONE);
	unlink(lock);
	assert_int_equal(stat(h->db, &before), 0);
	s = store_open_readonly("sqlite", h->dir, &h->e);
	assert_non_null(s);
	assert_int_equal(store_get(s, "a", &r, &h->e), 1);
	assert_string_equal(r.value, "{\"n\":1}");
	store_record_release(&r);
	assert_int_equal(store_commit(s, &c, 1, &h->e), COMMIT_ERROR);
	assert_string_equal(h->e.name, "read-only");
	store_close(s);
	assert_int_equal(stat(h->db, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	assert_int_equal(access(lock, F_OK), -1);
	assert_int_equal(put(h->s, "b", STORE_ABSENT, "t", "{}", &h->e), COMMIT_DONE);
	assert_int_equal(mkdir(empty, 0700), 0);
	err_clear(&h->e);
	assert_null(store_open_readonly("sqlite", empty, &h->e));
	assert_string_equal(h->e.name, "not-found");
	assert_int_equal(rmdir(empty), 0);
	free(empty);
	free(lock);
}

/* Of the specification's implementation, with the lengths around its blocks of 4, 8 and 32 bytes. */
static void
test_checksum(void **state)
{
	static const struct {
		const char *text;
		uint64_t seed, sum;
	} known[] = {
		{ "", 0, UINT64_C(0xef46db3751d8e999) },
		{ "a", 0, UINT64_C(0xd24ec4f1a98c6e5b) },
		{ "abc", 0, UINT64_C(0x44bc2cf5ad770999) },
		{ "The quick brown fox jumps over the lazy dog", 0, UINT64_C(0x0b242d361fda71bc) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		assert_true(store_hash(known[i].text, strlen(known[i].text), known[i].seed) == known[i].sum);
	/* none of the four may move into the other */
	assert_true(store_checksum("a", 1, "b", "c") != store_checksum("ab", 1, "", "c"));
	assert_true(store_checksum("a", 1, "b", "c") != store_checksum("a", 1, "bc", ""));
	assert_true(store_checksum("a", 1, "b", "c") != store_checksum("a", 2, "b", "c"));
	assert_true(store_checksum("a", 1, "b", "c") != store_checksum("a", 1, "c", "b"));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksum),
		cmocka_unit_test_setup_teardown(test_put_get, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fence, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_or_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refuses_bad_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_by_tag_uses_the_index, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_is_private_and_marked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refuses_newer_and_foreign, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refuses_corrupt, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    test_refuses_what_is_not_a_plain_file_of_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(test_urls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look, setup, teardown),
		cmocka_unit_test_setup_teardown(test_views_for_people, setup, teardown),
		cmocka_unit_test_setup_teardown(test_busy_reader_ends_in_locked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_claims_from_many_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_size_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_only_file_system, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_of_another_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed_while_made, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed_writers, setup, teardown),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
