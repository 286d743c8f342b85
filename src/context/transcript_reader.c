#include <stdlib.h>
#include <string.h>

#include "context/transcript_reader.h"
#include "base/buf.h"
#include "base/err.h"
#include "context/exchange.h"
#include "context/transcript_chain.h"
#include "context/transcript_pages.h"
#include "context/transcript_tail.h"
#include "context/transcript_teller.h"

static const struct reader *const readers[] = { &reader_codex, &reader_gemini, &reader_qwen, &reader_copilot, &reader_pi, &reader_auggie,
	&reader_cline, &reader_opencode };

/* A file while it is read. */
struct reading {
	const struct reader *how;
	struct pages *pages;
	struct chain chain;
	size_t lines, unknown;
	uint64_t words;		/* bytes of the records that speak, read so far */
	bool all;		/* read to the first */
	size_t first;		/* in the chain's order: where the exchanges begin */
};

const struct reader *
reader_find(const char *name)
{
	for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
		if (strcmp(readers[i]->name, name) == 0)
			return readers[i];
	return NULL;
}

static void
order_lines(struct chain *c)
{
	free(c->order);
	c->order = xcalloc(c->n + 1, sizeof *c->order);
	c->n_order = 0;
	for (size_t i = c->n; i-- > 0;)
		c->order[c->n_order++] = (uint32_t)i;
	c->whole = true;
}

void
order_tree(struct chain *c, bool all)
{
	chain_order(c, false, all);
}

static void
index_one(struct reading *r, struct record *record, struct json_slice text)
{
	record->words = record->kind > RECORD_SYSTEM ? 0 : text.n < UINT32_MAX ? (uint32_t)text.n : UINT32_MAX;
	r->words += record->words;
	if (record->kind == RECORD_UNKNOWN)
		r->unknown++;
	else if (record->kind <= RECORD_SYSTEM || record->id != 0)
		chain_add(&r->chain, record);
}

/* The objects of a list in the record, newest first as all others, then the record. False: it is told as one. */
static bool
index_list(struct reading *r, const struct record *whole, struct json_slice text)
{
	struct json_slice list = r->how->spread != NULL ? r->how->spread(text) : (struct json_slice){ NULL, 0 }, one;
	struct json_walk w = json_slice_walk(list);
	struct record record = *whole;
	size_t from = r->chain.n;

	if (list.n == 0 || !r->pages->exact)
		return false;
	while (!w.object && json_walk_next(&w, NULL, &one)) {
		record = (struct record){ .kind = RECORD_UNKNOWN, .at = whole->at + (one.p - text.p), .n = one.n };
		r->how->open(one, &record);
		index_one(r, &record, one);
	}
	for (size_t to = r->chain.n; from + 1 < to; from++) {
		struct record swap = r->chain.v[from];

		r->chain.v[from] = r->chain.v[--to];
		r->chain.v[to] = swap;
	}
	record = *whole;
	record.kind = RECORD_LINK;
	index_one(r, &record, text);
	return true;
}

static int
index_record(struct reading *r, off_t at, size_t n, struct err *e)
{
	struct record record = { .kind = RECORD_UNKNOWN, .at = at, .n = n };
	struct json_slice text;
	int ok;

	if (n == 0)
		return 0;
	r->lines++;
	ok = pages_read(r->pages, at, n, &text, e);
	if (ok == 1)
		r->how->open(text, &record);
	if (ok == 0)
		r->unknown++;
	else if (ok == 1 && !index_list(r, &record, text))
		index_one(r, &record, text);
	return ok < 0 ? -1 : 0;
}

static int
index_records(struct reading *r, uint64_t enough, struct err *e)
{
	off_t at;
	size_t n;
	int more = 1;

	while (r->words < enough && (more = pages_previous(r->pages, &at, &n, e)) == 1)
		if (index_record(r, at, n, e) != 0)
			return -1;
	r->all = r->all || more == 0;
	return more < 0 ? -1 : 0;
}

