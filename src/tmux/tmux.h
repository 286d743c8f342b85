#ifndef TMUX_TMUX_H
#define TMUX_TMUX_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct clean_text;
struct err;

/* ---- client ---- */

/*
 * A tmux server, by the name of its socket (tmux -L) or, with a slash in it, by its path (-S).
 *
 * Commands go in batches to `tmux -u -L S source-file -` on standard input (T36): nothing in argv
 * for ps, one process for any number of commands, no 16 KB limit. A marker with a random nonce
 * between them separates their outputs. -u: without it cron mangles names (T9). Every call has a
 * deadline (T23).
 *
 * tmux 3.4 prints a backslash before each $ that a name or a brace follows, in all output but
 * capture-pane's. The marker begins with such a $, which shows it; output is returned without them.
 */
struct tmux {
	char *socket;
	int timeout_ms;
	/*
	 * Root may look at another user's server, and changes nothing there: what it would start would
	 * run as root. Then how that user runs this program, "sudo -u ana gt-recover", heap; else NULL.
	 */
	char *as_owner;
	/*
	 * The server's own program, by sys_program_of, heap: the tmux in PATH is too old for it (before
	 * 3.6 for 3.6 and later, whose messages are others). NULL: the tmux in PATH, whose words the
	 * server understood so far.
	 */
	char *program;
};

#define TMUX_TIMEOUT_MS 5000

void tmux_init(struct tmux *t, const char *socket);
void tmux_release(struct tmux *t);
/* The socket's path by tmux's rule ($TMUX_TMPDIR or /tmp, tmux-UID, name). Heap. */
char *tmux_socket_path(const struct tmux *t);

/* `tmux -V` ("tmux 3.3a"). Names: "no-tmux", those of spawn_run. */
int tmux_version(struct buf *out, struct err *e);
/* A version to compare: "tmux 3.3a" is 30301, the letter counts. 0: none. */
int tmux_number(const char *version);

struct tmux_batch {
	struct buf text;		/* the commands; may hold secrets, wiped on release */
	struct buf out, errout;
	char nonce[17];
	size_t n;			/* commands so far */
	bool *raw;			/* command i's output is printed as it is */
	size_t cap;			/* of raw */
	size_t *from, *to;		/* complete output of command i in out */
	size_t done;			/* commands with complete output */
	size_t looked;			/* scanned bytes of out */
	/*
	 * May be NULL; set it before commands are added. Called for each command in turn when its
	 * output is complete, while tmux works on; tmux_batch_output(i) holds until it returns. A
	 * server writes nothing before its commands are done or have to wait, so each is followed
	 * by a wait for nothing, in which it attends to other clients too.
	 */
	void (*each)(void *arg, size_t i);
	void *arg;
	/*
	 * "PATH=…" of what is started, NULL: ours. tmux gives a new or respawned pane its client's,
	 * not the session's (3.3a).
	 */
	const char *path;
	/* passes the fault point "tmux"; refused on another user's server */
	bool mutates;
	/* starts a server; it must make a session then, or tmux ends again (T39) */
	bool starts;
	int status;			/* exit status; 1: a command failed */
};

void tmux_batch_init(struct tmux_batch *b);
void tmux_batch_release(struct tmux_batch *b);
/* Adds a command of NULL-ended arguments, each quoted. Returns its index. */
size_t tmux_batch_add(struct tmux_batch *b, const char *name, ...) __attribute__((sentinel));

/*
 * 0 also when single commands failed: see tmux_batch_failed. -1: "no-server", "not-ours" (another
 * user's socket), "other-user" (the same for root, when the batch mutates), "denied", "server-lost"
 * (it died under our call), "server-silent" (GT_AGAIN: deadline passed), "server-version" (the tmux
 * in PATH does not understand it, and its own program cannot be run), "no-tmux" (not installed), "tmux"
 * (it refused the batch).
 */
int tmux_batch_run(struct tmux *t, struct tmux_batch *b, struct err *e);

/* Without its last newline. NULL: the command did not run. */
const char *tmux_batch_output(const struct tmux_batch *b, size_t i, size_t *len);
/* *why: tmux's first error line (names panes and sessions: escape before printing). */
bool tmux_batch_failed(const struct tmux_batch *b, const char **why);
/* As an error that names the command (name "tmux"); 0: none failed. */
int tmux_batch_error(const struct tmux_batch *b, const char *name, struct err *e);

/* One command, as tmux_batch_run; its failure is an error too (name "tmux"). out may be NULL. */
int tmux_do(struct tmux *t, bool mutates, struct buf *out, struct err *e, const char *name, ...)
    __attribute__((sentinel));

/* ---- pane ---- */

