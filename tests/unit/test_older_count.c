#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "conversation/conversation.h"
#include "prompt/prompt.h"
#include "prompt/prompt_private.h"
#include "scrub/scrub.h"
#include "transcript/transcript.h"

#define TURNS 300

/* A conversation of TURNS turns, each a message, a call with its result, and an answer of a kilobyte. */
static void
write_turns(struct buf *b)
{
	char last[40] = "null", filler[1001];

	memset(filler, 'x', sizeof filler - 1);
	filler[sizeof filler - 1] = '\0';
	for (int i = 0; i < TURNS; i++) {
		buf_fmt(b, "{\"type\":\"user\",\"uuid\":\"u%d\",\"parentUuid\":%s,\"message\":{\"role\":\"user\","
			   "\"content\":\"message %03d\"}}\n", i, last, i);
		buf_fmt(b, "{\"type\":\"assistant\",\"uuid\":\"c%d\",\"parentUuid\":\"u%d\",\"message\":{\"id\":\"m%d\","
			   "\"content\":[{\"type\":\"tool_use\",\"id\":\"t%d\",\"name\":\"Bash\",\"input\":"
			   "{\"command\":\"make\"}}]}}\n", i, i, i, i);
		buf_fmt(b, "{\"type\":\"user\",\"uuid\":\"r%d\",\"parentUuid\":\"c%d\",\"message\":{\"role\":\"user\","
			   "\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t%d\",\"content\":\"ok\"}]}}\n",
		    i, i, i);
		buf_fmt(b, "{\"type\":\"assistant\",\"uuid\":\"a%d\",\"parentUuid\":\"r%d\",\"message\":{\"id\":\"n%d\","
			   "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}\n", i, i, i, filler);
		snprintf(last, sizeof last, "\"a%d\"", i);
	}
}

static void
counts_what_is_left_out(void **state)
{
	struct scrub *s = scrub_new(NULL, NULL);
	struct buf file = BUF_INIT, text = BUF_INIT;
	struct conversation c;
	struct render_stats stats;
	char want[120];

	(void)state;
	write_turns(&file);
	assert_int_equal(transcript_read_bytes(file.data, file.len, "claude", s, 20000, &c, NULL), 0);
	assert_true(c.n < 100);
	assert_string_equal(c.v[0].content, "message 000");
	assert_int_equal(c.n + c.older.all, 3 * TURNS);
	assert_int_equal(conversation_count(&c, ROLE_USER), TURNS);
	assert_int_equal(conversation_count(&c, ROLE_ASSISTANT), TURNS);
	assert_int_equal(c.truncated_at, 0);
	/* all in the room: only what is older is missing, behind the first message */
	prompt_render(&text, &c, "0123456789abcdef", BUDGET_ALL, &stats);
	snprintf(want, sizeof want, "User:\n  message 000\n\n(%zu older exchanges left out, %zu of them the user's)\n",
	    c.older.all, c.older.users);
	assert_memory_equal(text.data, want, strlen(want));
	assert_int_equal(stats.kept + stats.cut, 3 * TURNS);
	assert_int_equal(stats.user_cut, c.older.users);
	/* in a small one the first message stays, too */
	buf_reset(&text);
	prompt_render(&text, &c, "0123456789abcdef", (struct budget){ 200000, 60 }, &stats);
	assert_non_null(strstr(text.data, "message 000"));
	assert_int_equal(stats.kept + stats.cut, 3 * TURNS);
	buf_release(&text);
	buf_release(&file);
	conversation_release(&c);
	scrub_free(s);
}

/* The exchanges that were never read are told once, also where a banner of the screen came before all others. */
static void
counts_once_behind_a_banner(void **state)
{
	struct conversation c = CONVERSATION_INIT;
	struct render_stats stats;
	struct buf text = BUF_INIT;
	const char *gap;

	(void)state;
	conversation_add(&c, ROLE_SYSTEM, NULL, NULL, xstrdup("a banner"));
	conversation_add(&c, ROLE_USER, NULL, NULL, xstrdup("message 000"))->source = SOURCE_TRANSCRIPT;
	conversation_add(&c, ROLE_ASSISTANT, NULL, NULL, xstrdup("the last answer"))->source = SOURCE_TRANSCRIPT;
	c.older = (struct older_count){ .all = 679, .users = 339 };
	for (; c.n > 1; exchange_release(&c.v[--c.n])) {
		buf_reset(&text);
		prompt_render(&text, &c, "0123456789abcdef", BUDGET_ALL, &stats);
		gap = strstr(text.data, "(679 older exchanges left out, 339 of them the user's)\n");
		assert_non_null(gap);
		assert_null(strstr(gap + 1, "\n("));
		assert_true(c.n < 2 || strstr(text.data, "message 000") < gap);
		assert_true(c.n < 3 || strstr(text.data, "the last answer") > gap);
		assert_int_equal(stats.cut, 679);
	}
	buf_release(&text);
	conversation_release(&c);
}

