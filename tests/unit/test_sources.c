#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/proc.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "conversation/conversation.h"
#include "detect/detect.h"
#include "app/app.h"
#include "temp.h"

#define A "aaaaaaaa-0000-4000-8000-000000000001"
#define B "bbbbbbbb-0000-4000-8000-000000000002"
#define C "cccccccc-0000-4000-8000-000000000003"
#define USER(text)                                                                                           \
	"{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"

/* A town, a home, a pane whose process is dead, and one process that lives. */
struct place {
	char *dir, *config, *cwd, *folder;
	struct app w;
	struct candidate c;
	struct conversation screen;
	struct transcript_found f;
	pid_t dead;		/* a pid that was ours and is free */
	struct proc living;
	int64_t now;
};

static pid_t
start_process(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void
end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
make_candidate(struct place *t)
{
	struct candidate *c = &t->c;

	c->pane = (struct pane){ .session = xstrdup("toast"),
		.id = xstrdup("%7"),
		.pid = t->dead,
		.dead = true,
		.dead_signal = 9,
		.session_created = t->now / 1000 - 3600,
		.server_start = t->now / 1000 - 7200,
		.start_path = xstrdup(t->cwd) };
	c->profile = profile_find(t->w.profiles, "claude");
	c->status = AGENT_DEAD;
	c->crashed_at = t->now;
	c->cwd = xstrdup(t->cwd);
	c->config_dir = xstrdup(t->config);
}

static int
setup(void **state)
{
	struct place *t = xcalloc(1, sizeof *t);
	char *mayor, *sessions;

	t->dir = temp_dir();
	t->config = io_join(t->dir, "config");
	t->cwd = io_join(t->dir, "work");
	mayor = io_join(t->dir, "mayor");
	sessions = io_join(t->config, "sessions");
	t->folder = xasprintf("%s/projects/%s-work", t->config, t->dir);
	for (char *p = t->folder + strlen(t->config) + strlen("/projects/"); *p != '\0'; p++)
		if (*p == '/' || *p == '.')
			*p = '-';
	assert_int_equal(mkdir(t->cwd, 0700) + mkdir(mayor, 0700), 0);
	assert_int_equal(io_private_dir(t->folder, NULL) + io_private_dir(sessions, NULL), 0);
	t->now = clock_wall_ms();
	t->dead = start_process();
	end_process(t->dead);
	assert_int_equal(proc_read(start_process(), &t->living), 0);
	/* no store: evidence of files and processes is what is asked for here */
	t->w.store_trouble.code = GT_FAIL;
	t->w.town = town_new(t->dir, NULL);
	t->w.profiles = profile_list_new(NULL, NULL);
	t->screen = (struct conversation)CONVERSATION_INIT;
	make_candidate(t);
	free(mayor);
	free(sessions);
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct place *t = *state;

	end_process(t->living.pid);
	transcript_found_release(&t->f);
	conversation_release(&t->screen);
	candidate_release(&t->c);
	profile_list_free(t->w.profiles);
	town_free(t->w.town);
	temp_remove(t->dir);
	free(t->config);
	free(t->cwd);
	free(t->folder);
	free(t);
	return 0;
}

static void
file(struct place *t, const char *id, const char *text)
{
	char *path = xasprintf("%s/%s.jsonl", t->folder, id);

	temp_write(path, text);
	free(path);
}

/* What an agent leaves in sessions/. `more` is put between the braces. */
static void
record(struct place *t, pid_t pid, uint64_t start, const char *id, int64_t started, const char *more)
{
	char *path = xasprintf("%s/sessions/%d.json", t->config, (int)pid);
	char *text = xasprintf("{\"pid\":%d,\"sessionId\":\"%s\",\"cwd\":\"%s\",\"startedAt\":%lld,"
			       "\"procStart\":\"%llu\",\"status\":\"busy\"%s}",
	    (int)pid, id, t->cwd, (long long)started, (unsigned long long)start, more);

	temp_write(path, text);
	free(text);
	free(path);
}

static void
user(struct place *t, const char *text)
{
	conversation_add(&t->screen, ROLE_USER, NULL, NULL, xstrdup(text));
}

static void
started_by(struct place *t, const char *command)
{
	launch_release(&t->c.launch);
	launch_command(&t->c.launch, command, "/bin/sh", profile_list_has_program, t->w.profiles);
}

static void
finds(struct place *t, enum found how, const char *id)
{
	struct err e = ERR_INIT;

	transcript_found_release(&t->f);
	assert_int_equal(detect_find_transcript(&t->w, &t->c,
			     &(struct screen_evidence){ .screen = &t->screen }, NULL, &t->f, &e),
	    0);
	assert_string_equal(transcript_found_name(t->f.how), transcript_found_name(how));
	assert_true(id == NULL ? t->f.session_id == NULL
			       : t->f.session_id != NULL && strcmp(t->f.session_id, id) == 0);
}

static void
the_record_of_the_panes_process(void **state)
{
	struct place *t = *state;

	file(t, A, USER("mine"));
	file(t, B, USER("newer"));
	finds(t, FOUND_AMBIGUOUS, NULL);
	record(t, t->dead, 4711, A, t->now - 60000, "");
	finds(t, FOUND_RECORD, A);
	/* the record's word stands, whatever the rest says */
	started_by(t, "claude --session-id " B);
	user(t, "newer");
	finds(t, FOUND_RECORD, A);
}

static void
a_record_of_a_pid_that_is_used_again(void **state)
{
	struct place *t = *state;

	file(t, A, USER("old"));
	file(t, B, USER("mine"));
	/* the dead process had the pid of one that ended before the session was made */
	record(t, t->dead, 4711, A, t->now - 7200000, "");
	finds(t, FOUND_FOLDER, B);
	/* or a process of today has it now, and wrote the record itself */
	t->c.pane.pid = t->living.pid;
	record(t, t->dead, 1, C, t->now - 60000, "");
	record(t, t->living.pid, t->living.start, A, t->now - 60000, "");
	finds(t, FOUND_FOLDER, B);
	/* it lives, and did not write it */
	record(t, t->living.pid, t->living.start + 1, B, t->now - 60000, "");
	finds(t, FOUND_RECORD, B);
}

static void
a_record_that_is_torn(void **state)
{
	struct place *t = *state;
	char *path = xasprintf("%s/sessions/%d.json", t->config, (int)t->dead);

	file(t, A, USER("mine"));
	temp_write(path, "{\"pid\":12,\"sessionId\":\"" B);
	finds(t, FOUND_FOLDER, A);
	temp_write(path, "[]");
	finds(t, FOUND_FOLDER, A);
	temp_write(path, "{\"sessionId\":7}");
	finds(t, FOUND_FOLDER, A);
	free(path);
}

static void
records_of_an_agent_in_a_shell(void **state)
{
	struct place *t = *state;

	/* two agents typed into shells died in one directory: neither record names its pane */
	file(t, A, USER("the parser"));
	file(t, B, USER("the docs"));
	file(t, C, USER("the docs"));
	t->c.pane.pid = getpid();
	record(t, t->dead, 4711, A, t->now - 60000, "");
	finds(t, FOUND_RECORD, A);
	record(t, 1, 4711, B, t->now - 60000, "");
	finds(t, FOUND_AMBIGUOUS, NULL);
	assert_int_equal(t->f.rivals, 2);
	user(t, "the docs");
	finds(t, FOUND_RECORD, B);
	/* this one does (2.1.330) */
	record(t, 1, 4711, C, t->now - 60000, ",\"tmux\":\"toast:@2.%7\"");
	finds(t, FOUND_RECORD, C);
	record(t, 1, 4711, B, t->now - 60000, ",\"tmux\":\"toast:@2.%8\"");
	finds(t, FOUND_SHOWN, C);
}

static void
what_living_agents_hold_is_theirs(void **state)
{
	struct place *t = *state;

	file(t, A, USER("go on"));
	file(t, B, USER("go on"));
	user(t, "go on");
	finds(t, FOUND_AMBIGUOUS, NULL);
	record(t, t->living.pid, t->living.start, B, t->now - 60000, "");
	finds(t, FOUND_SHOWN, A);
	record(t, t->living.pid, t->living.start, A, t->now - 60000, "");
	finds(t, FOUND_SHOWN, B);
}

static void
a_living_agents_own_record(void **state)
{
	struct place *t = *state;

	file(t, A, USER("x"));
	file(t, B, USER("x"));
	t->c.status = AGENT_LIVE;
	t->c.pane.dead = false;
	t->c.pane.pid = getpid();
	t->c.agent_pid = t->living.pid;
	record(t, t->living.pid, t->living.start, B, t->now, "");
	finds(t, FOUND_RECORD, B);
}

static void
ids_of_the_start_command(void **state)
{
	static const struct { const char *command; enum found how; const char *id; } cases[] = {
		{ "claude --session-id " A, FOUND_COMMAND, A },
		{ "claude --resume=" A " --verbose", FOUND_COMMAND, A },
		{ "env X=1 claude -r " B, FOUND_COMMAND, B },
		{ "bash -c 'claude --resume " B "'", FOUND_COMMAND, B },
		{ "claude --resume " A " --fork-session", FOUND_AMBIGUOUS, NULL },
		{ "claude --resume-session-at " A, FOUND_AMBIGUOUS, NULL },
		{ "claude --resume", FOUND_AMBIGUOUS, NULL },
		{ "claude --resume some-name", FOUND_AMBIGUOUS, NULL },
		{ "claude --session-id " C, FOUND_AMBIGUOUS, NULL },
	};
	struct place *t = *state;

	file(t, A, USER("x"));
	file(t, B, USER("y"));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		started_by(t, cases[i].command);
		finds(t, cases[i].how, cases[i].id);
	}
	/* a recovery of ours took the flag out when it started the agent */
	started_by(t, "claude --session-id " A);
	t->c.launch.wrapped = true;
	finds(t, FOUND_AMBIGUOUS, NULL);
}

