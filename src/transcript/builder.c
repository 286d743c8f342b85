#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "transcript/transcript.h"
#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "conversation/conversation.h"
#include "screen/screen.h"
#include "scrub/scrub.h"
#include "transcript/format/format_private.h"

#define FULL ((size_t)256 << 10)
#define BETWEEN "#\n"

struct scrub_batch_slot {
	size_t exchange;
	enum batch_field field;
	size_t lines;
};

void
transcript_scrub_init(struct scrub_batch *b, struct scrub *s, struct conversation *c)
{
	*b = (struct scrub_batch){ .s = s, .c = c, .raw = BUF_INIT };
}

void
transcript_scrub_release(struct scrub_batch *b)
{
	buf_wipe(&b->raw);
	free(b->v);
	*b = (struct scrub_batch){ .raw = BUF_INIT };
}

static char **
field_of(const struct scrub_batch *b, const struct scrub_batch_slot *slot)
{
	switch (slot->field) {
	case BATCH_INPUT:
		return &b->c->v[slot->exchange].input;
	case BATCH_CONTENT:
		return &b->c->v[slot->exchange].content;
	case BATCH_TOOL:
		return &b->c->v[slot->exchange].tool;
	case BATCH_BANNER:
		return &b->c->banner;
	case BATCH_SESSION:
		return &b->c->session_id;
	case BATCH_QUESTION:
		return &b->c->question;
	case BATCH_DRAFT:
		return &b->c->draft;
	default:
		return &b->c->tasks;
	}
}

void
transcript_scrub_put(struct scrub_batch *b, size_t exchange, enum batch_field field, const char *p, size_t n)
{
	size_t lines = 1;

	for (const char *nl = p; (nl = memchr(nl, '\n', (size_t)(p + n - nl))) != NULL; nl++)
		lines++;
	if (b->s == NULL) {
		bool counts = field == BATCH_CONTENT || field == BATCH_INPUT;

		b->lines += counts && n > 0 ? lines - (p[n - 1] == '\n') : 0;
		b->bytes += counts ? n : 0;
		return;
	}
	b->v = vec_room(b->v, b->n, &b->cap, sizeof *b->v);
	b->v[b->n++] = (struct scrub_batch_slot){ exchange, field, lines };
	buf_add(&b->raw, p, n);
	buf_str(&b->raw, "\n" BETWEEN);
	if (b->raw.len >= FULL)
		transcript_scrub_flush(b);
}

void
transcript_scrub_flush(struct scrub_batch *b)
{
	struct clean_text *clean = b->n > 0 ? scrub_text(b->s, b->raw.data, b->raw.len, 0) : NULL;
	const char *p = clean_bytes(clean), *end = p + clean_len(clean);

	for (size_t i = 0; i < b->n; i++) {
		struct buf text = BUF_INIT;
		const char *from = p;
		char **field;

		for (size_t k = 0; k <= b->v[i].lines; k++) {	/* and the row between */
			const char *nl = memchr(p, '\n', (size_t)(end - p));

			if (nl == NULL)
				die("the scrubber lost a line");
			if (k + 1 == b->v[i].lines)
				buf_add(&text, from, (size_t)(nl - from));
			p = nl + 1;
		}
		field = field_of(b, &b->v[i]);
		free(*field);
		*field = conversation_text(&text);
	}
	clean_free(clean);
	buf_wipe(&b->raw);
	b->n = 0;
}

static void
put_field(struct scrub_batch *b, size_t exchange, enum batch_field field, const char *text)
{
	if (text != NULL)
		transcript_scrub_put(b, exchange, field, text, strlen(text));
}

void
transcript_rescrub(struct conversation *c, struct scrub *s)
{
	struct scrub_batch b;

	transcript_scrub_init(&b, s, c);
	for (size_t i = 0; i < c->n; i++) {
		put_field(&b, i, BATCH_TOOL, c->v[i].tool);
		put_field(&b, i, BATCH_INPUT, c->v[i].input);
		put_field(&b, i, BATCH_CONTENT, c->v[i].content);
	}
	put_field(&b, 0, BATCH_QUESTION, c->question);
	put_field(&b, 0, BATCH_DRAFT, c->draft);
	put_field(&b, 0, BATCH_TASKS, c->tasks);
	transcript_scrub_flush(&b);
	transcript_scrub_release(&b);
}

struct builder_call {
	uint64_t id;
	size_t exchange;
};

void
builder_init(struct transcript_builder *t, struct scrub *s, struct conversation *out)
{
	*t = (struct transcript_builder){ .out = out, .answer = 1, .stopped = SIZE_MAX };
	transcript_scrub_init(&t->wash, s, out);
}

void
builder_release(struct transcript_builder *t)
{
	tdestroy(t->calls, free);
	buf_wipe(&t->first);
	free(t->marks);
	grammar_free(t->grammar);
	if (t->out != NULL)
		transcript_scrub_release(&t->wash);
	*t = (struct transcript_builder){ .calls = NULL };
}

