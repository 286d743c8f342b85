#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tmux/tmux.h"

/* What tmux 3.3a printed as #{pane_start_command} for panes made with these arguments. */
static void
splits_what_tmux_prints(void **state)
{
	static const struct { const char *text; int n; const char *argv[4];
	} cases[] = {
		{ "", 0, { NULL } },
		{ "cat", 1, { "cat" } },
		{ "\"exec env A=\\\"b c\\\" X='q' sh -c 'echo hi $0 \\\\\\\\ x;'\"", 1,
		    { "exec env A=\"b c\" X='q' sh -c 'echo hi $0 \\\\ x;'" } },
		{ "sh -c \"echo \\\"$1\\\" ; exit 3\" name \"arg with \\\\ and\\nnewline\"", 4,
		    { "sh", "-c", "echo \"$1\" ; exit 3", "name" } },
		{ "''", 1, { "" } },
		{ "\\~ a", 2, { "~", "a" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char **argv;
		int n = quote_split(cases[i].text, &argv);

		assert_true(n >= cases[i].n);
		for (int k = 0; k < cases[i].n; k++)
			assert_string_equal(argv[k], cases[i].argv[k]);
		quote_free(argv, n);
	}
}

/* What the source of tmux 3.8 printed as #{pane_start_command_list} for a pane of these arguments. */
static void
reads_a_list(void **state)
{
	static const char list[] =
	    "'sh' '-c' 'exec sleep 60' 'a'\\''b' ''\\''' ''\\'''\\''' '' 'back\\slash' 'x\\' 'x\\'\\''y' "
	    "'$HOME ${a}' 'new\nline' 'tab\there' 'esc\033[31m' '\377\376' '#{pid} ##' '~' '\"' 'end'\\''' "
	    "''\\''start' '\\033' ''\\''\\'\\'''\\'''";
	static const char *const given[] = { "sh", "-c", "exec sleep 60", "a'b", "'", "''", "",
		"back\\slash", "x\\", "x\\'y", "$HOME ${a}", "new\nline", "tab\there", "esc\033[31m", "\377\376",
		"#{pid} ##", "~", "\"", "end'", "'start", "\\033", "'\\''" };
	const int all = sizeof given / sizeof given[0];
	struct buf b = BUF_INIT;
	char **argv;
	int n;

	(void)state;
	quote_list(&b, list);
	n = quote_split(b.data, &argv);
	assert_int_equal(n, all);
	for (int i = 0; i < n; i++)
		assert_string_equal(argv[i], given[i]);
	quote_free(argv, n);
	buf_release(&b);
}

static void
refuses_what_is_cut_off(void **state)
{
	char **argv;

	(void)state;
	assert_int_equal(quote_split("\"no end", &argv), -1);
	assert_int_equal(quote_split("'no end", &argv), -1);
	assert_int_equal(quote_split("\"end\"more", &argv), -1);
}

/* What tmux 3.3a printed as #{session_name} for sessions of these names. */
static void
gives_a_name_back(void **state)
{
	static const struct { const char *stored, *given;
	} cases[] = {
		{ "toast", "toast" }, { "back\\\\slash", "back\\slash" }, { "new\\nline", "new\nline" },
		{ "esc\\033[31m", "esc\033[31m" }, { "\\$x", "$x" }, { "\\377", "\377" },
		{ "end\\", "end\\" }, { "nul\\0", "nul" }, { "\\000x", "x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct buf b = BUF_INIT;

		quote_stored(&b, cases[i].stored);
		assert_string_equal(b.data, cases[i].given);
		buf_release(&b);
	}
}

/* What tmux 3.4 printed, where 3.3a and 3.5a print the other. */
static void
takes_back_what_3_4_adds(void **state)
{
	static const struct { const char *printed, *meant; } cases[] = {
		{ "\"sleep 60; : \\\"m=\\\\$MODEL \\\\\\\\$A \\\\\\\\\\\\$B \\\\${X} $1 $$\\\"\"",
		    "\"sleep 60; : \\\"m=\\$MODEL \\\\\\$A \\\\\\\\\\$B \\${X} $1 $$\\\"\"" },
		{ "/srv/y \\$HOME \\\\$HOME \\033", "/srv/y $HOME \\$HOME \\033" },
		{ "VAL=\"a\\\\$HOME \\\\\\\\$X \\\\${Y} \\$1 \\$ \\033[m\\`\\\"\\\\ \\001z\"; export VAL;",
		    "VAL=\"a\\$HOME \\\\\\$X \\${Y} \\$1 \\$ \\033[m\\`\\\"\\\\ \\001z\"; export VAL;" },
		{ "\\$_abc $", "$_abc $" }, { "$1 \\$1 \\$ \\", "$1 \\$1 \\$ \\" }, { "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *text = xstrdup(cases[i].printed);

		text[quote_undo_dollars(text, strlen(text))] = '\0';
		assert_string_equal(text, cases[i].meant);
		free(text);
	}
}

static void
quotes_for_tmux_and_sh(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	quote_arg(&b, "it's; #(x)\n $1");
	assert_string_equal(b.data, "'it'\"'\"'s; #(x)'\"\\n\"' $1'");
	buf_reset(&b);
	quote_sh(&b, "it's");
	assert_string_equal(b.data, "'it'\\''s'");
	buf_reset(&b);
	quote_sh(&b, "plain/path-1.2");
	assert_string_equal(b.data, "plain/path-1.2");
	buf_reset(&b);
	quote_format(&b, "/a#(touch x)");
	assert_string_equal(b.data, "/a##(touch x)");
	buf_reset(&b);
	quote_format(&b, "#[fg=red] [#");
	assert_string_equal(b.data, "###{l:}[fg=red] [##");
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_what_tmux_prints),
		cmocka_unit_test(reads_a_list),
		cmocka_unit_test(refuses_what_is_cut_off),
		cmocka_unit_test(gives_a_name_back),
		cmocka_unit_test(takes_back_what_3_4_adds),
		cmocka_unit_test(quotes_for_tmux_and_sh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
