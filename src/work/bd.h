#ifndef WORK_BD_H
#define WORK_BD_H

#include <jansson.h>
#include <stddef.h>

struct err;

/*
 * The program bd, which alone can read beads that live in Dolt (bd >= 0.51; facts: gas-town.md 7.4): `bd --readonly … --json`, in the
 * directory that holds .beads, with BEADS_DIR set, BEADS_DOLT_AUTO_START=0 (or bd would start a server of its own) and without what
 * another database left in the environment. One of these serves a whole command.
 */
struct bd;

/* `port` of the town's Dolt server, or NULL: what the environment and bd's own files say. */
struct bd *bd_new(const char *port);
void bd_free(struct bd *b);

/*
 * The beads that it answers with: an array of objects, whether bd printed an array, one object, an envelope, or "No issues found."; an id
 * that `show` does not know is left out. `beads` is the .beads directory, `words` the n words of the command without --json. New reference.
 * NULL: names "no-bd" (the program is not there), "dolt-down" (no server answers), "bd-timeout", "bd-failed", "bd-answer"; none of these
 * is ever "no work". A program that is not there, a dead server and a timeout are remembered for ten seconds: those who ask after that get
 * the same answer at once.
 */
json_t *bd_ask(struct bd *b, const char *beads, const char *const *words, size_t n, struct err *e);

/* All that is hooked there; asked once for each directory, at most five seconds long. Borrowed; NULL as above. */
const json_t *bd_hooked(struct bd *b, const char *beads, struct err *e);

/* The last thing that went wrong; code 0: nothing did. */
const struct err *bd_trouble(const struct bd *b);

#endif
