#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

static void
knows_a_whole_value(void **state)
{
	static const struct { const char *text; bool whole;
	} cases[] = {
		{ "{}", true },
		{ " [1, {\"a\": \"}\"}] \n", true },
		{ "\"a\\\\\"", true }, { "null", true }, { "-1.5e+3", true }, { "", false },
		{ "{", false },
		{ "{\"a\":\"b", false },
		{ "\"a\\\"", false }, { "[1] 2", false }, { "[[]", false }, { "?", false },
	};
	struct json_slice v;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (json_slice_whole(cases[i].text, strlen(cases[i].text), &v) != cases[i].whole)
			fail_msg("%s", cases[i].text);
}

static void
walks_members_and_elements(void **state)
{
	static const char text[] = "{ \"a\" : [1, \"x,]\" ,{}] ,\"b\":{\"c\":\"d\"},\"a\":true}";
	struct json_slice all, v, k;
	struct json_walk w;
	size_t n = 0;

	(void)state;
	assert_true(json_slice_whole(text, strlen(text), &all));
	w = json_slice_walk(all);
	while (json_walk_next(&w, &k, &v))
		n++;
	assert_int_equal(n, 3);
	assert_true(json_key_is(k, "a"));
	assert_true(json_slice_is(v, "true"));
	w = json_slice_walk(json_slice_get(all, "a"));
	for (n = 0; json_walk_next(&w, NULL, &v); n++)
		if (n == 1)
			assert_true(json_slice_is(v, "x,]"));
	assert_int_equal(n, 3);
	assert_true(json_slice_is(json_slice_get(json_slice_get(all, "b"), "c"), "d"));
	assert_int_equal(json_slice_get(all, "z").n, 0);
	assert_int_equal(json_slice_get(json_slice_get(all, "a"), "z").n, 0);
	w = json_slice_walk(json_slice_get(all, "z"));
	assert_false(json_walk_next(&w, NULL, &v));
}

static void
reads_numbers(void **state)
{
	static const struct { const char *text; int64_t want;
	} cases[] = {
		{ "0", 0 }, { "-12", -12 }, { "9007199254740993", 9007199254740993 }, { "1.9", 1 },
		{ "2e3", 2000 }, { "1e300", -7 }, { "null", -7 }, { "\"3\"", -7 }, { "[3]", -7 },
		{ "true", -7 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(
		    json_slice_number((struct json_slice){ cases[i].text, strlen(cases[i].text) }, -7),
		    cases[i].want);
	assert_int_equal(json_slice_number((struct json_slice){ NULL, 0 }, -7), -7);
}

static void
decodes_strings(void **state)
{
	static const struct { const char *text, *want;
	} cases[] = {
		{ "\"\"", "" }, { "\"a\\n\\t\\\"\\\\\\/b\"", "a\n\t\"\\/b" },
		{ "\"\\u00e9\\u65e5\\ud83d\\ude80\"", "é日🚀" },
		{ "\"a\\ud83db\\ude80\"",
		    "a\xEF\xBF\xBD"
		    "b\xEF\xBF\xBD" },
		{ "\"\\u0000\"", "\xEF\xBF\xBD" },
		{ "\"\\u12\"",
		    "\xEF\xBF\xBD"
		    "12" },
		{ "\"\\ud83d\\u0041\"",
		    "\xEF\xBF\xBD"
		    "A" },
		{ "12", "12" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct buf out = BUF_INIT;

		json_slice_text(&out, (struct json_slice){ cases[i].text, strlen(cases[i].text) });
		assert_string_equal(out.data, cases[i].want);
		buf_release(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_a_whole_value),
		cmocka_unit_test(walks_members_and_elements),
		cmocka_unit_test(reads_numbers),
		cmocka_unit_test(decodes_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
