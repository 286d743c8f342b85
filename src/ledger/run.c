#include <stdlib.h>
#include <string.h>

#include "ledger/run.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_slice.h"
#include "ledger/record.h"

#define PREFIX "run:"
#define SCHEMA 1

#define N(table) (sizeof table / sizeof table[0])

static const char *const names[RUN_STATES] = { "pending", "claimed", "running", "stopping", "completed", "failed", "stopped" };

/* 1: the verbs may, 2: recovery alone may */
static const unsigned char steps[RUN_STATES][RUN_STATES] = {
	[RUN_PENDING] = { [RUN_CLAIMED] = 1, [RUN_STOPPED] = 1 },
	[RUN_CLAIMED] = { [RUN_PENDING] = 2, [RUN_RUNNING] = 1, [RUN_STOPPING] = 1, [RUN_FAILED] = 1 },
	[RUN_RUNNING] = { [RUN_STOPPING] = 1, [RUN_COMPLETED] = 1, [RUN_FAILED] = 1 },
	[RUN_STOPPING] = { [RUN_COMPLETED] = 1, [RUN_FAILED] = 1, [RUN_STOPPED] = 1 },
};

/* A TIME is null where there is none. */
static const struct field { const char *key; size_t at; enum { TEXT, TIME, NUMBER } kind; } fields[] = {
	{ "session_id", offsetof(struct run, session_id), TEXT }, { "type", offsetof(struct run, type), TEXT },
	{ "prompt", offsetof(struct run, prompt), TEXT }, { "runner_id", offsetof(struct run, runner_id), TEXT },
	{ "error", offsetof(struct run, error), TEXT }, { "recovered_from", offsetof(struct run, recovered_from), TEXT },
	{ "claim_id", offsetof(struct run, claim_id), TEXT },
	{ "created_at", offsetof(struct run, created_at), TIME }, { "claimed_at", offsetof(struct run, claimed_at), TIME },
	{ "started_at", offsetof(struct run, started_at), TIME }, { "completed_at", offsetof(struct run, completed_at), TIME },
	{ "recovered_at", offsetof(struct run, recovered_at), TIME },
	{ "recoveries", offsetof(struct run, recoveries), NUMBER }, { "fence", offsetof(struct run, fence), NUMBER },
	{ "runner_life", offsetof(struct run, runner_life), NUMBER },
	{ "entered_at", offsetof(struct run, entered) + offsetof(struct moment, wall_ms), NUMBER },
	{ "entered_boot_ms", offsetof(struct run, entered) + offsetof(struct moment, boot_ms), NUMBER },
};

static void *
at(const struct run *r, const struct field *f)
{
	return (void *)((uintptr_t)r + f->at);
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
	for (size_t i = 0; i < N(fields); i++)
		if (fields[i].kind == TEXT)
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
		const struct field *f = &fields[i];

		if (f->kind == TEXT)
			json_print_member(&out, f->key, *(char **)at(r, f));
		else if (f->kind == TIME && *(int64_t *)at(r, f) == 0)
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
take_field(struct run *r, const struct field *f, struct json_slice v)
{
	char **text = (char **)at(r, f);

	if (f->kind != TEXT) {
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
		return record_refuse(rec, false, e);
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
		} else if (json_key_is(key, "schema_version") && json_slice_number(value, 1) > SCHEMA) {
			return record_refuse(rec, true, e);
		}
	}
	return w.object && w.p == whole.p + whole.n - 1 ? 0 : record_refuse(rec, false, e);
}

int
run_from_record(const struct record *rec, struct run *r, struct err *e)
{
	int state = run_state_of(rec->tag);

	memset(r, 0, sizeof *r);
	if (state < 0)
		return err_set(e, GT_FAIL, "corrupt", "the record %.200s is no run in a known state", rec->key);
	if (take_fields(r, rec, e) != 0) {
		run_release(r);
		return -1;
	}
	r->version = rec->version;
	r->state = (enum run_state)state;
	r->id = xstrdup(rec->key + strlen(PREFIX));
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
