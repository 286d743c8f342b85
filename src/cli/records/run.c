#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/records/records.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "cli/cli.h"
#include "config/config.h"
#include "records/records.h"
#include "records/runs/runs.h"
#include "store/store.h"

#define THRESHOLD_MAX ((int64_t)365 * 86400)	/* seconds, as in gt.toml */

static int
read_threshold(const char *text, int64_t *ms, struct err *e)
{
	long long n;

	errno = 0;
	n = strtoll(text, NULL, 10);
	if (*text == '\0' || strspn(text, "0123456789") != strlen(text) || errno != 0 || n > THRESHOLD_MAX) {
		err_set(e, GT_USAGE, "usage", "--threshold takes whole seconds from 0 to %lld",
		    (long long)THRESHOLD_MAX);
		return err_hint(e, "for example: --threshold 300");
	}
	*ms = n * 1000;
	return 0;
}

int
cmd_run_recovery_read(const struct cli *cli, const struct config *c, struct run_recovery *how, struct err *e)
{
	int mode = run_mode_parse(cli->mode != NULL ? cli->mode : config_text(c, "runs.mode"));

	if (mode < 0) {
		err_set(e, GT_USAGE, "usage", "--mode takes none, stale or all, not \"%.40s\"", cli->mode);
		return err_hint(e,
		    "stale settles what is old and what its runner left; all settles everything, also under "
		    "living runners");
	}
	*how = (struct run_recovery){ .mode = (enum run_mode)mode,
		.threshold_ms = config_ms(c, "runs.threshold"),
		.claimed_fails = strcmp(config_text(c, "runs.claimed_to"), "failed") == 0,
		.dry_run = cli->dry_run };
	return cli->threshold != NULL ? read_threshold(cli->threshold, &how->threshold_ms, e) : 0;
}

json_t *
cmd_run_recovery_json(const struct run_recovery *how, const struct run_report *r)
{
	json_t *o = json_object();

	if (how->mode == RUN_MODE_STALE) {
		json_put_int(o, "reset_to_pending", (int64_t)r->reset_to_pending);
		json_put_int(o, "marked_failed", (int64_t)r->marked_failed);
		json_put_int(o, "marked_stopped", (int64_t)r->marked_stopped);
	} else if (how->mode == RUN_MODE_ALL) {
		json_put_int(o, "claimed", (int64_t)r->claimed);
		json_put_int(o, "running", (int64_t)r->running);
		json_put_int(o, "stopping", (int64_t)r->stopping);
	}
	return o;
}

void
cmd_run_recovery_report(struct cli_output *s, const struct run_recovery *how, const struct run_report *r)
{
	struct buf counts = BUF_INIT;
	json_t *o = cmd_run_recovery_json(how, r);

	json_print(&counts, o, false);
	if (how->mode == RUN_MODE_NONE)
		output_level(s, OUTPUT_INFO, "Run recovery disabled");
	else if (how->dry_run)
		output_level(
		    s, OUTPUT_INFO, "Run recovery (%s) would do: %s", run_mode_name(how->mode), counts.data);
	else if (how->mode == RUN_MODE_ALL)
		output_level(s, OUTPUT_WARNING,
		    "Aggressive recovery completed: %s; the registry of runners was not asked", counts.data);
	else if (r->reset_to_pending + r->marked_failed + r->marked_stopped > 0)
		output_level(s, OUTPUT_INFO, "Stale run recovery completed: %s", counts.data);
	else
		output_level(s, OUTPUT_DEBUG, "No stale runs to recover");
	if (r->kept_by_runner > 0)
		output_level(s, OUTPUT_INFO, "%zu old run%s left to a living runner", r->kept_by_runner,
		    r->kept_by_runner == 1 ? "" : "s");
	json_decref(o);
	buf_release(&counts);
}

/* A run as programs see it: the record's fields, with its id and status in front. */
static json_t *
run_object(const struct run *r)
{
	char *text = run_json(r);
	json_t *o = json_object(), *fields = json_parse(text, strlen(text), r->id, NULL);

	json_put(o, "run_id", r->id);
	json_put(o, "status", run_state_name(r->state));
	json_object_del(fields, "schema_version");
	json_object_update_missing(o, fields);
	json_decref(fields);
	free(text);
	return o;
}

