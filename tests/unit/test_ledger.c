#include "home.h"

#include <string.h>

#include "records/recovery/recovery.h"
#include "records/runs/runs.h"

#define SOCKET "/tmp/tmux-0/de:fault"

static void
begin(struct home *h, struct attempt *a, const char *session, const char *pane)
{
	attempt_init(a);
	record_set(&a->session, session);
	record_set(&a->socket, SOCKET);
	record_set(&a->pane_id, pane);
	record_set(&a->class, "dead");
	record_set(&a->reason, "killed");
	assert_int_equal(attempt_begin(h->s, a, &h->e), 0);
}

static void
go(struct home *h, struct attempt *a, enum attempt_phase last)
{
	for (int p = a->phase + 1; p <= (int)last; p++)
		assert_int_equal(attempt_advance(h->s, a, (enum attempt_phase)p, &h->e), 0);
}

static int
keep_last(const struct event_row *ev, void *arg)
{
	char **out = arg;

	free(*out);
	*out = xasprintf("%s|%s|%s|%s", ev->kind, ev->subject != NULL ? ev->subject : "", ev->session != NULL ? ev->session : "",
	    ev->text != NULL ? ev->text : "");
	return 0;
}

static char *
last_event(struct home *h, const char *tag)
{
	char *last = NULL;

	assert_int_equal(event_each(h->s, tag, keep_last, &last, &h->e), 0);
	return last != NULL ? last : xstrdup("");
}

#define assert_last(h, tag, expected) do { \
	char *last_ = last_event(h, tag); \
	assert_string_equal(last_, expected); \
	free(last_); \
} while (0)

