#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/io.h"
#include "base/json.h"
#include "process/proc.h"
#include "temp.h"

#define ID "ee7ad597"

/* The files that 2.1.330 left when all was killed at once, in a configuration of our own. */
static json_t *
recorded(const char *name)
{
	char *path = xasprintf("tests/golden/background/%s", name);
	struct buf b = BUF_INIT;
	json_t *v;

	assert_int_equal(io_read_file(path, 1 << 20, &b, NULL), 0);
	v = json_parse(b.data, b.len, path, NULL);
	assert_non_null(v);
	buf_release(&b);
	free(path);
	return v;
}

static void
put_text(const char *dir, const char *name, const char *text)
{
	char *path = io_join(dir, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	free(path);
}

static void
put(const char *dir, const char *name, json_t *v)
{
	char *text = json_dumps(v, 0);

	put_text(dir, name, text);
	free(text);
	json_decref(v);
}

static void
put_process(json_t *v, const char *pid_key, const char *start_key, pid_t pid)
{
	char *start = xasprintf("%llu", (unsigned long long)proc_ticks(pid));

	json_object_set_new(v, pid_key, json_integer(pid));
	json_object_set_new(v, start_key, json_string(start));
	free(start);
}

static void
put_state(const char *dir, const char *state)
{
	json_t *v = recorded("state.json");

	json_object_set_new(v, "state", json_string(state));
	put(dir, "jobs/" ID "/state.json", v);
}

static char *
make_config(void)
{
	static const char *const folders[] = { "jobs", "jobs/" ID, "daemon", "sessions" };
	char *dir = temp_dir();

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		char *path = io_join(dir, folders[i]);

		assert_int_equal(mkdir(path, 0700), 0);
		free(path);
	}
	put(dir, "daemon/roster.json", recorded("roster.json"));
	put(dir, "daemon.lock", recorded("daemon.lock"));
	put_state(dir, "working");
	return dir;
}

static enum background_stand
stand_of(const char *dir)
{
	struct agent_background b;
	enum background_stand stand;

	assert_true(agent_background_read(dir, ID, &b));
	stand = b.stand;
	agent_background_release(&b);
	return stand;
}

static void
test_all_killed(void **state)
{
	char *dir = make_config();
	struct agent_backgrounds all;

	(void)state;
	agent_backgrounds_read(dir, &all);
	assert_int_equal(all.n, 1);
	assert_string_equal(all.v[0].id, ID);
	assert_string_equal(all.v[0].session_id, "ee7ad597-63e7-4183-b73a-6ea5eabd9c50");
	assert_string_equal(all.v[0].cwd, "/home/u/cwd");
	assert_string_equal(all.v[0].state, "working");
	assert_true(all.v[0].needs_key);
	assert_int_equal(all.v[0].stand, BACKGROUND_FAILED);
	assert_int_equal(all.v[0].pid, 0);
	agent_backgrounds_release(&all);
	put_state(dir, "crashed");
	assert_int_equal(stand_of(dir), BACKGROUND_FAILED);
	put_state(dir, "failed");
	assert_int_equal(stand_of(dir), BACKGROUND_GIVEN_UP);
	put_state(dir, "stopped");
	assert_int_equal(stand_of(dir), BACKGROUND_ENDED);
	put_state(dir, "a word of another version");
	assert_int_equal(stand_of(dir), BACKGROUND_ENDED);
	temp_remove(dir);
}

static void
test_processes(void **state)
{
	char *dir = make_config();
	json_t *roster = recorded("roster.json"), *lock = recorded("daemon.lock");
	struct agent_background b;

	(void)state;
	put_process(lock, "pid", "procStart", getpid());
	put(dir, "daemon.lock", lock);
	assert_int_equal(stand_of(dir), BACKGROUND_RESTARTING);
	put(dir, "daemon.lock", recorded("daemon.lock"));
	/* its host lives: in doubt it is not started a second time */
	put_process(json_object_get(json_object_get(roster, "workers"), ID), "pid", "procStart", getpid());
	put(dir, "daemon/roster.json", json_incref(roster));
	assert_int_equal(stand_of(dir), BACKGROUND_RESTARTING);
	put_process(json_object_get(json_object_get(roster, "workers"), ID), "replPid", "replProcStart",
	    getpid());
	put(dir, "daemon/roster.json", roster);
	assert_true(agent_background_read(dir, ID, &b));
	assert_int_equal(b.stand, BACKGROUND_LIVE);
	assert_int_equal(b.pid, getpid());
	agent_background_release(&b);
	temp_remove(dir);
}

static void
test_unreadable(void **state)
{
	char *dir = make_config();
	struct agent_background b;

	(void)state;
	put_text(dir, "daemon/roster.json", "{\"workers\": {");
	assert_int_equal(stand_of(dir), BACKGROUND_RESTARTING);
	put_text(dir, "daemon/roster.json", "{}");
	put_text(dir, "daemon.lock", "");
	assert_int_equal(stand_of(dir), BACKGROUND_RESTARTING);
	put_text(dir, "jobs/" ID "/state.json", "{");
	assert_false(agent_background_read(dir, ID, &b));
	assert_false(agent_background_read(dir, "../" ID, &b));
	temp_remove(dir);
}

/* What a killed one leaves is no pane's of its directory. */
static void
test_pid_file(void **state)
{
	char *dir = make_config();
	struct pid_file_place where = { "s", "%1", "/home/u/cwd", 0 };
	struct agent_pid_file f = { .pid = 0 };

	(void)state;
	put(dir, "sessions/21321.json", recorded("session.json"));
	assert_true(agent_pid_file_read(dir, 21321, &f));
	assert_true(f.background);
	assert_int_equal(agent_pid_file_match(&f, &where), PID_FILE_ELSEWHERE);
	f.background = false;
	assert_int_equal(agent_pid_file_match(&f, &where), PID_FILE_SAME_PLACE);
	agent_pid_file_release(&f);
	temp_remove(dir);
}

static bool
is_agent(const void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "claude") == 0;
}

static void
test_viewer(void **state)
{
	static const struct {
		const char *command;
		bool viewer;
	} cases[] = {
		{ "claude attach ee7ad597", true }, { "claude agents", true },
		{ "exec env A=b /usr/bin/claude attach x", true }, { "claude", false },
		{ "claude 'attach the file'", false }, { "claude --resume attach", false },
		{ "claude respawn ee7ad597", false }, { "bash", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct launch l;

		launch_command(&l, cases[i].command, "/bin/bash", is_agent, NULL);
		assert_int_equal(agent_is_viewer(&l), cases[i].viewer);
		launch_release(&l);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_killed), cmocka_unit_test(test_processes),
		cmocka_unit_test(test_unreadable), cmocka_unit_test(test_pid_file),
		cmocka_unit_test(test_viewer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
