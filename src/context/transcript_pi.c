#include <string.h>

#include "context/transcript_reader.h"
#include "base/buf.h"
#include "context/transcript_call.h"
#include "context/transcript_parts.h"
#include "context/transcript_teller.h"
#include "context/transcript_words.h"

/*
 * pi 0.74.2: ~/.pi/agent/sessions/--<directory>--/<time>_<id>.jsonl. The first line tells of the session, the others are a tree by id and
 * parentId: going back hangs the next message on an older one. The file begins with the first answer.
 */

static void
open_pi(struct json_slice record, struct record *out)
{
	static const struct { const char *name; enum record_kind kind; } types[] = {
		{ "compaction", RECORD_SYSTEM }, { "branch_summary", RECORD_SYSTEM }, { "custom_message", RECORD_SYSTEM },
		{ "session", RECORD_NOTE }, { "thinking_level_change", RECORD_NOTE }, { "model_change", RECORD_NOTE },
		{ "custom", RECORD_NOTE }, { "label", RECORD_NOTE }, { "session_info", RECORD_NOTE },
	};
	struct json_slice type = json_slice_get(record, "type"), role;

	out->time = record_time(json_slice_get(record, "timestamp"));
	out->prompt = true;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (json_slice_is(type, types[i].name))
			out->kind = (uint8_t)types[i].kind;
	if (json_slice_is(type, "message")) {
		role = json_slice_get(json_slice_get(record, "message"), "role");
		out->kind = json_slice_is(role, "user") ? RECORD_USER : json_slice_is(role, "assistant") ? RECORD_ASSISTANT : RECORD_SYSTEM;
	}
	if (json_slice_is(type, "session"))
		return;		/* its id is no record's */
	out->id = record_name(json_slice_get(record, "id"));
	out->parent = record_name(json_slice_get(record, "parentId"));
}

static void
tell_result(struct teller *t, const struct record *r, struct json_slice message)
{
	struct buf text = BUF_INIT;
	bool failed = json_slice_is(json_slice_get(message, "isError"), "true");

	words_content(&text, json_slice_get(message, "content"), CALL_MOST);
	teller_result(t, json_slice_get(message, "toolCallId"), failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
}

/* What the person ran with "!". */
static void
tell_shell(struct teller *t, const struct record *r, struct json_slice message)
{
	struct buf text = BUF_INIT;

	buf_str(&text, "! ");
	words_decode(&text, json_slice_get(message, "command"), CALL_MOST);
	teller_words(t, ROLE_USER, STATUS_COMPLETE, r->time, &text);
	words_decode(&text, json_slice_get(message, "output"), CALL_MOST);
	teller_words(t, ROLE_SYSTEM, STATUS_COMPLETE, r->time, &text);
}

static void
tell_answer(struct teller *t, const struct record *r, struct json_slice message)
{
	struct json_slice reason = json_slice_get(message, "stopReason"), error = json_slice_get(message, "errorMessage");
	struct buf text = BUF_INIT;
	bool limit;

	teller_answer(t);
	blocks_tell(t, r, ROLE_ASSISTANT, json_slice_get(message, "content"), NULL);
	if (json_slice_is(reason, "aborted"))
		teller_interrupt(t, r->time);
	if (json_slice_is(reason, "error") && json_slice_string(error)) {
		limit = strncmp(error.p, "\"401 ", 5) == 0 || strncmp(error.p, "\"429 ", 5) == 0;
		words_decode(&text, error, CALL_MOST);
		teller_words(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
		teller_limit(t, limit);
	}
}

static void
tell_pi(struct teller *t, const struct record *r, struct json_slice record)
{
	struct json_slice message = json_slice_get(record, "message"), role = json_slice_get(message, "role");
	struct json_slice type = json_slice_get(record, "type");

	if (json_slice_is(type, "compaction") || json_slice_is(type, "branch_summary"))
		teller_summary(t, json_slice_get(record, "summary"), r->time);
	else if (json_slice_is(type, "custom_message") && !json_slice_is(json_slice_get(record, "display"), "false"))
		blocks_tell(t, r, ROLE_SYSTEM, json_slice_get(record, "content"), NULL);
	else if (r->kind == RECORD_USER)
		blocks_tell(t, r, ROLE_USER, json_slice_get(message, "content"), NULL);
	else if (r->kind == RECORD_ASSISTANT)
		tell_answer(t, r, message);
	else if (json_slice_is(role, "toolResult"))
		tell_result(t, r, message);
	else if (json_slice_is(role, "bashExecution"))
		tell_shell(t, r, message);
}

static void
head_pi(struct teller *t, struct json_slice record)
{
	if (json_slice_is(json_slice_get(record, "type"), "session"))
		teller_head(t, FIELD_SESSION, json_slice_get(record, "id"));
}

const struct reader reader_pi = { .name = "pi", .open = open_pi, .order = order_tree, .tell = tell_pi, .head = head_pi };
