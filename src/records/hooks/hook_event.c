#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/hooks/hooks.h"
#include "base/buf.h"
#include "base/err.h"
#include "records/records.h"

#define EVENTS(table) .events = table, .n_events = sizeof table / sizeof table[0]

static const struct hook_event_name claude_events[] = {
	{ "SessionStart", "SessionStart" }, { "UserPromptSubmit", "UserPromptSubmit" },
	{ "PreToolUse", "PreToolUse" }, { "PostToolUse", "PostToolUse" },
	{ "SubagentStop", "SubagentStop" }, { "Stop", "Stop" }, { "SessionEnd", "SessionEnd" },
};

static const struct hook_event_name codex_events[] = {
	{ "SessionStart", "SessionStart" }, { "UserPromptSubmit", "UserPromptSubmit" },
	{ "PreToolUse", "PreToolUse" }, { "PostToolUse", "PostToolUse" }, { "Stop", "Stop" },
	{ "SessionEnd", "SessionEnd" },
};

static const struct hook_event_name gemini_events[] = {
	{ "SessionStart", "SessionStart" }, { "BeforeAgent", "UserPromptSubmit" },
	{ "BeforeTool", "PreToolUse" }, { "AfterTool", "PostToolUse" }, { "AfterAgent", "Stop" },
	{ "SessionEnd", "SessionEnd" },
};

static const struct hook_event_name copilot_events[] = {
	{ "sessionStart", "SessionStart" }, { "userPromptSubmitted", "UserPromptSubmit" },
	{ "preToolUse", "PreToolUse" }, { "postToolUse", "PostToolUse" }, { "agentStop", "Stop" },
	{ "sessionEnd", "SessionEnd" },
};

static const struct hook_writer claude_writers[] = {
	{ "Write", "file_path" }, { "Edit", "file_path" }, { "MultiEdit", "file_path" },
	{ "NotebookEdit", "notebook_path" },
	{ NULL, NULL },
};

static const struct hook_writer codex_writers[] = { { "apply_patch", NULL }, { NULL, NULL } };

static const struct hook_writer gemini_writers[] = { { "write_file", "file_path" },
	{ "replace", "file_path" }, { NULL, NULL } };

static const struct hook_writer qwen_writers[] = { { "write_file", "file_path" }, { "edit", "file_path" },
	{ NULL, NULL } };

static const struct hook_writer copilot_writers[] = {
	{ "create", "path" }, { "edit", "path" }, { "str_replace_editor", "path" },
	{ "apply_patch", NULL },
	{ NULL, NULL },
};

static const struct hook_writer opencode_writers[] = {
	{ "write", "filePath" }, { "edit", "filePath" }, { "multiedit", "filePath" },
	{ "apply_patch", NULL },
	{ NULL, NULL },
};

#define CLAUDE_INPUT                                                                                         \
	.session = "session_id", .transcript = "transcript_path", .tool = "tool_name",                       \
	.call = "tool_use_id", .input = "tool_input"

static const struct hook_adapter rows[] = {
	{ .agent = "claude",
	    .form = HOOK_FORM_GROUPS,
	    .folder = "$CLAUDE_CONFIG_DIR, ~/.claude",
	    .file = "settings.json",
	    .command = "command",
	    .timeout = "timeout",
	    .limit = 5,
	    EVENTS(claude_events),
	    CLAUDE_INPUT,
	    .writers = claude_writers },
	{ .agent = "codex",
	    .form = HOOK_FORM_GROUPS,
	    .folder = "$CODEX_HOME, ~/.codex",
	    .file = "hooks.json",
	    .command = "command",
	    .timeout = "timeout",
	    .limit = 5,
	    .server = true,
	    EVENTS(codex_events),
	    CLAUDE_INPUT,
	    .writers = codex_writers,
	    .first = "at its next start Codex asks once for a review of hooks: choose to trust them" },
	{ .agent = "gemini",
	    .form = HOOK_FORM_GROUPS,
	    .folder = "~/.gemini",
	    .file = "settings.json",
	    .command = "command",
	    .timeout = "timeout",
	    .limit = 5000,
	    .named = true,
	    EVENTS(gemini_events),
	    CLAUDE_INPUT,
	    .writers = gemini_writers },
	{ .agent = "qwen",
	    .form = HOOK_FORM_GROUPS,
	    .folder = "~/.qwen",
	    .file = "settings.json",
	    .command = "command",
	    .timeout = "timeout",
	    .limit = 5000,
	    .named = true,
	    EVENTS(claude_events),
	    CLAUDE_INPUT,
	    .writers = qwen_writers },
	{ .agent = "copilot",
	    .form = HOOK_FORM_LIST,
	    .folder = "~/.copilot",
	    .file = "settings.json",
	    .command = "bash",
	    .timeout = "timeoutSec",
	    .limit = 5,
	    EVENTS(copilot_events),
	    .session = "sessionId",
	    .transcript = "transcriptPath",
	    .tool = "toolName",
	    .call = "toolCallId",
	    .input = "toolArgs",
	    .writers = copilot_writers,
	    .wanted = "user_exit" },
	/* its plugin writes what Claude Code's hooks are given (install/install.h) */
	{ .agent = "opencode",
	    .form = HOOK_FORM_PLUGIN,
	    .folder = "$XDG_CONFIG_HOME/opencode, ~/.config/opencode",
	    .file = "plugin/gt-recover.js",
	    EVENTS(claude_events),
	    CLAUDE_INPUT,
	    .writers = opencode_writers },
};

