#include <stdlib.h>
#include <string.h>

#include "transcript/format/format_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "conversation/conversation.h"
#include "screen/screen.h"
#include "transcript/transcript_private.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static size_t
add_claude_exchange(struct claude *c, const struct transcript_entry *r, enum role role, enum status status)
{
	struct exchange *x = conversation_add(c->out, role, NULL, NULL, NULL);
	size_t i = c->out->n - 1;

	x->status = status;
	x->source = SOURCE_TRANSCRIPT;
	x->at = r->time;
	c->marks = vec_room(c->marks, i, &c->cap_marks, sizeof *c->marks);
	c->marks[i] = (struct claude_mark){ .message = r->message };
	return i;
}

static void
add_words(struct claude *c, const struct transcript_entry *r, enum role role, enum status status,
    const struct buf *text)
{
	transcript_scrub_put(
	    &c->wash, add_claude_exchange(c, r, role, status), BATCH_CONTENT, text->data, text->len);
}

/* The person stopped the words or the calls that stand last. */
static void
interrupt_last(struct claude *c, const struct transcript_entry *r)
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
		transcript_scrub_put(&c->wash, add_claude_exchange(c, r, ROLE_SYSTEM, STATUS_INTERRUPTED),
		    BATCH_CONTENT, "Interrupted", strlen("Interrupted"));
}

/*
 * A text of a user record, or of one that stands for it. False: it is the person's, left in text
 * for the caller.
 */
