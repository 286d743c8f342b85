#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "conversation/conversation.h"

/*
 * An exchange in one line: kind (u user, a assistant, s system, c call, f folded), status (.
 * complete, ~ running, ? waiting, ! interrupted, - failed), a blank, then the words; of calls
 * "Tool|input|result". In what is wanted the source stands in front: T, S, N.
 */
#define MAX 14
#define RULE "\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80"
#define BAR "\xE2\x94\x82"
#define HIDDEN "\n" RULE " (992 lines hidden) " RULE "\xE2\x80\xA6\n"
#define BANNER "s. Claude Code v2.1.197\nOpus\n/work"
#define LONG "The parser reads one line at a time and keeps what it does not know. "
#define LONGER                                                                                               \
	LONG LONG LONG "It never looks back, and every row is copied exactly once into the buffer of its "   \
		       "item."

struct case_ {
	const char *name;
	const char *transcript[MAX], *snapshot[MAX], *screen[MAX], *want[MAX];
};

static const char statuses[] = ".~?!-";

static char *
part(const char *from, const char *end)
{
	return xstrndup(from, (size_t)(end - from));
}

static void
add(struct conversation *c, const char *line, enum source source)
{
	const char *words = line + 3, *bar = strchr(words, '|'),
		   *second = bar != NULL ? strchr(bar + 1, '|') : NULL;
	enum role role = line[0] == 'u' ? ROLE_USER : line[0] == 's' ? ROLE_SYSTEM : ROLE_ASSISTANT;
	bool call = line[0] == 'c' || line[0] == 'f';
	struct exchange *x;

	if (call)
		x = conversation_add(c, role, part(words, bar),
		    second > bar + 1 ? part(bar + 1, second) : NULL, xstrdup(second + 1));
	else
		x = conversation_add(c, role, NULL, NULL, xstrdup(words));
	x->status = (enum status)(strchr(statuses, line[1]) - statuses);
	x->source = source;
	x->folded = line[0] == 'f';
}

static void
fill(struct conversation *c, const char *const *lines, enum source source)
{
	for (size_t i = 0; i < MAX && lines[i] != NULL; i++)
		add(c, lines[i], source);
	c->lines = c->n;
}

static char *
line_of(const struct exchange *x)
{
	char kind = x->folded        ? 'f'
	    : x->tool != NULL        ? 'c'
	    : x->role == ROLE_USER   ? 'u'
	    : x->role == ROLE_SYSTEM ? 's'
				     : 'a';
	char source = "STNE"[x->source];

	if (x->tool == NULL)
		return xasprintf("%c%c%c %s", source, kind, statuses[x->status], x->content);
	return xasprintf("%c%c%c %s|%s|%s", source, kind, statuses[x->status], x->tool,
	    x->input != NULL ? x->input : "", x->content);
}

static void
check(const struct case_ *t)
{
	struct conversation in[3] = { CONVERSATION_INIT, CONVERSATION_INIT, CONVERSATION_INIT }, out;
	size_t n = 0;

	fill(&in[0], t->transcript, SOURCE_TRANSCRIPT);
	fill(&in[1], t->snapshot, SOURCE_SCREEN);
	fill(&in[2], t->screen, SOURCE_SCREEN);
	conversation_merge(&in[0], &in[1], &in[2], &out);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(in[i].n, 0);
	for (; n < out.n && n < MAX && t->want[n] != NULL; n++) {
		char *got = line_of(&out.v[n]);

		if (strcmp(got, t->want[n]) != 0)
			fail_msg("%s: exchange %zu is \"%s\", want \"%s\"", t->name, n, got, t->want[n]);
		free(got);
	}
	if (n < out.n || (n < MAX && t->want[n] != NULL))
		fail_msg("%s: %zu exchanges, want another count than %zu", t->name, out.n, n);
	conversation_release(&out);
}

