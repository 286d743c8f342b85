#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "conversation/conversation.h"

#define BANNER "Claude Code v2.1.197\nOpus\n/work"
#define BEACON                                                                                               \
	"[GAS TOWN] polecat toast (rig: gastown) <- witness \xE2\x80\xA2 2026-01-02T15:04 \xE2\x80\xA2 "

/*
 * One letter an exchange: u user, a assistant, t tool, s system, e an earlier recovery's user, r
 * a transcript's.
 */
struct case_ {
	const char *name, *bead;
	size_t want;
	const char *roles;
	const char *texts[8];
};

static void
fill(struct conversation *c, const struct case_ *t)
{
	for (size_t i = 0; t->roles[i] != '\0'; i++) {
		char r = t->roles[i];
		enum role role = r == 'u' || r == 'e' || r == 'r' ? ROLE_USER
		    : r == 's'                                    ? ROLE_SYSTEM
								  : ROLE_ASSISTANT;
		struct exchange *x =
		    conversation_add(c, role, r == 't' ? xstrdup("Bash") : NULL, NULL, xstrdup(t->texts[i]));

		if (r == 'e' || r == 'r')
			x->source = r == 'e' ? SOURCE_EARLIER : SOURCE_TRANSCRIPT;
	}
}

static void
finds_the_beginning(void **state)
{
	static const struct case_ cases[] = {
		{ "empty", "gt-abc", 0, "", { NULL } },
		{ "nothing tells", "gt-abc", 0, "ua", { "hello", "hi" } },
		{ "no bead", NULL, 0, "ua", { "do gt-abc", "hi" } },
		{ "named later", "gt-abc", 2, "uaua", { "hello", "hi", "now gt-abc please", "yes" } },
		{ "in capitals, at the end", "gt-abc", 1, "uu", { "hello", "take GT-ABC." } },
		{ "a part of a word", "gt-ab", 0, "uuu",
		    { "x", "do gt-abc", "do agt-ab, gt-ab-2 and gt-ab_1" } },
		{ "a child is other work", "gt-ab", 0, "uu", { "x", "do gt-ab.1" } },
		{ "a child's own id", "gt-ab.1", 1, "uu", { "do gt-ab", "do gt-ab.1: now" } },
		{ "in a branch's name", "gt-ab", 1, "uu", { "x", "on polecat/toast/gt-ab@k3" } },
		{ "the agent's and tools' words do not count", "gt-ab", 3, "uatu",
		    { "x", "gt-ab?", "gt-ab", "gt-ab!" } },
		{ "the second of two stands behind a wrong one", "gt-ab", 1, "uu",
		    { "x", "gt-abc is not gt-ab" } },
		{ "a reminder does not begin it anew", "gt-ab", 1, "uuau",
		    { "x", "gt-ab is assigned to you", "ok", "you have gt-ab hooked" } },
		{ "cleared", NULL, 2, "uuu", { "one", "/clear", "two" } },
		{ "cleared by its other name, with words", NULL, 1, "uu", { "/new start", "two" } },
		{ "no command", NULL, 0, "uuu", { "/clearly", "/news", "/reset-all" } },
		{ "cleared behind the naming", "gt-ab", 2, "uuu", { "gt-ab", "/clear", "go on" } },
		{ "named again behind a clear", "gt-ab", 3, "uuuu", { "gt-ab", "/clear", "x", "gt-ab" } },
		{ "nothing behind a clear", "gt-ab", 2, "uu", { "gt-ab", "/clear" } },
		{ "a new session", NULL, 2, "susu", { BANNER, "one", BANNER, "two" } },
		{ "a new session that names it", "gt-ab", 3, "susu", { BANNER, "gt-ab", BANNER, "gt-ab" } },
		{ "a new session that goes on", "gt-ab", 1, "susu", { BANNER, "gt-ab", BANNER, "go on" } },
		{ "a new session in which nobody spoke", NULL, 0, "sus", { BANNER, "one", BANNER } },
		{ "a banner inside a transcript", NULL, 0, "rsru", { "one", BANNER, "two", "three" } },
		{ "a banner before a transcript", NULL, 1, "usru", { "one", BANNER, "two", "three" } },
		{ "a banner behind a transcript", NULL, 1, "rsu", { "one", BANNER, "two" } },
		{ "the banner of /clear", "gt-ab", 4, "susuu",
		    { BANNER, "gt-ab", BANNER, "/clear", "go on" } },
		{ "first words of a town", "gt-ab", 2, "uauu",
		    { BEACON "assigned:gt-ab", "a", BEACON "restart:gt-ab", "x" } },
		{ "first words that name nothing", "gt-ab", 0, "uauu",
		    { BEACON "assigned:gt-ab", "a", BEACON "restart", "x" } },
		{ "first words and no bead", NULL, 1, "uu", { "x", BEACON "ready" } },
		{ "other work in between", "gt-ab", 4, "uauau",
		    { "gt-ab", "a", "gt-cd was assigned to you", "b", "back to gt-ab" } },
		{ "other work is only mentioned", "gt-ab", 0, "uauau",
		    { "gt-ab", "a", "look how gt-cd did it", "b", "gt-ab first" } },
		{ "another kind of id is no work of ours", "gt-ab", 0, "uuu",
		    { "gt-ab", "x-1 was assigned", "gt-ab" } },
		{ "other work that names ours", "gt-ab", 0, "uuu",
		    { "gt-ab", "gt-cd was assigned as a child of gt-ab", "gt-ab" } },
		{ "a summary names it where the words are gone", "gt-ab", 1, "usu",
		    { "x", "Summary: working on gt-ab", "go on" } },
		{ "a summary inside the work", "gt-ab", 1, "uusu",
		    { "x", "gt-ab", "Summary: gt-ab is half done", "go on" } },
		{ "brought by a recovery", "gt-ab", 0, "esssa",
		    { "gt-ab", "The agent was brought back here", BANNER, "note", "on it" } },
		{ "started by hand after it", "gt-ab", 5, "esuassu",
		    { "gt-ab", "The agent was brought back here", "go on", "ok", "note", BANNER " gt-ab",
			"go on" } },
		{ "an id without a prefix", "abc", 1, "uuu", { "x", "abc", "def was assigned" } },
		{ "an empty id", "", 0, "uu", { "x", "y" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct conversation c = CONVERSATION_INIT;
		size_t n, got;

		fill(&c, &cases[i]);
		n = c.n;
		got = conversation_task_start(&c, cases[i].bead);
		if (got != cases[i].want)
			fail_msg("%s: %zu, want %zu", cases[i].name, got, cases[i].want);
		conversation_cut_to_task(&c, cases[i].bead);
		assert_int_equal(c.n, n - got);
		for (size_t k = 0; k < c.n; k++)
			assert_string_equal(c.v[k].content, cases[i].texts[k + got]);
		conversation_release(&c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_beginning),
	};

	return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
