#include "test.h"

#include <locale.h>
#include <string.h>

#include "screen/screen.h"
#include "base/buf.h"
#include "conversation/conversation.h"

/*
 * Screens of other agents that no recording has (tests/golden/agents): drawn by hand after what
 * the programs' code draws, in panes of 60 columns.
 */

#define LINE "────────────────────────────────────────────────────────────\n"
#define TOP "╭──────────────────────────────────────────────────────╮\n"
#define END "╰──────────────────────────────────────────────────────╯\n"
#define GEMINI " ▝▜▄     Gemini CLI v0.61.0\n   ▝▜▄\n\nTips for getting started:\n\n"
#define GEMINI_BOX                                                                                           \
	"\n" LINE " YOLO Ctrl+Y\n\n *   Type your message or @path/to/file\n\n ~/w          no sandbox     " \
		  "    Auto\n"
#define CODEX "  >_ OpenAI Codex (v0.169.0)\n     ~/w\n\n\n"
#define CODEX_BOX                                                                                            \
	"\n\n› Ask Codex to do anything\n\n  mock-model default · ~/w · A test\n  ← for agents · ? for "     \
	"shortcuts\n"

static struct conversation c;

static void
see(const char *agent, const char *text)
{
	struct buf b = BUF_INIT;
	struct sgr_rows *style;

	conversation_release(&c);
	c = (struct conversation)CONVERSATION_INIT;
	buf_add(&b, text, strlen(text));
	style = sgr_strip(&b);
	screen_read_bytes(b.data, b.len, strchr(text, '\033') != NULL ? style : NULL, 60, agent, &c);
	sgr_free(style);
	buf_release(&b);
}

static void
is(size_t i, enum role role, enum status status, const char *content)
{
	if (i >= c.n)
		fail_msg("exchange %zu is missing: %s", i, content);
	assert_string_equal(c.v[i].content, content);
	assert_int_equal(c.v[i].role, role);
	assert_int_equal(c.v[i].status, status);
	assert_null(c.v[i].tool);
}

static void
is_call(size_t i, enum status status, const char *tool, const char *input, const char *content)
{
	if (i >= c.n || c.v[i].tool == NULL)
		fail_msg("no call at %zu: %s", i, tool);
	assert_string_equal(c.v[i].tool, tool);
	assert_string_equal(c.v[i].input != NULL ? c.v[i].input : "", input);
	assert_string_equal(c.v[i].content, content);
	assert_int_equal(c.v[i].status, status);
}

static void
calls_share_a_box(void **state)
{
	(void)state;
	see("gemini",
	    GEMINI " > Look\n\n✦ I look.\n\n" TOP "│ ✓  ReadFile notes.txt                                │\n"
		   "│                                                      │\n│ x  Shell make all            "
		   "                        │\n"
		   "│                                                      │\n│   one                        "
		   "                        │\n"
		   "│ ✓  passes                                            │\n│                              "
		   "                        │\n"
		   "│     two                                              │\n│ -  Shell rm -rf build        "
		   "                        │\n" END GEMINI_BOX);
	is(0, ROLE_SYSTEM, STATUS_COMPLETE, "Gemini CLI v0.61.0");
	is(1, ROLE_USER, STATUS_COMPLETE, "Look");
	is(2, ROLE_ASSISTANT, STATUS_COMPLETE, "I look.");
	is_call(3, STATUS_COMPLETE, "ReadFile", "notes.txt", "");
	/* what a command prints may look like a head, but not of a tool that there is */
	is_call(4, STATUS_FAILED, "Shell", "make all", "  one\n✓  passes\n\n    two");
	is_call(5, STATUS_FAILED, "Shell", "rm -rf build", "");
	assert_int_equal(c.n, 6);
	assert_string_equal(c.banner, "0.61.0");
	assert_null(c.draft);
	assert_int_equal(c.unknown_lines, 0);
	assert_int_equal(c.truncated_at, -1);
}

