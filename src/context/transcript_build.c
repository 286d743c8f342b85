#include <stdlib.h>
#include <string.h>

#include "context/transcript_claude.h"
#include "agent/dialect.h"
#include "base/buf.h"
#include "base/err.h"
#include "context/exchange.h"
#include "context/transcript_call.h"
#include "context/transcript_tail.h"
#include "context/transcript_words.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static size_t
add(struct claude *c, const struct record *r, enum role role, enum status status)
{
	struct exchange *x = conversation_add(c->out, role, NULL, NULL, NULL);
	size_t i = c->out->n - 1;

	x->status = status;
	x->source = SOURCE_TRANSCRIPT;
	x->at = r->time;
	c->marks = vec_room(c->marks, i, &c->cap_marks, sizeof *c->marks);
	c->marks[i] = (struct mark){ .message = r->message };
	return i;
}

static void
add_words(struct claude *c, const struct record *r, enum role role, enum status status, const struct buf *text)
{
	wash_put(&c->wash, add(c, r, role, status), FIELD_CONTENT, text->data, text->len);
}

/* The person stopped the words or the calls that stand last. */
static void
interrupt(struct claude *c, const struct record *r)
{
	size_t i = c->out->n;
	bool calls = false;

	if (i > 0 && i == c->stopped)	/* the same words say so for each of the calls */
		return;
	c->stopped = i;
	for (; i > 0 && c->out->v[i - 1].role == ROLE_ASSISTANT && c->marks[i - 1].call != 0; i--) {
		calls = true;
		if (!c->marks[i - 1].answered)
			c->out->v[i - 1].status = STATUS_FAILED;
		c->marks[i - 1].answered = true;
	}
	if (calls)
		return;
	if (i > 0 && c->out->v[i - 1].role == ROLE_ASSISTANT)
		c->out->v[i - 1].status = STATUS_INTERRUPTED;
	else
		wash_put(&c->wash, add(c, r, ROLE_SYSTEM, STATUS_INTERRUPTED), FIELD_CONTENT, "Interrupted", strlen("Interrupted"));
}

/* A text of a user record, or of one that stands for it. False: it is the person's, left in text for the caller. */
static bool
put_other_words(struct claude *c, const struct record *r, struct buf *text, bool meta)
{
	switch (words_read(text, meta)) {
	case WORDS_PERSON:
		return false;
	case WORDS_INTERRUPTED:
		interrupt(c, r);
		break;
	case WORDS_SYSTEM:
		add_words(c, r, ROLE_SYSTEM, STATUS_COMPLETE, text);
		break;
	case WORDS_FAILED:
		add_words(c, r, ROLE_SYSTEM, STATUS_FAILED, text);
		break;
	case WORDS_NONE:
		break;
	}
	buf_wipe(text);
	return true;
}

static void
put_person(struct claude *c, const struct record *r, struct buf *text)
{
	if (text->len > 0) {
		add_words(c, r, ROLE_USER, STATUS_COMPLETE, text);
		c->out->limit = false;
	}
	buf_wipe(text);
}

static void
put_result(struct claude *c, const struct record *r, struct json_slice block, struct json_slice answer)
{
	static const char cut[] = "[Tool call interrupted: the session ended";
	uint64_t call = record_name(json_slice_get(block, "tool_use_id"));
	struct call_link *made = chain_call(&c->chain, call, false);
	size_t i = made != NULL ? made->exchange : SIZE_MAX;
	struct buf text = BUF_INIT, file = BUF_INIT;

	if (i == SIZE_MAX && (!c->all || c->first > 0))
		return;		/* its call is older than what is read */
	if (i == SIZE_MAX) {
		i = add(c, r, ROLE_ASSISTANT, STATUS_COMPLETE);
		c->marks[i].call = call;
		wash_put(&c->wash, i, FIELD_TOOL, "?", 1);
	}
	if (call_result(&text, json_slice_get(block, "content"), answer)) {
		call_patched_file(&file, answer);
		wash_put(&c->wash, i, FIELD_INPUT, file.data, file.len);
		buf_wipe(&file);
	}
	c->marks[i].answered = true;
	c->out->v[i].status = str_starts(text.data, cut) ? STATUS_INTERRUPTED :
	    json_slice_is(json_slice_get(block, "is_error"), "true") ? STATUS_FAILED : STATUS_COMPLETE;
	wash_put(&c->wash, i, FIELD_CONTENT, text.data, text.len);
	buf_wipe(&text);
}

