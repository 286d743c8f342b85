/* The oracle: agents and messages. It follows the headers of the ledger, not its code. */
#include <stdio.h>
#include <string.h>

#include "sim.h"
#include "records/agents/agents.h"

enum { ACTIVE = 1 + SESSION_ACTIVE, SUSPENDED = 1 + SESSION_SUSPENDED, ENDED = 1 + SESSION_ENDED };
enum {
	PENDING = 1 + MESSAGE_PENDING,
	WAITING = 1 + MESSAGE_WAITING,
	DELIVERED = 1 + MESSAGE_DELIVERED,
	ANSWERED = 1 + MESSAGE_ANSWERED
};
enum { OPEN = 1, OVER = 2 };

static void
mix(unsigned *hash, const char *s)
{
	do
		*hash = (*hash ^ (unsigned char)*s) * 16777619U;
	while (*s++ != '\0');
}

void
sim_event(struct sim_model *m, const char *kind, const char *subject)
{
	m->events++;
	mix(&m->hash, kind);
	mix(&m->hash, subject != NULL ? subject : "");
}

bool
sim_lives(const struct sim_agent *x)
{
	return x->pid != 0 && x->boot == sim->boot && sim->process[x->pid].lives;
}

/* ---- sessions ---- */

static void
take_process(struct sim_agent *x, const struct sim_act *a)
{
	if (a->pid != 0 && sim->process[a->pid].lives) {
		x->pid = a->pid;
		x->boot = sim->boot;
	}
}

static const char *
record(struct sim_model *m, const struct sim_act *a)
{
	struct sim_agent *x = &m->agent[a->agent];
	bool runs = a->pid != 0 && sim->process[a->pid].lives;

	if (x->state == ENDED)
		return "ended";
	if (x->state == SUSPENDED)
		return "suspended";
	if (x->state == ACTIVE && a->parent != 0 && a->parent != x->parent)
		return "other-parent";
	if (x->state == ACTIVE && runs && a->pid != x->pid && sim_lives(x))
		return "live";
	if (x->state == 0 && a->parent != 0 && m->agent[a->parent].link == 0)
		return "no-agent";
	if (x->state == 0 && a->parent != 0 && m->agent[a->parent].link == OVER)
		return "parent-ended";
	if (x->state == 0) {
		x->parent = a->parent;
		x->link = a->parent == 0 ? OPEN : 0;
	}
	x->state = ACTIVE;
	if (a->blob != 0)
		x->blob = a->blob;
	take_process(x, a);
	sim_event(m, "session.recorded", sim_id("a", a->agent));
	return NULL;
}

/* whole: the session is told with it */
static const char *
spawn(struct sim_model *m, const struct sim_act *a, bool whole)
{
	struct sim_agent *x = &m->agent[a->agent];
	int old = x->state;

	if (old == ENDED || (old != 0 && x->link == OVER))
		return "ended";
	if (x->link != 0)
		return x->above != 0 && x->above == a->parent ? NULL : "linked";
	if (old != 0 && x->parent != 0 && x->parent != a->parent)
		return "other-parent";
	if (m->agent[a->parent].link == 0)
		return "no-agent";
	if (m->agent[a->parent].link == OVER)
		return "parent-ended";
	if (old == 0 && !whole)
		return "session";
	if (whole) {
		x->parent = a->parent;
		if (a->blob != 0)
			x->blob = a->blob;
		if (old == 0)
			x->state = ACTIVE;
		if (x->state == ACTIVE)
			take_process(x, a);
	}
	x->link = OPEN;
	x->above = a->parent;
	sim_event(m, "agent.spawned", sim_id("a", a->agent));
	return NULL;
}

static const char *
suspend(struct sim_model *m, const struct sim_act *a)
{
	struct sim_agent *x = &m->agent[a->agent];

	if (x->state == 0)
		return "not-found";
	if (x->state == ENDED)
		return "ended";
	if (x->state == SUSPENDED && a->blob == 0)
		return NULL;
	x->state = SUSPENDED;
	x->pid = x->boot = 0;
	if (a->blob != 0)
		x->blob = a->blob;
	sim_event(m, "session.suspended", sim_id("a", a->agent));
	return NULL;
}

static const char *
restore(struct sim_model *m, const struct sim_act *a)
{
	struct sim_agent *x = &m->agent[a->agent];

	if (x->state == 0)
		return "not-found";
	if (x->state == ENDED)
		return "ended";
	if (x->state == ACTIVE)
		return "active";
	if (x->link == 0)
		return "unlinked";
	x->state = ACTIVE;
	sim_event(m, "session.restored", sim_id("a", a->agent));
	return NULL;
}

static bool
is_below(const struct sim_model *m, int agent, int top)
{
	while (agent != 0 && agent != top)
		agent = m->agent[agent].above;
	return agent == top;
}

