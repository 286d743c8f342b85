#ifndef PROCESS_PROC_H
#define PROCESS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct timestamp;

/*
 * A process is a pid with its start time, since pids are reused. Names come from the process tree,
 * never from pane_current_command (T21, T27).
 */
struct proc {
	pid_t pid, ppid, pgrp, foreground;	/* foreground: the terminal's group (tpgid) */
	char state;				/* R S D T Z … */
	uint64_t start;				/* clock ticks since boot, field 22 of /proc/PID/stat */
	char comm[16];
};

struct procs {
	struct proc *v;				/* by pid, ascending */
	size_t n, cap;
};

#define PROC_GONE (-1)		/* /proc and kill agree that no process has the pid */
#define PROC_UNKNOWN (-2)	/* unreadable; treat it as alive */
/* 0 or one of these two. */
int proc_read(pid_t pid, struct proc *out);
bool proc_has_ended(const struct proc *p);	/* a zombie */

/* Only LIFE_GONE is a death: locks, ends and starts treat the others as alive. */
enum proc_life { LIFE_GONE, LIFE_ALIVE, LIFE_UNKNOWN, LIFE_ELSEWHERE };
/* By pid and start time (clock ticks; 0: any). */
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
 * An invisible process of another pid namespace is alive until its last sign of life is older than
 * PROC_SEEN_MS. Passes and hooks renew it, at most once in PROC_RENEW_MS.
 */
#define PROC_SEEN_MS ((int64_t)10 * 60 * 1000)
#define PROC_RENEW_MS ((int64_t)5 * 60 * 1000)
/* Negative (the clocks disagree): recent. */
bool proc_is_recent(int64_t age_ms);

/* Clock ticks since boot; 0: ended, or unreadable. */
uint64_t proc_ticks(pid_t pid);
int64_t proc_started_ms(const struct proc *p);	/* as clock_boot_ms */
/* as clock_wall_ms as set now, of this boot */
int64_t proc_wall_ms(const struct proc *p);
/* ms since 1970; 0: gone, or a zombie. */
int64_t proc_began_ms(pid_t pid);
/* -1, "proc", GT_AGAIN: it exists and cannot be read. */
int proc_refuse_unread(pid_t pid, struct err *e);
/* -1, "proc": one cannot be read, so the list would be incomplete. */
int proc_list(struct procs *out, struct err *e);
void proc_list_release(struct procs *p);
const struct proc *proc_list_find(const struct procs *p, pid_t pid);
bool proc_list_below(const struct procs *p, pid_t pid, pid_t ancestor);	/* or ancestor itself */

/*
 * Base names of a process: comm, argv[0], and for a runtime (node, bun, python …) its script and
 * npm package.
 */
#define PROC_NAMES 4
size_t proc_names(const struct proc *p, char names[PROC_NAMES][64]);

/* The arguments, each ended by NUL, heap; NULL: none, or unreadable. They may hold secrets. */
char *proc_arguments(pid_t pid, size_t *n);
/* An argument is this word, or --flag=word. False: ended, or unreadable. */
bool proc_has_argument(const struct proc *p, const char *word);

typedef bool proc_is_agent_fn(const void *arg, const char *name);

/* The first process at or below `root` that is an agent's, no zombie; or NULL. */
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
/*
 * Were we typed into the shell of that pane: our parent is a shell at or below its process that
 * serves a person, and we have the terminal's foreground?
 */
bool proc_list_typed_here(const struct procs *p, pid_t pane_pid);
bool proc_is_shell(const char *name);
/*
 * A script's npm package without its scope: "gemini-cli" of
 * ".../node_modules/@google/gemini-cli/bundle/gemini.js". False: none.
 */
bool proc_package(const char *script, char name[64]);
/* Runs scripts, among them agents. */
bool proc_is_runtime(const char *name);

/* NAME=VALUE, a NUL behind each, heap; NULL: not readable. May hold secrets. */
char *proc_environ(pid_t pid, size_t *n);
/* Of such a block (borrowed), or NULL. */
const char *proc_environ_get(const char *block, size_t n, const char *name);
/* Heap; NULL: not readable. */
char *proc_cwd(pid_t pid);

#endif
