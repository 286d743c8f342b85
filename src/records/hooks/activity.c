#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/hooks/hooks.h"
#include "base/buf.h"
#include "base/err.h"
#include "records/agents/agents.h"
#include "records/records_private.h"
#include "process/proc.h"

/* --- the record --- */

/* Its state follows from what it tells. */
static const char *
tag_of(const void *activity)
{
	const struct activity *a = activity;

	if (a->ended > 0)
		return "ended";
	return a->event != NULL && (strcmp(a->event, "Stop") == 0 || strcmp(a->event, "SessionStart") == 0)
	    ? "waiting"
	    : "working";
}

static bool
has_host(const void *activity)
{
	return ((const struct activity *)activity)->at.host[0] != '\0';
}

static bool
has_call(const void *activity)
{
	return ((const struct activity *)activity)->last.at != 0;
}

static bool
agent_has_call(const void *agent)
{
	return ((const struct activity_agent *)agent)->last.at != 0;
}

static const struct record_field file_fields[] = {
	F_TEXT(activity_file, "path", path, FIELD_REQUIRED),
	F_WORD(activity_file, "status", status, 0),
	F_TEXT(activity_file, "tool", tool, 0),
	F_TEXT(activity_file, "call", call, 0),
	F_TEXT(activity_file, "agent", agent, 0),
	F_INT(activity_file, "began_at", began, 0, 0),
	F_INT(activity_file, "ended_at", ended, 0, 0),
};
static const struct record_field agent_fields[] = {
	F_TEXT(activity_agent, "id", id, FIELD_REQUIRED),
	F_TEXT(activity_agent, "type", type, 0),
	F_INT(activity_agent, "began_at", began, 0, 0),
	F_INT(activity_agent, "ended_at", ended, 0, 0),
	F_INT(activity_agent, "last_call_at", last.at, FIELD_OPTIONAL, 0),
	F_TEXT_WHEN(activity_agent, "last_call", last.id, agent_has_call),
};
static const struct record_field fields[] = {
	F_TEXT(activity, "conversation", conversation, 0),
	F_TEXT(activity, "agent_uuid", agent_uuid, 0),
	F_TEXT(activity, "transcript", transcript, 0),
	F_TEXT(activity, "cwd", cwd, 0),
	F_TEXT(activity, "event", event, 0),
	F_TEXT(activity, "tool", tool, 0),
	F_TEXT(activity, "socket", socket, 0),
	F_TEXT(activity, "pane", pane, 0),
	F_INT(activity, "beat_at", at.wall_ms, 0, 0),
	F_INT(activity, "boot_ms", at.boot_ms, 0, 0),
	F_WORD(activity, "boot_id", at.boot_id, 0),
	F_WORD(activity, "host", at.host, FIELD_OPTIONAL),
	F_INT_WHEN(activity, "heard_at", last_seen_at, has_host),
	F_INT(activity, "last_call_at", last.at, FIELD_OPTIONAL, 0),
	F_TEXT_WHEN(activity, "last_call", last.id, has_call),
	F_INT(activity, "started_at", started, 0, 0),
	F_INT(activity, "turned_at", turned, 0, 0),
	F_INT(activity, "ended_at", ended, 0, 0),
	F_LIST(activity, "files", files, n_files, cap_files, file_fields),
	F_LIST(activity, "agents", agents, n_agents, cap_agents, agent_fields),
};
const struct record_type activity_type = { .prefix = "activity:", .schema = 1, RECORD_SELF(activity),
	RECORD_ID(activity, conversation), .tag = tag_of, .fields = FIELDS(fields) };

void
activity_release(struct activity *a)
{
	record_free(&activity_type, a);
}

int
activity_load(struct store *s, const char *conversation, struct activity *out, struct err *e)
{
	return record_load(s, &activity_type, conversation, out, e);
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
	int ret = record_decode(&activity_type, r, &a, e);

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
		free(a->files[drop].path);
		free(a->files[drop].tool);
		free(a->files[drop].call);
		free(a->files[drop].agent);
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

static void
note_failure(struct activity_file *f, const struct hook_event *b)
{
	snprintf(f->status, sizeof f->status, "%s", b->kind == HOOK_TOOL_FAILED ? "failed" : "");
}

/* What became of each write, as far as it is known by now. */
static void
set_statuses(struct activity *a)
{
	for (size_t i = 0; i < a->n_files; i++) {
		struct activity_file *f = &a->files[i];
		bool failed = strcmp(f->status, "failed") == 0;

		snprintf(f->status, sizeof f->status, "%s",
		    f->ended > 0                     ? (failed ? "failed" : "written") :
			activity_file_unfinished(a, f) ? "in_progress"
						     : "left");
	}
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
			note_failure(f, b);
		} else if (at < f->began) {
			f->began = at;
		}
		return;
	}
	if (!fresh && (end ? at < f->began || f->ended == 0 : at <= f->began))
		return;
	record_set(&f->tool, b->tool);
	record_set(&f->call, b->call);
	record_set(&f->agent, b->agent);
	f->began = at;
	f->ended = end ? at : 0;
	note_failure(f, b);
}

