#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor_private.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "install/install.h"
#include "records/hooks/hooks.h"
#include "tmux/tmux.h"
#include "transcript/locate/locate.h"

#define SETTINGS_MAX ((size_t)4 << 20)
#define USUAL_DAYS 30			/* Claude Code's own default, seen in 1.0.128 to 2.1.330 */
#define NO_AGENT "no agent runs here"

static bool
is_claude(const struct candidate *c)
{
	return transcript_has_pid_files(c->profile->transcript) && c->config_dir != NULL;
}

/* True for the first candidate with this profile. */
static bool
first_of_profile(const struct doctor *d, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (d->agents.v[k].profile == d->agents.v[i].profile)
			return false;
	return true;
}

static void
check_crashed(struct doctor *d)
{
	size_t crashed = 0, unknown = 0;

	for (size_t i = 0; i < d->agents.n; i++) {
		crashed += candidate_crashed(&d->agents.v[i]);
		unknown += d->agents.v[i].status == AGENT_UNKNOWN;
	}
	if (d->agents.n == 0)
		doctor_report(d, VERDICT_SKIPPED, NULL, NO_AGENT);
	else if (crashed > 0)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "%zu of %zu crashed; gt-recover list shows the cause, gt-recover recovers them", crashed,
		    d->agents.n);
	else if (unknown > 0)
		doctor_report(d, VERDICT_OK, NULL, "none crashed; the evidence about %zu of %zu is "
		    "contradictory", unknown,
		    d->agents.n);
	else
		doctor_report(d, VERDICT_OK, NULL, "none of %zu crashed", d->agents.n);
}

static void
check_programs(struct doctor *d)
{
	struct buf found = BUF_INIT, absent = BUF_INIT;

	for (size_t i = 0; i < d->agents.n; i++) {
		const struct profile *p = d->agents.v[i].profile;
		char *file = NULL;

		if (!first_of_profile(d, i))
			continue;
		for (size_t k = 0; p->programs[k] != NULL && file == NULL; k++)
			file = doctor_find_program(getenv("PATH"), p->programs[k]);
		if (file != NULL)
			buf_fmt(&found, "%s%s", found.len > 0 ? ", " : "", file);
		else
			buf_fmt(&absent, "%s%s", absent.len > 0 ? ", " : "", p->label);
		free(file);
	}
	if (d->agents.n == 0)
		doctor_report(d, VERDICT_SKIPPED, NULL, NO_AGENT);
	else if (absent.len > 0)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "not in PATH: %s; the start command of its pane is used instead", absent.data);
	else
		doctor_report(d, VERDICT_OK, NULL, "%s", found.data);
	buf_release(&found);
	buf_release(&absent);
}

static void
check_pid_files(struct doctor *d)
{
	size_t asked = 0, noted = 0;

	for (size_t i = 0; i < d->agents.n; i++) {
		const struct candidate *c = &d->agents.v[i];
		struct agent_pid_file s;

		if (!doctor_is_live(c) || !is_claude(c))
			continue;
		asked++;
		if (agent_pid_file_read(c->config_dir, c->agent_pid, &s)) {
			noted++;
			agent_pid_file_release(&s);
		}
	}
	if (asked == 0)
		doctor_report(d, VERDICT_SKIPPED, NULL, "no live agent that writes one");
	else if (noted < asked)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "%zu of %zu wrote none (older than 2.1.197, or just started); other evidence "
		    "identifies the transcript",
		    asked - noted, asked);
	else
		doctor_report(d, VERDICT_OK, NULL, "%zu live agent%s, each with its session file", asked,
		    asked == 1 ? "" : "s");
}

