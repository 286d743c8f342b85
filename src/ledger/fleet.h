#ifndef LEDGER_FLEET_H
#define LEDGER_FLEET_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct store;

/*
 * The hosts that share a store (base/host.h): the record host:<id>, its tag host, written by that host alone. It tells what its last pass saw
 * of its agents: nobody else can look at its panes. It is no sign that the host lives, but for its age.
 */
struct fleet_host {
	char *id, *name;		/* name: what people call it */
	char boot_id[40];
	int64_t seen_at;		/* when its agents were looked at, ms since 1970 by the store's clock; 0: never yet */
	json_t *agents;			/* array, as `list --json` has them */
	int64_t left_out;		/* agents that found no room in the record */
};

struct fleet {
	struct fleet_host *v;		/* by id */
	size_t n, cap;
};

/* Makes the record of this host where there is none. A store that is one machine's alone needs none. */
int fleet_join(struct store *s, struct err *e);
/* What this host's agents are now; array, lent. No event: it is told at every pass. */
int fleet_tell(struct store *s, const json_t *agents, struct err *e);
/* All of them, appended. */
int fleet_read(struct store *s, struct fleet *out, struct err *e);
void fleet_release(struct fleet *f);

/* The name of a host; its id when nothing more is known, NULL for "" and NULL. */
const char *fleet_name(const struct fleet *f, const char *id);

#endif