static bool
put_program_words(struct claude *c, const struct transcript_entry *r, struct buf *text, bool meta)
{
	switch (claude_unwrap_words(text, meta)) {
	case WORDS_PERSON:
		return false;
	case WORDS_INTERRUPTED:
		interrupt_last(c, r);
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
put_person(struct claude *c, const struct transcript_entry *r, struct buf *text)
{
	if (text->len > 0) {
		add_words(c, r, ROLE_USER, STATUS_COMPLETE, text);
		c->out->limit = false;
	}
	buf_wipe(text);
}

static void
put_result(
    struct claude *c, const struct transcript_entry *r, struct json_slice block, struct json_slice answer)
{
	static const char cut[] = "[Tool call interrupted: the session ended";
	uint64_t call = entry_hash_id(json_slice_get(block, "tool_use_id"));
	struct call_link *made = transcript_tree_call(&c->chain, call, false);
	size_t i = made != NULL ? made->exchange : SIZE_MAX;
	struct buf text = BUF_INIT, file = BUF_INIT;

	if (i == SIZE_MAX && (!c->all || c->first > 0))
		return;		/* its call is older than what is read */
	if (i == SIZE_MAX) {
		i = add_claude_exchange(c, r, ROLE_ASSISTANT, STATUS_COMPLETE);
		c->marks[i].call = call;
		transcript_scrub_put(&c->wash, i, BATCH_TOOL, "?", 1);
	}
	if (claude_call_result(&text, json_slice_get(block, "content"), answer)) {
		claude_patched_file(&file, answer);
		transcript_scrub_put(&c->wash, i, BATCH_INPUT, file.data, file.len);
		buf_wipe(&file);
	}
	c->marks[i].answered = true;
	c->out->v[i].status = str_starts(text.data, cut) ? STATUS_INTERRUPTED :
	    json_slice_is(json_slice_get(block, "is_error"), "true") ? STATUS_FAILED : STATUS_COMPLETE;
	transcript_scrub_put(&c->wash, i, BATCH_CONTENT, text.data, text.len);
	buf_wipe(&text);
}

static void
build_user(struct claude *c, const struct transcript_entry *r, const struct entry_parts *p)
{
	struct json_walk w = json_slice_walk(p->blocks);
	struct buf person = BUF_INIT, text = BUF_INIT;
	struct json_slice block, answer = p->result;

	if (p->summary) {
		buf_str(&text, "Summary of the conversation so far:\n\n");
		format_content_text(&text, p->blocks, 0);
		add_words(c, r, ROLE_SYSTEM, STATUS_COMPLETE, &text);
		buf_wipe(&text);
		return;
	}
	if (json_slice_string(p->blocks)) {
		format_decode_text(&text, p->blocks, 0);
		if (!put_program_words(c, r, &text, p->meta))
			put_person(c, r, &text);
		return;
	}
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type"), words = json_slice_get(block, "text");

		if (json_slice_is(type, "tool_result")) {
			put_result(c, r, block, answer);
			/* a record has one for its one result */
			answer = (struct json_slice){ NULL, 0 };
		} else if (json_slice_string(words))
			format_decode_text(&text, words, 0);
		else if (!p->meta && (json_slice_is(type, "image") || json_slice_is(type, "document")))
			buf_fmt(&text, "[%s]", json_slice_is(type, "image") ? "image" : "document");
		if (text.len == 0 || put_program_words(c, r, &text, p->meta))
			continue;
		if (person.len > 0)
			buf_chr(&person, '\n');
		buf_add(&person, text.data, text.len);
		buf_wipe(&text);
	}
	put_person(c, r, &person);
}

static void
build_error(struct claude *c, const struct transcript_entry *r, const struct entry_parts *p)
{
	static const char *const limits[] = { "rate_limit", "authentication_failed", "billing_error",
		"oauth_org_not_allowed" };
	struct buf text = BUF_INIT;

	format_content_text(&text, p->blocks, CALL_MOST);
	c->out->limit =
	    c->dialect != NULL && grammar_has_cue(c->dialect, CUE_LIMIT, text.data, strcspn(text.data, "\n"));
	for (size_t i = 0; i < COUNT(limits); i++)
		c->out->limit = c->out->limit || json_slice_is(p->error, limits[i]);
	add_words(c, r, ROLE_SYSTEM, STATUS_FAILED, &text);
	buf_wipe(&text);
}

static void
build_call(struct claude *c, const struct transcript_entry *r, struct json_slice block)
{
	struct json_slice name = json_slice_get(block, "name"), input = json_slice_get(block, "input"),
			  id = json_slice_get(block, "id");
	struct call_link *made = transcript_tree_call(&c->chain, entry_hash_id(id), false);
	size_t i = add_claude_exchange(c, r, ROLE_ASSISTANT, STATUS_RUNNING);
	struct buf text = BUF_INIT;

	c->marks[i].call = entry_hash_id(id) != 0 ? entry_hash_id(id) : 1;
	if (made != NULL)
		made->exchange = i;
	format_decode_text(&text, name, 1024);
	transcript_scrub_put(&c->wash, i, BATCH_TOOL, text.data, text.len);
	buf_reset(&text);
	claude_call_input(&text, name, input);
	if (text.len > 0)
		transcript_scrub_put(&c->wash, i, BATCH_INPUT, text.data, text.len);
	buf_reset(&text);
	if (claude_call_tasks(&text, name, input))
		transcript_scrub_put(&c->wash, 0, BATCH_TASKS, text.data, text.len);
	buf_wipe(&text);
	c->marks[i].asks = claude_call_asks(name);
	if (!json_slice_is(name, "Task") && !json_slice_is(name, "Agent"))
		return;
	format_decode_text(&text, id, 1024);
	c->agents = vec_room(c->agents, c->n_agents, &c->cap_agents, sizeof *c->agents);
	c->agents[c->n_agents++] =
	    (struct agent_call){ i, buf_detach(&text), entry_hash_id(json_slice_get(input, "prompt")) };
}

static void
build_assistant(struct claude *c, const struct transcript_entry *r, const struct entry_parts *p)
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
		format_decode_text(&text, json_slice_get(block, "text"), 0);
		if (json_slice_is(p->model, "<synthetic>") &&
		    strcmp(text.data, "No response requested.") == 0)
			/* the agent was started again; it puts this where an answer is missing */
			c->settled = c->out->n;
		else if (strspn(text.data, " \n\t") < text.len)
			add_words(c, r, ROLE_ASSISTANT, STATUS_COMPLETE, &text);
		buf_wipe(&text);
	}
}

