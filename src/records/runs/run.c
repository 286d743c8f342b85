#include <stdlib.h>
#include <string.h>

#include "records/runs/runs.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "records/records.h"

#define RUN_PREFIX "run:"
#define RUN_SCHEMA 1

#define N(table) (sizeof table / sizeof table[0])

static const char *const run_state_names[RUN_STATES] = { "pending", "claimed", "running", "stopping",
	"completed", "failed", "stopped" };

/* 1: the verbs may, 2: recovery alone may */
static const unsigned char steps[RUN_STATES][RUN_STATES] = {
	[RUN_PENDING] = { [RUN_CLAIMED] = 1, [RUN_STOPPED] = 1 },
	[RUN_CLAIMED] = { [RUN_PENDING] = 2, [RUN_RUNNING] = 1, [RUN_STOPPING] = 1, [RUN_FAILED] = 1 },
	[RUN_RUNNING] = { [RUN_STOPPING] = 1, [RUN_COMPLETED] = 1, [RUN_FAILED] = 1 },
	[RUN_STOPPING] = { [RUN_COMPLETED] = 1, [RUN_FAILED] = 1, [RUN_STOPPED] = 1 },
};

/* A TIME is null where there is none. */
static const struct run_field {
	const char *key;
	size_t at;
	enum { RUN_TEXT, RUN_TIME, RUN_NUMBER } kind;
} fields[] = {
	{ "session_id", offsetof(struct run, session_id), RUN_TEXT },
	{ "type", offsetof(struct run, type), RUN_TEXT },
	{ "prompt", offsetof(struct run, prompt), RUN_TEXT },
	{ "runner_id", offsetof(struct run, runner_id), RUN_TEXT },
	{ "error", offsetof(struct run, error), RUN_TEXT },
	{ "recovered_from", offsetof(struct run, recovered_from), RUN_TEXT },
	{ "claim_id", offsetof(struct run, claim_id), RUN_TEXT },
	{ "created_at", offsetof(struct run, created_at), RUN_TIME },
	{ "claimed_at", offsetof(struct run, claimed_at), RUN_TIME },
	{ "started_at", offsetof(struct run, started_at), RUN_TIME },
	{ "completed_at", offsetof(struct run, completed_at), RUN_TIME },
	{ "recovered_at", offsetof(struct run, recovered_at), RUN_TIME },
	{ "recoveries", offsetof(struct run, recoveries), RUN_NUMBER },
	{ "fence", offsetof(struct run, fence), RUN_NUMBER },
	{ "runner_life", offsetof(struct run, runner_generation), RUN_NUMBER },
	{ "entered_at", offsetof(struct run, entered) + offsetof(struct timestamp, wall_ms), RUN_NUMBER },
	{ "entered_boot_ms", offsetof(struct run, entered) + offsetof(struct timestamp, boot_ms),
	    RUN_NUMBER },
	{ "pid_ns", offsetof(struct run, entered) + offsetof(struct timestamp, pid_ns), RUN_NUMBER },
};

static void *
at(const struct run *r, const struct run_field *f)
{
	return (void *)((uintptr_t)r + f->at);
}

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
	for (size_t i = 0; i < N(fields); i++)
		if (fields[i].kind == RUN_TEXT)
			free(*(char **)at(r, &fields[i]));
	free(r->id);
	memset(r, 0, sizeof *r);
}

void
run_set(char **field, const char *value)
{
	char *copy = value != NULL ? xstrdup(value) : NULL;

	free(*field);
	*field = copy;
}

/* --- the record --- */

