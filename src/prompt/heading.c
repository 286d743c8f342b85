#include <string.h>

#include "prompt/heading.h"
#include "prompt/fence.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "context/exchange.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const char *const role_words[] = { [ROLE_USER] = "User", [ROLE_ASSISTANT] = "Assistant", [ROLE_SYSTEM] = "System" };
static const char *const source_words[] = {
	[SOURCE_SCREEN] = "screen", [SOURCE_TRANSCRIPT] = "transcript", [SOURCE_SNAPSHOT] = "snapshot", [SOURCE_EARLIER] = "earlier recovery",
};
/* What a status means to the agent that comes after; NULL for a thing that came to its end. */
static const char *const status_words[] = {
	[STATUS_COMPLETE] = NULL, [STATUS_RUNNING] = "cut off when the session died",
	[STATUS_WAITING] = "waiting for an answer when the session died", [STATUS_INTERRUPTED] = "interrupted", [STATUS_FAILED] = "failed",
};
static const char call_runs[] = "still running when the session died";

static void
tool_name(struct buf *out, const char *name, const char *nonce)
{
	struct buf line = BUF_INIT;
	size_t n = strnlen(name, HEADING_NAME);

	while (n > 0 && name[n] != '\0' && ((unsigned char)name[n] & 0xc0) == 0x80)
		n--;
	utf8_escape(&line, name, n, HEADING_NAME);
	fence_data(out, line.data, line.len, nonce);
	buf_release(&line);
}

void
heading_write(struct buf *out, const struct exchange *x, bool with_source, const char *nonce)
{
	const char *status = x->tool != NULL && x->status == STATUS_RUNNING ? call_runs : status_words[x->status];

	if (x->tool != NULL) {
		buf_str(out, "Tool ");
		tool_name(out, x->tool, nonce);
	} else {
		buf_str(out, role_words[x->role]);
	}
	if (with_source)
		buf_fmt(out, " [%s]", source_words[x->source]);
	if (status != NULL)
		buf_fmt(out, " (%s)", status);
	buf_chr(out, ':');
}

/* Takes open + one of the words + close from the end of p; its index, or -1. */
static int
take_word(const char *p, size_t *n, const char *open, const char *const *words, size_t count, char close)
{
	size_t len, lead = strlen(open);

	for (size_t i = 0; i < count; i++) {
		if (words[i] == NULL)
			continue;
		len = strlen(words[i]);
		if (*n < lead + len + 1 || p[*n - 1] != close || memcmp(p + *n - 1 - len, words[i], len) != 0 ||
		    memcmp(p + *n - 1 - len - lead, open, lead) != 0)
			continue;
		*n -= lead + len + 1;
		return (int)i;
	}
	return -1;
}

bool
heading_read(const char *line, size_t n, struct exchange *x, const char **rest)
{
	const char *const runs[] = { call_runs };
	const char *colon = line, *end = line + n;
	bool call = n > 5 && memcmp(line, "Tool ", 5) == 0;
	int status, source, role = -1;
	size_t len;

	do {
		colon = memchr(colon, ':', (size_t)(end - colon));
		if (colon == NULL)
			return false;
	} while (++colon < end && *colon != ' ');
	*rest = colon < end ? colon + 1 : end;
	len = (size_t)(colon - 1 - line);
	status = take_word(line, &len, " (", runs, 1, ')') == 0 ? (int)STATUS_RUNNING :
	    take_word(line, &len, " (", status_words, COUNT(status_words), ')');
	source = take_word(line, &len, " [", source_words, COUNT(source_words), ']');
	for (size_t i = 0; !call && i < COUNT(role_words); i++)
		if (strlen(role_words[i]) == len && memcmp(line, role_words[i], len) == 0)
			role = (int)i;
	if (call ? len <= 5 : role < 0)
		return false;
	x->role = call ? ROLE_ASSISTANT : (enum role)role;
	x->status = status < 0 ? STATUS_COMPLETE : (enum status)status;
	x->source = source < 0 ? SOURCE_EARLIER : (enum source)source;
	x->tool = call ? xstrndup(line + 5, len - 5) : NULL;
	return true;
}
