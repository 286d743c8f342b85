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
 * Runs a program without a shell; standard input, output and error in one poll loop. At the
 * deadline its process group gets SIGTERM, then SIGKILL, and it is reaped.
 *
 * The child has default, unblocked signals (posix_spawn passes SIG_IGN of SIGPIPE on, T35),
 * descriptors 0, 1, 2 only, and a process group: Ctrl-C stops us between two steps, not a tmux
 * within one.
 */
struct spawn {
	const char *const *argv;	/* argv[0] is looked up in our PATH */
	const char *const *env;		/* NULL: ours */
	/*
	 * NULL: ours. Behind a change of directory, empty and relative entries of PATH would name
	 * programs of that directory: they are not searched, and the child's PATH has none.
	 */
	const char *cwd;
	const void *in;			/* NULL: /dev/null */
	size_t in_len;
	struct buf *out;		/* NULL: /dev/null */
	struct buf *errout;		/* NULL: /dev/null */
	size_t max_out;   /* of out and errout, each; 0: 64 MiB. Beyond: "too-large" */
	int timeout_ms;			/* 0: 10 s */
	/* May be NULL. Called when out grew; its time does not count for the deadline. */
	void (*on_out)(void *arg);
	void *arg;
	int status;			/* exit status, or 128 + signal */
};

/*
 * Mask and core limit of children, instead of this program's: a tmux server passes both on to its
 * agents. Not above our hard limit.
 */
void spawn_hands_on(mode_t mask, const struct rlimit *core);

/* The same for this process, which is about to execute another program in its place; signals, too. */
void spawn_hand_on_exec(void);

/*
 * 0: it ran to its end, whatever its status. -1: "not-installed", "timeout" (GT_AGAIN),
 * "too-large", "spawn".
 */
int spawn_run(struct spawn *s, struct err *e);

/*
 * Waits for our child until then (clock_mono_ms) and reaps it: true, *status as of waitpid. False:
 * it runs. One reaped elsewhere counts as ended; *status is unchanged.
 */
bool spawn_wait(pid_t pid, int64_t until, int *status);

/*
 * Forks. The child, for which it is 0, has a session of its own, outlives us, and reads and writes
 * /dev/null only. What the parent has open is not for it. -1, "spawn".
 */
pid_t spawn_background(struct err *e);

/*
 * The file of a name without a slash, as execvp would find it in path, but not by an empty entry. Heap;
 * NULL with errno.
 */
char *spawn_find_program(const char *name, const char *path);

/* Is there such a program? A name without a slash is looked for in path, as PATH has it (NULL: nowhere). */
bool spawn_in_path(const char *program, const char *path);

#endif
