#include "cli/cli_private.h"
#include "cli/records/verbs.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/host.h"
#include "base/io.h"
#include "config/config.h"
#include "gastown/gastown.h"
#include "records/recovery/recovery.h"
#include "recover/upkeep/upkeep.h"
#include "snapshot/pass/pass.h"
#include "store/store.h"
#include "workspace/workspace.h"

/*
 * One unattended pass, for cron, the witness and the plugin. What is left alone, and why:
 *
 * A guest, in a Gas Town. Others restart agents too: the deacon's own hook after 3 s, a person, `gt session
 * restart`. So a crash is left in peace until it is GRACE_MS old, and then looked at anew. The
 * witness believes a polecat's heartbeat until that is 3 minutes old (gastown,
 * polecat/heartbeat.go) and then restarts the session with a kill, which takes the scrollback
 * along: the time between the two is ours. Whoever comes second loses without harm: a dead pane
 * is respawned without -k, a zombie's shell is looked at again under the lock, and a pane that
 * changed or vanished meanwhile is Gas Town's, no failure of ours, and no mail.
 *
 * Quiet. With nothing crashed, nothing owed and the same servers as last time it prints nothing
 * and writes nothing. A crash is told once. One at a time: a second patrol finds the lock held
 * and has nothing to do, status 0.
 */
#define GRACE_MS 5000
#define LOOKS_MOST 3
#define TURN_MS (15 * 60 * 1000)

struct patrol {
	struct cli_batch r;
	bool all;			/* reconcile: startup in any case */
	bool due;			/* startup */
	struct run_recovery runs;
	/* why the records could not be made true; agents are looked after all the same */
	struct err ledger;
	struct startup started;		/* not due: its runs alone */
	bool *fresh;			/* of each of r.all: told for the first time */
	size_t crashed, told;
	struct mail_report mail;
	struct err mail_error;
	struct on_crash told_to;	/* the command of that key */
	char *lock_path;
	int lock;
};

/* ---- looking ---- */

static int
detect_crashes(struct patrol *p, struct err *e)
{
	free(p->fresh);
	p->fresh = NULL;
	if (cli_batch_detect(&p->r, e) != 0) {
		if (strcmp(e->name, "no-server") != 0)
			return -1;
		/* where no tmux runs there is nothing to be brought back */
		err_clear(e);
	}
	p->crashed = 0;
	for (size_t i = 0; i < p->r.all.n; i++)
		p->crashed += candidate_crashed(&p->r.all.v[i]);
	p->fresh = xcalloc(p->r.all.n, sizeof *p->fresh);
	return 0;
}

/* Only Gas Town has others that restart agents. */
static int64_t
grace_ms(const struct patrol *p)
{
	return town_root(p->r.w.town) != NULL ? fault_wait_ms("GT_GRACE_MS", GRACE_MS) : 0;
}

static int64_t
age_of(const struct patrol *p, const struct candidate *c)
{
	return c->crashed_at > 0 ? clock_wall_ms() - c->crashed_at : grace_ms(p);
}

/*
 * How long until the youngest crash that was chosen is old enough; 0: all are. A clock that was
 * set back is no age.
 */
static int64_t
grace_left(const struct patrol *p)
{
	int64_t left = 0;

	for (size_t i = 0; i < p->r.all.n; i++) {
		int64_t age = age_of(p, &p->r.all.v[i]);

		if (p->r.chosen[i] && candidate_crashed(&p->r.all.v[i]) && age >= 0 &&
		    grace_ms(p) - age > left)
			left = grace_ms(p) - age;
	}
	return left;
}

static const struct refusal server_ended = { "server-end", "its tmux server ended; cause unknown",
    "gt-recover --all recovers it" };

/* Without a person it comes back after a reboot, an OOM kill or a crash of tmux. gt has its own rules. */
static bool
is_listed_only(struct patrol *p, const struct candidate *c)
{
	return c->status == AGENT_MISSING && c->reason == REASON_SERVER_EXIT && c->record == NULL &&
	    c->role.kind == TOWN_ROLE_NONE && workspace_end(&p->r.w, &c->pane) == END_UNCLEAR;
}

static size_t
choose_unattended(struct patrol *p)
{
	size_t n = cli_batch_choose(&p->r);

	for (size_t i = 0; i < p->r.all.n; i++) {
		if (!p->r.chosen[i] || !is_listed_only(p, &p->r.all.v[i]))
			continue;
		p->r.chosen[i] = false;
		p->r.no[i] = server_ended;
		n--;
	}
	return n;
}