void
builder_reset(struct transcript_builder *t)
{
	struct transcript_builder was = *t;
	char *banner = t->out->banner, *session = t->out->session_id;

	t->out->banner = t->out->session_id = NULL;
	conversation_release(t->out);
	builder_release(t);
	builder_init(t, was.wash.s, was.out);
	t->out->banner = banner;
	t->out->session_id = session;
	t->has_banner = was.has_banner;
	t->has_session = was.has_session;
}

void
builder_answer(struct transcript_builder *t)
{
	t->answer++;
}

/* Nothing is kept: what does it say about what is sought? */
static void
note_search(struct transcript_builder *t, enum role role, enum status status, const struct buf *text)
{
	if (role == ROLE_USER) {
		t->asked = t->asked || memmem(text->data, text->len, t->search, strlen(t->search)) != NULL;
	} else if (role == ROLE_ASSISTANT) {
		t->answered = true;
		t->answered_behind = t->answered_behind || t->asked;
	} else if (status == STATUS_FAILED) {
		t->refused = true;
		t->refused_behind = t->refused_behind || t->asked;
	}
}

static size_t
add_exchange(struct transcript_builder *t, enum role role, enum status status, int64_t at)
{
	struct exchange *x = conversation_add(t->out, role, NULL, NULL, NULL);
	size_t i = t->out->n - 1;

	t->out->turn_over = t->out->turn_over && role == ROLE_SYSTEM;
	x->status = status;
	x->source = SOURCE_TRANSCRIPT;
	x->at = at;
	t->marks = vec_room(t->marks, i, &t->cap_marks, sizeof *t->marks);
	t->marks[i] =
	    (struct builder_mark){ .answer = role == ROLE_ASSISTANT ? t->answer : 0, .record = t->record };
	return i;
}

void
builder_message(
    struct transcript_builder *t, enum role role, enum status status, int64_t at, struct buf *text)
{
	if (strspn(text->data, " \n\t") >= text->len) {
		buf_wipe(text);
		return;
	}
	if (t->search != NULL) {
		note_search(t, role, status, text);
	} else {
		transcript_scrub_put(
		    &t->wash, add_exchange(t, role, status, at), BATCH_CONTENT, text->data, text->len);
		if (role == ROLE_USER && t->wash.s == NULL && t->first.len == 0) {
			buf_add(&t->first, text->data, text->len);
			t->first_at = at;
		}
		if (role == ROLE_USER) {
			t->out->limit = false;
			t->answer++;
		}
	}
	buf_wipe(text);
}

