#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/utf8.h"
#include "conversation/conversation.h"
#include "transcript/transcript.h"
#include "scrub/scrub.h"
#include "session_samples.h"
#include "temp.h"

static struct scrub *scrub;

static int
set_up(void **state)
{
	(void)state;
	scrub = scrub_new(NULL, NULL);
	return scrub != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	scrub_free(scrub);
	return 0;
}

/*
 * "user: words" · "bash(input) failed: result" · "system failed: words", one a line, newlines in
 * them as "/".
 */
static char *
shown(const struct conversation *c)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < c->n; i++) {
		const struct exchange *x = &c->v[i];
		size_t from = b.len;

		assert_int_equal(x->source, SOURCE_TRANSCRIPT);
		if (x->tool != NULL)
			buf_fmt(&b, "%s(%s)", x->tool, x->input != NULL ? x->input : "");
		else
			buf_str(&b, exchange_role_name(x->role));
		if (x->status != STATUS_COMPLETE)
			buf_fmt(&b, " %s", exchange_status_name(x->status));
		buf_fmt(&b, ": %s", x->content);
		for (; from < b.len; from++)
			if (b.data[from] == '\n')
				b.data[from] = '/';
		buf_chr(&b, '\n');
	}
	return buf_detach(&b);
}

static void
read_text(const char *format, const char *written, size_t max_bytes, struct conversation *c)
{
	char *text = sample_text(written);

	assert_int_equal(transcript_read_bytes(text, strlen(text), format, scrub, max_bytes, c, NULL), 0);
	free(text);
}

static void
the_samples_say_what_was_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		const struct rule_sample *s = &samples[i];
		struct conversation c;
		char *got;

		read_text(s->format, s->file, 0, &c);
		got = shown(&c);
		if (strcmp(got, s->shown) != 0)
			fail_msg("%s:\n%s", s->format, got);
		assert_int_equal(c.lines, s->lines);
		assert_int_equal(c.unknown_lines, 0);
		assert_int_equal(c.truncated_at, -1);
		assert_string_equal(c.session_id, s->session);
		if (s->version != NULL)
			assert_string_equal(c.banner, s->version);
		else
			assert_null(c.banner);
		free(got);
		conversation_release(&c);
	}
}

