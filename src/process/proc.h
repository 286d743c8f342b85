#ifndef PROCESS_PROC_H
#define PROCESS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct timestamp;

/*
 * What /proc knows. A process is a pid together with its start time: pids are used again. Names
 * come from the process tree, never from pane_current_command (facts T21, T27).
 */
struct proc {
	pid_t pid, ppid, pgrp, foreground;	/* foreground: the terminal's foreground group (tpgid) */
	char state;				/* R S D T Z … */
	uint64_t start;				/* clock ticks since boot, field 22 of /proc/PID/stat */
	char comm[16];
};

struct procs {
	struct proc *v;				/* by pid, ascending */
	size_t n, cap;
};

#define PROC_GONE (-1)		/* /proc and kill agree that no process has the pid */
#define PROC_UNKNOWN (-2)	/* it cannot be read; treat it as alive */
/* 0 or one of these two. */
int proc_read(pid_t pid, struct proc *out);
bool proc_has_ended(const struct proc *p);	/* nobody waited for it yet */

/* Only LIFE_GONE is a death: code that takes a lock, ends, suspends or starts treats the others as alive. */
enum proc_life { LIFE_GONE, LIFE_ALIVE, LIFE_UNKNOWN, LIFE_ELSEWHERE };
/* The process with that pid and start time (clock ticks; 0: any). LIFE_UNKNOWN: it cannot be read. */
enum proc_life proc_life(pid_t pid, uint64_t start);
/*
 * The same for a record of this boot, made in the pid namespace pid_ns (base/timestamp.h). When
 * that is not the namespace of `now`, the host looks for the process in its /proc, by namespace,
 * pid there and start time:
 * 	found				LIFE_ALIVE
 * 	not found			LIFE_GONE
 * 	pid found, clocks differ	LIFE_UNKNOWN (a time namespace)
 * 	cannot look, or may not		LIFE_ELSEWHERE: a lease, or the age of the last sign of life, decides
 * pid or start 0 asks for the namespace alone: LIFE_GONE when no process is left in it, else LIFE_ELSEWHERE.
 */
enum proc_life proc_life_in(uint64_t pid_ns, int64_t pid, int64_t start, const struct timestamp *now);

/*
 * A process in another pid namespace that cannot be seen counts as alive until its last sign of life is
 * older than PROC_SEEN_MS. Passes and hooks renew it, at most once in PROC_RENEW_MS.
 */
#define PROC_SEEN_MS ((int64_t)10 * 60 * 1000)
#define PROC_RENEW_MS ((int64_t)5 * 60 * 1000)
/* age_ms: of the last sign of life. Negative (the clocks disagree): recent. */
bool proc_is_recent(int64_t age_ms);

/* Start time of a living process, in clock ticks since boot. 0: it has ended, or it cannot be read. */
uint64_t proc_ticks(pid_t pid);
int64_t proc_started_ms(const struct proc *p);	/* on the scale of clock_boot_ms */
/* on that of clock_wall_ms as it is set now, when it began in this boot */
int64_t proc_wall_ms(const struct proc *p);
/* When a living process began, ms since 1970. 0: it is gone, though nobody may have waited for it yet. */
int64_t proc_began_ms(pid_t pid);
/* Fills err: "proc", GT_AGAIN: there is such a process, and it cannot be read. Returns -1. */
int proc_refuse_unread(pid_t pid, struct err *e);
/* One look at all processes. -1 with err "proc": one cannot be read, so the list would be incomplete. */
int proc_list(struct procs *out, struct err *e);
void proc_list_release(struct procs *p);
const struct proc *proc_list_find(const struct procs *p, pid_t pid);
bool proc_list_below(const struct procs *p, pid_t pid, pid_t ancestor);	/* also true for ancestor itself */

/*
 * Base names by which a process may be known: comm, argv[0], and for a runtime (node, bun, python
 * …) its script and npm package.
 */
#define PROC_NAMES 4
size_t proc_names(const struct proc *p, char names[PROC_NAMES][64]);

/*
 * The arguments of a living process, each ended by NUL, heap; NULL when it has none or may not be
 * read. They may hold secrets.
 */
char *proc_arguments(pid_t pid, size_t *n);
/* Is this word one of its arguments, alone or as --flag=word? False for what has ended or may not be read. */
bool proc_has_argument(const struct proc *p, const char *word);

/* Answers whether a name is an agent's process. */
typedef bool proc_is_agent_fn(const void *arg, const char *name);

/* The first process at or below `root` that is an agent's; NULL when there is none. Zombies do not count. */
const struct proc *proc_list_agent(const struct procs *p, pid_t root, proc_is_agent_fn *is_agent,
    const void *arg);

/*
 * The shell of a pane that waits for a person, or 0: a shell by name, started without a script or
 * -c, asleep, in the foreground of its terminal, and no child of its group beside it. Children in
 * the background (a server, a prompt's helper) and stopped ones do not count. It is the pane's
 * process, or shells alone stand above it, each of which sleeps and has the next for its only
 * child: `sh -c 'claude; bash'`, or what a recovery starts of it (recover/recover.h). Whether it
 * waits at its prompt tells process/shell.h.
 */
pid_t proc_list_waiting_shell(const struct procs *p, pid_t pane_pid);
bool proc_list_idle_shell(const struct procs *p, pid_t pane_pid);	/* there is one */
bool proc_is_shell(const char *name);
/*
 * The npm package that a script belongs to, without its scope: "gemini-cli" of
 * ".../node_modules/@google/gemini-cli/bundle/gemini.js", into name. False: it stands in none.
 */
bool proc_package(const char *script, char name[64]);
/* A program that runs scripts, under whose name an agent may run. */
bool proc_is_runtime(const char *name);

/*
 * The environment block of a live process (NAME=VALUE, each ended by NUL), heap; NULL when it may
 * not be read. It may hold secrets.
 */
char *proc_environ(pid_t pid, size_t *n);
/* One variable out of such a block (borrowed), NULL when it is not there. */
const char *proc_environ_get(const char *block, size_t n, const char *name);
/* The working directory, heap; NULL when it may not be read. */
char *proc_cwd(pid_t pid);

#endif
