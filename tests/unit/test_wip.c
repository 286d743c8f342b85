/* Work in progress as commits of their own (git/git.h), by the real git. */

#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/spawn.h"
#include "scrub/scrub.h"
#include "git/git.h"
#include "temp.h"

#define REF "refs/heads/epic-1/sprint-2-wip"
#define TOKEN_COST "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

struct repo {
	char *dir, *work, *room, *config;
	struct scrub *s;
	struct err e;
	struct buf out;
};

/* A shell in the work tree: the tests' own preparations and looks. What it printed. */
static const char *
sh(struct repo *r, const char *script)
{
	const char *argv[] = { "sh", "-ec", script, NULL };
	struct spawn s = {
		.argv = argv, .cwd = r->work, .out = &r->out, .errout = &r->out, .timeout_ms = 30000
	};

	buf_reset(&r->out);
	if (spawn_run(&s, &r->e) != 0 || s.status != 0)
		fail_msg("%s: %s %s", script, r->e.msg, r->out.data);
	return r->out.data;
}

static int
setup(void **state)
{
	struct repo *r = xcalloc(1, sizeof *r);

	buf_init(&r->out);
	r->dir = temp_dir();
	r->work = io_join(r->dir, "work");
	r->room = io_join(r->dir, "room");
	r->config = io_join(r->dir, "gitconfig");
	temp_write(
	    r->config, "[user]\n\tname = t\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n");
	setenv("GIT_CONFIG_GLOBAL", r->config, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	assert_int_equal(mkdir(r->work, 0700), 0);
	assert_int_equal(mkdir(r->room, 0700), 0);
	assert_non_null(r->s = scrub_new(NULL, &r->e));
	*state = r;
	return 0;
}

static int
teardown(void **state)
{
	struct repo *r = *state;

	scrub_free(r->s);
	temp_remove(r->dir);
	buf_release(&r->out);
	free(r->work);
	free(r->room);
	free(r->config);
	free(r);
	return 0;
}

static int
save_as(struct repo *r, const char *dir, const char *ref, struct wip *out)
{
	const struct wip_request ask = { .dir = dir,
		.ref = ref,
		.subject = "WIP: Sprint 2 checkpoint (80%)",
		.files = "- src/a.c (82% confidence)\n",
		.notes = "Last checkpoint: 2025-10-10T20:45:30Z\n",
		.room = r->room,
		.scrub = r->s };
	int ret;

	err_clear(&r->e);
	ret = wip_commit(&ask, out, &r->e);
	assert_int_equal(rmdir(r->room), 0);		/* it is empty again */
	assert_int_equal(mkdir(r->room, 0700), 0);
	return ret;
}

/* Also: is all that is the person's as it was? */
static int
save(struct repo *r, struct wip *out)
{
	static const char look[] = "cat .git/index 2>/dev/null | sha256sum; cat .git/HEAD; git for-each-ref "
				   "refs/heads/main refs/heads/topic; ls .git | grep -v logs;"
				   "git --no-optional-locks status --porcelain=v2 --branch; find . -path "
				   "./.git -prune -o -printf '%p %m %T@ %s\\n' | sort";
	char *before = xstrdup(sh(r, look));
	int ret = save_as(r, r->work, REF, out);

	/* the first branch below refs/heads may add the folder of reflogs: that is none of the person's */
	assert_string_equal(sh(r, look), before);
	free(before);
	return ret;
}

static void
begin(struct repo *r)
{
	sh(r,
	    "git init -q; echo one >a; echo two >b; mkdir d; echo three >d/c; printf '*.o\\n' >.gitignore; "
	    "git add .; git commit -qm first;"
	    "git update-ref refs/heads/zzz HEAD");
}

static void
saves_what_differs_and_nothing_else_moves(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	assert_int_equal(save(r, &w), 0);
	assert_string_equal(w.commit, "");
	wip_release(&w);

	sh(r,
	    "echo ONE >a; git rm -q b; echo staged >s; git add s; echo 'not staged' >s; mkdir e; printf "
	    "'#!/bin/sh\\n' >e/run; chmod +x e/run;"
	    "ln -s a link; echo x >x.o; printf 'odd' >'a \"b\"'; printf 'n' >\"$(printf 'new\\nline')\"; rm "
	    "d/c; echo d >d/new");
	assert_int_equal(save(r, &w), 1);
	assert_string_equal(w.ref, REF);
	assert_int_equal(w.n_skipped, 0);
	assert_string_equal(sh(r, "git ls-tree -r " REF " | sed 's/blob [0-9a-f]*/blob/'"),
	    "100644 blob\t.gitignore\n100644 blob\ta\n100644 blob\t\"a \\\"b\\\"\"\n100644 blob\td/new\n"
	    "100755 blob\te/run\n120000 blob\tlink\n100644 blob\t\"new\\nline\"\n100644 blob\ts\n");
	assert_string_equal(sh(r, "git show " REF ":a " REF ":s " REF ":link"), "ONE\nnot staged\na");
	assert_string_equal(sh(r,
				"git log --format=%an,%cn -1 " REF "; test $(git rev-parse " REF "^@) = "
												 "$(git "
												 "rev-parse "
												 "HEAD)"),
	    "gt-recover,gt-recover\n");
	wip_release(&w);

	/* nothing new: no commit */
	assert_int_equal(save(r, &w), 0);
	assert_true(strlen(w.commit) == 40);
	wip_release(&w);
	sh(r, "echo more >>s");
	assert_int_equal(save(r, &w), 1);
	wip_release(&w);
	assert_string_equal(sh(r, "git rev-list --count main.." REF), "2\n");
	assert_string_equal(sh(r, "git fsck --strict 2>&1 | grep -v dangling || true"), "");
}

static void
the_message_is_the_seed_s(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	sh(r, "echo ONE >a; echo K=v >.env");
	assert_int_equal(save(r, &w), 1);
	sh(r, "git log -1 --format=%B " REF);
	assert_ptr_equal(strstr(r->out.data,
			     "WIP: Sprint 2 checkpoint (80%)\n\nFiles in progress:\n- src/a.c (82% "
			     "confidence)\n\n"
			     "Last checkpoint: 2025-10-10T20:45:30Z\n\nLeft out, as in HEAD:\n- .env (its "
			     "name)\n\n"
			     "To take it back: (set -- $(git log -1 --format='%(trailers:key=Base,valueonly) "
			     "%H' " REF ") && d=$(mktemp -d)"),
	    r->out.data);
	assert_non_null(strstr(r->out.data, "\n\n🤖 Auto-checkpoint via gt-recover\n\nWork-tree: "));
	assert_string_equal(sh(r,
				"git log -1 --format='%(trailers:key=Base,valueonly)' " REF " | grep -cFx "
											    "$(git rev-parse "
											    "HEAD)"),
	    "1\n");
	wip_release(&w);
}

static void
it_is_restored(void **state)
{
	struct repo *r = *state;
	static const char look[] = "git status --porcelain; cat a d/new run; readlink link; stat -c %a run";
	struct wip w;
	char *was, *room = temp_dir();
	size_t n;

	begin(r);
	sh(r, "echo ONE >a; rm b; echo new >d/new; ln -s a link; printf '#!\\n' >run; chmod +x run");
	was = xstrdup(sh(r, look));
	assert_int_equal(save(r, &w), 1);
	sh(r, "git reset -q --hard; git clean -qfd");
	assert_int_equal(wip_restore(&w, NULL, 0, room, true, &n, &r->e), 0);
	assert_int_equal(n, 5);
	assert_string_equal(sh(r, "git status --porcelain"), "");
	assert_int_equal(wip_restore(&w, NULL, 0, room, false, &n, &r->e), 0);
	assert_int_equal(n, 5);
	assert_string_equal(sh(r, look), was);
	assert_int_equal(wip_restore(&w, NULL, 0, room, false, &n, &r->e), 0);
	assert_int_equal(n, 0);
	/* newer work: changed, made again, and there instead of a new file */
	sh(r, "echo newer >a; echo other >b; echo mine >d/new");
	assert_int_equal(wip_restore(&w, NULL, 0, room, false, &n, &r->e), -1);
	assert_string_equal(r->e.name, "uncommitted");
	assert_int_equal(r->e.code, GT_REFUSED);
	assert_non_null(strstr(r->e.msg, "3 files have changed since"));
	err_clear(&r->e);
	assert_string_equal(sh(r, "cat a b d/new"), "newer\nother\nmine\n");
	sh(r, "rm run; git checkout -q b");
	assert_int_equal(wip_restore(&w, (const char *const[]){ "run", "b" }, 2, room, false, &n, &r->e), 0);
	assert_int_equal(n, 2);
	assert_string_equal(sh(r, "cat a run; test -e b || echo gone"), "newer\n#!\ngone\n");
	free(was);
	temp_remove(room);
	wip_release(&w);
}

/*
 * What the checkpoint left out is not in it, and not what the command is about: on disk it stays,
 * whatever else changed there.
 */
static void
what_was_left_out_stays_when_it_is_taken_back(void **state)
{
	static const char look[] = "git -C \"$TOP\" ls-files -s; find \"$TOP\" -path \"$TOP/.git\" -prune -o "
				   "-printf '%P %y %m %l\\n' | sort;"
				   " cd \"$TOP\"; cat .env big id_rsa f/id_rsa a f/in d ':(top)x' 'o*' "
				   "../else/x";
	struct repo *r = *state;
	struct buf command = BUF_INIT;
	struct wip w;
	char *was;

	setenv("TOP", r->work, 1);
	begin(r);
	sh(r,
	    "mkdir ../else lib deep; echo x >lib/x; echo f >f; echo k >deep/k; echo gone >gone; echo K=1 "
	    ">.env; echo small >big; git add .;"
	    "git commit -qm second; echo precious >../else/x");
	/*
	 * tracked and edited, too large, staged alone, beside a new file; then changes of every
	 * kind, oddly named ones, and a staged removal
	 */
	sh(r,
	    "echo K=2 >.env; truncate -s 11M big; echo KEY >id_rsa; git add id_rsa; rm f; mkdir f; echo KEY "
	    ">f/id_rsa; git add f/id_rsa;"
	    "echo in >f/in; echo ONE >a; rm b; git rm -q gone; rm -r d; echo file >d; rm -r lib; ln -s "
	    "../else lib; echo 1 >':(top)x'; echo 2 >'o*';"
	    "echo 3 >\"$(printf 'new\\n\"line')\"");
	was = xstrdup(sh(r, look));
	assert_int_equal(save(r, &w), 1);
	assert_int_equal(w.n_skipped, 4);
	buf_str(&command, sh(r, "git log -1 --format=%B " REF " | sed -n 's/^To take it back: //p'"));
	wip_release(&w);
	/* a later one, of another HEAD: the command of its message is its own */
	setenv("COMMAND", command.data, 1);
	sh(r,
	    "git checkout -q HEAD -- a d lib; git rm -q --cached deep/k; rm 'o*' f/in ':(top)x'; "
	    "mkdir -p lib; echo other >b; echo again >gone");
	sh(r, "cd deep; eval \"$COMMAND\"");
	sh(r, "git add deep/k");
	assert_string_equal(sh(r, look), was);
	buf_release(&command);
	free(was);
}

/*
 * The ref moves on while a message of it is on somebody's screen: the command takes what the ref
 * has then, with what that differs from.
 */
static void
the_command_of_a_message_knows_that_its_ref_moved(void **state)
{
	struct repo *r = *state;
	struct buf command = BUF_INIT;
	struct wip w;

	begin(r);
	sh(r, "echo ONE >a");
	assert_int_equal(save(r, &w), 1);
	wip_release(&w);
	buf_str(&command, sh(r, "git log -1 --format=%B " REF " | sed -n 's/^To take it back: //p'"));
	setenv("COMMAND", command.data, 1);
	sh(r, "echo K=1 >.env; git add -f .env; git commit -qm env; echo K=2 >.env; echo TWO >a");
	assert_int_equal(save(r, &w), 1);
	assert_int_equal(w.n_skipped, 1);
	wip_release(&w);
	assert_string_equal(sh(r, "echo one >a; eval \"$COMMAND\"; cat a .env"), "TWO\nK=2\n");
	buf_release(&command);
}

static void
what_is_taken_back_before_the_first_commit(void **state)
{
	struct repo *r = *state;
	char *room = temp_dir();
	struct wip w;
	size_t n;

	sh(r, "git init -q; echo one >a; git add a; echo KEY >id_rsa; git add id_rsa; echo two >b");
	assert_int_equal(save(r, &w), 1);
	wip_release(&w);
	/* and as who comes later finds it */
	assert_int_equal(wip_find(r->work, REF, &w, &r->e), 1);
	sh(r, "rm b; echo x >a");
	assert_int_equal(wip_restore(&w, NULL, 0, room, false, &n, &r->e), -1);
	assert_string_equal(r->e.name, "uncommitted");
	err_clear(&r->e);
	sh(r, "rm a");
	assert_int_equal(wip_restore(&w, NULL, 0, room, false, &n, &r->e), 0);
	assert_int_equal(n, 2);
	wip_release(&w);
	temp_remove(room);
	assert_string_equal(sh(r, "cat a b id_rsa; git diff --name-only --cached --diff-filter=A "
				  "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
	    "one\ntwo\nKEY\na\nid_rsa\n");
}

static void
secrets_stay_out(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	sh(r,
	    "echo 'token = \"" TOKEN_COST "\"' >fixture; git add fixture; git commit -qm fixture;"
	    "echo 'x' >>fixture; echo 'key = \"" TOKEN_COST "\"' >new; echo "
							    "'ghp_26C7e42F292c6912E7710c838347Ae178B4b' >>a; "
							    "echo K=v >.env;"
	    "mkdir -p k/.ssh; echo k >k/.ssh/config; echo k >k/id_rsa; echo e >.env.example; git add -f new");
	assert_int_equal(save(r, &w), 1);
	/* what HEAD has is not told by a checkpoint; what it has not, is */
	assert_string_equal(w.skipped,
	    "- a (it holds a secret)\n- new (it holds a secret)\n- .env (its name)\n- k/.ssh/config (its "
	    "name)\n"
	    "- k/id_rsa (its name)\n");
	assert_int_equal(w.n_skipped, 5);
	assert_string_equal(sh(r, "git diff --name-only HEAD " REF), ".env.example\nfixture\n");
	/* nor is it anywhere among the objects, but for what the person staged */
	assert_string_equal(
	    sh(r, "git cat-file --batch-all-objects --batch --buffer | grep -c 26C7e42F || true"), "0\n");
	wip_release(&w);
}

static void
huge_and_foreign_things_stay_out(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	sh(r,
	    "git init -q sub; cd sub; echo s >s; git add .; git commit -qm s; cd ..; git -c "
	    "protocol.file.allow=always submodule -q add ./sub mod"
	    " 2>/dev/null || git -c protocol.file.allow=always submodule add \"$PWD/sub\" mod >/dev/null "
	    "2>&1; git commit -qm mod;"
	    "cd mod; echo t >s; git commit -qam t; echo dirty >s; cd ..; truncate -s 11M huge; mkfifo pipe; "
	    "echo ONE >a;"
	    "git config filter.up.clean 'touch ran; tr a-z A-Z'; git config filter.up.required true; echo "
	    "'*.up filter=up' >.gitattributes;"
	    "echo '*.u16 working-tree-encoding=UTF-16' >>.gitattributes; echo up >x.up; echo u >y.u16");
	assert_int_equal(save_as(r, r->work, REF, &w), 1);
	assert_string_equal(w.skipped,
	    "- mod (a submodule)\n- huge (too large)\n- sub/ (a repository of its own)\n- x.up (a filter of "
	    "git)\n"
	    "- y.u16 (its encoding in git)\n");
	assert_string_equal(
	    sh(r, "git diff --name-only HEAD " REF "; ls ran 2>/dev/null || true"), ".gitattributes\na\n");
	wip_release(&w);
}

static void
a_link_on_the_way_leads_nowhere(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	sh(r, "mkdir ../else; echo foreign >../else/c; rm -r d; ln -s ../else d");
	assert_int_equal(save(r, &w), 1);
	assert_string_equal(sh(r, "git ls-tree -r " REF " d | cut -c 1-11; git show " REF ":d | head -c 20"),
	    "120000 blob\n../else");
	wip_release(&w);
}

/* A file in the place of a folder, and the other way round. */
static void
kinds_may_change(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	sh(r, "rm -r d; echo file >d; rm a; mkdir a; echo in >a/in");
	assert_int_equal(save(r, &w), 1);
	assert_string_equal(sh(r, "git show " REF ":d " REF ":a/in"), "file\nin\n");
	wip_release(&w);
}

static void
a_busy_repository_is_no_obstacle(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	sh(r,
	    "git checkout -qb topic; echo topic >a; git commit -qam t; git checkout -q main; echo main >a; "
	    "git commit -qam m;"
	    "git rebase -q main topic >/dev/null 2>&1 || true; test -d .git/rebase-merge; echo solving >>b; "
	    ": >.git/index.lock");
	assert_int_equal(save(r, &w), 1);
	assert_string_equal(sh(r, "git show " REF ":b; git show " REF ":a | head -1 | cut -c 1-7"),
	    "two\nsolving\n<<<<<<<\n");
	wip_release(&w);
	sh(r, "rm .git/index.lock; git rebase --abort");
}

static void
before_the_first_commit(void **state)
{
	struct repo *r = *state;
	struct wip w;

	sh(r, "git init -q");
	assert_int_equal(save(r, &w), 0);
	wip_release(&w);
	sh(r, "echo one >a; git add a");
	assert_int_equal(save(r, &w), 1);
	assert_string_equal(sh(r, "git log --format=%p " REF "; git show " REF ":a"), "\none\n");
	wip_release(&w);
	assert_int_equal(save_as(r, r->dir, REF, &w), 0);
	wip_release(&w);
}

static void
what_was_committed_meanwhile_is_a_parent(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	sh(r, "echo ONE >a");
	assert_int_equal(save(r, &w), 1);
	wip_release(&w);
	sh(r, "git commit -qam second");
	/* as HEAD, and as the last checkpoint: nothing to do */
	assert_int_equal(save(r, &w), 0);
	wip_release(&w);
	sh(r, "echo TWO >b");
	assert_int_equal(save(r, &w), 1);
	wip_release(&w);
	assert_string_equal(
	    sh(r, "git log -1 --format=%p " REF " | wc -w; git rev-list --count " REF "..main"), "2\n0\n");
	/* all is committed: the checkpoint says so, too, or it would bring back what is old */
	sh(r, "echo THREE >b; git commit -qam third");
	assert_int_equal(save(r, &w), 1);
	assert_int_equal(w.files, 0);
	assert_string_equal(sh(r, "git diff --name-only main " REF), "");
	wip_release(&w);
}

static void
two_work_trees_do_not_share_a_ref(void **state)
{
	struct repo *r = *state;
	char *other, *other_ref;
	struct wip w;

	begin(r);
	other = io_join(r->dir, "other");
	sh(r, "git worktree add -q ../other; echo ONE >a; echo OTHER >../other/a");
	assert_int_equal(save(r, &w), 1);
	assert_string_equal(w.ref, REF);
	wip_release(&w);
	assert_int_equal(save_as(r, other, REF, &w), 1);
	other_ref = xstrdup(w.ref);
	assert_int_equal(strlen(other_ref), strlen(REF) + 9);
	assert_int_equal(strncmp(other_ref, "refs/heads/epic-1/sprint-2-", 27), 0);
	assert_true(str_ends(other_ref, "-wip"));
	setenv("OTHER_REF", other_ref, 1);
	assert_string_equal(sh(r, "git show $OTHER_REF:a " REF ":a"), "OTHER\nONE\n");
	wip_release(&w);
	assert_int_equal(wip_find(other, REF, &w, &r->e), 1);
	assert_string_equal(w.ref, other_ref);
	assert_true(w.at > 0);
	wip_release(&w);
	assert_int_equal(wip_find(r->work, REF, &w, &r->e), 1);
	assert_string_equal(w.ref, REF);
	wip_release(&w);
	assert_int_equal(wip_find(r->work, "refs/gt-recover/wip/nobody", &w, &r->e), 0);
	wip_release(&w);
	/* of a work tree that is gone the ref goes on */
	assert_int_equal(save_as(r, other, "refs/heads/epic-1/sprint-3-wip", &w), 1);
	wip_release(&w);
	sh(r, "git worktree remove --force ../other");
	assert_int_equal(save_as(r, r->work, "refs/heads/epic-1/sprint-3-wip", &w), 1);
	assert_string_equal(w.ref, "refs/heads/epic-1/sprint-3-wip");
	assert_string_equal(sh(r, "git rev-list --count main..epic-1/sprint-3-wip"), "2\n");
	wip_release(&w);
	free(other);
	free(other_ref);
}

static void
what_is_checked_out_is_not_moved(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	sh(r, "echo ONE >a");
	assert_int_equal(save(r, &w), 1);
	wip_release(&w);
	sh(r, "git checkout -qf epic-1/sprint-2-wip; echo again >a");
	assert_int_equal(save_as(r, r->work, REF, &w), 1);
	assert_string_not_equal(w.ref, REF);
	assert_string_equal(sh(r, "git rev-list --count main.." REF), "1\n");
	wip_release(&w);
}

static void
a_branch_named_as_the_folder_stays(void **state)
{
	struct repo *r = *state;
	struct wip w;

	begin(r);
	sh(r, "git branch epic-1; echo ONE >a");
	assert_int_equal(save(r, &w), 1);
	assert_string_equal(w.ref, "refs/gt-recover/epic-1/sprint-2-wip");
	assert_string_equal(sh(r, "git show refs/gt-recover/epic-1/sprint-2-wip:a"), "ONE\n");
	wip_release(&w);
}

/* A person's commands run all the while: none of them may fail, and no checkpoint has what never was. */
static void
a_person_works_at_the_same_time(void **state)
{
	struct repo *r = *state;
	char *failed = io_join(r->dir, "failed");
	int status, made = 0;
	pid_t child;

	begin(r);
	if ((child = fork()) == 0) {
		const char *argv[] = { "sh", "-c",
			"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i >a && git add a && git commit -qm "
			"$i && git reset -q --soft HEAD~1"
			" && git stash -q && git stash pop -q && git status >/dev/null || echo \"$i\" "
			">>../failed; done",
			NULL };
		struct spawn s = { .argv = argv, .cwd = r->work, .timeout_ms = 60000 };

		_exit(spawn_run(&s, &r->e) == 0 ? s.status : 1);
	}
	while (waitpid(child, &status, WNOHANG) == 0) {
		struct wip w;
		int ret = save_as(r, r->work, REF, &w);

		if (ret < 0)
			fail_msg("%s", r->e.msg);
		made += ret;
		wip_release(&w);
	}
	assert_int_equal(status, 0);
	assert_int_equal(access(failed, F_OK), -1);
	assert_true(made > 0);
	/* `>a` itself makes it empty first */
	sh(r,
	    "git fsck --strict; for c in $(git rev-list " REF "); do git cat-file -e $c:a 2>/dev/null || "
							      "continue;"
	    "test -z \"$(git show $c:a)\" || git show $c:a | grep -qxE 'one|[0-9]+'; done");
	free(failed);
}

/* One of two that began at the same checkpoint is told that it was not the first. */
static void
of_two_at_once_none_is_lost(void **state)
{
	struct repo *r = *state;
	char *room = io_join(r->dir, "room2");
	int status, lost = 0;
	pid_t child;

	begin(r);
	assert_int_equal(mkdir(room, 0700), 0);
	if ((child = fork()) == 0) {
		for (int i = 0; i < 10; i++) {
			struct wip_request ask = { .dir = r->work,
				.ref = REF,
				.subject = "WIP: other",
				.room = room,
				.scrub = r->s };
			char *path = io_join(r->work, "theirs"), text[16];
			struct wip w;

			snprintf(text, sizeof text, "%d\n", i);
			temp_write(path, text);
			if (wip_commit(&ask, &w, &r->e) < 0 && strcmp(r->e.name, "changed") != 0)
				_exit(1);
			wip_release(&w);
			free(path);
		}
		_exit(0);
	}
	for (int i = 0; i < 10; i++) {
		struct wip w;
		char *path = io_join(r->work, "ours"), text[16];
		int ret;

		snprintf(text, sizeof text, "%d\n", i);
		temp_write(path, text);
		ret = save_as(r, r->work, REF, &w);
		lost += ret < 0;
		if (ret < 0)
			assert_string_equal(r->e.name, "changed");
		wip_release(&w);
		free(path);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(lost < 10);
	assert_int_equal(rmdir(room), 0);
	/* a chain: nobody threw away what the other had */
	sh(r, "test $(git rev-list --count main.." REF ") -ge 10; git fsck --strict");
	free(room);
}

static void
names_are_good_refs(void **unused)
{
	static const struct { const char *epic; size_t place; const char *sprint, *want; } rows[] = {
		{ "123", 2, "auth-system", "refs/heads/epic-123/sprint-2-wip" },
		{ "epic-e-commerce-123", 1, "x", "refs/heads/epic-e-commerce-123/sprint-1-wip" },
		{ "1", 0, "sprint-auth", "refs/heads/epic-1/sprint-auth-wip" },
		{ "a/b", 1, "x", "refs/heads/epic-a-b-c14cddc0/sprint-1-wip" },
		{ "a..b", 1, "x", "refs/heads/epic-a-.b-" },
		{ "v1.2", 1, "x", "refs/heads/epic-v1.2/sprint-1-wip" },
		{ "x.lock", 1, "x", "refs/heads/epic-x.lock-" },
		{ "epic-", 1, "x", "refs/heads/epic-epic-/sprint-1-wip" },
		{ "ä", 1, "x", "refs/heads/epic----" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char *ref = wip_ref_of_sprint(rows[i].epic, rows[i].place, rows[i].sprint);
		const char *argv[] = { "git", "check-ref-format", ref, NULL };
		struct spawn s = { .argv = argv };
		struct err e;

		if (strncmp(ref, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: %s", rows[i].epic, ref);
		assert_int_equal(spawn_run(&s, &e), 0);
		assert_int_equal(s.status, 0);
		free(ref);
	}
}

static void
names_of_secrets(void **unused)
{
	static const char *const yes[] = { ".env", "a/.env.local", "x/ID_RSA", "deep/down/server.PEM",
		".aws/config", "p/.ssh/known_hosts" };
	static const char *const no[] = { "a.c", ".env.example", "environment.ts", "keys.c",
		"src/scrub/secrets.c", "id_rsa.pub", "assh/x", "pem" };

	(void)unused;
	for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
		if (!scrub_is_secret_file(yes[i]))
			fail_msg("%s", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
		if (scrub_is_secret_file(no[i]))
			fail_msg("%s", no[i]);
}

#define in_repo(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		in_repo(saves_what_differs_and_nothing_else_moves),
		in_repo(the_message_is_the_seed_s),
		in_repo(it_is_restored),
		in_repo(what_was_left_out_stays_when_it_is_taken_back),
		in_repo(the_command_of_a_message_knows_that_its_ref_moved),
		in_repo(what_is_taken_back_before_the_first_commit),
		in_repo(secrets_stay_out),
		in_repo(huge_and_foreign_things_stay_out),
		in_repo(a_link_on_the_way_leads_nowhere),
		in_repo(kinds_may_change),
		in_repo(a_busy_repository_is_no_obstacle),
		in_repo(before_the_first_commit),
		in_repo(what_was_committed_meanwhile_is_a_parent),
		in_repo(two_work_trees_do_not_share_a_ref),
		in_repo(what_is_checked_out_is_not_moved),
		in_repo(a_branch_named_as_the_folder_stays),
		in_repo(a_person_works_at_the_same_time),
		in_repo(of_two_at_once_none_is_lost),
		cmocka_unit_test(names_are_good_refs),
		cmocka_unit_test(names_of_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
