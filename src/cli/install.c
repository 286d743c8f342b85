#include <unistd.h>

#include "cli/cli.h"
#include "base/io.h"
#include "config/config.h"
#include "gastown/gastown.h"
#include "install/install.h"
#include "records/hooks/hooks.h"
#include "tmux/tmux.h"

/* install timer, uninstall timer. */

static bool
is_listed(const char *path, const char *dir, size_t n)
{
	for (const char *p = path; *p != '\0'; p += strcspn(p, ":"), p += *p == ':')
		if (strcspn(p, ":") == n && strncmp(p, dir, n) == 0)
			return true;
	return false;
}

/*
 * The parts of our PATH in which the programs are that we start, and those of every system:
 * short, for a line of a crontab.
 */
static char *
short_path(void)
{
	static const char *const programs[] = { "tmux", "git", "gt", "bd" };
	const char *path = getenv("PATH");
	struct buf b = BUF_INIT;

	for (const char *p = path != NULL ? path : ""; *p != '\0'; p += strcspn(p, ":"), p += *p == ':') {
		size_t n = strcspn(p, ":");
		bool wanted = false;

		for (size_t i = 0; i < sizeof programs / sizeof programs[0] && n > 0 && p[0] == '/'; i++) {
			char *file = xasprintf("%.*s/%s", (int)n, p, programs[i]);

			wanted = wanted || access(file, X_OK) == 0;
			free(file);
		}
		if (wanted && !is_listed(b.data, p, n))
			buf_fmt(&b, "%s%.*s", b.len > 0 ? ":" : "", (int)n, p);
	}
	if (!is_listed(b.data, "/usr/bin", 8))
		buf_fmt(&b, "%s/usr/bin", b.len > 0 ? ":" : "");
	if (!is_listed(b.data, "/bin", 4))
		buf_str(&b, ":/bin");
	return buf_detach(&b);
}

static void
add_env(struct timer *t, const char *name, const char *value)
{
	if (value != NULL && *value != '\0')
		town_list_add(&t->env, xasprintf("%s=%s", name, value));
}

static void
add_timer_option(struct timer *t, const char *option, char *value)
{
	town_list_add(&t->args, xstrdup(option));
	town_list_add(&t->args, value);
}

int
cli_timer_today(const struct cli *cli, const struct app *w, const char *what, struct timer *t, struct err *e)
{
	char *path = short_path();

	timer_init(t, what, town_root(w->town));
	t->program = cli_program_path();
	if (t->program == NULL) {
		free(path);
		return err_set(e, GT_FAIL, "timer", "/proc does not tell where this program is");
	}
	t->interval_ms = config_ms(w->config, "snapshot_interval");
	add_env(t, "PATH", path);
	free(path);
	add_env(t, "TMUX_TMPDIR", getenv("TMUX_TMPDIR"));
	add_env(t, "XDG_STATE_HOME", getenv("XDG_STATE_HOME"));
	add_env(t, "XDG_CONFIG_HOME", getenv("XDG_CONFIG_HOME"));
	town_list_add(&t->args, xstrdup(what));
	town_list_add(&t->args, xstrdup("--quiet"));
	if (town_root(w->town) != NULL)
		add_timer_option(t, "--town", xstrdup(town_root(w->town)));
	if (cli->config != NULL)
		add_timer_option(t, "--config", cli_absolute_path(cli->config));
	for (size_t i = 0; i < w->n_servers; i++) {
		const char *socket = w->servers[i].socket;

		add_timer_option(
		    t, "-L", strchr(socket, '/') != NULL ? cli_absolute_path(socket) : xstrdup(socket));
	}
	return timer_check(t, e);
}

