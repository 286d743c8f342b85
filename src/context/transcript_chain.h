#ifndef CONTEXT_TRANSCRIPT_CHAIN_H
#define CONTEXT_TRANSCRIPT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context/transcript_record.h"

/*
 * Records into the order of the conversation. Measured on 1.0.128 to 2.1.330:
 * - the lines of one batch are not in order; each record names its parent, and the last leaf's line of parents is the conversation;
 * - calls of one answer follow each other as parent and child, each result hangs on its own call: branches that belong to it;
 * - a prompt sent again after "rewind", or after Esc before any answer, is a sibling of the old one: the old branch was given up;
 * - a compaction begins a new root that names its logical parent;
 * - a call that never got its result because the agent died is left aside by the next start: a dead branch of one answer. It is kept.
 *   A prompt without any answer stays in the line.
 */
struct chain {
	struct record *v;	/* newest line first; the caller adds, chain_order only reads */
	size_t n, cap;
	struct call_link *calls;
	size_t n_calls, cap_calls;
	uint32_t *order;	/* after chain_order: indexes into v, oldest first */
	size_t n_order;
	bool whole;		/* no parent that the order asks for is missing; otherwise older lines may hold it */
};

#define CHAIN_NONE UINT32_MAX

void chain_release(struct chain *c);
/* The index, for its calls. */
uint32_t chain_add(struct chain *c, const struct record *r);
void chain_add_call(struct chain *c, uint64_t call, uint32_t record, bool result);

/*
 * Fills order. side: the order of the sub-agents' records instead of the session's. Linear but for sorting, whatever the records say: rings
 * of parents and parents that are nowhere are cut, and the line goes on with the record before, when `all` says that no older lines are
 * left.
 */
void chain_order(struct chain *c, bool side, bool all);

/* Of the call with that id: where it was made, NULL when nowhere. After chain_order. */
struct call_link *chain_call(struct chain *c, uint64_t call, bool result);

#endif
