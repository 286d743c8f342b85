#include "test.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "process/orphan.h"
#include "base/clock.h"
#include "base/io.h"
#include "conversation/conversation.h"
#include "records/hooks/hooks.h"
#include "recover/recover_private.h"
#include "scrub/scrub.h"
#include "temp.h"
#include "gastown/gastown.h"

struct scene {
	char *dir;
	struct conversation talk;
	struct unfinished_list list;
	struct unfinished_context place;
	struct town_list out;
};

static int
setup(void **state)
{
	struct scene *t = xcalloc(1, sizeof *t);

	t->dir = temp_dir();
	t->talk = (struct conversation)CONVERSATION_INIT;
	t->place.cwd = t->dir;
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct scene *t = *state;

	conversation_release(&t->talk);
	town_list_release(&t->out);
	temp_remove(t->dir);
	free(t);
	return 0;
}

static struct exchange *
call(struct scene *t, const char *tool, const char *input, const char *content, enum status status)
{
	struct exchange *x = conversation_add(
	    &t->talk, ROLE_ASSISTANT, xstrdup(tool), input != NULL ? xstrdup(input) : NULL, xstrdup(content));

	x->status = status;
	return x;
}

static void
say(struct scene *t)
{
	town_list_release(&t->out);
	gather_unfinished(&t->talk, false, &t->list);
	gather_unfinished_report(&t->list, &t->place, &t->out);
}

static void
is(struct scene *t, size_t i, const char *want)
{
	assert_true(i < t->out.n);
	assert_string_equal(t->out.v[i], want);
}

