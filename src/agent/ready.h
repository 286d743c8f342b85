#ifndef AGENT_READY_H
#define AGENT_READY_H

#include <stdbool.h>
#include <stddef.h>

struct profile;

/*
 * What an agent's visible screen says about taking input, by the expressions of its row in agents.ini, over the lowest
 * rows only: older text may imitate anything. Pasting into a dialog is dropped and the following Enter accepts it, so what
 * looks like one wins over everything else.
 */
enum ready {
	READY_UNKNOWN,		/* nothing to tell by: starting, another program, a row without expressions */
	READY_IDLE,		/* an empty input box, or one with the agent's own hint */
	READY_DRAFT,		/* text in the input box */
	READY_BUSY,
	READY_DIALOG
};

enum ready ready_screen(const struct profile *p, const char *screen, size_t n);

/*
 * True when the input box holds that text and nothing beside it: the agent's placeholders for a long paste (column
 * `pasted`), or rows of the text, blanks apart (a box wraps and indents). A word that a person typed meanwhile makes it false.
 */
bool ready_holds(const struct profile *p, const char *screen, size_t n, const char *text);

#endif
