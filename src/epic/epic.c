#include <stdlib.h>
#include <string.h>

#include "epic/epic_private.h"
#include "epic/epic.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "process/kernel.h"
#include "records/agents/agents.h"
#include "records/hooks/hooks.h"

#define BEATS 3					/* that may be missed */

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
	json_decref(x->files_record);
	json_decref(x->hosts);
	json_decref(x->gone_agents);
	json_decref(x->living_agents);
}

void
epic_list_release(struct epic_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		for (size_t k = 0; k < list->v[i].n; k++)
			sprint_release(&list->v[i].sprints[k]);
		free(list->v[i].sprints);
		free(list->v[i].id);
		json_decref(list->v[i].record);
	}
	free(list->v);
	json_decref(list->found);
	memset(list, 0, sizeof *list);
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

	return told != NULL && !epic_record_same_id(EPIC_RECORD_EPIC, told, epic);
}

/* Agents that the sprint lists, and whose own records name no sprint, or that have none. */
static void
take_listed_agents(struct epic_sprint *x, const char *epic, const struct epic_shelf *shelf)
{
	const json_t *list = json_object_get(x->record, "agents");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *id = json_text(json_array_get(list, i), "id", "");
		json_t *agent = json_incref(epic_shelf_get(shelf, EPIC_RECORD_AGENT, id));

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

		if (x->foreign ? json_text(agent, "epicId", NULL) != NULL && !is_other_epics(agent, epic)
			       : !is_other_epics(agent, epic))
			json_array_append(x->agents, agent);
	}
}

static void
read_sprint(struct epic_sprint *x, const char *epic, const char *id, const json_t *entry, int64_t entry_at,
    const struct epic_shelf *shelf)
{
	const char *key = epic_bare_id(id, "sprint-");
	json_t *record = epic_shelf_get(shelf, EPIC_RECORD_SPRINT, id);
	const json_t *told = entry;

	*x = (struct epic_sprint){ .id = xstrdup(id),
		.confidence = -1,
		.agents = json_array(),
		.foreign = is_other_epics(record, epic) };
	if (!x->foreign) {
		x->record = json_incref(record);
		x->ready = json_incref(epic_shelf_get(shelf, EPIC_RECORD_READY, id));
		x->files_record = json_incref(epic_shelf_get(shelf, EPIC_RECORD_FILES, id));
		epic_files_read(x, x->files_record);
	}
	x->last_seen_at = checkpoint_time(x->record, "lastCheckpoint");
	x->started = checkpoint_time(x->record, "startTime");
	if (x->record != NULL && (entry == NULL || x->last_seen_at >= entry_at))
		told = x->record;
	x->state = state_of(json_text(told, "status", ""));
	x->progress = json_number_value(json_object_get(told, "progress"));
	take_agents(x, epic, json_object_get(shelf->of_sprint, key));
	take_listed_agents(x, epic, shelf);
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		newest(&x->last_seen_at, checkpoint_time(json_array_get(x->agents, i), "lastHeartbeat"));
	for (size_t i = 0; i < x->n_files; i++)
		newest(&x->last_seen_at, x->files[i].at);
}

/* ---- an epic ---- */

static size_t
sprint_place(const struct epic *x, const char *id)
{
	for (size_t i = 0; i < x->n; i++)
		if (epic_record_same_id(EPIC_RECORD_SPRINT, x->sprints[i].id, id))
			return i + 1;
	return 0;
}

static void
read_needs(const struct epic *x, struct epic_sprint *sprint, const struct epic_shelf *shelf)
{
	json_t *all = json_object_get(x->record, "dependencies"), *list = NULL, *v;
	const char *key;

	json_object_foreach(all, key, v)
		if (epic_record_same_id(EPIC_RECORD_SPRINT, key, sprint->id))
			list = v;
	sprint->needs = xcalloc(json_array_size(list) + 1, sizeof *sprint->needs);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *id = json_string_value(json_array_get(list, i));
		size_t place = sprint_place(x, id);
		struct epic_need *need = &sprint->needs[sprint->n_needs++];
		const char *other =
		    json_text(epic_shelf_get(shelf, EPIC_RECORD_SPRINT, id), "status", "");

		need->id = xstrdup(id);
		need->place = place;
		need->completed = place > 0 ? x->sprints[place - 1].state == SPRINT_COMPLETED
					    : strcmp(other, "completed") == 0;
		need->resolved = need->completed ||
		    (place > 0 ? x->sprints[place - 1].ready
			       : epic_shelf_get(shelf, EPIC_RECORD_READY, id)) != NULL;
	}
}

