#ifndef REVIVE_HALFDONE_H
#define REVIVE_HALFDONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct activity;
struct candidate;
struct clean_text;
struct conversation;
struct exchange;
struct orphans;
struct scrub;
struct town_list;
struct world;

/*
 * What was half done when the agent died, and what became of it, as warnings with names. halfdone_read is pure: conversation in, list out.
 * halfdone_say looks at files; the processes are given to it. Nothing is changed or ended.
 */
enum half {
	HALF_FILE,		/* Write, Edit, Update, MultiEdit, NotebookEdit, or what other agents call them, without a result */
	HALF_COMMAND,		/* Bash without a result */
	HALF_BACKGROUND,	/* Bash that went on in the background; one of the newest three */
	HALF_AGENTS,		/* sub-agents */
	HALF_PERMISSION,	/* waited for a permission */
	HALF_QUESTION,		/* a question to the person without an answer */
	HALF_PLAN,		/* a plan that nobody had agreed to */
	HALF_CALL		/* any other call without a result */
};

struct halfdone {
	enum half kind;
	const struct exchange *x;	/* borrowed */
};

#define HALFDONE_MAX 5		/* calls, the newest */

struct halfdone_list {
	struct halfdone v[HALFDONE_MAX];
	size_t n;
};

/* Oldest first. What an earlier recovery had told (SOURCE_EARLIER) counts only when that agent ended before it had read it (untold). */
void halfdone_read(const struct conversation *talk, bool untold, struct halfdone_list *out);

/*
 * Writes that the agent's hooks told the beginning of and not the end (ledger/activity.h), and of which the conversation tells nothing:
 * those of sub-agents, or of a screen that was lost. In *talk, which is the caller's, as calls that run, and behind the others in out while
 * there is room. The paths are scrubbed.
 */
void halfdone_add(const struct activity *told, const struct conversation *known, const char *cwd, struct scrub *s,
    struct conversation *talk, struct halfdone_list *out);

struct halfdone_place {
	const char *cwd;		/* paths of a screen are relative to it; NULL: not known */
	int64_t crashed_at;		/* ms since 1970; 0 unknown */
	const struct clean_text *git;	/* git_state's lines; NULL: none */
	const struct orphans *orphans;	/* NULL: nobody looked */
};

/* One line each, clean; appended to out. */
void halfdone_say(const struct halfdone_list *l, const struct halfdone_place *place, struct town_list *out);

/*
 * The whole of it for a candidate: `session_id` is its conversation's id or NULL, `git` git_state's text or NULL. Where /proc cannot be
 * read the warnings say less.
 */
void halfdone_warnings(struct world *w, const struct candidate *c, const struct conversation *talk, bool untold, const char *session_id,
    const struct clean_text *git, struct scrub *s, struct town_list *out);

#endif
