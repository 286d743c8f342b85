#include "home.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "process/proc.h"
#include "base/json.h"
#include "records/hooks/hooks.h"
#include "records/records.h"

#define TALK "11111111-2222-4333-8444-555555555555"
#define OTHER "99999999-2222-4333-8444-555555555555"

static int64_t clock_at = 1000000;

/* A beat as a hook would tell it, a second after the one before. */
static struct hook_event
beat_of(const char *event, const char *talk, const char *more)
{
	char *text = xasprintf(
	    "{\"session_id\":\"%s\",\"cwd\":\"/w\",\"transcript_path\":\"/t/x.jsonl\"%s}", talk, more);
	struct hook_event b;

	assert_int_equal(hook_event_parse(&b, hook_adapter_find(NULL), event, text, strlen(text), NULL), 0);
	b.at.wall_ms = clock_at += 1000;
	free(text);
	return b;
}

static struct hook_event
call_of(const char *event, const char *path, const char *call)
{
	char *more = xasprintf(",\"tool_name\":\"Write\",\"tool_use_id\":\"%s\",\"tool_input\":{\"file_"
			       "path\":\"%s\",\"content\":\"x\"}",
	    call, path);
	struct hook_event b = beat_of(event, TALK, more);

	free(more);
	return b;
}

static void
with_process(struct hook_event *b, pid_t pid)
{
	memcpy(b->boot_id, b->at.boot_id, sizeof b->boot_id);
	b->pid = pid;
	b->pid_start = (int64_t)proc_ticks(pid);
}

static void
note(struct home *h, struct hook_event b)
{
	const struct hook_event *p = &b;

	assert_int_equal(activity_apply_events(h->s, &p, 1, &h->e), 0);
	hook_event_release(&b);
}

/* "a.c+ b.c- ": + written, ! half done, - left behind by a turn that ended. */
static char *
files(struct home *h)
{
	struct activity a;
	struct buf b = BUF_INIT;

	assert_int_equal(activity_load(h->s, TALK, &a, &h->e), 1);
	for (size_t i = 0; i < a.n_files; i++)
		buf_fmt(&b, "%s%c ", a.files[i].path,
		    a.files[i].ended > 0                            ? '+'
			: activity_file_unfinished(&a, &a.files[i]) ? '!'
								    : '-');
	activity_release(&a);
	return buf_detach(&b);
}

static void
has_files(struct home *h, const char *expected)
{
	char *now = files(h);

	assert_string_equal(now, expected);
	free(now);
}

/* --- beats --- */

static void
test_read(void **state)
{
	static const char input[] = "{\"session_id\":\"" TALK "\",\"cwd\":\"/w "
							      "x\",\"tool_name\":\"Edit\",\"tool_use_id\":"
							      "\"toolu_1\","
				    "\"agent_id\":\"ab12\",\"agent_type\":\"Explore\",\"tool_input\":{\"file_"
				    "path\":\"/w/\\u00e9.c\",\"new_string\":\"sk-ant-\\ud83d\"}}";
	struct hook_event b, back;
	json_t *o;

	(void)state;
	assert_int_equal(
	    hook_event_parse(&b, hook_adapter_find(NULL), "PreToolUse", input, sizeof input - 1, NULL), 0);
	assert_int_equal(b.kind, HOOK_PRE_TOOL);
	assert_string_equal(b.path, "/w/é.c");
	assert_string_equal(b.agent, "ab12");
	assert_true(b.at.wall_ms > 0 && b.at.boot_id[0] != '\0');
	with_process(&b, getpid());
	o = hook_event_json(&b);
	assert_int_equal(hook_event_from_json(&back, o, NULL), 0);
	assert_int_equal(back.kind, HOOK_PRE_TOOL);
	assert_string_equal(back.call, "toolu_1");
	assert_string_equal(back.cwd, "/w x");
	assert_int_equal(back.pid, getpid());
	assert_string_equal(back.boot_id, b.boot_id);
	assert_true(b.at.pid_ns != 0);
	assert_int_equal(back.at.pid_ns, b.at.pid_ns);
	json_decref(o);
	hook_event_release(&b);
	hook_event_release(&back);
}

