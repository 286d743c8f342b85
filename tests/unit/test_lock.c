#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "records/records.h"
#include "store/store.h"
#include "temp.h"

#define WRITERS 6

struct home {
	char *dir, *lock;
	struct err e;
};

static int
setup(void **state)
{
	struct home *h = xcalloc(1, sizeof *h);

	h->dir = temp_dir();
	h->lock = io_join(h->dir, "lock");
	*state = h;
	return 0;
}

static int
teardown(void **state)
{
	struct home *h = *state;

	temp_remove(h->dir);
	free(h->lock);
	free(h);
	return 0;
}

/* A process that has the lock, and keeps it until it is killed. */
static pid_t
holder(const struct home *h)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (io_lock(h->lock, 0, NULL) < 0 || write(ready[1], "x", 1) != 1)
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
end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void
on_alarm(int sig)
{
	(void)sig;
}

/*
 * Also where the caller had blocked the signal that ends it; what the caller does with that
 * signal stays as it was.
 */
static void
waiting_has_an_end(void **state)
{
	struct sigaction act = { .sa_handler = on_alarm }, now;
	struct home *h = *state;
	struct itimerval timer;
	sigset_t mask, after;
	pid_t pid = holder(h);

	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
	assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
	assert_int_equal(io_lock(h->lock, 0, &h->e), -1);
	assert_string_equal(h->e.name, "locked");
	err_clear(&h->e);
	assert_int_equal(io_lock(h->lock, 60, &h->e), -1);
	assert_string_equal(h->e.name, "locked");
	assert_int_equal(h->e.code, GT_AGAIN);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &mask, &after), 0);
	assert_true(sigismember(&after, SIGALRM));
	assert_int_equal(sigaction(SIGALRM, NULL, &now), 0);
	assert_ptr_equal(now.sa_handler, on_alarm);
	assert_int_equal(getitimer(ITIMER_REAL, &timer), 0);
	assert_int_equal(timer.it_value.tv_sec + timer.it_value.tv_usec, 0);
	signal(SIGALRM, SIG_DFL);
	end(pid);
}

static void
a_killed_holder_holds_nobody_off(void **state)
{
	struct home *h = *state;
	pid_t pid = holder(h), waiter = fork();
	int status, fd;

	assert_true(waiter >= 0);
	if (waiter == 0)
		_exit(io_lock(h->lock, 30000, NULL) < 0);
	assert_int_equal(waitpid(waiter, &status, WNOHANG), 0);
	end(pid);
	assert_int_equal(waitpid(waiter, &status, 0), waiter);
	assert_int_equal(status, 0);
	fd = io_lock(h->lock, 30000, &h->e);
	assert_true(fd >= 0);
	close(fd);
}

/* The file that a waiter waits for is removed, as io_unlock does, and made anew by another. */
static void
a_removed_file_is_no_lock(void **state)
{
	struct home *h = *state;
	int first = io_lock(h->lock, 0, &h->e), status;
	pid_t waiter;

	assert_true(first >= 0);
	waiter = fork();
	if (waiter == 0) {
		int fd;

		close(first);	/* it would hold the lock on */
		fd = io_lock(h->lock, 30000, NULL);
		_exit(fd < 0 || access(h->lock, F_OK) != 0);
	}
	io_unlock(h->lock, first);
	assert_int_equal(waitpid(waiter, &status, 0), waiter);
	assert_int_equal(status, 0);
}

/* ---- the store ---- */

static void
write_on(const char *dir, int me, const volatile bool *over, long *made)
{
	struct store *s = store_open("sqlite", dir, NULL);
	struct event ev = { .kind = "test.done", .subject = "writer" };
	char key[32];

	snprintf(key, sizeof key, "writer:%d", me);
	while (s != NULL && !*over) {
		struct change c = { CHANGE_PUT, key, STORE_ANY, "t", "{}" };

		if (event_commit(s, &c, 1, &ev, NULL) != COMMIT_DONE)
			_exit(1);
		++*made;
	}
	store_close(s);
	_exit(s == NULL);
}

/* While others commit without a pause, a reader gets its turn, each time. */
static void
readers_get_their_turn(void **state)
{
	struct home *h = *state;
	struct { volatile bool over; long made[WRITERS]; } *shared;
	struct store *s = store_open("sqlite", h->dir, &h->e);
	int64_t last, sum = 0;
	pid_t pid[WRITERS];
	int status;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	assert_non_null(s);
	for (int i = 0; i < WRITERS; i++)
		if ((pid[i] = fork()) == 0)
			write_on(h->dir, i, &shared->over, &shared->made[i]);
	for (int i = 0; i < 40; i++) {
		struct store *fresh = store_open("sqlite", h->dir, &h->e);
		struct records r = { 0 };

		if (fresh == NULL || event_last(fresh, &last, &h->e) != 0 ||
		    store_scan(s, "writer:", NULL, NULL, 0, &r, &h->e) != 0) {
			shared->over = true;
			fail_msg("%s", h->e.msg);
		}
		store_records_release(&r);
		store_close(fresh);
	}
	shared->over = true;
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
		assert_true(shared->made[i] > 0);
		sum += shared->made[i];
	}
	/* each commit has a number of its own, and none is left out */
	assert_int_equal(event_last(s, &last, &h->e), 0);
	assert_int_equal(last, sum);
	store_close(s);
	munmap(shared, sizeof *shared);
}

/* Who holds the store meets no conflict; who died while he held it holds nobody off. */
static void
a_held_store_waits(void **state)
{
	struct change c = { CHANGE_PUT, "k", STORE_ABSENT, "t", "{}" };
	struct home *h = *state;
	struct store *s = store_open("sqlite", h->dir, &h->e);
	struct record r;
	int status, begin[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(begin), 0);
	pid = fork();
	if (pid == 0) {
		struct store *own = store_open("sqlite", h->dir, NULL);

		c.expect = STORE_ANY;
		if (own == NULL || read(begin[0], &byte, 1) != 1)
			_exit(1);
		_exit(store_commit(own, &c, 1, NULL) != COMMIT_DONE);
	}
	assert_int_equal(store_lock(s, &h->e), 0);
	assert_int_equal(write(begin[1], "x", 1), 1);
	assert_int_equal(store_get(s, "k", &r, &h->e), 0);
	assert_int_equal(store_commit(s, &c, 1, &h->e), COMMIT_DONE);
	assert_int_equal(store_get(s, "k", &r, &h->e), 1);
	store_record_release(&r);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	store_unlock(s);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(begin[0]);
	close(begin[1]);
	pid = fork();
	if (pid == 0) {
		struct store *own = store_open("sqlite", h->dir, NULL);

		store_lock(own, NULL);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	c.expect = STORE_ANY;
	assert_int_equal(store_commit(s, &c, 1, &h->e), COMMIT_DONE);
	store_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(waiting_has_an_end, setup, teardown),
		cmocka_unit_test_setup_teardown(a_killed_holder_holds_nobody_off, setup, teardown),
		cmocka_unit_test_setup_teardown(a_removed_file_is_no_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(readers_get_their_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(a_held_store_waits, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
