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
		cmocka_unit_test(limits_and_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
