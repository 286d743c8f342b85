#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buf;
struct err;

/* Full reads and writes: EINTR and short counts are handled. -1 with errno set. */
int io_write_all(int fd, const void *p, size_t n);
/*
 * Reads to the end of file, at most max bytes (one more is an error, name "too-large"). `what`
 * names the source in messages.
 */
int io_read_all(int fd, const char *what, size_t max, struct buf *out, struct err *e);

/* A regular file of at most max bytes. A missing file: name "not-found", code GT_FAIL. */
int io_read_file(const char *path, size_t max, struct buf *out, struct err *e);

/*
 * As io_read_file, for files that only we may have written: not a link, ours, no rights for
 * others, one name (fstat on the open file). Anything else: name "not-private".
 */
int io_read_private(const char *path, size_t max, struct buf *out, struct err *e);

/*
 * Durable write, mode 0600: a temporary file in the same directory (O_EXCL), write, fsync,
 * rename, fsync of the directory. After 0 the bytes survive kill -9 and power loss; after -1 the
 * old file is as it was. `fault` names the fault point passed before the rename.
 */
int io_write_durable(const char *path, const void *p, size_t n, const char *fault, struct err *e);

/*
 * The same without the fsync of the directory, for who writes many files there: none is sure to
 * survive power loss before an io_sync_parent of one of them. kill -9 loses none.
 */
int io_write_synced(const char *path, const void *p, size_t n, const char *fault, struct err *e);

/*
 * The temporary file of a durable write is called ".NAME.PID.RANDOM". Is that one whose writer is
 * no more? And: removes those of this path, for places that nobody else tidies; nothing is done
 * where its directory cannot be read.
 */
bool io_writer_died(const char *name);
void io_sweep(const char *path);

/* Makes the missing directories above path, 0700 each, and syncs their names. -1: name "unwritable". */
int io_make_parents(const char *path, struct err *e);
/*
 * Makes the directory and its missing parents; the last one is 0700, ours and not a link, or an
 * error (name "unwritable").
 */
int io_private_dir(const char *path, struct err *e);

/* fsync of the directory that holds path. -1 with errno set. */
int io_sync_parent(const char *path);

/*
 * Takes the lock file at path (made if missing, 0600) for as long as the returned descriptor
 * stays open; the kernel gives it back when the process ends, however it ends. Waits at most
 * wait_ms, in the kernel's queue, with SIGALRM and the real-time timer for its own use meanwhile.
 * Held by another: name "locked", code GT_AGAIN.
 */
int io_lock(const char *path, int wait_ms, struct err *e);
/*
 * Gives it back and removes the file. Who waits for it takes a new one: io_lock looks whether the
 * file is still there. fd -1 is fine.
 */
void io_unlock(const char *path, int fd);

/* a + "/" + b, heap. */
char *io_join(const char *a, const char *b);

/* n random bytes as 2n lower-case hex digits and a NUL into out. */
void io_random_hex(char *out, size_t n);

#endif
