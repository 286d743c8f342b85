#ifndef RECOVER_SHELL_START_H
#define RECOVER_SHELL_START_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct app;
struct err;
struct pane;

/*
 * Starts an agent inside the shell that was left in its pane. The shell keeps its virtualenv,
 * exported variables, jobs and history, and is there again when the agent ends; a respawn would
 * replace it.
 *
 * Only one line is ever executed there: a blank, the path of this program, `start`, and the id of
 * a ticket that works once. Everything else (command, directory, prompt) stands in the ticket, a
 * private file of the state directory, and the program that the line runs becomes the agent.
 */

/*
 * ---- ticket: <state>/starts/ID.json, 0600 ----
 *
 * `state` is the state directory, absolute and there already. The program that the line runs
 * knows it by its own path: the line names a link in it where that can be typed.
 */

struct start_ticket {
	char *id;			/* the recovery id */
	int64_t shell_pid, shell_start;	/* the shell that must run the line; start in clock ticks */
	char *cwd;			/* where the agent starts; NULL: where the shell stands */
	char *shell, *command;		/* SHELL -c COMMAND, with the prompt as descriptor 3 */
	/* where PATH does not lead to `name`, this command instead; NULL: none */
	char *name, *fallback;
	char *variables;		/* that the shell must have set, names parted by blanks; NULL: none */
	char *prompt_path;		/* absolute; removed when it is opened. NULL: no prompt */
};

/* Durable when it returns 0. */
int start_ticket_write(const char *state, const struct start_ticket *t, struct err *e);
/*
 * Takes the ticket away, so that a line that is executed late starts nothing. 1: taken away
 * unused, 0: it was used already, -1 with err.
 */
int start_ticket_withdraw(const char *state, const char *id, struct err *e);
/*
 * For the program that the line runs: takes the ticket and fills out. Of any number of callers one
 * gets it. Names, all GT_REFUSED: "no-ticket" (used, withdrawn or never made), "other-shell" (it
 * was made for another shell).
 */
int start_ticket_use(const char *state, const char *id, struct start_ticket *out, struct err *e);
/* Tells whoever waits that the agent starts now as this process, or (why not NULL) that it cannot. */
int start_ticket_check_in(const char *state, const char *id, const char *why, struct err *e);
/*
 * 1: the program has checked in; *agent and *ticks are its process then, or 0 when it could not
 * start the agent, and *why (heap, NULL is fine) says why. 0: not yet.
 */
int start_ticket_answer(const char *state, const char *id, pid_t *agent, int64_t *ticks, char **why);
/* Removes what is left of a ticket that has done its work. */
void start_ticket_remove(const char *state, const char *id);

/* ---- typing the line ---- */

/*
 * Is there a shell in the pane that a line can be typed into? *shell is the process: the pane's
 * own, or the last of shells that wait for each other. Names, all GT_REFUSED with a hint:
 * "shell-unknown" (not bash, zsh, fish or dash), "shell-busy" (does not wait at a prompt, in three
 * looks), "shell-deaf" (ignores Ctrl-C, input switched off), "path" (neither this program's path
 * nor the link in the state directory can be typed).
 */
int start_check_shell(struct app *w, const struct pane *p, pid_t *shell, struct err *e);

struct start_result {
	bool half_typed;		/* an unfinished line was there; it stands above, not executed */
	int interrupts;			/* times that Ctrl-C was sent */
};

/*
 * Types the line of a written ticket and waits until its program checks in. What makes it safe,
 * measured over 228 shell states (facts: half-typed text was executed by simpler ways): the
 * terminal is repaired from outside before every Ctrl-C; at least two of them, each awaited; then
 * the line is typed without Enter, seen, and taken back with Ctrl-C, seen gone (the canary); only
 * then it is typed again, seen, and Enter follows by itself. Text goes in by paste-buffer, which
 * reaches this pane alone where panes are synchronized.
 *
 * Names: those of start_check_shell, "shell-unclean" (GT_REFUSED: the line cannot be made empty,
 * nothing was executed), PLAN_TYPING of recover.h (GT_REFUSED: a key was pressed meanwhile),
 * "no-check-in" (GT_FAIL: Enter was sent and nothing came of it within 4 s; the ticket is
 * withdrawn), "start" (GT_FAIL: the program could not start the agent; its reason), those of
 * tmux/tmux.h.
 */
int start_in_shell(struct app *w, const struct pane *p, pid_t shell, const char *id,
    struct start_result *out, struct err *e);

#endif
