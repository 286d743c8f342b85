#include "run_house.h"

#include <sys/wait.h>
#include <unistd.h>

#include "records/records.h"

/* The seed's four runs: pending, claimed, running, stopping, all of them now. */
static void
four_runs(struct house *h)
{
	create(h, "run_pending", "ses_test0");
	create(h, "run_claimed", "ses_test1");
	create(h, "run_running", "ses_test2");
	create(h, "run_stopping", "ses_test3");
	step(h, "claim", "run_claimed", "runner_dead", 0);
	step(h, "claim", "run_running", "runner_dead", 0);
	step(h, "start", "run_running", "runner_dead", 0);
	step(h, "claim", "run_stopping", "runner_dead", 0);
	step(h, "start", "run_stopping", "runner_dead", 0);
	step(h, "stop", "run_stopping", "runner_dead", 0);
}

static void
stale_runs_are_settled_as_the_seed_says(void **unused)
{
	struct house h = house();
	struct run_report r;
	struct run run;
	char *error;

	(void)unused;
	four_runs(&h);
	later(&h, 600);
	r = recover(&h, RUN_MODE_STALE);
	assert_int_equal(r.reset_to_pending, 1);
	assert_int_equal(r.marked_failed, 1);
	assert_int_equal(r.marked_stopped, 1);
	assert_string_equal(state(&h, "run_pending"), "pending");
	assert_string_equal(state(&h, "run_claimed"), "pending");
	assert_string_equal(state(&h, "run_running"), "failed");
	assert_string_equal(state(&h, "run_stopping"), "stopped");
	assert_int_equal(run_load(h.s, "run_claimed", &run, &h.e), 1);
	assert_null(run.runner_id);
	assert_int_equal(run.claimed_at, 0);
	assert_null(run.error);
	run_release(&run);
	assert_int_equal(run_load(h.s, "run_running", &run, &h.e), 1);
	assert_int_equal(run.completed_at, h.now.wall_ms);
	assert_string_equal(run.runner_id, "runner_dead");
	run_release(&run);
	error = error_of(&h, "run_running");
	assert_string_equal(error, "Coordinator restarted during execution");
	free(error);
	error = error_of(&h, "run_stopping");
	assert_string_equal(error, "(none)");
	free(error);
	assert_string_equal(session(&h, "ses_test0"), "running");
	assert_string_equal(session(&h, "ses_test1"), "running");
	assert_string_equal(session(&h, "ses_test2"), "finished");
	assert_string_equal(session(&h, "ses_test3"), "stopped");
	r = recover(&h, RUN_MODE_STALE);
	assert_int_equal(r.reset_to_pending + r.marked_failed + r.marked_stopped, 0);
	leave(&h);
}

static void
all_takes_the_young_and_the_living_too(void **unused)
{
	struct house h = house();
	struct runner runner;
	struct run_report r;
	char *error;

	(void)unused;
	assert_int_equal(runner_register(h.s, "runner_dead", 0, &h.now, &runner, &h.e), 0);
	runner_release(&runner);
	four_runs(&h);
	r = recover(&h, RUN_MODE_NONE);
	assert_int_equal(r.claimed + r.running + r.stopping, 0);
	assert_string_equal(state(&h, "run_stopping"), "stopping");
	r = recover(&h, RUN_MODE_ALL);
	assert_int_equal(r.claimed, 1);
	assert_int_equal(r.running, 1);
	assert_int_equal(r.stopping, 1);
	assert_string_equal(state(&h, "run_pending"), "pending");
	assert_string_equal(state(&h, "run_claimed"), "pending");
	assert_string_equal(state(&h, "run_stopping"), "stopped");
	error = error_of(&h, "run_running");
	assert_string_equal(error, "Coordinator restarted - execution state unknown");
	free(error);
	assert_string_equal(session(&h, "ses_test2"), "finished");
	leave(&h);
}

