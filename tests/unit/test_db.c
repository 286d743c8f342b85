#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/db.h"
#include "base/err.h"
#include "base/io.h"
#include "temp.h"

#define NOT_ALLOWED 97

struct place {
	char *dir;
	char *db;
	char *tmp;		/* TMPDIR of the test: must be empty again afterwards */
	struct err e;
};

static int
setup(void **state)
{
	struct place *p = xcalloc(1, sizeof *p);

	p->dir = temp_dir();
	p->tmp = temp_dir();
	p->db = io_join(p->dir, "beads.db");
	setenv("TMPDIR", p->tmp, 1);
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct place *p = *state;
	int left = rmdir(p->tmp);

	unsetenv("TMPDIR");
	if (left != 0)
		temp_remove(p->tmp);
	else
		free(p->tmp);
	chmod(p->dir, 0700);
	temp_remove(p->dir);
	free(p->db);
	free(p);
	return left;
}

static void
run(sqlite3 *db, const char *sql)
{
	char *text = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
		fail_msg("%s: %s", sql, text);
}

static void
make(const char *path, const char *journal, int rows)
{
	char *sql = xasprintf("PRAGMA journal_mode=%s; CREATE TABLE t(n INTEGER PRIMARY KEY, s TEXT);"
			      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < %d) "
			      "INSERT INTO t SELECT x, 'row ' || x FROM c",
	    journal, rows);
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	run(db, sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	free(sql);
}

/* --- what a directory looks like, to the byte and the nanosecond --- */

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static char *
picture(const char *dir)
{
	struct buf out = BUF_INIT;
	struct dirent **names;
	int n = scandir(dir, &names, NULL, by_name);

	for (int i = 0; i < n; i++) {
		char *path = io_join(dir, names[i]->d_name);
		struct stat st;

		if (lstat(path, &st) != 0)
			abort();
		/* the directory above belongs to everybody */
		if (strcmp(names[i]->d_name, "..") != 0)
			buf_fmt(&out, "%s %lu %o %ld %lld.%09ld %lld.%09ld\n", names[i]->d_name,
			    (unsigned long)st.st_ino, (unsigned)st.st_mode, (long)st.st_size,
			    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
			    st.st_ctim.tv_nsec);
		if (S_ISREG(st.st_mode) && io_read_file(path, (size_t)64 << 20, &out, NULL) != 0)
			abort();
		free(names[i]);
		free(path);
	}
	free(names);
	/* compared as a string: content may hold NUL bytes */
	for (size_t i = 0; i < out.len; i++)
		if (out.data[i] == '\0')
			out.data[i] = '~';
	return buf_detach(&out);
}

static bool
unchanged(const char *dir, const char *before)
{
	char *now = picture(dir);
	bool same = strcmp(before, now) == 0;

	free(now);
	return same;
}

/*
 * The number of rows; -1 when the database could not be opened, -2 when something could be
 * written, -3 when the directory changed meanwhile.
 */
static int64_t
count(struct place *p, const char *before)
{
	int64_t n = -1;
	sqlite3 *db;

	err_clear(&p->e);
	if (db_open_foreign(p->db, &db, &p->e) == 0) {
		if (db_number(db, "SELECT count(*) FROM t", &n, &p->e) != 0 ||
		    db_exec(db, "INSERT INTO t VALUES(-5, 'written')", NULL) == 0)
			n = -2;
		if (before != NULL && !unchanged(p->dir, before))
			n = -3;
		db_close(db);
	}
	return n;
}

static int64_t
rows(struct place *p)
{
	char *before = picture(p->dir);
	int64_t n = count(p, before);

	assert_true(unchanged(p->dir, before));
	free(before);
	return n;
}

static void
test_resting(void **state)
{
	static const char *const modes[] = { "DELETE", "TRUNCATE", "PERSIST" };
	struct place *p = *state;

	for (size_t i = 0; i < 3; i++) {
		make(p->db, modes[i], 100);
		assert_int_equal(rows(p), 100);
		unlink(p->db);
	}
}

