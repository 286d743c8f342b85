#ifndef SCRUB_KEYWORD_H
#define SCRUB_KEYWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Many literals looked for in one pass (Aho-Corasick), ASCII letters without their case. It is the gate in front of the rules: text
 * without any keyword costs one table look-up a byte and no regular expression at all.
 */
struct keywords;

struct keywords *keywords_new(void);
void keywords_free(struct keywords *k);				/* NULL is fine */

/* A word of 1 to 4096 bytes that stands for `id`, below 65536. The same word may stand for several ids. All words come before keywords_build. */
void keywords_add(struct keywords *k, const char *word, size_t n, size_t id);
void keywords_build(struct keywords *k);

/* What a word stands for, the last id first: at most KEYWORD_IDS, so that a flag for each fits in 64 bits. */
enum { KEYWORD_IDS = 64 };
size_t keywords_words(const struct keywords *k);		/* all numbers of words are below that */
const uint16_t *keywords_ids(const struct keywords *k, size_t word, size_t *n);

/*
 * Calls hit for every occurrence, overlapping ones too, in the order of their ends; [from, to) is the word. One that stands for more than
 * KEYWORD_IDS is several words. A hit that returns a value other than 0 ends the pass and is returned.
 */
int keywords_scan(const struct keywords *k, const char *text, size_t n, int (*hit)(void *arg, size_t word, size_t from, size_t to),
    void *arg);

/*
 * The same quicker, for text of many lines and words without a newline: KEYWORD_LANES parts of the text at a time, so that the processor
 * need not wait for one look-up before the next. The hits of one lane come in order, with the argument of that lane.
 */
enum { KEYWORD_LANES = 4 };
void keywords_sift(const struct keywords *k, const char *text, size_t n, void (*hit)(void *arg, size_t word, size_t from, size_t to),
    void *const args[KEYWORD_LANES]);

/* Whether a word begins in a and ends in b when b stands right behind a. True as well when b is too short to tell. */
bool keywords_cross(const struct keywords *k, const char *a, size_t an, const char *b, size_t bn);

#endif
