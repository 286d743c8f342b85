#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "transcript/transcript.h"
#include "transcript/locate/locate.h"

#define ID "gtr-0123456789abcdef"
#define USER                                                                                                 \
	"{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":null,\"message\":{\"role\":\"user\",\"content\":" \
	"\"go on " ID " now\"}}\n"
#define USER_BLOCKS                                                                                          \
	"{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":\"x\",\"message\":{\"role\":\"user\","            \
	"\"content\":[{\"type\":\"text\",\"text\":\"" ID "\"}]}}\n"
#define TOOL_RESULT                                                                                          \
	"{\"type\":\"user\",\"uuid\":\"u9\",\"parentUuid\":\"x\",\"message\":{\"role\":\"user\","            \
	"\"content\":[{\"type\":\"tool_result\",\"content\":\"" ID "\"}]}}\n"
#define ATTACHMENT "{\"type\":\"attachment\",\"uuid\":\"t1\",\"parentUuid\":\"u1\"}\n"
#define ANSWER(parent)                                                                                       \
	"{\"type\":\"assistant\",\"uuid\":\"a1\",\"parentUuid\":\"" parent "\",\"message\":{\"role\":"       \
									   "\"assistant\",\"content\":[]}}"  \
									   "\n"
#define API_ERROR                                                                                            \
	"{\"type\":\"assistant\",\"uuid\":\"a2\",\"parentUuid\":\"u1\",\"isApiErrorMessage\":true,"          \
	"\"message\":{\"content\":[]}}\n"
#define SIDE                                                                                                 \
	"{\"type\":\"assistant\",\"uuid\":\"s1\",\"parentUuid\":\"u1\",\"isSidechain\":true,\"message\":{}}" \
	"\n"
#define AGAIN                                                                                                \
	"{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"x\",\"message\":{\"role\":\"user\","            \
	"\"content\":\"" ID "\"}}\n"
#define OTHER                                                                                                \
	"{\"type\":\"user\",\"uuid\":\"u0\",\"parentUuid\":null,\"message\":{\"role\":\"user\",\"content\":" \
	"\"hello\"}}\n"

static char dir[64];

static int
make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/gtr-unit.XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
remove_dir(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
sees_what_the_agent_was_told(void **state)
{
	static const struct { const char *name, *text; enum ack want;
	} cases[] = {
		{ "empty", "", ACK_NONE },
		{ "another talk", OTHER ANSWER("u0"), ACK_NONE },
		{ "told", USER, ACK_RECEIVED },
		{ "told in blocks", USER_BLOCKS, ACK_RECEIVED },
		{ "answered", USER ANSWER("u1"), ACK_ANSWERED },
		{ "answered behind an attachment", USER ATTACHMENT ANSWER("t1"), ACK_ANSWERED },
		{ "the answer stands first", ATTACHMENT ANSWER("t1") USER, ACK_ANSWERED },
		{ "an answer to something else", OTHER ANSWER("u0") USER, ACK_RECEIVED },
		{ "the id in a tool's result only", TOOL_RESULT ANSWER("u9"), ACK_NONE },
		{ "given twice, the second answered", USER AGAIN ANSWER("u2"), ACK_ANSWERED },
		{ "given twice, the first answered", USER AGAIN ANSWER("u1"), ACK_ANSWERED },
		{ "an API error", USER API_ERROR, ACK_REFUSED },
		{ "an error, then an answer", USER API_ERROR ANSWER("u1"), ACK_ANSWERED },
		{ "only a sub-agent answered", USER SIDE, ACK_RECEIVED },
		{ "a torn last line", USER "{\"type\":\"assistant\",\"uuid\":\"a1\",\"par", ACK_RECEIVED },
		{ "lines that are no JSON", "garbage\n" USER "\n\xff\xfe\n" ANSWER("u1"), ACK_ANSWERED },
		{ "a ring of parents", "{\"type\":\"assistant\",\"uuid\":\"r\",\"parentUuid\":\"r\"}\n" USER,
		    ACK_RECEIVED },
	};
	char *path = io_join(dir, "one.jsonl");

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		enum ack got;

		write_file(path, cases[i].text);
		assert_int_equal(transcript_ack(path, "claude", ID, &got, NULL), 0);
		if (got != cases[i].want)
			fail_msg("%s: %d, not %d", cases[i].name, got, cases[i].want);
	}
	free(path);
}

static void
finds_the_project_folder(void **state)
{
	char *config = io_join(dir, "config"), *cwd = io_join(dir, "w_é.x"), *found = NULL, *path, *other;
	struct buf slug = BUF_INIT;
	enum ack ack;

	(void)state;
	/* "/tmp/gtr-unit.ABC/w_é.x": every UTF-16 unit that is no letter or digit is a dash */
	for (const char *p = dir; *p != '\0'; p++)
		buf_chr(&slug,
		    (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') ? *p
												     : '-');
	buf_str(&slug, "-w---x");
	path = xasprintf("%s/projects/%s", config, slug.data);
	assert_int_equal(io_private_dir(path, NULL), 0);
	assert_int_equal(mkdir(cwd, 0700), 0);
	free(path);
	path = xasprintf("%s/projects/%s/5e55.jsonl", config, slug.data);
	write_file(path, USER ANSWER("u1"));

	found = transcript_path(config, cwd, "5e55");
	assert_string_equal(found, path);
	free(found);
	assert_null(transcript_path(config, cwd, "other"));
	locate_ack("claude", config, cwd, ID, clock_wall_ms() - 60000, &ack, &found);
	assert_int_equal(ack, ACK_ANSWERED);
	assert_string_equal(found, path);
	free(found);
	other = xasprintf("%s/projects/%s/0ther.jsonl", config, slug.data);
	write_file(other, USER API_ERROR);
	locate_ack("claude", config, cwd, ID, 0, &ack, &found);
	assert_int_equal(ack, ACK_ANSWERED);
	assert_string_equal(found, path);
	free(found);
	free(other);
	locate_ack("claude", config, cwd, ID, clock_wall_ms() + 60000, &ack, &found);
	assert_int_equal(ack, ACK_NONE);
	assert_null(found);
	locate_ack("claude", config, "/nowhere/at/all", ID, 0, &ack, &found);
	assert_int_equal(ack, ACK_NONE);
	free(path);
	free(config);
	free(cwd);
	buf_release(&slug);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sees_what_the_agent_was_told),
		cmocka_unit_test(finds_the_project_folder),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
