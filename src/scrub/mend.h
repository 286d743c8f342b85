#ifndef SCRUB_MEND_H
#define SCRUB_MEND_H

#include <stddef.h>

struct buf;

/*
 * Makes the text what the scrubber looks at, and counts what it takes out: escape sequences but colours, controls but tab, newline and
 * carriage return, and invisible runes but two in a row that belong to the character before them. They could part a secret or hide one (in
 * an OSC). What is no UTF-8 becomes U+FFFD. Rows stay rows.
 */
size_t mend(struct buf *text);

#endif
