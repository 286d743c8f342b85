#ifndef PROMPT_PROMPT_PRIVATE_H
#define PROMPT_PROMPT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct conversation;

/* ---- tokens ---- */

/*
 * How many tokens a model makes of a text: an estimate. Pure, one pass, no tables of words.
 *
 * Counted are pieces as tokenizers cut them: words with the blank before them, humps of
 * camelCase, numbers, runs of blanks and of one sign, runes of other scripts; a word costs more
 * the longer it is and the more of its letter pairs are rare in English and in code. The prices
 * were fitted to the greatest of the counts of three public tokenizers over 360 texts (2 MB), and
 * raised by a tenth. The estimate is more than the count by so many percent (mean, and worst on
 * either side, of texts of 1 to 9 KB):
 *
 * 				 Claude 2 public	 cl100k_base	 o200k_base
 * 	English, markdown	+11   -2  +23	+17  +11  +26	+17  +11  +24
 * 	German, French, Spanish	 +5   -7  +27	+16   +5  +40	+28  +11  +55
 * 	Polish			+10   +7  +14	+33  +21  +40	+49  +30  +60
 * 	Russian, Ukrainian	+14   -3  +25	+34   +3  +55	+85  +28 +130
 * 	Greek, Hebrew, Arabic	+11   +6  +23	+28   +6  +41  +131  +11 +232
 * 	Hindi, Thai		+10   +6  +12	+60  +19 +105  +247 +122 +317
 * 	Chinese			+31   +5  +49	+28  +13  +40	+48  +14  +78
 * 	Japanese		+11   -9  +19	+12   -3  +17	+43  +18  +55
 * 	Korean			+14   +6  +21	+31  +21  +41	+84  +61 +100
 * 	C, Python, JS, shell	+10   -6  +19	+24   +4  +41	+23   +3  +40
 * 	minified JS		+14   +8  +31	+30  +14  +40	+31  +18  +51
 * 	JSON			+12   +2  +21	+21   +7  +30	+20   +7  +29
 * 	diffs			 +6   +3   +7	+24  +18  +30	+24  +17  +29
 * 	logs			+15   +7  +21	+21   +9  +39	+21   +8  +38
 * 	terminal, dumps		+31   +5 +108	+15   +0  +28	+15   +0  +28
 * 	agents' screens		+16  -23  +30	+18   +4  +37	+23   +4  +37
 * 	paths			 +9   +2  +13	+51  +45  +59	+44  +36  +58
 * 	base64, hex		+13  +10  +16	+15   +7  +20	+16  +13  +19
 * 	numbers			+21   +8  +42	+10   +7  +16	+10   +7  +16
 * 	tables, box drawing	 +5   -5  +10	 +7   -3  +14	 +9   -3  +17
 * 	emoji			+14  +11  +17	+11   +9  +13	+26  +24  +29
 * 	all, 4 bytes a token	-20  -70 +383
 *
 * (@anthropic-ai/tokenizer 0.0.4, gpt-tokenizer 4.0.0. -23: a screen of 0.7 KB, mostly rows of
 * signs.) So of text that people and programs write it is at most a tenth under any of the three.
 * Long runs of blanks or one sign are given up to three times what they take; ideographs and
 * runes drawn at random up to a third too few. Claude 3 to 4.6 make about a tenth more tokens than
 * the old public count, which the estimate holds; from 4.7 on again about three tenths more: a
 * prompt of max_context_tokens 120,000 may have 155,000, and R84 leaves 40 % of 200,000 free.
 */
#define TOKEN_COST ((size_t)100)	/* costs are in hundredths of a token */

/*
 * The cost of a text, any bytes. A line costs the same wherever it stands: for texts that end in
 * a newline prompt_token_cost(a + b) == prompt_token_cost(a) + prompt_token_cost(b), so that a
 * budget can be kept by adding.
 */
size_t prompt_token_cost(const char *p, size_t n);
/* The same in whole tokens, rounded up. */
size_t prompt_token_count(const char *p, size_t n);
/* The most bytes that can cost `cost`: a text is never cheaper than a token for TOKEN_BYTES_MOST bytes. */
#define TOKEN_BYTES_MOST ((size_t)16)

/* ---- fence ---- */

/* Takes back what fence_at did: text that had backslashes there got one more. */
void fence_at_undo(struct buf *out, const char *p, size_t n);
/* What the text costs after fence_at; adds up line by line as prompt_token_cost does. */
size_t fence_cost(const char *p, size_t n);

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
 * Ranks give way one after the other, as far as it takes and no farther: PAST first (what a
 * summary stands for), then OLD (calls, and what the agent said, before the last turn), then TURN
 * (the same in the last turn), then USER (the user's words), CORE last. But what is large in the
 * last turn shrinks to an eighth of the room before what is small and old goes. Within a rank
 * everybody's allowance sinks like water, faster for a greater age; what takes less than its
 * allowance stays whole, what takes more is cut down to it, and goes when that is less than its
 * least. So big and old things shrink before small and new ones, and the oldest go first. Of CORE
 * nothing goes: each keeps its least.
 */
enum budget_rank { BUDGET_PAST, BUDGET_OLD, BUDGET_TURN, BUDGET_USER, BUDGET_CORE, BUDGET_RANKS };

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
 * something of USER or PAST is missing there.
 */
#define BUDGET_GAP ((struct budget){ 1250, 2 })
#define BUDGET_GAP_USER ((size_t)1250)

/*
 * Sets most and kept; v is in order, oldest first. What is kept and the gaps between take no more
 * than the room, when it has the least of everything of CORE, and a gap before each.
 */
void budget_allocate(struct budget_share *v, size_t n, struct budget room);

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
 * What does not fit gives way in this order (budget_allocate):
 * 0. everything before the last summary of a compaction, but for the user's first message;
 * 1. calls, and what the agent said, before the last turn: big and old ones lose their middle ("…
 *   812 lines left out …"), the oldest go whole. Words stand longer than calls.
 * 2. the same in the last turn, which begins with the last message of the user;
 * 3. the user's older messages: giants lose their middle, then the oldest go;
 * 4. the core loses its middle and never goes: the newest exchange, the last message of the user
 *   and the first, the last summary, calls without an answer and words that were cut off, draft,
 *   question and tasks. (Of very many only the newest, as many as half of the room can hold.) A line
 *   in the place of what was left
 *   out says how many exchanges it were, and how many of them the user's.
 */

#define RENDER_LEAST ((size_t)54000)	/* cost of the smallest room; with less nothing useful fits */

struct render_stats;

/*
 * What is appended takes at most the room; of lines 32 at least. Nothing is appended for an empty
 * conversation.
 */
void prompt_render(struct buf *out, const struct conversation *c, const char *nonce, struct budget room,
    struct render_stats *stats);

#endif
