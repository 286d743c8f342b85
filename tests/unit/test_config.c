#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/toml.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

/* A town, a home and nothing of the caller's own settings. */
struct place {
	char dir[64];
	char *town;
	char *home;
};

static void
write_file(const char *dir, const char *name, const char *text)
{
	char *path = io_join(dir, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0600), 0);
	free(path);
}

static int
set_up(void **state)
{
	struct place *p = xcalloc(1, sizeof *p);

	strcpy(p->dir, "/tmp/gt-config-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->town = io_join(p->dir, "town");
	p->home = io_join(p->dir, "home");
	assert_int_equal(mkdir(p->town, 0700), 0);
	assert_int_equal(mkdir(p->home, 0700), 0);
	setenv("HOME", p->home, 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("RUN_RECOVERY_MODE");
	unsetenv("RUN_RECOVERY_THRESHOLD");
	*state = p;
	return 0;
}

static int
tear_down(void **state)
{
	static const char *const files[] = { "town/gt.toml", "home/.config/gt-recover/gt.toml",
		"xdg/gt-recover/gt.toml", "other.toml" };
	static const char *const dirs[] = { "town", "home/.config/gt-recover", "home/.config", "home",
		"xdg/gt-recover", "xdg", "" };
	struct place *p = *state;

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		char *path = io_join(p->dir, files[i]);

		unlink(path);
		free(path);
	}
	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		char *path = io_join(p->dir, dirs[i]);

		rmdir(path);
		free(path);
	}
	assert_int_equal(access(p->dir, F_OK), -1);
	free(p->town);
	free(p->home);
	free(p);
	return 0;
}

static struct config *
read_town(struct place *p, const char *text)
{
	struct err e = ERR_INIT;
	struct config *c;

	write_file(p->town, "gt.toml", text);
	c = config_new(NULL, p->town, &e);
	if (c == NULL)
		fail_msg("%s", e.msg);
	return c;
}

/* The message after "TOWN/gt.toml:" starts with want, the hint is as given. */
static void
expect_error(struct place *p, const char *text, const char *want, const char *hint)
{
	struct err e = ERR_INIT;
	size_t n = strlen(p->town) + strlen("/gt.toml:");

	write_file(p->town, "gt.toml", text);
	if (config_new(NULL, p->town, &e) != NULL)
		fail_msg("read without an error: %s", text);
	assert_int_equal(e.code, GT_USAGE);
	assert_true(strlen(e.msg) > n);
	if (!str_starts(e.msg + n, want))
		fail_msg("wanted: %s\ngot:    %s", want, e.msg + n);
	assert_string_equal(e.hint, hint);
}

static void
test_defaults_without_a_file(void **state)
{
	struct place *p = *state;
	struct err e = ERR_INIT;
	struct config *c = config_new(NULL, p->town, &e);

	assert_non_null(c);
	assert_null(config_file(c));
	assert_true(config_flag(c, "enabled"));
	assert_false(config_flag(c, "recovery.auto_recover"));
	assert_int_equal(config_int(c, "max_context_lines"), 10000);
	assert_int_equal(config_int(c, "max_context_tokens"), 120000);
	assert_int_equal(config_ms(c, "ready_timeout"), 180000);
	assert_int_equal(config_ms(c, "attempt_window"), 72 * 3600000);
	assert_int_equal(config_ms(c, "recovery.epics.wip_interval"), 300000);
	assert_string_equal(config_text(c, "scope"), "task");
	assert_string_equal(config_text(c, "recovery.runs.mode"), "stale");
	assert_string_equal(config_text(c, "mail.to"), "mayor/");
	assert_string_equal(config_origin(c, "via"), "default");
	assert_null(config_path(c, "prompts.template_file"));
	assert_int_equal(config_agents(c), 0);
	config_free(c);
}

static void
test_example_of_the_design(void **state)
{
	struct place *p = *state;
	struct config *c = read_town(p,
	    "[recovery]\n"
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
	    "\"\"\"\n");
	char *file = io_join(p->town, "gt.toml"), *origin = xasprintf("%s:3", file);

	assert_false(config_flag(c, "auto_recover"));
	assert_string_equal(config_text(c, "prompts.template"),
	    "You crashed mid-task. Here's your recent conversation context:\n\n{{.Scrollback}}\n\nResume "
	    "from where you left off.\n");
	assert_string_equal(config_origin(c, "auto_recover"), origin);
	assert_string_equal(config_file(c), file);
	assert_string_equal(config_origin(c, "scope"), "default");
	free(file);
	free(origin);
	config_free(c);
}

