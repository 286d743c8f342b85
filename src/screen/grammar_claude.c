#include "screen/screen_private.h"

#define V GRAMMAR_V
#define ANY GRAMMAR_ANY
#define OPEN GRAMMAR_OPEN
#define ONE V(1, 999, 999)
#define OLD V(2, 0, 999)	/* the last version with an ASCII prompt */
#define NEW V(2, 1, 0)

#define NBSP "\xC2\xA0"
#define DIGITS "0123456789"
/* Bullet of Linux and of macOS; 2.1.197 puts an NBSP behind it for "User answered". */
#define BULLET "(?:\xE2\x97\x8F|\xE2\x8F\xBA)(?: |" NBSP ")"
#define TOOLS                                                                                                \
	"(?:Bash|BashOutput|Update|Edit|MultiEdit|Write|Create|Overwrite|Read|Fetch|WebFetch|Web "           \
	"Search|WebSearch|Agent|Task|Skill|"                                                                 \
	"Search|Glob|Grep|List|LS|Explore|Plan|NotebookEdit|Edit Notebook|Task Output|Task Stop|Kill "       \
	"Shell|KillShell|LSP|Monitor|"                                                                       \
	"AskUserQuestion|ExitPlanMode|TodoWrite|ToolSearch|SlashCommand)"
#define FOLDED                                                                                               \
	"(?:Read|Reading|Listed|Listing|Searched|Searching|Ran|Running|Edited|Editing|Wrote|Writing|"        \
	"Created|Creating|"                                                                                  \
	"Called|Calling|Queried|Querying|Fetched|Fetching|Recalled|Recalling|Updated|Updating)"
#define COUNTED "(?: for)? \\d+ [a-z]+(?: [a-z]+)?"

#define SPINNER                                                                                              \
	"(?:\xC2\xB7|\xE2\x9C\xA2|\\*|\xE2\x9C\xB6|\xE2\x9C\xBB|\xE2\x9C\xBD|\xE2\x9C\xB3) [^ "              \
	"].*\xE2\x80\xA6"

