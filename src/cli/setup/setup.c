#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "config/config.h"
#include "install/install.h"
#include "records/hooks/hooks.h"

/*
 * setup: the parts that make crashes recoverable, by one question. Each part is a command of ours, so that
 * the parts can be installed and removed one by one, too.
 */

enum part_state { PART_WANTED, PART_LEFT_OUT, PART_DONE, PART_FAILED };

struct setup {
	const struct cli *cli;
	struct cli_output say;
	bool town;			/* there is one */
	bool resurrect;			/* a server has tmux-resurrect without a hook of the user's own */
	enum part_state state[16];
	struct err why[16];		/* PART_FAILED */
};

static bool
always(const struct setup *s)
{
	(void)s;
	return true;
}

static bool
never(const struct setup *s)
{
	(void)s;
	return false;
}

static bool
in_town(const struct setup *s)
{
	return s->town;
}

static bool
with_resurrect(const struct setup *s)
{
	return s->resurrect;
}

/* In the order in which they are set up. */
static const struct part {
	const char *name;
	const char *purpose;
	bool (*standard)(const struct setup *s);
	const char *const *install, *const *remove;	/* words of our command line */
} parts[] = {
#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }
	{ "panes", "keep the panes of running agents when they crash", always, WORDS("arm"),
	    WORDS("disarm") },
	{ "timer", "take snapshots regularly, reconcile at boot", always, WORDS("install", "timer"),
	    WORDS("uninstall", "timer") },
	{ "hooks", "let Claude Code report its sessions", always, WORDS("install", "hooks"),
	    WORDS("uninstall", "hooks") },
	{ "key", "bind prefix R in tmux to gt-recover", always, WORDS("install", "key"),
	    WORDS("uninstall", "key") },
	{ "resurrect", "recover agents after a restore by tmux-resurrect", with_resurrect,
	    WORDS("install", "resurrect"), WORDS("uninstall", "resurrect") },
	{ "conf", "load gt-recover's tmux commands from tmux.conf", always, WORDS("install", "conf"),
	    WORDS("uninstall", "conf") },
	{ "shim", "make `gt recover` work", in_town, WORDS("install", "shim"), WORDS("uninstall", "shim") },
	{ "plugin", "let Gas Town look for crashes", never, WORDS("install", "plugin"),
	    WORDS("uninstall", "plugin") },
	{ "slash", "add /recovery:status and /recovery:resume to Claude Code", never,
	    WORDS("install", "binding"), WORDS("uninstall", "binding") },
	{ "patrol", "look for crashes regularly, recover with auto_recover", never,
	    WORDS("install", "timer", "patrol"), WORDS("uninstall", "timer", "patrol") },
};

enum { PARTS = sizeof parts / sizeof parts[0] };

/* ---- which ---- */

static int
unknown_part(const char *word, struct err *e)
{
	const char *names[PARTS], *near;
	struct buf all = BUF_INIT;

	for (size_t i = 0; i < PARTS; i++) {
		names[i] = parts[i].name;
		buf_fmt(&all, "%s%s", i > 0 ? ", " : "", names[i]);
	}
	near = config_nearest(word, names, PARTS);
	err_set(e, GT_USAGE, "usage", "setup has no part \"%.40s\"; the parts are %s", word, all.data);
	buf_release(&all);
	return near != NULL ? err_hint(e, "did you mean %s?", near) : err_hint(e, "gt-recover help setup");
}

/* Each part of "a,b" gets the state. */
static int
choose_parts(struct setup *s, const char *list, enum part_state state, struct err *e)
{
	for (const char *p = list != NULL ? list : ""; *p != '\0'; p += strspn(p, ", ")) {
		char *word = xstrndup(p, strcspn(p, ", "));
		size_t i = 0;

		while (i < PARTS && strcmp(parts[i].name, word) != 0)
			i++;
		if (i == PARTS)
			unknown_part(word, e);
		else
			s->state[i] = state;
		p += strlen(word);
		free(word);
		if (i == PARTS)
			return -1;
	}
	return 0;
}

static int
choose_all_parts(struct setup *s, struct err *e)
{
	const struct cli *cli = s->cli;

	if (cli->only != NULL && (cli->with != NULL || cli->without != NULL)) {
		err_set(e, GT_USAGE, "usage", "--only cannot be combined with --with or --without");
		return err_hint(e, "gt-recover setup --only panes,timer");
	}
	for (size_t i = 0; i < PARTS; i++)
		s->state[i] = cli->only == NULL && (cli->undo || parts[i].standard(s)) ? PART_WANTED :
		    PART_LEFT_OUT;
	return choose_parts(s, cli->only, PART_WANTED, e) != 0 ||
	    choose_parts(s, cli->with, PART_WANTED, e) != 0 ||
	    choose_parts(s, cli->without, PART_LEFT_OUT, e) != 0 ? -1 : 0;
}

/* ---- doing ---- */

/* What the command prints is for those who run it alone. */
static int
silently(const struct cli *cli, const struct command *c, struct err *e)
{
	int out, null, ret;

	fflush(stdout);
	out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (out < 0 || null < 0 || dup2(null, STDOUT_FILENO) < 0)
		die("cannot redirect standard output");
	ret = c->run != NULL ? c->run(cli, e) : cmd_verb_run(cli, c, e);
	fflush(stdout);
	if (dup2(out, STDOUT_FILENO) < 0)
		die("cannot restore standard output");
	close(out);
	close(null);
	return ret;
}

/* Nothing to do is done. */
static bool
is_needless(const struct setup *s, const struct part *p, const struct err *e)
{
	static const char *const names[] = { "no-server", "no-town", "no-home", "shell" };

	(void)p;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(e->name, names[i]) == 0)
			return i == 0 || s->cli->undo;
	return e->code == GT_NOTHING;
}

