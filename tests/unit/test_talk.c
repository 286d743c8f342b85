#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "conversation/conversation.h"
#include "prompt/prompt.h"
#include "prompt/prompt_private.h"

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
assert_not(const struct buf *b, const char *words)
{
	if (strstr(b->data, words) != NULL)
		fail_msg("unwanted: %s\nin:\n%s", words, b->data);
}

/* Builds the text and checks that it is within its room. */
static void
talk_within(
    struct buf *out, const struct conversation *c, size_t tokens, size_t lines, struct render_stats *stats)
{
	buf_reset(out);
	prompt_render(out, c, NONCE, (struct budget){ tokens * TOKEN_COST, lines }, stats);
	if (fence_cost(out->data, out->len) > tokens * TOKEN_COST)
		fail_msg("%zu hundredths in a room of %zu tokens", fence_cost(out->data, out->len), tokens);
	if (prompt_count_lines(out->data, out->len) > (lines < 32 ? 32 : lines))
		fail_msg("%zu lines in a room of %zu:\n%s", prompt_count_lines(out->data, out->len), lines,
		    out->data);
	assert_true(utf8_valid(out->data, out->len));
	assert_int_equal(stats->kept + stats->cut, c->n);
}

static void
test_lines(void **state)
{
	struct conversation talk = CONVERSATION_INIT;
	struct render_stats stats;
	struct buf out = BUF_INIT;

	(void)state;
	add_turns(&talk, 200, 10);
	for (size_t lines = 10; lines < 6000; lines = lines * 3 / 2) {
		talk_within(&out, &talk, 1 << 20, lines, &stats);
		assert_has(&out, "answer words 199.");
		assert_has(&out, "user words 199.");
		assert_true(
		    lines < 200 || prompt_count_lines(out.data, out.len) > lines * 3 / 4 || stats.cut == 0);
	}
	conversation_release(&talk);
	buf_release(&out);
}

/* Whatever the sizes and the text: within the room, and the newest there. */
static void
test_any_room(void **state)
{
	static const char *const big[] = {
		"x", "@ @a ", "\n", "\xf0\x9f\xa6\x8a", " \\@b", "\r", "\xe6\xbc\xa2\xe5\xad\x97", "7",
		"the words of a person\n", "    ", "a-B1\t", "[record x", NONCE,
		"gtr-0123456789abcdef ", "\xe2\x80\x8b", "\x1b[0m",
	};

	(void)state;
	for (size_t k = 0; k < sizeof big / sizeof big[0]; k++) {
		struct conversation talk = CONVERSATION_INIT;
		struct buf text = BUF_INIT, out = BUF_INIT;
		struct render_stats stats;

		while (text.len < 30000)
			buf_str(&text, big[k]);
		say(&talk, ROLE_USER, text.data);
		call(&talk, "Write", text.data, text.data);
		say(&talk, ROLE_ASSISTANT, text.data);
		say(&talk, ROLE_USER, text.data);
		call(&talk, text.data, text.data, text.data)->source = SOURCE_EARLIER;
		call(&talk, "Bash", text.data, text.data)->status = STATUS_RUNNING;
		talk.draft = xstrdup(text.data);
		talk.question = xstrdup(text.data);
		talk.tasks = xstrdup(text.data);
		for (size_t room = RENDER_LEAST / TOKEN_COST; room < 400000; room = room * 5 / 3) {
			talk_within(&out, &talk, room, room % 2 == 0 ? 1 << 20 : 40, &stats);
			assert_has(&out, "Tool Bash [screen] (still running when the session died):");
		}
		conversation_release(&talk);
		buf_release(&text);
		buf_release(&out);
	}
}

/* Results lose their middle first, the old ones more than the new ones, and nothing else. */
static void
test_results_first(void **state)
{
	struct conversation talk = CONVERSATION_INIT;
	struct render_stats stats;
	struct buf out = BUF_INIT;
	size_t before = 0;

	(void)state;
	add_turns(&talk, 20, 1000);
	talk_within(&out, &talk, 20000, 10000, &stats);
	assert_int_equal(stats.kept, 60);
	assert_int_equal(stats.words_short + stats.user_short + stats.user_cut, 0);
	assert_true(stats.calls_short >= 19);
	for (const char *p = out.data; (p = strstr(p, "Result:\n")) != NULL; p++) {
		const char *end = strstr(p, "\n\n");
		size_t lines = prompt_count_lines(p, (size_t)(end - p));

		assert_true(lines >= before);
		before = lines;
	}
	assert_true(fence_cost(out.data, out.len) > 18000 * TOKEN_COST);
	conversation_release(&talk);
	buf_release(&out);
}

/* The user's words stay when everything else must go; then the oldest go first, but for the first of all. */
static void
test_user_last(void **state)
{
	struct conversation talk = CONVERSATION_INIT;
	struct render_stats stats;
	struct buf out = BUF_INIT;

	(void)state;
	add_turns(&talk, 300, 50);
	talk_within(&out, &talk, 8000, 10000, &stats);
	assert_int_equal(stats.user_cut, 0);
	assert_true(stats.cut > 300);
	assert_has(&out, "user words 0.");
	assert_not(&out, "answer words 0.");
	assert_has(&out, "(2 older exchanges left out)\n\n");
	talk_within(&out, &talk, 2500, 10000, &stats);
	assert_true(stats.user_cut > 0 && stats.user_cut < 300);
	assert_has(&out, "user words 0.");
	assert_not(&out, "user words 1.");
	assert_has(&out, "user words 298.");
	assert_has(&out, " of them the user's)\n\n");
	assert_has(&out, "answer words 299.");
	conversation_release(&talk);
	buf_release(&out);
}

