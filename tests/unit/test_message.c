#include "home.h"

#include "base/json.h"
#include "fake_scrub.h"
#include "records/records.h"
#include "records/agents/agents.h"

struct letter_of {
	struct message_draft l;
	struct clean_text text;
};

static const struct message_draft *
letter(struct letter_of *x, const char *id, const char *from, const char *body)
{
	x->text = (struct clean_text){ (char *)(uintptr_t)body, strlen(body) };
	x->l = (struct message_draft){ .id = id, .from = from, .body = &x->text };
	return &x->l;
}

static int
send(struct home *h, const char *id, const char *to, const char *body)
{
	struct letter_of x;
	struct message m;
	int ret = message_send(h->s, letter(&x, id, "a", body), to, &m, &h->e);

	message_release(&m);
	return ret;
}

static void
send_sync(struct home *h, const char *id, const char *to)
{
	struct letter_of x;
	struct message m;

	letter(&x, id, "a", "how many?");
	x.l.sync = true;
	assert_int_equal(message_send(h->s, &x.l, to, &m, &h->e), 0);
	message_release(&m);
}

static void
deliver(struct home *h, const char *id)
{
	struct message m;

	assert_int_equal(message_mark_delivered(h->s, id, &m, &h->e), 0);
	message_release(&m);
}

static int
reply(struct home *h, const char *to, const char *id, const char *body)
{
	struct letter_of x;
	struct message m;
	int ret = message_reply(h->s, to, letter(&x, id, NULL, body), &m, &h->e);

	message_release(&m);
	return ret;
}

/* "pending", …, "none" */
static const char *
state_of(struct home *h, const char *id)
{
	struct message m;
	const char *name = message_load(h->s, id, &m, &h->e) == 1 ? message_state_name(m.state) : "none";

	message_release(&m);
	return name;
}

static size_t
count(struct home *h, enum message_state state)
{
	struct message_list list = { .n = 0 };
	size_t n;

	assert_int_equal(message_list_read(h->s, state, NULL, false, &list, &h->e), 0);
	n = list.n;
	message_list_release(&list);
	return n;
}

static int64_t
events(struct home *h)
{
	int64_t n;

	assert_int_equal(event_last(h->s, &n, &h->e), 0);
	return n;
}

static int
agents_setup(void **state)
{
	int ret = home_setup(state);

	if (ret == 0) {
		home_spawn(*state, NULL, "a");
		home_spawn(*state, "a", "b");
		home_spawn(*state, "a", "c");
	}
	return ret;
}

static void
test_send_and_deliver(void **state)
{
	struct home *h = *state;
	struct letter_of x;
	struct message m;

	assert_int_equal(
	    message_send(h->s, letter(&x, NULL, "a", "hello\nthere \xc3\xa9"), "b", &m, &h->e), 0);
	assert_true(str_starts(m.id, "msg-") && strlen(m.id) == 20);
	home_again(h);
	assert_string_equal(state_of(h, m.id), "pending");
	assert_string_equal(m.from, "a");
	assert_string_equal(m.to, "b");
	assert_string_equal(m.body, "hello\nthere \xc3\xa9");
	assert_true(m.sent_at > 0 && m.delivered_at == 0 && m.reply_to == NULL && !m.sync);
	deliver(h, m.id);
	assert_string_equal(state_of(h, m.id), "delivered");
	/* delivered twice: the same */
	deliver(h, m.id);
	assert_string_equal(state_of(h, m.id), "delivered");
	message_release(&m);
	assert_int_equal(message_mark_delivered(h->s, "nothing", &m, &h->e), -1);
	assert_string_equal(h->e.name, "not-found");
}

