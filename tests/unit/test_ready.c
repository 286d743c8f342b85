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

static void
tells_a_paste_from_a_persons_words(void **state)
{
	static const char prompt[] = "You were working.\n\n\tOne of many lines that are long enough to be wrapped\nContinue.\n";
	static const struct { const char *name, *screen; bool want; } cases[] = {
		{ "a placeholder", BOX("[Pasted text #1 +22 lines]") "  paste again to expand\n", true },
		{ "two of them", BOX("[Pasted text #1 +22 lines][Pasted text #2 +3 lines]"), true },
		{ "the text", BOX("You were working.\n\n      One of many lines that are long\n  enough to be wrapped\n  Continue."), true },
		{ "its last rows", BOX("enough to be wrapped\n  Continue."), true },
		{ "nothing", BOX(""), false },
		{ "a hint", BOX("Try \"edit <filepath> to...\""), false },
		{ "a person's words", BOX("rm -rf /"), false },
		{ "a person's words before it", BOX("please [Pasted text #1 +22 lines]"), false },
		{ "a person's words behind it", BOX("[Pasted text #1 +22 lines] and stop"), false },
		{ "the text with a letter behind it", BOX("enough to be wrapped\n  Continue.x"), false },
		{ "a dialog", BOX("[Pasted text #1 +22 lines]") " ❯ 1. Yes\n   2. No\n", false },
	};
	struct profiles *profiles = profiles_new(NULL, NULL);
	const struct profile *claude = profiles_find(profiles, "claude");

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (ready_holds(claude, cases[i].screen, strlen(cases[i].screen), prompt) != cases[i].want)
			fail_msg("%s: not %d", cases[i].name, cases[i].want);
	profiles_free(profiles);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_a_screen_waits_for),
		cmocka_unit_test(tells_a_paste_from_a_persons_words),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
