#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "process/proc.h"
#include "tmux/tmux.h"

/* The words of a process, or of a command. */
struct argv_words {
	const char **v;
	size_t n, cap;
	char *block;			/* what they point into; NULL: not ours */
	size_t size;
};

static void
words_release(struct argv_words *w)
{
	if (w->block != NULL)
		explicit_bzero(w->block, w->size);
	free(w->block);
	free(w->v);
}

static void
words_add(struct argv_words *w, const char *text)
{
	w->v = vec_room(w->v, w->n, &w->cap, sizeof *w->v);
	w->v[w->n++] = text;
}

static void
words_of_process(struct argv_words *w, pid_t pid)
{
	struct buf words = BUF_INIT;

	*w = (struct argv_words){ .n = 0 };
	if (!proc_arguments(pid, true, &words))
		return;
	w->size = words.len;
	w->block = buf_detach(&words);
	for (size_t at = 0; w->block != NULL && at < w->size; at += strlen(w->block + at) + 1)
		words_add(w, w->block + at);
}

static void
words_of_launch(struct argv_words *w, const struct launch *l, size_t from)
{
	*w = (struct argv_words){ .n = 0 };
	for (size_t i = from; i < l->n_words; i++)
		words_add(w, l->words[i].text);
}

static char *
join_words(const struct argv_words *w)
{
	struct buf command = BUF_INIT;

	for (size_t i = 0; i < w->n; i++) {
		if (i > 0)
			buf_chr(&command, ' ');
		quote_sh(&command, w->v[i]);
	}
	return buf_detach(&command);
}

static void
wipe_text(char *text)
{
	explicit_bzero(text, strlen(text));
	free(text);
}

static const char *
name_of_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Does it begin with a line that names a shell? */
static bool
is_shell_script(const char *path)
{
	char head[128] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd >= 0 ? read(fd, head, sizeof head - 1) : -1;
	const char *end;

	if (fd >= 0)
		close(fd);
	if (n < 3 || head[0] != '#' || head[1] != '!')
		return false;
	head[strcspn(head, "\n")] = '\0';
	end = strrchr(head, ' ');
	return proc_is_shell(name_of_path(head + 2 + strspn(head + 2, " "))) ||
	    (end != NULL && proc_is_shell(name_of_path(end + 1)));
}

/*
 * By its own PATH its name leads to a script that wraps it, and runs the path that it was started
 * by.
 */
static bool
has_script_in_path(pid_t pid, const char *path)
{
	size_t n = 0;
	char *block = proc_environ(pid, &n), *file, own[PATH_MAX], other[PATH_MAX];
	const char *dirs = block != NULL ? proc_environ_get(block, n, "PATH") : NULL;
	bool found = false, wraps = false;

	for (size_t len; dirs != NULL && *dirs != '\0' && !found; dirs += len + (dirs[len] == ':')) {
		len = strcspn(dirs, ":");
		file = xasprintf("%.*s/%s", (int)len, dirs, name_of_path(path));
		found = len > 0 && access(file, X_OK) == 0;
		wraps = found && is_shell_script(file) && realpath(file, own) != NULL &&
		    (realpath(path, other) == NULL || strcmp(own, other) != 0);
		free(file);
	}
	if (block != NULL)
		explicit_bzero(block, n);
	free(block);
	return wraps;
}

bool
launch_of_process(
    struct launch *l, pid_t pid, const char *shell, launch_is_agent_fn *is_agent, const void *arg)
{
	struct argv_words w;
	char *command;

	memset(l, 0, sizeof *l);
	words_of_process(&w, pid);
	if (w.n > 0 && *w.v[0] == '/' && is_agent(arg, name_of_path(w.v[0])) &&
	    has_script_in_path(pid, w.v[0]))
		w.v[0] = name_of_path(w.v[0]);
	if (w.n > 0) {
		command = join_words(&w);
		launch_command(l, command, shell, is_agent, arg);
		wipe_text(command);
	}
	words_release(&w);
	if (l->name != NULL && is_agent(arg, l->name))
		return true;
	launch_release(l);
	return false;
}

/* ---- wrappers ---- */

/* Are the words of `a` from `from` on the last ones of `w`? The first of the program may be its path. */
static bool
is_tail(const struct argv_words *w, const struct argv_words *a, size_t from, bool program)
{
	size_t n = a->n - from, at = w->n - n;

	if (n == 0 || n >= w->n)
		return false;
	if (program && strcmp(name_of_path(w->v[at]), name_of_path(a->v[from])) != 0)
		return false;
	for (size_t i = program; i < n; i++)
		if (strcmp(w->v[at + i], a->v[from + i]) != 0)
			return false;
	return true;
}

