#ifndef EPIC_STATE_H
#define EPIC_STATE_H

#include <jansson.h>
#include <stdint.h>

#include "epic/shape.h"

struct err;
struct record;
struct store;

/*
 * Where checkpoints stand in the store, and how they are written. The tag is the state:
 *
 *	epic:<id>:state			completed, in_progress, starting, waiting
 *	sprint:<id>:state		the same
 *	sprint:<id>:files		files		checkpoints of single files, the newest of each path: {files: [...]}
 *	agent:<id>:state		agent		what it told last; one that tells its heartbeat alone keeps the rest
 *	agent:<id>:checkpoint		agent		what it told last but heartbeats: where it can go on
 *	interface:<sprint>:ready	ready		{sprintId, readyAt, contract}
 *
 * Ids are free text (key_check_id). "epic-" in front of an epic's and "sprint-" in front of a sprint's may stand there or not: a record is
 * found by either, and made under the id that was told first.
 */
#define STATE_SCHEMA 1

enum state_at { STATE_EPIC, STATE_SPRINT, STATE_AGENT, STATE_FILES, STATE_READY, STATE_CHECKPOINT, STATES };

/* Heap. */
char *state_key(enum state_at at, const char *id);
/* The id in a record's key: not for keys of other kinds. Heap. */
char *state_id(enum state_at at, const char *key);
/* Is it a record of that kind? */
int state_is(enum state_at at, const char *key);
/* Do two ids name the same epic (or sprint)? */
int state_same(enum state_at at, const char *a, const char *b);
/* What all records of a kind start with, for scans: "epic:". */
const char *state_prefix(enum state_at at);

/* The record that an id names, in either spelling; *o: its value, new reference, may be NULL. 1 found, 0 absent (r is empty), -1 err. */
int state_find(struct store *s, enum state_at at, const char *id, struct record *r, json_t **o, struct err *e);

/*
 * Commits a checkpoint that shape_take took and shape_clean cleaned. A sprint's goes, in the same commit, into the sprints[] of its epic
 * where it is listed, and the counters there. New records and new states are told by an event ("epic.in_progress", "sprint.completed",
 * "interface.ready"); mere progress is none. *key (heap, may be NULL): of the record. Names: "too-large" (GT_USAGE); "other-epic"
 * (GT_REFUSED: a sprint under whose id stands one of another epic).
 */
int state_write(struct store *s, enum shape shape, const char *id, const json_t *o, char **key, struct err *e);

/*
 * The sprint is at its beginning, in one commit: starting, 0 %, no files, tests or validators, in its epic's sprints[], too. Its agents and
 * its test lock stay. One without a record gets one. epic: whose it is.
 */
int state_start_over(struct store *s, const char *epic, const char *sprint, struct err *e);

/* A record's value without "schema_version", new reference. NULL with err. */
json_t *state_object(const struct record *r, struct err *e);
/* The other way: o is released. Heap; NULL with err: "too-large". */
char *state_value(json_t *o, struct err *e);
/* The tag of a record of that kind with this value: a constant. */
const char *state_tag(enum state_at at, const json_t *o);

#endif
