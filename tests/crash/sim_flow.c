/*
 * What agents, their orchestrators and runners do: each flow is some verbs, and what the world
 * does between them. Agents are the provider's processes, which keep what they were handed; they
 * live on when the process that keeps the ledger is killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "records/agents/agents.h"
#include "records/runs/runs.h"

/* ---- the provider ---- */

/* The process of an agent that runs, as its multiplexer would show it; 0: none. */
static int
running(int agent)
{
	for (int i = sim->n_processes; i > 0; i--)
		if (sim->process[i].lives && sim->process[i].agent == agent)
			return i;
	return 0;
}

static int
start_process(int agent)
{
	int pid = agent != 0 ? running(agent) : 0;

	if (pid != 0)
		return pid;
	if (sim->n_processes == SIM_PIDS)
		return 0;
	pid = ++sim->n_processes;
	sim->process[pid].agent = agent;
	sim->process[pid].lives = true;
	return pid;
}

static void
send_to(int agent)
{
	if (running(agent) != 0)
		sim->told[agent] = true;
}

static void
stop_ended(void)
{
	for (int i = 1; i <= SIM_AGENTS; i++)
		if (sim->now.agent[i].state == 1 + SESSION_ENDED)
			sim->process[running(i)].lives = false;
}

/* ---- random things ---- */

static int
new_number(void)
{
	return ++sim->numbers;
}

static int
some_blob(void)
{
	return sim_chance(2) ? 0 : new_number();
}

static int
some_agent(void)
{
	return 1 + sim_pick(SIM_AGENTS);
}

/*
 * One of 1 … n that is in this state (the first int of its struct); now and then any, and where
 * there is none.
 */
static int
one_in(const int *first, size_t size, int n, int state)
{
	int found = 0, of = sim_chance(12) ? n : 0;

	for (int i = 1; i <= n; i++)
		if (first[(size_t)i * size / sizeof *first] == state && sim_chance(++of))
			found = i;
	return found != 0 ? found : 1 + sim_pick(n);
}

static int
agent_in(int state)
{
	return one_in(&sim->now.agent[0].state, sizeof sim->now.agent[0], SIM_AGENTS, state);
}

static int
some_name(void)
{
	return sim->n_names > 0 ? 1 + sim_pick(sim->n_names) : sim_name("m0");
}

static int
message_in(int state)
{
	return sim->n_names > 0
	    ? one_in(&sim->now.message[0].state, sizeof sim->now.message[0], sim->n_names, state)
	    : some_name();
}

/* Mostly a new id; now and then one that was given, or that startup or a broadcast would give. */
static int
some_id(void)
{
	char id[48];
	int how = sim_pick(20);

	if (how == 0)
		return some_name();
	if (how <= 2)
		snprintf(id, sizeof id, "%.30s/ask", sim->name[message_in(1 + MESSAGE_WAITING)]);
	else if (how == 3)
		snprintf(id, sizeof id, "m%d/%s", sim->numbers + 1 + sim_pick(6), sim_id("a", some_agent()));
	else
		snprintf(id, sizeof id, "m%d", new_number());
	return sim_name(id);
}

/* An id whose copies somebody may have given to messages of his own. */
static int
cut_name(void)
{
	char id[48];

	snprintf(id, sizeof id, "%s", sim->name[some_name()]);
	id[strcspn(id, "/")] = '\0';
	return sim_name(id);
}

static int
run_in(int state)
{
	return one_in(&sim->now.run[0].state, sizeof sim->now.run[0], SIM_RUNS, state);
}

/* ---- what agents and their orchestrators do ---- */

static void
bring_up(int agent, int blob)
{
	struct sim_act a = { .verb = SIM_RECORD, .agent = agent, .blob = blob, .pid = start_process(agent) };

	sim_point();
	if (sim_control == SIM_SEND_FIRST)
		send_to(agent);
	sim_point();
	if (!sim_call(&a))
		return;
	sim_point();
	send_to(agent);
}

static void
create_agent(void)
{
	bring_up(sim_chance(3) ? some_agent() : agent_in(0), some_blob());
}

