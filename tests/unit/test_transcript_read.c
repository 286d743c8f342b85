#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "conversation/conversation.h"
#include "transcript/transcript.h"
#include "scrub/scrub.h"

/* Records are written with ' for ", one a line; T is a time of day in minutes. */
#define T(m) "'timestamp':'2026-11-21T20:" m ":00.000Z'"
#define USER(id, up, m, text)                                                                                \
	"{'parentUuid':" up ",'isSidechain':false,'type':'user','message':{'role':'user','content':'" text   \
	"'},"                                                                                                \
	"'uuid':'" id "'," T(m) ",'sessionId':'5e55','version':'2.1.197'}\n"
#define BLOCKS(id, up, m, blocks, more)                                                                      \
	"{'parentUuid':" up ",'type':'user','message':{'content':[" blocks "]},'uuid':'" id "'," T(m) more   \
	    "}\n"
#define RESULT(id, up, m, call, text)                                                                        \
	BLOCKS(id, up, m, "{'tool_use_id':'" call "','type':'tool_result','content':'" text "'}", "")
#define ANSWER(id, up, m, msg, block)                                                                        \
	"{'parentUuid':" up ",'type':'assistant','message':{'id':'" msg "','content':[" block                \
	"]},'uuid':'" id "'," T(m) "}\n"
#define SAID(text) "{'type':'text','text':'" text "'}"
#define CALL(id, name, input) "{'type':'tool_use','id':'" id "','name':'" name "','input':{" input "}}"
#define BASH(id, command) CALL(id, "Bash", "'command':'" command "'")
#define SYNTHETIC(id, up, m)                                                                                 \
	"{'parentUuid':" up ",'type':'assistant','message':{'id':'syn','model':'<synthetic>','content':"     \
			    "[" SAID("No response requested.") "]},'uuid':'" id "'," T(m) "}\n"
#define QUEUE(op, m, more) "{'type':'queue-operation','operation':'" op "'," T(m) more "}\n"
#define ATTACHED(id, up, m, what)                                                                            \
	"{'parentUuid':" up ",'attachment':{" what "},'type':'attachment','uuid':'" id "'," T(m) "}\n"

static struct scrub *scrub;
static char dir[64];

