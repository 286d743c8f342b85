#include <stdlib.h>
#include <string.h>

#include "records/runs/runs.h"
#include "records/records_private.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"

#define TRIES 50			/* each lost round is another writer's success */
#define COMMIT_MAX_BYTES ((size_t)32 << 20)

static const char *const modes[] = { "none", "stale", "all" };

int
run_mode_parse(const char *word)
{
	for (int i = RUN_MODE_NONE; i <= RUN_MODE_ALL; i++)
		if (strcmp(modes[i], word) == 0)
			return i;
	return -1;
}

const char *
run_mode_name(enum run_mode mode)
{
	return modes[mode];
}

/* A run that was read; what is kept has no value. */
struct recovered_run {
	char *key, *value;
	char *session;			/* whose session may change with it; NULL: none */
	int64_t version;
	enum run_state from, to;
	char *session_key, *session_value;	/* of the first run of a session: its change */
	struct change session_change;
};

#define MAX_STATES 3

/* What one commit is to hold. */
struct recovery_commit {
	struct store *s;
	const struct run_recovery *how;
	const struct timestamp *now;
	struct runner_list runners;
	struct run_report report;
	struct recovered_run *items;		/* a state after the other, each by key */
	size_t n, cap, bytes;
	size_t begin[MAX_STATES + 1];	/* of each state */
	/* those with a session, by it, those of one as they were read */
	struct recovered_run **by_session;
	/* at: the first whose session is not before the last one that was read */
	size_t n_by_session, at;
	struct change *changes;
	size_t n_changes;
	bool full;
	bool outdated;			/* a run or session went on while it was filled */
};

static void
batch_clear(struct recovery_commit *b)
{
	for (size_t i = 0; i < b->n; i++) {
		free(b->items[i].key);
		free(b->items[i].value);
		free(b->items[i].session);
		free(b->items[i].session_key);
		free(b->items[i].session_value);
	}
	runner_list_release(&b->runners);
	free(b->by_session);
	free(b->changes);
	b->by_session = NULL;
	b->changes = NULL;
	b->n = b->n_by_session = b->n_changes = b->bytes = 0;
	b->full = b->outdated = false;
	memset(&b->report, 0, sizeof b->report);
}

static void
batch_release(struct recovery_commit *b)
{
	batch_clear(b);
	free(b->items);
}

static bool
is_old(const struct recovery_commit *b, const struct run *r)
{
	struct timestamp entered = r->entered;
	int64_t age;

	/* a record that others wrote tells only these; the seed's rule is that without them it is old */
	if (entered.boot_id[0] == '\0')
		entered.wall_ms = r->state == RUN_CLAIMED ? r->claimed_at : r->started_at;
	age = timestamp_age(&entered, b->now);
	return age < 0 || age > b->how->threshold_ms;
}

static bool
runner_has_it(const struct recovery_commit *b, const struct run *r)
{
	const struct runner *who = r->runner_id != NULL ? runner_list_find(&b->runners, r->runner_id) : NULL;

	return who != NULL && who->generation == r->runner_generation &&
	    runner_is_alive(who, b->now, b->how->threshold_ms);
}

/* It entered its state on this boot, in another container, which may still run. */
static bool
is_contained(const struct recovery_commit *b, const struct run *r)
{
	return timestamp_contained(r->entered.boot_id, r->entered.pid_ns, b->now) &&
	    proc_life_in(r->entered.pid_ns, 0, 0, b->now) == LIFE_ELSEWHERE;
}

/* Is it to be left alone? Counted. What another host or container has was not restarted with this one. */
static bool
keeps_state(struct recovery_commit *b, const struct run *r)
{
	bool at_once = b->how->mode == RUN_MODE_ALL || (r->state == RUN_STOPPING && !b->how->between);

	if (at_once && !host_is_other(r->host) && !is_contained(b, r))
		return false;
	if (!is_old(b, r)) {
		b->report.kept_young++;
		return true;
	}
	if (!runner_has_it(b, r))
		return false;
	b->report.kept_by_runner++;
	return true;
}

static void
count(struct run_report *out, enum run_state from, enum run_state to)
{
	out->claimed += from == RUN_CLAIMED;
	out->running += from == RUN_RUNNING;
	out->stopping += from == RUN_STOPPING;
	out->reset_to_pending += to == RUN_PENDING;
	out->marked_failed += to == RUN_FAILED;
	out->marked_stopped += to == RUN_STOPPED;
}

