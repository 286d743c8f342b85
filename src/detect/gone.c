#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "detect/detect.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "config/config.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"
#include "snapshot/snapshot.h"
#include "transcript/transcript.h"
#include "transcript/locate/locate.h"

/* Between the commit of a start and what a process tells of its own. */
#define SLACK_MS 5000
#define MOST_LINKS 16	/* attempts in a row that came to nothing */

static bool
same_pane(const struct attempt *a, const struct snapshot *h)
{
	return a->server_pid == h->server_pid && a->server_start == h->server_start &&
	    strcmp(a->pane_id, h->pane) == 0 && strcmp(a->socket, h->socket) == 0;
}

/* The attempt by which the agent that the snapshot shows was started: in its pane, or with its session. */
static bool
may_have_made(const struct attempt *a, const struct snapshot *h)
{
	int64_t at = a->times[PHASE_RESPAWNED];

	if (at == 0 || at > h->taken_at || a->cwd == NULL || h->cwd == NULL || strcmp(a->cwd, h->cwd) != 0)
		return false;
	if (same_pane(a, h))
		return a->pane_pid != h->pane_pid;
	return strcmp(a->class, detect_status_name(AGENT_MISSING)) == 0 &&
	    strcmp(a->session, h->session) == 0 && strcmp(a->socket, h->socket) == 0;
}

static bool
find_maker(struct store *store, const struct snapshot *h, struct attempt *out)
{
	struct attempt_list all = { .n = 0 };
	struct attempt *best = NULL;

	if (attempt_list_all(store, &all, NULL) == 0)
		for (size_t i = 0; i < all.n; i++)
			if (may_have_made(&all.v[i], h) &&
			    (best == NULL || all.v[i].times[PHASE_RESPAWNED] > best->times[PHASE_RESPAWNED]))
				best = &all.v[i];
	if (best != NULL) {
		*out = *best;
		attempt_init(best);
	}
	attempt_list_release(&all);
	return best != NULL;
}

/*
 * It replaced what the snapshot shows, or what came after that in the same pane. One that only
 * told a living agent replaced nothing.
 */
static bool
replaced(const struct attempt *a, const struct snapshot *h)
{
	int64_t at = a->times[PHASE_RESPAWNED];

	return at != 0 && same_pane(a, h) && strcmp(a->class, detect_status_name(AGENT_RESPAWNED)) != 0 &&
	    (a->pane_pid == h->pane_pid || at > h->taken_at);
}

/* The newest that did. One that ended before it could start anything goes on with the one before it. */
static bool
find_successor(struct store *store, const struct snapshot *h, struct attempt *out)
{
	struct attempt a;

	if (attempt_latest(store, h->socket, h->server_pid, h->server_start, h->pane, out, NULL) != 1)
		return false;
	for (int i = 0; i < MOST_LINKS && out->times[PHASE_RESPAWNED] == 0 && out->previous != NULL; i++) {
		if (attempt_load(store, out->previous, &a, NULL) != 1)
			break;
		attempt_release(out);
		*out = a;
	}
	if (replaced(out, h))
		return true;
	attempt_release(out);
	return false;
}

/* What it started may have died unseen as well, and been brought back: the last of that row. */
static void
follow(struct store *store, struct attempt *a)
{
	struct attempt_list all = { .n = 0 };
	size_t next = 0;

	if (attempt_list_all(store, &all, NULL) != 0)
		all.n = 0;
	for (int i = 0; i < MOST_LINKS && next < all.n; i++) {
		for (next = 0; next < all.n; next++)
			if (all.v[next].previous != NULL && strcmp(all.v[next].previous, a->id) == 0 &&
			    all.v[next].times[PHASE_RESPAWNED] != 0 &&
			    strcmp(all.v[next].class, detect_status_name(AGENT_RESPAWNED)) != 0)
				break;
		if (next < all.n) {
			attempt_release(a);
			*a = all.v[next];
			attempt_init(&all.v[next]);
		}
	}
	attempt_list_release(&all);
}

/*
 * Of one that never read its prompt: what it heard instead began a conversation that no living
 * process has.
 */
