#ifndef REVIVE_RESUME_H
#define REVIVE_RESUME_H

#include <stdbool.h>
#include <stddef.h>

#include "context/transcript_find.h"
#include "context/transcript_stand.h"

struct candidate;
struct err;
struct gathered;
struct profile;
struct world;

/*
 * May the agent go on with its own conversation (`claude --resume ID`) instead of being started afresh with what was gathered? Only when nothing
 * speaks against it; starting afresh always works. Each reason has a name and a sentence, one line of the table in resume.c each, in the order of
 * the facts below.
 */
struct resume_facts {
	bool has_flag;			/* the profile names one, and its transcripts can be read */
	bool can_tell;			/* by its standard input or a paste: not one that lives already, or that gt starts */
	bool clear;			/* the start command is understood for certain (launch_resumed) */
	bool tried;			/* the newest attempt here resumed, and its agent did not take up what it was told */
	bool untold;			/* an earlier recovery was never read: its context stands in no transcript of this conversation */
	bool gone;			/* the dead agent's own record names a conversation, and another file or none was found */
	enum found how;
	bool in_place;			/* the file lies in the project folder of the agent's directory, below its own configuration */
	bool in_use;			/* another process goes on with it */
	bool moved_on;			/* it was written to after the death */
	bool split;			/* it stands in more than one file (gemini after a resume) */
	enum stand stand;
	size_t tokens, most_tokens;
};

struct resume_no {
	const char *name;		/* "stale", "foreign", "in-use", … */
	const char *sentence;
};

/* Pure. NULL: yes. */
const struct resume_no *resume_judge(const struct resume_facts *f);

/*
 * A living process has the conversation's id among its arguments, or its own record or lock says so. What cannot be read is another user's.
 * dir: the agent's own folder; NULL: not known.
 */
bool resume_in_use(const struct profile *p, const char *dir, const char *id);
/* Is the id one that may stand in a command, and are the records there that the agent would go on with? */
bool resume_is_there(const struct profile *p, const char *dir, const char *cwd, const char *id);

/* What is known of a candidate, whose context was gathered. Reads the transcript, /proc, the records beside it and the store; changes nothing. */
void resume_look(struct world *w, const struct candidate *c, const struct gathered *g, struct resume_facts *out);

struct resume_ask {
	const char *via;		/* "auto", "resume", "inject" */
	const char *recovery_id;
	bool held;			/* another gt-recover is at work on the conversation */
	/* answers */
	bool resumed;
	const struct resume_no *no;	/* why not; NULL: it is, or nobody asked for it */
};

/*
 * Judges and writes out->prompt: the nudge (gather_nudge) for an agent that goes on with its conversation, else what one is told that is started
 * afresh.
 */
int resume_prompt(struct world *w, const struct candidate *c, struct resume_ask *ask, struct gathered *out, struct err *e);

#endif
