/*
 * What one process does: it looks at what the crash before it left, starts up, and calls verbs in
 * a random order until it dies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "records/records.h"
#include "records/agents/agents.h"
#include "records/history/history.h"
#include "records/runs/runs.h"
#include "store/store.h"

static struct store *store;
char *sim_event_log;
static int back[SIM_AGENTS + 1];

/* ---- a verb ---- */

static void
tell_act(const struct sim_act *a, const char *answer)
{
	printf("  %s agent %d parent %d pid %d blob %d name %s from %d to %d body %d answers %d run %d place "
	       "%d runner %d fence %d claim %d"
	       " state %d: %s\n",
	    sim_verb_names[a->verb], a->agent, a->parent, a->pid, a->blob, sim->name[a->name], a->from, a->to,
	    a->body, a->answers, a->run, a->place, a->runner, a->fence, a->claim, a->state,
	    answer != NULL ? answer : "done");
}

static void __attribute__((noreturn))
disk_failed(const struct err *e)
{
	sim->disk_errors++;
	if (sim_control == SIM_ERROR_IGNORED)
		sim->now = sim->is_startup ? sim->stage[SIM_MESSAGES_SETTLED] : sim->next;
	/* an error is none of it, for certain, but in startup and a sweep, which are many commits */
	sim->under_way = sim->under_way &&
	    (sim->is_startup || sim->act.verb == SIM_SWEEP || strcmp(e->name, "unknown") == 0);
	sim_die();
}

static bool
is_disk_error(const struct err *e)
{
	return sim_disk_fails() &&
	    (strcmp(e->name, "io") == 0 || strcmp(e->name, "unknown") == 0 ||
		strcmp(e->name, "disk-full") == 0);
}