static void
print_it(const struct timer *t, enum timer_kind kind)
{
	struct buf b = BUF_INIT;

	if (kind == TIMER_CRONTAB) {
		timer_crontab(t, &b);
	} else {
		char *service = timer_path(t, "service"), *timer = timer_path(t, "timer");

		buf_fmt(&b, "# %s\n", service != NULL ? service : t->id);
		timer_service(t, &b);
		buf_fmt(&b, "\n# %s\n", timer != NULL ? timer : t->id);
		timer_unit(t, &b);
		free(service);
		free(timer);
	}
	fwrite(b.data, 1, b.len, stdout);
	buf_release(&b);
}

static void
print_installed(const struct cli *cli, const struct timer *t, enum timer_kind kind)
{
	bool patrol = strcmp(t->what, "patrol") == 0;
	const char *does = patrol ? "runs patrol" : "takes snapshots";
	struct cli_output s;

	output_init(&s, cli);
	if (kind == TIMER_SYSTEMD) {
		output_line(&s, "A systemd user timer %s every %lld s: systemctl --user list-timers %s.timer",
		    does, (long long)t->interval_ms / 1000, t->id);
		output_line(
		    &s, "It runs while you are logged in; loginctl enable-linger lets it run always.");
	} else {
		output_line(&s, "A line of your crontab %s: crontab -l shows it.", does);
		if (t->interval_ms < 60000)
			output_line(&s,
			    "snapshot_interval is %lld s, but cron runs nothing more often than every "
			    "minute.",
			    (long long)t->interval_ms / 1000);
	}
	if (!patrol)
		output_line(&s, "Another one runs startup when the %s starts.",
		    kind == TIMER_SYSTEMD ? "user's systemd" : "machine");
	output_release(&s);
}

static void
print_removed(const struct cli *cli, enum timer_kind was)
{
	static const char *const words[] = { "There was no timer.", "The systemd user timer is gone.",
		"The crontab's line is gone.", "The systemd user timer and the crontab's line are gone." };
	struct cli_output s;

	output_init(&s, cli);
	output_line(&s, "%s", words[was]);
	output_release(&s);
}

static void
json_done(const struct cli *cli, const struct timer *t, enum timer_kind kind)
{
	static const char *const names[] = { "none", "systemd", "crontab", "both" };
	json_t *v;

	if (!cli->json)
		return;
	v = output_object();
	json_object_set_new(v, "timer", json_string(t->id));
	json_object_set_new(v, "kind", json_string(names[kind]));
	output_json(v);
}

/* One command's timer; *kind is what it is made by, or tells what there was. */
static int
one(const struct cli *cli, const struct app *w, bool install, const char *what, struct timer *t,
    enum timer_kind *kind, struct err *e)
{
	if (install && cli_timer_today(cli, w, what, t, e) != 0)
		return -1;
	if (!install)
		timer_init(t, what, town_root(w->town));
	if (cli->print && install)
		print_it(t, *kind);
	else if (cli->print)
		printf("%s\n", t->id);
	else
		return install ? timer_install(t, *kind, e) : timer_remove(t, kind, e);
	return 0;
}

/* The timer of snapshots brings that of startup along. */
static int
cmd_timer(const struct cli *cli, bool install, struct err *e)
{
	const char *what[] = { cli->n_args > 1 ? cli->args[1] : "snapshot", "startup" };
	size_t n = strcmp(what[0], "snapshot") == 0 ? 2 : 1;
	struct timer t[2] = { { .id = NULL } };
	enum timer_kind kind[2] = { TIMER_NONE };
	struct app w;
	int ret = 0;

	if (cli_open_app(cli, &w, e) != 0)
		return -1;
	if (install)
		kind[0] = kind[1] = timer_kind();
	for (size_t i = 0; i < n && ret == 0; i++)
		ret = one(cli, &w, install, what[i], &t[i], &kind[i], e);
	if (ret == 0 && !cli->print && !cli->json) {
		if (install)
			print_installed(cli, &t[0], kind[0]);
		else
			print_removed(cli, kind[0]);
	}
	if (ret == 0 && !cli->print)
		json_done(cli, &t[0], kind[0]);
	for (size_t i = 0; i < n; i++)
		timer_release(&t[i]);
	cli_close_app(&w);
	return ret == 0 ? GT_OK : -1;
}