static void
check_transcripts(struct doctor *d)
{
	size_t asked = 0, certain = 0, several = 0, none = 0;

	for (size_t i = 0; i < d->agents.n; i++) {
		const struct candidate *c = &d->agents.v[i];
		struct transcript_found found;
		struct err e = ERR_INIT;

		if (!doctor_is_live(c) || !is_claude(c))
			continue;
		asked++;
		if (detect_find_transcript(d->w, c, NULL, NULL, &found, &e) != 0) {
			doctor_report_err(d, VERDICT_ERROR, &e);
			continue;
		}
		certain += found.path != NULL;
		several += found.how == FOUND_AMBIGUOUS;
		none += found.how == FOUND_NONE;
		transcript_found_release(&found);
	}
	if (asked == 0)
		doctor_report(d, VERDICT_SKIPPED, NULL, "no live agent whose transcripts can be read");
	if (several > 0)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "%zu live agent%s with several candidate transcripts; the screen and snapshots decide",
		    several, several == 1 ? "" : "s");
	if (none > 0)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "%zu live agent%s none yet", none,
		    none == 1 ? " has" : "s have");
	if (certain > 0)
		doctor_report(d, VERDICT_OK, NULL, "%zu live agent%s with a known transcript", certain,
		    certain == 1 ? "" : "s");
}

/* One settings.json. A number of days below zero or a wrong file is the agent's own matter to tell. */
static void
look_at_retention(struct doctor *d, const char *config_dir)
{
	char *path = io_join(config_dir, "settings.json");
	struct buf b = BUF_INIT;
	json_t *v = NULL;
	int64_t days;

	if (access(config_dir, R_OK | X_OK) != 0) {
		doctor_report(d, VERDICT_WARNING, "make it readable for this user",
		    "%s, the directory of the transcripts, cannot be read", config_dir);
		free(path);
		return;
	}
	if (io_read_file(path, SETTINGS_MAX, &b, NULL) == 0)
		v = json_parse(b.data, b.len, path, NULL);
	days = json_number(v, "cleanupPeriodDays", USUAL_DAYS);
	if (days == 0)
		doctor_report(d, VERDICT_WARNING, "remove it, or set a number of days",
		    "cleanupPeriodDays is 0 in %s: older versions then write no transcript at all, later "
		    "ones refuse it",
		    path);
	else if (days < 7)
		doctor_report(d, VERDICT_NOTE, NULL, "transcripts are removed after %lld day%s (%s)",
		    (long long)days, days == 1 ? "" : "s", path);
	else
		doctor_report(
		    d, VERDICT_OK, NULL, "transcripts stay %lld days (%s)", (long long)days, config_dir);
	json_decref(v);
	buf_release(&b);
	free(path);
}

static void
check_retention(struct doctor *d)
{
	size_t asked = 0;

	for (size_t i = 0; i < d->agents.n; i++) {
		bool again = !is_claude(&d->agents.v[i]);

		for (size_t k = 0; k < i && !again; k++)
			again = is_claude(&d->agents.v[k]) &&
			    strcmp(d->agents.v[k].config_dir, d->agents.v[i].config_dir) == 0;
		if (again)
			continue;
		asked++;
		look_at_retention(d, d->agents.v[i].config_dir);
	}
	if (asked == 0)
		doctor_report(d, VERDICT_SKIPPED, NULL, "no agent here has transcripts that gt-recover "
		    "reads");
}

/* What agents' hooks and orchestrators tell: is it told, does it come in, what did a crash interrupt. */

#define REINSTALL_HOOKS "gt-recover setup --only hooks"

/* Do the hooks call this program? */
static bool
calls(const char *command, const char *program)
{
	struct buf words = BUF_INIT;
	bool yes;

	quote_sh(&words, program);
	buf_str(&words, " hook ");
	yes = str_starts(command, words.data);
	buf_release(&words);
	return yes;
}

/* The program that a hook's line calls, heap: what quote_sh made of a path without quotes in it. */
static char *
program_of(const char *command)
{
	bool quoted = *command == '\'';
	const char *from = command + quoted;

	return xstrndup(from, strcspn(from, quoted ? "'" : " "));
}

/* hint: the command that mends it; who: "" or "Codex: ". */
static void
report_installed(struct doctor *d, const struct hook_adapter *row, const struct hooks_status *f,
    const char *hint, const char *who)
{
	char *program = program_of(f->command);

	if (access(program, X_OK) != 0)
		doctor_report(d, VERDICT_ERROR, hint, "%sthey call %s, which does not exist", who, program);
	else if (f->n < row->n_events)
		doctor_report(
		    d, VERDICT_WARNING, hint, "%s%zu of %zu are installed", who, f->n, row->n_events);
	else if (d->today != NULL && !calls(f->command, d->today->program))
		doctor_report(
		    d, VERDICT_NOTE, hint, "%sthey call %s; this is %s", who, program, d->today->program);
	else
		doctor_report(d, VERDICT_OK, NULL, "%sinstalled", who);
	free(program);
}

