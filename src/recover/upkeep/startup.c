#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recover/upkeep/upkeep.h"
#include "recover/upkeep/upkeep_private.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "config/config.h"
#include "detect/detect.h"
#include "process/proc.h"
#include "records/records.h"
#include "records/hooks/hooks.h"
#include "recover/recover.h"
#include "store/store.h"
#include "tmux/tmux.h"

#define HOUR_MS ((int64_t)3600000)

static void
tidy_folder(const char *state_dir, const char *folder, int64_t age_ms)
{
	char *path = io_join(state_dir, folder);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;
	struct stat st;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		bool leftover = d->d_name[0] == '.' || str_ends(d->d_name, ".taken");

		if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
			continue;
		if (io_writer_died(d->d_name) ||
		    clock_wall_ms() - (int64_t)st.st_mtime * 1000 > (leftover ? HOUR_MS : age_ms))
			unlinkat(fd, d->d_name, 0);
	}
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	free(path);
}

/* A lock file whose holder was killed. Only an old one: to try a lock is to hold it for a moment. */
static void
tidy_locks(const char *state_dir)
{
	char *path = io_join(state_dir, "locks");
	DIR *dir = opendir(path);
	struct dirent *d;
	struct stat st;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		char *file;
		int fd;

		if (d->d_name[0] == '.' || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode) || clock_wall_ms() - (int64_t)st.st_mtime * 1000 < HOUR_MS)
			continue;
		file = io_join(path, d->d_name);
		fd = io_lock(file, 0, NULL);
		io_unlock(file, fd);
		free(file);
	}
	if (dir != NULL)
		closedir(dir);
	free(path);
}

static bool
has_ended(struct store *store, const char *id)
{
	struct attempt a;
	bool ended;

	if (attempt_load(store, id, &a, NULL) != 1)
		return false;
	ended = attempt_phase_is_final(a.phase);
	attempt_release(&a);
	return ended;
}

void
upkeep_tidy_prompts(struct app *w)
{
	char *path = io_join(w->state_dir, "prompts");
	DIR *dir = opendir(path);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		struct store *store =
		    str_ends(d->d_name, ".txt") && d->d_name[0] != '.' ? app_store(w, false, NULL) : NULL;
		char *id = xstrndup(d->d_name, strlen(d->d_name) - (store != NULL ? strlen(".txt") : 0));

		if (store != NULL && has_ended(store, id))
			unlinkat(dirfd(dir), d->d_name, 0);
		free(id);
	}
	if (dir != NULL)
		closedir(dir);
	free(path);
}

static void
tidy_activity(struct app *w)
{
	struct store *store = app_store(w, false, NULL);

	if (store != NULL)
		activity_expire(store, store_now(store) - config_ms(w->config, "snapshot_age"), NULL, NULL);
}

void
upkeep_tidy(struct app *w)
{
	if (w->dry)
		return;
	tidy_locks(w->state_dir);
	upkeep_tidy_prompts(w);
	tidy_activity(w);
	upkeep_tidy_folders(w);
}

void
upkeep_tidy_folders(const struct app *w)
{
	tidy_folder(w->state_dir, "contexts", config_ms(w->config, "snapshot_age"));
	/* of an attempt that nobody knows */
	tidy_folder(w->state_dir, "prompts", config_ms(w->config, "snapshot_age"));
	tidy_folder(w->state_dir, "starts", config_ms(w->config, "snapshot_age"));
	tidy_folder(w->state_dir, "teams", config_ms(w->config, "snapshot_age"));
}

void
upkeep_tidy_prompt(struct app *w, const char *recovery_id)
{
	char *name = xasprintf("%s.txt", recovery_id), *path = app_path(w, "prompts", name, false, NULL);

	if (path != NULL && !w->dry)
		unlink(path);
	free(path);
	free(name);
}

#define KEY "servers:last"
#define TAG "servers"

