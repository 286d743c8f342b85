#ifndef CONTEXT_TRANSCRIPT_FIND_H
#define CONTEXT_TRANSCRIPT_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context/said.h"

struct err;

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
	FOUND_SHOWN,		/* one of its directory, and its words stand on the screen (context/trail.h) */
	FOUND_AMBIGUOUS		/* several could be: none is taken */
};
const char *found_name(enum found f);		/* "record", "snapshot", "command", "worktree", "town", "farewell", "folder", "screen", "ambiguous", "none" */

/* What is known of a process whose transcript is looked for. All is borrowed; NULL and 0 are "not known". */
struct transcript_hints {
	const char *config_dir;		/* ~/.claude of that process */
	const char *cwd;
	const char *record_cwd;		/* where its record says that it works */
	const char *id[FOUND_FOLDER];	/* a session's id by source, FOUND_RECORD to FOUND_FAREWELL */
	const char *const *held;	/* ids that other processes have by their records: of no use for the sources that may be stale */
	size_t n_held;
	const char *const *suspects;	/* ids of records one of which is this process's: no others are looked at in the folder */
	size_t n_suspects;
	int64_t began, ended;		/* ms since 1970; it wrote nothing before began; ended 0: it lives or nobody knows */
	const struct said *said;	/* what stands on the screen; NULL: nothing that could be compared */
	int64_t said_at;		/* when that was seen, ms since 1970; what began later cannot stand there. 0: at the end */
};

struct transcript_found {
	enum found how;
	char *path;			/* heap; NULL for FOUND_NONE and FOUND_AMBIGUOUS */
	char *session_id;		/* heap; NULL likewise */
	size_t rivals;			/* FOUND_AMBIGUOUS: how many could be this one's */
};

/*
 * The record's word stands. An id of any other source counts when its file is there and what is on the screen does not speak against it:
 * none of the messages there stands in the file, or another file that this process may have written has newer ones of them (/clear begins a
 * new file, and the start command does not know). In the folder what others hold and what was not written to in the life of the process
 * is left out; of several the one that has all messages of the screen that any has is taken, and nothing else; where none has any, the only
 * one that began after the screen was seen. -1: a folder cannot be read (name "transcript").
 */
int transcript_find(const struct transcript_hints *h, struct transcript_found *out, struct err *e);
void transcript_found_release(struct transcript_found *f);

#endif
