#include <stdlib.h>
#include <string.h>

#include "epic/epic.h"
#include "epic/epic_private.h"
#include "epic/shape.h"
#include "epic/state.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "ledger/activity.h"
#include "ledger/session.h"
#include "store/store.h"

#define BEATS 3					/* that may be missed */
#define STRANGERS 10000				/* more are not counted */

/* ---- releasing ---- */

static void
sprint_release(struct epic_sprint *x)
{
	for (size_t i = 0; i < x->n_files; i++) {
		free(x->files[i].path);
		free(x->files[i].last);
		free(x->files[i].next);
	}
	for (size_t i = 0; i < x->n_needs; i++)
		free(x->needs[i].id);
	free(x->files);
	free(x->needs);
	free(x->id);
	free(x->wip);
	json_decref(x->record);
	json_decref(x->agents);
	json_decref(x->ready);
	json_decref(x->hosts);
}

void
epics_release(struct epics *list)
{
	for (size_t i = 0; i < list->n; i++) {
		for (size_t k = 0; k < list->v[i].n; k++)
			sprint_release(&list->v[i].sprints[k]);
		free(list->v[i].sprints);
		free(list->v[i].id);
		json_decref(list->v[i].record);
	}
	free(list->v);
	memset(list, 0, sizeof *list);
}

/* ---- all records, once: id -> value ---- */

struct shelf {
	json_t *sprints, *files, *ready, *agents;	/* by id, without "sprint-" in front; agents: by id */
	json_t *of_sprint;				/* id of a sprint -> array of its agents */
	json_t *of_epic;				/* id of an epic -> array of ids of sprints */
};

static const char *
bare(const char *id, const char *front)
{
	return str_starts(id, front) && id[strlen(front)] != '\0' ? id + strlen(front) : id;
}

static void
append(json_t *map, const char *key, json_t *v)
{
	json_t *list = json_object_get(map, key);

	if (list == NULL)
		json_object_set_new(map, key, list = json_array());
	json_array_append(list, v);
}

static int
take_sprint(const struct record *r, void *arg, struct err *e)
{
	struct shelf *shelf = arg;
	enum state_at at = state_is(STATE_FILES, r->key) ? STATE_FILES : STATE_SPRINT;
	json_t *o = state_is(at, r->key) ? state_object(r, e) : NULL;
	char *id = o != NULL ? state_id(at, r->key) : NULL;
	const char *epic = json_text(o, "epicId", NULL);

	if (o == NULL)
		return state_is(at, r->key) ? -1 : 0;
	json_object_set(at == STATE_FILES ? shelf->files : shelf->sprints, bare(id, "sprint-"), o);
	if (at == STATE_SPRINT && epic != NULL) {
		json_t *name = json_bytes(id, strlen(id));

		append(shelf->of_epic, bare(epic, "epic-"), name);
		json_decref(name);
	}
	json_decref(o);
	free(id);
	return 0;
}

static int
take_ready(const struct record *r, void *arg, struct err *e)
{
	struct shelf *shelf = arg;
	json_t *o = state_object(r, e);
	char *id = o != NULL ? state_id(STATE_READY, r->key) : NULL;

	if (o == NULL)
		return -1;
	json_object_set_new(shelf->ready, bare(id, "sprint-"), o);
	free(id);
	return 0;
}

static int
take_agent(const struct record *r, void *arg, struct err *e)
{
	struct shelf *shelf = arg;
	json_t *o = state_is(STATE_AGENT, r->key) ? state_object(r, e) : NULL;
	char *id = o != NULL ? state_id(STATE_AGENT, r->key) : NULL;
	const char *sprint = json_text(o, "sprintId", NULL);

	if (o == NULL)
		return state_is(STATE_AGENT, r->key) ? -1 : 0;
	json_put(o, "agentId", id);
	json_object_set(shelf->agents, id, o);
	if (sprint != NULL)
		append(shelf->of_sprint, bare(sprint, "sprint-"), o);
	json_decref(o);
	free(id);
	return 0;
}

static void
shelf_release(struct shelf *shelf)
{
	json_decref(shelf->sprints);
	json_decref(shelf->files);
	json_decref(shelf->ready);
	json_decref(shelf->agents);
	json_decref(shelf->of_sprint);
	json_decref(shelf->of_epic);
}

