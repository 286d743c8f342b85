#include "test.h"

#include "base/io.h"
#include "context/parting.h"
#include "temp.h"

#define SAID(version) "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Done.\"}]},\"version\":\"" version "\"}\n"
#define LEAVE "{\"type\":\"last-prompt\",\"lastPrompt\":\"go on\",\"sessionId\":\"x\"}\n"
#define COSTS "{\"type\":\"cost-state\",\"sessionId\":\"x\",\"totalCostUSD\":0.1}\n"
#define MODE "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"x\"}\n"

static enum parting
of_other(const char *format, const char *text)
{
	char *dir = temp_dir(), *path = io_join(dir, "x.jsonl");
	enum parting how;

	if (text != NULL)
		temp_write(path, text);
	how = parting_of(format, path);
	free(path);
	temp_remove(dir);
	return how;
}

static enum parting
of(const char *text)
{
	return of_other("claude", text);
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

#define EVENT(type) "{\"type\":\"" type "\",\"data\":{}}\n"
#define TURN(type) "{\"type\":\"event_msg\",\"payload\":{\"type\":\"" type "\"}}\n"

static void
other_agents(void **state)
{
	(void)state;
	assert_int_equal(of_other("copilot", EVENT("session.start") EVENT("session.shutdown")), PARTING_GOODBYE);
	assert_int_equal(of_other("copilot", EVENT("session.start") EVENT("assistant.turn_end")), PARTING_NONE);
	/* it was resumed after its farewell */
	assert_int_equal(of_other("copilot", EVENT("session.shutdown") EVENT("session.resume")), PARTING_NONE);
	assert_int_equal(of_other("copilot", "{\"type\":\"user.message\",\"data\":{\"content\":\"\\\"type\\\":\\\"session.shutdown\\\"\"}}\n"),
	    PARTING_NONE);
	assert_int_equal(of_other("copilot", ""), PARTING_UNKNOWN);
	assert_int_equal(of_other("codex", TURN("task_started")), PARTING_NONE);
	assert_int_equal(of_other("codex", TURN("task_started") TURN("task_complete")), PARTING_UNKNOWN);
	assert_int_equal(of_other("codex", TURN("task_started") TURN("turn_aborted")), PARTING_UNKNOWN);
	assert_int_equal(of_other("codex", TURN("task_started") TURN("task_complete") TURN("task_started")), PARTING_NONE);
	assert_int_equal(of_other("codex", "{}\n"), PARTING_UNKNOWN);
	assert_int_equal(of_other("codex", NULL), PARTING_UNKNOWN);
	assert_int_equal(of_other("gemini", "{\"sessionId\":\"x\"}\n"), PARTING_UNKNOWN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_was_ended),
		cmocka_unit_test(one_that_was_killed),
		cmocka_unit_test(one_that_does_not_tell),
		cmocka_unit_test(other_agents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
