#ifndef SCRUB_RULES_H
#define SCRUB_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "scrub/index.h"
#include "scrub/rule.h"

struct err;
struct pattern;

/*
 * The rules of one scrubber: config/secrets.ini, compiled in, and a file of the user, whose rules add to ours or replace them.
 *
 * A pattern of ours is compiled when it is first asked for: most texts need few of them. It must then find its own canary; one that cannot
 * be compiled or does not find it is broken, and what it should have searched counts as not understood. Those of the user are compiled at
 * once, and are wrong there and then.
 */
struct rules {
	const struct rule *v;
	size_t n;
	const struct index *index;
	struct pattern **patterns;	/* of each rule, NULL until it is asked for */
	char *broken;			/* a flag a rule */
	const char *first_broken;	/* its name, or NULL */
	struct rule_list own;		/* both tables, where the user has one */
	struct index own_index;
};

/* -1: name "rules", code GT_USAGE, with file and line. */
int rules_init(struct rules *r, const char *user_file, struct err *e);
void rules_release(struct rules *r);

/* The pattern of a rule that has one, or NULL when it is broken. */
const struct pattern *rules_pattern(struct rules *r, size_t id);

/*
 * The rule for a name like DB_PASSWORD, apiKey, spring.datasource.password, or NULL: the longest run of its last parts that the table
 * knows. Trailing parts that tell a variant (_PROD, _OLD, _2, _BASE64) are passed over.
 */
const struct rule *rules_name(const struct rules *r, const char *name, size_t n);

#endif
