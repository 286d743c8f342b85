#ifndef CMD_FLEET_H
#define CMD_FLEET_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct fleet;
struct say;
struct world;

/*
 * `list --fleet`: the agents of all hosts that share the store (ledger/fleet.h). Those of this host are the ones that the caller has looked at;
 * of the others it is what they told, and sessions of the ledger that they did not tell of.
 */

/* All hosts but this one; none without a store. Sessions of the ledger that a host did not tell of are appended to its agents. fleet_release. */
int fleet_others(struct world *w, struct fleet *out, struct err *e);
/* For a person: this host's name, to be printed before its own list; the others after it. */
void fleet_print_own(void);
void fleet_print(const struct fleet *f, int64_t now);
/* For programs: hosts[], and the others' agents appended to sessions; each of them tells its host. */
void fleet_json(json_t *v, json_t *sessions, const struct fleet *f, int64_t now);

/* Tells the others what a pass saw here; sessions is released. That it could not be told is said, and is no failure of the pass. */
void fleet_note(struct world *w, struct say *say, json_t *sessions);

#endif
