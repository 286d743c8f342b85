#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process/oom.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/timestamp.h"

/* What kill says of a pid that cannot be read: /proc may hide it (hidepid), and files run out. */
static int
unread(pid_t pid)
{
	return kill(pid, 0) != 0 && errno == ESRCH ? PROC_GONE : PROC_UNKNOWN;
}

#define NUMBERS 19

/* The name may hold blanks and parentheses: it ends at the last one. */
static bool
parse_stat(const char *text, struct proc *out)
{
	const char *open_paren = strchr(text, '('), *close_paren = strrchr(text, ')'), *at;
	long long fields[NUMBERS] = { 0 };	/* from field 4, the parent, to field 22, the start */
	size_t len;

	if (open_paren == NULL || close_paren == NULL || close_paren[1] != ' ' || close_paren[2] == '\0')
		return false;
	at = close_paren + 3;
	for (size_t i = 0; i < NUMBERS; i++) {
		char *end;

		fields[i] = strtoll(at, &end, 10);
		if (end == at)
			return false;
		at = end;
	}
	out->state = close_paren[2];
	out->ppid = (pid_t)fields[0];
	out->pgrp = (pid_t)fields[1];
	out->foreground = (pid_t)fields[4];
	out->start = (uint64_t)fields[NUMBERS - 1];
	len = (size_t)(close_paren - open_paren - 1);
	if (len >= sizeof out->comm)
		len = sizeof out->comm - 1;
	memcpy(out->comm, open_paren + 1, len);
	out->comm[len] = '\0';
	return true;
}

/* The first bytes of /proc/PID/NAME, and a NUL. -1: unreadable. */
static ssize_t
read_head(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, size - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* All of /proc/PID/NAME, or nothing. */
static bool
read_whole(pid_t pid, const char *name, size_t max, struct buf *out)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && io_read_all(fd, path, max, out, NULL) != 0)
		buf_wipe(out);
	if (fd >= 0)
		close(fd);
	return out->len > 0;
}

int
proc_read(pid_t pid, struct proc *out)
{
	char text[512];

	if (pid <= 0)
		return PROC_GONE;
	if (read_head(pid, "stat", text, sizeof text) <= 0 || !parse_stat(text, out))
		return unread(pid);
	out->pid = pid;
	return 0;
}

int64_t
proc_wall_ms(const struct proc *p)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	int64_t started = (int64_t)(p->start / hz * 1000 + p->start % hz * 1000 / hz);

	return clock_wall_ms() - (clock_boot_ms() - started);
}

/* The pids of a /proc that was mounted for another namespace are not ours. */
static bool
is_own_proc(void)
{
	char own[32];
	ssize_t n = readlink("/proc/self", own, sizeof own - 1);

	own[n > 0 ? n : 0] = '\0';
	return strtol(own, NULL, 10) == (long)getpid();
}

enum proc_life
proc_life(pid_t pid, uint64_t start)
{
	struct proc p;
	int ret = is_own_proc() ? proc_read(pid, &p) : unread(pid);

	if (ret != 0)
		return ret == PROC_GONE ? LIFE_GONE : LIFE_UNKNOWN;
	return proc_has_ended(&p) || (start != 0 && p.start != start) ? LIFE_GONE : LIFE_ALIVE;
}

/* Of the host's namespace every process is seen, in a /proc of its own that hides none. */
static bool
sees_all(uint64_t pid_ns)
{
	struct buf mounts = BUF_INIT;
	bool all = pid_ns == MOMENT_FIRST_SPACE && is_own_proc() &&
	    io_read_file("/proc/self/mounts", (size_t)4 << 20, &mounts, NULL) == 0 &&
	    strstr(mounts.data, "hidepid=") == NULL;

	buf_release(&mounts);
	return all;
}

#define LEVELS_MOST 33	/* the host's pid namespace and the 32 below it that the kernel allows */

/* A process of a record that another pid namespace made. */
struct sought {
	uint64_t pid_ns, own_ns;
	pid_t pid;		/* in pid_ns; 0: any process there */
	uint64_t start;
};

enum { NOT_BELOW = -1, DEPTH_UNREAD = -2 };

