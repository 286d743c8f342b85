#ifndef SCREEN_SCREEN_PRIVATE_H
#define SCREEN_SCREEN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conversation/conversation.h"
#include "screen/screen.h"

struct buf;

/* ---- grammar_table ---- */

/*
 * The tables that grammar.c reads rows by: grammar_claude.c has the two of Claude Code, each of the
 * files beside it that of one other agent, or of two that are alike. The rules are counted, the
 * pages end with the newest; every other list ends with an entry that has no text, or is NULL.
 */
#define GRAMMAR_V(major, minor, patch) ((major) * 1000000u + (minor) * 1000u + (patch))
#define GRAMMAR_ANY 0u
#define GRAMMAR_OPEN 0xffffffffu
#define GRAMMAR_RULES 64	/* at most: a set of them is a word */
#define GRAMMAR_CUES 64

/* What several of them share. */
#define GRAMMAR_LINE "(?:\xE2\x94\x80){10,}+"
#define GRAMMAR_BRAILLE "\xE2[\xA0-\xA3][\x80-\xBF]"	/* a spinner's characters */
#define GRAMMAR_RULE_DEAD { ROW_DEAD, GRAMMAR_ANY, GRAMMAR_OPEN, "Pane is dead", "Pane is dead(?: \\(.*)?$" }
#define GRAMMAR_RULE_LINE { ROW_RULE, GRAMMAR_ANY, GRAMMAR_OPEN, "\xE2\x94\x80", GRAMMAR_LINE "$" }

/* The first rule that matches names the row. */
struct grammar_rule {
	enum row_kind kind;
	unsigned from, to;	/* versions, both included */
	const char *lead;	/* a row that does not begin so cannot match: most rows are settled by this */
	const char *regex;	/* anchored */
};

/* Which bytes may stand behind a short lead: text of people and models begins with the same blanks. */
struct grammar_next {
	enum row_kind kind;
	const char *lead, *next;
};

struct grammar_cue {
	enum cue what;
	unsigned from, to;
	/* anchored at the row's first character that is no blank, unless it begins with .* */
	const char *regex;
};

struct folded_verb {
	const char *verb, *tool;
	bool running;
};

struct dialog_title {
	const char *title, *tool;
	bool names;		/* the row below tells what the call is about */
};

/* Which rows belong to the item above them. */
enum goes_on {
	GOES_ON_BODY,		/* ROW_BODY: screen_rows_classify has settled it */
	GOES_ON_INDENTED,	/* those that are indented as far as the item's text */
	/*
	 * everything down to the next item: Claude Code's screen-reader mode has no marks, no
	 * indentation and no box. What imitates an item's first row at column 0 cannot be told
	 * from one.
	 */
	GOES_ON_FLAT
};

/*
 * How a version sets what people and models write. Indents are columns from the left edge,
 * margins columns that stay free at the right.
 */
struct grammar_layout {
	enum goes_on goes_on;
	unsigned prompt_indent;	/* where a prompt goes on */
	unsigned words_indent;	/* where words go on, and what a call without marks printed */
	unsigned input_indent;	/* where a call's input goes on */
	unsigned result_indent;	/* where a result goes on, and a notice that stands like one */
	unsigned prompt_margin, words_margin, input_margin;
	/* it breaks the rows of the model's words; else the terminal does, in mid-word */
	bool breaks;
	bool blank_stays;	/* the blank behind a full row is seen in front of the next */
	bool unmarked;		/* no mark stands in front of an item's text */
	/* code stands behind the numbers of its lines, which begin at words_indent + 1 */
	bool numbered;
	/* the row below the box tells whether the agent is at work; else a row below the last item does */
	bool busy_foot;
	bool limit_words;	/* a usage limit is told where the model's words stand */
	/* columns by which rows are wider than the pane, which breaks them once more */
	unsigned overhang;
	/*
	 * since this version words have ended where the end of a turn stands below them; 0: they
	 * run where a spinner does
	 */
	unsigned ends_turns;
	const char *completed;	/* first bytes of drafts that the program completes, in dim; NULL: none */
};

const struct grammar_layout *grammar_layout(const struct grammar *d);
/*
 * The program's name in front of its version, as people are told: "Gemini CLI". Empty for
 * Claude's, whose banner is kept as it is.
 */
const char *grammar_program(const struct grammar *d);
/*
 * The tool behind a folded line's verb ("Searched" -> "Search") or a dialog's title ("Bash
 * command" -> "Bash"); NULL when unknown. A folded line in the present tense ("Reading 1 file…")
 * is still at work. *names (set with a tool): the row below the title is what the call is about,
 * a path or an address.
 */
const char *grammar_folded_tool(const struct grammar *d, const char *text, size_t n, bool *running);
const char *grammar_dialog_tool(const struct grammar *d, const char *title, size_t n, bool *names);

