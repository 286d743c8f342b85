#ifndef SCRUB_WORD_H
#define SCRUB_WORD_H

#include <stdbool.h>
#include <stddef.h>

/* A letter, digit or "_". */
static inline bool
word_has(unsigned char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26 || (unsigned char)(c - '0') < 10 || c == '_';
}

/* True only where no word begins at text[at], strict or not; a line that begins right there is not thought of. Quick: asked at every keyword. */
static inline bool
word_inside(const char *text, size_t at)
{
	return at >= 3 && word_has((unsigned char)text[at - 1]) && text[at - 1] != 'm' && text[at - 2] != '\\' && text[at - 3] != '%';
}

/*
 * Does a word begin at text[at], of a line that begins at `from`; does one end before it, of a text of n bytes? Nothing of a word stands on
 * the other side, but an escape may stand before it: \n, %3D, [31m. `strict`: what is part of a longer name, path or host ("-", ".", "/"
 * beside it) is no word.
 */
bool word_begins(const char *text, size_t from, size_t at, bool strict);
bool word_ends(const char *text, size_t n, size_t at, bool strict);

#endif
