#include "test.h"

#include <locale.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "golden.h"

#define RULE "────────────────────────────────────────────────\n"
#define BOX(text) RULE "❯\xc2\xa0" text "\n" RULE
#define FOOTER "  ⏵⏵ bypass permissions on (shift+tab to cycle) · ← for agents\n"

static void
tells_what_a_screen_waits_for(void **state)
{
	static const struct { const char *name, *screen; enum readiness want;
	} cases[] = {
		{ "nothing", "", READY_UNKNOWN },
		{ "a shell", "dev$ \n", READY_UNKNOWN },
		{ "an empty box", "● Hello.\n\n" BOX("") FOOTER "\n\n\n", READY_IDLE },
		{ "the first box of 2.0.76", RULE ">\n" RULE "  ? for shortcuts\n", READY_IDLE },
		{ "a hint", BOX("Try \"edit <filepath> to...\"") FOOTER, READY_IDLE },
		{ "a draft", BOX("not sent yet") FOOTER, READY_DRAFT },
		{ "a draft of two rows", BOX("first row\n  second row") FOOTER, READY_DRAFT },
		{ "a paste", BOX("[Pasted text #1 +22 lines]") "  paste again to expand\n", READY_DRAFT },
		{ "busy", "✶ Ideating… (9s · ↓ 42 tokens)\n\n" BOX("") "  ⏵⏵ x · esc to interrupt · y\n",
		    READY_BUSY },
		{ "permission", " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel\n",
		    READY_DIALOG },
		{ "trust",
		    " ❯ 1. Yes, I trust this folder\n   2. No, exit\n\n Enter to confirm · Esc to cancel\n",
		    READY_DIALOG },
		{ "an old prompt that looks like a box", "❯ hello\n" RULE, READY_UNKNOWN },
		{ "a dialog far above",
		    " ❯ 1. Yes\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n" BOX("") FOOTER,
		    READY_IDLE },
	};
	struct profile_list *profiles = profile_list_new(NULL, NULL);
	const struct profile *claude = profile_find(profiles, "claude");

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		enum readiness got = agent_readiness(claude, cases[i].screen, strlen(cases[i].screen), NULL);

		if (got != cases[i].want)
			fail_msg("%s: %d, not %d", cases[i].name, got, cases[i].want);
	}
	profile_list_free(profiles);
}

/*
 * Dialogs that cannot be had without an account or the network, by the programs' own words; the
 * others are in tests/golden/ready.
 */
static void
names_dialogs(void **state)
{
	static const struct { const char *screen, *want;
	} cases[] = {
		{ "  Try the new fullscreen renderer?\n\n  ❯ 1. Yes, try it\n    2. Not now\n\n  Enter to "
		  "confirm · Esc to cancel\n",
		    "the offer of a fullscreen renderer" },
		{ " Let's get started.\n\n Choose the text style that looks best with your terminal\n\n ❯ 2. "
		  "Dark mode ✔\n",
		    "the choice of a theme" },
		{ " Security notes:\n\n 1. Claude can make mistakes\n\n Press Enter to continue…\n",
		    "its notes about security" },
		{ RULE " What do you want to do?\n\n ❯ 1. Stop and wait for limit to reset\n   2. Upgrade "
		       "your plan\n\n Enter to confirm\n",
		    "the menu of a usage limit" },
		{ "  Updates to Consumer Terms and Policies\n\n  ❯ 1. Accept\n", "the new terms of use" },
		{ " Browser didn't open?\n\n Paste code here if prompted >\n", "a login dialog" },
		{ RULE " Something new\n\n ❯ 1. One\n   2. Two\n", "a dialog" },
		{ RULE " Something new\n\n   One\n ❯ Two\n\n Enter to confirm · Esc to cancel\n",
		    "a dialog" },
		/* words of the conversation, which stand further right */
		{ "● I ask:\n\n     Do you want to proceed?\n     ❯ 1. Yes\n\n" BOX("") FOOTER, NULL },
		{ "● Done. Esc to cancel.\n\n" BOX("") FOOTER, NULL },
		{ "✶ Ideating… (9s)\n\n" BOX("") "  esc to interrupt\n", NULL },
	};
	struct profile_list *profiles = profile_list_new(NULL, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *got = "";

		agent_readiness(
		    profile_find(profiles, "claude"), cases[i].screen, strlen(cases[i].screen), &got);
		if (got != cases[i].want &&
		    (got == NULL || cases[i].want == NULL || strcmp(got, cases[i].want) != 0))
			fail_msg("%s\n: %s", cases[i].screen, got != NULL ? got : "none");
	}
	profile_list_free(profiles);
}

