#ifndef GASTOWN_GASTOWN_PRIVATE_H
#define GASTOWN_GASTOWN_PRIVATE_H

#include "base/buf.h"
#include "base/err.h"
#include "gastown/gastown.h"

/* ---- town_log ---- */

/*
 * The last 4 MiB of <town>/.events.jsonl, from the newest line to the oldest: an object a line,
 * {"ts", "source", "type", "actor", "payload", "visibility"}, appended under a lock (gastown,
 * internal/events). A line that is no JSON (being written, torn by the cut) is skipped.
 */
struct town_log {
	struct buf text;
	size_t end;		/* unread bytes */
};

/* ---- town_private ---- */

/* town.c: the root, and whether the town runs; town_rig.c: rigs, prefixes, beads. */
struct route {
	char *prefix;		/* with its dash: "gt-" */
	char *path;		/* from the root; "." is the town */
};

struct town {
	char *root;
	char *real;		/* symbolic links resolved, as tmux and /proc print paths */
	char *warning;
	bool registered;	/* a found root has a mayor/town.json */
	struct err doubt;	/* of a part; code 0: none */
	struct err skipped;	/* of a found town that is not used; code 0: none */
	bool skipped_registered;	/* it has a mayor/town.json */
	struct rig *rigs;
	size_t n_rigs, cap_rigs;
	struct route *routes;
	size_t n_routes, cap_routes;
};

/* Fills in rigs, routes and warning from the files below root. */
void town_read_rigs(struct town *t);
void town_free_rigs(struct town *t);

/* Adds each once; takes the string either way. */
void town_list_add_unique(struct town_list *l, char *owned);
bool town_dir_below(const char *dir, const char *name);

#endif
