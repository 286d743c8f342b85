#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "prompt/prompt_private.h"
#include "prompt/prompt.h"

#define NONCE "fedcba9876543210"
#define ALL ((size_t)-1)

/* Cuts the text and checks that the result is within the room. */
static size_t
put(struct buf *out, const char *text, size_t cost, size_t lines)
{
	const struct budget room = { cost, lines };
	struct elided_text cut;
	size_t left;

	buf_reset(out);
	prompt_elide_layout(&cut, text, strlen(text), NONCE, 2, room);
	left = prompt_elide_put(out, &cut, room);
	if (!budget_holds(room, budget_of(out->data, out->len)))
		fail_msg("%zu in %zu, %zu lines in %zu", fence_cost(out->data, out->len), cost,
		    prompt_count_lines(out->data, out->len), lines);
	assert_true(utf8_valid(out->data, out->len));
	prompt_elide_release(&cut);
	return left;
}

static void
add_lines(struct buf *b, const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_fmt(b, "%s %zu\n", word, i);
}

static void
test_middle(void **state)
{
	struct buf text = BUF_INIT, out = BUF_INIT;

	(void)state;
	add_lines(&text, "line", 1000);
	assert_int_equal(put(&out, text.data, ALL, 1000), 0);
	assert_true(str_starts(out.data, "  line 0\n  line 1\n"));
	assert_int_equal(prompt_count_lines(out.data, out.len), 1000);
	assert_int_equal(put(&out, text.data, ALL, 10), 991);
	assert_true(
	    str_starts(out.data, "  line 0\n  line 1\n  line 2\n  … 991 lines left out …\n  line 994\n"));
	assert_int_equal(prompt_count_lines(out.data, out.len), 10);
	for (size_t cost = ELIDED_LEAST.cost; cost < 400000; cost += 371) {
		size_t left = put(&out, text.data, cost, ALL), shown = prompt_count_lines(out.data, out.len);

		assert_int_equal(shown + left, left == 0 ? 1000 : 1001);
		assert_true(cost < 3000 || str_ends(out.data, "  line 999\n"));
		assert_true(cost < 10000 || fence_cost(out.data, out.len) + 2500 > cost || left == 0);
	}
	assert_int_equal(put(&out, text.data, ALL, 1), 1000);
	assert_string_equal(out.data, "  … 1000 lines left out …\n");
	buf_release(&text);
	buf_release(&out);
}

/* One line that is too long: both of its ends stay, cut between runes. */
static void
test_long_line(void **state)
{
	static const char *const words[] = { "x", "\xe6\xbc\xa2", "@a ", "[record ", "a\xcc\x81" };
	struct buf text = BUF_INIT, out = BUF_INIT;

	(void)state;
	for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
		buf_reset(&text);
		buf_str(&text, "begins here ");
		while (text.len < 100000)
			buf_str(&text, words[k]);
		buf_str(&text, "ends here");
		for (size_t cost = ELIDED_LEAST.cost; cost < 1000000; cost = cost * 9 / 8) {
			put(&out, text.data, cost, ALL);
			assert_null(strstr(out.data, "[record\n"));
			if (cost > 8000) {
				assert_true(str_starts(out.data, "  begins here"));
				assert_true(str_ends(out.data, "ends here\n"));
			}
		}
		put(&out, text.data, 20000, 5);
		assert_non_null(strstr(out.data, " bytes left out …\n  "));
	}
	buf_release(&text);
	buf_release(&out);
}

/* Of a giant only the ends are looked at, but what is said to be missing is all of it. */
static void
test_giant(void **state)
{
	struct buf text = BUF_INIT, out = BUF_INIT;
	size_t left;

	(void)state;
	add_lines(&text, "line", 1000000);
	left = put(&out, text.data, 20000, ALL);
	assert_int_equal(left + prompt_count_lines(out.data, out.len), 1000001);
	assert_true(str_starts(out.data, "  line 0\n"));
	assert_true(str_ends(out.data, "  line 999999\n"));
	/* hidden runes cost nothing: both ends vanish, the note stays */
	buf_reset(&text);
	while (text.len < 1000000)
		buf_str(&text, "\xe2\x80\x8b");
	put(&out, text.data, 20000, ALL);
	assert_non_null(strstr(out.data, " bytes left out …\n"));
	buf_release(&text);
	buf_release(&out);
}

static void
test_tail(void **state)
{
	struct buf text = BUF_INIT;
	size_t from;

	(void)state;
	assert_int_equal(prompt_elide_to_tail("", 0, (struct budget){ 1000, 10 }), 0);
	add_lines(&text, "row @a", 1000);
	for (size_t cost = 0; cost < 100000; cost += 997) {
		from = prompt_elide_to_tail(text.data, text.len, (struct budget){ cost, ALL });
		assert_true(fence_cost(text.data + from, text.len - from) <= cost);
		assert_true(cost < 1000 || (from < text.len && text.data[from - 1] == '\n'));
	}
	from = prompt_elide_to_tail(text.data, text.len, (struct budget){ ALL, 3 });
	assert_string_equal(text.data + from, "row @a 997\nrow @a 998\nrow @a 999\n");
	buf_reset(&text);
	while (text.len < 30000)
		buf_str(&text, "\xe6\xbc\xa2@ab ");
	from = prompt_elide_to_tail(text.data, text.len, (struct budget){ 5000, 10 });
	assert_true(from > 0 && from < text.len && utf8_valid(text.data + from, text.len - from));
	assert_true(fence_cost(text.data + from, text.len - from) <= 5000);
	buf_release(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_middle), cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_giant), cmocka_unit_test(test_tail),
	};

	return cmocka_run_group_tests_name("cut", tests, NULL, NULL);
}