static void
end(int agent)
{
	struct sim_act a = { .verb = SIM_END, .agent = agent, .below = !sim_chance(3) };

	if (sim_call(&a)) {
		sim_point();
		stop_ended();
	}
}

/* In one step, or recorded by itself and linked by its parent; which may be where it dies. */
static void
spawn_agent(void)
{
	struct sim_act a = { .verb = SIM_SPAWN,
		.agent = agent_in(sim_chance(4) ? 1 + SESSION_ACTIVE : 0),
		.parent = agent_in(sim_chance(6) ? 1 + SESSION_ENDED : 1 + SESSION_ACTIVE),
		.blob = some_blob() };
	bool whole = sim_chance(2);

	a.pid = start_process(a.agent);
	sim_point();
	if (!whole) {
		a.verb = SIM_RECORD;
		if (!sim_call(&a) || sim_chance(6))
			return;
		sim_point();
		if (sim_chance(6))
			end(a.parent);
		a.verb = SIM_LINK;
		a.blob = a.pid = 0;
	}
	if (sim_call(&a)) {
		sim_point();
		send_to(a.agent);
	}
}

static void
suspend_agent(void)
{
	struct sim_act a = { .verb = SIM_SUSPEND,
		.agent = sim_chance(6) ? some_agent() : agent_in(1 + SESSION_ACTIVE),
		.blob = some_blob() };

	sim->process[running(a.agent)].lives = false;
	sim_point();
	sim_call(&a);
}

void
sim_restore(int agent)
{
	struct sim_act a = { .verb = SIM_RESTORE, .agent = agent };

	if (!sim_call(&a))
		return;
	sim_point();
	bring_up(agent, 0);
}

static void
end_agent(void)
{
	if (sim_chance(2))
		end(some_agent());
}

static void
send_message(void)
{
	struct sim_act a = { .verb = SIM_SEND,
		.name = some_id(),
		.from = some_agent(),
		.body = new_number(),
		.sync = sim_chance(2),
		.to = sim_chance(5) ? some_agent() : agent_in(1 + SESSION_ACTIVE) };

	if (sim_control == SIM_ENQUEUE_FIRST)
		sim->got[a.name]++;
	sim_point();
	sim_call(&a);
	sim_point();
}

static void
broadcast(void)
{
	struct sim_act a = { .verb = SIM_BROADCAST,
		.from = some_agent(),
		.body = new_number(),
		.sync = sim_chance(3),
		.n_many = sim_chance(3) ? 0 : 1 + sim_pick(3) };

	if (!sim_chance(3))
		return;
	a.name = sim_chance(4) ? cut_name() : some_id();
	for (int i = 0; i < a.n_many; i++)
		a.many[i] = sim_chance(4) ? some_agent() : agent_in(1 + SESSION_ACTIVE);
	if (strchr(sim->name[a.name], '/') == NULL)
		sim_call(&a);
}

/* Into the agent's hands first, then marked: a crash in between has it delivered again. */
static void
deliver_message(void)
{
	struct sim_act a = { .verb = SIM_DELIVER, .name = message_in(1 + MESSAGE_PENDING) };
	bool logged = sim->now.message[a.name].state != 0;

	if (!logged && !sim_chance(8))
		return;
	if (logged && sim_control != SIM_MARK_FIRST)
		sim->got[a.name]++;
	sim_point();
	sim_call(&a);
	sim_point();
	if (logged && sim_control == SIM_MARK_FIRST)
		sim->got[a.name]++;
}

static void
reply(void)
{
	struct sim_act a = {
		.verb = SIM_REPLY, .answers = message_in(1 + MESSAGE_WAITING), .body = new_number()
	};

	if (sim->got[a.answers] == 0 && (sim->now.message[a.answers].state != 0 || !sim_chance(8)))
		return;
	a.name = some_id();
	sim_call(&a);
	sim_point();
}

