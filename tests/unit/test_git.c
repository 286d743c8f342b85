#include "test.h"

#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/io.h"
#include "base/spawn.h"
#include "beads/beads.h"
#include "git/git.h"
#include "fake_scrub.h"
#include "temp.h"

struct repo {
	char *dir;
	char *work;
	char *config;
	struct scrub s;
	struct err e;
	struct clean_text *out;
};

static int
setup(void **state)
{
	struct repo *r = xcalloc(1, sizeof *r);

	r->dir = temp_dir();
	r->work = io_join(r->dir, "work");
	r->config = io_join(r->dir, "gitconfig");
	temp_write(
	    r->config, "[user]\n\tname = t\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n");
	setenv("GIT_CONFIG_GLOBAL", r->config, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	assert_int_equal(mkdir(r->work, 0700), 0);
	*state = r;
	return 0;
}

static int
teardown(void **state)
{
	struct repo *r = *state;

	clean_free(r->out);
	temp_remove(r->dir);
	free(r->work);
	free(r->config);
	free(r);
	return 0;
}

/* A shell in the work tree: the tests' own preparations. */
static void
sh(struct repo *r, const char *script)
{
	const char *argv[] = { "sh", "-ec", script, NULL };
	struct buf words = BUF_INIT;
	struct spawn s = {
		.argv = argv, .cwd = r->work, .out = &words, .errout = &words, .timeout_ms = 20000
	};

	if (spawn_run(&s, &r->e) != 0 || s.status != 0)
		fail_msg("%s: %s %s", script, r->e.msg, words.data);
	buf_release(&words);
}

static const char *
state_of(struct repo *r, const char *dir)
{
	clean_free(r->out);
	r->out = NULL;
	err_clear(&r->e);
	if (git_state(dir, &r->s, &r->out, &r->e) != 0)
		fail_msg("%s", r->e.msg);
	return r->out != NULL ? clean_bytes(r->out) : NULL;
}

/* git 2.35 or later */
static bool
tells_stashes(void)
{
	const char *argv[] = { "git", "version", NULL };
	struct buf words = BUF_INIT;
	struct spawn sp = { .argv = argv, .out = &words, .timeout_ms = 20000 };
	int major = 0, minor = 0;

	assert_int_equal(spawn_run(&sp, NULL), 0);
	assert_int_equal(sscanf(words.data, "git version %d.%d", &major, &minor), 2);
	buf_release(&words);
	return major > 2 || minor >= 35;
}

static void
has(const char *text, const char *part)
{
	assert_non_null(text);
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is missing in:\n%s", part, text);
}

static void
test_whole_state(void **state)
{
	struct repo *r = *state;

	sh(r,
	    "git init -q --bare ../origin; git init -q; git remote add origin ../origin; echo 1 > a.c; echo "
	    "1 > b.c; echo 1 > old; echo two > gone; "
	    "git add .; git commit -qm 'First SECRET step'; git push -qu origin main; git checkout -qb "
	    "polecat/toast; "
	    "git push -qu origin polecat/toast; echo 2 > a.c; git commit -qam 'Second'; git commit -q "
	    "--allow-empty -m 'Parse the header SECRET'; "
	    "echo stashed > b.c; git stash -q; echo 3 > a.c; echo 3 > b.c; git add b.c; echo 4 > b.c; git mv "
	    "old 'new name'; git rm -q gone; "
	    "echo new > 'with space'; mkdir sub; echo x > sub/deep");
	state_of(r, r->work);
	has(clean_bytes(r->out), "Branch polecat/toast, 2 commits ahead of origin/polecat/toast\n");
	has(clean_bytes(r->out), " Parse the header [R]\n");
	has(clean_bytes(r->out), "4 files changed, 2 untracked\n");
	has(clean_bytes(r->out), "modified   a.c\n");
	has(clean_bytes(r->out), "modified   b.c (staged in part)\n");
	has(clean_bytes(r->out), "renamed    new name (staged)\n");
	has(clean_bytes(r->out), "deleted    gone (staged)\n");
	has(clean_bytes(r->out), "untracked  with space\n");
	has(clean_bytes(r->out), "untracked  sub/\n");
	if (tells_stashes())
		has(clean_bytes(r->out), "1 stash\n");
	assert_null(strstr(clean_bytes(r->out), "SECRET"));
	assert_true(r->s.calls > 0);
	/* from within a directory of the work tree */
	free(r->work);
	r->work = io_join(r->dir, "work/sub");
	has(state_of(r, r->work), "Branch polecat/toast");
}

static void
test_small_states(void **state)
{
	struct repo *r = *state;

	assert_null(state_of(r, r->work));
	assert_null(state_of(r, "/no/such/directory"));
	sh(r, "git init -q");
	assert_string_equal(
	    state_of(r, r->work), "Branch main, no upstream\nNo commit yet\nNo changed files\n");
	sh(r, "echo 1 > a; git add a; git commit -qm one; git checkout -q --detach");
	has(state_of(r, r->work), "No branch (detached HEAD)\n");
	has(clean_bytes(r->out), "No changed files\n");
	sh(r, "git checkout -q main; git branch up; git branch -qu up; git branch -qD up");
	has(state_of(r, r->work), "Branch main, its upstream up is gone\n");
	assert_null(state_of(r, r->config));
}

static void
test_unfinished(void **state)
{
	struct repo *r = *state;

	sh(r,
	    "git init -q; echo 1 > a; git add a; git commit -qm one; git checkout -qb other; echo 2 > a; git "
	    "commit -qam two; git checkout -q main; "
	    "echo 3 > a; git commit -qam three; git merge -q other || true; touch .git/index.lock; mkdir "
	    "sub");
	has(state_of(r, r->work), "A merge is not finished\n");
	has(clean_bytes(r->out), "1 in conflict");
	has(clean_bytes(r->out), "conflict   a\n");
	has(clean_bytes(r->out), "index.lock");
	sh(r, "rm .git/index.lock; git merge --abort; git rebase -q other || true; echo > sub/x");
	free(r->work);
	r->work = io_join(r->dir, "work/sub");
	has(state_of(r, r->work), "A rebase is not finished\n");
}

static void
test_many_and_odd_names(void **state)
{
	struct repo *r = *state;

	sh(r,
	    "git init -q; echo 1 > \"$(printf 'a\\033[31mred\\nline')\"; i=0; while [ $i -lt 40 ]; do echo > "
	    "f$i; i=$((i+1)); done; "
	    "echo > -- --help; echo > '$(touch BAD)'");
	has(state_of(r, r->work), "43 untracked\n");
	has(clean_bytes(r->out), "… and 13 more\n");
	assert_null(strchr(clean_bytes(r->out), '\033'));
	sh(r, "rm -f f*");
	has(state_of(r, r->work), "untracked  a\\x1b[31mred\\nline\n");
	has(clean_bytes(r->out), "untracked  $(touch BAD)\n");
}

/*
 * What the repository would like us to run. Each of these leaves a mark when plain git status is
 * run; the last step shows that they work.
 */
static void
test_runs_nothing_of_theirs(void **state)
{
	struct repo *r = *state;
	char *mark = io_join(r->dir, "mark"), *script = io_join(r->dir, "evil");
	char *setup_them;

	setup_them = xasprintf("printf '#!/bin/sh\\ntouch %s\\ncat\\n' > %s; chmod +x %s; git init -q; echo "
			       "1 > a; echo 1 > b; git add .; git commit -qm one; "
			       "mkdir -p hooks; for h in post-index-change fsmonitor-watchman pre-auto-gc; "
			       "do cp %s .git/hooks/$h; done; "
			       "git config core.fsmonitor %s; git config filter.x.clean %s; git config "
			       "'filter.a=b.clean' %s; git config 'filter.a=b.required' true; "
			       "git config log.showSignature true; git config gpg.program %s; git config "
			       "core.pager %s; git config pager.status true; "
			       "printf 'a filter=x\\nb filter=a=b\\n' > .git/info/attributes; rm -f %s",
	    mark, script, script, script, script, script, script, script, script, mark);
	sh(r, setup_them);
	for (int i = 0; i < 2; i++) {
		/* same size, other time: git must read the file, through the filter */
		sh(r, "echo 2 > a; echo 2 > b; touch -d '2001-01-01' a b");
		has(state_of(r, r->work), "modified   a\n");
		has(clean_bytes(r->out), "modified   b\n");
		assert_int_equal(access(mark, F_OK), -1);
	}
	sh(r, "git status > /dev/null");
	assert_int_equal(access(mark, F_OK), 0);
	free(mark);
	free(script);
	free(setup_them);
}

static void
test_writes_nothing_and_ignores_the_environment(void **state)
{
	struct repo *r = *state;
	char *index = io_join(r->work, ".git/index"), *other = io_join(r->dir, "elsewhere");
	struct buf before = BUF_INIT, after = BUF_INIT;
	struct stat a, b;

	sh(r, "git init -q; echo 1 > a; git add .; git commit -qm one; touch -d '2001-01-01' a");
	assert_int_equal(io_read_file(index, 65536, &before, NULL), 0);
	assert_int_equal(stat(index, &a), 0);
	setenv("GIT_DIR", other, 1);
	setenv("GIT_INDEX_FILE", other, 1);
	setenv("GIT_WORK_TREE", r->dir, 1);
	has(state_of(r, r->work), "No changed files\n");
	unsetenv("GIT_DIR");
	unsetenv("GIT_INDEX_FILE");
	unsetenv("GIT_WORK_TREE");
	assert_int_equal(io_read_file(index, 65536, &after, NULL), 0);
	assert_int_equal(stat(index, &b), 0);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, after.len);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_memory_equal(&a.st_mtim, &b.st_mtim, sizeof a.st_mtim);
	buf_release(&before);
	buf_release(&after);
	free(index);
	free(other);
}

