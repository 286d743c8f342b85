#include "home.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "cli/epic/epic.h"
#include "epic/epic.h"
#include "golden.h"
#include "records/hooks/hooks.h"
#include "scrub/scrub.h"

#define BEAT 30000				/* ms: checkpoint_interval */
#define THRESHOLD 5

static const char crash[] = "2025-10-10T20:45:37Z";

static int64_t
at(const char *time)
{
	return clock_parse_iso(time);
}

static void
write_state(struct home *h, enum checkpoint_kind shape, const char *id, const char *text)
{
	json_t *o = json_parse(text, strlen(text), "test", NULL);

	assert_non_null(o);
	assert_int_equal(checkpoint_normalize(shape, id, o, at(crash), &h->e), 0);
	assert_int_equal(checkpoint_commit(h->s, shape, id, o, NULL, &h->e), 0);
	json_decref(o);
}

static json_t *
golden_json(const char *name)
{
	char *dir = tests_path("golden/epic");
	struct buf text = BUF_INIT;
	json_t *o;

	assert_int_equal(golden_read(dir, name, &text), 0);
	o = json_parse(text.data, text.len, name, NULL);
	assert_non_null(o);
	buf_release(&text);
	free(dir);
	return o;
}

/* The epic of the seed, as its checkpoints tell it: "KIND ID" -> checkpoint. */
static void
write_all(struct home *h)
{
	json_t *all = golden_json("state.json"), *v;
	const char *key;

	json_object_foreach(all, key, v) {
		const char *id = strchr(key, ' ') + 1;
		enum checkpoint_kind shape = 0;
		struct buf text = BUF_INIT;

		while (strncmp(checkpoint_kind_name(shape), key, strlen(checkpoint_kind_name(shape))) != 0)
			shape++;
		json_print(&text, v, false);
		write_state(h, shape, id, text.data);
		buf_release(&text);
	}
	json_decref(all);
}

/* now: as RFC 3339. */
static void
read_at(struct home *h, const char *id, const char *now, struct epic_list *out)
{
	struct timestamp m;

	timestamp_now(&m);
	m.wall_ms = at(now);
	memset(out, 0, sizeof *out);
	if (epic_list_read(h->s, id, BEAT, &m, out, &h->e) != 0)
		fail_msg("%s", h->e.msg);
}

static void
same_as_golden(const char *name, const struct buf *text)
{
	char *dir = tests_path("golden/epic"), *path = io_join(dir, name);
	struct buf expected = BUF_INIT;

	if (getenv("GT_GOLDEN_UPDATE") != NULL)
		temp_write(path, text->data);
	assert_int_equal(golden_read(dir, name, &expected), 0);
	assert_string_equal(text->data, expected.data);
	buf_release(&expected);
	free(path);
	free(dir);
}

static void
test_screens(void **state)
{
	struct home *h = *state;
	struct buf out = BUF_INIT;
	struct epic_list list;

	write_all(h);
	read_at(h, NULL, "2025-10-10T20:47:37Z", &list);
	epic_screen_status(&out, &list, false, at("2025-10-10T20:47:37Z"), THRESHOLD);
	same_as_golden("status.txt", &out);
	buf_reset(&out);
	assert_int_equal(list.n, 1);
	epic_screen_prompt(&out, &list.v[0], at("2025-10-10T20:47:37Z"), THRESHOLD);
	same_as_golden("prompt.txt", &out);
	buf_reset(&out);
	epic_screen_prompt(&out, &list.v[0], at("2025-10-10T20:47:07Z"), THRESHOLD);
	assert_non_null(strstr(out.data, "Down for: 1 minute 30 seconds\n"));
	buf_reset(&out);
	epic_screen_abandon(&out, &list.v[0]);
	same_as_golden("abandon.txt", &out);
	epic_list_release(&list);

	/* two beats of silence are no crash */
	buf_reset(&out);
	read_at(h, NULL, "2025-10-10T20:46:37Z", &list);
	epic_screen_status(&out, &list, false, at("2025-10-10T20:46:37Z"), THRESHOLD);
	assert_string_equal(out.data, "Found no interrupted epic.\n");
	epic_list_release(&list);
	buf_release(&out);
}