/* Tells what a verb made of a run, and releases it. With `data` its id is what a script wants to read. */
static int
print_run(struct verb_job *j, struct run *r, bool changed, bool data)
{
	struct buf id = BUF_INIT;

	output_foreign(&id, r->id, 0);
	if (j->cli.json) {
		json_t *v = output_object();

		json_put_flag(v, "changed", changed);
		json_object_set_new(v, "run", run_object(r));
		output_json(v);
	} else if (data) {
		puts(r->id);
	} else {
		output_line(&j->say, "The run %s %s %s%s.", id.data, r->state == RUN_FAILED ? "has" : "is",
		    changed ? "" : "already ", run_state_name(r->state));
	}
	buf_release(&id);
	run_release(r);
	return GT_OK;
}

/* Arguments in their order, or, without any, the JSON object on standard input. */
struct run_input {
	json_t *o;			/* NULL: arguments */
	const char *run_id, *runner_id, *status, *error, *claim_id;
	int64_t fence;
	struct timestamp now;		/* when it had been read */
};

static int
read_run_input(const struct verb_job *j, const char *command, const char *const *order, size_t n,
    struct run_input *out, struct err *e)
{
	static const char *const fields[] = { "run_id", "runner_id", "status", "error", "claim_id", "fence" };
	const char **places[] = { &out->run_id, &out->runner_id, &out->status, &out->error, &out->claim_id };
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (j->cli.n_args == 0 && (out->o = cli_input_object(command, STORE_MAX_VALUE, fields, 6, e)) == NULL)
		return -1;
	for (size_t f = 0; f < 5 && ret >= 0; f++) {
		if (out->o != NULL)
			ret = cli_input_text(out->o, fields[f], false, places[f], e);
		for (size_t i = 0; i < n && i < j->cli.n_args; i++)
			if (strcmp(order[i], fields[f]) == 0)
				*places[f] = j->cli.args[i];
	}
	if (ret >= 0 && out->o != NULL)
		ret = cli_input_number(out->o, "fence", &out->fence, e);
	store_timestamp(j->store, &out->now);
	if (ret >= 0)
		return 0;
	json_decref(out->o);
	return -1;
}

static int
input_missing(const char *command, const char *what, struct err *e)
{
	err_set(e, GT_USAGE, "usage", "%s needs %s", command, what);
	return err_hint(e, "gt-recover help run");
}

/* ---- the verbs ---- */

static int
create(struct verb_job *j, struct err *e)
{
	static const char *const fields[] = { "run_id", "session_id", "type", "prompt", "execution_mode" };
	json_t *o = cli_input_object("run create", STORE_MAX_VALUE, fields, 5, e);
	const char *at[5] = { NULL };
	struct timestamp now;
	struct run r = { .version = 0 }, out = { .version = 0 };
	int ret = o != NULL ? 0 : -1;

	for (size_t i = 0; i < 5 && ret >= 0; i++)
		ret = cli_input_text(o, fields[i], i == 1 || i == 3, &at[i], e);
	if (ret >= 0) {
		r.id = (char *)(uintptr_t)at[0];
		r.session_id = (char *)(uintptr_t)at[1];
		r.type = (char *)(uintptr_t)at[2];
		r.prompt = (char *)(uintptr_t)at[3];
		store_timestamp(j->store, &now);
		ret = run_create(j->store, &r, at[4], &now, &out, e);
	}
	json_decref(o);
	return ret >= 0 ? print_run(j, &out, ret == 1, true) : -1;
}

static int
claim(struct verb_job *j, struct err *e)
{
	static const char *const order[] = { "runner_id", "run_id" };
	struct run_input said;
	struct run out = { .version = 0 };
	int ret;

	if (read_run_input(j, "run claim", order, 2, &said, e) != 0)
		return -1;
	if (said.runner_id == NULL)
		ret = input_missing("run claim", "the id of the runner", e);
	else
		ret =
		    run_claim(j->store, &(struct run_holder){ said.run_id, said.runner_id, 0, said.claim_id },
			&said.now, &out, e);
	json_decref(said.o);
	if (ret == 0) {
		err_set(e, GT_NOTHING, "nothing-pending", "no run is pending");
		return err_hint(e, "gt-recover run create makes one");
	}
	return ret > 0 ? print_run(j, &out, ret == 1, true) : -1;
}

