#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transcript/format/format_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "conversation/conversation.h"
#include "screen/screen.h"
#include "transcript/transcript_private.h"

/*
 * Claude Code 1.0.128 to 2.1.330: <config>/projects/<slug>/<id>.jsonl, a tree of records by uuid
 * and parentUuid; an answer is a record for each of its blocks. Words of the program for its model
 * stand in user records too, in tags (claude_words.c).
 */

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* Book-keeping of 1.0.128 to 2.1.330 (the last has this list in its own text). */
static const char *const notes[] = { "summary", "file-history-snapshot", "file-history-delta", "ai-title",
	"custom-title", "agent-name", "agent-color", "agent-setting", "tag", "last-prompt", "mode",
	"permission-mode", "api-request", "api-request-shape", "api-request-blob", "api-request-resumed",
	"tools-used", "atis-latch", "pr-link", "worktree-state", "content-replacement", "frame-link",
	"observer-ref", "continued-in", "resume-head-vouch", "attribution-snapshot", "relocated",
	"session-owner", "isolation-latch", "dev-mods", "bridge-session", "data-flow-records",
	"data-flow-incomplete", "derived-from", "history-suppression", "ended-by-model", "cost-state",
	"memory-mode", "artifact-comment-monitor", "artifact-autoreact-ledger", "fork-context-ref",
	"repl-mode", "hybrid-organization" };

static void
parse_message(struct claude_record *p)
{
	struct json_walk w = json_slice_walk(p->message);
	struct json_slice k, v;

	while (json_walk_next(&w, &k, &v)) {
		if (json_key_is(k, "id"))
			p->message_id = v;
		else if (json_key_is(k, "model"))
			p->model = v;
		else if (json_key_is(k, "stop_reason"))
			p->stop = v;
		else if (json_key_is(k, "content"))
			p->blocks = v;
	}
}

static void
take_flag(struct claude_record *p, struct json_slice k, struct json_slice v)
{
	bool on = json_slice_is(v, "true");

	if (json_key_is(k, "isSidechain"))
		p->side = on;
	else if (json_key_is(k, "isMeta"))
		p->meta = on;
	else if (json_key_is(k, "isCompactSummary"))
		p->summary = on;
	else if (json_key_is(k, "isApiErrorMessage"))
		p->api_error = on;
}

bool
claude_record_parse(struct json_slice record, struct claude_record *out)
{
	static const struct { const char *name; size_t at;
	} members[] = {
		{ "type", offsetof(struct claude_record, type) },
		{ "subtype", offsetof(struct claude_record, subtype) },
		{ "uuid", offsetof(struct claude_record, uuid) },
		{ "parentUuid", offsetof(struct claude_record, parent) },
		{ "logicalParentUuid", offsetof(struct claude_record, logical) },
		{ "timestamp", offsetof(struct claude_record, time) },
		{ "sessionId", offsetof(struct claude_record, session) },
		{ "version", offsetof(struct claude_record, version) },
		{ "message", offsetof(struct claude_record, message) },
		{ "content", offsetof(struct claude_record, content) },
		{ "attachment", offsetof(struct claude_record, attachment) },
		{ "operation", offsetof(struct claude_record, operation) },
		{ "toolUseResult", offsetof(struct claude_record, result) },
		{ "error", offsetof(struct claude_record, error) },
		{ "sourceToolUseID", offsetof(struct claude_record, loaded_by) },
	};
	struct json_walk w = json_slice_walk(record);
	struct json_slice k, v;

	*out = (struct claude_record){ .side = false };
	while (json_walk_next(&w, &k, &v)) {
		size_t i = 0;

		while (i < COUNT(members) && !json_key_is(k, members[i].name))
			i++;
		if (i < COUNT(members))
			*(struct json_slice *)((char *)out + members[i].at) = v;
		else
			take_flag(out, k, v);
	}
	parse_message(out);
	return out->type.n > 0;
}

