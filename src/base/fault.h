#ifndef BASE_FAULT_H
#define BASE_FAULT_H

/*
 * Injects crashes and I/O errors. Every mutation passes it just before its effect: store commit,
 * durable write, log append, git, mutating tmux batch. -1 with errno set: behave as if the system
 * call had failed so.
 *
 * Test builds (make FAULTS=1): GT_FAULT=NAME[:N]=kill|eio|enospc|stop names a point and its N-th
 * passage (default 1; empty: none): SIGKILL, SIGSTOP, or an errno. GT_FAULT=log=FILE appends NAME:N of
 * each passage to the file and lets it pass.
 */
#ifdef GT_FAULTS
int fault_point(const char *name);
/* In a test build the variable may name another file. */
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
