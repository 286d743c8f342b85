#include "cli/records/verbs.h"
#include "cli/cli_private.h"
#include "base/clock.h"
#include "base/io.h"
#include "config/config.h"
#include "records/agents/agents.h"
#include "recover/upkeep/upkeep.h"
#include "snapshot/pass/pass.h"
#include "store/store.h"

#define LOCK_WAIT_MS 10000

/* ---- telling ---- */

static void
append_count(struct buf *out, size_t n, const char *one, const char *many)
{
	if (n > 0)
		buf_fmt(out, "%s%zu %s", out->len > 0 ? ", " : "", n, n == 1 ? one : many);
}

static void
report_counts(struct cli_output *s, const struct startup *x)
{
	struct buf b = BUF_INIT;

	append_count(&b, x->runs.reset_to_pending, "run is pending again", "runs are pending again");
	append_count(&b, x->runs.marked_failed, "run has failed", "runs have failed");
	append_count(&b, x->runs.marked_stopped, "run is stopped", "runs are stopped");
	append_count(&b, x->adopted, "session has a living process again",
	    "sessions have a living process again");
	append_count(&b, x->sessions.suspended, "session without a process is suspended",
	    "sessions without a process are suspended");
	append_count(
	    &b, x->tree.linked, "agent is linked to its parent", "agents are linked to their parents");
	append_count(
	    &b, x->tree.made_roots, "agent without a parent is a root", "agents without a parent are roots");
	append_count(&b, x->tree.ended, "agent has ended", "agents have ended");
	append_count(&b, x->locks, "stale lock is free", "stale locks are free");
	append_count(&b, x->messages.flagged, "message is flagged: answer unknown",
	    "messages are flagged: answers unknown");
	append_count(&b, x->messages.asked, "agent is asked to repeat its answer",
	    "agents are asked to repeat their answers");
	append_count(&b, x->messages.replayed, "message is to be delivered again",
	    "messages are to be delivered again");
	append_count(&b, x->closed, "open recovery has failed with its tmux server",
	    "open recoveries have failed with their tmux server");
	append_count(
	    &b, x->acknowledged, "open recovery had been answered", "open recoveries had been answered");
	if (b.len > 0)
		output_line(s, "%s.", b.data);
	buf_release(&b);
}

static void
report_left(struct cli_output *s, const struct startup *x, bool starts)
{
	if (x->messages.pending > 0)
		output_line(s, "%zu message%s not delivered: gt-recover records message list --undelivered",
		    x->messages.pending, x->messages.pending == 1 ? " is" : "s are");
	for (size_t i = 0; i < x->back.n && !starts; i++)
		output_line(s, "to resume: gt-recover records agent resume %s",
		    output_shown(x->back.v[i].agent_uuid, 0));
	if (x->back.n > 0 && !starts)
		output_line(s,
		    "  That claims it for its caller. With auto_recover = true reconcile starts it.");
}

void
cmd_startup_report(struct cli_output *s, const struct run_recovery *how, const struct startup *x, bool starts)
{
	/*
	 * seed S4 has a warning of `all` in any case: at each boot, with nothing to tell, it
	 * would be noise
	 */
	if (how->mode != RUN_MODE_ALL || x->runs.claimed + x->runs.running + x->runs.stopping > 0)
		cmd_run_recovery_report(s, how, &x->runs);
	if (!startup_changed(x))
		return;
	report_counts(s, x);
	report_left(s, x, starts);
}

static json_t *
json_back(const struct session_list *back)
{
	json_t *list = json_array();

	for (size_t i = 0; i < back->n; i++) {
		const struct session *x = &back->v[i];
		json_t *o = json_object();

		json_put(o, "agent_uuid", x->agent_uuid);
		json_put(o, "parent", x->parent);
		json_put(o, "provider_name", x->provider_name);
		json_put(o, "cursor_session_id", x->cursor_session_id);
		json_put(o, "model", x->model);
		json_put(o, "workspace_path", x->workspace_path);
		json_put(o, "session", x->session);
		json_array_append_new(list, o);
	}
	return list;
}

