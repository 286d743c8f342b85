#include <string.h>

#include "prompt/cut.h"
#include "prompt/fence.h"
#include "prompt/tokens.h"

#define NONE ((size_t)-1)
#define LONG ((size_t)200)	/* bytes of a line that may lose its middle */
#define DOT "\xc2\xb7"		/* fence_data's: nothing is cut right before it */

bool
room_holds(struct room room, struct room what)
{
	return what.cost <= room.cost && what.lines <= room.lines;
}

struct room
room_less(struct room room, struct room what)
{
	room.cost -= what.cost < room.cost ? what.cost : room.cost;
	room.lines -= what.lines < room.lines ? what.lines : room.lines;
	return room;
}

struct room
room_of(const char *p, size_t n)
{
	return (struct room){ fence_cost(p, n), cut_lines(p, n) };
}

size_t
cut_lines(const char *p, size_t n)
{
	size_t lines = 0;
	const char *end = p + n, *q;

	while (p < end && (q = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		lines++;
		p = q + 1;
	}
	return lines + (p < end);
}

static bool
inside_rune(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Cleans a piece and puts its lines at their column. */
static void
lay(struct cut *t, const char *p, size_t n, const char *nonce)
{
	struct buf clean = BUF_INIT;
	size_t from = 0;

	fence_data(&clean, p, n, nonce);
	while (from < clean.len) {
		const char *q = memchr(clean.data + from, '\n', clean.len - from);
		size_t to = q == NULL ? clean.len : (size_t)(q - clean.data);

		for (size_t i = 0; i < t->indent && to > from; i++)
			buf_chr(&t->text, ' ');
		buf_add(&t->text, clean.data + from, to - from);
		buf_chr(&t->text, '\n');
		from = to + 1;
	}
	buf_release(&clean);
}

static void
note(struct buf *out, size_t indent, ssize_t lines, size_t bytes)
{
	for (size_t i = 0; i < indent; i++)
		buf_chr(out, ' ');
	if (lines > 1)
		buf_fmt(out, "… %zd lines left out …\n", lines);
	else
		buf_fmt(out, "… %zu bytes left out …\n", bytes);
}

/* Bytes that are looked at from each end: what they cost is more than `most`. */
static size_t
window(struct room most)
{
	size_t bytes;

	if (__builtin_mul_overflow(most.cost / TOKEN + 1, TOKEN_BYTES_MOST, &bytes) || bytes > NONE / 4)
		return NONE / 4;
	return bytes + 4096;
}

void
cut_lay(struct cut *t, const char *p, size_t n, const char *nonce, size_t indent, struct room most)
{
	size_t side = window(most), from, to;

	*t = (struct cut)CUT_INIT;
	t->indent = indent;
	while (n > 0 && (p[n - 1] == '\n' || p[n - 1] == ' '))
		n--;
	if (n / 2 <= side) {
		lay(t, p, n, nonce);
	} else {
		for (from = side; inside_rune(p[from]); from--)
			;
		for (to = n - side; inside_rune(p[to]); to++)
			;
		lay(t, p, from, nonce);
		t->gap_at = t->text.len;
		t->gap_lines = (ssize_t)cut_lines(p + from, to - from) - (p[from - 1] != '\n') - (p[to - 1] != '\n');
		t->gap_bytes = to - from;
		note(&t->text, indent, t->gap_lines, t->gap_bytes);
		lay(t, p + to, n - to, nonce);
	}
	t->full = room_of(t->text.data, t->text.len);
}

void
cut_release(struct cut *t)
{
	buf_release(&t->text);
	*t = (struct cut)CUT_INIT;
}

/* Where the last line of p[from..n) begins, which may have a newline behind it. */
static size_t
line_start(const char *p, size_t from, size_t n)
{
	const char *q = memrchr(p + from, '\n', n - 1 - from);

	return q == NULL ? from : (size_t)(q - p) + 1;
}

/* How many bytes of the beginning are whole lines within the room, which becomes smaller. */
static size_t
first_lines(const char *p, size_t n, struct room *room)
{
	size_t at = 0;

	while (at < n && room->lines > 0) {
		const char *q = memchr(p + at, '\n', n - at);
		size_t to = q == NULL ? n : (size_t)(q - p) + 1;
		struct room line;

		if ((to - at) / TOKEN_BYTES_MOST > room->cost / TOKEN)
			break;
		line = room_of(p + at, to - at);
		if (line.cost > room->cost)
			break;
		*room = room_less(*room, line);
		at = to;
	}
	return at;
}

/* Where the last whole lines begin that are within the room. */
static size_t
last_lines(const char *p, size_t n, struct room *room)
{
	size_t at = n;

	while (at > 0 && room->lines > 0) {
		size_t from = line_start(p, 0, at);
		struct room line;

		if ((at - from) / TOKEN_BYTES_MOST > room->cost / TOKEN)
			break;
		line = room_of(p + from, at - from);
		if (line.cost > room->cost)
			break;
		*room = room_less(*room, line);
		at = from;
	}
	return at;
}

/* What a piece of a line costs as a line of its own. */
static size_t
piece_cost(struct buf *tmp, const char *p, size_t n, size_t indent)
{
	buf_reset(tmp);
	for (size_t i = 0; i < indent; i++)
		buf_chr(tmp, ' ');
	buf_add(tmp, p, n);
	buf_chr(tmp, '\n');
	return fence_cost(tmp->data, tmp->len);
}

/*
 * How many bytes of the beginning (or of the end) of one long line have a cost within `most`: about as many as can be. Each try is
 * shorter by an eighth at least, so that all tries together are linear.
 */
static size_t
piece(const char *p, size_t n, size_t most, size_t indent, bool end)
{
	struct buf tmp = BUF_INIT;
	size_t len = most / TOKEN * TOKEN_BYTES_MOST, cost;

	if (len > n)
		len = n;
	while (len > 0) {
		while (len > 0 && len < n && inside_rune(end ? p[n - len] : p[len]))
			len--;
		if (!end && len + 2 <= n && memcmp(p + len, DOT, 2) == 0) {
			len--;
			continue;
		}
		cost = len == 0 ? 0 : piece_cost(&tmp, end ? p + n - len : p, len, indent);
		if (cost <= most)
			break;
		len = len / 8 * 7 < len - 1 ? len / 8 * 7 : len - 1;
	}
	buf_release(&tmp);
	return len;
}

size_t
cut_put(struct buf *out, const struct cut *t, struct room room)
{
	const char *p = t->text.data;
	size_t n = t->text.len, from, to, at;
	struct room head, tail;
	ssize_t lines;

	if (room_holds(room, t->full)) {
		buf_add(out, p, n);
		return t->gap_at == NONE ? 0 : t->gap_lines > 1 ? (size_t)t->gap_lines : 1;
	}
	room = room_less(room, CUT_LEAST);
	head = (struct room){ room.cost / 3, (room.lines + 1) / 3 };
	tail = room_less(room, head);
	from = first_lines(p, n, &head);
	tail.cost += head.cost;
	tail.lines += head.lines;
	at = (size_t)((const char *)memchr(p, '\n', n) - p);
	if (from == 0 && head.lines > 0 && at > LONG) {
		from = piece(p, at, head.cost, 0, false);
		tail.lines -= from > 0;
		tail.cost -= head.cost;
	}
	to = from + last_lines(p + from, n - from, &tail);
	at = line_start(p, from, n);
	if (to == n && tail.lines > 0 && n - at > LONG) {
		to = n - 1 - piece(p + at, n - 1 - at, tail.cost, t->indent, true);
		to += to == n - 1;
	}
	lines = (ssize_t)cut_lines(p + from, to - from);
	at = to - from;
	if (t->gap_at != NONE && t->gap_at >= from && t->gap_at < to) {
		lines += t->gap_lines - 1;
		at += t->gap_bytes;
	}
	buf_add(out, p, from);
	if (from > 0 && p[from - 1] != '\n')
		buf_chr(out, '\n');
	note(out, t->indent, lines, at);
	for (size_t i = 0; i < t->indent && to < n && p[to - 1] != '\n'; i++)
		buf_chr(out, ' ');
	buf_add(out, p + to, n - to);
	return lines > 1 ? (size_t)lines : 1;
}

size_t
cut_tail(const char *p, size_t n, struct room room)
{
	struct room rest = room;
	size_t at = last_lines(p, n, &rest);

	if (at < n || n == 0 || room.lines == 0)
		return at;
	at = line_start(p, 0, n);
	return n - piece(p + at, n - at, room.cost, 0, true);
}
