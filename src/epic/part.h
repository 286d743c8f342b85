#ifndef EPIC_PART_H
#define EPIC_PART_H

#include <jansson.h>
#include <stdint.h>

#include "epic/epic.h"

struct err;
struct moment;
struct store;

/* What an agent does: its part in an epic. */
struct part {
	char *agent;				/* its id; heap */
	json_t *state;				/* agent:<id>:checkpoint, NULL: there is none */
	const struct epic *epic;		/* in list */
	const struct epic_sprint *sprint;	/* its sprint, in epic */
	struct epics list;
};

/*
 * agent: its id, or its sessionId. 1, or 0 when no epic knows it, or no sprint of its epic; -1 with err. interval and now: as
 * epics_read. part_release in any case.
 */
int part_find(struct store *s, const char *agent, int64_t interval, const struct moment *now, struct part *out, struct err *e);
/* The place of its sprint in the epic's sprints[], from 1; 0: it is not listed there. */
size_t part_place(const struct part *x);
void part_release(struct part *x);

#endif