/* How many namespaces it is below the sought one: 0 in it, 1 in a sandbox there. Or one of the two. */
static int
depth_below(pid_t pid, const struct sought *x)
{
	char path[64];
	struct stat st;
	int fd, parent, depth, ret = DEPTH_UNREAD;

	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (depth = 0; fd >= 0 && ret == DEPTH_UNREAD && fstat(fd, &st) == 0; depth++) {
		if ((uint64_t)st.st_ino == x->pid_ns)
			ret = depth;
		else if ((uint64_t)st.st_ino == x->own_ns)
			ret = NOT_BELOW;
		parent = ret == DEPTH_UNREAD && depth < LEVELS_MOST ? ioctl(fd, NS_GET_PARENT) : -1;
		close(fd);
		fd = parent;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Its pids, from the host's namespace to its own: "NSpid:\t4711\t7\n". Any user may read them. 0: unread. */
static size_t
read_ns_pids(pid_t pid, long v[LEVELS_MOST])
{
	struct buf b = BUF_INIT;
	const char *at;
	char *end;
	size_t n = 0;

	if (read_whole(pid, "status", 65536, &b) && (at = strstr(b.data, "\nNSpid:\t")) != NULL)
		for (at += strlen("\nNSpid:"); *at == '\t' && n < LEVELS_MOST; at = end)
			v[n++] = strtol(at, &end, 10);
	buf_release(&b);
	return n;
}

/* Does it have the pid there? Of an unread namespace: does it have that pid in any below the host's? */
static bool
may_have_pid(pid_t pid, int depth, const struct sought *x)
{
	long v[LEVELS_MOST];
	size_t n = read_ns_pids(pid, v);

	if (n == 0)
		return true;
	if (depth >= 0)
		return x->pid == 0 || ((size_t)depth < n && v[n - 1 - (size_t)depth] == (long)x->pid);
	for (size_t i = 1; i < n; i++)
		if (x->pid == 0 || v[i] == (long)x->pid)
			return true;
	return false;
}

/* /proc shows start times with the offset of the reader's time namespace. */
static bool
shares_clock(pid_t pid)
{
	char path[64];
	struct stat own, st;

	/* a kernel without time namespaces */
	if (stat("/proc/self/ns/time", &own) != 0)
		return errno == ENOENT;
	snprintf(path, sizeof path, "/proc/%d/ns/time", (int)pid);
	return stat(path, &st) == 0 && st.st_ino == own.st_ino;
}

/* LIFE_GONE: it is not the sought one. LIFE_ELSEWHERE: it may be. */
static enum proc_life
compare_sought(pid_t pid, const struct sought *x)
{
	int depth = depth_below(pid, x), got;
	struct proc p;

	if (depth == NOT_BELOW || !may_have_pid(pid, depth, x))
		return LIFE_GONE;
	got = proc_read(pid, &p);
	if (got == PROC_GONE || (got == 0 && proc_has_ended(&p)))
		return LIFE_GONE;
	if (got != 0 || depth < 0 || x->pid == 0)
		return LIFE_ELSEWHERE;
	if (p.start == x->start)
		return LIFE_ALIVE;
	return shares_clock(pid) ? LIFE_GONE : LIFE_UNKNOWN;
}

static enum proc_life
find_sought(const struct sought *x)
{
	DIR *dir = sees_all(x->own_ns) ? opendir("/proc") : NULL;
	enum proc_life life = dir != NULL ? LIFE_GONE : LIFE_ELSEWHERE;
	struct dirent *d = NULL;

	while (dir != NULL && life != LIFE_ALIVE && (errno = 0, d = readdir(dir)) != NULL) {
		enum proc_life one = isdigit((unsigned char)d->d_name[0]) ?
		    compare_sought((pid_t)atoi(d->d_name), x) : LIFE_GONE;

		if (one != LIFE_GONE && life != LIFE_UNKNOWN)
			life = one;
		/* the namespace runs */
		if (x->pid == 0 && life != LIFE_GONE)
			break;
	}
	if (d == NULL && errno != 0 && life == LIFE_GONE)
		life = LIFE_ELSEWHERE;
	if (dir != NULL)
		closedir(dir);
	return life;
}

enum proc_life
proc_life_in(uint64_t pid_ns, int64_t pid, int64_t start, const struct timestamp *now)
{
	bool known = pid > 0 && pid == (pid_t)pid && start > 0;
	struct sought x = { .pid_ns = pid_ns, .own_ns = now->pid_ns };

	if (!timestamp_other_space(pid_ns, now))
		return known ? proc_life((pid_t)pid, (uint64_t)start) : LIFE_GONE;
	if (known) {
		x.pid = (pid_t)pid;
		x.start = (uint64_t)start;
	}
	return find_sought(&x);
}

/* With hidepid=1 no other user's process can be read; with hidepid=2 none is listed. */
static bool
is_hidden(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	return geteuid() != 0 && stat(path, &st) == 0 && st.st_uid != geteuid();
}

int
proc_list(struct procs *out, struct err *e)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (dir == NULL)
		return err_sys(
		    e, GT_FAIL, "proc", "cannot tell living agents from dead ones: /proc cannot be read");
	while (ret == 0 && (errno = 0, d = readdir(dir)) != NULL) {
		pid_t pid = isdigit((unsigned char)d->d_name[0]) ? (pid_t)atoi(d->d_name) : 0;
		struct proc p;
		int got = pid > 0 ? proc_read(pid, &p) : PROC_GONE;

		if (got == PROC_UNKNOWN && !is_hidden(pid))
			ret = proc_refuse_unread(pid, e);
		if (got != 0)
			continue;
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = p;
	}
	if (ret == 0 && errno != 0)
		ret = err_sys(
		    e, GT_FAIL, "proc", "cannot tell living agents from dead ones: /proc cannot be read");
	closedir(dir);
	if (ret != 0)
		proc_list_release(out);
	else
		qsort(out->v, out->n, sizeof *out->v, proc_by_pid);
	return ret;
}

bool
proc_arguments(pid_t pid, bool exact, struct buf *out)
{
	(void)exact;
	return read_whole(pid, "cmdline", (size_t)4 << 20, out);
}

char *
proc_environ(pid_t pid, size_t *n)
{
	struct buf b = BUF_INIT;

	if (!read_whole(pid, "environ", (size_t)8 << 20, &b))
		return NULL;
	*n = b.len;
	return buf_detach(&b);
}

char *
proc_path(pid_t pid, enum proc_path what)
{
	static const char *const names[] = {
		[PROC_CWD] = "cwd", [PROC_PROGRAM] = "exe", [PROC_OUTPUT] = "fd/1"
	};
	char path[64], target[4097];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, names[what]);
	n = readlink(path, target, sizeof target - 1);
	return n > 0 ? xstrndup(target, (size_t)n) : NULL;
}