/* Who has a wrong clock was heard when he told it, and is silent from then on like any other. */
static void
test_signs_from_the_future(void **state)
{
	static const char future[] = "2099-01-01T00:00:00Z";
	struct home *h = *state;
	struct epic_list list;
	struct record r;
	json_t *o;

	write_state(h, CHECKPOINT_EPIC, "1",
	    "{\"lastCheckpoint\": \"2099-01-01T00:00:00Z\", \"sprints\": [{\"id\": \"2\", \"status\": "
	    "\"in_progress\"}]}");
	write_state(h, CHECKPOINT_SPRINT, "2",
	    "{\"epicId\": \"1\", \"lastCheckpoint\": 4070908800000, \"waitStarted\": "
	    "\"2099-01-01T00:00:00Z\","
	    "\"filesInProgress\": [{\"path\": \"a\", \"lastCheckpoint\": \"2099-01-01T00:00:00Z\"}]}");
	write_state(h, CHECKPOINT_AGENT, "c",
	    "{\"sprintId\": \"2\", \"lastHeartbeat\": \"2099-01-01T00:00:00Z\","
	    "\"taskProgress\": {\"estimatedCompletion\": \"2099-01-01T00:00:00Z\"}}");
	assert_int_equal(epic_record_find(h->s, EPIC_RECORD_AGENT, "c", &r, &o, &h->e), 1);
	assert_string_equal(json_text(o, "lastHeartbeat", ""), crash);
	assert_string_equal(json_text(json_object_get(o, "taskProgress"), "estimatedCompletion", ""), future);
	json_decref(o);
	store_record_release(&r);
	read_at(h, "1", "2025-10-10T20:46:37Z", &list);
	assert_false(list.v[0].interrupted);
	assert_true(list.v[0].last_seen_at == at(crash));
	assert_true(list.v[0].checkpoint == at(crash));
	epic_list_release(&list);
	read_at(h, "1", "2025-10-10T20:47:37Z", &list);
	assert_true(list.v[0].interrupted);
	epic_list_release(&list);
	/* the clock was put back since: no age is negative */
	read_at(h, "1", "2025-10-10T20:40:00Z", &list);
	assert_true(list.v[0].last_seen_at == at("2025-10-10T20:40:00Z"));
	assert_true(list.v[0].checkpoint == at("2025-10-10T20:40:00Z"));
	assert_true(list.v[0].sprints[0].last_seen_at == at("2025-10-10T20:40:00Z"));
	epic_list_release(&list);
}

/* What resuming says, before and after. */
static void
test_plan(void **state)
{
	static const bool all[] = { true, true, true, true, true },
			  some[] = { false, true, true, false, false };
	int64_t saved[] = { -1, at("2025-10-10T20:45:25Z"), 0, -1, -1 };
	struct home *h = *state;
	struct epic_plan p = { .chosen = all, .saved = saved, .threshold = THRESHOLD };
	struct buf out = BUF_INIT;
	struct epic_list list;

	write_all(h);
	read_at(h, "e-commerce-123", "2025-10-10T20:47:37Z", &list);
	p.x = &list.v[0];
	epic_plan_all(&out, &p);
	same_as_golden("plan.txt", &out);
	buf_reset(&out);
	epic_plan_title(&out, &p);
	for (size_t i = 0; i < list.v[0].n; i++)
		epic_plan_sprint(&out, &p, i, "Spawning agents: ");
	same_as_golden("resume.txt", &out);
	buf_reset(&out);
	epic_plan_summary(&out, &p, (const bool[]){ false, true, true, true, true }, true);
	same_as_golden("summary.txt", &out);

	/* the way 2, and two sprints alone */
	p.restart = true;
	p.chosen = some;
	buf_reset(&out);
	epic_plan_all(&out, &p);
	same_as_golden("plan-restart.txt", &out);
	buf_reset(&out);
	epic_plan_summary(&out, &p, (const bool[]){ false, false, true, false, false }, false);
	same_as_golden("summary-part.txt", &out);
	epic_list_release(&list);
	buf_release(&out);
}

/*
 * What waits for something that is not there is left waiting, and one that runs is shown without
 * a word of a crash.
 */
static void
test_waiting(void **state)
{
	struct home *h = *state;
	struct epic_plan p = { .chosen = (const bool[]){ true, true },
		.saved = (const int64_t[]){ -1, -1 },
		.threshold = THRESHOLD };
	struct buf out = BUF_INIT;
	struct epic_list list;

	write_state(h, CHECKPOINT_EPIC, "e",
	    "{\"sprints\": [{\"id\": \"a\", \"status\": \"starting\", \"progress\": 3}, "
	    "{\"id\": \"b\", \"status\": \"waiting\"}], \"dependencies\": {\"b\": [\"a\"]}, "
	    "\"lastCheckpoint\": \"2025-10-10T20:45:37Z\"}");
	read_at(h, "e", "2025-10-10T20:45:38Z", &list);
	p.x = &list.v[0];
	assert_false(epic_plan_open(&p, 1));
	epic_plan_sprint(&out, &p, 1, "Agents: ");
	assert_string_equal(out.data,
	    "- Sprint 2 (b): Dependency not ready, waiting\n    └─ Dependency: Sprint 1 (not ready)\n");
	buf_reset(&out);
	epic_screen_status(&out, &list, true, at("2025-10-10T20:45:38Z"), THRESHOLD);
	assert_non_null(strstr(out.data, "    ! Sprint 1 (a): STARTING (3%)\n\n"));
	assert_non_null(strstr(out.data, "It is not interrupted."));
	epic_list_release(&list);
	write_state(h, CHECKPOINT_SIGNAL, "a", "{\"name\": \"A\"}");
	read_at(h, "e", "2025-10-10T20:45:38Z", &list);
	p.x = &list.v[0];
	assert_true(epic_plan_open(&p, 1));
	epic_list_release(&list);
	buf_release(&out);
}

