/* What is there against what must be. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "records/records.h"
#include "records/agents/agents.h"
#include "store/store.h"

static const struct part { const char *name; size_t at, size, n; } parts[] = {
	{ "agent", offsetof(struct sim_model, agent), sizeof(struct sim_agent), SIM_AGENTS + 1 },
	{ "message", offsetof(struct sim_model, message), sizeof(struct sim_message), SIM_NAMES + 1 },
	{ "run", offsetof(struct sim_model, run), sizeof(struct sim_run), SIM_RUNS + 1 },
	{ "run session", offsetof(struct sim_model, place), sizeof(struct sim_place), SIM_PLACES + 1 },
	{ "runner", offsetof(struct sim_model, runner), sizeof(struct sim_runner), SIM_RUNNERS + 1 },
};
enum { AGENT, MESSAGE, RUN, PLACE, RUNNER, PARTS };

static const int *
one(const struct sim_model *m, const struct part *p, size_t i)
{
	return (const int *)(const void *)((const char *)m + p->at + i * p->size);
}

static bool
same_one(const struct sim_model *a, const struct sim_model *b, int part, size_t i)
{
	return memcmp(one(a, &parts[part], i), one(b, &parts[part], i), parts[part].size) == 0;
}

static bool
same_part(const struct sim_model *a, const struct sim_model *b, int part)
{
	return memcmp(one(a, &parts[part], 0), one(b, &parts[part], 0), parts[part].size * parts[part].n) ==
	    0;
}

static bool
same(const struct sim_model *a, const struct sim_model *b)
{
	bool same = a->events == b->events && a->hash == b->hash;

	for (int k = 0; k < PARTS && same; k++)
		same = same_part(a, b, k);
	return same;
}

/* The first difference, in the order of the struct's fields. Heap. */
static char *
difference(const struct sim_model *there, const struct sim_model *must)
{
	struct buf b = BUF_INIT;

	for (int k = 0; k < PARTS; k++)
		for (size_t i = 1; i < parts[k].n; i++) {
			const int *x = one(there, &parts[k], i), *y = one(must, &parts[k], i);

			if (same_one(there, must, k, i))
				continue;
			buf_fmt(&b, "%s %zu%s%s is", parts[k].name, i, k == MESSAGE ? " " : "",
			    k == MESSAGE ? sim->name[i] : "");
			for (size_t j = 0; j < parts[k].size / sizeof *x; j++)
				buf_fmt(&b, " %d", x[j]);
			buf_str(&b, ", must be");
			for (size_t j = 0; j < parts[k].size / sizeof *y; j++)
				buf_fmt(&b, " %d", y[j]);
			return buf_detach(&b);
		}
	buf_fmt(&b, "%d events, must be %d", there->events, must->events);
	buf_str(&b, there->events == must->events ? ", other ones" : "");
	return buf_detach(&b);
}

/* ---- after a crash ---- */

/* How many of a part's things are in the later stage already; -1: one is in neither. */
static int
moved(const struct sim_model *there, const struct sim_model *from, const struct sim_model *to, int part)
{
	int n = 0;

	for (size_t i = 0; i < parts[part].n; i++) {
		bool old = same_one(there, from, part, i), new = same_one(there, to, part, i);

		if (!old && !new)
			return -1;
		n += new && !old;
	}
	return n;
}

/* A message and the request about it are of one commit. */
static int
requests(const struct sim_model *there, const struct sim_model *from)
{
	int n = 0;

	for (size_t i = 1; i <= SIM_NAMES; i++)
		n += there->message[i].body == SIM_REQUEST && from->message[i].state == 0;
	return n;
}

/* Is it a startup that was cut off, between these two stages? */
static bool
between(const struct sim_model *there, const struct sim_model *from, const struct sim_model *to, int part)
{
	int n = 0;

	for (int k = 0; k < PARTS; k++) {
		int here = moved(there, from, to, k);

		if (here < 0 || (here > 0 && k != part))
			return false;
		n += here;
	}
	if (part == MESSAGE) {
		int asked = requests(there, from);

		for (size_t i = 1; i <= SIM_NAMES; i++)
			asked -= there->message[i].asked && !from->message[i].asked;
		if (asked != 0)
			return false;
		n -= requests(there, from);
	}
	return there->events == from->events + n;
}

static bool
is_startup_cut_off(const struct sim_model *there)
{
	const struct sim_model *stage = sim->stage;

	for (int k = 0; k < SIM_TREE_SETTLED; k++)
		if (same(there, &stage[k]))
			return true;
	return between(there, &stage[SIM_SESSIONS_SETTLED], &stage[SIM_TREE_SETTLED], AGENT) ||
	    between(there, &stage[SIM_TREE_SETTLED], &stage[SIM_MESSAGES_SETTLED], MESSAGE);
}

/* Whatever the world was told of must be in the store. */
static void
effects(const struct sim_model *m)
{
	for (int i = 1; i <= SIM_AGENTS; i++)
		if (sim->told[i] && m->agent[i].state == 0)
			sim_judge(SIM_EFFECT,
			    "the agent %s was sent something, and no session of it is recorded",
			    sim_id("a", i));
	for (int i = 1; i <= sim->n_names; i++) {
		const struct sim_message *x = &m->message[i];
		/* one that was to be delivered again may be answered before that */
		int least = x->state == 1 + MESSAGE_ANSWERED ? 1 : 1 + x->replays;

		if (sim->got[i] > 0 && x->state == 0)
			sim_judge(
			    SIM_EFFECT, "an agent got the message %s, which is not in the log", sim->name[i]);
		if (x->state > 1 + MESSAGE_PENDING && sim->got[i] < least)
			sim_judge(SIM_EFFECT,
			    "the message %s counts as delivered, and its agent got it %d times of %d",
			    sim->name[i], sim->got[i], least);
	}
}

