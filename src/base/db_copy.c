#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/db_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"

#define COPY_MAX ((off_t)1 << 30)
#define COPY_TRIES 40				/* with 25 ms between them: a second */
#define CHUNK 65536

static int
open_part(const char *path, int part, struct err *e)
{
	char *name = xasprintf("%s%s", path, db_suffix[part]);
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && (part == DB_FILE || errno != ENOENT))
		err_sys(e, GT_FAIL, "unreadable", "%s cannot be read", name);
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
		err_set(e, GT_FAIL, "not-a-file", "%s is not a regular file", name);
	} else if (fd >= 0 && st.st_size > COPY_MAX) {
		close(fd);
		fd = -1;
		err_set(e, GT_FAIL, "too-large", "%s is larger than 1 GiB", name);
	}
	free(name);
	return fd;
}

/* Fills the buffer unless the file ends; -1 with errno. */
static ssize_t
read_chunk(int fd, char *p)
{
	size_t n = 0;

	while (n < CHUNK) {
		ssize_t r = read(fd, p + n, CHUNK - n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}

/* 0 copied, or there was none and there is none now; -1 with err. */
static int
copy_part(const char *path, const char *copy, int part, struct err *e)
{
	char *name = xasprintf("%s%s", copy, db_suffix[part]), *chunk = NULL;
	struct err none = ERR_INIT;
	int in = open_part(path, part, &none), to = -1, ret = -1;
	ssize_t r = 0;

	unlink(name);
	if (in < 0) {
		ret = none.code == 0 ? 0 : -1;
		if (ret != 0 && e != NULL)
			*e = none;
		goto out;
	}
	to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	chunk = xmalloc(CHUNK);
	while (to >= 0 && (r = read_chunk(in, chunk)) > 0)
		if (io_write_all(to, chunk, (size_t)r) != 0)
			break;
	if (to < 0 || r != 0)
		err_sys(e, GT_FAIL, to >= 0 && r < 0 ? "unreadable" : db_disk_full(errno) ? "disk-full" : "unwritable",
		    "%s%s cannot be copied to %s", path, db_suffix[part], name);
	else
		ret = 0;
out:
	if (in >= 0)
		close(in);
	if (to >= 0)
		close(to);
	free(chunk);
	free(name);
	return ret;
}

/* Does the original still equal the copy? Of a -wal the beginning counts: whoever only appends does not disturb. */
static bool
part_same(const char *path, const char *copy, int part)
{
	struct err none = ERR_INIT;
	int a = open_part(path, part, &none), b = open_part(copy, part, &none);
	char *one = xmalloc(CHUNK), *two = xmalloc(CHUNK);
	bool same = (a < 0) == (b < 0);

	if (part == DB_WAL && b < 0 && a >= 0)
		same = db_part_size(path, part) == 0;
	while (same && a >= 0 && b >= 0) {
		ssize_t n = read_chunk(a, one), m = read_chunk(b, two);

		same = n >= 0 && m >= 0 && (part == DB_WAL ? n >= m : n == m) && memcmp(one, two, (size_t)m) == 0;
		if (!same || m < CHUNK)
			break;
	}
	free(one);
	free(two);
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return same;
}

/*
 * Reads database, journal, log; then compares in the same order. Where all agree, the database did not change between its two readings,
 * and the log or journal was read between them: together they are one moment, as good as after a kill -9 of the writer, which SQLite can
 * roll back. Times of change are not asked: two changes within one tick of the clock have the same.
 */
static int
copy_parts(const char *path, const char *copy, struct err *e)
{
	for (int try = 0; try < COPY_TRIES; try++) {
		bool same = true;

		if (try > 0)
			clock_sleep_ms(25);
		for (int i = 0; i < DB_PARTS; i++)
			if (copy_part(path, copy, i, e) != 0)
				return -1;
		for (int i = 0; i < DB_PARTS && same; i++)
			same = part_same(path, copy, i);
		if (same)
			return 0;
	}
	return err_set(e, GT_AGAIN, "locked", "%s changes faster than it can be read", path);
}

/*
 * A journal that ends in this mark names a super-journal, a file that a roll-back may delete: one of theirs, or any file that somebody who
 * planted the journal chose.
 */
static int
super_journal_refuse(const char *path, const char *copy, struct err *e)
{
	static const unsigned char mark[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	unsigned char end[8];
	off_t size = db_part_size(copy, DB_JOURNAL);
	bool marked;
	int fd;

	if (size < 16)
		return 0;
	fd = open_part(copy, DB_JOURNAL, e);
	if (fd < 0)
		return -1;
	marked = pread(fd, end, 8, size - 8) != 8 || memcmp(end, mark, 8) == 0;
	close(fd);
	if (marked)
		return err_set(e, GT_AGAIN, "locked", "%s is in the middle of a change that spans several databases", path);
	return 0;
}

int
db_copy_make(struct db_copy *c, const char *path, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	c->dir = xasprintf("%s/gt-recover.XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
	if (mkdtemp(c->dir) == NULL) {
		err_sys(e, GT_FAIL, "unwritable", "a private directory for a copy of %s cannot be made (%s)", path, c->dir);
		free(c->dir);
		return err_hint(e, "Set TMPDIR to a directory that this user can write");
	}
	c->file = io_join(c->dir, "db");
	if (copy_parts(path, c->file, e) == 0 && super_journal_refuse(path, c->file, e) == 0)
		return 0;
	db_copy_remove(c);
	return -1;
}

void
db_copy_remove(struct db_copy *c)
{
	char *shm = xasprintf("%s-shm", c->file);

	for (int i = 0; i < DB_PARTS; i++) {
		char *name = xasprintf("%s%s", c->file, db_suffix[i]);

		unlink(name);
		free(name);
	}
	unlink(shm);
	rmdir(c->dir);
	free(shm);
	free(c->file);
	free(c->dir);
}
