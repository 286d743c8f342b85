#ifndef AGENT_DIALECT_H
#define AGENT_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

struct match;

/*
 * What each row of an agent's screen is. A dialect is a table of patterns with the range of versions in which each holds; a new
 * version of an agent is a change to the table. Pure: rows in, kinds out.
 *
 * Which agents have one says dialect_known; "claude" has two, the others one each. Those of the others are made for what gives them away:
 * who leaves its conversation in the pane's history (gemini, qwen, auggie, pi, codex with --no-alt-screen).
 *
 * Claude Code's classic renderer keeps column 0 for its markers: all text of people, models and tools stands at column 2 or further
 * right (measured on 2.1.37, 2.1.197, 2.1.330). That is why text that imitates markers does not deceive the table.
 */
enum row_kind {
	ROW_BLANK,		/* empty, or nothing of the conversation: to be read as if it were empty */
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
	ROW_NOTICE,		/* the agent's own words, neither the model's nor the person's; group 1: the words */
	ROW_ANSWERS,		/* a dialog was answered; group 1: the words; a result follows */
	ROW_TOOL,		/* group 1: the tool's name, group 2: the start of what it was called with */
	ROW_TOOL_MAYBE,		/* as ROW_TOOL, only when a result stands below (or its name is bold): words may begin so */
	ROW_TOOL_BLINK,		/* as ROW_TOOL, with the bullet blinked away: a running call at column 2 */
	ROW_WORDS,		/* the model's words; group 1: the first row */
	ROW_COLLAPSED,		/* calls folded into one line; group 1: all of it. May go on below until DIALECT_EXPAND */
	ROW_AGENTS,		/* running or finished sub-agents, a tree follows; group 1: all of it */
	ROW_THOUGHT,		/* "Thought for 1s"; group 1: "Thinking…", the thoughts stand below */
	ROW_TURN_END,		/* "Worked for 4s" */
	ROW_SPINNER,		/* group 1, where there is one: what it says of calls that are not shown */
	ROW_COMPACTED,		/* group 1: the words */
	ROW_RESULT,		/* of the tool above; group 1: its first row */
	ROW_RULE,		/* a line of dashes from column 0: the input box or a dialog. Group 1, where there is one: the agent is at work */
	ROW_BOX,		/* the live prompt; group 1: the draft's first row */
	ROW_DEAD,		/* tmux's own "Pane is dead" */
	ROW_FAREWELL,		/* "Resume this session with:" */
	ROW_RESUME,		/* group 1: the session id */
	ROW_FRAME,		/* the upper side of a box: a welcome or a dialog of versions before 2.0 */
	ROW_FOOT,		/* the program's own row at the end. Flat dialects: instead of a box; the draft follows */
	ROW_CALLS,		/* the top of a box with calls; it goes on to ROW_BANNER_END */
	ROW_HEAD,		/* in there: groups as of ROW_TOOL; group 3: what the call is for */
	ROW_HEAD_MAYBE,		/* the same, only in the box's first row: the name is not one we know */
	/* what only the rows around tell; dialect_row never answers these */
	ROW_PROMPT_MORE,	/* a prompt goes on, in column 0 */
	ROW_TASKS,
	ROW_QUEUED,
	ROW_PROMPT_QUEUED,	/* waits for the agent, but stands where sent ones do (2.1.330) */
	ROW_DIALOG		/* flat dialects have a row for it: "Permission Required: Bash command" */
};

/* What a phrase on the screen means. */
enum phrase {
	PHRASE_PLACEHOLDER,	/* text in the box that nobody typed */
	PHRASE_LIMIT,		/* a usage limit, or what PHRASE_LOGIN means */
	PHRASE_LOGIN,		/* the agent is not, or no more, logged in */
	PHRASE_EXPAND,		/* end of a folded line: "(ctrl+o to expand)" */
	PHRASE_SHELL,		/* below a folded line at work: "⎿  $ make", the command itself */
	PHRASE_FOLD,		/* a whole folded line that does not name the key: the fullscreen renderer's */
	PHRASE_WAITING,		/* result of a call that waits for a permission */
	PHRASE_RUNNING,		/* row of a result that only a running call shows */
	PHRASE_MORE,		/* last row of a result that is shown in part */
	PHRASE_FAILED,		/* first row of a failed call's result */
	PHRASE_INTERRUPTED,	/* the person pressed Esc, or refused */
	PHRASE_NOISE,		/* row of a result that says only which key to press */
	PHRASE_OPTION,		/* chosen row of a dialog: "❯ 1. Yes" */
	PHRASE_REJECTED_PLAN,
	PHRASE_KEYS,		/* row beside the box that says only which key to press */
	PHRASE_FOOT,		/* row below a box without lines that nobody would write: tells one wherever it stands */
	PHRASE_BUSY,		/* row below the box while the agent is at work */
	PHRASE_QUEUED,		/* a prompt that waits for the agent, above the box */
	PHRASE_QUEUE_FOOT,	/* below the last prompt that waits, where they stand with those that were sent */
	PHRASE_MARKED,		/* begins with the mark of a prompt, in older versions' queue */
	PHRASE_DIALOG,		/* foot of a dialog */
	PHRASE_VIEW,		/* foot of the transcript's own view (Ctrl+O), which takes the box's place */
	PHRASE_COMMAND,		/* a prompt that is a command for the program: "/clear" */
	PHRASE_REMARK,		/* what such a command answered: drawn with a blank where other results have an NBSP */
	PHRASE_SQUEEZED,	/* the first row of a result that left no room for its mark's second blank (before 2.1.100) */
	PHRASE_TREE,		/* a sub-agent of those that the row above counts */
	PHRASE_TASK_HEAD,	/* "3 tasks (1 done, 2 open)" */
	PHRASE_TASK,
	PHRASE_LIST,		/* body row that begins a line of its own: list, table, quote */
	PHRASE_COUNT
};