/* Seen in captures of 1.0.128, 2.0.76, 2.1.37, 2.1.197 and 2.1.330 unless said otherwise. */
static const struct grammar_rule claude_rules[] = {
	{ ROW_RESULT, ANY, OPEN, "  \xE2\x8E\xBF", "  \xE2\x8E\xBF " NBSP "(.*)$" },
	/* the program's own words: to a command that it does not know, older versions give a prompt's mark */
	{ ROW_NOTICE, ANY, OLD, "> Unknown", "> (Unknown (?:slash command|skill): [^ ]+)$" },
	{ ROW_NOTICE, NEW, V(2, 1, 99), "\xE2\x9D\xAF Unknown",
	    "\xE2\x9D\xAF (Unknown (?:slash command|skill): [^ ]+)$" },
	{ ROW_PROMPT, NEW, OPEN, "\xE2\x9D\xAF ", "\xE2\x9D\xAF (.*)$" },
	{ ROW_BOX, NEW, OPEN, "\xE2\x9D\xAF" NBSP, "\xE2\x9D\xAF" NBSP "(.*)$" },
	{ ROW_PROMPT, ANY, OLD, "> ", "> (.*)$" },
	{ ROW_BOX, ANY, OLD, ">", ">(?:" NBSP "(.*))?$" },
	{ ROW_BOX, ANY, OPEN, "!" NBSP, "!" NBSP "(.*)$" },
	{ ROW_SHELL, ANY, OPEN, "! ", "! (.*)$" },

	{ ROW_ERROR, ANY, V(2, 1, 99), "  \xE2\x8E\xBF ", "  \xE2\x8E\xBF (API Error\\b.*)$" },
	{ ROW_ERROR, ANY, OPEN, "\xE2", BULLET "(API Error\\b.*)$" },
	{ ROW_THOUGHT, ANY, OPEN, "\xE2", "(?:" BULLET "|\xE2\x88\xB4 )Thought for \\d.*\\)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2",
	    BULLET "((?:Ran \\d+ .*hooks?\\b|Agent \"|Background (?:command|agent) \"|Monitor event: |"
		   "(?:Background|Dynamic) .* didn't finish before the previous session ended|"
		   "No completion record was found for this background |"
		   "\\w+ operation blocked by "
		   "hook\\b|Unknown command: /).*)$" },
	{ ROW_NOTICE, V(2, 1, 300), OPEN, "\xE2",
	    BULLET "(Auto mode (?:can't check actions|lets Claude handle permission prompts)\\b.*)$" },
	{ ROW_NOTICE, ANY, ONE, "\xE2",
	    BULLET "((?:(?:Pre|Post)ToolUse|(?:Subagent)?Stop|Notification|UserPromptSubmit|Session(?:Start|"
		   "End)|PreCompact) \\[.*)$" },
	{ ROW_ANSWERS, ANY, OPEN, "\xE2",
	    BULLET "(User (?:answered|declined|approved|rejected) .*|Exited plan mode)$" },
	{ ROW_ANSWERS, ANY, ONE, "\xE2", "(?:\xE2\x97\x8F|\xE2\x8F\xBA)(User approved Claude's plan:)$" },
	{ ROW_ANSWERS, V(2, 1, 300), OPEN, "\xE2",
	    BULLET "((?:Answered|Declined to answer) Claude's questions?\\b.*)$" },
	{ ROW_AGENTS, ANY, OPEN, "\xE2", BULLET "(Running \\d+ .*agents?\xE2\x80\xA6.*)$" },
	{ ROW_AGENTS, ANY, OPEN, "\xE2", BULLET "(\\d+ .*agents? (?:finished|launched|completed).*)$" },
	{ ROW_COLLAPSED, ANY, OPEN, "\xE2", BULLET "(" FOLDED " .*)$" },
	{ ROW_TOOL, ANY, OPEN, "\xE2", BULLET "(" TOOLS ")\\((.*)$" },
	{ ROW_TOOL, ANY, OPEN, "\xE2", BULLET "([\\w.-]+ - [\\w .-]+ \\(MCP\\))(?:\\((.*))?$" },
	{ ROW_TOOL_MAYBE, ANY, OPEN, "\xE2", BULLET "([A-Za-z][\\w:-]*(?: [A-Z]\\w*)?)\\((.*)$" },
	{ ROW_WORDS, ANY, OPEN, "\xE2", "(?:\xE2\x97\x8F|\xE2\x8F\xBA)(?:(?: |" NBSP ")(.*))?$" },

	{ ROW_RETRY, ANY, OPEN, "\xE2\x9C\xBB", "\xE2\x9C\xBB (API error\\b.*)$" },
	{ ROW_RETRY, V(2, 1, 300), OPEN, "\xE2\x9C\xBB",
	    "\xE2\x9C\xBB (\\d{3} .* retrying in \\d+s \xC2\xB7 attempt \\d.*)$" },
	{ ROW_COMPACTED, ANY, OPEN, "\xE2\x9C\xBB", "\xE2\x9C\xBB (Conversation compacted.*)$" },
	{ ROW_COMPACTED, ANY, OLD, "\xE2\x95\x90",
	    "(?:\xE2\x95\x90)++ (Conversation compacted .*[^ ]) (?:\xE2\x95\x90)++$" },
	{ ROW_THOUGHT, ANY, ONE, "\xE2\x9C\xBB", "\xE2\x9C\xBB (Thinking\xE2\x80\xA6)$" },
	{ ROW_TURN_END, ANY, OPEN, "\xE2\x9C\xBB", "\xE2\x9C\xBB [^ ]+ for \\d+[smhd]" },
	{ ROW_TURN_END, ANY, OPEN, "\xE2\x9C\xBB", "\xE2\x9C\xBB Waiting for \\d+ " },
	{ ROW_SPINNER, NEW, OPEN, "", SPINNER "(?: \\(.*)?$" },
	{ ROW_SPINNER, ANY, OLD, "", SPINNER " \\(.*$" },

	{ ROW_RULE, ANY, OPEN, "\xE2\x94\x80", "(?:\xE2\x94\x80){10,}+(?: .{1,80} (?:\xE2\x94\x80)++)?$" },

	{ ROW_BANNER, ANY, OPEN, " \xE2\x96\x90",
	    " \xE2\x96\x90\xE2\x96\x9B\xE2\x96\x88[^ ]*(?: +Claude Code v(\\d[\\d.]*)| |$)" },
	/* in a pane of less than about 50 columns the name stands above the picture */
	{ ROW_BANNER, NEW, OPEN, "           C", " {11}Claude Code v(\\d[\\d.]*)$" },
	{ ROW_BANNER, ANY, OPEN, "\xE2\x96\x9D", "\xE2\x96\x9D\xE2\x96\x9C\xE2\x96\x88" },
	{ ROW_BANNER, ANY, OPEN, "  \xE2\x96\x98\xE2\x96\x98 ",
	    "  \xE2\x96\x98\xE2\x96\x98 \xE2\x96\x9D\xE2\x96\x9D" },
	{ ROW_BANNER, V(2, 1, 240), OPEN, " \xE2\x96\x9D\xE2\x96\x9D",
	    " \xE2\x96\x9D\xE2\x96\x9D.{3,6}\xE2\x96\x9D\xE2\x96\x9D" },
	{ ROW_BANNER, ANY, OLD, " * ", " \\* \xE2\x96\x90\xE2\x96\x9B.* Claude Code v(\\d[\\d.]*)" },
	{ ROW_BANNER, ANY, OLD, "* ", "\\* \xE2\x96\x9D\xE2\x96\x9C" },
	{ ROW_BANNER, ANY, OLD, " *  ", " \\*  \xE2\x96\x98\xE2\x96\x98" },
	/* news below the banner; a quote of the model is further right */
	{ ROW_NEWS, V(2, 1, 300), OPEN, "\xE2\x96\x8E ", "\xE2\x96\x8E (.*)$" },
	/* of the model: "Claude Sonnet 4.5 retires …" */
	{ ROW_NEWS, V(2, 1, 240), OPEN, "\xE2\x9A\xA0 ", "\xE2\x9A\xA0 (.*)$" },
	/* in a narrow pane without the version */
	{ ROW_BANNER_TOP, ANY, OPEN, "\xE2\x95\xAD",
	    "\xE2\x95\xAD(?:\xE2\x94\x80)+ Claude Code (?:v(\\d[\\d.]*) )?\xE2\x94\x80" },
	{ ROW_BANNER_TOP, ANY, ONE, "\xE2\x94\x82 \xE2\x9C\xBB",
	    "\xE2\x94\x82 \xE2\x9C\xBB Welcome to Claude Code! +\xE2\x94\x82$" },
	{ ROW_FRAME, ANY, OLD, "\xE2\x95\xAD", "\xE2\x95\xAD(?:\xE2\x94\x80){10,}+\xE2\x95\xAE$" },
	{ ROW_BODY, ANY, ONE, " Tips", " Tips for getting started:$" },
	/* what a session cost, when it has ended */
	{ ROW_NOTICE, ANY, ONE, "Total cost: ", "(Total cost: +\\$.*)$" },
	{ ROW_BODY, ANY, ONE, "Total ", "Total (?:duration \\((?:API|wall)\\)|code changes): " },
	{ ROW_BODY, ANY, ONE, "Usage by model:", "Usage by model:$" },
	{ ROW_BANNER_END, ANY, OPEN, "\xE2\x95\xB0", "\xE2\x95\xB0(?:\xE2\x94\x80)+\xE2\x95\xAF$" },

	{ ROW_THOUGHT, ANY, OPEN, "  T", "  Thought for \\d.*\\)$" },
	{ ROW_AGENTS, ANY, OPEN, "  R", "  (Running \\d+ .*agents?\xE2\x80\xA6.*)$" },
	{ ROW_AGENTS, ANY, OPEN, "  ", "  (\\d+ .*agents? (?:finished|launched|completed).*)$" },
	{ ROW_COLLAPSED, V(2, 1, 100), OPEN, "  ", "  (" FOLDED " .*)$" },
	{ ROW_TOOL_BLINK, ANY, OPEN, "  ", "  (" TOOLS ")\\((.*)$" },

	/* the view of Ctrl+O puts time and model above each answer */
	{ ROW_BLANK, NEW, OPEN, "          ", " {10,}\\d\\d:\\d\\d [AP]M [\\w.:-]+$" },
	/* echo of a terminal that lost or got the focus before the program listened */
	{ ROW_BLANK, ANY, OPEN, "^[[", "(?:\\^\\[\\[[IO])+$" },

	GRAMMAR_RULE_DEAD,
	{ ROW_FAREWELL, ANY, OPEN, "Resume this", "Resume this session with:$" },
	{ ROW_RESUME, ANY, OPEN, "claude ", "claude (?:.* )?--resume ([\\w-]+|\".*\")$" },
};

