#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/epic/epic.h"
#include "base/clock.h"
#include "base/encode.h"
#include "base/io.h"
#include "config/config.h"
#include "detect/detect.h"
#include "recover/recover.h"
#include "records/agents/agents.h"
#include "recover/upkeep/upkeep.h"
#include "scrub/scrub.h"
#include "snapshot/pass/pass.h"
#include "store/store.h"

#define PROVIDER "epic"			/* of sessions that the key start_command made */

/* Where tmux takes it as it is; of one that was changed for that a hash tells it apart from others. Heap. */
static char *
session_name(const char *agent)
{
	char hash[65], *name = xasprintf("epic-%.100s", agent), *whole;

	for (char *p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
			*p = '-';
	if (strcmp(name + strlen("epic-"), agent) == 0)
		return name;
	sha256_hex(agent, strlen(agent), hash);
	whole = xasprintf("%s-%.8s", name, hash);
	free(name);
	return whole;
}

/* What the key start_command makes of an agent; *out is empty when there is no such key. */
static int
make_session(struct verb_job *j, const struct epic *x, const char *agent, struct session *out, struct err *e)
{
	const char *command = config_text(j->w.config, "epics.start_command"),
		   *place = json_text(x->record, "workspace", NULL);
	struct scrub *s = *command != '\0' ? app_scrub(&j->w, e) : NULL;
	char cwd[4096], *name;
	struct clean_text *clean;

	session_init(out);
	if (*command == '\0')
		return 0;
	if (s == NULL || (place == NULL && (place = getcwd(cwd, sizeof cwd)) == NULL)) {
		scrub_free(s);
		return s == NULL ? -1
				 : err_sys(e, GT_FAIL, "no-place",
				       "the current directory no longer exists, and the epic names no "
				       "workspace");
	}
	name = session_name(agent);
	clean = scrub_string(s, command);
	record_set(&out->agent_uuid, agent);
	record_set(&out->provider_name, PROVIDER);
	record_set(&out->session, name);
	record_set(&out->workspace_path, place);
	record_set(&out->start_command, clean_bytes(clean));
	clean_free(clean);
	scrub_free(s);
	free(name);
	return 0;
}

/*
 * It is as the key start_command has it, SUSPENDED, in *out. 1; 0: there is no such key, *out is
 * as it was.
 */
static int
record_agent(struct verb_job *j, const struct epic *x, const char *agent, struct session *out, struct err *e)
{
	struct session made;
	int ret = make_session(j, x, agent, &made, e);

	if (ret == 0 && made.start_command != NULL) {
		session_release(out);
		ret = session_record(j->store, &made, NULL, e) == 0 &&
			session_suspend(j->store, agent, NULL, "started for its epic", out, e) == 0
		    ? 1
		    : -1;
	}
	session_release(&made);
	return ret;
}

/* One that the key made and that never had a conversation: the key may have been corrected since. 1; -1. */
static int
renew(struct verb_job *j, const struct epic *x, struct session *out, struct err *e)
{
	struct session made, old;
	struct buf blob = BUF_INIT;
	char *agent;
	int ret;

	if (out->cursor_session_id != NULL || out->provider_name == NULL ||
	    strcmp(out->provider_name, PROVIDER) != 0)
		return 1;
	ret = make_session(j, x, out->agent_uuid, &made, e);
	if (ret == 0 && made.start_command != NULL &&
	    strcmp(made.start_command, out->start_command != NULL ? out->start_command : "") != 0) {
		agent = xstrdup(out->agent_uuid);
		ret = session_restore(j->store, agent, &blob, &old, e);
		if (ret == 0)
			ret = record_agent(j, x, agent, out, e) > 0 ? 0 : -1;
		session_release(&old);
		buf_release(&blob);
		free(agent);
	}
	session_release(&made);
	return ret == 0 ? 1 : -1;
}

/* Some session is known to be that process. */
static bool
is_claimed(struct store *s, pid_t pid, const struct timestamp *now)
{
	struct session_list all = { .n = 0 };
	bool claimed = false;

	if (session_list_read(s, SESSION_ACTIVE, &all, NULL) == 0)
		for (size_t i = 0; i < all.n && !claimed; i++)
			claimed = all.v[i].pid == pid && !session_is_contained(&all.v[i], now) &&
			    session_is_alive(&all.v[i], now);
	session_list_release(&all);
	return claimed;
}

/* An agent that may be it: in its tmux session, or in its directory and nobody else's. */
static const struct candidate *
find_living(struct verb_job *j, const struct session *x, const struct candidate_list *all,
    const struct timestamp *now)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct candidate *c = &all->v[i];
		bool place =
		    x->workspace_path != NULL && c->cwd != NULL && strcmp(c->cwd, x->workspace_path) == 0;
		bool name = x->session != NULL && strcmp(c->pane.session, x->session) == 0;

		if (!detect_status_crashed(c->status) && (name || place) &&
		    (c->agent_pid == 0 || !is_claimed(j->store, c->agent_pid, now)))
			return c;
	}
	return NULL;
}

