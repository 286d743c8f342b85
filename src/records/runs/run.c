#include <stdlib.h>
#include <string.h>

#include "records/runs/runs.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "records/records_private.h"

static const char *const run_state_names[RUN_STATES] = { "pending", "claimed", "running", "stopping",
	"completed", "failed", "stopped" };

/* 1: the verbs may, 2: recovery alone may */
static const unsigned char steps[RUN_STATES][RUN_STATES] = {
	[RUN_PENDING] = { [RUN_CLAIMED] = 1, [RUN_STOPPED] = 1 },
	[RUN_CLAIMED] = { [RUN_PENDING] = 2, [RUN_RUNNING] = 1, [RUN_STOPPING] = 1, [RUN_FAILED] = 1 },
	[RUN_RUNNING] = { [RUN_STOPPING] = 1, [RUN_COMPLETED] = 1, [RUN_FAILED] = 1 },
	[RUN_STOPPING] = { [RUN_COMPLETED] = 1, [RUN_FAILED] = 1, [RUN_STOPPED] = 1 },
};

static const struct record_field run_fields[] = {
	F_TEXT(run, "run_id", id, 0),
	F_TEXT(run, "session_id", session_id, 0),
	F_TEXT(run, "type", type, 0),
	F_TEXT(run, "prompt", prompt, 0),
	F_TEXT(run, "runner_id", runner_id, 0),
	F_TEXT(run, "error", error, 0),
	F_TEXT(run, "recovered_from", recovered_from, 0),
	F_TEXT(run, "claim_id", claim_id, 0),
	F_TIME(run, "created_at", created_at),
	F_TIME(run, "claimed_at", claimed_at),
	F_TIME(run, "started_at", started_at),
	F_TIME(run, "completed_at", completed_at),
	F_TIME(run, "recovered_at", recovered_at),
	F_INT(run, "recoveries", recoveries, 0, 0),
	F_INT(run, "fence", fence, 0, 0),
	F_INT(run, "runner_life", runner_generation, 0, 0),
	F_INT(run, "entered_at", entered.wall_ms, 0, 0),
	F_INT(run, "entered_boot_ms", entered.boot_ms, 0, 0),
	F_INT(run, "pid_ns", entered.pid_ns, 0, 0),
	F_WORD(run, "boot_id", entered.boot_id, 0),
	F_WORD(run, "host", host, FIELD_OPTIONAL),
	F_WORD(run, "entered_host", entered.host, FIELD_OPTIONAL),
};
const struct record_type run_type = { .prefix = "run:", .schema = 1, RECORD_SELF(run), RECORD_ID(run, id),
	RECORD_STATE(run, state, run_state_names), .refusal = "is not a run in a known state",
	.fields = FIELDS(run_fields) };

const char *
run_state_name(enum run_state state)
{
	return run_state_names[state];
}

int
run_state_parse(const char *name)
{
	for (int i = 0; i < RUN_STATES; i++)
		if (strcmp(run_state_names[i], name) == 0)
			return i;
	return -1;
}

bool
run_state_final(enum run_state state)
{
	return state >= RUN_COMPLETED;
}

bool
run_state_allows(enum run_state from, enum run_state to, bool recovery)
{
	return steps[from][to] == 1 || (recovery && steps[from][to] == 2);
}

void
run_release(struct run *r)
{
	record_free(&run_type, r);
}

char *
run_json(const struct run *r)
{
	return record_encode(&run_type, r);
}

int
run_from_record(const struct record *rec, struct run *r, struct err *e)
{
	return record_decode(&run_type, rec, r, e);
}

int
run_load(struct store *s, const char *id, struct run *out, struct err *e)
{
	return record_load(s, &run_type, id, out, e);
}

/* ---- the session of a run ---- */

static const char *const session_status_names[RUN_SESSION_STATUSES] = { "running", "stopping", "stopped",
	"finished" };
static const struct record_field session_fields[] = {
	F_TEXT(run_session, "session_id", id, 0),
	F_TEXT(run_session, "execution_mode", execution_mode, FIELD_FILLED),
	F_INT(run_session, "created_at", created_at, 0, 0),
	F_TEXT(run_session, "run_id", run_id, FIELD_FILLED),
};
const struct record_type run_session_type = { .prefix = RUN_SESSION_PREFIX, .schema = 1,
	RECORD_SELF(run_session), RECORD_ID(run_session, id),
	RECORD_STATE(run_session, status, session_status_names), .refusal = "has no known status",
	.fields = FIELDS(session_fields) };