static void
apply_call(struct activity_call *last, const struct hook_event *b)
{
	if (b->kind != HOOK_PRE_TOOL || b->at.wall_ms <= last->at)
		return;
	last->at = b->at.wall_ms;
	record_set(&last->id, b->call);
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
			free(a->agents[0].id);
			free(a->agents[0].type);
			free(a->agents[0].last.id);
			memmove(&a->agents[0], &a->agents[1], --a->n_agents * sizeof *a->agents);
		}
		a->agents = vec_room(a->agents, a->n_agents, &a->cap_agents, sizeof *a->agents);
		x = &a->agents[a->n_agents++];
		*x = (struct activity_agent){ .id = xstrdup(b->agent) };
	}
	if (x->type == NULL)
		record_set(&x->type, b->agent_type);
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
		record_set(&a->event, b->event);
		record_set(&a->tool, b->kind == HOOK_PRE_TOOL ? b->tool : NULL);
		for (size_t i = 0; i < 4; i++) {
			char **field[] = { &a->transcript, &a->cwd, &a->socket, &a->pane };
			const char *told[] = { b->transcript, b->cwd, b->socket, b->pane };

			/* a sub-agent has a transcript and perhaps a directory of its own */
			if (told[i] != NULL && (b->agent == NULL || i > 1))
				record_set(field[i], told[i]);
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
	set_statuses(a);
}

#define AT_ONCE 200				/* records a commit */

struct tidying {
	struct txn t;
	struct timestamp now;
	int64_t before;
};

/* key is taken over. 1: the commit is full. */
static int
take(struct tidying *job, char *key, int64_t version)
{
	txn_delete(&job->t, key, version);
	return job->t.n == AT_ONCE;
}

static int
take_activity(const struct activity *a, void *arg, struct err *e)
{
	struct tidying *job = arg;
	struct session x;
	bool wanted;
	int found;

	if (a->at.wall_ms >= job->before)
		return 0;
	found = a->agent_uuid != NULL ? session_load(job->t.s, a->agent_uuid, &x, e) : 0;
	wanted = found > 0 && x.state != SESSION_ENDED;
	if (found > 0)
		session_release(&x);
	if (found < 0)
		return -1;
	return wanted ? 0 : take(job, record_key_of(&activity_type, a), a->version);
}

static int
take_place(const struct record *r, void *arg, struct err *e)
{
	struct tidying *job = arg;
	const char *boot = r->key + strlen("place:");
	size_t n = strlen(job->now.boot_id);
	bool here = strncmp(boot, job->now.boot_id, n) == 0 && boot[n] == ':';
	json_t *o = record_object(r, "place", 1, e);
	int64_t at = json_number(o, "at", 0);

	json_decref(o);
	if (o == NULL)
		return -1;
	return here || at >= job->before ? 0 : take(job, xstrdup(r->key), r->version);
}

int
activity_expire(struct store *s, int64_t before, size_t *n, struct err *e)
{
	struct tidying job = { .t = { .s = s }, .before = before };
	size_t count;
	int ret;

	timestamp_now(&job.now);
	ret = activity_each(s, NULL, take_activity, &job, e);
	if (ret == 0)
		ret = store_each(s, "place:", NULL, take_place, &job, e);
	count = job.t.n;
	if (ret >= 0)
		ret = txn_commit(&job.t, e) == COMMIT_DONE ? 0 : -1;
	txn_release(&job.t);
	if (n != NULL)
		*n = ret == 0 ? count : 0;
	return ret;
}

/* A rule of the ledger is no failure of the store. */
static int
unless_refused(int ret, struct err *e)
{
	if (ret != 0 &&
	    (e->code == GT_REFUSED || e->code == GT_USAGE || e->code == GT_NOTHING ||
		strcmp(e->name, "no-agent") == 0)) {
		err_clear(e);
		return 0;
	}
	return ret;
}

