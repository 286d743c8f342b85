#ifndef GASTOWN_GASTOWN_PRIVATE_H
#define GASTOWN_GASTOWN_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct rig;
struct town;
struct town_list;

/* ---- town_log ---- */

/*
 * The end of Gas Town's log of events, <town>/.events.jsonl: one JSON object a line, {"ts",
 * "source", "type", "actor", "payload", "visibility"}, appended under a lock of its own (gastown,
 * internal/events). Its last 4 MiB are read, from the newest line to the oldest. A line that is
 * no JSON (one that is just written, one that the cut tore apart) is passed over.
 */
struct town_log {
	struct buf text;
	size_t end;		/* what is left to read */
};

/* ---- town_private ---- */

/*
 * What the files behind gastown.h share: town.c (the root, and whether the town runs), town_rig.c
 * (rigs, their prefixes and beads), town_place.c (sockets and state). Nobody else includes this.
 */
struct route {
	char *prefix;		/* with its dash: "gt-" */
	char *path;		/* from the root; "." is the town */
};

struct town {
	char *root;
	char *real;		/* root with symbolic links resolved: tmux and /proc tell paths so */
	char *warning;
	bool registered;	/* a root that was found has a mayor/town.json */
	struct err doubt;	/* of a part of it; code 0: none */
	struct err skipped;	/* of a town that was found and is not used; code 0: none */
	bool skipped_registered;	/* that town has a mayor/town.json */
	struct rig *rigs;
	size_t n_rigs, cap_rigs;
	struct route *routes;
	size_t n_routes, cap_routes;
};

/* Fills in rigs, routes and warning from the files below root. */
void town_read_rigs(struct town *t);
void town_free_rigs(struct town *t);

/* Adds unless it is there already; takes the string either way. */
void town_list_add_unique(struct town_list *l, char *owned);
bool town_dir_below(const char *dir, const char *name);

#endif