static int
set_up(void **state)
{
	(void)state;
	scrub = scrub_new(NULL, NULL);
	snprintf(dir, sizeof dir, "/tmp/gtr-unit.XXXXXX");
	return scrub != NULL && mkdtemp(dir) != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	char command[96];

	(void)state;
	scrub_free(scrub);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static char *
quoted(const char *records)
{
	char *s = xstrdup(records);

	for (char *p = s; (p = strchr(p, '\'')) != NULL;)
		*p = '"';
	return s;
}

/*
 * "user: words" · "Bash(input) failed: result" · "system failed: words", one a line, newlines in
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
read_records(const char *records, size_t max_bytes, struct conversation *c)
{
	char *text = quoted(records);

	assert_int_equal(transcript_read_bytes(text, strlen(text), "claude", scrub, max_bytes, c, NULL), 0);
	free(text);
}

static const struct { const char *name, *records, *want;
} cases[] = {
	{ "nothing", "", "" },
	{ "a turn",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", SAID("I look.")) ANSWER(
		"a2", "'a1'", "03", "m", BASH("t1", "ls")) RESULT("u2", "'a2'", "04", "t1", "one\\ntwo")
		ANSWER("a3", "'u2'", "05", "n", SAID("done")),
	    "user: go\nassistant: I look.\nBash(ls): one/two\nassistant: done\n" },
	{ "a batch out of order",
	    ANSWER("a1", "'u1'", "02", "m", SAID("hello")) ANSWER("a2", "'a1'", "02", "m", BASH("t1", "ls"))
		USER("u1", "null", "01", "go"),
	    "user: go\nassistant: hello\nBash(ls) running: \n" },
	{ "parallel calls, answered in another order",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", BASH("t1", "1")) ANSWER(
		"a2", "'a1'", "02", "m", BASH("t2", "2")) ANSWER("a3", "'a2'", "02", "m", BASH("t3", "3"))
		RESULT("r3", "'a3'", "03", "t3", "three") RESULT("r2", "'a2'", "04", "t2", "two")
		    RESULT("r1", "'a1'", "05", "t1", "one") ANSWER("a4", "'r1'", "06", "n", SAID("all")),
	    "user: go\nBash(1): one\nBash(2): two\nBash(3): three\nassistant: all\n" },
	{ "killed while one of three ran",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", BASH("t1", "1")) ANSWER(
		"a2", "'a1'", "02", "m", BASH("t2", "2")) ANSWER("a3", "'a2'", "02", "m", BASH("t3", "3"))
		RESULT("r3", "'a3'", "03", "t3", "three") RESULT("r1", "'a1'", "04", "t1", "one"),
	    "user: go\nBash(1): one\nBash(2) running: \nBash(3): three\n" },
	{ "a prompt sent again",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", SAID("yes"))
		USER("u2", "'a1'", "03", "old") ANSWER("a2", "'u2'", "04", "n", SAID("old answer"))
		    USER("u3", "'a1'", "05", "new") ANSWER("a3", "'u3'", "06", "o", SAID("new answer")),
	    "user: go\nassistant: yes\nuser: new\nassistant: new answer\n" },
	{ "a prompt taken back before any answer",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", SAID("yes"))
		USER("u2", "'a1'", "03", "oops") USER("u3", "'a1'", "05", "new"),
	    "user: go\nassistant: yes\nuser: new\n" },
	{ "a prompt without an answer at the crash",
	    USER("u1", "null", "01", "go") SYNTHETIC("s", "'u1'", "02") USER("u2", "'s'", "03", "again"),
	    "user: go\nuser: again\n" },
	{ "a call that the next start left aside",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", BASH("t1", "sleep 9"))
		SYNTHETIC("s", "'u1'", "03") USER("u2", "'s'", "04", "again"),
	    "user: go\nBash(sleep 9) interrupted: \nuser: again\n" },
	{ "words of that answer, too",
	    USER("u1", "null", "01", "go") ANSWER("a0", "'u1'", "02", "m", SAID("now")) ANSWER(
		"a1", "'a0'", "02", "m", BASH("t1", "a")) ANSWER("a2", "'a1'", "02", "m", BASH("t2", "b"))
		RESULT("r1", "'a1'", "03", "t1", "A") USER("u2", "'u1'", "04", "again"),
	    "user: go\nassistant: now\nBash(a): A\nBash(b) interrupted: \nuser: again\n" },
	{ "a result that the next start wrote",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", BASH("t1", "x"))
		BLOCKS("r", "'a1'", "03",
		    "{'type':'tool_result','tool_use_id':'t1','is_error':true,'content':'[Tool call "
		    "interrupted: the session ended before]'}",
		    ""),
	    "user: go\nBash(x) interrupted: [Tool call interrupted: the session ended before]\n" },
	{ "a command that nobody knows",
	    USER("u1", "null", "01", "<command-name>/nope</command-name>") USER("u2", "'u1'", "02",
		"Unknown skill: nope") USER("u3", "'u2'", "03", "Unknown skill: what is it?"),
	    "user: /nope\nsystem failed: Unknown skill: nope\nuser: Unknown skill: what is it?\n" },
	{ "words stopped",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", SAID("once upon"))
		BLOCKS("u2", "'a1'", "03", "{'type':'text','text':'[Request interrupted by user]'}", "")
		    USER("u3", "'u2'", "04", "no"),
	    "user: go\nassistant interrupted: once upon\nuser: no\n" },
	{ "a call refused",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", BASH("t1", "rm")) BLOCKS("r",
		"'a1'", "03", "{'type':'tool_result','tool_use_id':'t1','is_error':true,'content':'refused'}",
		"") BLOCKS("u2", "'r'", "04",
		"{'type':'text','text':'[Request interrupted by user for tool use]'}", ""),
	    "user: go\nBash(rm) failed: refused\n" },
	{ "a prompt stopped",
	    USER("u1", "null", "01", "go")
		BLOCKS("u2", "'u1'", "03", "{'type':'text','text':'[Request interrupted by user]'}", ""),
	    "user: go\nsystem interrupted: Interrupted\n" },
	{ "across a compaction",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'",
		"02", "m", SAID("yes")) "{'parentUuid':null,'logicalParentUuid':'a1','type':'system','"
					"subtype':'compact_boundary','content':'Conversation "
					"compacted','uuid':'c'," T("03") "}\n"
									 "{'parentUuid':'c','type':'user','"
									 "message':{'content':'It was about "
									 "x.'},'isCompactSummary':true,'uuid'"
									 ":'s'," T("04") "}\n" USER(
									     "u2", "'s'", "05", "and now"),
	    "user: go\nassistant: yes\nsystem: Conversation compacted\nsystem: Summary of the conversation "
	    "so far://It was about x.\nuser: and now\n" },
	{ "what is not the person's",
	    "{'parentUuid':null,'isMeta':true,'type':'user','message':{'content':'Caveat: …'},'uuid':'m'," T(
		"01") "}\n" USER("u1", "'m'", "01",
		"<command-message>cost</command-message>\\n<command-name>/cost</command-name>\\n  "
		"<command-args>all of it</command-args>") USER("u2", "'u1'", "02",
		"<local-command-stdout>\\u001b[2mTotal: $1\\u001b[22m\\r\\nend</local-command-stdout>")
		USER("u3", "'u2'", "03", "<bash-input>make</bash-input>") USER("u4", "'u3'", "04",
		    "<bash-stdout>out</bash-stdout><bash-stderr>bad</bash-stderr>") USER("u5", "'u4'", "05",
		    "<system-reminder>\\nkeep\\n</system-reminder>\\n<system-reminder>x</system-reminder>my "
		    "words") USER("u6", "'u5'", "06",
		    "\\n\\n<pasted_content id=\\'7\\'>\\npasted\\n</pasted_content id=\\'7\\'>\\nand mine")
		    USER("u7", "'u6'", "07",
			"<task-notification>\\n<task-id>1</task-id>\\n<summary>Agent "
			"finished</summary>\\n<result>fine</result></task-notification>") "{'parentUuid':'u7'"
											  ",'isMeta':true,'"
											  "type':'user','"
											  "message':{'"
											  "content':'Stop "
											  "hook "
											  "feedback:\\ngo "
											  "on'},'uuid':'h'"
											  "," T("08") "}\n",
	    "user: /cost all of it\nsystem: Total: $1/end\nuser: ! make\nsystem: out/bad\nuser: my "
	    "words\nuser: pasted/and mine\n"
	    "system: Agent finished/fine\nsystem failed: Stop hook feedback:/go on\n" },
	{ "pictures",
	    BLOCKS("u1", "null", "01",
		"{'type':'text','text':'look'},{'type':'image','source':{'data':'iVBOR'}}", ""),
	    "user: look/[image]\n" },
	{ "queued prompts",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", BASH("t1", "x")) QUEUE("enqueue",
		"03", ",'content':'told'") QUEUE("enqueue", "03", ",'content':'vanished'") QUEUE("enqueue",
		"04", ",'content':'next'") QUEUE("remove", "05", "") QUEUE("remove", "05", "") RESULT("r",
		"'a1'", "05", "t1", "X") ATTACHED("q", "'r'", "03", "'type':'queued_command','prompt':'told'")
		ANSWER("a2", "'q'", "06", "n", SAID("ok")) QUEUE("dequeue", "07", "")
		    USER("u2", "'a2'", "08", "next") QUEUE("enqueue", "09", ",'content':'put back'")
			QUEUE("popAll", "09", "") QUEUE("enqueue", "10", ",'content':'still there'"),
	    "user: go\nBash(x): X\nuser: told\nuser: vanished\nassistant: ok\nuser: next\nuser waiting: "
	    "still there\n" },
	{ "a queue that died with the agent",
	    USER("u1", "null", "01", "go") QUEUE("enqueue", "02", ",'content':'lost'")
		SYNTHETIC("s", "'u1'", "03") USER("u2", "'s'", "04", "again"),
	    "user: go\nuser waiting: lost\nuser: again\n" },
	{ "tools",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m",
		CALL("t1", "Edit", "'file_path':'/f','old_string':'a\\nb','new_string':'c\\n'"))
		ANSWER("a2", "'a1'", "03", "n", CALL("t2", "Write", "'content':'x\\ny','file_path':'/g'"))
		    ANSWER("a3", "'a2'", "04", "o", CALL("t3", "Grep", "'path':'src','pattern':'p.*'"))
			ANSWER("a4", "'a3'", "05", "p", CALL("t4", "mcp__x", "'a':[1,2]"))
			    ANSWER("a5", "'a4'", "06", "q",
				CALL("t5", "TodoWrite",
				    "'todos':[{'content':'one','status':'completed'},{'content':'two','"
				    "status':'pending'}]")),
	    "user: go\nEdit(/f/-a/-b/+c) interrupted: \nWrite(/g/x/y) interrupted: \nGrep(p.*/path: src) "
	    "interrupted: \n"
	    "mcp__x({\"a\":[1,2]}) interrupted: \nTodoWrite(✔ one/◻ two) running: \n" },
	/* as 2.1.197 and 2.1.330 write them */
	{ "what a command stands for",
	    USER("u1", "null", "01", "<command-message>wombat</command-message>\\n<command-name>/wombat"
		"</command-name>\\n<command-args>YEAR-1912</command-args>")
		BLOCKS("b", "'u1'", "01", SAID("count the wombats of YEAR-1912"), ",'isMeta':true")
		    ANSWER("a1", "'b'", "02", "m", SAID("ok"))
			BLOCKS("x", "'a1'", "03", SAID("a note for the model"), ",'isMeta':true"),
	    "user: /wombat YEAR-1912\nsystem: Text of the command://count the wombats of YEAR-1912\n"
	    "assistant: ok\n" },
	{ "what a skill says",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", CALL("t1", "Skill", "'skill':'quokka'"))
		RESULT("r1", "'a1'", "03", "t1", "Launching skill: quokka")
		    BLOCKS("b", "'r1'", "03", SAID("count quokkas twice"), ",'isMeta':true,'sourceToolUseID':'t1'")
			BLOCKS("l", "'b'", "03", SAID("Tool loaded."), ",'isMeta':true,'sourceToolUseID':'t1'"),
	    "user: go\nSkill(quokka): Launching skill: quokka\nsystem: Text of the skill://count quokkas twice\n" },
	{ "where a pasted image is",
	    BLOCKS("u1", "null", "01", SAID("[Image #1] what is this") ",{'type':'image','source':{}}", "")
		BLOCKS("i", "'u1'", "01", SAID("[Image: source: /tmp/shot-77.png]"), ",'isMeta':true"),
	    "user: [Image #1] what is this/[image]\nsystem: [Image: source: /tmp/shot-77.png]\n" },
	{ "a patch",
	    USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m",
		CALL("t1", "Edit", "'file_path':'f','old_string':'a','new_string':'b'"))
		BLOCKS("r", "'a1'", "03", "{'type':'tool_result','tool_use_id':'t1','content':'updated'}",
		    ",'toolUseResult':{'filePath':'/w/"
		    "f','structuredPatch':[{'oldStart':1,'oldLines':2,'newStart':1,'newLines':2,'lines':[' "
		    "x','-a','+b']}]}"),
	    "user: go\nEdit(/w/f): @@ -1,2 +1,2 @@/ x/-a/+b\n" },
	{ "results",
	    USER("u1", "null", "01", "go")
		ANSWER("a1", "'u1'", "02", "m", CALL("t1", "Read", "'file_path':'/f'")) RESULT("r1", "'a1'",
		    "03", "t1", "1→x\\n\\n<system-reminder>\\nbe careful\\n</system-reminder>\\n")
		    ANSWER("a2", "'r1'", "04", "n", BASH("t2", "x"))
			RESULT("r2", "'a2'", "05", "t2", "<tool_use_error>no</tool_use_error>"),
	    "user: go\nRead(/f): 1→x\nBash(x): no\n" },
	{ "what JavaScript writes and JSON forbids",
	    USER("u1", "null", "01", "a\\u0000b\\ud83d c\\ud83d\\ude80"),
	    "user: a\xEF\xBF\xBD"
	    "b\xEF\xBF\xBD c🚀\n" },
	{ "sub-agents are not the session",
	    USER("u1", "null", "01", "go") "{'parentUuid':null,'isSidechain':true,'type':'user','message':{'"
					   "content':'task'},'uuid':'x'," T("02") "}\n",
	    "user: go\n" },
	{ "a parent that is nowhere", USER("u1", "null", "01", "go") USER("u2", "'gone'", "02", "more"),
	    "user: go\nuser: more\n" },
	{ "a ring of parents", USER("u1", "'u2'", "01", "a") USER("u2", "'u1'", "02", "b"),
	    "user: a\nuser: b\n" },
	{ "its own parent", USER("u1", "'u1'", "01", "a"), "user: a\n" },
	{ "a result without its call", RESULT("r", "null", "01", "t", "x"), "?(): x\n" },
	{ "a clock set back",
	    USER("u1", "null", "30", "a") ANSWER("a1", "'u1'", "31", "m", SAID("b"))
		USER("u2", "'a1'", "05", "c") ANSWER("a2", "'u2'", "06", "n", SAID("d")),
	    "user: a\nassistant: b\nuser: c\nassistant: d\n" },
};

