#include <stdlib.h>
#include <string.h>

#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "transcript/format/format_private.h"

/*
 * gemini 0.61.0: ~/.gemini/tmp/<project>/chats/session-….jsonl. Messages {id, type, content,
 * toolCalls}, and patches of what stands before: a message with a known id takes the older one's
 * place, {"$rewindTo": id} takes back that message and all behind it, {"$set": {"messages": […]}}
 * begins anew. A call stands there only when its tool has ended: the one at work is on the screen
 * alone. 0.34.0 wrote session-….json instead, one object with a list of such messages, anew as a
 * whole.
 */

static struct json_slice
expand_gemini(struct json_slice record)
{
	return json_slice_get(json_slice_get(record, "$set"), "messages");
}

static void
classify_gemini(struct json_slice record, struct transcript_entry *out)
{
	static const struct { const char *name; enum entry_kind kind;
	} types[] = {
		{ "user", ENTRY_USER }, { "gemini", ENTRY_ASSISTANT }, { "error", ENTRY_SYSTEM },
		{ "warning", ENTRY_NOTE },
		{ "info", ENTRY_SYSTEM },
	};
	struct json_slice type = json_slice_get(record, "type"), back = json_slice_get(record, "$rewindTo"),
			  list;

	out->time = entry_time(json_slice_get(record, "timestamp"));
	out->id = entry_hash_id(json_slice_get(record, "id"));
	if (json_slice_string(back)) {
		*out = (struct transcript_entry){
			.at = out->at, .n = out->n, .kind = ENTRY_LINK, .id = 1, .parent = entry_hash_id(back)
		};
		return;
	}
	list = expand_gemini(record);
	if (list.n > 0) {
		*out = (struct transcript_entry){
			.at = out->at, .n = out->n, .kind = ENTRY_SYSTEM, .id = 1, .meta = true
		};
		return;
	}
	if (json_slice_get(record, "$set").n > 0 || json_slice_get(record, "projectHash").n > 0)
		out->kind = ENTRY_NOTE;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (out->id != 0 && json_slice_is(type, types[i].name))
			out->kind = (uint8_t)types[i].kind;
	if (out->kind == ENTRY_UNKNOWN)
		out->id = 0;		/* it takes no known record's place */
}

/* ---- the order ---- */

#define OPEN_MOST 16	/* prompts without an answer that a list may lack */

struct gemini_named {
	uint64_t id;
	uint32_t record;
};

static int
by_id(const void *a, const void *b)
{
	const struct gemini_named *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->record > y->record ? -1 : x->record < y->record;
}

/*
 * For each record, and for what it takes back, a small number instead of its name. Those of one
 * name have one number.
 */
static void
number_names(const struct message_tree *c, uint32_t *number)
{
	struct gemini_named *names = xcalloc(c->n + 1, sizeof *names);
	uint32_t next = 0;

	for (uint32_t i = 0; i < c->n; i++)
		names[i] =
		    (struct gemini_named){ c->v[i].kind == ENTRY_LINK ? c->v[i].parent : c->v[i].id, i };
	qsort(names, c->n, sizeof *names, by_id);
	for (size_t i = 0; i < c->n; i++) {
		if (i > 0 && names[i].id != names[i - 1].id)
			next++;
		number[names[i].record] = next;
	}
	free(names);
}

/* What stands at this moment. */
struct gemini_order {
	struct message_tree *c;
	uint32_t *number;		/* of a record its name's */
	uint32_t *at;			/* where in the order a name stands, when the order has it there */
	/* records that a list took away, newest first, until the list has ended */
	uint32_t open[OPEN_MOST];
	size_t n_open;
	off_t list_end;
};

static bool
is_valid_at(const struct gemini_order *o, uint32_t i)
{
	size_t where = o->at[o->number[i]];

	return where < o->c->n_order && o->number[o->c->order[where]] == o->number[i];
}

static void
put_entry(struct gemini_order *o, uint32_t i)
{
	if (is_valid_at(o, i)) {
		o->c->order[o->at[o->number[i]]] = i;
	} else {
		o->at[o->number[i]] = (uint32_t)o->c->n_order;
		o->c->order[o->c->n_order++] = i;
	}
}

/*
 * The messages begin anew with a list of what the model is sent. A prompt that failed or was
 * stopped before any answer is not in it, although it was said: it is put behind the list again.
 */
static void
begin_list(struct gemini_order *o, const struct transcript_entry *r)
{
	struct message_tree *c = o->c;

	o->n_open = 0;
	for (size_t k = c->n_order;
	    k > 0 && o->n_open < OPEN_MOST && c->v[c->order[k - 1]].kind != ENTRY_ASSISTANT; k--)
		o->open[o->n_open++] = c->order[k - 1];
	o->list_end = r->at + (off_t)r->n;
	c->n_order = 0;
}