static const struct { const char *format, *name, *file, *want;
} cases[] = {
	{ "codex", "stopped while a call ran",
	    CX_USER("01", "go") CX_SHELL("02", "k", "ls")
		CX_EVENT("03", "'type':'turn_aborted','reason':'interrupted'")
		    CX_OUTPUT("03", "k", "'aborted by user after 2.1s'") CX_USER(
			"03", "<turn_aborted>\\nThe person stopped.\\n</turn_aborted>") CX_USER("04", "on"),
	    "user: go\nexec_command(ls) failed: aborted by user after 2.1s\nuser: on\n" },
	{ "codex", "a command that was stopped",
	    CX_SHELL("02", "k", "ls") CX_OUTPUT("03", "k", "'Wall time: 4.3 seconds\\naborted by user'"),
	    "exec_command(ls) failed: Wall time: 4.3 seconds/aborted by user\n" },
	{ "codex", "stopped before any answer",
	    CX_USER("01", "go") CX_EVENT("03", "'type':'turn_aborted','reason':'interrupted'")
		CX_USER("04", "on"),
	    "user: go\nsystem interrupted: Interrupted\nuser: on\n" },
	{ "codex", "an error of the service",
	    CX_USER("01", "go") CX_EVENT(
		"02", "'type':'error','message':'no more','codex_error_info':'usage_limit_exceeded'"),
	    "user: go\nsystem failed: no more\n" },
	{ "codex", "a turn that ended with an error",
	    CX_USER("01", "go") CX_EVENT("02",
		"'type':'task_complete','last_agent_message':null,"
		"'error':{'message':'status "
		"401','codex_error_info':{'http_connection_failed':{'http_status_code':401}}}"),
	    "user: go\nsystem failed: status 401\n" },
	{ "codex", "a turn taken back",
	    CX_USER("01", "one") CX_TOLD("02", "1") CX_USER("03", "two") CX_SHELL("03", "k", "ls")
		CX_EVENT("04", "'type':'thread_rolled_back','num_turns':1") CX_OUTPUT("04", "k", "'late'")
		    CX_USER("05", "three"),
	    "user: one\nassistant: 1\nuser: three\n" },
	{ "codex", "compacted",
	    CX_USER("01", "one") CX("02", "compacted", "'message':'short'") CX_USER("03", "two"),
	    "user: one\nsystem: Summary of the conversation so far://short\nuser: two\n" },
	{ "codex", "a patch, an image, an output in parts",
	    CX_SAID("01", "user", "input_text", "see") CX("02", "response_item",
		"'type':'custom_tool_call','name':'apply_patch','input':'*** Begin\\n+x','call_id':'k'")
		CX("03", "response_item",
		    "'type':'custom_tool_call_output','call_id':'k','output':{'content':[{'type':'text','"
		    "text':'done'}],'success':false}"),
	    "user: see\napply_patch(*** Begin/+x) failed: done\n" },
	{ "codex", "instructions are no words of the person's",
	    CX_USER("01", "# AGENTS.md instructions for /w\\n\\n<INSTRUCTIONS>x</INSTRUCTIONS>")
		CX_SAID("01", "developer", "input_text", "secret rules")
		    CX_USER("01", "<user_instructions>x</user_instructions>") CX_USER("02", "<b>go</b>"),
	    "user: <b>go</b>\n" },
	{ "codex", "two calls, one died",
	    CX_USER("01", "go") CX_SHELL("02", "k1", "a") CX_SHELL("02", "k2", "b")
		CX_OUTPUT("03", "k2", "'B'"),
	    "user: go\nexec_command(a) running: \nexec_command(b): B\n" },
	{ "gemini", "rewound",
	    GM_USER("u1", "01", "one") GM_TOLD("g1", "02", "1") GM_USER("u2", "03", "two") GM_TOLD("g2", "04",
		"2") GM_TOLD("g1", "04", "1, I mean") "{'$rewindTo':'u2'}\n" GM_USER("u3", "05", "three"),
	    "user: one\nassistant: 1, I mean\nuser: three\n" },
	{ "gemini", "rewound to what stands nowhere",
	    GM_USER("u1", "01", "one") "{'$rewindTo':'u9'}\n" GM_USER("u2", "02", "two"), "user: two\n" },
	{ "gemini", "rewound into a list",
	    GM_USER("u0", "01", "gone") "{'$set':{'messages':[{'id':'u1','type':'user','content':'one'},"
					"{'id':'g1','type':'gemini','content':[{'text':'1'}]},{'id':'u2','"
					"type':'user','content':'two'}]}}\n" GM_TOLD("g1", "03", "1!") "{'$"
												       "rewin"
												       "dTo':"
												       "'u2'}"
												       "\n",
	    "user: one\nassistant: 1!\n" },
	{ "gemini", "a list without the prompts that had no answer",
	    GM_USER("u0", "01", "gone") GM_TOLD("g0", "01", "gone") GM_USER("u1", "02", "stopped")
		GM("i1", "02", "info", "'Request cancelled.'",
		    "") "{'$set':{'messages':[{'id':'u2','type':'user','content':'one'},{'id':'g2','type':'"
			"gemini',"
			"'content':[{'text':'1'}]}]}}\n" GM_USER("u3", "03",
			    "failed") "{'$set':{'messages':[{'id':'u2','type':'user','content':'one'},{'id':'"
				      "g2',"
				      "'type':'gemini','content':[{'text':'1'},{'text':'[The previous "
				      "response was interrupted before it completed.]'}]}]}}\n" GM("e1", "03",
					  "error", "'[API Error: no]'", "") GM_USER("u4", "04", "on"),
	    "user: one\nassistant: 1\nuser: stopped\nsystem interrupted: Interrupted\nuser: failed\nsystem "
	    "failed: [API Error: no]\nuser: on\n" },
	{ "gemini", "a list that has the prompt",
	    GM_USER("u1", "01", "one") "{'$set':{'messages':[{'id':'u1','type':'user','content':'one'}]}}"
				       "\n" GM_TOLD("g1", "02", "1"),
	    "user: one\nassistant: 1\n" },
	{ "gemini", "written again after a rewind",
	    GM_USER("u1", "01", "one") GM_USER("u2", "02", "two") "{'$rewindTo':'u1'}\n" GM_USER(
		"u2", "03", "two again") GM_USER("u1", "04", "one again"),
	    "user: two again\nuser: one again\n" },
	{ "gemini", "a call that failed, an error, a stop",
	    GM_USER("u1", "01", "go") GM_DID("g1", "02", "",
		GM_CALL("k", "write_file", "'file_path':'/w/a','content':'x'", "'error':'no room'", "error"))
		GM("e1", "03", "error", "'the service said 500'", "") GM_USER("u2", "04", "again")
		    GM("i1", "05", "info", "'Request cancelled.'", ""),
	    "user: go\nwrite_file(/w/a/x) failed: no room\nsystem failed: the service said 500\nuser: "
	    "again\nsystem interrupted: Interrupted\n" },
	{ "gemini", "0.34's one object",
	    "{\n  'sessionId': 's',\n  'messages': [\n    "
	    "{'id':'u1','type':'user','content':[{'text':'go'}]},\n    "
	    "{'id':'g1','type':'gemini','content':'so','toolCalls':[" GM_CALL("k", "list_directory",
		"'dir_path':'/w'", "'output':'a'", "success") "]}\n  ],\n  'kind': 'main'\n}\n",
	    "user: go\nassistant: so\nlist_directory(/w): a\n" },
	{ "gemini", "a call in the content",
	    GM_USER("u1", "01", "go") GM("g1", "02", "gemini",
		"[{'text':'so'},{'functionCall':{'id':'k','name':'ls','args':{'path':'/w'}}}]", ""),
	    "user: go\nassistant: so\nls(/w) running: \n" },
	{ "qwen", "gone back",
	    QW_USER("a", "null", "01", "one") QW_TOLD("b", "'a'", "02", "{'text':'1'}")
		QW_USER("c", "'b'", "03", "two") QW_TOLD("d", "'c'", "04", "{'text':'2'}")
		    QW_SYSTEM("e", "'b'", "05", "rewind", "'truncatedCount':2"),
	    "user: one\nassistant: 1\n" },
	{ "qwen", "a command, a failure, a note",
	    QW_SYSTEM("a", "null", "01", "slash_command", "'phase':'invocation','rawCommand':'/about'")
		QW_SYSTEM("b", "'a'", "01", "slash_command", "'phase':'result','rawCommand':'/about'")
		    QW_EVENT("c", "'b'", "02", "qwen-code.api_error",
			",'error_message':'429 slow down','status_code':429") QW_EVENT("d", "'c'", "02",
			"qwen-code.api_error", ",'error_message':'x','subagent_name':'memory'") QW("e", "'d'",
			"03", "user", "'subtype':'notification','message':{'parts':[{'text':'task done'}]}"),
	    "user: /about\nsystem failed: 429 slow down\nsystem: task done\n" },
	{ "qwen", "a call that failed, one that died",
	    QW_USER("a", "null", "01", "go") QW_TOLD("b", "'a'", "02", QW_CALL("k1", "x"))
		QW_OUTPUT("c", "'b'", "03", "k1", "'error':'bad'")
		    QW_TOLD("d", "'c'", "04", QW_CALL("k2", "y")) QW_USER("e", "'d'", "05", "still there?"),
	    "user: go\nrun_shell_command(x) failed: bad\nrun_shell_command(y) interrupted: \nuser: still "
	    "there?\n" },
	{ "copilot", "stopped",
	    CP_USER("01", "go") CP_TOLD("02", "", CP_CALL("k", "ls")) CP_BEGIN("02", "k", "ls")
		CP("03", "abort", "'reason':'user initiated'"),
	    "user: go\nbash(ls) failed: \n" },
	{ "copilot", "a refused call, a sub-agent, an error",
	    CP_USER("01", "<current_datetime>now</current_datetime>\\n\\ngo") CP_BEGIN("02", "k", "ls")
		CP_END("03", "k", "'success':false,'error':{'message':'denied','code':'denied'}")
		    CP("03", "tool.execution_start",
			"'toolCallId':'s','toolName':'bash','parentToolCallId':'k','arguments':{}")
			CP("04", "session.error", "'errorType':'quota','message':'used up'"),
	    "user: go\nbash(ls) failed: denied\nsystem failed: used up\n" },
	{ "pi", "gone back in the tree",
	    PI_START("s") PI_USER("a", "null", "01", "one") PI_TOLD("b", "'a'", "02", PI_TEXT("1"), "")
		PI_USER("c", "'b'", "03", "two") PI_TOLD("d", "'c'", "04",
		    PI_TEXT("2") "," PI_CALL("k", "rm x"), "") PI_USER("e", "'b'", "05", "three"),
	    "user: one\nassistant: 1\nuser: three\n" },
	{ "pi", "gone back behind a record that nobody knows",
	    PI_START("s") PI_USER("a", "null", "01", "one") PI_TOLD("b", "'a'", "02", PI_TEXT("1"), "")
		PI("n", "'a'", "03", "news", "'x':1") PI_USER("e", "'n'", "04", "two"),
	    "user: one\nuser: two\n" },
	{ "pi", "stopped, failed, run by hand",
	    PI_START("s") PI_USER("a", "null", "01", "go") PI_TOLD(
		"b", "'a'", "02", PI_TEXT("I be"), "'stopReason':'aborted',") PI_USER("c", "'b'", "03", "on")
		PI_TOLD("d", "'c'", "04", "", "'stopReason':'error','errorMessage':'503',") PI("e", "'d'",
		    "05", "message", "'message':{'role':'bashExecution','command':'ls','output':'a'}")
		    PI("f", "'e'", "06", "compaction", "'summary':'short','firstKeptEntryId':'c'"),
	    "user: go\nassistant interrupted: I be\nuser: on\nsystem failed: 503\nuser: ! ls\nsystem: "
	    "a\nsystem: Summary of the conversation so far://short\n" },
	{ "auggie", "died over its call, was asked again",
	    AU(AU_TURN("go", AU_TEXT("go"), AU_CALL("k", "sleep 9")) "," AU_TURN(
		"on", AU_TEXT("on"), AU_TOLD("yes"))),
	    "user: go\nlaunch-process(sleep 9) interrupted: \nuser: on\nassistant: yes\n" },
	{ "auggie", "stopped in its words and before them",
	    AU("{'exchange':{'request_message':'go','response_nodes':[" AU_TOLD("I am") "]},'completed':"
											"false},"
											"{'exchange':{'"
											"request_message':'"
											"on'},'completed':"
											"false}"),
	    "user: go\nassistant interrupted: I am\nuser: on\nsystem interrupted: Interrupted\n" },
	{ "auggie", "no nodes, a failed call",
	    AU("{'exchange':{'request_message':'go','response_text':'so'}}," AU_TURN(
		"", "", AU_CALL("k", "x")) "," AU_TURN("", AU_RESULT("k", "bad", "true"), "")),
	    "user: go\nassistant: so\nlaunch-process(x) failed: bad\n" },
	{ "cline", "a change of mode",
	    CL(CL_MESSAGE("user",
		CL_TEXT(
		    "<mode_notice>The mode is plan.</mode_notice>\\n<user_input "
		    "mode=\\'plan\\'>think\\n<user_input>x</user_input></user_input>")) "," CL_MESSAGE("assis"
												       "tant",
		CL_CALL("k", "x")) "," CL_OUTPUT("k", "bad", ", 'is_error': true")),
	    "user: think/<user_input>x</user_input>\nrun_commands(x) failed: bad\n" },
	{ "cline", "results of two commands, an error of the service",
	    CL(CL_MESSAGE("assistant", CL_CALL("k", "a")) "," CL_MESSAGE("user",
		"{'type':'tool_result','tool_use_id':'k','content':[{'query':'a','result':'A','success':true}"
		",{'query':'b','result':'','error':'no b','success':false}]}") ",{'role':'assistant','"
									       "content':[{'type':'text','"
									       "text':'401'}],'metadata':{'"
									       "displayOnly':true,'"
									       "displayRole':'error'}}"),
	    "run_commands(a) failed: a/A/b/no b\nsystem failed: 401\n" },
	{ "cline", "a result of one command",
	    CL(CL_MESSAGE("assistant", CL_CALL("k", "a")) "," CL_MESSAGE("user",
		"{'type':'tool_result','tool_use_id':'k','content':[{'query':'a','result':'A','success':true}"
		"]}")),
	    "run_commands(a): A\n" },
	{ "cline", "before the first answer",
	    "{'session_id':'c12','prompt':'<user_input "
	    "mode=\\'act\\'>go</user_input>','metadata':{'sessionHistoryOrigin':{'version':'3.0.65'}}}",
	    "user: go\n" },
	{ "opencode", "stopped, failed, refused",
	    OC(OC_MESSAGE("m1", "user", "",
		OC_TEXT("go") ", {'type': 'file', 'filename': 'a.png'}") "," OC_MESSAGE("m2", "assistant",
		", 'error': {'name': 'MessageAbortedError', 'data': {'message': 'x'}}",
		OC_TEXT("I be")) "," OC_MESSAGE("m3", "user", "", OC_TEXT("on")) "," OC_MESSAGE("m4",
		"assistant",
		", 'error': {'name': 'APIError', 'data': {'message': 'slow down', 'statusCode': 429}}",
		OC_TOOL("k",
		    "'status': 'error', 'input': {'filePath': '/w/a', 'oldString': 'x\\ny', 'newString': "
		    "'z'}, 'error': 'no such text'"))),
	    "user: go/[a.png]\nassistant interrupted: I be\nuser: on\nbash(/w/a/-x/-y/+z) failed: no such "
	    "text\nsystem failed: slow down\n" },
	{ "opencode", "a command that was stopped",
	    OC(OC_MESSAGE("m1", "assistant", "",
		OC_DONE("k", "ls",
		    "(no output)\\n\\n<shell_metadata>\\nUser aborted the command\\n</shell_metadata>"))),
	    "bash(ls) failed: (no output)//<shell_metadata>/User aborted the command/</shell_metadata>\n" },
	{ "opencode", "taken back",
	    "{'info': {'id': 's', 'revert': {'messageID': 'm2'}}, 'messages': [" OC_MESSAGE(
		"m1", "user", "", OC_TEXT("one")) "," OC_MESSAGE("m2", "user", "",
		OC_TEXT("two")) "," OC_MESSAGE("m3", "assistant", "", OC_TEXT("2")) "]}",
	    "user: one\n" },
};