/*
 * The session (records/agents/agents.h) of an agent that is to come back, SUSPENDED: as it is
 * recorded, else by the key start_command, which one that was made by it follows until it has a
 * conversation. agent: by what id the ledger knows it. all: what detect found; of one whose
 * process nobody noted it tells whether an agent lives where it worked.
 *
 * 1; 0: it runs already; -1: "not-startable", "ended", "elsewhere", "there" (all GT_REFUSED), or
 * those of session_suspend. Nothing is suspended then. *out is released by the caller in any
 * case.
 */
static int
epic_agent(struct verb_job *j, const struct epic *x, const struct candidate_list *all, const char *agent,
    struct session *out, struct err *e)
{
	const struct candidate *living;
	const char *why;
	struct timestamp now;
	int found = session_load(j->store, agent, out, e);

	timestamp_now(&now);
	if (found == 0 && (found = record_agent(j, x, agent, out, e)) == 0) {
		err_set(e, GT_REFUSED, "not-startable",
		    "no session record, and start_command is not set");
		return err_hint(e,
		    "Record its session (gt-recover records session record), or set start_command in "
		    "[recovery.epics]");
	}
	if (found < 0)
		return -1;
	if (out->state == SESSION_ENDED) {
		err_set(e, GT_REFUSED, "ended",
		    "its session has ended and cannot be resumed");
		return err_hint(e,
		    "Record its successor (gt-recover records session record), and set it as sessionId "
		    "with gt-recover records checkpoint agent");
	}
	if (out->state == SESSION_SUSPENDED)
		return renew(j, x, out, e);
	if (session_is_alive(out, &now))
		return 0;
	if (session_is_elsewhere(out)) {
		err_set(e, GT_REFUSED, "elsewhere",
		    "it is active on the host %s; cannot tell from here whether it is alive", out->host);
		return err_hint(e,
		    "Resume it there. If that host no longer exists: gt-recover records session suspend "
		    "%.60s, session restore, session suspend; then retry",
		    agent);
	}
	if (!session_is_lost(out, &now) && (living = find_living(j, out, all, &now)) != NULL) {
		err_set(e, GT_REFUSED, "there",
		    "its process is unknown, and the tmux session %.60s has a living agent that may be it",
		    living->pane.session);
		return err_hint(e,
		    "If it is, record it with its pid: gt-recover records session record; if not: "
		    "gt-recover records session "
		    "suspend %.60s",
		    agent);
	}
	why = session_is_lost(out, &now) ? "its process is gone"
					 : "its epic is resumed and its process is unknown";
	session_release(out);
	return session_suspend(j->store, agent, NULL, why, out, e) == 0 ? 1 : -1;
}

static void
read_clock(const struct verb_job *j, struct timestamp *now)
{
	timestamp_now(now);
	now->wall_ms = store_now(j->store);
}

static void
report_taken(struct verb_job *j, const struct lock *l)
{
	if (l->taken_from != NULL)
		output_exact(&j->say, "    └─ Force releasing stale test lock: %s",
		    output_shown(l->taken_from, 200));
	output_exact(&j->say, "    └─ Test slot acquired ✓ (%s, for %s)", output_shown(l->name, 60),
	    output_shown(l->holder, 60));
}

