#ifndef PROMPT_PROMPT_PRIVATE_H
#define PROMPT_PROMPT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct buf;
struct conversation;
struct exchange;

/* ---- elide ---- */

/*
 * A foreign text on its way into a fence, within a room. Pure. All costs are of the text as the
 * prompt will hold it, with the backslashes of fence_at.
 */
struct budget {
	size_t cost;		/* hundredths of a token (prompt.h) */
	size_t lines;
};

#define BUDGET_ALL ((struct budget){ (size_t)-1, (size_t)-1 })
bool budget_holds(struct budget room, struct budget what);
struct budget budget_less(struct budget room, struct budget what);	/* what is left, never below 0 */
struct budget budget_of(const char *p, size_t n);			/* what a text takes */

/*
 * A text cleaned (fence_data), with every line that is not empty at column `indent`, and with a
 * newline at its end unless it is empty. Blank lines at the end of the source are left out.
 */
struct elided_text {
	struct buf text;
	struct budget full;	/* of the text */
	size_t indent;
	/* of a giant only its two ends are laid out; between them stands a line of ours */
	size_t gap_at;		/* offset of that line, (size_t)-1: none */
	ssize_t gap_lines;	/* what it stands for: lines beyond those that its neighbours begin or end */
	size_t gap_bytes;
};

#define ELIDED_INIT { .text = BUF_INIT, .gap_at = (size_t)-1 }

/*
 * `most` is the most that will be asked of it: memory goes with that, not with n. t is
 * ELIDED_INIT or released.
 */
void prompt_elide_layout(
    struct elided_text *t, const char *p, size_t n, const char *nonce, size_t indent, struct budget most);
void prompt_elide_release(struct elided_text *t);

/*
 * Appends the text; what does not fit loses its middle, where a line says how much: "… 812 lines
 * left out …", or bytes, of a long line. Takes at most the room, ELIDED_LEAST at least. Returns
 * the lines left out.
 */
size_t prompt_elide_put(struct buf *out, const struct elided_text *t, struct budget room);
#define ELIDED_LEAST ((struct budget){ 1600, 1 })

/*
 * The newest lines that fit, as an offset into a text made by fence_data; of a last line that
 * alone is too long its end. The text has no newline behind its last line, or has one.
 */
size_t prompt_elide_to_tail(const char *p, size_t n, struct budget room);

size_t prompt_count_lines(const char *p, size_t n);	/* a last line without newline counts */

/* ---- budget ---- */

/*
 * Who gets how much of a room that is too small for all. Pure arithmetic, linear in their number.
 *
 * Ranks give way one after the other, as far as it takes and no farther: OLD first (calls, and
 * what the agent said, before the last turn), then TURN (the same in the last turn), then USER
 * (the user's words), CORE last. But what is large in the last turn shrinks to an eighth of the
 * room before what is small and old goes. Within a rank everybody's allowance sinks like water,
 * faster for a greater age; what takes less than its allowance stays whole, what takes more is
 * cut down to it, and goes when that is less than its least. So big and old things shrink before
 * small and new ones, and the oldest go first. Of CORE nothing goes: each keeps its least.
 */
enum budget_rank { BUDGET_OLD, BUDGET_TURN, BUDGET_USER, BUDGET_CORE, BUDGET_RANKS };

struct budget_share {
	enum budget_rank rank;
	size_t weight;		/* its allowance is that many times another's */
	/* how many of its kind are newer; at BUDGET_AGE the allowance is half of the newest's */
	size_t age;
	struct budget full;	/* what it takes when it is whole */
	struct budget least;	/* with less it goes */
	struct budget most;	/* out: what it may take, not less than full when it is whole */
	bool kept;		/* out */
};

#define BUDGET_AGE ((size_t)16)
/* Lines that one may have more when it is cut: a long line becomes three. */
#define BUDGET_TORN ((size_t)5)
/*
 * What a line that names the gap takes, with the empty line behind it; and what more when
 * something of USER is missing there.
 */
#define BUDGET_GAP ((struct budget){ 1250, 2 })
#define BUDGET_GAP_USER ((size_t)1250)

/*
 * Sets most and kept; v is in order, oldest first. What is kept and the gaps between take no more
 * than the room, when it has the least of everything of CORE, and a gap before each.
 */
void budget_allocate(struct budget_share *v, size_t n, struct budget room);

/* ---- heading ---- */

#define HEADING_NAME ((size_t)64)
#define HEADING_RESULT "Result:"
#define HEADING_QUESTION "Open question, not answered when the session died:"
#define HEADING_DRAFT "Typed by the user but never sent:"
#define HEADING_TASKS "Task list as last shown:"
#define HEADING_RAW "Raw text of the terminal (it could not be read as a conversation):"

/* ---- render ---- */

/*
 * A conversation as text for a reader, within a budget. Pure. What it appends is ready for fence_wrap.
 *
 * 	User:
 * 	  words
 *
 * 	Tool Bash (still running when the session died): make all
 * 	Result:
 * 	  what it printed
 *
 * Headings stand at column 0 and everything foreign at column 2, so that no text can pass for a
 * heading. A source is named in the headings ("User [screen]:") when the conversation comes from
 * more than one. The unsent draft, the open question and the task list follow as sections of
 * their own. A conversation of one system exchange is text that nobody could take apart: its
 * newest lines stand as they are, under a heading that says so.
 *
 * What does not fit gives way in this order (prompt_private.h tells how):
 * 1. calls, and what the agent said, before the last turn: big and old ones lose their middle ("…
 *   812 lines left out …"), the oldest go whole. Words stand longer than calls.
 * 2. the same in the last turn, which begins with the last message of the user;
 * 3. the user's older messages: giants lose their middle, then the oldest go;
 * 4. the core loses its middle and never goes: the newest exchange, the last message of the user,
 *   calls without an answer and words that were cut off, draft, question and tasks. (Of very many
 *   only the newest, as many as half of the room can hold.) A line in the place of what was left
 *   out says how many exchanges it were, and how many of them the user's.
 */

#define RENDER_LEAST ((size_t)42000)	/* cost of the smallest room; with less nothing useful fits */

struct render_stats {
	size_t kept, cut;		/* exchanges */
	size_t user_cut;		/* of those cut: messages of the user */
	/* kept without their middle: calls; words of others; messages of the user */
	size_t calls_short, words_short, user_short;
	size_t lines_cut;		/* of all that was left out */
	size_t tokens_cut;		/* about, by size (R85) */
};

/*
 * What is appended takes at most the room; of lines 32 at least. Nothing is appended for an empty
 * conversation.
 */
void prompt_render(struct buf *out, const struct conversation *c, const char *nonce, struct budget room,
    struct render_stats *stats);

#endif
