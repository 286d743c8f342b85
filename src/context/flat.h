#ifndef CONTEXT_FLAT_H
#define CONTEXT_FLAT_H

struct screen;

/*
 * The screen-reader mode (claude --ax-screen-reader): no markers, no indentation, no box; "you: …", "claude: …", "tool: Bash (…)" at
 * column 0, one item right below the other (2.1.197, 2.1.330). Reads s->r, rows of a flat dialect, into exchanges. What imitates an item's
 * first row at column 0 cannot be told from one.
 */
void flat_read(struct screen *s);

#endif
