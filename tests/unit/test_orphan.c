#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "process/orphan.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "scrub/scrub.h"
#include "left.h"
#include "temp.h"

/*
 * A conversation and a tmux server of this run alone: another one may search /proc at the same
 * time. No server has such a pid.
 */
static char conversation[37];
static pid_t server;

struct scene {
	char *dir, *config, *cwd;
	struct scrub *s;
	struct orphan_search by;
	struct orphans o;
	pid_t pids[8], parents[2];
	size_t n, n_parents;
};

static bool
is_claude(const void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "claude") == 0;
}

static int
setup(void **state)
{
	struct scene *t = xcalloc(1, sizeof *t);

	snprintf(conversation, sizeof conversation, "aaaaaaaa-0000-4000-8000-%012d", (int)getpid());
	server = 2000000000 + getpid() * 2;
	t->dir = temp_dir();
	t->config = io_join(t->dir, "config");
	t->cwd = io_join(t->dir, "work");
	assert_int_equal(mkdir(t->cwd, 0700), 0);
	t->s = scrub_new(NULL, NULL);
	t->by = (struct orphan_search){ .session_id = conversation,
		.config_dir = t->config,
		.cwd = t->cwd,
		.server_pid = server,
		.pane_id = "%7",
		.is_agent = is_claude };
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct scene *t = *state;

	for (size_t i = 0; i < t->n; i++)
		left_end(t->pids[i]);
	for (size_t i = 0; i < t->n_parents; i++) {
		kill(t->parents[i], SIGKILL);
		waitpid(t->parents[i], NULL, 0);
	}
	orphan_list_release(&t->o);
	scrub_free(t->s);
	temp_remove(t->dir);
	free(t->config);
	free(t->cwd);
	free(t);
	return 0;
}

/* A text with the ids of this run in the place of ID, SERVER and BESIDE (another server). */
static char *
with_ids(const char *text)
{
	struct buf b = BUF_INIT;

	for (const char *p = text; *p != '\0'; )
		if (str_starts(p, "=ID")) {
			buf_fmt(&b, "=%s", conversation);
			p += 3;
		} else if (str_starts(p, "SERVER") || str_starts(p, "BESIDE")) {
			buf_fmt(&b, "%d", (int)server + (*p == 'B'));
			p += 6;
		} else {
			buf_chr(&b, *p++);
		}
	return buf_detach(&b);
}

/* `env` is one text, its variables parted by blanks. */
static pid_t
left(struct scene *t, const char *cwd, const char *command, const char *env, const char *output,
    bool below_agent)
{
	char *copy = with_ids(env), *rest, *v[8] = { NULL };
	size_t n = 0;
	pid_t pid;

	for (char *p = strtok_r(copy, " ", &rest); p != NULL; p = strtok_r(NULL, " ", &rest))
		v[n++] = p;
	pid =
	    left_start(t->config, cwd, command, v, output, below_agent ? &t->parents[t->n_parents++] : NULL);
	t->pids[t->n++] = pid;
	free(copy);
	return pid;
}

static void
look(struct scene *t)
{
	orphan_list_release(&t->o);
	assert_int_equal(orphan_list(&t->by, t->s, &t->o, NULL), 0);
}

static void
the_conversations_id_is_proof(void **state)
{
	struct scene *t = *state;
	char *output = io_join(t->dir, "b1.output");
	pid_t pid;

	temp_write(output, "");
	pid = left(t, "/", "sleep 600; echo \"two  words\"",
	    "PATH=/usr/bin:/bin CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=ID", output, false);
	look(t);
	assert_int_equal(t->o.n, 1);	/* not the sleep below it */
	assert_int_equal(t->o.v[0].pid, pid);
	assert_int_equal(t->o.v[0].pgrp, pid);
	assert_true(t->o.v[0].sure);
	assert_string_equal(t->o.v[0].command, "sleep 600; echo \"two  words\"");
	assert_string_equal(t->o.v[0].cwd, "/");
	assert_string_equal(t->o.v[0].output, output);
	assert_true(t->o.v[0].age_ms >= 0 && t->o.v[0].age_ms <= 60000);
	left_end(pid);
	t->n = 0;
	look(t);
	assert_int_equal(t->o.n, 0);
	free(output);
}

