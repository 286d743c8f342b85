#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/io.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "ledger/event.h"
#include "ledger/fleet.h"
#include "revive/world.h"
#include "store/store.h"

/* How an event is put to a person. One that is not here is shown by its kind. */
static const struct { const char *kind, *words; } kinds[] = {
	{ "attempt.detected", "recovery begun" },
	{ "attempt.captured", "context is on disk" },
	{ "attempt.respawned", "agent is started" },
	{ "attempt.delivered", "agent has its context" },
	{ "attempt.acknowledged", "agent goes on" },
	{ "attempt.failed", "recovery failed" },
	{ "attempt.noted", "recovery noted" },
	{ "session.armed", "armed" },
	{ "session.disarmed", "disarmed" },
	{ "session.released", "released" },
	{ "run.created", "run created" },
	{ "run.claimed", "run claimed" },
	{ "run.running", "run begun" },
	{ "run.stopping", "run is to stop" },
	{ "run.completed", "run completed" },
	{ "run.failed", "run failed" },
	{ "run.stopped", "run stopped" },
	{ "run.recovered", "runs recovered" },
	{ "runner.registered", "runner registered" },
	{ "session.recorded", "session recorded" },
	{ "session.suspended", "session suspended" },
	{ "session.restored", "session restored" },
	{ "session.started", "agent runs again" },
	{ "agent.spawned", "agent spawned by" },
	{ "agent.ended", "agent ended" },
	{ "agent.repaired", "place in the tree" },
	{ "message.sent", "message sent to" },
	{ "message.broadcast", "message to all" },
	{ "message.delivered", "delivered to" },
	{ "message.replied", "answered by message" },
	{ "message.flagged", "no answer known from" },
	{ "message.asked", "asked again" },
	{ "message.replayed", "sent again to" },
};

struct log_job {
	const struct cli *cli;
	int64_t since, now;
	json_t *events;			/* NULL: printed at once */
	struct fleet fleet;
	size_t shown;
};

static const char *
words_of(const char *kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].words;
	return str_starts(kind, "refusal.") ? "refused" : kind;
}

static void
put_column(const char *text, size_t width)
{
	size_t n = utf8_width(text, strlen(text));

	printf("%s%*s  ", text, (int)(n < width ? width - n : 0), "");
}

/* Agents that run in no tmux session, and messages, go by their own ids. */
static bool
is_about_agent(const struct event_row *ev)
{
	return str_starts(ev->kind, "session.") || str_starts(ev->kind, "agent.") || str_starts(ev->kind, "message.");
}

static void
print_event(const struct log_job *j, const struct event_row *ev)
{
	struct buf age = BUF_INIT, name = BUF_INIT, rest = BUF_INIT;
	time_t at = (time_t)(ev->at / 1000);
	char when[32] = "?";
	struct tm tm;

	if (localtime_r(&at, &tm) != NULL)
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
	clock_age(&age, j->now - ev->at);
	buf_str(&age, " ago");
	say_foreign(&name, ev->session != NULL ? ev->session : is_about_agent(ev) && ev->subject != NULL ? ev->subject : "-", 40);
	if ((str_starts(ev->kind, "attempt.") || str_starts(ev->kind, "run")) && ev->subject != NULL)
		say_foreign(&rest, ev->subject, 0);
	else if (str_starts(ev->kind, "refusal."))
		say_foreign(&rest, ev->kind + strlen("refusal."), 0);
	if (ev->text != NULL && *ev->text != '\0') {
		buf_str(&rest, rest.len > 0 ? "  " : "");
		say_foreign(&rest, ev->text, 0);
	}
	if (host_is_other(ev->host)) {
		buf_str(&rest, rest.len > 0 ? "  on " : "on ");
		say_foreign(&rest, fleet_name(&j->fleet, ev->host), 0);
	}
	printf("%s  ", when);
	put_column(age.data, 8);
	put_column(name.data, 24);
	put_column(words_of(ev->kind), rest.len > 0 ? 21 : 0);
	puts(rest.data);
	buf_release(&age);
	buf_release(&name);
	buf_release(&rest);
}

