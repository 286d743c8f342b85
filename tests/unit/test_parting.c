#include "test.h"

#include "base/io.h"
#include "context/parting.h"
#include "temp.h"

#define SAID(version) "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Done.\"}]},\"version\":\"" version "\"}\n"
#define LEAVE "{\"type\":\"last-prompt\",\"lastPrompt\":\"go on\",\"sessionId\":\"x\"}\n"
#define COSTS "{\"type\":\"cost-state\",\"sessionId\":\"x\",\"totalCostUSD\":0.1}\n"
#define MODE "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"x\"}\n"

static enum parting
of(const char *text)
{
	char *dir = temp_dir(), *path = io_join(dir, "x.jsonl");
	enum parting how;

	if (text != NULL)
		temp_write(path, text);
	how = parting_of(path);
	free(path);
	temp_remove(dir);
	return how;
}

static void
one_that_was_ended(void **state)
{
	(void)state;
	assert_int_equal(of(SAID("2.1.197") LEAVE), PARTING_GOODBYE);
	assert_int_equal(of(SAID("2.1.330") MODE COSTS), PARTING_GOODBYE);
}

static void
one_that_was_killed(void **state)
{
	(void)state;
	assert_int_equal(of(SAID("2.1.197")), PARTING_NONE);
	assert_int_equal(of(SAID("2.1.330") MODE MODE), PARTING_NONE);
	assert_int_equal(of(SAID("3.0.0")), PARTING_NONE);
	/* it had been ended, was resumed, and killed then; or in the midst of a line */
	assert_int_equal(of(SAID("2.1.197") LEAVE SAID("2.1.197")), PARTING_NONE);
	assert_int_equal(of(SAID("2.1.197") LEAVE "{\"type\":\"assistant\",\"mess"), PARTING_NONE);
}

static void
one_that_does_not_tell(void **state)
{
	(void)state;
	assert_int_equal(of(NULL), PARTING_UNKNOWN);
	assert_int_equal(of(""), PARTING_UNKNOWN);
	assert_int_equal(of(MODE), PARTING_UNKNOWN);
	assert_int_equal(of(SAID("2.1.37")), PARTING_UNKNOWN);
	assert_int_equal(of(SAID("2.1.196")), PARTING_UNKNOWN);
	assert_int_equal(of(SAID("new")), PARTING_UNKNOWN);
	/* text that a user wrote is no key */
	assert_int_equal(of("{\"type\":\"user\",\"message\":{\"content\":\"\\\"version\\\":\\\"9.9.9\\\"\"}}\n"), PARTING_UNKNOWN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_was_ended),
		cmocka_unit_test(one_that_was_killed),
		cmocka_unit_test(one_that_does_not_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