static void
three_hundred_seconds_are_not_stale_yet(void **unused)
{
	static const struct { int64_t seconds; const char *claimed, *running; } cases[] = {
		{ 299, "claimed", "running" }, { 300, "claimed", "running" }, { 301, "pending", "failed" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct house h = house();

		four_runs(&h);
		later(&h, cases[i].seconds);
		recover(&h, RUN_MODE_STALE);
		assert_string_equal(state(&h, "run_claimed"), cases[i].claimed);
		assert_string_equal(state(&h, "run_running"), cases[i].running);
		/* whatever its age */
		assert_string_equal(state(&h, "run_stopping"), "stopped");
		leave(&h);
	}
}

static void
the_wall_clock_decides_nothing_on_one_boot(void **unused)
{
	static const int64_t jumps[] = { (int64_t)365 * 86400, -3600, -(int64_t)365 * 86400 };

	(void)unused;
	for (size_t i = 0; i < sizeof jumps / sizeof jumps[0]; i++) {
		struct house h = house();
		struct run_report r;

		four_runs(&h);
		h.now.wall_ms += jumps[i] * SECOND;
		r = recover(&h, RUN_MODE_STALE);
		assert_int_equal(r.kept_young, 2);
		assert_string_equal(state(&h, "run_claimed"), "claimed");
		h.now.boot_ms += 301 * SECOND;
		recover(&h, RUN_MODE_STALE);
		assert_string_equal(state(&h, "run_claimed"), "pending");
		assert_string_equal(state(&h, "run_running"), "failed");
		leave(&h);
	}
}

static void
another_boot_is_stale_at_any_age(void **unused)
{
	struct house h = house();
	struct runner runner;

	(void)unused;
	assert_int_equal(runner_register(h.s, "runner_dead", 0, &h.now, &runner, &h.e), 0);
	runner_release(&runner);
	four_runs(&h);
	h.now.wall_ms += SECOND;
	strcpy(h.now.boot_id, "boot-b");
	recover(&h, RUN_MODE_STALE);
	assert_string_equal(state(&h, "run_claimed"), "pending");
	assert_string_equal(state(&h, "run_running"), "failed");
	leave(&h);
}

/* Stores a record as somebody else may have made it: the seed's columns alone. */
static void
foreign(struct house *h, const char *id, const char *tag, const char *value)
{
	char *key = xasprintf("run:%s", id);
	const struct change c = { CHANGE_PUT, key, STORE_ABSENT, tag, value };

	assert_int_equal(store_commit(h->s, &c, 1, &h->e), COMMIT_DONE);
	free(key);
}

static void
records_without_a_boot_go_by_their_times(void **unused)
{
	struct house h = house();
	char *old = xasprintf("{\"runner_id\":\"x\",\"claimed_at\":%lld,\"started_at\":%lld}",
	    (long long)(START - 600 * SECOND), (long long)(START - 600 * SECOND));
	char *young = xasprintf(
	    "{\"claimed_at\":%lld,\"started_at\":%lld}", (long long)START - 1, (long long)START - 1);
	char *ahead = xasprintf(
	    "{\"claimed_at\":%lld,\"started_at\":%lld}", (long long)START + 1, (long long)START + 1);
	struct run_report r;

	(void)unused;
	foreign(&h, "old-claimed", "claimed", old);
	foreign(&h, "old-running", "running", old);
	foreign(&h, "null-claimed", "claimed", "{\"claimed_at\":null}");
	foreign(&h, "null-running", "running", "{}");
	foreign(&h, "young-claimed", "claimed", young);
	foreign(&h, "young-running", "running", young);
	foreign(&h, "ahead-claimed", "claimed", ahead);
	foreign(&h, "ahead-running", "running", ahead);
	r = recover(&h, RUN_MODE_STALE);
	assert_int_equal(r.reset_to_pending, 3);
	assert_int_equal(r.marked_failed, 3);
	assert_int_equal(r.kept_young, 2);
	assert_string_equal(state(&h, "young-claimed"), "claimed");
	assert_string_equal(state(&h, "ahead-running"), "failed");
	free(old);
	free(young);
	free(ahead);
	leave(&h);
}

static void
a_living_runner_keeps_what_it_has(void **unused)
{
	struct house h = house();
	struct runner runner;
	struct run_report r;

	(void)unused;
	assert_int_equal(runner_register(h.s, "runner_dead", 0, &h.now, &runner, &h.e), 0);
	runner_release(&runner);
	four_runs(&h);
	later(&h, 301);
	assert_int_equal(runner_heartbeat(h.s, "runner_dead", &h.now, &h.e), 0);
	later(&h, 300);
	r = recover(&h, RUN_MODE_STALE);
	assert_int_equal(r.kept_by_runner, 2);
	assert_int_equal(r.marked_stopped, 1);
	assert_string_equal(state(&h, "run_claimed"), "claimed");
	assert_string_equal(state(&h, "run_running"), "running");
	later(&h, 1);
	recover(&h, RUN_MODE_STALE);
	assert_string_equal(state(&h, "run_claimed"), "pending");
	assert_string_equal(state(&h, "run_running"), "failed");
	leave(&h);
}

static void
a_new_life_gives_up_the_old_one_s_claims(void **unused)
{
	struct house h = house();
	struct runner runner;

	(void)unused;
	assert_int_equal(runner_register(h.s, "runner_dead", 0, &h.now, &runner, &h.e), 0);
	runner_release(&runner);
	four_runs(&h);
	later(&h, 301);
	assert_int_equal(runner_register(h.s, "runner_dead", 0, &h.now, &runner, &h.e), 0);
	assert_int_equal(runner.generation, 2);
	runner_release(&runner);
	recover(&h, RUN_MODE_STALE);
	assert_string_equal(state(&h, "run_claimed"), "pending");
	assert_string_equal(state(&h, "run_running"), "failed");
	leave(&h);
}

static void
a_runner_lives_as_long_as_the_process_it_told(void **unused)
{
	struct house h = house();
	struct runner runner;
	pid_t child = fork();

	(void)unused;
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(runner_register(h.s, "r", child, &h.now, &runner, &h.e), 0);
	later(&h, 86400);
	assert_true(runner_is_alive(&runner, &h.now, 300 * SECOND));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	h.now.boot_ms -= 86400 * SECOND;
	assert_false(runner_is_alive(&runner, &h.now, 300 * SECOND));
	runner_release(&runner);
	assert_int_equal(runner_register(h.s, "r", child, &h.now, &runner, &h.e), -1);
	assert_string_equal(h.e.name, "gone");
	assert_int_equal(runner_heartbeat(h.s, "nobody", &h.now, &h.e), -1);
	assert_string_equal(h.e.name, "unregistered");
	strcpy(h.now.boot_id, "boot-b");
	assert_int_equal(runner_heartbeat(h.s, "r", &h.now, &h.e), -1);
	assert_string_equal(h.e.name, "unregistered");
	leave(&h);
}

static void
what_was_claimed_may_fail_instead(void **unused)
{
	struct run_recovery how = {
		.mode = RUN_MODE_STALE, .threshold_ms = 300 * SECOND, .claimed_fails = true, .dry_run = true
	};
	struct house h = house();
	struct run_report r;

	(void)unused;
	four_runs(&h);
	later(&h, 301);
	assert_int_equal(run_recover(h.s, &how, &h.now, &r, &h.e), 0);
	assert_int_equal(r.marked_failed, 2);
	assert_string_equal(state(&h, "run_claimed"), "claimed");
	how.dry_run = false;
	assert_int_equal(run_recover(h.s, &how, &h.now, &r, &h.e), 0);
	assert_int_equal(r.marked_failed, 2);
	assert_int_equal(r.reset_to_pending, 0);
	assert_string_equal(state(&h, "run_claimed"), "failed");
	assert_string_equal(session(&h, "ses_test1"), "finished");
	leave(&h);
}

/* Seed S4: only a running session is finished, only a running or stopping one stopped. */
static void
sessions_change_only_from_the_seed_s_states(void **unused)
{
	static const struct { const char *status, *of_failed, *of_stopped; } cases[] = {
		{ "running", "finished", "stopped" }, { "stopping", "stopping", "stopped" },
		{ "stopped", "stopped", "stopped" }, { "finished", "finished", "finished" },
	};
	struct house h = house();
	char name[32], *key, *value;

	(void)unused;
	for (size_t i = 0; i < 8; i++) {
		struct change c = { .kind = CHANGE_PUT, .expect = STORE_ABSENT, .tag = cases[i / 2].status,
			.value = "{\"execution_mode\":\"sync\"}" };

		snprintf(name, sizeof name, "%s-%zu", cases[i / 2].status, i % 2);
		c.key = key = xasprintf("run_session:%s", name);
		assert_int_equal(store_commit(h.s, &c, 1, &h.e), COMMIT_DONE);
		value = xasprintf("{\"session_id\":\"%s\"}", name);
		foreign(&h, name, i % 2 == 0 ? "running" : "stopping", value);
		free(key);
		free(value);
	}
	recover(&h, RUN_MODE_STALE);
	for (size_t i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "%s-%zu", cases[i / 2].status, i % 2);
		assert_string_equal(
		    session(&h, name), i % 2 == 0 ? cases[i / 2].of_failed : cases[i / 2].of_stopped);
	}
	leave(&h);
}

