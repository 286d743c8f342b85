#ifndef BASE_TIMESTAMP_H
#define BASE_TIMESTAMP_H

#include <stdint.h>

#include "base/host.h"

/*
 * A point in time. Ages on one boot go by clock_boot_ms, which counts suspension and is never set.
 * The wall clock is for people, for what has no boot id, and between hosts: there it is the store's
 * (store_timestamp).
 */
struct timestamp {
	int64_t wall_ms;		/* since 1970 */
	int64_t boot_ms;		/* since the boot */
	char boot_id[40];		/* "": unknown */
	char host[HOST_MAX + 1];	/* "": this one (base/host.h) */
	uint64_t pid_ns;		/* inode of the pid namespace (container); 0: unknown */
};

#define AGE_OTHER_BOOT ((int64_t)-1)	/* older than any: another boot */
/* yet to come by the clocks, or unknown */
#define AGE_UNKNOWN ((int64_t)-2)

/* The host's pid namespace (the kernel's PROC_PID_INIT_INO). */
#define MOMENT_FIRST_SPACE 4026531836u

void timestamp_now(struct timestamp *m);
/* Another pid namespace than now's; 0 (older records): no. */
bool timestamp_other_space(uint64_t pid_ns, const struct timestamp *now);
/* Also of this boot: its process may run in another container of this machine. */
bool timestamp_contained(const char *boot_id, uint64_t pid_ns, const struct timestamp *now);
/*
 * ms before `now`, or one of the two above. Without a boot id on either side, and between hosts, by
 * the wall clock; wall_ms 0 is then unknown.
 */
int64_t timestamp_age(const struct timestamp *m, const struct timestamp *now);

#endif
