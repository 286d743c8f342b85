#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dialect.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"

#define V(major, minor, patch) ((major) * 1000000u + (minor) * 1000u + (patch))
#define ANY 0u
#define OPEN 0xffffffffu
#define FIRST V(1, 0, 0)
#define ONE V(1, 999, 999)
#define OLD V(2, 0, 999)	/* the last version with an ASCII prompt */
#define NEW V(2, 1, 0)

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define NBSP "\xC2\xA0"
#define DIGITS "0123456789"
/* Bullet of Linux and of macOS; 2.1.197 puts an NBSP behind it for "User answered". */
#define BULLET "(?:\xE2\x97\x8F|\xE2\x8F\xBA)(?: |" NBSP ")"
#define TOOLS "(?:Bash|BashOutput|Update|Edit|MultiEdit|Write|Create|Overwrite|Read|Fetch|WebFetch|Web Search|WebSearch|Agent|Task|Skill|" \
	"Search|Glob|Grep|List|LS|Explore|Plan|NotebookEdit|Edit Notebook|Task Output|Task Stop|Kill Shell|KillShell|LSP|Monitor|" \
	"AskUserQuestion|ExitPlanMode|TodoWrite|ToolSearch|SlashCommand)"
#define FOLDED "(?:Read|Reading|Listed|Listing|Searched|Searching|Ran|Running|Edited|Editing|Wrote|Writing|Created|Creating|" \
	"Called|Calling|Queried|Querying|Fetched|Fetching|Recalled|Recalling|Updated|Updating)"

#define SPINNER "(?:\xC2\xB7|\xE2\x9C\xA2|\\*|\xE2\x9C\xB6|\xE2\x9C\xBB|\xE2\x9C\xBD|\xE2\x9C\xB3) [^ ].*\xE2\x80\xA6"

struct rule {
	enum row_kind kind;
	unsigned from, to;	/* versions, both included */
	const char *lead;	/* a row that does not begin so cannot match: most rows are settled by this */
	const char *regex;	/* anchored */
};

/*
 * The first rule that matches names the row. Seen in captures of 1.0.128, 2.0.76, 2.1.37, 2.1.197 and 2.1.330 unless said otherwise.
 */
