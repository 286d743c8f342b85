#include <stdlib.h>
#include <string.h>

#include "revive/missing.h"
#include "revive/detect.h"
#include "revive/memory.h"
#include "revive/seen.h"
#include "revive/unseen.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "context/parting.h"
#include "ledger/attempt.h"
#include "town/config.h"

#define FILE_MS 20	/* by so much the clock of files may be behind */

/* One missing pane on its way to a candidate. */
struct gone {
	struct memory *m;
	const struct memory_server *s;
	const struct snapshot *h;
	struct unseen u;
	bool newest;		/* of its session */
	bool server_died;
};

/* The attempt found the pane dead and started nothing, or saw dead what it had started. */
static bool
stood_dead(const struct attempt *a)
{
	if (a->times[PHASE_RESPAWNED] != 0)
		return a->stood_dead;
	return strcmp(a->class, class_name(CLASS_DEAD)) == 0 || strcmp(a->class, class_name(CLASS_ZOMBIE)) == 0;
}

/* The pane stood there dead before its session went, and nothing was started in it since: somebody took it away. */
static bool
was_cleared(const struct gone *g)
{
	struct store *store = world_store(g->m->w, false, NULL);
	const struct snapshot *h = g->h;
	struct attempt a;
	bool cleared;

	if (h->dead && !g->u.later)
		return true;
	if (store == NULL || attempt_latest(store, h->socket, h->server_pid, h->server_start, h->pane, &a, NULL) != 1)
		return false;
	cleared = a.times[PHASE_DETECTED] > h->taken_at && stood_dead(&a);
	attempt_release(&a);
	return cleared;
}

static enum parting
parting_at_its_end(const struct gone *g)
{
	const struct snapshot *h = g->h;
	const struct profile *p = h->agent != NULL ? profiles_find(g->m->w->profiles, h->agent) : NULL;

	if (g->u.session_id != NULL)
		return g->u.parting;
	if (p == NULL || strcmp(p->transcript, "claude") == 0)
		return parting_of_session(h->config_dir, h->cwd, h->session_id);
	return h->transcript != NULL ? parting_of(p->transcript, h->transcript) : PARTING_UNKNOWN;
}

/* The record of a killed process is removed by the next start of any agent of that person; how its conversation ends stays. */
static bool
was_killed(const struct gone *g)
{
	enum parting p = parting_at_its_end(g);

	/* one that was started and heard nothing wrote nothing */
	return !was_cleared(g) && (p == PARTING_NONE || (g->u.later && g->u.session_id == NULL));
}

static enum reason
reason_of(const struct gone *g, const struct candidate *c)
{
	if (g->server_died)
		return REASON_SERVER_EXIT;
	if (c->note.session_id != NULL || c->role.kind == ROLE_POLECAT || was_killed(g))
		return REASON_PROCESS_DIED;
	return REASON_STOPPED;
}

/* One without any session tells nothing of itself. */
static bool
server_died(const struct memory_server *s, int64_t pid, int64_t start)
{
	struct proc p;

	if (s->pid != 0)
		return s->pid != pid || s->start != start;
	return !s->runs || proc_read((pid_t)pid, &p) != 0 || p.state == 'Z' || !str_starts(p.comm, "tmux");
}

/* The server on which the agent lived that no snapshot saw. */
static bool
later_server_died(const struct gone *g)
{
	const struct memory_server *s = g->s;

	if (g->u.server_pid != 0)
		return server_died(s, g->u.server_pid, g->u.server_start);
	return !s->runs || (s->pid != 0 && s->start * 1000 > g->u.alive_at);
}

/*
 * That crash has been answered, and what was started then was ended by somebody, or is not known to have crashed, or a newer snapshot of
 * the session tells of it.
 */
static bool
is_answered(const struct gone *g)
{
	const struct unseen *u = &g->u;

	return u->answered && (!g->newest || u->lives || u->session_id == NULL || (u->parting != PARTING_NONE && !g->server_died));
}

/* What the snapshot tells of its process is of the one before. */
static void
take_later(const struct unseen *u, struct candidate *c)
{
	if (u->session_id != NULL)
		c->lost_id = xstrdup(u->session_id);
	if (!u->later)
		return;
	session_file_release(&c->note);
	c->began = u->began;
	c->started_by = xstrdup(u->id);
	c->crashed_at = u->alive_at;
	if (u->answered)
		c->after = xstrdup(u->id);
}

