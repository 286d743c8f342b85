#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/io.h"
#include "fake_agent.h"

#define PASTE_BEGIN "\033[200~"
#define PASTE_END "\033[201~"
#define BRACKET_LEN 6
#define PLACEHOLDER_LINES 4
#define PLACEHOLDER_CHARS 800

/* as the terminal was found; given back by input_restore, also from the signal path */
static struct termios cooked;

void
input_init(struct input *in, int fd, bool focus)
{
	struct termios raw;

	*in = (struct input){ .fd = fd, .pending = BUF_INIT, .paste = BUF_INIT, .text = BUF_INIT, .shown = BUF_INIT };
	if (tcgetattr(fd, &cooked) != 0)
		return;
	raw = cooked;
	cfmakeraw(&raw);
	/* as Claude Code does */
	if (getenv("FAKE_AGENT_KEEPS_OUTPUT") != NULL)
		raw.c_oflag = cooked.c_oflag;
	tcsetattr(fd, TCSANOW, &raw);
	io_write_all(fd, "\033[?2004h", 8);
	if (focus)
		io_write_all(fd, "\033[?1004h", 8);
}

void
input_restore(struct input *in)
{
	io_write_all(in->fd, "\033[?1004l\033[?2004l", 16);
	tcsetattr(in->fd, TCSANOW, &cooked);
}

int
input_read(struct input *in)
{
	char chunk[65536];
	ssize_t r = read(in->fd, chunk, sizeof(chunk));

	if (r < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (r <= 0)
		return -1;
	buf_add(&in->pending, chunk, (size_t)r);
	return 0;
}

static void
eat(struct buf *b, size_t n)
{
	memmove(b->data, b->data + n, b->len - n);
	buf_cut(b, b->len - n);
}

/* Line ends become \n and a tab four blanks, as the real program's box makes them. */
static void
end_paste(struct input *in, bool drop)
{
	size_t from = in->text.len, lines = 0;

	for (size_t i = 0; i < in->paste.len && !drop; i++) {
		char c = in->paste.data[i];

		if (c == '\t')
			buf_str(&in->text, "    ");
		else
			buf_chr(&in->text, c == '\r' ? '\n' : c);
	}
	for (size_t i = from; i < in->text.len; i++)
		lines += in->text.data[i] == '\n';
	event("paste %zu%s", in->paste.len, drop ? " dropped" : "");
	if (!drop && (lines >= PLACEHOLDER_LINES || in->text.len - from > PLACEHOLDER_CHARS))
		buf_fmt(&in->shown, "[Pasted text #%d +%zu lines]", ++in->pastes, lines);
	else
		buf_add(&in->shown, in->text.data + from, in->text.len - from);
	buf_reset(&in->paste);
	in->pasting = false;
}

/* Takes bytes of a running paste; true when its end came. */
static bool
take_paste(struct input *in, bool drop)
{
	char *end = memmem(in->pending.data, in->pending.len, PASTE_END, BRACKET_LEN);
	size_t n;

	if (end == NULL) {
		/* the end mark may be cut in two by the read */
		n = in->pending.len > BRACKET_LEN - 1 ? in->pending.len - (BRACKET_LEN - 1) : 0;
		buf_add(&in->paste, in->pending.data, n);
		eat(&in->pending, n);
		return false;
	}
	n = (size_t)(end - in->pending.data);
	buf_add(&in->paste, in->pending.data, n);
	eat(&in->pending, n + BRACKET_LEN);
	end_paste(in, drop);
	return true;
}

/* Length of the escape sequence at the start of pending; 1 for a lone escape. */
static size_t
sequence_length(const struct buf *b)
{
	size_t i = 2;

	if (b->len < 2)
		return 1;
	if (b->data[1] == 'O')
		return b->len < 3 ? b->len : 3;
	if (b->data[1] != '[')
		return 1;
	while (i < b->len && ((unsigned char)b->data[i] < 0x40 || (unsigned char)b->data[i] > 0x7e))
		i++;
	return i < b->len ? i + 1 : b->len;
}

static void
backspace(struct input *in)
{
	unsigned char last;

	/* behind a placeholder there is no telling what to take away: everything goes */
	if (in->text.len != in->shown.len || in->text.len == 0) {
		input_clear(in);
		return;
	}
	do {
		last = (unsigned char)in->text.data[in->text.len - 1];
		buf_cut(&in->text, in->text.len - 1);
	} while (in->text.len > 0 && (last & 0xc0) == 0x80);
	buf_cut(&in->shown, in->text.len);
}

static void
put(struct input *in, const char *p, size_t n, bool drop)
{
	if (drop)
		return;
	buf_add(&in->text, p, n);
	buf_add(&in->shown, p, n);
}

static enum key
take_escape(struct input *in, bool drop)
{
	size_t n;

	if (in->pending.len >= BRACKET_LEN && memcmp(in->pending.data, PASTE_BEGIN, BRACKET_LEN) == 0) {
		eat(&in->pending, BRACKET_LEN);
		in->pasting = true;
		return take_paste(in, drop) ? KEY_PASTED : KEY_NONE;
	}
	/* the start mark may be cut in two by the read; a lone escape is a key */
	if (in->pending.len > 1 && in->pending.len < BRACKET_LEN &&
	    memcmp(in->pending.data, PASTE_BEGIN, in->pending.len) == 0)
		return KEY_NONE;
	n = sequence_length(&in->pending);
	eat(&in->pending, n);
	return n == 1 ? KEY_ESCAPE : KEY_TEXT;
}

enum key
input_next(struct input *in, bool drop)
{
	char c;

	if (in->pending.len == 0)
		return KEY_NONE;
	if (in->pasting)
		return take_paste(in, drop) ? KEY_PASTED : KEY_NONE;
	c = in->pending.data[0];
	if (c == '\033')
		return take_escape(in, drop);
	eat(&in->pending, 1);
	switch (c) {
	case '\r':
		return KEY_ENTER;
	case '\003':
		return KEY_INTERRUPT;
	case '\025':
		input_clear(in);
		return KEY_TEXT;
	case '\b':
	case '\177':
		backspace(in);
		return KEY_TEXT;
	default:
		if (c == '\n' || (unsigned char)c >= ' ')
			put(in, &c, 1, drop);
		return KEY_TEXT;
	}
}

void
input_clear(struct input *in)
{
	buf_reset(&in->text);
	buf_reset(&in->shown);
}

void
input_type(struct input *in, const char *text)
{
	put(in, text, strlen(text), false);
}
