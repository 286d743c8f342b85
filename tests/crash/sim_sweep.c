/*
 * Retention beside the oracle. A sweep deletes in many commits, and may die between any two: then each
 * thing is there as it was, or gone, and gone is only what was over: runs and messages that ended, sessions
 * of runs that no open run has, agents with their trees. When each ended the oracle does not know.
 */
#include <string.h>

#include "sim.h"
#include "records/agents/agents.h"
#include "records/runs/runs.h"

/* The agent above in the tree; 0: none. */
static int
up(const struct sim_agent *x)
{
	return x->above != 0 ? x->above : x->adopted != 0 ? x->adopted : x->parent;
}

/* Whoever leaves has ended, and takes along whoever is next to it in the tree. */
static bool
agent_may_leave(const struct sim_model *there, const struct sim_model *was, int i)
{
	const struct sim_agent *x = &was->agent[i];
	int above = up(x);

	if (x->state != 1 + SESSION_ENDED || x->link == 1 ||
	    (above != 0 && was->agent[above].state != 0 && there->agent[above].state != 0))
		return false;
	for (int k = 1; k <= SIM_AGENTS; k++)
		if (was->agent[k].state != 0 && up(&was->agent[k]) == i && there->agent[k].state != 0)
			return false;
	return true;
}

static bool
place_may_leave(const struct sim_model *there, const struct sim_model *was, int i)
{
	const struct sim_place *x = &was->place[i];

	for (int k = 1; k <= SIM_RUNS; k++)
		if (was->run[k].state != 0 && was->run[k].place == i &&
		    !run_state_final((enum run_state)(was->run[k].state - 1)))
			return false;
	return (x->status == 1 + RUN_SESSION_STOPPED || x->status == 1 + RUN_SESSION_FINISHED) &&
	    there->run[x->run].state == 0;
}

/* Is it as it was, or gone? *gone: how many things are. */
static bool
is_kept(const void *there, const void *was, size_t size, bool may_leave, int *gone)
{
	static const char nothing[sizeof(struct sim_run) + sizeof(struct sim_message)];

	if (memcmp(there, was, size) == 0)
		return true;
	++*gone;
	return may_leave && memcmp(there, nothing, size) == 0;
}

bool
sim_is_swept(const struct sim_model *there, const struct sim_model *was, int *gone)
{
	struct sim_model told = *was;
	bool fine = memcmp(there->runner, was->runner, sizeof was->runner) == 0;

	*gone = 0;
	for (int i = 1; i <= SIM_AGENTS; i++)
		fine = is_kept(&there->agent[i], &was->agent[i], sizeof was->agent[i],
			   agent_may_leave(there, was, i), gone) && fine;
	for (int i = 1; i <= SIM_NAMES; i++) {
		int state = was->message[i].state;

		fine = is_kept(&there->message[i], &was->message[i], sizeof was->message[i],
			   state == 1 + MESSAGE_DELIVERED || state == 1 + MESSAGE_ANSWERED, gone) && fine;
	}
	for (int i = 1; i <= SIM_RUNS; i++)
		fine = is_kept(&there->run[i], &was->run[i], sizeof was->run[i],
			   was->run[i].state != 0 && run_state_final((enum run_state)(was->run[i].state - 1)),
			   gone) && fine;
	for (int i = 1; i <= SIM_PLACES; i++)
		fine = is_kept(&there->place[i], &was->place[i], sizeof was->place[i],
			   place_may_leave(there, was, i), gone) && fine;
	/* one event at the end, if something left */
	if (there->events == was->events + 1 && *gone > 0)
		sim_event(&told, "history.left", "store");
	return fine && there->events == told.events && there->hash == told.hash;
}

void
sim_take_swept(const struct sim_model *there)
{
	for (int i = 1; i <= SIM_AGENTS; i++)
		sim->told[i] = sim->told[i] && there->agent[i].state != 0;
	for (int i = 1; i <= SIM_NAMES; i++)
		if (there->message[i].state == 0)
			sim->got[i] = 0;
	sim->now = *there;
}
