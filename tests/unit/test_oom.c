#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "temp.h"
#include "process/oom.h"

#define BOOT ((int64_t)1795300000000)
#define S ((int64_t)1000)

static bool
is_claude(const void *arg, const char *comm)
{
	(void)arg;
	return strcmp(comm, "claude") == 0;
}

static bool
anything(const void *arg, const char *comm)
{
	(void)arg;
	(void)comm;
	return true;
}

static struct oom_log
log_of(const char *text)
{
	struct oom_log l = OOM_LOG_INIT;

	oom_log_kmsg(&l, text, strlen(text), BOOT);
	l.read_at = INT64_MAX;
	l.slack_ms = 10 * S;
	return l;
}

/*
 * As Linux 6.1 and 5.3 (a cgroup), 5.15 (the machine), 4.14 and 3.10 write it; names and sizes
 * are made up.
 */
static void
reads_what_kernels_write(void **state)
{
	static const struct { const char *text; pid_t pid; const char *comm;
	} cases[] = {
		{ "3,1042,90000000,-;Memory cgroup out of memory: Killed process 4711 (claude) "
		  "total-vm:214012kB, anon-rss:30104kB, "
		  "file-rss:1664kB, shmem-rss:0kB, UID:1000 pgtables:116kB oom_score_adj:0\n",
		    4711, "claude" },
		{ "3,77,1,c;Out of memory: Killed process 12 (node) total-vm:22100kB, anon-rss:1kB, "
		  "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB "
		  "oom_score_adj:0\n",
		    12, "node" },
		{ "3,77,1,-;Out of memory (oom_kill_allocating_task): Killed process 13 (cc1plus) "
		  "total-vm:1kB\n",
		    13, "cc1plus" },
		{ "3,88,1,-,caller=T41;Killed process 14 (claude) total-vm:9kB, anon-rss:8kB, file-rss:0kB, "
		  "shmem-rss:0kB\n",
		    14, "claude" },
		{ "3,88,1,-;Killed process 15, UID 1000, (claude) total-vm:9kB\n", 0, NULL },
		{ "3,88,1,-;Killed process 16 (my agent), UID 1000, total-vm:9kB, anon-rss:8kB, "
		  "file-rss:0kB\n",
		    16, "my agent" },
		{ "3,88,1,-;Killed process 17 (a) b (c) total-vm:9kB\n SUBSYSTEM=memory\n", 17, "a) b (c" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct oom_log l = log_of(cases[i].text);

		assert_int_equal(l.n, cases[i].comm != NULL);
		if (l.n == 1) {
			assert_int_equal(l.v[0].pid, cases[i].pid);
			assert_string_equal(l.v[0].comm, cases[i].comm);
		}
		oom_log_release(&l);
	}
}

static void
reads_faults(void **state)
{
	static const struct { const char *text; pid_t pid;
	} cases[] = {
		{ "6,88,1,-;tmux: server[4711]: segfault at 0 ip 000055d0 sp 00007ffc error 4 in tmux[55d0+a1]\n",
		    4711 },
		{ "6,88,1,-;traps: tmux: server[12] general protection fault ip:7f sp:7f error:0 in libc\n", 12 },
		{ "6,88,1,-;traps: tmux: server[13] trap invalid opcode ip:55 sp:7f error:0 in tmux\n", 13 },
		{ "14,88,1,-;tmux: server[4711]: segfault at 0 ip 0\n", 0 },
		{ "6,88,1,-;tmux: server[4711]: started\n", 0 },
		{ "6,88,1,-;tmux: server[x]: segfault at 0\n", 0 },
		{ "6,88,1,-;[4711]: segfault at 0\n", 0 },
		{ "6,88,1,-;tmux: server[4711", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct oom_log l = log_of(cases[i].text);
		struct oom_death d = { .pid = cases[i].pid, .from = BOOT, .until = BOOT + S, .fits = anything };

		assert_int_equal(l.n, cases[i].pid != 0);
		if (l.n == 1) {
			assert_int_equal(l.v[0].pid, cases[i].pid);
			assert_string_equal(l.v[0].comm, "tmux: server");
			assert_false(oom_killed(&l, &d));
			d.fault = true;
			assert_true(oom_killed(&l, &d));
		}
		oom_log_release(&l);
	}
}

/*
 * What only looks like it: the choice of a victim, a program's own words, other messages, lines
 * that are cut.
 */
static void
passes_over_what_proves_nothing(void **state)
{
	static const char *const texts[] = {
		"", "\n\n", ";", "3,1,2,-", "3,1,2,-;",
		"3,88,1,-;Out of memory: Kill process 14 (claude) score 900 or sacrifice child\n",
		"6,88,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/"
		",mems_allowed=0,oom_memcg=/x,task_memcg=/x,task=claude,pid=14,uid=0\n",
		"6,88,1,-;oom_reaper: reaped process 14 (claude), now anon-rss:0kB, file-rss:0kB, "
		"shmem-rss:0kB\n",
		"14,88,1,-;Out of memory: Killed process 14 (claude) total-vm:9kB\n",
		"6,88,1,-;audit: Killed process 14 (claude) total-vm:9kB\n",
		"3,88,1,-;Out of memory: Killed process 14 (claude) \n",
		"3,88,1,-;Out of memory: Killed process 14 (clau",
		"3,88,1,-;Out of memory: Killed process (claude) total-vm:9kB\n",
		"3,88,1,-;Out of memory: Killed process -1 (claude) total-vm:9kB\n",
		"3,88,1,-;Killed process 99999999999999999999999 (claude) total-vm:9kB\n",
		"x,88,1,-;Killed process 14 (claude) total-vm:9kB\n",
		"3,88,-1,-;Killed process 14 (claude) total-vm:9kB\n",
		" Killed process 14 (claude) total-vm:9kB\n",
		"3,88,1,-;Killed process 14 (a name that is longer than any that a process of this kernel "
		"ever can have) total-vm:9kB\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct oom_log l = log_of(texts[i]);

		if (l.n != 0)
			fail_msg("%s", texts[i]);
		oom_log_release(&l);
	}
}

static void
reads_the_journal(void **state)
{
	static const char text[] =
	    "1795300100.123456 box kernel: oom-kill:constraint=CONSTRAINT_NONE,task=claude,pid=7,uid=0\n"
	    "1795300100.123460 box kernel: Out of memory: Killed process 7 (claude) total-vm:9kB, "
	    "anon-rss:8kB\n"
	    "1795300101.000000 box systemd[1]: Out of memory: Killed process 8 (claude) total-vm:9kB\n"
	    "1795300102.000000 box kernel: two lines\n"
	    "                              kernel: Out of memory: Killed process 9 (claude) total-vm:9kB\n"
	    "-- No entries --\n";
	struct oom_log l = OOM_LOG_INIT;

	(void)state;
	oom_log_journal(&l, text, strlen(text));
	assert_int_equal(l.n, 1);
	assert_int_equal(l.v[0].pid, 7);
	assert_int_equal(l.v[0].at, 1795300100000);
	oom_log_release(&l);
}

/* The pid, the time and the name: a pid is used again. */
static void
proves_only_what_agrees(void **state)
{
	struct oom_log l = log_of("3,1,100000000,-;Out of memory: Killed process 7 (claude) total-vm:9kB\n"
		"3,2,100000000,-;Out of memory: Killed process 8 (cc1plus) total-vm:9kB\n");
	struct oom_death d = { .pid = 7, .from = BOOT + 40 * S, .until = BOOT + 101 * S, .fits = is_claude };

	(void)state;
	assert_true(oom_killed(&l, &d));
	d.until = BOOT + 91 * S;		/* the log's clock may be off */
	assert_true(oom_killed(&l, &d));
	d.until = BOOT + 89 * S;
	assert_false(oom_killed(&l, &d));
	d.until = BOOT + 500 * S;
	d.from = BOOT + 109 * S;
	assert_true(oom_killed(&l, &d));
	d.from = BOOT + 111 * S;
	assert_false(oom_killed(&l, &d));
	d.from = BOOT;
	d.pid = 8;
	assert_false(oom_killed(&l, &d));
	d.fits = anything;
	assert_true(oom_killed(&l, &d));
	d.pid = 9;
	assert_false(oom_killed(&l, &d));
	oom_log_release(&l);
}

/* The log of this machine: what it has is read, and a process that was never killed so is not in it. */
static void
reads_the_machines_own(void **state)
{
	struct oom_log l = OOM_LOG_INIT;
	struct oom_death d = { .pid = getpid(), .from = 0, .until = INT64_MAX - 1000000, .fits = anything };

	(void)state;
	oom_log_read(&l);
	assert_true(l.read_at > 0 && l.slack_ms >= 10 * S);
	for (size_t i = 0; i < l.n; i++)
		assert_true(l.v[i].pid > 0);
	d.until = l.read_at - 1;
	assert_false(oom_killed(&l, &d));
	oom_log_release(&l);
}

static void
put_file(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name), *command;
	FILE *f;

	command = xasprintf("mkdir -p $(dirname %s)", path);
	assert_int_equal(system(command), 0);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	free(command);
	free(path);
}

/* Trees as recorded on Debian 12 with version 2, with version 1, and with both. */
static void
counts_the_kills_of_a_cgroup(void **state)
{
	static const struct { const char *cgroups; int64_t want;
	} cases[] = {
		{ "0::/user.slice/tmux-spawn.scope\n", 3 },
		{ "12:pids:/\n9:memory:/docker/abc\n1:name=systemd:/x\n0::/init.scope\n", 2 },
		{ "4:cpu,memory:/docker/abc\n", 2 },
		{ "5:cpuset:/docker/abc\n", 0 },
		{ "0::/gone\n", 0 },
		{ "0::/\n", 0 },
		{ "nonsense\n0:\n", 0 },
		{ "", 0 },
	};
	char *dir = temp_dir();

	(void)state;
	put_file(dir, "user.slice/tmux-spawn.scope/memory.events",
	    "low 0\nhigh 0\nmax 71\noom 4\noom_kill 3\noom_group_kill 0\n");
	put_file(dir, "init.scope/memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
	put_file(dir, "memory/docker/abc/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(oom_cgroup_kills(cases[i].cgroups, dir), cases[i].want);
	temp_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_kernels_write),
		cmocka_unit_test(reads_faults),
		cmocka_unit_test(passes_over_what_proves_nothing),
		cmocka_unit_test(reads_the_journal),
		cmocka_unit_test(proves_only_what_agrees),
		cmocka_unit_test(reads_the_machines_own),
		cmocka_unit_test(counts_the_kills_of_a_cgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
