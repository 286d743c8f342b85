#include "cli/epic/epic.h"

#define INDENT 4

static bool
waits(const struct epic_sprint *x)
{
	return x->state == SPRINT_WAITING && !sprint_can_start(x);
}

/* An agent of the epic runs, and nothing tells that this sprint died. */
static bool
left_alone(const struct epic_plan *p, size_t i)
{
	const struct epic_sprint *one = &p->x->sprints[i];

	return p->x->alive && !one->interrupted &&
	    !(p->named && (one->alive || one->state == SPRINT_WAITING));
}

bool
epic_plan_open(const struct epic_plan *p, size_t i)
{
	return p->chosen[i] && p->x->sprints[i].state != SPRINT_COMPLETED && !waits(&p->x->sprints[i]) &&
	    !left_alone(p, i);
}

static const char *
way(const struct epic_plan *p, size_t i)
{
	const struct epic_sprint *one = &p->x->sprints[i];

	if (one->state == SPRINT_WAITING)
		return "starting";
	return p->restart || sprint_starts_over(one, p->threshold) ? "restart" : "resume";
}

static bool
can_resume(const struct epic_plan *p, size_t i)
{
	return strcmp(way(p, i), "resume") == 0;
}

/*
 * Of a sprint whose steps have agents: its lead first, then those that have an open step. False: no
 * agent of a step is known.
 */
static bool
put_step_agents(const struct epic_sprint *x, json_t *ids)
{
	const json_t *listed = json_object_get(x->record, "agents"),
		     *steps = json_object_get(x->record, "steps");
	bool open = false, known = false;

	for (size_t i = 0; i < json_array_size(steps); i++) {
		open = open || strcmp(json_text(json_array_get(steps, i), "status", ""), "completed") != 0;
		known = known || json_text(json_array_get(steps, i), "agent", NULL) != NULL;
	}
	for (size_t i = 0; i < json_array_size(listed) && known && open; i++)
		if (json_flag(json_array_get(listed, i), "lead", false))
			json_object_set_new(ids, json_text(json_array_get(listed, i), "id", ""), json_true());
	for (size_t i = 0; i < json_array_size(steps) && known; i++) {
		const json_t *step = json_array_get(steps, i);
		const char *agent = json_text(step, "agent", NULL);

		if (agent != NULL && strcmp(json_text(step, "status", ""), "completed") != 0)
			json_object_set_new(ids, agent, json_true());
	}
	return known;
}

json_t *
epic_plan_agents(const struct epic_plan *p, size_t at)
{
	const struct epic_sprint *x = &p->x->sprints[at];
	const json_t *listed = json_object_get(x->record, "agents"),
		     *validators = json_object_get(x->record, "validators");
	json_t *ids = json_object();

	if (put_step_agents(x, ids))
		return ids;
	for (size_t i = 0; i < json_array_size(listed); i++)
		json_object_set_new(ids, json_text(json_array_get(listed, i), "id", ""), json_true());
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		json_object_set_new(ids, json_text(json_array_get(x->agents, i), "agentId", ""), json_true());
	for (size_t i = 0; i < json_array_size(validators) && can_resume(p, at); i++) {
		const json_t *one = json_array_get(validators, i);
		const char *id = json_text(one, "id", ""), *status = json_text(one, "status", "");

		if (strcmp(status, "completed") == 0)
			json_object_del(ids, id);
		else if (strcmp(status, "waiting") != 0 && *id != '\0')
			json_object_set_new(ids, id, json_true());
	}
	return ids;
}

json_t *
epic_plan_json(const struct epic_plan *p, size_t i)
{
	json_t *o = json_object(), *agents = json_array(), *ids = epic_plan_agents(p, i), *v;
	bool open = epic_plan_open(p, i);
	const char *id;

	json_object_foreach(ids, id, v)
		if (open)
			json_array_append_new(agents, json_bytes(id, strlen(id)));
	json_put(o, "id", p->x->sprints[i].id);
	json_put(o, "way", open ? way(p, i) : NULL);
	json_object_set_new(o, "agents", agents);
	json_decref(ids);
	return o;
}

/* ---- what stands below a sprint ---- */

static void
plan_line(struct buf *out, const char *words)
{
	buf_fmt(out, "%*s└─ %s", INDENT, "", words);
}

static void
put_marked(struct buf *out, const char *words, const char *text, const char *mark)
{
	if (text == NULL || *text == '\0')
		return;
	plan_line(out, words);
	buf_chr(out, '"');
	output_foreign(out, text, 120);
	buf_fmt(out, "\"%s\n", mark);
}

static void
put_quoted(struct buf *out, const char *words, const char *text)
{
	put_marked(out, words, text, "");
}

