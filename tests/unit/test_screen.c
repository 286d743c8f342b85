#include "test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen.h"
#include "base/buf.h"
#include "conversation/conversation.h"

#define NB "\xC2\xA0"
#define RULE40 "────────────────────────────────────────\n"
#define BANNER                                                                                               \
	" ▐▛███▜▌   Claude Code v2.1.197\n▝▜█████▛▘  Opus 4.8 · API Usage Billing\n  ▘▘ ▝▝    "              \
	"/home/u/proj\n\n\n"
#define BOX RULE40 "❯" NB "\n" RULE40 "  ? for shortcuts\n"

static struct conversation
read_text(const char *text, int width)
{
	struct conversation c = CONVERSATION_INIT;

	screen_read_bytes(text, strlen(text), NULL, width, "claude", &c);
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
test_versions(void **state)
{
	const char *old = " * ▐▛███▜▌ *   Claude Code v2.0.76\n\nI use Claude Code v9.9.9\n";

	(void)state;
	assert_int_equal(grammar_version("2.1.197 x", 9), 2001197);
	assert_int_equal(grammar_version("x", 1), 0);
	assert_int_equal(grammar_find_version(BANNER, strlen(BANNER)), 2001197);
	assert_int_equal(grammar_find_version(old, strlen(old)), 2000076);
	assert_null(grammar_new("opencode", 0));
}

static void
test_rows_by_version(void **state)
{
	struct grammar *new = grammar_new("claude", 2001197), *old = grammar_new("claude", 2000076);

	(void)state;
	assert_int_equal(grammar_row(new, "❯ hi", strlen("❯ hi"), NULL), ROW_PROMPT);
	assert_int_equal(grammar_row(new, "> hi", 4, NULL), ROW_STRAY);
	assert_int_equal(grammar_row(old, "> hi", 4, NULL), ROW_PROMPT);
	assert_int_equal(grammar_row(new, "❯" NB "hi", strlen("❯" NB "hi"), NULL), ROW_BOX);
	assert_int_equal(grammar_row(new, "  ⎿ " NB "x", strlen("  ⎿ " NB "x"), NULL), ROW_RESULT);
	assert_int_equal(grammar_row(new, "  ⎿  x", strlen("  ⎿  x"), NULL), ROW_BODY);
	assert_int_equal(grammar_row(new, "", 0, NULL), ROW_BLANK);
	grammar_free(new);
	grammar_free(old);
}

static void
test_prompt_keeps_its_shape(void **state)
{
	struct conversation c =
	    read_text(BANNER "❯ first\n    indented\n\n  last\n\n! make\n  ⎿ " NB "ok\n\n● Yes.\n\n" BOX, 40);

	(void)state;
	assert_int_equal(c.n, 5);
	check(&c, 0, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL,
	    "Claude Code v2.1.197\nOpus 4.8 · API Usage Billing\n/home/u/proj");
	check(&c, 1, ROLE_USER, STATUS_COMPLETE, NULL, NULL, "first\n  indented\n\nlast");
	check(&c, 2, ROLE_USER, STATUS_COMPLETE, NULL, NULL, "! make");
	check(&c, 3, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, "ok");
	check(&c, 4, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL, "Yes.");
	assert_null(c.draft);
	assert_int_equal(c.unknown_lines, 0);
	assert_int_equal(c.truncated_at, -1);
	conversation_release(&c);
}

/* 40 columns: "word" had no room behind 37 columns; "if" had, so that break is the model's own. */
static void
test_wrapped_rows(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n"
		"● one two three four five six seven ei\n  word and so on\n\n"
		"  - item that is as long as the pane is\n  wide, and more\n  - second\n\n"
		"  int f(void);\n  if this is short it stays\n\n"
		"  https://example.com/aaaaaaaaaaaaaaaaaa\n  bbbbbbbbbbbb end\n\n"
		"  日本語のテストのテストのテストのテスト\n  です。\n\n" BOX, 40);

	(void)state;
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL,
		"one two three four five six seven ei word and so on\n\n"
		"- item that is as long as the pane is wide, and more\n- second\n\n"
		"int f(void);\nif this is short it stays\n\n"
		"https://example.com/aaaaaaaaaaaaaaaaaabbbbbbbbbbbb end\n\n"
		"日本語のテストのテストのテストのテストです。");
	conversation_release(&c);
}