/* The file that is only read is nobody's business, nor are hooks of kinds to come. */
static void
test_read_other(void **state)
{
	static const char *const bad[] = { "", "[]", "{", "{\"session_id\":7}", "{\"session_id\":\"a b\"}",
		"{\"session_id\":\"\"}", "{\"session_id\":\"a\",\"agent_id\":\"x y\"}" };
	static const char reads[] = "{\"session_id\":\"a\",\"tool_name\":\"Read\",\"tool_input\":{\"file_"
				    "path\":\"/w/a\"}}";
	struct buf longer = BUF_INIT;
	struct hook_event b;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(
		    hook_event_parse(&b, hook_adapter_find(NULL), "Stop", bad[i], strlen(bad[i]), NULL), -1);
	assert_int_equal(
	    hook_event_parse(&b, hook_adapter_find(NULL), "PreToolUse", reads, sizeof reads - 1, NULL), 0);
	assert_null(b.path);
	hook_event_release(&b);
	buf_str(&longer, "{\"session_id\":\"a\",\"cwd\":\"");
	for (int i = 0; i <= HOOK_TEXT_MAX; i++)
		buf_chr(&longer, 'x');
	buf_str(&longer, "\"}");
	assert_int_equal(
	    hook_event_parse(&b, hook_adapter_find(NULL), "SomethingNew", longer.data, longer.len, NULL), 0);
	assert_int_equal(b.kind, HOOK_OTHER);
	assert_null(b.cwd);
	hook_event_release(&b);
	buf_release(&longer);
}

/* --- files --- */

static void
test_files(void **state)
{
	struct home *h = *state;
	struct activity a;

	note(h, beat_of("SessionStart", TALK, ",\"source\":\"startup\""));
	note(h, beat_of("UserPromptSubmit", TALK, ",\"prompt\":\"secret words\""));
	note(h, call_of("PreToolUse", "/w/a", "t1"));
	has_files(h, "/w/a! ");
	note(h, call_of("PostToolUse", "/w/a", "t1"));
	has_files(h, "/w/a+ ");
	/* written again, and failed: no word of it, but the next call; by two hooks, as some have them */
	note(h, call_of("PreToolUse", "/w/a", "t2"));
	home_again(h);
	has_files(h, "/w/a! ");
	note(h, call_of("PreToolUse", "/w/b", "t3"));
	note(h, call_of("PreToolUse", "/w/b", "t3"));
	home_again(h);
	has_files(h, "/w/a- /w/b! ");
	assert_int_equal(activity_load(h->s, TALK, &a, &h->e), 1);
	assert_string_equal(a.event, "PreToolUse");
	assert_string_equal(a.tool, "Write");
	assert_string_equal(a.transcript, "/t/x.jsonl");
	assert_int_equal(a.at.wall_ms, clock_at);
	activity_release(&a);
	/* a signal ends the agent in the middle; a turn that ended had told the model */
	note(h, beat_of("SessionEnd", TALK, ",\"reason\":\"other\""));
	has_files(h, "/w/a- /w/b! ");
	assert_string_equal(home_state(h, TALK), "ACTIVE");
	note(h, beat_of("Stop", TALK, ""));
	has_files(h, "/w/a- /w/b- ");
}

/* A call that failed, by what its hook tells, and any call after it. */
static void
test_files_failed(void **state)
{
	struct home *h = *state;
	struct activity a;

	note(h, call_of("PreToolUse", "/w/a", "t1"));
	note(h, call_of("PostToolUseFailure", "/w/a", "t1"));
	home_again(h);
	assert_int_equal(activity_load(h->s, TALK, &a, &h->e), 1);
	assert_string_equal(a.files[0].status, "failed");
	assert_false(activity_file_unfinished(&a, &a.files[0]));
	activity_release(&a);
	note(h, call_of("PreToolUse", "/w/a", "t2"));
	has_files(h, "/w/a! ");
	/* of another agent: it may run beside it */
	note(h,
	    beat_of(
		"PreToolUse", TALK, ",\"agent_id\":\"ab\",\"tool_name\":\"Bash\",\"tool_use_id\":\"s1\""));
	note(h, beat_of("PreToolUse", TALK, ",\"tool_name\":\"Read\""));
	has_files(h, "/w/a! ");
	note(h, beat_of("PreToolUse", TALK, ",\"tool_name\":\"Read\",\"tool_use_id\":\"t3\""));
	has_files(h, "/w/a- ");
}