static void
signs_that_are_weaker(void **state)
{
	static const struct { const char *env; bool here; size_t n;
	} cases[] = {
		{ "CLAUDECODE=1 TMUX=/tmp/a,b/main,SERVER,3 TMUX_PANE=%7", false, 1 },
		/* before /clear the conversation had another id */
		{ "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=bbbbbbbb-0000-4000-8000-000000000002 "
		  "TMUX=/tmp/main,SERVER,3 TMUX_PANE=%7",
		    false, 1 },
		{ "CLAUDECODE=1 TMUX=/tmp/main,SERVER,3 TMUX_PANE=%8", true, 0 },
		{ "CLAUDECODE=1 TMUX=/tmp/main,BESIDE,3 TMUX_PANE=%7", true, 0 },
		/* no agent's: a person started it in this pane */
		{ "TMUX=/tmp/main,SERVER,3 TMUX_PANE=%7", true, 0 },
		/* no pane is told */
		{ "X=1", true, 1 },
		{ "X=1", false, 0 },
		{ "CLAUDE_CODE_SESSION_ID=bbbbbbbb-0000-4000-8000-000000000002", true, 0 },
	};
	struct scene *t = *state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *env = xasprintf("PATH=/usr/bin:/bin %s", cases[i].env);
		pid_t pid = left(t, cases[i].here ? t->cwd : "/", "sleep 600", env, NULL, false);

		look(t);
		if (t->o.n != cases[i].n)
			fail_msg("case %zu: %zu found", i, t->o.n);
		assert_true(
		    t->o.n == 0 || (t->o.v[0].pid == pid && !t->o.v[0].sure && t->o.v[0].output == NULL));
		left_end(pid);
		t->n = 0;
		free(env);
	}
}

static void
a_living_agents_processes_are_its_own(void **state)
{
	struct scene *t = *state;

	left(t, t->cwd, "sleep 600", "PATH=/usr/bin:/bin CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=ID", NULL, true);
	look(t);
	assert_int_equal(t->o.n, 0);
	left(
	    t, t->cwd, "sleep 601", "PATH=/usr/bin:/bin CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=ID", NULL, false);
	look(t);
	assert_int_equal(t->o.n, 1);
	assert_string_equal(t->o.v[0].command, "sleep 601");
}

static void
commands_are_scrubbed_and_counted(void **state)
{
	struct scene *t = *state;

	left(t, t->cwd, "sleep 600; : --token ghp_0123456789abcdefghijABCDEFGHIJ012345", "PATH=/usr/bin:/bin",
	    NULL, false);
	look(t);
	assert_int_equal(t->o.n, 1);
	assert_null(strstr(t->o.v[0].command, "ghp_0123"));
	assert_non_null(strstr(t->o.v[0].command, "[REDACTED:"));
	for (size_t i = 0; i < ORPHANS_MAX; i++)
		left(t, t->cwd, "sleep 600", "PATH=/usr/bin:/bin CLAUDE_CODE_SESSION_ID=ID", NULL, false);
	look(t);
	assert_int_equal(t->o.n, ORPHANS_MAX);
	assert_int_equal(t->o.more, 1);
	for (size_t i = 0; i < t->o.n; i++)
		assert_true(t->o.v[i].sure);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_conversations_id_is_proof, setup, teardown),
		cmocka_unit_test_setup_teardown(signs_that_are_weaker, setup, teardown),
		cmocka_unit_test_setup_teardown(a_living_agents_processes_are_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(commands_are_scrubbed_and_counted, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
