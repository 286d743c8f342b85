/*
 * For systems without a file of their own: kill and ps. ps of Linux, macOS and FreeBSD has the
 * columns; start times are seconds since 1970 and go with the wall clock, so that a process with
 * another start is not taken for another process: it is unknown.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process/oom.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/spawn.h"
#include "base/timestamp.h"

#define ROW "pid= -o ppid= -o pgid= -o tpgid= -o state= -o lstart= -o comm="
#define ROUNDING_S 2		/* of ps, in start times */
#define FRESH_MS 500		/* arguments are asked for in bunches */

/* One column, or ROW, of a process; pid 0: of all. Heap; NULL: ps failed, or there is no such process. */
static char *
ask_ps(pid_t pid, const char *columns)
{
	char *command = pid > 0 ? xasprintf("exec ps -ww -p %d -o %s", (int)pid, columns)
				: xasprintf("exec ps -A -ww -o %s", columns);
	const char *const argv[] = { "env", "LC_ALL=C", "TZ=UTC0", "sh", "-c", command, NULL };
	struct buf out = BUF_INIT;
	struct spawn s = { .argv = argv, .out = &out };
	bool ok = spawn_run(&s, NULL) == 0 && s.status == 0 && out.len > 0;

	free(command);
	if (ok)
		return buf_detach(&out);
	buf_wipe(&out);
	return NULL;
}

static bool
has_process(pid_t pid)
{
	return pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH);
}

/* A row, which ends at `end`. */
static bool
parse_row(char *row, char *end, struct proc *out)
{
	static const char ended[] = " <defunct>";
	int pid, ppid, pgrp, tpgid, at = 0;
	struct tm tm = { .tm_isdst = 0 };
	char state[8], *name;

	*end = '\0';
	if (sscanf(row, "%d %d %d %d %7s %n", &pid, &ppid, &pgrp, &tpgid, state, &at) != 5 || at == 0 ||
	    (name = strptime(row + at, "%a %b %d %H:%M:%S %Y", &tm)) == NULL)
		return false;
	while (end > name && end[-1] == ' ')
		*--end = '\0';
	if (str_ends(name, ended))
		name[strlen(name) - strlen(ended)] = '\0';
	name += strspn(name, " ");
	/* macOS has the path */
	if (*name == '/')
		name = strrchr(name, '/') + 1;
	*out = (struct proc){ .pid = pid, .ppid = ppid, .pgrp = pgrp,
		.foreground = tpgid > 0 ? tpgid : -1,
		/* asleep for long, or not to be woken: FreeBSD, macOS */
		.state = (char)(*state == 'I' ? 'S' : *state == 'U' ? 'D' : *state),
		.start = (uint64_t)timegm(&tm) };
	snprintf(out->comm, sizeof out->comm, "%.*s", (int)sizeof out->comm - 1, name);
	return true;
}

int
proc_read(pid_t pid, struct proc *out)
{
	char *row = has_process(pid) ? ask_ps(pid, ROW) : NULL;
	bool read = row != NULL && parse_row(row, row + strcspn(row, "\n"), out);

	free(row);
	return read ? 0 : has_process(pid) ? PROC_UNKNOWN : PROC_GONE;
}

int
proc_list(struct procs *out, struct err *e)
{
	char *rows = ask_ps(0, ROW), *next;

	*out = (struct procs){ .n = 0 };
	for (char *row = rows; row != NULL && *row != '\0'; row = next) {
		char *end = row + strcspn(row, "\n");
		struct proc p;

		next = *end != '\0' ? end + 1 : end;
		if (!parse_row(row, end, &p))
			continue;
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = p;
	}
	free(rows);
	if (out->n == 0) {
		err_set(e, GT_FAIL, "proc",
		    "cannot tell living agents from dead ones: ps does not list processes");
		return err_hint(e, "Look at: ps -A -o %s", ROW);
	}
	qsort(out->v, out->n, sizeof *out->v, proc_by_pid);
	return 0;
}

int64_t
proc_wall_ms(const struct proc *p)
{
	return (int64_t)p->start * 1000;
}

enum proc_life
proc_life(pid_t pid, uint64_t start)
{
	struct proc p = { .start = start };
	int got = proc_read(pid, &p);

	if (got != 0)
		return got == PROC_GONE ? LIFE_GONE : LIFE_UNKNOWN;
	if (proc_has_ended(&p))
		return LIFE_GONE;
	return start == 0 || llabs((long long)(p.start - start)) <= ROUNDING_S ? LIFE_ALIVE : LIFE_UNKNOWN;
}

enum proc_life
proc_life_in(uint64_t pid_ns, int64_t pid, int64_t start, const struct timestamp *now)
{
	bool known = pid > 0 && pid == (pid_t)pid && start > 0;

	if (timestamp_other_space(pid_ns, now))
		return LIFE_ELSEWHERE;
	return known ? proc_life((pid_t)pid, (uint64_t)start) : LIFE_GONE;
}

