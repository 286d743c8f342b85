#include "home.h"

#include "base/json.h"
#include "epic/epic.h"
#include "records/records.h"

/* 0, or -1 with h->e. */
static int
write_state(struct home *h, enum checkpoint_kind shape, const char *id, const char *text)
{
	json_t *o = json_parse(text, strlen(text), "test", NULL);
	int ret;

	assert_non_null(o);
	err_clear(&h->e);
	assert_int_equal(checkpoint_normalize(shape, id, o, store_now(h->s), &h->e), 0);
	ret = checkpoint_commit(h->s, shape, id, o, NULL, &h->e);
	json_decref(o);
	return ret;
}

static json_t *
read_state(struct home *h, enum epic_record_kind at, const char *id, const char *key)
{
	struct record r;
	json_t *o;

	assert_int_equal(epic_record_find(h->s, at, id, &r, &o, &h->e), 1);
	assert_string_equal(r.key, key);
	store_record_release(&r);
	return o;
}

static int64_t
events(struct home *h)
{
	int64_t last;

	assert_int_equal(event_last(h->s, &last, &h->e), 0);
	return last;
}

/* A record is found by its id with its kind in front or without. */
static void
test_ids(void **state)
{
	struct home *h = *state;
	struct record r;

	assert_int_equal(
	    write_state(h, CHECKPOINT_EPIC, "epic-123", "{\"epicId\": \"123\", \"name\": \"a\"}"), 0);
	assert_int_equal(write_state(h, CHECKPOINT_EPIC, "epic-123", "{\"name\": \"b\"}"), 0);
	json_decref(read_state(h, EPIC_RECORD_EPIC, "123", "epic:123:state"));
	json_decref(read_state(h, EPIC_RECORD_EPIC, "epic-123", "epic:123:state"));
	assert_int_equal(write_state(h, CHECKPOINT_SIGNAL, "sprint-1", "{\"name\": \"AuthAPI\"}"), 0);
	json_decref(read_state(h, EPIC_RECORD_READY, "1", "interface:sprint-1:ready"));
	assert_int_equal(epic_record_find(h->s, EPIC_RECORD_EPIC, "12", &r, NULL, &h->e), 0);
	assert_true(epic_record_same_id(EPIC_RECORD_SPRINT, "sprint-a", "a"));
	assert_false(epic_record_same_id(EPIC_RECORD_SPRINT, "sprint-a", "b"));
	assert_false(epic_record_same_id(EPIC_RECORD_AGENT, "agent-a", "a"));
	store_record_release(&r);
}

/* Whatever was known of its progress goes; whose it is, who works at it and its lock stay. */
static void
test_start_over(void **state)
{
	struct home *h = *state;
	struct record r;
	json_t *o, *epic, *want;

	assert_int_equal(write_state(h, CHECKPOINT_EPIC, "e",
			     "{\"sprints\": [{\"id\":\"one\",\"status\":\"in_progress\",\"progress\":80},"
			     "{\"id\":\"two\",\"status\":\"in_progress\",\"progress\":70}]}"),
	    0);
	assert_int_equal(write_state(h, CHECKPOINT_SPRINT, "sprint-one",
			     "{\"epicId\":\"e\",\"status\":\"in_progress\",\"progress\":80,\"mine\":1,"
			     "\"lastCheckpoint\":\"2025-10-10T20:45:30Z\",\"agents\":[{\"id\":\"a\"}],"
			     "\"filesWritten\":[{\"path\":\"x\"}],"
			     "\"tests\":{\"run\":1,\"total\":2,\"lock\":\"slot\"},\"validators\":[{\"id\":"
			     "\"v\",\"status\":\"completed\"}],\"phase\":\"Loop 2\"}"),
	    0);
	assert_int_equal(write_state(h, CHECKPOINT_FILE, "one", "{\"path\":\"y\"}"), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sprint_reset(h->s, "e", "one", &h->e), 0);
	home_again(h);
	o = read_state(h, EPIC_RECORD_SPRINT, "one", "sprint:sprint-one:state");
	want = json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:[{s:s}], s:{s:s}}", "sprintId", "sprint-one",
	    "epicId", "e", "status", "starting", "progress", 0, "mine", 1, "lastCheckpoint",
	    "2025-10-10T20:45:30Z", "agents", "id", "a", "tests", "lock", "slot");
	assert_non_null(want);
	assert_true(json_equal(o, want));
	assert_int_equal(epic_record_find(h->s, EPIC_RECORD_FILES, "one", &r, NULL, &h->e), 0);
	/* one that the epic alone tells of */
	assert_int_equal(sprint_reset(h->s, "e", "two", &h->e), 0);
	json_decref(o);
	o = read_state(h, EPIC_RECORD_SPRINT, "two", "sprint:two:state");
	assert_string_equal(json_text(o, "epicId", ""), "e");
	epic = read_state(h, EPIC_RECORD_EPIC, "e", "epic:e:state");
	for (size_t i = 0; i < 2; i++) {
		const json_t *entry = json_array_get(json_object_get(epic, "sprints"), i);

		assert_string_equal(json_text(entry, "status", ""), "starting");
		assert_int_equal(json_number(entry, "progress", -1), 0);
	}
	json_decref(epic);
	json_decref(want);
	json_decref(o);
}

