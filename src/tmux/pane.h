#ifndef TMUX_PANE_H
#define TMUX_PANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct clean_text;
struct buf;
struct err;
struct tmux;

/*
 * The inventory of one server: all panes, from one tmux process. A pane is (socket, server pid and start time, %id): names are
 * matched by prefix and rewritten by tmux (T1, T4, T5), ids begin again at %0 on a new server (T6).
 * Strings are heap, owned by the struct; foreign, so escape them before printing. start_command may hold secrets.
 */
struct pane {
	char *socket;			/* name or path that we called it by */
	char *socket_path;		/* as the server itself calls it: the same by whatever name it was reached */
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
	int64_t activity;		/* window_activity, seconds (session_activity stands still on 3.4, T32) */
	int64_t session_created;
	int attached;			/* clients that look at the session */
	int width, height;		/* columns, rows */
	int64_t history_size, history_limit;	/* rows */
	int64_t history_bytes;		/* that tmux holds for them: changes with every row */
	int cursor_x, cursor_y;
	bool alternate;
	bool in_mode;			/* copy mode: keys are eaten (T14) */
	char *remain_on_exit;		/* "on", "off", "failed" */
	char *dead_line;		/* the row that tmux writes into a dead pane (remain-on-exit-format), expanded */
	char *command;			/* pane_current_command: of a dead pane derived from the start command (T27), proves nothing */
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
 * All panes of the server, appended to out. When a dead pane lacks both status and signal, another child is made to end
 * first (`run-shell -b true`) and the list is read again, for at most about a second: tmux 3.3a loses the exit status of one
 * dead pane in seven until then (T26). A child's end that stays unknown stays unknown.
 */
int panes_list(struct tmux *t, struct panes *out, struct err *e);
/* The same without the sessions' environments: one tmux process, unless a child's end has to be waited for. */
int panes_look(struct tmux *t, struct panes *out, struct err *e);
/* The environments of panes `first` and behind, which must be this server's; one tmux process, none when there are no such panes. */
int panes_environ(struct tmux *t, struct panes *list, size_t first, struct err *e);
/* The same pane again, by id and server identity, without its environment; name "gone" when pane or server is another. */
int pane_again(struct tmux *t, const struct pane *was, struct pane *now, struct err *e);
/*
 * A condition for `if-shell -F -t ID` in the batch that changes something: true on the pane's own server only. Another
 * server on the same socket counts its panes from %0 again (T6).
 */
void pane_guard(struct buf *out, const struct pane *p);
void pane_release(struct pane *p);
void panes_release(struct panes *p);

/* A variable of the session's environment (borrowed), or NULL. */
const char *pane_env(const struct pane *p, const char *name);

#endif
