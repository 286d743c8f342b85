#include <string.h>

#include "ledger/hook_row.h"
#include "base/buf.h"

#define EVENTS(table) .events = table, .n_events = sizeof table / sizeof table[0]

static const struct hook_event claude_events[] = {
	{ "SessionStart", "SessionStart" }, { "UserPromptSubmit", "UserPromptSubmit" }, { "PreToolUse", "PreToolUse" },
	{ "PostToolUse", "PostToolUse" }, { "SubagentStop", "SubagentStop" }, { "Stop", "Stop" }, { "SessionEnd", "SessionEnd" },
};

static const struct hook_event codex_events[] = {
	{ "SessionStart", "SessionStart" }, { "UserPromptSubmit", "UserPromptSubmit" }, { "PreToolUse", "PreToolUse" },
	{ "PostToolUse", "PostToolUse" }, { "Stop", "Stop" }, { "SessionEnd", "SessionEnd" },
};

static const struct hook_event gemini_events[] = {
	{ "SessionStart", "SessionStart" }, { "BeforeAgent", "UserPromptSubmit" }, { "BeforeTool", "PreToolUse" },
	{ "AfterTool", "PostToolUse" }, { "AfterAgent", "Stop" }, { "SessionEnd", "SessionEnd" },
};

static const struct hook_event copilot_events[] = {
	{ "sessionStart", "SessionStart" }, { "userPromptSubmitted", "UserPromptSubmit" }, { "preToolUse", "PreToolUse" },
	{ "postToolUse", "PostToolUse" }, { "agentStop", "Stop" }, { "sessionEnd", "SessionEnd" },
};

static const struct hook_writer claude_writers[] = {
	{ "Write", "file_path" }, { "Edit", "file_path" }, { "MultiEdit", "file_path" }, { "NotebookEdit", "notebook_path" },
	{ NULL, NULL },
};

static const struct hook_writer codex_writers[] = { { "apply_patch", NULL }, { NULL, NULL } };

static const struct hook_writer gemini_writers[] = { { "write_file", "file_path" }, { "replace", "file_path" }, { NULL, NULL } };

static const struct hook_writer qwen_writers[] = { { "write_file", "file_path" }, { "edit", "file_path" }, { NULL, NULL } };

static const struct hook_writer copilot_writers[] = {
	{ "create", "path" }, { "edit", "path" }, { "str_replace_editor", "path" }, { "apply_patch", NULL }, { NULL, NULL },
};

static const struct hook_writer opencode_writers[] = {
	{ "write", "filePath" }, { "edit", "filePath" }, { "multiedit", "filePath" }, { "apply_patch", NULL }, { NULL, NULL },
};

#define CLAUDE_INPUT \
	.session = "session_id", .transcript = "transcript_path", .tool = "tool_name", .call = "tool_use_id", .input = "tool_input"

static const struct hook_row rows[] = {
	{ .agent = "claude", .form = HOOK_GROUPS, .folder = "$CLAUDE_CONFIG_DIR, ~/.claude", .file = "settings.json", .command = "command",
	    .timeout = "timeout", .limit = 5, EVENTS(claude_events), CLAUDE_INPUT, .writers = claude_writers },
	{ .agent = "codex", .form = HOOK_GROUPS, .folder = "$CODEX_HOME, ~/.codex", .file = "hooks.json", .command = "command",
	    .timeout = "timeout", .limit = 5, .server = true, EVENTS(codex_events), CLAUDE_INPUT, .writers = codex_writers,
	    .first = "at its next start Codex asks once for a review of hooks: choose to trust them" },
	{ .agent = "gemini", .form = HOOK_GROUPS, .folder = "~/.gemini", .file = "settings.json", .command = "command",
	    .timeout = "timeout", .limit = 5000, .named = true, EVENTS(gemini_events), CLAUDE_INPUT, .writers = gemini_writers },
	{ .agent = "qwen", .form = HOOK_GROUPS, .folder = "~/.qwen", .file = "settings.json", .command = "command",
	    .timeout = "timeout", .limit = 5000, .named = true, EVENTS(claude_events), CLAUDE_INPUT, .writers = qwen_writers },
	{ .agent = "copilot", .form = HOOK_LIST, .folder = "~/.copilot", .file = "settings.json", .command = "bash",
	    .timeout = "timeoutSec", .limit = 5, EVENTS(copilot_events), .session = "sessionId", .transcript = "transcriptPath",
	    .tool = "toolName", .call = "toolCallId", .input = "toolArgs", .writers = copilot_writers, .wanted = "user_exit" },
	/* its plugin writes what Claude Code's hooks are given (revive/hook_plugin.h) */
	{ .agent = "opencode", .form = HOOK_PLUGIN, .folder = "$XDG_CONFIG_HOME/opencode, ~/.config/opencode",
	    .file = "plugin/gt-recover.js", EVENTS(claude_events), CLAUDE_INPUT, .writers = opencode_writers },
};

const struct hook_row *
hook_row_find(const char *agent)
{
	for (size_t i = 0; i < hook_rows(); i++)
		if (agent == NULL || strcmp(rows[i].agent, agent) == 0)
			return &rows[i];
	return NULL;
}

size_t
hook_rows(void)
{
	return sizeof rows / sizeof rows[0];
}

const struct hook_row *
hook_row_at(size_t i)
{
	return &rows[i];
}

const char *
hook_row_event(const struct hook_row *r, const char *name)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (strcmp(r->events[i].name, name) == 0)
			return r->events[i].as;
	return name;
}

const struct hook_writer *
hook_row_writer(const struct hook_row *r, const char *tool)
{
	for (const struct hook_writer *w = r->writers; tool != NULL && w->tool != NULL; w++)
		if (strcmp(w->tool, tool) == 0)
			return w;
	return NULL;
}

/* The path of a line that begins a file's part, NULL: it is another line. */
static const char *
patch_path(const char *line, const char *end, size_t *n)
{
	static const char *const marks[] = { "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: " };

	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		size_t len = strlen(marks[i]);

		if ((size_t)(end - line) <= len || memcmp(line, marks[i], len) != 0)
			continue;
		*n = (size_t)(end - line) - len;
		while (*n > 0 && (line[len + *n - 1] == '\r' || line[len + *n - 1] == ' '))
			--*n;
		return *n > 0 ? line + len : NULL;
	}
	return NULL;
}

void
hook_patch_files(struct buf *out, const char *patch, size_t n, const char *cwd, size_t max)
{
	const char *end = patch + n, *line = patch, *nl;

	for (; line < end; line = nl + 1) {
		const char *path;
		size_t len, dir;

		nl = memchr(line, '\n', (size_t)(end - line));
		if (nl == NULL)
			nl = end;
		path = patch_path(line, nl, &len);
		if (path == NULL || memchr(path, '\0', len) != NULL)
			continue;
		dir = *path == '/' || cwd == NULL ? 0 : strlen(cwd) + 1;
		if (out->len + dir + len + 1 > max)
			return;
		if (out->len > 0)
			buf_chr(out, '\n');
		if (dir > 0)
			buf_fmt(out, "%s/", cwd);
		buf_add(out, path, len);
	}
}
