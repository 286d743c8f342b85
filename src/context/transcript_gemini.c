#include <stdlib.h>
#include <string.h>

#include "context/transcript_reader.h"
#include "base/buf.h"
#include "context/transcript_call.h"
#include "context/transcript_chain.h"
#include "context/transcript_parts.h"
#include "context/transcript_teller.h"
#include "context/transcript_words.h"

/*
 * gemini 0.61.0: ~/.gemini/tmp/<project>/chats/session-….jsonl. Messages {id, type, content, toolCalls}, and patches of what stands
 * before: a message with a known id takes the older one's place, {"$rewindTo": id} takes back that message and all behind it, {"$set":
 * {"messages": […]}} begins anew. A call stands there only when its tool has ended: the one at work is on the screen alone. 0.34.0 wrote
 * session-….json instead, one object with a list of such messages, anew as a whole.
 */

static struct json_slice
spread_gemini(struct json_slice record)
{
	return json_slice_get(json_slice_get(record, "$set"), "messages");
}

static void
open_gemini(struct json_slice record, struct record *out)
{
	static const struct { const char *name; enum record_kind kind; } types[] = {
		{ "user", RECORD_USER }, { "gemini", RECORD_ASSISTANT }, { "error", RECORD_SYSTEM }, { "warning", RECORD_NOTE },
		{ "info", RECORD_SYSTEM },
	};
	struct json_slice type = json_slice_get(record, "type"), back = json_slice_get(record, "$rewindTo"), list;

	out->time = record_time(json_slice_get(record, "timestamp"));
	out->id = record_name(json_slice_get(record, "id"));
	if (json_slice_string(back)) {
		*out = (struct record){ .at = out->at, .n = out->n, .kind = RECORD_LINK, .id = 1, .parent = record_name(back) };
		return;
	}
	list = spread_gemini(record);
	if (list.n > 0) {
		*out = (struct record){ .at = out->at, .n = out->n, .kind = RECORD_SYSTEM, .id = 1, .meta = true };
		return;
	}
	if (json_slice_get(record, "$set").n > 0 || json_slice_get(record, "projectHash").n > 0)
		out->kind = RECORD_NOTE;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (out->id != 0 && json_slice_is(type, types[i].name))
			out->kind = (uint8_t)types[i].kind;
}

/* ---- the order ---- */

#define OPEN_MOST 16	/* prompts without an answer that a list may lack */

struct named {
	uint64_t id;
	uint32_t record;
};

static int
by_id(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->record > y->record ? -1 : x->record < y->record;
}

/* For each record, and for what it takes back, a small number instead of its name. Those of one name have one number. */
static void
number_names(const struct chain *c, uint32_t *number)
{
	struct named *names = xcalloc(c->n + 1, sizeof *names);
	uint32_t next = 0;

	for (uint32_t i = 0; i < c->n; i++)
		names[i] = (struct named){ c->v[i].kind == RECORD_LINK ? c->v[i].parent : c->v[i].id, i };
	qsort(names, c->n, sizeof *names, by_id);
	for (size_t i = 0; i < c->n; i++) {
		if (i > 0 && names[i].id != names[i - 1].id)
			next++;
		number[names[i].record] = next;
	}
	free(names);
}

/* What stands at this moment. */
struct standing_order {
	struct chain *c;
	uint32_t *number;		/* of a record its name's */
	uint32_t *at;			/* where in the order a name stands, when the order has it there */
	uint32_t open[OPEN_MOST];	/* records that a list took away, newest first, until the list has ended */
	size_t n_open;
	off_t list_end;
};

static bool
stands(const struct standing_order *o, uint32_t i)
{
	size_t where = o->at[o->number[i]];

	return where < o->c->n_order && o->number[o->c->order[where]] == o->number[i];
}

static void
put(struct standing_order *o, uint32_t i)
{
	if (stands(o, i)) {
		o->c->order[o->at[o->number[i]]] = i;
	} else {
		o->at[o->number[i]] = (uint32_t)o->c->n_order;
		o->c->order[o->c->n_order++] = i;
	}
}

/*
 * The messages begin anew with a list of what the model is sent. A prompt that failed or was stopped before any answer is not in it,
 * although it was said: it is put behind the list again.
 */
static void
begin_list(struct standing_order *o, const struct record *r)
{
	struct chain *c = o->c;

	o->n_open = 0;
	for (size_t k = c->n_order; k > 0 && o->n_open < OPEN_MOST && c->v[c->order[k - 1]].kind != RECORD_ASSISTANT; k--)
		o->open[o->n_open++] = c->order[k - 1];
	o->list_end = r->at + (off_t)r->n;
	c->n_order = 0;
}

static void
end_list(struct standing_order *o)
{
	while (o->n_open > 0)
		if (!stands(o, o->open[--o->n_open]))
			put(o, o->open[o->n_open]);
}

