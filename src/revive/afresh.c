#include <stdlib.h>
#include <string.h>

#include "revive/afresh.h"
#include "revive/detect.h"
#include "revive/memory.h"
#include "revive/respawn.h"
#include "revive/seen.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "context/parting.h"
#include "context/transcript_place.h"
#include "ledger/attempt.h"
#include "town/config.h"
#include "town/starts.h"
#include "town/town.h"

/* By a recovery: it will be told, or was. */
static bool
is_cared_for(struct memory *m, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	struct store *store = world_store(m->w, false, NULL);
	struct attempt a;
	char id[21];
	bool by_us = respawn_id(p, id), told;

	if (store == NULL)
		return by_us;
	if (attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) == 1) {
		told = !phase_final(a.phase) || (a.phase == PHASE_ACKNOWLEDGED && (a.pane_pid == p->pid || a.new_pid == c->agent_pid));
		attempt_release(&a);
		return told;
	}
	/* a bare respawn by somebody runs our wrapper once more, which has no prompt then (T40) */
	if (!by_us || attempt_load(store, id, &a, NULL) != 1)
		return by_us;
	told = !phase_final(a.phase) || (a.phase == PHASE_ACKNOWLEDGED && a.new_pid == c->agent_pid);
	attempt_release(&a);
	return told;
}

static bool
resumes(const struct launch *l)
{
	static const char *const flags[] = { "--resume", "-r", "--continue", "-c", "--from-pr", "--teleport", "resume" };

	for (size_t i = l->program + 1; l->name != NULL && i < l->n_words; i++)
		for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++)
			if (str_starts(l->words[i].text, flags[k]) && strchr("=", l->words[i].text[strlen(flags[k])]) != NULL)
				return true;
	return false;
}

static bool
there(const char *config_dir, const char *cwd, const char *id, char **path)
{
	*path = config_dir != NULL && cwd != NULL && id != NULL && transcript_is_id(id) ? transcript_path(config_dir, cwd, id) : NULL;
	return *path != NULL;
}

/* In a town the log tells, with or without a snapshot. */
static bool
town_says(struct memory *m, const struct candidate *c, int64_t began, char **lost)
{
	struct starts_of of;

	if (town_root(m->w->town) == NULL || c->role.kind == ROLE_PLAIN)
		return false;
	starts_of(memory_starts(m), &c->role, c->cwd, &of);
	if (of.last == NULL || of.before == NULL || of.between != NULL || of.after != NULL || of.successor || began <= of.before->at)
		return false;
	*lost = xstrdup(of.before->session_id);
	return true;
}

/* Its server died with it: the last pass over that life had still seen the pane. One that was closed before had been ended on purpose. */
static bool
went_with_server(const struct memory *m, const struct snapshot *h)
{
	struct seen seen;
	bool yes = false;

	seen_of_life(&seen, m->album.dir, h->socket, h->server_pid, h->server_start);
	for (size_t i = 0; i < seen.n; i++)
		yes = yes || (seen.v[i].agent && seen.v[i].pid == h->pane_pid && strcmp(seen.v[i].id, h->pane) == 0);
	seen_release(&seen);
	return yes;
}

/* Without a town. */
static bool
crashed_before(const struct memory *m, const struct snapshot *h, const struct candidate *c, const char *transcript)
{
	const struct pane *p = &c->pane;
	bool typed = c->launch.name == NULL || launch_is_shell(&c->launch);

	if (typed || h->pane_pid == p->pid || (h->cwd != NULL && strcmp(h->cwd, c->cwd) != 0))
		return false;
	if (h->dead)
		return parting_of(c->profile->transcript, transcript) != PARTING_GOODBYE;
	return (h->server_pid != p->server_pid || h->server_start != p->server_start) && went_with_server(m, h);
}

/* The record of the living agent: which conversation it is in. Heap; NULL: not known. */
static char *
own_id(const struct candidate *c)
{
	struct session_file s;
	char *id;

	if (c->config_dir == NULL || !session_file_read(c->config_dir, c->agent_pid, &s))
		return NULL;
	id = session_file_lives(&s) && s.session_id != NULL ? xstrdup(s.session_id) : NULL;
	session_file_release(&s);
	return id;
}

/* By a recovery that had gt start it: nothing in the pane says so. */
static bool
was_told(struct memory *m, const struct candidate *c, int64_t began)
{
	struct store *store = world_store(m->w, false, NULL);
	struct attempts all = { .n = 0 };
	bool told = false;

	if (store == NULL || attempts_all(store, &all, NULL) != 0)
		return false;
	for (size_t i = 0; i < all.n && !told; i++)
		told = all.v[i].phase == PHASE_ACKNOWLEDGED && all.v[i].new_pid == c->agent_pid && strcmp(all.v[i].session,
		    c->pane.session) == 0 && all.v[i].times[PHASE_ACKNOWLEDGED] > began;
	attempts_release(&all);
	return told;
}

void
afresh(struct memory *m, struct candidate *c)
{
	int64_t began = proc_began_ms(c->agent_pid);
	char name[ALBUM_NAME], *mine = NULL, *lost = NULL, *path = NULL;
	struct snapshot h = SNAPSHOT_INIT;
	bool town, known, crashed;

	if (began == 0 || is_cared_for(m, c) || resumes(&c->launch))
		return;
	town = town_says(m, c, began, &lost);
	known = memory_session(m, c->pane.socket_path, c->pane.session, began, name, &h) && h.pid > 0 && h.pid != c->agent_pid &&
	    began - h.taken_at < config_ms(m->w->config, "attempt_window") && !memory_lives(&h) && !memory_answered(m, &h);
	if (lost == NULL && known && h.session_id != NULL)
		lost = xstrdup(h.session_id);
	/* Gas Town's log and the snapshot may be of two lives */
	known = known && lost != NULL && h.session_id != NULL && strcmp(lost, h.session_id) == 0;
	if (lost != NULL)
		mine = own_id(c);
	crashed = mine != NULL && strcmp(mine, lost) != 0 && there(c->config_dir, c->cwd, lost, &path) &&
	    (town || (known && crashed_before(m, &h, c, path)));
	if (crashed && !was_told(m, c, began)) {
		c->class = CLASS_RESPAWNED;
		c->reason = known && h.server_pid != c->pane.server_pid ? REASON_SERVER_EXIT : REASON_PROCESS_DIED;
		c->crashed_at = began;
		c->snapshot = known ? xstrdup(name) : NULL;
		c->lost_id = xstrdup(lost);
	}
	snapshot_release(&h);
	free(mine);
	free(lost);
	free(path);
}
