#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/beat.h"
#include "ledger/hook_row.h"
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

/* hook: what a hook's input calls it; NULL: not told there, or the row says it. */
static const struct { const char *key, *hook; size_t at; } texts[] = {
	{ "provider", NULL, offsetof(struct beat, provider) },
	{ "event", NULL, offsetof(struct beat, event) },
	{ "conversation", NULL, offsetof(struct beat, conversation) },
	{ "transcript", NULL, offsetof(struct beat, transcript) },
	{ "cwd", "cwd", offsetof(struct beat, cwd) },
	{ "model", "model", offsetof(struct beat, model) },
	{ "tool", NULL, offsetof(struct beat, tool) },
	{ "call", NULL, offsetof(struct beat, call) },
	{ "path", NULL, offsetof(struct beat, path) },
	{ "paths", NULL, offsetof(struct beat, paths) },
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

/* A patch stands in the input as one string, or is the only long one of its object: "command" of codex, "input", "patchText" of opencode. */
static void
take_patch(struct beat *b, struct json_slice input)
{
	static const char *const keys[] = { "command", "input", "patch", "patchText" };
	struct buf patch = BUF_INIT, files = BUF_INIT;
	struct json_slice v = input;
	char *nl;

	for (size_t i = 0; i < N(keys) && !json_slice_string(v); i++)
		v = json_slice_get(input, keys[i]);
	if (json_slice_string(v))
		json_slice_text(&patch, v);
	hook_patch_files(&files, patch.data, patch.len, b->cwd, BEAT_TEXT_MAX);
	buf_wipe(&patch);
	if (files.len > 0) {
		nl = strchr(files.data, '\n');
		b->paths = nl != NULL ? xstrdup(nl + 1) : NULL;
		b->path = xstrndup(files.data, strcspn(files.data, "\n"));
	}
	buf_release(&files);
}

static void
take_files(struct beat *b, const struct hook_row *row, struct json_slice input)
{
	const struct hook_writer *w = hook_row_writer(row, b->tool);
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
beat_read(struct beat *b, const struct hook_row *row, const char *event, const char *p, size_t n, struct err *e)
{
	struct json_slice o;

	memset(b, 0, sizeof *b);
	moment_now(&b->at);
	if (!json_slice_whole(p, n, &o))
		return err_set(e, GT_FAIL, "hook", "a hook's input is no JSON");
	b->event = xstrndup(hook_row_event(row, event), strnlen(hook_row_event(row, event), 64));
	b->provider = xstrdup(row->agent);
	for (size_t i = 0; i < N(texts); i++)
		if (texts[i].hook != NULL)
			*text_of(b, i) = member(o, texts[i].hook);
	b->conversation = member(o, row->session);
	b->transcript = member(o, row->transcript);
	b->tool = member(o, row->tool);
	b->call = member(o, row->call);
	take_files(b, row, json_slice_get(o, row->input));
	b->reason = member(o, kind_of(b->event) == BEAT_START ? "source" : "reason");
	if (b->reason != NULL && row->wanted != NULL && strcmp(b->reason, row->wanted) == 0) {
		free(b->reason);
		b->reason = xstrdup("prompt_input_exit");
	}
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
