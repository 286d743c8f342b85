#ifndef BASE_FAULT_H
#define BASE_FAULT_H

/*
 * Injects crashes and I/O errors. Every mutation passes it just before its effect: store commit,
 * durable write, log append, git, mutating tmux batch. -1 with errno set: behave as if the system
 * call had failed so.
 *
 * Test builds (make FAULTS=1): GT_FAULT=NAME[:N]=kill|eio|enospc|stop names a point and its N-th
 * passage (default 1; empty: none): SIGKILL, SIGSTOP, or an errno.
 */
#ifdef GT_FAULTS
int fault_point(const char *name);
/* In a test build the variable may name another file. */
const char *fault_path(const char *variable, const char *path);
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
#endif

#endif