static enum entry_kind
kind_of(const struct claude_record *p)
{
	static const struct { const char *type; enum entry_kind kind; } kinds[] = {
		{ "assistant", ENTRY_ASSISTANT }, { "user", ENTRY_USER },
		{ "attachment", ENTRY_ATTACHMENT }, { "system", ENTRY_SYSTEM },
		{ "progress", ENTRY_LINK }, { "queue-operation", ENTRY_QUEUE }
	};

	for (size_t i = 0; i < COUNT(kinds); i++)
		if (json_slice_is(p->type, kinds[i].type))
			return kinds[i].kind;
	for (size_t i = 0; i < COUNT(notes); i++)
		if (json_slice_is(p->type, notes[i]))
			return ENTRY_NOTE;
	return ENTRY_UNKNOWN;
}

/* What is shown of a text, or of an array of blocks: not their pictures, which are large. */
static size_t
visible_bytes(struct json_slice v)
{
	struct json_walk w = json_slice_walk(v);
	size_t sum = json_slice_string(v) ? v.n : 0;
	struct json_slice block;

	while (!w.object && json_walk_next(&w, NULL, &block))
		sum += json_slice_get(block, "text").n;
	return sum;
}

static size_t
block_words(struct json_slice block, struct json_slice type)
{
	size_t n = json_slice_is(type, "tool_result") ? visible_bytes(json_slice_get(block, "content")) :
	    json_slice_is(type, "text") ? json_slice_get(block, "text").n : 0;

	if (json_slice_is(type, "tool_use") || json_slice_is(type, "server_tool_use"))
		n = json_slice_get(block, "input").n;
	return json_slice_is(type, "text") || n < CALL_MOST ? n : CALL_MOST;
}

void
claude_record_entry(const struct claude_record *p, struct transcript_entry *out)
{
	size_t words = p->content.n;
	struct json_walk w = json_slice_walk(p->blocks);
	struct json_slice block;
	bool results = false;

	out->kind = (uint8_t)kind_of(p);
	out->side = p->side;
	out->meta = p->meta;
	out->id = entry_hash_id(p->uuid);
	out->parent = entry_hash_id(p->parent);
	out->logical = entry_hash_id(p->logical);
	out->message = out->kind == ENTRY_ASSISTANT ? entry_hash_id(p->message_id) : 0;
	out->time = entry_time(p->time);
	if (json_slice_string(p->blocks))
		words += p->blocks.n;
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type");

		results = results || json_slice_is(type, "tool_result");
		words += block_words(block, type);
	}
	if (out->kind == ENTRY_ATTACHMENT &&
	    json_slice_is(json_slice_get(p->attachment, "type"), "queued_command"))
		words += visible_bytes(json_slice_get(p->attachment, "prompt"));
	out->words = words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
	out->prompt = out->kind == ENTRY_USER && !p->meta && !results;
}

/*
 * A text of a user record, or of one that stands for it. False: it is the person's, left in text
 * for the caller.
 */
static bool
put_program_words(struct transcript_builder *t, const struct transcript_entry *r, struct buf *text, bool meta)
{
	enum claude_words words = claude_unwrap_words(text, meta);

	if (words == WORDS_COMMAND)
		t->command = r->id;
	if (words == WORDS_PERSON || words == WORDS_COMMAND)
		return false;
	if (words == WORDS_INTERRUPTED)
		builder_interrupt(t, r->time);
	else if (words != WORDS_NONE)
		builder_message(t, ROLE_SYSTEM, words == WORDS_FAILED ? STATUS_FAILED : STATUS_COMPLETE,
		    r->time, text);
	buf_wipe(text);
	return true;
}

static void
put_result(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice block,
    struct json_slice answer)
{
	static const char cut[] = "[Tool call interrupted: the session ended";
	struct buf text = BUF_INIT, file = BUF_INIT, tasks = BUF_INIT;
	bool patch = claude_call_result(&text, json_slice_get(block, "content"), answer);
	enum status status = str_starts(text.data, cut) ? STATUS_INTERRUPTED :
	    json_slice_is(json_slice_get(block, "is_error"), "true") ? STATUS_FAILED : STATUS_COMPLETE;
	size_t i = builder_tool_result(t, json_slice_get(block, "tool_use_id"), status, r->time, &text);