static const struct rule claude_rules[] = {
	{ ROW_RESULT, ANY, OPEN, "  \xE2\x8E\xBF", "  \xE2\x8E\xBF " NBSP "(.*)$" },
	{ ROW_PROMPT, NEW, OPEN, "\xE2\x9D\xAF ", "\xE2\x9D\xAF (.*)$" },
	{ ROW_BOX, NEW, OPEN, "\xE2\x9D\xAF" NBSP, "\xE2\x9D\xAF" NBSP "(.*)$" },
	{ ROW_PROMPT, ANY, OLD, "> ", "> (.*)$" },
	{ ROW_BOX, ANY, OLD, ">", ">(?:" NBSP "(.*))?$" },
	{ ROW_BOX, ANY, OPEN, "!" NBSP, "(!" NBSP ".*)$" },
	{ ROW_SHELL, ANY, OPEN, "! ", "! (.*)$" },

	{ ROW_ERROR, ANY, V(2, 1, 99), "  \xE2\x8E\xBF ", "  \xE2\x8E\xBF (API Error\\b.*)$" },
	{ ROW_ERROR, ANY, OPEN, "\xE2", BULLET "(API Error\\b.*)$" },
	{ ROW_THOUGHT, ANY, OPEN, "\xE2", "(?:" BULLET "|\xE2\x88\xB4 )Thought for \\d.*\\)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2", BULLET "(Ran \\d+ .*hooks?\\b.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2", BULLET "(Agent \".*)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2", BULLET "(\\w+ operation blocked by hook\\b.*)$" },
	{ ROW_NOTICE, V(2, 1, 300), OPEN, "\xE2", BULLET "(Auto mode can't check actions\\b.*)$" },
	{ ROW_NOTICE, ANY, OPEN, "\xE2", BULLET "(Background command \".*)$" },
	{ ROW_ANSWERS, ANY, OPEN, "\xE2", BULLET "(User (?:answered|declined|approved|rejected) .*)$" },
	{ ROW_ANSWERS, V(2, 1, 300), OPEN, "\xE2", BULLET "((?:Answered|Declined to answer) Claude's questions?\\b.*)$" },
	{ ROW_AGENTS, ANY, OPEN, "\xE2", BULLET "(Running \\d+ .*agents?\xE2\x80\xA6.*)$" },
	{ ROW_AGENTS, ANY, OPEN, "\xE2", BULLET "(\\d+ .*agents? (?:finished|launched|completed).*)$" },
	{ ROW_COLLAPSED, ANY, OPEN, "\xE2", BULLET "(" FOLDED " .*)$" },
	{ ROW_TOOL, ANY, OPEN, "\xE2", BULLET "(" TOOLS ")\\((.*)$" },
	{ ROW_TOOL, ANY, OPEN, "\xE2", BULLET "([\\w.-]+ - [\\w .-]+ \\(MCP\\))(?:\\((.*))?$" },
	{ ROW_TOOL_MAYBE, ANY, OPEN, "\xE2", BULLET "([A-Za-z][\\w:-]*(?: [A-Z]\\w*)?)\\((.*)$" },
	{ ROW_WORDS, ANY, OPEN, "\xE2", "(?:\xE2\x97\x8F|\xE2\x8F\xBA)(?:(?: |" NBSP ")(.*))?$" },

	{ ROW_RETRY, ANY, OPEN, "\xE2\x9C\xBB", "\xE2\x9C\xBB (API error\\b.*)$" },
	{ ROW_COMPACTED, ANY, OPEN, "\xE2\x9C\xBB", "\xE2\x9C\xBB (Conversation compacted.*)$" },
	{ ROW_COMPACTED, ANY, OLD, "\xE2\x95\x90", "(?:\xE2\x95\x90)++ (Conversation compacted .*[^ ]) (?:\xE2\x95\x90)++$" },
	{ ROW_THOUGHT, ANY, ONE, "\xE2\x9C\xBB", "\xE2\x9C\xBB (Thinking\xE2\x80\xA6)$" },
	{ ROW_TURN_END, ANY, OPEN, "\xE2\x9C\xBB", "\xE2\x9C\xBB [^ ]+ for \\d+[smhd]" },
	{ ROW_TURN_END, ANY, OPEN, "\xE2\x9C\xBB", "\xE2\x9C\xBB Waiting for \\d+ " },
	{ ROW_SPINNER, NEW, OPEN, "", SPINNER "(?: \\(.*)?$" },
	{ ROW_SPINNER, ANY, OLD, "", SPINNER " \\(.*$" },

	{ ROW_RULE, ANY, OPEN, "\xE2\x94\x80", "(?:\xE2\x94\x80){10,}+(?: .{1,80} (?:\xE2\x94\x80)++)?$" },

	{ ROW_BANNER, ANY, OPEN, " \xE2\x96\x90", " \xE2\x96\x90\xE2\x96\x9B\xE2\x96\x88[^ ]*(?: +Claude Code v(\\d[\\d.]*)| |$)" },
	/* in a pane of less than about 50 columns the name stands above the picture */
	{ ROW_BANNER, NEW, OPEN, "           C", " {11}Claude Code v(\\d[\\d.]*)$" },
	{ ROW_BANNER, ANY, OPEN, "\xE2\x96\x9D", "\xE2\x96\x9D\xE2\x96\x9C\xE2\x96\x88" },
	{ ROW_BANNER, ANY, OPEN, "  \xE2\x96\x98\xE2\x96\x98 ", "  \xE2\x96\x98\xE2\x96\x98 \xE2\x96\x9D\xE2\x96\x9D" },
	{ ROW_BANNER, V(2, 1, 300), OPEN, " \xE2\x96\x9D\xE2\x96\x9D ", " \xE2\x96\x9D\xE2\x96\x9D +\xE2\x96\x9D\xE2\x96\x9D" },
	{ ROW_BANNER, ANY, OLD, " * ", " \\* \xE2\x96\x90\xE2\x96\x9B.* Claude Code v(\\d[\\d.]*)" },
	{ ROW_BANNER, ANY, OLD, "* ", "\\* \xE2\x96\x9D\xE2\x96\x9C" },
	{ ROW_BANNER, ANY, OLD, " *  ", " \\*  \xE2\x96\x98\xE2\x96\x98" },
	/* news below the banner; a quote of the model is further right */
	{ ROW_NEWS, V(2, 1, 300), OPEN, "\xE2\x96\x8E ", "\xE2\x96\x8E (.*)$" },
	{ ROW_BANNER_TOP, ANY, OPEN, "\xE2\x95\xAD", "\xE2\x95\xAD(?:\xE2\x94\x80)+ Claude Code v(\\d[\\d.]*) " },
	{ ROW_BANNER_TOP, ANY, ONE, "\xE2\x94\x82 \xE2\x9C\xBB", "\xE2\x94\x82 \xE2\x9C\xBB Welcome to Claude Code! +\xE2\x94\x82$" },
	{ ROW_FRAME, ANY, OLD, "\xE2\x95\xAD", "\xE2\x95\xAD(?:\xE2\x94\x80){10,}+\xE2\x95\xAE$" },
	{ ROW_BODY, ANY, ONE, " Tips", " Tips for getting started:$" },
	{ ROW_BANNER_END, ANY, OPEN, "\xE2\x95\xB0", "\xE2\x95\xB0(?:\xE2\x94\x80)+\xE2\x95\xAF$" },

	{ ROW_THOUGHT, ANY, OPEN, "  T", "  Thought for \\d.*\\)$" },
	{ ROW_AGENTS, ANY, OPEN, "  R", "  (Running \\d+ .*agents?\xE2\x80\xA6.*)$" },
	{ ROW_AGENTS, ANY, OPEN, "  ", "  (\\d+ .*agents? (?:finished|launched|completed).*)$" },
	{ ROW_COLLAPSED, V(2, 1, 100), OPEN, "  ", "  (" FOLDED " .*)$" },
	{ ROW_TOOL_BLINK, ANY, OPEN, "  ", "  (" TOOLS ")\\((.*)$" },

	{ ROW_DEAD, ANY, OPEN, "Pane is dead", "Pane is dead(?: \\(.*)?$" },
	{ ROW_FAREWELL, ANY, OPEN, "Resume this", "Resume this session with:$" },
	{ ROW_RESUME, ANY, OPEN, "claude ", "claude (?:.* )?--resume ([\\w-]+|\".*\")$" },
};

