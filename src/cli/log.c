#include <stdlib.h>
#include <time.h>

#include "cli/cli_private.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/io.h"
#include "base/utf8.h"
#include "store/store.h"

static json_t *
tallies_json(const struct tally_list *t)
{
	json_t *v = json_object();

	for (size_t i = 0; i < t->n; i++)
		json_put_int(v, t->v[i].word, (int64_t)t->v[i].n);
	return v;
}

/* Their words are sentences, which are no names of members. */
static json_t *
failures_json(const struct tally_list *t)
{
	json_t *v = json_array();

	for (size_t i = 0; i < t->n; i++) {
		json_t *one = json_object();

		json_put(one, "message", t->v[i].word);
		json_put_int(one, "count", (int64_t)t->v[i].n);
		json_array_append_new(v, one);
	}
	return v;
}

static void
print_stats_json(const struct record_stats *st)
{
	json_t *v = output_object(), *took = json_object();

	json_object_set_new(v, "since", st->since > 0 ? json_integer(st->since) : json_null());
	json_put_int(v, "attempts", (int64_t)st->attempts);
	json_object_set_new(v, "phases", tallies_json(&st->phases));
	json_object_set_new(v, "classes", tallies_json(&st->classes));
	json_object_set_new(v, "reasons", tallies_json(&st->reasons));
	json_object_set_new(v, "deliveries", tallies_json(&st->deliveries));
	json_object_set_new(v, "failures", failures_json(&st->failures));
	json_object_set_new(v, "refusals", tallies_json(&st->refusals));
	json_put_int(v, "recovered_runs", (int64_t)st->recovered_runs);
	json_object_set_new(v, "recovered_runs_from", tallies_json(&st->runs));
	json_put_int(took, "count", (int64_t)st->timed);
	json_object_set_new(took, "p50_ms", st->timed > 0 ? json_integer(st->p50_ms) : json_null());
	json_object_set_new(took, "p95_ms", st->timed > 0 ? json_integer(st->p95_ms) : json_null());
	json_object_set_new(v, "crash_to_acknowledged", took);
	output_json(v);
}

static void
print_tallies(const char *head, const struct tally_list *t, const char *(*word)(const char *name))
{
	struct buf words = BUF_INIT;

	for (size_t i = 0; i < t->n; i++)
		buf_fmt(&words, "%s%s %zu", i > 0 ? ", " : "",
		    output_shown(word != NULL ? word(t->v[i].word) : t->v[i].word, 60), t->v[i].n);
	if (t->n > 0)
		output_fitted(stdout, head, words.data, 24);
	buf_release(&words);
}

/* One a line: sentences are long. */
static void
print_failures(const struct tally_list *t)
{
	for (size_t i = 0; i < t->n; i++)
		printf("%-24s%zu x %s\n", i == 0 ? "failed since" : "", t->v[i].n,
		    output_shown(t->v[i].word, 100));
}

static void
print_stats_text(const struct record_stats *st)
{
	struct buf p50 = BUF_INIT, p95 = BUF_INIT;
	time_t at = (time_t)(st->since / 1000);
	char when[32];
	struct tm tm;

	if (st->since > 0 && localtime_r(&at, &tm) != NULL &&
	    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm) > 0)
		printf("%-24s%s\n", "since", when);
	printf("%-24s%zu\n", "attempts", st->attempts);
	print_tallies("result", &st->phases, NULL);
	print_tallies("state found", &st->classes, cmd_list_word);
	print_tallies("cause", &st->reasons, cmd_list_word);
	print_tallies("delivery", &st->deliveries, NULL);
	print_failures(&st->failures);
	printf("%-24s%zu\n", "refused", st->refused);
	print_tallies("by", &st->refusals, NULL);
	if (st->recovered_runs > 0)
		printf("%-24s%zu\n", "runs recovered", st->recovered_runs);
	print_tallies("that were", &st->runs, NULL);
	if (st->timed > 0) {
		clock_age(&p50, st->p50_ms);
		clock_age(&p95, st->p95_ms);
		printf("%-24shalf within %s, 95 %% within %s (%zu)\n", "crash to acknowledged", p50.data,
		    p95.data, st->timed);
	}
	buf_release(&p50);
	buf_release(&p95);
}

