#ifndef TRANSCRIPT_LOCATE_LOCATE_H
#define TRANSCRIPT_LOCATE_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "transcript/locate/locate_private.h"
#include "transcript/transcript.h"

struct err;
struct launch;
struct profile;
struct scrub;

/* ---- claude_folder ---- */

/*
 * Where Claude Code keeps a conversation: <config>/projects/<slug>/<session id>.jsonl. The slug
 * is the real path of the working directory with every UTF-16 unit that is no ASCII letter or
 * digit turned into "-". Since 2.1.197 (not in 2.1.37) one that is longer than 200 is cut there,
 * and "-" and a hash of the path follow: h = 31 h + unit in 32 bits with a sign, its amount in
 * base 36 (seen: a path of 250).
 */

/* The project folder of a directory, heap; NULL when there is none. */
char *transcript_folder(const char *config_dir, const char *cwd);
/* Path of a session's transcript, heap; NULL when no such file exists. */
char *transcript_path(const char *config_dir, const char *cwd, const char *session_id);
/*
 * True for the form that session ids have: a UUID. Files of sub-agents (agent-….jsonl, beside the
 * sessions in 2.0.76) have another.
 */
#define TRANSCRIPT_ID_CHARS 36
bool transcript_is_id(const char *text);

/* ---- find ---- */

/* By which source a transcript was found, the most trusted first. */
enum found {
	FOUND_NONE,
	FOUND_RECORD,		/* the agent's own record of the process */
	FOUND_SNAPSHOT,		/* a snapshot of the process says which it was */
	FOUND_COMMAND,		/* the start command names the session */
	FOUND_WORKTREE,		/* .runtime/session_id of the working directory */
	FOUND_TOWN,		/* Gas Town's note of the start */
	FOUND_FAREWELL,		/* "claude --resume ID", the agent's last words on the screen */
	FOUND_FOLDER,		/* the only one of the project folder that can be this one's */
	/* one of its directory, and its words stand on the screen (transcript/locate/locate.h) */
	FOUND_SHOWN,
	FOUND_AMBIGUOUS		/* several could be: none is taken */
};
const char *transcript_found_name(enum found f);  /* "record", "snapshot", "command", "worktree", "town",
						     "farewell", "folder", "screen", "ambiguous", "none" */

/* What is known of a process whose transcript is looked for. All is borrowed; NULL and 0 are "not known". */
struct transcript_hints {
	const char *config_dir;		/* ~/.claude of that process */
	const char *cwd;
	const char *record_cwd;		/* where its record says that it works */
	const char *id[FOUND_FOLDER];	/* a session's id by source, FOUND_RECORD to FOUND_FAREWELL */
	/* ids that other processes have by their records: of no use for the sources that may be stale */
	const char *const *held;
	size_t n_held;
	/* ids of records one of which is this process's: no others are looked at in the folder */
	const char *const *suspects;
	size_t n_suspects;
	/* ms since 1970; it wrote nothing before began; ended 0: it lives or nobody knows */
	int64_t began, ended;
	/* what stands on the screen; NULL: nothing that could be compared */
	const struct fingerprint *fingerprint;
	/* when that was seen, ms since 1970; what began later cannot stand there. 0: at the end */
	int64_t screen_at;
};

struct transcript_found {
	enum found how;
	char *path;			/* heap; NULL for FOUND_NONE and FOUND_AMBIGUOUS */
	char *session_id;		/* heap; NULL likewise */
	size_t rivals;			/* FOUND_AMBIGUOUS: how many could be this one's */
};

/*
 * The record's word stands. An id of any other source counts when its file is there and what is
 * on the screen does not speak against it: none of the messages there stands in the file, or
 * another file that this process may have written has newer ones of them (/clear begins a new
 * file, and the start command does not know). In the folder what others hold and what was not
 * written to in the life of the process is left out; of several the one that has all messages of
 * the screen that any has is taken, and nothing else; where none has any, the only one that began
 * after the screen was seen. -1: a folder cannot be read (name "transcript").
 */
int transcript_find(const struct transcript_hints *h, struct transcript_found *out, struct err *e);
void transcript_found_release(struct transcript_found *f);

/* ---- new_transcript ---- */

/*
 * A conversation known by its beginning alone: an agent was started, heard something, and was
 * gone before anybody had noted which file it writes. A fresh start begins a new file.
 */

