#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* ---- escape ---- */

/*
 * Length of the escape sequence that begins with the ESC at p (n > 0): CSI, OSC and other strings,
 * charsets, short ones (ECMA-48). Never beyond its line; of a broken one at least the ESC counts.
 */
size_t utf8_escape_len(const char *p, size_t n);
/* 0 unless it is an SGR ("ESC [ digits and their separators m"). */
size_t utf8_escape_sgr(const char *p, size_t n);

/* ---- utf8 ---- */

/* Decodes a rune at p (n > 0). Its length in bytes; invalid: 1 and *rune = -1. */
size_t utf8_next(const char *p, size_t n, int32_t *rune);
void utf8_put(struct buf *out, int32_t rune);

/*
 * Columns: 0, 1 or 2. A valid rune, no control, that the C library does not know counts 1 (glibc
 * 2.36 lacks Unicode 15).
 */
int utf8_width_rune(int32_t rune);
size_t utf8_width(const char *p, size_t n);

/*
 * DEL, C1 controls, and invisible runes that change the text around them (bidi, zero width, tags,
 * selectors).
 */
bool utf8_hidden(int32_t rune);

/* Joiners and variation selectors; after more than two they only carry hidden bytes. */
bool utf8_joins(int32_t rune);

/*
 * Foreign text for a terminal: control characters, invalid bytes, bidi overrides and invisible
 * runes become \xNN or \u{NNNN}, a newline \n. At most max_width columns, "…" when cut (0: no
 * limit).
 */
void utf8_escape(struct buf *out, const char *p, size_t n, size_t max_width);

/*
 * Text for an agent: drops C0 (but \n and \t), DEL, C1, Unicode tags, bidi controls, zero-width and
 * other default-ignorable runes (tmux keeps them, T17); \r\n and \r become \n, invalid bytes
 * U+FFFD; keeps ZWJ, ZWNJ and variation selectors behind a base character (emoji, Indic). Returns
 * how many runes were dropped.
 */
size_t utf8_clean(struct buf *out, const char *p, size_t n);

bool utf8_valid(const char *p, size_t n);

/* How many bytes at p are ASCII; quick. */
size_t utf8_ascii(const char *p, size_t n);

#endif
