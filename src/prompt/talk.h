#ifndef PROMPT_TALK_H
#define PROMPT_TALK_H

#include <stddef.h>

#include "prompt/cut.h"

struct buf;
struct conversation;

/*
 * A conversation as text for a reader, within a budget. Pure. What it appends is ready for fence_wrap.
 *
 *	User:
 *	  words
 *
 *	Tool Bash (still running when the session died): make all
 *	Result:
 *	  what it printed
 *
 * Headings stand at column 0 and everything foreign at column 2, so that no text can pass for a heading. A source is named in
 * the headings ("User [screen]:") when the conversation comes from more than one. The unsent draft, the open question and the
 * task list follow as sections of their own. A conversation of one system exchange is text that nobody could take apart: its
 * newest lines stand as they are, under a heading that says so.
 *
 * What does not fit gives way in this order (share.h tells how):
 * 1. calls, and what the agent said, before the last turn: big and old ones lose their middle ("… 812 lines left out …"), the
 *    oldest go whole. Words stand longer than calls.
 * 2. the same in the last turn, which begins with the last message of the user;
 * 3. the user's older messages: giants lose their middle, then the oldest go;
 * 4. the core loses its middle and never goes: the newest exchange, the last message of the user, calls without an answer and
 *    words that were cut off, draft, question and tasks. (Of very many only the newest, as many as half of the room can hold.)
 * A line in the place of what was left out says how many exchanges it were, and how many of them the user's.
 */

#define TALK_LEAST ((size_t)42000)	/* cost of the smallest room; with less nothing useful fits */

struct talk_stats {
	size_t kept, cut;		/* exchanges */
	size_t user_cut;		/* of those cut: messages of the user */
	size_t calls_short, words_short, user_short;	/* kept without their middle: calls; words of others; messages of the user */
	size_t lines_cut;		/* of all that was left out */
	size_t tokens_cut;		/* about, by size (R85) */
};

/* What is appended takes at most the room; of lines 32 at least. Nothing is appended for an empty conversation. */
void talk_text(struct buf *out, const struct conversation *c, const char *nonce, struct room room, struct talk_stats *stats);

#endif