static const struct case_ both[] = {
	{ "nothing at all", { NULL }, { NULL }, { NULL }, { NULL } },
	{ "only a transcript", { "u. a", "a. b" }, { NULL }, { NULL }, { "Tu. a", "Ta. b" } },
	{ "only a screen", { NULL }, { NULL }, { "u. a", "a. b" }, { "Su. a", "Sa. b" } },
	{ "only a snapshot", { NULL }, { "u. a", "a. b" }, { NULL }, { "Nu. a", "Na. b" } },
	{ "the same in both", { "u. do **it**", "a. # Done\n`x`" }, { NULL }, { "u. do it", "a. Done\nx" },
	    { "Tu. do **it**", "Ta. # Done\n`x`" } },
	{ "a fence's language, links, a table",
	    { "u. show me the code", "a. Look:\n\n```c\nint x;\n```\n| a | b |\n|---|---|\n| 1 | 2 |" },
	    { NULL },
	    { "u. show me the code",
		"a. Look:\n\nint x;\n" BAR " a " BAR " b " BAR "\n" RULE "\n" BAR " 1 " BAR " 2 " BAR },
	    { "Tu. show me the code", "Ta. Look:\n\n```c\nint x;\n```\n| a | b |\n|---|---|\n| 1 | 2 |" } },
	{ "a notebook's cell", { "u. go", "c. NotebookEdit|/w/n.ipynb\ncell_id: c1|ok" }, { NULL },
	    { "u. go", "c. Edit Notebook|n.ipynb@c1|Updated cell c1:" },
	    { "Tu. go", "Tc. NotebookEdit|/w/n.ipynb\ncell_id: c1|ok" } },
	{ "words that were streaming", { "u. go" }, { NULL }, { BANNER, "u. go", "a~ I begin with the" },
	    { "S" BANNER, "Tu. go", "Sa~ I begin with the" } },
	{ "other scripts",
	    { "u. \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE3\x81\xAE\xE3\x83\x86\xE3\x82\xB9\xE3\x83\x88" },
	    { NULL },
	    { "u. \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE3\x81\xAE\n\xE3\x83\x86\xE3\x82\xB9\xE3\x83\x88",
		"a~ x" },
	    { "Tu. \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE3\x81\xAE\xE3\x83\x86\xE3\x82\xB9\xE3\x83\x88",
		"Sa~ x" } },
	{ "the transcript knows the end of what was streaming", { "u. go", "a. " LONGER }, { NULL },
	    { "u. go", "a~ " LONG }, { "Tu. go", "Ta. " LONGER } },
	{ "an elided prompt", { "u. " LONG LONG "1" LONG "2" LONGER, "a. ok, that is a lot" }, { NULL },
	    { "u. " LONG LONG HIDDEN "is copied exactly once into the buffer of its item.",
		"a. ok, that is a lot" },
	    { "Tu. " LONG LONG "1" LONG "2" LONGER, "Ta. ok, that is a lot" } },
	{ "redacted in one of them", { "u. the key is abcdefghijklmnop, use it for the upload of all files" },
	    { NULL }, { "u. the key is [REDACTED:api-key], use it for the upload of all files", "a~ so" },
	    { "Tu. the key is abcdefghijklmnop, use it for the upload of all files", "Sa~ so" } },
	{ "a frame that the screen does not show", { "u. <pasted id=\"67a3\">\n" LONGER "\n</pasted>" },
	    { NULL }, { "u. " LONGER, "a~ so" },
	    { "Tu. <pasted id=\"67a3\">\n" LONGER "\n</pasted>", "Sa~ so" } },
	{ "an image", { "u. [image]\nwhat is this?" }, { NULL }, { "u. [Image #1] what is this?", "a~ A" },
	    { "Tu. [image]\nwhat is this?", "Sa~ A" } },
	{ "a prompt put back into no box is kept", { "u. first", "u. second", "a. yes" }, { NULL },
	    { "u. second", "a. yes" }, { "Tu. first", "Tu. second", "Ta. yes" } },
	{ "much like the one before", { "u. please run test number 7 again", "a. All is well there." },
	    { NULL }, { "u. please run test number 8 again", "a~ I begin" },
	    { "Tu. please run test number 7 again", "Ta. All is well there.",
		"Su. please run test number 8 again", "Sa~ I begin" } },
	{ "an interruption", { "u. talk", "a. " LONG }, { NULL }, { "u. talk", "a! " LONG },
	    { "Tu. talk", "Ta! " LONG } },
	{ "notices stay where they stood", { "u. x", "a. y", "u. z" }, { NULL },
	    { "u. x", "s. Read ../hostname (2 lines)", "a. y", "s. Stop hook error", "u. z",
		"s- API error, attempt 6/10" },
	    { "Tu. x", "Ss. Read ../hostname (2 lines)", "Ta. y", "Ss. Stop hook error", "Tu. z",
		"Ss- API error, attempt 6/10" } },
	{ "an API error of both", { "u. x", "s- API Error: 400 bad thing", "u. y" }, { NULL },
	    { "u. x", "s- API Error: 400 bad thing", "u. y" },
	    { "Tu. x", "Ts- API Error: 400 bad thing", "Tu. y" } },
	{ "a queued prompt that the screen shows as sent", { "u. x", "c~ Bash|sleep 9|", "u? later" },
	    { NULL }, { "u. x", "c~ Bash|sleep 9|", "u. later" },
	    { "Tu. x", "Tc~ Bash|sleep 9|", "Tu? later" } },
	{ "queued prompts", { "u. x", "c~ Bash|sleep 9|", "u? later" }, { NULL },
	    { "u. x", "c~ Bash|sleep 9|", "u? later", "u? even later" },
	    { "Tu. x", "Tc~ Bash|sleep 9|", "Tu? later", "Su? even later" } },
};

