#include <ctype.h>
#include <string.h>

#include "transcript/format/format_private.h"
#include "base/buf.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* How a part of an input is shown, each on a line of its own. */
enum call_shape {
	PLAIN,
	LABELLED,	/* "path: src" */
	REMOVED,	/* every line behind "-" */
	ADDED		/* … "+" */
};

struct call_part {
	const char *key;
	enum call_shape shape;
};

static const struct call_shown {
	const char *tool;
	struct call_part parts[4];
} tools[] = {
	{ "Bash", { { "command", PLAIN } } },
	{ "Read",
	    { { "file_path", PLAIN }, { "offset", LABELLED }, { "limit", LABELLED },
		{ "pages", LABELLED } } },
	{ "Write", { { "file_path", PLAIN }, { "content", PLAIN } } },
	{ "Edit", { { "file_path", PLAIN }, { "old_string", REMOVED }, { "new_string", ADDED } } },
	{ "MultiEdit", { { "file_path", PLAIN }, { "edits", PLAIN } } },
	{ "NotebookEdit",
	    { { "notebook_path", PLAIN }, { "cell_id", LABELLED }, { "edit_mode", LABELLED },
		{ "new_source", PLAIN } } },
	{ "NotebookRead", { { "notebook_path", PLAIN } } },
	{ "Glob", { { "pattern", PLAIN }, { "path", LABELLED } } },
	{ "Grep",
	    { { "pattern", PLAIN }, { "path", LABELLED }, { "glob", LABELLED },
		{ "output_mode", LABELLED } } },
	{ "LS", { { "path", PLAIN } } },
	{ "WebFetch", { { "url", PLAIN }, { "prompt", PLAIN } } },
	{ "WebSearch", { { "query", PLAIN } } },
	{ "Task", { { "description", PLAIN }, { "prompt", PLAIN } } },
	{ "Agent", { { "description", PLAIN }, { "prompt", PLAIN } } },
	{ "Skill", { { "skill", PLAIN }, { "command", PLAIN }, { "args", PLAIN } } },
	{ "SlashCommand", { { "command", PLAIN } } },
	{ "ExitPlanMode", { { "plan", PLAIN } } },
	{ "TaskCreate", { { "subject", PLAIN }, { "description", PLAIN } } },
	{ "TaskUpdate", { { "taskId", LABELLED }, { "subject", PLAIN }, { "status", LABELLED } } },
};

/* Each line of the string behind a sign; a newline at its end begins no further line. */
static void
put_lines(struct buf *out, struct json_slice v, char sign)
{
	struct buf text = BUF_INIT;
	const char *p, *end;

	format_decode_text(&text, v, CALL_MOST);
	p = text.data;
	end = p + text.len;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (out->len > 0)
			buf_chr(out, '\n');
		buf_chr(out, sign);
		buf_add(out, p, (size_t)((nl != NULL ? nl : end) - p));
		p = nl != NULL ? nl + 1 : end;
	}
	buf_wipe(&text);
}

static void
put_edits(struct buf *out, struct json_slice edits)
{
	struct json_walk w = json_slice_walk(edits);
	struct json_slice edit;

	while (!w.object && json_walk_next(&w, NULL, &edit)) {
		put_lines(out, json_slice_get(edit, "old_string"), '-');
		put_lines(out, json_slice_get(edit, "new_string"), '+');
	}
}

static void
put_part(struct buf *out, const struct call_part *part, struct json_slice v)
{
	if (v.n == 0 || json_slice_is(v, "null"))
		return;
	if (part->shape == REMOVED || part->shape == ADDED) {
		put_lines(out, v, part->shape == REMOVED ? '-' : '+');
		return;
	}
	if (*v.p == '[') {
		put_edits(out, v);
		return;
	}
	if (out->len > 0)
		buf_chr(out, '\n');
	if (part->shape == LABELLED)
		buf_fmt(out, "%s: ", part->key);
	format_decode_text(out, v, CALL_MOST);
}

