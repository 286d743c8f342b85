#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include <sqlite3.h>

#include "agent/agent.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "transcript/locate/locate.h"
#include "transcript/transcript_private.h"
#include "scrub/scrub.h"
#include "temp.h"

#define A "aaaaaaaa-0000-4000-8000-000000000001"
#define B "bbbbbbbb-0000-4000-8000-000000000002"

/* An agent's folder and a directory that it worked in, in a life of an hour that ends now. */
struct place {
	char *dir, *folder, *cwd;
	struct locate_hints h;
	struct transcript_found f;
	struct scrub *scrub;
};

static int
setup(void **state)
{
	struct place *t = xcalloc(1, sizeof *t);

	t->dir = temp_dir();
	t->folder = io_join(t->dir, "folder");
	t->cwd = io_join(t->dir, "work");
	assert_int_equal(mkdir(t->folder, 0700), 0);
	assert_int_equal(mkdir(t->cwd, 0700), 0);
	t->scrub = scrub_new(NULL, NULL);
	assert_non_null(t->scrub);
	t->h = (struct locate_hints){ .folder = t->folder,
		.cwd = t->cwd,
		.pid = 0x3ffffff,
		.tty = "/dev/pts/77",
		.scrub = t->scrub,
		.began = ((int64_t)time(NULL) - 3600) * 1000,
		.ended = (int64_t)time(NULL) * 1000 + 999 };
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct place *t = *state;

	transcript_found_release(&t->f);
	scrub_free(t->scrub);
	temp_remove(t->dir);
	free(t->folder);
	free(t->cwd);
	free(t);
	return 0;
}

/* Writes a file below the folder; "@" stands for the directory. */
static void
put(struct place *t, const char *name, const char *text)
{
	char *path = io_join(t->folder, name);
	struct buf b = BUF_INIT;

	for (const char *p = text; *p != '\0'; p++)
		if (*p == '@')
			buf_str(&b, t->cwd);
		else
			buf_chr(&b, *p);
	assert_int_equal(io_make_parents(path, NULL), 0);
	assert_int_equal(io_write_durable(path, b.data, b.len, NULL, NULL), 0);
	buf_release(&b);
	free(path);
}

static void
age(struct place *t, const char *name, int seconds)
{
	char *path = io_join(t->folder, name);
	struct utimbuf when = { time(NULL) - seconds, time(NULL) - seconds };

	assert_int_equal(utime(path, &when), 0);
	free(path);
}

static void
finds(struct place *t, const char *format, enum found how, const char *id)
{
	transcript_found_release(&t->f);
	t->h.format = format;
	assert_int_equal(locate_session(&t->h, &t->f, NULL), 0);
	assert_string_equal(transcript_found_name(t->f.how), transcript_found_name(how));
	if (id == NULL)
		assert_null(t->f.session_id);
	else
		assert_string_equal(t->f.session_id, id);
}

#define CODEX(id) "{\"type\":\"session_meta\",\"payload\":{\"id\":\"" id "\",\"cwd\":\"@\"}}\n"
#define CODEX_SAID(text)                                                                                     \
	"{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{"     \
	"\"type\":\"input_text\",\"text\":\"" text "\"}]}}\n{\"type\":\"event_msg\",\"payload\":{\"type\":"  \
						   "\"item_completed\",\"item\":{\"type\":\"UserMessage\","  \
						   "\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]" \
												      "}}}"  \
												      "\n"
#define DAY "sessions/2026/11/22/"

