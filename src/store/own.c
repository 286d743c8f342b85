#include <string.h>

#include "store/own.h"
#include "store/backend.h"
#include "base/buf.h"

static const char *const kinds[] = { "attempt", "pane", "crashes", "arm", "refused", "sighting", "servers", "place" };

/* The kind's length, 0: it is none of them. */
static size_t
kind_of(const char *key)
{
	size_t n = strcspn(key, ":");

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && key[n] == ':'; i++)
		if (strlen(kinds[i]) == n && memcmp(kinds[i], key, n) == 0)
			return n;
	return 0;
}

char *
own_key(const struct store *s, const char *key)
{
	size_t n = s->host != NULL ? kind_of(key) : 0;

	return n > 0 ? xasprintf("%.*s@%s%s", (int)n, key, s->host, key + n) : NULL;
}

void
own_record(const struct store *s, struct record *r)
{
	char *at = strchr(r->key, '@'), *rest = strchr(r->key, ':');

	if (s->host != NULL && at != NULL && rest != NULL && at < rest)
		memmove(at, rest, strlen(rest) + 1);
}
