#ifndef TRANSCRIPT_LOCATE_LOCATE_H
#define TRANSCRIPT_LOCATE_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "transcript/transcript.h"

struct err;
struct launch;
struct profile;
struct scrub;

/* ---- fingerprint ---- */

/*
 * What a person said tells one of Claude Code's transcripts from another: the messages on a screen
 * are looked for in the file. A screen wraps text, hides marks of markdown, expands tabs and cuts
 * long messages in their middle, so only letters and digits are compared, and only the beginning
 * of a message. Commands ("/clear", "!ls") have another shape in the file and are ignored.
 */
#define FINGERPRINT_MAX 8

struct fingerprint {
	char *key[FINGERPRINT_MAX];	/* newest first; heap */
	bool open[FINGERPRINT_MAX];	/* the message may go on behind the key */
	size_t n;
};

/* Adds a message, the newest first. False: a command, nothing but signs, or there are enough. */
bool fingerprint_add(struct fingerprint *s, const char *text);
void fingerprint_release(struct fingerprint *s);

/* The bit of key i: of two files the one with the greater mask has the newer message. */
#define FINGERPRINT_BIT(i) (1U << (FINGERPRINT_MAX - 1 - (i)))

struct fingerprint_found {
	unsigned mask;		/* which keys a person's message in the file has */
	bool whole;		/* all of the file was read */
};

/* Reads at most the first MiB and the last 4 MiB of a transcript. -1: it cannot be read. */
int fingerprint_match(const struct fingerprint *s, const char *path, struct fingerprint_found *out);

/* ---- project ---- */

/*
 * Claude Code's transcripts: <config>/projects/<slug>/<session id>.jsonl. The slug is the real
 * path of the working directory with every UTF-16 unit but ASCII letters and digits turned into
 * "-". Since 2.1.197 (not in 2.1.37) a slug of more than 200 is cut there, and "-" and a hash of
 * the path follow: h = 31 h + unit in 32 bits with a sign, its amount in base 36 (seen: a path of
 * 250).
 */

/* The project folder of a directory, heap; NULL when there is none. */
char *transcript_folder(const char *config_dir, const char *cwd);
/*
 * The directory under which an agent's process keeps its conversations: its working directory, or the
 * one that it began in if only that has any. Heap; NULL when it cannot be read. config_dir may be NULL.
 */
char *locate_place(const char *config_dir, pid_t pid);
/* Path of a session's transcript, heap; NULL when no such file exists. */
char *transcript_path(const char *config_dir, const char *cwd, const char *session_id);
/* Is it a UUID, as session ids are? Files of sub-agents (agent-….jsonl in 2.0.76) have other names. */
#define TRANSCRIPT_ID_CHARS 36
bool transcript_is_id(const char *text);

/* By which source a session file was found, the most trusted first. */
enum found {
	FOUND_NONE,
	FOUND_RECORD,		/* the agent's own record of the process */
	FOUND_SNAPSHOT,		/* a snapshot of the process says which it was */
	FOUND_COMMAND,		/* the start command names the session */
	FOUND_WORKTREE,		/* .runtime/session_id of the working directory */
	FOUND_TOWN,		/* Gas Town's note of the start */
	FOUND_FAREWELL,		/* "claude --resume ID", the agent's last words on the screen */
	FOUND_FOLDER,		/* the only one of the directory that can be this one's */
	FOUND_SHOWN,		/* one of the directory, and its words stand on the screen */
	FOUND_AMBIGUOUS,	/* several could be it: none is taken */
	FOUND_CHOSEN		/* a person said which it is */
};
const char *transcript_found_name(enum found f);  /* "record", "snapshot", "command", "worktree", "town",
						     "farewell", "folder", "screen", "ambiguous", "chosen",
						     "none" */

/* A session that could be the one. */
struct found_rival {
	char *path, *session_id;	/* heap */
	int64_t written;		/* ms since 1970 */
};

struct transcript_found {
	enum found how;
	char *path;			/* heap; NULL for FOUND_NONE and FOUND_AMBIGUOUS */
	char *session_id;		/* heap; NULL likewise */
	struct found_rival *rival;	/* FOUND_AMBIGUOUS: all that could be this one's */
	size_t rivals;
};

void transcript_found_release(struct transcript_found *f);
/* Was it begun by a program (`claude -p`), not at a terminal? Of Claude Code; false when it does not say. */
bool transcript_is_headless(const char *path);

/*
 * When the conversation of a transcript began, ms since 1970: the first time in its first 64 KiB.
 * 0: there is none, or it cannot be read.
 */
int64_t transcript_began_at(const char *path);

/*
 * The newest conversation of a teammate: Claude Code (2.1.330) writes `teamName` and `agentName`
 * into its records, and keeps no pid file of it. Its id, heap; NULL: there is none.
 */
char *locate_teammate(const char *config_dir, const char *cwd, const char *team, const char *name);

/* ---- session_locate ---- */

/*
 * From a process, a terminal or a directory to the session file. Each format has a row in the
 * table of transcript/locate/session_locate.c: where below the agent's own folder its sessions
 * lie, what each says of itself, and which evidence counts. Seen by running them:
 *
 * 	claude 2.1.330	ids (below), then the directory's folder: names, times and the screen
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
 * Reads only. What was not written to in the life of the process is never its own. Of agents
 * other than Claude Code a file is looked into up to its first line, or, where it is one JSON
 * value, up to 64 MiB.
 *
 * What is known of the process: all is borrowed; NULL and 0 are "not known".
 */
