#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "prompt/prompt.h"

static const unsigned char built_in[] = {
#include "recovery.md.inc"
};

static const char *const some[TEMPLATE_FIELDS] = {
	[TEMPLATE_SCROLLBACK] = "$ make\nok",
	[TEMPLATE_EXCHANGES] = "{{.Scrollback}} {{if .Bead}}x{{end}} {{",
	[TEMPLATE_BEAD] = "gt-1",
	[TEMPLATE_GIT] = "",
	[TEMPLATE_SESSION] = "gt-toast",
	[TEMPLATE_RECOVERY_ID] = "gtr-0123456789abcdef",
};

static const struct {
	const char *text, *want;
} good[] = {
	{ "", "" },
	{ "plain } } { text", "plain } } { text" },
	{ "{{.Session}}", "gt-toast" },
	{ "a {{ .Session }} b{{.Bead}}", "a gt-toast bgt-1" },
	{ "{{.Checkpoint}}|{{.Git}}|", "||" },
	{ "{{.Exchanges}}", "{{.Scrollback}} {{if .Bead}}x{{end}} {{" },
	{ "{{if .Bead}}yes{{end}}.", "yes." },
	{ "{{if .Git}}yes{{end}}.", "." },
	{ "{{if .Checkpoint}}yes{{else}}no{{end}}.", "no." },
	{ "{{if .Bead}}{{if .Git}}a{{else}}b{{end}}{{else}}c{{end}}d", "bd" },
	{ "{{if .Git}}{{if .Bead}}a{{else}}b{{end}}{{else}}c{{if .Bead}}e{{end}}{{end}}d", "ced" },
	{ "{{if .Bead}}{{else}}x{{end}}", "" },
	{ "{{if\t.Bead }}x{{ end }}", "x" },
	{ "a \n {{- .Bead -}} \n b", "agt-1b" },
	{ "a {{- if .Git -}} x {{- else}} y{{end -}}\n\n z", "a yz" },
	{ "a{{/* a }} comment */}}b", "ab" },
	{ "a {{- /* x */ -}} b", "ab" },
	{ "a {{ /* no trim */ }} b", "a  b" },
	{ "{{.Scrollback}}\n", "$ make\nok\n" },
	{ "You crashed mid-task. Here's your recent conversation context:\n\n{{.Scrollback}}\n\nResume from "
	  "where you left off.\n",
	    "You crashed mid-task. Here's your recent conversation context:\n\n$ make\nok\n\nResume from "
	    "where you left off.\n" },
};

static const struct {
	const char *text, *line, *words;
} bad[] = {
	{ "{{", "line 1:", "without }}" },
	{ "a\nb\n{{.Session", "line 3:", "without }}" },
	{ "{{.Sesion}}", "line 1:", "unknown field" },
	{ "{{.session}}", "line 1:", "unknown field" },
	{ "{{.}}", "line 1:", "unknown field" },
	{ "{{.Session.Name}}", "line 1:", "unknown field" },
	{ "x\n\n{{.Session | printf \"%s\"}}", "line 3:", "unknown field" },
	{ "{{Session}}", "line 1:", "not understood" },
	{ "{{}}", "line 1:", "not understood" },
	{ "{{-}}", "line 1:", "not understood" },
	{ "{{range .Warnings}}{{end}}", "line 1:", "not understood" },
	{ "{{ if }}x{{end}}", "line 1:", "not understood" },
	{ "{{if Bead}}x{{end}}", "line 1:", "unknown field" },
	{ "{{if not .Bead}}x{{end}}", "line 1:", "unknown field" },
	{ "\n{{if .Bead}}\nx", "line 2:", "{{if}} without {{end}}" },
	{ "\n{{if .Bead}}{{else}}\nx", "line 2:", "{{if}} without {{end}}" },
	{ "x{{end}}", "line 1:", "{{end}} without {{if}}" },
	{ "\nx{{else}}", "line 2:", "{{else}} without {{if}}" },
	{ "{{if .Bead}}\n{{else}}\n{{else}}{{end}}", "line 3:", "second {{else}}" },
	{ "{{if .Bead}}\n{{else if .Git}}{{end}}", "line 2:", "not understood" },
	{ "{{/* open }}", "line 1:", "not closed" },
	{ "{{/* a */ b}}", "line 1:", "stand alone" },
	{ "{{/* a */ b */}}", "line 1:", "stand alone" },
	{ "{{/*/}}", "line 1:", "not closed" },
	{ "{{template \"x\"}}", "line 1:", "not understood" },
	{ "{{\"{{\"}}", "line 1:", "not understood" },
};

