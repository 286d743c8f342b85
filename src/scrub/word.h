#ifndef SCRUB_WORD_H
#define SCRUB_WORD_H

#include <stdbool.h>
#include <stddef.h>

bool word_has(unsigned char c);		/* a letter, digit or "_" */

/*
 * Does a word begin at text[at], of a line that begins at `from`; does one end before it, of a text of n bytes? Nothing of a word stands on
 * the other side, but an escape may stand before it: \n, %3D, [31m. `strict`: what is part of a longer name, path or host ("-", ".", "/"
 * beside it) is no word.
 */
bool word_begins(const char *text, size_t from, size_t at, bool strict);
bool word_ends(const char *text, size_t n, size_t at, bool strict);

#endif
