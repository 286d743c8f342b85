#include <stdlib.h>
#include <string.h>

#include "epic/part.h"
#include "epic/state.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

struct search {
	const char *agent;			/* or its session */
	char *found;				/* heap: the id of its epic, or of the agent */
};

/* Does a sprint list the agent, among those that work or those that validate? */
static bool
is_listed(const json_t *sprint, const char *agent)
{
	static const char *const lists[] = { "agents", "validators" };

	for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
		const json_t *list = json_object_get(sprint, lists[k]);

		for (size_t i = 0; i < json_array_size(list); i++)
			if (strcmp(json_text(json_array_get(list, i), "id", ""), agent) == 0)
				return true;
	}
	return false;
}

/* 1: this sprint lists the agent. */
static int
lists_agent(const struct record *r, void *arg, struct err *e)
{
	struct search *found = arg;
	json_t *o = state_is(STATE_SPRINT, r->key) ? state_object(r, e) : NULL;
	const char *epic = json_text(o, "epicId", NULL);
	bool here = epic != NULL && is_listed(o, found->agent);

	if (o == NULL)
		return state_is(STATE_SPRINT, r->key) ? -1 : 0;
	if (here)
		found->found = xstrdup(epic);
	json_decref(o);
	return here;
}

/* The epic of an agent by its own record, by its sprint's, or by a sprint that lists it. Heap; NULL: none. -1 with err. */
static int
find_epic(struct store *s, const char *agent, const json_t *state, char **epic, struct err *e)
{
	const char *sprint = json_text(state, "sprintId", NULL), *told = json_text(state, "epicId", NULL);
	struct search search = { .agent = agent };
	json_t *o = NULL;
	struct record r;
	int ret = 0;

	if (told == NULL && sprint != NULL) {
		ret = state_find(s, STATE_SPRINT, sprint, &r, &o, e);
		if (ret > 0)
			record_release(&r);
		told = json_text(o, "epicId", NULL);
	}
	if (told != NULL)
		search.found = xstrdup(told);
	else if (ret >= 0 && sprint == NULL)
		ret = store_each(s, state_prefix(STATE_SPRINT), NULL, lists_agent, &search, e);
	json_decref(o);
	*epic = search.found;
	return ret < 0 ? -1 : 0;
}

static const struct epic_sprint *
sprint_of(const struct epic *x, const char *agent, const json_t *state)
{
	const char *told = json_text(state, "sprintId", NULL);

	for (size_t i = 0; i < x->n; i++) {
		if (told != NULL && state_same(STATE_SPRINT, told, x->sprints[i].id))
			return &x->sprints[i];
		if (told == NULL && is_listed(x->sprints[i].record, agent))
			return &x->sprints[i];
	}
	return NULL;
}

/* 1: this agent's session is the one that is looked for. */
static int
is_session(const struct record *r, void *arg, struct err *e)
{
	struct search *found = arg;
	json_t *o = state_is(STATE_CHECKPOINT, r->key) ? state_object(r, e) : NULL;
	bool here = strcmp(json_text(o, "sessionId", ""), found->agent) == 0;

	if (o == NULL)
		return state_is(STATE_CHECKPOINT, r->key) ? -1 : 0;
	if (here)
		found->found = state_id(STATE_CHECKPOINT, r->key);
	json_decref(o);
	return here;
}

/* The agent's last checkpoint, NULL: none, and its id, heap. -1 with err. */
static int
find_agent(struct store *s, const char *agent, char **id, json_t **state, struct err *e)
{
	struct search search = { .agent = agent };
	struct record r;
	int found = state_find(s, STATE_CHECKPOINT, agent, &r, state, e);

	*id = xstrdup(agent);
	if (found == 0 && (found = store_each(s, state_prefix(STATE_CHECKPOINT), NULL, is_session, &search, e)) > 0) {
		free(*id);
		*id = search.found;
		found = state_find(s, STATE_CHECKPOINT, *id, &r, state, e);
	}
	if (found > 0)
		record_release(&r);
	return found < 0 ? -1 : 0;
}

int
part_find(struct store *s, const char *agent, int64_t interval, const struct moment *now, struct part *out, struct err *e)
{
	char *epic = NULL;
	int ret;

	memset(out, 0, sizeof *out);
	ret = find_agent(s, agent, &out->agent, &out->state, e);
	if (ret == 0)
		ret = find_epic(s, out->agent, out->state, &epic, e);
	if (ret == 0 && epic != NULL && epics_read(s, epic, interval, now, &out->list, e) != 0) {
		/* an agent may name an epic that was abandoned */
		ret = e != NULL && strcmp(e->name, "not-found") == 0 ? 0 : -1;
		if (ret == 0)
			err_clear(e);
	} else if (ret == 0 && out->list.n > 0) {
		out->epic = &out->list.v[0];
		out->sprint = sprint_of(out->epic, out->agent, out->state);
		ret = out->sprint != NULL;
	}
	free(epic);
	return ret;
}

size_t
part_place(const struct part *x)
{
	size_t place = (size_t)(x->sprint - x->epic->sprints), listed = json_array_size(json_object_get(x->epic->record, "sprints"));

	return place < listed ? place + 1 : 0;
}

void
part_release(struct part *x)
{
	epics_release(&x->list);
	json_decref(x->state);
	free(x->agent);
	memset(x, 0, sizeof *x);
}