static const struct case_ calls[] = {
	{ "other names and relative paths",
	    { "u. x", "c. Edit|/w/src/a.c\n-1\n+2|The file", "c. Task|Find it\nlong prompt|Found",
		"c. WebFetch|https://a.test|page", "c. MultiEdit|/w/b/a.c|k" },
	    { NULL },
	    { "u. x", "c. Update|src/a.c|Added 1 line", "c. Explore|Find it|Done (1 tool use)",
		"c. Fetch|https://a.test|12 bytes", "c. Update|b/a.c|1" },
	    { "Tu. x", "Tc. Edit|/w/src/a.c\n-1\n+2|The file", "Tc. Task|Find it\nlong prompt|Found",
		"Tc. WebFetch|https://a.test|page", "Tc. MultiEdit|/w/b/a.c|k" } },
	{ "cut commands and outputs",
	    { "u. x", "c. Bash|for i in 1 2 3; do\n make test\n make run\ndone|1\n2\n3\n4\n5" }, { NULL },
	    { "u. x", "c. Bash|for i in 1 2 3; do\n make test\xE2\x80\xA6|1\n2\n3\n\xE2\x80\xA6 +2 lines" },
	    { "Tu. x", "Tc. Bash|for i in 1 2 3; do\n make test\n make run\ndone|1\n2\n3\n4\n5" } },
	{ "a command is not the beginning of another", { "u. x", "c. Bash|make test|ok" }, { NULL },
	    { "u. x", "c. Bash|make|none", "c. Bash|make test|ok" },
	    { "Tu. x", "Sc. Bash|make|none", "Tc. Bash|make test|ok" } },
	{ "folded and hidden calls",
	    { "u. x", "c. Read|/w/a|1", "c. Read|/w/b|2", "c. LS|/w|3", "a. seen", "c. TodoWrite|{}|ok",
		"a. end" },
	    { NULL }, { "u. x", "f. Read||Read 2 files, listed 1 directory", "a. seen", "a. end" },
	    { "Tu. x", "Tc. Read|/w/a|1", "Tc. Read|/w/b|2", "Tc. LS|/w|3", "Ta. seen", "Tc. TodoWrite|{}|ok",
		"Ta. end" } },
	{ "a folded line whose calls are not there", { "u. x" }, { NULL },
	    { "u. x", "f. Read||Read 2 files", "a~ I" }, { "Tu. x", "Sf. Read||Read 2 files", "Sa~ I" } },
	{ "a folded line for more than is there", { "u. x", "c. Read|/w/a|1" }, { NULL },
	    { "u. x", "f. Read||Read 2 files" }, { "Tu. x", "Tc. Read|/w/a|1", "Sf. Read||Read 2 files" } },
	{ "calls in another order than they are folded",
	    { "u. x", "c. Read|/w/a|1", "c. Bash|make|ok", "c. Read|/w/b|2", "a. so" }, { NULL },
	    { "u. x", "f. Read||Read 2 files", "c. Bash|make|ok", "a. so" },
	    { "Tu. x", "Tc. Read|/w/a|1", "Tc. Bash|make|ok", "Tc. Read|/w/b|2", "Ta. so" } },
	{ "running in both", { "u. x", "c~ Bash|make all -j8|" }, { NULL },
	    { "u. x", "c~ Bash|make all -\xE2\x80\xA6|cc a.c\n+36 lines (8s)" },
	    { "Tu. x", "Tc~ Bash|make all -j8|cc a.c\n+36 lines (8s)" } },
	{ "waiting for a permission", { "u. x", "c~ Bash|rm a|" }, { NULL },
	    { "u. x", "c? Bash|rm a|Waiting" }, { "Tu. x", "Tc? Bash|rm a|Waiting" } },
	{ "waiting, and only the dialog shows it", { "u. x", "c~ Write|/w/a\ntext|" }, { NULL },
	    { "u. x", "c? Write||" }, { "Tu. x", "Tc? Write|/w/a\ntext|" } },
	{ "the screen saw the answer, the transcript not yet", { "u. x", "c~ Bash|rm a|" }, { NULL },
	    { "u. x", "c. Bash|rm a|gone" }, { "Tu. x", "Tc. Bash|rm a|gone" } },
	{ "the screen is older than the answer", { "u. x", "c. Bash|rm a|gone", "a. it is gone" }, { NULL },
	    { "u. x", "c~ Bash|rm a|Running" }, { "Tu. x", "Tc. Bash|rm a|gone", "Ta. it is gone" } },
	{ "half a call that only the screen has", { "u. x", "a. I write it." }, { NULL },
	    { "u. x", "a. I write it.", "c~ Write|a.md|" },
	    { "Tu. x", "Ta. I write it.", "Sc~ Write|a.md|" } },
	{ "agents at work", { "u. x", "c~ Agent|One\np|", "c~ Agent|Two\np|" }, { NULL },
	    { "u. x", "f~ Agents||Running 2 agents\n One: done\n Two: 3 calls" },
	    { "Tu. x", "Tc~ Agent|One\np|",
		"Tc~ Agent|Two\np|Running 2 agents\n One: done\n Two: 3 calls" } },
	{ "answers, a plan, a tool of a server",
	    { "u. x", "c. AskUserQuestion|{\"q\":1}|a", "c- ExitPlanMode|{}|no",
		"c. mcp__db__query|{\"s\":1}|2", "a. k" },
	    { NULL },
	    { "u. x", "c. AskUserQuestion||answered", "c- ExitPlanMode||rejected",
		"c. db - query (MCP)|s: 1|2", "a. k" },
	    { "Tu. x", "Tc. AskUserQuestion|{\"q\":1}|a", "Tc- ExitPlanMode|{}|no",
		"Tc. mcp__db__query|{\"s\":1}|2", "Ta. k" } },
	{ "the same command again and again", { "u. x", "c. Bash|make|1 error", "c. Bash|make|2 errors" },
	    { NULL }, { "u. x", "c. Bash|make|1 error", "c. Bash|make|2 errors", "c~ Bash|make|" },
	    { "Tu. x", "Tc. Bash|make|1 error", "Tc. Bash|make|2 errors", "Sc~ Bash|make|" } },
};