/* install plugin, uninstall plugin. */

/* The options that patrol is to run with: the town, and what was given here. */
static void
collect(const struct cli *cli, const struct app *w, struct town_list *args)
{
	town_list_add(args, xstrdup("--town"));
	town_list_add(args, xstrdup(town_root(w->town)));
	if (cli->config != NULL) {
		town_list_add(args, xstrdup("--config"));
		town_list_add(args, cli_absolute_path(cli->config));
	}
	for (size_t i = 0; i < cli->n_sockets; i++) {
		town_list_add(args, xstrdup("-L"));
		town_list_add(args, xstrdup(cli->sockets[i]));
	}
}

/* For whoever has no daemon: the same pass as a line of a hook, or a step of the witness's patrol. */
static void
patrol_command(struct buf *out, const char *program, const struct town_list *args)
{
	quote_sh(out, program);
	buf_str(out, " patrol --quiet");
	for (size_t i = 0; i < args->n; i++) {
		buf_chr(out, ' ');
		quote_sh(out, args->v[i]);
	}
}

static void
print_plugin(const struct cli *cli, const struct gastown_plugin *p, const char *words, const char *line)
{
	struct cli_output s;

	if (cli->json) {
		json_t *v = output_object();

		json_put(v, "plugin", p->dir);
		json_put(v, "result", words);
		json_put(v, "hook", line);
		output_json(v);
		return;
	}
	output_init(&s, cli);
	output_exact(&s, "%s: %s", p->dir, words);
	if (line != NULL)
		output_exact(
		    &s, "The same pass as a line of a hook, or a step of the witness's patrol:\n  %s", line);
	output_release(&s);
}

static int
run_plugin(
    const struct cli *cli, const struct gastown_plugin *p, bool install, const char *line, struct err *e)
{
	bool yes = false;

	if (cli->print) {
		if (install)
			printf("# %s/plugin.md\n%s\n# %s/run.sh\n%s\n# a hook, or a step of the witness's "
			       "patrol\n%s\n",
			    p->dir, p->file[PLUGIN_MD].text.data, p->dir, p->file[PLUGIN_RUN].text.data,
			    line);
		else
			printf("%s\n", p->dir);
		return 0;
	}
	if (install) {
		if (install_plugin(p, &yes, e) != 0)
			return -1;
		print_plugin(cli, p, yes ? "installed" : "was installed already", line);
	} else {
		if (install_plugin_remove(p, &yes, e) != 0)
			return -1;
		print_plugin(cli, p, yes ? "removed" : "there was none", NULL);
	}
	return 0;
}

static int
cmd_plugin(const struct cli *cli, bool install, struct err *e)
{
	struct town_list args = TOWN_LIST_INIT;
	struct buf line = BUF_INIT;
	struct gastown_plugin p;
	struct app w;
	char *program;
	int ret = -1;

	if (cli_open_config(cli, &w, e) != 0)
		return -1;
	program = cli_program_path();
	if (town_root(w.town) == NULL) {
		err_set(e, GT_USAGE, "no-town", "there is no Gas Town here that could run a plugin");
		err_hint(e,
		    "name its root with --town; without a town gt-recover install timer runs things "
		    "regularly");
	} else if (program == NULL) {
		err_set(e, GT_FAIL, "program", "/proc does not tell where this program is");
	} else {
		collect(cli, &w, &args);
		patrol_command(&line, program, &args);
		install_plugin_init(&p, town_root(w.town), program, &args);
		ret = run_plugin(cli, &p, install, line.data, e);
		install_plugin_release(&p);
	}
	free(program);
	buf_release(&line);
	town_list_release(&args);
	cli_close_app(&w);
	return ret == 0 ? GT_OK : -1;
}

/* What goes among the files of agents: install hooks, install binding, and away with them. */

static void
option(struct buf *out, const char *name, const char *path)
{
	char *full;

	if (path == NULL)
		return;
	full = cli_absolute_path(path);
	buf_fmt(out, " %s ", name);
	quote_sh(out, full);
	free(full);
}

