#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "beads/beads.h"
#include "config/config.h"
#include "gastown/gastown.h"
#include "prompt/prompt.h"
#include "recover/recover.h"
#include "scrub/scrub.h"

static void
check_gt_toml(struct doctor *d)
{
	const char *file = config_file(d->w->config);
	struct stat st;

	if (file == NULL)
		doctor_report(d, VERDICT_OK, NULL, "no gt.toml; using defaults");
	else if (stat(file, &st) != 0)
		doctor_report(
		    d, VERDICT_ERROR, "make it readable again", "%s was read and no longer exists", file);
	else if ((st.st_mode & 022) != 0)
		doctor_report(d, VERDICT_WARNING, "chmod go-w FILE",
		    "%s may name commands and is writable by others (mode %03o)", file,
		    (unsigned)st.st_mode & 0777);
	else
		doctor_report(d, VERDICT_OK, NULL, "%s", file);
}

static void
check_patrol(struct doctor *d)
{
	bool acts = config_flag(d->w->config, "auto_recover"),
	     command = *config_text(d->w->config, "mail.command") != '\0';
	const char *does =
	    acts ? "crashed agents are recovered automatically"
	         : "crashed agents are reported, not recovered "
	        "automatically";
	const char *to = config_text(d->w->config, "mail.to");

	if (command)
		doctor_report(d, VERDICT_OK, NULL, "%s; failures are mailed to %s by the command of "
		    "[recovery.mail]",
		    does, to);
	else if (town_root(d->w->town) != NULL)
		doctor_report(d, VERDICT_OK, NULL, "%s; failures are mailed to %s by gt mail send", does, to);
	else if (acts)
		doctor_report(d, VERDICT_WARNING, "set command in [recovery.mail] of gt.toml",
		    "%s; failures are not mailed: no Gas Town and no command in [recovery.mail]",
		    does);
	else
		doctor_report(d, VERDICT_OK, NULL, "%s (auto_recover = false)", does);
}

static void
check_template(struct doctor *d)
{
	struct err e = ERR_INIT;
	struct template *t = gather_template(d->w, false, NULL, &e),
			*nudge = t != NULL ? gather_template(d->w, true, NULL, &e) : NULL;

	if (nudge == NULL)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else
		doctor_report(d, VERDICT_OK, NULL, "the prompt's template can be read");
	template_free(t);
	template_free(nudge);
}

static void
check_scrub_rules(struct doctor *d)
{
	struct err e = ERR_INIT;
	struct scrub *s = app_scrub(d->w, &e);

	if (s == NULL)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else
		doctor_report(d, VERDICT_OK, NULL, "the rules for secrets can be read");
	scrub_free(s);
}

#define NO_TOWN "no Gas Town here"

static void
check_town_root(struct doctor *d)
{
	const struct town *t = d->w->town;
	const char *root = town_root(t), *warning = town_warning(t);
	const struct err *doubt = town_doubt(t), *skipped = town_skipped(t);

	if (doubt != NULL)
		doctor_report(d, VERDICT_WARNING, doubt->hint, "%s; not used: %s",
		    root != NULL ? root : NO_TOWN, doubt->msg);
	else if (root == NULL)
		doctor_report(d, VERDICT_OK, NULL, NO_TOWN ": agents in any tmux session are covered");
	else if (warning != NULL)
		doctor_report(d, VERDICT_WARNING,
		    "correct the file; until then rigs are "
		        "found by their directories", "%s; %s", root, warning);
	else if (skipped != NULL)
		doctor_report(d, VERDICT_NOTE, NULL, "%s; not used: %s", root, skipped->msg);
	else
		doctor_report(d, VERDICT_OK, NULL, "%s", root);
}

static void
check_town_rigs(struct doctor *d)
{
	const struct town *t = d->w->town;
	struct buf bare = BUF_INIT;
	size_t n = town_rigs(t);

	if (town_root(t) == NULL) {
		doctor_report(d, VERDICT_SKIPPED, NULL, NO_TOWN);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!town_rig_at(t, i)->registered)
			buf_fmt(&bare, "%s%s", bare.len > 0 ? ", " : "", town_rig_at(t, i)->name);
	if (bare.len > 0)
		doctor_report(d, VERDICT_WARNING,
		    "register them in mayor/rigs.json (gt rig add); without a prefix the role is unknown",
		    "no prefix is registered for the rigs %s", bare.data);
	else
		doctor_report(d, n > 0 ? VERDICT_OK : VERDICT_NOTE, NULL, "%zu rig%s, each with its prefix",
		    n, n == 1 ? "" : "s");
	buf_release(&bare);
}

