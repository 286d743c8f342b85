#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "scrub/gate.h"
#include "scrub/word.h"

#define SLOTS 2048
#define AHEAD 2
#define FAR 1024

/* What the answer depends on. All bytes count, so that no two questions are ever taken for one. */
struct question {
	uint32_t word;
	uint8_t before, n;	/* bytes in front of the keyword (0 or 1), all bytes; 0: the slot is empty */
	char bytes[26];
};

struct slot {
	struct question asked;
	uint64_t may;
};

enum border { UNKNOWN, INSIDE, BORDERED };

struct gate {
	struct slot slots[SLOTS];
	const struct keywords *keywords;
	size_t n_words;
	unsigned char border[];		/* of each word: may any of its ids begin within a word? */
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

/* The rest of a long line is not read at each keyword in it. */
static bool
may_have(const struct gate_place *p, char c)
{
	size_t n = p->end - p->to, most = n < FAR ? n : FAR;

	return most < n || !p->whole || memchr(p->text + p->to, c, most) != NULL;
}

static bool
bordered(const struct gate *g, const struct rules *rules, size_t word)
{
	size_t n;
	const uint16_t *ids = keywords_ids(g->keywords, word, &n);

	for (size_t i = 0; i < n; i++)
		if (ids[i] >= rules->n || !rules->v[ids[i]].border)
			return false;
	return true;
}

/* All ids but those of rules that cannot match. */
static uint64_t
ask(const struct gate *g, struct rules *rules, const struct question *q)
{
	size_t n;
	const uint16_t *ids = keywords_ids(g->keywords, q->word, &n);
	uint64_t may = 0;

	for (size_t i = 0; i < n; i++) {
		const struct pattern *pattern = ids[i] < rules->n && rules->v[ids[i]].back == 0 ? rules_pattern(rules, ids[i]) : NULL;

		if (pattern == NULL || pattern_may(pattern, q->bytes, q->n, q->before))
			may |= (uint64_t)1 << i;
	}
	return may;
}

static uint64_t
remembered(struct gate *g, struct rules *rules, size_t word, const struct gate_place *p)
{
	struct question q = { .word = (uint32_t)word, .before = p->at > p->from };
	size_t most = sizeof q.bytes - q.before, n = p->to - p->at + AHEAD;
	struct slot *slot;

	n = n < p->end - p->at ? n : p->end - p->at;
	n = n < most ? n : most;
	q.n = (uint8_t)(n + q.before);
	memcpy(q.bytes, p->text + p->at - q.before, q.n);
	slot = &g->slots[slot_of(&q)];
	if (memcmp(&slot->asked, &q, sizeof q) != 0) {
		slot->may = ask(g, rules, &q);
		slot->asked = q;
	}
	return slot->may;
}

uint64_t
gate_open(struct gate *g, struct rules *rules, size_t word, const struct gate_place *p)
{
	bool begins = word_begins(p->text, p->from, p->at, false);
	const uint16_t *ids;
	uint64_t may;
	size_t n;

	if (g->border[word] == UNKNOWN)
		g->border[word] = bordered(g, rules, word) ? BORDERED : INSIDE;
	if (!begins && g->border[word] == BORDERED)
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
