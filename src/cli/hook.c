#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/spawn.h"
#include "config/config.h"
#include "gastown/gastown.h"
#include "process/proc.h"
#include "records/hooks/hooks.h"
#include "scrub/scrub.h"
#include "store/store.h"
#include "tmux/tmux.h"

/*
 * hook EVENT: what an agent's hook calls, before and after each of its tools. The agent waits for
 * it, so it is gone after GIVE_UP_MS, or START_MS when the agent begins, which is once and tells most;
 * whatever happens, it says nothing, and answers 0: Claude Code takes 2 for a veto, others read what is
 * printed. The store is asked by a child, which is killed
 * when it is not done after three fifths of that (a store bears that at any point); another child
 * puts the beat into the spool then, to the same end, and goes on with it when we have left.
 */
#define GIVE_UP_MS 50
#define START_MS 500
#define INPUT_MAX ((size_t)64 << 20)
#define ANCESTORS 8

static bool
is_start(const struct hook_adapter *row, const char *event)
{
	for (size_t i = 0; i < row->n_events; i++)
		if (strcmp(row->events[i].name, event) == 0)
			return strcmp(row->events[i].as, "SessionStart") == 0;
	return false;
}

static int
give_up_ms(bool start)
{
	return fault_wait_ms("GT_HOOK_MS", start ? START_MS : GIVE_UP_MS);
}

static void
leave(int sig)
{
	(void)sig;
	_exit(GT_OK);
}

static void
arm_alarm(int ms)
{
	struct sigaction act = { .sa_handler = leave };
	struct itimerval timer = { .it_value = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 } };

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* --- what the provider does not tell --- */

static const struct profile *
profile_of(const struct app *w, const struct proc *p)
{
	char names[PROC_NAMES][64];
	size_t n = proc_names(p, names);
	const struct profile *found = NULL;

	for (size_t k = 0; k < n && found == NULL; k++)
		found = profile_by_process(w->profiles, names[k]);
	return found;
}

/*
 * The agent's process stands above us, behind the shell that its hooks are run by; of a script
 * that runs itself again in a child, the upper one, which is the pane's. False: what runs the
 * hook is a server behind the windows, and its pane is that of who started it.
 */
static bool
find_process(const struct app *w, const struct hook_adapter *row, struct hook_event *b)
{
	const struct profile *found = NULL;
	pid_t pid = getppid();
	struct proc p;

	for (int i = 0; i < ANCESTORS && pid > 1 && proc_read(pid, &p) == 0; i++) {
		const struct profile *this = profile_of(w, &p);

		if (found != NULL && this != found)
			break;
		if (this != NULL) {
			if (row->server && p.foreground <= 0)
				return false;
			found = this;
			memcpy(b->boot_id, b->at.boot_id, sizeof b->boot_id);
			b->pid = pid;
			b->pid_start = (int64_t)p.start;
		}
		pid = p.ppid;
	}
	return true;
}

/* Of its pane; p NULL: tmux did not tell, and the agent's own arguments have to. */
static void
set_command(struct app *w, const struct pane *p, struct hook_event *b)
{
	struct launch_redacted shape;
	struct launch launch = { .command = NULL }, own;
	struct scrub *s = app_scrub(w, NULL);
	struct buf block = BUF_INIT;

	if (s == NULL)
		return;
	if (p != NULL)
		launch_read(
		    &launch, p->start_command, p->default_shell, profile_list_has_program, w->profiles);
	/* a person's shell: the agent's own arguments tell */
	if ((launch.command == NULL || launch_is_shell(&launch)) && b->pid > 0 &&
	    launch_of_process(&own, (pid_t)b->pid, p != NULL ? p->default_shell : "",
		profile_list_has_program, w->profiles)) {
		launch_release(&launch);
		launch = own;
	}
	/* our environment is the agent's */
	for (char **v = environ; *v != NULL; v++)
		buf_add(&block, *v, strlen(*v) + 1);
	if (launch.command != NULL) {
		scrub_learn_environ(s, block.data, block.len);
		launch_redact(&shape, &launch, s, block.data, block.len);
		if (clean_len(shape.text) <= HOOK_TEXT_MAX)
			b->start_command = xstrdup(clean_bytes(shape.text));
		launch_redacted_release(&shape);
	}
	buf_wipe(&block);
	launch_release(&launch);
	scrub_free(s);
}