static int
shelf_read(struct store *s, struct shelf *shelf, struct err *e)
{
	*shelf = (struct shelf){ json_object(), json_object(), json_object(), json_object(), json_object(), json_object() };
	return store_each(s, "sprint:", NULL, take_sprint, shelf, e) != 0 || store_each(s, "interface:", NULL, take_ready, shelf, e) != 0 ||
	    store_each(s, "agent:", NULL, take_agent, shelf, e) != 0 ? -1 : 0;
}

/* ---- a sprint ---- */

static enum sprint_state
state_of(const char *status)
{
	if (strcmp(status, "completed") == 0)
		return SPRINT_COMPLETED;
	if (strcmp(status, "waiting") == 0)
		return SPRINT_WAITING;
	return strcmp(status, "starting") == 0 ? SPRINT_STARTING : SPRINT_IN_PROGRESS;
}

static void
newest(int64_t *at, int64_t other)
{
	if (other > *at)
		*at = other;
}

/* The seed's keys know sprints and agents by their ids alone: two epics may use the same. */
static bool
is_other_epics(const json_t *record, const char *epic)
{
	const char *told = json_text(record, "epicId", NULL);

	return told != NULL && !state_same(STATE_EPIC, told, epic);
}

/* Agents that the sprint lists, and whose own records name no sprint, or that have none. */
static void
take_listed_agents(struct epic_sprint *x, const char *epic, const struct shelf *shelf)
{
	const json_t *list = json_object_get(x->record, "agents");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *id = json_text(json_array_get(list, i), "id", "");
		json_t *agent = json_incref(json_object_get(shelf->agents, id));

		if (agent == NULL) {
			agent = json_object();
			json_put(agent, "agentId", id);
		}
		if (json_text(agent, "sprintId", NULL) == NULL && !is_other_epics(agent, epic))
			json_array_append(x->agents, agent);
		json_decref(agent);
	}
}

static void
take_agents(struct epic_sprint *x, const char *epic, const json_t *all)
{
	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *agent = json_array_get(all, i);

		if (x->foreign ? json_text(agent, "epicId", NULL) != NULL && !is_other_epics(agent, epic) : !is_other_epics(agent, epic))
			json_array_append(x->agents, agent);
	}
}

static void
read_sprint(struct epic_sprint *x, const char *epic, const char *id, const json_t *entry, int64_t entry_at, const struct shelf *shelf)
{
	const char *key = bare(id, "sprint-");
	json_t *record = json_object_get(shelf->sprints, key);
	const json_t *told = entry;

	*x = (struct epic_sprint){ .id = xstrdup(id), .confidence = -1, .agents = json_array(), .foreign = is_other_epics(record, epic) };
	if (!x->foreign) {
		x->record = json_incref(record);
		x->ready = json_incref(json_object_get(shelf->ready, key));
		files_read(x, json_object_get(shelf->files, key));
	}
	x->heard = shape_time(x->record, "lastCheckpoint");
	x->started = shape_time(x->record, "startTime");
	if (x->record != NULL && (entry == NULL || x->heard >= entry_at))
		told = x->record;
	x->state = state_of(json_text(told, "status", ""));
	x->progress = json_number_value(json_object_get(told, "progress"));
	take_agents(x, epic, json_object_get(shelf->of_sprint, key));
	take_listed_agents(x, epic, shelf);
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		newest(&x->heard, shape_time(json_array_get(x->agents, i), "lastHeartbeat"));
	for (size_t i = 0; i < x->n_files; i++)
		newest(&x->heard, x->files[i].at);
}

/* ---- an epic ---- */

static size_t
place_of(const struct epic *x, const char *id)
{
	for (size_t i = 0; i < x->n; i++)
		if (state_same(STATE_SPRINT, x->sprints[i].id, id))
			return i + 1;
	return 0;
}

