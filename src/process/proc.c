#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/proc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/timestamp.h"

/* What kill says of a pid that cannot be read: /proc may hide it (hidepid), and files run out. */
static int
unread(pid_t pid)
{
	return kill(pid, 0) != 0 && errno == ESRCH ? PROC_GONE : PROC_UNKNOWN;
}

/* The name may hold blanks and parentheses: it ends at the last one. */
static bool
parse_stat(const char *text, struct proc *out)
{
	const char *open_paren = strchr(text, '('), *close_paren = strrchr(text, ')');
	unsigned long long start;
	int ppid, pgrp, tpgid;
	size_t len;

	if (open_paren == NULL || close_paren == NULL)
		return false;
	if (sscanf(close_paren + 1,
		" %c %d %d %*d %*d %d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &out->state,
		&ppid, &pgrp, &tpgid, &start) != 5)
		return false;
	out->ppid = ppid;
	out->pgrp = pgrp;
	out->foreground = tpgid;
	out->start = start;
	len = (size_t)(close_paren - open_paren - 1);
	if (len >= sizeof out->comm)
		len = sizeof out->comm - 1;
	memcpy(out->comm, open_paren + 1, len);
	out->comm[len] = '\0';
	return true;
}

int
proc_read(pid_t pid, struct proc *out)
{
	char path[64], text[512];
	ssize_t n;
	int fd;

	if (pid <= 0)
		return PROC_GONE;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return unread(pid);
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (n <= 0 || !parse_stat(text, out))
		return unread(pid);
	out->pid = pid;
	return 0;
}

bool
proc_has_ended(const struct proc *p)
{
	return p->state == 'Z' || p->state == 'X';
}

int64_t
proc_started_ms(const struct proc *p)
{
	return (int64_t)(p->start / (uint64_t)sysconf(_SC_CLK_TCK)) * 1000 +
	    (int64_t)(p->start % (uint64_t)sysconf(_SC_CLK_TCK)) * 1000 / sysconf(_SC_CLK_TCK);
}

uint64_t
proc_ticks(pid_t pid)
{
	struct proc p;

	return proc_read(pid, &p) == 0 && !proc_has_ended(&p) ? p.start : 0;
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
	char path[64], *end;
	struct buf b = BUF_INIT;
	const char *at;
	size_t n = 0;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (io_read_file(path, 65536, &b, NULL) == 0 && (at = strstr(b.data, "\nNSpid:\t")) != NULL)
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

bool
proc_is_recent(int64_t age_ms)
{
	return age_ms <= PROC_SEEN_MS;
}

int64_t
proc_wall_ms(const struct proc *p)
{
	return clock_wall_ms() - (clock_boot_ms() - proc_started_ms(p));
}

int64_t
proc_began_ms(pid_t pid)
{
	struct proc p;

	return proc_read(pid, &p) == 0 && !proc_has_ended(&p) ? proc_wall_ms(&p) : 0;
}

static int
by_pid(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
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
proc_refuse_unread(pid_t pid, struct err *e)
{
	err_set(e, GT_AGAIN, "proc", "cannot tell living agents from dead ones: process %d cannot be read",
	    (int)pid);
	return err_hint(e,
	    "Free memory or file descriptors (ulimit -n; /proc/sys/fs/file-nr), then run the command again");
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
		qsort(out->v, out->n, sizeof *out->v, by_pid);
	return ret;
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

	return p->n > 0 ? bsearch(&key, p->v, p->n, sizeof key, by_pid) : NULL;
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
	char path[64], package[64];
	struct buf b = BUF_INIT;
	size_t n = 0;
	int fd;

	keep_name(names, &n, p->comm);
	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && io_read_all(fd, path, (size_t)4 << 20, &b, NULL) == 0 && b.len > 0) {
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
	if (fd >= 0)
		close(fd);
	buf_wipe(&b);
	return n;
}

bool
proc_has_argument(const struct proc *p, const char *word)
{
	char path[64];
	struct buf b = BUF_INIT;
	size_t n = strlen(word);
	bool found = false;
	int fd;

	if (p->state == 'Z' || p->state == 'X')
		return false;
	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && io_read_all(fd, path, (size_t)4 << 20, &b, NULL) == 0)
		for (size_t at = 0, len; at < b.len && !found; at += len + 1) {
			len = strlen(b.data + at);
			found = len >= n && strcmp(b.data + at + len - n, word) == 0 &&
			    (len == n || (b.data[at] == '-' && b.data[at + len - n - 1] == '='));
		}
	if (fd >= 0)
		close(fd);
	buf_wipe(&b);
	return found;
}

char *
proc_arguments(pid_t pid, size_t *n)
{
	char path[64];
	struct buf b = BUF_INIT;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_all(fd, path, (size_t)4 << 20, &b, NULL) != 0 || b.len == 0)
		buf_wipe(&b);
	if (fd >= 0)
		close(fd);
	*n = b.len;
	return b.len > 0 ? buf_detach(&b) : NULL;
}

const struct proc *
proc_list_agent(const struct procs *p, pid_t root, proc_is_agent_fn *is_agent, const void *arg)
{
	for (size_t i = 0; i < p->n; i++) {
		char names[PROC_NAMES][64];
		size_t n;

		if (p->v[i].state == 'Z' || p->v[i].state == 'X' || !proc_list_below(p, p->v[i].pid, root))
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
	char path[64];
	struct buf b = BUF_INIT;
	bool yes = false;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && io_read_all(fd, path, (size_t)4 << 20, &b, NULL) == 0 && b.len > 0) {
		yes = true;
		for (size_t at = strlen(b.data) + 1; at < b.len; at += strlen(b.data + at) + 1) {
			const char *arg = b.data + at;

			if (arg[0] != '-' || (arg[1] != '-' && strchr(arg, 'c') != NULL))
				yes = false;
		}
	}
	if (fd >= 0)
		close(fd);
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
		if (p->v[i].ppid != parent || p->v[i].state == 'Z' || p->v[i].state == 'X')
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
		if (p->v[i].ppid == shell->pid && p->v[i].pgrp == shell->pgrp && p->v[i].state != 'Z' &&
		    p->v[i].state != 'X')
			return true;
	return false;
}

pid_t
proc_list_waiting_shell(const struct procs *p, pid_t pane_pid)
{
	const struct proc *shell = proc_list_find(p, pane_pid);

	for (int depth = 0; depth < SHELLS_MOST; depth++) {
		if (shell == NULL || shell->state != 'S' || !is_shell(shell))
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
proc_list_idle_shell(const struct procs *p, pid_t pane_pid)
{
	return proc_list_waiting_shell(p, pane_pid) != 0;
}

bool
proc_list_typed_here(const struct procs *p, pid_t pane_pid)
{
	const struct proc *own = proc_list_find(p, getpid()),
			  *shell = own != NULL ? proc_list_find(p, own->ppid) : NULL;

	return shell != NULL && own->foreground == own->pgrp && is_shell(shell) &&
	    is_interactive(shell->pid) && proc_list_below(p, shell->pid, pane_pid);
}

char *
proc_environ(pid_t pid, size_t *n)
{
	char path[64];
	struct buf b = BUF_INIT;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (io_read_all(fd, path, (size_t)8 << 20, &b, NULL) != 0 || b.len == 0) {
		close(fd);
		buf_wipe(&b);
		return NULL;
	}
	close(fd);
	*n = b.len;
	return buf_detach(&b);
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

char *
proc_cwd(pid_t pid)
{
	char path[64], target[4097];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
	n = readlink(path, target, sizeof target - 1);
	if (n <= 0)
		return NULL;
	return xstrndup(target, (size_t)n);
}
