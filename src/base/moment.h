#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

#include <stdint.h>

#include "base/host.h"

/*
 * A point in time that can be told apart from another one on the same machine whatever the wall clock does: ages go by CLOCK_BOOTTIME,
 * which counts suspension and is never set, and by the kernel's boot id. The wall clock is for people, for what has no boot id, and between
 * hosts: there it has to be the store's (store_moment), as theirs differ.
 */
struct moment {
	int64_t wall_ms;		/* since 1970 */
	int64_t boot_ms;		/* since the boot */
	char boot_id[40];		/* "": not known */
	char host[HOST_MAX + 1];	/* where it was; "": here (base/host.h) */
};

#define MOMENT_OTHER_BOOT ((int64_t)-1)	/* an age: older than any, its boot is over */
#define MOMENT_UNKNOWN ((int64_t)-2)	/* an age: the clocks say that it is yet to come, or nothing is known */

void moment_now(struct moment *m);
/*
 * How long before `now` it was, in ms, or one of the two above. Without a boot id on either side, and between two hosts, the wall clock
 * decides; wall_ms 0 is then unknown.
 */
int64_t moment_age(const struct moment *m, const struct moment *now);

#endif
