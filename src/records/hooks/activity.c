#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/hooks/hooks.h"
#include "records/hooks/hooks_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "records/agents/agents.h"
#include "records/records.h"
#include "store/store.h"

#define SCHEMA 1
#define N(table) (sizeof table / sizeof table[0])

static const struct { const char *key; size_t at;
} texts[] = {
	{ "conversation", offsetof(struct activity, conversation) },
	{ "agent_uuid", offsetof(struct activity, agent_uuid) },
	{ "transcript", offsetof(struct activity, transcript) },
	{ "cwd", offsetof(struct activity, cwd) }, { "event", offsetof(struct activity, event) },
	{ "tool", offsetof(struct activity, tool) }, { "socket", offsetof(struct activity, socket) },
	{ "pane", offsetof(struct activity, pane) },
};

static char **
activity_text_field(const struct activity *a, size_t i)
{
	return (char **)((uintptr_t)a + texts[i].at);
}

static void
set(char **field, const char *value)
{
	char *copy = value != NULL ? xstrdup(value) : NULL;

	free(*field);
	*field = copy;
}

static void
file_release(struct activity_file *f)
{
	free(f->path);
	free(f->tool);
	free(f->call);
	free(f->agent);
}

static void
agent_release(struct activity_agent *x)
{
	free(x->id);
	free(x->type);
	free(x->last.id);
}

void
activity_release(struct activity *a)
{
	for (size_t i = 0; i < N(texts); i++)
		free(*activity_text_field(a, i));
	free(a->last.id);
	for (size_t i = 0; i < a->n_files; i++)
		file_release(&a->files[i]);
	for (size_t i = 0; i < a->n_agents; i++)
		agent_release(&a->agents[i]);
	free(a->files);
	free(a->agents);
	memset(a, 0, sizeof *a);
}

/* --- the record --- */

static const char *
tag_of(const struct activity *a)
{
	if (a->ended > 0)
		return "ended";
	return a->event != NULL && (strcmp(a->event, "Stop") == 0 || strcmp(a->event, "SessionStart") == 0)
	    ? "waiting"
	    : "working";
}

static const char *
status_of(const struct activity *a, const struct activity_file *f)
{
	if (f->ended > 0)
		return f->failed ? "failed" : "written";
	return activity_file_unfinished(a, f) ? "in_progress" : "left";
}

static json_t *
files_json(const struct activity *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->n_files; i++) {
		const struct activity_file *f = &a->files[i];
		json_t *o = json_object();

		json_put(o, "path", f->path);
		json_put(o, "status", status_of(a, f));
		json_put(o, "tool", f->tool);
		json_put(o, "call", f->call);
		json_put(o, "agent", f->agent);
		json_put_int(o, "began_at", f->began);
		json_put_int(o, "ended_at", f->ended);
		json_array_append_new(list, o);
	}
	return list;
}

static void
put_last(json_t *o, const struct activity_call *last)
{
	if (last->at == 0)
		return;
	json_put_int(o, "last_call_at", last->at);
	json_put(o, "last_call", last->id);
}

static void
take_last(const json_t *o, struct activity_call *last)
{
	last->at = json_number(o, "last_call_at", 0);
	set(&last->id, json_text(o, "last_call", NULL));
}

static json_t *
agents_json(const struct activity *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->n_agents; i++) {
		json_t *o = json_object();

		json_put(o, "id", a->agents[i].id);
		json_put(o, "type", a->agents[i].type);
		json_put_int(o, "began_at", a->agents[i].began);
		json_put_int(o, "ended_at", a->agents[i].ended);
		put_last(o, &a->agents[i].last);
		json_array_append_new(list, o);
	}
	return list;
}

void
activity_change(const struct activity *a, char **key, char **value, struct change *c)
{
	json_t *o = json_object();

	json_put_int(o, "schema_version", SCHEMA);
	for (size_t i = 0; i < N(texts); i++)
		json_put(o, texts[i].key, *activity_text_field(a, i));
	json_put_int(o, "beat_at", a->at.wall_ms);
	json_put_int(o, "boot_ms", a->at.boot_ms);
	json_put(o, "boot_id", a->at.boot_id);
	if (a->at.host[0] != '\0') {
		json_put(o, "host", a->at.host);
		json_put_int(o, "heard_at", a->last_seen_at);
	}
	put_last(o, &a->last);
	json_put_int(o, "started_at", a->started);
	json_put_int(o, "turned_at", a->turned);
	json_put_int(o, "ended_at", a->ended);
	json_object_set_new(o, "files", files_json(a));
	json_object_set_new(o, "agents", agents_json(a));
	*key = xasprintf("activity:%s", a->conversation);
	*value = record_value(o);
	*c = (struct change){ CHANGE_PUT, *key, a->version, tag_of(a), *value };
}