/* Its start is counted from a boot, which must be this one. */
static int64_t
began(const struct snapshot *h)
{
	const struct proc p = { .start = h->pid_start };

	return h->pid > 0 && h->taken_at > clock_wall_ms() - clock_boot_ms() ? proc_wall_ms(&p) : 0;
}

static void
add(const struct gone *g, const char *name, struct candidates *out)
{
	struct candidate c = { .doubt = "" };

	memory_old_pane(g->h, g->s->socket, &c.pane);
	if (!memory_identity(g->m, g->h, name, &c)) {
		candidate_release(&c);
		return;
	}
	c.began = began(g->h);
	take_later(&g->u, &c);
	c.class = CLASS_MISSING;
	c.reason = reason_of(g, &c);
	if (memory_lives(g->h) || g->u.lives) {
		c.class = CLASS_UNKNOWN;
		c.reason = REASON_NONE;
		c.doubt = "its session is gone, but the agent's process still runs";
	}
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n++] = c;
}

static void
add_missing(struct memory *m, const struct memory_server *s, const char *name, const struct snapshot *h, bool newest,
    bool at_the_end, struct candidates *out)
{
	struct gone g = { .m = m, .s = s, .h = h, .newest = newest };

	if (h->session == NULL || clock_wall_ms() - h->taken_at > config_ms(m->w->config, "snapshot_age"))
		return;
	unseen_find(m->w, h, &g.u);
	g.server_died = g.u.later ? later_server_died(&g) : at_the_end && server_died(s, h->server_pid, h->server_start);
	if (!is_answered(&g))
		add(&g, name, out);
	unseen_release(&g.u);
}

/* The other agents' panes of the session when its server died. */
static void
add_others(struct memory *m, const struct memory_server *s, const struct album_entry *newest, const struct snapshot *first,
    const struct seen *seen, struct candidates *out)
{
	for (size_t i = 0; i < seen->n; i++) {
		const struct seen_pane *x = &seen->v[i];
		struct snapshot h;

		if (!x->agent || x->file == NULL || strcmp(x->session, newest->session) != 0 || strcmp(x->id, first->pane) == 0 ||
		    !memory_head(m, x->file, &h))
			continue;
		add_missing(m, s, x->file, &h, false, true, out);
		snapshot_release(&h);
	}
}

static void
look_for(struct memory *m, const struct album_entry *newest, struct candidates *out)
{
	const struct memory_server *s;
	struct snapshot h;
	struct seen seen;
	bool known, at_the_end = false;

	if (!memory_head(m, newest->name, &h))
		return;
	s = memory_server_of(m, h.socket);
	if (s != NULL) {
		/* what was killed between a snapshot and the state of its pass wrote no state: an older one tells nothing of this session */
		known = seen_of_life(&seen, m->album.dir, h.socket, h.server_pid, h.server_start) && seen.written + FILE_MS >= h.taken_at;
		for (size_t i = 0; i < seen.n; i++)
			at_the_end = at_the_end || strcmp(seen.v[i].session, newest->session) == 0;
		add_missing(m, s, newest->name, &h, true, at_the_end || !known, out);
		if (at_the_end && server_died(s, h.server_pid, h.server_start))
			add_others(m, s, newest, &h, &seen, out);
		seen_release(&seen);
	}
	snapshot_release(&h);
}

void
missing(struct memory *m, struct candidates *out)
{
	char (*seen)[ALBUM_KEY] = xcalloc(m->album.n * 2, sizeof *seen);

	for (size_t i = m->album.n, n = 0; i-- > 0 && !m->broken; ) {
		const struct album_entry *x = &m->album.v[i];
		/* the pane was seen later, in this session or in another one, which it was moved to or which is this one under another name */
		bool later = memory_has_key(seen, n, x->pane), done = memory_has_key(seen, n, x->session);

		if (!later)
			memcpy(seen[n++], x->pane, ALBUM_KEY);
		if (later || done)
			continue;
		memcpy(seen[n++], x->session, ALBUM_KEY);
		if (!memory_has_key(m->keys, m->n_keys, x->session) && !memory_has_key(m->keys, m->n_keys, x->pane))
			look_for(m, x, out);
	}
	free(seen);
}