/* $TMUX is "path,server pid,session". */
static void
find_pane(struct app *w, struct hook_event *b)
{
	const char *server = getenv("TMUX"), *id = getenv("TMUX_PANE");
	struct panes all = { .n = 0 };
	const struct pane *p = NULL;
	struct tmux t;

	if (server == NULL || *server == '\0' || id == NULL || *id == '\0' ||
	    strlen(server) > HOOK_TEXT_MAX || strlen(id) > HOOK_TEXT_MAX)
		return;
	b->socket = xstrndup(server, strcspn(server, ","));
	b->pane = xstrdup(id);
	if (server[strlen(b->socket)] == ',')
		b->server =
		    xstrndup(server + strlen(b->socket) + 1, strcspn(server + strlen(b->socket) + 1, ","));
	if (b->kind != HOOK_START)
		return;
	tmux_init(&t, b->socket);
	t.timeout_ms = give_up_ms(true) / 4;
	/* a busy tmux is asked again by the next pass (snapshot/pass/pass.h) */
	if (pane_list_bare(&t, &all, NULL) == 0 && (p = pane_list_only(&all, id)) != NULL)
		b->session = xstrdup(p->session);
	set_command(w, p, b);
	pane_list_release(&all);
	tmux_release(&t);
}

/* --- telling it --- */

/* The agent waits for the end of our output, too: what outlives us has none. */
static pid_t
begin_child(void)
{
	pid_t pid = fork();
	int null;

	if (pid != 0)
		return pid;
	signal(SIGALRM, SIG_DFL);
	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	return 0;
}

static bool
apply_event(const struct app *w, const struct hook_event *b)
{
	struct store *s = store_open_brief(config_text(w->config, "state"), w->state_dir, NULL);
	bool told;

	if (s == NULL)
		return false;
	told = activity_apply_events(s, &b, 1, NULL) == 0;
	store_close(s);
	return told;
}

/* Waits for it until then, and kills it. Did it do its work? */
static bool
is_done(pid_t pid, int64_t until)
{
	int status = -1;

	if (!spawn_wait(pid, until, &status)) {
		kill(pid, SIGKILL);
		/*
		 * one that hangs in the disk does not even end by that: the alarm ends us then,
		 * and the spool would hang there, too
		 */
		waitpid(pid, &status, 0);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
send_event(const struct app *w, const struct hook_event *b, int64_t until)
{
	char *spool = io_join(w->state_dir, HOOK_SPOOL);
	pid_t pid = begin_child();
	int status;

	if (pid == 0)
		_exit(apply_event(w, b) ? 0 : 1);
	if (pid < 0 || !is_done(pid, until)) {
		pid = begin_child();
		if (pid == 0)
			_exit(hook_spool_append(spool, b, 1000, NULL) == 0 ? 0 : 1);
		if (pid > 0)
			waitpid(pid, &status, 0);
	}
	free(spool);
}

int
cmd_hook(const struct cli *cli, struct err *e)
{
	const struct hook_adapter *row = hook_adapter_find(cli->agent);
	int64_t until;
	struct buf input = BUF_INIT;
	char *made = NULL;
	struct app w;
	struct hook_event b;

	if (cli->n_args != 1)
		return err_set(e, GT_USAGE, "usage", "hook needs the name of one event");
	if (row == NULL)
		return err_set(e, GT_USAGE, "agent", "hooks of %.100s are not supported", cli->agent);
	until = clock_mono_ms() + give_up_ms(is_start(row, cli->args[0])) * 3 / 5;
	arm_alarm(give_up_ms(is_start(row, cli->args[0])));
	if (cli_open_config(cli, &w, e) != 0 || cli_open_profiles(&w, e) != 0)
		return -1;
	if (!isatty(STDIN_FILENO) && config_flag(w.config, "enabled") &&
	    io_read_all(STDIN_FILENO, "standard input", INPUT_MAX, &input, e) == 0 &&
	    hook_event_parse(&b, row, cli->args[0], input.data, input.len, e) == 0) {
		if (find_process(&w, row, &b))
			find_pane(&w, &b);
		if ((made = town_state_make(w.town, e)) != NULL)
			send_event(&w, &b, until);
		hook_event_release(&b);
	}
	free(made);
	buf_wipe(&input);
	cli_close_app(&w);
	return GT_OK;
}