	if (patch)
		claude_patched_file(&file, answer);
	builder_input(t, i, &file);
	claude_todos(&tasks, json_slice_get(answer, "newTodos"));
	builder_tasks(t, &tasks);
}

/*
 * What a slash command or a skill stands for is marked as the program's own: below the record that
 * names the command, or with the call that loaded the skill. True: it was told, text is empty.
 */
static bool
put_instructions(struct transcript_builder *t, const struct transcript_entry *r,
    const struct claude_record *p, struct buf *text)
{
	bool command = t->command != 0 && r->parent == t->command;
	struct buf told = BUF_INIT;

	if (!p->meta || (!command && !json_slice_string(p->loaded_by)) || str_starts(text->data, "<") ||
	    strcmp(text->data, "Tool loaded.") == 0)
		return false;
	buf_str(&told, command ? "Text of the command:\n\n" : "Text of the skill:\n\n");
	buf_add(&told, text->data, text->len);
	buf_wipe(text);
	builder_message(t, ROLE_SYSTEM, STATUS_COMPLETE, r->time, &told);
	return true;
}

static void
build_user(struct transcript_builder *t, const struct transcript_entry *r, const struct claude_record *p)
{
	struct json_walk w = json_slice_walk(p->blocks);
	struct buf person = BUF_INIT, text = BUF_INIT;
	struct json_slice block, answer = p->result;

	if (p->summary) {
		buf_str(&text, CONVERSATION_SUMMARY "\n\n");
		format_content_text(&text, p->blocks, 0);
		builder_message(t, ROLE_SYSTEM, STATUS_COMPLETE, r->time, &text);
		return;
	}
	if (json_slice_string(p->blocks)) {
		format_decode_text(&text, p->blocks, 0);
		if (!put_program_words(t, r, &text, p->meta))
			builder_message(t, ROLE_USER, STATUS_COMPLETE, r->time, &text);
		return;
	}
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type"), words = json_slice_get(block, "text");

		if (json_slice_is(type, "tool_result")) {
			put_result(t, r, block, answer);
			/* a record has one for its one result */
			answer = (struct json_slice){ NULL, 0 };
		} else if (json_slice_string(words))
			format_decode_text(&text, words, 0);
		else if (!p->meta && (json_slice_is(type, "image") || json_slice_is(type, "document")))
			buf_fmt(&text, "[%s]", json_slice_is(type, "image") ? "image" : "document");
		if (text.len == 0 || put_instructions(t, r, p, &text) ||
		    put_program_words(t, r, &text, p->meta))
			continue;
		if (person.len > 0)
			buf_chr(&person, '\n');
		buf_add(&person, text.data, text.len);
		buf_wipe(&text);
	}
	builder_message(t, ROLE_USER, STATUS_COMPLETE, r->time, &person);
}

