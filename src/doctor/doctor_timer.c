#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor_private.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/spawn.h"
#include "config/config.h"
#include "install/install.h"
#include "process/proc.h"
#include "snapshot/pass/pass.h"
#include "tmux/tmux.h"

#define REINSTALL_TIMER "gt-recover setup --only timer"
#define BARE_PATH "/usr/bin:/bin"	/* cron's own, and none better is sure to be there under systemd */
#define RUN_MS 20000

/* ---- what is installed ---- */

/* Each check reads it anew: it is two small files. Units first; how many, or -1. */
static int
read_installed(struct doctor *d, struct timer_status found[2], struct err *e)
{
	int units, block;

	if (d->today == NULL) {
		*e = d->no_timer;
		return -1;
	}
	units = timer_status_read(d->today, TIMER_SYSTEMD, &found[0], e);
	block = units >= 0 ? timer_status_read(d->today, TIMER_CRONTAB, &found[units], e) : 0;
	if (block < 0 && units > 0)
		timer_status_release(&found[0]);
	return units < 0 || block < 0 ? -1 : units + block;
}

/* Calls look for each; says why not when there is none. */
static void
each_installed(struct doctor *d, void (*look)(struct doctor *d, const struct timer_status *f))
{
	struct timer_status found[2];
	struct err e = ERR_INIT;
	int n = read_installed(d, found, &e);

	if (n <= 0)
		doctor_report(
		    d, VERDICT_SKIPPED, NULL, n == 0 ? "no timer" : "the timer cannot be read");
	for (int i = 0; i < n; i++) {
		look(d, &found[i]);
		timer_status_release(&found[i]);
	}
}

static const char *
kind_of(const struct timer_status *f)
{
	return f->systemd ? "a systemd user timer" : "a crontab line";
}

