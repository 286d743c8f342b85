#ifndef PROCESS_OOM_H
#define PROCESS_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Whether the kernel killed a process because memory ran out. Signal 9 is the same whoever sends
 * it, so the only proof is the kernel's own record of it, which names the pid and the comm:
 *
 * 	Out of memory: Killed process 4711 (claude) total-vm:…          since Linux 5.3; ""Memory
 * 	cgroup out of memory: …" too
 * 	Killed process 4711 (claude) total-vm:…				before
 *
 * "Kill process … or sacrifice child" and "oom-kill:…task=" only tell which one was chosen, and a
 * child may have died in its place. The counters of a cgroup (memory.events, memory.oom_control)
 * tell that somebody was killed: an agent shares its cgroup with the compilers and tests that it
 * runs, so they prove nothing of the agent, and are not asked.
 *
 * Read from /dev/kmsg, or where that is not allowed from `journalctl -k`, which members of
 * systemd-journal and adm may read.
 */
struct oom_kill {
	pid_t pid;
	char comm[64];
	int64_t at;		/* ms since 1970 */
};

struct oom_log {
	struct oom_kill *v;
	size_t n, cap;
	int64_t read_at;	/* ms since 1970; 0: not yet */
	int64_t slack_ms;	/* so much the log's clock may be off */
};

#define OOM_LOG_INIT { .v = NULL }

/*
 * Reads what there is now, in place of what it held. One that cannot be read is empty. At most 64
 * MiB of the log, in time linear in it.
 */
void oom_log_read(struct oom_log *l);
void oom_log_release(struct oom_log *l);

/*
 * Adds the kernel's kills of a log. Pure. Text in the form of /dev/kmsg:
 * "PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE", with the time since a boot at `boot` (ms since
 * 1970). What programs wrote there, with a facility of their own, is passed over.
 */
void oom_log_kmsg(struct oom_log *l, const char *text, size_t n, int64_t boot);
/* Text of `journalctl -k -o short-unix`: "SECONDS.FRACTION HOST kernel: MESSAGE". */
void oom_log_journal(struct oom_log *l, const char *text, size_t n);

struct oom_death {
	pid_t pid;
	int64_t from, until;	/* it lived at `from`, it was known to be dead at `until`: ms since 1970 */
	/* whether the process may have had that name */
	bool (*fits)(const void *arg, const char *comm);
	const void *arg;
};

/*
 * True when the log proves it. False is no proof of the contrary: the log may be unreadable, or
 * have been overwritten. Reads the log when it was not read since the death.
 */
bool oom_killed(struct oom_log *l, const struct oom_death *d);

#endif