const char *
run_session_status_name(enum run_session_status status)
{
	return session_status_names[status];
}

int
run_session_load(struct store *s, const char *id, struct run_session *x, struct err *e)
{
	int found = record_load(s, &run_session_type, id, x, e);

	if (x->id == NULL)
		x->id = xstrdup(id);
	return found;
}

void
run_session_release(struct run_session *x)
{
	record_free(&run_session_type, x);
}

static void
begin(struct run_session *x, const char *run_id)
{
	record_set(&x->run_id, run_id);
	x->status = RUN_SESSION_RUNNING;
}

bool
run_session_apply(struct run_session *x, const struct run *r, enum run_state from)
{
	bool open = x->status == RUN_SESSION_RUNNING || x->status == RUN_SESSION_STOPPING;
	bool follows = x->run_id == NULL || *x->run_id == '\0' || strcmp(x->run_id, r->id) == 0;
	enum run_session_status was = x->status;

	switch (r->state) {
	case RUN_PENDING:
		if (from == RUN_PENDING && !open)
			begin(x, r->id);
		break;
	case RUN_RUNNING:
		if (!open || !follows || *x->run_id == '\0') {
			begin(x, r->id);
			return true;
		}
		break;
	case RUN_STOPPING:
		if (follows && x->status == RUN_SESSION_RUNNING)
			x->status = RUN_SESSION_STOPPING;
		break;
	case RUN_STOPPED:
		if (follows && open)
			x->status = RUN_SESSION_STOPPED;
		break;
	case RUN_COMPLETED:
	case RUN_FAILED:
		if (follows && (x->status == RUN_SESSION_RUNNING || (open && from == RUN_STOPPING)))
			x->status = RUN_SESSION_FINISHED;
		break;
	default:
		break;
	}
	return x->status != was;
}

/* ---- steps ---- */

#define TRIES 100			/* each lost round is another writer's success */
#define PAGE 32				/* pending runs that a claim tries before it looks again */

static void
enter(struct run *r, enum run_state state, const struct timestamp *now)
{
	r->state = state;
	r->entered = *now;
	if (run_state_final(state))
		r->completed_at = now->wall_ms;
}

/* What a verb is asked, and what becomes of it. */
struct run_step {
	const struct run_holder *h;	/* runner_id NULL: whoever it is */
	enum run_state to;
	const char *error;		/* of a failed one */
	const struct run *made;		/* to be created, as a session of this kind: */
	const char *execution_mode;
	const struct timestamp *now;
	struct run *out;		/* as it is now */
	int changed;
};

/* The run as it is now, and its session where the step changes that. */
static int
put_run(struct txn *t, const struct run *r, enum run_state from, const char *words, struct err *e)
{
	char *kind = xasprintf("run.%s", run_state_name(r->state));
	struct run_session x = { .version = 0 };
	int found = r->session_id != NULL ? run_session_load(t->s, r->session_id, &x, e) : 0;

	txn_put(t, &run_type, r);
	txn_event(t, kind, r->id, r->session_id, words);
	if (found > 0 && run_session_apply(&x, r, from))
		txn_put(t, &run_session_type, &x);
	run_session_release(&x);
	free(kind);
	return found < 0 ? -1 : 0;
}

static int
contended(const char *id, struct err *e)
{
	err_set(e, GT_AGAIN, "conflict", "the run %.200s is changing too often", id);
	return err_hint(e, "run the command again");
}

static int
not_found(const char *id, struct err *e)
{
	err_set(e, GT_NOTHING, "not-found", "no run %.200s", id);
	return err_hint(e, "gt-recover records run list shows them");
}

static int
not_allowed(const struct run *r, enum run_state to, struct err *e)
{
	err_set(e, GT_REFUSED, "transition", "the run %.200s is %s and cannot become %s", r->id,
	    run_state_name(r->state), run_state_name(to));
	return err_hint(e,
	    run_state_final(r->state) ? "it has ended; create another one"
				      : "gt-recover records run list shows its state");
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
	if (r->runner_id != NULL && strcmp(r->runner_id, h->runner_id) == 0 &&
	    (h->fence == 0 || h->fence == r->fence))
		return 0;
	err_set(e, GT_REFUSED, "not-yours", "the run %.200s is %s, and not claimed by %.200s%s", r->id,
	    run_state_name(r->state), h->runner_id, h->fence != 0 ? " under that number" : "");
	return err_hint(e, "it was released or claimed again: drop it and claim another");
}

