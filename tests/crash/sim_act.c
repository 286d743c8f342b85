/* The verbs of the ledger, called as a command calls them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "sim.h"
#include "base/buf.h"
#include "base/err.h"
#include "records/agents/agents.h"
#include "records/runs/runs.h"
#include "recover/upkeep/upkeep.h"
#include "app/app.h"
#include "scrub/scrub.h"

const char *const sim_verb_names[SIM_VERBS] = { "record", "spawn", "link", "suspend", "restore", "end",
	"send", "broadcast", "deliver", "reply", "create", "claim", "start", "stop", "finish", "register",
	"beat", "startup", "sweep" };
struct sim_counts sim_told;

/* ---- names and texts ---- */

static char *
one_of_eight(void)
{
	static char text[8][64];
	static unsigned next;

	return text[next++ % 8];
}

const char *
sim_id(const char *kind, int number)
{
	char *id = one_of_eight();

	snprintf(id, 64, "%s%02d", kind, number);
	return id;
}

int
sim_name(const char *id)
{
	for (int i = 1; i <= sim->n_names; i++)
		if (strcmp(sim->name[i], id) == 0)
			return i;
	if (sim->n_names == SIM_NAMES)
		sim_judge(SIM_FAILED, "the harness has no more names");
	snprintf(sim->name[++sim->n_names], sizeof sim->name[0], "%s", id);
	return sim->n_names;
}

const char *
sim_body(int number)
{
	static char body[5000];
	uint64_t r = (uint64_t)number;
	int n = snprintf(body, sizeof body, "body %d\n", number),
	    fill = (int)(disk_random(&r) % 16 == 0 ? 4000 : disk_random(&r) % 60);

	memset(body + n, 'a' + number % 26, (size_t)fill);
	body[n + fill] = '\0';
	return body;
}

/* Bytes of every kind; the first four tell the number. Most are small, some span pages. */
unsigned char *
sim_blob(int number, size_t *n)
{
	uint64_t r = (uint64_t)number ^ UINT64_C(0xb10b);
	uint64_t how = disk_random(&r) % 100;
	unsigned char *p;

	*n = 4 + disk_random(&r) % (how == 0 ? 200000 : how < 10 ? 20000 : 300);
	p = xmalloc(*n);
	for (size_t i = 0; i < *n; i++)
		p[i] = (unsigned char)(disk_random(&r) % 5 == 0 ? 0 : disk_random(&r));
	memcpy(p, &number, sizeof number);
	return p;
}

void
sim_now(struct timestamp *m)
{
	memset(m, 0, sizeof *m);
	m->wall_ms = sim->wall_ms;
	m->boot_ms = sim->boot_ms;
	snprintf(m->boot_id, sizeof m->boot_id, "boot-%d", sim->boot);
}

/* ---- sessions and the tree ---- */

static void
tell(struct session *x, const struct sim_act *a)
{
	session_init(x);
	record_set(&x->agent_uuid, sim_id("a", a->agent));
	if (a->verb == SIM_LINK)
		return;
	record_set(&x->provider_name, "fake");
	record_set(&x->workspace_path, "/work");
	if (a->parent != 0 && a->verb == SIM_RECORD)
		record_set(&x->parent, sim_id("a", a->parent));
	if (a->pid != 0)
		session_set_process(x, a->pid);
}

static int
restore(struct store *s, const struct sim_act *a, struct session *x, struct err *e)
{
	struct buf there = BUF_INIT;
	int number = sim->now.agent[a->agent].blob,
	    ret = session_restore(s, sim_id("a", a->agent), &there, x, e);
	size_t n = 0;
	unsigned char *bytes = number != 0 ? sim_blob(number, &n) : NULL;

	if (ret == 0 && (there.len != n || (n > 0 && memcmp(there.data, bytes, n) != 0)))
		sim_judge(SIM_ANSWER, "the session %s was restored with other bytes than were stored",
		    sim_id("a", a->agent));
	free(bytes);
	buf_release(&there);
	return ret;
}

static int
act_session(struct store *s, const struct sim_act *a, struct err *e)
{
	struct session x;
	struct buf bytes = BUF_INIT;
	const struct buf *blob = a->blob != 0 ? &bytes : NULL;
	size_t n, ended;
	int ret = 0;

	if (blob != NULL) {
		unsigned char *p = sim_blob(a->blob, &n);

		buf_add(&bytes, p, n);
		free(p);
	}
	tell(&x, a);
	if (a->verb == SIM_RECORD)
		ret = session_record(s, &x, blob, e);
	else if (a->verb == SIM_SPAWN || a->verb == SIM_LINK)
		ret = tree_spawn(s, sim_id("a", a->parent), &x, blob, e);
	else if (a->verb == SIM_END)
		ret = tree_end(s, sim_id("a", a->agent), a->below != 0, &ended, e);
	else {
		session_release(&x);
		ret = a->verb == SIM_RESTORE ? restore(s, a, &x, e) :
		    session_suspend(s, sim_id("a", a->agent), blob, "it was asked for", &x, e);
	}
	session_release(&x);
	buf_release(&bytes);
	return ret;
}

/* ---- messages ---- */

extern struct scrub *sim_scrub;
struct scrub *sim_scrub;

static int
act_broadcast(struct store *s, const struct sim_act *a, const struct message_draft *l, struct err *e)
{
	const char *to[SIM_AGENTS];
	char id[SIM_AGENTS][8];
	struct message_list out;
	int ret;

	for (int i = 0; i < a->n_many; i++) {
		snprintf(id[i], sizeof id[i], "%s", sim_id("a", a->many[i]));
		to[i] = id[i];
	}
	ret = message_broadcast(s, l, to, (size_t)a->n_many, &out, e);
	message_list_release(&out);
	return ret;
}

