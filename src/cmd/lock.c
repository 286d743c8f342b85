#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "cmd/input.h"
#include "cmd/table.h"
#include "cmd/verb.h"
#include "ledger/lock.h"
#include "store/store.h"

struct said {
	json_t *o;				/* NULL: arguments */
	struct lock_holder who;
};

static int
read_number(const char *what, const char *text, int64_t *out, struct err *e)
{
	errno = 0;
	*out = strtoll(text, NULL, 10);
	if (strspn(text, "0123456789") == strlen(text) && errno == 0 && *out > 0 && *out <= INT64_MAX / 1000)
		return 0;
	return err_set(e, GT_USAGE, "usage", "\"%.40s\" is no %s", text, what);
}

/* NAME HOLDER and a number, or NAME and the rest as JSON on standard input. */
static int
read_said(const struct cli *cli, const char *command, const char *number, struct said *out, struct err *e)
{
	const char *const fields[] = { "holder", "lease", number };
	int64_t *third = strcmp(number, "pid") == 0 ? &out->who.pid : &out->who.fence;
	int ret = 0;

	memset(out, 0, sizeof *out);
	out->who.name = cli->args[0];
	if (cli->n_args == 1) {
		out->o = input_object(command, 4096, fields, sizeof fields / sizeof fields[0], e);
		if (out->o == NULL || input_text(out->o, "holder", true, &out->who.holder, e) < 0 ||
		    input_number(out->o, "lease", &out->who.lease_ms, e) < 0 || input_number(out->o, number, third, e) < 0)
			ret = -1;
	} else {
		out->who.holder = cli->args[1];
		ret = cli->n_args > 2 ? read_number(number, cli->args[2], third, e) : 0;
	}
	if (ret == 0 && cli->lease != NULL)
		ret = read_number("number of seconds", cli->lease, &out->who.lease_ms, e);
	out->who.lease_ms = out->who.lease_ms > LOCK_LEASE_MAX_MS / 1000 ? LOCK_LEASE_MAX_MS + 1 : out->who.lease_ms * 1000;
	if (ret != 0)
		json_decref(out->o);
	return ret;
}

static json_t *
lock_object(const struct lock *l, const struct moment *now)
{
	json_t *o = json_object();

	json_put(o, "name", l->name);
	json_put(o, "state", !l->held ? "free" : lock_stale(l, now) != NULL ? "stale" : "held");
	json_put(o, "holder", l->holder);
	json_put(o, "host", l->host);
	json_object_set_new(o, "pid", l->pid != 0 ? json_integer(l->pid) : json_null());
	json_put_int(o, "fence", l->fence);
	json_put_int(o, "lease", l->lease_ms / 1000);
	json_put_int(o, "acquired_at", l->acquired_at);
	json_put_int(o, "renewed_at", l->renewed.wall_ms);
	json_put(o, "taken_over", l->taken);
	return o;
}

static int
acquire(struct verb_job *j, struct err *e)
{
	struct moment now;
	struct lock l;
	struct said said;
	int ret;

	if (read_said(&j->cli, "lock acquire", "pid", &said, e) != 0)
		return -1;
	store_moment(j->store, &now);
	ret = lock_acquire(j->store, &said.who, &now, &l, e);
	json_decref(said.o);
	if (ret < 0)
		return -1;
	if (l.taken != NULL)
		say_warning(&j->say, "the lock %s was taken over: %s", l.name, l.taken);
	verb_json(j, "lock", lock_object(&l, &now));
	if (!j->cli.json)
		printf("%lld\n", (long long)l.fence);
	lock_release(&l);
	return GT_OK;
}