const struct hook_adapter *
hook_adapter_find(const char *agent)
{
	for (size_t i = 0; i < hook_adapter_count(); i++)
		if (agent == NULL || strcmp(rows[i].agent, agent) == 0)
			return &rows[i];
	return NULL;
}

size_t
hook_adapter_count(void)
{
	return sizeof rows / sizeof rows[0];
}

const struct hook_adapter *
hook_adapter_at(size_t i)
{
	return &rows[i];
}

/* By Claude Code's name; name itself when there is none. Borrowed. */
static const char *
hook_adapter_event(const struct hook_adapter *r, const char *name)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (strcmp(r->events[i].name, name) == 0)
			return r->events[i].as;
	return name;
}

const struct hook_writer *
hook_adapter_writer(const struct hook_adapter *r, const char *tool)
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
	static const char *const marks[] = {
		"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "
	};

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

#define N(table) (sizeof table / sizeof table[0])

static const struct { const char *event; enum hook_kind kind;
} kinds[] = {
	{ "SessionStart", HOOK_START }, { "UserPromptSubmit", HOOK_PROMPT },
	{ "PreToolUse", HOOK_PRE_TOOL }, { "PostToolUse", HOOK_POST_TOOL },
	{ "PostToolUseFailure", HOOK_TOOL_FAILED },
	{ "SubagentStop", HOOK_AGENT_STOP }, { "Stop", HOOK_STOP }, { "SessionEnd", HOOK_END },
};

/* hook: what a hook's input calls it; NULL: not told there, or the row says it. */
static const struct { const char *key, *hook; size_t at; } texts[] = {
	{ "provider", NULL, offsetof(struct hook_event, provider) },
	{ "event", NULL, offsetof(struct hook_event, event) },
	{ "conversation", NULL, offsetof(struct hook_event, conversation) },
	{ "transcript", NULL, offsetof(struct hook_event, transcript) },
	{ "cwd", "cwd", offsetof(struct hook_event, cwd) },
	{ "model", "model", offsetof(struct hook_event, model) },
	{ "tool", NULL, offsetof(struct hook_event, tool) },
	{ "call", NULL, offsetof(struct hook_event, call) },
	{ "path", NULL, offsetof(struct hook_event, path) },
	{ "paths", NULL, offsetof(struct hook_event, paths) },
	{ "agent", "agent_id", offsetof(struct hook_event, agent) },
	{ "agent_type", "agent_type", offsetof(struct hook_event, agent_type) },
	{ "reason", NULL, offsetof(struct hook_event, reason) },
	{ "session", NULL, offsetof(struct hook_event, session) },
	{ "socket", NULL, offsetof(struct hook_event, socket) },
	{ "pane", NULL, offsetof(struct hook_event, pane) },
	{ "server", NULL, offsetof(struct hook_event, server) },
	{ "start_command", NULL, offsetof(struct hook_event, start_command) },
};

static char **
event_text_field(const struct hook_event *b, size_t i)
{
	return (char **)((uintptr_t)b + texts[i].at);
}

static enum hook_kind
kind_of(const char *event)
{
	for (size_t i = 0; i < N(kinds); i++)
		if (strcmp(kinds[i].event, event) == 0)
			return kinds[i].kind;
	return HOOK_OTHER;
}

void
hook_event_release(struct hook_event *b)
{
	for (size_t i = 0; i < N(texts); i++)
		free(*event_text_field(b, i));
	memset(b, 0, sizeof *b);
}

/* Whoever is called without one has nothing that could be told apart. */
static int
check_event(struct hook_event *b, struct err *e)
{
	if (b->event != NULL && b->conversation != NULL &&
	    record_check_id("the id of a conversation", b->conversation, NULL) == 0 &&
	    (b->agent == NULL || record_check_id("the id of a sub-agent", b->agent, NULL) == 0)) {
		b->kind = kind_of(b->event);
		return 0;
	}
	hook_event_release(b);
	return err_set(e, GT_FAIL, "hook", "a hook's input names no conversation");
}

static char *
member(struct json_slice o, const char *key)
{
	struct json_slice v = json_slice_get(o, key);
	struct buf b = BUF_INIT;

	if (!json_slice_string(v) || v.n > HOOK_TEXT_MAX)
		return NULL;
	json_slice_text(&b, v);
	if (b.len > 0 && strlen(b.data) == b.len)
		return buf_detach(&b);
	buf_release(&b);
	return NULL;
}

