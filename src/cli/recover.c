#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "beads/beads.h"
#include "config/config.h"

/* The bare command: the picker, SESSION…, --all and --dry-run. */

/* A person may have typed us into the shell that the agent left behind. */
static void
warn_own_pane(struct cli_batch *r)
{
	for (size_t i = 0; i < r->all.n; i++) {
		const struct candidate *c = &r->all.v[i];
		const char *name = output_name(c, 60);

		if (!c->own_pane)
			continue;
		if (c->status == AGENT_UNKNOWN)
			output_warning(&r->say, "%s: %s\nhint: run gt-recover from another pane", name,
			    c->unknown_reason);
		else
			output_warning(&r->say, "%s: gt-recover itself runs in this pane\n"
			    "hint: to recover it in this shell: gt-recover %s", name, name);
	}
}

static int
nothing(struct cli_batch *r, const char *why)
{
	/* with results, cmd_recover prints it */
	if (r->cli->json && json_array_size(r->results) == 0)
		cli_batch_end_json(r, cli_batch_json(r));
	output_line(&r->say, "%s", why);
	warn_own_pane(r);
	return GT_NOTHING;
}

/*
 * Somebody answers: a terminal, or a pipe in which the answer already stands (printf 'all\n' |
 * gt-recover).
 */
static bool
somebody_answers(const struct cli *cli)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat st;
	int c;

	if (cli->no_input || cli->json)
		return false;
	if (isatty(STDIN_FILENO))
		return isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
	if (fstat(STDIN_FILENO, &st) != 0 ||
	    !(S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)))
		return false;
	if (poll(&p, 1, 200) <= 0 || (c = getchar()) == EOF)
		return false;
	ungetc(c, stdin);
	return true;
}

/* Those that a person may look for, and not even naming them helps. */
static int
show_refused(struct cli_batch *r)
{
	bool *shown = xcalloc(r->all.n + 1, sizeof *shown), any = false;
	struct list_table t = { .cli = r->cli, .w = &r->w, .all = &r->all, .beads = r->beads, .no = r->no,
		.shown = shown };
	int ret;

	for (size_t i = 0; i < r->all.n; i++) {
		const struct candidate *c = &r->all.v[i];

		shown[i] = c->status != AGENT_LIVE && !candidate_has_ended(c) && r->no[i].name != NULL;
		any |= shown[i];
	}
	if (any) {
		puts("\nNot recoverable now:");
		cmd_list_table(&t);
	}
	free(shown);
	fflush(stdout);
	ret = nothing(r, "Nothing to recover.");
	if (!any && !r->cli->quiet)
		cli_past_hint();
	return ret;
}

