#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/spawn.h"

static void
gives_signals_back_to_the_child(void **state)
{
	static const char *const argv[] = { "grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status", NULL };
	struct buf out = BUF_INIT;
	struct spawn s = { .argv = argv, .out = &out };
	unsigned long long blocked, ignored;
	sigset_t block, before;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, &before);
	assert_int_equal(spawn_run(&s, NULL), 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGHUP, SIG_DFL);
	/* glibc itself has posix_spawn ignore its two internal signals, 32 and 33 */
	assert_int_equal(sscanf(out.data, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
	assert_int_equal(blocked, 0);
	assert_int_equal(ignored & 0x7fffffff, 0);
	buf_release(&out);
}

/* What somebody opened without O_CLOEXEC, and a library may. */
static void
hands_on_no_descriptor(void **state)
{
	static const char *const argv[] = { "ls", "/proc/self/fd", NULL };
	struct buf out = BUF_INIT;
	struct spawn s = { .argv = argv, .out = &out };
	int fd = open("/dev/null", O_RDONLY), high;

	(void)state;
	assert_true(fd >= 0);
	high = fcntl(fd, F_DUPFD, 77);
	assert_int_equal(high, 77);
	assert_int_equal(spawn_run(&s, NULL), 0);
	assert_int_equal(s.status, 0);
	/* 3 is the directory that ls reads */
	assert_string_equal(out.data, "0\n1\n2\n3\n");
	close(high);
	close(fd);
	buf_release(&out);
}

static void
feeds_and_drains_at_once(void **state)
{
	static const char *const argv[] = { "cat", NULL };
	struct buf in = BUF_INIT, out = BUF_INIT;
	struct spawn s = { .argv = argv, .out = &out };

	(void)state;
	while (in.len < (size_t)1 << 20)
		buf_str(&in, "a pipe holds 64 KiB, so this must go both ways at the same time\n");
	s.in = in.data;
	s.in_len = in.len;
	assert_int_equal(spawn_run(&s, NULL), 0);
	assert_int_equal(s.status, 0);
	assert_int_equal(out.len, in.len);
	assert_memory_equal(out.data, in.data, in.len);
	buf_release(&in);
	buf_release(&out);
}

static void
ends_what_does_not_end(void **state)
{
	static const char *const hangs[] = { "sleep", "60", NULL };
	static const char *const nothing[] = { "no-such-program-here", NULL };
	struct spawn s = { .argv = hangs, .timeout_ms = 100 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(spawn_run(&s, &e), -1);
	assert_string_equal(e.name, "timeout");
	assert_int_equal(e.code, GT_AGAIN);
	s.argv = nothing;
	assert_int_equal(spawn_run(&s, &e), -1);
	assert_string_equal(e.name, "not-installed");
	s.cwd = "/";
	assert_int_equal(spawn_run(&s, &e), -1);
	assert_string_equal(e.name, "not-installed");
	s.cwd = "/nowhere/at/all";
	assert_int_equal(spawn_run(&s, &e), -1);
	assert_string_equal(e.name, "spawn");
}

static void
tells_how_a_program_ended(void **state)
{
	static const char *const fails[] = { "sh", "-c", "echo why >&2; exit 7", NULL };
	static const char *const dies[] = { "sh", "-c", "kill -9 $$", NULL };
	struct buf why = BUF_INIT;
	struct spawn s = { .argv = fails, .errout = &why };

	(void)state;
	assert_int_equal(spawn_run(&s, NULL), 0);
	assert_int_equal(s.status, 7);
	assert_string_equal(why.data, "why\n");
	s.argv = dies;
	assert_int_equal(spawn_run(&s, NULL), 0);
	assert_int_equal(s.status, 128 + 9);
	buf_release(&why);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_signals_back_to_the_child),
		cmocka_unit_test(hands_on_no_descriptor),
		cmocka_unit_test(feeds_and_drains_at_once),
		cmocka_unit_test(ends_what_does_not_end),
		cmocka_unit_test(tells_how_a_program_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