/* --- whose session it is --- */

static bool
is_process(const struct session *x, const struct hook_event *b)
{
	struct session told = { .pid_ns = b->at.pid_ns, .pid = b->pid, .pid_start = b->pid_start };

	memcpy(told.boot_id, b->boot_id, sizeof told.boot_id);
	return !host_is_other(x->host) && b->boot_id[0] != '\0' && session_same_process(x, &told);
}

/* A process of another boot is startup's to suspend. */
static bool
is_place(const struct session *x, const struct hook_event *b, const struct timestamp *now)
{
	if (host_is_other(x->host) || b->session == NULL || x->session == NULL ||
	    strcmp(x->session, b->session) != 0)
		return false;
	if (x->socket != NULL && b->socket != NULL && strcmp(x->socket, b->socket) != 0)
		return false;
	return (x->boot_id[0] == '\0' || strcmp(x->boot_id, now->boot_id) == 0) && !session_is_alive(x, now);
}

/* --- places --- */

/* NULL: it is in none. Heap. */
static char *
place_key(const struct hook_event *b)
{
	if (b->pane == NULL || b->server == NULL || b->at.boot_id[0] == '\0')
		return NULL;
	if (b->at.pid_ns == 0 || b->at.pid_ns == MOMENT_FIRST_SPACE)
		return xasprintf("place:%s:%.20s:%.20s", b->at.boot_id, b->server, b->pane);
	/* servers in two containers may have the same pid */
	return xasprintf("place:%s:%.20s@%llu:%.20s", b->at.boot_id, b->server,
	    (unsigned long long)b->at.pid_ns, b->pane);
}

/* Who was last told to be in that pane: an agent_uuid, heap; NULL: nobody. -1 with err. */
static int
place_agent(struct store *s, const struct hook_event *b, char **agent, struct err *e)
{
	char *key = place_key(b);
	struct record r;
	json_t *o = NULL;
	int found = key != NULL ? store_get(s, key, &r, e) : 0;

	*agent = NULL;
	if (found > 0 && (o = record_object(&r, "place", 1, e)) == NULL)
		found = -1;
	if (o != NULL && json_text(o, "agent_uuid", NULL) != NULL)
		*agent = xstrdup(json_text(o, "agent_uuid", NULL));
	json_decref(o);
	if (key != NULL)
		store_record_release(&r);
	free(key);
	return found < 0 ? -1 : 0;
}

int
activity_in_place(
    struct store *s, int64_t server_pid, const char *pane, struct session *out, struct err *e)
{
	char server[24], *agent = NULL;
	struct hook_event b = { .pane = (char *)(uintptr_t)pane, .server = server };
	int found;

	snprintf(server, sizeof server, "%" PRId64, server_pid);
	timestamp_now(&b.at);
	if (place_agent(s, &b, &agent, e) != 0)
		return -1;
	found = agent != NULL ? session_load(s, agent, out, e) : 0;
	free(agent);
	return found;
}

/* key is taken over. */
static void
put_place(struct txn *t, const struct hook_event *b, const char *agent, char *key)
{
	json_t *o = json_object();

	json_put_int(o, "schema_version", 1);
	json_put(o, "agent_uuid", agent);
	json_put_int(o, "at", b->at.wall_ms);
	txn_write(t, key, STORE_ANY, "place", record_value(o));
}

/* Another one lives there. An agent in another container is in another place, whatever its name. */
static bool
is_taken(const struct session_list *open, const struct hook_event *b, const char *in_pane)
{
	struct timestamp now;

	timestamp_now(&now);
	for (size_t i = 0; i < open->n; i++) {
		const struct session *x = &open->v[i];
		bool there = (in_pane != NULL && strcmp(x->agent_uuid, in_pane) == 0) ||
		    (b->session != NULL && x->session != NULL && strcmp(x->session, b->session) == 0 &&
		    (x->socket == NULL || b->socket == NULL || strcmp(x->socket, b->socket) == 0));

		if (there && !is_process(x, b) && !session_is_contained(x, &now) && session_is_alive(x, &now))
			return true;
	}
	return false;
}

/* --- which one it is --- */

