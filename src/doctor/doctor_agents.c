#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "doctor/doctor_private.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "config/config.h"
#include "detect/detect.h"
#include "epic/epic.h"
#include "install/install.h"
#include "records/hooks/hooks.h"
#include "store/store.h"
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

void
doctor_crashed(struct doctor *d)
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
		    "%zu of %zu crashed; gt-recover list tells how, gt-recover brings them back", crashed,
		    d->agents.n);
	else if (unknown > 0)
		doctor_report(d, VERDICT_OK, NULL, "none crashed; of %zu of %zu the signs disagree", unknown,
		    d->agents.n);
	else
		doctor_report(d, VERDICT_OK, NULL, "none of %zu crashed", d->agents.n);
}

void
doctor_programs(struct doctor *d)
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
		    "not in this PATH: %s; it is started by its pane's own start command", absent.data);
	else
		doctor_report(d, VERDICT_OK, NULL, "%s", found.data);
	buf_release(&found);
	buf_release(&absent);
}

void
doctor_pid_files(struct doctor *d)
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
		doctor_report(d, VERDICT_SKIPPED, NULL, "no live agent that would write one");
	else if (noted < asked)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "%zu of %zu wrote none (older than 2.1.197, or just started): other signs tell the "
		    "transcript",
		    asked - noted, asked);
	else
		doctor_report(d, VERDICT_OK, NULL, "%zu live agent%s, each with its note", asked,
		    asked == 1 ? "" : "s");
}

void
doctor_transcripts(struct doctor *d)
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
		    "of %zu live agent%s several transcripts could be: the screen and snapshots tell then",
		    several, several == 1 ? "" : "s");
	if (none > 0)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "%zu live agent%s none yet: nothing was said to it, or it writes none", none,
		    none == 1 ? " has" : "s have");
	if (certain > 0)
		doctor_report(d, VERDICT_OK, NULL, "of %zu live agent%s the transcript is known", certain,
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
		    "%s cannot be read: there are the transcripts", config_dir);
		free(path);
		return;
	}
	if (io_read_file(path, SETTINGS_MAX, &b, NULL) == 0)
		v = json_parse(b.data, b.len, path, NULL);
	days = json_number(v, "cleanupPeriodDays", USUAL_DAYS);
	if (days == 0)
		doctor_report(d, VERDICT_WARNING, "take it out, or set a number of days",
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

void
doctor_retention(struct doctor *d)
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
		doctor_report(d, VERDICT_SKIPPED, NULL, "no agent here keeps transcripts that we read");
}

/* What agents' hooks and orchestrators tell: is it told, does it come in, what did a crash interrupt. */

#define REINSTALL_HOOKS "gt-recover install hooks"
#define HOUR_MS ((int64_t)3600000)
#define NAMES 5

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
report_installed(struct doctor *d, const struct hook_adapter *row, size_t n, const char *command,
    const char *hint, const char *who)
{
	char *program = program_of(command);

	if (access(program, X_OK) != 0)
		doctor_report(d, VERDICT_ERROR, hint, "%sthey call %s, which is not there", who, program);
	else if (n < row->n_events)
		doctor_report(d, VERDICT_WARNING, hint, "%s%zu of %zu are installed", who, n, row->n_events);
	else if (d->today != NULL && !calls(command, d->today->program))
		doctor_report(
		    d, VERDICT_NOTE, hint, "%sthey call %s; this is %s", who, program, d->today->program);
	else
		doctor_report(d, VERDICT_OK, NULL, "%sinstalled", who);
	free(program);
}

void
doctor_hooks(struct doctor *d)
{
	const struct hook_adapter *row = hook_adapter_find(NULL);
	char *dir = hooks_folder(row), *path, *command = NULL;
	struct err e = ERR_INIT;
	size_t n;

	if (dir == NULL) {
		doctor_report(d, VERDICT_SKIPPED, NULL,
		    "neither CLAUDE_CONFIG_DIR nor HOME says where Claude Code's settings are");
		return;
	}
	path = io_join(dir, row->file);
	if (hooks_status(row, path, &n, &command, &e) != 0)
		doctor_report_err(d, VERDICT_WARNING, &e);
	else if (n == 0)
		doctor_report(d, VERDICT_NOTE, REINSTALL_HOOKS,
		    "not installed: which file an agent was writing is known by its transcript alone");
	else if (hooks_are_off(path))
		doctor_report(d, VERDICT_WARNING, "take it out of the settings, or set it to false",
		    "installed, but \"disableAllHooks\" is true in %s", path);
	else
		report_installed(d, row, n, command, REINSTALL_HOOKS, "");
	free(command);
	free(path);
	free(dir);
}

static int
look(const struct hook_adapter *row, const char *path, size_t *n, char **command, bool *edited, struct err *e)
{
	*edited = false;
	if (row->form != HOOK_FORM_PLUGIN)
		return hooks_status(row, path, n, command, e);
	*n = row->n_events;
	return hooks_plugin_status(path, command, edited, e);
}

