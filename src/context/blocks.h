#ifndef CONTEXT_BLOCKS_H
#define CONTEXT_BLOCKS_H

struct rows;

/*
 * Screens without marks (pi): what a person typed and what a call printed stands on a background of its own, the model's words do not, and
 * two blank rows or more are between any two of them. Names the rows for marked_read: the first of each block becomes ROW_PROMPT, ROW_TOOL
 * or ROW_WORDS, the others ROW_BODY. Where no colours are known the order decides: words follow a prompt or a call, a prompt follows words.
 */
void blocks_settle(struct rows *r);

#endif
