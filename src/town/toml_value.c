#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "town/toml_value.h"
#include "town/toml_string.h"
#include "town/toml_text.h"
#include "base/buf.h"
#include "base/utf8.h"

/* Digits of the base with single "_" between them; *p moves behind them. False when there is none or a "_" stands wrong. */
static bool
digits(const char **p, int base)
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
		return toml_fail(t, t->line, "the number does not fit; expected %lld to %lld", (long long)INT64_MIN, (long long)INT64_MAX);
	buf_reset(value);
	buf_fmt(value, "%lld", n);
	*type = TOML_INT;
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
number(struct toml_text *t, struct buf *value, enum toml_type *type)
{
	const char *s = value->data, *p = s;
	int base = prefix_base(s);
	bool whole = true;

	if (base != 0) {
		p += 2;
		if (!digits(&p, base) || *p != '\0')
			return 0;
		return whole_number(t, s + 2, base, value, type) == 0 ? 1 : -1;
	}
	p += *p == '+' || *p == '-';
	if (strcmp(p, "inf") == 0 || strcmp(p, "nan") == 0) {
		*type = TOML_FLOAT;
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
	yes = number(t, value, type);
	if (yes != 0)
		return yes < 0 ? -1 : 0;
	if (is_date(value->data))
		return toml_fail(t, t->line, "dates are not understood here; expected a string between quotes");
	if (value->len == 0)
		return toml_fail(t, t->line, "the value is missing; expected a string between quotes, a number, true or false");
	return toml_fail(t, t->line, "the value is no number and not true or false; expected quotes around it if it is a string");
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
		return toml_fail(t, line, "arrays are not understood here; expected a string, a number, true or false");
	case '{':
		return toml_fail(t, line, "inline tables are not understood here; expected a [table] of its own");
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
				toml_fail(t, t->line, "a %c closes nothing", c);
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
