#include <stdlib.h>
#include <string.h>

#include "records/hooks/hooks.h"
#include "records/records_private.h"
#include "records/agents/agents.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"

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
	if (found > 0 && (o = record_object(&r, 1, e)) == NULL)
		found = -1;
	if (o != NULL && json_text(o, "agent_uuid", NULL) != NULL)
		*agent = xstrdup(json_text(o, "agent_uuid", NULL));
	json_decref(o);
	if (key != NULL)
		store_record_release(&r);
	free(key);
	return found < 0 ? -1 : 0;
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
