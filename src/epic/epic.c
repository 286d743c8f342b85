#include <stdlib.h>
#include <string.h>

#include "epic/epic_private.h"
#include "epic/epic.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "records/agents/agents.h"
#include "records/hooks/hooks.h"
#include "store/store.h"

static double
share(const json_t *o, const char *member)
{
	const json_t *v = json_object_get(o, member);

	return json_is_number(v) ? json_number_value(v) : -1;
}

static char *
copy(const json_t *o, const char *member)
{
	const char *text = json_text(o, member, NULL);

	return text != NULL && *text != '\0' ? xstrdup(text) : NULL;
}

/* done: what the list that it stands in says of it. seen: path -> place in files. */
static void
take_file(struct epic_sprint *x, json_t *seen, const json_t *o, bool done, int64_t at)
{
	const char *path = json_text(o, "path", NULL);
	size_t told = x->n_files;
	const json_t *known = path != NULL ? json_object_get(seen, path) : NULL;
	int64_t own = checkpoint_time(o, "lastCheckpoint");
	struct epic_file *f;

	if (path == NULL)
		return;
	if (own == 0)
		own = at;
	if (known == NULL) {
		x->files = vec_room(x->files, x->n_files, &x->files_cap, sizeof *x->files);
		f = &x->files[x->n_files];
		json_object_set_new(seen, path, json_integer((json_int_t)x->n_files++));
	} else {
		told = (size_t)json_integer_value(known);
		f = &x->files[told];
		if (f->at > own)
			return;
		free(f->path);
		free(f->last);
		free(f->next);
	}
	*f = (struct epic_file){ .path = xstrdup(path),
		.last = copy(o, "lastCompletedSection"),
		.next = copy(o, "nextSection"),
		.line = json_number(o, "currentLine", 0),
		.confidence = share(o, "confidence"),
		.completed = json_flag(o, "completed", done),
		.at = own,
		.told = told };
}

static void
read_file_list(
    struct epic_sprint *x, json_t *seen, const json_t *o, const char *member, bool done, int64_t at)
{
	const json_t *list = json_object_get(o, member);

	for (size_t i = 0; i < json_array_size(list); i++)
		take_file(x, seen, json_array_get(list, i), done, at);
}

static int
by_age(const void *a, const void *b)
{
	const struct epic_file *x = a, *y = b;

	if (x->completed != y->completed)
		return x->completed ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->told < y->told ? -1 : 1;
}

/* Its own; else the mean of its files'. */
static double
confidence_of(const struct epic_sprint *x)
{
	const json_t *own = json_object_get(x->record, "confidence");
	double sum = 0, loop2 = share(own, "loop2"), loop3 = share(own, "loop3");
	size_t n = 0;

	if (loop2 >= 0 || loop3 >= 0)
		return loop2 >= 0 ? loop2 : loop3;
	for (size_t i = 0; i < x->n_files; i++)
		if (x->files[i].confidence >= 0) {
			sum += x->files[i].confidence;
			n++;
		}
	return n > 0 ? sum / (double)n : -1;
}

/*
 * The files of a sprint: those of its own record and those of sprint:<id>:files (NULL: none), of
 * each path the newest. Sets files, n_files, completed and confidence.
 */
static void
epic_files_read(struct epic_sprint *x, const json_t *files)
{
	int64_t at = checkpoint_time(x->record, "lastCheckpoint");
	json_t *seen = json_object();

	read_file_list(x, seen, x->record, "filesWritten", true, at);
	read_file_list(x, seen, x->record, "filesInProgress", false, at);
	read_file_list(x, seen, files, "files", false, at);
	json_decref(seen);
	if (x->n_files > 0)
		qsort(x->files, x->n_files, sizeof *x->files, by_age);
	for (size_t i = 0; i < x->n_files; i++)
		x->completed += x->files[i].completed;
	x->confidence = confidence_of(x);
}

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
	memset(list, 0, sizeof *list);
}

/* ---- all records, once: id -> value ---- */

struct epic_records {
	json_t *sprints, *files, *ready, *agents;	/* by id, without "sprint-" in front; agents: by id */
	json_t *of_sprint;				/* id of a sprint -> array of its agents */
	json_t *of_epic;				/* id of an epic -> array of ids of sprints */
};

