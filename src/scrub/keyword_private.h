#ifndef SCRUB_KEYWORD_PRIVATE_H
#define SCRUB_KEYWORD_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "scrub/keyword.h"

/*
 * The automaton as it is scanned with, made of arrays without pointers, so that the build can write it down (scripts/secrets.c). keyword.c, that
 * program and what it writes know it; nobody else includes this.
 *
 * Node 0 is the root. `next` has a row for each node, with a column for each byte that occurs in a word, and column 0 for all others; it
 * holds offsets of rows, with KEYWORD_ENDS where a word ends at that node, or a suffix of what was read is one.
 */
#define KEYWORD_ENDS 0x80000000u
#define KEYWORD_NONE UINT32_MAX

/* What ends at a node. */
struct ending {
	uint32_t first;		/* its ids: index into ids */
	uint16_t n, depth;
	uint32_t shorter;	/* nearest suffix at which something ends, or KEYWORD_NONE */
};

struct keywords {
	const uint32_t *next;
	const struct ending *endings;	/* of the nodes, and of what had no room there */
	const uint16_t *ids;
	unsigned char column[256];
	uint32_t columns;
	size_t longest, n_nodes, n_endings, n_ids;
	struct trie *trie;		/* while words are added */
};

#endif
