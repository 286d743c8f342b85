#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/toml.h"
#include "base/err.h"
#include "base/utf8.h"

/* Any bytes: an error with a sentence, or items that keep what the header promises. */

struct seen {
	int items;
	int line;
};

static int
check_item(void *arg, const struct toml_item *it, struct err *e)
{
	struct seen *s = arg;

	(void)e;
	if (it->line < s->line || !utf8_valid(it->value, strlen(it->value)) ||
	    !utf8_valid(it->key, strlen(it->key)))
		abort();
	if (it->type == TOML_BOOL && strcmp(it->value, "true") != 0 && strcmp(it->value, "false") != 0)
		abort();
	s->line = it->line;
	s->items++;
	return 0;
}

static bool
is_ours(const char *section)
{
	return section[0] == 'r';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct seen all = { 0 }, some = { 0 };
	struct err e = ERR_INIT;
	int whole = toml_parse((const char *)data, n, "fuzz", check_item, &all, &e);

	if (whole != 0 && (e.code != GT_USAGE || strncmp(e.msg, "fuzz:", 5) != 0))
		abort();
	err_clear(&e);
	/* What reads as a whole also reads in part, and then gives no more than the whole. */
	if (toml_parse_some((const char *)data, n, "fuzz", is_ours, check_item, &some, &e) != 0 && whole == 0)
		abort();
	if (whole == 0 && some.items > all.items)
		abort();
	return 0;
}
