#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transcript/format/format_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/utf8.h"
#include "conversation/conversation.h"
#include "transcript/transcript_private.h"

#define MOST_CALLS 16		/* unfinished calls that are looked after; the newest */
#define MOST_HEAD ((size_t)1 << 20)
#define MOST_WORDS 600
#define MOST_INPUT 200
#define LAST_CALLS 3

/*
 * Sub-agents write files of their own: <session>/subagents/agent-*.jsonl with an
 * agent-*.meta.json that names the call (2.1.197, 2.1.330; 2.1.37 writes no such note),
 * agent-*.jsonl beside the transcripts of all sessions (2.0.76). Where no note names the call,
 * the first message is what the agent was told.
 */

struct agent_call {
	char *id;		/* as the transcript writes it */
	uint64_t task;		/* hash of what the sub-agent was told */
};

static bool
note_names(const char *folder, const char *file, const char *call)
{
	char *stem = xstrndup(file, strlen(file) - strlen(".jsonl")),
	     *path = xasprintf("%s/%s.meta.json", folder, stem);
	struct buf text = BUF_INIT;
	bool same = false;

	if (io_read_file(path, MOST_HEAD, &text, NULL) == 0) {
		json_t *v = json_parse(text.data, text.len, "note", NULL);

		same = strcmp(json_text(v, "toolUseId", ""), call) == 0;
		json_decref(v);
	}
	buf_release(&text);
	free(stem);
	free(path);
	return same;
}

/* Is the file's first record what the call told its agent, in this session? */
static bool
begins_with(const char *path, uint64_t task, const char *session)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct buf head = BUF_INIT;
	struct json_slice record;
	struct claude_record p;
	const char *nl;
	ssize_t got;
	bool same = false;

	if (fd < 0)
		return false;
	buf_grow(&head, MOST_HEAD);
	got = read(fd, head.data, MOST_HEAD);
	close(fd);
	nl = got > 0 ? memchr(head.data, '\n', (size_t)got) : NULL;
	if (nl != NULL && json_slice_whole(head.data, (size_t)(nl - head.data), &record) &&
	    claude_record_parse(record, &p)) {
		struct json_walk w = json_slice_walk(p.blocks);
		struct json_slice block, words = p.blocks;

		if (!json_slice_string(words) && json_walk_next(&w, NULL, &block))
			words = json_slice_get(block, "text");
		same = task != 0 && entry_hash_id(words) == task &&
		    (session == NULL || json_slice_is(p.session, session));
	}
	head.len = got > 0 ? (size_t)got : 0;
	buf_wipe(&head);
	return same;
}