static void
call_waits_for_a_person(void **state)
{
	(void)state;
	see("gemini",
	    GEMINI " > Clean\n\n" TOP "│ ?  Shell rm -rf build                                │\n"
		   "│                                                      │\n│ Allow execution of: 'rm'?    "
		   "                        │\n"
		   "│ ● 1. Allow once                                      │\n" END);
	is_call(2, STATUS_WAITING, "Shell", "rm -rf build", "Allow execution of: 'rm'?\n● 1. Allow once");
	assert_string_equal(c.question, "Allow execution of: 'rm'?\n● 1. Allow once");
}

static void
box_without_a_call_is_kept(void **state)
{
	(void)state;
	see("gemini",
	    GEMINI TOP "│ Gemini CLI update available!                         │\n" END " > Go "
											"on\n" GEMINI_BOX);
	is(1, ROLE_SYSTEM, STATUS_COMPLETE, "Gemini CLI update available!");
	is(2, ROLE_USER, STATUS_COMPLETE, "Go on");
}

static void
code_loses_its_numbers(void **state)
{
	(void)state;
	see("gemini",
	    GEMINI " > Show me\n\n✦ Here:\n\n    1 first\n    2\n    3   third, which is so long that it\n   "
		   "   goes on\n"
		   "   10 no\n\n  1 is what is left of it.\n" GEMINI_BOX);
	is(2, ROLE_ASSISTANT, STATUS_COMPLETE,
	    "Here:\n\nfirst\n\n  third, which is so long that it goes on\n\n 10 no\n\n1 is what is left of "
	    "it.");
}

static void
prompt_and_draft_go_on(void **state)
{
	(void)state;
	see("gemini",
	    GEMINI " > One thing:\n   > quoted\n\n   ✦ and starred\n\n✦ Yes.\n\n" LINE " Shift+Tab to accept "
										       "edits\n\n"
		   " > half a thought\n   and more of it\n\n ~/w      no sandbox     Auto\n");
	is(1, ROLE_USER, STATUS_COMPLETE, "One thing:\n> quoted\n\n✦ and starred");
	is(2, ROLE_ASSISTANT, STATUS_COMPLETE, "Yes.");
	assert_string_equal(c.draft, "half a thought\nand more of it");
	assert_int_equal(c.n, 3);
}

static void
spinner_tells_that_words_run(void **state)
{
	(void)state;
	see("gemini",
	    GEMINI " > Go\n\n✦ Half of\n\n ⠏ Thinking... (esc to cancel, 2s)      ? for "
		   "shortcuts\n" GEMINI_BOX);
	is(2, ROLE_ASSISTANT, STATUS_RUNNING, "Half of");
	see("gemini", GEMINI " > Go\n\n✦ All of it\n" GEMINI_BOX);
	is(2, ROLE_ASSISTANT, STATUS_COMPLETE, "All of it");
	see("gemini", GEMINI " > Go\n\n✦ Half of\n\nℹ Request cancelled.\n\n > On\n" GEMINI_BOX);
	is(2, ROLE_ASSISTANT, STATUS_INTERRUPTED, "Half of");
	is(3, ROLE_SYSTEM, STATUS_COMPLETE, "Request cancelled.");
	see("gemini", GEMINI " > Go\n\n✕ Usage limit reached for gemini-2.5-pro.\n" GEMINI_BOX);
	is(2, ROLE_SYSTEM, STATUS_FAILED, "Usage limit reached for gemini-2.5-pro.");
	assert_true(c.limit);
}

static void
qwen_is_two_columns_too_wide(void **state)
{
	(void)state;
	see("qwen",
	    "  │ >_ Qwen Code (v0.15.10)          │\n\n  > Say it\n\n  ✦ It stood there so long!!, and "
	    "nobody knew any more who h\n"
	    "ad\n     put it there, or when that had been.\n\n  ╭────────────────────────────╮\n  │ ✓  Shell "
	    "(ls) (List them)  │\n"
	    "  │                            │\n  │    a                       │\n  "
	    "╰────────────────────────────╯\n" LINE "* and now \n  this\n" LINE "  YOLO mode (shift + tab to "
										"cycle)\n");
	is(2, ROLE_ASSISTANT, STATUS_COMPLETE,
	    "It stood there so long!!, and nobody knew any more who had put it there, or when that had "
	    "been.");
	is_call(3, STATUS_COMPLETE, "Shell", "(ls)\ndescription: List them", "a");
	assert_string_equal(c.draft, "and now\nthis");
}