static void
test_crashes(void **state)
{
	struct home *h = *state;
	struct crash_sockets places = { .n = 0 };
	struct attempt a[3];
	size_t n;

	begin(h, &a[0], "gt-t\xff", "%1");
	begin(h, &a[1], "gt-t\xff", "%2");
	begin(h, &a[2], "other", "%3");
	assert_int_equal(crash_count(h->s, SOCKET, "gt-t\xff", 0, &n, &h->e), 0);
	assert_int_equal(n, 0);		/* nothing was started yet */
	for (int i = 0; i < 3; i++) {
		go(h, &a[i], PHASE_RESPAWNED);
		assert_int_equal(attempt_advance(h->s, &a[i], PHASE_RESPAWNED, &h->e), 0);
	}
	assert_int_equal(crash_count(h->s, SOCKET, "gt-t\xff", 0, &n, &h->e), 0);
	assert_int_equal(n, 2);
	assert_int_equal(
	    crash_count(h->s, SOCKET, "gt-t\xff", a[1].times[PHASE_RESPAWNED] + 1, &n, &h->e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(crash_sockets(h->s, "gt-t\xff", &places, &h->e), 0);
	assert_int_equal(places.n, 1);
	assert_string_equal(places.sockets[0], SOCKET);
	crash_sockets_release(&places);
	assert_int_equal(crash_sockets(h->s, "t", &places, &h->e), 0);
	assert_int_equal(places.n, 0);
	crash_sockets_release(&places);
	assert_int_equal(crash_forget(h->s, SOCKET, "gt-t\xff", &n, &h->e), 0);
	assert_int_equal(n, 2);
	assert_last(h, "session", "session.released|gt-t\xef\xbf\xbd|gt-t\xef\xbf\xbd|2 attempts deleted");
	assert_int_equal(crash_forget(h->s, SOCKET, "gt-t\xff", &n, &h->e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(crash_count(h->s, SOCKET, "other", 0, &n, &h->e), 0);
	assert_int_equal(n, 1);
	for (int i = 0; i < 3; i++)
		attempt_release(&a[i]);
}

/* Forgotten crashes are counted anew from the next one. */
static void
test_crashes_after_release(void **state)
{
	struct home *h = *state;
	struct attempt a;
	size_t n;

	for (int i = 0; i < 3; i++) {
		begin(h, &a, "s", "%1");
		go(h, &a, PHASE_RESPAWNED);
		assert_int_equal(attempt_fail(h->s, &a, "why", &h->e), 0);
		attempt_release(&a);
		if (i == 1)
			assert_int_equal(crash_forget(h->s, SOCKET, "s", &n, &h->e), 0);
	}
	assert_int_equal(crash_count(h->s, SOCKET, "s", 0, &n, &h->e), 0);
	assert_int_equal(n, 1);
}

static void
test_refusals(void **state)
{
	struct home *h = *state;
	struct refusal_record r = { .name = "stopped",
		.sentence = "its agent was ended on purpose",
		.session = "s",
		.socket = SOCKET,
		.pane_id = "%1",
		.server_pid = 1,
		.server_start = 2,
		.pane_pid = 3 };
	struct record_stats st;

	for (int i = 0; i < 3; i++)
		assert_int_equal(attempt_note_refusal(h->s, &r, &h->e), 0);
	assert_last(h, "refusal", "refusal.stopped|%1|s|its agent was ended on purpose");
	assert_int_equal(record_stats_read(h->s, 0, NULL, &st, &h->e), 0);
	assert_int_equal(st.refused, 1);
	record_stats_release(&st);
	r.pane_pid = 4;			/* it was brought back and ended again */
	assert_int_equal(attempt_note_refusal(h->s, &r, &h->e), 0);
	r.name = "attached";
	assert_int_equal(attempt_note_refusal(h->s, &r, &h->e), 0);
	r.name = "stopped";
	assert_int_equal(attempt_note_refusal(h->s, &r, &h->e), 0);
	assert_int_equal(record_stats_read(h->s, 0, NULL, &st, &h->e), 0);
	assert_int_equal(st.refused, 4);
	assert_int_equal(st.refusals.n, 2);
	assert_string_equal(st.refusals.v[0].word, "stopped");
	assert_int_equal(st.refusals.v[0].n, 3);
	record_stats_release(&st);
	assert_int_equal(record_stats_read(h->s, store_now(h->s) + 1000, NULL, &st, &h->e), 0);
	assert_int_equal(st.refused, 0);
	record_stats_release(&st);
}

static void
test_stats(void **state)
{
	static const int64_t seconds[] = { 40, 10, 30, 20 };
	struct home *h = *state;
	struct attempt a;
	struct record_stats st;
	char pane[16];

	assert_int_equal(record_stats_read(h->s, 0, NULL, &st, &h->e), 0);
	assert_int_equal(st.attempts, 0);
	assert_int_equal(st.p50_ms, -1);
	record_stats_release(&st);
	for (int i = 0; i < 4; i++) {
		snprintf(pane, sizeof pane, "%%%d", i);
		begin(h, &a, "s", pane);
		a.crashed_at = a.times[PHASE_DETECTED] - seconds[i] * 1000;
		go(h, &a, PHASE_ACKNOWLEDGED);
		attempt_release(&a);
	}
	begin(h, &a, "s", "%9");
	assert_int_equal(attempt_fail(h->s, &a, "it died", &h->e), 0);
	attempt_release(&a);
	begin(h, &a, "s", "%10");	/* a crash whose time is not known */
	go(h, &a, PHASE_ACKNOWLEDGED);
	attempt_release(&a);
	assert_int_equal(record_stats_read(h->s, 0, NULL, &st, &h->e), 0);
	assert_int_equal(st.attempts, 6);
	assert_string_equal(st.phases.v[0].word, "acknowledged");
	assert_int_equal(st.phases.v[0].n, 5);
	assert_string_equal(st.failures.v[0].word, "it died");
	assert_int_equal(st.timed, 4);
	assert_true(st.p50_ms >= 20000 && st.p50_ms <= 21000);
	assert_true(st.p95_ms >= 40000 && st.p95_ms <= 41000);
	record_stats_release(&st);
}

/* The fields that undo what a recovery set survive the store. */
static void
test_option_of_an_attempt(void **state)
{
	struct home *h = *state;
	struct attempt a, b;

	begin(h, &a, "s", "%1");
	assert_null(a.remain_on_exit);
	record_set(&a.remain_on_exit, "");
	go(h, &a, PHASE_RESPAWNED);
	assert_int_equal(attempt_load(h->s, a.id, &b, &h->e), 1);
	assert_string_equal(b.remain_on_exit, "");
	attempt_release(&b);
	record_set(&a.remain_on_exit, NULL);
	go(h, &a, PHASE_ACKNOWLEDGED);
	assert_int_equal(attempt_load(h->s, a.id, &b, &h->e), 1);
	assert_null(b.remain_on_exit);
	attempt_release(&b);
	attempt_release(&a);
}

static void
test_armed(void **state)
{
	struct home *h = *state;
	struct armed_list list = { .n = 0 };
	struct armed a, b;

	assert_int_equal(armed_load(h->s, SOCKET, 11, 22, "$3", &a, &h->e), 0);
	assert_int_equal(a.version, 0);
	a.session = xstrdup("gt-toast");
	a.history_before = xstrdup("");
	a.history_set = xstrdup("10000");
	armed_add_pane(&a, "%5", "failed");
	armed_add_window(&a, "@2", "x '#{pane_id}'", 50);
	assert_int_equal(armed_put(h->s, &a, &h->e), 0);
	assert_last(h, "session", "session.armed|$3|gt-toast|");
	assert_int_equal(armed_load(h->s, SOCKET, 11, 22, "$3", &b, &h->e), 1);
	assert_int_equal(b.version, a.version);
	assert_string_equal(b.history_before, "");
	assert_string_equal(b.history_set, "10000");
	assert_string_equal(armed_pane(&b, "%5")->remain_on_exit, "failed");
	assert_null(armed_pane(&b, "%6"));
	assert_string_equal(armed_window(&b, "@2")->script, "x '#{pane_id}'");
	assert_int_equal(armed_window(&b, "@2")->index, 50);
	armed_release(&b);
	/* ids begin again on another server, and on the same one after its death */
	assert_int_equal(armed_load(h->s, SOCKET, 11, 23, "$3", &b, &h->e), 0);
	armed_release(&b);
	assert_int_equal(armed_list_read(h->s, &list, &h->e), 0);
	assert_int_equal(list.n, 1);
	armed_add_pane(&a, "%6", "");
	assert_int_equal(armed_put(h->s, &a, &h->e), 0);
	/* list holds the version before */
	assert_int_equal(armed_delete(h->s, &list.v[0], "put back", &h->e), -1);
	assert_string_equal(h->e.name, "conflict");
	assert_int_equal(h->e.code, GT_AGAIN);
	armed_list_release(&list);
	assert_int_equal(armed_delete(h->s, &a, "put back", &h->e), 0);
	assert_last(h, "session", "session.disarmed|$3|gt-toast|put back");
	armed_release(&a);
	assert_int_equal(armed_list_read(h->s, &list, &h->e), 0);
	assert_int_equal(list.n, 0);
	armed_list_release(&list);
}

static void
check_fails(struct home *h, const char *name, const char *words)
{
	memset(&h->e, 0, sizeof h->e);
	assert_int_equal(event_check(h->s, h->log, NULL, &h->e), -1);
	assert_string_equal(h->e.name, name);
	if (strstr(h->e.msg, words) == NULL)
		fail_msg("\"%s\" does not tell of \"%s\"", h->e.msg, words);
}

static void
test_check_of_the_log(void **state)
{
	struct home *h = *state;
	struct buf text = BUF_INIT;
	struct attempt a;
	struct event_log_state log;
	char *p;

	check_fails(h, "not-found", "cannot be opened");
	begin(h, &a, "a session \"quoted\"\n\xff", "%1");
	go(h, &a, PHASE_ACKNOWLEDGED);
	attempt_release(&a);
	assert_int_equal(event_export(h->s, h->log, NULL, &h->e), 0);
	assert_int_equal(event_check(h->s, h->log, &log, &h->e), 0);
	assert_int_equal(log.lines, 5);
	assert_int_equal(io_read_file(h->log, 1 << 20, &text, &h->e), 0);
	/* a line more, a line changed, a torn one, one that is missing */
	assert_int_equal(io_write_durable(h->log, text.data, text.len, "test", &h->e), 0);
	p = xasprintf("%s%s", text.data, "{\"seq\":6}\n");
	assert_int_equal(io_write_durable(h->log, p, strlen(p), "test", &h->e), 0);
	check_fails(h, "event-log", "line 6 of");
	free(p);
	assert_int_equal(io_write_durable(h->log, text.data, text.len - 3, "test", &h->e), 0);
	check_fails(h, "event-log", "is truncated");
	p = strchr(text.data, '\n') + 1;
	assert_int_equal(io_write_durable(h->log, p, strlen(p), "test", &h->e), 0);
	check_fails(h, "event-log", "line 1 of");
	p = strstr(p, "captured");
	memcpy(p, "Captured", 8);
	assert_int_equal(io_write_durable(h->log, text.data, text.len, "test", &h->e), 0);
	check_fails(h, "event-log", "line 2 of");
	/* one that is shorter is only behind */
	*(strchr(text.data, '\n') + 1) = '\0';
	assert_int_equal(io_write_durable(h->log, text.data, strlen(text.data), "test", &h->e), 0);
	assert_int_equal(event_check(h->s, h->log, &log, &h->e), 0);
	assert_int_equal(log.lines, 1);
	buf_release(&text);
}

static int
stop_at_two(const struct event_row *ev, void *arg)
{
	size_t *n = arg;

	assert_int_equal(ev->seq, ++*n);
	return *n == 2 ? 7 : 0;
}

static void
test_walk(void **state)
{
	struct home *h = *state;
	struct attempt a;
	size_t n = 0;

	begin(h, &a, "s", "%1");
	go(h, &a, PHASE_ACKNOWLEDGED);
	attempt_release(&a);
	assert_int_equal(event_each(h->s, NULL, stop_at_two, &n, &h->e), 7);
	assert_int_equal(n, 2);
	assert_last(h, "refusal", "");
}

static void
assert_faults(struct home *h, const char *const *words, size_t n)
{
	struct record_check found;

	assert_int_equal(record_check(h->s, &found, &h->e), 0);
	if (found.n_faults != n)
		fail_msg(
		    "%zu faults, not %zu: %s", found.n_faults, n, found.n_faults > 0 ? found.faults[0] : "");
	for (size_t i = 0; i < n; i++)
		if (strstr(found.faults[i], words[i]) == NULL)
			fail_msg("\"%s\" is not \"%s\"", found.faults[i], words[i]);
	record_check_release(&found);
}

static void
force(struct home *h, enum change_kind kind, const char *key, const char *tag, const char *value)
{
	struct change c = { kind, key, STORE_ANY, tag, value };

	assert_int_equal(store_commit(h->s, &c, 1, &h->e), COMMIT_DONE);
}

static void
test_rules(void **state)
{
	struct home *h = *state;
	struct attempt a, b;
	struct records panes = { 0 };
	char *key;

	assert_faults(h, NULL, 0);
	begin(h, &a, "s", "%1");
	begin(h, &b, "t", "%2");
	go(h, &b, PHASE_ACKNOWLEDGED);
	assert_faults(h, NULL, 0);
	assert_int_equal(store_scan(h->s, "pane:", "open", NULL, 0, &panes, &h->e), 0);
	assert_int_equal(panes.n, 1);
	force(h, CHANGE_DELETE, panes.v[0].key, NULL, NULL);
	assert_faults(h, (const char *[]){ "does not hold its pane" }, 1);
	force(h, CHANGE_PUT, panes.v[0].key, "open", panes.v[0].value);
	assert_faults(h, NULL, 0);
	force(h, CHANGE_PUT, "pane:9.9:%9:/x", "open", "{\"attempt\":\"gtr-0000000000000000\"}");
	assert_faults(h, (const char *[]){ "which does not exist" }, 1);
	force(h, CHANGE_DELETE, "pane:9.9:%9:/x", NULL, NULL);
	key = xasprintf("{\"attempt\":\"%s\"}", b.id);
	force(h, CHANGE_PUT, "pane:9.9:%9:/x", "open", key);
	assert_faults(h, (const char *[]){ "which has ended" }, 1);
	force(h, CHANGE_DELETE, "pane:9.9:%9:/x", NULL, NULL);
	force(h, CHANGE_DELETE, "event:0000000000000002", NULL, NULL);
	assert_faults(h, (const char *[]){ "event 3 is in the place of event 2" }, 1);
	force(h, CHANGE_PUT, "counter:event", "counter", "{\"last\":99}");
	assert_faults(h, (const char *[]){ "event 3", "the counter is 99" }, 2);
	force(h, CHANGE_PUT, "attempt:gtr-00000000000000ff", "wandering", "{}");
	assert_faults(h,
	    (const char *[]){ "event 3", "the counter is 99", "is not an attempt in a known phase" }, 3);
	free(key);
	store_records_release(&panes);
	attempt_release(&a);
	attempt_release(&b);
}

static void
test_rules_of_runs(void **state)
{
	struct home *h = *state;
	struct run r = { .id = (char *)(uintptr_t)"run",
		.session_id = (char *)(uintptr_t)"ses",
		.prompt = (char *)(uintptr_t)"test" },
		   out;
	const struct timestamp now = { 1, 1, "boot", "", 0 };

	assert_int_equal(run_create(h->s, &r, NULL, &now, &out, &h->e), 1);
	run_release(&out);
	assert_int_equal(run_claim(h->s, &(struct run_holder){ .runner_id = "me" }, &now, &out, &h->e), 1);
	run_release(&out);
	assert_faults(h, NULL, 0);
	force(h, CHANGE_PUT, "run:nobody's", "running", "{\"session_id\":\"ses\"}");
	assert_faults(h, (const char *[]){ "is running and names no runner" }, 1);
	force(h, CHANGE_PUT, "run:nobody's", "pending", "{\"session_id\":\"ses\",\"runner_id\":\"x\"}");
	assert_faults(h, (const char *[]){ "is pending and names a runner" }, 1);
	force(h, CHANGE_PUT, "run:nobody's", "asleep", "{}");
	assert_faults(h, (const char *[]){ "not a run in a known state" }, 1);
	force(h, CHANGE_DELETE, "run:nobody's", NULL, NULL);
	force(h, CHANGE_PUT, "run_session:ses", "asleep", "{}");
	assert_faults(h, (const char *[]){ "has no known status" }, 1);
	force(h, CHANGE_DELETE, "run_session:ses", NULL, NULL);
	assert_faults(h, (const char *[]){ "belongs to a session that has no record" }, 1);
}

static void
test_often(void **state)
{
	struct home *h = *state;
	struct crash_frequent often = { .n = 0 };

	for (int i = 0; i < 3; i++) {
		struct attempt a, b;

		begin(h, &a, "loop", "%1");
		go(h, &a, PHASE_ACKNOWLEDGED);
		attempt_release(&a);
		if (i > 0)
			continue;
		begin(h, &b, "fine", "%2");
		go(h, &b, PHASE_ACKNOWLEDGED);
		attempt_release(&b);
	}
	assert_int_equal(crash_frequent(h->s, 0, 3, &often, &h->e), 0);
	assert_int_equal(often.n, 1);
	assert_string_equal(often.v[0].session, "loop");
	assert_string_equal(often.v[0].socket, SOCKET);
	assert_int_equal(often.v[0].n, 3);
	crash_frequent_release(&often);
	assert_int_equal(crash_frequent(h->s, INT64_MAX, 1, &often, &h->e), 0);
	assert_int_equal(often.n, 0);
	crash_frequent_release(&often);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_crashes, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_crashes_after_release, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_refusals, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_stats, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_option_of_an_attempt, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_armed, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_check_of_the_log, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_walk, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_rules, home_setup, home_leave),
		cmocka_unit_test_setup_teardown(test_rules_of_runs, home_setup, home_leave),
		cmocka_unit_test_setup_teardown(test_often, home_setup, home_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