/* Records until their order, which may leave some aside, holds so many bytes. */
static int
gather(struct reading *r, uint64_t enough, struct err *e)
{
	uint64_t target = enough, have;

	for (;;) {
		if (!r->all && index_records(r, target, e) != 0)
			return -1;
		if (r->how->order != NULL)
			r->how->order(&r->chain, r->all);
		else
			order_lines(&r->chain);
		for (have = 0, r->first = r->chain.n_order; r->first > 0 && have < enough; r->first--)
			have += r->chain.v[r->chain.order[r->first - 1]].words;
		if (r->all || have >= enough)
			return 0;
		target = r->words * 2 > target ? r->words * 2 : target * 2;
	}
}

static int
tell_heads(struct reading *r, struct teller *t, struct err *e)
{
	struct json_slice text;
	int ok = 1;

	if (!r->how->heads && json_slice_whole(r->pages->head.data, r->pages->head.len, &text))
		r->how->head(t, text);
	for (size_t i = 0; r->how->heads && ok >= 0 && i < r->chain.n && !(t->has_banner && t->has_session); i++) {
		ok = pages_read(r->pages, r->chain.v[i].at, r->chain.v[i].n, &text, e);
		if (ok == 1)
			r->how->head(t, text);
	}
	return ok < 0 ? -1 : 0;
}

static int
tell_all(struct reading *r, struct teller *t, struct err *e)
{
	t->older = !r->all || r->first > 0;
	if (tell_heads(r, t, e) != 0)
		return -1;
	for (size_t i = r->first; i < r->chain.n_order; i++) {
		const struct record *record = &r->chain.v[r->chain.order[i]];
		struct json_slice text;
		int ok;

		if (record->id != 0 && record->id == t->end)
			break;
		ok = record->kind <= RECORD_SYSTEM ? pages_read(r->pages, record->at, record->n, &text, e) : 0;

		if (ok < 0)
			return -1;
		if (ok == 1)
			r->how->tell(t, record, text);
	}
	teller_finish(t);
	return 0;
}

/* May there be older words, and room for them? */
static bool
room_left(const struct reading *r, const struct conversation *c, size_t max_bytes)
{
	size_t sum = 0;

	for (size_t i = 0; i < c->n; i++)
		sum += strlen(c->v[i].content) + (c->v[i].input != NULL ? strlen(c->v[i].input) : 0);
	return sum <= max_bytes && (r->first > 0 || !r->all);
}

/*
 * How much of a record is words only shows when it was told: when they turn out to be fewer than wanted, again with twice the records,
 * which is linear in the end.
 */
int
reader_read(const struct reader *reader, struct pages *p, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	struct reading r = { .how = reader, .pages = p };
	uint64_t enough = max_bytes > 0 ? (uint64_t)max_bytes + max_bytes / 4 : UINT64_MAX;
	bool again = true;
	int ret = 0;

	*out = (struct conversation)CONVERSATION_INIT;
	while (again) {
		struct teller t;

		conversation_release(out);
		teller_init(&t, s, out);
		ret = gather(&r, enough, e) != 0 || tell_all(&r, &t, e) != 0 ? -1 : 0;
		teller_release(&t);
		again = ret == 0 && room_left(&r, out, max_bytes);
		enough = enough <= UINT64_MAX / 2 ? enough * 2 : UINT64_MAX;
	}
	out->lines = r.lines + (p->list.torn && p->tail != NULL && p->tail->end > 0);	/* one JSON object that does not close */
	out->unknown_lines = r.unknown + (out->lines - r.lines);
	if (conversation_limit(out, max_bytes > 0 ? max_bytes : SIZE_MAX) || r.first > 0 || !r.all)
		out->truncated_at = 0;
	chain_release(&r.chain);
	if (ret != 0)
		conversation_release(out);
	return ret;
}
