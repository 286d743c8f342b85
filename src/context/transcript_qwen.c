#include <string.h>

#include "context/transcript_reader.h"
#include "base/buf.h"
#include "context/transcript_call.h"
#include "context/transcript_parts.h"
#include "context/transcript_teller.h"
#include "context/transcript_words.h"

/*
 * qwen 0.15.10: ~/.qwen/projects/<directory>/chats/<id>.jsonl. Records {uuid, parentUuid, sessionId, version, type, message.parts}, a
 * tree: a rewind hangs a record on an older one. Of type system only slash commands, compressions and failed requests say something.
 */

static void
open_qwen(struct json_slice record, struct record *out)
{
	static const struct { const char *name; enum record_kind kind; } types[] = {
		{ "user", RECORD_USER }, { "assistant", RECORD_ASSISTANT }, { "tool_result", RECORD_SYSTEM }, { "system", RECORD_SYSTEM },
	};
	struct json_slice type = json_slice_get(record, "type");

	out->id = record_name(json_slice_get(record, "uuid"));
	out->parent = record_name(json_slice_get(record, "parentUuid"));
	out->time = record_time(json_slice_get(record, "timestamp"));
	out->prompt = true;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (json_slice_is(type, types[i].name))
			out->kind = (uint8_t)types[i].kind;
}

static void
tell_system(struct teller *t, const struct record *r, struct json_slice record)
{
	struct json_slice subtype = json_slice_get(record, "subtype"), payload = json_slice_get(record, "systemPayload");
	struct json_slice event = json_slice_get(payload, "uiEvent"), status = json_slice_get(event, "status_code");
	struct buf text = BUF_INIT;

	if (json_slice_is(subtype, "slash_command") && json_slice_is(json_slice_get(payload, "phase"), "invocation")) {
		words_decode(&text, json_slice_get(payload, "rawCommand"), CALL_MOST);
		teller_words(t, ROLE_USER, STATUS_COMPLETE, r->time, &text);
	} else if (json_slice_is(subtype, "chat_compression")) {
		buf_str(&text, "The conversation so far was compressed.");
		teller_words(t, ROLE_SYSTEM, STATUS_COMPLETE, r->time, &text);
	} else if (json_slice_is(json_slice_get(event, "event.name"), "qwen-code.api_error") &&
	    json_slice_get(event, "subagent_name").n == 0) {
		words_decode(&text, json_slice_get(event, "error_message"), CALL_MOST);
		teller_words(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
		teller_limit(t, json_slice_number(status, 0) == 401 || json_slice_number(status, 0) == 429);
	}
}

static void
tell_qwen(struct teller *t, const struct record *r, struct json_slice record)
{
	struct json_slice parts = json_slice_get(json_slice_get(record, "message"), "parts"), subtype = json_slice_get(record, "subtype");

	if (json_slice_is(json_slice_get(record, "type"), "system")) {
		tell_system(t, r, record);
	} else if (r->kind == RECORD_ASSISTANT) {
		teller_answer(t);
		parts_tell(t, r, ROLE_ASSISTANT, parts, NULL, true);
	} else {
		bool program = json_slice_is(subtype, "notification") || json_slice_is(subtype, "cron");

		parts_tell(t, r, program ? ROLE_SYSTEM : ROLE_USER, parts, NULL, true);
	}
}

static void
head_qwen(struct teller *t, struct json_slice record)
{
	teller_head(t, FIELD_SESSION, json_slice_get(record, "sessionId"));
	teller_head(t, FIELD_BANNER, json_slice_get(record, "version"));
}

const struct reader reader_qwen = { .name = "qwen", .heads = true, .open = open_qwen, .order = order_tree, .tell = tell_qwen,
	.head = head_qwen };
