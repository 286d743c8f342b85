#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "records/history/history_private.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"

#define HOUR_MS ((int64_t)3600000)
#define DAY_MS (24 * HOUR_MS)
#define STATE_MAX ((size_t)16 << 20)
#define STATE_SCHEMA 1
#define SIZES 30				/* notes of the store's size that are kept */

bool
history_is_late(struct history *h)
{
	int64_t now = clock_mono_ms();

	if (now - h->asked_at > h->longest)
		h->longest = now - h->asked_at;
	h->asked_at = now;
	return now + h->longest >= h->until;
}

/* --- a batch --- */

void
history_take(struct history *h, const struct record *r)
{
	json_t *o;

	for (size_t i = 0; i < h->t.n; i++)
		if (strcmp(h->t.v[i].key, r->key) == 0)
			return;
	txn_delete(&h->t, xstrdup(r->key), r->version);
	if (h->limits->archive == NULL)
		return;
	o = json_object();
	json_put(o, "key", r->key);
	json_put_int(o, "version", r->version);
	json_put(o, "tag", r->tag);
	json_object_set_new(o, "value", json_parse(r->value, strlen(r->value), r->key, NULL));
	json_print(&h->lines, o, false);
	buf_chr(&h->lines, '\n');
	json_decref(o);
}

int
history_take_key(struct history *h, const char *key, struct err *e)
{
	struct record r;
	int found = store_get(h->s, key, &r, e);

	if (found > 0)
		history_take(h, &r);
	store_record_release(&r);
	return found;
}

static void
count_left(json_t *counts, const struct txn *t)
{
	for (size_t i = 0; i < t->n; i++) {
		char *kind;

		if (t->v[i].kind != CHANGE_DELETE)
			continue;
		kind = xstrndup(t->v[i].key, strcspn(t->v[i].key, ":"));
		json_put_int(counts, kind, json_number(counts, kind, 0) + 1);
		free(kind);
	}
}

int
history_flush(struct history *h, struct err *e)
{
	json_t *counts = json_object(), *n;
	enum commit answer = COMMIT_ERROR;
	const char *kind;

	count_left(counts, &h->t);
	if (h->lines.len == 0 || history_archive_write(&h->archive, &h->lines, e) == 0) {
		if (fault_point("history-archived") == 0)
			answer = txn_commit(&h->t, e);
		else
			err_set(e, GT_FAIL, "io", "stopped");
	}
	txn_release(&h->t);
	buf_reset(&h->lines);
	if (answer == COMMIT_CONFLICT) {
		h->conflict = true;
		err_clear(e);
	}
	json_object_foreach(counts, kind, n) {
		if (answer != COMMIT_DONE)
			break;
		json_put_int(h->counts, kind, json_number(h->counts, kind, 0) + json_integer_value(n));
		h->out->left += (size_t)json_integer_value(n);
		h->out->events += strcmp(kind, "event") == 0 ? (size_t)json_integer_value(n) : 0;
	}
	json_decref(counts);
	return answer == COMMIT_DONE || answer == COMMIT_CONFLICT ? 0 : -1;
}

/* --- when to look --- */

/* Not for each single record that gets too old. */
static int64_t
slack(const struct history *h)
{
	int64_t part = h->limits->age_ms / 24;

	return part > 0 && part < HOUR_MS ? part : HOUR_MS;
}

bool
history_is_due(const struct history *h, const json_t *state, size_t n, bool counted)
{
	int64_t next = json_number(state, "next", 0), count = counted ? h->limits->count : 0;

	if (n == 0)
		return false;
	/* a clock that was set back tells nothing */
	if (h->now.wall_ms >= next || next - h->now.wall_ms > DAY_MS)
		return true;
	return count > 0 && (int64_t)n > count + count / 100 && !json_flag(state, "held", false);
}

void
history_set_next(const struct history *h, json_t *state, int64_t oldest)
{
	int64_t next = h->now.wall_ms + DAY_MS, least = h->now.wall_ms + slack(h);

	if (h->limits->age_ms > 0 && oldest != INT64_MAX && oldest + h->limits->age_ms < next)
		next = oldest + h->limits->age_ms;
	if (h->conflict || next < least)
		next = h->conflict ? 0 : least;
	json_put_int(state, "next", next);
}

/* --- the state --- */

static json_t *
load_state(const struct history_limits *l)
{
	struct buf text = BUF_INIT;
	json_t *v = NULL;

	if (io_read_private(l->state, STATE_MAX, &text, NULL) == 0)
		v = json_parse(text.data, text.len, l->state, NULL);
	buf_release(&text);
	if (!json_is_object(v) || json_number(v, "schema_version", 0) != STATE_SCHEMA) {
		json_decref(v);
		v = json_object();
		json_put_int(v, "schema_version", STATE_SCHEMA);
	}
	/* other limits: everything is looked at again */
	if (json_number(v, "age", -1) != l->age_ms || json_number(v, "count", -1) != l->count) {
		json_put_int(v, "age", l->age_ms);
		json_put_int(v, "count", l->count);
		json_object_set_new(v, "kinds", json_object());
	}
	return v;
}

