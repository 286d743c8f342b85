#include <stdlib.h>
#include <string.h>

#include "transcript/format/format_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/utf8.h"
#include "scrub/scrub.h"
#include "transcript/transcript_private.h"

/*
 * What Claude Code had at work beside its conversation (2.1.197, 2.1.330). The result of the call
 * that began it names the task; a <task-notification> without an event, TaskStop or CronDelete
 * ends it. Read from the end, so that an end is known before the beginning.
 */
#define LOOK ((off_t)64 << 20)	/* bytes of the file */
#define MOST_ENDED 1024		/* ids of what has ended */
#define MOST_ID 128
#define MOST_TEXT ((size_t)2 << 10)
#define MOST_JOURNAL ((size_t)4 << 20)
#define MOST_RESULT 120

struct background_search {
	struct background_list *out;
	uint64_t call[BACKGROUND_MAX];	/* beside out: hash of the id of the call that began it */
	uint64_t ended[MOST_ENDED];	/* hashes of ids */
	size_t n_ended;
	int64_t latest;			/* time of the newest record */
	bool waked;			/* the newest wake-up was met, or its end */
};

static bool
holds(const char *p, size_t n, const char *text)
{
	return memmem(p, n, text, strlen(text)) != NULL;
}

static uint64_t
hash_text(const char *p, size_t n)
{
	struct buf b = BUF_INIT;
	uint64_t hash;

	buf_chr(&b, '"');
	buf_add(&b, p, n);
	buf_chr(&b, '"');
	hash = entry_hash_id((struct json_slice){ b.data, b.len });
	buf_release(&b);
	return hash;
}

static void
note_end(struct background_search *b, uint64_t id)
{
	if (id != 0 && b->n_ended < MOST_ENDED)
		b->ended[b->n_ended++] = id;
}

static bool
has_ended(const struct background_search *b, uint64_t id)
{
	for (size_t i = 0; i < b->n_ended; i++)
		if (b->ended[i] == id)
			return true;
	return false;
}

/* The tags stand in a JSON string as they are. */
static void
read_notifications(struct background_search *b, const char *p, size_t n)
{
	static const char open[] = "<task-notification>", close[] = "</task-notification>";
	static const char id[] = "<task-id>";
	const char *end = p + n, *to;

	while ((p = memmem(p, (size_t)(end - p), open, sizeof open - 1)) != NULL) {
		const char *at, *stop;

		to = memmem(p, (size_t)(end - p), close, sizeof close - 1);
		to = to != NULL ? to : end;
		at = memmem(p, (size_t)(to - p), id, sizeof id - 1);
		stop = at != NULL ? memchr(at + 1, '<', (size_t)(to - at - 1)) : NULL;
		if (stop != NULL && !holds(p, (size_t)(to - p), "<event>"))
			note_end(b, hash_text(at + sizeof id - 1, (size_t)(stop - at) - (sizeof id - 1)));
		p = to;
	}
}

/* Cut to a few kilobytes; NULL for what is no string. */
static char *
short_text(struct json_slice v)
{
	struct buf b = BUF_INIT;

	if (!json_slice_string(v))
		return NULL;
	format_decode_text(&b, v, MOST_TEXT);
	return buf_detach(&b);
}

static struct background *
add_background(struct background_search *b, enum background_kind kind, struct json_slice id, uint64_t call)
{
	struct background_list *l = b->out;
	struct background *x;

	if (l->n == BACKGROUND_MAX || !json_slice_string(id) || id.n > MOST_ID ||
	    has_ended(b, entry_hash_id(id)))
		return NULL;
	note_end(b, entry_hash_id(id));	/* told once */
	x = &l->v[l->n];
	*x = (struct background){ .kind = kind, .id = short_text(id) };
	b->call[l->n++] = call;
	return x;
}

/* "…written to: /tmp/…/ID.output. You will be notified…" */
static char *
output_path(struct json_slice message)
{
	static const char sign[] = "Output is being written to: ";
	struct json_walk w = json_slice_walk(json_slice_get(message, "content"));
	struct json_slice block;
	struct buf text = BUF_INIT;
	char *path = NULL, *at;

	if (json_walk_next(&w, NULL, &block))
		format_content_text(&text, json_slice_get(block, "content"), MOST_TEXT);
	at = text.len > 0 ? strstr(text.data, sign) : NULL;
	if (at != NULL) {
		at += strlen(sign);
		path = xstrndup(at, strcspn(at, " \n"));
		if (str_ends(path, "."))
			path[strlen(path) - 1] = '\0';
	}
	buf_wipe(&text);
	return path;
}

