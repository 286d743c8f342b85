#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <stdbool.h>

struct err;

/*
 * Which machine of several that share a store this is: pid and boot identify a process only on its
 * own. With a store of one machine the id is "", in all records too.
 */
#define HOST_MAX 64

/*
 * Sets the id. name: 1 to HOST_MAX letters, digits and ". _ -", a letter or digit first; "": 16 hex
 * digits derived from /etc/machine-id or the host name. -1: "host" (GT_USAGE), "machine" (it has
 * neither).
 */
int host_set(const char *name, struct err *e);
/* For tests: the id is "" again. */
void host_unset(void);

const char *host_id(void);
/* Another host. NULL and "": this one. */
bool host_is_other(const char *id);

/* For people: the set name, else the machine's; "" none. */
void host_name(char out[HOST_MAX + 1]);

#endif
