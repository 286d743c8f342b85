#include "home.h"

/*
 * What seed S0 says is lost when whoever ran the agents is killed, and what is there instead. An
 * orchestrator is a process that does its steps and tells each acknowledgement; it is killed in
 * the middle, and another process finds what it left.
 */

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fake_scrub.h"
#include "records/agents/agents.h"

struct orchestrator {
	struct store *s;
	int acks;			/* one byte for each step that was acknowledged */
};

static void
ack(const struct orchestrator *o, int ret)
{
	if (ret != 0 || write(o->acks, ".", 1) != 1)
		_exit(9);
}

/* Runs it until it has told n acknowledgements, and kills it. */
static void
run_and_kill(struct home *h, void (*steps)(struct orchestrator *o), size_t n)
{
	int pipe_of[2], status;
	struct err e = ERR_INIT;
	char c;
	pid_t pid;

	assert_int_equal(pipe(pipe_of), 0);
	pid = fork();
	if (pid == 0) {
		struct orchestrator o = { store_open("sqlite", h->dir, &e), pipe_of[1] };

		if (o.s == NULL)
			_exit(9);
		steps(&o);
		for (;;)
			pause();
	}
	close(pipe_of[1]);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(read(pipe_of[0], &c, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	close(pipe_of[0]);
	home_again(h);
}

static int
record(struct orchestrator *o, const char *agent, const char *parent, pid_t pid)
{
	struct session x;
	int ret;

	session_init(&x);
	record_set(&x.agent_uuid, agent);
	record_set(&x.provider_name, "fake");
	record_set(&x.cursor_session_id, "conversation");
	record_set(&x.workspace_path, "/work");
	record_set(&x.model, "m");
	record_set(&x.parent, parent);
	if (pid != 0 && session_set_process(&x, pid) != 0)
		return -1;
	ret = session_record(o->s, &x, NULL, NULL);
	session_release(&x);
	return ret;
}

static int
link_child(struct orchestrator *o, const char *parent, const char *child)
{
	struct session x;
	int ret;

	session_init(&x);
	record_set(&x.agent_uuid, child);
	ret = tree_spawn(o->s, parent, &x, NULL, NULL);
	session_release(&x);
	return ret;
}

static int
send(struct orchestrator *o, const char *id, const char *to, bool sync)
{
	struct clean_text body = { (char *)(uintptr_t)"text", 4 };
	struct message_draft l = { .id = id, .from = "a", .body = &body, .sync = sync };
	struct message m;
	int ret = message_send(o->s, &l, to, &m, NULL);

	message_release(&m);
	return ret;
}

static int
deliver(struct orchestrator *o, const char *id)
{
	struct message m;
	int ret = message_mark_delivered(o->s, id, &m, NULL);

	message_release(&m);
	return ret;
}

/* Sessions, tree, messages, in this order: what startup does. */
static void
recover(struct home *h, enum reply_policy policy, struct message_reconciled *messages)
{
	struct session_reconciled sessions;
	struct tree_repaired tree;
	struct timestamp now;

	timestamp_now(&now);
	assert_int_equal(session_reconcile(h->s, session_alive_now, &now, &sessions, &h->e), 0);
	assert_int_equal(tree_repair(h->s, session_alive_now, &now, &tree, NULL, &h->e), 0);
	assert_int_equal(message_reconcile(h->s, policy, messages, &h->e), 0);
}

/* --- 1: its memory: session registry, agent tree, pending messages --- */

static void
fill_memory(struct orchestrator *o)
{
	ack(o, record(o, "a", NULL, 0));
	ack(o, record(o, "b", "a", 0));
	ack(o, link_child(o, "a", "b"));
	ack(o, record(o, "c", "b", 0));
	ack(o, link_child(o, "b", "c"));
	ack(o, send(o, "m1", "b", false));
	ack(o, send(o, "m2", "c", false));
	ack(o, deliver(o, "m1"));
}

static void
test_memory(void **state)
{
	struct home *h = *state;
	struct message_reconciled did;
	struct message_list list = { .n = 0 };
	struct session x;

	run_and_kill(h, fill_memory, 8);
	recover(h, REPLY_FLAG, &did);
	assert_int_equal(session_load(h->s, "c", &x, &h->e), 1);
	assert_string_equal(x.cursor_session_id, "conversation");
	assert_string_equal(x.model, "m");
	assert_string_equal(x.workspace_path, "/work");
	assert_int_equal(x.state, SESSION_SUSPENDED);
	session_release(&x);
	assert_string_equal(home_place(h, "a"), "-");
	assert_string_equal(home_place(h, "b"), "a");
	assert_string_equal(home_place(h, "c"), "b");
	assert_int_equal(did.pending, 1);
	assert_int_equal(message_list_read(h->s, MESSAGE_PENDING, NULL, true, &list, &h->e), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.v[0].id, "m2");
	assert_string_equal(list.v[0].body, "text");
	message_list_release(&list);
}

/* --- 2: the turn that a child was in --- */

static void
turn(struct orchestrator *o)
{
	struct buf blob = BUF_INIT, back = BUF_INIT;
	struct session x;
	pid_t agent;

	ack(o, record(o, "a", NULL, 0));
	/* a turn that came to its end, and its state */
	buf_add(&blob, "turn 1\0", 7);
	ack(o, session_suspend(o->s, "a", &blob, "between turns", &x, NULL));
	session_release(&x);
	ack(o, session_restore(o->s, "a", &back, &x, NULL));
	session_release(&x);
	agent = fork();
	if (agent == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	/* the next turn has begun: its process lives */
	ack(o, record(o, "a", NULL, agent));
	/* power goes: all die at once */
	ack(o, kill(agent, SIGKILL) != 0 || waitpid(agent, NULL, 0) != agent);
	buf_release(&blob);
	buf_release(&back);
}

static void
test_turn(void **state)
{
	struct home *h = *state;
	struct message_reconciled did;
	struct buf back = BUF_INIT;
	struct session x;

	run_and_kill(h, turn, 5);
	assert_string_equal(home_state(h, "a"), "ACTIVE");
	recover(h, REPLY_FLAG, &did);
	assert_string_equal(home_state(h, "a"), "SUSPENDED");
	/* a fresh turn goes on from the last one that was complete */
	assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), 0);
	assert_int_equal(back.len, 7);
	assert_memory_equal(back.data, "turn 1\0", 7);
	session_release(&x);
	buf_release(&back);
}

/* --- 3: an answer that its asker never got --- */

static void
question(struct orchestrator *o)
{
	struct clean_text body = { (char *)(uintptr_t)"yes", 3 };
	struct message_draft l = { .id = "logged-answer", .body = &body };
	struct message m;

	ack(o, record(o, "a", NULL, 0));
	ack(o, record(o, "b", NULL, 0));
	ack(o, send(o, "logged", "b", true));
	ack(o, deliver(o, "logged"));
	ack(o, message_reply(o->s, "logged", &l, &m, NULL));
	message_release(&m);
	/* b answers in its own conversation only: the orchestrator dies before it can log it */
	ack(o, send(o, "lost", "b", true));
	ack(o, deliver(o, "lost"));
}

static void
test_answer(void **state)
{
	static const enum reply_policy policies[] = { REPLY_FLAG, REPLY_ASK, REPLY_REPLAY };
	struct home *h = *state;
	struct message_reconciled did;
	struct message m;

	run_and_kill(h, question, 7);
	for (size_t i = 0; i < 3; i++) {
		recover(h, policies[i], &did);
		assert_int_equal(did.answers_pending, 1);
		assert_int_equal(did.waiting, 1);
		assert_int_equal(did.flagged, policies[i] == REPLY_FLAG);
		assert_int_equal(did.asked, policies[i] == REPLY_ASK);
		assert_int_equal(did.replayed, policies[i] == REPLY_REPLAY);
	}
	assert_int_equal(message_load(h->s, "logged-answer", &m, &h->e), 1);
	assert_true(m.state == MESSAGE_PENDING && strcmp(m.to, "a") == 0);
	message_release(&m);
	assert_int_equal(message_load(h->s, "lost", &m, &h->e), 1);
	assert_true(m.state == MESSAGE_PENDING && m.flagged_at > 0 && m.asked_at > 0 && m.replays == 1);
	message_release(&m);
}

/* --- 4: half a spawn --- */

static void
half_spawn(struct orchestrator *o)
{
	ack(o, record(o, "a", NULL, 0));
	ack(o, record(o, "b", "a", 0));
}

static void
test_half_spawn(void **state)
{
	struct home *h = *state;
	struct message_reconciled did;

	run_and_kill(h, half_spawn, 2);
	assert_string_equal(home_place(h, "b"), "none");
	recover(h, REPLY_FLAG, &did);
	assert_string_equal(home_place(h, "b"), "a");
	assert_string_equal(home_state(h, "b"), "SUSPENDED");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_memory, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_turn, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_answer, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_half_spawn, home_setup, home_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
