#include <unistd.h>

#include "cli/cli.h"
#include "base/buf.h"
#include "base/sys.h"
#include "base/utf8.h"
#include "config/config.h"
#include "install/install.h"
#include "records/hooks/hooks.h"
#include "tmux/tmux.h"

/* install and uninstall: the parts of setup. */

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

int64_t
cli_timer_every(const struct app *w)
{
	int64_t panes = config_ms(w->config, "snapshot_interval"),
		epics = config_ms(w->config, "epics.checkpoint_interval");

	return panes < epics ? panes : epics;
}

int
cli_timer_today(const struct cli *cli, const struct app *w, const char *what, struct timer *t, struct err *e)
{
	char *path = short_path();

	timer_init(t, what, town_root(w->town));
	t->program = sys_program_path();
	if (t->program == NULL) {
		free(path);
		return err_set(e, GT_FAIL, "timer", "cannot determine the path of this program");
	}
	t->passes = strcmp(what, "snapshot") == 0;
	t->interval_ms = t->passes ? cli_timer_every(w) : config_ms(w->config, "snapshot_interval");
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

/* What would stand there. gap: between texts with their paths above; NULL: the text alone. */
/* A file's text as it is; on a terminal without what would change the terminal. */
static void
print_text(const char *p)
{
	struct buf b = BUF_INIT;

	for (size_t n; *p != '\0'; p += n + (p[n] == '\n')) {
		n = strcspn(p, "\n");
		if (isatty(STDOUT_FILENO))
			utf8_escape(&b, p, n, 0);
		else
			buf_add(&b, p, n);
		if (p[n] == '\n')
			buf_chr(&b, '\n');
	}
	fwrite(b.data, 1, b.len, stdout);
	buf_release(&b);
}

static void
print_path(const char *path)
{
	print_text(path);
	putchar('\n');
}

/* The line of a path is for a person, and one line, whatever the path has in it. */
static void
print_texts(const struct artifact_set *in, const char *gap)
{
	for (size_t i = 0; i < in->n; i++) {
		struct buf b = BUF_INIT;

		if (gap != NULL && in->v[i].path != NULL) {
			buf_fmt(&b, "%s# ", i > 0 ? gap : "");
			utf8_escape(&b, in->v[i].path, strlen(in->v[i].path), 0);
			buf_chr(&b, '\n');
			fwrite(b.data, 1, b.len, stdout);
			buf_reset(&b);
		}
		artifact_print(&in->v[i], &b);
		print_text(b.data);
		buf_release(&b);
	}
}

static void
print_installed(const struct cli *cli, const struct timer *t, enum timer_kind kind)
{
	bool patrol = strcmp(t->what, "patrol") == 0;
	const char *does = patrol ? "runs patrol" : "makes passes";
	struct cli_output s;

	output_init(&s, cli);
	if (kind == TIMER_SYSTEMD) {
		output_line(&s, "A systemd user timer %s every %lld s: systemctl --user list-timers %s.timer",
		    does, (long long)t->interval_ms / 1000, t->id);
		output_line(
		    &s, "It runs while you are logged in; to keep it running: loginctl enable-linger");
	} else {
		output_line(&s, "A crontab line %s: crontab -l shows it.", does);
		if (t->interval_ms < 60000 && t->passes)
			output_line(&s, "Each minute it makes passes %lld s apart.",
			    (long long)t->interval_ms / 1000);
		else if (t->interval_ms < 60000)
			output_line(&s,
			    "snapshot_interval is %lld s, but cron runs at most once a minute.",
			    (long long)t->interval_ms / 1000);
	}
	if (!patrol)
		output_line(&s, "Another one reconciles the records when the %s starts.",
		    kind == TIMER_SYSTEMD ? "user's systemd" : "machine");
	output_release(&s);
}

static void
print_removed(const struct cli *cli, enum timer_kind was)
{
	static const char *const words[] = { "No timer was installed.", "Removed the systemd user timer.",
		"Removed the crontab line.", "Removed the systemd user timer and the crontab line." };
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
	if (cli->print && install) {
		struct artifact_set in;

		/* without HOME it is only shown */
		(void)timer_artifacts(&in, t, *kind, NULL);
		print_texts(&in, "\n");
		artifact_release(&in);
	} else if (cli->print) {
		printf("%s\n", t->id);
	} else {
		return install ? timer_install(t, *kind, e) : timer_remove(t, kind, e);
	}
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

/* The plugin, hooks and slash commands: files that call us. */

/* What users read of each of them. */
struct words {
	const char *member;		/* of the answer in JSON: where it is */
	const char *gap;		/* of print_texts */
	const char *added, *kept, *removed, *none;
};

static const struct words plugin_words = { "plugin", "\n", "installed", "was already installed", "removed",
	"none was installed" };
static const struct words hooks_words = { "settings", NULL,
	"the hooks are installed; running agents call them after a restart",
	"the hooks were already installed", "the hooks are removed", "there were none" };
static const struct words slash_words = { "binding", "",
	"/recovery:status and /recovery:resume are installed", "they were already installed",
	"/recovery:status and /recovery:resume are removed", "there were none" };

static void
add_option(struct buf *out, const char *name, char *owned)
{
	if (owned == NULL)
		return;
	buf_fmt(out, " %s ", name);
	quote_sh(out, owned);
	free(owned);
}

/* 1: something was written or removed, 0, -1. line: of a hook that does the same as the plugin, or NULL. */
static int
run_files(const struct cli *cli, bool install, const struct artifact_set *in, const struct words *words,
    const char *line, struct err *e)
{
	const char *path = in->dir != NULL ? in->dir : in->v[0].path, *result;
	struct cli_output s;
	bool any = false;

	if (cli->print) {
		if (install)
			print_texts(in, words->gap);
		else if (words == &plugin_words)
			print_path(path);
		for (size_t i = 0; i < in->n && !install && words != &plugin_words; i++)
			print_path(in->v[i].path);
		return 0;
	}
	if ((install ? artifact_install(in, &any, e) : artifact_remove(in, &any, e)) != 0)
		return -1;
	result = install ? any ? words->added : words->kept : any ? words->removed : words->none;
	if (cli->json) {
		json_t *v = output_object();

		json_put(v, words->member, path);
		json_put(v, "result", install ? any ? "installed" : "unchanged" : any ? "removed" : "absent");
		if (words == &plugin_words)
			json_put(v, "hook", line);
		output_json(v);
	} else {
		output_init(&s, cli);
		output_exact(&s, "%s: %s", path, result);
		if (line != NULL)
			output_exact(&s,
			    "The same as a hook, or as a step of the witness's patrol:\n  %s",
			    line);
		output_release(&s);
	}
	return any;
}

static int
run_plugin(
    const struct cli *cli, const struct app *w, bool install, struct artifact_call *call, struct err *e)
{
	struct buf options = BUF_INIT, line = BUF_INIT;
	struct artifact_set in;
	int ret;

	/* whatever was given here, and the town in any case */
	add_option(&options, "--town", xstrdup(town_root(w->town)));
	add_option(&options, "--config", cli->config != NULL ? cli_absolute_path(cli->config) : NULL);
	for (size_t i = 0; i < cli->n_sockets; i++)
		add_option(&options, "-L", xstrdup(cli->sockets[i]));
	call->options = options.data;
	call->town = town_root(w->town);
	artifact_patrol_line(&line, call);
	artifact_plugin(&in, call);
	ret = run_files(cli, install, &in, &plugin_words, install ? line.data : NULL, e);
	if (cli->print && install) {
		printf("\n# a hook, or a step of the witness's patrol\n");
		print_text(line.data);
		putchar('\n');
	}
	artifact_release(&in);
	buf_release(&line);
	buf_release(&options);
	return ret;
}

static int
cmd_plugin(const struct cli *cli, bool install, struct err *e)
{
	struct buf command = BUF_INIT;
	struct artifact_call call;
	struct app w;
	char *program;
	int ret = -1;

	if (cli_open_config(cli, &w, e) != 0)
		return -1;
	program = sys_program_path();
	if (town_root(w.town) == NULL) {
		err_set(e, GT_USAGE, "no-town", "no Gas Town here to run a plugin");
		err_hint(e,
		    "name its root with --town; without a town use gt-recover setup --only timer");
	} else if (program == NULL) {
		err_set(e, GT_FAIL, "program", "cannot determine the path of this program");
	} else {
		quote_sh(&command, program);
		call = (struct artifact_call){ .command = command.data };
		ret = run_plugin(cli, &w, install, &call, e);
	}
	free(program);
	buf_release(&command);
	cli_close_app(&w);
	return ret >= 0 ? GT_OK : -1;
}

static int
run_hooks(const struct cli *cli, struct app *w, bool install, const char *dir,
    const struct artifact_call *call, struct err *e)
{
	const struct hook_adapter *row = call->row;
	bool says = install && !cli->print;
	struct artifact_set in;
	struct cli_output s;
	int ret;

	artifact_hooks(&in, dir, call);
	/* the first hook finds a store, and need not make one while an agent waits */
	ret = says && app_store(w, true, e) == NULL ? -1
						    : run_files(cli, install, &in, &hooks_words, NULL, e);
	output_init(&s, cli);
	if (says && ret > 0 && !cli->json && row->first != NULL)
		output_exact(&s, "%s", row->first);
	if (says && ret >= 0 && row->form != HOOK_FORM_PLUGIN && hooks_are_off(in.v[0].path))
		output_warning(&s,
		    "\"disableAllHooks\" is true in %s: no hooks run\n"
		    "  Remove it, or set it to false",
		    in.v[0].path);
	output_release(&s);
	artifact_release(&in);
	return ret;
}

static int
run_slash(const struct cli *cli, struct app *w, bool install, const char *dir,
    const struct artifact_call *call, struct err *e)
{
	struct artifact_set in;
	int ret = artifact_slash_commands(&in, dir, call, e);

	(void)w;
	if (ret == 0)
		ret = run_files(cli, install, &in, &slash_words, NULL, e);
	artifact_release(&in);
	return ret;
}

/* Among the settings of an agent. */
static int
among_settings(const struct cli *cli, bool install,
    int (*run)(const struct cli *, struct app *, bool, const char *, const struct artifact_call *,
	struct err *),
    const struct hook_adapter *row, struct err *e)
{
	struct buf command = BUF_INIT, options = BUF_INIT;
	char *program = sys_program_path(), *dir = hooks_folder(row);
	struct app w;
	int ret = cli_open_config(cli, &w, e);

	if (ret == 0 && (dir == NULL || program == NULL)) {
		err_set(e, GT_FAIL, "no-home",
		    dir == NULL ? "cannot locate the settings of %s: HOME is not set"
				: "cannot determine the path of this program",
		    row->agent);
		ret = err_hint(e, "set HOME and run it again");
		cli_close_app(&w);
	} else if (ret == 0) {
		quote_sh(&command, program);
		add_option(&options, "--town", cli->town != NULL ? cli_absolute_path(cli->town) : NULL);
		add_option(&options, "--config", cli->config != NULL ? cli_absolute_path(cli->config) : NULL);
		ret = run(cli, &w, install, dir,
		    &(struct artifact_call){ row, command.data, options.data, NULL }, e);
		cli_close_app(&w);
	}
	buf_release(&command);
	buf_release(&options);
	free(dir);
	free(program);
	return ret >= 0 ? GT_OK : -1;
}

static int
cmd_hooks(const struct cli *cli, bool install, struct err *e)
{
	const struct hook_adapter *row = hook_adapter_find(cli->agent);
	struct buf names = BUF_INIT;

	if (row != NULL)
		return among_settings(cli, install, run_hooks, row, e);
	for (size_t i = 0; i < hook_adapter_count(); i++)
		buf_fmt(&names, "%s%s",
		    i == 0                             ? ""
			: i + 1 < hook_adapter_count() ? ", "
						       : " and ",
		    hook_adapter_at(i)->agent);
	err_set(e, GT_USAGE, "agent", "hooks are supported for %s, not for %.100s", names.data, cli->agent);
	buf_release(&names);
	return err_hint(e,
	    "agents without hooks are recovered from their own records; gt-recover setup --only timer "
	    "saves their screens");
}

static int
cmd_slash_commands(const struct cli *cli, bool install, struct err *e)
{
	return among_settings(cli, install, run_slash, hook_adapter_find(NULL), e);
}

static int
cmd_shim(const struct cli *cli, bool install, struct err *e)
{
	struct artifact_set in;
	const char *path;
	bool changed;
	int ret = 0;

	artifact_shim(&in);
	path = in.v[0].path;
	if (cli->print && install) {
		print_texts(&in, NULL);
	} else if (path == NULL) {
		err_set(
		    e, GT_FAIL, "shell", "SHELL is none of bash, zsh and fish");
		ret = err_hint(e,
		    "add the output of gt-recover setup --only shim --print to your shell's startup file");
	} else if (cli->print) {
		print_path(path);
	} else if (!install) {
		ret = artifact_remove(&in, &changed, e);
		if (ret == 0)
			printf("%s: %s\n", path, changed ? "the function is removed" : "none was installed");
	} else {
		ret = artifact_install(&in, &changed, e);
		if (ret == 0 && changed)
			printf("Added the function to %s. It works in new shells; in this one: . %s\n", path,
			    path);
		else if (ret == 0)
			printf("%s already has the function.\n", path);
	}
	artifact_release(&in);
	return ret == 0 ? GT_OK : -1;
}

/* ---- tmux ---- */

/* What the key does on that server, appended; false: nothing. */
static bool
find_binding(struct tmux *t, struct buf *out)
{
	struct buf all = BUF_INIT;
	struct err none = ERR_INIT;
	bool found = false;

	if (tmux_do(t, false, &all, &none, "list-keys", "-T", "prefix", NULL) == 0)
		for (const char *p = all.data; *p != '\0' && !found; p += strcspn(p, "\n"), p += *p == '\n') {
			const char *key = strstr(p, "-T prefix");

			if (key == NULL || key > p + strcspn(p, "\n"))
				continue;
			key += strlen("-T prefix");
			key += strspn(key, " ");
			if (strcspn(key, " ") != strlen(ARTIFACT_KEY) || !str_starts(key, ARTIFACT_KEY))
				continue;
			buf_add(out, key, strcspn(key, "\n"));
			found = true;
		}
	buf_release(&all);
	return found;
}

static int
refuse_bound(const struct app *w, struct err *e)
{
	for (size_t i = 0; i < w->n_servers; i++) {
		struct buf binding = BUF_INIT;
		bool other = find_binding(&w->servers[i], &binding) &&
		    strstr(binding.data, "gt-recover") == NULL;

		buf_release(&binding);
		if (!other)
			continue;
		err_set(e, GT_FAIL, "bound",
		    "prefix " ARTIFACT_KEY " is bound to another command in "
		        "tmux (socket %s)", w->servers[i].socket);
		return err_hint(e, "choose a key in tmux.conf: bind-key KEY display-popup -E gt-recover");
	}
	return 0;
}

/* On the servers that run; the file is for later ones. */
static void
change_binding(const struct app *w, bool install, const char *path)
{
	for (size_t i = 0; i < w->n_servers; i++) {
		struct buf binding = BUF_INIT;
		struct err none = ERR_INIT;
		bool bound = find_binding(&w->servers[i], &binding);

		if (install)
			tmux_do(&w->servers[i], true, NULL, &none, "source-file", path, NULL);
		else if (bound && strstr(binding.data, "gt-recover") != NULL)
			tmux_do(&w->servers[i], true, NULL, &none, "unbind-key", ARTIFACT_KEY, NULL);
		buf_release(&binding);
	}
}

static const struct words key_words = { "key", "", "prefix " ARTIFACT_KEY " opens gt-recover",
	"the key was already installed", "the key is removed", "none was installed" };
static const struct words resurrect_words = { "resurrect", "",
	"tmux-resurrect's restore now runs gt-recover --all",
	"the hook was already installed", "the hook is removed", "none was installed" };
static const struct words conf_words = { "conf", "",
	"tmux reads gt-recover's commands from it at its next start",
	"the line was already installed", "the line is removed", "none was installed" };

/* A person may have written our words; without our block they are left alone. */
static void
change_resurrect(const struct app *w, bool install, const char *path)
{
	for (size_t i = 0; i < w->n_servers; i++) {
		struct resurrect_status has;
		struct err none = ERR_INIT;

		artifact_resurrect_status(&w->servers[i], &has);
		if (has.ours)
			tmux_do(&w->servers[i], true, NULL, &none, "set-option", "-gu", ARTIFACT_RESURRECT,
			    NULL);
		if (install)
			tmux_do(&w->servers[i], true, NULL, &none, "source-file", path, NULL);
	}
}

/* A block of our file of tmux commands, and the same change on running servers. */
static const struct tmux_part {
	const struct words *words;
	int (*build)(struct artifact_set *in, const char *program, struct err *e);
	int (*refuse)(const struct app *w, struct err *e);	/* may be NULL */
	void (*change)(const struct app *w, bool install, const char *path);
} key_part = { &key_words, artifact_key, refuse_bound, change_binding },
  resurrect_part = { &resurrect_words, artifact_resurrect, NULL, change_resurrect };

static int
run_tmux_part(const struct cli *cli, bool install, const struct tmux_part *part, struct err *e)
{
	enum artifact_state state = ARTIFACT_ABSENT;
	char *program = sys_program_path();
	struct artifact_set in = { .n = 0 };
	struct app w;
	int ret = cli_open_app(cli, &w, e);

	if (ret != 0)
		goto out;
	if (program == NULL)
		ret = err_set(e, GT_FAIL, "program", "cannot determine the path of this program");
	if (ret == 0)
		ret = part->build(&in, program, e);
	if (ret == 0)
		ret = artifact_status(&in.v[0], &state, NULL, e);
	if (ret == 0 && install && !cli->print && part->refuse != NULL)
		ret = part->refuse(&w, e);
	if (ret == 0)
		ret = run_files(cli, install, &in, part->words, NULL, e);
	if (ret >= 0 && !cli->print && (install || state != ARTIFACT_ABSENT))
		part->change(&w, install, in.v[0].path);
	cli_close_app(&w);
out:
	artifact_release(&in);
	free(program);
	return ret >= 0 ? GT_OK : -1;
}

static int
cmd_key(const struct cli *cli, bool install, struct err *e)
{
	return run_tmux_part(cli, install, &key_part, e);
}

static int
cmd_resurrect(const struct cli *cli, bool install, struct err *e)
{
	return run_tmux_part(cli, install, &resurrect_part, e);
}

static int
cmd_conf(const struct cli *cli, bool install, struct err *e)
{
	struct artifact_set in = { .n = 0 };
	enum artifact_state state = ARTIFACT_OTHER;
	int ret = artifact_tmux_conf(&in, e);

	/* one that cannot be written needs no change when the line is there, or is not */
	if (ret != 0 && in.n > 0 && strcmp(e->name, "not-written") == 0 &&
	    artifact_status(&in.v[0], &state, NULL, NULL) == 0 &&
	    state == (install ? ARTIFACT_CURRENT : ARTIFACT_ABSENT)) {
		err_clear(e);
		ret = 0;
	}
	if (ret == 0)
		ret = run_files(cli, install, &in, &conf_words, NULL, e);
	artifact_release(&in);
	return ret >= 0 ? GT_OK : -1;
}

/* The word behind the command, "timer patrol" being one. */
int
cmd_install(const struct cli *cli, struct err *e)
{
	bool install = strcmp(cli->command, "install") == 0;
	static const struct { const char *word; int (*run)(const struct cli *, bool, struct err *);
	} words[] = {
		{ "shim", cmd_shim }, { "timer", cmd_timer }, { "plugin", cmd_plugin },
		{ "hooks", cmd_hooks }, { "binding", cmd_slash_commands }, { "key", cmd_key },
		{ "conf", cmd_conf }, { "resurrect", cmd_resurrect },
	};
	const char *word = cli->n_args > 0 ? cli->args[0] : "";
	bool patrol = cli->n_args == 2 && strcmp(word, "timer") == 0 && strcmp(cli->args[1], "patrol") == 0;

	if (cli->agent != NULL && (cli->n_args != 1 || strcmp(word, "hooks") != 0)) {
		err_set(e, GT_USAGE, "usage", "--agent needs the part hooks");
		return err_hint(e, "gt-recover install hooks --agent NAME");
	}
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(words[i].word, word) == 0 && (cli->n_args == 1 || patrol))
			return words[i].run(cli, install, e);
	err_set(e, GT_USAGE, "usage", "%s: expected one of shim, timer, plugin, hooks, binding",
	    cli->command);
	return err_hint(e, "gt-recover setup --print lists the parts");
}
