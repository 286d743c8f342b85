#include <stdlib.h>
#include <string.h>

#include "recover/recover_private.h"
#include "detect/detect.h"
#include "snapshot/pass/pass.h"
#include "app/app.h"
#include "base/host.h"
#include "base/timestamp.h"
#include "records/agents/agents.h"
#include "store/store.h"

/* The conversation that the proof stands in, by the name of its file. Heap; NULL: no transcript told. */
static char *
conversation_of(const struct recovery *r)
{
	const char *path = r->attempt.transcript, *name = path != NULL ? strrchr(path, '/') : NULL;
	char *id;

	if (name == NULL)
		return NULL;
	id = xasprintf("%.*s", (int)strcspn(name + 1, "."), name + 1);
	if (transcript_is_id(id))
		return id;
	free(id);
	return NULL;
}

static bool
is_named(const struct session *x, const struct pane *p)
{
	return x->session != NULL && strcmp(x->session, p->session) == 0 &&
	    (x->socket == NULL || strcmp(x->socket, p->socket) == 0 ||
		strcmp(x->socket, p->socket_path) == 0);
}

static bool
is_of(const struct session *x, const struct pane *p)
{
	return !host_is_other(x->host) && is_named(x, p);
}

static bool
is_same_conversation(const struct session *x, const struct recovery *r)
{
	const char *id =
	    r->gathered.found.session_id != NULL ? r->gathered.found.session_id : r->c->pid_record.session_id;

	return id != NULL && x->cursor_session_id != NULL && strcmp(x->cursor_session_id, id) == 0;
}

/* Those that have not ended. */
static int
read_open(struct store *store, struct session_list *open, struct err *e)
{
	return session_list_read(store, SESSION_ACTIVE, open, e) != 0 ||
		session_list_read(store, SESSION_SUSPENDED, open, e) != 0
	    ? -1
	    : 0;
}

/* NULL: none, or nobody can tell which. */
static const struct session *
choose(const struct session_list *all, const struct recovery *r)
{
	const struct session *only = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (!is_of(&all->v[i], &r->c->pane))
			continue;
		if (is_same_conversation(&all->v[i], r))
			return &all->v[i];
		only = &all->v[i];
		n++;
	}
	return n == 1 ? only : NULL;
}

void
recovery_rebind(struct recovery *r)
{
	struct session_list open = { .n = 0 };
	const struct session *x = r->agent;
	char *conversation = conversation_of(r);

	if (x == NULL && read_open(r->store, &open, NULL) == 0)
		x = choose(&open, r);
	if (x != NULL)
		session_started(r->store, x->agent_uuid, r->attempt.new_pid, conversation, NULL);
	session_list_release(&open);
	free(conversation);
}

/* Its session as it is, and what claims it; 1, 0 there is none, -1. */
static int
find_claim(struct recovery *r, struct session *x, struct txn *t, struct err *e)
{
	struct session_list open = { .n = 0 };
	const struct session *of;
	int ret = read_open(r->store, &open, e);

	session_init(x);
	of = ret == 0 ? choose(&open, r) : NULL;
	if (of != NULL) {
		session_copy(x, of);
		if (x->state == SESSION_SUSPENDED)
			session_put(t, x, SESSION_ACTIVE, store_now(r->store));
		else
			session_expect(t, x);
		ret = 1;
	}
	session_list_release(&open);
	return ret;
}

#define CLAIMS 20			/* each lost round is somebody else's word about the session */

int
recovery_claim_session(struct recovery *r, char **agent, struct err *e)
{
	int ret = 1;

	*agent = NULL;
	if (*host_id() == '\0')
		return attempt_advance(r->store, &r->attempt, PHASE_RESPAWNED, e);
	for (int i = 0; i < CLAIMS && ret > 0; i++) {
		struct txn t = { .s = r->store };
		struct session x;
		int found;

		if (recovery_on_other_host(r->w, r->c)) {
			err_set(e, GT_REFUSED, "other-host", "its agent was resumed on another host");
			return err_hint(e, "gt-recover list --fleet shows it");
		}
		found = find_claim(r, &x, &t, e);
		ret = found < 0 ? -1 : attempt_respawn(&t, &r->attempt, e);
		if (ret == 0 && found > 0 && x.state == SESSION_SUSPENDED)
			*agent = xstrdup(x.agent_uuid);
		if (ret < 0 && found > 0 && strcmp(e->name, "conflict") == 0)
			ret = 1;
		session_release(&x);
	}
	return ret == 0 ? 0 : -1;
}

void
recovery_unclaim_session(struct recovery *r, const char *agent)
{
	struct session x;

	session_init(&x);
	session_suspend(r->store, agent, NULL, "it could not be restarted", &x, NULL);
	session_release(&x);
}