/* How the rows of a dialect make a conversation: which of the readers in context/ it is for. */
enum layout {
	LAYOUT_CLAUDE,		/* Claude Code's own (context/screen.h) */
	LAYOUT_FLAT,		/* its screen-reader mode (context/flat.h) */
	LAYOUT_MARKED,		/* each item behind a mark (context/marked.h) */
	LAYOUT_BLOCKS		/* no marks: what stands on a background (context/blocks.h) */
};

struct dialect;

/* True for the name of a dialect. */
bool dialect_known(const char *name);
/* The one for a text of this agent: of Claude's by what stands in it. NULL: no dialect for this agent or for the version that drew it. */
struct dialect *dialect_for(const char *agent, const char *text, size_t n);
/* NULL: no dialect for this agent. `version` as dialect_version gives it, 0 when unknown: the newest rules hold. */
struct dialect *dialect_new(const char *agent, unsigned version);
/* The one for its screen-reader mode: no markers, no indentation, no box. Groups of ROW_TOOL: 2 the name, 3 the input. */
struct dialect *dialect_new_flat(const char *agent);
/* The last banner in the text says that the screen-reader mode is on; without any banner, most of the rows that a marker could begin do. */
bool dialect_is_flat(const char *text, size_t n);
void dialect_free(struct dialect *d);

/* "2.1.197" as one number that can be compared; 0 when there is none in front. */
unsigned dialect_version(const char *text, size_t n);
/*
 * The version that the last banner in a screen's text names. Without one (it scrolled away; 1.0.128 prints no number, 2.0 none in a
 * narrow pane): 1.0.0 or 2.0.0 when the prompts are those of the versions before 2.1, else 0.
 */
unsigned dialect_find_version(const char *text, size_t n);

/*
 * The kind of a row (without the blanks at its end). m: groups as told at enum row_kind; may be NULL. A pattern that ran into a limit
 * counts as not matching, so that the row ends as ROW_BODY or ROW_STRAY: kept as it is.
 */
enum row_kind dialect_row(const struct dialect *d, const char *row, size_t n, struct match *m);

/* How a version sets what people and models write. */
struct page {
	unsigned prompt_indent;	/* the column in which a prompt goes on */
	unsigned prompt_margin, words_margin;	/* columns that stay free at the right */
	bool breaks;		/* it breaks the rows of the model's words; else the terminal does, in mid-word */
	bool blank_stays;	/* the blank behind a full row is seen in front of the next */
	/* of LAYOUT_MARKED and LAYOUT_BLOCKS */
	unsigned words_indent;	/* the column in which words go on */
	unsigned overhang;	/* columns by which rows are wider than the pane, which breaks them once more */
	bool numbered;		/* code stands behind the numbers of its lines, which begin at words_indent + 1 */
	unsigned ends_turns;	/* since this version words have ended where the end of a turn stands below them; 0: they run where a spinner does */
};

const struct page *dialect_page(const struct dialect *d);
enum layout dialect_layout(const struct dialect *d);
/* The program's name in front of its version, as people are told: "Gemini CLI". Empty for Claude's, whose banner is kept as it is. */
const char *dialect_program(const struct dialect *d);

bool dialect_says(const struct dialect *d, enum phrase what, const char *row, size_t n);

/*
 * The tool behind a folded line's verb ("Searched" -> "Search") or a dialog's title ("Bash command" -> "Bash"); NULL when unknown.
 * A folded line in the present tense ("Reading 1 file…") is still at work. *names (set with a tool): the row below the
 * title is what the call is about, a path or an address.
 */
const char *dialect_folded_tool(const struct dialect *d, const char *text, size_t n, bool *running);
const char *dialect_dialog_tool(const struct dialect *d, const char *title, size_t n, bool *names);

#endif
