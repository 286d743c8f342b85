#include <errno.h>

#include "cli/records/verbs.h"
#include "config/config.h"
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
		err_set(e, GT_USAGE, "usage", "--threshold takes seconds from 0 to %lld",
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
		    "stale: old runs and runs of dead runners; all: every unfinished run, also of living "
		    "runners");
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
		    "Aggressive recovery completed: %s; living runners were ignored", counts.data);
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

/* ---- the fields of a run ---- */

enum { RUN_CREATE = 1, RUN_STEP = 2 };

static json_t *
run_status(const void *run, const struct verb_job *j)
{
	(void)j;
	return json_string(run_state_name(((const struct run *)run)->state));
}

#define AT(field) .at = offsetof(struct run, field)

static const struct verb_field run_fields[] = {
	{ "run_id", FIELD_TEXT, AT(id), .in = RUN_CREATE | RUN_STEP, .place = 1,
	    .column = { "RUN", .least = 25 } },
	{ "status", FIELD_CALL, .call = run_status, .in = RUN_STEP, .place = 2,
	    .column = { .head = "STATUS" } },
	{ "session_id", FIELD_TEXT, AT(session_id), .in = RUN_CREATE, .required = RUN_CREATE, .place = 3,
	    .column = { "SESSION", .least = 10 } },
	{ "type", FIELD_TEXT, AT(type), .in = RUN_CREATE },
	{ "prompt", FIELD_TEXT, AT(prompt), .in = RUN_CREATE, .required = RUN_CREATE },
	{ "runner_id", FIELD_TEXT, AT(runner_id), .in = RUN_STEP, .place = 4,
	    .column = { "RUNNER", .least = 8 } },
	{ "error", FIELD_TEXT, AT(error), .in = RUN_STEP, .place = 7,
	    .column = { "ERROR", .least = 16, .most = 80, .maybe = true } },
	{ "recovered_from", FIELD_TEXT, AT(recovered_from) },
	{ "claim_id", FIELD_TEXT, AT(claim_id), .in = RUN_STEP },
	{ "created_at", FIELD_NUMBER_OR_NULL, AT(created_at), .place = 6, .cell = CELL_AGE,
	    .column = { "AGE", .right = true } },
	{ "claimed_at", FIELD_NUMBER_OR_NULL, AT(claimed_at) },
	{ "started_at", FIELD_NUMBER_OR_NULL, AT(started_at) },
	{ "completed_at", FIELD_NUMBER_OR_NULL, AT(completed_at) },
	{ "recovered_at", FIELD_NUMBER_OR_NULL, AT(recovered_at) },
	{ "recoveries", FIELD_NUMBER, AT(recoveries) },
	{ "fence", FIELD_NUMBER, AT(fence), .in = RUN_STEP },
	{ "runner_life", FIELD_NUMBER, AT(runner_generation) },
	{ "entered_at", FIELD_NUMBER, AT(entered.wall_ms) },
	{ "entered_boot_ms", FIELD_NUMBER, AT(entered.boot_ms) },
	{ "pid_ns", FIELD_NUMBER, AT(entered.pid_ns) },
	{ "boot_id", FIELD_CHARS, AT(entered.boot_id) },
	{ "host", FIELD_CHARS_OR_NONE, AT(host), .place = 5, .cell = CELL_HOST,
	    .column = { "HOST", .least = 6, .maybe = true } },
	{ "entered_host", FIELD_CHARS_OR_NONE, AT(entered.host) },
	{ "execution_mode", FIELD_INPUT, .in = RUN_CREATE },
};

static const struct verb_record run_record = { "run", "runs", "No such runs.", run_fields,
	sizeof run_fields / sizeof run_fields[0], STORE_MAX_VALUE };

/* Tells what a verb made of a run, and releases it. With `data` its id is what a script wants to read. */
static int
print_run(struct verb_job *j, struct run *r, bool changed, bool data)
{
	if (j->cli.json) {
		json_t *v = output_object();

		json_put_flag(v, "changed", changed);
		json_object_set_new(v, "run", cmd_verb_object(j, r));
		output_json(v);
	} else if (data) {
		puts(r->id);
	} else {
		output_line(&j->say, "The run %s %s %s%s.", output_shown(r->id, 0),
		    r->state == RUN_FAILED ? "has" : "is", changed ? "" : "already ",
		    run_state_name(r->state));
	}
	run_release(r);
	return GT_OK;
}

/* What a step needs, in words, when its run or its runner was not given. */
static int
need(const struct verb_job *j, bool run, bool runner, const char *what, struct err *e)
{
	if ((!run || cmd_verb_text(j, "run_id") != NULL) &&
	    (!runner || cmd_verb_text(j, "runner_id") != NULL))
		return 0;
	err_set(e, GT_USAGE, "usage", "run %s needs %s", j->verb->name, what);
	return err_hint(e, "gt-recover help run");
}

static struct run_holder
holder(const struct verb_job *j)
{
	return (struct run_holder){ cmd_verb_text(j, "run_id"), cmd_verb_text(j, "runner_id"),
		cmd_verb_number(j, "fence"), NULL };
}

