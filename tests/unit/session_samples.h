#ifndef TESTS_UNIT_SESSION_SAMPLES_H
#define TESTS_UNIT_SESSION_SAMPLES_H

/*
 * Session files of other agents as they write them, ' for ", one sample of a whole conversation a
 * format. The words are ours.
 */

#define M(t) "2026-11-21T20:" t ":00.000Z"

/* ---- codex ---- */
#define CX(t, type, payload) "{'timestamp':'" M(t) "','type':'" type "','payload':{" payload "}}\n"
#define CX_META(id)                                                                                          \
	CX("00", "session_meta",                                                                             \
	    "'id':'" id "','cli_version':'0.169.0','base_instructions':{'text':'be kind'}")
#define CX_SAID(t, role, kind, text)                                                                         \
	CX(t, "response_item",                                                                               \
	    "'type':'message','role':'" role "','content':[{'type':'" kind "','text':'" text "'}]")
#define CX_USER(t, text) CX_SAID(t, "user", "input_text", text)
#define CX_TOLD(t, text) CX_SAID(t, "assistant", "output_text", text)
#define CX_CALL(t, id, name, arguments)                                                                      \
	CX(t, "response_item",                                                                               \
	    "'type':'function_call','name':'" name "','arguments':'" arguments "','call_id':'" id "'")
#define CX_OUTPUT(t, id, output)                                                                             \
	CX(t, "response_item", "'type':'function_call_output','call_id':'" id "','output':" output)
#define CX_EVENT(t, payload) CX(t, "event_msg", payload)
#define CX_SHELL(t, id, command) CX_CALL(t, id, "exec_command", "{\\'cmd\\':\\'" command "\\'}")
#define CX_CONTEXT CX_USER("01", "<environment_context>\\n  <cwd>/w</cwd>\\n</environment_context>")
#define CX_SAMPLE                                                                                            \
	CX_META("c0de")                                                                                      \
	CX_CONTEXT CX_USER("01", "look around") CX_EVENT("01", "'type':'task_started','turn_id':'t1'")       \
	    CX_TOLD("02", "I list the files.") CX_SHELL("02", "k1", "ls -l")                                 \
		CX_EVENT("02", "'type':'token_count','info':{}") CX_OUTPUT("03", "k1", "'one\\ntwo'")        \
		    CX_TOLD("03", "Two files.") CX_EVENT("03", "'type':'task_complete'")                     \
			CX_USER("04", "build it") CX_SHELL("05", "k2", "make all")
#define CX_SHOWN                                                                                             \
	"user: look around\nassistant: I list the files.\nexec_command(ls -l): one/two\nassistant: Two "     \
	"files.\nuser: build it\n"                                                                           \
	"exec_command(make all) running: \n"

/* ---- gemini ---- */
#define GM(id, t, type, content, more)                                                                       \
	"{'id':'" id "','timestamp':'" M(t) "','type':'" type "','content':" content more "}\n"
#define GM_META(id) "{'sessionId':'" id "','projectHash':'00ff','startTime':'" M("00") "','kind':'main'}\n"
#define GM_USER(id, t, text) GM(id, t, "user", "[{'text':'" text "'}]", "")
#define GM_TOLD(id, t, text)                                                                                 \
	GM(id, t, "gemini", "'" text "'", ",'thoughts':[{'subject':'hm','description':'hidden'}],'model':'m'")
#define GM_CALL(call, name, args, result, status)                                                            \
	"{'id':'" call "','name':'" name "','args':{" args "},'result':[{'functionResponse':{'id':'" call    \
	"','name':'" name "','response':{" result "}}}],'status':'" status "','displayName':'Shell'}"
#define GM_DID(id, t, text, calls) GM(id, t, "gemini", "'" text "'", ",'toolCalls':[" calls "]")
#define GM_TIME "{'$set':{'lastUpdated':'" M("59") "'}}\n"
#define GM_START                                                                                             \
	"{'$set':{'messages':[{'id':'s0','timestamp':'" M(                                                   \
	    "00") "','type':'user','content':[{'text':'<session_context>\\nA day.\\n"                        \
		  "</session_context>'}]}],'lastUpdated':'" M("00") "'}}\n"