static void
test_broken_repository_and_no_git(void **state)
{
	struct repo *r = *state;
	char *path = xstrdup(getenv("PATH"));

	sh(r, "git init -q; echo 1 > a; git add .; git commit -qm one; printf garbage > .git/index");
	assert_int_equal(git_state(r->work, &r->s, &r->out, &r->e), -1);
	assert_string_equal(r->e.name, "git");
	setenv("PATH", r->dir, 1);
	assert_null(state_of(r, r->work));
	setenv("PATH", path, 1);
	free(path);
}

/* A git that never answers costs five seconds at most. */
static void
test_deadline(void **state)
{
	struct repo *r = *state;
	char *git = io_join(r->dir, "git"), *path = xasprintf("%s:%s", r->dir, getenv("PATH")),
	     *before = xstrdup(getenv("PATH"));

	temp_write(git, "#!/bin/sh\nexec tail -f /dev/null\n");
	chmod(git, 0755);
	setenv("PATH", path, 1);
	assert_int_equal(git_state(r->work, &r->s, &r->out, &r->e), -1);
	setenv("PATH", before, 1);
	assert_string_equal(r->e.name, "timeout");
	free(git);
	free(path);
	free(before);
}

/* --- checkpoint --- */

#define NOW INT64_C(1767225600000)	/* 2026-01-01T00:00:00Z */

