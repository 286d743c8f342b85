#include <string.h>

#include "epic/epic.h"
#include "base/json.h"

const char *
sprint_agent_session(const struct epic_sprint *x, const char *agent)
{
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		if (strcmp(json_text(json_array_get(x->agents, i), "agentId", ""), agent) == 0)
			return json_text(json_array_get(x->agents, i), "sessionId", agent);
	return agent;
}

bool
sprint_can_start(const struct epic_sprint *x)
{
	for (size_t i = 0; i < x->n_needs; i++)
		if (!x->needs[i].resolved)
			return false;
	return true;
}

bool
sprint_starts_over(const struct epic_sprint *x, double threshold)
{
	return (x->state == SPRINT_IN_PROGRESS || x->state == SPRINT_STARTING) && x->progress <= threshold;
}

/* ---- what is lost ---- */

static bool
edited_by_a_counted(const struct epic_sprint *x, const char *path)
{
	for (size_t i = 0; i < json_array_size(x->agents); i++) {
		const json_t *agent = json_array_get(x->agents, i),
			     *task = json_object_get(agent, "taskProgress");

		if (json_array_size(json_object_get(task, "subtasksRemaining")) > 0 &&
		    strcmp(json_text(agent, "fileBeingEdited", ""), path) == 0)
			return true;
	}
	return false;
}

/* Which of its steps is under way, and how many there are. */
static void
count_steps(const struct epic_sprint *x, struct epic_loss *l)
{
	const json_t *steps = json_object_get(x->record, "steps");

	for (size_t i = 0; i < json_array_size(steps); i++)
		l->open += strcmp(json_text(json_array_get(steps, i), "status", ""), "in_progress") == 0;
	l->steps += json_array_size(steps);
}

static struct epic_loss
sprint_loss(const struct epic_sprint *x, double threshold)
{
	struct epic_loss l = { .steps = x->n_files };

	/* an agent's subtasks are finer than the file that it edits */
	for (size_t i = x->completed; i < x->n_files; i++)
		l.open += !edited_by_a_counted(x, x->files[i].path);
	for (size_t i = 0; i < json_array_size(x->agents); i++) {
		const json_t *task = json_object_get(json_array_get(x->agents, i), "taskProgress");
		size_t left = json_array_size(json_object_get(task, "subtasksRemaining"));

		l.steps += left + json_array_size(json_object_get(task, "subtasksCompleted"));
		l.open += left > 0;
	}
	count_steps(x, &l);
	if (x->state == SPRINT_COMPLETED || x->state == SPRINT_WAITING)
		l.open = 0;
	else if (sprint_starts_over(x, threshold))
		l.open = l.steps;
	return l;
}

/* When what is known of its work was written down last, ms since 1970; 0: unknown. */
static int64_t
sprint_checkpoint(const struct epic_sprint *x)
{
	int64_t at = checkpoint_time(x->record, "lastCheckpoint");

	for (size_t i = 0; i < x->n_files; i++)
		if (x->files[i].at > at)
			at = x->files[i].at;
	return at;
}

/* The part of a sprint's work that was not kept, 0 to 1; < 0: unknown. */
static double
lost_share(const struct epic *x, const struct epic_sprint *one, double threshold)
{
	int64_t start = one->started > 0 ? one->started : x->started,
		kept = sprint_checkpoint(one) > 0 ? sprint_checkpoint(one) : x->checkpoint,
		seen = one->last_seen_at > 0 ? one->last_seen_at : x->last_seen_at;

	if (one->state == SPRINT_COMPLETED || one->state == SPRINT_WAITING)
		return 0;
	if (sprint_starts_over(one, threshold))
		return 1;
	if (kept <= 0 || seen <= 0)
		return -1;
	if (kept >= seen)
		return 0;
	if (start <= 0 || start >= seen)
		return -1;
	return kept <= start ? 1 : (double)(seen - kept) / (double)(seen - start);
}

struct epic_loss
epic_loss(const struct epic *x, double threshold)
{
	struct epic_loss sum = { .share = 0 };
	double work = 0, lost = 0;
	bool known = true;

	for (size_t i = 0; i < x->n; i++) {
		const struct epic_sprint *s = &x->sprints[i];
		struct epic_loss one = sprint_loss(s, threshold);
		double share = lost_share(x, s, threshold);

		sum.open += one.open;
		sum.steps += one.steps;
		known = known && share >= 0;
		lost += share * s->progress;
		work += s->progress;
	}
	if (!known || x->n == 0)
		sum.share = -1;
	else
		sum.share = work > 0 ? lost / work : 0;
	return sum;
}

/* ---- how long it takes ---- */

/* ms a percent; < 0: it was not measured. */
static double
pace(const struct epic_sprint *x)
{
	if (x->started <= 0 || x->last_seen_at <= x->started || x->progress <= 0)
		return -1;
	return (double)(x->last_seen_at - x->started) / x->progress;
}

int64_t
epic_remaining(const struct epic *x, double threshold)
{
	double sum = 0, most = 0;
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++)
		if (pace(&x->sprints[i]) >= 0) {
			sum += pace(&x->sprints[i]);
			n++;
		}
	if (n == 0)
		return -1;
	for (size_t i = 0; i < x->n; i++) {
		const struct epic_sprint *one = &x->sprints[i];
		double own = pace(one) >= 0 ? pace(one) : sum / (double)n;
		double left = one->state == SPRINT_COMPLETED ? 0
		    : sprint_starts_over(one, threshold)     ? 100
							     : 100 - one->progress;

		if (own * left > most)
			most = own * left;
	}
	return (int64_t)most;
}
