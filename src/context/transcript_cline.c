#include <string.h>

#include "context/transcript_reader.h"
#include "base/buf.h"
#include "context/transcript_call.h"
#include "context/transcript_parts.h"
#include "context/transcript_teller.h"
#include "context/transcript_words.h"

/*
 * cline 3.0.65: ~/.cline/data/sessions/<id>/<id>.messages.json, written anew as a whole, messages in Anthropic's shape. The person's words
 * stand in <user_input mode="…">, perhaps behind a <mode_notice>. Before the first answer has ended there is only <id>.json, whose prompt
 * is all that was said.
 */

static void
open_cline(struct json_slice record, struct record *out)
{
	struct json_slice role = json_slice_get(record, "role");

	out->time = json_slice_number(json_slice_get(record, "ts"), 0);
	if (json_slice_is(role, "user"))
		out->kind = RECORD_USER;
	else if (json_slice_is(role, "assistant"))
		out->kind = RECORD_ASSISTANT;
}

/* Leaves the person's words; true when there are none. */
static bool
is_injected(struct buf *text)
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
	if (!words_untag(text, "user_input"))
		words_untag(text, "user_command");
	return text->len == 0;
}

static void
tell_cline(struct teller *t, const struct record *r, struct json_slice record)
{
	struct json_slice content = json_slice_get(record, "content");
	struct json_slice shown = json_slice_get(json_slice_get(record, "metadata"), "displayRole");
	struct buf text = BUF_INIT;

	if (json_slice_is(shown, "error")) {	/* the service's, in the model's place */
		words_content(&text, content, CALL_MOST);
		teller_words(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
	} else if (r->kind == RECORD_USER) {
		blocks_tell(t, r, ROLE_USER, content, is_injected);
	} else {
		teller_answer(t);
		blocks_tell(t, r, ROLE_ASSISTANT, content, NULL);
	}
}

static void
head_cline(struct teller *t, struct json_slice record)
{
	struct json_slice origin = json_slice_get(record, "origin"), prompt = json_slice_get(record, "prompt");
	struct record r = { .time = record_time(json_slice_get(record, "started_at")) };

	if (origin.n == 0)
		origin = json_slice_get(json_slice_get(record, "metadata"), "sessionHistoryOrigin");
	teller_head(t, FIELD_SESSION, json_slice_get(record, "sessionId"));
	teller_head(t, FIELD_SESSION, json_slice_get(record, "session_id"));
	teller_head(t, FIELD_BANNER, json_slice_get(origin, "version"));
	if (json_slice_string(prompt))
		blocks_tell(t, &r, ROLE_USER, prompt, is_injected);
}

const struct reader reader_cline = { .name = "cline", .list = "messages", .open = open_cline, .tell = tell_cline, .head = head_cline };
