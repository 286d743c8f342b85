#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "cmd/input.h"
#include "cmd/run.h"
#include "cmd/setup.h"
#include "cmd/table.h"
#include "cmd/verb.h"
#include "ledger/fleet.h"
#include "ledger/run.h"
#include "ledger/run_recover.h"
#include "store/store.h"
#include "town/config.h"

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
told_run(struct verb_job *j, struct run *r, bool changed, bool data)
{
	struct buf id = BUF_INIT;

	say_foreign(&id, r->id, 0);
	if (j->cli.json) {
		json_t *v = say_object();

		json_put_flag(v, "changed", changed);
		json_object_set_new(v, "run", run_object(r));
		say_json(v);
	} else if (data) {
		puts(r->id);
	} else {
		say_line(&j->say, "The run %s %s %s%s.", id.data, r->state == RUN_FAILED ? "has" : "is", changed ? "" : "already ",
		    run_state_name(r->state));
	}
	buf_release(&id);
	run_release(r);
	return GT_OK;
}

/* Arguments in their order, or, without any, the JSON object on standard input. */
struct said {
	json_t *o;			/* NULL: arguments */
	const char *run_id, *runner_id, *status, *error, *claim_id;
	int64_t fence;
	struct moment now;		/* when it had been read */
};

static int
read_said(const struct verb_job *j, const char *command, const char *const *order, size_t n, struct said *out, struct err *e)
{
	static const char *const fields[] = { "run_id", "runner_id", "status", "error", "claim_id", "fence" };
	const char **places[] = { &out->run_id, &out->runner_id, &out->status, &out->error, &out->claim_id };
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (j->cli.n_args == 0 && (out->o = input_object(command, STORE_MAX_VALUE, fields, 6, e)) == NULL)
		return -1;
	for (size_t f = 0; f < 5 && ret >= 0; f++) {
		if (out->o != NULL)
			ret = input_text(out->o, fields[f], false, places[f], e);
		for (size_t i = 0; i < n && i < j->cli.n_args; i++)
			if (strcmp(order[i], fields[f]) == 0)
				*places[f] = j->cli.args[i];
	}
	if (ret >= 0 && out->o != NULL)
		ret = input_number(out->o, "fence", &out->fence, e);
	store_moment(j->store, &out->now);
	if (ret >= 0)
		return 0;
	json_decref(out->o);
	return -1;
}

static int
missing(const char *command, const char *what, struct err *e)
{
	err_set(e, GT_USAGE, "usage", "%s needs %s", command, what);
	return err_hint(e, "gt-recover help run");
}

/* ---- the verbs ---- */

static int
create(struct verb_job *j, struct err *e)
{
	static const char *const fields[] = { "run_id", "session_id", "type", "prompt", "execution_mode" };
	json_t *o = input_object("run create", STORE_MAX_VALUE, fields, 5, e);
	const char *at[5] = { NULL };
	struct moment now;
	struct run r = { .version = 0 }, out = { .version = 0 };
	int ret = o != NULL ? 0 : -1;

	for (size_t i = 0; i < 5 && ret >= 0; i++)
		ret = input_text(o, fields[i], i == 1 || i == 3, &at[i], e);
	if (ret >= 0) {
		r.id = (char *)(uintptr_t)at[0];
		r.session_id = (char *)(uintptr_t)at[1];
		r.type = (char *)(uintptr_t)at[2];
		r.prompt = (char *)(uintptr_t)at[3];
		store_moment(j->store, &now);
		ret = run_create(j->store, &r, at[4], &now, &out, e);
	}
	json_decref(o);
	return ret >= 0 ? told_run(j, &out, ret == 1, true) : -1;
}

