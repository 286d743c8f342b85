#ifndef SCREEN_SCREEN_H
#define SCREEN_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct clean_text;
struct conversation;
struct grammar;
struct match;
struct sgr_rows;

/* ---- screen ---- */

/*
 * Reads a pane's text (scrollback and screen, oldest row first) into exchanges. Pure. `width` is
 * the pane's; 0: taken from the rules of the input box or the longest row. `agent` is a profile's
 * name ("claude"). Without a grammar for it, or when no row looks like the agent's, the raw text
 * becomes one system exchange. conversation_add's rules hold. `style`: what sgr_strip found in the
 * same rows, a hint where the text alone is ambiguous; NULL: nothing.
 */
void screen_read(const struct clean_text *text, const struct sgr_rows *style, int width, const char *agent,
    struct conversation *out);

/* The same on bytes without escape sequences. */
void screen_read_bytes(const char *p, size_t n, const struct sgr_rows *style, int width, const char *agent,
    struct conversation *out);

/*
 * How many bytes of `text` belong to the agent of a pane whose shell lives on: without what the
 * shell wrote after the agent's death ("Killed" and its prompt, over the rows of the input box). The
 * agent's report of its crash (a stack trace, a panic) stays: screen_read makes an exchange of the
 * system's of it, which failed, the last one.
 */
size_t screen_without_shell(const char *text, size_t n, int width);

/* True when the text shows that the agent drew it (banner, input box, markers). */
int screen_shows_agent(const char *text, size_t n, const char *agent);

/* True when one of the last rows says, in the agent's or its service's words, that it is not logged in. */
bool screen_shows_login(const char *text, size_t n, const char *agent);

/* ---- grammar ---- */

/*
 * What each row of an agent's screen is: a table of patterns with the versions in which each
 * holds. Pure: rows in, kinds out. "claude" has two grammars, the agents that leave their
 * conversation in the pane's history (gemini, qwen, auggie, pi, codex with --no-alt-screen) one.
 *
 * Claude Code's classic renderer keeps column 0 for its markers: all text of people, models and
 * tools stands at column 2 or further right (2.1.37, 2.1.197, 2.1.330), so text that imitates
 * markers does not deceive the table.
 */
enum row_kind {
	ROW_BLANK,		/* empty, or to be read as if it were */
	ROW_BODY,		/* indented by two or more: belongs to the item above */
	ROW_STRAY,		/* column 0 or 1, and no rule knows it */
	ROW_BANNER,		/* group 1: the version, where the row holds it */
	ROW_NEWS,		/* below a banner: what is new in the program */
	ROW_BANNER_TOP,		/* the boxed welcome; it goes on to ROW_BANNER_END. Group 1 as above */
	ROW_BANNER_END,
	ROW_PROMPT,		/* a sent prompt; group 1: its first row */
	ROW_SHELL,		/* a command typed with "!"; group 1: the command */
	ROW_ERROR,		/* the agent's service failed; group 1: the words */
	ROW_RETRY,		/* ... and is asked again; group 1: the words */
	/* the agent's own words, neither the model's nor the person's; group 1: the words */
	ROW_NOTICE,
	ROW_ANSWERS,		/* a dialog was answered; group 1: the words; a result follows */
	ROW_TOOL,		/* group 1: the tool's name, group 2: the start of what it was called with */
	/* as ROW_TOOL, only when a result stands below (or its name is bold): words may begin so */
	ROW_TOOL_MAYBE,
	ROW_TOOL_BLINK,		/* as ROW_TOOL, with the bullet blinked away: a running call at column 2 */
	ROW_WORDS,		/* the model's words; group 1: the first row */
	/* calls folded into one line; group 1: all of it. May go on below until CUE_EXPAND */
	ROW_COLLAPSED,
	ROW_AGENTS,		/* running or finished sub-agents, a tree follows; group 1: all of it */
	ROW_THOUGHT,		/* "Thought for 1s"; group 1: "Thinking…", the thoughts stand below */
	ROW_TURN_END,		/* "Worked for 4s" */
	ROW_SPINNER,		/* group 1, where there is one: what it says of calls that are not shown */
	ROW_COMPACTED,		/* group 1: the words */
	ROW_RESULT,		/* of the tool above; group 1: its first row */
	/*
	 * a line of dashes from column 0: the input box or a dialog. Group 1, where there is one:
	 * the agent is at work
	 */
	ROW_RULE,
	ROW_BOX,		/* the live prompt; group 1: the draft's first row */
	ROW_DEAD,		/* tmux's own "Pane is dead" */
	ROW_FAREWELL,		/* "Resume this session with:" */
	ROW_RESUME,		/* group 1: the session id */
	ROW_FRAME,		/* the upper side of a box: a welcome or a dialog of versions before 2.0 */
	/* the program's own row at the end. Screen-reader mode: instead of a box; the draft follows */
	ROW_FOOT,
	ROW_CALLS,		/* the top of a box with calls; it goes on to ROW_BANNER_END */
	ROW_HEAD,		/* in there: groups as of ROW_TOOL; group 3: what the call is for */
	ROW_HEAD_MAYBE,		/* the same, only in the box's first row: the name is not one we know */
	/* what only the rows around tell; grammar_row never answers these */
	ROW_PROMPT_MORE,	/* a prompt goes on, in column 0 */
	ROW_TASKS,
	ROW_QUEUED,
	ROW_PROMPT_QUEUED,	/* waits for the agent, but stands where sent ones do (2.1.330) */
	ROW_DIALOG		/* the screen-reader mode has a row for it: "Permission Required: …" */
};

