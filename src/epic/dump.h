#ifndef EPIC_DUMP_H
#define EPIC_DUMP_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct epic;
struct err;
struct scrub;
struct store;

#define DUMP_MAX ((size_t)64 << 20)		/* bytes of JSON that dump_take reads */

/*
 * An epic with all that is known of it, in seed S3's shape: epic {id name status crashTime lastCheckpoint crashDuration (seconds)},
 * sprints[] {id status progress filesCompleted[] filesInProgress[] lastCheckpoint {file function line confidence}}; and records
 * {key: value}, by which it is imported again unchanged. now: ms since 1970. New reference, or NULL with err.
 */
json_t *dump_make(struct store *s, const struct epic *x, int64_t now, struct err *e);

/*
 * Commits the records of a dump, all or none, with the event epic.imported; *id (heap): the epic's. Each is checked and cleaned as a
 * checkpoint is. 1 done; 0 they all stand there already; -1: "exists" (GT_REFUSED: one of them stands there with another value), "dump"
 * (GT_USAGE), "checkpoint", "counters".
 */
int dump_take(struct store *s, const json_t *dump, struct scrub *scrub, char **id, struct err *e);

/*
 * Deletes all records of an epic, and the locks of its sprints' tests that nobody else has, in one commit with the event epic.abandoned. *n: how many.
 * "conflict" (GT_AGAIN): something of it was written meanwhile.
 */
int dump_abandon(struct store *s, const struct epic *x, size_t *n, struct err *e);

#endif
