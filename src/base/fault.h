#ifndef BASE_FAULT_H
#define BASE_FAULT_H

/*
 * The one place where crashes and I/O errors are injected. Every mutation passes it just before
 * its effect: store commit, durable file write, log append, git, mutating tmux batch.
 *
 * In a test build (make FAULTS=1) the environment variable GT_FAULT=NAME[:N]=kill|eio|enospc|stop
 * names a point and its N-th passage (default 1; empty: none): the process kills itself with
 * SIGKILL, stops itself with SIGSTOP, or the point answers an errno. In the shipped build the
 * call is nothing.
 *
 * Returns 0, or -1 with errno set; the caller then behaves as if its own system call had failed so.
 */
#ifdef GT_FAULTS
int fault_point(const char *name);
/* In a test build the environment variable may name another file than the machine's own. */
const char *fault_path(const char *variable, const char *path);
/*
 * Likewise a wait of other ms: how long nothing must happen before it counts, or how long others
 * have the first go. Not for deadlines that protect slow machines.
 */
int fault_wait_ms(const char *variable, int ms);
#else
static inline int
fault_point(const char *name)
{
	(void)name;
	return 0;
}

static inline const char *
fault_path(const char *variable, const char *path)
{
	(void)variable;
	return path;
}

static inline int
fault_wait_ms(const char *variable, int ms)
{
	(void)variable;
	return ms;
}
#endif

#endif