static void
test_wal_closed(void **state)
{
	struct place *p = *state;

	make(p->db, "WAL", 100);
	assert_int_equal(rows(p), 100);
}

/* A child that does not outlive us, however we end. */
static pid_t
child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/*
 * A process that has the database open: it runs sql, says "ready" through the pipe and stays
 * until it is killed.
 */
static pid_t
holder(const char *path, const char *sql)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = child();
	if (pid == 0) {
		sqlite3 *db;

		if (sqlite3_open(path, &db) != SQLITE_OK ||
		    sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK || write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void
let_go(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* The newest rows are in the -wal only. */
static void
test_wal_in_use(void **state)
{
	struct place *p = *state;
	char *wal = xasprintf("%s-wal", p->db), *shm = xasprintf("%s-shm", p->db);
	pid_t pid;

	make(p->db, "WAL", 100);
	pid = holder(p->db, "INSERT INTO t VALUES(1000, 'new'); INSERT INTO t VALUES(1001, 'newer')");
	assert_int_equal(access(wal, F_OK), 0);
	assert_int_equal(rows(p), 102);
	let_go(pid);
	/* the writer was killed: log and -shm stay behind */
	assert_int_equal(access(shm, F_OK), 0);
	assert_int_equal(rows(p), 102);
	unlink(shm);
	assert_int_equal(rows(p), 102);
	free(wal);
	free(shm);
}

static void
test_wal_uncommitted(void **state)
{
	struct place *p = *state;
	pid_t pid;

	make(p->db, "WAL", 100);
	pid = holder(p->db,
	    "INSERT INTO t VALUES(1000, 'new'); PRAGMA cache_size=1; BEGIN IMMEDIATE; UPDATE t SET s = "
	    "zeroblob(4000)");
	assert_int_equal(rows(p), 101);
	let_go(pid);
}

/* A writer that was killed while it changed the database: the truth is what the journal restores. */
static void
test_hot_journal(void **state)
{
	struct place *p = *state;
	char *journal = xasprintf("%s-journal", p->db);
	struct stat st;
	int64_t n;
	sqlite3 *db;
	pid_t pid;

	make(p->db, "DELETE", 4000);
	pid = holder(p->db,
	    "PRAGMA cache_size=5; PRAGMA synchronous=FULL; BEGIN IMMEDIATE; DELETE FROM t WHERE n > 100; "
	    "INSERT INTO t SELECT n + 10000, zeroblob(3000) FROM t");
	let_go(pid);
	assert_int_equal(stat(journal, &st), 0);
	assert_true(st.st_size > 0);
	assert_int_equal(rows(p), 4000);
	/* and it really was hot: a reader that ignores the journal sees something else */
	assert_int_equal(unlink(journal), 0);
	if (db_open_foreign(p->db, &db, &p->e) == 0) {
		assert_int_equal(db_number(db, "SELECT count(*) FROM t", &n, &p->e), 0);
		assert_int_not_equal(n, 4000);
		db_close(db);
	} else {
		assert_string_equal(p->e.name, "corrupt");
	}
	free(journal);
}

/* A journal may name a file that a roll-back deletes. Ours must not even try. */
static void
test_super_journal(void **state)
{
	static const unsigned char magic[] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	struct place *p = *state;
	char *journal = xasprintf("%s-journal", p->db), *victim = io_join(p->dir, "victim");
	unsigned char number[4];
	uint32_t sum = 0;
	pid_t pid;
	int fd;

	temp_write(victim, "precious\n");
	make(p->db, "DELETE", 4000);
	pid = holder(p->db,
	    "PRAGMA cache_size=5; BEGIN IMMEDIATE; DELETE FROM t WHERE n > 100; INSERT INTO t SELECT n + "
	    "10000, zeroblob(3000) FROM t");
	let_go(pid);
	fd = open(journal, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_true(fd >= 0);
	for (const char *c = victim; *c != '\0'; c++)
		sum += (unsigned char)*c;
	assert_int_equal(write(fd, "\x40\0\0\0", 4), 4);
	assert_true(write(fd, victim, strlen(victim)) > 0);
	for (int i = 0; i < 4; i++)
		number[i] = (unsigned char)(strlen(victim) >> (24 - 8 * i));
	assert_int_equal(write(fd, number, 4), 4);
	for (int i = 0; i < 4; i++)
		number[i] = (unsigned char)(sum >> (24 - 8 * i));
	assert_int_equal(write(fd, number, 4), 4);
	assert_int_equal(write(fd, magic, 8), 8);
	close(fd);
	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "locked");
	assert_int_equal(access(victim, F_OK), 0);
	free(journal);
	free(victim);
}

/* Locked as hard as SQLite can: the last committed state is read all the same. */
static void
test_locked(void **state)
{
	struct place *p = *state;
	pid_t pid;

	make(p->db, "DELETE", 100);
	pid = holder(p->db, "BEGIN EXCLUSIVE; INSERT INTO t VALUES(1000, 'not committed')");
	assert_int_equal(rows(p), 100);
	let_go(pid);
	pid = holder(p->db, "BEGIN IMMEDIATE; INSERT INTO t VALUES(1000, 'not committed')");
	assert_int_equal(rows(p), 100);
	let_go(pid);
	pid = holder(p->db, "PRAGMA locking_mode=EXCLUSIVE; INSERT INTO t VALUES(1000, 'committed')");
	assert_int_equal(rows(p), 101);
	let_go(pid);
}

static void
test_locked_wal(void **state)
{
	struct place *p = *state;
	pid_t pid;

	make(p->db, "WAL", 100);
	pid = holder(p->db, "PRAGMA locking_mode=EXCLUSIVE; INSERT INTO t VALUES(1000, 'committed')");
	assert_int_equal(rows(p), 101);
	let_go(pid);
}

/*
 * A writer that never rests: every answer is a state that was committed (both counters agree),
 * and none is older than the one before.
 */
static void
busy_writer(const char *path)
{
	sqlite3 *db;

	if (sqlite3_open(path, &db) != SQLITE_OK)
		_exit(1);
	sqlite3_busy_timeout(db, 5000);
	while (sqlite3_exec(db, "BEGIN IMMEDIATE; UPDATE a SET n = n + 1; UPDATE b SET n = n + 1; COMMIT",
		   NULL, NULL, NULL) == SQLITE_OK)
		;
	_exit(2);
}

static void
read_beside_writer(struct place *p, const char *journal)
{
	char *sql = xasprintf("PRAGMA journal_mode=%s; CREATE TABLE a(n); CREATE TABLE b(n); INSERT INTO a "
			      "VALUES(0); INSERT INTO b VALUES(0)",
	    journal);
	int64_t last = 0, until = clock_mono_ms() + 30000, a, b;
	int opened = 0, status;
	sqlite3 *db;
	pid_t pid;

	assert_int_equal(sqlite3_open(p->db, &db), SQLITE_OK);
	run(db, sql);
	sqlite3_close(db);
	free(sql);
	pid = child();
	if (pid == 0)
		busy_writer(p->db);
	while ((opened < 25 || last == 0) && clock_mono_ms() < until) {
		struct err e = ERR_INIT;

		if (db_open_foreign(p->db, &db, &e) != 0) {
			assert_string_equal(e.name, "locked");
			continue;
		}
		opened++;
		assert_int_equal(db_number(db, "SELECT n FROM a", &a, NULL), 0);
		assert_int_equal(db_number(db, "SELECT n FROM b", &b, NULL), 0);
		assert_int_equal(a, b);
		assert_true(a >= last);
		last = a;
		db_close(db);
	}
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	let_go(pid);
	assert_true(opened >= 25);
	assert_true(last > 0);
}

static void
test_beside_busy_wal_writer(void **state)
{
	read_beside_writer(*state, "WAL");
}

static void
test_beside_busy_writer(void **state)
{
	read_beside_writer(*state, "DELETE");
}

static void
test_corrupt(void **state)
{
	struct place *p = *state;
	int fd;

	make(p->db, "DELETE", 4000);
	fd = open(p->db, O_WRONLY | O_CLOEXEC);
	for (int i = 1; i < 12; i++)
		assert_int_equal(pwrite(fd, "\xee\xee\xee\xee\xee\xee\xee\xee\xee\xee", 10, i * 4096), 10);
	close(fd);
	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "corrupt");
	assert_non_null(strstr(p->e.msg, p->db));
	/* the same in WAL mode: through the copy */
	unlink(p->db);
	make(p->db, "WAL", 4000);
	fd = open(p->db, O_WRONLY | O_CLOEXEC);
	for (int i = 1; i < 12; i++)
		assert_int_equal(pwrite(fd, "\xee\xee\xee\xee\xee\xee\xee\xee\xee\xee", 10, i * 4096), 10);
	close(fd);
	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "corrupt");
	assert_int_equal(truncate(p->db, 5000), 0);
	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "corrupt");
}

