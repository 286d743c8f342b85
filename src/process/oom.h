#ifndef PROCESS_OOM_H
#define PROCESS_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * OOM kills. Only the kernel's log proves one, naming pid and comm:
 *
 *	Out of memory: Killed process 4711 (claude) total-vm:…	since Linux 5.3; "Memory cgroup …" too
 *	Killed process 4711 (claude) total-vm:…			before
 *
 * "Kill process … or sacrifice child" and "oom-kill:…task=" name the choice; a child may have died
 * instead. A cgroup's counters (memory.events, memory.oom_control) prove nothing: an agent shares
 * it with its compilers and tests. They are a hint where the log may not be read.
 *
 * The log also names processes that a fault of the processor ended. Not abort(), not a signal of
 * another process, and not on every architecture:
 *
 *	tmux: server[4711]: segfault at 0 ip …		"traps: " before it, and another word, for others
 *
 * Read from /dev/kmsg, else from `journalctl -k`, which members of systemd-journal and adm may
 * read.
 */
struct oom_kill {
	pid_t pid;
	char comm[64];
	int64_t at;		/* ms since 1970 */
	bool fault;		/* no kill for memory, but a segfault or the like */
};

struct oom_log {
	struct oom_kill *v;
	size_t n, cap;
	int64_t read_at;	/* ms since 1970; 0: not yet */
	int64_t slack_ms;	/* possible error of the log's clock */
	bool readable;		/* this machine's could be read */
};

#define OOM_LOG_INIT { .v = NULL }

/* Replaces what it held; empty when unreadable. At most 64 MiB of the log, linear. */
void oom_log_read(struct oom_log *l);
void oom_log_release(struct oom_log *l);

/*
 * Pure: adds the kernel's kills of text as of /dev/kmsg,
 * "PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE", times since a boot at `boot` (ms since 1970).
 * Messages of programs (other facilities) are skipped.
 */
void oom_log_kmsg(struct oom_log *l, const char *text, size_t n, int64_t boot);
/* `journalctl -k -o short-unix`: "SECONDS.FRACTION HOST kernel: MESSAGE". */
void oom_log_journal(struct oom_log *l, const char *text, size_t n);

struct oom_death {
	pid_t pid;
	int64_t from, until;	/* alive at `from`, dead at `until`: ms since 1970 */
	bool fault;		/* by a fault, not for memory */
	/* may the process have had that name? */
	bool (*fits)(const void *arg, const char *comm);
	const void *arg;
};

/*
 * How many processes the kernel has killed so far in a cgroup for want of memory, by its own count:
 * memory.events of version 2, memory.oom_control of version 1 (since Linux 4.13). `cgroups` is the
 * text of /proc/PID/cgroup, `root` where they are mounted; NULL: this machine's. 0: none, or not known.
 */
int64_t oom_cgroup_kills(const char *cgroups, const char *root);
/* The same for a living process. */
int64_t oom_cgroup_kills_of(pid_t pid);

/*
 * The log proves it, or with `fault` such an end. False proves nothing. Reads the log again if that
 * is older than the death.
 */
bool oom_killed(struct oom_log *l, const struct oom_death *d);

#endif
