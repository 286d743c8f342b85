#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "temp.h"
#include "gastown/gastown.h"
#include "base/io.h"

static void
put(const char *dir, const char *name, const char *text)
{
	char *path = io_join(dir, name);

	temp_write(path, text);
	free(path);
}

static char *
make(void)
{
	static const char *const dirs[] = { "mayor", ".runtime", ".runtime/heartbeats", ".runtime/pids" };
	char *dir = temp_dir();

	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		char *path = io_join(dir, dirs[i]);

		assert_int_equal(mkdir(path, 0700), 0);
		free(path);
	}
	return dir;
}

static void
test_beats(void **state)
{
	char *dir = make();
	struct town *t = town_new(dir, NULL);
	struct heartbeat h;

	(void)state;
	assert_false(heartbeat_read(t, "gt-toast", &h));
	put(dir, ".runtime/heartbeats/gt-toast.json",
	    "{\"timestamp\":\"2026-04-01T10:00:00.123456789Z\",\"state\":\"exiting\",\"context\":\"gt "
	    "done\",\"bead\":\"gt-1\"}");
	assert_true(heartbeat_read(t, "gt-toast", &h));
	assert_string_equal(h.state, "exiting");
	assert_string_equal(h.bead, "gt-1");
	assert_true(h.at == 1775037600123);
	/* gt's first form has a time alone; anything else is none, or has no time */
	put(dir, ".runtime/heartbeats/gt-toast.json", "{\"timestamp\":\"2026-04-01T10:00:00+02:00\"}");
	assert_true(heartbeat_read(t, "gt-toast", &h));
	assert_string_equal(h.state, "working");
	assert_true(h.at == 1775030400000);
	put(dir, ".runtime/heartbeats/gt-toast.json",
	    "{\"timestamp\":7,\"state\":\"a state of a later gt that is far too long to keep\"}");
	assert_true(heartbeat_read(t, "gt-toast", &h));
	assert_true(h.at == -1 && strlen(h.state) < sizeof h.state);
	put(dir, ".runtime/heartbeats/gt-toast.json", "{\"timestamp\":\"2026-");
	assert_false(heartbeat_read(t, "gt-toast", &h));
	put(dir, ".runtime/heartbeats/gt-toast.json", "[]");
	assert_false(heartbeat_read(t, "gt-toast", &h));
	put(dir, "mayor/town.json", "{}");
	assert_false(heartbeat_read(t, "../../mayor/town", &h));
	town_free(t);
	temp_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_beats) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
