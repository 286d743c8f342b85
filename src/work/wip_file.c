#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work/wip_private.h"
#include "base/io.h"

/* The folder that a path's last part lies in, entered part by part, so that no link leads elsewhere. -1 when there is none such. */
static int
enter(int top, const char *path, const char **last)
{
	int fd = dup(top);

	while (fd >= 0 && strchr(path, '/') != NULL) {
		char *part = xstrndup(path, strcspn(path, "/"));
		int next = openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		path += strlen(part) + 1;
		free(part);
		close(fd);
		fd = next;
	}
	*last = path;
	return fd;
}

static const char *
read_link(int dir, const char *name, struct buf *out)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof target);

	if (n < 0 || n == sizeof target)
		return "it cannot be read";
	buf_add(out, target, (size_t)n);
	return NULL;
}

static const char *
read_bytes(int fd, struct wip_entry *x, struct buf *out)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return "it cannot be read";
	if (!S_ISREG(st.st_mode))
		return "it is no file";
	if ((size_t)st.st_size > WIP_FILE_MAX)
		return "too large";
	x->mtime = st.st_mtim;
	x->size = st.st_size;
	if (*x->mode == '\0' || strcmp(x->mode, "120000") == 0)
		memcpy(x->mode, (st.st_mode & S_IXUSR) != 0 ? "100755" : "100644", 7);
	return io_read_all(fd, "a file", WIP_FILE_MAX, out, NULL) == 0 ? NULL : "it cannot be read, or grows";
}

const char *
wip_read(int top, struct wip_entry *x, struct buf *out)
{
	const char *name, *why;
	struct stat st;
	int dir = enter(top, x->path, &name), fd = -1;

	buf_reset(out);
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		why = "it is gone";
	} else if (S_ISLNK(st.st_mode)) {
		x->mtime = st.st_mtim;
		x->size = st.st_size;
		memcpy(x->mode, "120000", 7);
		why = read_link(dir, name, out);
	} else {
		/* a pipe must not keep us waiting */
		fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		why = read_bytes(fd, x, out);
	}
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return why;
}
