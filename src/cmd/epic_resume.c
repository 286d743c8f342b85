#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/moment.h"
#include "cmd/epic.h"
#include "cmd/epic_agent.h"
#include "cmd/epic_plan.h"
#include "cmd/epic_screen.h"
#include "cmd/epic_slot.h"
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
	struct epic_plan plan;
	bool *chosen, *active, *over;		/* one for each sprint; active: an agent of it is back; over: it starts over, as its record says */
	int64_t *saved;
	struct candidates all;
	json_t *agents, *locks;			/* told by --json */
	size_t back, failed, unknown;		/* agents; unknown: nobody knows how to start them, or they have ended */
	int code;				/* of all that failed, when it is one */
	bool started;				/* one at least: the next waits */
};

/* ---- what is asked for ---- */

/* "2,3": places in sprints[]. */
static int
choose_sprints(const char *list, const struct epic *x, bool *chosen, struct err *e)
{
	for (size_t i = 0; i < x->n; i++)
		chosen[i] = list == NULL;
	while (list != NULL) {
		char *end;
		unsigned long place = isdigit((unsigned char)*list) ? strtoul(list, &end, 10) : 0;

		if (place == 0 || place > x->n || (*end != ',' && *end != '\0')) {
			err_set(e, GT_USAGE, "usage", "--sprints takes places of the epic's %zu sprint%s, as in %s", x->n, x->n == 1 ? "" : "s",
			    x->n == 1 ? "1" : "1,2");
			return err_hint(e, "gt-recover epic status %.200s shows them", x->id);
		}
		chosen[place - 1] = true;
		list = *end == ',' ? end + 1 : NULL;
	}
	return 0;
}

/* Why there is nothing to resume. -1. */
static int
refuse(const struct epic *x, int64_t now, struct err *e)
{
	const char *status = json_text(x->record, "status", "");

	if (x->alive) {
		err_set(e, GT_REFUSED, "live", "an agent of the epic %.200s is running", x->id);
		return err_hint(e, "No sprint of it is known to have died; gt-recover epic status %.200s shows how far it is, --sprints names those"
		    " whose agents are to come back", x->id);
	}
	if (x->young) {
		err_set(e, GT_AGAIN, "young", "something was heard of the epic %.200s %lld seconds ago: it may be running", x->id,
		    (long long)(now - x->heard) / 1000);
		return err_hint(e, "It counts as interrupted after three times checkpoint_interval without a sign");
	}
	if (strcmp(status, "completed") == 0) {
		err_set(e, GT_NOTHING, "completed", "the epic %.200s is completed, by its own status", x->id);
		return err_hint(e, "gt-recover epic inspect %.200s shows its sprints", x->id);
	}
	err_set(e, GT_NOTHING, "not-begun", "the epic %.200s has not begun", x->id);
	return err_hint(e, "A checkpoint of it, or of a sprint, tells when it has (status \"in_progress\")");
}

static int
check(const struct resuming *r, int64_t now, struct err *e)
{
	size_t open = 0;

	for (size_t i = 0; i < r->x->n; i++)
		open += r->x->sprints[i].state != SPRINT_COMPLETED;
	if (r->x->n == 0) {
		err_set(e, GT_NOTHING, "no-sprints", "no sprint of the epic %.200s is recorded", r->x->id);
		return err_hint(e, "gt-recover checkpoint epic tells them, in sprints[]");
	}
	if (open == 0) {
		err_set(e, GT_NOTHING, "completed", "all sprints of the epic %.200s are completed", r->x->id);
		return -1;
	}
	if (r->x->interrupted || (r->x->alive && r->plan.named))
		return 0;
	return refuse(r->x, now, e);
}

/* 1 to 4; 0: declined. */
static int
ask(const struct resuming *r, int64_t now)
{
	struct buf text = BUF_INIT;
	char answer[16];

	epic_screen_prompt(&text, r->x, now, r->plan.threshold);
	buf_str(&text, "Choose [1-4]: ");
	fputs(text.data, stdout);
	buf_release(&text);
	fflush(stdout);
	if (fgets(answer, sizeof answer, stdin) == NULL || answer[0] < '1' || answer[0] > '4' || (answer[1] != '\n' && answer[1] != '\0'))
		return 0;
	return answer[0] - '0';
}