struct told {
	size_t recovered, all;
	char text[128];
};

static int
hear(const struct event_row *ev, void *arg)
{
	struct told *t = arg;

	t->all++;
	if (strcmp(ev->kind, "run.recovered") == 0) {
		t->recovered++;
		snprintf(t->text, sizeof t->text, "%s", ev->text);
	}
	return 0;
}

static void
all_of_it_is_one_event_and_nothing_is_none(void **unused)
{
	struct house h = house();
	struct told t = { .all = 0 };
	size_t before;

	(void)unused;
	recover(&h, RUN_MODE_ALL);
	assert_int_equal(event_each(h.s, NULL, hear, &t, &h.e), 0);
	assert_int_equal(t.all, 0);
	four_runs(&h);
	later(&h, 301);
	assert_int_equal(event_each(h.s, NULL, hear, &t, &h.e), 0);
	before = t.all;
	recover(&h, RUN_MODE_STALE);
	recover(&h, RUN_MODE_STALE);
	memset(&t, 0, sizeof t);
	assert_int_equal(event_each(h.s, NULL, hear, &t, &h.e), 0);
	assert_int_equal(t.all, before + 1);
	assert_int_equal(t.recovered, 1);
	assert_string_equal(t.text, "stale: 1 reset to pending, 1 marked failed, 1 marked stopped");
	leave(&h);
}

