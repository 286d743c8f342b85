#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recover/upkeep/upkeep.h"
#include "detect/detect.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "process/proc.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"
#include "config/config.h"

#define FIRST_INDEX 50
#define HOOK "pane-died"
#define ARMED "@gt-recover-armed"		/* of a pane: the heartbeat goes on for it */
#define HEARTBEAT "@gt-recover-heartbeat"	/* of a server: the script's pid */

/* --- looking --- */

static char *
answer(const struct tmux_batch *b, size_t i)
{
	size_t n = 0;
	const char *text = tmux_batch_output(b, i, &n);

	return text != NULL ? xstrndup(text, n) : xstrdup("");
}

/*
 * The array of hooks as tmux prints it, `pane-died[50] run-shell -b "…"` a line: the command at
 * an index, heap, NULL for none.
 */
static char *
hook_at(const char *printed, int64_t index)
{
	char head[40];
	size_t n = (size_t)snprintf(head, sizeof head, HOOK "[%lld] ", (long long)index);

	for (const char *line = printed; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, head, n) == 0)
			return xstrndup(line + n, strcspn(line + n, "\n"));
	return NULL;
}

static size_t
count_hooks(const char *printed)
{
	size_t n = 0;

	for (const char *line = printed; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n')
		n += str_starts(line, HOOK "[");
	return n;
}

/* True when the hook at this index is the one that we would set. */
static bool
hook_is_ours(const char *printed, int64_t index, const char *script)
{
	char *command = hook_at(printed, index), **argv = NULL;
	int argc = command != NULL ? quote_split(command, &argv) : -1;
	bool ours = argc == 3 && strcmp(argv[0], "run-shell") == 0 && strcmp(argv[2], script) == 0;

	if (argc >= 0)
		quote_free(argv, argc);
	free(command);
	return ours;
}

static int
free_index(const char *printed)
{
	for (int i = FIRST_INDEX; ; i++) {
		char *taken = hook_at(printed, i);

		if (taken == NULL)
			return i;
		free(taken);
	}
}

/* --- changing --- */

/*
 * One change, made only on the server that was looked at. `command` is tmux's language; pane
 * names the server's pane for the question. The answers are told by tmux_batch_run and by settle.
 */
static void
add_guarded(struct tmux_batch *b, const struct pane *p, const char *target, const struct buf *command)
{
	struct buf guard = BUF_INIT;

	pane_guard(&guard, p);
	tmux_batch_add(
	    b, "if-shell", "-F", "-t", target, guard.data, command->data, "display-message -p another", NULL);
	buf_release(&guard);
}

static void
add_command(struct tmux_batch *b, const struct pane *p, const char *target, const char *const *argv)
{
	struct buf command = BUF_INIT;

	for (size_t i = 0; argv[i] != NULL; i++) {
		quote_arg(&command, argv[i]);
		buf_chr(&command, ' ');
	}
	add_guarded(b, p, target, &command);
	buf_release(&command);
}

#define COMMAND(b, p, target, ...) add_command(b, p, target, (const char *const[]){ __VA_ARGS__, NULL })

/* Runs what was gathered, if anything was. */
static int
run_batch(struct tmux *t, struct tmux_batch *b, const char *session, struct err *e)
{
	struct buf words = BUF_INIT;
	const char *why;
	int ret;

	if (b->n == 0)
		return 0;
	b->mutates = true;
	ret = tmux_batch_run(t, b, e);
	for (size_t i = 0; ret == 0 && i < b->n; i++) {
		size_t n = 0;

		if (tmux_batch_output(b, i, &n) != NULL && n > 0)
			ret = err_set(
			    e, GT_FAIL, "gone", "another tmux server answers on the socket %s", t->socket);
	}
	if (ret == 0 && tmux_batch_failed(b, &why)) {
		scrub_first_line(&words, why, 200, NULL);
		ret = err_set(e, GT_FAIL, strstr(why, "can't find") != NULL ? "gone" : "tmux",
		    "tmux could not apply all settings to %s: %s", session, words.data);
	}
	buf_release(&words);
	return ret;
}

/* --- the heartbeat --- */

bool
arm_has_heartbeat(struct tmux *t)
{
	struct buf text = BUF_INIT;
	struct err why = ERR_INIT;
	struct proc script;
	long long pid = 0, server_pid = 0;
	const char *format = "#{" HEARTBEAT "} #{pid}";
	bool beats;

	beats = tmux_do(t, false, &text, &why, "display-message", "-p", format, NULL) == 0 &&
	    sscanf(text.data, "%lld %lld", &pid, &server_pid) == 2 && pid > 0;
	/* the pid may be another's by now */
	beats = beats && proc_read((pid_t)pid, &script) == 0 && !proc_has_ended(&script) &&
	    script.ppid == server_pid;
	buf_release(&text);
	return beats;
}

#define BEAT_MS 2000
#define CHECK_MS 30000

/*
 * The script takes the server for its own by writing its pid into HEARTBEAT. After CHECK_MS, again
 * and again, it ends unless that still holds and a pane is armed. exec: tmux may run it in a shell
 * that is not sh.
 */
static void
heartbeat_script(struct buf *out, const char *socket_path)
{
	struct buf script = BUF_INIT, words = BUF_INIT;

	buf_str(&script, "exec </dev/null >/dev/null 2>&1; cd /; n=0; t() { tmux -u -S ");
	quote_sh(&script, socket_path);
	buf_fmt(&script,
	    " \"$@\"; }; t set-option -s " HEARTBEAT " $$; "
	    "while sleep %d && kill -CHLD $PPID; do n=$((n + 1)); "
	    "[ $((n %% %d)) != 0 ] || "
	    "case $(t display-message -p '#{" HEARTBEAT "} #{S:#{W:#{P:#{" ARMED "}}}}') in "
	    "\"$$ \"*on*) ;; *) exit ;; esac; done",
	    BEAT_MS / 1000, fault_wait_ms("GT_CHECK_MS", CHECK_MS) / BEAT_MS);
	buf_str(&words, "exec /bin/sh -c ");
	quote_sh(&words, script.data);
	quote_format(out, words.data);
	buf_release(&words);
	buf_release(&script);
}

/* Marks the panes, and has the server beat if it may miss a death and does not beat yet. */
static int
start_heartbeat(struct tmux *t, const struct candidate *const *panes, size_t n, struct err *e)
{
	const struct pane *first = &panes[0]->pane;
	struct buf script = BUF_INIT;
	struct tmux_batch b;
	int ret;

	if (!pane_may_miss_death(first))
		return 0;
	tmux_batch_init(&b);
	for (size_t i = 0; i < n; i++)
		COMMAND(&b, &panes[i]->pane, panes[i]->pane.id, "set-option", "-p", "-t", panes[i]->pane.id,
		    ARMED, "on");
	if (!arm_has_heartbeat(t)) {
		heartbeat_script(&script, first->socket_path);
		COMMAND(&b, first, first->id, "run-shell", "-b", script.data);
	}
	ret = run_batch(t, &b, first->session_id, e);
	tmux_batch_release(&b);
	buf_release(&script);
	return ret;
}

/* --- arming --- */

struct arm_settings {
	char **remain;			/* of each pane */
	char **hooks;			/* of each pane's window */
	char *hooks_of_all;		/* those of the server, for windows without any of their own */
	char *history;			/* the session's own */
	int64_t history_effective;
	size_t n;
};

static int
look_settings(
    struct tmux *t, const struct candidate *const *panes, size_t n, struct arm_settings *out, struct err *e)
{
	const char *session = panes[0]->pane.session_id;
	struct tmux_batch b;
	char *limit;
	int ret;

	*out = (struct arm_settings){
		.remain = xcalloc(n, sizeof *out->remain), .hooks = xcalloc(n, sizeof *out->hooks), .n = n
	};
	tmux_batch_init(&b);
	for (size_t i = 0; i < n; i++) {
		tmux_batch_add(
		    &b, "show-options", "-p", "-q", "-v", "-t", panes[i]->pane.id, "remain-on-exit", NULL);
		tmux_batch_add(&b, "show-options", "-w", "-q", "-t", panes[i]->pane.window_id, HOOK, NULL);
	}
	tmux_batch_add(&b, "show-options", "-g", "-w", "-q", HOOK, NULL);
	tmux_batch_add(&b, "show-options", "-q", "-v", "-t", session, "history-limit", NULL);
	tmux_batch_add(&b, "show-options", "-A", "-q", "-v", "-t", session, "history-limit", NULL);
	ret = tmux_batch_run(t, &b, e);
	for (size_t i = 0; ret == 0 && i < n; i++) {
		out->remain[i] = answer(&b, 2 * i);
		out->hooks[i] = answer(&b, 2 * i + 1);
	}
	if (ret == 0) {
		out->hooks_of_all = answer(&b, 2 * n);
		out->history = answer(&b, 2 * n + 1);
		limit = answer(&b, 2 * n + 2);
		out->history_effective = strtoll(limit, NULL, 10);
		free(limit);
		if (out->history_effective <= 0)
			ret = err_set(e, GT_FAIL, "gone", "the session %s is gone", session);
	}
	tmux_batch_release(&b);
	return ret;
}

static void
settings_release(struct arm_settings *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->remain[i]);
		free(s->hooks[i]);
	}
	free(s->remain);
	free(s->hooks);
	free(s->hooks_of_all);
	free(s->history);
}

