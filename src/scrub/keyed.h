#ifndef SCRUB_KEYED_H
#define SCRUB_KEYED_H

#include <stdbool.h>
#include <stddef.h>

#include "scrub/rules.h"

/*
 * NAME=value, "name": "value", name => 'value', os.environ["NAME"] = "value", --name value, ENV NAME value, <name>value</name>, | NAME |
 * value |, and their like: written by hand, because one regular expression for all of it is slow and wrong at its edges.
 */
struct keyed {
	size_t key_from, key_to;	/* offsets in the line */
	size_t from, to;		/* the value, without its quotes */
	const struct rule *rule;
};

/*
 * Looks at the name around p[word_from, word_to), a word of the table that was seen in the line of n bytes. True when a value follows
 * that is a secret.
 */
bool keyed_at(const struct rules *rules, const char *p, size_t n, size_t word_from, size_t word_to, struct keyed *k);

#endif
