#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "scrub/match/match_private.h"

/* bytes of a value; of fewer too few characters do not depend on the neighbours */
#define LEAST_BASE64 10

/* ---- into ---- */

static void
json_form(struct buf *out, const char *p, size_t n)
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";

	for (size_t i = 0; i < n; i++) {
		const char *at = p[i] != '\0' ? strchr(from, p[i]) : NULL;

		if (at != NULL) {
			buf_chr(out, '\\');
			buf_chr(out, to[at - from]);
		} else {
			buf_chr(out, p[i]);
		}
	}
}

static void
percent_form(struct buf *out, const char *p, size_t n, const char *also_plain, bool upper)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (isalnum(c) || (c != '\0' && (strchr("-._~", c) != NULL || strchr(also_plain, c) != NULL)))
			buf_chr(out, (char)c);
		else
			buf_fmt(out, upper ? "%%%02X" : "%%%02x", c);
	}
}

/*
 * What base64 makes of the value when `before` bytes stand in front of it, without the characters
 * at the ends that depend on the neighbours.
 */
static void
base64_form(struct buf *out, const char *p, size_t n, size_t before, const char *last_two)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t first = (8 * before + 5) / 6, last = 8 * (before + n) / 6;

	for (size_t k = first; k < last; k++) {
		unsigned v = 0;

		for (size_t bit = 6 * k - 8 * before, b = 0; b < 6; b++, bit++)
			v = v << 1 | ((unsigned)(unsigned char)p[bit / 8] >> (7 - bit % 8) & 1u);
		buf_chr(out, v < 62 ? digits[v] : last_two[v - 62]);
	}
}

void
match_encodings(
    const char *value, size_t n, void (*each)(void *arg, const struct secret_encoding *s), void *arg)
{
	struct buf b = BUF_INIT;

	each(arg, &(struct secret_encoding){ value, n, false });
	json_form(&b, value, n);
	each(arg, &(struct secret_encoding){ b.data, b.len, false });
	for (int i = 0; i < 3; i++) {
		buf_cut(&b, 0);
		percent_form(&b, value, n, i == 2 ? "/:@!$&'()*+,;=" : "", i != 1);
		each(arg, &(struct secret_encoding){ b.data, b.len, false });
	}
	for (size_t lead = 0; lead < 3 && n >= LEAST_BASE64; lead++) {
		buf_cut(&b, 0);
		base64_form(&b, value, n, lead, "+/");
		each(arg, &(struct secret_encoding){ b.data, b.len, true });
		buf_cut(&b, 0);
		base64_form(&b, value, n, lead, "-_");
		each(arg, &(struct secret_encoding){ b.data, b.len, true });
	}
	buf_wipe(&b);
}

/* ---- out of ---- */

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9'                  ? c - '0'
	    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
						     : -1;
}

static bool
from_json(struct buf *out, const char *p, size_t n)
{
	static const char to[] = "\"\\/\n\r\t\b\f", from[] = "\"\\/nrtbf";

	for (size_t i = 0; i < n; i++) {
		const char *at;

		if (p[i] != '\\') {
			buf_chr(out, p[i]);
		} else if (i + 1 < n && p[i + 1] != '\0' && (at = strchr(from, p[i + 1])) != NULL) {
			buf_chr(out, to[at - from]);
			i++;
		} else if (i + 5 < n && p[i + 1] == 'u' && p[i + 2] == '0' && p[i + 3] == '0' &&
		    hex_digit(p[i + 4]) >= 0 && hex_digit(p[i + 5]) >= 0) {
			utf8_put(out, hex_digit(p[i + 4]) << 4 | hex_digit(p[i + 5]));
			i += 5;
		} else {
			return false;
		}
	}
	return true;
}

static bool
from_percent(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != '%') {
			buf_chr(out, p[i]);
		} else if (i + 2 < n && hex_digit(p[i + 1]) >= 0 && hex_digit(p[i + 2]) >= 0) {
			buf_chr(out, (char)(hex_digit(p[i + 1]) << 4 | hex_digit(p[i + 2])));
			i += 2;
		} else {
			return false;
		}
	}
	return true;
}

static bool
from_base64(struct buf *out, const char *p, size_t n)
{
	uint32_t bits = 0;
	int have = 0;

	while (n > 0 && p[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		int v = isupper(c)         ? c - 'A'
		    : islower(c)           ? c - 'a' + 26
		    : isdigit(c)           ? c - '0' + 52
		    : c == '+' || c == '-' ? 62
		    : c == '/' || c == '_' ? 63
					   : -1;

		if (v < 0)
			return false;
		bits = bits << 6 | (uint32_t)v;
		if ((have += 6) < 8)
			continue;
		have -= 8;
		c = bits >> have & 0xff;
		if (c < 0x20 || c > 0x7e)	/* a word of letters is base64 of noise */
			return false;
		buf_chr(out, (char)c);
	}
	return n % 4 != 1;
}

void
match_decodings(const char *value, size_t n, void (*each)(void *arg, const char *p, size_t n), void *arg)
{
	struct buf b = BUF_INIT;

	if (memchr(value, '\\', n) != NULL && from_json(&b, value, n))
		each(arg, b.data, b.len);
	buf_cut(&b, 0);
	if (memchr(value, '%', n) != NULL && from_percent(&b, value, n))
		each(arg, b.data, b.len);
	buf_cut(&b, 0);
	if (n >= LEAST_BASE64 && from_base64(&b, value, n))
		each(arg, b.data, b.len);
	buf_wipe(&b);
}