static void
each_format_has_its_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct conversation c;
		char *got;

		read_text(cases[i].format, cases[i].file, 0, &c);
		got = shown(&c);
		if (strcmp(got, cases[i].want) != 0)
			fail_msg("%s, %s:\n%s", cases[i].format, cases[i].name, got);
		free(got);
		conversation_release(&c);
	}
}

static void
limits_hold_the_agent_up_until_the_next_words(void **state)
{
	static const struct { const char *format, *file; bool limit;
	} limits[] = {
		{ "codex",
		    CX_EVENT("02", "'type':'error','message':'x','codex_error_info':'usage_limit_exceeded'"),
		    true },
		{ "codex",
		    CX_EVENT("02",
			"'type':'task_complete','error':{'message':'x','codex_error_info':{'http_connection_"
			"failed':{'http_status_code':401}}}"),
		    true },
		{ "codex",
		    CX_EVENT("02",
			"'type':'task_complete','error':{'message':'x','codex_error_info':{'http_connection_"
			"failed':{'http_status_code':500}}}"),
		    false },
		{ "gemini", GM("e", "02", "error", "'[API Error: UNAUTHENTICATED]'", ""), true },
		{ "codex",
		    CX_EVENT("02", "'type':'error','message':'x','codex_error_info':'unauthorized'")
			CX_USER("03", "go"),
		    false },
		{ "qwen",
		    QW_EVENT(
			"a", "null", "02", "qwen-code.api_error", ",'error_message':'x','status_code':401"),
		    true },
		{ "pi", PI_TOLD("d", "'c'", "04", "", "'stopReason':'error','errorMessage':'429 slow down',"),
		    true },
		{ "pi", PI_TOLD("d", "'c'", "04", "", "'stopReason':'error','errorMessage':'4',"), false },
		{ "opencode",
		    OC(OC_MESSAGE("m", "assistant",
			", 'error': {'name': 'APIError', 'data': {'message': 'x', 'statusCode': 401}}", "")),
		    true },
		{ "copilot", CP("02", "session.error", "'errorType':'query','message':'x'"), false },
		{ "copilot", CP("02", "session.error", "'errorType':'rate_limit','message':'x'"), true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		struct conversation c;

		read_text(limits[i].format, limits[i].file, 0, &c);
		assert_int_equal(c.limit, limits[i].limit);
		conversation_release(&c);
	}
}

static void
what_no_rule_knows_is_counted(void **state)
{
	static const struct { const char *format, *file; size_t lines, unknown;
	} files[] = {
		{ "codex",
		    "{'type':'news','payload':{}}\nno json\n" CX("01", "response_item", "'type':'dream'")
			CX_META("x"),
		    4, 3 },
		{ "gemini", "{'id':'x','type':'poem','content':'y'}\n{'$set':{'summary':'s'}}\n[1]\n", 3, 2 },
		{ "qwen", "{'uuid':'x','type':'poem'}\n", 1, 1 },
		{ "copilot", CP("01", "session.some_news", "'a':1") CP("01", "poem", "'a':1") "{'typ", 3, 2 },
		{ "pi", "{'type':'poem','id':'x'}\n\n\n", 1, 1 },
		{ "auggie", AU("{'a':1}"), 1, 1 },
		{ "auggie", "{'chatHistory':[{'exchange':{'request_message':'a'}},{'exch", 2, 1 },
		{ "cline", CL("{'role':'wizard'}"), 1, 1 },
		{ "cline", "garbage", 1, 1 },
		{ "opencode", OC("{'info':{}}"), 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		struct conversation c;

		read_text(files[i].format, files[i].file, 0, &c);
		if (c.lines != files[i].lines || c.unknown_lines != files[i].unknown)
			fail_msg(
			    "%s %zu: %zu lines, %zu unknown", files[i].format, i, c.lines, c.unknown_lines);
		conversation_release(&c);
	}
}

static void
the_newest_are_kept_within_a_limit(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct conversation all, some;
		char *want, *got;
		size_t sum = 0, from, first;
		const char *behind;

		read_text(samples[i].format, samples[i].file, 0, &all);
		want = shown(&all);
		for (size_t max = 1; max < 120; max++) {
			for (sum = 0, from = all.n; from > 0; from--) {
				const struct exchange *x = &all.v[from - 1];

				sum += strlen(x->content) + (x->input != NULL ? strlen(x->input) : 0);
				if (sum > max && from < all.n)
					break;
			}
			read_text(samples[i].format, samples[i].file, max, &some);
			got = shown(&some);
			for (first = 0; first < from && all.v[first].role != ROLE_USER; first++)
				;
			/* the first message of the user stays; the others are counted */
			behind = first < from ? some.v[0].content : "";
			if (some.n != all.n - from + (first < from) ||
			    (first < from && strcmp(behind, all.v[first].content) != 0) ||
			    strcmp(some.v[some.n - 1].content, all.v[all.n - 1].content) != 0 ||
			    some.n + some.older.all != all.n)
				fail_msg("%s with %zu bytes:\n%s", samples[i].format, max, got);
			assert_int_equal(some.truncated_at, some.older.all > 0 ? 0 : -1);
			free(got);
			conversation_release(&some);
		}
		free(want);
		conversation_release(&all);
	}
}

static void
must_be_sound(const struct conversation *c)
{
	assert_true(c->unknown_lines <= c->lines);
	for (size_t i = 0; i < c->n; i++) {
		assert_non_null(c->v[i].content);
		assert_true(utf8_valid(c->v[i].content, strlen(c->v[i].content)));
		assert_true(c->v[i].input == NULL || utf8_valid(c->v[i].input, strlen(c->v[i].input)));
		assert_true(c->v[i].tool == NULL || utf8_valid(c->v[i].tool, strlen(c->v[i].tool)));
	}
}

/*
 * What was there before the tear is there: never more than the whole file tells, and the first
 * exchange as soon as its record is whole.
 */
static void
torn_at_every_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		char *text = sample_text(samples[i].file);
		size_t n = strlen(text), most = 0;

		for (size_t cut = 0; cut <= n; cut++) {
			char *copy = xmalloc(cut + 1);		/* exact size, for a sanitizer */
			struct conversation c;
			char *got;

			memcpy(copy, text, cut);
			assert_int_equal(
			    transcript_read_bytes(copy, cut, samples[i].format, scrub, 0, &c, NULL), 0);
			must_be_sound(&c);
			got = shown(&c);
			if (c.n > 0 && strncmp(got, "user: look around\n", 18) != 0)
				fail_msg("%s cut at %zu: %s", samples[i].format, cut, got);
			if (c.n + 1 < most)
				fail_msg("%s cut at %zu: fewer than before", samples[i].format, cut);
			most = c.n > most ? c.n : most;
			free(got);
			free(copy);
			conversation_release(&c);
		}
		assert_true(most >= 5);
		free(text);
	}
}

