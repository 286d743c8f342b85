#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "config/toml.h"
#include "base/buf.h"
#include "base/err.h"

/* Each item as "section|key|value|type|line\n"; a key "stop" is refused. */
static int
note_item(void *arg, const struct toml_item *it, struct err *e)
{
	if (strcmp(it->key, "stop") == 0)
		return err_set(e, GT_USAGE, "config", "expected anything but stop");
	buf_fmt(arg, "%s|%s|%s|%c|%d\n", it->section, it->key, it->value, "sibfl"[it->type], it->line);
	return 0;
}

static bool
is_ours(const char *section)
{
	return strcmp(section, "recovery") == 0 || str_starts(section, "recovery.");
}

static void
expect(const char *text, const char *want)
{
	struct buf got = BUF_INIT;
	struct err e = ERR_INIT;

	if (toml_parse(text, strlen(text), "t", note_item, &got, &e) != 0)
		fail_msg("%s\n%s", text, e.msg);
	assert_string_equal(got.data, want);
	buf_release(&got);
}

static void
expect_ours(const char *text, const char *want)
{
	struct buf got = BUF_INIT;
	struct err e = ERR_INIT;

	if (toml_parse_some(text, strlen(text), "t", is_ours, note_item, &got, &e) != 0)
		fail_msg("%s\n%s", text, e.msg);
	assert_string_equal(got.data, want);
	buf_release(&got);
}

static void
expect_error_n(const char *text, size_t n, bool (*own)(const char *), const char *want)
{
	struct buf got = BUF_INIT;
	struct err e = ERR_INIT;

	if (toml_parse_some(text, n, "t", own, note_item, &got, &e) == 0)
		fail_msg("read without an error: %s\n%s", text, got.data);
	if (!str_starts(e.msg, want))
		fail_msg("%s\nwanted: %s\ngot:    %s", text, want, e.msg);
	assert_int_equal(e.code, GT_USAGE);
	buf_release(&got);
}

static void
expect_error(const char *text, const char *want)
{
	expect_error_n(text, strlen(text), NULL, want);
}

static void
test_example_of_the_design(void **state)
{
	(void)state;
	expect("[recovery]\n"
	       "enabled = true\n"
	       "auto_recover = false          # Auto-recover polecats on gt start?\n"
	       "max_context_lines = 10000     # ~120k tokens worth of scrollback\n"
	       "snapshot_interval = \"5m\"      # How often to snapshot (if enabled)\n"
	       "snapshot_dir = \".gt/snapshots\"\n"
	       "\n"
	       "[recovery.prompts]\n"
	       "# Customizable recovery prompt template\n"
	       "template = \"\"\"\n"
	       "You crashed mid-task. Here's your recent conversation context:\n"
	       "\n"
	       "{{.Scrollback}}\n"
	       "\n"
	       "Resume from where you left off.\n"
	       "\"\"\"\n",
	    "recovery|enabled|true|b|2\n"
	    "recovery|auto_recover|false|b|3\n"
	    "recovery|max_context_lines|10000|i|4\n"
	    "recovery|snapshot_interval|5m|s|5\n"
	    "recovery|snapshot_dir|.gt/snapshots|s|6\n"
	    "recovery.prompts|template|You crashed mid-task. Here's your recent conversation "
	    "context:\n\n{{.Scrollback}}\n\n"
	    "Resume from where you left off.\n|s|10\n");
}

static void
test_strings(void **state)
{
	(void)state;
	expect("a = \"\"\n", "|a||s|1\n");
	expect("a = ''", "|a||s|1\n");
	expect("a = \"x; y # z\" # c", "|a|x; y # z|s|1\n");
	expect("a = \"\\t\\\"\\\\\\u00e9\\U0001F600\"", "|a|\t\"\\\303\251\360\237\230\200|s|1\n");
	expect("a = 'C:\\n\"'", "|a|C:\\n\"|s|1\n");
	expect("a = '''\none 'two' ''three''\n'''''\nb = 1", "|a|one 'two' ''three''\n''|s|1\n|b|1|i|4\n");
	expect("a = \"\"\"\"\"\"\n", "|a||s|1\n");
	expect("a = \"\"\"x\"\"\"\"\"\n", "|a|x\"\"|s|1\n");
	expect("a = \"\"\"one \\\n\n   two\\n\"\"\"\nb = 1", "|a|one two\n|s|1\n|b|1|i|4\n");
	expect("a = \"\"\"\r\nx\r\ny\"\"\"\r\nb = 1\r\n", "|a|x\ny|s|1\n|b|1|i|4\n");
	/* What stock inih would take for keys and sections stays text. */
	expect("[p]\nt = \"\"\"\nenabled = false\n[recovery]\n; c\n# d\n\n  x: y\n\"\"\"\nu = 2\n",
	    "p|t|enabled = false\n[recovery]\n; c\n# d\n\n  x: y\n|s|2\np|u|2|i|10\n");
}