/* The screen-reader mode, 2.1.197 and 2.1.330. */
static const struct rule flat_rules[] = {
	{ ROW_PROMPT, ANY, OPEN, "you:", "you: (.*)$" },
	{ ROW_PROMPT, ANY, OPEN, "\xE2\x9D\xAF ", "\xE2\x9D\xAF (/.*)$" },
	{ ROW_WORDS, ANY, OPEN, "claude:", "claude: (.*)$" },
	{ ROW_TOOL, ANY, OPEN, "tool", "tool( error)?: (" TOOLS "|[\\w.:-]+(?: - [\\w .-]+)?)(?: \\((.*))?$" },
	{ ROW_BANNER, ANY, OPEN, "[", "\\[(?:Accessible screen reader mode|Screen Reader Mode): on" },
	{ ROW_BANNER, ANY, OPEN, "Claude Code v", "Claude Code v(\\d[\\d.]*)$" },
	{ ROW_THOUGHT, ANY, OPEN, "Thought for ", "Thought for \\d.*\\)$" },
	{ ROW_DIALOG, ANY, OPEN, "Permission Required:", "Permission Required: (.*)$" },
	{ ROW_COLLAPSED, ANY, OPEN, "", "(" FOLDED " .*) \\(ctrl\\+o to expand\\)$" },
	{ ROW_BOX, ANY, OPEN, "$", "\\$(?:" NBSP "(.*))?$" },
	{ ROW_FOOT, ANY, OPEN, "", "(?:bypass permissions|accept edits|plan mode|auto mode) on\\b" },
	{ ROW_FOOT, ANY, OPEN, "", "(?:paste again to expand|\\? for shortcuts\\b.*|Press .* again to exit)$" },
	{ ROW_FOOT, ANY, OPEN, "", "(?:effort: |\xE2\x97[\x80-\xBF] )\\w+ \xC2\xB7 /effort$" },
	{ ROW_TURN_END, ANY, OPEN, "", "[A-Z\xC3][^ ]* for (?:\\d+[smhd] ?)+(?: \xC2\xB7 .*)?$" },
	{ ROW_SPINNER, ANY, OPEN, "", "(?!Waiting|Running)[A-Z\xC3][^ ]*\xE2\x80\xA6(?:[ \xC2\xA0]+\\(.*)?$" },
	{ ROW_DEAD, ANY, OPEN, "Pane is dead", "Pane is dead(?: \\(.*)?$" },
};

