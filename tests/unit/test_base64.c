#include "test.h"

#include <string.h>

#include "base/encode.h"
#include "base/buf.h"

/* The examples of RFC 4648, section 10. */
static void
test_known(void **state)
{
	static const char *const pairs[][2] = {
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		struct buf text = BUF_INIT, back = BUF_INIT;

		base64_put(&text, pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(text.data, pairs[i][1]);
		assert_int_equal(base64_take(&back, text.data, text.len), 0);
		assert_int_equal(back.len, strlen(pairs[i][0]));
		assert_string_equal(back.data, pairs[i][0]);
		buf_release(&text);
		buf_release(&back);
	}
}

/* Every byte, NUL too, at every length around the groups of three. */
static void
test_bytes(void **state)
{
	unsigned char bytes[259];

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i * 7 + 255);
	for (size_t n = 0; n <= sizeof bytes; n++) {
		struct buf text = BUF_INIT, back = BUF_INIT;

		base64_put(&text, bytes, n);
		assert_int_equal(text.len, (n + 2) / 3 * 4);
		assert_int_equal(base64_take(&back, text.data, text.len), 0);
		assert_int_equal(back.len, n);
		assert_memory_equal(back.data, bytes, n);
		buf_release(&text);
		buf_release(&back);
	}
}

static void
test_refused(void **state)
{
	static const char *const bad[] = { "Z", "Zg", "Zg=", "=", "====", "Zg==Zg==", "Zm9v\n", "Zm 9",
		"Zm-_", "Zh==", "Zm9=", "Z===", "Zm9vY===" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct buf back = BUF_INIT;

		assert_int_equal(base64_take(&back, bad[i], strlen(bad[i])), -1);
		buf_release(&back);
	}
	struct buf back = BUF_INIT;
	assert_int_equal(base64_take(&back, "Zm9\0", 4), -1);
	buf_release(&back);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
