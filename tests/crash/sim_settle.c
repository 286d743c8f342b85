/* The oracle: startup, stage by stage. */
#include <stdio.h>
#include <string.h>

#include "sim.h"
#include "records/agents/agents.h"

enum { ACTIVE = 1 + SESSION_ACTIVE, SUSPENDED = 1 + SESSION_SUSPENDED, ENDED = 1 + SESSION_ENDED };
enum { PENDING = 1 + MESSAGE_PENDING, WAITING = 1 + MESSAGE_WAITING };
enum { OPEN = 1, OVER = 2 };

static void
sessions(struct sim_model *m, struct sim_counts *out)
{
	const char *who = NULL;

	for (int i = 1; i <= SIM_AGENTS; i++) {
		struct sim_agent *x = &m->agent[i];

		if (x->state != ACTIVE)
			continue;
		if (sim_lives(x)) {
			out->left++;
			continue;
		}
		x->state = SUSPENDED;
		x->pid = x->boot = 0;
		out->suspended++;
		who = sim_id("a", i);
	}
	if (out->suspended > 0)
		sim_event(m, "session.suspended", out->suspended == 1 ? who : NULL);
}

/* Spawns that were cut off: the one thing that these verbs can leave to be repaired. */
static void
tree(struct sim_model *m, struct sim_counts *out)
{
	for (int i = 1; i <= SIM_AGENTS; i++) {
		struct sim_agent *x = &m->agent[i];
		const struct sim_agent *p = &m->agent[x->parent];

		if ((x->state != ACTIVE && x->state != SUSPENDED) || x->link != 0)
			continue;
		if (p->state == ACTIVE || p->state == SUSPENDED) {
			x->link = OPEN;
			x->above = x->parent;
			out->linked++;
		} else if (p->link == OVER && x->state == SUSPENDED) {
			x->state = ENDED;
			out->ended++;
		} else {
			x->link = OPEN;
			x->adopted = x->parent;
			out->linked++;
		}
		sim_event(m, "agent.repaired", sim_id("a", i));
	}
}

static int
request_name(int name)
{
	char id[64];

	snprintf(id, sizeof id, "%s/ask", sim->name[name]);
	return sim_name(id);
}

static void
message(struct sim_model *m, int name, enum reply_policy policy, struct sim_counts *out)
{
	struct sim_message *x = &m->message[name], *request;
	int state = m->agent[x->to].state;

	if (state == ACTIVE)
		return;
	/* 0: its record has left */
	if (state == ENDED || state == 0)
		policy = REPLY_FLAG;
	/* a request cannot be told under an id that another message has */
	request = policy == REPLY_ASK ? &m->message[request_name(name)] : NULL;
	if (request != NULL && x->asked == 0 && request->state != 0)
		policy = REPLY_FLAG;
	if (policy == REPLY_REPLAY) {
		x->state = PENDING;
		x->replays++;
		out->replayed++;
		sim_event(m, "message.replayed", sim->name[name]);
	} else if (policy == REPLY_ASK && x->asked == 0) {
		x->asked = 1;
		*request = (struct sim_message){ .state = PENDING, .from = x->from, .to = x->to, .body = SIM_REQUEST };
		out->asked++;
		sim_event(m, "message.asked", sim->name[name]);
	} else if (policy == REPLY_FLAG && x->flagged == 0) {
		x->flagged = 1;
		out->flagged++;
		sim_event(m, "message.flagged", sim->name[name]);
	}
}

static void
messages(struct sim_model *m, enum reply_policy policy, struct sim_counts *out)
{
	int n = sim->n_names;

	for (int i = 1; i <= n; i++) {
		const struct sim_message *x = &m->message[i];

		out->undelivered += x->state == PENDING;
		out->answers += x->state == PENDING && x->reply_to != 0;
		out->waiting += x->state == WAITING;
	}
	for (int i = 1; i <= n; i++)
		if (m->message[i].state == WAITING)
			message(m, i, policy, out);
}

void
sim_settle(const struct sim_act *a, struct sim_counts *out)
{
	struct sim_model *m = sim->stage;

	memset(out, 0, sizeof *out);
	m[0] = sim->now;
	m[SIM_RUNS_SETTLED] = m[0];
	sim_settle_runs(&m[SIM_RUNS_SETTLED], a, out);
	m[SIM_SESSIONS_SETTLED] = m[SIM_RUNS_SETTLED];
	sessions(&m[SIM_SESSIONS_SETTLED], out);
	m[SIM_TREE_SETTLED] = m[SIM_SESSIONS_SETTLED];
	tree(&m[SIM_TREE_SETTLED], out);
	m[SIM_MESSAGES_SETTLED] = m[SIM_TREE_SETTLED];
	messages(&m[SIM_MESSAGES_SETTLED], (enum reply_policy)a->policy, out);
	m += SIM_MESSAGES_SETTLED;
	for (int i = 1; i <= SIM_AGENTS; i++)
		out->back += m->agent[i].state == SUSPENDED && m->agent[i].link == OPEN &&
		    (a->all || m->agent[i].above == 0);
}
