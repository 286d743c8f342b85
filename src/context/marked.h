#ifndef CONTEXT_MARKED_H
#define CONTEXT_MARKED_H

#include <stdbool.h>
#include <stddef.h>

struct screen;

/*
 * The screens of other agents than Claude Code: each item begins with a mark that its dialect knows, and goes on in rows that are indented
 * so far that nothing within can be taken for a mark. Reads s->r, rows of LAYOUT_MARKED or, after blocks_settle, of LAYOUT_BLOCKS, into
 * exchanges. What stands below the last item is the box and the program's own rows; of those only a draft is kept. A banner becomes its
 * program's name and version, without pictures and tips. Rows that no rule understood are kept as they are.
 */
void marked_read(struct screen *s);

/*
 * The parts of it that read calls (marked_call.c). Row i is the top of a box with calls, or the head of one outside of a box. The row
 * behind it all.
 */
size_t marked_read_box(struct screen *s, size_t i);
size_t marked_read_call(struct screen *s, size_t i);

/* The call in row i is one: its name is known, or a result stands below, or the name is bold. */
bool marked_is_call(const struct screen *s, size_t i);
/* The row behind the last that goes on with the item in row i, from column `indent` on; blank rows at its end are not its own. */
size_t marked_end(const struct screen *s, size_t i, size_t indent);
/* First byte of what the group of row i's rule holds: 1 is what stands behind a mark. */
size_t marked_skip(const struct screen *s, size_t i, int group);

#endif
