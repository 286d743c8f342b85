#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "config/config.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"
#include "transcript/transcript.h"

/* That crash has been answered: the agent was brought back and ended later, or in another session. */
static bool
is_recovered(struct detection *d, const struct snapshot *h)
{
	struct store *store = app_store(d->w, false, NULL);
	struct attempt a;
	bool answered;

	if (store == NULL ||
	    attempt_latest(store, h->socket, h->server_pid, h->server_start, h->pane, &a, NULL) != 1)
		return false;
	/* a shell is the same before and after its agent was started again inside it */
	answered = a.phase == PHASE_ACKNOWLEDGED &&
	    (a.in_shell ? h->taken_at < a.times[PHASE_RESPAWNED] : a.pane_pid == h->pane_pid);
	attempt_release(&a);
	return answered;
}

/* ---- restored ---- */

/*
 * The head of the newest snapshot of the session that is not newer than `until` (ms since 1970,
 * 0: any). False: none. snapshot_release.
 */
static bool
session_head(struct detection *d, const char *socket_path, const char *session, int64_t until,
    char name[SNAPSHOT_NAME], struct snapshot *h)
{
	char key[SNAPSHOT_KEY];
	const struct snapshot_file *x;

	snapshot_session_key(key, socket_path, session);
	x = d->snapshots.n > 0 ? snapshot_index_newest(&d->snapshots, key, NULL, until) : NULL;
	if (x == NULL || !detect_snapshot_head(d, x->name, h))
		return false;
	memcpy(name, x->name, SNAPSHOT_NAME);
	return true;
}

/* A recovery has started an agent in this very pane: its place tells nothing any more. */
static bool
was_started(struct detection *d, const struct pane *p)
{
	struct store *store = app_store(d->w, false, NULL);
	struct attempt a;
	bool started;

	if (store == NULL ||
	    attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) != 1)
		return false;
	started = a.phase == PHASE_ACKNOWLEDGED;
	attempt_release(&a);
	return started;
}

/*
 * 1: the newest snapshot of the panes in whose place this one was made, as above. 0: no such place, or it
 * tells nothing any more. -1: no agent was seen in them.
 */
static int
origin_head(struct detection *d, const struct pane *p, char name[SNAPSHOT_NAME], struct snapshot *h)
{
	char *places = d->snapshots.n > 0 ? workspace_origin(d->w, p) : NULL;
	const struct snapshot_file *x;
	bool placed = places != NULL && !was_started(d, p);

	x = placed ? detect_snapshot_of_places(d, p->socket_path, places) : NULL;
	free(places);
	if (!placed)
		return 0;
	if (x == NULL)
		return -1;
	if (!detect_snapshot_head(d, x->name, h))
		return 0;
	memcpy(name, x->name, SNAPSHOT_NAME);
	return 1;
}

/* tmux-resurrect starts a pane whose contents it saved as `cat '<its directory>/…'; exec <shell>`. */
static bool
resurrected(const struct pane *p)
{
	return strstr(p->start_command, "resurrect") != NULL ||
	    strstr(p->start_command, "pane_contents") != NULL;
}

/* Sets profile, command and place, too (detect_identify). */
static bool
set_restored(struct detection *d, struct candidate *c, bool shows_agent)
{
	const struct pane *p = &c->pane;
	char name[SNAPSHOT_NAME];
	struct snapshot h;
	int placed;
	bool yes;

	/* one that we made waits for its agent, which is missing until it is started there */
	if (*p->place != '\0')
		return false;
	placed = origin_head(d, p, name, &h);
	/* one that stands in the place of another pane has what that one had, and nothing else */
	if (placed < 0 || (placed == 0 && !session_head(d, p->socket_path, p->session, 0, name, &h)))
		return false;
	yes = (h.server_pid != p->server_pid || h.server_start != p->server_start) && h.cwd != NULL &&
	    strcmp(h.cwd, c->cwd) == 0 && !detect_snapshot_is_alive(d, &h) && !is_recovered(d, &h) &&
	    detect_identify(d, &h, name, c);
	snapshot_release(&h);
	if (!yes)
		return false;
	c->status = AGENT_RESTORED;
	c->reason = REASON_SERVER_EXIT;
	c->unknown_reason = "";
	/* where nothing but name, index and directory are those of the pane that is gone, anybody made it */
	c->low_confidence = !shows_agent && !resurrected(p);
	return true;
}