#define GM_LS                                                                                                \
	GM_CALL("k1", "run_shell_command", "'command':'ls -l'",                                              \
	    "'output':'<untrusted_context>\\none\\ntwo\\n</untrusted_context>'", "success")
#define GM_SAMPLE                                                                                            \
	GM_META("9e0")                                                                                       \
	GM_START GM_USER("u1", "01", "look around") GM_TIME GM_TOLD("g1", "02", "I list the files.")         \
	    GM_TIME GM_DID("g1", "02", "I list the files.", GM_LS) GM("f1", "03", "user",                    \
		"[{'functionResponse':{'id':'k1','name':'run_shell_command',"                                \
		"'response':{'output':'one\\ntwo'}}}]",                                                      \
		"") GM_TIME GM_TOLD("g2", "03", "Two files.") GM_USER("u2", "04", "build it") GM_TIME
#define GM_SHOWN                                                                                             \
	"user: look around\nassistant: I list the files.\nrun_shell_command(ls -l): one/two\nassistant: "    \
	"Two files.\nuser: build it\n"

/* ---- qwen ---- */
#define QW(id, up, t, type, more)                                                                            \
	"{'uuid':'" id "','parentUuid':" up ",'sessionId':'9e3','timestamp':'" M(                            \
	    t) "','type':'" type "','cwd':'/w','version':'0.15.10'," more "}\n"
#define QW_USER(id, up, t, text)                                                                             \
	QW(id, up, t, "user", "'message':{'role':'user','parts':[{'text':'" text "'}]}")
#define QW_TOLD(id, up, t, parts)                                                                            \
	QW(id, up, t, "assistant", "'model':'m','message':{'role':'model','parts':[" parts "]}")
#define QW_CALL(id, command)                                                                                 \
	"{'functionCall':{'id':'" id "','name':'run_shell_command','args':{'command':'" command "'}}}"
#define QW_OUTPUT(id, up, t, call, output)                                                                   \
	QW(id, up, t, "tool_result",                                                                         \
	    "'message':{'role':'user','parts':[{'functionResponse':{'id':'" call "','name':'run_shell_"      \
										 "command','response':"      \
										 "{" output "}}}]}")
#define QW_SYSTEM(id, up, t, subtype, payload)                                                               \
	QW(id, up, t, "system", "'subtype':'" subtype "','systemPayload':{" payload "}")
#define QW_EVENT(id, up, t, name, more)                                                                      \
	QW_SYSTEM(id, up, t, "ui_telemetry", "'uiEvent':{'event.name':'" name "'" more "}")
#define QW_SAMPLE                                                                                            \
	QW_USER("a", "null", "01", "look around")                                                            \
	QW_SYSTEM("b", "'a'", "01", "attribution_snapshot", "'snapshot':{}") QW_EVENT("c", "'b'", "02",      \
	    "qwen-code.api_response", ",'response_text':'I list the files.'") QW_TOLD("d", "'c'", "02",      \
	    "{'text':'hidden','thought':true},{'text':'I list the files.'}," QW_CALL("k1", "ls -l"))         \
	    QW_OUTPUT("e", "'d'", "03", "k1", "'output':'one\\ntwo'")                                        \
		QW_TOLD("f", "'e'", "03", "{'text':'Two files.'}") QW_USER("g", "'f'", "04", "build it")     \
		    QW_TOLD("h", "'g'", "05", QW_CALL("k2", "make all"))
#define QW_SHOWN                                                                                             \
	"user: look around\nassistant: I list the files.\nrun_shell_command(ls -l): one/two\nassistant: "    \
	"Two files.\nuser: build it\n"                                                                       \
	"run_shell_command(make all) running: \n"

/* ---- copilot ---- */
#define CP(t, type, data)                                                                                    \
	"{'type':'" type "','data':{" data "},'id':'e" t "','timestamp':'" M(t) "','parentId':null}\n"
#define CP_START(id) CP("00", "session.start", "'sessionId':'" id "','version':1,'copilotVersion':'1.0.102'")
#define CP_USER(t, text)                                                                                     \
	CP(t, "user.message",                                                                                \
	    "'content':'" text "','transformedContent':'<current_datetime>now</current_datetime>\\n\\n" text \
	    "'")
