#ifndef AGENT_LAUNCH_H
#define AGENT_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/profile.h"

struct buf;

/*
 * The command that starts a pane's agent, read from the pane's start command. It may hold keys: never print or log it; it
 * goes back only through tmux's standard input.
 *
 * tmux runs a start command of one argument by its default-shell, one of several arguments directly (T38). A pane that a
 * recovery brought back has our wrapper there (`sh -c WRAPPER gt-recover PROMPT SHELL COMMAND [FED]`, see
 * revive/respawn.h); it is unwrapped to what stood there before.
 */
struct word {
	size_t from, to;		/* bytes of the command */
	char *text;			/* with quotes taken off; parts that a shell would fill in stay as written */
	bool literal;			/* nothing for a shell to fill in */
};

struct launch {
	char *shell;			/* runs `command` with -c; NULL when there is no command */
	char *command;			/* NULL: the pane was started without a command (a person typed it) */
	bool wrapped;
	bool login;			/* wrapped, and through a login shell */
	/* Of the simple command that runs the agent, when one was found: */
	struct word *words;
	size_t n_words;
	size_t program;			/* index into words */
	size_t entry;			/* the same, or the script that a runtime runs: what stands behind it is the agent's */
	char *name;			/* base name of the program ("claude"); for `node /x/cli.js` see launch_read. NULL: none found */
	bool certain;			/* the simple command is known for certain, so that flags may be taken out */
};

/* Answers whether a base name is an agent's program. */
typedef bool launch_is_agent(const void *arg, const char *name);

/*
 * Reads a start command as tmux prints it. The agent is looked for behind assignments, exec, env, nohup, cd … &&, and
 * inside `sh -c '…'`; a script run by node, bun or python counts by its own name or its package folder
 * (…/claude-code/cli.js is "claude"). When no word names an agent, name is the program of the last simple command and
 * certain is false.
 */
void launch_read(struct launch *l, const char *start_command, const char *default_shell, launch_is_agent *is_agent, const void *arg);
/* The same for a command given by configuration, to be run by `shell`. */
void launch_command(struct launch *l, const char *command, const char *shell, launch_is_agent *is_agent, const void *arg);
void launch_release(struct launch *l);		/* overwrites the command */

/* Value of a variable that the command itself sets before the agent (FOO=x claude, env FOO=x claude), heap; NULL when it does not. */
char *launch_env(const struct launch *l, const char *name);

/*
 * The command without the flags of `flags` ("--resume=1 --continue=0 -r=? --tools=*" : takes a value, takes none, may take one, takes all words
 * up to the next flag), when it is certain. Heap. *left_out counts them. Not certain: the command as it is, *left_out = 0.
 */
char *launch_without(const struct launch *l, const char *flags, size_t *left_out);

/*
 * The command with the prompt of a recovery for the agent alone. Whoever runs it has the prompt open as descriptor 3. Nothing else that the
 * command or the shell's start-up files start may have it there: a shell in `claude; exec bash` would run the prompt line by line.
 *
 *	DELIVER_STDIN		`<&3 3<&-` behind the agent's simple command
 *	DELIVER_FILE		`FILE_FLAG /proc/self/fd/3` right behind the program, which must open it itself: a child of it has no such descriptor
 *	DELIVER_ARGUMENT	`ARGUMENT_FLAG "$(cat <&3)" 3<&-` behind the simple command; line ends at the prompt's end are lost
 *	DELIVER_PASTE		`3<&-` there: it waits for something else
 *
 * Left out are the row's session_flags and prompt_flags, and, but for the standard input, words that are no flags and no flags' values: the
 * prompt of the first start. Only where the row lists its other flags: else nothing tells such a word from a command of the program.
 * NULL when that cannot be said for certain: launch_can_feed is false, or such a word stands behind a flag of no list, or one that the
 * shell fills in.
 */
char *launch_fed(const struct launch *l, const struct profile *p, enum deliver way);
bool launch_can_feed(const struct launch *l);

/*
 * The same by the row's resume_deliver, but going on with a conversation of the agent's own: `RESUME ID` stands right behind the program, and
 * words that are no flags are gone in any case. `id` is of letters, digits, - and _.
 */
char *launch_resumed(const struct launch *l, const struct profile *p, const char *id);

/* True when the command starts nothing but a shell for a person: it had been there before the agent. */
bool launch_is_shell(const struct launch *l);

#endif
