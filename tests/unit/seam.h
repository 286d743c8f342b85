#ifndef TESTS_UNIT_SEAM_H
#define TESTS_UNIT_SEAM_H

/*
 * A test of the seam (store/store.h) runs once on each backend; without a redis-server the second
 * time is a counted skip.
 */

#include <string.h>

#include "redis_house.h"
#include "base/err.h"
#include "store/store.h"

enum backend_kind { SQLITE, REDIS };

struct home {
	bool is_redis;
	struct redis_house house;	/* of SQLite: its directory and url alone */
	struct store *s;
	struct err e;
};

static enum backend_kind kinds[] = { SQLITE, REDIS };

static inline struct store *
open_one(struct home *h)
{
	return store_open(h->house.url, h->house.dir, &h->e);
}

static inline int
setup(void **state)
{
	enum backend_kind kind = *(enum backend_kind *)*state;
	struct home *h = xcalloc(1, sizeof *h);

	*state = h;
	h->is_redis = kind == REDIS;
	if (h->is_redis && !redis_installed())
		return 0;
	if (h->is_redis) {
		redis_house_init(&h->house);
	} else {
		h->house.dir = temp_dir();
		h->house.url = xstrdup("sqlite");
	}
	h->s = open_one(h);
	if (h->s == NULL)
		fail_msg("%s", h->e.msg);
	return 0;
}

static inline int
teardown(void **state)
{
	struct home *h = *state;

	if (h->s != NULL)
		store_close(h->s);
	if (h->is_redis && h->house.dir != NULL)
		redis_house_release(&h->house);
	if (!h->is_redis) {
		free(h->house.url);
		temp_remove(h->house.dir);
	}
	free(h);
	return 0;
}

/* The store is there, or the test is skipped, and counted so. */
static inline struct home *
home_of(void **state)
{
	struct home *h = *state;

	if (h->s == NULL) {
		print_message("skipped: redis-server is not installed\n");
		skip();
	}
	return h;
}

static inline void
reopen(struct home *h)
{
	store_close(h->s);
	h->s = open_one(h);
	assert_non_null(h->s);
}

static inline enum commit
put(struct store *s, const char *key, int64_t expect, const char *tag, const char *value, struct err *e)
{
	struct change c = { CHANGE_PUT, key, expect, tag, value };

	return store_commit(s, &c, 1, e);
}

static inline int64_t
version(struct store *s, const char *key)
{
	struct record r;
	int64_t v;

	assert_int_not_equal(store_get(s, key, &r, NULL), -1);
	v = r.version;
	store_record_release(&r);
	return v;
}

static inline void
assert_record(struct store *s, const char *key, const char *tag, const char *value)
{
	struct record r;

	assert_int_equal(store_get(s, key, &r, NULL), 1);
	assert_string_equal(r.key, key);
	assert_string_equal(r.tag, tag);
	assert_string_equal(r.value, value);
	store_record_release(&r);
}

#define BOTH(test) cmocka_unit_test_prestate_setup_teardown(test, setup, teardown, &kinds[SQLITE]), \
	cmocka_unit_test_prestate_setup_teardown(test, setup, teardown, &kinds[REDIS])

#endif
