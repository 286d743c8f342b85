#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prompt/prompt.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

/* Any bytes as a template: an error with a sentence, or a prompt that keeps what prompt.h promises. */

#define ID "gtr-0123456789abcdef"

static void
require(int good)
{
	if (!good)
		abort();
}

/* Values are never expanded: braces in them come out as they went in. */
static void
check_values(const struct template *t)
{
	static const char braces[] = "{{.Bead}}{{if";
	const char *values[TEMPLATE_FIELDS], *empty[TEMPLATE_FIELDS] = { NULL };
	struct buf all = BUF_INIT, words = BUF_INIT;
	size_t n = 0, none = 0;

	for (int f = 0; f < TEMPLATE_FIELDS; f++)
		values[f] = braces;
	for (int f = 0; f < TEMPLATE_FIELDS; f++)
		n += template_prints(t, values, (enum template_field)f),
		    none += template_prints(t, empty, (enum template_field)f);
	template_run(t, values, &all);
	template_words(t, values, &words);
	require(all.len == words.len - n + n * strlen(braces));
	buf_reset(&all);
	buf_reset(&words);
	template_run(t, empty, &all);
	template_words(t, empty, &words);
	require(all.len == words.len - none);
	buf_release(&all);
	buf_release(&words);
}

static void
check_prompt(const struct template *t, const char *foreign)
{
	const char *const warnings[] = { foreign };
	struct prompt_in in = {
		.recovery_id = ID, .nonce = "fedcba9876543210", .session = foreign, .crash_reason = foreign,
		.warnings = warnings, .n_warnings = 1, .max_lines = 100, .max_tokens = 2000,
	};
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;

	if (prompt_build(t, &in, &out, NULL, &e) == -1) {
		require(e.code == GT_USAGE && strcmp(e.name, "budget") == 0);
	} else {
		require(out.len <= in.max_tokens * 4 && isalnum((unsigned char)out.data[0]));
		require(utf8_valid(out.data, out.len) && prompt_find_id(out.data, out.len) != NULL);
		require(strcasestr(out.data, "continue working now") != NULL &&
		    memmem(out.data, out.len, ID, strlen(ID)) != NULL);
		for (size_t i = 0; i < out.len; i++)
			require(
			    (unsigned char)out.data[i] >= 0x20 || out.data[i] == '\n' || out.data[i] == '\t');
	}
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct err e = ERR_INIT;
	struct template *t = template_new((const char *)data, n, "fuzz", &e);
	char *foreign = xstrndup(n > 0 ? (const char *)data : "", n);

	if (t == NULL) {
		require(e.code == GT_USAGE && strncmp(e.msg, "fuzz, line ", 11) == 0);
	} else {
		check_values(t);
		check_prompt(t, foreign);
	}
	template_free(t);
	free(foreign);
	return 0;
}
