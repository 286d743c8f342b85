#include <string.h>

#include "test.h"
#include "base/buf.h"
#include "base/json.h"

/* The same bytes as the library's, so that nobody can tell which of the two printed a string. */
static void
prints_text_as_a_value(void **state)
{
	static const char *const texts[] = {
		"", "plain", "a \"quoted\" word", "back\\slash / solidus", "\n", "a\nb\tc\rd\be\ff", "\001\002\033\037 \177", "tö \342\227\217 \360\237\246\200",
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
same_judgement(const char *text, size_t n)
{
	json_t *v = json_parse(text, n, "a test", NULL);

	if (json_sound(text, n) != (v != NULL))
		fail_msg("%.*s: jansson %s it", (int)n, text, v != NULL ? "takes" : "refuses");
	json_decref(v);
}

/* Whatever one byte is changed to, left out or put in. */
static void
judges_as_the_parser_does(void **state)
{
	static const char *const texts[] = {
		"{\"a\":\"b\",\"n\":-12,\"z\":0,\"t\":true,\"f\":false,\"x\":null,\"s\":\"q\\\"\\n\\\\ é€🚀\",\"e\":\"\"}",
		"{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "{}", "{\"o\":{\"a\":[1,2.5e3]}}", "[1,2]", "\"s\"", "12345678901234567890",
		"{\"n\":123456789012345678901234567890}", "{\"s\":\"\\ud83d\\ude80\"}", "{\"s\":\"\\12}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		size_t n = strlen(texts[i]);
		char other[512];

		same_judgement(texts[i], n);
		for (size_t at = 0; at < n; at++) {
			memcpy(other, texts[i], n);
			for (int c = 0; c < 256; c++) {
				other[at] = (char)c;
				same_judgement(other, n);
			}
			memmove(other + at, texts[i] + at + 1, n - at - 1);
			same_judgement(other, n - 1);
			memcpy(other, texts[i], at);
			memcpy(other + at + 1, texts[i] + at, n - at);
			for (int c = 0; c < 256; c++) {
				other[at] = (char)c;
				same_judgement(other, n + 1);
			}
			same_judgement(texts[i], at);
		}
	}
}

/* More members than are compared with each other. */
static void
judges_large_objects(void **state)
{
	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		struct buf b = BUF_INIT;

		buf_str(&b, "{\"k0\":0");
		for (int i = 1; i < 300; i++)
			buf_fmt(&b, ",\"k%d\":%d", i, i);
		buf_str(&b, twice ? ",\"k7\":0}" : "}");
		assert_int_equal(json_sound(b.data, b.len), !twice);
		buf_release(&b);
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
		cmocka_unit_test(judges_as_the_parser_does),
		cmocka_unit_test(judges_large_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
