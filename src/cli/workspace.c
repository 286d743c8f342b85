#include <unistd.h>

#include "workspace/workspace.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "cli/cli_private.h"

/* ---- which ---- */

/* The server that lives on the socket, by one of its panes; false: none does.
 */
static bool
living_server(struct tmux *t, struct panes *list)
{
	memset(list, 0, sizeof *list);
	return pane_list_bare(t, list, NULL) == 0 && list->n > 0;
}

/*
 * What would be restored on this server: its last workspace that is worth it,
 * of a server that ended; of a living one its own where nothing else is known.
 */
static bool
find_workspace(struct app *w, struct tmux *t, struct workspace *x)
{
	struct panes list;
	bool lives = living_server(t, &list);
	char *path = lives ? xstrdup(list.v[0].socket_path) : tmux_socket_path(t);
	bool found = path != NULL && workspace_read(w, path, 0, 0, lives ? &list.v[0] : NULL, x);

	if (path != NULL && !found && lives)
		found = workspace_read(w, path, list.v[0].server_pid, list.v[0].server_start, NULL, x);
	pane_list_release(&list);
	free(path);
	return found;
}

static int
no_workspace(struct err *e)
{
	err_set(
	    e, GT_NOTHING, "no-workspace", "no saved workspace for the tmux servers searched");
	return err_hint(e, "gt-recover snapshot saves it; -L selects another server");
}

static int
no_session(const char *name, struct err *e)
{
	err_set(e, GT_NOTHING, "unknown-session", "the workspace has no session \"%.60s\"",
	    output_shown(name, 60));
	return err_hint(e, "gt-recover workspace show");
}

static bool
has_session(const json_t *shape, const char *name)
{
	for (struct workspace_walk k = { .shape = shape }; workspace_walk_next(&k); )
		if (strcmp(json_text(k.session, "name", ""), name) == 0)
			return true;
	return false;
}

static void
print_age(struct buf *out, const json_t *shape)
{
	clock_age(out, clock_wall_ms() - json_number(shape, "at", 0));
}

/* ---- show ---- */

static void
print_pane(const struct workspace_walk *k)
{
	const json_t *window = k->window, *pane = k->pane;
	struct buf row = BUF_INIT;
	char place[48] = "";
	size_t columns, used;

	if (k->next[1] == 0 && k->next[2] == 1)
		puts(output_shown(json_text(k->session, "name", ""), 60));
	if (k->next[2] == 1)
		snprintf(place, sizeof place, "%lld %s%s", (long long)json_number(window, "index", 0),
		    output_shown(json_text(window, "name", ""), 18),
		    json_flag(window, "active", false) ? "*" : "");
	buf_fmt(&row, "  %-22s %-12s ", place,
	    json_flag(pane, "agent", false) ? "agent" : output_shown(json_text(pane, "command", ""), 12));
	columns = output_columns(STDOUT_FILENO);
	used = utf8_width(row.data, row.len);
	output_foreign(&row, json_text(pane, "cwd", ""), columns > used + 8 ? columns - used : 0);
	output_text(stdout, row.data);
	putchar('\n');
	buf_release(&row);
}

static void
print_workspace(const struct workspace *x, const char *only)
{
	struct buf age = BUF_INIT;

	buf_fmt(&age, "Workspace of the tmux server on %s, ", output_shown(x->socket, 0));
	print_age(&age, workspace_now(x));
	buf_str(&age, " ago:");
	output_fitted(stdout, "", age.data, 0);
	for (struct workspace_walk k = { .shape = workspace_now(x) }; workspace_walk_next(&k); )
		if (only == NULL || strcmp(json_text(k.session, "name", ""), only) == 0)
			print_pane(&k);
	buf_release(&age);
}

static json_t *
workspace_json(const struct workspace *x)
{
	json_t *v = json_object();

	json_put(v, "socket", x->socket);
	json_put_int(v, "server_pid", x->server_pid);
	json_put_int(v, "server_started_at", x->server_start * 1000);
	json_object_set(v, "shape", (json_t *)(uintptr_t)workspace_now(x));
	return v;
}

