#include "cli/cli.h"
#include "store/store.h"

enum { LOCK_ACQUIRE = 1, LOCK_CHANGE = 2, LOCK_ANY = LOCK_ACQUIRE | LOCK_CHANGE };

static json_t *
lock_state(const void *lock, const struct verb_job *j)
{
	const struct lock *l = lock;

	return json_string(!l->held ? "free" : lock_stale_reason(l, &j->now) != NULL ? "stale" : "held");
}

#define AT(field) .at = offsetof(struct lock, field)

static const struct verb_field fields[] = {
	{ "name", FIELD_TEXT, AT(name), .place = 1, .column = { "LOCK", .least = 12 } },
	{ "state", FIELD_CALL, .call = lock_state, .place = 2, .column = { .head = "STATE" } },
	{ "holder", FIELD_TEXT, AT(holder), .in = LOCK_ANY, .required = LOCK_ANY, .place = 3,
	    .column = { "HOLDER", .least = 12 } },
	{ "host", FIELD_TEXT, AT(host), .place = 5, .column = { "HOST", .least = 8 } },
	{ "pid", FIELD_NUMBER_OR_NULL, AT(pid), .in = LOCK_ACQUIRE, .place = 4,
	    .column = { "PID", .right = true, .maybe = true } },
	{ "fence", FIELD_NUMBER, AT(fence), .in = LOCK_CHANGE, .place = 6,
	    .column = { "FENCE", .right = true } },
	{ "lease", FIELD_SECONDS, AT(lease_ms), .in = LOCK_ANY, .place = 7, .cell = CELL_DURATION,
	    .column = { "LEASE", .right = true } },
	{ "acquired_at", FIELD_NUMBER, AT(acquired_at) },
	{ "renewed_at", FIELD_NUMBER, AT(renewed.wall_ms), .place = 8, .cell = CELL_AGE,
	    .column = { "RENEWED", .right = true } },
	{ "taken_over", FIELD_TEXT, AT(taken_from) },
};

static const struct verb_record lock_record = { "lock", "locks", "No lock is held.", fields,
	sizeof fields / sizeof fields[0], 4096 };

/* NAME HOLDER and a number, or NAME and the rest as JSON on standard input; --lease. */
static int
read_holder(const struct verb_job *j, struct lock_holder *who, struct err *e)
{
	const char *text = j->cli.lease;
	int64_t lease = cmd_verb_number(j, "lease");

	if (text != NULL) {
		lease = strtoll(text, NULL, 10);
		if (strspn(text, "0123456789") != strlen(text) || lease <= 0)
			return err_set(
			    e, GT_USAGE, "usage", "\"%.40s\" is not a number of seconds", text);
	}
	*who = (struct lock_holder){ .name = j->cli.args[0], .holder = cmd_verb_text(j, "holder"),
		.pid = cmd_verb_number(j, "pid"), .fence = cmd_verb_number(j, "fence"),
		.lease_ms = lease > LOCK_LEASE_MAX_MS / 1000 ? LOCK_LEASE_MAX_MS + 1 : lease * 1000 };
	return 0;
}

static int
acquire(struct verb_job *j, struct err *e)
{
	struct lock_holder who;
	struct lock l;

	if (read_holder(j, &who, e) != 0 || lock_acquire(j->store, &who, &j->now, &l, e) < 0)
		return -1;
	if (l.taken_from != NULL)
		output_warning(&j->say, "took over the stale lock %s: %s", l.name, l.taken_from);
	cmd_verb_show(j, &l);
	if (!j->cli.json)
		printf("%lld\n", (long long)l.fence);
	lock_release(&l);
	return GT_OK;
}

static int
renew(struct verb_job *j, struct err *e)
{
	struct lock_holder who;
	struct lock l;

	if (read_holder(j, &who, e) != 0 || lock_renew(j->store, &who, &j->now, &l, e) < 0)
		return -1;
	cmd_verb_show(j, &l);
	if (!j->cli.json)
		output_line(&j->say, "%s holds the lock %s for %lld more seconds.", l.holder, l.name,
		    (long long)l.lease_ms / 1000);
	lock_release(&l);
	return GT_OK;
}

static int
put_back(struct verb_job *j, struct err *e)
{
	struct lock_holder who;
	struct lock l;
	int ret = read_holder(j, &who, e) == 0 ? lock_unlock(j->store, &who, &j->now, &l, e) : -1;

	if (ret < 0)
		return -1;
	cmd_verb_show(j, &l);
	if (!j->cli.json)
		output_line(&j->say, "The lock %s is %s.", l.name, ret > 0 ? "free" : "already free");
	lock_release(&l);
	return GT_OK;
}

static int
list_locks(struct verb_job *j, struct err *e)
{
	struct lock_list all = { .n = 0 };
	int ret = j->store != NULL ? lock_list_read(j->store, j->cli.verbose > 0, &all, e) : 0;

	if (ret == 0)
		ret = cmd_verb_list(j, all.v, all.n, sizeof *all.v, e);
	lock_list_release(&all);
	return ret;
}

#define A_NAME "the name of a lock and its holder"

const struct verb lock_verbs[] = {
	{ "acquire", acquire, 1, 3, A_NAME, .writes = true, .options = OPT_LEASE, .record = &lock_record,
	    .in = LOCK_ACQUIRE, .arguments = "name holder pid" },
	{ "renew", renew, 1, 3, A_NAME, .writes = true, .options = OPT_LEASE, .record = &lock_record,
	    .in = LOCK_CHANGE, .arguments = "name holder fence" },
	{ "release", put_back, 1, 3, A_NAME, .writes = true, .record = &lock_record, .in = LOCK_CHANGE,
	    .arguments = "name holder fence" },
	{ "list", list_locks, 0, 0, .record = &lock_record },
	{ .name = NULL },
};
