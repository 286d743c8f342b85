/*
 * Loaded into a program before the C library (LD_PRELOAD), between it and its files, SQLite's as
 * well. Environment:
 *
 *   FILE_FAULT_DIR=DIR		calls on DIR and what is in it count; all others pass
 *   FILE_FAULT_LOG=FILE     each that counts adds a line: its name, with a + where it changes
 *   something, and the file's name
 *   FILE_FAULT=NAMES:N[+]=WHAT      the N-th call of these names (with their +; commas between;
 *   or *), with + each one from there
 * 				on. WHAT: kill (before it), half (a write gets half of its bytes out, then kill), eio,
 * 				enospc, erofs, emfile,
 * 				enfile, eacces, enomem
 *
 *   MEMORY_FAULT=N		the N-th allocation and all after it get no memory
 *
 * A family of calls has one name: open is openat, too, write is pwrite, fsync is fdatasync, lock
 * is flock and the locks of fcntl.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FDS 1024
#define HALF (-1)
#define NEXT(name) static __typeof__(name) *next; \
	if (next == NULL) \
		next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define NAME 64

static char ours[FDS][NAME];		/* the last part of the path of what counts, "" of all else */
static long met;

static bool
counts(const char *path)
{
	const char *dir = getenv("FILE_FAULT_DIR");
	size_t n = dir != NULL ? strlen(dir) : 0;

	return n > 0 && strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool
counts_fd(int fd)
{
	return fd >= 0 && fd < FDS && ours[fd][0] != '\0';
}

static bool
counts_at(int fd, const char *path)
{
	return path[0] == '/' ? counts(path) : counts_fd(fd);
}

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void
note(const char *name, const char *file)
{
	const char *log = getenv("FILE_FAULT_LOG");
	char line[32 + NAME];
	int fd, n = snprintf(line, sizeof line, "%s %.*s\n", name, NAME - 1, file);

	if (log == NULL)
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || syscall(SYS_write, fd, line, (size_t)n) != n)
		abort();
	syscall(SYS_close, fd);
}

/* Is the name in the list? "*" is in it always. */
static bool
named(const char *list, size_t n, const char *name)
{
	size_t len = strlen(name);

	if (n == 1 && list[0] == '*')
		return true;
	for (size_t i = 0; i < n; ) {
		const char *comma = memchr(list + i, ',', n - i);
		size_t end = comma != NULL ? (size_t)(comma - list) : n;

		if (end - i == len && memcmp(list + i, name, len) == 0)
			return true;
		i = end + 1;
	}
	return false;
}

/* 0 go on; HALF; otherwise the errno to answer. */
static int
meet(const char *name, const char *file)
{
	static const struct { const char *word; int number;
	} words[] = {
		{ "half", HALF }, { "eio", EIO }, { "enospc", ENOSPC }, { "erofs", EROFS },
		{ "emfile", EMFILE }, { "enfile", ENFILE }, { "eacces", EACCES }, { "enomem", ENOMEM },
	};
	const char *fault = getenv("FILE_FAULT"), *colon = fault != NULL ? strchr(fault, ':') : NULL;
	long n;
	char *end;

	note(name, file);
	if (colon == NULL || !named(fault, (size_t)(colon - fault), name))
		return 0;
	n = strtol(colon + 1, &end, 10);
	met++;
	if (met != n && !(*end == '+' && met > n))
		return 0;
	end += *end == '+';
	if (strcmp(end, "=kill") == 0)
		raise(SIGKILL);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (*end == '=' && strcmp(end + 1, words[i].word) == 0)
			return words[i].number;
	abort();
}

static int
refuse(int number)
{
	errno = number;
	return -1;
}

/* file NULL: it does not count. */
static int
keep(int fd, const char *file)
{
	if (fd >= 0 && fd < FDS)
		snprintf(ours[fd], NAME, "%s", file != NULL ? file : "");
	return fd;
}

/* ---- names ---- */

static int
open_at(int dir, const char *path, int flags, mode_t mode)
{
	bool yes = counts_at(dir, path);
	int why = yes ? meet((flags & (O_CREAT | O_TRUNC)) != 0 ? "open+" : "open", last_part(path)) : 0;

	return why != 0
	    ? refuse(why)
	    : keep((int)syscall(SYS_openat, dir, path, flags, mode), yes ? last_part(path) : NULL);
}

#define MODE(flags, ap) (((flags) & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0)

#define OPEN(name) \
	int \
	name(const char *path, int flags, ...) \
	{ \
		va_list ap; \
		mode_t mode; \
		va_start(ap, flags); \
		mode = MODE(flags, ap); \
		va_end(ap); \
		return open_at(AT_FDCWD, path, flags, mode); \
	}
#define OPENAT(name) \
	int \
	name(int dir, const char *path, int flags, ...) \
	{ \
		va_list ap; \
		mode_t mode; \
		va_start(ap, flags); \
		mode = MODE(flags, ap); \
		va_end(ap); \
		return open_at(dir, path, flags, mode); \
	}
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define ON_PATH(name, word, at, path, params, args) \
	int \
	name params \
	{ \
		int why; \
		NEXT(name); \
		why = counts_at(at, path) ? meet(word "+", last_part(path)) : 0; \
		return why != 0 ? refuse(why) : next args; \
	}