/* Which bytes may stand behind a short lead: text of people and models begins with the same blanks. */
static const struct {
	enum row_kind kind;
	const char *lead, *next;
} claude_next[] = {
	{ ROW_SPINNER, "", "\xC2\xE2*" },
	{ ROW_AGENTS, "  ", DIGITS },
	{ ROW_COLLAPSED, "  ", "CEFLQRSUW" },
	{ ROW_TOOL_BLINK, "  ", "ABCDEFGHIJKLMNOPQRSTUVWXYZ" },
};

struct saying {
	enum phrase what;
	unsigned from, to;
	const char *regex;	/* anchored at the row's first character that is no blank, unless it begins with .* */
};

static const struct saying claude_sayings[] = {
	{ PHRASE_PLACEHOLDER, ANY, OPEN, "Try \"" },
	{ PHRASE_PLACEHOLDER, ANY, OPEN, "Press up to edit queued messages$" },
	{ PHRASE_LIMIT, ANY, OPEN, "(?:You've|You\xE2\x80\x99ve) hit your .*limit" },
	{ PHRASE_LIMIT, ANY, OPEN, "(?:[\\w-]+ ){0,4}limit(?: reached)? (?:\xC2\xB7|\xE2\x88\x99) resets" },
	{ PHRASE_LIMIT, ANY, OPEN, "Claude (?:AI )?usage limit reached" },
	{ PHRASE_LIMIT, ANY, OPEN, "(?:\\d\\. )?Stop and wait for limit to reset" },
	{ PHRASE_LIMIT, ANY, OPEN, "(?:\\d\\. )?Add funds to continue with extra usage" },
	{ PHRASE_LIMIT, ANY, OPEN, "API Error: (?:Rate limit reached|401|403|429)" },
	{ PHRASE_LIMIT, ANY, OPEN, "(?:API Error: )?OAuth token (?:has been |has )?(?:revoked|expired)" },
	{ PHRASE_LIMIT, ANY, OPEN, "Invalid API key" },
	{ PHRASE_LIMIT, ANY, OPEN, "Please run /login" },
	{ PHRASE_LIMIT, ANY, OPEN, "Not logged in" },
	{ PHRASE_LIMIT, ANY, OPEN, "Credit balance is too low" },
	{ PHRASE_EXPAND, ANY, OPEN, ".*\\(ctrl\\+o to expand\\)$" },
	{ PHRASE_WAITING, ANY, OPEN, "Waiting(?:\xE2\x80\xA6|\\.\\.\\.)$" },
	{ PHRASE_RUNNING, ANY, OPEN, "Running(?:\xE2\x80\xA6|\\.\\.\\.)(?: \\(.*\\))?$" },
	{ PHRASE_RUNNING, ANY, OPEN, "Initializing(?:\xE2\x80\xA6|\\.\\.\\.)$" },
	{ PHRASE_RUNNING, ANY, OPEN, "(?:\xE2\x80\xA6 )?\\+\\d+ (?:more )?lines? \\((?:\\d+[hms] ?)+\\)$" },
	{ PHRASE_RUNNING, ANY, OPEN, "\\(?ctrl\\+b (?:ctrl\\+b )?(?:\\(twice\\) )?to run in background\\)?$" },
	{ PHRASE_MORE, ANY, OPEN, "(?:\xE2\x80\xA6 )?\\+\\d+ (?:more )?lines? \\(ctrl\\+o " },
	{ PHRASE_NOISE, ANY, OPEN, "\\(?ctrl\\+b (?:ctrl\\+b )?(?:\\(twice\\) )?to run in background\\)?$" },
	{ PHRASE_NOISE, ANY, OPEN, "\\(ctrl\\+o to expand\\)$" },
	{ PHRASE_FAILED, ANY, OPEN, "Error(?::| (?:editing|writing|reading) file)" },
	{ PHRASE_FAILED, ANY, OPEN, "(?:Couldn't|Could not) (?:edit|write|read) file" },
	{ PHRASE_FAILED, ANY, OPEN, "API Error" },
	{ PHRASE_INTERRUPTED, ANY, OPEN, "Interrupted (?:\xC2\xB7|by user)" },
	{ PHRASE_INTERRUPTED, ANY, OPEN, "(?:User rejected|No \\(tell Claude)" },
	{ PHRASE_OPTION, ANY, OPEN, "(?:\xE2\x94\x82 +)?(?:\xE2\x9D\xAF|>) \\d+\\. " },
	{ PHRASE_REJECTED_PLAN, ANY, OPEN, "User (?:rejected|approved) Claude's plan" },
	{ PHRASE_KEYS, ANY, OPEN, ".*(?:\xC2\xB7 /effort)$" },
	{ PHRASE_BUSY, ANY, OPEN, ".*esc to interrupt" },
	{ PHRASE_QUEUED, ANY, OPEN, "\xE2\x9D\xAF " },
	{ PHRASE_QUEUE_FOOT, V(2, 1, 300), OPEN, "\xE2\x8E\xBF  Queued \xC2\xB7 ctrl\\+x " },
	{ PHRASE_MARKED, ANY, OLD, "> " },
	{ PHRASE_DIALOG, ANY, OPEN, "(?:Esc to cancel|Enter to select|Enter to confirm)" },
	{ PHRASE_DIALOG, V(2, 1, 300), OPEN, "Enter to .* \xC2\xB7 Esc to cancel$" },
	{ PHRASE_VIEW, ANY, OPEN, "Showing (?:\\w+ )?transcript\\b" },
	{ PHRASE_COMMAND, ANY, OPEN, "/\\w" },
	{ PHRASE_REMARK, ANY, OPEN, "\xE2\x8E\xBF  " },
	{ PHRASE_TREE, ANY, OPEN, "\xE2\x94[\x9C\x94] " },
	{ PHRASE_TASK_HEAD, ANY, OPEN, "\\d+ tasks? \\(\\d+ .*\\)$" },
	{ PHRASE_TASK, ANY, OPEN, "(?:\xE2\x9C\x94|\xE2\x97\xBC|\xE2\x97\xBB|\xE2\x98\x90|\xE2\x98\x92) " },
	{ PHRASE_LIST, ANY, OPEN, "(?:(?:[-*+]|\xE2\x80\xA2) |\\d{1,3}[.)] |[{}|]|\xE2\x96\x8E|\xE2\x94[\x80-\xBF]|\xE2\x95[\x80-\xBF])" },
};

