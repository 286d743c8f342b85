#include <stdlib.h>
#include <string.h>

#include "records/records.h"
#include "records/recovery/recovery.h"
#include "records/runs/runs.h"
#include "base/buf.h"

static void
count(struct tally_list *t, const char *word)
{
	if (word == NULL || *word == '\0')
		word = "unknown";
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i].word, word) == 0) {
			t->v[i].n++;
			return;
		}
	t->v = vec_room(t->v, t->n, &t->cap, sizeof *t->v);
	t->v[t->n++] = (struct tally){ .word = xstrdup(word), .n = 1 };
}

static int
by_count(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->word, y->word);
}

static int
by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The nearest rank: the smallest value that `percent` of all do not exceed. */
static int64_t
percentile(const int64_t *sorted, size_t n, size_t percent)
{
	size_t rank = (n * percent + 99) / 100;

	return n == 0 ? -1 : sorted[rank > 0 ? rank - 1 : 0];
}

bool
record_socket_is_asked(const struct record_sockets *sockets, const char *socket)
{
	for (size_t i = 0; sockets != NULL && i < sockets->n; i++)
		if (socket != NULL && strcmp(sockets->v[i], socket) == 0)
			return true;
	return sockets == NULL || sockets->n == 0;
}

static void
count_attempts(const struct attempt_list *all, const struct record_sockets *sockets, struct record_stats *out)
{
	int64_t *took = xcalloc(all->n + 1, sizeof *took);

	for (size_t i = 0; i < all->n; i++) {
		const struct attempt *a = &all->v[i];
		int64_t end = a->times[PHASE_ACKNOWLEDGED];

		if (a->times[PHASE_DETECTED] < out->since || !record_socket_is_asked(sockets, a->socket))
			continue;
		out->attempts++;
		count(&out->phases, attempt_phase_name(a->phase));
		count(&out->classes, a->class);
		count(&out->reasons, a->reason);
		count(&out->deliveries, a->delivery);
		if (a->phase == PHASE_FAILED)
			count(&out->failures, a->why);
		if (a->phase == PHASE_ACKNOWLEDGED && a->crashed_at > 0 && end >= a->crashed_at)
			took[out->timed++] = end - a->crashed_at;
	}
	qsort(took, out->timed, sizeof *took, by_size);
	out->p50_ms = percentile(took, out->timed, 50);
	out->p95_ms = percentile(took, out->timed, 95);
	free(took);
}

struct refusals {
	const struct record_sockets *sockets;
	struct record_stats *out;
};

static int
count_refusal(const struct event_row *ev, void *arg)
{
	struct refusals *job = arg;
	struct record_stats *out = job->out;

	if (ev->at >= out->since && record_socket_is_asked(job->sockets, ev->socket)) {
		out->refused++;
		count(&out->refusals, ev->kind + strcspn(ev->kind, ".") + (strchr(ev->kind, '.') != NULL));
	}
	return 0;
}

static int
count_run(const struct record *rec, void *arg, struct err *e)
{
	struct record_stats *out = arg;
	struct run r;

	if (run_from_record(rec, &r, e) != 0)
		return -1;
	if (r.recoveries > 0 && r.recovered_at >= out->since) {
		out->recovered_runs++;
		count(&out->runs, r.recovered_from);
	}
	run_release(&r);
	return 0;
}

int
record_stats_read(struct store *s, int64_t since, const struct record_sockets *sockets,
    struct record_stats *out, struct err *e)
{
	struct refusals job = { sockets, out };
	struct tally_list *all[] = { &out->phases, &out->classes, &out->reasons, &out->deliveries,
		&out->failures, &out->refusals, &out->runs };
	struct attempt_list list = { 0 };
	int ret;

	memset(out, 0, sizeof *out);
	out->since = since;
	ret = attempt_list_all(s, &list, e);
	if (ret == 0)
		count_attempts(&list, sockets, out);
	attempt_list_release(&list);
	if (ret == 0)
		ret = event_each(s, "refusal", count_refusal, &job, e);
	if (ret == 0 && (sockets == NULL || sockets->n == 0))
		ret = store_each(s, "run:", NULL, count_run, out, e);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i]->n > 0)
			qsort(all[i]->v, all[i]->n, sizeof *all[i]->v, by_count);
	return ret;
}

static void
tallies_release(struct tally_list *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].word);
	free(t->v);
}

void
record_stats_release(struct record_stats *st)
{
	tallies_release(&st->phases);
	tallies_release(&st->classes);
	tallies_release(&st->reasons);
	tallies_release(&st->deliveries);
	tallies_release(&st->failures);
	tallies_release(&st->refusals);
	tallies_release(&st->runs);
	memset(st, 0, sizeof *st);
}