static void
run_part(struct setup *s, size_t i)
{
	const char *const *words = s->cli->undo ? parts[i].remove : parts[i].install;
	const struct command *c;
	struct cli one = *s->cli;
	size_t taken = 0, n = 0;
	int ret;

	while (words[n] != NULL)
		n++;
	c = cli_find_command(words, n, &taken);
	one.command = c->name;
	one.args = words + taken;
	one.n_args = n - taken;
	one.json = one.print = false;
	one.quiet = true;
	ret = silently(&one, c, &s->why[i]);
	s->state[i] = ret == GT_OK || (ret != GT_SOME && is_needless(s, &parts[i], &s->why[i])) ? PART_DONE :
	    PART_FAILED;
	if (ret > 0 && s->state[i] == PART_FAILED && s->why[i].code == 0)
		err_set(&s->why[i], GT_FAIL, "part", "failed in part");
}

/* ---- telling ---- */

static void
print_plan(const struct setup *s)
{
	puts(s->cli->undo ? "To be removed:" : "To be set up:");
	for (size_t i = 0; i < PARTS; i++)
		if (s->state[i] == PART_WANTED)
			printf("  %-11s%s\n", parts[i].name, parts[i].purpose);
	for (size_t i = 0, first = 1; i < PARTS && !s->cli->undo && s->cli->only == NULL; i++)
		if (s->state[i] == PART_LEFT_OUT) {
			fputs(first ? "Not set up (--with PART adds one):\n" : "", stdout);
			printf("  %-11s%s\n", parts[i].name, parts[i].purpose);
			first = 0;
		}
	fflush(stdout);
}

static void
print_result(struct setup *s, size_t i)
{
	if (s->state[i] == PART_DONE)
		output_done(&s->say, "%-11s%s", parts[i].name, s->cli->undo ? "removed" : "set up");
	else if (s->state[i] == PART_FAILED)
		output_warning(&s->say, "%-11s%s%s%s", parts[i].name, output_shown(s->why[i].msg, 0),
		    *s->why[i].hint != '\0' ? "\n  hint: " : "", s->why[i].hint);
}

static void
print_setup_json(const struct setup *s)
{
	static const char *const names[] = { "planned", "left_out", "done", "failed" };
	json_t *v = output_object(), *list = json_array();

	for (size_t i = 0; i < PARTS; i++) {
		json_t *o = json_object();

		json_put(o, "part", parts[i].name);
		json_put(o, "purpose", parts[i].purpose);
		json_put(o, "state", names[s->state[i]]);
		json_object_set_new(o, "error",
		    s->state[i] == PART_FAILED ? output_error_json(&s->why[i]) : json_null());
		json_array_append_new(list, o);
	}
	json_put_flag(v, "undo", s->cli->undo);
	json_object_set_new(v, "parts", list);
	output_json(v);
}

static bool
is_agreed(const struct cli *cli)
{
	char answer[16];

	if (cli->yes)
		return true;
	fputs(cli->undo ? "Remove it? [y/N]: " : "Set it up? [Y/n]: ", stdout);
	fflush(stdout);
	if (fgets(answer, sizeof answer, stdin) == NULL)
		return false;
	return answer[0] == 'y' || answer[0] == 'Y' || (answer[0] == '\n' && !cli->undo);
}

static int
run_parts(struct setup *s)
{
	size_t failed = 0, done = 0;

	for (size_t k = 0; k < PARTS && cli_stop_signal() == 0; k++) {
		size_t i = s->cli->undo ? PARTS - 1 - k : k;

		if (s->state[i] != PART_WANTED)
			continue;
		run_part(s, i);
		print_result(s, i);
		failed += s->state[i] == PART_FAILED;
		done += s->state[i] == PART_DONE;
	}
	return failed == 0 ? GT_OK : done > 0 ? GT_SOME : GT_FAIL;
}

/* What the parts do together. Its findings do not count: they may be about other things. */
static void
ask_doctor(const struct setup *s)
{
	struct cli doctor = *s->cli;
	struct err none = ERR_INIT;

	doctor.command = "doctor";
	doctor.quiet = true;
	puts("\nWarnings of gt-recover doctor:");
	cmd_doctor(&doctor, &none);
}

static bool
uses_resurrect(const struct app *w)
{
	struct resurrect_status has = { .loaded = false };

	for (size_t i = 0; i < w->n_servers && !(has.loaded && has.hooked == has.ours); i++)
		artifact_resurrect_status(&w->servers[i], &has);
	return has.loaded && has.hooked == has.ours;
}

int
cmd_setup(const struct cli *cli, struct err *e)
{
	struct setup s = { .cli = cli };
	bool asks = !cli->yes && !cli->print;
	struct app w;
	int ret;

	if (cli_open_app(cli, &w, e) != 0)
		return -1;
	s.town = town_root(w.town) != NULL;
	s.resurrect = uses_resurrect(&w);
	cli_close_app(&w);
	if (choose_all_parts(&s, e) != 0)
		return -1;
	if (!cli->json)
		print_plan(&s);
	if (asks && !cli_has_person(cli)) {
		err_set(e, GT_USAGE, "needs-yes", "setup needs --yes without a terminal");
		return err_hint(e, "gt-recover setup --print shows the plan; gt-recover setup --yes does it");
	}
	if (!cli->print && !is_agreed(cli)) {
		puts("Nothing was changed.");
		return GT_NOTHING;
	}
	output_init(&s.say, cli);
	ret = cli->print ? GT_OK : run_parts(&s);
	if (cli->json)
		print_setup_json(&s);
	else if (!cli->print && !cli->undo)
		ask_doctor(&s);
	output_release(&s.say);
	return ret;
}
