#ifndef TMUX_TMUX_H
#define TMUX_TMUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct buf;
struct clean_text;
struct err;
struct tmux;
struct tmux_batch;

/* ---- client ---- */

/*
 * The only file that starts tmux. A server is addressed by the name of its socket (tmux -L) or,
 * with a slash in it, by its path (-S).
 *
 * Commands go in batches to `tmux -u -L S source-file -` on standard input (fact T36): nothing
 * stands in argv for ps to show, one process serves any number of commands, there is no 16 KB
 * limit. Between the commands a marker with a random nonce is printed, so that each output is
 * known to be its command's. -u: without it names are mangled under cron (T9). Every call has a
 * deadline (T23).
 *
 * A server of tmux 3.4 prints a backslash before each $ that a name or a brace follows, in the
 * output of every command but capture-pane. The marker begins with such a $, which shows whether
 * this server does that; the output is handed out without those backslashes.
 */
struct tmux {
	char *socket;
	int timeout_ms;
};

#define TMUX_TIMEOUT_MS 5000

void tmux_init(struct tmux *t, const char *socket);
void tmux_release(struct tmux *t);
/* The path of the server's socket by tmux's own rule ($TMUX_TMPDIR or /tmp, tmux-UID, name). Heap. */
char *tmux_socket_path(const struct tmux *t);

/* What `tmux -V` says ("tmux 3.3a"), without its newline. Names: "no-tmux", those of spawn_run. */
int tmux_version(struct buf *out, struct err *e);
/*
 * A version as a number to compare: "tmux 3.3a" is 30301, the letter counts behind the dot. 0:
 * the text names none.
 */
int tmux_number(const char *version);

struct tmux_batch {
	struct buf text;		/* the commands, may hold secrets: wiped on release */
	struct buf out, errout;
	char nonce[17];
	size_t n;			/* commands so far */
	bool *raw;			/* is command i's output printed as it is? */
	size_t cap;			/* of raw */
	size_t *from, *to;		/* output of command i in out, once it is whole */
	size_t done;			/* commands whose output is whole */
	size_t looked;			/* up to here of out there is no further marker */
	/*
	 * NULL: nothing. Called in turn for each command as its output is whole, while tmux works
	 * on; tmux_batch_output(i) holds until it returns. To be set before commands are added: a
	 * server writes nothing before its list of commands is done or has to wait, so that it is
	 * made to wait for nothing behind each. It attends to its other clients then, too.
	 */
	void (*each)(void *arg, size_t i);
	void *arg;
	/*
	 * "PATH=…" of what is started: tmux gives a pane that it makes or respawns its client's,
	 * not the session's (3.3a). NULL: ours.
	 */
	const char *path;
	bool mutates;			/* passes the fault point "tmux" */
	/* starts the server when none runs; it must make a session then, or tmux ends again (T39) */
	bool starts;
	int status;			/* tmux's exit status: 1 when any command failed */
};

void tmux_batch_init(struct tmux_batch *b);
void tmux_batch_release(struct tmux_batch *b);
/* Adds a command of NULL-ended arguments, each quoted exactly. Returns its index. */
size_t tmux_batch_add(struct tmux_batch *b, const char *name, ...) __attribute__((sentinel));

/*
 * Runs the batch. 0 also when single commands failed: see tmux_batch_failed. -1: "no-server"
 * (nothing runs there), "not-ours" (socket of another user), "denied", "server-lost" (it died
 * under our call), "server-silent" (GT_AGAIN: stopped or overloaded; deadline passed), "no-tmux"
 * (not installed), "tmux" (it refused the batch).
 */
int tmux_batch_run(struct tmux *t, struct tmux_batch *b, struct err *e);

/* Output of command i, without its last newline. NULL when the command did not run. */
const char *tmux_batch_output(const struct tmux_batch *b, size_t i, size_t *len);
/*
 * True when at least one command failed; *why is then tmux's first error line (names panes and
 * sessions: escape before printing).
 */
