#include "cli/cli_private.h"
#include "base/sys.h"
#include "config/config.h"
#include "recover/upkeep/upkeep.h"
#include "scrub/scrub.h"
#include "snapshot/pass/pass.h"
#include "tmux/tmux.h"

struct arm_job {
	const struct cli *cli;
	struct app *w;
	struct cli_output *say;
	json_t *sessions;
	size_t done, failed;
	struct err last;
};

static json_t *
armed_session_json(struct arm_job *j, const char *session, const char *socket, const struct err *e)
{
	json_t *v = json_object();

	json_put(v, "name", session);
	json_put(v, "socket", socket);
	json_object_set_new(v, "error", output_error_json(e));
	json_array_append_new(j->sessions, v);
	return v;
}

static void
failed(struct arm_job *j, const char *session, struct err *e)
{
	scrub_error(e, NULL);
	output_warning(j->say, "%s: %s", output_shown(session, 60), output_shown(e->msg, 0));
	j->failed++;
	j->last = *e;
}

/* --- arm --- */

static void
add_shell_option(struct buf *sh, const char *option, const char *value)
{
	buf_fmt(sh, " %s ", option);
	quote_sh(sh, value);
}

static void
add_command_of_ours(struct buf *sh, const char *program, const char *command, const char *socket_path,
    const char *town, const char *config)
{
	quote_sh(sh, program);
	buf_fmt(sh, " %s", command);
	add_shell_option(sh, "--socket", socket_path);
	if (town != NULL)
		add_shell_option(sh, "--town", town);
	if (config != NULL)
		add_shell_option(sh, "--config", config);
}

/*
 * What tmux's server runs when a pane of the window dies: in sh, with the server's environment. A
 * snapshot notes the death; status then starts a patrol, if that is configured. The pane's id is
 * filled in by tmux, all else is quoted for sh and for tmux's formats. Heap; NULL when this program
 * does not know its own path.
 */
static char *
hook_script(const struct cli *cli, const char *socket_path)
{
	char *program = sys_program_path(), *town = cli->town != NULL ? cli_absolute_path(cli->town) : NULL;
	char *config = cli->config != NULL ? cli_absolute_path(cli->config) : NULL;
	struct buf sh = BUF_INIT, script = BUF_INIT;

	if (program != NULL) {
		add_command_of_ours(&sh, program, "snapshot --quiet", socket_path, town, config);
		quote_format(&script, sh.data);
		/* what it prints would be shown over somebody's pane */
		buf_str(&script, " '#{pane_id}' >/dev/null 2>&1; ");
		buf_release(&sh);
		buf_init(&sh);
		add_command_of_ours(&sh, program, "status --quiet", socket_path, town, config);
		quote_format(&script, sh.data);
		buf_str(&script, " >/dev/null 2>&1");
	}
	free(program);
	free(town);
	free(config);
	buf_release(&sh);
	return script.len > 0 ? buf_detach(&script) : NULL;
}

static void
print_armed(struct arm_job *j, const struct candidate *c, size_t panes, const struct arming *a)
{
	struct buf lines = BUF_INIT;
	const char *verb = !a->changed ? "is already set "
	    "up" : j->cli->dry_run ? "would be set "
	    "up" : "is armed";

	output_line(j->say, "%s %s: %s when the agent dies", output_shown(c->pane.session, 60), verb,
	    panes == 1 ? "its pane stays" : "its agent panes stay");
	if (a->history_want > a->history_now) {
		output_thousands(&lines, (size_t)a->history_want);
		output_line(j->say,
		    "  %s lines of scrollback for new panes; existing panes keep their limit",
		    lines.data);
	}
	if (a->hook_left_out)
		output_line(j->say,
		    "  no snapshot at the death: the server has its own pane-died hook");
	buf_release(&lines);
}

