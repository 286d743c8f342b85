#ifndef SCRUB_KNOWN_PRIVATE_H
#define SCRUB_KNOWN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "scrub/known.h"

/* What known.c (the values and their spellings) and known_find.c (the search) share. Nobody else includes this. */

#define KNOWN_LEAST 8		/* bytes of a form; its last ones are its key */

/* Where a form may stand. */
enum border { BORDER_NONE, BORDER_WORD, BORDER_STRICT };

struct secret {
	char *text;		/* without blanks */
	size_t n;
	char *raw;		/* as it was learned, or NULL */
	size_t n_raw, raw_kind;
	size_t kind;
	enum rank rank;
	unsigned ordinal;	/* 0: not named yet */
	enum border border;
	bool sought;
};

/* One spelling of a secret, without blanks. */
struct form {
	char *text;
	size_t n;
	size_t secret;
	uint64_t tail;
	uint32_t next;		/* form + 1 with the same slot */
	enum border border;
	bool blanks;		/* it has blanks: they may stand between its characters on the screen */
};

/*
 * The two last bytes of a form as they stand on the screen, a bit in `pairs`. The first map is for rows of which nothing is hidden, and forms without
 * blanks: the last byte stands behind the one before it or begins a row. The second is for all others: any blank may lie between the two.
 */
#define KNOWN_PAIRS ((size_t)0x10000 / 8)

static inline size_t
known_pair(const unsigned char *two)
{
	uint16_t pair;

	memcpy(&pair, two, sizeof pair);
	return pair;
}

/* Where by_tail keeps the forms that end with these 8 bytes, among others. */
static inline size_t
known_slot(const struct known *k, uint64_t tail)
{
	return (size_t)(tail * 0x9e3779b97f4a7c15 >> 32) & (k->tail_slots - 1);
}

#endif
