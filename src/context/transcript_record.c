#include <string.h>
#include <time.h>

#include "context/transcript_record.h"
#include "context/transcript_call.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* Book-keeping of 1.0.128 to 2.1.330 (the last has this list in its own text). */
static const char *const notes[] = { "summary", "file-history-snapshot", "file-history-delta", "ai-title", "custom-title", "agent-name",
    "agent-color", "agent-setting", "tag", "last-prompt", "mode", "permission-mode", "api-request", "api-request-shape", "api-request-blob",
    "api-request-resumed", "tools-used", "atis-latch", "pr-link", "worktree-state", "content-replacement", "frame-link", "observer-ref",
    "continued-in", "resume-head-vouch", "attribution-snapshot", "relocated", "session-owner", "isolation-latch", "dev-mods",
    "bridge-session", "data-flow-records", "data-flow-incomplete", "derived-from", "history-suppression", "ended-by-model", "cost-state",
    "memory-mode", "artifact-comment-monitor", "artifact-autoreact-ledger", "fork-context-ref", "repl-mode", "hybrid-organization" };

uint64_t
record_name(struct json_slice name)
{
	uint64_t h = 0xcbf29ce484222325u;

	if (!json_slice_string(name) || name.n < 3)
		return 0;
	for (size_t i = 1; i + 1 < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 0x100000001b3u;
	return h != 0 ? h : 1;
}

/* n digits at p, or -1. */
static int
digits(const char *p, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		value = value * 10 + (p[i] - '0');
	}
	return value;
}

int64_t
record_time(struct json_slice time)
{
	struct tm tm = { .tm_isdst = 0 };
	const char *p;
	int ms = 0;

	if (!json_slice_string(time) || time.n < 22)
		return 0;
	p = time.p + 1;
	if (p[4] != '-' || p[7] != '-' || p[10] != 'T' || p[13] != ':' || p[16] != ':')
		return 0;
	tm.tm_year = digits(p, 4) - 1900;
	tm.tm_mon = digits(p + 5, 2) - 1;
	tm.tm_mday = digits(p + 8, 2);
	tm.tm_hour = digits(p + 11, 2);
	tm.tm_min = digits(p + 14, 2);
	tm.tm_sec = digits(p + 17, 2);
	if (p[19] == '.' && time.n >= 26)
		ms = digits(p + 20, 3);
	if (tm.tm_year < 70 || tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour < 0 ||
	    tm.tm_min < 0 || tm.tm_sec < 0 || ms < 0)
		return 0;
	return (int64_t)timegm(&tm) * 1000 + ms;
}

static void
open_message(struct record_parts *p)
{
	struct json_walk w = json_slice_walk(p->message);
	struct json_slice k, v;

	while (json_walk_next(&w, &k, &v)) {
		if (json_key_is(k, "id"))
			p->message_id = v;
		else if (json_key_is(k, "model"))
			p->model = v;
		else if (json_key_is(k, "content"))
			p->blocks = v;
	}
}

static void
take_flag(struct record_parts *p, struct json_slice k, struct json_slice v)
{
	bool on = json_slice_is(v, "true");

	if (json_key_is(k, "isSidechain"))
		p->side = on;
	else if (json_key_is(k, "isMeta"))
		p->meta = on;
	else if (json_key_is(k, "isCompactSummary"))
		p->summary = on;
	else if (json_key_is(k, "isApiErrorMessage"))
		p->api_error = on;
}