static void
check_timer_there(struct doctor *d)
{
	struct timer_status found[2];
	struct err e = ERR_INIT;
	int n = read_installed(d, found, &e);

	if (n < 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (n == 0)
		doctor_report(d, VERDICT_WARNING, REINSTALL_TIMER,
		    "none: snapshots are taken only by hand");
	else if (n == 2)
		doctor_report(d, VERDICT_WARNING, REINSTALL_TIMER,
		    "both a systemd user timer and a crontab line: each pass runs twice");
	else if (!found[0].ours)
		doctor_report(d, VERDICT_WARNING, REINSTALL_TIMER, "%s, %s, changed by hand",
		    d->today->id, kind_of(&found[0]));
	else
		doctor_report(d, VERDICT_OK, NULL, "%s, %s", d->today->id, kind_of(&found[0]));
	for (int i = 0; i < n; i++)
		timer_status_release(&found[i]);
}

/* ---- period ---- */

/* The word behind an option, or NULL. */
static const char *
word_behind(const struct town_list *words, const char *option)
{
	for (size_t i = 0; i + 1 < words->n; i++)
		if (strcmp(words->v[i], option) == 0)
			return words->v[i + 1];
	return NULL;
}

static void
look_at_period(struct doctor *d, const struct timer_status *f)
{
	const char *panes = config_text(d->w->config, "snapshot_interval"),
		   *want = config_text(d->w->config, "epics.checkpoint_interval");
	struct buf age = BUF_INIT;
	const char *passes = word_behind(&f->args, "--passes");
	long long made = passes != NULL ? strtoll(passes, NULL, 10) : 0;

	clock_age(&age, f->interval_ms);
	if (f->interval_ms == 0)
		doctor_report(d, VERDICT_WARNING, REINSTALL_TIMER,
		    "its schedule (%s) was not written by gt-recover; checkpoint_interval is %s", f->schedule,
		    want);
	else if (f->ours && passes == NULL)
		doctor_report(d, VERDICT_WARNING, REINSTALL_TIMER,
		    "an older version installed it: it does not write checkpoints of epics every %s", want);
	else if (f->interval_ms != timer_interval(d->today, f->systemd))
		doctor_report(d, VERDICT_WARNING, REINSTALL_TIMER,
		    "it runs every %s, but checkpoint_interval is %s and snapshot_interval %s", age.data,
		    want, panes);
	else if (f->ours && made != timer_passes(d->today, f->systemd))
		doctor_report(d, VERDICT_WARNING, REINSTALL_TIMER,
		    "each run makes %lld of the %lld passes that checkpoint_interval (%s) needs", made,
		    timer_passes(d->today, f->systemd), want);
	else
		doctor_report(d, VERDICT_OK, NULL,
		    "every %s; checkpoint_interval is %s, snapshot_interval %s", age.data, want, panes);
	buf_release(&age);
}

static void
check_timer_period(struct doctor *d)
{
	each_installed(d, look_at_period);
}

/* ---- words ---- */

/* Is there the socket of this server among those that the timer looks at, as it would find them? */
static bool
is_looked_at(const struct timer_status *f, const struct tmux *t)
{
	const char *dir = timer_status_env(f, "TMUX_TMPDIR");
	char *path = tmux_socket_path(t);
	bool found = false;

	for (size_t i = 0; i + 1 < f->args.n && !found; i++) {
		char *theirs;

		if (strcmp(f->args.v[i], "-L") != 0)
			continue;
		theirs = strchr(f->args.v[i + 1], '/') != NULL
		    ? xstrdup(f->args.v[i + 1])
		    : xasprintf(
			  "%s/tmux-%ld/%s", dir != NULL ? dir : "/tmp", (long)geteuid(), f->args.v[i + 1]);
		found = strcmp(theirs, path) == 0;
		free(theirs);
	}
	free(path);
	return found;
}

static bool
look_at_sockets(struct doctor *d, const struct timer_status *f)
{
	struct buf absent = BUF_INIT;
	bool good;

	for (size_t i = 0; i < d->w->n_servers; i++) {
		char *path = tmux_socket_path(&d->w->servers[i]);

		if (access(path, F_OK) == 0 && !is_looked_at(f, &d->w->servers[i]))
			buf_fmt(&absent, "%s%s", absent.len > 0 ? ", " : "", path);
		free(path);
	}
	good = absent.len == 0;
	if (!good)
		doctor_report(
		    d, VERDICT_WARNING, REINSTALL_TIMER, "the timer does not search %s", absent.data);
	buf_release(&absent);
	return good;
}

static bool
look_at_program(struct doctor *d, const struct timer_status *f)
{
	const char *program = f->args.v[0], *path = timer_status_env(f, "PATH");
	char *tmux = doctor_find_program(path != NULL ? path : BARE_PATH, "tmux");
	bool there = access(program, X_OK) == 0, has_tmux = tmux != NULL;

	free(tmux);
	if (!there)
		doctor_report(d, VERDICT_ERROR, REINSTALL_TIMER, "its program %s does not exist", program);
	else if (!has_tmux)
		doctor_report(d, VERDICT_ERROR, REINSTALL_TIMER, "tmux is not in its PATH, %s",
		    path != NULL ? path : BARE_PATH);
	else if (strcmp(program, d->today->program) != 0)
		doctor_report(
		    d, VERDICT_NOTE, NULL, "it runs %s, and this is %s", program, d->today->program);
	return there && has_tmux;
}

static bool
differ(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "") != 0;
}

/* Whether it keeps its snapshots where we look for them, and by the same settings. */
static bool
look_at_places(struct doctor *d, const struct timer_status *f)
{
	static const char *const names[] = { "XDG_STATE_HOME", "XDG_CONFIG_HOME" };
	const char *file = word_behind(&f->args, "--config");
	struct timer_status now = { .env = d->today->env };
	bool good = true;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (differ(timer_status_env(f, names[i]), timer_status_env(&now, names[i]))) {
			doctor_report(d, VERDICT_WARNING, REINSTALL_TIMER,
			    "its %s differs from the current one", names[i]);
			good = false;
		}
	if (differ(file, word_behind(&d->today->args, "--config")))
		doctor_report(
		    d, VERDICT_NOTE, NULL, "it reads %s", file != NULL ? file : "the usual gt.toml");
	return good;
}