static void
print_action(const struct cli *cli, const char *what, const char *path, const char *words)
{
	struct cli_output s;

	if (cli->json) {
		json_t *v = output_object();

		json_put(v, what, path);
		json_put(v, "result", words);
		output_json(v);
		return;
	}
	output_init(&s, cli);
	output_exact(&s, "%s: %s", path, words);
	output_release(&s);
}

struct hooks_target {
	struct buf command, options;		/* for sh */
	char *dir;				/* of the agent's settings */
};

static void
warn_of_off(const struct cli *cli, const char *path)
{
	struct cli_output s;

	if (!hooks_are_off(path))
		return;
	output_init(&s, cli);
	output_warning(&s,
	    "\"disableAllHooks\" is true in %s: no hook is called, and so none of these\n  Take it out, or "
	    "set it to false",
	    path);
	output_release(&s);
}

static int
install_hooks(const char *path, const struct hook_call *call, bool *changed, struct err *e)
{
	size_t n = 0;
	int ret;

	if (call->row->form == HOOK_FORM_PLUGIN)
		return hooks_plugin_install(path, call, changed, e);
	ret = hooks_install(path, call, &n, e);
	*changed = n > 0;
	return ret;
}

static int
uninstall_hooks(const char *path, const struct hook_adapter *row, bool *was, struct err *e)
{
	size_t n = 0;
	int ret;

	if (row->form == HOOK_FORM_PLUGIN)
		return hooks_plugin_remove(path, was, e);
	ret = hooks_uninstall(row, path, &n, e);
	*was = n > 0;
	return ret;
}

static void
print_hooks(const struct cli *cli, const char *path, bool changed, const struct hook_adapter *row)
{
	struct cli_output s;

	print_action(cli, "settings", path,
	    changed ? "the hooks are installed; agents that run already do not call them"
		    : "the hooks were installed already");
	if (changed && !cli->json && row->first != NULL) {
		output_init(&s, cli);
		output_exact(&s, "%s", row->first);
		output_release(&s);
	}
}

static int
run_hooks(const struct cli *cli, struct app *w, bool install, const struct hooks_target *p, struct err *e)
{
	struct hook_call call = { hook_adapter_find(cli->agent), p->command.data, p->options.data };
	char *path = io_join(p->dir, call.row->file);
	struct buf text = BUF_INIT;
	bool yes = false;
	int ret = 0;

	if (cli->print && install) {
		if (call.row->form == HOOK_FORM_PLUGIN)
			hooks_plugin_print(&text, &call);
		else
			hooks_print(&text, &call);
		fputs(text.data, stdout);
	} else if (cli->print) {
		printf("%s\n", path);
	} else if (install) {
		/* the first hook finds a store, and need not make one while an agent waits */
		ret = app_store(w, true, e) != NULL ? install_hooks(path, &call, &yes, e) : -1;
		if (ret == 0)
			print_hooks(cli, path, yes, call.row);
		if (ret == 0 && call.row->form != HOOK_FORM_PLUGIN)
			warn_of_off(cli, path);
	} else {
		ret = uninstall_hooks(path, call.row, &yes, e);
		if (ret == 0)
			print_action(
			    cli, "settings", path, yes ? "the hooks are removed" : "there were none");
	}
	buf_release(&text);
	free(path);
	return ret;
}

static int
run_binding(const struct cli *cli, struct app *w, bool install, const struct hooks_target *p, struct err *e)
{
	struct slash_commands b;
	bool yes = false;
	int ret = install_slash_init(&b, p->dir, p->command.data, p->options.data, e);

	(void)w;
	if (ret == 0 && cli->print) {
		for (size_t i = 0; i < SLASH_FILES; i++)
			printf("%s%s\n%s", install ? "# " : "", b.file[i].path,
			    install ? b.file[i].text.data : "");
	} else if (ret == 0 && install) {
		ret = install_slash_commands(&b, &yes, e);
		if (ret == 0)
			print_action(cli, "binding", b.dir,
			    yes ? "/recovery:status and /recovery:resume are installed"
				: "they were installed already");
	} else if (ret == 0) {
		ret = install_slash_remove(&b, &yes, e);
		if (ret == 0)
			print_action(cli, "binding", b.dir,
			    yes ? "/recovery:status and /recovery:resume are removed" : "there were none");
	}
	install_slash_release(&b);
	return ret;
}