static void
put_disk(struct buf *out, const struct epic_file *f, int64_t saved)
{
	if (saved < 0)
		return;
	if (saved == 0) {
		plan_line(out, "Not on disk\n");
		return;
	}
	plan_line(out, "Disk version: Last saved at ");
	epic_screen_time(out, saved);
	buf_chr(out, '\n');
	plan_line(out, "Store version: Last checkpoint at ");
	epic_screen_time(out, f->at);
	buf_chr(out, '\n');
	plan_line(
	    out, "Using disk version (last save before the crash), and the checkpoint's next section\n");
}

static void
put_file(struct buf *out, const struct epic_plan *p, size_t i)
{
	const struct epic_sprint *one = &p->x->sprints[i];
	const struct epic_file *last;

	if (one->n_files == 0)
		return;
	last = &one->files[one->n_files - 1];
	if (can_resume(p, i))
		plan_line(out, "Loading checkpoint from the store...\n");
	epic_screen_last_file(out, INDENT, one);
	if (!can_resume(p, i))
		return;
	put_quoted(out, "Last section: ", last->last);
	put_quoted(out, "Next section: ", last->next);
	if (!last->completed)
		put_disk(out, last, p->saved[i]);
}

static void
put_tests(struct buf *out, const struct epic_sprint *x)
{
	const json_t *tests = json_object_get(x->record, "tests");
	int64_t run = json_number(tests, "run", -1), total = json_number(tests, "total", -1);

	if (!json_is_object(tests))
		return;
	put_marked(out, "Last test: ", json_text(tests, "last", NULL), " ✓");
	if (run >= 0 && total >= 0) {
		plan_line(out, "Tests run: ");
		buf_fmt(out, "%lld/%lld (before the crash)\n", (long long)run, (long long)total);
	}
	if (sprint_test_lock_name(x) != NULL) {
		plan_line(out, "It had the test lock ");
		output_foreign(out, sprint_test_lock_name(x), 60);
		buf_chr(out, '\n');
	}
	plan_line(out, "Strategy: Re-run all tests (safest)\n");
}

/* Who validates has an implementation before him. */
static void
put_loop3(struct buf *out, const struct epic_sprint *x)
{
	const json_t *v = json_object_get(json_object_get(x->record, "confidence"), "loop3");

	plan_line(out, "Loop 3: Complete ✓");
	if (json_is_number(v))
		buf_fmt(out, " (confidence: %.2f)", json_number_value(v));
	buf_chr(out, '\n');
}

static void
put_validators(struct buf *out, const struct epic_sprint *x, bool go_on)
{
	const json_t *list = json_object_get(x->record, "validators");

	if (json_array_size(list) > 0)
		put_loop3(out, x);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i), *score = json_object_get(one, "score");
		bool done = strcmp(json_text(one, "status", ""), "completed") == 0,
		     begun = strcmp(json_text(one, "status", ""), "waiting") != 0;

		plan_line(out, "Validator ");
		output_foreign(out, json_text(one, "id", ""), 60);
		if (done)
			buf_str(out, ": Complete ✓");
		else if (!begun)
			buf_str(out, ": Waiting");
		else
			buf_fmt(out, ": In progress (paused at %d%%)",
			    (int)json_number_value(json_object_get(one, "progress")));
		if (json_is_number(score))
			buf_fmt(out, " (score: %.2f)", json_number_value(score));
		buf_chr(out, '\n');
		if (!done && go_on) {
			plan_line(out, "Strategy: Resume ");
			output_foreign(out, json_text(one, "id", ""), 60);
			buf_str(out, " from checkpoint\n");
			put_quoted(out, "Last validated: ", json_text(one, "lastValidated", NULL));
			put_quoted(out, "Next: ", json_text(one, "next", NULL));
		}
	}
}

static void
put_list(struct buf *out, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		buf_str(out, i > 0 ? ", " : "");
		output_foreign(out,
		    json_is_string(json_array_get(list, i)) ? json_string_value(json_array_get(list, i))
							    : "…",
		    60);
	}
}

/* Whatever else a contract has, the agent is told all of it. */
static void
put_contract(struct buf *out, const json_t *contract)
{
	const char *name = json_text(contract, "name", NULL);
	const json_t *points = json_object_get(contract, "endpoints");

	if (name == NULL)
		return;
	plan_line(out, "Interface: ");
	output_foreign(out, name, 60);
	if (json_array_size(points) > 0) {
		buf_str(out, " (");
		put_list(out, points);
		buf_chr(out, ')');
	}
	buf_chr(out, '\n');
}