static void
look_at_words(struct doctor *d, const struct timer_status *f)
{
	bool good;

	if (!f->ours) {
		doctor_report(d, VERDICT_SKIPPED, NULL, "its command line was not written by gt-recover");
		return;
	}
	good = look_at_program(d, f);
	good = look_at_places(d, f) && good;
	if (look_at_sockets(d, f) && good)
		doctor_report(
		    d, VERDICT_OK, NULL, "its program, tmux in its PATH, and every socket");
}

static void
check_timer_words(struct doctor *d)
{
	each_installed(d, look_at_words);
}

/* ---- who runs it ---- */

static bool
cron_runs(void)
{
	static const char *const names[] = { "cron", "crond", "fcron", "anacron", "busybox", "dcron",
		"bcron-sched" };
	struct procs procs;
	bool found = false;

	if (proc_list(&procs, NULL) != 0)
		return false;
	for (size_t i = 0; i < procs.n && !found; i++)
		for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
			found = found || strcmp(procs.v[i].comm, names[k]) == 0;
	proc_list_release(&procs);
	return found;
}

/* The first line of what a program says; NULL when it failed. Heap. */
static char *
doctor_first_line(const char *const *argv)
{
	struct buf out = BUF_INIT;
	struct spawn s = { .argv = argv, .out = &out, .max_out = 65536, .timeout_ms = 5000 };
	char *line =
	    spawn_run(&s, NULL) == 0 && s.status == 0 ? xstrndup(out.data, strcspn(out.data, "\n")) : NULL;

	buf_release(&out);
	return line;
}

static void
look_at_manager(struct doctor *d)
{
	char *unit = xasprintf("%s.timer", d->today->id), *user = xasprintf("%ld", (long)geteuid());
	const char *const active[] = { "systemctl", "--user", "is-active", unit, NULL };
	const char *const linger[] = { "loginctl", "show-user", user, "--property=Linger", "--value", NULL };
	char *state = doctor_first_line(active), *stays = doctor_first_line(linger);

	if (state == NULL || strcmp(state, "active") != 0)
		doctor_report(d, VERDICT_ERROR,
		    "gt-recover setup --only timer; systemctl --user status shows more", "%s is not "
		    "active", unit);
	else if (stays == NULL || strcmp(stays, "yes") != 0)
		doctor_report(d, VERDICT_WARNING, "loginctl enable-linger",
		    "it runs only while you are logged in");
	else
		doctor_report(d, VERDICT_OK, NULL, "active, also without a login");
	free(state);
	free(stays);
	free(unit);
	free(user);
}

static void
look_at_runner(struct doctor *d, const struct timer_status *f)
{
	if (f->systemd)
		look_at_manager(d);
	else if (cron_runs())
		doctor_report(d, VERDICT_OK, NULL, "a cron daemon is running");
	else
		doctor_report(d, VERDICT_WARNING, "start it and enable it at boot",
		    "no cron daemon is running");
}

static void
check_timer_runs(struct doctor *d)
{
	each_installed(d, look_at_runner);
}

/* ---- the test from an empty environment ---- */

static void
bare_environment(const struct timer_status *f, struct town_list *out)
{
	struct passwd entry, *pw = NULL;
	char room[16384];
	const char *name;

	if (getpwuid_r(geteuid(), &entry, room, sizeof room, &pw) != 0)
		pw = NULL;
	name = pw != NULL ? pw->pw_name : "nobody";
	/* both give the home of the user database, not today's HOME */
	town_list_add(out, xasprintf("HOME=%s", pw != NULL ? pw->pw_dir : "/"));
	town_list_add(out, xasprintf("LOGNAME=%s", name));
	town_list_add(out, xasprintf("SHELL=%s", f->systemd && pw != NULL ? pw->pw_shell : "/bin/sh"));
	if (f->systemd)
		town_list_add(out, xasprintf("USER=%s", name));
	for (size_t i = 0; i < f->env.n && f->systemd; i++)
		town_list_add(out, xstrdup(f->env.v[i]));
	if (!f->systemd || timer_status_env(f, "PATH") == NULL)
		town_list_add(out, xstrdup("PATH=" BARE_PATH));
	town_list_add(out, NULL);
}

