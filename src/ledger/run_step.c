#include <stdlib.h>
#include <string.h>

#include "ledger/run.h"
#include "ledger/event.h"
#include "ledger/key.h"
#include "ledger/run_session.h"
#include "ledger/runner.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

#define PREFIX "run:"
#define TRIES 100			/* each lost round is another writer's success */
#define PAGE 32				/* pending runs that a claim tries before it looks again */

static void
enter(struct run *r, enum run_state state, const struct moment *now)
{
	r->state = state;
	r->entered = *now;
	if (run_state_final(state))
		r->completed_at = now->wall_ms;
}

/* The run as it is now, and its session where the step changes that. 1, 0: somebody else was faster, -1. */
static int
commit(struct store *s, struct run *r, enum run_state from, const char *words, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", r->id), *value = run_json(r), *kind = xasprintf("run.%s", run_state_name(r->state));
	char *session_key = NULL, *session_value = NULL;
	struct event ev = { .kind = kind, .subject = r->id, .session = r->session_id, .text = words };
	struct change c[2] = { { CHANGE_PUT, key, r->version, run_state_name(r->state), value } };
	struct run_session x = { .version = 0 };
	enum commit answer = COMMIT_ERROR;
	size_t n = 1;
	int found = r->session_id != NULL ? run_session_load(s, r->session_id, &x, e) : 0;

	if (found > 0 && run_session_take(&x, r, from))
		run_session_change(&x, &session_key, &session_value, &c[n++]);
	if (found >= 0)
		answer = event_commit(s, c, n, &ev, e);
	r->version += answer == COMMIT_DONE;
	run_session_release(&x);
	free(session_key);
	free(session_value);
	free(kind);
	free(value);
	free(key);
	return answer == COMMIT_DONE ? 1 : answer == COMMIT_CONFLICT ? 0 : -1;
}

static int
contended(const char *id, struct err *e)
{
	err_set(e, GT_AGAIN, "conflict", "the run %.200s is being changed by others all the time", id);
	return err_hint(e, "run the command again");
}

static int
not_found(const char *id, struct err *e)
{
	err_set(e, GT_NOTHING, "not-found", "there is no run %.200s", id);
	return err_hint(e, "gt-recover run list shows them");
}

static int
not_allowed(const struct run *r, enum run_state to, struct err *e)
{
	err_set(e, GT_REFUSED, "transition", "the run %.200s is %s and cannot become %s", r->id, run_state_name(r->state),
	    run_state_name(to));
	return err_hint(e, run_state_final(r->state) ? "it has ended; create another one" : "gt-recover run list shows where it stands");
}

/* 1 and *r afresh, or what a verb answers. */
static int
load_for(struct store *s, const char *id, struct run *r, struct err *e)
{
	int found = run_load(s, id, r, e);

	return found == 0 ? not_found(id, e) : found;
}

static int
check_holder(const struct run *r, const struct run_holder *h, struct err *e)
{
	if (r->runner_id != NULL && strcmp(r->runner_id, h->runner_id) == 0 && (h->fence == 0 || h->fence == r->fence))
		return 0;
	err_set(e, GT_REFUSED, "not-yours", "the run %.200s is %s, and not claimed by %.200s%s", r->id, run_state_name(r->state),
	    h->runner_id, h->fence != 0 ? " under that number" : "");
	return err_hint(e, "it was given back or out again in between: drop it, and claim another");
}

/* What a holder's step does besides entering the state. */
static void
note(struct run *r, const char *error, const struct moment *now)
{
	if (r->state == RUN_RUNNING)
		r->started_at = now->wall_ms;
	else if (r->state == RUN_FAILED)
		run_set(&r->error, error);
}

static int
holder_step(struct store *s, const struct run_holder *h, enum run_state to, const char *error, const struct moment *now, struct run *out,
    struct err *e)
{
	int ret = 0;