static uint64_t
call_of(struct json_slice message)
{
	struct json_walk w = json_slice_walk(json_slice_get(message, "content"));
	struct json_slice block;

	return !w.object && json_walk_next(&w, NULL, &block) ?
	    entry_hash_id(json_slice_get(block, "tool_use_id")) : 0;
}

static void
add_schedule(struct background_search *b, struct json_slice r, uint64_t call)
{
	int64_t due = json_slice_number(json_slice_get(r, "nextFireAt"), 0);
	bool recurring = json_slice_is(json_slice_get(r, "recurring"), "true");
	struct background *x;

	if (!recurring && due > 0 && due <= b->latest)	/* its one time has come */
		return;
	x = add_background(b, BACKGROUND_CRON, json_slice_get(r, "id"), call);
	if (x == NULL)
		return;
	x->recurring = recurring;
	x->durable = json_slice_is(json_slice_get(r, "durable"), "true");
	x->due = due;
	x->what = short_text(json_slice_get(r, "humanSchedule"));
}

static void
add_wakeup(struct background_search *b, struct json_slice r, uint64_t call)
{
	static const char name[] = "\"wakeup\"";
	int64_t due = json_slice_number(json_slice_get(r, "scheduledFor"), 0);
	struct background *x = NULL;

	if (!b->waked && due > b->latest)
		x = add_background(
		    b, BACKGROUND_WAKEUP, (struct json_slice){ name, sizeof name - 1 }, call);
	b->waked = true;
	if (x != NULL)
		x->due = due;
}

static void
add_result(struct background_search *b, struct json_slice r, struct json_slice message)
{
	struct json_slice task = json_slice_get(r, "taskId"), shell = json_slice_get(r, "backgroundTaskId");
	uint64_t call = call_of(message);
	struct background *x;

	if (json_slice_string(shell)) {
		x = add_background(b, BACKGROUND_SHELL, shell, call);
		if (x != NULL)
			x->path = output_path(message);
	} else if (json_slice_is(json_slice_get(r, "isAsync"), "true")) {
		x = add_background(b, BACKGROUND_AGENT, json_slice_get(r, "agentId"), call);
		if (x != NULL) {
			x->what = short_text(json_slice_get(r, "description"));
			x->input = short_text(json_slice_get(r, "prompt"));
		}
	} else if (json_slice_is(json_slice_get(r, "taskType"), "local_workflow")) {
		if (has_ended(b, entry_hash_id(task)))
			return;
		x = add_background(b, BACKGROUND_WORKFLOW, json_slice_get(r, "runId"), call);
		if (x != NULL) {
			x->what = short_text(json_slice_get(r, "workflowName"));
			x->path = short_text(json_slice_get(r, "scriptPath"));
		}
	} else if (json_slice_string(task) && json_slice_get(r, "timeoutMs").n > 0) {
		add_background(b, BACKGROUND_MONITOR, task, call);
	} else if (json_slice_get(r, "humanSchedule").n > 0) {
		add_schedule(b, r, call);
	} else if (json_slice_get(r, "scheduledFor").n > 0) {
		add_wakeup(b, r, call);
	}
}

/* What the call itself tells, of one that began something, or that ended something. */
static void
add_call(struct background_search *b, struct json_slice block)
{
	static const char *const ids[] = { "task_id", "shell_id", "bash_id", "id" };
	struct json_slice name = json_slice_get(block, "name"), in = json_slice_get(block, "input");
	uint64_t call = entry_hash_id(json_slice_get(block, "id"));

	if (json_slice_is(name, "TaskStop") || json_slice_is(name, "KillShell") ||
	    json_slice_is(name, "KillBash") || json_slice_is(name, "CronDelete"))
		for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
			note_end(b, entry_hash_id(json_slice_get(in, ids[i])));
	if (json_slice_is(name, "ScheduleWakeup") && json_slice_is(json_slice_get(in, "stop"), "true"))
		b->waked = true;
	for (size_t i = 0; i < b->out->n && call != 0; i++) {
		struct background *x = &b->out->v[i];
		bool monitor = x->kind == BACKGROUND_MONITOR || x->kind == BACKGROUND_SHELL;

		if (b->call[i] != call)
			continue;
		if (x->what == NULL)
			x->what = short_text(json_slice_get(in, "description"));
		if (x->input == NULL)
			x->input = short_text(json_slice_get(in, monitor ? "command" : "prompt"));
		x->when = short_text(json_slice_get(in, "cron"));
	}
}