bool tmux_batch_failed(const struct tmux_batch *b, const char **why);
/* The same as an error that names the command (name "tmux"); 0 when none failed. */
int tmux_batch_error(const struct tmux_batch *b, const char *name, struct err *e);

/*
 * One command by itself; as tmux_batch_run, and a failing command is an error too (name "tmux").
 * out may be NULL.
 */
int tmux_do(struct tmux *t, bool mutates, struct buf *out, struct err *e, const char *name, ...)
    __attribute__((sentinel));

/* ---- pane ---- */

/*
 * The inventory of one server: all panes, from one tmux process. A pane is (socket, server pid
 * and start time, %id): names are matched by prefix and rewritten by tmux (T1, T4, T5), ids begin
 * again at %0 on a new server (T6). `typed` is client_activity: focus-in, the mouse and entering
 * the pane move it too. A read-only client types nothing. The send-keys of a control-mode client
 * does not move it (3.3a), so it is not seen. Strings are heap, owned by the struct; foreign, so
 * escape them before printing. start_command may hold secrets.
 */
struct pane {
	char *socket;			/* name or path that we called it by */
	/* as the server itself calls it: the same by whatever name it was reached */
	char *socket_path;
	pid_t server_pid;
	int64_t server_start;		/* seconds since 1970 */
	char *session;
	char *session_id;		/* "$3" */
	char *window_id;		/* "@4" */
	char *id;			/* "%5" */
	pid_t pid;			/* the pane's process; of a dead pane the process that died */
	bool dead;
	int dead_status;		/* -1: unknown, never 0 (T26) */
	int dead_signal;		/* -1: unknown or none */
	int64_t dead_time;		/* seconds since 1970; 0 unknown */
	/* window_activity, seconds (session_activity stands still on 3.4, T32) */
	int64_t activity;
	int64_t session_created;
	/* last key of a client whose active pane it is, seconds; 0: none since it attached */
	int64_t typed;
	int width, height;		/* columns, rows */
	int64_t history_size, history_limit;	/* rows */
	int64_t history_bytes;		/* that tmux holds for them: changes with every row */
	int cursor_x, cursor_y;
	bool alternate;
	bool in_mode;			/* copy mode: keys are eaten (T14) */
	int64_t scrolled;		/* rows that copy mode shows above the last screen */
	char *version;			/* the server's */
	/* the process at whose death the pane was reset (pane_reset); 0 or less: never */
	pid_t reset_pid;
	char *kept;			/* the file with what it showed before that; "" */
	char *remain_on_exit;		/* "on", "off", "failed" */
	/* the row that tmux writes into a dead pane (remain-on-exit-format), expanded */
	char *dead_line;
	/* pane_current_command: of a dead pane derived from the start command (T27), proves nothing */
	char *command;
	char *start_command;		/* as tmux prints it, see quote_split */
	char *start_path;
	char *path;			/* pane_current_path; empty when dead (T27) */
	char *tty;
	char *title;			/* set by what runs there */
	char *window_name;
	char *default_shell;
	char **env;			/* the session's environment, n_env times "K=V"; may hold secrets */
	size_t n_env;
};

struct panes {
	struct pane *v;
	size_t n, cap;
};

/*
 * All panes of the server, appended to out. When a dead pane lacks both status and signal,
 * another child is made to end first (`run-shell -b true`) and the list is read again, for at
 * most about a second: tmux 3.3a loses the exit status of one dead pane in seven until then
 * (T26). A child's end that stays unknown stays unknown.
 */
int pane_list(struct tmux *t, struct panes *out, struct err *e);
/*
 * The same without the sessions' environments: one tmux process, unless a child's end has to be
 * waited for.
 */
int pane_list_bare(struct tmux *t, struct panes *out, struct err *e);
/*
 * The environments of panes `first` and behind, which must be this server's; one tmux process,
 * none when there are no such panes.
 */