static const char *
strip_prefix(const char *id, const char *front)
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
collect_sprint(const struct record *r, void *arg, struct err *e)
{
	struct epic_records *shelf = arg;
	enum epic_record_kind at =
	    epic_record_is(EPIC_RECORD_FILES, r->key) ? EPIC_RECORD_FILES : EPIC_RECORD_SPRINT;
	json_t *o = epic_record_is(at, r->key) ? epic_record_object(r, e) : NULL;
	char *id = o != NULL ? epic_record_id(at, r->key) : NULL;
	const char *epic = json_text(o, "epicId", NULL);

	if (o == NULL)
		return epic_record_is(at, r->key) ? -1 : 0;
	json_object_set(
	    at == EPIC_RECORD_FILES ? shelf->files : shelf->sprints, strip_prefix(id, "sprint-"), o);
	if (at == EPIC_RECORD_SPRINT && epic != NULL) {
		json_t *name = json_bytes(id, strlen(id));

		append(shelf->of_epic, strip_prefix(epic, "epic-"), name);
		json_decref(name);
	}
	json_decref(o);
	free(id);
	return 0;
}

static int
take_ready(const struct record *r, void *arg, struct err *e)
{
	struct epic_records *shelf = arg;
	json_t *o = epic_record_object(r, e);
	char *id = o != NULL ? epic_record_id(EPIC_RECORD_READY, r->key) : NULL;

	if (o == NULL)
		return -1;
	json_object_set_new(shelf->ready, strip_prefix(id, "sprint-"), o);
	free(id);
	return 0;
}

static int
take_agent(const struct record *r, void *arg, struct err *e)
{
	struct epic_records *shelf = arg;
	json_t *o = epic_record_is(EPIC_RECORD_AGENT, r->key) ? epic_record_object(r, e) : NULL;
	char *id = o != NULL ? epic_record_id(EPIC_RECORD_AGENT, r->key) : NULL;
	const char *sprint = json_text(o, "sprintId", NULL);

	if (o == NULL)
		return epic_record_is(EPIC_RECORD_AGENT, r->key) ? -1 : 0;
	json_put(o, "agentId", id);
	json_object_set(shelf->agents, id, o);
	if (sprint != NULL)
		append(shelf->of_sprint, strip_prefix(sprint, "sprint-"), o);
	json_decref(o);
	free(id);
	return 0;
}

static void
shelf_release(struct epic_records *shelf)
{
	json_decref(shelf->sprints);
	json_decref(shelf->files);
	json_decref(shelf->ready);
	json_decref(shelf->agents);
	json_decref(shelf->of_sprint);
	json_decref(shelf->of_epic);
}

static int
shelf_read(struct store *s, struct epic_records *shelf, struct err *e)
{
	*shelf = (struct epic_records){ json_object(), json_object(), json_object(), json_object(),
		json_object(), json_object() };
	return store_each(s, "sprint:", NULL, collect_sprint, shelf, e) != 0 ||
		store_each(s, "interface:", NULL, take_ready, shelf, e) != 0 ||
		store_each(s, "agent:", NULL, take_agent, shelf, e) != 0
	    ? -1
	    : 0;
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
take_listed_agents(struct epic_sprint *x, const char *epic, const struct epic_records *shelf)
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

		if (x->foreign ? json_text(agent, "epicId", NULL) != NULL && !is_other_epics(agent, epic)
			       : !is_other_epics(agent, epic))
			json_array_append(x->agents, agent);
	}
}

static void
read_sprint(struct epic_sprint *x, const char *epic, const char *id, const json_t *entry, int64_t entry_at,
    const struct epic_records *shelf)
{
	const char *key = strip_prefix(id, "sprint-");
	json_t *record = json_object_get(shelf->sprints, key);
	const json_t *told = entry;

	*x = (struct epic_sprint){ .id = xstrdup(id),
		.confidence = -1,
		.agents = json_array(),
		.foreign = is_other_epics(record, epic) };
	if (!x->foreign) {
		x->record = json_incref(record);
		x->ready = json_incref(json_object_get(shelf->ready, key));
		epic_files_read(x, json_object_get(shelf->files, key));
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
read_needs(const struct epic *x, struct epic_sprint *sprint, const struct epic_records *shelf)
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
		    json_text(json_object_get(shelf->sprints, strip_prefix(id, "sprint-")), "status", "");

		need->id = xstrdup(id);
		need->place = place;
		need->completed = place > 0 ? x->sprints[place - 1].state == SPRINT_COMPLETED
					    : strcmp(other, "completed") == 0;
		need->resolved = need->completed ||
		    (place > 0 ? x->sprints[place - 1].ready
			       : json_object_get(shelf->ready, strip_prefix(id, "sprint-"))) != NULL;
	}
}