	for (int i = 0; i < TRIES && ret == 0; i++) {
		enum run_state from;

		if (load_for(s, h->run_id, out, e) < 0)
			return -1;
		from = out->state;
		if (check_holder(out, h, e) != 0)
			ret = -1;
		else if (from == to)
			return 0;
		else if (!run_state_may(from, to, false))
			ret = not_allowed(out, to, e);
		if (ret == 0) {
			enter(out, to, now);
			note(out, error, now);
			ret = commit(s, out, from, h->runner_id, e);
		}
		if (ret != 1)
			run_release(out);
	}
	return ret == 0 ? contended(h->run_id, e) : ret;
}

/* --- the verbs --- */

static char *
new_id(const struct moment *now)
{
	char random[9];

	io_random_hex(random, 4);
	return xasprintf("run_%012llx_%s", (unsigned long long)now->wall_ms, random);
}

/* 0: it is the same one. */
static int
compare(const struct run *there, const struct run *asked, struct err *e)
{
	const char *type = asked->type != NULL ? asked->type : "START_SESSION";

	if (there->session_id != NULL && strcmp(there->session_id, asked->session_id) == 0 && there->prompt != NULL &&
	    strcmp(there->prompt, asked->prompt) == 0 && there->type != NULL && strcmp(there->type, type) == 0)
		return 0;
	err_set(e, GT_REFUSED, "exists", "there is another run %.200s already", there->id);
	return err_hint(e, "leave the id out, and a new one is made");
}

/* With the session, new or running again. 1, 0: somebody else was faster, -1. */
static int
create_once(struct store *s, const struct run *r, const char *execution_mode, const struct moment *now, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", r->id), *value = run_json(r), *session_key = NULL, *session_value = NULL;
	struct event ev = { .kind = "run.created", .subject = r->id, .session = r->session_id, .text = r->type };
	struct change c[2] = { { CHANGE_PUT, key, STORE_ABSENT, run_state_name(RUN_PENDING), value } };
	struct run_session x;
	enum commit answer = COMMIT_ERROR;
	size_t n = 1;
	int found = run_session_load(s, r->session_id, &x, e);

	if (found == 0) {
		x.status = RUN_SESSION_RUNNING;
		x.run_id = xstrdup(r->id);
		x.execution_mode = xstrdup(execution_mode != NULL ? execution_mode : "sync");
		x.created_at = now->wall_ms;
	}
	if (found == 0 || (found > 0 && run_session_take(&x, r, RUN_PENDING)))
		run_session_change(&x, &session_key, &session_value, &c[n++]);
	if (found >= 0)
		answer = event_commit(s, c, n, &ev, e);
	run_session_release(&x);
	free(session_key);
	free(session_value);
	free(value);
	free(key);
	return answer == COMMIT_DONE ? 1 : answer == COMMIT_CONFLICT ? 0 : -1;
}

int
run_create(struct store *s, const struct run *r, const char *execution_mode, const struct moment *now, struct run *out, struct err *e)
{
	struct run made = { .type = xstrdup(r->type != NULL ? r->type : "START_SESSION"), .session_id = xstrdup(r->session_id),
		.prompt = xstrdup(r->prompt), .id = r->id != NULL ? xstrdup(r->id) : new_id(now), .created_at = now->wall_ms };
	int ret = 0, found;

	memset(out, 0, sizeof *out);
	enter(&made, RUN_PENDING, now);
	if (key_check_id("the id of a run", made.id, e) != 0 || key_check_id("the id of a run's session", made.session_id, e) != 0)
		ret = -1;
	for (int i = 0; i < TRIES && ret == 0; i++) {
		found = run_load(s, made.id, out, e);
		if (found > 0)
			ret = compare(out, r, e);
		else
			ret = found < 0 ? -1 : create_once(s, &made, execution_mode, now, e);
		if (found > 0 && ret == 0)
			break;
		run_release(out);
		if (ret == 0 && i == TRIES - 1)
			ret = contended(made.id, e);
	}
	if (ret == 1 && run_load(s, made.id, out, e) != 1)
		ret = -1;
	run_release(&made);
	return ret;
}

