#include "test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "conversation/conversation.h"
#include "screen/screen.h"

/* The screen-reader mode: everything at column 0, items right below each other. */

#define NB "\xC2\xA0"
#define HEAD                                                                                                 \
	"[Screen Reader Mode: on via flag]\nClaude Code v2.1.330\nOpus 5.5 · API Usage "                    \
	"Billing\n/home/u/proj\n"
#define DEAD "\n\nPane is dead (signal 9, Sun Nov 22 01:37:48 2026)\n"

static struct conversation
read_text(const char *text, int width)
{
	struct conversation c = CONVERSATION_INIT;

	screen_read_bytes(text, strlen(text), NULL, width, "claude", &c);
	return c;
}

static void
check(const struct conversation *c, size_t i, enum role role, enum status status, const char *tool,
    const char *content)
{
	assert_true(i < c->n);
	assert_string_equal(c->v[i].content, content);
	assert_int_equal(c->v[i].role, role);
	assert_int_equal(c->v[i].status, status);
	if (tool == NULL)
		assert_null(c->v[i].tool);
	else
		assert_string_equal(c->v[i].tool, tool);
}

static void
test_items(void **state)
{
	struct conversation c = read_text(HEAD "you: Do it,\nplease\n\n- all\nclaude: A call.\ntool: Bash "
					       "(seq 1 50)\n1\n2\n… +48 lines (ctrl+o to expand)\n"
					       "tool error: Bash (exit 3)\nError: Exit code 3\nRead 1 file "
					       "(ctrl+o to expand)\n"
					       "Thought for 1s (ctrl+o to expand)\nclaude: Called.\nChurned "
					       "for 2s · done 1:37 AM\n"
					       "bypass permissions on (shift+tab to cycle)\n$" NB " a "
												  "draft"
												  "\n" DEAD,
	    80);

	(void)state;
	assert_int_equal(c.n, 7);
	check(&c, 1, ROLE_USER, STATUS_COMPLETE, NULL, "Do it,\nplease\n\n- all");
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, "A call.");
	check(&c, 3, ROLE_ASSISTANT, STATUS_COMPLETE, "Bash", "1\n2\n… +48 lines (ctrl+o to expand)");
	assert_string_equal(c.v[3].input, "seq 1 50");
	check(&c, 4, ROLE_ASSISTANT, STATUS_FAILED, "Bash", "Error: Exit code 3");
	check(&c, 5, ROLE_ASSISTANT, STATUS_COMPLETE, "Read", "Read 1 file");
	assert_true(c.v[5].folded);
	check(&c, 6, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, "Called.");
	assert_string_equal(c.draft, "a draft");
	assert_string_equal(c.banner, "2.1.330");
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);
}

static void
test_running_and_asking(void **state)
{
	struct conversation run = read_text(HEAD "you: Run.\ntool: Bash (make)\nline 1\n… +13 lines "
						 "(5s)\n(ctrl+b ctrl+b (twice) to run in background)\n"
						 "Forming…\nTip: Start small\nbypass permissions on "
						 "(shift+tab to cycle)  ·  esc to interrupt\n$\n" DEAD,
	    80);
	struct conversation ask = read_text(HEAD "you: Run.\ntool: Bash (curl x | sh)\nWaiting…\nPermission "
						 "Required: Bash command\ncurl x | sh\n"
						 "> Run it\n> This command requires approval\nDo you want to "
						 "proceed?\n1. Yes\n2. No\nEsc to cancel\n" DEAD,
	    80);

	(void)state;
	assert_int_equal(run.n, 3);
	check(&run, 2, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "line 1\n… +13 lines (5s)");
	assert_null(run.draft);
	assert_int_equal(ask.n, 3);
	check(&ask, 2, ROLE_ASSISTANT, STATUS_WAITING, "Bash", "");
	assert_non_null(ask.question);
	assert_non_null(strstr(ask.question, "Do you want to proceed?"));
	assert_int_equal(run.unknown_lines + ask.unknown_lines, 0);
	conversation_release(&run);
	conversation_release(&ask);
}

static void
test_wrapped_words_and_imitations(void **state)
{
	struct conversation c = read_text(HEAD
	    "you: one two three four five six seven\neight nine\nclaude: Rows:\n\n❯ no prompt\n● no words\n"
	    "Read 1 row\n\nThought for 3s (ctrl+o to expand)\n\nPane is dead (signal 9)\nand more\n"
	    "bypass permissions on (shift+tab to cycle)  ·  esc to interrupt\n" DEAD, 40);

	(void)state;
	assert_int_equal(c.n, 3);
	check(&c, 1, ROLE_USER, STATUS_COMPLETE, NULL, "one two three four five six seven eight nine");
	check(&c, 2, ROLE_ASSISTANT, STATUS_RUNNING, NULL,
	    "Rows:\n\n❯ no prompt\n● no words\nRead 1 row\n\nThought for 3s (ctrl+o to expand)\n\nPane is "
	    "dead (signal 9)\nand more");
	conversation_release(&c);
}

/* The mode belongs to the last session: a later start without it is read as usual. */
static void
test_chosen_by_the_last_banner(void **state)
{
	struct conversation c = read_text(HEAD "you: old\nclaude: Yes.\n" DEAD
	    " ▐▛███▜▌   Claude Code v2.1.197\n▝▜█████▛▘  Opus\n  ▘▘ ▝▝    /home/u\n\n❯ new\n\n● Fine.\n", 80);

	(void)state;
	assert_string_equal(conversation_last_user(&c), "new");
	assert_string_equal(c.banner, "2.1.197");
	conversation_release(&c);
}

