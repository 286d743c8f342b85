#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "epic/epic.h"
#include "scrub/scrub.h"

#define NOW 1760129130500LL			/* 2025-10-10T20:45:30.500Z */

static json_t *
parse(const char *text)
{
	json_t *o = json_parse(text, strlen(text), "test", NULL);

	assert_non_null(o);
	return o;
}

/* The name of the error, "" for none; *out: the object, when wanted. */
static const char *
take(enum checkpoint_kind shape, const char *text, json_t **out)
{
	static struct err e;
	json_t *o = parse(text);
	int ret;

	err_clear(&e);
	ret = checkpoint_normalize(shape, "x-1", o, NOW, &e);
	assert_int_equal(ret, e.code == 0 ? 0 : -1);
	if (out != NULL)
		*out = o;
	else
		json_decref(o);
	assert_true(e.code == 0 || e.code == GT_USAGE);
	return e.name;
}

static void
test_times(void **state)
{
	json_t *o;

	(void)state;
	assert_string_equal(
	    take(CHECKPOINT_SPRINT,
		"{\"startTime\": 1760129130000, \"lastCheckpoint\": \"2025-10-10T22:45:30.250+02:00\"}", &o),
	    "");
	assert_string_equal(json_text(o, "startTime", ""), "2025-10-10T20:45:30Z");
	assert_string_equal(json_text(o, "lastCheckpoint", ""), "2025-10-10T20:45:30.250Z");
	assert_true(checkpoint_time(o, "startTime") == 1760129130000LL);
	json_decref(o);
	/* absent: now; the status follows from the progress */
	assert_string_equal(take(CHECKPOINT_SPRINT, "{\"progress\": 80}", &o), "");
	assert_string_equal(json_text(o, "lastCheckpoint", ""), "2025-10-10T20:45:30.500Z");
	assert_string_equal(json_text(o, "status", ""), "in_progress");
	assert_string_equal(json_text(o, "sprintId", ""), "x-1");
	json_decref(o);
	assert_string_equal(take(CHECKPOINT_SPRINT, "{\"startTime\": 1760129130}", NULL), "checkpoint");
	assert_string_equal(take(CHECKPOINT_SPRINT, "{\"startTime\": \"yesterday\"}", NULL), "checkpoint");
	assert_string_equal(take(CHECKPOINT_SPRINT, "{\"startTime\": -1}", NULL), "checkpoint");
}

static void
test_counters(void **state)
{
	json_t *o;

	(void)state;
	assert_string_equal(take(CHECKPOINT_EPIC,
				"{\"sprints\": "
				"[{\"id\":\"1\",\"status\":\"completed\"},{\"id\":\"2\",\"status\":"
				"\"starting\","
				"\"progress\":5},{\"id\":\"3\",\"status\":\"in_progress\"},{\"id\":\"4\","
				"\"status\":\"waiting\"}]}",
				&o),
	    "");
	assert_int_equal(json_number(o, "totalSprints", -1), 4);
	assert_int_equal(json_number(o, "completedSprints", -1), 1);
	assert_int_equal(json_number(o, "inProgressSprints", -1), 2);
	assert_int_equal(json_number(o, "waitingSprints", -1), 1);
	assert_int_equal(json_number(json_array_get(json_object_get(o, "sprints"), 0), "progress", -1), 100);
	json_decref(o);
	assert_string_equal(
	    take(CHECKPOINT_EPIC,
		"{\"inProgressSprints\": 0, \"sprints\": [{\"id\":\"2\",\"status\":\"starting\"}]}", NULL),
	    "counters");
	assert_string_equal(take(CHECKPOINT_EPIC,
				"{\"totalSprints\": 3, \"completedSprints\": 1, \"inProgressSprints\": 1, "
				"\"waitingSprints\": 0}",
				NULL),
	    "counters");
	assert_string_equal(take(CHECKPOINT_EPIC,
				"{\"sprints\": "
				"[{\"id\":\"2\",\"status\":\"waiting\"},{\"id\":\"2\",\"status\":\"waiting\"}"
				"]}",
				NULL),
	    "checkpoint");
}

