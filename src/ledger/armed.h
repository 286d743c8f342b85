#ifndef LEDGER_ARMED_H
#define LEDGER_ARMED_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct store;

/*
 * What an armed session had set before it was armed: the record arm:<server>:<session id>:<socket>, committed before anything is changed
 * in tmux, so that whoever disarms can put back exactly that, also when the one who armed was killed in between. "" stands for
 * "nothing was set there, it was inherited".
 */
struct armed_pane {
	char *id;			/* "%5" */
	char *remain_on_exit;		/* the pane's own: "", "on", "off", "failed" */
};

struct armed_window {
	char *id;			/* "@4" */
	char *script;			/* what the hook that we added runs in a shell */
	int index;			/* in the array of pane-died */
};

struct armed {
	int64_t version;		/* of the record; 0: there is none */
	char *socket;			/* path, as the server itself calls it */
	int64_t server_pid, server_start;
	char *session_id;		/* "$3": lasts when the session is renamed */
	char *session;			/* its name when it was armed */
	char *history_before;		/* the session's own history-limit: "" or a number; NULL: it was not touched */
	char *history_set;		/* what we set */
	int64_t at;			/* ms since 1970 */
	struct armed_pane *panes;
	size_t n_panes, cap_panes;
	struct armed_window *windows;
	size_t n_windows, cap_windows;
};

struct armed_list {
	struct armed *v;
	size_t n, cap;
};

/* All armed sessions, appended. */
int armed_read(struct store *s, struct armed_list *out, struct err *e);
/* One; 1 found, 0 absent (*out is then empty but for what was asked), -1. Release in any case. */
int armed_load(struct store *s, const char *socket, int64_t server_pid, int64_t server_start, const char *session_id, struct armed *out,
    struct err *e);
/*
 * Commits it, with the event session.armed, expecting the version that it was read with; then version is the new one. Name "conflict",
 * GT_AGAIN: somebody else was faster.
 */
int armed_put(struct store *s, struct armed *a, struct err *e);
/* Deletes it, with the event session.disarmed; why goes into the event. Conflict as above. */
int armed_delete(struct store *s, const struct armed *a, const char *why, struct err *e);

/* NULL when it is not among them. */
struct armed_pane *armed_pane(const struct armed *a, const char *id);
struct armed_window *armed_window(const struct armed *a, const char *id);
/* Takes copies. */
void armed_add_pane(struct armed *a, const char *id, const char *remain_on_exit);
void armed_add_window(struct armed *a, const char *id, const char *script, int index);

void armed_release(struct armed *a);
void armed_list_release(struct armed_list *l);

#endif
