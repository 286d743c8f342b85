#ifndef SCRUB_RULES_RULES_PRIVATE_H
#define SCRUB_RULES_RULES_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct keywords;
struct pattern;
struct toml_item;

/* ---- canary ---- */

/*
 * A sample of the table of secrets. As it stands there, secrets are marked « », and {alnum:36}
 * {lower:8} {upper:16} {hex:40} {digit:12} {url64:20} {base64:43} stand for made-up characters,
 * the same ones in every run.
 */
#define SAMPLE_MARKS 8

struct rule_sample {
	bool finds;
	char *text;		/* expanded, without marks */
	char *want;		/* expanded, what the scrubber makes of it */
	size_t from[SAMPLE_MARKS], to[SAMPLE_MARKS], n;		/* what was marked, in text */
	int line;
};

void rule_sample_init(struct rule_sample *m, bool finds, const char *marked, const char *kind, int line);
void rule_sample_release(struct rule_sample *m);

/* ---- rule ---- */

/*
 * A rule of the table of secrets, and how a section of such a table is read. The section's name
 * is the rule's; it is its kind, too, which a placeholder shows, unless `kind` gives another.
 *
 * 	keyword   words of which one stands in every such secret's neighbourhood, parted by blanks;
 * 	looked for without case
 * 	pattern   PCRE2; the secret is group 1, or the whole match. It is tried where a keyword begins
 * 	back      up to so many bytes before the keyword the match may begin (0)
 * 	border    true: no letter, digit or "_" may stand before the keyword (escapes like \n, %3D and
 * 	[31m may). Default with back = 0
 * 	caseless  true: the pattern ignores case (false)
 * 	needs     a character that stands behind the keyword in every such text: rows without it are
 * 	not looked at. For keywords that
 * 	          are everywhere, as "://"; no blank may lie between the two, as a row may be broken
 * 	          there
 * 	names     instead of keyword and pattern: names whose values are such secrets, in snake_case,
 * 	parted by blanks; they are
 * 	          compared with the last parts of a name, "*password" with its last letters
 * 	value     what counts as a value behind a name, or in group 1 of a pattern: "any" (a password
 * 	may be a word), "mixed", "random", "opaque" (no words in it), or,
 * 	          with names, "none" (never a secret). Without it a pattern's group is a secret unless
 * 	          it is a placeholder
 * 	finds*    a sample (rules_private.h)
 * 	spares*   a sample in which nothing may be found
 *
 * Every rule but "none" needs a finds; the first one is its canary. Of the built-in table the
 * program has that one alone; the others are for the tests, which read the file as one of a user.
 */
enum value_class { VALUE_NONE, VALUE_ANY, VALUE_MIXED, VALUE_RANDOM, VALUE_OPAQUE };

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
	struct rule_sample *samples;
	size_t n_samples, cap_samples;
};

struct rule_list {
	struct rule *v;
	size_t n, cap;
	size_t last;		/* the one that is being read */
};

/*
 * Takes a key of a table: `item` of toml_parse, all of one section one after the other. A section
 * that `own` is replaces one of that name. -1: name "rules", code GT_USAGE.
 */
int rule_read(struct rule_list *all, bool own, const struct toml_item *it, struct err *e);
/* Nothing is lacking that a rule needs. `what` names the file. */
int rule_check(const struct rule *r, const char *what, struct err *e);
void rule_release(struct rule *r);

/* ---- keyword ---- */

/*
 * Many literals looked for in one pass (Aho-Corasick), ASCII letters without their case. It is
 * the gate in front of the rules: text without any keyword costs one table look-up a byte and no
 * regular expression at all.
 */

struct keywords *keyword_new(void);
void keyword_free(struct keywords *k);				/* NULL is fine */

/*
 * A word of 1 to 4096 bytes that stands for `id`, below 65536. The same word may stand for
 * several ids. All words come before keyword_build.
 */
void keyword_add(struct keywords *k, const char *word, size_t n, size_t id);
void keyword_build(struct keywords *k);

/* What a word stands for, the last id first: at most KEYWORD_IDS, so that a flag for each fits in 64 bits. */
enum { KEYWORD_IDS = 64 };
size_t keyword_count(const struct keywords *k);		/* all numbers of words are below that */
const uint16_t *keyword_ids(const struct keywords *k, size_t word, size_t *n);

/*
 * Calls hit for every occurrence, overlapping ones too, in the order of their ends; [from, to) is
 * the word. One that stands for more than KEYWORD_IDS is several words. A hit that returns a
 * value other than 0 ends the pass and is returned.
 */