static void
order_gemini(struct chain *c, bool all)
{
	struct standing_order o = { .c = c, .number = xcalloc(c->n + 1, sizeof *o.number), .at = xcalloc(c->n + 1, sizeof *o.at) };

	free(c->order);
	c->order = xcalloc(c->n + OPEN_MOST + 1, sizeof *c->order);
	c->n_order = 0;
	number_names(c, o.number);
	for (uint32_t i = (uint32_t)c->n; i-- > 0;) {
		const struct record *r = &c->v[i];

		if (r->at >= o.list_end)
			end_list(&o);
		if (r->meta)
			begin_list(&o, r);
		/* what is taken back may stand before all that was read: then nothing is left of it either */
		else if (r->kind == RECORD_LINK)
			c->n_order = stands(&o, i) ? o.at[o.number[i]] : 0;
		if (r->kind != RECORD_LINK)
			put(&o, i);
	}
	end_list(&o);
	c->whole = all;
	free(o.number);
	free(o.at);
}

/* ---- what it tells ---- */

static bool
is_injected(struct buf *text)
{
	return words_untag(text, "session_context") || words_untag(text, "hook_context");
}

/* Set in where the person stopped the model. */
static bool
is_stand_in(struct buf *text)
{
	return strcmp(text->data, "[The previous response was interrupted before it completed.]") == 0;
}

static void
tell_error(struct teller *t, const struct record *r, struct json_slice content)
{
	static const char *const limits[] = { "\"code\":401", "\"code\":429", "RESOURCE_EXHAUSTED", "UNAUTHENTICATED", "API_KEY_INVALID" };
	struct buf text = BUF_INIT;
	bool limit = false;

	words_content(&text, content, CALL_MOST);
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		limit = limit || strstr(text.data, limits[i]) != NULL;
	teller_words(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
	teller_limit(t, limit);
}

/* What became of a call is a part functionResponse, or a list of parts. */
static void
tell_calls(struct teller *t, const struct record *r, struct json_slice calls)
{
	struct json_walk w = json_slice_walk(calls), parts;
	struct json_slice call, part;

	while (!w.object && json_walk_next(&w, NULL, &call)) {
		struct json_slice id = json_slice_get(call, "id"), status = json_slice_get(call, "status");
		struct json_slice result = json_slice_get(call, "result");
		bool bad = json_slice_is(status, "error") || json_slice_is(status, "cancelled");
		struct buf text = BUF_INIT;

		teller_call(t, id, json_slice_get(call, "name"), json_slice_get(call, "args"), r->time);
		if (json_slice_string(result))
			words_decode(&text, result, CALL_MOST);
		parts = json_slice_walk(result);
		while (!parts.object && json_walk_next(&parts, NULL, &part)) {
			struct json_slice response = json_slice_get(json_slice_get(part, "functionResponse"), "response");

			if (response.n > 0)
				bad = parts_response(&text, response) || bad;
		}
		if (result.n > 0 || bad)
			teller_result(t, id, bad ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
	}
}

static void
tell_gemini(struct teller *t, const struct record *r, struct json_slice record)
{
	struct json_slice content = json_slice_get(record, "content"), calls = json_slice_get(record, "toolCalls"), one;
	struct json_walk w = json_slice_walk(r->meta ? spread_gemini(record) : (struct json_slice){ NULL, 0 });
	struct buf text = BUF_INIT;

	if (r->kind == RECORD_USER) {
		parts_tell(t, r, ROLE_USER, content, is_injected, true);
	} else if (r->kind == RECORD_ASSISTANT) {
		teller_answer(t);
		parts_tell(t, r, ROLE_ASSISTANT, content, is_stand_in, calls.n <= 2);
		tell_calls(t, r, calls);
	} else if (!r->meta && json_slice_is(json_slice_get(record, "type"), "error")) {
		tell_error(t, r, content);
	} else if (!r->meta) {
		words_content(&text, content, CALL_MOST);
		if (str_starts(text.data, "Request cancelled"))
			teller_interrupt(t, r->time);
		buf_wipe(&text);
	}
	while (!w.object && json_walk_next(&w, NULL, &one)) {
		struct record inner = { .kind = RECORD_UNKNOWN };

		open_gemini(one, &inner);
		if (inner.kind <= RECORD_SYSTEM && !inner.meta)
			tell_gemini(t, &inner, one);
	}
}

static void
head_gemini(struct teller *t, struct json_slice record)
{
	teller_head(t, FIELD_SESSION, json_slice_get(record, "sessionId"));
}

const struct reader reader_gemini = { .name = "gemini", .open = open_gemini, .order = order_gemini, .spread = spread_gemini,
	.tell = tell_gemini, .head = head_gemini, .older_list = "messages" };