/* NULL: a new one, or nobody can tell which. */
static const struct session *
choose(const struct session_list *open, const struct hook_event *b, const char *in_pane)
{
	const struct session *talk = NULL, *pane = NULL, *place = NULL;
	struct timestamp now;
	size_t n_place = 0;

	timestamp_now(&now);
	for (size_t i = 0; i < open->n; i++) {
		const struct session *x = &open->v[i];

		if (is_process(x, b))
			return x;
		if (x->cursor_session_id != NULL && strcmp(x->cursor_session_id, b->conversation) == 0)
			talk = x;
		if (in_pane != NULL && strcmp(x->agent_uuid, in_pane) == 0 && !session_is_elsewhere(x) &&
		    !session_is_alive(x, &now))
			pane = x;
		if (x->parent == NULL && is_place(x, b, &now)) {
			place = x;
			n_place++;
		}
	}
	return talk != NULL ? talk : pane != NULL ? pane : n_place == 1 ? place : NULL;
}

/* The conversation's own id, but for one that ended under it and goes on all the same. Heap. */
static char *
new_id(struct store *s, const struct hook_event *b, struct err *e)
{
	struct session old;
	char *id = NULL;
	int found = session_load(s, b->conversation, &old, e);

	if (found >= 0)
		id = found == 0 ? xstrdup(b->conversation)
				: xasprintf("%.150s.%lld", b->conversation, (long long)b->at.wall_ms);
	session_release(&old);
	return id;
}

/* Sub-agents live in the process of their agent. */
static int
end_agents(struct store *s, const struct session_list *open, const char *agent, struct err *e)
{
	size_t n = strlen(agent), ended;

	for (size_t i = 0; i < open->n; i++) {
		const char *id = open->v[i].agent_uuid;

		if (strncmp(id, agent, n) == 0 && id[n] == ':' &&
		    unless_refused(tree_end(s, id, true, &ended, e), e) != 0)
			return -1;
	}
	return 0;
}

static void
set_reported(struct session *x, const char *id, const struct hook_event *b, bool taken)
{
	session_init(x);
	record_set(&x->agent_uuid, id);
	record_set(&x->provider_name, b->provider != NULL ? b->provider : "claude");
	record_set(&x->cursor_session_id, b->conversation);
	record_set(&x->model, b->model);
	record_set(&x->workspace_path, b->cwd);
	record_set(&x->session, taken ? NULL : b->session);
	record_set(&x->socket, taken ? NULL : b->socket);
	record_set(&x->start_command, b->start_command);
	memcpy(x->boot_id, b->boot_id, sizeof x->boot_id);
	x->pid_ns = b->at.pid_ns;
	x->seen_boot_ms = b->at.boot_ms;
	x->pid = b->pid;
	x->pid_start = b->pid_start;
}

static bool
is_no_news(const struct session *x, const struct hook_event *b)
{
	return x->state == SESSION_ACTIVE && is_process(x, b) && x->cursor_session_id != NULL &&
	    strcmp(x->cursor_session_id, b->conversation) == 0 && (b->session == NULL || x->session != NULL);
}

/* *placed: the beat whose place is the agent's own. */
static int
note_session(struct store *s, struct activity *a, const struct hook_event *b,
    const struct hook_event **placed, struct err *e)
{
	struct session_list open = { .n = 0 };
	const struct session *x = NULL;
	struct session new;
	bool taken = false;
	char *id = NULL, *in_pane = NULL;
	int ret = place_agent(s, b, &in_pane, e);

	if (ret == 0 &&
	    (session_list_read(s, SESSION_ACTIVE, &open, e) != 0 ||
		session_list_read(s, SESSION_SUSPENDED, &open, e) != 0))
		ret = -1;
	if (ret == 0) {
		x = choose(&open, b, in_pane);
		taken = is_taken(&open, b, in_pane);
		id = x != NULL ? xstrdup(x->agent_uuid) : new_id(s, b, e);
		ret = id != NULL ? 0 : -1;
	}
	if (ret == 0 && x != NULL && x->state == SESSION_SUSPENDED) {
		ret = session_started(s, id, b->pid, b->conversation, e) < 0 ? -1 : 0;
	} else if (ret == 0 && (x == NULL || !is_no_news(x, b))) {
		set_reported(&new, id, b, taken);
		ret = session_record(s, &new, NULL, e);
		session_release(&new);
	}
	ret = unless_refused(ret, e);
	if (ret == 0 && b->kind == HOOK_START && x != NULL &&
	    (b->reason == NULL || strcmp(b->reason, "compact") != 0))
		ret = end_agents(s, &open, id, e);
	if (!taken)
		*placed = b;
	session_list_release(&open);
	free(in_pane);
	free(a->agent_uuid);
	a->agent_uuid = id;
	return ret;
}

