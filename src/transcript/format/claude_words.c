#include <ctype.h>
#include <string.h>

#include "transcript/format/format_private.h"
#include "base/buf.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define LOOK ((size_t)4 << 10)	/* how far a blank is looked for, where a text is cut */

/* ---- decoding ---- */

/* p stands behind ESC. Returns what follows the sequence. */
static const char *
skip_escape(const char *p, const char *end)
{
	if (p < end && *p == '[') {
		for (p++; p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x40; p++)
			;
		return p < end && (unsigned char)*p >= 0x40 && (unsigned char)*p < 0x7f ? p + 1 : p;
	}
	if (p < end && strchr("]P^_X", *p) != NULL && *p != '\0') {
		while (++p < end && *p != '\a' && *p != '\033' && *p != '\n')
			;
		if (p < end && *p == '\033' && p + 1 < end && p[1] == '\\')
			return p + 2;
		return p < end && *p == '\a' ? p + 1 : p;
	}
	return p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x7f ? p + 1 : p;
}

/* In place, from `from` on. */
static void
drop_escapes(struct buf *b, size_t from)
{
	const char *p = b->data + from, *end = b->data + b->len;
	char *to = b->data + from;

	while (p < end) {
		if (*p == '\033') {
			p = skip_escape(p + 1, end);
		} else if (*p == '\r') {
			*to++ = '\n';
			p += p + 1 < end && p[1] == '\n' ? 2 : 1;
		} else {
			*to++ = *p++;
		}
	}
	buf_cut(b, (size_t)(to - b->data));
}

/*
 * Half a word may be half a secret, and without its line a word may not be known for one: lines
 * are cut at blanks only where they are long.
 */
static void
cut_middle(struct buf *b, size_t from, size_t most)
{
	size_t head = from + most / 2, tail = b->len - most / 2,
	       floor = head > LOOK + from ? head - LOOK : from;
	size_t near = b->len - tail > LOOK ? LOOK : b->len - tail;
	char *row = memrchr(b->data + floor, '\n', head - floor), *next = memchr(b->data + tail, '\n', near);
	struct buf end = BUF_INIT;
	size_t blank = row != NULL ? (size_t)(row - b->data) : head;

	while (blank > floor && !isspace((unsigned char)b->data[blank - 1]))
		blank--;
	if (blank > floor)
		head = blank;
	if (next != NULL)
		tail = (size_t)(next - b->data);
	while (tail < b->len && !isspace((unsigned char)b->data[tail]))
		tail++;
	buf_add(&end, b->data + tail, b->len - tail);
	buf_cut(b, head);
	buf_fmt(b, "\n[… %zu bytes left out …]\n", tail - head);
	buf_add(b, end.data, end.len);
	buf_wipe(&end);
}

void
format_decode_text(struct buf *out, struct json_slice v, size_t most)
{
	size_t from = out->len;

	json_slice_text(out, v);
	drop_escapes(out, from);
	if (most > 0 && out->len - from > most)
		cut_middle(out, from, most);
}

static void
put_block(struct buf *out, struct json_slice block, size_t most)
{
	static const struct {
		const char *type, *shown;
	} shown[] = { { "image", "[image]" }, { "document", "[document]" } };
	struct json_slice type = json_slice_get(block, "type"), text = json_slice_get(block, "text");
	size_t from = out->len;

	if (json_slice_string(text)) {
		format_decode_text(out, text, most);
	} else {
		for (size_t i = 0; i < COUNT(shown); i++)
			if (json_slice_is(type, shown[i].type))
				buf_str(out, shown[i].shown);
	}
	if (out->len > from)
		buf_chr(out, '\n');
}

void
format_content_text(struct buf *out, struct json_slice v, size_t most)
{
	struct json_walk w = json_slice_walk(v);
	struct json_slice block;
	size_t from = out->len;

	if (json_slice_string(v)) {
		format_decode_text(out, v, most);
		return;
	}
	while (!w.object && json_walk_next(&w, NULL, &block))
		put_block(out, block, most);
	if (out->len > from)
		buf_cut(out, out->len - 1);
}

/* ---- tags ---- */

/*
 * What stands between <name …> and </name>, the first one that opens at p or later. False: none,
 * or it does not close.
 */
static bool
find_tag(const char *p, size_t n, const char *name, const char **from, const char **to, const char **behind)
{
	size_t len = strlen(name);
	const char *end = p + n, *open = p;

	while ((open = memmem(open, (size_t)(end - open), "<", 1)) != NULL) {
		const char *tag = open + 1, *close;

		open++;
		if ((size_t)(end - tag) <= len || memcmp(tag, name, len) != 0 ||
		    (tag[len] != '>' && tag[len] != ' '))
			continue;
		if ((*from = memchr(tag, '>', (size_t)(end - tag))) == NULL)
			return false;
		++*from;
		for (close = *from; (close = memmem(close, (size_t)(end - close), "</", 2)) != NULL;
		    close += 2)
			if ((size_t)(end - close) >= len + 3 && memcmp(close + 2, name, len) == 0 &&
			    close[2 + len] == '>')
				break;
		if (close == NULL)
			return false;
		*to = close;
		*behind = close + len + 3;
		return true;
	}
	return false;
}