/* The unit's or the crontab's very command line, and --dry-run --json behind it. */
static int
run_bare(const struct timer_status *f, struct buf *out, int *status, struct err *e)
{
	struct town_list env = TOWN_LIST_INIT, argv = TOWN_LIST_INIT;
	struct spawn s = { .out = out, .max_out = (size_t)16 << 20, .timeout_ms = RUN_MS };
	int ret;

	bare_environment(f, &env);
	if (f->systemd) {
		for (size_t i = 0; i < f->args.n; i++)
			town_list_add(&argv, xstrdup(f->args.v[i]));
		town_list_add(&argv, xstrdup("--dry-run"));
		town_list_add(&argv, xstrdup("--json"));
	} else {
		town_list_add(&argv, xstrdup("/bin/sh"));
		town_list_add(&argv, xstrdup("-c"));
		town_list_add(&argv, xasprintf("%s --dry-run --json", f->command));
	}
	town_list_add(&argv, NULL);
	s.argv = (const char *const *)argv.v;
	s.env = (const char *const *)env.v;
	s.cwd = access(env.v[0] + strlen("HOME="), X_OK) == 0 ? env.v[0] + strlen("HOME=") : "/";
	ret = spawn_run(&s, e);
	*status = s.status;
	town_list_release(&env);
	town_list_release(&argv);
	return ret;
}

static bool
is_in(const json_t *results, const struct snapshot_result *r)
{
	const json_t *v;
	size_t i;

	json_array_foreach(results, i, v) if (strcmp(json_text(v, "session", ""), r->session) == 0 &&
	    strcmp(json_text(v, "pane_id", ""), r->pane) == 0) return true;
	return false;
}

/* Names what we find and it does not. How many. */
static size_t
compare(struct doctor *d, const json_t *results, struct buf *names, size_t *all)
{
	struct snapshot_request ask_all = { .dry_run = true };
	struct err unused = ERR_INIT;
	struct snapshot_pass run;
	size_t absent = 0;

	*all = 0;
	if (snapshot_pass(d->w, &ask_all, &run, &unused) == 0) {
		*all = run.n;
		for (size_t i = 0; i < run.n; i++)
			if (!is_in(results, &run.v[i]) && absent++ < 5)
				buf_fmt(names, "%s%s", names->len > 0 ? ", " : "", run.v[i].session);
	}
	snapshot_pass_release(&run);
	return absent;
}

static void
report_difference(struct doctor *d, const json_t *v)
{
	struct buf names = BUF_INIT;
	size_t all, absent;

	absent = compare(d, json_object_get(v, "panes"), &names, &all);
	if (absent > 0)
		doctor_report(d, VERDICT_ERROR, REINSTALL_TIMER,
		    "run as by the timer, it misses %zu of %zu agent panes: %s%s", absent, all,
		    names.data, absent > 5 ? ", …" : "");
	else if (json_flag(v, "disabled", false))
		doctor_report(d, VERDICT_ERROR, REINSTALL_TIMER,
		    "run as by the timer, it is disabled: it reads another gt.toml");
	else
		doctor_report(d, VERDICT_OK, NULL,
		    "run as by the timer, it finds the same %zu agent pane%s", all,
		    all == 1 ? "" : "s");
	buf_release(&names);
}

