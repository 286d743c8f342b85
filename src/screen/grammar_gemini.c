#include "screen/screen_private.h"

/*
 * Gemini, and Qwen Code, which was made from it: recorded with 0.61.0 and 0.15.10, seen with
 * Gemini 0.34.0. Calls stand in boxes behind a sign of how they stand. Signs and names that no
 * recording shows are the programs' own, as their code has them.
 */
#define ANY GRAMMAR_ANY
#define OPEN GRAMMAR_OPEN

/*
 * Ended, at work (two that take turns, braille, or dots where the terminal is taken for one
 * without it), waiting, refused, failed.
 */
#define SIGN "(?:\xE2\x9C\x93|\xE2\x8A[\xB6\xB7]|" GRAMMAR_BRAILLE "|[ox?-]|\\.{1,3}) {0,2}"
#define SIGN_FIRST "\xE2ox?.-"
#define NAMES                                                                                                \
	"(?:Shell|ReadFile|ReadManyFiles|ReadFolder|WriteFile|Edit|FindFiles|SearchText|GoogleSearch|"       \
	"WebFetch|Ask User|"                                                                                 \
	"Complete Task|Update Topic "                                                                        \
	"Context|Grep|Glob|TodoWrite|SaveMemory|Agent|Skill|ExitPlanMode|ListFiles|Lsp|AskUserQuestion|"     \
	"CronCreate|CronList|CronDelete|TaskStop|SendMessage|Monitor|ToolSearch|StructuredOutput)"
#define HEAD(kind, name) { kind, ANY, OPEN, "", SIGN "(" name ")(?: +(.*))?$" }
/* A command may have behind it what it is for or, in 0.34, where it runs, mostly cut short. */
#define SHELL { ROW_HEAD, ANY, OPEN, "", SIGN "(Shell)(?: +(.*?)(?: \\[current working directory .*|" \
	" \\(([A-Z][^()]*)\\))?)?$" }
#define HEADS                                                                                                \
	SHELL, HEAD(ROW_HEAD, NAMES),                                                                        \
	    HEAD(ROW_HEAD_MAYBE, "[A-Za-z][\\w.:-]*(?: \\([\\w .:-]+ MCP Server\\))?")
#define SIDE "(?:\xE2\x94\x80){10,}+"

static const struct grammar_rule gemini_rules[] = {
	{ ROW_PROMPT, ANY, OPEN, " > ", " > (.*)$" },
	{ ROW_SHELL, ANY, OPEN, " $ ", " \\$ (.*)$" },
	{ ROW_BOX, ANY, OPEN, " ", " [*!] {1,3}(.*)$" },
	{ ROW_WORDS, ANY, OPEN, "\xE2\x9C\xA6 ", "\xE2\x9C\xA6 (.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2\x84\xB9", "\xE2\x84\xB9 +(.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2\x9A\xA0", "\xE2\x9A\xA0 +(.*)$" },
	{ ROW_ERROR, ANY, OPEN, "\xE2\x9C\x95", "\xE2\x9C\x95 +(.*)$" },
	{ ROW_CALLS, ANY, OPEN, "\xE2\x95\xAD", "\xE2\x95\xAD" SIDE "\xE2\x95\xAE$" },
	{ ROW_BANNER_END, ANY, OPEN, "\xE2\x95\xB0", "\xE2\x95\xB0" SIDE "\xE2\x95\xAF$" },
	HEADS,
	{ ROW_SPINNER, ANY, OPEN, " ", " [^ ].*\\(esc to cancel\\b" },
	/* the upper and lower edge of what was typed, with 24-bit colours */
	{ ROW_BLANK, ANY, OPEN, "\xE2\x96", "(?:(?:\xE2\x96\x84){10,}+|(?:\xE2\x96\x80){10,}+)$" },
	{ ROW_BLANK, ANY, OPEN, "          ", " {10,}\\? for shortcuts$" },
	{ ROW_BANNER, ANY, OPEN, "  \xE2\x96\x9D\xE2\x96\x9C",
	    "  \xE2\x96\x9D\xE2\x96\x9C\xE2\x96\x84 +Gemini CLI v(\\d[\\d.]*)" },
	{ ROW_BANNER, ANY, OPEN, " \xE2\x96\x9D\xE2\x96\x9C",
	    " \xE2\x96\x9D\xE2\x96\x9C\xE2\x96\x84 +Gemini CLI v(\\d[\\d.]*)" },
	GRAMMAR_RULE_LINE,
	GRAMMAR_RULE_DEAD,
};

static const struct grammar_next gemini_next[] = {
	{ ROW_HEAD, "", SIGN_FIRST },
	{ ROW_HEAD_MAYBE, "", SIGN_FIRST },
	{ ROW_BOX, " ", "*!" },
	{ ROW_SPINNER, " ", "\xE2." },
	{ ROW_BLANK, NULL, NULL },
};

