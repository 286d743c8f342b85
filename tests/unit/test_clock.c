#include "test.h"

#include "base/buf.h"
#include "base/clock.h"

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
			fail_msg("\"%s\" reads as %lld", cases[i].text, (long long)clock_parse_iso(cases[i].text));
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_times_that_others_write),
		cmocka_unit_test(reads_what_it_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