static void
reads_the_conversation(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct conversation c;
		char *got;

		read_records(cases[i].records, 0, &c);
		got = shown(&c);
		if (strcmp(got, cases[i].want) != 0)
			fail_msg("%s:\n%s\nnot\n%s", cases[i].name, got, cases[i].want);
		assert_int_equal(c.unknown_lines, 0);
		assert_int_equal(c.truncated_at, -1);
		free(got);
		conversation_release(&c);
	}
}

static void
tells_what_it_knows(void **state)
{
	struct conversation c;

	(void)state;
	read_records(
	    "{'type':'from-tomorrow','uuid':'x'}\n{'type':'mode','mode':'normal'}\n" USER("u1", "null",
		"01", "go") "no json\n"
			    "{'parentUuid':'u1','type':'assistant','isApiErrorMessage':true,'error':'rate_"
			    "limit','message':{'content':[" SAID("API Error: 429") "]},'uuid':'e'," T(
				"02") "}\n" ANSWER("a", "'e'", "03", "m",
				CALL("t", "AskUserQuestion",
				    "'questions':[{'question':'Which?','options':[{'label':'A'},{'label':'B'}"
				    "]}]")) "{'parentUuid':'a','type':'ass",
	    0, &c);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.v[0].at, 1795291260000);
	assert_int_equal(c.v[1].role, ROLE_SYSTEM);
	assert_int_equal(c.v[1].status, STATUS_FAILED);
	assert_int_equal(c.v[2].status, STATUS_WAITING);
	assert_string_equal(c.question, "Which?\n- A\n- B");
	assert_true(c.limit);
	assert_string_equal(c.session_id, "5e55");
	assert_string_equal(c.banner, "2.1.197");
	assert_int_equal(c.lines, 7);
	assert_int_equal(c.unknown_lines, 3);
	conversation_release(&c);
}