static void
test_no_database(void **state)
{
	struct place *p = *state;

	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "not-found");
	temp_write(p->db, "");
	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "not-a-database");
	temp_write(p->db,
	    "version https://git-lfs.example/spec/v1\noid "
	    "sha256:4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8\nsize 9\n");
	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "not-a-database");
	unlink(p->db);
	assert_int_equal(mkfifo(p->db, 0600), 0);
	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "not-a-file");
	unlink(p->db);
	assert_int_equal(mkdir(p->db, 0700), 0);
	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "not-a-file");
}

/* Names that SQLite might take for something else, and a link whose log lies beside its target. */
static void
test_names(void **state)
{
	struct place *p = *state;
	char *odd = io_join(p->dir, "file:x?mode=memory#'\"%20.db"), *link = io_join(p->dir, "link.db");
	pid_t pid;

	make(odd, "WAL", 10);
	pid = holder(odd, "INSERT INTO t VALUES(1000, 'new')");
	assert_int_equal(symlink(odd, link), 0);
	free(p->db);
	p->db = odd;
	assert_int_equal(rows(p), 11);
	p->db = link;
	assert_int_equal(rows(p), 11);
	let_go(pid);
	free(odd);
}

/*
 * Opens it as a user to whom rights apply: in a child of root that becomes nobody. 0 when it
 * finds the expected rows.
 */