/* The hook of one pane's window, into the record and the batch. */
static void
plan_hook(struct arming *a, const struct pane *p, const char *hooks, const char *of_all, const char *script,
    struct tmux_batch *b)
{
	struct armed_window *known = armed_window(&a->record, p->window_id);
	struct buf command = BUF_INIT;
	char name[40];

	if (known != NULL && hook_is_ours(hooks, known->index, script))
		return;
	if (count_hooks(hooks) == 0 && count_hooks(of_all) > 0) {
		a->hook_left_out = true;
		return;
	}
	if (known == NULL) {
		armed_add_window(&a->record, p->window_id, script, free_index(hooks));
		known = armed_window(&a->record, p->window_id);
	} else {
		/* one of an earlier version of this program is replaced */
		if (!hook_is_ours(hooks, known->index, known->script))
			known->index = free_index(hooks);
		free(known->script);
		known->script = xstrdup(script);
	}
	snprintf(name, sizeof name, HOOK "[%lld]", (long long)known->index);
	buf_str(&command, "run-shell -b ");
	quote_arg(&command, script);
	COMMAND(b, p, p->id, "set-hook", "-w", "-t", p->window_id, name, command.data);
	buf_release(&command);
}

static void
plan_history(struct arming *a, const struct pane *p, const char *own, struct tmux_batch *b)
{
	char wanted[24];

	if (a->history_now >= a->history_want)
		return;
	snprintf(wanted, sizeof wanted, "%lld", (long long)a->history_want);
	if (a->record.history_before == NULL)
		a->record.history_before = xstrdup(own);
	free(a->record.history_set);
	a->record.history_set = xstrdup(wanted);
	COMMAND(b, p, p->id, "set-option", "-t", p->session_id, "history-limit", wanted);
}