static const struct {
	const char *verb, *tool;
	bool running;
} claude_verbs[] = {
	{ "Read", "Read", false }, { "Reading", "Read", true }, { "Listed", "List", false }, { "Listing", "List", true },
	{ "Searched", "Search", false }, { "Searching", "Search", true }, { "Edited", "Edit", false }, { "Editing", "Edit", true },
	{ "Wrote", "Write", false }, { "Writing", "Write", true }, { "Created", "Write", false }, { "Creating", "Write", true },
	{ "Fetched", "Fetch", false }, { "Fetching", "Fetch", true }, { "Updated", "Edit", false }, { "Updating", "Edit", true },
	{ "Ran", "Calls", false }, { "Running", "Calls", true }, { "Called", "Calls", false }, { "Calling", "Calls", true },
	{ "Queried", "Calls", false }, { "Querying", "Calls", true }, { "Recalled", "Calls", false }, { "Recalling", "Calls", true },
};

static const struct {
	const char *title, *tool;
} claude_dialogs[] = {
	{ "Bash command", "Bash" }, { "Create file", "Write" }, { "Overwrite file", "Write" }, { "Edit file", "Update" },
	{ "Read file", "Read" }, { "Fetch", "Fetch" }, { "Web search", "Web Search" }, { "Use skill", "Skill" },
	{ "Exit plan mode?", "ExitPlanMode" }, { "Ready to code?", "ExitPlanMode" }, { "\xE2\x86\x90 ", "AskUserQuestion" },
	{ "\xE2\x98\x90 ", "AskUserQuestion" },
};

