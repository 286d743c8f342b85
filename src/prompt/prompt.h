#ifndef PROMPT_PROMPT_H
#define PROMPT_PROMPT_H

#include <stddef.h>

#include "prompt/talk.h"

struct bead;
struct buf;
struct clean_text;
struct conversation;
struct err;
struct template;

/*
 * From context to the bytes that the agent is told. Pure: no clock, no files, no randomness (nonce and id come in).
 *
 * What holds for every prompt, whatever the template of the user says:
 * - it starts with a letter or digit (Claude Code takes a leading "!" as a shell command, "/" as a slash command, "#" and "@" in
 *   their ways): white space in front is cut, and before anything else a plain sentence is put;
 * - it is UTF-8 without control characters but \n and \t, and ends in one newline;
 * - foreign text (conversation, scrollback, bead, git, checkpoint, last words) stands in a fence that belongs to the field's
 *   value (fence.h);
 * - no "@" in it attaches a file (fence.h tells how and what was measured), in the template's own words neither;
 * - prompt_find_id finds its recovery id in it, and no other: when the template does not print it, a line at the end does;
 * - it says "continue working now": when the template does not, a line at the end does. A Stop hook of Gas Town submits half-
 *   done work when the agent merely answers;
 * - it has at most max_tokens tokens as tokens.h estimates them, and at most max_lines lines of conversation or of scrollback, whichever
 *   is reached first (talk.h tells what goes first).
 */
struct prompt_in {
	const char *recovery_id;		/* "gtr-" and 16 hex digits */
	const char *nonce;			/* 16 hex digits */
	const char *session;			/* name; made safe here. NULL: not known */
	const char *crash_reason;		/* "killed (signal 9)", …; NULL: not known */
	const struct conversation *talk;	/* may be empty or NULL */
	const struct clean_text *scrollback;	/* raw text, for templates that use {{.Scrollback}}; may be NULL */
	const struct bead *bead;		/* may be NULL */
	const struct clean_text *checkpoint;	/* may be NULL */
	const struct clean_text *git;		/* may be NULL */
	const char *const *warnings;		/* our own sentences, foreign parts already clean */
	size_t n_warnings;
	size_t max_lines;			/* max_context_lines */
	size_t max_tokens;			/* max_context_tokens */
};

struct prompt_stats {
	size_t tokens;			/* estimate for the whole prompt */
	struct talk_stats talk;		/* what the budget left of the conversation, and what it cut */
	size_t scrollback_cut;		/* lines of the raw scrollback that were left out */
};

#define PROMPT_ID ((size_t)20)		/* bytes of a recovery id */

/*
 * Appends the prompt. `stats` may be NULL. -1 with err (GT_USAGE): name "budget" when the template's own words leave no room for
 * the conversation.
 */
int prompt_build(const struct template *t, const struct prompt_in *in, struct buf *out, struct prompt_stats *stats, struct err *e);

/*
 * The first recovery id inside a text ("gtr-" + 16 lower-case hex digits, no word character at either side); NULL when there is
 * none. Points into the text.
 */
const char *prompt_find_id(const char *p, size_t n);

#endif
