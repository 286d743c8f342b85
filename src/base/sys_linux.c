#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/io.h"

#define CHUNK 65536		/* more than a record of the kernel's log has */

void
sys_protect(const char *argv0)
{
	(void)argv0;
#ifndef __SANITIZE_ADDRESS__
	prctl(PR_SET_DUMPABLE, 0);
#endif
}

void
sys_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

void
sys_pid_space(char boot_id[SYS_BOOT_ID], uint64_t *pid_ns)
{
	struct buf b = BUF_INIT;
	struct stat st;

	boot_id[0] = '\0';
	if (io_read_file(fault_path("GT_BOOT_ID", "/proc/sys/kernel/random/boot_id"), 64, &b, NULL) == 0)
		snprintf(boot_id, SYS_BOOT_ID, "%.*s", (int)strcspn(b.data, "\n"), b.data);
	buf_release(&b);
	*pid_ns = stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

int
sys_machine_id(struct buf *out)
{
	size_t before = out->len;

	return io_read_file(fault_path("GT_MACHINE_ID", "/etc/machine-id"), 4096, out, NULL) == 0 &&
		out->len > before
	    ? 0
	    : -1;
}

clockid_t
sys_boot_clock(void)
{
	return CLOCK_BOOTTIME;
}

/* pidfd_open fails on kernels before 5.3 and under some seccomp filters. */
int
sys_child_fd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

void
sys_close_rest(posix_spawn_file_actions_t *fa)
{
#ifdef __GLIBC__
	posix_spawn_file_actions_addclosefrom_np(fa, 3);
#else	/* musl lacks the call; there it is no error to close a closed one */
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (atoi(entry->d_name) >= 3)
			posix_spawn_file_actions_addclose(fa, atoi(entry->d_name));
	if (d != NULL)
		closedir(d);
#endif
}

void
sys_limit_core(pid_t pid, const struct rlimit *core)
{
	prlimit(pid, RLIMIT_CORE, core, NULL);
}

int
sys_disk(const char *path)
{
	static const struct { unsigned long type; enum sys_disk disk; } rows[] = {
		{ 0x6969, SYS_DISK_NETWORK },		/* NFS */
		{ 0x517b, SYS_DISK_NETWORK },		/* SMB */
		{ 0xff534d42, SYS_DISK_NETWORK },	/* CIFS */
		{ 0xfe534d42, SYS_DISK_NETWORK },	/* SMB2 */
		{ 0x5346414f, SYS_DISK_NETWORK },	/* AFS */
		{ 0x73757245, SYS_DISK_NETWORK },	/* CODA */
		{ 0x564c, SYS_DISK_NETWORK },		/* NCP */
		{ 0x00c36400, SYS_DISK_NETWORK },	/* Ceph */
		{ 0x0bd00bd0, SYS_DISK_NETWORK },	/* Lustre */
		{ 0x01021994, SYS_DISK_MEMORY },	/* tmpfs */
		{ 0x794c7630, SYS_DISK_OVERLAY },
	};
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		return -1;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (((unsigned long)fs.f_type & 0xffffffff) == rows[i].type)
			return (int)rows[i].disk;
	return SYS_DISK_LOCAL;
}

int
sys_open_folder(int at, const char *name)
{
	return openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

char *
sys_fd_path(int fd)
{
	return xasprintf("/proc/self/fd/%d", fd);
}

char *
sys_program_path(void)
{
	char path[4097];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	return n > 0 ? xstrndup(path, (size_t)n) : NULL;
}

void
sys_return_blocks(int bytes)
{
#ifdef M_MMAP_THRESHOLD	/* glibc */
	(void)mallopt(M_MMAP_THRESHOLD, bytes);
	(void)mallopt(M_TRIM_THRESHOLD, bytes);
#else
	(void)bytes;
#endif
}

bool
sys_kernel_log(struct buf *out, size_t max)
{
	int fd = open(fault_path("GT_KMSG", "/dev/kmsg"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool any = false;

	while (fd >= 0 && out->len < max) {
		ssize_t r;

		buf_grow(out, CHUNK);
		r = read(fd, out->data + out->len, CHUNK);
		/* EPIPE: the kernel has overwritten the record meanwhile, the next read goes on behind it */
		if (r < 0 && (errno == EINTR || errno == EPIPE))
			continue;
		any = any || r >= 0 || errno == EAGAIN;
		if (r <= 0)
			break;
		out->len += (size_t)r;
	}
	if (fd >= 0)
		close(fd);
	return any;
}

char *
sys_program_of(pid_t pid)
{
	return xasprintf("/proc/%d/exe", (int)pid);
}

pid_t
sys_socket_peer(int fd, uid_t *uid)
{
	struct ucred who = { .pid = 0, .uid = (uid_t)-1 };
	socklen_t n = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0)
		who.pid = 0;
	*uid = who.uid;
	return who.pid;
}

/* The number behind the words, or -1. */
static double
number_after(const char *path, const char *words)
{
	struct buf b = BUF_INIT;
	const char *at = NULL;
	double n;

	if (io_read_file(path, 16384, &b, NULL) == 0)
		at = strstr(b.data, words);
	n = at != NULL ? strtod(at + strlen(words), NULL) : -1;
	buf_release(&b);
	return n;
}

/* /proc/meminfo: "MemAvailable:    1234 kB"; /proc/pressure/memory: "full avg10=0.12 avg60=…". */
void
sys_memory(struct sys_memory *out)
{
	double kib = number_after(fault_path("GT_MEMINFO", "/proc/meminfo"), "MemAvailable:"),
	       percent = number_after(fault_path("GT_PRESSURE", "/proc/pressure/memory"), "full avg10=");

	out->available = kib < 0 ? -1 : (int64_t)kib * 1024;
	out->pressure = percent < 0 ? -1 : (int)(percent * 100);
}
