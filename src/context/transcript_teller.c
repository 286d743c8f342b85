#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "context/transcript_teller.h"
#include "base/buf.h"
#include "context/transcript_call.h"
#include "context/transcript_record.h"
#include "context/transcript_words.h"

struct teller_mark {
	uint64_t answer;	/* of the model, 0: none */
	uint64_t id;		/* of a call, 0: none is known */
	bool call, answered;
};

struct called {
	uint64_t id;
	size_t exchange;
};

void
teller_init(struct teller *t, struct scrub *s, struct conversation *out)
{
	*t = (struct teller){ .out = out, .answer = 1, .stopped = SIZE_MAX };
	wash_init(&t->wash, s, out);
}

void
teller_seek(struct teller *t, const char *sought)
{
	*t = (struct teller){ .sought = sought };
}

void
teller_release(struct teller *t)
{
	tdestroy(t->calls, free);
	free(t->marks);
	if (t->out != NULL)
		wash_release(&t->wash);
	*t = (struct teller){ .calls = NULL };
}

void
teller_answer(struct teller *t)
{
	t->answer++;
}

/* Nothing is kept: what does it say about what is sought? */
static void
notice(struct teller *t, enum role role, enum status status, const struct buf *text)
{
	if (role == ROLE_USER) {
		t->asked = t->asked || memmem(text->data, text->len, t->sought, strlen(t->sought)) != NULL;
	} else if (role == ROLE_ASSISTANT) {
		t->answered = true;
		t->answered_behind = t->answered_behind || t->asked;
	} else if (status == STATUS_FAILED) {
		t->refused = true;
		t->refused_behind = t->refused_behind || t->asked;
	}
}

static size_t
add(struct teller *t, enum role role, enum status status, int64_t at)
{
	struct exchange *x = conversation_add(t->out, role, NULL, NULL, NULL);
	size_t i = t->out->n - 1;

	x->status = status;
	x->source = SOURCE_TRANSCRIPT;
	x->at = at;
	t->marks = vec_room(t->marks, i, &t->cap_marks, sizeof *t->marks);
	t->marks[i] = (struct teller_mark){ .answer = role == ROLE_ASSISTANT ? t->answer : 0 };
	return i;
}

void
teller_words(struct teller *t, enum role role, enum status status, int64_t at, struct buf *text)
{
	if (strspn(text->data, " \n\t") >= text->len) {
		buf_wipe(text);
		return;
	}
	if (t->sought != NULL) {
		notice(t, role, status, text);
	} else {
		wash_put(&t->wash, add(t, role, status, at), FIELD_CONTENT, text->data, text->len);
		if (role == ROLE_USER) {
			t->out->limit = false;
			t->answer++;
		}
	}
	buf_wipe(text);
}

