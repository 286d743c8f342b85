#ifndef TOWN_START_NOTE_H
#define TOWN_START_NOTE_H

#include <stdint.h>

struct role_name;
struct town;

/*
 * What Gas Town wrote down when an agent's conversation began: `gt prime` in the agent's SessionStart hook puts the conversation's id into
 * <cwd>/.runtime/session_id (first line), and a line of type session_start into <town>/.events.jsonl. Both are overwritten or followed by
 * the next start in that place, so only those of the life of a process are its own.
 */
struct life {
	int64_t began, ended;	/* ms since 1970; 0: not known */
};

/* The id, heap and foreign; NULL when there is none of that life. */
char *start_note_worktree(const char *cwd, const struct life *life);
/*
 * The newest of the town's events (its last 4 MiB) that this role wrote, or, where the actor is none that we know, one in this directory.
 * `role` may be ROLE_PLAIN, `cwd` NULL.
 */
char *start_note_event(const struct town *t, const struct role_name *role, const char *cwd, const struct life *life);

#endif