json_t *
cmd_startup_json(const struct run_recovery *how, const struct startup *x)
{
	json_t *v = json_object(), *o;

	json_put_flag(v, "changed", startup_changed(x));
	json_put_flag(v, "rebooted", x->rebooted);
	json_put_int(v, "servers_ended", (int64_t)x->servers_ended);
	json_put_int(v, "closed", (int64_t)x->closed);
	json_put_int(v, "acknowledged", (int64_t)x->acknowledged);
	o = json_object();
	json_put(o, "mode", run_mode_name(how->mode));
	json_object_set_new(o, "changes", cmd_run_recovery_json(how, &x->runs));
	json_put_int(o, "kept_by_runner", (int64_t)x->runs.kept_by_runner);
	json_put_int(o, "kept_young", (int64_t)x->runs.kept_young);
	json_object_set_new(v, "run_counts", o);
	o = json_object();
	json_put_int(o, "suspended", (int64_t)x->sessions.suspended);
	json_put_int(o, "alive", (int64_t)x->sessions.left);
	json_put_int(o, "adopted", (int64_t)x->adopted);
	json_object_set_new(v, "session_counts", o);
	o = json_object();
	json_put_int(o, "linked", (int64_t)x->tree.linked);
	json_put_int(o, "made_roots", (int64_t)x->tree.made_roots);
	json_put_int(o, "ended", (int64_t)x->tree.ended);
	json_object_set_new(v, "agent_counts", o);
	json_put_int(v, "locks_released", (int64_t)x->locks);
	o = json_object();
	json_put_int(o, "undelivered", (int64_t)x->messages.pending);
	json_put_int(o, "answers_undelivered", (int64_t)x->messages.answers_pending);
	json_put_int(o, "waiting", (int64_t)x->messages.waiting);
	json_put_int(o, "flagged", (int64_t)x->messages.flagged);
	json_put_int(o, "asked", (int64_t)x->messages.asked);
	json_put_int(o, "replayed", (int64_t)x->messages.replayed);
	json_object_set_new(v, "message_counts", o);
	json_object_set_new(v, "resume", json_back(&x->back));
	return v;
}

/* ---- bringing back ---- */

static void
report_planned(
    struct cli_output *s, const struct session *x, const struct startup_restarted *one, bool was_there)
{
	const char *name = output_shown(x->agent_uuid, 0);

	if (one->no.code == 0)
		output_line(s,
		    was_there ? "%s already runs: an earlier recovery started it"
			      : "would be started: %s",
		    name);
	else
		output_line(s, "would not be started: %s: %s (%s)", name,
		    output_shown(one->no.msg, 0), one->no.name);
}

static void
report_session(
    struct cli_output *s, const struct session *x, const struct startup_restarted *one, bool was_there)
{
	const char *name = output_shown(x->agent_uuid, 0);

	if (one->no.code == 0)
		output_done(s,
		    was_there ? "%s already runs: an earlier recovery started it" : "%s is back",
		    name);
	else
		output_warning(s, "%s: %s (%s)%s%s", name, output_shown(one->no.msg, 0), one->no.name,
		    *one->no.hint != '\0' ? "\n  " : "", one->no.hint);
	output_log(s, "%s restart %s %s", name, *one->id != '\0' ? one->id : "-",
	    one->no.code == 0 ? "started" : one->no.name);
}

/* Somebody may have taken it up since the list was made. */
static bool
still_suspended(struct app *w, const char *agent)
{
	struct session x;
	bool yes =
	    session_load(app_store(w, false, NULL), agent, &x, NULL) == 1 && x.state == SESSION_SUSPENDED;

	session_release(&x);
	return yes;
}

struct restarts {
	const struct startup *x;
	const struct candidate_list *all;
	struct startup_restarted *list;
};

static void
restart_one(struct cli_batch *r, size_t i, struct batch_outcome *out)
{
	struct restarts *job = r->arg;
	const struct session *one = &job->x->back.v[i];
	char id[21];
	int how;

	memset(out, 0, sizeof *out);
	out->later = !still_suspended(&r->w, one->agent_uuid);
	if (out->later)
		return;
	how = restart_agent(&r->w, one, job->all, id, &out->e);
	out->started = *id != '\0' && how != RESTART_FOUND;
	out->result = json_object();
	json_put(out->result, "recovery_id", id);
	json_put_flag(out->result, "found", how == RESTART_FOUND);
}

