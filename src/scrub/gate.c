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
	uint32_t id;
	uint8_t before, n;	/* bytes in front of the keyword (0 or 1), all bytes */
	char bytes[26];
};

struct gate {
	struct question asked[SLOTS];
	char answer[SLOTS];	/* 0: the slot is empty; 'y', 'n' */
};

struct gate *
gate_new(void)
{
	return xcalloc(1, sizeof(struct gate));
}

void
gate_free(struct gate *g)
{
	if (g != NULL)
		explicit_bzero(g, sizeof *g);
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
may_have(const char *p, size_t n, char c, bool whole)
{
	size_t most = n < FAR ? n : FAR;

	return most < n || !whole || memchr(p, c, most) != NULL;
}

bool
gate_open(struct gate *g, const struct rules *rules, size_t id, const char *text, size_t from, size_t at, size_t to, size_t end, bool whole)
{
	const struct rule *r = &rules->v[id];
	struct question q = { .id = (uint32_t)id, .before = at > from };
	size_t most = sizeof q.bytes - q.before, n = to - at + AHEAD, slot;

	if (r->border && !word_begins(text, from, at, false))
		return false;
	if (r->needs != '\0' && !may_have(text + to, end - to, r->needs, whole))
		return false;
	if (r->back > 0)
		return true;
	n = n < end - at ? n : end - at;
	n = n < most ? n : most;
	q.n = (uint8_t)(n + q.before);
	memcpy(q.bytes, text + at - q.before, q.n);
	slot = slot_of(&q);
	if (g->answer[slot] == 0 || memcmp(&g->asked[slot], &q, sizeof q) != 0) {
		g->asked[slot] = q;
		g->answer[slot] = pattern_may(r->pattern, q.bytes, q.n, q.before) ? 'y' : 'n';
	}
	return g->answer[slot] == 'y';
}
