#include <signal.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "base/clock.h"
#include "process/proc.h"
#include "snapshot/pass/pass.h"

/*
 * restart: ends running agents and recovers them. An agent is ended by SIGKILL, after a snapshot of its
 * pane: that leaves the records by which a recovery finds its conversation, while an orderly exit removes
 * them, and an agent that hangs takes no other signal.
 */
#define GONE_MS 10000
#define LOOK_MS 50

struct restart_job {
	const struct cli *cli;
	struct app w;
	struct cli_output say;
	struct candidate_list all;
	uint64_t *ticks;		/* of each agent's process, when it was looked at */
	bool *chosen;
	size_t n;
	json_t *collected;		/* --json: what the recoveries told, NULL otherwise */
};

/* ---- which ---- */

static bool
is_running(const struct candidate *c)
{
	return (c->status == AGENT_LIVE || c->status == AGENT_RESPAWNED) && c->agent_pid > 0 &&
	    c->background == NULL;
}

static struct tmux *
server_of(struct restart_job *j, const struct candidate *c)
{
	for (size_t i = 0; i < j->w.n_servers; i++)
		if (strcmp(j->w.servers[i].socket, c->pane.socket) == 0)
			return &j->w.servers[i];
	return NULL;
}

/* It waits for its user: by its own word, else by its screen. What cannot be told is not idle. */
static bool
is_idle(struct restart_job *j, const struct candidate *c)
{
	struct agent_pid_file note;
	struct buf screen = BUF_INIT;
	struct err none = ERR_INIT;
	size_t from, to;
	bool idle = false;

	if (c->config_dir != NULL && agent_pid_file_read(c->config_dir, c->agent_pid, &note)) {
		bool told = *note.status != '\0';

		idle = agent_pid_file_is_idle(&note);
		agent_pid_file_release(&note);
		if (told)
			return idle;
	}
	if (tmux_do(server_of(j, c), false, &screen, &none, "capture-pane", "-p", "-t", c->pane.id,
	    NULL) == 0)
		idle = profile_is_ready(c->profile, screen.data, screen.len, &from, &to);
	buf_wipe(&screen);
	return idle;
}

static int
choose_named(struct restart_job *j, struct err *e)
{
	for (size_t i = 0; i < j->cli->n_args; i++) {
		const struct candidate *c = cli_pick_named(&j->all, j->cli->args[i], e);

		if (c == NULL)
			return -1;
		if (c->own_pane) {
			err_set(e, GT_REFUSED, "own-pane", "gt-recover itself runs in this pane");
			return err_hint(e, "run it from another pane");
		}
		if (!is_running(c)) {
			err_set(e, GT_NOTHING, "not-running", "no agent is running in %s",
			    output_name(c, 60));
			return err_hint(e, "to recover one that crashed: gt-recover %s", output_name(c, 60));
		}
		j->n += !j->chosen[c - j->all.v];
		j->chosen[c - j->all.v] = true;
	}
	return 0;
}

static void
choose_idle(struct restart_job *j)
{
	for (size_t i = 0; i < j->all.n; i++) {
		const struct candidate *c = &j->all.v[i];

		if (!is_running(c) || c->own_pane || (role_is_infra(c->role.kind) && !j->cli->include_infra))
			continue;
		j->chosen[i] = is_idle(j, c);
		if (j->chosen[i])
			j->n++;
		else
			output_line(&j->say, "%s: skipped: not idle", output_name(c, 60));
	}
}

/* ---- ending ---- */

/* Nothing is ended whose screen is not kept. */
static int
keep_screens(struct restart_job *j, struct err *e)
{
	const char **panes = xcalloc(j->n, sizeof *panes);
	struct snapshot_request ask = { .names = panes };
	struct snapshot_pass run;
	int ret;

	for (size_t i = 0; i < j->all.n; i++)
		if (j->chosen[i])
			panes[ask.n++] = j->all.v[i].pane.id;
	ret = snapshot_pass(&j->w, &ask, &run, e);
	for (size_t i = 0; i < run.n && ret == 0; i++)
		if (run.v[i].how == SNAP_FAILED) {
			*e = run.v[i].error;
			ret = err_add(e, "%s not restarted: no snapshot",
			    output_shown(run.v[i].session, 60));
		}
	snapshot_pass_release(&run);
	free(panes);
	return ret;
}