static void
build_error(struct transcript_builder *t, const struct transcript_entry *r, const struct claude_record *p)
{
	static const char *const limits[] = { "rate_limit", "authentication_failed", "billing_error",
		"oauth_org_not_allowed" };
	struct buf text = BUF_INIT;
	bool limit;

	format_content_text(&text, p->blocks, CALL_MOST);
	if (t->grammar == NULL)
		t->grammar = grammar_new("claude", 0);
	limit = t->grammar != NULL &&
	    grammar_has_cue(t->grammar, CUE_LIMIT, text.data, strcspn(text.data, "\n"));
	for (size_t i = 0; i < COUNT(limits); i++)
		limit = limit || json_slice_is(p->error, limits[i]);
	builder_message(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
	builder_limit(t, limit);
}

static void
build_call(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice block)
{
	struct json_slice name = json_slice_get(block, "name"), input = json_slice_get(block, "input");
	size_t i = builder_call(t, json_slice_get(block, "id"), name, r->time);
	struct buf text = BUF_INIT;

	/* its input is a question to the person */
	t->marks[i].asks = json_slice_is(name, "AskUserQuestion") || json_slice_is(name, "ExitPlanMode");
	claude_call_input(&text, name, input);
	builder_input(t, i, &text);
}

static void
build_assistant(struct transcript_builder *t, const struct transcript_entry *r, const struct claude_record *p)
{
	struct json_walk w = json_slice_walk(p->blocks);
	struct json_slice block;

	if (p->api_error) {
		build_error(t, r, p);
		return;
	}
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type");
		struct buf text = BUF_INIT;

		if (json_slice_is(type, "tool_use") || json_slice_is(type, "server_tool_use")) {
			build_call(t, r, block);
			continue;
		}
		if (!json_slice_is(type, "text"))
			continue;
		format_decode_text(&text, json_slice_get(block, "text"), 0);
		if (json_slice_is(p->model, "<synthetic>") &&
		    strcmp(text.data, "No response requested.") == 0)
			/* the agent was started again; it puts this where an answer is missing */
			t->settled = t->out->n;
		else
			builder_message(t, ROLE_ASSISTANT, STATUS_COMPLETE, r->time, &text);
		buf_wipe(&text);
	}
	if (json_slice_is(p->stop, "end_turn"))
		builder_turn_over(t);
}

static void
build_system(struct transcript_builder *t, const struct transcript_entry *r, const struct claude_record *p)
{
	struct buf text = BUF_INIT;

	if (json_slice_is(p->subtype, "turn_duration"))
		builder_turn_over(t);
	if (!json_slice_string(p->content) || json_slice_is(p->subtype, "api_error"))
		return;
	format_decode_text(&text, p->content, CALL_MOST);
	if (!json_slice_is(p->subtype, "local_command"))
		builder_message(t, ROLE_SYSTEM, STATUS_COMPLETE, r->time, &text);
	else if (!put_program_words(t, r, &text, p->meta))
		builder_message(t, ROLE_USER, STATUS_COMPLETE, r->time, &text);
}

/* A file that the person named with "@", or that a compaction gave to the model again. */
static void
build_file(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice attachment)
{
	struct json_slice path = json_slice_get(attachment, "displayPath"), lines;
	struct buf text = BUF_INIT;

	if (!json_slice_string(path))
		path = json_slice_get(attachment, "filename");
	if (!json_slice_string(path))
		return;
	lines = json_slice_get(json_slice_get(json_slice_get(attachment, "content"), "file"), "numLines");
	buf_str(&text, "Read ");
	format_decode_text(&text, path, CALL_MOST);
	if (lines.n > 0 && lines.n < 12)
		buf_fmt(&text, " (%.*s lines)", (int)lines.n, lines.p);
	builder_message(t, ROLE_SYSTEM, STATUS_COMPLETE, r->time, &text);
}

/* Of a tool's hook before the call, and of one at the end of a turn, the result and the next message tell. */
static void
build_hook(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice attachment,
    struct json_slice words)
{
	struct json_slice event = json_slice_get(attachment, "hookEvent"),
			  name = json_slice_get(attachment, "hookName");
	struct buf text = BUF_INIT;

	if (!json_slice_string(words) || json_slice_is(event, "PreToolUse") || json_slice_is(event, "Stop") ||
	    json_slice_is(event, "SubagentStop"))
		return;
	if (json_slice_string(name)) {
		format_decode_text(&text, name, 1024);
		buf_str(&text, " hook: ");
	}
	format_decode_text(&text, words, CALL_MOST);
	builder_message(t, ROLE_SYSTEM, STATUS_FAILED, r->time, &text);
}

static void
build_attachment(
    struct transcript_builder *t, const struct transcript_entry *r, const struct claude_record *p)
{
	struct json_slice type = json_slice_get(p->attachment, "type"), blocking;
	struct buf text = BUF_INIT;