static void
build_user(struct claude *c, const struct record *r, const struct record_parts *p)
{
	struct json_walk w = json_slice_walk(p->blocks);
	struct buf person = BUF_INIT, text = BUF_INIT;
	struct json_slice block, answer = p->result;

	if (p->summary) {
		buf_str(&text, "Summary of the conversation so far:\n\n");
		words_content(&text, p->blocks, 0);
		add_words(c, r, ROLE_SYSTEM, STATUS_COMPLETE, &text);
		buf_wipe(&text);
		return;
	}
	if (json_slice_string(p->blocks)) {
		words_decode(&text, p->blocks, 0);
		if (!put_other_words(c, r, &text, p->meta))
			put_person(c, r, &text);
		return;
	}
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type"), words = json_slice_get(block, "text");

		if (json_slice_is(type, "tool_result")) {
			put_result(c, r, block, answer);
			answer = (struct json_slice){ NULL, 0 };	/* a record has one for its one result */
		} else if (json_slice_string(words))
			words_decode(&text, words, 0);
		else if (!p->meta && (json_slice_is(type, "image") || json_slice_is(type, "document")))
			buf_fmt(&text, "[%s]", json_slice_is(type, "image") ? "image" : "document");
		if (text.len == 0 || put_other_words(c, r, &text, p->meta))
			continue;
		if (person.len > 0)
			buf_chr(&person, '\n');
		buf_add(&person, text.data, text.len);
		buf_wipe(&text);
	}
	put_person(c, r, &person);
}

static void
build_error(struct claude *c, const struct record *r, const struct record_parts *p)
{
	static const char *const limits[] = { "rate_limit", "authentication_failed", "billing_error", "oauth_org_not_allowed" };
	struct buf text = BUF_INIT;

	words_content(&text, p->blocks, CALL_MOST);
	c->out->limit = c->dialect != NULL && dialect_says(c->dialect, PHRASE_LIMIT, text.data, strcspn(text.data, "\n"));
	for (size_t i = 0; i < COUNT(limits); i++)
		c->out->limit = c->out->limit || json_slice_is(p->error, limits[i]);
	add_words(c, r, ROLE_SYSTEM, STATUS_FAILED, &text);
	buf_wipe(&text);
}

static void
build_call(struct claude *c, const struct record *r, struct json_slice block)
{
	struct json_slice name = json_slice_get(block, "name"), input = json_slice_get(block, "input"), id = json_slice_get(block, "id");
	struct call_link *made = chain_call(&c->chain, record_name(id), false);
	size_t i = add(c, r, ROLE_ASSISTANT, STATUS_RUNNING);
	struct buf text = BUF_INIT;

	c->marks[i].call = record_name(id) != 0 ? record_name(id) : 1;
	if (made != NULL)
		made->exchange = i;
	words_decode(&text, name, 1024);
	wash_put(&c->wash, i, FIELD_TOOL, text.data, text.len);
	buf_reset(&text);
	call_input(&text, name, input);
	if (text.len > 0)
		wash_put(&c->wash, i, FIELD_INPUT, text.data, text.len);
	buf_reset(&text);
	if (call_tasks(&text, name, input))
		wash_put(&c->wash, 0, FIELD_TASKS, text.data, text.len);
	buf_wipe(&text);
	c->marks[i].asks = call_asks(name);
	if (!json_slice_is(name, "Task") && !json_slice_is(name, "Agent"))
		return;
	words_decode(&text, id, 1024);
	c->agents = vec_room(c->agents, c->n_agents, &c->cap_agents, sizeof *c->agents);
	c->agents[c->n_agents++] = (struct agent_call){ i, buf_detach(&text), record_name(json_slice_get(input, "prompt")) };
}

static void
build_assistant(struct claude *c, const struct record *r, const struct record_parts *p)
{
	struct json_walk w = json_slice_walk(p->blocks);
	struct json_slice block;

	if (p->api_error) {
		build_error(c, r, p);
		return;
	}
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type");
		struct buf text = BUF_INIT;

		if (json_slice_is(type, "tool_use") || json_slice_is(type, "server_tool_use")) {
			build_call(c, r, block);
			continue;
		}
		if (!json_slice_is(type, "text"))
			continue;
		words_decode(&text, json_slice_get(block, "text"), 0);
		if (json_slice_is(p->model, "<synthetic>") && strcmp(text.data, "No response requested.") == 0)
			c->settled = c->out->n;		/* the agent was started again; it puts this where an answer is missing */
		else if (strspn(text.data, " \n\t") < text.len)
			add_words(c, r, ROLE_ASSISTANT, STATUS_COMPLETE, &text);
		buf_wipe(&text);
	}
}

static void
build_system(struct claude *c, const struct record *r, const struct record_parts *p)
{
	struct buf text = BUF_INIT;

	if (!json_slice_string(p->content) || json_slice_is(p->subtype, "api_error"))
		return;
	words_decode(&text, p->content, CALL_MOST);
	if (!json_slice_is(p->subtype, "local_command")) {
		if (text.len > 0)
			add_words(c, r, ROLE_SYSTEM, STATUS_COMPLETE, &text);
		buf_wipe(&text);
	} else if (!put_other_words(c, r, &text, p->meta)) {
		put_person(c, r, &text);
	}
}