static const char *
end(struct sim_model *m, const struct sim_act *a)
{
	struct sim_agent *top = &m->agent[a->agent];
	int n = 0;

	if (top->state == 0)
		return "not-found";
	if (top->state == ENDED)
		return NULL;
	for (int i = 1; i <= SIM_AGENTS; i++)
		n += m->agent[i].link == OPEN && is_below(m, i, a->agent);
	if (!a->below && n > 1)
		return "has-children";
	for (int i = 1; i <= SIM_AGENTS; i++) {
		struct sim_agent *x = &m->agent[i];

		if (x != top && (x->link != OPEN || !is_below(m, i, a->agent)))
			continue;
		x->state = ENDED;
		x->pid = x->boot = 0;
		x->link = x->link == OPEN ? OVER : 0;
	}
	sim_event(m, "agent.ended", sim_id("a", a->agent));
	return NULL;
}

/* ---- messages ---- */

static bool
same(const struct sim_message *x, const struct sim_message *y)
{
	return x->from == y->from && x->to == y->to && x->body == y->body && x->sync == y->sync &&
	    x->reply_to == y->reply_to;
}

static const char *
no_receiver(const struct sim_model *m, int to)
{
	return m->agent[to].link == 0 ? "no-agent" : m->agent[to].link == OVER ? "ended" : NULL;
}

static const char *
send(struct sim_model *m, const struct sim_act *a)
{
	const struct sim_message new = {
		.state = PENDING, .from = a->from, .to = a->to, .body = a->body, .sync = a->sync
	};
	struct sim_message *x = &m->message[a->name];
	const char *no;

	if (x->state != 0)
		return same(x, &new) ? NULL : "taken";
	no = no_receiver(m, a->to);
	if (no != NULL)
		return no;
	*x = new;
	sim_event(m, "message.sent", sim->name[a->name]);
	return NULL;
}

/* The copy of a broadcast for one agent. */
static int
copy_name(const struct sim_act *a, int to)
{
	char id[64];

	snprintf(id, sizeof id, "%s/%s", sim->name[a->name], sim_id("a", to));
	return sim_name(id);
}

/* 1: sent before, 0: not, -1: another message has the id of one of them. */
static int
was_cast(const struct sim_model *m, const struct sim_act *a)
{
	int found = 0;

	for (int to = 1; to <= SIM_AGENTS; to++) {
		const struct sim_message *x = &m->message[copy_name(a, to)];

		if (x->state == 0 || x->to != to)
			continue;
		if (x->from != a->from || x->body != a->body)
			return -1;
		found = 1;
	}
	return found;
}

static const char *
broadcast(struct sim_model *m, const struct sim_act *a)
{
	bool to[SIM_AGENTS + 1] = { false };
	int was = was_cast(m, a), n = 0;

	if (was != 0)
		return was > 0 ? NULL : "taken";
	for (int i = 1; i <= SIM_AGENTS; i++)
		to[i] = a->n_many == 0 && m->agent[i].link == OPEN && i != a->from;
	for (int i = 0; i < a->n_many; i++)
		to[a->many[i]] = true;
	for (int i = 1; i <= SIM_AGENTS; i++) {
		const char *no =
		    to[i] ? m->message[copy_name(a, i)].state != 0 ? "taken" : no_receiver(m, i) : NULL;

		if (no != NULL)
			return no;
		n += to[i];
	}
	if (n == 0)
		return "nobody";
	for (int i = 1; i <= SIM_AGENTS; i++)
		if (to[i])
			m->message[copy_name(a, i)] = (struct sim_message){
				.state = PENDING, .from = a->from, .to = i, .body = a->body, .sync = a->sync
			};
	sim_event(m, "message.broadcast", sim->name[a->name]);
	return NULL;
}

static const char *
deliver(struct sim_model *m, const struct sim_act *a)
{
	struct sim_message *x = &m->message[a->name];

	if (x->state == 0)
		return "not-found";
	if (x->state != PENDING)
		return NULL;
	x->state = x->sync ? WAITING : DELIVERED;
	x->delivered = 1;
	sim_event(m, "message.delivered", sim->name[a->name]);
	return NULL;
}

static const char *
reply(struct sim_model *m, const struct sim_act *a)
{
	struct sim_message *asked = &m->message[a->answers], *x = &m->message[a->name], new;

	if (asked->state == 0)
		return "not-found";
	new = (struct sim_message){ .state = PENDING,
		.from = asked->to,
		.to = asked->from,
		.body = a->body,
		.sync = a->sync,
		.reply_to = a->answers };
	if (x->state != 0)
		return same(x, &new) ? NULL : "taken";
	*x = new;
	asked->delivered = 1;
	asked->state = ANSWERED;
	if (asked->answer == 0)
		asked->answer = a->name;
	sim_event(m, "message.replied", sim->name[a->answers]);
	return NULL;
}

const char *
sim_apply(struct sim_model *m, const struct sim_act *a)
{
	switch (a->verb) {
	case SIM_RECORD:
		return record(m, a);
	case SIM_SPAWN:
	case SIM_LINK:
		return spawn(m, a, a->verb == SIM_SPAWN);
	case SIM_SUSPEND:
		return suspend(m, a);
	case SIM_RESTORE:
		return restore(m, a);
	case SIM_END:
		return end(m, a);
	case SIM_SEND:
		return send(m, a);
	case SIM_BROADCAST:
		return broadcast(m, a);
	case SIM_DELIVER:
		return deliver(m, a);
	case SIM_REPLY:
		return reply(m, a);
	default:
		return sim_apply_run(m, a);
	}
}
