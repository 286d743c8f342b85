#ifndef CMD_ROUND_H
#define CMD_ROUND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cmd/say.h"
#include "revive/detect.h"
#include "revive/world.h"

struct bead;
struct cli;
struct err;
struct recovery;
struct refusal;

/*
 * One round of recoveries: look, choose, recover one after the other, count. The bare command and patrol share it; what is asked and who
 * is told stays with them.
 */
struct round {
	const struct cli *cli;
	struct world w;
	struct say say;
	struct candidates all;
	struct bead *beads;		/* these four: one for each of all */
	struct refusal *no;
	bool *chosen;
	bool named;			/* a person chose: consent */
	bool recorded;			/* also agents that only the ledger knows (revive/recorded.h) */
	bool mass;			/* everything there is: halted after two agents that were not logged in, and summed up */
	json_t *results;		/* told_json of each that was tried */
	size_t found, recovered, unacknowledged, refused, failed, again;	/* again: of failed, those that may be tried again at once */
	size_t logins;			/* agents that came up and were not logged in */
	/* Called after each that was tried, or was not because of the login; e has code 0 when it succeeded. NULL: nobody asks. */
	void (*ended)(struct round *r, const struct recovery *one, const struct err *e);
	void *arg;			/* of whoever set ended */
};

/* World, log_file. -1 with err; round_close in any case. */
int round_open(struct round *r, const struct cli *cli, struct err *e);
/* Detects, reads the beads, asks the guards. What an earlier look of the same round found is forgotten. */
int round_look(struct round *r, struct err *e);
/* Chooses what no guard refuses and what an earlier recoverer left half done; returns how many. */
size_t round_choose(struct round *r);
/* Crashed ones that round_choose leaves alone become part of the sum, and of the ledger. */
void round_count_refused(struct round *r);
/* Recovers the chosen ones, `spacing` between two starts. Returns the exit status for all of them, GT_NOTHING when none was chosen. */
int round_recover(struct round *r);
/* The line with the counts, where more than one was tried or everything was meant. */
void round_sum(struct round *r, size_t tried);
/* What round_recover would do, on stdout. */
void round_plan(struct round *r);
void round_close(struct round *r);

#endif