char *
run_json(const struct run *r)
{
	struct buf out = BUF_INIT;

	buf_str(&out, "{\"schema_version\":1");
	json_print_member(&out, "run_id", r->id);
	for (size_t i = 0; i < N(fields); i++) {
		const struct run_field *f = &fields[i];

		if (f->kind == RUN_TEXT)
			json_print_member(&out, f->key, *(char **)at(r, f));
		else if (f->kind == RUN_TIME && *(int64_t *)at(r, f) == 0)
			json_print_member(&out, f->key, NULL);
		else
			buf_fmt(&out, ",\"%s\":%lld", f->key, (long long)*(int64_t *)at(r, f));
	}
	json_print_member(&out, "boot_id", r->entered.boot_id);
	if (r->host[0] != '\0')
		json_print_member(&out, "host", r->host);
	if (r->entered.host[0] != '\0')
		json_print_member(&out, "entered_host", r->entered.host);
	buf_chr(&out, '}');
	return buf_detach(&out);
}

static void
take_field(struct run *r, const struct run_field *f, struct json_slice v)
{
	char **text = (char **)at(r, f);

	if (f->kind != RUN_TEXT) {
		*(int64_t *)at(r, f) = json_slice_number(v, 0);
	} else if (json_slice_string(v)) {
		free(*text);
		*text = json_slice_copy(v, NULL);
	}
}

/* Words of ours, without escapes. */
static void
copy_word(char *out, size_t size, struct json_slice v)
{
	snprintf(out, size, "%.*s", (int)(v.n - 2), v.p + 1);
}

/* Where it was; false: the key is none of these. */
static bool
take_place(struct run *r, struct json_slice key, struct json_slice v)
{
	if (json_key_is(key, "boot_id"))
		copy_word(r->entered.boot_id, sizeof r->entered.boot_id, v);
	else if (json_key_is(key, "host"))
		copy_word(r->host, sizeof r->host, v);
	else if (json_key_is(key, "entered_host"))
		copy_word(r->entered.host, sizeof r->entered.host, v);
	else
		return false;
	return true;
}

/* Fields stand mostly in the order of the table, which is that of run_json. */
static int
take_fields(struct run *r, const struct record *rec, struct err *e)
{
	struct json_slice whole = { NULL, 0 }, key, value;
	struct json_walk w;
	size_t next = 0;

	if (!json_slice_whole(rec->value, strlen(rec->value), &whole))
		return record_reject(rec, false, e);
	w = json_slice_walk(whole);
	while (json_walk_next(&w, &key, &value)) {
		size_t i = 0;

		while (i < N(fields) && !json_key_is(key, fields[(next + i) % N(fields)].key))
			i++;
		if (i < N(fields)) {
			take_field(r, &fields[(next + i) % N(fields)], value);
			next += i + 1;
		} else if (json_slice_string(value) && take_place(r, key, value)) {
			continue;
		} else if (json_key_is(key, "schema_version") && json_slice_number(value, 1) > RUN_SCHEMA) {
			return record_reject(rec, true, e);
		}
	}
	return w.object && w.p == whole.p + whole.n - 1 ? 0 : record_reject(rec, false, e);
}

int
run_from_record(const struct record *rec, struct run *r, struct err *e)
{
	int state = run_state_parse(rec->tag);

	memset(r, 0, sizeof *r);
	if (state < 0)
		return err_set(
		    e, GT_FAIL, "corrupt", "the record %.200s is no run in a known state", rec->key);
	if (take_fields(r, rec, e) != 0) {
		run_release(r);
		return -1;
	}
	r->version = rec->version;
	r->state = (enum run_state)state;
	r->id = xstrdup(rec->key + strlen(RUN_PREFIX));
	return 0;
}

int
run_load(struct store *s, const char *id, struct run *out, struct err *e)
{
	char *key = xasprintf(RUN_PREFIX "%s", id);
	struct record rec;
	int found = store_get(s, key, &rec, e);

	memset(out, 0, sizeof *out);
	if (found > 0 && run_from_record(&rec, out, e) != 0)
		found = -1;
	store_record_release(&rec);
	free(key);
	return found;
}

#define RUN_SESSION_SCHEMA 1
#define RUN_SESSION_KEYS RUN_SESSION_PREFIX

static const char *const session_status_names[RUN_SESSION_STATUSES] = { "running", "stopping", "stopped",
	"finished" };

const char *
run_session_status_name(enum run_session_status status)
{
	return session_status_names[status];
}

