#include "test.h"

#define DESCRIBE_TEST
#include "../../scripts/describe.c"

static void
files_are_up_to_date(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof described / sizeof described[0]; i++) {
		struct buf old = BUF_INIT, new = BUF_INIT;
		struct err e = ERR_INIT;

		if (io_read_file(described[i].path, (size_t)1 << 24, &old, &e) != 0)
			fail_msg("%s", e.msg);
		describe(i, old.data, &new);
		if (strcmp(old.data, new.data) != 0)
			fail_msg("%s is out of date: make completions writes it", described[i].path);
		buf_release(&old);
		buf_release(&new);
	}
}

/* A manual without its marks would be overwritten, and a table that nobody reads would pass. */
static void
every_option_is_described(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof described / sizeof described[0]; i++) {
		struct buf new = BUF_INIT;

		describe(i, "before\n" BEGIN "gone\n" END "after\n", &new);
		assert_null(strstr(new.data, "gone"));
		for (const struct cli_option *o = cli_options; o->name != NULL; o++)
			if (strstr(new.data, o->name) == NULL)
				fail_msg("%s lacks %s", described[i].path, o->name);
		assert_memory_equal(new.data, "before\n", 7);
		assert_string_equal(new.data + new.len - 6, "after\n");
		buf_release(&new);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_up_to_date),
		cmocka_unit_test(every_option_is_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
