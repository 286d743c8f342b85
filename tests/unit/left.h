#ifndef TESTS_UNIT_LEFT_H
#define TESTS_UNIT_LEFT_H

/*
 * Processes such as an agent's death leaves: started by the test, handed to init, ended by the
 * test by their id.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/proc.h"
#include "base/buf.h"
#include "base/clock.h"

/*
 * A shell in a session of its own that runs `command` by eval, as Claude Code's Bash tool does;
 * env as for execve. Its standard output goes to `output` (NULL: /dev/null). parent: the process
 * stays a child of one that is called "claude", whose pid goes to *parent.
 */
static inline pid_t
left_start(const char *config_dir, const char *cwd, const char *command, char *const env[],
    const char *output, pid_t *parent)
{
	char *text = xasprintf(": source %s/shell-snapshots/snapshot-bash-1-abc.sh 2>/dev/null || true && "
			       "eval '%s' < /dev/null && pwd -P "
			       ">| /dev/null",
	    config_dir, command);
	char shell[] = "/bin/sh", flag[] = "-c", *argv[] = { shell, flag, text, NULL };
	pid_t pid = -1, middle;
	int said[2], started[2];
	char c;

	if (pipe2(said, O_CLOEXEC) != 0 || pipe2(started, O_CLOEXEC) != 0 || (middle = fork()) < 0)
		abort();
	if (middle == 0) {
		prctl(PR_SET_NAME, "claude");
		pid = fork();
		if (pid == 0) {
			setsid();
			if (chdir(cwd) != 0 ||
			    freopen(output != NULL ? output : "/dev/null", "a", stdout) == NULL)
				_exit(1);
			execve(argv[0], argv, env);
			_exit(1);
		}
		if (write(said[1], &pid, sizeof pid) != sizeof pid)
			_exit(1);
		close(started[1]);
		while (parent != NULL)
			pause();
		_exit(0);
	}
	close(said[1]);
	close(started[1]);
	/* the end of the second pipe is closed by the exec */
	if (read(said[0], &pid, sizeof pid) != sizeof pid || read(started[0], &c, 1) != 0)
		abort();
	close(said[0]);
	close(started[0]);
	if (parent != NULL)
		*parent = middle;
	else
		waitpid(middle, NULL, 0);
	free(text);
	return pid;
}

static inline bool
left_runs(pid_t group)
{
	struct procs all;
	bool runs = false;

	if (proc_list(&all, NULL) != 0)
		abort();
	for (size_t i = 0; i < all.n; i++)
		runs = runs || (all.v[i].pgrp == group && all.v[i].state != 'Z');
	proc_list_release(&all);
	return runs;
}

/* Ends all of it, and waits until it is gone. */
static inline void
left_end(pid_t pid)
{
	kill(-pid, SIGKILL);
	for (int i = 0; i < 1000 && left_runs(pid); i++)
		clock_sleep_ms(5);
}

#endif