static int
show_workspace(struct verb_job *j, struct err *e)
{
	const char *only = j->cli.n_args > 0 ? j->cli.args[0] : NULL;
	json_t *all = json_array();
	size_t n = 0, named = 0;

	for (size_t i = 0; i < j->w.n_servers; i++) {
		struct workspace x;

		if (!find_workspace(&j->w, &j->w.servers[i], &x))
			continue;
		n++;
		named += only == NULL || has_session(workspace_now(&x), only);
		if (j->cli.json)
			json_array_append_new(all, workspace_json(&x));
		else if (only == NULL || has_session(workspace_now(&x), only))
			print_workspace(&x, only);
		workspace_release(&x);
	}
	cmd_verb_json(j, "workspaces", all);
	if (n == 0)
		return no_workspace(e);
	return named == 0 ? no_session(only, e) : GT_OK;
}

/* ---- open ---- */

/* Something of that server is to come back. */
static bool
is_wanted_on(struct cli_batch *r, struct tmux *t)
{
	for (size_t i = 0; i < r->all.n; i++) {
		const struct candidate *c = &r->all.v[i];

		if ((r->named ? r->chosen[i] : r->no[i].name == NULL) && c->status == AGENT_MISSING &&
		    c->reason == REASON_SERVER_EXIT && strcmp(c->pane.socket, t->socket) == 0)
			return true;
	}
	return false;
}

bool
cli_open_servers(struct cli_batch *r, bool desk, struct workspace_opened **opened)
{
	bool again = false;

	*opened = xcalloc(r->w.n_servers + 1, sizeof **opened);
	for (size_t i = 0; i < r->w.n_servers; i++) {
		struct tmux *t = &r->w.servers[i];
		struct workspace_opened *o = *opened + i;
		struct workspace x = { .file = NULL };
		bool wanted = desk ? find_workspace(&r->w, t, &x) : is_wanted_on(r, t),
		     start = wanted && t->as_owner == NULL;

		workspace_release(&x);
		workspace_open(&r->w, t, start, o, NULL);
		if (o->waited)
			output_line(&r->say, "Waited for tmux-resurrect to restore the server on socket %s.",
			    t->socket);
		if (o->timed_out)
			output_warning(&r->say,
			    "tmux-resurrect still restores the server on socket %s after 15 s\n"
			    "hint: when it is done, run gt-recover --all again", t->socket);
		again = again || o->waited || o->changed;
	}
	return again;
}

void
cli_close_servers(struct cli_batch *r, struct workspace_opened *opened)
{
	for (size_t i = 0; opened != NULL && i < r->w.n_servers; i++)
		workspace_close(&r->w.servers[i], &opened[i]);
	free(opened);
}

/* ---- restore ---- */

/* "2 sessions, 3 windows and 7 panes" */
static void
add_counts(struct buf *out, const struct workspace_result *made)
{
	buf_fmt(out, "%zu session%s, %zu window%s and %zu pane%s", made->sessions,
	    made->sessions == 1 ? "" : "s", made->windows, made->windows == 1 ? "" : "s", made->panes,
	    made->panes == 1 ? "" : "s");
}

static int
restore_one(struct cli_output *say, struct app *w, struct tmux *t, struct workspace *x,
    const struct workspace_part *part, bool dry_run, struct workspace_result *made, struct err *e)
{
	struct buf counts = BUF_INIT, age = BUF_INIT, lines = BUF_INIT;
	int ret;

	made->lines = &lines;
	ret = workspace_restore(w, t, x, part, dry_run, made, e);
	add_counts(&counts, made);
	print_age(&age, part->shape != NULL ? part->shape : workspace_now(x));
	if (ret == 0 && made->panes > 0)
		output_line(say, "%s the workspace on socket %s as it was %s ago: %s.",
		    dry_run ? "Would restore" : "Restored", t->socket, age.data, counts.data);
	if (ret == 0 && lines.len > 0 && (dry_run || say->verbose > 0))
		output_exact(say, "%.*s", (int)lines.len - 1, lines.data);
	buf_release(&counts);
	buf_release(&age);
	buf_release(&lines);
	made->lines = NULL;
	return ret;
}

/* Agents of that server that are to come back, `only` of that session. */
static bool
is_of_workspace(const struct candidate *c, const struct workspace *x, const char *only)
{
	const struct pane *p = &c->pane;
	char *places = *p->id == '%' ? pane_places(p) : xstrdup("");
	bool of = workspace_shape_with(x, places) != NULL;

	free(places);
	return of && (only == NULL || strcmp(p->session, only) == 0);
}