int
recovery_find_session(struct app *w, const struct candidate *c, char **agent, struct err *e)
{
	struct store *store = app_store(w, false, e);
	struct session_list open = { .n = 0 };
	size_t n = 0, at = 0;
	int ret;

	*agent = NULL;
	if (store == NULL)
		return e->code != 0 ? -1 : 0;
	ret = read_open(store, &open, e);
	for (size_t i = 0; i < open.n && ret == 0; i++)
		if (is_of(&open.v[i], &c->pane)) {
			at = i;
			n++;
		}
	if (n == 1)
		*agent = xstrdup(open.v[at].agent_uuid);
	session_list_release(&open);
	return ret;
}

/* ---- who lives ---- */

static bool
is_same_talk(const struct session *x, const struct candidate *c)
{
	return x->cursor_session_id != NULL && c->pid_record.session_id != NULL &&
	    strcmp(x->cursor_session_id, c->pid_record.session_id) == 0;
}

/* How many of the open sessions name the tmux session of that pane. */
static size_t
named(const struct session_list *open, const struct pane *p)
{
	size_t n = 0;

	for (size_t i = 0; i < open->n; i++)
		n += is_of(&open->v[i], p);
	return n;
}

/* NULL: none, or nobody can tell. */
static const struct candidate *
living(const struct session *x, const struct session_list *open, const struct candidate_list *all)
{
	const struct candidate *only = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct candidate *c = &all->v[i];

		if (c->agent_pid == 0 || !is_of(x, &c->pane))
			continue;
		if (is_same_talk(x, c))
			return c;
		only = c;
		n++;
	}
	return n == 1 && named(open, &only->pane) == 1 ? only : NULL;
}

static bool
is_lost(const struct session *x, const struct timestamp *now)
{
	return x->state == SESSION_ACTIVE && !session_is_elsewhere(x) && x->session != NULL &&
	    !session_is_alive(x, now);
}

int
recovery_rebind_living(struct app *w, size_t *n, struct err *e)
{
	struct store *store = app_store(w, false, e);
	struct session_list open = { .n = 0 };
	struct candidate_list all = { .n = 0 };
	struct err none = ERR_INIT;
	struct timestamp now;
	size_t lost = 0;
	int ret = session_list_read(store, SESSION_ACTIVE, &open, e);

	*n = 0;
	timestamp_now(&now);
	for (size_t i = 0; i < open.n; i++)
		lost += is_lost(&open.v[i], &now);
	if (ret == 0 && lost > 0)
		ret = session_list_read(store, SESSION_SUSPENDED, &open, e);
	if (ret == 0 && lost > 0 && snapshot_detect(w, &all, &none) == 0)
		for (size_t i = 0; i < open.n && ret >= 0; i++) {
			const struct candidate *c =
			    is_lost(&open.v[i], &now) ? living(&open.v[i], &open, &all) : NULL;

			ret = c != NULL ? session_started(store, open.v[i].agent_uuid, c->agent_pid, NULL, e)
					: 0;
			*n += ret == 1;
		}
	candidate_list_release(&all);
	session_list_release(&open);
	return ret < 0 ? -1 : 0;
}

/* ---- who lives elsewhere ---- */

static bool
is_lost_talk(const struct session *x, const struct candidate *c)
{
	return is_same_talk(x, c) ||
	    (x->cursor_session_id != NULL && c->session_id != NULL &&
		strcmp(x->cursor_session_id, c->session_id) == 0);
}

bool
recovery_runs_elsewhere(struct app *w, const struct candidate *c)
{
	struct store *store = app_store(w, false, NULL);
	struct session_list active = { .n = 0 };
	struct timestamp now;
	bool found = false;

	timestamp_now(&now);
	if (store != NULL && session_list_read(store, SESSION_ACTIVE, &active, NULL) == 0)
		for (size_t i = 0; i < active.n && !found; i++) {
			const struct session *x = &active.v[i];

			/* what is noted may be the shell that its agent left in the pane */
			found = (is_of(x, &c->pane) || is_lost_talk(x, c)) &&
			    (x->pid != c->pane.pid || session_is_contained(x, &now)) &&
			    session_is_alive(x, &now);
		}
	session_list_release(&active);
	return found;
}

bool
recovery_on_other_host(struct app *w, const struct candidate *c)
{
	struct store *store = *host_id() != '\0' ? app_store(w, false, NULL) : NULL;
	struct session_list active = { .n = 0 };
	bool found = false;

	if (store != NULL && session_list_read(store, SESSION_ACTIVE, &active, NULL) == 0)
		for (size_t i = 0; i < active.n && !found; i++) {
			const struct session *x = &active.v[i];

			found = session_is_elsewhere(x) &&
			    (is_lost_talk(x, c) ||
				(strcmp(x->came_from, host_id()) == 0 && is_named(x, &c->pane)));
		}
	session_list_release(&active);
	return found;
}
