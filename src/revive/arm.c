#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "revive/arm.h"
#include "revive/detect.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "scrub/error.h"
#include "tmux/client.h"
#include "tmux/pane.h"
#include "tmux/quote.h"
#include "town/config.h"

#define FIRST_INDEX 50
#define HOOK "pane-died"

/* --- looking --- */

static char *
answer(const struct batch *b, size_t i)
{
	size_t n = 0;
	const char *text = batch_out(b, i, &n);

	return text != NULL ? xstrndup(text, n) : xstrdup("");
}

/* The array of hooks as tmux prints it, `pane-died[50] run-shell -b "…"` a line: the command at an index, heap, NULL for none. */
static char *
hook_at(const char *printed, int index)
{
	char head[40];
	size_t n = (size_t)snprintf(head, sizeof head, HOOK "[%d] ", index);

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
is_ours(const char *printed, int index, const char *script)
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
 * One change, made only on the server that was looked at. `command` is tmux's language; pane names the server's pane for the question. The
 * answers are told by batch_run and by settle.
 */
static void
add_guarded(struct batch *b, const struct pane *p, const char *target, const struct buf *command)
{
	struct buf guard = BUF_INIT;

	pane_guard(&guard, p);
	batch_add(b, "if-shell", "-F", "-t", target, guard.data, command->data, "display-message -p another", NULL);
	buf_release(&guard);
}

static void
add_command(struct batch *b, const struct pane *p, const char *target, const char *const *argv)
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
settle(struct tmux *t, struct batch *b, const char *session, struct err *e)
{
	struct buf words = BUF_INIT;
	const char *why;
	int ret;

	if (b->n == 0)
		return 0;
	b->mutates = true;
	ret = batch_run(t, b, e);
	for (size_t i = 0; ret == 0 && i < b->n; i++) {
		size_t n = 0;

		if (batch_out(b, i, &n) != NULL && n > 0)
			ret = err_set(e, GT_FAIL, "gone", "another tmux server answers on the socket %s", t->socket);
	}
	if (ret == 0 && batch_failed(b, &why)) {
		error_words(&words, why, 200, NULL);
		ret = err_set(e, GT_FAIL, strstr(why, "can't find") != NULL ? "gone" : "tmux", "tmux could not set all of it for %s: %s",
		    session, words.data);
	}
	buf_release(&words);
	return ret;
}

/* --- arming --- */

struct seen {
	char **remain;			/* of each pane */
	char **hooks;			/* of each pane's window */
	char *hooks_of_all;		/* those of the server, for windows without any of their own */
	char *history;			/* the session's own */
	int64_t history_effective;
	size_t n;
};

static int
look(struct tmux *t, const struct candidate *const *panes, size_t n, struct seen *out, struct err *e)
{
	const char *session = panes[0]->pane.session_id;
	struct batch b;
	char *limit;
	int ret;

	*out = (struct seen){ .remain = xcalloc(n, sizeof *out->remain), .hooks = xcalloc(n, sizeof *out->hooks), .n = n };
	batch_init(&b);
	for (size_t i = 0; i < n; i++) {
		batch_add(&b, "show-options", "-p", "-q", "-v", "-t", panes[i]->pane.id, "remain-on-exit", NULL);
		batch_add(&b, "show-options", "-w", "-q", "-t", panes[i]->pane.window_id, HOOK, NULL);
	}
	batch_add(&b, "show-options", "-g", "-w", "-q", HOOK, NULL);
	batch_add(&b, "show-options", "-q", "-v", "-t", session, "history-limit", NULL);
	batch_add(&b, "show-options", "-A", "-q", "-v", "-t", session, "history-limit", NULL);
	ret = batch_run(t, &b, e);
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
	batch_release(&b);
	return ret;
}

static void
seen_release(struct seen *s)
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
plan_hook(struct arming *a, const struct pane *p, const char *hooks, const char *of_all, const char *script, struct batch *b)
{
	struct armed_window *known = armed_window(&a->record, p->window_id);
	struct buf command = BUF_INIT;
	char name[40];

	if (known != NULL && is_ours(hooks, known->index, script))
		return;
	if (count_hooks(hooks) == 0 && count_hooks(of_all) > 0) {
		a->hook_left_out = true;
		return;
	}
	if (known == NULL) {
		armed_add_window(&a->record, p->window_id, script, free_index(hooks));
		known = armed_window(&a->record, p->window_id);
	} else {
		free(known->script);
		known->script = xstrdup(script);
		known->index = free_index(hooks);
	}
	snprintf(name, sizeof name, HOOK "[%d]", known->index);
	buf_str(&command, "run-shell -b ");
	quote_arg(&command, script);
	COMMAND(b, p, p->id, "set-hook", "-w", "-t", p->window_id, name, command.data);
	buf_release(&command);
}

static void
plan_history(struct arming *a, const struct pane *p, const char *own, struct batch *b)
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
plan_all(struct arming *a, const struct candidate *const *panes, const struct seen *s, const char *script, struct batch *b)
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
arm_session(struct world *w, const struct candidate *const *panes, size_t n, const char *script, bool dry_run, struct arming *out,
    struct err *e)
{
	const struct pane *p = &panes[0]->pane;
	struct tmux *t = world_server(w, p->socket);
	struct store *store = world_store(w, !dry_run, e);
	struct seen seen = { .n = 0 };
	struct batch b;
	size_t known;
	int found = 0, ret = -1;

	memset(out, 0, sizeof *out);
	batch_init(&b);
	if (store == NULL && (!dry_run || e->code != 0))
		goto out;
	if (store != NULL)
		found = armed_load(store, p->socket_path, p->server_pid, p->server_start, p->session_id, &out->record, e);
	if (found < 0 || look(t, panes, n, &seen, e) != 0)
		goto out;
	out->history_now = seen.history_effective;
	out->history_want = config_int(w->config, "max_context_lines");
	if (out->history_want < out->history_now)
		out->history_want = out->history_now;
	known = out->record.n_panes;
	plan_all(out, panes, &seen, script, &b);
	out->changed = found == 0 || b.n > 0 || out->record.n_panes > known;
	if (dry_run || !out->changed) {
		ret = 0;
		goto out;
	}
	free(out->record.session);
	out->record.session = xstrdup(p->session);
	out->record.at = clock_wall_ms();
	if (armed_put(store, &out->record, e) == 0)
		ret = settle(t, &b, p->session_id, e);
out:
	batch_release(&b);
	seen_release(&seen);
	return ret;
}

void
arming_release(struct arming *a)
{
	armed_release(&a->record);
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

/* Asks for each setting of the record, in its order: panes, windows, history-limit. What is gone is asked of nobody. */
static int
look_back(struct tmux *t, const struct armed *a, const struct panes *now, char **answers, struct err *e)
{
	size_t n = a->n_panes + a->n_windows + 1, at = 0, *which = xcalloc(n, sizeof *which);
	struct batch b;
	int ret = 0;

	batch_init(&b);
	for (size_t i = 0; i < a->n_panes; i++, at++)
		if (find_pane(now, a->panes[i].id) != NULL)
			which[at] = 1 + batch_add(&b, "show-options", "-p", "-q", "-v", "-t", a->panes[i].id, "remain-on-exit", NULL);
	for (size_t i = 0; i < a->n_windows; i++, at++)
		if (find_window(now, a->windows[i].id) != NULL)
			which[at] = 1 + batch_add(&b, "show-options", "-w", "-q", "-t", a->windows[i].id, HOOK, NULL);
	if (a->history_before != NULL && find_session(now, a->session_id) != NULL)
		which[at] = 1 + batch_add(&b, "show-options", "-q", "-v", "-t", a->session_id, "history-limit", NULL);
	if (b.n > 0)
		ret = batch_run(t, &b, e);
	for (size_t i = 0; ret == 0 && i < n; i++)
		answers[i] = which[i] > 0 ? answer(&b, which[i] - 1) : xstrdup("");
	batch_release(&b);
	free(which);
	return ret;
}

static void
undo_pane(struct batch *b, const struct pane *p, const char *before)
{
	if (*before == '\0')
		COMMAND(b, p, p->id, "set-option", "-p", "-u", "-t", p->id, "remain-on-exit");
	else
		COMMAND(b, p, p->id, "set-option", "-p", "-t", p->id, "remain-on-exit", before);
}

/* An array that holds nothing any more would still hide the server's own hooks. */
static void
undo_window(struct batch *b, const struct pane *p, const struct armed_window *win, bool alone)
{
	char name[40];

	snprintf(name, sizeof name, HOOK "[%d]", win->index);
	COMMAND(b, p, p->id, "set-hook", "-u", "-w", "-t", win->id, alone ? HOOK : name);
}

static void
undo_history(struct batch *b, const struct pane *p, const struct armed *a)
{
	if (*a->history_before == '\0')
		COMMAND(b, p, p->id, "set-option", "-u", "-t", a->session_id, "history-limit");
	else
		COMMAND(b, p, p->id, "set-option", "-t", a->session_id, "history-limit", a->history_before);
}

int
disarm_session(struct world *w, struct tmux *t, const struct armed *a, const struct panes *now, bool dry_run, size_t *restored,
    struct err *e)
{
	size_t n = a->n_panes + a->n_windows + 1, at = 0;
	char **is = xcalloc(n, sizeof *is);
	struct store *store;
	struct batch b;
	int ret = look_back(t, a, now, is, e);

	batch_init(&b);
	for (size_t i = 0; ret == 0 && i < a->n_panes; i++, at++)
		if (strcmp(is[at], "on") == 0 && strcmp(a->panes[i].remain_on_exit, "on") != 0)
			undo_pane(&b, find_pane(now, a->panes[i].id), a->panes[i].remain_on_exit);
	for (size_t i = 0; ret == 0 && i < a->n_windows; i++, at++)
		if (is_ours(is[at], a->windows[i].index, a->windows[i].script))
			undo_window(&b, find_window(now, a->windows[i].id), &a->windows[i], count_hooks(is[at]) == 1);
	if (ret == 0 && a->history_set != NULL && strcmp(is[at], a->history_set) == 0)
		undo_history(&b, find_session(now, a->session_id), a);
	*restored = b.n;
	if (ret == 0 && !dry_run)
		ret = settle(t, &b, a->session_id, e);
	if (ret == 0 && !dry_run)
		ret = (store = world_store(w, true, e)) != NULL ? armed_delete(store, a, "put back", e) : -1;
	batch_release(&b);
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

		if (a->server_pid == p->server_pid && a->server_start == p->server_start && strcmp(a->socket, p->socket_path) == 0 &&
		    armed_pane(a, p->id) != NULL)
			return strcmp(p->remain_on_exit, "on") == 0;
	}
	return false;
}