static int
step_once(struct txn *t, void *arg, struct err *e)
{
	struct run_step *x = arg;
	struct run *r = x->out;
	enum run_state from, to = x->to;

	x->changed = 0;
	run_release(r);
	if (load_for(t->s, x->h->run_id, r, e) < 0 ||
	    (x->h->runner_id != NULL && check_holder(r, x->h, e) != 0))
		return -1;
	from = r->state;
	if (x->h->runner_id == NULL && from == RUN_PENDING)
		to = RUN_STOPPED;
	if (from == to || (x->h->runner_id == NULL && from == RUN_STOPPED))
		return 0;
	if (!run_state_allows(from, to, false))
		return not_allowed(r, to, e);
	enter(r, to, x->now);
	if (to == RUN_RUNNING)
		r->started_at = x->now->wall_ms;
	else if (to == RUN_FAILED)
		record_set(&r->error, x->error);
	x->changed = 1;
	return put_run(t, r, from, x->h->runner_id, e);
}

/* What the verbs answer. */
static int
take_run_step(int (*verb)(struct txn *, void *, struct err *), struct store *s, const char *id,
    struct run_step *x, struct err *e)
{
	memset(x->out, 0, sizeof *x->out);
	if (txn_run(s, verb, x, e) == 0) {
		x->out->version += x->changed;
		return x->changed;
	}
	run_release(x->out);
	return e != NULL && strcmp(e->name, "conflict") == 0 ? contended(id, e) : -1;
}

/* --- the verbs --- */

static char *
new_id(const struct timestamp *now)
{
	char random[9];

	io_random_hex(random, 4);
	return xasprintf("run_%012llx_%s", (unsigned long long)now->wall_ms, random);
}

/* 0: it is the same one. */
static int
compare(const struct run *there, const struct run *asked, struct err *e)
{
	if (there->session_id != NULL && strcmp(there->session_id, asked->session_id) == 0 &&
	    there->prompt != NULL && strcmp(there->prompt, asked->prompt) == 0 && there->type != NULL &&
	    strcmp(there->type, asked->type) == 0)
		return 0;
	err_set(e, GT_REFUSED, "exists", "another run %.200s exists", there->id);
	return err_hint(e, "omit the id: then one is generated");
}

/* With the session, new or running again. */
static int
create_once(struct txn *t, void *arg, struct err *e)
{
	struct run_step *x = arg;
	const struct run *r = x->made;
	struct run_session session;
	int found;

	x->changed = 0;
	run_release(x->out);
	if ((found = run_load(t->s, r->id, x->out, e)) != 0)
		return found > 0 ? compare(x->out, r, e) : -1;
	if ((found = run_session_load(t->s, r->session_id, &session, e)) == 0) {
		session.status = RUN_SESSION_RUNNING;
		session.run_id = xstrdup(r->id);
		session.execution_mode = xstrdup(x->execution_mode != NULL ? x->execution_mode : "sync");
		session.created_at = x->now->wall_ms;
	}
	txn_put(t, &run_type, r);
	txn_event(t, "run.created", r->id, r->session_id, r->type);
	if (found == 0 || (found > 0 && run_session_apply(&session, r, RUN_PENDING)))
		txn_put(t, &run_session_type, &session);
	run_session_release(&session);
	x->changed = 1;
	return found < 0 ? -1 : 0;
}

int
run_create(struct store *s, const struct run *r, const char *execution_mode, const struct timestamp *now,
    struct run *out, struct err *e)
{
	struct run made = { .type = xstrdup(r->type != NULL ? r->type : "START_SESSION"),
		.session_id = xstrdup(r->session_id),
		.prompt = xstrdup(r->prompt),
		.id = r->id != NULL ? xstrdup(r->id) : new_id(now),
		.created_at = now->wall_ms };
	struct run_step x = { .made = &made, .execution_mode = execution_mode, .now = now, .out = out };
	int ret = -1;

