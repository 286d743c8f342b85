#include <stdlib.h>
#include <string.h>

#include "records/records.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#define PREFIX "lock:"
#define SCHEMA 1
#define HELD "held"
#define FREE "free"

void
lock_release(struct lock *l)
{
	free(l->name);
	free(l->holder);
	free(l->host);
	free(l->taken_from);
	memset(l, 0, sizeof *l);
}

void
lock_list_release(struct lock_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		lock_release(&list->v[i]);
	free(list->v);
	memset(list, 0, sizeof *list);
}

static char *
to_json(const struct lock *l)
{
	json_t *o = json_object();

	json_put_int(o, "schema_version", SCHEMA);
	json_put(o, "holder", l->holder);
	json_put(o, "host", l->host);
	json_put_int(o, "fence", l->fence);
	json_put_int(o, "lease_ms", l->lease_ms);
	json_put_int(o, "acquired_at", l->acquired_at);
	json_put_int(o, "renewed_at", l->renewed.wall_ms);
	json_put_int(o, "renewed_boot_ms", l->renewed.boot_ms);
	json_put(o, "boot_id", l->renewed.boot_id);
	json_put_int(o, "pid_ns", (int64_t)l->renewed.pid_ns);
	json_put_int(o, "pid", l->pid);
	json_put_int(o, "pid_start", l->pid_start);
	return record_value(o);
}

static int
from_record(const struct record *r, struct lock *l, struct err *e)
{
	json_t *o = record_object(r, SCHEMA, e);

	memset(l, 0, sizeof *l);
	if (o == NULL)
		return -1;
	l->version = r->version;
	l->held = strcmp(r->tag, HELD) == 0;
	l->name = xstrdup(r->key + strlen(PREFIX));
	l->holder = xstrdup(json_text(o, "holder", ""));
	l->host = xstrdup(json_text(o, "host", ""));
	l->fence = json_number(o, "fence", 0);
	l->lease_ms = json_number(o, "lease_ms", LOCK_LEASE_MS);
	l->acquired_at = json_number(o, "acquired_at", 0);
	l->renewed.wall_ms = json_number(o, "renewed_at", 0);
	l->renewed.boot_ms = json_number(o, "renewed_boot_ms", 0);
	snprintf(l->renewed.boot_id, sizeof l->renewed.boot_id, "%s", json_text(o, "boot_id", ""));
	l->renewed.pid_ns = (uint64_t)json_number(o, "pid_ns", 0);
	l->pid = json_number(o, "pid", 0);
	l->pid_start = json_number(o, "pid_start", 0);
	json_decref(o);
	return 0;
}

int
lock_load(struct store *s, const char *name, struct lock *out, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", name);
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(out, 0, sizeof *out);
	if (found > 0 && from_record(&r, out, e) != 0)
		found = -1;
	store_record_release(&r);
	free(key);
	return found;
}

static int
add_lock(const struct record *r, void *arg, struct err *e)
{
	struct lock_list *out = arg;

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	if (from_record(r, &out->v[out->n], e) != 0)
		return -1;
	out->n++;
	return 0;
}

int
lock_list_read(struct store *s, bool all, struct lock_list *out, struct err *e)
{
	return store_each(s, PREFIX, all ? NULL : HELD, add_lock, out, e);
}

static bool
same_boot(const struct lock *l, const struct timestamp *now)
{
	return now->boot_id[0] != '\0' && strcmp(l->renewed.boot_id, now->boot_id) == 0;
}

/* LIFE_ELSEWHERE also without a process: the lease decides. */
static enum proc_life
life_of(const struct lock *l, const struct timestamp *now)
{
	if (l->pid == 0 || !same_boot(l, now))
		return LIFE_ELSEWHERE;
	return proc_life_in(l->renewed.pid_ns, l->pid, l->pid_start, now);
}

/* The pid of another boot or namespace is no process's here. */
static bool
same_pids(const struct lock *l, const struct timestamp *now)
{
	return same_boot(l, now) && !timestamp_other_space(l->renewed.pid_ns, now);
}

const char *
lock_stale_reason(const struct lock *l, const struct timestamp *now)
{
	int64_t age =
	    same_boot(l, now) ? now->boot_ms - l->renewed.boot_ms : now->wall_ms - l->renewed.wall_ms;
	enum proc_life life = life_of(l, now);

	if (life != LIFE_ELSEWHERE)
		return life == LIFE_GONE ? "its process is gone" : NULL;
	return age > l->lease_ms ? "its lease has ended" : NULL;
}

/* ---- the verbs ---- */

struct lock_step {
	const struct lock_holder *who;
	const struct timestamp *now;
	struct lock *l;				/* as it is afterwards */
	int64_t pid_start;
	int ret;				/* what the verb answers when all went well */
};