static char *
find_newborn(const char *format, const char *config_dir, const struct attempt *a)
{
	struct agent_pid_files all = { .n = 0 };
	const char **held;
	size_t n = 0;
	char *path;

	agent_pid_files_read(config_dir, &all);
	held = xcalloc(all.n + 1, sizeof *held);
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].session_id != NULL && agent_pid_file_is_alive(&all.v[i]))
			held[n++] = all.v[i].session_id;
	path = locate_new(format, config_dir, a->cwd, a->times[PHASE_RESPAWNED], held, n);
	free(held);
	agent_pid_files_release(&all);
	return path;
}

/* The process that the attempt had started; a pid is used again. */
static bool
still_runs(const struct attempt *a)
{
	int64_t began = a->new_pid > 0 ? proc_began_ms((pid_t)a->new_pid) : 0;

	if (attempt_is_contained(a) || (a->new_pid > 0 && proc_life((pid_t)a->new_pid, 0) == LIFE_UNKNOWN))
		return true;
	return began != 0 && began >= a->times[PHASE_RESPAWNED] - SLACK_MS &&
	    (a->times[PHASE_DELIVERED] == 0 || began <= a->times[PHASE_DELIVERED] + SLACK_MS);
}

/*
 * In which it was told; where sessions are told apart by their names, in which it began untold.
 * Elsewhere that tells nothing of when, and may be another's.
 */
static void
set_conversation(
    const struct attempt *a, const struct snapshot *h, const struct profile *p, struct unsnapshotted *out)
{
	char *path = a->transcript != NULL ? xstrdup(a->transcript) : NULL;
	enum ack ack = ACK_NONE;

	if (path == NULL && h->config_dir != NULL)
		locate_ack(p->transcript, h->config_dir, a->cwd, a->id, a->times[PHASE_RESPAWNED], &ack,
		    &path);
	if (path == NULL && out->later && h->config_dir != NULL && a->cwd != NULL)
		path = find_newborn(p->transcript, h->config_dir, a);
	if (path != NULL)
		out->session_id =
		    locate_session_id(p->transcript, h->config_dir, path, a->times[PHASE_RESPAWNED]);
	if (out->session_id != NULL)
		out->parting = transcript_exit_kind(p->transcript, path);
	free(path);
}

static void
detect_unsnapshotted(struct app *w, const struct snapshot *h, struct unsnapshotted *out)
{
	const struct profile *p = h->agent != NULL ? profile_find(w->profiles, h->agent) : NULL;
	struct store *store = app_store(w, false, NULL);
	struct attempt a;

	memset(out, 0, sizeof *out);
	out->parting = EXIT_UNKNOWN;
	if (store == NULL || h->pane == NULL || p == NULL)
		return;
	out->later = find_successor(store, h, &a);
	if (!out->later && (h->session_id != NULL || !find_maker(store, h, &a)))
		return;
	if (out->later)
		follow(store, &a);
	out->id = xstrdup(a.id);
	out->answered = out->later && a.phase == PHASE_ACKNOWLEDGED;
	out->began = a.times[PHASE_RESPAWNED];
	/* the acknowledgement may have been found long after its end */
	out->alive_at = a.times[PHASE_DELIVERED] != 0 ? a.times[PHASE_DELIVERED] : a.times[PHASE_RESPAWNED];
	out->server_pid = strcmp(a.class, detect_status_name(AGENT_MISSING)) != 0 ? a.server_pid : a.made_pid;
	out->server_start =
	    strcmp(a.class, detect_status_name(AGENT_MISSING)) != 0 ? a.server_start : a.made_start;
	set_conversation(&a, h, p, out);
	out->lives = still_runs(&a) ||
	    (out->session_id != NULL && h->config_dir != NULL &&
		transcript_in_use(p, h->config_dir, out->session_id));
	attempt_release(&a);
}

/* Never fails: what the ledger cannot tell is not known. detect_unsnapshotted_release. */
static void
detect_unsnapshotted_release(struct unsnapshotted *u)
{
	free(u->id);
	free(u->session_id);
	memset(u, 0, sizeof *u);
}

#define FILE_MS 20	/* by so much the clock of files may be behind */

/* One missing pane on its way to a candidate. */
struct gone_pane {
	struct gone_index *m;
	const struct gone_server *s;
	const struct snapshot *h;
	struct unsnapshotted u;
	bool newest;		/* of its session */
	bool server_died;
};