/* The agents of the workspace, as they were found before it was built. */
static int
recover_agents_of(struct cli_batch *r, const struct workspace *x, const char *only)
{
	size_t n = 0;

	for (size_t i = 0; i < r->all.n; i++) {
		r->later[i] = false;
		r->chosen[i] = r->no[i].name == NULL && is_of_workspace(&r->all.v[i], x, only);
		n += r->chosen[i];
	}
	return n > 0 ? cli_batch_recover(r) : GT_OK;
}

/* Option of a server: the lives of servers whose workspaces were built again on it, all of them. */
#define REBUILT "@gt-recover-rebuilt"

static void
note_rebuilt(struct tmux *t, const struct workspace *x)
{
	char *life = pane_place(x->server_pid, x->server_start, " ");

	tmux_do(t, true, NULL, NULL, "set-option", "-g", "-a", REBUILT, life, NULL);
	free(life);
}

/* What a person has closed since stays closed. */
static bool
is_rebuilt(struct tmux *t, const struct workspace *x)
{
	char *life = pane_place(x->server_pid, x->server_start, " ");
	struct buf all = BUF_INIT;
	bool yes;

	yes = tmux_do(t, false, &all, NULL, "show-options", "-g", "-q", "-v", REBUILT, NULL) == 0 &&
	    all.data != NULL && strstr(all.data, life) != NULL;
	buf_release(&all);
	free(life);
	return yes;
}

static json_t *
restored_json(const struct workspace *x, const struct workspace_result *made)
{
	json_t *v = workspace_json(x);

	json_object_del(v, "shape");
	json_put_int(v, "sessions", (int64_t)made->sessions);
	json_put_int(v, "windows", (int64_t)made->windows);
	json_put_int(v, "panes", (int64_t)made->panes);
	json_put_int(v, "agents", (int64_t)made->agents);
	return v;
}

/* -1, or the exit status. */
static int
restore_on(struct cli_batch *r, struct tmux *t, struct workspace *x, const char *only, json_t *all,
    struct err *e)
{
	struct workspace_part part = { .session = only };
	struct workspace_result made = { .panes = 0 };

	if (restore_one(&r->say, &r->w, t, x, &part, r->cli->dry_run, &made, e) != 0)
		return -1;
	if (only == NULL && !r->cli->dry_run)
		note_rebuilt(t, x);
	json_array_append_new(all, restored_json(x, &made));
	if (made.panes == 0)
		output_line(&r->say, "The workspace on socket %s is complete.", t->socket);
	return r->cli->dry_run ? GT_OK : recover_agents_of(r, x, only);
}

static int
restore_all(struct cli_batch *r, const char *only, json_t *all, struct err *e)
{
	size_t found = 0, named = 0;
	int ret = GT_OK;

	for (size_t i = 0; i < r->w.n_servers && ret >= 0; i++) {
		struct workspace x;
		int one;

		if (!find_workspace(&r->w, &r->w.servers[i], &x))
			continue;
		found++;
		if (only == NULL || has_session(workspace_now(&x), only)) {
			named++;
			one = restore_on(r, &r->w.servers[i], &x, only, all, e);
			ret = one < 0 || ret == GT_OK ? one : ret;
		}
		workspace_release(&x);
	}
	if (ret != GT_OK)
		return ret;
	if (found == 0)
		return no_workspace(e);
	return named == 0 ? no_session(only, e) : GT_OK;
}

static int
restore_workspace(struct verb_job *j, struct err *e)
{
	json_t *all = json_array();
	struct workspace_opened *opened = NULL;
	struct cli_batch r;
	int ret = cli_batch_open(&r, &j->cli, e);

	r.mass = true;
	if (ret == 0 && !j->cli.dry_run)
		cli_open_servers(&r, true, &opened);
	/* no server is no error: it is started */
	if (ret == 0 && cli_batch_detect(&r, e) != 0 && !cli_no_server(&r.w, e))
		ret = -1;
	if (ret == 0) {
		err_clear(e);
		ret = restore_all(&r, j->cli.n_args > 0 ? j->cli.args[0] : NULL, all, e);
	}
	if (ret >= 0)
		cmd_verb_json(j, "workspaces", all);
	else
		json_decref(all);
	cli_close_servers(&r, opened);
	if (!j->cli.dry_run)
		cli_export_events(&r.w);
	cli_batch_close(&r);
	return ret;
}

/* ---- for agents that are recovered ---- */