static enum commit
put_lock(struct store *s, struct lock *l, const char *kind, const char *text, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", l->name), *value = to_json(l);
	struct change c = { CHANGE_PUT, key, l->version, l->held ? HELD : FREE, value };
	struct event ev = { .kind = kind, .subject = l->name, .text = text };
	enum commit answer = kind != NULL ? event_commit(s, &c, 1, &ev, e) : store_commit(s, &c, 1, e);

	free(key);
	free(value);
	return answer;
}

static void
renew(struct lock *l, const struct lock_step *x)
{
	char host[HOST_MAX + 1];

	if (x->who->pid != 0 || !same_pids(l, x->now)) {
		/* a process of another boot or namespace is no process of the one that it is renewed on */
		l->pid = x->who->pid;
		l->pid_start = x->pid_start;
	}
	host_name(host);
	free(l->host);
	l->host = xstrdup(host);
	l->renewed = *x->now;
	l->lease_ms = x->who->lease_ms > 0 ? x->who->lease_ms : l->lease_ms > 0 ? l->lease_ms : LOCK_LEASE_MS;
}

/* The same word; and where a process has it, that process. */
static bool
is_his(const struct lock *l, const struct lock_step *x)
{
	if (strcmp(l->holder, x->who->holder) != 0)
		return false;
	return l->pid == 0 || (same_pids(l, x->now) && l->pid == x->who->pid && l->pid_start == x->pid_start);
}

static enum commit
refuse_held(const struct lock *l, const struct timestamp *now, struct err *e)
{
	int64_t left = l->lease_ms -
	    (same_boot(l, now) ? now->boot_ms - l->renewed.boot_ms : now->wall_ms - l->renewed.wall_ms);

	if (life_of(l, now) != LIFE_ELSEWHERE)
		err_set(e, GT_AGAIN, "held",
		    "%.100s has the lock %.200s, as long as its process %lld%s lives", l->holder, l->name,
		    (long long)l->pid, same_pids(l, now) ? "" : " in another container");
	else
		err_set(e, GT_AGAIN, "held",
		    "%.100s has the lock %.200s for %lld more seconds, if it does not renew it", l->holder,
		    l->name, (long long)(left + 999) / 1000);
	err_hint(e, "Try again later; gt-recover lock list shows who has what");
	return COMMIT_ERROR;
}

static enum commit
acquire_once(struct store *s, void *arg, struct err *e)
{
	struct lock_step *x = arg;
	const char *why = NULL;
	char *text = NULL;
	enum commit answer;
	int found;

	lock_release(x->l);
	if ((found = lock_load(s, x->who->name, x->l, e)) < 0)
		return COMMIT_ERROR;
	if (found > 0 && x->l->held && is_his(x->l, x)) {
		x->ret = 0;
		renew(x->l, x);
		return put_lock(s, x->l, NULL, NULL, e);
	}
	if (found > 0 && x->l->held && (why = lock_stale_reason(x->l, x->now)) == NULL)
		return refuse_held(x->l, x->now, e);
	if (found == 0)
		x->l->name = xstrdup(x->who->name);
	if (why != NULL) {
		x->l->taken_from = xasprintf("%s had it, but %s", x->l->holder, why);
		text = xasprintf("%s; %s", x->who->holder, x->l->taken_from);
	}
	free(x->l->holder);
	x->l->holder = xstrdup(x->who->holder);
	x->l->held = true;
	x->l->fence++;
	x->l->pid = x->l->pid_start = x->l->lease_ms = 0;
	x->l->acquired_at = x->now->wall_ms;
	renew(x->l, x);
	x->ret = 1;
	answer = put_lock(s, x->l, why != NULL ? "lock.taken-over" : "lock.acquired",
	    why != NULL ? text : x->who->holder, e);
	free(text);
	return answer;
}

static int
check(const struct lock_holder *who, struct lock_step *x, struct err *e)
{
	if (record_check_id("the name of a lock", who->name, e) != 0 ||
	    record_check_id("the holder of a lock", who->holder, e) != 0)
		return -1;
	if (who->lease_ms < 0 || who->lease_ms > LOCK_LEASE_MAX_MS)
		return err_set(e, GT_USAGE, "lease", "a lease is 1 to %lld seconds long",
		    (long long)LOCK_LEASE_MAX_MS / 1000);
	x->pid_start = who->pid > 0 ? (int64_t)proc_ticks((pid_t)who->pid) : 0;
	if (who->pid > 0 && x->pid_start == 0 && proc_life((pid_t)who->pid, 0) != LIFE_GONE)
		return proc_refuse_unread((pid_t)who->pid, e);
	if (who->pid != 0 && x->pid_start == 0) {
		err_set(e, GT_FAIL, "gone", "there is no living process %lld", (long long)who->pid);
		return err_hint(
		    e, "Give the pid of the holder itself, or none and renew the lock within its lease");
	}
	return 0;
}