static void
read_file_list(struct activity *a, const json_t *list)
{
	size_t i;
	json_t *o;

	json_array_foreach((json_t *)(uintptr_t)list, i, o) {
		if (json_text(o, "path", NULL) == NULL)
			continue;
		a->files = vec_room(a->files, a->n_files, &a->cap_files, sizeof *a->files);
		a->files[a->n_files] = (struct activity_file){ .began = json_number(o, "began_at", 0),
			.ended = json_number(o, "ended_at", 0),
			.failed = strcmp(json_text(o, "status", ""), "failed") == 0 };
		set(&a->files[a->n_files].path, json_text(o, "path", NULL));
		set(&a->files[a->n_files].tool, json_text(o, "tool", NULL));
		set(&a->files[a->n_files].call, json_text(o, "call", NULL));
		set(&a->files[a->n_files++].agent, json_text(o, "agent", NULL));
	}
}

static void
take_agents(struct activity *a, const json_t *list)
{
	size_t i;
	json_t *o;

	json_array_foreach((json_t *)(uintptr_t)list, i, o) {
		if (json_text(o, "id", NULL) == NULL)
			continue;
		a->agents = vec_room(a->agents, a->n_agents, &a->cap_agents, sizeof *a->agents);
		a->agents[a->n_agents] = (struct activity_agent){ .began = json_number(o, "began_at", 0),
		    .ended = json_number(o, "ended_at", 0) };
		take_last(o, &a->agents[a->n_agents].last);
		set(&a->agents[a->n_agents].id, json_text(o, "id", NULL));
		set(&a->agents[a->n_agents++].type, json_text(o, "type", NULL));
	}
}

static int
from_record(const struct record *r, struct activity *out, struct err *e)
{
	json_t *o = record_object(r, SCHEMA, e);

	memset(out, 0, sizeof *out);
	if (o == NULL)
		return -1;
	for (size_t i = 0; i < N(texts); i++)
		set(activity_text_field(out, i), json_text(o, texts[i].key, NULL));
	set(&out->conversation, strchr(r->key, ':') + 1);
	out->version = r->version;
	out->at.wall_ms = json_number(o, "beat_at", 0);
	out->at.boot_ms = json_number(o, "boot_ms", 0);
	snprintf(out->at.boot_id, sizeof out->at.boot_id, "%s", json_text(o, "boot_id", ""));
	snprintf(out->at.host, sizeof out->at.host, "%s", json_text(o, "host", ""));
	out->last_seen_at = json_number(o, "heard_at", 0);
	take_last(o, &out->last);
	out->started = json_number(o, "started_at", 0);
	out->turned = json_number(o, "turned_at", 0);
	out->ended = json_number(o, "ended_at", 0);
	read_file_list(out, json_object_get(o, "files"));
	take_agents(out, json_object_get(o, "agents"));
	json_decref(o);
	return 0;
}

int
activity_load(struct store *s, const char *conversation, struct activity *out, struct err *e)
{
	char *key = xasprintf("activity:%s", conversation);
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(out, 0, sizeof *out);
	if (found > 0 && from_record(&r, out, e) != 0)
		found = -1;
	store_record_release(&r);
	free(key);
	return found;
}

struct activity_walk {
	activity_row *row;
	void *arg;
};

static int
each_row(const struct record *r, void *arg, struct err *e)
{
	const struct activity_walk *job = arg;
	struct activity a;
	int ret = from_record(r, &a, e);

	if (ret == 0)
		ret = job->row(&a, job->arg, e);
	activity_release(&a);
	return ret;
}

int
activity_each(struct store *s, const char *tag, activity_row *row, void *arg, struct err *e)
{
	struct activity_walk job = { row, arg };

	return store_each(s, "activity:", tag, each_row, &job, e);
}

/* --- what follows from a beat --- */