static void
read_needs(const struct epic *x, struct epic_sprint *sprint, const struct shelf *shelf)
{
	json_t *all = json_object_get(x->record, "dependencies"), *list = NULL, *v;
	const char *key;

	json_object_foreach(all, key, v)
		if (state_same(STATE_SPRINT, key, sprint->id))
			list = v;
	sprint->needs = xcalloc(json_array_size(list) + 1, sizeof *sprint->needs);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *id = json_string_value(json_array_get(list, i));
		size_t place = place_of(x, id);
		struct epic_need *need = &sprint->needs[sprint->n_needs++];
		const char *other = json_text(json_object_get(shelf->sprints, bare(id, "sprint-")), "status", "");

		need->id = xstrdup(id);
		need->place = place;
		need->completed = place > 0 ? x->sprints[place - 1].state == SPRINT_COMPLETED : strcmp(other, "completed") == 0;
		need->resolved = need->completed ||
		    (place > 0 ? x->sprints[place - 1].ready : json_object_get(shelf->ready, bare(id, "sprint-"))) != NULL;
	}
}

static void
read_sprints(struct epic *x, const struct shelf *shelf)
{
	const json_t *listed = json_object_get(x->record, "sprints"), *more = json_object_get(shelf->of_epic, bare(x->id, "epic-"));
	size_t n_listed = json_array_size(listed), n_more = json_array_size(more);

	x->sprints = xcalloc(n_listed + n_more + 1, sizeof *x->sprints);
	for (size_t i = 0; i < n_listed; i++) {
		const json_t *entry = json_array_get(listed, i);

		read_sprint(&x->sprints[x->n++], x->id, json_text(entry, "id", ""), entry, x->checkpoint, shelf);
	}
	for (size_t i = 0; i < n_more; i++) {
		const char *id = json_string_value(json_array_get(more, i));

		if (place_of(x, id) == 0)
			read_sprint(&x->sprints[x->n++], x->id, id, NULL, 0, shelf);
	}
	for (size_t i = 0; i < x->n; i++)
		read_needs(x, &x->sprints[i], shelf);
}

static void
add_host(json_t *hosts, const char *id)
{
	for (size_t i = 0; i < json_array_size(hosts); i++)
		if (strcmp(json_string_value(json_array_get(hosts, i)), id) == 0)
			return;
	if (*id != '\0')
		json_array_append_new(hosts, json_string(id));
}

/* A time of a clock that was put back since, or one of a record that somebody wrote without us. */
static int64_t
earlier(int64_t at, int64_t now)
{
	return at < now ? at : now;
}

/* What its hooks told is a sign of life, wherever its process is: by the store's clock, where others use the store, too. */
static int
hear_hooks(struct store *s, struct epic_sprint *x, const struct session *agent, const struct moment *now, struct err *e)
{
	struct activity a;
	int found;

	if (agent->cursor_session_id == NULL)
		return 0;
	found = activity_load(s, agent->cursor_session_id, &a, e);
	if (found > 0)
		newest(&x->heard, earlier(a.heard > 0 ? a.heard : a.at.wall_ms, now->wall_ms));
	activity_release(&a);
	return found < 0 ? -1 : 0;
}

/* Which of its agents run on this machine, and whether all are known to run no more. */
static int
look_alive(struct store *s, struct epic_sprint *x, const struct moment *now, struct err *e)
{
	size_t n = json_array_size(x->agents), gone = 0;

	x->hosts = json_array();
	x->heard = earlier(x->heard, now->wall_ms);
	for (size_t i = 0; i < n; i++) {
		const json_t *agent = json_array_get(x->agents, i);
		struct session session;
		int found = session_load(s, json_text(agent, "sessionId", json_text(agent, "agentId", "")), &session, e);

		x->alive = x->alive || (found > 0 && session_lives(&session, now));
		gone += found > 0 && session_is_gone(&session, now);
		add_host(x->hosts, session.host);
		if (found > 0 && hear_hooks(s, x, &session, now, e) != 0)
			found = -1;
		session_release(&session);
		if (found < 0)
			return -1;
	}
	x->gone = n > 0 && gone == n;
	return 0;
}

static bool
under_way(const struct epic_sprint *x)
{
	return x->state == SPRINT_IN_PROGRESS || x->state == SPRINT_STARTING;
}

/* Of no sprint that is under way an agent may still run. */
static bool
all_gone(const struct epic *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		if (under_way(&x->sprints[i]) && !x->sprints[i].gone)
			return false;
		n += x->sprints[i].gone;
	}
	return n > 0;
}