static void
test_calls(void **state)
{
	struct conversation c = read_text(BANNER
	    "❯ go\n\n"
	    "● Bash(make)\n  ⎿ " NB "Error: Exit code 2\n     no rule\n\n"
	    "● Bash(cat > x <<'E'\n      two…)\n  ⎿ " NB "(No output)\n\n"
	    "  Searched for 1 pattern, read 3 files\n  (ctrl+o to expand)\n\n"
	    "  Thought for 3s (ctrl+o to expand)\n\n"
	    "● Sum(a, b) is a function.\n\n"
	    "● my-agent(look)\n  ⎿ " NB "Done\n\n"
	    "● Bash(sleep 9)\n  ⎿ " NB "Interrupted · What should Claude do instead?\n\n"
	    "❯ again\n\n"
	    "● Update(a.c)\n\n"
	    "❯ more\n\n"
	    "  Bash(sleep 100)\n  ⎿ " NB "Running… (4s)\n     (ctrl+b ctrl+b (twice) to run in "
					 "background)\n\n"
	    "✶ Frolicking… (4s · ↓ 40 tokens)\n  ⎿ " NB "Tip: words\n     more words\n\n" BOX,
	    40);

	(void)state;
	check(&c, 2, ROLE_ASSISTANT, STATUS_FAILED, "Bash", "make", "Error: Exit code 2\nno rule");
	check(&c, 3, ROLE_ASSISTANT, STATUS_COMPLETE, "Bash", "cat > x <<'E'\ntwo…", "(No output)");
	check(&c, 4, ROLE_ASSISTANT, STATUS_COMPLETE, "Search", NULL, "Searched for 1 pattern, read 3 files");
	check(&c, 5, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL, "Sum(a, b) is a function.");
	check(&c, 6, ROLE_ASSISTANT, STATUS_COMPLETE, "my-agent", "look", "Done");
	check(&c, 7, ROLE_ASSISTANT, STATUS_FAILED, "Bash", "sleep 9",
	    "Interrupted · What should Claude do instead?");
	check(&c, 9, ROLE_ASSISTANT, STATUS_INTERRUPTED, "Update", "a.c", "");
	check(&c, 11, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "sleep 100", "");
	assert_int_equal(c.n, 12);
	conversation_release(&c);
}

static void
test_dialog(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● Bash(rm x)\n  ⎿ " NB "Waiting…\n\n" RULE40
						 " Bash command\n\n   rm x\n\n"
						 " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to "
						 "cancel\n\nPane is dead (signal 9, now)\n",
	    40);

	(void)state;
	assert_int_equal(c.n, 3);
	check(&c, 2, ROLE_ASSISTANT, STATUS_WAITING, "Bash", "rm x", "");
	assert_string_equal(c.question,
	    "Bash command\n\n  rm x\n\nDo you want to proceed?\n❯ 1. Yes\n  2. No\n\nEsc to cancel");
	conversation_release(&c);
	c = read_text(BANNER "❯ go\n\n● Words.\n" RULE40 "☐ Colour\n\nWhich?\n\n❯ 1. red\n  2. blue\n" RULE40
			     "  3. Chat\n\nEnter to select\n",
	    40);
	check(&c, 3, ROLE_ASSISTANT, STATUS_WAITING, "AskUserQuestion", NULL, "");
	assert_non_null(strstr(c.question, "Which?"));
	conversation_release(&c);
}

static void
test_head_before_a_row_that_changes(void **state)
{
	struct conversation c =
	    read_text(BANNER "❯ go\n\n● Bash(x)\n           Claude Code v2.1.1\n\n" BOX, 40);

	(void)state;
	check(&c, 2, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "x", "");
	assert_int_equal(c.unknown_lines, 1);
	conversation_release(&c);
}

/* 30 columns: what the program says of itself is broken too. */
static void
test_narrow_pane(void **state)
{
	struct conversation c =
	    read_text("           Claude Code v2.1.197\n ▐▛███▜▌   Opus 4.8\n▝▜█████▛▘  API Usage\n  ▘▘ ▝▝   "
		      " /home/u\n\n\n❯ go\n\n"
		      "● ab abab ababab ab abab ababa\n  ababab ab abab ababab ab\n  abab end\n\n"
		      "● Bash(make)\n  ⎿ " NB "step 5\n     +4 lines (7s)\n     (ctrl+b ctrl+b (twice)\n     "
					      "to run in background)\n\n"
		      "· Working… (7s)\n\n──────────────────────────────\n❯" NB "\n──────────────────────────"
										"────\n  esc to interrupt\n\n"
		      "Pane is dead (signal 9, Sat No\n",
		30);

	(void)state;
	assert_string_equal(c.banner, "2.1.197");
	assert_int_equal(c.unknown_lines, 0);
	assert_int_equal(c.n, 4);
	check(&c, 0, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL,
	    "Claude Code v2.1.197\nOpus 4.8\nAPI Usage\n/home/u");
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL,
	    "ab abab ababab ab abab ababa ababab ab abab ababab ab abab end");
	check(&c, 3, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "make", "step 5\n+4 lines (7s)");
	conversation_release(&c);
}

static void
test_answers(void **state)
{
	struct conversation c = read_text(BANNER
	    "❯ go\n\n●" NB "User answered Claude's questions:\n  ⎿ " NB "· Which? → red\n\n"
	    "● Here is my plan.\n  ⎿ " NB "User rejected Claude's plan:\n     ╭──╮\n     │ P│\n     ╰──╯\n\n"
	    "●" NB "User declined to answer questions\n\n" BOX,
	    40);

	(void)state;
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, "AskUserQuestion", NULL,
	    "User answered Claude's questions:\n· Which? → red");
	check(&c, 4, ROLE_ASSISTANT, STATUS_FAILED, "ExitPlanMode", NULL,
	    "User rejected Claude's plan:\n╭──╮\n│ P│\n╰──╯");
	check(&c, 5, ROLE_ASSISTANT, STATUS_FAILED, "AskUserQuestion", NULL,
	    "User declined to answer questions");
	conversation_release(&c);
}