/* Ids are stable: the same again is one message, another one under it is refused. */
static void
test_ids(void **state)
{
	struct home *h = *state;
	int64_t before;

	assert_int_equal(send(h, "m1", "b", "one"), 0);
	before = events(h);
	assert_int_equal(send(h, "m1", "b", "one"), 0);
	deliver(h, "m1");
	assert_int_equal(events(h), before + 1);
	assert_int_equal(send(h, "m1", "b", "one"), 0);
	assert_string_equal(state_of(h, "m1"), "delivered");
	assert_int_equal(send(h, "m1", "b", "two"), -1);
	assert_string_equal(h->e.name, "taken");
	assert_int_equal(send(h, "m1", "c", "one"), -1);
	assert_string_equal(h->e.name, "taken");
	assert_int_equal(events(h), before + 1);
	assert_int_equal(count(h, MESSAGE_STATES), 1);
}

static void
test_refused(void **state)
{
	struct home *h = *state;
	char *large = xcalloc(MESSAGE_BODY_MAX + 2, 1);
	size_t n;

	assert_int_equal(send(h, "m1", "nobody", "x"), -1);
	assert_string_equal(h->e.name, "no-agent");
	assert_int_equal(send(h, "m 1", "b", "x"), -1);
	assert_string_equal(h->e.name, "id");
	assert_int_equal(send(h, "m1", "b b", "x"), -1);
	assert_string_equal(h->e.name, "id");
	memset(large, 'x', MESSAGE_BODY_MAX + 1);
	assert_int_equal(send(h, "m1", "b", large), -1);
	assert_string_equal(h->e.name, "too-large");
	large[MESSAGE_BODY_MAX] = '\0';
	assert_int_equal(send(h, "m1", "b", large), 0);
	assert_int_equal(tree_end(h->s, "b", true, &n, &h->e), 0);
	assert_int_equal(send(h, "m2", "b", "x"), -1);
	assert_string_equal(h->e.name, "ended");
	assert_int_equal(h->e.code, GT_REFUSED);
	/* what was acknowledged before stays in the log */
	assert_string_equal(state_of(h, "m1"), "pending");
	assert_int_equal(count(h, MESSAGE_STATES), 1);
	free(large);
}

static void
test_broadcast(void **state)
{
	static const char *const some[] = { "c", "b", "c" }, *const wrong[] = { "b", "nobody" };
	struct home *h = *state;
	struct message_list sent;
	struct letter_of x;
	int64_t before;
	size_t n;

	assert_int_equal(message_broadcast(h->s, letter(&x, "all", "a", "stop"), NULL, 0, &sent, &h->e), 0);
	assert_int_equal(sent.n, 2);
	assert_string_equal(sent.v[0].id, "all/b");
	assert_string_equal(sent.v[1].id, "all/c");
	assert_string_equal(sent.v[1].to, "c");
	message_list_release(&sent);
	deliver(h, "all/b");
	home_spawn(h, NULL, "d");
	before = events(h);
	/* whoever lost the answer gets the same; nobody is added */
	assert_int_equal(message_broadcast(h->s, letter(&x, "all", "a", "stop"), NULL, 0, &sent, &h->e), 0);
	assert_int_equal(sent.n, 2);
	assert_int_equal(sent.v[0].state, MESSAGE_DELIVERED);
	message_list_release(&sent);
	assert_int_equal(message_broadcast(h->s, letter(&x, "all", "a", "go on"), NULL, 0, &sent, &h->e), -1);
	assert_string_equal(h->e.name, "taken");
	message_list_release(&sent);
	/* all or none */
	assert_int_equal(message_broadcast(h->s, letter(&x, "two", "a", "x"), wrong, 2, &sent, &h->e), -1);
	assert_string_equal(h->e.name, "no-agent");
	message_list_release(&sent);
	assert_int_equal(events(h), before);
	/* one of the ids that its copies would have is another message's */
	assert_int_equal(send(h, "three/b", "c", "x"), 0);
	assert_int_equal(message_broadcast(h->s, letter(&x, "three", "a", "x"), NULL, 0, &sent, &h->e), -1);
	assert_string_equal(h->e.name, "taken");
	message_list_release(&sent);
	assert_int_equal(message_broadcast(h->s, letter(&x, NULL, "a", "x"), some, 3, &sent, &h->e), 0);
	assert_int_equal(sent.n, 2);
	message_list_release(&sent);
	assert_int_equal(count(h, MESSAGE_STATES), 5);
	assert_int_equal(tree_end(h->s, "a", true, &n, &h->e), 0);
	assert_int_equal(message_broadcast(h->s, letter(&x, NULL, "d", "x"), NULL, 0, &sent, &h->e), -1);
	assert_string_equal(h->e.name, "nobody");
	message_list_release(&sent);
}