static void
trim_blanks(const char **from, const char **to)
{
	while (*from < *to && isspace((unsigned char)**from))
		++*from;
	while (*to > *from && isspace((unsigned char)(*to)[-1]))
		--*to;
}

static bool
put_tag(struct buf *out, const struct buf *text, const char *name)
{
	const char *from, *to, *behind;

	if (!find_tag(text->data, text->len, name, &from, &to, &behind))
		return false;
	trim_blanks(&from, &to);
	if (out->len > 0 && to > from && out->data[out->len - 1] != ' ')
		buf_chr(out, '\n');
	buf_add(out, from, (size_t)(to - from));
	return true;
}

static void
keep_range(struct buf *text, const char *from, const char *to)
{
	size_t n = (size_t)(to - from);

	memmove(text->data, from, n);
	buf_cut(text, n);
}

/* The text is the tag and nothing else: what stands in it. */
static bool
unwrap_tag(struct buf *text, const char *name)
{
	const char *p = text->data, *end = text->data + text->len, *from, *to, *behind;

	trim_blanks(&p, &end);
	if (p == end || *p != '<' || !find_tag(p, (size_t)(end - p), name, &from, &to, &behind) ||
	    behind != end || from[-1] != '>' || strncmp(p + 1, name, strlen(name)) != 0)
		return false;
	if (from < to && *from == '\n')
		from++;
	if (from < to && to[-1] == '\n')
		to--;
	keep_range(text, from, to);
	return true;
}

bool
format_untag(struct buf *text, const char *name)
{
	const char *p = text->data, *end = text->data + text->len, *from, *to;
	size_t len = strlen(name);

	trim_blanks(&p, &end);
	if ((size_t)(end - p) < 2 * len + 5 || *p != '<' || memcmp(p + 1, name, len) != 0 ||
	    (p[1 + len] != '>' && p[1 + len] != ' '))
		return false;
	to = end - (len + 3);
	from = memchr(p, '>', (size_t)(to - p));
	if (from == NULL || memcmp(to, "</", 2) != 0 || memcmp(to + 2, name, len) != 0 || end[-1] != '>')
		return false;
	from++;
	if (from < to && *from == '\n')
		from++;
	if (from < to && to[-1] == '\n')
		to--;
	keep_range(text, from, to);
	return true;
}

static bool
starts_with(const struct buf *text, const char *with)
{
	const char *p = text->data;

	while (isspace((unsigned char)*p))
		p++;
	return strncmp(p, with, strlen(with)) == 0;
}

/* Notes for the model in front of the person's words. */
static void
drop_notes(struct buf *text)
{
	static const char *const notes[] = { "system-reminder", "ide_opened_file", "ide_selection",
		"ide_diagnostics", "user-prompt-submit-hook" };
	const char *p = text->data, *end = text->data + text->len, *from, *to, *rest = p;
	size_t i = 0;

	for (trim_blanks(&p, &end); p < end && *p == '<' && i < COUNT(notes); i++) {
		if (strncmp(p + 1, notes[i], strlen(notes[i])) != 0 ||
		    !find_tag(p, (size_t)(end - p), notes[i], &from, &to, &rest))
			continue;
		p = rest;
		trim_blanks(&p, &end);
		rest = p;
		i = (size_t)-1;
	}
	if (rest > text->data)
		keep_range(text, rest, text->data + text->len);
}

/* 2.1.330 marks what was pasted with a tag of its own; the closing one repeats the id. */
static void
drop_paste_marks(struct buf *text)
{
	static const char open[] = "<pasted_content id=\"", close[] = "</pasted_content";
	const char *p = text->data, *end = p + text->len, *start = p, *at;
	char *to = text->data;

	while (start < end && isspace((unsigned char)*start))
		start++;
	while ((at = memmem(p, (size_t)(end - p), open, sizeof open - 1)) != NULL) {
		const char *from = memchr(at, '>', (size_t)(end - at));
		const char *stop =
		    from != NULL ? memmem(from, (size_t)(end - from), close, sizeof close - 1) : NULL;
		const char *behind = stop != NULL ? memchr(stop, '>', (size_t)(end - stop)) : NULL;

		if (behind == NULL)
			break;
		if (at == start)	/* blank lines stand before a tag that is the beginning */
			p = at;
		memmove(to, p, (size_t)(at - p));
		to += at - p;
		from += from + 1 < stop && from[1] == '\n' ? 2 : 1;
		p = behind + 1;
		if (stop > from && stop[-1] == '\n')
			stop--;
		memmove(to, from, (size_t)(stop - from));
		to += stop - from;
	}
	memmove(to, p, (size_t)(end - p));
	buf_cut(text, (size_t)(to - text->data) + (size_t)(end - p));
}