static void
test_box(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● Half an ans\n\n  ❯ queued one\n  ❯ queued two\n  "
						 "  second line\n" RULE40 "❯" NB "not sent yet\n  and "
										 "more\n" RULE40
						 "  ⏵⏵ bypass permissions on · esc to interrupt\n  ● main\n  "
						 "◯ Explore  Count\n",
	    40);

	(void)state;
	assert_int_equal(c.n, 5);
	check(&c, 2, ROLE_ASSISTANT, STATUS_RUNNING, NULL, NULL, "Half an ans");
	check(&c, 3, ROLE_USER, STATUS_WAITING, NULL, NULL, "queued one");
	check(&c, 4, ROLE_USER, STATUS_WAITING, NULL, NULL, "queued two\nsecond line");
	assert_string_equal(c.draft, "not sent yet\nand more");
	assert_string_equal(conversation_last_user(&c), "queued two\nsecond line");
	conversation_release(&c);
	c = read_text(BANNER "❯ go\n\n● Yes.\n\n" RULE40 "❯" NB "Try \"edit <filepath> to...\"\n" RULE40, 40);
	assert_null(c.draft);
	conversation_release(&c);
}

static void
test_limits(void **state)
{
	static const char *const words[] = { "You've hit your session limit · resets 7pm",
		"OAuth token has expired", "Invalid API key · Please run /login",
		"API Error: Rate limit reached", "Credit balance is too low" };

	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		char *text = xasprintf(BANNER "❯ go\n\n● %s\n\n" BOX, words[i]);
		struct conversation c = read_text(text, 80);

		if (!c.limit)
			fail_msg("%s: no limit", words[i]);
		check(&c, 2, ROLE_SYSTEM, STATUS_FAILED, NULL, NULL, words[i]);
		conversation_release(&c);
		free(text);
		text = xasprintf(BANNER "❯ %s\n\n● The log says: %s\n\n● Bash(cat log)\n  ⎿ " NB "%s\n\n" BOX,
		    words[i], words[i], words[i]);
		c = read_text(text, 80);
		assert_false(c.limit);
		conversation_release(&c);
		free(text);
	}
}

static void
test_farewell_and_what_follows(void **state)
{
	struct conversation c = read_text("$ claude\n❯ a prompt of the shell\n" BANNER
					  "❯ go\n\n● Yes.\n\n" BOX "\nResume this session with:\n"
					  "claude --resume 89e18f7a-3284-40bf-9ab3-27efb452cc28\n$ ls\n",
	    40);

	(void)state;
	assert_true(c.farewell);
	assert_string_equal(c.resume_id, "89e18f7a-3284-40bf-9ab3-27efb452cc28");
	check(&c, 0, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, "$ claude\n❯ a prompt of the shell");
	check(&c, c.n - 1, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, "$ ls");
	assert_int_equal(c.unknown_lines, 3);
	assert_string_equal(conversation_last_user(&c), "go");
	conversation_release(&c);
	c = read_text(BANNER "❯ go\n\nResume this session with:\nclaude --resume "
			     "89e18f7a-3284-40bf-9ab3-27efb452cc28\n" BANNER "❯ on\n\n● Yes.\n\n" BOX,
	    40);
	assert_false(c.farewell);
	assert_null(c.resume_id);
	conversation_release(&c);
}

static void
test_raw_when_in_doubt(void **state)
{
	struct conversation c = read_text("just\nsome text\n\n", 0);

	(void)state;
	assert_int_equal(c.n, 1);
	check(&c, 0, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, "just\nsome text");
	assert_int_equal(c.unknown_lines, 2);
	conversation_release(&c);
	screen_read_bytes(BANNER, strlen(BANNER), NULL, 0, "another", &c);
	assert_int_equal(c.n, 1);
	conversation_release(&c);
	c = read_text("  end of an answer.\n\n✻ Worked for 3s\n\n❯ go\n\n???\n\n● Yes.\n\n" BOX, 0);
	assert_int_equal(c.truncated_at, 0);
	assert_int_equal(c.unknown_lines, 2);
	check(&c, 0, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, "  end of an answer.");
	check(&c, 2, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, "???");
	conversation_release(&c);
	c = read_text("", 0);
	assert_int_equal(c.n, 0);
	conversation_release(&c);
}

static void
test_repaint(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n▝▜█████▛▘  Opus 4.8 · API Usage Billing\n  ▘▘ ▝▝    "
						 "/home/u/proj\n\n\n❯ go\n\n● Yes.\n\n" BOX,
	    40);

	(void)state;
	assert_int_equal(conversation_count(&c, ROLE_USER), 1);
	assert_int_equal(c.n, 3);
	conversation_release(&c);
	/* the same asked and answered twice is no repaint */
	c = read_text(
	    BANNER "❯ go\n\n● Yes.\n\n✻ Worked for 1s\n\n❯ go\n\n● Yes.\n\n✻ Worked for 1s\n\n" BOX, 40);
	assert_int_equal(conversation_count(&c, ROLE_USER), 2);
	assert_int_equal(conversation_count(&c, ROLE_ASSISTANT), 2);
	conversation_release(&c);
	/* nor is a verse that comes back */
	c = read_text(BANNER "❯ sing\n\n● la la la\n\n  la la la\n\n  la la la\n\n  end\n\n" BOX, 40);
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL, "la la la\n\nla la la\n\nla la la\n\nend");
	conversation_release(&c);
}

