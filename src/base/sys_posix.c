/* For systems without a file of their own: what POSIX has, and "unknown" for the rest. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/buf.h"
#include "base/spawn.h"

#define DESCRIPTORS 1024

static const char *own_name;

void
sys_protect(const char *argv0)
{
	own_name = argv0;
}

void
sys_end_with(pid_t parent)
{
	if (getppid() != parent)
		_exit(1);
}

void
sys_pid_space(char boot_id[SYS_BOOT_ID], uint64_t *pid_ns)
{
	boot_id[0] = '\0';
	*pid_ns = 0;
}

int
sys_machine_id(struct buf *out)
{
	(void)out;
	return -1;
}

clockid_t
sys_boot_clock(void)
{
	return CLOCK_MONOTONIC;
}

int
sys_child_fd(pid_t pid)
{
	(void)pid;
	return -1;
}

/* Those with FD_CLOEXEC close by themselves. */
void
sys_close_rest(posix_spawn_file_actions_t *fa)
{
	for (int fd = 3; fd < DESCRIPTORS; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
			posix_spawn_file_actions_addclose(fa, fd);
	}
}

void
sys_limit_core(pid_t pid, const struct rlimit *core)
{
	(void)pid;
	(void)core;
}

int
sys_disk(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 ? SYS_DISK_LOCAL : -1;
}

int
sys_open_folder(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

char *
sys_fd_path(int fd)
{
	return xasprintf("/dev/fd/%d", fd);
}

/* By the name that we were started with. */
char *
sys_program_path(void)
{
	const char *path = getenv("PATH");
	char *found = NULL, *real = NULL;

	if (own_name == NULL)
		return NULL;
	if (strchr(own_name, '/') != NULL)
		return realpath(own_name, NULL);
	found = path != NULL ? spawn_find_program(own_name, path) : NULL;
	if (found != NULL)
		real = realpath(found, NULL);
	free(found);
	return real;
}

void
sys_return_blocks(int bytes)
{
	(void)bytes;
}

bool
sys_kernel_log(struct buf *out, size_t max)
{
	(void)out;
	(void)max;
	return false;
}

char *
sys_program_of(pid_t pid)
{
	(void)pid;
	return NULL;
}

pid_t
sys_socket_peer(int fd, uid_t *uid)
{
	(void)fd;
	*uid = (uid_t)-1;
	return 0;
}

void
sys_memory(struct sys_memory *out)
{
	*out = (struct sys_memory){ -1, -1 };
}
