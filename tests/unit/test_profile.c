#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "config/config.h"
#include "base/buf.h"
#include "base/err.h"

#define RULE "────────────────────────────────────────"
#define NBSP "\302\240"

/* Profiles with the settings of a gt.toml, which is gone again when this returns. */
static struct profile_list *
with_settings(const char *text, struct config **c, struct err *e)
{
	char path[] = "/tmp/gt-profile-XXXXXX";
	struct profile_list *p;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	*c = config_new(path, NULL, e);
	unlink(path);
	if (*c == NULL)
		fail_msg("%s", e->msg);
	p = profile_list_new(*c, e);
	if (p == NULL) {
		config_free(*c);
		*c = NULL;
	}
	return p;
}

static void
test_rows(void **state)
{
	static const char *const names[] = { "claude", "codex", "gemini", "opencode", "copilot", "qwen",
		"auggie", "cline", "pi", "cursor-agent", "amp", "droid" };
	struct err e = ERR_INIT;
	struct profile_list *p = profile_list_new(NULL, &e);
	const struct profile *claude;

	(void)state;
	assert_non_null(p);
	assert_int_equal(profile_list_count(p), sizeof names / sizeof names[0]);
	for (size_t i = 0; i < profile_list_count(p); i++) {
		const struct profile *a = profile_list_at(p, i);

		assert_string_equal(a->name, names[i]);
		assert_ptr_equal(profile_find(p, names[i]), a);
		assert_ptr_equal(profile_by_program(p, a->programs[0]), a);
		assert_ptr_equal(profile_by_process(p, a->processes[0]), a);
		assert_true(a->n_deliver >= 1 && a->label[0] != '\0');
		assert_string_equal(a->command, "");
		/* A bare runtime would make every node program in a pane an agent. */
		assert_false(profile_is_process(a, "node"));
	}
	claude = profile_find(p, "claude");
	assert_string_equal(claude->label, "Claude");
	assert_string_equal(claude->grammar, "claude");
	assert_string_equal(claude->transcript, "claude");
	assert_int_equal(claude->n_deliver, 2);
	assert_int_equal(claude->deliver[0], DELIVER_STDIN);
	assert_int_equal(claude->deliver[1], DELIVER_PASTE);
	assert_string_equal(profile_deliver_name(claude->deliver[1]), "paste");
	assert_int_equal(profile_find(p, "auggie")->deliver[0], DELIVER_FILE);
	assert_int_equal(profile_find(p, "auggie")->resume_deliver, DELIVER_FILE);
	assert_int_equal(profile_find(p, "opencode")->deliver[0], DELIVER_STDIN);
	assert_int_equal(profile_find(p, "codex")->deliver[0], DELIVER_PASTE);
	assert_string_equal(profile_find(p, "amp")->grammar, "none");
	assert_null(profile_find(p, "nobody"));
	assert_null(profile_by_program(p, "vim"));
	assert_true(profile_list_has_program(p, "claude"));
	assert_false(profile_list_has_process(p, "bash"));
	profile_list_free(p);
}

/* The column means to launch_without_flags what it says. */
static void
test_session_flags(void **state)
{
	static const struct { const char *command, *want; } cases[] = {
		{ "claude --resume abc --model x", "claude --model x" },
		{ "claude --resume --model x", "claude --model x" },
		{ "claude -c --dangerously-skip-permissions", "claude --dangerously-skip-permissions" },
		{ "claude --session-id=abc --fork-session -r", "claude" },
		{ "claude --session-id abc 'go on'", "claude 'go on'" },
		{ "claude --settings s.json", "claude --settings s.json" },
		{ "codex resume abc -m x", "codex -m x" },
		{ "codex fork --last --no-daemon", "codex --no-daemon" },
		{ "codex resume --all", "codex" },
		{ "gemini --resume latest --yolo", "gemini --yolo" },
		{ "gemini -r 3 --session-id=a-b --session-file f.json", "gemini" },
		{ "opencode -s ses_1 --fork --model x", "opencode --model x" },
		{ "opencode -c --session=ses_1", "opencode" },
		{ "copilot --resume=abc --yolo", "copilot --yolo" },
		{ "copilot --continue --session-id abc", "copilot" },
		{ "qwen --resume abc --auth-type openai", "qwen --auth-type openai" },
		{ "qwen -c --session-id abc", "qwen" },
		{ "auggie --resume abc --allow-indexing", "auggie --allow-indexing" },
		{ "auggie -c", "auggie" },
		{ "cline -i --id 17_abc --plan", "cline -i --plan" },
		{ "pi --session /x/y.jsonl --provider mock", "pi --provider mock" },
		{ "pi -c --fork abc", "pi" },
		{ "cursor-agent --resume=abc", "cursor-agent" },
		{ "amp threads continue T-1 --mode smart", "amp --mode smart" },
		{ "amp --last", "amp" },
		{ "droid --resume abc --auto high", "droid --auto high" },
		{ "droid --last --fork abc", "droid" },
	};
	struct err e = ERR_INIT;
	struct profile_list *p = profile_list_new(NULL, &e);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;
		size_t left;
		char *got;

		launch_command(&l, cases[i].command, "/bin/sh", profile_list_has_program, p);
		assert_non_null(profile_by_program(p, l.name));
		got = launch_without_flags(&l, profile_by_program(p, l.name)->session_flags, &left);
		assert_string_equal(got, cases[i].want);
		free(got);
		launch_release(&l);
	}
	profile_list_free(p);
}

