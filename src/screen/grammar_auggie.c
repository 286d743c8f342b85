#include "screen/screen_private.h"

/*
 * Auggie, recorded with 0.36.0. Words and calls have the same mark; the names of its tools are
 * those that its code has.
 */
#define ANY GRAMMAR_ANY
#define OPEN GRAMMAR_OPEN

#define MARK "\xE2\x97\x8F "
#define NAMES                                                                                                \
	"(?:Add Tasks|Codebase search|Diagnostics|Edit File|Execute Tool|Find Tool|Git commit search|Grep "  \
	"Search|Kill Process|"                                                                               \
	"List Processes|Open Browser|Read Directory|Read Process|Read Terminal|Reorganize Tasks|Save "       \
	"File|Search Content|Terminal|"                                                                      \
	"Update Tasks|View Range|View Task List|Web Fetch|Web Search|Write Process)"

static const struct grammar_rule rules[] = {
	{ ROW_TOOL, ANY, OPEN, MARK, MARK "(" NAMES ") - (.*)$" },
	{ ROW_TOOL_MAYBE, ANY, OPEN, MARK, MARK "([A-Za-z][\\w.-]*(?: [\\w.-]+){0,3}) - (.*)$" },
	{ ROW_WORDS, ANY, OPEN, MARK, MARK "(.*)$" },
	{ ROW_RESULT, ANY, OPEN, "  \xE2\x8E\xBF ", "  \xE2\x8E\xBF (.*)$" },
	{ ROW_PROMPT, ANY, OPEN, "\xE2\x80\xBA", "\xE2\x80\xBA(?: (.*))?$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2\x97\x8A ", "\xE2\x97\x8A (.*)$" },
	{ ROW_SPINNER, ANY, OPEN, " \xE2", " " GRAMMAR_BRAILLE " .*\\besc to interrupt\\b" },
	{ ROW_BANNER, ANY, OPEN, "Version ", "Version (\\d[\\d.]*) \\(commit [0-9a-f]+\\)$" },
	GRAMMAR_RULE_LINE,
	GRAMMAR_RULE_DEAD,
};

static const struct grammar_cue sayings[] = {
	{ CUE_FAILED, ANY, OPEN, "Command error$" },
	{ CUE_COUNT, ANY, OPEN, NULL },
};

/* Prompts go on in column 0. Measured in a pane of 100 columns. */
static const struct grammar_layout_until pages[] = {
	{ OPEN,
	    { GOES_ON_INDENTED, .words_indent = 2, .input_indent = 2, .result_indent = 4, .prompt_margin = 1,
		.words_margin = 7, .input_margin = 1, .breaks = true } },
};

const struct grammar_table grammar_auggie = {
	.layout = SCREEN_BULLETED, .program = "Auggie", .rules = rules,
	.n_rules = sizeof rules / sizeof *rules, .sayings = sayings, .pages = pages,
};
