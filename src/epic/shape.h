#ifndef EPIC_SHAPE_H
#define EPIC_SHAPE_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct scrub;

/*
 * What a checkpoint may look like: the shapes of seed S3, as tables. Members that no shape knows are kept as they are. null stands for
 * "not known" everywhere but at ids.
 *
 *	epic	epicId name status startTime lastCheckpoint totalSprints completedSprints inProgressSprints waitingSprints
 *		sprints[] {id status progress} dependencies {sprint: [sprints]}
 *	sprint	sprintId epicId status phase progress startTime lastCheckpoint agents[] {id status task} filesWritten[], filesInProgress[]
 *		{path completed lastCompletedSection nextSection currentLine confidence} confidence {loop3 loop2}; and, beyond the seed's
 *		sample, what its recovery strategies need: tests {run total last lock} (last: the last one that passed), validators[] {id status score progress lastValidated
 *		next}, waitStarted, productiveWork[]
 *	agent	agentId sprintId epicId currentTask fileBeingEdited lineNumber taskProgress {started estimatedCompletion
 *		subtasksCompleted[] subtasksRemaining[]} context {dependencies[] relatedFiles[] testFile} confidenceScore lastHeartbeat; and
 *		sessionId, by which the ledger knows it (ledger/session.h) when that is not its own id
 *	file	one of filesInProgress[], and lastCheckpoint
 *	signal	any object: the contract of an interface
 */
enum shape { SHAPE_EPIC, SHAPE_SPRINT, SHAPE_AGENT, SHAPE_FILE, SHAPE_SIGNAL, SHAPES };

#define SHAPE_MAX ((size_t)1 << 20)		/* bytes of a checkpoint, as JSON */
#define SHAPE_SPRINTS 1000			/* of an epic */
#define SHAPE_DEPTH 64				/* values within values */

const char *shape_name(enum shape shape);	/* "epic", … */

/*
 * Checks the object and makes it uniform, in place: times (RFC 3339, or ms since 1970) become RFC 3339 in UTC, the missing own id becomes
 * `id`, the missing time of the checkpoint `now` (ms since 1970), as does any time at which something was, where it is later; missing
 * counters are counted. `starting` counts as in progress. Names, all GT_USAGE: "checkpoint" (the sentence names the member and what was
 * expected), "counters" (they do not agree with sprints[]), "id".
 */
int shape_take(enum shape shape, const char *id, json_t *o, int64_t now, struct err *e);

/* Counts sprints[] of an epic into its counters. */
void shape_count(json_t *epic);

/*
 * The object, which shape_take took, without its secrets, new reference: all strings and names of members but those that the shape has
 * as ids or as one of its four states. Deeper than SHAPE_DEPTH: NULL with err
 * ("checkpoint", GT_USAGE).
 */
json_t *shape_clean(enum shape shape, const json_t *o, struct scrub *s, struct err *e);

/* A time that a shape holds, ms since 1970; 0 when it is absent. And the way back. */
int64_t shape_time(const json_t *o, const char *member);
void shape_put_time(json_t *o, const char *member, int64_t ms);

#endif