struct server {
	char *socket;
	int64_t pid, start;		/* start: as tmux tells, seconds since 1970 */
	int64_t ticks;			/* start of the process, field 22 of /proc/PID/stat */
	uint64_t pid_ns;		/* namespace of the pid; 0: not known */
	int64_t seen_boot_ms;		/* the last sign of life, ms since the boot */
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
add(struct servers *s, const struct server *x)
{
	s->v = vec_room(s->v, s->n, &s->cap, sizeof *s->v);
	s->v[s->n] = *x;
	s->v[s->n++].socket = xstrdup(x->socket);
}

/* pid_ns 0: any. */
static const struct server *
find(const struct servers *s, int64_t pid, int64_t start, uint64_t pid_ns)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].pid == pid && s->v[i].start == start &&
		    (s->v[i].pid_ns == pid_ns || s->v[i].pid_ns == 0 || pid_ns == 0))
			return &s->v[i];
	return NULL;
}

static void
here(char boot[40])
{
	struct timestamp now;

	timestamp_now(&now);
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

		struct server x = {
			.pid = json_number(o, "pid", 0), .start = json_number(o, "start", 0),
			.ticks = json_number(o, "ticks", 0), .pid_ns = (uint64_t)json_number(o, "pid_ns", 0),
			.seen_boot_ms = json_number(o, "seen_boot_ms", 0),
		};
		char *socket = xstrdup(json_text(o, "socket", ""));

		x.socket = socket;
		add(s, &x);
		free(socket);
	}
	json_decref(v);
	store_record_release(&r);
	return 1;
}

static int
save_servers(struct store *store, struct servers *s, const struct event *ev, struct err *e)
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
		json_put_int(one, "pid_ns", (int64_t)s->v[i].pid_ns);
		json_put_int(one, "seen_boot_ms", s->v[i].seen_boot_ms);
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
	struct timestamp now;
	enum proc_life life;

	timestamp_now(&now);
	if (strcmp(now.boot_id, s->boot) != 0)
		return false;
	life = proc_life_in(x->pid_ns, x->pid, x->ticks, &now);
	return life == LIFE_ELSEWHERE ? now.boot_ms - x->seen_boot_ms <= PROC_SEEN_MS : life != LIFE_GONE;
}

static bool
rebooted(const struct servers *s)
{
	char boot[sizeof s->boot];

	here(boot);
	return strcmp(boot, s->boot) != 0;
}

