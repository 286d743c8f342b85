#include "test.h"

#include "base/io.h"
#include "transcript/transcript.h"
#include "temp.h"

#define SAID(version)                                                                                        \
	"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Done.\"}]},"        \
	"\"version\":\"" version "\"}\n"
#define LEAVE "{\"type\":\"last-prompt\",\"lastPrompt\":\"go on\",\"sessionId\":\"x\"}\n"
#define COSTS "{\"type\":\"cost-state\",\"sessionId\":\"x\",\"totalCostUSD\":0.1}\n"
#define MODE "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"x\"}\n"

static enum exit_kind
of_other(const char *format, const char *text)
{
	char *dir = temp_dir(), *path = io_join(dir, "x.jsonl");
	enum exit_kind how;

	if (text != NULL)
		temp_write(path, text);
	how = transcript_exit_kind(format, path);
	free(path);
	temp_remove(dir);
	return how;
}

static enum exit_kind
of(const char *text)
{
	return of_other("claude", text);
}

static void
one_that_was_ended(void **state)
{
	(void)state;
	assert_int_equal(of(SAID("2.1.197") LEAVE), EXIT_CLEAN);
	assert_int_equal(of(SAID("2.1.330") MODE COSTS), EXIT_CLEAN);
}

static void
one_that_was_killed(void **state)
{
	(void)state;
	assert_int_equal(of(SAID("2.1.197")), EXIT_KILLED);
	assert_int_equal(of(SAID("2.1.330") MODE MODE), EXIT_KILLED);
	assert_int_equal(of(SAID("3.0.0")), EXIT_KILLED);
	/* it had been ended, was resumed, and killed then; or in the midst of a line */
	assert_int_equal(of(SAID("2.1.197") LEAVE SAID("2.1.197")), EXIT_KILLED);
	assert_int_equal(of(SAID("2.1.197") LEAVE "{\"type\":\"assistant\",\"mess"), EXIT_KILLED);
}

static void
one_that_does_not_tell(void **state)
{
	(void)state;
	assert_int_equal(of(NULL), EXIT_UNKNOWN);
	assert_int_equal(of(""), EXIT_UNKNOWN);
	assert_int_equal(of(MODE), EXIT_UNKNOWN);
	assert_int_equal(of(SAID("2.1.37")), EXIT_UNKNOWN);
	assert_int_equal(of(SAID("2.1.196")), EXIT_UNKNOWN);
	assert_int_equal(of(SAID("new")), EXIT_UNKNOWN);
	/* text that a user wrote is no key */
	assert_int_equal(of("{\"type\":\"user\",\"message\":{\"content\":\"\\\"version\\\":\\\"9.9.9\\\"\"}}"
			    "\n"),
	    EXIT_UNKNOWN);
}

#define EVENT(type) "{\"type\":\"" type "\",\"data\":{}}\n"
#define TURN(type) "{\"type\":\"event_msg\",\"payload\":{\"type\":\"" type "\"}}\n"

static void
other_agents(void **state)
{
	(void)state;
	assert_int_equal(of_other("copilot", EVENT("session.start") EVENT("session.shutdown")), EXIT_CLEAN);
	assert_int_equal(
	    of_other("copilot", EVENT("session.start") EVENT("assistant.turn_end")), EXIT_KILLED);
	/* it was resumed after its farewell */
	assert_int_equal(of_other("copilot", EVENT("session.shutdown") EVENT("session.resume")), EXIT_KILLED);
	assert_int_equal(of_other("copilot",
			     "{\"type\":\"user.message\",\"data\":{\"content\":\"\\\"type\\\":\\\"session."
			     "shutdown\\\"\"}}\n"),
	    EXIT_KILLED);
	assert_int_equal(of_other("copilot", ""), EXIT_UNKNOWN);
	assert_int_equal(of_other("codex", TURN("task_started")), EXIT_KILLED);
	assert_int_equal(of_other("codex", TURN("task_started") TURN("task_complete")), EXIT_UNKNOWN);
	assert_int_equal(of_other("codex", TURN("task_started") TURN("turn_aborted")), EXIT_UNKNOWN);
	assert_int_equal(
	    of_other("codex", TURN("task_started") TURN("task_complete") TURN("task_started")), EXIT_KILLED);
	assert_int_equal(of_other("codex", "{}\n"), EXIT_UNKNOWN);
	assert_int_equal(of_other("codex", NULL), EXIT_UNKNOWN);
	assert_int_equal(of_other("gemini", "{\"sessionId\":\"x\"}\n"), EXIT_UNKNOWN);
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