static int
by_id(const void *a, const void *b)
{
	const struct called *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static size_t
add_call(struct teller *t, uint64_t id, enum status status, int64_t at)
{
	size_t i = add(t, ROLE_ASSISTANT, status, at);
	struct called *c = xmalloc(sizeof *c), **in;

	*c = (struct called){ id, i };
	t->marks[i].call = true;
	t->marks[i].id = id;
	in = id != 0 ? tsearch(c, &t->calls, by_id) : NULL;
	if (in == NULL || *in != c)	/* the same id once more: results are the newer one's */
		free(c);
	if (in != NULL)
		(*in)->exchange = i;
	return i;
}

void
teller_call(struct teller *t, struct json_slice id, struct json_slice name, struct json_slice input, int64_t at)
{
	struct buf text = BUF_INIT;
	size_t i;

	if (t->sought != NULL) {
		notice(t, ROLE_ASSISTANT, STATUS_RUNNING, &text);
		return;
	}
	i = add_call(t, record_name(id), STATUS_RUNNING, at);
	if (json_slice_string(name))
		words_decode(&text, name, 1024);
	if (text.len == 0)
		buf_chr(&text, '?');
	wash_put(&t->wash, i, FIELD_TOOL, text.data, text.len);
	buf_reset(&text);
	call_members(&text, input);
	if (text.len > 0)
		wash_put(&t->wash, i, FIELD_INPUT, text.data, text.len);
	buf_wipe(&text);
}

/* SIZE_MAX: it was not told, or taken back. */
static size_t
find_call(const struct teller *t, uint64_t id)
{
	struct called key = { .id = id }, **found = tfind(&key, &t->calls, by_id);
	size_t i = found != NULL ? (*found)->exchange : SIZE_MAX;

	return i < t->out->n && id != 0 && t->marks[i].id == id ? i : SIZE_MAX;
}

bool
teller_has_call(const struct teller *t, struct json_slice id)
{
	return t->sought == NULL && find_call(t, record_name(id)) != SIZE_MAX;
}

void
teller_result(struct teller *t, struct json_slice id, enum status status, int64_t at, struct buf *text)
{
	uint64_t name = record_name(id);
	size_t i = t->sought == NULL ? find_call(t, name) : SIZE_MAX;

	if (t->sought != NULL || (i == SIZE_MAX && t->older)) {
		buf_wipe(text);
		return;
	}
	if (i == SIZE_MAX) {
		i = add_call(t, name, status, at);
		wash_put(&t->wash, i, FIELD_TOOL, "?", 1);
	}
	t->marks[i].answered = true;
	t->out->v[i].status = status;
	wash_put(&t->wash, i, FIELD_CONTENT, text->data, text->len);
	buf_wipe(text);
}

void
teller_interrupt(struct teller *t, int64_t at)
{
	static const char words[] = "Interrupted";
	size_t i = t->sought == NULL ? t->out->n : 0;
	bool calls = false;

	if (t->sought != NULL || i == t->stopped)
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
		wash_put(&t->wash, add(t, ROLE_SYSTEM, STATUS_INTERRUPTED, at), FIELD_CONTENT, words, sizeof words - 1);
	t->stopped = t->out->n;
}

void
teller_summary(struct teller *t, struct json_slice text, int64_t at)
{
	struct buf words = BUF_INIT;

	if (!json_slice_string(text) || text.n < 3)
		return;
	buf_str(&words, "Summary of the conversation so far:\n\n");
	words_decode(&words, text, 0);
	teller_words(t, ROLE_SYSTEM, STATUS_COMPLETE, at, &words);
}

void
teller_take_back(struct teller *t, size_t prompts)
{
	if (t->sought != NULL)
		return;
	wash_flush(&t->wash);
	while (prompts > 0 && t->out->n > 0) {
		struct exchange *x = &t->out->v[--t->out->n];

		prompts -= x->role == ROLE_USER;
		exchange_release(x);
	}
	t->stopped = SIZE_MAX;
	t->older = true;	/* results of what was taken back may follow */
}

void
teller_end(struct teller *t, struct json_slice id)
{
	t->end = record_name(id);
}

void
teller_tasks(struct teller *t, struct buf *text)
{
	if (t->sought == NULL && text->len > 0)
		wash_put(&t->wash, 0, FIELD_TASKS, text->data, text->len);
	buf_wipe(text);
}

void
teller_limit(struct teller *t, bool limit)
{
	if (t->sought == NULL)
		t->out->limit = limit;
}

void
teller_head(struct teller *t, enum field field, struct json_slice text)
{
	bool *has = field == FIELD_BANNER ? &t->has_banner : &t->has_session;
	struct buf decoded = BUF_INIT;

	if (t->sought != NULL || *has || !json_slice_string(text) || text.n < 3 || text.n > 200)
		return;
	*has = true;
	words_decode(&decoded, text, 0);
	wash_put(&t->wash, 0, field, decoded.data, decoded.len);
	buf_wipe(&decoded);
}

void
teller_finish(struct teller *t)
{
	uint64_t later = 0;		/* the newest answer behind, UINT64_MAX: the person's words */

	wash_flush(&t->wash);
	for (size_t i = t->out->n; i-- > 0;) {
		const struct teller_mark *m = &t->marks[i];

		if (m->call && !m->answered)
			t->out->v[i].status = later != 0 && later != m->answer ? STATUS_INTERRUPTED : STATUS_RUNNING;
		if (t->out->v[i].role == ROLE_USER)
			later = UINT64_MAX;
		else if (m->answer != 0 && later == 0)
			later = m->answer;
	}
}
