#ifndef REVIVE_EARLIER_H
#define REVIVE_EARLIER_H

#include <stdbool.h>

struct candidate;
struct conversation;
struct err;
struct world;

/*
 * A recovered agent that crashes again: its conversation begins with our own prompt, which holds the one before. That prompt is recognised
 * by its id and replaced by what it was made from, so that records never nest.
 */
struct earlier {
	char *id;		/* of the recovery that was unfolded; heap, NULL: none */
	bool untold;		/* the agent that it started ended before it had read its prompt */
	bool lost;		/* what that recovery had gathered is not kept any more: only what came after it is here */
};

/* Changes talk in place. Only a prompt that was told to this very pane counts: an id may also be quoted from another session. */
int earlier_unfold(struct world *w, const struct candidate *c, struct conversation *talk, struct earlier *out, struct err *e);
void earlier_release(struct earlier *x);

#endif