static void
only_what_was_said_since_the_last_banner_counts(void **state)
{
	struct place *t = *state;

	file(t, A, USER("the old work"));
	file(t, B, USER("the new work"));
	started_by(t, "claude --session-id " A);
	user(t, "the old work");
	finds(t, FOUND_COMMAND, A);
	user(t, "/clear");
	user(t, "the new work");
	finds(t, FOUND_SHOWN, B);
	conversation_add(&t->screen, ROLE_SYSTEM, NULL, NULL, xstrdup("Claude Code v2.1.37\nOpus"));
	finds(t, FOUND_COMMAND, A);
	user(t, "the new work");
	finds(t, FOUND_SHOWN, B);
	/* queued words were not handed in */
	conversation_add(&t->screen, ROLE_USER, NULL, NULL, xstrdup("the old work"))->status = STATUS_WAITING;
	finds(t, FOUND_SHOWN, B);
}

static void
the_farewell(void **state)
{
	struct place *t = *state;

	file(t, A, USER("x"));
	file(t, B, USER("y"));
	t->screen.resume_id = xstrdup(B);
	finds(t, FOUND_AMBIGUOUS, NULL);
	t->screen.farewell = true;
	finds(t, FOUND_FAREWELL, B);
	started_by(t, "claude --session-id " A);
	finds(t, FOUND_FAREWELL, B);
}