/* What was typed ahead is echoed in front of the mark. A text that ends like the mark begins nothing. */
static void
test_mark_behind_an_echo(void **state)
{
	struct conversation c = read_text("> go on [or not][Accessible screen reader mode: on]\nClaude Code "
					  "v2.1.197\nOpus 4.8 · API Usage Billing\n~/w\n"
					  "you: and what\n\n> follows\n> here\n> and there\nclaude: It "
					  "says\n> [Screen Reader Mode: on via flag]\nat first.\nBaked for "
					  "0s\n"
					  "paste again to expand\n● high · /effort\n" DEAD,
	    80);

	(void)state;
	assert_string_equal(c.banner, "2.1.197");
	assert_int_equal(c.n, 3);
	check(&c, 1, ROLE_USER, STATUS_COMPLETE, NULL, "and what\n\n> follows\n> here\n> and there");
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, NULL,
	    "It says\n> [Screen Reader Mode: on via flag]\nat first.");
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);
}

/*
 * The banner scrolled away: the rows themselves tell the mode, unless more of them have the
 * markers of the other.
 */
static void
test_told_without_a_banner(void **state)
{
	struct conversation flat =
	    read_text("you: one\n> two\nclaude: Yes.\ntool: Bash (make)\n● fine\nclaude: Done.\n" DEAD, 80);
	struct conversation classic = read_text("> one\nyou: two\n\n● Yes.\n\n● Bash(make)\n  ⎿ " NB
						"claude: hello\n\n> three\nclaude: four\n" DEAD,
	    80);

	(void)state;
	assert_int_equal(flat.n, 4);
	check(&flat, 0, ROLE_USER, STATUS_COMPLETE, NULL, "one\n> two");
	check(&flat, 2, ROLE_ASSISTANT, STATUS_COMPLETE, "Bash", "● fine");
	assert_int_equal(flat.truncated_at, 0);
	check(&classic, 0, ROLE_USER, STATUS_COMPLETE, NULL, "one\nyou: two");
	assert_int_equal(classic.n, 4);
	conversation_release(&flat);
	conversation_release(&classic);
}

/* In 2.1.197 the head of a running call is not there every other moment. */
static void
test_head_blinked_away(void **state)
{
	struct conversation many = read_text(HEAD "you: Run.\nclaude: It runs.\nFor long.\nline 7\nline "
						  "8\nline 9\nline 10\n+6 lines (6s)\n"
						  "(ctrl+b ctrl+b (twice) to run in background)\nThinking…   "
						  "( 6s  ·  40 tokens )\n"
						  "bypass permissions on (shift+tab to cycle)  ·  esc to "
						  "interrupt\n" DEAD,
	    40);
	struct conversation few = read_text(HEAD "you: Run.\nclaude: It runs for as long as you wish "
						 "and\nwant.\nline 1\n"
						 "(ctrl+b ctrl+b (twice) to run in background)\nThinking…   "
						 "( 6s  ·  40 tokens )\n"
						 "bypass permissions on (shift+tab to cycle)  ·  esc to "
						 "interrupt\n" DEAD,
	    44);

	(void)state;
	assert_int_equal(many.n, 4);
	check(&many, 2, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, "It runs.\nFor long.");
	check(&many, 3, ROLE_ASSISTANT, STATUS_RUNNING, "Bash",
	    "line 7\nline 8\nline 9\nline 10\n+6 lines (6s)");
	assert_int_equal(few.n, 4);
	check(&few, 2, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, "It runs for as long as you wish and want.");
	check(&few, 3, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "line 1");
	conversation_release(&many);
	conversation_release(&few);
}

/* A banner begins a session, whatever a shell wrote above it; what was typed before is past. */
static void
test_session_begins_with_its_banner(void **state)
{
	struct conversation shell = read_text("~ $ claude --ax-screen-reader\n" HEAD "you: one\n" DEAD, 80);
	struct conversation again = read_text(HEAD "you: one\n$" NB "unsent\n" HEAD "you: two\n" DEAD, 80);
	struct conversation cut = read_text("claude: Yes.\n" HEAD "you: one\n" DEAD, 80);

	(void)state;
	assert_int_equal(shell.truncated_at, -1);
	check(&shell, 2, ROLE_USER, STATUS_COMPLETE, NULL, "one");
	assert_null(again.draft);
	check(&again, 3, ROLE_USER, STATUS_COMPLETE, NULL, "two");
	assert_int_equal(cut.truncated_at, 0);
	conversation_release(&shell);
	conversation_release(&again);
	conversation_release(&cut);
}

/* A call whose head says that it failed does not run, whatever its last row looks like. */
static void
test_failed_call_does_not_run(void **state)
{
	struct conversation c = read_text(HEAD "you: Run.\ntool error: Bash (make)\nError: Exit code "
					       "2\n+6 lines (6s)\n" DEAD,
	    80);

	(void)state;
	check(&c, 2, ROLE_ASSISTANT, STATUS_FAILED, "Bash", "Error: Exit code 2\n+6 lines (6s)");
	conversation_release(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_running_and_asking),
		cmocka_unit_test(test_wrapped_words_and_imitations),
		cmocka_unit_test(test_chosen_by_the_last_banner),
		cmocka_unit_test(test_mark_behind_an_echo),
		cmocka_unit_test(test_told_without_a_banner),
		cmocka_unit_test(test_head_blinked_away),
		cmocka_unit_test(test_session_begins_with_its_banner),
		cmocka_unit_test(test_failed_call_does_not_run),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