/* ---- what is on disk ---- */

/* epic_plan.saved */
static int64_t
saved_at(const struct resuming *r, const struct epic_sprint *x)
{
	const char *path = x->n_files > 0 ? x->files[x->n_files - 1].path : NULL;
	char *cwd = path != NULL ? epic_workspace(r->j, r->x, x) : NULL, *whole = NULL;
	int64_t at = -1;
	struct stat st;

	if (path != NULL && *path == '/')
		whole = xstrdup(path);
	else if (cwd != NULL && *cwd == '/')
		whole = io_join(cwd, path);
	if (whole != NULL && stat(whole, &st) == 0)
		at = (int64_t)st.st_mtim.tv_sec * 1000;
	else if (whole != NULL && errno == ENOENT)
		at = 0;
	free(whole);
	free(cwd);
	return at;
}

static void
print_plan(const struct resuming *r)
{
	struct buf out = BUF_INIT;

	epic_plan_all(&out, &r->plan);
	fputs(out.data, stdout);
	buf_release(&out);
}

/* ---- bringing agents back ---- */

static void
wait_spacing(const struct resuming *r)
{
	int64_t until = clock_mono_ms() + config_ms(r->j->w.config, "spacing");

	while (r->started && clock_mono_ms() < until && setup_stopped() == 0)
		clock_sleep_ms(50);
}

/*
 * The way 2: what had come far starts over, too, and its agents are told so by its record (epic/brief.h). Once, before the first of them that
 * can be started: he may have told of new progress when the next one is.
 */
static int
start_over(struct resuming *r, size_t i, struct err *e)
{
	const struct epic_sprint *one = &r->x->sprints[i];

	if (!r->plan.restart || r->over[i] || one->state == SPRINT_WAITING || one->foreign || one->alive)
		return 0;
	r->over[i] = state_start_over(r->j->store, r->x->id, one->id, e) == 0;
	return r->over[i] ? 0 : -1;
}

static void
bring_back(struct resuming *r, size_t i, const char *agent)
{
	struct err e = ERR_INIT;
	struct session x;
	struct buf name = BUF_INIT, text = BUF_INIT;
	char id[21] = "";
	json_t *o = json_object();
	int ret = epic_agent(r->j, r->x, &r->all, sprint_session(&r->x->sprints[i], agent), &x, &e);
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
	r->active[i] = r->active[i] || ret >= 0;
	r->code = ret >= 0 ? r->code : r->failed == 0 || r->code == (int)e.code ? (int)e.code : GT_FAIL;
	r->unknown += ret < 0 && (strcmp(e.name, "not-startable") == 0 || strcmp(e.name, "ended") == 0);
	r->failed += ret < 0;
	json_put(o, "agent", agent);
	json_put(o, "sprint", r->x->sprints[i].id);
	json_put(o, "attempt", *id != '\0' ? id : NULL);
	json_put(o, "error", ret < 0 ? e.name : NULL);
	json_array_append_new(r->agents, o);
	buf_release(&name);
	buf_release(&text);
}

/* Of a sprint that nobody is told of, nobody can come back. */
static void
nobody(struct resuming *r, size_t i)
{
	struct buf name = BUF_INIT;

	say_foreign(&name, r->x->sprints[i].id, 60);
	say_warning(&r->j->say, "sprint %s: no agent of it is recorded (not-startable)\n"
	    "  gt-recover checkpoint sprint tells who works at it, in agents[]", name.data);
	r->unknown++;
	r->failed++;
	buf_release(&name);
}

static void
tell_lines(const struct resuming *r, struct buf *text)
{
	if (text->len > 0)
		buf_cut(text, text->len - 1);
	say_exact(&r->j->say, "%s", text->data);
	buf_release(text);
}