/* A key that one string begins must not take what the next one holds for its rest. */
static void
scrubs_every_string(void **state)
{
	struct conversation c;
	char *got;

	(void)state;
	read_records(USER("u1", "null", "01", "the token is ghp_1234567890abcdefghijklmnopqrstuvwx12") ANSWER(
			 "a1", "'u1'", "02", "m",
			 BASH("t1", "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz"))
			 RESULT("r1", "'a1'", "03", "t1",
			     "-----BEGIN RSA PRIVATE KEY-----\\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn") ANSWER("a2",
			     "'r1'", "04", "n", SAID("SGVsbG8gd29ybGQgdGhpcyBpcyBub3QgYSBrZXkgYXQgYWxs")),
	    0, &c);
	got = shown(&c);
	assert_null(strstr(got, "ghp_1234"));
	assert_null(strstr(got, "wJalrXUtn"));
	assert_null(strstr(got, "MIIEowIB"));
	assert_non_null(strstr(got, "SGVsbG8gd29ybGQg"));
	free(got);
	conversation_release(&c);
	/* in the JSON of a tool that no table knows, where an escape would end in a letter */
	read_records(USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m",
			 CALL("t1", "mcp__x",
			     "'a':'\\u001b[31mghp_1234567890abcdefghijklmnopqrstuvwx12\\u001b[0m','b':['"
			     "\\tghp_1234567890abcdefghijklmnopqrstuvwx34']")),
	    0, &c);
	assert_string_equal(
	    c.v[1].input, "{\"a\":\"[REDACTED:github-token]\",\"b\":[\"\t[REDACTED:github-token#2]\"]}");
	conversation_release(&c);
}