static const char *
checkpoint(struct repo *r, const char *json)
{
	char *path = io_join(r->work, ".polecat-checkpoint.json");

	temp_write(path, json);
	free(path);
	clean_free(r->out);
	r->out = NULL;
	err_clear(&r->e);
	return bead_checkpoint_read(r->work, NOW, &r->s, &r->out, &r->e) == 0 && r->out != NULL
	    ? clean_bytes(r->out)
	    : NULL;
}

static void
test_checkpoint(void **state)
{
	struct repo *r = *state;

	assert_int_equal(bead_checkpoint_read(r->work, NOW, &r->s, &r->out, &r->e), 0);
	assert_null(r->out);
	assert_string_equal(checkpoint(r,
				"{\"molecule_id\":\"mol-1\",\"current_step\":\"gt-abc.3\",\"step_title\":"
				"\"Write tests\","
				"\"modified_files\":[\"src/a.c\",\"b "
				"SECRET\"],\"last_commit\":\"deadbeef\",\"branch\":\"polecat/"
				"toast\",\"hooked_bead\":\"gt-abc\","
				"\"timestamp\":\"2025-12-31T23:29:59.123456789Z\",\"session_id\":\"\","
				"\"notes\":\"the key is SECRET\"}"),
	    "Written 30m before this recovery\nMolecule: mol-1\nStep: gt-abc.3\nStep title: Write "
	    "tests\nHooked bead: gt-abc\n"
	    "Branch: polecat/toast\nLast commit: deadbeef\nModified files:\n  src/a.c\n  b [R]\nNotes: the "
	    "key is [R]\n");
	/* time zones: 14:30 in California and 07:30 in Tokyo are the same half past ten at night */
	has(checkpoint(r, "{\"timestamp\":\"2025-12-31T14:30:00-08:00\",\"notes\":\"x\"}"),
	    "Written 1h before");
	has(checkpoint(r, "{\"timestamp\":\"2026-01-01T07:30:00+09:00\",\"notes\":\"x\"}"),
	    "Written 1h before");
	has(checkpoint(r, "{\"timestamp\":\"2025-12-31T00:00:00Z\"}"), "Written 24h before");
	assert_null(checkpoint(r, "{\"timestamp\":\"2025-12-30T23:59:59Z\"}"));
	assert_int_equal(r->e.code, 0);
	has(checkpoint(r, "{\"timestamp\":\"2026-01-01T00:04:00Z\"}"), "Written 0s before");
	assert_null(checkpoint(r, "{\"timestamp\":\"2026-01-01T00:06:00Z\"}"));
	assert_null(checkpoint(r, "{\"timestamp\":"));
	assert_string_equal(r->e.name, "checkpoint");
	assert_null(checkpoint(r, "[1]"));
	assert_string_equal(r->e.name, "checkpoint");
}

static void
test_checkpoint_without_a_time(void **state)
{
	struct repo *r = *state;
	char *path = io_join(r->work, ".polecat-checkpoint.json");
	struct stat st;

	checkpoint(r, "{\"notes\":\"x\",\"timestamp\":7,\"modified_files\":\"none\"}");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(
	    bead_checkpoint_read(r->work, ((int64_t)st.st_mtim.tv_sec + 90) * 1000, &r->s, &r->out, &r->e),
	    0);
	assert_string_equal(clean_bytes(r->out), "Written 1m before this recovery\nNotes: x\n");
	free(path);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole_state, setup, teardown),
		cmocka_unit_test_setup_teardown(test_small_states, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unfinished, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_and_odd_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_runs_nothing_of_theirs, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    test_writes_nothing_and_ignores_the_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken_repository_and_no_git, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_without_a_time, setup, teardown),
	};

	return cmocka_run_group_tests_name("git", tests, NULL, NULL);
}
