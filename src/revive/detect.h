#ifndef REVIVE_DETECT_H
#define REVIVE_DETECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "revive/candidate.h"

struct panes;
struct tmux;
struct world;

/*
 * Which panes are agents', which of those died, and why. Nothing is changed. Unknown is not dead: where the signs disagree the class is
 * unknown, and that is never acted on.
 */
struct candidates {
	struct candidate *v;
	size_t n, cap;
	size_t servers;			/* tmux servers that answered */
	struct err trouble;		/* the first server that is there and could not be read; code 0: none */
};

/*
 * All agents' panes on the world's servers, in tmux's order, then what is missing, by name. A server that is not there or cannot be read is skipped (see
 * trouble) unless it was named; having none left is an error, too.
 */
int detect(struct world *w, struct candidates *out, struct err *e);
/* The same for panes of one server that were listed by panes_look: their environments are read, and out takes them over. */
int detect_listed(struct world *w, struct tmux *t, struct panes *panes, struct candidates *out, struct err *e);
/*
 * Fills lines of dead and zombie candidates, exactly; one tmux process a server. A usage limit or a login problem on the last screen is the
 * reason then, unless the agent was ended on purpose.
 */
int detect_lines(struct world *w, struct candidates *list, struct err *e);
void candidates_release(struct candidates *c);

/*
 * One more look at a candidate, right before something is done to it: 0 when pane, server, process and class are what they were.
 * Otherwise name "changed" (GT_AGAIN) with a sentence.
 */
int detect_again(struct world *w, const struct candidate *c, struct err *e);

#endif
