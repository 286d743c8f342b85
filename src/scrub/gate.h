#ifndef SCRUB_GATE_H
#define SCRUB_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scrub/rules.h"

/*
 * Keywords are common words, what stands around them is not: "http" is no reason to run the pattern of a command called http when "://"
 * stands behind it. The gate asks the patterns of a keyword once whether they could match with the bytes behind it, and remembers the
 * answer, which depends on those bytes and the one before them alone.
 */
struct gate;

enum { GATE_AHEAD = 2 };	/* bytes behind the keyword */

struct gate *gate_new(const struct keywords *k);
void gate_free(struct gate *g);				/* NULL is fine; overwrites what it remembers */

/*
 * A keyword at [at, to) of the text, which is known from `from` to `end`; what stands beyond is not. `whole`: the row or line is not cut in
 * mid-word at `end`; `closed`: it does not go on elsewhere at all, which is asked within GATE_AHEAD bytes of `end`.
 */
struct gate_place {
	const char *text;
	size_t from, at, to, end;
	bool whole, closed;
};

/*
 * Which of the ids of a word (keywords_ids) are worth a look at such a place, a bit for each: rules whose pattern may match there, and all
 * that are no rules. What is not there is certain to find nothing.
 */
uint64_t gate_open(struct gate *g, struct rules *rules, size_t word, const struct gate_place *p);

#endif