/* Which kind of beads each directory of a rig (NULL: the town) leads to. */
static void
count_beads(const struct town *t, const char *rig, size_t *sqlite, size_t *dolt)
{
	struct town_list dirs = TOWN_LIST_INIT;

	town_bead_dirs(t, rig, &dirs);
	for (size_t i = 0; i < dirs.n; i++) {
		bool is_dolt;
		char *file = bead_database(dirs.v[i], false, &is_dolt);

		*dolt += is_dolt;
		*sqlite += file != NULL;
		free(file);
	}
	town_list_release(&dirs);
}

static void
check_town_beads(struct doctor *d)
{
	const struct town *t = d->w->town;
	size_t sqlite = 0, dolt = 0;
	char *gt, *bd;

	if (town_root(t) == NULL) {
		doctor_report(d, VERDICT_SKIPPED, NULL, NO_TOWN);
		return;
	}
	count_beads(t, NULL, &sqlite, &dolt);
	for (size_t i = 0; i < town_rigs(t); i++)
		count_beads(t, town_rig_at(t, i)->name, &sqlite, &dolt);
	gt = doctor_find_program(getenv("PATH"), "gt");
	bd = doctor_find_program(getenv("PATH"), "bd");
	if (dolt > 0 && bd == NULL)
		doctor_report(d, VERDICT_WARNING, "put bd into PATH, and then: gt-recover setup --only timer",
		    "the beads are in Dolt, and bd is not in PATH: hooked work is unknown");
	else if (dolt == 0 && sqlite == 0)
		doctor_report(
		    d, VERDICT_NOTE, NULL, "no beads database found: prompts will name no work item");
	else
		doctor_report(d, VERDICT_OK, NULL,
		    dolt > 0 ? "beads in Dolt, read with bd" : "beads in SQLite, read without bd");
	if (gt == NULL)
		doctor_report(d, VERDICT_WARNING, "put gt into PATH",
		    "gt is not in PATH: it starts sessions and sends mail");
	free(gt);
	free(bd);
}

static void
check_town_halt(struct doctor *d)
{
	static const struct town_role anybody = { .kind = TOWN_ROLE_NONE };

	if (town_root(d->w->town) == NULL) {
		doctor_report(d, VERDICT_SKIPPED, NULL, NO_TOWN);
		return;
	}
	switch (town_halted(d->w->town, &anybody)) {
	case TOWN_ESTOP:
		doctor_report(d, VERDICT_WARNING, "gt thaw, or remove the file, when the town may run again",
		    "the town is stopped (ESTOP): nothing is recovered");
		break;
	case TOWN_SHUTDOWN:
		doctor_report(d, VERDICT_WARNING, "wait for its end, or gt up",
		    "the town is shutting down (daemon/shutdown.lock): nothing is recovered");
		break;
	default:
		doctor_report(d, VERDICT_OK, NULL, "the town runs");
	}
}

const struct doctor_check doctor_settings_checks[] = {
	{ "Settings", "gt.toml", "the gt.toml in use and its permissions", check_gt_toml },
	{ "Settings", "patrol", "auto_recover, [recovery.mail]", check_patrol },
	{ "Settings", "template",
	    "prompts.template, prompts.template_file, prompts.resume_template, prompts.resume_template_file",
	    check_template },
	{ "Settings", "rules", "scrub.rules, scrub.allow", check_scrub_rules },
	{ "Gas Town", "root", "the town in use", check_town_root },
	{ "Gas Town", "rigs", "rigs.json, config.json, routes.jsonl", check_town_rigs },
	{ "Gas Town", "beads", "the database of work items, and the programs bd and gt", check_town_beads },
	{ "Gas Town", "halted", "ESTOP, daemon/shutdown.lock", check_town_halt },
	{ .group = NULL },
};
