#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "process/proc.h"
#include "base/buf.h"
#include "tmux/tmux.h"

#define SESSION "--resume=? --continue=0 --session-id=1 --fork-session=0 -r=? -c=0"
#define OTHER "--dangerously-skip-permissions=0 --settings=1 --model=1 --tools=* --debug=?"

static bool
is_agent(const void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "claude") == 0 || strcmp(name, "codex") == 0;
}

static void
finds_the_agent(void **state)
{
	static const struct { const char *command, *name; bool certain;
	} cases[] = {
		{ "claude", "claude", true },
		{ "exec env -i HOME=/h \"K=$K\" /usr/bin/claude --dangerously-skip-permissions \"go; on\"",
		    "claude", true },
		{ "cd /x && export A=1 && exec claude --resume abc", "claude", true },
		{ "env -u CLAUDECODE nohup claude", "claude", true },
		{ "node /opt/node_modules/@anthropic-ai/claude-code/cli.js -p", "claude", true },
		{ "bash -lc 'cd /x; claude --continue'", "claude", false },
		{ "claude; exec bash", "claude", true },
		{ "echo x | claude", "claude", false },
		{ "claude < file", "claude", false },
		{ "claude \"$(cat prompt)\"", "claude", false },
		{ "./run-agent.sh", "run-agent.sh", false },
		{ "codex # claude", "codex", false },
		{ "vim claude", "vim", false },
		{ "echo 'unclosed claude", "echo", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;

		launch_command(&l, cases[i].command, "/bin/sh", is_agent, NULL);
		assert_string_equal(l.name, cases[i].name);
		assert_int_equal(l.certain, cases[i].certain);
		launch_release(&l);
	}
}

static void
takes_session_flags_out(void **state)
{
	static const struct { const char *command, *want; size_t n; } cases[] = {
		{ "claude --resume 1234 --model x", "claude --model x", 1 },
		{ "claude --resume --model x", "claude --model x", 1 },
		{ "cd /x && exec env A=1 claude -c \"go\"", "cd /x && exec env A=1 claude \"go\"", 1 },
		{ "claude --session-id=11 --fork-session -r 22 'a b'", "claude 'a b'", 3 },
		{ "claude -- --resume", "claude -- --resume", 0 },
		{ "claude --resume x | tee log", "claude --resume x | tee log", 0 },
		{ "grep -c x y; claude", "grep -c x y; claude", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;
		size_t n;
		char *got;

		launch_command(&l, cases[i].command, "/bin/sh", is_agent, NULL);
		got = launch_without_flags(&l, SESSION, &n);
		assert_string_equal(got, cases[i].want);
		assert_int_equal(n, cases[i].n);
		free(got);
		launch_release(&l);
	}
}

/* A pane without a start command. */
static void
leaves_no_command_as_it_is(void **state)
{
	struct launch l = { .command = NULL };
	size_t n = 7;

	(void)state;
	assert_null(launch_without_flags(&l, SESSION, &n));
	assert_int_equal(n, 0);
}

static const struct profile told_by_input = { .session_flags = SESSION,
	.prompt_flags = "",
	.other_flags = OTHER,
	.file_flag = "",
	.argument_flag = "",
	.resume = "--resume",
	.resume_deliver = DELIVER_STDIN };

static void
feeds_the_agent_alone(void **state)
{
	static const struct { const char *command, *shell, *want;
	} cases[] = {
		{ "claude", "/bin/sh", "claude <&3 3<&-" },
		{ "cd /x && exec env A=1 claude -c \"go\"", "/bin/bash",
		    "cd /x && exec env A=1 claude \"go\" <&3 3<&-" },
		{ "claude --resume x; exec bash", "/usr/bin/zsh", "claude <&3 3<&-; exec bash" },
		{ "claude\nexec bash", "/bin/sh", "claude <&3 3<&-\nexec bash" },
		{ "claude | tee log", "/bin/sh", NULL },
		{ "sh -c 'claude; bash'", "/bin/sh", NULL },
		{ "./run-agent.sh", "/bin/sh", NULL },
		{ "claude; claude", "/bin/sh", NULL },
		{ "claude", "/bin/tcsh", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;
		char *fed;

		launch_command(&l, cases[i].command, cases[i].shell, is_agent, NULL);
		fed = launch_with_prompt(&l, &told_by_input, DELIVER_STDIN, false);
		if (cases[i].want == NULL)
			assert_null(fed);
		else
			assert_string_equal(fed, cases[i].want);
		free(fed);
		launch_release(&l);
	}
}

/* Its own first prompt, where it was told that before. */
static void
leaves_out_what_was_told(void **state)
{
	static const struct { const char *command, *want;
	} cases[] = {
		{ "claude --model x 'delete y'; bash", "claude --model x <&3 3<&-; bash" },
		{ "claude '[GAS TOWN] polecat toast'", "claude '[GAS TOWN] polecat toast' <&3 3<&-" },
		/* where it cannot be told apart it is said again */
		{ "claude --new 'delete y'", "claude --new 'delete y' <&3 3<&-" },
		{ "claude $FLAGS", "claude $FLAGS <&3 3<&-" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;
		char *fed;

		launch_command(&l, cases[i].command, "/bin/sh", is_agent, NULL);
		fed = launch_with_prompt(&l, &told_by_input, DELIVER_STDIN, true);
		assert_string_equal(fed, cases[i].want);
		free(fed);
		launch_release(&l);
	}
}

#define ID "0a1b2c3d-0000-4000-8000-00000000000f"

static void
goes_on_with_a_conversation(void **state)
{
	static const struct { const char *command, *want;
	} cases[] = {
		{ "claude", "claude --resume " ID " <&3 3<&-" },
		{ "exec env GT_ROLE=x/y K='a b' claude --dangerously-skip-permissions --settings /w/s.json "
		  "\"[GAS TOWN] x <- y; go\"",
		    "exec env GT_ROLE=x/y K='a b' claude --resume " ID " --dangerously-skip-permissions "
								       "--settings /w/s.json <&3 3<&-" },
		{ "cd /x && claude -c --model opus; exec bash",
		    "cd /x && claude --resume " ID " --model opus <&3 3<&-; exec bash" },
		{ "claude --resume old --settings=s.json 'do x'",
		    "claude --resume " ID " --settings=s.json <&3 3<&-" },
		{ "claude --tools A B --model x y", "claude --resume " ID " --tools A B --model x <&3 3<&-" },
		{ "claude --tools A B", "claude --resume " ID " --tools A B <&3 3<&-" },
		{ "claude --debug api --debug --model x",
		    "claude --resume " ID " --debug api --debug --model x <&3 3<&-" },
		{ "claude --model x -- --resume \"go on\"", "claude --resume " ID " --model x <&3 3<&-" },
		{ "node --no-warnings /o/claude-code/cli.js --model x go",
		    "node --no-warnings /o/claude-code/cli.js --resume " ID " --model x <&3 3<&-" },
		{ "claude --new-flag --model x", "claude --resume " ID " --new-flag --model x <&3 3<&-" },
		{ "claude --new-flag=1 'go'", "claude --resume " ID " --new-flag=1 <&3 3<&-" },
		/* a value, or a prompt? */
		{ "claude --new-flag go", NULL },
		{ "claude --model x --new-flag go", NULL },
		{ "claude $FLAGS", NULL },
		{ "claude \"$PROMPT\"", NULL },
		{ "claude \"$(cat prompt)\"", NULL },
		{ "claude < prompt", NULL },
		{ "claude | tee log", NULL },
		{ "sh -c 'claude'", NULL },
		{ "./run-agent.sh", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;
		char *got;

		launch_command(&l, cases[i].command, "/bin/sh", is_agent, NULL);
		got = launch_with_resume(&l, &told_by_input, ID);
		if (cases[i].want == NULL)
			assert_null(got);
		else
			assert_string_equal(got, cases[i].want);
		free(got);
		launch_release(&l);
	}
}

/* No shell is left between the terminal and the agent where nothing follows it. */
static void
puts_exec_where_nothing_follows(void **state)
{
	static const struct { const char *command, *want;
	} cases[] = {
		{ "claude -c", "exec claude --resume " ID " <&3 3<&-" },
		{ "FOO=1 BAR=2 claude", "FOO=1 BAR=2 exec claude --resume " ID " <&3 3<&-" },
		{ "env FOO=1 claude", "exec env FOO=1 claude --resume " ID " <&3 3<&-" },
		{ "exec claude", "exec claude --resume " ID " <&3 3<&-" },
		{ "cd /tmp && claude", "cd /tmp && exec claude --resume " ID " <&3 3<&-" },
		{ "claude; ", "exec claude --resume " ID " <&3 3<&-; " },
		{ "claude; bash", "claude --resume " ID " <&3 3<&-; bash" },
		{ "claude && echo done", "claude --resume " ID " <&3 3<&- && echo done" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;
		char *fed, *got;

		launch_command(&l, cases[i].command, "/bin/sh", is_agent, NULL);
		fed = launch_with_resume(&l, &told_by_input, ID);
		assert_non_null(fed);
		got = launch_with_exec(&l, fed);
		assert_string_equal(got, cases[i].want);
		free(got);
		free(fed);
		launch_release(&l);
	}
}

/* Where the pane's own shell may know an alias or a function of that name. */
static void
puts_exec_where_a_program_is_found(void **state)
{
	static const struct { const char *command, *shell, *want;
	} cases[] = {
		{ "claude -c", "/bin/bash",
		    "case $(command -v claude) in /*) exec claude --resume " ID " <&3 3<&-\n;; "
		    "*) claude --resume " ID " <&3 3<&-\n;; esac" },
		{ "/opt/claude -c", "/bin/bash", "exec /opt/claude --resume " ID " <&3 3<&-" },
		{ "claude; bash", "/bin/bash", "claude --resume " ID " <&3 3<&-; bash" },
		{ "claude -c", "/usr/bin/fish", "claude --resume " ID " <&3 3<&-" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;
		char *fed, *got;

		launch_command(&l, cases[i].command, cases[i].shell, is_agent, NULL);
		fed = launch_with_resume(&l, &told_by_input, ID);
		assert_non_null(fed);
		got = launch_with_checked_exec(&l, fed);
		assert_string_equal(got, cases[i].want);
		free(got);
		free(fed);
		launch_release(&l);
	}
}

#define ROW(session, prompt, other, resumes)                                                                 \
	{ .session_flags = session,                                                                          \
		.prompt_flags = prompt,                                                                      \
		.other_flags = other,                                                                        \
		.file_flag = "",                                                                             \
		.argument_flag = "",                                                                         \
		.resume = resumes,                                                                           \
		.resume_deliver = DELIVER_PASTE }

/* What is pasted to later must not have the prompt's descriptor open. */
static void
goes_on_and_waits_for_a_paste(void **state)
{
	static const struct { struct profile row; const char *command, *want;
	} cases[] = {
		{ ROW("resume=? --last=0", "", "-m=1", "resume"), "claude -m x",
		    "claude resume " ID " -m x 3<&-" },
		{ ROW("resume=? --last=0", "", "-m=1", "resume"), "claude resume old -m x",
		    "claude resume " ID " -m x 3<&-" },
		{ ROW("resume=? --last=0", "", "-m=1", "resume"), "claude resume --last",
		    "claude resume " ID " 3<&-" },
		{ ROW("--resume=?", "", "", "--resume="), "claude --resume=old 'a task'",
		    "claude --resume=" ID " 3<&-" },
		{ ROW("--id=1", "", "-i=0", "-i --id"), "exec claude; echo ended",
		    "exec claude -i --id " ID " 3<&-; echo ended" },
		{ ROW("", "", "", "--resume"), "claude --new thing", NULL },
		/* what it was told first stands in the conversation already */
		{ ROW("--resume=?", "-i=1", "-m=1", "--resume"), "claude -i \"$TASK\" -m x",
		    "claude --resume " ID " -m x 3<&-" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;
		char *got;

		launch_command(&l, cases[i].command, "/bin/sh", is_agent, NULL);
		got = launch_with_resume(&l, &cases[i].row, ID);
		if (cases[i].want == NULL)
			assert_null(got);
		else
			assert_string_equal(got, cases[i].want);
		free(got);
		launch_release(&l);
	}
}

/*
 * By a file that it opens itself, by an argument, or by a paste, and not by what its person had
 * said first.
 */
static void
is_told_in_other_ways(void **state)
{
	static const struct profile row = { .session_flags = "--resume=?",
		.prompt_flags = "-i=1",
		.other_flags = "--model=1",
		.file_flag = "--file",
		.argument_flag = "--say",
		.resume = "--resume",
		.resume_deliver = DELIVER_FILE };
	static const struct profile joined = { .session_flags = "",
		.prompt_flags = "",
		.other_flags = "",
		.file_flag = "--file=",
		.argument_flag = "--say=",
		.resume = "",
		.resume_deliver = DELIVER_PASTE };
	static const struct profile bare = { .session_flags = "",
		.prompt_flags = "",
		.other_flags = "",
		.file_flag = "-f",
		.argument_flag = "",
		.resume = "",
		.resume_deliver = DELIVER_PASTE };
	static const struct {
		const struct profile *row;
		enum deliver way;
		const char *command, *want;
	} cases[] = {
		{ &row, DELIVER_FILE, "claude --model x 'do it'; bash",
		    "claude --file /proc/self/fd/3 --model x; bash" },
		{ &row, DELIVER_FILE, "claude --resume old -i 'do it'", "claude --file /proc/self/fd/3" },
		{ &row, DELIVER_FILE, "claude --new thing", NULL },
		{ &row, DELIVER_FILE, "claude | tee log", NULL },
		{ &row, DELIVER_ARGUMENT, "claude --model x go",
		    "claude --model x --say \"$(cat <&3)\" 3<&-" },
		{ &row, DELIVER_PASTE, "exec claude -i go --model x", "exec claude --model x 3<&-" },
		{ &row, DELIVER_STDIN, "claude -i go and", "claude and <&3 3<&-" },
		{ &joined, DELIVER_FILE, "claude", "claude --file=/proc/self/fd/3" },
		{ &joined, DELIVER_ARGUMENT, "claude", "claude --say=\"$(cat <&3)\" 3<&-" },
		/* with no flags known "run" may be a command of the program */
		{ &bare, DELIVER_FILE, "claude run --new thing",
		    "claude -f /proc/self/fd/3 run --new thing" },
		{ &bare, DELIVER_ARGUMENT, "claude run", "claude run \"$(cat <&3)\" 3<&-" },
		{ &bare, DELIVER_PASTE, "claude run", "claude run 3<&-" },
	};
	struct launch l;
	char *got;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		launch_command(&l, cases[i].command, "/bin/sh", is_agent, NULL);
		got = launch_with_prompt(&l, cases[i].row, cases[i].way, false);
		if (cases[i].want == NULL)
			assert_null(got);
		else
			assert_string_equal(got, cases[i].want);
		free(got);
		launch_release(&l);
	}
	launch_command(&l, "claude --model x go", "/bin/sh", is_agent, NULL);
	got = launch_with_resume(&l, &row, ID);
	assert_string_equal(got, "claude --resume " ID " --file /proc/self/fd/3 --model x");
	free(got);
	launch_release(&l);
}

static void
knows_a_persons_shell(void **state)
{
	static const struct { const char *command; bool shell;
	} cases[] = {
		{ "bash", true }, { "exec /bin/zsh -l", true }, { "bash --norc --noprofile", true },
		{ "cd /x; fish", true }, { "bash run-agent.sh", false }, { "claude", false },
		{ "claude; exec bash", false }, { "ssh host", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;

		launch_command(&l, cases[i].command, "/bin/sh", is_agent, NULL);
		assert_int_equal(launch_is_shell(&l), cases[i].shell);
		launch_release(&l);
	}
}

static void
names_the_package_of_a_script(void **state)
{
	static const struct { const char *script, *want;
	} cases[] = {
		{ "/usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js", "gemini-cli" },
		{ "/x/node_modules/cline/dist/cli.js", "cline" },
		{ "/x/node_modules/a/node_modules/@b/c/d.js", "c" },
		{ "/x/node_modules/alone.js", NULL }, { "/x/node_modules/@scope", NULL },
		{ "/usr/bin/codex", NULL }, { "/x/node_modules/", NULL },
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(proc_package(cases[i].script, name), cases[i].want != NULL);
		if (cases[i].want != NULL)
			assert_string_equal(name, cases[i].want);
	}
}

static void
reads_tmux_form_and_unwraps(void **state)
{
	struct launch l;
	char *home;

	(void)state;
	launch_read(&l, "\"exec env HOME=\\\"/h/a b\\\" claude --x\"", "/bin/bash", is_agent, NULL);
	assert_string_equal(l.command, "exec env HOME=\"/h/a b\" claude --x");
	assert_string_equal(l.shell, "/bin/bash");
	home = launch_env(&l, "HOME");
	assert_string_equal(home, "/h/a b");
	free(home);
	launch_release(&l);

	launch_read(&l, "sh -c WRAPPER gt-recover /p /bin/zsh \"claude --x\"", "/bin/bash", is_agent, NULL);
	assert_true(l.wrapped);
	assert_string_equal(l.command, "claude --x");
	assert_string_equal(l.shell, "/bin/zsh");
	launch_release(&l);

	launch_read(&l, "claude --y \"a b\"", "/bin/bash", is_agent, NULL);
	assert_string_equal(l.command, "exec claude --y 'a b'");
	assert_string_equal(l.shell, "/bin/sh");
	assert_true(l.certain);
	launch_release(&l);

	launch_read(&l, "", "/bin/bash", is_agent, NULL);
	assert_null(l.command);
	launch_release(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_no_command_as_it_is),
		cmocka_unit_test(finds_the_agent),
		cmocka_unit_test(takes_session_flags_out),
		cmocka_unit_test(feeds_the_agent_alone),
		cmocka_unit_test(leaves_out_what_was_told),
		cmocka_unit_test(goes_on_with_a_conversation),
		cmocka_unit_test(goes_on_and_waits_for_a_paste),
		cmocka_unit_test(puts_exec_where_nothing_follows),
		cmocka_unit_test(puts_exec_where_a_program_is_found),
		cmocka_unit_test(is_told_in_other_ways),
		cmocka_unit_test(knows_a_persons_shell),
		cmocka_unit_test(names_the_package_of_a_script),
		cmocka_unit_test(reads_tmux_form_and_unwraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