static void
report_restarted(struct cli_batch *r, size_t i, const struct batch_outcome *out)
{
	struct restarts *job = r->arg;
	struct startup_restarted *x = &job->list[i];
	bool found = json_flag(out->result, "found", false);

	if (out->later)
		return;
	x->tried = true;
	x->no = out->e;
	snprintf(x->id, sizeof x->id, "%s", json_text(out->result, "recovery_id", ""));
	if (r->w.dry)
		report_planned(&r->say, &job->x->back.v[i], x, found);
	else
		report_session(&r->say, &job->x->back.v[i], x, found);
}

/* One after the other: in a dry run, and those that cannot be started. */
static void
restart_rest(struct cli_batch *r, const bool *rest)
{
	int64_t until = 0;

	for (size_t i = 0; i < r->all.n && cli_stop_signal() == 0; i++) {
		struct batch_outcome out;

		if (!rest[i])
			continue;
		while (clock_mono_ms() < until && cli_stop_signal() == 0)
			clock_sleep_ms(50);
		restart_one(r, i, &out);
		report_restarted(r, i, &out);
		if (out.started)
			until = clock_mono_ms() + config_ms(r->w.config, "spacing");
		json_decref(out.result);
	}
}

static void
restart_beside(struct cli_batch *r, const size_t *list, size_t n)
{
	int last = GT_OK;
	struct batch_outcome *ended;

	r->total = n;
	ended = cli_batch_overlap(r, list, n, &last);

	for (size_t k = 0; k < n; k++)
		json_decref(ended[list[k]].result);
	free(ended);
}

struct startup_restarted *
cmd_startup_restart(struct app *w, struct cli_output *s, const struct startup *x,
    const struct candidate_list *all, bool known)
{
	size_t n = x->back.n, many = 0, *list = xcalloc(n + 1, sizeof *list);
	bool *rest = xcalloc(n + 1, sizeof *rest), *own = xcalloc(n + 1, sizeof *own);
	struct restarts job = { .x = x, .all = all, .list = xcalloc(n + 1, sizeof *job.list) };
	/* the app and the output are the batch's until it is over */
	struct cli_batch r = { .w = *w, .say = *s, .mass = true, .arg = &job,
		.attempt = restart_one, .attempted = report_restarted,
		.all = { .v = xcalloc(n + 1, sizeof *r.all.v), .n = n },
		.later = xcalloc(n + 1, sizeof *r.later) };
	bool beside = config_int(w->config, "parallel") > 1 && n > 1 && !w->dry;

	for (size_t i = 0; i < n; i++) {
		const struct candidate *found = candidate_of_session(&r.w, &x->back.v[i], all);
		struct err none = ERR_INIT;

		if (found != NULL && !known)
			continue;
		if (found != NULL)
			r.all.v[i] = *found;
		own[i] = found == NULL;
		if (beside &&
		    (found != NULL || candidate_from_session(&r.w, &x->back.v[i], &r.all.v[i], &none) == 0))
			list[many++] = i;
		else
			rest[i] = true;
	}
	if (many > 0)
		restart_beside(&r, list, many);
	restart_rest(&r, rest);
	for (size_t i = 0; i < n; i++)
		if (own[i])
			candidate_release(&r.all.v[i]);
	*w = r.w;
	*s = r.say;
	free(r.all.v);
	free(r.later);
	free(list);
	free(rest);
	free(own);
	return job.list;
}

/* ---- the command ---- */

struct startup_job {
	struct app *w;
	struct cli_output *say;
	struct run_recovery runs;
	struct startup x;
	struct startup_restarted *ones;	/* auto_recover: of each of x.back; NULL: none is brought back */
};

/*
 * Whom a pane or a snapshot knows comes back with its context. A tmux server that is not there,
 * or not to be read, knows nobody.
 */
static void
bring_back(struct startup_job *j)
{
	struct candidate_list all = { .n = 0 };
	struct err none = ERR_INIT;
	bool found = snapshot_detect(j->w, &all, &none) == 0;

	cli_warn_ended(j->w, &all);
	if (found && detect_lines(j->w, &all, &none) != 0)
		err_clear(&none);
	cli_warn_server(&all.trouble);
	cli_warn_exposed(j->w, &all.exposed);
	cli_rebuild(&(struct cli_rebuild){ .w = j->w, .say = j->say, .all = &all, .dry_run = j->w->dry,
	    .whole = true, .unattended = true });
	j->ones = cmd_startup_restart(j->w, j->say, &j->x, &all, true);
	candidate_list_release(&all);
}

