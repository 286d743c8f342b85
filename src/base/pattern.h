#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * A compiled PCRE2 pattern, JIT after some uses, a match limit of 100,000 and a heap limit: (a+)+$
 * on 40 letters takes 1 ms (98 ms at the library's limit).
 */
struct pattern;

enum {
	/* invalid bytes match nothing (PCRE2_MATCH_INVALID_UTF) */
	PATTERN_UTF = 1,
	PATTERN_CASELESS = 2,
	PATTERN_ANCHORED = 4,
	PATTERN_MULTILINE = 8
};

#define PATTERN_GROUPS 16	/* of a match, group 0 included */

struct match {
	size_t start[PATTERN_GROUPS];	/* (size_t)-1: the group took no part */
	size_t end[PATTERN_GROUPS];
};

/* NULL: GT_USAGE, name "pattern", with the offset. */
struct pattern *pattern_new(const char *regex, unsigned flags, struct err *e);
void pattern_free(struct pattern *p);

/*
 * The first match at or after `from`: 1 found (m may be NULL), 0 none, -1 limit reached or no
 * memory: the text is not understood (parse) or unsafe (scrub), never "no match".
 */
int pattern_find(const struct pattern *p, const char *text, size_t n, size_t from, struct match *m);

/*
 * May a match begin at `at`, as far as n bytes show of a text that goes on (unless it `ends` there)
 * and of which only the first `at` bytes are known before it? Anchored patterns only; true when it
 * looks further back.
 */
bool pattern_may(const struct pattern *p, const char *text, size_t n, size_t at, bool ends);

/* Characters before its beginning that a match may depend on: look-behinds, \b. */
size_t pattern_looks_back(const struct pattern *p);

#endif
