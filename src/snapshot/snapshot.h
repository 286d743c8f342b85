#ifndef SNAPSHOT_SNAPSHOT_H
#define SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct clean_text;
struct err;
struct json_t;
struct pane;
struct scrub;
struct sgr_rows;
struct snapshot;
struct tmux;
struct tmux_batch;

/* ---- snapshot ---- */

/*
 * What a pane showed and who ran there, kept in a file: for a pane whose scrollback was wiped, and
 * for a session that is gone with its server. One compact JSON object, keys in this order; what is
 * not known is null:
 *
 * 	schema_version 1 · taken_at ms since 1970 · richer: the file of an older snapshot of the same
 * 	process with what this one lost
 * 	session · socket: the server's own path of it · server {pid, start, pid_ns}
 * 	pane {id, pid, width, height, history_limit, alternate, dead, title, place: PANE_PLACE
 * 	(tmux/tmux.h), left out when ""} · window {id, name} ·
 * 	agent: profile · role · address: as GT_ROLE has it · cwd · config_dir
 * 	process {pid, start: field 22 of /proc/PID/stat}: the agent's; null when it had ended
 * 	session_id, transcript: the agent's own record · shell, command: the start command without its
 * 	secrets, secrets[]: what each
 * 	[REDACTED:kind] in it is called (agent/agent.h) · wrapper, left out when 0 · git · bead
 * 	rows · cut: older rows had been left out · style: two hex digits a row, marks | bullet << 5
 * 	(screen/screen.h) · text
 *
 * Strings are heap, owned by the struct. Names and paths are as they were found: escape them
 * before printing. text, title, command and git are clean.
 */
struct snapshot {
	int64_t taken_at;
	char *base_snapshot;
	char *session, *socket;
	pid_t server_pid;
	uint64_t pid_ns;		/* namespace of all its pids (base/timestamp.h); 0: not known */
	int64_t server_start;		/* seconds since 1970 */
	char *pane;			/* "%5" */
	pid_t pane_pid;
	int width, height;
	int64_t history_limit;
	bool alternate, dead;
	char *title, *place, *window_id, *window_name;
	char *agent, *role, *address;
	char *cwd, *config_dir;
	pid_t pid;			/* 0: not known */
	uint64_t pid_start;
	char *session_id, *transcript;
	char *shell, *command;
	char **secrets;
	size_t n_secrets;
	int wrapper;			/* as in struct launch (agent/agent.h) */
	char *git, *bead;
	size_t rows;
	bool cut;
	struct sgr_rows *style;		/* of the same rows; NULL: none had any */
	struct clean_text *text;
};

#define SNAPSHOT_INIT { .taken_at = 0 }

/* Appends all but taken_at and richer: what is equal for two looks at the same. Without the closing "}". */
void snapshot_body(struct buf *out, const struct snapshot *s);
/* Appends the whole object around a body, which SNAPSHOT_END follows. */
#define SNAPSHOT_END "}\n"
void snapshot_whole(struct buf *out, const char *body, size_t n, int64_t taken_at, const char *richer);

/*
 * Reads it back. A file may have been edited: the text is scrubbed again. out need not be
 * initialised and is empty after -1: "json", or "snapshot" for another form or a newer
 * schema_version. `what` names the source in messages.
 */
int snapshot_parse(
    const char *p, size_t n, const char *what, struct scrub *s, struct snapshot *out, struct err *e);
void snapshot_release(struct snapshot *s);

/* ---- capture ---- */

/*
 * The pane's scrollback and visible screen as clean text, oldest row first, without blank rows at
 * the end, the row that tmux writes into a dead pane (T30), and what a zombie's shell wrote over
 * the agent's box. Of a dead pane that was reset (tmux/tmux.h) it is what it showed before, from
 * the pane or from the copy. Nothing in tmux changes.
 */
struct capture {
	struct clean_text *text;
	struct sgr_rows *style;	/* of the same rows; NULL: none had any */
	size_t rows;
	bool cut;		/* older rows than max_rows exist and were left out */
	int width;		/* of the pane then, columns */
	/* the pane was reset and its kept copy cannot be read: this is what is left in it */
	bool lost;
};

