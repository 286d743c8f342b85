#ifndef REVIVE_TIDY_H
#define REVIVE_TIDY_H

struct world;

/*
 * Takes away what is old in the state directory: kept contexts and prompts older than snapshot_age, and what was left behind by those that
 * were killed: a writer's temporary file and the prompts of attempts that have ended at once, taken prompts and lock files after an hour; and records of what hooks
 * told of agents that have long ended (ledger/activity.h).
 * Never fails: it is done again at the next recovery.
 */
void tidy(struct world *w);

/* The prompts alone: costs one look into a folder when there are none. */
void tidy_prompts(struct world *w);

/* The prompt of a recovery that is over, if nobody took it. */
void tidy_prompt(struct world *w, const char *recovery_id);

#endif
