#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "context/exchange.h"
#include "prompt/fence.h"
#include "prompt/talk.h"

#define NONCE "fedcba9876543210"

static struct exchange *
say(struct conversation *c, enum role role, const char *words)
{
	return conversation_add(c, role, NULL, NULL, xstrdup(words));
}

static struct exchange *
call(struct conversation *c, const char *tool, const char *in, const char *result)
{
	return conversation_add(c, ROLE_ASSISTANT, xstrdup(tool), xstrdup(in), xstrdup(result));
}

static void
assert_has(const struct buf *b, const char *words)
{
	if (strstr(b->data, words) == NULL)
		fail_msg("missing: %s\nin:\n%s", words, b->data);
}

static char *
lines_of(const char *word, size_t n)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s %zu\n", word, i);
	return buf_detach(&b);
}

static void
add_turns(struct conversation *c, size_t n, size_t result_lines)
{
	for (size_t i = 0; i < n; i++) {
		char *words = xasprintf("user words %zu.", i), *answer = xasprintf("answer words %zu.", i);
		char *result = lines_of("result", result_lines);

		say(c, ROLE_USER, words);
		call(c, "Bash", "make", result);
		say(c, ROLE_ASSISTANT, answer);
		free(words);
		free(answer);
		free(result);
	}
}

static void
test_lines(void **state)
{
	struct conversation talk = CONVERSATION_INIT;
	struct talk_stats stats;
	struct buf out = BUF_INIT;

	(void)state;
	add_turns(&talk, 200, 10);
	for (size_t lines = 10; lines < 6000; lines = lines * 3 / 2) {
		buf_reset(&out);
		talk_text(&out, &talk, NONCE, (struct talk_room){ 1 << 20, lines }, &stats);
		assert_true(talk_lines(out.data, out.len) <= (lines < 32 ? 32 : lines));
		assert_has(&out, "answer words 199.");
		assert_has(&out, "user words 199.");
		assert_int_equal(stats.kept + stats.cut, 600);
	}
	conversation_release(&talk);
	buf_release(&out);
}

/* Whatever the sizes: within the room, the newest there, and most of the room used when there is enough to say. */
static void
test_any_room(void **state)
{
	static const char *const big[] = { "x", "@ @a ", "\n", "\xf0\x9f\xa6\x8a", " \\@b", "\r" };

	(void)state;
	for (size_t k = 0; k < sizeof big / sizeof big[0]; k++) {
		struct conversation talk = CONVERSATION_INIT;
		struct buf text = BUF_INIT, out = BUF_INIT;
		struct talk_stats stats;

		while (text.len < 50000)
			buf_str(&text, big[k]);
		say(&talk, ROLE_USER, text.data);
		call(&talk, "Write", text.data, text.data);
		say(&talk, ROLE_ASSISTANT, text.data);
		say(&talk, ROLE_USER, text.data);
		call(&talk, "Bash", text.data, text.data)->status = STATUS_RUNNING;
		talk.draft = xstrdup(text.data);
		for (size_t room = TALK_LEAST; room < 400000; room = room * 5 / 3) {
			size_t lines = room % 2 == 0 ? 1 << 20 : 40;

			buf_reset(&out);
			talk_text(&out, &talk, NONCE, (struct talk_room){ room, lines }, &stats);
			assert_true(talk_lines(out.data, out.len) <= lines);
			if (out.len + fence_at_count(out.data, out.len) > room)
				fail_msg("%zu bytes in a room of %zu, text %zu", out.len + fence_at_count(out.data, out.len), room, k);
			assert_has(&out, "Tool Bash (still running when the session died):");
			assert_true(utf8_valid(out.data, out.len));
		}
		conversation_release(&talk);
		buf_release(&text);
		buf_release(&out);
	}
}

static void
test_cut_middle(void **state)
{
	struct buf out = BUF_INIT;
	char *text = lines_of("line", 1000);
	size_t n = strlen(text);

	(void)state;
	assert_int_equal(talk_cut_middle(&out, text, n, n, 1000), 0);
	assert_string_equal(out.data, text);
	buf_reset(&out);
	assert_int_equal(talk_cut_middle(&out, text, n, n, 10), 991);
	assert_true(str_starts(out.data, "line 0\nline 1\nline 2\n… 991 lines left out …\nline 994\n"));
	assert_int_equal(talk_lines(out.data, out.len), 10);
	for (size_t max = 64; max < n; max += 37) {
		buf_reset(&out);
		talk_cut_middle(&out, text, n, max, 2000);
		assert_true(out.len <= max);
		assert_true(str_ends(out.data, "999\n"));
	}
	buf_reset(&out);
	memset(text, 'x', n);
	assert_int_equal(talk_cut_middle(&out, text, n, 200, 10), 1);
	assert_non_null(strstr(out.data, " bytes left out …\nxx"));
	assert_true(out.len <= 200);
	free(text);
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines), cmocka_unit_test(test_any_room), cmocka_unit_test(test_cut_middle),
	};

	return cmocka_run_group_tests_name("talk", tests, NULL, NULL);
}
