#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/scrub.h"
#include "scrub/scrub_private.h"

struct clean_text {
	char *block;		/* what free gets */
	char *bytes;
	size_t len;
};

struct clean_text *
clean_take(struct buf *b)
{
	struct clean_text *t = xmalloc(sizeof *t);

	/* what was cut off is not clean */
	if (b->high > b->len)
		explicit_bzero(b->data + b->len, b->high - b->len);
	t->len = b->len;
	t->block = t->bytes = buf_detach(b);
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
	if (t != NULL)
		free(t->block);
	free(t);
}

struct clean_text *
clean_slice(const struct clean_text *t, size_t from, size_t to)
{
	size_t n = clean_len(t);
	struct buf b = BUF_INIT;

	to = to < n ? to : n;
	from = from < to ? from : to;
	buf_add(&b, clean_bytes(t) + from, to - from);
	return clean_take(&b);
}

void
clean_narrow(struct clean_text *t, size_t from, size_t to)
{
	to = to < t->len ? to : t->len;
	from = from < to ? from : to;
	t->bytes += from;
	t->len = to - from;
	t->bytes[t->len] = '\0';
}

struct clean_text *
clean_copy(const struct clean_text *t)
{
	return clean_slice(t, 0, clean_len(t));
}
