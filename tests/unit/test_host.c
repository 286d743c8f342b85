/* Several hosts that share a store: what each may judge. Which records each has for itself: test_redis.c. */
#include "run_house.h"

#include "base/host.h"
#include "base/json.h"
#include "epic/epic.h"
#include "records/hooks/hooks.h"
#include "records/records.h"
#include "records/agents/agents.h"
#include "scrub/scrub.h"

/* This process speaks for another host from here on. */
static void
on(struct house *h, const char *host, const char *boot)
{
	assert_int_equal(host_set(host, &h->e), 0);
	snprintf(h->now.host, sizeof h->now.host, "%s", host);
	snprintf(h->now.boot_id, sizeof h->now.boot_id, "%s", boot);
}

static void
names_are_checked(void **unused)
{
	static const char *const bad[] = { "a b", "-a", "a:b", "a@b", "a/b", ".", "\xc3\xa4",
		"0123456789012345678901234567890123456789012345678901234567890123x" };
	struct err e = ERR_INIT;
	char name[HOST_MAX + 1];

	(void)unused;
	assert_string_equal(host_id(), "");
	assert_false(host_is_other("west"));
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(host_set(bad[i], &e), -1);
		assert_string_equal(e.name, "host");
	}
	assert_int_equal(host_set("west-1.example_x", &e), 0);
	assert_string_equal(host_id(), "west-1.example_x");
	host_name(name);
	assert_string_equal(name, "west-1.example_x");
	assert_false(host_is_other("west-1.example_x"));
	assert_false(host_is_other("") || host_is_other(NULL));
	assert_true(host_is_other("west"));
	/* by the machine: the same each time, and no word of it */
	assert_int_equal(host_set("", &e), 0);
	assert_int_equal(strspn(host_id(), "0123456789abcdef"), 16);
	assert_int_equal(strlen(host_id()), 16);
	host_unset();
}

static void
ages_between_hosts_go_by_the_wall(void **unused)
{
	struct timestamp a = { 1000000, 5000, "boot-a", "west", 0 },
			 b = { 1060000, 900, "boot-b", "east", 0 };

	(void)unused;
	assert_int_equal(timestamp_age(&a, &b), 60000);
	assert_int_equal(timestamp_age(&b, &a), AGE_UNKNOWN);
	snprintf(b.host, sizeof b.host, "west");
	assert_int_equal(timestamp_age(&a, &b), AGE_OTHER_BOOT);
	/* one of before there were hosts is this one's */
	b.host[0] = '\0';
	assert_int_equal(timestamp_age(&a, &b), AGE_OTHER_BOOT);
}

static void
a_boot_releases_no_other_hosts_claim(void **unused)
{
	struct house h = house();
	struct run_report r;

	(void)unused;
	on(&h, "west", "boot-w");
	create(&h, "r", "s");
	create(&h, "stop", "s2");
	assert_int_equal(step(&h, "claim", "r", "runner-w", 0), 1);
	assert_int_equal(step(&h, "claim", "stop", "runner-w", 0), 1);
	/* asked from east to stop: it is west's all the same */
	on(&h, "east", "boot-e");
	assert_int_equal(step(&h, "stop", "stop", "", 0), 1);
	later(&h, 10);
	r = recover(&h, RUN_MODE_ALL);
	assert_int_equal(r.claimed + r.running + r.stopping, 0);
	assert_int_equal(r.kept_young, 2);
	assert_string_equal(state(&h, "r"), "claimed");
	assert_string_equal(state(&h, "stop"), "stopping");
	/* its own boot releases it, at any age */
	on(&h, "west", "boot-w2");
	r = recover(&h, RUN_MODE_STALE);
	assert_int_equal(r.reset_to_pending, 1);
	assert_int_equal(r.marked_stopped, 1);
	assert_string_equal(state(&h, "r"), "pending");
	host_unset();
	leave(&h);
}