/*
 * A patch stands in the input as one string, or is the only long one of its object: "command" of
 * codex, "input", "patchText" of opencode.
 */
static void
take_patch(struct hook_event *b, struct json_slice input)
{
	static const char *const keys[] = { "command", "input", "patch", "patchText" };
	struct buf patch = BUF_INIT, files = BUF_INIT;
	struct json_slice v = input;
	char *nl;

	for (size_t i = 0; i < N(keys) && !json_slice_string(v); i++)
		v = json_slice_get(input, keys[i]);
	if (json_slice_string(v))
		json_slice_text(&patch, v);
	hook_patch_files(&files, patch.data, patch.len, b->cwd, HOOK_TEXT_MAX);
	buf_wipe(&patch);
	if (files.len > 0) {
		nl = strchr(files.data, '\n');
		b->paths = nl != NULL ? xstrdup(nl + 1) : NULL;
		b->path = xstrndup(files.data, strcspn(files.data, "\n"));
	}
	buf_release(&files);
}

static void
read_tool_files(struct hook_event *b, const struct hook_adapter *row, struct json_slice input)
{
	const struct hook_writer *w = hook_adapter_writer(row, b->tool);
	char *path;

	if (w == NULL)
		return;
	if (w->key == NULL) {
		take_patch(b, input);
		return;
	}
	path = member(input, w->key);
	if (path == NULL || *path == '/' || *path == '~' || b->cwd == NULL) {
		b->path = path;
	} else {
		b->path = xasprintf("%s/%s", b->cwd, path);
		free(path);
	}
}

int
hook_event_parse(struct hook_event *b, const struct hook_adapter *row, const char *event, const char *p,
    size_t n, struct err *e)
{
	struct json_slice o;

	memset(b, 0, sizeof *b);
	timestamp_now(&b->at);
	if (!json_slice_whole(p, n, &o))
		return err_set(e, GT_FAIL, "hook", "a hook's input is not JSON");
	b->event = xstrndup(hook_adapter_event(row, event), strnlen(hook_adapter_event(row, event), 64));
	b->provider = xstrdup(row->agent);
	for (size_t i = 0; i < N(texts); i++)
		if (texts[i].hook != NULL)
			*event_text_field(b, i) = member(o, texts[i].hook);
	b->conversation = member(o, row->session);
	b->transcript = member(o, row->transcript);
	b->tool = member(o, row->tool);
	b->call = member(o, row->call);
	read_tool_files(b, row, json_slice_get(o, row->input));
	b->reason = member(o, kind_of(b->event) == HOOK_START ? "source" : "reason");
	if (b->reason != NULL && row->wanted != NULL && strcmp(b->reason, row->wanted) == 0) {
		free(b->reason);
		b->reason = xstrdup("prompt_input_exit");
	}
	return check_event(b, e);
}

json_t *
hook_event_json(const struct hook_event *b)
{
	json_t *o = json_object();

	json_put_int(o, "schema_version", 1);
	json_put_int(o, "at", b->at.wall_ms);
	json_put_int(o, "boot_ms", b->at.boot_ms);
	json_put(o, "boot_id", b->at.boot_id);
	json_put_int(o, "pid_ns", (int64_t)b->at.pid_ns);
	for (size_t i = 0; i < N(texts); i++)
		if (*event_text_field(b, i) != NULL)
			json_put(o, texts[i].key, *event_text_field(b, i));
	if (b->boot_id[0] != '\0') {
		json_put_int(o, "pid", b->pid);
		json_put_int(o, "pid_start", b->pid_start);
	}
	return o;
}

int
hook_event_from_json(struct hook_event *b, const json_t *o, struct err *e)
{
	const char *text;

	memset(b, 0, sizeof *b);
	b->at.wall_ms = json_number(o, "at", 0);
	b->at.boot_ms = json_number(o, "boot_ms", 0);
	snprintf(b->at.boot_id, sizeof b->at.boot_id, "%s", json_text(o, "boot_id", ""));
	/* a spool is its host's */
	snprintf(b->at.host, sizeof b->at.host, "%s", host_id());
	for (size_t i = 0; i < N(texts); i++)
		if ((text = json_text(o, texts[i].key, NULL)) != NULL && strlen(text) <= HOOK_TEXT_MAX)
			*event_text_field(b, i) = xstrdup(text);
	b->at.pid_ns = (uint64_t)json_number(o, "pid_ns", 0);
	b->pid = json_number(o, "pid", 0);
	b->pid_start = json_number(o, "pid_start", 0);
	if (b->pid > 0 && b->pid_start > 0)
		memcpy(b->boot_id, b->at.boot_id, sizeof b->boot_id);
	return check_event(b, e);
}
