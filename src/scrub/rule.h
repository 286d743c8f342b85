#ifndef SCRUB_RULE_H
#define SCRUB_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "scrub/sample.h"

struct err;
struct toml_item;

/*
 * A rule of the table of secrets, and how a section of such a table is read. The section's name is the rule's; it is its kind, too, which a
 * placeholder shows, unless `kind` gives another.
 *
 *	keyword   words of which one stands in every such secret's neighbourhood, parted by blanks; looked for without case
 *	pattern   PCRE2; the secret is group 1, or the whole match. It is tried where a keyword begins
 *	back      up to so many bytes before the keyword the match may begin (0)
 *	border    true: no letter, digit or "_" may stand before the keyword (escapes like \n, %3D and [31m may). Default with back = 0
 *	caseless  true: the pattern ignores case (false)
 *	needs     a character that stands behind the keyword in every such text: rows without it are not looked at. For keywords that
 *	          are everywhere, as "://"; no blank may lie between the two, as a row may be broken there
 *	names     instead of keyword and pattern: names whose values are such secrets, in snake_case, parted by blanks; they are
 *	          compared with the last parts of a name, "*password" with its last letters
 *	value     what counts as a value behind a name, or in group 1 of a pattern: "any" (a password may be a word), "mixed", "random", or,
 *	          with names, "none" (never a secret). Without it a pattern's group is a secret unless it is a placeholder
 *	finds*    a sample (sample.h)
 *	spares*   a sample in which nothing may be found
 *
 * Every rule but "none" needs a finds; the first one is its canary. Of the built-in table the program has that one alone; the others are
 * for the tests, which read the file as one of a user.
 */
enum value_class { VALUE_NONE, VALUE_ANY, VALUE_MIXED, VALUE_RANDOM };

struct rule {
	const char *name;
	const char *kind;
	const char *keyword;	/* NULL: a rule of names */
	const char *names;
	const char *regex;
	const char *finds;	/* the first sample that finds, as the table has it, or NULL */
	int line, finds_line;
	size_t back;
	bool border;
	bool caseless;
	char needs;		/* or 0 */
	enum value_class value;
	bool own;		/* from the user's file: the strings are its own, and all samples are there */
	struct sample *samples;
	size_t n_samples, cap_samples;
};

struct rule_list {
	struct rule *v;
	size_t n, cap;
	size_t last;		/* the one that is being read */
};

/*
 * Takes a key of a table: `item` of toml_parse, all of one section one after the other. A section that `own` is replaces one of that
 * name. -1: name "rules", code GT_USAGE.
 */
int rule_read(struct rule_list *all, bool own, const struct toml_item *it, struct err *e);
/* Nothing is lacking that a rule needs. `what` names the file. */
int rule_check(const struct rule *r, const char *what, struct err *e);
void rule_release(struct rule *r);

#endif