static void
codex_tells_verbs_by_what_stands_below(void **state)
{
	(void)state;
	see("codex",
	    CODEX "› Go\n\n\n• Ran out of ideas, so I asked.\n\n• Ran cat <<'EOF'\n  │ a\n  │ EOF\n  └ a\n\n "
		  "   b\n\n• Explored\n"
		  "  └ Read notes.txt\n    Search cache\n\n• Updated Plan\n  └ ✔ Copy\n    □ Move\n\n• "
		  "Edited a.c (+1 -0)\n  └ 1 +int a;\n\n"
		  "• Done.\n\n  Worked for 2m 3s • 14:14\n" CODEX_BOX);
	is(1, ROLE_USER, STATUS_COMPLETE, "Go");
	is(2, ROLE_ASSISTANT, STATUS_COMPLETE, "Ran out of ideas, so I asked.");
	is_call(3, STATUS_COMPLETE, "Shell", "cat <<'EOF'\na\nEOF", "a\n\nb");
	is_call(4, STATUS_COMPLETE, "Read", "", "Explored\n└ Read notes.txt\n  Search cache");
	assert_true(c.v[4].folded);
	assert_string_equal(c.tasks, "✔ Copy\n□ Move");
	is_call(5, STATUS_COMPLETE, "Edit", "a.c (+1 -0)", "1 +int a;");
	is(6, ROLE_ASSISTANT, STATUS_COMPLETE, "Done.");
	assert_int_equal(c.n, 7);
}

static void
codex_tells_verbs_by_their_weight(void **state)
{
	(void)state;
	see("codex", CODEX "› Go\n\n\n\033[2m•\033[0m \033[1mRunning\033[0m make all\n" CODEX_BOX);
	is_call(2, STATUS_RUNNING, "Shell", "make all", "");
	see("codex", CODEX "› Go\n\n\n\033[2m•\033[0m Running make all\n" CODEX_BOX);
	is(2, ROLE_ASSISTANT, STATUS_RUNNING, "Running make all");
}

static void
codex_says_when_a_turn_has_ended(void **state)
{
	(void)state;
	see("codex", CODEX "› Go\n\n\n• Half of\n" CODEX_BOX);
	is(2, ROLE_ASSISTANT, STATUS_RUNNING, "Half of");
	see("codex",
	    CODEX "› Go\n\n\n• All\n\n  Worked for <1s • 14:14\n\n  1 background terminal running · /ps to "
		  "view\n" CODEX_BOX);
	is(2, ROLE_ASSISTANT, STATUS_COMPLETE, "All");
	is_call(3, STATUS_RUNNING, "Calls", "", "1 background terminal running");
	assert_true(c.v[3].folded);
	see("codex",
	    CODEX "› Go\n\n\n• Half of\n\n■ Conversation interrupted - tell it what to do\n" CODEX_BOX);
	is(2, ROLE_ASSISTANT, STATUS_INTERRUPTED, "Half of");
	is(3, ROLE_SYSTEM, STATUS_FAILED, "Conversation interrupted - tell it what to do");
	/* somebody's shell may have written below */
	see("codex",
	    CODEX "› Go\n\n\n• All\n\n  Worked for <1s • 14:14\n\n\n› half a thought\n\n  mock-model default "
		  "· ~/w\n  ← for agents\nKilled\n"
		  "dev$\n");
	assert_string_equal(c.draft, "half a thought");
	assert_int_equal(c.n, 3);
	/* what stands at the end is no box without the rows below it */
	see("codex", CODEX "› Go\n\n\n• All\n\n  Worked for <1s • 14:14\n\n\n› And on\n");
	is(3, ROLE_USER, STATUS_COMPLETE, "And on");
	assert_null(c.draft);
}