/* The attempt found the pane dead and started nothing, or saw dead what it had started. */
static bool
was_dead(const struct attempt *a)
{
	if (a->times[PHASE_RESPAWNED] != 0)
		return a->was_dead;
	return strcmp(a->class, detect_status_name(AGENT_DEAD)) == 0 ||
	    strcmp(a->class, detect_status_name(AGENT_ZOMBIE)) == 0;
}

/*
 * The pane stood there dead before its session went, and nothing was started in it since:
 * somebody took it away.
 */
static bool
was_cleared(const struct gone_pane *g)
{
	struct store *store = app_store(g->m->w, false, NULL);
	const struct snapshot *h = g->h;
	struct attempt a;
	bool cleared;

	if (h->dead && !g->u.later)
		return true;
	if (store == NULL ||
	    attempt_latest(store, h->socket, h->server_pid, h->server_start, h->pane, &a, NULL) != 1)
		return false;
	cleared = a.times[PHASE_DETECTED] > h->taken_at && was_dead(&a);
	attempt_release(&a);
	return cleared;
}

static enum exit_kind
parting_at_its_end(const struct gone_pane *g)
{
	const struct snapshot *h = g->h;
	const struct profile *p = h->agent != NULL ? profile_find(g->m->w->profiles, h->agent) : NULL;

	if (g->u.session_id != NULL)
		return g->u.parting;
	return locate_exit_kind(p != NULL ? p->transcript : TRANSCRIPT_DEFAULT, h->config_dir, h->cwd,
	    h->session_id, h->transcript);
}

/*
 * The record of a killed process is removed by the next start of any agent of that person; how
 * its conversation ends stays.
 */
static bool
was_killed(const struct gone_pane *g)
{
	enum exit_kind p = parting_at_its_end(g);

	/* one that was started and heard nothing wrote nothing */
	return !was_cleared(g) && (p == EXIT_KILLED || (g->u.later && g->u.session_id == NULL));
}

static enum crash_cause
reason_of(const struct gone_pane *g, const struct candidate *c)
{
	if (g->server_died)
		return REASON_SERVER_EXIT;
	if (c->pid_record.session_id != NULL || c->role.kind == TOWN_ROLE_POLECAT || was_killed(g))
		return REASON_PROCESS_DIED;
	return REASON_STOPPED;
}

/* One without any session tells nothing of itself. */
static bool
server_died(const struct gone_server *s, int64_t pid, int64_t start)
{
	struct proc p;
	int got;

	if (s->pid != 0)
		return s->pid != pid || s->start != start;
	got = s->runs ? proc_read((pid_t)pid, &p) : PROC_GONE;
	return got == PROC_GONE || (got == 0 && (proc_has_ended(&p) || !str_starts(p.comm, "tmux")));
}

/* The server on which the agent lived that no snapshot saw. */
static bool
later_server_died(const struct gone_pane *g)
{
	const struct gone_server *s = g->s;

	if (g->u.server_pid != 0)
		return server_died(s, g->u.server_pid, g->u.server_start);
	return !s->runs || (s->pid != 0 && s->start * 1000 > g->u.alive_at);
}

/*
 * That crash has been answered, and what was started then was ended by somebody, or is not known
 * to have crashed, or a newer snapshot of the session tells of it.
 */
static bool
is_answered(const struct gone_pane *g)
{
	const struct unsnapshotted *u = &g->u;

	return u->answered &&
	    (!g->newest || u->lives || u->session_id == NULL ||
		(u->parting != EXIT_KILLED && !g->server_died));
}

/* What the snapshot tells of its process is of the one before. */
static void
take_later(const struct unsnapshotted *u, struct candidate *c)
{
	if (u->session_id != NULL)
		c->session_id = xstrdup(u->session_id);
	if (!u->later)
		return;
	agent_pid_file_release(&c->pid_record);
	c->began = u->began;
	c->started_by = xstrdup(u->id);
	c->crashed_at = u->alive_at;
	if (u->answered)
		c->recovered_by = xstrdup(u->id);
}

/* Its start is counted from a boot, which must be this one. */
static int64_t
began(const struct snapshot *h)
{
	const struct proc p = { .start = h->pid_start };

	return h->pid > 0 && h->taken_at > clock_wall_ms() - clock_boot_ms() ? proc_wall_ms(&p) : 0;
}

