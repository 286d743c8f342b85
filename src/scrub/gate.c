#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "scrub/gate.h"
#include "scrub/word.h"

#define SLOTS 8192	/* a question is in its own slot or the one beside it */
#define FAR 1024

/* What the answer depends on. All bytes count, so that no two questions are ever taken for one. */
struct question {
	uint32_t word;
	uint8_t n;		/* bytes; 0: the slot is empty */
	uint8_t before : 1;	/* one of them in front of the keyword */
	uint8_t ends : 1;	/* the text ends behind them */
	char bytes[26];
};

struct slot {
	struct question asked;
	uint64_t may;
};

/* What is known of a word. */
enum { SEEN = 1, BORDERED = 2, LOOKS_BACK = 4 };	/* none of its ids begins within a word; one of its patterns depends on what stands before */

struct gate {
	struct slot slots[SLOTS];
	const struct keywords *keywords;
	size_t n_words;
	unsigned char known[];		/* of each word */
};

struct gate *
gate_new(const struct keywords *k)
{
	size_t n_words = keywords_words(k);
	struct gate *g = xcalloc(1, sizeof *g + n_words);

	g->keywords = k;
	g->n_words = n_words;
	return g;
}

void
gate_free(struct gate *g)
{
	if (g != NULL)
		explicit_bzero(g, sizeof *g + g->n_words);
	free(g);
}

static size_t
slot_of(const struct question *q)
{
	uint64_t part[sizeof *q / sizeof(uint64_t)], h = 0;

	memcpy(part, q, sizeof *q);
	for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
		h = (h ^ part[i]) * 0x9e3779b97f4a7c15u;
	return h >> 32 & (SLOTS - 1);
}

static bool
same(const struct question *a, const struct question *b)
{
	uint64_t x[sizeof *a / sizeof(uint64_t)], y[sizeof *a / sizeof(uint64_t)], other = 0;

	memcpy(x, a, sizeof x);
	memcpy(y, b, sizeof y);
	for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
		other |= x[i] ^ y[i];
	return other == 0;
}

/* The rest of a long line is not read at each keyword in it. */
static bool
may_have(const struct gate_place *p, char c)
{
	size_t n = p->end - p->to, most = n < FAR ? n : FAR;

	return most < n || !p->whole || memchr(p->text + p->to, c, most) != NULL;
}

static const struct pattern *
pattern_of(struct rules *rules, size_t id)
{
	return id < rules->n && rules->v[id].back == 0 ? rules_pattern(rules, id) : NULL;
}

static unsigned char
learn_word(const struct gate *g, struct rules *rules, size_t word)
{
	size_t n;
	const uint16_t *ids = keywords_ids(g->keywords, word, &n);
	unsigned char known = SEEN | BORDERED;

	for (size_t i = 0; i < n; i++) {
		const struct pattern *pattern = pattern_of(rules, ids[i]);

		if (ids[i] >= rules->n || !rules->v[ids[i]].border)
			known &= (unsigned char)~BORDERED;
		if (pattern != NULL && pattern_looks_back(pattern) > 0)
			known |= LOOKS_BACK;
	}
	return known;
}

/* All ids but those of rules that cannot match. */
static uint64_t
ask(const struct gate *g, struct rules *rules, const struct question *q)
{
	size_t n;
	const uint16_t *ids = keywords_ids(g->keywords, q->word, &n);
	uint64_t may = 0;

	for (size_t i = 0; i < n; i++) {
		const struct pattern *pattern = pattern_of(rules, ids[i]);

		if (pattern == NULL || pattern_may(pattern, q->bytes, q->n, q->before, q->ends))
			may |= (uint64_t)1 << i;
	}
	return may;
}

static uint64_t
remembered(struct gate *g, struct rules *rules, size_t word, const struct gate_place *p)
{
	struct question q = { .word = (uint32_t)word, .before = (g->known[word] & LOOKS_BACK) != 0 && p->at > p->from };
	size_t most = sizeof q.bytes - q.before, n = p->to - p->at + GATE_AHEAD, at;
	struct slot *slot, *beside;

	n = n < p->end - p->at ? n : p->end - p->at;
	q.ends = p->closed && n == p->end - p->at && n <= most;
	n = n < most ? n : most;
	q.n = (uint8_t)(n + q.before);
	memcpy(q.bytes, p->text + p->at - q.before, q.n);
	at = slot_of(&q);
	slot = &g->slots[at];
	if (same(&slot->asked, &q))
		return slot->may;
	beside = &g->slots[at ^ 1];
	if (same(&beside->asked, &q))
		return beside->may;
	*beside = *slot;
	slot->may = ask(g, rules, &q);
	slot->asked = q;
	return slot->may;
}

uint64_t
gate_open(struct gate *g, struct rules *rules, size_t word, const struct gate_place *p)
{
	bool begins = word_begins(p->text, p->from, p->at, false);
	const uint16_t *ids;
	uint64_t may;
	size_t n;

	if (g->known[word] == 0)
		g->known[word] = learn_word(g, rules, word);
	if (!begins && (g->known[word] & BORDERED) != 0)
		return 0;
	may = remembered(g, rules, word, p);
	ids = keywords_ids(g->keywords, word, &n);
	for (size_t i = 0; i < n && may >> i != 0; i++) {
		const struct rule *r = ids[i] < rules->n ? &rules->v[ids[i]] : NULL;

		if (r != NULL && ((r->border && !begins) || (r->needs != '\0' && !may_have(p, r->needs))))
			may &= ~((uint64_t)1 << i);
	}
	return may;
}
