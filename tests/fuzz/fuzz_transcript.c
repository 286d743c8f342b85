#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "conversation/conversation.h"
#include "transcript/transcript_private.h"
#include "scrub/scrub.h"

/*
 * Any bytes as a transcript: a conversation that keeps what the headers promise, the same from
 * memory and from a file, and a long line's shortened form no longer than the line and its notes.
 * A first byte of 1 to 8 chooses the format and is none of the file's; anything else is Claude
 * Code's.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
must_be_text(const char *s)
{
	if (s != NULL && !utf8_valid(s, strlen(s)))
		abort();
}

static void
check(const struct conversation *c)
{
	if (c->unknown_lines > c->lines)
		abort();
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].content == NULL || c->v[i].source != SOURCE_TRANSCRIPT)
			abort();
		must_be_text(c->v[i].content);
		must_be_text(c->v[i].tool);
		must_be_text(c->v[i].input);
	}
	must_be_text(c->tasks);
	must_be_text(c->question);
	must_be_text(c->banner);
	must_be_text(c->session_id);
}

static void
shorten(const char *p, size_t n)
{
	struct long_line l;

	transcript_long_init(&l);
	transcript_long_add(&l, p, n / 2);
	transcript_long_add(&l, p + n / 2, n - n / 2);
	if (l.out.len > n)
		abort();
	transcript_long_release(&l);
}

/* What the agent is asked for stands in every input that holds the word; it must be found or not, and end. */
static void
ask(const char *path, const char *format)
{
	enum ack found;

	if (transcript_ack(path, format, "go", &found, NULL) != 0 || found > ACK_REFUSED)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const formats[] = { "claude", "codex", "gemini", "qwen", "copilot", "pi", "auggie",
		"cline", "opencode" };
	static struct scrub *s;
	static FILE *file;
	struct conversation a, b;
	bool chosen = n > 0 && data[0] >= 1 && data[0] < sizeof formats / sizeof formats[0];
	const char *format = formats[chosen ? data[0] : 0];
	char path[32], *copy;
	size_t max;

	data += chosen;
	n -= chosen;
	if (n >= 6 && strcmp(format, "opencode") == 0 && memcmp(data, "SQLite", 6) == 0)
		return 0;	/* databases are read from files only, and SQLite has fuzzers of its own */
	max = n % 3 == 0 ? 100 : 0;
	copy = malloc(n > 0 ? n : 1);	/* exact size, so that a sanitizer sees a read behind the end */
	if (s == NULL)
		s = scrub_new(NULL, NULL);
	if (file == NULL)
		file = tmpfile();
	if (copy == NULL || s == NULL || file == NULL)
		abort();
	memcpy(copy, data, n);
	if (transcript_read_bytes(copy, n, format, s, max, &a, NULL) != 0 ||
	    ftruncate(fileno(file), 0) != 0 || pwrite(fileno(file), copy, n, 0) != (ssize_t)n ||
	    transcript_read_fd(fileno(file), format, s, max, &b, NULL) != 0)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
	ask(path, format);
	check(&a);
	if (a.n != b.n || a.lines != b.lines || a.unknown_lines != b.unknown_lines ||
	    a.truncated_at != b.truncated_at)
		abort();
	for (size_t i = 0; i < a.n; i++)
		if (strcmp(a.v[i].content, b.v[i].content) != 0 || a.v[i].status != b.v[i].status)
			abort();
	shorten(copy, n);
	conversation_release(&a);
	conversation_release(&b);
	free(copy);
	return 0;
}