/* Of a sub-agent: its turn counts, not that of the agent. */
static void
test_files_of_agent(void **state)
{
	struct home *h = *state;

	note(h,
	    beat_of("PreToolUse", TALK,
		",\"agent_id\":\"ab\",\"agent_type\":\"Explore\",\"tool_name\":\"Write\",\"tool_use_id\":"
		"\"t\","
		"\"tool_input\":{\"file_path\":\"/w/a\"}"));
	note(h, beat_of("Stop", TALK, ""));
	note(h, beat_of("PreToolUse", TALK, ",\"tool_name\":\"Read\",\"tool_use_id\":\"t2\""));
	home_again(h);
	has_files(h, "/w/a! ");
	assert_string_equal(home_place(h, TALK ":ab"), TALK);
	note(h, beat_of("SubagentStop", TALK, ",\"agent_id\":\"ab\""));
	has_files(h, "/w/a- ");
	assert_string_equal(home_place(h, TALK ":ab"), "ended");
	assert_string_equal(home_place(h, TALK), "-");
}

/* Whatever order beats come in, and however often. */
static void
test_any_order(void **state)
{
	struct home *h = *state;
	struct hook_event b[] = { call_of("PreToolUse", "/w/a", "t1"), call_of("PreToolUse", "/w/a", "t2"),
		call_of("PostToolUse", "/w/a", "t1"), call_of("PostToolUse", "/w/a", "t2"),
		beat_of("UserPromptSubmit", TALK, ""), call_of("PreToolUse", "/w/a", "t3") };
	enum { N = sizeof b / sizeof b[0] };
	unsigned seed = 7;

	for (int round = 0; round < 300; round++) {
		const struct hook_event *p[2 * N];
		struct activity a = { .n_files = 0 };

		for (size_t i = 0; i < 2 * N; i++)
			p[i] = &b[i % N];
		for (size_t i = 2 * N - 1; i > 0; i--) {
			const struct hook_event *swap = p[i];
			size_t k = (seed = seed * 1103515245u + 12345u) / 65536 % (i + 1);

			p[i] = p[k];
			p[k] = swap;
		}
		for (size_t i = 0; i < 2 * N; i++)
			activity_apply(&a, p[i]);
		assert_int_equal(a.n_files, 1);
		assert_true(activity_file_unfinished(&a, &a.files[0]));
		assert_string_equal(a.files[0].call, "t3");
		assert_string_equal(a.event, "PreToolUse");
		assert_int_equal(a.at.wall_ms, clock_at);
		assert_int_equal(a.turned, clock_at - 1000);
		activity_release(&a);
	}
	(void)h;
	for (size_t i = 0; i < N; i++)
		hook_event_release(&b[i]);
}

/* What is under way is the last to make room. */
static void
test_bounds(void **state)
{
	struct activity a = { .n_files = 0 };
	struct hook_event first = beat_of("PreToolUse", TALK,
	    ",\"agent_id\":\"z\",\"tool_name\":\"Write\",\"tool_use_id\":\"t\","
	    "\"tool_input\":{\"file_path\":\"/w/first\"}");

	(void)state;
	activity_apply(&a, &first);
	for (int i = 0; i < 3 * ACTIVITY_FILES; i++) {
		char *path = xasprintf("/w/%d", i), *more = xasprintf(",\"agent_id\":\"a%d\"", i);
		struct hook_event begin = call_of("PreToolUse", path, path),
				  end = call_of("PostToolUse", path, path), sub = beat_of("Any", TALK, more);

		activity_apply(&a, &begin);
		activity_apply(&a, &end);
		activity_apply(&a, &sub);
		hook_event_release(&begin);
		hook_event_release(&end);
		hook_event_release(&sub);
		free(path);
		free(more);
	}
	assert_int_equal(a.n_files, ACTIVITY_FILES);
	assert_int_equal(a.n_agents, ACTIVITY_AGENTS);
	assert_string_equal(a.files[0].path, "/w/first");
	assert_true(activity_file_unfinished(&a, &a.files[0]));
	activity_release(&a);
	hook_event_release(&first);
}

