#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/scrub.h"
#include "scrub/scrub_private.h"

struct clean_text {
	size_t len;
	char bytes[];
};

struct clean_text *
clean_new(const char *p, size_t n)
{
	struct clean_text *t = xmalloc(sizeof *t + n + 1);

	t->len = n;
	if (n > 0)
		memcpy(t->bytes, p, n);
	t->bytes[n] = '\0';
	return t;
}

const char *
clean_bytes(const struct clean_text *t)
{
	return t != NULL ? t->bytes : "";
}

size_t
clean_len(const struct clean_text *t)
{
	return t != NULL ? t->len : 0;
}

void
clean_free(struct clean_text *t)
{
	free(t);
}

struct clean_text *
clean_slice(const struct clean_text *t, size_t from, size_t to)
{
	size_t n = clean_len(t);

	to = to < n ? to : n;
	from = from < to ? from : to;
	return clean_new(clean_bytes(t) + from, to - from);
}

struct clean_text *
clean_copy(const struct clean_text *t)
{
	return clean_new(clean_bytes(t), clean_len(t));
}