/* Each format leads from its own evidence to its own file. */
static void
each_format_by_its_directory(void **state)
{
	static const struct { const char *format, *name, *text, *id;
	} cases[] = {
		{ "codex", DAY "rollout-2026-" A ".jsonl", CODEX(A), A },
		{ "qwen", "projects/-work/chats/" A ".jsonl",
		    "{\"sessionId\":\"" A "\",\"type\":\"user\",\"cwd\":\"@\"}\n", A },
		{ "pi", "sessions/--work--/t_" A ".jsonl",
		    "{\"type\":\"session\",\"id\":\"" A "\",\"cwd\":\"@\"}\n", A },
		{ "copilot", "session-state/" A "/events.jsonl",
		    "{\"type\":\"session.start\",\"data\":{\"sessionId\":\"" A "\",\"context\":{\"cwd\":\"@"
									       "\"}}}\n",
		    A },
		{ "gemini", "tmp/work-1/chats/session-1.jsonl",
		    "{\"sessionId\":\"" A "\",\"kind\":\"main\"}\n", A },
		{ "gemini", "tmp/work-1/chats/session-2.json",
		    "{\n  \"sessionId\": \"" A "\",\n  \"messages\": []\n}", A },
		{ "cline", "data/sessions/17_abcds/17_abcds.json",
		    "{\"session_id\":\"17_abcds\",\"cwd\":\"@\"}", "17_abcds" },
	};
	struct place *t = *state;

	put(t, "projects.json", "{\"projects\":{\"@\":\"work-1\"}}");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		finds(t, cases[i].format, FOUND_NONE, NULL);
		put(t, cases[i].name, cases[i].text);
		finds(t, cases[i].format, FOUND_FOLDER, cases[i].id);
		/* another life's */
		age(t, cases[i].name, 7200);
		finds(t, cases[i].format, FOUND_NONE, NULL);
	}
}

static void
another_directory_is_anothers(void **state)
{
	struct place *t = *state;

	put(t, "projects/-x/chats/" A ".jsonl", "{\"sessionId\":\"" A "\",\"cwd\":\"/somewhere/else\"}\n");
	put(t, "projects/-x/chats/" B ".jsonl", "{\"sessionId\":\"" B "\"");
	finds(t, "qwen", FOUND_NONE, NULL);
}

static void
a_file_signs_itself(void **state)
{
	struct place *t = *state;

	put(t, "sessions/" A ".json",
	    "{\"sessionId\":\"" A "\",\"chatHistory\":[{\"a\":1}],\"terminalId\":\"/dev/pts/7\"}");
	finds(t, "auggie", FOUND_NONE, NULL);
	put(t, "sessions/" B ".json", "{\"sessionId\":\"" B "\",\"terminalId\":\"/dev/pts/77\"}");
	finds(t, "auggie", FOUND_RECORD, B);

	put(t, "data/sessions/1_a/1_a.json", "{\"session_id\":\"1_a\",\"pid\":67108863,\"cwd\":\"@\"}");
	put(t, "data/sessions/2_b/2_b.json", "{\"session_id\":\"2_b\",\"pid\":67108862,\"cwd\":\"@\"}");
	put(t, "data/sessions/2_b/2_b.messages.json", "{\"sessionId\":\"2_b\",\"messages\":[]}");
	finds(t, "cline", FOUND_RECORD, "1_a");

	put(t, "session-state/" A "/events.jsonl",
	    "{\"data\":{\"sessionId\":\"" A "\",\"context\":{\"cwd\":\"@\"}}}\n");
	put(t, "session-state/" B "/events.jsonl",
	    "{\"data\":{\"sessionId\":\"" B "\",\"context\":{\"cwd\":\"@\"}}}\n");
	put(t, "session-state/" B "/inuse.67108863.lock", "");
	finds(t, "copilot", FOUND_RECORD, B);
}