static const struct activity_agent *
find_agent(const struct activity *a, const char *id)
{
	for (size_t i = 0; id != NULL && i < a->n_agents; i++)
		if (strcmp(a->agents[i].id, id) == 0)
			return &a->agents[i];
	return NULL;
}

/* Beats of one call may come from two hooks: its id tells them from another's. Without ids nobody knows. */
static bool
is_other_call(const struct activity_call *last, const struct activity_file *f)
{
	return last->at > f->began && last->id != NULL && f->call != NULL && strcmp(last->id, f->call) != 0;
}

bool
activity_file_unfinished(const struct activity *a, const struct activity_file *f)
{
	const struct activity_agent *by = find_agent(a, f->agent);

	if (f->ended > 0)
		return false;
	if (f->agent == NULL)
		return f->began > a->turned && !is_other_call(&a->last, f);
	return by == NULL || (f->began > by->ended && !is_other_call(&by->last, f));
}

/*
 * The entry of a path, made when there is none; the oldest that is of no interest any more, or
 * else the oldest, makes room.
 */
static struct activity_file *
file_entry(struct activity *a, const char *path)
{
	size_t drop = 0;

	for (size_t i = 0; i < a->n_files; i++)
		if (strcmp(a->files[i].path, path) == 0)
			return &a->files[i];
	if (a->n_files == ACTIVITY_FILES) {
		while (drop < a->n_files && activity_file_unfinished(a, &a->files[drop]))
			drop++;
		drop = drop < a->n_files ? drop : 0;
		file_release(&a->files[drop]);
		memmove(&a->files[drop], &a->files[drop + 1], (--a->n_files - drop) * sizeof *a->files);
	}
	a->files = vec_room(a->files, a->n_files, &a->cap_files, sizeof *a->files);
	a->files[a->n_files] = (struct activity_file){ .path = xstrdup(path) };
	return &a->files[a->n_files++];
}

static bool
is_call(const struct activity_file *f, const struct hook_event *b)
{
	return f->call == NULL || b->call == NULL || strcmp(f->call, b->call) == 0;
}

/* A write of the path that began later is the one that counts. */
static void
apply_file(struct activity *a, const struct hook_event *b, const char *path)
{
	struct activity_file *f = file_entry(a, path);
	int64_t at = b->at.wall_ms;
	bool fresh = f->began == 0, end = b->kind != HOOK_PRE_TOOL;

	if (!fresh && is_call(f, b) && (end || b->call != NULL)) {
		if (end) {
			f->ended = at;
			f->failed = b->kind == HOOK_TOOL_FAILED;
		} else if (at < f->began) {
			f->began = at;
		}
		return;
	}
	if (!fresh && (end ? at < f->began || f->ended == 0 : at <= f->began))
		return;
	set(&f->tool, b->tool);
	set(&f->call, b->call);
	set(&f->agent, b->agent);
	f->began = at;
	f->ended = end ? at : 0;
	f->failed = b->kind == HOOK_TOOL_FAILED;
}

static void
apply_call(struct activity_call *last, const struct hook_event *b)
{
	if (b->kind != HOOK_PRE_TOOL || b->at.wall_ms <= last->at)
		return;
	last->at = b->at.wall_ms;
	set(&last->id, b->call);
}

static void
apply_files(struct activity *a, const struct hook_event *b)
{
	apply_file(a, b, b->path);
	for (const char *p = b->paths; p != NULL && *p != '\0'; p += strspn(p, "\n")) {
		char *path = xstrndup(p, strcspn(p, "\n"));

		apply_file(a, b, path);
		p += strlen(path);
		free(path);
	}
}

static void
apply_agent(struct activity *a, const struct hook_event *b)
{
	struct activity_agent *x = (struct activity_agent *)(uintptr_t)find_agent(a, b->agent);
	int64_t at = b->at.wall_ms;

	if (x == NULL) {
		if (a->n_agents == ACTIVITY_AGENTS) {
			agent_release(&a->agents[0]);
			memmove(&a->agents[0], &a->agents[1], --a->n_agents * sizeof *a->agents);
		}
		a->agents = vec_room(a->agents, a->n_agents, &a->cap_agents, sizeof *a->agents);
		x = &a->agents[a->n_agents++];
		*x = (struct activity_agent){ .id = xstrdup(b->agent) };
	}
	if (x->type == NULL)
		set(&x->type, b->agent_type);
	if (b->kind == HOOK_AGENT_STOP)
		x->ended = at > x->ended ? at : x->ended;
	else
		x->began = at > x->began ? at : x->began;
	apply_call(&x->last, b);
}