	enter(&made, RUN_PENDING, now);
	if (record_check_id("the id of a run", made.id, e) == 0 &&
	    record_check_id("the id of a run's session", made.session_id, e) == 0)
		ret = take_run_step(create_once, s, made.id, &x, e);
	if (ret == 1 && run_load(s, made.id, out, e) != 1)
		ret = -1;
	run_release(&made);
	return ret;
}

/* 1, 0: somebody else was faster, -1. */
static int
claim_once(
    struct store *s, struct run *r, const struct run_holder *h, const struct timestamp *now, struct err *e)
{
	struct txn t = { .s = s };
	enum commit answer;
	struct runner who;

	if (runner_load(s, h->runner_id, &who, e) < 0)
		return -1;
	enter(r, RUN_CLAIMED, now);
	record_set(&r->runner_id, h->runner_id);
	record_set(&r->claim_id, h->claim_id);
	r->claimed_at = now->wall_ms;
	r->fence++;
	r->runner_generation = who.generation;
	memcpy(r->host, now->host, sizeof r->host);
	runner_release(&who);
	if (put_run(&t, r, RUN_PENDING, h->runner_id, e) != 0) {
		txn_release(&t);
		return -1;
	}
	answer = txn_commit(&t, e);
	r->version += answer == COMMIT_DONE;
	return answer == COMMIT_DONE ? 1 : answer == COMMIT_CONFLICT ? 0 : -1;
}

/* 1, 0: all of the page went to others, 2: nothing is pending, -1. */
static int
claim_any(
    struct store *s, const struct run_holder *h, const struct timestamp *now, struct run *out, struct err *e)
{
	struct records page = { 0 };
	int ret = store_scan(s, run_type.prefix, run_state_name(RUN_PENDING), NULL, PAGE, &page, e);

	if (ret == 0 && page.n == 0)
		ret = 2;
	for (size_t i = 0; i < page.n && ret == 0; i++) {
		ret = run_from_record(&page.v[i], out, e);
		if (ret == 0)
			ret = claim_once(s, out, h, now, e);
		if (ret != 1)
			run_release(out);
	}
	store_records_release(&page);
	return ret;
}

struct claim_search {
	const struct run_holder *h;
	struct run *out;
};

static int
is_that_claim(const struct record *rec, void *arg, struct err *e)
{
	const struct claim_search *a = arg;

	if (run_from_record(rec, a->out, e) != 0)
		return -1;
	if (a->out->claim_id != NULL && strcmp(a->out->claim_id, a->h->claim_id) == 0 &&
	    a->out->runner_id != NULL && strcmp(a->out->runner_id, a->h->runner_id) == 0)
		return 1;
	run_release(a->out);
	return 0;
}

int
run_claim(
    struct store *s, const struct run_holder *h, const struct timestamp *now, struct run *out, struct err *e)
{
	struct claim_search asked = { h, out };
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (record_check_id("the id of a runner", h->runner_id, e) != 0)
		return -1;
	if (h->claim_id != NULL) {
		ret = store_each(s, run_type.prefix, run_state_name(RUN_CLAIMED), is_that_claim, &asked, e);
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
		ret = out->state == RUN_PENDING ? claim_once(s, out, h, now, e)
						: not_allowed(out, RUN_CLAIMED, e);
		if (ret != 1)
			run_release(out);
	}
	if (ret == 0)
		return contended(h->run_id != NULL ? h->run_id : "that is pending", e);
	return ret == 2 ? 0 : ret;
}

int
run_start(
    struct store *s, const struct run_holder *h, const struct timestamp *now, struct run *out, struct err *e)
{
	struct run_step x = { .h = h, .to = RUN_RUNNING, .now = now, .out = out };

	return take_run_step(step_once, s, h->run_id, &x, e);
}

int
run_finish(struct store *s, const struct run_holder *h, enum run_state state, const char *error,
    const struct timestamp *now, struct run *out, struct err *e)
{
	struct run_step x = { .h = h, .to = state, .error = error, .now = now, .out = out };

	return take_run_step(step_once, s, h->run_id, &x, e);
}

int
run_stop(struct store *s, const char *id, const struct timestamp *now, struct run *out, struct err *e)
{
	const struct run_holder any = { .run_id = id };
	struct run_step x = { .h = &any, .to = RUN_STOPPING, .now = now, .out = out };

	return take_run_step(step_once, s, id, &x, e);
}
