#ifndef TESTS_CRASH_DISK_H
#define TESTS_CRASH_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A disk that loses power. disk.c takes the place of the calls of the C library that change files
 * (open, write, pwrite, ftruncate, fsync, fdatasync, unlink, rename, close), for the program and
 * for SQLite in it alike. Files really stand in one directory, which should be in memory: they
 * are what the kernel's cache holds. Beside them disk.c knows of every file what has reached the
 * disk, and every write and truncation since its last fsync; and of the directory, every making,
 * removal and renaming since its last fsync.
 *
 * At the crash each 512-byte sector of each such write is kept, dropped or torn to garbage, each
 * truncation kept or dropped, and the changes of the directory are kept up to a random one of
 * them, as a file system with a journal keeps them. What comes of that is put into the directory,
 * and the process ends.
 *
 * A process that has a disk forks one process a crash; the child calls disk_begin, and the files
 * that are there then are its disk.
 */
enum {
	DISK_LYING = 1,			/* fsync answers 0 and does nothing */
	DISK_NO_DIR_SYNC = 2,		/* the same for directories alone */
	DISK_KILL = 4			/* a kill: what was written is there, of the last write a beginning */
};

/*
 * Changes are counted from here; the one with the number crash_at ends the process with status
 * DISK_CRASHED. *trace, which should be in memory that outlives the process, takes in each
 * change: what, where, which bytes. The same seeds give the same.
 */
void disk_begin(const char *dir, uint64_t seed, long crash_at, int flags, uint64_t *trace);
/*
 * After a kill the power may still go: what the killed process had not synced is no safer than it
 * was. With a file here (a memfd, say) a kill leaves in it what the next disk_begin takes out of
 * it. Whoever starts processes empties it after a loss of power. -1: nowhere.
 */
void disk_remember(int fd);
/* Ends it now. */
void disk_crash(void) __attribute__((noreturn));
#define DISK_CRASHED 42

/* From now on the clocks stand still at this time, ms since 1970, until they are set again. */
void disk_set_clock(int64_t wall_ms);

/*
 * Numbers that follow from the seed alone. getrandom and getentropy answer with them, too, and clocks that were
 * not set go on by 1 ms at each look.
 */
uint64_t disk_random(uint64_t *state);

#endif
