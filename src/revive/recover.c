#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/recover.h"
#include "revive/deliver.h"
#include "revive/detect.h"
#include "revive/kept.h"
#include "revive/plan.h"
#include "revive/respawn.h"
#include "revive/tidy.h"
#include "revive/verify.h"
#include "revive/world.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "town/config.h"

/* How long an agent must sit idle without our prompt before we believe that its start command ate it. */
#define EATEN_MS 8000
/* How long an agent that keeps no record is watched after the prompt was taken. */
#define NO_RECORD_MS 10000
#define LOOK_MS 200
/* How long a shell must stand idle where the agent should be. */
#define SHELL_BACK_MS 3000

static void
tell(struct recovery *r, enum told what)
{
	if (r->tell != NULL)
		r->tell(r, what, r->arg);
}

/* Else the agent is started plainly and the prompt is pasted when it waits. */
static bool
by_stdin(const struct candidate *c)
{
	return profile_delivers(c->profile, DELIVER_STDIN) && launch_can_feed(&c->launch);
}

/* Step 1: this pane and this conversation are ours alone. The kernel gives the locks back when we die. */
static int
step_lock(struct recovery *r, struct err *e)
{
	const struct pane *p = &r->c->pane;
	bool talk = r->c->note.session_id != NULL && strchr(r->c->note.session_id, '/') == NULL;
	char *name = talk ? xasprintf("transcript-%s.lock", r->c->note.session_id) : NULL;
	int ret = 0;

	for (int i = 0; i < 1 + talk && ret == 0; i++) {
		r->locks[i].path = i == 0 ? world_pane_lock(r->w, p->server_pid, p->server_start, p->id, e) :
		    world_path(r->w, "locks", name, true, e);
		r->locks[i].fd = r->locks[i].path != NULL ? io_lock(r->locks[i].path, 0, e) : -1;
		ret = r->locks[i].fd < 0 ? -1 : 0;
	}
	free(name);
	if (ret != 0 && strcmp(e->name, "locked") == 0) {
		err_set(e, GT_AGAIN, "locked", "another gt-recover is at work on this session");
		err_hint(e, "wait for it; it ends by itself within the timeouts of gt.toml");
	}
	if (ret == 0)
		r->store = world_store(r->w, true, e);
	return r->store != NULL ? ret : -1;
}

/* The option that was set on a zombie's pane; before the commit that ends the attempt, so that no crash of ours forgets it. */
static void
take_back(struct recovery *r, struct attempt *a)
{
	if (a->remain_on_exit != NULL && respawn_settle(world_server(r->w, r->c->pane.socket), &r->c->pane, a->remain_on_exit, NULL) == 0)
		attempt_set(&a->remain_on_exit, NULL);
}

/* The agent that an attempt started is dead again: had it taken the prompt? Then the attempt had succeeded. */
static int
close_attempt(struct recovery *r, struct attempt *a, const char *why, struct err *e)
{
	enum ack ack = ACK_NONE;
	char *path = NULL;
	int ret;

	if (r->c->config_dir != NULL)
		transcript_search(r->c->config_dir, r->c->cwd, a->id, a->times[PHASE_RESPAWNED], &ack, &path);
	if (ack == ACK_ANSWERED) {
		attempt_set(&a->proof, "transcript");
		attempt_set(&a->transcript, path);
		ret = attempt_advance(r->store, a, PHASE_ACKNOWLEDGED, e);
	} else {
		ret = attempt_fail(r->store, a, why, e);
	}
	free(path);
	return ret;
}

