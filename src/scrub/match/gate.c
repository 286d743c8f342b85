#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "scrub/match/match_private.h"

#define SLOTS 8192	/* a question is in its own slot or the one beside it */
#define GROUP 64
#define FAR 1024

/* What the answer depends on. All bytes count, so that no two questions are ever taken for one. */
struct gate_question {
	uint32_t word;
	uint8_t n;		/* bytes; 0: the slot is empty */
	uint8_t before;		/* 1: one of them stands in front of the keyword */
	uint8_t ends;		/* 1: the text ends behind them */
	uint8_t unused;
	uint64_t bytes[3];	/* those beyond n are 0 */
};

struct gate_slot {
	struct gate_question asked;
	uint64_t may;
};

/*
 * Short questions once more, as one number: nearly all are such, and few of them are asked over
 * and over. 0 is no question, as each has bytes.
 */
#define QUICK 1024
#define QUICK_BYTES 6
#define QUICK_WORDS 8192

struct quick {
	uint64_t asked, may;
};

/* What is known of a word. */
enum { SEEN = 1, LOOKS_BACK = 2 };	/* one of its patterns depends on what stands before */

struct gate {
	struct gate_slot slots[SLOTS];
	struct quick quick[QUICK];
	const struct keywords *keywords;
	size_t n_words;
	/* one of these slots holds a question: the others need no memory, and no wiping */
	bool used[SLOTS / GROUP];
	unsigned char known[];		/* of each word */
};

struct gate *
gate_new(const struct keywords *k)
{
	size_t n_words = keyword_count(k);
	struct gate *g = xcalloc(1, sizeof *g + n_words);

	g->keywords = k;
	g->n_words = n_words;
	return g;
}

void
gate_free(struct gate *g)
{
	if (g == NULL)
		return;
	for (size_t i = 0; i < SLOTS / GROUP; i++)
		if (g->used[i])
			explicit_bzero(&g->slots[i * GROUP], GROUP * sizeof g->slots[0]);
	explicit_bzero(g->quick, sizeof g->quick);
	explicit_bzero(g->known, g->n_words);
	free(g);
}

/*
 * At most 24 bytes, the rest 0. Questions are short, and this is done at every keyword of a text:
 * hence no call for it.
 */
static inline void
read_bytes(uint64_t to[3], const char *p, size_t n)
{
	uint64_t last;
	uint32_t four[2];

	to[0] = to[1] = to[2] = 0;
	if (n > 16) {
		memcpy(to, p, 16);
		memcpy(&to[2], p + 16, n - 16);
	} else if (n >= 8) {
		memcpy(&to[0], p, 8);
		memcpy(&last, p + n - 8, 8);
		to[1] = n > 8 ? last >> (128 - 8 * n) : 0;
	} else if (n >= 4) {
		memcpy(&four[0], p, 4);
		memcpy(&four[1], p + n - 4, 4);
		to[0] = four[0] | (uint64_t)four[1] << (8 * n - 32);
	} else {
		for (size_t i = 0; i < n; i++)
			to[0] |= (uint64_t)(unsigned char)p[i] << 8 * i;
	}
}

static inline size_t
slot_of(const struct gate_question *q)
{
	uint64_t head = (uint64_t)q->word << 24 | (uint64_t)q->n << 16 | (uint64_t)q->before << 8 | q->ends;
	uint64_t h = (head ^ q->bytes[0]) * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 32 ^ q->bytes[1]) * 0x9e3779b97f4a7c15u;
	h = (h ^ q->bytes[2]) * 0x9e3779b97f4a7c15u;
	return h >> 32 & (SLOTS - 1);
}

static inline bool
same_question(const struct gate_question *a, const struct gate_question *b)
{
	return a->word == b->word && a->n == b->n && a->before == b->before && a->ends == b->ends &&
	    ((a->bytes[0] ^ b->bytes[0]) | (a->bytes[1] ^ b->bytes[1]) | (a->bytes[2] ^ b->bytes[2])) == 0;
}

/* The rest of a long line is not read at each keyword in it. */
static bool
may_have(const struct gate_place *p, char c)
{
	size_t n = p->end - p->to, most = n < FAR ? n : FAR;

	return most < n || !p->whole || memchr(p->text + p->to, c, most) != NULL;
}

static const struct pattern *
pattern_of(struct rule_set *rules, size_t id)
{
	return id < rules->n && rules->v[id].back == 0 ? rule_set_pattern(rules, id) : NULL;
}

