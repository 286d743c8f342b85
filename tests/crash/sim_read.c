/* The store, as the oracle would have it. What no verb can have written ends the process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "base/buf.h"
#include "base/err.h"
#include "records/records.h"
#include "records/agents/agents.h"
#include "records/runs/runs.h"
#include "store/store.h"

/* The number in an id that sim_id made; NULL is 0. */
static int
number(const char *kind, const char *id, int most)
{
	size_t n = strlen(kind);
	int found;

	if (id == NULL || *id == '\0')
		return 0;
	found = strncmp(id, kind, n) == 0 ? (int)strtol(id + n, NULL, 10) : 0;
	if (found < 1 || found > most || strcmp(sim_id(kind, found), id) != 0)
		sim_judge(SIM_HALF, "there is \"%.100s\", of which nobody told", id);
	return found;
}

static int
boot_of(const char *boot_id)
{
	return *boot_id != '\0' ? (int)strtol(boot_id + strlen("boot-"), NULL, 10) : 0;
}

/* ---- sessions and the tree ---- */

static int
read_blob(struct store *s, const struct session *x)
{
	struct err e = ERR_INIT;
	struct buf there = BUF_INIT;
	unsigned char *bytes;
	int found = 0;
	size_t n;

	if (x->blob.size < 0)
		return 0;
	if (session_blob_read(s, x->agent_uuid, &x->blob, &there, &e) != 0)
		sim_judge(SIM_INVARIANT, "the state blob of %s cannot be read: %s", x->agent_uuid, e.msg);
	if (there.len >= sizeof found)
		memcpy(&found, there.data, sizeof found);
	bytes = sim_blob(found, &n);
	if (n != there.len || memcmp(bytes, there.data, n) != 0)
		sim_judge(SIM_HALF, "the state blob of %s is none that was stored", x->agent_uuid);
	free(bytes);
	buf_release(&there);
	return found;
}

static void
read_sessions(struct store *s, struct sim_model *out, struct err *e)
{
	struct session_list list = { .n = 0 };

	if (session_list_read(s, SESSION_STATES, &list, e) != 0)
		sim_judge(SIM_INVARIANT, "the sessions cannot be read: %s", e->msg);
	for (size_t i = 0; i < list.n; i++) {
		const struct session *x = &list.v[i];
		struct sim_agent *to = &out->agent[number("a", x->agent_uuid, SIM_AGENTS)];

		to->state = 1 + (int)x->state;
		to->parent = number("a", x->parent, SIM_AGENTS);
		to->blob = read_blob(s, x);
		to->pid = (int)x->pid;
		to->boot = boot_of(x->boot_id);
		if (x->provider_name == NULL || strcmp(x->provider_name, "fake") != 0 ||
		    x->workspace_path == NULL)
			sim_judge(SIM_HALF, "the session %s lacks what was told of it", x->agent_uuid);
	}
	session_list_release(&list);
}

static int
read_link(const struct record *r, void *arg, struct err *e)
{
	struct sim_model *out = ((void **)arg)[1];
	int agent = number("a", r->key + strlen("tree:"), SIM_AGENTS);
	struct tree_node x;

	if (tree_load(((void **)arg)[0], sim_id("a", agent), &x, e) != 1)
		return -1;
	out->agent[agent].link = x.ended ? 2 : 1;
	out->agent[agent].above = number("a", x.parent, SIM_AGENTS);
	out->agent[agent].adopted = number("a", x.adopted_from, SIM_AGENTS);
	tree_node_release(&x);
	return 0;
}

static int
read_blob_key(const struct record *r, void *arg, struct err *e)
{
	const struct sim_model *out = ((void **)arg)[1];

	(void)e;
	if (out->agent[number("a", r->key + strlen("blob:"), SIM_AGENTS)].blob == 0)
		sim_judge(SIM_HALF, "there is %s, but its session does not tell of it", r->key);
	return 0;
}

/* ---- messages ---- */

static int
body_number(const struct message *m)
{
	int found = 0;
	char request[200];

	if (sscanf(m->body, "body %d\n", &found) == 1 && strcmp(sim_body(found), m->body) == 0)
		return found;
	snprintf(request, sizeof request,
	    "Please repeat your answer to the message %.*s:", (int)(strlen(m->id) - strlen("/ask")), m->id);
	if (!str_ends(m->id, "/ask") || !str_starts(m->body, request))
		sim_judge(SIM_HALF, "the body of the message %s is not what was sent", m->id);
	return SIM_REQUEST;
}

static void
read_messages(struct store *s, struct sim_model *out, struct err *e)
{
	struct message_list list = { .n = 0 };

	if (message_list_read(s, MESSAGE_STATES, NULL, true, &list, e) != 0)
		sim_judge(SIM_INVARIANT, "the messages cannot be read: %s", e->msg);
	for (size_t i = 0; i < list.n; i++) {
		const struct message *m = &list.v[i];

		out->message[sim_name(m->id)] = (struct sim_message){ .state = 1 + (int)m->state,
			.from = number("a", m->from, SIM_AGENTS),
			.to = number("a", m->to, SIM_AGENTS),
			.body = body_number(m),
			.sync = m->sync,
			.reply_to = m->reply_to != NULL ? sim_name(m->reply_to) : 0,
			.answer = m->answer != NULL ? sim_name(m->answer) : 0,
			.delivered = m->delivered_at != 0,
			.flagged = m->flagged_at != 0,
			.asked = m->asked_at != 0,
			.replays = (int)m->replays };
	}
	message_list_release(&list);
}

