#include "test.h"

#include <string.h>
#include <sys/stat.h>

#include "conversation/conversation.h"
#include "gastown/gastown.h"
#include "process/orphan.h"
#include "recover/recover_private.h"
#include "scrub/scrub.h"
#include "temp.h"
#include "transcript/transcript.h"

/* Records as 2.1.330 wrote them, shortened: two shells of which one ended, a monitor, … */
static const char records[] =
    "{\"type\":\"assistant\",\"uuid\":\"at1\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\""
    "tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{\"command\":\"npm run dev\",\"run_in_b"
    "ackground\":true}}]},\"timestamp\":\"2026-11-23T09:17:01.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"user\",\"uuid\":\"rt1\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_"
    "id\":\"t1\",\"type\":\"tool_result\",\"content\":\"Command running in background with ID: b6"
    "fanif0e. Output is being written to: /tmp/c/b6fanif0e.output. You will be notified when it c"
    "ompletes\"}]},\"toolUseResult\":{\"stdout\":\"\",\"backgroundTaskId\":\"b6fanif0e\"},\"times"
    "tamp\":\"2026-11-23T09:17:02.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at2\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\""
    "tool_use\",\"id\":\"t2\",\"name\":\"Bash\",\"input\":{\"command\":\"make check\",\"run_in_ba"
    "ckground\":true}}]},\"timestamp\":\"2026-11-23T09:17:03.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"user\",\"uuid\":\"rt2\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_"
    "id\":\"t2\",\"type\":\"tool_result\",\"content\":\"Command running in background with ID: bd"
    "one. Output is being written to: /tmp/c/bdone.output. You\"}]},\"toolUseResult\":{\"stdout\""
    ":\"\",\"backgroundTaskId\":\"bdone\"},\"timestamp\":\"2026-11-23T09:17:04.000Z\",\"isSidecha"
    "in\":false}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at3\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\""
    "tool_use\",\"id\":\"t3\",\"name\":\"Monitor\",\"input\":{\"command\":\"tail -f log\",\"descr"
    "iption\":\"watch the log\",\"timeout_ms\":1800000}}]},\"timestamp\":\"2026-11-23T09:17:05.00"
    "0Z\",\"isSidechain\":false}\n"
    "{\"type\":\"user\",\"uuid\":\"rt3\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_"
    "id\":\"t3\",\"type\":\"tool_result\",\"content\":\"Monitor started (task b16l23cw9, expires "
    "in 30m\"}]},\"toolUseResult\":{\"taskId\":\"b16l23cw9\",\"timeoutMs\":1800000,\"persistent\""
    ":false},\"timestamp\":\"2026-11-23T09:17:06.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at4\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\""
    "tool_use\",\"id\":\"t4\",\"name\":\"Agent\",\"input\":{\"description\":\"look for dead code"
    "\",\"prompt\":\"DIGGER PASSWORD=Tr0ub4dor3xyz\"}}]},\"timestamp\":\"2026-11-23T09:17:07.000Z\",\"isSidechain"
    "\":false}\n"
    "{\"type\":\"user\",\"uuid\":\"rt4\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_"
    "id\":\"t4\",\"type\":\"tool_result\",\"content\":\"Async agent launched successfully.\"}]},"
    "\"toolUseResult\":{\"isAsync\":true,\"status\":\"async_launched\",\"agentId\":\"a874\",\"des"
    "cription\":\"look for dead code\",\"prompt\":\"DIGGER PASSWORD=Tr0ub4dor3xyz\",\"outputFile\":\"/tmp/x\"},\""
    "timestamp\":\"2026-11-23T09:17:08.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at5\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\""
    "tool_use\",\"id\":\"t5\",\"name\":\"Workflow\",\"input\":{\"script\":\"export const meta\"}}"
    "]},\"timestamp\":\"2026-11-23T09:17:09.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"user\",\"uuid\":\"rt5\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_"
    "id\":\"t5\",\"type\":\"tool_result\",\"content\":\"Workflow launched\"}]},\"toolUseResult\":"
    "{\"status\":\"async_launched\",\"taskId\":\"wsi0zu9ax\",\"taskType\":\"local_workflow\",\"wo"
    "rkflowName\":\"audit-things\",\"runId\":\"wf_d783\",\"scriptPath\":\"/w/audit.js\"},\"timest"
    "amp\":\"2026-11-23T09:17:10.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at6\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\""
    "tool_use\",\"id\":\"t6\",\"name\":\"CronCreate\",\"input\":{\"cron\":\"*/5 * * * *\",\"promp"
    "t\":\"check the deploy\"}}]},\"timestamp\":\"2026-11-23T09:17:11.000Z\",\"isSidechain\":fals"
    "e}\n"
    "{\"type\":\"user\",\"uuid\":\"rt6\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_"
    "id\":\"t6\",\"type\":\"tool_result\",\"content\":\"Scheduled recurring job 27af\"}]},\"toolU"
    "seResult\":{\"id\":\"27af\",\"humanSchedule\":\"Every 5 minutes\",\"recurring\":true,\"durab"
    "le\":false,\"nextFireAt\":1795425760625},\"timestamp\":\"2026-11-23T09:17:12.000Z\",\"isSide"
    "chain\":false}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at7\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\""
    "tool_use\",\"id\":\"t7\",\"name\":\"CronCreate\",\"input\":{\"cron\":\"7 9 * * *\",\"prompt"
    "\":\"morning report\",\"durable\":true}}]},\"timestamp\":\"2026-11-23T09:17:13.000Z\",\"isSi"
    "dechain\":false}\n"
    "{\"type\":\"user\",\"uuid\":\"rt7\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_"
    "id\":\"t7\",\"type\":\"tool_result\",\"content\":\"Scheduled\"}]},\"toolUseResult\":{\"id\":"
    "\"51f4\",\"humanSchedule\":\"Every day at 9:07 AM\",\"recurring\":true,\"durable\":true,\"ne"
    "xtFireAt\":1795513020000},\"timestamp\":\"2026-11-23T09:17:14.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at8\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\""
    "tool_use\",\"id\":\"t8\",\"name\":\"CronCreate\",\"input\":{\"cron\":\"1 1 * * *\",\"prompt"
    "\":\"gone\"}}]},\"timestamp\":\"2026-11-23T09:17:15.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"user\",\"uuid\":\"rt8\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_"
    "id\":\"t8\",\"type\":\"tool_result\",\"content\":\"Scheduled\"}]},\"toolUseResult\":{\"id\":"
    "\"dead\",\"humanSchedule\":\"x\",\"recurring\":true,\"durable\":false,\"nextFireAt\":1795513"
    "020000},\"timestamp\":\"2026-11-23T09:17:16.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at9\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\""
    "tool_use\",\"id\":\"t9\",\"name\":\"CronDelete\",\"input\":{\"id\":\"dead\"}}]},\"timestamp"
    "\":\"2026-11-23T09:17:17.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at10\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":"
    "\"tool_use\",\"id\":\"t10\",\"name\":\"ScheduleWakeup\",\"input\":{\"delaySeconds\":60,\"pro"
    "mpt\":\"/loop old\"}}]},\"timestamp\":\"2026-11-23T09:17:18.000Z\",\"isSidechain\":false}\n"
    "{\"type\":\"user\",\"uuid\":\"rt10\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use"
    "_id\":\"t10\",\"type\":\"tool_result\",\"content\":\"Next wakeup\"}]},\"toolUseResult\":{\"s"
    "cheduledFor\":1795426000000},\"timestamp\":\"2026-11-23T09:17:19.000Z\",\"isSidechain\":fals"
    "e}\n"
    "{\"type\":\"assistant\",\"uuid\":\"at11\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":"
    "\"tool_use\",\"id\":\"t11\",\"name\":\"ScheduleWakeup\",\"input\":{\"delaySeconds\":1200,\"p"
    "rompt\":\"/loop check the build\"}}]},\"timestamp\":\"2026-11-23T09:17:20.000Z\",\"isSidecha"
    "in\":false}\n"
    "{\"type\":\"user\",\"uuid\":\"rt11\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use"
    "_id\":\"t11\",\"type\":\"tool_result\",\"content\":\"Next wakeup\"}]},\"toolUseResult\":{\"s"
    "cheduledFor\":1795426680000},\"timestamp\":\"2026-11-23T09:17:21.000Z\",\"isSidechain\":fals"
    "e}\n"
    "{\"type\":\"user\",\"uuid\":\"n1\",\"message\":{\"role\":\"user\",\"content\":\"<task-notifi"
    "cation>\\n<task-id>bdone</task-id>\\n<status>completed</status>\\n<summary>Background comman"
    "d done</summary>\\n</task-notification>\"},\"timestamp\":\"2026-11-23T09:17:30.000Z\",\"isSi"
    "dechain\":false}\n"
    "{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":\"<task-notification>\\n"
    "<task-id>b16l23cw9</task-id>\\n<summary>Monitor event</summary>\\n<event>tick</event>\\n</ta"
    "sk-notification>\",\"timestamp\":\"2026-11-23T09:17:31.000Z\",\"isSidechain\":false}\n";