static const struct case_ orders[] = {
	{ "the screen shows the end only", { "u. a1", "a. b1", "u. a2", "a. b2", "u. a3" }, { NULL },
	    { "u. a2", "a. b2", "u. a3", "a~ b" },
	    { "Tu. a1", "Ta. b1", "Tu. a2", "Ta. b2", "Tu. a3", "Sa~ b" } },
	{ "a banner that was painted again",
	    { "u. explain it, please", "a. # Plan\n" LONGER, "s. Conversation compacted", "u. /compact",
		"u. and now the rest", "a. It is all done by now." },
	    { NULL },
	    { BANNER, "u. explain it, please", "a. Plan", BANNER, "s. Conversation compacted", "u. /compact",
		"u. and now the rest", "a. It is all done by now." },
	    { "Tu. explain it, please", "Ta. # Plan\n" LONGER, "S" BANNER, "Ts. Conversation compacted",
		"Tu. /compact", "Tu. and now the rest", "Ta. It is all done by now." } },
	{ "a session before /clear", { "u. new", "a. Fresh." }, { NULL },
	    { BANNER, "u. old", "a. Stale.", BANNER, "u. /clear", "u. new", "a. Fresh.", "a~ And" },
	    { "S" BANNER, "Su. old", "Sa. Stale.", "S" BANNER, "Su. /clear", "Tu. new", "Ta. Fresh.",
		"Sa~ And" } },
	{ "another session in between",
	    { "u. one", "a. " LONGER, "u. now the second part of the plan", "a. Here it comes." }, { NULL },
	    { BANNER, "u. aside", "a. Yes?", BANNER, "u. now the second part of the plan",
		"a. Here it comes.", "a~ and" },
	    { "Tu. one", "Ta. " LONGER, "S" BANNER, "Su. aside", "Sa. Yes?", "S" BANNER,
		"Tu. now the second part of the plan", "Ta. Here it comes.", "Sa~ and" } },
	{ "the same prompt again and again", { "u. go on", "a. one", "u. go on", "a. two", "u. go on" },
	    { NULL }, { "u. go on", "a. one", "u. go on", "a. two", "u. go on", "a~ thr" },
	    { "Tu. go on", "Ta. one", "Tu. go on", "Ta. two", "Tu. go on", "Sa~ thr" } },
	{ "of the same the newest are the newest",
	    { "u. yes", "a. ok", "u. yes", "a. ok", "u. yes", "a. ok" }, { NULL },
	    { "u. yes", "a. ok", "c~ Bash|ls|" },
	    { "Tu. yes", "Ta. ok", "Tu. yes", "Ta. ok", "Tu. yes", "Ta. ok", "Sc~ Bash|ls|" } },
	{ "the transcript ends earlier", { "u. go on", "a. one" }, { NULL },
	    { "u. go on", "a. one", "u. go on", "a. two", "u. go on", "a. three" },
	    { "Tu. go on", "Ta. one", "Su. go on", "Sa. two", "Su. go on", "Sa. three" } },
	{ "the screen ends earlier", { "u. a1", "a. b1", "u. a2", "a. b2" }, { NULL }, { "u. a1", "a. b1" },
	    { "Tu. a1", "Ta. b1", "Tu. a2", "Ta. b2" } },
	{ "another conversation with the same beginning",
	    { "u. read the plan and begin with the first item", "a. The first is the parser.", "u. go" },
	    { NULL },
	    { BANNER, "u. read the plan and begin with the first item", "a. There is no plan.",
		"u. look again" },
	    { "S" BANNER, "Su. read the plan and begin with the first item", "Sa. There is no plan.",
		"Su. look again", "Tu. read the plan and begin with the first item",
		"Ta. The first is the parser.", "Tu. go" } },
	{ "one weak word in common", { "u. build it", "a. Built.", "u. yes", "a. Pushed." }, { NULL },
	    { BANNER, "u. lint it", "a. Clean.", "u. yes", "a. Fixed." },
	    { "S" BANNER, "Su. lint it", "Sa. Clean.", "Su. yes", "Sa. Fixed.", "Tu. build it", "Ta. Built.",
		"Tu. yes", "Ta. Pushed." } },
	{ "a long answer fills the screen", { "u. write a book" }, { NULL }, { "a~ and so they lived" },
	    { "Tu. write a book", "Sa~ and so they lived" } },
	{ "an empty screen of a new process", { "u. x", "a. y" }, { NULL }, { BANNER },
	    { "S" BANNER, "Tu. x", "Ta. y" } },
	{ "a contradiction is kept",
	    { "u. please fix the parser now", "a. It is fixed.", "u. and the colour?", "a. red",
		"u. last words of all", "a. That was all of the work." },
	    { NULL },
	    { "u. please fix the parser now", "a. It is fixed.", "u. and the colour?", "a. green",
		"u. last words of all", "a. That was all of the work." },
	    { "Tu. please fix the parser now", "Ta. It is fixed.", "Tu. and the colour?", "Ta. red",
		"Sa. green", "Tu. last words of all", "Ta. That was all of the work." } },
	{ "a torn top", { "u. x", "a. " LONGER, "u. y", "a. z" }, { NULL },
	    { "s. every row is copied exactly once into the buffer of its item.", "u. y", "a. z" },
	    { "Tu. x", "Ta. " LONGER, "Tu. y", "Ta. z" } },
	{ "a prompt in pieces",
	    { "u. do this:\nwith the second line of it\n> and one like a prompt",
		"a. All three lines of it are done and tested." },
	    { NULL },
	    { "u. do this:", "s. with the second line of it", "u. and one like a prompt",
		"a. All three lines of it are done and tested." },
	    { "Tu. do this:\nwith the second line of it\n> and one like a prompt",
		"Ta. All three lines of it are done and tested." } },
	{ "a prompt whose last piece is like it",
	    { "u. x", "a. It is done and tested.", "u. and what\n\n> follows\nafter that?", "a. I see." },
	    { NULL },
	    { "u. x", "a. It is done and tested.", "u. and what", "u. follows\nafter that?", "a. I see." },
	    { "Tu. x", "Ta. It is done and tested.", "Tu. and what\n\n> follows\nafter that?",
		"Ta. I see." } },
	{ "the same remark again", { "u. x", "a. y" }, { NULL },
	    { "u. x", "a. y", "s. Ran 1 stop hook (ctrl+o)", "s. Ran 1 stop hook (ctrl+o)" },
	    { "Tu. x", "Ta. y", "Ss. Ran 1 stop hook (ctrl+o)", "Ss. Ran 1 stop hook (ctrl+o)" } },
	{ "unknown rows that stand nowhere else", { "u. x", "a. y" }, { NULL },
	    { "u. x", "s. %% what is this row doing here", "a. y" },
	    { "Tu. x", "Ss. %% what is this row doing here", "Ta. y" } },
};

