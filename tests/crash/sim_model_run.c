/* The oracle: runs, their sessions, runners, and what recovery makes of runs. */
#include <stdio.h>
#include <string.h>

#include "sim.h"
#include "records/runs/runs.h"

#define S(state) (1 + RUN_##state)
#define P(status) (1 + RUN_SESSION_##status)

/* What the step of a run makes of its session (records/runs/runs.h). */
static void
follow(struct sim_model *m, int run, int from)
{
	const struct sim_run *r = &m->run[run];
	struct sim_place *x = &m->place[r->place];
	bool open = x->status == P(RUNNING) || x->status == P(STOPPING), its = x->run == 0 || x->run == run;

	if (r->state == S(RUNNING) && (!open || x->run != run)) {
		x->status = P(RUNNING);
		x->run = run;
	} else if (r->state == S(STOPPING) && its && x->status == P(RUNNING)) {
		x->status = P(STOPPING);
	} else if (r->state == S(STOPPED) && its && open) {
		x->status = P(STOPPED);
	} else if ((r->state == S(COMPLETED) || r->state == S(FAILED)) && its &&
	    (x->status == P(RUNNING) || (open && from == S(STOPPING)))) {
		x->status = P(FINISHED);
	}
}

static void
enter(struct sim_model *m, int run, int state)
{
	struct sim_run *r = &m->run[run];
	int from = r->state;

	r->state = state;
	r->entered = sim->boot_ms;
	r->boot = sim->boot;
	if (from != 0)
		follow(m, run, from);
}

static void
told(struct sim_model *m, int run)
{
	char kind[40];

	snprintf(kind, sizeof kind, "run.%s", run_state_name((enum run_state)(m->run[run].state - 1)));
	sim_event(m, kind, sim_id("r", run));
}

static const char *
create(struct sim_model *m, const struct sim_act *a)
{
	struct sim_run *r = &m->run[a->run];
	struct sim_place *x = &m->place[a->place];

	if (r->state != 0)
		return r->place == a->place && r->prompt == a->prompt ? NULL : "exists";
	r->place = a->place;
	r->prompt = a->prompt;
	enter(m, a->run, S(PENDING));
	if (x->status == 0)
		x->mode = a->mode;
	if (x->status != P(RUNNING) && x->status != P(STOPPING)) {
		x->status = P(RUNNING);
		x->run = a->run;
	}
	sim_event(m, "run.created", sim_id("r", a->run));
	return NULL;
}

static const char *
claim(struct sim_model *m, const struct sim_act *a)
{
	int run = a->run;
	struct sim_run *r;

	for (int i = 1; i <= SIM_RUNS && a->claim != 0; i++)
		if (m->run[i].state == S(CLAIMED) && m->run[i].claim == a->claim &&
		    m->run[i].runner == a->runner)
			return NULL;
	for (int i = 1; i <= SIM_RUNS && run == 0; i++)
		if (m->run[i].state == S(PENDING))
			run = i;
	if (run == 0)
		return NULL;
	r = &m->run[run];
	if (r->state != S(PENDING))
		return r->state == 0 ? "not-found" : "transition";
	enter(m, run, S(CLAIMED));
	r->runner = a->runner;
	r->claim = a->claim;
	r->fence++;
	r->life = m->runner[a->runner].life;
	told(m, run);
	return NULL;
}

/* A step of who has the run. */
static const char *
step(struct sim_model *m, const struct sim_act *a, int to)
{
	struct sim_run *r = &m->run[a->run];

	if (r->state == 0)
		return "not-found";
	if (r->runner == 0 || r->runner != a->runner || (a->fence != 0 && a->fence != r->fence))
		return "not-yours";
	if (r->state == to)
		return NULL;
	if (!(r->state == S(CLAIMED) && (to == S(RUNNING) || to == S(FAILED))) &&
	    !(r->state == S(RUNNING) && (to == S(COMPLETED) || to == S(FAILED))) &&
	    !(r->state == S(STOPPING) && (to == S(COMPLETED) || to == S(FAILED) || to == S(STOPPED))))
		return "transition";
	enter(m, a->run, to);
	if (to == S(FAILED))
		r->error = SIM_TOLD;
	told(m, a->run);
	return NULL;
}

