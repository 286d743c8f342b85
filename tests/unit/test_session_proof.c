#include "test.h"

#include <fcntl.h>
#include <sqlite3.h>
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
#include "session_samples.h"
#include "temp.h"

/* Session files on disk: was the agent told, did it answer; opencode's database; cline's two files. */

#define ID "5f0c1b7e-77aa-4e0e-9d25-0123456789ab"
#define ASK "Recovery " ID ": go on"

static struct scrub *scrub;
static char *dir;

static int
set_up(void **state)
{
	(void)state;
	scrub = scrub_new(NULL, NULL);
	dir = temp_dir();
	return scrub != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	scrub_free(scrub);
	temp_remove(dir);
	return 0;
}

/* Heap. */
static char *
write_file(const char *name, const char *written)
{
	char *path = io_join(dir, name), *text = sample_text(written);

	temp_write(path, text);
	free(text);
	return path;
}

static const struct { const char *format, *name, *file; enum ack want;
} asked[] = {
	{ "codex", "nothing", CX_SAMPLE, ACK_NONE },
	{ "codex", "told", CX_USER("01", ASK), ACK_RECEIVED },
	{ "codex", "answered", CX_USER("01", ASK) CX_TOLD("02", "yes"), ACK_ANSWERED },
	{ "codex", "called", CX_USER("01", ASK) CX_SHELL("02", "k", "ls"), ACK_ANSWERED },
	{ "codex", "refused", CX_USER("01", ASK) CX_EVENT("02", "'type':'error','message':'no'"),
	    ACK_REFUSED },
	{ "codex", "refused at the end of its turn",
	    CX_USER("01", ASK) CX_EVENT("02", "'type':'task_complete','error':{'message':'no'}"),
	    ACK_REFUSED },
	{ "codex", "a turn without an error and without words",
	    CX_USER("01", ASK) CX_EVENT("02", "'type':'task_complete'"), ACK_RECEIVED },
	{ "codex", "refused, then answered",
	    CX_USER("01", ASK) CX_EVENT("02", "'type':'error','message':'no'") CX_TOLD("03", "yes"),
	    ACK_ANSWERED },
	{ "codex", "only older answers", CX_TOLD("01", "hello") CX_USER("02", ASK), ACK_RECEIVED },
	{ "codex", "an answer to the older of two",
	    CX_USER("01", ASK) CX_TOLD("02", "yes") CX_USER("03", ASK), ACK_ANSWERED },
	{ "codex", "in an output only",
	    CX_SHELL("01", "k", "cat prompt") CX_OUTPUT("02", "k", "'" ASK "'") CX_TOLD("03", "I read it"),
	    ACK_NONE },
	{ "codex", "in the model's words only", CX_TOLD("01", ASK) CX_TOLD("02", "yes"), ACK_NONE },
	{ "codex", "in the screen's copy only",
	    CX_EVENT(
		"01", "'type':'item_completed','item':{'type':'UserMessage','content':[{'text':'" ASK "'}]}"),
	    ACK_NONE },
	{ "codex", "in the program's words only",
	    CX_USER("01", "<environment_context>" ASK "</environment_context>") CX_TOLD("02", "yes"),
	    ACK_NONE },
	{ "codex", "taken back",
	    CX_USER("01", ASK) CX_TOLD("02", "yes")
		CX_EVENT("03", "'type':'thread_rolled_back','num_turns':1"),
	    ACK_ANSWERED },
	{ "codex", "torn behind the prompt",
	    CX_USER("01", ASK) "{'timestamp':'" M("02") "','type':'response_item','payload':{'type':'mess",
	    ACK_RECEIVED },
	{ "gemini", "told", GM_META("s") GM_USER("u", "01", ASK), ACK_RECEIVED },
	{ "gemini", "answered", GM_USER("u", "01", ASK) GM_TIME GM_TOLD("g", "02", "yes") GM_TIME,
	    ACK_ANSWERED },
	{ "gemini", "answered by a call", GM_USER("u", "01", ASK) GM_DID("g", "02", "", GM_LS),
	    ACK_ANSWERED },
	{ "gemini", "refused", GM_USER("u", "01", ASK) GM("e", "02", "error", "'no'", ""), ACK_REFUSED },
	{ "gemini", "in a list, answered there",
	    "{'$set':{'messages':[{'id':'u','type':'user','content':'" ASK "'},{'id':'g','type':'gemini','"
									   "content':'yes'}]}}\n",
	    ACK_ANSWERED },
	{ "gemini", "in a list, the answer before it",
	    "{'$set':{'messages':[{'id':'g','type':'gemini','content':'yes'},{'id':'u','type':'user','"
	    "content':'" ASK "'}]}}\n",
	    ACK_RECEIVED },
	{ "gemini", "rewound", GM_USER("u", "01", ASK) GM_TOLD("g", "02", "yes") "{'$rewindTo':'u'}\n",
	    ACK_ANSWERED },
	{ "qwen", "told", QW_USER("a", "null", "01", ASK), ACK_RECEIVED },
	{ "qwen", "answered",
	    QW_USER("a", "null", "01", ASK) QW_SYSTEM("b", "'a'", "01", "attribution_snapshot", "")
		QW_TOLD("c", "'b'", "02", "{'text':'yes'}"),
	    ACK_ANSWERED },
	{ "qwen", "only thought",
	    QW_USER("a", "null", "01", ASK) QW_TOLD("c", "'a'", "02", "{'text':'hm','thought':true}"),
	    ACK_RECEIVED },
	{ "qwen", "refused",
	    QW_USER("a", "null", "01", ASK)
		QW_EVENT("c", "'a'", "02", "qwen-code.api_error", ",'error_message':'no'"),
	    ACK_REFUSED },
	{ "qwen", "given up, another answered",
	    QW_USER("r", "null", "00", "hi") QW_USER("a", "'r'", "01", ASK) QW_USER("b", "'r'", "02", "other")
		QW_TOLD("c", "'b'", "03", "{'text':'yes'}"),
	    ACK_RECEIVED },
	{ "qwen", "a ring",
	    QW_USER("a", "'b'", "01", "x") QW_TOLD("b", "'a'", "02", "{'text':'yes'}")
		QW_USER("c", "'c'", "03", ASK),
	    ACK_RECEIVED },
	{ "copilot", "told", CP_USER("01", ASK), ACK_RECEIVED },
	{ "copilot", "answered",
	    CP_USER("01", ASK) CP("01", "assistant.turn_start", "'turnId':'0'") CP_TOLD("02", "yes", ""),
	    ACK_ANSWERED },
	{ "copilot", "refused",
	    CP_USER("01", ASK) CP("02", "session.error", "'errorType':'query','message':'no'"), ACK_REFUSED },
	{ "pi", "told", PI_START("s") PI_USER("a", "null", "01", ASK), ACK_RECEIVED },
	{ "pi", "answered",
	    PI_START("s") PI_USER("a", "null", "01", ASK) PI_TOLD("b", "'a'", "02", PI_TEXT("yes"), ""),
	    ACK_ANSWERED },
	{ "pi", "refused",
	    PI_START("s") PI_USER("a", "null", "01", ASK)
		PI_TOLD("b", "'a'", "02", "", "'stopReason':'error','errorMessage':'no',"),
	    ACK_REFUSED },
	{ "pi", "answered on a branch given up",
	    PI_START("s") PI_USER("a", "null", "01", ASK) PI_TOLD("b", "'a'", "02", PI_TEXT("yes"), "")
		PI_USER("c", "null", "03", "x"),
	    ACK_ANSWERED },
	{ "auggie", "told", AU(AU_TURN(ASK, AU_TEXT(ASK), "")), ACK_RECEIVED },
	{ "auggie", "answered", AU(AU_TURN(ASK, AU_TEXT(ASK), AU_TOLD("yes"))), ACK_ANSWERED },
	{ "auggie", "answered in the next",
	    AU(AU_TURN(ASK, AU_TEXT(ASK), "") "," AU_TURN("", "", AU_CALL("k", "ls"))), ACK_ANSWERED },
	{ "auggie", "answered before",
	    AU(AU_TURN("x", AU_TEXT("x"), AU_TOLD("yes")) "," AU_TURN(ASK, AU_TEXT(ASK), "")), ACK_RECEIVED },
	{ "auggie", "in an output only", AU(AU_TURN("", AU_RESULT("k", ASK, "false"), AU_TOLD("yes"))),
	    ACK_NONE },
	{ "cline", "told", CL(CL_USER(ASK)), ACK_RECEIVED },
	{ "cline", "answered", CL(CL_USER(ASK) "," CL_MESSAGE("assistant", CL_TEXT("yes"))), ACK_ANSWERED },
	{ "cline", "refused",
	    CL(CL_USER(ASK) ",{'role':'assistant','content':[{'type':'text','text':'401'}],'metadata':{'"
			    "displayRole':'error'}}"),
	    ACK_REFUSED },
	{ "cline", "in an output only",
	    CL(CL_OUTPUT("k", ASK, "") "," CL_MESSAGE("assistant", CL_TEXT("yes"))), ACK_NONE },
	{ "cline", "before the first answer",
	    "{'session_id':'c','prompt':'<user_input mode=\\'act\\'>" ASK "</user_input>'}", ACK_RECEIVED },
	{ "opencode", "told", OC(OC_MESSAGE("m", "user", "", OC_TEXT(ASK))), ACK_RECEIVED },
	{ "opencode", "an empty answer",
	    OC(OC_MESSAGE("m", "user", "", OC_TEXT(ASK)) "," OC_MESSAGE("n", "assistant", "", OC_STEP)),
	    ACK_RECEIVED },
	{ "opencode", "answered",
	    OC(OC_MESSAGE("m", "user", "", OC_TEXT(ASK)) "," OC_MESSAGE(
		"n", "assistant", "", OC_RUNS("k", "ls"))),
	    ACK_ANSWERED },
	{ "opencode", "refused",
	    OC(OC_MESSAGE("m", "user", "", OC_TEXT(ASK)) "," OC_MESSAGE(
		"n", "assistant", ", 'error': {'name': 'APIError', 'data': {'message': 'no'}}", "")),
	    ACK_REFUSED },
};

