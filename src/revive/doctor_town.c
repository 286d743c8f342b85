#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/doctor.h"
#include "revive/look.h"
#include "revive/world.h"
#include "base/buf.h"
#include "town/role.h"
#include "town/town.h"
#include "work/bead.h"

#define NO_TOWN "no Gas Town here"

void
doctor_town_root(struct doctor *d)
{
	const struct town *t = d->w->town;
	const char *warning = town_warning(t);

	if (town_root(t) == NULL)
		doctor_tell(d, VERDICT_OK, NULL, NO_TOWN ": agents in tmux are looked after by themselves");
	else if (warning != NULL)
		doctor_tell(d, VERDICT_WARNING, "correct the file; until then the directories tell the rigs", "%s", warning);
	else
		doctor_tell(d, VERDICT_OK, NULL, "%s", town_root(t));
}

void
doctor_town_rigs(struct doctor *d)
{
	const struct town *t = d->w->town;
	struct buf bare = BUF_INIT;
	size_t n = town_rigs(t);

	if (town_root(t) == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, NO_TOWN);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!town_rig_at(t, i)->registered)
			buf_fmt(&bare, "%s%s", bare.len > 0 ? ", " : "", town_rig_at(t, i)->name);
	if (bare.len > 0)
		doctor_tell(d, VERDICT_WARNING, "register them in mayor/rigs.json (gt rig add), or their sessions' names tell no role",
		    "no prefix is registered for the rigs %s", bare.data);
	else
		doctor_tell(d, n > 0 ? VERDICT_OK : VERDICT_NOTE, NULL, "%zu rig%s, each with its prefix", n, n == 1 ? "" : "s");
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

void
doctor_town_beads(struct doctor *d)
{
	const struct town *t = d->w->town;
	size_t sqlite = 0, dolt = 0;
	char *gt, *bd;

	if (town_root(t) == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, NO_TOWN);
		return;
	}
	count_beads(t, NULL, &sqlite, &dolt);
	for (size_t i = 0; i < town_rigs(t); i++)
		count_beads(t, town_rig_at(t, i)->name, &sqlite, &dolt);
	gt = look_program(getenv("PATH"), "gt");
	bd = look_program(getenv("PATH"), "bd");
	if (dolt > 0 && bd == NULL)
		doctor_tell(d, VERDICT_WARNING, "put bd into PATH, and then: gt-recover install timer",
		    "the town's beads are in Dolt, and there is no bd in PATH to ask for hooked work");
	else if (dolt == 0 && sqlite == 0)
		doctor_tell(d, VERDICT_NOTE, NULL, "no beads database was found: prompts will name no work");
	else
		doctor_tell(d, VERDICT_OK, NULL, dolt > 0 ? "beads in Dolt, asked for by bd" : "beads in SQLite, read without bd");
	if (gt == NULL)
		doctor_tell(d, VERDICT_WARNING, "put gt into PATH", "there is no gt in PATH: it starts sessions and sends mail");
	free(gt);
	free(bd);
}

void
doctor_town_halt(struct doctor *d)
{
	static const struct role_name anybody = { .kind = ROLE_PLAIN };

	if (town_root(d->w->town) == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, NO_TOWN);
		return;
	}
	switch (town_halted(d->w->town, &anybody)) {
	case TOWN_ESTOP:
		doctor_tell(d, VERDICT_WARNING, "gt thaw, or remove the file, when the town may run again",
		    "the town is stopped by a file ESTOP: nothing is brought back");
		break;
	case TOWN_SHUTDOWN:
		doctor_tell(d, VERDICT_WARNING, "wait for its end, or gt up",
		    "the town is shutting down (daemon/shutdown.lock): nothing is brought back");
		break;
	default:
		doctor_tell(d, VERDICT_OK, NULL, "the town runs");
	}
}
