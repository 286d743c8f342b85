#include "test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "conversation/conversation.h"
#include "screen/screen.h"

/* Repaints, and what a pane that was wider or narrower leaves; lines that only their neighbours tell. */

#define NB "\xC2\xA0"
#define BANNER                                                                                               \
	" ▐▛███▜▌   Claude Code v2.1.197\n▝▜█████▛▘  Opus 4.8 · API Usage Billing\n  ▘▘ ▝▝    "              \
	"/home/u/proj\n\n\n"
#define RULE40 "────────────────────────────────────────\n"
#define BOX RULE40 "❯" NB "\n" RULE40 "  ? for shortcuts\n"

static struct conversation
read_text(const char *text, int width)
{
	struct conversation c = CONVERSATION_INIT;

	screen_read_bytes(text, strlen(text), NULL, width, "claude", &c);
	return c;
}

static void
check(const struct conversation *c, size_t i, enum role role, const char *content)
{
	assert_true(i < c->n);
	assert_string_equal(c->v[i].content, content);
	assert_int_equal(c->v[i].role, role);
}

/*
 * tmux broke rows of 60 columns at 40: after a blank, in the middle of a word, with the blank in
 * front of the rest.
 */
static void
test_rows_that_tmux_broke(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● aaaa bbbb cccc dddd eeee ffff gggg hhh\n iiii "
						 "jjjj kkkk llll mm\n"
						 "  nnnn oooo pppp qqqq rrrr ssss tttt uu\nvvvv wwww xxxx "
						 "yyyy zz\n  end of the paragraph\n\n" BOX,
	    40);

	(void)state;
	assert_int_equal(c.n, 3);
	check(&c, 2, ROLE_ASSISTANT,
	    "aaaa bbbb cccc dddd eeee ffff gggg hhh iiii jjjj kkkk llll mm nnnn oooo pppp qqqq rrrr ssss "
	    "tttt uu "
	    "vvvv wwww xxxx yyyy zz end of the paragraph");
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);
}

/*
 * What stood above a repaint was broken for a pane of 40 columns, now it has 60: its paragraphs
 * are joined by its own width.
 */
static void
test_joined_at_the_width_of_its_time(void **state)
{
	static const char screen[] = "❯ second question\n\n● item alpha one\n\n  item bravo two\n\n  item "
				     "charlie three\n\n  item delta four\n\n"
				     "  item echo five\n\n  item foxtrot six\n\n  item golf seven\n\n  item "
				     "hotel eight\n\n  item india nine\n\n  item juliet ten\n\n";
	struct buf b = BUF_INIT;
	struct conversation c;

	(void)state;
	buf_fmt(&b,
	    "%s❯ first\n\n● aaaa bbbb cccc dddd eeee ffff gggg hhhh\n  iiii jjjj kkkk llll mmmm nnnn oooo "
	    "pppp\n"
	    "  qqqq rrrr ssss tttt uuuu vvvv wwww xxxx\n  yyyy zzzz\n\n%s%s%s",
	    BANNER, screen, screen,
	    "❯ third\n\n● Yes.\n\n"
	    "────────────────────────────────────────────────────────────\n❯" NB "\n"
	    "────────────────────────────────────────────────────────────\n  ? for shortcuts\n");
	c = read_text(b.data, 60);
	assert_int_equal(conversation_count(&c, ROLE_USER), 3);
	assert_int_equal(conversation_count(&c, ROLE_ASSISTANT), 3);
	check(&c, 2, ROLE_ASSISTANT,
	    "aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj kkkk llll mmmm nnnn oooo pppp qqqq rrrr ssss "
	    "tttt uuuu "
	    "vvvv wwww xxxx yyyy zzzz");
	conversation_release(&c);
	buf_release(&b);
}

/*
 * After /compact the last screenful is painted from the top of the pane, below the rows that had
 * scrolled out and some blank ones.
 */
static void
test_repaint_below_a_wide_gap(void **state)
{
	struct conversation c = read_text(BANNER "❯ rivers?\n\n● First about rivers\n  that are long.\n\n  "
						 "Second about rivers\n  that are long.\n\n\n\n"
						 "● First about rivers\n  that are long.\n\n  Second about "
						 "rivers\n  that are long.\n\n  Third.\n\n✻ Worked for "
						 "2s\n\n" BOX,
	    40);

	(void)state;
	assert_int_equal(conversation_count(&c, ROLE_ASSISTANT), 1);
	check(&c, 2, ROLE_ASSISTANT,
	    "First about rivers\nthat are long.\n\nSecond about rivers\nthat are long.\n\nThird.");
	conversation_release(&c);
}