/* True when something was told of it. */
static bool
look_at_other(struct doctor *d, const struct hook_adapter *row)
{
	const struct profile *p = profile_find(d->w->profiles, row->agent);
	char *dir = hooks_folder(row), *path = dir != NULL ? io_join(dir, row->file) : NULL, *command = NULL;
	char *hint = xasprintf(REINSTALL_HOOKS " --agent %s", row->agent),
	     *who = xasprintf("%s: ", p != NULL ? p->label : row->agent);
	size_t before = d->n, n = 0;
	struct err e = ERR_INIT;
	bool edited;

	if (path == NULL || access(dir, F_OK) != 0)
		;
	else if (look(row, path, &n, &command, &edited, &e) != 0)
		doctor_report_err(d, VERDICT_WARNING, &e);
	else if (edited)
		doctor_report(d, VERDICT_NOTE, NULL, "%s%s was changed by hand", who, path);
	else if (command != NULL)
		report_installed(d, row, n, command, hint, who);
	else
		doctor_report(d, VERDICT_NOTE, hint,
		    "%snot installed: which file it was writing is known by what it writes down itself alone",
		    who);
	free(command);
	free(hint);
	free(who);
	free(path);
	free(dir);
	return d->n > before;
}

void
doctor_other_hooks(struct doctor *d)
{
	bool any = false;

	for (size_t i = 0; i < hook_adapter_count(); i++)
		if (hook_adapter_at(i) != hook_adapter_find(NULL) && look_at_other(d, hook_adapter_at(i)))
			any = true;
	if (!any)
		doctor_report(d, VERDICT_SKIPPED, NULL, "no other agent with hooks has settings here");
}

void
doctor_spool(struct doctor *d)
{
	char *path = io_join(d->w->state_dir, HOOK_SPOOL);
	struct stat st;
	int64_t age;

	if (stat(path, &st) != 0 || st.st_size == 0) {
		doctor_report(d, VERDICT_OK, NULL, "nothing waits there");
	} else {
		age = clock_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
		doctor_report(d, age > HOUR_MS ? VERDICT_WARNING : VERDICT_NOTE,
		    "gt-recover session list takes it up, or says why it cannot",
		    "%lld bytes of what hooks told wait for the next command", (long long)st.st_size);
	}
	free(path);
}

void
doctor_epics(struct doctor *d)
{
	struct epic_list list = { .n = 0 };
	struct buf names = BUF_INIT;
	struct err e = ERR_INIT;
	struct timestamp now;
	size_t n = 0;

	if (d->store == NULL) {
		doctor_report(d, VERDICT_SKIPPED, NULL, "there is no store that could be read");
		return;
	}
	store_timestamp(d->store, &now);
	if (epic_list_read(
		d->store, NULL, config_ms(d->w->config, "epics.checkpoint_interval"), &now, &list, &e) != 0) {
		doctor_report_err(d, VERDICT_ERROR, &e);
	} else {
		for (size_t i = 0; i < list.n; i++)
			if (list.v[i].interrupted && n++ < NAMES)
				buf_fmt(&names, "%s%s", n > 1 ? ", " : "", list.v[i].id);
		if (n > NAMES)
			buf_fmt(&names, " and %zu more", n - NAMES);
		if (n > 0)
			doctor_report(d, VERDICT_NOTE,
			    "gt-recover epic status shows them; epic resume or epic abandon ends that",
			    "interrupted: %s", names.data);
		else
			doctor_report(d, VERDICT_OK, NULL, "none of %zu open ones was interrupted", list.n);
	}
	epic_list_release(&list);
	buf_release(&names);
}

/*
 * A record of ours has a version beside it; what was SET at the same keys has none, and is never
 * written over.
 */
void
doctor_foreign_keys(struct doctor *d)
{
	struct buf names = BUF_INIT;
	struct err e = ERR_INIT;
	json_t *list = d->store != NULL ? epic_foreign_ids(d->store, &e) : NULL;
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n && i < NAMES; i++) {
		const char *id = json_string_value(json_array_get(list, i));

		buf_str(&names, i > 0 ? ", " : "");
		utf8_escape(&names, id, strlen(id), 60);
	}
	if (n > NAMES)
		buf_fmt(&names, " and %zu more", n - NAMES);
	if (d->store == NULL)
		doctor_report(d, VERDICT_SKIPPED, NULL, "there is no store that could be read");
	else if (list == NULL)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (n == 0)
		doctor_report(d, VERDICT_OK, NULL, "none");
	else
		doctor_report(d, VERDICT_WARNING,
		    "give gt-recover another database of the server (state), then take each in: redis-cli "
		    "GET epic:ID:state"
		    " | gt-recover checkpoint epic ID, and its sprints and agents so, too",
		    "%zu that no command of ours sees: %s", n, names.data);
	json_decref(list);
	buf_release(&names);
}