/*
 * max_rows: of scrollback and screen together. 50,000 rows of history, or a few hundred more than
 * are kept, are read and scrubbed before the cut: above it may stand the head of a secret, or the
 * name by which it is known further down. capture-pane gives N rows of history and the whole screen
 * (T31). Errors: those of tmux_batch_run, or "gone".
 */
int capture_pane(struct tmux *t, const struct pane *p, bool zombie, size_t max_rows, struct scrub *s,
    struct capture *out, struct err *e);
/* The same from capture_command's output, for many panes in one batch. raw is wiped. Pure. */
void capture_text(struct buf *raw, const struct pane *p, bool zombie, size_t max_rows, struct scrub *s,
    struct capture *out);
/* Adds the command to a batch and returns its index. */
size_t capture_command(struct tmux_batch *b, const struct pane *p, size_t max_rows);
/*
 * Of a pane that was reset the last `most` rows of what was kept, not scrubbed again, and how many
 * rows there are in all. False, and text as it was: the pane was not reset or the copy cannot be
 * read.
 */
bool capture_kept(const struct pane *p, size_t most, struct buf *text, size_t *rows);
void capture_release(struct capture *c);

/* ---- index ---- */

/*
 * The directory of snapshots (key snapshot_dir; 0700, files 0600): MS-SESSION-PANE.json, when it
 * was taken and hashes of whose it is, so that no session's name becomes a path and a file need not
 * be opened to know whose it is. Other files there are left alone.
 */
#define SNAPSHOT_KEY 13			/* 12 hex digits and a NUL */
#define SNAPSHOT_NAME 48

struct snapshot_file {
	int64_t at;			/* ms since 1970 */
	char session[SNAPSHOT_KEY], pane[SNAPSHOT_KEY];
	char name[SNAPSHOT_NAME];		/* the file's */
	bool held;			/* something refers to it: it stays */
	bool gone;			/* to be removed */
};

struct snapshot_index {
	char *dir;
	struct snapshot_file *v;		/* the oldest first */
	size_t n, cap;
};

/* A session on a socket (path, as the server calls it), whatever server runs there. */
void snapshot_session_key(char out[SNAPSHOT_KEY], const char *socket, const char *session);
/* A pane of one life of a server. */
void snapshot_pane_key(
    char out[SNAPSHOT_KEY], const char *socket, pid_t server_pid, int64_t server_start, const char *pane);
void snapshot_file_name(char out[SNAPSHOT_NAME], int64_t at, const char *session_key, const char *pane_key);

/* Lists the directory; one that is not there is empty. -1: "read". */
int snapshot_index_read(const char *dir, struct snapshot_index *out, struct err *e);
void snapshot_index_release(struct snapshot_index *a);

/* The newest of a session or a pane (the other key NULL), not newer than `until` (0: any); or NULL. */
const struct snapshot_file *snapshot_index_newest(
    const struct snapshot_index *a, const char *session_key, const char *pane_key, int64_t until);
/* The entry of that file name, or NULL. */
struct snapshot_file *snapshot_index_find(struct snapshot_index *a, const char *name);

/*
 * Retention: of each session the newest `keep` stay, and of these what is not older than age_ms,
 * but the newest of each session always and what is held. Sets `gone`. Pure.
 */
void snapshot_index_expire(struct snapshot_index *a, size_t keep, int64_t age_ms, int64_t now);
/* Then sets `gone` of what is older than age_ms (0: no limit) and not held: of sessions that are gone. */
void snapshot_index_expire_gone(struct snapshot_index *a, int64_t age_ms, int64_t now);
/*
 * Removes what is gone, and the temporary files of killed writers: no other process may be writing.
 * Returns how many snapshots were removed.
 */
size_t snapshot_index_prune(struct snapshot_index *a);

/*
 * Writes a whole snapshot (snapshot_whole) under that name: durable after the snapshot_dir_sync
 * that follows the last one.
 */
int snapshot_file_write(const char *dir, const char *name, const char *p, size_t n, struct err *e);
/* -1: "write". */
int snapshot_dir_sync(const char *dir, struct err *e);
/* Reads one; errors of io_read_private and snapshot_parse. */
int snapshot_file_read(const char *dir, const char *name, struct scrub *s, struct snapshot *out,
    struct err *e);
