#ifndef AGENT_SESSION_FILE_H
#define AGENT_SESSION_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct procs;

/*
 * Claude Code's own note of a running process: <config>/sessions/<pid>.json (seen in 2.1.197 and 2.1.330, not in 2.1.37
 * and older). It survives kill -9, is removed on a graceful exit, and the next start of any claude deletes the stale ones:
 * read it before a respawn.
 */
struct session_file {
	pid_t pid;
	uint64_t start;		/* procStart: field 22 of /proc/PID/stat; 0 unknown */
	char *session_id;
	char *cwd;
	char *version;
	char *status;		/* "idle", "busy", "waiting", "shell" (idle, and a command of its own runs on); "" unknown */
	char *waiting_for;	/* "permission prompt" (questions too), "dialog open"; "" nothing */
	char *tmux;		/* "session:@win.%pane" (2.1.330); "" unknown */
	int64_t started;	/* startedAt, ms since 1970; 0 unknown */
	int64_t written;	/* when the file changed last, seconds since 1970 */
};

struct session_files {
	struct session_file *v;
	size_t n, cap;
};

/* CLAUDE_CONFIG_DIR when given, else HOME/.claude; heap. Either may be NULL. */
char *session_config_dir(const char *claude_config_dir, const char *home);
/* The same of a living process by its own environment, or by ours where that may not be read. */
char *session_config_dir_of(pid_t pid);

/* True and filled when there is a readable note for pid. Strings are heap. */
bool session_file_read(const char *config_dir, pid_t pid, struct session_file *out);
void session_file_release(struct session_file *s);
/* The note of a process at or below the pane's: a shim may stand above the real one. */
bool session_file_below(const char *config_dir, const struct procs *procs, pid_t pane_pid, struct session_file *out);
/* All notes of a configuration directory, in no order; none when there is no such folder. */
void session_files_read(const char *config_dir, struct session_files *out);
void session_files_release(struct session_files *f);
/* True when it says that its process waits for a person's next words, and shows no dialog. */
bool session_file_idle(const struct session_file *s);
/* True while the process that wrote the note lives: the same pid, started at the same time. */
bool session_file_lives(const struct session_file *s);

/* Whose note a dead process left, as far as it tells. */
enum belongs {
	NOTE_ELSEWHERE,
	NOTE_SAME_PLACE,	/* the same working directory: any pane beside it has that too */
	NOTE_SAME_PANE		/* its tmux field names the pane */
};

struct session_place {
	const char *session, *pane_id, *cwd;
	int64_t server_start;	/* seconds since 1970: an older note is of another server, whose ids were the same (T6) */
};

/* How far a note belongs to a place. */
enum belongs session_file_belongs(const struct session_file *s, const struct session_place *where);

/*
 * The best note of a process that is dead (pid gone, or started at another time), of equal ones the newest. out is filled unless the answer
 * is NOTE_ELSEWHERE.
 */
enum belongs session_file_of_dead(const char *config_dir, const struct session_place *where, struct session_file *out);

#endif