/*
 * Of its agents one runs, here or for all that anybody knows on another host: then it may be
 * running its tests.
 */
static bool
may_run(struct verb_job *j, const struct epic_sprint *x, const struct timestamp *now)
{
	bool may = false;

	for (size_t i = 0; i < json_array_size(x->agents) && !may; i++) {
		const char *id =
		    sprint_agent_session(x, json_text(json_array_get(x->agents, i), "agentId", ""));
		struct session session;

		may = session_load(j->store, id, &session, NULL) != 0 &&
		    (session_is_elsewhere(&session) || session_is_alive(&session, now));
		session_release(&session);
	}
	return may;
}

/*
 * Of a sprint whose agents may run nothing is taken. Appends to locks what --json tells of it. A
 * lock that cannot be had is told and hinders nobody: the agent waits for it.
 */
static void
epic_slot_take(struct epic_slot *slot, struct verb_job *j, const struct epic_sprint *x, json_t *locks)
{
	struct err e = ERR_INIT;
	struct timestamp now;
	json_t *o;
	int ret;

	read_clock(j, &now);
	memset(slot, 0, sizeof *slot);
	if (may_run(j, x, &now) || (ret = sprint_test_lock_take(j->store, x, &now, &slot->lock, &e)) == 0)
		return;
	o = json_object();
	json_put(o, "name", sprint_test_lock_name(x));
	json_put(o, "sprint", x->id);
	json_put(o, "holder", ret > 0 ? slot->lock.holder : NULL);
	json_object_set_new(o, "fence", ret > 0 ? json_integer((json_int_t)slot->lock.fence) : json_null());
	json_put(o, "taken_over", ret > 0 ? slot->lock.taken_from : NULL);
	json_object_set_new(o, "error", ret < 0 ? output_error_json(&e) : json_null());
	json_array_append_new(locks, o);
	if (ret > 0) {
		report_taken(j, &slot->lock);
	} else {
		output_warning(&j->say,
		    "the test lock is not available: %s\n  The agents of this sprint wait for it",
		    output_shown(e.msg, 0));
	}
}

/*
 * When the agents are back: while its process lives, the agent keeps it; of one that did not come
 * back it is given back. Releases the slot.
 */
static void
epic_slot_bind(struct epic_slot *slot, struct verb_job *j, const struct epic_sprint *x)
{
	struct lock_holder who = {
		.name = slot->lock.name, .holder = slot->lock.holder, .fence = slot->lock.fence
	};
	struct err e = ERR_INIT;
	struct session session;
	struct timestamp now;
	struct lock l;

	if (slot->lock.name == NULL)
		return;
	read_clock(j, &now);
	if (session_load(j->store, sprint_agent_session(x, who.holder), &session, &e) > 0 &&
	    session_is_alive(&session, &now)) {
		/* a pid of another container is no process here: the lease stands */
		who.pid = session_is_contained(&session, &now) ? 0 : session.pid;
		if (lock_renew(j->store, &who, &now, &l, &e) == 0)
			lock_release(&l);
	} else if (lock_unlock(j->store, &who, &now, &l, &e) >= 0) {
		/* it did not come back: others need not wait for the end of a lease */
		lock_release(&l);
	}
	session_release(&session);
	lock_release(&slot->lock);
}