int pane_list_environ(struct tmux *t, struct panes *list, size_t first, struct err *e);
/*
 * The same pane again, by id and server identity, without its environment; name "gone" when pane
 * or server is another.
 */
int pane_reread(struct tmux *t, const struct pane *was, struct pane *now, struct err *e);
/*
 * A condition for `if-shell -F -t ID` in the batch that changes something: true on the pane's own
 * server only. Another server on the same socket counts its panes from %0 again (T6).
 */
void pane_guard(struct buf *out, const struct pane *p);

/*
 * A dead pane ends its whole server, with every session, when a client begins or ceases to look
 * at it (attach, detach, switch-client) and its program had asked for focus reports (DECSET 1004;
 * Claude Code does): tmux writes them to a pane that has no terminal any more. Measured on 3.3a,
 * on both screens, with focus-events on and off. In tmux's history the fault came with 3.3
 * (commit 2bb0b9d6c) and went with 3.5 (424f13fe1); tmux does not tell which pane has asked. A
 * version that cannot be told counts as one with the fault.
 *
 * send-keys -R takes the mode back, and with it the visible rows: on the main screen into the
 * history, on the alternate one for good.
 */
bool pane_has_fault(const struct pane *p);	/* dead or not: its server is of such a version */
/*
 * tmux 3.3 to 3.5 may lose the end of a pane's process until another child of the server ends or
 * the server gets SIGCHLD; until then pane-died does not run. A version that cannot be told counts.
 */
bool pane_may_miss_death(const struct pane *p);
bool pane_exposed(const struct pane *p);	/* dead, on such a server, not reset since its death */
/*
 * Adds to a batch what resets a dead pane, once for each death, and shows the last rows again if
 * they are in the history. `kept`, a file with all that it shows, must be durable before. The
 * command prints PANE_WAS_RESET; something else when the pane is another by now, or somebody else
 * has reset it.
 */
#define PANE_WAS_RESET "reset"
size_t pane_reset(struct tmux_batch *b, const struct pane *p, const char *kept);
/* True when the pane does not show any more what its process left, but the file p->kept holds it. */
bool pane_is_reset(const struct pane *p);
void pane_release(struct pane *p);
void pane_list_release(struct panes *p);

/* A variable of the session's environment (borrowed), or NULL. */
const char *pane_env(const struct pane *p, const char *name);

/* ---- quote ---- */

/*
 * Appends one argument in the syntax of tmux's own command language, so that tmux reads back
 * exactly these bytes. Runs of single quotes (nothing is expanded there), a newline as "\n" in
 * double quotes: inside quotes tmux drops the blanks that follow a raw newline. Read on 3.3a.
 * Formats (#{…}, #(…)) are a matter of the command, not of quoting: see quote_format.
 */
void quote_arg(struct buf *out, const char *arg);

/*
 * Appends text with every # doubled: for the few arguments that tmux expands as a format
 * (respawn-pane -c; fact T3).
 */
void quote_format(struct buf *out, const char *text);

/*
 * Appends the name that tmux stored as that one (#{session_name}): a backslash and control
 * characters stand in it as vis(3) escapes, which tmux would escape once more (T1).
 */
void quote_stored(struct buf *out, const char *stored);

/*
 * Removes, in place, the backslash that a server of tmux 3.4 prints before each $ with a letter,
 * _ or { behind it. That server puts one before every such $, so this is its exact inverse.
 * Returns the new length.
 */
size_t quote_undo_dollars(char *text, size_t n);

/* Appends one argument in the syntax of sh. */
void quote_sh(struct buf *out, const char *arg);

/*
 * Reads #{pane_start_command} back into the arguments that it was made of: tmux prints each in a
 * form of its own (args_escape: double or single quotes or none, and inside them vis(3) escapes).
 * Returns the number of arguments, *argv is heap (free with quote_free); -1 when the text is not
 * of that form.
 */
int quote_split(const char *text, char ***argv);
void quote_free(char **argv, int argc);

#endif