enum { QUIET, READY, BUSY, DIALOG };

static void
test_screens(void **state)
{
	static const struct { const char *agent, *screen; int want; const char *box;
	} cases[] = {
		{ "claude", "● done\n\n" RULE "\n❯" NBSP "\n" RULE "\n  ? for shortcuts\n", READY, "" },
		{ "claude",
		    "● done\n\n" RULE "\n❯" NBSP "half a thought\n  and more\n" RULE "\n  ⏵⏵ bypass\n", READY,
		    "half a thought\n  and more" },
		{ "claude", RULE "\n>" NBSP "\n" RULE "\n", READY, "" },
		{ "claude", "❯ an old prompt\n\n● done\n", QUIET, "" },
		{ "claude", RULE "\n❯ a plain blank\n" RULE "\n", QUIET, "" },
		{ "claude", "✽ Pondering… (9s · ↓ 42 tokens)\n\n" RULE "\n❯" NBSP "\n" RULE "\n", BUSY, "" },
		{ "claude", RULE "\n❯" NBSP "\n" RULE "\n  ⏵⏵ bypass · esc to interrupt\n", BUSY, "" },
		{ "claude", "✻ Brewed for 3s\n\n" RULE "\n❯" NBSP "\n" RULE "\n", READY, "" },
		{ "claude",
		    RULE "\n Bash command\n\n   rm -rf build\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. "
			 "No\n",
		    DIALOG, "" },
		{ "claude", "  ❯ 2. No (recommended)\n\n  Enter to confirm · Esc to cancel\n", DIALOG, "" },
		{ "claude", "user@host:~$ \n", QUIET, "" },
		{ "codex",
		    "› hello\n\n• hi\n\n› Ask Codex to do anything\n\n  model · /x\n  ← for agents · ? for "
		    "shortcuts\n",
		    READY, "Ask Codex to do anything" },
		{ "codex", "› hello\n\n• hi · ho\n\n› first\n  second\n\n  model · /x\n", READY,
		    "first\n  second" },
		{ "codex", "› hello\n\n  said · long ago\n\n• hi\n", QUIET, "" },
		{ "codex",
		    "• Working (2s • esc to interrupt)\n\n› Ask Codex to do anything\n\n  m\n  ? for "
		    "shortcuts\n",
		    BUSY, "" },
		{ "codex", "  Trust this folder?\n\n› 1. Yes\n", DIALOG, "" },
		{ "gemini", "▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄\n *   Type your message\n▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n",
		    READY, "Type your message" },
		{ "gemini",
		    RULE "\n YOLO Ctrl+Y\n\n * [Pasted Text: 48 lines]\n   more\n\n workspace (/directory)   "
			 "/model\n ~/w   Auto\n",
		    READY, "[Pasted Text: 48 lines]\n   more" },
		{ "gemini",
		    " ⠋ Thinking... (esc to cancel, 4s)\n▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄\n *   "
		    "x\n▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n",
		    BUSY, "" },
		{ "opencode", "  ┃  Build\n   ~/x     ctrl+p commands\n", READY, "" },
		{ "opencode", "   ⬝⬝■  esc interrupt     ctrl+p commands\n", BUSY, "" },
		{ "copilot", RULE "\n❯\n" RULE "\n ← open sidebar · / commands · ? help\n", READY, "" },
		{ "copilot",
		    RULE "\n❯ [Paste #1 - 50 lines]\n  x\n" RULE "\n Interactive · Allow All · @ files · # "
								 "issues\n",
		    READY, "[Paste #1 - 50 lines]\n  x" },
		{ "copilot", RULE "\n❯\n" RULE "\n ◉ Working · 88 B esc esc interrupt\n", BUSY, "" },
		{ "codex", "  Hooks need review\n\n  1. Look\n", DIALOG, "" },
		{ "codex", "  Working directory · resume\n\n  /x\n", DIALOG, "" },
		{ "gemini", "│ Do you trust this folder?\n│ ● 1. Trust folder\n", DIALOG, "" },
		{ "gemini", " How would you like to authenticate for this project?\n", DIALOG, "" },
		{ "opencode", "  ┃  △ Permission required\n  ┃  ← Edit x\n", DIALOG, "" },
		{ "copilot", "│ Confirm folder trust\n│ ❯ 1. Yes\n" RULE "\n❯\n" RULE "\n / commands\n",
		    DIALOG, "" },
		{ "qwen", " How would you like to authenticate for this project?\n", DIALOG, "" },
		{ "qwen", RULE "\n*   Type your message\n" RULE "\n", READY, "Type your message" },
		{ "qwen", "│ › 1. Yes, allow once\n" RULE "\n*   Type your message\n" RULE "\n", DIALOG, "" },
		{ "auggie", RULE "\n›\n" RULE "\n ? to show shortcuts\n", READY, "" },
		{ "auggie",
		    " ⠙ Executing tools... (4s • esc to interrupt)\n" RULE "\n›\n" RULE "\n ? to show "
											"shortcuts\n",
		    BUSY, "" },
		{ "auggie", " → Continue\n\n   Press return to continue, or esc to skip\n", DIALOG, "" },
		{ "auggie",
		    " │ 🔍 Workspace Indexing Permission │\n   → [1] Always index this workspace\n     [2] "
		    "Never\n",
		    DIALOG, "" },
		{ "auggie", "   → [1] Yes\n     [2] No\n" RULE "\n›\n" RULE "\n ? to show shortcuts\n",
		    DIALOG, "" },
		{ "auggie", "│ ❯ 1. Index it\n" RULE "\n›\n" RULE "\n ? to show shortcuts\n", DIALOG, "" },
		{ "cline",
		    "Cline Pass\n Press Enter to open, any other key to close\n" RULE
		    "\n❯ Ask anything...\n" RULE "\n Plan ○ Act ●\n",
		    DIALOG, "" },
		{ "cline", RULE "\n❯ Ask anything...\n" RULE "\n Plan ○ Act ●\n", READY, "Ask anything..." },
		{ "pi", RULE "\nsome words\n" RULE "\n~/w\n0.0%/200k (auto)\n", READY, "some words" },
		{ "pi", " ⠏ Working...\n\n" RULE "\n\n" RULE "\n~/w\n0.0%/200k (auto)\n", BUSY, "" },
		{ "droid", " ╭────╮\n │ Please login with your Factory account │\n", DIALOG, "" },
		{ "amp", "No API key found.\nWould you like to log in to Amp? [(y)es, (n)o]:\n", DIALOG, "" },
		{ "cursor-agent", "anything\n", QUIET, "" },
	};
	struct err e = ERR_INIT;
	struct profile_list *p = profile_list_new(NULL, &e);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct profile *a = profile_find(p, cases[i].agent);
		const char *s = cases[i].screen;
		size_t n = strlen(s), from, to;
		int got = profile_is_ready(a, s, n, &from, &to) ? READY : profile_is_busy(a, s, n) ? BUSY :
		    profile_dialog(a, s, n) != NULL ? DIALOG : QUIET;
		char *box = xstrndup(s + from, to - from);

		if (got != cases[i].want)
			fail_msg("%s: %d instead of %d\n%s", cases[i].agent, got, cases[i].want, s);
		assert_string_equal(box, cases[i].box);
		free(box);
	}
	profile_list_free(p);
}

