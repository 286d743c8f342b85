#ifndef STORE_OWN_H
#define STORE_OWN_H

#include "store/store.h"

/*
 * Several hosts share a store. What is about one host's panes and tmux servers (a table of kinds in own.c) each has for itself: on the
 * host west the key attempt:x stands as attempt@west:x. Nothing above store.c sees that, so that no rule about panes can reach
 * another host's.
 */

/* The key under which the backend has it, heap; also for a prefix that ends behind the kind's colon. NULL: as it is. */
char *own_key(const struct store *s, const char *key);
/* The way back, in place: a record that own_key had found. */
void own_record(const struct store *s, struct record *r);

#endif