static const struct grammar_next claude_next[] = {
	{ ROW_SPINNER, "", "\xC2\xE2*" },
	{ ROW_AGENTS, "  ", DIGITS },
	{ ROW_COLLAPSED, "  ", "CEFLQRSUW" },
	{ ROW_TOOL_BLINK, "  ", "ABCDEFGHIJKLMNOPQRSTUVWXYZ" },
	{ ROW_BLANK, NULL, NULL },
};

/* The screen-reader mode, 2.1.197 and 2.1.330. */
static const struct grammar_rule flat_rules[] = {
	{ ROW_PROMPT, ANY, OPEN, "you:", "you: (.*)$" },
	{ ROW_PROMPT, ANY, OPEN, "\xE2\x9D\xAF ", "\xE2\x9D\xAF (/.*)$" },
	{ ROW_WORDS, ANY, OPEN, "claude:", "claude: (.*)$" },
	{ ROW_TOOL, ANY, OPEN, "tool",
	    "tool(?: error)?: (" TOOLS "|[\\w.:-]+(?: - [\\w .-]+)?)(?: \\((.*))?$" },
	{ ROW_BANNER, ANY, OPEN, "[", "\\[(?:Accessible screen reader mode|Screen Reader Mode): on" },
	/* behind the echo of what was typed ahead */
	{ ROW_BANNER, ANY, OPEN, "",
	    ".*\\[(?:Accessible screen reader mode|Screen Reader Mode): on[^]]*\\]$" },
	{ ROW_BANNER, ANY, OPEN, "Claude Code v", "Claude Code v(\\d[\\d.]*)$" },
	{ ROW_THOUGHT, ANY, OPEN, "Thought for ", "Thought for \\d.*\\)$" },
	{ ROW_DIALOG, ANY, OPEN, "Permission Required:", "Permission Required: (.*)$" },
	{ ROW_COLLAPSED, ANY, OPEN, "", "(" FOLDED " .*) \\(ctrl\\+o to expand\\)$" },
	{ ROW_BOX, ANY, OPEN, "$", "\\$(?:" NBSP "(.*))?$" },
	{ ROW_FOOT, ANY, OPEN, "", "(?:bypass permissions|accept edits|plan mode|auto mode) on\\b" },
	{ ROW_FOOT, ANY, OPEN, "",
	    "(?:paste again to expand|\\? for shortcuts\\b.*|Press .* again to exit)$" },
	{ ROW_FOOT, ANY, OPEN, "", "(?:effort: |\xE2\x97[\x80-\xBF] )\\w+ \xC2\xB7 /effort$" },
	{ ROW_TURN_END, ANY, OPEN, "", "[A-Z\xC3][^ ]* for (?:\\d+[smhd] ?)+(?: \xC2\xB7 .*)?$" },
	{ ROW_SPINNER, ANY, OPEN, "",
	    "(?!Waiting|Running)[A-Z\xC3][^ ]*\xE2\x80\xA6(?:[ \xC2\xA0]+\\(.*)?$" },
	GRAMMAR_RULE_DEAD,
};

