#include <stdlib.h>
#include <string.h>

#include "context/transcript_claude.h"
#include "base/buf.h"
#include "context/exchange.h"
#include "context/transcript_tail.h"
#include "context/transcript_words.h"

#define MOST_ITEMS 256		/* prompts that a queue may hold; the oldest are forgotten, and counted as not understood */
#define BEFORE 3		/* exchanges around a prompt's place among which it is looked for */
#define BEHIND 12
#define LONG ((size_t)16 << 10)	/* a longer exchange is compared, not searched */

/*
 * A prompt typed while the agent is at work is queued: "enqueue" with its words. It leaves the queue by "dequeue" (a user record follows)
 * or "remove" (the model is told in the middle of the turn: an attachment follows in 2.1.197 and later, in 2.0.76 and 2.1.37 nothing
 * does), or back into the box by "popAll". What is left died with the agent: nobody told the model.
 */
struct queued {
	struct record record;
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
enqueue(struct claude *c, struct queue *q, const struct record *r, struct json_slice content)
{
	struct buf words = BUF_INIT;

	words_content(&words, content, 0);
	if (words.len == 0 || words_read(&words, false) != WORDS_PERSON) {
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
operate(struct claude *c, struct queue *q, const struct record *r, const struct record_parts *p)
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
holds(const struct exchange *x, const char *words)
{
	if (x->role != ROLE_USER)
		return false;
	return strcmp(x->content, words) == 0 || (strlen(x->content) < LONG && strstr(x->content, words) != NULL);
}

/* Where the prompt belongs: before the first exchange that came after it, a prompt when it never left the queue. */
static size_t
place(const struct conversation *c, size_t from, int64_t time, bool taken)
{
	for (size_t i = from; i < c->n; i++)
		if (c->v[i].at >= time && (taken || c->v[i].role == ROLE_USER))
			return i;
	return c->n;
}

static bool
stands_near(const struct conversation *c, size_t i, const char *words)
{
	size_t to = i + BEHIND < c->n ? i + BEHIND : c->n;

	for (size_t k = i > BEFORE ? i - BEFORE : 0; k < to; k++)
		if (holds(&c->v[k], words))
			return true;
	return false;
}

/* One more exchange at i. */
static void
insert(struct conversation *c, size_t i, struct exchange *x)
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
	struct wash wash;
	size_t from = 0;

	wash_init(&wash, c->s, &clean);
	for (size_t i = 0; i < q->n; i++) {
		conversation_add(&clean, ROLE_USER, NULL, NULL, NULL);
		wash_put(&wash, i, FIELD_CONTENT, q->v[i].words.data, q->v[i].words.len);
	}
	wash_flush(&wash);
	for (size_t i = 0; i < q->n; i++) {
		const struct queued *item = &q->v[i];
		struct exchange *x = &clean.v[i];
		size_t at = place(c->out, from, item->taken != 0 ? item->taken : item->record.time, item->taken != 0);

		if (item->gone || *x->content == '\0' || stands_near(c->out, at, x->content))
			continue;
		x->status = item->taken != 0 ? STATUS_COMPLETE : STATUS_WAITING;
		x->source = SOURCE_TRANSCRIPT;
		x->at = item->record.time;
		insert(c->out, at, x);
		from = at + 1;
	}
	wash_release(&wash);
	conversation_release(&clean);
}

int
claude_queue(struct claude *c, struct err *e)
{
	struct queue *q = xcalloc(1, sizeof *q);
	int ret = 0;

	for (size_t i = c->chain.n; i-- > 0 && ret == 0;) {
		const struct record *r = &c->chain.v[i];
		struct record_parts parts;
		const char *p;
		size_t n;

		if (r->kind != RECORD_QUEUE)
			continue;
		ret = tail_line(c->tail, r->at, r->n, &p, &n, e);
		if (ret == 0 && record_open(p, n, &parts))
			operate(c, q, r, &parts);
	}
	if (ret == 0)
		put_in_place(c, q);
	while (q->n > 0)
		queue_forget(q, q->n - 1);
	free(q);
	return ret;
}