/* What the lines in the place of exchanges say, together. */
static void
add_gaps(const char *text, size_t *all, size_t *users)
{
	size_t n, of;

	*all = *users = 0;
	for (const char *p = text; (p = strstr(p, "\n(")) != NULL; p++) {
		if (sscanf(p, "\n(%zu older exchange%*[s] left out, %zu of", &n, &of) != 2)
			of = 0;
		if (sscanf(p, "\n(%zu older", &n) == 1) {
			*all += n;
			*users += of;
		}
	}
}

/* In every room the counts are those of the lines and of the whole conversation. */
static void
counts_are_true(void **state)
{
	struct scrub *s = scrub_new(NULL, NULL);
	struct buf file = BUF_INIT, text = BUF_INIT;
	struct older_count rest = { .all = 0 };
	struct render_stats stats;
	struct conversation c;
	size_t all, users;

	(void)state;
	write_turns(&file);
	assert_int_equal(transcript_read_bytes(file.data, file.len, "claude", s, 20000, &c, NULL), 0);
	for (size_t i = 0; i < c.n; i++)
		exchange_count_older(&rest, &c.v[i]);
	assert_int_equal(rest.lines + c.older.lines, 4 * TURNS);
	assert_int_equal(rest.bytes + c.older.bytes, TURNS * (strlen("message 000") + 4 + 2 + 1000));
	for (size_t cost = RENDER_LEAST; cost < 2000000; cost = cost * 5 / 4) {
		struct budget room = { .cost = cost, .lines = cost / 1000 };

		buf_reset(&text);
		prompt_render(&text, &c, "0123456789abcdef", room, &stats);
		add_gaps(text.data, &all, &users);
		assert_int_equal(stats.cut, all);
		assert_int_equal(stats.user_cut, users);
		assert_int_equal(stats.kept + stats.cut, 3 * TURNS);
		assert_true(stats.lines_cut >= c.older.lines && stats.lines_cut < 4 * TURNS);
		assert_true(stats.tokens_cut >= c.older.bytes / 4);
		assert_non_null(strstr(text.data, "message 000"));
		assert_non_null(strstr(text.data, "message 299"));
	}
	buf_release(&text);
	buf_release(&file);
	conversation_release(&c);
	scrub_free(s);
}

/* Older exchanges give way before anything that follows the summary, the user's words too; not before they must. */
static void
keeps_what_follows_a_summary(void **state)
{
	struct conversation c = CONVERSATION_INIT;
	struct buf text = BUF_INIT;
	struct budget room = { .lines = 10000 };
	struct render_stats stats;
	char words[1200];

	(void)state;
	memset(words, 'w', sizeof words);
	for (int i = 0; i < 60; i++) {
		conversation_add(&c, i % 2 == 0 ? ROLE_USER : ROLE_ASSISTANT, NULL, NULL,
		    i == 30 ? xasprintf(CONVERSATION_SUMMARY "\n\nFIRST HALF %.600s", words)
			    : xasprintf("number %02d %.500s", i, words));
		c.v[i].role = i == 30 ? ROLE_SYSTEM : c.v[i].role;
	}
	prompt_render(&text, &c, "0123456789abcdef", BUDGET_ALL, &stats);
	assert_int_equal(stats.cut, 0);
	room.cost = prompt_token_cost(text.data, text.len) * 3 / 4;
	buf_reset(&text);
	prompt_render(&text, &c, "0123456789abcdef", room, &stats);
	assert_non_null(strstr(text.data, "number 00 "));
	assert_non_null(strstr(text.data, "FIRST HALF"));
	for (int i = 31; i < 60; i++) {
		snprintf(words, sizeof words, "number %02d ", i);
		assert_non_null(strstr(text.data, words));
	}
	assert_non_null(strstr(text.data, "left out"));
	assert_null(strstr(strstr(text.data, "FIRST HALF"), "left out"));
	buf_release(&text);
	conversation_release(&c);
}

static void
limits_and_counts(void **state)
{
	struct conversation c = CONVERSATION_INIT;

	(void)state;
	conversation_add(&c, ROLE_SYSTEM, NULL, NULL, xstrdup("banner"));
	conversation_add(&c, ROLE_USER, NULL, NULL, xstrdup("the task"));
	conversation_add(&c, ROLE_ASSISTANT, NULL, NULL, xstrdup("old words"));
	conversation_add(&c, ROLE_USER, NULL, NULL, xstrdup("more"));
	conversation_add(&c, ROLE_ASSISTANT, NULL, NULL, xstrdup("new"));
	assert_true(conversation_limit(&c, 7));
	assert_int_equal(c.n, 3);
	assert_string_equal(c.v[0].content, "the task");
	assert_string_equal(c.v[1].content, "more");
	assert_int_equal(c.older.all, 2);
	assert_int_equal(c.older.answers, 1);
	assert_int_equal(c.older.users, 0);
	conversation_release(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_what_is_left_out),
		cmocka_unit_test(counts_once_behind_a_banner),
		cmocka_unit_test(counts_are_true),
		cmocka_unit_test(keeps_what_follows_a_summary),
		cmocka_unit_test(limits_and_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
