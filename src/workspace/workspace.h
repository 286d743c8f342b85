#ifndef WORKSPACE_WORKSPACE_H
#define WORKSPACE_WORKSPACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct app;
struct buf;
struct err;
struct pane;
struct panes;
struct scrub;
struct tmux;

/*
 * The workspace of a tmux server: its sessions, windows and panes, with names, layouts and
 * directories. A pass of `snapshot` keeps it; after the end of the server, or of a session, it is
 * built again around the agents.
 *
 * One file for each life of a server (pid and start time),
 * <snapshot_dir>/workspace-HASH-PID-START.json, 0600, of each socket the newest WORKSPACE_LIVES:
 *
 * 	schema_version 1 · socket: the server's own path of it · server_pid · server_start: seconds ·
 * 	boot_id · digest: of `now` as it was found, for the comparison · now: the shape at the last
 * 	pass · fullest: the one with the most agents, then panes; absent when that is `now` · before: the
 * 	last one with an agent's pane that `now` has lost; absent: none was lost
 *
 * A shape: at: ms since 1970 · panes, agents: how many · sessions[]: name, as tmux stores it ·
 * group · width, height · default_command · history_limit · windows[]: id · index · name ·
 * automatic_rename · layout · active · last · zoomed · linked: stands in another session too ·
 * panes[]: id · index · title · cwd · command: the name of what ran there · remain_on_exit · active ·
 * agent · place: PANE_PLACE (tmux/tmux.h), null. Names and directories are as they were found: escape
 * them before printing. Titles and names of windows are clean.
 */
#define WORKSPACE_LIVES 5
/* Global option of a server that a hook of tmux-resurrect sets: the end of a restore, s since 1970. */
#define SERVER_RESTORED "@gt-recover-restored"

struct workspace {
	char *path;			/* of its file */
	char *socket;
	pid_t server_pid;
	int64_t server_start;
	json_t *file;			/* all of it */
};

/* ---- shape ---- */

/* The shape of a server by its panes in tmux's order. New reference. */
json_t *workspace_shape(const struct panes *list, int64_t at);

/* The panes of a shape in order, with the window and session of each; all borrowed. */
struct workspace_walk {
	const json_t *shape;
	size_t next[3];			/* session, window, pane */
	json_t *session, *window, *pane;
};

bool workspace_walk_next(struct workspace_walk *k);

/* Marks the pane as an agent's. */
void workspace_mark_agent(json_t *shape, const char *pane_id);
/* Sets what was counted. */
void workspace_count(json_t *shape);

/*
 * The window of the pane p, of the panes `now`, is this window of a shape, made again by somebody else: it
 * has its panes, in their directories, or, where no agent needs one of them, the name that a person gave
 * it. A name that tmux took from what runs there, such as "bash", tells nothing; nor does a pane alone in
 * a window that has another name.
 */
bool workspace_window_is(const json_t *window, const struct panes *now, const struct pane *p);

/* ---- keep ---- */

/*
 * Keeps the shape of the server of p in dir, if it is another than at the last pass; takes the
 * reference. Titles and names of windows are scrubbed by *s, which is made when it is NULL. Durable.
 * The caller holds the directory's lock.
 */
int workspace_keep(
    struct app *w, const char *dir, const struct pane *p, json_t *shape, struct scrub **s, struct err *e);

/*
 * Of that life of a server; server_pid 0: the newest of the socket that is not `but` (NULL: any; a
 * pane of the server that lives now) and holds more than one pane or an agent, or else the newest.
 * False: none is kept. workspace_release in any case.
 */
bool workspace_read(struct app *w, const char *socket_path, pid_t server_pid, int64_t server_start,
    const struct pane *but, struct workspace *out);
void workspace_release(struct workspace *x);

/* The shape at the last pass, borrowed. */
const json_t *workspace_now(const struct workspace *x);
/* The newest of its shapes with a pane of these places (tmux/tmux.h), borrowed; NULL: none. */
const json_t *workspace_shape_with(const struct workspace *x, const char *places);