/* What a phrase on the screen means. */
enum cue {
	CUE_PLACEHOLDER,	/* text in the box that nobody typed */
	CUE_LIMIT,		/* a usage limit, or what CUE_LOGIN means */
	CUE_LOGIN,		/* the agent is not, or no more, logged in */
	CUE_EXPAND,		/* end of a folded line: "(ctrl+o to expand)" */
	CUE_SHELL,		/* below a folded line at work: "⎿  $ make", the command itself */
	/* a whole folded line that does not name the key: the fullscreen renderer's */
	CUE_FOLD,
	CUE_WAITING,		/* result of a call that waits for a permission */
	CUE_RUNNING,		/* row of a result that only a running call shows */
	CUE_MORE,		/* last row of a result that is shown in part */
	CUE_FAILED,		/* first row of a failed call's result */
	CUE_INTERRUPTED,	/* the person pressed Esc, or refused */
	CUE_NOISE,		/* row of a result that says only which key to press */
	CUE_OPTION,		/* chosen row of a dialog: "❯ 1. Yes" */
	CUE_REJECTED_PLAN,
	CUE_KEYS,		/* row beside the box that says only which key to press */
	/* row below a box without lines that nobody would write: tells one wherever it stands */
	CUE_FOOT,
	CUE_BUSY,		/* row below the box while the agent is at work */
	CUE_QUEUED,		/* a prompt that waits for the agent, above the box */
	CUE_QUEUE_FOOT,	/* below the last prompt that waits, where they stand with those that were sent */
	CUE_MARKED,		/* begins with the mark of a prompt, in older versions' queue */
	CUE_DIALOG,		/* foot of a dialog */
	CUE_VIEW,		/* foot of the transcript's own view (Ctrl+O), which takes the box's place */
	CUE_COMMAND,		/* a prompt that is a command for the program: "/clear" */
	/* what such a command answered: drawn with a blank where other results have an NBSP */
	CUE_COMMAND_OUTPUT,
	/* the first row of a result that left no room for its mark's second blank (before 2.1.100) */
	CUE_SQUEEZED,
	CUE_REDRAWN,		/* the first row of a banner that was drawn over the input box */
	CUE_TREE,		/* a sub-agent of those that the row above counts */
	CUE_TASK_HEAD,	/* "3 tasks (1 done, 2 open)" */
	CUE_TASK,
	CUE_LIST,		/* body row that begins a line of its own: list, table, quote */
	CUE_COUNT
};