bool
proc_has_open(pid_t pid, const char *path)
{
	char fds[64], target[4097];
	struct dirent *d;
	bool found = false;
	DIR *dir;

	snprintf(fds, sizeof fds, "/proc/%d/fd", (int)pid);
	dir = opendir(fds);
	while (dir != NULL && !found && (d = readdir(dir)) != NULL) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, target, sizeof target - 1);

		target[n > 0 ? n : 0] = '\0';
		found = strcmp(target, path) == 0;
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

pid_t
proc_lock_holder(const char *path)
{
	struct stat st;
	char line[256], want[64];
	FILE *f;
	int pid, found = 0;

	if (stat(path, &st) != 0)
		return 0;
	f = fopen("/proc/locks", "re");
	if (f == NULL)
		return -1;
	snprintf(
	    want, sizeof want, "%02x:%02x:%ju", major(st.st_dev), minor(st.st_dev), (uintmax_t)st.st_ino);
	while (found == 0 && fgets(line, sizeof line, f) != NULL) {
		char at[64];

		/* "1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF"; one that waits has "->" there */
		if (sscanf(line, "%*s %*s %*s %*s %d %63s", &pid, at) == 2 && strcmp(at, want) == 0)
			found = pid;
	}
	fclose(f);
	return (pid_t)found;
}

static enum proc_wait
wait_of_call(pid_t pid)
{
	static const long poll_calls[] = {
#ifdef SYS_poll
		SYS_poll,
#endif
#ifdef SYS_select
		SYS_select,
#endif
		SYS_ppoll, SYS_pselect6
	};
	char text[256];
	long call;

	if (read_head(pid, "syscall", text, sizeof text) <= 0)
		return PROC_WAITS_UNSEEN;
	if (!isdigit((unsigned char)*text))
		return PROC_WAITS_ELSEWHERE;
	call = strtol(text, NULL, 10);
	for (size_t i = 0; i < sizeof poll_calls / sizeof poll_calls[0]; i++)
		if (call == poll_calls[i])
			return PROC_WAITS_POLLING;
	return call == SYS_read ? PROC_WAITS_READING : PROC_WAITS_ELSEWHERE;
}