static void
a_stale_claim_of_another_host_goes_by_beats(void **unused)
{
	struct house h = house();
	struct runner who;

	(void)unused;
	on(&h, "west", "boot-w");
	/* a process of this machine: for east it says nothing */
	assert_int_equal(runner_register(h.s, "runner-w", getpid(), &h.now, &who, &h.e), 0);
	runner_release(&who);
	create(&h, "r", "s");
	assert_int_equal(step(&h, "claim", "r", "runner-w", 0), 1);
	later(&h, 400);
	assert_int_equal(runner_heartbeat(h.s, "runner-w", &h.now, &h.e), 0);
	later(&h, 200);
	on(&h, "east", "boot-e");
	h.now.boot_ms = 5;
	assert_int_equal(recover(&h, RUN_MODE_ALL).kept_by_runner, 1);
	assert_string_equal(state(&h, "r"), "claimed");
	assert_int_equal(runner_heartbeat(h.s, "runner-w", &h.now, &h.e), -1);
	assert_string_equal(h.e.name, "unregistered");
	later(&h, 200);
	assert_int_equal(recover(&h, RUN_MODE_STALE).reset_to_pending, 1);
	host_unset();
	leave(&h);
}

static void
told(struct session *x, const char *agent, int64_t pid)
{
	session_init(x);
	record_set(&x->agent_uuid, agent);
	record_set(&x->provider_name, "claude");
	record_set(&x->session, "toast");
	if (pid != 0)
		assert_int_equal(session_set_process(x, pid), 0);
}

static const char *
state_of(struct house *h, const char *agent)
{
	static char out[2 * HOST_MAX + 80];
	struct session x;

	assert_int_equal(session_load(h->s, agent, &x, &h->e), 1);
	snprintf(out, sizeof out, "%s %s", session_state_name(x.state), x.host);
	session_release(&x);
	return out;
}

static void
settle(struct house *h, struct session_reconciled *s, struct tree_repaired *t)
{
	assert_int_equal(session_reconcile(h->s, session_alive_now, &h->now, s, &h->e), 0);
	assert_int_equal(tree_repair(h->s, session_alive_now, &h->now, t, NULL, &h->e), 0);
}

static size_t
to_bring_back(struct house *h)
{
	struct tree_resumable back = { .all = true };
	struct tree_repaired t;
	size_t n;

	assert_int_equal(tree_repair(h->s, session_alive_now, &h->now, &t, &back, &h->e), 0);
	n = back.list.n;
	session_list_release(&back.list);
	return n;
}

/* The processes are of this machine and live or not; to the other host they say nothing either way. */
static void
no_other_hosts_session_is_judged(void **unused)
{
	struct house h = house();
	struct session_reconciled s;
	struct tree_repaired t;
	struct session x;
	struct buf blob = BUF_INIT;

	(void)unused;
	on(&h, "west", "boot-w");
	told(&x, "w", 0);
	assert_int_equal(session_record(h.s, &x, NULL, &h.e), 0);
	assert_false(session_is_elsewhere(&x));
	session_release(&x);
	on(&h, "east", "boot-e");
	settle(&h, &s, &t);
	assert_int_equal(s.suspended, 0);
	assert_int_equal(s.left, 1);
	assert_string_equal(state_of(&h, "w"), "ACTIVE west");
	assert_int_equal(session_load(h.s, "w", &x, &h.e), 1);
	assert_true(session_is_elsewhere(&x));
	assert_false(session_is_alive(&x, &h.now) || session_is_gone(&x, &h.now));
	session_release(&x);
	told(&x, "w", getpid());
	assert_int_equal(session_record(h.s, &x, NULL, &h.e), -1);
	assert_string_equal(h.e.name, "elsewhere");
	session_release(&x);
	assert_int_equal(session_started(h.s, "w", getpid(), NULL, &h.e), 0);
	/* its own host suspends it, and only there it is to be brought back */
	on(&h, "west", "boot-w");
	settle(&h, &s, &t);
	assert_int_equal(s.suspended, 1);
	on(&h, "east", "boot-e");
	assert_int_equal(to_bring_back(&h), 0);
	on(&h, "west", "boot-w");
	assert_int_equal(to_bring_back(&h), 1);
	/* a claim takes it over; then it is not west's any more */
	on(&h, "east", "boot-e");
	assert_int_equal(session_restore(h.s, "w", &blob, &x, &h.e), 0);
	assert_string_equal(x.came_from, "west");
	session_release(&x);
	assert_string_equal(state_of(&h, "w"), "ACTIVE east");
	on(&h, "west", "boot-w");
	assert_int_equal(session_restore(h.s, "w", &blob, &x, &h.e), -1);
	assert_string_equal(h.e.name, "active");
	settle(&h, &s, &t);
	assert_int_equal(s.suspended, 0);
	assert_string_equal(state_of(&h, "w"), "ACTIVE east");
	buf_release(&blob);
	host_unset();
	leave(&h);
}

