#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/exchange.h"
#include "context/screen.h"
#include "base/utf8.h"

/* Any bytes: a conversation that keeps what the headers promise, within the row count. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
must_be_text(const char *s)
{
	if (s != NULL && !utf8_valid(s, strlen(s)))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct conversation c = CONVERSATION_INIT;
	char *copy = malloc(n + 1), *action;	/* exact size, so that a sanitizer sees a read behind the end */
	size_t keep;

	if (copy == NULL)
		abort();
	memcpy(copy, data, n);
	copy[n] = '\0';
	keep = screen_without_shell(copy, n, 80);
	if (keep > n)
		abort();
	screen_shows_agent(copy, n, "claude");
	screen_read_bytes(copy, keep, n % 2 == 0 ? 80 : 0, "claude", &c);
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
	free(copy);
	return 0;
}