/* Of -L, none without it; heap, for release_sockets. */
static struct record_sockets
list_sockets(const struct app *w)
{
	struct record_sockets out = { xcalloc(w->n_servers + 1, sizeof *out.v), 0 };

	for (size_t i = 0; i < w->n_servers && w->sockets_named; i++) {
		char *path = tmux_socket_path(&w->servers[i]);

		if (path != NULL)
			out.v[out.n++] = path;
	}
	return out;
}

static void
release_sockets(struct record_sockets *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
}

int
cmd_stats(struct verb_job *j, struct err *e)
{
	struct record_stats st = { .attempts = 0 };
	struct record_sockets sockets;
	struct store *store = app_store(&j->w, false, e);
	int64_t since;
	int ret = 0;

	if ((store == NULL && e->code != 0) || cli_parse_since(&j->cli, &since, e) != 0)
		return -1;
	st.since = since;
	sockets = list_sockets(&j->w);
	if (store != NULL)
		ret = record_stats_read(store, since, &sockets, &st, e);
	release_sockets(&sockets);
	if (ret != 0) {
		record_stats_release(&st);
		return -1;
	}
	if (j->cli.json)
		print_stats_json(&st);
	else
		print_stats_text(&st);
	record_stats_release(&st);
	return GT_OK;
}

