#include <stdlib.h>
#include <string.h>

#include "context/wash.h"
#include "base/buf.h"
#include "base/err.h"
#include "context/exchange.h"
#include "scrub/scrub.h"

#define FULL ((size_t)256 << 10)
#define BETWEEN "#\n"

struct wash_slot {
	size_t exchange;
	enum field field;
	size_t lines;
};

void
wash_init(struct wash *b, struct scrub *s, struct conversation *c)
{
	*b = (struct wash){ .s = s, .c = c, .raw = BUF_INIT };
}

void
wash_release(struct wash *b)
{
	buf_wipe(&b->raw);
	free(b->v);
	*b = (struct wash){ .raw = BUF_INIT };
}

static char **
field_of(const struct wash *b, const struct wash_slot *slot)
{
	switch (slot->field) {
	case FIELD_INPUT:
		return &b->c->v[slot->exchange].input;
	case FIELD_CONTENT:
		return &b->c->v[slot->exchange].content;
	case FIELD_TOOL:
		return &b->c->v[slot->exchange].tool;
	case FIELD_BANNER:
		return &b->c->banner;
	case FIELD_SESSION:
		return &b->c->session_id;
	case FIELD_QUESTION:
		return &b->c->question;
	case FIELD_DRAFT:
		return &b->c->draft;
	default:
		return &b->c->tasks;
	}
}

void
wash_put(struct wash *b, size_t exchange, enum field field, const char *p, size_t n)
{
	size_t lines = 1;

	for (const char *nl = p; (nl = memchr(nl, '\n', (size_t)(p + n - nl))) != NULL; nl++)
		lines++;
	b->v = vec_room(b->v, b->n, &b->cap, sizeof *b->v);
	b->v[b->n++] = (struct wash_slot){ exchange, field, lines };
	buf_add(&b->raw, p, n);
	buf_str(&b->raw, "\n" BETWEEN);
	if (b->raw.len >= FULL)
		wash_flush(b);
}

void
wash_flush(struct wash *b)
{
	struct clean_text *clean = scrub_text(b->s, b->raw.data, b->raw.len, 0);
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
put_string(struct wash *b, size_t exchange, enum field field, const char *text)
{
	if (text != NULL)
		wash_put(b, exchange, field, text, strlen(text));
}

void
wash_conversation(struct conversation *c, struct scrub *s)
{
	struct wash b;

	wash_init(&b, s, c);
	for (size_t i = 0; i < c->n; i++) {
		put_string(&b, i, FIELD_TOOL, c->v[i].tool);
		put_string(&b, i, FIELD_INPUT, c->v[i].input);
		put_string(&b, i, FIELD_CONTENT, c->v[i].content);
	}
	put_string(&b, 0, FIELD_QUESTION, c->question);
	put_string(&b, 0, FIELD_DRAFT, c->draft);
	put_string(&b, 0, FIELD_TASKS, c->tasks);
	wash_flush(&b);
	wash_release(&b);
}