static void
test_mistakes_name_line_and_expectation(void **state)
{
	static const struct { const char *text, *want, *hint;
	} cases[] = {
		{ "[recovery]\nenabled = yes\n", "2: expected true, false, a number", "" },
		{ "[recovery]\nenabled = \"true\"\n", "2: enabled: expected true or false, without quotes",
		    "" },
		{ "[recovery]\nenabled = 1\n", "2: enabled: expected true or false", "" },
		{ "[recovery]\nmax_context_lines = \"10\"\n",
		    "2: max_context_lines: expected an integer from 1 to 1000000", "" },
		{ "[recovery]\nmax_context_lines = 0\n", "2: max_context_lines: expected an integer",
		    "" },
		{ "[recovery]\nmax_context_lines = 1e4\n", "2: max_context_lines: expected an integer",
		    "" },
		{ "[recovery]\nmax_context_lines = 1000001\n",
		    "2: max_context_lines: expected an integer", "" },
		{ "[recovery]\nready_timeout = 180\n",
		    "2: ready_timeout: expected a duration from \"1s\" to \"24h\", such as \"180s\"", "" },
		{ "[recovery]\nready_timeout = \"180\"\n", "2: ready_timeout: expected a duration", "" },
		{ "[recovery]\nready_timeout = \"900ms\"\n", "2: ready_timeout: expected a duration", "" },
		{ "[recovery]\nvia = \"magic\"\n", "2: via: expected \"auto\", \"resume\" or \"inject\"",
		    "" },
		{ "[recovery]\nvia = \"auto|resume\"\n", "2: via: expected", "" },
		{ "[recovery]\nscope = \"\"\n", "2: scope: expected \"task\" or \"lines\"", "" },
		{ "[recovery]\nsnapshot_dir = \"\"\n", "2: snapshot_dir: expected a non-empty string",
		    "" },
		{ "[recovery]\nlog_file = 5\n", "2: log_file: expected a string between quotes", "" },
		{ "[recovery]\nlog_file = \"a\\nb\"\n", "2: log_file: expected a path on one line", "" },
		{ "[recovery]\nvia = [\"auto\"]\n", "2: via: expected \"auto\", \"resume\" or \"inject\"",
		    "" },
		{ "[recovery]\nsafe_directories = \"/srv\"\n", "2: safe_directories: expected a list", "" },
		{ "[recovery]\nsafe_directories = [\"srv\"]\n",
		    "2: safe_directories: expected directories that begin with /", "" },
		{ "[recovery]\nprompts = { template = \"x\" }\n", "2: inline tables are not supported",
		    "" },
		{ "[[recovery]]\n", "1: arrays of tables are not supported", "" },
		{ "recovery = true\n", "1: recovery is a table; write [recovery]", "" },
		{ "[recovery]\nvia = \"auto\"\n\nvia = \"auto\"\n",
		    "4: the key \"recovery.via\" was already given a value in line 2", "" },
		{ "[recovery]\nmax_contextlines = 5\n", "2: max_contextlines is not a key of [recovery]",
		    "did you mean max_context_lines?" },
		{ "[recovery]\ntemplate = \"x\"\n", "2: template is not a key of [recovery]",
		    "did you mean template of [recovery.prompts]?" },
		{ "[recovery.runs]\nmod = \"all\"\n", "2: mod is not a key of [recovery.runs]",
		    "did you mean mode?" },
		{ "[recovery]\n\"\\u001b[31m\" = 1\n", "2: \\x1b[31m is not a key of",
		    "gt-recover config lists every key" },
		{ "[recovery.promts]\ntemplate = \"x\"\n",
		    "2: [recovery.promts] is not a table of gt-recover", "did you mean [recovery.prompts]?" },
		{ "[recovery.sessions]\na = true\n",
		    "2: a session under [recovery.sessions]: expected \"off\"", "" },
		{ "[recovery.sessions]\na.b = \"off\"\n", "2: a session name with a dot", "" },
		{ "[recovery.agents]\na = \"x\"\n", "2: expected a table [recovery.agents.NAME]", "" },
		{ "[recovery.agents.x]\na = 1\n", "2: a column of an agent: expected a string between quotes",
		    "" },
		{ "[recovery.prompts]\ntemplate = \"x\"\ntemplate_file = \"y\"\n",
		    "3: expected only one of template and template_file", "" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		expect_error(*state, cases[i].text, cases[i].want, cases[i].hint);
}

static void
test_tables_of_others(void **state)
{
	struct config *c = read_town(*state,
	    "list = [1, 2, {a = '}'}]\n[[rigs]]\nname = 1979-05-27\n[mayor]\nenabled = whatever\nenabled = "
	    "again\n"
	    "[recovery]\nenabled = false\n[recoveries]\nenabled = true\n");

	assert_false(config_flag(c, "enabled"));
	config_free(c);
}

static void
test_agents_and_sessions(void **state)
{
	struct config *c = read_town(*state,
	    "[recovery.agents.claude]\ncommand = \"claude --x\"\nready = '^> $'\n[recovery.agents.\"my "
	    "agent\"]\nprograms = \"mine\"\n"
	    "[recovery.sessions]\ngt-toast = \"off\"\n\"a b.c\" = \"off\"\ngt-nux = \"on\"\n");
	const struct config_agent *a;

	assert_int_equal(config_agents(c), 3);
	a = config_agent_at(c, 1);
	assert_string_equal(a->agent, "claude");
	assert_string_equal(a->column, "ready");
	assert_string_equal(a->value, "^> $");
	assert_int_equal(a->line, 3);
	assert_string_equal(config_agent_at(c, 2)->agent, "my agent");
	assert_true(config_session_off(c, "gt-toast"));
	assert_true(config_session_off(c, "a b.c"));
	assert_false(config_session_off(c, "gt-nux"));
	assert_false(config_session_off(c, "gt-toas"));
	config_free(c);
}

static void
test_where_it_is_looked_for(void **state)
{
	struct place *p = *state;
	struct err e = ERR_INIT;
	char *xdg = io_join(p->dir, "xdg"), *dir = io_join(p->home, ".config/gt-recover"),
	     *other = io_join(p->dir, "other.toml");
	struct config *c;

	assert_int_equal(io_private_dir(dir, &e), 0);
	write_file(dir, "gt.toml", "[recovery]\nmax_attempts = 11\n");
	free(dir);
	c = config_new(NULL, NULL, &e);
	assert_int_equal(config_int(c, "max_attempts"), 11);
	config_free(c);

	dir = io_join(xdg, "gt-recover");
	assert_int_equal(io_private_dir(dir, &e), 0);
	write_file(dir, "gt.toml", "[recovery]\nmax_attempts = 12\n");
	setenv("XDG_CONFIG_HOME", xdg, 1);
	c = config_new(NULL, p->town, &e);
	assert_int_equal(config_int(c, "max_attempts"), 12);
	config_free(c);
	setenv("XDG_CONFIG_HOME", "relative", 1);
	c = config_new(NULL, p->town, &e);
	assert_int_equal(config_int(c, "max_attempts"), 11);
	config_free(c);

	c = read_town(p, "[recovery]\nmax_attempts = 13\n");
	assert_int_equal(config_int(c, "max_attempts"), 13);
	config_free(c);

	write_file(p->dir, "other.toml", "[recovery]\nmax_attempts = 14\n");
	c = config_new(other, p->town, &e);
	assert_int_equal(config_int(c, "max_attempts"), 14);
	config_free(c);
	assert_null(config_new("/nonexistent/gt.toml", p->town, &e));
	assert_int_equal(e.code, GT_USAGE);
	assert_string_equal(e.name, "config");
	assert_null(config_new(p->dir, p->town, &e));
	assert_non_null(strstr(e.msg, "is a directory"));
	unsetenv("XDG_CONFIG_HOME");
	free(xdg);
	free(dir);
	free(other);
}

static void
test_a_file_that_everybody_may_write(void **state)
{
	struct place *p = *state;
	struct err e = ERR_INIT;
	char *path = io_join(p->town, "gt.toml");
	struct config *c;

	write_file(p->town, "gt.toml", "[recovery]\nmax_attempts = 9\n");
	assert_int_equal(chmod(path, 0666), 0);
	assert_null(config_new(NULL, p->town, &e));
	assert_int_equal(e.code, GT_USAGE);
	assert_string_equal(e.name, "not-ours");
	c = config_new(path, p->town, &e);
	assert_int_equal(config_int(c, "max_attempts"), 9);
	config_free(c);
	free(path);
}

/* Which directories of others are safe is for the user's own file to say, whichever file holds the rest. */
static void
test_safe_directories(void **state)
{
	struct place *p = *state;
	char *dir = io_join(p->home, ".config/gt-recover"), *own = io_join(dir, "gt.toml");
	char *other = io_join(p->dir, "other.toml");
	char *text = xasprintf("[recovery]\nsafe_directories = [\"/srv/town/\", \"~/\", \"%s/*\"]\n",
	    p->town);
	char *below = io_join(p->town, "x"), *deep = io_join(p->town, "x/y");
	struct err e = ERR_INIT;
	struct config *c;

	assert_false(config_safe("/srv/town", true, &e));
	assert_non_null(strstr(e.hint, "add \"/srv/town\" to safe_directories"));
	assert_non_null(strstr(e.hint, own));
	assert_int_equal(io_private_dir(dir, &e), 0);
	write_file(dir, "gt.toml", text);
	write_file(p->town, "gt.toml", "[recovery]\nmax_attempts = 9\n");
	assert_true(config_safe("/srv/town", false, &e));
	assert_false(config_safe("/srv/town/rig", false, &e));
	assert_true(config_safe("/srv/town/rig", true, &e));
	assert_false(config_safe("/srv/towns", true, &e));
	assert_false(config_safe("/srv", true, &e));
	assert_true(config_safe(p->home, false, &e));
	assert_false(config_safe(p->town, true, &e));
	assert_true(config_safe(below, false, &e));
	assert_true(config_safe(deep, false, &e));
	assert_int_equal(chmod(own, 0666), 0);
	assert_false(config_safe("/srv/town", false, &e));
	assert_string_equal(e.name, "not-ours");
	write_file(dir, "gt.toml", "[recovery]\nsafe_directories = [\"*\"]\n");
	assert_true(config_safe("/srv/town", false, &e));
	c = config_new(own, p->town, &e);
	assert_string_equal(config_shown(c, (size_t)config_find("safe_directories", NULL)), "[\"*\"]");
	config_free(c);

	write_file(p->dir, "other.toml", "[recovery]\nsafe_directories = [\"*\"]\n");
	assert_null(config_new(other, p->town, &e));
	assert_non_null(strstr(e.msg, "is allowed only in your own gt.toml"));
	assert_non_null(strstr(e.hint, own));
	expect_error(p, "[recovery]\nsafe_directories = [\"*\"]\n",
	    "2: safe_directories is allowed only in your own gt.toml", e.hint);
	free(dir);
	free(own);
	free(other);
	free(text);
	free(below);
	free(deep);
}

static void
test_environment(void **state)
{
	static const char *const bad_mode[] = { "ALL", "stale ", "some" };
	static const char *const bad_threshold[] = { "-1", "5m", "1.5", " 3", "99999999999999999999",
		"31536001" };
	struct place *p = *state;
	struct err e = ERR_INIT;
	struct config *c;

	setenv("RUN_RECOVERY_MODE", "all", 1);
	setenv("RUN_RECOVERY_THRESHOLD", "10", 1);
	c = read_town(p, "[recovery.runs]\nmode = \"none\"\nthreshold = \"7m\"\n");
	assert_string_equal(config_text(c, "runs.mode"), "all");
	assert_int_equal(config_ms(c, "runs.threshold"), 10000);
	assert_string_equal(config_text(c, "runs.threshold"), "10s");
	assert_string_equal(config_origin(c, "runs.mode"), "environment");
	config_free(c);
	setenv("RUN_RECOVERY_MODE", "", 1);
	setenv("RUN_RECOVERY_THRESHOLD", "0", 1);
	c = config_new(NULL, p->town, &e);
	assert_string_equal(config_text(c, "runs.mode"), "none");
	assert_int_equal(config_ms(c, "runs.threshold"), 0);
	config_free(c);
	for (size_t i = 0; i < sizeof bad_threshold / sizeof bad_threshold[0]; i++) {
		setenv("RUN_RECOVERY_THRESHOLD", bad_threshold[i], 1);
		assert_null(config_new(NULL, p->town, &e));
		assert_int_equal(e.code, GT_USAGE);
		assert_non_null(
		    strstr(e.msg, "RUN_RECOVERY_THRESHOLD: expected seconds from 0 to 31536000"));
	}
	unsetenv("RUN_RECOVERY_THRESHOLD");
	for (size_t i = 0; i < sizeof bad_mode / sizeof bad_mode[0]; i++) {
		setenv("RUN_RECOVERY_MODE", bad_mode[i], 1);
		assert_null(config_new(NULL, p->town, &e));
		assert_non_null(strstr(e.msg, "RUN_RECOVERY_MODE: expected none, stale or all"));
	}
	unsetenv("RUN_RECOVERY_MODE");
}

static void
test_paths_and_passwords(void **state)
{
	struct place *p = *state;
	struct err e = ERR_INIT;
	struct config *c = read_town(p,
	    "[recovery]\nlog_file = \"~/x.log\"\nstate = \"redis://me:pass@word@host:1/0\"\n"
	    "[recovery.prompts]\ntemplate_file = \"prompts/a.md\"\n[recovery.scrub]\nrules = "
	    "\"/etc/rules.ini\"\n");
	char *want = io_join(p->town, "prompts/a.md"), *got = config_path(c, "prompts.template_file");
	int i = config_find("state", &e);

	assert_string_equal(got, want);
	free(got);
	free(want);
	want = io_join(p->home, "x.log");
	got = config_path(c, "log_file");
	assert_string_equal(got, want);
	free(got);
	free(want);
	got = config_path(c, "scrub.rules");
	assert_string_equal(got, "/etc/rules.ini");
	free(got);
	assert_true(i >= 0);
	assert_string_equal(config_text(c, "state"), "redis://me:pass@word@host:1/0");
	assert_string_equal(config_shown(c, (size_t)i), "redis://me:***@host:1/0");
	config_free(c);
}

static void
test_names_that_people_type(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_string_equal(config_key_at((size_t)config_find("prompts.template", &e))->key, "template");
	assert_int_equal(config_find("recovery.prompts.template", &e), config_find("prompts.template", &e));
	assert_int_equal(config_find("recovery.via", &e), config_find("via", &e));
	assert_int_equal(config_find("max_context_line", &e), -1);
	assert_string_equal(e.hint, "did you mean max_context_lines?");
	assert_int_equal(config_find("template", &e), -1);
	assert_int_equal(e.code, GT_USAGE);
	assert_int_equal(config_find("zzzzzzzzzzzz", &e), -1);
	assert_string_equal(e.hint, "gt-recover config lists every key");
	assert_int_equal(config_find("recovery", &e), -1);
	assert_int_equal(config_find("", &e), -1);
}

/* gt.toml.example. */

struct seen {
	bool key[128];
	size_t n;
};

static int
check_example_item(void *arg, const struct toml_item *it, struct err *e)
{
	struct seen *s = arg;

	for (size_t i = 0; i < config_count(); i++) {
		const struct config_key *k = config_key_at(i);

		if (strcmp(k->section, it->section) != 0 || strcmp(k->key, it->key) != 0)
			continue;
		s->key[i] = true;
		s->n++;
		if (strcmp(k->standard, it->value) != 0)
			return err_set(e, GT_FAIL, "test", "%s: not the default %s", k->key, k->standard);
		return 0;
	}
	return err_set(e, GT_FAIL, "test", "%s.%s is not in the table", it->section, it->key);
}

static void
test_example_file_documents_every_key(void **state)
{
	struct seen seen = { .n = 0 };
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	struct config *c;

	(void)state;
	assert_true(config_count() <= sizeof seen.key / sizeof seen.key[0]);
	if (io_read_file("gt.toml.example", 1 << 20, &text, &e) != 0)
		fail_msg("%s (the tests run in the source directory)", e.msg);
	if (toml_parse(text.data, text.len, "gt.toml.example", check_example_item, &seen, &e) != 0)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < config_count(); i++) {
		if (!seen.key[i])
			fail_msg("gt.toml.example lacks %s of [%s]", config_key_at(i)->key,
			    config_key_at(i)->section);
		assert_true(strlen(config_key_at(i)->help) > 10);
	}
	assert_int_equal(seen.n, config_count());
	c = config_new("gt.toml.example", NULL, &e);
	if (c == NULL)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < config_count(); i++)
		assert_true(str_starts(config_origin_at(c, i), "gt.toml.example:"));
	config_free(c);
	buf_release(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_defaults_without_a_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_example_of_the_design, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mistakes_name_line_and_expectation, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tables_of_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_agents_and_sessions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_where_it_is_looked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_that_everybody_may_write, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_safe_directories, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_environment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_paths_and_passwords, set_up, tear_down),
		cmocka_unit_test(test_names_that_people_type),
		cmocka_unit_test_setup_teardown(test_example_file_documents_every_key, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
