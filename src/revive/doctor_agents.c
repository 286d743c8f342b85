#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/doctor.h"
#include "revive/look.h"
#include "revive/sources.h"
#include "revive/world.h"
#include "agent/profile.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"
#include "context/transcript_find.h"

#define SETTINGS_MAX ((size_t)4 << 20)
#define USUAL_DAYS 30			/* Claude Code's own default, seen in 1.0.128 to 2.1.330 */
#define NO_AGENT "no agent runs here"

static bool
is_claude(const struct candidate *c)
{
	return strcmp(c->profile->transcript, "claude") == 0 && c->config_dir != NULL;
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
		unknown += d->agents.v[i].class == CLASS_UNKNOWN;
	}
	if (d->agents.n == 0)
		doctor_tell(d, VERDICT_SKIPPED, NULL, NO_AGENT);
	else if (crashed > 0)
		doctor_tell(d, VERDICT_NOTE, NULL, "%zu of %zu crashed; gt-recover list tells how, gt-recover brings them back", crashed,
		    d->agents.n);
	else if (unknown > 0)
		doctor_tell(d, VERDICT_OK, NULL, "none crashed; of %zu of %zu the signs disagree", unknown, d->agents.n);
	else
		doctor_tell(d, VERDICT_OK, NULL, "none of %zu crashed", d->agents.n);
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
			file = look_program(getenv("PATH"), p->programs[k]);
		if (file != NULL)
			buf_fmt(&found, "%s%s", found.len > 0 ? ", " : "", file);
		else
			buf_fmt(&absent, "%s%s", absent.len > 0 ? ", " : "", p->label);
		free(file);
	}
	if (d->agents.n == 0)
		doctor_tell(d, VERDICT_SKIPPED, NULL, NO_AGENT);
	else if (absent.len > 0)
		doctor_tell(d, VERDICT_NOTE, NULL, "not in this PATH: %s; it is started by its pane's own start command", absent.data);
	else
		doctor_tell(d, VERDICT_OK, NULL, "%s", found.data);
	buf_release(&found);
	buf_release(&absent);
}

void
doctor_notes(struct doctor *d)
{
	size_t asked = 0, noted = 0;

	for (size_t i = 0; i < d->agents.n; i++) {
		const struct candidate *c = &d->agents.v[i];
		struct session_file s;

		if (!doctor_is_live(c) || !is_claude(c))
			continue;
		asked++;
		if (session_file_read(c->config_dir, c->agent_pid, &s)) {
			noted++;
			session_file_release(&s);
		}
	}
	if (asked == 0)
		doctor_tell(d, VERDICT_SKIPPED, NULL, "no live agent that would write one");
	else if (noted < asked)
		doctor_tell(d, VERDICT_NOTE, NULL,
		    "%zu of %zu wrote none (older than 2.1.197, or just started): other signs tell the transcript",
		    asked - noted, asked);
	else
		doctor_tell(d, VERDICT_OK, NULL, "%zu live agent%s, each with its note", asked, asked == 1 ? "" : "s");
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
		if (sources_transcript(d->w, c, NULL, NULL, &found, &e) != 0) {
			doctor_tell_err(d, VERDICT_ERROR, &e);
			continue;
		}
		certain += found.path != NULL;
		several += found.how == FOUND_AMBIGUOUS;
		none += found.how == FOUND_NONE;
		transcript_found_release(&found);
	}
	if (asked == 0)
		doctor_tell(d, VERDICT_SKIPPED, NULL, "no live agent whose transcripts can be read");
	if (several > 0)
		doctor_tell(d, VERDICT_NOTE, NULL, "of %zu live agent%s several transcripts could be: the screen and snapshots tell then",
		    several, several == 1 ? "" : "s");
	if (none > 0)
		doctor_tell(d, VERDICT_NOTE, NULL, "%zu live agent%s none yet: nothing was said to it, or it writes none", none,
		    none == 1 ? " has" : "s have");
	if (certain > 0)
		doctor_tell(d, VERDICT_OK, NULL, "of %zu live agent%s the transcript is known", certain, certain == 1 ? "" : "s");
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
		doctor_tell(d, VERDICT_WARNING, "make it readable for this user", "%s cannot be read: there are the transcripts",
		    config_dir);
		free(path);
		return;
	}
	if (io_read_file(path, SETTINGS_MAX, &b, NULL) == 0)
		v = json_parse(b.data, b.len, path, NULL);
	days = json_number(v, "cleanupPeriodDays", USUAL_DAYS);
	if (days == 0)
		doctor_tell(d, VERDICT_WARNING, "take it out, or set a number of days",
		    "cleanupPeriodDays is 0 in %s: older versions then write no transcript at all, later ones refuse it", path);
	else if (days < 7)
		doctor_tell(d, VERDICT_NOTE, NULL, "transcripts are removed after %lld day%s (%s)", (long long)days, days == 1 ? "" : "s",
		    path);
	else
		doctor_tell(d, VERDICT_OK, NULL, "transcripts stay %lld days (%s)", (long long)days, config_dir);
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
			again = is_claude(&d->agents.v[k]) && strcmp(d->agents.v[k].config_dir, d->agents.v[i].config_dir) == 0;
		if (again)
			continue;
		asked++;
		look_at_retention(d, d->agents.v[i].config_dir);
	}
	if (asked == 0)
		doctor_tell(d, VERDICT_SKIPPED, NULL, "no agent here keeps transcripts that we read");
}