static int
by_call_id(const void *a, const void *b)
{
	const struct builder_call *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static size_t
add_call(struct transcript_builder *t, uint64_t id, enum status status, int64_t at)
{
	size_t i = add_exchange(t, ROLE_ASSISTANT, status, at);
	struct builder_call *c = xmalloc(sizeof *c), **in;

	*c = (struct builder_call){ id, i };
	t->marks[i].call = true;
	t->marks[i].id = id;
	if (t->wash.s == NULL)
		t->out->v[i].tool = xstrdup("?");
	in = id != 0 ? tsearch(c, &t->calls, by_call_id) : NULL;
	if (in == NULL || *in != c)	/* the same id once more: results are the newer one's */
		free(c);
	if (in != NULL)
		(*in)->exchange = i;
	return i;
}

size_t
builder_call(struct transcript_builder *t, struct json_slice id, struct json_slice name, int64_t at)
{
	struct buf text = BUF_INIT;
	size_t i;

	if (t->search != NULL) {
		note_search(t, ROLE_ASSISTANT, STATUS_RUNNING, &text);
		return SIZE_MAX;
	}
	i = add_call(t, entry_hash_id(id), STATUS_RUNNING, at);
	if (json_slice_string(name))
		format_decode_text(&text, name, 1024);
	if (text.len == 0)
		buf_chr(&text, '?');
	transcript_scrub_put(&t->wash, i, BATCH_TOOL, text.data, text.len);
	buf_wipe(&text);
	return i;
}

void
builder_input(struct transcript_builder *t, size_t exchange, struct buf *text)
{
	if (exchange != SIZE_MAX && text->len > 0)
		transcript_scrub_put(&t->wash, exchange, BATCH_INPUT, text->data, text->len);
	buf_wipe(text);
}

void
builder_tool_call(struct transcript_builder *t, struct json_slice id, struct json_slice name,
    struct json_slice input, int64_t at)
{
	size_t i = builder_call(t, id, name, at);
	struct buf text = BUF_INIT;

	if (i != SIZE_MAX)
		format_call_members(&text, input);
	builder_input(t, i, &text);
}

/* SIZE_MAX: it was not told, or taken back. */
static size_t
find_call(const struct transcript_builder *t, uint64_t id)
{
	struct builder_call key = { .id = id }, **found = tfind(&key, &t->calls, by_call_id);
	size_t i = found != NULL ? (*found)->exchange : SIZE_MAX;

	return i < t->out->n && id != 0 && t->marks[i].id == id ? i : SIZE_MAX;
}

bool
builder_told_call(const struct transcript_builder *t, const struct builder_mark *m)
{
	return m->call && find_call(t, m->id) != SIZE_MAX;
}

bool
builder_has_call(const struct transcript_builder *t, struct json_slice id)
{
	return t->search == NULL && find_call(t, entry_hash_id(id)) != SIZE_MAX;
}

size_t
builder_tool_result(
    struct transcript_builder *t, struct json_slice id, enum status status, int64_t at, struct buf *text)
{
	uint64_t name = entry_hash_id(id);
	size_t i = t->search == NULL ? find_call(t, name) : SIZE_MAX;

	if (t->search != NULL || (i == SIZE_MAX && t->older)) {
		buf_wipe(text);
		return SIZE_MAX;
	}
	if (i == SIZE_MAX) {
		i = add_call(t, name, status, at);
		transcript_scrub_put(&t->wash, i, BATCH_TOOL, "?", 1);
	}
	t->marks[i].answered = true;
	t->out->v[i].status = status;
	transcript_scrub_put(&t->wash, i, BATCH_CONTENT, text->data, text->len);
	buf_wipe(text);
	return i;
}

void
builder_interrupt(struct transcript_builder *t, int64_t at)
{
	static const char words[] = "Interrupted";
	size_t i = t->search == NULL ? t->out->n : 0;
	bool calls = false;

	if (t->search != NULL || i == t->stopped)
		return;
	for (; i > 0 && t->marks[i - 1].call; i--) {
		calls = true;
		if (!t->marks[i - 1].answered)
			t->out->v[i - 1].status = STATUS_FAILED;
		t->marks[i - 1].answered = true;
	}
	if (!calls && i > 0 && t->out->v[i - 1].role == ROLE_ASSISTANT)
		t->out->v[i - 1].status = STATUS_INTERRUPTED;
	else if (!calls)
		transcript_scrub_put(&t->wash, add_exchange(t, ROLE_SYSTEM, STATUS_INTERRUPTED, at),
		    BATCH_CONTENT, words, sizeof words - 1);
	t->stopped = t->out->n;
}

void
builder_summary(struct transcript_builder *t, struct json_slice text, int64_t at)
{
	struct buf words = BUF_INIT;

	if (!json_slice_string(text) || text.n < 3)
		return;
	buf_str(&words, CONVERSATION_SUMMARY "\n\n");
	format_decode_text(&words, text, 0);
	builder_message(t, ROLE_SYSTEM, STATUS_COMPLETE, at, &words);
}

void
builder_rollback(struct transcript_builder *t, size_t prompts)
{
	if (t->search != NULL)
		return;
	transcript_scrub_flush(&t->wash);
	while (prompts > 0 && t->out->n > 0) {
		struct exchange *x = &t->out->v[--t->out->n];

		prompts -= x->role == ROLE_USER;
		exchange_release(x);
	}
	t->stopped = SIZE_MAX;
	t->older = true;	/* results of what was taken back may follow */
}

void
builder_tasks(struct transcript_builder *t, struct buf *text)
{
	if (t->search == NULL && text->len > 0)
		transcript_scrub_put(&t->wash, 0, BATCH_TASKS, text->data, text->len);
	buf_wipe(text);
}

void
builder_turn_over(struct transcript_builder *t)
{
	if (t->search == NULL)
		t->out->turn_over = true;
}

void
builder_limit(struct transcript_builder *t, bool limit)
{
	if (t->search == NULL)
		t->out->limit = limit;
}

void
builder_header(struct transcript_builder *t, enum batch_field field, struct json_slice text)
{
	bool *has = field == BATCH_BANNER ? &t->has_banner : &t->has_session;
	struct buf decoded = BUF_INIT;

	if (t->search != NULL || *has || !json_slice_string(text) || text.n < 3 || text.n > 200)
		return;
	*has = true;
	format_decode_text(&decoded, text, 0);
	transcript_scrub_put(&t->wash, 0, field, decoded.data, decoded.len);
	buf_wipe(&decoded);
}

void
builder_finish(struct transcript_builder *t)
{
	bool person = false, several = false;	/* spoke behind; answers stand behind */
	uint64_t later = 0;			/* the answer behind */

	transcript_scrub_flush(&t->wash);
	for (size_t i = t->out->n; i-- > 0;) {
		const struct builder_mark *m = &t->marks[i];
		struct exchange *x = &t->out->v[i];

		if (m->call && !m->answered) {
			x->status = person || several || i < t->settled || (later != 0 && later != m->answer)
			    ? STATUS_INTERRUPTED
			    : m->asks ? STATUS_WAITING
				      : STATUS_RUNNING;
			if (x->status == STATUS_WAITING && t->out->question == NULL && x->input != NULL)
				t->out->question = xstrdup(x->input);
		}
		person = person || x->role == ROLE_USER;
		if (m->answer != 0) {
			several = several || (later != 0 && later != m->answer);
			later = m->answer;
		}
	}
}
