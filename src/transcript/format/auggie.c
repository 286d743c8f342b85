#include <string.h>

#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "transcript/format/format_private.h"

/*
 * auggie 0.36.0: ~/.augment/sessions/<id>.json, written anew as a whole. chatHistory[].exchange
 * is a prompt with its answer: request_nodes of type 0 hold the person's words, of type 1 what
 * became of the calls before, response_nodes of type 0 the model's words, of type 5 its calls. A
 * call of the last exchange without a node of type 1 behind it is at work; the program itself
 * shows one that died as completed. "completed" is false when the person stopped the turn.
 */
enum { NODE_TEXT = 0, NODE_RESULT = 1, NODE_CALL = 5 };

static void
classify_auggie(struct json_slice record, struct transcript_entry *out)
{
	if (json_slice_get(record, "exchange").n == 0)
		return;
	out->time = entry_time(json_slice_get(record, "finishedAt"));
	out->kind = ENTRY_ASSISTANT;
}

static void
emit_request(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice exchange,
    enum role role)
{
	struct json_walk w = json_slice_walk(json_slice_get(exchange, "request_nodes"));
	struct buf all = BUF_INIT, text = BUF_INIT;
	struct json_slice node;

	while (!w.object && json_walk_next(&w, NULL, &node)) {
		struct json_slice result = json_slice_get(node, "tool_result_node"), words;
		int64_t type = json_slice_number(json_slice_get(node, "type"), -1);

		words = json_slice_get(json_slice_get(node, "text_node"), "content");
		if (type == NODE_RESULT) {
			bool failed = json_slice_is(json_slice_get(result, "is_error"), "true");

			format_content_text(&text, json_slice_get(result, "content"), CALL_MOST);
			builder_tool_result(t, json_slice_get(result, "tool_use_id"),
			    failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
		} else if (type == NODE_TEXT && json_slice_string(words)) {
			if (all.len > 0)
				buf_chr(&all, '\n');
			format_decode_text(&all, words, 0);
		}
	}
	if (all.len == 0 && json_slice_string(json_slice_get(exchange, "request_message")))
		format_decode_text(&all, json_slice_get(exchange, "request_message"), 0);
	builder_message(t, role, STATUS_COMPLETE, r->time, &all);
}

static void
emit_response(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice exchange)
{
	struct json_slice nodes = json_slice_get(exchange, "response_nodes"),
			  words = json_slice_get(exchange, "response_text"), node;
	struct json_walk w = json_slice_walk(nodes);
	struct buf text = BUF_INIT;

	builder_answer(t);
	if (nodes.n <= 2 && json_slice_string(words))
		format_decode_text(&text, words, 0);
	while (!w.object && json_walk_next(&w, NULL, &node)) {
		struct json_slice call = json_slice_get(node, "tool_use"),
				  piece = json_slice_get(node, "content");
		int64_t type = json_slice_number(json_slice_get(node, "type"), -1);

		if (type == NODE_TEXT && json_slice_string(piece))
			format_decode_text(&text, piece, 0);		/* a piece of the stream */
		if (type != NODE_CALL)
			continue;
		builder_message(t, ROLE_ASSISTANT, STATUS_COMPLETE, r->time, &text);
		builder_tool_call(t, json_slice_get(call, "tool_use_id"), json_slice_get(call, "tool_name"),
		    json_slice_get(call, "input_json"), r->time);
	}
	builder_message(t, ROLE_ASSISTANT, STATUS_COMPLETE, r->time, &text);
}

static void
emit_auggie(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct json_slice exchange = json_slice_get(record, "exchange");
	bool summary = json_slice_is(json_slice_get(record, "isHistorySummary"), "true");

	emit_request(t, r, exchange, summary ? ROLE_SYSTEM : ROLE_USER);
	emit_response(t, r, exchange);
	if (json_slice_is(json_slice_get(record, "completed"), "false"))
		builder_interrupt(t, r->time);
}

static void
header_auggie(struct transcript_builder *t, struct json_slice record)
{
	builder_header(t, BATCH_SESSION, json_slice_get(record, "sessionId"));
}

const struct transcript_format format_auggie = { .name = "auggie",
	.list = "chatHistory",
	.classify = classify_auggie,
	.emit = emit_auggie,
	.header = header_auggie };