/* A server's life with which agents were lost, and whose sessions and panes are built again for them. */
struct rebuild_job {
	const struct cli_rebuild *ask;
	struct tmux *t;
	struct server_life {
		pid_t pid;
		int64_t start;
	} home;
	bool lives;
	bool whole;
	char **places;			/* of the agents */
	size_t n;
};

static bool
is_lost_pane(const struct cli_rebuild *r, size_t i, const struct tmux *t)
{
	const struct candidate *c = &r->all->v[i];

	return (r->chosen == NULL || r->chosen[i]) && c->status == AGENT_MISSING && *c->pane.id == '%' &&
	    !recovery_uses_gt(r->w, c) && strcmp(c->pane.socket, t->socket) == 0;
}

/* The panes that stand in one shape, until none is left. */
static int
restore_panes(struct rebuild_job *j, struct workspace *x, struct err *e)
{
	const char **some = xcalloc(j->n, sizeof *some);
	struct workspace_result made = { .panes = 0 };
	int ret = 0;

	for (size_t i = 0; i < j->n && ret == 0; i++) {
		struct workspace_part part = { .places = some,
			.shape = j->places[i] != NULL ? workspace_shape_with(x, j->places[i]) : NULL };

		for (size_t k = i; k < j->n && part.shape != NULL; k++) {
			if (j->places[k] == NULL || workspace_shape_with(x, j->places[k]) != part.shape)
				continue;
			some[part.n++] = j->places[k];
		}
		if (part.n > 0)
			ret = restore_one(j->ask->say, j->ask->w, j->t, x, &part, j->ask->dry_run, &made, e);
		for (size_t k = i; k < j->n; k++)
			for (size_t m = 0; m < part.n; m++)
				if (j->places[k] == some[m]) {
					free(j->places[k]);
					j->places[k] = NULL;
				}
	}
	free(some);
	return ret;
}

static int
rebuild_life(struct rebuild_job *j, const char *socket_path, struct err *e)
{
	struct workspace_part all = { .n = 0 };
	struct workspace_result made = { .panes = 0 };
	struct workspace x;
	int ret;

	if (!workspace_read(j->ask->w, socket_path, j->home.pid, j->home.start, NULL, &x))
		return 0;
	if (j->whole && !j->lives && !is_rebuilt(j->t, &x)) {
		ret = restore_one(j->ask->say, j->ask->w, j->t, &x, &all, j->ask->dry_run, &made, e);
		if (ret == 0 && !j->ask->dry_run)
			note_rebuilt(j->t, &x);
	} else {
		ret = restore_panes(j, &x, e);
	}
	workspace_release(&x);
	return ret;
}

/* The newest life of the server, of those that had the agent's pane, whose workspace is kept. */
static void
find_home(const struct cli_rebuild *r, const struct pane *p, struct server_life *out)
{
	char *places = pane_places(p), *id;
	const char *at = places;
	struct workspace x;

	while (out->pid == 0 && pane_place_read(&at, &out->pid, &out->start, &id)) {
		free(id);
		if (workspace_read(r->w, p->socket_path, out->pid, out->start, NULL, &x))
			workspace_release(&x);
		else
			out->pid = 0;
	}
	free(places);
}

/* The newest of them; -1: none is left. */
static ssize_t
next_home(const struct server_life *homes, size_t n)
{
	ssize_t found = -1;

	for (size_t i = 0; i < n; i++)
		if (homes[i].pid != 0 && (found < 0 || homes[i].start > homes[found].start))
			found = (ssize_t)i;
	return found;
}

static void
rebuild_home(struct rebuild_job *j, const struct pane *one)
{
	struct err e = ERR_INIT;

	if ((j->lives || !j->ask->unattended || workspace_end(j->ask->w, one) != END_UNCLEAR) &&
	    rebuild_life(j, one->socket_path, &e) != 0)
		output_warning(j->ask->say, "the workspace on socket %s is incomplete: %s%s%s",
		    output_shown(j->t->socket, 40), output_shown(e.msg, 0), *e.hint != '\0' ? "\n  " : "",
		    output_shown(e.hint, 0));
}

