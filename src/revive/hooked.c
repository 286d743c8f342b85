#include <stdlib.h>
#include <string.h>

#include "revive/hooked.h"
#include "revive/detect.h"
#include "revive/gather.h"
#include "revive/memory.h"
#include "revive/world.h"
#include "agent/profile.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "context/transcript_place.h"
#include "tmux/client.h"
#include "tmux/pane.h"
#include "town/heartbeat.h"
#include "town/starts.h"
#include "town/town.h"
#include "work/bead.h"

static bool
is_known(const struct candidates *out, const char *session)
{
	for (size_t i = 0; i < out->n; i++)
		if (strcmp(out->v[i].pane.session, session) == 0)
			return true;
	return false;
}

static void
set_times(struct memory *m, struct candidate *c)
{
	struct heartbeat beat;
	struct starts_of of;

	if (heartbeat_read(m->w->town, c->pane.session, &beat) && beat.at > 0)
		c->crashed_at = beat.at;
	starts_of(memory_starts(m), &c->role, c->cwd, &of);
	if (of.last == NULL)
		return;
	if (transcript_is_id(of.last->session_id))
		c->lost_id = xstrdup(of.last->session_id);
	if (c->crashed_at < of.last->at)
		c->crashed_at = of.last->at;
	c->pane.activity = c->crashed_at / 1000;
}

static bool
has_work(struct memory *m, const struct candidate *c)
{
	struct bead bead = BEAD_INIT;
	bool yes;

	if (memory_scrub(m) == NULL)
		return false;
	gather_bead(m->w, c, memory_scrub(m), &bead);
	yes = bead.id != NULL && !bead.closed && bead.status != NULL &&
	    (strcmp(bead.status, "hooked") == 0 || strcmp(bead.status, "in_progress") == 0);
	bead_release(&bead);
	return yes;
}

static void
consider(struct memory *m, const struct role_name *role, bool server_died, struct candidates *out)
{
	char *session = town_session_name(m->w->town, role);
	struct town_list dirs = TOWN_LIST_INIT;
	struct candidate c = { .role = *role, .doubt = "", .class = CLASS_MISSING, .profile = profiles_find(m->w->profiles, "claude") };

	town_workdirs(m->w->town, role, &dirs);
	if (session == NULL || dirs.n == 0 || c.profile == NULL || is_known(out, session) || memory_has_session(m, session)) {
		free(session);
		town_list_release(&dirs);
		return;
	}
	candidate_without_pane(&m->w->servers[0], session, dirs.v[0], &c.pane);
	c.cwd = xstrdup(dirs.v[0]);
	c.config_dir = session_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	c.reason = server_died ? REASON_SERVER_EXIT : REASON_PROCESS_DIED;
	if (*c.profile->command != '\0')
		launch_command(&c.launch, c.profile->command, c.pane.default_shell, profiles_is_program, m->w->profiles);
	town_list_release(&dirs);
	if (!has_work(m, &c)) {
		candidate_release(&c);
		return;
	}
	set_times(m, &c);
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n++] = c;
}

void
hooked_missing(struct memory *m, struct candidates *out)
{
	struct world *w = m->w;
	bool server_died = memory_servers_gone(m);

	if (town_root(w->town) == NULL || w->n_servers == 0 || !memory_saw_all(m))
		return;
	for (size_t i = 0; i < town_rigs(w->town); i++) {
		const struct rig *rig = town_rig_at(w->town, i);
		struct town_list names = TOWN_LIST_INIT;

		town_polecats(w->town, rig->name, &names);
		for (size_t k = 0; k < names.n; k++) {
			struct role_name role = { .kind = ROLE_POLECAT };

			if (strlen(rig->name) >= sizeof role.rig || strlen(names.v[k]) >= sizeof role.name)
				continue;
			strcpy(role.rig, rig->name);
			strcpy(role.name, names.v[k]);
			consider(m, &role, server_died, out);
		}
		town_list_release(&names);
	}
}