/*
 * Every byte once another one: no byte makes a reader read astray, and lines of garbage cost only
 * themselves.
 */
static void
every_byte_another(void **state)
{
	static const char others[] = "\"{}[],:\\\n\x01\xff";

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		char *text = sample_text(samples[i].file);
		size_t n = strlen(text);

		for (size_t at = 0; at < n; at++) {
			char was = text[at];
			struct conversation c;

			text[at] = others[(at + i) % (sizeof others - 1)];
			assert_int_equal(transcript_read_bytes(text, n, samples[i].format, scrub,
					     at % 5 == 0 ? 40 : 0, &c, NULL),
			    0);
			must_be_sound(&c);
			conversation_release(&c);
			text[at] = was;
		}
		free(text);
	}
}

static void
garbage_between_lines_costs_only_itself(void **state)
{
	static const char *const garbage[] = { "{", "}{", "[[[[[[[[", "{\"a\":{\"b\":", "\"", "\\", "null",
		"{\"type\":1,\"id\":[],\"content\":{}}", "\xff\xfe", "{\"type\":\"user\"" };

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		char *text = sample_text(samples[i].file), *line, *rest;
		struct buf b = BUF_INIT;
		struct conversation c;
		char *got;

		if (strchr(text, '\n') == NULL || *text != '{' || strncmp(text, "{\n", 2) == 0 ||
		    strncmp(text, "{ ", 2) == 0) {
			free(text);
			continue;	/* one JSON object: there are no lines */
		}
		rest = text;
		for (size_t k = 0; (line = strsep(&rest, "\n")) != NULL && *line != '\0'; k++)
			buf_fmt(
			    &b, "%s\n%s\n", line, garbage[(k + i) % (sizeof garbage / sizeof garbage[0])]);
		assert_int_equal(
		    transcript_read_bytes(b.data, b.len, samples[i].format, scrub, 0, &c, NULL), 0);
		got = shown(&c);
		if (strcmp(got, samples[i].shown) != 0)
			fail_msg("%s:\n%s", samples[i].format, got);
		assert_true(c.unknown_lines > 0);
		free(got);
		conversation_release(&c);
		buf_release(&b);
		free(text);
	}
}