/* The word that is the wrapper: a shell's script, else its program. w->n: a shell's command line. */
static size_t
find_script(const struct argv_words *w)
{
	const char *name = name_of_path(w->v[0]);
	size_t i = 1;

	if (!proc_is_shell(*name == '-' ? name + 1 : name) && !proc_is_runtime(name))
		return 0;
	for (; i < w->n && w->v[i][0] == '-'; i++)
		if (w->v[i][1] != '-' && strchr(w->v[i], 'c') != NULL)
			return w->n;
	return i;
}

/* `agent`: its words from its program on. As struct launch has it; 0: it is no wrapper of that agent. */
static int
wrapper_kind(const struct argv_words *w, const struct argv_words *agent)
{
	struct argv_words passed = { .n = 0 };
	size_t script = w->n > 0 ? find_script(w) : 0;
	int kind = WRAPPER_HIDES;

	if (w->n == 0 || script == w->n)
		return 0;
	if (is_tail(w, agent, 0, true))
		return (int)(w->n - agent->n) + 1;
	for (size_t i = script + 1; i < w->n; i++)
		words_add(&passed, w->v[i]);
	if (is_tail(agent, &passed, 0, false))
		kind = (int)script + 1;
	words_release(&passed);
	return kind;
}

/* What the agent has and its wrapper had not; what every shell sets does not count. */
static bool
sets_variables(pid_t wrapper, pid_t agent)
{
	static const char *const own[] = { "_", "SHLVL", "PWD", "OLDPWD" };
	size_t n = 0, n_before = 0;
	char *block = proc_environ(agent, &n), *before = proc_environ(wrapper, &n_before);
	bool sets = false;

	for (size_t at = 0, len; block != NULL && before != NULL && at < n && !sets; at += len + 1) {
		char *name = xstrndup(block + at, strcspn(block + at, "="));
		const char *value = proc_environ_get(before, n_before, name);

		len = strlen(block + at);
		sets = block[at + strlen(name)] == '=' &&
		    (value == NULL || strcmp(value, block + at + strlen(name) + 1) != 0);
		for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
			sets = sets && strcmp(name, own[i]) != 0;
		free(name);
	}
	if (block != NULL)
		explicit_bzero(block, n);
	if (before != NULL)
		explicit_bzero(before, n_before);
	free(block);
	free(before);
	return sets;
}

static bool
is_any_program(const void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return true;
}

void
launch_command_wrapped(
    struct launch *l, const char *command, const char *shell, int wrapper, const char *name)
{
	launch_command(l, command, shell, is_any_program, NULL);
	if (wrapper > 0 && (size_t)wrapper <= l->n_words)
		l->entry = (size_t)wrapper - 1;
	l->wrapper = wrapper;
	free(l->name);
	l->name = xstrdup(name);
}

static bool
replace_launch(struct launch *l, const char *command, int wrapper)
{
	struct launch wrapped;

	launch_command_wrapped(&wrapped, command, l->shell, wrapper, l->name);
	/* nothing could be put into it */
	if (!wrapped.certain) {
		launch_release(&wrapped);
		return false;
	}
	launch_release(l);
	*l = wrapped;
	return true;
}

bool
launch_wrap(struct launch *l, pid_t agent, pid_t wrapper)
{
	struct argv_words w, a;
	bool done = false;
	char *command;
	int kind;

	words_of_process(&w, wrapper);
	words_of_launch(&a, l, l->entry);
	kind = wrapper_kind(&w, &a);
	if (kind > 0 || (kind == WRAPPER_HIDES && sets_variables(wrapper, agent))) {
		command = join_words(&w);
		done = replace_launch(l, command, kind);
		wipe_text(command);
	}
	words_release(&w);
	words_release(&a);
	return done;
}

bool
launch_wrap_pane(struct launch *l, const struct launch *pane)
{
	struct argv_words w, a;
	bool passes;
	int at;

	words_of_launch(&w, pane, 0);
	words_of_launch(&a, l, l->entry);
	passes = is_tail(&w, &a, 0, true);
	at = (int)(w.n - a.n) + 1;
	words_release(&w);
	words_release(&a);
	return passes && replace_launch(l, pane->command, at);
}