/*
 * A pane is (socket, server pid and start time, %id): names are matched by prefix and rewritten by
 * tmux (T1, T4, T5), ids begin at %0 on a new server (T6). Strings are heap and foreign: escape
 * before printing. start_command may hold secrets.
 */
struct pane {
	char *socket;			/* name or path that we used */
	/* as the server calls it: the same by whatever name */
	char *socket_path;
	pid_t server_pid;
	int64_t server_start;		/* seconds since 1970 */
	char *session;
	char *session_id;		/* "$3" */
	char *window_id;		/* "@4" */
	char *id;			/* "%5" */
	/*
	 * Of a dead pane the process that died. tmux 3.8 forgets that (e03a937c7): then the negative
	 * second of its death, which is no process and another one for another crash; 0: not even that
	 * is known. detect_fill_pid finds the pid in what was seen of the pane.
	 */
	pid_t pid;
	bool dead;
	int dead_status;		/* -1: unknown, never 0 (T26) */
	int dead_signal;		/* -1: unknown or none */
	int64_t dead_time;		/* seconds since 1970; 0 unknown */
	/* window_activity, seconds since 1970 (session_activity does not move on 3.4, T32) */
	int64_t activity;
	int64_t session_created;
	/*
	 * client_activity of a client whose active pane it is, seconds since 1970, 0: none.
	 * Focus-in, the mouse and entering the pane move it too; a read-only client's and a
	 * control-mode client's send-keys do not (3.3a).
	 */
	int64_t typed;
	int width, height;		/* columns, rows */
	int64_t history_size, history_limit;	/* rows */
	int64_t history_bytes;		/* changes with every row */
	int cursor_x, cursor_y;
	bool alternate;
	bool in_mode;			/* copy mode: keys are eaten (T14) */
	int64_t scrolled;		/* rows that copy mode shows above the last screen */
	char *version;			/* the server's */
	pid_t reset_pid;		/* process at whose death pane_reset ran; <= 0: never */
	char *kept;			/* file with what it showed before; "" */
	char *remain_on_exit;		/* "on", "off", "failed" */
	/* remain-on-exit-format, expanded: the row in a dead pane */
	char *dead_line;
	/* pane_current_command: when dead derived from the start command (T27), proves nothing */
	char *command;
	char *start_command;		/* for quote_split; from start_list where there is one */
	char *start_list;		/* #{pane_start_command_list}; "" before tmux 3.8 */
	char *start_path;		/* "": unknown */
	/* start_path is the session's, since tmux 3.2 tells no pane's; a pane may have begun elsewhere */
	bool start_guessed;
	char *path;			/* pane_current_path; empty when dead (T27) */
	char *tty;
	char *title;			/* set by what runs there */
	char *window_name;
	char *default_shell;
	/* where it stands, for a workspace (workspace/workspace.h) */
	int window_index, index;	/* as users see them: session:window_index.index */
	bool active, window_active, window_last, zoomed;
	bool automatic_rename;
	char *layout;			/* of the window, as select-layout takes it; not the zoomed one */
	char *session_group;		/* "" when it is in none */
	char *default_command;
	char *place;			/* PANE_PLACE, "" when it has none */
	char *filled;			/* PANE_FILLED, "" */
	char *window_made, *session_made;	/* WINDOW_MADE, SESSION_MADE, "" */
	char **env;			/* the session's, n_env times "K=V"; may hold secrets */
	size_t n_env;
};

struct panes {
	struct pane *v;
	size_t n, cap;
};

/*
 * Appends all panes. While a dead one lacks both status and signal, for about a second, another
 * child is made to end (`run-shell -b true`) and the list is read again: tmux 3.3a loses the exit
 * status of one dead pane in seven until then (T26).
 */
int pane_list(struct tmux *t, struct panes *out, struct err *e);
/* Without the sessions' environments: one tmux process, unless it waits for a child's end. */
int pane_list_bare(struct tmux *t, struct panes *out, struct err *e);
/* Environments of panes `first` on, all of this server; at most one tmux process. */
int pane_list_environ(struct tmux *t, struct panes *list, size_t first, struct err *e);
/* The same pane by id and server, without its environment; "gone": pane or server is another. */
int pane_reread(struct tmux *t, const struct pane *was, struct pane *now, struct err *e);
/*
 * How and when a pane died, and its dead_line, from the row that tmux 3.2 writes into it, which tells
 * the time by the server's clock on the wall: "Pane is dead (signal 9, Mon Nov 23 09:10:11 2026)".
 * Another row changes nothing.
 */
void pane_read_dead_row(struct pane *p, const char *row, size_t n);
/* A condition for `if-shell -F -t ID`: true on the pane's own server only (T6). */
void pane_guard(struct buf *out, const struct pane *p);