struct grammar_layout_until {
	unsigned to;		/* the last version that it holds for; the list ends with GRAMMAR_OPEN */
	struct grammar_layout page;
};

struct grammar_table {
	enum screen_format layout;
	const char *program;
	const char *foreign;	/* drawn by versions alone whose screens are not read; NULL: there are none */
	const struct grammar_rule *rules;
	size_t n_rules;
	const struct grammar_next *next;
	const struct grammar_cue *sayings;
	const struct folded_verb *verbs;
	const struct dialog_title *dialogs;
	const struct grammar_layout_until *pages;
};

extern const struct grammar_table grammar_claude, grammar_claude_accessible;
extern const struct grammar_table grammar_auggie, grammar_codex, grammar_gemini, grammar_pi, grammar_qwen;

/* ---- rows ---- */

/* A row of a screen as a view into its text, without the blanks at its end. 16 bytes. */
struct screen_row {
	uint32_t at, n;		/* bytes of the text */
	uint16_t drawn;		/* columns of the pane when the row was drawn; 0: as now */
	uint8_t kind;		/* enum row_kind */
	uint8_t seam;		/* rows were taken out above: the pane may have been of another width there */
	uint8_t marks, bullet;	/* as of struct sgr_row; 0 when nothing is known */
	uint8_t stamp;		/* the row is blank because it had only a stamp of the view of Ctrl+O */
};

struct screen_rows {
	const struct grammar *d;	/* borrowed */
	const char *text;	/* borrowed */
	struct screen_row *v;
	size_t n;
	size_t width;		/* of the pane, in columns */
	bool styled;		/* colours are known: what a row lacks it does not have */
};

/* Splits and names the rows. `width` 0: that of the widest rule of an input box, else of the widest row. */
void screen_rows_init(struct screen_rows *r, const char *text, size_t n, size_t width,
    const struct grammar *d);
void screen_rows_release(struct screen_rows *r);
/* Takes the rows' colours over, before rows are taken out. NULL: none are known. */
void screen_rows_set_sgr(struct screen_rows *r, const struct sgr_rows *style);

static inline const char *
screen_row_text(const struct screen_rows *r, size_t i)
{
	return r->text + r->v[i].at;
}

/* ROW_BLANK behind the last row. */
static inline enum row_kind
screen_row_kind(const struct screen_rows *r, size_t i)
{
	return i < r->n ? (enum row_kind)r->v[i].kind : ROW_BLANK;
}

bool screen_row_has_cue(const struct screen_rows *r, size_t i, enum cue what);
size_t screen_row_indent(const struct screen_rows *r, size_t i);
size_t screen_row_width(const struct screen_rows *r, size_t i);
/* The first word of row i > 0 had no room in the row above within `limit` columns: it may go on there. */
bool screen_row_was_wrapped(const struct screen_rows *r, size_t i, size_t limit);

/*
 * Appends rows from .. to - 1 as text: `indent` blanks less in front of each, blank rows at both
 * ends left out. Rows broken at the edge are joined where that is certain: the next row's first
 * word had no room within `limit` columns (0: join nothing). The limit is for the pane's present
 * width, and moved for rows drawn in another. The first row begins at its byte `skip`.
 */
void screen_rows_join(const struct screen_rows *r, size_t from, size_t to, size_t skip, size_t indent,
    size_t limit, struct buf *out);

/*
 * The head of a call ends with ")" before its result, a blank row or another item. The row behind
 * it; 0: that is no call.
 */
size_t screen_call_head_end(const struct screen_rows *r, size_t i);

/*
 * What Claude Code's screen needs before the walk, in this order. drop_view takes out what the view
 * of Ctrl+O left among the rows when it was closed. drop_copies takes out rows that were drawn
 * twice: a resize, Esc, /compact and --resume repaint the last screenful from the top of the pane,
 * and what had scrolled out stays in the history (2.1.197); copies follow each other and agree but
 * for blanks and line breaks. classify settles what only the rows around a row tell: ROW_TOOL_MAYBE
 * and ROW_TOOL_BLINK are gone, ROW_TASKS, ROW_QUEUED and ROW_DIALOG set, and what merely looked
 * like a marker is ROW_BODY or ROW_WORDS. measure finds the width that rows above a seam were
 * drawn for, where their own breaks tell it.
 */
void screen_rows_drop_view(struct screen_rows *r);
void screen_rows_drop_copies(struct screen_rows *r);
void screen_rows_classify(struct screen_rows *r);
void screen_rows_measure(struct screen_rows *r);

