/*
 * What the seam promises (store/store.h), of every backend. test_conformance_kill.c has what it
 * promises when others meddle or die.
 */
#include "test.h"

#include "seam.h"
#include "base/timestamp.h"
#include "epic/epic.h"
#include "records/records_private.h"

static void
test_put_get(void **state)
{
	struct home *h = home_of(state);
	struct record r;
	int64_t v;

	assert_int_equal(store_get(h->s, "epic:a:state", &r, &h->e), 0);
	assert_int_equal(r.version, 0);
	assert_int_equal(
	    put(h->s, "epic:a:state", STORE_ABSENT, "in_progress", "{\"n\": \"\\u0001 \xc3\xa4\"}", &h->e),
	    COMMIT_DONE);
	v = version(h->s, "epic:a:state");
	assert_true(v >= 1);
	assert_record(h->s, "epic:a:state", "in_progress", "{\"n\": \"\\u0001 \xc3\xa4\"}");
	assert_int_equal(put(h->s, "epic:a:state", v, "a tag of words", "[]", &h->e), COMMIT_DONE);
	assert_int_equal(version(h->s, "epic:a:state"), v + 1);
	reopen(h);
	assert_record(h->s, "epic:a:state", "a tag of words", "[]");
	assert_int_equal(version(h->s, "epic:a:state"), v + 1);
	assert_true(llabs((long long)(store_now(h->s) - clock_wall_ms())) < 60000);
}

static void
test_conflict(void **state)
{
	struct home *h = home_of(state);
	struct change gone = { .kind = CHANGE_DELETE, .key = "lock:a", .expect = STORE_ANY };
	int64_t first, second;

	assert_int_equal(put(h->s, "lock:a", 3, "held", "1", &h->e), COMMIT_CONFLICT);
	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "1", &h->e), COMMIT_DONE);
	first = version(h->s, "lock:a");
	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "2", &h->e), COMMIT_CONFLICT);
	assert_string_equal(h->e.name, "conflict");
	assert_int_equal(h->e.code, GT_AGAIN);
	assert_non_null(strstr(h->e.msg, "lock:a"));
	assert_int_equal(put(h->s, "lock:a", first + 1, "held", "2", &h->e), COMMIT_CONFLICT);
	assert_record(h->s, "lock:a", "held", "1");
	assert_int_equal(put(h->s, "lock:a", STORE_ANY, "held", "3", &h->e), COMMIT_DONE);
	second = version(h->s, "lock:a");
	assert_int_equal(second, first + 1);

	/* deleted and made anew: whoever still holds an old version must lose */
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_DONE);
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_DONE);
	assert_int_equal(version(h->s, "lock:a"), 0);
	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "4", &h->e), COMMIT_DONE);
	assert_true(version(h->s, "lock:a") > second);
	assert_int_equal(put(h->s, "lock:a", second, "held", "5", &h->e), COMMIT_CONFLICT);
	gone.expect = second;
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_CONFLICT);
	assert_record(h->s, "lock:a", "held", "4");
}

static void
test_check_only(void **state)
{
	struct home *h = home_of(state);
	struct change c[] = {
		{ CHANGE_PUT, "agent:child", STORE_ABSENT, "active", "{}" },
		{ CHANGE_DELETE, "agent:old", STORE_ANY, NULL, NULL },
		{ CHANGE_CHECK, "agent:parent", STORE_ABSENT, NULL, NULL },
	};
	int64_t old;

	assert_int_equal(put(h->s, "agent:parent", STORE_ABSENT, "active", "{}", &h->e), COMMIT_DONE);
	assert_int_equal(put(h->s, "agent:old", STORE_ABSENT, "active", "{}", &h->e), COMMIT_DONE);
	old = version(h->s, "agent:old");
	/* all of it or nothing, in whatever place the one stands that does not hold */
	assert_int_equal(store_commit(h->s, c, 3, &h->e), COMMIT_CONFLICT);
	assert_int_equal(version(h->s, "agent:child"), 0);
	assert_int_equal(version(h->s, "agent:old"), old);
	c[2].expect = version(h->s, "agent:parent");
	assert_int_equal(store_commit(h->s, &c[2], 1, &h->e), COMMIT_DONE);
	assert_int_equal(store_commit(h->s, c, 3, &h->e), COMMIT_DONE);
	assert_record(h->s, "agent:child", "active", "{}");
	assert_int_equal(version(h->s, "agent:old"), 0);
	assert_int_equal(version(h->s, "agent:parent"), c[2].expect);
}

static void
assert_keys(
    struct home *h, const char *prefix, const char *tag, const char *after, size_t limit, const char *keys)
{
	struct records r = { 0 };
	struct buf b = BUF_INIT;