static void
read_sprints(struct epic *x, const struct epic_records *shelf)
{
	const json_t *listed = json_object_get(x->record, "sprints"),
		     *more = json_object_get(shelf->of_epic, strip_prefix(x->id, "epic-"));
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
hear_hooks(struct store *s, struct epic_sprint *x, const struct session *agent, const struct timestamp *now,
    struct err *e)
{
	struct activity a;
	int found;

	if (agent->cursor_session_id == NULL)
		return 0;
	found = activity_load(s, agent->cursor_session_id, &a, e);
	if (found > 0)
		newest(&x->last_seen_at,
		    earlier(a.last_seen_at > 0 ? a.last_seen_at : a.at.wall_ms, now->wall_ms));
	activity_release(&a);
	return found < 0 ? -1 : 0;
}

/* Which of its agents run on this machine, and whether all are known to run no more. */
static int
look_alive(struct store *s, struct epic_sprint *x, const struct timestamp *now, struct err *e)
{
	size_t n = json_array_size(x->agents), gone = 0;

	x->hosts = json_array();
	x->last_seen_at = earlier(x->last_seen_at, now->wall_ms);
	for (size_t i = 0; i < n; i++) {
		const json_t *agent = json_array_get(x->agents, i);
		struct session session;
		int found = session_load(
		    s, json_text(agent, "sessionId", json_text(agent, "agentId", "")), &session, e);

		x->alive = x->alive || (found > 0 && session_is_alive(&session, now));
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
	bool silent = !x->alive && (all_gone(x) || now - x->last_seen_at >= BEATS * interval);

	x->interrupted = open && silent;
	x->young = open && !silent && !x->alive;
	for (size_t i = 0; i < x->n && open; i++) {
		struct epic_sprint *one = &x->sprints[i];

		one->interrupted = under_way(one) && (silent || (x->alive && one->gone));
		x->interrupted = x->interrupted || one->interrupted;
	}
}

static int
read_epic(struct store *s, struct epic *x, const struct epic_records *shelf, int64_t interval,
    const struct timestamp *now, struct err *e)
{
	bool open = x->n == 0, begun = strcmp(json_text(x->record, "status", ""), "waiting") != 0;

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

struct epic_collect {
	struct epic_list *out;
	struct err *e;
};

static int
collect_epic(const struct record *r, void *arg, struct err *e)
{
	struct epic_list *out = arg;
	json_t *o;

	if (!epic_record_is(EPIC_RECORD_EPIC, r->key))
		return 0;
	if ((o = epic_record_object(r, e)) == NULL)
		return -1;
	if (strcmp(r->tag, "completed") == 0) {
		json_decref(o);
		return 0;
	}
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n++] = (struct epic){ .id = epic_record_id(EPIC_RECORD_EPIC, r->key), .record = o };
	return 0;
}

static int
find_one(struct store *s, const char *id, struct epic_list *out, struct err *e)
{
	struct record r;
	json_t *o;
	int found = epic_record_find(s, EPIC_RECORD_EPIC, id, &r, &o, e);

	if (found == 0) {
		err_set(e, GT_NOTHING, "not-found", "there is no epic \"%.200s\"", id);
		return err_hint(e, "gt-recover epic status shows those that were interrupted");
	}
	if (found < 0)
		return -1;
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n++] = (struct epic){ .id = epic_record_id(EPIC_RECORD_EPIC, r.key), .record = o };
	store_record_release(&r);
	return 0;
}

int
epic_list_read(struct store *s, const char *id, int64_t interval, const struct timestamp *now,
    struct epic_list *out, struct err *e)
{
	struct epic_records shelf;
	int ret = id != NULL ? find_one(s, id, out, e) : store_each(s, "epic:", NULL, collect_epic, out, e);

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
	char *id = epic_record_is(EPIC_RECORD_EPIC, key) ? epic_record_id(EPIC_RECORD_EPIC, key) : NULL;

	if (id != NULL && json_object_size(arg) < STRANGERS)
		json_object_set_new(arg, id, json_true());
	free(id);
}

json_t *
epic_foreign_ids(struct store *s, struct err *e)
{
	json_t *seen = json_object(), *list = NULL, *v;
	const char *id;

	if (store_foreign_keys(s, epic_record_prefix(EPIC_RECORD_EPIC), ":state", take_stranger, seen, e) ==
	    0) {
		list = json_array();
		json_object_foreach(seen, id, v) {
			json_array_append_new(list, json_string(id));
		}
	}
	json_decref(seen);
	return list;
}

const char *
sprint_agent_session(const struct epic_sprint *x, const char *agent)
{
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		if (strcmp(json_text(json_array_get(x->agents, i), "agentId", ""), agent) == 0)
			return json_text(json_array_get(x->agents, i), "sessionId", agent);
	return agent;
}

bool
sprint_can_start(const struct epic_sprint *x)
{
	for (size_t i = 0; i < x->n_needs; i++)
		if (!x->needs[i].resolved)
			return false;
	return true;
}

bool
sprint_starts_over(const struct epic_sprint *x, double threshold)
{
	return (x->state == SPRINT_IN_PROGRESS || x->state == SPRINT_STARTING) && x->progress <= threshold;
}

/* ---- what is lost ---- */

static bool
edited_by_a_counted(const struct epic_sprint *x, const char *path)
{
	for (size_t i = 0; i < json_array_size(x->agents); i++) {
		const json_t *agent = json_array_get(x->agents, i),
			     *task = json_object_get(agent, "taskProgress");

		if (json_array_size(json_object_get(task, "subtasksRemaining")) > 0 &&
		    strcmp(json_text(agent, "fileBeingEdited", ""), path) == 0)
			return true;
	}
	return false;
}

static struct epic_loss
sprint_loss(const struct epic_sprint *x, double threshold)
{
	struct epic_loss l = { 0, x->n_files };

	/* an agent's subtasks are finer than the file that it edits */
	for (size_t i = x->completed; i < x->n_files; i++)
		l.open += !edited_by_a_counted(x, x->files[i].path);
	for (size_t i = 0; i < json_array_size(x->agents); i++) {
		const json_t *task = json_object_get(json_array_get(x->agents, i), "taskProgress");
		size_t left = json_array_size(json_object_get(task, "subtasksRemaining"));

		l.all += left + json_array_size(json_object_get(task, "subtasksCompleted"));
		l.open += left > 0;
	}
	if (x->state == SPRINT_COMPLETED || x->state == SPRINT_WAITING)
		l.open = 0;
	else if (sprint_starts_over(x, threshold))
		l.open = l.all;
	return l;
}

struct epic_loss
epic_loss(const struct epic *x, double threshold)
{
	struct epic_loss sum = { 0, 0 };

	for (size_t i = 0; i < x->n; i++) {
		struct epic_loss one = sprint_loss(&x->sprints[i], threshold);

		sum.open += one.open;
		sum.all += one.all;
	}
	return sum;
}

/* ---- how long it takes ---- */

/* ms a percent; < 0: it was not measured. */
static double
pace(const struct epic_sprint *x)
{
	if (x->started <= 0 || x->last_seen_at <= x->started || x->progress <= 0)
		return -1;
	return (double)(x->last_seen_at - x->started) / x->progress;
}

int64_t
epic_remaining(const struct epic *x, double threshold)
{
	double sum = 0, most = 0;
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++)
		if (pace(&x->sprints[i]) >= 0) {
			sum += pace(&x->sprints[i]);
			n++;
		}
	if (n == 0)
		return -1;
	for (size_t i = 0; i < x->n; i++) {
		const struct epic_sprint *one = &x->sprints[i];
		double own = pace(one) >= 0 ? pace(one) : sum / (double)n;
		double left = one->state == SPRINT_COMPLETED ? 0
		    : sprint_starts_over(one, threshold)     ? 100
							     : 100 - one->progress;

		if (own * left > most)
			most = own * left;
	}
	return (int64_t)most;
}
