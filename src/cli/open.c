#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/io.h"
#include "base/utf8.h"
#include "beads/beads.h"
#include "config/config.h"
#include "gastown/gastown.h"
#include "process/oom.h"
#include "records/recovery/recovery.h"
#include "records/hooks/hooks.h"
#include "recover/upkeep/upkeep.h"
#include "scrub/scrub.h"
#include "store/store.h"

#define DAY_MS ((int64_t)86400000)

static volatile sig_atomic_t stop;

static void
on_signal(int sig)
{
	stop = sig;
}

int
cli_stop_signal(void)
{
	return stop;
}

/*
 * Without SA_RESTART: a sleep or a poll ends, the loop sees the flag and leaves with everything
 * consistent.
 */
static void
catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_signal };

	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
		struct sigaction old;

		/* under nohup SIGHUP stays ignored */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	}
}

/* One warning, its hint on a line of its own. */
static void
print_warning(const char *prefix, const struct err *why)
{
	struct buf words = BUF_INIT;
	struct err shown = *why;

	scrub_error(&shown, NULL);
	buf_str(&words, prefix);
	utf8_escape(&words, shown.msg, strlen(shown.msg), 0);
	output_fitted(stderr, "gt-recover: ", words.data, 2);
	if (shown.hint[0] != '\0') {
		buf_reset(&words);
		utf8_escape(&words, shown.hint, strlen(shown.hint), 0);
		output_fitted(stderr, "  ", words.data, 2);
	}
	buf_release(&words);
}

/* A town that is passed over changes what every command does. Hooks are to say nothing. */
static void
tell_doubt(const struct cli *cli, const struct town *t)
{
	const struct err *doubt = town_doubt(t);

	if (doubt != NULL && !cli->quiet && strcmp(cli->command, "hook") != 0)
		print_warning("not used: ", doubt);
}

int
cli_open_config(const struct cli *cli, struct app *w, struct err *e)
{
	memset(w, 0, sizeof *w);
	w->stop = &stop;
	if ((w->town = town_new(cli->town, e)) == NULL ||
	    (w->config = config_new(cli->config, town_root(w->town), e)) == NULL ||
	    (w->state_dir = town_state_path(w->town, e)) == NULL ||
	    (store_is_redis(config_text(w->config, "state")) &&
		host_set(config_text(w->config, "host"), e) != 0)) {
		cli_close_app(w);
		return -1;
	}
	tell_doubt(cli, w->town);
	return 0;
}

static void
add_server(struct app *w, size_t *cap, const char *socket)
{
	struct tmux t;
	struct stat a, b;
	char *path, *other;

	tmux_init(&t, socket);
	path = tmux_socket_path(&t);
	for (size_t i = 0; i < w->n_servers; i++) {
		bool same;

		other = tmux_socket_path(&w->servers[i]);
		same = strcmp(path, other) == 0 ||
		    (stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
			a.st_ino == b.st_ino);
		free(other);
		if (same) {
			free(path);
			tmux_release(&t);
			return;
		}
	}
	free(path);
	w->servers = vec_room(w->servers, w->n_servers, cap, sizeof *w->servers);
	w->servers[w->n_servers++] = t;
}

/* $TMUX is "path,server pid,session". */
static void
add_own_server(struct app *w, size_t *cap)
{
	const char *tmux = getenv("TMUX");
	char *path;

	if (tmux == NULL || *tmux == '\0')
		return;
	path = xstrndup(tmux, strcspn(tmux, ","));
	add_server(w, cap, path);
	free(path);
}

/* Under sudo: the server of who called it, under each name that is looked for. */
static void
add_sudo_server(struct app *w, size_t *cap, const char *socket)
{
	const char *uid = getenv("SUDO_UID");
	struct stat st;
	char *path;

	if (geteuid() != 0 || uid == NULL || *uid == '\0' || strspn(uid, "0123456789") != strlen(uid) ||
	    strchr(socket, '/') != NULL)
		return;
	path = xasprintf("/tmp/tmux-%s/%s", uid, socket);
	if (lstat(path, &st) == 0)
		add_server(w, cap, path);
	free(path);
}