static void
the_agent_was_told_or_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		char *path = write_file("asked.json", asked[i].file);
		enum ack got;

		assert_int_equal(transcript_ack(path, asked[i].format, ID, &got, NULL), 0);
		if (got != asked[i].want)
			fail_msg("%s, %s: %d", asked[i].format, asked[i].name, (int)got);
		free(path);
	}
}

static void
the_words_of_claude_are_not_asked_of_others(void **state)
{
	char *path = write_file("other.jsonl", CX_USER("01", ASK) CX_TOLD("02", "yes"));
	enum ack got;

	(void)state;
	assert_int_equal(transcript_ack(path, "claude", ID, &got, NULL), 0);
	assert_int_equal(got, ACK_NONE);
	free(path);
}

/*
 * A file and the same bytes in memory say the same; long ones as well, whose windows and lines do
 * not fit together.
 */
static void
a_file_says_what_its_bytes_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct conversation a, b;
		struct buf big = BUF_INIT;
		char *text = sample_text(samples[i].file), *path = io_join(dir, "big.json"),
		     *words = strstr(text, "Two files.");
		int fd;

		buf_add(&big, text, (size_t)(words - text));
		for (size_t k = 0; k < 40000; k++)
			buf_fmt(&big, "%zu words of an answer that is long, ", k);
		buf_str(&big, words);
		temp_write(path, big.data);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(
		    transcript_read_bytes(big.data, big.len, samples[i].format, scrub, 0, &a, NULL), 0);
		assert_int_equal(transcript_read_fd(fd, samples[i].format, scrub, 0, &b, NULL), 0);
		assert_int_equal(a.n, b.n);
		assert_int_equal(a.lines, b.lines);
		assert_true(a.n >= 5);
		for (size_t k = 0; k < a.n; k++)
			assert_string_equal(a.v[k].content, b.v[k].content);
		conversation_release(&b);
		assert_int_equal(transcript_read(path, samples[i].format, scrub, 60, &b, NULL), 0);
		assert_true(b.n >= 1 && b.n < a.n);
		assert_string_equal(b.v[b.n - 1].content, a.v[a.n - 1].content);
		if (samples[i].session != NULL && strcmp(samples[i].format, "qwen") != 0)
			assert_string_equal(b.session_id, samples[i].session);
		close(fd);
		free(path);
		free(text);
		buf_release(&big);
		conversation_release(&a);
		conversation_release(&b);
	}
}