/* Step 2: what an earlier recoverer left. Look first, never deliver twice. */
static int
step_look_back(struct recovery *r, struct err *e)
{
	const struct pane *p = &r->c->pane;
	struct attempt a;
	int found = attempt_latest(r->store, p->socket_path, p->server_pid, p->server_start, p->id, &a, e), ret = 0;

	if (found < 0)
		return -1;
	if (found == 0)
		return 0;
	if (phase_final(a.phase)) {
		;
	} else if (r->c->class > CLASS_ZOMBIE && a.phase >= PHASE_RESPAWNED && respawn_was_by(p, a.id)) {
		/* unknown: it may be on its way up */
		r->taken_up = true;
	} else if (r->c->class == CLASS_LIVE) {
		take_back(r, &a);
		ret = attempt_fail(r->store, &a, "somebody else started the agent", e);
	} else if (r->c->class == CLASS_UNKNOWN) {
		;
	} else if (a.pane_pid == p->pid) {
		/* nothing was started yet: the same attempt goes on, under the same id */
		r->begun = a.phase >= PHASE_RESPAWNED;
		attempt_release(&r->attempt);
		r->attempt = a;
		return 0;
	} else {
		ret = close_attempt(r, &a, "the agent died again before it took the prompt up", e);
	}
	if (r->taken_up) {
		attempt_release(&r->attempt);
		r->attempt = a;
		return 0;
	}
	/* its agent died with the option still set: it is ours to take back now */
	attempt_set(&r->attempt.remain_on_exit, a.remain_on_exit);
	attempt_release(&a);
	return ret;
}

static int
refuse(const struct refusal *no, struct err *e)
{
	err_set(e, GT_REFUSED, no->name, "refused: %s", no->sentence);
	return err_hint(e, "%s", no->hint);
}

/* Step 3: the guards that need nothing gathered, then one more look at the pane under the lock. */
static int
step_guard(struct recovery *r, struct err *e)
{
	struct refusal no = plan_refusal(r->w, r->c, NULL, r->named, r->include_infra);

	if (r->taken_up)
		return 0;
	if (no.name != NULL)
		return refuse(&no, e);
	return detect_again(r->w, r->c, e);
}

static void
fill(struct recovery *r)
{
	const struct candidate *c = r->c;
	struct attempt *a = &r->attempt;

	attempt_set(&a->session, c->pane.session);
	attempt_set(&a->socket, c->pane.socket_path);
	attempt_set(&a->pane_id, c->pane.id);
	attempt_set(&a->agent, c->profile->name);
	attempt_set(&a->class, class_name(c->class));
	attempt_set(&a->reason, reason_name(c->reason));
	attempt_set(&a->cwd, c->cwd);
	attempt_set(&a->via, "inject");
	attempt_set(&a->delivery, by_stdin(c) ? "stdin" : "paste");
	attempt_set(&a->previous, r->gathered.earlier.id);
	attempt_set(&a->source, r->gathered.found.path);
	a->server_pid = c->pane.server_pid;
	a->server_start = c->pane.server_start;
	a->pane_pid = c->pane.pid;
	a->pane_dead_time = c->pane.dead_time;
	a->crashed_at = c->crashed_at;
	a->lines = (int64_t)r->gathered.capture.rows;
	a->tokens = (int64_t)r->gathered.stats.tokens;
}

/* Step 4: read everything; nothing is changed. */
static int
step_gather(struct recovery *r, struct err *e)
{
	struct refusal no;

	if (gather(r->w, r->c, r->scope, &r->gathered, e) != 0)
		return -1;
	no = plan_refusal(r->w, r->c, &r->gathered.bead, r->named, r->include_infra);
	if (no.name != NULL)
		return refuse(&no, e);
	return gather_prompt(r->w, r->c, r->attempt.id, &r->gathered, e);
}

/* What respawn_pane will overwrite. */
static int
note_option(struct recovery *r, struct err *e)
{
	const struct pane *p = &r->c->pane;

	if (r->c->class != CLASS_ZOMBIE || r->attempt.remain_on_exit != NULL || strcmp(p->remain_on_exit, "on") == 0)
		return 0;
	r->attempt.remain_on_exit = respawn_remains(world_server(r->w, p->socket), p, e);
	return r->attempt.remain_on_exit != NULL ? 0 : -1;
}

/* Step 5: on disk, before anything that can wipe the screen. */
static int
step_keep(struct recovery *r, struct err *e)
{
	fill(r);
	if (note_option(r, e) != 0)
		return -1;
	if (r->attempt.version == 0 && attempt_begin(r->store, &r->attempt, e) != 0)
		return -1;
	if (kept_write(r->w, r->c->pane.session, r->attempt.id, &r->gathered, e) != 0)
		return -1;
	if (r->attempt.phase < PHASE_CAPTURED && attempt_advance(r->store, &r->attempt, PHASE_CAPTURED, e) != 0)
		return -1;
	tell(r, TOLD_CAPTURED);
	return 0;
}

