#ifndef TESTS_UNIT_RECORDED_H
#define TESTS_UNIT_RECORDED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "conversation/conversation.h"

/*
 * What test_recorded compares by. Only letters and digits count: wrapping, indentation and the
 * marks of markdown do not. The truth of a capture (tests/golden/record/README.md) says what of
 * an item a source cannot hold: `unseen` in it, or `cut`.
 */

/* The letters of a text; lines of a code fence are left out, a screen does not show them. Heap. */
static inline char *
letters(const char *s)
{
	struct buf out = BUF_INIT;
	size_t n = strlen(s);
	bool line_start = true;

	for (size_t i = 0; i < n;) {
		int32_t rune;
		size_t step;

		if (line_start && strncmp(s + i, "```", 3) == 0) {
			i += strcspn(s + i, "\n");
			continue;
		}
		step = utf8_next(s + i, n - i, &rune);
		line_start = rune == '\n';
		if (rune > 0 && iswalnum((wint_t)rune))
			buf_add(&out, s + i, step);
		i += step;
	}
	return buf_detach(&out);
}

static inline bool
same_letters(const char *a, const char *b)
{
	char *x = letters(a), *y = letters(b);
	bool same = strcmp(x, y) == 0;

	free(x);
	free(y);
	return same;
}

static inline bool
holds_letters(const char *whole, const char *part, size_t first)
{
	char *x = letters(whole), *y = letters(part);
	bool holds;

	if (first > 0 && strlen(y) > first)
		y[first] = '\0';
	holds = strstr(x, y) != NULL;
	free(x);
	free(y);
	return holds;
}

/*
 * True when what was read is made of pieces of the truth: at least nine of ten windows of 12
 * bytes stand in it.
 */
static inline bool
piece_of(const char *truth, const char *read)
{
	char *x = letters(truth), *y = letters(read);
	size_t n = strlen(y), found = 0, windows = 0;

	for (size_t i = 0; i + 12 <= n; i += 4) {
		char window[13] = "";

		memcpy(window, y + i, 12);
		windows++;
		found += strstr(x, window) != NULL;
	}
	if (windows == 0 && n > 0) {
		windows = 1;
		found = strstr(x, y) != NULL;
	}
	free(x);
	free(y);
	return windows > 0 && found * 10 >= windows * 9;
}

static inline bool
listed(const json_t *item, const char *key, const char *source)
{
	size_t i;
	const json_t *v;

	json_array_foreach(json_object_get(item, key), i, v)
		if (strcmp(json_string_value(v), source) == 0)
			return true;
	return false;
}

static inline bool
item_is(const json_t *item, const char *key, const char *value)
{
	return strcmp(json_text(item, key, ""), value) == 0;
}

/* The name that a screen prints for a tool of the API, so that both may be compared. */
static inline const char *
shown_name(const char *tool)
{
	static const char *const names[][2] = {
		{ "Edit", "Update" }, { "MultiEdit", "Update" }, { "WebFetch", "Fetch" },
		{ "Grep", "Search" }, { "Glob", "Search" },
		{ "Task", "Agent" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(tool, names[i][0]) == 0)
			return names[i][1];
	return tool;
}

/* What a call is known by: its command's first line, its file, its description. Borrowed, or in `line`. */
static inline const char *
call_text(const json_t *item, char *line, size_t size)
{
	static const char *const keys[] = { "command", "file_path", "url", "description", "pattern" };
	const json_t *input = json_object_get(item, "input");
	const char *text = json_text(item, "sent", "");

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (json_object_get(input, keys[i]) == NULL)
			continue;
		text = json_text(input, keys[i], "");
		if (strcmp(keys[i], "file_path") == 0 && strrchr(text, '/') != NULL)
			text = strrchr(text, '/') + 1;
		break;
	}
	snprintf(line, size, "%.*s", (int)strcspn(text, "\n"), text);
	return line;
}

#endif