static void
arm_one(struct arm_job *j, const struct candidate *const *panes, size_t n)
{
	const struct pane *p = &panes[0]->pane;
	char *script = hook_script(j->cli, p->socket_path);
	struct err e = ERR_INIT;
	struct arming a;
	json_t *v, *ids = json_array();

	if (arm_session(j->w, panes, n, script, j->cli->dry_run, &a, &e) != 0) {
		failed(j, p->session, &e);
	} else {
		print_armed(j, panes[0], n, &a);
		j->done++;
	}
	v = armed_session_json(j, p->session, p->socket, &e);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(ids, json_string(panes[i]->pane.id));
	json_object_set_new(v, "panes", ids);
	json_put_flag(v, "armed", e.code == 0 && !(j->cli->dry_run && a.changed));
	json_put_flag(v, "changed", e.code == 0 && a.changed);
	json_put_flag(v, "hook", e.code == 0 && a.record.n_windows > 0);
	json_put_int(v, "history_limit", a.history_want);
	armed_release(&a.record);
	free(script);
}

static bool
same_session(const struct candidate *a, const struct candidate *b)
{
	return a->pane.server_pid == b->pane.server_pid && a->pane.server_start == b->pane.server_start &&
	    strcmp(a->pane.session_id, b->pane.session_id) == 0;
}

/* Marks those that a word names; a word that names nothing is an error. */
static int
mark_named(struct arm_job *j, struct candidate_list *all, bool *wanted, struct err *e)
{
	for (size_t i = 0; i < j->cli->n_args; i++) {
		size_t n = 0;

		for (size_t k = 0; k < all->n; k++)
			if (strcmp(all->v[k].pane.session, j->cli->args[i]) == 0 ||
			    strcmp(all->v[k].pane.id, j->cli->args[i]) == 0) {
				wanted[k] = true;
				n++;
			}
		if (n == 0) {
			cli_pick_named(all, j->cli->args[i], e);
			return -1;
		}
	}
	return 0;
}

static void
mark_scope(struct arm_job *j, const struct candidate_list *all, bool *wanted)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct candidate *c = &all->v[i];

		wanted[i] = !c->low_confidence && c->status != AGENT_UNKNOWN &&
		    c->status != AGENT_REMOTE &&
		    !config_session_off(j->w->config, c->pane.session) &&
		    (!role_is_infra(c->role.kind) || j->cli->include_infra ||
			config_flag(j->w->config, "include_infra"));
	}
}

static int
arm_all(struct arm_job *j, struct err *e)
{
	struct candidate_list all = { .n = 0 };
	const struct candidate **panes;
	bool *wanted;
	int ret = 0;

	if (snapshot_detect(j->w, &all, e) != 0)
		return -1;
	cli_warn_server(&all.trouble);
	cli_warn_exposed(j->w, &all.exposed);
	wanted = xcalloc(all.n, sizeof *wanted);
	panes = xcalloc(all.n, sizeof *panes);
	if (j->cli->n_args > 0)
		ret = mark_named(j, &all, wanted, e);
	else
		mark_scope(j, &all, wanted);
	for (size_t i = 0; i < all.n && ret == 0 && cli_stop_signal() == 0; i++) {
		size_t n = 0;

		for (size_t k = i; k < all.n; k++)
			if (wanted[k] && wanted[i] && same_session(&all.v[i], &all.v[k]))
				panes[n++] = &all.v[k];
		if (n > 0)
			arm_one(j, panes, n);
		for (size_t k = i + 1; k < all.n; k++)
			wanted[k] = wanted[k] && !(n > 0 && same_session(&all.v[i], &all.v[k]));
	}
	free(panes);
	free(wanted);
	candidate_list_release(&all);
	return ret;
}

/* --- disarm --- */

static void
print_disarmed(struct arm_job *j, const char *name, size_t restored)
{
	output_line(j->say, "%s %s: %zu setting%s restored", output_shown(name, 60),
	    j->cli->dry_run ? "would be reset" : "is disarmed", restored, restored == 1 ? "" : "s");
}

static void
disarm_one(
    struct arm_job *j, struct tmux *t, const struct armed *a, const char *name, const struct panes *now)
{
	struct err e = ERR_INIT;
	size_t restored = 0;
	json_t *v;

	if (arm_disarm_session(j->w, t, a, now, j->cli->dry_run, &restored, &e) != 0) {
		failed(j, name, &e);
	} else {
		print_disarmed(j, name, restored);
		j->done++;
	}
	v = armed_session_json(j, name, t->socket, &e);
	json_put_flag(v, "armed", e.code != 0 || j->cli->dry_run);
	json_put_int(v, "restored", (int64_t)restored);
}

