#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "fake_agent.h"

enum probe_state { PROBE_IDLE, PROBE_BUSY, STATE_PERMISSION, STATE_TRUST, STATE_VIEW };

struct agent {
	struct options o;
	struct record_keeper keeper;
	struct screen screen;
	struct input input;
	enum probe_state state;
	int64_t answer_at;		/* PROBE_BUSY: when; -1: never */
	bool pasted;			/* a paste came and no Enter since */
	int64_t interrupt_at;		/* the last Ctrl-C into an empty box */
	struct buf partial, queued, tasks, dialog;
	char *tool, *tool_input;	/* the call that a permission dialog is about, or that runs */
	char tool_id[40];
};

static volatile sig_atomic_t got_signal, got_resize;

static void
on_signal(int sig)
{
	if (sig == SIGWINCH)
		got_resize = 1;
	else
		got_signal = sig;
}

static int
open_log(const char *name, int flags)
{
	const char *dir = getenv("FAKE_AGENT_LOG");
	char *path;
	int fd;

	if (dir == NULL)
		return -1;
	mkdir(dir, 0700);
	path = io_join(dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	free(path);
	return fd;
}

void
event(const char *fmt, ...)
{
	struct buf line = BUF_INIT;
	va_list ap;
	int fd = open_log("events", O_APPEND);

	va_start(ap, fmt);
	buf_vfmt(&line, fmt, ap);
	va_end(ap);
	buf_chr(&line, '\n');
	if (fd >= 0 && io_write_all(fd, line.data, line.len) != 0)
		die("the log of events cannot be written");
	if (fd >= 0)
		close(fd);
	buf_release(&line);
}

/* Whole or not at all: an agent may be killed at any moment. */
void
log_message(const char *p, size_t n)
{
	const char *dir = getenv("FAKE_AGENT_LOG");
	char taken[32], *from, *to;
	int fd, r = -1;

	if (dir == NULL)
		return;
	snprintf(taken, sizeof(taken), "taken.%d", (int)getpid());
	fd = open_log(taken, O_TRUNC);
	if (fd < 0 || io_write_all(fd, p, n) != 0)
		die("a message cannot be logged");
	close(fd);
	from = xasprintf("%s/%s", dir, taken);
	errno = EEXIST;
	for (int i = 1; r != 0 && errno == EEXIST && i < 100000; i++) {
		to = xasprintf("%s/message.%03d", dir, i);
		r = link(from, to);
		free(to);
	}
	if (r != 0)
		die("a message cannot be logged");
	unlink(from);
	free(from);
}

static void
redraw(struct agent *a)
{
	struct live l = { .partial = &a->partial,
		.queued = &a->queued,
		.tasks = &a->tasks,
		.draft = &a->input.shown,
		.dialog = &a->dialog,
		.busy = a->state == PROBE_BUSY,
		.skip_permissions = a->o.skip_permissions };

	screen_live(&a->screen, &l);
}

static void
set_state(struct agent *a, enum probe_state state)
{
	a->state = state;
	if (state == STATE_TRUST)
		return;		/* no session file and no title before the folder is trusted */
	if (state == STATE_PERMISSION)
		keeper_status(&a->keeper, "waiting", "permission prompt");
	else
		keeper_status(&a->keeper, state == PROBE_BUSY ? "busy" : "idle", NULL);
	screen_title(&a->screen, state == PROBE_BUSY ? "⠂ Claude Code" : "✳ Claude Code");
}

static void
say(struct agent *a, const char *text)
{
	struct buf rows = BUF_INIT;

	keeper_text(&a->keeper, text);
	item_text(&rows, a->screen.cols, text);
	screen_history(&a->screen, &rows);
	buf_release(&rows);
}

static void
turn_end(struct agent *a)
{
	struct buf rows = BUF_INIT;

	item_grey(&rows, "✻ Baked for 1s");
	screen_history(&a->screen, &rows);
	buf_release(&rows);
}

static void
hear(struct agent *a, const char *p, size_t n, bool typed)
{
	struct buf rows = BUF_INIT;

	keeper_user(&a->keeper, p, n, typed);
	item_user(&rows, a->screen.cols, p, n);
	screen_history(&a->screen, &rows);
	buf_release(&rows);
}

/* A user message arrives, from standard input, the command line or the box. */
static void
take_message(struct agent *a, const char *p, size_t n, bool typed)
{
	log_message(p, n);
	if (memmem(p, n, "@/", 2) != NULL)
		event("file attached");
	if (a->state == PROBE_BUSY) {
		keeper_queued(&a->keeper, p, n);
		if (a->queued.len > 0)
			buf_chr(&a->queued, '\n');
		buf_add(&a->queued, p, n);
		event("message queued %zu", n);
		return;
	}
	event("message %zu", n);
	hear(a, p, n, typed);
	a->answer_at = a->o.no_answer ? -1 : clock_mono_ms() + a->o.slow_ms;
	set_state(a, PROBE_BUSY);
}

/* ---- scenarios: what was said and done before a test begins ---- */

static void
finish_tool(struct agent *a, const char *text, bool failed)
{
	struct buf rows = BUF_INIT;

	if (a->tool == NULL)
		return;
	keeper_result(&a->keeper, a->tool_id, text, failed);
	item_tool(&rows, a->screen.cols, a->tool, a->tool_input, failed ? COLOUR_FAILED : COLOUR_DONE);
	item_result(&rows, a->screen.cols, text, failed);
	screen_history(&a->screen, &rows);
	buf_release(&rows);
	free(a->tool);
	free(a->tool_input);
	a->tool = a->tool_input = NULL;
}

static void
begin_tool(struct agent *a, const char *text)
{
	size_t n = strcspn(text, " ");

	finish_tool(a, "", false);
	a->tool = xstrndup(text, n);
	a->tool_input = xstrdup(text[n] == ' ' ? text + n + 1 : "");
	keeper_tool(&a->keeper, a->tool, a->tool_input, a->tool_id);
}

/* The shell that the real one starts for a command: its snapshot first, then the command by eval. */
static char *
tool_text(const char *command)
{
	struct buf b = BUF_INIT;

	buf_fmt(&b, ": source %s/.claude/shell-snapshots/snapshot-sh-1.sh 2>/dev/null || true && eval '",
	    getenv("HOME"));
	for (; *command != '\0'; command++)
		if (*command == '\'')
			buf_str(&b, "'\"'\"'");
		else
			buf_chr(&b, *command);
	buf_str(&b, "' < /dev/null && pwd -P >| /dev/null");
	return buf_detach(&b);
}

/*
 * The command of the running tool in a session of its own, printing to a file: it outlives kill
 * -9 of the agent, as the real one's does.
 */
static void
run_tool(struct agent *a)
{
	char *text = tool_text(a->tool_input);
	pid_t pid = fork();
	int out;

	if (pid == 0) {
		setsid();
		setenv("CLAUDECODE", "1", 1);
		setenv("CLAUDE_CODE_SESSION_ID", a->keeper.session, 1);
		out = open_log("tool.output", O_APPEND);
		if (dup2(out, 1) == 1 && dup2(out, 2) == 2 && close_range(3, ~0U, 0) == 0)
			execl("/bin/sh", "sh", "-c", text, (char *)NULL);
		_exit(127);
	}
	event("tool process %d", (int)pid);
	free(text);
}

static void
ask_permission(struct agent *a)
{
	if (a->tool == NULL)
		begin_tool(a, "Bash rm -rf ./build && make all");
	buf_reset(&a->partial);
	item_tool(&a->partial, a->screen.cols, a->tool, a->tool_input, COLOUR_RUNNING);
	buf_str(&a->partial, "\033[38;5;246m  ⎿ \302\240Waiting…\033[0m\n");
	item_permission(&a->dialog, a->screen.cols, a->tool_input);
	set_state(a, STATE_PERMISSION);
}

/*
 * "hang" after a tool: it runs for ever, having printed `text` so far; otherwise `text` is an
 * answer cut in mid-stream.
 */
static void
hang(struct agent *a, const char *text)
{
	buf_reset(&a->partial);
	if (a->tool != NULL) {
		item_tool(&a->partial, a->screen.cols, a->tool, a->tool_input, COLOUR_RUNNING);
		item_running(&a->partial, a->screen.cols, text, 8);
	} else
		item_text(&a->partial, a->screen.cols, text);
	a->answer_at = -1;
	set_state(a, PROBE_BUSY);
}

static void
add_task(struct agent *a, const char *text)
{
	if (str_starts(text, "done "))
		buf_fmt(&a->tasks, "  ✔ %s\n", text + 5);
	else if (str_starts(text, "doing "))
		buf_fmt(&a->tasks, "  ◼ %s\n", text + 6);
	else
		buf_fmt(&a->tasks, "  ◻ %s\n", str_starts(text, "open ") ? text + 5 : text);
}

/* In a scenario \n is a newline, \t a tab, \e an escape, \\ a backslash. */
static char *
unescape(const char *p)
{
	struct buf out = BUF_INIT;

	for (; *p != '\0'; p++) {
		if (*p != '\\' || p[1] == '\0') {
			buf_chr(&out, *p);
			continue;
		}
		p++;
		buf_chr(&out, *p == 'n' ? '\n' : *p == 't' ? '\t' : *p == 'e' ? '\033' : *p);
	}
	return buf_detach(&out);
}

static void
act(struct agent *a, const char *verb, const char *text)
{
	struct buf rows = BUF_INIT;

	if (strcmp(verb, "result") == 0 || strcmp(verb, "fail") == 0)
		finish_tool(a, text, *verb == 'f');
	else if (strcmp(verb, "tool") == 0)
		begin_tool(a, text);
	else if (strcmp(verb, "run") == 0)
		run_tool(a);
	else if (strcmp(verb, "permit") == 0)
		ask_permission(a);
	else if (strcmp(verb, "hang") == 0)
		hang(a, text);
	else if (strcmp(verb, "task") == 0)
		add_task(a, text);
	else if (strcmp(verb, "draft") == 0)
		input_type(&a->input, text);
	else if (strcmp(verb, "user") == 0)
		hear(a, text, strlen(text), true);
	else if (strcmp(verb, "assistant") == 0)
		say(a, text);
	else if (strcmp(verb, "end") == 0)
		turn_end(a);
	else if (strcmp(verb, "grey") == 0) {
		item_grey(&rows, text);
		screen_history(&a->screen, &rows);
	} else
		die("scenario: \"%s\" is no verb", verb);
	buf_release(&rows);
}

#define HOLD_LOOK_MS 50
#define SCENARIO_MAX ((size_t)16 << 20)

static void
play(struct agent *a, const char *path)
{
	struct buf text = BUF_INIT;
	char *line, *rest = NULL;

	if (io_read_file(path, SCENARIO_MAX, &text, NULL) != 0)
		die("scenario %s cannot be read", path);
	for (line = strtok_r(text.data, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		char *blank = strchr(line, ' '), *value;

		if (*line == '#')
			continue;
		if (blank != NULL)
			*blank = '\0';
		value = unescape(blank != NULL ? blank + 1 : "");
		act(a, line, value);
		free(value);
	}
	buf_release(&text);
	event("scenario played");
}

/* ---- the keyboard ---- */

static void
leave(struct agent *a, int status)
{
	keeper_goodbye(&a->keeper);
	input_restore(&a->input);
	screen_leave(&a->screen, a->o.alt_screen, a->keeper.session);
	event("exit %d", status);
	exit(status);
}

static void
answer(struct agent *a)
{
	say(a, "I have read the message and continue with the work.");
	turn_end(a);
	event("answered");
	set_state(a, PROBE_IDLE);
	if (a->o.print)
		leave(a, 0);
}

static void
open_view(struct agent *a)
{
	if (io_read_file(a->o.view, 65536, &a->dialog, NULL) != 0)
		die("the view cannot be read");
	set_state(a, STATE_VIEW);
}

static void
begin_work(struct agent *a, const struct buf *piped)
{
	struct buf first = BUF_INIT;

	screen_banner(&a->screen, a->keeper.cwd);
	set_state(a, PROBE_IDLE);
	if (a->o.scenario != NULL)
		play(a, a->o.scenario);
	if (a->o.dialog != NULL && strcmp(a->o.dialog, "permission") == 0)
		ask_permission(a);
	if (a->o.view != NULL)
		open_view(a);
	if (a->o.draft != NULL)
		input_type(&a->input, a->o.draft);
	if (a->o.prompt != NULL)
		buf_str(&first, a->o.prompt);
	if (a->o.prompt != NULL && piped->len > 0)
		buf_chr(&first, '\n');
	buf_add(&first, piped->data, piped->len);
	if (a->o.prompt_file != NULL && io_read_file(a->o.prompt_file, 8 << 20, &first, NULL) != 0) {
		event("no prompt file");
		leave(a, 1);
	}
	if (first.len > 0)
		take_message(a, first.data, first.len, false);
	buf_release(&first);
	event("ready");
}

static void
close_dialog(struct agent *a, bool accepted, const struct buf *piped)
{
	bool trust = a->state == STATE_TRUST, call = a->state == STATE_PERMISSION;

	buf_reset(&a->dialog);
	buf_reset(&a->partial);
	event(accepted ? "DIALOG ACCEPTED" : "dialog refused");
	if (trust && !accepted)
		leave(a, 1);
	if (trust) {
		begin_work(a, piped);
		return;
	}
	if (call)
		finish_tool(
		    a, accepted ? "done" : "The user doesn't want to proceed with this tool use.", !accepted);
	set_state(a, PROBE_IDLE);
}

static void
submit(struct agent *a)
{
	const struct buf *draft = &a->input.text;

	if (a->o.swallow_enter && a->pasted) {
		a->pasted = false;
		event("enter swallowed");
		return;
	}
	a->pasted = false;
	if (draft->len == 0)
		return;
	if (strcmp(draft->data, "/exit") == 0)
		leave(a, 0);
	if (draft->data[0] == '!')
		event("SHELL COMMAND RUN");
	else if (draft->data[0] == '/')
		event("SLASH COMMAND RUN");
	else
		take_message(a, draft->data, draft->len, true);
	input_clear(&a->input);
}

static void
interrupt(struct agent *a)
{
	int64_t now = clock_mono_ms();

	if (a->input.text.len > 0)
		input_clear(&a->input);
	else if (now - a->interrupt_at < 1000)
		leave(a, 0);
	else
		a->interrupt_at = now;
}

static bool
in_dialog(const struct agent *a)
{
	return a->state == STATE_PERMISSION || a->state == STATE_TRUST || a->state == STATE_VIEW;
}

static void
on_key(struct agent *a, enum key key, const struct buf *piped)
{
	bool dialog = in_dialog(a);

	if (key == KEY_ENTER)
		event("enter");
	if (dialog && (key == KEY_ENTER || key == KEY_ESCAPE))
		close_dialog(a, key == KEY_ENTER, piped);
	else if (dialog)
		;	/* text and pastes were dropped */
	else if (key == KEY_ENTER)
		submit(a);
	else if (key == KEY_PASTED)
		a->pasted = true;
	else if (key == KEY_INTERRUPT)
		interrupt(a);
	else if (key == KEY_ESCAPE)
		input_clear(&a->input);
}

static void
serve(struct agent *a, const struct buf *piped)
{
	for (;;) {
		struct pollfd p = { .fd = a->input.fd, .events = POLLIN };
		int wait = -1;
		enum key key;

		redraw(a);
		p.fd = a->o.asleep ? -1 : a->input.fd;
		if (a->state == PROBE_BUSY && a->answer_at >= 0) {
			int64_t left = a->answer_at - clock_mono_ms();

			wait = left > 0 ? (int)left : 0;
		}
		if (poll(&p, 1, wait) > 0 && input_read(&a->input) != 0) {
			if (!a->o.outlives)
				leave(a, 129);
			a->o.asleep = true;
		}
		if (got_signal != 0)
			leave(a, 128 + got_signal);
		if (got_resize != 0) {
			got_resize = 0;
			a->o.asleep = false;
			screen_size(&a->screen);
		}
		while ((key = input_next(&a->input, in_dialog(a))) != KEY_NONE)
			on_key(a, key, piped);
		if (a->state == PROBE_BUSY && a->answer_at >= 0 && a->o.hold != NULL && access(a->o.hold, F_OK) == 0)
			a->answer_at = clock_mono_ms() + HOLD_LOOK_MS;
		if (a->state == PROBE_BUSY && a->answer_at >= 0 && clock_mono_ms() >= a->answer_at)
			answer(a);
	}
}

static int
open_keyboard(void)
{
	int fd = isatty(STDIN_FILENO) ? STDIN_FILENO : open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		fputs("error: no terminal\n", stderr);
		exit(1);
	}
	return fd;
}

static void
catch_signals(bool outlives)
{
	struct sigaction act = { .sa_handler = on_signal };

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGWINCH, &act, NULL);
	if (!outlives)
		sigaction(SIGHUP, &act, NULL);
	act.sa_handler = SIG_IGN;
	if (outlives)
		sigaction(SIGHUP, &act, NULL);
	sigaction(SIGCHLD, &act, NULL);
}