struct locate_hints {
	const char *format;		/* the row's transcript: "codex" */
	const char *folder;		/* the agent's own: "/home/x/.codex" */
	const char *cwd;
	/* ms since 1970; it wrote nothing before began; ended 0: it lives, or not known */
	int64_t began, ended;
	/* a session's id by source, FOUND_RECORD to FOUND_FAREWELL; of other agents FOUND_SNAPSHOT's */
	const char *id[FOUND_FOLDER];

	/* Claude Code's */
	const char *record_cwd;		/* where its record says that it works */
	/* ids that other processes have by their records: of no use for the sources that may be stale */
	const char *const *held;
	size_t n_held;
	/* ids of records one of which is this process's: no others are looked at in the folder */
	const char *const *suspects;
	size_t n_suspects;
	/* what stands on the screen; NULL: nothing that could be compared */
	const struct fingerprint *fingerprint;
	/* when that was seen, ms since 1970; what began later cannot stand there. 0: at the end */
	int64_t screen_at;

	/* the others' */
	const char *tty;		/* the pane's; "" likewise */
	pid_t pid;			/* the agent's, or of a dead pane the pane's */
	bool lives;
	const struct launch *launch;	/* its start command, may name the session */
	/*
	 * Of several of one directory that one is taken whose last words of the person stand on
	 * the screen.
	 */
	const char *screen;
	struct scrub *scrub;
};

/*
 * The sources of `enum found` in their order; the first that leads to a file wins. FOUND_SHOWN:
 * one of the directory, borne out by the screen; FOUND_FOLDER: the only one, and nothing bears it
 * out. -1: a folder cannot be read (name "transcript").
 *
 * Claude Code's record stands. An id of any other source counts when its file is there and what is
 * on the screen does not speak against it: none of the messages there stands in the file, or
 * another file that this process may have written has newer ones of them (/clear begins a new
 * file, and the start command does not know). In the folder what others hold and what was not
 * written to in the life of the process is left out; of several the one that has all messages of
 * the screen that any has is taken, and nothing else; where none has any, the only one that began
 * after the screen was seen.
 */
int locate_session(const struct locate_hints *h, struct transcript_found *out, struct err *e);

/*
 * The only session of the directory that began at or after `since`, those left out whose ids are
 * in `held` (borrowed): a fresh start begins a new file. Its path, heap; NULL when there is none,
 * or several, or when the format's names do not tell sessions apart.
 */
char *locate_new(const char *format, const char *folder, const char *cwd, int64_t since,
    const char *const *held, size_t n_held);

/*
 * Does a background server (a process without a terminal) hold one of the sessions of that
 * directory that were written to in this life, with its turn not over? codex' server goes on when
 * its screen is dead. Its lock says so (~/.codex/thread-writer-locks).
 */
bool locate_has_server(const struct locate_hints *h);
/* Does a living process hold the session of that id? False for all but codex, which keeps locks. */
bool locate_is_held(const char *format, const char *folder, const char *id);

/*
 * Do several files hold the session of that id? gemini begins another when it resumes in another
 * minute, and its next start deletes both.
 */
bool locate_is_split(const char *format, const char *folder, const char *id);

/*
 * Looks for a recovery id in all sessions that changed since then, of Claude Code in those of the
 * directory; the farthest answer wins. *path (heap) is that file's or NULL. ACK_NONE for a format
 * that has no sessions.
 */
void locate_ack(const char *format, const char *folder, const char *cwd, const char *recovery_id,
    int64_t since_ms, enum ack *out, char **path);
/*
 * The id of the session in that file, when it was written to since then (of Claude Code at any
 * time, its name tells); heap. NULL: there is none.
 */
char *locate_session_id(const char *format, const char *folder, const char *path, int64_t since_ms);
/*
 * Are the records of the session of that id there, whenever they were written? Of Claude Code
 * those of that directory.
 */
bool locate_has_session(const char *format, const char *folder, const char *cwd, const char *id);
/*
 * transcript_exit_kind of a session: of Claude Code by its id and directory, of the others by the
 * path. What of it is NULL is not known.
 */
enum exit_kind locate_exit_kind(
    const char *format, const char *folder, const char *cwd, const char *id, const char *path);

/*
 * The sessions below an agent's folder that were written to since then, of all directories, the
 * newest first and at most `most`. None for a format that keeps none. Release in any case.
 */
struct past_session {
	char *id, *path;		/* path as transcript_read takes it */
	char *cwd;			/* NULL: it does not say */
	int64_t written;		/* ms since 1970 */
};

struct past_sessions {
	struct past_session *v;
	size_t n;
};

void transcript_past(
    const char *format, const char *folder, int64_t since, size_t most, struct past_sessions *out);
void transcript_past_release(struct past_sessions *p);

/*
 * Has a living process the session? Its arguments name the id, or its record or lock does. True
 * when processes cannot be listed. dir: the agent's own folder; NULL: not known.
 */
bool transcript_in_use(const struct profile *p, const char *dir, const char *id);

#endif