/*
 * What had scrolled out ends in the middle of a sentence; of the repaint the first row is the end
 * of an older turn.
 */
static void
test_repaint_of_what_broke_off(void **state)
{
	static const char half[] = "✻ Worked for 2s\n\n❯ lakes?\n\n● First of the lakes is quite a deep "
				   "one\n  to swim in.\n\n"
				   "  Second of the lakes is as deep as that\n  one.\n\n  Third of the lakes "
				   "is quite a cold one\n";
	struct buf b = BUF_INIT;
	struct conversation c;

	(void)state;
	buf_fmt(&b, "%s❯ rivers?\n\n● Long.\n\n%s  all winter.\n\n%s  all winter.\n\n✻ Worked for 3s\n\n%s",
	    BANNER, half, half, BOX);
	c = read_text(b.data, 44);
	assert_int_equal(conversation_count(&c, ROLE_USER), 3);	/* a whole answer may come twice */
	conversation_release(&c);
	b.len = 0;
	buf_fmt(&b, "%s❯ rivers?\n\n● Long.\n\n%s\n%s  all winter.\n\n✻ Worked for 3s\n\n%s", BANNER, half,
	    half, BOX);
	c = read_text(b.data, 44);
	assert_int_equal(conversation_count(&c, ROLE_USER), 2);
	assert_int_equal(conversation_count(&c, ROLE_ASSISTANT), 2);
	conversation_release(&c);
	buf_release(&b);
}

/* The rows that the repaint begins with had just scrolled out, down to the head of a call. */
static void
test_repaint_behind_a_head(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● Next.\n\n● Bash(seq 1 8)\n\n● Next.\n\n● "
						 "Bash(seq 1 8)\n  ⎿ " NB "1\n\n● Next.\n\n● Bash(seq 1 8)\n "
									  " ⎿ " NB "1\n\n● Yes.\n\n" BOX,
	    40);

	(void)state;
	assert_int_equal(c.n, 7);	/* the same call may be made again */
	check(&c, 2, ROLE_ASSISTANT, "Next.");
	check(&c, 3, ROLE_ASSISTANT, "1");
	check(&c, 5, ROLE_ASSISTANT, "1");
	conversation_release(&c);
}

/* A list that grows is told anew each time. */
static void
test_list_that_grows(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● Done:\n  - one\n  - two\n  - three\n  - four\n  "
						 "- five\n\n● Done:\n  - one\n  - two\n  - three\n  - four\n "
						 " - five\n"
						 "  - six\n\n" BOX,
	    40);

	(void)state;
	assert_int_equal(conversation_count(&c, ROLE_ASSISTANT), 2);
	conversation_release(&c);
}

static void
shell_screen(struct buf *b, const char *result)
{
	buf_str(b,
	    "❯ Hello?\n\n● Fine.\n\n✻ Brewed for 0s\n\n! echo hello\n  ⎿ " NB "hello\n\n● Yes.\n\n✻ Brewed "
									      "for 0s\n\n");
	buf_fmt(b, "! seq 1 60\n  ⎿ " NB "1\n     2\n     3\n%s\n", result);
}

/*
 * The result of a "!" command stands there whole while it runs, and folded when it has ended: one
 * screen, painted twice.
 */
static void
test_result_folded_at_the_repaint(void **state)
{
	struct buf b = BUF_INIT;
	struct conversation c;

	(void)state;
	buf_str(&b, BANNER);
	shell_screen(&b, "     4\n     5\n     6\n     7\n     8\n     9\n");
	shell_screen(&b, "     … +57 lines (ctrl+o to expand)\n");
	buf_str(&b, "● Ok.\n\n" BOX);
	c = read_text(b.data, 40);
	assert_int_equal(conversation_count(&c, ROLE_USER), 3);
	check(&c, 5, ROLE_ASSISTANT, "Yes.");
	conversation_release(&c);
	buf_release(&b);
}