/* open: a sprint of it is, and it has begun. */
static void
judge(struct epic *x, bool open, int64_t interval, int64_t now)
{
	bool silent = !x->alive && (all_gone(x) || now - x->heard >= BEATS * interval);

	x->interrupted = open && silent;
	x->young = open && !silent && !x->alive;
	for (size_t i = 0; i < x->n && open; i++) {
		struct epic_sprint *one = &x->sprints[i];

		one->interrupted = under_way(one) && (silent || (x->alive && one->gone));
		x->interrupted = x->interrupted || one->interrupted;
	}
}

static int
read_epic(struct store *s, struct epic *x, const struct shelf *shelf, int64_t interval, const struct moment *now, struct err *e)
{
	bool open = x->n == 0, begun = strcmp(json_text(x->record, "status", ""), "waiting") != 0;

	x->started = shape_time(x->record, "startTime");
	x->checkpoint = x->heard = earlier(shape_time(x->record, "lastCheckpoint"), now->wall_ms);
	read_sprints(x, shelf);
	open = x->n == 0;
	for (size_t i = 0; i < x->n; i++) {
		if (look_alive(s, &x->sprints[i], now, e) != 0)
			return -1;
		newest(&x->heard, x->sprints[i].heard);
		newest(&x->checkpoint, earlier(shape_time(x->sprints[i].record, "lastCheckpoint"), now->wall_ms));
		x->alive = x->alive || x->sprints[i].alive;
		open = open || x->sprints[i].state != SPRINT_COMPLETED;
		begun = begun || x->sprints[i].state != SPRINT_WAITING;
	}
	open = open && strcmp(json_text(x->record, "status", ""), "completed") != 0;
	judge(x, open && begun, interval, now->wall_ms);
	return 0;
}

struct finding {
	struct epics *out;
	struct err *e;
};

static int
take_epic(const struct record *r, void *arg, struct err *e)
{
	struct epics *out = arg;
	json_t *o;

	if (!state_is(STATE_EPIC, r->key) || strcmp(r->tag, "completed") == 0)
		return 0;
	if ((o = state_object(r, e)) == NULL)
		return -1;
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n++] = (struct epic){ .id = state_id(STATE_EPIC, r->key), .record = o };
	return 0;
}

static int
find_one(struct store *s, const char *id, struct epics *out, struct err *e)
{
	struct record r;
	json_t *o;
	int found = state_find(s, STATE_EPIC, id, &r, &o, e);

	if (found == 0) {
		err_set(e, GT_NOTHING, "not-found", "there is no epic \"%.200s\"", id);
		return err_hint(e, "gt-recover epic status shows those that were interrupted");
	}
	if (found < 0)
		return -1;
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n++] = (struct epic){ .id = state_id(STATE_EPIC, r.key), .record = o };
	record_release(&r);
	return 0;
}

int
epics_read(struct store *s, const char *id, int64_t interval, const struct moment *now, struct epics *out, struct err *e)
{
	struct shelf shelf;
	int ret = id != NULL ? find_one(s, id, out, e) : store_each(s, "epic:", NULL, take_epic, out, e);

	if (ret != 0 || out->n == 0)
		return ret;
	ret = shelf_read(s, &shelf, e);
	for (size_t i = 0; i < out->n && ret == 0; i++)
		ret = read_epic(s, &out->v[i], &shelf, interval, now, e);
	shelf_release(&shelf);
	return ret;
}

static void
take_stranger(const char *key, void *arg)
{
	char *id = state_is(STATE_EPIC, key) ? state_id(STATE_EPIC, key) : NULL;

	if (id != NULL && json_object_size(arg) < STRANGERS)
		json_object_set_new(arg, id, json_true());
	free(id);
}

json_t *
epics_strangers(struct store *s, struct err *e)
{
	json_t *seen = json_object(), *list = NULL, *v;
	const char *id;

	if (store_strangers(s, state_prefix(STATE_EPIC), ":state", take_stranger, seen, e) == 0) {
		list = json_array();
		json_object_foreach(seen, id, v) {
			json_array_append_new(list, json_string(id));
		}
	}
	json_decref(seen);
	return list;
}

const char *
sprint_session(const struct epic_sprint *x, const char *agent)
{
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		if (strcmp(json_text(json_array_get(x->agents, i), "agentId", ""), agent) == 0)
			return json_text(json_array_get(x->agents, i), "sessionId", agent);
	return agent;
}
