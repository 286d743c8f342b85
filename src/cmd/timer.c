#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "revive/timer.h"
#include "revive/world.h"
#include "town/config.h"

/* install timer, uninstall timer. */

static bool
is_listed(const char *path, const char *dir, size_t n)
{
	for (const char *p = path; *p != '\0'; p += strcspn(p, ":"), p += *p == ':')
		if (strcspn(p, ":") == n && strncmp(p, dir, n) == 0)
			return true;
	return false;
}

/* The parts of our PATH in which the programs are that we start, and those of every system: short, for a line of a crontab. */
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
add_option(struct timer *t, const char *option, char *value)
{
	town_list_add(&t->args, xstrdup(option));
	town_list_add(&t->args, value);
}

int
timer_today(const struct cli *cli, const struct world *w, const char *what, struct timer *t, struct err *e)
{
	char *path = short_path();

	timer_init(t, what, town_root(w->town));
	t->program = setup_program();
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
		add_option(t, "--town", xstrdup(town_root(w->town)));
	if (cli->config != NULL)
		add_option(t, "--config", setup_absolute(cli->config));
	for (size_t i = 0; i < w->n_servers; i++) {
		const char *socket = w->servers[i].socket;

		add_option(t, "-L", strchr(socket, '/') != NULL ? setup_absolute(socket) : xstrdup(socket));
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
say_installed(const struct cli *cli, const struct timer *t, enum timer_kind kind)
{
	bool patrol = strcmp(t->what, "patrol") == 0;
	const char *does = patrol ? "runs patrol" : "takes snapshots";
	struct say s;

	say_init(&s, cli);
	if (kind == TIMER_SYSTEMD) {
		say_line(&s, "A systemd user timer %s every %lld s: systemctl --user list-timers %s.timer", does,
		    (long long)t->interval_ms / 1000, t->id);
		say_line(&s, "It runs while you are logged in; loginctl enable-linger lets it run always.");
	} else {
		say_line(&s, "A line of your crontab %s: crontab -l shows it.", does);
		if (t->interval_ms < 60000)
			say_line(&s, "snapshot_interval is %lld s, but cron runs nothing more often than every minute.",
			    (long long)t->interval_ms / 1000);
	}
	if (!patrol)
		say_line(&s, "Another one runs startup when the %s starts.", kind == TIMER_SYSTEMD ? "user's systemd" : "machine");
	say_release(&s);
}

static void
say_removed(const struct cli *cli, enum timer_kind was)
{
	static const char *const words[] = { "There was no timer.", "The systemd user timer is gone.", "The crontab's line is gone.",
	    "The systemd user timer and the crontab's line are gone." };
	struct say s;

	say_init(&s, cli);
	say_line(&s, "%s", words[was]);
	say_release(&s);
}

static void
json_done(const struct cli *cli, const struct timer *t, enum timer_kind kind)
{
	static const char *const names[] = { "none", "systemd", "crontab", "both" };
	json_t *v;

	if (!cli->json)
		return;
	v = say_object();
	json_object_set_new(v, "timer", json_string(t->id));
	json_object_set_new(v, "kind", json_string(names[kind]));
	say_json(v);
}

/* One command's timer; *kind is what it is made by, or tells what there was. */
static int
one(const struct cli *cli, const struct world *w, bool install, const char *what, struct timer *t, enum timer_kind *kind, struct err *e)
{
	if (install && timer_today(cli, w, what, t, e) != 0)
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
int
cmd_timer(const struct cli *cli, bool install, struct err *e)
{
	const char *what[] = { cli->n_args > 1 ? cli->args[1] : "snapshot", "startup" };
	size_t n = strcmp(what[0], "snapshot") == 0 ? 2 : 1;
	struct timer t[2] = { { .id = NULL } };
	enum timer_kind kind[2] = { TIMER_NONE };
	struct world w;
	int ret = 0;

	if (setup_world(cli, &w, e) != 0)
		return -1;
	if (install)
		kind[0] = kind[1] = timer_kind();
	for (size_t i = 0; i < n && ret == 0; i++)
		ret = one(cli, &w, install, what[i], &t[i], &kind[i], e);
	if (ret == 0 && !cli->print && !cli->json) {
		if (install)
			say_installed(cli, &t[0], kind[0]);
		else
			say_removed(cli, kind[0]);
	}
	if (ret == 0 && !cli->print)
		json_done(cli, &t[0], kind[0]);
	for (size_t i = 0; i < n; i++)
		timer_release(&t[i]);
	setup_release(&w);
	return ret == 0 ? GT_OK : -1;
}
