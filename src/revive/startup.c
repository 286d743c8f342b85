#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "revive/startup.h"
#include "revive/adopt.h"
#include "revive/detect.h"
#include "revive/ending.h"
#include "revive/respawn.h"
#include "revive/tidy.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/moment.h"
#include "context/transcript.h"
#include "ledger/attempt.h"
#include "ledger/event.h"
#include "ledger/lock.h"
#include "store/store.h"
#include "tmux/pane.h"
#include "town/config.h"

#define KEY "servers:last"
#define TAG "servers"

struct server {
	char *socket;
	int64_t pid, start;		/* start: as tmux tells, seconds since 1970 */
	int64_t ticks;			/* start of the process, field 22 of /proc/PID/stat */
};

struct servers {
	int64_t version;
	char boot[40];
	struct server *v;
	size_t n, cap;
};

static void
servers_release(struct servers *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].socket);
	free(s->v);
	memset(s, 0, sizeof *s);
}

static void
add(struct servers *s, const char *socket, int64_t pid, int64_t start, int64_t ticks)
{
	s->v = vec_room(s->v, s->n, &s->cap, sizeof *s->v);
	s->v[s->n++] = (struct server){ xstrdup(socket), pid, start, ticks };
}

static const struct server *
find(const struct servers *s, int64_t pid, int64_t start)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].pid == pid && s->v[i].start == start)
			return &s->v[i];
	return NULL;
}

static void
here(char boot[40])
{
	struct moment now;

	moment_now(&now);
	snprintf(boot, sizeof now.boot_id, "%s", now.boot_id);
}

/* 1 found, 0 absent, -1. A damaged record is none: it is written anew. */
static int
load(struct store *store, struct servers *s, struct err *e)
{
	struct record r;
	json_t *v, *list;
	int found = store_get(store, KEY, &r, e);

	memset(s, 0, sizeof *s);
	if (found <= 0)
		return found;
	s->version = r.version;
	v = json_parse(r.value, strlen(r.value), KEY, NULL);
	list = json_object_get(v, "servers");
	snprintf(s->boot, sizeof s->boot, "%s", json_text(v, "boot_id", ""));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);

		add(s, json_text(o, "socket", ""), json_number(o, "pid", 0), json_number(o, "start", 0), json_number(o, "ticks", 0));
	}
	json_decref(v);
	record_release(&r);
	return 1;
}

static int
save(struct store *store, struct servers *s, const struct event *ev, struct err *e)
{
	json_t *o = json_object(), *list = json_array();
	struct buf value = BUF_INIT;
	struct change c = { CHANGE_PUT, KEY, s->version, TAG, NULL };
	enum commit answer;

	json_put(o, "boot_id", s->boot);
	for (size_t i = 0; i < s->n; i++) {
		json_t *one = json_object();

		json_put(one, "socket", s->v[i].socket);
		json_put_int(one, "pid", s->v[i].pid);
		json_put_int(one, "start", s->v[i].start);
		json_put_int(one, "ticks", s->v[i].ticks);
		json_array_append_new(list, one);
	}
	json_object_set_new(o, "servers", list);
	json_print(&value, o, false);
	c.value = value.data;
	answer = ev != NULL ? event_commit(store, &c, 1, ev, e) : store_commit(store, &c, 1, e);
	if (answer == COMMIT_DONE)
		s->version++;
	json_decref(o);
	buf_release(&value);
	return answer == COMMIT_DONE || answer == COMMIT_CONFLICT ? 0 : -1;
}

static bool
runs(const struct servers *s, const struct server *x)
{
	char boot[sizeof s->boot];

	here(boot);
	return strcmp(boot, s->boot) == 0 && (int64_t)proc_ticks((pid_t)x->pid) == x->ticks;
}

static bool
rebooted(const struct servers *s)
{
	char boot[sizeof s->boot];

	here(boot);
	return strcmp(boot, s->boot) != 0;
}

bool
startup_due(struct world *w)
{
	struct store *store = world_store(w, false, NULL);
	struct servers was;
	bool due;

	if (store == NULL || load(store, &was, NULL) <= 0)
		return false;
	due = rebooted(&was);
	for (size_t i = 0; i < was.n; i++)
		due = due || !runs(&was, &was.v[i]);
	servers_release(&was);
	return due;
}

/* ---- open recoveries ---- */

static char *
own_variable(const void *arg, const char *name)
{
	const char *value = getenv(name);

	(void)arg;
	return value != NULL ? xstrdup(value) : NULL;
}

