#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * A compiled PCRE2 pattern with JIT (once it was used some times), a match limit of 100,000 and a
 * heap limit: an evil input costs a millisecond, not a minute ((a+)+$ on 40 letters: 98 ms at the
 * library's limit, 1 ms at ours).
 */
struct pattern;

enum {
	/* the subject is UTF-8; invalid bytes match nothing (PCRE2_MATCH_INVALID_UTF) */
	PATTERN_UTF = 1,
	PATTERN_CASELESS = 2,
	PATTERN_ANCHORED = 4,
	PATTERN_MULTILINE = 8
};

#define PATTERN_GROUPS 16	/* pairs that a match can answer, the whole match included */

struct match {
	size_t start[PATTERN_GROUPS];	/* (size_t)-1: the group took no part */
	size_t end[PATTERN_GROUPS];
};

/*
 * The pattern, or NULL with err (code GT_USAGE, name "pattern"; message with the offset). Free
 * with pattern_free.
 */
struct pattern *pattern_new(const char *regex, unsigned flags, struct err *e);
void pattern_free(struct pattern *p);

/*
 * Looks for the first match at or after `from`. 1 found (m filled, m may be NULL), 0 none, -1 the
 * limit was reached or memory ran out: the caller must treat the text as not understood (parse)
 * or as unsafe (scrub), never as "no match".
 */
int pattern_find(const struct pattern *p, const char *text, size_t n, size_t from, struct match *m);

/*
 * Whether a match that begins at `at` is possible as far as n bytes tell of a text that goes on
 * behind them, unless it `ends` there, and before which nothing is known but the first `at`
 * bytes. Only of an anchored pattern; true where that cannot be told: it looks further back.
 */
bool pattern_may(const struct pattern *p, const char *text, size_t n, size_t at, bool ends);

/* How many characters before its beginning a match may depend on: look-behinds, \b. */
size_t pattern_looks_back(const struct pattern *p);

/* True on a match anywhere; an error counts as no match. For hints only. */
bool pattern_is(const struct pattern *p, const char *text, size_t n);

#endif
