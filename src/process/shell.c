#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "process/shell.h"
#include "process/proc.h"
#include "process/terminal.h"

#define CTRL_C 3

/*
 * Where each one waits for a key. zsh reads its terminal, but polls once a plug-in watches a
 * descriptor (`zle -F`).
 */
static const struct shell_row {
	const char *program;
	enum shell_kind kind;
	bool polls;
	bool reads;			/* its terminal */
	bool edits;			/* has a line editor: terminal neither canonical nor echoing */
} shell_rows[] = {
	{ "bash", SHELL_BASH, true, false, true },
	{ "zsh", SHELL_ZSH, true, true, true },
	{ "fish", SHELL_FISH, true, false, true },
	{ "dash", SHELL_DASH, false, true, false },
};

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
	char *path = proc_path(pid, PROC_PROGRAM);
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	const char *name = slash != NULL ? slash + 1 : path;
	enum shell_kind kind = SHELL_UNKNOWN;

	for (size_t i = 0; name != NULL && i < sizeof shell_rows / sizeof shell_rows[0]; i++) {
		size_t len = strlen(shell_rows[i].program);

		/* "zsh5", "bash-5.2", "fish (deleted)" after an update */
		if (strncmp(name, shell_rows[i].program, len) == 0 && !isalpha((unsigned char)name[len]) &&
		    name[len] != '_')
			kind = shell_rows[i].kind;
	}
	free(path);
	return kind;
}

enum shell_wait
shell_waits(pid_t pid, enum shell_kind kind, const char *tty)
{
	const struct shell_row *row = shell_row(kind);
	struct terminal_mode mode;
	enum proc_wait wait;
	struct proc p;

	if (row == NULL || proc_read(pid, &p) != 0 || terminal_mode(tty, &mode, NULL) != 0)
		return SHELL_UNSEEN;
	if (p.foreground != p.pgrp || p.state != 'S')
		return SHELL_BUSY;
	if (row->edits && (mode.canonical || mode.echo))
		return SHELL_BUSY;
	wait = proc_wait(pid);
	if (wait == PROC_WAITS_UNSEEN)
		return SHELL_UNSEEN;
	return (wait == PROC_WAITS_POLLING && row->polls) || (wait == PROC_WAITS_READING && row->reads)
	    ? SHELL_WAITS
	    : SHELL_BUSY;
}

bool
shell_ignores_interrupt(pid_t pid, const char *tty)
{
	struct terminal_mode mode;

	return terminal_mode(tty, &mode, NULL) != 0 || mode.interrupt != CTRL_C ||
	    proc_ignores_interrupt(pid);
}
