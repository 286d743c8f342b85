#ifndef SCRUB_RULES_H
#define SCRUB_RULES_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct pattern;

/*
 * The table of secrets: config/secrets.ini, compiled in, and a file of the user. A section is a rule; its name is its kind, which a
 * placeholder shows, unless `kind` gives another. A section of the user's with a name of ours replaces ours.
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
 *	finds*    a sample; the secrets are marked « ». {alnum:36} {lower:8} {upper:16} {hex:40} {digit:12} {url64:20}
 *	          {base64:43} stand for made-up characters, so that the table itself holds nothing that looks like a secret
 *	spares*   a sample in which nothing may be found
 *
 * Every rule but "none" needs a finds, the first one is its canary: tried at every start. The others (finds_2, spares) are for the tests,
 * which read the file; the build leaves them out of what is compiled in, and they stand on one line each for that.
 */
enum value_class { VALUE_NONE, VALUE_ANY, VALUE_MIXED, VALUE_RANDOM };

struct sample {
	bool finds;
	char *text;		/* expanded, without marks */
	char *want;		/* expanded, what the scrubber makes of it */
	int line;
};

struct rule {
	char *name;
	char *kind;
	char *keyword;		/* NULL: a rule of names */
	char *names;
	char *regex;
	struct pattern *pattern;
	size_t back;
	bool border;
	bool caseless;
	char needs;		/* or 0 */
	enum value_class value;
	bool own;		/* from the user's file */
	int line;
	struct sample *samples;
	size_t n_samples, cap_samples;
};

struct rules {
	struct rule *v;
	size_t n, cap;
	struct name *names;	/* sorted */
	size_t n_names, cap_names;
};

/* The built-in table and, unless NULL, the user's file. -1: name "rules", code GT_USAGE, with file and line. */
int rules_init(struct rules *r, const char *user_file, struct err *e);
void rules_release(struct rules *r);

/*
 * The rule for a name like DB_PASSWORD, apiKey, spring.datasource.password, or NULL: the longest run of its last parts that the table
 * knows. Trailing parts that tell a variant (_PROD, _OLD, _2, _BASE64) are passed over.
 */
const struct rule *rules_name(const struct rules *r, const char *name, size_t n);

#endif
