#include "home.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/json.h"
#include "records/recovery/recovery.h"

#define SOCKET "/tmp/tmux-0/default"

static void
fill_in(struct attempt *a, const char *session, const char *pane)
{
	attempt_init(a);
	record_set(&a->session, session);
	record_set(&a->socket, SOCKET);
	record_set(&a->pane_id, pane);
	record_set(&a->class, "dead");
	record_set(&a->reason, "killed");
	a->server_pid = 4711;
	a->server_start = 8899;
}

static int
latest(struct home *h, const char *pane, struct attempt *out)
{
	return attempt_latest(h->s, SOCKET, 4711, 8899, pane, out, &h->e);
}

static void
test_whole_way(void **state)
{
	static const enum attempt_phase way[] = { PHASE_CAPTURED, PHASE_RESPAWNED, PHASE_DELIVERED,
		PHASE_ACKNOWLEDGED };
	struct home *h = *state;
	struct attempt a, b;

	fill_in(&a, "gt-toast", "%3");
	assert_int_equal(strlen(a.id), 20);
	assert_memory_equal(a.id, "gtr-", 4);
	assert_int_equal(attempt_load(h->s, a.id, &b, &h->e), 0);
	assert_int_equal(attempt_begin(h->s, &a, &h->e), 0);
	assert_true(a.version > 0);
	record_set(&a.cwd, "/home/a b/\xff");
	a.lines = 1234;
	a.tokens = 5678;
	for (size_t i = 0; i < sizeof way / sizeof way[0]; i++) {
		if (way[i] == PHASE_ACKNOWLEDGED)
			record_set(&a.proof, "transcript");
		assert_int_equal(attempt_advance(h->s, &a, way[i], &h->e), 0);
		assert_int_equal(attempt_load(h->s, a.id, &b, &h->e), 1);
		assert_int_equal(b.phase, way[i]);
		assert_int_equal(b.version, a.version);
		assert_int_equal(b.times[way[i]], a.times[way[i]]);
		assert_true(b.times[way[i]] >= b.times[PHASE_DETECTED] && b.times[PHASE_DETECTED] > 0);
		attempt_release(&b);
	}
	assert_int_equal(attempt_load(h->s, a.id, &b, &h->e), 1);
	assert_string_equal(b.session, "gt-toast");
	assert_string_equal(b.socket, SOCKET);
	assert_string_equal(b.cwd, "/home/a b/\xef\xbf\xbd");
	assert_string_equal(b.proof, "transcript");
	assert_null(b.why);
	assert_int_equal(b.lines, 1234);
	assert_int_equal(b.tokens, 5678);
	assert_int_equal(b.server_start, 8899);
	assert_int_equal(b.times[PHASE_FAILED], 0);
	attempt_release(&a);
	attempt_release(&b);
}

/* Every step from every phase; the table of the header, written out. */
static void
test_legal_steps(void **state)
{
	static const char *const allowed[PHASES] = {
		[PHASE_DETECTED] = "yynnny", [PHASE_CAPTURED] = "nyyyyy", [PHASE_RESPAWNED] = "nnyyyy",
		[PHASE_DELIVERED] = "nnnyyy", [PHASE_ACKNOWLEDGED] = "nnnnnn", [PHASE_FAILED] = "nnnnnn",
	};
	static const enum attempt_phase way[] = { PHASE_CAPTURED, PHASE_RESPAWNED, PHASE_DELIVERED,
		PHASE_ACKNOWLEDGED };
	struct home *h = *state;
	char pane[16];

	for (int from = 0; from < PHASES; from++) {
		for (int to = 0; to < PHASES; to++) {
			struct attempt a;
			int got;

			snprintf(pane, sizeof pane, "%%%d", from * PHASES + to);
			fill_in(&a, "s", pane);
			assert_int_equal(attempt_begin(h->s, &a, &h->e), 0);
			for (size_t i = 0; i < 4 && from != PHASE_FAILED && (int)a.phase < from; i++)
				assert_int_equal(attempt_advance(h->s, &a, way[i], &h->e), 0);
			if (from == PHASE_FAILED)
				assert_int_equal(attempt_fail(h->s, &a, "for the test", &h->e), 0);
			got = attempt_advance(h->s, &a, (enum attempt_phase)to, &h->e);
			assert_int_equal(got == 0, allowed[from][to] == 'y');
			if (got != 0) {
				assert_string_equal(h->e.name, "phase");
				assert_int_equal(a.phase, from);
			}
			attempt_release(&a);
		}
	}
}