/* What is still too young then is left to the next pass. */
static int
look_when_settled(struct patrol *p, struct err *e)
{
	int64_t left;

	for (int looks = 1; (left = grace_left(p)) > 0 && looks < LOOKS_MOST && cli_stop_signal() == 0;
	    looks++) {
		for (int64_t until = clock_mono_ms() + left;
		    clock_mono_ms() < until && cli_stop_signal() == 0;)
			clock_sleep_ms(50);
		if (detect_crashes(p, e) != 0)
			return -1;
		choose_unattended(p);
	}
	for (size_t i = 0; i < p->r.all.n; i++)
		if (candidate_crashed(&p->r.all.v[i]) && age_of(p, &p->r.all.v[i]) >= 0 &&
		    age_of(p, &p->r.all.v[i]) < grace_ms(p))
			p->r.chosen[i] = false;
	return 0;
}

/* 1: ours, 0: another patrol is at work, -1. */
static int
take_lock(struct patrol *p, struct err *e)
{
	if (p->lock >= 0)
		return 1;
	if (p->lock_path == NULL)
		p->lock_path = app_path(&p->r.w, "locks", "patrol.lock", true, e);
	if (p->lock_path == NULL)
		return -1;
	p->lock = io_lock(p->lock_path, 0, e);
	if (p->lock >= 0)
		return 1;
	if (strcmp(e->name, "locked") != 0)
		return -1;
	err_clear(e);
	if (p->r.cli->verbose > 0)
		output_line(&p->r.say, "Another pass is running.");
	return 0;
}

/* ---- telling ---- */

static void
report_crash(struct patrol *p, size_t i)
{
	const struct candidate *c = &p->r.all.v[i];
	const struct refusal *no = &p->r.no[i];
	const char *name = output_shown(c->pane.session, 60);
	struct buf age = BUF_INIT;
	char *reason = gather_reason(c);

	clock_age(&age, c->crashed_at > 0 ? clock_wall_ms() - c->crashed_at : 0);
	output_warning(&p->r.say, "%s: %s (%s), %s ago%s%s%s%s", name, reason,
	    detect_status_name(c->status), age.data, no->name != NULL ? "; skipped: " : "",
	    no->name != NULL ? no->sentence : "", no->name != NULL ? ", " : "",
	    no->name != NULL ? no->name : "");
	output_log(&p->r.say, "%s %s - seen%s%s", name, detect_status_name(c->status),
	    no->name != NULL ? " refused=" : "", no->name != NULL ? no->name : "");
	buf_release(&age);
	free(reason);
}

static void
report_untold(struct patrol *p, const struct err *e)
{
	struct err none = ERR_INIT;
	struct event ev = { .kind = "on-crash.failed", .subject = "on_crash", .text = e->msg };

	if (e->code == 0)
		return;
	output_warning(&p->r.say, "%s", output_shown(e->msg, 0));
	output_log(&p->r.say, "on_crash - %s", e->name);
	event_commit(app_store(&p->r.w, true, &none), NULL, 0, &ev, &none);
}

/* What cannot be noted would be told in every pass: the error ends it. */
static int
note_crashes(struct patrol *p, struct err *e)
{
	struct err untold = ERR_INIT;

	for (size_t i = 0; i < p->r.all.n; i++) {
		if (!candidate_crashed(&p->r.all.v[i]))
			continue;
		if (mail_note_crash(&p->r.w, &p->r.all.v[i], &p->fresh[i], e) != 0)
			return -1;
		p->told += p->fresh[i];
		if (!p->fresh[i])
			continue;
		report_crash(p, i);
		upkeep_show_crash(&p->r.w, &p->r.all.v[i]);
		upkeep_on_crash(&p->r.w, &p->told_to, &p->r.all.v[i], &untold);
	}
	if (untold.code == 0)
		upkeep_on_crash_start(&p->r.w, &p->told_to, &untold);
	report_untold(p, &untold);
	if (p->told > 0)
		cli_warn_ended(&p->r.w, &p->r.all);
	return 0;
}

static void
report_note_failure(struct patrol *p, const struct err *e)
{
	output_warning(&p->r.say, "cannot send mail about it: %s", output_shown(e->msg, 0));
}

static void
one_ended(struct cli_batch *r, const struct recovery *one, const struct err *how)
{
	struct patrol *p = r->arg;
	struct err e = ERR_INIT;

	if (mail_note_result(&r->w, one, how, &e) != 0)
		report_note_failure(p, &e);
}

