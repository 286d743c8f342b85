#include "home.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "records/records.h"

static void
test_spawn(void **state)
{
	struct home *h = *state;
	struct buf blob = BUF_INIT, back = BUF_INIT;
	struct session x;

	home_spawn(h, NULL, "root");
	/* in two steps: recorded, then linked */
	assert_int_equal(home_record(h, "one", "root"), 0);
	assert_string_equal(home_place(h, "one"), "none");
	assert_int_equal(home_link(h, "root", "one"), 0);
	assert_string_equal(home_place(h, "one"), "root");
	/* the answer was lost */
	assert_int_equal(home_link(h, "root", "one"), 0);
	/* in one step, with its state */
	session_init(&x);
	record_set(&x.agent_uuid, "two");
	record_set(&x.provider_name, "fake");
	buf_add(&blob, "a\0b", 3);
	assert_int_equal(tree_spawn(h->s, "one", &x, &blob, &h->e), 0);
	assert_string_equal(x.parent, "one");
	assert_int_equal(session_blob_read(h->s, "two", &x.blob, &back, &h->e), 0);
	assert_memory_equal(back.data, "a\0b", 3);
	session_release(&x);
	home_again(h);
	assert_string_equal(home_place(h, "two"), "one");
	assert_string_equal(home_place(h, "root"), "-");
	buf_release(&blob);
	buf_release(&back);
}