/* The same for what is asked of many rows. */
static const struct {
	enum phrase what;
	const char *first;
} claude_first[] = {
	{ PHRASE_LIST, "-*+\xE2{}|" DIGITS },
	{ PHRASE_OPTION, "\xE2>" },
};

/* Measured on 1.0.128, 2.0.76, 2.1.37, 2.1.197 and 2.1.330. */
static const struct {
	unsigned to;
	struct page page;
} claude_pages[] = {
	{ ONE, { .prompt_margin = 4, .words_margin = 4, .breaks = true, .blank_stays = true } },
	{ OLD, { .prompt_margin = 4, .blank_stays = true } },
	{ OPEN, { .prompt_indent = 2, .prompt_margin = 1, .breaks = true } },
};

static const struct page flat_page = { .breaks = true, .blank_stays = true };

struct dialect {
	const struct page *page;
	const struct rule *rules;
	size_t n_rules;
	struct pattern *row[COUNT(claude_rules)];	/* NULL: not of this version */
	struct pattern *say[COUNT(claude_sayings)];
	size_t lead[COUNT(claude_rules)];		/* lengths of the leads */
	/* which rules, one bit each, a row can match that begins with this byte; that has this byte behind two blanks */
	uint64_t front[256], body[256];
};

_Static_assert(COUNT(flat_rules) <= COUNT(claude_rules) && COUNT(claude_rules) <= 64, "a set of rules is a word of 64 bits");

unsigned
dialect_version(const char *text, size_t n)
{
	unsigned part[3] = { 0, 0, 0 };
	size_t i = 0;

	for (int k = 0; k < 3; k++) {
		size_t digits = 0;

		for (; i < n && digits < 4 && text[i] >= '0' && text[i] <= '9'; i++, digits++)
			part[k] = part[k] * 10 + (unsigned)(text[i] - '0');
		if (digits == 0 || i >= n || text[i] != '.')
			break;
		i++;
	}
	return V(part[0] % 1000, part[1] % 1000, part[2] % 1000);
}

