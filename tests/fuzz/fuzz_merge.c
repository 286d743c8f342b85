#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "conversation/conversation.h"

/*
 * Any three conversations: nothing of the transcript is lost, no exchange comes twice, each
 * source keeps its order. A line of the input is an exchange: a byte that says whose and what it
 * is, then its words.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
add(struct conversation *c, unsigned how, const char *p, size_t n, enum source source, int64_t at)
{
	struct buf b = BUF_INIT;
	unsigned kind = how / 3 % 5;
	char *text, *input = NULL;
	struct exchange *x;

	buf_add(&b, p, n);
	text = conversation_text(&b);
	if (kind > 2 && how % 2 == 0)
		input = xstrdup(text);
	x = conversation_add(c, kind == 0 ? ROLE_USER : kind == 1 ? ROLE_SYSTEM : ROLE_ASSISTANT,
	    kind > 2 ? xstrdup(how % 7 == 0 ? "Edit" : how % 7 == 1 ? "Update" : "Bash") : NULL, input, text);
	x->status = (enum status)(how / 15 % 5);
	x->folded = kind == 4;
	x->source = source;
	x->at = at;
}

static void
check(const struct conversation *out, size_t most, size_t transcript)
{
	int64_t last[4] = { 0 };
	size_t seen = 0;

	if (out->n > most)
		abort();
	for (size_t i = 0; i < out->n; i++) {
		const struct exchange *x = &out->v[i];

		if (x->content == NULL || !utf8_valid(x->content, strlen(x->content)) ||
		    x->at <= last[x->source])
			abort();
		last[x->source] = x->at;
		seen += x->source == SOURCE_TRANSCRIPT;
	}
	if (seen != transcript)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct conversation in[3] = { CONVERSATION_INIT, CONVERSATION_INIT, CONVERSATION_INIT }, out;
	const char *p = (const char *)data, *end = p + n;
	size_t sum, transcript;
	int64_t at = 0;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *to = nl != NULL ? nl : end;
		unsigned how = (unsigned char)*p;

		if (to > p) {
			/* the third part of all stands in both the transcript and the screen */
			if (how % 3 != 1)
				add(&in[0], how, p + 1, (size_t)(to - p) - 1, SOURCE_TRANSCRIPT, ++at);
			if (how % 3 != 2)
				add(&in[2], how, p + 1, (size_t)(to - p) - 1, SOURCE_SCREEN, ++at);
			if (how > 200)
				add(&in[1], how, p + 1, (size_t)(to - p) - 1, SOURCE_SCREEN, ++at);
		}
		p = to + 1;
	}
	in[2].truncated_at = n % 3 == 0 ? 0 : -1;
	transcript = in[0].n;
	sum = in[0].n + in[1].n + in[2].n;
	conversation_merge(&in[0], &in[1], &in[2], &out);
	check(&out, sum, transcript);
	conversation_release(&out);
	return 0;
}