static const char journal[] = "{\"type\":\"launched\"}\n"
			      "{\"type\":\"started\",\"agentId\":\"ae08\",\"label\":\"one\"}\n"
			      "{\"type\":\"result\",\"agentId\":\"ae08\",\"result\":\"ONE IS FINE\\nmore\"}\n"
			      "{\"type\":\"started\",\"agentId\":\"a204\",\"label\":\"two\"}\n";

static const char agent[] =
    "{\"type\":\"assistant\",\"uuid\":\"u\",\"parentUuid\":null,\"isSidechain\":true,"
    "\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"I am digging.\"}]}}\n";

struct scene {
	char *dir, *path;
	struct scrub *scrub;
	struct background_list list;
};

static void
write_below(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);

	if (text == NULL)
		mkdir(path, 0700);
	else
		temp_write(path, text);
	free(path);
}

static int
setup(void **state)
{
	struct scene *t = xcalloc(1, sizeof *t);

	t->dir = temp_dir();
	t->scrub = scrub_new(NULL, NULL);
	assert_non_null(t->scrub);
	t->path = xasprintf("%s/s.jsonl", t->dir);
	temp_write(t->path, records);
	write_below(t->dir, "s", NULL);
	write_below(t->dir, "s/subagents", NULL);
	write_below(t->dir, "s/subagents/agent-a874.jsonl", agent);
	write_below(t->dir, "s/subagents/workflows", NULL);
	write_below(t->dir, "s/subagents/workflows/wf_d783", NULL);
	write_below(t->dir, "s/subagents/workflows/wf_d783/journal.jsonl", journal);
	assert_true(transcript_background(t->path, "claude", t->scrub, &t->list));
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct scene *t = *state;

	transcript_background_release(&t->list);
	scrub_free(t->scrub);
	temp_remove(t->dir);
	free(t->path);
	free(t);
	return 0;
}