/* A small last turn stays whole beside a big past; of a big one the giants shrink, not the words. */
static void
test_last_turn(void **state)
{
	struct conversation talk = CONVERSATION_INIT;
	struct render_stats stats;
	struct buf out = BUF_INIT;
	char *past = lines_of("past", 3000), *now = lines_of("now", 300), *giant = lines_of("giant", 30000);

	(void)state;
	say(&talk, ROLE_USER, "first words");
	for (int i = 0; i < 30; i++)
		call(&talk, "Bash", "make", past);
	say(&talk, ROLE_USER, "last words");
	for (int i = 0; i < 5; i++)
		call(&talk, "Bash", "make now", now);
	say(&talk, ROLE_ASSISTANT, "half a sen")->status = STATUS_RUNNING;
	talk_within(&out, &talk, 15000, 100000, &stats);
	assert_has(&out, "first words");
	assert_true(stats.calls_short > 0 && stats.lines_cut > 60000);
	for (const char *p = strstr(out.data, "last words"); p != NULL && *p != '\0'; p++)
		assert_false(str_starts(p, "left out"));
	call(&talk, "Bash", "cat giant", giant);
	say(&talk, ROLE_ASSISTANT, "words after it");
	talk_within(&out, &talk, 15000, 100000, &stats);
	assert_has(&out, "Tool Bash: cat giant\nResult:\n  giant 0\n");
	assert_has(&out, "  giant 29999\n");
	assert_has(&out, "Assistant (cut off when the session died):\n  half a sen\n");
	assert_int_equal(stats.words_short, 0);
	conversation_release(&talk);
	free(past);
	free(now);
	free(giant);
	buf_release(&out);
}

/* A giant message of the user loses its middle only when nothing else is left to go. */
static void
test_giant_user(void **state)
{
	struct conversation talk = CONVERSATION_INIT;
	struct render_stats stats;
	struct buf out = BUF_INIT;
	char *words = lines_of("giant words", 20000);

	(void)state;
	say(&talk, ROLE_USER, "small words");
	say(&talk, ROLE_ASSISTANT, "an old answer");
	say(&talk, ROLE_USER, words);
	say(&talk, ROLE_ASSISTANT, "the last answer");
	talk_within(&out, &talk, 200000, 100000, &stats);
	assert_int_equal(stats.user_short, 0);
	assert_has(&out, "an old answer");
	talk_within(&out, &talk, 10000, 100000, &stats);
	assert_int_equal(stats.user_short, 1);
	assert_has(&out, "  giant words 0\n");
	assert_has(&out, "  giant words 19999\n");
	assert_has(&out, "the last answer");
	assert_has(&out, " lines left out …\n");
	assert_true(fence_cost(out.data, out.len) > 8000 * TOKEN_COST);
	conversation_release(&talk);
	free(words);
	buf_release(&out);
}

/* 100,000 exchanges, and one of 20 MB: linear, and the numbers that are said are right. */
static void
test_many(void **state)
{
	struct conversation talk = CONVERSATION_INIT;
	struct render_stats stats;
	struct buf out = BUF_INIT, giant = BUF_INIT;

	(void)state;
	add_turns(&talk, 33000, 2);
	talk_within(&out, &talk, 100000, 10000, &stats);
	assert_true(stats.cut > 50000 && stats.kept > 1000);
	assert_has(&out, "user words 32999.");
	while (giant.len < 20000000)
		buf_str(&giant, "a line of twenty-six bytes\n");
	call(&talk, "Bash", "cat", giant.data);
	talk_within(&out, &talk, 2000, 10000, &stats);
	assert_has(&out, "Tool Bash: cat\nResult:\n  a line of twenty-six bytes\n");
	assert_true(stats.lines_cut > giant.len / 27);
	conversation_release(&talk);
	buf_release(&out);
	buf_release(&giant);
}

/* Text that nobody could take apart keeps its newest lines. */
static void
test_raw(void **state)
{
	struct conversation talk = CONVERSATION_INIT;
	struct render_stats stats;
	struct buf out = BUF_INIT;
	char *rows = lines_of("row", 5000);

	(void)state;
	say(&talk, ROLE_SYSTEM, rows);
	talk.draft = xstrdup("unsent");
	talk_within(&out, &talk, 100000, 10000, &stats);
	assert_has(&out, "conversation):\nrow 0\n");
	assert_has(&out, "never sent:\n  unsent\n");
	talk_within(&out, &talk, 1000, 10000, &stats);
	assert_has(&out, "conversation):\n… ");
	assert_has(&out, "\nrow 4999\n\nTyped by");
	conversation_release(&talk);
	free(rows);
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines), cmocka_unit_test(test_any_room),
		cmocka_unit_test(test_results_first), cmocka_unit_test(test_user_last),
		cmocka_unit_test(test_last_turn), cmocka_unit_test(test_giant_user),
		cmocka_unit_test(test_many), cmocka_unit_test(test_raw),
	};

	return cmocka_run_group_tests_name("talk", tests, NULL, NULL);
}