/* ---- respawned ---- */

/* By a recovery: it will be told, or was. */
static bool
is_cared_for(struct detection *d, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	struct store *store = app_store(d->w, false, NULL);
	struct attempt a;
	char id[21];
	bool by_us = attempt_id_of_pane(p, id), told;

	if (store == NULL)
		return by_us;
	if (attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) == 1) {
		told = !attempt_phase_is_final(a.phase) ||
		    (a.phase == PHASE_ACKNOWLEDGED &&
			((a.pane_pid == p->pid && !a.in_shell) || a.new_pid == c->agent_pid));
		attempt_release(&a);
		return told;
	}
	/* a bare respawn by somebody runs our wrapper once more, which has no prompt then (T40) */
	if (!by_us || attempt_load(store, id, &a, NULL) != 1)
		return by_us;
	told =
	    !attempt_phase_is_final(a.phase) || (a.phase == PHASE_ACKNOWLEDGED && a.new_pid == c->agent_pid);
	attempt_release(&a);
	return told;
}

static bool
resumes(const struct launch *l)
{
	static const char *const flags[] = { "--resume", "-r", "--continue", "-c", "--from-pr", "--teleport",
		"resume" };

	for (size_t i = l->program + 1; l->name != NULL && i < l->n_words; i++)
		for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++)
			if (str_starts(l->words[i].text, flags[k]) &&
			    strchr("=", l->words[i].text[strlen(flags[k])]) != NULL)
				return true;
	return false;
}

static bool
there(const char *config_dir, const char *cwd, const char *id, char **path)
{
	*path = config_dir != NULL && cwd != NULL && id != NULL && transcript_is_id(id)
	    ? transcript_path(config_dir, cwd, id)
	    : NULL;
	return *path != NULL;
}

/* In a town the log tells, with or without a snapshot. */
static bool
town_shows_restart(struct detection *d, const struct candidate *c, int64_t began, char **lost)
{
	struct session_last_starts of;

	if (town_root(d->w->town) == NULL || c->role.kind == TOWN_ROLE_NONE)
		return false;
	town_starts_of(detect_starts(d), &c->role, c->cwd, &of);
	if (of.last == NULL || of.previous == NULL || of.separator != NULL || of.after != NULL ||
	    of.successor || began <= of.previous->at)
		return false;
	*lost = xstrdup(of.previous->session_id);
	return true;
}

/*
 * Its server died with it: the last pass over that life had still seen the pane. One that was
 * closed before had been ended on purpose.
 */
static bool
went_with_server(const struct detection *d, const struct snapshot *h)
{
	struct pane_states seen;
	bool yes = false;

	snapshot_panes_of_server(&seen, d->snapshots.dir, h->socket, h->server_pid, h->server_start);
	for (size_t i = 0; i < seen.n; i++)
		yes = yes ||
		    (seen.v[i].agent && seen.v[i].pid == h->pane_pid && strcmp(seen.v[i].id, h->pane) == 0);
	snapshot_panes_release(&seen);
	return yes;
}

/* Without a town. */
static bool
crashed_before(
    const struct detection *d, const struct snapshot *h, const struct candidate *c, const char *transcript)
{
	const struct pane *p = &c->pane;

	if (c->typed || h->pane_pid == p->pid || (h->cwd != NULL && strcmp(h->cwd, c->cwd) != 0))
		return false;
	if (h->dead)
		return transcript_exit_kind(c->profile->transcript, transcript) != EXIT_CLEAN;
	return (h->server_pid != p->server_pid || h->server_start != p->server_start) &&
	    went_with_server(d, h);
}

