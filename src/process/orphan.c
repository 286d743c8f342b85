#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/orphan.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"
#include "scrub/scrub.h"

#define SNAPSHOTS "/shell-snapshots/"

enum tie { TIE_NONE, TIE_MAYBE, TIE_SURE };

/*
 * TMUX is "socket,pid of the server,number of the session". -1: the process is not in tmux, 1: in
 * this pane, 0: in another one.
 */
static int
in_pane(const struct orphan_search *by, const char *block, size_t n)
{
	const char *tmux = proc_environ_get(block, n, "TMUX"),
		   *pane = proc_environ_get(block, n, "TMUX_PANE");
	const char *last = tmux != NULL ? strrchr(tmux, ',') : NULL;
	const char *server = last != NULL ? memrchr(tmux, ',', (size_t)(last - tmux)) : NULL;

	if (server == NULL || pane == NULL)
		return -1;
	return by->pane_id != NULL && strcmp(pane, by->pane_id) == 0 &&
	    atoi(server + 1) == (int)by->server_pid;
}

static bool
reads_snapshot(const struct orphan_search *by, pid_t pid)
{
	struct buf arguments = BUF_INIT;
	char *folder = by->config_dir != NULL ? xasprintf("%s" SNAPSHOTS, by->config_dir) : NULL;
	bool yes;

	proc_arguments(pid, false, &arguments);
	yes = folder != NULL && memmem(arguments.data, arguments.len, folder, strlen(folder)) != NULL;
	buf_wipe(&arguments);
	free(folder);
	return yes;
}

static bool
works_in(const struct orphan_search *by, pid_t pid)
{
	char *cwd = proc_path(pid, PROC_CWD), *real = by->cwd != NULL ? realpath(by->cwd, NULL) : NULL;
	bool yes = cwd != NULL && real != NULL && strcmp(cwd, real) == 0;

	free(cwd);
	free(real);
	return yes;
}

static enum tie
tie_by_environment(const struct orphan_search *by, pid_t pid, const char *block, size_t n)
{
	const char *id = proc_environ_get(block, n, "CLAUDE_CODE_SESSION_ID");
	int here = in_pane(by, block, n);

	if (id != NULL && by->session_id != NULL && strcmp(id, by->session_id) == 0)
		return TIE_SURE;
	/* an earlier conversation of this pane, as before /clear, has another id */
	if (here >= 0)
		return here == 1 && proc_environ_get(block, n, "CLAUDECODE") != NULL ? TIE_MAYBE : TIE_NONE;
	if (id != NULL && by->session_id != NULL)
		return TIE_NONE;
	return reads_snapshot(by, pid) && works_in(by, pid) ? TIE_MAYBE : TIE_NONE;
}

/*
 * Below a living agent it is that one's. Below a tmux server it is the pane's own: what an agent
 * left was handed to init. (A server that an agent had started passes the agent's environment on
 * to all of its panes.)
 */
static bool
has_master(const struct procs *procs, const struct proc *p, const struct orphan_search *by)
{
	for (int depth = 0; p != NULL && p->pid > 1 && depth < 64; depth++) {
		char names[PROC_NAMES][64];
		size_t n = proc_has_ended(p) ? 0 : proc_names(p, names);

		if (str_starts(p->comm, "tmux"))
			return true;
		for (size_t i = 0; i < n; i++)
			if (by->is_agent(by->arg, names[i]))
				return true;
		p = proc_list_find(procs, p->ppid);
	}
	return false;
}

static enum tie
tie_of(const struct procs *procs, const struct proc *p, const struct orphan_search *by)
{
	enum tie tie;
	char *block;
	size_t n = 0;

	if (proc_has_ended(p) || p->pid == getpid() ||
	    (block = proc_environ(p->pid, &n)) == NULL)
		return TIE_NONE;
	tie = tie_by_environment(by, p->pid, block, n);
	explicit_bzero(block, n);
	free(block);
	return tie != TIE_NONE && has_master(procs, p, by) ? TIE_NONE : tie;
}

/* The shell word at p with its quotes taken off. */
static void
unquote_word(struct buf *out, const char *p)
{
	char quote = '\0';

	for (; *p != '\0' && (quote != '\0' || *p != ' '); p++) {
		if (quote == '\0' && (*p == '\'' || *p == '"'))
			quote = *p;
		else if (*p == quote)
			quote = '\0';
		else if (*p == '\\' && quote != '\'' && p[1] != '\0')
			buf_chr(out, *++p);
		else
			buf_chr(out, *p);
	}
}

