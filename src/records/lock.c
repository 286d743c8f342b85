#include <stdlib.h>
#include <string.h>

#include "records/records_private.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"

static const char *const tags[] = { "free", "held" };
static const struct record_field fields[] = {
	F_TEXT(lock, "holder", holder, FIELD_FILLED),
	F_TEXT(lock, "host", host, FIELD_FILLED),
	F_INT(lock, "fence", fence, 0, 0),
	F_INT(lock, "lease_ms", lease_ms, 0, LOCK_LEASE_MS),
	F_INT(lock, "acquired_at", acquired_at, 0, 0),
	F_INT(lock, "renewed_at", renewed.wall_ms, 0, 0),
	F_INT(lock, "renewed_boot_ms", renewed.boot_ms, 0, 0),
	F_WORD(lock, "boot_id", renewed.boot_id, 0),
	F_INT(lock, "pid_ns", renewed.pid_ns, 0, 0),
	F_INT(lock, "pid", pid, 0, 0),
	F_INT(lock, "pid_start", pid_start, 0, 0),
};
const struct record_type lock_type = { .prefix = "lock:", .schema = 1, RECORD_SELF(lock),
	RECORD_ID(lock, name), RECORD_STATE(lock, held, tags), .fields = FIELDS(fields) };

void
lock_release(struct lock *l)
{
	free(l->taken_from);
	record_free(&lock_type, l);
}

void
lock_list_release(struct lock_list *list)
{
	record_list_free(&lock_type, list);
}

int
lock_load(struct store *s, const char *name, struct lock *out, struct err *e)
{
	return record_load(s, &lock_type, name, out, e);
}

int
lock_list_read(struct store *s, bool all, struct lock_list *out, struct err *e)
{
	return record_list_read(s, &lock_type, all ? NULL : tags[true], out, e);
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
	record_set(&l->host, host);
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

static int
refuse_held(const struct lock *l, const struct timestamp *now, struct err *e)
{
	int64_t left = l->lease_ms -
	    (same_boot(l, now) ? now->boot_ms - l->renewed.boot_ms : now->wall_ms - l->renewed.wall_ms);

	if (life_of(l, now) != LIFE_ELSEWHERE)
		err_set(e, GT_AGAIN, "held",
		    "%.100s holds the lock %.200s while its process %lld%s runs", l->holder, l->name,
		    (long long)l->pid, same_pids(l, now) ? "" : " in another container");
	else
		err_set(e, GT_AGAIN, "held",
		    "%.100s holds the lock %.200s for %lld more seconds", l->holder,
		    l->name, (long long)(left + 999) / 1000);
	return err_hint(e, "Try again later; gt-recover records lock list shows the holders");
}

static int
acquire_once(struct txn *t, void *arg, struct err *e)
{
	struct lock_step *x = arg;
	struct lock *l = x->l;
	const char *why = NULL;
	char *text = NULL;
	int found;

	lock_release(l);
	if ((found = lock_load(t->s, x->who->name, l, e)) < 0)
		return -1;
	if (found > 0 && l->held && is_his(l, x)) {
		x->ret = 0;
		renew(l, x);
		txn_put(t, &lock_type, l);
		return 0;
	}
	if (found > 0 && l->held && (why = lock_stale_reason(l, x->now)) == NULL)
		return refuse_held(l, x->now, e);
	if (found == 0)
		l->name = xstrdup(x->who->name);
	if (why != NULL) {
		l->taken_from = xasprintf("%s had it, but %s", l->holder, why);
		text = xasprintf("%s; %s", x->who->holder, l->taken_from);
	}
	record_set(&l->holder, x->who->holder);
	l->held = true;
	l->fence++;
	l->pid = l->pid_start = l->lease_ms = 0;
	l->acquired_at = x->now->wall_ms;
	renew(l, x);
	x->ret = 1;
	txn_put(t, &lock_type, l);
	txn_event(t, why != NULL ? "lock.taken-over" : "lock.acquired", l->name, NULL,
	    why != NULL ? text : l->holder);
	free(text);
	return 0;
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
		err_set(e, GT_FAIL, "gone", "no running process %lld", (long long)who->pid);
		return err_hint(
		    e, "Use the pid of the holder, or no pid and renew the lock within its lease");
	}
	return 0;
}

