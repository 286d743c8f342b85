#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/proc.h"
#include "recover/recover_private.h"

/* Nothing speaks against it. */
static const struct resume_facts good = { .has_flag = true,
	.can_tell = true,
	.clear = true,
	.how = FOUND_RECORD,
	.in_place = true,
	.stand = TRANSCRIPT_WHOLE,
	.tokens = 119999,
	.most_tokens = 120000 };

static const char *
reason(const struct resume_facts *f)
{
	const struct resume_refusal *no = resume_judge(f);

	if (no != NULL)
		assert_true(strlen(no->sentence) > 10);
	return no != NULL ? no->name : "yes";
}

#define EXPECT(name, ...)                                                                                    \
	do {                                                                                                 \
		struct resume_facts f = good;                                                                \
		__VA_ARGS__;                                                                                 \
		assert_string_equal(reason(&f), name);                                                       \
	} while (0)

static void
each_reason_has_its_name(void **state)
{
	static const enum found sure[] = { FOUND_RECORD, FOUND_SNAPSHOT, FOUND_COMMAND, FOUND_WORKTREE,
		FOUND_TOWN, FOUND_FAREWELL };

	(void)state;
	for (size_t i = 0; i < sizeof sure / sizeof sure[0]; i++)
		EXPECT("yes", f.how = sure[i]);
	EXPECT("no-flag", f.has_flag = false);
	EXPECT("no-stdin", f.can_tell = false);
	EXPECT("unclear-command", f.clear = false);
	EXPECT("tried", f.tried = true);
	EXPECT("untold", f.untold = true);
	EXPECT("stale", f.gone = true);
	EXPECT("ambiguous", f.how = FOUND_AMBIGUOUS; f.in_place = false);
	EXPECT("no-transcript", f.how = FOUND_NONE; f.in_place = false);
	EXPECT("unsure", f.how = FOUND_FOLDER);
	EXPECT("foreign", f.in_place = false);
	EXPECT("foreign", f.stand = TRANSCRIPT_FOREIGN);
	EXPECT("in-use", f.in_use = true);
	EXPECT("moved-on", f.moved_on = true);
	EXPECT("split", f.split = true);
	EXPECT("empty", f.stand = TRANSCRIPT_EMPTY);
	EXPECT("torn", f.stand = TRANSCRIPT_TORN);
	EXPECT("broken", f.stand = TRANSCRIPT_BROKEN);
	EXPECT("too-large", f.stand = TRANSCRIPT_LARGE);
	EXPECT("too-large", f.tokens = 120000);
}

/*
 * Of several the one that a person can do least about comes first; what was found is named before
 * what is wrong with it.
 */
static void
the_first_reason_is_told(void **state)
{
	(void)state;
	EXPECT("no-flag", f = (struct resume_facts){ .how = FOUND_NONE });
	EXPECT("tried", f.tried = true; f.in_use = true; f.how = FOUND_NONE);
	EXPECT("stale", f.gone = true; f.how = FOUND_NONE; f.in_place = false);
	EXPECT("in-use", f.in_use = true; f.tokens = 500000);
}

static pid_t
run(const char *const *argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

static bool
has(pid_t pid, const char *word)
{
	struct proc p;

	assert_int_equal(proc_read(pid, &p), 0);
	return proc_has_argument(&p, word, NULL);
}

/* An id counts as an argument of its own, not as a part of a path or of a command in a string. */
static void
finds_an_id_among_arguments(void **state)
{
	static const char *const argv[] = { "sh", "-c", "read x", "sh", "--resume", "id-1",
		"--session-id=id-2", "/tasks/id-3", "say --resume id-4", NULL };
	int in[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(dup2(in[0], 0), 0);
	pid = run(argv);
	assert_true(pid > 0);
	/* until exec has put its arguments in place of ours */
	for (int i = 0; i < 5000 && !has(pid, "id-1"); i++)
		usleep(1000);
	assert_true(has(pid, "id-1"));
	assert_true(has(pid, "id-2"));
	assert_false(has(pid, "id-3"));
	assert_false(has(pid, "id-4"));
	assert_false(has(pid, "id"));
	close(in[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_has_its_name),
		cmocka_unit_test(the_first_reason_is_told),
		cmocka_unit_test(finds_an_id_among_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