/* Boxes that never close keep no expression busy for long, and are not ready. */
static void
test_evil_screen(void **state)
{
	struct err e = ERR_INIT;
	struct profile_list *p = profile_list_new(NULL, &e);
	struct buf b = BUF_INIT;

	(void)state;
	for (int i = 0; i < 300; i++) {
		buf_str(&b, RULE "\n❯" NBSP "x\n");
		for (int k = 0; k < 100; k++)
			buf_str(&b, "❯ 1\n│ ● 1\n");
	}
	for (size_t i = 0; i < profile_list_count(p); i++) {
		size_t from, to;

		assert_false(profile_is_ready(profile_list_at(p, i), b.data, b.len, &from, &to));
	}
	buf_release(&b);
	profile_list_free(p);
}

static void
test_overrides(void **state)
{
	struct err e = ERR_INIT;
	struct config *c;
	struct profile_list *p = with_settings("[recovery.agents.claude]\ncommand = \"claude --model "
					       "x\"\nprograms = \"claude, clod\"\n"
					       "deliver = \"paste\"\nready = "
					       "\"\"\n[recovery.agents.mine]\nready = '^mine> "
					       "(.*)$'\nbackground = \"yes\"\n",
	    &c, &e);
	const struct profile *a;
	size_t from, to;

	(void)state;
	if (p == NULL)
		fail_msg("%s", e.msg);
	a = profile_by_program(p, "clod");
	assert_string_equal(a->name, "claude");
	assert_string_equal(a->command, "claude --model x");
	assert_int_equal(a->n_deliver, 1);
	assert_int_equal(a->deliver[0], DELIVER_PASTE);
	assert_null(a->ready);
	assert_non_null(a->busy);
	assert_string_equal(a->label, "Claude");
	a = profile_find(p, "mine");
	assert_string_equal(a->label, "mine");
	assert_string_equal(a->programs[0], "mine");
	assert_string_equal(a->processes[0], "mine");
	assert_null(a->processes[1]);
	assert_string_equal(a->transcript, "none");
	assert_true(a->background);
	assert_int_equal(a->deliver[0], DELIVER_PASTE);
	assert_true(profile_is_ready(a, "x\nmine> abc\n", 12, &from, &to));
	assert_int_equal(from, 8);
	assert_int_equal(to, 11);
	profile_list_free(p);
	config_free(c);
}