/* --- sessions --- */

static void
test_session(void **state)
{
	struct home *h = *state;
	struct hook_event b = beat_of("SessionStart", TALK, ",\"source\":\"startup\",\"model\":\"m\"");
	struct session x;

	with_process(&b, getpid());
	b.session = xstrdup("gt-a");
	b.socket = xstrdup("/tmp/s");
	b.start_command = xstrdup("claude");
	note(h, b);
	assert_int_equal(session_load(h->s, TALK, &x, &h->e), 1);
	assert_int_equal(x.state, SESSION_ACTIVE);
	assert_int_equal(x.pid, getpid());
	assert_string_equal(x.cursor_session_id, TALK);
	assert_string_equal(x.workspace_path, "/w");
	assert_string_equal(x.session, "gt-a");
	assert_string_equal(x.start_command, "claude");
	session_release(&x);
	/* /clear: another conversation of the same process is the same agent */
	note(h, beat_of("SessionEnd", TALK, ",\"reason\":\"clear\""));
	b = beat_of("SessionStart", OTHER, ",\"source\":\"clear\"");
	with_process(&b, getpid());
	note(h, b);
	assert_int_equal(session_load(h->s, TALK, &x, &h->e), 1);
	assert_string_equal(x.cursor_session_id, OTHER);
	assert_string_equal(x.session, "gt-a");
	session_release(&x);
	assert_string_equal(home_state(h, OTHER), "none");
	/* a person's /exit */
	note(h, beat_of("SessionEnd", OTHER, ",\"reason\":\"prompt_input_exit\""));
	assert_string_equal(home_state(h, TALK), "ENDED");
	assert_string_equal(home_place(h, TALK), "ended");
}

/* Brought back in its tmux session with another conversation: the same agent, whose sub-agents are gone. */
static void
test_session_again(void **state)
{
	struct home *h = *state;
	struct hook_event b = beat_of("SessionStart", TALK, ",\"source\":\"startup\"");
	struct session x;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	b.session = xstrdup("gt-a");
	with_process(&b, pid);
	b.pid_start = b.pid_start > 0 ? b.pid_start : 1;
	waitpid(pid, NULL, 0);
	note(h, b);
	note(h, beat_of("PreToolUse", TALK, ",\"agent_id\":\"ab\",\"tool_name\":\"Read\""));
	assert_string_equal(home_state(h, TALK ":ab"), "ACTIVE");
	b = beat_of("SessionStart", OTHER, ",\"source\":\"startup\"");
	b.session = xstrdup("gt-a");
	with_process(&b, getpid());
	note(h, b);
	assert_string_equal(home_state(h, OTHER), "none");
	assert_int_equal(session_load(h->s, TALK, &x, &h->e), 1);
	assert_string_equal(x.cursor_session_id, OTHER);
	assert_int_equal(x.pid, getpid());
	session_release(&x);
	assert_string_equal(home_state(h, TALK ":ab"), "ENDED");
	/* the living one is not taken for dead, whoever says to be in its place */
	b = beat_of("SessionStart", "third", ",\"source\":\"startup\"");
	b.session = xstrdup("gt-a");
	with_process(&b, getppid());
	note(h, b);
	assert_int_equal(session_load(h->s, "third", &x, &h->e), 1);
	assert_int_equal(x.state, SESSION_ACTIVE);
	assert_null(x.session);
	session_release(&x);
}

static struct hook_event
beat_at(const char *event, int64_t boot_ms)
{
	struct hook_event b = beat_of(event, TALK, ",\"tool_name\":\"Read\"");

	b.at.boot_ms = boot_ms;
	with_process(&b, getpid());
	return b;
}

static int64_t
seen(struct home *h)
{
	struct session x;
	int64_t at;

	assert_int_equal(session_load(h->s, TALK, &x, &h->e), 1);
	at = x.seen_boot_ms;
	session_release(&x);
	return at;
}