/* How an event is put to a person. One that is not here is shown by its kind. */
static const struct { const char *kind, *words; } kinds[] = {
	{ "attempt.detected", "recovery started" },
	{ "attempt.captured", "context saved" },
	{ "attempt.respawned", "agent started" },
	{ "attempt.delivered", "context delivered" },
	{ "attempt.acknowledged", "agent resumed" },
	{ "attempt.failed", "recovery failed" },
	{ "attempt.noted", "recovery recorded" },
	{ "session.armed", "armed" },
	{ "session.disarmed", "disarmed" },
	{ "session.released", "released" },
	{ "run.created", "run created" },
	{ "run.claimed", "run claimed" },
	{ "run.running", "run started" },
	{ "run.stopping", "run stopping" },
	{ "run.completed", "run completed" },
	{ "run.failed", "run failed" },
	{ "run.stopped", "run stopped" },
	{ "run.recovered", "runs recovered" },
	{ "runner.registered", "runner registered" },
	{ "session.recorded", "session recorded" },
	{ "session.suspended", "session suspended" },
	{ "session.restored", "session restored" },
	{ "session.started", "agent restarted" },
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
	struct record_sockets sockets;	/* of -L */
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
put_column(struct buf *out, const char *text, size_t width)
{
	size_t n = utf8_width(text, strlen(text));

	buf_fmt(out, "%s%*s  ", text, (int)(n < width ? width - n : 0), "");
}

/* Agents that run in no tmux session, and messages, go by their own ids. */
static bool
is_about_agent(const struct event_row *ev)
{
	return str_starts(ev->kind, "session.") || str_starts(ev->kind, "agent.") ||
	    str_starts(ev->kind, "message.");
}

static void
print_event(const struct log_job *j, const struct event_row *ev)
{
	struct buf age = BUF_INIT, name = BUF_INIT, rest = BUF_INIT, line = BUF_INIT;
	const char *text = strcmp(ev->kind, "attempt.detected") == 0 ? cmd_list_word(ev->text) : ev->text;
	time_t at = (time_t)(ev->at / 1000);
	char when[32] = "?";
	struct tm tm;

	if (localtime_r(&at, &tm) != NULL)
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
	clock_age(&age, j->now - ev->at);
	buf_str(&age, " ago");
	output_foreign(&name,
	    ev->session != NULL                             ? ev->session
		: is_about_agent(ev) && ev->subject != NULL ? ev->subject
							    : "-",
	    40);
	if ((str_starts(ev->kind, "attempt.") || str_starts(ev->kind, "run")) && ev->subject != NULL)
		output_foreign(&rest, ev->subject, 0);
	else if (str_starts(ev->kind, "refusal."))
		output_foreign(&rest, ev->kind + strlen("refusal."), 0);
	if (text != NULL && *text != '\0') {
		buf_str(&rest, rest.len > 0 ? "  " : "");
		output_foreign(&rest, text, 0);
	}
	if (host_is_other(ev->host)) {
		buf_str(&rest, rest.len > 0 ? "  on " : "on ");
		output_foreign(&rest, record_fleet_name(&j->fleet, ev->host), 0);
	}
	put_column(&line, age.data, 8);
	put_column(&line, name.data, 16);
	put_column(&line, words_of(ev->kind), rest.len > 0 ? 18 : 0);
	buf_str(&line, rest.data);
	output_fitted(stdout, when, line.data, (int)strlen("2026-01-02 03:04:05  "));
	buf_release(&line);
	buf_release(&age);
	buf_release(&name);
	buf_release(&rest);
}

static bool
matches_filter(const struct log_job *j, const struct event_row *ev)
{
	bool asked = j->cli->n_args == 0;

	for (size_t i = 0; i < j->cli->n_args && !asked; i++)
		asked = (ev->session != NULL && strcmp(j->cli->args[i], ev->session) == 0) ||
		    (is_about_agent(ev) && ev->subject != NULL && strcmp(j->cli->args[i], ev->subject) == 0);
	return asked && ev->at >= j->since && record_socket_is_asked(&j->sockets, ev->socket);
}

static int
take_event(const struct event_row *ev, void *arg)
{
	struct log_job *j = arg;
	json_t *v;

	if (!matches_filter(j, ev))
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
	json_put(v, "socket", ev->socket);
	if (ev->host != NULL)
		json_put(v, "host", ev->host);
	json_array_append_new(j->events, v);
	return 0;
}

/*
 * The export is brought up to the store first, which takes a torn end off; then each line of it
 * is compared.
 */
static int
verify(struct app *w, const struct cli *cli, struct err *e)
{
	char *path = io_join(w->state_dir, EVENT_LOG);
	struct event_log_state log;
	size_t written = 0;
	int ret = app_store(w, true, e) != NULL ? event_export(w->store, path, &written, e) : -1;

	if (ret == 0)
		ret = event_check(w->store, path, &log, e);
	if (ret == 0 && cli->json) {
		json_t *v = output_object(), *o = json_object();

		json_put(o, "file", path);
		json_put_int(o, "lines", (int64_t)(log.lines - log.left));
		json_put_int(o, "left", (int64_t)log.left);
		json_put_int(o, "written", (int64_t)written);
		json_object_set_new(v, "verified", o);
		output_json(v);
	} else if (ret == 0) {
		printf("%s contains the %zu event%s of the store", output_shown(path, 0),
		    log.lines - log.left, log.lines - log.left == 1 ? "" : "s");
		if (log.left > 0)
			printf("; %zu line%s before them record%s events that have left the store", log.left,
			    log.left == 1 ? "" : "s", log.left == 1 ? "s" : "");
		if (written > 0)
			printf("; %zu of them %s missing and were added", written,
			    written == 1 ? "was" : "were");
		puts(".");
	}
	free(path);
	return ret == 0 ? GT_OK : -1;
}

static int
show(struct app *w, const struct cli *cli, struct err *e)
{
	struct log_job j = { .cli = cli, .now = clock_wall_ms(), .events = cli->json ? json_array() : NULL };
	struct store *store = app_store(w, false, e);
	int ret = cli_parse_since(cli, &j.since, e);

	j.sockets = list_sockets(w);
	if (ret == 0 && store == NULL && e->code != 0)
		ret = -1;
	if (ret == 0 && store != NULL)
		ret = record_fleet_read(store, &j.fleet, e);
	if (ret == 0 && store != NULL)
		ret = event_each(store, NULL, take_event, &j, e);
	if (ret == 0 && cli->json) {
		json_t *v = output_object();

		json_object_set(v, "events", j.events);
		output_json(v);
	} else if (ret == 0 && j.shown == 0 && !cli->quiet) {
		fputs("No events yet.\n", stderr);
	}
	json_decref(j.events);
	record_fleet_release(&j.fleet);
	release_sockets(&j.sockets);
	return ret == 0 ? GT_OK : -1;
}

int
cmd_log(struct verb_job *j, struct err *e)
{
	if (j->cli.verify && j->cli.n_args > 0)
		return cli_no_arguments(&j->cli, e);
	return j->cli.verify ? verify(&j->w, &j->cli, e) : show(&j->w, &j->cli, e);
}
