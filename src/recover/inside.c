#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover/recover.h"
#include "recover/recover_private.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/err.h"
#include "detect/detect.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"
#include "recover/shell/start.h"
#include "tmux/tmux.h"

int
recovery_check_nested(const struct recovery *r, struct err *e)
{
	const struct agent_pid_file *note = &r->c->pid_record;
	struct procs procs = { .n = 0 };
	const struct proc *shell;
	bool nested;

	if (!r->c->own_pid_record || note->start == 0)
		return 0;
	if (proc_list(&procs, e) != 0)
		return -1;
	shell = proc_list_find(&procs, r->shell);
	/* one that is older is the shell in which the agent ran */
	nested = shell != NULL && shell->start > note->start && proc_list_is_nested(&procs, r->shell);
	proc_list_release(&procs);
	if (!nested)
		return 0;
	err_set(e, GT_REFUSED, "shell-nested",
	    "refused: another shell runs inside the shell of pane %s", r->c->pane.id);
	return err_hint(
	    e, "exit it and try again; or: gt-recover --respawn replaces both shells by the agent");
}

bool
recovery_lives_inside(const struct app *w, const struct attempt *a)
{
	int64_t ticks;
	pid_t started;

	return a->in_shell && start_ticket_answer(w->state_dir, a->id, &started, &ticks, NULL) == 1 &&
	    started > 0 && proc_ticks(started) == (uint64_t)ticks;
}

pid_t
recovery_started_inside(const struct app *w, const struct attempt *a)
{
	int64_t ticks;
	pid_t started = 0;

	if (!a->in_shell || a->new_pid != 0)
		return (pid_t)a->new_pid;
	return start_ticket_answer(w->state_dir, a->id, &started, &ticks, NULL) == 1 ? started : 0;
}

pid_t
recovery_crash_pid(struct app *w, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	bool outlived = detect_status_has_shell(c->status) || c->status == AGENT_MISSING;
	struct store *store = outlived ? app_store(w, false, NULL) : NULL;
	struct attempt a;
	pid_t pid = 0;

	if (store != NULL &&
	    attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) == 1) {
		pid = a.in_shell ? recovery_started_inside(w, &a) : 0;
		/* begun, and nothing started yet: what it is for is what died */
		if (pid == 0 && a.in_shell)
			pid = (pid_t)a.pane_pid;
		attempt_release(&a);
	}
	return pid != 0 ? pid : p->pid;
}

/*
 * Did a person start the shell, and the agent in it? A pane whose own command is the agent's, with
 * a shell behind it, or that a recovery had made, has nothing to lose by a respawn.
 */
static bool
is_persons_shell(const struct app *w, const struct pane *p)
{
	struct launch own;
	bool yes;

	launch_read(&own, p->start_command, p->default_shell, profile_list_has_program, w->profiles);
	yes = own.command == NULL || launch_is_shell(&own);
	launch_release(&own);
	return yes;
}

bool
recovery_starts_inside(const struct recovery *r)
{
	return detect_status_has_shell(r->c->status) && !r->respawn && !recovery_uses_gt(r->w, r->c) &&
	    is_persons_shell(r->w, &r->c->pane);
}

char *
recovery_by_program(const struct candidate *c, const char *fed)
{
	const struct launch *l = &c->launch;
	const char *base = c->program != NULL ? strrchr(c->program, '/') : NULL, *name;

	if (l->n_words == 0 || fed == NULL || base == NULL)
		return NULL;
	/* by another name it would not be known as the agent */
	name = strrchr(l->words[l->program].text, '/');
	name = name != NULL ? name + 1 : l->words[l->program].text;
	if (strcmp(base + 1, name) != 0 || !l->certain || l->entry != l->program ||
	    proc_is_runtime(base + 1) || access(c->program, X_OK) != 0)
		return NULL;
	return launch_npm_command(l, fed, c->program);
}

int
recovery_check_here(const struct recovery *r, struct err *e)
{
	const char *out = r->executes ? ttyname(STDOUT_FILENO) : NULL;

	if (out != NULL && strcmp(out, r->c->pane.tty) == 0)
		return 0;
	err_set(e, GT_REFUSED, "own-pane",
	    "refused: gt-recover itself runs in this pane, with redirected output");
	return err_hint(e, "run gt-recover there without redirection, or from another pane");
}

/* The line is typed already: it is the one that started us. */
static int
start_here(struct recovery *r, const struct start_ticket *t, struct err *e)
{
	r->start_here = start_ticket_write(r->w->state_dir, t, e) == 0;
	return r->start_here ? 0 : -1;
}

/* Heap; NULL: none. */
static char *
join_names(const struct town_list *names)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < names->n; i++)
		buf_fmt(&b, "%s%s", i > 0 ? " " : "", names->v[i]);
	return names->n > 0 ? buf_detach(&b) : NULL;
}

int
recovery_start_inside(struct recovery *r, const struct respawn *how, struct err *e)
{
	const struct candidate *c = r->c;
	const char *plain = how->fed != NULL ? how->fed : how->command;
	char *command = launch_with_exec(&c->launch, plain), *other = recovery_by_program(c, plain),
	     *fallback = other != NULL ? launch_with_exec(&c->launch, other) : NULL;
	struct start_ticket t = { .id = r->attempt.id,
		.shell_pid = r->shell,
		.shell_start = (int64_t)proc_ticks(r->shell),
		.cwd = c->cwd,
		.shell = c->launch.shell,
		.command = command,
		.name = fallback != NULL ? c->launch.words[c->launch.program].text : NULL,
		.fallback = fallback,
		.prompt_path = how->fed != NULL ? r->prompt_path : NULL,
		.variables = join_names(&c->inherited_env) };
	struct start_result done = { .half_typed = false };
	int ret = c->own_pane ? start_here(r, &t, e) : start_ticket_write(r->w->state_dir, &t, e);

	if (ret == 0 && !r->start_here)
		ret = start_in_shell(r->w, &c->pane, r->shell, r->attempt.id, &done, e);
	r->half_typed = ret == 0 && done.half_typed;
	r->attempt.new_pid = recovery_started_inside(r->w, &r->attempt);
	/* an agent that has the ticket goes on; without it nothing is started any more */
	if (ret != 0 && strcmp(e->name, "start") != 0)
		start_ticket_withdraw(r->w->state_dir, r->attempt.id, NULL);
	explicit_bzero(command, strlen(command));
	if (fallback != NULL)
		explicit_bzero(fallback, strlen(fallback));
	if (other != NULL)
		explicit_bzero(other, strlen(other));
	free(fallback);
	free(t.variables);
	free(other);
	free(command);
	return ret;
}
