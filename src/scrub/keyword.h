#ifndef SCRUB_KEYWORD_H
#define SCRUB_KEYWORD_H

#include <stddef.h>

/*
 * Many literals looked for in one pass (Aho-Corasick), ASCII letters without their case. It is the gate in front of the rules: text
 * without any keyword costs one table look-up a byte and no regular expression at all.
 */
struct keywords;

struct keywords *keywords_new(void);
void keywords_free(struct keywords *k);				/* NULL is fine; overwrites the words */

/* A word of 1 to 4096 bytes that stands for `id`. The same word may stand for several ids. All words come before keywords_build. */
void keywords_add(struct keywords *k, const char *word, size_t n, size_t id);
void keywords_build(struct keywords *k);

/*
 * Calls hit for every occurrence, overlapping ones too, in the order of their ends; [from, to) is the word. A hit that returns a value
 * other than 0 ends the pass and is returned.
 */
int keywords_scan(const struct keywords *k, const char *text, size_t n, int (*hit)(void *arg, size_t id, size_t from, size_t to),
    void *arg);

#endif
