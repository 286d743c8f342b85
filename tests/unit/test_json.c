#include <string.h>

#include "test.h"
#include "base/buf.h"
#include "base/json.h"

/* The same bytes as the library's, so that nobody can tell which of the two printed a string. */
static void
prints_text_as_a_value(void **state)
{
	static const char *const texts[] = {
		"", "plain", "a \"quoted\" word", "back\\slash / solidus", "\n", "a\nb\tc\rd\be\ff",
		"\001\002\033\037 \177", "tö \342\227\217 \360\237\246\200",
		"\342\200\256bidi \302\205", "ends with \\", "\"",
	};

	(void)state;
	for (size_t i = 0; i <= sizeof texts / sizeof texts[0]; i++) {
		static const char nul[] = "a\0b";
		bool last = i == sizeof texts / sizeof texts[0];
		const char *text = last ? nul : texts[i];
		size_t n = last ? sizeof nul - 1 : strlen(text);
		struct buf got = BUF_INIT, want = BUF_INIT;
		json_t *v = json_bytes(text, n);

		json_print_text(&got, text, n);
		json_print(&want, v, false);
		assert_string_equal(got.data, want.data);
		json_decref(v);
		buf_release(&got);
		buf_release(&want);
	}
}

static void
prints_members(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	json_print_member(&b, "a", "say \"hi\"");
	json_print_member(&b, "b", NULL);
	json_print_member(&b, "c", "\xff" "x");
	assert_string_equal(b.data, ",\"a\":\"say \\\"hi\\\"\",\"b\":null,\"c\":\"\xEF\xBF\xBDx\"");
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_text_as_a_value),
		cmocka_unit_test(prints_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