static void
test_repaint_at_another_width(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● Alpha one two three four five six seven\n  eight "
						 "nine ten.\n\n"
						 "  Beta one two three four five six seven\n  eight nine "
						 "ten.\n\n  Gamma one two three four five six seven\n  eight "
						 "nine ten.\n\n"
						 "  eight nine ten.\n\n  Beta one two three four five\n  six "
						 "seven eight nine ten.\n\n  Gamma one two three four five\n"
						 "  six seven eight nine ten.\n\n  Delta.\n\n" BOX,
	    40);
	const char *p = c.v[2].content, *beta = strstr(p, "Beta");

	(void)state;
	assert_non_null(beta);
	assert_null(strstr(beta + 1, "Beta"));
	assert_non_null(strstr(p, "Alpha"));
	assert_non_null(strstr(p, "Gamma"));
	assert_non_null(strstr(p, "Delta."));
	conversation_release(&c);
}

static size_t
kept(const char *text)
{
	return screen_without_shell(text, strlen(text), 40);
}

static void
test_without_shell(void **state)
{
	const char *head = BANNER "❯ go\n\n● Yes.\n\n" RULE40 "❯" NB, *two = "\n  second line ";
	static const char *const tails[] = {
		"Killed\ndemo$ ────────────────────────\n  ? for shortcuts\n",
		"bash: line 1: 17285 Killed         claude\nu@h:~$ ───────────────\nu@h:~$ ls\na b\n",
		"/bin/bash: line 1: 20249 Killed claude --resume\n0<&3 3>&-────────────────\n  ⏵⏵ bypass "
		"permissions on\n",
		"\n  second line /bin/bash: line 1: 20 Killed claude\n0<&3────────────────\n",
		"zsh: killed     claude\nh% ───────────────\n",
		"Killed                     bash claude.sh --resume\ndemo$ ─────────\n",
		"Segmentation fault         (core dumped) claude\ndemo$ ─────────\n",
		"Segmentation fault (core dumped)\n$ ls ─────────────\nx\n",
		"user@host:~$ make\ncc ───────────────────\n",
	};
	static const char *const whole[] = {
		BANNER "❯ go\n\n● Killed\n\n" RULE40 "❯" NB "find out why it was Killed\n" RULE40
		       "  ? for shortcuts\n\nPane is dead (signal 9, now)\n",
		BANNER "❯ go\n\n● Yes.\n\n" BOX,
		"no agent here\n$ \n",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
		for (int draft = 0; draft < 2; draft++) {
			const char *typed = draft == 0 ? "" : "half a thought ";
			char *text = xasprintf("%s%s%s", head, typed, tails[i]);

			if (kept(text) != strlen(head) + strlen(typed) + (*tails[i] == '\n' ? strlen(two) : 0))
				fail_msg("\"%s\" leaves \"%s\"", tails[i], text + strlen(head));
			free(text);
		}
	for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
		assert_int_equal(kept(whole[i]), strlen(whole[i]));
}

static void
test_without_shell_elsewhere(void **state)
{
	const char *farewell = BANNER "❯ go\n\n● Yes.\n\n" BOX "\nResume this session with:\nclaude --resume "
							       "abc-1";
	const char *dialog = BANNER "❯ go\n\n● Bash(rm x)\n  ⎿ " NB "Waiting…\n\n" RULE40 " Bash command\n\n "
											  "Do you want to "
											  "proceed?\n";
	char *text = xasprintf("%s\ndemo$ ls\n", farewell);

	(void)state;
	assert_int_equal(kept(text), strlen(farewell));
	free(text);
	text = xasprintf("%s\n\nPane is dead (status 0, now)\n", farewell);
	assert_int_equal(kept(text), strlen(text));
	free(text);
	text = xasprintf("%s Killed. Yes\ndemo$ 2. No\n", dialog);
	assert_int_equal(kept(text), strlen(dialog));
	free(text);
}

/*
 * The agent's own report of its crash, from the caret in the box on: it is what the system said last,
 * and no one's draft. 2.1.197 and 2.1.330 (their runtime's), and an error that nobody caught.
 */
static void
test_report_of_a_crash(void **state)
{
	const char *head = BANNER "❯ go\n\n● Yes.\n\n" RULE40;
	static const struct {
		const char *screen, *draft, *report;
	} cases[] = {
		{ "❯" NB "my draft============================================================\n"
		  "Bun v1.4.0 (63bb0ca0d) Linux x64────────\nLinux Kernel v6.18\n\n"
		  "panic(main thread): Segmentation fault\noh no: Bun has crashed.\n",
		    "my draft",
		    "============================================================\n"
		    "Bun v1.4.0 (63bb0ca0d) Linux x64\nLinux Kernel v6.18\n\n"
		    "panic(main thread): Segmentation fault\noh no: Bun has crashed." },
		{ "❯" NB "/opt/claude/cli.js:4711\n        throw new "
		  "TypeError(\"wombat\");────────\n"
		  "        ^ss permissions on\n\nTypeError: wombat\n    at render "
		  "(cli.js:1:2)\n\nNode.js v20.1.0\n",
		    NULL,
		    "/opt/claude/cli.js:4711\n        throw new TypeError(\"wombat\");\n"
		    "        ^ss permissions on\n\nTypeError: wombat\n    at render "
		    "(cli.js:1:2)\n\n"
		    "Node.js v20.1.0" },
		/* below the box, with the shell's word behind it */
		{ "❯" NB "my draft\n" RULE40
		  "  ? for shortcuts\nTypeError: wombat\n    at render (cli.js:1:2)\n"
		  "u@h:~$ ls\n",
		    "my draft", "TypeError: wombat\n    at render (cli.js:1:2)" },
		/* a person's words, in a box that is whole */
		{ "❯" NB "mend TypeError: wombat\n      at render (cli.js:1:2)\n" RULE40
		  "  ? for shortcuts\n",
		    "mend TypeError: wombat\n    at render (cli.js:1:2)", NULL },
		{ "❯" NB "look into /opt/claude/cli.js:4711\n" RULE40 "  ? for shortcuts\n",
		    "look into /opt/claude/cli.js:4711", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *text = xasprintf("%s%s", head, cases[i].screen);
		struct conversation c = CONVERSATION_INIT;

		screen_read_bytes(text, screen_without_shell(text, strlen(text), 40), NULL, 40, "claude", &c);
		assert_int_equal(c.n, cases[i].report != NULL ? 4 : 3);
		if (cases[i].report != NULL)
			check(&c, 3, ROLE_SYSTEM, STATUS_FAILED, NULL, NULL, cases[i].report);
		if (cases[i].draft == NULL)
			assert_null(c.draft);
		else
			assert_string_equal(c.draft, cases[i].draft);
		conversation_release(&c);
		free(text);
	}
}

/*
 * After SIGSTOP and SIGCONT all is drawn again, from the caret in the box on; twice, and resized
 * between. What was typed there stands between the banner's words.
 */
static void
test_drawn_again_from_the_box(void **state)
{
	static const char talk[] =
	    "❯ go\n\n● Yes.\n\n● Bash(make)\n  ⎿ " NB "Running… (@s)\n\n✽ Brewing… (@s)\n\n";
	static const char below[] = "▝▜█████▛▘──Opus─4.8─·─API───────────────\n"
				    "  ▘▘ ▝▝pass/home/u/proj· esc to interrupt\n\n\n";
	static const char *const over[] = { "❯" NB " ▐▛███▜▌ Claude Code v2.1.197\n",
		"❯" NB "a ▐▛███▜▌Claude Code v2.1.197\n", "❯" NB "mind the ClaudesCode█v2.1.197\n",
		"❯" NB "mind the ClaudesCode v2.1.197ums ▐▛███▜▌\n",
		/* on the second row of the box, and behind its last column */
		"❯" NB "row one\n  mind the ClaudesCode v2.1.197ums\n",
		"❯" NB "mind the possums and the numbats ▐\n▛███▜▌─────Claude─Code─v2.1.197─────────\n" };

	(void)state;
	for (size_t k = 0; k < sizeof over / sizeof over[0]; k++) {
		struct conversation c = CONVERSATION_INIT;
		struct buf b = BUF_INIT;

		buf_fmt(&b,
		    BANNER "%s" RULE40 "%s%s%s" RULE40 "%s%s❯ go\n" BANNER "%s" RULE40 "%s%s%s" RULE40
			   "❯" NB "mind it\n" RULE40 "  ? for shortcuts\n",
		    talk, over[k], below, talk, over[k], below, talk, over[k], below, talk);
		for (size_t i = 0, n = 0; i < b.len; i++)
			if (b.data[i] == '@')
				b.data[i] = (char)('1' + n++ / 2);
		screen_read_bytes(b.data, b.len, NULL, 40, "claude", &c);
		assert_int_equal(c.n, 4);
		check(&c, 0, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL,
		    "Claude Code v2.1.197\nOpus 4.8 · API Usage Billing\n/home/u/proj");
		check(&c, 1, ROLE_USER, STATUS_COMPLETE, NULL, NULL, "go");
		check(&c, 3, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "make", "");
		assert_string_equal(c.draft, "mind it");
		assert_string_equal(c.banner, "2.1.197");
		conversation_release(&c);
		/* the first banner has left the history */
		buf_cut(&b, 0);
		buf_fmt(&b, RULE40 "%s%s%s" BOX, over[k], below, talk);
		screen_read_bytes(b.data, b.len, NULL, 40, "claude", &c);
		assert_int_equal(conversation_count(&c, ROLE_USER), 1);
		assert_string_equal(c.banner, "2.1.197");
		conversation_release(&c);
		buf_release(&b);
	}
}

/* A draft that names the program's version is no banner, whatever stands below it. */
static void
test_draft_with_the_banners_words(void **state)
{
	static const char *const words[] = { "mind the Claude Code v2.1.197", "Claude Code v2.1.197\n  is old" };

	(void)state;
	for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
		char *text = xasprintf(BANNER "❯ go\n\n● Yes.\n\n" RULE40 "❯" NB "%s\n" RULE40
					     "  ? for shortcuts\n",
		    words[k]);
		struct conversation c = read_text(text, 40);

		assert_int_equal(c.n, 3);
		assert_true(str_starts(c.draft, k == 0 ? words[k] : "Claude Code v2.1.197"));
		conversation_release(&c);
		free(text);
	}
}

/* What 2.1.197, 2.1.289 and 2.1.330 show of what died before --resume: no words of the model's. */
static void
test_notices_of_a_resume(void **state)
{
	static const char *const notices[] = {
		"Background agent \"Dig\" was running when the previous process exited.",
		"Background agent \"Dig\" didn't finish before the previous session ended",
		"Background shell command didn't finish before the previous session ended",
		"No completion record was found for this background shell command from the previous session.",
	};

	(void)state;
	for (size_t i = 0; i < sizeof notices / sizeof notices[0]; i++) {
		char *text = xasprintf(BANNER "❯ go\n\n● Yes.\n\n● %s\n\n" BOX, notices[i]);
		struct conversation c = read_text(text, 120);

		assert_int_equal(c.n, 4);
		check(&c, 3, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, notices[i]);
		conversation_release(&c);
		free(text);
	}
}

static void
test_shows_agent(void **state)
{
	const char *shell = "❯ ls\na b\n❯ ";

	(void)state;
	assert_true(screen_shows_agent(BANNER, strlen(BANNER), "claude"));
	assert_true(screen_shows_agent(BOX, strlen(BOX), "claude"));
	assert_false(screen_shows_agent(shell, strlen(shell), "claude"));
	assert_false(screen_shows_agent(BANNER, strlen(BANNER), "another"));
	assert_false(screen_shows_agent("", 0, "claude"));
}

/* Ten times the text may take ten times as long, with room for noise; a square would take a hundred times. */
static void
read_often(const char *piece, size_t times)
{
	struct conversation c = CONVERSATION_INIT;
	struct buf b = BUF_INIT;

	buf_str(&b, BANNER "❯ go\n\n● Yes.\n\n");
	for (size_t i = 0; i < times; i++)
		for (const char *p = piece; *p != '\0'; p++) {
			if (*p == '@')
				buf_fmt(&b, "%zu", i % 50);
			else
				buf_chr(&b, *p);
		}
	screen_read_bytes(b.data, screen_without_shell(b.data, b.len, 40), NULL, 40, "claude", &c);
	assert_true(c.n > 0);
	conversation_release(&c);
	buf_release(&b);
}

static void
test_gets_through_hostile_text(void **state)
{
	static const char *const pieces[] = { "✻ x…\n  ⎿ " NB "Tip @\n", "● Bash(x@\n", "\n  Read @ file",
		RULE40 "❯" NB "@\n", "❯ @. x\n", "\n\n  paragraph @ of the text that repeats itself",
		"● Bash(x@)\n  ⎿ " NB "Running…\n", "  3 tasks (@ done)\n",
		"               02:48 AM model-@\n",
		"               02:48 AM model-@\n● Same.\n     … +9 lines (ctrl+o to expand)\n" };

	(void)state;
	for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
		read_often(pieces[i], 20000);
}

#define BANNER330                                                                                            \
	" ▐▛███▛█   Claude Code v2.1.330\n▝▜██████▀  Opus 5.5 · API Usage Billing\n ▝▝   ▝▝   "              \
	"/home/u/proj\n\n\n"

/*
 * 2.1.330: prompts that wait look like those that were sent, but for the foot below the last; the
 * turn goes on.
 */
static void
test_queue_among_the_sent(void **state)
{
	struct conversation c = read_text(BANNER330 "❯ one\n\n● It works.\n\n✻ Baked for 1s · done 2:36 "
						    "AM\n\n❯ two\n\n● Bash(make)\n  ⎿ " NB "cc\n"
						    "     … +26 lines (6s)\n\n❯ three\n\n❯ four\n\n  more\n  "
						    "⎿  Queued · ctrl+x ctrl+s to send now\n\n✶ Brewing… "
						    "(9s)\n  ⎿  Tip: wait\n\n" BOX,
	    80);

	(void)state;
	assert_int_equal(c.n, 7);
	check(&c, 3, ROLE_USER, STATUS_COMPLETE, NULL, NULL, "two");
	check(&c, 4, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "make", "cc\n… +26 lines (6s)");
	check(&c, 5, ROLE_USER, STATUS_WAITING, NULL, NULL, "three");
	check(&c, 6, ROLE_USER, STATUS_WAITING, NULL, NULL, "four\n\nmore");
	assert_string_equal(conversation_last_user(&c), "four\n\nmore");
	conversation_release(&c);
	/* no answer has begun: the first one is at work */
	c = read_text(BANNER330 "❯ one\n\n● It works.\n\n✻ Baked for 1s · done 2:36 AM\n\n❯ two\n\n❯ three\n "
				" ⎿  Queued · ctrl+x ctrl+s to send now\n\n"
				"✶ Brewing… (9s)\n\n" BOX,
	    80);
	check(&c, 3, ROLE_USER, STATUS_COMPLETE, NULL, NULL, "two");
	check(&c, 4, ROLE_USER, STATUS_WAITING, NULL, NULL, "three");
	conversation_release(&c);
}

/* 2.1.289 and 2.1.310 have only the key below the last prompt that waits. */
static void
test_queue_289(void **state)
{
	struct conversation c = read_text(" ▐▛███▛█   Claude Code v2.1.289\n▝▜██████▀  Opus 5.5 · API Usage "
					  "Billing\n ▝▝   ▝▝   /home/u/proj\n\n\n"
					  "❯ run it\n\n● Working on it.\n\n  Bash(sleep 300)\n  ⎿ " NB
					  "Running… (8s)\n     (ctrl+b ctrl+b (twice) to run in background)\n\n"
					  "❯ about numbats\n\n❯ about wombats\n"
					  "  ctrl+x ctrl+s to send now\n\n✽ Synthesizing… (9s · ↓ 42 tokens)\n\n"
	    BOX,
	    80);

	(void)state;
	check(&c, 3, ROLE_ASSISTANT, STATUS_RUNNING, "Bash", "sleep 300", "");
	check(&c, 4, ROLE_USER, STATUS_WAITING, NULL, NULL, "about numbats");
	check(&c, 5, ROLE_USER, STATUS_WAITING, NULL, NULL, "about wombats");
	assert_int_equal(c.n, 6);
	conversation_release(&c);
}

/* A pasted picture is named below its prompt once more (2.1.197, 2.1.330). */
static void
test_image(void **state)
{
	struct conversation c = read_text(
	    "❯ [Image #1] what is this\n  ⎿ " NB "[Image #1]\n\n● A wombat.\n\n" RULE40 "❯" NB "\n" RULE40, 80);

	(void)state;
	check(&c, 0, ROLE_USER, STATUS_COMPLETE, NULL, NULL, "[Image #1] what is this");
	check(&c, 1, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL, "A wombat.");
	assert_int_equal(c.n, 2);
	conversation_release(&c);
}

/* 2.1.330: a notice of the model, the task panel and the agents below the box are nobody's words. */
static void
test_panels_330(void **state)
{
	struct conversation c = read_text(
	    " ▐▛███▛█   Claude Code v2.1.330\n▝▜██████▀  Sonnet 4.5 · API Usage Billing\n ▝▝   ▝▝   /home/u\n\n"
	    "⚠ Claude Sonnet 4.5 retires November 30, 2026 · /model to switch\n\n❯ start\n\n"
	    "● Monitor event: tick · watch the log\n\n● All started.\n\n"
	    "✻ Waiting for 1 background agent and 1 dynamic workflow to finish\n\n"
	    "  1/3 tasks done · 1 in progress\n  ◼ write the parser\n"
	    "  ◻ test the parser › blocked by #1\n  ✔ read the docs\n\n" RULE40 "❯" NB "\n" RULE40
	    "  ⏵⏵ bypass permissions on\n\n  ● main\n"
	    "  ◯ general-purpose  look for dead code       22s · ↑ 1.2k tokens\n"
	    "  ◯ audit-things     ▰▰▱▱  1/2 · 20s · ↓ 2.4k tokens\n",
	    80);

	(void)state;
	assert_int_equal(c.n, 4);
	check(&c, 1, ROLE_USER, STATUS_COMPLETE, NULL, NULL, "start");
	check(&c, 2, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, "Monitor event: tick · watch the log");
	check(&c, 3, ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL, "All started.");
	assert_string_equal(c.tasks,
	    "1/3 tasks done · 1 in progress\n◼ write the parser\n◻ test the parser › blocked by #1\n"
	    "✔ read the docs");
	assert_null(c.draft);
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);
}

