#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cmd/setup.h"
#include "cmd/verb.h"

/* An option that the command takes, but not this verb of it; NULL: all are fine. */
static const char *
not_taken(const struct cli *cli, const struct verb *v)
{
	if (cli->undelivered && !v->undelivered)
		return "--undelivered";
	if (cli->since != NULL && !v->since)
		return "--since";
	if (cli->output != NULL && !v->output)
		return "--output";
	if ((cli->yes || cli->no_input) && !v->asks)
		return cli->yes ? "--yes" : "--no-input";
	if (cli->sprints != NULL && !v->starts)
		return "--sprints";
	if (cli->lease != NULL && !v->leases)
		return "--lease";
	if (cli->n_sockets > 0 && !v->starts)
		return "--socket";
	if (v->recovery)
		return NULL;
	return cli->mode != NULL ? "--mode" : cli->threshold != NULL ? "--threshold" : cli->dry_run && !v->starts ? "--dry-run" : NULL;
}

static const struct verb *
find(const struct cli *cli, const struct verb *verbs, size_t n, struct err *e)
{
	const struct verb *v = NULL;
	struct buf names = BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		buf_fmt(&names, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", verbs[i].name);
		if (cli->n_args > 0 && strcmp(verbs[i].name, cli->args[0]) == 0)
			v = &verbs[i];
	}
	if (v == NULL)
		err_set(e, GT_USAGE, "usage", "%s needs one of %s", cli->command, names.data);
	else if (cli->n_args - 1 < v->min)
		err_set(e, GT_USAGE, "usage", "%s %s needs %s", cli->command, v->name, v->needs != NULL ? v->needs : "an id");
	else if (cli->n_args - 1 > v->max)
		err_set(e, GT_USAGE, "usage", "%s %s takes no \"%.60s\"", cli->command, v->name, cli->args[1 + v->max]);
	else if (not_taken(cli, v) != NULL)
		err_set(e, GT_USAGE, "usage", "%s %s takes no %s", cli->command, v->name, not_taken(cli, v));
	buf_release(&names);
	if (e->code == 0)
		return v;
	err_hint(e, "gt-recover help %s", cli->command);
	return NULL;
}

int
verb_run(const struct cli *cli, const struct verb *verbs, size_t n, struct err *e)
{
	const struct verb *v = find(cli, verbs, n, e);
	struct verb_job j = { .cli = *cli };
	int ret = -1;

	if (v == NULL || (v->starts ? setup_world(cli, &j.w, e) : setup_config(cli, &j.w, e)) != 0)
		return -1;
	j.cli.args++;
	j.cli.n_args--;
	say_init(&j.say, cli);
	if (setup_disabled(cli, &j.w)) {
		ret = GT_OK;
	} else if ((j.store = world_store(&j.w, v->writes && !cli->dry_run, e)) != NULL || e->code == 0) {
		ret = v->run(&j, e);
		if (ret < 0 && e->code == GT_USAGE && *e->hint == '\0')
			err_hint(e, "gt-recover help %s", cli->command);
		/* one that failed has nothing to tell of, and its disk may be at fault: the next one writes what is missing */
		if (v->writes && ret >= 0)
			setup_export(&j.w);
	}
	say_release(&j.say);
	setup_release(&j.w);
	return ret;
}

void
verb_json(const struct verb_job *j, const char *name, json_t *v)
{
	json_t *o;

	if (!j->cli.json) {
		json_decref(v);
		return;
	}
	o = say_object();
	json_object_set_new(o, name, v);
	say_json(o);
}
