#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "base/sys.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"

int
io_write_all(int fd, const void *p, size_t n)
{
	const char *s = p;

	while (n > 0) {
		ssize_t w = write(fd, s, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -1;
		s += w;
		n -= (size_t)w;
	}
	return 0;
}

int
io_read_all(int fd, const char *what, size_t max, struct buf *out, struct err *e)
{
	for (;;) {
		/* most of what is read so are small files of /proc, and wiped afterwards */
		size_t room = out->len < 4096 ? 4096 : out->len < 65536 ? out->len : 65536;
		ssize_t r;

		buf_grow(out, room);
		r = read(fd, out->data + out->len, room);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return err_sys(e, GT_FAIL, "read", "%s cannot be read", what);
		if (r == 0)
			break;
		out->len += (size_t)r;
		if (out->len > max)
			return err_set(e, GT_FAIL, "too-large", "%s is larger than %zu bytes", what, max);
	}
	out->data[out->len] = '\0';
	return 0;
}

static int
read_opened(int fd, const char *path, bool private, size_t max, struct buf *out, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_sys(e, GT_FAIL, "read", "%s cannot be examined", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, GT_FAIL, "not-a-file", "%s is not a regular file", path);
	if (private && (st.st_uid != geteuid() || (st.st_mode & 077) != 0 || st.st_nlink != 1))
		return err_set(e, GT_FAIL, "not-private",
		    "%s is not a private file of this user (owner, mode 0600 and a single name are required)",
		    path);
	return io_read_all(fd, path, max, out, e);
}

static int
read_path(const char *path, bool private, size_t max, struct buf *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (private ? O_NOFOLLOW : 0));
	int ret;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_sys(e, GT_FAIL, "not-found", "%s", path);
	if (fd < 0)
		return err_sys(e, GT_FAIL, "read", "%s cannot be opened", path);
	ret = read_opened(fd, path, private, max, out, e);
	close(fd);
	return ret;
}

int
io_read_file(const char *path, size_t max, struct buf *out, struct err *e)
{
	return read_path(path, false, max, out, e);
}

int
io_read_private(const char *path, size_t max, struct buf *out, struct err *e)
{
	return read_path(path, true, max, out, e);
}

int
io_sync_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash == NULL ? xstrdup(".")
	    : slash == path       ? xstrdup("/")
				  : xstrndup(path, (size_t)(slash - path));
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;

	free(dir);
	if (fd < 0)
		return -1;
	ret = fsync(fd);
	close(fd);
	return ret;
}

/*
 * Behind a failed write to path: what a person can do about it, where err_sys does not know.
 * errno is kept.
 */
static int
hint_at_write(int saved, const char *path, struct err *e)
{
	if (saved == ENOSPC || saved == EDQUOT || saved == EFBIG)
		err_hint(e, "nothing was changed; free space on its file system and run the command again");
	else if (e != NULL && e->hint[0] == '\0')
		err_hint(
		    e, "nothing was changed; check the permissions of %s "
		        "and of its parent directories", path);
	errno = saved;
	return -1;
}

int
io_write_synced(const char *path, const void *p, size_t n, const char *fault, struct err *e)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	char random[9], *tmp;
	int fd, saved;

	io_random_hex(random, 4);
	tmp = xasprintf("%.*s.%s.%d.%s", (int)(name - path), path, name, (int)getpid(), random);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		saved = errno;
		free(tmp);
		errno = saved;
		err_sys(e, GT_FAIL, "write", "%s cannot be written", path);
		return hint_at_write(saved, path, e);
	}
	if (fchmod(fd, 0600) != 0 || io_write_all(fd, p, n) != 0 || fsync(fd) != 0)
		goto fail;
	if (close(fd) != 0) {
		fd = -1;
		goto fail;
	}
	fd = -1;
	if (fault_point(fault) != 0 || rename(tmp, path) != 0)
		goto fail;
	free(tmp);
	return 0;
fail:
	saved = errno;
	if (fd >= 0)
		close(fd);
	unlink(tmp);
	free(tmp);
	errno = saved;
	err_sys(e, GT_FAIL, "write", "%s cannot be written", path);
	return hint_at_write(saved, path, e);
}

int
io_write_durable(const char *path, const void *p, size_t n, const char *fault, struct err *e)
{
	if (io_write_synced(path, p, n, fault, e) != 0)
		return -1;
	return io_sync_parent(path) == 0
	    ? 0
	    : err_sys(e, GT_FAIL, "write", "the directory of %s cannot be synced", path);
}

bool
io_writer_died(const char *name)
{
	const char *end = strrchr(name, '.'), *dot = end;
	long pid;

	if (name[0] != '.' || end == NULL || end == name)
		return false;
	while (--dot > name && *dot != '.')
		;
	pid = strtol(dot + 1, NULL, 10);
	return pid > 0 && pid < INT_MAX && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

void
io_sweep(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *place = slash != NULL ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup("."),
	     *front = xasprintf(".%s.", slash != NULL ? slash + 1 : path);
	DIR *dir = opendir(place);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (str_starts(d->d_name, front) &&
		    strchr(d->d_name + strlen(front), '.') == strrchr(d->d_name, '.') &&
		    io_writer_died(d->d_name))
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir != NULL)
		closedir(dir);
	free(front);
	free(place);
}

