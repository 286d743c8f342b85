#include "run_house.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "records/records.h"

/* ---- transitions ---- */

static void
only_these_steps_are_legal(void **unused)
{
	/* row: from; a letter a target: . never, x by a verb, r by recovery alone */
	static const char *const table[RUN_STATES] = {
		/*             pending claimed running stopping completed failed stopped */
		[RUN_PENDING]   = ".x....x",
		[RUN_CLAIMED]   = "r.xx.x.",
		[RUN_RUNNING]   = "...xxx.",
		[RUN_STOPPING]  = "....xxx",
		[RUN_COMPLETED] = ".......",
		[RUN_FAILED]    = ".......",
		[RUN_STOPPED]   = ".......",
	};

	(void)unused;
	for (int from = 0; from < RUN_STATES; from++)
		for (int to = 0; to < RUN_STATES; to++) {
			char is = table[from][to];

			if (run_state_allows((enum run_state)from, (enum run_state)to, false) !=
				(is == 'x') ||
			    run_state_allows((enum run_state)from, (enum run_state)to, true) != (is != '.'))
				fail_msg("%s to %s", run_state_name((enum run_state)from),
				    run_state_name((enum run_state)to));
		}
	assert_int_equal(run_state_parse("running"), RUN_RUNNING);
	assert_int_equal(run_state_parse("ran"), -1);
}

/* Brings a run into each state, tries each verb, and compares with the table. */
static void
the_verbs_obey_the_table(void **unused)
{
	static const struct { const char *verb; enum run_state to;
	} verbs[] = {
		{ "claim", RUN_CLAIMED }, { "start", RUN_RUNNING }, { "stop", RUN_STOPPING },
		{ "completed", RUN_COMPLETED }, { "failed", RUN_FAILED }, { "stopped", RUN_STOPPED },
	};
	static const char *const ways[RUN_STATES][4] = {
		[RUN_PENDING] = { NULL },
		[RUN_CLAIMED] = { "claim" },
		[RUN_RUNNING] = { "claim", "start" },
		[RUN_STOPPING] = { "claim", "start", "stop" },
		[RUN_COMPLETED] = { "claim", "start", "completed" },
		[RUN_FAILED] = { "claim", "start", "failed" },
		[RUN_STOPPED] = { "claim", "stop", "stopped" },
	};
	struct house h = house();
	char id[16];

	(void)unused;
	for (int from = 0; from < RUN_STATES; from++)
		for (size_t v = 0; v < sizeof verbs / sizeof verbs[0]; v++) {
			bool held = strcmp(verbs[v].verb, "claim") != 0 && strcmp(verbs[v].verb, "stop") != 0;
			bool pending = from == RUN_PENDING;
			enum run_state to =
			    pending && verbs[v].to == RUN_STOPPING ? RUN_STOPPED : verbs[v].to;
			bool may = run_state_allows((enum run_state)from, to, false) && !(pending && held);
			bool same = (int)to == from && strcmp(verbs[v].verb, "claim") != 0;
			int ret;

			same = same || (from == RUN_STOPPED && verbs[v].to == RUN_STOPPING);
			snprintf(id, sizeof id, "r%d-%zu", from, v);
			create(&h, id, id);
			for (size_t i = 0; i < 4 && ways[from][i] != NULL; i++)
				assert_int_equal(step(&h, ways[from][i], id, "me", 0), 1);
			assert_string_equal(state(&h, id), run_state_name((enum run_state)from));
			ret = step(&h, verbs[v].verb, id, "me", 0);
			if (ret != (may ? 1 : same ? 0 : -1))
				fail_msg("%s in state %s: %d %s", verbs[v].verb,
				    run_state_name((enum run_state)from), ret, h.e.msg);
			assert_string_equal(state(&h, id), run_state_name(may ? to : (enum run_state)from));
			if (ret < 0)
				assert_string_equal(h.e.name, pending && held ? "not-yours" : "transition");
		}
	leave(&h);
}

