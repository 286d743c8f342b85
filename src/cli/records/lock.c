#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "cli/cli.h"
#include "records/records.h"
#include "store/store.h"

struct lock_input {
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
read_lock_input(
    const struct cli *cli, const char *command, const char *number, struct lock_input *out, struct err *e)
{
	const char *const fields[] = { "holder", "lease", number };
	int64_t *third = strcmp(number, "pid") == 0 ? &out->who.pid : &out->who.fence;
	int ret = 0;

	memset(out, 0, sizeof *out);
	out->who.name = cli->args[0];
	if (cli->n_args == 1) {
		out->o = cli_input_object(command, 4096, fields, sizeof fields / sizeof fields[0], e);
		if (out->o == NULL || cli_input_text(out->o, "holder", true, &out->who.holder, e) < 0 ||
		    cli_input_number(out->o, "lease", &out->who.lease_ms, e) < 0 ||
		    cli_input_number(out->o, number, third, e) < 0)
			ret = -1;
	} else {
		out->who.holder = cli->args[1];
		ret = cli->n_args > 2 ? read_number(number, cli->args[2], third, e) : 0;
	}
	if (ret == 0 && cli->lease != NULL)
		ret = read_number("number of seconds", cli->lease, &out->who.lease_ms, e);
	out->who.lease_ms =
	    out->who.lease_ms > LOCK_LEASE_MAX_MS / 1000 ? LOCK_LEASE_MAX_MS + 1 : out->who.lease_ms * 1000;
	if (ret != 0)
		json_decref(out->o);
	return ret;
}

static json_t *
lock_object(const struct lock *l, const struct timestamp *now)
{
	json_t *o = json_object();

	json_put(o, "name", l->name);
	json_put(o, "state", !l->held ? "free" : lock_stale_reason(l, now) != NULL ? "stale" : "held");
	json_put(o, "holder", l->holder);
	json_put(o, "host", l->host);
	json_object_set_new(o, "pid", l->pid != 0 ? json_integer(l->pid) : json_null());
	json_put_int(o, "fence", l->fence);
	json_put_int(o, "lease", l->lease_ms / 1000);
	json_put_int(o, "acquired_at", l->acquired_at);
	json_put_int(o, "renewed_at", l->renewed.wall_ms);
	json_put(o, "taken_over", l->taken_from);
	return o;
}

static int
acquire(struct verb_job *j, struct err *e)
{
	struct timestamp now;
	struct lock l;
	struct lock_input said;
	int ret;

	if (read_lock_input(&j->cli, "lock acquire", "pid", &said, e) != 0)
		return -1;
	store_timestamp(j->store, &now);
	ret = lock_acquire(j->store, &said.who, &now, &l, e);
	json_decref(said.o);
	if (ret < 0)
		return -1;
	if (l.taken_from != NULL)
		output_warning(&j->say, "the lock %s was taken over: %s", l.name, l.taken_from);
	cmd_verb_json(j, "lock", lock_object(&l, &now));
	if (!j->cli.json)
		printf("%lld\n", (long long)l.fence);
	lock_release(&l);
	return GT_OK;
}

static int
renew(struct verb_job *j, struct err *e)
{
	struct timestamp now;
	struct lock l;
	struct lock_input said;
	int ret;

	if (read_lock_input(&j->cli, "lock renew", "fence", &said, e) != 0)
		return -1;
	store_timestamp(j->store, &now);
	ret = lock_renew(j->store, &said.who, &now, &l, e);
	json_decref(said.o);
	if (ret < 0)
		return -1;
	cmd_verb_json(j, "lock", lock_object(&l, &now));
	if (!j->cli.json)
		output_line(&j->say, "%s has the lock %s for %lld more seconds.", l.holder, l.name,
		    (long long)l.lease_ms / 1000);
	lock_release(&l);
	return GT_OK;
}

static int
put_back(struct verb_job *j, struct err *e)
{
	struct timestamp now;
	struct lock l;
	struct lock_input said;
	int ret;

	if (read_lock_input(&j->cli, "lock release", "fence", &said, e) != 0)
		return -1;
	store_timestamp(j->store, &now);
	ret = lock_unlock(j->store, &said.who, &now, &l, e);
	json_decref(said.o);
	if (ret < 0)
		return -1;
	cmd_verb_json(j, "lock", lock_object(&l, &now));
	if (!j->cli.json)
		output_line(&j->say, "The lock %s is %s.", l.name, ret > 0 ? "free" : "free already");
	lock_release(&l);
	return GT_OK;
}

static const struct output_column columns[] = {
	{ .head = "LOCK", .least = 12 }, { .head = "STATE" }, { .head = "HOLDER", .least = 12 },
	{ .head = "PID", .right = true, .maybe = true }, { .head = "HOST", .least = 8 },
	{ .head = "FENCE", .right = true }, { .head = "LEASE", .right = true },
	{ .head = "RENEWED", .right = true },
};

static void
put_lock_row(struct output_table *t, const struct lock *l, const struct timestamp *now)
{
	struct buf age = BUF_INIT, lease = BUF_INIT;
	char pid[24], fence[24];

	clock_age(&age, now->wall_ms - l->renewed.wall_ms);
	clock_age(&lease, l->lease_ms);
	snprintf(pid, sizeof pid, "%lld", (long long)l->pid);
	snprintf(fence, sizeof fence, "%lld", (long long)l->fence);
	output_table_put(t, l->name);
	output_table_put(t, !l->held ? "free" : lock_stale_reason(l, now) != NULL ? "stale" : "held");
	output_table_put(t, l->holder);
	output_table_put(t, l->pid != 0 ? pid : NULL);
	output_table_put(t, l->host);
	output_table_put(t, fence);
	output_table_put(t, lease.data);
	output_table_put(t, age.data);
	buf_release(&lease);
	buf_release(&age);
}

static int
list_locks(struct verb_job *j, struct err *e)
{
	struct lock_list all = { .n = 0 };
	json_t *array = json_array();
	struct timestamp now = { .wall_ms = 0 };
	struct output_table t;
	int ret = j->store != NULL ? lock_list_read(j->store, j->cli.verbose > 0, &all, e) : 0;

	if (j->store != NULL)
		store_timestamp(j->store, &now);
	output_table_init(&t, columns, sizeof columns / sizeof columns[0]);
	for (size_t i = 0; i < all.n && ret == 0; i++) {
		if (j->cli.json)
			json_array_append_new(array, lock_object(&all.v[i], &now));
		else
			put_lock_row(&t, &all.v[i], &now);
	}
	output_table_print(&t);
	output_table_release(&t);
	if (ret == 0 && !j->cli.json && all.n == 0)
		output_line(&j->say, "No lock is held.");
	if (ret == 0)
		cmd_verb_json(j, "locks", array);
	else
		json_decref(array);
	lock_list_release(&all);
	return ret == 0 ? GT_OK : -1;
}

#define A_NAME "the name of a lock, and its holder behind it"

const struct verb lock_verbs[] = {
	{ "acquire", acquire, 1, 3, A_NAME, .writes = true, .options = OPT_LEASE },
	{ "renew", renew, 1, 3, A_NAME, .writes = true, .options = OPT_LEASE },
	{ "release", put_back, 1, 3, A_NAME, .writes = true },
	{ "list", list_locks, 0, 0, .writes = false },
	{ .name = NULL },
};
