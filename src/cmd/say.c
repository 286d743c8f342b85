#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void
end_waiting(struct say *s)
{
	if (s->waiting && s->live)
		fputs("\r\033[K", stderr);
	s->waiting = false;
}

static void
put(struct say *s, const char *mark, const char *color, const char *fmt, va_list ap)
{
	end_waiting(s);
	if (*mark != '\0')
		fprintf(stderr, "%s%s%s ", s->color ? color : "", mark, s->color ? "\033[0m" : "");
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	fflush(stderr);
}

void
say_log(struct say *s, const char *fmt, ...)
{
	struct buf line = BUF_INIT;
	va_list ap;

	clock_iso(&line, clock_wall_ms());
	buf_chr(&line, ' ');
	va_start(ap, fmt);
	buf_vfmt(&line, fmt, ap);
	va_end(ap);
	buf_chr(&line, '\n');
	/* a full disk must not keep an agent from coming back */
	if (s->log >= 0)
		(void)io_write_all(s->log, line.data, line.len);
	if (s->verbose > 0) {
		end_waiting(s);
		fputs(line.data, stderr);
	}
	buf_release(&line);
}

void
say_line(struct say *s, const char *fmt, ...)
{
	va_list ap;

	if (s->quiet)
		return;
	va_start(ap, fmt);
	put(s, "", "", fmt, ap);
	va_end(ap);
}

void
say_done(struct say *s, const char *fmt, ...)
{
	va_list ap;

	if (s->quiet)
		return;
	va_start(ap, fmt);
	put(s, "✓", "\033[32m", fmt, ap);
	va_end(ap);
}

void
say_warning(struct say *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(s, "!", "\033[33m", fmt, ap);
	va_end(ap);
}

void
say_waiting(struct say *s, const char *what, int64_t elapsed_ms)
{
	struct buf age = BUF_INIT;

	if (s->quiet)
		return;
	clock_age(&age, elapsed_ms);
	if (s->live)
		fprintf(stderr, "\r\033[K  Waiting for %s… %s", what, age.data);
	else if (!s->waiting || elapsed_ms % 30000 < 250)
		fprintf(stderr, "  Waiting for %s… %s\n", what, age.data);
	fflush(stderr);
	s->waiting = true;
	buf_release(&age);
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