static int
among_files(const struct cli *cli, bool install,
    int (*run)(const struct cli *, struct app *, bool, const struct hooks_target *, struct err *),
    const struct hook_adapter *row, struct err *e)
{
	struct hooks_target p = { BUF_INIT, BUF_INIT, hooks_folder(row) };
	char *program = cli_program_path();
	struct app w;
	int ret = cli_open_config(cli, &w, e);

	if (ret == 0 && (p.dir == NULL || program == NULL)) {
		err_set(e, GT_FAIL, "no-home",
		    p.dir == NULL ? "neither HOME nor a variable of its own says where the settings of %s are"
				  : "/proc does not tell where this program is",
		    row->agent);
		ret = err_hint(e, "set HOME and run it again");
		cli_close_app(&w);
	} else if (ret == 0) {
		quote_sh(&p.command, program);
		option(&p.options, "--town", cli->town);
		option(&p.options, "--config", cli->config);
		ret = run(cli, &w, install, &p, e);
		cli_close_app(&w);
	}
	buf_release(&p.command);
	buf_release(&p.options);
	free(p.dir);
	free(program);
	return ret == 0 ? GT_OK : -1;
}

static int
cmd_hooks(const struct cli *cli, bool install, struct err *e)
{
	const struct hook_adapter *row = hook_adapter_find(cli->agent);
	struct buf names = BUF_INIT;

	if (row != NULL)
		return among_files(cli, install, run_hooks, row, e);
	for (size_t i = 0; i < hook_adapter_count(); i++)
		buf_fmt(&names, "%s%s",
		    i == 0                             ? ""
			: i + 1 < hook_adapter_count() ? ", "
						       : " and ",
		    hook_adapter_at(i)->agent);
	err_set(e, GT_USAGE, "agent", "hooks are known of %s, not of %.100s", names.data, cli->agent);
	buf_release(&names);
	return err_hint(e,
	    "without hooks an agent is brought back by what it writes down itself; gt-recover install timer "
	    "keeps its screen");
}

static int
cmd_slash_commands(const struct cli *cli, bool install, struct err *e)
{
	return among_files(cli, install, run_binding, hook_adapter_find(NULL), e);
}

/*
 * Gas Town's gt starts no gt-foo programs, so `gt recover` needs a shell function that takes this
 * one word and passes everything else on.
 */
#define MARK "# gt-recover shim"

static const char shim_sh[] =
    MARK ": makes `gt recover` work; everything else goes on to gt.\n"
    "gt() {\n"
    "\tif [ \"${1-}\" = recover ]; then\n"
    "\t\tshift\n"
    "\t\tcommand gt-recover \"$@\"\n"
    "\telse\n"
    "\t\tcommand gt \"$@\"\n"
    "\tfi\n"
    "}\n"
    MARK " ends\n";

static const char shim_fish[] =
    MARK ": makes `gt recover` work; everything else goes on to gt.\n"
    "function gt\n"
    "\tif test (count $argv) -gt 0; and test $argv[1] = recover\n"
    "\t\tcommand gt-recover $argv[2..-1]\n"
    "\telse\n"
    "\t\tcommand gt $argv\n"
    "\tend\n"
    "end\n"
    MARK " ends\n";

/*
 * The start-up file of the person's shell, heap, and the function in its language. NULL: a shell
 * that we do not know.
 */
