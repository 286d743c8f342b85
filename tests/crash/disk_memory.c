/* What a killed process leaves unsynced, kept for the next one. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "disk.h"
#include "disk_private.h"

static int memory = -1;

void
disk_remember(int fd)
{
	memory = fd;
}

static void
put(const void *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		long r = syscall(SYS_write, memory, (const char *)p + at, n - at);

		if (r <= 0)
			disk_broken("what is unsynced cannot be kept");
		at += (size_t)r;
	}
}

static void
take(void *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		long r = syscall(SYS_read, memory, (char *)p + at, n - at);

		if (r <= 0)
			disk_broken("what is unsynced cannot be read");
		at += (size_t)r;
	}
}

/* A file that no name stands for, now or on the disk, comes back under none. */
static bool
has_name(int file)
{
	bool has = false;

	for (size_t i = 0; i < disk.now.n; i++)
		has = has || disk.now.v[i].file == file;
	for (size_t i = 0; i < disk.durable.n; i++)
		has = has || disk.durable.v[i].file == file;
	for (size_t i = 0; i < disk.n_pending; i++)
		has = has || disk.pending[i].file == file;
	return has;
}

static void
renumber(int from, int to)
{
	for (size_t i = 0; i < disk.now.n; i++)
		if (disk.now.v[i].file == from)
			disk.now.v[i].file = to;
	for (size_t i = 0; i < disk.durable.n; i++)
		if (disk.durable.v[i].file == from)
			disk.durable.v[i].file = to;
	for (size_t i = 0; i < disk.n_pending; i++)
		if (disk.pending[i].file == from)
			disk.pending[i].file = to;
}

static void
drop_nameless(void)
{
	int n = 0;

	for (int i = 0; i < disk.n_files; i++) {
		if (!has_name(i))
			continue;
		renumber(i, n);
		disk.file[n++] = disk.file[i];
	}
	disk.n_files = n;
}

void
disk_save(void)
{
	if (memory < 0)
		return;
	drop_nameless();
	if (syscall(SYS_ftruncate, memory, 0) != 0 || syscall(SYS_lseek, memory, 0, SEEK_SET) != 0)
		disk_broken("what is unsynced cannot be kept");
	put(&disk, sizeof disk);
	for (int i = 0; i < disk.n_files; i++) {
		const struct file *f = &disk.file[i];

		if (f->known)
			put(f->disk, f->size);
		put(f->ops, f->n * sizeof *f->ops);
		for (size_t k = 0; k < f->n; k++)
			put(f->ops[k].data, f->ops[k].n);
	}
}

static void
load_file(struct file *f)
{
	f->disk = NULL;
	f->cap = f->n;
	if (f->known) {
		f->disk = malloc(f->size + 1);
		take(f->disk, f->size);
	}
	f->ops = f->n > 0 ? malloc(f->n * sizeof *f->ops) : NULL;
	take(f->ops, f->n * sizeof *f->ops);
	for (size_t k = 0; k < f->n; k++) {
		struct op *o = &f->ops[k];

		o->data = o->n > 0 ? malloc(o->n) : NULL;
		take(o->data, o->n);
	}
}

bool
disk_load(void)
{
	struct disk was;

	if (memory < 0 || syscall(SYS_lseek, memory, 0, SEEK_END) <= 0)
		return false;
	syscall(SYS_lseek, memory, 0, SEEK_SET);
	take(&was, sizeof was);
	disk.changes = was.changes;
	disk.n_files = was.n_files;
	disk.now = was.now;
	disk.durable = was.durable;
	memcpy(disk.file, was.file, (size_t)was.n_files * sizeof disk.file[0]);
	memcpy(disk.pending, was.pending, sizeof disk.pending);
	disk.n_pending = was.n_pending;
	for (int i = 0; i < disk.n_files; i++)
		load_file(&disk.file[i]);
	return true;
}
