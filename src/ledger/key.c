#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "ledger/key.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"

#define NAME_MAX_BYTES 512		/* keys have a limit */

char *
key_make(const char *prefix, const char *a, const char *b)
{
	json_t *x = json_bytes(a, strnlen(a, NAME_MAX_BYTES)), *y = json_bytes(b, strnlen(b, NAME_MAX_BYTES));
	char *key = xasprintf("%s%s:%s", prefix, json_string_value(x), json_string_value(y));

	json_decref(x);
	json_decref(y);
	return key;
}

char *
key_on_server(const char *kind, int64_t server_pid, int64_t server_start, const char *id, const char *socket)
{
	char *prefix = xasprintf("%s:%lld.%lld:", kind, (long long)server_pid, (long long)server_start);
	char *key = key_make(prefix, id, socket);

	free(prefix);
	return key;
}

int
key_check_id(const char *what, const char *id, struct err *e)
{
	size_t n = strlen(id);
	bool good = n > 0 && n <= KEY_ID_MAX;
	int32_t rune;

	for (size_t i = 0; i < n && good; ) {
		i += utf8_next(id + i, n - i, &rune);
		good = rune > ' ' && !utf8_hidden(rune) && !iswspace((wint_t)rune);
	}
	if (good)
		return 0;
	err_set(e, GT_USAGE, "id", "%s must be 1 to %d bytes of UTF-8 without blanks and control characters", what, KEY_ID_MAX);
	return err_hint(e, "letters, digits, - and _ are always fine");
}
