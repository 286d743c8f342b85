#include <string.h>

#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "transcript/format/format_private.h"

/*
 * codex 0.169.0: ~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl, a line {timestamp, type, payload}.
 * response_item is what the model is sent: messages, calls, outputs. event_msg repeats them for
 * the screen, and tells of turns that were aborted, of errors and of turns taken back. A user's
 * message may be the program's: its context, AGENTS.md, a shell command's output, each in a tag
 * or under a heading of its own.
 */

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const char *const calls[] = { "function_call", "custom_tool_call", "local_shell_call" };
static const char *const outputs[] = { "function_call_output", "custom_tool_call_output",
	"local_shell_call_output" };

static bool
is_one_of(struct json_slice v, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (json_slice_is(v, names[i]))
			return true;
	return false;
}

static enum entry_kind
kind_of_item(struct json_slice payload)
{
	static const char *const silent[] = { "reasoning", "web_search_call", "tool_search_call",
		"tool_search_output", "ghost_snapshot", "image_generation_call", "compaction",
		"compaction_summary", "context_compaction" };
	struct json_slice type = json_slice_get(payload, "type"), role = json_slice_get(payload, "role");

	if (json_slice_is(type, "message"))
		return json_slice_is(role, "user")     ? ENTRY_USER
		    : json_slice_is(role, "assistant") ? ENTRY_ASSISTANT
						       : ENTRY_NOTE;
	if (is_one_of(type, calls, COUNT(calls)))
		return ENTRY_ASSISTANT;
	if (is_one_of(type, outputs, COUNT(outputs)))
		return ENTRY_SYSTEM;
	return is_one_of(type, silent, COUNT(silent)) ? ENTRY_NOTE : ENTRY_UNKNOWN;
}

static enum entry_kind
kind_of_event(struct json_slice payload)
{
	static const char *const told[] = { "turn_aborted", "error", "thread_rolled_back", "task_complete" };

	return is_one_of(json_slice_get(payload, "type"), told, COUNT(told)) ? ENTRY_SYSTEM : ENTRY_NOTE;
}

static void
classify_codex(struct json_slice record, struct transcript_entry *out)
{
	static const char *const notes[] = { "session_meta", "turn_context", "world_state",
		"token_usage_record" };
	struct json_slice type = json_slice_get(record, "type"), payload = json_slice_get(record, "payload");

	out->time = entry_time(json_slice_get(record, "timestamp"));
	if (json_slice_is(type, "response_item"))
		out->kind = (uint8_t)kind_of_item(payload);
	else if (json_slice_is(type, "event_msg"))
		out->kind = (uint8_t)kind_of_event(payload);
	else if (json_slice_is(type, "compacted"))
		out->kind = ENTRY_SYSTEM;
	else
		out->kind = is_one_of(type, notes, COUNT(notes)) ? ENTRY_NOTE : ENTRY_UNKNOWN;
}

/* Put in by the program, not typed by the person. */
static bool
is_codex_injected(struct buf *text)
{
	static const char *const tags[] = { "environment_context", "user_instructions", "skill",
		"subagent_notification", "turn_aborted", "user_shell_command" };

	for (size_t i = 0; i < COUNT(tags); i++)
		if (format_untag(text, tags[i]))
			return true;
	return str_starts(text->data, "# AGENTS.md instructions for ");
}

static void
emit_message(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice payload)
{
	struct json_walk w = json_slice_walk(json_slice_get(payload, "content"));
	struct buf all = BUF_INIT, text = BUF_INIT;
	struct json_slice part;

	while (!w.object && json_walk_next(&w, NULL, &part)) {
		struct json_slice words = json_slice_get(part, "text");

		if (json_slice_string(words))
			format_decode_text(&text, words, 0);
		else if (json_slice_is(json_slice_get(part, "type"), "input_image"))
			buf_str(&text, "[image]");
		if (text.len > 0 && (r->kind != ENTRY_USER || !is_codex_injected(&text))) {
			if (all.len > 0)
				buf_chr(&all, '\n');
			buf_add(&all, text.data, text.len);
		}
		buf_wipe(&text);
	}
	builder_message(
	    t, r->kind == ENTRY_USER ? ROLE_USER : ROLE_ASSISTANT, STATUS_COMPLETE, r->time, &all);
}

static void
emit_call(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice payload)
{
	struct json_slice input = json_slice_get(payload, "arguments"),
			  name = json_slice_get(payload, "name");

	if (input.n == 0)
		input = json_slice_get(payload, "input");
	if (json_slice_is(json_slice_get(payload, "type"), "local_shell_call")) {
		static const char shell[] = "\"local_shell\"";

		name = (struct json_slice){ shell, sizeof shell - 1 };
		input = json_slice_get(json_slice_get(payload, "action"), "command");
	}
	builder_tool_call(t, json_slice_get(payload, "call_id"), name, input, r->time);
}

