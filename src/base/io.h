#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buf;
struct err;

/* Handles EINTR and short counts. -1 with errno set. */
int io_write_all(int fd, const void *p, size_t n);
/* Reads to the end, at most max bytes (else "too-large"). `what` names the source in messages. */
int io_read_all(int fd, const char *what, size_t max, struct buf *out, struct err *e);

/* A regular file of at most max bytes. Name "not-found" (GT_FAIL): missing. */
int io_read_file(const char *path, size_t max, struct buf *out, struct err *e);

/*
 * As io_read_file, for our own: not a link, ours, no rights for others, one name (fstat on the open
 * file); else "not-private".
 */
int io_read_private(const char *path, size_t max, struct buf *out, struct err *e);

/*
 * Durable, mode 0600: a temporary file beside it (O_EXCL), write, fsync, rename, fsync of the
 * directory. 0: survives kill -9 and power loss; -1: the old file is unchanged. `fault`: the fault
 * point before the rename.
 */
int io_write_durable(const char *path, const void *p, size_t n, const char *fault, struct err *e);

/*
 * Without the fsync of the directory, for many files there: power loss may take them before an
 * io_sync_parent of one of them; kill -9 does not.
 */
int io_write_synced(const char *path, const void *p, size_t n, const char *fault, struct err *e);

/*
 * Temporary files of durable writes are ".NAME.PID.RANDOM". Is it one with a dead writer? io_sweep
 * removes those of this path, if its directory can be read.
 */
bool io_writer_died(const char *name);
void io_sweep(const char *path);

/* Makes missing directories above path, 0700, and syncs their names. -1: "unwritable". */
int io_make_parents(const char *path, struct err *e);
/* Makes the directory and missing parents; it must be 0700, ours and no link ("unwritable"). */
int io_private_dir(const char *path, struct err *e);

/* fsync of its directory. -1 with errno set. */
int io_sync_parent(const char *path);

/*
 * Locks the file at path (made if missing, 0600) until the descriptor closes or the process ends.
 * Waits at most wait_ms in the kernel's queue, and uses SIGALRM and the real-time timer meanwhile.
 * Held by another: "locked", GT_AGAIN.
 */
int io_lock(const char *path, int wait_ms, struct err *e);
/*
 * Releases and removes the file: io_lock of those that wait checks that it is still there. fd -1 is
 * fine.
 */
void io_unlock(const char *path, int fd);

/*
 * The process that listens on a Unix socket, and its user. 0: none accepts; -1: one does, of which
 * no pid is visible here (another container).
 */
pid_t io_listener(const char *path, uid_t *uid);

bool io_is_dir(const char *path);
bool io_has(const char *dir, const char *name);	/* does dir/name exist? */

/* a + "/" + b, heap. */
char *io_join(const char *a, const char *b);

/* n random bytes as 2n lower-case hex digits and a NUL. */
void io_random_hex(char *out, size_t n);

#endif