/* For other containers, where nobody can look at its process. */
static void
test_sign_of_life(void **state)
{
	struct home *h = *state;
	int64_t began = 100 * PROC_RENEW_MS;
	struct hook_event b;

	note(h, beat_at("SessionStart", began));
	assert_int_equal(seen(h), began);
	note(h, beat_at("PreToolUse", began + PROC_RENEW_MS - 1));
	assert_int_equal(seen(h), began);
	note(h, beat_at("PostToolUse", began + PROC_RENEW_MS));
	assert_int_equal(seen(h), began + PROC_RENEW_MS);
	/* another process tells nothing of this one */
	b = beat_at("PreToolUse", began + 2 * PROC_RENEW_MS);
	b.at.pid_ns++;
	note(h, b);
	assert_int_equal(seen(h), began + PROC_RENEW_MS);
}

/* A process in a pid namespace of its own, and that namespace; 0: none may be made here. */
static pid_t
contain(uint64_t *pid_ns)
{
	char path[64];
	struct stat st;
	int told[2];
	pid_t pid = 0, child;

	assert_int_equal(pipe(told), 0);
	if ((child = fork()) == 0) {
		pid = unshare(CLONE_NEWPID) == 0 ? fork() : 0;
		if (pid == 0 && getpid() == 1)
			pause();
		_exit(write(told[1], &pid, sizeof pid) == sizeof pid ? 0 : 1);
	}
	close(told[1]);
	assert_int_equal(read(told[0], &pid, sizeof pid), sizeof pid);
	close(told[0]);
	waitpid(child, NULL, 0);
	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	if (pid > 0 && stat(path, &st) == 0)
		*pid_ns = (uint64_t)st.st_ino;
	return pid;
}

static int
count_place(const struct record *r, void *arg, struct err *e)
{
	(void)r;
	(void)e;
	++*(size_t *)arg;
	return 0;
}

/* In two containers a tmux server may have the same pid, and its panes and sessions the same names. */
static void
test_other_container(void **state)
{
	struct home *h = *state;
	struct session x;
	struct hook_event b;
	uint64_t pid_ns = 0;
	pid_t pid = contain(&pid_ns);
	size_t places = 0;

	if (pid <= 0)
		skip();
	for (int i = 0; i < 2; i++) {
		b = beat_of("SessionStart", i == 0 ? TALK : OTHER, "");
		b.pane = xstrdup("%5");
		b.server = xstrdup("77");
		b.session = xstrdup("gt-a");
		with_process(&b, i == 0 ? pid : getpid());
		if (i == 0) {
			b.at.pid_ns = pid_ns;
			b.pid = 1;
		}
		note(h, b);
	}
	kill(pid, SIGKILL);
	assert_int_equal(store_each(h->s, "place:", NULL, count_place, &places, &h->e), 0);
	assert_int_equal(places, 2);
	assert_string_equal(home_state(h, TALK), "ACTIVE");
	assert_int_equal(session_load(h->s, OTHER, &x, &h->e), 1);
	assert_int_equal(x.state, SESSION_ACTIVE);
	assert_string_equal(x.session, "gt-a");
	session_release(&x);
}

/*
 * One of several panes of a tmux session: the same agent again when it is started there again,
 * whatever starts beside it or below it.
 */
static void
test_session_in_pane(void **state)
{
	static const struct {
		const char *talk, *pane, *server;
	} starts[] = { { TALK, "%5", "77" }, { "beside", "%6", "77" }, { "later", "%5", "78" } };
	struct home *h = *state;
	struct session x;
	struct hook_event b;

	for (size_t i = 0; i < 3; i++) {
		b = beat_of("SessionStart", starts[i].talk, "");
		b.pane = xstrdup(starts[i].pane);
		b.server = xstrdup(starts[i].server);
		note(h, b);
		assert_string_equal(home_state(h, starts[i].talk), "ACTIVE");
	}
	b = beat_of("SessionStart", OTHER, "");
	b.pane = xstrdup("%5");
	b.server = xstrdup("77");
	with_process(&b, getpid());
	note(h, b);
	assert_string_equal(home_state(h, OTHER), "none");
	assert_int_equal(session_load(h->s, TALK, &x, &h->e), 1);
	assert_string_equal(x.cursor_session_id, OTHER);
	session_release(&x);
	/* a command of it starts an agent: that one is another, and has no place */
	b = beat_of("SessionStart", "inner", "");
	b.pane = xstrdup("%5");
	b.server = xstrdup("77");
	with_process(&b, getppid());
	note(h, b);
	assert_string_equal(home_state(h, "inner"), "ACTIVE");
	b = beat_of("SessionStart", "fourth", ",\"source\":\"clear\"");
	b.pane = xstrdup("%5");
	b.server = xstrdup("77");
	with_process(&b, getpid());
	note(h, b);
	assert_int_equal(session_load(h->s, TALK, &x, &h->e), 1);
	assert_string_equal(x.cursor_session_id, "fourth");
	session_release(&x);
}