/* Those that a guard left out, for the mail about a crash loop. */
static void
note_refused(struct patrol *p)
{
	struct err e = ERR_INIT;

	cli_batch_count_refused(&p->r);
	for (size_t i = 0; i < p->r.all.n; i++)
		if (!p->r.chosen[i] && candidate_crashed(&p->r.all.v[i]) && p->r.no[i].name != NULL &&
		    mail_note_refusal(&p->r.w, &p->r.all.v[i], p->r.no[i].name, p->r.no[i].sentence,
			p->r.no[i].hint, &e) != 0)
			report_note_failure(p, &e);
}

static void
send_mail(struct patrol *p)
{
	if (!mail_is_owed(&p->r.w) || mail_send_owed(&p->r.w, &p->mail, &p->mail_error) == 0)
		return;
	output_warning(&p->r.say, "the mail about %zu failed recover%s was not sent: %s\n  %s", p->mail.owed,
	    p->mail.owed == 1 ? "y" : "ies", output_shown(p->mail_error.msg, 0),
	    p->mail.given_up > 0 ? "giving up; gt-recover log shows the failures"
				 : "the next pass retries");
}

/* Array of those that this pass saw, new reference. crashed_only: with what is new. */
static json_t *
json_sessions(struct patrol *p, bool crashed_only)
{
	struct list_json x;
	struct cli_batch *r = &p->r;
	json_t *sessions = json_array();

	cmd_list_json_begin(&x, &r->w);
	for (size_t i = 0; i < r->all.n; i++) {
		json_t *one;

		if (crashed_only && !candidate_crashed(&r->all.v[i]))
			continue;
		x.brief = !crashed_only;
		one = cmd_list_json(&x, &r->all.v[i], &r->beads[i], &r->no[i]);
		if (crashed_only)
			json_put_flag(one, "new", p->fresh[i]);
		json_array_append_new(sessions, one);
	}
	cmd_list_json_end(&x);
	return sessions;
}

static json_t *
json_mail(const struct patrol *p)
{
	json_t *v = json_object();

	json_put_int(v, "owed", (int64_t)p->mail.owed);
	json_put_flag(v, "sent", p->mail.sent);
	json_object_set_new(v, "error", output_error_json(&p->mail_error));
	return v;
}

static void
print_patrol_json(struct patrol *p)
{
	struct cli_batch *r = &p->r;
	json_t *v = cli_batch_json(r);

	json_put_flag(v, "auto_recover", config_flag(r->w.config, "auto_recover"));
	json_object_set_new(v, "startup", p->due ? cmd_startup_json(&p->runs, &p->started) : json_null());
	json_object_set_new(v, "run_changes", cmd_run_recovery_json(&p->runs, &p->started.runs));
	json_put_int(v, "yielded", (int64_t)p->r.yielded);
	json_object_set_new(v, "sessions", json_sessions(p, true));
	json_object_set_new(v, "ended_servers", cli_ended_json(&r->w, &r->all));
	json_object_set_new(v, "mail", json_mail(p));
	cli_batch_end_json(r, v);
}

/* ---- the pass ---- */

/* A guard's word and somebody else's hand are no failures of a pass. */
static int
patrol_exit_status(const struct patrol *p)
{
	const struct cli_batch *r = &p->r;
	size_t failed = r->failed - p->r.yielded;

	if (failed + r->unacknowledged == 0)
		return r->all.trouble.code != 0 || p->ledger.code != 0 ? GT_SOME : GT_OK;
	if (r->recovered > 0)
		return GT_SOME;
	return failed == 0 ? GT_UNACKED : GT_FAIL;
}

static int
recover_them(struct patrol *p, struct err *e)
{
	size_t n = 0;

	if (look_when_settled(p, e) != 0 || note_crashes(p, e) != 0)
		return -1;
	note_refused(p);
	for (size_t i = 0; i < p->r.all.n; i++)
		n += p->r.chosen[i];
	p->r.ended = one_ended;
	p->r.arg = p;
	if (n > 0) {
		cli_batch_rebuild(&p->r, true, true);
		cli_batch_recover(&p->r);
	}
	return 0;
}

/*
 * After a restart, whom nothing but its record knows: the others are of those that were just
 * recovered, or left out for a reason.
 */
static void
bring_back_roots(struct patrol *p)
{
	if (p->due && p->started.back.n > 0)
		free(cmd_startup_restart(&p->r.w, &p->r.say, &p->started, &p->r.all, false));
}