static void
gives_the_newest_that_fit(void **state)
{
	struct buf b = BUF_INIT;
	struct conversation c;

	(void)state;
	for (int i = 0; i < 2000; i++)
		buf_fmt(&b,
		    "{\"parentUuid\":\"u%d\",\"type\":\"user\",\"message\":{\"content\":\"prompt "
		    "%04d\"},\"uuid\":\"u%d\"}\n",
		    i - 1, i, i);
	assert_int_equal(transcript_read_bytes(b.data, b.len, "claude", scrub, 115, &c, NULL), 0);
	assert_int_equal(c.n, 11);
	assert_string_equal(c.v[0].content, "prompt 0000");
	assert_string_equal(c.v[1].content, "prompt 1990");
	assert_int_equal(c.older.all, 1989);
	assert_int_equal(c.truncated_at, 0);
	assert_true(c.lines < 100);
	conversation_release(&c);
	assert_int_equal(transcript_read_bytes(b.data, b.len, "claude", scrub, 1, &c, NULL), 0);
	assert_int_equal(c.n, 2);
	conversation_release(&c);
	assert_int_equal(transcript_read_bytes(b.data, b.len, "claude", scrub, 0, &c, NULL), 0);
	assert_int_equal(c.n, 2000);
	assert_int_equal(c.lines, 2000);
	conversation_release(&c);
	buf_release(&b);
}