static void
test_spawn_refused(void **state)
{
	struct home *h = *state;
	struct session x;
	size_t n;

	home_spawn(h, NULL, "root");
	home_spawn(h, NULL, "other");
	home_spawn(h, "root", "child");
	assert_int_equal(home_link(h, "other", "child"), -1);
	assert_string_equal(h->e.name, "linked");
	assert_int_equal(home_link(h, "root", "other"), -1);
	assert_string_equal(h->e.name, "linked");
	assert_int_equal(home_link(h, "root", "root"), -1);
	assert_string_equal(h->e.name, "linked");
	assert_int_equal(home_record(h, "half", "root"), 0);
	assert_int_equal(home_link(h, "other", "half"), -1);
	assert_string_equal(h->e.name, "other-parent");
	assert_int_equal(home_link(h, "nobody", "half"), -1);
	assert_string_equal(h->e.name, "other-parent");
	assert_int_equal(home_link(h, "root", "unheard-of"), -1);
	assert_string_equal(h->e.name, "session");
	session_init(&x);
	record_set(&x.agent_uuid, "new");
	record_set(&x.provider_name, "fake");
	assert_int_equal(tree_spawn(h->s, "nobody", &x, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "no-agent");
	assert_int_equal(tree_end(h->s, "other", true, &n, &h->e), 0);
	assert_int_equal(tree_spawn(h->s, "other", &x, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "parent-ended");
	assert_int_equal(h->e.code, GT_REFUSED);
	assert_string_equal(home_state(h, "new"), "none");
	session_release(&x);
	assert_int_equal(home_record(h, "late", "other"), -1);
	assert_string_equal(h->e.name, "parent-ended");
	assert_int_equal(tree_end(h->s, "child", true, &n, &h->e), 0);
	assert_int_equal(home_link(h, "root", "child"), -1);
	assert_string_equal(h->e.name, "ended");
}

static void
test_end(void **state)
{
	struct home *h = *state;
	struct tree t = { .n = 0 };
	size_t n;

	home_spawn(h, NULL, "root");
	home_spawn(h, "root", "a");
	home_spawn(h, "a", "b");
	home_spawn(h, "b", "c");
	home_spawn(h, "root", "d");
	assert_int_equal(tree_end(h->s, "nobody", true, &n, &h->e), -1);
	assert_string_equal(h->e.name, "not-found");
	assert_int_equal(tree_end(h->s, "a", false, &n, &h->e), -1);
	assert_string_equal(h->e.name, "has-children");
	assert_string_equal(home_state(h, "c"), "ACTIVE");
	assert_int_equal(tree_end(h->s, "a", true, &n, &h->e), 0);
	assert_int_equal(n, 3);
	assert_string_equal(home_state(h, "a"), "ENDED");
	assert_string_equal(home_state(h, "b"), "ENDED");
	assert_string_equal(home_place(h, "c"), "ended");
	assert_string_equal(home_state(h, "d"), "ACTIVE");
	assert_int_equal(tree_end(h->s, "a", true, &n, &h->e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(tree_read(h->s, &t, &h->e), 0);
	assert_int_equal(t.n, 2);
	assert_non_null(tree_find(&t, "d"));
	assert_null(tree_find(&t, "b"));
	tree_release(&t);
	/* recorded and never linked: ended for itself */
	assert_int_equal(home_record(h, "half", "root"), 0);
	assert_int_equal(tree_end(h->s, "half", false, &n, &h->e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(home_state(h, "half"), "ENDED");
}

/*
 * A parent that ends while others spawn below it: nobody is left below it, and no spawn is
 * acknowledged and then gone without a word.
 */
static void
test_end_against_spawns(void **state)
{
	struct home *h = *state;
	struct tree t = { .n = 0 };
	int gate[2];
	pid_t pids[2];
	size_t n;

	home_spawn(h, NULL, "root");
	home_spawn(h, "root", "parent");
	assert_int_equal(pipe(gate), 0);
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct err e = ERR_INIT;
			struct store *s;
			char c;

			close(gate[1]);
			s = store_open("sqlite", h->dir, &e);
			if (s == NULL || read(gate[0], &c, 1) != 0)
				_exit(9);
			for (int k = 0; k < 1000; k++) {
				struct session x;
				int ret;

				session_init(&x);
				x.agent_uuid = xasprintf("child-%d-%d", i, k);
				record_set(&x.provider_name, "fake");
				ret = tree_spawn(s, "parent", &x, NULL, &e);
				session_release(&x);
				clock_sleep_ms(5);
				if (ret != 0)
					_exit(strcmp(e.name, "parent-ended") == 0 ? 0 : 9);
			}
			_exit(9);
		}
	}
	close(gate[0]);
	close(gate[1]);
	/* some are there */
	do {
		tree_release(&t);
		assert_int_equal(tree_read(h->s, &t, &h->e), 0);
	} while (t.n < 10);
	tree_release(&t);
	if (tree_end(h->s, "parent", true, &n, &h->e) != 0)
		fail_msg("%s: %s", h->e.name, h->e.msg);
	assert_true(n >= 9);
	for (int i = 0; i < 2; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	assert_int_equal(tree_read(h->s, &t, &h->e), 0);
	assert_int_equal(t.n, 1);
	tree_release(&t);
}

/* A child goes on when its parent wants it, not below one that has ended, and not before it is linked. */
static void
test_resume(void **state)
{
	struct home *h = *state;
	struct buf back = BUF_INIT;
	struct tree_resumable roots = { .all = false }, all = { .all = true };
	struct session_reconciled did;
	struct tree_repaired tree;
	struct session x;

	home_spawn(h, NULL, "root");
	home_spawn(h, "root", "a");
	assert_int_equal(home_record(h, "half", "root"), 0);
	assert_int_equal(session_reconcile(h->s, home_all_dead, NULL, &did, &h->e), 0);
	assert_int_equal(did.suspended, 3);
	assert_int_equal(session_restore(h->s, "half", &back, &x, &h->e), -1);
	assert_string_equal(h->e.name, "unlinked");
	assert_int_equal(tree_repair(h->s, home_all_dead, NULL, &tree, &roots, &h->e), 0);
	assert_int_equal(tree.linked, 1);
	assert_int_equal(roots.list.n, 1);
	assert_string_equal(roots.list.v[0].agent_uuid, "root");
	session_list_release(&roots.list);
	assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), 0);
	session_release(&x);
	assert_string_equal(home_state(h, "root"), "SUSPENDED");
	assert_int_equal(tree_repair(h->s, home_all_dead, NULL, &tree, &all, &h->e), 0);
	assert_int_equal(all.list.n, 2);
	assert_string_equal(all.list.v[0].agent_uuid, "half");
	assert_string_equal(all.list.v[1].agent_uuid, "root");
	session_list_release(&all.list);
	buf_release(&back);
}

/* --- startup --- */

static void
settle(struct home *h, session_alive *alive, const char *who, size_t linked, size_t ended, size_t roots)
{
	struct tree_repaired did;
	int64_t before, after;

	assert_int_equal(tree_repair(h->s, alive, (void *)(uintptr_t)who, &did, NULL, &h->e), 0);
	assert_int_equal(did.linked, linked);
	assert_int_equal(did.ended, ended);
	assert_int_equal(did.made_roots, roots);
	/* a second time there is nothing to do, and nothing is written */
	assert_int_equal(event_last(h->s, &before, &h->e), 0);
	assert_int_equal(tree_repair(h->s, alive, (void *)(uintptr_t)who, &did, NULL, &h->e), 0);
	assert_int_equal(did.linked + did.ended + did.made_roots, 0);
	assert_int_equal(event_last(h->s, &after, &h->e), 0);
	assert_int_equal(before, after);
}

static void
test_settle_whole(void **state)
{
	struct home *h = *state;

	settle(h, home_all_dead, NULL, 0, 0, 0);
	home_spawn(h, NULL, "root");
	home_spawn(h, "root", "a");
	settle(h, home_all_dead, NULL, 0, 0, 0);
	assert_string_equal(home_state(h, "a"), "ACTIVE");
}

/* The session is on disk, its link is not: the spawn was cut off. */
static void
test_settle_partial(void **state)
{
	struct home *h = *state;
	size_t n;

	home_spawn(h, NULL, "root");
	home_spawn(h, NULL, "gone");
	assert_int_equal(home_record(h, "half", "root"), 0);
	assert_int_equal(home_record(h, "under-gone", "gone"), 0);
	assert_int_equal(home_record(h, "lives-under-gone", "gone"), 0);
	assert_int_equal(tree_end(h->s, "gone", true, &n, &h->e), 0);
	settle(h, home_one_lives, "lives-under-gone", 2, 1, 0);
	assert_string_equal(home_place(h, "half"), "root");
	assert_string_equal(home_state(h, "under-gone"), "ENDED");
	assert_string_equal(home_place(h, "lives-under-gone"), "-");
	assert_string_equal(home_state(h, "lives-under-gone"), "ACTIVE");
	/* the caller's own second step comes late, and changes nothing */
	assert_int_equal(home_link(h, "root", "half"), 0);
}

/* What only a lost record, or somebody else's hand, can leave. */
static void
test_settle_broken(void **state)
{
	struct home *h = *state;

	home_spawn(h, NULL, "root");
	home_spawn(h, "root", "a");
	home_spawn(h, "a", "b");
	home_spawn(h, "b", "c");
	home_spawn(h, "root", "lives");
	/* no session, and children below it */
	home_delete(h, "session:a");
	settle(h, home_one_lives, "c", 0, 2, 1);
	assert_string_equal(home_place(h, "a"), "ended");
	assert_string_equal(home_state(h, "b"), "ENDED");
	assert_string_equal(home_place(h, "c"), "-");
	/* no parent in the store */
	home_delete(h, "tree:root");
	home_delete(h, "session:root");
	settle(h, home_all_dead, NULL, 0, 0, 1);
	assert_string_equal(home_place(h, "lives"), "-");
	/* a lost link of a root */
	home_delete(h, "tree:lives");
	settle(h, home_all_dead, NULL, 1, 0, 0);
	assert_string_equal(home_place(h, "lives"), "-");
}

static void
test_settle_ring(void **state)
{
	struct home *h = *state;
	char key[32], value[64];

	for (int i = 0; i < 5; i++) {
		snprintf(key, sizeof key, "n%d", i);
		home_spawn(h, NULL, key);
	}
	home_spawn(h, "n3", "below");
	for (int i = 0; i < 5; i++) {
		snprintf(key, sizeof key, "tree:n%d", i);
		snprintf(value, sizeof value, "{\"schema_version\":1,\"parent\":\"n%d\"}", (i + 1) % 5);
		home_put(h, key, "open", value);
	}
	settle(h, home_all_dead, NULL, 0, 0, 1);
	assert_string_equal(home_place(h, "n0"), "-");
	assert_string_equal(home_place(h, "n4"), "n0");
	assert_string_equal(home_place(h, "n3"), "n4");
	assert_string_equal(home_place(h, "below"), "n3");
	/* one that is its own parent */
	home_put(h, "tree:n2", "open", "{\"schema_version\":1,\"parent\":\"n2\"}");
	settle(h, home_all_dead, NULL, 0, 0, 1);
	assert_string_equal(home_place(h, "n2"), "-");
}

/* A chain is as deep as its callers made it: nothing of it goes by recursion or by one commit each. */
static void
test_deep(void **state)
{
	enum { DEEP = 2000 };
	struct home *h = *state;
	struct change *c = xcalloc(2 * DEEP, sizeof *c);
	char **texts = xcalloc(3 * DEEP, sizeof *texts);
	int64_t before, after;
	size_t ended;

	for (int i = 0; i < DEEP; i++) {
		char **t = texts + 3 * i;

		t[0] = xasprintf("session:n%04d", i);
		t[1] = xasprintf("tree:n%04d", i);
		t[2] = i > 0 ? xasprintf("{\"parent\":\"n%04d\"}", i - 1) : xstrdup("{}");
		c[2 * i] = (struct change){ CHANGE_PUT, t[0], STORE_ABSENT, "SUSPENDED",
			"{\"provider_name\":\"fake\"}" };
		c[2 * i + 1] = (struct change){ CHANGE_PUT, t[1], STORE_ABSENT, "open", t[2] };
	}
	assert_int_equal(store_commit(h->s, c, 2 * DEEP, &h->e), COMMIT_DONE);
	settle(h, home_all_dead, NULL, 0, 0, 0);
	assert_int_equal(event_last(h->s, &before, &h->e), 0);
	assert_int_equal(tree_end(h->s, "n0000", true, &ended, &h->e), 0);
	assert_int_equal(ended, DEEP);
	assert_int_equal(event_last(h->s, &after, &h->e), 0);
	assert_int_equal(after, before + 1);
	assert_string_equal(home_state(h, "n1999"), "ENDED");
	for (int i = 0; i < 3 * DEEP; i++)
		free(texts[i]);
	free(texts);
	free(c);
}

static void
find_fault(struct home *h, const char *words)
{
	struct record_check i;

	assert_int_equal(record_check(h->s, &i, &h->e), 0);
	assert_int_equal(i.n_faults, words != NULL ? 1 : 0);
	if (words != NULL && strstr(i.faults[0], words) == NULL)
		fail_msg("%s", i.faults[0]);
	record_check_release(&i);
}

/* What the doctor finds; and what startup makes of it leaves nothing to find. */
static void
test_faults(void **state)
{
	struct home *h = *state;
	struct buf blob = BUF_INIT;
	struct session x;

	home_spawn(h, NULL, "root");
	home_spawn(h, "root", "a");
	assert_int_equal(home_record(h, "half", "root"), 0);
	find_fault(h, NULL);
	home_put(h, "session:a", "ENDED", "{\"provider_name\":\"fake\"}");
	find_fault(h, "a has ended, but its entry in the tree");
	settle(h, home_all_dead, NULL, 1, 1, 0);
	find_fault(h, NULL);
	home_put(h, "tree:half", "open", "{\"parent\":\"nobody\"}");
	find_fault(h, "half is below nobody");
	home_put(h, "tree:half", "open", "{\"parent\":\"half\"}");
	find_fault(h, "half is below itself");
	settle(h, home_all_dead, NULL, 0, 0, 1);
	home_put(h, "tree:ghost", "open", "{}");
	find_fault(h, "ghost is in the tree, but has no session");
	settle(h, home_all_dead, NULL, 0, 1, 0);
	buf_str(&blob, "state");
	assert_int_equal(session_suspend(h->s, "root", &blob, "asked", &x, &h->e), 0);
	session_release(&x);
	home_delete(h, "blob:root");
	find_fault(h, "blob of root is missing");
	assert_int_equal(session_suspend(h->s, "root", &blob, "asked", &x, &h->e), 0);
	session_release(&x);
	home_put(h, "session:root", "ASLEEP", "{}");
	find_fault(h, "not a session in a known state");
	home_put(h, "session:root", "SUSPENDED", "{\"provider_name\":\"fake\"}");
	home_put(h, "message:m", "lost", "{}");
	find_fault(h, "not a message in a known state");
	home_delete(h, "message:m");
	buf_release(&blob);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_spawn, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_spawn_refused, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_end, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_end_against_spawns, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_resume, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_settle_whole, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_settle_partial, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_settle_broken, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_settle_ring, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_deep, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_faults, home_setup, home_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