static void
test_answers_330(void **state)
{
	struct conversation c = read_text(BANNER330
	    "❯ go\n\n● Answered Claude's questions:\n  ⎿ " NB "· Shall declined ones count? → No\n\n"
	    "● Declined to answer Claude's question\n\n● Unknown command: /nope\n\n● Yes.\n\n" BOX,
	    80);

	(void)state;
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, "AskUserQuestion", NULL,
	    "Answered Claude's questions:\n· Shall declined ones count? → No");
	check(&c, 3, ROLE_ASSISTANT, STATUS_FAILED, "AskUserQuestion", NULL,
	    "Declined to answer Claude's question");
	check(&c, 4, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, "Unknown command: /nope");
	conversation_release(&c);
}

/* A bullet without a word says nothing yet. */
/* What a service that knows the key no more, or wants no more of it, looks like: the end of the screen. */
static void
test_limits_as_drawn(void **state)
{
	static const struct { const char *rows; bool login;
	} drawn[] = {
		{ "❯ say hello\n  ⎿ " NB "Invalid API key · Fix external API key\n\n✻ Crunched for 2m "
					 "59s\n\n",
		    true },
		{ "❯ say hello\n\n● API Error: Request rejected (429) · This request would exceed your "
		  "account rate limit.\n\n",
		    false },
		{ "❯ say hello\n\n● Please run /login · API Error: 401 Unauthorized\n\n", true },
	};
	static const char *const none[] = {
		"❯ say hello\n\n● Bash(./login)\n  ⎿ " NB "Invalid API key · Fix external API key\n\n",
		"❯ say hello\n  ⎿ " NB "Invalid API key · Fix external API key\n\n❯ and now?\n\n● All is "
				       "well.\n\n",
		"❯ say hello\n\n● You've hit your session limit · resets 7pm\n\n● All is well.\n\n",
	};
	const char *retry = " ▐▛███▛█   Claude Code v2.1.330\n\n❯ say hello\n\n✻ 401 invalid x-api-key · "
			    "retrying in 18s · attempt 6/10\n\n" BOX;

	(void)state;
	for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++) {
		char *text = xasprintf(BANNER "%s" BOX, drawn[i].rows);
		struct conversation c = read_text(text, 40);

		if (!c.limit || screen_shows_login(text, strlen(text), "claude") != drawn[i].login)
			fail_msg("screen %zu: limit %d", i, c.limit);
		conversation_release(&c);
		free(text);
	}
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
		char *text = xasprintf(BANNER "%s" BOX, none[i]);
		struct conversation c = read_text(text, 40);

		if (c.limit)
			fail_msg("screen %zu shows no limit", i);
		conversation_release(&c);
		free(text);
	}
	assert_true(screen_shows_login(retry, strlen(retry), "claude"));
	assert_false(screen_shows_login(retry, strlen(retry), "gemini"));
}