static void
later(int64_t *field, int64_t at)
{
	if (at > *field)
		*field = at;
}

void
activity_apply(struct activity *a, const struct hook_event *b)
{
	int64_t at = b->at.wall_ms;

	if (at >= a->at.wall_ms) {
		a->at = b->at;
		set(&a->event, b->event);
		set(&a->tool, b->kind == HOOK_PRE_TOOL ? b->tool : NULL);
		for (size_t i = 0; i < 4; i++) {
			char **field[] = { &a->transcript, &a->cwd, &a->socket, &a->pane };
			const char *told[] = { b->transcript, b->cwd, b->socket, b->pane };

			/* a sub-agent has a transcript and perhaps a directory of its own */
			if (told[i] != NULL && (b->agent == NULL || i > 1))
				set(field[i], told[i]);
		}
		/* it goes on, whatever was told before */
		if (b->kind != HOOK_END)
			a->ended = 0;
	}
	if (b->agent != NULL)
		apply_agent(a, b);
	else
		apply_call(&a->last, b);
	if (b->path != NULL &&
	    (b->kind == HOOK_PRE_TOOL || b->kind == HOOK_POST_TOOL || b->kind == HOOK_TOOL_FAILED))
		apply_files(a, b);
	if (b->kind == HOOK_START)
		later(&a->started, at);
	/* not an end: a signal may have come in the middle of a write */
	if (b->kind == HOOK_STOP || b->kind == HOOK_PROMPT)
		later(&a->turned, at);
	if (b->kind == HOOK_END && at >= a->at.wall_ms)
		a->ended = at;
}

#define AT_ONCE 200				/* records a commit */

struct tidying {
	struct store *s;
	struct timestamp now;
	int64_t before;
	char *keys[AT_ONCE];
	struct change c[AT_ONCE];
	size_t n;
};

/* key is taken over. 1: the commit is full. */
static int
take(struct tidying *t, char *key, int64_t version)
{
	t->keys[t->n] = key;
	t->c[t->n] = (struct change){ CHANGE_DELETE, key, version, NULL, NULL };
	return ++t->n == AT_ONCE;
}

static int
take_activity(const struct activity *a, void *arg, struct err *e)
{
	struct tidying *t = arg;
	struct session x;
	bool wanted;
	int found;

	if (a->at.wall_ms >= t->before)
		return 0;
	found = a->agent_uuid != NULL ? session_load(t->s, a->agent_uuid, &x, e) : 0;
	wanted = found > 0 && x.state != SESSION_ENDED;
	if (found > 0)
		session_release(&x);
	if (found < 0)
		return -1;
	return wanted ? 0 : take(t, xasprintf("activity:%s", a->conversation), a->version);
}

static int
take_place(const struct record *r, void *arg, struct err *e)
{
	struct tidying *t = arg;
	const char *boot = r->key + strlen("place:");
	size_t n = strlen(t->now.boot_id);
	bool here = strncmp(boot, t->now.boot_id, n) == 0 && boot[n] == ':';
	json_t *o = record_object(r, 1, e);
	int64_t at = json_number(o, "at", 0);

	json_decref(o);
	if (o == NULL)
		return -1;
	return here || at >= t->before ? 0 : take(t, xstrdup(r->key), r->version);
}

int
activity_expire(struct store *s, int64_t before, size_t *n, struct err *e)
{
	struct tidying *t = xcalloc(1, sizeof *t);
	int ret;

	t->s = s;
	t->before = before;
	timestamp_now(&t->now);
	ret = activity_each(s, NULL, take_activity, t, e);
	if (ret == 0)
		ret = store_each(s, "place:", NULL, take_place, t, e);
	if (ret >= 0)
		ret = t->n == 0 || store_commit(s, t->c, t->n, e) == COMMIT_DONE ? 0 : -1;
	if (n != NULL)
		*n = ret == 0 ? t->n : 0;
	for (size_t i = 0; i < t->n; i++)
		free(t->keys[i]);
	free(t);
	return ret;
}
