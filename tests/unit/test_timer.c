#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "base/buf.h"
#include "base/err.h"
#include "install/install_private.h"

static struct timer
sample(int64_t interval_ms)
{
	struct timer t;

	timer_init(&t, "snapshot", NULL);
	t.program = xstrdup("/opt/my tools/gt-recover");
	t.interval_ms = interval_ms;
	town_list_add(&t.args, xstrdup("snapshot"));
	town_list_add(&t.args, xstrdup("-L"));
	town_list_add(&t.args, xstrdup("it's 100%"));
	town_list_add(&t.env, xstrdup("PATH=/usr/bin:/bin"));
	town_list_add(&t.env, xstrdup("TMUX_TMPDIR=/tmp/a$b \"c\""));
	return t;
}

/* What is installed for it: which 0 is the service or the block, 1 the timer. */
static void
put_text(const struct timer *t, enum timer_kind kind, size_t which, struct buf *out)
{
	struct artifact_set in;

	assert_int_equal(timer_artifacts(&in, t, kind, NULL), 0);
	artifact_print(&in.v[which], out);
	artifact_release(&in);
}

static void
writes_units(void **state)
{
	struct timer t = sample(300000);
	struct buf b = BUF_INIT;

	(void)state;
	put_text(&t, TIMER_SYSTEMD, 0, &b);
	assert_non_null(
	    strstr(b.data, "ExecStart=\"/opt/my tools/gt-recover\" \"snapshot\" \"-L\" \"it's 100%%\"\n"));
	assert_non_null(strstr(b.data, "Environment=\"TMUX_TMPDIR=/tmp/a$b \\\"c\\\"\"\n"));
	assert_non_null(strstr(b.data, "Type=oneshot\n"));
	assert_null(strstr(b.data, "KillMode"));
	buf_reset(&b);
	t.what = "patrol";
	put_text(&t, TIMER_SYSTEMD, 0, &b);
	assert_non_null(strstr(b.data, "KillMode=process\n"));
	assert_null(strstr(b.data, "Nice="));
	t.what = "snapshot";
	buf_reset(&b);
	put_text(&t, TIMER_SYSTEMD, 1, &b);
	assert_non_null(strstr(b.data, "OnUnitActiveSec=300s\n"));
	assert_non_null(strstr(b.data, "Unit=gt-recover-snapshot.service\n"));
	buf_release(&b);
	timer_release(&t);
}

static void
writes_a_line(void **state)
{
	static const struct { int64_t ms; const char *when;
	} cases[] = {
		{ 10000, "* * * * * " }, { 60000, "* * * * * " }, { 90000, "* * * * * " },
		{ 300000, "*/5 * * * * " }, { 3540000, "*/59 * * * * " }, { 3600000, "0 * * * * " },
		{ 7199000, "0 * * * * " }, { 7200000, "0 */2 * * * " }, { 86399000, "0 */23 * * * " },
		{ 86400000, "0 0 * * * " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct timer t = sample(cases[i].ms);
		struct buf b = BUF_INIT, want = BUF_INIT;

		buf_fmt(&want,
		    "# gt-recover-snapshot begins (gt-recover install timer)\n%sPATH=/usr/bin:/bin "
		    "TMUX_TMPDIR='/tmp/a$b \"c\"' "
		    "'/opt/my tools/gt-recover' snapshot -L 'it'\\''s 100\\%%'\n# gt-recover-snapshot ends "
		    "(gt-recover install timer)\n",
		    cases[i].when);
		put_text(&t, TIMER_CRONTAB, 0, &b);
		assert_string_equal(b.data, want.data);
		buf_release(&b);
		buf_release(&want);
		timer_release(&t);
	}
}

#define BLOCK                                                                                                \
	"# gt-recover-snapshot begins (gt-recover install timer)\nX\n# gt-recover-snapshot ends "            \
	"(gt-recover install timer)\n"
#define BEGINS "# gt-recover-snapshot begins (gt-recover install timer)\n"
#define ENDS "# gt-recover-snapshot ends (gt-recover install timer)\n"
#define TOWNS                                                                                                \
	"# gt-recover-snapshot-abcdef begins (gt-recover install timer)\nY\n# gt-recover-snapshot-abcdef "   \
	"ends (gt-recover install timer)\n"

static void
put_x(const struct artifact *a, struct buf *out)
{
	(void)a;
	buf_str(out, "X\n");
}

static void
leaves_other_lines_alone(void **state)
{
	static const struct { const char *old, *block, *want; } cases[] = {
		{ "", BLOCK, BLOCK },
		{ "", NULL, "" },
		{ "A\n", BLOCK, "A\n" BLOCK },
		{ "A", BLOCK, "A\n" BLOCK },
		{ "A", NULL, "A" },
		{ "\n\nA\n", NULL, "\n\nA\n" },
		{ BLOCK, BLOCK, BLOCK },
		{ "A\n" BEGINS "old\nolder\n" ENDS "B", BLOCK, "A\n" BLOCK "B" },
		{ "A\n" BLOCK "B\n", NULL, "A\nB\n" },
		{ TOWNS "A\n" BLOCK, NULL, TOWNS "A\n" },
		{ TOWNS, BLOCK, TOWNS BLOCK },
		{ "A\n" BEGINS "old\n# gt-recover-snapshot ends (gt-recover install timer)", NULL, "A\n" },
		{ " " BEGINS "A\n", NULL, " " BEGINS "A\n" },		/* not our line */
		{ BEGINS "A\n", BLOCK, NULL }, { "A\n" ENDS, NULL, NULL }, { ENDS "A\n" BEGINS, BLOCK, NULL },
	};
	const struct artifact block = { .owner = "gt-recover-snapshot", .mark = ARTIFACT_BLOCK, .render = put_x };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct artifact_place p = { .there = true, .old = BUF_INIT, .new = BUF_INIT };
		struct err e = ERR_INIT;
		int ret;

		buf_str(&p.old, cases[i].old);
		ret = artifact_edit(&block, cases[i].block != NULL, &p, &e);
		assert_int_equal(ret, cases[i].want != NULL ? 0 : -1);
		assert_string_equal(p.new.data, cases[i].want != NULL ? cases[i].want : "");
		assert_string_equal(e.name, ret == 0 ? "" : "timer");
		buf_release(&p.old);
		buf_release(&p.new);
	}
}