static void
a_run_is_the_one_s_that_claimed_it_last(void **unused)
{
	struct house h = house();

	(void)unused;
	create(&h, "run", "ses");
	assert_int_equal(step(&h, "claim", "run", "one", 0), 1);
	assert_int_equal(step(&h, "start", "run", "two", 0), -1);
	assert_string_equal(h.e.name, "not-yours");
	later(&h, 301);
	recover(&h, RUN_MODE_STALE);
	assert_int_equal(step(&h, "start", "run", "one", 0), -1);
	assert_string_equal(h.e.name, "not-yours");
	assert_int_equal(step(&h, "claim", "run", "one", 0), 1);
	assert_int_equal(step(&h, "start", "run", "one", 1), -1);
	assert_string_equal(h.e.name, "not-yours");
	assert_int_equal(step(&h, "start", "run", "one", 2), 1);
	assert_int_equal(step(&h, "start", "run", "one", 2), 0);
	assert_int_equal(step(&h, "completed", "run", "one", 2), 1);
	assert_int_equal(step(&h, "start", "nothing", "one", 0), -1);
	assert_string_equal(h.e.name, "not-found");
	leave(&h);
}

static void
create_may_be_asked_again(void **unused)
{
	struct house h = house();
	struct run r = { .id = (char *)(uintptr_t)"run",
		.session_id = (char *)(uintptr_t)"ses",
		.prompt = (char *)(uintptr_t)"test" },
		   out;

	(void)unused;
	create(&h, "run", "ses");
	assert_int_equal(run_create(h.s, &r, NULL, &h.now, &out, &h.e), 0);
	assert_string_equal(out.type, "START_SESSION");
	run_release(&out);
	r.prompt = (char *)(uintptr_t)"another";
	assert_int_equal(run_create(h.s, &r, NULL, &h.now, &out, &h.e), -1);
	assert_string_equal(h.e.name, "exists");
	r.id = (char *)(uintptr_t)"with a blank";
	assert_int_equal(run_create(h.s, &r, NULL, &h.now, &out, &h.e), -1);
	assert_string_equal(h.e.name, "id");
	r.id = NULL;
	assert_int_equal(run_create(h.s, &r, NULL, &h.now, &out, &h.e), 1);
	assert_true(strncmp(out.id, "run_", 4) == 0);
	run_release(&out);
	leave(&h);
}

static void
the_session_goes_with_its_run(void **unused)
{
	struct house h = house();

	(void)unused;
	create(&h, "run-1", "ses");
	create(&h, "run-2", "ses");
	assert_string_equal(session(&h, "ses"), "running");
	step(&h, "claim", "run-1", "me", 0);
	step(&h, "start", "run-1", "me", 0);
	step(&h, "claim", "run-2", "me", 0);
	step(&h, "start", "run-2", "me", 0);
	/* it follows the one that began last */
	assert_int_equal(step(&h, "completed", "run-1", "me", 0), 1);
	assert_string_equal(session(&h, "ses"), "running");
	assert_int_equal(step(&h, "stop", "run-2", "me", 0), 1);
	assert_string_equal(session(&h, "ses"), "stopping");
	assert_int_equal(step(&h, "stopped", "run-2", "me", 0), 1);
	assert_string_equal(session(&h, "ses"), "stopped");
	create(&h, "run-3", "ses");
	assert_string_equal(session(&h, "ses"), "running");
	step(&h, "claim", "run-3", "me", 0);
	step(&h, "start", "run-3", "me", 0);
	assert_int_equal(step(&h, "failed", "run-3", "me", 0), 1);
	assert_string_equal(session(&h, "ses"), "finished");
	create(&h, "run-4", "other");
	assert_int_equal(step(&h, "stop", "run-4", "me", 0), 1);
	assert_string_equal(session(&h, "other"), "stopped");
	leave(&h);
}

static int
claim_as(struct house *h, const char *runner, const char *claim, char id[32])
{
	const struct run_holder holder = { .runner_id = runner, .claim_id = claim };
	struct run out;
	int ret = run_claim(h->s, &holder, &h->now, &out, &h->e);

	snprintf(id, 32, "%s", ret > 0 ? out.id : "");
	if (ret >= 0)
		run_release(&out);
	return ret;
}

