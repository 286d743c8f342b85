/* When the whole store is checked, and when it is not: counted in bytes that are read from its file. */
/* It has both names of pread, which a library's flags would make one. */
#undef _FILE_OFFSET_BITS
#include "test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <utime.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "store/store.h"
#include "temp.h"

#define HOUR_MS ((int64_t)3600000)
#define A_FEW ((int64_t)64 << 10)	/* bytes */

static int64_t bytes_read;		/* of any recover.db */
static int64_t shift_ms;		/* of every clock */

static ssize_t
counted(int fd, void *p, size_t n, off64_t at)
{
	static __typeof__(pread64) *next;
	ssize_t r;
	char link[40], path[4096];
	ssize_t len;

	if (next == NULL)
		next = (__typeof__(pread64) *)dlsym(RTLD_NEXT, "pread64");
	r = next(fd, p, n, at);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof path - 1);
	path[len > 0 ? len : 0] = '\0';
	if (r > 0 && str_ends(path, "/recover.db"))
		bytes_read += r;
	return r;
}

ssize_t
pread(int fd, void *p, size_t n, off_t at)
{
	return counted(fd, p, n, at);
}

ssize_t
pread64(int fd, void *p, size_t n, off64_t at)
{
	return counted(fd, p, n, at);
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int ret = (int)syscall(SYS_clock_gettime, id, ts);

	ts->tv_sec += (time_t)(shift_ms / 1000);
	return ret;
}

struct home {
	char *dir, *db, *lock, *backup;
	struct err e;
};

static int64_t
size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void
put(struct store *s, const char *key, const char *value)
{
	struct change c = { CHANGE_PUT, key, STORE_ANY, "t", value };
	struct err e = ERR_INIT;

	if (store_commit(s, &c, 1, &e) != COMMIT_DONE)
		fail_msg("%s", e.msg);
}

/* True: the whole file was read by it. False: a few pages were. */
static bool
checks(struct home *h, struct store *(*open_it)(const char *url, const char *dir, struct err *e))
{
	struct record r;
	struct store *s;

	bytes_read = 0;
	s = open_it("sqlite", h->dir, &h->e);
	if (s == NULL)
		fail_msg("%s", h->e.msg);
	assert_int_equal(store_get(s, "k:0500", &r, &h->e), 1);
	store_record_release(&r);
	store_close(s);
	if (bytes_read < A_FEW)
		return false;
	assert_true(bytes_read >= size_of(h->db));
	return true;
}

/* A store of 2 MiB that was checked. */
static int
setup(void **state)
{
	struct home *h = xcalloc(1, sizeof *h);
	struct change c[40];
	char keys[40][16], value[1000];
	struct store *s;

	shift_ms = 0;
	h->dir = temp_dir();
	h->db = io_join(h->dir, "recover.db");
	h->lock = io_join(h->dir, "recover.lock");
	h->backup = io_join(h->dir, "recover.db.backup");
	memset(value, '1', sizeof value - 1);
	value[0] = value[sizeof value - 2] = '"';
	value[sizeof value - 1] = '\0';
	s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(s);
	for (int i = 0; i < 2000;) {
		for (size_t k = 0; k < 40; k++, i++) {
			snprintf(keys[k], sizeof keys[k], "k:%04d", i);
			c[k] = (struct change){ CHANGE_PUT, keys[k], STORE_ABSENT, "t", value };
		}
		assert_int_equal(store_commit(s, c, 40, &h->e), COMMIT_DONE);
	}
	store_close(s);
	assert_true(checks(h, store_open));
	*state = h;
	return 0;
}

static int
teardown(void **state)
{
	struct home *h = *state;

	shift_ms = 0;
	temp_remove(h->dir);
	free(h->db);
	free(h->lock);
	free(h->backup);
	free(h);
	return 0;
}

/* What happened is checked once, and then not again. */
static void
once(struct home *h)
{
	assert_true(checks(h, store_open));
	assert_false(checks(h, store_open));
}