static void
test_reply(void **state)
{
	struct home *h = *state;
	struct message m;

	send_sync(h, "q1", "b");
	deliver(h, "q1");
	assert_string_equal(state_of(h, "q1"), "waiting");
	assert_int_equal(reply(h, "nothing", "r0", "x"), -1);
	assert_string_equal(h->e.name, "not-found");
	assert_int_equal(reply(h, "q1", "r1", "three"), 0);
	assert_string_equal(state_of(h, "q1"), "answered");
	assert_int_equal(message_load(h->s, "r1", &m, &h->e), 1);
	assert_string_equal(m.from, "b");
	assert_string_equal(m.to, "a");
	assert_string_equal(m.reply_to, "q1");
	assert_string_equal(message_state_name(m.state), "pending");
	message_release(&m);
	/* the answer to the answerer was lost */
	assert_int_equal(reply(h, "q1", "r1", "three"), 0);
	assert_int_equal(reply(h, "q1", "r1", "four"), -1);
	assert_string_equal(h->e.name, "taken");
	/* a second answer: both are there, the first one counts */
	assert_int_equal(reply(h, "q1", "r2", "three again"), 0);
	assert_int_equal(message_load(h->s, "q1", &m, &h->e), 1);
	assert_string_equal(m.answer, "r1");
	message_release(&m);
	/* answered before anybody marked it as delivered */
	send_sync(h, "q2", "b");
	assert_int_equal(reply(h, "q2", "r3", "five"), 0);
	assert_int_equal(message_load(h->s, "q2", &m, &h->e), 1);
	assert_true(m.state == MESSAGE_ANSWERED && m.delivered_at > 0);
	message_release(&m);
	deliver(h, "q2");
	assert_string_equal(state_of(h, "q2"), "answered");
}

static void
test_list(void **state)
{
	struct home *h = *state;
	struct message_list list = { .n = 0 };
	struct record r;
	json_t *o;

	assert_int_equal(send(h, "z", "b", "first"), 0);
	assert_int_equal(send(h, "y", "c", "second"), 0);
	assert_int_equal(send(h, "x", "b", "third"), 0);
	/* the order is that of sending, whatever the ids */
	for (int i = 0; i < 3; i++) {
		char key[] = "message:z", *value;
		struct buf out = BUF_INIT;

		key[8] = (char)('z' - i);
		assert_int_equal(store_get(h->s, key, &r, &h->e), 1);
		o = json_parse(r.value, strlen(r.value), key, &h->e);
		json_put_int(o, "sent_at", 1000 + i);
		json_print(&out, o, false);
		value = buf_detach(&out);
		home_put(h, key, r.tag, value);
		free(value);
		json_decref(o);
		store_record_release(&r);
	}
	assert_int_equal(message_list_read(h->s, MESSAGE_PENDING, NULL, true, &list, &h->e), 0);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.v[0].body, "first");
	assert_string_equal(list.v[2].body, "third");
	message_list_release(&list);
	assert_int_equal(message_list_read(h->s, MESSAGE_STATES, "b", false, &list, &h->e), 0);
	assert_int_equal(list.n, 2);
	assert_null(list.v[0].body);
	assert_string_equal(list.v[1].id, "x");
	message_list_release(&list);
}