/* tmux got the command and did not answer: the agent may start yet, and must find its prompt then. The next run looks. */
static bool
outcome_unknown(const struct err *e)
{
	return strcmp(e->name, "server-silent") == 0;
}

/* Step 6: the agent's own command again, with the prompt as its standard input. */
static int
step_respawn(struct recovery *r, struct err *e)
{
	const struct candidate *c = r->c;
	bool zombie = c->class == CLASS_ZOMBIE;
	char *name = xasprintf("%s.txt", r->attempt.id);
	size_t left_out;
	char *command = launch_without(&c->launch, c->profile->session_flags, &left_out);
	char *fed = by_stdin(c) ? launch_fed(&c->launch, c->profile->session_flags) : NULL;
	struct respawn how = { .launch = &c->launch, .command = command, .fed = fed, .zombie = zombie, .cwd = zombie ? c->cwd : NULL };
	int ret = -1;

	tell(r, TOLD_STARTING);
	r->prompt_path = world_path(r->w, "prompts", name, true, e);
	how.prompt_path = r->prompt_path;
	if (r->prompt_path == NULL)
		goto out;
	if (fed != NULL && io_write_durable(r->prompt_path, r->gathered.prompt.data, r->gathered.prompt.len, "prompt", e) != 0)
		goto out;
	if (attempt_advance(r->store, &r->attempt, PHASE_RESPAWNED, e) == 0 && detect_again(r->w, c, e) == 0)
		ret = respawn_pane(world_server(r->w, c->pane.socket), &c->pane, &how, e);
	if (ret != 0 && !outcome_unknown(e))
		unlink(r->prompt_path);
out:
	explicit_bzero(command, strlen(command));
	if (fed != NULL)
		explicit_bzero(fed, strlen(fed));
	free(command);
	free(fed);
	free(name);
	return ret;
}

/* What the waiting loop remembers between looks. */
struct wait {
	int64_t begun, told;		/* monotonic ms */
	int64_t idle_since;		/* 0: not idle at the last look */
	int64_t up_since;		/* 0: not ready or busy yet */
	int64_t shell_since;		/* 0: no idle shell stands in the agent's place */
};

static int
stopped_by_person(struct err *e)
{
	err_set(e, GT_AGAIN, "interrupted", "stopped by you while the agent was being waited for");
	return err_hint(e, "nothing is lost: run gt-recover for this session again, it looks first and delivers nothing twice");
}

static int
agent_died(struct recovery *r, const struct look *l, struct err *e)
{
	err_set(e, GT_FAIL, "died", "%s died again right after its start (%s %d)", r->c->profile->label,
	    l->signal > 0 ? "signal" : "status", l->signal > 0 ? l->signal : l->status);
	close_attempt(r, &r->attempt, e->msg, NULL);
	if (r->attempt.phase == PHASE_ACKNOWLEDGED)
		err_set(e, GT_FAIL, "died", "%s took its context up, answered and died again", r->c->profile->label);
	return err_hint(e, "its context is kept and will be part of the next recovery; look at the pane for the reason");
}

/* A zombie's shell comes back when the agent's command ends, here at once. */
static int
agent_ended(struct recovery *r, struct err *e)
{
	err_set(e, GT_FAIL, "died", "the command that starts %s ended at once, and the shell is back", r->c->profile->label);
	take_back(r, &r->attempt);
	attempt_fail(r->store, &r->attempt, e->msg, NULL);
	return err_hint(e, "look at the pane for the reason; the command is that of [recovery.agents.%s] or of the pane",
	    r->c->profile->name);
}

static int
not_logged_in(const struct recovery *r, struct err *e)
{
	err_set(e, GT_UNACKED, "login", "%s is up, but not logged in", r->c->profile->label);
	return err_hint(e, "mend the login, then tell it to go on, or end it and run gt-recover for this session again");
}

