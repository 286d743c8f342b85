#include "test.h"
#include "temp.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/store.h"

/* A dry store answers as the real one does, and what lies under it stays. */

#define KEYS 60

static unsigned seed = 20260101;

static unsigned
any(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static const char *
a_key(char key[16])
{
	snprintf(key, 16, "%s:%02u", any(2) == 0 ? "a" : "ab", any(KEYS));
	return key;
}

static int64_t
version(struct store *s, const char *key)
{
	struct record r;
	int64_t v;

	assert_int_not_equal(store_get(s, key, &r, NULL), -1);
	v = r.version;
	store_record_release(&r);
	return v;
}

static enum commit
change(
    struct store *s, enum change_kind kind, const char *key, bool stale, const char *tag, const char *value)
{
	struct change c = { kind, key, version(s, key) + stale, tag, value };
	struct err e = ERR_INIT;

	return store_commit(s, &c, 1, &e);
}

static void
put_any(struct store *s, struct store *twin)
{
	static const char *const tags[] = { "open", "ended", "other" };
	unsigned what = any(10), tag = any(3);
	enum change_kind kind = what < 6 ? CHANGE_PUT : what < 9 ? CHANGE_DELETE : CHANGE_CHECK;
	bool stale = any(8) == 0;
	char key[16], *value;

	a_key(key);
	value = xasprintf("{\"n\":%u}", any(1000));
	assert_int_equal(
	    change(s, kind, key, stale, tags[tag], value), stale ? COMMIT_CONFLICT : COMMIT_DONE);
	if (twin != NULL)
		assert_int_equal(
		    change(twin, kind, key, stale, tags[tag], value), stale ? COMMIT_CONFLICT : COMMIT_DONE);
	free(value);
}

static void
same_records(const struct records *a, const struct records *b, bool versions)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_string_equal(a->v[i].key, b->v[i].key);
		assert_string_equal(a->v[i].tag, b->v[i].tag);
		assert_string_equal(a->v[i].value, b->v[i].value);
		if (versions)
			assert_int_equal(a->v[i].version, b->v[i].version);
	}
}

static void
scan_any(struct store *a, struct store *b)
{
	static const char *const prefixes[] = { "a", "a:", "ab:", "b", "a:1" },
				 *const tags[] = { NULL, "open", "ended", "none" };
	const char *prefix = prefixes[any(5)], *tag = tags[any(4)];
	struct records of_a = { 0 }, of_b = { 0 };
	size_t limit = 1 + any(12);
	char key[16], *after = any(2) == 0 ? NULL : key;

	a_key(key);
	assert_int_equal(store_scan(a, prefix, tag, after, limit, &of_a, NULL), 0);
	assert_int_equal(store_scan(b, prefix, tag, after, limit, &of_b, NULL), 0);
	same_records(&of_a, &of_b, false);
	store_records_release(&of_a);
	store_records_release(&of_b);
}

static void
test_as_the_real_one(void **state)
{
	char *dir = temp_dir(), *twin_dir = temp_dir();
	struct store *under = store_open("sqlite", dir, NULL), *twin = store_open("sqlite", twin_dir, NULL),
		     *dry;
	struct records before = { 0 }, after = { 0 };

	(void)state;
	assert_non_null(under);
	assert_non_null(twin);
	for (int i = 0; i < 100; i++)
		put_any(under, twin);
	assert_int_equal(store_scan(under, "", NULL, NULL, 1000, &before, NULL), 0);
	assert_true(before.n > 20);
	dry = store_overlay(under);
	for (int i = 0; i < 400; i++) {
		put_any(dry, twin);
		for (int k = 0; k < 5; k++)
			scan_any(dry, twin);
	}
	store_close(dry);
	under = store_open("sqlite", dir, NULL);
	assert_int_equal(store_scan(under, "", NULL, NULL, 1000, &after, NULL), 0);
	same_records(&before, &after, true);
	store_records_release(&before);
	store_records_release(&after);
	store_close(under);
	store_close(twin);
	temp_remove(dir);
	temp_remove(twin_dir);
}

/* Of a commit that one of its changes stands against nothing is kept. */
static void
test_all_or_none(void **state)
{
	char *dir = temp_dir();
	struct store *s = store_overlay(store_open("sqlite", dir, NULL));
	const struct change c[] = {
		{ CHANGE_PUT, "k:1", STORE_ABSENT, "open", "{}" }, { CHANGE_CHECK, "k:2", 7, NULL, NULL },
	};
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(store_commit(s, c, 2, &e), COMMIT_CONFLICT);
	assert_string_equal(e.name, "conflict");
	assert_int_equal(version(s, "k:1"), 0);
	assert_int_equal(store_commit(s, c, 1, &e), COMMIT_DONE);
	assert_int_equal(version(s, "k:1"), 1);
	assert_int_equal(store_lock(s, &e), 0);
	store_unlock(s);
	assert_true(store_now(s) > 0);
	store_close(s);
	temp_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_real_one),
		cmocka_unit_test(test_all_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