	if (json_slice_is(type, "queued_command")) {
		if (json_slice_is(json_slice_get(p->attachment, "commandMode"), "bash"))
			buf_str(&text, "! ");
		format_content_text(&text, json_slice_get(p->attachment, "prompt"), 0);
		if (!put_program_words(
			t, r, &text, json_slice_is(json_slice_get(p->attachment, "isMeta"), "true")))
			builder_message(t, ROLE_USER, STATUS_COMPLETE, r->time, &text);
	} else if (json_slice_is(type, "file")) {
		build_file(t, r, p->attachment);
	} else if (json_slice_is(type, "hook_blocking_error")) {
		blocking = json_slice_get(p->attachment, "blockingError");
		if (!json_slice_string(blocking))
			blocking = json_slice_get(blocking, "blockingError");
		build_hook(t, r, p->attachment, blocking);
	} else if (json_slice_is(type, "hook_stopped_continuation")) {
		build_hook(t, r, p->attachment, json_slice_get(p->attachment, "message"));
	}
}

static void
emit_claude(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	static void (*const builds[])(struct transcript_builder *, const struct transcript_entry *,
	    const struct claude_record *) = { [ENTRY_USER] = build_user,
		[ENTRY_ASSISTANT] = build_assistant,
		[ENTRY_SYSTEM] = build_system,
		[ENTRY_ATTACHMENT] = build_attachment };
	struct claude_record parts;

	t->answer = r->message;
	if (claude_record_parse(record, &parts))
		builds[r->kind](t, r, &parts);
}

/* prompts that a queue may hold; the oldest are forgotten, and counted as not understood */
#define MOST_ITEMS 256
#define BEFORE 3		/* exchanges around a prompt's place among which it is looked for */
#define BEHIND 12
#define LONG ((size_t)16 << 10)	/* a longer exchange is compared, not searched */

/*
 * A prompt typed while the agent is at work is queued: "enqueue" with its words. It leaves the
 * queue by "dequeue" (a user record follows) or "remove" (the model is told in the middle of the
 * turn: an attachment follows in 2.1.197 and later, in 2.0.76 and 2.1.37 nothing does), or back
 * into the box by "popAll". What is left died with the agent: nobody told the model.
 */
struct queued {
	struct transcript_entry record;
	struct buf words;
	int64_t taken;		/* when it left the queue; 0: it did not */
	bool gone;
};

struct queue {
	struct queued v[MOST_ITEMS];
	size_t n;
};

static void
queue_forget(struct queue *q, size_t i)
{
	buf_wipe(&q->v[i].words);
	memmove(&q->v[i], &q->v[i + 1], (--q->n - i) * sizeof *q->v);
}

static void
enqueue(struct transcript_reading *r, struct queue *q, const struct transcript_entry *record,
    struct json_slice content)
{
	struct buf words = BUF_INIT;
	enum claude_words what;

	format_content_text(&words, content, 0);
	what = words.len == 0 ? WORDS_NONE : claude_unwrap_words(&words, false);
	if (what != WORDS_PERSON && what != WORDS_COMMAND) {
		buf_wipe(&words);
		words = (struct buf)BUF_INIT;
	}
	if (q->n == MOST_ITEMS) {
		if (q->v[0].words.len > 0 && !q->v[0].gone)
			r->unknown++;
		queue_forget(q, 0);
	}
	q->v[q->n++] = (struct queued){ .record = *record, .words = words };
}

static void
apply_operation(struct transcript_reading *r, struct queue *q, const struct transcript_entry *record,
    struct json_slice text)
{
	struct json_slice operation = json_slice_get(text, "operation");
	bool all = json_slice_is(operation, "popAll");

	if (json_slice_is(operation, "enqueue")) {
		enqueue(r, q, record, json_slice_get(text, "content"));
		return;
	}
	for (size_t i = 0; i < q->n; i++) {
		struct queued *item = &q->v[i];

		if (item->gone || item->taken != 0)
			continue;
		item->gone = all;
		item->taken = all ? 0 : record->time != 0 ? record->time : 1;
		if (!all)
			return;
	}
}