static void
refuses_what_cannot_be_said(void **state)
{
	struct timer t = sample(300000);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(timer_check(&t, &e), 0);
	town_list_add(&t.args, xstrdup("a\n* * * * * evil"));
	assert_int_equal(timer_check(&t, &e), -1);
	assert_string_equal(e.name, "timer");
	timer_release(&t);
	t = sample(300000);
	town_list_add(&t.args, xasprintf("/%0*d", 1000, 0));
	assert_int_equal(timer_check(&t, &e), -1);
	timer_release(&t);
}

static void
names_a_town(void **state)
{
	struct timer a, b, none;

	(void)state;
	timer_init(&a, "snapshot", "/home/u/gt");
	timer_init(&b, "snapshot", "/home/u/gt2");
	timer_init(&none, "snapshot", NULL);
	assert_string_not_equal(a.id, b.id);
	assert_string_equal(none.id, "gt-recover-snapshot");
	assert_int_equal(strlen(a.id), strlen(none.id) + 7);
	timer_release(&a);
	timer_release(&b);
	timer_release(&none);
}

static void
assert_as_written(const struct timer *t, const struct timer_status *f)
{
	assert_true(f->ours);
	assert_string_equal(f->args.v[0], t->program);
	assert_int_equal(f->args.n, t->args.n + 1);
	for (size_t i = 0; i < t->args.n; i++)
		assert_string_equal(f->args.v[i + 1], t->args.v[i]);
	assert_int_equal(f->env.n, t->env.n);
	for (size_t i = 0; i < t->env.n; i++)
		assert_string_equal(f->env.v[i], t->env.v[i]);
	assert_string_equal(timer_status_env(f, "TMUX_TMPDIR"), "/tmp/a$b \"c\"");
	assert_null(timer_status_env(f, "TMUX"));
}