static void
test_one_open_attempt_a_pane(void **state)
{
	struct home *h = *state;
	struct attempt a, b, other, found;

	fill_in(&a, "s", "%1");
	fill_in(&b, "s", "%1");
	fill_in(&other, "s", "%1");
	other.server_pid++;
	assert_int_equal(latest(h, "%1", &found), 0);
	assert_int_equal(attempt_begin(h->s, &a, &h->e), 0);
	assert_int_equal(attempt_begin(h->s, &b, &h->e), -1);
	assert_string_equal(h->e.name, "locked");
	assert_int_equal(h->e.code, GT_AGAIN);
	assert_non_null(strstr(h->e.msg, a.id));
	assert_int_equal(attempt_load(h->s, b.id, &found, &h->e), 0);
	/* %1 of another server is another pane */
	assert_int_equal(attempt_begin(h->s, &other, &h->e), 0);

	assert_int_equal(latest(h, "%1", &found), 1);
	assert_string_equal(found.id, a.id);
	attempt_release(&found);
	assert_int_equal(attempt_fail(h->s, &a, "the agent did not start", &h->e), 0);
	assert_int_equal(latest(h, "%1", &found), 1);
	assert_string_equal(found.why, "the agent did not start");
	attempt_release(&found);
	record_set(&b.previous, a.id);
	assert_int_equal(attempt_begin(h->s, &b, &h->e), 0);
	assert_int_equal(latest(h, "%1", &found), 1);
	assert_string_equal(found.id, b.id);
	assert_string_equal(found.previous, a.id);
	attempt_release(&found);
	attempt_release(&a);
	attempt_release(&b);
	attempt_release(&other);
}

/* Whoever read the attempt before somebody else moved it on has lost, and changes nothing. */
static void
test_lost_race(void **state)
{
	struct home *h = *state;
	struct attempt a, b;

	fill_in(&a, "s", "%1");
	assert_int_equal(attempt_begin(h->s, &a, &h->e), 0);
	assert_int_equal(attempt_load(h->s, a.id, &b, &h->e), 1);
	a.pasted = true;
	assert_int_equal(attempt_advance(h->s, &a, PHASE_DETECTED, &h->e), 0);
	assert_int_equal(attempt_advance(h->s, &b, PHASE_CAPTURED, &h->e), -1);
	assert_string_equal(h->e.name, "conflict");
	assert_int_equal(b.phase, PHASE_DETECTED);
	attempt_release(&b);
	assert_int_equal(attempt_load(h->s, a.id, &b, &h->e), 1);
	assert_true(b.pasted);
	assert_int_equal(b.phase, PHASE_DETECTED);
	attempt_release(&a);
	attempt_release(&b);
}

static void
test_open(void **state)
{
	struct home *h = *state;
	struct attempt_list list = { 0 };
	struct attempt a[70];
	char pane[16];

	for (int i = 0; i < 70; i++) {
		snprintf(pane, sizeof pane, "%%%d", i);
		fill_in(&a[i], i < 3 ? "few" : "many", pane);
		assert_int_equal(attempt_begin(h->s, &a[i], &h->e), 0);
		if (i == 1)
			assert_int_equal(attempt_fail(h->s, &a[i], "why", &h->e), 0);
		if (i == 2)
			assert_int_equal(attempt_advance(h->s, &a[i], PHASE_CAPTURED, &h->e), 0);
	}
	assert_int_equal(attempt_list_open(h->s, &list, &h->e), 0);
	assert_int_equal(list.n, 69);
	assert_string_equal(list.v[68].id, a[2].id);
	for (size_t i = 0; i < list.n; i++)
		assert_string_not_equal(list.v[i].id, a[1].id);
	attempt_list_release(&list);
	for (int i = 0; i < 70; i++)
		attempt_release(&a[i]);
}

#define RACERS 6
#define PANES 20

static void
racer(const char *dir)
{
	struct store *s = store_open("sqlite", dir, NULL);
	int won = 0;

	for (int i = 0; s != NULL && i < PANES; i++) {
		struct err e = ERR_INIT;
		struct attempt a;
		char pane[16];

		snprintf(pane, sizeof pane, "%%%d", i);
		fill_in(&a, pane, pane);
		if (attempt_begin(s, &a, &e) == 0)
			won++;
		else if (strcmp(e.name, "locked") != 0)
			_exit(250);
		attempt_release(&a);
	}
	store_close(s);
	_exit(s != NULL ? won : 251);
}

/* A crash is answered once; and the events that raced for their numbers have no gap. */
static void
test_racing_recoverers(void **state)
{
	struct home *h = *state;
	struct records r = { 0 };
	int total = 0, status;

	for (int i = 0; i < RACERS; i++)
		if (fork() == 0)
			racer(h->dir);
	for (int i = 0; i < RACERS; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= PANES);
		total += WEXITSTATUS(status);
	}
	assert_int_equal(total, PANES);
	assert_int_equal(store_scan(h->s, "event:", NULL, NULL, 0, &r, &h->e), 0);
	assert_int_equal(r.n, PANES);
	assert_string_equal(r.v[PANES - 1].key, "event:0000000000000020");
	store_records_release(&r);
}

