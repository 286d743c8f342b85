#ifndef SCRUB_GATE_H
#define SCRUB_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "scrub/rules.h"

/*
 * Keywords are common words, what follows them is not: "http" is no reason to run the pattern of a command called http when "://" stands
 * behind it. The gate asks the pattern once whether it could match with a keyword and the two bytes behind it, and remembers the answer,
 * which depends on those bytes and the one before them alone.
 */
struct gate;

struct gate *gate_new(void);
void gate_free(struct gate *g);				/* NULL is fine; overwrites what it remembers */

/*
 * Whether the pattern of rule `id` may match at the keyword [at, to) of the text, which is known from `from` to `end`; what stands beyond
 * is not. False is certain. `whole`: the row or line ends at `end`, else it may go on elsewhere.
 */
bool gate_open(struct gate *g, const struct rules *rules, size_t id, const char *text, size_t from, size_t at, size_t to, size_t end,
    bool whole);

#endif