static void
run_created(void)
{
	struct sim_act a = { .verb = SIM_CREATE, .run = run_in(sim_chance(8) ? 1 + RUN_PENDING : 0),
		.place = 1 + sim_pick(SIM_PLACES), .prompt = 1 + sim_pick(3), .mode = sim_pick(2) };

	sim_call(&a);
}

static void
run_claimed(void)
{
	struct sim_act a = { .verb = SIM_CLAIM,
		.runner = 1 + sim_pick(SIM_RUNNERS),
		.claim = sim_chance(2) ? new_number() : 0 };

	for (int i = 0; i < 3 && sim->now.runner[a.runner].boot != sim->boot; i++)
		a.runner = 1 + sim_pick(SIM_RUNNERS);
	if (sim_chance(2))
		a.run = sim_chance(4) ? 1 + sim_pick(SIM_RUNS) : run_in(1 + RUN_PENDING);
	sim_call(&a);
}

/* By its runner; now and then by another one, under an old number, or out of turn. */
static void
run_went_on(void)
{
	static const struct {
		enum sim_verb verb;
		int from, to;
	} steps[] = { { SIM_START, RUN_CLAIMED, 0 }, { SIM_START, RUN_CLAIMED, 0 },
		{ SIM_STOP, RUN_RUNNING, 0 }, { SIM_STOP, RUN_CLAIMED, 0 },
		{ SIM_FINISH, RUN_RUNNING, RUN_COMPLETED }, { SIM_FINISH, RUN_CLAIMED, RUN_FAILED },
		{ SIM_FINISH, RUN_STOPPING, RUN_STOPPED } };
	int i = sim_pick(sizeof steps / sizeof steps[0]);
	struct sim_act a = { .verb = steps[i].verb, .run = run_in(1 + steps[i].from), .state = steps[i].to };

	if (sim_chance(8))
		a.state = RUN_COMPLETED + sim_pick(3);
	a.runner = sim_chance(8) ? 1 + sim_pick(SIM_RUNNERS) : sim->now.run[a.run].runner;
	a.fence = sim_chance(2) ? 0 : sim->now.run[a.run].fence - sim_chance(8);
	if (a.runner != 0)
		sim_call(&a);
}

static void
runner(void)
{
	struct sim_act a = { .verb = SIM_BEAT, .runner = 1 + sim_pick(SIM_RUNNERS) };

	if (sim_chance(sim->now.runner[a.runner].boot == sim->boot ? 4 : 2))
		a.verb = SIM_REGISTER;
	else if (sim_chance(8))
		a.runner = 1 + sim_pick(SIM_RUNNERS);
	if (a.verb == SIM_REGISTER && sim_chance(2))
		a.pid = sim_chance(5) ? 1 + sim_pick(sim->n_processes + 1) : start_process(0);
	if (a.pid <= sim->n_processes)
		sim_call(&a);
}

/* Time goes by, the wall clock is set, a process ends by itself. */
static void
world_goes_on(void)
{
	int pid = sim->n_processes > 0 ? 1 + sim_pick(sim->n_processes) : 0;
	int ms = sim_chance(3) ? 299000 + sim_pick(3) * 1000 : sim_pick(200000);

	if (sim_chance(2)) {
		sim->boot_ms += ms;
		sim->wall_ms += ms;
	}
	if (sim_chance(8))
		sim->wall_ms += (sim_pick(3) - 1) * INT64_C(86400000);
	if (pid != 0 && sim_chance(2))
		sim->process[pid].lives = false;
}

/* ---- one of them ---- */

void
sim_flow(void)
{
	static void (*const flows[])(void) = { create_agent, spawn_agent, spawn_agent, suspend_agent,
		end_agent, send_message, send_message, broadcast, deliver_message, deliver_message,
		deliver_message, reply, reply, run_created, run_created, run_claimed, run_claimed,
		run_went_on, run_went_on, run_went_on, runner, runner, world_goes_on };
	int n = sizeof flows / sizeof flows[0];

	if (sim->n_names > SIM_NAMES - 60)
		return;
	if (sim_chance(12))
		sim_restore(agent_in(1 + SESSION_SUSPENDED));
	else
		flows[sim_pick(n)]();
}