static void
put_needs(struct buf *out, const struct epic *x, const struct epic_sprint *one)
{
	const json_t *work = json_object_get(one->record, "productiveWork");

	for (size_t i = 0; i < one->n_needs; i++) {
		const struct epic_need *need = &one->needs[i];
		const struct epic_sprint *other = need->place > 0 ? &x->sprints[need->place - 1] : NULL;

		epic_screen_need(out, INDENT, need);
		if (other == NULL || other->ready == NULL)
			continue;
		plan_line(out, "Signal found: interface:");
		output_foreign(out, other->id, 60);
		buf_str(out, ":ready ✓\n");
		put_contract(out, json_object_get(other->ready, "contract"));
	}
	if (json_array_size(work) > 0) {
		plan_line(out, "Done while waiting: ");
		put_list(out, work);
		buf_chr(out, '\n');
	}
	if (one->n_needs > 0 && sprint_can_start(one))
		plan_line(out, "Strategy: Continue immediately (no longer blocked)\n");
}

static void
put_agents(struct buf *out, const struct epic_plan *p, size_t i, const char *words)
{
	json_t *ids = epic_plan_agents(p, i), *v;
	const char *id, *before = "";

	plan_line(out, json_object_size(ids) > 0 ? words : "No recorded agent\n");
	json_object_foreach(ids, id, v) {
		buf_str(out, before);
		output_foreign(out, id, 60);
		before = ", ";
	}
	if (json_object_size(ids) > 0)
		buf_chr(out, '\n');
	json_decref(ids);
}

/* ---- a sprint, and all ---- */

static void
put_way(struct buf *out, const struct epic_plan *p, size_t i)
{
	const struct epic_sprint *one = &p->x->sprints[i];

	epic_screen_name(out, p->x, i, p->threshold);
	if (!p->chosen[i])
		buf_str(out, ": not selected, skipped\n");
	else if (one->state == SPRINT_COMPLETED)
		buf_str(out, ": Already complete, skipping\n");
	else if (left_alone(p, i))
		buf_fmt(out, ": %s, left alone\n",
		    one->state == SPRINT_WAITING ? "Waiting"
			: one->alive             ? "Running"
						 : "May be running");
	else if (waits(one))
		buf_str(out, ": Dependency not ready, waiting\n");
	else if (one->state == SPRINT_WAITING)
		buf_fmt(out, ": %s, starting\n", one->n_needs > 0 ? "Dependency resolved" : "Ready");
	else if (can_resume(p, i))
		buf_fmt(out, ": Resuming at %d%%\n", (int)one->progress);
	else if (!sprint_starts_over(one, p->threshold))
		buf_fmt(out, ": Restarting from the beginning (was at %d%%)\n", (int)one->progress);
	else {
		buf_str(out, ": Too early, restarting from the beginning\n");
		plan_line(out, "Progress was only ");
		buf_fmt(out, "%d%% (below threshold)\n", (int)one->progress);
	}
}

void
epic_plan_sprint(struct buf *out, const struct epic_plan *p, size_t i, const char *agents)
{
	const struct epic_sprint *one = &p->x->sprints[i];

	put_way(out, p, i);
	if (p->chosen[i] && one->state == SPRINT_WAITING)
		put_needs(out, p->x, one);
	if (!epic_plan_open(p, i))
		return;
	put_file(out, p, i);
	put_tests(out, one);
	put_validators(out, one, can_resume(p, i));
	put_agents(out, p, i, agents);
}

void
epic_plan_title(struct buf *out, const struct epic_plan *p)
{
	buf_str(out, "Resuming Epic: ");
	output_foreign(out, json_text(p->x->record, "name", p->x->id), 100);
	buf_chr(out, '\n');
}

void
epic_plan_all(struct buf *out, const struct epic_plan *p)
{
	epic_plan_title(out, p);
	for (size_t i = 0; i < p->x->n; i++)
		epic_plan_sprint(out, p, i, "Agents: ");
	buf_str(out, "Dry run: nothing was started.\n");
}

void
epic_plan_summary(struct buf *out, const struct epic_plan *p, const bool *active, bool all)
{
	int64_t left = epic_remaining(p->x, p->threshold);
	size_t n = 0;

	for (size_t i = 0; i < p->x->n; i++)
		n += active[i];
	buf_str(out, all ? "Epic resumed successfully\n" : "! Epic resumed in part\n");
	buf_fmt(out, "Active sprints: %zu (sprint%s ", n, n == 1 ? "" : "s");
	for (size_t i = 0, k = 0; i < p->x->n; i++)
		if (active[i])
			buf_fmt(out, "%s%zu", k++ > 0 ? ", " : "", i + 1);
	buf_str(out, ")\nEstimated time to completion: ");
	if (left < 0)
		buf_str(out, "unknown");
	else
		epic_screen_age(out, left);
	buf_str(out, "\n\nProgress:\n");
	for (size_t i = 0; i < p->x->n; i++) {
		if (!active[i])
			continue;
		buf_fmt(out, "  Sprint %zu: ", i + 1);
		epic_screen_bar(out, can_resume(p, i) ? p->x->sprints[i].progress : 0);
		buf_fmt(out, " %2d%% (%s)\n", (int)p->x->sprints[i].progress, way(p, i));
	}
}
