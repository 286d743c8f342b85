#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "revive/arm.h"
#include "revive/doctor.h"
#include "revive/world.h"
#include "base/buf.h"
#include "tmux/client.h"
#include "town/config.h"
#include "town/town.h"

/* ---- versions ---- */

/* 3.3a is 30301: the letter counts behind the dot. 0: not told. */
static int
version_number(const char *text)
{
	int major = 0, minor = 0, at = 0;

	while (*text != '\0' && !isdigit((unsigned char)*text))
		text++;
	if (sscanf(text, "%3d.%3d%n", &major, &minor, &at) < 2)
		return 0;
	return major * 10000 + minor * 100 + (text[at] >= 'a' && text[at] <= 'z' ? text[at] - 'a' + 1 : 0);
}

size_t
tmux_faults(const char *version, void (*tell)(void *arg, enum verdict v, const char *sentence), void *arg)
{
	/* from the first to before the second; 0: no bound. Facts: T26, T34, T37, and the oldest version with all that is asked of it */
	static const struct { int from, below; enum verdict v; const char *sentence; } faults[] = {
		{ 0, 30200, VERDICT_ERROR, "is too old: gt-recover needs 3.2 or later" },
		{ 30300, 30600, VERDICT_NOTE, "loses the exit status of some dead panes; gt-recover makes it look again" },
		{ 30301, 30302, VERDICT_NOTE, "dies when something is pasted into a dead pane; gt-recover never does, others may" },
		{ 30700, 0, VERDICT_NOTE, "may not submit with the key Enter in Claude Code; gt-recover then sends a carriage return" },
	};
	int n = version_number(version);
	size_t told = 0;

	if (n == 0) {
		tell(arg, VERDICT_NOTE, "is a version that nothing is known of");
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
tell_fault(void *arg, enum verdict v, const char *sentence)
{
	const struct told_version *t = arg;

	doctor_tell(t->d, v, v == VERDICT_ERROR ? "install a later tmux" : NULL, "%s %s", t->version, sentence);
}

void
doctor_tmux(struct doctor *d)
{
	struct buf version = BUF_INIT;
	struct told_version told = { .d = d };
	struct err e = ERR_INIT;

	if (tmux_version(&version, &e) != 0) {
		doctor_tell_err(d, VERDICT_ERROR, &e);
	} else {
		d->has_tmux = true;
		told.version = version.data;
		if (tmux_faults(version.data, tell_fault, &told) == 0)
			doctor_tell(d, VERDICT_OK, NULL, "%s", version.data);
	}
	buf_release(&version);
}

/* ---- servers ---- */

/* One that runs; false when nothing does there. */
static bool
look_at_server(struct doctor *d, struct tmux *t)
{
	struct buf version = BUF_INIT;
	struct err e = ERR_INIT;
	size_t agents = 0;

	if (tmux_do(t, false, &version, &e, "display-message", "-p", "#{version}", NULL) != 0) {
		buf_release(&version);
		if (strcmp(e.name, "no-server") == 0)
			return false;
		doctor_tell_err(d, VERDICT_ERROR, &e);
		return true;
	}
	for (size_t i = 0; i < d->agents.n; i++)
		agents += class_has_pane(d->agents.v[i].class) && strcmp(d->agents.v[i].pane.socket, t->socket) == 0;
	doctor_tell(d, VERDICT_OK, NULL, "%s answers (%s), %zu agents' pane%s", t->socket, version.data, agents, agents == 1 ? "" : "s");
	buf_release(&version);
	return true;
}

void
doctor_servers(struct doctor *d)
{
	struct buf silent = BUF_INIT;
	size_t there = 0;

	if (!d->has_tmux) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, "there is no tmux");
		return;
	}
	for (size_t i = 0; i < d->w->n_servers; i++) {
		if (look_at_server(d, &d->w->servers[i]))
			there++;
		else
			buf_fmt(&silent, "%s%s", silent.len > 0 ? ", " : "", d->w->servers[i].socket);
	}
	if (there == 0)
		doctor_tell(d, VERDICT_NOTE, "gt-recover -L NAME doctor looks at another one", "no server runs on %s", silent.data);
	else if (silent.len > 0)
		doctor_tell(d, VERDICT_OK, NULL, "no server runs on %s", silent.data);
	buf_release(&silent);
}

/* ---- panes ---- */

void
doctor_history(struct doctor *d)
{
	int64_t want = config_int(d->w->config, "max_context_lines"), least = INT64_MAX;
	size_t live = doctor_live(d), less = 0;

	for (size_t i = 0; i < d->agents.n; i++) {
		const struct candidate *c = &d->agents.v[i];

		if (doctor_is_live(c) && c->pane.history_limit < want) {
			least = c->pane.history_limit < least ? c->pane.history_limit : least;
			less++;
		}
	}
	if (live == 0)
		doctor_tell(d, VERDICT_SKIPPED, NULL, "no live agent");
	else if (less > 0)
		doctor_tell(d, VERDICT_WARNING,
		    "gt-recover arm raises it for panes made from then on; a pane keeps the limit it was made with",
		    "%zu of %zu agents' panes keep fewer than max_context_lines = %lld rows, one only %lld", less, live, (long long)want,
		    (long long)least);
	else
		doctor_tell(d, VERDICT_OK, NULL, "%zu agents' pane%s keep max_context_lines = %lld rows", live, live == 1 ? "" : "s",
		    (long long)want);
}

void
doctor_armed(struct doctor *d)
{
	static const char by_gas_town[] =
	    "gt-recover arm, after each start of a session by Gas Town: that sets remain-on-exit off and replaces the hooks";
	bool town = town_root(d->w->town) != NULL;
	size_t live = doctor_live(d), kept = 0, armed = 0;

	for (size_t i = 0; i < d->agents.n; i++) {
		const struct candidate *c = &d->agents.v[i];

		kept += doctor_is_live(c) && strcmp(c->pane.remain_on_exit, "off") != 0;
		armed += doctor_is_live(c) && arm_holds(&d->armed, c);
	}
	if (live == 0)
		doctor_tell(d, VERDICT_SKIPPED, NULL, "no live agent");
	else if (kept < live)
		doctor_tell(d, VERDICT_WARNING, town ? by_gas_town : "gt-recover arm",
		    "%zu of %zu agents' panes go with their agent: tmux does not keep them, nor what stood on them", live - kept, live);
	else
		doctor_tell(d, VERDICT_OK, NULL, "%zu agents' pane%s stay when the agent dies, %zu of them armed", live,
		    live == 1 ? "" : "s", armed);
	if (town && armed > 0)
		doctor_tell(d, VERDICT_NOTE, NULL,
		    "the witness starts an armed session anew 3 minutes after its last heartbeat, gt doctor --fix and "
		    "gt start take it away at once");
}