static int
start(struct verb_job *j, struct err *e)
{
	static const char *const order[] = { "run_id", "runner_id" };
	struct run_input said;
	struct run out = { .version = 0 };
	int ret;

	if (read_run_input(j, "run start", order, 2, &said, e) != 0)
		return -1;
	if (said.run_id == NULL || said.runner_id == NULL)
		ret = input_missing("run start", "the id of the run and the id of the runner", e);
	else
		ret =
		    run_start(j->store, &(struct run_holder){ said.run_id, said.runner_id, said.fence, NULL },
			&said.now, &out, e);
	json_decref(said.o);
	return ret >= 0 ? print_run(j, &out, ret == 1, false) : -1;
}

static int
stop(struct verb_job *j, struct err *e)
{
	static const char *const order[] = { "run_id" };
	struct run_input said;
	struct run out = { .version = 0 };
	int ret;

	if (read_run_input(j, "run stop", order, 1, &said, e) != 0)
		return -1;
	if (said.run_id == NULL)
		ret = input_missing("run stop", "the id of the run", e);
	else
		ret = run_stop(j->store, said.run_id, &said.now, &out, e);
	json_decref(said.o);
	return ret >= 0 ? print_run(j, &out, ret == 1, false) : -1;
}

static int
finish(struct verb_job *j, struct err *e)
{
	static const char *const order[] = { "run_id", "runner_id", "status" };
	struct run_input said;
	struct run out = { .version = 0 };
	int ret, state;

	if (read_run_input(j, "run finish", order, 3, &said, e) != 0)
		return -1;
	state = said.status != NULL ? run_state_parse(said.status) : RUN_COMPLETED;
	if (said.run_id == NULL || said.runner_id == NULL)
		ret = input_missing("run finish", "the id of the run and the id of the runner", e);
	else if (state < 0 || !run_state_final((enum run_state)state))
		ret = input_missing("run finish", "completed, failed or stopped as the status", e);
	else
		ret = run_finish(j->store,
		    &(struct run_holder){ said.run_id, said.runner_id, said.fence, NULL },
		    (enum run_state)state, said.error, &said.now, &out, e);
	json_decref(said.o);
	return ret >= 0 ? print_run(j, &out, ret == 1, false) : -1;
}

/* ---- list ---- */

static const struct output_column run_columns[] = {
	{ .head = "RUN", .least = 25 }, { .head = "STATUS" }, { .head = "SESSION", .least = 10 },
	{ .head = "RUNNER", .least = 8 },
	{ .head = "HOST", .least = 6, .maybe = true },
	{ .head = "AGE", .right = true },
	{ .head = "ERROR", .least = 16, .most = 80, .maybe = true },
};

struct listing {
	int64_t since, now;		/* ms since 1970 */
	json_t *runs;			/* NULL: the table */
	struct output_table table;
	struct fleet fleet;
};

static void
put_run_row(struct listing *l, const struct run *r)
{
	struct buf age = BUF_INIT;

	clock_age(&age, l->now - r->created_at);
	output_table_put(&l->table, r->id);
	output_table_put(&l->table, run_state_name(r->state));
	output_table_put(&l->table, r->session_id);
	output_table_put(&l->table, r->runner_id);
	output_table_put(&l->table, record_fleet_name(&l->fleet, r->host));
	output_table_put(&l->table, age.data);
	output_table_put(&l->table, r->error);
	buf_release(&age);
}

static int
take_row(const struct record *rec, void *arg, struct err *e)
{
	struct listing *l = arg;
	struct run r;

	if (run_from_record(rec, &r, e) != 0)
		return -1;
	if (r.created_at >= l->since && l->runs != NULL)
		json_array_append_new(l->runs, run_object(&r));
	else if (r.created_at >= l->since)
		put_run_row(l, &r);
	run_release(&r);
	return 0;
}

