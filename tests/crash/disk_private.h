#ifndef TESTS_CRASH_DISK_PRIVATE_H
#define TESTS_CRASH_DISK_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What disk.c (what the disk holds, the crash) and disk_calls.c (the calls of the C library) share. */

#define FDS 256
#define FILES 64
#define CHANGES 256
#define NAME 128

enum op_kind { OP_WRITE, OP_TRUNCATE };

struct op {
	enum op_kind kind;
	off_t at;			/* of a truncation: the new size */
	size_t n;
	unsigned char *data;
	long when;			/* number of the change */
};

struct file {
	unsigned char *disk;		/* what is durable */
	size_t size;
	/* disk and size are filled: nothing is read before the first change */
	bool known;
	bool changed;			/* what the directory shows is not what the disk holds */
	struct op *ops;
	size_t n, cap;
};

struct entry_change {
	char name[NAME];
	char old[NAME];			/* of a renaming: the name that is gone; else empty */
	int file;			/* that the name stands for now; -1: the name is gone */
};

struct entry {
	char name[NAME];
	int file;
};

struct directory {
	struct entry v[FILES];
	size_t n;
};

enum { FD_OTHER = -1, FD_DIRECTORY = -2 };

struct disk {
	bool on;
	char dir[200];
	size_t dir_len;
	uint64_t random, *trace;
	long changes, crash_at;
	int flags;
	int64_t clock;
	bool clock_stands;
	int fd_file[FDS];		/* FD_OTHER, FD_DIRECTORY, or which file */
	struct file file[FILES];
	int n_files;
	struct directory now, durable;
	struct entry_change pending[CHANGES];
	size_t n_pending;
};
extern struct disk disk;

/* disk_memory.c: into the file of disk_remember, and out of it; false: there was nothing in it. */
void disk_save(void);
bool disk_load(void);

/* The harness itself cannot go on. */
void disk_broken(const char *what) __attribute__((noreturn));
/*
 * The part of a path below the directory, NULL when it is elsewhere, or is SQLite's shared
 * memory, which is no file after a crash.
 */
const char *disk_name(const char *path);
/* Which file has the name now, -1: none. */
int disk_find(const char *name);
int disk_new_file(void);
/* Before the first change of a file: what stands there has been on the disk since the last crash. */
void disk_know(struct file *f, const char *path);

/* Before a change is made: its number and its bytes go into the trace. */
void disk_change(int kind, const char *name, int64_t at, const void *p, size_t n);
/* What was done is kept in mind, and the power may go: whether it had come to pass is then open. */
void disk_wrote(struct file *f, enum op_kind kind, off_t at, const void *p, size_t n);
void disk_entry(const char *name, const char *old, int file);
/* file: FD_DIRECTORY or which one. */
void disk_sync(int file);

#endif
