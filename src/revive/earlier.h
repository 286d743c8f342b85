#ifndef REVIVE_EARLIER_H
#define REVIVE_EARLIER_H

#include <stdbool.h>
#include <stddef.h>

struct candidate;
struct conversation;
struct err;
struct scrub;
struct world;

/*
 * A recovered agent that crashes again: its conversation begins with our own prompt, which holds the one before. That prompt is recognised
 * by its id and replaced by what it was made from, so that records never nest. What that was is kept on disk (kept.h); when it is gone it is
 * put together from the older transcript, as far back as the chain goes, and from the words of the prompt itself.
 */
struct earlier_in {
	struct world *w;
	const struct candidate *c;
	struct scrub *scrub;
	const char *transcript;	/* of the agent that died now; NULL: not known */
	size_t room;		/* bytes of an older transcript that are read (transcript_read's max_bytes), and of all that is joined */
};

struct earlier {
	char *id;		/* of the recovery that was unfolded; heap, NULL: none */
	bool untold;		/* the agent that it started ended before it had read its prompt */
	bool lost;		/* its context is not kept any more, or cannot be read: it was put together again */
	bool empty;		/* and nothing was left to put together: only what came after it is here */
};

/* Changes talk in place. Only a prompt that was told to this pane or session, or in this transcript, counts: an id may be quoted from elsewhere. */
int earlier_unfold(const struct earlier_in *in, struct conversation *talk, struct earlier *out, struct err *e);
void earlier_release(struct earlier *x);

#endif