/* A result whose call scrolled away is read; so is what stands below a notice. */
static void
codex_keeps_results_without_calls(void **state)
{
	(void)state;
	see("codex",
	    "  └ 3\n    counted\n\n• Counted.\n\n• Interacted with background terminal · python3\n  └ "
	    "print(1)\n\n› And on\n" CODEX_BOX);
	is(0, ROLE_SYSTEM, STATUS_COMPLETE, "3\ncounted");
	is(1, ROLE_ASSISTANT, STATUS_COMPLETE, "Counted.");
	is(2, ROLE_SYSTEM, STATUS_COMPLETE, "Interacted with background terminal · python3\nprint(1)");
	is(3, ROLE_USER, STATUS_COMPLETE, "And on");
	assert_int_equal(c.n, 4);
	assert_int_equal(c.unknown_lines, 0);
}

static void
auggie_knows_its_tools(void **state)
{
	(void)state;
	see("auggie",
	    "Version 0.36.0 (commit 7c61e5bb)\n\n› Go\nand on\n\n● Note - this is no tool\n\n● Own Tool - "
	    "with a result\n  ⎿ Done\n\n"
	    "● Terminal - make\n  ⎿ Command error\n    ⎿ one\n\n      two\n\n● View Range - a.c\n\n ⠙ "
	    "Executing tools... (1s • esc to interrupt)\n" LINE "›\n" LINE " ? to show shortcuts            "
									   "~/w\n");
	is(0, ROLE_SYSTEM, STATUS_COMPLETE, "Auggie v0.36.0");
	is(1, ROLE_USER, STATUS_COMPLETE, "Go\nand on");
	is(2, ROLE_ASSISTANT, STATUS_COMPLETE, "Note - this is no tool");
	is_call(3, STATUS_COMPLETE, "Own Tool", "with a result", "Done");
	is_call(4, STATUS_FAILED, "Terminal", "make", "Command error\none\n\ntwo");
	is_call(5, STATUS_RUNNING, "View Range", "a.c", "");
	assert_null(c.draft);
}

#define BACK "\033[48;5;236m"
#define BACK_END "\033[49m"

static void
pi_needs_its_colours(void **state)
{
	static const char text[] = " pi v0.74.2\n\n\n" BACK "\n Go\n\n $ not a call\n\n" BACK_END
				   "\n Well.\n\n\n Two blank rows are nothing.\n\n" BACK "\n"
				   " \033[1m$ make\033[22m\n\n \033[38;5;244mone\033[39m\n\n\n\n "
				   "\033[38;5;244mtwo\033[39m\n\n Command exited with code 2\n\n"
				   " Took 0.1s\n\n" BACK_END "\n" BACK "\n And on\n\n" BACK_END
				   "\n ⠼ Working...\n\n" LINE "draft\n" LINE "~/w\n0.0%/200k (auto)   mock\n";

	(void)state;
	see("pi", text);
	is(0, ROLE_SYSTEM, STATUS_COMPLETE, "pi v0.74.2");
	is(1, ROLE_USER, STATUS_COMPLETE, "Go\n\n$ not a call");
	is(2, ROLE_ASSISTANT, STATUS_COMPLETE, "Well.\n\n\nTwo blank rows are nothing.");
	is_call(3, STATUS_FAILED, "bash", "make", "one\n\n\n\ntwo\n\nCommand exited with code 2");
	is(4, ROLE_USER, STATUS_COMPLETE, "And on");
	assert_int_equal(c.n, 5);
	assert_string_equal(c.draft, "draft");
	assert_int_equal(c.unknown_lines, 0);
}

/* A narrow pane breaks a command at its left edge: that is no output. */
static void
pi_breaks_a_command(void **state)
{
	(void)state;
	see("pi",
	    " pi v0.74.2\n\n\n" BACK "\n Go\n\n" BACK_END "\n\n" BACK " \033[1m$ make the whole of it and then\n"
	    "some\033[0m" BACK "\n\n one\n\n Took 0.1s\n" BACK_END);
	is(1, ROLE_USER, STATUS_COMPLETE, "Go");
	is_call(2, STATUS_COMPLETE, "bash", "make the whole of it and then\nsome", "one");
	assert_int_equal(c.n, 3);
}

