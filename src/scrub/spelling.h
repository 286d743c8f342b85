#ifndef SCRUB_SPELLING_H
#define SCRUB_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The ways in which one secret is written: as it is, escaped as in JSON, percent-encoded, in base64. Each function calls `each` with a
 * spelling, which is valid for that call only; memory is overwritten.
 */
struct spelling {
	const char *p;
	size_t n;
	bool inside;	/* base64: what stands before and behind it is part of the same run of characters */
};

/* All spellings of a value, the value itself first. The same one may come twice. */
void spelling_each(const char *value, size_t n, void (*each)(void *arg, const struct spelling *s), void *arg);

/* What the value says when it is itself a spelling (JSON, percent, base64 of printable text): what a program would use. */
void spelling_decode(const char *value, size_t n, void (*each)(void *arg, const char *p, size_t n), void *arg);

#endif
