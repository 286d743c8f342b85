#include <string.h>

#include "transcript/format/format_private.h"
#include "base/buf.h"
#include "transcript/transcript_private.h"

/* Texts of one message that follow each other are one exchange. */
static void
join_texts(struct buf *all, struct buf *text, format_injected_fn *injected)
{
	if (text->len > 0 && (injected == NULL || !injected(text))) {
		if (all->len > 0)
			buf_chr(all, '\n');
		buf_add(all, text->data, text->len);
	}
	buf_wipe(text);
}

bool
format_part_response(struct buf *out, struct json_slice response)
{
	struct json_slice output = json_slice_get(response, "output"),
			  error = json_slice_get(response, "error");

	if (json_slice_string(error) || json_slice_string(output))
		format_decode_text(out, json_slice_string(error) ? error : output, CALL_MOST);
	else
		format_call_members(out, response);
	format_untag(out, "untrusted_context");
	return error.n > 0 && !json_slice_is(error, "null");
}

static void
emit_part_response(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice answer)
{
	struct buf text = BUF_INIT;
	bool failed = format_part_response(&text, json_slice_get(answer, "response"));

	builder_tool_result(
	    t, json_slice_get(answer, "id"), failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
}

void
format_emit_parts(struct transcript_builder *t, const struct transcript_entry *r, enum role role,
    struct json_slice parts, format_injected_fn *injected, bool calls)
{
	struct json_walk w = json_slice_walk(parts);
	struct buf all = BUF_INIT, text = BUF_INIT;
	struct json_slice part;

	if (json_slice_string(parts))
		format_decode_text(&text, parts, 0);
	join_texts(&all, &text, injected);
	while (!w.object && json_walk_next(&w, NULL, &part)) {
		struct json_slice words = json_slice_get(part, "text"),
				  call = json_slice_get(part, "functionCall");
		struct json_slice answer = json_slice_get(part, "functionResponse");

		if (json_slice_string(words) && !json_slice_is(json_slice_get(part, "thought"), "true"))
			format_decode_text(&text, words, 0);
		else if (json_slice_get(part, "inlineData").n > 0)
			buf_str(&text, "[image]");
		join_texts(&all, &text, injected);
		if (call.n > 0 && calls) {
			builder_message(t, role, STATUS_COMPLETE, r->time, &all);
			builder_tool_call(t, json_slice_get(call, "id"), json_slice_get(call, "name"),
			    json_slice_get(call, "args"), r->time);
		}
		if (answer.n > 0)
			emit_part_response(t, r, answer);
	}
	builder_message(t, role, STATUS_COMPLETE, r->time, &all);
}

/*
 * cline's: a list of {query, result, error, success}, one for each command or file that was asked
 * for. False when one went wrong.
 */
static bool
put_results(struct buf *out, struct json_slice list)
{
	struct json_walk w = json_slice_walk(list);
	struct json_slice one;
	bool ok = true;

	while (!w.object && json_walk_next(&w, NULL, &one)) {
		struct json_slice result = json_slice_get(one, "result"),
				  error = json_slice_get(one, "error");
		struct json_slice query = json_slice_get(one, "query");

		if (result.n == 0)
			continue;
		if (w.p < w.end || out->len > 0) {	/* of several */
			if (out->len > 0)
				buf_chr(out, '\n');
			format_decode_text(out, query, CALL_MOST);
			buf_chr(out, '\n');
		}
		if (json_slice_string(result) && (result.n > 2 || !json_slice_string(error)))
			format_decode_text(out, result, CALL_MOST);
		else
			format_call_members(out, json_slice_string(error) ? error : result);
		ok = ok && !json_slice_is(json_slice_get(one, "success"), "false");
	}
	return ok;
}

static void
emit_block(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice type,
    struct json_slice block)
{
	struct json_slice name = json_slice_get(block, "name"), id = json_slice_get(block, "id");
	struct buf text = BUF_INIT;
	bool failed;

	if (json_slice_is(type, "tool_use")) {
		builder_tool_call(t, id, name, json_slice_get(block, "input"), r->time);
	} else if (json_slice_is(type, "toolCall")) {
		builder_tool_call(t, id, name, json_slice_get(block, "arguments"), r->time);
	} else {
		format_content_text(&text, json_slice_get(block, "content"), CALL_MOST);
		failed = json_slice_is(json_slice_get(block, "is_error"), "true");
		if (text.len == 0)
			failed = !put_results(&text, json_slice_get(block, "content")) || failed;
		builder_tool_result(t, json_slice_get(block, "tool_use_id"),
		    failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
	}
}

void
format_emit_blocks(struct transcript_builder *t, const struct transcript_entry *r, enum role role,
    struct json_slice blocks, format_injected_fn *injected)
{
	struct json_walk w = json_slice_walk(blocks);
	struct buf all = BUF_INIT, text = BUF_INIT;
	struct json_slice block;

	if (json_slice_string(blocks))
		format_decode_text(&text, blocks, 0);
	join_texts(&all, &text, injected);
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type"), words = json_slice_get(block, "text");

		if (json_slice_is(type, "text") && json_slice_string(words))
			format_decode_text(&text, words, 0);
		else if (json_slice_is(type, "image"))
			buf_str(&text, "[image]");
		join_texts(&all, &text, injected);
		if (json_slice_is(type, "tool_use") || json_slice_is(type, "toolCall") ||
		    json_slice_is(type, "tool_result")) {
			builder_message(t, role, STATUS_COMPLETE, r->time, &all);
			emit_block(t, r, type, block);
		}
	}
	builder_message(t, role, STATUS_COMPLETE, r->time, &all);
}
