#include <string.h>

#include "epic/epic.h"
#include "base/json.h"

bool
sprint_free(const struct epic_sprint *x)
{
	for (size_t i = 0; i < x->n_needs; i++)
		if (!x->needs[i].resolved)
			return false;
	return true;
}

bool
sprint_early(const struct epic_sprint *x, double threshold)
{
	return (x->state == SPRINT_IN_PROGRESS || x->state == SPRINT_STARTING) && x->progress <= threshold;
}

/* ---- what is lost ---- */

static bool
edited_by_a_counted(const struct epic_sprint *x, const char *path)
{
	for (size_t i = 0; i < json_array_size(x->agents); i++) {
		const json_t *agent = json_array_get(x->agents, i), *task = json_object_get(agent, "taskProgress");

		if (json_array_size(json_object_get(task, "subtasksRemaining")) > 0 &&
		    strcmp(json_text(agent, "fileBeingEdited", ""), path) == 0)
			return true;
	}
	return false;
}

static struct epic_loss
sprint_loss(const struct epic_sprint *x, double threshold)
{
	struct epic_loss l = { 0, x->n_files };

	/* an agent's subtasks are finer than the file that it edits */
	for (size_t i = x->completed; i < x->n_files; i++)
		l.open += !edited_by_a_counted(x, x->files[i].path);
	for (size_t i = 0; i < json_array_size(x->agents); i++) {
		const json_t *task = json_object_get(json_array_get(x->agents, i), "taskProgress");
		size_t left = json_array_size(json_object_get(task, "subtasksRemaining"));

		l.all += left + json_array_size(json_object_get(task, "subtasksCompleted"));
		l.open += left > 0;
	}
	if (x->state == SPRINT_COMPLETED || x->state == SPRINT_WAITING)
		l.open = 0;
	else if (sprint_early(x, threshold))
		l.open = l.all;
	return l;
}

struct epic_loss
epic_loss(const struct epic *x, double threshold)
{
	struct epic_loss sum = { 0, 0 };

	for (size_t i = 0; i < x->n; i++) {
		struct epic_loss one = sprint_loss(&x->sprints[i], threshold);

		sum.open += one.open;
		sum.all += one.all;
	}
	return sum;
}

/* ---- how long it takes ---- */

/* ms a percent; < 0: it was not measured. */
static double
pace(const struct epic_sprint *x)
{
	if (x->started <= 0 || x->heard <= x->started || x->progress <= 0)
		return -1;
	return (double)(x->heard - x->started) / x->progress;
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
		double left = one->state == SPRINT_COMPLETED ? 0 : sprint_early(one, threshold) ? 100 : 100 - one->progress;

		if (own * left > most)
			most = own * left;
	}
	return (int64_t)most;
}