static void
two_runs_of_a_session_are_recovered_together(void **unused)
{
	struct house h = house();

	(void)unused;
	create(&h, "a", "ses");
	create(&h, "b", "ses");
	for (const char *id = "a"; id != NULL; id = *id == 'a' ? "b" : NULL) {
		step(&h, "claim", id, "me", 0);
		step(&h, "start", id, "me", 0);
	}
	step(&h, "stop", "b", "me", 0);
	recover(&h, RUN_MODE_ALL);
	assert_string_equal(state(&h, "a"), "failed");
	assert_string_equal(state(&h, "b"), "stopped");
	assert_string_equal(session(&h, "ses"), "stopped");
	leave(&h);
}

/*
 * Runs and sessions in orders of their own, more than a page of either. Each session changes
 * once, in the commit of its runs.
 */
static void
many_runs_of_many_sessions_are_one_commit(void **unused)
{
	enum { RUNS = 1200, SESSIONS = 701 };
	static const char *const was[] = { "claimed", "running", "stopping", "completed" };
	static const char *const becomes[] = { "pending", "failed", "stopped", "completed" };
	static struct change all[RUNS + SESSIONS];
	bool failed[SESSIONS] = { false }, stopped[SESSIONS] = { false };
	struct house h = house();
	struct told t = { .all = 0 };
	struct record x;

	(void)unused;
	for (int i = 0; i < SESSIONS; i++)
		all[i] = (struct change){ CHANGE_PUT, xasprintf("run_session:%d", i), STORE_ABSENT,
			i % 5 == 0 ? "stopping" : "running", xasprintf("{}") };
	for (int i = 0; i < RUNS; i++) {
		int its = i * 389 % SESSIONS;

		all[SESSIONS + i] = (struct change){ CHANGE_PUT, xasprintf("run:%d", i), STORE_ABSENT,
			was[i % 4], xasprintf("{\"session_id\":\"%d\"}", its) };
		failed[its] = failed[its] || (i % 4 == 1 && its % 5 != 0);
		stopped[its] = stopped[its] || i % 4 == 2;
	}
	assert_int_equal(store_commit(h.s, all, RUNS + SESSIONS, &h.e), COMMIT_DONE);
	assert_int_equal(recover(&h, RUN_MODE_ALL).marked_failed, RUNS / 4);
	assert_int_equal(event_each(h.s, NULL, hear, &t, &h.e), 0);
	assert_int_equal(t.all, 1);
	for (int i = 0; i < RUNS + SESSIONS; i++) {
		const char *tag = i >= SESSIONS ? becomes[(i - SESSIONS) % 4]
		    : failed[i]                 ? "finished"
		    : stopped[i]                ? "stopped"
						: all[i].tag;

		assert_int_equal(store_get(h.s, all[i].key, &x, &h.e), 1);
		assert_string_equal(x.tag, tag);
		assert_int_equal(x.version, 1 + (strcmp(tag, all[i].tag) != 0));
		store_record_release(&x);
		free((char *)(uintptr_t)all[i].key);
		free((char *)(uintptr_t)all[i].value);
	}
	leave(&h);
}