/* Lines of the log; each must be an event with the number of its line. */
static size_t
log_lines(struct home *h)
{
	struct buf b = BUF_INIT;
	size_t n = 0;

	assert_int_equal(io_read_file(h->log, (size_t)64 << 20, &b, &h->e), 0);
	for (char *p = b.data; p < b.data + b.len; n++) {
		char *nl = strchr(p, '\n');
		json_t *v;

		assert_non_null(nl);
		v = json_parse(p, (size_t)(nl - p), "line", &h->e);
		assert_non_null(v);
		assert_int_equal(json_number(v, "seq", 0), n + 1);
		json_decref(v);
		p = nl + 1;
	}
	buf_release(&b);
	return n;
}

static void
make_events(struct home *h, int n)
{
	struct event ev = { .kind = "test.made", .subject = "x", .session = "a\"b\n\xff", .text = NULL };

	for (int i = 0; i < n; i++)
		assert_int_equal(event_commit(h->s, NULL, 0, &ev, &h->e), COMMIT_DONE);
}

static void
append_bytes(struct home *h, const char *bytes, size_t n)
{
	int fd = open(h->log, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static void
test_export(void **state)
{
	struct home *h = *state;
	struct stat st;
	size_t n = 99;

	assert_int_equal(event_export(h->s, h->log, &n, &h->e), 0);
	assert_int_equal(n, 0);
	make_events(h, 5);
	assert_int_equal(event_export(h->s, h->log, &n, &h->e), 0);
	assert_int_equal(n, 5);
	assert_int_equal(event_export(h->s, h->log, &n, &h->e), 0);
	assert_int_equal(n, 0);
	make_events(h, 2);
	assert_int_equal(event_export(h->s, h->log, &n, &h->e), 0);
	assert_int_equal(n, 2);
	assert_int_equal(log_lines(h), 7);
	assert_int_equal(stat(h->log, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* A log cut at any byte is continued to what it was. */
static void
test_export_torn_anywhere(void **state)
{
	struct home *h = *state;
	struct buf whole = BUF_INIT, now = BUF_INIT;

	make_events(h, 4);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), 0);
	assert_int_equal(io_read_file(h->log, 65536, &whole, &h->e), 0);
	for (size_t at = 0; at < whole.len; at++) {
		assert_int_equal(truncate(h->log, (off_t)at), 0);
		/* what power loss leaves of a block that was never written */
		if (at % 3 == 1)
			append_bytes(h, "\0\0\0\0\0\0\0\n{}\n", 12);
		assert_int_equal(event_export(h->s, h->log, NULL, &h->e), 0);
		buf_reset(&now);
		assert_int_equal(io_read_file(h->log, 65536, &now, &h->e), 0);
		assert_int_equal(now.len, whole.len);
		assert_memory_equal(now.data, whole.data, whole.len);
	}
	buf_release(&whole);
	buf_release(&now);
}

static void
test_export_refuses(void **state)
{
	struct home *h = *state;
	struct buf now = BUF_INIT;
	char *twin = io_join(h->dir, "twin");
	char *big;

	make_events(h, 2);
	temp_write(h->log, "buy milk\n");
	chmod(h->log, 0600);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "event-log");
	assert_int_equal(io_read_file(h->log, 65536, &now, &h->e), 0);
	assert_string_equal(now.data, "buy milk\n");

	/* a log that is longer than what a crash can tear, without a line of ours at its end */
	temp_write(h->log, "{\"seq\":1,\"at\":1,\"kind\":\"x\"}\n");
	big = xmalloc(1 << 20);
	memset(big, 'x', 1 << 20);
	append_bytes(h, big, 1 << 20);
	free(big);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "event-log");

	temp_write(h->log, "{\"seq\":3,\"at\":1,\"kind\":\"x\"}\n");
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "event-log");
	assert_non_null(strstr(h->e.msg, "ahead"));

	temp_write(h->log, "");
	chmod(h->log, 0644);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "not-private");
	chmod(h->log, 0600);
	assert_int_equal(link(h->log, twin), 0);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "not-private");
	unlink(twin);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), 0);
	assert_int_equal(log_lines(h), 2);
	free(twin);
	buf_release(&now);
}