static size_t
compare_recorded(const struct profile *claude, const char *dir, const char *name, const char *want)
{
	static const char *const words[] = { "unknown", "idle", "draft", "busy", "dialog" };
	struct buf screen = BUF_INIT;
	const char *dialog = NULL;
	char *got;
	size_t bad;

	if (golden_read(dir, name, &screen) != 0)
		fail_msg("%s is not there", name);
	got = xstrdup(words[agent_readiness(claude, screen.data, screen.len, &dialog)]);
	if (dialog != NULL) {
		free(got);
		got = xasprintf("dialog: %s", dialog);
	}
	bad = strcmp(got, want) != 0;
	if (bad)
		print_error("%s: %s, not %s\n", name, got, want);
	free(got);
	buf_release(&screen);
	return bad;
}

/*
 * tests/golden/ready: the lowest rows of screens of five versions of Claude Code, drawn by the
 * real programs; `expected` says what each is, a line "FILE<tab>idle" or "FILE<tab>dialog: NAME".
 */
static void
tells_recorded_screens(void **state)
{
	struct profile_list *profiles = profile_list_new(NULL, NULL);
	char *dir = tests_path("golden/ready"), *rest = NULL;
	struct buf all = BUF_INIT;
	size_t n = 0, bad = 0;

	(void)state;
	assert_int_equal(golden_read(dir, "expected", &all), 0);
	for (char *line = strtok_r(all.data, "\n", &rest); line != NULL;
	    line = strtok_r(NULL, "\n", &rest), n++) {
		char *tab = strchr(line, '\t');

		assert_non_null(tab);
		*tab = '\0';
		bad += compare_recorded(profile_find(profiles, "claude"), dir, line, tab + 1);
	}
	assert_int_equal(bad, 0);
	assert_true(n > 100);
	buf_release(&all);
	free(dir);
	profile_list_free(profiles);
}

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

static struct profile_list *others;
static size_t compared, wrong;

/*
 * NAME/STATE of tests/golden/agents, where the row knows a box: what the real program showed just
 * before it was killed.
 */
static void
compare_state(const char *dir)
{
	static const char *const states[][2] = { { "idle", "idle" }, { "draft", "draft" }, { "tool", "busy" },
		{ "stream", "busy" } };
	/* while its answer streams, the sign of 0.169.0 is in the title only */
	static const char *const unseen[] = { "codex/stream", "codex/inline-stream",
		/* its box is the same all the time */
		"cline/tool", "cline/stream" };
	const char *state = strrchr(dir, '/') + 1,
		   *kind = strrchr(state, '-') != NULL ? strrchr(state, '-') + 1 : state;
	char *agent = xstrdup(dir), *name;
	const struct profile *p;
	bool quiet = false;

	*strrchr(agent, '/') = '\0';
	name = strrchr(agent, '/') + 1;
	p = profile_find(others, name);
	for (size_t i = 0; p != NULL && p->ready != NULL && i < sizeof states / sizeof states[0]; i++) {
		if (strcmp(kind, states[i][0]) != 0)
			continue;
		for (size_t k = 0; k < sizeof unseen / sizeof unseen[0]; k++)
			quiet |= ends_with(dir, unseen[k]);
		compared++;
		if (compare_recorded(p, dir, "live.txt", quiet ? "idle" : states[i][1]) > 0) {
			print_error("in %s/%s\n", name, state);
			wrong++;
		}
	}
	free(agent);
}

static void
compare_agent(const char *dir)
{
	const char *name = strrchr(dir, '/') + 1;
	char *rest = xasprintf("golden/agents/%s", name);

	if (strchr(name, '.') == NULL)
		golden_each(rest, compare_state);
	free(rest);
}

static void
tells_other_agents(void **state)
{
	(void)state;
	others = profile_list_new(NULL, NULL);
	golden_each("golden/agents", compare_agent);
	profile_list_free(others);
	assert_int_equal(wrong, 0);
	assert_true(compared >= 18);
}