static void
a_claim_may_be_asked_again_by_its_own_word(void **unused)
{
	struct house h = house();
	char first[32], again[32];

	(void)unused;
	create(&h, "one", "ses");
	create(&h, "two", "ses");
	create(&h, "three", "ses");
	assert_int_equal(claim_as(&h, "me", "a", first), 1);
	assert_int_equal(claim_as(&h, "me", "a", again), 2);
	assert_string_equal(first, again);
	assert_int_equal(claim_as(&h, "you", "a", again), 1);
	assert_string_not_equal(first, again);
	later(&h, 301);
	recover(&h, RUN_MODE_STALE);
	/* it was given back: what comes now is another claim */
	assert_int_equal(claim_as(&h, "me", "a", again), 1);
	assert_int_equal(step(&h, "start", again, "me", 0), 1);
	assert_int_equal(claim_as(&h, "me", "a", again), 1);
	leave(&h);
}

/* ---- many claimers ---- */

#define CLAIMERS 8

/* GT_CLAIM_RUNS: how many; 500 take 5 s, and half a minute where others keep the disk busy. */
static int
runs_to_claim(void)
{
	const char *n = getenv("GT_CLAIM_RUNS");

	return n != NULL ? atoi(n) : 500;
}

static void
claim_all(const char *dir, int who)
{
	char name[32], *path = xasprintf("%s/claimed-%d", dir, who);
	struct err e = ERR_INIT;
	struct store *s;
	FILE *f = fopen(path, "we");
	struct timestamp now;
	struct run out;
	int ret = -1;

	while ((s = store_open("sqlite", dir, &e)) == NULL && e.code == GT_AGAIN)
		;
	snprintf(name, sizeof name, "runner-%d", who);
	while (s != NULL && f != NULL) {
		timestamp_now(&now);
		ret = run_claim(s, &(struct run_holder){ .runner_id = name }, &now, &out, &e);
		if (ret == -1 && e.code == GT_AGAIN)
			continue;
		if (ret != 1)
			break;
		fprintf(f, "%s\n", out.id);
		run_release(&out);
	}
	if (ret != 0)
		fprintf(stderr, "%s: %s\n", name, e.msg);
	_exit(ret == 0 && fclose(f) == 0 ? 0 : 1);
}

static void
no_run_is_claimed_twice(void **unused)
{
	struct house h = house();
	json_t *seen = json_object();
	int status, n = runs_to_claim();
	pid_t pids[CLAIMERS];

	(void)unused;
	for (int i = 0; i < n; i++) {
		char id[32];

		snprintf(id, sizeof id, "run-%04d", i);
		create(&h, id, id);
	}
	for (int i = 0; i < CLAIMERS; i++)
		if ((pids[i] = fork()) == 0)
			claim_all(h.dir, i);
	for (int i = 0; i < CLAIMERS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < CLAIMERS; i++) {
		char *path = xasprintf("%s/claimed-%d", h.dir, i);
		struct buf text = BUF_INIT;
		char *save = NULL;

		assert_int_equal(io_read_file(path, 1 << 20, &text, &h.e), 0);
		for (char *id = strtok_r(text.data, "\n", &save); id != NULL;
		    id = strtok_r(NULL, "\n", &save)) {
			struct run r;
			char who[32];

			if (json_object_get(seen, id) != NULL)
				fail_msg("%s was claimed twice", id);
			json_object_set_new(seen, id, json_true());
			assert_int_equal(run_load(h.s, id, &r, &h.e), 1);
			snprintf(who, sizeof who, "runner-%d", i);
			assert_string_equal(r.runner_id, who);
			assert_int_equal(r.fence, 1);
			run_release(&r);
		}
		buf_release(&text);
		free(path);
	}
	assert_int_equal(json_object_size(seen), (size_t)n);
	json_decref(seen);
	leave(&h);
}

/* ---- recovery among those who work ---- */

#define WORKERS 4
#define WORK 40

/*
 * Works until nothing is pending and nobody holds anything; each step may be refused, since
 * recovery may have been there.
 */