int
cli_open_profiles(struct app *w, struct err *e)
{
	w->profiles = profile_list_new(w->config, e);
	if (w->profiles != NULL)
		return 0;
	cli_close_app(w);
	return -1;
}

int
cli_open_app(const struct cli *cli, struct app *w, struct err *e)
{
	struct town_list sockets = TOWN_LIST_INIT;
	size_t cap = 0;

	if (cli_open_config(cli, w, e) != 0 || cli_open_profiles(w, e) != 0)
		return -1;
	catch_signals();
	w->sockets_named = cli->n_sockets > 0;
	w->look_only = cli->dry_run;
	w->quiet = cli->quiet;
	for (size_t i = 0; i < cli->n_sockets; i++) {
		if (cli->sockets[i][0] == '\0') {
			cli_close_app(w);
			err_set(e, GT_USAGE, "usage", "-L needs the name or path of a tmux socket");
			return err_hint(e, "for example: gt-recover -L default list");
		}
		add_server(w, &cap, cli->sockets[i]);
	}
	if (!w->sockets_named) {
		town_sockets(w->town, &sockets);
		for (size_t i = 0; i < sockets.n; i++)
			add_server(w, &cap, sockets.v[i]);
		for (size_t i = 0; i < sockets.n; i++)
			add_sudo_server(w, &cap, sockets.v[i]);
		add_own_server(w, &cap);
	}
	town_list_release(&sockets);
	return 0;
}

void
cli_tell_reset(struct app *w)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < w->n_reset; i++) {
		const char *name = output_shown(w->reset[i], 60);

		if (!w->quiet) {
			buf_fmt(&b, "%s: last screen saved; to see it: gt-recover show %s "
			    "--context", name, name);
			output_fitted(stderr, "", b.data, 0);
			buf_reset(&b);
		}
		free(w->reset[i]);
	}
	w->n_reset = 0;
	buf_release(&b);
}

void
cli_close_app(struct app *w)
{
	cli_tell_reset(w);
	free(w->reset);
	for (size_t i = 0; i < w->n_servers; i++)
		tmux_release(&w->servers[i]);
	free(w->servers);
	if (w->restored != NULL)
		fprintf(stderr, "gt-recover: %s\n", w->restored);
	free(w->restored);
	if (w->reading != NULL) {
		err_add(w->reading, "the store was opened read-only");
		print_warning("", w->reading);
	}
	free(w->reading);
	if (w->store != NULL)
		store_close(w->store);
	if (w->profiles != NULL)
		profile_list_free(w->profiles);
	if (w->bd != NULL)
		bd_free(w->bd);
	config_free(w->config);
	town_free(w->town);
	if (w->oom != NULL)
		oom_log_release(w->oom);
	if (w->seen != NULL)
		seen_agent_list_release(w->seen);
	free(w->seen);
	free(w->oom);
	free(w->state_dir);
	memset(w, 0, sizeof *w);
}

void
cli_export_events(struct app *w)
{
	struct buf words = BUF_INIT;
	struct err e = ERR_INIT;
	char *path;

	if (w->store == NULL || w->reading != NULL)
		return;
	path = io_join(w->state_dir, EVENT_LOG);
	if (event_export(w->store, path, NULL, &e) != 0) {
		utf8_escape(&words, e.msg, strlen(e.msg), 0);
		fprintf(stderr, "gt-recover: %s\n", words.data);
	}
	buf_release(&words);
	free(path);
}

void
cli_sweep(struct app *w)
{
	struct err e = ERR_INIT;

	if (upkeep_sweep(w, &e))
		cli_export_events(w);
	if (e.code != 0)
		print_warning("cannot remove finished records from the store: ", &e);
}