static void
lists_what_has_no_end(void **state)
{
	static const enum background_kind kinds[] = { BACKGROUND_WAKEUP, BACKGROUND_CRON, BACKGROUND_CRON,
		BACKGROUND_WORKFLOW, BACKGROUND_AGENT, BACKGROUND_MONITOR, BACKGROUND_SHELL };
	struct scene *t = *state;

	assert_int_equal(t->list.n, sizeof kinds / sizeof kinds[0]);
	for (size_t i = 0; i < t->list.n; i++)
		assert_int_equal(t->list.v[i].kind, kinds[i]);
	assert_string_equal(t->list.v[6].input, "npm run dev");
	assert_string_equal(t->list.v[6].path, "/tmp/c/b6fanif0e.output");
	assert_string_equal(t->list.v[5].input, "tail -f log");
	assert_null(strstr(t->list.v[4].input, "Tr0ub4dor"));
	/* another agent's transcripts tell nothing of it */
	transcript_background_release(&t->list);
	assert_false(transcript_background(t->path, "codex", t->scrub, &t->list));
}

static void
check_lines(const struct background_list *l, bool resumed, const char *const *want)
{
	struct town_list out = TOWN_LIST_INIT;
	size_t i = 0;

	gather_died(l, resumed, &out);
	for (; want[i] != NULL; i++) {
		assert_true(i < out.n);
		if (strstr(out.v[i], want[i]) == NULL)
			fail_msg("\"%s\" lacks \"%s\"", out.v[i], want[i]);
	}
	assert_int_equal(out.n, i);
	town_list_release(&out);
}

