#include "test.h"

#include <locale.h>
#include <string.h>

#include "agent/profile.h"
#include "agent/ready.h"

#define RULE "────────────────────────────────────────────────\n"
#define BOX(text) RULE "❯\xc2\xa0" text "\n" RULE
#define FOOTER "  ⏵⏵ bypass permissions on (shift+tab to cycle) · ← for agents\n"

static void
tells_what_a_screen_waits_for(void **state)
{
	static const struct { const char *name, *screen; enum ready want; } cases[] = {
		{ "nothing", "", READY_UNKNOWN },
		{ "a shell", "dev$ \n", READY_UNKNOWN },
		{ "an empty box", "● Hello.\n\n" BOX("") FOOTER "\n\n\n", READY_IDLE },
		{ "a hint", BOX("Try \"edit <filepath> to...\"") FOOTER, READY_IDLE },
		{ "a draft", BOX("not sent yet") FOOTER, READY_DRAFT },
		{ "a draft of two rows", BOX("first row\n  second row") FOOTER, READY_DRAFT },
		{ "a paste", BOX("[Pasted text #1 +22 lines]") "  paste again to expand\n", READY_DRAFT },
		{ "busy", "✶ Ideating… (9s · ↓ 42 tokens)\n\n" BOX("") "  ⏵⏵ x · esc to interrupt · y\n", READY_BUSY },
		{ "permission", " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel\n", READY_DIALOG },
		{ "trust", " ❯ 1. Yes, I trust this folder\n   2. No, exit\n\n Enter to confirm · Esc to cancel\n", READY_DIALOG },
		{ "an old prompt that looks like a box", "❯ hello\n" RULE, READY_UNKNOWN },
		{ "a dialog far above", " ❯ 1. Yes\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n" BOX("") FOOTER, READY_IDLE },
	};
	struct profiles *profiles = profiles_new(NULL, NULL);
	const struct profile *claude = profiles_find(profiles, "claude");

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		enum ready got = ready_screen(claude, cases[i].screen, strlen(cases[i].screen));

		if (got != cases[i].want)
			fail_msg("%s: %d, not %d", cases[i].name, got, cases[i].want);
	}
	profiles_free(profiles);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(tells_what_a_screen_waits_for) };

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