int
io_make_parents(const char *path, struct err *e)
{
	char *p = xstrdup(path);

	for (char *s = p + 1; *s != '\0'; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		if (mkdir(p, 0700) == 0 ? io_sync_parent(p) != 0 : errno != EEXIST) {
			int saved = errno;

			err_sys(e, GT_FAIL, "unwritable", "the directory %s cannot be made", p);
			hint_at_write(saved, p, e);
			free(p);
			return -1;
		}
		*s = '/';
	}
	free(p);
	return 0;
}

int
io_private_dir(const char *path, struct err *e)
{
	struct stat st;

	if (io_make_parents(path, e) != 0)
		return -1;
	if (mkdir(path, 0700) == 0)
		return io_sync_parent(path) == 0 ? 0 :
		    err_sys(e, GT_FAIL, "unwritable", "the directory above %s cannot be synced", path);
	if (errno != EEXIST) {
		err_sys(e, GT_FAIL, "unwritable", "the directory %s cannot be made", path);
		return hint_at_write(errno, path, e);
	}
	if (lstat(path, &st) != 0)
		return err_sys(e, GT_FAIL, "unwritable", "the directory %s cannot be examined", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid()) {
		err_set(e, GT_FAIL, "unwritable", "%s is not a directory of this user", path);
		return err_hint(e, "nothing was changed; move it away: a new one is created");
	}
	if ((st.st_mode & 077) != 0 && chmod(path, 0700) != 0)
		return err_sys(e, GT_FAIL, "unwritable",
		    "the directory %s is open to others, and its mode cannot be changed", path);
	return 0;
}

/* A lock on a file that was removed meanwhile holds nobody off. */
static bool
still_there(int fd, const char *path)
{
	struct stat ours, theirs;

	return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
	    ours.st_dev == theirs.st_dev;
}

static void
on_alarm(int sig)
{
	(void)sig;
}

/*
 * Waits in the kernel's queue, first come, first served: who polls instead may find it taken each
 * time. A timer's signal ends the wait, and comes again, so that one that arrives just before the
 * wait begins is no loss. 0, or -1 with errno.
 */
static int
wait_for_lock(int fd, int64_t until)
{
	struct sigaction act = { .sa_handler = on_alarm }, before;		/* without SA_RESTART */
	struct itimerval timer = { .it_interval = { .tv_usec = 20000 } },
			 off = { .it_interval = { .tv_sec = 0 } };
	int64_t left = until - clock_mono_ms();
	sigset_t alarm, mask;
	int ret, saved;

	timer.it_value.tv_sec = (time_t)(left > 0 ? left / 1000 : 0);
	timer.it_value.tv_usec = (suseconds_t)(left > 0 ? left % 1000 * 1000 : 1);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigaction(SIGALRM, &act, &before);
	sigprocmask(SIG_UNBLOCK, &alarm, &mask);
	setitimer(ITIMER_REAL, &timer, NULL);
	do
		ret = flock(fd, LOCK_EX);
	while (ret != 0 && errno == EINTR && clock_mono_ms() < until);
	saved = errno;
	setitimer(ITIMER_REAL, &off, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGALRM, &before, NULL);
	errno = saved;
	return ret;
}

int
io_lock(const char *path, int wait_ms, struct err *e)
{
	int64_t until = clock_mono_ms() + wait_ms;

	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		bool held, over;

		if (fd < 0) {
			err_sys(e, GT_FAIL, "unwritable", "the lock file %s cannot be opened", path);
			return hint_at_write(errno, path, e);
		}
		held = flock(fd, LOCK_EX | LOCK_NB) == 0;
		if (!held && errno == EWOULDBLOCK && wait_ms > 0)
			held = wait_for_lock(fd, until) == 0;
		if (held && still_there(fd, path))
			return fd;
		over = !held && (errno == EWOULDBLOCK || errno == EINTR) && clock_mono_ms() >= until;
		if (over)
			err_set(e, GT_AGAIN, "locked", "another gt-recover holds the lock %s", path);
		else if (!held && errno != EINTR)
			over = err_sys(e, GT_FAIL, "lock", "%s cannot be locked", path) != 0;
		close(fd);
		if (over)
			return -1;
	}
}

void
io_unlock(const char *path, int fd)
{
	if (fd < 0)
		return;
	unlink(path);
	close(fd);
}

pid_t
io_listener(const char *path, uid_t *uid)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	bool accepts = false;
	pid_t pid = 0;
	int fd;

	*uid = (uid_t)-1;
	if (strlen(path) < sizeof a.sun_path &&
	    (fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) >= 0) {
		memcpy(a.sun_path, path, strlen(path));
		/* EAGAIN: its queue is full */
		accepts = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 || errno == EAGAIN;
		pid = sys_socket_peer(fd, uid);
		close(fd);
	}
	return !accepts ? 0 : pid > 0 ? pid : -1;
}

bool
io_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool
io_has(const char *dir, const char *name)
{
	char *path = io_join(dir, name);
	bool yes = access(path, F_OK) == 0;

	free(path);
	return yes;
}

char *
io_join(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), slash = n == 0 || a[n - 1] != '/';
	char *path = xmalloc(n + slash + m + 1);

	memcpy(path, a, n);
	memcpy(path + n, "/", slash);
	memcpy(path + n + slash, b, m + 1);
	return path;
}

void
io_random_hex(char *out, size_t n)
{
	unsigned char byte;

	for (size_t i = 0; i < n; i++) {
		if (getentropy(&byte, 1) != 0)
			die("no random bytes from the kernel");
		snprintf(out + 2 * i, 3, "%02x", byte);
	}
}