static void
says_what_died_and_how_to_start_it_again(void **state)
{
	static const char *const fresh[] = {
		"The monitor \"watch the log\" ended with the session: its events do not reach you. To start "
		"it again: Monitor with the command \"tail -f log\".",
		"start it again: Agent with the prompt \"DIGGER",
		"1 of the 2 agents it had begun had finished: one (ONE IS FINE). To start it again: Workflow with "
		"scriptPath /w/audit.js; it starts from its beginning, since run wf_d783 belongs to the old session.",
		"The schedule 27af (*/5 * * * *: \"check the deploy\") ended with the session.",
		"The schedule 51f4 (7 9 * * *: \"morning report\") is durable",
		"Your wake-up that was due at 2026-11-23T09:38:00.000Z is lost: nothing wakes you. To continue the "
		"loop: ScheduleWakeup with the prompt \"/loop check the build\".", NULL };
	static const char *const again[] = { "The monitor", "SendMessage to 'a874'",
		"scriptPath /w/audit.js and resumeFromRunId wf_d783.", "is restored with your conversation: check with CronList.",
		"is durable", "is lost: nothing wakes you", NULL };
	struct scene *t = *state;

	check_lines(&t->list, false, fresh);
	check_lines(&t->list, true, again);
}

static void
names_processes(void **state)
{
	struct scene *t = *state;
	struct orphans o = { .n = 2 };
	struct unfinished_list none = { .n = 0 };
	struct unfinished_context place = { .orphans = &o, .background = &t->list };
	struct town_list out = TOWN_LIST_INIT;
	char dev[] = "npm run dev", tail[] = "tail -f log", file[] = "/tmp/c/b6fanif0e.output",
	     server[] = "node server.js";

	o.v[0] = (struct orphan){ .pid = 71, .pgrp = 71, .sure = true, .command = dev, .output = file };
	o.v[1] = (struct orphan){ .pid = 72, .pgrp = 72, .sure = true, .command = tail };
	gather_unfinished_report(&none, &place, &out);
	assert_int_equal(out.n, 2);
	assert_non_null(strstr(out.v[0], "Bash(npm run dev) ran in the background and still runs (pid 71"));
	assert_non_null(strstr(out.v[0], "its output goes to /tmp/c/b6fanif0e.output"));
	assert_non_null(strstr(out.v[1], "The process of your monitor \"watch the log\" outlived the session (pid 72"));
	town_list_release(&out);
	o.v[0].command = server;	/* "exec node server.js" in a script: the output tells */
	gather_unfinished_report(&none, &place, &out);
	assert_int_equal(out.n, 2);
	assert_non_null(strstr(out.v[0], "Bash(npm run dev) ran in the background and still runs (pid 71"));
	town_list_release(&out);
	o.n = 0;
	gather_unfinished_report(&none, &place, &out);
	assert_int_equal(out.n, 1);
	assert_non_null(strstr(out.v[0], "no process of it was found"));
	assert_non_null(strstr(out.v[0], "Its output is in /tmp/c/b6fanif0e.output."));
	town_list_release(&out);
}

/* What an earlier session had at work is in no transcript of this one. */
static void
knows_promises_of_another_session(void **state)
{
	struct conversation c = CONVERSATION_INIT;

	(void)state;
	conversation_add(&c, ROLE_ASSISTANT, xstrdup("Agent"), xstrdup("dig"),
	    xstrdup("The agent is working in the background. You will be notified"))
	    ->source = SOURCE_TRANSCRIPT;
	assert_false(gather_promises_report(&c, true));
	assert_true(gather_promises_report(&c, false));
	c.v[0].source = SOURCE_EARLIER;
	assert_true(gather_promises_report(&c, true));
	conversation_release(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lists_what_has_no_end, setup, teardown),
		cmocka_unit_test_setup_teardown(says_what_died_and_how_to_start_it_again, setup, teardown),
		cmocka_unit_test_setup_teardown(names_processes, setup, teardown),
		cmocka_unit_test(knows_promises_of_another_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
