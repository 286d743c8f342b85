#include <string.h>

#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "transcript/format/format_private.h"

/*
 * cline 3.0.65: ~/.cline/data/sessions/<id>/<id>.messages.json, written anew as a whole, messages
 * in Anthropic's shape. The person's words stand in <user_input mode="…">, perhaps behind a
 * <mode_notice>. Before the first answer has ended there is only <id>.json, whose prompt is all
 * that was said.
 */

static void
classify_cline(struct json_slice record, struct transcript_entry *out)
{
	struct json_slice role = json_slice_get(record, "role");

	out->time = json_slice_number(json_slice_get(record, "ts"), 0);
	if (json_slice_is(role, "user"))
		out->kind = ENTRY_USER;
	else if (json_slice_is(role, "assistant"))
		out->kind = ENTRY_ASSISTANT;
}

/* Leaves the person's words; true when there are none. */
static bool
is_cline_injected(struct buf *text)
{
	static const char notice[] = "</mode_notice>";
	const char *end = str_starts(text->data, "<mode_notice>") ? strstr(text->data, notice) : NULL;

	if (end != NULL) {
		struct buf rest = BUF_INIT;

		end += sizeof notice - 1;
		end += strspn(end, " \n");
		buf_add(&rest, end, text->len - (size_t)(end - text->data));
		buf_wipe(text);
		*text = rest;
	}
	if (!format_untag(text, "user_input"))
		format_untag(text, "user_command");
	return text->len == 0;
}

static void
emit_cline(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct json_slice content = json_slice_get(record, "content");
	struct json_slice shown = json_slice_get(json_slice_get(record, "metadata"), "displayRole");
	struct buf text = BUF_INIT;

	if (json_slice_is(shown, "error")) {	/* the service's, in the model's place */
		format_content_text(&text, content, CALL_MOST);
		builder_message(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
	} else if (r->kind == ENTRY_USER) {
		format_emit_blocks(t, r, ROLE_USER, content, is_cline_injected);
	} else {
		builder_answer(t);
		format_emit_blocks(t, r, ROLE_ASSISTANT, content, NULL);
	}
}

static void
header_cline(struct transcript_builder *t, struct json_slice record)
{
	struct json_slice origin = json_slice_get(record, "origin"),
			  prompt = json_slice_get(record, "prompt");
	struct transcript_entry r = { .time = entry_time(json_slice_get(record, "started_at")) };

	if (origin.n == 0)
		origin = json_slice_get(json_slice_get(record, "metadata"), "sessionHistoryOrigin");
	builder_header(t, BATCH_SESSION, json_slice_get(record, "sessionId"));
	builder_header(t, BATCH_SESSION, json_slice_get(record, "session_id"));
	builder_header(t, BATCH_BANNER, json_slice_get(origin, "version"));
	if (json_slice_string(prompt))
		format_emit_blocks(t, &r, ROLE_USER, prompt, is_cline_injected);
}

static char *
other_cline_file(const char *path, bool *fuller)
{
	static const char messages[] = ".messages.json", plain[] = ".json";
	size_t n = strlen(path);

	*fuller = !str_ends(path, messages) && str_ends(path, plain);
	if (str_ends(path, messages))
		return xasprintf("%.*s%s", (int)(n - (sizeof messages - 1)), path, plain);
	return *fuller ? xasprintf("%.*s%s", (int)(n - (sizeof plain - 1)), path, messages) : NULL;
}

const struct transcript_format format_cline = { .name = "cline",
	.list = "messages",
	.other_file = other_cline_file,
	.classify = classify_cline,
	.emit = emit_cline,
	.header = header_cline };