/* The next death of an agent that was just started is to be found without tmux (status). */
static void
note_started(struct patrol *p)
{
	struct candidate_list now = { .n = 0 };
	struct err none = ERR_INIT;

	if (p->r.recovered + p->r.unacknowledged > 0)
		snapshot_detect(&p->r.w, &now, &none);
	candidate_list_release(&now);
}

static int
act(struct patrol *p, struct err *e)
{
	struct err untold = ERR_INIT;

	if (startup_record(&p->r.w, &p->r.all, e) != 0)
		return -1;
	if (!config_flag(p->r.w.config, "auto_recover")) {
		p->r.found = p->crashed;
		if (note_crashes(p, e) != 0)
			return -1;
	} else if (recover_them(p, e) != 0) {
		return -1;
	} else {
		bring_back_roots(p);
		note_started(p);
	}
	send_mail(p);
	if (upkeep_on_crash_end(&p->told_to, &untold) != 0)
		report_untold(p, &untold);
	cli_export_events(&p->r.w);
	return 0;
}

static void
show_plan(struct patrol *p)
{
	const struct run_report *runs = &p->started.runs;
	size_t n = runs->claimed + runs->running + runs->stopping;
	json_t *more = NULL;

	if (p->r.cli->json) {
		more = json_object();
		json_object_set_new(more, "startup",
		    p->due ? cmd_startup_json(&p->runs, &p->started) : json_null());
	}
	if (n > 0)
		output_line(&p->r.say, "%zu run%s would be settled: gt-recover records run recover -n "
		    "shows them.", n,
		    n == 1 ? "" : "s");
	if (p->crashed > 0 && !config_flag(p->r.w.config, "auto_recover"))
		output_line(&p->r.say,
		    "auto_recover is false: only reported; to recover them: gt-recover --all");
	if (p->crashed > 0 || p->r.cli->json)
		cli_batch_print_plan(&p->r, more);
}

static void
note_results(struct patrol *p)
{
	output_warning(&p->r.say, "the records were not reconciled: %s%s%s", output_shown(p->ledger.msg, 0),
	    *p->ledger.hint != '\0' ? "\n  " : "", p->ledger.hint);
}

/*
 * What startup had left for being young, or to a runner that has gone since. `all` is for a
 * restart: here it would end what is at work.
 */
static int
count_stale(struct patrol *p, size_t *n)
{
	struct store *store = app_store(&p->r.w, false, NULL);
	struct run_recovery look;
	struct timestamp now;

	*n = 0;
	if (p->runs.mode == RUN_MODE_ALL)
		p->runs.mode = RUN_MODE_STALE;
	p->runs.between = true;
	look = p->runs;
	look.dry_run = true;
	if (store == NULL)
		return 0;
	store_timestamp(store, &now);
	if (run_recover(store, &look, &now, &p->started.runs, &p->ledger) != 0)
		return -1;
	*n = p->started.runs.claimed + p->started.runs.running + p->started.runs.stopping;
	return 0;
}

static int
settle_runs(struct patrol *p)
{
	struct store *store = app_store(&p->r.w, false, NULL);
	struct timestamp now;

	store_timestamp(store, &now);
	if (run_recover(store, &p->runs, &now, &p->started.runs, &p->ledger) != 0)
		return -1;
	cmd_startup_report(&p->r.say, &p->runs, &p->started, config_flag(p->r.w.config, "auto_recover"));
	cli_export_events(&p->r.w);
	return 0;
}

static int
settle_all(struct patrol *p)
{
	if (startup_run(&p->r.w, &p->runs, &p->started, &p->ledger) != 0)
		return -1;
	cmd_startup_report(&p->r.say, &p->runs, &p->started, config_flag(p->r.w.config, "auto_recover"));
	return 0;
}

/* With a store that forgets it. */
static int
rehearse_all(struct patrol *p)
{
	if (!p->due)
		return p->ledger.code != 0 ? -1 : 0;
	p->r.w.store = store_overlay(p->r.w.store);
	p->r.w.dry = true;
	return settle_all(p);
}