static int
take_step(int (*verb)(struct txn *, void *, struct err *), struct store *s, const struct lock_holder *who,
    const struct timestamp *now, struct lock *out, struct err *e)
{
	struct lock_step x = { .who = who, .now = now, .l = out };

	memset(out, 0, sizeof *out);
	if (check(who, &x, e) == 0 && txn_run(s, verb, &x, e) == 0)
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

/* The lock as it is, when it is his. */
static int
load_his(struct store *s, struct lock_step *x, struct err *e)
{
	int found;

	lock_release(x->l);
	found = lock_load(s, x->who->name, x->l, e);
	if (found == 0) {
		err_set(e, GT_NOTHING, "not-found", "no lock named %.200s", x->who->name);
		found = err_hint(e, "to create it: gt-recover records lock acquire");
	} else if (found > 0 && strcmp(x->l->holder, x->who->holder) != 0) {
		err_set(e, GT_REFUSED, "not-yours", "the lock %.200s is not held by %.100s but by %.100s",
		    x->l->name, x->who->holder, x->l->holder);
		found = err_hint(e, "The resource may be in use by others; acquire the lock again");
	} else if (found > 0 && x->who->fence != 0 && x->who->fence != x->l->fence) {
		err_set(e, GT_REFUSED, "not-yours",
		    "the lock %.200s was acquired again: its number is now %lld", x->l->name,
		    (long long)x->l->fence);
		found = err_hint(e, "The resource may be in use by others; acquire the lock again");
	}
	return found > 0 ? 0 : -1;
}

static int
renew_once(struct txn *t, void *arg, struct err *e)
{
	struct lock_step *x = arg;

	if (load_his(t->s, x, e) != 0)
		return -1;
	if (!x->l->held) {
		err_set(e, GT_REFUSED, "not-held", "the lock %.200s was released", x->l->name);
		return err_hint(e, "to acquire it again: gt-recover records lock acquire");
	}
	if (x->who->pid == 0 && life_of(x->l, x->now) == LIFE_GONE) {
		err_set(e, GT_REFUSED, "gone",
		    "the process %lld of %.100s has ended, so the lock %.200s is lost",
		    (long long)x->l->pid, x->l->holder, x->l->name);
		return err_hint(e, "The resource may be in use by others; acquire the lock again");
	}
	renew(x->l, x);
	txn_put(t, &lock_type, x->l);
	return 0;
}

int
lock_renew(struct store *s, const struct lock_holder *who, const struct timestamp *now, struct lock *out,
    struct err *e)
{
	return take_step(renew_once, s, who, now, out, e);
}

static int
put_back_once(struct txn *t, void *arg, struct err *e)
{
	struct lock_step *x = arg;

	if (load_his(t->s, x, e) != 0)
		return -1;
	x->ret = x->l->held;
	if (x->l->held) {
		x->l->held = false;
		txn_put(t, &lock_type, x->l);
		txn_event(t, "lock.released", x->l->name, NULL, x->l->holder);
	}
	return 0;
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
		struct txn t = { .s = s };
		enum commit answer;
		char *text;

		if (why == NULL)
			continue;
		list.v[i].held = false;
		text = xasprintf("%s had it, but %s", list.v[i].holder, why);
		txn_put(&t, &lock_type, &list.v[i]);
		txn_event(&t, "lock.expired", list.v[i].name, NULL, text);
		answer = txn_commit(&t, e);
		*n += answer == COMMIT_DONE;
		ret = answer == COMMIT_DONE || answer == COMMIT_CONFLICT ? 0 : -1;
		free(text);
	}
	lock_list_release(&list);
	return ret;
}
