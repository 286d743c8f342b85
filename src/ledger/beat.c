#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/beat.h"
#include "ledger/key.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_slice.h"

#define N(table) (sizeof table / sizeof table[0])

static const struct { const char *event; enum beat_kind kind; } kinds[] = {
	{ "SessionStart", BEAT_START }, { "UserPromptSubmit", BEAT_PROMPT }, { "PreToolUse", BEAT_TOOL }, { "PostToolUse", BEAT_TOOL_DONE },
	{ "PostToolUseFailure", BEAT_TOOL_FAILED },
	{ "SubagentStop", BEAT_AGENT_DONE }, { "Stop", BEAT_STOP }, { "SessionEnd", BEAT_END },
};

/* hook: what a hook's input calls it; NULL: not told there. */
static const struct { const char *key, *hook; size_t at; } texts[] = {
	{ "event", NULL, offsetof(struct beat, event) },
	{ "conversation", "session_id", offsetof(struct beat, conversation) },
	{ "transcript", "transcript_path", offsetof(struct beat, transcript) },
	{ "cwd", "cwd", offsetof(struct beat, cwd) },
	{ "model", "model", offsetof(struct beat, model) },
	{ "tool", "tool_name", offsetof(struct beat, tool) },
	{ "call", "tool_use_id", offsetof(struct beat, call) },
	{ "path", NULL, offsetof(struct beat, path) },
	{ "agent", "agent_id", offsetof(struct beat, agent) },
	{ "agent_type", "agent_type", offsetof(struct beat, agent_type) },
	{ "reason", NULL, offsetof(struct beat, reason) },
	{ "session", NULL, offsetof(struct beat, session) },
	{ "socket", NULL, offsetof(struct beat, socket) },
	{ "pane", NULL, offsetof(struct beat, pane) },
	{ "server", NULL, offsetof(struct beat, server) },
	{ "start_command", NULL, offsetof(struct beat, start_command) },
};

static char **
text_of(const struct beat *b, size_t i)
{
	return (char **)((uintptr_t)b + texts[i].at);
}

static enum beat_kind
kind_of(const char *event)
{
	for (size_t i = 0; i < N(kinds); i++)
		if (strcmp(kinds[i].event, event) == 0)
			return kinds[i].kind;
	return BEAT_OTHER;
}

void
beat_release(struct beat *b)
{
	for (size_t i = 0; i < N(texts); i++)
		free(*text_of(b, i));
	memset(b, 0, sizeof *b);
}

/* Whoever is called without one has nothing that could be told apart. */
static int
check(struct beat *b, struct err *e)
{
	if (b->event != NULL && b->conversation != NULL && key_check_id("the id of a conversation", b->conversation, NULL) == 0 &&
	    (b->agent == NULL || key_check_id("the id of a sub-agent", b->agent, NULL) == 0)) {
		b->kind = kind_of(b->event);
		return 0;
	}
	beat_release(b);
	return err_set(e, GT_FAIL, "hook", "a hook's input names no conversation");
}

static char *
member(struct json_slice o, const char *key)
{
	struct json_slice v = json_slice_get(o, key);
	struct buf b = BUF_INIT;

	if (!json_slice_string(v) || v.n > BEAT_TEXT_MAX)
		return NULL;
	json_slice_text(&b, v);
	if (b.len > 0 && strlen(b.data) == b.len)
		return buf_detach(&b);
	buf_release(&b);
	return NULL;
}

static char *
written_path(const char *tool, struct json_slice input)
{
	static const char *const writers[] = { "Write", "Edit", "MultiEdit", "NotebookEdit" };
	char *path;

	for (size_t i = 0; tool != NULL && i < N(writers); i++) {
		if (strcmp(writers[i], tool) != 0)
			continue;
		path = member(input, "file_path");
		return path != NULL ? path : member(input, "notebook_path");
	}
	return NULL;
}

int
beat_read(struct beat *b, const char *event, const char *p, size_t n, struct err *e)
{
	struct json_slice o;

	memset(b, 0, sizeof *b);
	moment_now(&b->at);
	if (!json_slice_whole(p, n, &o))
		return err_set(e, GT_FAIL, "hook", "a hook's input is no JSON");
	b->event = xstrndup(event, strnlen(event, 64));
	for (size_t i = 0; i < N(texts); i++)
		if (texts[i].hook != NULL)
			*text_of(b, i) = member(o, texts[i].hook);
	b->path = written_path(b->tool, json_slice_get(o, "tool_input"));
	b->reason = member(o, kind_of(event) == BEAT_START ? "source" : "reason");
	return check(b, e);
}

json_t *
beat_json(const struct beat *b)
{
	json_t *o = json_object();

	json_put_int(o, "schema_version", 1);
	json_put_int(o, "at", b->at.wall_ms);
	json_put_int(o, "boot_ms", b->at.boot_ms);
	json_put(o, "boot_id", b->at.boot_id);
	for (size_t i = 0; i < N(texts); i++)
		if (*text_of(b, i) != NULL)
			json_put(o, texts[i].key, *text_of(b, i));
	if (b->boot_id[0] != '\0') {
		json_put_int(o, "pid", b->pid);
		json_put_int(o, "pid_start", b->pid_start);
	}
	return o;
}

int
beat_from_json(struct beat *b, const json_t *o, struct err *e)
{
	const char *text;

	memset(b, 0, sizeof *b);
	b->at.wall_ms = json_number(o, "at", 0);
	b->at.boot_ms = json_number(o, "boot_ms", 0);
	snprintf(b->at.boot_id, sizeof b->at.boot_id, "%s", json_text(o, "boot_id", ""));
	/* a spool is its host's */
	snprintf(b->at.host, sizeof b->at.host, "%s", host_id());
	for (size_t i = 0; i < N(texts); i++)
		if ((text = json_text(o, texts[i].key, NULL)) != NULL && strlen(text) <= BEAT_TEXT_MAX)
			*text_of(b, i) = xstrdup(text);
	b->pid = json_number(o, "pid", 0);
	b->pid_start = json_number(o, "pid_start", 0);
	if (b->pid > 0 && b->pid_start > 0)
		memcpy(b->boot_id, b->at.boot_id, sizeof b->boot_id);
	return check(b, e);
}
