#ifndef CONTEXT_TRAIL_H
#define CONTEXT_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "context/transcript.h"
#include "context/transcript_find.h"

struct launch;
struct scrub;

/*
 * How one comes from a process, a terminal or a directory to the session file of an agent other than Claude Code (whose way is
 * context/transcript_find.h). Each format has one line in the table of context/trail.c: where below the agent's own folder its sessions
 * lie and what each says of itself. Seen by running them:
 *
 *	codex 0.169.0	/proc/PID/fd of a living one that runs without its background server; else directory and time
 *	gemini 0.61.0	--session-id or --resume of its command; else directory (projects.json) and time
 *	opencode 1.18.33	the rows of its database by directory and time; --session of its command
 *	copilot 1.0.102	inuse.PID.lock beside the file, which a kill leaves; else directory and time
 *	qwen 0.15.10	--session-id or --resume of its command; else directory and time
 *	auggie 0.36.0	"terminalId", the pane's terminal
 *	cline 3.0.65	"pid" in its own note of the session
 *	pi 0.74.2	directory and time
 *
 * Reads only. What was not written to in the life of the process is never its own. A file is looked into up to its first line, or, where
 * it is one JSON value, up to 64 MiB.
 */
struct trail_hints {
	const char *format;		/* the row's transcript: "codex" */
	const char *folder;		/* the agent's own: "/home/x/.codex" */
	const char *cwd;
	const char *tty;		/* the pane's; "" or NULL: not known */
	pid_t pid;			/* the agent's, or of a dead pane the pane's; 0: not known */
	bool lives;
	const struct launch *launch;	/* its start command, may name the session; NULL: not known */
	const char *snapshot_id;	/* the session that a snapshot of the process names; NULL: none */
	int64_t began, ended;		/* ms since 1970: as in struct transcript_hints */
	/* Of several of one directory that one is taken whose last words of the person stand on the screen. NULL: nothing to compare. */
	const char *screen;
	struct scrub *scrub;
};

/* FOUND_SHOWN: one of the directory, borne out by the screen; FOUND_FOLDER: the only one, and nothing bears it out. */
void trail_find(const struct trail_hints *h, struct transcript_found *out);

/*
 * True while somebody who has no terminal, a background server, holds one of the sessions of that directory that were written to in this
 * life, and has not ended its turn: codex' server goes on when its screen is dead. Its lock says so (~/.codex/thread-writer-locks).
 */
bool trail_works_on(const struct trail_hints *h);
/* Is the session of that id held by a process that lives? For codex alone; others leave no lock that tells. */
bool trail_is_held(const char *format, const char *folder, const char *id);

/* Codex' last turn, by the end of its session file (1 MiB). */
enum turn { TURN_UNKNOWN, TURN_RUNS, TURN_OVER };
enum turn trail_turn(const char *path);

/*
 * Several files hold the session of that id: gemini begins another when it resumes in another minute, and its next start deletes both. What
 * was read of them is kept with the recovery's context before that start.
 */
bool trail_is_split(const char *format, const char *folder, const char *id);

/* Looks for a recovery id in all sessions that changed since then, the farthest answer wins; *path (heap) is that file's or NULL. */
void trail_search(const char *format, const char *folder, const char *recovery_id, int64_t since_ms, enum ack *out, char **path);
/* The id of the session in that file, when it was written to since then; heap. NULL: there is none. */
char *trail_id(const char *format, const char *folder, const char *path, int64_t since_ms);
/* Are the records of the session of that id there, whenever they were written? */
bool trail_has(const char *format, const char *folder, const char *id);

#endif
