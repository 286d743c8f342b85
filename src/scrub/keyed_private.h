#ifndef SCRUB_KEYED_PRIVATE_H
#define SCRUB_KEYED_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "scrub/keyed.h"
#include "scrub/value.h"

/* What keyed.c (the name, and what parts it from its value) and keyed_value.c (words, quotes, the value) share. Nobody else includes it. */

#define ENOUGH 512	/* so much of a value decides; only one that is a secret is followed to its end, so that no text is quadratic */

/* A line and a place in it. */
struct lex {
	const char *p;
	size_t n, at;
	size_t key_from, key_to;
	struct keyed_line *line;
	const char *open;	/* the quote around the key, or "" */
	bool flag;		/* --key */
	bool env;		/* KEY in upper case */
	bool tag;		/* <key>: the value ends at the next tag */
	bool percent;		/* key%3Dvalue%26 */
	bool expansion;		/* ${KEY:-value} */
	bool beside;		/* key "value" without a sign: no sentence in quotes */
	bool loose;		/* "key  value", "key -> value": words stand there, too */
};

/* A word at a place; one that stands at x->at is passed over; so are blanks, whose bytes are returned. */
bool lex_at(const struct lex *x, size_t at, const char *word);
bool lex_skip(struct lex *x, const char *word);
size_t lex_blanks(struct lex *x);

/* The quote that ends before `at`, or ""; the one that stands at x->at, or NULL. */
const char *lex_quote_before(const struct lex *x, size_t at);
const char *lex_quote(const struct lex *x);

/* The value at x->at, past blanks, a type and a string's prefix. False when there is none. */
bool lex_value(struct lex *x, struct keyed *k, struct value *v);
/* A value without quotes of at most so many bytes. */
void lex_bare(struct lex *x, struct keyed *k, size_t most);

#endif