static void
starts(struct scene *t, size_t i, const char *want)
{
	assert_true(i < t->out.n);
	if (strncmp(t->out.v[i], want, strlen(want)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", t->out.v[i], want);
}

static void
says(struct scene *t, size_t i, const char *want)
{
	assert_true(i < t->out.n);
	if (strstr(t->out.v[i], want) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", t->out.v[i], want);
}

static void
names_what_was_open(void **state)
{
	static const enum unfinished_kind want[] = { UNFINISHED_PLAN, UNFINISHED_QUESTION,
		UNFINISHED_PERMISSION, UNFINISHED_AGENTS, UNFINISHED_CALL };
	struct scene *t = *state;

	call(t, "Bash", "make", "ok", STATUS_COMPLETE);
	call(t, "Bash", "false", "Exit code 1", STATUS_FAILED);
	call(t, "Write", "a.c\nint a;", "", STATUS_INTERRUPTED);
	call(t, "Read", NULL, "Read 3 files", STATUS_RUNNING)->folded = true;
	call(t, "ExitPlanMode", "1. Do it", "", STATUS_WAITING);
	call(t, "AskUserQuestion", "Which library?\n- date-fns\n- luxon", "", STATUS_RUNNING);
	call(t, "Write", "src/a.c", "", STATUS_WAITING);
	t->talk.question = xstrdup("Do you want to create a.c?");
	call(t, "Agent", "Count lines\nCount all the lines", "", STATUS_RUNNING);
	call(t, "WebFetch", "https://example.org/\nread it", "", STATUS_RUNNING);
	conversation_add(&t->talk, ROLE_ASSISTANT, NULL, NULL, xstrdup("I go"))->status = STATUS_RUNNING;
	say(t);
	assert_int_equal(t->list.n, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(t->list.v[i].kind, want[i]);
	is(t, 0, "Your plan waited for the person's agreement and did not get it.");
	is(t, 1, "A question to the person was open and got no answer: Which library?");
	is(t, 2, "Write(src/a.c) was waiting for permission and did not run.");
	starts(t, 3, "Sub-agents were running (Count lines) and died");
	is(t, 4,
	    "WebFetch(https://example.org/\\nread it) was running: it may have done part of its work. Check "
	    "before you run it again.");
}

/* A hook ran before it: nobody was asked. */
static void
a_call_without_a_dialog_had_not_begun(void **state)
{
	struct scene *t = *state;

	call(t, "Bash", "make", "Waiting…", STATUS_WAITING);
	say(t);
	assert_int_equal(t->list.v[0].kind, UNFINISHED_NOT_BEGUN);
	is(t, 0, "Bash(make) had not begun: a hook or another call came before it. It did not run.");
}

static void
the_newest_are_kept_in_order(void **state)
{
	struct scene *t = *state;
	char name[16];

	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof name, "%d", i);
		call(t, "Bash", name, "", STATUS_RUNNING);
	}
	call(t, "Bash", "told before", "", STATUS_RUNNING)->source = SOURCE_EARLIER;
	say(t);
	assert_int_equal(t->out.n, UNFINISHED_MAX);
	starts(t, 0, "Bash(4) was running");
	starts(t, UNFINISHED_MAX - 1, "Bash(8) was running");
	gather_unfinished(&t->talk, true, &t->list);
	assert_string_equal(t->list.v[UNFINISHED_MAX - 1].x->input, "told before");
}

/* A file whose last change was at that time. */
static void
file(struct scene *t, const char *name, const char *text, int64_t changed_ms)
{
	char *path = io_join(t->dir, name);
	struct timeval when[2];

	when[0].tv_sec = when[1].tv_sec = (time_t)(changed_ms / 1000);
	when[0].tv_usec = when[1].tv_usec = (suseconds_t)(changed_ms % 1000 * 1000);
	temp_write(path, text);
	assert_int_equal(utimes(path, when), 0);
	free(path);
}

static void
looks_at_the_file_that_was_written(void **state)
{
	static const char git_text[] = "Branch main\nHEAD 1a2b3c4 Start\n2 files changed, 1 "
				       "untracked\nmodified   half.c (staged in part)\n"
				       "untracked  new/\nnew file   whole.c\n";
	struct scene *t = *state;
	struct scrub *s = scrub_new(NULL, NULL);
	struct clean_text *git = scrub_text(s, git_text, strlen(git_text), 0);
	char *inside = io_join(t->dir, "half.c\nint a;"), *folder = io_join(t->dir, "new");
	int64_t now = clock_wall_ms() - 60000;

	assert_int_equal(mkdir(folder, 0700), 0);
	file(t, "half.c", "int a", now + 2000);
	file(t, "new/x.ipynb", "{}", now - 5000);
	file(t, "whole.c", "", now - 7000);
	t->place.crashed_at = now;
	t->place.git = git;
	call(t, "Write", inside, "", STATUS_RUNNING)->at = now;
	call(t, "NotebookEdit", "new/x.ipynb", "", STATUS_RUNNING)->at = now;
	call(t, "Update", "whole.c", "", STATUS_RUNNING);
	call(t, "Edit", "gone.c", "", STATUS_RUNNING);
	call(t, "Write", "~/x…/y.c", "", STATUS_RUNNING);
	say(t);
	says(t, 0,
	    "half.c) was under way: the file is there, 5 bytes, changed 2s after the call: all or a part of "
	    "it may be written; "
	    "git calls it modified. Look at it");
	assert_null(strstr(t->out.v[0], "int a"));
	says(t, 1,
	    "2 bytes, last changed 5s before the call: nothing of it was written; git calls it untracked.");
	is(t, 2,
	    "Update(whole.c) was under way: the file is there, 0 bytes, last changed 7s before the crash; "
	    "git calls it new file. "
	    "Look at it before you go on.");
	starts(t, 3, "Edit(gone.c) was under way: there is no such file, nothing of it was written.");
	is(t, 4,
	    "Write(~/x…/y.c) was under way: the file may be half written or untouched. Look at it before you "
	    "go on.");
	t->place.cwd = NULL;
	say(t);
	starts(t, 2, "Update(whole.c) was under way: the file may be half written or untouched.");
	clean_free(git);
	scrub_free(s);
	free(inside);
	free(folder);
}

static void
matches_commands_and_processes(void **state)
{
	struct scene *t = *state;
	struct orphans o = { .n = 4,
		.more = 2,
		.v = {
		    { .pid = 100,
			.pgrp = 100,
			.sure = true,
			.age_ms = 300000,
			.command = xstrdup("for i in 1 2; do\n\techo $i; done"),
			.cwd = xstrdup("/elsewhere"),
			.output = xstrdup("/tmp/b1.output") },
		    { .pid = 101,
			.pgrp = 100,
			.age_ms = 1000,
			.command = xstrdup("make -j8 all && echo a very long one"),
			.cwd = xstrdup(t->dir) },
		    { .pid = 102, .pgrp = 102, .sure = true, .command = xstrdup("python3 -m http.server") },
		    { .pid = 103, .pgrp = 103, .command = xstrdup("tail -f\nx") },
		} };

	call(t, "Bash", "python3 -m http.server", "Command running in background with ID: b1. Output …",
	    STATUS_COMPLETE);
	call(t, "Bash", "sleep 99", "Running in the background (↓ to manage)", STATUS_COMPLETE);
	call(t, "Bash", "for i in 1 2; do echo $i; done", "1", STATUS_RUNNING);
	call(t, "Bash", "make -j8 all && ec…", "", STATUS_RUNNING);
	call(t, "Bash", "make -j8 al", "", STATUS_RUNNING);
	t->place.orphans = &o;
	say(t);
	assert_int_equal(t->out.n, 7);
	is(t, 0,
	    "Bash(python3 -m http.server) ran in the background and still runs (pid 102, for 0s). Look at it "
	    "before you run it again; "
	    "`kill -- -102` ends it.");
	is(t, 1,
	    "Bash(sleep 99) ran in the background; no process of it was found: it has ended, or it died with "
	    "the agent.");
	is(t, 2,
	    "Bash(for i in 1 2; do echo $i; done) was running and still runs (pid 100, for 5m, in "
	    "/elsewhere, its output goes to "
	    "/tmp/b1.output). Look at it before you run it again; `kill -- -100` ends it.");
	is(t, 3,
	    "Bash(make -j8 all && ec…) was running and may still run: a process like it does (pid 101, for "
	    "1s). Look at it before you "
	    "run it again; `kill 101` ends it.");
	is(t, 4,
	    "Bash(make -j8 al) was running; no process of it was found. It may have done part of its work: "
	    "check before you run it again.");
	is(t, 5,
	    "A process that may be this agent's still runs (pid 103, for 0s): tail -f\\nx. If it is not "
	    "wanted, `kill -- -103` ends it.");
	is(t, 6, "2 more processes may be this agent's; look before you start anything again.");
	t->place.orphans = NULL;
	say(t);
	assert_int_equal(t->out.n, 5);
	is(t, 4,
	    "Bash(make -j8 al) was running: it may have done part of its work, and what it started may still "
	    "run. Check before you run it "
	    "again.");
	o.more = 0;
	orphan_list_release(&o);
}

/*
 * What hooks told of, and nothing else does: a write of which the conversation shows the call is
 * not said twice.
 */
static void
test_hooks_told(void **state)
{
	struct scene *t = *state;
	struct conversation heard = CONVERSATION_INIT;
	struct scrub *s = scrub_new(NULL, NULL);
	char *seen = xasprintf("%s/seen.c", t->dir), *lost = xasprintf("%s/lost.c", t->dir),
	     *again = xasprintf("%s/again.c", t->dir);
	struct activity_file files[] = {
		{ .path = seen, .tool = (char[]){ "Edit" }, .began = 90000 },
		{ .path = lost, .tool = (char[]){ "Write" }, .began = 91000 },
		{ .path = again, .tool = (char[]){ "Write" }, .began = 92000 },
		{ .path = (char[]){ "/w/whole.c" },
		    .tool = (char[]){ "Write" },
		    .began = 93000,
		    .ended = 93001 },
		{ .path = (char[]){ "/w/before.c" }, .tool = (char[]){ "Write" }, .began = 50000 },
		{ .path = (char[]){ "/w/answered.c" }, .tool = (char[]){ "Write" }, .began = 94000 },
	};
	struct activity told = { .files = files, .n_files = sizeof files / sizeof files[0], .turned = 60000 };

	temp_write(lost, "int half");
	/* as a screen names it */
	call(t, "Edit", "seen.c", "", STATUS_RUNNING);
	call(t, "Write", again, "Wrote it.", STATUS_COMPLETE)->at = 70000;
	call(t, "Write", "/w/answered.c", "Error: denied", STATUS_FAILED)->at = 93800;
	gather_unfinished(&t->talk, false, &t->list);
	assert_int_equal(t->list.n, 1);
	gather_unfinished_add(&told, &t->talk, t->dir, s, &heard, &t->list);
	assert_int_equal(t->list.n, 3);
	gather_unfinished_report(&t->list, &t->place, &t->out);
	assert_int_equal(t->out.n, 3);
	assert_non_null(strstr(t->out.v[0], "Edit(seen.c) was under way"));
	assert_non_null(strstr(t->out.v[1], "again.c) was under way: there is no such file"));
	assert_non_null(strstr(t->out.v[2], "lost.c) was under way: the file is there, 8 bytes"));
	assert_string_equal(heard.v[1].input, lost);
	conversation_release(&heard);
	scrub_free(s);
	free(seen);
	free(lost);
	free(again);
}

/* The transcript lacks the results: the hooks' record knows which of the writes are over. */
static void
test_hooks_know_the_end(void **state)
{
	struct scene *t = *state;
	struct conversation heard = CONVERSATION_INIT;
	struct scrub *s = scrub_new(NULL, NULL);
	struct activity_file files[] = {
		{ .path = (char[]){ "/w/left.c" }, .call = (char[]){ "1" }, .began = 90100 },
		{ .path = (char[]){ "/w/again.c" }, .call = (char[]){ "2" }, .began = 90200 },
		{ .path = (char[]){ "/w/ended.c" }, .began = 90300, .ended = 90301, .status = "failed" },
		{ .path = (char[]){ "/w/seen.c" }, .began = 90400, .ended = 90401 },
		{ .path = (char[]){ "/w/helper.c" },
		    .agent = (char[]){ "h" },
		    .began = 90500,
		    .ended = 90501 },
		{ .path = (char[]){ "/w/open.c" }, .call = (char[]){ "6" }, .began = 90600 },
	};
	struct activity told = { .files = files,
		.n_files = sizeof files / sizeof files[0],
		.last = { .id = (char[]){ "6" }, .at = 90600 } };
	static const char *const want[] = { "/w/again.c", "/w/seen.c", "/w/helper.c", "/w/open.c" };

	/* the write before the one that is open, and one that ended */
	call(t, "Write", "/w/left.c\nint a;", "", STATUS_RUNNING)->at = 90000;
	call(t, "Edit", "/w/ended.c", "", STATUS_RUNNING)->at = 90000;
	/* a later write than the one that is over, one without a time, and one beside a sub-agent's */
	call(t, "Write", "/w/again.c", "", STATUS_RUNNING)->at = 90201;
	call(t, "Write", "/w/seen.c", "", STATUS_RUNNING);
	call(t, "Write", "/w/helper.c", "", STATUS_RUNNING)->at = 90000;
	gather_unfinished(&t->talk, false, &t->list);
	assert_int_equal(t->list.n, 5);
	gather_unfinished_add(&told, &t->talk, t->dir, s, &heard, &t->list);
	assert_int_equal(t->list.n, 4);
	for (size_t i = 0; i < t->list.n; i++)
		assert_string_equal(t->list.v[i].x->input, want[i]);
	conversation_release(&heard);
	scrub_free(s);
}

/* Five are told of, the newest first. */
static void
test_hooks_many(void **state)
{
	struct scene *t = *state;
	struct conversation heard = CONVERSATION_INIT;
	struct scrub *s = scrub_new(NULL, NULL);
	struct activity_file files[9];
	struct activity told = { .files = files, .n_files = 9 };

	memset(files, 0, sizeof files);
	for (int i = 0; i < 9; i++) {
		files[i].path = xasprintf("/w/%d", i);
		files[i].began = i + 1;
	}
	gather_unfinished_add(&told, &t->talk, t->dir, s, &heard, &t->list);
	assert_int_equal(t->list.n, UNFINISHED_MAX);
	assert_string_equal(t->list.v[0].x->input, "/w/8");
	assert_string_equal(t->list.v[UNFINISHED_MAX - 1].x->input, "/w/4");
	for (int i = 0; i < 9; i++)
		free(files[i].path);
	conversation_release(&heard);
	scrub_free(s);
}

/* What other agents call a write; what stands on their screens is a call like others. */
static void
test_other_agents(void **state)
{
	struct scene *t = *state;

	call(t, "write_file", "/nowhere/a.md\n# A", "", STATUS_RUNNING);
	call(t, "create", "/nowhere/b.md", "", STATUS_RUNNING);
	call(t, "edit", "the plan", "", STATUS_RUNNING);
	call(t, "apply_patch", "/nowhere/c", "", STATUS_RUNNING);
	say(t);
	starts(t, 0, "write_file(/nowhere/a.md) was under way: there is no such file");
	starts(t, 1, "create(/nowhere/b.md) was under way: there is no such file");
	starts(t, 2, "edit(the plan) was running: it may have done part");
	starts(t, 3, "apply_patch(/nowhere/c) was running: it may have done part");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_what_was_open, setup, teardown),
		cmocka_unit_test_setup_teardown(a_call_without_a_dialog_had_not_begun, setup, teardown),
		cmocka_unit_test_setup_teardown(the_newest_are_kept_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(looks_at_the_file_that_was_written, setup, teardown),
		cmocka_unit_test_setup_teardown(matches_commands_and_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hooks_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hooks_know_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hooks_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_agents, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
