#include <string.h>

#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "transcript/format/format_private.h"

/*
 * opencode 1.18.33: ~/.local/share/opencode/opencode.db, one for all sessions, or what `opencode
 * export` prints. A message {info, parts}; a part of type tool holds the call, what became of it
 * and how it stands.
 */

static void
classify_opencode(struct json_slice record, struct transcript_entry *out)
{
	struct json_slice info = json_slice_get(record, "info"), role = json_slice_get(info, "role"),
			  id = json_slice_get(record, "id");

	out->id = entry_hash_id(id.n > 0 ? id : json_slice_get(info, "id"));
	out->time = json_slice_number(json_slice_get(json_slice_get(info, "time"), "created"), 0);
	if (json_slice_is(role, "user"))
		out->kind = ENTRY_USER;
	else if (json_slice_is(role, "assistant"))
		out->kind = ENTRY_ASSISTANT;
}

static void
emit_tool(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice part)
{
	struct json_slice state = json_slice_get(part, "state"), status = json_slice_get(state, "status");
	struct json_slice id = json_slice_get(part, "callID");
	static const char aborted[] =
	    "User aborted the command\n</shell_metadata>"; /* of a command that "completed" so */
	bool failed = json_slice_is(status, "error");
	struct buf text = BUF_INIT;

	builder_tool_call(t, id, json_slice_get(part, "tool"), json_slice_get(state, "input"), r->time);
	if (!failed && !json_slice_is(status, "completed"))
		return;
	format_content_text(&text, json_slice_get(state, failed ? "error" : "output"), CALL_MOST);
	failed = failed ||
	    (text.len >= sizeof aborted - 1 &&
		strcmp(text.data + text.len - (sizeof aborted - 1), aborted) == 0);
	builder_tool_result(t, id, failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
}

static void
put_message_part(struct buf *out, struct json_slice part, struct json_slice type)
{
	struct json_slice name = json_slice_get(part, "filename");
	bool hidden = json_slice_is(json_slice_get(part, "synthetic"), "true") ||
	    json_slice_is(json_slice_get(part, "ignored"), "true");

	if (hidden || (!json_slice_is(type, "text") && !json_slice_is(type, "file")))
		return;
	if (out->len > 0)
		buf_chr(out, '\n');
	if (json_slice_is(type, "text")) {
		if (json_slice_string(json_slice_get(part, "text")))
			format_decode_text(out, json_slice_get(part, "text"), 0);
		return;
	}
	buf_chr(out, '[');
	if (json_slice_string(name))
		format_decode_text(out, name, 1024);
	else
		buf_str(out, "file");
	buf_chr(out, ']');
}

static void
emit_opencode_error(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice error)
{
	struct json_slice name = json_slice_get(error, "name"), data = json_slice_get(error, "data");
	int64_t status = json_slice_number(json_slice_get(data, "statusCode"), 0);
	struct buf text = BUF_INIT;

	if (json_slice_is(name, "MessageAbortedError")) {
		builder_interrupt(t, r->time);
		return;
	}
	format_decode_text(&text,
	    json_slice_string(json_slice_get(data, "message")) ? json_slice_get(data, "message") : name,
	    CALL_MOST);
	builder_message(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
	builder_limit(t, json_slice_is(name, "ProviderAuthError") || status == 401 || status == 429);
}

static void
emit_opencode(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct json_slice info = json_slice_get(record, "info"), error = json_slice_get(info, "error"), part;
	struct json_walk w = json_slice_walk(json_slice_get(record, "parts"));
	bool summary = json_slice_is(json_slice_get(info, "summary"), "true");
	enum role role = r->kind == ENTRY_USER ? ROLE_USER : summary ? ROLE_SYSTEM : ROLE_ASSISTANT;
	struct buf text = BUF_INIT;

	if (role == ROLE_ASSISTANT)
		builder_answer(t);
	while (!w.object && json_walk_next(&w, NULL, &part)) {
		struct json_slice type = json_slice_get(part, "type");

		put_message_part(&text, part, type);
		if (!json_slice_is(type, "tool"))
			continue;
		builder_message(t, role, STATUS_COMPLETE, r->time, &text);
		emit_tool(t, r, part);
	}
	builder_message(t, role, STATUS_COMPLETE, r->time, &text);
	if (*(error.n > 0 ? error.p : " ") == '{')
		emit_opencode_error(t, r, error);
}

static void
emit_todos(struct transcript_builder *t, struct json_slice todos)
{
	struct json_walk w = json_slice_walk(todos);
	struct buf text = BUF_INIT;
	struct json_slice todo;

	while (!w.object && json_walk_next(&w, NULL, &todo)) {
		struct json_slice status = json_slice_get(todo, "status");

		if (text.len > 0)
			buf_chr(&text, '\n');
		buf_str(&text,
		    json_slice_is(status, "completed")         ? "✔ "
			: json_slice_is(status, "in_progress") ? "◼ "
							       : "◻ ");
		format_decode_text(&text, json_slice_get(todo, "content"), CALL_MOST);
	}
	builder_tasks(t, &text);
}

static void
header_opencode(struct transcript_builder *t, struct json_slice record)
{
	struct json_slice info = json_slice_get(record, "info"), back = json_slice_get(info, "revert");

	builder_header(t, BATCH_SESSION, json_slice_get(info, "id"));
	builder_header(t, BATCH_BANNER, json_slice_get(info, "version"));
	/* what stands behind that record, and itself, was taken back */
	t->end = entry_hash_id(json_slice_string(back) ? back : json_slice_get(back, "messageID"));
	emit_todos(t, json_slice_get(record, "todos"));
}

const struct transcript_format format_opencode = { .name = "opencode",
	.list = "messages",
	.database = true,
	.classify = classify_opencode,
	.emit = emit_opencode,
	.header = header_opencode };