/* A file that the person named with "@", or that a compaction gave to the model again. */
static void
build_file(struct claude *c, const struct record *r, struct json_slice attachment)
{
	struct json_slice path = json_slice_get(attachment, "displayPath"), lines;
	struct buf text = BUF_INIT;

	if (!json_slice_string(path))
		path = json_slice_get(attachment, "filename");
	if (!json_slice_string(path))
		return;
	lines = json_slice_get(json_slice_get(json_slice_get(attachment, "content"), "file"), "numLines");
	buf_str(&text, "Read ");
	words_decode(&text, path, CALL_MOST);
	if (lines.n > 0 && lines.n < 12)
		buf_fmt(&text, " (%.*s lines)", (int)lines.n, lines.p);
	add_words(c, r, ROLE_SYSTEM, STATUS_COMPLETE, &text);
	buf_wipe(&text);
}

/* Of a tool's hook before the call, and of one at the end of a turn, the result and the next message tell. */
static void
build_hook(struct claude *c, const struct record *r, struct json_slice attachment, struct json_slice words)
{
	struct json_slice event = json_slice_get(attachment, "hookEvent"), name = json_slice_get(attachment, "hookName");
	struct buf text = BUF_INIT;

	if (!json_slice_string(words) || json_slice_is(event, "PreToolUse") || json_slice_is(event, "Stop") ||
	    json_slice_is(event, "SubagentStop"))
		return;
	if (json_slice_string(name)) {
		words_decode(&text, name, 1024);
		buf_str(&text, " hook: ");
	}
	words_decode(&text, words, CALL_MOST);
	add_words(c, r, ROLE_SYSTEM, STATUS_FAILED, &text);
	buf_wipe(&text);
}

static void
build_attachment(struct claude *c, const struct record *r, const struct record_parts *p)
{
	struct json_slice type = json_slice_get(p->attachment, "type"), blocking;
	struct buf text = BUF_INIT;

	if (json_slice_is(type, "queued_command")) {
		if (json_slice_is(json_slice_get(p->attachment, "commandMode"), "bash"))
			buf_str(&text, "! ");
		words_content(&text, json_slice_get(p->attachment, "prompt"), 0);
		if (!put_other_words(c, r, &text, json_slice_is(json_slice_get(p->attachment, "isMeta"), "true")))
			put_person(c, r, &text);
	} else if (json_slice_is(type, "file")) {
		build_file(c, r, p->attachment);
	} else if (json_slice_is(type, "hook_blocking_error")) {
		blocking = json_slice_get(p->attachment, "blockingError");
		if (!json_slice_string(blocking))
			blocking = json_slice_get(blocking, "blockingError");
		build_hook(c, r, p->attachment, blocking);
	} else if (json_slice_is(type, "hook_stopped_continuation")) {
		build_hook(c, r, p->attachment, json_slice_get(p->attachment, "message"));
	}
}

/* Calls without a result: still at work when nothing followed, cut off otherwise. */
static void
settle(struct claude *c)
{
	bool person = false, several = false;
	uint64_t later = 0;

	for (size_t i = c->out->n; i-- > 0;) {
		struct exchange *x = &c->out->v[i];
		const struct mark *m = &c->marks[i];

		if (m->call != 0 && !m->answered) {
			x->status = person || several || i < c->settled || (later != 0 && later != m->message) ? STATUS_INTERRUPTED :
			    m->asks ? STATUS_WAITING : STATUS_RUNNING;
			if (m->asks && x->status == STATUS_WAITING && c->out->question == NULL && x->input != NULL)
				c->out->question = xstrdup(x->input);
		}
		person = person || x->role == ROLE_USER;
		if (x->role == ROLE_ASSISTANT && m->message != 0) {
			several = several || (later != 0 && later != m->message);
			later = m->message;
		}
	}
}

int
claude_build(struct claude *c, struct err *e)
{
	static void (*const builds[])(struct claude *, const struct record *, const struct record_parts *) = {
		[RECORD_USER] = build_user, [RECORD_ASSISTANT] = build_assistant, [RECORD_SYSTEM] = build_system,
		[RECORD_ATTACHMENT] = build_attachment
	};

	for (size_t i = c->first; i < c->chain.n_order; i++) {
		const struct record *r = &c->chain.v[c->chain.order[i]];
		struct record_parts parts;
		const char *p;
		size_t n;

		if (r->kind >= COUNT(builds))
			continue;
		if (tail_line(c->tail, r->at, r->n, &p, &n, e) != 0)
			return -1;
		if (record_open(p, n, &parts))
			builds[r->kind](c, r, &parts);
	}
	wash_flush(&c->wash);
	settle(c);
	return 0;
}