static void
build_system(struct claude *c, const struct transcript_entry *r, const struct entry_parts *p)
{
	struct buf text = BUF_INIT;

	if (!json_slice_string(p->content) || json_slice_is(p->subtype, "api_error"))
		return;
	format_decode_text(&text, p->content, CALL_MOST);
	if (!json_slice_is(p->subtype, "local_command")) {
		if (text.len > 0)
			add_words(c, r, ROLE_SYSTEM, STATUS_COMPLETE, &text);
		buf_wipe(&text);
	} else if (!put_program_words(c, r, &text, p->meta)) {
		put_person(c, r, &text);
	}
}

/* A file that the person named with "@", or that a compaction gave to the model again. */
static void
build_file(struct claude *c, const struct transcript_entry *r, struct json_slice attachment)
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
	add_words(c, r, ROLE_SYSTEM, STATUS_COMPLETE, &text);
	buf_wipe(&text);
}

/* Of a tool's hook before the call, and of one at the end of a turn, the result and the next message tell. */
static void
build_hook(
    struct claude *c, const struct transcript_entry *r, struct json_slice attachment, struct json_slice words)
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
	add_words(c, r, ROLE_SYSTEM, STATUS_FAILED, &text);
	buf_wipe(&text);
}

static void
build_attachment(struct claude *c, const struct transcript_entry *r, const struct entry_parts *p)
{
	struct json_slice type = json_slice_get(p->attachment, "type"), blocking;
	struct buf text = BUF_INIT;

	if (json_slice_is(type, "queued_command")) {
		if (json_slice_is(json_slice_get(p->attachment, "commandMode"), "bash"))
			buf_str(&text, "! ");
		format_content_text(&text, json_slice_get(p->attachment, "prompt"), 0);
		if (!put_program_words(
			c, r, &text, json_slice_is(json_slice_get(p->attachment, "isMeta"), "true")))
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
close_open_calls(struct claude *c)
{
	bool person = false, several = false;
	uint64_t later = 0;

	for (size_t i = c->out->n; i-- > 0;) {
		struct exchange *x = &c->out->v[i];
		const struct claude_mark *m = &c->marks[i];

		if (m->call != 0 && !m->answered) {
			x->status = person || several || i < c->settled || (later != 0 && later != m->message)
			    ? STATUS_INTERRUPTED
			    : m->asks ? STATUS_WAITING
				      : STATUS_RUNNING;
			if (m->asks && x->status == STATUS_WAITING && c->out->question == NULL &&
			    x->input != NULL)
				c->out->question = xstrdup(x->input);
		}
		person = person || x->role == ROLE_USER;
		if (x->role == ROLE_ASSISTANT && m->message != 0) {
			several = several || (later != 0 && later != m->message);
			later = m->message;
		}
	}
}

/* An exchange for each record of the order. */
static int
claude_build(struct claude *c, struct err *e)
{
	static void (*const builds[])(struct claude *, const struct transcript_entry *,
	    const struct entry_parts *) = { [ENTRY_USER] = build_user,
		[ENTRY_ASSISTANT] = build_assistant,
		[ENTRY_SYSTEM] = build_system,
		[ENTRY_ATTACHMENT] = build_attachment };

	for (size_t i = c->first; i < c->chain.n_order; i++) {
		const struct transcript_entry *r = &c->chain.v[c->chain.order[i]];
		struct entry_parts parts;
		const char *p;
		size_t n;

		if (r->kind >= COUNT(builds))
			continue;
		if (transcript_tail_line(c->tail, r->at, r->n, &p, &n, e) != 0)
			return -1;
		if (entry_parse(p, n, &parts))
			builds[r->kind](c, r, &parts);
	}
	transcript_scrub_flush(&c->wash);
	close_open_calls(c);
	return 0;
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
enqueue(struct claude *c, struct queue *q, const struct transcript_entry *r, struct json_slice content)
{
	struct buf words = BUF_INIT;

	format_content_text(&words, content, 0);
	if (words.len == 0 || claude_unwrap_words(&words, false) != WORDS_PERSON) {
		buf_wipe(&words);
		words = (struct buf)BUF_INIT;
	}
	if (q->n == MOST_ITEMS) {
		if (q->v[0].words.len > 0 && !q->v[0].gone)
			c->out->unknown_lines++;
		queue_forget(q, 0);
	}
	q->v[q->n++] = (struct queued){ .record = *r, .words = words };
}

static void
apply_operation(
    struct claude *c, struct queue *q, const struct transcript_entry *r, const struct entry_parts *p)
{
	bool all = json_slice_is(p->operation, "popAll");

	if (json_slice_is(p->operation, "enqueue")) {
		enqueue(c, q, r, p->content);
		return;
	}
	for (size_t i = 0; i < q->n; i++) {
		struct queued *item = &q->v[i];

		if (item->gone || item->taken != 0)
			continue;
		item->gone = all;
		item->taken = all ? 0 : r->time != 0 ? r->time : 1;
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
put_in_place(struct claude *c, struct queue *q)
{
	struct conversation clean = CONVERSATION_INIT;
	struct scrub_batch wash;
	size_t from = 0;

	transcript_scrub_init(&wash, c->s, &clean);
	for (size_t i = 0; i < q->n; i++) {
		conversation_add(&clean, ROLE_USER, NULL, NULL, NULL);
		transcript_scrub_put(&wash, i, BATCH_CONTENT, q->v[i].words.data, q->v[i].words.len);
	}
	transcript_scrub_flush(&wash);
	for (size_t i = 0; i < q->n; i++) {
		const struct queued *item = &q->v[i];
		struct exchange *x = &clean.v[i];
		size_t at = queue_place(
		    c->out, from, item->taken != 0 ? item->taken : item->record.time, item->taken != 0);

		if (item->gone || *x->content == '\0' || is_near(c->out, at, x->content))
			continue;
		x->status = item->taken != 0 ? STATUS_COMPLETE : STATUS_WAITING;
		x->source = SOURCE_TRANSCRIPT;
		x->at = item->record.time;
		insert_exchange(c->out, at, x);
		from = at + 1;
	}
	transcript_scrub_release(&wash);
	conversation_release(&clean);
}

/* Prompts that were queued and stand nowhere else, in their places. */
static int
claude_queue(struct claude *c, struct err *e)
{
	struct queue *q = xcalloc(1, sizeof *q);
	int ret = 0;

	for (size_t i = c->chain.n; i-- > 0 && ret == 0;) {
		const struct transcript_entry *r = &c->chain.v[i];
		struct entry_parts parts;
		const char *p;
		size_t n;

		if (r->kind != ENTRY_QUEUE)
			continue;
		ret = transcript_tail_line(c->tail, r->at, r->n, &p, &n, e);
		if (ret == 0 && entry_parse(p, n, &parts))
			apply_operation(c, q, r, &parts);
	}
	if (ret == 0)
		put_in_place(c, q);
	while (q->n > 0)
		queue_forget(q, q->n - 1);
	free(q);
	return ret;
}

static void
on_call(void *arg, uint64_t call, bool result)
{
	struct claude *c = arg;

	transcript_tree_add_call(&c->chain, call, (uint32_t)c->chain.n - 1, result);
}

/* The last record that names them counts. */
static void
read_head(struct claude *c, const struct entry_parts *p)
{
	const struct { const struct json_slice *v; enum batch_field field; bool *has; } heads[] = {
		{ &p->version, BATCH_BANNER, &c->has_banner }, { &p->session, BATCH_SESSION, &c->has_session }
	};

	for (size_t i = 0; i < 2; i++) {
		struct buf text = BUF_INIT;

		if (*heads[i].has || !json_slice_string(*heads[i].v) || heads[i].v->n > 200)
			continue;
		*heads[i].has = true;
		format_decode_text(&text, *heads[i].v, 0);
		transcript_scrub_put(&c->wash, 0, heads[i].field, text.data, text.len);
		buf_release(&text);
	}
}

static int
index_line(struct claude *c, off_t at, size_t n, struct err *e)
{
	struct entry_parts parts;
	struct transcript_entry r;
	const char *p;
	size_t len;

	if (transcript_tail_line(c->tail, at, n, &p, &len, e) != 0)
		return -1;
	if (n == 0)
		return 0;
	c->out->lines++;
	if (!entry_parse(p, len, &parts)) {
		c->out->unknown_lines++;
		return 0;
	}
	entry_read(&parts, &r);
	r.at = at;
	r.n = n;
	read_head(c, &parts);
	if (r.kind == ENTRY_UNKNOWN)
		c->out->unknown_lines++;
	if (r.id == 0 && r.kind != ENTRY_QUEUE)
		return 0;
	transcript_tree_add(&c->chain, &r);
	entry_calls(&parts, on_call, c);
	if (r.side == c->side)
		c->words += r.words;
	return 0;
}

/* Reads lines until they may give so many bytes of exchanges. */
static int
index_lines(struct claude *c, uint64_t enough, struct err *e)
{
	off_t at;
	size_t n;
	int r = 1;

	while (c->words < enough && (r = transcript_tail_previous(c->tail, &at, &n, e)) == 1)
		if (index_line(c, at, n, e) != 0)
			return -1;
	c->all = r == 0;
	return r < 0 ? -1 : 0;
}

/* Where in the order the last `enough` bytes begin. */
static size_t
find_first(const struct message_tree *chain, uint64_t enough, uint64_t *have)
{
	size_t i = chain->n_order;

	for (*have = 0; i > 0 && *have < enough; i--)
		*have += chain->v[chain->order[i - 1]].words;
	return i;
}

/* Enough records that their order, which may leave some aside, still holds enough. */
static int
gather_claude(struct claude *c, size_t max_bytes, struct err *e)
{
	/* the file writes "\n" and quotes in two bytes: a quarter more than is wanted */
	uint64_t enough = max_bytes > 0 ? (uint64_t)max_bytes + max_bytes / 4 : UINT64_MAX, target = enough,
		 have;

	for (;;) {
		if (index_lines(c, target, e) != 0)
			return -1;
		transcript_tree_order(&c->chain, c->side, c->all);
		c->first = find_first(&c->chain, enough, &have);
		if (c->all || c->chain.whole || have >= enough)
			return 0;
		target = c->words * 2 > target ? c->words * 2 : target * 2;
	}
}

int
claude_read(struct transcript_tail *t, const char *path, bool side, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e)
{
	struct claude c = { .tail = t, .s = s, .out = out, .side = side };
	int ret = -1;

	*out = (struct conversation)CONVERSATION_INIT;
	c.dialect = grammar_new("claude", 0);
	transcript_scrub_init(&c.wash, s, out);
	if (gather_claude(&c, max_bytes, e) != 0 || claude_build(&c, e) != 0)
		goto out;
	transcript_scrub_flush(&c.wash);
	if (path != NULL)
		claude_agents(&c, path);
	if (!side && claude_queue(&c, e) != 0)
		goto out;
	if (conversation_limit(out, max_bytes > 0 ? max_bytes : SIZE_MAX) || c.first > 0 ||
	    (!c.all && !c.chain.whole))
		out->truncated_at = 0;
	ret = 0;
out:
	transcript_scrub_release(&c.wash);
	transcript_tree_release(&c.chain);
	grammar_free(c.dialect);
	for (size_t i = 0; i < c.n_agents; i++)
		free(c.agents[i].id);
	free(c.agents);
	free(c.marks);
	if (ret != 0)
		conversation_release(out);
	return ret;
}