static int
list_runs(struct verb_job *j, struct err *e)
{
	struct listing l = { .now = j->store != NULL ? store_now(j->store) : 0 };
	int ret = cli_parse_since(&j->cli, &l.since, e);

	for (size_t i = 0; i < j->cli.n_args && ret == 0; i++)
		if (run_state_parse(j->cli.args[i]) < 0) {
			err_set(e, GT_USAGE, "usage", "\"%.40s\" is no state of a run", j->cli.args[i]);
			ret =
			    err_hint(e, "pending, claimed, running, stopping, completed, failed or stopped");
		}
	output_table_init(&l.table, run_columns, sizeof run_columns / sizeof run_columns[0]);
	l.runs = j->cli.json ? json_array() : NULL;
	if (ret == 0 && j->store != NULL)
		ret = record_fleet_read(j->store, &l.fleet, e);
	if (ret == 0 && j->store != NULL && j->cli.n_args == 0)
		ret = store_each(j->store, "run:", NULL, take_row, &l, e);
	for (size_t i = 0; i < j->cli.n_args && ret == 0 && j->store != NULL; i++)
		ret = store_each(j->store, "run:", j->cli.args[i], take_row, &l, e);
	if (ret == 0 && j->cli.json) {
		json_t *v = output_object();

		json_object_set(v, "runs", l.runs);
		output_json(v);
	} else if (ret == 0 && l.table.n == 0) {
		output_line(&j->say, "There are no such runs.");
	} else if (ret == 0) {
		output_table_print(&l.table);
	}
	output_table_release(&l.table);
	record_fleet_release(&l.fleet);
	json_decref(l.runs);
	return ret == 0 ? GT_OK : -1;
}

/* ---- recover ---- */

static void
print_report(const struct run_recovery *how, const struct run_report *r)
{
	const char *would = how->dry_run ? "would be " : "";

	if (r->reset_to_pending + r->marked_failed + r->marked_stopped > 0)
		printf("%zu %sreset to pending, %zu %smarked failed, %zu %smarked stopped\n",
		    r->reset_to_pending, would, r->marked_failed, would, r->marked_stopped, would);
}

static int
open_log(struct verb_job *j, struct err *e)
{
	char *log_file = config_path(j->w.config, "log_file");
	int ret = log_file != NULL ? output_open_log(&j->say, log_file, e) : 0;

	free(log_file);
	return ret;
}

static int
recover_runs(struct verb_job *j, struct err *e)
{
	struct run_report r = { .claimed = 0 };
	struct run_recovery how;
	struct timestamp now;

	store_timestamp(j->store, &now);
	if (open_log(j, e) != 0 || cmd_run_recovery_read(&j->cli, j->w.config, &how, e) != 0 ||
	    (j->store != NULL && run_recover(j->store, &how, &now, &r, e) != 0))
		return -1;
	cmd_run_recovery_report(&j->say, &how, &r);
	if (j->cli.json) {
		json_t *v = output_object();

		json_put(v, "mode", run_mode_name(how.mode));
		json_put_flag(v, "dry_run", how.dry_run);
		json_object_set_new(v, "recovered", cmd_run_recovery_json(&how, &r));
		json_put_int(v, "kept_by_runner", (int64_t)r.kept_by_runner);
		json_put_int(v, "kept_young", (int64_t)r.kept_young);
		output_json(v);
	} else {
		print_report(&how, &r);
	}
	return GT_OK;
}

const struct verb run_verbs[] = {
	{ "create", create, 0, 0, .writes = true },
	{ "claim", claim, 0, 2, .writes = true },
	{ "start", start, 0, 2, .writes = true },
	{ "stop", stop, 0, 1, .writes = true },
	{ "finish", finish, 0, 3, .writes = true },
	{ "list", list_runs, 0, RUN_STATES, .options = OPT_SINCE },
	{ "recover", recover_runs, 0, 0, .writes = true, .options = OPT_RUNS | OPT_DRY },
	{ .name = NULL },
};

struct runner_input {
	json_t *o;			/* NULL: arguments */
	const char *runner_id;
	int64_t pid;			/* 0: none */
};

static int
read_pid(const char *text, int64_t *pid, struct err *e)
{
	errno = 0;
	*pid = strtoll(text, NULL, 10);
	if (strspn(text, "0123456789") == strlen(text) && errno == 0 && *pid > 0)
		return 0;
	err_set(e, GT_USAGE, "usage", "\"%.40s\" is no pid", text);
	return err_hint(e, "gt-recover runner register RUNNER [PID]");
}

static int
read_runner_input(const struct cli *cli, const char *command, struct runner_input *out, struct err *e)
{
	static const char *const fields[] = { "runner_id", "pid" };
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (cli->n_args > 0) {
		out->runner_id = cli->args[0];
		return cli->n_args > 1 ? read_pid(cli->args[1], &out->pid, e) : 0;
	}
	if ((out->o = cli_input_object(
		 command, 4096, fields, strcmp(command, "runner beat") == 0 ? 1 : 2, e)) == NULL)
		return -1;
	if (cli_input_text(out->o, "runner_id", true, &out->runner_id, e) < 0 ||
	    cli_input_number(out->o, "pid", &out->pid, e) < 0)
		ret = -1;
	if (ret != 0)
		json_decref(out->o);
	return ret;
}