static void
settle(const struct recovery_commit *b, struct run *r, enum run_state to)
{
	enum run_state from = r->state;

	r->state = to;
	r->entered = *b->now;
	r->recovered_at = b->now->wall_ms;
	r->recoveries++;
	record_set(&r->recovered_from, run_state_name(from));
	if (to == RUN_PENDING) {
		record_set(&r->runner_id, NULL);
		record_set(&r->claim_id, NULL);
		r->claimed_at = r->runner_generation = 0;
		r->host[0] = '\0';
		return;
	}
	r->completed_at = b->now->wall_ms;
	if (to == RUN_FAILED)
		record_set(&r->error,
		    from == RUN_CLAIMED || b->how->mode == RUN_MODE_ALL ? RUN_ERROR_UNKNOWN
									: RUN_ERROR_STALE);
}

static int
take_run(const struct record *rec, void *arg, struct err *e)
{
	struct recovery_commit *b = arg;
	struct recovered_run *x;
	struct run r;

	if (run_from_record(rec, &r, e) != 0)
		return -1;
	b->items = vec_room(b->items, b->n, &b->cap, sizeof *b->items);
	x = &b->items[b->n++];
	*x = (struct recovered_run){
		.key = xstrdup(rec->key), .version = r.version, .from = r.state, .to = r.state
	};
	if (!keeps_state(b, &r)) {
		x->to = x->from == RUN_STOPPING                        ? RUN_STOPPED
		    : x->from == RUN_CLAIMED && !b->how->claimed_fails ? RUN_PENDING
								       : RUN_FAILED;
		count(&b->report, x->from, x->to);
	}
	if (x->to != x->from && !b->how->dry_run) {
		settle(b, &r, x->to);
		x->value = run_json(&r);
		b->bytes += strlen(x->value);
		b->full = b->bytes > COMMIT_MAX_BYTES;
		if (x->to != RUN_PENDING) {
			x->session = r.session_id;
			r.session_id = NULL;
		}
	}
	run_release(&r);
	return b->full ? 1 : 0;
}

/* ---- their sessions ---- */

static int
by_session(const void *a, const void *b)
{
	const struct recovered_run *x = *(struct recovered_run *const *)a,
				   *y = *(struct recovered_run *const *)b;
	int order = strcmp(x->session, y->session);

	return order != 0 ? order : (x > y) - (x < y);
}

/* In the order of fill, so that of several runs of one session the seed's comes last. */
static int
take_session(const struct record *rec, void *arg, struct err *e)
{
	struct recovery_commit *b = arg;
	const char *id = rec->key + strlen(RUN_SESSION_PREFIX);
	struct run_session x;
	struct recovered_run *first;
	bool touched = false;

	while (b->at < b->n_by_session && strcmp(b->by_session[b->at]->session, id) < 0)
		b->at++;
	if (b->at == b->n_by_session)
		return 1;
	first = b->by_session[b->at];
	if (strcmp(first->session, id) != 0)
		return 0;
	if (record_decode(&run_session_type, rec, &x, e) != 0)
		return -1;
	for (; b->at < b->n_by_session && strcmp(b->by_session[b->at]->session, id) == 0; b->at++) {
		struct recovered_run *one = b->by_session[b->at];
		struct run r = { .id = one->key + strlen("run:"), .state = one->to };

		touched = run_session_apply(&x, &r, one->from) || touched;
	}
	/* one that is read in both states went from the first to the second meanwhile */
	b->outdated = b->outdated || first->session_key != NULL;
	if (touched && !b->outdated) {
		first->session_key = xstrdup(rec->key);
		first->session_value = record_encode(&run_session_type, &x);
		first->session_change = (struct change){ CHANGE_PUT, first->session_key, x.version,
			run_session_status_name(x.status), first->session_value };
		b->n_changes++;
	}
	run_session_release(&x);
	return b->outdated ? 1 : 0;
}

/*
 * One that is neither running nor stopping changes with no run that ends. A page after the other:
 * to ask for each costs more than all of them.
 */
static int
read_sessions(struct recovery_commit *b, struct err *e)
{
	static const enum run_session_status open[] = { RUN_SESSION_RUNNING, RUN_SESSION_STOPPING };
	int ret = 0;

	b->by_session = xcalloc(b->n + 1, sizeof(struct recovered_run *));
	for (size_t i = 0; i < b->n; i++)
		if (b->items[i].session != NULL)
			b->by_session[b->n_by_session++] = &b->items[i];
	if (b->n_by_session > 0)
		qsort(b->by_session, b->n_by_session, sizeof(struct recovered_run *), by_session);
	for (size_t i = 0;
	    i < sizeof open / sizeof open[0] && b->n_by_session > 0 && ret >= 0 && !b->outdated; i++) {
		b->at = 0;
		ret = store_each(
		    b->s, RUN_SESSION_PREFIX, run_session_status_name(open[i]), take_session, b, e);
	}
	return ret < 0 ? -1 : 0;
}