static void
secrets_do_not_pass(void **state)
{
	static const char secret[] = "ghp_" "0123456789abcdefghijABCDEFGHIJ012345";

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		char *text = sample_text(samples[i].file), *p;
		struct buf b = BUF_INIT;
		struct conversation c;
		char *got;
		size_t seen = 0;

		for (p = text; *p != '\0'; p++) {
			bool here = strncmp(p, "files.", 6) == 0 || strncmp(p, "ls -l", 5) == 0 ||
			    strncmp(p, "two\"", 4) == 0;

			if (here)
				buf_fmt(&b, "GITHUB_TOKEN=%s ", secret);
			seen += here;
			buf_chr(&b, *p);
		}
		assert_true(seen >= 3);
		assert_int_equal(
		    transcript_read_bytes(b.data, b.len, samples[i].format, scrub, 0, &c, NULL), 0);
		got = shown(&c);
		assert_null(strstr(got, secret));
		assert_non_null(strstr(got, "GITHUB_TOKEN"));
		free(got);
		free(text);
		buf_release(&b);
		conversation_release(&c);
	}
}

static void
formats_that_nobody_reads_are_refused(void **state)
{
	struct err e = ERR_INIT;
	struct conversation c;
	enum ack ack;

	(void)state;
	assert_int_equal(transcript_read_bytes("", 0, "abacus", scrub, 0, &c, &e), -1);
	assert_string_equal(e.name, "format");
	assert_non_null(strstr(e.hint, "codex"));
	assert_int_equal(transcript_ack("/nowhere", "abacus", "x", &ack, &e), -1);
	assert_string_equal(e.name, "format");
	assert_int_equal(transcript_read("/nowhere/x.jsonl", "codex", scrub, 0, &c, &e), -1);
	assert_string_equal(e.name, "not-found");
	assert_int_equal(transcript_ack("/nowhere/x.jsonl", "codex", "x", &ack, &e), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_samples_say_what_was_said),
		cmocka_unit_test(each_format_has_its_ways),
		cmocka_unit_test(limits_hold_the_agent_up_until_the_next_words),
		cmocka_unit_test(what_no_rule_knows_is_counted),
		cmocka_unit_test(the_newest_are_kept_within_a_limit),
		cmocka_unit_test(torn_at_every_byte),
		cmocka_unit_test(every_byte_another),
		cmocka_unit_test(garbage_between_lines_costs_only_itself),
		cmocka_unit_test(secrets_do_not_pass),
		cmocka_unit_test(formats_that_nobody_reads_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