/* The prompts and boxes of the versions before 2.1 against those since; a person's text may hold either. */
static unsigned
guess_version(const char *text, size_t n)
{
	size_t old = 0, new = 0;

	for (const char *p = text, *end = text + n; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = nl != NULL ? (size_t)(nl - p) : (size_t)(end - p);

		old += len > 1 && p[0] == '>' && (p[1] == ' ' || p[1] == NBSP[0]);
		new += len > 3 && memcmp(p, "\xE2\x9D\xAF", 3) == 0 && (p[3] == ' ' || p[3] == NBSP[0]);
		p += len + 1;
	}
	return old > new ? FIRST : 0;
}

static const char banner_mark[] = "Claude Code v";

/* The words of the last banner; NULL: there is none. */
static const char *
last_banner(const char *text, size_t n)
{
	const char *end = text + n, *p = text, *last = NULL;

	while (p < end && (p = memmem(p, (size_t)(end - p), banner_mark, sizeof banner_mark - 1)) != NULL) {
		const char *row = p;

		while (row > text && p - row < 60 && row[-1] != '\n')
			row--;
		/* a banner's row begins with its picture or frame, after a blank, in 2.0 a star too; in a narrow pane with 11 blanks */
		while (row < p && (*row == ' ' || *row == '*'))
			row++;
		if ((unsigned char)*row == 0xE2 || (row == p && p - text >= 11 && memcmp(p - 11, "           ", 11) == 0))
			last = p;
		p += sizeof banner_mark - 1;
	}
	return last;
}

unsigned
dialect_find_version(const char *text, size_t n)
{
	const char *last = last_banner(text, n);

	if (last == NULL)
		return guess_version(text, n);
	last += sizeof banner_mark - 1;
	return dialect_version(last, (size_t)(text + n - last));
}

/* Whether the rule can match a row that has byte c at place `at`, as far as its lead and claude_next tell. */
static bool
may_have(const struct dialect *d, const struct rule *rule, size_t at, char c)
{
	size_t n = strlen(rule->lead);

	if (at < n)
		return rule->lead[at] == c;
	for (size_t i = 0; at == n && d->rules == claude_rules && i < COUNT(claude_next); i++)
		if (claude_next[i].kind == rule->kind && strcmp(claude_next[i].lead, rule->lead) == 0)
			return c != '\0' && strchr(claude_next[i].next, c) != NULL;
	return true;
}

static void
index_rule(struct dialect *d, size_t i)
{
	const struct rule *rule = &d->rules[i];

	for (int c = 0; c < 256; c++) {
		if (may_have(d, rule, 0, (char)c) && (c != ' ' || rule->lead[0] != '\0'))
			d->front[c] |= UINT64_C(1) << i;
		if (rule->lead[0] == ' ' && may_have(d, rule, 1, ' ') && may_have(d, rule, 2, (char)c))
			d->body[c] |= UINT64_C(1) << i;
	}
}

static struct pattern *
compile(const char *regex)
{
	struct err e = ERR_INIT;
	struct pattern *p = pattern_new(regex, PATTERN_ANCHORED, &e);

	if (p == NULL)
		die("a rule of the dialect table is broken: %s", e.msg);
	return p;
}

static struct dialect *
make(const struct rule *rules, size_t n, const struct page *page, unsigned version)
{
	struct dialect *d = xcalloc(1, sizeof *d);

	d->page = page;
	d->rules = rules;
	d->n_rules = n;
	for (size_t i = 0; i < n; i++) {
		d->lead[i] = strlen(rules[i].lead);
		if (version < rules[i].from || version > rules[i].to)
			continue;
		d->row[i] = compile(rules[i].regex);
		index_rule(d, i);
	}
	for (size_t i = 0; i < COUNT(claude_sayings); i++)
		if (version >= claude_sayings[i].from && version <= claude_sayings[i].to)
			d->say[i] = compile(claude_sayings[i].regex);
	return d;
}