/*
 * The same for screens without marks (pi): what a person typed and what a call printed stands on a
 * background, the model's words do not, and two blank rows or more are between any two of them. The
 * first row of each block becomes ROW_PROMPT, ROW_TOOL or ROW_WORDS, the others ROW_BODY. Without
 * colours the order decides: words follow a prompt or a call, a prompt follows words.
 */
void screen_classify_shaded(struct screen_rows *r);

/* ---- walk ---- */

/*
 * From the first row to the last, an exchange is made of each item. walk.c has the walk, banners
 * and what people and models say, walk_call.c calls, results and notices, walk_bottom.c what
 * stands at the end: spinner, queue, box, dialog. What differs between agents is in
 * struct grammar_layout. Every loop that looks ahead is bounded or stops at the next item, so
 * that hostile input costs linear time. Rows are given by their number in `r`; strings are on the
 * heap.
 */
struct screen {
	struct screen_rows r;		/* with their grammar */
	const struct grammar_layout *page;	/* its layout */
	struct conversation *c;
	size_t open;		/* exchanges before this one are settled: no call among them can still run */
	bool busy;		/* the agent is at work, says the last row that tells */
	bool spun;		/* a spinner or the end of a turn stands below the last item */
	size_t last_prompt;	/* row of the last one, or of the box if that looks like one */
	size_t turns;		/* whose end is seen, of agents that show it */
	bool outside;		/* another program's rows, down to the next banner */
	bool repainted;		/* a banner stands in the input box: all was drawn again from the caret on */
};

/* Reads all rows. What stands below the last item is the program's own; of that only a draft is kept. */
void screen_walk(struct screen *s);

/* Each reads the item that begins in row i. The row behind it; 0: it is none. */
size_t screen_read_call(struct screen *s, size_t i);
size_t screen_read_call_box(struct screen *s, size_t i);	/* calls in a box; row i is its top */
size_t screen_read_folded(struct screen *s, size_t i);
/* What an attached file, a slash command or the program said below a prompt or an answer. */
size_t screen_read_remark(struct screen *s, size_t i);
size_t screen_read_notice(struct screen *s, size_t i);
size_t screen_read_bare_box(struct screen *s, size_t i);	/* an input box without lines */
size_t screen_read_bottom(struct screen *s, size_t i);

/* ROW_TOOL_MAYBE in row i is a call: a result stands below, or its name is bold. */
bool screen_is_call(const struct screen *s, size_t i);
/*
 * In the screen-reader mode the head of a running call blinks away, row and all (2.1.197), and its
 * last rows seem to be words of the item in row i, which ends at row `end`. Where they begin;
 * `end` when there are none. Certain are only the row that names the key and the one that counts
 * what is not shown, and then four above it.
 */
size_t screen_flat_result(const struct screen *s, size_t i, size_t end);
void screen_add_headless(struct screen *s, size_t from, size_t end);	/* such a call */

/* Group of the row's own rule; NULL when the rule has no such group. */
char *screen_group(const struct screen *s, size_t i, int g);
/* First byte of what an item says (group 1) or calls with (2): behind its mark. The row's length: nothing. */
size_t screen_start(const struct screen *s, size_t i, int group);
/* As screen_row_has_cue, of what row i says behind its mark. */
bool screen_start_has_cue(const struct screen *s, size_t i, enum cue what);
/* Row i begins nothing. */
bool screen_is_text(const struct screen *s, size_t i);
/*
 * The row behind the last that goes on with the item in row i, from column `indent` on; blank
 * rows at its end are not its own.
 */
size_t screen_item_end(const struct screen *s, size_t i, size_t indent);
/* The first row from i on in which something may belong to the item that ends there. */
size_t screen_below(const struct screen *s, size_t i);
/* The limit for screen_rows_join: the pane's width without a margin. */
size_t screen_limit(const struct screen *s, size_t margin);
/* As screen_rows_join. */
char *screen_joined(const struct screen *s, size_t from, size_t to, size_t skip, size_t indent, size_t limit);

/* Takes the strings. */
struct exchange *screen_add(struct screen *s, enum role role, enum status status, char *tool, char *input,
    char *content);
/* Frees what the member holds; takes the text. */
void screen_set(char **member, char *text);
/* The conversation went on: a call that looked open before this was cut off. */
void screen_close_calls(struct screen *s);
/* Something stands below the row that showed the agent at work. */
void screen_went_on(struct screen *s);

/*
 * Takes out what a program drew before it drew everything again: qwen 0.15.10 paints the
 * conversation anew, from its banner on, when its pane changes its width, Claude Code when it goes
 * on after SIGSTOP. Exchanges between two
 * banners go when all of them but the program's own stand in the same order behind the second, the
 * last perhaps with more words; so an older session with other words stays. Linear in the text.
 */
void screen_drop_repaint(struct conversation *c);

#endif