static void
plan_all(struct arming *a, const struct candidate *const *panes, const struct arm_settings *s,
    const char *script, struct tmux_batch *b)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct pane *p = &panes[i]->pane;
		bool first = true;

		for (size_t k = 0; k < i; k++)
			first = first && strcmp(panes[k]->pane.window_id, p->window_id) != 0;
		if (armed_pane(&a->record, p->id) == NULL)
			armed_add_pane(&a->record, p->id, s->remain[i]);
		if (strcmp(s->remain[i], "on") != 0)
			COMMAND(b, p, p->id, "set-option", "-p", "-t", p->id, "remain-on-exit", "on");
		if (script != NULL && first)
			plan_hook(a, p, s->hooks[i], s->hooks_of_all, script, b);
	}
	plan_history(a, &panes[0]->pane, s->history, b);
}

int
arm_session(struct app *w, const struct candidate *const *panes, size_t n, const char *script, bool dry_run,
    struct arming *out, struct err *e)
{
	const struct pane *p = &panes[0]->pane;
	struct tmux *t = app_server(w, p->socket);
	struct store *store = app_store(w, !dry_run, e);
	struct arm_settings seen = { .n = 0 };
	struct tmux_batch b;
	size_t known;
	int found = 0, ret = -1;

	memset(out, 0, sizeof *out);
	tmux_batch_init(&b);
	if (store == NULL && (!dry_run || e->code != 0))
		goto out;
	if (store != NULL)
		found = armed_load(
		    store, p->socket_path, p->server_pid, p->server_start, p->session_id, &out->record, e);
	if (found < 0 || look_settings(t, panes, n, &seen, e) != 0)
		goto out;
	out->history_now = seen.history_effective;
	out->history_want = config_int(w->config, "max_context_lines");
	if (out->history_want < out->history_now)
		out->history_want = out->history_now;
	known = out->record.n_panes;
	plan_all(out, panes, &seen, script, &b);
	out->changed = found == 0 || b.n > 0 || out->record.n_panes > known;
	if (dry_run || !out->changed) {
		ret = dry_run || script == NULL ? 0 : start_heartbeat(t, panes, n, e);
		goto out;
	}
	free(out->record.session);
	out->record.session = xstrdup(p->session);
	out->record.at = clock_wall_ms();
	if (armed_put(store, &out->record, e) == 0)
		ret = run_batch(t, &b, p->session_id, e);
	if (ret == 0 && script != NULL)
		ret = start_heartbeat(t, panes, n, e);
out:
	tmux_batch_release(&b);
	settings_release(&seen);
	return ret;
}

