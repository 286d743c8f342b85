#include <string.h>

#include "ledger/record.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define ROUNDS 100			/* each lost one is another writer's success */

int
record_refuse(const struct record *r, bool newer, struct err *e)
{
	if (newer) {
		err_set(e, GT_FAIL, "newer", "the record %.200s was written by a later gt-recover", r->key);
		return err_hint(e, "Use the gt-recover that wrote it; nothing was changed");
	}
	err_set(e, GT_FAIL, "corrupt", "the record %.200s does not hold what it should", r->key);
	return err_hint(e, "gt-recover doctor looks at the whole store");
}

json_t *
record_object(const struct record *r, int64_t newest, struct err *e)
{
	json_t *o = json_parse(r->value, strlen(r->value), r->key, NULL);
	int64_t version = json_number(o, "schema_version", 1);

	if (json_is_object(o) && version >= 1 && version <= newest)
		return o;
	record_refuse(r, json_is_object(o) && version > newest, e);
	json_decref(o);
	return NULL;
}

int
record_slice(const struct record *r, int64_t newest, struct json_slice *out, struct err *e)
{
	int64_t version = 0;

	if (json_slice_whole(r->value, strlen(r->value), out) && *out->p == '{')
		version = json_slice_number(json_slice_get(*out, "schema_version"), 1);
	return version >= 1 && version <= newest ? 0 : record_refuse(r, version > newest, e);
}

char *
record_value(json_t *o)
{
	struct buf out = BUF_INIT;

	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

int
record_settle(enum commit (*verb)(struct store *s, void *arg, struct err *e), struct store *s, void *arg, struct err *e)
{
	struct err own = ERR_INIT;
	enum commit answer = COMMIT_CONFLICT;

	for (int i = 0; i < ROUNDS && answer == COMMIT_CONFLICT; i++) {
		err_clear(&own);
		answer = verb(s, arg, &own);
	}
	if (answer == COMMIT_DONE)
		return 0;
	if (e != NULL)
		*e = own;
	return -1;
}