static void
notes_of_gas_town(void **state)
{
	struct place *t = *state;
	char *runtime = io_join(t->cwd, ".runtime"), *note = io_join(runtime, "session_id"),
	     *events = io_join(t->dir, ".events.jsonl");
	struct buf text = BUF_INIT, at = BUF_INIT;

	file(t, A, USER("x"));
	file(t, B, USER("y"));
	file(t, C, USER("z"));
	clock_iso(&at, t->now - 60000);
	assert_int_equal(town_role("gastown/polecats/toast", &t->c.role), 0);
	buf_fmt(&text,
	    "{\"ts\":\"2020-01-01T00:00:00Z\",\"type\":\"session_start\",\"actor\":\"gastown/polecats/"
	    "toast\","
	    "\"payload\":{\"session_id\":\"" A "\",\"cwd\":\"%s\"}}\n",
	    t->cwd);
	temp_write(events, text.data);
	finds(t, FOUND_AMBIGUOUS, NULL);	/* long before this process */
	buf_fmt(&text, "{\"ts\":\"%s\",\"type\":\"session_start\",\"actor\":\"gastown/polecats/toast\","
	    "\"payload\":{\"session_id\":\"" A "\",\"cwd\":\"%s\"}}\n", at.data, t->cwd);
	buf_fmt(&text, "{\"ts\":\"%s\",\"type\":\"session_start\",\"actor\":\"gastown/polecats/slit\","
	    "\"payload\":{\"session_id\":\"" B "\",\"cwd\":\"%s\"}}\n", at.data, t->cwd);
	buf_str(&text, "{\"ts\":\"2020-01-01T00:00:00Z\",\"type\":\"session_sta");
	temp_write(events, text.data);
	finds(t, FOUND_TOWN, A);
	memset(&t->c.role, 0, sizeof t->c.role);
	finds(t, FOUND_TOWN, B);		/* no role: the newest in this directory */
	assert_int_equal(mkdir(runtime, 0700), 0);
	temp_write(note, C "\n2026-01-01T00:00:00Z\n");
	finds(t, FOUND_WORKTREE, C);
	temp_write(note, "");
	finds(t, FOUND_TOWN, B);
	buf_release(&text);
	buf_release(&at);
	free(runtime);
	free(note);
	free(events);
}

