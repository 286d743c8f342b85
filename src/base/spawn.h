#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct buf;
struct err;

/*
 * Runs a program to its end, without a shell: feeds its standard input, takes its standard output
 * and error, all in one poll loop (a full pipe must not lock us up), until a deadline. At the
 * deadline the child gets SIGTERM, then SIGKILL, and is reaped.
 *
 * The child starts with all signals at their defaults and unblocked (posix_spawn hands SIG_IGN of
 * SIGPIPE on otherwise, fact T35), and with no descriptors but 0, 1, 2, in a process group of its
 * own: a person's Ctrl-C stops us between two steps, not a tmux in the middle of one.
 */
struct spawn {
	const char *const *argv;	/* argv[0] is looked up in PATH */
	const char *const *env;		/* NULL: ours */
	const char *cwd;		/* NULL: ours */
	const void *in;			/* NULL: /dev/null */
	size_t in_len;
	struct buf *out;		/* NULL: /dev/null */
	struct buf *errout;		/* NULL: /dev/null */
	size_t max_out;   /* cap for out and errout, each; 0: 64 MiB. Beyond it: name "too-large" */
	int timeout_ms;			/* 0: 10 s */
	/*
	 * NULL: nothing. Called whenever there is more in out, while the program works on; what
	 * it takes does not count for the deadline.
	 */
	void (*on_out)(void *arg);
	void *arg;
	int status;			/* answer: exit status, or 128 + signal */
};

/*
 * What the children get instead of what this program has given to itself: a tmux server that we
 * start hands both on to all its agents. The limit must not be above our own hard one.
 */
void spawn_hands_on(mode_t mask, const struct rlimit *core);

/* The same for this process, which is about to execute another program in its place; signals, too. */
void spawn_hand_on_exec(void);

/*
 * 0 when the program ran to its end, whatever its status. -1: name "not-installed" (no such
 * program), "timeout" (code GT_AGAIN), "too-large", "spawn".
 */
int spawn_run(struct spawn *s, struct err *e);

/*
 * Waits for a child of ours until then (clock_mono_ms), and reaps it: true, with *status as waitpid gives it.
 * False: it still runs. A child that somebody else has reaped counts as ended and leaves *status alone.
 */
bool spawn_wait(pid_t pid, int64_t until, int *status);

#endif
