#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/toml_private.h"
#include "base/err.h"
#include "base/utf8.h"

int
toml_fail(struct toml_text *t, int line, const char *fmt, ...)
{
	struct buf msg = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(&msg, fmt, ap);
	va_end(ap);
	t->failed = true;
	err_set(t->e, GT_USAGE, "toml", "%s:%d: %s", t->what, line, msg.data);
	buf_release(&msg);
	return -1;
}

int
toml_peek(const struct toml_text *t, size_t ahead)
{
	return ahead < t->n - t->pos ? (unsigned char)t->text[t->pos + ahead] : -1;
}

size_t
toml_newline(const struct toml_text *t)
{
	if (toml_peek(t, 0) == '\n')
		return 1;
	return toml_peek(t, 0) == '\r' && toml_peek(t, 1) == '\n' ? 2 : 0;
}

void
toml_skip_blanks(struct toml_text *t)
{
	while (toml_peek(t, 0) == ' ' || toml_peek(t, 0) == '\t')
		t->pos++;
}

static bool
toml_is_control(int c)
{
	return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f;
}

int
toml_hex(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int
skip_comment(struct toml_text *t)
{
	while (toml_peek(t, 0) >= 0 && toml_newline(t) == 0) {
		if (toml_is_control(toml_peek(t, 0)))
			return toml_fail(
			    t, t->line, "control character 0x%02x in a comment", (unsigned)toml_peek(t, 0));
		t->pos++;
	}
	return 0;
}

int
toml_end_line(struct toml_text *t, const char *after)
{
	toml_skip_blanks(t);
	if (toml_peek(t, 0) == '#' && skip_comment(t) != 0)
		return -1;
	if (toml_peek(t, 0) < 0)
		return 0;
	if (toml_newline(t) == 0)
		return toml_fail(t, t->line, "expected the end of the line or a # comment after %s", after);
	t->pos += toml_newline(t);
	t->line++;
	return 0;
}

/* \uXXXX and \UXXXXXXXX; the position is on the first digit. */
static int
escape_rune(struct toml_text *t, int digits, struct buf *out)
{
	int64_t rune = 0;

	for (int i = 0; i < digits; i++) {
		int d = toml_hex(toml_peek(t, 0));

		if (d < 0)
			return toml_fail(t, t->line, "expected %d hexadecimal digits after \\%c", digits,
			    digits == 4 ? 'u' : 'U');
		rune = rune * 16 + d;
		t->pos++;
	}
	if (rune == 0)
		return toml_fail(t, t->line, "a string cannot contain a NUL character");
	if (rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
		return toml_fail(t, t->line,
		    "\\%c does not name a character; expected 1 to D7FF or E000 to 10FFFF",
		    digits == 4 ? 'u' : 'U');
	utf8_put(out, (int32_t)rune);
	return 0;
}

/*
 * A backslash that ends its line: it, the line end and all white space up to the next text
 * vanish. True when it was one.
 */
static bool
escape_line_end(struct toml_text *t)
{
	size_t here = t->pos;

	toml_skip_blanks(t);
	if (toml_newline(t) == 0) {
		t->pos = here;
		return false;
	}
	while (toml_newline(t) > 0) {
		t->pos += toml_newline(t);
		t->line++;
		toml_skip_blanks(t);
	}
	return true;
}

/* The position is behind the backslash. */
static int
read_escape(struct toml_text *t, bool multi, struct buf *out)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	int c = toml_peek(t, 0);
	const char *at;

	if (multi && escape_line_end(t))
		return 0;
	if (c == 'u' || c == 'U') {
		t->pos++;
		return escape_rune(t, c == 'u' ? 4 : 8, out);
	}
	at = c > 0 ? strchr(from, c) : NULL;
	if (at == NULL)
		return toml_fail(t, t->line,
		    "unknown escape in a string; expected \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX or "
		    "\\UXXXXXXXX "
		    "(or put the string between single quotes)");
	buf_chr(out, to[at - from]);
	t->pos++;
	return 0;
}

/* Quotes inside or at the end of a """ or ''' block. Returns true when the block ends here. */
static bool
block_quotes(struct toml_text *t, int quote, struct buf *out)
{
	size_t run = 0;

	/* Up to two quotes may stand right before the three that close. */
	while (run < 5 && toml_peek(t, run) == quote)
		run++;
	t->pos += run;
	for (size_t i = 0; i < (run >= 3 ? run - 3 : run); i++)
		buf_chr(out, (char)quote);
	return run >= 3;
}

int
toml_string_read(struct toml_text *t, bool block, struct buf *out)
{
	int quote = toml_peek(t, 0), first = t->line;
	bool multi = toml_peek(t, 1) == quote && toml_peek(t, 2) == quote;

	if (multi && !block)
		return toml_fail(t, t->line, "a key cannot be a block of several lines");
	t->pos += multi ? 3 : 1;
	if (multi && toml_newline(t) > 0) {
		t->pos += toml_newline(t);
		t->line++;
	}
	for (;;) {
		int c = toml_peek(t, 0);
		size_t nl = toml_newline(t);

		if (c < 0 || (nl > 0 && !multi))
			return toml_fail(t, first,
			    "the string that begins here is not closed; expected %s%c%s",
			    multi ? "three times " : "", quote, multi ? "" : " on the same line");
		if (nl > 0) {
			buf_chr(out, '\n');
			t->pos += nl;
			t->line++;
		} else if (c == quote && multi) {
			if (block_quotes(t, quote, out))
				return 0;
		} else if (c == quote) {
			t->pos++;
			return 0;
		} else if (c == '\\' && quote == '"') {
			t->pos++;
			if (read_escape(t, multi, out) != 0)
				return -1;
		} else if (toml_is_control(c)) {
			return toml_fail(t, t->line,
			    "control character 0x%02x in a string; expected an escape such as \\u%04X",
			    (unsigned)c, (unsigned)c);
		} else {
			buf_chr(out, (char)c);
			t->pos++;
		}
	}
}

/* Over a string that is not ours: only its end matters. */
static int
toml_string_skip(struct toml_text *t)
{
	int quote = toml_peek(t, 0), first = t->line;
	bool multi = toml_peek(t, 1) == quote && toml_peek(t, 2) == quote;
	struct buf none = BUF_INIT;
	bool closed = false;

	t->pos += multi ? 3 : 1;
	while (!closed && toml_peek(t, 0) >= 0 && (multi || toml_peek(t, 0) != '\n')) {
		int c = toml_peek(t, 0);

		if (c == quote && multi) {
			closed = block_quotes(t, quote, &none);
			buf_reset(&none);
			continue;
		}
		closed = c == quote;
		if (c == '\\' && quote == '"' && toml_peek(t, 1) >= 0 && (multi || toml_peek(t, 1) != '\n'))
			c = toml_peek(t, 1), t->pos++;
		t->line += c == '\n';
		t->pos++;
	}
	buf_release(&none);
	return closed ? 0 : toml_fail(t, first, "the string that begins here is not closed");
}

/*
 * Digits of the base with single "_" between them; *p moves behind them. False when there is none
 * or a "_" stands wrong.
 */
static bool
skip_digits(const char **p, int base)
{
	const char *s = *p;

	for (;;) {
		int d = toml_hex(*s);

		if (d < 0 || d >= base)
			return false;
		s++;
		if (*s == '_') {
			s++;
			continue;
		}
		d = toml_hex(*s);
		if (d < 0 || d >= base)
			break;
	}
	*p = s;
	return true;
}

static void
drop_underscores(struct buf *b)
{
	size_t to = 0;

	for (size_t i = 0; i < b->len; i++) {
		if (b->data[i] != '_')
			b->data[to++] = b->data[i];
	}
	buf_cut(b, to);
}

/* Puts the number in canonical decimal into value. */
static int
whole_number(struct toml_text *t, const char *text, int base, struct buf *value, enum toml_type *type)
{
	struct buf clean = BUF_INIT;
	long long n;

	buf_str(&clean, text);
	drop_underscores(&clean);
	errno = 0;
	n = strtoll(clean.data, NULL, base);
	buf_release(&clean);
	if (errno == ERANGE)
		return toml_fail(t, t->line, "the number does not fit; expected %lld to %lld",
		    (long long)INT64_MIN, (long long)INT64_MAX);
	buf_reset(value);
	buf_fmt(value, "%lld", n);
	*type = TOML_INT;
	return 0;
}

/* 0x1F, 0o17, 0b11: the base, else 0. */
static int
prefix_base(const char *s)
{
	static const struct {
		const char *prefix;
		int base;
	} bases[] = { { "0x", 16 }, { "0o", 8 }, { "0b", 2 } };

	for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
		if (str_starts(s, bases[i].prefix))
			return bases[i].base;
	}
	return 0;
}

