#ifndef TOWN_TOML_VALUE_H
#define TOWN_TOML_VALUE_H

#include "town/toml.h"

struct buf;
struct toml_text;

/* What stands behind "="; the position is on its first byte and moves behind its last. 0 or -1. */

/* The value as struct toml_item has it, in place of what `value` held. */
int toml_value_read(struct toml_text *t, struct buf *value, enum toml_type *type);

/* Over the value of another program and to the end of its line: strings whole, brackets in pairs, comments inside brackets. */
int toml_value_skip(struct toml_text *t);

#endif