/* The process that was looked at, and no other one with its pid. */
static int
end_agent(struct restart_job *j, const struct candidate *c, uint64_t ticks, struct err *e)
{
	int64_t until = clock_mono_ms() + GONE_MS;

	/* or tmux closes the pane with it */
	if (tmux_do(server_of(j, c), true, NULL, e, "set-option", "-p", "-t", c->pane.id, "remain-on-exit",
	    "on", NULL) != 0)
		return -1;
	if (ticks == 0 || proc_ticks(c->agent_pid) != ticks) {
		err_set(e, GT_AGAIN, "changed", "the agent of %s has changed meanwhile", output_name(c, 60));
		return err_hint(e, "run gt-recover restart again");
	}
	if (kill(c->agent_pid, SIGKILL) != 0)
		return err_sys(e, GT_FAIL, "kill", "cannot end the agent of %s", output_name(c, 60));
	while (proc_ticks(c->agent_pid) == ticks && clock_mono_ms() < until)
		clock_sleep_ms(LOOK_MS);
	if (proc_ticks(c->agent_pid) != ticks)
		return 0;
	err_set(e, GT_FAIL, "alive", "the agent of %s does not end", output_name(c, 60));
	return err_hint(e, "its process %d waits in the kernel, perhaps for a disk or network file system",
	    (int)c->agent_pid);
}

/* What the pane had set itself is put back; heap. */
static char *
pane_option(struct restart_job *j, const struct candidate *c)
{
	struct buf out = BUF_INIT;
	struct err none = ERR_INIT;

	tmux_do(server_of(j, c), false, &out, &none, "show-options", "-p", "-q", "-v", "-t", c->pane.id,
	    "remain-on-exit", NULL);
	if (out.len > 0 && out.data[out.len - 1] == '\n')
		out.data[--out.len] = '\0';
	return out.len > 0 ? buf_detach(&out) : NULL;
}

static void
restore_option(struct restart_job *j, const struct candidate *c, const char *before)
{
	struct err none = ERR_INIT;

	if (before != NULL)
		tmux_do(server_of(j, c), true, NULL, &none, "set-option", "-p", "-t", c->pane.id,
		    "remain-on-exit", before, NULL);
	else
		tmux_do(server_of(j, c), true, NULL, &none, "set-option", "-p", "-u", "-t", c->pane.id,
		    "remain-on-exit", NULL);
}

/* One after the other: an agent that cannot be brought back stops the rest, which still run. */
static int
restart_running(struct restart_job *j, const struct candidate *c, struct err *e)
{
	struct cli one = *j->cli;
	const char *args[] = { c->pane.id }, *socket[] = { c->pane.socket };
	char *before = pane_option(j, c);
	int ret = end_agent(j, c, j->ticks[c - j->all.v], e);

	if (ret == 0) {
		one.command = "";
		one.args = args;
		one.n_args = 1;
		one.sockets = socket;
		one.n_sockets = 1;
		one.all = false;
		one.collected = j->collected;
		ret = cmd_recover(&one, e);
	}
	if (ret == GT_OK || ret == GT_UNACKED)
		restore_option(j, c, before);
	free(before);
	return ret;
}

/* ---- the command ---- */

static void
restart_plan_json(const struct restart_job *j)
{
	json_t *v = json_object(), *list = json_array();

	for (size_t i = 0; i < j->all.n; i++) {
		json_t *one = json_object();

		if (!j->chosen[i]) {
			json_decref(one);
			continue;
		}
		json_put(one, "session", j->all.v[i].pane.session);
		json_put(one, "pane_id", j->all.v[i].pane.id);
		json_put(one, "agent", j->all.v[i].profile->name);
		json_array_append_new(list, one);
	}
	json_put_flag(v, "dry_run", true);
	json_object_set_new(v, "agents", list);
	output_event_or_object(j->cli, "plan", v);
}