static void
test_good(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct template *t = template_new(good[i].text, strlen(good[i].text), "test", &e);
		struct buf out = BUF_INIT;

		if (t == NULL)
			fail_msg("'%s': %s", good[i].text, e.msg);
		template_run(t, some, &out);
		assert_string_equal(out.data, good[i].want);
		buf_release(&out);
		template_free(t);
	}
}

static void
test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err e = ERR_INIT;

		if (template_new(bad[i].text, strlen(bad[i].text), "gt.toml: template", &e) != NULL)
			fail_msg("'%s' was taken", bad[i].text);
		assert_int_equal(e.code, GT_USAGE);
		assert_string_equal(e.name, "template");
		if (strncmp(e.msg, "gt.toml: template, ", 19) != 0 || strstr(e.msg, bad[i].line) == NULL ||
		    strstr(e.msg, bad[i].words) == NULL)
			fail_msg("'%s' gives '%s'", bad[i].text, e.msg);
		assert_true(e.hint[0] != '\0');
	}
}

static void
test_limits(void **state)
{
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;

	(void)state;
	assert_null(template_new("a\0b", 3, "test", &e));
	assert_non_null(strstr(e.msg, "NUL"));
	for (int i = 0; i < 40; i++)
		buf_str(&text, "{{if .Bead}}");
	for (int i = 0; i < 40; i++)
		buf_str(&text, "{{end}}");
	assert_null(template_new(text.data, text.len, "test", &e));
	assert_non_null(strstr(e.msg, "too many"));
	buf_reset(&text);
	while (text.len <= TEMPLATE_MAX)
		buf_str(&text, "0123456789");
	assert_null(template_new(text.data, text.len, "test", &e));
	assert_non_null(strstr(e.msg, "256 KiB"));
	buf_release(&text);
}

static void
test_prints(void **state)
{
	static const char text[] = "a {{.Session}} b {{if .Git}}{{.Bead}}{{else}}{{.Session}}c{{end}}";
	struct err e = ERR_INIT;
	struct template *t = template_new(text, sizeof text - 1, "test", &e);
	struct buf words = BUF_INIT;

	(void)state;
	assert_non_null(t);
	assert_int_equal(template_prints(t, some, TEMPLATE_SESSION), 2);
	assert_int_equal(template_prints(t, some, TEMPLATE_BEAD), 0);
	template_words(t, some, &words);
	assert_string_equal(words.data, "a \n b \nc");
	buf_release(&words);
	template_free(t);
}

/* Seed words that the built-in template must keep, whatever else changes. */
static void
test_default(void **state)
{
	static const char *const words[] = {
		"You were working on a task when your session crashed",
		"## Your Previous Conversation\n", "## Your Handoff State\n", "## Instructions\n",
		"Resume from where you left off. If you were mid-task, complete it.\n",
		"If you were waiting for user input, ask again.\n",
		"Do not apologize for the crash - just continue working.\n", "Continue working now",
	};
	static const char *const nothing[TEMPLATE_FIELDS];
	struct err e = ERR_INIT;
	struct template *t = template_new((const char *)built_in, sizeof built_in, "test", &e);
	struct buf out = BUF_INIT;

	(void)state;
	if (t == NULL)
		fail_msg("%s", e.msg);
	template_run(t, nothing, &out);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strstr(out.data, words[i]) == NULL)
			fail_msg("missing: %s", words[i]);
	assert_int_equal(out.data[0], 'Y');
	assert_null(strstr(out.data, "\n\n\n"));
	buf_release(&out);
	template_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good), cmocka_unit_test(test_bad), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_prints),
		cmocka_unit_test(test_default),
	};

	return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