#define CP_TOLD(t, text, calls)                                                                              \
	CP(t, "assistant.message", "'messageId':'m" t "','content':'" text "','toolRequests':[" calls "]")
#define CP_CALL(id, command)                                                                                 \
	"{'toolCallId':'" id "','name':'bash','arguments':{'command':'" command "'},'type':'function'}"
#define CP_BEGIN(t, id, command)                                                                             \
	CP(t, "tool.execution_start",                                                                        \
	    "'toolCallId':'" id "','toolName':'bash','arguments':{'command':'" command "'}")
#define CP_END(t, id, more) CP(t, "tool.execution_complete", "'toolCallId':'" id "'," more)
#define CP_SAMPLE                                                                                            \
	CP_START("c0b1")                                                                                     \
	CP("00", "session.model_change", "'newModel':'m'") CP_USER("01", "look around")                      \
	    CP("01", "system.message", "'role':'system','content':'You are kind.'")                          \
		CP("01", "assistant.turn_start", "'turnId':'0'")                                             \
		    CP_TOLD("02", "I list the files.", CP_CALL("k1", "ls -l")) CP_BEGIN("02", "k1", "ls -l") \
			CP_END("03", "k1", "'success':true,'result':{'content':'one\\ntwo'}")                \
			    CP_TOLD("03", "Two files.", "") CP("03", "assistant.turn_end", "'turnId':'0'")   \
				CP_USER("04", "build it") CP_TOLD("05", "", CP_CALL("k2", "make all"))       \
				    CP_BEGIN("05", "k2", "make all")
#define CP_SHOWN                                                                                             \
	"user: look around\nassistant: I list the files.\nbash(ls -l): one/two\nassistant: Two "             \
	"files.\nuser: build it\nbash(make all) running: \n"

/* ---- pi ---- */
#define PI(id, up, t, type, more)                                                                            \
	"{'type':'" type "','id':'" id "','parentId':" up ",'timestamp':'" M(t) "'," more "}\n"
#define PI_START(id) "{'type':'session','version':3,'id':'" id "','timestamp':'" M("00") "','cwd':'/w'}\n"
#define PI_USER(id, up, t, text)                                                                             \
	PI(id, up, t, "message", "'message':{'role':'user','content':[{'type':'text','text':'" text "'}]}")
#define PI_TOLD(id, up, t, blocks, more)                                                                     \
	PI(id, up, t, "message", "'message':{'role':'assistant','content':[" blocks "]," more "'model':'m'}")
#define PI_TEXT(text) "{'type':'text','text':'" text "'}"
#define PI_CALL(id, command)                                                                                 \
	"{'type':'toolCall','id':'" id "','name':'bash','arguments':{'command':'" command "'}}"
#define PI_OUTPUT(id, up, t, call, text, bad)                                                                \
	PI(id, up, t, "message",                                                                             \
	    "'message':{'role':'toolResult','toolCallId':'" call                                             \
	    "','toolName':'bash','content':[{'type':'text','text':'" text "'}],'isError':" bad "}")
#define PI_SAMPLE                                                                                            \
	PI_START("b1")                                                                                       \
	PI("m0", "null", "00", "model_change", "'modelId':'m'") PI_USER("a", "'m0'", "01", "look around")    \
	    PI_TOLD("b", "'a'", "02",                                                                        \
		"{'type':'thinking','thinking':'hidden'}," PI_TEXT("I list the files.") "," PI_CALL(         \
		    "k1", "ls -l"),                                                                          \
		"") PI_OUTPUT("c", "'b'", "03", "k1", "one\\ntwo", "false")                                  \
		PI_TOLD("d", "'c'", "03", PI_TEXT("Two files."), "'stopReason':'stop',")                     \
		    PI_USER("e", "'d'", "04", "build it")                                                    \
			PI_TOLD("f", "'e'", "05", PI_CALL("k2", "make all"), "")
#define PI_SHOWN                                                                                             \
	"user: look around\nassistant: I list the files.\nbash(ls -l): one/two\nassistant: Two "             \
	"files.\nuser: build it\nbash(make all) running: \n"

