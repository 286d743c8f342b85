#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "scrub/scrub_private.h"

static void
only_what_is_seen_stays(void **state)
{
	static const struct {
		const char *in, *want;
		size_t removed;
	} texts[] = {
		{ "", "", 0 },
		{ "plain text, long enough for eight at a time\n\n",
		    "plain text, long enough for eight at a time\n\n", 0 },
		{ "a\tb\r\nc\rd", "a\tb\r\nc\rd", 0 },
		/* escape sequences but colours */
		{ "a\033[31mb\033[0mc", "a\033[31mb\033[0mc", 0 },
		{ "a\033]0;title\007b\033[2Jc\033(Bd\033]8;;file:///x\033\\e", "abcde", 4 },
		/* C0, DEL, C1 */
		{ "a\x01\x02 b\x08 c\x7f d\xc2\x9b"
		  "31m",
		    "a b c d31m", 5 },
		/* tags, overrides, zero width, byte order mark, line separator, soft hyphen */
		{ "a\xf3\xa0\x81\x81\xf3\xa0\x81\x82"
		  "b",
		    "ab", 2 },
		{ "\xef\xbb\xbf"
		  "to\xe2\x80\x8bken\xe2\x80\xae gnirts\xe2\x80\xac\xe2\x80\xa8 pass\xc2\xadword",
		    "token gnirts password", 6 },
		/* what belongs to a character: a family, a heart; not in the air and not in numbers */
		{ "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 \xe2\x9d\xa4\xef\xb8\x8f",
		    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 \xe2\x9d\xa4\xef\xb8\x8f", 0 },
		{ " \xef\xb8\x8f"
		  "x",
		    " x", 1 },
		{ "x\xef\xb8\x80\xef\xb8\x81\xef\xb8\x82\xef\xb8\x83y", "x\xef\xb8\x80\xef\xb8\x81y", 2 },
		{ "x\xef\xb8\x80\xe2\x80\x8b\xef\xb8\x81\xe2\x80\x8b\xef\xb8\x82y",
		    "x\xef\xb8\x80\xef\xb8\x81y", 3 },
		/* no UTF-8 */
		{ "a\xff\xc3(\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct buf b = BUF_INIT;

		buf_str(&b, texts[i].in);
		assert_int_equal(scrub_sanitize(&b), texts[i].removed);
		assert_string_equal(b.data, texts[i].want);
		assert_true(utf8_valid(b.data, b.len));
		assert_int_equal(scrub_sanitize(&b), 0);
		assert_string_equal(b.data, texts[i].want);
		buf_release(&b);
	}
}

/* Each byte at each place of a run that is read eight at a time. */
static void
every_byte_is_looked_at(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		for (size_t at = 0; at < 20; at++) {
			char text[21];
			struct buf out = BUF_INIT;
			bool stays = (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t' || c == '\r';
			size_t removed;

			memset(text, 'x', sizeof text);
			text[at] = (char)c;
			buf_add(&out, text, sizeof text);
			removed = scrub_sanitize(&out);
			assert_int_equal(removed, c < 0x80 && !stays);
			assert_int_equal(out.len,
			    c >= 0x80       ? sizeof text + 2
				: c == 0x1b ? sizeof text - 2
				: stays     ? sizeof text
					    : sizeof text - 1);
			buf_release(&out);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_seen_stays),
		cmocka_unit_test(every_byte_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
