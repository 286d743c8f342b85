#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/shell.h"
#include "base/buf.h"
#include "process/proc.h"
#include "process/terminal.h"

#define CTRL_C 3

/*
 * Where each one waits for a key. wchan is the kernel's name of the function, cut at its suffixes;
 * it is "0" where the kernel keeps it to itself, and then the number of the system call serves.
 */
static const struct shell_row {
	const char *program;
	enum shell_kind kind;
	bool polls;			/* else it reads its terminal */
	bool edits;			/* has a line editor: terminal neither canonical nor echoing */
} shell_rows[] = {
	{ "bash", SHELL_BASH, true, true },
	{ "zsh", SHELL_ZSH, false, true },
	{ "fish", SHELL_FISH, true, true },
	{ "dash", SHELL_DASH, false, false },
};

static const char *const polling[] = { "poll_schedule_timeout", "do_select", "do_sys_poll", "do_poll", NULL };
static const char *const reading[] = { "wait_woken", "n_tty_read", NULL };

static const struct shell_row *
shell_row(enum shell_kind kind)
{
	for (size_t i = 0; i < sizeof shell_rows / sizeof shell_rows[0]; i++)
		if (shell_rows[i].kind == kind)
			return &shell_rows[i];
	return NULL;
}

enum shell_kind
shell_kind(pid_t pid)
{
	char path[64], target[4097];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	n = readlink(path, target, sizeof target - 1);
	if (n <= 0)
		return SHELL_UNKNOWN;
	target[n] = '\0';
	name = strrchr(target, '/') != NULL ? strrchr(target, '/') + 1 : target;
	for (size_t i = 0; i < sizeof shell_rows / sizeof shell_rows[0]; i++) {
		size_t len = strlen(shell_rows[i].program);

		/* "zsh5", "bash-5.2", "fish (deleted)" after an update */
		if (strncmp(name, shell_rows[i].program, len) == 0 && !isalpha((unsigned char)name[len]) &&
		    name[len] != '_')
			return shell_rows[i].kind;
	}
	return SHELL_UNKNOWN;
}

/* The first bytes of a file of a process; false: it cannot be read, or is empty. */
static bool
read_of(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool
starts_with_one(const char *text, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strncmp(text, *names, strlen(*names)) == 0)
			return true;
	return false;
}

static enum shell_wait
waits_in_call(pid_t pid, const struct shell_row *row)
{
	static const long poll_calls[] = {
#ifdef SYS_poll
		SYS_poll,
#endif
#ifdef SYS_select
		SYS_select,
#endif
		SYS_ppoll, SYS_pselect6
	};
	char text[256];
	long call;

	if (!read_of(pid, "syscall", text, sizeof text))
		return SHELL_UNSEEN;
	if (!isdigit((unsigned char)*text))
		return SHELL_BUSY;
	call = strtol(text, NULL, 10);
	if (!row->polls)
		return call == SYS_read ? SHELL_WAITS : SHELL_BUSY;
	for (size_t i = 0; i < sizeof poll_calls / sizeof poll_calls[0]; i++)
		if (call == poll_calls[i])
			return SHELL_WAITS;
	return SHELL_BUSY;
}

enum shell_wait
shell_waits(pid_t pid, enum shell_kind kind, const char *tty)
{
	const struct shell_row *row = shell_row(kind);
	struct terminal_mode mode;
	struct proc p;
	char where[128];

	if (row == NULL || proc_read(pid, &p) != 0 || terminal_mode(tty, &mode, NULL) != 0)
		return SHELL_UNSEEN;
	if (p.foreground != p.pgrp || p.state != 'S')
		return SHELL_BUSY;
	if (row->edits && (mode.canonical || mode.echo))
		return SHELL_BUSY;
	if (!read_of(pid, "wchan", where, sizeof where) || strcmp(where, "0") == 0)
		return waits_in_call(pid, row);
	return starts_with_one(where, row->polls ? polling : reading) ? SHELL_WAITS : SHELL_BUSY;
}

bool
shell_ignores_interrupt(pid_t pid, const char *tty)
{
	struct terminal_mode mode;
	char text[4096];
	const char *at;

	if (terminal_mode(tty, &mode, NULL) != 0 || mode.interrupt != CTRL_C ||
	    !read_of(pid, "status", text, sizeof text))
		return true;
	at = strstr(text, "\nSigIgn:");
	return at == NULL || (strtoull(at + strlen("\nSigIgn:"), NULL, 16) >> (SIGINT - 1) & 1) != 0;
}