ON_PATH(unlink, "unlink", AT_FDCWD, path, (const char *path), (path))
ON_PATH(unlinkat, "unlink", dir, path, (int dir, const char *path, int flags), (dir, path, flags))
ON_PATH(rmdir, "rmdir", AT_FDCWD, path, (const char *path), (path))
ON_PATH(mkdir, "mkdir", AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
ON_PATH(mkdirat, "mkdir", dir, path, (int dir, const char *path, mode_t mode), (dir, path, mode))
ON_PATH(rename, "rename", AT_FDCWD, to, (const char *from, const char *to), (from, to))
ON_PATH(renameat, "rename", at, to, (int in, const char *from, int at, const char *to), (in, from, at, to))
ON_PATH(link, "link", AT_FDCWD, to, (const char *from, const char *to), (from, to))
ON_PATH(linkat, "link", at, to, (int in, const char *from, int at, const char *to, int flags),
    (in, from, at, to, flags))
ON_PATH(truncate, "truncate", AT_FDCWD, path, (const char *path, off_t size), (path, size))
ON_PATH(chmod, "chmod", AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))

/* ---- descriptors ---- */

#define ON_FD(type, name, word, params, args) \
	type \
	name params \
	{ \
		int why; \
		NEXT(name); \
		why = counts_fd(fd) ? meet(word, ours[fd]) : 0; \
		return why != 0 ? refuse(why) : next args; \
	}
ON_FD(ssize_t, read, "read", (int fd, void *p, size_t n), (fd, p, n))
ON_FD(ssize_t, pread, "read", (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
ON_FD(ssize_t, pread64, "read", (int fd, void *p, size_t n, off64_t at), (fd, p, n, at))
ON_FD(int, fsync, "fsync+", (int fd), (fd))
ON_FD(int, fdatasync, "fsync+", (int fd), (fd))
ON_FD(int, ftruncate, "truncate+", (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, "truncate+", (int fd, off64_t size), (fd, size))
ON_FD(int, fchmod, "chmod+", (int fd, mode_t mode), (fd, mode))
ON_FD(int, flock, "lock", (int fd, int how), (fd, how))

#define WRITE(name, params, args, half) \
	ssize_t \
	name params \
	{ \
		int why; \
		NEXT(name); \
		why = counts_fd(fd) ? meet("write+", ours[fd]) : 0; \
		if (why == HALF) { \
			if (next half < 0) \
				abort(); \
			raise(SIGKILL); \
		} \
		return why != 0 ? refuse(why) : next args; \
	}
WRITE(write, (int fd, const void *p, size_t n), (fd, p, n), (fd, p, n / 2))
WRITE(pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at), (fd, p, n / 2, at))
WRITE(pwrite64, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at), (fd, p, n / 2, at))

int
close(int fd)
{
	int why;
	NEXT(close);

	why = counts_fd(fd) ? meet("close", ours[fd]) : 0;
	keep(fd, NULL);
	if (why == 0)
		return next(fd);
	next(fd);
	return refuse(why);
}

/* Locks count; duplicates go on counting. */
#define FCNTL(name)                                                                                          \
	int name(int fd, int what, ...)                                                                      \
	{                                                                                                    \
		bool lock =                                                                                  \
		    what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK || what == F_OFD_SETLKW;      \
		va_list ap;                                                                                  \
		void *arg;                                                                                   \
		int why;                                                                                     \
		NEXT(name);                                                                                  \
		va_start(ap, what);                                                                          \
		arg = va_arg(ap, void *);                                                                    \
		va_end(ap);                                                                                  \
		why = lock && counts_fd(fd) ? meet("lock", ours[fd]) : 0;                                    \
		if (why != 0)                                                                                \
			return refuse(why);                                                                  \
		return what == F_DUPFD || what == F_DUPFD_CLOEXEC                                            \
		    ? keep(next(fd, what, arg), counts_fd(fd) ? ours[fd] : NULL)                             \
		    : next(fd, what, arg);                                                                   \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- memory ---- */

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

static bool
has_memory(void)
{
	static long asked, most = -1;

	/* the loader asks before there is an environment */
	if (most < 0 && environ != NULL)
		most = getenv("MEMORY_FAULT") != NULL ? atol(getenv("MEMORY_FAULT")) : 0;
	asked++;
	if (most <= 0 || asked < most)
		return true;
	errno = ENOMEM;
	return false;
}

void *
malloc(size_t n)
{
	return has_memory() ? __libc_malloc(n) : NULL;
}

void *
calloc(size_t n, size_t size)
{
	return has_memory() ? __libc_calloc(n, size) : NULL;
}

void *
realloc(void *p, size_t n)
{
	return has_memory() ? __libc_realloc(p, n) : NULL;
}

void *
reallocarray(void *p, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all) || !has_memory())
		return NULL;
	return __libc_realloc(p, all);
}

/* A program with an allocator of its own (tmux with jemalloc) has all of these from here, or none. */
void
free(void *p)
{
	__libc_free(p);
}

void *
memalign(size_t align, size_t n)
{
	return has_memory() ? __libc_memalign(align, n) : NULL;
}

void *
aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int
posix_memalign(void **p, size_t align, size_t n)
{
	void *got = memalign(align, n);

	if (got == NULL)
		return ENOMEM;
	*p = got;
	return 0;
}
