#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "transcript/transcript.h"
#include "temp.h"

#define ID "0a1b2c3d-0000-4000-8000-00000000000f"
#define HEAD(type, id, parent)                                                                               \
	"{\"type\":\"" type "\",\"uuid\":\"" id "\",\"parentUuid\":" parent ",\"sessionId\":\"" ID "\","
#define USER(id, parent, text)                                                                               \
	HEAD("user", id, parent) "\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"
#define SAID(id, parent, text)                                                                               \
	HEAD("assistant", id, parent)                                                                        \
	"\"message\":{\"id\":\"m" id "\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"   \
				     "\"" text "\"}],\"usage\":{\"input_tokens\":100,\"cache_read_input_"    \
					       "tokens\":20,\"cache_creation_input_tokens\":3,\"output_"     \
					       "tokens\":4000}}}\n"
#define CALL(id, parent, call)                                                                               \
	HEAD("assistant", id, parent)                                                                        \
	"\"message\":{\"id\":\"m" id "\",\"content\":[{\"type\":\"tool_use\",\"id\":\"" call                 \
	"\",\"name\":\"Bash\",\"input\":{}}]}}\n"
#define BOUNDARY(id, logical)                                                                                \
	"{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"" id "\",\"parentUuid\":null,"     \
									       "\"logicalParentUuid\":"      \
									       "\"" logical "\"}\n"
#define SUMMARY(id, parent)                                                                                  \
	HEAD("user", id, parent) "\"isCompactSummary\":true,\"message\":{\"content\":\"what was "            \
				 "before\"}}\n"

static struct transcript_check
stand(const char *text)
{
	char *dir = temp_dir(), *path = io_join(dir, ID ".jsonl");
	struct err e = ERR_INIT;
	struct transcript_check s;

	assert_int_equal(io_write_durable(path, text, strlen(text), "test", &e), 0);
	assert_int_equal(transcript_check_integrity(path, ID, 1000, &s, &e), 0);
	free(path);
	temp_remove(dir);
	return s;
}

static void
knows_what_the_agent_would_read(void **state)
{
	static const struct { const char *text; enum transcript_integrity stand;
	} cases[] = {
		{ USER("a", "null", "hi") SAID("b", "\"a\"", "yes"), TRANSCRIPT_WHOLE },
		{ USER("a", "null", "hi") CALL("b", "\"a\"", "t1"), TRANSCRIPT_WHOLE },
		/* lines of one batch are in no order */
		{ SAID("b", "\"a\"", "yes") USER("a", "null", "hi"), TRANSCRIPT_WHOLE },
		/* one that was given up hangs nowhere */
		{ USER("x", "\"gone\"", "old") USER("a", "null", "hi") SAID("b", "\"a\"", "yes"),
		    TRANSCRIPT_WHOLE },
		{ "", TRANSCRIPT_EMPTY },
		{ "{\"type\":\"summary\",\"summary\":\"x\"}\n", TRANSCRIPT_EMPTY },
		{ USER("a", "null", "hi"), TRANSCRIPT_EMPTY },
		{ USER("a", "\"gone\"", "hi") SAID("b", "\"a\"", "yes"), TRANSCRIPT_BROKEN },
		{ USER("a", "null", "hi") SAID("b", "\"a\"", "yes") "{\"type\":\"user\",\"uu",
		    TRANSCRIPT_TORN },
		{ USER("a", "null", "hi") SAID("b", "\"a\"", "yes") "{\"type\":\"user\",\"uu\n",
		    TRANSCRIPT_TORN },
		{ USER("a", "null", "hi") "{\"type\":\n" SAID("b", "\"a\"", "yes"), TRANSCRIPT_TORN },
		{ USER("a", "null", "hi") SAID("b", "\"a\"", "yes") "{\"type\":\"mode\"}", TRANSCRIPT_TORN },
		{ USER("a", "null", "hi") SAID("b", "\"a\"", "yes") "{\"type\":\"last-prompt\",\"sessionId\":"
								    "\"another\"}\n",
		    TRANSCRIPT_FOREIGN },
		/* what a compaction ended need not be whole any more */
		{ USER("a", "\"gone\"", "hi") BOUNDARY("c", "a") SUMMARY("d", "\"c\"")
			SAID("b", "\"d\"", "yes"),
		    TRANSCRIPT_WHOLE },
		{ USER("a", "null", "hi") BOUNDARY("c", "a") SAID("b", "\"c\"", "yes"), TRANSCRIPT_BROKEN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (stand(cases[i].text).integrity != cases[i].stand)
			fail_msg("case %zu: %d instead of %d", i, (int)stand(cases[i].text).integrity,
			    (int)cases[i].stand);
}

static void
counts_what_is_sent_again(void **state)
{
	struct transcript_check s =
	    stand(USER("a", "null", "hi") SAID("b", "\"a\"", "yes") USER("x", "\"a\"", "given up, and long"));
	struct transcript_check compact = stand(USER("a", "null", "a long, long talk about everything")
		BOUNDARY("c", "a") SUMMARY("d", "\"c\"") SAID("b", "\"d\"", "yes"));

	(void)state;
	assert_int_equal(s.charged, 4123);
	assert_true(compact.bytes < sizeof "a long, long talk about everything" + 60);
	s = stand(HEAD("user", "a", "null") "\"message\":{\"content\":[{\"type\":\"image\",\"source\":\"x\"},"
					    "{\"type\":\"tool_result\",\"content\":"
					    "[{\"type\":\"image\"}]}]}}\n" SAID("b", "\"a\"", "y"));
	assert_true(s.bytes > 12800 && s.bytes < 12900);
}

/* Only as much is read as the answer needs, and in memory that does not grow with the file. */
static void
stops_when_there_is_too_much(void **state)
{
	struct buf b = BUF_INIT;
	char *long_text = xstrdup("0123456789");

	(void)state;
	for (int i = 0; i < 2000; i++) {
		if (i == 0)
			buf_str(&b, USER("r0", "null", "start"));
		else
			buf_fmt(&b,
			    "{\"type\":\"assistant\",\"uuid\":\"r%d\",\"parentUuid\":\"r%d\",\"message\":{"
			    "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}\n",
			    i, i - 1, long_text);
	}
	assert_int_equal(stand(b.data).integrity, TRANSCRIPT_LARGE);
	buf_release(&b);
	free(long_text);
}

static void
follows_no_link(void **state)
{
	char *dir = temp_dir(), *path = io_join(dir, ID ".jsonl"), *other = io_join(dir, "other");
	struct err e = ERR_INIT;
	struct transcript_check s;

	(void)state;
	assert_int_equal(io_write_durable(other, USER("a", "null", "hi") SAID("b", "\"a\"", "yes"),
			     strlen(USER("a", "null", "hi") SAID("b", "\"a\"", "yes")), "test", &e),
	    0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(transcript_check_integrity(path, ID, 1000, &s, &e), 0);
	assert_int_equal(s.integrity, TRANSCRIPT_FOREIGN);
	unlink(path);
	assert_int_equal(transcript_check_integrity(path, ID, 1000, &s, &e), -1);
	free(path);
	free(other);
	temp_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_what_the_agent_would_read),
		cmocka_unit_test(counts_what_is_sent_again),
		cmocka_unit_test(stops_when_there_is_too_much),
		cmocka_unit_test(follows_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
