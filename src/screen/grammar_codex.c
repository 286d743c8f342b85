#include "screen/screen_private.h"

/*
 * Codex, recorded with 0.169.0 (seen with 0.98.0, too): with --no-alt-screen all of a
 * conversation, else the last screen. Words and calls have the same mark; the verb of a call is
 * bold. A command that runs is not shown before it has ended or ten seconds are over.
 */
#define ANY GRAMMAR_ANY
#define OPEN GRAMMAR_OPEN

#define MARK "\xE2\x80\xA2 "
#define FOLDED "(?:Explored|Exploring|Searched|Searching)"
#define VERBS "(?:Ran|Running|Edited|Added|Deleted|Called|Calling)"

static const struct grammar_rule rules[] = {
	{ ROW_SPINNER, ANY, OPEN, MARK,
	    MARK "[^ ].*\\(.*\\besc to interrupt\\)(?: \xC2\xB7 (\\d+ background terminals? "
		 "running)\\b.*)?" },
	{ ROW_SPINNER, ANY, OPEN, "\xE2\x97\xA6 ", "\xE2\x97\xA6 [^ ].*\\(.*\\besc to interrupt\\)" },
	{ ROW_SPINNER, ANY, OPEN, "  ", "  (\\d+ background terminals? running) \xC2\xB7 /ps to view\\b" },
	{ ROW_COMPACTED, ANY, OPEN, MARK, MARK "(Context compacted)$" },
	{ ROW_TASKS, ANY, OPEN, MARK, MARK "Updated Plan$" },
	{ ROW_COLLAPSED, ANY, OPEN, MARK, MARK "(" FOLDED "\\b.*)$" },
	{ ROW_NOTICE, ANY, OPEN, MARK, MARK "((?:Waited for|Interacted with) background terminal\\b.*)$" },
	{ ROW_TOOL_MAYBE, ANY, OPEN, MARK, MARK "(" VERBS ") (.*)$" },
	{ ROW_WORDS, ANY, OPEN, MARK, MARK "(.*)$" },
	{ ROW_RESULT, ANY, OPEN, "  \xE2\x94\x94 ", "  \xE2\x94\x94 (.*)$" },
	{ ROW_TURN_END, ANY, OPEN, "  Worked for ",
	    "  Worked for <?\\d[\\dhms ]* \xE2\x80\xA2 \\d\\d:\\d\\d$" },
	{ ROW_PROMPT, ANY, OPEN, "\xE2\x80\xBA", "\xE2\x80\xBA(?: (.*))?$" },
	{ ROW_ERROR, ANY, OPEN, "\xE2\x96\xA0 ", "\xE2\x96\xA0 (.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2\x9A\xA0 ", "\xE2\x9A\xA0 +(.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2\x9C\x94 ", "\xE2\x9C\x94 (.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2\x9C\x97 ", "\xE2\x9C\x97 (.*)$" },
	{ ROW_BANNER, ANY, OPEN, "  >_ OpenAI", "  >_ OpenAI Codex \\(v(\\d[\\d.]*)\\)$" },
	/* 0.98 has a box around it */
	{ ROW_BANNER, ANY, OPEN, "\xE2\x94\x82 >_ OpenAI",
	    "\xE2\x94\x82 >_ OpenAI Codex \\(v(\\d[\\d.]*)\\) +\xE2\x94\x82$" },
	{ ROW_BANNER, ANY, OPEN, "\xE2\x95\xAD", "\xE2\x95\xAD(?:\xE2\x94\x80){10,}+\xE2\x95\xAE$" },
	GRAMMAR_RULE_DEAD,
};

static const struct grammar_next next[] = {
	{ ROW_SPINNER, "  ", "0123456789" },
	{ ROW_BLANK, NULL, NULL },
};

static const struct grammar_cue sayings[] = {
	{ CUE_PLACEHOLDER, ANY, OPEN, "Ask Codex to do anything$" },
	{ CUE_PLACEHOLDER, ANY, OPEN,
	    "(?:Explain this codebase|Summarize recent commits|Implement \\{feature\\}|"
	    "(?:Find and fix a bug|Write tests for|Improve documentation) (?:in )?@filename|Run /review on "
	    "my current changes|"
	    "Use /skills to list available skills)$" },
	{ CUE_FOOT, ANY, OPEN, "(?:\\? for shortcuts\\b.*|\\d{1,3}% context left)$" },
	{ CUE_KEYS, ANY, OPEN, "[^ ].* \xC2\xB7 [~/]" }, /* model and folder, below the box */
	{ CUE_INTERRUPTED, ANY, OPEN, "Conversation interrupted\\b" },
	{ CUE_LIMIT, ANY, OPEN, "You(?:'|\xE2\x80\x99)ve hit your usage limit" },
	{ CUE_COUNT, ANY, OPEN, NULL },
};

static const struct folded_verb verbs[] = {
	{ "Ran", "Shell", false }, { "Running", "Shell", true }, { "Edited", "Edit", false },
	{ "Added", "Write", false }, { "Deleted", "Delete", false }, { "Called", "Calls", false },
	{ "Calling", "Calls", true }, { "Explored", "Read", false }, { "Exploring", "Read", true },
	{ "Searched", "Search", false }, { "Searching", "Search", true },
	{ NULL, NULL, false },
};

static const struct grammar_layout_until pages[] = {
	{ OPEN,
	    { GOES_ON_INDENTED, .prompt_indent = 2, .words_indent = 2, .input_indent = 2, .result_indent = 4,
		.prompt_margin = 1, .input_margin = 1, .breaks = true, .ends_turns = GRAMMAR_V(0, 169, 0) } },
};

const struct grammar_table grammar_codex = {
	.layout = SCREEN_BULLETED, .program = "OpenAI Codex", .rules = rules,
	.n_rules = sizeof rules / sizeof *rules, .next = next, .sayings = sayings, .verbs = verbs,
	.pages = pages,
};
