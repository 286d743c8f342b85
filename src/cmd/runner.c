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
#include "ledger/fleet.h"
#include "ledger/runner.h"
#include "store/store.h"
#include "town/config.h"

struct said {
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
read_said(const struct cli *cli, const char *command, struct said *out, struct err *e)
{
	static const char *const fields[] = { "runner_id", "pid" };
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (cli->n_args > 0) {
		out->runner_id = cli->args[0];
		return cli->n_args > 1 ? read_pid(cli->args[1], &out->pid, e) : 0;
	}
	if ((out->o = input_object(command, 4096, fields, strcmp(command, "runner beat") == 0 ? 1 : 2, e)) == NULL)
		return -1;
	if (input_text(out->o, "runner_id", true, &out->runner_id, e) < 0 || input_number(out->o, "pid", &out->pid, e) < 0)
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
	json_put_int(o, "life", r->life);
	json_put_int(o, "registered_at", r->registered_at);
	json_put_int(o, "beat_at", r->beat.wall_ms);
	if (r->beat.host[0] != '\0')
		json_put(o, "host", r->beat.host);
	json_object_set_new(o, "pid", r->pid != 0 ? json_integer(r->pid) : json_null());
	return o;
}

static int
do_register(struct verb_job *j, struct err *e)
{
	struct moment now;
	struct runner r;
	struct said said;
	int ret;

	if (read_said(&j->cli, "runner register", &said, e) != 0)
		return -1;
	store_moment(j->store, &now);
	ret = runner_register(j->store, said.runner_id, said.pid, &now, &r, e);
	json_decref(said.o);
	if (ret != 0)
		return -1;
	verb_json(j, "runner", runner_object(&r, true));
	if (!j->cli.json)
		say_line(&j->say, "The runner %s is registered.", r.id);
	runner_release(&r);
	return GT_OK;
}

static int
beat(struct verb_job *j, struct err *e)
{
	struct moment now;
	struct said said;
	int ret;

	if (read_said(&j->cli, "runner beat", &said, e) != 0)
		return -1;
	store_moment(j->store, &now);
	ret = runner_beat(j->store, said.runner_id, &now, e);
	if (ret == 0 && j->cli.json) {
		json_t *v = say_object();

		json_put(v, "runner_id", said.runner_id);
		json_put_int(v, "beat_at", now.wall_ms);
		say_json(v);
	}
	json_decref(said.o);
	return ret == 0 ? GT_OK : -1;
}

static const struct table_column columns[] = {
	{ .head = "RUNNER", .least = 12 }, { .head = "STATE" }, { .head = "HOST", .least = 6, .maybe = true },
	{ .head = "PID", .right = true, .maybe = true }, { .head = "LAST BEAT", .right = true },
};

static int
list(struct verb_job *j, struct err *e)
{
	int64_t threshold = config_ms(j->w.config, "runs.threshold");
	struct runners all = { .n = 0 };
	struct fleet fleet = { .n = 0 };
	json_t *array = json_array();
	struct moment now;
	struct table t;
	int ret = j->store != NULL && (runners_read(j->store, &all, e) != 0 || fleet_read(j->store, &fleet, e) != 0) ? -1 : 0;

	store_moment(j->store, &now);
	table_init(&t, columns, sizeof columns / sizeof columns[0]);
	for (size_t i = 0; i < all.n && ret == 0; i++) {
		const struct runner *r = &all.v[i];
		bool lives = runner_lives(r, &now, threshold);
		struct buf age = BUF_INIT;
		char pid[24];

		if (j->cli.json) {
			json_array_append_new(array, runner_object(r, lives));
			continue;
		}
		clock_age(&age, now.wall_ms - r->beat.wall_ms);
		snprintf(pid, sizeof pid, "%lld", (long long)r->pid);
		table_put(&t, r->id);
		table_put(&t, lives ? "alive" : "gone");
		table_put(&t, fleet_name(&fleet, r->beat.host));
		table_put(&t, r->pid != 0 ? pid : NULL);
		table_put(&t, age.data);
		buf_release(&age);
	}
	table_print(&t);
	table_release(&t);
	if (ret == 0 && !j->cli.json && all.n == 0)
		say_line(&j->say, "No runner is registered.");
	if (ret == 0)
		verb_json(j, "runners", array);
	else
		json_decref(array);
	runners_release(&all);
	fleet_release(&fleet);
	return ret == 0 ? GT_OK : -1;
}

static const struct verb verbs[] = {
	{ "register", do_register, 0, 2, .writes = true },
	{ "beat", beat, 0, 1, .writes = true },
	{ "list", list, 0, 0, .writes = false },
};

int
cmd_runner(const struct cli *cli, struct err *e)
{
	return verb_run(cli, verbs, sizeof verbs / sizeof verbs[0], e);
}