/*
 * wchan is the kernel's name of the function, cut at its suffixes; it is "0" where the kernel keeps
 * it to itself, and then the number of the system call serves.
 */
enum proc_wait
proc_wait(pid_t pid)
{
	static const struct { const char *function; enum proc_wait wait; } rows[] = {
		{ "poll_schedule_timeout", PROC_WAITS_POLLING },
		{ "do_select", PROC_WAITS_POLLING },
		{ "do_sys_poll", PROC_WAITS_POLLING },
		{ "do_poll", PROC_WAITS_POLLING },
		{ "wait_woken", PROC_WAITS_READING },
		{ "n_tty_read", PROC_WAITS_READING },
	};
	char where[128];

	if (read_head(pid, "wchan", where, sizeof where) <= 0 || strcmp(where, "0") == 0)
		return wait_of_call(pid);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (str_starts(where, rows[i].function))
			return rows[i].wait;
	return PROC_WAITS_ELSEWHERE;
}

bool
proc_ignores_interrupt(pid_t pid)
{
	char text[4096];
	const char *at;

	if (read_head(pid, "status", text, sizeof text) <= 0)
		return true;
	at = strstr(text, "\nSigIgn:");
	return at == NULL || (strtoull(at + strlen("\nSigIgn:"), NULL, 16) >> (SIGINT - 1) & 1) != 0;
}

/* The number behind "oom_kill " at the start of a line; 0: there is none. */
static int64_t
read_count(const char *path)
{
	static const char name[] = "oom_kill ";
	struct buf text = BUF_INIT;
	int64_t n = 0;

	if (io_read_file(path, (size_t)65536, &text, NULL) == 0)
		for (const char *p = text.data; p != NULL && *p != '\0'; p = strchr(p, '\n')) {
			p += *p == '\n';
			if (strncmp(p, name, strlen(name)) == 0)
				n = strtoll(p + strlen(name), NULL, 10);
		}
	buf_release(&text);
	return n > 0 ? n : 0;
}

/* "0::/user.slice" of version 2, "9:cpu,memory:/user.slice" of version 1. */
int64_t
oom_cgroup_kills(const char *cgroups, const char *root)
{
	int64_t most = 0;

	if (root == NULL)
		root = fault_path("GT_CGROUP", "/sys/fs/cgroup");
	for (const char *p = cgroups, *nl; *p != '\0'; p = *nl != '\0' ? nl + 1 : nl) {
		const char *names = strchr(p, ':'), *dir = names != NULL ? strchr(names + 1, ':') : NULL;
		char *list, *path;
		bool two;

		nl = strchrnul(p, '\n');
		if (dir == NULL || dir > nl)
			continue;
		list = xasprintf(",%.*s,", (int)(dir - names - 1), names + 1);
		two = strcmp(list, ",,") == 0;
		path = xasprintf("%s%s%.*s/%s", root, two ? "" : "/memory", (int)(nl - dir - 1), dir + 1,
		    two ? "memory.events" : "memory.oom_control");
		if (two || strstr(list, ",memory,") != NULL) {
			int64_t n = read_count(path);

			most = n > most ? n : most;
		}
		free(list);
		free(path);
	}
	return most;
}

int64_t
oom_cgroup_kills_of(pid_t pid)
{
	char *path = xasprintf("/proc/%d/cgroup", (int)pid);
	struct buf text = BUF_INIT;
	int64_t n = 0;

	if (io_read_file(path, (size_t)65536, &text, NULL) == 0)
		n = oom_cgroup_kills(text.data, NULL);

	buf_release(&text);
	free(path);
	return n;
}

int64_t
proc_memory(pid_t pid)
{
	unsigned long long resident, shared;
	char text[256];

	if (read_head(pid, "statm", text, sizeof text) <= 0 ||
	    sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
		return -1;
	return (int64_t)(resident - shared) * sysconf(_SC_PAGESIZE);
}