static int
as_nobody(struct place *p, int64_t expected)
{
	char *before = geteuid() == 0 ? picture(p->dir) : NULL;
	pid_t pid;
	int status;

	if (before == NULL)
		return NOT_ALLOWED;
	pid = child();
	if (pid == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(NOT_ALLOWED);
		_exit(count(p, NULL) == expected ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(unchanged(p->dir, before));
	free(before);
	return WEXITSTATUS(status);
}

static void
test_read_only_directory(void **state)
{
	struct place *p = *state;
	char *shm = xasprintf("%s-shm", p->db), *wal = xasprintf("%s-wal", p->db);
	int first;
	pid_t pid;

	make(p->db, "WAL", 100);
	chmod(p->tmp, 0777);
	chmod(p->db, 0444);
	chmod(p->dir, 0555);
	first = as_nobody(p, 100);
	if (first == NOT_ALLOWED) {
		print_message("skipped: this user cannot become another one\n");
		skip();
	}
	assert_int_equal(first, 0);
	chmod(p->dir, 0755);
	chmod(p->db, 0644);
	pid = holder(p->db, "INSERT INTO t VALUES(1000, 'new')");
	chmod(wal, 0444);
	chmod(shm, 0400);
	chmod(p->dir, 0555);
	assert_int_equal(as_nobody(p, 101), 0);
	let_go(pid);
	chmod(p->db, 0400);
	assert_int_equal(as_nobody(p, -1), 0);
	free(shm);
	free(wal);
}

static void
test_no_room_for_the_copy(void **state)
{
	struct place *p = *state;

	make(p->db, "WAL", 10);
	setenv("TMPDIR", "/nowhere/at/all", 1);
	assert_int_equal(rows(p), -1);
	assert_string_equal(p->e.name, "unwritable");
	setenv("TMPDIR", p->tmp, 1);
	assert_int_equal(rows(p), 10);
}

/* A maker that was killed leaves its directory, without the lock; one that lives has the lock. */
static void
test_left_copy(void **state)
{
	struct place *p = *state;
	char *left = io_join(p->tmp, "gt-recover.aB3xyz"), *used = io_join(p->tmp, "gt-recover.cD4xyz"),
	     *other = io_join(p->tmp, "gt-recover.longer-name"), *file = io_join(left, "db"),
	     *log = io_join(left, "db-wal");
	int lock;
	pid_t pid;
	int status;

	make(p->db, "WAL", 10);
	assert_int_equal(mkdir(left, 0700) + mkdir(used, 0700) + mkdir(other, 0700), 0);
	assert_int_equal(io_write_durable(file, "beads", 5, NULL, NULL), 0);
	assert_int_equal(io_write_durable(log, "log", 3, NULL, NULL), 0);
	lock = open(used, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	/* in a process of its own: a process looks for them once */
	pid = child();
	if (pid == 0)
		_exit(count(p, NULL) == 10 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(io_is_dir(left));
	assert_true(io_is_dir(used));
	assert_true(io_is_dir(other));
	close(lock);
	assert_int_equal(rmdir(used) + rmdir(other), 0);
	free(left);
	free(used);
	free(other);
	free(file);
	free(log);
}

/* A virtual table's module would read what they planted in its shadow tables. */
static void
test_virtual_tables(void **state)
{
	struct place *p = *state;
	sqlite3 *db;
	int64_t n;

	assert_int_equal(sqlite3_open(p->db, &db), SQLITE_OK);
	if (sqlite3_exec(db, "CREATE VIRTUAL TABLE v USING fts5(id, title)", NULL, NULL, NULL) != SQLITE_OK) {
		sqlite3_close(db);
		print_message("skipped: this SQLite has no FTS5\n");
		skip();
	}
	run(db, "INSERT INTO v VALUES('r1-1', 'planted'); CREATE TABLE t(id INTEGER)");
	sqlite3_close(db);
	assert_int_equal(db_open_foreign(p->db, &db, &p->e), 0);
	assert_int_equal(db_number(db, "SELECT count(*) FROM t", &n, &p->e), 0);
	assert_int_equal(db_number(db, "SELECT count(*) FROM v", &n, &p->e), -1);
	assert_false(db_has_column(db, "v", "id"));
	assert_true(db_has_column(db, "t", "id"));
	db_close(db);
}

/* Views and triggers of theirs do not run, nothing can be attached, and endless queries end. */
static void
test_defences(void **state)
{
	struct place *p = *state;
	sqlite3 *db;
	int64_t n;

	make(p->db, "DELETE", 10);
	assert_int_equal(sqlite3_open(p->db, &db), SQLITE_OK);
	run(db, "CREATE VIEW v AS SELECT 1");
	sqlite3_close(db);
	assert_int_equal(db_open_foreign(p->db, &db, &p->e), 0);
	assert_int_equal(db_number(db, "SELECT count(*) FROM v", &n, &p->e), -1);
	assert_int_equal(db_exec(db, "ATTACH ':memory:' AS other", &p->e), -1);
	assert_int_equal(db_exec(db, "PRAGMA query_only=OFF", &p->e), 0);
	assert_int_equal(db_exec(db, "DELETE FROM t", &p->e), -1);
	assert_true(db_has_column(db, "t", "S"));
	assert_false(db_has_column(db, "t", "missing"));
	assert_false(db_has_column(db, "nothing", "s"));
	db_close(db);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_resting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wal_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wal_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wal_uncommitted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hot_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_super_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locked_wal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beside_busy_wal_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beside_busy_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_corrupt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_database, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_only_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room_for_the_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_virtual_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_defences, setup, teardown),
	};

	return cmocka_run_group_tests_name("db", tests, NULL, NULL);
}