static void
newer_pi_works_in_its_line(void **state)
{
	(void)state;
	see("pi",
	    " pi v0.87.1\n\n" BACK "\n Go\n\n" BACK_END "\n Half of\n\n── ⠙ Working " LINE "\n" LINE
	    "~/w\n0.0%/200k (auto)   mock\n");
	is(2, ROLE_ASSISTANT, STATUS_RUNNING, "Half of");
	assert_int_equal(c.n, 3);
	assert_null(c.draft);
}

/* On the alternate screen, with a scroll bar in each row. */
static void
newer_qwen_is_kept_as_it_is(void **state)
{
	static const char text[] = "  > Go                 █\n                       █\n  ◆︎ Half of          "
				   "  █\n" LINE "*   Type your message\n" LINE "  YOLO mode";

	(void)state;
	see("qwen", text);
	is(0, ROLE_SYSTEM, STATUS_COMPLETE, text);
	assert_int_equal(c.n, 1);
}

static void
unknown_rows_stay(void **state)
{
	(void)state;
	see("gemini", "make: done\n" GEMINI " > Go\n\n✦ Yes.\n\nsegfault in something\n\n > On\n" GEMINI_BOX);
	is(0, ROLE_SYSTEM, STATUS_COMPLETE, "make: done");
	is(4, ROLE_SYSTEM, STATUS_COMPLETE, "segfault in something");
	is(5, ROLE_USER, STATUS_COMPLETE, "On");
	assert_int_equal(c.unknown_lines, 2);
	see("gemini", "  the end of an answer\n\n > Go\n\n✦ Yes.\n" GEMINI_BOX);
	assert_int_equal(c.truncated_at, 0);
	is(0, ROLE_SYSTEM, STATUS_COMPLETE, "  the end of an answer");
	see("gemini", "$ ls\na\nb\n");
	is(0, ROLE_SYSTEM, STATUS_COMPLETE, "$ ls\na\nb");
	see("opencode", "  ┃  Go\n");
	is(0, ROLE_SYSTEM, STATUS_COMPLETE, "  ┃  Go");
}

static void
dialects_are_known_by_name(void **state)
{
	static const char *const names[] = { "claude", "codex", "gemini", "qwen", "auggie", "pi" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct grammar *d = grammar_for_text(names[i], "", 0);

		assert_true(grammar_is_known(names[i]));
		assert_non_null(d);
		assert_int_equal(grammar_screen_format(d) == SCREEN_CLAUDE, i == 0);
		grammar_free(d);
	}
	assert_false(grammar_is_known("none"));
	assert_null(grammar_for_text("none", "", 0));
	assert_null(grammar_for_text(NULL, "", 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_share_a_box),
		cmocka_unit_test(call_waits_for_a_person),
		cmocka_unit_test(box_without_a_call_is_kept),
		cmocka_unit_test(code_loses_its_numbers),
		cmocka_unit_test(prompt_and_draft_go_on),
		cmocka_unit_test(spinner_tells_that_words_run),
		cmocka_unit_test(qwen_is_two_columns_too_wide),
		cmocka_unit_test(codex_tells_verbs_by_what_stands_below),
		cmocka_unit_test(codex_tells_verbs_by_their_weight),
		cmocka_unit_test(codex_says_when_a_turn_has_ended),
		cmocka_unit_test(codex_keeps_results_without_calls),
		cmocka_unit_test(auggie_knows_its_tools),
		cmocka_unit_test(pi_needs_its_colours),
		cmocka_unit_test(pi_breaks_a_command),
		cmocka_unit_test(newer_pi_works_in_its_line),
		cmocka_unit_test(newer_qwen_is_kept_as_it_is),
		cmocka_unit_test(unknown_rows_stay),
		cmocka_unit_test(dialects_are_known_by_name),
	};
	int failed;

	setlocale(LC_CTYPE, "C.UTF-8");	/* as main does: widths of runes come from the C library */
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	conversation_release(&c);
	return failed;
}