static const struct grammar_cue claude_sayings[] = {
	{ CUE_PLACEHOLDER, ANY, OPEN, "Try \"" },
	{ CUE_PLACEHOLDER, ANY, OPEN, "Press up to edit queued messages$" },
	{ CUE_LIMIT, ANY, OPEN, "(?:You've|You\xE2\x80\x99ve) hit your .*limit" },
	{ CUE_LIMIT, ANY, OPEN, "(?:[\\w-]+ ){0,4}limit(?: reached)? (?:\xC2\xB7|\xE2\x88\x99) resets" },
	{ CUE_LIMIT, ANY, OPEN, "Claude (?:AI )?usage limit reached" },
	{ CUE_LIMIT, ANY, OPEN, "(?:\\d\\. )?Stop and wait for limit to reset" },
	{ CUE_LIMIT, ANY, OPEN, "(?:\\d\\. )?Add funds to continue with extra usage" },
	{ CUE_LIMIT, ANY, OPEN, "API Error: (?:Rate limit reached|429|Request rejected \\(429\\))" },
	{ CUE_LOGIN, ANY, OPEN, "API Error: (?:401|403)\\b" },
	{ CUE_LOGIN, V(2, 1, 300), OPEN, "(?:401|403) .*retrying in \\d+s " },
	{ CUE_LOGIN, ANY, OPEN, "(?:API Error: )?OAuth token (?:has been |has )?(?:revoked|expired)" },
	{ CUE_LOGIN, ANY, OPEN, "Invalid API key" },
	{ CUE_LOGIN, ANY, OPEN, "Please run /login" },
	{ CUE_LOGIN, ANY, OPEN, "Not logged in" },
	{ CUE_LIMIT, ANY, OPEN, "Credit balance is too low" },
	{ CUE_EXPAND, ANY, OPEN, ".*\\(ctrl\\+o to expand\\)$" },
	{ CUE_FOLD, V(2, 1, 100), OPEN, "(?:" BULLET ")?" FOLDED COUNTED
		"(?:, [a-z]+" COUNTED "){0,8}(?: \xC2\xB7 \\d+ failed)?(?:\xE2\x80\xA6)?$" },
	{ CUE_WAITING, ANY, OPEN, "Waiting(?:\xE2\x80\xA6|\\.\\.\\.)$" },
	{ CUE_RUNNING, ANY, OPEN, "Running(?:\xE2\x80\xA6|\\.\\.\\.)(?: \\(.*\\))?$" },
	{ CUE_RUNNING, ANY, OPEN, "(?:Initializing|Fetching|Searching)(?:\xE2\x80\xA6|\\.\\.\\.)$" },
	{ CUE_RUNNING, ANY, OPEN, "(?:\xE2\x80\xA6 )?\\+\\d+ (?:more )?lines? \\((?:\\d+[hms] ?)+\\)$" },
	{ CUE_RUNNING, ANY, OPEN, "\\(?ctrl\\+b (?:ctrl\\+b )?(?:\\(twice\\) )?to run in background\\)?$" },
	{ CUE_MORE, ANY, OPEN, "(?:\xE2\x80\xA6 )?\\+\\d+ (?:more )?lines? \\(ctrl\\+o " },
	{ CUE_NOISE, ANY, OPEN, "\\(?ctrl\\+b (?:ctrl\\+b )?(?:\\(twice\\) )?to run in background\\)?$" },
	{ CUE_NOISE, ANY, OPEN, "\\(ctrl\\+o to expand\\)$" },
	{ CUE_FAILED, ANY, OPEN, "Error(?::| (?:editing|writing|reading) file)" },
	{ CUE_FAILED, ANY, OPEN, "(?:Couldn't|Could not) (?:edit|write|read) file" },
	{ CUE_FAILED, ANY, OPEN, "API Error" },
	{ CUE_INTERRUPTED, ANY, OPEN, "Interrupted (?:\xC2\xB7|by user)" },
	{ CUE_INTERRUPTED, ANY, OPEN, "(?:User rejected|No \\(tell Claude)" },
	{ CUE_OPTION, ANY, OPEN, "(?:\xE2\x94\x82 +)?(?:\xE2\x9D\xAF|>) \\d+\\. " },
	{ CUE_REJECTED_PLAN, ANY, OPEN, "User (?:rejected|approved) Claude's plan" },
	{ CUE_FOOT, ANY, OPEN, "(?:\xE2\x8F\xB5\xE2\x8F\xB5|\xE2\x8F\xB8) .* on\\b" },
	{ CUE_FOOT, ANY, OPEN, "\\? for shortcuts\\b" },
	{ CUE_KEYS, ANY, OPEN, ".*(?:\xC2\xB7 /effort)$" },
	{ CUE_BUSY, ANY, OPEN, ".*esc to interrupt" },
	{ CUE_QUEUED, ANY, OPEN, "\xE2\x9D\xAF " },
	/* 2.1.289 and 2.1.310 without the first words */
	{ CUE_QUEUE_FOOT, V(2, 1, 240), OPEN,
	    "(?:\xE2\x8E\xBF  Queued \xC2\xB7 )?ctrl\\+x ctrl\\+s to send now$" },
	{ CUE_MARKED, ANY, OLD, "> " },
	{ CUE_DIALOG, ANY, OPEN, "(?:Esc to cancel|Enter to select|Enter to confirm)" },
	{ CUE_DIALOG, V(2, 1, 300), OPEN, "Enter to .* \xC2\xB7 Esc to cancel$" },
	{ CUE_VIEW, ANY, OPEN, "Showing (?:\\w+ )?transcript\\b" },
	{ CUE_COMMAND, ANY, OPEN, "/\\w" },
	{ CUE_SHELL, V(2, 1, 100), OPEN, "\xE2\x8E\xBF  \\$ " },
	{ CUE_COMMAND_OUTPUT, ANY, OPEN, "\xE2\x8E\xBF  " },
	{ CUE_SQUEEZED, ANY, V(2, 1, 99), "\xE2\x8E\xBF (?! |" NBSP ")." },
	/* its words stand in their columns, between letters of the box and of the picture */
	{ CUE_REDRAWN, NEW, OPEN, ".*Claude.{1,4}Code.{1,4}v\\d+\\.\\d" },
	{ CUE_TREE, ANY, OPEN, "\xE2\x94[\x9C\x94] " },
	{ CUE_TASK_HEAD, ANY, OPEN, "\\d+ tasks? \\(\\d+ .*\\)$" },
	{ CUE_TASK_HEAD, V(2, 1, 300), OPEN, "\\d+/\\d+ tasks? done(?: \xC2\xB7 .*)?$" },
	{ CUE_TASK, ANY, OPEN, "(?:\xE2\x9C\x94|\xE2\x97\xBC|\xE2\x97\xBB|\xE2\x98\x90|\xE2\x98\x92) " },
	{ CUE_COUNT, ANY, OPEN, NULL },
};

