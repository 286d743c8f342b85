/*
 * One kind of record, in the order of its keys, a page at a time. By age each record is judged for
 * itself. By number a first walk samples when records ended, from which follows before which moment
 * they are too many; a second one deletes. A sample that is as large as the kind is exact; above
 * SAMPLE records some more than the limit stay, and the next look has fewer to sample.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "records/history/history_private.h"
#include "base/err.h"

#define SAMPLE ((size_t)65536)

enum phase { IDLE, SURVEY, SWEEP, HOLD };

struct walk {
	enum phase phase;
	size_t tag;			/* index in the kind's tags */
	char *after;			/* the last key that was read; NULL: none of this tag */
	int64_t *sample;
	size_t n, cap;
	int64_t seen, stride;		/* each stride-th of the seen is in the sample */
	int64_t cutoff, ties;		/* what ended before leaves, and so many of that moment */
	int64_t oldest;			/* of those that stayed */
	struct history_hold hold;	/* of kinds by tree */
};

static void
load_walk(struct walk *w, const json_t *state, bool by_tree)
{
	const json_t *sample = json_object_get(state, "sample");
	const char *after = json_text(state, "after", NULL);

	*w = (struct walk){ .phase = (enum phase)json_number(state, "phase", IDLE),
		.tag = (size_t)json_number(state, "tag", 0),
		.after = after != NULL ? xstrdup(after) : NULL,
		.seen = json_number(state, "seen", 0),
		.stride = json_number(state, "stride", 1),
		.cutoff = json_number(state, "cutoff", INT64_MIN),
		.ties = json_number(state, "ties", 0),
		.oldest = json_number(state, "oldest", INT64_MAX) };
	for (size_t i = 0; i < json_array_size(sample); i++) {
		w->sample = vec_room(w->sample, w->n, &w->cap, sizeof *w->sample);
		w->sample[w->n++] = json_integer_value(json_array_get(sample, i));
	}
	if ((w->phase == HOLD || w->phase == SWEEP) && by_tree && !history_hold_load(&w->hold, state))
		w->phase = HOLD + 1;
	if (w->phase > HOLD || w->stride < 1)
		*w = (struct walk){ .stride = 1, .cutoff = INT64_MIN, .oldest = INT64_MAX };
}

static void
save_walk(const struct walk *w, json_t *state)
{
	json_t *sample;

	json_put_int(state, "phase", w->phase);
	if (w->phase == IDLE) {
		static const char *const names[] = { "tag", "after", "seen", "stride", "cutoff", "ties",
			"oldest", "sample", "hold", "seed", "grown" };

		for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
			json_object_del(state, names[i]);
		return;
	}
	json_put_int(state, "tag", (int64_t)w->tag);
	json_put(state, "after", w->after);
	json_put_int(state, "seen", w->seen);
	json_put_int(state, "stride", w->stride);
	json_put_int(state, "cutoff", w->cutoff);
	json_put_int(state, "ties", w->ties);
	json_put_int(state, "oldest", w->oldest);
	sample = json_array();
	for (size_t i = 0; i < w->n && w->phase == SURVEY; i++)
		json_array_append_new(sample, json_integer(w->sample[i]));
	json_object_set_new(state, "sample", sample);
	history_hold_save(&w->hold, state);
}

static void
release_walk(struct walk *w)
{
	free(w->after);
	free(w->sample);
	history_hold_release(&w->hold);
}

static void
rewind_walk(struct walk *w, enum phase phase)
{
	free(w->after);
	w->after = NULL;
	w->tag = 0;
	w->phase = phase;
}

static void
add_sample(struct walk *w, int64_t at)
{
	if (w->seen++ % w->stride != 0)
		return;
	if (w->n == SAMPLE) {
		for (size_t i = 0; i < SAMPLE / 2; i++)
			w->sample[i] = w->sample[2 * i];
		w->n = SAMPLE / 2;
		w->stride *= 2;
		if ((w->seen - 1) % w->stride != 0)
			return;
	}
	w->sample = vec_room(w->sample, w->n, &w->cap, sizeof *w->sample);
	w->sample[w->n++] = at;
}

static int
newest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

/* Where a sample stands for more than itself, three standard deviations more than `count` are to stay. */
static void
set_cutoff(struct walk *w, int64_t count)
{
	double share = w->seen > 0 ? (double)count / (double)w->seen : 1, spare = 0;
	size_t stay;

	w->cutoff = INT64_MIN;
	w->ties = 0;
	if (count <= 0 || w->seen <= count)
		return;
	if (w->stride > 1)
		spare = 3 * sqrt(share * (1 - share) * (double)w->n) + 1;
	stay = (size_t)ceil(share * (double)w->n + spare);
	if (w->stride == 1)
		stay = (size_t)count;
	if (stay >= w->n)
		return;
	qsort(w->sample, w->n, sizeof *w->sample, newest_first);
	w->cutoff = w->sample[stay];
	for (size_t i = stay; i < w->n && w->sample[i] == w->cutoff; i++)
		w->ties += w->stride;
}

static int
survey_row(struct history *h, const struct history_kind *k, struct walk *w, const struct record *r,
    struct err *e)
{
	struct json_slice o;
	int64_t at = history_ended_at(h, k, r, &o);

	(void)e;
	if (at >= 0)
		add_sample(w, at);
	return 0;
}

/* By itself, whatever its tree is. */
static bool
is_over(const struct history *h, const struct history_kind *k, const struct walk *w, int64_t at)
{
	int64_t before = h->before;

	if (!k->counted && before > h->now.wall_ms - h->limits->crashes_ms)
		before = h->now.wall_ms - h->limits->crashes_ms;
	return at >= 0 && ((at > 0 && at < before) || at < w->cutoff);
}

