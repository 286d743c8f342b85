#include <stdlib.h>
#include <string.h>

#include "revive/earlier.h"
#include "revive/detect.h"
#include "revive/kept.h"
#include "revive/respawn.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/err.h"
#include "context/exchange.h"
#include "ledger/attempt.h"
#include "prompt/prompt.h"

/* Index of the newest user message that is one of our own prompts, and its id; talk->n when there is none. */
static size_t
own_prompt(const struct conversation *talk, char id[PROMPT_ID + 1])
{
	for (size_t i = talk->n; i-- > 0; ) {
		const struct exchange *x = &talk->v[i];
		const char *found;

		if (x->role != ROLE_USER || x->tool != NULL)
			continue;
		found = prompt_find_id(x->content, strlen(x->content));
		if (found != NULL) {
			memcpy(id, found, PROMPT_ID);
			id[PROMPT_ID] = '\0';
			return i;
		}
	}
	return talk->n;
}

static bool
same(const struct exchange *a, const struct exchange *b)
{
	return a->role == b->role && (a->tool == NULL) == (b->tool == NULL) && (a->tool == NULL || strcmp(a->tool, b->tool) == 0) &&
	    (a->input == NULL) == (b->input == NULL) && (a->input == NULL || strcmp(a->input, b->input) == 0) &&
	    strcmp(a->content, b->content) == 0;
}

/* The last rows of the screen were wiped by the start: what is left of an item is its head. */
static bool
head_of(const struct exchange *a, const struct exchange *b)
{
	return a->role == b->role && (a->tool == NULL) == (b->tool == NULL) && (a->tool == NULL || strcmp(a->tool, b->tool) == 0) &&
	    (a->input == NULL || (b->input != NULL && strcmp(a->input, b->input) == 0)) && str_starts(b->content, a->content);
}

static bool
holds(const struct conversation *talk, size_t n, const struct exchange *x, bool head)
{
	for (size_t i = 0; i < n; i++)
		if (same(&talk->v[i], x) || (head && head_of(x, &talk->v[i])))
			return true;
	return false;
}

/* earlier + a note + what is new in talk from index `from`; the result becomes talk. */
static void
join(struct conversation *talk, struct conversation *earlier, size_t from, bool told, const char *id)
{
	struct conversation all = CONVERSATION_INIT;
	size_t old;

	for (size_t i = 0; i < earlier->n; i++)
		conversation_take(&all, &earlier->v[i])->source = SOURCE_EARLIER;
	old = all.n;
	conversation_add(&all, ROLE_SYSTEM, NULL, NULL, xasprintf(told ?
	    "The agent was brought back here (recovery %s) and was told everything above." :
	    "The agent was started again here (recovery %s) and ended before it had read what is above.", id));
	for (size_t i = from; i < talk->n; i++)
		if (from != 0 || !holds(&all, old, &talk->v[i], !told))
			conversation_take(&all, &talk->v[i]);
	for (size_t i = 0; i < talk->n; i++)
		exchange_release(&talk->v[i]);
	free(talk->v);
	talk->v = all.v;
	talk->n = all.n;
	talk->cap = all.cap;
}

/*
 * A newer incarnation may have died before it showed our prompt, or so long after that it scrolled away: then the ledger knows what it was
 * told. An attempt that never came to start anything told nobody anything, and all that it kept still stands on the screen.
 */
static int
unshown_attempt(struct world *w, const struct candidate *c, char id[PROMPT_ID + 1], bool *told, struct err *e)
{
	struct store *store = world_store(w, false, e);
	struct attempt a;
	int found;

	if (store == NULL)
		return e->code != 0 ? -1 : 0;
	found = attempt_latest(store, c->pane.socket_path, c->pane.server_pid, c->pane.server_start, c->pane.id, &a, e);
	if (found != 1)
		return found;
	found = a.pane_pid != c->pane.pid && (a.phase != PHASE_ACKNOWLEDGED || respawn_was_by(&c->pane, a.id));
	if (found)
		memcpy(id, a.id, PROMPT_ID + 1);
	*told = a.times[PHASE_DELIVERED] != 0;
	attempt_release(&a);
	return found;
}

/* An id in a user's message may be quoted from another session: only what was told to this very pane is unfolded. 1 yes, 0 no, -1 err. */
static int
was_told_here(struct world *w, const struct candidate *c, const char *id, struct err *e)
{
	struct store *store = world_store(w, false, e);
	struct attempt a;
	int found;

	if (store == NULL)
		return e->code != 0 ? -1 : 0;
	found = attempt_load(store, id, &a, e);
	if (found != 1)
		return found;
	found = a.server_pid == c->pane.server_pid && a.server_start == c->pane.server_start && strcmp(a.pane_id, c->pane.id) == 0;
	attempt_release(&a);
	return found;
}

int
earlier_unfold(struct world *w, const struct candidate *c, struct conversation *talk, struct earlier *out, struct err *e)
{
	struct conversation earlier = CONVERSATION_INIT;
	char id[PROMPT_ID + 1];
	size_t at = own_prompt(talk, id), from = at + 1;
	bool told = true;
	int found = at < talk->n ? was_told_here(w, c, id, e) : 0;

	memset(out, 0, sizeof *out);
	if (found == 0) {
		from = 0;
		found = unshown_attempt(w, c, id, &told, e);
	}
	if (found != 1)
		return found;
	found = kept_read(w, id, &earlier, NULL, e);
	if (found < 0)
		return -1;
	if (found == 0 && from == 0)
		return 0;
	out->id = xstrdup(id);
	out->lost = found == 0;
	out->untold = !told;
	join(talk, &earlier, from, told, id);
	conversation_release(&earlier);
	return 0;
}

void
earlier_release(struct earlier *x)
{
	free(x->id);
	memset(x, 0, sizeof *x);
}