/* What an agent's settings hold of ours. *path (heap, NULL: no HOME): their file. */
static int
read_hooks(
    const struct hook_adapter *row, char **path, bool *has_folder, struct hooks_status *f, struct err *e)
{
	struct artifact_call call = { .row = row, .command = "gt-recover", .options = "" };
	char *dir = hooks_folder(row);
	struct artifact_set in = { .n = 0 };
	int ret = 0;

	memset(f, 0, sizeof *f);
	*path = NULL;
	*has_folder = dir != NULL && access(dir, F_OK) == 0;
	if (dir != NULL) {
		artifact_hooks(&in, dir, &call);
		*path = xstrdup(in.v[0].path);
		ret = hooks_status(&in.v[0], f, e);
	}
	artifact_release(&in);
	free(dir);
	return ret;
}

static void
check_hooks(struct doctor *d)
{
	const struct hook_adapter *row = hook_adapter_find(NULL);
	struct err e = ERR_INIT;
	struct hooks_status f;
	char *path;
	bool has_folder;
	int ret = read_hooks(row, &path, &has_folder, &f, &e);

	if (path == NULL)
		doctor_report(d, VERDICT_SKIPPED, NULL,
		    "Claude Code's settings are unknown: neither CLAUDE_CONFIG_DIR nor HOME is set");
	else if (ret != 0)
		doctor_report_err(d, VERDICT_WARNING, &e);
	else if (f.n == 0)
		doctor_report(d, VERDICT_NOTE, REINSTALL_HOOKS,
		    "not installed; files being written are known from the transcript only");
	else if (hooks_are_off(path))
		doctor_report(d, VERDICT_WARNING, "remove it from the settings, or set it to false",
		    "installed, but \"disableAllHooks\" is true in %s", path);
	else
		report_installed(d, row, &f, REINSTALL_HOOKS, "");
	free(f.command);
	free(path);
}

/* True when something was told of it. */
static bool
look_at_other(struct doctor *d, const struct hook_adapter *row)
{
	const struct profile *p = profile_find(d->w->profiles, row->agent);
	char *hint = xasprintf(REINSTALL_HOOKS " --agent %s", row->agent),
	     *who = xasprintf("%s: ", p != NULL ? p->label : row->agent), *path;
	size_t before = d->n;
	struct err e = ERR_INIT;
	struct hooks_status f;
	bool has_folder;
	int ret = read_hooks(row, &path, &has_folder, &f, &e);

	if (!has_folder)
		;
	else if (ret != 0)
		doctor_report_err(d, VERDICT_WARNING, &e);
	else if (f.state == ARTIFACT_EDITED)
		doctor_report(d, VERDICT_NOTE, NULL, "%s%s was changed by hand", who, path);
	else if (f.command != NULL)
		report_installed(d, row, &f, hint, who);
	else
		doctor_report(d, VERDICT_NOTE, hint,
		    "%snot installed; files being written are known from the transcript only",
		    who);
	free(f.command);
	free(hint);
	free(who);
	free(path);
	return d->n > before;
}

static void
check_other_hooks(struct doctor *d)
{
	bool any = false;

	for (size_t i = 0; i < hook_adapter_count(); i++)
		if (hook_adapter_at(i) != hook_adapter_find(NULL) && look_at_other(d, hook_adapter_at(i)))
			any = true;
	if (!any)
		doctor_report(d, VERDICT_SKIPPED, NULL, "no other agent with hooks has settings here");
}

const struct doctor_check doctor_agents_checks[] = {
	{ "Agents", "crashed", "agents that are not recovered yet", check_crashed },
	{ "Agents", "programs", "the programs of agents that run here, in PATH", check_programs },
	{ "Agents", "notes", "each agent's own session file", check_pid_files },
	{ "Agents", "transcripts", "the transcript of each live agent", check_transcripts },
	{ "Agents", "hooks", "our hooks in settings.json, and the program that they call", check_hooks },
	{ "Agents", "other-hooks", "hooks of other agents: hooks.json, settings.json, plugin",
	    check_other_hooks },
	{ "Agents", "retention", "cleanupPeriodDays in settings.json", check_retention },
	{ .group = NULL },
};