static const struct folded_verb claude_verbs[] = {
	{ "Read", "Read", false }, { "Reading", "Read", true }, { "Listed", "List", false },
	{ "Listing", "List", true }, { "Searched", "Search", false }, { "Searching", "Search", true },
	{ "Edited", "Edit", false }, { "Editing", "Edit", true }, { "Wrote", "Write", false },
	{ "Writing", "Write", true }, { "Created", "Write", false }, { "Creating", "Write", true },
	{ "Fetched", "Fetch", false }, { "Fetching", "Fetch", true }, { "Updated", "Edit", false },
	{ "Updating", "Edit", true }, { "Ran", "Calls", false }, { "Running", "Calls", true },
	{ "Called", "Calls", false }, { "Calling", "Calls", true }, { "Queried", "Calls", false },
	{ "Querying", "Calls", true }, { "Recalled", "Calls", false }, { "Recalling", "Calls", true },
	{ NULL, NULL, false },
};

static const struct dialog_title claude_dialogs[] = {
	{ "Bash command", "Bash", false }, { "Create file", "Write", true },
	{ "Overwrite file", "Write", true }, { "Edit file", "Update", true },
	{ "Read file", "Read", true }, { "Fetch", "Fetch", true },
	{ "Web search", "Web Search", false }, { "Use skill", "Skill", false },
	{ "Exit plan mode?", "ExitPlanMode", false }, { "Ready to code?", "ExitPlanMode", false },
	{ "\xE2\x86\x90 ", "AskUserQuestion", false }, { "\xE2\x98\x90 ", "AskUserQuestion", false },
	{ NULL, NULL, false },
};