/* ---- the verbs ---- */

static int
create(struct verb_job *j, struct err *e)
{
	struct run out = { .version = 0 };
	const struct run r = { .id = (char *)(uintptr_t)cmd_verb_text(j, "run_id"),
		.session_id = (char *)(uintptr_t)cmd_verb_text(j, "session_id"),
		.type = (char *)(uintptr_t)cmd_verb_text(j, "type"),
		.prompt = (char *)(uintptr_t)cmd_verb_text(j, "prompt") };
	int ret = run_create(j->store, &r, cmd_verb_text(j, "execution_mode"), &j->now, &out, e);

	return ret >= 0 ? print_run(j, &out, ret == 1, true) : -1;
}

static int
claim(struct verb_job *j, struct err *e)
{
	struct run_holder h = holder(j);
	struct run out = { .version = 0 };
	int ret;

	if (need(j, false, true, "the id of the runner", e) != 0)
		return -1;
	h.fence = 0;
	h.claim_id = cmd_verb_text(j, "claim_id");
	ret = run_claim(j->store, &h, &j->now, &out, e);
	if (ret == 0) {
		err_set(e, GT_NOTHING, "nothing-pending", "no run is pending");
		return err_hint(e, "to create one: gt-recover records run create");
	}
	return ret > 0 ? print_run(j, &out, ret == 1, true) : -1;
}

#define BOTH_IDS "the id of the run and the id of the runner"

static int
start(struct verb_job *j, struct err *e)
{
	const struct run_holder h = holder(j);
	struct run out = { .version = 0 };
	int ret = need(j, true, true, BOTH_IDS, e) == 0 ? run_start(j->store, &h, &j->now, &out, e) : -1;

	return ret >= 0 ? print_run(j, &out, ret == 1, false) : -1;
}

static int
stop(struct verb_job *j, struct err *e)
{
	struct run out = { .version = 0 };
	int ret = need(j, true, false, "the id of the run", e) == 0 ?
	    run_stop(j->store, cmd_verb_text(j, "run_id"), &j->now, &out, e) : -1;

	return ret >= 0 ? print_run(j, &out, ret == 1, false) : -1;
}

static int
finish(struct verb_job *j, struct err *e)
{
	const struct run_holder h = holder(j);
	const char *status = cmd_verb_text(j, "status");
	int ret, state = status != NULL ? run_state_parse(status) : RUN_COMPLETED;
	struct run out = { .version = 0 };

	if (need(j, true, true, BOTH_IDS, e) != 0)
		return -1;
	if (state < 0 || !run_state_final((enum run_state)state)) {
		err_set(e, GT_USAGE, "usage",
		    "run finish needs completed, failed or stopped as the status");
		return err_hint(e, "gt-recover help run");
	}
	ret = run_finish(j->store, &h, (enum run_state)state, cmd_verb_text(j, "error"), &j->now, &out, e);
	return ret >= 0 ? print_run(j, &out, ret == 1, false) : -1;
}

/* ---- list ---- */

struct listing {
	struct verb_list list;
	int64_t since;			/* ms since 1970 */
};

static int
take_row(const struct record *rec, void *arg, struct err *e)
{
	struct listing *l = arg;
	struct run r;

	if (run_from_record(rec, &r, e) != 0)
		return -1;
	if (r.created_at >= l->since)
		cmd_verb_list_add(&l->list, &r);
	run_release(&r);
	return 0;
}

static int
list_runs(struct verb_job *j, struct err *e)
{
	struct listing l;
	int ret;

	if (cli_parse_since(&j->cli, &l.since, e) != 0)
		return -1;
	for (size_t i = 0; i < j->cli.n_args; i++)
		if (run_state_parse(j->cli.args[i]) < 0) {
			err_set(e, GT_USAGE, "usage", "\"%.40s\" is not a state of a run", j->cli.args[i]);
			return err_hint(e,
			    "pending, claimed, running, stopping, completed, failed or stopped");
		}
	ret = cmd_verb_list_begin(&l.list, j, e);
	if (ret == 0 && j->store != NULL && j->cli.n_args == 0)
		ret = store_each(j->store, "run:", NULL, take_row, &l, e);
	for (size_t i = 0; i < j->cli.n_args && ret == 0 && j->store != NULL; i++)
		ret = store_each(j->store, "run:", j->cli.args[i], take_row, &l, e);
	return cmd_verb_list_end(&l.list, j, ret);
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

	if (open_log(j, e) != 0 || cmd_run_recovery_read(&j->cli, j->w.config, &how, e) != 0 ||
	    (j->store != NULL && run_recover(j->store, &how, &j->now, &r, e) != 0))
		return -1;
	cmd_run_recovery_report(&j->say, &how, &r);
	if (j->cli.json) {
		json_t *v = output_object();

		json_put(v, "mode", run_mode_name(how.mode));
		json_put_flag(v, "dry_run", how.dry_run);
		json_object_set_new(v, "changes", cmd_run_recovery_json(&how, &r));
		json_put_int(v, "kept_by_runner", (int64_t)r.kept_by_runner);
		json_put_int(v, "kept_young", (int64_t)r.kept_young);
		output_json(v);
	} else {
		print_report(&how, &r);
	}
	return GT_OK;
}