static void
collect(struct restart_job *j)
{
	static const char *const counts[] = { "found", "recovered", "unacknowledged", "refused", "failed" };

	j->collected = json_object();
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		json_put_int(j->collected, counts[i], 0);
	if (j->cli->json_format == NULL)
		json_object_set_new(j->collected, "results", json_array());
}

static bool
is_agreed(const struct restart_job *j)
{
	char answer[16];

	if (!j->cli->json)
		for (size_t i = 0; i < j->all.n; i++)
			if (j->chosen[i])
				printf("%s  %s%s\n", output_name(&j->all.v[i], 40),
				    j->all.v[i].profile->label, j->cli->dry_run ? " would be restarted" : "");
	if (j->cli->dry_run || j->cli->yes)
		return true;
	printf("End %s and start %s again? [y/N]: ", j->n == 1 ? "this agent" : "these agents",
	    j->n == 1 ? "it" : "them");
	fflush(stdout);
	return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

static int
restart_agents(struct restart_job *j, struct err *e)
{
	int ret = snapshot_detect(&j->w, &j->all, e), worst = GT_OK;

	if (ret != 0 && !cli_no_server(&j->w, e))
		return -1;
	j->chosen = xcalloc(j->all.n + 1, sizeof *j->chosen);
	j->ticks = xcalloc(j->all.n + 1, sizeof *j->ticks);
	for (size_t i = 0; i < j->all.n; i++)
		if (is_running(&j->all.v[i]))
			j->ticks[i] = proc_ticks(j->all.v[i].agent_pid);
	if (j->cli->all)
		choose_idle(j);
	else if (choose_named(j, e) != 0)
		return -1;
	if (j->n == 0) {
		output_line(&j->say, "No idle agents to restart.");
		return GT_NOTHING;
	}
	if (!j->cli->yes && !j->cli->dry_run && !cli_has_person(j->cli)) {
		err_set(e, GT_USAGE, "needs-yes", "restart needs --yes without a terminal");
		return err_hint(e, "gt-recover restart --dry-run shows the plan");
	}
	if (!is_agreed(j)) {
		output_line(&j->say, "Nothing was restarted.");
		return GT_NOTHING;
	}
	if (j->cli->dry_run) {
		if (j->cli->json)
			restart_plan_json(j);
		return GT_OK;
	}
	if (keep_screens(j, e) != 0)
		return -1;
	for (size_t i = 0; i < j->all.n && cli_stop_signal() == 0; i++) {
		if (!j->chosen[i])
			continue;
		ret = restart_running(j, &j->all.v[i], e);
		if (ret < 0)
			return -1;
		worst = ret != GT_OK ? ret : worst;
		/* what befell it would befall the others */
		if (ret != GT_OK && ret != GT_UNACKED && --j->n > 0)
			return GT_SOME;
	}
	return worst;
}

int
cmd_restart(const struct cli *cli, struct err *e)
{
	struct restart_job j = { .cli = cli };
	struct cli_targets targets;
	struct cli named = *cli;
	bool off;
	int ret;

	if (cli->all == (cli->n_args > 0)) {
		err_set(e, GT_USAGE, "usage", "restart needs a session, or --all");
		return err_hint(e, "gt-recover restart SESSION");
	}
	if (cli_check_via(cli, e) != 0 || cli_open_app(cli, &j.w, e) != 0)
		return -1;
	output_init(&j.say, cli);
	cli_targets_init(&targets, &j.w, cli);
	named.args = (const char *const *)targets.words;
	j.cli = &named;
	off = cli_is_disabled(cli, &j.w);
	if (cli->json && !cli->dry_run && !off)
		collect(&j);
	ret = off ? GT_OK : restart_agents(&j, e);
	if (ret >= 0 && j.collected != NULL)
		output_event_or_object(cli, "summary", json_incref(j.collected));
	json_decref(j.collected);
	cli_targets_release(&targets);
	candidate_list_release(&j.all);
	free(j.chosen);
	free(j.ticks);
	output_release(&j.say);
	cli_close_app(&j.w);
	return ret;
}
