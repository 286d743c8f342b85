#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "golden.h"
#include "temp.h"
#include "tmux/tmux.h"

/*
 * Panes of other versions of tmux, read from recorded fields (tests/golden/tmux): "%0" lives, "%1" was
 * killed, "%2", in a directory of its own, exited with status 3.
 */
struct replay {
	char *dir, *path, *count, *before;
	int fd;
	struct tmux t;
};

static void
start_replay(struct replay *r, const char *version)
{
	char *name = tests_path("golden/tmux/replay"), *from = realpath(name, NULL);
	char *recorded = xasprintf("golden/tmux/%s", version), *file, *tmux, *path;
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	r->dir = temp_dir();
	r->path = xasprintf("%s/s", r->dir);
	r->count = xasprintf("%s/count", r->dir);
	r->before = xstrdup(getenv("PATH"));
	tmux = xasprintf("%s/tmux", r->dir);
	path = xasprintf("%s:%s", r->dir, r->before);
	file = tests_path(recorded);
	assert_int_equal(symlink(from, tmux), 0);
	memcpy(a.sun_path, r->path, strlen(r->path) + 1);
	r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(r->fd, (struct sockaddr *)&a, sizeof a), 0);
	setenv("PATH", path, 1);
	setenv("GT_REPLAY", file, 1);
	setenv("GT_REPLAY_COUNT", r->count, 1);
	setenv("TZ", "UTC", 1);
	tzset();
	tmux_init(&r->t, r->path);
	free(name);
	free(from);
	free(recorded);
	free(file);
	free(tmux);
	free(path);
}

static void
stop_replay(struct replay *r)
{
	tmux_release(&r->t);
	setenv("PATH", r->before, 1);
	close(r->fd);
	temp_remove(r->dir);
	free(r->path);
	free(r->count);
	free(r->before);
}

/* Batches, each a tmux process, since the replay began. */
static size_t
batches(const struct replay *r)
{
	struct stat st;

	return stat(r->count, &st) == 0 ? (size_t)st.st_size / strlen("batch\n") : 0;
}

static void
reads_3_2(void **state)
{
	struct panes list = { .n = 0 };
	struct err e = ERR_INIT;
	struct replay r;

	(void)state;
	start_replay(&r, "3.2a");
	if (pane_list_bare(&r.t, &list, &e) != 0)
		fail_msg("%s", e.msg);
	assert_int_equal(list.n, 3);
	/* no more looks, as for an end that is not known yet */
	assert_int_equal(batches(&r), 2);
	assert_false(list.v[0].dead);
	assert_true(list.v[1].pid > 0 && list.v[2].pid > 0);
	assert_int_equal(list.v[1].dead_signal, 9);
	assert_int_equal(list.v[1].dead_status, -1);
	assert_int_equal(list.v[1].dead_time, 1795447339);
	assert_string_equal(list.v[1].dead_line, "Pane is dead (signal 9, Mon Nov 23 15:22:19 2026)");
	assert_int_equal(list.v[2].dead_status, 3);
	assert_int_equal(list.v[2].dead_signal, -1);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(list.v[i].start_command, i < 2 ? "\"exec sleep 1000\"" : "\"exit 3\"");
		/* of the third it is wrong, and said to be a guess */
		assert_string_equal(list.v[i].start_path, "/record/live");
		assert_true(list.v[i].start_guessed);
	}
	pane_list_release(&list);
	stop_replay(&r);
}

static void
reads_3_8(void **state)
{
	struct panes list = { .n = 0 };
	struct err e = ERR_INIT;
	struct replay r;

	(void)state;
	start_replay(&r, "3.8");
	if (pane_list_bare(&r.t, &list, &e) != 0)
		fail_msg("%s", e.msg);
	assert_int_equal(list.n, 3);
	assert_int_equal(batches(&r), 1);
	assert_true(list.v[0].pid > 0);
	/* from the argument list */
	assert_string_equal(list.v[0].start_command, "'exec sleep 1000'");
	assert_int_equal(list.v[1].pid, -1795447348);
	assert_int_equal(list.v[1].dead_signal, 9);
	assert_int_equal(list.v[1].dead_time, 1795447348);
	assert_int_equal(list.v[2].dead_status, 3);
	assert_string_equal(list.v[2].start_path, "/record/other");
	assert_false(list.v[2].start_guessed);
	pane_list_release(&list);
	stop_replay(&r);
}

static void
keeps_the_pid_of_what_lived(void **state)
{
	/* how the pane was seen before, and whether its process is the one that died */
	static const struct { bool dead; int64_t dead_time; pid_t pid, want; } cases[] = {
		{ false, 0, 4711, 4711 },
		{ true, 1795447348, 4711, 4711 },
		{ true, 1795447347, 4711, -1795447348 },
		{ true, 1795447347, -1795447347, -1795447348 },
	};
	struct panes list = { .n = 0 };
	struct err e = ERR_INIT;
	struct replay r;

	(void)state;
	start_replay(&r, "3.8");
	if (pane_list_bare(&r.t, &list, &e) != 0)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct pane was = list.v[1], now;

		was.dead = cases[i].dead;
		was.dead_time = cases[i].dead_time;
		was.pid = cases[i].pid;
		assert_int_equal(pane_reread(&r.t, &was, &now, NULL), 0);
		if (now.pid != cases[i].want)
			fail_msg("case %zu: %d", i, (int)now.pid);
		pane_release(&now);
	}
	pane_list_release(&list);
	stop_replay(&r);
}

static void
reads_the_row_of_a_dead_pane(void **state)
{
	static const struct { const char *row; int status, signal; int64_t at; } cases[] = {
		{ "Pane is dead (signal 15, Sun Feb  1 00:00:09 2026)", -1, 15, 1769904009 },
		{ "Pane is dead (status 0, Mon Nov 23 15:22:19 2026)", 0, -1, 1795447339 },
		{ "Pane is dead", -1, -1, 0 },
		{ "Pane is dead (signal 9, Mon Nov 23 15:22:19 2026) or not", -1, -1, 0 },
		{ "Pane is dead (signal 9, yesterday)", -1, -1, 0 },
		{ "> Pane is dead (signal 9, Mon Nov 23 15:22:19 2026)", -1, -1, 0 },
		{ "", -1, -1, 0 },
	};

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct pane p = { .dead_status = -1, .dead_signal = -1, .dead_line = xstrdup("") };

		pane_read_dead_row(&p, cases[i].row, strlen(cases[i].row));
		if (p.dead_status != cases[i].status || p.dead_signal != cases[i].signal ||
		    p.dead_time != cases[i].at ||
		    strcmp(p.dead_line, cases[i].at != 0 ? cases[i].row : "") != 0)
			fail_msg("\"%s\": %d %d %lld", cases[i].row, p.dead_status, p.dead_signal,
			    (long long)p.dead_time);
		free(p.dead_line);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_3_2),
		cmocka_unit_test(reads_3_8),
		cmocka_unit_test(keeps_the_pid_of_what_lived),
		cmocka_unit_test(reads_the_row_of_a_dead_pane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