static void
empty_files_say_nothing(void **state)
{
	char *path = write_file("empty", "");

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct conversation c;
		enum ack ack;

		assert_int_equal(transcript_read(path, samples[i].format, scrub, 0, &c, NULL), 0);
		assert_int_equal(c.n + c.lines, 0);
		conversation_release(&c);
		assert_int_equal(transcript_ack(path, samples[i].format, ID, &ack, NULL), 0);
		assert_int_equal(ack, ACK_NONE);
	}
	free(path);
}

static void
cline_has_two_files(void **state)
{
	char *plain = write_file(
		 "s.json", "{'session_id':'s','prompt':'<user_input mode=\\'act\\'>first</user_input>'}"),
	     *messages = io_join(dir, "s.messages.json");
	struct conversation c;
	enum ack ack;
	char *text;

	(void)state;
	assert_int_equal(transcript_read(messages, "cline", scrub, 0, &c, NULL), 0);
	assert_int_equal(c.n, 1);
	assert_string_equal(c.v[0].content, "first");
	conversation_release(&c);
	text = sample_text(CL(CL_USER("first") "," CL_MESSAGE("assistant", CL_TEXT("yes")) "," CL_USER(ASK)));
	temp_write(messages, text);
	assert_int_equal(transcript_read(plain, "cline", scrub, 0, &c, NULL), 0);
	assert_int_equal(c.n, 3);
	conversation_release(&c);
	assert_int_equal(transcript_ack(plain, "cline", ID, &ack, NULL), 0);
	assert_int_equal(ack, ACK_RECEIVED);
	free(text);
	free(plain);
	free(messages);
}

