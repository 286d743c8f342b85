#include <stdlib.h>
#include <string.h>

#include "context/transcript_claude.h"
#include "agent/dialect.h"
#include "base/buf.h"
#include "base/err.h"
#include "context/exchange.h"
#include "context/transcript_tail.h"
#include "context/transcript_words.h"

static void
on_call(void *arg, uint64_t call, bool result)
{
	struct claude *c = arg;

	chain_add_call(&c->chain, call, (uint32_t)c->chain.n - 1, result);
}

/* The last record that names them counts. */
static void
read_head(struct claude *c, const struct record_parts *p)
{
	const struct { const struct json_slice *v; enum field field; bool *has; } heads[] = {
		{ &p->version, FIELD_BANNER, &c->has_banner }, { &p->session, FIELD_SESSION, &c->has_session }
	};

	for (size_t i = 0; i < 2; i++) {
		struct buf text = BUF_INIT;

		if (*heads[i].has || !json_slice_string(*heads[i].v) || heads[i].v->n > 200)
			continue;
		*heads[i].has = true;
		words_decode(&text, *heads[i].v, 0);
		wash_put(&c->wash, 0, heads[i].field, text.data, text.len);
		buf_release(&text);
	}
}

static int
index_line(struct claude *c, off_t at, size_t n, struct err *e)
{
	struct record_parts parts;
	struct record r;
	const char *p;
	size_t len;

	if (tail_line(c->tail, at, n, &p, &len, e) != 0)
		return -1;
	if (n == 0)
		return 0;
	c->out->lines++;
	if (!record_open(p, len, &parts)) {
		c->out->unknown_lines++;
		return 0;
	}
	record_read(&parts, &r);
	r.at = at;
	r.n = n;
	read_head(c, &parts);
	if (r.kind == RECORD_UNKNOWN)
		c->out->unknown_lines++;
	if (r.id == 0 && r.kind != RECORD_QUEUE)
		return 0;
	chain_add(&c->chain, &r);
	record_calls(&parts, on_call, c);
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

	while (c->words < enough && (r = tail_previous(c->tail, &at, &n, e)) == 1)
		if (index_line(c, at, n, e) != 0)
			return -1;
	c->all = r == 0;
	return r < 0 ? -1 : 0;
}

/* Where in the order the last `enough` bytes begin. */
static size_t
find_first(const struct chain *chain, uint64_t enough, uint64_t *have)
{
	size_t i = chain->n_order;

	for (*have = 0; i > 0 && *have < enough; i--)
		*have += chain->v[chain->order[i - 1]].words;
	return i;
}

/* Enough records that their order, which may leave some aside, still holds enough. */
static int
gather(struct claude *c, size_t max_bytes, struct err *e)
{
	/* the file writes "\n" and quotes in two bytes: a quarter more than is wanted */
	uint64_t enough = max_bytes > 0 ? (uint64_t)max_bytes + max_bytes / 4 : UINT64_MAX, target = enough, have;

	for (;;) {
		if (index_lines(c, target, e) != 0)
			return -1;
		chain_order(&c->chain, c->side, c->all);
		c->first = find_first(&c->chain, enough, &have);
		if (c->all || c->chain.whole || have >= enough)
			return 0;
		target = c->words * 2 > target ? c->words * 2 : target * 2;
	}
}

int
claude_read(struct tail *t, const char *path, bool side, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	struct claude c = { .tail = t, .s = s, .out = out, .side = side };
	int ret = -1;

	*out = (struct conversation)CONVERSATION_INIT;
	c.dialect = dialect_new("claude", 0);
	wash_init(&c.wash, s, out);
	if (gather(&c, max_bytes, e) != 0 || claude_build(&c, e) != 0)
		goto out;
	wash_flush(&c.wash);
	if (path != NULL)
		claude_agents(&c, path);
	if (!side && claude_queue(&c, e) != 0)
		goto out;
	if (conversation_limit(out, max_bytes > 0 ? max_bytes : SIZE_MAX) || c.first > 0 || (!c.all && !c.chain.whole))
		out->truncated_at = 0;
	ret = 0;
out:
	wash_release(&c.wash);
	chain_release(&c.chain);
	dialect_free(c.dialect);
	for (size_t i = 0; i < c.n_agents; i++)
		free(c.agents[i].id);
	free(c.agents);
	free(c.marks);
	if (ret != 0)
		conversation_release(out);
	return ret;
}