static void
work(const char *dir, int who)
{
	struct err e = ERR_INIT;
	struct store *s;
	char name[32];
	int ret = 1;

	while ((s = store_open("sqlite", dir, &e)) == NULL && e.code == GT_AGAIN)
		;
	snprintf(name, sizeof name, "runner-%d", who);
	while (s != NULL && ret != 0) {
		struct run_holder h = { .runner_id = name };
		struct run claimed, out;
		struct timestamp now;

		timestamp_now(&now);
		ret = run_claim(s, &h, &now, &claimed, &e);
		if (ret == -1 && e.code != GT_AGAIN)
			_exit(1);
		if (ret != 1)
			continue;
		h.run_id = claimed.id;
		h.fence = claimed.fence;
		if (run_start(s, &h, &now, &out, &e) >= 0) {
			run_release(&out);
			if (run_finish(s, &h, RUN_COMPLETED, NULL, &now, &out, &e) >= 0)
				run_release(&out);
		}
		if (e.code != 0 && e.code != GT_REFUSED && e.code != GT_AGAIN)
			_exit(2);
		err_clear(&e);
		run_release(&claimed);
	}
	_exit(s != NULL ? 0 : 3);
}

struct tale {
	size_t created, claimed, completed;
};

static int
hear(const struct event_row *ev, void *arg)
{
	struct tale *t = arg;

	t->created += strcmp(ev->kind, "run.created") == 0;
	t->claimed += strcmp(ev->kind, "run.claimed") == 0;
	t->completed += strcmp(ev->kind, "run.completed") == 0;
	return 0;
}

static int
count_run(const struct record *rec, void *arg, struct err *e)
{
	struct tale *t = arg;
	struct run r;

	if (run_from_record(rec, &r, e) != 0)
		return -1;
	t->created++;
	t->claimed += (size_t)r.fence;
	t->completed += r.state == RUN_COMPLETED;
	if (!run_state_final(r.state))
		fail_msg("%s is left %s", r.id, run_state_name(r.state));
	run_release(&r);
	return 0;
}

static void
recovery_and_runners_do_not_undo_each_other(void **unused)
{
	const struct run_recovery all = { .mode = RUN_MODE_ALL };
	struct tale told = { .created = 0 }, there = { .created = 0 };
	struct house h = house();
	struct run_report report;
	struct timestamp now;
	struct run out;
	pid_t pids[WORKERS];
	int left = WORKERS, status;

	(void)unused;
	for (int i = 0; i < WORK; i++) {
		char id[32];

		snprintf(id, sizeof id, "run-%04d", i);
		create(&h, id, i % 2 == 0 ? "ses-even" : "ses-odd");
	}
	for (int i = 0; i < WORKERS; i++)
		if ((pids[i] = fork()) == 0)
			work(h.dir, i);
	while (left > 0) {
		timestamp_now(&now);
		if (run_recover(h.s, &all, &now, &report, &h.e) != 0)
			assert_int_equal(h.e.code, GT_AGAIN);
		for (int i = 0; i < WORKERS; i++) {
			if (pids[i] == 0 || waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			assert_int_equal(status, 0);
			pids[i] = 0;
			left--;
		}
	}
	/* what was given back when the last one had looked */
	while (run_claim(h.s, &(struct run_holder){ .runner_id = "me" }, &now, &out, &h.e) == 1)
		run_release(&out);
	assert_int_equal(
	    run_recover(h.s, &(struct run_recovery){ .mode = RUN_MODE_ALL, .claimed_fails = true }, &now,
		&report, &h.e),
	    0);
	assert_int_equal(event_each(h.s, "run", hear, &told, &h.e), 0);
	assert_int_equal(store_each(h.s, "run:", NULL, count_run, &there, &h.e), 0);
	assert_int_equal(there.created, WORK);
	assert_int_equal(told.created, there.created);
	assert_int_equal(told.claimed, there.claimed);
	assert_int_equal(told.completed, there.completed);
	leave(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_these_steps_are_legal),
		cmocka_unit_test(the_verbs_obey_the_table),
		cmocka_unit_test(a_run_is_the_one_s_that_claimed_it_last),
		cmocka_unit_test(create_may_be_asked_again),
		cmocka_unit_test(the_session_goes_with_its_run),
		cmocka_unit_test(a_claim_may_be_asked_again_by_its_own_word),
		cmocka_unit_test(no_run_is_claimed_twice),
		cmocka_unit_test(recovery_and_runners_do_not_undo_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
