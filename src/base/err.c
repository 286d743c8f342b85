#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unistd.h>

#include "base/err.h"

static void
fill_error(struct err *e, int code, const char *name, const char *fmt, va_list ap)
{
	e->code = code;
	snprintf(e->name, sizeof e->name, "%s", name);
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	e->hint[0] = '\0';
}

int
err_set(struct err *e, int code, const char *name, const char *fmt, ...)
{
	va_list ap;

	if (e == NULL)
		return -1;
	va_start(ap, fmt);
	fill_error(e, code, name, fmt, ap);
	va_end(ap);
	return -1;
}

/* What a person can do about errors of the machine; NULL: it depends on what was tried. */
static const char *
hint_for_errno(int number)
{
	switch (number) {
	case EIO:
		return "check the disk (dmesg, df) and run the command again";
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return "free space on its file system, or raise the quota or the limit of file sizes "
		       "(ulimit -f), and run the command again";
	case EROFS:
		return "mount its file system for writing and run the command again";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files (ulimit -n) and run the command again";
	case ENOMEM:
		return "end other programs, or raise the limit of memory, and run the command again";
	default:
		return NULL;
	}
}

int
err_sys(struct err *e, int code, const char *name, const char *fmt, ...)
{
	int saved = errno;
	size_t n;
	va_list ap;

	if (e == NULL)
		return -1;
	va_start(ap, fmt);
	fill_error(e, code, name, fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	snprintf(e->msg + n, sizeof e->msg - n, ": %s", strerror(saved));
	if (hint_for_errno(saved) != NULL)
		err_hint(e, "%s", hint_for_errno(saved));
	errno = saved;
	return -1;
}

int
err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (e == NULL)
		return -1;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof e->hint, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_add(struct err *e, const char *fmt, ...)
{
	struct err old;
	va_list ap;
	size_t n;

	if (e == NULL)
		return -1;
	old = *e;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	snprintf(e->msg + n, sizeof e->msg - n, ": %.*s", (int)(sizeof e->msg - n), old.msg);
	return -1;
}

void
err_clear(struct err *e)
{
	if (e == NULL)
		return;
	memset(e, 0, sizeof *e);
}

void
die(const char *fmt, ...)
{
	va_list ap;

	fputs("gt-recover: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(GT_FAIL);
}

static int answered = -1;		/* the exit status of an answer that is out */

void
err_answered(int status)
{
	/* an answer that nobody got is told by main */
	if (fflush(stdout) == 0 && !ferror(stdout))
		answered = status;
}

void
err_no_memory(void)
{
	if (answered >= 0)
		_exit(answered);
	die("out of memory\n  end other programs, or raise the limit of memory (ulimit -v), and run the "
	    "command again");
}
