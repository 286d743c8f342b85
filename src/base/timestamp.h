#ifndef BASE_TIMESTAMP_H
#define BASE_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/host.h"

/*
 * A point in time that can be told apart from another one on the same machine whatever the wall
 * clock does: ages go by CLOCK_BOOTTIME, which counts suspension and is never set, and by the
 * kernel's boot id. The wall clock is for people, for what has no boot id, and between hosts:
 * there it has to be the store's (store_timestamp), as theirs differ.
 */
struct timestamp {
	int64_t wall_ms;		/* since 1970 */
	int64_t boot_ms;		/* since the boot */
	char boot_id[40];		/* "": not known */
	char host[HOST_MAX + 1];	/* where it was; "": here (base/host.h) */
	uint64_t pid_ns;		/* inode of the pid namespace (container) of its pids; 0: not known */
};

#define AGE_OTHER_BOOT ((int64_t)-1)	/* an age: older than any, its boot is over */
/* an age: the clocks say that it is yet to come, or nothing is known */
#define AGE_UNKNOWN ((int64_t)-2)

/* The host's pid namespace (PROC_PID_INIT_INO of the kernel); all others are below it. */
#define MOMENT_FIRST_SPACE 4026531836u

void timestamp_now(struct timestamp *m);
/* Is pid_ns another pid namespace than that of now? Older records have none (0): no. */
bool timestamp_other_space(uint64_t pid_ns, const struct timestamp *now);
/* The same for a record of that boot: its process may still run, in another container of this machine. */
bool timestamp_contained(const char *boot_id, uint64_t pid_ns, const struct timestamp *now);
/*
 * How long before `now` it was, in ms, or one of the two above. Without a boot id on either side,
 * and between two hosts, the wall clock decides; wall_ms 0 is then unknown.
 */
int64_t timestamp_age(const struct timestamp *m, const struct timestamp *now);

#endif
