#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "records/records_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"

#define NAME_MAX_BYTES 512		/* keys have a limit */

char *
record_key(const char *prefix, const char *a, const char *b)
{
	json_t *x = json_bytes(a, strnlen(a, NAME_MAX_BYTES)), *y = json_bytes(b, strnlen(b, NAME_MAX_BYTES));
	char *key = xasprintf("%s%s:%s", prefix, json_string_value(x), json_string_value(y));

	json_decref(x);
	json_decref(y);
	return key;
}

char *
record_key_on_server(
    const char *kind, int64_t server_pid, int64_t server_start, const char *id, const char *socket)
{
	char *prefix = xasprintf("%s:%lld.%lld:", kind, (long long)server_pid, (long long)server_start);
	char *key = record_key(prefix, id, socket);

	free(prefix);
	return key;
}

int
record_check_id(const char *what, const char *id, struct err *e)
{
	size_t n = strlen(id);
	bool good = n > 0 && n <= RECORD_ID_MAX;
	int32_t rune;

	for (size_t i = 0; i < n && good; ) {
		i += utf8_next(id + i, n - i, &rune);
		good = rune > ' ' && !utf8_hidden(rune) && !iswspace((wint_t)rune);
	}
	if (good)
		return 0;
	err_set(e, GT_USAGE, "id", "%s must be 1 to %d bytes of UTF-8 without blanks and control characters",
	    what, RECORD_ID_MAX);
	return err_hint(e, "letters, digits, - and _ are always fine");
}

#define ROUNDS 100			/* each lost one is another writer's success */

int
record_reject(const struct record *r, bool newer, struct err *e)
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
	record_reject(r, json_is_object(o) && version > newest, e);
	json_decref(o);
	return NULL;
}

int
record_slice(const struct record *r, int64_t newest, struct json_slice *out, struct err *e)
{
	int64_t version = 0;

	if (json_slice_whole(r->value, strlen(r->value), out) && *out->p == '{')
		version = json_slice_number(json_slice_get(*out, "schema_version"), 1);
	return version >= 1 && version <= newest ? 0 : record_reject(r, version > newest, e);
}

char *
record_value(json_t *o)
{
	struct buf out = BUF_INIT;

	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

/* ---- txn ---- */

static char *
keep(struct txn *t, char *text)
{
	t->own = vec_room(t->own, t->n_own, &t->cap_own, sizeof *t->own);
	return t->own[t->n_own++] = text;
}

static void
add_change(struct txn *t, struct change c)
{
	t->v = vec_room(t->v, t->n, &t->cap, sizeof *t->v);
	t->v[t->n++] = c;
}

void
txn_write(struct txn *t, char *key, int64_t expect, const char *tag, char *value)
{
	tag = keep(t, xstrdup(tag));
	add_change(t, (struct change){ CHANGE_PUT, keep(t, key), expect, tag, keep(t, value) });
}

void
txn_put(struct txn *t, const struct record_type *type, const void *x)
{
	txn_write(t, record_key_of(type, x), record_version(type, x), record_tag(type, x),
	    record_encode(type, x));
}

void
txn_check(struct txn *t, char *key, int64_t expect)
{
	add_change(t, (struct change){ .kind = CHANGE_CHECK, .key = keep(t, key), .expect = expect });
}

void
txn_delete(struct txn *t, char *key, int64_t expect)
{
	add_change(t, (struct change){ .kind = CHANGE_DELETE, .key = keep(t, key), .expect = expect });
}

static const char *
keep_copy(struct txn *t, const char *text)
{
	return text != NULL ? keep(t, xstrdup(text)) : NULL;
}

void
txn_event(struct txn *t, const char *kind, const char *subject, const char *session, const char *text)
{
	t->event = (struct event){ keep_copy(t, kind), keep_copy(t, subject), keep_copy(t, session),
		keep_copy(t, text) };
}

void
txn_release(struct txn *t)
{
	for (size_t i = 0; i < t->n_own; i++)
		free(t->own[i]);
	free(t->own);
	free(t->v);
	*t = (struct txn){ .s = t->s };
}

enum commit
txn_commit(struct txn *t, struct err *e)
{
	enum commit answer = COMMIT_DONE;

	if (t->event.kind != NULL)
		answer = event_commit(t->s, t->v, t->n, &t->event, e);
	else if (t->n > 0)
		answer = store_commit(t->s, t->v, t->n, e);
	txn_release(t);
	return answer;
}

int
txn_run(struct store *s, int (*verb)(struct txn *t, void *arg, struct err *e), void *arg, struct err *e)
{
	struct err own = ERR_INIT;
	struct txn t = { .s = s };
	enum commit answer = COMMIT_CONFLICT;

	for (int i = 0; i < ROUNDS && answer == COMMIT_CONFLICT; i++) {
		err_clear(&own);
		answer = verb(&t, arg, &own) == 0 ? txn_commit(&t, &own) : COMMIT_ERROR;
		txn_release(&t);
	}
	if (answer == COMMIT_DONE)
		return 0;
	if (e != NULL)
		*e = own;
	return -1;
}
