#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "scrub/scrub.h"

/* Any bytes, any width: as many rows as before, valid UTF-8, the known value gone, and nothing left for a second pass. */

#define KNOWN "Tr0ub4dor&3-known"

static size_t
newlines(const char *p, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += p[i] == '\n';
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct scrub *s;
	struct clean_text *once, *twice;
	int width;

	if (s == NULL) {
		s = scrub_new(NULL, NULL);
		if (s == NULL)
			abort();
		scrub_learn(s, "DB_PASSWORD", KNOWN);
	}
	if (n == 0)
		return 0;
	width = data[0] < 128 ? data[0] : -1;
	once = scrub_text(s, (const char *)data + 1, n - 1, width);
	if (newlines(clean_bytes(once), clean_len(once)) != newlines((const char *)data + 1, n - 1))
		abort();
	if (!utf8_valid(clean_bytes(once), clean_len(once)) || strstr(clean_bytes(once), KNOWN) != NULL)
		abort();
	twice = scrub_text(s, clean_bytes(once), clean_len(once), width);
	if (clean_len(twice) != clean_len(once) || memcmp(clean_bytes(twice), clean_bytes(once), clean_len(once)) != 0)
		abort();
	clean_free(once);
	clean_free(twice);
	return 0;
}
