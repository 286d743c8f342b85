#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "screen/screen.h"

static struct sgr_rows *
strip(const char *text, const char *want)
{
	struct buf b = BUF_INIT;
	struct sgr_rows *s;

	buf_str(&b, text);
	s = sgr_strip(&b);
	assert_string_equal(b.data, want);
	assert_int_equal(b.len, strlen(want));
	buf_release(&b);
	return s;
}

static void
test_nothing_to_tell(void **state)
{
	(void)state;
	assert_null(strip("", ""));
	assert_null(strip("plain\n\n text\n", "plain\n\n text\n"));
	/* NO_COLOR leaves the cursor of older versions */
	assert_null(strip("> \033[7m \033[0m\n", ">  \n"));
}

static void
test_sequences_go(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "\033]8;id=1;https://x.test/a\033\\link\033]8;;\033\\ end\n", "link end\n" },
		{ "\033]0;title\atext", "text" },
		{ "\033(B\033=a\033Pq#0\033\\b\016qqx\017c", "abqqxc" },
		{ "\033[38;2;1;2;3;4:3mx\033[?25l\033[2Ky\033[", "xy" },
		{ "\033[31", "" },
		{ "cut \033[38;5\nrow", "cut \nrow" },		/* a line end is never part of a sequence */
		{ "\033]8;;never ended\nnext\033", "8;;never ended\nnext" },
		{ "\033\033[31mr\033\xE2\x97\x8F", "r\xE2\x97\x8F" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		sgr_free(strip(cases[i].text, cases[i].want));
}

/* tmux writes only what changes, so a row may begin in the state in which the row above ended. */
static void
test_state_crosses_rows(void **state)
{
	struct sgr_rows *s = strip("\033[48;5;237m> "
				   "one\ntwo\n\nthree\n\033[49m\033[38;5;231m\xE2\x97\x8F\033[39m words\n",
	    "> one\ntwo\n\nthree\n\xE2\x97\x8F words\n");

	(void)state;
	assert_int_equal(s->n, 5);
	assert_int_equal(sgr_row(s, 0).marks, SGR_BACK);
	assert_int_equal(sgr_row(s, 1).marks, SGR_BACK);
	assert_int_equal(sgr_row(s, 2).marks, 0);
	assert_int_equal(sgr_row(s, 3).marks, SGR_BACK);
	assert_int_equal(sgr_row(s, 4).marks, 0);
	assert_int_equal(sgr_row(s, 4).bullet, BULLET_WORDS);
	assert_int_equal(sgr_row(s, 5).bullet, BULLET_UNKNOWN);
	assert_int_equal(sgr_row(NULL, 0).marks, 0);
	sgr_keep_head(s, 4);
	sgr_keep_tail(s, 3);
	assert_int_equal(s->n, 3);
	assert_int_equal(sgr_row(s, 2).marks, SGR_BACK);
	sgr_free(s);
}

static void
test_marks(void **state)
{
	struct sgr_rows *s = strip("\033[2m> asked\n\033[0m\033[32mo\033[39m "
				   "\033[1mBash\033[0m(x)\n\033[3mThinking\n\033[0m  \033[1mbold\033[22m "
				   "\033[2mdim\n",
	    "> asked\no Bash(x)\nThinking\n  bold dim\n");

	(void)state;
	assert_int_equal(sgr_row(s, 0).marks, SGR_DIM | SGR_TAIL_DIM);
	assert_int_equal(sgr_row(s, 1).marks, SGR_NAME_BOLD);
	assert_int_equal(sgr_row(s, 1).bullet, BULLET_OK);
	assert_int_equal(sgr_row(s, 2).marks, SGR_ITALIC);
	assert_int_equal(sgr_row(s, 3).marks, SGR_NAME_BOLD | SGR_TAIL_DIM);
	sgr_free(s);
}

/* The bullets of the themes dark, light and dark-ansi, of a screen with 8 and one with 2^24 colours. */
static void
test_bullets(void **state)
{
	static const struct {
		const char *sgr;
		enum bullet want;
	} cases[] = {
		{ "38;5;231", BULLET_WORDS }, { "38;5;114", BULLET_OK }, { "38;5;211", BULLET_FAILED },
		{ "38;5;246", BULLET_PENDING },
		{ "38;5;220", BULLET_ERROR },
		{ "38;5;16", BULLET_WORDS }, { "38;5;65", BULLET_OK }, { "38;5;131", BULLET_FAILED },
		{ "38;5;241", BULLET_PENDING }, { "97", BULLET_WORDS }, { "92", BULLET_OK },
		{ "91", BULLET_FAILED }, { "37", BULLET_PENDING }, { "93", BULLET_ERROR },
		{ "32", BULLET_OK }, { "95", BULLET_FAILED }, { "1;31", BULLET_FAILED },
		{ "38;5;244", BULLET_PENDING }, { "38;2;78;186;101", BULLET_OK },
		{ "38;2;255;107;128", BULLET_FAILED }, { "38:2::255:193:7", BULLET_ERROR },
		{ "38:2:255:193:7", BULLET_ERROR }, { "38:5:114", BULLET_OK },
		{ "38;2;153;153;153", BULLET_PENDING }, { "38;5;114;39", BULLET_UNKNOWN },
		{ "38;5", BULLET_UNKNOWN }, { "38;5;999", BULLET_UNKNOWN }, { "38", BULLET_UNKNOWN },
		{ "34", BULLET_UNKNOWN }, { "58;5;114", BULLET_UNKNOWN },
		{ "38;5;114;0", BULLET_UNKNOWN }, { "38;5;114;", BULLET_UNKNOWN },
		{ "48;5;114", BULLET_UNKNOWN }, { "38;5;99999999999999999999", BULLET_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *text = xasprintf("\033[3;%sm*", cases[i].sgr);
		struct sgr_rows *s = strip(text, "*");

		if (sgr_row(s, 0).bullet != cases[i].want)
			fail_msg("%s gives %d", cases[i].sgr, sgr_row(s, 0).bullet);
		sgr_free(s);
		free(text);
	}
}

static void
test_backgrounds(void **state)
{
	static const struct {
		const char *sgr;
		int want;
	} cases[] = {
		{ "40", SGR_BACK }, { "107", SGR_BACK }, { "48;5;237", SGR_BACK },
		{ "48;2;55;55;55", SGR_BACK }, { "48:2::55:55:55", SGR_BACK }, { "48;5;237;49", 0 },
		{ "38;5;48", 0 }, { "4:3", 0 }, { "38;2;40;41;2", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *text = xasprintf("\033[31m\033[%sm* x", cases[i].sgr);
		struct sgr_rows *s = strip(text, "* x");

		if (sgr_row(s, 0).marks != cases[i].want)
			fail_msg("%s gives %d", cases[i].sgr, sgr_row(s, 0).marks);
		sgr_free(s);
		free(text);
	}
}

/* Heads of string sequences that never end, on one row. */
static void
test_endless_heads(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < (size_t)1 << 19; i++)
		buf_str(&b, i % 3 == 0 ? "\033]8;" : i % 3 == 1 ? "\033[1;31" : "\033P");
	sgr_free(sgr_strip(&b));
	assert_null(memchr(b.data, '\033', b.len));
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_tell),
		cmocka_unit_test(test_sequences_go),
		cmocka_unit_test(test_state_crosses_rows),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_bullets),
		cmocka_unit_test(test_backgrounds),
		cmocka_unit_test(test_endless_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