static void
test_not_at_every_open(void **state)
{
	struct home *h = *state;
	struct store *s;

	for (int i = 0; i < 3; i++) {
		assert_false(checks(h, store_open));
		s = store_open("sqlite", h->dir, &h->e);
		assert_non_null(s);
		put(s, "k:0001", "1");
		put(s, "k:0002", "2");
		store_close(s);
	}
	assert_false(checks(h, store_open));
}

static void
test_once_a_day(void **state)
{
	struct home *h = *state;

	shift_ms = 23 * HOUR_MS;
	assert_false(checks(h, store_open));
	shift_ms = 25 * HOUR_MS;
	once(h);
	shift_ms = 48 * HOUR_MS;
	assert_false(checks(h, store_open));
	/* clocks that go back */
	shift_ms = 0;
	once(h);
}

static void
write_at(const char *path, off_t at, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, strlen(text), at), strlen(text));
	close(fd);
}

static void
test_after_a_reboot(void **state)
{
	struct home *h = *state;

	/* "-1 BOOT-ID …" */
	write_at(h->lock, 3, "00000000-0000-4000-8000-000000000000");
	once(h);
}

/* The byte that a writer leaves who dies while he commits, whatever else he did. */
static void
test_after_a_kill(void **state)
{
	struct home *h = *state;
	struct store *s;

	write_at(h->lock, 0, "w");
	once(h);
	/* found by who has the store open already */
	s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(s);
	write_at(h->lock, 0, "w");
	put(s, "k:0001", "1");
	store_close(s);
	once(h);
}

#ifdef GT_FAULTS
static void
test_killed(void **state)
{
	static const char *const points[] = { "store-commit=kill", "store-committed=kill" };
	struct home *h = *state;

	for (size_t i = 0; i < 2; i++) {
		pid_t pid;
		int status;

		setenv("GT_FAULT", points[i], 1);
		pid = fork();
		if (pid == 0) {
			put(store_open("sqlite", h->dir, NULL), "k:0001", "7");
			_exit(1);
		}
		unsetenv("GT_FAULT");
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		once(h);
	}
}
#endif

/* Written, replaced or put back by somebody else. */
static void
test_not_as_it_was_left(void **state)
{
	struct home *h = *state;
	struct utimbuf long_ago = { 1700000000, 1700000000 };
	char *copy = io_join(h->dir, "copy");
	struct buf b = BUF_INIT;

	assert_int_equal(utime(h->db, &long_ago), 0);
	once(h);
	assert_int_equal(io_read_file(h->db, (size_t)64 << 20, &b, &h->e), 0);
	assert_int_equal(io_write_durable(copy, b.data, b.len, "test", &h->e), 0);
	assert_int_equal(rename(copy, h->db), 0);
	once(h);
	buf_release(&b);
	free(copy);
}

static void
test_seal_is_lost(void **state)
{
	struct home *h = *state;

	assert_int_equal(truncate(h->lock, 100), 0);
	once(h);
	write_at(h->lock, 1, "2");
	once(h);
	assert_int_equal(unlink(h->lock), 0);
	once(h);
	/* one that cannot be written fails nobody: it is checked each time */
	assert_int_equal(unlink(h->lock), 0);
	assert_int_equal(symlink("nowhere", h->lock), 0);
	assert_true(checks(h, store_open));
	assert_true(checks(h, store_open));
}

/* A writer that lives is not waited for; what is due is done beside him. */
static void
test_beside_a_writer(void **state)
{
	struct home *h = *state;
	int64_t before = clock_mono_ms();
	int fd = open(h->lock, O_RDWR | O_CLOEXEC);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_false(checks(h, store_open));
	shift_ms = 25 * HOUR_MS;
	assert_true(checks(h, store_open));
	shift_ms = 0;
	/* he changes the file, and has not sealed it yet */
	assert_int_equal(utime(h->db, NULL), 0);
	write_at(h->lock, 0, "w");
	assert_false(checks(h, store_open));
	write_at(h->lock, 0, "-");
	assert_true(checks(h, store_open));
	close(fd);
	once(h);
	assert_true(clock_mono_ms() - before < 9000);
}

