#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "records/records_private.h"

/*
 * Each kind of record: struct -> text -> struct, and texts of earlier versions in tests/golden/records/encoded, a
 * record a line: key, tag and value with tabs between. These must come out again to the byte.
 */

static const struct record_type *const types[] = { &lock_type, &session_type, &tree_type, &message_type,
	&activity_type, &run_type, &run_session_type, &runner_type, &attempt_type, &crash_type, &armed_type,
	&seen_type };
#define TYPES (sizeof types / sizeof types[0])

#define AT(x, offset, type) ((type *)(void *)((char *)(x) + (offset)))
#define ROUNDS 500

static uint64_t seed = 88172645463325252u;

static uint64_t
next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static int64_t
some_number(void)
{
	static const int64_t edges[] = { 0, 1, -1, INT64_MAX, INT64_MIN, 4026531836, 1795292163000 };

	return next_random() % 2 == 0 ? edges[next_random() % 7] : (int64_t)next_random();
}

/* Up to `most` bytes. */
static char *
some_text(size_t most)
{
	static const char *const parts[] = { "a", "Z", " ", "\"", "\\", "/", "\n", "\t", "\x01", "\x7f", "{", "}",
		"[", ",", ":", "\xc3\xa9", "\xf0\x9f\x98\x80", "null", "\\u0041" };
	struct buf b = BUF_INIT;

	for (unsigned n = (unsigned)(next_random() % 12); n > 0; n--) {
		const char *part = parts[next_random() % (sizeof parts / sizeof parts[0])];

		if (b.len + strlen(part) <= most)
			buf_str(&b, part);
	}
	return buf_detach(&b);
}

static void
fill(const struct record_fields *fields, void *x)
{
	for (size_t i = 0; i < fields->n; i++) {
		const struct record_field *f = &fields->v[i];
		struct record_list *list = AT(x, f->offset, struct record_list);
		bool needed = (f->flags & (FIELD_FILLED | FIELD_REQUIRED)) != 0;
		char *text;

		switch (f->kind) {
		case FIELD_TEXT:
			*AT(x, f->offset, char *) = needed || next_random() % 4 != 0 ? some_text(SIZE_MAX) : NULL;
			break;
		case FIELD_WORD:
			text = some_text(f->size - 1);
			memcpy(AT(x, f->offset, char), text, strlen(text) + 1);
			free(text);
			break;
		case FIELD_INT:
		case FIELD_TIME:
			*AT(x, f->offset, int64_t) = next_random() % 3 == 0 ? f->otherwise : some_number();
			break;
		case FIELD_FLAG:
			*AT(x, f->offset, bool) = next_random() % 2 == 0;
			break;
		case FIELD_OBJECT:
			fill(&f->inner, x);
			break;
		case FIELD_LIST:
			for (size_t n = next_random() % 4; n > 0; n--) {
				list->v = vec_room(list->v, list->n, &list->cap, f->size);
				memset((char *)list->v + list->n * f->size, 0, f->size);
				fill(&f->inner, (char *)list->v + list->n++ * f->size);
			}
		}
	}
}

static void *
some_record(const struct record_type *t)
{
	void *x = xcalloc(1, t->size);
	char **id = AT(x, t->id, char *);

	fill(&t->fields, x);
	*AT(x, t->version, int64_t) = 7;
	if (t->state_size == sizeof(bool))
		*AT(x, t->state, bool) = next_random() % 2 == 0;
	else if (t->state_size > 0)
		*AT(x, t->state, unsigned) = (unsigned)(next_random() % t->n_tags);
	if (t->key == NULL && t->id_size == 0) {
		free(*id);
		*id = xasprintf("id-%llu", (unsigned long long)next_random());
	} else if (t->key == NULL) {
		memset(AT(x, t->id, char), 'x', t->id_size - 1);
	}
	return x;
}

/* The same fields, as far as they are written. */
static void
assert_same(const struct record_fields *fields, const void *a, const void *b)
{
	for (size_t i = 0; i < fields->n; i++) {
		const struct record_field *f = &fields->v[i];
		const struct record_list *many = AT(a, f->offset, const struct record_list),
					 *again = AT(b, f->offset, const struct record_list);
		const char *text;

		if (f->when != NULL && !f->when(a))
			continue;
		switch (f->kind) {
		case FIELD_TEXT:
			text = *AT(a, f->offset, char *const);
			if (text == NULL || ((f->flags & FIELD_OPTIONAL) != 0 && *text == '\0'))
				assert_null(*AT(b, f->offset, char *const));
			else
				assert_string_equal(text, *AT(b, f->offset, char *const));
			break;
		case FIELD_WORD:
			assert_string_equal(AT(a, f->offset, const char), AT(b, f->offset, const char));
			break;
		case FIELD_INT:
		case FIELD_TIME:
			assert_int_equal(*AT(a, f->offset, const int64_t), *AT(b, f->offset, const int64_t));
			break;
		case FIELD_FLAG:
			assert_int_equal(*AT(a, f->offset, const bool), *AT(b, f->offset, const bool));
			break;
		case FIELD_OBJECT:
			assert_same(&f->inner, a, b);
			break;
		case FIELD_LIST:
			assert_int_equal(many->n, again->n);
			for (size_t k = 0; k < many->n; k++)
				assert_same(&f->inner, (const char *)many->v + k * f->size,
				    (const char *)again->v + k * f->size);
		}
	}
}