static void
rebuild_on(const struct cli_rebuild *r, struct tmux *t)
{
	struct server_life *homes = xcalloc(r->all->n + 1, sizeof *homes);
	struct panes list;
	bool lives = living_server(t, &list), whole = r->whole;
	ssize_t first;

	for (size_t i = 0; i < r->all->n; i++)
		if (is_lost_pane(r, i, t))
			find_home(r, &r->all->v[i].pane, &homes[i]);
	while ((first = next_home(homes, r->all->n)) >= 0 && cli_stop_signal() == 0) {
		struct rebuild_job j = { .ask = r, .t = t, .home = homes[first], .whole = whole,
			.places = xcalloc(r->all->n, sizeof *j.places) };

		j.lives = lives && j.home.pid == list.v[0].server_pid &&
		    j.home.start == list.v[0].server_start;
		for (size_t i = 0; i < r->all->n; i++) {
			if (homes[i].pid != j.home.pid || homes[i].start != j.home.start)
				continue;
			homes[i].pid = 0;
			j.places[j.n++] = pane_places(&r->all->v[i].pane);
		}
		rebuild_home(&j, &r->all->v[first].pane);
		/* what older servers had is in the newest one's, or was closed there */
		whole = whole && j.lives;
		for (size_t i = 0; i < j.n; i++)
			free(j.places[i]);
		free(j.places);
	}
	pane_list_release(&list);
	free(homes);
}

void
cli_rebuild(const struct cli_rebuild *ask)
{
	for (size_t i = 0; i < ask->w->n_servers && cli_stop_signal() == 0; i++)
		rebuild_on(ask, &ask->w->servers[i]);
}

void
cli_batch_rebuild(struct cli_batch *r, bool whole, bool unattended)
{
	struct cli_rebuild ask = { .w = &r->w, .say = &r->say, .all = &r->all, .chosen = r->chosen,
		.dry_run = r->cli->dry_run, .whole = whole, .unattended = unattended };

	cli_rebuild(&ask);
}

/* ---- servers that ended ---- */

static bool
went_with_it(const struct candidate *c, const struct pane *p)
{
	return c->status == AGENT_MISSING && c->reason == REASON_SERVER_EXIT &&
	    c->pane.server_pid == p->server_pid && c->pane.server_start == p->server_start &&
	    strcmp(c->pane.socket_path, p->socket_path) == 0;
}

/* How many agents ended with its server; 0: its server lives, or an earlier one of the list tells. */
static size_t
count_lost(const struct candidate_list *all, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < all->n; k++) {
		bool same = went_with_it(&all->v[k], &all->v[i].pane);

		if (same && n == 0 && k != i)
			return 0;
		n += same;
	}
	return n;
}

void
cli_warn_ended(struct app *w, const struct candidate_list *all)
{
	static const char *const causes[] = {
		[END_UNCLEAR] = "cause unclear",
		[END_REBOOT] = "reboot",
		[END_OOM] = "killed by the kernel: out of memory",
		[END_CRASH] = "crash of tmux",
		[END_KILLED] = "killed, or ended by a command",
	};
	struct buf line = BUF_INIT;

	for (size_t i = 0; i < all->n; i++) {
		size_t n = count_lost(all, i);
		enum workspace_end end = n > 0 ? workspace_end_report(w, &all->v[i].pane) : END_UNCLEAR;

		if (n == 0 || (n == 1 && (end == END_UNCLEAR || end == END_KILLED)))
			continue;
		buf_reset(&line);
		buf_fmt(&line, "The tmux server on socket %s ended (%s), and %zu agent%s with it.",
		    output_shown(all->v[i].pane.socket, 40), causes[end], n, n == 1 ? "" : "s");
		output_fitted(stderr, "", line.data, 0);
	}
	buf_release(&line);
}

json_t *
cli_ended_json(struct app *w, const struct candidate_list *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->n; i++) {
		const struct pane *p = &all->v[i].pane;
		size_t n = count_lost(all, i);
		json_t *v;

		if (n == 0)
			continue;
		v = json_object();
		json_put(v, "socket", p->socket_path);
		json_put_int(v, "server_pid", p->server_pid);
		json_put_int(v, "server_started_at", p->server_start * 1000);
		json_put(v, "cause", workspace_end_name(workspace_end_report(w, p)));
		json_put_int(v, "agents", (int64_t)n);
		json_array_append_new(list, v);
	}
	return list;
}

const struct verb workspace_verbs[] = {
	{ "show", show_workspace, 0, 1, .options = OPT_TMUX },
	{ "restore", restore_workspace, 0, 1, .options = OPT_TMUX | OPT_DRY },
	{ .name = NULL },
};