static void
test_mistakes(void **state)
{
	static const struct { const char *text, *want;
	} cases[] = {
		{ "[recovery.agents.claude]\nreddy = \"x\"\n", ":2: reddy is not a column of an agent" },
		{ "[recovery.agents.claude]\n\nready = \"(\"\n",
		    ":3: ready: the pattern is not valid at character" },
		{ "[recovery.agents.claude]\ndialogs = \"\"\"\nfine\n[\n\"\"\"\n",
		    ":2: dialogs: the pattern is not valid" },
		{ "[recovery.agents.claude]\ndeliver = \"keys\"\n",
		    ":2: deliver: expected some of stdin, file, argument and paste" },
		{ "[recovery.agents.claude]\ndeliver = \"paste, paste\"\n", ":2: deliver: expected" },
		{ "[recovery.agents.claude]\ndeliver = \"\"\n", ":2: deliver: expected" },
		{ "[recovery.agents.claude]\ndeliver = \"stdin, stdin, file, argument, paste\"\n",
		    ":2: deliver: expected" },
		{ "[recovery.agents.claude]\nresume_deliver = \"argument\"\n",
		    ":2: resume_deliver: expected" },
		{ "[recovery.agents.claude]\nfile_flag = \"file\"\n", ":2: file_flag: expected one flag" },
		{ "[recovery.agents.claude]\nnative = \"@x/y\"\n", ":2: native: expected a package of npm" },
		{ "[recovery.agents.claude]\nnative = \"@x/y ../y\"\n",
		    ":2: native: expected a package of npm" },
		{ "[recovery.agents.claude]\nfile_flag = \"--f; rm\"\n", ":2: file_flag: expected one flag" },
		{ "[recovery.agents.claude]\nargument_flag = \"---x\"\n",
		    ":2: argument_flag: expected one flag" },
		{ "[recovery.agents.claude]\nargument_flag = \"--a=b\"\n",
		    ":2: argument_flag: expected one flag" },
		{ "[recovery.agents.claude]\nprompt_flags = \"-i\"\n", ":2: prompt_flags: expected flags" },
		{ "[recovery.agents.claude]\nsession_flags = \"--resume\"\n",
		    ":2: session_flags: expected flags" },
		{ "[recovery.agents.claude]\nsession_flags = \"resume=1\"\n",
		    ":2: session_flags: expected flags" },
		{ "[recovery.agents.claude]\nsession_flags = \"--resume=2\"\n",
		    ":2: session_flags: expected flags" },
		{ "[recovery.agents.claude]\nother_flags = \"--model\"\n",
		    ":2: other_flags: expected flags" },
		{ "[recovery.agents.claude]\nresume = \"--resume; rm\"\n", ":2: resume: expected one flag" },
		{ "[recovery.agents.claude]\ndialect = \"french\"\n",
		    ":2: dialect: expected \"claude\", \"none\", or another agent with the same screen" },
		{ "[recovery.agents.claude]\nprograms = \"/usr/bin/claude\"\n",
		    ":2: programs: expected base names" },
		{ "[recovery.agents.claude]\nprograms = \" , \"\n", ":2: programs: expected base names" },
		{ "[recovery.agents.claude]\nbackground = \"true\"\n",
		    ":2: background: expected \"yes\" or \"no\"" },
		{ "[recovery.agents.claude]\ncommand = \"a\\nb\"\n",
		    ":2: command: expected a command on one line" },
		{ "[recovery.agents.\"my agent\"]\nlabel = \"x\"\n",
		    ":2: the name of an agent: expected letters" },
		{ "[recovery.agents.mine]\nlabel = \"x\"\nprograms = \"claude\"\n",
		    ":3: the program claude belongs to the agents claude and mine" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct err e = ERR_INIT;
		struct config *c;

		if (with_settings(cases[i].text, &c, &e) != NULL)
			fail_msg("taken without an error: %s", cases[i].text);
		assert_int_equal(e.code, GT_USAGE);
		if (strstr(e.msg, cases[i].want) == NULL || !str_starts(e.msg, "/tmp/gt-profile-"))
			fail_msg("wanted: %s\ngot:    %s", cases[i].want, e.msg);
	}
}

/* As Claude Code 2.1.330 starts a teammate in a pane of its lead's window. */
static void
test_teammate(void **state)
{
#define SETS "cd /home/u/shop && env CLAUDECODE=1 CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1 ANTHROPIC_PROFILE='' "    \
	"CLAUDE_CODE_EVEN_MORE_DANGEROUSLY_SKIP_PERMISSIONS= /opt/claude-code-linux-x64/claude"
#define IDENTITY " --agent-id alice@session-93b7e842 --agent-name alice --team-name session-93b7e842"         \
	" --agent-color blue --parent-session-id 93b7e842-0ff1-4053-b617-d0f690ca6abb --lead-verify-key "      \
	"1795451367186.MCowBQYDK2VwAyEAIXPjEUgTkemNWy8o3duAZNRcapZNlCX4H1mX8RIdaOI --agent-type "             \
	"general-purpose --dangerously-skip-permissions --model claude-opus-5-5"
	static const char id[] = "2feb7004-3680-413b-9e57-7fd122dee376";
	struct err e = ERR_INIT;
	struct profile_list *p = profile_list_new(NULL, &e);
	struct launch l;
	char *got;

	(void)state;
	launch_command(&l, SETS IDENTITY, "/bin/bash", profile_list_has_program, p);
	assert_string_equal(l.name, "claude");
	assert_true(l.certain);
	assert_string_equal(launch_flag(&l, "--agent-name"), "alice");
	assert_string_equal(launch_flag(&l, "--team-name"), "session-93b7e842");
	assert_null(launch_flag(&l, "--agent"));
	got = launch_with_resume(&l, profile_find(p, "claude"), id);
	assert_string_equal(got, SETS " --resume 2feb7004-3680-413b-9e57-7fd122dee376" IDENTITY " <&3 3<&-");
	free(got);
	launch_release(&l);
	profile_list_free(p);
#undef SETS
#undef IDENTITY
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_session_flags),
		cmocka_unit_test(test_screens),
		cmocka_unit_test(test_evil_screen),
		cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_teammate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
