/*
 * Records that an older version wrote stay readable, and startup makes them true:
 * tests/golden/ledger holds a store of each.
 */
#include "test.h"

#include <string.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "golden.h"
#include "records/records.h"
#include "records/agents/agents.h"
#include "records/runs/runs.h"
#include "store/store.h"
#include "temp.h"

struct home {
	char *dir;
	struct store *s;
	struct err e;
};

static struct store *
older(struct home *h, const char *then)
{
	char *path = io_join(h->dir, "recover.db"), *golden = tests_path("golden/ledger/schema-2.sql");
	struct buf sql = BUF_INIT;
	sqlite3 *db;

	assert_int_equal(io_read_file(golden, 1 << 20, &sql, &h->e), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql.data, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, then, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	h->s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(h->s);
	buf_release(&sql);
	free(golden);
	free(path);
	return h->s;
}

static int
setup(void **state)
{
	struct home *h = xcalloc(1, sizeof *h);

	h->dir = temp_dir();
	*state = h;
	return 0;
}

static void
whole(struct home *h)
{
	struct record_check rules;

	assert_int_equal(record_check(h->s, &rules, &h->e), 0);
	if (rules.n_faults > 0)
		fail_msg("%s", rules.faults[0]);
	record_check_release(&rules);
}

static int
teardown(void **state)
{
	struct home *h = *state;

	store_close(h->s);
	temp_remove(h->dir);
	free(h);
	return 0;
}

static void
look_at_agents(struct home *h)
{
	static const char bytes[] = "state\0of a child";
	struct buf blob = BUF_INIT;
	struct tree_node link;
	struct session x;

	assert_int_equal(session_need(h->s, "root", &x, &h->e), 0);
	assert_int_equal(x.state, SESSION_ACTIVE);
	assert_string_equal(x.model, "large");
	assert_string_equal(x.start_command, "claude");
	assert_string_equal(x.cursor_session_id, "5b1c9a52-7a1e-4f7e-9d55-3a2f9f8f0b11");
	assert_int_equal(x.blob.size, 5);
	session_release(&x);
	assert_int_equal(tree_load(h->s, "child", &link, &h->e), 1);
	assert_string_equal(link.parent, "root");
	tree_node_release(&link);
	assert_int_equal(tree_load(h->s, "gone", &link, &h->e), 1);
	assert_true(link.ended);
	tree_node_release(&link);
	assert_int_equal(session_restore(h->s, "child", &blob, &x, &h->e), 0);
	assert_int_equal(blob.len, sizeof bytes - 1);
	assert_memory_equal(blob.data, bytes, blob.len);
	buf_release(&blob);
	session_release(&x);
}

static void
look_at_messages(struct home *h)
{
	static const size_t in[] = {
		[MESSAGE_PENDING] = 3, [MESSAGE_WAITING] = 1, [MESSAGE_DELIVERED] = 1, [MESSAGE_ANSWERED] = 1
	};
	struct message m;

	for (int state = 0; state < MESSAGE_STATES; state++) {
		struct message_list list = { .n = 0 };

		assert_int_equal(
		    message_list_read(h->s, (enum message_state)state, NULL, true, &list, &h->e), 0);
		assert_int_equal(list.n, in[state]);
		message_list_release(&list);
	}
	assert_int_equal(message_load(h->s, "m1", &m, &h->e), 1);
	assert_true(m.sync && m.delivered_at > 0);
	assert_string_equal(m.body, "how many?");
	assert_string_equal(m.answer, "a1");
	message_release(&m);
}

static void
look_at_runs(struct home *h)
{
	static const enum run_state states[] = { RUN_PENDING, RUN_CLAIMED, RUN_RUNNING, RUN_STOPPING,
		RUN_COMPLETED, RUN_FAILED, RUN_STOPPED };
	struct run_session place;
	struct runner who;
	char id[] = "r1";
	struct run r;

	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
		id[1] = (char)('1' + i);
		assert_int_equal(run_load(h->s, id, &r, &h->e), 1);
		assert_int_equal(r.state, states[i]);
		if (r.state == RUN_FAILED)
			assert_string_equal(r.error, "out of tokens");
		run_release(&r);
	}
	assert_int_equal(run_session_load(h->s, "s4", &place, &h->e), 1);
	assert_int_equal(place.status, RUN_SESSION_STOPPING);
	run_session_release(&place);
	assert_int_equal(runner_load(h->s, "w1", &who, &h->e), 1);
	assert_int_equal(who.generation, 1);
	runner_release(&who);
}