static void
read_background_line(struct background_search *b, const char *p, size_t n)
{
	static const char *const calls[] = { "\"Bash\"", "\"Monitor\"", "\"CronCreate\"",
		"\"ScheduleWakeup\"", "\"TaskStop\"", "\"KillShell\"", "\"KillBash\"", "\"CronDelete\"" };
	struct json_slice record, message, block;
	bool result = holds(p, n, "\"toolUseResult\""), call = false;
	struct claude_record c;
	struct json_walk w;

	for (size_t i = 0; !result && i < sizeof calls / sizeof calls[0]; i++)
		call = call || holds(p, n, calls[i]);
	if (holds(p, n, "<task-notification>"))
		read_notifications(b, p, n);
	if (!result && !call && b->latest != 0)
		return;
	if (!json_slice_whole(p, n, &record) || !claude_record_parse(record, &c))
		return;
	if (b->latest == 0)
		b->latest = entry_time(c.time);
	if (c.side)
		return;
	message = json_slice_get(record, "message");
	if (result)
		add_result(b, c.result, message);
	w = json_slice_walk(c.blocks);
	while (call && !w.object && json_walk_next(&w, NULL, &block))
		add_call(b, block);
}

static bool
is_plain_name(const char *id)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	return *id != '\0' && id[strspn(id, plain)] == '\0';
}

static void
scrub_field(struct scrub *s, char **field)
{
	struct clean_text *clean = scrub_string(s, *field);

	if (*field != NULL)
		explicit_bzero(*field, strlen(*field));
	free(*field);
	*field = clean != NULL ? xstrdup(clean_bytes(clean)) : NULL;
	clean_free(clean);
}

struct journal {
	json_t *labels;		/* by the agents' ids */
	size_t started, done;
	struct buf results;
};

static void
read_journal_line(struct journal *j, const char *line)
{
	json_t *v = json_loads(line, 0, NULL);
	const char *kind = json_text(v, "type", ""), *id = json_text(v, "agentId", "");
	const char *result = json_text(v, "result", "");

	if (strcmp(kind, "started") == 0) {
		j->started++;
		json_put(j->labels, id, json_text(v, "label", "?"));
	} else if (strcmp(kind, "result") == 0) {
		buf_fmt(&j->results, "%s%s (", j->done++ > 0 ? ", " : ": ", json_text(j->labels, id, "?"));
		utf8_escape(&j->results, result, strcspn(result, "\n"), MOST_RESULT);
		buf_chr(&j->results, ')');
	}
	json_decref(v);
}

/* "1 of the 2 agents it had begun had finished: one (ONE IS FINE)", by the journal of a workflow's run. */
static char *
workflow_done(const char *folder, const char *run, struct scrub *s)
{
	char *path = xasprintf("%s/subagents/workflows/%s/journal.jsonl", folder, run), *next, *line;
	struct journal j = { .labels = json_object(), .results = BUF_INIT };
	struct buf text = BUF_INIT;

	if (io_read_file(path, MOST_JOURNAL, &text, NULL) == 0)
		for (line = strtok_r(text.data, "\n", &next); line != NULL;
		    line = strtok_r(NULL, "\n", &next))
			read_journal_line(&j, line);
	free(path);
	path = j.started == 0 ? NULL : xasprintf("%zu of the %zu agents it had begun had finished%s", j.done,
	    j.started, j.results.len > 0 ? j.results.data : "");
	json_decref(j.labels);
	buf_wipe(&text);
	buf_wipe(&j.results);
	scrub_field(s, &path);
	return path;
}

/* What it had finished, from the files beside the transcript. */
static void
add_work(struct background *x, const char *folder, struct scrub *s)
{
	if (!is_plain_name(x->id))
		return;
	if (x->kind == BACKGROUND_WORKFLOW) {
		x->done = workflow_done(folder, x->id, s);
	} else if (x->kind == BACKGROUND_AGENT) {
		x->path = xasprintf("%s/subagents/agent-%s.jsonl", folder, x->id);
		x->done = claude_agent_words(x->path, s);
	}
}

void
claude_background(struct transcript_tail *t, const char *path, struct scrub *s, struct background_list *out)
{
	struct background_search b = { .out = out };
	size_t stem = strlen(path) - (str_ends(path, ".jsonl") ? strlen(".jsonl") : 0), n, len;
	char *folder = xstrndup(path, stem);
	off_t last = -1, at;
	const char *line;

	while (transcript_tail_previous(t, &at, &n, NULL) == 1 && (last < 0 || last - at < LOOK)) {
		last = last < 0 ? at : last;
		if (transcript_tail_line(t, at, n, &line, &len, NULL) != 0)
			break;
		read_background_line(&b, line, len);
	}
	for (size_t i = 0; i < out->n; i++) {
		struct background *x = &out->v[i];
		char **texts[] = { &x->id, &x->what, &x->input, &x->when, &x->path };

		add_work(x, folder, s);
		for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
			scrub_field(s, texts[k]);
	}
	free(folder);
}
