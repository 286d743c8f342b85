#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transcript/locate/locate.h"
#include "base/buf.h"
#include "base/json.h"
#include "conversation/conversation.h"

#define HEAD ((off_t)1 << 20)
#define TAIL ((off_t)4 << 20)
#define KEY_BYTES 64

/* The visible letters, at most KEY_BYTES of them. True when the text was longer. */
static bool
make_key(struct buf *out, const char *p, size_t n)
{
	struct letter_walk w = { .p = p, .end = p + n, .set = LETTERS_VISIBLE };

	for (size_t step; exchange_next_letter(&w, &p, &step);) {
		if (out->len + step > KEY_BYTES)
			return true;
		buf_add(out, p, step);
	}
	return false;
}

/*
 * How much of a message is as the person wrote it: up to what the scrubber took out, or the
 * agent's own "(992 lines hidden)" row.
 */
static size_t
unredacted_len(const char *text)
{
	const char *gone = strstr(text, "[REDACTED:"), *hidden = strstr(text, " lines hidden)");
	const char *end = gone != NULL && (hidden == NULL || gone < hidden) ? gone : hidden;

	if (end == NULL)
		return strlen(text);
	while (end == hidden && end > text && end[-1] != '\n')
		hidden = --end;
	return (size_t)(end - text);
}

bool
fingerprint_add(struct fingerprint *s, const char *text)
{
	size_t n = unredacted_len(text);
	struct buf key = BUF_INIT;
	bool more;

	if (s->n == FINGERPRINT_MAX || *text == '/' || *text == '!')
		return false;
	more = make_key(&key, text, n);
	if (key.len == 0) {
		buf_release(&key);
		return false;
	}
	s->open[s->n] = more || text[n] != '\0';
	s->key[s->n++] = buf_detach(&key);
	return true;
}

void
fingerprint_release(struct fingerprint *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->key[i]);
	memset(s, 0, sizeof *s);
}

static void
compare_keys(const struct fingerprint *s, const char *text, unsigned *mask)
{
	struct buf key = BUF_INIT;
	bool more = make_key(&key, text, strlen(text));

	for (size_t i = 0; i < s->n; i++)
		if (s->open[i] ? str_starts(key.data, s->key[i]) : !more && strcmp(key.data, s->key[i]) == 0)
			*mask |= FINGERPRINT_BIT(i);
	buf_release(&key);
}

static void
compare_content(const struct fingerprint *s, const json_t *content, unsigned *mask)
{
	const json_t *block;
	size_t i;

	if (json_is_string(content))
		compare_keys(s, json_string_value(content), mask);
	json_array_foreach(content, i, block)
		if (strcmp(json_text(block, "type", ""), "text") == 0)
			compare_keys(s, json_text(block, "text", ""), mask);
}

/*
 * A person's words are a user message, or one that was typed while the agent worked: queued, then
 * handed in as an attachment.
 */
static void
take_line(const struct fingerprint *s, const char *line, size_t n, unsigned *mask)
{
	const json_t *attachment;
	const char *type;
	json_t *v;

	if (memmem(line, n, "\"user\"", 6) == NULL && memmem(line, n, "\"queue", 6) == NULL)
		return;
	v = json_parse(line, n, "transcript", NULL);
	type = json_text(v, "type", "");
	attachment = json_object_get(v, "attachment");
	if (json_flag(v, "isSidechain", false))
		;
	else if (strcmp(type, "user") == 0)
		compare_content(s, json_object_get(json_object_get(v, "message"), "content"), mask);
	else if (strcmp(type, "queue-operation") == 0)
		compare_content(s, json_object_get(v, "content"), mask);
	else if (strcmp(json_text(attachment, "type", ""), "queued_command") == 0)
		compare_content(s, json_object_get(attachment, "prompt"), mask);
	json_decref(v);
}

/* Whole lines of [from, to) of the file; a line that begins or ends outside is left out. */
static int
take_part(const struct fingerprint *s, int fd, off_t from, off_t to, unsigned *mask)
{
	size_t size = (size_t)(to - from), got = 0, at = 0;
	char *text = xmalloc(size + 1), *nl;
	ssize_t n = 1;

	while (got < size && (n = pread(fd, text + got, size - got, from + (off_t)got)) > 0)
		got += (size_t)n;
	if (from > 0) {
		nl = memchr(text, '\n', got);
		at = nl != NULL ? (size_t)(nl - text) + 1 : got;
	}
	while (at < got && (nl = memchr(text + at, '\n', got - at)) != NULL) {
		take_line(s, text + at, (size_t)(nl - text) - at, mask);
		at = (size_t)(nl - text) + 1;
	}
	explicit_bzero(text, got);
	free(text);
	return n < 0 ? -1 : 0;
}

int
fingerprint_match(const struct fingerprint *s, const char *path, struct fingerprint_found *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;
	struct stat st;

	*out = (struct fingerprint_found){ .whole = true };
	if (fd < 0)
		return -1;
	ret = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : -1;
	if (ret == 0 && st.st_size <= HEAD + TAIL) {
		ret = take_part(s, fd, 0, st.st_size, &out->mask);
	} else if (ret == 0) {
		out->whole = false;
		ret = take_part(s, fd, 0, HEAD, &out->mask);
		if (ret == 0)
			ret = take_part(s, fd, st.st_size - TAIL, st.st_size, &out->mask);
	}
	close(fd);
	return ret;
}
