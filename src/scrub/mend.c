#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "scrub/mend.h"

/* What no later stage wants, at p: its bytes, 0 when it may stay. *joined counts what is attached to the character before it. */
static size_t
unwanted(const char *p, size_t n, size_t *joined)
{
	int32_t r;
	size_t step;

	if (*p == 0x1b)
		return escape_sgr(p, n) == 0 ? escape_len(p, n) : 0;
	step = utf8_next(p, n, &r);
	if (r >= 0 && utf8_joins(r))
		return ++*joined > 2 ? step : 0;
	if (r >= 0 && ((r < 0x20 && r != '\n' && r != '\t' && r != '\r') || utf8_hidden(r)))
		return step;
	*joined = r > 0x20 ? 0 : 2;
	return 0;
}

/* Bytes at p that are printable ASCII, newlines or tabs: most of a text, so eight at a time. */
static size_t
plain_run(const char *p, size_t n)
{
	size_t i = 0, end;
	uint64_t eight;

	do {
		for (; i + sizeof eight <= n; i += sizeof eight) {
			memcpy(&eight, p + i, sizeof eight);
			/* a byte above 0x7f, below 0x20, or 0x7f */
			if (((eight | (eight - 0x2020202020202020u) | (eight + 0x0101010101010101u)) & 0x8080808080808080u) != 0)
				break;
		}
		end = n - i < sizeof eight ? n : i + sizeof eight;
		while (i < end && ((p[i] >= 0x20 && p[i] < 0x7f) || p[i] == '\n' || p[i] == '\t'))
			i++;
	} while (i == end && i < n);
	return i;
}

/* U+2300 to U+27BF at p, what frames, bullets and boxes are drawn with: none of them is unwanted. */
static bool
drawn(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;

	return n >= 3 && u[0] == 0xe2 && u[1] >= 0x8c && u[1] <= 0x9e && (u[2] & 0xc0) == 0x80;
}

size_t
mend(struct buf *text)
{
	const char *p = text->data;
	size_t n = text->len, from = 0, i = 0, joined = 2, removed = 0;
	struct buf out = BUF_INIT;
	int32_t r = 0;

	while (i < n) {
		size_t run = plain_run(p + i, n - i), gone, step;

		i += run;
		if (i == n)
			break;
		if (run > 0)
			joined = p[i - 1] > 0x20 ? 0 : 2;
		if (drawn(p + i, n - i)) {
			joined = 0;
			i += 3;
			continue;
		}
		gone = unwanted(p + i, n - i, &joined);
		step = p[i] == 0x1b ? escape_sgr(p + i, n - i) : utf8_next(p + i, n - i, &r);
		if (gone == 0 && (p[i] == 0x1b || r >= 0)) {
			i += step;
			continue;
		}
		if (from == 0)
			buf_grow(&out, n);
		buf_add(&out, p + from, i - from);
		if (gone == 0)
			buf_str(&out, "\xef\xbf\xbd");
		removed += gone != 0;
		i += gone != 0 ? gone : 1;
		from = i;
	}
	if (from > 0) {
		buf_add(&out, p + from, n - from);
		buf_wipe(text);
		*text = out;
	}
	return removed;
}