/* The same command with another result was given twice. */
static void
test_the_same_command_again(void **state)
{
	static const char once[] = "! make\n  ⎿ " NB "one\n     two\n     three\n     four\n     five\n     "
						     "six\n     seven\n     eight\n     nine\n";
	struct buf b = BUF_INIT;
	struct conversation c;

	(void)state;
	buf_fmt(&b, "%s%s     ten\n\n● No.\n\n✻ Brewed for 1s\n\n%s     eleven\n\n● Yes.\n\n%s", BANNER, once,
	    once, BOX);
	c = read_text(b.data, 40);
	assert_int_equal(conversation_count(&c, ROLE_USER), 2);
	assert_int_equal(conversation_count(&c, ROLE_ASSISTANT), 2);
	conversation_release(&c);
	buf_release(&b);
}

static void
test_words_like_folded_lines(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● Rows:\n\n  Read 1 file (ctrl+o to expand)\n\n  "
						 "Thought for 3s (ctrl+o to expand)\n\n"
						 "  and the last words\n\n  Read 2 files (ctrl+o to "
						 "expand)\n\n● Done.\n\n" BOX,
	    60);

	(void)state;
	assert_int_equal(c.n, 5);
	check(&c, 2, ROLE_ASSISTANT,
	    "Rows:\n\nRead 1 file (ctrl+o to expand)\n\nThought for 3s (ctrl+o to expand)\n\nand the last "
	    "words");
	assert_true(c.v[3].folded);
	assert_int_equal(c.unknown_lines, 0);
	conversation_release(&c);
}

/* The fullscreen renderer names no key, and 2.1.330 tells what it is about instead of what runs. */
static void
test_folded_in_fullscreen(void **state)
{
	struct conversation c = read_text("\n  Ran 1 shell command · 1 failed\n\n● A step.\n\n  Listed 1 "
					  "directory, read 2 files\n\n● Ran 2 shell commands\n"
					  "  and then some.\n\n❯ go\n\n● Counting\n  ⎿  $ make all\n\n\n✶ "
					  "Musing… (0s · ↓ 8 tokens)\n\n" BOX,
	    60);
	struct conversation told =
	    read_text(BANNER "❯ go\n\n● Counting\n  ⎿  $ is what I saw.\n\n● Yes.\n\n" BOX, 60);

	(void)state;
	assert_int_equal(c.n, 6);
	check(&c, 0, ROLE_ASSISTANT, "Ran 1 shell command · 1 failed");
	assert_true(c.v[0].folded);
	check(&c, 2, ROLE_ASSISTANT, "Listed 1 directory, read 2 files");
	assert_true(c.v[2].folded);
	check(&c, 3, ROLE_ASSISTANT, "Ran 2 shell commands\nand then some.");
	assert_null(c.v[3].tool);
	check(&c, 5, ROLE_ASSISTANT, "Counting");
	assert_string_equal(c.v[5].tool, "Bash");
	assert_string_equal(c.v[5].input, "make all");
	assert_int_equal(c.v[5].status, STATUS_RUNNING);
	assert_int_equal(c.unknown_lines, 0);
	assert_null(told.v[2].tool);
	conversation_release(&c);
	conversation_release(&told);
}

static void
test_queue_with_blank_rows(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n● Half an ans\n\n  ❯ one\n  ❯ two\n    rows\n\n    "
						 "and a blank one\n  ❯ three\n" BOX,
	    60);

	(void)state;
	assert_int_equal(c.n, 6);
	check(&c, 3, ROLE_USER, "one");
	check(&c, 4, ROLE_USER, "two\nrows\n\nand a blank one");
	check(&c, 5, ROLE_USER, "three");
	assert_int_equal(c.v[4].status, STATUS_WAITING);
	conversation_release(&c);
}

/*
 * News under the banner, the answer of the program's own command, the transcript's view in the
 * box's place, a broken id.
 */
static void
test_the_programs_own_rows(void **state)
{
	struct conversation c = read_text(" ▐▛███▛█   Claude Code v2.1.330\n▝▜██████▀  Opus 5.5\n ▝▝   ▝▝   "
					  "/home/u\n\n"
					  "▎ Auto mode is new.\n▎ https://example.test\n\n"
					  "● Auto mode lets Claude handle permission prompts automatically — "
					  "Claude\n  checks.\n\n❯ /compact\n  ⎿  Compacted (ctrl+o to see "
					  "full summary)\n\n❯ go\n\n● Yes.\n\n" RULE40 "  Showing detailed "
										       "transcript · ctrl+o "
										       "to toggle\n",
	    40);
	struct conversation end = read_text("^[[O^[[I\n" BANNER "❯ go\n\n● Yes.\n\n"
	    "Resume this session with:\nclaude --resume 5ff47dea-e452-445e-8f3f-\n923cebd882a1\n", 40);

	(void)state;
	assert_int_equal(c.n, 6);
	assert_int_equal(c.v[1].role, ROLE_SYSTEM);
	check(&c, 2, ROLE_USER, "/compact");
	check(&c, 3, ROLE_SYSTEM, "Compacted (ctrl+o to see full summary)");
	assert_int_equal(c.unknown_lines, 0);
	assert_string_equal(end.resume_id, "5ff47dea-e452-445e-8f3f-923cebd882a1");
	assert_int_equal(end.unknown_lines, 0);
	conversation_release(&c);
	conversation_release(&end);
}