static void
drop_last_reminder(struct buf *text)
{
	static const char close[] = "</system-reminder>", open[] = "<system-reminder>";

	for (;;) {
		const char *p = text->data, *end = text->data + text->len, *last = NULL;

		while (end > p && isspace((unsigned char)end[-1]))
			end--;
		if ((size_t)(end - p) < sizeof close ||
		    memcmp(end - (sizeof close - 1), close, sizeof close - 1) != 0)
			return;
		for (const char *at = end - (sizeof close - 1); at > p && last == NULL; at--)
			if (*at == '<' && (size_t)(end - at) >= sizeof open &&
			    memcmp(at, open, sizeof open - 1) == 0)
				last = at;
		if (last == NULL)
			return;
		while (last > text->data && isspace((unsigned char)last[-1]))
			last--;
		buf_cut(text, (size_t)(last - text->data));
	}
}

void
format_unwrap_result(struct buf *text)
{
	drop_last_reminder(text);
	unwrap_tag(text, "tool_use_error");
}

/* ---- what it is ---- */

static void
replace_text(struct buf *text, struct buf *with)
{
	buf_wipe(text);
	*text = *with;
	buf_init(with);
}

static enum claude_words
read_command(struct buf *text)
{
	struct buf out = BUF_INIT, args = BUF_INIT;

	if (!put_tag(&out, text, "command-name"))
		put_tag(&out, text, "command-message");
	if (out.len > 0 && out.data[0] != '/') {
		struct buf slash = BUF_INIT;

		buf_chr(&slash, '/');
		buf_add(&slash, out.data, out.len);
		replace_text(&out, &slash);
	}
	if (put_tag(&args, text, "command-args") && args.len > 0) {
		buf_chr(&out, ' ');
		buf_add(&out, args.data, args.len);
	}
	buf_release(&args);
	replace_text(text, &out);
	return text->len > 0 ? WORDS_COMMAND : WORDS_NONE;
}

/* The first tag's words, then the second's. */
static enum claude_words
read_output(struct buf *text, const char *first, const char *second)
{
	struct buf out = BUF_INIT, bad = BUF_INIT;
	enum claude_words what = WORDS_SYSTEM;

	put_tag(&out, text, first);
	if (second != NULL && put_tag(&bad, text, second) && bad.len > 0) {
		if (out.len > 0)
			buf_chr(&out, '\n');
		else
			what = WORDS_FAILED;
		buf_add(&out, bad.data, bad.len);
	}
	buf_release(&bad);
	replace_text(text, &out);
	return text->len > 0 ? what : WORDS_NONE;
}

/* What became of work in the background, or what a monitor saw. */
static enum claude_words
read_notification(struct buf *text)
{
	static const char *const parts[] = { "summary", "result", "event" };
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < COUNT(parts); i++)
		put_tag(&out, text, parts[i]);
	replace_text(text, &out);
	return text->len > 0 ? WORDS_SYSTEM : WORDS_NONE;
}

/* What the person typed behind a sign. */
static enum claude_words
read_behind(struct buf *text, const char *sign, const char *tag)
{
	struct buf out = BUF_INIT;

	buf_str(&out, sign);
	put_tag(&out, text, tag);
	replace_text(text, &out);
	return WORDS_PERSON;
}

/* What the program says to "/name" that it does not know stands there like a prompt (2.0.76, 2.1.37). */
static bool
is_unknown_command(const struct buf *text)
{
	static const char *const says[] = { "Unknown slash command: ", "Unknown skill: " };

	for (size_t i = 0; i < COUNT(says); i++)
		if (str_starts(text->data, says[i]))
			return strpbrk(text->data + strlen(says[i]), " \n") == NULL;
	return false;
}

enum claude_words
claude_unwrap_words(struct buf *text, bool meta)
{
	if (starts_with(text, "[Request interrupted by user"))
		return WORDS_INTERRUPTED;
	if (meta && starts_with(text, "[Image: source: "))
		return WORDS_SYSTEM;
	if (meta)	/* "Stop hook feedback:", "PostToolUse:Bash hook feedback:" */
		return memmem(text->data, text->len < 80 ? text->len : 80, "hook feedback:", 14) != NULL
		    ? WORDS_FAILED
		    : WORDS_NONE;
	drop_notes(text);
	drop_last_reminder(text);
	if (text->len == 0 || starts_with(text, "<local-command-caveat>"))
		return WORDS_NONE;
	if (starts_with(text, "<command-name>") || starts_with(text, "<command-message>"))
		return read_command(text);
	if (starts_with(text, "<local-command-stdout>") || starts_with(text, "<local-command-stderr>"))
		return read_output(text, "local-command-stdout", "local-command-stderr");
	if (starts_with(text, "<bash-input>"))
		return read_behind(text, "! ", "bash-input");
	if (starts_with(text, "<bash-stdout>") || starts_with(text, "<bash-stderr>"))
		return read_output(text, "bash-stdout", "bash-stderr");
	if (starts_with(text, "<task-notification>"))
		return read_notification(text);
	if (starts_with(text, "<user-memory-input>"))
		return read_behind(text, "# ", "user-memory-input");
	if (is_unknown_command(text))
		return WORDS_FAILED;
	drop_paste_marks(text);
	return WORDS_PERSON;
}