static void
put_questions(struct buf *out, struct json_slice input)
{
	struct json_walk w = json_slice_walk(json_slice_get(input, "questions")), options;
	struct json_slice question, option;

	while (!w.object && json_walk_next(&w, NULL, &question)) {
		if (out->len > 0)
			buf_chr(out, '\n');
		format_decode_text(out, json_slice_get(question, "question"), CALL_MOST);
		options = json_slice_walk(json_slice_get(question, "options"));
		while (!options.object && json_walk_next(&options, NULL, &option)) {
			struct json_slice about = json_slice_get(option, "description");

			buf_str(out, "\n- ");
			format_decode_text(out, json_slice_get(option, "label"), CALL_MOST);
			if (json_slice_string(about) && about.n > 2) {
				buf_str(out, ": ");
				format_decode_text(out, about, CALL_MOST);
			}
		}
	}
}

/*
 * JSON with the escapes of its strings undone, which stand nowhere else in it: a secret behind
 * "\\n" or an escaped colour is one to its reader, and must be one to the scrubber.
 */
static void
put_json(struct buf *out, struct json_slice v)
{
	struct buf text = BUF_INIT;

	buf_chr(&text, '"');
	buf_add(&text, v.p, v.n);
	buf_chr(&text, '"');
	format_decode_text(out, (struct json_slice){ text.data, text.len }, CALL_MOST);
	buf_wipe(&text);
}

void
claude_call_input(struct buf *out, struct json_slice name, struct json_slice input)
{
	for (size_t i = 0; i < COUNT(tools); i++) {
		if (!json_slice_is(name, tools[i].tool))
			continue;
		for (size_t k = 0; k < COUNT(tools[i].parts) && tools[i].parts[k].key != NULL; k++)
			put_part(out, &tools[i].parts[k], json_slice_get(input, tools[i].parts[k].key));
		return;
	}
	if (json_slice_is(name, "AskUserQuestion"))
		put_questions(out, input);
	else if (json_slice_is(name, "TodoWrite"))
		claude_todos(out, json_slice_get(input, "todos"));
	else if (input.n > 2)
		put_json(out, input);
}

/* How a member of an unknown tool's input is shown, by its name; without "_" and the case of its letters. */
static enum call_shape
shape_of(struct json_slice key)
{
	static const struct { const char *key; enum call_shape shape;
	} known[] = {
		{ "command", PLAIN }, { "commands", PLAIN }, { "cmd", PLAIN }, { "path", PLAIN },
		{ "paths", PLAIN }, { "filepath", PLAIN }, { "absolutepath", PLAIN },
		{ "content", PLAIN }, { "filecontent", PLAIN }, { "text", PLAIN }, { "input", PLAIN },
		{ "patch", PLAIN }, { "pattern", PLAIN }, { "query", PLAIN }, { "url", PLAIN },
		{ "prompt", PLAIN }, { "oldstring", REMOVED }, { "oldstr", REMOVED },
		{ "oldtext", REMOVED }, { "newstring", ADDED }, { "newstr", ADDED },
		{ "newtext", ADDED },
	};
	char name[16];
	size_t n = 0;

	for (size_t i = 0; i < key.n; i++) {
		if (key.p[i] == '_')
			continue;
		if (n == sizeof name - 1)
			return LABELLED;
		name[n++] = (char)tolower((unsigned char)key.p[i]);
	}
	name[n] = '\0';
	for (size_t i = 0; i < COUNT(known); i++)
		if (strcmp(name, known[i].key) == 0)
			return known[i].shape;
	return LABELLED;
}