/* --- sub-agents and ends --- */

static bool
is_known(const struct activity *a, const char *agent)
{
	for (size_t i = 0; i < a->n_agents; i++)
		if (strcmp(a->agents[i].id, agent) == 0)
			return true;
	return false;
}

static int
note_agent(struct store *s, const struct activity *a, const struct hook_event *b, struct err *e)
{
	char *id = xasprintf("%.100s:%.90s", a->agent_uuid, b->agent);
	struct session child;
	size_t ended;
	int ret = 0;

	if (!is_known(a, b->agent)) {
		session_init(&child);
		record_set(&child.agent_uuid, id);
		record_set(&child.provider_name, b->provider != NULL ? b->provider : "claude");
		record_set(&child.workspace_path, b->cwd);
		ret = unless_refused(tree_spawn(s, a->agent_uuid, &child, NULL, e), e);
		session_release(&child);
	}
	if (ret == 0 && b->kind == HOOK_AGENT_STOP)
		ret = unless_refused(tree_end(s, id, true, &ended, e), e);
	free(id);
	return ret;
}

/* A person's word ended it; /clear and /resume only change the conversation, and a signal is no word. */
static bool
is_wanted(const struct hook_event *b)
{
	return b->kind == HOOK_END && b->reason != NULL &&
	    (strcmp(b->reason, "prompt_input_exit") == 0 || strcmp(b->reason, "logout") == 0);
}

/* A beat is a sign of life; the session's record takes one in each period. */
static int
renew_process(struct store *s, const struct activity *a, const struct hook_event *b, struct err *e)
{
	struct session x;
	bool same = strcmp(a->at.boot_id, b->at.boot_id) == 0;
	int ret;

	if (b->boot_id[0] == '\0' || (same && a->at.boot_ms / PROC_RENEW_MS >= b->at.boot_ms / PROC_RENEW_MS))
		return 0;
	ret = session_load(s, a->agent_uuid, &x, e);
	if (ret > 0 && x.state == SESSION_ACTIVE && is_process(&x, b) && x.seen_boot_ms < b->at.boot_ms)
		ret = session_renew(s, &x, &b->at, e);
	session_release(&x);
	return ret < 0 ? -1 : 0;
}

/* What the ledger is to know of a beat that the record has not seen yet. */
static int
apply_event(struct store *s, struct activity *a, const struct hook_event *b, const struct hook_event **placed,
    struct err *e)
{
	bool begins = a->agent_uuid == NULL || (b->kind == HOOK_START && b->at.wall_ms > a->started);
	size_t ended;

	if (begins && note_session(s, a, b, placed, e) != 0)
		return -1;
	if (!begins && renew_process(s, a, b, e) != 0)
		return -1;
	if (b->agent != NULL && note_agent(s, a, b, e) != 0)
		return -1;
	/* one that was told of late may have gone on since */
	if (is_wanted(b) && b->at.wall_ms >= a->at.wall_ms)
		return unless_refused(tree_end(s, a->agent_uuid, true, &ended, e), e);
	return 0;
}

/* --- the verb --- */

struct noting {
	const struct hook_event *const *beats;
	size_t n;
};

static int
note_once(struct txn *t, void *arg, struct err *e)
{
	const struct noting *job = arg;
	const struct hook_event *placed = NULL;
	struct activity a;
	int ret = activity_load(t->s, job->beats[0]->conversation, &a, e);
	char *place;

	if (ret == 0)
		a.conversation = xstrdup(job->beats[0]->conversation);
	for (size_t i = 0; i < job->n && ret >= 0; i++) {
		ret = apply_event(t->s, &a, job->beats[i], &placed, e);
		if (ret == 0)
			activity_apply(&a, job->beats[i]);
	}
	if (ret >= 0) {
		a.last_seen_at = *host_id() != '\0' ? store_now(t->s) : 0;
		txn_put(t, &activity_type, &a);
		if (placed != NULL && (place = place_key(placed)) != NULL)
			put_place(t, placed, a.agent_uuid, place);
	}
	activity_release(&a);
	return ret < 0 ? -1 : 0;
}

int
activity_apply_events(struct store *s, const struct hook_event *const *beats, size_t n, struct err *e)
{
	struct noting job = { beats, n };

	return txn_run(s, note_once, &job, e);
}
