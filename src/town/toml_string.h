#ifndef TOWN_TOML_STRING_H
#define TOWN_TOML_STRING_H

#include <stdbool.h>

struct buf;
struct toml_text;

/* TOML's four kinds of strings; the position is on the first quote and moves behind the last. 0 or -1. */

/* Appends the decoded string, not yet known to be UTF-8. `block` allows """ and '''. */
int toml_string_read(struct toml_text *t, bool block, struct buf *out);

/* Over a string that is not ours: only its end matters. */
int toml_string_skip(struct toml_text *t);

#endif
