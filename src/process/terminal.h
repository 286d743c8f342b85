#ifndef PROCESS_TERMINAL_H
#define PROCESS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

/*
 * The terminal of a pane. A program that was killed leaves it as it had set it: no signals from
 * the keyboard, no line ends, no echo. bash puts all of that right by itself; zsh puts the bad
 * settings back at every prompt, fish keeps some, dash all (measured on bash 5.2, zsh 5.9, fish
 * 3.6, dash 0.5.12). Everything that opens a terminal by its path does so without waiting and
 * without becoming its session's leader. Errors: name "terminal".
 */
struct terminal_mode {
	bool canonical, echo;
	unsigned char interrupt;	/* the key that interrupts; normally 3, Ctrl-C */
};

int terminal_mode(const char *tty, struct terminal_mode *out, struct err *e);

/*
 * Makes Ctrl-C work again and output readable: ISIG, OPOST, ONLCR; a stopped output (Ctrl-S) runs
 * on. `cooked`: line editing and echo of the kernel, too, for a shell that has none of its own.
 */
int terminal_repair(const char *tty, bool cooked, struct err *e);

/*
 * bash keeps the settings of a program that ends without a signal, as a script does whose agent was
 * killed, takes them back at every prompt, and shows no text where they have no echo. This mends
 * them in the moment of a SIGINT in which bash reads them; its edit line is empty then. True: it
 * has read the mended ones.
 */
bool terminal_relearn(const char *tty, pid_t shell);

/* Writes to the terminal as the pane's program would: what tmux shows, not what the shell reads. */
int terminal_put(const char *tty, const char *bytes, size_t n, struct err *e);

/* The settings of a terminal that nobody has changed, for a program about to be started there. */
int terminal_make_sane(int fd);

/*
 * Switches off what only a program switches on and what tmux cannot tell: mouse and focus reports,
 * keyboard protocols; shows the cursor, takes back colours, insert mode and character sets. It
 * moves nothing and clears nothing. _ALL: also what a line editor sets at its prompt, for a program
 * that is about to start there.
 */
#define TERMINAL_RESET                                                                                \
	"\033[?1000l\033[?1002l\033[?1003l\033[?1005l\033[?1006l\033[?1015l\033[?1004l\033[<99u"       \
	"\033[>4m\033[?2026l\033[?7h\033[4l\033[?25h\033[0 q\033(B\017\033[0m"
#define TERMINAL_RESET_ALL "\033[?2004l\033[?1l\033>" TERMINAL_RESET

#endif
