#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/liveness.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"

int
proc_read(pid_t pid, struct proc *out)
{
	char path[64], text[512], *close_paren, *open_paren;
	unsigned long long start;
	int fd, ppid, pgrp, tpgid;
	ssize_t n;
	size_t len;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	/* the name may hold blanks and parentheses: it ends at the last one */
	open_paren = strchr(text, '(');
	close_paren = strrchr(text, ')');
	if (open_paren == NULL || close_paren == NULL)
		return -1;
	if (sscanf(close_paren + 1, " %c %d %d %*d %*d %d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
	    &out->state, &ppid, &pgrp, &tpgid, &start) != 5)
		return -1;
	out->pid = pid;
	out->ppid = ppid;
	out->pgrp = pgrp;
	out->foreground = tpgid;
	out->start = start;
	len = (size_t)(close_paren - open_paren - 1);
	if (len >= sizeof out->comm)
		len = sizeof out->comm - 1;
	memcpy(out->comm, open_paren + 1, len);
	out->comm[len] = '\0';
	return 0;
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

	return proc_read(pid, &p) == 0 && p.state != 'Z' && p.state != 'X' ? p.start : 0;
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

	return proc_read(pid, &p) == 0 && p.state != 'Z' ? proc_wall_ms(&p) : 0;
}

static int
by_pid(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int
procs_read(struct procs *out, struct err *e)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	memset(out, 0, sizeof *out);
	if (dir == NULL)
		return err_sys(e, GT_FAIL, "proc", "/proc cannot be read, so living agents cannot be told from dead ones");
	while ((d = readdir(dir)) != NULL) {
		struct proc p;

		if (!isdigit((unsigned char)d->d_name[0]) || proc_read((pid_t)atoi(d->d_name), &p) != 0)
			continue;
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = p;
	}
	closedir(dir);
	qsort(out->v, out->n, sizeof *out->v, by_pid);
	return 0;
}

void
procs_release(struct procs *p)
{
	free(p->v);
	memset(p, 0, sizeof *p);
}

const struct proc *
procs_find(const struct procs *p, pid_t pid)
{
	struct proc key = { .pid = pid };

	return p->n > 0 ? bsearch(&key, p->v, p->n, sizeof key, by_pid) : NULL;
}

bool
procs_below(const struct procs *p, pid_t pid, pid_t ancestor)
{
	for (int depth = 0; depth < 64 && pid > 1; depth++) {
		const struct proc *q;

		if (pid == ancestor)
			return true;
		q = procs_find(p, pid);
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
	static const char *const runtimes[] = { "node", "nodejs", "bun", "deno", "python", "python3", "MainThread" };

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

const struct proc *
procs_agent(const struct procs *p, pid_t root, proc_is_agent *is_agent, const void *arg)
{
	for (size_t i = 0; i < p->n; i++) {
		char names[PROC_NAMES][64];
		size_t n;

		if (p->v[i].state == 'Z' || p->v[i].state == 'X' || !procs_below(p, p->v[i].pid, root))
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
	static const char *const shells[] = { "bash", "zsh", "sh", "dash", "fish", "tcsh", "csh", "ksh", "mksh", "ash",
	    "pwsh", "nu", "xonsh" };

	for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
		if (strcmp(name, shells[i]) == 0)
			return true;
	return false;
}

/* A shell that runs a script, or -c, may be about to start an agent; one with options alone serves a person. */
static bool
interactive(pid_t pid)
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
children(const struct procs *p, pid_t parent, const struct proc **one)
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

bool
procs_idle_shell(const struct procs *p, pid_t pane_pid)
{
	const struct proc *shell = procs_find(p, pane_pid);
	size_t n = 1;

	for (int depth = 0; depth < SHELLS_MOST && n == 1; depth++) {
		if (shell == NULL || shell->state != 'S' || !is_shell(shell))
			return false;
		pane_pid = shell->pid;
		n = children(p, pane_pid, &shell);
	}
	shell = procs_find(p, pane_pid);
	return n == 0 && shell->foreground == shell->pgrp && interactive(pane_pid);
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
environ_get(const char *block, size_t n, const char *name)
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
