#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "cmd/epic.h"
#include "cmd/epic_screen.h"
#include "cmd/setup.h"
#include "cmd/verb.h"
#include "epic/epic.h"
#include "epic/shape.h"
#include "epic/state.h"
#include "ledger/session.h"
#include "revive/detect.h"
#include "revive/restart.h"
#include "scrub/scrub.h"
#include "town/config.h"

struct resuming {
	struct verb_job *j;
	const struct epic *x;
	bool *chosen;				/* one for each sprint */
	double threshold;
	bool restart;				/* the way 2: from the beginning */
	struct candidates all;
	json_t *agents;				/* told by --json */
	size_t back, failed, unknown;		/* agents; unknown: nobody knows how to start them */
	bool started;				/* one at least: the next waits */
};

/* ---- what is asked for ---- */

/* "2,3": places in sprints[]. */
static int
choose_sprints(const char *list, const struct epic *x, bool *chosen, struct err *e)
{
	for (size_t i = 0; i < x->n; i++)
		chosen[i] = list == NULL;
	while (list != NULL && *list != '\0') {
		char *end;
		unsigned long place = isdigit((unsigned char)*list) ? strtoul(list, &end, 10) : 0;

		if (place == 0 || place > x->n || (*end != ',' && *end != '\0')) {
			err_set(e, GT_USAGE, "usage", "--sprints takes places of the epic's %zu sprints, as in 2,3", x->n);
			return err_hint(e, "gt-recover epic status %.200s shows them", x->id);
		}
		chosen[place - 1] = true;
		list = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static int
check(const struct resuming *r, int64_t now, struct err *e)
{
	size_t open = 0;

	for (size_t i = 0; i < r->x->n; i++)
		open += r->x->sprints[i].state != SPRINT_COMPLETED;
	if (open == 0) {
		err_set(e, GT_NOTHING, "completed", "all sprints of the epic %.200s are completed", r->x->id);
		return -1;
	}
	if (r->x->alive) {
		err_set(e, GT_REFUSED, "live", "an agent of the epic %.200s is running", r->x->id);
		return err_hint(e, "It was not interrupted; gt-recover epic status %.200s shows how far it is", r->x->id);
	}
	if (r->x->interrupted)
		return 0;
	err_set(e, GT_AGAIN, "young", "something was heard of the epic %.200s %lld seconds ago: it may be running", r->x->id,
	    (long long)(now - r->x->heard) / 1000);
	return err_hint(e, "It counts as interrupted after three times checkpoint_interval without a sign");
}

/* 1 to 4; 0: declined. */
static int
ask(const struct resuming *r, int64_t now)
{
	struct buf text = BUF_INIT;
	char answer[16];

	epic_screen_prompt(&text, r->x, now, r->threshold);
	buf_str(&text, "Choose [1-4]: ");
	fputs(text.data, stdout);
	buf_release(&text);
	fflush(stdout);
	if (fgets(answer, sizeof answer, stdin) == NULL || answer[0] < '1' || answer[0] > '4' || (answer[1] != '\n' && answer[1] != '\0'))
		return 0;
	return answer[0] - '0';
}

static bool
waits(const struct resuming *r, size_t i)
{
	return r->x->sprints[i].state == SPRINT_WAITING && !sprint_free(&r->x->sprints[i]);
}

static const char *
way(const struct resuming *r, size_t i)
{
	const struct epic_sprint *one = &r->x->sprints[i];

	if (one->state == SPRINT_WAITING)
		return "starting";
	return r->restart || sprint_early(one, r->threshold) ? "restart" : "resume";
}

static bool
is_open(const struct resuming *r, size_t i)
{
	return r->chosen[i] && r->x->sprints[i].state != SPRINT_COMPLETED && !waits(r, i);
}

/* ---- the plan, line by line ---- */

static void
tell_sprint(const struct resuming *r, size_t i, struct buf *out)
{
	const struct epic_sprint *one = &r->x->sprints[i];
	const struct epic_file *last = one->n_files > 0 ? &one->files[one->n_files - 1] : NULL;

	epic_screen_name(out, r->x, i, r->threshold);
	if (!r->chosen[i])
		buf_str(out, ": not chosen, left alone\n");
	else if (one->state == SPRINT_COMPLETED)
		buf_str(out, ": Already complete, skipping\n");
	else if (waits(r, i))
		buf_str(out, ": Dependency not ready, left waiting\n");
	else if (one->state == SPRINT_WAITING)
		buf_str(out, ": Dependency resolved, starting\n");
	else if (strcmp(way(r, i), "restart") == 0)
		buf_fmt(out, ": %s from the beginning (%d%%)\n", r->restart ? "Restarting" : "Too early, restarting", (int)one->progress);
	else
		buf_fmt(out, ": Resuming at %d%%\n", (int)one->progress);
	if (!is_open(r, i) || last == NULL)
		return;
	buf_str(out, "    └─ Last file: ");
	say_foreign(out, last->path, 120);
	if (last->last != NULL) {
		buf_str(out, "\n    └─ Last section: ");
		say_foreign(out, last->last, 120);
	}
	if (last->next != NULL && strcmp(way(r, i), "resume") == 0) {
		buf_str(out, "\n    └─ Next section: ");
		say_foreign(out, last->next, 120);
	}
	buf_chr(out, '\n');
}

/* Ids of a sprint's agents: those it lists, and those whose records name it. New reference: id -> true. */
static json_t *
agents_of(const struct epic_sprint *x)
{
	const json_t *listed = json_object_get(x->record, "agents");
	json_t *ids = json_object();

	for (size_t i = 0; i < json_array_size(listed); i++)
		json_object_set_new(ids, json_text(json_array_get(listed, i), "id", ""), json_true());
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		json_object_set_new(ids, json_text(json_array_get(x->agents, i), "agentId", ""), json_true());
	return ids;
}

static void
print_plan(const struct resuming *r)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < r->x->n; i++) {
		json_t *ids = agents_of(&r->x->sprints[i]), *v;
		const char *id, *before = "    └─ Agents: ";

		tell_sprint(r, i, &out);
		json_object_foreach(ids, id, v) {
			if (!is_open(r, i))
				break;
			buf_str(&out, before);
			say_foreign(&out, id, 60);
			before = ", ";
		}
		if (is_open(r, i) && json_object_size(ids) > 0)
			buf_chr(&out, '\n');
		json_decref(ids);
	}
	fputs(out.data, stdout);
	buf_release(&out);
}

