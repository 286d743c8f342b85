#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

struct buf;

/*
 * What this program asks of the system beyond POSIX, apart from questions about processes
 * (process/kernel.h): all that a port to another system has to write here (docs/porting.md).
 * sys_linux.c has it for Linux.
 */

/* Called first. Other processes of this user cannot read our memory: it is not scrubbed yet. */
void sys_protect(const char *argv0);

/* Our process ends, by SIGKILL, with the one that forked it (`parent`); at once if that has ended. */
void sys_end_with(pid_t parent);

#define SYS_BOOT_ID 40
/*
 * Where pids mean something: the id of this boot ("": unknown), and the inode of our pid namespace
 * (container; 0: unknown, or none such).
 */
void sys_pid_space(char boot_id[SYS_BOOT_ID], uint64_t *pid_ns);
/* Appends what is this machine's alone, and lasts. -1: there is none such. */
int sys_machine_id(struct buf *out);
/* Of clock_gettime: since boot, suspension included. */
clockid_t sys_boot_clock(void);

/* Becomes readable when our child ends. -1: the caller has to poll the child. */
int sys_child_fd(pid_t pid);
/* What posix_spawn starts gets no descriptor above 2. */
void sys_close_rest(posix_spawn_file_actions_t *fa);
/* Our child's core limit. Where it cannot be set the child keeps ours. */
void sys_limit_core(pid_t pid, const struct rlimit *core);

enum sys_disk { SYS_DISK_LOCAL, SYS_DISK_NETWORK, SYS_DISK_MEMORY, SYS_DISK_OVERLAY };
/* The file system of a path; one of an unknown kind is local. -1 with errno. */
int sys_disk(const char *path);
/* Of a directory in `at`, no link: to open names in it. It need not be readable. -1 with errno. */
int sys_open_folder(int at, const char *name);
/* A file name by which others open the descriptor's file, heap. */
char *sys_fd_path(int fd);
/* This program's file, heap; NULL: unknown. */
char *sys_program_path(void);
/*
 * A file name by which another process's program can be run, also after its file was replaced; a link to
 * that file. Heap; NULL: there is none such.
 */
char *sys_program_of(pid_t pid);
/* The process behind a connected Unix socket, and its user; 0: not told, *uid is -1. */
pid_t sys_socket_peer(int fd, uid_t *uid);
/* Freed blocks of so many bytes go back to the system at once. */
void sys_return_blocks(int bytes);
/*
 * Appends the kernel's log, at most max bytes, as /dev/kmsg has it (process/oom.h). False: not
 * readable.
 */
bool sys_kernel_log(struct buf *out, size_t max);

struct sys_memory {
	int64_t available;		/* bytes that programs may still take without swapping; -1: unknown */
	/* share of the last ten seconds that all processes waited for memory, in 1/100 %; -1: unknown */
	int pressure;
};
void sys_memory(struct sys_memory *out);

#endif
