#ifndef PROCESS_KERNEL_H
#define PROCESS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;
struct timestamp;

/*
 * What the kernel knows of processes: all that a port to another system has to write here
 * (docs/porting.md). linux.c reads /proc. What a system cannot know it reports as unknown, and
 * callers take the process for alive.
 *
 * A process is a pid with its start time, since pids are reused.
 */
struct proc {
	pid_t pid, ppid, pgrp, foreground;	/* foreground: the terminal's group (tpgid); -1: none */
	char state;				/* R S D T Z … */
	uint64_t start;				/* clock ticks since boot: field 22 of /proc/PID/stat */
	char comm[16];
};

struct procs {
	struct proc *v;				/* by pid, ascending */
	size_t n, cap;
};

#define PROC_GONE (-1)		/* the kernel's list and kill agree that no process has the pid */
#define PROC_UNKNOWN (-2)	/* unreadable; treat it as alive */
/* 0 or one of these two. */
int proc_read(pid_t pid, struct proc *out);
/* -1, "proc": one cannot be read, so the list would be incomplete. */
int proc_list(struct procs *out, struct err *e);
int64_t proc_wall_ms(const struct proc *p);	/* its start, as clock_wall_ms is set now */

/* Only LIFE_GONE is a death: locks, ends and starts treat the others as alive. */
enum proc_life { LIFE_GONE, LIFE_ALIVE, LIFE_UNKNOWN, LIFE_ELSEWHERE };
/* By pid and start time (0: any). */
enum proc_life proc_life(pid_t pid, uint64_t start);
/*
 * For a record of this boot from the pid namespace pid_ns (base/timestamp.h). If that is not now's,
 * the host looks in its /proc, by namespace, pid there and start time:
 *	found				LIFE_ALIVE
 *	not found			LIFE_GONE
 *	pid found, clocks differ	LIFE_UNKNOWN (a time namespace)
 *	cannot look, or may not		LIFE_ELSEWHERE: a lease, or the last sign of life, decides
 * pid or start 0: LIFE_GONE when the namespace has no process left, else LIFE_ELSEWHERE.
 */
enum proc_life proc_life_in(uint64_t pid_ns, int64_t pid, int64_t start, const struct timestamp *now);

/*
 * Appends the arguments, each ended by NUL. False: none, or unreadable; `out` is then empty. They
 * may hold secrets: wipe it. exact: only if they are known as they were given, blanks and all.
 */
bool proc_arguments(pid_t pid, bool exact, struct buf *out);
/* NAME=VALUE, a NUL behind each, heap; NULL: not readable. May hold secrets. */
char *proc_environ(pid_t pid, size_t *n);
enum proc_path { PROC_CWD, PROC_PROGRAM, PROC_OUTPUT };	/* PROC_OUTPUT: its descriptor 1, also "pipe:…" */
/* Heap; NULL: not readable. */
char *proc_path(pid_t pid, enum proc_path what);
/* It has that file open, by its real path. False also when that cannot be read. */
bool proc_has_open(pid_t pid, const char *path);
/*
 * The holder of a lock on the file, found without trying to take it, which could make its owner
 * fail. 0: none; -1: unknown.
 */
pid_t proc_lock_holder(const char *path);

/* Bytes of memory that nobody shares with it; -1: unknown. */
int64_t proc_memory(pid_t pid);

/* Where a sleeping process waits in the kernel. */
enum proc_wait { PROC_WAITS_READING, PROC_WAITS_POLLING, PROC_WAITS_ELSEWHERE, PROC_WAITS_UNSEEN };
enum proc_wait proc_wait(pid_t pid);
/* It ignores SIGINT. True when that cannot be read. */
bool proc_ignores_interrupt(pid_t pid);

#endif