/* No event says what stands in a message. */
static int
no_body(const struct event_row *ev, void *arg)
{
	*(size_t *)arg += 1;
	return ev->text != NULL && strstr(ev->text, "private") != NULL;
}

static void
test_silent(void **state)
{
	struct home *h = *state;
	struct message_list sent;
	struct letter_of x;
	size_t n = 0;

	assert_int_equal(send(h, "m", "b", "private"), 0);
	assert_int_equal(reply(h, "m", "r", "private"), 0);
	assert_int_equal(send(h, "m", "b", "private too"), -1);
	assert_null(strstr(h->e.msg, "private"));
	assert_int_equal(message_broadcast(h->s, letter(&x, NULL, "a", "private"), NULL, 0, &sent, &h->e), 0);
	message_list_release(&sent);
	deliver(h, "m");
	assert_int_equal(event_each(h->s, NULL, no_body, &n, &h->e), 0);
	assert_true(n > 5);
}

/* --- startup --- */

static void
settled(struct home *h, enum reply_policy policy, struct message_reconciled *did)
{
	struct message_reconciled once_more;
	int64_t n;

	assert_int_equal(message_reconcile(h->s, policy, did, &h->e), 0);
	n = events(h);
	assert_int_equal(message_reconcile(h->s, policy, &once_more, &h->e), 0);
	assert_int_equal(once_more.flagged + once_more.asked + once_more.replayed, 0);
	assert_int_equal(events(h), n);
}

/* One that is on its way, an answer that is, and one of which nobody knows whether it was answered. */
static void
leave_open(struct home *h)
{
	struct session_reconciled did;

	assert_int_equal(send(h, "plain", "b", "x"), 0);
	send_sync(h, "done", "b");
	deliver(h, "done");
	assert_int_equal(reply(h, "done", "answer", "yes"), 0);
	send_sync(h, "open", "b");
	deliver(h, "open");
	assert_int_equal(send(h, "arrived", "b", "x"), 0);
	deliver(h, "arrived");
	home_again(h);
	assert_int_equal(session_reconcile(h->s, home_all_dead, NULL, &did, &h->e), 0);
}

static void
test_flag(void **state)
{
	struct home *h = *state;
	struct message_reconciled did;
	struct message m;

	leave_open(h);
	settled(h, REPLY_FLAG, &did);
	assert_int_equal(did.pending, 2);
	assert_int_equal(did.answers_pending, 1);
	assert_int_equal(did.waiting, 1);
	assert_int_equal(did.flagged, 1);
	assert_int_equal(message_load(h->s, "open", &m, &h->e), 1);
	assert_true(m.state == MESSAGE_WAITING && m.flagged_at > 0);
	message_release(&m);
	assert_string_equal(state_of(h, "answer"), "pending");
	/* the answer comes after all */
	assert_int_equal(reply(h, "open", "late", "yes"), 0);
	assert_string_equal(state_of(h, "open"), "answered");
}

static void
test_ask(void **state)
{
	struct home *h = *state;
	struct message_reconciled did;
	struct message m;

	leave_open(h);
	settled(h, REPLY_ASK, &did);
	assert_int_equal(did.asked, 1);
	assert_int_equal(message_load(h->s, "open/ask", &m, &h->e), 1);
	assert_string_equal(m.to, "b");
	assert_string_equal(m.from, "a");
	assert_non_null(strstr(m.body, "answer to the message open:"));
	assert_int_equal(m.state, MESSAGE_PENDING);
	message_release(&m);
	assert_string_equal(state_of(h, "open"), "waiting");
	assert_int_equal(count(h, MESSAGE_STATES), 6);
}

