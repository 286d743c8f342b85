#ifndef REVIVE_RESPAWN_H
#define REVIVE_RESPAWN_H

#include <stdbool.h>

struct buf;
struct err;
struct launch;
struct pane;
struct tmux;

/*
 * Starts the agent again in its pane, with the prompt as its standard input: `claude < prompt` is exact to the byte up to
 * 1 MB and needs neither keys nor waiting (Claude Code 2.1.197, 2.1.330, 2.0.76, 1.0.128).
 *
 * The pane's start command becomes `sh -c WRAPPER gt-recover PROMPT SHELL COMMAND FED` (T38), handed over on tmux's standard
 * input. tmux keeps it and runs it again whenever anybody respawns the pane (T40), so the wrapper consumes the prompt
 * once: it renames the file away, opens it as descriptor 3, removes it, runs FED. Without the file it runs COMMAND plainly.
 * FED is COMMAND with descriptor 3 as the agent's standard input, and the agent's alone: the prompt holds what stood on the
 * screen, and a shell that read it (`claude; exec bash`, or a .bashrc that ends in `exec zsh`) would run it.
 * agent/launch.h unwraps COMMAND for the next recovery.
 */
struct respawn {
	const struct launch *launch;	/* shell; the command is given apart, flags taken out */
	const char *command;
	const char *fed;		/* of launch_fed; NULL: no prompt goes in this way */
	const char *prompt_path;	/* absolute */
	bool zombie;			/* replace the idle shell (-k) and give a shell back when the agent ends */
	const char *cwd;		/* zombie: where the shell stands; NULL: the pane's start directory */
};

enum wrapping {
	WRAP_PLAIN,
	WRAP_LOGIN,		/* through a login shell, for a tmux server started from who knows where; so a pane stays */
	WRAP_SHELL		/* the same, and a shell comes back when the agent ends */
};
/* Appends `sh -c WRAPPER gt-recover PROMPT SHELL COMMAND FED`, each quoted for tmux. */
void respawn_command(struct buf *out, const struct respawn *r, enum wrapping how);

/*
 * The command finds its programs by the PATH of the session or its server, and after that by ours.
 *
 * A dead pane: without -k, which tmux answers "still active" when somebody else was faster: an atomic claim (T20), name "taken", GT_AGAIN.
 * A zombie: remain-on-exit is set on the pane first (a failing command would take the session with it, T19), then respawn-pane -k.
 */
int respawn_pane(struct tmux *t, const struct pane *p, const struct respawn *r, struct err *e);

/*
 * True when the process in the pane was started by that attempt, or by somebody who respawned the pane after it: its id stands in the start
 * command, in the prompt's path.
 */
bool respawn_was_by(const struct pane *p, const char *recovery_id);

/* The id of the attempt that started the process in the pane (see respawn_was_by) in id[21]; false: none did. */
bool respawn_id(const struct pane *p, char id[21]);

/* What the pane itself has set for remain-on-exit, "" for nothing; heap, NULL with err. */
char *respawn_remains(struct tmux *t, const struct pane *p, struct err *e);
/* Takes a zombie's remain-on-exit back to that, on the pane's own server only. Somebody else's change since then stays. */
int respawn_settle(struct tmux *t, const struct pane *p, const char *before, struct err *e);

#endif