#define STDIN_MAX ((size_t)64 << 20)

int
main(int argc, char *argv[])
{
	struct agent a = { .partial = BUF_INIT, .queued = BUF_INIT, .tasks = BUF_INIT, .dialog = BUF_INIT };
	struct buf piped = BUF_INIT;
	char why[256];
	int tty;

	options_parse(&a.o, argc, argv);
	event("start %d", (int)getpid());
	if (a.o.die_status >= 0)
		exit(a.o.die_status);
	while (a.o.never_ready)
		pause();
	if (keeper_init(&a.keeper, &a.o, why) != 0) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	if (a.o.go_to != NULL && chdir(a.o.go_to) != 0)
		die("no such directory");
	catch_signals(a.o.outlives);
	if (!isatty(STDIN_FILENO) &&
	    io_read_all(STDIN_FILENO, "standard input", STDIN_MAX, &piped, NULL) != 0)
		die("standard input cannot be read");
	if (!isatty(STDIN_FILENO))
		event("stdin %zu", piped.len);
	if (a.o.eat_stdin)
		buf_reset(&piped);
	tty = open_keyboard();
	screen_init(&a.screen, tty, a.o.alt_screen);
	input_init(&a.input, tty, a.o.focus);
	if (a.o.dialog != NULL && strcmp(a.o.dialog, "trust") == 0) {
		item_trust(&a.dialog, a.screen.cols, a.keeper.cwd);
		set_state(&a, STATE_TRUST);
	} else
		begin_work(&a, &piped);
	serve(&a, &piped);
}