#define CLASSIC                                                                                              \
	.goes_on = GOES_ON_BODY, .words_indent = 2, .input_indent = 6, .result_indent = 5,                   \
	.busy_foot = true, .limit_words = true, .completed = "/@!"

/* Measured on 1.0.128, 2.0.76, 2.1.37, 2.1.197 and 2.1.330. */
static const struct grammar_layout_until claude_pages[] = {
	{ ONE, { CLASSIC, .prompt_margin = 4, .words_margin = 4, .breaks = true, .blank_stays = true } },
	{ OLD, { CLASSIC, .prompt_margin = 4, .blank_stays = true } },
	{ OPEN, { CLASSIC, .prompt_indent = 2, .prompt_margin = 1, .breaks = true } },
};

static const struct grammar_layout_until flat_pages[] = {
	{ OPEN, { .goes_on = GOES_ON_FLAT, .breaks = true, .blank_stays = true, .busy_foot = true } },
};

_Static_assert(sizeof claude_rules / sizeof *claude_rules <= GRAMMAR_RULES &&
	sizeof flat_rules / sizeof *flat_rules <= GRAMMAR_RULES,
    "a set of rules is a word");
_Static_assert(
    sizeof claude_sayings / sizeof *claude_sayings <= GRAMMAR_CUES, "each cue has its place in a grammar");

const struct grammar_table grammar_claude = {
	.layout = SCREEN_CLAUDE, .program = "", .rules = claude_rules,
	.n_rules = sizeof claude_rules / sizeof *claude_rules, .next = claude_next, .sayings = claude_sayings,
	.verbs = claude_verbs, .dialogs = claude_dialogs, .pages = claude_pages,
};

const struct grammar_table grammar_claude_accessible = {
	.layout = SCREEN_ACCESSIBLE, .program = "", .rules = flat_rules,
	.n_rules = sizeof flat_rules / sizeof *flat_rules, .sayings = claude_sayings,
	.verbs = claude_verbs, .dialogs = claude_dialogs, .pages = flat_pages,
};