const struct verb run_verbs[] = {
	{ "create", create, 0, 0, .writes = true, .record = &run_record, .in = RUN_CREATE },
	{ "claim", claim, 0, 2, .writes = true, .record = &run_record, .in = RUN_STEP,
	    .arguments = "runner_id run_id" },
	{ "start", start, 0, 2, .writes = true, .record = &run_record, .in = RUN_STEP,
	    .arguments = "run_id runner_id" },
	{ "stop", stop, 0, 1, .writes = true, .record = &run_record, .in = RUN_STEP, .arguments = "run_id" },
	{ "finish", finish, 0, 3, .writes = true, .record = &run_record, .in = RUN_STEP,
	    .arguments = "run_id runner_id status" },
	{ "list", list_runs, 0, RUN_STATES, .options = OPT_SINCE, .record = &run_record },
	{ "recover", recover_runs, 0, 0, .writes = true, .options = OPT_RUNS | OPT_DRY },
	{ .name = NULL },
};

/* ---- runner ---- */

enum { RUNNER_REGISTER = 1, RUNNER_BEAT = 2 };

static bool
is_living(const struct runner *r, const struct verb_job *j)
{
	return runner_is_alive(r, &j->now, config_ms(j->w.config, "runs.threshold"));
}

static json_t *
runner_alive(const void *runner, const struct verb_job *j)
{
	return json_boolean(is_living(runner, j));
}

static json_t *
runner_state(const void *runner, const struct verb_job *j)
{
	return json_string(is_living(runner, j) ? "alive" : "gone");
}

#undef AT
#define AT(field) .at = offsetof(struct runner, field)

static const struct verb_field runner_fields[] = {
	{ "runner_id", FIELD_TEXT, AT(id), .in = RUNNER_REGISTER | RUNNER_BEAT,
	    .required = RUNNER_REGISTER | RUNNER_BEAT, .place = 1, .column = { "RUNNER", .least = 12 } },
	{ "alive", FIELD_CALL, .call = runner_alive },
	{ NULL, FIELD_CALL, .call = runner_state, .place = 2, .column = { .head = "STATE" } },
	{ "life", FIELD_NUMBER, AT(generation) },
	{ "registered_at", FIELD_NUMBER, AT(registered_at) },
	{ "beat_at", FIELD_NUMBER, AT(heartbeat.wall_ms), .place = 5, .cell = CELL_AGE,
	    .column = { "LAST BEAT", .right = true } },
	{ "host", FIELD_CHARS_OR_NONE, AT(heartbeat.host), .place = 3, .cell = CELL_HOST,
	    .column = { "HOST", .least = 6, .maybe = true } },
	{ "pid", FIELD_NUMBER_OR_NULL, AT(pid), .in = RUNNER_REGISTER, .place = 4,
	    .column = { "PID", .right = true, .maybe = true } },
};

static const struct verb_record runner_record = { "runner", "runners", "No runner is registered.",
	runner_fields, sizeof runner_fields / sizeof runner_fields[0], 4096 };

static int
do_register(struct verb_job *j, struct err *e)
{
	struct runner r;

	if (runner_register(j->store, cmd_verb_text(j, "runner_id"), cmd_verb_number(j, "pid"), &j->now, &r,
	    e) != 0)
		return -1;
	cmd_verb_show(j, &r);
	if (!j->cli.json)
		output_line(&j->say, "The runner %s is registered.", r.id);
	runner_release(&r);
	return GT_OK;
}

static int
send_heartbeat(struct verb_job *j, struct err *e)
{
	const char *id = cmd_verb_text(j, "runner_id");

	if (runner_heartbeat(j->store, id, &j->now, e) != 0)
		return -1;
	if (j->cli.json) {
		json_t *v = output_object();

		json_put(v, "runner_id", id);
		json_put_int(v, "beat_at", j->now.wall_ms);
		output_json(v);
	}
	return GT_OK;
}

static int
list_runners(struct verb_job *j, struct err *e)
{
	struct runner_list all = { .n = 0 };
	int ret = j->store != NULL ? runner_list_read(j->store, &all, e) : 0;

	if (ret == 0)
		ret = cmd_verb_list(j, all.v, all.n, sizeof *all.v, e);
	runner_list_release(&all);
	return ret;
}

const struct verb runner_verbs[] = {
	{ "register", do_register, 0, 2, .writes = true, .record = &runner_record, .in = RUNNER_REGISTER,
	    .arguments = "runner_id pid" },
	{ "beat", send_heartbeat, 0, 1, .writes = true, .record = &runner_record, .in = RUNNER_BEAT,
	    .arguments = "runner_id" },
	{ "list", list_runners, 0, 0, .record = &runner_record },
	{ .name = NULL },
};