/* What the rows around a row tell of it. */
enum screen_format {
	SCREEN_CLAUDE,		/* Claude Code's own: much */
	SCREEN_ACCESSIBLE,	/* its screen-reader mode: nothing */
	SCREEN_BULLETED,	/* each item behind a mark: nothing */
	SCREEN_SHADED		/* no marks, prompts and calls stand on a background: all */
};

/* True when the agent has a grammar. */
bool grammar_is_known(const char *name);
/*
 * The grammar for a text of this agent, whose version and mode it tells. NULL: none for the agent
 * or for the version that drew it.
 */
struct grammar *grammar_for_text(const char *agent, const char *text, size_t n);
/* `version` as grammar_version gives it; 0: the newest rules. NULL: no grammar for this agent. */
struct grammar *grammar_new(const char *agent, unsigned version);
void grammar_free(struct grammar *d);

/* "2.1.197" as one number that can be compared; 0 when there is none in front. */
unsigned grammar_version(const char *text, size_t n);
/*
 * The version that the last banner in a screen of Claude Code names. Without one (it scrolled
 * away; 1.0.128 prints no number, 2.0 none in a narrow pane): 1.0.0 or 2.0.0 when the prompts are
 * those of the versions before 2.1, else 0.
 */
unsigned grammar_find_version(const char *text, size_t n);

/*
 * The kind of a row (without the blanks at its end). m: groups as told at enum row_kind, may be
 * NULL. A pattern that ran into a limit does not match: the row is ROW_BODY or ROW_STRAY, and kept
 * as it is.
 */
enum row_kind grammar_row(const struct grammar *d, const char *row, size_t n, struct match *m);
enum screen_format grammar_screen_format(const struct grammar *d);
bool grammar_has_cue(const struct grammar *d, enum cue what, const char *row, size_t n);

/* ---- sgr ---- */

/*
 * Colours and attributes of a screen. `capture-pane -e` writes them as SGR sequences whose state
 * carries over line ends (tmux 3.3a). Kept is what every theme has: attributes, whether there is a
 * background, and the hue of a bullet (themes dark, light and ANSI, 8 to 2^24 colours). With
 * NO_COLOR there is nothing.
 */
enum {
	SGR_BACK = 1,		/* the first cell has a background of its own */
	SGR_DIM = 2,		/* the first cell is dim */
	SGR_ITALIC = 4,	/* the first cell is italic */
	/* the first character at column 2 or further right, behind a marker, is bold */
	SGR_NAME_BOLD = 8,
	SGR_TAIL_DIM = 16	/* the last character is dim */
};

/* What the colour of the first character says when it is an item's bullet. */
enum bullet {
	BULLET_UNKNOWN,		/* the default colour, or one that says nothing */
	BULLET_WORDS,		/* near white or near black */
	BULLET_PENDING,		/* grey */
	BULLET_OK,		/* greenish */
	BULLET_FAILED,		/* reddish */
	BULLET_ERROR		/* yellowish */
};

struct sgr_row {
	uint8_t marks;		/* STYLE_… or'ed; a blank row has none */
	uint8_t bullet;		/* enum bullet */
};

struct sgr_rows {
	struct sgr_row *v;	/* one a row of the text */
	size_t n, cap;
};

/*
 * Takes every escape sequence and shift character out of the text, in place: colours, links (OSC
 * 8), anything else. Line ends stay; a string sequence that does not end in its row loses only its
 * head. One pass, linear. Heap; NULL when no row has a colour or an attribute.
 */
struct sgr_rows *sgr_strip(struct buf *text);
void sgr_free(struct sgr_rows *s);			/* NULL is fine */

/* Keeps the first, the last n rows. NULL is fine. */
void sgr_keep_head(struct sgr_rows *s, size_t n);
void sgr_keep_tail(struct sgr_rows *s, size_t n);
/* Of row i, counted from 0; nothing behind the last row and for NULL. */
struct sgr_row sgr_row(const struct sgr_rows *s, size_t i);

#endif
