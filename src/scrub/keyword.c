#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/keyword.h"

/* Node 0 is the root. The table has a column for each byte that occurs in a word, and column 0 for all others. */
#define NONE UINT32_MAX
#define ENDS 0x80000000u	/* in the table: a word ends at that node, or a suffix of what was read is one */

struct node {
	uint32_t child;		/* while the trie grows: first child */
	uint32_t sibling;
	uint32_t fail;
	uint32_t first;		/* what ends here: index into outs, or NONE */
	uint32_t shorter;	/* nearest suffix at which something ends, or NONE */
	uint32_t depth;
	unsigned char byte;
};

struct out {
	size_t id;
	uint32_t next;
};

struct keywords {
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct out *outs;
	size_t n_outs, cap_outs;
	unsigned char column[256];
	size_t columns;
	size_t longest;
	uint32_t *next;		/* n_nodes rows of `columns`: offsets of rows, with ENDS */
};

static unsigned char
fold(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

static uint32_t
add_node(struct keywords *k, unsigned char byte, uint32_t depth)
{
	k->nodes = vec_room(k->nodes, k->n_nodes, &k->cap_nodes, sizeof *k->nodes);
	k->nodes[k->n_nodes] = (struct node){ NONE, NONE, 0, NONE, NONE, depth, byte };
	return (uint32_t)k->n_nodes++;
}

struct keywords *
keywords_new(void)
{
	struct keywords *k = xcalloc(1, sizeof *k);

	k->columns = 1;
	add_node(k, 0, 0);
	return k;
}

void
keywords_free(struct keywords *k)
{
	if (k == NULL)
		return;
	free(k->nodes);
	free(k->outs);
	free(k->next);
	free(k);
}

void
keywords_add(struct keywords *k, const char *word, size_t n, size_t id)
{
	uint32_t at = 0, c;

	k->longest = n > k->longest ? n : k->longest;
	for (size_t i = 0; i < n; i++) {
		unsigned char b = fold((unsigned char)word[i]);

		for (c = k->nodes[at].child; c != NONE && k->nodes[c].byte != b; c = k->nodes[c].sibling)
			;
		if (c == NONE) {
			c = add_node(k, b, k->nodes[at].depth + 1);
			k->nodes[c].sibling = k->nodes[at].child;
			k->nodes[at].child = c;
		}
		if (k->column[b] == 0)
			k->column[b] = (unsigned char)k->columns++;
		at = c;
	}
	for (uint32_t o = k->nodes[at].first; o != NONE; o = k->outs[o].next)
		if (k->outs[o].id == id)
			return;
	if (at == 0)
		return;
	k->outs = vec_room(k->outs, k->n_outs, &k->cap_outs, sizeof *k->outs);
	k->outs[k->n_outs] = (struct out){ id, k->nodes[at].first };
	k->nodes[at].first = (uint32_t)k->n_outs++;
}

/*
 * Breadth first: the row of a node starts as a copy of its fail node's row, which is finished because it is nearer to the root. The table
 * holds offsets of rows instead of nodes: one multiplication less a byte.
 */
static void
fill_row(struct keywords *k, uint32_t at)
{
	uint32_t *row = k->next + at * k->columns;

	if (at != 0)
		memcpy(row, k->next + k->nodes[at].fail * k->columns, k->columns * sizeof *row);
	for (uint32_t c = k->nodes[at].child; c != NONE; c = k->nodes[c].sibling) {
		size_t column = k->column[k->nodes[c].byte];
		uint32_t fail = at == 0 ? 0 : (uint32_t)((row[column] & ~ENDS) / k->columns);
		struct node *node = &k->nodes[c];

		node->fail = fail;
		node->shorter = k->nodes[fail].first != NONE ? fail : k->nodes[fail].shorter;
		row[column] = (uint32_t)(c * k->columns) | (node->first != NONE || node->shorter != NONE ? ENDS : 0);
	}
}

void
keywords_build(struct keywords *k)
{
	uint32_t *queue = xreallocarray(NULL, k->n_nodes, sizeof *queue);
	size_t head = 0, tail = 0;

	for (int c = 'A'; c <= 'Z'; c++)
		k->column[c] = k->column[c | 0x20];
	k->next = xcalloc(k->n_nodes * k->columns, sizeof *k->next);
	queue[tail++] = 0;
	while (head < tail) {
		uint32_t at = queue[head++];

		fill_row(k, at);
		for (uint32_t c = k->nodes[at].child; c != NONE; c = k->nodes[c].sibling)
			queue[tail++] = c;
	}
	free(queue);
}

static int
report(const struct keywords *k, uint32_t at, size_t end, int (*hit)(void *, size_t, size_t, size_t), void *arg)
{
	for (; at != NONE; at = k->nodes[at].shorter) {
		for (uint32_t o = k->nodes[at].first; o != NONE; o = k->outs[o].next) {
			int r = hit(arg, k->outs[o].id, end - k->nodes[at].depth, end);

			if (r != 0)
				return r;
		}
	}
	return 0;
}

int
keywords_scan(const struct keywords *k, const char *text, size_t n, int (*hit)(void *arg, size_t id, size_t from, size_t to),
    void *arg)
{
	const unsigned char *p = (const unsigned char *)text;
	uint32_t at = 0;

	for (size_t i = 0; i < n; i++) {
		at = k->next[at + k->column[p[i]]];
		if (at & ENDS) {
			int r;

			at &= ~ENDS;
			r = report(k, (uint32_t)(at / k->columns), i + 1, hit, arg);

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
	for (uint32_t at = (uint32_t)(state / k->columns); at != NONE; at = k->nodes[at].shorter)
		for (uint32_t o = k->nodes[at].first; o != NONE; o = k->outs[o].next)
			hit(arg, k->outs[o].id, end - k->nodes[at].depth, end);
	return state;
}

/* Where the lanes begin, each behind a newline, and the end of the last. One that finds no newline is empty; the lane before it goes on. */
static void
part(const char *text, size_t n, const unsigned char *p[KEYWORD_LANES + 1])
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
keywords_sift(const struct keywords *k, const char *text, size_t n, void (*hit)(void *arg, size_t id, size_t from, size_t to),
    void *const args[KEYWORD_LANES])
{
	const uint32_t *next = k->next;
	const unsigned char *column = k->column, *p[KEYWORD_LANES + 1];
	uint32_t at[KEYWORD_LANES] = { 0 }, a = 0, b = 0, c = 0, d = 0;
	size_t together = n;

	part(text, n, p);
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
keywords_cross(const struct keywords *k, const char *a, size_t an, const char *b, size_t bn)
{
	size_t i = an < k->longest ? 0 : an + 1 - k->longest;
	uint32_t at = 0;

	for (; i < an; i++)
		at = k->next[(at & ~ENDS) + k->column[(unsigned char)a[i]]];
	for (i = 0; i < bn; i++) {
		uint32_t node;

		at = k->next[(at & ~ENDS) + k->column[(unsigned char)b[i]]];
		node = (uint32_t)((at & ~ENDS) / k->columns);
		if (k->nodes[node].depth <= i + 1)
			return false;
		for (; (at & ENDS) && node != NONE; node = k->nodes[node].shorter)
			if (k->nodes[node].first != NONE && k->nodes[node].depth > i + 1)
				return true;
	}
	return true;
}