/* More than one commit takes: each is whole, and the counts are of all of them. */
static void
very_large_runs_are_recovered_in_parts(void **unused)
{
	static const size_t size = 3900000;
	char *prompt = xcalloc(size + 1, 1), *value, id[32];
	struct house h = house();
	struct told t = { .all = 0 };
	struct run_report r;
	struct runner runner;

	(void)unused;
	memset(prompt, 'x', size);
	assert_int_equal(runner_register(h.s, "alive", 0, &h.now, &runner, &h.e), 0);
	value = xasprintf("{\"runner_id\":\"alive\",\"runner_life\":%lld}", (long long)runner.generation);
	foreign(&h, "kept", "claimed", value);
	free(value);
	value = xasprintf("{\"prompt\":\"%s\"}", prompt);
	for (int i = 0; i < 10; i++) {
		snprintf(id, sizeof id, "large-%d", i);
		foreign(&h, id, i % 2 == 0 ? "claimed" : "running", value);
	}
	r = recover(&h, RUN_MODE_STALE);
	assert_int_equal(r.reset_to_pending, 5);
	assert_int_equal(r.marked_failed, 5);
	assert_int_equal(r.kept_by_runner, 1);
	assert_int_equal(event_each(h.s, "run", hear, &t, &h.e), 0);
	assert_int_equal(t.recovered, 2);
	for (int i = 0; i < 10; i++) {
		snprintf(id, sizeof id, "large-%d", i);
		assert_string_equal(state(&h, id), i % 2 == 0 ? "pending" : "failed");
	}
	runner_release(&runner);
	free(prompt);
	free(value);
	leave(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stale_runs_are_settled_as_the_seed_says),
		cmocka_unit_test(all_takes_the_young_and_the_living_too),
		cmocka_unit_test(three_hundred_seconds_are_not_stale_yet),
		cmocka_unit_test(the_wall_clock_decides_nothing_on_one_boot),
		cmocka_unit_test(another_boot_is_stale_at_any_age),
		cmocka_unit_test(records_without_a_boot_go_by_their_times),
		cmocka_unit_test(a_living_runner_keeps_what_it_has),
		cmocka_unit_test(a_new_life_gives_up_the_old_one_s_claims),
		cmocka_unit_test(a_runner_lives_as_long_as_the_process_it_told),
		cmocka_unit_test(what_was_claimed_may_fail_instead),
		cmocka_unit_test(sessions_change_only_from_the_seed_s_states),
		cmocka_unit_test(all_of_it_is_one_event_and_nothing_is_none),
		cmocka_unit_test(two_runs_of_a_session_are_recovered_together),
		cmocka_unit_test(many_runs_of_many_sessions_are_one_commit),
		cmocka_unit_test(very_large_runs_are_recovered_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