/* Somebody gave the id of the request to a message of his own: startup goes on, and a person looks. */
static void
test_ask_taken(void **state)
{
	struct home *h = *state;
	struct message_reconciled did;
	struct message m;

	assert_int_equal(send(h, "open/ask", "c", "mine"), 0);
	leave_open(h);
	settled(h, REPLY_ASK, &did);
	assert_int_equal(did.asked, 0);
	assert_int_equal(did.flagged, 1);
	assert_int_equal(message_load(h->s, "open", &m, &h->e), 1);
	assert_true(m.state == MESSAGE_WAITING && m.flagged_at > 0 && m.asked_at == 0);
	message_release(&m);
	assert_int_equal(message_load(h->s, "open/ask", &m, &h->e), 1);
	assert_string_equal(m.body, "mine");
	message_release(&m);
}

static void
test_replay(void **state)
{
	struct home *h = *state;
	struct message_reconciled did;
	struct session_reconciled sessions;
	struct message m;

	leave_open(h);
	settled(h, REPLY_REPLAY, &did);
	assert_int_equal(did.replayed, 1);
	assert_int_equal(message_load(h->s, "open", &m, &h->e), 1);
	assert_true(m.state == MESSAGE_PENDING && m.replays == 1 && m.delivered_at > 0);
	message_release(&m);
	/* delivered, and nobody answers again: once more, under the same id */
	deliver(h, "open");
	assert_string_equal(state_of(h, "open"), "waiting");
	assert_int_equal(session_reconcile(h->s, home_all_dead, NULL, &sessions, &h->e), 0);
	settled(h, REPLY_REPLAY, &did);
	assert_int_equal(did.replayed, 1);
	assert_int_equal(count(h, MESSAGE_STATES), 5);
}

/* While the receiver runs, its answer may still come; of one that has ended nobody can be asked. */
static void
test_receivers(void **state)
{
	struct home *h = *state;
	struct message_reconciled did;
	struct session_reconciled sessions;
	size_t n;

	send_sync(h, "to-b", "b");
	send_sync(h, "to-c", "c");
	deliver(h, "to-b");
	deliver(h, "to-c");
	assert_int_equal(
	    session_reconcile(h->s, home_one_lives, (void *)(uintptr_t)"b", &sessions, &h->e), 0);
	assert_int_equal(tree_end(h->s, "c", true, &n, &h->e), 0);
	settled(h, REPLY_REPLAY, &did);
	assert_int_equal(did.waiting, 2);
	assert_int_equal(did.flagged, 1);
	assert_int_equal(did.replayed, 0);
	assert_string_equal(state_of(h, "to-b"), "waiting");
	assert_string_equal(state_of(h, "to-c"), "waiting");
	assert_int_equal(message_policy_parse("flag"), REPLY_FLAG);
	assert_int_equal(message_policy_parse("ask"), REPLY_ASK);
	assert_int_equal(message_policy_parse("replay"), REPLY_REPLAY);
	assert_int_equal(message_policy_parse("drop"), -1);
}

/* A broadcast that was asked about is still the broadcast that it was. */
static void
test_broadcast_asked(void **state)
{
	struct home *h = *state;
	struct message_reconciled did;
	struct session_reconciled sessions;
	struct message_list sent;
	struct letter_of x;

	letter(&x, "all", "a", "how far?");
	x.l.sync = true;
	assert_int_equal(message_broadcast(h->s, &x.l, NULL, 0, &sent, &h->e), 0);
	message_list_release(&sent);
	deliver(h, "all/b");
	assert_int_equal(session_reconcile(h->s, home_all_dead, NULL, &sessions, &h->e), 0);
	settled(h, REPLY_ASK, &did);
	assert_string_equal(state_of(h, "all/b/ask"), "pending");
	assert_int_equal(message_broadcast(h->s, &x.l, NULL, 0, &sent, &h->e), 0);
	assert_int_equal(sent.n, 2);
	message_list_release(&sent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_send_and_deliver, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_ids, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_refused, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_broadcast, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_reply, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_list, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_silent, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_flag, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_ask, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_ask_taken, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_replay, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_receivers, agents_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_broadcast_asked, agents_setup, home_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
