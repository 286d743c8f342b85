#include "test.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <utime.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "transcript/locate/locate.h"
#include "temp.h"

#define A "aaaaaaaa-0000-4000-8000-000000000001"
#define B "bbbbbbbb-0000-4000-8000-000000000002"
#define C "cccccccc-0000-4000-8000-000000000003"

#define USER(text)                                                                                           \
	"{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"
#define SIDE(text) "{\"type\":\"user\",\"isSidechain\":true,\"message\":{\"content\":\"" text "\"}}\n"
#define RESULT(text)                                                                                         \
	"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"content\":\"" text "\"}]}" \
												     "}\n"
#define SAID(text)                                                                                           \
	"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}\n"
#define QUEUED(text)                                                                                         \
	"{\"type\":\"attachment\",\"attachment\":{\"type\":\"queued_command\",\"prompt\":\"" text "\"}}\n"

/* A home with one project; the hints point there. */
struct home {
	char *dir, *config, *cwd, *folder;
	int64_t now;
	struct fingerprint said;
	struct locate_hints h;
	struct transcript_found f;
};

static int
setup(void **state)
{
	struct home *t = xcalloc(1, sizeof *t);
	struct buf slug = BUF_INIT;

	t->dir = temp_dir();
	t->config = io_join(t->dir, "config");
	t->cwd = io_join(t->dir, "w_é.x");
	/* "/tmp/gt-unit.ABC/w_é.x": every unit that is no letter or digit is a dash */
	for (const char *p = t->dir; *p != '\0'; p++)
		buf_chr(&slug,
		    (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') ? *p
												     : '-');
	t->folder = xasprintf("%s/projects/%s-w---x", t->config, slug.data);
	assert_int_equal(mkdir(t->cwd, 0700), 0);
	assert_int_equal(io_private_dir(t->folder, NULL), 0);
	t->now = (int64_t)time(NULL) * 1000;
	t->h = (struct locate_hints){ .format = "claude",
		.folder = t->config,
		.cwd = t->cwd,
		.began = t->now - 3600000,
		.ended = t->now,
		.fingerprint = &t->said };
	buf_release(&slug);
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct home *t = *state;

	transcript_found_release(&t->f);
	fingerprint_release(&t->said);
	temp_remove(t->dir);
	free(t->config);
	free(t->cwd);
	free(t->folder);
	free(t);
	return 0;
}

/* A transcript that was written to `ago` seconds before now. */
static void
file(struct home *t, const char *id, const char *text, int ago)
{
	char *path = xasprintf("%s/%s.jsonl", t->folder, id);
	time_t then = (time_t)(t->now / 1000) - ago;
	struct utimbuf when = { then, then };

	temp_write(path, text);
	assert_int_equal(utime(path, &when), 0);
	free(path);
}

/* Asks, and looks at the answer: the id, or NULL; the how, or how many rivals. */
static void
finds(struct home *t, enum found how, const char *id)
{
	struct err e = ERR_INIT;

	transcript_found_release(&t->f);
	assert_int_equal(locate_session(&t->h, &t->f, &e), 0);
	assert_string_equal(transcript_found_name(t->f.how), transcript_found_name(how));
	if (id == NULL) {
		assert_null(t->f.session_id);
		assert_null(t->f.path);
		return;
	}
	assert_string_equal(t->f.session_id, id);
	assert_non_null(strstr(t->f.path, id));
	assert_int_equal(access(t->f.path, R_OK), 0);
}

static void
finds_the_folder_by_its_name(void **state)
{
	struct home *t = *state;
	char *found = transcript_folder(t->config, t->cwd);

	assert_string_equal(found, t->folder);
	free(found);
	assert_null(transcript_folder(t->config, "/nowhere/at/all"));
	file(t, A, "", 0);
	found = transcript_path(t->config, t->cwd, A);
	assert_non_null(found);
	free(found);
	assert_null(transcript_path(t->config, t->cwd, B));
}

static void
cuts_long_names_as_the_agent_does(void **state)
{
	/* seen with 2.1.197 */
	static const char cwd[] = "/tmp/fnd/"
				  "longdirectoryname-longdirectoryname-longdirectoryname-longdirectoryname-"
				  "longdirectoryname-"
				  "longdirectoryname-longdirectoryname-longdirectoryname-/"
				  "anotherlongname.anotherlongname.anotherlongname.anotherlongname."
				  "anotherlongname.anotherlongname.";
	static const char cut[] = "-tmp-fnd-longdirectoryname-longdirectoryname-longdirectoryname-"
				  "longdirectoryname-longdirectoryname-"
				  "longdirectoryname-longdirectoryname-longdirectoryname--anotherlongname-"
				  "anotherlongname-anotherlongnam-shwcu3";
	struct home *t = *state;
	char *other = xasprintf("%s/projects/%.*s-other", t->config, 200, cut),
	     *want = xasprintf("%s/projects/%s", t->config, cut);
	char *whole = xasprintf("%s/projects/%s", t->config, cwd), *found;

	assert_int_equal(io_private_dir(other, NULL), 0);
	assert_null(transcript_folder(t->config, cwd));
	/* 2.1.37 and older do not cut */
	for (char *p = whole + strlen(t->config) + strlen("/projects/"); *p != '\0'; p++)
		if (*p == '/' || *p == '.')
			*p = '-';
	assert_int_equal(io_private_dir(whole, NULL), 0);
	found = transcript_folder(t->config, cwd);
	assert_string_equal(found, whole);
	free(found);
	assert_int_equal(io_private_dir(want, NULL), 0);
	found = transcript_folder(t->config, cwd);
	assert_string_equal(found, want);
	free(found);
	free(other);
	free(whole);
	free(want);
}

static void
takes_ids_in_the_order_of_trust(void **state)
{
	static const enum found order[] = { FOUND_RECORD, FOUND_COMMAND, FOUND_WORKTREE, FOUND_TOWN,
		FOUND_FAREWELL };
	struct home *t = *state;

	file(t, A, "", 100);
	file(t, B, "", 10);
	for (size_t i = sizeof order / sizeof order[0]; i-- > 0; ) {
		t->h.id[order[i]] = A;
		finds(t, order[i], A);
		t->h.id[order[i]] = i % 2 == 0 ? A : B;
		finds(t, order[i], i % 2 == 0 ? A : B);
	}
}

static void
an_id_without_a_file_is_no_find(void **state)
{
	struct home *t = *state;

	t->h.id[FOUND_COMMAND] = A;
	finds(t, FOUND_NONE, NULL);
	file(t, B, "", 10);
	finds(t, FOUND_FOLDER, B);
	/*
	 * the record is certain: the conversation that it names has not begun, and another's is
	 * not taken for it
	 */
	t->h.id[FOUND_RECORD] = C;
	t->h.id[FOUND_COMMAND] = NULL;
	finds(t, FOUND_NONE, NULL);
	t->h.id[FOUND_RECORD] = NULL;
	t->h.id[FOUND_WORKTREE] = "../../etc/passwd";
	finds(t, FOUND_FOLDER, B);
}

static void
an_id_is_found_in_any_folder(void **state)
{
	struct home *t = *state;
	char *elsewhere = io_join(t->dir, "elsewhere");

	file(t, A, "", 10);
	assert_int_equal(mkdir(elsewhere, 0700), 0);
	t->h.cwd = elsewhere;
	finds(t, FOUND_NONE, NULL);
	t->h.id[FOUND_RECORD] = A;
	finds(t, FOUND_RECORD, A);
	t->h.record_cwd = t->cwd;
	finds(t, FOUND_RECORD, A);
	t->h.cwd = NULL;
	finds(t, FOUND_RECORD, A);
	free(elsewhere);
}

static void
leaves_out_what_cannot_be_its(void **state)
{
	struct home *t = *state;
	static const char *const held[] = { B };
	char *agent = xasprintf("%s/agent-a1b2c3d4.jsonl", t->folder),
	     *dir = xasprintf("%s/" C ".jsonl", t->folder);

	file(t, A, USER("hello"), 10);
	temp_write(agent, USER("sub"));
	assert_int_equal(mkdir(dir, 0700), 0);
	finds(t, FOUND_FOLDER, A);
	file(t, B, USER("hello"), 10);
	finds(t, FOUND_AMBIGUOUS, NULL);
	assert_int_equal(t->f.rivals, 2);
	t->h.held = held;
	t->h.n_held = 1;
	finds(t, FOUND_FOLDER, A);
	t->h.id[FOUND_WORKTREE] = B;
	finds(t, FOUND_FOLDER, A);
	t->h.id[FOUND_WORKTREE] = NULL;
	t->h.n_held = 0;
	file(t, B, USER("hello"), 4000);	/* before it began */
	finds(t, FOUND_FOLDER, A);
	file(t, B, USER("hello"), -60);		/* by somebody who lived on */
	finds(t, FOUND_FOLDER, A);
	file(t, A, USER("hello"), 4000);
	finds(t, FOUND_NONE, NULL);
	free(agent);
	free(dir);
}

static void
the_screen_tells_two_agents_apart(void **state)
{
	struct home *t = *state;

	file(t, A, USER("Build the parser, and `test` it") SAID("ok"), 10);
	file(t, B,
	    USER("Write the docs") SAID("Build the parser, and test it") RESULT("Now the lexer") SIDE("Now "
												      "the "
												      "lexe"
												      "r"),
	    5);
	finds(t, FOUND_AMBIGUOUS, NULL);
	fingerprint_add(&t->said, "Build the parser,\n  and test it");
	finds(t, FOUND_SHOWN, A);
	fingerprint_release(&t->said);
	fingerprint_add(&t->said, "Write   the docs");
	finds(t, FOUND_SHOWN, B);
	/* said to neither, and each was read in full */
	fingerprint_release(&t->said);
	fingerprint_add(&t->said, "Now the lexer");
	finds(t, FOUND_NONE, NULL);
	/* both heard it */
	file(t, A, USER("go on"), 10);
	file(t, B, USER("go on"), 5);
	fingerprint_release(&t->said);
	fingerprint_add(&t->said, "go on");
	finds(t, FOUND_AMBIGUOUS, NULL);
	assert_int_equal(t->f.rivals, 2);
	/* each has something that the other lacks */
	fingerprint_add(&t->said, "first");
	file(t, A, USER("first"), 10);
	finds(t, FOUND_AMBIGUOUS, NULL);
	file(t, A, USER("first") QUEUED("go on"), 10);
	finds(t, FOUND_SHOWN, A);
}

static void
a_newer_file_outweighs_a_stale_id(void **state)
{
	struct home *t = *state;

	/* /clear began B; the start command still says A */
	file(t, A, USER("old work"), 600);
	file(t, B, USER("new work"), 10);
	t->h.id[FOUND_COMMAND] = A;
	finds(t, FOUND_COMMAND, A);	/* the screen shows nothing */
	fingerprint_add(&t->said, "new work");
	finds(t, FOUND_SHOWN, B);
	fingerprint_add(&t->said, "old work");
	finds(t, FOUND_AMBIGUOUS, NULL);
	fingerprint_release(&t->said);
	fingerprint_add(&t->said, "old work");
	finds(t, FOUND_COMMAND, A);
	t->h.id[FOUND_COMMAND] = NULL;
	t->h.id[FOUND_TOWN] = B;
	finds(t, FOUND_SHOWN, A);
}

static void
records_of_the_place_are_looked_at_first(void **state)
{
	struct home *t = *state;
	static const char *const suspects[] = { A, B };

	file(t, A, USER("one"), 10);
	file(t, B, USER("two"), 10);
	file(t, C, USER("three"), 10);
	t->h.suspects = suspects;
	t->h.n_suspects = 1;
	finds(t, FOUND_RECORD, A);
	t->h.n_suspects = 2;
	finds(t, FOUND_AMBIGUOUS, NULL);
	assert_int_equal(t->f.rivals, 2);
	fingerprint_add(&t->said, "two");
	finds(t, FOUND_RECORD, B);
	/* of none of them: an agent that leaves no records */
	fingerprint_release(&t->said);
	fingerprint_add(&t->said, "three");
	finds(t, FOUND_SHOWN, C);
}

static void
a_long_file_is_read_at_both_ends(void **state)
{
	struct home *t = *state;
	struct buf text = BUF_INIT;

	buf_str(&text, USER("do all of it"));
	while (text.len < (size_t)7 << 20)
		buf_str(&text,
		    SAID("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			 "xxxxxxxxxxxxxxxxxxxxx"));
	buf_str(&text, USER("and this"));
	buf_str(&text, "{\"type\":\"user\",\"message\":{\"content\":\"torn");
	file(t, A, text.data, 10);
	file(t, B, USER("other"), 10);
	fingerprint_add(&t->said, "do all of it");
	finds(t, FOUND_SHOWN, A);
	fingerprint_release(&t->said);
	fingerprint_add(&t->said, "and this");
	finds(t, FOUND_SHOWN, A);
	/*
	 * what stands in its middle is not known: that is no reason to drop it, and none to take
	 * it before another
	 */
	fingerprint_release(&t->said);
	fingerprint_add(&t->said, "in the middle");
	finds(t, FOUND_FOLDER, A);
	fingerprint_release(&t->said);
	fingerprint_add(&t->said, "other");
	finds(t, FOUND_SHOWN, B);
	buf_release(&text);
}

static void
marks_are_what_a_person_said(void **state)
{
	struct fingerprint s = { .n = 0 };
	char *path = NULL, *long_one = xmalloc(400);
	struct home *t = *state;
	struct fingerprint_found seen;

	assert_false(fingerprint_add(&s, "/clear"));
	assert_false(fingerprint_add(&s, "!ls"));
	assert_false(fingerprint_add(&s, "--- ... ---"));
	assert_false(fingerprint_add(&s, "[REDACTED:aws] is the key"));
	memset(long_one, 'a', 399);
	long_one[399] = '\0';
	assert_true(fingerprint_add(&s, long_one));
	assert_true(fingerprint_add(&s, "The key is [REDACTED:aws], use it"));
	assert_true(fingerprint_add(&s, "Head of it\n──── (992 lines hidden) ────\nend"));
	assert_true(fingerprint_add(&s, "今日は世界"));
	assert_true(fingerprint_add(&s, "short"));
	long_one[300] = '\0';
	path = xasprintf("%s/" A ".jsonl", t->folder);
	temp_write(path,
	    "not json \"user\"\n[\"user\"]\n{\"type\":\"user\"}\n{\"type\":\"user\",\"message\":7}\n" USER(
		"The key is AKIA1234, use it") USER("**Head** of it\\nand much more") USER("今日は\\n世界")
		USER("shorter"));
	assert_int_equal(fingerprint_match(&s, path, &seen), 0);
	assert_true(seen.whole);
	assert_int_equal(seen.mask, FINGERPRINT_BIT(1) | FINGERPRINT_BIT(2) | FINGERPRINT_BIT(3));
	assert_int_equal(fingerprint_match(&s, "/nowhere", &seen), -1);
	assert_int_equal(fingerprint_match(&s, t->folder, &seen), -1);
	fingerprint_add(&s, "6");
	fingerprint_add(&s, "7");
	assert_true(fingerprint_add(&s, "8"));
	assert_false(fingerprint_add(&s, "9"));
	fingerprint_release(&s);
	free(path);
	free(long_one);
}

/* A user's message, and when: minutes of an hour that lies in 2026. */
#define AT(minute, text)                                                                                     \
	"{\"type\":\"user\",\"uuid\":\"u\",\"timestamp\":\"2026-11-20T10:" minute ":00.000Z\",\"message\":{" \
										  "\"content\":\"" text "\"" \
													"}}" \
													"\n"

static void
a_screen_says_nothing_of_what_began_later(void **state)
{
	struct home *t = *state;
	const char *held[] = { B };
	char *path;

	t->h.screen_at = clock_parse_iso("2026-11-20T10:10:00.000Z");
	assert_true(fingerprint_add(&t->said, "words of the life before"));
	file(t, A, "{\"type\":\"summary\"}\n" AT("12", "born later"), 10);
	file(t, B, AT("08", "born before"), 10);
	finds(t, FOUND_FOLDER, A);
	t->h.screen_at = 0;	/* at its end: none of the two is it */
	finds(t, FOUND_NONE, NULL);
	t->h.screen_at = clock_parse_iso("2026-11-20T10:10:00.000Z");
	file(t, B, AT("11", "born later, too"), 10);
	finds(t, FOUND_NONE, NULL);
	t->h.held = held;
	t->h.n_held = 1;
	finds(t, FOUND_FOLDER, A);
	path = xasprintf("%s/" A ".jsonl", t->folder);
	assert_int_equal(transcript_began_at(path), clock_parse_iso("2026-11-20T10:12:00.000Z"));
	temp_write(path, "{\"type\":\"user\",\"timestamp\":\"2026-11-20T10:12");	/* torn */
	assert_int_equal(transcript_began_at(path), 0);
	assert_int_equal(transcript_began_at("/nowhere"), 0);
	free(path);
}

#define MEMBER(team, name)                                                                                   \
	"{\"type\":\"mode\",\"mode\":\"normal\"}\n{\"parentUuid\":null,\"teamName\":\"" team                        \
	"\",\"agentName\":\"" name "\",\"type\":\"user\",\"message\":{\"content\":\"task\"}}\n"

static void
is_member(struct home *t, const char *team, const char *name, const char *want)
{
	char *id = locate_teammate(t->config, t->cwd, team, name);

	if (want == NULL)
		assert_null(id);
	else
		assert_string_equal(id, want);
	free(id);
}

/* Of several that work in one directory, without pid files. */
static void
a_teammates_records_name_it(void **state)
{
	struct home *t = *state;

	file(t, A, MEMBER("session-11111111", "alice"), 5);
	file(t, B, MEMBER("session-11111111", "bob"), 1);
	file(t, C, USER("\\\"teamName\\\":\\\"session-22222222\\\",\\\"agentName\\\":\\\"alice\\\""), 1);
	is_member(t, "session-11111111", "alice", A);
	is_member(t, "session-11111111", "bob", B);
	is_member(t, "session-22222222", "alice", NULL);
	is_member(t, "session-11111111", "al", NULL);
	/* after /clear */
	file(t, C, MEMBER("session-11111111", "alice"), 2);
	is_member(t, "session-11111111", "alice", C);
}

static void
a_folder_that_cannot_be_read_is_said(void **state)
{
	struct home *t = *state;
	struct err e = ERR_INIT;

	struct rlimit was, none;

	/* rights would not stop root */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){ 0, was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(locate_session(&t->h, &t->f, &e), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_string_equal(e.name, "transcript");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_the_folder_by_its_name, setup, teardown),
		cmocka_unit_test_setup_teardown(cuts_long_names_as_the_agent_does, setup, teardown),
		cmocka_unit_test_setup_teardown(takes_ids_in_the_order_of_trust, setup, teardown),
		cmocka_unit_test_setup_teardown(an_id_without_a_file_is_no_find, setup, teardown),
		cmocka_unit_test_setup_teardown(an_id_is_found_in_any_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(leaves_out_what_cannot_be_its, setup, teardown),
		cmocka_unit_test_setup_teardown(the_screen_tells_two_agents_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(a_newer_file_outweighs_a_stale_id, setup, teardown),
		cmocka_unit_test_setup_teardown(records_of_the_place_are_looked_at_first, setup, teardown),
		cmocka_unit_test_setup_teardown(a_long_file_is_read_at_both_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(marks_are_what_a_person_said, setup, teardown),
		cmocka_unit_test_setup_teardown(a_screen_says_nothing_of_what_began_later, setup, teardown),
		cmocka_unit_test_setup_teardown(a_teammates_records_name_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_read_is_said, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