/* What a transaction puts for x; its strings are heap. */
static struct record
record_of(const struct record_type *t, const void *x)
{
	struct txn txn = { .s = NULL };
	struct record r;

	txn_put(&txn, t, x);
	assert_int_equal(txn.n, 1);
	assert_int_equal(txn.v[0].kind, CHANGE_PUT);
	r = (struct record){ xstrdup(txn.v[0].key), txn.v[0].expect, xstrdup(txn.v[0].tag),
		xstrdup(txn.v[0].value) };
	txn_release(&txn);
	return r;
}

static void
assert_records_same(const struct record_type *t, const void *a, const void *b)
{
	struct record r = record_of(t, a), again = record_of(t, b);

	assert_same(&t->fields, a, b);
	assert_string_equal(r.key, again.key);
	assert_string_equal(r.tag, again.tag);
	assert_string_equal(r.value, again.value);
	assert_int_equal(r.version, again.version);
	store_record_release(&r);
	store_record_release(&again);
}

static void
test_round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < TYPES; i++)
		for (int k = 0; k < ROUNDS; k++) {
			void *x = some_record(types[i]), *y = xcalloc(1, types[i]->size);
			struct record r = record_of(types[i], x);
			struct err e = ERR_INIT;

			if (record_decode(types[i], &r, y, &e) != 0)
				fail_msg("%s: %s", r.value, e.msg);
			assert_records_same(types[i], x, y);
			record_free(types[i], x);
			record_free(types[i], y);
			store_record_release(&r);
			free(x);
			free(y);
		}
}

/* The members in the other order, and with one that no field names. */
static char *
turned(const char *value)
{
	json_t *o = json_loads(value, 0, NULL), *out = json_pack("{s:{s:[i,s]}}", "later", "a", 1, "}"), *v;
	const char **names = xcalloc(json_object_size(o), sizeof *names), *name;
	size_t n = 0;
	char *text;

	json_object_foreach(o, name, v)
		names[n++] = name;
	while (n > 0) {
		n--;
		json_object_set(out, names[n], json_object_get(o, names[n]));
	}
	text = json_dumps(out, JSON_INDENT(1));
	json_decref(o);
	json_decref(out);
	free(names);
	return text;
}

static void
test_any_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < TYPES; i++)
		for (int k = 0; k < ROUNDS / 10; k++) {
			void *x = some_record(types[i]), *y = xcalloc(1, types[i]->size);
			struct record r = record_of(types[i], x);
			struct err e = ERR_INIT;
			char *value = r.value;

			r.value = turned(value);
			assert_int_equal(record_decode(types[i], &r, y, &e), 0);
			assert_records_same(types[i], x, y);
			free(value);
			record_free(types[i], x);
			record_free(types[i], y);
			store_record_release(&r);
			free(x);
			free(y);
		}
}

static void
assert_refused(const struct record_type *t, const struct record *r, const char *name)
{
	void *x = xcalloc(1, t->size), *zero = xcalloc(1, t->size);
	struct err e = ERR_INIT;

	assert_int_equal(record_decode(t, r, x, &e), -1);
	if (name != NULL)
		assert_string_equal(e.name, name);
	assert_memory_equal(x, zero, t->size);
	free(x);
	free(zero);
}

static void
test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < TYPES; i++) {
		const struct record_type *t = types[i];
		void *x = some_record(t);
		struct record r = record_of(t, x), torn = r;
		char *newer = xasprintf("{\"schema_version\":%d,\"x\":1}", t->schema + 1);

		for (size_t n = 0; n < strlen(r.value); n++) {
			torn.value = xstrndup(r.value, n);
			assert_refused(t, &torn, t->schema > 0 ? "corrupt" : "json");
			free(torn.value);
		}
		torn.value = newer;
		if (t->schema > 0)
			assert_refused(t, &torn, "newer");
		torn.value = (char *)(uintptr_t)"[]";
		assert_refused(t, &torn, "corrupt");
		torn.value = (char *)(uintptr_t)"{\"a\":1 \"b\":2}";
		assert_refused(t, &torn, t->schema > 0 ? "corrupt" : "json");
		torn = r;
		torn.tag = (char *)(uintptr_t)"unheard-of";
		assert_refused(t, &torn, "corrupt");
		free(newer);
		store_record_release(&r);
		record_free(t, x);
		free(x);
	}
}

static const struct record_type *
type_of(const char *key)
{
	for (size_t i = 0; i < TYPES; i++)
		if (str_starts(key, types[i]->prefix))
			return types[i];
	fail_msg("no kind of record has the key %s", key);
	return NULL;
}

static void
test_golden(void **state)
{
	char *dir = tests_path("golden/records"), *p;
	struct buf text = BUF_INIT;
	size_t seen[TYPES] = { 0 };

	(void)state;
	assert_int_equal(golden_read(dir, "encoded", &text), 0);
	for (p = text.data; *p != '\0';) {
		char *line = p, *key, *tag;
		const struct record_type *t;
		struct err e = ERR_INIT;
		struct record r, again;
		void *x;

		p = strchr(p, '\n');
		assert_non_null(p);
		*p++ = '\0';
		key = strsep(&line, "\t");
		tag = strsep(&line, "\t");
		t = type_of(key);
		x = xcalloc(1, t->size);
		r = (struct record){ key, 7, tag, line };
		if (record_decode(t, &r, x, &e) != 0)
			fail_msg("%s: %s", key, e.msg);
		again = record_of(t, x);
		assert_string_equal(again.value, line);
		assert_string_equal(again.key, key);
		assert_string_equal(again.tag, tag);
		store_record_release(&again);
		record_free(t, x);
		free(x);
		for (size_t i = 0; i < TYPES; i++)
			seen[i] += types[i] == t;
	}
	for (size_t i = 0; i < TYPES; i++)
		assert_true(seen[i] >= 2);	/* one with all members, one with none */
	buf_release(&text);
	free(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