/* ---- opencode's database ---- */

#define TABLES                                                                                               \
	"PRAGMA journal_mode=%s;"                                                                            \
	"CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory "    \
	"text NOT NULL, title text NOT NULL, "                                                               \
	"version text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL);" \
	"CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT "     \
	"NULL, time_updated integer NOT NULL, data text NOT NULL);"                                          \
	"CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, "       \
	"time_created integer NOT NULL, "                                                                    \
	"time_updated integer NOT NULL, data text NOT NULL);"                                                \
	"CREATE TABLE todo (session_id text NOT NULL, content text NOT NULL, status text NOT NULL, "         \
	"priority text NOT NULL, position integer NOT NULL, "                                                \
	"time_created integer NOT NULL, time_updated integer NOT NULL);"

static void
run_sql(sqlite3 *db, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
}

static void
add_session(sqlite3 *db, const char *id, const char *parent, int updated)
{
	char *sql = sqlite3_mprintf("INSERT INTO session VALUES (%Q, 'p', %Q, '/w', 't', '1.18.33', NULL, 1, "
				    "%d)",
	    id, parent, updated);

	run_sql(db, sql);
	sqlite3_free(sql);
}

static void
add_message(sqlite3 *db, const char *session, int n, const char *role, const char *const *parts)
{
	char *sql = sqlite3_mprintf("INSERT INTO message VALUES ('msg_%s_%02d', %Q, %d, %d, "
				    "'{\"role\":\"%s\",\"time\":{\"created\":%d}}')",
	    session, n, session, n, n, role, n);

	run_sql(db, sql);
	sqlite3_free(sql);
	for (int i = 0; parts[i] != NULL; i++) {
		char *data = sample_text(parts[i]);

		sql = sqlite3_mprintf("INSERT INTO part VALUES ('prt_%s_%02d_%d', 'msg_%s_%02d', %Q, %d, %d, "
				      "%Q)",
		    session, n, i, session, n, session, n, n, data);
		run_sql(db, sql);
		sqlite3_free(sql);
		free(data);
	}
}