/* Its name now; NULL when it is gone. */
static const char *
name_of(const struct armed *a, const struct panes *now)
{
	for (size_t i = 0; i < now->n; i++)
		if (strcmp(now->v[i].session_id, a->session_id) == 0)
			return now->v[i].session;
	return NULL;
}

static bool
is_asked_session(const struct cli *cli, const struct armed *a, const char *name, bool *met)
{
	bool asked = cli->n_args == 0;

	for (size_t i = 0; i < cli->n_args; i++)
		if (strcmp(cli->args[i], name) == 0 || armed_pane(a, cli->args[i]) != NULL)
			asked = met[i] = true;
	return asked;
}

/* The armed sessions of one server. Records of what is gone from it have nothing to tell any more. */
static int
disarm_server(struct arm_job *j, struct tmux *t, const struct armed_list *all, bool *met, struct err *e)
{
	struct panes now = { .n = 0 };
	int ret = pane_list(t, &now, e);

	for (size_t i = 0; i < all->n && ret == 0 && now.n > 0; i++) {
		const struct armed *a = &all->v[i];
		bool here = a->server_pid == now.v[0].server_pid && a->server_start == now.v[0].server_start;
		const char *name = here ? name_of(a, &now) : NULL;

		if (strcmp(a->socket, now.v[0].socket_path) != 0)
			continue;
		if (name == NULL && !j->cli->dry_run && app_store(j->w, true, e) != NULL)
			armed_delete(app_store(j->w, true, e), a, "gone", e);
		else if (name != NULL && is_asked_session(j->cli, a, name, met))
			disarm_one(j, t, a, name, &now);
		err_clear(e);
	}
	pane_list_release(&now);
	return ret;
}

static int
unknown_to_disarm(const struct cli *cli, const bool *met, struct err *e)
{
	for (size_t i = 0; i < cli->n_args; i++)
		if (!met[i]) {
			err_set(e, GT_NOTHING, "not-armed", "the session \"%s\" was not set up by gt-recover",
			    output_shown(cli->args[i], 80));
			return err_hint(e, "gt-recover list shows which are");
		}
	return 0;
}

static int
disarm_all(struct arm_job *j, struct err *e)
{
	bool *met = xcalloc(j->cli->n_args + 1, sizeof *met);
	struct store *store = app_store(j->w, false, e);
	struct armed_list all = { .n = 0 };
	int ret = store == NULL && e->code != 0 ? -1 : 0;

	if (store != NULL)
		ret = armed_list_read(store, &all, e);
	for (size_t i = 0; i < j->w->n_servers && ret == 0; i++)
		if (disarm_server(j, &j->w->servers[i], &all, met, e) != 0) {
			if (j->w->sockets_named || strcmp(e->name, "no-server") != 0)
				failed(j, j->w->servers[i].socket, e);
			err_clear(e);
		}
	if (ret == 0)
		ret = unknown_to_disarm(j->cli, met, e);
	armed_list_release(&all);
	free(met);
	return ret;
}

/* --- both --- */

static int
run_for_sessions(struct verb_job *job, int (*all)(struct arm_job *j, struct err *e), const char *nothing,
    struct err *e)
{
	struct arm_job j = { .cli = &job->cli, .w = &job->w, .say = &job->say, .sessions = json_array() };
	int ret = all(&j, e);

	if (ret == 0)
		ret = j.failed == 0 ? GT_OK : j.done > 0 ? GT_SOME : j.last.code;
	if (ret >= 0 && j.cli->json) {
		json_t *v = output_object();

		json_put_flag(v, "dry_run", j.cli->dry_run);
		json_object_set(v, "sessions", j.sessions);
		output_json(v);
	}
	if (ret == GT_OK && json_array_size(j.sessions) == 0)
		output_line(j.say, "%s", nothing);
	if (!j.cli->dry_run)
		cli_export_events(j.w);
	json_decref(j.sessions);
	return ret;
}

int
cmd_arm(struct verb_job *j, struct err *e)
{
	return run_for_sessions(
	    j, arm_all, "No agent sessions on the tmux servers searched.", e);
}

int
cmd_disarm(struct verb_job *j, struct err *e)
{
	return run_for_sessions(
	    j, disarm_all, "Nothing is set up on the tmux servers searched.", e);
}