static void
the_tree_of_another_host_is_its_own(void **unused)
{
	struct house h = house();
	struct session_reconciled s;
	struct tree_repaired t;
	struct session x;
	size_t ended;

	(void)unused;
	on(&h, "west", "boot-w");
	told(&x, "parent", 0);
	assert_int_equal(session_record(h.s, &x, NULL, &h.e), 0);
	session_release(&x);
	told(&x, "child", 0);
	record_set(&x.parent, "parent");
	assert_int_equal(session_record(h.s, &x, NULL, &h.e), 0);
	session_release(&x);
	assert_int_equal(tree_end(h.s, "parent", true, &ended, &h.e), 0);
	/* recorded, and its spawn was never acknowledged: west may be about to */
	on(&h, "east", "boot-e");
	settle(&h, &s, &t);
	assert_int_equal(t.linked + t.ended + t.made_roots, 0);
	assert_string_equal(state_of(&h, "child"), "ACTIVE west");
	on(&h, "west", "boot-w2");
	settle(&h, &s, &t);
	assert_int_equal(t.ended, 1);
	assert_string_equal(state_of(&h, "child"), "ENDED west");
	host_unset();
	leave(&h);
}

/* A receiver that another host suspended may be about to go on there. */
static void
messages_are_settled_where_the_receiver_is(void **unused)
{
	struct scrub *scrub = scrub_new(NULL, NULL);
	struct clean_text *text = scrub_string(scrub, "how many?");
	struct message_draft l = { .id = "m", .from = "a", .body = text, .sync = true };
	struct message_reconciled told_of;
	struct house h = house();
	struct session x;
	struct message m;

	(void)unused;
	on(&h, "west", "boot-w");
	for (int i = 0; i < 2; i++) {
		told(&x, i == 0 ? "a" : "b", 0);
		assert_int_equal(session_record(h.s, &x, NULL, &h.e), 0);
		session_release(&x);
	}
	assert_int_equal(message_send(h.s, &l, "b", &m, &h.e), 0);
	message_release(&m);
	assert_int_equal(message_mark_delivered(h.s, "m", &m, &h.e), 0);
	message_release(&m);
	assert_int_equal(session_suspend(h.s, "b", NULL, "asked", &x, &h.e), 0);
	session_release(&x);
	on(&h, "east", "boot-e");
	assert_int_equal(message_reconcile(h.s, REPLY_REPLAY, &told_of, &h.e), 0);
	assert_int_equal(told_of.replayed, 0);
	on(&h, "west", "boot-w");
	assert_int_equal(message_reconcile(h.s, REPLY_REPLAY, &told_of, &h.e), 0);
	assert_int_equal(told_of.replayed, 1);
	host_unset();
	clean_free(text);
	scrub_free(scrub);
	leave(&h);
}

static json_t *
json_of(const char *text)
{
	json_t *v = json_parse(text, strlen(text), "a test", NULL);

	assert_non_null(v);
	return v;
}

