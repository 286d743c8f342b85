#ifndef AGENT_LIVENESS_H
#define AGENT_LIVENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * What /proc knows. A process is a pid together with its start time: pids are used again. Names come from the process tree, never from
 * pane_current_command (facts T21, T27).
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

/* 0, or -1 when the process is gone. */
int proc_read(pid_t pid, struct proc *out);
/* When a living process began, in clock ticks since boot. 0: it is gone, though nobody may have waited for it yet. */
uint64_t proc_ticks(pid_t pid);
int64_t proc_started_ms(const struct proc *p);	/* on the scale of clock_boot_ms */
int64_t proc_wall_ms(const struct proc *p);	/* on that of clock_wall_ms as it is set now, when it began in this boot */
/* When a living process began, ms since 1970. 0: it is gone, though nobody may have waited for it yet. */
int64_t proc_began_ms(pid_t pid);
/* One look at all processes. */
int procs_read(struct procs *out, struct err *e);
void procs_release(struct procs *p);
const struct proc *procs_find(const struct procs *p, pid_t pid);
bool procs_below(const struct procs *p, pid_t pid, pid_t ancestor);	/* also true for ancestor itself */

/* Base names by which a process may be known: comm, argv[0], and for a runtime (node, bun, python …) its script and npm package. */
#define PROC_NAMES 4
size_t proc_names(const struct proc *p, char names[PROC_NAMES][64]);

/* Is this word one of its arguments, alone or as --flag=word? False for what has ended or may not be read. */
bool proc_has_argument(const struct proc *p, const char *word);

/* Answers whether a name is an agent's process. */
typedef bool proc_is_agent(const void *arg, const char *name);

/* The first process at or below `root` that is an agent's; NULL when there is none. Zombies do not count. */
const struct proc *procs_agent(const struct procs *p, pid_t root, proc_is_agent *is_agent, const void *arg);

/*
 * True when the pane's process is a shell that waits for a person: a shell by name, started without a script or -c,
 * without any child but zombies, in the foreground of its terminal, and asleep. Or shells alone stand above it, each of which
 * sleeps and has the next for its only child: `sh -c 'claude; bash'`, or what a recovery starts of it (revive/respawn.h).
 */
bool procs_idle_shell(const struct procs *p, pid_t pane_pid);
bool proc_is_shell(const char *name);
/*
 * The npm package that a script belongs to, without its scope: "gemini-cli" of ".../node_modules/@google/gemini-cli/bundle/gemini.js", into
 * name. False: it stands in none.
 */
bool proc_package(const char *script, char name[64]);
/* A program that runs scripts, under whose name an agent may run. */
bool proc_is_runtime(const char *name);

/* The environment block of a live process (NAME=VALUE, each ended by NUL), heap; NULL when it may not be read. It may hold secrets. */
char *proc_environ(pid_t pid, size_t *n);
/* One variable out of such a block (borrowed), NULL when it is not there. */
const char *environ_get(const char *block, size_t n, const char *name);
/* The working directory, heap; NULL when it may not be read. */
char *proc_cwd(pid_t pid);

#endif