/* The same without rows, style and text, which may be megabytes to scrub. */
int snapshot_file_read_head(
    const char *dir, const char *name, struct scrub *s, struct snapshot *out, struct err *e);
/* Whether the file holds this body (snapshot_body). False also when it cannot be read. */
bool snapshot_file_equals(const char *dir, const char *name, const char *body, size_t n);
/*
 * How many rows one has, the pid of its pane, and its text (NULL: not asked for), appended. Nothing
 * is scrubbed: the text is not to be shown. False when it cannot be read.
 */
bool snapshot_file_peek(const char *dir, const char *name, size_t *rows, pid_t *pane_pid, struct buf *text);

/* ---- pane_state ---- */

/*
 * What the last pass of `snapshot` saw of each pane of a server, so that an unchanged pane costs
 * nothing: <snapshot_dir>/state-<hash of the socket>.json, 0600. When it is lost or damaged, all
 * panes are captured again.
 *
 * A pane is unchanged when nothing that tmux counts has changed (time of the last output, history
 * in rows and bytes, cursor, size, screen, title, process, death), and the last output was in an
 * earlier second than the look at it: tmux tells seconds.
 */
struct pane_state {
	char *id;			/* "%5" */
	char session[SNAPSHOT_KEY];
	pid_t pid;
	int64_t looked, activity;	/* seconds since 1970 */
	int64_t history_size, history_bytes;
	int cursor_x, cursor_y, width, height;
	bool alternate, dead;
	int64_t dead_time;
	char title[SNAPSHOT_KEY];		/* hash */
	bool agent;			/* an agent's; the rest is 0 and "" for others */
	char *file;			/* its newest snapshot; NULL: none yet */
	char *base_snapshot;			/* what that one refers to */
	size_t bytes;			/* of its text */
	bool here;			/* of this pass; not kept */
};

struct pane_states {
	char *path;
	pid_t server_pid;
	int64_t server_start;
	struct pane_state *v;
	size_t n, cap;
	bool changed;			/* since it was read */
	int64_t written;		/* snapshot_panes_of_server: when the file was, ms since 1970 */
	/* the file tells of an earlier life of the server: that one; 0: it does not */
	pid_t other_pid;
	int64_t other_start;
};

/*
 * What the last pass saw of a life of a server, which may be over
 * (state-<hash>-<server's pid>-<start>.json). False when it is not known. snapshot_panes_release.
 */
bool snapshot_panes_of_server(
    struct pane_states *s, const char *dir, const char *socket_path, pid_t server_pid, int64_t server_start);

/*
 * A file of the state directory beside the snapshots, of schema_version 1 and at most 16 MiB. New
 * reference; NULL when there is none, or not for us.
 */
struct json_t *snapshot_state_read(const char *path);

/* The state of this pane's server; nothing of another life of it. Never fails. */
void snapshot_panes_read(struct pane_states *s, const char *dir, const struct pane *p);
/*
 * Durable; only when something changed or the file is older than PROC_RENEW_MS: its time is the
 * sign of life of the server's agents (process/proc.h). Panes that are not `here` are left out.
 */
int snapshot_panes_write(struct pane_states *s, struct err *e);
void snapshot_panes_release(struct pane_states *s);

/* What is known of a pane, NULL: nothing. */
struct pane_state *snapshot_pane_find(struct pane_states *s, const struct pane *p);
bool snapshot_pane_same(const struct pane_state *was, const struct pane *p);
/*
 * Takes over what the pane is now (looked: when it was listed, seconds; 0: look again). Another
 * process or session begins anew, without file and base_snapshot. Valid until the next.
 */
struct pane_state *snapshot_pane_put(struct pane_states *s, const struct pane *p, int64_t looked);

/* Its snapshots are not there any more, or not its own. */
void snapshot_pane_reset(struct pane_state *x);

/*
 * Sets `held` of what the states in the index's directory refer to. Removes the states of lives
 * that are over and were last written before `before` (ms since 1970).
 */
void snapshot_panes_hold(struct snapshot_index *a, int64_t before);

#endif