/* More than one batch, and more than the window that is read back. */
static void
test_export_long(void **state)
{
	struct home *h = *state;
	char text[1024];
	struct event ev = { .kind = "test.long", .subject = "x", .text = text };
	size_t n;

	memset(text, 't', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (int i = 0; i < 1300; i++)
		assert_int_equal(event_commit(h->s, NULL, 0, &ev, &h->e), COMMIT_DONE);
	assert_int_equal(event_export(h->s, h->log, &n, &h->e), 0);
	assert_int_equal(n, 1300);
	append_bytes(h, "{\"seq\":1301,\"at\"", 16);
	make_events(h, 1);
	assert_int_equal(event_export(h->s, h->log, &n, &h->e), 0);
	assert_int_equal(n, 1);
	assert_int_equal(log_lines(h), 1301);
}

/* The attempt's event is of the same commit: an event that cannot be had takes the change with it. */
static void
test_event_and_change_together(void **state)
{
	struct home *h = *state;
	struct change wrong = { CHANGE_PUT, "counter:event", STORE_ANY, "counter",
		"{\"last\":\"no number\"}" };
	struct attempt a, found;

	assert_int_equal(store_commit(h->s, &wrong, 1, &h->e), COMMIT_DONE);
	fill_in(&a, "s", "%1");
	assert_int_equal(attempt_begin(h->s, &a, &h->e), -1);
	assert_string_equal(h->e.name, "corrupt");
	assert_int_equal(attempt_load(h->s, a.id, &found, &h->e), 0);
	assert_int_equal(latest(h, "%1", &found), 0);
	attempt_release(&a);
}

#ifdef GT_FAULTS
/*
 * Killed before or after each commit of a whole way: what is found has the phase before or the
 * phase after, and can be taken up to its end.
 */
static void
test_killed_at_every_commit(void **state)
{
	static const char *const points[] = { "store-commit", "store-committed" };
	static const enum attempt_phase way[] = { PHASE_CAPTURED, PHASE_RESPAWNED, PHASE_DELIVERED,
		PHASE_ACKNOWLEDGED };
	struct home *h = *state;

	for (int k = 0; k < 10; k++) {
		char pane[16], fault[64];
		struct attempt a, b;
		struct attempt_list open = { 0 };
		int status, expected = k / 2 - (k % 2 == 0);
		pid_t pid;

		snprintf(pane, sizeof pane, "%%%d", k);
		snprintf(fault, sizeof fault, "%s:%d=kill", points[k % 2], k / 2 + 1);
		fill_in(&a, "s", pane);
		setenv("GT_FAULT", fault, 1);
		pid = fork();
		if (pid == 0) {
			struct store *s = store_open("sqlite", h->dir, NULL);

			if (s == NULL || attempt_begin(s, &a, NULL) != 0)
				_exit(1);
			for (size_t i = 0; i < 4; i++)
				if (attempt_advance(s, &a, way[i], NULL) != 0)
					_exit(2);
			_exit(3);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		unsetenv("GT_FAULT");
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		assert_int_equal(latest(h, pane, &b), expected >= 0);
		if (expected >= 0) {
			assert_string_equal(b.id, a.id);
			assert_int_equal(b.phase, expected);
			while (!attempt_phase_is_final(b.phase))
				assert_int_equal(
				    attempt_advance(h->s, &b, (enum attempt_phase)(b.phase + 1), &h->e), 0);
			attempt_release(&b);
		}
		assert_int_equal(attempt_list_open(h->s, &open, &h->e), 0);
		assert_int_equal(open.n, 0);
		attempt_list_release(&open);
		attempt_release(&a);
	}
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), 0);
	assert_true(log_lines(h) > 0);
}

static void
test_export_killed(void **state)
{
	static const char *const faults[] = { "event-append=kill", "event-sync=kill", "event-append=enospc",
		"event-sync=eio" };
	struct home *h = *state;

	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		int status;
		pid_t pid;

		make_events(h, 3);
		setenv("GT_FAULT", faults[i], 1);
		pid = fork();
		if (pid == 0)
			_exit(event_export(h->s, h->log, NULL, NULL) == -1 ? 1 : 0);
		unsetenv("GT_FAULT");
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 1);
		assert_int_equal(event_export(h->s, h->log, NULL, &h->e), 0);
		assert_int_equal(log_lines(h), 3 * (i + 1));
	}
}
#else
static void
test_killed_at_every_commit(void **state)
{
	(void)state;
	print_message("skipped: fault points are built in by make FAULTS=1 only\n");
	skip();
}
#define test_export_killed test_killed_at_every_commit
#endif

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole_way, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_legal_steps, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_one_open_attempt_a_pane, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_lost_race, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_open, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_racing_recoverers, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_export, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_export_torn_anywhere, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_export_refuses, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_export_long, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_event_and_change_together, home_setup, home_leave),
		cmocka_unit_test_setup_teardown(test_killed_at_every_commit, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_export_killed, home_setup, home_teardown),
	};

	return cmocka_run_group_tests_name("attempt", tests, NULL, NULL);
}