static void
reads_back_what_it_wrote(void **state)
{
	static const struct { int64_t ms, every;
	} cases[] = {
		{ 10000, 60000 }, { 60000, 60000 }, { 300000, 300000 }, { 3540000, 3540000 },
		{ 3600000, 3600000 }, { 7199000, 3600000 }, { 7200000, 7200000 },
		{ 86399000, 82800000 }, { 86400000, 86400000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct timer t = sample(cases[i].ms);
		struct buf a = BUF_INIT, b = BUF_INIT;
		struct timer_status f;
		const char *line;

		put_text(&t, TIMER_CRONTAB, 0, &a);
		line = strchr(a.data, '\n') + 1;
		timer_read_line(line, strcspn(line, "\n"), &f);
		assert_as_written(&t, &f);
		assert_false(f.systemd);
		assert_int_equal(f.interval_ms, cases[i].every);
		timer_status_release(&f);
		buf_reset(&a);
		put_text(&t, TIMER_SYSTEMD, 0, &a);
		put_text(&t, TIMER_SYSTEMD, 1, &b);
		timer_read_units(&a, &b, &f);
		assert_as_written(&t, &f);
		assert_true(f.systemd);
		assert_null(f.command);
		assert_int_equal(f.interval_ms, cases[i].ms);
		timer_status_release(&f);
		buf_release(&a);
		buf_release(&b);
		timer_release(&t);
	}
}

static void
knows_a_changed_line(void **state)
{
	static const struct { const char *line; bool ours; int64_t ms;
	} cases[] = {
		{ "*/5 * * * * /bin/gt-recover snapshot", true, 300000 },
		{ " */5\t*  * * * PATH=/bin /bin/gt-recover snapshot", true, 300000 },
		{ "*/5 9-17 * * * /bin/gt-recover snapshot", true, 0 },
		{ "@hourly /bin/gt-recover snapshot", false, 0 },
		{ "*/5 * * * * /bin/gt-recover snapshot; rm -rf /x", false, 300000 },
		{ "*/5 * * * * /bin/gt-recover snapshot -L $(touch /x)", false, 300000 },
		{ "*/5 * * * * /bin/gt-recover snapshot -L \"$X\"", false, 300000 },
		{ "*/5 * * * * /bin/gt-recover snapshot >/dev/null", false, 300000 },
		{ "*/5 * * * * /bin/gt-recover snapshot & /x", false, 300000 },
		{ "*/5 * * * * /bin/gt-recover snapshot | mail me", false, 300000 },
		{ "*/5 * * * * /bin/gt-recover --all --yes", false, 300000 },
		{ "*/5 * * * * gt-recover snapshot", false, 300000 },
		{ "*/5 * * * * /bin/other snapshot", false, 300000 },
		{ "*/5 * * * * /bin/gt-recover snapshot %input", false, 300000 },
		{ "*/0 * * * * /bin/gt-recover snapshot", true, 0 },
		{ "*/99 * * * * /bin/gt-recover snapshot", true, 0 }, { "", false, 0 },
		{ "* *", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct timer_status f;

		timer_read_line(cases[i].line, strlen(cases[i].line), &f);
		if (f.ours != cases[i].ours || f.interval_ms != cases[i].ms)
			fail_msg("%s: ours %d, %lld ms", cases[i].line, f.ours, (long long)f.interval_ms);
		timer_status_release(&f);
	}
}

static void
knows_changed_units(void **state)
{
	static const struct { const char *service; bool ours; } cases[] = {
		{ "[Service]\nExecStart=\"/bin/gt-recover\" \"snapshot\"\n", true },
		{ "ExecStart=\"/bin/gt-recover\" \"snapshot\" \"a%%b$$c\"", true },
		{ "ExecStart=/bin/gt-recover snapshot\n", false },
		{ "ExecStart=\"/bin/gt-recover\" \"snapshot\" \"%h\"\n", false },
		{ "ExecStart=\"/bin/gt-recover\" \"snapshot\" \"$X\"\n", false },
		{ "ExecStart=\"/bin/gt-recover\" \"snapshot\nExecStart=x\n", false },
		{ "ExecStart=\"/bin/gt-recover\" \"snapshot\"\nExecStart=\"/bin/rm\"\n", false },
		{ "ExecStart=\"/bin/gt-recover\" \"snapshot\"\nEnvironment=A=b\n", false },
		{ "ExecStart=\"/bin/gt-recover\"\"snapshot\"\n", false },
		{ "", false },
	};

	struct buf service = BUF_INIT, every = BUF_INIT;

	(void)state;
	buf_str(&every, "OnUnitActiveSec=5min\n");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct timer_status f;

		buf_reset(&service);
		buf_str(&service, cases[i].service);
		timer_read_units(&service, &every, &f);
		if (f.ours != cases[i].ours)
			fail_msg("%s: ours %d", cases[i].service, f.ours);
		assert_int_equal(f.interval_ms, 0);
		timer_status_release(&f);
	}
	buf_release(&service);
	buf_release(&every);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_units), cmocka_unit_test(writes_a_line),
		cmocka_unit_test(leaves_other_lines_alone),
		cmocka_unit_test(refuses_what_cannot_be_said), cmocka_unit_test(names_a_town),
		cmocka_unit_test(reads_back_what_it_wrote), cmocka_unit_test(knows_a_changed_line),
		cmocka_unit_test(knows_changed_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
