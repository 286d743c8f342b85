#ifndef CMD_VERB_H
#define CMD_VERB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cmd/cmd.h"
#include "cmd/say.h"
#include "revive/world.h"

struct err;
struct store;

/* Commands of several verbs, each one durable step of the ledger: `session record`, `message send`. */
struct verb_job {
	struct cli cli;			/* args: what stands behind the verb */
	struct world w;
	struct store *store;		/* NULL: there is none yet, and the verb reads only, or is to change nothing */
	struct say say;
};

struct verb {
	const char *name;
	int (*run)(struct verb_job *j, struct err *e);	/* exit status, or -1 with err */
	size_t min, max;		/* arguments */
	const char *needs;		/* what the first of them is; NULL: "an id" */
	bool writes;
	/*
	 * options of the command that this verb takes: --undelivered; --since; --mode, --threshold and --dry-run; --output; --yes and
	 * --no-input; --sprints, --dry-run and --socket: it looks at tmux; --lease
	 */
	bool undelivered, since, recovery, output, asks, starts, leases;
};

/*
 * Finds the verb that the first argument names, opens what it needs, runs it, exports the events. enabled = false: it answers as all
 * commands do (setup_disabled), with 0 and without an id.
 */
int verb_run(const struct cli *cli, const struct verb *verbs, size_t n, struct err *e);

/* With --json the object, in which schema_version is set and `name` is v; takes the reference. Without: releases it. */
void verb_json(const struct verb_job *j, const char *name, json_t *v);

#endif
