#include "home.h"

/* What startup does with sessions, the tree and messages, killed at every commit of it and run again. */

#include <signal.h>
#include <sys/wait.h>

#include "fake_scrub.h"
#include <jansson.h>

#include "records/records.h"
#include "records/agents/agents.h"

#ifdef GT_FAULTS
/* Some of everything that there is to settle. */
static void
mess(struct home *h)
{
	struct clean_text body = { (char *)(uintptr_t)"text", 4 };
	struct message m;
	char id[32];

	home_spawn(h, NULL, "root");
	home_spawn(h, NULL, "other");
	home_spawn(h, "root", "a");
	home_spawn(h, "a", "b");
	home_spawn(h, "b", "lives");
	home_spawn(h, NULL, "ring");
	assert_int_equal(home_record(h, "half", "root"), 0);
	assert_int_equal(home_record(h, "orphan", "other"), 0);
	for (int i = 0; i < 3; i++) {
		struct message_draft l = { .id = id, .from = "root", .body = &body, .sync = true };

		snprintf(id, sizeof id, "q%d", i);
		assert_int_equal(message_send(h->s, &l, i == 2 ? "other" : "root", &m, &h->e), 0);
		message_release(&m);
		assert_int_equal(message_mark_delivered(h->s, id, &m, &h->e), 0);
		message_release(&m);
	}
	home_put(h, "tree:other", "ended", "{\"schema_version\":1}");
	home_put(h, "session:other", "ENDED", "{\"schema_version\":1,\"provider_name\":\"fake\"}");
	home_put(h, "tree:ring", "open", "{\"schema_version\":1,\"parent\":\"ring\"}");
	home_delete(h, "session:a");
}

static int
settle_all(struct store *s, enum reply_policy policy)
{
	struct message_reconciled messages;
	struct session_reconciled sessions;
	struct tree_repaired tree;
	char lives[] = "lives";

	return session_reconcile(s, home_one_lives, lives, &sessions, NULL) != 0 ||
	    tree_repair(s, home_one_lives, lives, &tree, NULL, NULL) != 0 ||
	    message_reconcile(s, policy, &messages, NULL) != 0;
}

/* Everything but times: keys, states, parents. */
static int
add_line(const struct record *r, void *arg, struct err *e)
{
	json_t *o = json_loads(r->value, 0, NULL);
	const char *parent = json_string_value(json_object_get(o, "parent"));

	(void)e;
	if (!str_starts(r->key, "event:") && !str_starts(r->key, "counter:"))
		buf_fmt(arg, "%s %s %s\n", r->key, r->tag, parent != NULL ? parent : "-");
	json_decref(o);
	return 0;
}

static char *
picture(struct home *h)
{
	struct buf out = BUF_INIT;

	assert_int_equal(store_each(h->s, "", NULL, add_line, &out, &h->e), 0);
	return buf_detach(&out);
}

/* The child is killed at that passage of that point: true; there are not so many: false. */
static bool
settle_killed(struct home *h, enum reply_policy policy, const char *point, int passage)
{
	char fault[64];
	int status;
	pid_t pid;

	snprintf(fault, sizeof fault, "%s:%d=kill", point, passage);
	setenv("GT_FAULT", fault, 1);
	pid = fork();
	if (pid == 0) {
		struct store *s = store_open("sqlite", h->dir, NULL);

		_exit(s == NULL ? 9 : settle_all(s, policy));
	}
	unsetenv("GT_FAULT");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

static void
test_killed(void **state)
{
	static const char *const points[] = { "store-commit", "store-committed" };
	static const char wanted[] = "message:q0 waiting -\nmessage:q0/ask pending -\nmessage:q1 waiting "
				     "-\nmessage:q1/ask pending -\nmessage:q2 waiting -\n"
				     "session:b ENDED a\nsession:half SUSPENDED root\nsession:lives ACTIVE "
				     "b\nsession:orphan ENDED other\nsession:other ENDED -\n"
				     "session:ring SUSPENDED -\nsession:root SUSPENDED -\n"
				     "tree:a ended root\ntree:b ended a\ntree:half open root\ntree:lives "
				     "open -\ntree:other ended -\ntree:ring open -\ntree:root open -\n";
	size_t kills = 0;

	(void)state;
	for (size_t p = 0; p < 2; p++) {
		bool more = true;

		for (int passage = 1; more; passage++) {
			struct home *h;
			int64_t events, after;
			char *left;

			assert_int_equal(home_setup((void **)&h), 0);
			mess(h);
			home_again(h);
			more = settle_killed(h, REPLY_ASK, points[p], passage);
			kills += more;
			assert_int_equal(settle_all(h->s, REPLY_ASK), 0);
			left = picture(h);
			assert_string_equal(left, wanted);
			assert_int_equal(event_last(h->s, &events, &h->e), 0);
			assert_int_equal(settle_all(h->s, REPLY_ASK), 0);
			assert_int_equal(event_last(h->s, &after, &h->e), 0);
			assert_int_equal(events, after);
			free(left);
			assert_int_equal(home_teardown((void **)&h), 0);
		}
	}
	/* each commit, before and after: sessions, three of the tree's repairs at least, three messages */
	assert_true(kills >= 14);
}
#else
static void
test_killed(void **state)
{
	(void)state;
	print_message("skipped: fault points are built in by make FAULTS=1 only\n");
	skip();
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
