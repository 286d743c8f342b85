#include <stdlib.h>
#include <string.h>

#include "ledger/run_recover.h"
#include "ledger/event.h"
#include "ledger/run.h"
#include "ledger/run_session.h"
#include "ledger/runner.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "base/json.h"
#include "base/moment.h"
#include "store/store.h"

#define TRIES 50			/* each lost round is another writer's success */
#define COMMIT_MAX_BYTES ((size_t)32 << 20)

static const char *const modes[] = { "none", "stale", "all" };

int
run_mode_of(const char *word)
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

/* What one commit is to hold. */
struct batch {
	struct store *s;
	const struct run_recovery *how;
	const struct moment *now;
	struct runners runners;
	struct run_report report;
	struct change *changes;
	size_t n, cap, bytes;
	struct run_session *sessions;	/* of the runs in it, each once */
	bool *touched;
	size_t n_sessions, cap_sessions, cap_touched;
	json_t *places;			/* session id -> its place among them */
	json_t *seen;			/* the keys of its runs */
	bool full;
	bool outdated;			/* a run went on while it was filled */
};

static void
batch_clear(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		free((char *)(uintptr_t)b->changes[i].key);
		free((char *)(uintptr_t)b->changes[i].value);
	}
	for (size_t i = 0; i < b->n_sessions; i++)
		run_session_release(&b->sessions[i]);
	json_decref(b->places);
	json_decref(b->seen);
	runners_release(&b->runners);
	b->places = json_object();
	b->seen = json_object();
	b->n = b->n_sessions = b->bytes = 0;
	b->full = b->outdated = false;
	memset(&b->report, 0, sizeof b->report);
}

static void
batch_release(struct batch *b)
{
	batch_clear(b);
	json_decref(b->places);
	json_decref(b->seen);
	free(b->changes);
	free(b->sessions);
	free(b->touched);
}

/* The session as the runs before this one in the batch leave it. NULL: it has no record; -1 by *failed. */
static struct run_session *
session_of(struct batch *b, const struct run *r, size_t *place, bool *failed, struct err *e)
{
	const json_t *at = r->session_id != NULL ? json_object_get(b->places, r->session_id) : NULL;
	int found;

	*failed = false;
	if (r->session_id == NULL)
		return NULL;
	if (at == NULL) {
		b->sessions = vec_room(b->sessions, b->n_sessions, &b->cap_sessions, sizeof *b->sessions);
		b->touched = vec_room(b->touched, b->n_sessions, &b->cap_touched, sizeof *b->touched);
		*place = b->n_sessions;
		found = run_session_load(b->s, r->session_id, &b->sessions[*place], e);
		b->touched[b->n_sessions++] = false;
		json_object_set_new(b->places, r->session_id, json_integer((json_int_t)*place));
		*failed = found < 0;
	} else {
		*place = (size_t)json_integer_value(at);
	}
	return !*failed && b->sessions[*place].version > 0 ? &b->sessions[*place] : NULL;
}

static bool
is_old(const struct batch *b, const struct run *r)
{
	struct moment entered = r->entered;
	int64_t age;

	/* a record that others wrote tells only these; the seed's rule is that without them it is old */
	if (entered.boot_id[0] == '\0')
		entered.wall_ms = r->state == RUN_CLAIMED ? r->claimed_at : r->started_at;
	age = moment_age(&entered, b->now);
	return age < 0 || age > b->how->threshold_ms;
}

static bool
runner_has_it(const struct batch *b, const struct run *r)
{
	const struct runner *who = r->runner_id != NULL ? runners_find(&b->runners, r->runner_id) : NULL;

	return who != NULL && who->life == r->runner_life && runner_lives(who, b->now, b->how->threshold_ms);
}

