#include <stdlib.h>
#include <string.h>

#include "revive/recorded.h"
#include "revive/detect.h"
#include "revive/restart.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "base/moment.h"
#include "ledger/session.h"
#include "store/store.h"
#include "tmux/client.h"
#include "tmux/pane.h"

/* What one tmux server answers, asked when it is needed. */
struct asked {
	bool done, silent;
	struct panes panes;
};

static const struct asked *
ask(struct world *w, struct asked *servers, const char *socket)
{
	struct tmux *t = world_server(w, socket);
	struct asked *one = &servers[t - w->servers];
	struct err e = ERR_INIT;

	if (!one->done)
		one->silent = panes_look(t, &one->panes, &e) != 0 && strcmp(e.name, "no-server") != 0;
	one->done = true;
	return one;
}

/* A sentence; NULL: it is certain that it is gone. */
static const char *
doubt(const struct session *x, const struct candidate *c, const struct asked *server)
{
	if (x->state == SESSION_ACTIVE && x->boot_id[0] == '\0')
		return "it is recorded as active, with no process: whether it runs nobody can tell";
	if (server->silent)
		return "its tmux server does not answer";
	for (size_t i = 0; i < server->panes.n; i++)
		if (strcmp(server->panes.v[i].session, c->pane.session) == 0)
			return "it is recorded in a tmux session of this name, in which no agent lives";
	return NULL;
}

/* It goes on elsewhere, in a pane that tells its conversation. */
static bool
goes_on(const struct session *x, const struct candidates *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].agent_pid != 0 && x->cursor_session_id != NULL && all->v[i].note.session_id != NULL &&
		    strcmp(x->cursor_session_id, all->v[i].note.session_id) == 0)
			return true;
	return false;
}

static void
consider(struct world *w, const struct session *x, struct asked *servers, struct candidates *all)
{
	struct candidate c;
	struct err no = ERR_INIT;
	const char *why;

	if (restart_candidate(w, x, &c, &no) != 0) {
		candidate_release(&c);
		return;
	}
	c.reason = REASON_UNKNOWN;
	if (x->state == SESSION_ACTIVE)
		c.crashed_at = 0;
	why = doubt(x, &c, ask(w, servers, c.pane.socket));
	if (why != NULL) {
		c.class = CLASS_UNKNOWN;
		c.reason = REASON_NONE;
		c.doubt = why;
	}
	c.record = xcalloc(1, sizeof *c.record);
	session_copy(c.record, x);
	all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
	all->v[all->n++] = c;
}

static int
by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = strcmp(x->pane.session, y->pane.session);

	return order != 0 ? order : strcmp(x->record->agent_uuid, y->record->agent_uuid);
}

static int
add_recorded(struct world *w, struct candidates *all, struct err *e)
{
	struct err none = ERR_INIT;
	struct store *store = world_store(w, false, &none);
	struct asked *servers = xcalloc(w->n_servers + 1, sizeof *servers);
	struct sessions open = { .n = 0 };
	struct moment now;
	size_t from = all->n;
	int ret = 0;

	moment_now(&now);
	/* a store that cannot be read knows nobody, as everywhere where one looks (world.h) */
	if (store != NULL && (sessions_read(store, SESSION_ACTIVE, &open, e) != 0 || sessions_read(store, SESSION_SUSPENDED, &open, e) != 0))
		ret = -1;
	for (size_t i = 0; i < open.n && ret == 0; i++) {
		const struct session *x = &open.v[i];
		struct candidates known = { .v = all->v, .n = from };

		if (!host_is_other(x->host) && !session_lives(x, &now) && restart_known(w, x, &known) == NULL && !goes_on(x, &known))
			consider(w, x, servers, all);
	}
	if (all->n > from)
		qsort(all->v + from, all->n - from, sizeof *all->v, by_name);
	for (size_t i = 0; i < w->n_servers; i++)
		panes_release(&servers[i].panes);
	free(servers);
	sessions_release(&open);
	return ret;
}

int
recorded_detect(struct world *w, struct candidates *all, struct err *e)
{
	int ret = detect(w, all, e);
	bool no_server = ret != 0 && strcmp(e->name, "no-server") == 0;
	struct err own = ERR_INIT;

	if (ret == 0)
		ret = detect_lines(w, all, e);
	if ((ret != 0 && !no_server) || add_recorded(w, all, &own) != 0) {
		if (own.code != 0)
			*e = own;
		return -1;
	}
	/* whose server is gone is what is asked for */
	if (no_server && all->n > 0) {
		err_clear(e);
		ret = 0;
	}
	return ret;
}