#define PARTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The writer stays open, as the agent's would: of a WAL database nothing has reached the main file yet. */
static sqlite3 *
make_database(const char *path, const char *mode)
{
	char *sql = sqlite3_mprintf(TABLES, mode);
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	run_sql(db, sql);
	sqlite3_free(sql);
	run_sql(db, "PRAGMA wal_autocheckpoint=0");
	add_session(db, "ses_1", NULL, 10);
	add_message(db, "ses_1", 1, "user",
	    PARTS(OC_TEXT("look around"), "{'type':'text','synthetic':true,'text':'hidden'}"));
	add_message(db, "ses_1", 2, "assistant",
	    PARTS(OC_STEP, OC_TEXT("I list the files."), OC_DONE("k1", "ls -l", "one\\ntwo")));
	add_message(db, "ses_1", 3, "assistant", PARTS(OC_TEXT("Two files.")));
	add_message(db, "ses_1", 4, "user", PARTS(OC_TEXT("build it")));
	add_message(db, "ses_1", 5, "assistant", PARTS(OC_RUNS("k2", "make all")));
	add_session(db, "ses_2", NULL, 5);
	add_message(db, "ses_2", 1, "user", PARTS(OC_TEXT(ASK)));
	add_session(db, "ses_3", "ses_1", 20);
	add_message(db, "ses_3", 1, "user", PARTS(OC_TEXT("a sub-agent's")));
	run_sql(db,
	    "INSERT INTO todo VALUES ('ses_1', 'sweep', 'completed', 'high', 0, 1, 1), ('ses_1', 'mop', "
	    "'in_progress', 'low', 1, 1, 1)");
	return db;
}

static void
a_database_is_read_with_its_log(void **state)
{
	static const char *const modes[] = { "WAL", "DELETE" };
	static const char *const want[] = { "look around", "I list the files.", "one\ntwo", "Two files.",
		"build it", "" };

	(void)state;
	for (size_t m = 0; m < 2; m++) {
		char *path = io_join(dir, modes[m]), *other = xasprintf("%s#ses_2", path),
		     *none = xasprintf("%s#ses_9", path);
		sqlite3 *db = make_database(path, modes[m]);
		struct conversation c;
		struct err e = ERR_INIT;
		struct stat before, after;
		enum ack ack;

		assert_int_equal(stat(path, &before), 0);
		assert_int_equal(transcript_read(path, "opencode", scrub, 0, &c, &e), 0);
		assert_int_equal(c.n, 6);
		for (size_t i = 0; i < c.n; i++)
			assert_string_equal(c.v[i].content, want[i]);
		assert_string_equal(c.v[5].tool, "bash");
		assert_string_equal(c.v[5].input, "make all");
		assert_int_equal(c.v[5].status, STATUS_RUNNING);
		assert_string_equal(c.session_id, "ses_1");
		assert_string_equal(c.banner, "1.18.33");
		assert_string_equal(c.tasks, "✔ sweep\n◼ mop");
		assert_int_equal(c.lines, 5);
		conversation_release(&c);
		assert_int_equal(transcript_read(path, "opencode", scrub, 12, &c, &e), 0);
		assert_int_equal(c.n, 2);
		assert_int_equal(c.older.all, 4);
		assert_int_equal(c.truncated_at, 0);
		conversation_release(&c);
		assert_int_equal(transcript_read(other, "opencode", scrub, 0, &c, &e), 0);
		assert_int_equal(c.n, 1);
		assert_string_equal(c.session_id, "ses_2");
		conversation_release(&c);
		assert_int_equal(transcript_read(none, "opencode", scrub, 0, &c, &e), -1);
		assert_string_equal(e.name, "not-found");
		assert_int_equal(transcript_ack(other, "opencode", ID, &ack, &e), 0);
		assert_int_equal(ack, ACK_RECEIVED);
		assert_int_equal(transcript_ack(path, "opencode", ID, &ack, &e), 0);
		assert_int_equal(ack, ACK_NONE);
		assert_int_equal(stat(path, &after), 0);
		assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);

		add_message(db, "ses_2", 2, "assistant", PARTS(OC_TEXT("yes")));
		assert_int_equal(transcript_ack(other, "opencode", ID, &ack, &e), 0);
		assert_int_equal(ack, ACK_ANSWERED);
		run_sql(
		    db, "UPDATE session SET revert = '{\"messageID\":\"msg_ses_1_03\"}' WHERE id = 'ses_1'");
		assert_int_equal(transcript_read(path, "opencode", scrub, 0, &c, &e), 0);
		assert_int_equal(c.n, 3);
		conversation_release(&c);
		sqlite3_close(db);
		free(path);
		free(other);
		free(none);
	}
}

