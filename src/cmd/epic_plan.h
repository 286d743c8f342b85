#ifndef CMD_EPIC_PLAN_H
#define CMD_EPIC_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct epic;
struct epic_sprint;

/* How an epic is resumed: the words of seed S3's step 5 and of its recovery strategies. They depend on their arguments alone. */
struct epic_plan {
	const struct epic *x;
	const bool *chosen;			/* one for each sprint */
	/* when its last file was written to disk, ms since 1970, one for each sprint; 0: it is not there; < 0: nobody knows where it is */
	const int64_t *saved;
	double threshold;
	bool restart;				/* the way 2: all from the beginning */
	bool named;				/* its sprints were chosen by name: also those that run, whose agents may have died alone */
};

/*
 * Do agents of it come back: is it chosen, not completed, and free to start? While the epic runs only sprints that are interrupted do, and,
 * where they are named, those that run or wait.
 */
bool epic_plan_open(const struct epic_plan *p, size_t i);
/*
 * Ids of a sprint's agents: those that it lists, and those whose records name it, but no validator that is done; and validators that had begun. Of one
 * that starts over only the first two, whole. New reference: id -> true.
 */
json_t *epic_plan_agents(const struct epic_plan *p, size_t i);

/* What --dry-run --json says of it: id, way ("resume", "restart", "starting"; null: its agents are left alone), agents[]. New reference. */
json_t *epic_plan_json(const struct epic_plan *p, size_t i);
void epic_plan_title(struct buf *out, const struct epic_plan *p);
/* What becomes of the sprint at that place, from 0, and where it stood; then its agents, behind these words. */
void epic_plan_sprint(struct buf *out, const struct epic_plan *p, size_t i, const char *agents);
/* What --dry-run says: all sprints. */
void epic_plan_all(struct buf *out, const struct epic_plan *p);
/* The end. active: of which sprints an agent is back. all: nothing failed. */
void epic_plan_summary(struct buf *out, const struct epic_plan *p, const bool *active, bool all);

#endif
