#include <stdlib.h>
#include <string.h>

#include "records/runs/runs.h"
#include "records/records_private.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"

static const char *const registered[] = { "registered" };
static const struct record_field fields[] = {
	F_TEXT(runner, "runner_id", id, 0),
	F_INT(runner, "life", generation, 0, 1),
	F_INT(runner, "registered_at", registered_at, 0, 0),
	F_INT(runner, "beat_at", heartbeat.wall_ms, 0, 0),
	F_INT(runner, "beat_boot_ms", heartbeat.boot_ms, 0, 0),
	F_WORD(runner, "boot_id", heartbeat.boot_id, 0),
	F_INT(runner, "pid_ns", heartbeat.pid_ns, 0, 0),
	F_WORD(runner, "host", heartbeat.host, FIELD_OPTIONAL),
	F_INT(runner, "pid", pid, 0, 0),
	F_INT(runner, "pid_start", pid_start, 0, 0),
};
const struct record_type runner_type = { .prefix = "runner:", .schema = 1, RECORD_SELF(runner),
	RECORD_ID(runner, id), .tags = registered, .n_tags = 1, .fields = FIELDS(fields) };

bool
runner_is_alive(const struct runner *r, const struct timestamp *now, int64_t threshold_ms)
{
	int64_t age = timestamp_age(&r->heartbeat, now);
	enum proc_life life = LIFE_ELSEWHERE;

	if (age == AGE_OTHER_BOOT)
		return false;
	if (r->pid != 0 && !host_is_other(r->heartbeat.host))
		life = proc_life_in(r->heartbeat.pid_ns, r->pid, r->pid_start, now);
	if (life != LIFE_ELSEWHERE)
		return life != LIFE_GONE;
	return age >= 0 && age <= threshold_ms;
}

int
runner_load(struct store *s, const char *id, struct runner *out, struct err *e)
{
	return record_load(s, &runner_type, id, out, e);
}

struct registration {
	const char *id;
	int64_t pid, start;
	const struct timestamp *now;
};

static int
commit_runner(int (*verb)(struct txn *, void *, struct err *), struct store *s, struct registration *x,
    struct err *e)
{
	if (txn_run(s, verb, x, e) == 0)
		return 0;
	if (e == NULL || strcmp(e->name, "conflict") != 0)
		return -1;
	err_set(
	    e, GT_AGAIN, "conflict", "the record of the runner %s changes too often to be written", x->id);
	return err_hint(e, "run the command again; two programs may use the same id");
}

static int
register_once(struct txn *t, void *arg, struct err *e)
{
	const struct registration *x = arg;
	struct runner r;
	int found = runner_load(t->s, x->id, &r, e);

	if (found < 0)
		return -1;
	record_set(&r.id, x->id);
	r.generation++;
	r.registered_at = x->now->wall_ms;
	r.heartbeat = *x->now;
	r.pid = x->pid;
	r.pid_start = x->start;
	txn_put(t, &runner_type, &r);
	txn_event(t, "runner.registered", x->id, NULL, NULL);
	runner_release(&r);
	return 0;
}

int
runner_register(struct store *s, const char *id, int64_t pid, const struct timestamp *now, struct runner *out,
    struct err *e)
{
	int64_t start = pid > 0 ? (int64_t)proc_ticks((pid_t)pid) : 0;
	struct registration x = { id, pid, start, now };

	memset(out, 0, sizeof *out);
	if (record_check_id("the id of a runner", id, e) != 0)
		return -1;
	if (pid > 0 && start == 0 && proc_life((pid_t)pid, 0) != LIFE_GONE)
		return proc_refuse_unread((pid_t)pid, e);
	if (pid != 0 && start == 0) {
		err_set(e, GT_FAIL, "gone", "no running process %lld", (long long)pid);
		return err_hint(e, "use the pid of the runner, or no pid and send heartbeats");
	}
	if (commit_runner(register_once, s, &x, e) != 0)
		return -1;
	return runner_load(s, id, out, e) == 1 ? 0 : -1;
}

/* NULL: it is registered here, in this life of the machine, or of its container when it told a process. */
static const char *
unregistered(const struct runner *r, const struct timestamp *now)
{
	if (r == NULL)
		return "";
	if (host_is_other(r->heartbeat.host))
		return " on this host";
	if (timestamp_age(&r->heartbeat, now) == AGE_OTHER_BOOT)
		return " since the last boot";
	return r->pid != 0 && timestamp_other_space(r->heartbeat.pid_ns, now) ? " in this container" : NULL;
}

static int
renew_once(struct txn *t, void *arg, struct err *e)
{
	const struct registration *x = arg;
	struct runner r;
	int found = runner_load(t->s, x->id, &r, e);
	const char *where = found >= 0 ? unregistered(found > 0 ? &r : NULL, x->now) : NULL;

	if (found > 0 && where == NULL) {
		r.heartbeat = *x->now;
		txn_put(t, &runner_type, &r);
	}
	runner_release(&r);
	if (where == NULL)
		return found < 0 ? -1 : 0;
	err_set(e, GT_REFUSED, "unregistered", "the runner %.200s is not registered%s", x->id, where);
	return err_hint(e,
	    "gt-recover records runner register %.200s; its earlier claims are released", x->id);
}

int
runner_heartbeat(struct store *s, const char *id, const struct timestamp *now, struct err *e)
{
	struct registration x = { .id = id, .now = now };

	return commit_runner(renew_once, s, &x, e);
}

int
runner_list_read(struct store *s, struct runner_list *out, struct err *e)
{
	return record_list_read(s, &runner_type, NULL, out, e);
}

static int
by_id(const void *id, const void *runner)
{
	return strcmp(id, ((const struct runner *)runner)->id);
}

const struct runner *
runner_list_find(const struct runner_list *list, const char *id)
{
	return list->n > 0 ? bsearch(id, list->v, list->n, sizeof *list->v, by_id) : NULL;
}

void
runner_release(struct runner *r)
{
	record_free(&runner_type, r);
}

void
runner_list_release(struct runner_list *list)
{
	record_list_free(&runner_type, list);
}
