#include <stdlib.h>
#include <string.h>

#include "doctor/doctor_private.h"
#include "app/app.h"
#include "base/sys.h"
#include "config/config.h"
#include "gastown/gastown.h"
#include "install/install.h"
#include "recover/upkeep/upkeep.h"
#include "tmux/tmux.h"
#include "workspace/workspace.h"

/* ---- versions ---- */

size_t
doctor_tmux_faults(
    const char *version, void (*tell)(void *arg, enum verdict v, const char *sentence), void *arg)
{
	/*
	 * from the first to before the second; 0: no bound. Facts: T26, T34, T37, tmux's source, and
	 * the oldest version that gt-recover is tested with
	 */
	static const struct { int from, below; enum verdict v; const char *sentence;
	} faults[] = {
		{ 0, 30200, VERDICT_ERROR, "is too old: gt-recover needs 3.2 or later" },
		{ 30200, 30300, VERDICT_NOTE,
		    "does not show a pane's first directory; gt-recover uses the session's, and accepts "
		    "a conversation there only if the screen or the agent's own record confirms it" },
		{ 30300, 30600, VERDICT_NOTE,
		    "loses the exit status of some dead panes; gt-recover works around it" },
		{ 30300, 30500, VERDICT_NOTE,
		    "crashes with all sessions when a client shows a dead pane whose program asked for "
		    "focus reports (Claude Code does); gt-recover resets such panes" },
		{ 30301, 30302, VERDICT_NOTE,
		    "crashes when text is pasted into a dead pane; gt-recover never does that" },
		{ 30400, 30401, VERDICT_NOTE,
		    "prints a backslash before each $NAME of commands and directories; gt-recover removes "
		    "it" },
		{ 30800, 0, VERDICT_NOTE,
		    "forgets the pid of a dead pane; gt-recover keeps the pids of agents it saw alive" },
		{ 30700, 0, VERDICT_NOTE,
		    "may not submit in Claude Code with the key Enter; gt-recover then sends a carriage "
		    "return" },
	};
	int n = tmux_number(version);
	size_t told = 0;

	if (n == 0) {
		tell(arg, VERDICT_NOTE, "is an untested version");
		return 1;
	}
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
		if (n >= faults[i].from && (faults[i].below == 0 || n < faults[i].below)) {
			tell(arg, faults[i].v, faults[i].sentence);
			told++;
		}
	return told;
}

struct told_version {
	struct doctor *d;
	const char *version;
};

static void
report_fault(void *arg, enum verdict v, const char *sentence)
{
	const struct told_version *t = arg;

	doctor_report(
	    t->d, v, v == VERDICT_ERROR ? "install a later tmux" : NULL, "%s %s", t->version, sentence);
}

static void
check_tmux(struct doctor *d)
{
	struct buf version = BUF_INIT;
	struct told_version told = { .d = d };
	struct err e = ERR_INIT;

	if (tmux_version(&version, &e) != 0) {
		doctor_report_err(d, VERDICT_ERROR, &e);
	} else {
		d->has_tmux = true;
		d->tmux_number = tmux_number(version.data);
		told.version = version.data;
		if (doctor_tmux_faults(version.data, report_fault, &told) == 0)
			doctor_report(d, VERDICT_OK, NULL, "%s", version.data);
	}
	buf_release(&version);
}

/* ---- servers ---- */

/* One that runs; false when nothing does there. */
static bool
look_at_server(struct doctor *d, struct tmux *t)
{
	struct buf version = BUF_INIT, named = BUF_INIT;
	struct told_version told = { .d = d };
	struct err e = ERR_INIT;
	size_t agents = 0;

	if (tmux_do(t, false, &version, &e, "display-message", "-p", "#{version}", NULL) != 0) {
		buf_release(&version);
		if (strcmp(e.name, "no-server") == 0)
			return false;
		doctor_report_err(d, VERDICT_ERROR, &e);
		return true;
	}
	for (size_t i = 0; i < d->agents.n; i++)
		agents += detect_status_has_pane(d->agents.v[i].status) &&
		    strcmp(d->agents.v[i].pane.socket, t->socket) == 0;
	doctor_report(d, VERDICT_OK, NULL, "%s answers (%s), %zu agent pane%s", t->socket, version.data,
	    agents, agents == 1 ? "" : "s");
	/* its faults count, not those of the tmux in PATH, which check_tmux reports */
	if (tmux_number(version.data) != d->tmux_number) {
		buf_str(&named, t->socket);
		buf_fmt(&named, ": tmux %s", version.data);
		told.version = named.data;
		doctor_tmux_faults(version.data, report_fault, &told);
	}
	buf_release(&named);
	buf_release(&version);
	return true;
}