/*
 * A string, a list of texts, or an object that holds one of them and says whether it went well;
 * older ones hold that as JSON in the string.
 */
static void
emit_output(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice payload)
{
	struct json_slice output = json_slice_get(payload, "output"),
			  content = json_slice_get(output, "content");
	bool failed = json_slice_is(json_slice_get(output, "success"), "false");
	struct buf text = BUF_INIT;

	format_content_text(&text, content.n > 0 ? content : output, CALL_MOST);
	/* "aborted by user after 2.1s", "Wall time: 4.3 seconds\naborted by user" */
	failed =
	    failed || str_starts(text.data, "aborted by user") || str_ends(text.data, "\naborted by user");
	builder_tool_result(
	    t, json_slice_get(payload, "call_id"), failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
	builder_answer(t);
}

/*
 * codex_error_info is a word, or names a failure with the answer's status:
 * {"http_connection_failed": {"http_status_code": 401}}.
 */
static bool
is_limit(struct json_slice info)
{
	struct json_walk w = json_slice_walk(info);
	struct json_slice failure;
	int64_t status = 0;

	while (w.object && json_walk_next(&w, NULL, &failure))
		status = json_slice_number(json_slice_get(failure, "http_status_code"), status);
	return status == 401 || status == 429 || json_slice_is(info, "usage_limit_exceeded") ||
	    json_slice_is(info, "unauthorized");
}

/* error: an event, or what a turn ended with. */
static void
emit_codex_error(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice error)
{
	struct json_slice message = json_slice_get(error, "message");
	struct buf text = BUF_INIT;

	if (!json_slice_string(message))
		return;
	format_decode_text(&text, message, CALL_MOST);
	builder_message(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
	builder_limit(t, is_limit(json_slice_get(error, "codex_error_info")));
}

static void
emit_event(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice payload)
{
	struct json_slice type = json_slice_get(payload, "type");

	if (json_slice_is(type, "turn_aborted"))
		builder_interrupt(t, r->time);
	else if (json_slice_is(type, "error"))
		emit_codex_error(t, r, payload);
	else if (json_slice_is(type, "task_complete"))
		emit_codex_error(t, r, json_slice_get(payload, "error"));
	else
		builder_rollback(t, (size_t)json_slice_number(json_slice_get(payload, "num_turns"), 0));
}

static void
emit_codex(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct json_slice payload = json_slice_get(record, "payload"), type = json_slice_get(payload, "type");

	if (json_slice_is(json_slice_get(record, "type"), "compacted")) {
		builder_summary(t, json_slice_get(payload, "message"), r->time);
	} else if (json_slice_is(json_slice_get(record, "type"), "event_msg")) {
		emit_event(t, r, payload);
	} else if (json_slice_is(type, "message")) {
		emit_message(t, r, payload);
	} else if (r->kind == ENTRY_ASSISTANT) {
		emit_call(t, r, payload);
	} else {
		emit_output(t, r, payload);
	}
}

static void
header_codex(struct transcript_builder *t, struct json_slice record)
{
	struct json_slice payload = json_slice_get(record, "payload");

	builder_header(t, BATCH_SESSION, json_slice_get(payload, "id"));
	builder_header(t, BATCH_BANNER, json_slice_get(payload, "cli_version"));
}

#define TURN_TAIL ((off_t)1 << 20)	/* bytes in which the last turn is looked for */

static bool
has_event(const char *line, size_t n, const char *event)
{
	return memmem(line, n, event, strlen(event)) != NULL;
}

static enum last_turn
last_turn_codex(struct transcript_tail *t)
{
	off_t at, floor = t->end > TURN_TAIL ? t->end - TURN_TAIL : 0;
	const char *line;
	size_t n;

	while (t->end >= floor && transcript_tail_previous(t, &at, &n, NULL) == 1 &&
	    transcript_tail_line(t, at, n, &line, &n, NULL) == 0) {
		if (has_event(line, n, "\"type\":\"task_complete\"") ||
		    has_event(line, n, "\"type\":\"turn_aborted\""))
			return TURN_OVER;
		if (has_event(line, n, "\"type\":\"task_started\""))
			return TURN_RUNS;
	}
	return TURN_UNKNOWN;
}

const struct transcript_format format_codex = { .name = "codex",
	.classify = classify_codex,
	.emit = emit_codex,
	.header = header_codex,
	.last_turn = last_turn_codex };