static void
look_at_bare(struct doctor *d, const struct timer_status *f)
{
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	json_t *v = NULL;
	int status = 0;

	if (!f->ours) {
		doctor_report(d, VERDICT_SKIPPED, NULL,
		    "its command line was not written by gt-recover and is not run");
		return;
	}
	if (run_bare(f, &out, &status, &e) != 0) {
		doctor_report_err(d, VERDICT_ERROR, &e);
	} else if ((v = json_parse(out.data, out.len, "its answer", NULL)) == NULL) {
		doctor_report(d, VERDICT_ERROR, REINSTALL_TIMER,
		    "run as by the timer, it exits with status %d and no output", status);
	} else if (status != GT_OK) {
		const json_t *error = json_object_get(v, "error");

		doctor_report(d, VERDICT_ERROR, json_text(error, "hint", REINSTALL_TIMER),
		    "run as by the timer, it fails (status %d): %s", status,
		    json_text(error, "message", "some panes could not be examined"));
	} else {
		report_difference(d, v);
	}
	json_decref(v);
	buf_release(&out);
}

static void
check_timer_bare(struct doctor *d)
{
	each_installed(d, look_at_bare);
}

/* What `install timer` would write today beside the timer of snapshots. */
static void
startup_today(const struct doctor *d, struct timer *out)
{
	timer_init(out, "startup", town_root(d->w->town));
	out->program = xstrdup(d->today->program);
	town_list_add(&out->args, xstrdup("startup"));
	for (size_t i = 1; i < d->today->args.n; i++)
		town_list_add(&out->args, xstrdup(d->today->args.v[i]));
	for (size_t i = 0; i < d->today->env.n; i++)
		town_list_add(&out->env, xstrdup(d->today->env.v[i]));
}

/* Is startup installed there? */
static bool
look_at_boot(struct doctor *d, const struct timer *t, bool systemd)
{
	char *unit = xasprintf("%s.timer", t->id), *answer = NULL;
	const char *const enabled[] = { "systemctl", "--user", "is-enabled", unit, NULL };
	const char *kind = systemd ? "a systemd user timer" : "a crontab @reboot line";
	struct err e = ERR_INIT;
	struct timer_status f;
	int found = timer_status_read(t, systemd ? TIMER_SYSTEMD : TIMER_CRONTAB, &f, &e);

	if (found < 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (found > 0 && systemd && (answer = doctor_first_line(enabled)) == NULL)
		doctor_report(d, VERDICT_ERROR, REINSTALL_TIMER "; systemctl --user status shows more",
		    "%s is not enabled", unit);
	else if (found > 0 && f.state == ARTIFACT_CURRENT)
		doctor_report(d, VERDICT_OK, NULL, "%s, %s", t->id, kind);
	else if (found > 0)
		doctor_report(d, VERDICT_NOTE, REINSTALL_TIMER,
		    "%s, %s, outdated", t->id, kind);
	timer_status_release(&f);
	free(answer);
	free(unit);
	return found != 0;
}

static void
check_timer_boot(struct doctor *d)
{
	struct timer t;
	bool there;

	if (d->today == NULL) {
		doctor_report(d, VERDICT_SKIPPED, NULL, "the timer cannot be read");
		return;
	}
	startup_today(d, &t);
	there = look_at_boot(d, &t, true);
	there = look_at_boot(d, &t, false) || there;
	if (!there)
		doctor_report(d, VERDICT_WARNING, REINSTALL_TIMER,
		    "none: nothing runs gt-recover reconcile after a reboot");
	timer_release(&t);
}

const struct doctor_check doctor_timer_checks[] = {
	{ "Timer", "installed", "systemd user units, the crontab", check_timer_there },
	{ "Timer", "period", "its period compared with snapshot_interval", check_timer_period },
	{ "Timer", "words", "program, sockets and PATH compared with the current ones", check_timer_words },
	{ "Timer", "running", "cron daemon, user manager, linger", check_timer_runs },
	{ "Timer", "bare", "its command line, run in an empty environment with --dry-run",
	    check_timer_bare },
	{ "Timer", "boot", "what reconciles after a reboot: systemd user units, a crontab @reboot line",
	    check_timer_boot },
	{ .group = NULL },
};