static void
test_refused(void **state)
{
	static const struct { enum checkpoint_kind shape; const char *text;
	} wrong[] = {
		{ CHECKPOINT_EPIC, "[]" },
		{ CHECKPOINT_EPIC, "{\"status\": \"paused\"}" },
		{ CHECKPOINT_EPIC, "{\"sprints\": {}}" },
		{ CHECKPOINT_EPIC, "{\"sprints\": [1]}" },
		{ CHECKPOINT_EPIC, "{\"sprints\": [{\"id\":\"a b\",\"status\":\"waiting\"}]}" },
		{ CHECKPOINT_EPIC, "{\"sprints\": [{\"status\":\"waiting\"}]}" },
		{ CHECKPOINT_EPIC, "{\"epicId\": \"other\"}" },
		{ CHECKPOINT_EPIC, "{\"dependencies\": {\"a\": \"b\"}}" },
		{ CHECKPOINT_EPIC, "{\"dependencies\": {\"a\": [\"b\\n\"]}}" },
		{ CHECKPOINT_SPRINT, "{\"progress\": 101}" },
		{ CHECKPOINT_SPRINT, "{\"progress\": -0.5}" },
		{ CHECKPOINT_SPRINT, "{\"phase\": 3}" },
		{ CHECKPOINT_SPRINT, "{\"filesInProgress\": [{\"currentLine\": 3}]}" },
		{ CHECKPOINT_SPRINT, "{\"confidence\": {\"loop3\": 1.5}}" },
		{ CHECKPOINT_SPRINT, "{\"filesWritten\": [{\"path\": \"a\", \"completed\": \"yes\"}]}" },
		{ CHECKPOINT_AGENT, "{\"lineNumber\": 1.5}" },
		{ CHECKPOINT_AGENT, "{\"taskProgress\": {\"subtasksCompleted\": [1]}}" },
		{ CHECKPOINT_AGENT, "{\"context\": []}" },
		{ CHECKPOINT_FILE, "{}" },
		{ CHECKPOINT_SIGNAL, "7" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_string_equal(take(wrong[i].shape, wrong[i].text, NULL), "checkpoint");
	/* null is "not known", and what no shape knows stays */
	assert_string_equal(take(CHECKPOINT_SPRINT,
				"{\"phase\": null, \"confidence\": {\"loop3\": 0.82, \"loop2\": null}, "
				"\"mine\": [1, {}]}",
				NULL),
	    "");
	assert_string_equal(take(CHECKPOINT_EPIC, "{\"epicId\": \"epic-x-1\"}", NULL), "");
}

static void
test_clean(void **state)
{
	static const char secret[] = "ghp_R2D2c3poYodaLukeLeiaHanChewieLando01";
	char *text = xasprintf("{\"note\": \"first\\nsecond %s\\r\\nthird\", \"epicId\": \"e\", \"%s\": "
			       "{\"list\": [\"\", \"b\", 7, null, true]}, "
			       "\"password\": \"hunter2hunter2!x\", \"last\": \"x\"}",
	    secret, secret);
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(NULL, &e);
	json_t *o = parse(text), *c = checkpoint_scrub(CHECKPOINT_EPIC, o, s, &e);
	struct buf out = BUF_INIT;

	(void)state;
	assert_non_null(c);
	json_print(&out, c, false);
	assert_null(strstr(out.data, secret));
	assert_null(strstr(out.data, "hunter2"));
	assert_non_null(strstr(out.data, "\"note\":\"first\\nsecond [REDACTED:"));
	assert_non_null(strstr(out.data, "third\",\"epicId\":\"e\",\"[REDACTED:"));
	assert_non_null(strstr(out.data, "{\"list\":[\"\",\"b\",7,null,true]}"));
	assert_string_equal(json_text(c, "last", ""), "x");
	buf_release(&out);
	json_decref(c);
	json_decref(o);
	free(text);

	text = xcalloc(1, 2000);
	memset(text, '[', 900);
	memset(text + 900, ']', 900);
	o = json_object();
	json_object_set_new(o, "deep", parse(text));
	assert_null(checkpoint_scrub(CHECKPOINT_EPIC, o, s, &e));
	assert_string_equal(e.name, "checkpoint");
	json_decref(o);
	free(text);
	scrub_free(s);
}

/*
 * Ids and states are what the shape has as such, at their places: the same words elsewhere, and
 * what else stands there, are text.
 */
static void
test_clean_by_the_shape(void **state)
{
#define TOKEN_COST "ghp_R2D2c3poYodaLukeLeiaHanChewieLando01"
	static const struct { enum checkpoint_kind shape; const char *text;
	} told[] = {
		{ CHECKPOINT_SPRINT,
		    "{\"agents\": [{\"id\": \"coder-1\", \"status\": \"pushing with " TOKEN_COST "\"}]}" },
		{ CHECKPOINT_SPRINT,
		    "{\"validators\": [{\"id\": \"v-1\", \"status\": \"" TOKEN_COST "\", \"score\": 0.5}]}" },
		{ CHECKPOINT_SPRINT, "{\"extra\": {\"id\": {\"a\": \"" TOKEN_COST "\"}}}" },
		{ CHECKPOINT_SPRINT, "{\"id\": \"" TOKEN_COST "\"}" },
		{ CHECKPOINT_EPIC,
		    "{\"extra\": [{\"epicId\": \"" TOKEN_COST "\"}], \"sprints\": [{\"id\": \"1\", "
							      "\"status\": \"waiting\", \"sprintId\": "
							      "\"" TOKEN_COST "\"}]}" },
		{ CHECKPOINT_EPIC, "{\"sessionId\": {\"status\": [\"" TOKEN_COST "\"]}}" },
		{ CHECKPOINT_AGENT, "{\"status\": \"" TOKEN_COST "\"}" },
		{ CHECKPOINT_AGENT, "{\"context\": {\"agentId\": \"" TOKEN_COST "\"}}" },
		{ CHECKPOINT_FILE, "{\"path\": \"a\", \"status\": \"" TOKEN_COST "\"}" },
		{ CHECKPOINT_SIGNAL, "{\"id\": \"" TOKEN_COST "\", \"status\": \"" TOKEN_COST "\"}" },
		{ CHECKPOINT_SPRINT, "{\"x\": {\"dependencies\": {\"a\": [\"" TOKEN_COST "\"]}}}" },
	};
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(NULL, &e);
	struct buf out = BUF_INIT;
	json_t *o, *c;

	(void)state;
	for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
		assert_string_equal(take(told[i].shape, told[i].text, &o), "");
		assert_non_null(c = checkpoint_scrub(told[i].shape, o, s, &e));
		buf_reset(&out);
		json_print(&out, c, false);
		if (strstr(out.data, TOKEN_COST) != NULL || strstr(out.data, "[REDACTED:") == NULL)
			fail_msg("%s: %s", told[i].text, out.data);
		json_decref(c);
		json_decref(o);
	}
	/* what looks like a secret and is an id of the shape's own stays, or nothing would be found again */
	assert_string_equal(take(CHECKPOINT_EPIC,
				"{\"epicId\": \"x-1\", \"status\": \"starting\", \"sprints\": [{\"id\": "
				"\"" TOKEN_COST "\", \"status\": \"waiting\"}],"
				"\"dependencies\": {\"" TOKEN_COST "\": [\"" TOKEN_COST "\"]}}",
				&o),
	    "");
	assert_non_null(c = checkpoint_scrub(CHECKPOINT_EPIC, o, s, &e));
	assert_true(json_equal(c, o));
	json_decref(c);
	json_decref(o);
	buf_release(&out);
	scrub_free(s);
#undef TOKEN_COST
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times), cmocka_unit_test(test_counters),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_clean),
		cmocka_unit_test(test_clean_by_the_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