/* ---- bringing agents back ---- */

/* Where tmux takes it as it is. Heap. */
static char *
session_name(const char *agent)
{
	char *name = xasprintf("epic-%.100s", agent);

	for (char *p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
			*p = '-';
	return name;
}

/* Of an agent that no record tells how to start: by the key start_command. 1 recorded and suspended, 0 there is no such key. */
static int
record_agent(struct resuming *r, const char *agent, struct session *out, struct err *e)
{
	const char *command = config_text(r->j->w.config, "epics.start_command");
	const char *place = json_text(r->x->record, "workspace", NULL);
	struct scrub *s = *command != '\0' ? world_scrub(&r->j->w, e) : NULL;
	char cwd[4096], *name = session_name(agent);
	struct clean_text *clean;
	struct session x;
	int ret = -1;

	session_init(&x);
	if (s != NULL && (place != NULL || (place = getcwd(cwd, sizeof cwd)) != NULL)) {
		clean = scrub_string(s, command);
		session_set(&x.agent_uuid, agent);
		session_set(&x.provider_name, "epic");
		session_set(&x.session, name);
		session_set(&x.workspace_path, place);
		session_set(&x.start_command, clean_bytes(clean));
		clean_free(clean);
		ret = session_record(r->j->store, &x, NULL, e) == 0 &&
		    session_suspend(r->j->store, agent, NULL, "it is started for its epic", out, e) == 0 ? 1 : -1;
	} else if (*command == '\0') {
		ret = 0;
	}
	session_release(&x);
	scrub_free(s);
	free(name);
	return ret;
}

/* Its session, SUSPENDED. 1; 0: it runs; -1 with err. */
static int
find_session(struct resuming *r, const char *agent, struct session *x, struct err *e)
{
	struct moment now;
	int found = session_load(r->j->store, agent, x, e);

	moment_now(&now);
	if (found == 0 && (found = record_agent(r, agent, x, e)) == 0) {
		err_set(e, GT_REFUSED, "not-startable", "no session of it is recorded, and start_command is not set");
		return err_hint(e, "gt-recover session record tells how to start it, or the key start_command of [recovery.epics]");
	}
	if (found < 0)
		return -1;
	if (x->state == SESSION_ENDED)
		return err_set(e, GT_REFUSED, "ended", "its session has ended");
	if (x->state == SESSION_SUSPENDED)
		return 1;
	if (session_lives(x, &now))
		return 0;
	session_release(x);
	return session_suspend(r->j->store, agent, NULL, "its process is gone", x, e) == 0 ? 1 : -1;
}

static void
wait_spacing(const struct resuming *r)
{
	int64_t until = clock_mono_ms() + config_ms(r->j->w.config, "spacing");

	while (r->started && clock_mono_ms() < until && setup_stopped() == 0)
		clock_sleep_ms(50);
}

/* The way 2: what had come far starts over, too, and its agents are told so by its record (epic/brief.h). The rest of the record stays. */
static int
start_over(struct resuming *r, size_t i, struct err *e)
{
	const struct epic_sprint *one = &r->x->sprints[i];
	json_t *o;
	int ret;

	if (!r->restart || one->record == NULL || one->state != SPRINT_IN_PROGRESS)
		return 0;
	o = json_deep_copy(one->record);
	json_put_int(o, "progress", 0);
	json_put(o, "status", "starting");
	ret = state_write(r->j->store, SHAPE_SPRINT, one->id, o, NULL, e);
	json_decref(o);
	return ret;
}

/* By what id the ledger knows it. */
static const char *
session_of(const struct epic_sprint *x, const char *agent)
{
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		if (strcmp(json_text(json_array_get(x->agents, i), "agentId", ""), agent) == 0)
			return json_text(json_array_get(x->agents, i), "sessionId", agent);
	return agent;
}

static void
bring_back(struct resuming *r, size_t i, const char *agent)
{
	struct err e = ERR_INIT;
	struct session x;
	struct buf name = BUF_INIT, text = BUF_INIT;
	char id[21] = "";
	json_t *o = json_object();
	int ret = find_session(r, session_of(&r->x->sprints[i], agent), &x, &e);
	bool ran = ret == 0;

	if (ret > 0) {
		wait_spacing(r);
		ret = start_over(r, i, &e) == 0 ? restart_agent(&r->j->w, &x, &r->all, id, &e) : -1;
		r->started = r->started || *id != '\0';
	}
	session_release(&x);
	say_foreign(&name, agent, 60);
	say_foreign(&text, e.msg, 0);
	if (ret >= 0)
		say_done(&r->j->say, "%s %s", name.data, ran ? "runs already" : "is back");
	else
		say_warning(&r->j->say, "%s: %s (%s)%s%s", name.data, text.data, e.name, *e.hint != '\0' ? "\n  " : "", e.hint);
	r->back += ret >= 0;
	r->unknown += ret < 0 && strcmp(e.name, "not-startable") == 0;
	r->failed += ret < 0;
	json_put(o, "agent", agent);
	json_put(o, "sprint", r->x->sprints[i].id);
	json_put(o, "attempt", *id != '\0' ? id : NULL);
	json_put(o, "error", ret < 0 ? e.name : NULL);
	json_array_append_new(r->agents, o);
	buf_release(&name);
	buf_release(&text);
}

static void
run(struct resuming *r)
{
	for (size_t i = 0; i < r->x->n && setup_stopped() == 0; i++) {
		json_t *ids = agents_of(&r->x->sprints[i]), *v;
		struct buf line = BUF_INIT;
		const char *id;

		tell_sprint(r, i, &line);
		if (line.len > 0)
			buf_cut(&line, line.len - 1);
		say_exact(&r->j->say, "%s", line.data);
		buf_release(&line);
		json_object_foreach(ids, id, v)
			if (is_open(r, i) && setup_stopped() == 0)
				bring_back(r, i, id);
		json_decref(ids);
	}
}

/* ---- the end ---- */

static void
print_summary(const struct resuming *r)
{
	struct buf out = BUF_INIT;
	size_t n = 0;
	int64_t left = epic_remaining(r->x, r->threshold);

	buf_str(&out, r->failed == 0 ? "🎯 Epic resumed successfully\n" : "⚠️  Epic resumed in part\n");
	for (size_t i = 0; i < r->x->n; i++)
		n += is_open(r, i);
	buf_fmt(&out, "Active sprints: %zu\nEstimated time to completion: ", n);
	if (left < 0)
		buf_str(&out, "unknown");
	else
		epic_screen_age(&out, left);
	buf_str(&out, "\n\n📊 Progress:\n");
	for (size_t i = 0; i < r->x->n; i++) {
		if (!is_open(r, i))
			continue;
		buf_fmt(&out, "  Sprint %zu: ", i + 1);
		epic_screen_bar(&out, r->x->sprints[i].progress);
		buf_fmt(&out, " %2d%% (%s)\n", (int)r->x->sprints[i].progress, way(r, i));
	}
	fputs(out.data, stdout);
	buf_release(&out);
}

static int
finish(struct resuming *r)
{
	if (r->j->cli.json) {
		json_t *v = say_object();

		json_put(v, "epic", r->x->id);
		json_object_set(v, "agents", r->agents);
		say_json(v);
	} else if (r->back > 0) {
		print_summary(r);
	} else {
		say_line(&r->j->say, "No agent was started.");
	}
	if (r->failed == 0)
		return r->back > 0 ? GT_OK : GT_NOTHING;
	return r->back > 0 ? GT_SOME : r->unknown == r->failed ? GT_NOTHING : GT_FAIL;
}

static int
resume(struct resuming *r, int64_t now, struct err *e)
{
	const struct cli *cli = &r->j->cli;
	int chosen = 1;

	if (cli->dry_run) {
		print_plan(r);
		return GT_OK;
	}
	if (!cli->yes && (cli->no_input || cli->json)) {
		err_set(e, GT_USAGE, "needs-yes", "epic resume starts agents, and nobody can be asked");
		return err_hint(e, "Say --yes to mean it, or --dry-run to see the plan");
	}
	if (!cli->yes)
		chosen = ask(r, now);
	if (chosen == 4)
		return epic_abandon_one(r->j, r->x, e);
	if (chosen == 3)
		print_plan(r);
	if (chosen == 0)
		say_line(&r->j->say, "Nothing was changed.");
	if (chosen == 0 || chosen == 3)
		return chosen == 3 ? GT_OK : GT_NOTHING;
	r->restart = chosen == 2;
	if (detect(&r->j->w, &r->all, e) != 0 && strcmp(e->name, "no-server") != 0)
		return -1;
	err_clear(e);
	run(r);
	return finish(r);
}

int
epic_resume(struct verb_job *j, struct err *e)
{
	struct resuming r = { .j = j, .threshold = epic_threshold(j), .agents = json_array() };
	struct epics list;
	struct moment now;
	int ret = epic_read(j, j->cli.args[0], &list, &now, e);

	if (ret == 0) {
		r.x = &list.v[0];
		r.chosen = xcalloc(r.x->n + 1, sizeof *r.chosen);
		ret = choose_sprints(j->cli.sprints, r.x, r.chosen, e);
		if (ret == 0)
			ret = check(&r, now.wall_ms, e) == 0 ? resume(&r, now.wall_ms, e) : -1;
	}
	free(r.chosen);
	candidates_release(&r.all);
	json_decref(r.agents);
	epics_release(&list);
	return ret;
}