static char *
startup_file(const char **shim)
{
	const char *shell = getenv("SHELL"), *home = getenv("HOME"), *zdotdir = getenv("ZDOTDIR"),
		   *config = getenv("XDG_CONFIG_HOME");

	if (shell == NULL || home == NULL)
		return NULL;
	*shim = shim_sh;
	if (str_ends(shell, "/zsh"))
		return io_join(zdotdir != NULL ? zdotdir : home, ".zshrc");
	if (str_ends(shell, "/bash"))
		return io_join(home, ".bashrc");
	if (!str_ends(shell, "/fish"))
		return NULL;
	*shim = shim_fish;
	return config != NULL ? io_join(config, "fish/conf.d/gt-recover.fish")
			      : io_join(home, ".config/fish/conf.d/gt-recover.fish");
}

/* Appends, without touching what stands there and without changing the file's mode or links. */
static int
append_shim(const char *path, const char *shim, struct err *e)
{
	struct buf old = BUF_INIT;
	FILE *f;
	int ret = 0;

	if (io_read_file(path, (size_t)16 << 20, &old, e) != 0) {
		if (strcmp(e->name, "not-found") != 0)
			return -1;
		err_clear(e);
	}
	if (strstr(old.data, MARK) != NULL) {
		printf("%s has the function already.\n", path);
		buf_release(&old);
		return 0;
	}
	/*
	 * fish reads a folder that a new home does not have; one that cannot be made shows when
	 * the file is opened
	 */
	io_make_parents(path, NULL);
	f = fopen(path, "ae");
	if (f == NULL ||
	    fprintf(f, "%s%s", old.len > 0 && old.data[old.len - 1] != '\n' ? "\n\n" : "\n", shim) < 0 ||
	    fflush(f) != 0)
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be written", path);
	if (f != NULL && fclose(f) != 0 && ret == 0)
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be written", path);
	if (ret == 0)
		printf("Added the function to %s. It works in new shells; in this one: . %s\n", path, path);
	buf_release(&old);
	return ret;
}

static int
cmd_shim(const struct cli *cli, bool install, struct err *e)
{
	const char *shim = shim_sh;
	char *path = startup_file(&shim);
	int ret = 0;

	(void)install;
	if (cli->print) {
		fputs(shim, stdout);
	} else if (path != NULL) {
		ret = append_shim(path, shim, e);
	} else {
		err_set(
		    e, GT_FAIL, "shell", "SHELL names no shell that this program knows (bash, zsh, fish)");
		ret = err_hint(e,
		    "put the output of gt-recover install shim --print where your shell reads it at start");
	}
	free(path);
	return ret == 0 ? GT_OK : -1;
}

/* The word behind the command, "timer patrol" being one; shim is not taken away again. */
int
cmd_install(const struct cli *cli, struct err *e)
{
	bool install = strcmp(cli->command, "install") == 0;
	static const struct { const char *word; int (*run)(const struct cli *, bool, struct err *);
	} words[] = {
		{ "shim", cmd_shim }, { "timer", cmd_timer }, { "plugin", cmd_plugin },
		{ "hooks", cmd_hooks }, { "binding", cmd_slash_commands },
	};
	const char *word = cli->n_args > 0 ? cli->args[0] : "";
	bool patrol = cli->n_args == 2 && strcmp(word, "timer") == 0 && strcmp(cli->args[1], "patrol") == 0;

	if (cli->agent != NULL && (cli->n_args != 1 || strcmp(word, "hooks") != 0)) {
		err_set(e, GT_USAGE, "usage", "--agent goes with the word hooks");
		return err_hint(e, "gt-recover install hooks --agent NAME");
	}
	for (size_t i = install ? 0 : 1; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(words[i].word, word) == 0 && (cli->n_args == 1 || patrol))
			return words[i].run(cli, install, e);
	err_set(e, GT_USAGE, "usage", "%s takes one of the words %stimer, plugin, hooks and binding",
	    cli->command, install ? "shim, " : "");
	return err_hint(e, "gt-recover %s [--print]", install ? "install shim" : "uninstall timer");
}