static int
end_attempt(struct world *w, struct attempt *a, const char *why, struct startup *out, struct err *e)
{
	const struct profile *p = a->agent != NULL ? profiles_find(w->profiles, a->agent) : NULL;
	char *dir = p != NULL && *p->folder != '\0' ? profile_folder(p, own_variable, NULL) :
	    session_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	int ret = ending_judged(w, a, dir, why, e);

	out->acknowledged += ret == 0 && a->phase == PHASE_ACKNOWLEDGED;
	out->closed += ret == 0 && a->phase != PHASE_ACKNOWLEDGED;
	free(dir);
	return ret;
}

/* Its own words are in the pane, or gt made the session, under its name. */
static bool
made(const struct attempt *a, const struct panes *list)
{
	bool by_gt = a->delivery != NULL && strcmp(a->delivery, "paste") == 0 && a->session != NULL;

	for (size_t i = 0; i < list->n; i++)
		if (respawn_was_by(&list->v[i], a->id) || (by_gt && strcmp(list->v[i].session, a->session) == 0))
			return true;
	return false;
}

/* A session that was missing is made again on the server that runs now. One that does not answer may have it. */
static bool
lives_on(const struct world *w, const struct attempt *a)
{
	bool may = false;

	if (a->phase < PHASE_RESPAWNED || a->class == NULL || strcmp(a->class, class_name(CLASS_MISSING)) != 0)
		return false;
	for (size_t i = 0; i < w->n_servers && !may; i++) {
		struct panes list = { .n = 0 };
		struct err e = ERR_INIT;

		may = panes_look(&w->servers[i], &list, &e) == 0 ? made(a, &list) : strcmp(e.name, "no-server") != 0;
		panes_release(&list);
	}
	return may;
}

/* Its server is gone, and with it what the attempt had started. */
static bool
is_gone(const struct world *w, const struct servers *was, const struct attempt *a)
{
	const struct server *x = find(was, a->server_pid, a->server_start);

	if (phase_final(a->phase))
		return false;
	/* a server that no pass saw with an agent in it is judged by its process alone */
	if (x != NULL ? runs(was, x) : !rebooted(was) && proc_ticks((pid_t)a->server_pid) != 0)
		return false;
	return !lives_on(w, a);
}

/* Under the lock that a recovery of the pane holds. */
static int
end_if_gone(struct world *w, const struct servers *was, const char *id, struct startup *out, struct err *e)
{
	struct attempt a;
	struct err busy = ERR_INIT;
	char *lock;
	int found = attempt_load(w->store, id, &a, e), fd = -1, ret = found < 0 ? -1 : 0;

	if (found <= 0)
		return ret;
	if (is_gone(w, was, &a)) {
		lock = world_pane_lock(w, a.server_pid, a.server_start, a.pane_id, e);
		fd = lock != NULL ? io_lock(lock, 0, &busy) : -1;
		if (fd >= 0)
			ret = end_attempt(w, &a, rebooted(was) ? "the machine was started again before it was done" :
			    "its tmux server ended before it was done", out, e);
		io_unlock(lock, fd);
		free(lock);
	}
	attempt_release(&a);
	return ret;
}

static int
forget_ended(struct store *store, struct servers *was, struct startup *out, struct err *e)
{
	struct servers now = { .version = was->version };
	struct event ev = { .kind = "host.rebooted", .subject = was->boot, .text = "the machine was started again" };
	char *words = NULL;
	int ret;

	out->rebooted = rebooted(was);
	here(now.boot);
	for (size_t i = 0; i < was->n; i++) {
		const struct server *x = &was->v[i];

		if (runs(was, x)) {
			add(&now, x->socket, x->pid, x->start, x->ticks);
			continue;
		}
		out->servers_ended++;
		ev.subject = x->socket;
	}
	if (!out->rebooted) {
		ev.kind = "server.ended";
		ev.text = words = xasprintf("%zu tmux server%s ended", out->servers_ended, out->servers_ended == 1 ? "" : "s");
	}
	ret = save(store, &now, &ev, e);
	servers_release(&now);
	free(words);
	return ret;
}