static bool
nobody(const struct session *x, void *arg)
{
	(void)x;
	(void)arg;
	return false;
}

static void
start_up(struct home *h)
{
	const struct run_recovery how = { .mode = RUN_MODE_STALE, .threshold_ms = 300000 };
	const struct timestamp now = { 1700100000000, 5000, "another boot", "", 0 };
	struct message_reconciled messages;
	struct session_reconciled sessions;
	struct tree_repaired tree;
	struct run_report runs;

	assert_int_equal(run_recover(h->s, &how, &now, &runs, &h->e), 0);
	assert_true(runs.reset_to_pending == 1 && runs.marked_failed == 1 && runs.marked_stopped == 1);
	assert_int_equal(session_reconcile(h->s, nobody, NULL, &sessions, &h->e), 0);
	assert_int_equal(sessions.suspended, 3);
	assert_int_equal(tree_repair(h->s, nobody, NULL, &tree, NULL, &h->e), 0);
	assert_true(tree.linked == 1 && tree.ended == 0 && tree.made_roots == 0);
	assert_int_equal(message_reconcile(h->s, REPLY_ASK, &messages, &h->e), 0);
	assert_true(messages.pending == 3 && messages.asked == 1);
}

static void
all_of_it(struct home *h)
{
	char *log = io_join(h->dir, EVENT_LOG);
	struct event_log_state state;
	size_t lines;

	whole(h);
	assert_int_equal(event_export(h->s, log, &lines, &h->e), 0);
	assert_int_equal(lines, 38);
	look_at_messages(h);
	look_at_runs(h);
	look_at_agents(h);
	start_up(h);
	whole(h);
	assert_int_equal(event_export(h->s, log, NULL, &h->e), 0);
	assert_int_equal(event_check(h->s, log, &state, &h->e), 0);
	assert_true(state.lines > 38);
	free(log);
}

static void
test_schema_2(void **state)
{
	struct home *h = *state;

	older(h, "");
	all_of_it(h);
}

/* The same records in a file that has no views yet. */
static void
test_schema_1(void **state)
{
	struct home *h = *state;

	older(h, "PRAGMA user_version = 1");
	all_of_it(h);
}

/* From before these fields were thought of. */
static void
test_fewer_fields(void **state)
{
	struct home *h = *state;

	older(h,
	    "UPDATE record SET value = json_remove(value, '$.schema_version', '$.claim_id', '$.runner_life', "
	    "'$.recoveries',"
	    " '$.recovered_from', '$.recovered_at', '$.asked_at', '$.flagged_at', '$.replays', '$.why', "
	    "'$.adopted_from')"
	    " WHERE key NOT LIKE 'event:%' AND key NOT LIKE 'counter:%'");
	all_of_it(h);
}

/* A kind of record that a later version writes is not touched, and said. */
static void
test_later_record(void **state)
{
	struct home *h = *state;
	struct session x;
	struct run r;
	struct runner_list runners = { .n = 0 };

	older(h,
	    "UPDATE record SET value = json_set(value, '$.schema_version', 2) WHERE key GLOB 'session:*' OR "
	    "key GLOB 'run:*' OR key GLOB"
	    " 'runner:*'");
	assert_int_equal(session_load(h->s, "root", &x, &h->e), -1);
	assert_string_equal(h->e.name, "newer");
	session_release(&x);
	err_clear(&h->e);
	assert_int_equal(run_load(h->s, "r1", &r, &h->e), -1);
	assert_string_equal(h->e.name, "newer");
	err_clear(&h->e);
	assert_int_equal(runner_list_read(h->s, &runners, &h->e), -1);
	assert_string_equal(h->e.name, "newer");
	runner_list_release(&runners);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_schema_2, setup, teardown),
		cmocka_unit_test_setup_teardown(test_schema_1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fewer_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(test_later_record, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
