#include "test.h"

#include <string.h>

#include "cmd/choose.h"

static void
reads_answers(void **state)
{
	static const struct { const char *answer; int ret; const char *chosen; } cases[] = {
		{ "1\n", 0, "x--" }, { "3", 0, "--x" }, { "1-3\n", 0, "xxx" }, { "1,3\n", 0, "x-x" }, { " 2  3 \n", 0, "-xx" },
		{ "1, 2-3", 0, "xxx" }, { "all\n", 0, "xxx" }, { "ALL\n", 0, "xxx" }, { "none\n", 0, "---" }, { "q\n", 0, "---" },
		{ "", -1, NULL }, { "\n", -1, NULL }, { "0\n", -1, NULL }, { "4\n", -1, NULL }, { "1-4\n", -1, NULL }, { "3-1\n", -1, NULL },
		{ "1-\n", -1, NULL }, { "-1\n", -1, NULL }, { "x\n", -1, NULL }, { "1x\n", -1, NULL }, { "1;rm\n", -1, NULL },
		{ "99999999999999999999\n", -1, NULL }, { "+1\n", -1, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bool chosen[3];
		int ret = choose_answer(cases[i].answer, 3, chosen);

		if (ret != cases[i].ret)
			fail_msg("\"%s\": %d", cases[i].answer, ret);
		for (int k = 0; ret == 0 && k < 3; k++)
			if (chosen[k] != (cases[i].chosen[k] == 'x'))
				fail_msg("\"%s\": %d", cases[i].answer, k + 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reads_answers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
