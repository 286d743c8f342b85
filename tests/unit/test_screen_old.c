#include "test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "conversation/conversation.h"
#include "screen/screen.h"

/*
 * Versions before 2.1: ASCII prompts that go on in column 0, words that the terminal breaks,
 * other boxes. 40 columns.
 */

#define NB "\xC2\xA0"
#define RULE40 "────────────────────────────────────────\n"
#define TWO                                                                                                  \
	" * ▐▛███▜▌ *   Claude Code v2.0.76\n* ▝▜█████▛▘ *  Sonnet 4.5 · API\n *  ▘▘ ▝▝  *   "               \
	"/home/u/proj\n\n  /model to try Opus 4.5\n\n"
#define ONE                                                                                                  \
	"╭───────────────────────────╮\n│ ✻ Welcome to Claude Code! │\n│                           │\n│   "  \
	"cwd: /home/u/proj       │\n"                                                                        \
	"╰───────────────────────────╯\n\n Tips for getting started:\n\n  Run /init\n\n"
#define BOX RULE40 ">" NB "\n" RULE40 "  ? for shortcuts\n"

#define USER ROLE_USER, STATUS_COMPLETE, NULL, NULL
#define WORDS ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL
#define SAID ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL

static struct conversation
read_text(const char *text)
{
	struct conversation c = CONVERSATION_INIT;
	struct buf b = BUF_INIT;
	struct sgr_rows *style;

	buf_str(&b, text);
	style = sgr_strip(&b);
	screen_read_bytes(b.data, b.len, style, 40, "claude", &c);
	sgr_free(style);
	buf_release(&b);
	return c;
}

static void
check(const struct conversation *c, size_t i, enum role role, enum status status, const char *tool,
    const char *input, const char *content)
{
	assert_true(i < c->n);
	assert_string_equal(c->v[i].content, content);
	assert_int_equal(c->v[i].role, role);
	assert_int_equal(c->v[i].status, status);
	if (tool == NULL)
		assert_null(c->v[i].tool);
	else
		assert_string_equal(c->v[i].tool, tool);
	if (input == NULL)
		assert_null(c->v[i].input);
	else
		assert_string_equal(c->v[i].input, input);
}

static void
test_banners(void **state)
{
	struct conversation c = read_text(ONE "> hi\n\n● Yes.\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 3);
	check(&c, 0, SAID, "Claude Code\nTips for getting started:\n\nRun /init");
	check(&c, 1, USER, "hi");
	assert_null(c.banner);
	assert_int_equal(c.unknown_lines, 0);
	assert_int_equal(c.truncated_at, -1);
	conversation_release(&c);

	c = read_text(TWO "> hi\n\n● Yes.\n\n" BOX);
	assert_int_equal(c.n, 3);
	assert_string_equal(c.banner, "2.0.76");
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);

	/* in a narrow pane no version; the terminal breaks the words of 2.0 */
	c = read_text("╭─ Claude Code ────────────╮\n│       Welcome back!      "
		      "│\n╰──────────────────────────╯\n\n  /model to try Opus 4.5\n\n> hi\n\n"
		      "● aaaaaaaaa bbbbbbbbb ccccccccc dddddddd\ndd eeee\n\n> /nope\n\n> Unknown slash "
		      "command: nope\n\n" BOX);
	assert_int_equal(c.n, 5);
	assert_int_equal(c.unknown_lines, 0);
	check(&c, 2, WORDS, "aaaaaaaaa bbbbbbbbb ccccccccc dddddddddd eeee");
	check(&c, 4, SAID, "Unknown slash command: nope");
	conversation_release(&c);

	/* the banner scrolled away: the prompts tell */
	c = read_text("> hi\n\n● Yes.\n\n" BOX);
	assert_int_equal(c.n, 2);
	check(&c, 0, USER, "hi");
	assert_int_equal(c.truncated_at, 0);
	conversation_release(&c);
}