bool
cli_is_disabled(const struct cli *cli, const struct app *w)
{
	if (config_flag(w->config, "enabled"))
		return false;
	if (cli->json) {
		json_t *v = output_object();

		json_put_flag(v, "disabled", true);
		output_json(v);
	}
	fprintf(stderr, "gt-recover is disabled (enabled = false, %s)\n",
	    config_origin(w->config, "enabled"));
	return true;
}

void
cli_warn_server(const struct err *trouble)
{
	struct err shown = *trouble;

	if (shown.code == 0)
		return;
	err_set(&shown, trouble->code, trouble->name, "%s; the other servers were searched", trouble->msg);
	if (trouble->hint[0] != '\0')
		err_hint(&shown, "%s", trouble->hint);
	print_warning("", &shown);
}

/* For a day: then doctor alone tells of it. */
static void
warn_dropped(const struct app *w)
{
	char *spool = io_join(w->state_dir, HOOK_SPOOL);
	int64_t last;
	size_t n = hook_spool_dropped(spool, &last);
	struct err e = ERR_INIT;

	if (n > 0 && clock_wall_ms() - last < DAY_MS) {
		err_set(&e, GT_FAIL, "dropped", "%zu hook report%s %s dropped: the spool was full", n,
		    n == 1 ? "" : "s", n == 1 ? "was" : "were");
		err_hint(&e, "The states of agents may be out of date. Run gt-recover doctor");
		print_warning("", &e);
	}
	free(spool);
}

void
cli_warn_state(const struct app *w)
{
	struct err e = ERR_INIT;

	if (town_state_check(w->town, w->state_dir, &e) != 0)
		print_warning("", &e);
	warn_dropped(w);
}

void
cli_warn_unwritten(const struct err *unwritten)
{
	if (unwritten->code != 0)
		print_warning("cannot record the agents found: ", unwritten);
}

void
cli_warn_exposed(struct app *w, const struct err *exposed)
{
	struct buf words = BUF_INIT;
	struct err shown = *exposed;

	cli_tell_reset(w);
	if (shown.code == 0)
		return;
	scrub_error(&shown, NULL);
	utf8_escape(&words, shown.msg, strlen(shown.msg), 0);
	buf_str(&words,
	    "\n"
	    "  do not attach to it, switch to it or detach from it: this tmux would crash with all its "
	    "sessions\n"
	    "  ");
	utf8_escape(&words, shown.hint, strlen(shown.hint), 0);
	fprintf(stderr, "gt-recover: %s\n", words.data);
	buf_release(&words);
}

char *
cli_absolute_path(const char *path)
{
	char *real = realpath(path, NULL);

	return real != NULL ? real : xstrdup(path);
}

int
cli_parse_since(const struct cli *cli, int64_t *since, struct err *e)
{
	int64_t age;

	*since = 0;
	if (cli->since == NULL)
		return 0;
	if (clock_parse_duration(cli->since, &age, e) != 0) {
		e->code = GT_USAGE;
		return err_hint(e, "for example: --since 7d");
	}
	*since = clock_wall_ms() - age;
	return 0;
}

int
cli_check_via(const struct cli *cli, struct err *e)
{
	if (cli->via == NULL || strcmp(cli->via, "auto") == 0 || strcmp(cli->via, "resume") == 0 ||
	    strcmp(cli->via, "inject") == 0)
		return 0;
	err_set(e, GT_USAGE, "usage", "--via takes auto, resume or inject, not \"%.40s\"", cli->via);
	return err_hint(e,
	    "resume continues the agent's conversation; inject starts a new one with its context");
}

int
cli_no_arguments(const struct cli *cli, struct err *e)
{
	err_set(e, GT_USAGE, "usage", "%s does not take the argument \"%.60s\"", cli->command, cli->args[0]);
	return err_hint(e, "gt-recover help %s", cli->command);
}