static int
take_step(enum commit (*verb)(struct store *, void *, struct err *), struct store *s,
    const struct lock_holder *who, const struct timestamp *now, struct lock *out, struct err *e)
{
	struct lock_step x = { .who = who, .now = now, .l = out };

	memset(out, 0, sizeof *out);
	if (check(who, &x, e) == 0 && record_retry_on_conflict(verb, s, &x, e) == 0)
		return x.ret;
	lock_release(out);
	return -1;
}

int
lock_acquire(struct store *s, const struct lock_holder *who, const struct timestamp *now, struct lock *out,
    struct err *e)
{
	return take_step(acquire_once, s, who, now, out, e);
}

/* The lock as it is, when it is his. COMMIT_ERROR with err. */
static enum commit
load_his(struct store *s, struct lock_step *x, struct err *e)
{
	int found;

	lock_release(x->l);
	found = lock_load(s, x->who->name, x->l, e);
	if (found == 0) {
		err_set(e, GT_NOTHING, "not-found", "there is no lock %.200s", x->who->name);
		err_hint(e, "gt-recover lock acquire makes it");
	} else if (found > 0 && strcmp(x->l->holder, x->who->holder) != 0) {
		err_set(e, GT_REFUSED, "not-yours", "the lock %.200s is not %.100s's but %.100s's",
		    x->l->name, x->who->holder, x->l->holder);
		err_hint(e, "What it guards may be in use by others; acquire it anew");
	} else if (found > 0 && x->who->fence != 0 && x->who->fence != x->l->fence) {
		err_set(e, GT_REFUSED, "not-yours",
		    "the lock %.200s was acquired again since: its number is %lld now", x->l->name,
		    (long long)x->l->fence);
		err_hint(e, "What it guards may be in use by others; acquire it anew");
	} else if (found > 0) {
		return COMMIT_DONE;
	}
	return COMMIT_ERROR;
}

static enum commit
renew_once(struct store *s, void *arg, struct err *e)
{
	struct lock_step *x = arg;

	if (load_his(s, x, e) != COMMIT_DONE)
		return COMMIT_ERROR;
	if (!x->l->held) {
		err_set(e, GT_REFUSED, "not-held", "the lock %.200s was put back", x->l->name);
		err_hint(e, "gt-recover lock acquire takes it again");
		return COMMIT_ERROR;
	}
	if (x->who->pid == 0 && life_of(x->l, x->now) == LIFE_GONE) {
		err_set(e, GT_REFUSED, "gone",
		    "the process %lld, by which %.100s had the lock %.200s, is gone, and the lock with it",
		    (long long)x->l->pid, x->l->holder, x->l->name);
		err_hint(e, "What it guards may be in use by others; acquire it anew");
		return COMMIT_ERROR;
	}
	renew(x->l, x);
	return put_lock(s, x->l, NULL, NULL, e);
}

int
lock_renew(struct store *s, const struct lock_holder *who, const struct timestamp *now, struct lock *out,
    struct err *e)
{
	return take_step(renew_once, s, who, now, out, e);
}

static enum commit
put_back_once(struct store *s, void *arg, struct err *e)
{
	struct lock_step *x = arg;

	if (load_his(s, x, e) != COMMIT_DONE)
		return COMMIT_ERROR;
	x->ret = x->l->held;
	if (!x->l->held)
		return COMMIT_DONE;
	x->l->held = false;
	return put_lock(s, x->l, "lock.released", x->l->holder, e);
}

int
lock_unlock(struct store *s, const struct lock_holder *who, const struct timestamp *now, struct lock *out,
    struct err *e)
{
	return take_step(put_back_once, s, who, now, out, e);
}

int
lock_unlock_stale(struct store *s, const struct timestamp *now, size_t *n, struct err *e)
{
	struct lock_list list = { .n = 0 };
	int ret = lock_list_read(s, false, &list, e);

	*n = 0;
	for (size_t i = 0; i < list.n && ret == 0; i++) {
		const char *why = lock_stale_reason(&list.v[i], now);
		char *text = why != NULL ? xasprintf("%s had it, but %s", list.v[i].holder, why) : NULL;
		enum commit answer = COMMIT_CONFLICT;

		list.v[i].held = why == NULL;
		if (why != NULL)
			answer = put_lock(s, &list.v[i], "lock.expired", text, e);
		*n += answer == COMMIT_DONE;
		ret = answer == COMMIT_DONE || answer == COMMIT_CONFLICT ? 0 : -1;
		free(text);
	}
	lock_list_release(&list);
	return ret;
}
