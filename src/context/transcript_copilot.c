#include <string.h>

#include "context/transcript_reader.h"
#include "base/buf.h"
#include "context/transcript_call.h"
#include "context/transcript_teller.h"
#include "context/transcript_words.h"

/*
 * copilot 1.0.102: ~/.copilot/session-state/<id>/events.jsonl, a line {type, data, id, timestamp, parentId}, in order. A message of the
 * model names its calls, an event tells when one begins and one when it ends. What sub-agents do names the call it is done for, and is
 * left out.
 */

static const struct { const char *name; enum record_kind kind; } types[] = {
	{ "user.message", RECORD_USER }, { "assistant.message", RECORD_ASSISTANT }, { "tool.execution_start", RECORD_ASSISTANT },
	{ "tool.execution_complete", RECORD_SYSTEM }, { "abort", RECORD_SYSTEM }, { "session.error", RECORD_SYSTEM },
	{ "session.compaction_complete", RECORD_SYSTEM }, { "system.message", RECORD_NOTE }, { "assistant.turn_start", RECORD_NOTE },
	{ "assistant.turn_end", RECORD_NOTE }, { "assistant.intent", RECORD_NOTE }, { "assistant.reasoning", RECORD_NOTE },
	{ "assistant.usage", RECORD_NOTE }, { "tool.user_requested", RECORD_NOTE }, { "tool.execution_partial_result", RECORD_NOTE },
	{ "tool.execution_progress", RECORD_NOTE }, { "system.notification", RECORD_NOTE },
};
/* Kinds of its book-keeping. */
static const char *const families[] = { "\"session.", "\"hook.", "\"subagent.", "\"permission.", "\"skill.", "\"model." };

static void
open_copilot(struct json_slice record, struct record *out)
{
	struct json_slice type = json_slice_get(record, "type");

	out->time = record_time(json_slice_get(record, "timestamp"));
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		if (type.n > strlen(families[i]) && memcmp(type.p, families[i], strlen(families[i])) == 0)
			out->kind = RECORD_NOTE;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (json_slice_is(type, types[i].name))
			out->kind = (uint8_t)types[i].kind;
	if (json_slice_string(json_slice_get(json_slice_get(record, "data"), "parentToolCallId")))
		out->kind = RECORD_NOTE;
}

/* The first line of what the model is sent. */
static void
drop_clock(struct buf *text)
{
	static const char open[] = "<current_datetime>", close[] = "</current_datetime>";
	const char *end = str_starts(text->data, open) ? strstr(text->data, close) : NULL;
	struct buf rest = BUF_INIT;

	if (end == NULL)
		return;
	for (end += sizeof close - 1; *end == '\n'; end++)
		;
	buf_add(&rest, end, text->len - (size_t)(end - text->data));
	buf_wipe(text);
	*text = rest;
}

static void
tell_answer(struct teller *t, const struct record *r, struct json_slice data)
{
	struct json_walk w = json_slice_walk(json_slice_get(data, "toolRequests"));
	struct buf text = BUF_INIT;
	struct json_slice call;

	teller_answer(t);
	words_content(&text, json_slice_get(data, "content"), 0);
	teller_words(t, ROLE_ASSISTANT, STATUS_COMPLETE, r->time, &text);
	while (!w.object && json_walk_next(&w, NULL, &call))
		teller_call(t, json_slice_get(call, "toolCallId"), json_slice_get(call, "name"), json_slice_get(call, "arguments"),
		    r->time);
}

static void
tell_result(struct teller *t, const struct record *r, struct json_slice data)
{
	struct json_slice error = json_slice_get(json_slice_get(data, "error"), "message");
	bool failed = json_slice_is(json_slice_get(data, "success"), "false");
	struct buf text = BUF_INIT;

	words_content(&text, json_slice_get(json_slice_get(data, "result"), "content"), CALL_MOST);
	if (text.len == 0 && json_slice_string(error))
		words_decode(&text, error, CALL_MOST);
	teller_result(t, json_slice_get(data, "toolCallId"), failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
}

static void
tell_error(struct teller *t, const struct record *r, struct json_slice data)
{
	struct json_slice what = json_slice_get(data, "errorType");
	struct buf text = BUF_INIT;

	words_decode(&text, json_slice_get(data, "message"), CALL_MOST);
	teller_words(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
	teller_limit(t, json_slice_is(what, "quota") || json_slice_is(what, "rate_limit") || json_slice_is(what, "authentication") ||
	    json_slice_is(what, "authorization"));
}

static void
tell_copilot(struct teller *t, const struct record *r, struct json_slice record)
{
	struct json_slice type = json_slice_get(record, "type"), data = json_slice_get(record, "data");
	struct buf text = BUF_INIT;

	if (r->kind == RECORD_USER) {
		words_content(&text, json_slice_get(data, "content"), 0);
		drop_clock(&text);
		teller_words(t, ROLE_USER, STATUS_COMPLETE, r->time, &text);
	} else if (json_slice_is(type, "assistant.message")) {
		tell_answer(t, r, data);
	} else if (json_slice_is(type, "tool.execution_start")) {
		if (!teller_has_call(t, json_slice_get(data, "toolCallId")))
			teller_call(t, json_slice_get(data, "toolCallId"), json_slice_get(data, "toolName"),
			    json_slice_get(data, "arguments"), r->time);
	} else if (json_slice_is(type, "tool.execution_complete")) {
		tell_result(t, r, data);
	} else if (json_slice_is(type, "abort")) {
		teller_interrupt(t, r->time);
	} else if (json_slice_is(type, "session.error")) {
		tell_error(t, r, data);
	} else {
		teller_summary(t, json_slice_get(data, "summaryContent"), r->time);
	}
}

static void
head_copilot(struct teller *t, struct json_slice record)
{
	struct json_slice data = json_slice_get(record, "data");

	teller_head(t, FIELD_SESSION, json_slice_get(data, "sessionId"));
	teller_head(t, FIELD_BANNER, json_slice_get(data, "copilotVersion"));
}

const struct reader reader_copilot = { .name = "copilot", .open = open_copilot, .tell = tell_copilot, .head = head_copilot };
