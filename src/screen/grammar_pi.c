#include "screen/screen_private.h"

/*
 * Pi, recorded with 0.74.2, seen with 0.87.1. It has no marks: prompts and calls stand on a
 * background, words do not, and all begin in column 1. The heads of calls are bold; those of
 * other tools than the shell are as its code has them.
 */
#define ANY GRAMMAR_ANY
#define OPEN GRAMMAR_OPEN

static const struct grammar_rule rules[] = {
	{ ROW_TOOL_MAYBE, ANY, OPEN, " $ ", " (\\$) (.*)$" },
	{ ROW_TOOL_MAYBE, ANY, OPEN, " ", " (read|write|edit|ls|grep|find)(?: (.*))?$" },
	{ ROW_SPINNER, ANY, OPEN, " \xE2", " " GRAMMAR_BRAILLE " Working\\.\\.\\." },
	{ ROW_BANNER, ANY, OPEN, " pi v", " pi v(\\d[\\d.]*)$" },
	{ ROW_NOTICE, ANY, OPEN, " Warning: ", " (Warning: .*)$" },
	{ ROW_FOOT, ANY, OPEN, "", ".*\\d%/\\d+[kM]? \\(auto\\) " },
	GRAMMAR_RULE_LINE,
	/* 0.87 */
	{ ROW_RULE, ANY, OPEN, "\xE2\x94\x80\xE2\x94\x80 ",
	    "\xE2\x94\x80\xE2\x94\x80 " GRAMMAR_BRAILLE " (Working) " GRAMMAR_LINE "$" },
	GRAMMAR_RULE_DEAD,
};

static const struct grammar_next next[] = {
	{ ROW_TOOL_MAYBE, " ", "rwelgf" },
	{ ROW_FOOT, "", "\xE2" "0123456789?" },
	{ ROW_BLANK, NULL, NULL },
};

static const struct grammar_cue sayings[] = {
	{ CUE_RUNNING, ANY, OPEN, "Elapsed \\d[\\d.]*s$" },
	{ CUE_NOISE, ANY, OPEN, "(?:Elapsed|Took) \\d[\\d.]*s$" },
	{ CUE_FAILED, ANY, OPEN, "Command (?:exited with code \\d+|aborted|timed out after .*)$" },
	{ CUE_COUNT, ANY, OPEN, NULL },
};

static const struct folded_verb verbs[] = {
	{ "$", "bash", false },
	{ NULL, NULL, false },
};

static const struct grammar_layout_until pages[] = {
	{ OPEN,
	    { GOES_ON_INDENTED, .prompt_indent = 1, .words_indent = 1, .input_indent = 1, .result_indent = 1,
		.prompt_margin = 1, .words_margin = 1, .input_margin = 1, .breaks = true,
		.unmarked = true } },
};

const struct grammar_table grammar_pi = {
	.layout = SCREEN_SHADED, .program = "pi", .rules = rules, .n_rules = sizeof rules / sizeof *rules,
	.next = next, .sayings = sayings, .verbs = verbs, .pages = pages,
};