static void
check_servers(struct doctor *d)
{
	struct buf silent = BUF_INIT;
	size_t there = 0;

	if (!d->has_tmux) {
		doctor_report(d, VERDICT_SKIPPED, NULL, "no tmux");
		return;
	}
	for (size_t i = 0; i < d->w->n_servers; i++) {
		if (look_at_server(d, &d->w->servers[i]))
			there++;
		else
			buf_fmt(&silent, "%s%s", silent.len > 0 ? ", " : "", d->w->servers[i].socket);
	}
	if (there == 0)
		doctor_report(d, VERDICT_NOTE, "to check another one: gt-recover -L NAME doctor",
		    "no server runs on %s", silent.data);
	else if (silent.len > 0)
		doctor_report(d, VERDICT_OK, NULL, "no server runs on %s", silent.data);
	buf_release(&silent);
}

/* ---- panes ---- */

static void
check_history(struct doctor *d)
{
	int64_t want = config_int(d->w->config, "max_context_lines"), least = INT64_MAX;
	size_t live = doctor_live(d), less = 0;
	bool fixed = false;		/* before 3.7 a pane keeps the limit it was made with */

	for (size_t i = 0; i < d->agents.n; i++) {
		const struct candidate *c = &d->agents.v[i];

		if (doctor_is_live(c) && c->pane.history_limit < want) {
			least = c->pane.history_limit < least ? c->pane.history_limit : least;
			less++;
			fixed = fixed || tmux_number(c->pane.version) < 30700;
		}
	}
	if (live == 0)
		doctor_report(d, VERDICT_SKIPPED, NULL, "no live agent");
	else if (less > 0)
		doctor_report(d, VERDICT_WARNING,
		    fixed ? "gt-recover setup --only panes raises it for new panes; existing panes keep "
		        "their limit"
			  : "gt-recover setup --only panes raises it, also for these panes",
		    "%zu of %zu agent panes keep fewer than max_context_lines = %lld rows, one only %lld",
		    less, live, (long long)want, (long long)least);
	else
		doctor_report(d, VERDICT_OK, NULL, "%zu agent pane%s with at least max_context_lines = "
		    "%lld rows",
		    live, live == 1 ? "" : "s", (long long)want);
}

static void
check_armed(struct doctor *d)
{
	static const char by_gas_town[] = "gt-recover setup --only panes, after each start of a session by "
	    "Gas Town: that "
					  "sets remain-on-exit off and replaces the hooks";
	bool town = town_root(d->w->town) != NULL;
	size_t live = doctor_live(d), kept = 0, armed = 0;

	for (size_t i = 0; i < d->agents.n; i++) {
		const struct candidate *c = &d->agents.v[i];

		kept += doctor_is_live(c) && strcmp(c->pane.remain_on_exit, "off") != 0;
		armed += doctor_is_live(c) && arm_holds(&d->armed, c);
	}
	if (live == 0)
		doctor_report(d, VERDICT_SKIPPED, NULL, "no live agent");
	else if (kept < live)
		doctor_report(d, VERDICT_WARNING, town ? by_gas_town : "gt-recover setup --only panes",
		    "%zu of %zu agent panes close when their agent dies (remain-on-exit is off)",
		    live - kept, live);
	else
		doctor_report(d, VERDICT_OK, NULL,
		    "%zu agent pane%s, kept when the agent dies, %zu set up by gt-recover", live,
		    live == 1 ? "" : "s", armed);
	if (town && armed > 0)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "the witness restarts such a session 3 minutes after its last heartbeat; gt doctor "
		    "--fix and gt start remove it at once");
}

/*
 * Armed panes whose server may miss a death, and has no heartbeat: how many. They are reset when
 * another process of the server ends, or a command looks.
 */
