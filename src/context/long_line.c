#include <string.h>

#include "context/long_line.h"
#include "base/buf.h"

#define KEEP ((size_t)256 << 10)	/* at each end of a string */
#define LOOK ((size_t)4 << 10)		/* how far a blank is looked for */
#define MOST ((size_t)32 << 20)

void
long_line_init(struct long_line *l)
{
	*l = (struct long_line){ .out = BUF_INIT, .tail = BUF_INIT };
}

void
long_line_release(struct long_line *l)
{
	buf_wipe(&l->out);
	buf_wipe(&l->tail);
}

static void
put(struct long_line *l, const void *p, size_t n)
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
straighten(struct long_line *l, struct buf *end)
{
	size_t turn = l->tail.len < KEEP ? 0 : (l->seen - KEEP) % KEEP;

	buf_add(end, l->tail.data + turn, l->tail.len - turn);
	buf_add(end, l->tail.data, turn);
}

/* What is left of both ends reaches from blank to blank: half a word may be half a secret. An escape holds no blank. */
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
	buf_fmt(&note, "\\n[… %zu bytes left out …]\\n", l->seen - (l->out.len - l->head) - (end->len - from));
	put(l, note.data, note.len);
	put(l, end->data + from, end->len - from);
	buf_release(&note);
}

static void
end_string(struct long_line *l)
{
	struct buf end = BUF_INIT;

	if (l->seen > KEEP && !l->full) {
		straighten(l, &end);
		if (l->seen <= 2 * KEEP)
			put(l, end.data, end.len);
		else
			put_cut(l, &end);
		buf_wipe(&end);
	}
	buf_reset(&l->tail);
	l->in_string = 0;
	put(l, "\"", 1);
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
put_string(struct long_line *l, const char *p, size_t n)
{
	size_t head = l->seen < KEEP ? KEEP - l->seen : 0;

	head = head < n ? head : n;
	put(l, p, head);
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
	put_string(l, &c, 1);
}

void
long_line_add(struct long_line *l, const char *p, size_t n)
{
	for (const char *end = p + n; p < end; p++) {
		const char *quote = p;

		if (l->in_string) {
			while (l->escape == 0 && quote < end && *quote != '"' && *quote != '\\')
				quote++;
			if (quote > p)
				put_string(l, p, (size_t)(quote - p));
			p = quote;
			if (p == end)
				return;
			add_byte(l, *p);
			continue;
		}
		quote = memchr(p, '"', (size_t)(end - p));
		if (quote == NULL) {
			put(l, p, (size_t)(end - p));
			return;
		}
		put(l, p, (size_t)(quote + 1 - p));
		p = quote;
		l->in_string = 1;
		l->seen = 0;
		l->escape = 0;
		l->head = l->out.len;
	}
}
