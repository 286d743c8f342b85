#ifndef PROCESS_PROC_H
#define PROCESS_PROC_H

#include "process/kernel.h"

/*
 * What follows from the kernel's answers (process/kernel.h). Names come from the process tree,
 * never from pane_current_command (T21, T27).
 */
bool proc_has_ended(const struct proc *p);	/* a zombie */

/*
 * An invisible process of another pid namespace is alive until its last sign of life is older than
 * PROC_SEEN_MS; a negative age (the clocks disagree) is recent. Passes and hooks renew it, at most
 * once in PROC_RENEW_MS.
 */
#define PROC_SEEN_MS ((int64_t)10 * 60 * 1000)
#define PROC_RENEW_MS ((int64_t)5 * 60 * 1000)

/* Its start; 0: ended, or unreadable. */
uint64_t proc_ticks(pid_t pid);
/* ms since 1970; 0: gone, or a zombie. */
int64_t proc_began_ms(pid_t pid);
/* -1, "proc", GT_AGAIN: it exists and cannot be read. */
int proc_refuse_unread(pid_t pid, struct err *e);
int proc_by_pid(const void *a, const void *b);	/* of struct proc, for qsort */
void proc_list_release(struct procs *p);
const struct proc *proc_list_find(const struct procs *p, pid_t pid);
bool proc_list_below(const struct procs *p, pid_t pid, pid_t ancestor);	/* or ancestor itself */

/*
 * Base names of a process: comm, argv[0], and for a runtime (node, bun, python …) its script and
 * npm package.
 */
#define PROC_NAMES 4
size_t proc_names(const struct proc *p, char names[PROC_NAMES][64]);

/*
 * An argument is this word, or --flag=word. The value of the flag `but` (NULL: none) does not
 * count. False: ended, or unreadable.
 */
bool proc_has_argument(const struct proc *p, const char *word, const char *but);

typedef bool proc_is_agent_fn(const void *arg, const char *name);

/* The first process at or below `root` that is an agent's, no zombie; or NULL. */
const struct proc *proc_list_agent(const struct procs *p, pid_t root, proc_is_agent_fn *is_agent,
    const void *arg);

/*
 * The shell of a pane that waits for a person, or 0: a shell by name, started without a script or
 * -c, asleep (or so within 20 ms: it may be showing a key), in the foreground of its terminal, and no
 * child of its group beside it. Children in the background (a server, a prompt's helper) and stopped
 * ones do not count. It is the pane's process, or shells alone stand above it, each of which sleeps
 * and has the next for its only child: `sh -c 'claude; bash'`, or what a recovery starts of it
 * (recover/recover.h). Whether it waits at its prompt tells process/shell.h.
 */
pid_t proc_list_waiting_shell(const struct procs *p, pid_t pane_pid);

/* The shell is the child of one that serves a person, too: somebody has started it there. */
bool proc_list_is_nested(const struct procs *p, pid_t shell);
/*
 * The outermost process between an agent and the shell that a person typed into, or that tmux had
 * run the pane's command; 0: none.
 */
pid_t proc_list_wrapper(const struct procs *p, pid_t agent, pid_t pane_pid);
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

/* Of a block of proc_environ (borrowed), or NULL. */
const char *proc_environ_get(const char *block, size_t n, const char *name);

#endif