static const char *
stop(struct sim_model *m, const struct sim_act *a)
{
	int state = m->run[a->run].state;

	if (state == 0)
		return "not-found";
	if (state == S(STOPPING) || state == S(STOPPED))
		return NULL;
	if (state != S(PENDING) && state != S(CLAIMED) && state != S(RUNNING))
		return "transition";
	enter(m, a->run, state == S(PENDING) ? S(STOPPED) : S(STOPPING));
	told(m, a->run);
	return NULL;
}

static const char *
enlist(struct sim_model *m, const struct sim_act *a)
{
	struct sim_runner *x = &m->runner[a->runner];

	if (a->pid != 0 && !sim->process[a->pid].lives)
		return "gone";
	*x = (struct sim_runner){ .life = x->life + 1, .beat = sim->boot_ms, .boot = sim->boot, .pid = a->pid };
	sim_event(m, "runner.registered", sim_id("w", a->runner));
	return NULL;
}

static const char *
beat(struct sim_model *m, const struct sim_act *a)
{
	struct sim_runner *x = &m->runner[a->runner];

	if (x->life == 0 || x->boot != sim->boot)
		return "unregistered";
	x->beat = sim->boot_ms;
	return NULL;
}

const char *
sim_apply_run(struct sim_model *m, const struct sim_act *a)
{
	switch (a->verb) {
	case SIM_CREATE:
		return create(m, a);
	case SIM_CLAIM:
		return claim(m, a);
	case SIM_START:
		return step(m, a, S(RUNNING));
	case SIM_STOP:
		return stop(m, a);
	case SIM_FINISH:
		return step(m, a, 1 + a->state);
	case SIM_REGISTER:
		return enlist(m, a);
	default:
		return beat(m, a);
	}
}

/* ---- recovery ---- */

static bool
is_old(const struct sim_run *r, const struct sim_act *a)
{
	return r->boot != sim->boot || r->entered > sim->boot_ms ||
	    sim->boot_ms - r->entered > a->threshold_ms;
}

static bool
has_runner(const struct sim_model *m, const struct sim_run *r, const struct sim_act *a)
{
	const struct sim_runner *x = &m->runner[r->runner];

	if (x->life == 0 || x->life != r->life || x->boot != sim->boot)
		return false;
	return x->pid != 0 ? sim->process[x->pid].lives : sim->boot_ms - x->beat <= a->threshold_ms;
}

static void
recover(struct sim_model *m, int run, const struct sim_act *a, struct sim_counts *out)
{
	struct sim_run *r = &m->run[run];
	int from = r->state,
	    to = from == S(STOPPING)          ? S(STOPPED)
	    : from == S(CLAIMED) && !a->fails ? S(PENDING)
					      : S(FAILED);

	out->pending += to == S(PENDING);
	out->failed += to == S(FAILED);
	out->stopped += to == S(STOPPED);
	r->recoveries++;
	r->recovered_from = from;
	if (to == S(FAILED))
		r->error = from == S(CLAIMED) || a->how == RUN_MODE_ALL ? SIM_UNKNOWN : SIM_STALE;
	if (to == S(PENDING))
		r->runner = r->claim = r->life = 0;
	enter(m, run, to);
}

void
sim_settle_runs(struct sim_model *m, const struct sim_act *a, struct sim_counts *out)
{
	static const int open[] = { S(CLAIMED), S(RUNNING), S(STOPPING) };

	for (size_t k = 0; k < 3 && a->how != RUN_MODE_NONE; k++)
		for (int i = 1; i <= SIM_RUNS; i++) {
			const struct sim_run *r = &m->run[i];
			bool asked = a->how == RUN_MODE_STALE && open[k] != S(STOPPING);

			if (r->state != open[k])
				continue;
			if (asked && !is_old(r, a))
				out->kept_young++;
			else if (asked && has_runner(m, r, a))
				out->kept_by_runner++;
			else
				recover(m, i, a, out);
		}
	if (out->pending + out->failed + out->stopped > 0)
		sim_event(m, "run.recovered", NULL);
}