static json_t *
state_of(json_t *all, const char *name)
{
	json_t *kinds = json_object_get(all, "kinds"), *one;

	if (!json_is_object(kinds)) {
		kinds = json_object();
		json_object_set_new(all, "kinds", kinds);
	}
	one = json_object_get(kinds, name);
	if (!json_is_object(one)) {
		one = json_object();
		json_object_set_new(kinds, name, one);
	}
	return one;
}

/* Once a day, for doctor. */
static void
note_size(struct history *h, json_t *all)
{
	json_t *sizes = json_object_get(all, "sizes");
	const json_t *last;
	struct store_size size;

	if (!json_is_array(sizes)) {
		sizes = json_array();
		json_object_set_new(all, "sizes", sizes);
	}
	last = json_array_get(sizes, json_array_size(sizes) - 1);
	if (json_array_size(sizes) > 0 && h->now.wall_ms - json_number(last, "at", 0) < DAY_MS &&
	    json_number(last, "at", 0) <= h->now.wall_ms)
		return;
	if (store_size_read(h->s, &size, NULL) != 0 || size.bytes == 0)
		return;
	if (json_array_size(sizes) >= SIZES)
		json_array_remove(sizes, 0);
	json_array_append_new(
	    sizes, json_pack("{sIsI}", "at", (json_int_t)h->now.wall_ms, "bytes", (json_int_t)size.bytes));
}

bool
history_growth_read(const char *state, struct history_growth *out)
{
	struct buf text = BUF_INIT;
	json_t *v = NULL, *first;

	if (io_read_private(state, STATE_MAX, &text, NULL) == 0)
		v = json_parse(text.data, text.len, state, NULL);
	buf_release(&text);
	first = json_array_get(json_object_get(v, "sizes"), 0);
	*out = (struct history_growth){ json_number(first, "at", 0), json_number(first, "bytes", 0) };
	json_decref(v);
	return out->at > 0;
}

/* --- a sweep --- */

#define EVENTS "event"

static int
sweep_part(struct history *h, json_t *all, size_t part, size_t kinds, struct err *e)
{
	if (part < kinds)
		return history_walk(h, &history_kinds[part], state_of(all, history_kinds[part].name), e);
	return history_sweep_events(h, state_of(all, EVENTS), e);
}

/* The part that time ran out in is the first of the next sweep. */
static int
sweep_parts(struct history *h, json_t *all, struct err *e)
{
	size_t kinds = 0, first, parts;
	int ret = 0;

	while (history_kinds[kinds].name != NULL)
		kinds++;
	parts = kinds + 1;
	first = (size_t)json_number(all, "turn", 0) % parts;
	for (size_t i = 0; i < parts && ret == 0; i++) {
		h->conflict = false;
		ret = sweep_part(h, all, (first + i) % parts, kinds, e);
		json_put_int(all, "turn", ret == 0 ? 0 : (int64_t)((first + i) % parts));
	}
	/* nothing half taken stays for the next part */
	txn_release(&h->t);
	return ret;
}

/* "412 run, 3 session" */
static void
tell(struct history *h)
{
	struct event ev = { .kind = "history.left", .subject = "store" };
	struct buf text = BUF_INIT;
	const char *kind;
	json_t *n;

	json_object_foreach(h->counts, kind, n) {
		if (strcmp(kind, EVENTS) != 0)
			buf_fmt(&text, "%s%lld %s", text.len > 0 ? ", " : "", json_integer_value(n), kind);
	}
	ev.text = text.data;
	if (text.len > 0)
		event_commit(h->s, NULL, 0, &ev, NULL);
	buf_release(&text);
}

int
history_sweep(
    struct store *s, const struct history_limits *limits, struct history_report *out, struct err *e)
{
	int64_t began = clock_mono_ms();
	struct history h = { .s = s, .limits = limits, .out = out, .t = { .s = s },
		.until = began + limits->budget_ms, .asked_at = began, .lines = BUF_INIT,
		.archive = { .dir = limits->archive, .fd = -1 } };
	struct err own = ERR_INIT;
	struct buf was = BUF_INIT, is = BUF_INIT;
	json_t *all = load_state(limits);
	int ret;

	memset(out, 0, sizeof *out);
	store_timestamp(s, &h.now);
	h.before = limits->age_ms > 0 ? h.now.wall_ms - limits->age_ms : INT64_MIN;
	h.counts = json_object();
	json_print(&was, all, false);
	ret = sweep_parts(&h, all, e != NULL ? e : &own);
	out->backlog = ret > 0;
	note_size(&h, all);
	json_print(&is, all, false);
	/* lost, it costs another look */
	if (was.len != is.len || memcmp(was.data, is.data, is.len) != 0)
		io_write_synced(limits->state, is.data, is.len, "history-state", NULL);
	tell(&h);
	history_archive_close(&h.archive);
	json_decref(h.open_runs);
	json_decref(h.counts);
	json_decref(all);
	buf_release(&was);
	buf_release(&is);
	buf_release(&h.lines);
	return ret < 0 ? -1 : 0;
}