static void
test_numbers_and_booleans(void **state)
{
	(void)state;
	expect("a=0\nb=-17\nc=+1_000\nd=0xDEAD_beef\ne=0o17\nf=0b101\n",
	    "|a|0|i|1\n|b|-17|i|2\n|c|1000|i|3\n|d|3735928559|i|4\n|e|15|i|5\n|f|5|i|6\n");
	expect("a=9223372036854775807\nb=-9223372036854775808\n",
	    "|a|9223372036854775807|i|1\n|b|-9223372036854775808|i|2\n");
	expect("a=1.5\nb=-1_0.2_5e+3\nc=1e6\nd=inf\ne=-nan\n",
	    "|a|1.5|f|1\n|b|-10.25e+3|f|2\n|c|1e6|f|3\n|d|inf|f|4\n|e|-nan|f|5\n");
	expect("a = true\nb=false#c", "|a|true|b|1\n|b|false|b|2\n");
}

static void
test_keys_and_tables(void **state)
{
	(void)state;
	expect("  a = 1\n    b = 2\n\t[ x . 'y z' ]\n\tc.\"d:e\" = 3\n1-2_ = 4",
	    "|a|1|i|1\n|b|2|i|2\nx.y z.c|d:e|3|i|4\nx.y z|1-2_|4|i|5\n");
	expect("\xef\xbb\xbf" "a = 1", "|a|1|i|1\n");
	expect("[a.b]\nx=1\n[a]\ny=2\n[a.c]\nz=3\n", "a.b|x|1|i|2\na|y|2|i|4\na.c|z|3|i|6\n");
	expect("a.b = 1\na.c = 2\n", "a|b|1|i|1\na|c|2|i|2\n");
	expect("", "");
	expect("# only a comment", "");
}

static void
test_long_values_and_names(void **state)
{
	struct buf text = BUF_INIT, want = BUF_INIT, got = BUF_INIT;
	struct err e = ERR_INIT;

	(void)state;
	buf_fmt(&text, "[%0300d]\n%0200d = \"", 7, 8);
	buf_fmt(&want, "%0300d|%0200d|", 7, 8);
	for (int i = 0; i < 100000; i++) {
		buf_fmt(&text, "enabled = false %d ", i);
		buf_fmt(&want, "enabled = false %d ", i);
	}
	buf_str(&text, "\"\n");
	buf_str(&want, "|s|2\n");
	assert_int_equal(toml_parse(text.data, text.len, "t", note_item, &got, &e), 0);
	assert_string_equal(got.data, want.data);
	buf_release(&text);
	buf_release(&want);
	buf_release(&got);
}

static void
test_lists(void **state)
{
	(void)state;
	expect("a = []\nb = 1\n", "|a||l|1\n|b|1|i|2\n");
	expect("a = [\"\"]", "|a|\n|l|1\n");
	expect("a = [\"/x y\", '/z']  # c\n", "|a|/x y\n/z\n|l|1\n");
	expect("a = [ # c\r\n  \"]\",\n\n  '#' , # d\n]\nb = 1\n", "|a|]\n#\n|l|1\n|b|1|i|6\n");
}

static void
test_errors_name_file_line_and_expectation(void **state)
{
	(void)state;
	expect_error(
	    "a = 1\nb = task\n", "t:2: expected true, false, a number, or a string");
	expect_error("a = True", "t:1: expected true, false, a number");
	expect_error("a =\n", "t:1: the value is missing");
	expect_error("a\n", "t:1: expected = after the key");
	expect_error("= 1\n", "t:1: expected a key");
	expect_error("a = \"x\nb = \"y\"\n",
	    "t:1: the string that begins here is not closed; expected \" on the same line");
	expect_error("\na = \"\"\"x\nb = 1\n",
	    "t:2: the string that begins here is not closed; expected three times \"");
	expect_error("a = \"\"\"\n\n\\q\"\"\"", "t:3: unknown escape");
	expect_error("a = \"\\ud800\"", "t:1: \\u does not name a character");
	expect_error("a = \"\\u12g4\"", "t:1: expected 4 hexadecimal digits after \\u");
	expect_error("a = \"\\u0000\"", "t:1: a string cannot contain a NUL character");
	expect_error("a = \"\x01\"", "t:1: control character 0x01 in a string");
	expect_error("# \x07\n", "t:1: control character 0x07 in a comment");
	expect_error("a = \"\xff\"", "t:1: the string is not valid UTF-8");
	expect_error("a = 1 b = 2", "t:1: expected the end of the line");
	expect_error("a = [1]\n", "t:1: only arrays of strings are supported");
	expect_error("a = [\n\"x\"\n[\"y\"]]\n", "t:3: expected , or ] after a string");
	expect_error("a = [\"x\", [\"y\"]]\n", "t:1: only arrays of strings are supported");
	expect_error("a = [,]\n", "t:1: only arrays of strings are supported");
	expect_error("a = [\n\"x\",\n", "t:1: expected ] before the end of the file");
	expect_error("a = [\"x\\ny\"]\n", "t:1: a string in an array cannot contain a line break");
	expect_error("a = [\"x\"] b\n", "t:1: expected the end of the line");
	expect_error("a = {b = 1}\n", "t:1: inline tables are not supported");
	expect_error("[[a]]\n", "t:1: arrays of tables are not supported");
	expect_error("a = 1979-05-27\n", "t:1: dates are not supported");
	expect_error("a = 07:32:00\n", "t:1: dates are not supported");
	expect_error("a = 007", "t:1: expected true, false, a number");
	expect_error("a = 1__0", "t:1: expected true, false, a number");
	expect_error("a = 1_", "t:1: expected true, false, a number");
	expect_error("a = 1.", "t:1: expected true, false, a number");
	expect_error("a = 9223372036854775808", "t:1: the number does not fit");
	expect_error("[a\nb=1", "t:1: expected ] at the end");
	expect_error("[]\n", "t:1: expected a key");
	expect_error("'''a''' = 1", "t:1: a key cannot be a block");
	expect_error("\n\nstop = 1\n", "t:3: expected anything but stop");
	expect_error_n("a = 1\nb\0 = 2", 10, NULL, "t:2: a NUL byte");
}

