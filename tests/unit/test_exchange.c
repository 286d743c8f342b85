#include "test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "conversation/conversation.h"

static struct exchange *
say(struct conversation *c, enum role role, const char *tool, const char *input, const char *content)
{
	return conversation_add(c, role, tool != NULL ? xstrdup(tool) : NULL,
	    input != NULL ? xstrdup(input) : NULL, content != NULL ? xstrdup(content) : NULL);
}

static void
test_last_user(void **state)
{
	struct conversation c = CONVERSATION_INIT;

	(void)state;
	assert_null(conversation_last_user(&c));
	say(&c, ROLE_USER, NULL, NULL, "/clear");
	assert_string_equal(conversation_last_user(&c), "/clear");
	say(&c, ROLE_USER, NULL, NULL, "build it");
	say(&c, ROLE_ASSISTANT, NULL, NULL, "yes");
	say(&c, ROLE_USER, NULL, NULL, "/compact");
	say(&c, ROLE_USER, NULL, NULL, "! ls");
	assert_string_equal(conversation_last_user(&c), "build it");
	say(&c, ROLE_USER, NULL, NULL, "and test it")->status = STATUS_WAITING;
	assert_string_equal(conversation_last_user(&c), "and test it");
	assert_int_equal(conversation_count(&c, ROLE_USER), 5);
	conversation_release(&c);
	assert_int_equal(c.n, 0);
	assert_int_equal(c.truncated_at, -1);
}

static void
check_action(struct conversation *c, const char *want)
{
	char *got = conversation_last_action(c);

	if (want == NULL)
		assert_null(got);
	else
		assert_string_equal(got, want);
	free(got);
}

static void
test_last_action(void **state)
{
	struct conversation c = CONVERSATION_INIT;

	(void)state;
	check_action(&c, NULL);
	say(&c, ROLE_USER, NULL, NULL, "hello");
	check_action(&c, NULL);
	say(&c, ROLE_ASSISTANT, NULL, NULL, "first\n\n  last line  \n");
	check_action(&c, "last line");
	say(&c, ROLE_ASSISTANT, "Bash", "make all", "cc -c a.c")->status = STATUS_RUNNING;
	say(&c, ROLE_SYSTEM, NULL, NULL, "a notice");
	check_action(&c, "Bash(make all) running");
	say(&c, ROLE_ASSISTANT, "Read", NULL, "Read 2 files\nmore");
	check_action(&c, "Read: Read 2 files, complete");
	say(&c, ROLE_ASSISTANT, "AskUserQuestion", NULL, NULL)->status = STATUS_WAITING;
	check_action(&c, "AskUserQuestion waiting");
	assert_int_equal(conversation_count(&c, ROLE_ASSISTANT), 1);
	conversation_release(&c);
}

static void
test_json_both_ways(void **state)
{
	struct conversation c = CONVERSATION_INIT, d;
	struct err e = ERR_INIT;
	struct exchange *x;
	json_t *v, *w;

	(void)state;
	for (int role = ROLE_USER; role <= ROLE_SYSTEM; role++)
		for (int status = STATUS_COMPLETE; status <= STATUS_FAILED; status++) {
			x = say(&c, (enum role)role, status % 2 == 0 ? "Bash" : NULL,
			    status % 2 == 0 ? "x" : NULL, "c");
			x->status = (enum status)status;
			x->source = (enum source)(status % 4);
		}
	c.draft = xstrdup("draft");
	c.question = xstrdup("proceed?");
	c.banner = xstrdup("2.1.197");
	c.lines = 12;
	c.unknown_lines = 3;
	c.truncated_at = 0;
	c.limit = true;
	v = conversation_json(&c);
	assert_int_equal(conversation_from_json(&d, v, &e), 0);
	w = conversation_json(&d);
	assert_true(json_equal(v, w));
	assert_int_equal(d.truncated_at, 0);
	assert_true(d.limit);
	assert_false(d.farewell);
	json_decref(w);
	conversation_release(&d);
	json_object_set_new(
	    json_array_get(json_object_get(v, "exchanges"), 4), "status", json_string("asleep"));
	assert_int_equal(conversation_from_json(&d, v, &e), -1);
	assert_string_equal(e.name, "json");
	assert_non_null(strstr(e.msg, "asleep"));
	assert_int_equal(d.n, 0);
	json_decref(v);
	v = json_object();
	assert_int_equal(conversation_from_json(&d, v, &e), -1);
	json_decref(v);
	conversation_release(&c);
}

static void
test_text_is_made_valid(void **state)
{
	struct conversation c = CONVERSATION_INIT;
	struct buf b = BUF_INIT;
	char *s;

	(void)state;
	buf_add(&b, "a\0b\xFF", 4);
	s = conversation_text(&b);
	assert_string_equal(s, "a\xEF\xBF\xBD" "b\xEF\xBF\xBD");
	free(s);
	assert_string_equal(say(&c, ROLE_USER, NULL, NULL, "x\xC3")->content, "x\xEF\xBF\xBD");
	assert_string_equal(say(&c, ROLE_USER, NULL, NULL, NULL)->content, "");
	conversation_release(&c);
}

static void
test_limit(void **state)
{
	struct conversation c = CONVERSATION_INIT;

	(void)state;
	assert_false(conversation_limit(&c, 0));
	conversation_add(&c, ROLE_USER, NULL, NULL, xstrdup("four"));
	conversation_add(&c, ROLE_ASSISTANT, xstrdup("Bash"), xstrdup("ls"), xstrdup("six 66"));
	conversation_add(&c, ROLE_ASSISTANT, NULL, NULL, xstrdup("three"));
	assert_false(conversation_limit(&c, 17));
	assert_false(conversation_limit(&c, 16));
	assert_int_equal(c.n, 3);
	/* the first message of the user stays */
	assert_true(conversation_limit(&c, 1));
	assert_int_equal(c.n, 2);
	assert_string_equal(c.v[0].content, "four");
	assert_string_equal(c.v[1].content, "three");
	conversation_release(&c);
}

static void
test_letters(void **state)
{
	static const char text[] = "\tÄB [Image #1] ─x ⠋ µ\xff\n```sh\nλ1";
	static const struct { enum letter_set set; const char *letters; bool gaps;
	} cases[] = {
		{ LETTERS_OF_SCRIPTS, "Äbxµλ1", true },
		{ LETTERS_VISIBLE, "ÄBImage1─x⠋µshλ1", false },
		{ LETTERS_NOT_DRAWN, "ÄBImage1xshλ1", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct letter_walk w = { .p = text, .end = text + sizeof text - 1, .set = cases[i].set };
		struct buf b = BUF_INIT;
		const char *letter;
		size_t n;

		while (exchange_next_letter(&w, &letter, &n))
			buf_add(&b, letter, n);
		assert_string_equal(b.data, cases[i].letters);
		assert_int_equal(w.gaps, cases[i].gaps);
		buf_release(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_user),
		cmocka_unit_test(test_last_action),
		cmocka_unit_test(test_json_both_ways),
		cmocka_unit_test(test_text_is_made_valid),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