/* A hook leaves it to the next command; and it copies no large store either. */
static void
test_brief(void **state)
{
	struct home *h = *state;
	struct utimbuf long_ago = { 1700000000, 1700000000 };
	struct stat before, after;
	struct store *s;

	shift_ms = 25 * HOUR_MS;
	assert_false(checks(h, store_open_brief));
	write_at(h->lock, 0, "w");
	assert_false(checks(h, store_open_brief));
	assert_int_equal(utime(h->backup, &long_ago), 0);
	assert_int_equal(stat(h->backup, &before), 0);
	s = store_open_brief("sqlite", h->dir, &h->e);
	assert_non_null(s);
	bytes_read = 0;
	put(s, "k:0001", "1");
	assert_true(bytes_read < A_FEW);
	store_close(s);
	assert_int_equal(stat(h->backup, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	once(h);
	s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(s);
	put(s, "k:0001", "1");
	store_close(s);
	assert_int_equal(stat(h->backup, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
}

/* ---- damage of which the times of the file say nothing: a disk that gives back other bytes ---- */

static unsigned long long
nanoseconds(const struct timespec *t)
{
	return (unsigned long long)t->tv_sec * 1000000000 + (unsigned long long)t->tv_nsec;
}

static void
decay(struct home *h, int page, int n)
{
	struct stat st;
	char times[64];

	for (; n > 0; n--, page++)
		write_at(h->db, (off_t)page * 4096, "\x99\x99\x99\x99\x99\x99\x99\x99");
	assert_int_equal(stat(h->db, &st), 0);
	snprintf(times, sizeof times, " %016llx %016llx\n", nanoseconds(&st.st_mtim),
	    nanoseconds(&st.st_ctim));
	write_at(h->lock, (off_t)size_of(h->lock) - (off_t)strlen(times), times);
}

static void
refused_and_mended(struct home *h)
{
	struct store_restored m;
	struct store *s;

	assert_null(store_open("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "corrupt");
	assert_int_equal(store_restore("sqlite", h->dir, &m, &h->e), 1);
	s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(s);
	store_close(s);
}

static void
test_met_by_a_reader(void **state)
{
	struct home *h = *state;
	struct record r;
	struct store *s;
	int found;

	decay(h, 100, 300);
	s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(s);
	found = store_get(s, "k:0500", &r, &h->e);
	assert_int_equal(found, -1);
	assert_string_equal(h->e.name, "corrupt");
	assert_non_null(strstr(h->e.hint, "restores its backup"));
	store_close(s);
	refused_and_mended(h);
}

static void
test_met_by_doctor(void **state)
{
	struct home *h = *state;

	assert_true(checks(h, store_open_readonly));
	assert_true(checks(h, store_open_readonly));
	assert_false(checks(h, store_open));
	decay(h, 300, 2);
	assert_null(store_open_readonly("sqlite", h->dir, &h->e));
	assert_string_equal(h->e.name, "corrupt");
	refused_and_mended(h);
}

static void
test_met_by_a_backup(void **state)
{
	struct home *h = *state;
	struct utimbuf long_ago = { 1700000000, 1700000000 };
	struct stat before, after;
	struct store *s;

	decay(h, 300, 2);
	assert_int_equal(utime(h->backup, &long_ago), 0);
	assert_int_equal(stat(h->backup, &before), 0);
	s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(s);
	put(s, "k:0001", "1");
	store_close(s);
	assert_int_equal(stat(h->backup, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	refused_and_mended(h);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_not_at_every_open), T(test_once_a_day), T(test_after_a_reboot), T(test_after_a_kill),
#ifdef GT_FAULTS
		T(test_killed),
#endif
		T(test_not_as_it_was_left), T(test_seal_is_lost), T(test_beside_a_writer), T(test_brief),
		T(test_met_by_a_reader), T(test_met_by_doctor), T(test_met_by_a_backup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