static int
timed_out(struct recovery *r, const struct look *l, struct err *e)
{
	const char *who = r->c->profile->label;

	if (l->login)
		return not_logged_in(r, e);
	if (l->state == STATE_DIALOG) {
		err_set(e, GT_UNACKED, "dialog", "%s shows a dialog that must be answered first", who);
		return err_hint(e, "attach and answer it; then run gt-recover for this session again");
	}
	if (l->state == STATE_DRAFT) {
		err_set(e, GT_UNACKED, "draft", "somebody's text stands in the input box of %s", who);
		return err_hint(e, "send it or clear it; then run gt-recover for this session again");
	}
	if (l->state == STATE_STARTING) {
		err_set(e, GT_FAIL, "not-ready", "%s did not get ready in time", who);
		return err_hint(e, "look at the pane; ready_timeout in gt.toml sets how long is waited");
	}
	err_set(e, GT_UNACKED, "unacknowledged", "%s has not taken the prompt up in time", who);
	if (l->state == STATE_IDLE && r->attempt.pasted && l->ack == ACK_NONE)
		return err_hint(e, "a paste was begun, and whether it arrived cannot be told: look, and if the agent knows nothing, "
		    "run gt-recover release for this session, end the agent and recover it again");
	return err_hint(e, "run gt-recover for this session again: it looks first and delivers nothing twice");
}

static int
acknowledged(struct recovery *r, const struct look *l, const char *proof, struct err *e)
{
	attempt_set(&r->attempt.proof, proof);
	attempt_set(&r->attempt.transcript, l->transcript);
	r->attempt.new_pid = l->agent;
	take_back(r, &r->attempt);
	if (attempt_advance(r->store, &r->attempt, PHASE_ACKNOWLEDGED, e) != 0)
		return -1;
	tell(r, TOLD_RESUMING);
	return 0;
}

static int
delivered(struct recovery *r, const struct look *l, struct err *e)
{
	if (r->injected)
		return 0;
	r->injected = true;
	r->attempt.new_pid = l->agent;
	if (r->attempt.phase < PHASE_DELIVERED && attempt_advance(r->store, &r->attempt, PHASE_DELIVERED, e) != 0)
		return -1;
	tell(r, TOLD_INJECTED);
	return 0;
}

static bool
prompt_consumed(const struct recovery *r)
{
	return r->prompt_path == NULL || access(r->prompt_path, F_OK) != 0;
}

/*
 * The agent sits there, idle, and its record does not know our prompt. Where there is no record nothing tells a prompt that was eaten from
 * one that was taken and answered: then rather not told than told twice.
 */
static bool
must_paste(const struct recovery *r, const struct look *l, const struct wait *t, int64_t now)
{
	bool first = strcmp(r->attempt.delivery, "paste") == 0;
	bool eaten = !l->id_on_screen && strcmp(r->c->profile->transcript, "none") != 0;

	return l->state == STATE_IDLE && l->ack == ACK_NONE && !r->attempt.pasted && t->idle_since != 0 && prompt_consumed(r) &&
	    now - t->idle_since >= (first ? LOOK_MS : EATEN_MS) && (first || eaten) &&
	    profile_delivers(r->c->profile, DELIVER_PASTE);
}

static int
note_paste(struct recovery *r, bool pasted, const char *delivery, struct err *e)
{
	r->attempt.pasted = pasted;
	attempt_set(&r->attempt.delivery, delivery);
	return attempt_advance(r->store, &r->attempt, r->attempt.phase, e);
}

/* 0: pasted, or nothing was typed and the wait goes on. */
static int
paste(struct recovery *r, struct wait *t, struct err *e)
{
	struct buf prompt = BUF_INIT;
	char *before = xstrdup(r->attempt.delivery);
	int ret = -1, found = kept_read(r->w, r->attempt.id, NULL, &prompt, e);

	if (found == 0)
		err_set(e, GT_FAIL, "context-lost", "the kept context of %s is gone", r->attempt.id);
	/* committed first: after this the prompt may have arrived, and nobody may paste again */
	if (found != 1 || note_paste(r, true, "paste", e) != 0)
		goto out;
	tell(r, TOLD_PASTING);
	ret = deliver_paste(world_server(r->w, r->c->pane.socket), &r->c->pane, r->c->profile, r->attempt.id, prompt.data, e);
	if (ret != 0 && strcmp(e->name, "not-ready") == 0) {
		err_clear(e);
		t->idle_since = 0;
		ret = note_paste(r, false, before, e);
	}
out:
	buf_wipe(&prompt);
	free(before);
	return ret;
}