/* A number in value? 1 yes, 0 no, -1 error. */
static int
read_number(struct toml_text *t, struct buf *value, enum toml_type *type)
{
	const char *s = value->data, *p = s;
	int base = prefix_base(s);
	bool whole = true;

	if (base != 0) {
		p += 2;
		if (!skip_digits(&p, base) || *p != '\0')
			return 0;
		return whole_number(t, s + 2, base, value, type) == 0 ? 1 : -1;
	}
	p += *p == '+' || *p == '-';
	if (strcmp(p, "inf") == 0 || strcmp(p, "nan") == 0) {
		*type = TOML_FLOAT;
		return 1;
	}
	if ((p[0] == '0' && p[1] != '\0' && strchr("0123456789_", p[1]) != NULL) || !skip_digits(&p, 10))
		return 0;
	if (*p == '.') {
		whole = false;
		p++;
		if (!skip_digits(&p, 10))
			return 0;
	}
	if (*p == 'e' || *p == 'E') {
		whole = false;
		p++;
		p += *p == '+' || *p == '-';
		if (!skip_digits(&p, 10))
			return 0;
	}
	if (*p != '\0')
		return 0;
	if (whole)
		return whole_number(t, s, 10, value, type) == 0 ? 1 : -1;
	drop_underscores(value);
	*type = TOML_FLOAT;
	return 1;
}