/*
 * "source …/shell-snapshots/… && eval 'COMMAND' < /dev/null && pwd -P >| …": the command; else
 * all arguments.
 */
static char *
command_of(pid_t pid, struct scrub *s)
{
	struct buf arguments = BUF_INIT, text = BUF_INIT;
	const char *snapshot, *eval;
	struct clean_text *clean;
	char *command;

	proc_arguments(pid, false, &arguments);
	while (arguments.len > 0 && arguments.data[arguments.len - 1] == '\0')
		buf_cut(&arguments, arguments.len - 1);
	for (size_t i = 0; i < arguments.len; i++)
		if (arguments.data[i] == '\0')
			arguments.data[i] = ' ';
	snapshot = strstr(arguments.data, SNAPSHOTS);
	eval = snapshot != NULL ? strstr(snapshot, " eval ") : NULL;
	if (eval != NULL)
		unquote_word(&text, eval + strlen(" eval "));
	else
		buf_add(&text, arguments.data, arguments.len);
	clean = scrub_text(s, text.data, text.len < ORPHAN_COMMAND ? text.len : ORPHAN_COMMAND, 0);
	command = xstrndup(clean_bytes(clean), clean_len(clean));
	clean_free(clean);
	buf_wipe(&arguments);
	buf_wipe(&text);
	return command;
}

static char *
clean_path(const char *path, struct scrub *s)
{
	struct clean_text *clean = path != NULL ? scrub_string(s, path) : NULL;
	struct buf b = BUF_INIT;

	if (clean == NULL)
		return NULL;
	utf8_escape(&b, clean_bytes(clean), clean_len(clean), 0);
	clean_free(clean);
	return buf_detach(&b);
}

static char *
output_of(pid_t pid, struct scrub *s)
{
	char *path = proc_path(pid, PROC_OUTPUT), *clean = NULL;
	struct stat st;

	if (path != NULL && *path == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode))
		clean = clean_path(path, s);
	free(path);
	return clean;
}

static void
fill_orphan(struct orphan *o, const struct proc *p, enum tie tie, struct scrub *s)
{
	char *cwd = proc_path(p->pid, PROC_CWD);

	o->pid = p->pid;
	o->pgrp = p->pgrp;
	o->sure = tie == TIE_SURE;
	o->age_ms = clock_wall_ms() - proc_wall_ms(p);
	o->command = command_of(p->pid, s);
	o->cwd = clean_path(cwd, s);
	o->output = output_of(p->pid, s);
	free(cwd);
}

struct tied {
	const struct proc *p;
	enum tie tie;
};

static int
by_tie(const void *a, const void *b)
{
	const struct tied *x = a, *y = b;

	if (x->tie != y->tie)
		return x->tie > y->tie ? -1 : 1;
	return x->p->start > y->p->start ? -1 : x->p->start < y->p->start;
}

int
orphan_list(const struct orphan_search *by, struct scrub *s, struct orphans *out, struct err *e)
{
	struct procs procs;
	struct tied *v;
	enum tie *ties;
	size_t n = 0;

	memset(out, 0, sizeof *out);
	if (proc_list(&procs, e) != 0)
		return -1;
	ties = xcalloc(procs.n + 1, sizeof *ties);
	v = xcalloc(procs.n + 1, sizeof *v);
	for (size_t i = 0; i < procs.n; i++)
		ties[i] = tie_of(&procs, &procs.v[i], by);
	for (size_t i = 0; i < procs.n; i++) {
		const struct proc *parent = proc_list_find(&procs, procs.v[i].ppid);

		if (ties[i] != TIE_NONE && (parent == NULL || ties[parent - procs.v] == TIE_NONE))
			v[n++] = (struct tied){ &procs.v[i], ties[i] };
	}
	qsort(v, n, sizeof *v, by_tie);
	for (size_t i = 0; i < n && i < ORPHANS_MAX; i++)
		fill_orphan(&out->v[out->n++], v[i].p, v[i].tie, s);
	out->more = n - out->n;
	free(v);
	free(ties);
	proc_list_release(&procs);
	return 0;
}

void
orphan_list_release(struct orphans *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].command);
		free(o->v[i].cwd);
		free(o->v[i].output);
	}
	memset(o, 0, sizeof *o);
}