/* A picture is shown as a word: what stands before it must not give way to its bytes. */
static void
gives_no_room_to_pictures(void **state)
{
	char *head = quoted(USER("u1", "null", "01", "go")
		ANSWER("a1", "'u1'", "02", "m", CALL("t1", "Read", "'file_path':'/a.png'")));
	struct buf b = BUF_INIT;
	struct conversation c;

	(void)state;
	buf_str(&b, head);
	buf_str(&b,
	    "{\"parentUuid\":\"a1\",\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\","
	    "\"tool_use_id\":\"t1\",\"content\":"
	    "[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"data\":\"");
	for (int i = 0; i < 1000; i++)
		buf_str(&b, "iVBORw0KGgo=");
	buf_str(&b, "\"}}]}]},\"uuid\":\"u2\"}\n");
	assert_int_equal(transcript_read_bytes(b.data, b.len, "claude", scrub, 2000, &c, NULL), 0);
	assert_int_equal(c.n, 2);
	assert_string_equal(c.v[0].content, "go");
	assert_string_equal(c.v[1].content, "[image]");
	assert_int_equal(c.truncated_at, -1);
	conversation_release(&c);
	buf_release(&b);
	free(head);
}

/* n records that hang on two, which hang on each other. */
static void
make_ring(struct buf *b, int n)
{
	buf_str(b, "{\"type\":\"user\",\"uuid\":\"a\",\"parentUuid\":\"b\"}\n");
	for (int i = 0; i < n; i++)
		buf_fmt(b, "{\"type\":\"user\",\"uuid\":\"c%d\",\"parentUuid\":\"a\"}\n", i);
	buf_str(b, "{\"type\":\"user\",\"uuid\":\"b\",\"parentUuid\":\"a\"}\n");
}

static void
make_reminders(struct buf *b, int n)
{
	buf_str(b, "{\"type\":\"user\",\"uuid\":\"a\",\"parentUuid\":null,\"message\":{\"content\":\"");
	for (int i = 0; i < n; i++)
		buf_str(b, "                ");
	for (int i = 0; i < n / 4; i++)
		buf_str(b, "<system-reminder></system-reminder>");
	buf_str(b, "\"}}\n");
}

/* n calls, and as many notes that the person stopped them. */
static void
make_stops(struct buf *b, int n)
{
	buf_str(b, "{\"type\":\"assistant\",\"uuid\":\"a\",\"parentUuid\":null,\"message\":{\"content\":[");
	for (int i = 0; i < n / 4; i++)
		buf_fmt(b, "%s{\"type\":\"tool_use\",\"id\":\"t%d\",\"name\":\"Bash\"}", i > 0 ? "," : "", i);
	buf_str(
	    b, "]}}\n{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":\"a\",\"message\":{\"content\":[{}");
	for (int i = 0; i < n * 2; i++)
		buf_str(b, ",{\"text\":\"[Request interrupted by user]\"}");
	buf_str(b, "]}}\n");
}