static void
read_sprints(struct epic *x, const struct epic_shelf *shelf)
{
	const json_t *listed = json_object_get(x->record, "sprints"),
		     *more = json_object_get(shelf->of_epic, epic_bare_id(x->id, "epic-"));
	size_t n_listed = json_array_size(listed), n_more = json_array_size(more);

	x->sprints = xcalloc(n_listed + n_more + 1, sizeof *x->sprints);
	for (size_t i = 0; i < n_listed; i++) {
		const json_t *entry = json_array_get(listed, i);

		read_sprint(
		    &x->sprints[x->n++], x->id, json_text(entry, "id", ""), entry, x->checkpoint, shelf);
	}
	for (size_t i = 0; i < n_more; i++) {
		const char *id = json_string_value(json_array_get(more, i));

		if (sprint_place(x, id) == 0)
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

/*
 * What its hooks told is a sign of life, wherever its process is: by the store's clock, where
 * others use the store, too.
 */
static int
hear_hooks(struct store *s, struct epic_sprint *x, const char *conversation, const struct timestamp *now,
    struct err *e)
{
	struct activity a;
	int found;

	if (conversation == NULL || s == NULL)
		return 0;
	found = activity_load(s, conversation, &a, e);
	if (found > 0)
		newest(&x->last_seen_at,
		    earlier(a.last_seen_at > 0 ? a.last_seen_at : a.at.wall_ms, now->wall_ms));
	activity_release(&a);
	return found < 0 ? -1 : 0;
}

/*
 * By the process that a source, or a pass of the clock, noted of an agent. *gone: there was one, and
 * it runs no more.
 */
static bool
process_alive(const json_t *agent, const struct timestamp *now, bool *gone)
{
	const json_t *p = json_object_get(agent, "process");
	int64_t pid = json_number(p, "pid", 0), start = json_number(p, "start", 0);
	bool alive;

	*gone = false;
	if (pid <= 0 || start <= 0)
		return false;
	alive = strcmp(json_text(p, "boot", ""), now->boot_id) == 0 &&
	    proc_life_in((uint64_t)json_number(p, "ns", 0), pid, start, now) != LIFE_GONE;
	*gone = !alive && !host_is_other(json_text(p, "host", ""));
	return alive;
}

/* Which of its agents run on this machine, and whether all are known to run no more. */
static int
look_alive(struct store *s, struct epic_sprint *x, const struct timestamp *now, struct err *e)
{
	size_t n = json_array_size(x->agents), gone = 0;

	x->gone_agents = json_object();
	x->living_agents = json_object();
	x->hosts = json_array();
	x->last_seen_at = earlier(x->last_seen_at, now->wall_ms);
	for (size_t i = 0; i < n; i++) {
		const json_t *agent = json_array_get(x->agents, i);
		const char *id = json_text(agent, "sessionId", json_text(agent, "agentId", ""));
		struct session session;
		int found = 0;
		bool dead = false, lives;

		session_init(&session);
		if (s != NULL)
			found = session_load(s, id, &session, e);
		if (found > 0 && session.boot_id[0] != '\0')
			lives = session_is_alive(&session, now);
		else
			lives = process_alive(agent, now, &dead);
		x->alive = x->alive || lives;
		if (lives)
			json_object_set_new(
			    x->living_agents, json_text(agent, "agentId", ""), json_true());
		dead = dead || (found > 0 && session_is_gone(&session, now));
		gone += dead;
		if (dead)
			json_object_set_new(
			    x->gone_agents, json_text(agent, "agentId", ""), json_true());
		add_host(x->hosts, session.host);
		if (found >= 0 &&
		    hear_hooks(s, x, found > 0 ? session.cursor_session_id : id, now, e) != 0)
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

/* A step of it was in hand, and its agent is gone, while others may run. */
static bool
step_was_dropped(const struct epic_sprint *x)
{
	const json_t *steps = json_object_get(x->record, "steps");

	for (size_t i = 0; i < json_array_size(steps); i++) {
		const json_t *step = json_array_get(steps, i);

		if (strcmp(json_text(step, "status", ""), "in_progress") == 0 &&
		    json_object_get(x->gone_agents, json_text(step, "agent", "")) != NULL)
			return true;
	}
	return false;
}

/* open: a sprint of it is, and it has begun. */
static void
judge(struct epic *x, bool open, int64_t interval, int64_t now)
{
	bool silent = !x->alive && (all_gone(x) || now - x->last_seen_at >= BEATS * interval);

	x->interrupted = open && silent;
	x->young = open && !silent && !x->alive;
	for (size_t i = 0; i < x->n && open; i++) {
		struct epic_sprint *one = &x->sprints[i];

		one->interrupted =
		    under_way(one) && (silent || (x->alive && (one->gone || step_was_dropped(one))));
		x->interrupted = x->interrupted || one->interrupted;
	}
}

static int
read_epic(struct store *s, struct epic *x, const struct epic_shelf *shelf, int64_t interval,
    const struct timestamp *now, struct err *e)
{
	bool open, begun = strcmp(json_text(x->record, "status", ""), "waiting") != 0;

	x->started = checkpoint_time(x->record, "startTime");
	x->checkpoint = x->last_seen_at = earlier(checkpoint_time(x->record, "lastCheckpoint"), now->wall_ms);
	read_sprints(x, shelf);
	open = x->n == 0;
	for (size_t i = 0; i < x->n; i++) {
		if (look_alive(s, &x->sprints[i], now, e) != 0)
			return -1;
		newest(&x->last_seen_at, x->sprints[i].last_seen_at);
		newest(&x->checkpoint,
		    earlier(checkpoint_time(x->sprints[i].record, "lastCheckpoint"), now->wall_ms));
		x->alive = x->alive || x->sprints[i].alive;
		open = open || x->sprints[i].state != SPRINT_COMPLETED;
		begun = begun || x->sprints[i].state != SPRINT_WAITING;
	}
	open = open && strcmp(json_text(x->record, "status", ""), "completed") != 0;
	judge(x, open && begun, interval, now->wall_ms);
	return 0;
}

/* By the key of its record. */
static int
by_id(const void *a, const void *b)
{
	return strcmp(((const struct epic *)a)->id, ((const struct epic *)b)->id);
}

static void
add_epic(struct epic_list *out, const json_t *entry)
{
	json_t *o = json_object_get(entry, "value");

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n++] = (struct epic){ .id = xstrdup(json_text(entry, "id", "")),
		.record = json_incref(o),
		.source = epic_source_by_name(json_text(entry, "source", "")) };
}

int
epic_list_make(struct store *s, struct epic_shelf *shelf, const char *id, int64_t interval,
    const struct timestamp *now, struct epic_list *out, struct err *e)
{
	const char *key;
	json_t *entry;

	json_object_foreach(shelf->of[EPIC_RECORD_EPIC], key, entry)
		if (id != NULL ? strcmp(epic_bare_id(id, "epic-"), key) == 0
			       : strcmp(json_text(json_object_get(entry, "value"), "status", ""),
				     "completed") != 0)
			add_epic(out, entry);
	if (id != NULL && out->n == 0) {
		err_set(e, GT_NOTHING, "not-found", "no epic \"%.200s\"", id);
		return err_hint(e, "gt-recover epic status shows interrupted epics");
	}
	if (out->n > 1)
		qsort(out->v, out->n, sizeof *out->v, by_id);
	if (out->n > 0)
		epic_shelf_index(shelf);
	for (size_t i = 0; i < out->n; i++)
		if (read_epic(s, &out->v[i], shelf, interval, now, e) != 0)
			return -1;
	return 0;
}

int
epic_list_read(struct store *s, const char *id, int64_t interval, const struct timestamp *now,
    struct epic_list *out, struct err *e)
{
	struct epic_shelf shelf;
	int ret;

	epic_shelf_init(&shelf);
	ret = epic_shelf_read(s, &shelf, e);
	if (ret == 0)
		ret = epic_list_make(s, &shelf, id, interval, now, out, e);
	epic_shelf_release(&shelf);
	return ret;
}