bool
startup_due(struct app *w)
{
	struct store *store = app_store(w, false, NULL);
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
finish_attempt(struct app *w, struct attempt *a, const char *why, struct startup *out, struct err *e)
{
	const struct profile *p = a->agent != NULL ? profile_find(w->profiles, a->agent) : NULL;
	char *dir = p != NULL && *p->folder != '\0' ? profile_folder(p, own_variable, NULL) :
	    agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	int ret = recovery_finish_judged(w, a, dir, why, e);

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
		if (attempt_started(&list->v[i], a->id) ||
		    (by_gt && strcmp(list->v[i].session, a->session) == 0))
			return true;
	return false;
}

/*
 * A session that was missing is made again on the server that runs now. One that does not answer
 * may have it.
 */
static bool
lives_on(const struct app *w, const struct attempt *a)
{
	bool may = false;

	if (a->phase < PHASE_RESPAWNED || a->class == NULL ||
	    strcmp(a->class, detect_status_name(AGENT_MISSING)) != 0)
		return false;
	for (size_t i = 0; i < w->n_servers && !may; i++) {
		struct panes list = { .n = 0 };
		struct err e = ERR_INIT;

		may = pane_list_bare(&w->servers[i], &list, &e) == 0 ? made(a, &list)
								     : strcmp(e.name, "no-server") != 0;
		pane_list_release(&list);
	}
	return may;
}

static bool
server_may_run(const struct attempt *a)
{
	struct timestamp now;

	timestamp_now(&now);
	return !timestamp_other_space((uint64_t)a->pid_ns, &now) &&
	    proc_life((pid_t)a->server_pid, 0) != LIFE_GONE;
}

/* Its server is gone, and with it what the attempt had started. */
static bool
is_gone(const struct app *w, const struct servers *was, const struct attempt *a)
{
	const struct server *x = find(was, a->server_pid, a->server_start, (uint64_t)a->pid_ns);

	if (attempt_phase_is_final(a->phase) || attempt_is_contained(a))
		return false;
	/* a server that no pass saw with an agent in it is judged by its process alone */
	if (x != NULL ? runs(was, x) : !rebooted(was) && server_may_run(a))
		return false;
	return !lives_on(w, a);
}

/* Under the lock that a recovery of the pane holds. */
static int
end_if_gone(struct app *w, const struct servers *was, const char *id, struct startup *out, struct err *e)
{
	struct attempt a;
	struct err busy = ERR_INIT;
	char *lock;
	int found = attempt_load(w->store, id, &a, e), fd = -1, ret = found < 0 ? -1 : 0;

	if (found <= 0)
		return ret;
	if (is_gone(w, was, &a)) {
		lock = app_pane_lock(w, a.server_pid, a.server_start, a.pane_id, e);
		fd = lock != NULL ? io_lock(lock, 0, &busy) : -1;
		if (fd >= 0)
			ret = finish_attempt(w, &a,
			    rebooted(was) ? "the machine was rebooted before it finished"
					  : "its tmux server ended before it finished",
			    out, e);
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
	struct event ev = {
		.kind = "host.rebooted", .subject = was->boot, .text = "the machine was rebooted"
	};
	char *words = NULL;
	int ret;

	out->rebooted = rebooted(was);
	here(now.boot);
	for (size_t i = 0; i < was->n; i++) {
		const struct server *x = &was->v[i];

		if (runs(was, x)) {
			add(&now, x);
			continue;
		}
		out->servers_ended++;
		ev.subject = x->socket;
	}
	if (!out->rebooted) {
		ev.kind = "server.ended";
		ev.text = words = xasprintf(
		    "%zu tmux server%s ended", out->servers_ended, out->servers_ended == 1 ? "" : "s");
	}
	ret = save_servers(store, &now, &ev, e);
	servers_release(&now);
	free(words);
	return ret;
}

/* Only messages to a receiver that is not ACTIVE are judged, so sessions come before them. */
static int
settle_ledger(
    struct app *w, struct store *store, const struct run_recovery *how, struct startup *out, struct err *e)
{
	struct tree_resumable back = { .all = strcmp(config_text(w->config, "resume_scope"), "all") == 0 };
	enum reply_policy policy =
	    (enum reply_policy)message_policy_parse(config_text(w->config, "reply_policy"));
	struct timestamp now;

	store_timestamp(store, &now);
	if (run_recover(store, how, &now, &out->runs, e) != 0 ||
	    recovery_rebind_living(w, &out->adopted, e) != 0 ||
	    session_reconcile(store, session_alive_now, &now, &out->sessions, e) != 0 ||
	    tree_repair(store, session_alive_now, &now, &out->tree, &back, e) != 0 ||
	    lock_unlock_stale(store, &now, &out->locks, e) != 0)
		return -1;
	out->back = back.list;
	return message_reconcile(store, policy, &out->messages, e);
}

static int
settle_attempts(struct app *w, struct store *store, struct startup *out, struct err *e)
{
	struct servers was = { .n = 0 };
	struct attempt_list open = { .n = 0 };
	bool due = startup_due(w);
	int ret = load(store, &was, e) >= 0 ? attempt_list_open(store, &open, e) : -1;

	for (size_t i = 0; i < open.n && ret == 0; i++)
		ret = end_if_gone(w, &was, open.v[i].id, out, e);
	if (ret == 0 && due)
		ret = forget_ended(store, &was, out, e);
	attempt_list_release(&open);
	servers_release(&was);
	return ret;
}

int
startup_run(struct app *w, const struct run_recovery *how, struct startup *out, struct err *e)
{
	struct store *store = app_store(w, false, e);

	memset(out, 0, sizeof *out);
	if (store == NULL)
		return e->code == 0 ? 0 : -1;
	if (store_check(store, e) != 0 || settle_ledger(w, store, how, out, e) != 0 ||
	    settle_attempts(w, store, out, e) != 0)
		return -1;
	upkeep_tidy(w);
	return 0;
}

void
startup_release(struct startup *s)
{
	session_list_release(&s->back);
	memset(s, 0, sizeof *s);
}

bool
startup_changed(const struct startup *s)
{
	return s->rebooted ||
	    s->adopted + s->servers_ended + s->closed + s->acknowledged + s->runs.reset_to_pending +
		s->runs.marked_failed + s->runs.marked_stopped + s->sessions.suspended + s->tree.linked +
		s->tree.ended + s->tree.made_roots + s->locks + s->messages.flagged + s->messages.asked +
		s->messages.replayed >
	    0;
}

/* ---- what is there now ---- */

/* What ended since the pass began stays until startup has seen to it. */
static void
collect(const struct candidate_list *all, const struct servers *was, struct servers *now)
{
	struct timestamp at;

	timestamp_now(&at);
	here(now->boot);
	for (size_t i = 0; i < all->n; i++) {
		const struct pane *p = &all->v[i].pane;
		const struct server x = { p->socket_path, p->server_pid, p->server_start,
		    (int64_t)proc_ticks((pid_t)p->server_pid), at.pid_ns, at.boot_ms };

		/*
		 * a session that is gone may tell of a server that is gone, and of a pid that is
		 * another's now
		 */
		if (detect_status_has_pane(all->v[i].status) && x.ticks != 0 &&
		    find(now, x.pid, x.start, x.pid_ns) == NULL)
			add(now, &x);
	}
	for (size_t i = 0; i < was->n; i++) {
		const struct server *x = &was->v[i];

		/* those of another container are not among ours */
		if ((!runs(was, x) || timestamp_other_space(x->pid_ns, &at)) &&
		    find(now, x->pid, x->start, x->pid_ns) == NULL)
			add(now, x);
	}
}

static bool
same(const struct servers *a, const struct servers *b)
{
	bool same = a->n == b->n && strcmp(a->boot, b->boot) == 0;

	for (size_t i = 0; i < a->n && same; i++) {
		const struct server *x = find(b, a->v[i].pid, a->v[i].start, a->v[i].pid_ns);

		same = x != NULL && x->ticks == a->v[i].ticks;
	}
	return same;
}

bool
startup_is_recorded(struct app *w, const struct candidate_list *all)
{
	struct store *store = app_store(w, false, NULL);
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
startup_record(struct app *w, const struct candidate_list *all, struct err *e)
{
	struct store *store = app_store(w, true, e);
	struct servers was = { .n = 0 }, now = { .n = 0 };
	int ret = store != NULL && load(store, &was, e) >= 0 ? 0 : -1;

	collect(all, &was, &now);
	now.version = was.version;
	/* another boot is startup's to notice */
	if (ret == 0 && !(was.version > 0 && rebooted(&was)) && !same(&was, &now))
		ret = save_servers(store, &now, NULL, e);
	servers_release(&was);
	servers_release(&now);
	return ret;
}

/* ---- signs of life, for other containers ---- */

static int
renew_servers(struct store *store, const struct timestamp *now, struct err *e)
{
	struct servers was;
	int found = load(store, &was, e), ret = found < 0 ? -1 : 0;
	bool due = false;

	for (size_t i = 0; i < was.n && strcmp(was.boot, now->boot_id) == 0; i++) {
		struct server *x = &was.v[i];
		int64_t age = now->boot_ms - x->seen_boot_ms;

		if (timestamp_other_space(x->pid_ns, now) || !runs(&was, x))
			continue;
		if (x->pid_ns == now->pid_ns && age >= 0 && age < PROC_RENEW_MS)
			continue;
		x->pid_ns = now->pid_ns;
		x->seen_boot_ms = now->boot_ms;
		due = true;
	}
	if (ret == 0 && due)
		ret = save_servers(store, &was, NULL, e);
	servers_release(&was);
	return ret;
}

int
startup_renew(struct app *w, struct err *e)
{
	struct store *store = app_store(w, false, e);
	struct timestamp now;

	if (store == NULL)
		return e->code == 0 ? 0 : -1;
	timestamp_now(&now);
	return session_list_renew(store, &now, e) == 0 ? renew_servers(store, &now, e) : -1;
}