static bool
has_same_words(const struct exchange *x, const char *words)
{
	if (x->role != ROLE_USER)
		return false;
	return strcmp(x->content, words) == 0 ||
	    (strlen(x->content) < LONG && strstr(x->content, words) != NULL);
}

/*
 * Where the prompt belongs: before the first exchange that came after it, a prompt when it never
 * left the queue.
 */
static size_t
queue_place(const struct conversation *c, size_t from, int64_t time, bool taken)
{
	for (size_t i = from; i < c->n; i++)
		if (c->v[i].at >= time && (taken || c->v[i].role == ROLE_USER))
			return i;
	return c->n;
}

static bool
is_near(const struct conversation *c, size_t i, const char *words)
{
	size_t to = i + BEHIND < c->n ? i + BEHIND : c->n;

	for (size_t k = i > BEFORE ? i - BEFORE : 0; k < to; k++)
		if (has_same_words(&c->v[k], words))
			return true;
	return false;
}

/* One more exchange at i. */
static void
insert_exchange(struct conversation *c, size_t i, struct exchange *x)
{
	struct exchange last;

	conversation_take(c, x);
	last = c->v[c->n - 1];
	memmove(&c->v[i + 1], &c->v[i], (c->n - 1 - i) * sizeof *c->v);
	c->v[i] = last;
}

static void
put_in_place(struct transcript_builder *t, struct queue *q)
{
	struct conversation clean = CONVERSATION_INIT;
	struct scrub_batch wash;
	size_t from = 0;

	transcript_scrub_init(&wash, t->wash.s, &clean);
	for (size_t i = 0; i < q->n; i++) {
		conversation_add(&clean, ROLE_USER, NULL, NULL, NULL);
		transcript_scrub_put(&wash, i, BATCH_CONTENT, q->v[i].words.data, q->v[i].words.len);
	}
	transcript_scrub_flush(&wash);
	for (size_t i = 0; i < q->n; i++) {
		const struct queued *item = &q->v[i];
		struct exchange *x = &clean.v[i];
		size_t at = queue_place(
		    t->out, from, item->taken != 0 ? item->taken : item->record.time, item->taken != 0);

		if (item->gone || *x->content == '\0' || is_near(t->out, at, x->content))
			continue;
		x->status = item->taken != 0 ? STATUS_COMPLETE : STATUS_WAITING;
		x->source = SOURCE_TRANSCRIPT;
		x->at = item->record.time;
		insert_exchange(t->out, at, x);
		from = at + 1;
	}
	transcript_scrub_release(&wash);
	conversation_release(&clean);
}

/* Prompts that were queued and stand nowhere else, in their places. */
static int
put_queue(struct transcript_reading *r, struct err *e)
{
	struct queue *q = xcalloc(1, sizeof *q);
	int ok = 0;

	for (size_t i = r->chain.n; i-- > 0 && ok >= 0;) {
		const struct transcript_entry *record = &r->chain.v[i];
		struct json_slice text;

		ok = record->kind == ENTRY_QUEUE
		    ? transcript_iter_read(r->pages, record->at, record->n, &text, e)
		    : 0;
		if (ok == 1)
			apply_operation(r, q, record, text);
	}
	if (ok >= 0)
		put_in_place(&r->t, q);
	while (q->n > 0)
		queue_forget(q, q->n - 1);
	free(q);
	return ok < 0 ? -1 : 0;
}

static int
finish_claude(struct transcript_reading *r, struct err *e)
{
	if (r->path != NULL) {
		claude_agents(r);
		claude_tasks(r);
	}
	return r->chain.side ? 0 : put_queue(r, e);
}

static void
classify_claude(struct json_slice record, struct transcript_entry *out)
{
	struct claude_record p;

	if (!claude_record_parse(record, &p))
		return;
	claude_record_entry(&p, out);
	if (out->id == 0 && out->kind != ENTRY_QUEUE)
		out->words = 0;		/* it stands nowhere */
}

