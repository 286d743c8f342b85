#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/spawn.h"
#include "temp.h"

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

/* Not a zombie. */
static bool
runs(pid_t pid)
{
	char path[64], state = 'Z';
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f == NULL)
		return false;
	if (fscanf(f, "%*d %*s %c", &state) != 1)
		state = 'Z';
	fclose(f);
	return state != 'Z' && state != 'X';
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

/* What the child started has its group, keeps the pipe open, and would outlive it. */
static void
ends_what_a_child_started(void **state)
{
	static const char *const argv[] = { "sh", "-c", "trap '' TERM; sleep 60 & echo $!; wait", NULL };
	struct buf out = BUF_INIT;
	struct spawn s = { .argv = argv, .out = &out, .timeout_ms = 300 };
	int64_t until;
	pid_t pid;

	(void)state;
	assert_int_equal(spawn_run(&s, NULL), -1);
	pid = atoi(out.data);
	assert_true(pid > 1);
	/* a zombie until init or whoever adopts it has reaped it */
	until = clock_mono_ms() + 2000;
	while (runs(pid) && clock_mono_ms() < until)
		clock_sleep_ms(5);
	if (runs(pid)) {
		kill(pid, SIGKILL);
		fail_msg("the child's own child still runs");
	}
	buf_release(&out);
}

/* A PATH that begins with the current directory, whichever way it says so, and a program there. */
static void
finds_no_program_where_it_goes(void **state)
{
	static const char *const paths[] = { "", ".", "bin", "./bin" };
	static const char *const planted[] = { "planted", NULL };
	static const char *const inner[] = { "sh", "-c", "planted", NULL };
	char *dir = temp_dir(), *before = xstrdup(getenv("PATH"));

	(void)state;
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		char *place = xasprintf("%s/%s", dir, paths[i]), *file = io_join(place, "planted"),
		     *path = xasprintf("%s:%s:", paths[i], before);
		struct spawn s = { .argv = planted, .cwd = dir };
		struct err e = ERR_INIT;
		FILE *f;

		mkdir(place, 0700);
		f = fopen(file, "w");
		assert_non_null(f);
		fputs("#!/bin/sh\nexit 0\n", f);
		fclose(f);
		assert_int_equal(chmod(file, 0700), 0);
		setenv("PATH", path, 1);
		assert_int_equal(spawn_run(&s, &e), -1);
		assert_string_equal(e.name, "not-installed");
		/* nor does a program that it starts */
		s.argv = inner;
		assert_int_equal(spawn_run(&s, &e), 0);
		assert_int_equal(s.status, 127);
		unlink(file);
		free(place);
		free(file);
		free(path);
	}
	setenv("PATH", before, 1);
	temp_remove(dir);
	free(before);
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
		cmocka_unit_test(ends_what_a_child_started),
		cmocka_unit_test(finds_no_program_where_it_goes),
		cmocka_unit_test(tells_how_a_program_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
