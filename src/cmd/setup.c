#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/setup.h"
#include "agent/oom.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/io.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "ledger/event.h"
#include "revive/credentials.h"
#include "revive/world.h"
#include "scrub/error.h"
#include "scrub/scrub.h"
#include "store/store.h"
#include "town/config.h"
#include "town/town.h"
#include "work/bd.h"

static volatile sig_atomic_t stop;

static void
on_signal(int sig)
{
	stop = sig;
}

int
setup_stopped(void)
{
	return stop;
}

/* Without SA_RESTART: a sleep or a poll ends, the loop sees the flag and leaves with everything consistent. */
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

int
setup_config(const struct cli *cli, struct world *w, struct err *e)
{
	memset(w, 0, sizeof *w);
	w->stop = &stop;
	if ((w->town = town_new(cli->town, e)) == NULL ||
	    (w->config = config_new(cli->config, town_root(w->town), e)) == NULL ||
	    (w->profiles = profiles_new(w->config, e)) == NULL ||
	    (w->state_dir = town_state_path(w->town, e)) == NULL ||
	    (store_is_redis(config_text(w->config, "state")) && host_set(config_text(w->config, "host"), e) != 0)) {
		setup_release(w);
		return -1;
	}
	return 0;
}

static void
add_server(struct world *w, size_t *cap, const char *socket)
{
	struct tmux t;
	struct stat a, b;
	char *path, *other;

	tmux_init(&t, socket);
	path = tmux_socket_path(&t);
	for (size_t i = 0; i < w->n_servers; i++) {
		bool same;

		other = tmux_socket_path(&w->servers[i]);
		same = strcmp(path, other) == 0 || (stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
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
add_own_server(struct world *w, size_t *cap)
{
	const char *tmux = getenv("TMUX");
	char *path;

	if (tmux == NULL || *tmux == '\0')
		return;
	path = xstrndup(tmux, strcspn(tmux, ","));
	add_server(w, cap, path);
	free(path);
}

int
setup_world(const struct cli *cli, struct world *w, struct err *e)
{
	struct town_list sockets = TOWN_LIST_INIT;
	size_t cap = 0;

	if (setup_config(cli, w, e) != 0)
		return -1;
	catch_signals();
	w->sockets_named = cli->n_sockets > 0;
	for (size_t i = 0; i < cli->n_sockets; i++) {
		if (cli->sockets[i][0] == '\0') {
			setup_release(w);
			err_set(e, GT_USAGE, "usage", "-L needs the name or the path of a tmux socket");
			return err_hint(e, "for example: gt-recover -L default list");
		}
		add_server(w, &cap, cli->sockets[i]);
	}
	if (!w->sockets_named) {
		town_sockets(w->town, &sockets);
		for (size_t i = 0; i < sockets.n; i++)
			add_server(w, &cap, sockets.v[i]);
		add_own_server(w, &cap);
	}
	town_list_release(&sockets);
	return 0;
}

void
setup_release(struct world *w)
{
	for (size_t i = 0; i < w->n_servers; i++)
		tmux_release(&w->servers[i]);
	free(w->servers);
	if (w->mended != NULL)
		fprintf(stderr, "gt-recover: %s\n", w->mended);
	free(w->mended);
	if (w->store != NULL)
		store_close(w->store);
	profiles_free(w->profiles);
	config_free(w->config);
	town_free(w->town);
	bd_free(w->bd);
	if (w->oom != NULL)
		oom_log_release(w->oom);
	free(w->oom);
	free(w->state_dir);
	memset(w, 0, sizeof *w);
}

void
setup_export(struct world *w)
{
	struct buf words = BUF_INIT;
	struct err e = ERR_INIT;
	char *path;

	if (w->store == NULL)
		return;
	path = io_join(w->state_dir, EVENT_LOG);
	if (event_export(w->store, path, NULL, &e) != 0) {
		utf8_escape(&words, e.msg, strlen(e.msg), 0);
		fprintf(stderr, "gt-recover: %s\n", words.data);
	}
	buf_release(&words);
	free(path);
}

int
setup_no_terminal(struct err *e)
{
	if (!isatty(STDIN_FILENO))
		return 0;
	err_set(e, GT_USAGE, "usage", "this command is a filter and reads standard input, which is a terminal");
	return err_hint(e, "for example: tmux capture-pane -p -S - | gt-recover scrub");
}

static void
learn_own(const struct world *w, struct scrub *s)
{
	char *dir = config_flag(w->config, "scrub.known_files") ? getcwd(NULL, 0) : NULL;

	for (char **v = environ; config_flag(w->config, "scrub.known_values") && *v != NULL; v++)
		scrub_learn_environ(s, *v, strlen(*v) + 1);
	if (config_flag(w->config, "scrub.known_files"))
		credentials_learn(s, getenv("HOME"), dir);
	free(dir);
}

struct scrub *
setup_scrub(const struct cli *cli, struct err *e)
{
	struct world w;
	struct scrub *s;

	if (setup_config(cli, &w, e) != 0)
		return NULL;
	s = world_scrub(&w, e);
	if (s != NULL && !cli->no_known)
		learn_own(&w, s);
	setup_release(&w);
	return s;
}

bool
setup_disabled(const struct cli *cli, const struct world *w)
{
	if (config_flag(w->config, "enabled"))
		return false;
	if (cli->json)
		fputs("{\n  \"schema_version\": 1,\n  \"disabled\": true\n}\n", stdout);
	fprintf(stderr, "gt-recover is disabled (enabled = false, %s): nothing was done\n", config_origin(w->config, "enabled"));
	return true;
}

void
setup_trouble(const struct err *trouble)
{
	struct err shown = *trouble;

	if (shown.code == 0)
		return;
	error_scrub(&shown, NULL);
	fprintf(stderr, "gt-recover: %s; the other servers were looked at\n", shown.msg);
}

char *
setup_program(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	return n > 0 ? xstrndup(path, (size_t)n) : NULL;
}

char *
setup_absolute(const char *path)
{
	char *real = realpath(path, NULL);

	return real != NULL ? real : xstrdup(path);
}

int
setup_since(const struct cli *cli, int64_t *since, struct err *e)
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
setup_via(const struct cli *cli, struct err *e)
{
	if (cli->via == NULL || strcmp(cli->via, "auto") == 0 || strcmp(cli->via, "resume") == 0 || strcmp(cli->via, "inject") == 0)
		return 0;
	err_set(e, GT_USAGE, "usage", "--via takes auto, resume or inject, not \"%.40s\"", cli->via);
	return err_hint(e, "inject starts the agent afresh and hands it its context; resume goes on with its own conversation");
}

int
setup_no_arguments(const struct cli *cli, struct err *e)
{
	err_set(e, GT_USAGE, "usage", "the command %s takes no \"%.60s\"", cli->command, cli->args[0]);
	return err_hint(e, "gt-recover help %s", cli->command);
}