static void
test_names_given_twice(void **state)
{
	(void)state;
	expect_error("a = 1\n\na = 2\n", "t:3: the key \"a\" was already given a value in line 1");
	expect_error("a = 1\n\"a\" = 2\n", "t:2: the key \"a\" was already given");
	expect_error(
	    "[x]\na = 1\n[x]\nb = 2\n", "t:3: the table \"x\" was already given as a table in line 1");
	expect_error("a = 1\n[a]\n", "t:2: the table \"a\" was already given a value in line 1");
	expect_error("a = 1\na.b = 2\n", "t:2: the table \"a\" was already given a value");
	expect_error("a.b = 1\na = 2\n", "t:2: the key \"a\" was already given as a table");
	expect_error("a.b = 1\n[a]\n", "t:2: the table \"a\" was already given as a table");
	expect_error("[a.b]\n[a]\nb.c = 1\n", "t:3: the table \"a.b\" was already given as a table");
	/* A dot inside quotes is no separator. */
	expect("\"a.b\" = 1\na.b = 2\n", "|a.b|1|i|1\na|b|2|i|2\n");
}

static void
test_other_sections_are_left_alone(void **state)
{
	(void)state;
	expect_ours("title = 1979-05-27T07:32:00Z\n"
	    "list = [ \"a]\", # ] comment \"\n  [1, {x = '}'}], '''\n]''' ]\n"
	    "[[rigs]]\nname = \"recovery\"\npoint = { x = 1, y = [ 2 ] } # c\n"
	    "enabled = bare-word\nenabled = twice\nt = \"\"\"\n[recovery]\nenabled = true\n\\\"\"\"\"\n"
	    "u = \"a \\\" # b\"\n"
	    "[recovery]\nenabled = false\n"
	    "[recoveryish]\nenabled = []\n"
	    "[recovery.runs]\nmode = 'all'\n",
	    "recovery|enabled|false|b|16\nrecovery.runs|mode|all|s|20\n");
	expect_ours("recovery.enabled = false\nother.x = []\n", "recovery|enabled|false|b|1\n");
	expect_error_n(
	    "recovery = { enabled = false }\n", 31, is_ours, "t:1: inline tables are not supported");
	expect_error_n("[[recovery]]\n", 13, is_ours, "t:1: arrays of tables are not supported");
	expect_error_n("x = [\n1,\n", 9, is_ours, "t:1: expected ] before the end of the file");
	expect_error_n("\nx = 'a\n", 8, is_ours, "t:2: the string that begins here is not closed");
	expect_error_n("x = ]\n", 6, is_ours, "t:1: unmatched ]");
}

/*
 * Twice the text must not take four times the time: with 200,000 keys a quadratic reader would
 * need minutes.
 */
static void
test_many_keys_take_no_minutes(void **state)
{
	struct buf text = BUF_INIT, got = BUF_INIT;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 200000; i++)
		buf_fmt(&text, "k%d = %d\n", i, i);
	buf_str(&text, "k0 = 1\n");
	assert_int_equal(toml_parse(text.data, text.len, "t", note_item, &got, &e), -1);
	assert_true(str_starts(e.msg, "t:200001: the key \"k0\" was already given a value in line 1"));
	buf_release(&text);
	buf_release(&got);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example_of_the_design),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_numbers_and_booleans),
		cmocka_unit_test(test_keys_and_tables),
		cmocka_unit_test(test_long_values_and_names),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_errors_name_file_line_and_expectation),
		cmocka_unit_test(test_names_given_twice),
		cmocka_unit_test(test_other_sections_are_left_alone),
		cmocka_unit_test(test_many_keys_take_no_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
