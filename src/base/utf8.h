#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* ---- escape ---- */

/*
 * Bytes of the terminal escape sequence that begins with the ESC at p (n bytes left, n > 0): CSI,
 * OSC and the other strings, charsets and the short ones (ECMA-48). A sequence never reaches over
 * the end of its line; one that is broken off ends where it stops to be one, so that at least the
 * ESC itself is counted.
 */
size_t utf8_escape_len(const char *p, size_t n);
/*
 * The same, 0 unless the sequence is an SGR: a colour or another look of the text behind it ("ESC
 * [ digits and their separators m").
 */
size_t utf8_escape_sgr(const char *p, size_t n);

/* ---- utf8 ---- */

/*
 * Decodes one rune at p (n bytes left, n > 0). Returns its length in bytes; invalid input gives 1
 * and *rune = -1.
 */
size_t utf8_next(const char *p, size_t n, int32_t *rune);
void utf8_put(struct buf *out, int32_t rune);

/*
 * Columns on a terminal: 0, 1 or 2. -1 of the C library for a valid rune that is no control
 * counts as 1 (glibc 2.36 lacks Unicode 15).
 */
int utf8_width_rune(int32_t rune);
size_t utf8_width(const char *p, size_t n);

/*
 * True for DEL, C1 controls, and what prints nothing but changes how the text around it is read
 * (bidi, zero width, tags, selectors).
 */
bool utf8_hidden(int32_t rune);

/*
 * Joiners and variation selectors, which belong to the character before them; after more than two
 * they can only carry hidden bytes.
 */
bool utf8_joins(int32_t rune);

/*
 * Foreign text made safe for a person's terminal: control characters, invalid bytes, bidi
 * overrides and invisible runes become visible \xNN or \u{NNNN}; a newline becomes \n. At most
 * max_width columns, "…" when cut (0: no limit).
 */
void utf8_escape(struct buf *out, const char *p, size_t n, size_t max_width);

/*
 * Text made safe to hand to an agent: C0 (but \n and \t), DEL, C1 are dropped, \r\n and \r become
 * \n, invalid bytes become U+FFFD, Unicode tags, bidi controls, zero-width and other
 * default-ignorable runes are dropped (facts: tmux keeps them, T17); ZWJ, ZWNJ and variation
 * selectors that stand behind a base character are kept, emoji and Indic need them. Returns how
 * many runes were dropped.
 */
size_t utf8_clean(struct buf *out, const char *p, size_t n);

bool utf8_valid(const char *p, size_t n);

/* How many bytes at p are ASCII, which most text is; quick. */
size_t utf8_ascii(const char *p, size_t n);

#endif
