#ifndef CMD_EPIC_SLOT_H
#define CMD_EPIC_SLOT_H

#include <jansson.h>

#include "ledger/lock.h"

struct epic_sprint;
struct verb_job;

/* The test lock of a sprint that is resumed (epic/test_lock.h): taken, told, and given to the process of its agent. */
struct epic_slot {
	struct lock lock;			/* name NULL: there is none, or somebody else has it */
};

/* Of a sprint whose agents may run nothing is taken. Appends to locks what --json tells of it. A lock that cannot be had is told and hinders nobody: the agent waits for it. */
void epic_slot_take(struct epic_slot *slot, struct verb_job *j, const struct epic_sprint *x, json_t *locks);
/* When the agents are back: while its process lives, the agent keeps it; of one that did not come back it is given back. Releases the slot. */
void epic_slot_bind(struct epic_slot *slot, struct verb_job *j, const struct epic_sprint *x);

#endif
