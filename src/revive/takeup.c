#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/takeup.h"
#include "revive/await.h"
#include "revive/detect.h"
#include "revive/ending.h"
#include "revive/recover.h"
#include "revive/remake.h"
#include "revive/respawn.h"
#include "revive/world.h"
#include "base/buf.h"
#include "ledger/attempt.h"

static bool
of_class(const struct attempt *a, enum class class)
{
	return a->class != NULL && strcmp(a->class, class_name(class)) == 0;
}

/* An open attempt for a missing session that gt made: nothing of it stands in the new pane. */
static bool
made_by_gt(struct store *store, const struct pane *p, struct attempt *out)
{
	struct attempts open = { .n = 0 };
	bool found = false;

	if (attempts_open(store, &open, NULL) == 0)
		for (size_t i = 0; i < open.n && !found; i++) {
			struct attempt *a = &open.v[i];

			found = a->phase >= PHASE_RESPAWNED && of_class(a, CLASS_MISSING) &&
			    strcmp(a->session, p->session) == 0 && strcmp(a->socket, p->socket_path) == 0;
			if (found) {
				*out = *a;
				attempt_init(a);
			}
		}
	attempts_release(&open);
	return found;
}

/* The newest attempt of a pane, or the one that made it. As attempt_latest. */
static int
newest_attempt(struct store *store, const struct candidate *c, struct attempt *out, struct err *e)
{
	const struct pane *p = &c->pane;
	int found = attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, out, e);
	char id[21];

	if (found == 0 && class_has_pane(c->class) && respawn_id(p, id))
		found = attempt_load(store, id, out, e);
	if (found == 0 && (c->class == CLASS_LIVE || c->class == CLASS_RESPAWNED))
		found = made_by_gt(store, p, out);
	return found;
}

/* Is it the agent that the attempt started, or meant? */
static bool
is_its_pane(const struct attempt *a, const struct candidate *c)
{
	return respawn_was_by(&c->pane, a->id) ||
	    (of_class(a, CLASS_RESPAWNED) && a->pane_pid == c->pane.pid) ||
	    (of_class(a, CLASS_MISSING) && strcmp(a->session, c->pane.session) == 0);
}

/* A missing session's attempt goes on in the session that an earlier recoverer made. */
static int
find_made(struct recovery *r, const struct attempt *a, struct err *e)
{
	int found = a->phase < PHASE_RESPAWNED ? 0 : remake_find(r->w, r->c, a->id, &r->born, e);

	if (found == 1) {
		r->pane = &r->born;
		r->taken_up = true;
	}
	return found < 0 ? -1 : 0;
}

/*
 * Another run was done with this very crash between our look and our lock. A session that is there again, or a living pane, does not tell,
 * nor that the agent, now dead, was told something while it lived.
 */
static int
check_answered(const struct recovery *r, const struct attempt *a, struct err *e)
{
	if (!class_crashed(r->c->class) || a->phase != PHASE_ACKNOWLEDGED || a->pane_pid != r->c->pane.pid ||
	    of_class(a, CLASS_RESPAWNED) || (r->c->after != NULL && strcmp(r->c->after, a->id) == 0))
		return 0;
	err_set(e, GT_AGAIN, "taken", "another gt-recover has brought it back just now");
	return err_hint(e, "nothing was done to it; run gt-recover list to see what lives there");
}

/*
 * A pane that is as it was shows that nothing was started in it. A session that is gone may have been there and have gone again: its prompt,
 * which the start consumes, tells.
 */
static bool
nobody_told(const struct recovery *r, const struct attempt *a)
{
	char *name, *path;
	bool there;

	if (r->c->class != CLASS_MISSING || a->phase < PHASE_RESPAWNED)
		return true;
	if (a->phase > PHASE_RESPAWNED || strcmp(a->delivery, "paste") == 0)
		return a->phase == PHASE_RESPAWNED && !a->pasted;
	name = xasprintf("%s.txt", a->id);
	path = world_path(r->w, "prompts", name, false, NULL);
	there = path != NULL && access(path, F_OK) == 0;
	free(path);
	free(name);
	return there;
}

int
takeup(struct recovery *r, struct err *e)
{
	const struct pane *p = &r->c->pane;
	struct attempt a;
	int found = newest_attempt(r->store, r->c, &a, e), ret = 0;

	if (found < 0)
		return -1;
	if (found == 0)
		return 0;
	if (phase_final(a.phase)) {
		ret = check_answered(r, &a, e);
	} else if (r->c->class >= CLASS_RESPAWNED && a.phase >= PHASE_RESPAWNED && is_its_pane(&a, r->c)) {
		/* unknown: it may be on its way up */
		r->taken_up = true;
	} else if (r->c->class == CLASS_LIVE) {
		recovery_take_back(r, &a);
		ret = ending_failed(r->w, &a, "somebody else started the agent", e);
	} else if (r->c->class == CLASS_UNKNOWN) {
		;
	} else if (r->c->class == CLASS_MISSING && find_made(r, &a, e) != 0) {
		ret = -1;
	} else if (a.pane_pid == p->pid && !r->taken_up && nobody_told(r, &a)) {
		/* nothing was started yet: the same attempt goes on, under the same id */
		r->begun = a.phase >= PHASE_RESPAWNED;
		attempt_release(&r->attempt);
		r->attempt = a;
		return 0;
	} else if (!r->taken_up) {
		a.stood_dead = r->c->class == CLASS_DEAD && a.phase >= PHASE_RESPAWNED;
		ret = ending_judged(r->w, &a, r->c->config_dir, "the agent died again before it took the prompt up", e);
		/* what died is what it had started, unless that is the crash before it */
		if (ret == 0 && (r->c->started_by == NULL || strcmp(r->c->started_by, a.id) != 0))
			ret = check_answered(r, &a, e);
	}
	if (r->taken_up) {
		attempt_release(&r->attempt);
		r->attempt = a;
		if (r->pane == &r->born) {
			r->attempt.made_pid = r->born.server_pid;
			r->attempt.made_start = r->born.server_start;
		}
		return 0;
	}
	/* its agent died with the option still set: it is ours to take back now */
	attempt_set(&r->attempt.remain_on_exit, a.remain_on_exit);
	attempt_release(&a);
	return ret;
}

static bool
is_pending(struct store *store, const struct candidate *c)
{
	struct err ignored = ERR_INIT;
	struct attempt a;
	bool pending;

	if (c->class < CLASS_RESPAWNED || newest_attempt(store, c, &a, &ignored) != 1)
		return false;
	pending = !phase_final(a.phase) && a.phase >= PHASE_RESPAWNED && is_its_pane(&a, c);
	attempt_release(&a);
	return pending;
}

void
takeup_pending(struct world *w, const struct candidates *all, bool *pending)
{
	struct err ignored = ERR_INIT;
	struct store *store = world_store(w, false, &ignored);

	for (size_t i = 0; i < all->n; i++)
		pending[i] = store != NULL && is_pending(store, &all->v[i]);
}
