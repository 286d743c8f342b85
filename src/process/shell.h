#ifndef PROCESS_SHELL_H
#define PROCESS_SHELL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Does a shell wait at its prompt? Seen from outside: group, state, what the kernel says it waits
 * for, and the terminal's settings, which the shell's line editor changes. Measured on bash 5.2,
 * zsh 5.9, fish 3.6 and dash 0.5.12: a shell that runs a command substitution, `wait`, a completion
 * or a function in its prompt has the terminal's foreground too, but waits elsewhere. What cannot
 * be told apart from a prompt: bash `read -e`, zsh `vared`, `select` and `zselect` in a widget, fish
 * `read`.
 */
enum shell_kind { SHELL_UNKNOWN, SHELL_BASH, SHELL_ZSH, SHELL_FISH, SHELL_DASH };

/* By the program that the process runs. SHELL_UNKNOWN also when that cannot be read. */
enum shell_kind shell_kind(pid_t pid);

enum shell_wait {
	SHELL_WAITS,		/* at its prompt, or in a half-typed line */
	SHELL_BUSY,		/* it, or what it runs, is at work */
	SHELL_UNSEEN		/* /proc or the terminal does not tell */
};

/* One sample; one alone proves little. tty: the shell's terminal. */
enum shell_wait shell_waits(pid_t pid, enum shell_kind kind, const char *tty);

/* Its Ctrl-C does nothing: SIGINT is ignored, or the key is another. True when it cannot be told. */
bool shell_ignores_interrupt(pid_t pid, const char *tty);

#endif
