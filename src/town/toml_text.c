#include <stdarg.h>

#include "town/toml_text.h"
#include "base/buf.h"
#include "base/err.h"

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

bool
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
			return toml_fail(t, t->line, "control character 0x%02x in a comment", (unsigned)toml_peek(t, 0));
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