static void
test_no_word_yet(void **state)
{
	struct conversation c = read_text(BANNER "❯ go on\n\n●\n\n✶ Brewing… (9s)\n\n" BOX, 80);

	(void)state;
	assert_int_equal(c.n, 2);
	check(&c, 1, ROLE_USER, STATUS_COMPLETE, NULL, NULL, "go on");
	conversation_release(&c);
}

/* The name of a server's tool has brackets of its own. */
static void
test_call_of_a_server(void **state)
{
	struct conversation c =
	    read_text(BANNER "❯ go\n\n● files - read (MCP)(path: \"a\")\n  ⎿ " NB "one\n\n● files - list "
			     "(MCP)\n  ⎿ " NB "two\n\n" BOX,
		80);

	(void)state;
	assert_int_equal(c.n, 4);
	check(&c, 2, ROLE_ASSISTANT, STATUS_COMPLETE, "files - read (MCP)", "path: \"a\"", "one");
	check(&c, 3, ROLE_ASSISTANT, STATUS_COMPLETE, "files - list (MCP)", NULL, "two");
	conversation_release(&c);
}

/* A narrow pane breaks the row in which tmux says that it is dead: its rest is no dialog and no text. */
static void
test_dialog_of_a_dead_pane(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● Bash(rm x)\n  ⎿ " NB "Waiting…\n\n" RULE40
						 " Bash command\n\n   rm x\n\n Do you want to proceed?\n ❯ 1. "
						 "Yes\n   2. No\n\n Esc to cancel\n\nPane is dead (signal 9, "
						 "Sun Nov 22 02:03:48\n 2026)\n",
	    40);

	(void)state;
	assert_string_equal(c.question,
	    "Bash command\n\n  rm x\n\nDo you want to proceed?\n❯ 1. Yes\n  2. No\n\nEsc to cancel");
	check(&c, 2, ROLE_ASSISTANT, STATUS_WAITING, "Bash", "rm x", "");
	assert_int_equal(c.n, 3);
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);
}

