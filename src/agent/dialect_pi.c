#include "agent/dialect_table.h"

/*
 * Pi, recorded with 0.74.2, seen with 0.87.1. It has no marks: prompts and calls stand on a background, words do not, and all begin in column 1. The heads of
 * calls are bold; those of other tools than the shell are as its code has them.
 */
#define ANY DIALECT_ANY
#define OPEN DIALECT_OPEN

static const struct rule rules[] = {
	{ ROW_TOOL_MAYBE, ANY, OPEN, " $ ", " (\\$) (.*)$" },
	{ ROW_TOOL_MAYBE, ANY, OPEN, " ", " (read|write|edit|ls|grep|find)(?: (.*))?$" },
	{ ROW_SPINNER, ANY, OPEN, " \xE2", " " DIALECT_BRAILLE " Working\\.\\.\\." },
	{ ROW_BANNER, ANY, OPEN, " pi v", " pi v(\\d[\\d.]*)$" },
	{ ROW_NOTICE, ANY, OPEN, " Warning: ", " (Warning: .*)$" },
	{ ROW_FOOT, ANY, OPEN, "", ".*\\d%/\\d+[kM]? \\(auto\\) " },
	DIALECT_RULE_LINE,
	/* 0.87 */
	{ ROW_RULE, ANY, OPEN, "\xE2\x94\x80\xE2\x94\x80 ", "\xE2\x94\x80\xE2\x94\x80 " DIALECT_BRAILLE " (Working) " DIALECT_LINE "$" },
	DIALECT_RULE_DEAD,
};

static const struct rule_next next[] = {
	{ ROW_TOOL_MAYBE, " ", "rwelgf" },
	{ ROW_FOOT, "", "\xE2" "0123456789?" },
	{ ROW_BLANK, NULL, NULL },
};

static const struct saying sayings[] = {
	{ PHRASE_RUNNING, ANY, OPEN, "Elapsed \\d[\\d.]*s$" },
	{ PHRASE_NOISE, ANY, OPEN, "(?:Elapsed|Took) \\d[\\d.]*s$" },
	{ PHRASE_FAILED, ANY, OPEN, "Command (?:exited with code \\d+|aborted|timed out after .*)$" },
	DIALECT_SAYING_LIST,
	{ PHRASE_COUNT, ANY, OPEN, NULL },
};

static const struct saying_first first[] = {
	DIALECT_FIRST_LIST,
	{ PHRASE_COUNT, NULL },
};

static const struct folded_verb verbs[] = {
	{ "$", "bash", false },
	{ NULL, NULL, false },
};

static const struct dialog_title dialogs[] = {
	{ NULL, NULL, false },
};

static const struct page_until pages[] = {
	{ OPEN, { .prompt_indent = 1, .prompt_margin = 1, .words_margin = 1, .breaks = true, .words_indent = 1 } },
};

const struct dialect_table dialect_pi = {
	.layout = LAYOUT_BLOCKS, .program = "pi", .rules = rules, .n_rules = sizeof rules / sizeof *rules,
	.next = next, .sayings = sayings, .first = first, .verbs = verbs, .dialogs = dialogs, .pages = pages,
};