static bool
is_interrupted(struct house *h, int64_t now)
{
	struct epic_list list = { .n = 0 };
	struct timestamp m = h->now;
	bool yes;

	m.wall_ms = now;
	assert_int_equal(epic_list_read(h->s, "e", 30 * SECOND, &m, &list, &h->e), 0);
	yes = list.v[0].interrupted;
	epic_list_release(&list);
	return yes;
}

/* Its last checkpoint is of long ago; its hooks tell of it as it works. */
static void
hooks_of_another_host_are_heartbeats(void **unused)
{
	struct hook_event b = { .kind = HOOK_PRE_TOOL,
		.event = (char *)(uintptr_t)"PreToolUse",
		.conversation = (char *)(uintptr_t)"talk" };
	const struct hook_event *beats[] = { &b };
	struct house h = house();
	json_t *epic = json_of("{\"epicId\":\"e\",\"status\":\"in_progress\",\"sprints\":[{\"id\":\"s\","
			       "\"status\":\"in_progress\",\"progress\":40}]}"),
	       *agent = json_of("{\"agentId\":\"w\",\"epicId\":\"e\",\"sprintId\":\"s\",\"lastHeartbeat\":"
				"\"2020-10-10T20:45:30Z\"}");
	struct session x;
	int64_t now;

	(void)unused;
	on(&h, "west", "boot-w");
	told(&x, "w", 0);
	record_set(&x.cursor_session_id, "talk");
	assert_int_equal(session_record(h.s, &x, NULL, &h.e), 0);
	session_release(&x);
	assert_int_equal(checkpoint_commit(h.s, CHECKPOINT_EPIC, "e", epic, NULL, &h.e), 0);
	assert_int_equal(checkpoint_commit(h.s, CHECKPOINT_AGENT, "w", agent, NULL, &h.e), 0);
	on(&h, "east", "boot-e");
	now = store_now(h.s);
	assert_true(is_interrupted(&h, now + 200 * SECOND));
	on(&h, "west", "boot-w");
	timestamp_now(&b.at);
	assert_int_equal(activity_apply_events(h.s, beats, 1, &h.e), 0);
	on(&h, "east", "boot-e");
	now = store_now(h.s);
	assert_false(is_interrupted(&h, now));
	assert_true(is_interrupted(&h, now + 200 * SECOND));
	json_decref(epic);
	json_decref(agent);
	host_unset();
	leave(&h);
}

static int
take_host(const struct event_row *ev, void *arg)
{
	char *out = arg;

	snprintf(out + strlen(out), 64, "%s ", ev->host != NULL ? ev->host : "-");
	return 0;
}

static void
events_tell_their_host(void **unused)
{
	struct house h = house();
	struct event ev = { .kind = "run.created", .subject = "r" };
	char hosts[256] = "";

	(void)unused;
	assert_int_equal(event_commit(h.s, NULL, 0, &ev, &h.e), COMMIT_DONE);
	on(&h, "west", "boot-w");
	assert_int_equal(event_commit(h.s, NULL, 0, &ev, &h.e), COMMIT_DONE);
	on(&h, "east", "boot-e");
	assert_int_equal(event_commit(h.s, NULL, 0, &ev, &h.e), COMMIT_DONE);
	assert_int_equal(event_each(h.s, NULL, take_host, hosts, &h.e), 0);
	assert_string_equal(hosts, "- west east ");
	host_unset();
	leave(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(ages_between_hosts_go_by_the_wall),
		cmocka_unit_test(a_boot_releases_no_other_hosts_claim),
		cmocka_unit_test(a_stale_claim_of_another_host_goes_by_beats),
		cmocka_unit_test(no_other_hosts_session_is_judged),
		cmocka_unit_test(the_tree_of_another_host_is_its_own),
		cmocka_unit_test(messages_are_settled_where_the_receiver_is),
		cmocka_unit_test(hooks_of_another_host_are_heartbeats),
		cmocka_unit_test(events_tell_their_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
