#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context/transcript_book.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/err.h"
#include "context/transcript_reader.h"

#define MAGIC "SQLite format 3"		/* with its NUL: the first 16 bytes of every database */

static void
init(struct book *b)
{
	*b = (struct book){ .fd = -1 };
	tail_init_bytes(&b->tail, "", 0);
}

/* A brace alone in the first line: one JSON object, laid out for people. */
static bool
is_laid_out(struct tail *t)
{
	const char *p;
	size_t n;

	return t->end > 1 && tail_line(t, 0, 2, &p, &n, NULL) == 0 && n == 2 && memcmp(p, "{\n", 2) == 0;
}

static int
open_pages(struct book *b, const struct reader *how, struct err *e)
{
	const char *list = how->list != NULL || how->older_list == NULL || !is_laid_out(&b->tail) ? how->list : how->older_list;
	int ret = list != NULL ? pages_list(&b->pages, &b->tail, list, e) : pages_lines(&b->pages, &b->tail, e);

	if (ret != 0)
		tail_release(&b->tail);
	return ret;
}

static bool
is_database(int fd)
{
	char first[sizeof MAGIC];

	return pread(fd, first, sizeof first, 0) == (ssize_t)sizeof first && memcmp(first, MAGIC, sizeof first) == 0;
}

static int
open_database(struct book *b, const char *path, const char *session, struct err *e)
{
	if (db_open_foreign(path, &b->db, e) != 0)
		return -1;
	if (pages_rows(&b->pages, b->db, session, e) == 0)
		return 0;
	db_close(b->db);
	b->db = NULL;
	return -1;
}

int
book_open_fd(struct book *b, const struct reader *how, int fd, struct err *e)
{
	char path[32];

	init(b);
	if (how == &reader_opencode && is_database(fd)) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		return open_database(b, path, NULL, e);
	}
	if (tail_init_file(&b->tail, fd, e) != 0)
		return -1;
	return open_pages(b, how, e);
}

int
book_open_bytes(struct book *b, const struct reader *how, const char *p, size_t n, struct err *e)
{
	init(b);
	if (how == &reader_opencode && n >= sizeof MAGIC && memcmp(p, MAGIC, sizeof MAGIC) == 0) {
		err_set(e, GT_USAGE, "transcript", "a database cannot be read from a pipe");
		return err_hint(e, "give it as a file: gt-recover parse --transcript --agent opencode <opencode.db");
	}
	tail_init_bytes(&b->tail, p, n);
	return open_pages(b, how, e);
}

/* cline's other file; NULL for any other name. Heap. */
static char *
sibling(const char *path)
{
	static const char messages[] = ".messages.json", plain[] = ".json";
	size_t n = strlen(path);

	if (str_ends(path, messages))
		return xasprintf("%.*s%s", (int)(n - (sizeof messages - 1)), path, plain);
	if (str_ends(path, plain))
		return xasprintf("%.*s%s", (int)(n - (sizeof plain - 1)), path, messages);
	return NULL;
}

/* The file that tells most: cline's messages, when there are any. */
static int
open_file(const struct reader *how, const char *path)
{
	char *other = how == &reader_cline ? sibling(path) : NULL;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, fd = -1;

	if (other != NULL && str_ends(other, ".messages.json"))
		fd = open(other, flags);
	if (fd < 0)
		fd = open(path, flags);
	if (fd < 0 && errno == ENOENT && other != NULL)
		fd = open(other, flags);
	free(other);
	return fd;
}

/* "file#session"; a file of that whole name comes first. */
static int
open_opencode(struct book *b, const char *path, struct err *e)
{
	const char *mark = access(path, F_OK) != 0 ? strrchr(path, '#') : NULL;
	char *file = xstrndup(path, mark != NULL ? (size_t)(mark - path) : strlen(path));
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	if (fd >= 0 && !is_database(fd)) {
		ret = book_open_fd(b, &reader_opencode, fd, e);
		b->fd = fd;
		if (ret != 0)
			close(fd);
	} else {
		if (fd >= 0)
			close(fd);	/* a descriptor that is closed later would take SQLite's lock with it */
		ret = open_database(b, file, mark != NULL ? mark + 1 : NULL, e);
	}
	free(file);
	return ret;
}

int
book_open(struct book *b, const struct reader *how, const char *path, struct err *e)
{
	int fd;

	init(b);
	if (how == &reader_opencode)
		return open_opencode(b, path, e);
	fd = open_file(how, path);
	if (fd < 0)
		return err_sys(e, GT_FAIL, errno == ENOENT ? "not-found" : "transcript", "the transcript %s cannot be opened", path);
	if (book_open_fd(b, how, fd, e) == 0) {
		b->fd = fd;
		return 0;
	}
	close(fd);
	return -1;
}

void
book_close(struct book *b)
{
	pages_release(&b->pages);
	tail_release(&b->tail);
	db_close(b->db);
	if (b->fd >= 0)
		close(b->fd);
}
