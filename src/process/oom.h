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
 * it with its compilers and tests.
 *
 * Read from /dev/kmsg, else from `journalctl -k`, which members of systemd-journal and adm may
 * read.
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
	int64_t slack_ms;	/* possible error of the log's clock */
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
	/* may the process have had that name? */
	bool (*fits)(const void *arg, const char *comm);
	const void *arg;
};

/* The log proves it. False proves nothing. Reads the log again if that is older than the death. */
bool oom_killed(struct oom_log *l, const struct oom_death *d);

#endif