/* A sprint's checkpoint moves its epic in the same commit; only another state is an event. */
static void
test_sprint_in_epic(void **state)
{
	struct home *h = *state;
	json_t *epic, *entry;
	int64_t before;

	assert_int_equal(write_state(h, CHECKPOINT_EPIC, "e",
			     "{\"mine\": 1, \"sprints\": [{\"id\":\"sprint-1\",\"status\":\"in_progress\"},"
			     "{\"id\":\"sprint-2\",\"status\":\"waiting\"}]}"),
	    0);
	assert_int_equal(write_state(h, CHECKPOINT_SPRINT, "1",
			     "{\"epicId\": \"epic-e\", \"status\": \"in_progress\", \"progress\": 40}"),
	    0);
	before = events(h);
	assert_int_equal(
	    write_state(h, CHECKPOINT_SPRINT, "1", "{\"status\": \"in_progress\", \"progress\": 60}"), 0);
	assert_true(events(h) == before);
	assert_int_equal(
	    write_state(h, CHECKPOINT_SPRINT, "1", "{\"status\": \"completed\", \"progress\": 100}"), 0);
	assert_true(events(h) == before + 1);
	epic = read_state(h, EPIC_RECORD_EPIC, "e", "epic:e:state");
	entry = json_array_get(json_object_get(epic, "sprints"), 0);
	assert_string_equal(json_text(entry, "status", ""), "completed");
	assert_int_equal(json_number(entry, "progress", 0), 100);
	assert_int_equal(json_number(epic, "completedSprints", -1), 1);
	assert_int_equal(json_number(epic, "inProgressSprints", -1), 0);
	assert_int_equal(json_number(epic, "waitingSprints", -1), 1);
	assert_int_equal(json_number(epic, "mine", 0), 1);
	json_decref(epic);
}

/* A heartbeat alone keeps what was told before, and is no place to go on from. */
static void
test_heartbeat(void **state)
{
	struct home *h = *state;
	json_t *o;

	assert_int_equal(write_state(h, CHECKPOINT_AGENT, "coder-1",
			     "{\"currentTask\": \"JWT\", \"lastHeartbeat\": 1760129130000}"),
	    0);
	assert_int_equal(
	    write_state(h, CHECKPOINT_AGENT, "coder-1", "{\"lastHeartbeat\": 1760129160000}"), 0);
	o = read_state(h, EPIC_RECORD_AGENT, "coder-1", "agent:coder-1:state");
	assert_string_equal(json_text(o, "currentTask", ""), "JWT");
	assert_string_equal(json_text(o, "lastHeartbeat", ""), "2025-10-10T20:46:00Z");
	json_decref(o);
	o = read_state(h, EPIC_RECORD_CHECKPOINT, "coder-1", "agent:coder-1:checkpoint");
	assert_string_equal(json_text(o, "lastHeartbeat", ""), "2025-10-10T20:45:30Z");
	json_decref(o);
	/* what it belongs to is told once */
	assert_int_equal(write_state(h, CHECKPOINT_AGENT, "coder-1",
			     "{\"currentTask\": \"JWT\", \"sprintId\": \"s\", \"sessionId\": \"uuid\"}"),
	    0);
	assert_int_equal(write_state(h, CHECKPOINT_AGENT, "coder-1", "{\"currentTask\": \"logout\"}"), 0);
	o = read_state(h, EPIC_RECORD_CHECKPOINT, "coder-1", "agent:coder-1:checkpoint");
	assert_string_equal(json_text(o, "sprintId", ""), "s");
	assert_string_equal(json_text(o, "sessionId", ""), "uuid");
	assert_string_equal(json_text(o, "currentTask", ""), "logout");
	json_decref(o);
}

static void
test_files(void **state)
{
	struct home *h = *state;
	json_t *o, *files;

	assert_int_equal(write_state(h, CHECKPOINT_FILE, "s", "{\"path\": \"a.c\", \"currentLine\": 1}"), 0);
	assert_int_equal(write_state(h, CHECKPOINT_FILE, "s", "{\"path\": \"b.c\", \"currentLine\": 2}"), 0);
	assert_int_equal(write_state(h, CHECKPOINT_FILE, "sprint-s",
			     "{\"path\": \"a.c\", \"currentLine\": 127, \"completed\": false}"),
	    0);
	o = read_state(h, EPIC_RECORD_FILES, "s", "sprint:s:files");
	files = json_object_get(o, "files");
	assert_int_equal(json_array_size(files), 2);
	assert_int_equal(json_number(json_array_get(files, 1), "currentLine", 0), 127);
	json_decref(o);
}

/* 1 MiB, whatever it grows from. */
static void
test_too_large(void **state)
{
	struct home *h = *state;
	char *section = xcalloc(1, (600u << 10) + 1), *text;

	memset(section, 'x', 600u << 10);
	text = xasprintf("{\"path\": \"a.c\", \"nextSection\": \"%s\"}", section);
	assert_int_equal(write_state(h, CHECKPOINT_FILE, "s", text), 0);
	free(text);
	text = xasprintf("{\"path\": \"b.c\", \"nextSection\": \"%s\"}", section);
	assert_int_equal(write_state(h, CHECKPOINT_FILE, "s", text), -1);
	assert_string_equal(h->e.name, "too-large");
	assert_int_equal(h->e.code, GT_USAGE);
	assert_string_equal(h->e.msg, "the files of the sprint s together have more than 1024 KiB");
	assert_null(strstr(h->e.hint, "Omit"));
	free(text);
	free(section);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ids, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_start_over, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_sprint_in_epic, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_heartbeat, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_files, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_too_large, home_setup, home_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
