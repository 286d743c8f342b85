#ifndef REVIVE_PLAN_H
#define REVIVE_PLAN_H

#include <stdbool.h>

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

/* The prompt is its standard input; else the agent is started plainly, or lives already, and it is pasted when it waits. */
bool plan_by_stdin(const struct world *w, const struct candidate *c);

#endif
