#include <stdlib.h>
#include <string.h>

#include "revive/adopt.h"
#include "revive/candidate.h"
#include "revive/recover.h"
#include "revive/world.h"
#include "base/buf.h"
#include "context/transcript_find.h"
#include "ledger/session.h"
#include "tmux/client.h"

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
is_of(const struct session *x, const struct pane *p)
{
	return x->session != NULL && strcmp(x->session, p->session) == 0 &&
	    (x->socket == NULL || strcmp(x->socket, p->socket) == 0 || strcmp(x->socket, p->socket_path) == 0);
}

static bool
goes_on(const struct session *x, const struct recovery *r)
{
	const char *id = r->gathered.found.session_id != NULL ? r->gathered.found.session_id : r->c->note.session_id;

	return id != NULL && x->cursor_session_id != NULL && strcmp(x->cursor_session_id, id) == 0;
}

/* NULL: none, or nobody can tell which. */
static const struct session *
choose(const struct sessions *all, const struct recovery *r)
{
	const struct session *only = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (!is_of(&all->v[i], &r->c->pane))
			continue;
		if (goes_on(&all->v[i], r))
			return &all->v[i];
		only = &all->v[i];
		n++;
	}
	return n == 1 ? only : NULL;
}

void
adopt(struct recovery *r)
{
	struct sessions open = { .n = 0 };
	const struct session *x = r->agent;
	char *conversation = conversation_of(r);

	if (x == NULL && sessions_read(r->store, SESSION_ACTIVE, &open, NULL) == 0 &&
	    sessions_read(r->store, SESSION_SUSPENDED, &open, NULL) == 0)
		x = choose(&open, r);
	if (x != NULL)
		session_started(r->store, x->agent_uuid, r->attempt.new_pid, conversation, NULL);
	sessions_release(&open);
	free(conversation);
}