struct resuming {
	struct verb_job *j;
	const struct epic *x;
	struct epic_plan plan;
	/* one for each sprint; active: an agent of it is back; over: it starts over, as its record says */
	bool *chosen, *active, *over;
	int64_t *saved;
	struct candidate_list all;
	json_t *agents, *locks;			/* told by --json */
	/* agents; unknown: nobody knows how to start them, or they have ended */
	size_t back, failed, unknown;
	size_t slow;				/* of those that failed: started, and not ready */
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
			err_set(e, GT_USAGE, "usage",
			    "--sprints takes numbers of the epic's %zu sprint%s, as in %s", x->n,
			    x->n == 1 ? "" : "s", x->n == 1 ? "1" : "1,2");
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
		return err_hint(e,
		    "No sprint is known to have crashed; gt-recover epic status %.200s shows the "
		    "progress, --sprints selects sprints to resume",
		    x->id);
	}
	if (x->young) {
		err_set(e, GT_AGAIN, "young",
		    "the epic %.200s reported %lld seconds ago: it may be running", x->id,
		    (long long)(now - x->last_seen_at) / 1000);
		return err_hint(
		    e, "It counts as interrupted after 3 x checkpoint_interval without a report");
	}
	if (strcmp(status, "completed") == 0) {
		err_set(e, GT_NOTHING, "completed", "the epic %.200s is completed", x->id);
		return err_hint(e, "gt-recover epic inspect %.200s shows its sprints", x->id);
	}
	err_set(e, GT_NOTHING, "not-begun", "the epic %.200s has not started", x->id);
	return err_hint(e, "It starts with a checkpoint with the status \"in_progress\"");
}

