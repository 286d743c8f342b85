#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

bool
proc_has_ended(const struct proc *p)
{
	return p->state == 'Z' || p->state == 'X';
}

uint64_t
proc_ticks(pid_t pid)
{
	struct proc p;

	return proc_read(pid, &p) == 0 && !proc_has_ended(&p) ? p.start : 0;
}

int64_t
proc_began_ms(pid_t pid)
{
	struct proc p;

	return proc_read(pid, &p) == 0 && !proc_has_ended(&p) ? proc_wall_ms(&p) : 0;
}

int
proc_by_pid(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int
proc_refuse_unread(pid_t pid, struct err *e)
{
	err_set(e, GT_AGAIN, "proc", "cannot tell living agents from dead ones: process %d cannot be read",
	    (int)pid);
	return err_hint(e,
	    "Free memory or file descriptors (ulimit -n; /proc/sys/fs/file-nr), then run the command again");
}

void
proc_list_release(struct procs *p)
{
	free(p->v);
	memset(p, 0, sizeof *p);
}

const struct proc *
proc_list_find(const struct procs *p, pid_t pid)
{
	struct proc key = { .pid = pid };

	return p->n > 0 ? bsearch(&key, p->v, p->n, sizeof key, proc_by_pid) : NULL;
}

bool
proc_list_below(const struct procs *p, pid_t pid, pid_t ancestor)
{
	for (int depth = 0; depth < 64 && pid > 1; depth++) {
		const struct proc *q;

		if (pid == ancestor)
			return true;
		q = proc_list_find(p, pid);
		if (q == NULL)
			return false;
		pid = q->ppid;
	}
	return false;
}

static void
keep_name(char names[PROC_NAMES][64], size_t *n, const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash != NULL ? slash + 1 : name;
	/* a login shell calls itself "-bash" */
	if (name[0] == '-')
		name++;
	for (size_t i = 0; i < *n; i++)
		if (strcmp(names[i], name) == 0)
			return;
	if (*name != '\0' && *n < PROC_NAMES)
		snprintf(names[(*n)++], 64, "%s", name);
}

bool
proc_is_runtime(const char *name)
{
	static const char *const runtimes[] = { "node", "nodejs", "bun", "deno", "python", "python3",
		"MainThread" };

	for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++)
		if (strcmp(name, runtimes[i]) == 0)
			return true;
	return false;
}

bool
proc_package(const char *script, char name[64])
{
	static const char mark[] = "/node_modules/";
	const char *at = NULL, *hit = script;
	size_t n;

	while ((hit = strstr(hit, mark)) != NULL)
		at = hit += sizeof mark - 1;
	if (at != NULL && *at == '@')
		at = (at = strchr(at, '/')) != NULL ? at + 1 : NULL;
	n = at != NULL ? strcspn(at, "/") : 0;
	if (n == 0 || n >= 64 || at[n] != '/')
		return false;
	memcpy(name, at, n);
	name[n] = '\0';
	return true;
}

size_t
proc_names(const struct proc *p, char names[PROC_NAMES][64])
{
	char package[64];
	struct buf b = BUF_INIT;
	size_t n = 0;

	keep_name(names, &n, p->comm);
	if (proc_arguments(p->pid, false, &b)) {
		const char *arg = b.data;

		keep_name(names, &n, arg);
		if (proc_is_runtime(names[n - 1]) || proc_is_runtime(p->comm)) {
			do
				arg += strlen(arg) + 1;
			while (arg < b.data + b.len && *arg == '-');
			if (arg < b.data + b.len)
				keep_name(names, &n, strstr(arg, "/claude-code/") != NULL ? "claude" : arg);
			if (arg < b.data + b.len && proc_package(arg, package))
				keep_name(names, &n, package);
		}
	}
	buf_wipe(&b);
	return n;
}

bool
proc_has_argument(const struct proc *p, const char *word, const char *but)
{
	struct buf b = BUF_INIT;
	size_t n = strlen(word);
	bool found = false, value = false;

	if (!proc_has_ended(p) && proc_arguments(p->pid, false, &b))
		for (size_t at = 0, len; at < b.len && !found; at += len + 1) {
			len = strlen(b.data + at);
			found = !value && len >= n && strcmp(b.data + at + len - n, word) == 0 &&
			    (len == n || (b.data[at] == '-' && b.data[at + len - n - 1] == '='));
			value = but != NULL && strcmp(b.data + at, but) == 0;
		}
	buf_wipe(&b);
	return found;
}

const struct proc *
proc_list_agent(const struct procs *p, pid_t root, proc_is_agent_fn *is_agent, const void *arg)
{
	for (size_t i = 0; i < p->n; i++) {
		char names[PROC_NAMES][64];
		size_t n;

		if (proc_has_ended(&p->v[i]) || !proc_list_below(p, p->v[i].pid, root))
			continue;
		n = proc_names(&p->v[i], names);
		for (size_t k = 0; k < n; k++)
			if (is_agent(arg, names[k]))
				return &p->v[i];
	}
	return NULL;
}

