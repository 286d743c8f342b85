#ifndef REVIVE_PLAN_H
#define REVIVE_PLAN_H

#include <stdbool.h>

#include "agent/profile.h"

struct bead;
struct candidate;
struct world;

/*
 * The guards: may this candidate be brought back? Each refusal has a name and a sentence, one line of the table in plan.c each.
 * `named`: the person named the session or chose it in the picker, which is consent to what only a person can know (attached, stopped on
 * purpose, infrastructure, little evidence, a usage limit that may be over). Quarantine is lifted by `gt-recover release` alone. bead may
 * be NULL (not looked up). Reads the store, if there is one.
 */
struct refusal {
	const char *name;	/* "live", "no-command", …; NULL: nothing stands against it */
	const char *sentence;	/* ours, or the candidate's */
	const char *hint;
};

struct refusal plan_refusal(struct world *w, const struct candidate *c, const struct bead *bead, bool named, bool include_infra);
/* The refusal "limit", for one whose last screen is known only after gathering. */
struct refusal plan_limit(void);

/*
 * How it is told when it is started afresh: by the first way of its row that is open. One that lives already, or that gt starts, is pasted to. An
 * argument is taken only where nothing else is open: every user of the machine can read it in the list of processes. False: none is.
 */
bool plan_way(const struct world *w, const struct candidate *c, enum deliver *out);
/* Can it be told by the resume_deliver of its row when it goes on with its own conversation? */
bool plan_can_tell(const struct world *w, const struct candidate *c);

#endif