	assert_int_equal(store_scan(h->s, prefix, tag, after, limit, &r, &h->e), 0);
	for (size_t i = 0; i < r.n; i++)
		buf_fmt(&b, "%s%s", i > 0 ? " " : "", r.v[i].key);
	assert_string_equal(b.data, keys);
	buf_release(&b);
	store_records_release(&r);
}

static void
test_scan(void **state)
{
	static const char *const keys[] = { "run:1", "run:10", "run:2", "run:\xc3\xbf", "run", "run;",
		"rum:z", "run:3" };
	struct home *h = home_of(state);
	struct change gone = { .kind = CHANGE_DELETE, .key = "run:3", .expect = STORE_ANY };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		assert_int_equal(
		    put(h->s, keys[i], STORE_ABSENT, i % 2 == 0 ? "open" : "done", "{}", &h->e), COMMIT_DONE);
	assert_keys(h, "run:", NULL, NULL, 0, "run:1 run:10 run:2 run:3 run:\xc3\xbf");
	assert_keys(h, "run:", NULL, "run:10", 2, "run:2 run:3");
	assert_keys(h, "run:", NULL, "a", 1, "run:1");
	assert_keys(h, "run:", NULL, "s", 0, "");
	assert_keys(h, "run:", "open", NULL, 0, "run:1 run:2");
	assert_keys(h, "", NULL, "run:3", 0, "run:\xc3\xbf run;");
	assert_keys(h, "run:\xc3", NULL, NULL, 0, "run:\xc3\xbf");
	/* what changes its tag or goes is found so */
	assert_int_equal(put(h->s, "run:1", STORE_ANY, "done", "{}", &h->e), COMMIT_DONE);
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_DONE);
	assert_keys(h, "run:", "open", NULL, 0, "run:2");
	assert_keys(h, "run:", "done", NULL, 0, "run:1 run:10 run:\xc3\xbf");
	assert_keys(h, "run:", "never", NULL, 0, "");
}

static char *
large(size_t n, char fill)
{
	char *s = xmalloc(n + 1);

	memset(s, fill, n);
	s[0] = s[n - 1] = '"';
	s[n] = '\0';
	return s;
}

static void
test_large_values(void **state)
{
	struct home *h = home_of(state);
	struct records r = { 0 };
	char key[32], *most = large(STORE_MAX_VALUE, 'm');
	struct change c[3];

	for (int i = 0; i < 9; i++) {
		char *v = large((size_t)1 << 20, (char)('a' + i));

		snprintf(key, sizeof key, "sprint:%d", i);
		assert_int_equal(put(h->s, key, STORE_ABSENT, "t", v, &h->e), COMMIT_DONE);
		free(v);
	}
	for (int i = 0; i < 3; i++)
		c[i] = (struct change){ CHANGE_PUT,
			i == 0       ? "x"
			    : i == 1 ? "y"
				     : "z",
			STORE_ABSENT, "t", most };
	assert_int_equal(store_commit(h->s, c, 3, &h->e), COMMIT_DONE);
	reopen(h);
	assert_int_equal(store_scan(h->s, "sprint:", "t", NULL, 0, &r, &h->e), 0);
	assert_int_equal(r.n, 9);
	for (int i = 0; i < 9; i++) {
		assert_int_equal(strlen(r.v[i].value), 1 << 20);
		assert_int_equal(r.v[i].value[1 << 19], 'a' + i);
	}
	store_records_release(&r);
	assert_record(h->s, "z", "t", most);
	free(most);
}

#define KEYS 10000
#define PER_COMMIT 500

static int
count_row(const struct record *r, void *arg, struct err *e)
{
	int *n = arg;
	char key[32];

	(void)e;
	snprintf(key, sizeof key, "session:%05d", *n);
	assert_string_equal(r->key, key);
	assert_string_equal(r->tag, *n % 100 == 0 ? "active" : "ended");
	++*n;
	return 0;
}

static int
count_tagged(const struct record *r, void *arg, struct err *e)
{
	(void)e;
	assert_string_equal(r->tag, "active");
	++*(int *)arg;
	return 0;
}

static void
test_many_keys(void **state)
{
	struct home *h = home_of(state);
	static char keys[PER_COMMIT][32];
	struct change c[PER_COMMIT];
	struct records r = { 0 };
	int n = 0;

	for (int i = 0; i < KEYS; i++) {
		const char *tag = i % 100 == 0 ? "active" : "ended";

		snprintf(keys[i % PER_COMMIT], sizeof keys[0], "session:%05d", i);
		c[i % PER_COMMIT] =
		    (struct change){ CHANGE_PUT, keys[i % PER_COMMIT], STORE_ABSENT, tag, "{\"a\":1}" };
		if (i % PER_COMMIT == PER_COMMIT - 1)
			assert_int_equal(store_commit(h->s, c, PER_COMMIT, &h->e), COMMIT_DONE);
	}
	reopen(h);
	assert_int_equal(store_each(h->s, "session:", NULL, count_row, &n, &h->e), 0);
	assert_int_equal(n, KEYS);
	n = 0;
	assert_int_equal(store_each(h->s, "session:", "active", count_tagged, &n, &h->e), 0);
	assert_int_equal(n, KEYS / 100);
	assert_int_equal(store_scan(h->s, "session:", NULL, "session:09989", 1000, &r, &h->e), 0);
	assert_int_equal(r.n, 10);
	store_records_release(&r);
	assert_int_equal(store_scan(h->s, "", NULL, NULL, KEYS + 1, &r, &h->e), 0);
	assert_int_equal(r.n, KEYS);
	store_records_release(&r);
}

