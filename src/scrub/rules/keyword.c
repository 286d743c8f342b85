#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/rules/rules_private.h"

#define NONE KEYWORD_NONE
#define ENDS KEYWORD_ENDS

struct trie_node {
	uint32_t child;		/* first child */
	uint32_t sibling;
	uint32_t fail;
	uint32_t first;		/* what ends here: index into outs, or NONE */
	uint32_t depth;
	unsigned char byte;
};

struct out {
	uint16_t id;
	uint32_t next;
};

/* The words while they are added. */
struct trie {
	struct trie_node *nodes;
	size_t n_nodes, cap_nodes;
	struct out *outs;
	size_t n_outs, cap_outs;
};

static unsigned char
fold_case(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

static uint32_t
add_node(struct trie *t, unsigned char byte, uint32_t depth)
{
	t->nodes = vec_room(t->nodes, t->n_nodes, &t->cap_nodes, sizeof *t->nodes);
	t->nodes[t->n_nodes] = (struct trie_node){ NONE, NONE, 0, NONE, depth, byte };
	return (uint32_t)t->n_nodes++;
}

struct keywords *
keyword_new(void)
{
	struct keywords *k = xcalloc(1, sizeof *k);

	k->columns = 1;
	k->trie = xcalloc(1, sizeof *k->trie);
	add_node(k->trie, 0, 0);
	return k;
}

static void
trie_free(struct trie *t)
{
	if (t == NULL)
		return;
	free(t->nodes);
	free(t->outs);
	free(t);
}

void
keyword_free(struct keywords *k)
{
	if (k == NULL)
		return;
	trie_free(k->trie);
	free((void *)k->next);
	free((void *)k->endings);
	free((void *)k->ids);
	free(k);
}

void
keyword_add(struct keywords *k, const char *word, size_t n, size_t id)
{
	struct trie *t = k->trie;
	uint32_t at = 0, c;

	k->longest = n > k->longest ? n : k->longest;
	for (size_t i = 0; i < n; i++) {
		unsigned char b = fold_case((unsigned char)word[i]);

		for (c = t->nodes[at].child; c != NONE && t->nodes[c].byte != b; c = t->nodes[c].sibling)
			;
		if (c == NONE) {
			c = add_node(t, b, t->nodes[at].depth + 1);
			t->nodes[c].sibling = t->nodes[at].child;
			t->nodes[at].child = c;
		}
		if (k->column[b] == 0)
			k->column[b] = (unsigned char)k->columns++;
		at = c;
	}
	for (uint32_t o = t->nodes[at].first; o != NONE; o = t->outs[o].next)
		if (t->outs[o].id == id)
			return;
	if (at == 0)
		return;
	t->outs = vec_room(t->outs, t->n_outs, &t->cap_outs, sizeof *t->outs);
	t->outs[t->n_outs] = (struct out){ (uint16_t)id, t->nodes[at].first };
	t->nodes[at].first = (uint32_t)t->n_outs++;
}

/*
 * Breadth first: the row of a node starts as a copy of its fail node's row, which is finished
 * because it is nearer to the root. The table holds offsets of rows instead of nodes: one
 * multiplication less a byte.
 */
static void
fill_row(struct keywords *k, uint32_t *next, struct keyword_end *endings, uint32_t at)
{
	struct trie_node *nodes = k->trie->nodes;
	uint32_t *row = next + (size_t)at * k->columns;

	if (at != 0)
		memcpy(row, next + (size_t)nodes[at].fail * k->columns, k->columns * sizeof *row);
	for (uint32_t c = nodes[at].child; c != NONE; c = nodes[c].sibling) {
		size_t column = k->column[nodes[c].byte];
		uint32_t fail = at == 0 ? 0 : (row[column] & ~ENDS) / k->columns;

		nodes[c].fail = fail;
		endings[c].shorter = nodes[fail].first != NONE ? fail : endings[fail].shorter;
		row[column] =
		    c * k->columns | (nodes[c].first != NONE || endings[c].shorter != NONE ? ENDS : 0);
	}
}

static void
fill_rows(struct keywords *k, struct keyword_end *endings)
{
	const struct trie *t = k->trie;
	uint32_t *queue = xreallocarray(NULL, t->n_nodes, sizeof *queue),
		 *next = xcalloc(t->n_nodes * k->columns, sizeof *next);
	size_t head = 0, tail = 0;

	endings[0].shorter = NONE;
	queue[tail++] = 0;
	while (head < tail) {
		uint32_t at = queue[head++];

		fill_row(k, next, endings, at);
		for (uint32_t c = t->nodes[at].child; c != NONE; c = t->nodes[c].sibling)
			queue[tail++] = c;
	}
	free(queue);
	k->next = next;
}

/*
 * Which ids end at each node. Those beyond KEYWORD_IDS go on behind the nodes, as if they were of
 * a shorter word.
 */
static void
fill_ids(struct keywords *k, struct keyword_end *endings)
{
	const struct trie *t = k->trie;
	uint16_t *ids = xreallocarray(NULL, t->n_outs, sizeof *ids);

	for (size_t i = 0; i < t->n_nodes; i++) {
		struct keyword_end *one = &endings[i];
		uint16_t depth = (uint16_t)t->nodes[i].depth;

		*one = (struct keyword_end){ (uint32_t)k->n_ids, 0, depth, one->shorter };
		for (uint32_t o = t->nodes[i].first; o != NONE; o = t->outs[o].next) {
			if (one->n == KEYWORD_IDS) {
				endings[k->n_endings] =
				    (struct keyword_end){ (uint32_t)k->n_ids, 0, depth, one->shorter };
				one->shorter = (uint32_t)k->n_endings;
				one = &endings[k->n_endings++];
			}
			ids[k->n_ids++] = t->outs[o].id;
			one->n++;
		}
	}
	k->ids = ids;
}

/* Bytes that many words have come first, so that what is read of a row lies together. */
static void
sort_columns(struct keywords *k)
{
	const struct trie *t = k->trie;
	size_t times[256] = { 0 };

	for (size_t i = 1; i < t->n_nodes; i++)
		times[t->nodes[i].byte]++;
	for (uint32_t column = 1; column < k->columns; column++) {
		size_t best = 0;

		for (size_t c = 1; c < 256; c++)
			if (times[c] > times[best])
				best = c;
		k->column[best] = (unsigned char)column;
		times[best] = 0;
	}
}

void
keyword_build(struct keywords *k)
{
	struct trie *t = k->trie;
	struct keyword_end *endings = xcalloc(t->n_nodes + t->n_outs / KEYWORD_IDS, sizeof *endings);

	sort_columns(k);
	for (int c = 'A'; c <= 'Z'; c++)
		k->column[c] = k->column[c | 0x20];
	k->n_nodes = k->n_endings = t->n_nodes;
	fill_rows(k, endings);
	fill_ids(k, endings);
	k->endings = endings;
	trie_free(t);
	k->trie = NULL;
}

size_t
keyword_count(const struct keywords *k)
{
	return k->n_endings;
}

const uint16_t *
keyword_ids(const struct keywords *k, size_t word, size_t *n)
{
	*n = k->endings[word].n;
	return k->ids + k->endings[word].first;
}

static int
report_hits(
    const struct keywords *k, uint32_t at, size_t end, int (*hit)(void *, size_t, size_t, size_t), void *arg)
{
	for (; at != NONE; at = k->endings[at].shorter) {
		int r = k->endings[at].n > 0 ? hit(arg, at, end - k->endings[at].depth, end) : 0;

		if (r != 0)
			return r;
	}
	return 0;
}

int
keyword_scan(const struct keywords *k, const char *text, size_t n,
    int (*hit)(void *arg, size_t word, size_t from, size_t to), void *arg)
{
	const unsigned char *p = (const unsigned char *)text;
	uint32_t at = 0;

	for (size_t i = 0; i < n; i++) {
		at = k->next[at + k->column[p[i]]];
		if (at & ENDS) {
			int r;

			at &= ~ENDS;
			r = report_hits(k, at / k->columns, i + 1, hit, arg);

			if (r != 0)
				return r;
		}
	}
	return 0;
}

/* Returns the state without its mark. */
static uint32_t
report_lane(const struct keywords *k, const char *text, uint32_t state, const unsigned char *p,
    void (*hit)(void *, size_t, size_t, size_t), void *arg)
{
	size_t end = (size_t)(p - (const unsigned char *)text);

	state &= ~ENDS;
	for (uint32_t at = state / k->columns; at != NONE; at = k->endings[at].shorter)
		if (k->endings[at].n > 0)
			hit(arg, at, end - k->endings[at].depth, end);
	return state;
}

/*
 * Where the lanes begin, each behind a newline, and the end of the last. One that finds no
 * newline is empty; the lane before it goes on.
 */
static void
part_lanes(const char *text, size_t n, const unsigned char *p[KEYWORD_LANES + 1])
{
	size_t from = 0;

	for (size_t i = 0; i < KEYWORD_LANES; i++) {
		size_t to = i + 1 < KEYWORD_LANES ? n / KEYWORD_LANES * (i + 1) : n;
		const char *nl;

		p[i] = (const unsigned char *)text + from;
		to = to < from ? from : to;
		nl = memchr(text + to, '\n', n - to);
		from = nl != NULL ? (size_t)(nl + 1 - text) : n;
	}
	p[KEYWORD_LANES] = (const unsigned char *)text + n;
}

void
keyword_scan_lanes(const struct keywords *k, const char *text, size_t n,
    void (*hit)(void *arg, size_t word, size_t from, size_t to), void *const args[KEYWORD_LANES])
{
	const uint32_t *next = k->next;
	const unsigned char *column = k->column, *p[KEYWORD_LANES + 1];
	uint32_t at[KEYWORD_LANES] = { 0 }, a = 0, b = 0, c = 0, d = 0;
	size_t together = n;

	part_lanes(text, n, p);
	for (size_t i = 0; i < KEYWORD_LANES; i++)
		together = (size_t)(p[i + 1] - p[i]) < together ? (size_t)(p[i + 1] - p[i]) : together;
	for (size_t i = 0; i < together; i++) {
		a = next[a + column[p[0][i]]];
		b = next[b + column[p[1][i]]];
		c = next[c + column[p[2][i]]];
		d = next[d + column[p[3][i]]];
		if (((a | b | c | d) & ENDS) == 0)
			continue;
		a = (a & ENDS) ? report_lane(k, text, a, p[0] + i + 1, hit, args[0]) : a;
		b = (b & ENDS) ? report_lane(k, text, b, p[1] + i + 1, hit, args[1]) : b;
		c = (c & ENDS) ? report_lane(k, text, c, p[2] + i + 1, hit, args[2]) : c;
		d = (d & ENDS) ? report_lane(k, text, d, p[3] + i + 1, hit, args[3]) : d;
	}
	at[0] = a, at[1] = b, at[2] = c, at[3] = d;
	for (size_t j = 0; j < KEYWORD_LANES; j++) {
		for (p[j] += together; p[j] < p[j + 1]; p[j]++) {
			at[j] = next[at[j] + column[*p[j]]];
			if (at[j] & ENDS)
				at[j] = report_lane(k, text, at[j], p[j] + 1, hit, args[j]);
		}
	}
}

bool
keyword_crosses(const struct keywords *k, const char *a, size_t an, const char *b, size_t bn)
{
	size_t i = an < k->longest ? 0 : an + 1 - k->longest;
	uint32_t at = 0;

	for (; i < an; i++)
		at = k->next[(at & ~ENDS) + k->column[(unsigned char)a[i]]];
	for (i = 0; i < bn; i++) {
		uint32_t node;

		at = k->next[(at & ~ENDS) + k->column[(unsigned char)b[i]]];
		node = (at & ~ENDS) / k->columns;
		if (k->endings[node].depth <= i + 1)
			return false;
		for (; (at & ENDS) && node != NONE; node = k->endings[node].shorter)
			if (k->endings[node].n > 0 && k->endings[node].depth > i + 1)
				return true;
	}
	return true;
}
