#ifndef TESTS_UNIT_FAKE_SCRUB_H
#define TESTS_UNIT_FAKE_SCRUB_H

/*
 * A scrubber for tests of those who call one: it replaces the word SECRET and counts its calls. A
 * program that defines these functions itself does not link the real ones.
 */

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/scrub.h"

struct scrub {
	size_t calls;
};

struct clean_text {
	char *p;
	size_t n;
};

const char *
clean_bytes(const struct clean_text *t)
{
	return t != NULL ? t->p : "";
}

size_t
clean_len(const struct clean_text *t)
{
	return t != NULL ? t->n : 0;
}

void
clean_free(struct clean_text *t)
{
	if (t != NULL)
		free(t->p);
	free(t);
}

struct clean_text *
scrub_text(struct scrub *s, const char *p, size_t n, int width)
{
	struct clean_text *t = xcalloc(1, sizeof *t);
	struct buf b = BUF_INIT;

	(void)width;
	s->calls++;
	for (size_t i = 0; i < n; i++) {
		if (n - i >= 6 && memcmp(p + i, "SECRET", 6) == 0) {
			buf_str(&b, "[R]");
			i += 5;
		} else {
			buf_chr(&b, p[i]);
		}
	}
	t->n = b.len;
	t->p = buf_detach(&b);
	return t;
}

#endif
