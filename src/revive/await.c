#include <string.h>
#include <unistd.h>

#include "revive/await.h"
#include "revive/deliver.h"
#include "revive/detect.h"
#include "revive/ending.h"
#include "revive/kept.h"
#include "revive/recover.h"
#include "revive/respawn.h"
#include "revive/verify.h"
#include "revive/world.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "town/config.h"

/* How long an agent must sit idle without our prompt before we believe that its start command ate it. */
#define EATEN_MS 8000
/* How long an agent that keeps no record is watched after the prompt was taken. */
#define NO_RECORD_MS 10000
#define LOOK_MS 200
/* Between two tries to send off what stands in the box. */
#define AGAIN_MS 1000
/* How long a shell must stand idle where the agent should be. */
#define SHELL_BACK_MS 3000

void
recovery_tell(struct recovery *r, enum told what)
{
	if (r->tell != NULL)
		r->tell(r, what, r->arg);
}

void
recovery_take_back(struct recovery *r, struct attempt *a)
{
	if (a->remain_on_exit != NULL && respawn_settle(world_server(r->w, r->pane->socket), r->pane, a->remain_on_exit, NULL) == 0)
		attempt_set(&a->remain_on_exit, NULL);
}

/* What the waiting loop remembers between looks. */
struct wait {
	int64_t begun, told;		/* monotonic ms */
	int64_t idle_since;		/* 0: not idle at the last look */
	int64_t up_since;		/* 0: not ready or busy yet */
	int64_t shell_since;		/* 0: no idle shell stands in the agent's place */
	int64_t retry_at;		/* no paste before */
	int64_t blocked_since;		/* 0: neither text nor a dialog kept the prompt out at the last look */
};

int
await_stopped(struct err *e)
{
	err_set(e, GT_AGAIN, "interrupted", "stopped by you while the agent was being waited for");
	return err_hint(e, "nothing is lost: run gt-recover for this session again, it looks first and delivers nothing twice");
}

static int
agent_died(struct recovery *r, const struct look *l, struct err *e)
{
	err_set(e, GT_FAIL, "died", "%s died again right after its start (%s %d)", r->c->profile->label,
	    l->signal > 0 ? "signal" : "status", l->signal > 0 ? l->signal : l->status);
	r->attempt.stood_dead = true;
	ending_judged(r->w, &r->attempt, r->c->config_dir, e->msg, NULL);
	if (r->attempt.phase == PHASE_ACKNOWLEDGED)
		err_set(e, GT_FAIL, "died", "%s took its context up, answered and died again", r->c->profile->label);
	else if (r->attempt.via != NULL && strcmp(r->attempt.via, "resume") == 0)
		return err_hint(e, "look at the pane for the reason; the next recovery of this session starts it afresh, with all its context");
	return err_hint(e, "its context is kept and will be part of the next recovery; look at the pane for the reason");
}

/* A zombie's shell comes back when the agent's command ends, here at once. */
static int
agent_ended(struct recovery *r, struct err *e)
{
	err_set(e, GT_FAIL, "died", "the command that starts %s ended at once, and the shell is back", r->c->profile->label);
	recovery_take_back(r, &r->attempt);
	ending_failed(r->w, &r->attempt, e->msg, NULL);
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
		err_set(e, GT_UNACKED, "dialog", "%s shows %s: a person must answer or close it first", who, l->dialog);
		return err_hint(e, "attach and see to it; then run gt-recover for this session again");
	}
	if (l->state == STATE_DRAFT && l->marked) {
		err_set(e, GT_UNACKED, "not-submitted", "the prompt stands in the input box of %s, unsent", who);
		return err_hint(e, "attach, look whether somebody's text stands beside it, and press Enter yourself");
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
	if (l->state == STATE_IDLE && l->marked && l->ack == ACK_NONE)
		return err_hint(e, "the prompt was pasted and left the box: look, and if the agent knows nothing, "
		    "run gt-recover release for this session, end the agent and recover it again");
	return err_hint(e, "run gt-recover for this session again: it looks first and delivers nothing twice");
}

static int
acknowledged(struct recovery *r, const struct look *l, const char *proof, struct err *e)
{
	attempt_set(&r->attempt.proof, proof);
	attempt_set(&r->attempt.transcript, l->transcript);
	r->attempt.new_pid = l->agent;
	recovery_take_back(r, &r->attempt);
	if (ending_acknowledged(r->w, &r->attempt, e) != 0)
		return -1;
	recovery_tell(r, TOLD_RESUMING);
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
	recovery_tell(r, TOLD_INJECTED);
	return 0;
}