/* ---- runs ---- */

static int
error_of(const struct run *r)
{
	static const char *const texts[] = { [SIM_TOLD] = "it says so itself", [SIM_STALE] = RUN_ERROR_STALE,
		[SIM_UNKNOWN] = RUN_ERROR_UNKNOWN };
	int i = SIM_UNKNOWN;

	if (r->error == NULL)
		return SIM_NO_ERROR;
	while (i > 0 && strcmp(texts[i], r->error) != 0)
		i--;
	if (i == 0)
		sim_judge(SIM_HALF, "the run %s has an error that nobody told", r->id);
	return i;
}

static int
read_run(const struct record *rec, void *arg, struct err *e)
{
	struct sim_model *out = ((void **)arg)[1];
	struct run r;

	if (run_from_record(rec, &r, e) != 0)
		return -1;
	out->run[number("r", r.id, SIM_RUNS)] = (struct sim_run){ .state = 1 + (int)r.state,
		.place = number("s", r.session_id, SIM_PLACES),
		.prompt = r.prompt != NULL ? (int)strtol(r.prompt + strlen("prompt "), NULL, 10) : 0,
		.runner = number("w", r.runner_id, SIM_RUNNERS),
		.fence = (int)r.fence,
		.claim = r.claim_id != NULL ? (int)strtol(r.claim_id + 1, NULL, 10) : 0,
		.life = (int)r.runner_generation,
		.error = error_of(&r),
		.recovered_from = r.recovered_from != NULL ? 1 + run_state_parse(r.recovered_from) : 0,
		.recoveries = (int)r.recoveries,
		.entered = (int)r.entered.boot_ms,
		.boot = boot_of(r.entered.boot_id) };
	run_release(&r);
	return 0;
}

static int
read_place(const struct record *rec, void *arg, struct err *e)
{
	struct sim_model *out = ((void **)arg)[1];
	const char *id = rec->key + strlen("run_session:");
	struct run_session x;

	if (run_session_load(((void **)arg)[0], id, &x, e) != 1)
		return -1;
	out->place[number("s", id, SIM_PLACES)] = (struct sim_place){ .status = 1 + (int)x.status,
		.run = number("r", x.run_id, SIM_RUNS),
		.mode = strcmp(x.execution_mode, "sync") != 0 };
	run_session_release(&x);
	return 0;
}

static void
read_runners(struct store *s, struct sim_model *out, struct err *e)
{
	struct runner_list list = { .n = 0 };

	if (runner_list_read(s, &list, e) != 0)
		sim_judge(SIM_INVARIANT, "the runners cannot be read: %s", e->msg);
	for (size_t i = 0; i < list.n; i++) {
		const struct runner *r = &list.v[i];

		out->runner[number("w", r->id, SIM_RUNNERS)] =
		    (struct sim_runner){ .life = (int)r->generation,
			    .beat = (int)r->heartbeat.boot_ms,
			    .boot = boot_of(r->heartbeat.boot_id),
			    .pid = (int)r->pid };
	}
	runner_list_release(&list);
}

/* ---- events ---- */

static int
read_event(const struct event_row *ev, void *arg)
{
	struct sim_model *out = arg;

	sim_event(out, ev->kind, ev->subject);
	if (ev->seq != out->events)
		sim_judge(SIM_INVARIANT, "event %lld stands in the place of event %d", (long long)ev->seq,
		    out->events);
	return 0;
}

/* Those before the first that the store has. */
static void
read_left(struct store *s, struct sim_model *out, struct err *e)
{
	struct event_numbers at;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	FILE *f;

	if (event_numbers_read(s, &at, e) != 0)
		sim_judge(SIM_INVARIANT, "the numbers of events cannot be read: %s", e->msg);
	if (at.first <= 1)
		return;
	if ((f = fopen(sim_event_log, "r")) == NULL)
		sim_judge(SIM_LOG, "events left the store, and there is no event log");
	while (out->events + 1 < at.first && (n = getline(&line, &cap, f)) > 0) {
		json_t *v = json_parse(line, (size_t)n, "a line of the event log", NULL);

		sim_event(out, json_text(v, "kind", ""), json_text(v, "subject", ""));
		if (json_number(v, "seq", 0) != out->events)
			sim_judge(SIM_LOG, "line %d of the event log is that of event %lld", out->events,
			    (long long)json_number(v, "seq", 0));
		json_decref(v);
	}
	if (out->events + 1 != at.first)
		sim_judge(SIM_LOG, "event %d left the store, and is not in the event log", out->events + 1);
	free(line);
	fclose(f);
}

void
sim_read(struct store *s, struct sim_model *out)
{
	static const struct {
		const char *prefix;
		int (*row)(const struct record *r, void *arg, struct err *e);
	} kinds[] = { { "tree:", read_link }, { "blob:", read_blob_key }, { "run:", read_run },
		{ "run_session:", read_place } };
	struct err e = ERR_INIT;
	void *arg[2] = { s, out };

	memset(out, 0, sizeof *out);
	read_sessions(s, out, &e);
	read_messages(s, out, &e);
	read_runners(s, out, &e);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (store_each(s, kinds[i].prefix, NULL, kinds[i].row, arg, &e) != 0)
			sim_judge(SIM_INVARIANT, "%s cannot be read: %s", kinds[i].prefix, e.msg);
	read_left(s, out, &e);
	if (event_each(s, NULL, read_event, out, &e) != 0)
		sim_judge(SIM_INVARIANT, "the events cannot be read: %s", e.msg);
}