int
run_session_from_record(const struct record *r, struct run_session *x, struct err *e)
{
	struct json_slice o;
	int status = 0;

	memset(x, 0, sizeof *x);
	while (status < RUN_SESSION_STATUSES && strcmp(session_status_names[status], r->tag) != 0)
		status++;
	if (status == RUN_SESSION_STATUSES)
		return err_set(e, GT_FAIL, "corrupt", "the record %.200s has no known status", r->key);
	if (record_slice(r, RUN_SESSION_SCHEMA, &o, e) != 0)
		return -1;
	x->version = r->version;
	x->status = (enum run_session_status)status;
	x->id = xstrdup(r->key + strlen(RUN_SESSION_KEYS));
	x->run_id = json_slice_copy(json_slice_get(o, "run_id"), "");
	x->execution_mode = json_slice_copy(json_slice_get(o, "execution_mode"), "");
	x->created_at = json_slice_number(json_slice_get(o, "created_at"), 0);
	return 0;
}

int
run_session_load(struct store *s, const char *id, struct run_session *x, struct err *e)
{
	char *key = xasprintf(RUN_SESSION_KEYS "%s", id);
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(x, 0, sizeof *x);
	if (found > 0 && run_session_from_record(&r, x, e) != 0)
		found = -1;
	if (x->id == NULL)
		x->id = xstrdup(id);
	store_record_release(&r);
	free(key);
	return found;
}

void
run_session_release(struct run_session *x)
{
	free(x->id);
	free(x->run_id);
	free(x->execution_mode);
	memset(x, 0, sizeof *x);
}

static void
begin(struct run_session *x, const char *run_id)
{
	free(x->run_id);
	x->run_id = xstrdup(run_id);
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

void
run_session_change(const struct run_session *x, char **key, char **value, struct change *c)
{
	struct buf out = BUF_INIT;

	buf_str(&out, "{\"schema_version\":1");
	json_print_member(&out, "session_id", x->id);
	json_print_member(&out, "execution_mode", x->execution_mode);
	buf_fmt(&out, ",\"created_at\":%lld", (long long)x->created_at);
	json_print_member(&out, "run_id", x->run_id);
	buf_chr(&out, '}');
	*key = xasprintf(RUN_SESSION_KEYS "%s", x->id);
	*value = buf_detach(&out);
	*c = (struct change){ CHANGE_PUT, *key, x->version, session_status_names[x->status], *value };
}

#define RUN_PREFIX_STEP "run:"
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

/* The run as it is now, and its session where the step changes that. 1, 0: somebody else was faster, -1. */
static int
commit_step(struct store *s, struct run *r, enum run_state from, const char *words, struct err *e)
{
	char *key = xasprintf(RUN_PREFIX_STEP "%s", r->id), *value = run_json(r),
	     *kind = xasprintf("run.%s", run_state_name(r->state));
	char *session_key = NULL, *session_value = NULL;
	struct event ev = { .kind = kind, .subject = r->id, .session = r->session_id, .text = words };
	struct change c[2] = { { CHANGE_PUT, key, r->version, run_state_name(r->state), value } };
	struct run_session x = { .version = 0 };
	enum commit answer = COMMIT_ERROR;
	size_t n = 1;
	int found = r->session_id != NULL ? run_session_load(s, r->session_id, &x, e) : 0;

	if (found > 0 && run_session_apply(&x, r, from))
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
	err_set(e, GT_REFUSED, "transition", "the run %.200s is %s and cannot become %s", r->id,
	    run_state_name(r->state), run_state_name(to));
	return err_hint(e,
	    run_state_final(r->state) ? "it has ended; create another one"
				      : "gt-recover run list shows where it stands");
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
	return err_hint(e, "it was given back or out again in between: drop it, and claim another");
}

/* What a holder's step does besides entering the state. */
static void
note(struct run *r, const char *error, const struct timestamp *now)
{
	if (r->state == RUN_RUNNING)
		r->started_at = now->wall_ms;
	else if (r->state == RUN_FAILED)
		run_set(&r->error, error);
}

static int
holder_step(struct store *s, const struct run_holder *h, enum run_state to, const char *error,
    const struct timestamp *now, struct run *out, struct err *e)
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
		else if (!run_state_allows(from, to, false))
			ret = not_allowed(out, to, e);
		if (ret == 0) {
			enter(out, to, now);
			note(out, error, now);
			ret = commit_step(s, out, from, h->runner_id, e);
		}
		if (ret != 1)
			run_release(out);
	}
	return ret == 0 ? contended(h->run_id, e) : ret;
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
	const char *type = asked->type != NULL ? asked->type : "START_SESSION";

	if (there->session_id != NULL && strcmp(there->session_id, asked->session_id) == 0 &&
	    there->prompt != NULL && strcmp(there->prompt, asked->prompt) == 0 && there->type != NULL &&
	    strcmp(there->type, type) == 0)
		return 0;
	err_set(e, GT_REFUSED, "exists", "there is another run %.200s already", there->id);
	return err_hint(e, "leave the id out, and a new one is made");
}