static int
act_message(struct store *s, const struct sim_act *a, struct err *e)
{
	struct clean_text *body = scrub_string(sim_scrub, sim_body(a->body));
	struct message_draft l = {
		.id = sim->name[a->name], .from = sim_id("a", a->from), .body = body, .sync = a->sync != 0
	};
	struct message out = { .version = 0 };
	int ret;

	if (a->verb == SIM_BROADCAST)
		ret = act_broadcast(s, a, &l, e);
	else if (a->verb == SIM_SEND)
		ret = message_send(s, &l, sim_id("a", a->to), &out, e);
	else if (a->verb == SIM_DELIVER)
		ret = message_mark_delivered(s, l.id, &out, e);
	else
		ret = message_reply(s, sim->name[a->answers], &l, &out, e);
	message_release(&out);
	clean_free(body);
	return ret;
}

/* ---- runs ---- */

static int
act_run(struct store *s, const struct sim_act *a, struct err *e)
{
	char id[8], place[8], prompt[24], claim[16], runner[8];
	struct run_holder h = { a->run != 0 ? id : NULL, runner, a->fence, a->claim != 0 ? claim : NULL };
	struct run asked = { .id = id, .session_id = place, .prompt = prompt }, out = { .version = 0 };
	struct runner who = { .version = 0 };
	struct timestamp now;
	int ret;

	sim_now(&now);
	snprintf(id, sizeof id, "%s", sim_id("r", a->run));
	snprintf(place, sizeof place, "%s", sim_id("s", a->place));
	snprintf(runner, sizeof runner, "%s", sim_id("w", a->runner));
	snprintf(prompt, sizeof prompt, "prompt %d", a->prompt);
	snprintf(claim, sizeof claim, "c%d", a->claim);
	if (a->verb == SIM_CREATE)
		ret = run_create(s, &asked, a->mode != 0 ? "async" : NULL, &now, &out, e);
	else if (a->verb == SIM_CLAIM)
		ret = run_claim(s, &h, &now, &out, e);
	else if (a->verb == SIM_START)
		ret = run_start(s, &h, &now, &out, e);
	else if (a->verb == SIM_STOP)
		ret = run_stop(s, id, &now, &out, e);
	else if (a->verb == SIM_FINISH)
		ret = run_finish(s, &h, (enum run_state)a->state, "it says so itself", &now, &out, e);
	else if (a->verb == SIM_REGISTER)
		ret = runner_register(s, runner, a->pid, &now, &who, e);
	else
		ret = runner_heartbeat(s, runner, &now, e);
	if (ret >= 0) {
		run_release(&out);
		runner_release(&who);
	}
	return ret;
}

/* ---- startup ---- */

static struct app world;
static const struct sim_act *settings;

extern struct config *sim_config;
struct config *sim_config;

const char *__real_config_text(const struct config *c, const char *name);
const char *__wrap_config_text(const struct config *c, const char *name);

const char *
__wrap_config_text(const struct config *c, const char *name)
{
	static const char *const policies[] = { "flag", "ask", "replay" };

	if (strcmp(name, "reply_policy") == 0)
		return policies[settings->policy];
	if (strcmp(name, "resume_scope") == 0)
		return settings->all ? "all" : "roots";
	return __real_config_text(c, name);
}

static void
count(const struct startup *x)
{
	sim_told = (struct sim_counts){ .pending = (int)x->runs.reset_to_pending,
		.failed = (int)x->runs.marked_failed,
		.stopped = (int)x->runs.marked_stopped,
		.kept_by_runner = (int)x->runs.kept_by_runner,
		.kept_young = (int)x->runs.kept_young,
		.suspended = (int)x->sessions.suspended,
		.left = (int)x->sessions.left,
		.linked = (int)x->tree.linked,
		.ended = (int)x->tree.ended,
		.made_roots = (int)x->tree.made_roots,
		.undelivered = (int)x->messages.pending,
		.answers = (int)x->messages.answers_pending,
		.waiting = (int)x->messages.waiting,
		.flagged = (int)x->messages.flagged,
		.asked = (int)x->messages.asked,
		.replayed = (int)x->messages.replayed,
		.back = (int)x->back.n };
}

static int
act_startup(struct store *s, const struct sim_act *a, int back[SIM_AGENTS + 1], struct err *e)
{
	const struct run_recovery how = {
		.mode = (enum run_mode)a->how, .threshold_ms = a->threshold_ms, .claimed_fails = a->fails != 0
	};
	struct startup out;
	int ret;

	world.config = sim_config;
	world.store = s;
	world.state_dir = (char *)(uintptr_t)"/nonexistent";
	settings = a;
	ret = startup_run(&world, &how, &out, e);
	count(&out);
	memset(back, 0, sizeof *back * (SIM_AGENTS + 1));
	for (size_t i = 0; i < out.back.n && ret == 0 && i < SIM_AGENTS; i++)
		back[i] = (int)strtol(out.back.v[i].agent_uuid + 1, NULL, 10);
	startup_release(&out);
	return ret;
}

const char *
sim_act(struct store *s, const struct sim_act *a, int back[SIM_AGENTS + 1], struct err *e)
{
	int ret;

	err_clear(e);
	if (a->verb <= SIM_END)
		ret = act_session(s, a, e);
	else if (a->verb <= SIM_REPLY)
		ret = act_message(s, a, e);
	else
		ret = a->verb == SIM_STARTUP ? act_startup(s, a, back, e) : act_run(s, a, e);
	return ret >= 0 ? NULL : e->name;
}