int keyword_scan(const struct keywords *k, const char *text, size_t n,
    int (*hit)(void *arg, size_t word, size_t from, size_t to), void *arg);

/*
 * The same quicker, for text of many lines and words without a newline: KEYWORD_LANES parts of
 * the text at a time, so that the processor need not wait for one look-up before the next. The
 * hits of one lane come in order, with the argument of that lane.
 */
enum { KEYWORD_LANES = 4 };
void keyword_scan_lanes(const struct keywords *k, const char *text, size_t n,
    void (*hit)(void *arg, size_t word, size_t from, size_t to), void *const args[KEYWORD_LANES]);

/*
 * Whether a word begins in a and ends in b when b stands right behind a. True as well when b is
 * too short to tell.
 */
bool keyword_crosses(const struct keywords *k, const char *a, size_t an, const char *b, size_t bn);

/* ---- rule_index ---- */

/*
 * What is looked up of a table of rules: its names, kinds and keywords. That of the built-in
 * table is made by the build (scripts/secrets.c), so that no start has to make it; where a user
 * has rules, it is made of both.
 */
struct rule_name {
	const char *text;	/* snake_case, or "*" and an end */
	size_t rule;
};

struct rule_index {
	const struct rule_name *names;	/* sorted */
	size_t n_names;
	const char *const *kinds;
	size_t n_kinds;
	const uint16_t *kind_of;	/* of each rule */
	uint16_t kind_pem, kind_manifest, kind_known;	/* of what no rule finds */
	/* of each word: 1 where all that it stands for are rules with a border (rules_private.h) */
	const unsigned char *bordered;
	/* ids below the number of rules are rules, that number is a name, one more an armor of a key */
	const struct keywords *keywords;
};

/* Borrows the rules' strings. */
void rule_index_init(struct rule_index *x, const struct rule *v, size_t n);
void rule_index_release(struct rule_index *x);

/* The built-in table and its index. */
struct rule_table {
	const struct rule *rules;
	size_t n;
	struct rule_index index;
};

extern const struct rule_table rule_table_built_in;

/* ---- rules ---- */

/*
 * The rules of one scrubber: config/secrets.ini, compiled in, and a file of the user, whose rules
 * add to ours or replace them.
 *
 * A pattern of ours is compiled when it is first asked for: most texts need few of them. It must
 * then find its own canary; one that cannot be compiled or does not find it is broken, and what
 * it should have searched counts as not understood. Those of the user are compiled at once, and
 * are wrong there and then.
 */
struct rule_set {
	const struct rule *v;
	size_t n;
	const struct rule_index *index;
	struct pattern **patterns;	/* of each rule, NULL until it is asked for */
	char *broken;			/* a flag a rule */
	const char *first_broken;	/* its name, or NULL */
	struct rule_list own;		/* both tables, where the user has one */
	struct rule_index own_index;
};

/* -1: name "rules", code GT_USAGE, with file and line. */
int rule_set_init(struct rule_set *r, const char *user_file, struct err *e);
void rule_set_release(struct rule_set *r);

/* The pattern of a rule that has one, or NULL when it is broken. */
const struct pattern *rule_set_pattern(struct rule_set *r, size_t id);

/*
 * The rule for a name like DB_PASSWORD, apiKey, spring.datasource.password, or NULL: the longest
 * run of its last parts that the table knows. Trailing parts that tell a variant (_PROD, _OLD,
 * _2, _BASE64) are passed over.
 */
const struct rule *rule_set_by_name(const struct rule_set *r, const char *name, size_t n);

/* ---- keyword_private ---- */

/*
 * The automaton as it is scanned with, made of arrays without pointers, so that the build can
 * write it down (scripts/secrets.c). keyword.c, that program and what it writes know it; nobody
 * else includes this.
 *
 * Node 0 is the root. `next` has a row for each node, with a column for each byte that occurs in
 * a word, and column 0 for all others; it holds offsets of rows, with KEYWORD_ENDS where a word
 * ends at that node, or a suffix of what was read is one.
 */
#define KEYWORD_ENDS 0x80000000u
#define KEYWORD_NONE UINT32_MAX

/* What ends at a node. */
struct keyword_end {
	uint32_t first;		/* its ids: index into ids */
	uint16_t n, depth;
	uint32_t shorter;	/* nearest suffix at which something ends, or KEYWORD_NONE */
};

struct keywords {
	const uint32_t *next;
	const struct keyword_end *endings;	/* of the nodes, and of what had no room there */
	const uint16_t *ids;
	unsigned char column[256];
	uint32_t columns;
	size_t longest, n_nodes, n_endings, n_ids;
	struct trie *trie;		/* while words are added */
};

#endif