static unsigned char
learn_word(const struct gate *g, struct rule_set *rules, size_t word)
{
	size_t n;
	const uint16_t *ids = keyword_ids(g->keywords, word, &n);
	unsigned char known = SEEN;

	for (size_t i = 0; i < n; i++) {
		const struct pattern *pattern = pattern_of(rules, ids[i]);

		if (pattern != NULL && pattern_looks_back(pattern) > 0)
			known |= LOOKS_BACK;
	}
	return known;
}

static uint64_t
cached_answer(struct gate *g, struct rule_set *rules, const struct gate_question *q, size_t least);

/*
 * All ids but those of rules that cannot match. What cannot with fewer bytes need not be asked:
 * most answers are alike, whatever follows.
 */
static uint64_t
ask_patterns(struct gate *g, struct rule_set *rules, const struct gate_question *q, size_t least)
{
	size_t n;
	const uint16_t *ids = keyword_ids(g->keywords, q->word, &n);
	uint64_t may = 0, shorter = UINT64_MAX;

	if (q->n > least) {
		struct gate_question first = {
			.word = q->word, .n = (uint8_t)(q->n - 1), .before = q->before
		};

		read_bytes(first.bytes, (const char *)q->bytes, first.n);
		shorter = cached_answer(g, rules, &first, least);
	}
	for (size_t i = 0; i < n; i++) {
		const struct pattern *pattern = (shorter >> i & 1) != 0 ? pattern_of(rules, ids[i]) : NULL;

		if ((shorter >> i & 1) != 0 &&
		    (pattern == NULL ||
			pattern_may(pattern, (const char *)q->bytes, q->n, q->before, q->ends != 0)))
			may |= (uint64_t)1 << i;
	}
	return may;
}

/* `least`: the bytes of the keyword and what of the question stands before it. */
static uint64_t
cached_answer(struct gate *g, struct rule_set *rules, const struct gate_question *q, size_t least)
{
	size_t at = slot_of(q);
	struct gate_slot *slot = &g->slots[at], *beside = &g->slots[at ^ 1];
	uint64_t may;

	if (same_question(&slot->asked, q))
		return slot->may;
	if (same_question(&beside->asked, q))
		return beside->may;
	may = ask_patterns(g, rules, q, least);
	*beside = *slot;
	*slot = (struct gate_slot){ *q, may };
	g->used[at / GROUP] = true;
	return may;
}

static uint64_t
remembered_ids(struct gate *g, struct rule_set *rules, size_t word, const struct gate_place *p)
{
	struct gate_question q = { .word = (uint32_t)word,
		.before = (g->known[word] & LOOKS_BACK) != 0 && p->at > p->from };
	size_t most = sizeof q.bytes - q.before, n = p->to - p->at + GATE_AHEAD;
	struct quick *quick;
	uint64_t asked;

	n = n < p->end - p->at ? n : p->end - p->at;
	q.ends = p->closed && n == p->end - p->at && n <= most;
	n = n < most ? n : most;
	q.n = (uint8_t)(n + q.before);
	read_bytes(q.bytes, p->text + p->at - q.before, q.n);
	if (q.n > QUICK_BYTES || q.before || q.ends || word >= QUICK_WORDS)
		return cached_answer(g, rules, &q, q.before + p->to - p->at);
	asked = q.bytes[0] | (uint64_t)q.n << 48 | (uint64_t)word << 51;
	quick = &g->quick[asked * 0x9e3779b97f4a7c15u >> 32 & (QUICK - 1)];
	if (quick->asked != asked)
		*quick = (struct quick){ asked, cached_answer(g, rules, &q, p->to - p->at) };
	return quick->may;
}

uint64_t
gate_open(struct gate *g, struct rule_set *rules, size_t word, const struct gate_place *p)
{
	bool begins = match_word_begins(p->text, p->from, p->at, false);
	const uint16_t *ids;
	uint64_t may;
	size_t n;

	if (!begins && rules->index->bordered[word])
		return 0;
	if (g->known[word] == 0)
		g->known[word] = learn_word(g, rules, word);
	may = remembered_ids(g, rules, word, p);
	if (may == 0)
		return 0;
	ids = keyword_ids(g->keywords, word, &n);
	for (size_t i = 0; i < n && may >> i != 0; i++) {
		const struct rule *r = ids[i] < rules->n ? &rules->v[ids[i]] : NULL;

		if (r != NULL && ((r->border && !begins) || (r->needs != '\0' && !may_have(p, r->needs))))
			may &= ~((uint64_t)1 << i);
	}
	return may;
}