bool
proc_is_shell(const char *name)
{
	static const char *const shells[] = { "bash", "zsh", "sh", "dash", "fish", "tcsh", "csh", "ksh",
		"mksh", "ash", "pwsh", "nu", "xonsh" };

	for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
		if (strcmp(name, shells[i]) == 0)
			return true;
	return false;
}

/*
 * A shell that runs a script, or -c, may be about to start an agent; one with options alone
 * serves a person.
 */
static bool
is_interactive(pid_t pid)
{
	struct buf b = BUF_INIT;
	bool yes = proc_arguments(pid, false, &b);

	for (size_t at = strlen(b.data) + 1; at < b.len; at += strlen(b.data + at) + 1) {
		const char *arg = b.data + at;

		if (arg[0] != '-' || (arg[1] != '-' && strchr(arg, 'c') != NULL))
			yes = false;
	}
	buf_wipe(&b);
	return yes;
}

static bool
is_shell(const struct proc *p)
{
	char names[PROC_NAMES][64];
	size_t n = proc_names(p, names);

	for (size_t i = 0; i < n; i++)
		if (proc_is_shell(names[i]))
			return true;
	return false;
}

/* How many children of a process live; *one: the last of them. */
static size_t
live_children(const struct procs *p, pid_t parent, const struct proc **one)
{
	size_t found = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].ppid != parent || proc_has_ended(&p->v[i]))
			continue;
		*one = &p->v[i];
		found++;
	}
	return found;
}

#define SHELLS_MOST 16

/* A child that has its parent's group: part of what the parent does right now. */
static bool
has_companion(const struct procs *p, const struct proc *shell)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].ppid == shell->pid && p->v[i].pgrp == shell->pgrp && !proc_has_ended(&p->v[i]))
			return true;
	return false;
}

#define WAIT_SAMPLES 4
#define WAIT_SAMPLE_MS 5

/* It waits, or does so a moment later: one sample may catch a shell that is showing a key just typed. */
static bool
is_waiting(const struct proc *shell)
{
	struct proc now = *shell;

	for (int i = 0; i < WAIT_SAMPLES && now.state == 'R'; i++) {
		clock_sleep_ms(WAIT_SAMPLE_MS);
		if (proc_read(shell->pid, &now) != 0 || now.start != shell->start ||
		    now.foreground != shell->foreground)
			return false;
	}
	return now.state == 'S';
}

pid_t
proc_list_waiting_shell(const struct procs *p, pid_t pane_pid)
{
	const struct proc *shell = proc_list_find(p, pane_pid);

	for (int depth = 0; depth < SHELLS_MOST; depth++) {
		if (shell == NULL || !is_shell(shell) || !is_waiting(shell))
			return 0;
		if (shell->foreground == shell->pgrp && is_interactive(shell->pid) &&
		    !has_companion(p, shell))
			return shell->pid;
		if (live_children(p, shell->pid, &shell) != 1)
			return 0;
	}
	return 0;
}

bool
proc_list_is_nested(const struct procs *p, pid_t shell)
{
	const struct proc *x = proc_list_find(p, shell);
	const struct proc *above = x != NULL ? proc_list_find(p, x->ppid) : NULL;

	return above != NULL && is_shell(above) && is_interactive(above->pid);
}

/* No script: it serves a person, or runs the command line that it was given. */
static bool
runs_no_script(pid_t pid)
{
	struct buf words = BUF_INIT;
	bool script = false, line = false;

	if (proc_arguments(pid, true, &words))
		for (size_t at = strlen(words.data) + 1; at < words.len && !script && !line;
		    at += strlen(words.data + at) + 1) {
			script = words.data[at] != '-';
			line = !script && words.data[at + 1] != '-' && strchr(words.data + at, 'c') != NULL;
		}
	buf_wipe(&words);
	return !script;
}

pid_t
proc_list_wrapper(const struct procs *p, pid_t agent, pid_t pane_pid)
{
	const struct proc *x = proc_list_find(p, agent);
	pid_t outermost = 0;

	for (int depth = 0; depth < SHELLS_MOST && x != NULL && x->pid != pane_pid; depth++) {
		x = proc_list_find(p, x->ppid);
		if (x == NULL || (is_shell(x) && runs_no_script(x->pid)))
			break;
		outermost = x->pid;
	}
	return x != NULL ? outermost : 0;
}

bool
proc_list_typed_here(const struct procs *p, pid_t pane_pid)
{
	const struct proc *own = proc_list_find(p, getpid()),
			  *shell = own != NULL ? proc_list_find(p, own->ppid) : NULL;

	return shell != NULL && own->foreground == own->pgrp && is_shell(shell) &&
	    is_interactive(shell->pid) && proc_list_below(p, shell->pid, pane_pid);
}

const char *
proc_environ_get(const char *block, size_t n, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < n; at += strlen(block + at) + 1)
		if (strncmp(block + at, name, len) == 0 && block[at + len] == '=')
			return block + at + len + 1;
	return NULL;
}