/*
 * tmux before 3.5: a dead pane ends its server, with every session, when a client begins or ceases
 * to look at it (attach, detach, switch-client) and its program had asked for focus reports (DECSET
 * 1004; Claude Code does): tmux writes them to a pane without a terminal. Measured on 3.3a, both
 * screens, focus-events on and off; from 3.3 (commit 2bb0b9d6c) to 3.5 (424f13fe1). tmux does not
 * show which pane has asked. An unknown version counts as faulty.
 *
 * send-keys -R takes the mode back, and the visible rows with it: on the main screen into the
 * history, on the alternate one for good.
 */
bool pane_has_fault(const struct pane *p);	/* dead or not: its server has the fault */
/*
 * tmux 3.3 to 3.5 may miss the end of a pane's process, and not run pane-died, until another child
 * ends or SIGCHLD comes. An unknown version counts.
 */
bool pane_may_miss_death(const struct pane *p);
/*
 * tmux 3.7 and later paste control characters as text ("^C") unless paste-buffer has -S, which earlier
 * ones do not know. An unknown version counts as later.
 */
bool pane_cleans_paste(const struct pane *p);
bool pane_exposed(const struct pane *p);	/* dead, on such a server, and not reset */
/*
 * Resets a dead pane, once for each death, and shows its last rows again if they are in the
 * history. `kept`, a file with all that it shows, must be durable before. Prints PANE_WAS_RESET;
 * something else when the pane is another by now, or already reset.
 */
#define PANE_WAS_RESET "reset"
size_t pane_reset(struct tmux_batch *b, const struct pane *p, const char *kept);
/* The pane lost what its process left, but the file p->kept holds it. */
bool pane_is_reset(const struct pane *p);
void pane_release(struct pane *p);
/* The pane of that id if it is its session's only one, so that the session's name means it; else NULL. */
const struct pane *pane_list_only(const struct panes *all, const char *id);
void pane_list_release(struct panes *p);

/*
 * Pane option: the panes in whose place this one was made, each "SERVER_PID:SERVER_START:%ID",
 * parted by blanks, the newest first. A pane that is made again takes the list of the one before
 * over, so that one agent has one place, however often its server ends.
 */
#define PANE_PLACE "@gt-recover-place"
/* One of them; heap. */
char *pane_place(pid_t server_pid, int64_t server_start, const char *id);
/* It, and those that are older (NULL: none), each once, 16 at most; the last one stays. Heap. */
char *pane_place_add(const char *place, const char *older);
/* The pane itself, then its PANE_PLACE; heap. */
char *pane_places(const struct pane *p);
/* The lists have a pane in common. */
bool pane_place_is_same(const char *a, const char *b);
/* Takes the first one off the list. False: it is none. *pane_id is heap. */
bool pane_place_read(const char **places, pid_t *server_pid, int64_t *server_start, char **pane_id);
/* Option of such a pane: a recovery has started its agent in it. */
#define PANE_FILLED "@gt-recover-filled"
/* Options of a window and a session that were made again and are not complete yet. */
#define WINDOW_MADE "@gt-recover-window-made"
#define SESSION_MADE "@gt-recover-session-made"

/* Of the session's environment (borrowed), or NULL. */
const char *pane_env(const struct pane *p, const char *name);

/* ---- quote ---- */

/*
 * Appends an argument in tmux's command language: single quotes (nothing is expanded there), a
 * newline as "\n" in double quotes: after a raw one in quotes tmux drops blanks (3.3a). Formats
 * (#{…}, #(…)) are not quoted: see quote_format.
 */
void quote_arg(struct buf *out, const char *arg);

/*
 * Appends text with every # doubled, for arguments that tmux expands as a format (respawn-pane -c;
 * T3), and an empty format between # and [.
 */
void quote_format(struct buf *out, const char *text);

/*
 * Appends the name whose stored form (#{session_name}) this is: tmux keeps a backslash and control
 * characters as vis(3) escapes, and would escape them again (T1).
 */
void quote_stored(struct buf *out, const char *stored);

/*
 * Removes, in place, the backslash that tmux 3.4 prints before each $ with a letter, _ or { behind
 * it. Returns the new length.
 */
size_t quote_undo_dollars(char *text, size_t n);

/* In the syntax of sh. */
void quote_sh(struct buf *out, const char *arg);

/*
 * The arguments of #{pane_start_command}, which tmux prints by args_escape: double, single or no
 * quotes, vis(3) escapes inside. Their number, *argv heap (quote_free); -1: not of that form.
 */
int quote_split(const char *text, char ***argv);
/*
 * Appends the arguments of #{pane_start_command_list} (tmux 3.8: each in single quotes of sh) in a
 * form that quote_split takes.
 */
void quote_list(struct buf *out, const char *list);
void quote_free(char **argv, int argc);

#endif
