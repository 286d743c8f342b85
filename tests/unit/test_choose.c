#include "test.h"

#include <string.h>

#include "base/err.h"
#include "cli/cli_private.h"
#include "detect/detect.h"

static void
reads_answers(void **state)
{
	static const struct { const char *answer; int ret; const char *chosen;
	} cases[] = {
		{ "1\n", 0, "x--" }, { "3", 0, "--x" }, { "1-3\n", 0, "xxx" }, { "1,3\n", 0, "x-x" },
		{ " 2  3 \n", 0, "-xx" }, { "1, 2-3", 0, "xxx" }, { "all\n", 0, "xxx" },
		{ "ALL\n", 0, "xxx" }, { "none\n", 0, "---" }, { "q\n", 0, "---" }, { "", -1, NULL },
		{ "\n", -1, NULL }, { "0\n", -1, NULL }, { "4\n", -1, NULL }, { "1-4\n", -1, NULL },
		{ "3-1\n", -1, NULL }, { "1-\n", -1, NULL }, { "-1\n", -1, NULL }, { "x\n", -1, NULL },
		{ "1x\n", -1, NULL }, { "1;rm\n", -1, NULL }, { "99999999999999999999\n", -1, NULL },
		{ "+1\n", -1, NULL }, { "toast\n", 0, "x--" }, { "nux, 3\n", 0, "-xx" },
		{ "%7\n", 0, "-x-" }, { "nux:2.1\n", 0, "-x-" }, { "nux:2.2\n", -1, NULL },
		{ "toast nobody\n", -1, NULL }, { "4-ever\n", 0, "--x" }, { "toas\n", -1, NULL },
	};
	char names[3][8] = { "toast", "nux", "4-ever" }, ids[3][4] = { "%5", "%7", "%9" };
	struct candidate v[3] = { { .low_confidence = false } };
	const struct candidate *offered[3] = { &v[0], &v[1], &v[2] };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		v[i].pane = (struct pane){ .session = names[i], .id = ids[i], .window_index = 2, .index = 1 };
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bool chosen[3];
		int ret = cli_pick_parse(cases[i].answer, offered, 3, chosen);

		if (ret != cases[i].ret)
			fail_msg("\"%s\": %d", cases[i].answer, ret);
		for (int k = 0; ret == 0 && k < 3; k++)
			if (chosen[k] != (cases[i].chosen[k] == 'x'))
				fail_msg("\"%s\": %d", cases[i].answer, k + 1);
	}
}

/*
 * Panes of one session, by the first letters of their classes: which one its name means, -1 when
 * that is not clear.
 */
static void
takes_the_crashed_one_of_a_session(void **state)
{
	static const struct { const char *classes; int want;
	} cases[] = {
		{ "d", 0 }, { "l", 0 }, { "u", 0 }, { "ld", 1 }, { "dl", 0 }, { "ul", 1 }, { "lu", 0 },
		{ "uud", 2 }, { "llz", 2 }, { "duul", 0 }, { "dd", -1 }, { "dz", -1 }, { "udud", -1 },
		{ "ll", -1 }, { "uu", -1 }, { "ull", -1 },
	};
	static const enum agent_status classes[] = {
		['d'] = AGENT_DEAD, ['z'] = AGENT_ZOMBIE, ['l'] = AGENT_LIVE, ['u'] = AGENT_UNKNOWN
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct candidate v[8] = { { .low_confidence = false } }, *found;
		struct candidate_list all = { .v = v, .n = strlen(cases[i].classes) };
		char session[] = "toast", socket[] = "main", id[] = "%1";
		struct err e = ERR_INIT;

		for (size_t k = 0; k < all.n; k++) {
			v[k].pane = (struct pane){ .session = session, .socket = socket, .id = id };
			v[k].status = classes[(unsigned char)cases[i].classes[k]];
		}
		found = cli_pick_named(&all, "toast", &e);
		if (found != (cases[i].want < 0 ? NULL : &v[cases[i].want]))
			fail_msg("%s: %s", cases[i].classes, e.msg);
		if (found == NULL)
			assert_string_equal(e.name, "ambiguous");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reads_answers),
		cmocka_unit_test(takes_the_crashed_one_of_a_session) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