static void
add_gone(const struct gone_pane *g, const char *name, struct candidate_list *out)
{
	struct candidate c = { .unknown_reason = "" };

	gone_index_old_pane(g->h, g->s->socket, &c.pane);
	if (!gone_index_identify(g->m, g->h, name, &c)) {
		candidate_release(&c);
		return;
	}
	c.began = began(g->h);
	take_later(&g->u, &c);
	c.status = AGENT_MISSING;
	c.reason = reason_of(g, &c);
	if (gone_index_is_alive(g->m, g->h) || g->u.lives) {
		c.status = AGENT_UNKNOWN;
		c.reason = REASON_NONE;
		c.unknown_reason = gone_is_contained(g->h) ?
		    "it ran in another container minutes ago; cannot tell whether it is dead" :
		    "its session is gone, but the agent's process still runs";
	}
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n++] = c;
}

static void
add_missing(struct gone_index *m, const struct gone_server *s, const char *name, const struct snapshot *h,
    bool newest, bool at_the_end, struct candidate_list *out)
{
	struct gone_pane g = { .m = m, .s = s, .h = h, .newest = newest };

	if (h->session == NULL || clock_wall_ms() - h->taken_at > config_ms(m->w->config, "snapshot_age"))
		return;
	detect_unsnapshotted(m->w, h, &g.u);
	g.server_died =
	    g.u.later ? later_server_died(&g) : at_the_end && server_died(s, h->server_pid, h->server_start);
	if (!is_answered(&g))
		add_gone(&g, name, out);
	detect_unsnapshotted_release(&g.u);
}

/* The other agents' panes of the session when its server died. */
static void
add_others(struct gone_index *m, const struct gone_server *s, const struct snapshot_file *newest,
    const struct snapshot *first, const struct pane_states *seen, struct candidate_list *out)
{
	for (size_t i = 0; i < seen->n; i++) {
		const struct pane_state *x = &seen->v[i];
		struct snapshot h;

		if (!x->agent || x->file == NULL || strcmp(x->session, newest->session) != 0 ||
		    strcmp(x->id, first->pane) == 0 || !gone_index_head(m, x->file, &h))
			continue;
		add_missing(m, s, x->file, &h, false, true, out);
		snapshot_release(&h);
	}
}

static void
look_for(struct gone_index *m, const struct snapshot_file *newest, struct candidate_list *out)
{
	const struct gone_server *s;
	struct snapshot h;
	struct pane_states seen;
	bool known, at_the_end = false;

	if (!gone_index_head(m, newest->name, &h))
		return;
	s = gone_index_server(m, h.socket);
	if (s != NULL) {
		/*
		 * what was killed between a snapshot and the state of its pass wrote no state: an
		 * older one tells nothing of this session
		 */
		known =
		    snapshot_panes_of_server(&seen, m->album.dir, h.socket, h.server_pid, h.server_start) &&
		    seen.written + FILE_MS >= h.taken_at;
		for (size_t i = 0; i < seen.n; i++)
			at_the_end = at_the_end || strcmp(seen.v[i].session, newest->session) == 0;
		add_missing(m, s, newest->name, &h, true, at_the_end || !known, out);
		if (at_the_end && server_died(s, h.server_pid, h.server_start))
			add_others(m, s, newest, &h, &seen, out);
		snapshot_panes_release(&seen);
	}
	snapshot_release(&h);
}

void
detect_gone(struct gone_index *m, struct candidate_list *out)
{
	char (*seen)[SNAPSHOT_KEY] = xcalloc(m->album.n * 2, sizeof *seen);

	for (size_t i = m->album.n, n = 0; i-- > 0 && !m->broken; ) {
		const struct snapshot_file *x = &m->album.v[i];
		/*
		 * the pane was seen later, in this session or in another one, which it was moved
		 * to or which is this one under another name
		 */
		bool later = gone_index_has_key(seen, n, x->pane),
		     done = gone_index_has_key(seen, n, x->session);

		if (!later)
			memcpy(seen[n++], x->pane, SNAPSHOT_KEY);
		if (later || done)
			continue;
		memcpy(seen[n++], x->session, SNAPSHOT_KEY);
		if (!gone_index_has_key(m->keys, m->n_keys, x->session) &&
		    !gone_index_has_key(m->keys, m->n_keys, x->pane))
			look_for(m, x, out);
	}
	free(seen);
}