/* A list of strings and numbers is a line each. False: it holds something else. */
static bool
put_list(struct buf *out, struct json_slice list)
{
	struct json_walk look = json_slice_walk(list), w = look;
	struct json_slice v;
	bool first = true;

	if (list.n < 3 || *list.p != '[')
		return false;
	while (json_walk_next(&look, NULL, &v))
		if (*v.p == '{' || *v.p == '[')
			return false;
	while (json_walk_next(&w, NULL, &v)) {
		if (!first)
			buf_chr(out, '\n');
		first = false;
		format_decode_text(out, v, CALL_MOST);
	}
	return true;
}

static void
put_member(struct buf *out, struct json_slice key, struct json_slice v, bool alone)
{
	enum call_shape shape = shape_of(key);

	if (json_slice_is(v, "null") || v.n == 0)
		return;
	if (json_slice_string(v) && (shape == REMOVED || shape == ADDED)) {
		put_lines(out, v, shape == REMOVED ? '-' : '+');
		return;
	}
	if (out->len > 0)
		buf_chr(out, '\n');
	if (shape != PLAIN && !alone) {
		buf_add(out, key.p, key.n);
		buf_str(out, ": ");
	}
	if (json_slice_string(v))
		format_decode_text(out, v, CALL_MOST);
	else if (!put_list(out, v))
		put_json(out, v);
}

static void
put_members(struct buf *out, struct json_slice input)
{
	struct json_walk w = json_slice_walk(input);
	struct json_slice key, v;
	size_t n = 0;

	for (struct json_walk look = w; n < 2 && json_walk_next(&look, &key, &v); n++)
		;
	while (out->len < CALL_MOST && json_walk_next(&w, &key, &v))
		put_member(out, key, v, n == 1);
}

void
format_call_members(struct buf *out, struct json_slice input)
{
	struct buf text = BUF_INIT;
	struct json_slice whole;

	if (json_slice_string(input)) {
		json_slice_text(&text, input);
		if (json_slice_whole(text.data, text.len, &whole) && *whole.p == '{')
			put_members(out, whole);
		else
			format_decode_text(out, input, CALL_MOST);
		buf_wipe(&text);
	} else if (input.n > 2 && *input.p == '{') {
		put_members(out, input);
	} else if (input.n > 2 && !put_list(out, input)) {
		put_json(out, input);
	}
}

/* "@@ -1,6 +1,7 @@" and the lines of each hunk. */
static void
put_patch(struct buf *out, struct json_slice patch)
{
	struct json_walk w = json_slice_walk(patch), lines;
	struct json_slice hunk, line;

	while (!w.object && json_walk_next(&w, NULL, &hunk)) {
		static const char *const keys[] = { "oldStart", "oldLines", "newStart", "newLines" };
		static const char *const before[] = { "@@ -", ",", " +", "," };

		if (out->len > 0)
			buf_chr(out, '\n');
		for (size_t i = 0; i < COUNT(keys); i++) {
			struct json_slice v = json_slice_get(hunk, keys[i]);

			buf_str(out, before[i]);
			buf_add(out, v.n > 0 && v.n < 12 ? v.p : "?", v.n > 0 && v.n < 12 ? v.n : 1);
		}
		buf_str(out, " @@");
		lines = json_slice_walk(json_slice_get(hunk, "lines"));
		while (!lines.object && json_walk_next(&lines, NULL, &line)) {
			buf_chr(out, '\n');
			format_decode_text(out, line, CALL_MOST);
		}
	}
}

void
claude_patched_file(struct buf *out, struct json_slice answer)
{
	struct json_slice path = json_slice_get(answer, "filePath");

	if (json_slice_string(path))
		format_decode_text(out, path, CALL_MOST);
}

bool
claude_call_result(struct buf *out, struct json_slice content, struct json_slice answer)
{
	struct json_slice patch = json_slice_get(answer, "structuredPatch");

	if (patch.n > 2 && *patch.p == '[' && json_slice_string(json_slice_get(answer, "filePath"))) {
		put_patch(out, patch);
		return true;
	}
	format_content_text(out, content, CALL_MOST);
	format_unwrap_result(out);
	return false;
}
