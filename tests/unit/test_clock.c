#include "test.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/timestamp.h"

static void
reads_the_times_that_others_write(void **state)
{
	static const struct { const char *text; int64_t ms; } cases[] = {
		{ "2026-11-21T20:16:03Z", 1795292163000 },
		{ "2026-11-21T20:16:03.704Z", 1795292163704 },
		{ "2026-11-21T20:16:03.7Z", 1795292163700 },
		{ "2026-11-21T20:16:03.704123456Z", 1795292163704 },
		{ "2026-11-21T20:16:03.Z", 1795292163000 },
		{ "2026-11-21T21:46:03.5+01:30", 1795292163500 },
		{ "2026-11-21T12:16:03-08:00", 1795292163000 },
		{ "2026-11-21T20:16:03", -1 },
		{ "2026-11-21 20:16:03Z", -1 },
		{ "2026-11-21T20:16:03+1", -1 },
		{ "2026-11-21T20:16:03Zulu", -1 },
		{ "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (clock_parse_iso(cases[i].text) != cases[i].ms)
			fail_msg(
			    "\"%s\" reads as %lld", cases[i].text, (long long)clock_parse_iso(cases[i].text));
}

static void
reads_what_it_writes(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	clock_iso(&b, 1795292163704);
	assert_string_equal(b.data, "2026-11-21T20:16:03.704Z");
	assert_int_equal(clock_parse_iso(b.data), 1795292163704);
	buf_release(&b);
}

static void
the_wall_clock_makes_nothing_old(void **state)
{
	const struct timestamp was = { 1000000, 5000, "boot-a", "", 0 };
	struct timestamp now = { 1000000, 6000, "boot-a", "", 0 };

	(void)state;
	assert_int_equal(timestamp_age(&was, &now), 1000);
	now.wall_ms += (int64_t)365 * 86400000;
	assert_int_equal(timestamp_age(&was, &now), 1000);
	now.wall_ms = 1;
	assert_int_equal(timestamp_age(&was, &now), 1000);
	now.boot_ms = 4999;
	assert_int_equal(timestamp_age(&was, &now), AGE_UNKNOWN);
	now = (struct timestamp){ 1000001, 9000, "boot-b", "", 0 };
	assert_int_equal(timestamp_age(&was, &now), AGE_OTHER_BOOT);
}

static void
what_has_no_boot_goes_by_the_wall_clock(void **state)
{
	const struct timestamp now = { 1000000, 5000, "boot-a", "", 0 };
	struct timestamp was = { .wall_ms = 700000 };

	(void)state;
	assert_int_equal(timestamp_age(&was, &now), 300000);
	was.wall_ms = 1000001;
	assert_int_equal(timestamp_age(&was, &now), AGE_UNKNOWN);
	was.wall_ms = 0;
	assert_int_equal(timestamp_age(&was, &now), AGE_UNKNOWN);
}

static void
this_moment_is_of_this_boot(void **state)
{
	struct timestamp a, b;

	(void)state;
	timestamp_now(&a);
	timestamp_now(&b);
	assert_int_equal(strlen(a.boot_id), 36);
	assert_true(timestamp_age(&a, &b) >= 0);
}

/* Each day until 2200, also where time_t ends in 2038; what the C library knows as it does. */
static void
test_iso_of_each_day(void **state)
{
	(void)state;
	for (int64_t day = 0; day < 84006; day++) {
		int64_t ms = day * 86400000 + 43199999;
		time_t seconds = (time_t)(ms / 1000);
		struct buf b = BUF_INIT;
		struct tm tm;
		char text[32];

		clock_iso(&b, ms);
		assert_int_equal(clock_parse_iso(b.data), ms);
		if (seconds == ms / 1000 && gmtime_r(&seconds, &tm) != NULL) {
			strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.999Z", &tm);
			assert_string_equal(b.data, text);
		}
		buf_release(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_times_that_others_write),
		cmocka_unit_test(test_iso_of_each_day),
		cmocka_unit_test(reads_what_it_writes),
		cmocka_unit_test(the_wall_clock_makes_nothing_old),
		cmocka_unit_test(what_has_no_boot_goes_by_the_wall_clock),
		cmocka_unit_test(this_moment_is_of_this_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
