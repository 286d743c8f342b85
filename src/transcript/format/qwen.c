#include <string.h>

#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "transcript/format/format_private.h"

/*
 * qwen 0.15.10: ~/.qwen/projects/<directory>/chats/<id>.jsonl. Records {uuid, parentUuid,
 * sessionId, version, type, message.parts}, a tree: a rewind hangs a record on an older one. Of
 * type system only slash commands, compressions and failed requests say something.
 */

static void
classify_qwen(struct json_slice record, struct transcript_entry *out)
{
	static const struct { const char *name; enum entry_kind kind;
	} types[] = {
		{ "user", ENTRY_USER }, { "assistant", ENTRY_ASSISTANT },
		{ "tool_result", ENTRY_SYSTEM }, { "system", ENTRY_SYSTEM },
	};
	struct json_slice type = json_slice_get(record, "type");

	out->id = entry_hash_id(json_slice_get(record, "uuid"));
	out->parent = entry_hash_id(json_slice_get(record, "parentUuid"));
	out->time = entry_time(json_slice_get(record, "timestamp"));
	out->prompt = true;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (json_slice_is(type, types[i].name))
			out->kind = (uint8_t)types[i].kind;
}

static void
emit_system(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct json_slice subtype = json_slice_get(record, "subtype"),
			  payload = json_slice_get(record, "systemPayload");
	struct json_slice event = json_slice_get(payload, "uiEvent"),
			  status = json_slice_get(event, "status_code");
	struct buf text = BUF_INIT;

	if (json_slice_is(subtype, "slash_command") &&
	    json_slice_is(json_slice_get(payload, "phase"), "invocation")) {
		format_decode_text(&text, json_slice_get(payload, "rawCommand"), CALL_MOST);
		builder_message(t, ROLE_USER, STATUS_COMPLETE, r->time, &text);
	} else if (json_slice_is(subtype, "chat_compression")) {
		buf_str(&text, "The conversation so far was compressed.");
		builder_message(t, ROLE_SYSTEM, STATUS_COMPLETE, r->time, &text);
	} else if (json_slice_is(json_slice_get(event, "event.name"), "qwen-code.api_error") &&
	    json_slice_get(event, "subagent_name").n == 0) {
		format_decode_text(&text, json_slice_get(event, "error_message"), CALL_MOST);
		builder_message(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
		builder_limit(t, json_slice_number(status, 0) == 401 || json_slice_number(status, 0) == 429);
	}
}

static void
emit_qwen(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct json_slice parts = json_slice_get(json_slice_get(record, "message"), "parts"),
			  subtype = json_slice_get(record, "subtype");

	if (json_slice_is(json_slice_get(record, "type"), "system")) {
		emit_system(t, r, record);
	} else if (r->kind == ENTRY_ASSISTANT) {
		builder_answer(t);
		format_emit_parts(t, r, ROLE_ASSISTANT, parts, NULL, true);
	} else {
		bool program = json_slice_is(subtype, "notification") || json_slice_is(subtype, "cron");

		format_emit_parts(t, r, program ? ROLE_SYSTEM : ROLE_USER, parts, NULL, true);
	}
}

static void
header_qwen(struct transcript_builder *t, struct json_slice record)
{
	builder_header(t, BATCH_SESSION, json_slice_get(record, "sessionId"));
	builder_header(t, BATCH_BANNER, json_slice_get(record, "version"));
}

const struct transcript_format format_qwen = { .name = "qwen",
	.heads = true,
	.classify = classify_qwen,
	.order = transcript_tree_order,
	.emit = emit_qwen,
	.header = header_qwen };