/* Only messages to a receiver that is not ACTIVE are judged, so sessions come before them. */
static int
settle_ledger(struct world *w, struct store *store, const struct run_recovery *how, struct startup *out, struct err *e)
{
	struct tree_back back = { .all = strcmp(config_text(w->config, "resume_scope"), "all") == 0 };
	enum reply_policy policy = (enum reply_policy)reply_policy_of(config_text(w->config, "reply_policy"));
	struct moment now;

	store_moment(store, &now);
	if (run_recover(store, how, &now, &out->runs, e) != 0 || adopt_living(w, &out->adopted, e) != 0 ||
	    sessions_settle(store, session_alive_now, &now, &out->sessions, e) != 0 ||
	    tree_settle(store, session_alive_now, &now, &out->tree, &back, e) != 0 || locks_settle(store, &now, &out->locks, e) != 0)
		return -1;
	out->back = back.list;
	return messages_settle(store, policy, &out->messages, e);
}

static int
settle_attempts(struct world *w, struct store *store, struct startup *out, struct err *e)
{
	struct servers was = { .n = 0 };
	struct attempts open = { .n = 0 };
	bool due = startup_due(w);
	int ret = load(store, &was, e) >= 0 ? attempts_open(store, &open, e) : -1;

	for (size_t i = 0; i < open.n && ret == 0; i++)
		ret = end_if_gone(w, &was, open.v[i].id, out, e);
	if (ret == 0 && due)
		ret = forget_ended(store, &was, out, e);
	attempts_release(&open);
	servers_release(&was);
	return ret;
}

int
startup(struct world *w, const struct run_recovery *how, struct startup *out, struct err *e)
{
	struct store *store = world_store(w, false, e);

	memset(out, 0, sizeof *out);
	if (store == NULL)
		return e->code == 0 ? 0 : -1;
	if (settle_ledger(w, store, how, out, e) != 0 || settle_attempts(w, store, out, e) != 0)
		return -1;
	tidy(w);
	return 0;
}

void
startup_release(struct startup *s)
{
	sessions_release(&s->back);
	memset(s, 0, sizeof *s);
}

bool
startup_changed(const struct startup *s)
{
	return s->rebooted || s->adopted + s->servers_ended + s->closed + s->acknowledged + s->runs.reset_to_pending + s->runs.marked_failed +
	    s->runs.marked_stopped + s->sessions.suspended + s->tree.linked + s->tree.ended + s->tree.made_roots +
	    s->locks + s->messages.flagged + s->messages.asked + s->messages.replayed > 0;
}

/* ---- what is there now ---- */

/* What ended since the pass began stays until startup has seen to it. */
static void
collect(const struct candidates *all, const struct servers *was, struct servers *now)
{
	here(now->boot);
	for (size_t i = 0; i < all->n; i++) {
		const struct pane *p = &all->v[i].pane;
		int64_t ticks = (int64_t)proc_ticks((pid_t)p->server_pid);

		/* a session that is gone may tell of a server that is gone, and of a pid that is another's now */
		if (class_has_pane(all->v[i].class) && ticks != 0 && find(now, p->server_pid, p->server_start) == NULL)
			add(now, p->socket_path, p->server_pid, p->server_start, ticks);
	}
	for (size_t i = 0; i < was->n; i++) {
		const struct server *x = &was->v[i];

		if (!runs(was, x) && find(now, x->pid, x->start) == NULL)
			add(now, x->socket, x->pid, x->start, x->ticks);
	}
}

static bool
same(const struct servers *a, const struct servers *b)
{
	bool same = a->n == b->n && strcmp(a->boot, b->boot) == 0;

	for (size_t i = 0; i < a->n && same; i++) {
		const struct server *x = find(b, a->v[i].pid, a->v[i].start);

		same = x != NULL && x->ticks == a->v[i].ticks;
	}
	return same;
}

bool
startup_knows(struct world *w, const struct candidates *all)
{
	struct store *store = world_store(w, false, NULL);
	struct servers was = { .n = 0 }, now = { .n = 0 };
	bool knows = true;

	if (store != NULL && load(store, &was, NULL) >= 0) {
		collect(all, &was, &now);
		knows = was.version > 0 ? same(&was, &now) : now.n == 0;
	}
	servers_release(&was);
	servers_release(&now);
	return knows;
}

int
startup_remember(struct world *w, const struct candidates *all, struct err *e)
{
	struct store *store = world_store(w, true, e);
	struct servers was = { .n = 0 }, now = { .n = 0 };
	int ret = store != NULL && load(store, &was, e) >= 0 ? 0 : -1;

	collect(all, &was, &now);
	now.version = was.version;
	/* another boot is startup's to notice */
	if (ret == 0 && !(was.version > 0 && rebooted(&was)) && !same(&was, &now))
		ret = save(store, &now, NULL, e);
	servers_release(&was);
	servers_release(&now);
	return ret;
}