static void
run_sprint(struct resuming *r, size_t i)
{
	json_t *ids = epic_plan_agents(&r->plan, i), *v;
	size_t failed = r->failed;
	struct buf text = BUF_INIT;
	struct epic_slot slot;
	const char *id;

	epic_plan_sprint(&text, &r->plan, i, "Spawning agents: ");
	tell_lines(r, &text);
	if (epic_plan_open(&r->plan, i)) {
		/* before its agents are told of it */
		epic_slot_take(&slot, r->j, &r->x->sprints[i], r->locks);
		json_object_foreach(ids, id, v)
			if (setup_stopped() == 0)
				bring_back(r, i, id);
		epic_slot_bind(&slot, r->j, &r->x->sprints[i]);
		if (json_object_size(ids) == 0)
			nobody(r, i);
		else if (r->failed == failed && setup_stopped() == 0)
			say_exact(&r->j->say, "    └─ Agents ready ✅");
	}
	json_decref(ids);
}

static void
run(struct resuming *r)
{
	struct buf text = BUF_INIT;

	epic_plan_title(&text, &r->plan);
	tell_lines(r, &text);
	for (size_t i = 0; i < r->x->n && setup_stopped() == 0; i++)
		run_sprint(r, i);
}

/* ---- the end ---- */

static void
print_summary(const struct resuming *r)
{
	struct buf out = BUF_INIT;

	epic_plan_summary(&out, &r->plan, r->active, r->failed == 0);
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
		json_object_set(v, "locks", r->locks);
		say_json(v);
	} else if (r->back > 0) {
		print_summary(r);
	} else {
		say_line(&r->j->say, "No agent was started.");
	}
	if (r->failed == 0)
		return r->back > 0 ? GT_OK : GT_NOTHING;
	return r->back > 0 ? GT_SOME : r->unknown == r->failed ? GT_NOTHING : r->code;
}

static json_t *
plan_json(const struct resuming *r)
{
	json_t *v = say_object(), *sprints = json_array();

	for (size_t i = 0; i < r->x->n; i++)
		json_array_append_new(sprints, epic_plan_json(&r->plan, i));
	json_put(v, "epic", r->x->id);
	json_put_flag(v, "dry_run", true);
	json_object_set_new(v, "sprints", sprints);
	return v;
}

static int
resume(struct resuming *r, int64_t now, struct err *e)
{
	const struct cli *cli = &r->j->cli;
	int chosen = 1;

	if (cli->dry_run && cli->json) {
		say_json(plan_json(r));
		return GT_OK;
	}
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
	r->plan.restart = chosen == 2;
	if (detect(&r->j->w, &r->all, e) != 0 && strcmp(e->name, "no-server") != 0)
		return -1;
	err_clear(e);
	run(r);
	return finish(r);
}

static void
make_plan(struct resuming *r, const struct epic *x)
{
	r->x = x;
	r->chosen = xcalloc(x->n + 1, sizeof *r->chosen);
	r->active = xcalloc(x->n + 1, sizeof *r->active);
	r->over = xcalloc(x->n + 1, sizeof *r->over);
	r->saved = xcalloc(x->n + 1, sizeof *r->saved);
	for (size_t i = 0; i < x->n; i++)
		r->saved[i] = saved_at(r, &x->sprints[i]);
	r->plan = (struct epic_plan){ .x = x, .chosen = r->chosen, .saved = r->saved, .threshold = epic_threshold(r->j),
	    .named = r->j->cli.sprints != NULL };
}

int
epic_resume(struct verb_job *j, struct err *e)
{
	struct resuming r = { .j = j, .agents = json_array(), .locks = json_array() };
	struct epics list;
	struct moment now;
	int ret = epic_read(j, j->cli.args[0], &list, &now, e);

	if (ret == 0) {
		epic_greet(j);
		if (!j->cli.yes && !j->cli.dry_run)
			epic_find_wips(j, &list, true);
		make_plan(&r, &list.v[0]);
		ret = choose_sprints(j->cli.sprints, r.x, r.chosen, e);
		if (ret == 0)
			ret = check(&r, now.wall_ms, e) == 0 ? resume(&r, now.wall_ms, e) : -1;
	}
	free(r.chosen);
	free(r.active);
	free(r.over);
	free(r.saved);
	candidates_release(&r.all);
	json_decref(r.agents);
	json_decref(r.locks);
	epics_release(&list);
	return ret;
}