static int
check(const struct resuming *r, int64_t now, struct err *e)
{
	size_t open = 0;

	for (size_t i = 0; i < r->x->n; i++)
		open += r->x->sprints[i].state != SPRINT_COMPLETED;
	if (r->x->n == 0) {
		err_set(e, GT_NOTHING, "no-sprints", "the epic %.200s has no recorded sprints", r->x->id);
		return err_hint(e, "record them in sprints[]: gt-recover records checkpoint epic");
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
	output_text(stdout, text.data);
	buf_release(&text);
	fflush(stdout);
	if (fgets(answer, sizeof answer, stdin) == NULL || answer[0] < '1' || answer[0] > '4' ||
	    (answer[1] != '\n' && answer[1] != '\0'))
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
	output_text(stdout, out.data);
	buf_release(&out);
}

/* ---- bringing agents back ---- */

static void
wait_spacing(const struct resuming *r)
{
	int64_t until = clock_mono_ms() + config_ms(r->j->w.config, "spacing");

	while (r->started && clock_mono_ms() < until && cli_stop_signal() == 0)
		clock_sleep_ms(50);
}

/*
 * The way 2: what had come far starts over, too, and its agents are told so by its record
 * (epic/epic.h). Once, before the first of them that can be started: he may have told of new
 * progress when the next one is.
 */
static int
start_over(struct resuming *r, size_t i, struct err *e)
{
	const struct epic_sprint *one = &r->x->sprints[i];

	if (!r->plan.restart || r->over[i] || one->state == SPRINT_WAITING || one->foreign || one->alive)
		return 0;
	r->over[i] = sprint_reset(r->j->store, r->x->id, one->id, e) == 0;
	return r->over[i] ? 0 : -1;
}

/* Of an agent that detect knows by its conversation. 1 it was started, 0 it runs already, -1. */
static int
recover_found(
    struct resuming *r, size_t i, const struct candidate *c, char id[21], char pane[24], struct err *e)
{
	struct refusal no;
	struct recovery one;
	int ret;

	if (!detect_status_crashed(c->status) && c->status != AGENT_UNKNOWN)
		return 0;
	no = recovery_refusal(&r->j->w, c, NULL, true, r->j->cli.include_infra);
	if (no.name != NULL) {
		err_set(e, GT_REFUSED, no.name, "%s", no.sentence);
		return err_hint(e, "%s", no.hint);
	}
	wait_spacing(r);
	if (start_over(r, i, e) != 0)
		return -1;
	recovery_init(&one, &r->j->w, c);
	one.named = true;
	ret = recovery_run(&one, e);
	if (one.attempt.version > 0)
		memcpy(id, one.attempt.id, sizeof one.attempt.id);
	if (one.pane != NULL && one.started)
		snprintf(pane, 24, "%.20s", one.pane->id);
	recovery_release(&one);
	return ret == 0 ? 1 : -1;
}

/* 1 it was started, 0 it ran already, -1. pane: where one was started that is not ready; else "". */
static int
start_one(struct resuming *r, size_t i, const char *agent, char id[21], char pane[24], struct err *e)
{
	const struct epic_sprint *one = &r->x->sprints[i];
	const struct candidate *c = epic_candidate(&r->j->w, &r->all, one, agent);
	struct session x;
	int ret, known;

	known = session_load(r->j->store, sprint_agent_session(one, agent), &x, e);
	session_release(&x);
	if (known < 0)
		return -1;
	if (known == 0 && c != NULL)
		return recover_found(r, i, c, id, pane, e);
	if (known == 0 && epic_agent_runs(one, agent))
		return 0;
	ret = epic_agent(r->j, r->x, &r->all, sprint_agent_session(one, agent), &x, e);
	if (ret > 0) {
		wait_spacing(r);
		ret = start_over(r, i, e) == 0 ? restart_agent(&r->j->w, &x, &r->all, id, e) : -1;
		ret = ret >= 0 ? 1 : -1;
		if (ret < 0)
			epic_started_pane(&r->j->w, id, pane);
	}
	session_release(&x);
	return ret;
}

static void
bring_back(struct resuming *r, size_t i, const char *agent)
{
	struct err e = ERR_INIT;
	const char *name;
	char id[21] = "", pane[24] = "";
	json_t *o = json_object();
	int ret = start_one(r, i, agent, id, pane, &e);
	bool ran = ret == 0, slow = ret < 0 && *pane != '\0';

	r->started = r->started || *id != '\0';
	r->slow += slow;
	name = output_shown(agent, 60);
	if (slow)
		output_warning(&r->j->say, "%s was started in pane %s and is not ready: %s (%s)%s%s", name,
		    pane, output_shown(e.msg, 0), e.name, *e.hint != '\0' ? "\n  " : "", e.hint);
	else if (ret >= 0)
		output_done(&r->j->say, "%s %s", name, ran ? "runs already" : "is back");
	else
		output_warning(&r->j->say, "%s: %s (%s)%s%s", name, output_shown(e.msg, 0), e.name,
		    *e.hint != '\0' ? "\n  " : "", e.hint);
	r->back += ret >= 0;
	r->active[i] = r->active[i] || ret >= 0 || slow;
	r->code = ret >= 0 ? r->code : r->failed == 0 || r->code == (int)e.code ? (int)e.code : GT_FAIL;
	r->unknown += ret < 0 && (strcmp(e.name, "not-startable") == 0 || strcmp(e.name, "ended") == 0);
	r->failed += ret < 0;
	json_put(o, "agent", agent);
	json_put(o, "sprint", r->x->sprints[i].id);
	json_put(o, "attempt", *id != '\0' ? id : NULL);
	json_put(o, "pane", slow ? pane : NULL);
	json_object_set_new(o, "error", ret < 0 ? output_error_json(&e) : json_null());
	json_array_append_new(r->agents, o);
}

/* Of a sprint that nobody is told of, nobody can come back. */
static void
no_agent(struct resuming *r, size_t i)
{
	output_warning(&r->j->say, "sprint %s: no recorded agent (not-startable)\n"
	    "  record its agents in agents[]: gt-recover records checkpoint sprint",
	    output_shown(r->x->sprints[i].id, 60));
	r->unknown++;
	r->failed++;
}

static void
output_lines(const struct resuming *r, struct buf *text)
{
	if (text->len > 0)
		buf_cut(text, text->len - 1);
	output_exact(&r->j->say, "%s", text->data);
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
	output_lines(r, &text);
	if (epic_plan_open(&r->plan, i)) {
		/* before its agents are told of it */
		epic_slot_take(&slot, r->j, &r->x->sprints[i], r->locks);
		json_object_foreach(ids, id, v)
			if (cli_stop_signal() == 0)
				bring_back(r, i, id);
		epic_slot_bind(&slot, r->j, &r->x->sprints[i]);
		if (json_object_size(ids) == 0)
			no_agent(r, i);
		else if (r->failed == failed && cli_stop_signal() == 0)
			output_exact(&r->j->say, "    └─ Agents ready ✓");
	}
	json_decref(ids);
}

static void
run(struct resuming *r)
{
	struct buf text = BUF_INIT;

	epic_plan_title(&text, &r->plan);
	output_lines(r, &text);
	for (size_t i = 0; i < r->x->n && cli_stop_signal() == 0; i++)
		run_sprint(r, i);
}

/* ---- the end ---- */

static void
print_summary(const struct resuming *r)
{
	struct buf out = BUF_INIT;

	epic_plan_summary(&out, &r->plan, r->active, r->failed == 0);
	output_text(stdout, out.data);
	buf_release(&out);
}

static int
finish(struct resuming *r)
{
	if (r->j->cli.json) {
		json_t *v = output_object();

		json_put(v, "epic", r->x->id);
		json_object_set(v, "agents", r->agents);
		json_object_set(v, "locks", r->locks);
		output_json(v);
	} else if (r->back + r->slow > 0) {
		print_summary(r);
	} else {
		output_line(&r->j->say, "No agent was started.");
	}
	if (r->failed == 0)
		return r->back > 0 ? GT_OK : GT_NOTHING;
	if (r->slow > 0 && r->slow == r->failed)
		return r->back > 0 ? GT_SOME : GT_UNACKED;
	return r->back + r->slow > 0 ? GT_SOME : r->unknown == r->failed ? GT_NOTHING : r->code;
}

static json_t *
plan_json(const struct resuming *r)
{
	json_t *v = output_object(), *sprints = json_array();

	for (size_t i = 0; i < r->x->n; i++)
		json_array_append_new(sprints, epic_plan_json(&r->plan, i));
	json_put(v, "epic", r->x->id);
	json_put_flag(v, "dry_run", true);
	json_object_set_new(v, "sprints", sprints);
	return v;
}

/* What is kept elsewhere becomes a record of ours, which its agents are told of. */
static int
keep(const struct resuming *r, struct err *e)
{
	size_t adopted = 0;

	if (r->x->source == NULL)
		return 0;
	if (epic_keep(r->j->store, r->x, NULL, &adopted, e) != 0)
		return -1;
	if (adopted > 0)
		output_line(&r->j->say,
		    "Adopted %zu key%s of another program (copy: the hash gt-recover:adopted).", adopted,
		    adopted == 1 ? "" : "s");
	return 0;
}

static int
resume(struct resuming *r, int64_t now, struct err *e)
{
	const struct cli *cli = &r->j->cli;
	int chosen = 1;

	if (cli->dry_run && cli->json) {
		output_json(plan_json(r));
		return GT_OK;
	}
	if (cli->dry_run) {
		print_plan(r);
		return GT_OK;
	}
	if (!cli->yes && (cli->no_input || cli->json)) {
		err_set(e, GT_USAGE, "needs-yes", "epic resume needs --yes without a terminal");
		return err_hint(e, "use --yes, or --dry-run to see the plan");
	}
	if (!cli->yes)
		chosen = ask(r, now);
	if (chosen == 4)
		return epic_abandon_one(r->j, r->x, e);
	if (chosen == 3)
		print_plan(r);
	if (chosen == 0)
		output_line(&r->j->say, "Nothing was changed.");
	if (chosen == 0 || chosen == 3)
		return chosen == 3 ? GT_OK : GT_NOTHING;
	r->plan.restart = chosen == 2;
	if (snapshot_detect(&r->j->w, &r->all, e) != 0 && strcmp(e->name, "no-server") != 0)
		return -1;
	err_clear(e);
	cli_warn_exposed(&r->j->w, &r->all.exposed);
	if (keep(r, e) != 0)
		return -1;
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
	r->plan = (struct epic_plan){ .x = x,
		.chosen = r->chosen,
		.saved = r->saved,
		.threshold = epic_threshold(r->j),
		.named = r->j->cli.sprints != NULL };
}

int
epic_resume(struct verb_job *j, struct err *e)
{
	struct resuming r = { .j = j, .agents = json_array(), .locks = json_array() };
	struct epic_list list;
	struct timestamp now;
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
	candidate_list_release(&r.all);
	json_decref(r.agents);
	json_decref(r.locks);
	epic_list_release(&list);
	return ret;
}