/* Boxes and busy signs of versions that tests/golden/agents has no recordings of. */
static void
tells_older_boxes(void **state)
{
#define MODE RULE " YOLO Ctrl+Y\n"
#define HALF(glyph)                                                                                          \
	glyph glyph glyph glyph glyph glyph glyph glyph glyph glyph glyph glyph glyph glyph glyph glyph      \
	    glyph glyph glyph glyph "\n"
#define ABOVE HALF("\u2580")
#define BELOW HALF("\u2584")
	static const struct { const char *name, *screen; enum readiness want;
	} cases[] = {
		{ "codex",
		    "\u2022 Done.\n\n\n\u203a Explain this codebase\n\n  ? for shortcuts                   "
		    "1.04K used\n\n\n",
		    READY_DRAFT },
		{ "codex", "\u203a rm it\n\n                                    100% context left\n",
		    READY_DRAFT },
		{ "codex", "\u203a rm it\n\n\n\u2022 Done.\n", READY_UNKNOWN },
		{ "codex",
		    "\u2022 Working (3s \u2022 esc to interrupt)\n\n\u203a Ask\n\n  ? for shortcuts     99% "
		    "context left\n",
		    READY_BUSY },
		{ "gemini", MODE ABOVE " *   Type your message or @path/to/file\n" BELOW " workspace\n",
		    READY_IDLE },
		{ "gemini", MODE ABOVE " *   my words\n" BELOW " workspace\n", READY_DRAFT },
		{ "gemini", MODE ABOVE " * [Pasted Text: 11 lines]\n\n" BELOW " workspace\n", READY_DRAFT },
		{ "pi",
		    " Done.\n\n\u2500\u2500 \u280f Working " RULE "\n" RULE "/w\n0.0%/200k (auto)   "
									    "mock-model\n",
		    READY_BUSY },
		{ "gemini", ABOVE " > my words of the past\n" BELOW "\n\u2726 Done.\n", READY_UNKNOWN },
	};
	struct profile_list *profiles = profile_list_new(NULL, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		enum readiness got = agent_readiness(
		    profile_find(profiles, cases[i].name), cases[i].screen, strlen(cases[i].screen), NULL);

		if (got != cases[i].want)
			fail_msg("%zu: %d, not %d", i, got, cases[i].want);
	}
	profile_list_free(profiles);
}

static void
tells_a_paste_from_a_persons_words(void **state)
{
	static const char prompt[] = "You were working.\n\n\tOne of many lines that are long enough to be "
				     "wrapped\nContinue.\n";
	static const char line[] = "You were working on one thing, and that is all there is to tell.";
	static const struct { const char *name, *screen; bool want;
	} cases[] = {
		{ "a placeholder", BOX("[Pasted text #1 +4 lines]") "  paste again to expand\n", true },
		{ "without the last line end", BOX("[Pasted text #1 +3 lines]"), true },
		{ "two of them", BOX("[Pasted text #1 +3 lines][Pasted text #2 +1 lines]"), true },
		{ "another paste", BOX("[Pasted text #1 +22 lines]"), false },
		{ "ours and another", BOX("[Pasted text #1 +4 lines][Pasted text #2 +3 lines]"), false },
		{ "a part of it, as yet", BOX("[Pasted text #1 +2 lines]"), false },
		{ "the text",
		    BOX("You were working.\n\n      One of many lines that are long\n  enough to be "
			"wrapped\n  Continue."),
		    true },
		{ "its last rows", BOX("enough to be wrapped\n  Continue."), true },
		{ "nothing", BOX(""), false },
		{ "a hint", BOX("Try \"edit <filepath> to...\""), false },
		{ "a person's words", BOX("rm -rf /"), false },
		{ "a person's words before it", BOX("please [Pasted text #1 +4 lines]"), false },
		{ "a person's words behind it", BOX("[Pasted text #1 +4 lines] and stop"), false },
		{ "the text with a letter behind it", BOX("enough to be wrapped\n  Continue.x"), false },
		{ "a dialog", BOX("[Pasted text #1 +4 lines]") " ❯ 1. Yes\n   2. No\n", false },
	};
	struct profile_list *profiles = profile_list_new(NULL, NULL);
	const struct profile *claude = profile_find(profiles, "claude");

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (agent_box_holds(claude, cases[i].screen, strlen(cases[i].screen), prompt) !=
		    cases[i].want)
			fail_msg("%s: not %d", cases[i].name, cases[i].want);
	/* one long line has no count */
	assert_true(agent_box_holds(claude, BOX("[Pasted text #1]"), strlen(BOX("[Pasted text #1]")), line));
	profile_list_free(profiles);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_a_screen_waits_for),
		cmocka_unit_test(names_dialogs),
		cmocka_unit_test(tells_recorded_screens),
		cmocka_unit_test(tells_other_agents),
		cmocka_unit_test(tells_older_boxes),
		cmocka_unit_test(tells_a_paste_from_a_persons_words),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
