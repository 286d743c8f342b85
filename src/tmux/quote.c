#include <stdlib.h>
#include <string.h>

#include "tmux/tmux.h"

void
quote_arg(struct buf *out, const char *arg)
{
	buf_chr(out, '\'');
	for (const char *p = arg; *p != '\0'; p++) {
		if (*p == '\n')
			buf_str(out, "'\"\\n\"'");
		else if (*p == '\'')
			buf_str(out, "'\"'\"'");
		else
			buf_chr(out, *p);
	}
	buf_chr(out, '\'');
}

void
quote_format(struct buf *out, const char *text)
{
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '#')
			buf_chr(out, '#');
		/* "##[" would stay as it is: tmux leaves styles to whoever draws them (3.3a) */
		if (*p == '[' && p > text && p[-1] == '#')
			buf_str(out, "#{l:}");
		buf_chr(out, *p);
	}
}

void
quote_sh(struct buf *out, const char *arg)
{
	if (*arg != '\0' &&
	    strspn(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,") ==
		strlen(arg)) {
		buf_str(out, arg);
		return;
	}
	buf_chr(out, '\'');
	for (const char *p = arg; *p != '\0'; p++) {
		if (*p == '\'')
			buf_str(out, "'\\''");
		else
			buf_chr(out, *p);
	}
	buf_chr(out, '\'');
}

static bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* One vis(3) escape behind its backslash. Returns how many bytes it took. */
static size_t
decode_vis(struct buf *out, const char *p)
{
	static const char names[] = "nrbavtfsE", codes[] = "\n\r\b\a\v\t\f \033";
	const char *at;

	if (is_octal(p[0]) && is_octal(p[1]) && is_octal(p[2])) {
		buf_chr(out, (char)((p[0] - '0') * 64 + (p[1] - '0') * 8 + (p[2] - '0')));
		return 3;
	}
	if (p[0] == '0') {
		buf_chr(out, '\0');
		return 1;
	}
	at = p[0] != '\0' ? strchr(names, p[0]) : NULL;
	buf_chr(out, at != NULL ? codes[at - names] : p[0]);
	return p[0] != '\0';
}

void
quote_stored(struct buf *out, const char *stored)
{
	for (const char *p = stored; *p != '\0'; p++) {
		size_t len = out->len;

		if (*p != '\\' || p[1] == '\0') {
			buf_chr(out, *p);
			continue;
		}
		p += decode_vis(out, p + 1);
		if (out->len > len && out->data[out->len - 1] == '\0')
			buf_cut(out, len);
	}
}

static bool
named(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '{';
}

size_t
quote_undo_dollars(char *text, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (text[i] != '\\' || n - i < 3 || text[i + 1] != '$' || !named(text[i + 2]))
			text[k++] = text[i];
	return k;
}

/* One argument at *text, which is moved behind it. */
static bool
take_arg(const char **text, struct buf *out)
{
	const char *p = *text;
	char quote = *p == '"' || *p == '\'' ? *p++ : '\0';

	for (; *p != '\0'; ) {
		if (quote != '\0' ? *p == quote : *p == ' ')
			break;
		if (*p == '\\')
			p += 1 + decode_vis(out, p + 1);
		else
			buf_chr(out, *p++);
	}
	if (quote != '\0' && *p++ != quote)
		return false;
	*text = p;
	return *p == '\0' || *p == ' ';
}

int
quote_split(const char *text, char ***argv)
{
	size_t cap = 0;
	int n = 0;

	*argv = NULL;
	while (*text != '\0') {
		struct buf b = BUF_INIT;

		if (!take_arg(&text, &b)) {
			buf_wipe(&b);
			quote_free(*argv, n);
			*argv = NULL;
			return -1;
		}
		*argv = vec_room(*argv, (size_t)n, &cap, sizeof **argv);
		(*argv)[n++] = buf_detach(&b);
		while (*text == ' ')
			text++;
	}
	return n;
}

void
quote_list(struct buf *out, const char *list)
{
	for (const char *p = list; *p != '\0'; p++) {
		if (*p == '\\')
			buf_str(out, "\\\\");
		else if (strncmp(p, "'\\''", 4) == 0) {
			buf_str(out, "\\'");
			p += 3;
		} else
			buf_chr(out, *p);
	}
}

void
quote_free(char **argv, int argc)
{
	for (int i = 0; i < argc; i++) {
		explicit_bzero(argv[i], strlen(argv[i]));
		free(argv[i]);
	}
	free(argv);
}