/* ---- auggie ---- */
#define AU(exchanges)                                                                                        \
	"{\n 'sessionId': 'a09',\n 'chatHistory': [\n" exchanges "\n ],\n 'terminalId': '/dev/pts/9',\n "    \
								 "'agentState': {'a': [1, {}]}\n}"
#define AU_TURN(request, nodes, answer)                                                                      \
	"{ 'exchange': {'request_message': '" request "', 'response_text': '', 'request_id': 'r', "          \
	"'request_nodes': [" nodes "], 'response_nodes': [" answer "]}, 'completed': true, 'finishedAt': "   \
								   "'" M("01") "', 'changedFiles': [] }"
#define AU_TEXT(text) "{'id': 1, 'type': 0, 'text_node': {'content': '" text "'}}"
#define AU_IDE "{'id': 2, 'type': 4, 'ide_state_node': {'workspace_folders': [{'folder_root': '/w'}]}}"
#define AU_RESULT(id, text, bad)                                                                             \
	"{'id': 1, 'type': 1, 'tool_result_node': {'tool_use_id': '" id "', 'content': '" text "', "         \
											       "'is_error':" \
											       " " bad "}}"
#define AU_TOLD(text) "{'id': 1, 'type': 0, 'content': '" text "', 'timestamp_ms': 1}"
#define AU_CALL(id, command)                                                                                 \
	"{'id': 2, 'type': 5, 'content': '', 'tool_use': {'tool_use_id': '" id "', 'tool_name': "            \
									       "'launch-process', "          \
	"'input_json': '{\\'command\\':\\'" command "\\'}', 'started_at_ms': 1}}"
#define AU_SAMPLE                                                                                            \
	AU(AU_TURN("look around", AU_TEXT("look around") ", " AU_IDE,                                        \
	    AU_TOLD("I list ") ", " AU_TOLD("the files.") ", " AU_CALL("k1", "ls -l")) ",\n" AU_TURN("",     \
	    AU_RESULT("k1", "one\\ntwo", "false") ", " AU_IDE, AU_TOLD("Two files.")) ",\n" AU_TURN("build " \
												    "it",    \
	    AU_TEXT("build it"), AU_CALL("k2", "make all")))
#define AU_SHOWN                                                                                             \
	"user: look around\nassistant: I list the files.\nlaunch-process(ls -l): one/two\nassistant: Two "   \
	"files.\nuser: build it\n"                                                                           \
	"launch-process(make all) running: \n"

/* ---- cline ---- */
#define CL(messages)                                                                                         \
	"{\n 'version': 1,\n 'agent': 'lead',\n 'sessionId': 'c11',\n 'origin': {'source': 'cli', "          \
	"'version': '3.0.65'},\n"                                                                            \
	" 'messages': [\n" messages "\n ],\n 'system_prompt': 'Be \\'kind\\': [x] {y'\n}\n"
#define CL_MESSAGE(role, blocks)                                                                             \
	"{'id': 'i', 'role': '" role "', 'content': [" blocks "], 'ts': 1795297741011}"
#define CL_TEXT(text) "{'type': 'text', 'text': '" text "'}"
#define CL_USER(text) CL_MESSAGE("user", CL_TEXT("<user_input mode=\\'act\\'>" text "</user_input>"))
#define CL_CALL(id, command)                                                                                 \
	"{'type': 'tool_use', 'id': '" id "', 'name': 'run_commands', 'input': {'commands': ['" command "']" \
													"}}"
#define CL_OUTPUT(id, text, more)                                                                            \
	CL_MESSAGE("user", "{'type': 'tool_result', 'tool_use_id': '" id "', 'content': '" text "'" more "}")
#define CL_SAMPLE                                                                                            \
	CL(CL_USER("look around") ",\n" CL_MESSAGE("assistant",                                              \
	    "{'type': 'thinking', 'thinking': 'hidden'}, " CL_TEXT("I list the files.") ", " CL_CALL(        \
		"k1", "ls -l")) ",\n" CL_OUTPUT("k1", "one\\ntwo", "") ",\n" CL_MESSAGE("assistant",         \
	    CL_TEXT("Two files.")) ",\n" CL_USER("build it") ",\n" CL_MESSAGE("assistant",                   \
	    CL_CALL("k2", "make all")))