/* A process of an agent that runs here outweighs any silence. */
static void
test_alive(void **state)
{
	struct home *h = *state;
	struct session x;
	struct epic_list list;

	write_all(h);
	session_init(&x);
	record_set(&x.agent_uuid, "coder-2");
	record_set(&x.provider_name, "claude");
	assert_int_equal(session_set_process(&x, getpid()), 0);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	session_release(&x);
	read_at(h, "epic-e-commerce-123", "2026-01-01T00:00:00Z", &list);
	assert_true(list.v[0].alive);
	assert_false(list.v[0].interrupted);
	epic_list_release(&list);
}

static void
record(struct home *h, const char *agent, pid_t pid)
{
	struct session x;

	session_init(&x);
	record_set(&x.agent_uuid, agent);
	record_set(&x.provider_name, "claude");
	assert_int_equal(session_set_process(&x, pid), 0);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	session_release(&x);
}

/* Who is known to be gone need not be waited for; one of whom nothing is known is. */
static void
test_gone(void **state)
{
	struct home *h = *state;
	int ends[2], status;
	struct epic_list list;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		char byte;

		close(ends[1]);
		_exit(read(ends[0], &byte, 1) != 0);
	}
	close(ends[0]);
	write_state(h, CHECKPOINT_EPIC, "e", "{\"sprints\": [{\"id\": \"s\", \"status\": \"in_progress\"}]}");
	write_state(h, CHECKPOINT_SPRINT, "s", "{\"epicId\": \"e\", \"agents\": [{\"id\": \"a\"}]}");
	read_at(h, "e", "2025-10-10T20:45:38Z", &list);
	assert_false(list.v[0].interrupted);
	epic_list_release(&list);
	record(h, "a", child);
	read_at(h, "e", "2025-10-10T20:59:59Z", &list);
	assert_true(list.v[0].alive);		/* though no checkpoint of its own tells of it */
	assert_false(list.v[0].interrupted);
	epic_list_release(&list);
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	read_at(h, "e", "2025-10-10T20:45:38Z", &list);
	assert_true(list.v[0].interrupted);
	epic_list_release(&list);
	write_state(
	    h, CHECKPOINT_SPRINT, "s", "{\"epicId\": \"e\", \"agents\": [{\"id\": \"a\"}, {\"id\": \"b\"}]}");
	read_at(h, "e", "2025-10-10T20:45:38Z", &list);
	assert_false(list.v[0].interrupted);
	epic_list_release(&list);
}

/* What hooks tell of an agent is a sign of life, also where nobody knows its process. */
static void
test_hooks(void **state)
{
	struct home *h = *state;
	struct hook_event b = { .kind = HOOK_START,
		.event = (char *)(uintptr_t)"SessionStart",
		.conversation = (char *)(uintptr_t)"a" };
	const struct hook_event *beats[] = { &b };
	struct epic_list list;

	write_state(h, CHECKPOINT_EPIC, "e", "{\"sprints\": [{\"id\": \"s\", \"status\": \"in_progress\"}]}");
	write_state(h, CHECKPOINT_SPRINT, "s", "{\"epicId\": \"e\", \"agents\": [{\"id\": \"a\"}]}");
	read_at(h, "e", "2025-10-10T20:59:59Z", &list);
	assert_true(list.v[0].interrupted);
	epic_list_release(&list);
	timestamp_now(&b.at);
	b.at.wall_ms = at("2025-10-10T20:59:30Z");
	assert_int_equal(activity_apply_events(h->s, beats, 1, &h->e), 0);
	read_at(h, "e", "2025-10-10T20:59:59Z", &list);
	assert_false(list.v[0].interrupted);
	assert_int_equal(list.v[0].last_seen_at, b.at.wall_ms);
	epic_list_release(&list);
	read_at(h, "e", "2025-10-10T21:01:00Z", &list);
	assert_true(list.v[0].interrupted);
	epic_list_release(&list);
	/* the clock was put back since */
	read_at(h, "e", "2025-10-10T20:58:00Z", &list);
	assert_int_equal(list.v[0].last_seen_at, at("2025-10-10T20:58:00Z"));
	epic_list_release(&list);
}