static bool
same_word(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool
sim_call(const struct sim_act *a)
{
	struct err e = ERR_INIT;
	const char *must, *answer;

	sim->boot_ms += 1 + sim_pick(20);
	sim->wall_ms += 20;
	sim->next = sim->now;
	must = sim_apply(&sim->next, a);
	sim->act = *a;
	sim->is_startup = false;
	sim->under_way = must == NULL;
	if (sim_control == SIM_ACK_FIRST && must == NULL)
		sim->now = sim->next;
	answer = sim_act(store, a, back, &e);
	if (sim_tell)
		tell_act(a, answer);
	if (answer != NULL && is_disk_error(&e))
		disk_failed(&e);
	if (!same_word(answer, must))
		sim_judge(SIM_ANSWER, "%s answers %s (%s), must be %s", sim_verb_names[a->verb],
		    answer != NULL ? answer : "done", e.msg, must != NULL ? must : "done");
	sim->actions++;
	if (must == NULL)
		sim->now = sim->next;
	sim->under_way = false;
	(must == NULL ? sim->accepted : sim->refused)[a->verb]++;
	if (sim_chance(6))
		sim_compare(store, sim_verb_names[a->verb]);
	return must == NULL;
}

/* ---- startup ---- */

static void
add_up(const struct sim_counts *more)
{
	const int *from = (const int *)(const void *)more;

	for (size_t i = 0; i < SIM_COUNTS; i++)
		sim->settled[i] += from[i];
}

static void
start_up(const struct sim_act *a)
{
	struct sim_counts must;
	struct err e = ERR_INIT;
	const char *answer;

	sim_settle(a, &must);
	sim->act = *a;
	sim->is_startup = sim->under_way = true;
	answer = sim_act(store, a, back, &e);
	if (sim_tell)
		printf("  startup policy %d mode %d threshold %d: %s\n", a->policy, a->how, a->threshold_ms,
		    answer != NULL ? answer : "done");
	if (answer != NULL && is_disk_error(&e))
		disk_failed(&e);
	if (answer != NULL)
		sim_judge(SIM_FAILED, "startup answers %s (%s)", answer, e.msg);
	sim->under_way = false;
	sim->actions++;
	sim->accepted[SIM_STARTUP]++;
	sim_invariants(store);
	if (memcmp(&must, &sim_told, sizeof must) != 0)
		sim_judge(SIM_ANSWER, "startup tells of other numbers than it should");
	add_up(&must);
}

/* One more changes nothing. */
static void
start_up_again(const struct sim_act *a)
{
	int events = sim->now.events;

	start_up(a);
	if (sim->now.events != events)
		sim_judge(SIM_RESTLESS, "a second startup made %d commits more", sim->now.events - events);
}

static void
lose_a_message(void)
{
	struct change c = { .kind = CHANGE_DELETE, .expect = STORE_ANY };
	char key[64];
	int name = sim->n_names;

	while (name > 0 && sim->now.message[name].state != 1 + MESSAGE_PENDING)
		name--;
	snprintf(key, sizeof key, "message:%s", sim->name[name]);
	c.key = key;
	store_commit(store, &c, 1, NULL);
}

/* ---- retention ---- */

static void
sweep(const char *dir)
{
	static const int64_t ages[] = { 1, 50, 1000, 200000, 400000 }, counts[] = { 0, 0, 1, 4 };
	char *state = io_join(dir, "retention.json");
	const struct history_limits limits = { .age_ms = ages[sim_pick(5)], .count = counts[sim_pick(4)],
		.crashes_ms = 1, .budget_ms = 3600000, .state = state, .log = sim_event_log };
	struct history_report report;
	struct sim_model there;
	struct err e = ERR_INIT;
	int ret, gone;

	sim->wall_ms += 20;
	sim->next = sim->now;
	sim->act = (struct sim_act){ .verb = SIM_SWEEP };
	sim->is_startup = false;
	sim->under_way = true;
	if (sim_control == SIM_SWEEP_OPEN)
		lose_a_message();
	ret = history_sweep(store, &limits, &report, &e);
	if (sim_tell)
		printf("  sweep age %lld count %lld: %zu left, %s\n", (long long)limits.age_ms,
		    (long long)limits.count, report.left, ret != 0 ? e.msg : "done");
	if (ret != 0 && sim_disk_fails())
		disk_failed(&e);
	if (ret != 0)
		sim_judge(SIM_FAILED, "a sweep answers %s (%s)", e.name, e.msg);
	sim_read(store, &there);
	if (!sim_is_swept(&there, &sim->now, &gone))
		sim_judge(SIM_HALF, "a sweep took what is open, changed what it left, or told of no end");
	sim_take_swept(&there);
	sim->under_way = false;
	sim->swept += gone;
	sim->actions++;
	sim->accepted[SIM_SWEEP]++;
	free(state);
}

static void
begin(void)
{
	struct sim_act a = { .verb = SIM_STARTUP,
		.policy = sim_pick(3),
		.all = sim_pick(2),
		.how = sim_chance(3) ? sim_pick(3) : RUN_MODE_STALE,
		.fails = sim_chance(3),
		.threshold_ms = sim_chance(4) ? 0 : 300000 };

	start_up(&a);
	if (sim_control == SIM_DROP_MESSAGE) {
		lose_a_message();
		sim_invariants(store);
	}
	if (sim_chance(3))
		start_up_again(&a);
	for (int i = 0; i < SIM_AGENTS && back[i] != 0; i++)
		if (sim_chance(2))
			sim_restore(back[i]);
}

/* ---- all of it ---- */

void
sim_play(const char *dir)
{
	struct err e = ERR_INIT;
	struct sim_act last = sim->act;
	bool was_under_way;

	sim_event_log = io_join(dir, EVENT_LOG);
	store = store_open("sqlite", dir, &e);
	if (store == NULL && sim_disk_fails())
		sim_die();
	if (store == NULL)
		sim_judge(SIM_UNOPENABLE, "%s", e.msg);
	was_under_way = sim->under_way && !sim->is_startup && last.verb != SIM_SWEEP;
	sim_verify(store);
	sim_point();
	/* whoever lost the answer asks again */
	if (was_under_way && sim_chance(2)) {
		sim->repeated++;
		sim_call(&last);
	}
	if (sim_chance(3))
		sim_verify_log(store, sim_event_log);
	begin();
	for (int n = 1 + sim_pick(16); n > 0; n--)
		if (sim_chance(25))
			begin();
		else if (sim_chance(10))
			sweep(dir);
		else
			sim_flow();
	if (sim_chance(3))
		sim_verify_log(store, sim_event_log);
	store_close(store);
	free(sim_event_log);
	sim_die();
}