/* The view of Ctrl+O puts a stamp above each answer, which scrolls into the history. */
static void
test_stamps_of_the_view(void **state)
{
	struct conversation c = read_text(BANNER "❯ go\n\n               02:48 AM claude-opus-4-8\n● "
						 "Yes.\n\n  It was at 02:48 AM claude-opus\n\n" BOX,
	    40);

	(void)state;
	assert_int_equal(c.n, 3);
	check(&c, 1, ROLE_USER, "go");
	check(&c, 2, ROLE_ASSISTANT, "Yes.\n\nIt was at 02:48 AM claude-opus");
	conversation_release(&c);
}

/*
 * What of the view scrolled away stands where the history goes on: results in full, and answers
 * that stand above already.
 */
static void
test_rest_of_the_view(void **state)
{
	struct conversation c = read_text(BANNER
	    "❯ count\n\n● Bash(seq 1 9)\n  ⎿ " NB "1\n     2\n     3\n     … +6 lines (ctrl+o to expand)\n\n"
	    "● Nine.\n\n✻ Baked for 1s\n\n❯ oats\n\n● oats one two three four five six seven\n  eight nine "
	    "ten eleven twelve thirteen\n"
	    "     7\n     8\n     9\n\n               02:48 AM claude-opus-4-8\n● Nine.\n\n✻ Cooked for "
	    "1s\n\n❯ oats\n\n"
	    "  eight nine ten eleven twelve thirteen\n  fourteen\n\n✻ Baked for 1s\n\n" BOX,
	    40);

	(void)state;
	assert_int_equal(c.n, 6);
	check(&c, 3, ROLE_ASSISTANT, "Nine.");
	check(&c, 4, ROLE_USER, "oats");
	check(&c, 5, ROLE_ASSISTANT,
	    "oats one two three four five six seven eight nine ten eleven twelve thirteen fourteen");
	conversation_release(&c);
}

/* A repaint lost the rows between a prompt and its answer: colours tell where the prompt ends. */
static void
test_torn_prompt(void **state)
{
	static const char screen[] = BANNER "\033[48;5;237m❯ one\n  more\n\033[49m  - alpha\n  - bravo\n\n● "
					    "Yes.\n\n\033[48;5;237m❯ look at @a\033[49m\n"
					    "  ⎿  Read a (2 lines)\n\n" BOX;
	struct buf b = BUF_INIT;
	struct conversation c = CONVERSATION_INIT;
	struct sgr_rows *style;

	(void)state;
	buf_str(&b, screen);
	style = sgr_strip(&b);
	screen_read_bytes(b.data, b.len, style, 40, "claude", &c);
	assert_int_equal(c.n, 5);
	check(&c, 1, ROLE_USER, "one\nmore");
	check(&c, 2, ROLE_ASSISTANT, "- alpha\n- bravo");
	check(&c, 4, ROLE_USER, "look at @a\n⎿  Read a (2 lines)");
	conversation_release(&c);
	sgr_free(style);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_that_tmux_broke),
		cmocka_unit_test(test_stamps_of_the_view),
		cmocka_unit_test(test_rest_of_the_view),
		cmocka_unit_test(test_torn_prompt),
		cmocka_unit_test(test_joined_at_the_width_of_its_time),
		cmocka_unit_test(test_repaint_below_a_wide_gap),
		cmocka_unit_test(test_repaint_of_what_broke_off),
		cmocka_unit_test(test_repaint_behind_a_head),
		cmocka_unit_test(test_list_that_grows),
		cmocka_unit_test(test_result_folded_at_the_repaint),
		cmocka_unit_test(test_the_same_command_again),
		cmocka_unit_test(test_words_like_folded_lines),
		cmocka_unit_test(test_folded_in_fullscreen),
		cmocka_unit_test(test_queue_with_blank_rows),
		cmocka_unit_test(test_the_programs_own_rows),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
