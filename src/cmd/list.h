#ifndef CMD_LIST_H
#define CMD_LIST_H

#include <jansson.h>
#include <stdbool.h>

struct armed_list;
struct bead;
struct candidate;
struct candidates;
struct err;
struct refusal;
struct world;

/* One element of sessions[] of `list --json` (DESIGN 7). New reference. */
json_t *list_json(const struct candidate *c, const struct bead *bead, const struct refusal *no, bool armed);
/*
 * The beads of the dead and zombie ones; what cannot be read stays empty (the recovery itself
 * warns), and what bd cannot read is said on stderr. beads: all->n zeroed ones.
 */
int list_beads(struct world *w, const struct candidates *all, struct bead *beads, struct err *e);

/* Who is armed, as far as it can be read; nobody without a store. armed_list_release. */
void list_armed(struct world *w, struct armed_list *out);

#endif