static void
a_database_on_standard_input(void **state)
{
	char *path = io_join(dir, "stdin.db");
	sqlite3 *db = make_database(path, "WAL");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct conversation c;
	struct err e = ERR_INIT;
	struct buf b = BUF_INIT;

	(void)state;
	assert_int_equal(transcript_read_fd(fd, "opencode", scrub, 0, &c, NULL), 0);
	assert_int_equal(c.n, 6);
	conversation_release(&c);
	close(fd);
	assert_int_equal(io_read_file(path, 1 << 20, &b, NULL), 0);
	assert_int_equal(transcript_read_bytes(b.data, b.len, "opencode", scrub, 0, &c, &e), -1);
	assert_non_null(strstr(e.hint, "file"));
	buf_release(&b);
	sqlite3_close(db);
	free(path);
}

/*
 * Rows of a foreign program may hold anything: no JSON, JSON that would close what stands around
 * it, nothing.
 */
static void
a_database_with_nonsense_in_it(void **state)
{
	static const char *const nonsense[] = { "", "{", "}", "]}",
		"{}]},{\"type\":\"text\",\"text\":\"out\"", "[]", "null", "\xff",
		"{\"type\":\"tool\",\"state\":[]}" };
	char *path = io_join(dir, "nonsense.db"), *sql;
	sqlite3 *db = make_database(path, "DELETE");
	struct conversation c;

	(void)state;
	for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
		sql = sqlite3_mprintf("INSERT INTO part VALUES ('prt_ses_1_02_%c', 'msg_ses_1_02', 'ses_1', "
				      "1, 1, %Q)",
		    'a' + (int)i, nonsense[i]);
		run_sql(db, sql);
		sqlite3_free(sql);
		sql = sqlite3_mprintf("INSERT INTO message VALUES ('msg_ses_1_02%c', 'ses_1', 2, 2, %Q)",
		    'a' + (int)i, nonsense[i]);
		run_sql(db, sql);
		sqlite3_free(sql);
	}
	assert_int_equal(transcript_read(path, "opencode", scrub, 0, &c, NULL), 0);
	assert_int_equal(c.n, 7);	/* and a call without name */
	assert_int_equal(c.lines, 14);
	assert_int_equal(c.unknown_lines, 9);
	for (size_t i = 0; i < c.n; i++)
		assert_null(strstr(c.v[i].content, "out"));
	conversation_release(&c);
	run_sql(db, "DROP TABLE part");
	assert_int_equal(transcript_read(path, "opencode", scrub, 0, &c, NULL), -1);
	sqlite3_close(db);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_agent_was_told_or_not),
		cmocka_unit_test(the_words_of_claude_are_not_asked_of_others),
		cmocka_unit_test(a_file_says_what_its_bytes_say),
		cmocka_unit_test(empty_files_say_nothing),
		cmocka_unit_test(cline_has_two_files),
		cmocka_unit_test(a_database_is_read_with_its_log),
		cmocka_unit_test(a_database_on_standard_input),
		cmocka_unit_test(a_database_with_nonsense_in_it),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