static int
claim(struct verb_job *j, struct err *e)
{
	static const char *const order[] = { "runner_id", "run_id" };
	struct said said;
	struct run out = { .version = 0 };
	int ret;

	if (read_said(j, "run claim", order, 2, &said, e) != 0)
		return -1;
	if (said.runner_id == NULL)
		ret = missing("run claim", "the id of the runner", e);
	else
		ret = run_claim(j->store, &(struct run_holder){ said.run_id, said.runner_id, 0, said.claim_id }, &said.now, &out, e);
	json_decref(said.o);
	if (ret == 0) {
		err_set(e, GT_NOTHING, "nothing-pending", "no run is pending");
		return err_hint(e, "gt-recover run create makes one");
	}
	return ret > 0 ? told_run(j, &out, ret == 1, true) : -1;
}

static int
start(struct verb_job *j, struct err *e)
{
	static const char *const order[] = { "run_id", "runner_id" };
	struct said said;
	struct run out = { .version = 0 };
	int ret;

	if (read_said(j, "run start", order, 2, &said, e) != 0)
		return -1;
	if (said.run_id == NULL || said.runner_id == NULL)
		ret = missing("run start", "the id of the run and the id of the runner", e);
	else
		ret = run_start(j->store, &(struct run_holder){ said.run_id, said.runner_id, said.fence, NULL }, &said.now, &out, e);
	json_decref(said.o);
	return ret >= 0 ? told_run(j, &out, ret == 1, false) : -1;
}

static int
stop(struct verb_job *j, struct err *e)
{
	static const char *const order[] = { "run_id" };
	struct said said;
	struct run out = { .version = 0 };
	int ret;

	if (read_said(j, "run stop", order, 1, &said, e) != 0)
		return -1;
	if (said.run_id == NULL)
		ret = missing("run stop", "the id of the run", e);
	else
		ret = run_stop(j->store, said.run_id, &said.now, &out, e);
	json_decref(said.o);
	return ret >= 0 ? told_run(j, &out, ret == 1, false) : -1;
}

static int
finish(struct verb_job *j, struct err *e)
{
	static const char *const order[] = { "run_id", "runner_id", "status" };
	struct said said;
	struct run out = { .version = 0 };
	int ret, state;

	if (read_said(j, "run finish", order, 3, &said, e) != 0)
		return -1;
	state = said.status != NULL ? run_state_of(said.status) : RUN_COMPLETED;
	if (said.run_id == NULL || said.runner_id == NULL)
		ret = missing("run finish", "the id of the run and the id of the runner", e);
	else if (state < 0 || !run_state_final((enum run_state)state))
		ret = missing("run finish", "completed, failed or stopped as the status", e);
	else
		ret = run_finish(j->store, &(struct run_holder){ said.run_id, said.runner_id, said.fence, NULL }, (enum run_state)state,
		    said.error, &said.now, &out, e);
	json_decref(said.o);
	return ret >= 0 ? told_run(j, &out, ret == 1, false) : -1;
}

/* ---- list ---- */

static const struct table_column columns[] = {
	{ .head = "RUN", .least = 25 }, { .head = "STATUS" }, { .head = "SESSION", .least = 10 }, { .head = "RUNNER", .least = 8 },
	{ .head = "HOST", .least = 6, .maybe = true },
	{ .head = "AGE", .right = true }, { .head = "ERROR", .least = 16, .most = 80, .maybe = true },
};

struct listing {
	int64_t since, now;		/* ms since 1970 */
	json_t *runs;			/* NULL: the table */
	struct table table;
	struct fleet fleet;
};

static void
put_row(struct listing *l, const struct run *r)
{
	struct buf age = BUF_INIT;

	clock_age(&age, l->now - r->created_at);
	table_put(&l->table, r->id);
	table_put(&l->table, run_state_name(r->state));
	table_put(&l->table, r->session_id);
	table_put(&l->table, r->runner_id);
	table_put(&l->table, fleet_name(&l->fleet, r->host));
	table_put(&l->table, age.data);
	table_put(&l->table, r->error);
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
		put_row(l, &r);
	run_release(&r);
	return 0;
}