/* On another host, or before a reboot that startup has not settled: nobody knows, so it is not taken over. */
static void
test_session_elsewhere(void **state)
{
	struct home *h = *state;
	struct hook_event b = beat_of("SessionStart", TALK, "");
	struct session x;

	b.session = xstrdup("gt-a");
	with_process(&b, getpid());
	b.boot_id[0] = b.boot_id[0] == 'f' ? 'e' : 'f';
	note(h, b);
	b = beat_of("SessionStart", OTHER, "");
	b.session = xstrdup("gt-a");
	with_process(&b, getpid());
	note(h, b);
	assert_string_equal(home_state(h, OTHER), "ACTIVE");
	assert_int_equal(session_load(h->s, TALK, &x, &h->e), 1);
	assert_string_equal(x.cursor_session_id, TALK);
	session_release(&x);
}

/* Ended by its person, and taken up again by him: a new session, under an id that is free. */
static void
test_session_ended(void **state)
{
	struct home *h = *state;
	struct activity a;

	note(h, beat_of("SessionStart", TALK, ",\"source\":\"startup\""));
	note(h, beat_of("SessionEnd", TALK, ",\"reason\":\"logout\""));
	assert_string_equal(home_state(h, TALK), "ENDED");
	note(h, beat_of("SessionStart", TALK, ",\"source\":\"resume\""));
	assert_int_equal(activity_load(h->s, TALK, &a, &h->e), 1);
	assert_int_equal(strncmp(a.agent_uuid, TALK ".", strlen(TALK) + 1), 0);
	assert_string_equal(home_state(h, a.agent_uuid), "ACTIVE");
	assert_int_equal(a.ended, 0);
	activity_release(&a);
}

/* --- the spool --- */

static void
test_spool(void **state)
{
	struct home *h = *state;
	char *path = io_join(h->dir, HOOK_SPOOL);
	struct hook_event b[] = { beat_of("SessionStart", TALK, ",\"source\":\"startup\""),
		call_of("PreToolUse", "/w/a", "t1"), beat_of("SessionStart", OTHER, ""),
		call_of("PreToolUse", "/w/b", "t2"), call_of("PostToolUse", "/w/a", "t1") };
	struct stat st;
	size_t n;
	FILE *f;

	assert_int_equal(hook_spool_replay(h->s, path, &n, &h->e), 0);
	assert_int_equal(n, 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(hook_spool_append(path, &b[i], 0, &h->e), 0);
		/* a writer that was killed in the middle of a line, and a disk that lost some of it */
		if (i == 2) {
			f = fopen(path, "ae");
			assert_non_null(f);
			fwrite("{\"event\":\"Stop\",\"conver\0\0", 1, 25, f);
			fclose(f);
		}
	}
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(hook_spool_replay(h->s, path, &n, &h->e), 0);
	assert_int_equal(n, 5);
	has_files(h, "/w/a+ /w/b! ");
	assert_string_equal(home_state(h, TALK), "ACTIVE");
	assert_string_equal(home_state(h, OTHER), "ACTIVE");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	/* told again: it is the same */
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(hook_spool_append(path, &b[i], 0, &h->e), 0);
		hook_event_release(&b[i]);
	}
	assert_int_equal(hook_spool_replay(h->s, path, &n, &h->e), 0);
	has_files(h, "/w/a+ /w/b! ");
	free(path);
}

