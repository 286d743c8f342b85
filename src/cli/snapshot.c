#include <fcntl.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "base/clock.h"
#include "base/io.h"
#include "config/config.h"
#include "detect/detect.h"
#include "git/git.h"
#include "recover/upkeep/upkeep.h"
#include "snapshot/pass/pass.h"
#include "tmux/tmux.h"

#define PASSES_MOST 1000
#define EARLY_MS 5000			/* a timer that comes a moment early comes in time */

/* What one pass did. */
struct snapshot_report {
	struct snapshot_pass run;
	struct wip_pass work;
	struct epic_pass epics;
	struct err no_epics;		/* why there was no checkpoint; code 0: there was, or nothing to do */
	bool panes;			/* the panes were looked at, not the agents alone */
};

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

static json_t *
json_epics(const struct epic_pass *x)
{
	json_t *v = json_object();

	json_put_int(v, "open", (int64_t)x->open);
	json_put_int(v, "records", (int64_t)x->records);
	json_put_int(v, "at", x->at);
	return v;
}

static void
print_snapshot_json(const struct snapshot_report *r, bool dry_run)
{
	const struct snapshot_pass *run = &r->run;
	const struct wip_pass *work = &r->work;
	json_t *v = output_object(), *results = json_array(), *wip = json_array();

	for (size_t i = 0; i < work->n; i++)
		json_array_append_new(wip, json_wip(&work->v[i]));

	for (size_t i = 0; i < run->n; i++)
		json_array_append_new(results, json_result(&run->v[i]));
	json_put_flag(v, "dry_run", dry_run);
	json_put_flag(v, "panes_due", r->panes);
	json_put_int(v, "taken", (int64_t)count_status(run, SNAP_TAKEN));
	json_put_int(v, "unchanged", (int64_t)count_status(run, SNAP_SAME));
	json_put_int(v, "kept", (int64_t)count_status(run, SNAP_KEPT));
	json_put_int(v, "failed", (int64_t)count_status(run, SNAP_FAILED));
	json_put_int(v, "removed", (int64_t)run->removed);
	json_object_set_new(v, "panes", results);
	json_put_flag(v, "wip_due", work->due);
	json_object_set_new(v, "wip", wip);
	json_object_set_new(v, "epics", json_epics(&r->epics));
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

/* What did not happen is not told. */
static void
print_snapshot_counts(struct cli_output *s, const struct snapshot_pass *run)
{
	const struct { size_t n; const char *words; } counts[] = {
		{ count_status(run, SNAP_TAKEN), "taken" }, { count_status(run, SNAP_SAME), "unchanged" },
		{ count_status(run, SNAP_KEPT), "kept because the pane is now empty" },
		{ count_status(run, SNAP_FAILED), "failed" }, { run->removed, "old removed" },
	};
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		if (counts[i].n > 0)
			buf_fmt(&b, "%s%zu %s", b.len > 0 ? ", " : "", counts[i].n, counts[i].words);
	output_line(s, "Snapshots: %s.", b.len > 0 ? b.data : "none");
	buf_release(&b);
}

static void
print_snapshot_text(struct verb_job *j, const struct snapshot_report *r)
{
	const struct snapshot_pass *run = &r->run;
	const struct wip_pass *work = &r->work;

	for (size_t i = 0; i < run->n; i++)
		if (run->v[i].how == SNAP_FAILED)
			print_failure(&j->say, &run->v[i]);
	if (!r->panes)
		output_line(&j->say, "Panes: not due yet.");
	else if (run->n == 0)
		output_line(&j->say, "No agent panes on the tmux servers searched.");
	else if (j->cli.dry_run)
		output_line(&j->say, "Would examine %zu panes; %zu are unchanged.",
		    count_status(run, SNAP_WANTED), count_status(run, SNAP_SAME));
	else
		print_snapshot_counts(&j->say, run);
	for (size_t i = 0; i < work->n; i++)
		print_wip(&j->say, &work->v[i]);
	if (r->epics.open > 0)
		output_line(&j->say, "Epics in progress: %zu; records written: %zu.", r->epics.open,
		    r->epics.records);
}

/* 1 and 75 only when nothing was done: some of several is its own status. */
static int
snapshot_exit_status(const struct snapshot_report *r)
{
	const struct snapshot_pass *run = &r->run;
	size_t failed = count_status(run, SNAP_FAILED) + (run->trouble.code != 0);
	int code = run->trouble.code;

	for (size_t i = 0; i < r->work.n; i++)
		if (r->work.v[i].how == WIP_FAILED)
			return GT_SOME;
	if (r->no_epics.code != 0)
		return GT_SOME;
	if (failed == 0)
		return GT_OK;
	if (run->n > count_status(run, SNAP_FAILED))
		return GT_SOME;
	for (size_t i = 0; i < run->n; i++)
		code = code == 0 || code == run->v[i].error.code ? run->v[i].error.code : GT_FAIL;
	return code;
}

/* ---- what is due ---- */

static char *
panes_mark(struct app *w)
{
	return app_path(w, "timer", "panes", false, NULL);
}

static bool
panes_due(struct app *w)
{
	char *mark = panes_mark(w);
	struct stat st;
	int64_t age = -1;

	if (mark != NULL && stat(mark, &st) == 0)
		age = clock_wall_ms() - ((int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000);
	free(mark);
	return age < 0 || age >= config_ms(w->config, "snapshot_interval") - EARLY_MS;
}

/* Without the mark the next pass looks at the panes again: nothing is lost. */
static void
mark_panes(struct app *w)
{
	char *mark = panes_mark(w);
	int64_t now = clock_wall_ms();
	struct timespec at[2] = { { .tv_sec = now / 1000, .tv_nsec = now % 1000 * 1000000 } };

	at[1] = at[0];
	if (mark != NULL && utimensat(AT_FDCWD, mark, at, 0) != 0 && io_make_parents(mark, NULL) == 0 &&
	    io_write_synced(mark, "", 0, "timer-mark", NULL) == 0)
		utimensat(AT_FDCWD, mark, at, 0);
	free(mark);
}

/* The agents alone: which run, and by which process. */
static int
look_at_agents(struct app *w, struct snapshot_pass *run, struct err *e)
{
	struct candidate_list all = { .n = 0 };
	int ret = snapshot_detect(w, &all, e);

	if (run->exposed.code == 0)
		run->exposed = all.exposed;
	candidate_list_release(&all);
	if (ret != 0 && strcmp(e->name, "no-server") == 0) {
		err_clear(e);
		ret = 0;
	}
	return ret;
}

static int
look_at_panes(struct verb_job *j, struct snapshot_pass *run, struct err *e)
{
	const struct cli *cli = &j->cli;
	struct snapshot_request ask = { .names = cli->args, .n = cli->n_args, .dry_run = cli->dry_run };
	struct err old = ERR_INIT;
	int ret;

	/* a failure is no reason to take no snapshots */
	if (!cli->dry_run && startup_renew(&j->w, &old) != 0)
		output_warning(&j->say, "other containers may see these agents as dead: %s", old.msg);
	ret = snapshot_pass(&j->w, &ask, run, e);
	if (ret == 0 && !cli->dry_run && cli->passes != NULL)
		mark_panes(&j->w);
	return ret;
}

/* ---- a pass ---- */

/* due_only: panes that were looked at less than snapshot_interval ago are left to a later pass. */
static int
one_pass(struct verb_job *j, bool due_only, struct err *e)
{
	const struct cli *cli = &j->cli;
	struct snapshot_report r = { .panes = !due_only || panes_due(&j->w) };
	int ret = r.panes ? look_at_panes(j, &r.run, e) : 0;

	if (ret == 0 && due_only && (snapshot_agents_changed(&j->w) || r.panes))
		ret = look_at_agents(&j->w, &r.run, e);
	cli_warn_exposed(&j->w, &r.run.exposed);
	if (ret == 0)
		ret = wip_pass(&j->w, cli->args, cli->n_args, cli->dry_run, &r.work, e);
	if (ret == 0 && cli->n_args == 0 && upkeep_checkpoint_epics(&j->w, &r.epics, &r.no_epics) != 0)
		output_warning(&j->say, "no checkpoint of epics: %s", r.no_epics.msg);
	if (r.epics.unread.code != 0)
		output_warning(&j->say, "%s", r.epics.unread.msg);
	if (ret == 0) {
		cli_warn_server(&r.run.trouble);
		if (cli->json)
			print_snapshot_json(&r, cli->dry_run);
		else
			print_snapshot_text(j, &r);
		ret = snapshot_exit_status(&r);
		if (!cli->dry_run && r.panes)
			cli_sweep(&j->w);
	}
	wip_pass_release(&r.work);
	snapshot_pass_release(&r.run);
	return ret;
}

static int
read_passes(const struct cli *cli, long *n, struct err *e)
{
	char *end;

	*n = 1;
	if (cli->passes == NULL)
		return 0;
	*n = strtol(cli->passes, &end, 10);
	if (*end != '\0' || *n < 1 || *n > PASSES_MOST)
		return err_set(e, GT_USAGE, "usage", "--passes takes a number from 1 to %d", PASSES_MOST);
	if (cli->n_args > 0)
		return err_set(e, GT_USAGE, "usage", "--passes takes no session");
	return 0;
}

int
cmd_snapshot(struct verb_job *j, struct err *e)
{
	int64_t began = clock_mono_ms(), every = cli_timer_every(&j->w);
	bool timer = j->cli.passes != NULL && !j->cli.dry_run;
	int ret, worst = GT_OK;
	long n;

	if (read_passes(&j->cli, &n, e) != 0)
		return -1;
	for (long i = 0; i < n; i++) {
		ret = one_pass(j, timer, e);
		if (ret < 0 || j->cli.dry_run || *j->w.stop != 0)
			return ret;
		worst = worst != GT_OK ? worst : ret;
		if (i + 1 == n)
			break;
		/* A reader of the output gets each pass at once; each pass reads settings and state again. */
		fflush(stdout);
		cli_close_app(&j->w);
		clock_sleep_until(began + (i + 1) * every);
		if (cli_stop_signal() != 0)
			break;
		if (cli_open_app(&j->cli, &j->w, e) != 0)
			return -1;
		if (cli_is_disabled(&j->cli, &j->w))
			break;
	}
	return worst;
}
