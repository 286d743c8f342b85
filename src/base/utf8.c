#include <string.h>
#include <wchar.h>

#include "base/utf8.h"
#include "base/buf.h"

/* OSC, DCS, SOS, PM, APC: until BEL or ST. */
static size_t
string_len(const unsigned char *p, size_t n)
{
	size_t i = 2;

	while (i < n && p[i] != 0x07 && p[i] != 0x1b && p[i] != '\n')
		i++;
	if (i < n && p[i] == 0x07)
		return i + 1;
	return i + 1 < n && p[i] == 0x1b && p[i + 1] == '\\' ? i + 2 : i;
}

size_t
utf8_escape_len(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 1;

	if (n < 2)
		return 1;
	if (p[1] == ']' || p[1] == 'P' || p[1] == 'X' || p[1] == '^' || p[1] == '_')
		return string_len(p, n);
	if (p[1] == '[') {
		for (i = 2; i < n && p[i] >= 0x20 && p[i] < 0x40; i++)
			;
		return i < n && p[i] >= 0x40 && p[i] < 0x7f ? i + 1 : i;
	}
	while (i < n && p[i] >= 0x20 && p[i] < 0x30)
		i++;
	return i < n && p[i] >= 0x30 && p[i] < 0x7f ? i + 1 : i;
}

size_t
utf8_escape_sgr(const char *p, size_t n)
{
	size_t i = 2;

	if (n < 3 || p[1] != '[')
		return 0;
	while (i < n && ((p[i] >= '0' && p[i] <= '9') || p[i] == ';' || p[i] == ':'))
		i++;
	return i < n && p[i] == 'm' ? i + 1 : 0;
}

size_t
utf8_next(const char *s, size_t n, int32_t *rune)
{
	const unsigned char *p = (const unsigned char *)s;
	static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len;
	int32_t r;

	*rune = -1;
	if (p[0] < 0x80) {
		*rune = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		len = 2, r = p[0] & 0x1f;
	else if ((p[0] & 0xf0) == 0xe0)
		len = 3, r = p[0] & 0x0f;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		len = 4, r = p[0] & 0x07;
	else
		return 1;
	if (len > n)
		return 1;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		r = (r << 6) | (p[i] & 0x3f);
	}
	if (r < least[len] || r > 0x10ffff || (r >= 0xd800 && r <= 0xdfff))
		return 1;
	*rune = r;
	return len;
}

void
utf8_put(struct buf *out, int32_t r)
{
	char c[4];
	size_t n;

	if (r < 0x80) {
		c[0] = (char)r;
		n = 1;
	} else if (r < 0x800) {
		c[0] = (char)(0xc0 | (r >> 6));
		c[1] = (char)(0x80 | (r & 0x3f));
		n = 2;
	} else if (r < 0x10000) {
		c[0] = (char)(0xe0 | (r >> 12));
		c[1] = (char)(0x80 | ((r >> 6) & 0x3f));
		c[2] = (char)(0x80 | (r & 0x3f));
		n = 3;
	} else {
		c[0] = (char)(0xf0 | (r >> 18));
		c[1] = (char)(0x80 | ((r >> 12) & 0x3f));
		c[2] = (char)(0x80 | ((r >> 6) & 0x3f));
		c[3] = (char)(0x80 | (r & 0x3f));
		n = 4;
	}
	buf_add(out, c, n);
}

/* How many bytes at p are printable ASCII. */
static size_t
count_printable(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && p[i] >= 0x20 && p[i] < 0x7f)
		i++;
	return i;
}

int
utf8_width_rune(int32_t rune)
{
	int w;

	if (rune < 0x20 || (rune >= 0x7f && rune < 0xa0))
		return 0;
	if (rune < 0x300)
		return 1;
	w = wcwidth((wchar_t)rune);
	return w < 0 ? 1 : w;
}

size_t
utf8_width(const char *p, size_t n)
{
	size_t w = 0, step;
	int32_t r;

	for (size_t i = 0; i < n; i += step) {
		step = count_printable(p + i, n - i);
		if (step > 0) {
			w += step;
			continue;
		}
		step = utf8_next(p + i, n - i, &r);
		w += r < 0 ? 1 : (size_t)utf8_width_rune(r);
	}
	return w;
}