/* One patch, and many results in its record. */
static void
make_patches(struct buf *b, int n)
{
	buf_str(b,
	    "{\"type\":\"assistant\",\"uuid\":\"a\",\"parentUuid\":null,\"message\":{\"content\":[{\"type\":"
	    "\"tool_use\",\"id\":\"t\","
	    "\"name\":\"Edit\"}]}}\n{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":\"a\",\"toolUseResult\":"
	    "{\"filePath\":\"f\",\"structuredPatch\":[{\"lines\":[\"+\"");
	for (int i = 0; i < n / 4; i++)
		buf_str(b, ",\"+x\"");
	buf_str(b, "]}]},\"message\":{\"content\":[{}");
	for (int i = 0; i < n / 100; i++)
		buf_str(b, ",{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"ok\"}");
	buf_str(b, "]}}\n");
}

/*
 * Each once cost the square of its length: to be through with it at all is the test. What it
 * costs is measured by tests/bench.
 */
static void
gets_through_hostile_records(void **state)
{
	static void (*const makes[])(
	    struct buf *, int) = { make_ring, make_reminders, make_stops, make_patches };

	(void)state;
	for (size_t i = 0; i < sizeof makes / sizeof makes[0]; i++) {
		struct buf b = BUF_INIT;
		struct conversation c;

		makes[i](&b, 48000);
		assert_int_equal(transcript_read_bytes(b.data, b.len, "claude", scrub, 0, &c, NULL), 0);
		assert_int_equal(c.unknown_lines, 0);
		conversation_release(&c);
		buf_release(&b);
	}
}

static void
write_file(const char *path, const struct buf *b)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
	fclose(f);
}

/* A file is read in windows, its longest lines in pieces: the same comes out, but for the middles. */
static void
reads_files_with_long_lines(void **state)
{
	char *path = io_join(dir, "long.jsonl"),
	     *head =
		 quoted(USER("u1", "null", "01", "go") ANSWER("a1", "'u1'", "02", "m", BASH("t1", "cat")));
	struct buf b = BUF_INIT;
	struct conversation c;

	(void)state;
	buf_str(&b, head);
	buf_str(&b,
	    "{\"parentUuid\":\"a1\",\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\","
	    "\"tool_use_id\":\"t1\",\"content\":\"first ");
	for (int i = 0; i < 500000; i++)
		buf_str(&b, "a \\\"word\\\" \\u00e9\\n ");
	buf_str(&b,
	    "last\"}]},\"uuid\":\"u2\"}\n{\"parentUuid\":\"u2\",\"type\":\"user\",\"message\":{\"content\":"
	    "\"");
	for (int i = 0; i < 300000; i++)
		buf_str(&b, "0123456789 ");
	buf_str(&b, "\"},\"uuid\":\"u3\"}");
	write_file(path, &b);
	assert_int_equal(transcript_read(path, "claude", scrub, 0, &c, NULL), 0);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.unknown_lines, 0);
	assert_true(str_starts(c.v[1].content, "first a \"word\" é\n"));
	assert_true(str_ends(c.v[1].content, " last"));
	assert_non_null(strstr(c.v[1].content, " bytes left out …]\n"));
	assert_true(strlen(c.v[1].content) < 600000);
	assert_int_equal(strlen(c.v[2].content), 3300000);	/* a person's words are not cut */
	conversation_release(&c);
	buf_release(&b);
	free(path);
	free(head);
}

static void
looks_after_sub_agents(void **state)
{
	static const char agent[] =
	    "{'parentUuid':null,'isSidechain':true,'type':'user','message':{'content':'look "
	    "around'},'uuid':'x','sessionId':'5e55'," T(
		"02") "}\n"
		      "{'parentUuid':'x','isSidechain':true,'type':'assistant','message':{'id':'m','content':"
		      "[" SAID("I see") "]},'uuid':'y'," T(
			  "03") "}\n"
				"{'parentUuid':'y','isSidechain':true,'type':'assistant','message':{'id':'m',"
				"'content':[" BASH("t9", "find .") "]},'uuid':'z'," T("04") "}\n";
	static const char *const places[] = { "5e55/subagents/agent-1.jsonl", "agent-1.jsonl" };
	char *path = io_join(dir, "5e55.jsonl"), *folder = io_join(dir, "5e55/subagents"), *text;
	struct buf b = BUF_INIT;
	struct conversation c;

	(void)state;
	assert_int_equal(io_private_dir(folder, NULL), 0);
	text = quoted(USER("u1", "null", "01", "go") ANSWER(
	    "a1", "'u1'", "02", "m", CALL("t1", "Task", "'description':'look','prompt':'look around'")));
	buf_str(&b, text);
	free(text);
	write_file(path, &b);
	for (size_t i = 0; i < 2; i++) {
		char *file = io_join(dir, places[i]);

		buf_reset(&b);
		text = quoted(agent);
		buf_str(&b, text);
		free(text);
		write_file(file, &b);
		assert_int_equal(transcript_read(path, "claude", scrub, 0, &c, NULL), 0);
		assert_int_equal(c.n, 2);
		assert_int_equal(c.v[1].status, STATUS_RUNNING);
		assert_string_equal(c.v[1].content,
		    "The sub-agent had not finished. The last of its work:\nI see\nBash(find .) running");
		conversation_release(&c);
		assert_int_equal(unlink(file), 0);
		free(file);
	}
	buf_release(&b);
	free(path);
	free(folder);
}