static int
renew(struct verb_job *j, struct err *e)
{
	struct moment now;
	struct lock l;
	struct said said;
	int ret;

	if (read_said(&j->cli, "lock renew", "fence", &said, e) != 0)
		return -1;
	store_moment(j->store, &now);
	ret = lock_renew(j->store, &said.who, &now, &l, e);
	json_decref(said.o);
	if (ret < 0)
		return -1;
	verb_json(j, "lock", lock_object(&l, &now));
	if (!j->cli.json)
		say_line(&j->say, "%s has the lock %s for %lld more seconds.", l.holder, l.name, (long long)l.lease_ms / 1000);
	lock_release(&l);
	return GT_OK;
}

static int
put_back(struct verb_job *j, struct err *e)
{
	struct moment now;
	struct lock l;
	struct said said;
	int ret;

	if (read_said(&j->cli, "lock release", "fence", &said, e) != 0)
		return -1;
	store_moment(j->store, &now);
	ret = lock_put_back(j->store, &said.who, &now, &l, e);
	json_decref(said.o);
	if (ret < 0)
		return -1;
	verb_json(j, "lock", lock_object(&l, &now));
	if (!j->cli.json)
		say_line(&j->say, "The lock %s is %s.", l.name, ret > 0 ? "free" : "free already");
	lock_release(&l);
	return GT_OK;
}

static const struct table_column columns[] = {
	{ .head = "LOCK", .least = 12 }, { .head = "STATE" }, { .head = "HOLDER", .least = 12 },
	{ .head = "PID", .right = true, .maybe = true }, { .head = "HOST", .least = 8 }, { .head = "FENCE", .right = true },
	{ .head = "LEASE", .right = true }, { .head = "RENEWED", .right = true },
};

static void
put_row(struct table *t, const struct lock *l, const struct moment *now)
{
	struct buf age = BUF_INIT, lease = BUF_INIT;
	char pid[24], fence[24];

	clock_age(&age, now->wall_ms - l->renewed.wall_ms);
	clock_age(&lease, l->lease_ms);
	snprintf(pid, sizeof pid, "%lld", (long long)l->pid);
	snprintf(fence, sizeof fence, "%lld", (long long)l->fence);
	table_put(t, l->name);
	table_put(t, !l->held ? "free" : lock_stale(l, now) != NULL ? "stale" : "held");
	table_put(t, l->holder);
	table_put(t, l->pid != 0 ? pid : NULL);
	table_put(t, l->host);
	table_put(t, fence);
	table_put(t, lease.data);
	table_put(t, age.data);
	buf_release(&lease);
	buf_release(&age);
}

static int
list(struct verb_job *j, struct err *e)
{
	struct locks all = { .n = 0 };
	json_t *array = json_array();
	struct moment now = { .wall_ms = 0 };
	struct table t;
	int ret = j->store != NULL ? locks_read(j->store, j->cli.verbose > 0, &all, e) : 0;

	if (j->store != NULL)
		store_moment(j->store, &now);
	table_init(&t, columns, sizeof columns / sizeof columns[0]);
	for (size_t i = 0; i < all.n && ret == 0; i++) {
		if (j->cli.json)
			json_array_append_new(array, lock_object(&all.v[i], &now));
		else
			put_row(&t, &all.v[i], &now);
	}
	table_print(&t);
	table_release(&t);
	if (ret == 0 && !j->cli.json && all.n == 0)
		say_line(&j->say, "No lock is held.");
	if (ret == 0)
		verb_json(j, "locks", array);
	else
		json_decref(array);
	locks_release(&all);
	return ret == 0 ? GT_OK : -1;
}

#define A_NAME "the name of a lock, and its holder behind it"

static const struct verb verbs[] = {
	{ "acquire", acquire, 1, 3, A_NAME, .writes = true, .leases = true },
	{ "renew", renew, 1, 3, A_NAME, .writes = true, .leases = true },
	{ "release", put_back, 1, 3, A_NAME, .writes = true },
	{ "list", list, 0, 0, .writes = false },
};

int
cmd_lock(const struct cli *cli, struct err *e)
{
	return verb_run(cli, verbs, sizeof verbs / sizeof verbs[0], e);
}