static const struct case_ snapshots[] = {
	{ "scrolled away since", { NULL }, { "u. 1", "a. one", "u. 2", "a. two" },
	    { "u. 2", "a. two", "u. 3", "a~ th" },
	    { "Nu. 1", "Na. one", "Su. 2", "Sa. two", "Su. 3", "Sa~ th" } },
	{ "it went on", { NULL }, { "u. 1", "a~ " LONG, "u? later" },
	    { "u. 1", "a. " LONGER, "u. later", "c. Bash|ls|a" },
	    { "Su. 1", "Sa. " LONGER, "Su. later", "Sc. Bash|ls|a" } },
	{ "a call ended", { NULL }, { "u. 1", "c~ Bash|make|cc a" }, { "u. 1", "c. Bash|make|done" },
	    { "Su. 1", "Sc. Bash|make|done" } },
	{ "a folded line grew", { NULL }, { "u. 1", "f. Read||Read 2 files" },
	    { "u. 1", "f. Read||Read 3 files", "a. so" }, { "Su. 1", "Sf. Read||Read 3 files", "Sa. so" } },
	{ "the same folded line", { NULL }, { "u. 1", "f. Read||Read 2 files", "a. x" },
	    { "u. 1", "f. Read||Read 2 files", "a. x" }, { "Su. 1", "Sf. Read||Read 2 files", "Sa. x" } },
	{ "nothing in common", { NULL }, { "u. 1", "a. one" }, { "u. 9", "a. nine" },
	    { "Nu. 1", "Na. one", "Su. 9", "Sa. nine" } },
	{ "the screen was torn where the snapshot was whole", { NULL }, { "u. 1", "a. " LONGER, "u. 2" },
	    { "s. every row is copied exactly once into the buffer of its item.", "u. 2", "a~ x" },
	    { "Nu. 1", "Na. " LONGER, "Su. 2", "Sa~ x" } },
	{ "all three", { "u. 2", "a. **two**", "u. 3" }, { BANNER, "u. 1", "a. one", "u. /clear", "u. 2" },
	    { "u. 2", "a. two", "u. 3", "a~ th" },
	    { "N" BANNER, "Nu. 1", "Na. one", "Nu. /clear", "Tu. 2", "Ta. **two**", "Tu. 3", "Sa~ th" } },
	{ "the server died: transcript and snapshot", { "u. 1", "a. one", "u. 2" },
	    { "u. 1", "a. one", "u. 2", "a~ tw" }, { NULL }, { "Tu. 1", "Ta. one", "Tu. 2", "Na~ tw" } },
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static void
joins_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(both); i++)
		check(&both[i]);
}

