#ifndef SCRUB_INDEX_H
#define SCRUB_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "scrub/keyword.h"
#include "scrub/rule.h"

/*
 * What is looked up of a table of rules: its names, kinds and keywords. That of the built-in table is made by the build (scripts/secrets.c),
 * so that no start has to make it; where a user has rules, it is made of both.
 */
struct name {
	const char *text;	/* snake_case, or "*" and an end */
	size_t rule;
};

struct index {
	const struct name *names;	/* sorted */
	size_t n_names;
	const char *const *kinds;
	size_t n_kinds;
	const uint16_t *kind_of;	/* of each rule */
	uint16_t kind_pem, kind_manifest, kind_known;	/* of what no rule finds */
	const unsigned char *bordered;	/* of each word: 1 where all that it stands for are rules with a border (rule.h) */
	const struct keywords *keywords;	/* ids below the number of rules are rules, that number is a name, one more an armor of a key */
};

/* Borrows the rules' strings. */
void index_init(struct index *x, const struct rule *v, size_t n);
void index_release(struct index *x);

/* The built-in table and its index. */
struct table {
	const struct rule *rules;
	size_t n;
	struct index index;
};

extern const struct table table_built_in;

#endif