/* Is it to be left alone? Counted. What another host has was not restarted with this one. */
static bool
is_kept(struct batch *b, const struct run *r)
{
	if (!host_is_other(r->host) && (b->how->mode == RUN_MODE_ALL || (r->state == RUN_STOPPING && !b->how->between)))
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
settle(const struct batch *b, struct run *r, enum run_state to)
{
	enum run_state from = r->state;

	r->state = to;
	r->entered = *b->now;
	r->recovered_at = b->now->wall_ms;
	r->recoveries++;
	run_set(&r->recovered_from, run_state_name(from));
	if (to == RUN_PENDING) {
		run_set(&r->runner_id, NULL);
		run_set(&r->claim_id, NULL);
		r->claimed_at = r->runner_life = 0;
		r->host[0] = '\0';
		return;
	}
	r->completed_at = b->now->wall_ms;
	if (to == RUN_FAILED)
		run_set(&r->error, from == RUN_CLAIMED || b->how->mode == RUN_MODE_ALL ? RUN_ERROR_UNKNOWN : RUN_ERROR_STALE);
}

static void
add(struct batch *b, char *key, char *value, int64_t expect, const char *tag)
{
	b->changes = vec_room(b->changes, b->n, &b->cap, sizeof *b->changes);
	b->changes[b->n++] = (struct change){ CHANGE_PUT, key, expect, tag, value };
	b->bytes += strlen(value);
}

static int
take_run(const struct record *rec, void *arg, struct err *e)
{
	struct batch *b = arg;
	enum run_state from, to;
	struct run_session *x;
	size_t place;
	struct run r;
	bool failed = false;

	/* the states are read one after the other */
	b->outdated = json_object_get(b->seen, rec->key) != NULL;
	if (b->outdated)
		return 1;
	if (run_from_record(rec, &r, e) != 0)
		return -1;
	json_object_set_new(b->seen, rec->key, json_true());
	from = to = r.state;
	if (!is_kept(b, &r)) {
		to = from == RUN_STOPPING ? RUN_STOPPED : from == RUN_CLAIMED && !b->how->claimed_fails ? RUN_PENDING : RUN_FAILED;
		count(&b->report, from, to);
	}
	if (r.state != to && !b->how->dry_run) {
		settle(b, &r, to);
		x = to != RUN_PENDING ? session_of(b, &r, &place, &failed, e) : NULL;
		if (x != NULL && run_session_take(x, &r, from))
			b->touched[place] = true;
		add(b, xstrdup(rec->key), run_json(&r), r.version, run_state_name(to));
		b->full = b->bytes > COMMIT_MAX_BYTES;
	}
	run_release(&r);
	return failed ? -1 : b->full ? 1 : 0;
}

/* In this order, so that of several runs of one session the seed's comes last. -1, or 0. */
static int
fill(struct batch *b, struct err *e)
{
	static const enum run_state open[] = { RUN_CLAIMED, RUN_RUNNING, RUN_STOPPING };
	struct change c;
	char *key, *value;
	int ret = 0;

	batch_clear(b);
	if (b->how->mode == RUN_MODE_STALE || *host_id() != '\0')
		ret = runners_read(b->s, &b->runners, e);
	for (size_t i = 0; i < sizeof open / sizeof open[0] && ret == 0; i++)
		ret = store_each(b->s, "run:", run_state_name(open[i]), take_run, b, e);
	for (size_t i = 0; i < b->n_sessions && ret >= 0; i++) {
		if (!b->touched[i])
			continue;
		run_session_change(&b->sessions[i], &key, &value, &c);
		add(b, key, value, c.expect, c.tag);
	}
	return ret < 0 ? -1 : 0;
}

static enum commit
commit(struct batch *b, struct err *e)
{
	const struct run_report *r = &b->report;
	char *words = xasprintf("%s: %zu reset to pending, %zu marked failed, %zu marked stopped", modes[b->how->mode], r->reset_to_pending,
	    r->marked_failed, r->marked_stopped);
	struct event ev = { .kind = "run.recovered", .text = words };
	enum commit answer = event_commit(b->s, b->changes, b->n, &ev, e);

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
run_recover(struct store *s, const struct run_recovery *how, const struct moment *now, struct run_report *out, struct err *e)
{
	struct batch b = { .s = s, .how = how, .now = now, .places = json_object(), .seen = json_object() };
	int ret = 0, lost = 0;
	bool more = how->mode != RUN_MODE_NONE;

	memset(out, 0, sizeof *out);
	while (ret == 0 && more) {
		enum commit answer = COMMIT_DONE;

		ret = fill(&b, e);
		if (b.outdated)
			answer = COMMIT_CONFLICT;
		else if (ret == 0 && b.n > 0 && !how->dry_run)
			answer = commit(&b, e);
		if (answer == COMMIT_CONFLICT && ++lost < TRIES)
			continue;
		if (answer == COMMIT_CONFLICT) {
			err_set(e, GT_AGAIN, "conflict", "the runs are being changed by others all the time");
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
