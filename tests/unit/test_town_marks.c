#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temp.h"
#include "gastown/gastown.h"
#include "base/io.h"

/*
 * What files of a town say beside its rigs: parked rigs, polecats that gt is at work on, the port
 * of its Dolt server.
 */
static int
set_up(void **state)
{
	static const char *const dirs[] = { "mayor", ".beads-wisp", ".beads-wisp/config", ".dolt-data",
		"gastown", "gastown/.runtime", "gastown/.runtime/locks" };
	char *dir = temp_dir();

	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		char *path = io_join(dir, dirs[i]);

		assert_int_equal(mkdir(path, 0700), 0);
		free(path);
	}
	*state = dir;
	return 0;
}

static int
tear_down(void **state)
{
	temp_remove(*state);
	return 0;
}

static void
put(const char *dir, const char *name, const char *text)
{
	char *path = io_join(dir, name);

	temp_write(path, text);
	free(path);
}

static void
test_dolt_port(void **state)
{
	const char *dir = *state;
	struct town *t = town_new(dir, NULL);
	char *port;

	unsetenv("GT_DOLT_PORT");
	assert_null(town_dolt_port(t));
	put(dir, "mayor/daemon.json", "{\"env\":{\"GT_DOLT_PORT\":\"3310\"}}");
	port = town_dolt_port(t);
	assert_string_equal(port, "3310");
	free(port);
	setenv("GT_DOLT_PORT", "3309", 1);
	port = town_dolt_port(t);
	assert_string_equal(port, "3309");
	free(port);
	put(dir, ".dolt-data/config.yaml",
	    "port: 1\nlistener:\n  host: x\n  # port: 2\n  port: 3308 # ours\nother:\n  port: 4\n");
	port = town_dolt_port(t);
	assert_string_equal(port, "3308");
	free(port);
	put(dir, ".dolt-data/config.yaml", "listener:\n  port: 12;rm\n");
	port = town_dolt_port(t);
	assert_string_equal(port, "3309");
	free(port);
	unsetenv("GT_DOLT_PORT");
	town_free(t);
}

static void
test_parked_rigs(void **state)
{
	const char *dir = *state;
	struct town *t = town_new(dir, NULL);

	assert_false(town_rig_parked(t, "gastown"));
	put(dir, ".beads-wisp/config/gastown.json",
	    "{\"rig\":\"gastown\",\"values\":{\"status\":\"docked\"},\"blocked\":[]}");
	assert_true(town_rig_parked(t, "gastown"));
	assert_false(town_rig_parked(t, "beads"));
	put(dir, ".beads-wisp/config/gastown.json",
	    "{\"values\":{\"status\":\"parked\"},\"blocked\":[1,\"status\"]}");
	assert_false(town_rig_parked(t, "gastown"));
	put(dir, ".beads-wisp/config/gastown.json", "{\"values\":{\"status\":true}}");
	assert_false(town_rig_parked(t, "gastown"));
	put(dir, "evil.json", "{\"values\":{\"status\":\"parked\"}}");
	assert_false(town_rig_parked(t, "../../evil"));
	town_free(t);
}

static void
test_locked_polecats(void **state)
{
	const char *dir = *state;
	struct town_role toast = { .kind = TOWN_ROLE_POLECAT, .rig = "gastown", .name = "toast" },
			 nux = toast, eyes = toast;
	char *path = io_join(dir, "gastown/.runtime/locks/polecat-toast.lock");
	struct town *t = town_new(dir, NULL);
	int fd;

	strcpy(nux.name, "nux");
	eyes.kind = TOWN_ROLE_WITNESS;
	assert_false(town_polecat_locked(t, &toast));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_false(town_polecat_locked(t, &toast));
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_true(town_polecat_locked(t, &toast));
	assert_false(town_polecat_locked(t, &nux));
	assert_false(town_polecat_locked(t, &eyes));
	assert_int_equal(flock(fd, LOCK_UN), 0);
	assert_false(town_polecat_locked(t, &toast));
	close(fd);
	free(path);
	town_free(t);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = { T(test_dolt_port), T(test_parked_rigs), T(test_locked_polecats) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
