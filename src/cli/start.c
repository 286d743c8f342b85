#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/spawn.h"
#include "cli/cli.h"
#include "process/terminal.h"
#include "recover/shell/start.h"

#define PROMPT_FD 3
#define ID_LENGTH 20

static bool
is_start_line(int argc, char **argv)
{
	return argc == 3 && strcmp(argv[1], "start") == 0 && strncmp(argv[2], "gtr-", 4) == 0 &&
	    strlen(argv[2]) == ID_LENGTH && strspn(argv[2] + 4, "0123456789abcdef") == ID_LENGTH - 4;
}

/* STATE/bin/gt-recover is how the line names us; otherwise the state directory of this user. */
static char *
find_state(const char *program)
{
	static const char tail[] = "/bin/gt-recover";
	size_t n = strlen(program), len = strlen(tail);
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *state = n > len && *program == '/' && strcmp(program + n - len, tail) == 0
	    ? xstrndup(program, n - len)
	    : NULL;
	char *starts = state != NULL ? io_join(state, "starts") : NULL;
	bool there = starts != NULL && access(starts, F_OK) == 0;

	free(starts);
	if (there)
		return state;
	free(state);
	if (xdg != NULL && *xdg == '/')
		return io_join(xdg, "gt-recover");
	return home != NULL ? io_join(home, ".local/state/gt-recover") : NULL;
}

/* The prompt as descriptor 3, and nowhere else any more. */
static int
open_prompt(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_sys(e, GT_FAIL, "prompt", "cannot read the prompt");
	unlink(path);
	if (fd == PROMPT_FD)
		return fcntl(fd, F_SETFD, 0);
	if (dup2(fd, PROMPT_FD) < 0)
		return err_sys(e, GT_FAIL, "prompt", "cannot pass on the prompt");
	close(fd);
	return 0;
}

/* What the command takes from the shell, since nothing keeps it. */
static int
check_variables(const struct start_ticket *t, struct err *e)
{
	int ret = 0;

	for (const char *at = t->variables; at != NULL && *at != '\0' && ret == 0; at += strspn(at, " ")) {
		char *name = xstrndup(at, strcspn(at, " "));

		if (getenv(name) == NULL)
			ret = err_set(e, GT_REFUSED, "needs-secret",
			    "%.100s is not set in this shell, and the start command needs it", name);
		at += strlen(name);
		free(name);
	}
	return ret;
}

static int
prepare(const struct start_ticket *t, struct err *e)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	static const char reset[] = TERMINAL_RESET_ALL;

	if (tty < 0)
		return err_sys(e, GT_REFUSED, "no-terminal", "no terminal");
	if (terminal_make_sane(tty) != 0 || write(tty, reset, sizeof reset - 1) < 0) {
		close(tty);
		return err_sys(e, GT_FAIL, "terminal", "cannot set the terminal");
	}
	close(tty);
	if (t->cwd != NULL && chdir(t->cwd) != 0)
		return err_sys(e, GT_FAIL, "cwd", "cannot enter its directory");
	return t->prompt_path != NULL ? open_prompt(t->prompt_path, e) : 0;
}

static int
tell(const struct err *e)
{
	fprintf(stderr, "gt-recover: %s\n", e->msg);
	if (e->hint[0] != '\0')
		fprintf(stderr, "  %s\n", e->hint);
	return e->code;
}

int
cli_start_here(const char *state, const char *id)
{
	struct start_ticket t;
	struct err e = ERR_INIT;

	if (start_ticket_use(state, id, &t, &e) != 0) {
		if (strcmp(e.name, "no-ticket") != 0)
			start_ticket_check_in(state, id, e.msg, NULL);
		return tell(&e);
	}
	if (check_variables(&t, &e) == 0 && prepare(&t, &e) == 0 &&
	    start_ticket_check_in(state, id, NULL, &e) == 0) {
		spawn_hand_on_exec();
		if (t.name != NULL && t.fallback != NULL && !spawn_in_path(t.name, getenv("PATH")))
			execl(t.shell, t.shell, "-c", t.fallback, (char *)NULL);
		execl(t.shell, t.shell, "-c", t.command, (char *)NULL);
		err_sys(&e, GT_FAIL, "exec", "cannot execute %s", t.shell);
	}
	start_ticket_check_in(state, id, e.msg, NULL);
	return tell(&e);
}

int
cli_start(int argc, char **argv)
{
	char *state = NULL;
	struct err e = ERR_INIT;

	if (!is_start_line(argc, argv))
		return -1;
	state = find_state(argv[0]);
	if (state == NULL) {
		err_set(
		    &e, GT_USAGE, "state", "cannot locate the state directory: neither XDG_STATE_HOME "
		        "nor HOME is set");
		return tell(&e);
	}
	return cli_start_here(state, argv[2]);
}