/* The records first: what crashed is judged by them. -1: the lock could not be taken. */
static int
reconcile_first(struct patrol *p, struct err *e)
{
	size_t stale = 0;
	int ours, ret = 0;

	p->due = p->all ? app_store(&p->r.w, false, &p->ledger) != NULL : startup_due(&p->r.w);
	if (p->all && p->r.cli->dry_run)
		ret = rehearse_all(p);
	else if (!p->due)
		ret = count_stale(p, &stale);
	if (ret == 0 && !p->r.cli->dry_run && (p->due || stale > 0)) {
		ours = take_lock(p, e);
		if (ours < 0)
			return -1;
		if (ours > 0)
			ret = p->due ? settle_all(p) : settle_runs(p);
		else
			p->due = false;
	}
	if (ret != 0)
		note_results(p);
	return 0;
}

/*
 * Tells the other hosts what this pass saw; releases sessions. That it could not be told is no
 * failure of the pass.
 */
static void
publish(struct app *w, struct cli_output *say, json_t *sessions)
{
	struct err e = ERR_INIT;
	struct store *store = app_store(w, true, &e);

	if (store == NULL || record_fleet_publish(store, sessions, &e) != 0)
		output_warning(say, "cannot publish the agents of this host: %s",
		    output_shown(e.msg, 0));
	json_decref(sessions);
}

/*
 * For one that was started for a crash: it waits for the patrol at work, which may have looked before
 * that crash. One waits for all. 1: its turn has come, 0: another waits already, or it took too long.
 */
static int
wait_for_turn(struct patrol *p, struct err *e)
{
	char *path = app_path(&p->r.w, "locks", "patrol-next.lock", true, e);
	int next = path != NULL ? io_lock(path, 0, e) : -1;

	p->lock_path = next >= 0 ? app_path(&p->r.w, "locks", "patrol.lock", true, e) : NULL;
	if (p->lock_path != NULL)
		p->lock = io_lock(p->lock_path, TURN_MS, e);
	io_unlock(path, next);
	free(path);
	if (p->lock >= 0 || strcmp(e->name, "locked") != 0)
		return p->lock >= 0 ? 1 : -1;
	err_clear(e);
	return 0;
}

/* GT_OK or -1; the counts tell the rest. */
static int
run_patrol(struct patrol *p, struct err *e)
{
	size_t chosen;
	int ours = 1;

	if (p->r.cli->queued && (ours = wait_for_turn(p, e)) <= 0)
		return ours == 0 ? GT_OK : -1;
	if (cmd_run_recovery_read(p->r.cli, p->r.w.config, &p->runs, e) != 0 || reconcile_first(p, e) != 0 ||
	    detect_crashes(p, e) != 0)
		return -1;
	cli_warn_server(&p->r.all.trouble);
	cli_warn_exposed(&p->r.w, &p->r.all.exposed);
	chosen = p->r.all.n > 0 ? choose_unattended(p) : 0;
	if (p->r.cli->dry_run) {
		show_plan(p);
		return 0;
	}
	if (startup_renew(&p->r.w, &p->ledger) != 0)
		note_results(p);
	if (*host_id() != '\0')
		publish(&p->r.w, &p->r.say, json_sessions(p, false));
	if (p->crashed + chosen > 0 || p->due || mail_is_owed(&p->r.w) ||
	    !startup_is_recorded(&p->r.w, &p->r.all)) {
		ours = take_lock(p, e);
		if (ours < 0 || (ours > 0 && act(p, e) != 0))
			return -1;
	}
	upkeep_tidy_prompts(&p->r.w);
	cli_sweep(&p->r.w);
	if (p->r.cli->json)
		print_patrol_json(p);
	return GT_OK;
}

static int
run_pass(const struct cli *cli, bool all, struct err *e)
{
	struct patrol p = { .lock = -1, .all = all };
	struct err untold = ERR_INIT;
	int ret;

	ret = cli_batch_open(&p.r, cli, e);
	p.r.mass = true;
	if (ret == 0 && cli_is_disabled(cli, &p.r.w)) {
		cli_batch_close(&p.r);
		return GT_OK;
	}
	if (ret == 0 && cli->recover)
		config_set_flag(p.r.w.config, "auto_recover", true);
	if (ret == 0)
		ret = run_patrol(&p, e);
	if (ret == 0)
		ret = patrol_exit_status(&p);
	upkeep_on_crash_end(&p.told_to, &untold);
	io_unlock(p.lock_path, p.lock);
	free(p.lock_path);
	free(p.fresh);
	startup_release(&p.started);
	cli_batch_close(&p.r);
	return ret;
}

int
cmd_patrol(const struct cli *cli, struct err *e)
{
	return run_pass(cli, false, e);
}

int
cmd_reconcile(const struct cli *cli, struct err *e)
{
	return run_pass(cli, true, e);
}
