#ifndef SCRUB_ERROR_H
#define SCRUB_ERROR_H

#include <stddef.h>

struct buf;
struct err;
struct scrub;

/*
 * Takes the secrets out of an error's words: a program that failed may have said them (tmux, gt, a mailer), or a template or a
 * configuration may hold them. Whoever writes an error down, prints it or sends it calls this first; twice does no harm. `s` NULL: the
 * built-in rules are used, and words are withheld where even they do not work. An error without words, and NULL, stay as they are.
 */
void error_scrub(struct err *e, struct scrub *s);

/*
 * Appends the first line of what a program said, scrubbed, then cut to so many columns, and safe for a terminal. `s` as above; nothing
 * is appended where the rules do not work. `said` may be NULL.
 */
void error_words(struct buf *out, const char *said, size_t columns, struct scrub *s);

#endif
