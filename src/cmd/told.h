#ifndef CMD_TOLD_H
#define CMD_TOLD_H

#include <jansson.h>

#include "revive/recover.h"

struct err;
struct pane;
struct say;

/* How a recovery is told, to people while it goes on and to programs when it is over. */

/* For recovery.tell; arg is the struct say. */
void told(struct recovery *r, enum told what, void *arg);
/* "Attach with: tmux attach -t …" that works for any name: = is exact, and the shell must not take it apart. */
void told_attach(struct say *s, const struct pane *p);
/* One element of results[] of a recovery's --json; e: code 0 when it succeeded. New reference. */
json_t *told_json(const struct recovery *r, const struct err *e);

#endif
