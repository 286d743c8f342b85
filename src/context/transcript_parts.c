#include <string.h>

#include "context/transcript_parts.h"
#include "base/buf.h"
#include "context/transcript_call.h"
#include "context/transcript_record.h"
#include "context/transcript_teller.h"
#include "context/transcript_words.h"

/* Texts of one message that follow each other are one exchange. */
static void
join(struct buf *all, struct buf *text, injected_fn *injected)
{
	if (text->len > 0 && (injected == NULL || !injected(text))) {
		if (all->len > 0)
			buf_chr(all, '\n');
		buf_add(all, text->data, text->len);
	}
	buf_wipe(text);
}

bool
parts_response(struct buf *out, struct json_slice response)
{
	struct json_slice output = json_slice_get(response, "output"), error = json_slice_get(response, "error");

	if (json_slice_string(error) || json_slice_string(output))
		words_decode(out, json_slice_string(error) ? error : output, CALL_MOST);
	else
		call_members(out, response);
	words_untag(out, "untrusted_context");
	return error.n > 0 && !json_slice_is(error, "null");
}

static void
tell_response(struct teller *t, const struct record *r, struct json_slice answer)
{
	struct buf text = BUF_INIT;
	bool failed = parts_response(&text, json_slice_get(answer, "response"));

	teller_result(t, json_slice_get(answer, "id"), failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
}

void
parts_tell(struct teller *t, const struct record *r, enum role role, struct json_slice parts, injected_fn *injected, bool calls)
{
	struct json_walk w = json_slice_walk(parts);
	struct buf all = BUF_INIT, text = BUF_INIT;
	struct json_slice part;

	if (json_slice_string(parts))
		words_decode(&text, parts, 0);
	join(&all, &text, injected);
	while (!w.object && json_walk_next(&w, NULL, &part)) {
		struct json_slice words = json_slice_get(part, "text"), call = json_slice_get(part, "functionCall");
		struct json_slice answer = json_slice_get(part, "functionResponse");

		if (json_slice_string(words) && !json_slice_is(json_slice_get(part, "thought"), "true"))
			words_decode(&text, words, 0);
		else if (json_slice_get(part, "inlineData").n > 0)
			buf_str(&text, "[image]");
		join(&all, &text, injected);
		if (call.n > 0 && calls) {
			teller_words(t, role, STATUS_COMPLETE, r->time, &all);
			teller_call(t, json_slice_get(call, "id"), json_slice_get(call, "name"), json_slice_get(call, "args"), r->time);
		}
		if (answer.n > 0)
			tell_response(t, r, answer);
	}
	teller_words(t, role, STATUS_COMPLETE, r->time, &all);
}

/* cline's: a list of {query, result, error, success}, one for each command or file that was asked for. False when one went wrong. */
static bool
put_results(struct buf *out, struct json_slice list)
{
	struct json_walk w = json_slice_walk(list);
	struct json_slice one;
	bool ok = true;

	while (!w.object && json_walk_next(&w, NULL, &one)) {
		struct json_slice result = json_slice_get(one, "result"), error = json_slice_get(one, "error");
		struct json_slice query = json_slice_get(one, "query");

		if (result.n == 0)
			continue;
		if (w.p < w.end || out->len > 0) {	/* of several */
			if (out->len > 0)
				buf_chr(out, '\n');
			words_decode(out, query, CALL_MOST);
			buf_chr(out, '\n');
		}
		if (json_slice_string(result) && (result.n > 2 || !json_slice_string(error)))
			words_decode(out, result, CALL_MOST);
		else
			call_members(out, json_slice_string(error) ? error : result);
		ok = ok && !json_slice_is(json_slice_get(one, "success"), "false");
	}
	return ok;
}

static void
tell_block(struct teller *t, const struct record *r, struct json_slice type, struct json_slice block)
{
	struct json_slice name = json_slice_get(block, "name"), id = json_slice_get(block, "id");
	struct buf text = BUF_INIT;
	bool failed;

	if (json_slice_is(type, "tool_use")) {
		teller_call(t, id, name, json_slice_get(block, "input"), r->time);
	} else if (json_slice_is(type, "toolCall")) {
		teller_call(t, id, name, json_slice_get(block, "arguments"), r->time);
	} else {
		words_content(&text, json_slice_get(block, "content"), CALL_MOST);
		failed = json_slice_is(json_slice_get(block, "is_error"), "true");
		if (text.len == 0)
			failed = !put_results(&text, json_slice_get(block, "content")) || failed;
		teller_result(t, json_slice_get(block, "tool_use_id"), failed ? STATUS_FAILED : STATUS_COMPLETE, r->time, &text);
	}
}

void
blocks_tell(struct teller *t, const struct record *r, enum role role, struct json_slice blocks, injected_fn *injected)
{
	struct json_walk w = json_slice_walk(blocks);
	struct buf all = BUF_INIT, text = BUF_INIT;
	struct json_slice block;

	if (json_slice_string(blocks))
		words_decode(&text, blocks, 0);
	join(&all, &text, injected);
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type"), words = json_slice_get(block, "text");

		if (json_slice_is(type, "text") && json_slice_string(words))
			words_decode(&text, words, 0);
		else if (json_slice_is(type, "image"))
			buf_str(&text, "[image]");
		join(&all, &text, injected);
		if (json_slice_is(type, "tool_use") || json_slice_is(type, "toolCall") || json_slice_is(type, "tool_result")) {
			teller_words(t, role, STATUS_COMPLETE, r->time, &all);
			tell_block(t, r, type, block);
		}
	}
	teller_words(t, role, STATUS_COMPLETE, r->time, &all);
}
