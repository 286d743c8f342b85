#include "test.h"
#include "temp.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "records/records.h"
#include "records/recovery/recovery.h"
#include "store/store.h"

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
	char *dir = temp_dir();
	struct err e = ERR_INIT;
	struct store *s = store_open("sqlite", dir, &e);
	struct count c = { 0 };
	bool fresh;

	(void)state;
	assert_non_null(s);
	for (int i = 0; i < 3; i++) {
		struct crash_record x = crash(42);

		assert_int_equal(crash_record_note(s, &x, &fresh, &e), 0);
		assert_int_equal(fresh, i == 0);
		assert_true(x.version > 0);
		crash_record_release(&x);
	}
	for (int i = 0; i < 2; i++) {
		struct crash_record x = crash(43);

		assert_int_equal(crash_record_note(s, &x, &fresh, &e), 0);
		assert_int_equal(fresh, i == 0);
		crash_record_release(&x);
	}
	assert_int_equal(event_each(s, NULL, count_row, &c, &e), 0);
	assert_int_equal(c.seen, 2);
	store_close(s);
	temp_remove(dir);
}

static void
test_a_debt_outlives_the_next_crash(void **state)
{
	char *dir = temp_dir();
	struct err e = ERR_INIT;
	struct store *s = store_open("sqlite", dir, &e);
	struct crash_record_list owed = { .n = 0 };
	struct crash_record first = crash(42), next = crash(43), stale = crash(42);
	bool fresh;

	(void)state;
	assert_int_equal(crash_record_note(s, &first, &fresh, &e), 0);
	assert_int_equal(crash_record_note(s, &stale, &fresh, &e), 0);
	first.state = CRASH_OWED;
	first.message = xstrdup("it died");
	first.tries = 2;
	first.unsure = true;
	assert_int_equal(crash_record_put(s, &first, NULL, &e), 0);
	assert_int_equal(crash_record_note(s, &next, &fresh, &e), 0);
	assert_true(fresh);
	assert_int_equal(crash_record_list_owed(s, &owed, &e), 0);
	assert_int_equal(owed.n, 1);
	assert_int_equal(owed.v[0].pane_pid, 42);
	assert_int_equal(owed.v[0].tries, 2);
	assert_true(owed.v[0].unsure);
	assert_string_equal(owed.v[0].message, "it died");
	/* who read it before cannot overwrite it */
	stale.state = CRASH_RECOVERED;
	assert_int_equal(crash_record_put(s, &stale, NULL, &e), -1);
	assert_string_equal(e.name, "conflict");
	assert_int_equal(e.code, GT_AGAIN);
	err_clear(&e);
	owed.v[0].state = CRASH_MAILED;
	assert_int_equal(crash_record_list_put(s, &owed, NULL, &e), 0);
	crash_record_list_release(&owed);
	assert_int_equal(crash_record_list_owed(s, &owed, &e), 0);
	assert_int_equal(owed.n, 0);
	crash_record_list_release(&owed);
	crash_record_release(&first);
	crash_record_release(&next);
	crash_record_release(&stale);
	store_close(s);
	temp_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_crash_is_seen_once),
		cmocka_unit_test(test_a_debt_outlives_the_next_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