/* Reading alone: what is committed is seen, nothing is written. */
static void
test_look(void **state)
{
	struct home *h = home_of(state);
	struct store *s;

	assert_int_equal(put(h->s, "a", STORE_ABSENT, "t", "1", &h->e), COMMIT_DONE);
	s = store_open_readonly(h->house.url, h->house.dir, &h->e);
	assert_non_null(s);
	assert_record(s, "a", "t", "1");
	assert_int_equal(put(s, "a", STORE_ANY, "t", "2", &h->e), COMMIT_ERROR);
	assert_string_equal(h->e.name, "read-only");
	store_close(s);
	assert_record(h->s, "a", "t", "1");
}

static int
no_row(const struct event_row *ev, void *arg)
{
	(void)ev;
	(void)arg;
	return 0;
}

/*
 * A record is written with a tag that its value does not give: the commit makes its checksum and
 * the tallies fit. It is read as corrupt, by its name, whoever reads it; with the right tag it is read.
 */
static void
test_tag_of_value(void **state)
{
	static const struct { const struct record_type *t; const char *key, *wrong, *right, *value;
	} cases[] = {
		{ &activity_type, "activity:a", "ended", "working", "{\"conversation\":\"a\",\"ended_at\":0}" },
		{ &activity_type, "activity:b", "working", "ended", "{\"conversation\":\"b\",\"ended_at\":7}" },
		{ &attempt_type, "attempt:gtr-0123456789abcdef", "acknowledged", "captured",
		    "{\"times\":{\"detected\":1,\"captured\":2}}" },
		{ &runner_type, "runner:r", "gone", "registered", "{\"runner_id\":\"r\"}" },
		{ &lock_type, "lock:l", "perhaps", "held", "{\"holder\":\"x\"}" },
		{ &tree_type, "tree:t", "shut", "open", "{\"agent_uuid\":\"t\"}" },
		{ NULL, "epic:e:state", "completed", "in_progress", "{\"status\":\"in_progress\"}" },
		{ NULL, "event:0000000000000001", "run", "lock", "{\"seq\":1,\"at\":1,\"kind\":\"lock.taken\"}" },
		{ NULL, "counter:event", "event", "counter", "{\"last\":1}" },
	};
	struct home *h = home_of(state);
	struct timestamp now;

	store_timestamp(h->s, &now);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (int right = 0; right < 2; right++) {
			const char *key = cases[i].key;
			struct event_numbers n;
			struct epic_list epics = { .n = 0 };
			void *x = xcalloc(1, cases[i].t != NULL ? cases[i].t->size : 1);
			int ret;

			assert_int_equal(put(h->s, key, STORE_ANY, right ? cases[i].right : cases[i].wrong,
			    cases[i].value, &h->e), COMMIT_DONE);
			err_clear(&h->e);
			if (cases[i].t != NULL)
				ret = record_load_key(h->s, cases[i].t, key, x, &h->e);
			else if (str_starts(key, "epic:"))
				ret = epic_list_read(h->s, NULL, 60000, &now, &epics, &h->e);
			else if (str_starts(key, "event:"))
				ret = event_each(h->s, NULL, no_row, NULL, &h->e);
			else
				ret = event_numbers_read(h->s, &n, &h->e);
			if ((ret >= 0) != (right == 1) || (ret < 0 && strcmp(h->e.name, "corrupt") != 0) ||
			    (ret < 0 && strstr(h->e.msg, key) == NULL))
				fail_msg("%s, %d: %d, %s: %s", key, right, ret, h->e.name, h->e.msg);
			if (cases[i].t != NULL && ret > 0)
				record_free(cases[i].t, x);
			epic_list_release(&epics);
			free(x);
		}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		BOTH(test_put_get),
		BOTH(test_conflict),
		BOTH(test_check_only),
		BOTH(test_scan),
		BOTH(test_large_values),
		BOTH(test_many_keys),
		BOTH(test_look),
		BOTH(test_tag_of_value),
	};

	return cmocka_run_group_tests_name("conformance", tests, NULL, NULL);
}
