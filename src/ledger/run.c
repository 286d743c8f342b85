#include <stdlib.h>
#include <string.h>

#include "ledger/run.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define PREFIX "run:"

#define N(table) (sizeof table / sizeof table[0])

static const char *const names[RUN_STATES] = { "pending", "claimed", "running", "stopping", "completed", "failed", "stopped" };

/* 1: the verbs may, 2: recovery alone may */
static const unsigned char steps[RUN_STATES][RUN_STATES] = {
	[RUN_PENDING] = { [RUN_CLAIMED] = 1, [RUN_STOPPED] = 1 },
	[RUN_CLAIMED] = { [RUN_PENDING] = 2, [RUN_RUNNING] = 1, [RUN_STOPPING] = 1, [RUN_FAILED] = 1 },
	[RUN_RUNNING] = { [RUN_STOPPING] = 1, [RUN_COMPLETED] = 1, [RUN_FAILED] = 1 },
	[RUN_STOPPING] = { [RUN_COMPLETED] = 1, [RUN_FAILED] = 1, [RUN_STOPPED] = 1 },
};

static const struct { const char *key; size_t at; } texts[] = {
	{ "session_id", offsetof(struct run, session_id) }, { "type", offsetof(struct run, type) },
	{ "prompt", offsetof(struct run, prompt) }, { "runner_id", offsetof(struct run, runner_id) },
	{ "error", offsetof(struct run, error) }, { "recovered_from", offsetof(struct run, recovered_from) },
	{ "claim_id", offsetof(struct run, claim_id) },
}, times[] = {
	{ "created_at", offsetof(struct run, created_at) }, { "claimed_at", offsetof(struct run, claimed_at) },
	{ "started_at", offsetof(struct run, started_at) }, { "completed_at", offsetof(struct run, completed_at) },
	{ "recovered_at", offsetof(struct run, recovered_at) },
}, numbers[] = {
	{ "recoveries", offsetof(struct run, recoveries) }, { "fence", offsetof(struct run, fence) },
	{ "runner_life", offsetof(struct run, runner_life) },
};

static char **
text_of(const struct run *r, size_t i)
{
	return (char **)((uintptr_t)r + texts[i].at);
}

static int64_t *
time_of(const struct run *r, size_t i)
{
	return (int64_t *)((uintptr_t)r + times[i].at);
}

static int64_t *
number_of(const struct run *r, size_t i)
{
	return (int64_t *)((uintptr_t)r + numbers[i].at);
}

const char *
run_state_name(enum run_state state)
{
	return names[state];
}

int
run_state_of(const char *name)
{
	for (int i = 0; i < RUN_STATES; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

bool
run_state_final(enum run_state state)
{
	return state >= RUN_COMPLETED;
}

bool
run_state_may(enum run_state from, enum run_state to, bool recovery)
{
	return steps[from][to] == 1 || (recovery && steps[from][to] == 2);
}

void
run_release(struct run *r)
{
	for (size_t i = 0; i < N(texts); i++)
		free(*text_of(r, i));
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
	json_t *o = json_object();
	struct buf out = BUF_INIT;

	json_put_int(o, "schema_version", 1);
	json_put(o, "run_id", r->id);
	for (size_t i = 0; i < N(texts); i++)
		json_put(o, texts[i].key, *text_of(r, i));
	for (size_t i = 0; i < N(times); i++)
		json_object_set_new(o, times[i].key, *time_of(r, i) != 0 ? json_integer(*time_of(r, i)) : json_null());
	for (size_t i = 0; i < N(numbers); i++)
		json_put_int(o, numbers[i].key, *number_of(r, i));
	json_put_int(o, "entered_at", r->entered.wall_ms);
	json_put_int(o, "entered_boot_ms", r->entered.boot_ms);
	json_put(o, "boot_id", r->entered.boot_id);
	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

int
run_from_record(const struct record *rec, struct run *r, struct err *e)
{
	json_t *o = json_parse(rec->value, strlen(rec->value), rec->key, e);
	int state = run_state_of(rec->tag);

	memset(r, 0, sizeof *r);
	if (o == NULL)
		return -1;
	if (state < 0) {
		json_decref(o);
		return err_set(e, GT_FAIL, "corrupt", "the record %.200s is no run in a known state", rec->key);
	}
	r->version = rec->version;
	r->state = (enum run_state)state;
	r->id = xstrdup(rec->key + strlen(PREFIX));
	for (size_t i = 0; i < N(texts); i++)
		run_set(text_of(r, i), json_text(o, texts[i].key, NULL));
	for (size_t i = 0; i < N(times); i++)
		*time_of(r, i) = json_number(o, times[i].key, 0);
	for (size_t i = 0; i < N(numbers); i++)
		*number_of(r, i) = json_number(o, numbers[i].key, 0);
	r->entered.wall_ms = json_number(o, "entered_at", 0);
	r->entered.boot_ms = json_number(o, "entered_boot_ms", 0);
	snprintf(r->entered.boot_id, sizeof r->entered.boot_id, "%s", json_text(o, "boot_id", ""));
	json_decref(o);
	return 0;
}

int
run_load(struct store *s, const char *id, struct run *out, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", id);
	struct record rec;
	int found = store_get(s, key, &rec, e);

	memset(out, 0, sizeof *out);
	if (found > 0 && run_from_record(&rec, out, e) != 0)
		found = -1;
	record_release(&rec);
	free(key);
	return found;
}