/* What stands at once below a prompt belongs to it, and behind a blank row what is no item. */
static void
test_prompt_in_column_0(void **state)
{
	struct conversation c = read_text(TWO "> look:\n    indented\n● not words\n❯ no prompt\n\nplain\n\n● "
					      "Bash(make)\n  ⎿  no result\n\n> quoted\n> twice\n\n* a "
					      "list\n\nend\n\n"
					      "● Yes.\n\n! ls\n  ⎿ " NB "file\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 5);
	check(&c, 1, USER,
	    "look:\n    indented\n● not words\n❯ no prompt\n\nplain\n\n● Bash(make)\n  ⎿  no result\n\n> "
	    "quoted\n> twice\n\n"
	    "* a list\n\nend");
	check(&c, 2, WORDS, "Yes.");
	check(&c, 3, USER, "! ls");
	check(&c, 4, SAID, "file");
	conversation_release(&c);
}

/* With colours every row of it is known. tmux writes a change of state only. */
static void
test_prompt_by_colours(void **state)
{
	struct conversation c = read_text(TWO "\033[48;5;237m> look:\n\n● no words\n\n✻ Baking… (esc to "
					      "interrupt)\n" RULE40 "\nend\n\n\033[49m● Yes.\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 3);
	check(&c, 1, USER,
	    "look:\n\n● no words\n\n✻ Baking… (esc to "
	    "interrupt)\n────────────────────────────────────────\n\nend");
	conversation_release(&c);

	c = read_text(ONE "\033[2m> one\n\n● no words\n\n> quoted\nmore\n\n\033[3m✻ Thinking…\n\n\033[0m  "
			  "\033[2;3mHm.\n\n  So.\n\n\033[0m● Yes.\n\n\033[2m" BOX);
	assert_int_equal(c.n, 4);
	check(&c, 1, USER, "one\n\n● no words\n\n> quoted\nmore");
	check(&c, 2, SAID, "Thinking…\nHm.\n\nSo.");
	check(&c, 3, WORDS, "Yes.");
	assert_null(c.draft);
	conversation_release(&c);
}

/*
 * Two prompts in a row were queued while a call ran; behind the model's words or a command the
 * sign is a quotation's.
 */
static void
test_quoted_or_queued(void **state)
{
	struct conversation c = read_text(TWO "> one\n\n> quoted\nPane is dead (signal 9)\n\nend\n\n● "
					      "Bash(make)\n  ⎿ " NB "ok\n\n> two\n\n> three\n\n● "
								    "Yes.\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 6);
	check(&c, 1, USER, "one\n\n> quoted\nPane is dead (signal 9)\n\nend");
	check(&c, 3, USER, "two");
	check(&c, 4, USER, "three");
	conversation_release(&c);

	c = read_text(TWO "> /compact\n  ⎿  Compacted\n\n> next\n\n● Yes.\n\n" BOX);
	check(&c, 1, USER, "/compact");
	check(&c, 2, SAID, "Compacted");
	check(&c, 3, USER, "next");
	conversation_release(&c);
}

/*
 * Where a row is too long, marks lose their second column: one blank behind the result's, none
 * behind a bullet.
 */
static void
test_squeezed_marks(void **state)
{
	struct conversation c = read_text(ONE "> go\n\n● Bash(make &&\n      make check)\n  ⎿ cc -c a.c\n    "
					      "cc -c b.c\n\n    done\n\n"
					      "●User approved Claude's plan:\n  ⎿ The plan\n\n    1. "
					      "Read\n\n● Bash(x) is what\n  ⎿ it says.\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 5);
	assert_int_equal(c.unknown_lines, 0);
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, "Bash", "make &&\nmake check",
	    "cc -c a.c\ncc -c b.c\n\ndone");
	assert_string_equal(c.v[3].tool, "ExitPlanMode");
	check(&c, 3, ROLE_ASSISTANT, STATUS_COMPLETE, "ExitPlanMode", NULL,
	    "User approved Claude's plan:\nThe plan\n\n1. Read");
	check(&c, 4, WORDS, "Bash(x) is what\n⎿ it says.");
	conversation_release(&c);
}

/* The dialog is all that is left of the call: its second row tells which file. */
static void
test_call_of_a_dialog(void **state)
{
	struct conversation c = read_text(TWO "> go\n\n● Yes.\n\n" RULE40 " Edit file\n w.cfg\n\n 2 -b\n 2 "
									  "+c\n Do you want to make this "
									  "edit?\n ❯ 1. Yes\n   2. No\n");

	(void)state;
	assert_int_equal(c.n, 4);
	check(&c, 3, ROLE_ASSISTANT, STATUS_WAITING, "Update", "w.cfg", "");
	conversation_release(&c);

	c = read_text(TWO "> go\n\n● Exited plan mode\n\n" RULE40 " Bash command\n\n   rm -rf x\n   Clean "
								  "up\n\n Do you want to proceed?\n ❯ 1. "
								  "Yes\n   2. No\n");
	assert_int_equal(c.n, 4);
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, "ExitPlanMode", NULL, "Exited plan mode");
	check(&c, 3, ROLE_ASSISTANT, STATUS_WAITING, "Bash", NULL, "");
	conversation_release(&c);
}

/* A sub-agent's own call stands below it; of other calls the last row is what they printed. */
static void
test_agent_waits(void **state)
{
	struct conversation c = read_text(ONE "> go\n\n● Bash(make)\n  ⎿ " NB "Bash(x)\n     Waiting…\n\n● "
									      "Task(Seek)\n  ⎿ " NB "Bash("
												    "sleep "
												    "6)\n    "
												    " Waiting"
												    "…\n\n"
					      "✻ Baking… (esc to interrupt)\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 4);
	assert_int_equal(c.v[2].status, STATUS_COMPLETE);
	assert_int_equal(c.v[3].status, STATUS_RUNNING);
	assert_string_equal(c.v[3].tool, "Task");
	conversation_release(&c);

	c = read_text(TWO "> go\n\n● Fetch(https://a.b)\n  ⎿ " NB "Fetching…\n\n" RULE40 " Fetch\n\n   "
											 "https://a.b\n\n Do "
											 "you want this?\n ❯ "
											 "1. Yes\n   2. "
											 "No\n");
	assert_int_equal(c.n, 3);
	assert_int_equal(c.v[2].status, STATUS_WAITING);
	assert_string_equal(c.v[2].input, "https://a.b");
	conversation_release(&c);
}

/*
 * Prompts and, in 1.0.128, words are broken four columns before the edge; the blank behind a full
 * row is kept.
 */
static void
test_rows_that_the_agent_broke(void **state)
{
	struct conversation c = read_text(ONE
		"> aaaaaaaaa bbbbbbbbb ccccccccc ddddd\neeeee ffff\nshort\n\n"
		"● aaaaaaaaa bbbbbbbbb ccccccccc dddd\n   eeeee ffff\n  short\n\n" BOX);

	(void)state;
	check(&c, 1, USER, "aaaaaaaaa bbbbbbbbb ccccccccc ddddd eeeee ffff\nshort");
	check(&c, 2, WORDS, "aaaaaaaaa bbbbbbbbb ccccccccc dddd eeeee ffff\nshort");
	conversation_release(&c);
}

/* 2.0.76 leaves it to the terminal: at the very edge, in mid-word, and the rest may look like anything. */
static void
test_rows_that_the_terminal_broke(void **state)
{
	struct conversation c = read_text(TWO "> go\n\n"
					      "● aaaaaaaaa bbbbbbbbb ccccccccc dddddddd\neee ffff "
					      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n gggg "
					      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n> hhhh\n"
					      "  a line of its own, as long as it can\n  be, almost\n\n  "
					      "日本語のテストのテストのテストのテスト\n。です\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 3);
	check(&c, 2, WORDS,
	    "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddeee ffff aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa gggg "
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa> hhhh\na line of its own, as long as it can\nbe, almost\n\n"
	    "日本語のテストのテストのテストのテスト。です");
	conversation_release(&c);
}

/*
 * A bullet's colour tells what the words of a result may not; where there is no colour nothing is
 * concluded.
 */
static void
test_bullets(void **state)
{
	struct conversation c = read_text(TWO "> go\n\n"
		"\033[91m●\033[39m \033[1mBash\033[0m(a)\n  ⎿ " NB "no\n\n"
		"\033[92m●\033[39m \033[1mBash\033[0m(b)\n  ⎿ " NB "yes\n\n"
		"\033[97m●\033[39m Bash(c)\n\n"
		"\033[33m●\033[39m Too much at once\n\n"
		"\033[92m●\033[39m \033[1mFrobnicate\033[0m(d)\n\n"
		"\033[37m●\033[39m \033[1mBash\033[0m(e)\n  ⎿ " NB "line 1\n\n" BOX);

	(void)state;
	check(&c, 2, ROLE_ASSISTANT, STATUS_FAILED, "Bash", "a", "no");
	check(&c, 3, ROLE_ASSISTANT, STATUS_COMPLETE, "Bash", "b", "yes");
	check(&c, 4, WORDS, "Bash(c)");
	check(&c, 5, ROLE_SYSTEM, STATUS_FAILED, NULL, NULL, "Too much at once");
	check(&c, 6, ROLE_ASSISTANT, STATUS_RUNNING, "Frobnicate", "d", "");
	check(&c, 7, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "e", "line 1");
	conversation_release(&c);

	c = read_text(TWO "> go\n\n● Bash(a)\n  ⎿ " NB "no\n\n● Bash(e)\n  ⎿ " NB "line 1\n\n" BOX);
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, "Bash", "a", "no");
	check(&c, 3, ROLE_ASSISTANT, STATUS_COMPLETE, "Bash", "e", "line 1");
	conversation_release(&c);
}

static void
test_blinking_call(void **state)
{
	struct conversation c = read_text(TWO "> go\n\n● I will.\n\n  Read(parser.c)\n\n✻ Baking… (esc to "
					      "interrupt)\n  ⎿ Tip: none\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 4);
	check(&c, 2, WORDS, "I will.");
	check(&c, 3, ROLE_ASSISTANT, STATUS_RUNNING, "Read", "parser.c", "");
	conversation_release(&c);

	c = read_text(TWO "> go\n\n● I will.\n\n  Read(parser.c)\n\n\033[31m✻ Baking… (esc to "
			  "interrupt)\033[0m\n\n" BOX);
	assert_int_equal(c.n, 3);	/* colours are known, and the name is not bold */
	check(&c, 2, WORDS, "I will.\n\nRead(parser.c)");
	conversation_release(&c);
}

static void
test_placeholder_is_dim(void **state)
{
	struct conversation c = read_text(TWO "> go\n\n● Yes.\n\n" RULE40 ">" NB "\033[7mN\033[0;2mow test "
										 "it\033[0m\n" RULE40 "  ? "
												      "for "
												      "shortc"
												      "uts"
												      "\n");

	(void)state;
	assert_null(c.draft);
	conversation_release(&c);
	c = read_text(TWO "> go\n\n● Yes.\n\n" RULE40 ">" NB "Now test it\n" RULE40 "  ? for shortcuts\n");
	assert_string_equal(c.draft, "Now test it");
	conversation_release(&c);
	/* without its blank */
	c = read_text(TWO "> a list\n\n>\n\n● Yes.\n\n" RULE40 ">\n" RULE40 "  ? for shortcuts\n");
	check(&c, 1, USER, "a list\n\n>");
	assert_null(c.draft);
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);
}

static void
test_boxed_permission(void **state)
{
	struct conversation c = read_text(ONE "> go\n\n● I will.\n\n● Write(new.md)\n\n"
					      "╭──────────────────────────────────────╮\n│ Create file       "
					      "                   │\n│ ╭──────────────────────────────────╮ "
					      "│\n"
					      "│ │ new.md                           │ │\n│ "
					      "╰──────────────────────────────────╯ │\n│ Do you want to "
					      "create new.md?        │\n"
					      "│ ❯ 1. Yes                             │\n│   2. No           "
					      "                   "
					      "│\n╰──────────────────────────────────────╯\n\n");

	(void)state;
	assert_int_equal(c.n, 4);
	check(&c, 3, ROLE_ASSISTANT, STATUS_WAITING, "Write", "new.md", "");
	assert_string_equal(
	    c.question, "Create file\nnew.md\nDo you want to create new.md?\n❯ 1. Yes\n  2. No");
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);

	/* the plan stands in the dialog alone */
	c = read_text(ONE "> go\n\n● I will.\n\n╭──────────────────────────────────────╮\n│ Ready to code?   "
			  "                    │\n"
			  "│                                      │\n│ ❯ 1. Yes                             "
			  "│\n╰──────────────────────────────────────╯\n");
	check(&c, 3, ROLE_ASSISTANT, STATUS_WAITING, "ExitPlanMode", NULL, "");
	conversation_release(&c);
}

static void
test_error_below_prompt(void **state)
{
	struct conversation c = read_text(TWO "> fail\n\nhard\n  ⎿ API Error: 400 no\n     way\n\n> "
					      "again\n\n● API Error?\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 5);
	check(&c, 1, USER, "fail\n\nhard");
	check(&c, 2, ROLE_SYSTEM, STATUS_FAILED, NULL, NULL, "API Error: 400 no\nway");
	check(&c, 3, USER, "again");
	conversation_release(&c);
}

static void
test_queue(void **state)
{
	static const char box[] = RULE40 ">" NB "a draft\n" RULE40 "  ? for shortcuts\n";
	static const char above[] = "> go\n\n● Bash(sleep 9)\n  ⎿ " NB "Running…\n\n✻ Baking… (esc to "
								       "interrupt)\n  ⎿ Tip: none\n    at "
								       "all\n\n\n";
	char *two = xasprintf(TWO "%s  > first\n  > second\n\n  > quoted\n  ● fake\n%s", above, box);
	char *one = xasprintf(ONE "%s  first\n  second\n%s", above, box);
	struct conversation c = read_text(two);

	(void)state;
	assert_int_equal(c.n, 5);
	check(&c, 2, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "sleep 9", "");
	check(&c, 3, ROLE_USER, STATUS_WAITING, NULL, NULL, "first");
	check(&c, 4, ROLE_USER, STATUS_WAITING, NULL, NULL, "second\n\n> quoted\n● fake");
	assert_string_equal(c.draft, "a draft");
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);
	c = read_text(one);
	assert_int_equal(c.n, 5);
	check(&c, 3, ROLE_USER, STATUS_WAITING, NULL, NULL, "first");
	check(&c, 4, ROLE_USER, STATUS_WAITING, NULL, NULL, "second");
	conversation_release(&c);
	free(two);
	free(one);
}

/* What the program says about a hook is not the model's, though it has the same bullet. */
static void
test_hook_failed(void **state)
{
	struct conversation c = read_text(ONE "> go\n\n● Stop words like it.\n\n\n● Stop [exit 1] failed "
					      "with non-blocking status code 1\n   unhappy\n\n");

	(void)state;
	assert_int_equal(c.n, 4);
	check(&c, 3, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL,
	    "Stop [exit 1] failed with non-blocking status code 1\n unhappy");
	conversation_release(&c);
}

static void
test_what_it_cost(void **state)
{
	struct conversation c = read_text(ONE "> go\nTotal duration (API):  2.8s\n\n● Yes.\n\n" BOX
					      "Total cost:            $0.0046\nTotal duration (API):  "
					      "2.8s\nUsage by model:\n    sonnet:  1.0k input\n\nPane is "
					      "dead (status 0)\n");

	(void)state;
	assert_int_equal(c.n, 4);
	check(&c, 1, USER, "go\nTotal duration (API):  2.8s");
	check(&c, 3, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL,
	    "Total cost:            $0.0046\nTotal duration (API):  2.8s\nUsage by model:\n  sonnet:  1.0k "
	    "input");
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);
}

/* Without a mark each line is a prompt of its own; not what the pane broke, and not the lines of a text. */
static void
test_unmarked_queue(void **state)
{
	static const struct {
		const char *rows, *first, *last;
		size_t n;
	} cases[] = {
		{ "  then the long one of them that\n  goes on\n  last",
		    "then the long one of them that goes on", "last", 2 },
		{ "  first\n  with a list:\n  this\n  that", "first", "with a list:\nthis\nthat", 2 },
		{ "  a text\n\n  with a gap", "a text\n\nwith a gap", "a text\n\nwith a gap", 1 },
		{ "  f()\n    x = 1\n  end", "f()\n  x = 1\nend", "f()\n  x = 1\nend", 1 },
		{ "  a\n  b\n  c\n  d\n  e\n  f\n  g", "a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nd\ne\nf\ng", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = xasprintf(ONE "> go\n\n✻ Baking… (esc to interrupt)\n\n\n%s\n" RULE40 ">" NB
					   "\n" RULE40 "  ? for shortcuts\n",
		    cases[i].rows);
		struct conversation c = read_text(text);

		assert_int_equal(c.n, 2 + cases[i].n);
		check(&c, 2, ROLE_USER, STATUS_WAITING, NULL, NULL, cases[i].first);
		check(&c, c.n - 1, ROLE_USER, STATUS_WAITING, NULL, NULL, cases[i].last);
		conversation_release(&c);
		free(text);
	}
}

/* What says that the conversation was compacted stands between lines. */
static void
test_compacted_between_lines(void **state)
{
	struct conversation c = read_text(TWO "> hi\n\n══ Conversation compacted · ctrl+o ══\n\n● Yes.\n\n" BOX);

	(void)state;
	assert_int_equal(c.n, 4);
	check(&c, 2, SAID, "Conversation compacted · ctrl+o");
	conversation_release(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_banners),
		cmocka_unit_test(test_prompt_in_column_0),
		cmocka_unit_test(test_prompt_by_colours),
		cmocka_unit_test(test_quoted_or_queued),
		cmocka_unit_test(test_squeezed_marks),
		cmocka_unit_test(test_call_of_a_dialog),
		cmocka_unit_test(test_agent_waits),
		cmocka_unit_test(test_rows_that_the_agent_broke),
		cmocka_unit_test(test_rows_that_the_terminal_broke),
		cmocka_unit_test(test_bullets),
		cmocka_unit_test(test_blinking_call),
		cmocka_unit_test(test_placeholder_is_dim),
		cmocka_unit_test(test_boxed_permission),
		cmocka_unit_test(test_error_below_prompt),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_unmarked_queue),
		cmocka_unit_test(test_what_it_cost),
		cmocka_unit_test(test_hook_failed),
		cmocka_unit_test(test_compacted_between_lines),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