/* An agent that keeps no record: the id on its screen, followed by work, is the most there can be. */
static int
judge_without_record(struct recovery *r, const struct look *l, const struct wait *t, int64_t now, bool *done, struct err *e)
{
	bool handed = prompt_consumed(r) && (strcmp(r->attempt.delivery, "stdin") == 0 || r->attempt.pasted);

	*done = false;
	if (!handed || l->agent == 0)
		return 0;
	if (l->id_on_screen && delivered(r, l, e) != 0)
		return -1;
	if (r->injected && l->state == STATE_BUSY) {
		*done = true;
		return acknowledged(r, l, "screen", e);
	}
	if (t->up_since == 0 || now - t->up_since < NO_RECORD_MS)
		return 0;
	if (r->attempt.phase < PHASE_DELIVERED && attempt_advance(r->store, &r->attempt, PHASE_DELIVERED, e) != 0)
		return -1;
	err_set(e, GT_UNACKED, "no-proof", "the prompt was handed to %s, which keeps no record that could prove that it was taken up",
	    r->c->profile->label);
	return err_hint(e, "attach and look");
}

/* One round. 1 done, 0 wait on, -1 err. */
static int
judge_look(struct recovery *r, const struct look *l, struct wait *t, struct err *e)
{
	int64_t now = clock_mono_ms();
	bool up = l->state == STATE_IDLE || l->state == STATE_BUSY || l->state == STATE_DRAFT, done = false;

	if (l->state == STATE_GONE)
		return err_set(e, GT_FAIL, "gone", "pane %s or its tmux server vanished while the agent was started", r->c->pane.id);
	if (l->state == STATE_DIED)
		return agent_died(r, l, e);
	if (l->agent != 0 && !r->started) {
		r->started = true;
		tell(r, TOLD_STARTED);
	}
	t->up_since = !up ? 0 : t->up_since != 0 ? t->up_since : now;
	t->shell_since = !l->shell_back ? 0 : t->shell_since != 0 ? t->shell_since : now;
	if (t->shell_since != 0 && now - t->shell_since >= SHELL_BACK_MS)
		return agent_ended(r, e);
	t->idle_since = l->state != STATE_IDLE ? 0 : t->idle_since != 0 ? t->idle_since : now;
	if (l->ack != ACK_NONE && delivered(r, l, e) != 0)
		return -1;
	if (l->ack == ACK_ANSWERED)
		return acknowledged(r, l, "transcript", e) != 0 ? -1 : 1;
	if (l->ack == ACK_REFUSED && l->login)
		return not_logged_in(r, e);
	if (l->ack == ACK_REFUSED) {
		err_set(e, GT_UNACKED, "model-error", "%s took the prompt, but its model answered with an error", r->c->profile->label);
		return err_hint(e, "a usage limit, the login or the network; attach and look");
	}
	if (must_paste(r, l, t, now))
		return paste(r, t, e);
	if (strcmp(r->c->profile->transcript, "none") == 0 && judge_without_record(r, l, t, now, &done, e) != 0)
		return -1;
	return done;
}

static const char *
what_for(const struct recovery *r, const struct look *l)
{
	if (l->state == STATE_DIALOG)
		return "a dialog in the pane to be answered";
	if (l->state == STATE_DRAFT)
		return "somebody's text in the input box to be sent";
	if (l->agent == 0)
		return "the agent to start";
	return r->injected ? "the agent to answer" : "the agent to take the prompt";
}

