#ifndef CONTEXT_SNAPSHOT_H
#define CONTEXT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct clean_text;
struct err;
struct scrub;
struct style;

/*
 * What a pane showed and who ran there, as it is kept in a file (context/album.h): for a pane whose scrollback was wiped, and for a session
 * that is gone with its server. One JSON object, compact, keys in this order; what is not known is null:
 *
 *	schema_version 1 · taken_at ms since 1970 · richer: the file of an older snapshot of the same process with what this one lost
 *	session · socket: the server's own path of it · server {pid, start}
 *	pane {id, pid, width, height, history_limit, alternate, dead, title} · window {id, name} · agent: profile · role · address: as GT_ROLE has it · cwd · config_dir
 *	process {pid, start: field 22 of /proc/PID/stat}: the agent's; null when it had ended
 *	session_id, transcript: the agent's own record · shell, command: the start command without its secrets, secrets[]: what each
 *	[REDACTED:kind] in it is called (agent/launch_shape.h) · git · bead
 *	rows · cut: older rows had been left out · style: two hex digits a row, marks | bullet << 5 (context/style.h) · text
 *
 * Strings are heap, owned by the struct. Names and paths are as they were found: escape them before printing. text, title, command and git
 * are clean.
 */
struct snapshot {
	int64_t taken_at;
	char *richer;
	char *session, *socket;
	pid_t server_pid;
	int64_t server_start;		/* seconds since 1970 */
	char *pane;			/* "%5" */
	pid_t pane_pid;
	int width, height;
	int64_t history_limit;
	bool alternate, dead;
	char *title, *window_id, *window_name;
	char *agent, *role, *address;
	char *cwd, *config_dir;
	pid_t pid;			/* 0: not known */
	uint64_t pid_start;
	char *session_id, *transcript;
	char *shell, *command;
	char **secrets;
	size_t n_secrets;
	char *git, *bead;
	size_t rows;
	bool cut;
	struct style *style;		/* of the same rows; NULL: none had any */
	struct clean_text *text;
};

#define SNAPSHOT_INIT { .taken_at = 0 }

/* Appends all that is told of the pane, taken_at and richer left out: what is equal for two looks at the same. Without the closing "}". */
void snapshot_body(struct buf *out, const struct snapshot *s);
/* Appends the whole object around a body, which SNAPSHOT_END follows. */
#define SNAPSHOT_END "}\n"
void snapshot_whole(struct buf *out, const char *body, size_t n, int64_t taken_at, const char *richer);

/*
 * Reads it back. A file may have been edited: the text is scrubbed again, which leaves clean text as it is. out need not be initialised and
 * is empty after -1: "json", or "snapshot" for another form or a newer schema_version. `what` names the source in messages.
 */
int snapshot_parse(const char *p, size_t n, const char *what, struct scrub *s, struct snapshot *out, struct err *e);
/* All that stands before the rows, which may be megabytes: rows, style and text are empty. */
int snapshot_parse_head(const char *p, size_t n, const char *what, struct scrub *s, struct snapshot *out, struct err *e);
void snapshot_release(struct snapshot *s);

#endif
