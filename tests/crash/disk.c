#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "disk.h"
#include "disk_private.h"

#define SECTOR 512

struct disk disk;

void
disk_broken(const char *what)
{
	fprintf(stderr, "disk: %s: %s\n", what, strerror(errno));
	_exit(99);
}

uint64_t
disk_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static void
passed(void)
{
	if (disk.changes >= disk.crash_at)
		disk_crash();
}

/* ---- names ---- */

static int
find(const struct directory *dir, const char *name)
{
	for (size_t i = 0; i < dir->n; i++)
		if (strcmp(dir->v[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void
put(struct directory *dir, const char *name, int file)
{
	int i = find(dir, name);

	if (i < 0 && dir->n == FILES)
		disk_broken("too many names");
	if (i < 0)
		i = (int)dir->n++;
	snprintf(dir->v[i].name, NAME, "%s", name);
	dir->v[i].file = file;
}

static void
drop(struct directory *dir, const char *name)
{
	int i = find(dir, name);

	if (i >= 0)
		dir->v[i] = dir->v[--dir->n];
}

static void
apply(struct directory *dir, const struct entry_change *c)
{
	if (c->old[0] != '\0')
		drop(dir, c->old);
	if (c->file >= 0)
		put(dir, c->name, c->file);
	else
		drop(dir, c->name);
}

void
disk_entry(const char *name, const char *old, int file)
{
	struct entry_change *c = &disk.pending[disk.n_pending++];

	if (disk.n_pending == CHANGES)
		disk_broken("too many changes of the directory");
	snprintf(c->name, NAME, "%s", name);
	snprintf(c->old, NAME, "%s", old);
	c->file = file;
	apply(&disk.now, c);
	passed();
}

int
disk_find(const char *name)
{
	int at = find(&disk.now, name);

	return at >= 0 ? disk.now.v[at].file : -1;
}

static bool
is_memory(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, "-shm") == 0;
}

const char *
disk_name(const char *path)
{
	const char *name = path + disk.dir_len + 1;

	if (!disk.on || strncmp(path, disk.dir, disk.dir_len) != 0 || path[disk.dir_len] != '/' ||
	    strchr(name, '/') != NULL)
		return NULL;
	return is_memory(name) ? NULL : name;
}

/* ---- files ---- */

void
disk_know(struct file *f, const char *path)
{
	struct stat st;
	int fd;

	if (f->known)
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		disk_broken(path);
	f->size = (size_t)st.st_size;
	f->disk = malloc(f->size + 1);
	for (size_t at = 0; at < f->size;) {
		ssize_t r = pread(fd, f->disk + at, f->size - at, (off_t)at);

		if (r <= 0)
			disk_broken(path);
		at += (size_t)r;
	}
	syscall(SYS_close, fd);
	f->known = true;
}

int
disk_new_file(void)
{
	if (disk.n_files == FILES)
		disk_broken("too many files");
	disk.file[disk.n_files].known = true;
	return disk.n_files++;
}

static void
resize(struct file *f, size_t size)
{
	if (size > f->size) {
		f->disk = realloc(f->disk, size + 1);
		memset(f->disk + f->size, 0, size - f->size);
	}
	f->size = size;
}

static void
write_through(struct file *f, const struct op *o, size_t from, size_t n, bool garbage)
{
	if (f->size < (size_t)o->at + from + n)
		resize(f, (size_t)o->at + from + n);
	memcpy(f->disk + o->at + from, o->data + from, n);
	for (size_t i = 0; garbage && i < n; i++)
		f->disk[(size_t)o->at + from + i] = (unsigned char)disk_random(&disk.random);
}

void
disk_sync(int file)
{
	struct file *f;

	passed();		/* before it took effect */
	if ((disk.flags & DISK_LYING) != 0 || (file == FD_DIRECTORY && (disk.flags & DISK_NO_DIR_SYNC) != 0))
		return;
	if (file == FD_DIRECTORY) {
		for (size_t i = 0; i < disk.n_pending; i++)
			apply(&disk.durable, &disk.pending[i]);
		disk.n_pending = 0;
		return;
	}
	f = &disk.file[file];
	for (size_t i = 0; i < f->n; i++) {
		const struct op *o = &f->ops[i];

		if (o->kind == OP_TRUNCATE)
			resize(f, (size_t)o->at);
		else
			write_through(f, o, 0, o->n, false);
		free(o->data);
	}
	f->n = 0;
}

void
disk_wrote(struct file *f, enum op_kind kind, off_t at, const void *p, size_t n)
{
	struct op *o;

	if (f->n == f->cap) {
		f->cap = f->cap * 2 + 16;
		f->ops = realloc(f->ops, f->cap * sizeof *f->ops);
	}
	o = &f->ops[f->n++];
	*o = (struct op){ .kind = kind, .at = at, .n = n, .when = disk.changes };
	f->changed = true;
	if (n > 0) {
		o->data = malloc(n);
		memcpy(o->data, p, n);
	}
	passed();
}

/* ---- the crash ---- */

enum manner { ALL, NONE, UP_TO, EACH_SECTOR, TORN, MANNERS };

static bool
kept(enum manner how, long when, long until)
{
	return how == ALL || (how == UP_TO && when < until) ||
	    (how >= EACH_SECTOR && (disk_random(&disk.random) & 1) != 0);
}

static void
lose(struct file *f, enum manner how, long until)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct op *o = &f->ops[i];

		if (o->kind == OP_TRUNCATE) {
			if (kept(how, o->when, until))
				resize(f, (size_t)o->at);
			continue;
		}
		for (size_t from = 0; from < o->n;) {
			size_t n = SECTOR - ((size_t)o->at + from) % SECTOR;

			n = n < o->n - from ? n : o->n - from;
			if (kept(how, o->when, until))
				write_through(
				    f, o, from, n, how == TORN && disk_random(&disk.random) % 4 == 0);
			from += n;
		}
	}
}

static void
put_file(const char *name, const struct file *f)
{
	char path[400];
	int fd;

	snprintf(path, sizeof path, "%s/%s", disk.dir, name);
	syscall(SYS_unlinkat, AT_FDCWD, path, 0);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || syscall(SYS_pwrite64, fd, f->disk, f->size, (off_t)0) != (long)f->size)
		disk_broken(path);
	syscall(SYS_close, fd);
}