/* "PID ARGUMENTS" of all processes, read once in FRESH_MS. */
static const char *
all_arguments(void)
{
	static char *rows;
	static int64_t read_at;

	if (rows != NULL && clock_mono_ms() - read_at < FRESH_MS)
		return rows;
	if (rows != NULL)
		explicit_bzero(rows, strlen(rows));
	free(rows);
	rows = ask_ps(0, "pid= -o args=");
	read_at = clock_mono_ms();
	return rows;
}

/* ps joins them with blanks: only a single one is certain to be as it was given. */
bool
proc_arguments(pid_t pid, bool exact, struct buf *out)
{
	const char *row = all_arguments();
	size_t n = 0;

	for (; row != NULL && *row != '\0'; row += n + (row[n] == '\n')) {
		char *args;

		n = strcspn(row, "\n");
		if (strtol(row, &args, 10) != (long)pid)
			continue;
		args += strspn(args, " ");
		n -= (size_t)(args - row);
		while (n > 0 && args[n - 1] == ' ')
			n--;
		/* in brackets: a name, for want of arguments */
		if (n == 0 || *args == '[' || (exact && memchr(args, ' ', n) != NULL))
			return false;
		buf_add(out, args, n);
		for (size_t i = out->len - n; i < out->len; i++)
			if (out->data[i] == ' ')
				out->data[i] = '\0';
		buf_chr(out, '\0');
		return true;
	}
	return false;
}

char *
proc_environ(pid_t pid, size_t *n)
{
	(void)pid;
	*n = 0;
	return NULL;
}

/* The program: the file by which it would be started now. */
char *
proc_path(pid_t pid, enum proc_path what)
{
	struct buf args = BUF_INIT;
	const char *path = getenv("PATH");
	char *found = NULL;

	if (what == PROC_PROGRAM && proc_arguments(pid, false, &args)) {
		/* a login shell calls itself "-bash" */
		const char *name = args.data + (*args.data == '-');

		found = *name == '/' ? xstrdup(name) : path != NULL ? spawn_find_program(name, path) : NULL;
	}
	buf_wipe(&args);
	return found;
}

bool
proc_has_open(pid_t pid, const char *path)
{
	(void)pid;
	(void)path;
	return false;
}

/* Only locks of fcntl name their holder. */
pid_t
proc_lock_holder(const char *path)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	pid_t pid = fd < 0 && errno == ENOENT ? 0 : -1;

	if (fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
		pid = lock.l_pid;
	if (fd >= 0)
		close(fd);
	return pid;
}

/* The first letters are enough, more are not in every ps. */
enum proc_wait
proc_wait(pid_t pid)
{
	static const struct { const char *channel; enum proc_wait wait; } rows[] = {
		/* Linux */
		{ "poll_s", PROC_WAITS_POLLING },
		{ "do_sel", PROC_WAITS_POLLING },
		{ "do_sys", PROC_WAITS_POLLING },
		{ "do_pol", PROC_WAITS_POLLING },
		{ "wait_w", PROC_WAITS_READING },
		{ "n_tty_", PROC_WAITS_READING },
		/* FreeBSD */
		{ "select", PROC_WAITS_POLLING },
		{ "ttyin", PROC_WAITS_READING },
	};
	char *where = ask_ps(pid, "wchan=");
	enum proc_wait wait = PROC_WAITS_ELSEWHERE;

	if (where == NULL || strchr("-?0* \n", *where) != NULL)
		wait = PROC_WAITS_UNSEEN;
	for (size_t i = 0; wait == PROC_WAITS_ELSEWHERE && i < sizeof rows / sizeof rows[0]; i++)
		if (str_starts(where, rows[i].channel))
			wait = rows[i].wait;
	free(where);
	return wait;
}

bool
proc_ignores_interrupt(pid_t pid)
{
	char *mask = ask_ps(pid, "ignored="), *end = mask;
	bool ignores = true;

	if (mask != NULL) {
		unsigned long long bits = strtoull(mask, &end, 16);

		ignores = end == mask || (bits >> (SIGINT - 1) & 1) != 0;
	}
	free(mask);
	return ignores;
}

int64_t
oom_cgroup_kills(const char *cgroups, const char *root)
{
	(void)cgroups;
	(void)root;
	return 0;
}

int64_t
oom_cgroup_kills_of(pid_t pid)
{
	(void)pid;
	return 0;
}

int64_t
proc_memory(pid_t pid)
{
	char *rss = ask_ps(pid, "rss="), *end = rss;
	long long kib = rss != NULL ? strtoll(rss, &end, 10) : 0;
	int64_t bytes = end == rss ? -1 : kib * 1024;

	free(rss);
	return bytes;
}
