#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover/shell/start.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "process/proc.h"

#define FOLDER "starts"
#define MOST_BYTES ((size_t)1 << 20)

static char *
ticket_path(const char *state, const char *id, const char *ending, bool make, struct err *e)
{
	char *dir = io_join(state, FOLDER), *name, *path = NULL;

	if (!make || io_private_dir(dir, e) == 0) {
		name = xasprintf("%s.%s", id, ending);
		path = io_join(dir, name);
		free(name);
	}
	free(dir);
	return path;
}

int
start_ticket_write(const char *state, const struct start_ticket *t, struct err *e)
{
	char *path = ticket_path(state, t->id, "json", true, e);
	struct buf text = BUF_INIT;
	json_t *v = json_object();
	int ret = -1;

	json_put_int(v, "shell_pid", t->shell_pid);
	json_put_int(v, "shell_start", t->shell_start);
	json_put(v, "cwd", t->cwd);
	json_put(v, "shell", t->shell);
	json_put(v, "command", t->command);
	json_put(v, "name", t->name);
	json_put(v, "fallback", t->fallback);
	json_put(v, "variables", t->variables);
	json_put(v, "prompt", t->prompt_path);
	json_print(&text, v, false);
	if (path != NULL)
		ret = io_write_durable(path, text.data, text.len, "prompt", e);
	json_decref(v);
	buf_wipe(&text);
	free(path);
	return ret;
}

int
start_ticket_withdraw(const char *state, const char *id, struct err *e)
{
	char *path = ticket_path(state, id, "json", false, e);
	int ret = -1;

	if (path != NULL && unlink(path) == 0)
		ret = 1;
	else if (path != NULL && errno == ENOENT)
		ret = 0;
	else if (path != NULL)
		err_sys(e, GT_FAIL, "io", "%s cannot be removed", path);
	free(path);
	return ret;
}

/* A member that must be there; NULL sets the error. */
static char *
ticket_text(const json_t *v, const char *key)
{
	const char *text = json_text(v, key, NULL);

	return text != NULL ? xstrdup(text) : NULL;
}

static int
ticket_read(const char *path, const char *id, struct start_ticket *out, struct err *e)
{
	struct buf text = BUF_INIT;
	json_t *v = NULL;
	int ret = io_read_private(path, MOST_BYTES, &text, e);

	if (ret == 0 && (v = json_parse(text.data, text.len, path, e)) == NULL)
		ret = -1;
	if (ret == 0) {
		*out = (struct start_ticket){ .id = xstrdup(id),
			.shell_pid = json_number(v, "shell_pid", 0),
			.shell_start = json_number(v, "shell_start", 0),
			.cwd = ticket_text(v, "cwd"),
			.shell = ticket_text(v, "shell"),
			.command = ticket_text(v, "command"),
			.name = ticket_text(v, "name"),
			.fallback = ticket_text(v, "fallback"),
			.variables = ticket_text(v, "variables"),
			.prompt_path = ticket_text(v, "prompt") };
		if (out->shell == NULL || out->command == NULL)
			ret = err_set(e, GT_FAIL, "ticket", "the start ticket %s is damaged", id);
	}
	json_decref(v);
	buf_wipe(&text);
	return ret;
}

int
start_ticket_use(const char *state, const char *id, struct start_ticket *out, struct err *e)
{
	char *path = ticket_path(state, id, "json", false, e),
	     *used = ticket_path(state, id, "used", false, e);
	struct proc shell;
	int ret = -1;

	memset(out, 0, sizeof *out);
	if (path == NULL || used == NULL)
		goto out;
	/* of any number of starts only one can rename it */
	if (rename(path, used) != 0) {
		err_set(
		    e, GT_REFUSED, "no-ticket", "no start ticket %s: it was used or withdrawn", id);
		err_hint(e, "this command is internal and works once; run gt-recover instead");
		goto out;
	}
	ret = ticket_read(used, id, out, e);
	unlink(used);
	if (ret == 0 && (getppid() != (pid_t)out->shell_pid || proc_read(getppid(), &shell) != 0 ||
			    (int64_t)shell.start != out->shell_start))
		ret = err_set(
		    e, GT_REFUSED, "other-shell", "the start ticket %s was made for another shell", id);
out:
	free(path);
	free(used);
	return ret;
}

int
start_ticket_check_in(const char *state, const char *id, const char *why, struct err *e)
{
	char *path = ticket_path(state, id, "in", false, e);
	char *text = why != NULL
			 ? xasprintf("- %s\n", why)
			 : xasprintf("%ld %llu\n", (long)getpid(), (unsigned long long)proc_ticks(getpid()));
	int ret = path != NULL ? io_write_durable(path, text, strlen(text), "prompt", e) : -1;

	free(path);
	free(text);
	return ret;
}

int
start_ticket_answer(const char *state, const char *id, pid_t *agent, int64_t *ticks, char **why)
{
	char *path = ticket_path(state, id, "in", false, NULL);
	struct buf text = BUF_INIT;
	long long pid = 0, start = 0;
	int found = path != NULL && io_read_private(path, 4096, &text, NULL) == 0 && text.len > 0;

	if (found && text.data[0] != '-' && sscanf(text.data, "%lld %lld", &pid, &start) != 2)
		pid = start = 0;
	*agent = (pid_t)pid;
	*ticks = start;
	if (why != NULL)
		*why = found && text.data[0] == '-' ? xstrndup(text.data + 2, strcspn(text.data + 2, "\n"))
						    : NULL;
	buf_release(&text);
	free(path);
	return found;
}

void
start_ticket_remove(const char *state, const char *id)
{
	static const char *const endings[] = { "json", "used", "in" };

	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		char *path = ticket_path(state, id, endings[i], false, NULL);

		if (path != NULL)
			unlink(path);
		free(path);
	}
}