#define CL_SHOWN                                                                                             \
	"user: look around\nassistant: I list the files.\nrun_commands(ls -l): one/two\nassistant: Two "     \
	"files.\nuser: build it\n"                                                                           \
	"run_commands(make all) running: \n"

/* ---- opencode: what it exports; its database holds the same, see OC_INFO and OC_PARTS ---- */
#define OC(messages)                                                                                         \
	"{ 'info': {'id': 'ses_1', 'version': '1.18.33', 'directory': '/w'}, 'messages': [" messages "] }"
#define OC_MESSAGE(id, role, more, parts)                                                                    \
	"{'info': {'role': '" role "', 'time': {'created': 1795297741011}" more ", 'id': '" id "'}, "        \
											       "'parts': "   \
											       "[" parts "]" \
													 "}"
#define OC_TEXT(text) "{'type': 'text', 'text': '" text "'}"
#define OC_TOOL(id, state) "{'type': 'tool', 'tool': 'bash', 'callID': '" id "', 'state': {" state "}}"
#define OC_DONE(id, command, output)                                                                         \
	OC_TOOL(id,                                                                                          \
	    "'status': 'completed', 'input': {'command': '" command "'}, 'output': '" output "', 'title': "  \
											     "'x'")
#define OC_RUNS(id, command)                                                                                 \
	OC_TOOL(id, "'status': 'running', 'input': {'command': '" command "'}, 'time': {'start': 1}")
#define OC_STEP "{'type': 'step-start'}"
#define OC_SAMPLE                                                                                                   \
	OC(OC_MESSAGE("msg_1", "user", "",                                                                          \
	    OC_TEXT(                                                                                                \
		"look around") ", {'type': 'text', 'synthetic': true, 'text': 'hidden'}") ",\n" OC_MESSAGE("msg_2", \
	    "assistant", "",                                                                                        \
	    OC_STEP ", {'type': 'reasoning', 'text': 'hidden'}, " OC_TEXT("I list the files.") ", " OC_DONE(        \
		"k1", "ls -l", "one\\ntwo")) ",\n" OC_MESSAGE("msg_3", "assistant", "",                             \
	    OC_TEXT("Two files.")) ",\n" OC_MESSAGE("msg_4", "user", "",                                            \
	    OC_TEXT("build it")) ",\n" OC_MESSAGE("msg_5", "assistant", "",                                         \
	    OC_STEP ", " OC_RUNS("k2", "make all")))
#define OC_SHOWN                                                                                             \
	"user: look around\nassistant: I list the files.\nbash(ls -l): one/two\nassistant: Two "             \
	"files.\nuser: build it\nbash(make all) running: \n"

static const struct rule_sample {
	const char *format, *file, *shown, *session, *version;
	size_t lines;
} samples[] = {
	{ "codex", CX_SAMPLE, CX_SHOWN, "c0de", "0.169.0", 12 },
	{ "gemini", GM_SAMPLE, GM_SHOWN, "9e0", NULL, 12 },
	{ "qwen", QW_SAMPLE, QW_SHOWN, "9e3", "0.15.10", 8 },
	{ "copilot", CP_SAMPLE, CP_SHOWN, "c0b1", "1.0.102", 13 },
	{ "pi", PI_SAMPLE, PI_SHOWN, "b1", NULL, 8 },
	{ "auggie", AU_SAMPLE, AU_SHOWN, "a09", NULL, 3 },
	{ "cline", CL_SAMPLE, CL_SHOWN, "c11", "3.0.65", 6 },
	{ "opencode", OC_SAMPLE, OC_SHOWN, "ses_1", "1.18.33", 5 },
};
#define N_SAMPLES (sizeof samples / sizeof samples[0])

/* heap; ' becomes " */
static inline char *
sample_text(const char *written)
{
	char *s = xstrdup(written);

	for (char *p = s; (p = strchr(p, '\'')) != NULL;)
		*p = '"';
	return s;
}

#endif