static bool
prompt_consumed(const struct recovery *r)
{
	return r->prompt_path == NULL || access(r->prompt_path, F_OK) != 0;
}

/*
 * The agent sits there, idle, and its record does not know our prompt; or our prompt stands in its box, unsent (deliver.h tells it from a
 * person's text). That a paste was committed says nothing: the mark on the pane does. Where there is no record nothing tells a prompt that
 * was eaten from one that was taken and answered: then rather not told than told twice.
 */
static bool
must_paste(const struct recovery *r, const struct look *l, const struct wait *t, int64_t now)
{
	bool first = strcmp(r->attempt.delivery, "paste") == 0;
	bool eaten = !l->id_on_screen && strcmp(r->c->profile->transcript, "none") != 0;

	if (l->ack != ACK_NONE || !prompt_consumed(r) || !profile_delivers(r->c->profile, DELIVER_PASTE))
		return false;
	if (l->marked)
		return l->state == STATE_DRAFT && now >= t->retry_at;
	return l->state == STATE_IDLE && (first || eaten) && t->idle_since != 0 && now - t->idle_since >= (first ? LOOK_MS : EATEN_MS);
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
paste(struct recovery *r, bool marked, struct wait *t, struct err *e)
{
	struct buf prompt = BUF_INIT;
	char *before = xstrdup(r->attempt.delivery);
	int ret = -1, found = kept_read(r->w, r->attempt.id, NULL, &prompt, e);

	if (found == 0)
		err_set(e, GT_FAIL, "context-lost", "the kept context of %s is gone", r->attempt.id);
	if (found != 1 || note_paste(r, true, "paste", e) != 0)
		goto out;
	recovery_tell(r, TOLD_PASTING);
	ret = deliver_paste(r->w, r->pane, r->c->profile, r->attempt.id, prompt.data, e);
	if (ret != 0 && strcmp(e->name, "not-ready") == 0) {
		err_clear(e);
		t->idle_since = 0;
		t->retry_at = clock_mono_ms() + AGAIN_MS;
		ret = marked ? 0 : note_paste(r, false, before, e);
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
	bool handed = prompt_consumed(r) && (strcmp(r->attempt.delivery, "paste") != 0 || r->attempt.pasted);

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
		return err_set(e, GT_FAIL, "gone", "pane %s or its tmux server vanished while the agent was started", r->pane->id);
	if (l->state == STATE_DIED)
		return agent_died(r, l, e);
	if (l->agent != 0 && !r->started) {
		r->started = true;
		recovery_tell(r, TOLD_STARTED);
	}
	t->up_since = !up ? 0 : t->up_since != 0 ? t->up_since : now;
	t->blocked_since = r->injected || (l->state != STATE_DRAFT && l->state != STATE_DIALOG) ? 0 :
	    t->blocked_since != 0 ? t->blocked_since : now;
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
		return paste(r, l->marked, t, e);
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

int
await_proof(struct recovery *r, struct err *e)
{
	int64_t ready_ms = config_ms(r->w->config, "ready_timeout"), ack_ms = config_ms(r->w->config, "ack_timeout");
	struct wait t = { .begun = clock_mono_ms() };
	int done = 0;

	while (done == 0) {
		struct look l;
		int64_t now;

		if (verify_look(r->w, r->pane, r->c->profile, r->attempt.id, r->attempt.times[PHASE_RESPAWNED] - 2000, &l, e) != 0)
			return -1;
		done = judge_look(r, &l, &t, e);
		now = clock_mono_ms();
		if (done == 0 && *r->w->stop != 0)
			done = await_stopped(e);
		if (done == 0 && now - t.begun > (t.up_since == 0 && !r->injected ? ready_ms : ready_ms + ack_ms))
			done = timed_out(r, &l, e);
		if (done == 0 && t.up_since != 0 && now - t.up_since > ack_ms)
			done = timed_out(r, &l, e);
		if (done == 0 && t.blocked_since != 0 && now - t.blocked_since > ready_ms)
			done = timed_out(r, &l, e);
		if (done == 0 && now - t.begun >= 1000) {
			r->waiting_for = what_for(r, &l);
			r->waited_ms = now - t.begun;
			recovery_tell(r, TOLD_WAITING);
		}
		look_release(&l);
		if (done == 0)
			clock_sleep_ms(LOOK_MS);
	}
	return done < 0 ? -1 : 0;
}