bool
record_open(const char *line, size_t n, struct record_parts *out)
{
	static const struct { const char *name; size_t at; } members[] = {
		{ "type", offsetof(struct record_parts, type) }, { "subtype", offsetof(struct record_parts, subtype) },
		{ "uuid", offsetof(struct record_parts, uuid) }, { "parentUuid", offsetof(struct record_parts, parent) },
		{ "logicalParentUuid", offsetof(struct record_parts, logical) }, { "timestamp", offsetof(struct record_parts, time) },
		{ "sessionId", offsetof(struct record_parts, session) }, { "version", offsetof(struct record_parts, version) },
		{ "message", offsetof(struct record_parts, message) }, { "content", offsetof(struct record_parts, content) },
		{ "attachment", offsetof(struct record_parts, attachment) }, { "operation", offsetof(struct record_parts, operation) },
		{ "toolUseResult", offsetof(struct record_parts, result) }, { "error", offsetof(struct record_parts, error) },
	};
	struct json_slice all, k, v;
	struct json_walk w;

	*out = (struct record_parts){ .side = false };
	if (!json_slice_whole(line, n, &all) || *all.p != '{')
		return false;
	w = json_slice_walk(all);
	while (json_walk_next(&w, &k, &v)) {
		size_t i = 0;

		while (i < COUNT(members) && !json_key_is(k, members[i].name))
			i++;
		if (i < COUNT(members))
			*(struct json_slice *)((char *)out + members[i].at) = v;
		else
			take_flag(out, k, v);
	}
	open_message(out);
	return out->type.n > 0;
}

static enum record_kind
kind_of(const struct record_parts *p)
{
	static const struct { const char *type; enum record_kind kind; } kinds[] = {
		{ "assistant", RECORD_ASSISTANT }, { "user", RECORD_USER },
		{ "attachment", RECORD_ATTACHMENT }, { "system", RECORD_SYSTEM },
		{ "progress", RECORD_LINK }, { "queue-operation", RECORD_QUEUE }
	};

	for (size_t i = 0; i < COUNT(kinds); i++)
		if (json_slice_is(p->type, kinds[i].type))
			return kinds[i].kind;
	for (size_t i = 0; i < COUNT(notes); i++)
		if (json_slice_is(p->type, notes[i]))
			return RECORD_NOTE;
	return RECORD_UNKNOWN;
}

/* What is shown of a text, or of an array of blocks: not their pictures, which are large. */
static size_t
shown(struct json_slice v)
{
	struct json_walk w = json_slice_walk(v);
	size_t sum = json_slice_string(v) ? v.n : 0;
	struct json_slice block;

	while (!w.object && json_walk_next(&w, NULL, &block))
		sum += json_slice_get(block, "text").n;
	return sum;
}

static size_t
block_words(struct json_slice block, struct json_slice type)
{
	size_t n = json_slice_is(type, "tool_result") ? shown(json_slice_get(block, "content")) :
	    json_slice_is(type, "text") ? json_slice_get(block, "text").n : 0;

	if (json_slice_is(type, "tool_use") || json_slice_is(type, "server_tool_use"))
		n = json_slice_get(block, "input").n;
	return json_slice_is(type, "text") || n < CALL_MOST ? n : CALL_MOST;
}

void
record_read(const struct record_parts *p, struct record *out)
{
	size_t words = p->content.n;
	struct json_walk w = json_slice_walk(p->blocks);
	struct json_slice block;
	bool results = false;

	*out = (struct record){ .kind = (uint8_t)kind_of(p), .side = p->side, .meta = p->meta };
	out->id = record_name(p->uuid);
	out->parent = record_name(p->parent);
	out->logical = record_name(p->logical);
	out->message = out->kind == RECORD_ASSISTANT ? record_name(p->message_id) : 0;
	out->time = record_time(p->time);
	if (json_slice_string(p->blocks))
		words += p->blocks.n;
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type");

		results = results || json_slice_is(type, "tool_result");
		words += block_words(block, type);
	}
	if (out->kind == RECORD_ATTACHMENT && json_slice_is(json_slice_get(p->attachment, "type"), "queued_command"))
		words += shown(json_slice_get(p->attachment, "prompt"));
	out->words = words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
	out->prompt = out->kind == RECORD_USER && !p->meta && !results;
}

void
record_calls(const struct record_parts *p, record_call_fn *fn, void *arg)
{
	struct json_walk w = json_slice_walk(p->blocks);
	struct json_slice block;

	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type");
		uint64_t id = 0;
		bool result = json_slice_is(type, "tool_result");

		if (result)
			id = record_name(json_slice_get(block, "tool_use_id"));
		else if (json_slice_is(type, "tool_use") || json_slice_is(type, "server_tool_use"))
			id = record_name(json_slice_get(block, "id"));
		if (id != 0)
			fn(arg, id, result);
	}
}
