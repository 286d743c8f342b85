#include <stdint.h>
#include <string.h>

#include "town/toml_string.h"
#include "town/toml_text.h"
#include "base/buf.h"
#include "base/utf8.h"

/* \uXXXX and \UXXXXXXXX; the position is on the first digit. */
static int
escape_rune(struct toml_text *t, int digits, struct buf *out)
{
	int64_t rune = 0;

	for (int i = 0; i < digits; i++) {
		int d = toml_hex(toml_peek(t, 0));

		if (d < 0)
			return toml_fail(t, t->line, "expected %d hexadecimal digits after \\%c", digits, digits == 4 ? 'u' : 'U');
		rune = rune * 16 + d;
		t->pos++;
	}
	if (rune == 0)
		return toml_fail(t, t->line, "a NUL character cannot stand in a string here");
	if (rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
		return toml_fail(t, t->line, "\\%c does not name a character; expected 1 to D7FF or E000 to 10FFFF",
		    digits == 4 ? 'u' : 'U');
	utf8_put(out, (int32_t)rune);
	return 0;
}

/* A backslash that ends its line: it, the line end and all white space up to the next text vanish. True when it was one. */
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
escape(struct toml_text *t, bool multi, struct buf *out)
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
		return toml_fail(t, t->line, "unknown escape in a string; expected \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX or \\UXXXXXXXX "
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
			return toml_fail(t, first, "the string that begins here is not closed; expected %s%c%s",
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
			if (escape(t, multi, out) != 0)
				return -1;
		} else if (toml_is_control(c)) {
			return toml_fail(t, t->line, "control character 0x%02x in a string; expected an escape such as \\u%04X",
			    (unsigned)c, (unsigned)c);
		} else {
			buf_chr(out, (char)c);
			t->pos++;
		}
	}
}

int
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