static void
the_command_and_a_snapshot_name_it(void **state)
{
	struct place *t = *state;
	struct profile_list *p = profile_list_new(NULL, NULL);
	struct launch l;

	put(t, "projects/-w/chats/" A ".jsonl", "{\"sessionId\":\"" A "\",\"cwd\":\"@\"}\n");
	put(t, "projects/-w/chats/" B ".jsonl", "{\"sessionId\":\"" B "\",\"cwd\":\"@\"}\n");
	finds(t, "qwen", FOUND_AMBIGUOUS, NULL);
	assert_int_equal(t->f.rivals, 2);
	launch_command(&l, "qwen --yolo --session-id=" A, "/bin/sh", profile_list_has_program, p);
	t->h.launch = &l;
	finds(t, "qwen", FOUND_COMMAND, A);
	t->h.id[FOUND_SNAPSHOT] = B;
	finds(t, "qwen", FOUND_SNAPSHOT, B);
	launch_release(&l);
	profile_list_free(p);
}

/* A screen wraps, indents and draws; the words are the same. */
static void
the_screen_bears_one_out(void **state)
{
	struct place *t = *state;

	put(t, DAY "rollout-1-" A ".jsonl", CODEX(A) CODEX_SAID("Please rename foo to bar in all files"));
	put(t, DAY "rollout-1-" B ".jsonl", CODEX(B) CODEX_SAID("Count the notes and tell me"));
	t->h.screen = "nothing of it";
	finds(t, "codex", FOUND_AMBIGUOUS, NULL);
	t->h.screen = "\n  │ › Please rename foo to │\n  │   bar in all files     │\n";
	finds(t, "codex", FOUND_SHOWN, A);
	t->h.screen = "Please rename foo to bar in all files\nCount the notes and tell me\n";
	finds(t, "codex", FOUND_AMBIGUOUS, NULL);
}

static void
rows_of_a_database(void **state)
{
	struct place *t = *state;
	char *path = io_join(t->folder, "opencode.db"), *sql, *want;
	struct sqlite3 *db;
	int64_t now = (int64_t)time(NULL) * 1000;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sql = xasprintf("CREATE TABLE session(id TEXT, parent_id TEXT, directory TEXT, time_updated INTEGER);"
			"INSERT INTO session VALUES('ses_a', NULL, '%s', %lld), ('ses_sub', 'ses_a', '%s', "
			"%lld), ('ses_old', NULL, '%s', 5),"
			"('ses_b', NULL, '/elsewhere', %lld)",
	    t->cwd, (long long)now, t->cwd, (long long)now, t->cwd, (long long)now);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	finds(t, "opencode", FOUND_FOLDER, "ses_a");
	want = xasprintf("%s#ses_a", path);
	assert_string_equal(t->f.path, want);
	free(want);
	free(sql);
	free(path);
}

static void
one_session_in_two_files(void **state)
{
	struct place *t = *state;
	char *path, *id;

	put(t, "projects.json", "{\"projects\":{\"@\":\"work-1\"}}");
	put(t, "tmp/work-1/chats/session-1.jsonl", "{\"sessionId\":\"" A "\"}\n");
	assert_false(locate_is_split("gemini", t->folder, A));
	put(t, "tmp/work-1/chats/session-2.jsonl", "{\"sessionId\":\"" A "\"}\n");
	age(t, "tmp/work-1/chats/session-1.jsonl", 60);
	assert_true(locate_is_split("gemini", t->folder, A));
	assert_true(locate_has_session("gemini", t->folder, t->cwd, A));
	assert_false(locate_has_session("gemini", t->folder, t->cwd, B));
	assert_false(locate_has_session("claude", t->folder, t->cwd, A));
	path = io_join(t->folder, "tmp/work-1/chats/session-2.jsonl");
	id = locate_session_id("gemini", t->folder, path, 0);
	assert_string_equal(id, A);
	free(id);
	/* not written to since then, or none of its sessions */
	assert_null(locate_session_id("gemini", t->folder, path, ((int64_t)time(NULL) + 60) * 1000));
	assert_null(locate_session_id("gemini", t->folder, t->cwd, 0));
	free(path);
	finds(t, "gemini", FOUND_FOLDER, A);
	assert_true(strstr(t->f.path, "session-2") != NULL);
}

/*
 * A server without a terminal holds the lock; it tells by a byte that it has it, and lives until
 * its input ends.
 */