bool
cli_has_person(const struct cli *cli)
{
	return !cli->no_input && !cli->json && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* What is started, and why, before it is; what nobody knows is asked. */
static void
settle_commands(struct cli_batch *r, bool told)
{
	struct command_answer last = { .profile = NULL };

	for (size_t i = 0; i < r->all.n; i++) {
		struct candidate *c = &r->all.v[i];
		struct buf command = BUF_INIT;
		const char *why;

		if (!r->chosen[i])
			continue;
		if (cli_has_person(r->cli) && !r->cli->yes && !recovery_uses_gt(&r->w, c))
			cli_ask_command(&r->w, c, &last);
		if (told && !recovery_uses_gt(&r->w, c) && cli_plan_command(&r->w, c, &command, &why))
			output_line(&r->say, "Started by: %s (%s)", command.data, why);
		buf_release(&command);
	}
	cli_answer_release(&last);
}

/* What a person may want all the same is offered; infrastructure only when asked for. */
static size_t
offer(struct cli_batch *r, bool *offered)
{
	size_t n = 0;

	for (size_t i = 0; i < r->all.n; i++) {
		struct refusal no =
		    recovery_refusal(&r->w, &r->all.v[i], &r->beads[i], true, r->cli->include_infra);
		struct refusal hidden = r->no[i];

		offered[i] = no.name == NULL && !candidate_has_ended(&r->all.v[i]) &&
		    (hidden.name == NULL || strcmp(hidden.name, "infra") != 0);
		n += offered[i];
	}
	return n;
}

/*
 * Another restorer begins with the server of those that were picked, and is let through first. What
 * stands in their places then is picked.
 */
static int
open_picked(struct cli_batch *r, struct workspace_opened **opened, struct err *e)
{
	size_t n = 0;
	char **picked = xcalloc(r->all.n + 1, sizeof *picked);
	bool *offered;
	int ret = 0;

	for (size_t i = 0; i < r->all.n; i++)
		if (r->chosen[i])
			picked[n++] = pane_places(&r->all.v[i].pane);
	if (cli_open_servers(r, false, opened) && (ret = cli_batch_detect(r, e)) == 0) {
		offered = xcalloc(r->all.n + 1, sizeof *offered);
		offer(r, offered);
		for (size_t i = 0; i < r->all.n; i++) {
			char *places = pane_places(&r->all.v[i].pane);

			for (size_t k = 0; k < n && !r->chosen[i]; k++)
				r->chosen[i] = offered[i] && pane_place_is_same(places, picked[k]);
			free(places);
		}
		free(offered);
	}
	for (size_t k = 0; k < n; k++)
		free(picked[k]);
	free(picked);
	return ret;
}

static int
recover_picked(struct cli_batch *r, bool all, struct err *e)
{
	struct workspace_opened *opened = NULL;
	int ret;

	r->named = true;
	ret = open_picked(r, &opened, e);
	if (ret == 0) {
		settle_commands(r, true);
		cli_batch_rebuild(r, all, false);
		ret = cli_batch_recover(r);
	}
	cli_close_servers(r, opened);
	return ret;
}

static int
run_picker(struct cli_batch *r, struct err *e)
{
	bool *offered;
	size_t n;
	int picked = -1;

	if (!somebody_answers(r->cli))
		return -2;
	cli_warn_ended(&r->w, &r->all);
	offered = xcalloc(r->all.n, sizeof *offered);
	n = offer(r, offered);
	if (n == 0) {
		free(offered);
		return show_refused(r);
	}
	picked = cli_picker_run(r, offered);
	if (picked == CLI_PICKER_UNFIT)
		picked = cli_pick_ask(&r->all, offered, r->chosen, isatty(STDIN_FILENO), e);
	free(offered);
	if (picked < 0)
		return -1;
	if (picked == 0)
		return nothing(r, "Nothing was recovered.");
	return recover_picked(r, (size_t)picked == n, e);
}

static bool
confirmed(const struct cli *cli, size_t n)
{
	char answer[16];

	if (cli->yes)
		return true;
	if (n == 1)
		fputs("Recover this session? [y/N]: ", stdout);
	else
		printf("Recover these %zu sessions? [y/N]: ", n);
	fflush(stdout);
	return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

static int
run_all(struct cli_batch *r, struct err *e)
{
	size_t n = cli_batch_choose(r);
	int ret;

	bool terminal = isatty(STDIN_FILENO) && !r->cli->no_input && !r->cli->json;

	cli_warn_ended(&r->w, &r->all);
	/* --json is one object: there the error below */
	if (r->cli->dry_run || (!r->cli->yes && !r->cli->json))
		cli_batch_print_plan(r, NULL);
	if (r->cli->dry_run && !r->cli->json)
		cli_batch_rebuild(r, true, false);
	if (r->cli->dry_run)
		return n == 0 ? GT_NOTHING : GT_OK;
	if (n == 0) {
		cli_batch_count_refused(r);
		ret = nothing(r, "Nothing to recover.");
		cli_batch_print_sum(r, 0);
		return ret;
	}
	if (!r->cli->yes && !terminal) {
		err_set(e, GT_USAGE, "needs-yes",
		    "--all needs --yes without a terminal; this was the plan");
		return err_hint(e, "gt-recover --all --yes");
	}
	if (!confirmed(r->cli, n))
		return nothing(r, "Nothing was recovered.");
	cli_batch_count_refused(r);
	cli_batch_rebuild(r, true, false);
	return cli_batch_recover(r);
}

/* A person who looked at it says that its shell was an agent's. */
static int
force_shell(struct cli_batch *r, struct candidate *c, struct err *e)
{
	if (!r->cli->force || c->status != AGENT_UNKNOWN || !c->empty_shell)
		return 0;
	c->status = AGENT_ZOMBIE;
	c->reason = REASON_PROCESS_DIED;
	return detect_lines(&r->w, &r->all, e);
}

static int
run_named(struct cli_batch *r, struct err *e)
{
	r->named = true;
	for (size_t i = 0; i < r->cli->n_args; i++) {
		struct candidate *c = cli_pick_named(&r->all, r->cli->args[i], e);

		if (c == NULL || force_shell(r, c, e) != 0)
			return -1;
		if (cli_choose_conversation(c, r->cli->conversation, e) != 0)
			return -1;
		r->chosen[c - r->all.v] = true;
		r->no[c - r->all.v] = recovery_refusal(&r->w, c, &r->beads[c - r->all.v], true, true);
	}
	if (!r->cli->dry_run) {
		settle_commands(r, false);
		return cli_batch_recover(r);
	}
	for (size_t i = 0; i < r->all.n; i++) {
		const struct refusal *no = &r->no[i];

		if (r->chosen[i] && no->name != NULL) {
			err_set(e, GT_REFUSED, no->name, "refused: %s", no->sentence);
			return err_hint(e, "%s", no->hint);
		}
	}
	/* of the others nothing was asked */
	for (size_t i = 0; i < r->all.n; i++)
		if (!r->chosen[i])
			r->all.v[i].status = AGENT_LIVE;
	cli_batch_print_plan(r, NULL);
	return GT_OK;
}

static int
check_choices(const struct cli *cli, struct err *e)
{
	if (cli_check_via(cli, e) != 0)
		return -1;
	if (cli->scope != NULL && strcmp(cli->scope, "task") != 0 && strcmp(cli->scope, "lines") != 0) {
		err_set(e, GT_USAGE, "usage", "--scope takes task or lines, not \"%.40s\"", cli->scope);
		return err_hint(e, "lines: the newest max_context_lines lines");
	}
	if (cli->conversation != NULL && cli->n_args != 1) {
		err_set(e, GT_USAGE, "usage", "--conversation needs the name of one session");
		return err_hint(e, "gt-recover SESSION --conversation ID");
	}
	if (cli->all && cli->n_args > 0) {
		err_set(e, GT_USAGE, "usage", "--all cannot be combined with a session name");
		return err_hint(e, "use one of them");
	}
	if (cli->force && cli->n_args == 0) {
		err_set(e, GT_USAGE, "usage", "--force needs a session name");
		return err_hint(e, "gt-recover --force SESSION");
	}
	return 0;
}

/* Root sees crashed agents of other users, as under sudo. */
static void
warn_other_users(struct cli_batch *r)
{
	for (size_t i = 0; i < r->w.n_servers; i++) {
		const struct tmux *t = &r->w.servers[i];
		size_t n = 0;

		for (size_t k = 0; t->as_owner != NULL && k < r->all.n; k++)
			n += candidate_crashed(&r->all.v[k]) &&
			    strcmp(r->all.v[k].pane.socket, t->socket) == 0;
		if (n > 0)
			output_warning(&r->say,
			    "%zu crashed agent%s of another user (socket %s) skipped: root would start "
			    "%s as root\n"
			    "  %s",
			    n, n == 1 ? "" : "s", t->socket, n == 1 ? "it" : "them", t->as_owner);
	}
}

/* As after a reboot. */
static int
without_server(struct cli_batch *r, struct err *e)
{
	if (r->cli->all && !r->cli->dry_run)
		return nothing(r, "Nothing to recover: no tmux server runs.");
	if (!r->cli->dry_run)
		return cmd_list(r->cli, e);
	if (r->cli->json)
		cli_batch_print_plan(r, NULL);
	else
		output_line(&r->say, "Nothing to recover: no tmux server runs.");
	return GT_NOTHING;
}

/* All of them: another restorer begins with its server, and is let through first. */
static int
recover_all(struct cli_batch *r, struct err *e)
{
	struct workspace_opened *opened = NULL;
	int ret = GT_OK;

	if (!r->cli->dry_run && cli_open_servers(r, false, &opened))
		ret = cli_batch_detect(r, e);
	if (ret == GT_OK)
		ret = run_all(r, e);
	cli_close_servers(r, opened);
	return ret;
}

static int
recover_agents(struct cli_batch *r, struct err *e)
{
	int64_t until = 0;
	int ret;

	ret = cli_batch_detect(r, e);
	while (ret == 0 && cli_pick_again(&r->w, &r->all, r->cli->args, r->cli->n_args, &until))
		ret = cli_batch_detect(r, e);
	if (ret != 0 && !cli_no_server(&r->w, e))
		return -1;
	if (ret != 0 && r->cli->n_args == 0)
		return without_server(r, e);
	cli_warn_server(&r->all.trouble);
	cli_warn_exposed(&r->w, &r->all.exposed);
	cli_warn_unwritten(&r->all.unwritten);
	if (r->cli->n_args > 0)
		return run_named(r, e);
	warn_other_users(r);
	if (r->cli->all || r->cli->dry_run)
		return recover_all(r, e);
	ret = run_picker(r, e);
	return ret == -2 ? cmd_list(r->cli, e) : ret;
}

/* A word may be a mistyped command, which was taken for a session. */
static void
suggest_command(const struct cli *cli, struct err *e)
{
	const char *near = cli->n_args > 0 ? cli_nearest_command(cli->args[0]) : NULL;

	if (strcmp(e->name, "unknown-session") == 0 && cli->args[0][0] != '%' && cli->n_args == 1)
		err_add(e, "%.60s is not a command", cli->args[0]);
	else if (strcmp(e->name, "no-server") != 0)
		return;
	if (near != NULL)
		err_hint(e, "did you mean the command gt-recover %s?", near);
}

int
cmd_recover(const struct cli *cli, struct err *e)
{
	struct cli_targets targets;
	struct cli named = *cli;
	struct cli_batch r;
	char *state, id[sizeof r.execute];
	int ret;

	if (check_choices(cli, e) != 0)
		return -1;
	ret = cli_batch_open(&r, cli, e);
	r.mass = cli->all;
	r.waits = cli->all || cli->dry_run;
	r.recorded = !cli->all && (!cli->dry_run || cli->n_args > 0);
	if (ret != 0 || cli_is_disabled(cli, &r.w)) {
		cli_batch_close(&r);
		return ret;
	}
	cli_targets_init(&targets, &r.w, cli);
	named.args = (const char *const *)targets.words;
	r.cli = &named;
	ret = recover_agents(&r, e);
	cli_targets_release(&targets);
	if (ret < 0)
		suggest_command(cli, e);
	if (ret >= 0 && cli->json && json_array_size(r.results) > 0)
		cli_batch_end_json(&r, cli_batch_json(&r));
	if (!cli->dry_run) {
		cli_export_events(&r.w);
		cli_sweep(&r.w);
	}
	snprintf(id, sizeof id, "%s", r.execute);
	state = ret >= 0 && *id != '\0' ? xstrdup(r.w.state_dir) : NULL;
	cli_batch_close(&r);
	if (state != NULL && cli_stop_signal() == 0 && fflush(stdout) == 0)
		ret = cli_start_here(state, id);
	free(state);
	return ret;
}