/* ---- the commit ---- */

/*
 * The state whose next run has the smallest key; STATES: none is left. A run that is read in two
 * states went on meanwhile.
 */
static size_t
smallest(struct recovery_commit *b, const size_t at[MAX_STATES])
{
	size_t least = MAX_STATES;

	for (size_t i = 0; i < MAX_STATES; i++) {
		int order = 1;

		if (at[i] == b->begin[i + 1])
			continue;
		if (least < MAX_STATES)
			order = strcmp(b->items[at[least]].key, b->items[at[i]].key);
		b->outdated = b->outdated || order == 0;
		if (order > 0)
			least = i;
	}
	return least;
}

/*
 * By key, each session beside its run: neighbours were mostly written together, and a page of the
 * file is touched once.
 */
static void
put_in_order(struct recovery_commit *b)
{
	size_t at[MAX_STATES], least;

	memcpy(at, b->begin, sizeof at);
	b->changes = xcalloc(b->n + b->n_changes + 1, sizeof *b->changes);
	b->n_changes = 0;
	while ((least = smallest(b, at)) < MAX_STATES && !b->outdated) {
		const struct recovered_run *x = &b->items[at[least]++];

		if (x->value != NULL)
			b->changes[b->n_changes++] = (struct change){ CHANGE_PUT, x->key, x->version,
				run_state_name(x->to), x->value };
		if (x->session_key != NULL)
			b->changes[b->n_changes++] = x->session_change;
	}
}

/* -1, or 0. */
static int
fill(struct recovery_commit *b, struct err *e)
{
	static const enum run_state open[MAX_STATES] = { RUN_CLAIMED, RUN_RUNNING, RUN_STOPPING };
	int ret;

	batch_clear(b);
	ret = runner_list_read(b->s, &b->runners, e);
	for (size_t i = 0; i < MAX_STATES; i++) {
		b->begin[i] = b->n;
		if (ret == 0)
			ret = store_each(b->s, "run:", run_state_name(open[i]), take_run, b, e);
	}
	b->begin[MAX_STATES] = b->n;
	if (ret >= 0)
		ret = read_sessions(b, e);
	if (ret >= 0)
		put_in_order(b);
	return ret < 0 ? -1 : 0;
}

static enum commit
commit_recovery(struct recovery_commit *b, struct err *e)
{
	const struct run_report *r = &b->report;
	char *words = xasprintf("%s: %zu reset to pending, %zu marked failed, %zu marked stopped",
	    modes[b->how->mode], r->reset_to_pending, r->marked_failed, r->marked_stopped);
	struct event ev = { .kind = "run.recovered", .text = words };
	enum commit answer = event_commit(b->s, b->changes, b->n_changes, &ev, e);

	free(words);
	return answer;
}

static void
sum(struct run_report *out, const struct run_report *more)
{
	out->reset_to_pending += more->reset_to_pending;
	out->marked_failed += more->marked_failed;
	out->marked_stopped += more->marked_stopped;
	out->claimed += more->claimed;
	out->running += more->running;
	out->stopping += more->stopping;
	out->kept_by_runner = more->kept_by_runner;
	out->kept_young = more->kept_young;
}

int
run_recover(struct store *s, const struct run_recovery *how, const struct timestamp *now,
    struct run_report *out, struct err *e)
{
	struct recovery_commit b = { .s = s, .how = how, .now = now };
	int ret = 0, lost = 0;
	bool more = how->mode != RUN_MODE_NONE;

	memset(out, 0, sizeof *out);
	while (ret == 0 && more) {
		enum commit answer = COMMIT_DONE;

		ret = fill(&b, e);
		if (b.outdated)
			answer = COMMIT_CONFLICT;
		else if (ret == 0 && b.n_changes > 0 && !how->dry_run)
			answer = commit_recovery(&b, e);
		if (answer == COMMIT_CONFLICT && ++lost < TRIES)
			continue;
		if (answer == COMMIT_CONFLICT) {
			err_set(e, GT_AGAIN, "conflict", "the runs are changing too often");
			err_hint(e, "run the command again");
		}
		if (answer != COMMIT_DONE)
			ret = -1;
		if (ret == 0)
			sum(out, &b.report);
		more = b.full && !how->dry_run;
	}
	batch_release(&b);
	return ret;
}
