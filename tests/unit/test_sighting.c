#include "home.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "records/recovery/recovery.h"

struct count {
	size_t seen;
};

static int
count_row(const struct event_row *ev, void *arg)
{
	struct count *c = arg;

	c->seen += strcmp(ev->kind, "crash.seen") == 0;
	return 0;
}

static struct crash_record
crash(int64_t pid)
{
	return (struct crash_record){ .session = xstrdup("toast"),
		.socket = xstrdup("/tmp/s"),
		.pane_id = xstrdup("%3"),
		.class = xstrdup("dead"),
		.reason = xstrdup("killed"),
		.server_pid = 7,
		.server_start = 1000,
		.pane_pid = pid,
		.crashed_at = 5 };
}

static void
test_one_crash_is_seen_once(void **state)
{
	struct home *h = *state;
	struct count c = { 0 };
	bool fresh;

	for (int i = 0; i < 3; i++) {
		struct crash_record x = crash(42);

		assert_int_equal(crash_record_note(h->s, &x, &fresh, &h->e), 0);
		assert_int_equal(fresh, i == 0);
		assert_true(x.version > 0);
		crash_record_release(&x);
	}
	for (int i = 0; i < 2; i++) {
		struct crash_record x = crash(43);

		assert_int_equal(crash_record_note(h->s, &x, &fresh, &h->e), 0);
		assert_int_equal(fresh, i == 0);
		crash_record_release(&x);
	}
	assert_int_equal(event_each(h->s, NULL, count_row, &c, &h->e), 0);
	assert_int_equal(c.seen, 2);
}

enum { PASSES = 6, CRASHES = 20 };

/* One pass: its exit status is how many crashes it was the first to note. */
static void
pass(const char *dir)
{
	struct store *s = store_open("sqlite", dir, NULL);
	int first = 0;

	for (int i = 0; s != NULL && i < CRASHES; i++) {
		struct crash_record x = crash(100 + i);
		struct err e = ERR_INIT;
		bool fresh;

		if (crash_record_note(s, &x, &fresh, &e) != 0 || e.code != 0 || x.version <= 0)
			_exit(250);
		first += fresh;
		crash_record_release(&x);
	}
	store_close(s);
	_exit(s != NULL ? first : 251);
}

static void
test_passes_that_share_a_store(void **state)
{
	struct home *h = *state;
	struct count c = { 0 };
	pid_t pid[PASSES];
	int total = 0, status;

	for (int i = 0; i < PASSES; i++)
		if ((pid[i] = fork()) == 0)
			pass(h->dir);
	for (int i = 0; i < PASSES; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= CRASHES);
		total += WEXITSTATUS(status);
	}
	assert_int_equal(total, CRASHES);
	assert_int_equal(event_each(h->s, NULL, count_row, &c, &h->e), 0);
	assert_int_equal(c.seen, CRASHES);
}

static void
test_a_debt_outlives_the_next_crash(void **state)
{
	struct home *h = *state;
	struct crash_record_list owed = { .n = 0 };
	struct crash_record first = crash(42), next = crash(43), stale = crash(42);
	bool fresh;

	assert_int_equal(crash_record_note(h->s, &first, &fresh, &h->e), 0);
	assert_int_equal(crash_record_note(h->s, &stale, &fresh, &h->e), 0);
	first.state = CRASH_OWED;
	first.message = xstrdup("it died");
	first.tries = 2;
	first.unsure = true;
	assert_int_equal(crash_record_put(h->s, &first, NULL, &h->e), 0);
	assert_int_equal(crash_record_note(h->s, &next, &fresh, &h->e), 0);
	assert_true(fresh);
	assert_int_equal(crash_record_list_owed(h->s, &owed, &h->e), 0);
	assert_int_equal(owed.n, 1);
	assert_int_equal(owed.v[0].pane_pid, 42);
	assert_int_equal(owed.v[0].tries, 2);
	assert_true(owed.v[0].unsure);
	assert_string_equal(owed.v[0].message, "it died");
	/* who read it before cannot overwrite it */
	stale.state = CRASH_RECOVERED;
	assert_int_equal(crash_record_put(h->s, &stale, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "conflict");
	assert_int_equal(h->e.code, GT_AGAIN);
	err_clear(&h->e);
	owed.v[0].state = CRASH_MAILED;
	assert_int_equal(crash_record_list_put(h->s, &owed, NULL, &h->e), 0);
	crash_record_list_release(&owed);
	assert_int_equal(crash_record_list_owed(h->s, &owed, &h->e), 0);
	assert_int_equal(owed.n, 0);
	crash_record_list_release(&owed);
	crash_record_release(&first);
	crash_record_release(&next);
	crash_record_release(&stale);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_crash_is_seen_once, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_passes_that_share_a_store, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_a_debt_outlives_the_next_crash, home_setup, home_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
