#include <string.h>

#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "transcript/format/format_private.h"

/*
 * copilot 1.0.102: ~/.copilot/session-state/<id>/events.jsonl, a line {type, data, id, timestamp,
 * parentId}, in order. A message of the model names its calls, an event tells when one begins and
 * one when it ends. What sub-agents do names the call it is done for, and is left out.
 */

static const struct { const char *name; enum entry_kind kind;
} types[] = {
	{ "user.message", ENTRY_USER }, { "assistant.message", ENTRY_ASSISTANT },
	{ "tool.execution_start", ENTRY_ASSISTANT }, { "tool.execution_complete", ENTRY_SYSTEM },
	{ "abort", ENTRY_SYSTEM }, { "session.error", ENTRY_SYSTEM },
	{ "session.compaction_complete", ENTRY_SYSTEM }, { "system.message", ENTRY_NOTE },
	{ "assistant.turn_start", ENTRY_NOTE }, { "assistant.turn_end", ENTRY_NOTE },
	{ "assistant.intent", ENTRY_NOTE }, { "assistant.reasoning", ENTRY_NOTE },
	{ "assistant.usage", ENTRY_NOTE }, { "tool.user_requested", ENTRY_NOTE },
	{ "tool.execution_partial_result", ENTRY_NOTE }, { "tool.execution_progress", ENTRY_NOTE },
	{ "system.notification", ENTRY_NOTE },
};
/* Kinds of its book-keeping. */
static const char *const families[] = { "\"session.", "\"hook.", "\"subagent.", "\"permission.", "\"skill.",
	"\"model." };

static void
classify_copilot(struct json_slice record, struct transcript_entry *out)
{
	struct json_slice type = json_slice_get(record, "type");

	out->time = entry_time(json_slice_get(record, "timestamp"));
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		if (type.n > strlen(families[i]) && memcmp(type.p, families[i], strlen(families[i])) == 0)
			out->kind = ENTRY_NOTE;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (json_slice_is(type, types[i].name))
			out->kind = (uint8_t)types[i].kind;
	if (json_slice_string(json_slice_get(json_slice_get(record, "data"), "parentToolCallId")))
		out->kind = ENTRY_NOTE;
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
emit_copilot_answer(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice data)
{
	struct json_walk w = json_slice_walk(json_slice_get(data, "toolRequests"));
	struct buf text = BUF_INIT;
	struct json_slice call;

	builder_answer(t);
	format_content_text(&text, json_slice_get(data, "content"), 0);
	builder_message(t, ROLE_ASSISTANT, STATUS_COMPLETE, r->time, &text);
	while (!w.object && json_walk_next(&w, NULL, &call))
		builder_tool_call(t, json_slice_get(call, "toolCallId"), json_slice_get(call, "name"),
		    json_slice_get(call, "arguments"), r->time);
}

static void
emit_copilot_result(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice data)
{
	struct json_slice error = json_slice_get(json_slice_get(data, "error"), "message");
	bool failed = json_slice_is(json_slice_get(data, "success"), "false");
	struct buf text = BUF_INIT;

	format_content_text(&text, json_slice_get(json_slice_get(data, "result"), "content"), CALL_MOST);
	if (text.len == 0 && json_slice_string(error))
		format_decode_text(&text, error, CALL_MOST);
	builder_tool_result(
	    t, json_slice_get(data, "toolCallId"), failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
}

static void
emit_copilot_error(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice data)
{
	struct json_slice what = json_slice_get(data, "errorType");
	struct buf text = BUF_INIT;

	format_decode_text(&text, json_slice_get(data, "message"), CALL_MOST);
	builder_message(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
	builder_limit(t,
	    json_slice_is(what, "quota") || json_slice_is(what, "rate_limit") ||
		json_slice_is(what, "authentication") || json_slice_is(what, "authorization"));
}

static void
emit_copilot(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct json_slice type = json_slice_get(record, "type"), data = json_slice_get(record, "data");
	struct buf text = BUF_INIT;

	if (r->kind == ENTRY_USER) {
		format_content_text(&text, json_slice_get(data, "content"), 0);
		drop_clock(&text);
		builder_message(t, ROLE_USER, STATUS_COMPLETE, r->time, &text);
	} else if (json_slice_is(type, "assistant.message")) {
		emit_copilot_answer(t, r, data);
	} else if (json_slice_is(type, "tool.execution_start")) {
		if (!builder_has_call(t, json_slice_get(data, "toolCallId")))
			builder_tool_call(t, json_slice_get(data, "toolCallId"),
			    json_slice_get(data, "toolName"), json_slice_get(data, "arguments"), r->time);
	} else if (json_slice_is(type, "tool.execution_complete")) {
		emit_copilot_result(t, r, data);
	} else if (json_slice_is(type, "abort")) {
		builder_interrupt(t, r->time);
	} else if (json_slice_is(type, "session.error")) {
		emit_copilot_error(t, r, data);
	} else {
		builder_summary(t, json_slice_get(data, "summaryContent"), r->time);
	}
}

static void
header_copilot(struct transcript_builder *t, struct json_slice record)
{
	struct json_slice data = json_slice_get(record, "data");

	builder_header(t, BATCH_SESSION, json_slice_get(data, "sessionId"));
	builder_header(t, BATCH_BANNER, json_slice_get(data, "copilotVersion"));
}

static enum exit_kind
exit_kind_copilot(struct transcript_tail *t)
{
	static const char shutdown[] = "\"type\":\"session.shutdown\"";
	const char *line;
	off_t at;
	size_t n;

	if (transcript_tail_previous(t, &at, &n, NULL) != 1 ||
	    transcript_tail_line(t, at, n, &line, &n, NULL) != 0)
		return EXIT_UNKNOWN;
	return memmem(line, n, shutdown, strlen(shutdown)) != NULL ? EXIT_CLEAN : EXIT_KILLED;
}

const struct transcript_format format_copilot = { .name = "copilot",
	.classify = classify_copilot,
	.emit = emit_copilot,
	.header = header_copilot,
	.exit_kind = exit_kind_copilot };
