#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transcript/transcript.h"
#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "base/err.h"

#define KEEP ((size_t)256 << 10)	/* at each end of a string */
#define LOOK ((size_t)4 << 10)		/* how far a blank is looked for */
#define MOST ((size_t)32 << 20)

void
transcript_long_init(struct long_line *l)
{
	*l = (struct long_line){ .out = BUF_INIT, .tail = BUF_INIT };
}

void
transcript_long_release(struct long_line *l)
{
	buf_wipe(&l->out);
	buf_wipe(&l->tail);
}

static void
put_bytes(struct long_line *l, const void *p, size_t n)
{
	if (l->full || l->out.len + n > MOST) {
		l->full = 1;
		buf_reset(&l->out);
	} else {
		buf_add(&l->out, p, n);
	}
}

/* The ring in its order. It holds less than KEEP only when the string's end is whole in it. */
static void
rotate_ring(struct long_line *l, struct buf *end)
{
	size_t turn = l->tail.len < KEEP ? 0 : (l->seen - KEEP) % KEEP;

	buf_add(end, l->tail.data + turn, l->tail.len - turn);
	buf_add(end, l->tail.data, turn);
}

/*
 * What is left of both ends reaches from blank to blank: half a word may be half a secret. An
 * escape holds no blank.
 */
static void
put_cut(struct long_line *l, const struct buf *end)
{
	size_t head = l->out.len, from = 0, floor = head - l->head > LOOK ? head - LOOK : l->head;
	struct buf note = BUF_INIT;
	const char *blank;

	while (head > floor && l->out.data[head - 1] != ' ')
		head--;
	if (head > floor)
		buf_cut(&l->out, head);
	blank = memchr(end->data, ' ', end->len);
	from = blank != NULL ? (size_t)(blank - end->data) : end->len;
	buf_fmt(
	    &note, "\\n[… %zu bytes left out …]\\n", l->seen - (l->out.len - l->head) - (end->len - from));
	put_bytes(l, note.data, note.len);
	put_bytes(l, end->data + from, end->len - from);
	buf_release(&note);
}

static void
end_string(struct long_line *l)
{
	struct buf end = BUF_INIT;

	if (l->seen > KEEP && !l->full) {
		rotate_ring(l, &end);
		if (l->seen <= 2 * KEEP)
			put_bytes(l, end.data, end.len);
		else
			put_cut(l, &end);
		buf_wipe(&end);
	}
	buf_reset(&l->tail);
	l->in_string = 0;
	put_bytes(l, "\"", 1);
}

/* The end of a string that may go on: of many bytes only the last count. */
static void
put_ring(struct long_line *l, const char *p, size_t n)
{
	while (n > 0) {
		size_t at = l->seen % KEEP, piece = n < KEEP - at ? n : KEEP - at;

		if (l->tail.len < KEEP)
			buf_add(&l->tail, p, piece);
		else
			memcpy(l->tail.data + at, p, piece);
		l->seen += piece;
		p += piece;
		n -= piece;
	}
}

static void
put_json_string(struct long_line *l, const char *p, size_t n)
{
	size_t head = l->seen < KEEP ? KEEP - l->seen : 0;

	head = head < n ? head : n;
	put_bytes(l, p, head);
	l->seen += head;
	put_ring(l, p + head, n - head);
}

/* One byte that is a quote, a backslash, or stands behind one. */
static void
add_byte(struct long_line *l, char c)
{
	if (c == '"' && l->escape >= 0) {
		end_string(l);
		return;
	}
	if (l->escape < 0)
		l->escape = c == 'u' ? 4 : 0;
	else if (l->escape > 0)
		l->escape--;
	else if (c == '\\')
		l->escape = -1;
	put_json_string(l, &c, 1);
}

void
transcript_long_add(struct long_line *l, const char *p, size_t n)
{
	for (const char *end = p + n; p < end; p++) {
		const char *quote = p;

		if (l->in_string) {
			while (l->escape == 0 && quote < end && *quote != '"' && *quote != '\\')
				quote++;
			if (quote > p)
				put_json_string(l, p, (size_t)(quote - p));
			p = quote;
			if (p == end)
				return;
			add_byte(l, *p);
			continue;
		}
		quote = memchr(p, '"', (size_t)(end - p));
		if (quote == NULL) {
			put_bytes(l, p, (size_t)(end - p));
			return;
		}
		put_bytes(l, p, (size_t)(quote + 1 - p));
		p = quote;
		l->in_string = 1;
		l->seen = 0;
		l->escape = 0;
		l->head = l->out.len;
	}
}

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
set_end(struct transcript_tail *t, off_t size, bool newline)
{
	t->size = size;
	t->end = size == 0 ? -1 : newline ? size - 1 : size;
}

int
transcript_tail_init_fd(struct transcript_tail *t, int fd, struct err *e)
{
	struct stat st;
	char last = 0;

	*t = (struct transcript_tail){ .fd = fd, .room = BUF_INIT, .line = BUF_INIT, .end = -1 };
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
transcript_tail_init_bytes(struct transcript_tail *t, const char *p, size_t n)
{
	*t = (struct transcript_tail){ .fd = -1, .room = BUF_INIT, .line = BUF_INIT, .window = p, .n = n };
	set_end(t, (off_t)n, n > 0 && p[n - 1] == '\n');
}

void
transcript_tail_release(struct transcript_tail *t)
{
	buf_wipe(&t->room);
	buf_wipe(&t->line);
}

/* Fills the window with what stands before `to`. */
static int
load_before(struct transcript_tail *t, off_t to, struct err *e)
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
transcript_tail_previous(struct transcript_tail *t, off_t *at, size_t *n, struct err *e)
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
read_long(struct transcript_tail *t, off_t at, size_t n, struct err *e)
{
	struct long_line l;
	struct buf piece = BUF_INIT;
	ssize_t got = 1;

	transcript_long_init(&l);
	buf_grow(&piece, WINDOW);
	for (size_t done = 0; done < n && got > 0; done += (size_t)got) {
		got = read_at(t->fd, piece.data, n - done < WINDOW ? n - done : WINDOW, at + (off_t)done, e);
		piece.len = got > 0 ? (size_t)got : 0;
		transcript_long_add(&l, piece.data, piece.len);
	}
	buf_add(&t->line, l.out.data, l.out.len);
	transcript_long_release(&l);
	buf_wipe(&piece);
	return got < 0 ? -1 : 0;
}

int
transcript_tail_line(
    struct transcript_tail *t, off_t at, size_t n, const char **p, size_t *len, struct err *e)
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
