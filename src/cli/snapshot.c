#include "cli/cli.h"
#include "git/git.h"
#include "recover/upkeep/upkeep.h"
#include "snapshot/pass/pass.h"
#include "tmux/tmux.h"

static size_t
count_status(const struct snapshot_pass *run, enum snapshot_status how)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n; i++)
		n += run->v[i].how == how;
	return n;
}

static json_t *
json_result(const struct snapshot_result *r)
{
	json_t *v = json_object();

	json_put(v, "session", r->session);
	json_put(v, "socket", *r->socket != '\0' ? r->socket : NULL);
	json_put(v, "pane_id", *r->pane != '\0' ? r->pane : NULL);
	json_put(v, "result", snapshot_status_name(r->how));
	json_put(v, "file", r->file);
	json_object_set_new(
	    v, "lines", r->how == SNAP_TAKEN ? json_integer((json_int_t)r->rows) : json_null());
	json_object_set_new(v, "error", r->how == SNAP_FAILED ? output_error_json(&r->error) : json_null());
	return v;
}

static void
put_restore(struct buf *out, const struct wip *w)
{
	buf_str(out, "gt-recover wip restore ");
	quote_sh(out, wip_ref_short(w->ref));
}

static json_t *
json_wip(const struct wip_result *one)
{
	json_t *v = json_object();
	struct buf command = BUF_INIT;

	if (one->how == WIP_COMMITTED)
		put_restore(&command, &one->wip);
	json_put(v, "session", one->session);
	json_put(v, "result", wip_status_name(one->how));
	json_put(v, "directory", one->wip.top);
	json_put(v, "ref", one->wip.ref);
	json_put(v, "commit", *one->wip.commit != '\0' ? one->wip.commit : NULL);
	json_put_int(v, "files", (int64_t)one->wip.files);
	json_put_int(v, "left_out", (int64_t)one->wip.n_skipped);
	json_put(v, "restore", command.len > 0 ? command.data : NULL);
	json_object_set_new(
	    v, "error", one->how == WIP_FAILED ? output_error_json(&one->error) : json_null());
	buf_release(&command);
	return v;
}

static void
print_snapshot_json(const struct snapshot_pass *run, const struct wip_pass *work, bool dry_run)
{
	json_t *v = output_object(), *results = json_array(), *wip = json_array();

	for (size_t i = 0; i < work->n; i++)
		json_array_append_new(wip, json_wip(&work->v[i]));

	for (size_t i = 0; i < run->n; i++)
		json_array_append_new(results, json_result(&run->v[i]));
	json_put_flag(v, "dry_run", dry_run);
	json_put_int(v, "taken", (int64_t)count_status(run, SNAP_TAKEN));
	json_put_int(v, "unchanged", (int64_t)count_status(run, SNAP_SAME));
	json_put_int(v, "kept", (int64_t)count_status(run, SNAP_KEPT));
	json_put_int(v, "failed", (int64_t)count_status(run, SNAP_FAILED));
	json_put_int(v, "removed", (int64_t)run->removed);
	json_object_set_new(v, "panes", results);
	json_put_flag(v, "wip_due", work->due);
	json_object_set_new(v, "wip", wip);
	output_json(v);
}

static void
print_failure(struct cli_output *s, const struct snapshot_result *r)
{
	output_warning(s, "%s: %s", output_shown(r->session, 60), r->error.msg);
}

static void
print_wip(struct cli_output *s, const struct wip_result *one)
{
	struct buf command = BUF_INIT;
	const char *name = output_shown(one->session, 60);

	if (one->how == WIP_FAILED) {
		output_warning(s, "%s: uncommitted work: %s%s%s", name, one->error.msg,
		    *one->error.hint != '\0' ? "\n  " : "", one->error.hint);
	} else if (one->how == WIP_WANTED) {
		output_line(s, "Would save the uncommitted work of %s.", name);
	} else if (one->how == WIP_COMMITTED) {
		put_restore(&command, &one->wip);
		output_line(s,
		    "Saved the uncommitted work of %s to %s: %zu file%s, %zu left out. To restore it:",
		    name, wip_ref_short(one->wip.ref), one->wip.files, one->wip.files == 1 ? "" : "s",
		    one->wip.n_skipped);
		output_exact(s, "  %s", command.data);
		if (s->verbose > 0 && one->wip.n_skipped > 0)
			output_exact(
			    s, "Left out:\n%.*s", (int)strlen(one->wip.skipped) - 1, one->wip.skipped);
	}
	buf_release(&command);
}

static void
print_snapshot_text(struct verb_job *j, const struct snapshot_pass *run, const struct wip_pass *work)
{
	size_t taken = count_status(run, SNAP_TAKEN), same = count_status(run, SNAP_SAME),
	       kept = count_status(run, SNAP_KEPT);

	for (size_t i = 0; i < run->n; i++)
		if (run->v[i].how == SNAP_FAILED)
			print_failure(&j->say, &run->v[i]);
	if (run->n == 0)
		output_line(
		    &j->say, "No agent panes on the tmux servers searched.");
	else if (j->cli.dry_run)
		output_line(&j->say, "Would examine %zu panes; %zu are unchanged.",
		    count_status(run, SNAP_WANTED), same);
	else
		output_line(&j->say,
		    "Snapshots: %zu taken, %zu unchanged, %zu kept because the pane is now empty, %zu "
		    "failed, %zu old removed.",
		    taken, same, kept, count_status(run, SNAP_FAILED), run->removed);
	for (size_t i = 0; i < work->n; i++)
		print_wip(&j->say, &work->v[i]);
}

/* 1 and 75 only when nothing was done: some of several is its own status. */
static int
snapshot_exit_status(const struct snapshot_pass *run, const struct wip_pass *work)
{
	size_t failed = count_status(run, SNAP_FAILED) + (run->trouble.code != 0);
	int code = run->trouble.code;

	for (size_t i = 0; i < work->n; i++)
		if (work->v[i].how == WIP_FAILED)
			return GT_SOME;
	if (failed == 0)
		return GT_OK;
	if (run->n > count_status(run, SNAP_FAILED))
		return GT_SOME;
	for (size_t i = 0; i < run->n; i++)
		code = code == 0 || code == run->v[i].error.code ? run->v[i].error.code : GT_FAIL;
	return code;
}

int
cmd_snapshot(struct verb_job *j, struct err *e)
{
	const struct cli *cli = &j->cli;
	struct snapshot_request ask = { .names = cli->args, .n = cli->n_args, .dry_run = cli->dry_run };
	struct wip_pass work = { .n = 0 };
	struct snapshot_pass run;
	struct err old = ERR_INIT;
	int ret;

	/* a failure is no reason to take no snapshots */
	if (!cli->dry_run && startup_renew(&j->w, &old) != 0)
		output_warning(&j->say, "other containers may see these agents as dead: %s", old.msg);
	ret = snapshot_pass(&j->w, &ask, &run, e);
	cli_warn_exposed(&j->w, &run.exposed);
	if (ret == 0)
		ret = wip_pass(&j->w, cli->args, cli->n_args, cli->dry_run, &work, e);
	if (ret == 0) {
		cli_warn_server(&run.trouble);
		if (cli->json)
			print_snapshot_json(&run, &work, cli->dry_run);
		else
			print_snapshot_text(j, &run, &work);
		ret = snapshot_exit_status(&run, &work);
		if (!cli->dry_run)
			cli_sweep(&j->w);
	}
	wip_pass_release(&work);
	snapshot_pass_release(&run);
	return ret;
}
