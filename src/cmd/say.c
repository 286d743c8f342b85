#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/say.h"
#include "cmd/cmd.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/utf8.h"

void
say_init(struct say *s, const struct cli *cli)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	memset(s, 0, sizeof *s);
	s->quiet = cli->quiet;
	s->json = cli->json;
	s->verbose = cli->verbose;
	s->log = -1;
	s->live = isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
	if (cli->color != NULL && strcmp(cli->color, "auto") != 0)
		s->color = strcmp(cli->color, "always") == 0;
	else
		s->color = s->live && (no_color == NULL || *no_color == '\0');
}

void
say_release(struct say *s)
{
	if (s->log >= 0)
		close(s->log);
	s->log = -1;
}

int
say_open_log(struct say *s, const char *path, struct err *e)
{
	s->log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->log >= 0)
		return 0;
	err_sys(e, GT_USAGE, "log-file", "the log file %s cannot be opened", path);
	return err_hint(e, "correct log_file in gt.toml");
}

size_t
say_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 0;
}

static void
end_waiting(struct say *s)
{
	if (s->waiting && s->live)
		fputs("\r\033[K", stderr);
	s->waiting = false;
}

/* Breaks the row at a blank where it would pass the terminal's edge; what follows stands two columns in. `used`: columns in front of it. */
static void
put_row(const char *text, size_t n, size_t used, size_t columns)
{
	while (columns != 0 && used + utf8_width(text, n) > columns) {
		size_t fits = 0, start = strspn(text, " ");

		for (size_t i = start; i < n; i++)
			if (text[i] == ' ' && used + utf8_width(text, i) <= columns)
				fits = i;
		if (fits == 0)
			break;
		fprintf(stderr, "%.*s\n  ", (int)fits, text);
		text += fits + 1;
		n -= fits + 1;
		used = 2;
	}
	fprintf(stderr, "%.*s\n", (int)n, text);
}

static void
put(struct say *s, const char *mark, const char *color, bool exact, const char *fmt, va_list ap)
{
	size_t columns = s->live && !exact ? say_columns(STDERR_FILENO) : 0, used = *mark != '\0' ? 2 : 0;
	struct buf text = BUF_INIT;

	end_waiting(s);
	buf_vfmt(&text, fmt, ap);
	if (*mark != '\0')
		fprintf(stderr, "%s%s%s ", s->color ? color : "", mark, s->color ? "\033[0m" : "");
	for (const char *row = text.data; row != NULL; used = 0) {
		const char *end = strchr(row, '\n');

		put_row(row, end != NULL ? (size_t)(end - row) : strlen(row), used, columns);
		row = end != NULL ? end + 1 : NULL;
	}
	fflush(stderr);
	buf_release(&text);
}

static void
put_log(struct say *s, bool shown, const char *level, const char *fmt, va_list ap)
{
	struct buf line = BUF_INIT;

	clock_iso(&line, clock_wall_ms());
	buf_chr(&line, ' ');
	buf_str(&line, level);
	buf_vfmt(&line, fmt, ap);
	buf_chr(&line, '\n');
	/* a full disk must not keep an agent from coming back */
	if (s->log >= 0)
		(void)io_write_all(s->log, line.data, line.len);
	if (shown) {
		end_waiting(s);
		fputs(line.data, stderr);
	}
	buf_release(&line);
}

void
say_log(struct say *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_log(s, s->verbose > 0, "", fmt, ap);
	va_end(ap);
}

void
say_level(struct say *s, enum say_level level, const char *fmt, ...)
{
	static const char *const words[] = { "warning: ", "info: ", "debug: " };
	va_list ap;

	if (level == SAY_DEBUG && s->verbose < 2)
		return;
	va_start(ap, fmt);
	put_log(s, level == SAY_WARNING || s->verbose > 0, words[level], fmt, ap);
	va_end(ap);
}

void
say_line(struct say *s, const char *fmt, ...)
{
	va_list ap;

	if (s->quiet)
		return;
	va_start(ap, fmt);
	put(s, "", "", false, fmt, ap);
	va_end(ap);
}

void
say_exact(struct say *s, const char *fmt, ...)
{
	va_list ap;

	if (s->quiet)
		return;
	va_start(ap, fmt);
	put(s, "", "", true, fmt, ap);
	va_end(ap);
}

void
say_done(struct say *s, const char *fmt, ...)
{
	va_list ap;

	if (s->quiet)
		return;
	va_start(ap, fmt);
	put(s, "✓", "\033[32m", false, fmt, ap);
	va_end(ap);
}

void
say_warning(struct say *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(s, "!", "\033[33m", false, fmt, ap);
	va_end(ap);
}

void
say_waiting(struct say *s, const char *what, int64_t elapsed_ms)
{
	size_t columns = say_columns(STDERR_FILENO);
	struct buf line = BUF_INIT, age = BUF_INIT, shown = BUF_INIT;

	if (s->quiet)
		return;
	clock_age(&age, elapsed_ms);
	buf_fmt(&line, "  Waiting for %s… ", what);
	/* a row that reaches the edge could not be rewritten in place */
	utf8_escape(&shown, line.data, line.len, columns > age.len ? columns - 1 - age.len : 0);
	if (s->live)
		fprintf(stderr, "\r\033[K%s%s", shown.data, age.data);
	else if (!s->waiting || elapsed_ms % 30000 < 250)
		fprintf(stderr, "%s%s\n", line.data, age.data);
	fflush(stderr);
	s->waiting = true;
	buf_release(&line);
	buf_release(&age);
	buf_release(&shown);
}

void
say_thousands(struct buf *out, size_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof digits, "%zu", n);

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_chr(out, ',');
		buf_chr(out, digits[i]);
	}
}

void
say_short(struct buf *out, size_t n)
{
	if (n < 1000)
		buf_fmt(out, "%zu", n);
	else if (n < 1000000)
		buf_fmt(out, "%zu.%zuk", n / 1000, n % 1000 / 100);
	else
		buf_fmt(out, "%zu.%zuM", n / 1000000, n % 1000000 / 100000);
}

void
say_foreign(struct buf *out, const char *text, size_t width)
{
	utf8_escape(out, text, strlen(text), width);
}

json_t *
say_object(void)
{
	json_t *v = json_object();

	json_put_int(v, "schema_version", 1);
	return v;
}

void
say_json(json_t *v)
{
	struct buf b = BUF_INIT;

	json_print(&b, v, true);
	fwrite(b.data, 1, b.len, stdout);
	buf_release(&b);
	json_decref(v);
}