static void
joins_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++)
		check(&calls[i]);
}

static void
keeps_the_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(orders); i++)
		check(&orders[i]);
}

static void
fills_from_a_snapshot(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(snapshots); i++)
		check(&snapshots[i]);
}

static void
takes_the_state_from_the_screen(void **state)
{
	struct conversation t = CONVERSATION_INIT, n = CONVERSATION_INIT, s = CONVERSATION_INIT, out;

	(void)state;
	add(&t, "u. take it back", SOURCE_TRANSCRIPT);
	t.session_id = xstrdup("id-1");
	t.banner = xstrdup("2.1.0");
	t.lines = 900;
	t.truncated_at = 7;
	t.limit = true;
	n.draft = xstrdup("an older draft");
	n.tasks = xstrdup("older");
	n.lines = 3;
	s.draft = xstrdup("take it back");
	s.question = xstrdup("Proceed?");
	s.resume_id = xstrdup("id-2");
	s.lines = 41;
	s.unknown_lines = 2;
	s.farewell = true;
	conversation_merge(&t, &n, &s, &out);
	assert_string_equal(out.draft, "take it back");
	assert_null(out.tasks);
	assert_string_equal(out.question, "Proceed?");
	assert_string_equal(out.resume_id, "id-2");
	assert_string_equal(out.session_id, "id-1");
	assert_string_equal(out.banner, "2.1.0");
	assert_int_equal(out.lines, 41);
	assert_int_equal(out.unknown_lines, 2);
	assert_int_equal(out.truncated_at, 7);
	assert_true(out.farewell);
	assert_false(out.limit);
	assert_int_equal(out.v[0].status, STATUS_INTERRUPTED);
	assert_null(s.draft);
	conversation_release(&out);
}