/* Everything two columns further right; but for the box. */
static const struct grammar_rule qwen_rules[] = {
	{ ROW_PROMPT, ANY, OPEN, "  > ", "  > (.*)$" },
	{ ROW_SHELL, ANY, OPEN, "  $ ", "  \\$ (.*)$" },
	/* a blank and a mark of no width stand behind what was pasted */
	{ ROW_BOX, ANY, OPEN, "", "[*>!] {1,3}(.*?)(?: ?\xE2\x80\x8B)?$" },
	{ ROW_WORDS, ANY, OPEN, "  \xE2\x9C\xA6 ", "  \xE2\x9C\xA6 (.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "  \xE2\x97\x8F ", "  \xE2\x97\x8F (.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "  \xE2\x9C\x93 ", "  \xE2\x9C\x93 (.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "  \xE2\x96\xB3 ", "  \xE2\x96\xB3 (.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "  \xE2\x86\xBB ", "  \xE2\x86\xBB (.*)$" },
	{ ROW_ERROR, ANY, OPEN, "  \xE2\x9C\x95 ", "  \xE2\x9C\x95 (.*)$" },
	{ ROW_CALLS, ANY, OPEN, "  \xE2\x95\xAD", "  \xE2\x95\xAD" SIDE "\xE2\x95\xAE$" },
	{ ROW_BANNER_END, ANY, OPEN, "  \xE2\x95\xB0", "  \xE2\x95\xB0" SIDE "\xE2\x95\xAF$" },
	HEADS,
	{ ROW_SPINNER, ANY, OPEN, "  ", "  [^ ].*\\b(?:esc|Esc) to cancel\\)$" },
	/* its name in great letters, beside or above its box */
	{ ROW_BANNER, ANY, OPEN, "   \xE2\x96\x84", "   (?:\xE2\x96\x84){6}" },
	{ ROW_BANNER, ANY, OPEN, "  \xE2", "  [^>]*>_ Qwen Code \\(v(\\d[\\d.]*)\\)" },
	GRAMMAR_RULE_LINE,
	GRAMMAR_RULE_DEAD,
};

static const struct grammar_next qwen_next[] = {
	{ ROW_HEAD, "", SIGN_FIRST },
	{ ROW_HEAD_MAYBE, "", SIGN_FIRST },
	{ ROW_BOX, "", "*>!" },
	{ ROW_SPINNER, "  ", "\xE2." },
	{ ROW_BLANK, NULL, NULL },
};

static const struct grammar_cue sayings[] = {
	{ CUE_PLACEHOLDER, ANY, OPEN, "Type your message or @path/to/file$" },
	{ CUE_WAITING, ANY, OPEN, "\\? " },
	{ CUE_RUNNING, ANY, OPEN, "(?:o |\\.{1,3}|\xE2\x8A[\xB6\xB7]|" GRAMMAR_BRAILLE ")" },
	{ CUE_FAILED, ANY, OPEN, "[x-] " },
	{ CUE_INTERRUPTED, ANY, OPEN, "Request cancelled\\." },
	{ CUE_LIMIT, ANY, OPEN, "Usage limit reached for " },
	{ CUE_COUNT, ANY, OPEN, NULL },
};

/* Measured in panes of 100 columns. Qwen makes rows that are two columns too wide. */
static const struct grammar_layout_until gemini_pages[] = {
	{ OPEN,
	    { GOES_ON_INDENTED, .prompt_indent = 3, .words_indent = 2, .result_indent = 4, .prompt_margin = 1,
		.breaks = true, .numbered = true } },
};

static const struct grammar_layout_until qwen_pages[] = {
	{ OPEN,
	    { GOES_ON_INDENTED, .prompt_indent = 4, .words_indent = 4, .result_indent = 4, .breaks = true,
		.blank_stays = true, .overhang = 2, .numbered = true } },
};

const struct grammar_table grammar_gemini = {
	.layout = SCREEN_BULLETED, .program = "Gemini CLI", .rules = gemini_rules,
	.n_rules = sizeof gemini_rules / sizeof *gemini_rules, .next = gemini_next, .sayings = sayings,
	.pages = gemini_pages,
};

const struct grammar_table grammar_qwen = {
	/* 0.24 draws on the alternate screen, with another mark and a bar at the right */
	.foreign = "\n  \xE2\x97\x86\xEF\xB8\x8E ",
	.layout = SCREEN_BULLETED, .program = "Qwen Code", .rules = qwen_rules,
	.n_rules = sizeof qwen_rules / sizeof *qwen_rules, .next = qwen_next, .sayings = sayings,
	.pages = qwen_pages,
};