static size_t
count_unwatched(struct doctor *d)
{
	size_t unwatched = 0;

	for (size_t k = 0; k < d->w->n_servers; k++) {
		struct tmux *t = &d->w->servers[k];
		size_t armed = 0;

		for (size_t i = 0; i < d->agents.n; i++) {
			const struct candidate *c = &d->agents.v[i];

			armed += doctor_is_live(c) && strcmp(c->pane.socket, t->socket) == 0 &&
			    pane_has_fault(&c->pane) && arm_holds(&d->armed, c);
		}
		unwatched += armed > 0 && !arm_has_heartbeat(t) ? armed : 0;
	}
	return unwatched;
}

/* Panes that end their server when somebody looks at them, now or once their agent is dead. */
static void
check_exposed(struct doctor *d)
{
	size_t faulty = 0, dead = 0, unarmed = 0, unwatched = count_unwatched(d);

	for (size_t i = 0; i < d->agents.n; i++) {
		const struct candidate *c = &d->agents.v[i];

		if (!detect_status_has_pane(c->status) || !pane_has_fault(&c->pane))
			continue;
		faulty++;
		dead += pane_exposed(&c->pane);
		unarmed += doctor_is_live(c) && strcmp(c->pane.remain_on_exit, "off") != 0 &&
		    !arm_holds(&d->armed, c);
	}
	if (faulty == 0)
		doctor_report(d, VERDICT_SKIPPED, NULL,
		    "no agent pane on a tmux that crashes on dead panes");
	if (dead > 0)
		doctor_report(d, VERDICT_WARNING,
		    "run gt-recover snapshot before any client shows the pane",
		    "%zu dead agent pane%s may crash this tmux, with all its sessions, when a client "
		    "shows it",
		    dead, dead == 1 ? "" : "s");
	if (unarmed > 0)
		doctor_report(d, VERDICT_WARNING, "gt-recover setup --only panes",
		    "%zu agent pane%s without gt-recover's hook: once the agent is dead, showing the "
		    "pane may crash this tmux",
		    unarmed, unarmed == 1 ? "" : "s");
	if (unwatched > 0)
		doctor_report(d, VERDICT_WARNING, "gt-recover setup --only panes",
		    "%zu pane%s may not be reset: this tmux can miss the death, and gt-recover's "
		    "heartbeat is not running",
		    unwatched, unwatched == 1 ? "" : "s");
	if (faulty > 0 && dead + unarmed + unwatched == 0)
		doctor_report(d, VERDICT_OK, NULL,
		    "dead agent panes are reset, within seconds where the hook is set");
}

/* ---- tmux-resurrect ---- */

static bool
look_at_resurrect(struct doctor *d, struct tmux *t)
{
	struct resurrect_status has;

	artifact_resurrect_status(t, &has);
	if (has.loaded && has.calls_us)
		doctor_report(d, VERDICT_OK, NULL, "%s: gt-recover runs after a restore by tmux-resurrect",
		    t->socket);
	else if (has.loaded && has.hooked)
		doctor_report(d, VERDICT_NOTE, "gt-recover --all, after each restore",
		    "%s: your own hook runs after a restore by tmux-resurrect, not gt-recover",
		    t->socket);
	else if (has.loaded)
		doctor_report(d, VERDICT_NOTE, "gt-recover setup --only resurrect,conf",
		    "%s: tmux-resurrect restores panes; its hook could also recover their agents",
		    t->socket);
	return has.loaded;
}

static void
check_resurrect(struct doctor *d)
{
	bool any = false;

	for (size_t i = 0; d->has_tmux && i < d->w->n_servers; i++)
		any = look_at_resurrect(d, &d->w->servers[i]) || any;
	if (!any)
		doctor_report(d, VERDICT_SKIPPED, NULL, "no server has tmux-resurrect");
}

const struct doctor_check doctor_tmux_checks[] = {
	{ "tmux", "program", "tmux -V and known bugs of that version", check_tmux },
	{ "tmux", "servers", "an answer of each server", check_servers },
	{ "tmux", "history", "history-limit of agent panes compared with max_context_lines", check_history },
	{ "tmux", "armed", "remain-on-exit of agent panes", check_armed },
	{ "tmux", "exposed", "dead agent panes that crash this version of tmux",
	    check_exposed },
	{ "tmux", "resurrect", "a hook that recovers agents after a restore by tmux-resurrect",
	    check_resurrect },
	{ .group = NULL },
};