/*
 * Runes that print nothing but change how what is around them is read: what a person or an agent
 * cannot see it must not be told.
 */
static bool
is_invisible(int32_t r)
{
	return r == 0xad || r == 0x34f || r == 0x61c || (r >= 0x115f && r <= 0x1160) ||
	    (r >= 0x17b4 && r <= 0x17b5) || (r >= 0x180b && r <= 0x180e) || r == 0x200b ||
	    (r >= 0x200e && r <= 0x200f) || (r >= 0x2028 && r <= 0x202e) || (r >= 0x2060 && r <= 0x206f) ||
	    r == 0x3164 || r == 0xfeff || r == 0xffa0 || (r >= 0xfff0 && r <= 0xfff8) ||
	    (r >= 0x1bca0 && r <= 0x1bca3) || (r >= 0x1d173 && r <= 0x1d17a) ||
	    (r >= 0xe0000 && r <= 0xe0fff);
}

bool
utf8_joins(int32_t r)
{
	return r == 0x200c || r == 0x200d || (r >= 0xfe00 && r <= 0xfe0f);
}

bool
utf8_hidden(int32_t rune)
{
	return (rune >= 0x7f && rune < 0xa0) || is_invisible(rune) || utf8_joins(rune);
}

void
utf8_escape(struct buf *out, const char *p, size_t n, size_t max_width)
{
	size_t w = 0, step, piece;
	int32_t r;

	for (size_t i = 0; i < n; i += step) {
		size_t mark = out->len;

		step = utf8_next(p + i, n - i, &r);
		if (r < 0)
			buf_fmt(out, "\\x%02x", (unsigned char)p[i]);
		else if (r == '\n')
			buf_str(out, "\\n");
		else if (r == '\t')
			buf_chr(out, ' ');
		else if (r < 0x20 || (r >= 0x7f && r < 0xa0))
			buf_fmt(out, "\\x%02x", (unsigned)r);
		else if (is_invisible(r) || utf8_joins(r))
			buf_fmt(out, "\\u{%x}", (unsigned)r);
		else
			buf_add(out, p + i, step);
		piece = utf8_width(out->data + mark, out->len - mark);
		if (max_width != 0 && w + piece > max_width - (i + step < n ? 1 : 0)) {
			buf_cut(out, mark);
			buf_str(out, "…");
			return;
		}
		w += piece;
	}
}

size_t
utf8_clean(struct buf *out, const char *p, size_t n)
{
	size_t step, dropped = 0, run = 0;
	bool base = false;
	int32_t r;

	buf_grow(out, n);
	for (size_t i = 0; i < n; i += step) {
		step = count_printable(p + i, n - i);
		if (step > 0) {
			buf_add(out, p + i, step);
			base = p[i + step - 1] > 0x20;
			run = 0;
			continue;
		}
		step = utf8_next(p + i, n - i, &r);
		if (r == '\r') {
			if (i + 1 >= n || p[i + 1] != '\n')
				buf_chr(out, '\n');
			base = false;
		} else if (r < 0) {
			buf_str(out, "\xef\xbf\xbd");
			base = false;
		} else if ((r < 0x20 && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) ||
		    is_invisible(r)) {
			dropped++;
		} else if (utf8_joins(r)) {
			/* three in a row carry no picture, but they can carry hidden bytes */
			if (!base || ++run > 2)
				dropped++;
			else
				buf_add(out, p + i, step);
		} else {
			buf_add(out, p + i, step);
			base = r > 0x20;
			run = 0;
		}
	}
	return dropped;
}

bool
utf8_valid(const char *p, size_t n)
{
	size_t step;
	int32_t r;

	for (size_t i = 0; i < n; i += step) {
		step = count_printable(p + i, n - i);
		if (step > 0)
			continue;
		step = utf8_next(p + i, n - i, &r);
		if (r < 0)
			return false;
	}
	return true;
}

size_t
utf8_ascii(const char *p, size_t n)
{
	size_t i = 0;
	uint64_t eight;

	for (; i + sizeof eight <= n; i += sizeof eight) {
		memcpy(&eight, p + i, sizeof eight);
		if ((eight & 0x8080808080808080u) != 0)
			break;
	}
	while (i < n && (unsigned char)p[i] < 0x80)
		i++;
	return i;
}
