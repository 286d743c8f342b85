#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "records/hooks/hooks.h"

static void
read_beat(struct hook_event *b, const char *agent, const char *event, const char *text)
{
	assert_int_equal(hook_event_parse(b, hook_adapter_find(agent), event, text, strlen(text), NULL), 0);
	assert_string_equal(b->provider, agent);
}

/* As the programs of the table gave it to their hooks. */
static void
test_told(void **state)
{
	static const struct {
		const char *agent, *event, *input;
		enum hook_kind kind;
		const char *as, *tool, *path;
	} told[] = {
		{ "gemini", "BeforeTool",
		    "{\"session_id\":\"c1\",\"cwd\":\"/"
		    "w\",\"hook_event_name\":\"BeforeTool\",\"tool_name\":\"write_file\","
		    "\"tool_input\":{\"file_path\":\"/w/a.md\",\"content\":\"# A\"}}",
		    HOOK_PRE_TOOL, "PreToolUse", "write_file", "/w/a.md" },
		{ "gemini", "AfterTool",
		    "{\"session_id\":\"c1\",\"cwd\":\"/"
		    "w\",\"tool_name\":\"replace\",\"tool_input\":{\"file_path\":\"a.md\"}}",
		    HOOK_POST_TOOL, "PostToolUse", "replace", "/w/a.md" },
		{ "gemini", "BeforeTool",
		    "{\"session_id\":\"c1\",\"tool_name\":\"read_file\",\"tool_input\":{\"file_path\":\"/w/"
		    "a.md\"}}",
		    HOOK_PRE_TOOL, "PreToolUse", "read_file", NULL },
		{ "gemini", "BeforeAgent", "{\"session_id\":\"c1\",\"prompt\":\"go\"}", HOOK_PROMPT,
		    "UserPromptSubmit", NULL, NULL },
		{ "gemini", "AfterAgent", "{\"session_id\":\"c1\"}", HOOK_STOP, "Stop", NULL, NULL },
		{ "qwen", "PreToolUse",
		    "{\"session_id\":\"c1\",\"tool_name\":\"edit\",\"tool_use_id\":\"t\",\"tool_input\":{"
		    "\"file_path\":\"/w/a\"}}",
		    HOOK_PRE_TOOL, "PreToolUse", "edit", "/w/a" },
		{ "copilot", "preToolUse",
		    "{\"sessionId\":\"c1\",\"timestamp\":1,\"cwd\":\"/w\",\"toolName\":\"create\","
		    "\"toolArgs\":{\"path\":\"/w/a\",\"file_text\":\"x\"}}",
		    HOOK_PRE_TOOL, "PreToolUse", "create", "/w/a" },
		{ "copilot", "agentStop", "{\"sessionId\":\"c1\",\"transcriptPath\":\"/t\"}", HOOK_STOP,
		    "Stop", NULL, NULL },
		{ "opencode", "PreToolUse",
		    "{\"session_id\":\"ses_1\",\"tool_name\":\"write\",\"tool_input\":{\"filePath\":\"/w/"
		    "a\"}}",
		    HOOK_PRE_TOOL, "PreToolUse", "write", "/w/a" },
		{ "codex", "PreToolUse",
		    "{\"session_id\":\"c1\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"apply_patch "
		    "x\"}}",
		    HOOK_PRE_TOOL, "PreToolUse", "Bash", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
		struct hook_event b;

		read_beat(&b, told[i].agent, told[i].event, told[i].input);
		assert_int_equal(b.kind, told[i].kind);
		assert_string_equal(b.event, told[i].as);
		assert_string_equal(
		    b.tool != NULL ? b.tool : "none", told[i].tool != NULL ? told[i].tool : "none");
		assert_string_equal(
		    b.path != NULL ? b.path : "none", told[i].path != NULL ? told[i].path : "none");
		hook_event_release(&b);
	}
}

static void
test_ends(void **state)
{
	struct hook_event b;

	(void)state;
	read_beat(&b, "copilot", "sessionEnd", "{\"sessionId\":\"c1\",\"reason\":\"user_exit\"}");
	assert_int_equal(b.kind, HOOK_END);
	assert_string_equal(b.reason, "prompt_input_exit");
	hook_event_release(&b);
	/* gemini says so of a signal, too */
	read_beat(&b, "gemini", "SessionEnd", "{\"session_id\":\"c1\",\"reason\":\"exit\"}");
	assert_string_equal(b.reason, "exit");
	hook_event_release(&b);
}

/* All files of a patch are in progress until its end is told, also by way of the spool. */
static void
test_patch(void **state)
{
	static const char input[] = "{\"session_id\":\"c1\",\"cwd\":\"/"
				    "w\",\"tool_name\":\"apply_patch\",\"tool_use_id\":\"t1\",\"tool_input\":"
				    "{\"command\":"
				    "\"*** Begin Patch\\n*** Add File: src/new.c\\n+*** Add File: text\\n*** "
				    "Update File: /w/old.c \\n*** Move to: moved.c\\n@@\\n-a\\n+b\\n"
				    "*** Delete File: gone.c\\r\\n*** End Patch\"}}";
	struct activity a = { .n_files = 0 };
	struct hook_event b, again;
	json_t *o;

	(void)state;
	read_beat(&b, "codex", "PreToolUse", input);
	assert_string_equal(b.path, "/w/src/new.c");
	assert_string_equal(b.paths, "/w/old.c\n/w/moved.c\n/w/gone.c");
	o = hook_event_json(&b);
	assert_int_equal(hook_event_from_json(&again, o, NULL), 0);
	assert_string_equal(again.provider, "codex");
	activity_apply(&a, &again);
	assert_int_equal(a.n_files, 4);
	for (size_t i = 0; i < a.n_files; i++)
		assert_true(activity_file_unfinished(&a, &a.files[i]));
	assert_string_equal(a.files[3].path, "/w/gone.c");
	hook_event_release(&b);
	read_beat(&b, "codex", "PostToolUse", input);
	activity_apply(&a, &b);
	assert_int_equal(a.n_files, 4);
	for (size_t i = 0; i < a.n_files; i++)
		assert_false(activity_file_unfinished(&a, &a.files[i]));
	json_decref(o);
	hook_event_release(&b);
	hook_event_release(&again);
	activity_release(&a);
}

/* Whole lines up to the bound, whatever the patch. */
static void
test_hostile(void **state)
{
	static const char nul[] = "*** Add File: a\0b\n*** Move to: c";
	struct buf patch = BUF_INIT, files = BUF_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_fmt(&patch, "*** Add File: %d\n*** Add File: \n*** Add File:\n", i);
	hook_patch_files(&files, patch.data, patch.len, "/w", 1000);
	assert_true(files.len >= 980 && files.len <= 1000);
	assert_memory_equal(files.data, "/w/0\n/w/1\n", 10);
	buf_reset(&files);
	hook_patch_files(&files, nul, sizeof nul - 1, NULL, 1000);
	assert_string_equal(files.data, "c");
	assert_null(hook_adapter_find("pi"));
	assert_string_equal(hook_adapter_find(NULL)->agent, "claude");
	buf_release(&patch);
	buf_release(&files);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_patch),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