static bool
is_date(const char *s)
{
	size_t d = strspn(s, "0123456789");

	return (d == 4 && s[4] == '-') || (d == 2 && s[2] == ':');
}

static int
bare_value(struct toml_text *t, struct buf *value, enum toml_type *type)
{
	int yes;

	while (toml_peek(t, 0) > ' ' && strchr(",#]}\"'", toml_peek(t, 0)) == NULL) {
		buf_chr(value, t->text[t->pos]);
		t->pos++;
	}
	if (strcmp(value->data, "true") == 0 || strcmp(value->data, "false") == 0) {
		*type = TOML_BOOL;
		return 0;
	}
	yes = read_number(t, value, type);
	if (yes != 0)
		return yes < 0 ? -1 : 0;
	if (is_date(value->data))
		return toml_fail(
		    t, t->line, "dates are not supported; expected a string between quotes");
	if (value->len == 0)
		return toml_fail(t, t->line,
		    "the value is missing; expected a string between quotes, a number, true or false");
	return toml_fail(t, t->line,
	    "expected true, false, a number, or a string between quotes");
}

/* Over blanks, comments and line ends inside an array. 0 or -1. */
static int
skip_lines(struct toml_text *t)
{
	for (;;) {
		toml_skip_blanks(t);
		if (toml_peek(t, 0) != '#' && toml_newline(t) == 0)
			return 0;
		if (toml_end_line(t, "the comment") != 0)
			return -1;
	}
}

/* An array of strings; the position is on its bracket. */
static int
list_value(struct toml_text *t, struct buf *value)
{
	int first = t->line;

	t->pos++;
	for (;;) {
		size_t from = value->len;
		int c;

		if (skip_lines(t) != 0)
			return -1;
		c = toml_peek(t, 0);
		if (c == ']')
			break;
		if (c < 0)
			return toml_fail(t, first, "expected ] before the end of the file");
		if (c != '"' && c != '\'')
			return toml_fail(t, t->line,
			    "only arrays of strings are supported; expected a string between quotes");
		if (toml_string_read(t, true, value) != 0)
			return -1;
		if (memchr(value->data + from, '\n', value->len - from) != NULL)
			return toml_fail(t, t->line, "a string in an array cannot contain a line break");
		buf_chr(value, '\n');
		if (skip_lines(t) != 0)
			return -1;
		if (toml_peek(t, 0) == ',')
			t->pos++;
		else if (toml_peek(t, 0) != ']')
			return toml_fail(t, t->line, "expected , or ] after a string in an array");
	}
	t->pos++;
	if (!utf8_valid(value->data, value->len))
		return toml_fail(t, first, "the array holds a string that is not valid UTF-8");
	return 0;
}

int
toml_value_read(struct toml_text *t, struct buf *value, enum toml_type *type)
{
	int line = t->line;

	buf_reset(value);
	switch (toml_peek(t, 0)) {
	case '"':
	case '\'':
		*type = TOML_STRING;
		if (toml_string_read(t, true, value) != 0)
			return -1;
		if (!utf8_valid(value->data, value->len))
			return toml_fail(t, line, "the string is not valid UTF-8");
		return 0;
	case '[':
		*type = TOML_LIST;
		return list_value(t, value);
	case '{':
		return toml_fail(
		    t, line, "inline tables are not supported; use a [table]");
	default:
		return bare_value(t, value, type);
	}
}

int
toml_value_skip(struct toml_text *t)
{
	struct buf open = BUF_INIT;
	int first = t->line, ret = -1;

	for (;;) {
		int c = toml_peek(t, 0);

		if (c < 0 || c == '\n' || c == '#') {
			if (c < 0 || open.len == 0)
				break;
		}
		if (c == '#') {
			while (toml_peek(t, 0) >= 0 && toml_peek(t, 0) != '\n')
				t->pos++;
			continue;
		}
		if (c == '"' || c == '\'') {
			if (toml_string_skip(t) != 0)
				goto out;
			continue;
		}
		if (c == '[' || c == '{')
			buf_chr(&open, c == '[' ? ']' : '}');
		if (c == ']' || c == '}') {
			if (open.len == 0 || open.data[open.len - 1] != (char)c) {
				toml_fail(t, t->line, "unmatched %c", c);
				goto out;
			}
			buf_cut(&open, open.len - 1);
		}
		t->line += c == '\n';
		t->pos++;
	}
	if (open.len > 0) {
		toml_fail(t, first, "expected %c before the end of the file", open.data[open.len - 1]);
		goto out;
	}
	while (toml_peek(t, 0) >= 0 && toml_peek(t, 0) != '\n')
		t->pos++;
	ret = 0;
out:
	buf_release(&open);
	return ret;
}