/* Step 7: until the new agent's own record shows our id and an answer after it. */
static int
step_verify(struct recovery *r, struct err *e)
{
	int64_t ready_ms = config_ms(r->w->config, "ready_timeout"), ack_ms = config_ms(r->w->config, "ack_timeout");
	struct wait t = { .begun = clock_mono_ms() };
	int done = 0;

	while (done == 0) {
		struct look l;
		int64_t now;

		if (verify_look(r->w, &r->c->pane, r->c->profile, r->attempt.id, r->attempt.times[PHASE_RESPAWNED] - 2000, &l, e) != 0)
			return -1;
		done = judge_look(r, &l, &t, e);
		now = clock_mono_ms();
		if (done == 0 && *r->w->stop != 0)
			done = stopped_by_person(e);
		if (done == 0 && now - t.begun > (t.up_since == 0 && !r->injected ? ready_ms : ready_ms + ack_ms))
			done = timed_out(r, &l, e);
		if (done == 0 && t.up_since != 0 && now - t.up_since > ack_ms)
			done = timed_out(r, &l, e);
		if (done == 0 && now - t.begun >= 1000) {
			r->waiting_for = what_for(r, &l);
			r->waited_ms = now - t.begun;
			tell(r, TOLD_WAITING);
		}
		look_release(&l);
		if (done == 0)
			clock_sleep_ms(LOOK_MS);
	}
	return done < 0 ? -1 : 0;
}

/* Step 8: what nobody needs any more. */
static int
step_settle(struct recovery *r, struct err *e)
{
	(void)e;
	tidy(r->w);
	return 0;
}

/*
 * The whole way. `fresh` steps are left out when an earlier recoverer had already started the agent; from `kept` on a failure is
 * written into the attempt.
 */
static const struct step {
	const char *name;
	int (*run)(struct recovery *r, struct err *e);
	bool fresh;
} steps[] = {
	{ "lock", step_lock, false },
	{ "look back", step_look_back, false },
	{ "guard", step_guard, false },
	{ "gather", step_gather, true },
	{ "keep", step_keep, true },
	{ "respawn", step_respawn, true },
	{ "verify", step_verify, false },
	{ "settle", step_settle, false },
};

/* A failure that the next run cannot do better by looking first ends the attempt. */
static void
close_after(struct recovery *r, const struct step *s, const struct err *e)
{
	bool before = s->run != step_verify && s->run != step_settle && !r->taken_up;
	bool moved = strcmp(e->name, "changed") == 0 || strcmp(e->name, "taken") == 0;

	if (r->attempt.version == 0 || phase_final(r->attempt.phase))
		return;
	/* what moved may be what the earlier recoverer had started, late */
	if ((before && !outcome_unknown(e) && !(r->begun && moved)) || strcmp(e->name, "gone") == 0) {
		take_back(r, &r->attempt);
		attempt_fail(r->store, &r->attempt, e->msg, NULL);
	}
}

int
recover(struct recovery *r, struct err *e)
{
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		if (steps[i].fresh && r->taken_up)
			continue;
		if (*r->w->stop != 0 && steps[i].run != step_verify && steps[i].run != step_settle)
			stopped_by_person(e);
		else if (steps[i].run(r, e) == 0)
			continue;
		close_after(r, &steps[i], e);
		return -1;
	}
	return 0;
}

static bool
is_pending(struct store *store, const struct candidate *c)
{
	struct err ignored = ERR_INIT;
	struct attempt a;
	bool pending;

	if (c->class == CLASS_DEAD || c->class == CLASS_ZOMBIE || !c->launch.wrapped)
		return false;
	if (attempt_latest(store, c->pane.socket_path, c->pane.server_pid, c->pane.server_start, c->pane.id, &a, &ignored) != 1)
		return false;
	pending = !phase_final(a.phase) && a.phase >= PHASE_RESPAWNED && respawn_was_by(&c->pane, a.id);
	attempt_release(&a);
	return pending;
}

void
recover_pending(struct world *w, const struct candidates *all, bool *pending)
{
	struct err ignored = ERR_INIT;
	struct store *store = world_store(w, false, &ignored);

	for (size_t i = 0; i < all->n; i++)
		pending[i] = store != NULL && is_pending(store, &all->v[i]);
}

void
recovery_init(struct recovery *r, struct world *w, const struct candidate *c)
{
	memset(r, 0, sizeof *r);
	r->w = w;
	r->c = c;
	r->locks[0].fd = r->locks[1].fd = -1;
	attempt_init(&r->attempt);
	buf_init(&r->gathered.prompt);
}

void
recovery_release(struct recovery *r)
{
	attempt_release(&r->attempt);
	gathered_release(&r->gathered);
	free(r->prompt_path);
	for (int i = 0; i < 2; i++) {
		io_unlock(r->locks[i].path, r->locks[i].fd);
		free(r->locks[i].path);
	}
}