static bool
is_asked(const struct log_job *j, const struct event_row *ev)
{
	bool asked = j->cli->n_args == 0;

	for (size_t i = 0; i < j->cli->n_args && !asked; i++)
		asked = (ev->session != NULL && strcmp(j->cli->args[i], ev->session) == 0) ||
		    (is_about_agent(ev) && ev->subject != NULL && strcmp(j->cli->args[i], ev->subject) == 0);
	return asked && ev->at >= j->since;
}

static int
take_event(const struct event_row *ev, void *arg)
{
	struct log_job *j = arg;
	json_t *v;

	if (!is_asked(j, ev))
		return 0;
	j->shown++;
	if (j->events == NULL) {
		print_event(j, ev);
		return 0;
	}
	v = json_object();
	json_put_int(v, "seq", ev->seq);
	json_put_int(v, "at", ev->at);
	json_put(v, "kind", ev->kind);
	json_put(v, "subject", ev->subject);
	json_put(v, "session", ev->session);
	json_put(v, "text", ev->text);
	if (ev->host != NULL)
		json_put(v, "host", ev->host);
	json_array_append_new(j->events, v);
	return 0;
}

/* The export is brought up to the store first, which takes a torn end off; then each line of it is compared. */
static int
verify(struct world *w, const struct cli *cli, struct err *e)
{
	char *path = io_join(w->state_dir, EVENT_LOG);
	size_t written = 0, lines = 0;
	int ret = world_store(w, true, e) != NULL ? event_export(w->store, path, &written, e) : -1;

	if (ret == 0)
		ret = event_check(w->store, path, &lines, e);
	if (ret == 0 && cli->json) {
		json_t *v = say_object(), *o = json_object();

		json_put(o, "file", path);
		json_put_int(o, "events", (int64_t)lines);
		json_put_int(o, "written", (int64_t)written);
		json_object_set_new(v, "verified", o);
		say_json(v);
	} else if (ret == 0) {
		struct buf shown = BUF_INIT;

		say_foreign(&shown, path, 0);
		printf("%s holds the %zu event%s of the store, line for line", shown.data, lines, lines == 1 ? "" : "s");
		if (written > 0)
			printf("; %zu of them %s missing and had to be written", written, written == 1 ? "was" : "were");
		puts(".");
		buf_release(&shown);
	}
	free(path);
	return ret == 0 ? GT_OK : -1;
}

static int
show(struct world *w, const struct cli *cli, struct err *e)
{
	struct log_job j = { .cli = cli, .now = clock_wall_ms(), .events = cli->json ? json_array() : NULL };
	struct store *store = world_store(w, false, e);
	int ret = setup_since(cli, &j.since, e);

	if (ret == 0 && store == NULL && e->code != 0)
		ret = -1;
	if (ret == 0 && store != NULL)
		ret = fleet_read(store, &j.fleet, e);
	if (ret == 0 && store != NULL)
		ret = event_each(store, NULL, take_event, &j, e);
	if (ret == 0 && cli->json) {
		json_t *v = say_object();

		json_object_set(v, "events", j.events);
		say_json(v);
	} else if (ret == 0 && j.shown == 0 && !cli->quiet) {
		fputs("Nothing has happened yet that would be kept here.\n", stderr);
	}
	json_decref(j.events);
	fleet_release(&j.fleet);
	return ret == 0 ? GT_OK : -1;
}

int
cmd_log(const struct cli *cli, struct err *e)
{
	struct world w;
	int ret;

	if (setup_config(cli, &w, e) != 0)
		return -1;
	if (setup_disabled(cli, &w))
		ret = GT_OK;
	else if (cli->verify && cli->n_args > 0)
		ret = setup_no_arguments(cli, e);
	else
		ret = cli->verify ? verify(&w, cli, e) : show(&w, cli, e);
	setup_release(&w);
	return ret;
}