static void
other_agents_have_none(void **state)
{
	struct place *t = *state;
	char *warning;

	file(t, A, USER("x"));
	t->c.profile = profile_find(t->w.profiles, "codex");
	finds(t, FOUND_NONE, NULL);
	assert_null(detect_transcript_warning(&t->c, &t->f));
	t->c.profile = profile_find(t->w.profiles, "amp");
	finds(t, FOUND_NONE, NULL);
	warning = detect_transcript_warning(&t->c, &t->f);
	assert_string_equal(warning,
	    "The transcript of Amp cannot be read: this is only what its screen showed.");
	free(warning);
	t->c.profile = profile_find(t->w.profiles, "claude");
	file(t, B, USER("x"));
	finds(t, FOUND_AMBIGUOUS, NULL);
	warning = detect_transcript_warning(&t->c, &t->f);
	assert_non_null(strstr(warning, "2 transcripts"));
	free(warning);
}

/* The agent of another pane was brought back first, and its program removed the records of the dead. */
static void
a_record_that_is_gone_since(void **state)
{
	struct place *t = *state;
	char *path = xasprintf("%s/sessions/%d.json", t->config, (int)t->dead);

	file(t, A, USER("x"));
	file(t, B, USER("x"));
	record(t, t->dead, 1, A, t->now - 60000, "");
	assert_true(agent_pid_file_read(t->config, t->dead, &t->c.pid_record));
	assert_int_equal(unlink(path), 0);
	finds(t, FOUND_RECORD, A);
	t->c.pid_record.pid = t->living.pid;
	finds(t, FOUND_AMBIGUOUS, NULL);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_record_of_the_panes_process, setup, teardown),
		cmocka_unit_test_setup_teardown(a_record_of_a_pid_that_is_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_record_that_is_torn, setup, teardown),
		cmocka_unit_test_setup_teardown(a_record_that_is_gone_since, setup, teardown),
		cmocka_unit_test_setup_teardown(records_of_an_agent_in_a_shell, setup, teardown),
		cmocka_unit_test_setup_teardown(what_living_agents_hold_is_theirs, setup, teardown),
		cmocka_unit_test_setup_teardown(a_living_agents_own_record, setup, teardown),
		cmocka_unit_test_setup_teardown(ids_of_the_start_command, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    only_what_was_said_since_the_last_banner_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(the_farewell, setup, teardown),
		cmocka_unit_test_setup_teardown(notes_of_gas_town, setup, teardown),
		cmocka_unit_test_setup_teardown(other_agents_have_none, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