/*
 * When the conversation of a transcript began, ms since 1970: the first time in its first 64 KiB.
 * 0: there is none, or it cannot be read.
 */
int64_t transcript_began_at(const char *path);

/*
 * The only transcript of the directory's project folder that began at or after `since`, those
 * left out whose ids are in `held` (borrowed). Its path, heap; NULL when there is none, or
 * several.
 */
char *transcript_find_new(
    const char *config_dir, const char *cwd, int64_t since, const char *const *held, size_t n_held);

/* ---- session_locate ---- */

/*
 * How one comes from a process, a terminal or a directory to the session file of an agent other
 * than Claude Code (whose way is transcript/locate/locate.h). Each format has one line in the table
 * of transcript/locate/session_locate.c: where below the agent's own folder its sessions lie and
 * what each says of itself. Seen by running them:
 *
 * 	codex 0.169.0   /proc/PID/fd of a living one that runs without its background server; else
 * 	directory and time
 * 	gemini 0.61.0	--session-id or --resume of its command; else directory (projects.json) and time
 * 	opencode 1.18.33	the rows of its database by directory and time; --session of its command
 * 	copilot 1.0.102	inuse.PID.lock beside the file, which a kill leaves; else directory and time
 * 	qwen 0.15.10	--session-id or --resume of its command; else directory and time
 * 	auggie 0.36.0	"terminalId", the pane's terminal
 * 	cline 3.0.65	"pid" in its own note of the session
 * 	pi 0.74.2	directory and time
 *
 * Reads only. What was not written to in the life of the process is never its own. A file is
 * looked into up to its first line, or, where it is one JSON value, up to 64 MiB.
 */
struct locate_hints {
	const char *format;		/* the row's transcript: "codex" */
	const char *folder;		/* the agent's own: "/home/x/.codex" */
	const char *cwd;
	const char *tty;		/* the pane's; "" or NULL: not known */
	pid_t pid;			/* the agent's, or of a dead pane the pane's; 0: not known */
	bool lives;
	const struct launch *launch;	/* its start command, may name the session; NULL: not known */
	const char *snapshot_id;	/* the session that a snapshot of the process names; NULL: none */
	int64_t began, ended;		/* ms since 1970: as in struct transcript_hints */
	/*
	 * Of several of one directory that one is taken whose last words of the person stand on
	 * the screen. NULL: nothing to compare.
	 */
	const char *screen;
	struct scrub *scrub;
};

/*
 * FOUND_SHOWN: one of the directory, borne out by the screen; FOUND_FOLDER: the only one, and
 * nothing bears it out.
 */
void locate_session(const struct locate_hints *h, struct transcript_found *out);

/*
 * True while somebody who has no terminal, a background server, holds one of the sessions of that
 * directory that were written to in this life, and has not ended its turn: codex' server goes on
 * when its screen is dead. Its lock says so (~/.codex/thread-writer-locks).
 */
bool locate_has_server(const struct locate_hints *h);
/*
 * Is the session of that id held by a process that lives? For codex alone; others leave no lock
 * that tells.
 */
bool locate_is_held(const char *format, const char *folder, const char *id);

/* Codex' last turn, by the end of its session file (1 MiB). */
enum last_turn { TURN_UNKNOWN, TURN_RUNS, TURN_OVER };
enum last_turn locate_last_turn(const char *path);

/*
 * Several files hold the session of that id: gemini begins another when it resumes in another
 * minute, and its next start deletes both. What was read of them is kept with the recovery's
 * context before that start.
 */
bool locate_is_split(const char *format, const char *folder, const char *id);

/*
 * Looks for a recovery id in all sessions that changed since then, the farthest answer wins;
 * *path (heap) is that file's or NULL.
 */
void locate_ack(const char *format, const char *folder, const char *recovery_id, int64_t since_ms,
    enum ack *out, char **path);
/* The id of the session in that file, when it was written to since then; heap. NULL: there is none. */
char *locate_session_id(const char *format, const char *folder, const char *path, int64_t since_ms);
/* Are the records of the session of that id there, whenever they were written? */
bool locate_has_session(const char *format, const char *folder, const char *id);

/*
 * A living process has the conversation's id among its arguments, or its own record or lock says
 * so. What cannot be read is another user's. dir: the agent's own folder; NULL: not known.
 */
bool transcript_in_use(const struct profile *p, const char *dir, const char *id);

#endif