static void
end_list(struct gemini_order *o)
{
	while (o->n_open > 0)
		if (!is_valid_at(o, o->open[--o->n_open]))
			put_entry(o, o->open[o->n_open]);
}

static void
order_gemini(struct message_tree *c, bool all)
{
	struct gemini_order o = {
		.c = c, .number = xcalloc(c->n + 1, sizeof *o.number), .at = xcalloc(c->n + 1, sizeof *o.at)
	};

	free(c->order);
	c->order = xcalloc(c->n + OPEN_MOST + 1, sizeof *c->order);
	c->n_order = 0;
	number_names(c, o.number);
	for (uint32_t i = (uint32_t)c->n; i-- > 0;) {
		const struct transcript_entry *r = &c->v[i];

		if (r->at >= o.list_end)
			end_list(&o);
		if (r->meta)
			begin_list(&o, r);
		/* what is taken back may stand before all that was read: then nothing is left of it either */
		else if (r->kind == ENTRY_LINK)
			c->n_order = is_valid_at(&o, i) ? o.at[o.number[i]] : 0;
		if (r->kind != ENTRY_LINK)
			put_entry(&o, i);
	}
	end_list(&o);
	c->whole = all;
	free(o.number);
	free(o.at);
}

/* ---- what it tells ---- */

static bool
is_gemini_injected(struct buf *text)
{
	return format_untag(text, "session_context") || format_untag(text, "hook_context");
}

/* Set in where the person stopped the model. */
static bool
is_interrupt_note(struct buf *text)
{
	return strcmp(text->data, "[The previous response was interrupted before it completed.]") == 0;
}

static void
emit_gemini_error(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice content)
{
	static const char *const limits[] = { "\"code\":401", "\"code\":429", "RESOURCE_EXHAUSTED",
		"UNAUTHENTICATED", "API_KEY_INVALID" };
	struct buf text = BUF_INIT;
	bool limit = false;

	format_content_text(&text, content, CALL_MOST);
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		limit = limit || strstr(text.data, limits[i]) != NULL;
	builder_message(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
	builder_limit(t, limit);
}

/* What became of a call is a part functionResponse, or a list of parts. */
static void
emit_calls(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice calls)
{
	struct json_walk w = json_slice_walk(calls), parts;
	struct json_slice call, part;

	while (!w.object && json_walk_next(&w, NULL, &call)) {
		struct json_slice id = json_slice_get(call, "id"), status = json_slice_get(call, "status");
		struct json_slice result = json_slice_get(call, "result");
		bool bad = json_slice_is(status, "error") || json_slice_is(status, "cancelled");
		struct buf text = BUF_INIT;

		builder_tool_call(t, id, json_slice_get(call, "name"), json_slice_get(call, "args"), r->time);
		if (json_slice_string(result))
			format_decode_text(&text, result, CALL_MOST);
		parts = json_slice_walk(result);
		while (!parts.object && json_walk_next(&parts, NULL, &part)) {
			struct json_slice response =
			    json_slice_get(json_slice_get(part, "functionResponse"), "response");

			if (response.n > 0)
				bad = format_part_response(&text, response) || bad;
		}
		if (result.n > 0 || bad)
			builder_tool_result(t, id, bad ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
	}
}

static void
emit_gemini(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct json_slice content = json_slice_get(record, "content"),
			  calls = json_slice_get(record, "toolCalls"), one;
	struct json_walk w =
	    json_slice_walk(r->meta ? expand_gemini(record) : (struct json_slice){ NULL, 0 });
	struct buf text = BUF_INIT;

	if (r->kind == ENTRY_USER) {
		format_emit_parts(t, r, ROLE_USER, content, is_gemini_injected, true);
	} else if (r->kind == ENTRY_ASSISTANT) {
		builder_answer(t);
		format_emit_parts(t, r, ROLE_ASSISTANT, content, is_interrupt_note, calls.n <= 2);
		emit_calls(t, r, calls);
	} else if (!r->meta && json_slice_is(json_slice_get(record, "type"), "error")) {
		emit_gemini_error(t, r, content);
	} else if (!r->meta) {
		format_content_text(&text, content, CALL_MOST);
		if (str_starts(text.data, "Request cancelled"))
			builder_interrupt(t, r->time);
		buf_wipe(&text);
	}
	while (!w.object && json_walk_next(&w, NULL, &one)) {
		struct transcript_entry inner = { .kind = ENTRY_UNKNOWN };

		classify_gemini(one, &inner);
		if (inner.kind <= ENTRY_SYSTEM && !inner.meta)
			emit_gemini(t, &inner, one);
	}
}

static void
header_gemini(struct transcript_builder *t, struct json_slice record)
{
	builder_header(t, BATCH_SESSION, json_slice_get(record, "sessionId"));
}

const struct transcript_format format_gemini = { .name = "gemini",
	.classify = classify_gemini,
	.order = order_gemini,
	.expand = expand_gemini,
	.emit = emit_gemini,
	.header = header_gemini,
	.older_list = "messages" };