/* Also of links: one that is open stays. */
static int
hold_row(struct history *h, const struct history_kind *k, struct walk *w, const struct record *r,
    struct err *e)
{
	bool link = str_starts(r->key, "tree:");
	struct json_slice o;

	(void)e;
	history_hold_row(&w->hold, r,
	    link ? strcmp(r->tag, "ended") != 0
		 : strcmp(r->tag, k->tags[0]) != 0 || !is_over(h, k, w, history_ended_at(h, k, r, &o)));
	return 0;
}

static int
sweep_row(struct history *h, const struct history_kind *k, struct walk *w, const struct record *r,
    struct err *e)
{
	struct json_slice o;
	int64_t at = history_ended_at(h, k, r, &o);
	bool leaves = is_over(h, k, w, at);

	if (k->by_tree && leaves)
		return history_is_held(&w->hold, r->key + strlen(k->prefix)) ? 0 : k->along(h, r, o, e);
	if (!k->by_tree && at >= 0 && !leaves && at == w->cutoff && w->ties > 0) {
		w->ties--;
		leaves = true;
	}
	if (!leaves) {
		if (at > 0 && at < w->oldest)
			w->oldest = at;
		return 0;
	}
	history_take(h, r);
	return k->along != NULL ? k->along(h, r, o, e) : 0;
}

/* What a walk reads next, by w->tag. False: nothing. */
static bool
next_range(const struct history_kind *k, const struct walk *w, const char **prefix, const char **tag)
{
	static const char *const links[] = { "session:", "tree:" };
	size_t i = w->tag, n = w->phase == HOLD ? 2 : sizeof k->tags / sizeof k->tags[0];

	if (i >= n || (w->phase != HOLD && i > 0 && k->tags[i] == NULL))
		return false;
	*prefix = w->phase == HOLD ? links[i] : k->prefix;
	*tag = w->phase == HOLD ? NULL : k->tags[i];
	return true;
}

/* From where it stands to the end. 1: time is up. */
static int
walk_rows(struct history *h, const struct history_kind *k, struct walk *w,
    int (*row)(struct history *, const struct history_kind *, struct walk *, const struct record *,
	struct err *),
    struct err *e)
{
	const char *prefix, *tag;
	int ret = 0;

	while (ret == 0 && next_range(k, w, &prefix, &tag)) {
		struct records page = { 0 };
		bool more;

		ret = store_scan(h->s, prefix, tag, w->after, HISTORY_BATCH, &page, e);
		for (size_t i = 0; i < page.n && ret == 0; i++)
			ret = row(h, k, w, &page.v[i], e);
		if (ret == 0)
			ret = history_flush(h, e);
		more = page.n == HISTORY_BATCH;
		if (ret == 0) {
			free(w->after);
			w->after = more ? xstrdup(page.v[page.n - 1].key) : NULL;
			w->tag += !more;
		}
		store_records_release(&page);
		/* one page at least: a sweep gets on, however short its time */
		if (ret == 0 && history_is_late(h) && next_range(k, w, &prefix, &tag))
			ret = 1;
	}
	return ret;
}

static int
count_kind(struct history *h, const struct history_kind *k, size_t *n, struct err *e)
{
	size_t one;

	*n = 0;
	for (size_t i = 0; i < sizeof k->tags / sizeof k->tags[0] && (i == 0 || k->tags[i] != NULL); i++) {
		if (store_count(h->s, k->prefix, k->tags[i], &one, e) != 0)
			return -1;
		*n += one;
	}
	return 0;
}

/* Walks over all links until one adds nobody. */
static int
hold_trees(struct history *h, const struct history_kind *k, struct walk *w, struct err *e)
{
	int ret = 0;

	if (w->hold.bits == NULL)
		history_hold_begin(&w->hold);
	while (w->phase == HOLD && (ret = walk_rows(h, k, w, hold_row, e)) == 0) {
		rewind_walk(w, w->hold.grown ? HOLD : SWEEP);
		w->hold.grown = false;
	}
	return ret;
}

int
history_walk(struct history *h, const struct history_kind *k, json_t *state, struct err *e)
{
	int64_t count = k->counted ? h->limits->count : 0;
	enum phase last = k->by_tree ? HOLD : SWEEP;
	struct walk w;
	size_t n;
	int ret = 0;

	if (count_kind(h, k, &n, e) != 0)
		return -1;
	load_walk(&w, state, k->by_tree);
	if (w.phase == IDLE && history_is_due(h, state, n, k->counted)) {
		w.oldest = INT64_MAX;
		w.cutoff = INT64_MIN;
		rewind_walk(&w, count > 0 && (int64_t)n > count ? SURVEY : last);
	}
	if (w.phase == SURVEY && (ret = walk_rows(h, k, &w, survey_row, e)) == 0) {
		set_cutoff(&w, count);
		rewind_walk(&w, last);
	}
	if (w.phase == HOLD && ret == 0)
		ret = hold_trees(h, k, &w, e);
	if (w.phase == SWEEP && ret == 0 && (ret = walk_rows(h, k, &w, sweep_row, e)) == 0) {
		w.phase = IDLE;
		history_set_next(h, state, w.oldest);
		/* those above the number that may not leave yet are no reason to look again at once */
		ret = count_kind(h, k, &n, e);
		json_put_flag(state, "held", w.stride == 1 && !h->conflict && (int64_t)n > count);
	}
	save_walk(&w, state);
	release_walk(&w);
	return ret;
}