/* The agent's file in a folder, heap; NULL: not there. */
static char *
find_file(const char *folder, const struct agent_call *call, const char *session)
{
	DIR *dir = opendir(folder);
	struct dirent *d;
	char *found = NULL;

	while (dir != NULL && found == NULL && (d = readdir(dir)) != NULL) {
		char *path;

		if (!str_starts(d->d_name, "agent-") || !str_ends(d->d_name, ".jsonl"))
			continue;
		path = io_join(folder, d->d_name);
		if (note_names(folder, d->d_name, call->id) || begins_with(path, call->task, session))
			found = path;
		else
			free(path);
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

/* At most so many bytes of the first line, or of the whole text. */
static void
put_short(struct buf *out, const char *text, size_t most, bool line)
{
	size_t n = line ? strcspn(text, "\n") : strlen(text), i = 0, step;
	int32_t rune;

	while (i < n && (step = utf8_next(text + i, n - i, &rune)) + i <= most)
		i += step;
	buf_add(out, text, i);
	if (i < n)
		buf_str(out, "…");
}

/* The last words and the last calls, oldest first. All of it is clean text. */
static char *
summarize_agent(const struct conversation *sub)
{
	struct buf out = BUF_INIT;
	size_t words = SIZE_MAX, from = sub->n;

	for (size_t i = sub->n, calls = 0; i-- > 0;) {
		const struct exchange *x = &sub->v[i];

		if (x->role == ROLE_ASSISTANT && x->tool != NULL && calls++ < LAST_CALLS)
			from = i;
		else if (x->role == ROLE_ASSISTANT && x->tool == NULL && words == SIZE_MAX)
			words = i;
	}
	buf_str(&out, "The sub-agent had not finished. The last of its work:");
	for (size_t i = from < words ? from : words; i < sub->n; i++) {
		const struct exchange *x = &sub->v[i];

		if (x->role != ROLE_ASSISTANT || (x->tool == NULL ? i != words : i < from))
			continue;
		buf_chr(&out, '\n');
		if (x->tool == NULL) {
			put_short(&out, x->content, MOST_WORDS, false);
			continue;
		}
		buf_fmt(&out, "%s(", x->tool);
		put_short(&out, x->input != NULL ? x->input : "", MOST_INPUT, true);
		buf_fmt(&out, ") %s", exchange_status_name(x->status));
	}
	if (from == sub->n && words == SIZE_MAX)
		buf_reset(&out);
	return conversation_text(&out);
}

char *
claude_agent_words(const char *file, struct scrub *s)
{
	struct conversation sub;
	struct buf words = BUF_INIT;

	if (transcript_read_side(file, transcript_format_find("claude"), s, 16 << 10, &sub) != 0)
		return NULL;
	for (size_t i = sub.n; i-- > 0 && words.len == 0;)
		if (sub.v[i].role == ROLE_ASSISTANT && sub.v[i].tool == NULL)
			put_short(&words, sub.v[i].content, MOST_INPUT, true);
	conversation_release(&sub);
	return words.len > 0 ? conversation_text(&words) : NULL;
}

static void
attach_agent(struct transcript_reading *r, size_t exchange, const char *file)
{
	struct conversation sub;
	char **content = &r->t.out->v[exchange].content;

	if (transcript_read_side(file, r->how, r->t.wash.s, 16 << 10, &sub) != 0)
		return;
	free(*content);
	*content = summarize_agent(&sub);
	conversation_release(&sub);
}

/* The call of an exchange from its record; false: it is none of a sub-agent. */
static bool
read_call(struct transcript_reading *r, const struct builder_mark *m, struct agent_call *out)
{
	const struct transcript_entry *record = &r->chain.v[m->record];
	struct json_slice text, block;
	struct json_walk w;

	if (transcript_iter_read(r->pages, record->at, record->n, &text, NULL) != 1)
		return false;
	w = json_slice_walk(json_slice_get(json_slice_get(text, "message"), "content"));
	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice id = json_slice_get(block, "id");
		struct buf b = BUF_INIT;

		if (entry_hash_id(id) != m->id || !json_slice_is(json_slice_get(block, "type"), "tool_use"))
			continue;
		format_decode_text(&b, id, 1024);
		out->id = buf_detach(&b);
		out->task = entry_hash_id(json_slice_get(json_slice_get(block, "input"), "prompt"));
		return true;
	}
	return false;
}

void
claude_agents(struct transcript_reading *r)
{
	const char *path = r->path, *slash = strrchr(path, '/');
	size_t left = MOST_CALLS, stem = strlen(path) - (str_ends(path, ".jsonl") ? strlen(".jsonl") : 0);
	char *own = xasprintf("%.*s/subagents", (int)stem, path);
	char *beside = slash != NULL ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");

	for (size_t i = r->t.out->n; i-- > 0 && left > 0;) {
		const struct builder_mark *m = &r->t.marks[i];
		const char *tool = r->t.out->v[i].tool;
		struct agent_call call;
		char *file;

		if (!m->call || m->answered || (strcmp(tool, "Task") != 0 && strcmp(tool, "Agent") != 0) ||
		    !read_call(r, m, &call))
			continue;
		left--;
		file = find_file(own, &call, NULL);
		if (file == NULL)
			file = find_file(beside, &call, r->t.out->session_id);
		if (file != NULL)
			attach_agent(r, i, file);
		free(file);
		free(call.id);
	}
	free(own);
	free(beside);
}