static void
link_calls(struct message_tree *c, struct json_slice record)
{
	struct json_walk w = json_slice_walk(json_slice_get(json_slice_get(record, "message"), "content"));
	struct json_slice block;

	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type");
		bool result = json_slice_is(type, "tool_result");
		uint64_t id = result ? entry_hash_id(json_slice_get(block, "tool_use_id")) :
		    json_slice_is(type, "tool_use") || json_slice_is(type, "server_tool_use") ?
		    entry_hash_id(json_slice_get(block, "id")) : 0;

		if (id != 0)
			transcript_tree_add_call(c, id, (uint32_t)c->n - 1, result);
	}
}

static void
header_claude(struct transcript_builder *t, struct json_slice record)
{
	builder_header(t, BATCH_BANNER, json_slice_get(record, "version"));
	builder_header(t, BATCH_SESSION, json_slice_get(record, "sessionId"));
}

static bool
holds_search(const struct transcript_builder *t, struct json_slice text)
{
	return json_slice_string(text) && memmem(text.p, text.n, t->search, strlen(t->search)) != NULL;
}

/* Any text of a user record may be what was delivered, whoever is said to have written it. */
static void
search_claude(struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record)
{
	struct claude_record p;
	struct json_walk w;
	struct json_slice block;

	if (!claude_record_parse(record, &p))
		return;
	t->answered = r->kind == ENTRY_ASSISTANT && !p.api_error;
	t->refused = r->kind == ENTRY_ASSISTANT && p.api_error;
	t->asked = r->kind == ENTRY_USER && holds_search(t, p.blocks);
	w = json_slice_walk(p.blocks);
	while (r->kind == ENTRY_USER && !t->asked && !w.object && json_walk_next(&w, NULL, &block))
		t->asked = holds_search(t, json_slice_get(block, "text"));
}

/* How far from the end a record is looked for that names the version: the last ones of 2.1.330 do not. */
#define LINES_MOST 60

static bool
is_goodbye(const char *line, size_t n)
{
	static const char *const marks[] = { "{\"type\":\"last-prompt\"", "{\"type\":\"cost-state\"" };
	bool yes = false;

	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
		yes = yes || (n > strlen(marks[i]) && memcmp(line, marks[i], strlen(marks[i])) == 0);
	return yes;
}

/* Inside a JSON string the quotes would be escaped: this is a key. */
static bool
names_version(const char *line, size_t n, bool *tells)
{
	static const char key[] = "\"version\":\"";
	const char *at = memmem(line, n, key, strlen(key));
	char text[32];
	size_t left;
	int v[3];

	if (at == NULL)
		return false;
	at += strlen(key);
	left = (size_t)(line + n - at);
	snprintf(text, sizeof text, "%.*s", (int)(left < sizeof text ? left : sizeof text - 1), at);
	*tells = sscanf(text, "%d.%d.%d", &v[0], &v[1], &v[2]) == 3 &&
	    (v[0] > 2 || (v[0] == 2 && (v[1] > 1 || (v[1] == 1 && v[2] >= 197))));
	return true;
}

static enum exit_kind
exit_kind_claude(struct transcript_tail *t)
{
	for (int i = 0; i < LINES_MOST; i++) {
		const char *line;
		bool tells;
		off_t at;
		size_t n;

		if (transcript_tail_previous(t, &at, &n, NULL) != 1 ||
		    transcript_tail_line(t, at, n, &line, &n, NULL) != 0)
			break;
		if (i == 0 && is_goodbye(line, n))
			return EXIT_CLEAN;
		if (names_version(line, n, &tells))
			return tells ? EXIT_KILLED : EXIT_UNKNOWN;
	}
	return EXIT_UNKNOWN;
}

const struct transcript_format format_claude = { .name = "claude",
	.heads = true,
	.counts = true,
	.classify = classify_claude,
	.link = link_calls,
	.order = transcript_tree_order,
	.emit = emit_claude,
	.header = header_claude,
	.finish = finish_claude,
	.search = search_claude,
	.exit_kind = exit_kind_claude,
	.background = claude_background,
	.pid_files = true,
	.checked = true };