/* With the session, new or running again. 1, 0: somebody else was faster, -1. */
static int
create_once(struct store *s, const struct run *r, const char *execution_mode, const struct timestamp *now,
    struct err *e)
{
	char *key = xasprintf(RUN_PREFIX_STEP "%s", r->id), *value = run_json(r), *session_key = NULL,
	     *session_value = NULL;
	struct event ev = {
		.kind = "run.created", .subject = r->id, .session = r->session_id, .text = r->type
	};
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
	if (found == 0 || (found > 0 && run_session_apply(&x, r, RUN_PENDING)))
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
run_create(struct store *s, const struct run *r, const char *execution_mode, const struct timestamp *now,
    struct run *out, struct err *e)
{
	struct run made = { .type = xstrdup(r->type != NULL ? r->type : "START_SESSION"),
		.session_id = xstrdup(r->session_id),
		.prompt = xstrdup(r->prompt),
		.id = r->id != NULL ? xstrdup(r->id) : new_id(now),
		.created_at = now->wall_ms };
	int ret = 0, found;

	memset(out, 0, sizeof *out);
	enter(&made, RUN_PENDING, now);
	if (record_check_id("the id of a run", made.id, e) != 0 ||
	    record_check_id("the id of a run's session", made.session_id, e) != 0)
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
claim_once(
    struct store *s, struct run *r, const struct run_holder *h, const struct timestamp *now, struct err *e)
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
	r->runner_generation = who.generation;
	memcpy(r->host, now->host, sizeof r->host);
	runner_release(&who);
	return commit_step(s, r, RUN_PENDING, h->runner_id, e);
}

/* 1, 0: all of the page went to others, 2: nothing is pending, -1. */
static int
claim_any(
    struct store *s, const struct run_holder *h, const struct timestamp *now, struct run *out, struct err *e)
{
	struct records page = { 0 };
	int ret = store_scan(s, RUN_PREFIX_STEP, run_state_name(RUN_PENDING), NULL, PAGE, &page, e);

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
		ret = store_each(s, RUN_PREFIX_STEP, run_state_name(RUN_CLAIMED), is_that_claim, &asked, e);
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
	return holder_step(s, h, RUN_RUNNING, NULL, now, out, e);
}

int
run_finish(struct store *s, const struct run_holder *h, enum run_state state, const char *error,
    const struct timestamp *now, struct run *out, struct err *e)
{
	return holder_step(s, h, state, error, now, out, e);
}

int
run_stop(struct store *s, const char *id, const struct timestamp *now, struct run *out, struct err *e)
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
		if (!run_state_allows(from, to, false)) {
			ret = not_allowed(out, to, e);
		} else {
			enter(out, to, now);
			ret = commit_step(s, out, from, NULL, e);
		}
		if (ret != 1)
			run_release(out);
	}
	return ret == 0 ? contended(id, e) : ret;
}
