#ifndef BASE_JSON_EDIT_H
#define BASE_JSON_EDIT_H

#include <jansson.h>
#include <stddef.h>

#include "base/json_slice.h"

struct buf;

/*
 * JSON of somebody else, changed in place: every byte that is not ours stays. The slices lie in the text and are of no use afterwards. The
 * file's own indent, that of its first member, is taken for what is put in.
 */

/* v as one would write it there, unit (the indent) before each line that many times; takes the reference. */
void json_edit_print(struct buf *out, json_t *v, const struct buf *unit, size_t depth);

/* Behind the last child of the container, in which it stands at that depth; takes the reference. key NULL: an element. */
void json_edit_insert(struct buf *text, struct json_slice container, const char *key, json_t *v, size_t depth);

/* The child whose value begins there, with its key and its comma. */
void json_edit_remove(struct buf *text, struct json_slice container, const char *value);

#endif
