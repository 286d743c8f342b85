#ifndef CMD_STARTUP_H
#define CMD_STARTUP_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct candidates;
struct run_recovery;
struct say;
struct startup;
struct world;

/* What the command and patrol share: how a startup (revive/startup.h) is told. */

/* What was changed, a line a part; nothing when all was true. starts: who is to be brought back is told one by one, as it is started. */
void startup_tell(struct say *s, const struct run_recovery *how, const struct startup *x, bool starts);

/* What became of one of startup's `back`. */
struct startup_one {
	bool tried;
	struct err no;			/* code 0: it is back */
	char id[21];			/* of its attempt, "" for none */
};
/*
 * Brings back who is still SUSPENDED, one after the other, `spacing` apart, and tells of each. all: what detect found; with known false, those
 * of whom it found something are left out. The array is of back.n, heap.
 */
struct startup_one *startup_bring_back(struct world *w, struct say *s, const struct startup *x, const struct candidates *all, bool known);

/* New reference. */
json_t *startup_json(const struct run_recovery *how, const struct startup *x);

#endif
