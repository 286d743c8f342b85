#include "test.h"

#include <string.h>
#include <sys/stat.h>

#include "conversation/conversation.h"
#include "scrub/scrub.h"
#include "temp.h"
#include "transcript/transcript.h"

/* A task list: the files of the Task tools, TodoWrite, a screen's panel, and what the prompt makes of it. */

#define USER                                                                                                 \
	"{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"message\":{\"content\":\"go\"}}\n"
#define WRITE_TODOS(id, up, list)                                                                                   \
	"{\"type\":\"assistant\",\"uuid\":\"c" id "\",\"parentUuid\":\"" up "\",\"message\":{\"id\":\"m" id  \
	"\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t" id "\",\"name\":\"TodoWrite\",\"input\":"        \
	"{\"todos\":[" list "]}}]}}\n"
#define RESULT(id, answer)                                                                                   \
	"{\"type\":\"user\",\"uuid\":\"r" id "\",\"parentUuid\":\"c" id "\",\"message\":{\"content\":"       \
	"[{\"type\":\"tool_result\",\"tool_use_id\":\"t" id "\",\"content\":\"x\"}]},"                       \
	"\"toolUseResult\":" answer "}\n"
#define FIRST "{\"content\":\"Fix it\",\"status\":\"in_progress\"},{\"content\":\"Test\",\"status\":\"pending\"}"

static struct scrub *scrub;
static char *dir, *path;

static void
put(const char *name, const char *text)
{
	char *file = xasprintf("%s/%s", dir, name);

	if (text == NULL)
		assert_int_equal(mkdir(file, 0700), 0);
	else
		temp_write(file, text);
	free(file);
}

static int
set_up(void **state)
{
	(void)state;
	scrub = scrub_new(NULL, NULL);
	dir = temp_dir();
	path = xasprintf("%s/projects/-w/s-1.jsonl", dir);
	put("projects", NULL);
	put("projects/-w", NULL);
	put("tasks", NULL);
	put("tasks/s-1", NULL);
	return scrub == NULL;
}

static int
tear_down(void **state)
{
	(void)state;
	scrub_free(scrub);
	temp_remove(dir);
	free(path);
	return 0;
}

static void
check_tasks(const char *records, const char *want)
{
	struct conversation c;

	put("projects/-w/s-1.jsonl", records);
	assert_int_equal(transcript_read(path, "claude", scrub, 0, &c, NULL), 0);
	if (want == NULL)
		assert_null(c.tasks);
	else
		assert_string_equal(c.tasks, want);
	conversation_release(&c);
}

static void
reads_todos_that_were_written(void **state)
{
	(void)state;
	check_tasks(USER WRITE_TODOS("1", "u", FIRST) RESULT("1", "{\"oldTodos\":[],\"newTodos\":[" FIRST "]}"),
	    "◼ Fix it\n◻ Test");
	/* newer models have no such tool */
	check_tasks(USER WRITE_TODOS("1", "u", FIRST) RESULT("1", "\"Error: No such tool available: TodoWrite.\""), NULL);
	check_tasks(USER WRITE_TODOS("1", "u", FIRST) RESULT("1", "{\"newTodos\":[" FIRST "]}")
	    WRITE_TODOS("2", "r1", "{\"content\":\"x\"}") RESULT("2", "\"Error\""), "◼ Fix it\n◻ Test");
}

/* As 2.1.197 and 2.1.330 write them; what a finished task blocked is not blocked. */
static void
reads_task_files(void **state)
{
	(void)state;
	put("tasks/s-1/10.json", "{\"id\":\"10\",\"subject\":\"Ship with PASSWORD=Tr0ub4dor3xyz\",\"status\":"
	    "\"pending\",\"blockedBy\":[\"1\",\"2\",\"3\",\"9\"]}");
	put("tasks/s-1/1.json", "{\"id\":\"1\",\"subject\":\"Read\",\"status\":\"completed\",\"blockedBy\":[]}");
	put("tasks/s-1/2.json", "{\"id\":\"2\",\"subject\":\"Fix\",\"status\":\"in_progress\",\"blockedBy\":[]}");
	put("tasks/s-1/3.json", "{\"id\":\"3\",\"subject\":\"Test\",\"status\":\"pending\",\"blockedBy\":[\"2\"]}");
	put("tasks/s-1/4.json", "{torn");
	put("tasks/s-1/.lock", "");
	check_tasks(USER WRITE_TODOS("1", "u", FIRST) RESULT("1", "{\"newTodos\":[" FIRST "]}"),
	    "✔ #1 Read\n◼ #2 Fix\n◻ #3 Test › blocked by #2\n"
	    "◻ #10 Ship with PASSWORD=[REDACTED:password] › blocked by #2, #3");
}

/* A screen shows a part of a long list. */
static void
goes_before_the_screens_list(void **state)
{
	struct conversation t = CONVERSATION_INIT, s = CONVERSATION_INIT, out;

	(void)state;
	conversation_add(&s, ROLE_USER, NULL, NULL, xstrdup("go"));
	t.tasks = xstrdup("◻ one\n◻ two");
	s.tasks = xstrdup("1 task");
	conversation_merge(&t, NULL, &s, &out);
	assert_string_equal(out.tasks, "◻ one\n◻ two");
	conversation_release(&out);
	conversation_add(&s, ROLE_USER, NULL, NULL, xstrdup("go"));
	s.tasks = xstrdup("1 task");
	conversation_merge(&t, NULL, &s, &out);
	assert_string_equal(out.tasks, "1 task");
	conversation_release(&out);
}

static void
says_it_in_words(void **state)
{
	static const char marks[] = "2 tasks (1 done, 1 open)\n✔ read\n  ✔ no mark\n◼ fix\n\n◻ test";
	static const char words[] = "2 tasks (1 done, 1 open)\n- done: read\n  ✔ no mark\n- in progress: fix\n\n"
				    "- open: test";
	struct conversation c = CONVERSATION_INIT;
	char *list = conversation_tasks_list(marks), *again = conversation_tasks_from_list(list);

	(void)state;
	assert_string_equal(list, words);
	assert_string_equal(again, marks);
	free(list);
	free(again);
	assert_false(conversation_has_open_task(&c));
	c.tasks = xstrdup("✔ read\n☒ fix");
	assert_false(conversation_has_open_task(&c));
	free(c.tasks);
	c.tasks = xstrdup("✔ read\n\n☐ fix");
	assert_true(conversation_has_open_task(&c));
	conversation_release(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_todos_that_were_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reads_task_files, set_up, tear_down),
		cmocka_unit_test(goes_before_the_screens_list),
		cmocka_unit_test(says_it_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
