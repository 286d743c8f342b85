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

/* *dialog, unless NULL: the name of an open dialog (struct profile_dialog's, borrowed), else NULL. */
enum ready ready_screen(const struct profile *p, const char *screen, size_t n, const char **dialog);

/* Where the text in the input box stands in the screen; false when there is no box, or the row's expression does not tell. */
bool ready_box(const struct profile *p, const char *screen, size_t n, size_t *from, size_t *to);
/* True for a text that an agent's empty box is known to show. A person may have typed the same: grey (STYLE_TAIL_DIM) tells better. */
bool ready_is_hint(const char *text, size_t n);

/*
 * True when the input box holds that text and nothing beside it: the agent's placeholders for a long paste (column `pasted`), which where
 * they tell it must hold as many line ends as the text, or rows of the text, blanks apart (a box wraps and indents). A word that a person
 * typed meanwhile makes it false, and so does a paste that is still coming in.
 */
bool ready_holds(const struct profile *p, const char *screen, size_t n, const char *text);

#endif
