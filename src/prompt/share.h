#ifndef PROMPT_SHARE_H
#define PROMPT_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#include "prompt/cut.h"

/*
 * Who gets how much of a room that is too small for all. Pure arithmetic, linear in their number.
 *
 * Ranks give way one after the other, as far as it takes and no farther: OLD first (calls, and what the agent said, before the last turn),
 * then TURN (the same in the last turn), then USER (the user's words), CORE last. But what is large in the last turn shrinks to an eighth
 * of the room before what is small and old goes. Within a rank everybody's allowance sinks like water, faster for a greater age; what
 * takes less than its allowance stays whole, what takes more is cut down to it, and goes when that is less than its least. So big
 * and old things shrink before small and new ones, and the oldest go first. Of CORE nothing goes: each keeps its least.
 */
enum rank { RANK_OLD, RANK_TURN, RANK_USER, RANK_CORE, RANKS };

struct share {
	enum rank rank;
	size_t weight;		/* its allowance is that many times another's */
	size_t age;		/* how many of its kind are newer; at SHARE_AGE the allowance is half of the newest's */
	struct room full;	/* what it takes when it is whole */
	struct room least;	/* with less it goes */
	struct room most;	/* out: what it may take, not less than full when it is whole */
	bool kept;		/* out */
};

#define SHARE_AGE ((size_t)16)
/* Lines that one may have more when it is cut: a long line becomes three. */
#define SHARE_TORN ((size_t)5)
/* What a line that names the gap takes, with the empty line behind it; and what more when something of USER is missing there. */
#define SHARE_GAP ((struct room){ 1250, 2 })
#define SHARE_GAP_USER ((size_t)1250)

/*
 * Sets most and kept; v is in order, oldest first. What is kept and the gaps between take no more than the room, when it has
 * the least of everything of CORE, and a gap before each.
 */
void share_out(struct share *v, size_t n, struct room room);

#endif
