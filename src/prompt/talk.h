#ifndef PROMPT_TALK_H
#define PROMPT_TALK_H

#include <stddef.h>

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
 * task list follow as sections of their own. A conversation of one system exchange is text that nobody could take apart: it
 * stands as it is, under a heading that says so.
 *
 * What does not fit goes in this order: big tool inputs and results lose their middle ("… 812 lines left out …"), then older
 * exchanges go, whole, the user's words last of all (they may take half of the room). The newest exchange and the newest words
 * of the user always stay, cut when they must be. A line says how many exchanges were left out, and where.
 */
struct talk_room {
	size_t bytes;		/* as the prompt will count them: with fence_at's */
	size_t lines;
};

#define TALK_LEAST ((size_t)512)	/* bytes of room; with less nothing useful fits */

struct talk_stats {
	size_t kept, cut;	/* exchanges */
	size_t lines_cut;
};

/*
 * The bytes appended cost at most room.bytes, and at most room.lines lines (32 when fewer are given). Nothing is appended for an
 * empty conversation.
 */
void talk_text(struct buf *out, const struct conversation *c, const char *nonce, struct talk_room room, struct talk_stats *stats);

/*
 * Appends at most max_bytes (64 at least) and max_lines of the text; when it is longer a line "… 812 lines left out …" (or
 * bytes, of one long line) stands in its middle. Returns how many lines were left out.
 */
size_t talk_cut_middle(struct buf *out, const char *p, size_t n, size_t max_bytes, size_t max_lines);

/* The newest lines that fit, as an offset into the text; whole lines unless the last one alone is too long. */
size_t talk_tail(const char *p, size_t n, struct talk_room room);

size_t talk_lines(const char *p, size_t n);	/* a last line without newline counts */

#endif