static int
startup_locked(struct startup_job *j, struct err *e)
{
	bool starts = config_flag(j->w->config, "auto_recover");

	if (startup_run(j->w, &j->runs, &j->x, e) != 0)
		return -1;
	cmd_startup_report(j->say, &j->runs, &j->x, starts);
	if ((j->x.back.n > 0 || j->x.rebooted || j->x.servers_ended > 0) && starts)
		bring_back(j);
	return 0;
}

/* Told as it would be told, of a store that forgets it. What others change meanwhile is not waited for. */
static int
rehearse(struct startup_job *j, struct err *e)
{
	struct store *store = app_store(j->w, false, e);

	if (store == NULL)
		return e->code == 0 ? 0 : -1;
	j->w->store = store_overlay(store);
	j->w->dry = true;
	output_line(j->say, "Dry run; reconcile would change:");
	if (startup_locked(j, e) != 0)
		return -1;
	if (!startup_changed(&j->x) && j->x.back.n == 0)
		output_line(j->say, "nothing");
	return 0;
}

/*
 * Patrol's own lock: two that bring the records up at once would count each other's work. Where
 * there is no store there is nothing to lock.
 */
static int
reconcile_records(struct startup_job *j, struct err *e)
{
	char *path;
	int fd, ret = -1;

	if (app_store(j->w, false, e) == NULL)
		return e->code == 0 ? 0 : -1;
	path = app_path(j->w, "locks", "patrol.lock", true, e);
	fd = path != NULL ? io_lock(path, LOCK_WAIT_MS, e) : -1;
	if (fd >= 0) {
		/* torn tails first */
		cli_export_events(j->w);
		ret = startup_locked(j, e);
		if (ret == 0)
			cli_export_events(j->w);
	} else if (strcmp(e->name, "locked") == 0) {
		err_hint(e, "another reconcile is running; run it again afterwards");
	}
	io_unlock(path, fd);
	free(path);
	return ret;
}

static void
print_startup_json(const struct startup_job *j)
{
	json_t *v = output_object(), *o = cmd_startup_json(&j->runs, &j->x),
	       *list = json_object_get(o, "resume");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const struct startup_restarted *one = j->ones != NULL ? &j->ones[i] : NULL;
		json_t *o_one = json_array_get(list, i);

		json_put_flag(o_one, j->w->dry ? "would_restart" : "restarted",
		    one != NULL && one->tried && one->no.code == 0);
		json_put(o_one, "refusal", one != NULL && one->no.code != 0 ? one->no.name : NULL);
		json_put(o_one, "recovery_id", one != NULL && *one->id != '\0' ? one->id : NULL);
	}
	if (j->w->dry)
		json_put_flag(v, "dry_run", true);
	json_object_set_new(v, "startup", o);
	output_json(v);
}

/* What runs on a server of another version was not seen: the records may not be true of it. */
static int
check_versions(struct app *w, struct err *e)
{
	for (size_t i = 0; i < w->n_servers; i++) {
		struct err why = ERR_INIT;

		if (tmux_do(&w->servers[i], false, NULL, &why, "display-message", "-p", "", NULL) == 0 ||
		    strcmp(why.name, "server-version") != 0)
			continue;
		*e = why;
		return -1;
	}
	return 0;
}

int
cmd_startup(struct verb_job *job, struct err *e)
{
	struct startup_job j = { .w = &job->w, .say = &job->say };
	char *log_file = config_path(j.w->config, "log_file");
	int ret = log_file != NULL ? output_open_log(j.say, log_file, e) : 0;

	if (ret == 0)
		ret = cmd_run_recovery_read(&job->cli, j.w->config, &j.runs, e);
	if (ret == 0)
		ret = job->cli.dry_run ? rehearse(&j, e) : reconcile_records(&j, e);
	if (ret == 0 && !job->cli.dry_run)
		cli_sweep(j.w);
	if (ret == 0)
		ret = check_versions(j.w, e);
	if (ret == 0 && job->cli.json)
		print_startup_json(&j);
	free(log_file);
	free(j.ones);
	startup_release(&j.x);
	return ret == 0 ? GT_OK : -1;
}