static pid_t
serve(const char *lock, int *until)
{
	int said[2], input[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		close(input[1]);
		setsid();
		if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(said[1], "", 1) != 1)
			_exit(1);
		_exit(read(input[0], &c, 1) != 0);
	}
	assert_true(pid > 0);
	close(said[1]);
	close(input[0]);
	assert_int_equal(read(said[0], &c, 1), 1);
	close(said[0]);
	*until = input[1];
	return pid;
}

#define STARTED "{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_started\"}}\n"
#define ENDED "{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_complete\"}}\n"

static void
a_server_works_on(void **state)
{
	struct place *t = *state;
	char *lock = io_join(t->folder, "thread-writer-locks/" A ".lock");
	int until, status;
	pid_t pid;

	t->h.format = "codex";
	put(t, DAY "rollout-1-" A ".jsonl", CODEX(A) STARTED);
	assert_int_equal(io_make_parents(lock, NULL), 0);
	assert_false(locate_has_server(&t->h));
	pid = serve(lock, &until);
	assert_true(locate_is_held("codex", t->folder, A));
	assert_false(locate_is_held("codex", t->folder, B));
	assert_true(locate_has_server(&t->h));
	put(t, DAY "rollout-1-" A ".jsonl", CODEX(A) STARTED ENDED);
	assert_false(locate_has_server(&t->h));
	close(until);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(locate_is_held("codex", t->folder, A));
	free(lock);
}

/* Every format that a row may name is one that is read. */
static void
rows_name_readers(void **state)
{
	struct profile_list *p = profile_list_new(NULL, NULL);
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < profile_list_count(p); i++) {
		const char *format = profile_list_at(p, i)->transcript;

		if (strcmp(format, "none") == 0)
			continue;
		assert_non_null(transcript_format_find(format));
		if (transcript_has_pid_files(format))	/* whose folder its process tells */
			continue;
		assert_true(profile_list_at(p, i)->folder[0] != '\0');
		n++;
	}
	assert_int_equal(n, 8);
	profile_list_free(p);
}

static char *
variable(const void *arg, const char *name)
{
	const char *const *pairs = arg;

	for (; *pairs != NULL; pairs += 2)
		if (strcmp(pairs[0], name) == 0)
			return xstrdup(pairs[1]);
	return NULL;
}

static void
the_folder_of_a_row(void **state)
{
	static const char *const home[] = { "HOME", "/h", NULL },
				 *const moved[] = { "HOME", "/h", "CODEX_HOME", "/m", NULL },
				 *const xdg[] = { "XDG_DATA_HOME", "/x", NULL }, *const none[] = { NULL };
	static const struct { const char *agent; const void *env; const char *want;
	} cases[] = {
		{ "codex", home, "/h/.codex" }, { "codex", moved, "/m" },
		{ "opencode", xdg, "/x/opencode" }, { "opencode", home, "/h/.local/share/opencode" },
		{ "codex", none, NULL }, { "amp", home, NULL },
	};
	struct profile_list *p = profile_list_new(NULL, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *got = profile_folder(profile_find(p, cases[i].agent), variable, cases[i].env);

		if (cases[i].want == NULL)
			assert_null(got);
		else
			assert_string_equal(got, cases[i].want);
		free(got);
	}
	profile_list_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_format_by_its_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(another_directory_is_anothers, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_signs_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(the_command_and_a_snapshot_name_it, setup, teardown),
		cmocka_unit_test_setup_teardown(the_screen_bears_one_out, setup, teardown),
		cmocka_unit_test_setup_teardown(rows_of_a_database, setup, teardown),
		cmocka_unit_test_setup_teardown(one_session_in_two_files, setup, teardown),
		cmocka_unit_test_setup_teardown(a_server_works_on, setup, teardown),
		cmocka_unit_test(rows_name_readers),
		cmocka_unit_test(the_folder_of_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