static void
takes_the_state_from_what_there_is(void **state)
{
	struct conversation t = CONVERSATION_INIT, n = CONVERSATION_INIT, out;

	(void)state;
	t.lines = 12;
	t.limit = true;
	add(&t, "u. x", SOURCE_TRANSCRIPT);
	conversation_merge(&t, NULL, NULL, &out);
	assert_int_equal(out.lines, 12);
	assert_true(out.limit);
	assert_int_equal(out.truncated_at, -1);
	conversation_release(&out);
	n.draft = xstrdup("half a");
	n.banner = xstrdup("2.0.76");
	n.lines = 5;
	n.truncated_at = 0;
	add(&n, "u. before", SOURCE_SCREEN);
	add(&n, "u. x and more words", SOURCE_SCREEN);
	add(&t, "u. x and more words", SOURCE_TRANSCRIPT);
	conversation_merge(&t, &n, NULL, &out);
	assert_string_equal(out.draft, "half a");
	assert_string_equal(out.banner, "2.0.76");
	assert_int_equal(out.lines, 5);
	assert_int_equal(out.truncated_at, 0);
	assert_int_equal(out.n, 2);
	conversation_release(&out);
	conversation_merge(NULL, NULL, NULL, &out);
	assert_int_equal(out.n, 0);
	conversation_release(&out);
}

/* A long conversation with its ends cut off anywhere: all of it once, in order. */
static void
cut_anywhere(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 400; seed++) {
		struct conversation t = CONVERSATION_INIT, s = CONVERSATION_INIT, out;
		size_t turns = 3 + seed % 40, from = seed * 7 % turns, to = turns - seed * 5 % (turns - from),
		       n = 0;

		for (size_t i = 0; i < turns; i++) {
			char *line[4] = { xstrdup("u. go on"),
				xasprintf("a. **Step** %zu: `%zu` more", i * 31, i),
				xasprintf("c. Bash|make step-%zu|made %zu", i, i),
				xasprintf("c. TodoWrite|{%zu}|", i) };

			for (size_t k = 0; k < 4; k++) {
				if (i < to)
					add(&t, line[k], SOURCE_TRANSCRIPT);
				if (i >= from && k < 3)
					add(&s, line[k], SOURCE_SCREEN);
				free(line[k]);
			}
		}
		conversation_merge(&t, NULL, &s, &out);
		for (size_t i = 0; i < turns; i++) {
			char *want = xasprintf("**Step** %zu: `%zu` more", i * 31, i);

			assert_true(n + 2 < out.n);
			assert_string_equal(out.v[n].content, "go on");
			assert_string_equal(out.v[n + 1].content, want);
			assert_string_equal(out.v[n + 2].tool, "Bash");
			assert_int_equal(out.v[n].source, i < to ? SOURCE_TRANSCRIPT : SOURCE_SCREEN);
			n += i < to ? 4 : 3;
			free(want);
		}
		assert_int_equal(n, out.n);
		conversation_release(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_words),
		cmocka_unit_test(joins_calls),
		cmocka_unit_test(keeps_the_order),
		cmocka_unit_test(fills_from_a_snapshot),
		cmocka_unit_test(takes_the_state_from_the_screen),
		cmocka_unit_test(takes_the_state_from_what_there_is),
		cmocka_unit_test(cut_anywhere),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