static int
list(struct verb_job *j, struct err *e)
{
	struct listing l = { .now = j->store != NULL ? store_now(j->store) : 0 };
	int ret = setup_since(&j->cli, &l.since, e);

	for (size_t i = 0; i < j->cli.n_args && ret == 0; i++)
		if (run_state_of(j->cli.args[i]) < 0) {
			err_set(e, GT_USAGE, "usage", "\"%.40s\" is no state of a run", j->cli.args[i]);
			ret = err_hint(e, "pending, claimed, running, stopping, completed, failed or stopped");
		}
	table_init(&l.table, columns, sizeof columns / sizeof columns[0]);
	l.runs = j->cli.json ? json_array() : NULL;
	if (ret == 0 && j->store != NULL)
		ret = fleet_read(j->store, &l.fleet, e);
	if (ret == 0 && j->store != NULL && j->cli.n_args == 0)
		ret = store_each(j->store, "run:", NULL, take_row, &l, e);
	for (size_t i = 0; i < j->cli.n_args && ret == 0 && j->store != NULL; i++)
		ret = store_each(j->store, "run:", j->cli.args[i], take_row, &l, e);
	if (ret == 0 && j->cli.json) {
		json_t *v = say_object();

		json_object_set(v, "runs", l.runs);
		say_json(v);
	} else if (ret == 0 && l.table.n == 0) {
		say_line(&j->say, "There are no such runs.");
	} else if (ret == 0) {
		table_print(&l.table);
	}
	table_release(&l.table);
	fleet_release(&l.fleet);
	json_decref(l.runs);
	return ret == 0 ? GT_OK : -1;
}

/* ---- recover ---- */

static void
print_report(const struct run_recovery *how, const struct run_report *r)
{
	const char *would = how->dry_run ? "would be " : "";

	if (r->reset_to_pending + r->marked_failed + r->marked_stopped > 0)
		printf("%zu %sreset to pending, %zu %smarked failed, %zu %smarked stopped\n", r->reset_to_pending, would, r->marked_failed,
		    would, r->marked_stopped, would);
}

static int
open_log(struct verb_job *j, struct err *e)
{
	char *log_file = config_path(j->w.config, "log_file");
	int ret = log_file != NULL ? say_open_log(&j->say, log_file, e) : 0;

	free(log_file);
	return ret;
}

static int
recover(struct verb_job *j, struct err *e)
{
	struct run_report r = { .claimed = 0 };
	struct run_recovery how;
	struct moment now;

	store_moment(j->store, &now);
	if (open_log(j, e) != 0 || run_recovery_read(&j->cli, j->w.config, &how, e) != 0 ||
	    (j->store != NULL && run_recover(j->store, &how, &now, &r, e) != 0))
		return -1;
	run_recovery_tell(&j->say, &how, &r);
	if (j->cli.json) {
		json_t *v = say_object();

		json_put(v, "mode", run_mode_name(how.mode));
		json_put_flag(v, "dry_run", how.dry_run);
		json_object_set_new(v, "recovered", run_recovery_json(&how, &r));
		json_put_int(v, "kept_by_runner", (int64_t)r.kept_by_runner);
		json_put_int(v, "kept_young", (int64_t)r.kept_young);
		say_json(v);
	} else {
		print_report(&how, &r);
	}
	return GT_OK;
}

static const struct verb verbs[] = {
	{ "create", create, 0, 0, .writes = true },
	{ "claim", claim, 0, 2, .writes = true },
	{ "start", start, 0, 2, .writes = true },
	{ "stop", stop, 0, 1, .writes = true },
	{ "finish", finish, 0, 3, .writes = true },
	{ "list", list, 0, RUN_STATES, .since = true },
	{ "recover", recover, 0, 0, .writes = true, .recovery = true },
};

int
cmd_run(const struct cli *cli, struct err *e)
{
	return verb_run(cli, verbs, sizeof verbs / sizeof verbs[0], e);
}
