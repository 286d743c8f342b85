#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stddef.h>

/*
 * Bytes of the terminal escape sequence that begins with the ESC at p (n bytes left, n > 0): CSI, OSC and the other strings, charsets and
 * the short ones (ECMA-48). A sequence never reaches over the end of its line; one that is broken off ends where it stops to be one, so that
 * at least the ESC itself is counted.
 */
size_t escape_len(const char *p, size_t n);
/* The same, 0 unless the sequence is an SGR: a colour or another look of the text behind it ("ESC [ digits and their separators m"). */
size_t escape_sgr(const char *p, size_t n);

#endif