/* The record of the living agent: which conversation it is in. Heap; NULL: not known. */
static char *
own_id(const struct candidate *c)
{
	struct agent_pid_file s;
	char *id;

	if (c->config_dir == NULL || !agent_pid_file_read(c->config_dir, c->agent_pid, &s))
		return NULL;
	id = agent_pid_file_is_alive(&s) && s.session_id != NULL ? xstrdup(s.session_id) : NULL;
	agent_pid_file_release(&s);
	return id;
}

/* By a recovery that had gt start it: nothing in the pane says so. */
static bool
was_delivered(struct detection *d, const struct candidate *c, int64_t began)
{
	struct store *store = app_store(d->w, false, NULL);
	struct attempt_list all = { .n = 0 };
	bool told = false;

	if (store == NULL || attempt_list_all(store, &all, NULL) != 0)
		return false;
	for (size_t i = 0; i < all.n && !told; i++)
		told = all.v[i].phase == PHASE_ACKNOWLEDGED && all.v[i].new_pid == c->agent_pid &&
		    strcmp(all.v[i].session, c->pane.session) == 0 &&
		    all.v[i].times[PHASE_ACKNOWLEDGED] > began;
	attempt_list_release(&all);
	return told;
}

static void
set_respawned(struct detection *d, struct candidate *c)
{
	int64_t began = proc_began_ms(c->agent_pid);
	char name[SNAPSHOT_NAME], *mine = NULL, *lost = NULL, *path = NULL;
	struct snapshot h = SNAPSHOT_INIT;
	bool town, known, crashed;

	if (began == 0 || is_cared_for(d, c) || resumes(&c->launch))
		return;
	town = town_shows_restart(d, c, began, &lost);
	known = session_head(d, c->pane.socket_path, c->pane.session, began, name, &h) &&
	    h.pid > 0 && h.pid != c->agent_pid &&
	    began - h.taken_at < config_ms(d->w->config, "attempt_window") &&
	    !detect_snapshot_is_alive(d, &h) && !is_recovered(d, &h);
	if (lost == NULL && known && h.session_id != NULL)
		lost = xstrdup(h.session_id);
	/* Gas Town's log and the snapshot may be of two lives */
	known = known && lost != NULL && h.session_id != NULL && strcmp(lost, h.session_id) == 0;
	if (lost != NULL)
		mine = own_id(c);
	crashed = mine != NULL && strcmp(mine, lost) != 0 && there(c->config_dir, c->cwd, lost, &path) &&
	    (town || (known && crashed_before(d, &h, c, path)));
	if (crashed && !was_delivered(d, c, began)) {
		c->status = AGENT_RESPAWNED;
		c->reason =
		    known && h.server_pid != c->pane.server_pid ? REASON_SERVER_EXIT : REASON_PROCESS_DIED;
		c->crashed_at = began;
		c->snapshot = known ? xstrdup(name) : NULL;
		c->session_id = xstrdup(lost);
	}
	snapshot_release(&h);
	free(mine);
	free(lost);
	free(path);
}

static enum claim_answer
explain_restarted(struct detection *d, struct claim *x, struct candidate *c)
{
	const struct pane_claim *pane = x->about;

	if (pane->empty_shell)
		return set_restored(d, c, pane->shows_agent) ? CLAIM_AGENT : CLAIM_OPEN;
	if (c->status == AGENT_LIVE && c->profile != NULL)
		set_respawned(d, c);
	return CLAIM_OPEN;
}

const struct agent_source detect_from_restarted = {
	.name = "restarted", .bit = FROM_RESTARTED, .adds_to = FROM_PANES, .explain = explain_restarted,
};
