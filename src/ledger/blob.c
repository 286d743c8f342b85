#include <stdlib.h>
#include <string.h>

#include "ledger/blob.h"
#include "ledger/record.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/sha256.h"

#define SCHEMA 1

int
blob_change(const char *agent, const void *p, size_t n, struct blob *it, char **key, char **value, struct change *c, struct err *e)
{
	struct buf text = BUF_INIT;
	json_t *o;

	if (n > BLOB_MAX) {
		err_set(e, GT_USAGE, "too-large", "a state blob has at most %zu bytes", BLOB_MAX);
		return err_hint(e, "Keep the state in a file of your own and hand over its path");
	}
	it->size = (int64_t)n;
	sha256_hex(p, n, it->sha256);
	base64_put(&text, p, n);
	o = json_object();
	json_put_int(o, "schema_version", SCHEMA);
	json_put_int(o, "size", it->size);
	json_put(o, "sha256", it->sha256);
	json_put(o, "base64", text.data);
	buf_release(&text);
	*key = xasprintf("blob:%s", agent);
	*value = record_value(o);
	*c = (struct change){ CHANGE_PUT, *key, STORE_ANY, "blob", *value };
	return 0;
}

int
blob_read(struct store *s, const char *agent, const struct blob *it, struct buf *out, struct err *e)
{
	char *key = xasprintf("blob:%s", agent), sum[65];
	size_t before = out->len;
	struct record r;
	json_t *o = NULL;
	const char *text;
	int found = store_get(s, key, &r, e), ret = found < 0 ? -1 : 0;

	if (found > 0)
		ret = (o = record_object(&r, SCHEMA, e)) != NULL ? 0 : -1;
	if (ret == 0) {
		text = json_text(o, "base64", "=");
		ret = base64_take(out, text, strlen(text));
		sha256_hex(out->data + before, out->len - before, sum);
		if (ret != 0 || (int64_t)(out->len - before) != it->size || strcmp(sum, it->sha256) != 0) {
			buf_cut(out, before);
			ret = err_set(e, GT_FAIL, "blob", "the state blob of %s is %s", agent,
			    found == 0 ? "missing" : "not the one that was stored: its SHA-256 differs");
			err_hint(e, "A damaged store is told by gt-recover doctor; the session itself can go on without its blob");
		}
	}
	json_decref(o);
	record_release(&r);
	free(key);
	return ret;
}
