#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conversation/conversation.h"
#include "screen/screen.h"
#include "base/buf.h"
#include "base/utf8.h"

/*
 * Any bytes: a conversation that keeps what the headers promise, within the row count. A first
 * byte of 1 to 5 is not of the text: it chooses the dialect of another agent.
 */
static const char *const agents[] = { "claude", "codex", "gemini", "qwen", "auggie", "pi" };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
must_be_text(const char *s)
{
	if (s != NULL && !utf8_valid(s, strlen(s)))
		abort();
}

static void
must_keep_promises(const char *text, size_t n, const struct sgr_rows *style, int width, const char *agent)
{
	struct conversation c = CONVERSATION_INIT;
	char *action;

	screen_read_bytes(text, n, style, width, agent, &c);
	if (c.unknown_lines > c.lines || c.truncated_at > (ssize_t)c.lines)
		abort();
	for (size_t i = 0; i < c.n; i++) {
		if (c.v[i].content == NULL)
			abort();
		must_be_text(c.v[i].content);
		must_be_text(c.v[i].tool);
		must_be_text(c.v[i].input);
	}
	must_be_text(c.draft);
	must_be_text(c.tasks);
	must_be_text(c.question);
	must_be_text(c.banner);
	must_be_text(c.resume_id);
	action = conversation_last_action(&c);
	must_be_text(action);
	free(action);
	conversation_release(&c);
}

static size_t
rows_of(const char *p, size_t n)
{
	size_t rows = 0;

	for (size_t i = 0; i < n; i++)
		rows += p[i] == '\n';
	return rows + (n > 0 && p[n - 1] != '\n');
}

/* The same with its colours taken out: no row more or less, no escape left, one style a row. */
static void
must_strip(const char *text, size_t n, int width, const char *agent)
{
	struct buf plain = BUF_INIT;
	struct sgr_rows *style;
	size_t ends = 0, kept = 0;

	buf_add(&plain, text, n);
	style = sgr_strip(&plain);
	for (size_t i = 0; i < n; i++)
		ends += text[i] == '\n';
	for (size_t i = 0; i < plain.len; i++)
		kept += plain.data[i] == '\n';
	if (ends != kept || memchr(plain.data, '\033', plain.len) != NULL ||
	    (style != NULL && style->n != rows_of(plain.data, plain.len)))
		abort();
	must_keep_promises(plain.data, plain.len, style, width, agent);
	sgr_free(style);
	buf_release(&plain);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t which = n > 0 && data[0] < sizeof agents / sizeof *agents ? data[0] : 0, keep;
	int width = n % 2 == 0 ? 80 : 0;
	char *copy;

	if (which > 0) {
		data++;
		n--;
	}
	copy = malloc(n + 1);	/* exact size, so that a sanitizer sees a read behind the end */
	if (copy == NULL)
		abort();
	memcpy(copy, data, n);
	copy[n] = '\0';
	keep = screen_without_shell(copy, n, 80);
	if (keep > n)
		abort();
	screen_shows_agent(copy, n, agents[which]);
	screen_shows_login(copy, n, agents[which]);
	must_keep_promises(copy, which == 0 ? keep : n, NULL, width, agents[which]);
	must_strip(copy, n, width, agents[which]);
	free(copy);
	return 0;
}