void
disk_crash(void)
{
	enum manner how = (enum manner)(disk_random(&disk.random) % MANNERS);
	size_t entries = how == ALL ? disk.n_pending
	    : how == NONE           ? 0
				    : disk_random(&disk.random) % (disk.n_pending + 1);
	long until = disk.changes - (long)(disk_random(&disk.random) % 8);
	char path[400];

	disk.on = false;
	if ((disk.flags & DISK_KILL) != 0) {
		disk_save();
		kill(getpid(), SIGKILL);
	}
	for (size_t i = 0; i < entries; i++)
		apply(&disk.durable, &disk.pending[i]);
	for (int i = 0; i < disk.n_files; i++)
		lose(&disk.file[i], how, until);
	for (size_t i = 0; i < disk.now.n; i++)
		if (find(&disk.durable, disk.now.v[i].name) < 0) {
			snprintf(path, sizeof path, "%s/%s", disk.dir, disk.now.v[i].name);
			syscall(SYS_unlinkat, AT_FDCWD, path, 0);
		}
	for (size_t i = 0; i < disk.durable.n; i++) {
		const struct entry *e = &disk.durable.v[i];
		int at = find(&disk.now, e->name);

		if (disk.file[e->file].changed || at < 0 || disk.now.v[at].file != e->file)
			put_file(e->name, &disk.file[e->file]);
	}
	_exit(DISK_CRASHED);
}

void
disk_set_clock(int64_t wall_ms)
{
	disk.clock = wall_ms;
	disk.clock_stands = true;
}

static void
trace(const void *p, size_t n)
{
	const unsigned char *b = p;
	uint64_t t = *disk.trace, word;

	for (; n >= sizeof word; n -= sizeof word, b += sizeof word) {
		memcpy(&word, b, sizeof word);
		t = (t ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		t ^= t >> 29;
	}
	for (; n > 0; n--)
		t = (t ^ *b++) * UINT64_C(0x100000001b3);
	*disk.trace = t;
}

/* ".NAME.PID.RANDOM" of a durable write (base/io.h) without the pid, which no seed repeats. */
static void
trace_name(const char *name, size_t n)
{
	const char *random = n > 0 && *name == '.' ? memrchr(name, '.', n) : NULL,
		   *pid = random != NULL && random > name ? memrchr(name, '.', (size_t)(random - name)) : NULL;

	trace(name, pid != NULL ? (size_t)(pid - name) : n);
	if (pid != NULL)
		trace(random, n - (size_t)(random - name));
}

void
disk_change(int kind, const char *name, int64_t at, const void *p, size_t n)
{
	trace(&kind, sizeof kind);
	trace_name(name, strlen(name));
	trace(&at, sizeof at);
	if (kind == 'r')
		trace_name(p, n);
	else
		trace(p, n);
	disk.changes++;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* What stands in the directory is what the disk holds. */
static void
match_rules(void)
{
	struct dirent *e;
	DIR *list;

	if ((list = opendir(disk.dir)) == NULL)
		disk_broken(disk.dir);
	while ((e = readdir(list)) != NULL) {
		char path[600];

		if (e->d_name[0] == '.' && (e->d_name[1] == '\0' || e->d_name[1] == '.'))
			continue;
		snprintf(path, sizeof path, "%s/%s", disk.dir, e->d_name);
		if (is_memory(e->d_name)) {
			syscall(SYS_unlinkat, AT_FDCWD, path, 0);
			continue;
		}
		if (disk.n_files == FILES)
			disk_broken("too many files");
		put(&disk.now, e->d_name, disk.n_files++);
	}
	closedir(list);
	/* in an order that is the same on every file system */
	qsort(disk.now.v, disk.now.n, sizeof disk.now.v[0], by_name);
	for (size_t i = 0; i < disk.now.n; i++)
		disk.now.v[i].file = (int)i;
	disk.durable = disk.now;
}

void
disk_begin(const char *dir, uint64_t seed, long crash_at, int flags, uint64_t *so_far)
{
	memset(&disk, 0, sizeof disk);
	for (int i = 0; i < FDS; i++)
		disk.fd_file[i] = FD_OTHER;
	snprintf(disk.dir, sizeof disk.dir, "%s", dir);
	disk.dir_len = strlen(disk.dir);
	disk.random = seed;
	disk.trace = so_far;
	disk.crash_at = crash_at;
	disk.flags = flags;
	disk.clock = INT64_C(1700000000000) + (int64_t)(seed % 1000000);
	if (!disk_load())
		match_rules();
	disk.crash_at += disk.changes;
	disk.on = true;
}
