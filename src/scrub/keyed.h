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

/* A line whose words are looked at from left to right, and what was seen on the way, so that nothing of it is read again for each word. */
struct keyed_line {
	const char *p;
	size_t n;
	size_t name_from, name_to;	/* the last stretch of characters that names are made of */
	size_t read, login;		/* so far "login " was looked for; the byte behind the last one, or 0 */
};

/* Looks at the name around [word_from, word_to) of the line, a word of the table. True when a value follows that is a secret. */
bool keyed_at(const struct rules *rules, struct keyed_line *line, size_t word_from, size_t word_to, struct keyed *k);

/*
 * False when no value can follow the name around the word p[at, to), whatever stands before `from` and behind `end`: for most names in a text
 * that is so. Quick.
 */
bool keyed_may(const char *p, size_t from, size_t at, size_t to, size_t end);

#endif