static void
says_what_it_cannot_read(void **state)
{
	struct err e = ERR_INIT;
	struct conversation c;

	(void)state;
	assert_int_equal(transcript_read_bytes("", 0, "other", scrub, 0, &c, &e), -1);
	assert_string_equal(e.name, "format");
	assert_int_equal(transcript_read("/nowhere/at/all", "claude", scrub, 0, &c, &e), -1);
	assert_string_equal(e.name, "not-found");
	assert_int_equal(transcript_read(dir, "claude", scrub, 0, &c, &e), -1);
	assert_int_equal(c.n, 0);
}

#define TURNS 120

/* Ids in which one digit counts and one tells question and answer apart; random ones; the same in each session. */
static void
turn_id(char *out, size_t n, int shape, int turn, int answer)
{
	if (shape == 0)
		snprintf(out, n, "%08x-0000-4000-8000-%012d", (unsigned)turn, answer);
	else if (shape == 1)
		snprintf(out, n, "00000000-0000-0000-0000-%011d%d", turn, answer);
	else if (shape == 2)
		snprintf(out, n, "%d-%d", turn, answer);
	else
		snprintf(out, n, "%08lx-%04lx-4%03lx-8%03lx-%012lx", random() & 0xffffffff, random() & 0xffff,
		    random() & 0xfff, random() & 0xfff, random());
}

/* Whatever ids a conversation has, from the end each of its exchanges is told or counted. */
static void
reads_whatever_the_ids(void **state)
{
	static const size_t rooms[] = { 0, 1, 500, 5000, 20000 };

	(void)state;
	srandom(19);
	for (int shape = 0; shape < 24; shape++) {
		char id[64], last[68] = "null", words[301] = "";
		struct buf b = BUF_INIT;

		memset(words, 'w', sizeof words - 1);
		for (int i = 0; i < 2 * TURNS; i++) {
			turn_id(id, sizeof id, shape, i / 2, i % 2 == 0);
			buf_fmt(&b, "{\"type\":\"%s\",\"parentUuid\":%s,\"uuid\":\"%s\",\"message\":{\"content\":"
				   "[{\"type\":\"text\",\"text\":\"number %d %s\"}]}}\n",
			    i % 2 == 0 ? "user" : "assistant", last, id, i, words);
			snprintf(last, sizeof last, "\"%s\"", id);
		}
		for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
			struct conversation c;

			assert_int_equal(transcript_read_bytes(b.data, b.len, "claude", scrub, rooms[i], &c, NULL), 0);
			assert_int_equal(c.n + c.older.all, 2 * TURNS);
			assert_int_equal(conversation_count(&c, ROLE_USER), TURNS);
			assert_memory_equal(c.v[0].content, "number 0 ", 9);
			assert_memory_equal(c.v[c.n - 1].content, "number 239 ", 11);
			conversation_release(&c);
		}
		buf_release(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_conversation),
		cmocka_unit_test(tells_what_it_knows),
		cmocka_unit_test(scrubs_every_string),
		cmocka_unit_test(gives_the_newest_that_fit),
		cmocka_unit_test(gives_no_room_to_pictures),
		cmocka_unit_test(gets_through_hostile_records),
		cmocka_unit_test(reads_files_with_long_lines),
		cmocka_unit_test(looks_after_sub_agents),
		cmocka_unit_test(says_what_it_cannot_read),
		cmocka_unit_test(reads_whatever_the_ids),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
