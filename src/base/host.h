#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <stdbool.h>

struct err;

/*
 * Who this machine is among several that share a store, for processes are known by pid and boot,
 * which mean nothing elsewhere. A store that one machine has alone knows no hosts: the id is ""
 * there, and so is that of all its records.
 */
#define HOST_MAX 64

/*
 * From now on this process speaks for that host. name: 1 to HOST_MAX letters, digits and ". _ -",
 * a letter or digit first; "": 16 hex digits made of /etc/machine-id, or else of the host name,
 * which say nothing of it. -1 with err: "host" (GT_USAGE), "machine" (it has neither).
 */
int host_set(const char *name, struct err *e);
/* Alone again. */
void host_unset(void);

const char *host_id(void);
/* Is it a host, and another one? NULL and "" are records of before, and of this one. */
bool host_is_other(const char *id);

/* What people call it: the name that was set, else the machine's. "" when it has none. */
void host_name(char out[HOST_MAX + 1]);

#endif
