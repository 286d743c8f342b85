#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "cmd/checkpoint.h"
#include "cmd/epic.h"
#include "cmd/epic_screen.h"
#include "cmd/half_written.h"
#include "cmd/verb.h"
#include "epic/epic.h"
#include "ledger/fleet.h"
#include "ledger/session.h"
#include "revive/wip_pass.h"
#include "store/store.h"
#include "town/config.h"

#define WIPS 20				/* sprints that git is asked about, twice each */

/* For people: names in place of ids. */
static int
name_hosts(struct store *s, struct epics *list, struct err *e)
{
	struct fleet fleet = { .n = 0 };
	int ret = fleet_read(s, &fleet, e);

	for (size_t i = 0; i < list->n && ret == 0; i++)
		for (size_t k = 0; k < list->v[i].n; k++) {
			json_t *hosts = list->v[i].sprints[k].hosts;

			for (size_t h = 0; h < json_array_size(hosts); h++)
				json_array_set_new(hosts, h, json_string(fleet_name(&fleet, json_string_value(json_array_get(hosts, h)))));
		}
	fleet_release(&fleet);
	return ret;
}

int
epic_read(struct verb_job *j, const char *id, struct epics *out, struct moment *now, struct err *e)
{
	memset(out, 0, sizeof *out);
	store_moment(j->store, now);
	if (j->store == NULL) {
		if (id == NULL)
			return 0;
		err_set(e, GT_NOTHING, "not-found", "there is no epic \"%.200s\"", id);
		return err_hint(e, "gt-recover checkpoint epic writes one");
	}
	if (epics_read(j->store, id, config_ms(j->w.config, "epics.checkpoint_interval"), now, out, e) != 0)
		return -1;
	return *store_host(j->store) != '\0' ? name_hosts(j->store, out, e) : 0;
}

char *
epic_workspace(struct verb_job *j, const struct epic *x, const struct epic_sprint *one)
{
	const char *place = json_text(x->record, "workspace", NULL);
	char *cwd = NULL;

	for (size_t i = 0; i < json_array_size(one->agents) && cwd == NULL; i++) {
		const json_t *agent = json_array_get(one->agents, i);
		struct session session;

		if (session_load(j->store, json_text(agent, "sessionId", json_text(agent, "agentId", "")), &session, NULL) > 0 &&
		    session.workspace_path != NULL)
			cwd = xstrdup(session.workspace_path);
		session_release(&session);
	}
	return cwd == NULL && place != NULL ? xstrdup(place) : cwd;
}

void
epic_greet(struct verb_job *j)
{
	if (j->store != NULL)
		say_line(&j->say, "Connecting to the store… ✓");
}

double
epic_threshold(const struct verb_job *j)
{
	return (double)config_int(j->w.config, "epics.resume_threshold");
}

/* Whoever looks for one of those must not take silence for an answer. */
static int
tell_strangers(struct verb_job *j, struct err *e)
{
	json_t *list = j->store != NULL ? epics_strangers(j->store, e) : json_array();
	size_t n = json_array_size(list);
	int ret = list != NULL ? 0 : -1;

	if (n > 0)
		say_warning(&j->say, "%zu epic%s that another program wrote straight into the store %s not shown\n"
		    "  gt-recover doctor says how to take %s in", n, n == 1 ? "" : "s", n == 1 ? "is" : "are", n == 1 ? "it" : "them");
	json_decref(list);
	return ret;
}

void
epic_find_wips(struct verb_job *j, struct epics *list, bool all)
{
	size_t left = WIPS;

	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->v[i].n && left > 0; k++) {
			struct epic_sprint *one = &list->v[i].sprints[k];
			char *cwd = NULL;

			if ((!all && !list->v[i].interrupted) || one->state == SPRINT_COMPLETED || one->state == SPRINT_WAITING)
				continue;
			if ((cwd = epic_workspace(j, &list->v[i], one)) != NULL) {
				one->wip = wip_of_sprint(&list->v[i], k, cwd, &one->wip_at);
				left--;
			}
			free(cwd);
		}
}

static int
status(struct verb_job *j, struct err *e)
{
	const char *id = j->cli.n_args > 0 ? j->cli.args[0] : NULL;
	struct buf out = BUF_INIT;
	struct moment now;
	struct epics list;
	json_t *half = NULL;
	int ret;

	epic_greet(j);
	say_line(&j->say, "🔍 Scanning for interrupted executions...");
	ret = epic_read(j, id, &list, &now, e);
	if (ret == 0 && (half = half_written_read(j, e)) == NULL)
		ret = -1;
	if (ret == 0)
		epic_find_wips(j, &list, id != NULL);
	if (ret == 0 && id == NULL)
		ret = tell_strangers(j, e);
	if (ret == 0 && j->cli.json) {
		json_t *v = json_array(), *o = say_object();

		for (size_t i = 0; i < list.n; i++)
			if (id != NULL || list.v[i].interrupted)
				json_array_append_new(v, epic_screen_json(&list.v[i], now.wall_ms, epic_threshold(j)));
		json_object_set_new(o, "epics", v);
		json_object_set(o, "half_written", half);
		say_json(o);
	} else if (ret == 0) {
		epic_screen_status(&out, &list, id != NULL, now.wall_ms, epic_threshold(j));
		half_written_say(&out, half, now.wall_ms);
		fputs(out.data, stdout);
	}
	json_decref(half);
	buf_release(&out);
	epics_release(&list);
	return ret == 0 ? GT_OK : -1;
}

static int
signal_ready(struct verb_job *j, struct err *e)
{
	return checkpoint_take(j, "epic signal", SHAPE_SIGNAL, e);
}

static const struct verb verbs[] = {
	{ "status", status, 0, 1, .writes = false },
	{ "resume", epic_resume, 1, 1, .writes = true, .asks = true, .starts = true },
	{ "inspect", epic_inspect, 1, 1, .writes = false },
	{ "export", epic_export, 1, 1, .writes = false, .output = true },
	{ "import", epic_import, 0, 1, .writes = true },
	{ "abandon", epic_abandon, 1, 1, .writes = true, .asks = true },
	{ "signal", signal_ready, 1, 1, .writes = true },
};

int
cmd_epic(const struct cli *cli, struct err *e)
{
	return verb_run(cli, verbs, sizeof verbs / sizeof verbs[0], e);
}