/* --- disarming --- */

static const struct pane *
find_pane(const struct panes *now, const char *id)
{
	for (size_t i = 0; i < now->n; i++)
		if (strcmp(now->v[i].id, id) == 0)
			return &now->v[i];
	return NULL;
}

static const struct pane *
find_window(const struct panes *now, const char *id)
{
	for (size_t i = 0; i < now->n; i++)
		if (strcmp(now->v[i].window_id, id) == 0)
			return &now->v[i];
	return NULL;
}

static const struct pane *
find_session(const struct panes *now, const char *id)
{
	for (size_t i = 0; i < now->n; i++)
		if (strcmp(now->v[i].session_id, id) == 0)
			return &now->v[i];
	return NULL;
}

/*
 * Asks for each setting of the record, in its order: panes, windows, history-limit. What is gone
 * is asked of nobody.
 */
static int
look_back(struct tmux *t, const struct armed *a, const struct panes *now, char **answers, struct err *e)
{
	size_t n = a->n_panes + a->n_windows + 1, at = 0, *which = xcalloc(n, sizeof *which);
	struct tmux_batch b;
	int ret = 0;

	tmux_batch_init(&b);
	for (size_t i = 0; i < a->n_panes; i++, at++)
		if (find_pane(now, a->panes[i].id) != NULL)
			which[at] = 1 +
			    tmux_batch_add(&b, "show-options", "-p", "-q", "-v", "-t", a->panes[i].id,
				"remain-on-exit", NULL);
	for (size_t i = 0; i < a->n_windows; i++, at++)
		if (find_window(now, a->windows[i].id) != NULL)
			which[at] = 1 +
			    tmux_batch_add(
				&b, "show-options", "-w", "-q", "-t", a->windows[i].id, HOOK, NULL);
	if (a->history_before != NULL && find_session(now, a->session_id) != NULL)
		which[at] = 1 +
		    tmux_batch_add(
			&b, "show-options", "-q", "-v", "-t", a->session_id, "history-limit", NULL);
	if (b.n > 0)
		ret = tmux_batch_run(t, &b, e);
	for (size_t i = 0; ret == 0 && i < n; i++)
		answers[i] = which[i] > 0 ? answer(&b, which[i] - 1) : xstrdup("");
	tmux_batch_release(&b);
	free(which);
	return ret;
}

