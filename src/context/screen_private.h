#ifndef CONTEXT_SCREEN_PRIVATE_H
#define CONTEXT_SCREEN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "context/exchange.h"
#include "context/rows.h"

/*
 * What the files behind screen_read share: screen.c (the walk), screen_item.c (what was said and done), screen_bottom.c (what stands at the
 * end), screen_part.c (the words of an item). Nobody else includes this. Rows are given by their number in `r`; strings are on the heap.
 */
struct screen {
	struct rows r;		/* with their dialect */
	struct conversation *c;
	size_t open;		/* exchanges before this one are settled: no call among them can still run */
	bool busy;		/* the last footer says that the agent is at work */
	bool spun;		/* a spinner stands below the last item */
	size_t last_prompt;	/* row of the last one, or of the box if that looks like one */
	size_t turns;		/* whose end is seen, of agents that show it */
	bool outside;		/* the agent has ended; what follows is a shell's until the next banner */
};

/*
 * Reads the item that begins at row i into exchanges. The row behind it; 0 when no item of its kinds begins there.
 * item: banners, prompts, words, calls with their results, notices.
 * bottom: the end of a turn, the spinner, tasks, queue, input box, dialog, farewell.
 */
size_t screen_read_item(struct screen *s, size_t i);
size_t screen_read_bottom(struct screen *s, size_t i);

/* Bytes in front of a result's words: of "  ⎿ " and an NBSP or, below the program's own commands, a blank. */
size_t screen_result_skip(const struct screen *s, size_t i);
/* As row_says, of the words in a result's first row. */
bool screen_result_says(const struct screen *s, size_t i, enum phrase what);

/* Group of the row's own rule; NULL when the rule has no such group. */
char *screen_group(const struct screen *s, size_t i, int g);
/* First byte of an item's text: behind its marker and one blank or NBSP. */
size_t screen_skip(const struct screen *s, size_t i);
/* The row behind the last of the rows that belong to row i. */
size_t screen_item_end(const struct screen *s, size_t i);
/* The same for a prompt that goes on in column 0. */
size_t screen_prompt_end(const struct screen *s, size_t i);
/* The limit for rows_join: the pane's width without a margin; for the model's words. */
size_t screen_limit(const struct screen *s, size_t margin);
size_t screen_words_limit(const struct screen *s);
/* As rows_join. */
char *screen_joined(const struct screen *s, size_t from, size_t to, size_t skip, size_t indent, size_t limit);

/* Takes the strings. */
struct exchange *screen_add(struct screen *s, enum role role, enum status status, char *tool, char *input, char *content);
/* The conversation went on: a call that looked open before this was cut off. */
void screen_settle_calls(struct screen *s);

#endif
