#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/transcript_tail.h"
#include "base/buf.h"
#include "base/err.h"
#include "context/long_line.h"

#define WINDOW ((size_t)1 << 20)
#define LINE_MAX_HELD ((size_t)8 << 20)

/* As many bytes as there are, up to n. -1 with err. */
static ssize_t
read_at(int fd, char *p, size_t n, off_t at, struct err *e)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = pread(fd, p + got, n - got, at + (off_t)got);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return err_sys(e, GT_FAIL, "transcript", "the transcript cannot be read");
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

/* Without the newline that ends the last line. */
static void
set_end(struct tail *t, off_t size, bool newline)
{
	t->end = size == 0 ? -1 : newline ? size - 1 : size;
}

int
tail_init_file(struct tail *t, int fd, struct err *e)
{
	struct stat st;
	char last = 0;

	*t = (struct tail){ .fd = fd, .room = BUF_INIT, .line = BUF_INIT, .end = -1 };
	if (fstat(fd, &st) != 0)
		return err_sys(e, GT_FAIL, "transcript", "the transcript cannot be read");
	if (!S_ISREG(st.st_mode))
		return err_set(e, GT_FAIL, "transcript", "the transcript is not a regular file");
	if (st.st_size > 0 && read_at(fd, &last, 1, st.st_size - 1, e) < 0)
		return -1;
	set_end(t, st.st_size, last == '\n');
	return 0;
}

void
tail_init_bytes(struct tail *t, const char *p, size_t n)
{
	*t = (struct tail){ .fd = -1, .room = BUF_INIT, .line = BUF_INIT, .window = p, .n = n };
	set_end(t, (off_t)n, n > 0 && p[n - 1] == '\n');
}

void
tail_release(struct tail *t)
{
	buf_wipe(&t->room);
	buf_wipe(&t->line);
}

/* Fills the window with what stands before `to`. */
static int
load_before(struct tail *t, off_t to, struct err *e)
{
	size_t n = to > (off_t)WINDOW ? WINDOW : (size_t)to;
	ssize_t got;

	buf_reset(&t->room);
	buf_grow(&t->room, WINDOW);
	t->from = to - (off_t)n;
	got = read_at(t->fd, t->room.data, n, t->from, e);
	if (got < 0)
		return -1;
	memset(t->room.data + got, '\n', n - (size_t)got);	/* the file shrank */
	t->room.len = n;
	t->window = t->room.data;
	t->n = n;
	return 0;
}

int
tail_previous(struct tail *t, off_t *at, size_t *n, struct err *e)
{
	off_t to = t->end, start = 0;

	if (to < 0)
		return 0;
	while (to > 0) {
		const char *nl;

		if (t->fd >= 0 && (to <= t->from || to > t->from + (off_t)t->n) && load_before(t, to, e) != 0)
			return -1;
		nl = memrchr(t->window, '\n', (size_t)(to - t->from));
		if (nl != NULL) {
			start = t->from + (nl - t->window) + 1;
			break;
		}
		to = t->from;
	}
	*at = start;
	*n = (size_t)(t->end - start);
	t->end = start - 1;
	return 1;
}

static int
read_long(struct tail *t, off_t at, size_t n, struct err *e)
{
	struct long_line l;
	struct buf piece = BUF_INIT;
	ssize_t got = 1;

	long_line_init(&l);
	buf_grow(&piece, WINDOW);
	for (size_t done = 0; done < n && got > 0; done += (size_t)got) {
		got = read_at(t->fd, piece.data, n - done < WINDOW ? n - done : WINDOW, at + (off_t)done, e);
		piece.len = got > 0 ? (size_t)got : 0;
		long_line_add(&l, piece.data, piece.len);
	}
	buf_add(&t->line, l.out.data, l.out.len);
	long_line_release(&l);
	buf_wipe(&piece);
	return got < 0 ? -1 : 0;
}

int
tail_line(struct tail *t, off_t at, size_t n, const char **p, size_t *len, struct err *e)
{
	ssize_t got;

	if (at >= t->from && at + (off_t)n <= t->from + (off_t)t->n) {
		*p = t->window + (at - t->from);
		*len = n;
		return 0;
	}
	buf_reset(&t->line);
	if (n > LINE_MAX_HELD) {
		if (read_long(t, at, n, e) != 0)
			return -1;
	} else {
		buf_grow(&t->line, n);
		if ((got = read_at(t->fd, t->line.data, n, at, e)) < 0)
			return -1;
		t->line.len = (size_t)got;
	}
	*p = t->line.data;
	*len = t->line.len;
	return 0;
}
