#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "records/records_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

/* ---- keys ---- */

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

static int
reject(const struct record *r, bool newer, struct err *e)
{
	if (newer) {
		err_set(e, GT_FAIL, "newer", "the record %.200s was written by a later gt-recover", r->key);
		return err_hint(e, "Nothing was changed. Use the gt-recover version that wrote it");
	}
	err_set(e, GT_FAIL, "corrupt", "the record %.200s is malformed", r->key);
	return err_hint(e, "to check the store: gt-recover doctor");
}

json_t *
record_object(const struct record *r, const char *tag, int64_t newest, struct err *e)
{
	json_t *o = json_parse(r->value, strlen(r->value), r->key, NULL);
	int64_t version = json_number(o, "schema_version", 1);
	bool good = json_is_object(o) && version >= 1 && version <= newest;

	if (good && (tag == NULL || record_check_tag(r, tag, e) == 0))
		return o;
	if (!good)
		reject(r, json_is_object(o) && version > newest, e);
	json_decref(o);
	return NULL;
}

char *
record_value(json_t *o)
{
	struct buf out = BUF_INIT;

	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

#define AT(x, offset, type) ((type *)(void *)((char *)(uintptr_t)(x) + (offset)))

/* ---- writing ---- */

static void encode_object(struct buf *out, int schema, const struct record_fields *fields, const void *x);

static void
encode_list(struct buf *out, const struct record_field *f, const struct record_list *list)
{
	buf_chr(out, '[');
	for (size_t i = 0; i < list->n; i++) {
		if (i > 0)
			buf_chr(out, ',');
		encode_object(out, 0, &f->inner, (const char *)list->v + i * f->size);
	}
	buf_chr(out, ']');
}

static void
encode_field(struct buf *out, const struct record_field *f, const void *x)
{
	const char *text = f->kind == FIELD_TEXT ? *AT(x, f->offset, char *) :
	    f->kind == FIELD_WORD		 ? AT(x, f->offset, char)
						 : NULL;
	int64_t n = f->kind == FIELD_INT || f->kind == FIELD_TIME ? *AT(x, f->offset, int64_t) : 0;
	bool there = f->when == NULL || f->when(x);

	if ((f->flags & FIELD_OPTIONAL) != 0 && n == 0 && (text == NULL || *text == '\0'))
		return;
	if (!there && f->kind != FIELD_OBJECT)
		return;
	if (f->kind == FIELD_TEXT || f->kind == FIELD_WORD || !there || (f->kind == FIELD_TIME && n == 0)) {
		json_print_member(out, f->name, text);
	} else if (f->kind == FIELD_INT || f->kind == FIELD_TIME) {
		buf_fmt(out, ",\"%s\":%lld", f->name, (long long)n);
	} else if (f->kind == FIELD_FLAG) {
		buf_fmt(out, ",\"%s\":%s", f->name, *AT(x, f->offset, bool) ? "true" : "false");
	} else {
		buf_fmt(out, ",\"%s\":", f->name);
		if (f->kind == FIELD_OBJECT)
			encode_object(out, 0, &f->inner, x);
		else
			encode_list(out, f, AT(x, f->offset, struct record_list));
	}
}

/* Each member brings a comma; the first becomes the brace. */
static void
encode_object(struct buf *out, int schema, const struct record_fields *fields, const void *x)
{
	size_t from = out->len;

	if (schema > 0)
		buf_fmt(out, ",\"schema_version\":%d", schema);
	for (size_t i = 0; i < fields->n; i++)
		encode_field(out, &fields->v[i], x);
	if (out->len == from)
		buf_chr(out, '{');
	out->data[from] = '{';
	buf_chr(out, '}');
}

char *
record_encode(const struct record_type *t, const void *x)
{
	struct buf out = BUF_INIT;

	encode_object(&out, t->schema, &t->fields, x);
	return buf_detach(&out);
}

/* ---- memory ---- */

static void
free_fields(const struct record_fields *fields, void *x)
{
	for (size_t i = 0; i < fields->n; i++) {
		const struct record_field *f = &fields->v[i];
		struct record_list *list = AT(x, f->offset, struct record_list);

		if (f->kind == FIELD_TEXT) {
			free(*AT(x, f->offset, char *));
			*AT(x, f->offset, char *) = NULL;
		} else if (f->kind == FIELD_OBJECT) {
			free_fields(&f->inner, x);
		} else if (f->kind == FIELD_LIST) {
			for (size_t k = 0; k < list->n; k++)
				free_fields(&f->inner, (char *)list->v + k * f->size);
			free(list->v);
		}
	}
}

void
record_free(const struct record_type *t, void *x)
{
	free_fields(&t->fields, x);
	if (t->key == NULL && t->id_size == 0)
		free(*AT(x, t->id, char *));
	memset(x, 0, t->size);
}

void
record_list_free(const struct record_type *t, void *list)
{
	struct record_list *l = list;

	for (size_t i = 0; i < l->n; i++)
		record_free(t, (char *)l->v + i * t->size);
	free(l->v);
	memset(l, 0, sizeof *l);
}

void
record_set(char **field, const char *value)
{
	char *copy = value != NULL ? xstrdup(value) : NULL;

	free(*field);
	*field = copy;
}

/* ---- reading ---- */

static void
set_defaults(const struct record_fields *fields, void *x)
{
	for (size_t i = 0; i < fields->n; i++)
		if (fields->v[i].kind == FIELD_INT)
			*AT(x, fields->v[i].offset, int64_t) = fields->v[i].otherwise;
		else if (fields->v[i].kind == FIELD_OBJECT)
			set_defaults(&fields->v[i].inner, x);
}

/* Fills what was absent. False: what is required is. */
static bool
is_complete(const struct record_fields *fields, void *x)
{
	for (size_t i = 0; i < fields->n; i++) {
		char **text = AT(x, fields->v[i].offset, char *);

		if (fields->v[i].kind != FIELD_TEXT || *text != NULL)
			continue;
		if ((fields->v[i].flags & FIELD_REQUIRED) != 0)
			return false;
		if ((fields->v[i].flags & FIELD_FILLED) != 0)
			*text = xstrdup("");
	}
	return true;
}

static bool decode_object(const struct record_fields *fields, struct json_slice whole, void *x);

static bool
decode_list(const struct record_field *f, struct json_slice v, struct record_list *list)
{
	struct json_walk w = json_slice_walk(v);
	struct json_slice one;

	while (!w.object && json_walk_next(&w, NULL, &one)) {
		void *x;

		list->v = vec_room(list->v, list->n, &list->cap, f->size);
		x = (char *)list->v + list->n * f->size;
		memset(x, 0, f->size);
		set_defaults(&f->inner, x);
		if (!decode_object(&f->inner, one, x)) {
			free_fields(&f->inner, x);
			return false;
		}
		if (is_complete(&f->inner, x))
			list->n++;
		else
			free_fields(&f->inner, x);
	}
	return true;
}

/* False: it is torn inside. A member of another type counts as absent. */
static bool
decode_field(const struct record_field *f, struct json_slice v, void *x)
{
	char *text;

	switch (f->kind) {
	case FIELD_TEXT:
		free(*AT(x, f->offset, char *));
		*AT(x, f->offset, char *) = json_slice_copy(v, NULL);
		return true;
	case FIELD_WORD:
		text = json_slice_copy(v, "");
		snprintf(AT(x, f->offset, char), f->size, "%s", text);
		free(text);
		return true;
	case FIELD_INT:
	case FIELD_TIME:
		*AT(x, f->offset, int64_t) = json_slice_number(v, f->otherwise);
		return true;
	case FIELD_FLAG:
		*AT(x, f->offset, bool) = !json_slice_string(v) && json_slice_is(v, "true");
		return true;
	case FIELD_OBJECT:
		return *v.p != '{' || decode_object(&f->inner, v, x);
	case FIELD_LIST:
		return decode_list(f, v, AT(x, f->offset, struct record_list));
	}
	return false;
}

/* Members stand mostly in the order of the table. */
static bool
decode_object(const struct record_fields *fields, struct json_slice whole, void *x)
{
	struct json_walk w = json_slice_walk(whole);
	struct json_slice key, v;
	size_t next = 0;

	while (w.object && json_walk_next(&w, &key, &v))
		for (size_t i = 0; i < fields->n; i++) {
			size_t at = next + i < fields->n ? next + i : next + i - fields->n;

			if (!json_key_is(key, fields->v[at].name))
				continue;
			if (!decode_field(&fields->v[at], v, x))
				return false;
			next = at + 1 < fields->n ? at + 1 : 0;
			break;
		}
	return !w.object || w.p == whole.p + whole.n - 1;
}

static int
decode_value(const struct record_type *t, const struct record *r, void *x, struct err *e)
{
	struct json_slice whole;
	bool object = json_slice_whole(r->value, strlen(r->value), &whole) && *whole.p == '{';
	int64_t version = 1;
	json_t *v;

	if (object && t->schema > 0)
		version = json_slice_number(json_slice_get(whole, "schema_version"), 1);
	if (version > t->schema && t->schema > 0)
		return reject(r, true, e);
	set_defaults(&t->fields, x);
	if (object && version >= 1 && decode_object(&t->fields, whole, x))
		return 0;
	/* the sentence of a kind without a schema says where its JSON breaks */
	if (t->schema == 0) {
		v = json_parse(r->value, strlen(r->value), r->key, e);
		if (v == NULL)
			return -1;
		json_decref(v);
	}
	return reject(r, false, e);
}

static const char *
tag_of_record(const struct record_type *t, const void *x)
{
	unsigned state = t->state_size == sizeof(bool) ? *AT(x, t->state, bool) :
	    t->state_size > 0			       ? *AT(x, t->state, unsigned)
						       : 0;

	return t->tag != NULL ? t->tag(x) : t->tags[state];
}

int
record_check_tag(const struct record *r, const char *tag, struct err *e)
{
	if (strcmp(r->tag, tag) == 0)
		return 0;
	err_set(e, GT_FAIL, "corrupt",
	    "the record %.200s is indexed as \"%.40s\", but its value says \"%.40s\"", r->key, r->tag, tag);
	return err_hint(e, "to check the store: gt-recover doctor");
}

static bool
take_state(const struct record_type *t, const char *tag, void *x)
{
	unsigned state = 0;

	while (state < t->n_tags && strcmp(t->tags[state], tag) != 0)
		state++;
	if (state == t->n_tags && state > 0)
		return false;
	if (t->state_size == sizeof(bool))
		*AT(x, t->state, bool) = state != 0;
	else if (t->state_size > 0)
		*AT(x, t->state, unsigned) = state;
	return true;
}

int
record_decode(const struct record_type *t, const struct record *r, void *x, struct err *e)
{
	const char *id = r->key + strlen(t->prefix);
	bool good;

	memset(x, 0, t->size);
	if (decode_value(t, r, x, e) != 0) {
		record_free(t, x);
		return -1;
	}
	*AT(x, t->version, int64_t) = r->version;
	good = take_state(t, r->tag, x) && is_complete(&t->fields, x);
	/* the id is that of the key, whatever the value says */
	if (t->key == NULL && t->id_size == 0)
		record_set(AT(x, t->id, char *), id);
	else if (t->key == NULL && strlen(id) == t->id_size - 1)
		memcpy(AT(x, t->id, char), id, t->id_size);
	else
		good = good && t->key != NULL;
	if (good && record_check_tag(r, tag_of_record(t, x), e) == 0)
		return 0;
	record_free(t, x);
	if (good || t->refusal == NULL)
		return good ? -1 : reject(r, false, e);
	return err_set(e, GT_FAIL, "corrupt", "the record %.200s %s", r->key, t->refusal);
}

char *
record_key_of(const struct record_type *t, const void *x)
{
	if (t->key != NULL)
		return t->key(x);
	return xasprintf("%s%s", t->prefix, t->id_size > 0 ? AT(x, t->id, char) : *AT(x, t->id, char *));
}

int
record_load_key(struct store *s, const struct record_type *t, const char *key, void *x, struct err *e)
{
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(x, 0, t->size);
	if (found > 0 && record_decode(t, &r, x, e) != 0)
		found = -1;
	store_record_release(&r);
	return found;
}

int
record_load(struct store *s, const struct record_type *t, const char *id, void *x, struct err *e)
{
	char *key = xasprintf("%s%s", t->prefix, id);
	int found = record_load_key(s, t, key, x, e);

	free(key);
	return found;
}

int
record_read_version(struct store *s, const struct record_type *t, void *x, struct err *e)
{
	char *key = record_key_of(t, x);
	struct record r;
	int found = store_get(s, key, &r, e);

	if (found > 0)
		*AT(x, t->version, int64_t) = r.version;
	store_record_release(&r);
	free(key);
	return found;
}

struct record_listing {
	const struct record_type *t;
	struct record_list *out;
};

static int
add_record(const struct record *r, void *arg, struct err *e)
{
	const struct record_listing *l = arg;

	l->out->v = vec_room(l->out->v, l->out->n, &l->out->cap, l->t->size);
	if (record_decode(l->t, r, (char *)l->out->v + l->out->n * l->t->size, e) != 0)
		return -1;
	l->out->n++;
	return 0;
}

int
record_list_read(struct store *s, const struct record_type *t, const char *tag, void *list, struct err *e)
{
	struct record_listing l = { t, list };

	return store_each(s, t->prefix, tag, add_record, &l, e);
}

/* ---- transactions ---- */

#define ROUNDS 100			/* each lost one is another writer's success */

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
	txn_write(t, record_key_of(type, x), *AT(x, type->version, int64_t), tag_of_record(type, x),
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

void
txn_event(struct txn *t, const char *kind, const char *subject, const char *session, const char *text)
{
	const char *given[] = { kind, subject, session, text };

	for (size_t i = 0; i < 4; i++)
		given[i] = given[i] != NULL ? keep(t, xstrdup(given[i])) : NULL;
	t->event = (struct event){ given[0], given[1], given[2], given[3], NULL };
}

void
txn_event_on(struct txn *t, const char *socket)
{
	t->event.socket = socket != NULL ? keep(t, xstrdup(socket)) : NULL;
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