static void
test_spool_trouble(void **state)
{
	struct home *h = *state;
	char *path = io_join(h->dir, HOOK_SPOOL);
	struct hook_event b = beat_of("Stop", TALK, "");
	struct stat st;
	size_t n;
	int fd;

	assert_int_equal(hook_spool_append(path, &b, 0, &h->e), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(hook_spool_append(path, &b, 5, &h->e), -1);
	assert_string_equal(h->e.name, "locked");
	assert_int_equal(hook_spool_replay(h->s, path, &n, &h->e), 0);
	assert_int_equal(n, 0);
	/* full */
	assert_int_equal(ftruncate(fd, (off_t)HOOK_SPOOL_MAX), 0);
	close(fd);
	assert_int_equal(hook_spool_append(path, &b, 0, &h->e), -1);
	assert_string_equal(h->e.name, "full");
	/* somebody else could have written it */
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(hook_spool_append(path, &b, 0, &h->e), -1);
	assert_string_equal(h->e.name, "not-private");
	assert_int_equal(hook_spool_replay(h->s, path, &n, &h->e), -1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, HOOK_SPOOL_MAX);
	hook_event_release(&b);
	free(path);
}

/* A store that fails loses nothing. */
static void
test_spool_kept(void **state)
{
	struct home *h = *state;
	char *path = io_join(h->dir, HOOK_SPOOL);
	struct hook_event b = beat_of("SessionStart", TALK, "");
	struct store *look = store_open_readonly("sqlite", h->dir, &h->e);
	struct stat before, after;
	size_t n;

	assert_non_null(look);
	assert_int_equal(hook_spool_append(path, &b, 0, &h->e), 0);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(hook_spool_replay(look, path, &n, &h->e), -1);
	store_close(look);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(hook_spool_replay(h->s, path, &n, &h->e), 0);
	assert_string_equal(home_state(h, TALK), "ACTIVE");
	hook_event_release(&b);
	free(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, home_setup, home_teardown)

static size_t
tidied(struct home *h, int64_t before)
{
	size_t n = 99;

	assert_int_equal(activity_expire(h->s, before, &n, &h->e), 0);
	return n;
}

/* What is old goes once its session has ended; a place of this boot stays, whatever its age. */
static void
test_tidy(void **state)
{
	static const char elsewhere[] = "place:another-boot:7:%1";
	struct home *h = *state;
	struct activity a;
	struct timestamp now;
	struct record r;
	char *here;

	timestamp_now(&now);
	here = xasprintf("place:%s:7:%%1", now.boot_id);
	for (int i = 0; i < 2; i++) {
		struct change c = { CHANGE_PUT, i == 0 ? elsewhere : here, STORE_ANY, "place",
		    "{\"schema_version\":1,\"agent_uuid\":\"x\",\"at\":1000}" };

		assert_int_equal(store_commit(h->s, &c, 1, &h->e), COMMIT_DONE);
	}
	note(h, beat_of("SessionStart", TALK, ""));
	note(h, beat_of("SessionStart", OTHER, ""));
	note(h, beat_of("SessionEnd", OTHER, ",\"reason\":\"prompt_input_exit\""));
	assert_int_equal(tidied(h, 1000), 0);
	assert_int_equal(tidied(h, clock_at), 1);
	assert_int_equal(store_get(h->s, elsewhere, &r, &h->e), 0);
	assert_int_equal(store_get(h->s, here, &r, &h->e), 1);
	store_record_release(&r);
	assert_int_equal(activity_load(h->s, OTHER, &a, &h->e), 1);
	activity_release(&a);
	assert_int_equal(tidied(h, clock_at + 1), 1);
	assert_int_equal(activity_load(h->s, OTHER, &a, &h->e), 0);
	assert_int_equal(activity_load(h->s, TALK, &a, &h->e), 1);
	activity_release(&a);
	assert_int_equal(tidied(h, clock_at + 1), 0);
	free(here);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		TEST(test_tidy),
		cmocka_unit_test(test_read_other),
		TEST(test_files),
		TEST(test_files_failed),
		TEST(test_files_of_agent),
		TEST(test_any_order),
		cmocka_unit_test(test_bounds),
		TEST(test_session),
		TEST(test_session_again),
		TEST(test_sign_of_life),
		TEST(test_other_container),
		TEST(test_session_in_pane),
		TEST(test_session_elsewhere),
		TEST(test_session_ended),
		TEST(test_spool),
		TEST(test_spool_trouble),
		TEST(test_spool_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