/* Which epics were interrupted: all that were, and no other. */
static void
test_detection(void **state)
{
	static const struct { const char *id, *epic; bool interrupted;
	} cases[] = {
		{ "a", "{\"status\": \"in_progress\", \"lastCheckpoint\": 1760129000000}", true },
		{ "b", "{\"status\": \"completed\", \"lastCheckpoint\": 1760129000000}", false },
		{ "c",
		    "{\"status\": \"waiting\", "
		    "\"sprints\": [{\"id\": \"c1\", \"status\": \"waiting\"}], \"lastCheckpoint\": "
		    "1760129000000}",
		    false },
		{ "d", "{\"status\": \"starting\", \"lastCheckpoint\": 1760129000000}", true },
		{ "e",
		    "{\"sprints\": [{\"id\": \"e1\", \"status\": \"completed\"}], \"lastCheckpoint\": "
		    "1760129000000}",
		    false },
		{ "f",
		    "{\"status\": \"waiting\", "
		    "\"sprints\": [{\"id\": \"f1\", \"status\": \"starting\"}], \"lastCheckpoint\": "
		    "1760129000000}",
		    true },
		{ "g", "{\"status\": \"in_progress\", \"lastCheckpoint\": 1760129090001}", false },
		{ "h", "{\"status\": \"in_progress\", \"lastCheckpoint\": 1760129090000}", true },
	};
	struct home *h = *state;
	struct epic_list list;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		write_state(h, CHECKPOINT_EPIC, cases[i].id, cases[i].epic);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		read_at(h, cases[i].id, "2025-10-10T20:46:20Z", &list);		/* 1760129180000 */
		if (list.v[0].interrupted != cases[i].interrupted)
			fail_msg("epic %s", cases[i].id);
		epic_list_release(&list);
	}
	assert_int_equal(
	    epic_list_read(h->s, "z", BEAT, &(struct timestamp){ .wall_ms = 1 }, &list, &h->e), -1);
	assert_string_equal(h->e.name, "not-found");
}

/* Exported, abandoned, imported: the same to the byte, and half of it is never there. */
static void
test_round_trip(void **state)
{
	struct home *h = *state;
	struct scrub *s = scrub_new(NULL, &h->e);
	struct buf first = BUF_INIT, second = BUF_INIT;
	struct record r;
	struct epic_list list;
	json_t *dump, *again;
	char *id;
	size_t n;

	write_all(h);
	read_at(h, "e-commerce-123", "2025-10-10T20:47:37Z", &list);
	dump = epic_export_json(h->s, &list.v[0], at("2025-10-10T20:47:37Z"), &h->e);
	assert_non_null(dump);
	json_print(&first, dump, true);
	assert_int_equal(epic_import_json(h->s, dump, s, &id, &h->e), 0);
	free(id);
	assert_int_equal(epic_delete(h->s, &list.v[0], &n, &h->e), 0);
	assert_int_equal(n, 10);
	epic_list_release(&list);
	assert_int_equal(epic_record_find(h->s, EPIC_RECORD_AGENT, "coder-2", &r, NULL, &h->e), 0);
	assert_int_equal(epic_import_json(h->s, dump, s, &id, &h->e), 1);
	assert_string_equal(id, "e-commerce-123");
	free(id);
	read_at(h, "e-commerce-123", "2025-10-10T20:47:37Z", &list);
	again = epic_export_json(h->s, &list.v[0], at("2025-10-10T20:47:37Z"), &h->e);
	json_print(&second, again, true);
	json_object_del(again, "records");
	assert_string_equal(first.data, second.data);
	buf_reset(&second);
	json_print(&second, again, true);
	same_as_golden("export.json", &second);
	epic_list_release(&list);

	/* another value stands there: nothing is taken */
	write_state(h, CHECKPOINT_AGENT, "coder-2",
	    "{\"currentTask\": \"other\", \"sprintId\": \"product-catalog\"}");
	assert_int_equal(epic_import_json(h->s, dump, s, &id, &h->e), -1);
	assert_string_equal(h->e.name, "exists");
	err_clear(&h->e);
	json_object_clear(json_object_get(dump, "records"));
	json_object_set_new(json_object_get(dump, "records"), "session:x", json_object());
	assert_int_equal(epic_import_json(h->s, dump, s, &id, &h->e), -1);
	assert_string_equal(h->e.name, "dump");
	json_decref(dump);
	json_decref(again);
	buf_release(&first);
	buf_release(&second);
	scrub_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_screens, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_plan, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_waiting, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_signs_from_the_future, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_alive, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_gone, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_hooks, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_detection, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_round_trip, home_setup, home_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
