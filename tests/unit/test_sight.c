#include "test.h"

#include <locale.h>
#include <string.h>

#include "agent/agent.h"

#define RULE "\033[2m\033[38;5;244m────────────────────────────────────────\033[0m\033[39m\n"
#define BOX(text) RULE "❯\xc2\xa0" text "\n" RULE
#define FOOTER "  \033[38;5;211m⏵⏵ bypass permissions on\033[39m\n"
#define CODEX(text) "\n\033[1m›\033[0m " text "\n\n  " DIM("? for shortcuts") "       " DIM("1.04K used") "\n"
#define DIM(text) "\033[2m" text "\033[0m"

/* The box is the screen's second row. */
static void
tells_grey_words_from_a_persons(void **state)
{
	static const struct { const char *name, *screen; int x, y; enum readiness want;
	} cases[] = {
		{ "empty", BOX("") FOOTER, 2, 1, READY_IDLE },
		{ "empty, with a cursor drawn", BOX("\033[7m \033[0m") FOOTER, 2, 1, READY_IDLE },
		{ "empty, of two rows", BOX("\n  \033[7m \033[0m") FOOTER, 0, 6, READY_IDLE },
		{ "a hint", BOX(DIM("Try \"edit <filepath> to...\"")) FOOTER, 2, 1, READY_IDLE },
		{ "a guess at what comes next", BOX(DIM("run the tests again")) FOOTER, 2, 1, READY_IDLE },
		{ "the same, the cursor parked below", BOX(DIM("run the tests again")) FOOTER, 0, 4,
		    READY_IDLE },
		{ "the same with the cursor drawn on it",
		    BOX("\033[7mr\033[0m" DIM("un the tests again")) FOOTER, 2, 1, READY_IDLE },
		{ "a person's words", BOX("run the tests again") FOOTER, 21, 1, READY_DRAFT },
		{ "the same, the cursor in front", BOX("run the tests again") FOOTER, 2, 1, READY_DRAFT },
		{ "a person's words that read like a hint", BOX("Try \"npm test\" again") FOOTER, 21, 1,
		    READY_DRAFT },
		{ "a person's words and a grey end", BOX("run " DIM("the tests again")) FOOTER, 6, 1,
		    READY_DRAFT },
		{ "a command and what it takes", BOX("/model " DIM("[name]")) FOOTER, 0, 4, READY_DRAFT },
		{ "two rows", BOX("first\n  " DIM("second")) FOOTER, 0, 5, READY_DRAFT },
		{ "no colours, a hint",
		    "────────────────────────\n❯\xc2\xa0Try \"edit\"\n────────────────────────\n", 2, 1,
		    READY_IDLE },
		{ "no colours, words",
		    "────────────────────────\n❯\xc2\xa0run it\n────────────────────────\n", 2, 1,
		    READY_DRAFT },
		{ "busy", BOX(DIM("Press up to edit queued messages")) "  esc to interrupt\n", 2, 1,
		    READY_BUSY },
		{ "codex 0.98, a hint", CODEX(DIM("Implement {feature}")), 2, 1, READY_IDLE },
		{ "codex 0.98, a hint, the cursor elsewhere", CODEX(DIM("Implement {feature}")), 0, 4,
		    READY_DRAFT },
		{ "codex 0.98, a person's words", CODEX("Implement it"), 2, 1, READY_DRAFT },
		{ "codex 0.98, a person's words and a grey end", CODEX("Imp" DIM("lement it")), 5, 1,
		    READY_DRAFT },
	};
	struct profile_list *profiles = profile_list_new(NULL, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct live_cursor at = { cases[i].x, cases[i].y, 0 };
		struct live_screen s = { .says = READY_UNKNOWN };

		buf_init(&s.text);
		buf_str(&s.text, cases[i].screen);
		for (const char *p = cases[i].screen; (p = strchr(p, '\n')) != NULL; p++)
			at.height++;
		at.height++;
		agent_screen_parse(&s,
		    profile_find(profiles, strncmp(cases[i].name, "codex", 5) == 0 ? "codex" : "claude"),
		    &at);
		if (s.says != cases[i].want)
			fail_msg("%s: %d, not %d", cases[i].name, s.says, cases[i].want);
		assert_null(strchr(s.text.data, '\033'));
		agent_screen_release(&s);
	}
	profile_list_free(profiles);
}

/* Of an agent that died in the same pane the last screen may be in the history. */
static void
looks_at_the_screen_alone(void **state)
{
	static const char old[] = BOX(DIM("Press up to edit queued messages")) "  esc to interrupt\n",
			  screen[] = BOX("") FOOTER;
	struct profile_list *profiles = profile_list_new(NULL, NULL);
	struct live_cursor at = { 2, 1, 5 };
	struct live_screen s = { .says = READY_UNKNOWN };

	(void)state;
	buf_init(&s.text);
	buf_str(&s.text, old);
	buf_str(&s.text, screen);
	agent_screen_parse(&s, profile_find(profiles, "claude"), &at);
	assert_int_equal(s.says, READY_IDLE);
	assert_null(strstr(s.text.data + s.screen, "queued"));
	agent_screen_release(&s);
	profile_list_free(profiles);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(tells_grey_words_from_a_persons),
		cmocka_unit_test(looks_at_the_screen_alone) };

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
