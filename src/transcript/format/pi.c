#include <string.h>

#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "transcript/format/format_private.h"

/*
 * pi 0.74.2: ~/.pi/agent/sessions/--<directory>--/<time>_<id>.jsonl. The first line tells of the
 * session, the others are a tree by id and parentId: going back hangs the next message on an
 * older one. The file begins with the first answer.
 */

static void
classify_pi(struct json_slice record, struct transcript_entry *out)
{
	static const struct { const char *name; enum entry_kind kind;
	} types[] = {
		{ "compaction", ENTRY_SYSTEM }, { "branch_summary", ENTRY_SYSTEM },
		{ "custom_message", ENTRY_SYSTEM }, { "session", ENTRY_NOTE },
		{ "thinking_level_change", ENTRY_NOTE }, { "model_change", ENTRY_NOTE },
		{ "custom", ENTRY_NOTE }, { "label", ENTRY_NOTE }, { "session_info", ENTRY_NOTE },
	};
	struct json_slice type = json_slice_get(record, "type"), role;

	out->time = entry_time(json_slice_get(record, "timestamp"));
	out->prompt = true;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (json_slice_is(type, types[i].name))
			out->kind = (uint8_t)types[i].kind;
	if (json_slice_is(type, "message")) {
		role = json_slice_get(json_slice_get(record, "message"), "role");
		out->kind = json_slice_is(role, "user") ? ENTRY_USER
		    : json_slice_is(role, "assistant")  ? ENTRY_ASSISTANT
							: ENTRY_SYSTEM;
	}
	if (json_slice_is(type, "session"))
		return;		/* its id is no record's */
	out->id = entry_hash_id(json_slice_get(record, "id"));
	out->parent = entry_hash_id(json_slice_get(record, "parentId"));
}

static void
emit_pi_result(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice message)
{
	struct buf text = BUF_INIT;
	bool failed = json_slice_is(json_slice_get(message, "isError"), "true");

	format_content_text(&text, json_slice_get(message, "content"), CALL_MOST);
	builder_tool_result(t, json_slice_get(message, "toolCallId"),
	    failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
}

/* What the person ran with "!". */
static void
emit_shell(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice message)
{
	struct buf text = BUF_INIT;

	buf_str(&text, "! ");
	format_decode_text(&text, json_slice_get(message, "command"), CALL_MOST);
	builder_message(t, ROLE_USER, STATUS_COMPLETE, r->time, &text);
	format_decode_text(&text, json_slice_get(message, "output"), CALL_MOST);
	builder_message(t, ROLE_SYSTEM, STATUS_COMPLETE, r->time, &text);
}

static void
emit_pi_answer(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice message)
{
	struct json_slice reason = json_slice_get(message, "stopReason"),
			  error = json_slice_get(message, "errorMessage");
	struct buf text = BUF_INIT;
	bool limit;

	builder_answer(t);
	format_emit_blocks(t, r, ROLE_ASSISTANT, json_slice_get(message, "content"), NULL);
	if (json_slice_is(reason, "aborted"))
		builder_interrupt(t, r->time);
	if (json_slice_is(reason, "error") && json_slice_string(error)) {
		limit = strncmp(error.p, "\"401 ", 5) == 0 || strncmp(error.p, "\"429 ", 5) == 0;
		format_decode_text(&text, error, CALL_MOST);
		builder_message(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
		builder_limit(t, limit);
	}
}

static void
emit_pi(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct json_slice message = json_slice_get(record, "message"), role = json_slice_get(message, "role");
	struct json_slice type = json_slice_get(record, "type");

	if (json_slice_is(type, "compaction") || json_slice_is(type, "branch_summary"))
		builder_summary(t, json_slice_get(record, "summary"), r->time);
	else if (json_slice_is(type, "custom_message") &&
	    !json_slice_is(json_slice_get(record, "display"), "false"))
		format_emit_blocks(t, r, ROLE_SYSTEM, json_slice_get(record, "content"), NULL);
	else if (r->kind == ENTRY_USER)
		format_emit_blocks(t, r, ROLE_USER, json_slice_get(message, "content"), NULL);
	else if (r->kind == ENTRY_ASSISTANT)
		emit_pi_answer(t, r, message);
	else if (json_slice_is(role, "toolResult"))
		emit_pi_result(t, r, message);
	else if (json_slice_is(role, "bashExecution"))
		emit_shell(t, r, message);
}

static void
header_pi(struct transcript_builder *t, struct json_slice record)
{
	if (json_slice_is(json_slice_get(record, "type"), "session"))
		builder_header(t, BATCH_SESSION, json_slice_get(record, "id"));
}

const struct transcript_format format_pi = { .name = "pi",
	.classify = classify_pi,
	.order = transcript_tree_order,
	.emit = emit_pi,
	.header = header_pi };
