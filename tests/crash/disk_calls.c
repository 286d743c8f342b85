/* The calls of the C library that change files, and those whose answer another run would not see. */
/* It has both names of each call, which a library's flags would make one. */
#undef _FILE_OFFSET_BITS
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "disk.h"
#include "disk_private.h"

static void
track(int fd, const char *path, bool made)
{
	const char *name = disk_name(path);

	if (fd >= FDS)
		disk_broken("too many descriptors");
	disk.fd_file[fd] = strcmp(path, disk.dir) == 0 ? FD_DIRECTORY : FD_OTHER;
	if (name == NULL)
		return;
	if (made) {
		disk.fd_file[fd] = disk_new_file();
		disk_change('c', name, 0, "", 0);
		disk_entry(name, "", disk.fd_file[fd]);
	} else if ((disk.fd_file[fd] = disk_find(name)) < 0)
		disk_broken("a file that is not known");
}

static int
open_file(const char *path, int flags, mode_t mode)
{
	bool ours = disk.on && disk_name(path) != NULL, made;
	struct stat st;
	int fd;

	if (ours && (flags & O_TRUNC) != 0)
		disk_broken("O_TRUNC is not modelled");
	made = ours && (flags & O_CREAT) != 0 && lstat(path, &st) != 0;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (disk.on && fd >= 0)
		track(fd, path, made);
	return fd;
}

static mode_t
mode_of(int flags, va_list ap)
{
	return (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
}

int
open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return open_file(path, flags, mode);
}

int
open64(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return open_file(path, flags, mode);
}

static int
file_number(int fd)
{
	return disk.on && fd >= 0 && fd < FDS ? disk.fd_file[fd] : FD_OTHER;
}

/* NULL: the disk has nothing to do with it. */
static struct file *
file_of(int fd)
{
	int i = file_number(fd);
	char path[32];

	if (i < 0)
		return NULL;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	disk_know(&disk.file[i], path);
	return &disk.file[i];
}

int
close(int fd)
{
	if (file_number(fd) != FD_OTHER)
		disk.fd_file[fd] = FD_OTHER;
	return (int)syscall(SYS_close, fd);
}

/* The seal in the store's lock file names boot, inode and times: each run has other bytes there, as many. */
static bool
is_seal(const struct file *f)
{
	return disk_find("recover.lock") == f - disk.file;
}

static ssize_t
write_at(struct file *f, int fd, const void *p, size_t n, off_t at)
{
	ssize_t r;

	disk_change('w', "", at, p, is_seal(f) && n > 1 ? 0 : n);
	if ((disk.flags & DISK_KILL) != 0 && disk.changes >= disk.crash_at && n > 1)
		n = 1 + disk_random(&disk.random) % n;
	r = syscall(SYS_pwrite64, fd, p, n, at);
	if (r > 0)
		disk_wrote(f, OP_WRITE, at, p, (size_t)r);
	return r;
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	struct file *f = file_of(fd);

	return f != NULL ? write_at(f, fd, p, n, at) : syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t
pwrite64(int fd, const void *p, size_t n, off_t at)
{
	return pwrite(fd, p, n, at);
}

ssize_t
write(int fd, const void *p, size_t n)
{
	struct file *f = file_of(fd);
	ssize_t r;

	if (f == NULL)
		return syscall(SYS_write, fd, p, n);
	r = write_at(f, fd, p, n, lseek(fd, 0, (fcntl(fd, F_GETFL) & O_APPEND) != 0 ? SEEK_END : SEEK_CUR));
	if (r > 0)
		lseek(fd, r, SEEK_CUR);
	return r;
}

int
ftruncate(int fd, off_t size)
{
	struct file *f = file_of(fd);
	int r;

	if (f != NULL)
		disk_change('t', "", size, "", 0);
	r = (int)syscall(SYS_ftruncate, fd, size);
	if (f != NULL && r == 0)
		disk_wrote(f, OP_TRUNCATE, size, NULL, 0);
	return r;
}

int
ftruncate64(int fd, off_t size)
{
	return ftruncate(fd, size);
}

int
fsync(int fd)
{
	int i = file_number(fd);

	if (i == FD_OTHER)
		return (int)syscall(SYS_fsync, fd);
	file_of(fd);
	disk_change('s', "", i, "", 0);
	disk_sync(i);
	return 0;
}

int
fdatasync(int fd)
{
	return fsync(fd);
}

/* What loses its name may come back. */
static void
keep(const char *path, const char *name)
{
	int i = disk_find(name);

	if (i >= 0)
		disk_know(&disk.file[i], path);
}

int
unlink(const char *path)
{
	const char *name = disk_name(path);
	int r;

	if (name == NULL || disk_find(name) < 0)
		return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
	keep(path, name);
	disk_change('u', name, 0, "", 0);
	r = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
	if (r == 0)
		disk_entry(name, "", -1);
	return r;
}

int
rename(const char *from, const char *to)
{
	const char *old = disk_name(from), *name = disk_name(to);
	int r;

	if (old == NULL || name == NULL)
		return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	keep(from, old);
	keep(to, name);
	disk_change('r', name, 0, old, strlen(old));
	r = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	if (r == 0)
		disk_entry(name, old, disk_find(old));
	return r;
}

/* A file of the disk is as old as its clock says: one in eight is an hour old. */
static time_t
age(const char *path, time_t otherwise)
{
	if (disk_name(path) == NULL)
		return otherwise;
	return disk.clock / 1000 - (disk_random(&disk.random) % 8 == 0 ? 3600 : 0);
}

int
stat(const char *path, struct stat *st)
{
	int r = fstatat(AT_FDCWD, path, st, 0);

	if (r == 0)
		st->st_mtim.tv_sec = age(path, st->st_mtim.tv_sec);
	return r;
}

int
stat64(const char *path, struct stat64 *st)
{
	int r = fstatat64(AT_FDCWD, path, st, 0);

	if (r == 0)
		st->st_mtim.tv_sec = age(path, st->st_mtim.tv_sec);
	return r;
}

ssize_t
getrandom(void *p, size_t n, unsigned flags)
{
	unsigned char *b = p;

	if (!disk.on)
		return syscall(SYS_getrandom, p, n, flags);
	for (size_t i = 0; i < n; i++)
		b[i] = (unsigned char)disk_random(&disk.random);
	return (ssize_t)n;
}

int
getentropy(void *p, size_t n)
{
	return getrandom(p, n, 0) == (ssize_t)n ? 0 : -1;
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!disk.on)
		return (int)syscall(SYS_clock_gettime, id, ts);
	disk.clock += !disk.clock_stands;
	*ts = (struct timespec){ .tv_sec = disk.clock / 1000, .tv_nsec = disk.clock % 1000 * 1000000 };
	return 0;
}
