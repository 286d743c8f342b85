#include <errno.h>
#include <ini.h>
#include <search.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "town/toml.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

/*
 * One statement of the text becomes these lines for inih, each as often as its bytes need:
 *
 *	s=<hex of the section>  k=<hex of the key>  v=<hex of the value>
 *	e=1
 *
 * and at "e" the handler has all of it and calls item. The reader runs one statement ahead of nothing: inih asks for a line only after
 * the handler has dealt with the last one, so the line number of the statement is still the right one in the handler.
 */
enum { PART_SECTION, PART_KEY, PART_VALUE, PART_END, PART_DONE };

enum {
	PATH_BYTES = 1024,
	PATH_PARTS = 16
};

/* A full name, each part followed by a NUL. */
struct path {
	struct buf bytes;
	int parts;
};

enum how { HOW_PARENT, HOW_TABLE, HOW_DOTTED, HOW_VALUE };

/* A name that has been used, in a tsearch tree, so that TOML's rules about names given twice can be kept. */
struct name {
	size_t len;
	int line;
	enum how how;
	char bytes[];
};

struct reader {
	const char *text;
	size_t n;
	size_t pos;
	int line;
	const char *what;
	bool (*own)(const char *);
	int (*item)(void *, const struct toml_item *, struct err *);
	void *arg;
	struct err *e;
	bool failed;

	struct path table;		/* of the last [header] */
	struct path name;		/* of the statement: table and key */
	void *names;
	struct buf part[3];		/* the statement, by PART_* */
	enum toml_type type;
	int item_line;
	int sending;			/* PART_* that inih gets next */
	size_t sent;			/* bytes of it that inih has got */

	struct buf got[3];		/* what came back out of inih */
};