/* Whatever a shell wrote over the box's lower rule: the rows of the box's own below are no draft. */
static void
test_draft_in_a_torn_box(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● Yes.\n\n" RULE40 "❯" NB "rename the wombat\n"
						 "  table\n  ⏵⏵ bypass permissions on (shift+tab)\n",
	    40);

	(void)state;
	assert_string_equal(c.draft, "rename the wombat\ntable");
	conversation_release(&c);
	c = read_text(BANNER "❯ go\n\n● Yes.\n\n" RULE40 "❯" NB "my words\n  0<&3 3>&-──────────────\n"
			     "  ⏵⏵ bypass permissions on (shift+tab)\n",
	    40);
	assert_string_equal(c.draft, "my words");
	conversation_release(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_draft_in_a_torn_box),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_rows_by_version),
		cmocka_unit_test(test_prompt_keeps_its_shape),
		cmocka_unit_test(test_wrapped_rows),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_dialog),
		cmocka_unit_test(test_head_before_a_row_that_changes),
		cmocka_unit_test(test_narrow_pane),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_box),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_farewell_and_what_follows),
		cmocka_unit_test(test_raw_when_in_doubt),
		cmocka_unit_test(test_repaint),
		cmocka_unit_test(test_repaint_at_another_width),
		cmocka_unit_test(test_without_shell),
		cmocka_unit_test(test_without_shell_elsewhere),
		cmocka_unit_test(test_report_of_a_crash),
		cmocka_unit_test(test_drawn_again_from_the_box),
		cmocka_unit_test(test_draft_with_the_banners_words),
		cmocka_unit_test(test_notices_of_a_resume),
		cmocka_unit_test(test_shows_agent),
		cmocka_unit_test(test_gets_through_hostile_text),
		cmocka_unit_test(test_queue_among_the_sent),
		cmocka_unit_test(test_limits_as_drawn),
		cmocka_unit_test(test_queue_289), cmocka_unit_test(test_panels_330),
		cmocka_unit_test(test_queue_289),
		cmocka_unit_test(test_image),
		cmocka_unit_test(test_panels_330),
		cmocka_unit_test(test_answers_330),
		cmocka_unit_test(test_no_word_yet),
		cmocka_unit_test(test_call_of_a_server),
		cmocka_unit_test(test_dialog_of_a_dead_pane),
	};

	setlocale(LC_CTYPE, "C.UTF-8");	/* as main does: widths of runes come from the C library */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