static void
undo_pane(struct tmux_batch *b, const struct pane *p, const char *before)
{
	if (*before == '\0')
		COMMAND(b, p, p->id, "set-option", "-p", "-u", "-t", p->id, "remain-on-exit");
	else
		COMMAND(b, p, p->id, "set-option", "-p", "-t", p->id, "remain-on-exit", before);
}

/* An array that holds nothing any more would still hide the server's own hooks. */
static void
undo_window(struct tmux_batch *b, const struct pane *p, const struct armed_window *win, bool alone)
{
	char name[40];

	snprintf(name, sizeof name, HOOK "[%lld]", (long long)win->index);
	COMMAND(b, p, p->id, "set-hook", "-u", "-w", "-t", win->id, alone ? HOOK : name);
}

static void
undo_history(struct tmux_batch *b, const struct pane *p, const struct armed *a)
{
	if (*a->history_before == '\0')
		COMMAND(b, p, p->id, "set-option", "-u", "-t", a->session_id, "history-limit");
	else
		COMMAND(b, p, p->id, "set-option", "-t", a->session_id, "history-limit", a->history_before);
}

int
arm_disarm_session(struct app *w, struct tmux *t, const struct armed *a, const struct panes *now,
    bool dry_run, size_t *restored, struct err *e)
{
	size_t n = a->n_panes + a->n_windows + 1, at = 0;
	char **is = xcalloc(n, sizeof *is);
	const struct pane *p;
	struct store *store;
	struct tmux_batch b;
	int ret = look_back(t, a, now, is, e);

	tmux_batch_init(&b);
	for (size_t i = 0; ret == 0 && i < a->n_panes; i++, at++)
		if (strcmp(is[at], "on") == 0 && strcmp(a->panes[i].remain_on_exit, "on") != 0)
			undo_pane(&b, find_pane(now, a->panes[i].id), a->panes[i].remain_on_exit);
	for (size_t i = 0; ret == 0 && i < a->n_windows; i++, at++)
		if (hook_is_ours(is[at], a->windows[i].index, a->windows[i].script))
			undo_window(
			    &b, find_window(now, a->windows[i].id), &a->windows[i], count_hooks(is[at]) == 1);
	if (ret == 0 && a->history_set != NULL && strcmp(is[at], a->history_set) == 0)
		undo_history(&b, find_session(now, a->session_id), a);
	*restored = b.n;
	for (size_t i = 0; ret == 0 && i < a->n_panes; i++)
		if ((p = find_pane(now, a->panes[i].id)) != NULL && pane_may_miss_death(p))
			COMMAND(&b, p, p->id, "set-option", "-p", "-u", "-t", p->id, ARMED);
	if (ret == 0 && !dry_run)
		ret = run_batch(t, &b, a->session_id, e);
	if (ret == 0 && !dry_run)
		ret = (store = app_store(w, true, e)) != NULL ? armed_delete(store, a, "put back", e) : -1;
	tmux_batch_release(&b);
	for (size_t i = 0; i < n; i++)
		free(is[i]);
	free(is);
	return ret;
}

bool
arm_holds(const struct armed_list *all, const struct candidate *c)
{
	const struct pane *p = &c->pane;

	for (size_t i = 0; i < all->n; i++) {
		const struct armed *a = &all->v[i];

		if (a->server_pid == p->server_pid && a->server_start == p->server_start &&
		    strcmp(a->socket, p->socket_path) == 0 && armed_pane(a, p->id) != NULL)
			return strcmp(p->remain_on_exit, "on") == 0;
	}
	return false;
}