struct dialect *
dialect_new(const char *agent, unsigned version)
{
	const struct page *page = NULL;

	if (agent == NULL || strcmp(agent, "claude") != 0)
		return NULL;
	if (version == 0)
		version = OPEN;
	for (size_t i = COUNT(claude_pages); i-- > 0 && version <= claude_pages[i].to;)
		page = &claude_pages[i].page;
	return make(claude_rules, COUNT(claude_rules), page, version);
}

struct dialect *
dialect_new_flat(const char *agent)
{
	if (agent == NULL || strcmp(agent, "claude") != 0)
		return NULL;
	return make(flat_rules, COUNT(flat_rules), &flat_page, OPEN);
}

bool
dialect_is_flat(const char *text, size_t n)
{
	static const char *const marks[] = { "[Accessible screen reader mode: on", "[Screen Reader Mode: on" };
	const char *last = NULL;

	for (size_t i = 0; i < COUNT(marks); i++) {
		const char *p = text;

		while ((p = memmem(p, (size_t)(text + n - p), marks[i], strlen(marks[i]))) != NULL) {
			if ((p == text || p[-1] == '\n') && (last == NULL || p > last))
				last = p;
			p += strlen(marks[i]);
		}
	}
	return last != NULL && last_banner(last, (size_t)(text + n - last)) == NULL;
}

void
dialect_free(struct dialect *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->n_rules; i++)
		pattern_free(d->row[i]);
	for (size_t i = 0; i < COUNT(claude_sayings); i++)
		pattern_free(d->say[i]);
	free(d);
}

enum row_kind
dialect_row(const struct dialect *d, const char *row, size_t n, struct match *m)
{
	bool body = n > 2 && row[0] == ' ' && row[1] == ' ';

	if (n == 0)
		return ROW_BLANK;
	for (uint64_t set = body ? d->body[(unsigned char)row[2]] : d->front[(unsigned char)row[0]]; set != 0; set &= set - 1) {
		size_t i = (size_t)__builtin_ctzll(set);

		if (n >= d->lead[i] && memcmp(row, d->rules[i].lead, d->lead[i]) == 0 && pattern_find(d->row[i], row, n, 0, m) == 1)
			return d->rules[i].kind;
	}
	return body ? ROW_BODY : ROW_STRAY;
}

const struct page *
dialect_page(const struct dialect *d)
{
	return d->page;
}

bool
dialect_says(const struct dialect *d, enum phrase what, const char *row, size_t n)
{
	while (n > 0 && *row == ' ') {
		row++;
		n--;
	}
	for (size_t i = 0; i < COUNT(claude_first); i++)
		if (claude_first[i].what == what && (n == 0 || strchr(claude_first[i].first, *row) == NULL))
			return false;
	for (size_t i = 0; i < COUNT(claude_sayings); i++)
		if (claude_sayings[i].what == what && d->say[i] != NULL && pattern_is(d->say[i], row, n))
			return true;
	return false;
}

const char *
dialect_folded_tool(const struct dialect *d, const char *text, size_t n, bool *running)
{
	const char *blank = memchr(text, ' ', n);
	size_t verb = blank != NULL ? (size_t)(blank - text) : n;

	(void)d;
	for (size_t i = 0; i < COUNT(claude_verbs); i++) {
		if (strlen(claude_verbs[i].verb) != verb || memcmp(text, claude_verbs[i].verb, verb) != 0)
			continue;
		*running = claude_verbs[i].running;
		return claude_verbs[i].tool;
	}
	return NULL;
}

const char *
dialect_dialog_tool(const struct dialect *d, const char *title, size_t n)
{
	(void)d;
	for (size_t i = 0; i < COUNT(claude_dialogs); i++) {
		size_t len = strlen(claude_dialogs[i].title);

		if (n >= len && memcmp(title, claude_dialogs[i].title, len) == 0)
			return claude_dialogs[i].tool;
	}
	return NULL;
}
