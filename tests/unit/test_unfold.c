#include "test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "conversation/conversation.h"
#include "prompt/prompt.h"

#define ID "gtr-0123456789abcdef"

static struct exchange *
say(struct conversation *c, enum role role, enum status status, enum source source, const char *tool,
    const char *input, const char *content)
{
	struct exchange *x = conversation_add(c, role, tool != NULL ? xstrdup(tool) : NULL,
	    input != NULL ? xstrdup(input) : NULL, xstrdup(content));

	x->status = status;
	x->source = source;
	return x;
}

static void
build(struct conversation *c, size_t tokens, const char *template, struct buf *out)
{
	struct err e = ERR_INIT;
	struct template *t = template_new(template, strlen(template), "test", &e);
	struct prompt_in in = { .recovery_id = ID,
		.nonce = "fedcba9876543210",
		.conversation = c,
		.max_lines = 10000,
		.max_tokens = tokens };

	assert_non_null(t);
	assert_int_equal(prompt_build(t, &in, out, NULL, &e), 0);
	template_free(t);
}

static void
check_same(struct conversation *want, struct conversation *got)
{
	json_t *a = conversation_json(want), *b = conversation_json(got);
	struct buf x = BUF_INIT, y = BUF_INIT;

	json_print(&x, a, true);
	json_print(&y, b, true);
	assert_string_equal(y.data, x.data);
	buf_release(&x);
	buf_release(&y);
	json_decref(a);
	json_decref(b);
}

static void
test_there_and_back(void **state)
{
	struct conversation c = CONVERSATION_INIT, got;
	struct buf prompt = BUF_INIT;

	(void)state;
	say(&c, ROLE_USER, STATUS_COMPLETE, SOURCE_TRANSCRIPT, NULL, NULL,
	    "Read @src/a.c, mail me@home.example, \\@b\n\n  and: this\nUser:\nTool Bash: ls");
	say(&c, ROLE_ASSISTANT, STATUS_COMPLETE, SOURCE_TRANSCRIPT, NULL, NULL, "I look.");
	say(&c, ROLE_ASSISTANT, STATUS_FAILED, SOURCE_TRANSCRIPT, "Bash", "make: all (twice)",
	    "one\n\n two\n@@ -1 +1 @@\n");
	say(&c, ROLE_ASSISTANT, STATUS_COMPLETE, SOURCE_SCREEN, "docs - search (MCP)", "a\nb", "");
	say(&c, ROLE_SYSTEM, STATUS_INTERRUPTED, SOURCE_EARLIER, NULL, NULL, "Interrupted");
	say(&c, ROLE_ASSISTANT, STATUS_RUNNING, SOURCE_SCREEN, "Write", "notes.md", "");
	say(&c, ROLE_ASSISTANT, STATUS_WAITING, SOURCE_SCREEN, "Bash", "rm x", "");
	say(&c, ROLE_ASSISTANT, STATUS_RUNNING, SOURCE_SNAPSHOT, NULL, NULL, "and th");
	c.draft = xstrdup("do not\n\nsend");
	c.question = xstrdup("Which?\n1. this");
	c.tasks = xstrdup("✔ one\n◻ two");
	build(&c, 120000, "{{.RecoveryID}}\n{{.Warnings}}\n{{.Exchanges}}\nend", &prompt);
	assert_true(prompt_parse(prompt.data, prompt.len, &got));
	/* a newline at the end of a result is not kept */
	c.v[2].content[strlen(c.v[2].content) - 1] = '\0';
	check_same(&c, &got);
	conversation_release(&got);
	buf_release(&prompt);
	conversation_release(&c);
}

static void
test_no_record(void **state)
{
	struct conversation got;
	static const char plain[] = "Please go on, " ID "\n[record of what?]\n[record fedcba9876543210 "
							"begins: handoff bead. x]\nid: 1\n";

	(void)state;
	assert_false(prompt_parse(plain, strlen(plain), &got));
	assert_false(prompt_parse("", 0, &got));
	assert_int_equal(got.n, 0);
}

static void
test_left_out_is_said(void **state)
{
	struct conversation c = CONVERSATION_INIT, got;
	struct buf prompt = BUF_INIT;
	bool said = false;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		say(&c, ROLE_USER, STATUS_COMPLETE, SOURCE_TRANSCRIPT, NULL, NULL,
		    "Please look at one more of the many parts of this program.");
		say(&c, ROLE_ASSISTANT, STATUS_COMPLETE, SOURCE_TRANSCRIPT, NULL, NULL,
		    "I looked at it, and all of it is as it should be.");
	}
	build(&c, 8000, "{{.RecoveryID}}{{.Warnings}}\n{{.Exchanges}}", &prompt);
	assert_true(prompt_parse(prompt.data, prompt.len, &got));
	assert_int_equal(got.truncated_at, 0);
	for (size_t i = 0; i < got.n; i++)
		said = said || (got.v[i].role == ROLE_SYSTEM && strstr(got.v[i].content, "left out") != NULL);
	assert_true(said);
	assert_string_equal(conversation_last_user(&got), conversation_last_user(&c));
	conversation_release(&got);
	buf_release(&prompt);
	conversation_release(&c);
}

/* What an agent was told may itself hold a record of an older one, and ids: they stay broken up. */
static void
test_never_nests(void **state)
{
	struct conversation c = CONVERSATION_INIT, got;
	struct buf first = BUF_INIT, second = BUF_INIT;

	(void)state;
	say(&c, ROLE_USER, STATUS_COMPLETE, SOURCE_SCREEN, NULL, NULL, "first words");
	build(&c, 120000, "{{.RecoveryID}}{{.Warnings}}\n{{.Exchanges}}", &first);
	conversation_release(&c);
	c = (struct conversation)CONVERSATION_INIT;
	say(&c, ROLE_USER, STATUS_COMPLETE, SOURCE_SCREEN, NULL, NULL, first.data);
	build(&c, 120000, "{{.RecoveryID}}{{.Warnings}}\n{{.Exchanges}}", &second);
	assert_true(prompt_parse(second.data, second.len, &got));
	assert_int_equal(got.n, 1);
	assert_null(prompt_find_id(got.v[0].content, strlen(got.v[0].content)));
	assert_null(strstr(got.v[0].content, "[record "));
	conversation_release(&got);
	conversation_release(&c);
	buf_release(&first);
	buf_release(&second);
}

static void
test_torn(void **state)
{
	struct conversation c = CONVERSATION_INIT, got;
	struct buf prompt = BUF_INIT;

	(void)state;
	say(&c, ROLE_USER, STATUS_COMPLETE, SOURCE_SCREEN, NULL, NULL, "one");
	say(&c, ROLE_ASSISTANT, STATUS_RUNNING, SOURCE_SCREEN, "Bash", "make", "a\nb");
	build(&c, 120000, "{{.RecoveryID}}{{.Warnings}}\n{{.Exchanges}}", &prompt);
	for (size_t n = 0; n <= prompt.len; n++)
		if (prompt_parse(prompt.data, n, &got)) {
			assert_true(got.n <= 3);
			conversation_release(&got);
		}
	buf_release(&prompt);
	conversation_release(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_no_record),
		cmocka_unit_test(test_left_out_is_said),
		cmocka_unit_test(test_never_nests),
		cmocka_unit_test(test_torn),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests_name("unfold", tests, NULL, NULL);
}