/* 1, 0: somebody else was faster, -1. */
static int
claim_once(struct store *s, struct run *r, const struct run_holder *h, const struct moment *now, struct err *e)
{
	struct runner who;
	int found = runner_load(s, h->runner_id, &who, e);

	if (found < 0)
		return -1;
	enter(r, RUN_CLAIMED, now);
	run_set(&r->runner_id, h->runner_id);
	run_set(&r->claim_id, h->claim_id);
	r->claimed_at = now->wall_ms;
	r->fence++;
	r->runner_life = who.life;
	memcpy(r->host, now->host, sizeof r->host);
	runner_release(&who);
	return commit(s, r, RUN_PENDING, h->runner_id, e);
}

/* 1, 0: all of the page went to others, 2: nothing is pending, -1. */
static int
claim_any(struct store *s, const struct run_holder *h, const struct moment *now, struct run *out, struct err *e)
{
	struct records page = { 0 };
	int ret = store_scan(s, PREFIX, run_state_name(RUN_PENDING), NULL, PAGE, &page, e);

	if (ret == 0 && page.n == 0)
		ret = 2;
	for (size_t i = 0; i < page.n && ret == 0; i++) {
		ret = run_from_record(&page.v[i], out, e);
		if (ret == 0)
			ret = claim_once(s, out, h, now, e);
		if (ret != 1)
			run_release(out);
	}
	records_release(&page);
	return ret;
}

struct asked {
	const struct run_holder *h;
	struct run *out;
};

static int
is_that_claim(const struct record *rec, void *arg, struct err *e)
{
	const struct asked *a = arg;

	if (run_from_record(rec, a->out, e) != 0)
		return -1;
	if (a->out->claim_id != NULL && strcmp(a->out->claim_id, a->h->claim_id) == 0 && a->out->runner_id != NULL &&
	    strcmp(a->out->runner_id, a->h->runner_id) == 0)
		return 1;
	run_release(a->out);
	return 0;
}

int
run_claim(struct store *s, const struct run_holder *h, const struct moment *now, struct run *out, struct err *e)
{
	struct asked asked = { h, out };
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (key_check_id("the id of a runner", h->runner_id, e) != 0)
		return -1;
	if (h->claim_id != NULL) {
		ret = store_each(s, PREFIX, run_state_name(RUN_CLAIMED), is_that_claim, &asked, e);
		if (ret != 0)
			return ret < 0 ? -1 : 2;
	}
	for (int i = 0; i < TRIES && ret == 0; i++) {
		if (h->run_id == NULL) {
			ret = claim_any(s, h, now, out, e);
			continue;
		}
		if (load_for(s, h->run_id, out, e) < 0)
			return -1;
		ret = out->state == RUN_PENDING ? claim_once(s, out, h, now, e) : not_allowed(out, RUN_CLAIMED, e);
		if (ret != 1)
			run_release(out);
	}
	if (ret == 0)
		return contended(h->run_id != NULL ? h->run_id : "that is pending", e);
	return ret == 2 ? 0 : ret;
}

int
run_start(struct store *s, const struct run_holder *h, const struct moment *now, struct run *out, struct err *e)
{
	return holder_step(s, h, RUN_RUNNING, NULL, now, out, e);
}

int
run_finish(struct store *s, const struct run_holder *h, enum run_state state, const char *error, const struct moment *now,
    struct run *out, struct err *e)
{
	return holder_step(s, h, state, error, now, out, e);
}

int
run_stop(struct store *s, const char *id, const struct moment *now, struct run *out, struct err *e)
{
	int ret = 0;

	for (int i = 0; i < TRIES && ret == 0; i++) {
		enum run_state from, to;

		if (load_for(s, id, out, e) < 0)
			return -1;
		from = out->state;
		to = from == RUN_PENDING ? RUN_STOPPED : RUN_STOPPING;
		if (from == RUN_STOPPING || from == RUN_STOPPED)
			return 0;
		if (!run_state_may(from, to, false)) {
			ret = not_allowed(out, to, e);
		} else {
			enter(out, to, now);
			ret = commit(s, out, from, NULL, e);
		}
		if (ret != 1)
			run_release(out);
	}
	return ret == 0 ? contended(id, e) : ret;
}
