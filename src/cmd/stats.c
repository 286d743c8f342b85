#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "ledger/stats.h"
#include "revive/world.h"
#include "store/store.h"

static json_t *
tallies_json(const struct tallies *t)
{
	json_t *v = json_object();

	for (size_t i = 0; i < t->n; i++)
		json_put_int(v, t->v[i].word, (int64_t)t->v[i].n);
	return v;
}

static void
print_json(const struct stats *st)
{
	json_t *v = say_object(), *took = json_object();

	json_object_set_new(v, "since", st->since > 0 ? json_integer(st->since) : json_null());
	json_put_int(v, "attempts", (int64_t)st->attempts);
	json_object_set_new(v, "phases", tallies_json(&st->phases));
	json_object_set_new(v, "classes", tallies_json(&st->classes));
	json_object_set_new(v, "reasons", tallies_json(&st->reasons));
	json_object_set_new(v, "deliveries", tallies_json(&st->deliveries));
	json_object_set_new(v, "failures", tallies_json(&st->failures));
	json_object_set_new(v, "refusals", tallies_json(&st->refusals));
	json_put_int(v, "recovered_runs", (int64_t)st->recovered_runs);
	json_object_set_new(v, "recovered_runs_from", tallies_json(&st->runs));
	json_put_int(took, "n", (int64_t)st->timed);
	json_object_set_new(took, "p50", st->timed > 0 ? json_integer(st->p50_ms) : json_null());
	json_object_set_new(took, "p95", st->timed > 0 ? json_integer(st->p95_ms) : json_null());
	json_object_set_new(v, "crash_to_acknowledged_ms", took);
	say_json(v);
}

static void
print_tallies(const char *head, const struct tallies *t)
{
	if (t->n == 0)
		return;
	printf("%-24s", head);
	for (size_t i = 0; i < t->n; i++) {
		struct buf word = BUF_INIT;

		say_foreign(&word, t->v[i].word, 60);
		printf("%s%s %zu", i > 0 ? ", " : "", word.data, t->v[i].n);
		buf_release(&word);
	}
	putchar('\n');
}

/* One a line: sentences are long. */
static void
print_failures(const struct tallies *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct buf why = BUF_INIT;

		say_foreign(&why, t->v[i].word, 100);
		printf("%-24s%zu × %s\n", i == 0 ? "failed since" : "", t->v[i].n, why.data);
		buf_release(&why);
	}
}

static void
print_words(const struct stats *st)
{
	struct buf p50 = BUF_INIT, p95 = BUF_INIT;
	time_t at = (time_t)(st->since / 1000);
	char when[32];
	struct tm tm;

	if (st->since > 0 && localtime_r(&at, &tm) != NULL && strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm) > 0)
		printf("%-24s%s\n", "since", when);
	printf("%-24s%zu\n", "attempts", st->attempts);
	print_tallies("how far they came", &st->phases);
	print_tallies("what was found", &st->classes);
	print_tallies("why it had died", &st->reasons);
	print_tallies("how the context went in", &st->deliveries);
	print_failures(&st->failures);
	printf("%-24s%zu\n", "refused", st->refused);
	print_tallies("by", &st->refusals);
	if (st->recovered_runs > 0)
		printf("%-24s%zu\n", "runs recovered", st->recovered_runs);
	print_tallies("that were", &st->runs);
	if (st->timed > 0) {
		clock_age(&p50, st->p50_ms);
		clock_age(&p95, st->p95_ms);
		printf("%-24shalf within %s, 95 %% within %s (%zu)\n", "crash to acknowledged", p50.data, p95.data, st->timed);
	}
	buf_release(&p50);
	buf_release(&p95);
}

int
cmd_stats(const struct cli *cli, struct err *e)
{
	struct stats st = { .attempts = 0 };
	struct store *store;
	struct world w;
	int64_t since;
	int ret = -1;

	if (cli->n_args > 0)
		return setup_no_arguments(cli, e);
	if (setup_config(cli, &w, e) != 0)
		return -1;
	if (setup_disabled(cli, &w)) {
		setup_release(&w);
		return GT_OK;
	}
	store = world_store(&w, false, e);
	if (setup_since(cli, &since, e) == 0 && (store != NULL || e->code == 0)) {
		st.since = since;
		ret = store != NULL ? stats_read(store, since, &st, e) : 0;
	}
	if (ret == 0 && cli->json)
		print_json(&st);
	else if (ret == 0)
		print_words(&st);
	stats_release(&st);
	setup_release(&w);
	return ret == 0 ? GT_OK : -1;
}