static int fail(struct reader *r, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int
fail(struct reader *r, int line, const char *fmt, ...)
{
	struct buf msg = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(&msg, fmt, ap);
	va_end(ap);
	r->failed = true;
	err_set(r->e, GT_USAGE, "toml", "%s:%d: %s", r->what, line, msg.data);
	buf_release(&msg);
	return -1;
}

/* The byte at `ahead` from here, or -1 at the end of the text. */
static int
peek(const struct reader *r, size_t ahead)
{
	return ahead < r->n - r->pos ? (unsigned char)r->text[r->pos + ahead] : -1;
}

/* How many bytes of line end stand here: 0, 1 or 2. */
static size_t
newline(const struct reader *r)
{
	if (peek(r, 0) == '\n')
		return 1;
	return peek(r, 0) == '\r' && peek(r, 1) == '\n' ? 2 : 0;
}

static void
skip_blanks(struct reader *r)
{
	while (peek(r, 0) == ' ' || peek(r, 0) == '\t')
		r->pos++;
}

static bool
is_control(int c)
{
	return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f;
}

static int
skip_comment(struct reader *r)
{
	while (peek(r, 0) >= 0 && newline(r) == 0) {
		if (is_control(peek(r, 0)))
			return fail(r, r->line, "control character 0x%02x in a comment", (unsigned)peek(r, 0));
		r->pos++;
	}
	return 0;
}

/* Over blanks and a comment to the end of the line. */
static int
end_line(struct reader *r, const char *after)
{
	skip_blanks(r);
	if (peek(r, 0) == '#' && skip_comment(r) != 0)
		return -1;
	if (peek(r, 0) < 0)
		return 0;
	if (newline(r) == 0)
		return fail(r, r->line, "expected the end of the line or a # comment after %s", after);
	r->pos += newline(r);
	r->line++;
	return 0;
}

/* Strings. */

static int
hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \uXXXX and \UXXXXXXXX; the position is on the first digit. */
static int
escape_rune(struct reader *r, int digits, struct buf *out)
{
	int64_t rune = 0;

	for (int i = 0; i < digits; i++) {
		int d = hex_digit(peek(r, 0));

		if (d < 0)
			return fail(r, r->line, "expected %d hexadecimal digits after \\%c", digits, digits == 4 ? 'u' : 'U');
		rune = rune * 16 + d;
		r->pos++;
	}
	if (rune == 0)
		return fail(r, r->line, "a NUL character cannot stand in a string here");
	if (rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
		return fail(r, r->line, "\\%c does not name a character; expected 1 to D7FF or E000 to 10FFFF", digits == 4 ? 'u' : 'U');
	utf8_put(out, (int32_t)rune);
	return 0;
}

/* A backslash that ends its line: it, the line end and all white space up to the next text vanish. True when it was one. */
static bool
escape_line_end(struct reader *r)
{
	size_t here = r->pos;

	skip_blanks(r);
	if (newline(r) == 0) {
		r->pos = here;
		return false;
	}
	while (newline(r) > 0) {
		r->pos += newline(r);
		r->line++;
		skip_blanks(r);
	}
	return true;
}

/* The position is behind the backslash. */
static int
escape(struct reader *r, bool multi, struct buf *out)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	int c = peek(r, 0);
	const char *at;

	if (multi && escape_line_end(r))
		return 0;
	if (c == 'u' || c == 'U') {
		r->pos++;
		return escape_rune(r, c == 'u' ? 4 : 8, out);
	}
	at = c > 0 ? strchr(from, c) : NULL;
	if (at == NULL)
		return fail(r, r->line, "unknown escape in a string; expected \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX or \\UXXXXXXXX "
		    "(or put the string between single quotes)");
	buf_chr(out, to[at - from]);
	r->pos++;
	return 0;
}

/* Quotes inside or at the end of a """ or ''' block. Returns true when the block ends here. */
static bool
block_quotes(struct reader *r, int quote, struct buf *out)
{
	size_t run = 0;

	/* Up to two quotes may stand right before the three that close. */
	while (run < 5 && peek(r, run) == quote)
		run++;
	r->pos += run;
	for (size_t i = 0; i < (run >= 3 ? run - 3 : run); i++)
		buf_chr(out, (char)quote);
	return run >= 3;
}

/* One string; the position is on its first quote. `block` allows """ and '''. */
static int
quoted(struct reader *r, bool block, struct buf *out)
{
	int quote = peek(r, 0), first = r->line;
	bool multi = peek(r, 1) == quote && peek(r, 2) == quote;

	if (multi && !block)
		return fail(r, r->line, "a key cannot be a block of several lines");
	r->pos += multi ? 3 : 1;
	if (multi && newline(r) > 0) {
		r->pos += newline(r);
		r->line++;
	}
	for (;;) {
		int c = peek(r, 0);
		size_t nl = newline(r);

		if (c < 0 || (nl > 0 && !multi))
			return fail(r, first, "the string that begins here is not closed; expected %s%c%s", multi ? "three times " : "",
			    quote, multi ? "" : " on the same line");
		if (nl > 0) {
			buf_chr(out, '\n');
			r->pos += nl;
			r->line++;
		} else if (c == quote && multi) {
			if (block_quotes(r, quote, out))
				return 0;
		} else if (c == quote) {
			r->pos++;
			return 0;
		} else if (c == '\\' && quote == '"') {
			r->pos++;
			if (escape(r, multi, out) != 0)
				return -1;
		} else if (is_control(c)) {
			return fail(r, r->line, "control character 0x%02x in a string; expected an escape such as \\u%04X", (unsigned)c,
			    (unsigned)c);
		} else {
			buf_chr(out, (char)c);
			r->pos++;
		}
	}
}

/* Over a string that is not ours: only its end matters. */
static int
skip_quoted(struct reader *r)
{
	int quote = peek(r, 0), first = r->line;
	bool multi = peek(r, 1) == quote && peek(r, 2) == quote;
	struct buf none = BUF_INIT;
	bool closed = false;

	r->pos += multi ? 3 : 1;
	while (!closed && peek(r, 0) >= 0 && (multi || peek(r, 0) != '\n')) {
		int c = peek(r, 0);

		if (c == quote && multi) {
			closed = block_quotes(r, quote, &none);
			buf_reset(&none);
			continue;
		}
		closed = c == quote;
		if (c == '\\' && quote == '"' && peek(r, 1) >= 0 && (multi || peek(r, 1) != '\n'))
			c = peek(r, 1), r->pos++;
		r->line += c == '\n';
		r->pos++;
	}
	buf_release(&none);
	return closed ? 0 : fail(r, first, "the string that begins here is not closed");
}

/* Names. */

static bool
is_bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Adds the parts of a key, up to what ends it, to a path. */
static int
parse_key(struct reader *r, struct path *to)
{
	for (;;) {
		size_t start;

		skip_blanks(r);
		start = to->bytes.len;
		if (peek(r, 0) == '"' || peek(r, 0) == '\'') {
			if (quoted(r, false, &to->bytes) != 0)
				return -1;
			if (!utf8_valid(to->bytes.data + start, to->bytes.len - start))
				return fail(r, r->line, "the key is not valid UTF-8");
		} else {
			while (is_bare(peek(r, 0))) {
				buf_chr(&to->bytes, r->text[r->pos]);
				r->pos++;
			}
			if (to->bytes.len == start)
				return fail(r, r->line, "expected a key (letters, digits, _ and -, anything else between quotes)");
		}
		buf_chr(&to->bytes, '\0');
		if (++to->parts > PATH_PARTS || to->bytes.len > PATH_BYTES)
			return fail(r, r->line, "the key is too long; expected at most %d parts and %d bytes", PATH_PARTS, PATH_BYTES);
		skip_blanks(r);
		if (peek(r, 0) != '.')
			return 0;
		r->pos++;
	}
}

/* The first len bytes of a path as text: "a.b". */
static void
path_text(const struct path *p, size_t len, struct buf *out)
{
	buf_reset(out);
	if (len == 0)
		return;
	buf_add(out, p->bytes.data, len - 1);
	for (size_t i = 0; i < out->len; i++) {
		if (out->data[i] == '\0')
			out->data[i] = '.';
	}
}

/* Where the last part of a path begins. */
static size_t
path_last(const struct path *p)
{
	size_t at = p->bytes.len > 0 ? p->bytes.len - 1 : 0;

	while (at > 0 && p->bytes.data[at - 1] != '\0')
		at--;
	return at;
}

static int
name_order(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int c = memcmp(x->bytes, y->bytes, x->len < y->len ? x->len : y->len);

	return c != 0 ? c : (x->len > y->len) - (x->len < y->len);
}

/* The record of the first len bytes of a path; made when it is new, which *fresh tells. */
static struct name *
name_of(struct reader *r, const struct path *p, size_t len, enum how how, bool *fresh)
{
	struct name *made = xmalloc(sizeof *made + len);
	struct name **found;

	made->len = len;
	made->line = r->line;
	made->how = how;
	memcpy(made->bytes, p->bytes.data, len);
	found = tsearch(made, &r->names, name_order);
	if (found == NULL)
		die("out of memory");
	*fresh = *found == made;
	if (!*fresh)
		free(made);
	return *found;
}

static int
fail_twice(struct reader *r, const struct name *first, const char *kind)
{
	struct buf shown = BUF_INIT, text = BUF_INIT;

	for (size_t i = 0; i + 1 < first->len; i++)
		buf_chr(&text, first->bytes[i] == '\0' ? '.' : first->bytes[i]);
	utf8_escape(&shown, text.data, text.len, 60);
	if (first->how == HOW_VALUE)
		fail(r, r->line, "%s \"%s\" was already given a value in line %d", kind, shown.data, first->line);
	else
		fail(r, r->line, "%s \"%s\" was already given as a table in line %d", kind, shown.data, first->line);
	buf_release(&shown);
	buf_release(&text);
	return -1;
}

/* The tables above the last part: made when missing. A dotted key may only reach into tables that dotted keys made. */
static int
claim_parents(struct reader *r, const struct path *p, size_t from, enum how how)
{
	for (size_t i = from; i < path_last(p); i++) {
		struct name *parent;
		bool fresh;

		if (p->bytes.data[i] != '\0')
			continue;
		parent = name_of(r, p, i + 1, how, &fresh);
		if (fresh)
			continue;
		if (parent->how == HOW_VALUE || (how == HOW_DOTTED && parent->how != HOW_DOTTED))
			return fail_twice(r, parent, "the table");
	}
	return 0;
}

static int
claim_table(struct reader *r)
{
	struct name *name;
	bool fresh;

	if (claim_parents(r, &r->table, 0, HOW_PARENT) != 0)
		return -1;
	name = name_of(r, &r->table, r->table.bytes.len, HOW_TABLE, &fresh);
	if (!fresh && name->how != HOW_PARENT)
		return fail_twice(r, name, "the table");
	name->how = HOW_TABLE;
	return 0;
}

static int
claim_key(struct reader *r)
{
	struct name *name;
	bool fresh;

	if (claim_parents(r, &r->name, r->table.bytes.len, HOW_DOTTED) != 0)
		return -1;
	name = name_of(r, &r->name, r->name.bytes.len, HOW_VALUE, &fresh);
	return fresh ? 0 : fail_twice(r, name, "the key");
}

/* True when the table, or what the whole path names, is ours. */
static bool
owned(struct reader *r, const struct path *p, size_t table_len)
{
	struct buf text = BUF_INIT;
	bool own = r->own == NULL;

	if (!own) {
		path_text(p, p->bytes.len, &text);
		own = r->own(text.data);
	}
	if (!own) {
		path_text(p, table_len, &text);
		own = r->own(text.data);
	}
	buf_release(&text);
	return own;
}

/* [a.b] and, where it is not ours, [[a.b]]; the position is on the first bracket. */
static int
parse_header(struct reader *r)
{
	bool array = peek(r, 1) == '[';

	r->pos += array ? 2 : 1;
	buf_reset(&r->table.bytes);
	r->table.parts = 0;
	if (parse_key(r, &r->table) != 0)
		return -1;
	if (peek(r, 0) != ']' || (array && peek(r, 1) != ']'))
		return fail(r, r->line, "expected %s at the end of the table's name", array ? "]]" : "]");
	r->pos += array ? 2 : 1;
	if (owned(r, &r->table, r->table.bytes.len)) {
		if (array)
			return fail(r, r->line, "arrays of tables are not understood here; expected [name]");
		if (claim_table(r) != 0)
			return -1;
	}
	return end_line(r, "the table's name");
}

/* Values. */

/* Digits of the base with single "_" between them; *p moves behind them. False when there is none or a "_" stands wrong. */
static bool
digits(const char **p, int base)
{
	const char *s = *p;

	for (;;) {
		int d = hex_digit(*s);

		if (d < 0 || d >= base)
			return false;
		s++;
		if (*s == '_') {
			s++;
			continue;
		}
		d = hex_digit(*s);
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
whole_number(struct reader *r, const char *text, int base, struct buf *value)
{
	struct buf clean = BUF_INIT;
	long long n;

	buf_str(&clean, text);
	drop_underscores(&clean);
	errno = 0;
	n = strtoll(clean.data, NULL, base);
	buf_release(&clean);
	if (errno == ERANGE)
		return fail(r, r->line, "the number does not fit; expected %lld to %lld", (long long)INT64_MIN, (long long)INT64_MAX);
	buf_reset(value);
	buf_fmt(value, "%lld", n);
	r->type = TOML_INT;
	return 0;
}

/* 0x1F, 0o17, 0b11: the base, else 0. */
static int
prefix_base(const char *s)
{
	static const struct { const char *prefix; int base; } bases[] = { { "0x", 16 }, { "0o", 8 }, { "0b", 2 } };

	for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
		if (str_starts(s, bases[i].prefix))
			return bases[i].base;
	}
	return 0;
}

/* A number in value? 1 yes, 0 no, -1 error. */
static int
number(struct reader *r, struct buf *value)
{
	const char *s = value->data, *p = s;
	int base = prefix_base(s);
	bool whole = true;

	if (base != 0) {
		p += 2;
		if (!digits(&p, base) || *p != '\0')
			return 0;
		return whole_number(r, s + 2, base, value) == 0 ? 1 : -1;
	}
	p += *p == '+' || *p == '-';
	if (strcmp(p, "inf") == 0 || strcmp(p, "nan") == 0) {
		r->type = TOML_FLOAT;
		return 1;
	}
	if ((p[0] == '0' && p[1] != '\0' && strchr("0123456789_", p[1]) != NULL) || !digits(&p, 10))
		return 0;
	if (*p == '.') {
		whole = false;
		p++;
		if (!digits(&p, 10))
			return 0;
	}
	if (*p == 'e' || *p == 'E') {
		whole = false;
		p++;
		p += *p == '+' || *p == '-';
		if (!digits(&p, 10))
			return 0;
	}
	if (*p != '\0')
		return 0;
	if (whole)
		return whole_number(r, s, 10, value) == 0 ? 1 : -1;
	drop_underscores(value);
	r->type = TOML_FLOAT;
	return 1;
}

static bool
is_date(const char *s)
{
	size_t d = strspn(s, "0123456789");

	return (d == 4 && s[4] == '-') || (d == 2 && s[2] == ':');
}

static int
bare_value(struct reader *r, struct buf *value)
{
	int yes;

	while (peek(r, 0) > ' ' && strchr(",#]}\"'", peek(r, 0)) == NULL) {
		buf_chr(value, r->text[r->pos]);
		r->pos++;
	}
	if (strcmp(value->data, "true") == 0 || strcmp(value->data, "false") == 0) {
		r->type = TOML_BOOL;
		return 0;
	}
	yes = number(r, value);
	if (yes != 0)
		return yes < 0 ? -1 : 0;
	if (is_date(value->data))
		return fail(r, r->line, "dates are not understood here; expected a string between quotes");
	if (value->len == 0)
		return fail(r, r->line, "the value is missing; expected a string between quotes, a number, true or false");
	return fail(r, r->line, "the value is no number and not true or false; expected quotes around it if it is a string");
}

static int
parse_value(struct reader *r, struct buf *value)
{
	int line = r->line;

	buf_reset(value);
	switch (peek(r, 0)) {
	case '"':
	case '\'':
		r->type = TOML_STRING;
		if (quoted(r, true, value) != 0)
			return -1;
		if (!utf8_valid(value->data, value->len))
			return fail(r, line, "the string is not valid UTF-8");
		return 0;
	case '[':
		return fail(r, line, "arrays are not understood here; expected a string, a number, true or false");
	case '{':
		return fail(r, line, "inline tables are not understood here; expected a [table] of its own");
	default:
		return bare_value(r, value);
	}
}

/* Over the value of another program: strings whole, brackets in pairs, comments inside brackets. */
static int
skip_value(struct reader *r)
{
	struct buf open = BUF_INIT;
	int first = r->line, ret = -1;

	for (;;) {
		int c = peek(r, 0);

		if (c < 0 || c == '\n' || c == '#') {
			if (c < 0 || open.len == 0)
				break;
		}
		if (c == '#') {
			while (peek(r, 0) >= 0 && peek(r, 0) != '\n')
				r->pos++;
			continue;
		}
		if (c == '"' || c == '\'') {
			if (skip_quoted(r) != 0)
				goto out;
			continue;
		}
		if (c == '[' || c == '{')
			buf_chr(&open, c == '[' ? ']' : '}');
		if (c == ']' || c == '}') {
			if (open.len == 0 || open.data[open.len - 1] != (char)c) {
				fail(r, r->line, "a %c closes nothing", c);
				goto out;
			}
			buf_cut(&open, open.len - 1);
		}
		r->line += c == '\n';
		r->pos++;
	}
	if (open.len > 0) {
		fail(r, first, "expected %c before the end of the file", open.data[open.len - 1]);
		goto out;
	}
	while (peek(r, 0) >= 0 && peek(r, 0) != '\n')
		r->pos++;
	ret = 0;
out:
	buf_release(&open);
	return ret;
}

/* key = value. 1: it is ours and in part[]; 0: skipped; -1. */
static int
parse_pair(struct reader *r)
{
	struct path *p = &r->name;
	size_t last;

	buf_reset(&p->bytes);
	buf_add(&p->bytes, r->table.bytes.data, r->table.bytes.len);
	p->parts = r->table.parts;
	r->item_line = r->line;
	if (parse_key(r, p) != 0)
		return -1;
	if (peek(r, 0) != '=')
		return fail(r, r->line, "expected = after the key");
	r->pos++;
	skip_blanks(r);
	last = path_last(p);
	if (!owned(r, p, last))
		return skip_value(r);
	if (claim_key(r) != 0)
		return -1;
	path_text(p, last, &r->part[PART_SECTION]);
	buf_reset(&r->part[PART_KEY]);
	buf_str(&r->part[PART_KEY], p->bytes.data + last);
	if (parse_value(r, &r->part[PART_VALUE]) != 0 || end_line(r, "the value") != 0)
		return -1;
	return 1;
}

/* The next statement that is ours into part[]. 1, 0 at the end of the text, -1. */
static int
next_statement(struct reader *r)
{
	for (;;) {
		int got = 0;

		skip_blanks(r);
		if (peek(r, 0) < 0)
			return 0;
		if (peek(r, 0) == '#' || newline(r) > 0)
			got = end_line(r, "");
		else if (peek(r, 0) == '[')
			got = parse_header(r);
		else
			got = parse_pair(r);
		if (got != 0)
			return got;
	}
}

/* The seam with inih: its reader and its handler. */

static char *
read_line(char *line, int size, void *stream)
{
	static const char hex[] = "0123456789abcdef", letters[] = "skve";
	struct reader *r = stream;
	size_t room = size > 6 ? ((size_t)size - 4) / 2 : 0, n = 0;
	char *p = line;

	if (r->failed)
		return NULL;
	if (r->sending == PART_DONE) {
		if (next_statement(r) != 1)
			return NULL;
		r->sending = PART_SECTION;
		r->sent = 0;
	}
	while (r->sending < PART_END && r->sent == r->part[r->sending].len) {
		r->sending++;
		r->sent = 0;
	}
	*p++ = letters[r->sending];
	*p++ = '=';
	if (r->sending == PART_END) {
		*p++ = '1';
		r->sending = PART_DONE;
	} else {
		const struct buf *b = &r->part[r->sending];

		for (n = 0; n < room && r->sent < b->len; n++, r->sent++) {
			*p++ = hex[(unsigned char)b->data[r->sent] >> 4];
			*p++ = hex[(unsigned char)b->data[r->sent] & 15];
		}
		if (n == 0)
			die("inih reads lines of %d bytes", size);
	}
	*p++ = '\n';
	*p = '\0';
	return line;
}

static int
take_line(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;
	const char *which = strchr("skve", name[0]);
	struct toml_item it;

	if (section[0] != '\0' || name[0] == '\0' || name[1] != '\0' || which == NULL)
		die("inih gave back another line than it was given");
	if (*which != 'e') {
		size_t part = *which == 's' ? PART_SECTION : *which == 'k' ? PART_KEY : PART_VALUE;

		for (; value[0] != '\0' && value[1] != '\0'; value += 2)
			buf_chr(&r->got[part], (char)(hex_digit(value[0]) * 16 + hex_digit(value[1])));
		return 1;
	}
	it = (struct toml_item){ .section = r->got[PART_SECTION].data, .key = r->got[PART_KEY].data, .value = r->got[PART_VALUE].data,
	    .type = r->type, .line = r->item_line };
	if (r->item(r->arg, &it, r->e) != 0) {
		err_add(r->e, "%s:%d", r->what, r->item_line);
		r->failed = true;
	}
	for (size_t i = 0; i < 3; i++)
		buf_reset(&r->got[i]);
	return 1;
}

int
toml_parse_some(const char *text, size_t n, const char *what, bool (*own)(const char *section),
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e)
{
	struct reader r = { .text = text, .n = n, .line = 1, .what = what, .own = own, .item = item, .arg = arg, .e = e,
	    .sending = PART_DONE };
	const char *nul = n > 0 ? memchr(text, '\0', n) : NULL;
	int ret;

	buf_init(&r.table.bytes);
	buf_init(&r.name.bytes);
	for (size_t i = 0; i < 3; i++) {
		buf_init(&r.part[i]);
		buf_init(&r.got[i]);
	}
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.pos = 3;
	if (nul != NULL) {
		for (const char *p = text; p < nul; p++)
			r.line += *p == '\n';
		fail(&r, r.line, "a NUL byte; expected a text file");
	} else if ((ret = ini_parse_stream(read_line, &r, take_line, &r)) != 0 && !r.failed) {
		r.failed = true;
		err_set(e, GT_FAIL, "toml", "%s: inih answered %d", what, ret);
	}
	tdestroy(r.names, free);
	buf_release(&r.table.bytes);
	buf_release(&r.name.bytes);
	for (size_t i = 0; i < 3; i++) {
		buf_release(&r.part[i]);
		buf_release(&r.got[i]);
	}
	return r.failed ? -1 : 0;
}

int
toml_parse(const char *text, size_t n, const char *what, int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg,
    struct err *e)
{
	return toml_parse_some(text, n, what, NULL, item, arg, e);
}