/*
 * The panes in whose place p stands, as PANE_PLACE lists them: by that option, else by session,
 * window and pane of the newest workspace before this server, where they have the same place, name
 * and directory (a restore by tmux-resurrect). Heap; NULL: none.
 */
char *workspace_origin(struct app *w, const struct pane *p);
/* The same of a pane of its shape: that one first. Heap. */
char *workspace_places(const struct workspace *x, const json_t *pane);

/* ---- end ---- */

/*
 * Why a server ended. A reboot: the boot id is another than the one kept with its shape, or, where no shape
 * was kept, it began before this boot. The other two: the
 * kernel's log names its process (process/oom.h). All else is unclear: tmux leaves nothing that
 * tells its kill-server from a signal or from its own fatal error. A report calls that killed where the
 * log can be read.
 */
enum workspace_end { END_UNCLEAR, END_REBOOT, END_OOM, END_CRASH, END_KILLED };
/* "unclear", "reboot", "oom", "crash", "killed" */
const char *workspace_end_name(enum workspace_end end);
/* Of the ended server of p, never END_KILLED. Reads the kernel's log again. */
enum workspace_end workspace_end(struct app *w, const struct pane *p);
/* The same for people. */
enum workspace_end workspace_end_report(struct app *w, const struct pane *p);

/* ---- open ---- */

/*
 * Others restore, too: with `@continuum-restore on` a new server starts tmux-continuum's restore, which
 * runs the one of tmux-resurrect a second later. Both are processes with the server in their TMUX. A pane
 * whose process began meanwhile, and which stands in the place of an earlier one (workspace_origin), gets
 * PANE_PLACE: what it had is known to be its own.
 */
struct workspace_opened {
	bool started;			/* the server was not there: workspace_close */
	bool left;			/* by an earlier call that was killed: the same */
	bool waited;			/* a restore ran */
	bool changed;			/* panes are known to be restored: detect again */
	bool timed_out;			/* after 15 s it still ran */
};

/*
 * Before a server's panes are looked at: waits for the end of such a restore, and marks its panes.
 * start: where no server runs, one is started, with a session of ours that ends within two minutes if
 * workspace_close does not end it. -1: "no-server", tmux's errors; what follows may go on without.
 */
int workspace_open(
    struct app *w, struct tmux *t, bool start, struct workspace_opened *out, struct err *e);
/* Ends that session, when something else was made, or nothing. */
void workspace_close(struct tmux *t, const struct workspace_opened *o);

/* ---- restore ---- */

struct workspace_result {
	size_t sessions, windows, panes;	/* that were made, or would be */
	size_t agents;				/* of these panes */
	size_t there;				/* panes that stood there already */
	struct buf *lines;			/* one for each session, for people; NULL: not wanted */
};

/* What is built: all. Or what is not NULL here. */
struct workspace_part {
	const char *session;		/* of that session; of a town's role only then */
	/* only these panes, each by its places (tmux/tmux.h), and no more of their windows and sessions */
	const char *const *places;
	size_t n;
	const json_t *shape;		/* by this shape of the workspace, not by the one at the last pass */
};

/*
 * Builds what is missing of the workspace on the server t, which is started if need be: sessions and
 * windows by name and index, panes as shells in their directories, layouts, titles, and in a session
 * that was made the active window and pane. A window gets its layout when it has all of its panes. Of a
 * Gas Town's sessions gt makes those of roles. What stands there is neither changed nor made twice: a pane
 * that was made carries PANE_PLACE, and a window at the same place is taken for itself by
 * workspace_window_is. Run again after an interruption it ends the same; one restore on a socket at a
 * time. dry_run: counts only. -1: tmux's errors, "locked"; what was made stays.
 */
int workspace_restore(struct app *w, struct tmux *t, const struct workspace *x,
    const struct workspace_part *part, bool dry_run, struct workspace_result *out, struct err *e);

#endif