static void
check_rules(struct store *s)
{
	struct err e = ERR_INIT;
	struct record_check rules;

	if (record_check(s, &rules, &e) != 0)
		sim_judge(SIM_INVARIANT, "the rules cannot be checked: %s", e.msg);
	if (rules.n_faults > 0)
		sim_judge(SIM_INVARIANT, "%s", rules.faults[0]);
	record_check_release(&rules);
}

void
sim_verify(struct store *s)
{
	struct sim_model there;

	int gone = 0;

	sim_read(s, &there);
	check_rules(s);
	if (sim->under_way && sim->act.verb == SIM_SWEEP && sim_is_swept(&there, &sim->now, &gone)) {
		sim_take_swept(&there);
		sim->swept_in_part += gone > 0;
		sim->came += gone > 0;
	}
	effects(&there);
	if (!same(&there, &sim->now)) {
		bool fine = sim->under_way &&
		    (sim->is_startup ? is_startup_cut_off(&there) : same(&there, &sim->next));

		if (!fine)
			sim_judge(there.events < sim->now.events ? SIM_LOST : SIM_HALF,
			    "after the crash in %s%s: %s", sim->under_way ? "" : "nothing, after ",
			    sim_verb_names[sim->act.verb], difference(&there, &sim->now));
		sim->came++;
		sim->now = there;
	}
	sim->unsettled += sim->under_way;
	sim->under_way = false;
}

void
sim_compare(struct store *s, const char *when)
{
	struct sim_model there;

	sim_read(s, &there);
	if (!same(&there, &sim->now))
		sim_judge(SIM_HALF, "%s: %s", when, difference(&there, &sim->now));
}

/* ---- after startup ---- */

void
sim_invariants(struct store *s)
{
	struct sim_model there;

	check_rules(s);
	sim_read(s, &there);
	for (int i = 1; i <= SIM_AGENTS; i++) {
		const struct sim_agent *x = &there.agent[i];
		bool open = x->state == 1 + SESSION_ACTIVE || x->state == 1 + SESSION_SUSPENDED;

		if (x->state == 1 + SESSION_ACTIVE && !sim_lives(x))
			sim_judge(SIM_INVARIANT, "the session %s is ACTIVE, and no process of it runs",
			    sim_id("a", i));
		if (open != (x->link == 1) ||
		    (x->link == 1 && x->above != 0 && there.agent[x->above].link != 1))
			sim_judge(SIM_INVARIANT, "the agent %s is an orphan", sim_id("a", i));
	}
	for (int i = 1; i <= sim->n_names; i++)
		if (sim->now.message[i].state != 0 && there.message[i].state == 0)
			sim_judge(SIM_INVARIANT, "the message %s was acknowledged, and is in the log no more",
			    sim->name[i]);
	effects(&there);
	if (there.events < sim->now.events)
		sim_judge(SIM_INVARIANT, "startup took events away");
	/* which of several messages came first is not what the oracle tells */
	if (same_part(&there, &sim->stage[SIM_MESSAGES_SETTLED], MESSAGE) &&
	    there.events == sim->stage[SIM_MESSAGES_SETTLED].events)
		sim->stage[SIM_MESSAGES_SETTLED].hash = there.hash;
	sim->now = sim->stage[SIM_MESSAGES_SETTLED];
	if (!same(&there, &sim->now))
		sim_judge(SIM_HALF, "after startup: %s", difference(&there, &sim->now));
}

/* ---- the event log ---- */

static unsigned
hash_of(const char *p, size_t n)
{
	unsigned h = 2166136261U;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 16777619U;
	return h;
}

static void
read_log(const char *path, struct buf *out)
{
	struct err e = ERR_INIT;

	if (access(path, F_OK) == 0 && io_read_file(path, 16 << 20, out, &e) != 0)
		sim_judge(SIM_LOG, "%s", e.msg);
}

void
sim_note_log(const char *path)
{
	struct buf b = BUF_INIT;

	read_log(path, &b);
	sim->log_bytes = b.len;
	sim->log_hash = hash_of(b.data, b.len);
	sim->log_whole = true;
	buf_release(&b);
}

void
sim_verify_log(struct store *s, const char *path)
{
	struct buf b = BUF_INIT, after = BUF_INIT;
	struct err e = ERR_INIT;
	struct event_log_state log = { 0 };
	bool whole = sim->log_whole;

	read_log(path, &b);
	if (b.len < sim->log_bytes ||
	    (sim->log_bytes > 0 && hash_of(b.data, sim->log_bytes) != sim->log_hash))
		sim_judge(SIM_LOG,
		    "the event log does not begin with the %zu bytes that were exported before",
		    sim->log_bytes);
	if (event_export(s, path, NULL, &e) != 0) {
		if (sim_disk_fails())
			sim_die();
		sim_judge(SIM_LOG, "%s", e.msg);
	}
	sim_note_log(path);
	read_log(path, &after);
	if (whole && (b.len > after.len || memcmp(b.data, after.data, b.len) != 0))
		sim_judge(
		    SIM_LOG, "what a killed process had written of the event log is no beginning of it");
	buf_release(&b);
	buf_release(&after);
	if (event_check(s, path, &log, &e) != 0)
		sim_judge(SIM_LOG, "%s", e.msg);
	if ((int)log.lines != sim->now.events)
		sim_judge(SIM_LOG, "the event log has %zu lines of %d", log.lines, sim->now.events);
}
