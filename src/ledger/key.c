#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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
key_check_id(const char *id, const char *what, struct err *e)
{
	static const char signs[] = "._@+/-";
	size_t n = strlen(id), i = 0;
	struct buf shown = BUF_INIT;

	while (i < n && i < KEY_ID_MAX && (isalnum((unsigned char)id[i]) || (i > 0 && strchr(signs, id[i]) != NULL)))
		i++;
	if (n > 0 && i == n)
		return 0;
	utf8_escape(&shown, id, n, 60);
	err_set(e, GT_USAGE, "id", "\"%s\" is no id of %s", shown.data, what);
	buf_release(&shown);
	return err_hint(e, "1 to %d letters, digits and %s, the first of them a letter or a digit", KEY_ID_MAX, signs);
}
