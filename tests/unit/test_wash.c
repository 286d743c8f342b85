#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "conversation/conversation.h"
#include "transcript/transcript.h"
#include "scrub/scrub.h"

/* A value without its name in an early text, and named in a later one. */
static void
what_is_named_later_goes_everywhere(void **state)
{
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(NULL, &e);
	struct conversation c = CONVERSATION_INIT;
	struct clean_text *t;
	size_t sought;

	(void)state;
	if (s == NULL)
		fail_msg("%s", e.msg);
	conversation_add(&c, ROLE_USER, NULL, NULL, xstrdup("log in with Maple_Oak77!\nand then stop"));
	conversation_add(&c, ROLE_ASSISTANT, xstrdup("Bash"), xstrdup("login nux Maple_Oak77!"), xstrdup(""));
	c.draft = xstrdup("or Maple_Oak77!?");
	t = scrub_string(s, "log in with Maple_Oak77!");
	assert_non_null(strstr(clean_bytes(t), "Maple_Oak77!"));
	clean_free(t);
	sought = scrub_searched(s);
	clean_free(scrub_string(s, "DB_PASSWORD=Maple_Oak77!"));
	assert_int_equal(scrub_searched(s), sought + 1);
	transcript_rescrub(&c, s);
	assert_string_equal(c.v[0].content, "log in with [REDACTED:password]\nand then stop");
	assert_string_equal(c.v[1].tool, "Bash");
	assert_string_equal(c.v[1].input, "login nux [REDACTED:password]");
	assert_string_equal(c.v[1].content, "");
	assert_string_equal(c.draft, "or [REDACTED:password]?");
	assert_null(c.tasks);
	conversation_release(&c);
	scrub_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_named_later_goes_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
