#include <stdlib.h>
#include <string.h>

#include "ledger/key.h"
#include "base/buf.h"
#include "base/json.h"

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