static json_t *
runner_object(const struct runner *r, bool lives)
{
	json_t *o = json_object();

	json_put(o, "runner_id", r->id);
	json_put_flag(o, "alive", lives);
	json_put_int(o, "life", r->generation);
	json_put_int(o, "registered_at", r->registered_at);
	json_put_int(o, "beat_at", r->heartbeat.wall_ms);
	if (r->heartbeat.host[0] != '\0')
		json_put(o, "host", r->heartbeat.host);
	json_object_set_new(o, "pid", r->pid != 0 ? json_integer(r->pid) : json_null());
	return o;
}

static int
do_register(struct verb_job *j, struct err *e)
{
	struct timestamp now;
	struct runner r;
	struct runner_input said;
	int ret;

	if (read_runner_input(&j->cli, "runner register", &said, e) != 0)
		return -1;
	store_timestamp(j->store, &now);
	ret = runner_register(j->store, said.runner_id, said.pid, &now, &r, e);
	json_decref(said.o);
	if (ret != 0)
		return -1;
	cmd_verb_json(j, "runner", runner_object(&r, true));
	if (!j->cli.json)
		output_line(&j->say, "The runner %s is registered.", r.id);
	runner_release(&r);
	return GT_OK;
}

static int
send_heartbeat(struct verb_job *j, struct err *e)
{
	struct timestamp now;
	struct runner_input said;
	int ret;

	if (read_runner_input(&j->cli, "runner beat", &said, e) != 0)
		return -1;
	store_timestamp(j->store, &now);
	ret = runner_heartbeat(j->store, said.runner_id, &now, e);
	if (ret == 0 && j->cli.json) {
		json_t *v = output_object();

		json_put(v, "runner_id", said.runner_id);
		json_put_int(v, "beat_at", now.wall_ms);
		output_json(v);
	}
	json_decref(said.o);
	return ret == 0 ? GT_OK : -1;
}

static const struct output_column runner_columns[] = {
	{ .head = "RUNNER", .least = 12 }, { .head = "STATE" }, { .head = "HOST", .least = 6, .maybe = true },
	{ .head = "PID", .right = true, .maybe = true }, { .head = "LAST BEAT", .right = true },
};

static int
list_runners(struct verb_job *j, struct err *e)
{
	int64_t threshold = config_ms(j->w.config, "runs.threshold");
	struct runner_list all = { .n = 0 };
	struct fleet fleet = { .n = 0 };
	json_t *array = json_array();
	struct timestamp now;
	struct output_table t;
	int ret = j->store != NULL &&
		(runner_list_read(j->store, &all, e) != 0 || record_fleet_read(j->store, &fleet, e) != 0)
	    ? -1
	    : 0;

	store_timestamp(j->store, &now);
	output_table_init(&t, runner_columns, sizeof runner_columns / sizeof runner_columns[0]);
	for (size_t i = 0; i < all.n && ret == 0; i++) {
		const struct runner *r = &all.v[i];
		bool lives = runner_is_alive(r, &now, threshold);
		struct buf age = BUF_INIT;
		char pid[24];

		if (j->cli.json) {
			json_array_append_new(array, runner_object(r, lives));
			continue;
		}
		clock_age(&age, now.wall_ms - r->heartbeat.wall_ms);
		snprintf(pid, sizeof pid, "%lld", (long long)r->pid);
		output_table_put(&t, r->id);
		output_table_put(&t, lives ? "alive" : "gone");
		output_table_put(&t, record_fleet_name(&fleet, r->heartbeat.host));
		output_table_put(&t, r->pid != 0 ? pid : NULL);
		output_table_put(&t, age.data);
		buf_release(&age);
	}
	output_table_print(&t);
	output_table_release(&t);
	if (ret == 0 && !j->cli.json && all.n == 0)
		output_line(&j->say, "No runner is registered.");
	if (ret == 0)
		cmd_verb_json(j, "runners", array);
	else
		json_decref(array);
	runner_list_release(&all);
	record_fleet_release(&fleet);
	return ret == 0 ? GT_OK : -1;
}

const struct verb runner_verbs[] = {
	{ "register", do_register, 0, 2, .writes = true },
	{ "beat", send_heartbeat, 0, 1, .writes = true },
	{ "list", list_runners, 0, 0, .writes = false },
	{ .name = NULL },
};
