#include <string.h>

#include "base/base64.h"
#include "base/buf.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_put(struct buf *out, const void *from, size_t n)
{
	const unsigned char *p = from;

	buf_grow(out, (n + 2) / 3 * 4);
	for (; n > 0; p += 3) {
		size_t some = n < 3 ? n : 3;
		unsigned v = (unsigned)p[0] << 16 | (some > 1 ? (unsigned)p[1] << 8 : 0) | (some > 2 ? p[2] : 0u);
		char four[4] = { alphabet[v >> 18], alphabet[v >> 12 & 63], some > 1 ? alphabet[v >> 6 & 63] : '=',
		    some > 2 ? alphabet[v & 63] : '=' };

		buf_add(out, four, sizeof four);
		n -= some;
	}
}

static int
value_of(char c)
{
	const char *at = c != '\0' ? strchr(alphabet, c) : NULL;

	return at != NULL ? (int)(at - alphabet) : -1;
}

int
base64_take(struct buf *out, const char *p, size_t n)
{
	size_t pad = n > 1 && p[n - 1] == '=' ? (p[n - 2] == '=' ? 2 : 1) : 0;

	if (n % 4 != 0)
		return -1;
	buf_grow(out, n / 4 * 3);
	for (size_t i = 0; i < n; i += 4) {
		size_t some = i + 4 == n ? 4 - pad : 4;
		unsigned v = 0;

		for (size_t k = 0; k < 4; k++) {
			int one = k < some ? value_of(p[i + k]) : 0;

			if (one < 0)
				return -1;
			v = v << 6 | (unsigned)one;
		}
		if ((some == 3 && (v & 0xff) != 0) || (some == 2 && (v & 0xffff) != 0))
			return -1;
		for (size_t k = 0; k + 1 < some; k++)
			buf_chr(out, (char)(v >> (16 - 8 * k) & 0xff));
	}
	return 0;
}
